"""Opportunity scans and what each decided about every candidate: technical rows (spec 02, 05)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, Row, delete, func, insert, or_, select

from data.events import SCAN_COMPLETED
from data.models import Event, Scan, ScanDecision, TaskState
from data.schema import research_task, scan, scan_decision
from data.tx import Tx

__all__ = [
    "SHOWN",
    "count_by_kind",
    "decisions_of",
    "decisions_page",
    "get_scan",
    "last_scan",
    "list_scans",
    "record_scan",
    "rejections_since",
]

SHOWN: Final = 100
"""Rejections of an earlier scan that are kept: the best."""


def record_scan(
    tx: Tx, finished: Scan, decisions: Sequence[ScanDecision], *, forget_before: datetime, keep: Iterable[str] = ()
) -> None:
    """Write a scan with its decisions and report it; scans that ended before `forget_before` go.

    Of earlier scans stay the best `SHOWN` rejections, whatever led to a task, and what recommends one of `keep`: a
    house is scanned every few minutes, and thousands of gaps are the same each time.
    """
    tx.conn.execute(delete(scan).where(scan.c.finished_at < forget_before))
    action = scan_decision.c.recommended_action
    tx.conn.execute(
        delete(scan_decision).where(
            scan_decision.c.decision == "rejected",
            scan_decision.c.ordinal >= SHOWN,
            or_(action.is_(None), action.not_in(list(keep))),
        )
    )
    tx.conn.execute(insert(scan).values(**asdict(finished)))
    if decisions:
        tx.conn.execute(
            insert(scan_decision), [{**asdict(decision), "seeds": list(decision.seeds)} for decision in decisions]
        )
    payload = {
        "scan_id": finished.id,
        "candidates": finished.candidates,
        "planned": finished.planned,
        "created": finished.created,
        "merged": finished.merged,
        "rejected": dict(finished.rejected),
        "budget": dict(finished.budget),
    }
    tx.emit(Event(SCAN_COMPLETED, payload))


def get_scan(conn: Connection, scan_id: str) -> Scan | None:
    """Return the scan, or None."""
    row = conn.execute(select(scan).where(scan.c.id == scan_id)).one_or_none()
    return None if row is None else Scan(**row._mapping)


def list_scans(conn: Connection, *, limit: int = 20) -> list[Scan]:
    """Return scans, latest first."""
    rows = conn.execute(select(scan).order_by(scan.c.started_at.desc(), scan.c.id.desc()).limit(limit))
    return [Scan(**row._mapping) for row in rows]


def last_scan(conn: Connection) -> Scan | None:
    """Return the latest scan, or None before the first."""
    return next(iter(list_scans(conn, limit=1)), None)


def decisions_of(conn: Connection, scan_id: str) -> list[ScanDecision]:
    """Return what a scan decided about its candidates, best candidate first."""
    query = select(scan_decision).where(scan_decision.c.scan_id == scan_id).order_by(scan_decision.c.ordinal)
    return [_decision_of(row) for row in conn.execute(query)]


def decisions_page(
    conn: Connection, scan_id: str, *, kind: str | None = None, after: int = -1, limit: int
) -> list[tuple[ScanDecision, TaskState | None]]:
    """Return the next `limit` decisions of a scan behind the place `after`, best candidate first, of one kind or all.

    Each comes with the state in which the task that it names is now.
    """
    query = (
        select(scan_decision, research_task.c.state.label("task_state"))
        .outerjoin(research_task, research_task.c.id == scan_decision.c.task_id)
        .where(scan_decision.c.scan_id == scan_id, scan_decision.c.ordinal > after)
    )
    if kind is not None:
        query = query.where(scan_decision.c.kind == kind)
    found = []
    for row in conn.execute(query.order_by(scan_decision.c.ordinal).limit(limit)):
        values = dict(row._mapping)
        state = values.pop("task_state")
        found.append((_decision(values), None if state is None else TaskState(state)))
    return found


def count_by_kind(conn: Connection, scan_id: str) -> dict[str, int]:
    """Return how many decisions of a scan are kept, by kind, in order of kind."""
    kinds = select(scan_decision.c.kind, func.count()).where(scan_decision.c.scan_id == scan_id)
    return dict(conn.execute(kinds.group_by(scan_decision.c.kind).order_by(scan_decision.c.kind)).tuples().all())


def rejections_since(conn: Connection, since: datetime, recommended_action: str) -> list[ScanDecision]:
    """Return the decisions of scans after `since` that recommend this action, oldest first."""
    query = (
        select(scan_decision)
        .join(scan, scan.c.id == scan_decision.c.scan_id)
        .where(scan.c.finished_at >= since, scan_decision.c.recommended_action == recommended_action)
        .order_by(scan.c.started_at, scan_decision.c.ordinal)
    )
    return [_decision_of(row) for row in conn.execute(query)]


def _decision_of(row: Row[Any]) -> ScanDecision:
    return _decision(dict(row._mapping))


def _decision(values: dict[str, Any]) -> ScanDecision:
    return ScanDecision(**values | {"seeds": tuple(values["seeds"])})
