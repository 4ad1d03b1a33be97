"""What a person does with articles: look, approve, reject, retire, reactivate, export (spec 06, "Staging and life")."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from articles.codec import article_from_content
from articles.export import ExportFormat, ExportItem, ExportLink, ExportReport, export_to
from articles.types import Article as Content
from articles.types import Citation, CitationError, Step, item_text, items
from data.article_links import ArticleLink, article_links
from data.articles import ACTIVE_STATES, articles_in, get_article, get_revision, list_articles, reviews_of, revisions_of
from data.crud.articles import ApproveArticle, PublishArticle, ReactivateArticle, RejectArticle, RetireArticle
from data.crud.engine import WriteOutcome, perform
from data.errors import StoreError
from data.evidence import EvidenceFiles, EvidenceText, evidence_by_ids
from data.models import Article, ArticleReview, ArticleRevision, ArticleState, Evidence
from data.store import Store

__all__ = ["ArticleView", "Publisher", "StatementView", "UnknownArticle"]

ACTOR = "export"


class UnknownArticle(Exception):
    """No article or revision of that name; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class StatementView:
    """One sentence, step or fact with what it stands on."""

    place: str
    text: str
    code: str
    citations: tuple[tuple[Evidence, Citation], ...]


@dataclass(frozen=True, slots=True)
class ArticleView:
    article: Article
    revision: ArticleRevision
    content: Content
    statements: tuple[StatementView, ...]
    reviews: tuple[ArticleReview, ...]
    """Those of the shown revision."""
    revisions: tuple[int, ...]


