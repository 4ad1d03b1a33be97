"""Knowledge gaps as people and programs are shown them: what was seen, where, why, and what was decided (spec 05, 09).

The command line and the API show the same pages of a scan. A cursor names its scan, so that pages fit together
although another scan may come between two of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from data.models import Node, Scan, ScanDecision, TaskState
from data.nodes import nodes_by_ids
from data.scans import count_by_kind, decisions_page, get_scan, last_scan
from data.store import Store
from research.gaps import KINDS

__all__ = ["KINDS", "BadCursor", "GapsPage", "gaps_page"]

_CURSOR: Final = re.compile(r"([A-Za-z0-9_-]{1,64})\.([0-9]{1,6})")


class BadCursor(ValueError):
    """The cursor is none that was given out, or its scan is no longer kept; the message is a sentence."""


@dataclass(frozen=True, slots=True)
class GapsPage:
    """A page of a scan's gaps, best first; `scan` is None before the first scan, `next` at the last page.

    `by_kind` counts what is kept of the scan; the scan itself counts all its candidates.
    """

    scan: Scan | None
    by_kind: Mapping[str, int]
    opportunities: list[dict[str, Any]]
    next: str | None

    def document(self) -> dict[str, Any]:
        """Return the page in plain values."""
        scan = None if self.scan is None else asdict(self.scan)
        return {
            "scan": scan,
            "by_kind": dict(self.by_kind),
            "opportunities": self.opportunities,
            "next": self.next,
        }


async def gaps_page(store: Store, *, kind: str | None = None, limit: int, cursor: str | None = None) -> GapsPage:
    """Return the latest scan's gaps, of one of `KINDS` or all, at most `limit`; `cursor` continues a page.

    Raises BadCursor.
    """
    return await store.read(_page, kind, limit, cursor)


def _page(conn: Any, kind: str | None, limit: int, cursor: str | None) -> GapsPage:
    scan, after = _begin(conn, cursor)
    if scan is None:
        return GapsPage(None, {}, [], None)
    found = decisions_page(conn, scan.id, kind=kind, after=after, limit=limit + 1)
    more, found = len(found) > limit, found[:limit]
    nodes = nodes_by_ids(conn, {seed for decision, _ in found for seed in decision.seeds})
    shown = [_shown(decision, state, nodes) for decision, state in found]
    following = f"{scan.id}.{found[-1][0].ordinal}" if more else None
    return GapsPage(scan, count_by_kind(conn, scan.id), shown, following)


def _begin(conn: Any, cursor: str | None) -> tuple[Scan | None, int]:
    """Return the scan to show and the place behind which to begin."""
    if cursor is None:
        return last_scan(conn), -1
    match = _CURSOR.fullmatch(cursor)
    if match is None:
        raise BadCursor("The cursor is none of ours; take `next` of the page before, or leave it out.")
    scan = get_scan(conn, match[1])
    if scan is None:
        raise BadCursor("The scan of this cursor is no longer kept; begin again without it.")
    return scan, int(match[2])


def _shown(decision: ScanDecision, state: TaskState | None, nodes: Mapping[str, Node]) -> dict[str, Any]:
    return {
        "rank": decision.ordinal + 1,
        "kind": decision.kind,
        "topic": decision.topic,
        "score": decision.score,
        "why": decision.why,
        "seeds": [_seed(seed, nodes.get(seed)) for seed in decision.seeds],
        "decision": decision.decision,
        "rejection_reason": decision.rejection_reason,
        "recommended_action": decision.recommended_action,
        "task_id": decision.task_id,
        "task_state": state,
    }


def _seed(node_id: str, node: Node | None) -> dict[str, Any]:
    """Return a node in which a gap was seen; one that is gone keeps its id alone."""
    return {
        "id": node_id,
        "kind": None if node is None else node.kind,
        "title": None if node is None else node.label,
        "active": node is not None and node.active,
    }
