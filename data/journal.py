"""The journal of verified writes, read (spec 02, table `journal`)."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, func, select

from data.models import JournalEntry, JournalStatus
from data.schema import journal

__all__ = ["count_by_status", "get_entry", "list_entries", "pending_entries"]


def get_entry(conn: Connection, entry_id: str) -> JournalEntry | None:
    """Return one entry, or None."""
    row = conn.execute(select(journal).where(journal.c.id == entry_id)).one_or_none()
    return None if row is None else _entry(row)


def list_entries(
    conn: Connection,
    *,
    limit: int = 50,
    before_id: str | None = None,
    actor: str | None = None,
    target: str | None = None,
    status: JournalStatus | None = None,
) -> list[JournalEntry]:
    """Return entries newest first; `before_id` continues below an entry already seen."""
    statement = select(journal)
    if before_id is not None:
        statement = statement.where(journal.c.id < before_id)
    if actor is not None:
        statement = statement.where(journal.c.actor == actor)
    if target is not None:
        statement = statement.where(journal.c.target == target)
    if status is not None:
        statement = statement.where(journal.c.status == status.value)
    return [_entry(row) for row in conn.execute(statement.order_by(journal.c.id.desc()).limit(limit))]


def pending_entries(conn: Connection) -> list[JournalEntry]:
    """Return what was written and not yet verified, oldest first."""
    statement = (
        select(journal).where(journal.c.status == JournalStatus.PENDING.value).order_by(journal.c.at, journal.c.id)
    )
    return [_entry(row) for row in conn.execute(statement)]


def count_by_status(conn: Connection) -> dict[str, int]:
    """Return how many entries each status has."""
    statement = select(journal.c.status, func.count()).group_by(journal.c.status)
    return dict(conn.execute(statement).tuples().all())


def _entry(row: Row[Any]) -> JournalEntry:
    return JournalEntry(
        id=row.id,
        at=row.at,
        actor=row.actor,
        action=row.action,
        target=row.target,
        before=row.before,
        after=row.after,
        expected=row.expected,
        verified=row.verified,
        status=JournalStatus(row.status),
        reason=row.reason,
    )
