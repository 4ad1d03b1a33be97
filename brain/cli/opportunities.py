"""`brain opportunities`: the gaps of the latest scan, and what was decided about each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from brain.cli.shell import Context
from brain.errors import BrainError, UsageError
from brain.gaps import KINDS, GapsPage, gaps_page
from brain.homes import open_store

if TYPE_CHECKING:
    from rich.console import Console

    from data.models import Scan

__all__ = ["opportunities"]

SEEDS_SHOWN: Final = 3


async def opportunities(context: Context, *, limit: int, kind: str | None) -> None:
    """Print the latest scan's gaps with the decision about each; raise UsageError for an unknown kind."""
    if kind is not None and kind not in KINDS:
        raise UsageError(f"There is no kind {kind!r} of gap; the kinds are {', '.join(KINDS)}.")
    async with open_store(context.settings, must_exist=True) as store:
        page = await gaps_page(store, kind=kind, limit=limit)
    if page.scan is None:
        raise BrainError("There was no scan yet; `brain scan` makes one.")
    scan = page.scan
    context.emit(page.document(), lambda console: _show(console, page, scan, kind))


def _show(console: Console, page: GapsPage, scan: Scan, kind: str | None) -> None:
    def say(line: str) -> None:
        console.print(line, markup=False)

    say(
        f"Scan of {scan.finished_at:%Y-%m-%d %H:%M} UTC: {scan.candidates} gaps, {scan.created} tasks created, "
        f"{scan.merged} merged, not planned: {_counts(scan.rejected)}"
    )
    if page.by_kind:
        say(f"by kind: {_counts(page.by_kind)}")
    for gap in page.opportunities:
        say(f"{gap['score']:5.2f}  {gap['kind']:<18} {gap['topic']}")
        say(f"       {gap['why']}")
        say(f"       seen in: {_seeds(gap['seeds'])}")
        say(f"       {_decided(gap)}")
    if not page.opportunities:
        say(_nothing(scan, kind))
    elif page.next is not None:
        say(f"The best {len(page.opportunities)}; --limit shows more.")


def _decided(gap: Mapping[str, Any]) -> str:
    """Return what was decided about a gap, why, and what a person can do."""
    words = gap["decision"] if gap["rejection_reason"] is None else f"{gap['decision']}: {gap['rejection_reason']}"
    if gap["task_id"]:
        words += f", task {gap['task_id']}" + (f" ({gap['task_state']})" if gap["task_state"] else "")
    return f"{words}; to do: {gap['recommended_action']}" if gap["recommended_action"] else words


def _seeds(seeds: list[dict[str, Any]]) -> str:
    titles = [seed["title"] or seed["id"] for seed in seeds[:SEEDS_SHOWN]]
    more = len(seeds) - len(titles)
    return ("; ".join(titles) + (f" and {more} more" if more else "")) or "no node"


def _nothing(scan: Scan, kind: str | None) -> str:
    if kind is None or not scan.candidates:
        return "No gap was found: every node has its relations, and what is asked about is explained somewhere."
    return f"No gap of the kind {kind} was found."


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items()) or "none"
