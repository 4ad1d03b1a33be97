"""`brain glpi …`: import tickets and articles, export approved ones, see how far both are."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from brain.cli.shell import Context
from brain.errors import BrainError, RefusedError, UsageError
from brain.homes import open_store
from brain.policies import glpi_kinds, glpi_policy, import_policy
from data.articles import get_article
from data.evidence import EvidenceFiles
from data.extractor import Extractor
from data.glpi import exported_items, known_items
from data.glpi_items import ARTICLE_URI, TICKET_URI
from data.state import get_state
from data.store import Store
from research.glpi.client import GlpiClient
from research.glpi.errors import GlpiDenied, GlpiError
from research.glpi.importing import KINDS, LAST, Wanted, run_import
from research.glpi.report import ImportReport, Tally
from research.glpi.standing import load_standing

if TYPE_CHECKING:
    from rich.console import Console

    from articles.glpi_export import GlpiExportReport

__all__ = ["export", "import_items", "open_glpi", "status"]

_NOT_CONNECTED = "GLPI is not connected; set BRAIN_GLPI_URL and BRAIN_GLPI_USER_TOKEN (docs/OPERATIONS.md)."


@asynccontextmanager
async def open_glpi(context: Context) -> AsyncIterator[GlpiClient]:
    """Yield the client of the configured GLPI; its errors become the command's."""
    policy = glpi_policy(context.settings)
    if policy is None:
        raise UsageError(_NOT_CONNECTED)
    try:
        async with GlpiClient(policy) as client:
            yield client
    except GlpiDenied as error:
        raise BrainError(f"GLPI denied it: {error}; `brain doctor` looks at tokens and rights.") from error
    except GlpiError as error:
        raise BrainError(f"GLPI could not be asked: {error}.") from error


async def import_items(
    context: Context, *, kinds: tuple[str, ...], since: str, full: bool, confirm: bool, limit: int | None
) -> None:
    """Import; exit status 3 where removals wait for a confirmation, 1 where something could not be written."""
    wanted = Wanted(kinds or glpi_kinds(context.settings) or KINDS, _since(since), limit, full, confirm)
    async with open_store(context.settings) as store, Extractor(2) as extractor, open_glpi(context) as client:
        with context.progress() as progress:
            report = await run_import(
                client, store, extractor, wanted, import_policy(context.settings), progress=progress
            )
    context.emit(report.document(), lambda console: _show(console, report))
    if failed := sum(tally.failed for tally in report.tallies):
        raise BrainError(f"{failed} items could not be written; the next import takes them again.")
    if held := sum(tally.held_back for tally in report.tallies):
        raise RefusedError(
            f"{held} items are gone from GLPI at once and were kept; if that is right, "
            "`brain glpi import --full --confirm-removals` takes them out."
        )


async def export(context: Context, *, again: list[str]) -> None:
    """Export; exit status 1 where an article could not be written."""
    from articles.glpi_export import export_to_glpi
    from articles.publish import Publisher

    async with open_store(context.settings, must_exist=True) as store, open_glpi(context) as client:
        for article in again:
            if await store.read(get_article, article) is None:
                raise UsageError(f"There is no article {article}; `brain articles list` shows them.")
        publisher = Publisher(store, EvidenceFiles(context.settings.home.absolute()))
        with context.progress() as progress:
            report = await export_to_glpi(store, client, publisher, again=again, progress=progress)
    context.emit(report.document(), lambda console: _show_export(console, report))
    if report.stopped:
        raise BrainError(f"The export ended before its last article: {report.stopped}.")
    if report.failed:
        raise BrainError(f"{len(report.failed)} articles could not be exported; the reasons stand above.")


async def status(context: Context) -> None:
    """Print what the store knows of GLPI."""
    settings = context.settings
    document: dict[str, Any] = {"connected": bool(settings.glpi_url), "url": settings.glpi_url}
    if settings.glpi_url:
        async with open_store(settings, must_exist=True) as store:
            document |= await _known(store, settings.glpi_url)
        document["import"] = settings.glpi_import

    def show(console: Console) -> None:
        if not document["connected"]:
            console.print(_NOT_CONNECTED)
            return
        console.print(f"GLPI at {document['url']}; the learning loop imports: {document['import']}", markup=False)
        for kind in KINDS:
            one = document[kind]
            how = f"all up to {one['up_to']} (GLPI's time)" if one["up_to"] else "not read to the end yet"
            console.print(f"{kind:<9} {one['nodes']} known, {how}", markup=False)
            if one["held_back"]:
                console.print(f"          {one['held_back']} are gone and kept until they are confirmed", markup=False)
        console.print(f"exported  {document['exported']} articles", markup=False)
        last = document["last"]
        if last is None:
            console.print("No import yet; `brain glpi import` or a daemon makes one.")
        else:
            said = last["error"] or "ended well" + (" before the end of the list" if last["more"] else "")
            console.print(f"last      {last['at'][:19].replace('T', ' ')} UTC: {said}", markup=False)

    context.emit(document, show)


async def _known(store: Store, api: str) -> dict[str, Any]:
    found: dict[str, Any] = {"last": await store.read(get_state, LAST)}
    for kind, itemtype, prefix in (("tickets", "Ticket", TICKET_URI), ("articles", "KnowbaseItem", ARTICLE_URI)):
        known = await store.read_bulk(known_items, prefix)
        standing = await load_standing(store, itemtype, api)
        found[kind] = {
            "nodes": sum(one.active for one in known.values()),
            "up_to": standing.watermark,
            "held_back": standing.held_back,
        }
    found["exported"] = len(await store.read(exported_items, api))
    return found


def _since(text: str) -> str:
    """Return a date as GLPI writes it."""
    match = re.fullmatch(r"(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d)(:\d\d)?)?", text.strip())
    if not text:
        return ""
    if match is None:
        raise UsageError(f"--since {text!r} is no date such as 2026-01-31 or '2026-01-31 08:00'.")
    return f"{match[1]} {match[2] or '00:00'}{match[3] or ':00'}"


def _show(console: Console, report: ImportReport) -> None:
    for kind, tally in (("tickets", report.tickets), ("articles", report.articles)):
        if tally is not None:
            console.print(f"{kind:<9} {_words(tally)}", markup=False)
    if report.more:
        console.print("There is more; the next import goes on from here.")
    if any(tally.written for tally in report.tallies):
        console.print("`brain learn` embeds them; a running daemon does it by itself.")


def _show_export(console: Console, report: GlpiExportReport) -> None:
    console.print(
        f"{len(report.created)} added as drafts, {len(report.updated)} updated, {len(report.unchanged)} unchanged, "
        f"{len(report.published)} now published",
        markup=False,
    )
    for words, found in (
        ("added", report.created),
        ("updated", report.updated),
        ("left alone, edited in GLPI", report.edited),
        ("deleted in GLPI, not added again (--again)", report.deleted),
        ("no longer approved here, take it out there", report.orphaned),
        ("not exported", report.failed),
    ):
        for article_id, said in sorted(found.items()):
            console.print(f"{words}: {article_id}  {said}", markup=False)
    if not (report.unchanged or report.created or report.updated or report.edited or report.deleted or report.failed):
        console.print("No article is approved yet; `brain articles list --state staged` shows what waits.")


def _words(tally: Tally) -> str:
    said = f"{tally.added} new, {tally.changed} changed, {tally.removed} gone, {tally.unchanged} unchanged"
    if tally.refused:
        said += "; left out: " + ", ".join(f"{count} {reason}" for reason, count in sorted(tally.refused.items()))
    return said
