"""Opportunity scans and what each decided about every candidate: technical rows (spec 02, 05)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select

from data.events import SCAN_COMPLETED
from data.models import Event, Scan, ScanDecision
from data.schema import scan, scan_decision
from data.tx import Tx

__all__ = ["decisions_of", "get_scan", "last_scan", "list_scans", "record_scan", "rejections_since"]


def record_scan(tx: Tx, finished: Scan, decisions: Sequence[ScanDecision], *, forget_before: datetime) -> None:
    """Write a scan with its decisions and report it; scans that ended before `forget_before` go."""
    tx.conn.execute(delete(scan).where(scan.c.finished_at < forget_before))
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
    values = dict(row._mapping)
    values["seeds"] = tuple(values["seeds"])
    return ScanDecision(**values)
