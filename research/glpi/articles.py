"""Articles of GLPI's knowledge base become nodes: those that are shown to somebody, and are in force.

Whether an item is shown does not appear in its date: it hangs on its targets (users, groups, profiles, entities). So
every pass reads the ids of all that is shown to the brain's user, and that decides what is taken and what leaves. An
item without a target is seen by its author alone and is a draft: nobody's knowledge yet. For our user's own items, and
for a user who administers the knowledge base and sees everybody's drafts, the lists of targets decide instead; GLPI
lists no target there that holds in every entity. What we exported ourselves never comes back: it is known by its link,
and by its mark where the link is another brain's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from data.clock import to_iso
from data.extract import ExtractionError
from data.extractor import DocumentReader
from data.glpi import ItemLink, KnownItem, exported_items, known_items
from data.glpi_items import ARTICLE_URI, article_meta, article_page, article_uri, is_own, updated_of
from data.inbox_gates import InboxRefusal
from data.sections import document_nodes
from research.glpi.account import account
from research.glpi.address import item_page
from research.glpi.client import GlpiClient
from research.glpi.errors import GlpiDenied, GlpiNotFound
from research.glpi.intake import Intake
from research.glpi.listing import item, listing
from research.glpi.report import Tally
from research.glpi.standing import BEGINNING, floor_of, load_standing, save_standing

__all__ = ["TARGETS", "import_articles"]

_KIND: Final = "KnowbaseItem"
TARGETS: Final = ("KnowbaseItem_User", "Group_KnowbaseItem", "KnowbaseItem_Profile", "Entity_KnowbaseItem")
_IDS: Final = 500
_SINGLY: Final = 100
"""Up to so many items are asked for one by one; for more of them the whole list is read."""

Row = Mapping[str, Any]


async def _with_targets(client: GlpiClient) -> set[int]:
    """Return the ids of all items that have a visibility target which GLPI lists."""
    found: set[int] = set()
    for kind in TARGETS:
        async for page in listing(client, kind, size=_IDS):
            found.update(int(row.get("knowbaseitems_id") or 0) for row in page.rows)
    return found


async def import_articles(
    client: GlpiClient, intake: Intake, extractor: DocumentReader, *, since: str = "", full: bool = False
) -> Tally:
    """Bring the articles of the store to what GLPI shows; `since` and `full` as with tickets. Raises GlpiError."""
    run = _Run(client, intake, extractor)
    await run.look()
    before = await load_standing(intake.store, _KIND, client.api)
    start = since or before.watermark
    newest, complete = await run.read(BEGINNING if full or not start else floor_of(start))
    if complete:
        complete = await run.newly_shown(since=since)
    if complete:
        await run.remove()
        if not run.tally.failed:
            after = replace(
                before,
                watermark=max(newest, before.watermark, since) or BEGINNING,
                swept=to_iso(intake.store.clock.now()),
                held_back=run.tally.held_back,
            )
            await save_standing(intake.store, _KIND, after)
    run.tally.more = not complete
    return run.tally


class _Run:
    def __init__(self, client: GlpiClient, intake: Intake, extractor: DocumentReader) -> None:
        self.client = client
        self.intake = intake
        self.extractor = extractor
        self.tally = Tally()
        self.known: dict[int, KnownItem] = {}
        self.ours: dict[int, ItemLink] = {}
        self.user_id = 0
        self.targeted: set[int] = set()
        self.shown: set[int] = set()
        self.seen: set[int] = set()
        self.leaving: set[int] = set()

    async def look(self) -> None:
        """Learn what we have, what is ours, and what is shown."""
        self.known = await self.intake.store.read_bulk(known_items, ARTICLE_URI)
        self.ours = await self.intake.store.read(exported_items, self.client.api)
        who = await account(self.client)
        self.user_id = who.user_id
        self.targeted = await _with_targets(self.client)
        listed: set[int] = set()
        async for page in listing(self.client, _KIND, {"only_id": "true"}, size=_IDS):
            listed.update(row["id"] for row in page.rows)
        self.shown = listed & self.targeted if who.sees_all_drafts else listed

    async def read(self, floor: str) -> tuple[str, bool]:
        """Take what was modified from `floor` on; return the newest date and whether that was all."""
        newest, done = "", 0
        async for page in listing(self.client, _KIND, newest_first=True):
            rows = [row for row in page.rows if floor == BEGINNING or updated_of(row) >= floor]
            newest = max([newest, *map(updated_of, rows)])
            if not await self._take(rows):
                return newest, False
            done += len(rows)
            self.intake.progress("articles", done, page.total if floor == BEGINNING else None)
            if len(rows) < len(page.rows):
                break
        return newest, True

    async def newly_shown(self, *, since: str) -> bool:
        """Take what is shown and unknown though nobody modified it lately: a target was added to it."""
        if since:
            return True
        missing = [number for number in self.shown if self._is_new(number)]
        if len(missing) > _SINGLY:
            return (await self.read(BEGINNING))[1]
        for number in sorted(missing):
            try:
                row = await item(self.client, _KIND, number)
            except (GlpiNotFound, GlpiDenied) as error:
                if error.code not in {"ERROR_ITEM_NOT_FOUND", "ERROR_RIGHT_MISSING"}:
                    raise
                self.tally.refused["not_visible"] += 1
                continue
            if not await self._take([row]):
                return False
        return True

    def _is_new(self, number: int) -> bool:
        known = self.known.get(number)
        if number in self.seen or number in self.ours or (known is not None and known.active):
            return False
        return article_uri(number) not in self.intake.refused

    async def remove(self) -> None:
        """Take out what is not shown any more, what is no longer in force, and what turned out to be ours."""
        active = {number for number, one in self.known.items() if one.active}
        now = self.intake.store.clock.now().strftime("%Y-%m-%d %H:%M:%S")
        over = {number for number in active if self.known[number].ends and self.known[number].ends < now}
        gone = (active - self.shown) | (over - self.seen) | (self.leaving & active) | (active & set(self.ours))
        await self.intake.retire(self.tally, map(article_uri, sorted(gone)), len(active), "not shown by GLPI any more")

    async def _take(self, rows: Iterable[Row]) -> bool:
        for row in rows:
            if row["id"] in self.seen:
                continue
            if self.intake.ends():
                return False
            self.seen.add(row["id"])
            await self._one(row)
        return True

    async def _one(self, row: Row) -> None:
        number, updated = row["id"], updated_of(row)
        if (reason := self._left_out(row)) is not None:
            self.tally.refused[reason] += 1
            self.leaving.add(number)
            return
        known = self.known.get(number)
        if known is not None and known.active and known.updated and known.updated == updated:
            self.tally.unchanged += 1
            return
        if updated and self.intake.refused.get(article_uri(number)) == updated:
            self.tally.refused["refused_before"] += 1
            return
        origin = f"glpi:KnowbaseItem/{number}"
        page = item_page(self.client.api, _KIND, number)
        try:
            markup = await asyncio.to_thread(article_page, row, self.intake.policy.inbox)
            document = await self.extractor.extract(markup, content_type="text/html; charset=utf-8", url=page)
            drafts, edges = await asyncio.to_thread(document_nodes, document, article_uri(number))
            if not drafts:
                raise InboxRefusal("no_content", f"article {number} has headings and no text under them")
        except ExtractionError as error:
            refusal = InboxRefusal(error.reason, f"article {number} {error.message}; shorten it in GLPI")
            await self.intake.refuse(self.tally, article_uri(number), updated, refusal, origin)
        except InboxRefusal as refusal:
            await self.intake.refuse(self.tally, article_uri(number), updated, refusal, origin)
        else:
            drafts[0] = replace(drafts[0], meta={**drafts[0].meta, **article_meta(row, page)})
            await self.intake.write_one(self.tally, drafts, edges)

    def _left_out(self, row: Row) -> str | None:
        """Return why an item is not taken, None where it is."""
        if row["id"] in self.ours or is_own(row.get("answer")):
            return "own_export"
        mine = str(row.get("users_id") or 0) == str(self.user_id)
        if row["id"] not in self.shown or (mine and row["id"] not in self.targeted):
            return "not_published"
        now = self.intake.store.clock.now().strftime("%Y-%m-%d %H:%M:%S")
        begins, ends = (str(row.get(name) or "") for name in ("begin_date", "end_date"))
        return "not_in_force" if (begins and begins > now) or (ends and ends < now) else None
