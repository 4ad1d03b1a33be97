"""`brain articles …`: look at what is staged, then decide; only a person's word counts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from articles.export import ExportFormat, OtherFormat
from articles.publish import ArticleView, Publisher, UnknownArticle
from articles.types import CitationError
from brain.cli.shell import Context
from brain.errors import BrainError, RefusedError, UsageError
from brain.homes import open_store
from data.articles import get_article
from data.crud.outcome import WriteOutcome
from data.evidence import EvidenceFiles
from data.models import ArticleState

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["approve", "diff", "export", "list_articles", "reactivate", "reject", "retire", "show"]


async def list_articles(context: Context, *, state: str) -> None:
    """Print articles with state and revision."""
    wanted = _state(state)
    async with _publisher(context) as publisher:
        found = await publisher.list(wanted, limit=1000)
    document = [asdict(article) for article in found]

    def show_list(console: Console) -> None:
        for article in found:
            revision = f"revision {article.current_revision}"
            line = (
                f"{article.id}  {article.state:<9} {article.type:<15} {article.language}  {revision}  {article.title}"
            )
            console.print(line, markup=False)
        if not found:
            console.print("No articles" + (f" are {wanted}." if wanted else " yet."))

    context.emit(document, show_list)


async def show(context: Context, *, article: str, evidence: bool) -> None:
    """Print one article as Markdown, with the span under every sentence where asked for."""
    async with _publisher(context) as publisher:
        view = await _look(publisher, article)
    document = {
        "article": asdict(view.article),
        "revision": view.revision.number,
        "revisions": list(view.revisions),
        "markdown": view.revision.markdown,
        "statements": [
            {
                "place": statement.place,
                "text": statement.text,
                "code": statement.code,
                "citations": [
                    {
                        "evidence": record.id,
                        "url": record.final_url,
                        "sha256": record.sha256,
                        "start": citation.start,
                        "end": citation.end,
                        "quote": citation.quote,
                    }
                    for record, citation in statement.citations
                ],
            }
            for statement in view.statements
        ],
        "reviews": [asdict(review) for review in view.reviews],
    }
    context.emit(document, lambda console: _show_view(console, view, evidence=evidence))


async def approve(context: Context, *, article: str, revision: int, actor: str) -> None:
    """Approve the revision that was read."""
    person = _person(actor)
    async with _publisher(context) as publisher:
        current = (await _look(publisher, article)).article.current_revision
        if revision > current:
            raise RefusedError(
                f"Article {article} has no revision {revision}, its latest is {current}; "
                f"`brain articles show {article}` shows it."
            )
        _settle(context, article, await publisher.approve(article, revision, person), "approved")


async def reject(context: Context, *, article: str, reason: str, actor: str) -> None:
    """Reject a staged article with a reason."""
    person = _person(actor)
    async with _publisher(context, article) as publisher:
        _settle(context, article, await publisher.reject(article, reason, person), "rejected")


async def retire(context: Context, *, article: str, reason: str, actor: str) -> None:
    """Take an article out of use."""
    person = _person(actor)
    async with _publisher(context, article) as publisher:
        _settle(context, article, await publisher.retire(article, person, reason), "retired")


async def reactivate(context: Context, *, article: str, actor: str) -> None:
    """Stage a retired article again."""
    person = _person(actor)
    async with _publisher(context, article) as publisher:
        _settle(context, article, await publisher.reactivate(article, person), "staged again")


async def diff(context: Context, *, article: str, before: int | None, after: int | None) -> None:
    """Print what changed between two revisions."""
    async with _publisher(context, article) as publisher:
        try:
            changes = await publisher.diff(article, before, after)
        except UnknownArticle as error:
            raise UsageError(f"{_capital(error)}; `brain articles show {article}` shows it.") from error

    def show_diff(console: Console) -> None:
        styles = {"+": "green", "-": "red", "@": "cyan"}
        for line in changes.splitlines() or ["The two revisions read the same."]:
            console.print(line, style=styles.get(line[:1]), markup=False, highlight=False)

    context.emit({"article": article, "diff": changes}, show_diff)


async def export(context: Context, *, directory: Path, format: str) -> None:
    """Write approved articles in one of the formats."""
    if format == "glpi":
        raise UsageError("GLPI is no folder; `brain glpi export` writes approved articles into its knowledge base.")
    try:
        wanted = ExportFormat(format)
    except ValueError:
        raise UsageError(f"--format {format!r} is none of {', '.join(ExportFormat)}.") from None
    async with _publisher(context) as publisher:
        try:
            report = await publisher.export(directory, wanted)
        except OtherFormat as error:
            raise UsageError(f"{_capital(error)}.") from error
        except OSError as error:
            raise BrainError(f"The export to {directory} failed: {error.strerror or error}.") from error
    document = {
        name: sorted(value) if isinstance(value, frozenset) else value for name, value in asdict(report).items()
    }

    def show_report(console: Console) -> None:
        console.print(
            f"{len(report.written)} written, {len(report.unchanged)} unchanged, {len(report.removed)} removed, "
            f"{len(report.published)} now published, in {directory}",
            markup=False,
        )
        for name in report.edited:
            console.print(f"left alone, edited by somebody: {name}", markup=False)
        for name, why in report.failed.items():
            console.print(f"not exported: {name}: {why}", markup=False)
        if not (report.standing or report.edited or report.failed):
            console.print("No article is approved yet; `brain articles list --state staged` shows what waits.")

    context.emit(document, show_report)
    if report.failed:
        raise BrainError(f"{len(report.failed)} articles could not be exported.")


@asynccontextmanager
async def _publisher(context: Context, article: str | None = None) -> AsyncIterator[Publisher]:
    """Yield the publisher of the home's store; UsageError where `article` is none of its articles.

    What a person decides must not hang on the article's texts being whole: only who looks or approves reads them.
    """
    async with open_store(context.settings, must_exist=True) as store:
        if article is not None and await store.read(get_article, article) is None:
            raise UsageError(f"There is no article {article}; `brain articles list` shows them.")
        try:
            yield Publisher(store, EvidenceFiles(context.settings.home.absolute()))
        except CitationError as error:
            raise BrainError(f"A citation no longer says what its evidence says: {error}.") from error


async def _look(publisher: Publisher, article: str) -> ArticleView:
    try:
        return await publisher.show(article)
    except UnknownArticle as error:
        raise UsageError(f"{_capital(error)}; `brain articles list` shows them.") from error


def _state(state: str) -> ArticleState | None:
    if not state:
        return None
    try:
        return ArticleState(state)
    except ValueError:
        raise UsageError(f"--state {state!r} is none of {', '.join(ArticleState)}.") from None


def _person(name: str) -> str:
    if not name.strip():
        raise UsageError("--as is empty; name the person who decides.")
    return f"person:{name.strip()}"


def _settle(context: Context, article: str, outcome: WriteOutcome, done: str) -> None:
    if outcome.status == "failed":
        raise BrainError(f"Article {article} was not {done}: {outcome.message or outcome.reason}.")
    if not outcome.ok:
        raise RefusedError(f"Article {article} was not {done} ({outcome.reason}): {outcome.message}")
    document = {"article": article, "outcome": done, "verified": outcome.verified}
    context.emit(document, lambda console: console.print(f"{article} is {done}.", markup=False))


def _show_view(console: Console, view: ArticleView, *, evidence: bool) -> None:
    article = view.article
    console.print(f"{article.id}  {article.state}  revision {view.revision.number}\n", markup=False)
    if not evidence:
        console.print(view.revision.markdown, markup=False)
        return
    console.print(f"{article.title}\n", markup=False)
    for statement in view.statements:
        console.print(f"{statement.place}: {statement.text}", markup=False)
        for record, citation in statement.citations:
            quote = " ".join(citation.quote.split())
            console.print(f"    {record.final_url} [{citation.start}:{citation.end}] „{quote}“", markup=False)


def _capital(error: Exception) -> str:
    """Return the error's sentence with a capital at its start, ids and paths as they are."""
    return str(error)[:1].upper() + str(error)[1:]