class Publisher:
    """The staging table of one store. `actor` is a person's: `person:` and a name; others are refused."""

    def __init__(self, store: Store, files: EvidenceFiles) -> None:
        self._store = store
        self._files = files

    async def list(
        self, state: ArticleState | None = None, *, limit: int = 100, after: str | None = None
    ) -> list[Article]:
        """Return articles by id, of one state or of all."""
        return await self._store.read(list_articles, state=state, limit=limit, after=after)

    async def show(self, article_id: str, revision: int | None = None) -> ArticleView:
        """Return an article with the evidence of every statement; by default its current revision.

        Raises UnknownArticle; EvidenceMissing or EvidenceAltered where a text is not whole; CitationError where a
        citation does not say what its evidence says.
        """
        found = await self._store.read(get_article, article_id)
        if found is None:
            raise UnknownArticle(f"there is no article {article_id}")
        number = found.current_revision if revision is None else revision
        stored = await self._store.read(get_revision, article_id, number)
        if stored is None:
            raise UnknownArticle(f"article {article_id} has no revision {number}")
        evidence = await self._evidence(stored.evidence_ids)
        content = article_from_content(stored.content, evidence)
        statements = tuple(
            StatementView(
                place,
                item_text(item),
                item.code if isinstance(item, Step) else "",
                tuple((evidence[citation.evidence_id].evidence, citation) for citation in item.citations),
            )
            for place, item in items(content)
        )
        reviews = await self._store.read(reviews_of, article_id, number)
        revisions = await self._store.read(revisions_of, article_id)
        return ArticleView(
            found, stored, content, statements, tuple(reviews), tuple(entry.number for entry in revisions)
        )

    async def approve(self, article_id: str, revision: int, actor: str) -> WriteOutcome:
        """Approve the revision that was seen; refused with `revision_changed` or `not_a_person`.

        Nobody approves what no longer stands on its evidence: the citations are resolved anew first.
        """
        await self.show(article_id, revision)
        return await perform(self._store, ApproveArticle(article_id, revision, actor), actor=actor)

    async def reject(self, article_id: str, reason: str, actor: str, *, revision: int | None = None) -> WriteOutcome:
        """Reject what is staged; `reason` goes to the next attempt on the topic."""
        return await perform(self._store, RejectArticle(article_id, reason, actor, revision), actor=actor)

    async def retire(self, article_id: str, actor: str, reason: str = "") -> WriteOutcome:
        """Take an approved or published article out of use."""
        return await perform(self._store, RetireArticle(article_id, actor, reason), actor=actor)

    async def reactivate(self, article_id: str, actor: str) -> WriteOutcome:
        """Stage a retired article again."""
        return await perform(self._store, ReactivateArticle(article_id, actor), actor=actor)

    async def export(self, directory: Path, format: ExportFormat = ExportFormat.MARKDOWN) -> ExportReport:
        """Write the approved revision of every article into `directory`, and note approved ones as published.

        Raises OtherFormat where the folder holds another format, OSError where it cannot be written. A file that
        somebody edited is left and reported.
        """
        exported, failed = await self.exportable()
        report = await asyncio.to_thread(export_to, directory, format, exported, failed)
        published = []
        for item in exported:
            if item.state is ArticleState.APPROVED and item.article_id in report.standing:
                operation = PublishArticle(item.article_id, item.revision, str(directory))
                if (await perform(self._store, operation, actor=ACTOR)).ok:
                    published.append(item.article_id)
        return report.with_published(published)

    async def exportable(self) -> tuple[Sequence[ExportItem], dict[str, str]]:
        """Return the approved revisions with their links, and why others could not be read (by article id)."""
        exported: list[ExportItem] = []
        failed: dict[str, str] = {}
        approved = [one for one in await self._store.read(articles_in, ACTIVE_STATES) if one.approved_revision]
        links = await self._store.read(article_links, approved)
        for found in approved:
            try:
                exported.append(await self._item(found, found.approved_revision or 0))
            except (StoreError, CitationError) as error:
                failed[found.id] = str(error)
        titles = {item.article_id: item.content.title for item in exported}
        return [replace(item, links=_links_of(item.article_id, links, titles)) for item in exported], failed

    async def diff(self, article_id: str, before: int | None = None, after: int | None = None) -> str:
        """Return what changed between two revisions' Markdown as a unified diff, "" where nothing did.

        By default from the approved revision, else the one before the current, to the current one. Raises
        UnknownArticle for an article or revision that is not there.
        """
        found = await self._store.read(get_article, article_id)
        if found is None:
            raise UnknownArticle(f"there is no article {article_id}")
        last = found.current_revision if after is None else after
        if before is None:
            approved = found.approved_revision
            before = approved if approved is not None and approved != last else last - 1
        if before == 0:
            raise UnknownArticle(f"article {article_id} has one revision; there is nothing to compare it with")
        old, new = await self._markdown(article_id, before), await self._markdown(article_id, last)
        return "\n".join(difflib.unified_diff(old, new, f"revision {before}", f"revision {last}", lineterm=""))

    async def _markdown(self, article_id: str, number: int) -> Sequence[str]:
        stored = await self._store.read(get_revision, article_id, number)
        if stored is None:
            raise UnknownArticle(f"article {article_id} has no revision {number}")
        return stored.markdown.splitlines()

    async def _item(self, found: Article, number: int) -> ExportItem:
        stored = await self._store.read(get_revision, found.id, number)
        if stored is None:
            raise StoreError(f"the approved revision {number} of {found.id} is not there")
        evidence = await self._evidence(stored.evidence_ids)
        content = article_from_content(stored.content, evidence)
        records = {one: text.evidence for one, text in evidence.items()}
        return ExportItem(found.id, number, found.state, content, stored.markdown, records)

    async def _evidence(self, ids: Iterable[str]) -> dict[str, EvidenceText]:
        records = await self._store.read(evidence_by_ids, list(ids))
        return {
            one: EvidenceText(record, await asyncio.to_thread(self._files.get, record.sha256))
            for one, record in sorted(records.items())
        }


def _links_of(article_id: str, links: Iterable[ArticleLink], titles: Mapping[str, str]) -> tuple[ExportLink, ...]:
    return tuple(
        ExportLink(link.second, titles[link.second], link.relation, link.source, link.target)
        for link in links
        if link.first == article_id and link.second in titles
    )
