"""One import from GLPI: tickets, articles or both, with what it did kept for whoever asks (spec 14)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from data import events
from data.clock import from_iso, to_iso
from data.extractor import DocumentReader
from data.models import Event
from data.progress import Progress, silent
from data.state import get_state, set_state
from data.store import Store
from research.glpi.articles import import_articles
from research.glpi.client import GlpiClient
from research.glpi.errors import GlpiError
from research.glpi.intake import ImportPolicy, Intake
from research.glpi.report import ImportReport
from research.glpi.tickets import import_tickets

__all__ = ["KINDS", "LAST", "Wanted", "is_due", "run_import"]

KINDS: Final = ("tickets", "articles")
LAST: Final = "glpi.last"
"""State: the last import, when it ended, what it did or why it failed."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to import. `since` is GLPI's own time, `YYYY-MM-DD hh:mm:ss`."""

    kinds: tuple[str, ...] = KINDS
    since: str = ""
    limit: int | None = None
    full: bool = False
    confirmed: bool = False


def is_due(last: Any, now: datetime, interval: timedelta) -> bool:
    """Tell whether an import is due: never made, long enough ago, left unfinished, or made after now (a clock that was
    set back)."""
    if not isinstance(last, dict) or last.get("more"):
        return True
    passed = now - from_iso(str(last["at"]))
    return passed >= interval or passed < timedelta(0)


async def run_import(
    client: GlpiClient,
    store: Store,
    extractor: DocumentReader,
    wanted: Wanted,
    policy: ImportPolicy,
    *,
    stopping: Callable[[], bool] = lambda: False,
    progress: Progress = silent,
) -> ImportReport:
    """Import, note how it went, and return what was done. Raises GlpiError; what was done before it stands."""
    intake = Intake(store, policy, stopping, wanted.limit, wanted.confirmed, progress)
    await intake.open()
    tickets = articles = None
    try:
        if "tickets" in wanted.kinds:
            tickets = await import_tickets(client, intake, since=wanted.since, full=wanted.full)
        if "articles" in wanted.kinds and not stopping():
            articles = await import_articles(client, intake, extractor, since=wanted.since, full=wanted.full)
    except GlpiError as error:
        await _note(store, ImportReport(tickets, articles), str(error))
        raise
    finally:
        await intake.close()
    report = ImportReport(tickets, articles)
    await _note(store, report, "")
    return report


async def _note(store: Store, report: ImportReport, error: str) -> None:
    before = await store.read(get_state, LAST)
    said: dict[str, Any] = {"at": to_iso(store.clock.now()), "more": report.more, "error": error, **report.document()}
    await store.write(set_state, LAST, said)
    if error:
        if not isinstance(before, dict) or before.get("error") != error:
            await store.log(Event(events.GLPI_FAILED, {"what": "import", "error": error}, "warning"))
    elif report.touched:
        level = "warning" if any(tally.held_back or tally.failed for tally in report.tallies) else "info"
        await store.log(Event(events.GLPI_IMPORTED, report.document(), level))
