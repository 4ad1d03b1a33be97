"""Approved articles in GLPI's knowledge base, as drafts that GLPI shows to nobody but their author (spec 06, "Export").

One item an article. Which one it is, the store knows by a link and the item by its mark; where the link is missing (a
crash after GLPI had added it), the mark is looked for before anything is added. An item that says something else than
what was written there was edited by a person: it is left and reported, as one that was deleted is. Every write is read
back. Whom an item is shown to is GLPI's people's to decide: it is added for nobody, and never changed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from articles.export_glpi import GlpiPage, glpi_page
from articles.export_items import ExportItem
from articles.publish import Publisher
from data.clock import to_iso
from data.crud.articles import PublishArticle
from data.crud.engine import perform
from data.events import GLPI_EXPORTED
from data.glpi import ItemLink, exported_items, forget_link, item_link, keep_link
from data.glpi_text import decoded, digest_of, marked
from data.locks import EngineMutex
from data.models import ArticleState, Event
from data.progress import Progress, silent
from data.store import Store
from research.glpi.account import account, require_writer
from research.glpi.address import item_page
from research.glpi.articles import TARGETS
from research.glpi.client import GlpiClient
from research.glpi.errors import GlpiDenied, GlpiError, GlpiNotFound, GlpiUnreachable
from research.glpi.listing import item, listing

__all__ = ["GlpiExportReport", "export_to_glpi"]

_KIND: Final = "KnowbaseItem"
_ACTOR: Final = "export"


@dataclass(slots=True)
class GlpiExportReport:
    """What an export did, each by article id: the page of its item, or why not."""

    created: dict[str, str] = field(default_factory=dict)
    updated: dict[str, str] = field(default_factory=dict)
    unchanged: dict[str, str] = field(default_factory=dict)
    edited: dict[str, str] = field(default_factory=dict)
    """Items that a person edited: left as they are."""
    deleted: dict[str, str] = field(default_factory=dict)
    """Items that are gone from GLPI: not added again unless somebody asks for it."""
    orphaned: dict[str, str] = field(default_factory=dict)
    """Items of articles that are no longer approved: a person takes them out in GLPI."""
    failed: dict[str, str] = field(default_factory=dict)
    published: list[str] = field(default_factory=list)
    stopped: str = ""
    """Why the export ended before its last article, "" where it did not."""

    def document(self) -> dict[str, Any]:
        return asdict(self)


async def export_to_glpi(
    store: Store,
    client: GlpiClient,
    publisher: Publisher,
    *,
    again: Collection[str] = (),
    progress: Progress = silent,
) -> GlpiExportReport:
    """Bring GLPI to what is approved; `again` names articles whose deleted item is to be added once more.

    Raises GlpiError where nothing could be begun: no answer, no session, no right to write drafts.
    """
    who = await account(client)
    require_writer(who)
    mutex = EngineMutex(store, "glpi")
    if (holder := (await mutex.status()).holder) is not None:
        progress(f"waiting for {holder}", 0, None)
    async with mutex.hold("export"):
        run = _Run(store, client, who.user_id)
        for article_id in again:
            await store.write(forget_link, article_id)
        items, failed = await publisher.exportable()
        run.report.failed.update(failed)
        for number, one in enumerate(items):
            progress("export", number, len(items))
            if not await run.one(one):
                break
        progress("export", len(items), len(items))
        await run.orphans({one.article_id for one in items} | set(failed))
        await run.told()
    return run.report


class _Run:
    def __init__(self, store: Store, client: GlpiClient, user_id: int) -> None:
        self.store = store
        self.client = client
        self.user_id = user_id
        self.report = GlpiExportReport()

    async def one(self, one: ExportItem) -> bool:
        """Export one article; False where GLPI is gone and the rest need not be tried."""
        try:
            if await self._exported(one) and one.state is ArticleState.APPROVED:
                link = await self.store.read(item_link, one.article_id, self.client.api)
                target = self._page(link.item_id) if link is not None else self.client.api
                outcome = await perform(self.store, PublishArticle(one.article_id, one.revision, target), actor=_ACTOR)
                if outcome.ok:
                    self.report.published.append(one.article_id)
        except GlpiUnreachable as error:
            self.report.failed[one.article_id] = self.report.stopped = str(error)
            return False
        except GlpiDenied as error:
            self.report.failed[one.article_id] = str(error)
            if error.code != "ERROR_RIGHT_MISSING":
                self.report.stopped = str(error)
                return False
        except GlpiError as error:
            self.report.failed[one.article_id] = str(error)
        return True

    async def orphans(self, approved: set[str]) -> None:
        for number, link in (await self.store.read(exported_items, self.client.api)).items():
            if link.article_id not in approved:
                self.report.orphaned[link.article_id] = self._page(number)

    async def told(self) -> None:
        """Note in the log what somebody may want to know."""
        said = {name: sorted(value) for name, value in self.report.document().items() if value and name != "unchanged"}
        said.pop("orphaned", None)
        if self.report.stopped:
            said["stopped"] = [self.report.stopped]
        if said:
            trouble = self.report.failed or self.report.edited or self.report.deleted
            await self.store.log(Event(GLPI_EXPORTED, said, "warning" if trouble else "info"))

    async def _exported(self, one: ExportItem) -> bool:
        """Bring one item up to date; tell whether it stands as it should."""
        wanted = glpi_page(one)
        link = await self.store.read(item_link, one.article_id, self.client.api) or await self._found(one.article_id)
        if link is None:
            return await self._add(one, wanted)
        page = self._page(link.item_id)
        try:
            row = await item(self.client, _KIND, link.item_id)
        except GlpiNotFound:
            self.report.deleted[one.article_id] = page
            return False
        seen, mark = _seen(row), marked(decoded(str(row.get("answer") or "")))
        if seen == wanted.digest and mark is not None and mark.revision == one.revision:
            if (link.digest, link.revision) != (wanted.digest, one.revision):
                await self._keep(one, link.item_id, wanted)
            self.report.unchanged[one.article_id] = page
            return True
        as_marked = mark is not None and (mark.article_id, mark.digest) == (one.article_id, seen)
        if not as_marked and seen not in {link.digest, wanted.digest}:
            self.report.edited[one.article_id] = page
            return False
        await self.client.put(
            f"{_KIND}/{link.item_id}", {"input": {"id": link.item_id, "name": wanted.name, "answer": wanted.answer}}
        )
        await self._keep(one, link.item_id, wanted)
        if not await self._stands(one.article_id, link.item_id, wanted):
            return False
        self.report.updated[one.article_id] = page
        return True

    async def _found(self, article_id: str) -> ItemLink | None:
        """Return the item that carries the article's mark though no link says so, and link it."""
        parameters = {"searchText[answer]": article_id}
        async for page in listing(self.client, _KIND, parameters):
            rows = sorted(page.rows, key=lambda row: (row.get("users_id") != self.user_id, row["id"]))
            for row in rows:
                mark = marked(decoded(str(row.get("answer") or "")))
                if mark is not None and mark.article_id == article_id:
                    link = ItemLink(article_id, self.client.api, row["id"], mark.revision, mark.digest, self._now())
                    await self.store.write(keep_link, link)
                    return link
        return None

    async def _add(self, one: ExportItem, wanted: GlpiPage) -> bool:
        # Whose item it is must be said: GLPI's form says it, its API leaves it to nobody, and then nobody sees it.
        fields = {"name": wanted.name, "answer": wanted.answer, "is_faq": 0, "users_id": self.user_id}
        answer = await self.client.post(_KIND, {"input": fields})
        number = answer.body.get("id") if isinstance(answer.body, dict) else None
        if not isinstance(number, int) or isinstance(number, bool) or number < 1:
            self.report.failed[one.article_id] = "GLPI did not say which item it added; it is looked for next time"
            return False
        await self._keep(one, number, wanted)
        if not await self._stands(one.article_id, number, wanted, draft=True):
            return False
        self.report.created[one.article_id] = self._page(number)
        return True

    async def _stands(self, article_id: str, number: int, wanted: GlpiPage, *, draft: bool = False) -> bool:
        """Read an item back and compare; `draft`: it must also be shown to nobody."""
        row = await item(self.client, _KIND, number)
        if _seen(row) != wanted.digest:
            self.report.failed[article_id] = f"{self._page(number)} does not read back as it was written"
            return False
        if draft and (str(row.get("is_faq") or 0) != "0" or await self._targets(number)):
            self.report.failed[article_id] = f"{self._page(number)} was added, and GLPI shows it to others at once"
            return False
        return True

    async def _targets(self, number: int) -> bool:
        for kind in TARGETS:
            async for _ in listing(self.client, f"{_KIND}/{number}/{kind}"):
                return True
        return False

    async def _keep(self, one: ExportItem, number: int, wanted: GlpiPage) -> None:
        link = ItemLink(one.article_id, self.client.api, number, one.revision, wanted.digest, self._now())
        await self.store.write(keep_link, link)

    def _page(self, number: int) -> str:
        return item_page(self.client.api, _KIND, number)

    def _now(self) -> str:
        return to_iso(self.store.clock.now())


def _seen(row: Mapping[str, Any]) -> str:
    """Return the digest of what an item says."""
    return digest_of(decoded(str(row.get("name") or "")), decoded(str(row.get("answer") or "")))
