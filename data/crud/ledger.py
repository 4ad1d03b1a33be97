"""The journal, written: an entry is opened with its write and closed by its verification.

`expected` holds `{"rows": {ref: row or digest}, "events": […]}`: what a start needs to finish the
verification of a write whose process died, and to send the events it would have sent. `before` holds
whole rows, because they may have to be put back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from data.crud.rows import RowWork, driver_of, on_postgres, put_rows
from data.crud.wire import Row, journal_row, readable, row_digest, to_wire
from data.models import Event, JournalStatus
from data.schema import journal
from data.tx import Tx

__all__ = ["close_entry", "events_of", "expected_form", "fits", "open_entry", "writer_of"]

_DETAILED_ROWS: Final = 50
"""Rows up to which an entry shows each row; above, a digest a row keeps a large ingest readable."""
_WRITER: Final = "writer"
"""The key in `expected`, and in a connection's `info`, of the number of the process that is to verify the entry."""
_CLOSE: Final = "UPDATE journal SET status = ?, verified = ?, after = ?, reason = ? WHERE id = ? AND status = 'pending'"


def expected_form(work: Sequence[RowWork]) -> dict[str, Any]:
    """Return the rows a write must leave, as the journal keeps them."""
    detailed = len(work) <= _DETAILED_ROWS
    return {row.ref: journal_row(row.table, row.expected) if detailed else row_digest(row.expected) for row in work}


def fits(work: RowWork, form: Any, actual: Row | None) -> bool:
    """Tell whether `actual` is the row that `form` (a value of `expected_form`) describes."""
    if actual is None or form is None:
        return False
    if isinstance(form, str):
        return row_digest(actual) == form
    return bool(journal_row(work.table, actual) == form)


def open_entry(
    tx: Tx, *, actor: str, action: str, target: str, work: Sequence[RowWork], events: Sequence[Event]
) -> str:
    """Write the pending entry of a write in its own transaction and return its id."""
    return insert_entry(
        tx,
        actor=actor,
        action=action,
        target=target,
        before={row.ref: readable(row.table, row.before) for row in work},
        expected={
            "rows": expected_form(work),
            "events": [{"name": e.name, "level": e.level, "payload": dict(e.payload)} for e in events],
        },
    )


def insert_entry(
    tx: Tx, *, actor: str, action: str, target: str, before: Mapping[str, Any] | None, expected: Mapping[str, Any]
) -> str:
    """Write a pending entry and return its id."""
    entry_id = tx.new_id("journal")
    writer = tx.conn.info.get(_WRITER)
    if writer is not None:
        expected = {**expected, _WRITER: writer}
    values = {
        "id": entry_id,
        "at": tx.now,
        "actor": actor,
        "action": action,
        "target": target,
        "before": before,
        "after": None,
        "expected": expected,
        "verified": False,
        "status": JournalStatus.PENDING,
        "reason": "",
    }
    put_rows(tx.conn, [RowWork(journal, "", (entry_id,), None, to_wire(journal, values))])
    return entry_id


def close_entry(
    tx: Tx, entry_id: str, *, status: JournalStatus, after: Mapping[str, Any] | None = None, reason: str = ""
) -> bool:
    """Close a pending entry; return False when somebody else has closed it meanwhile."""
    closed = {"status": status, "verified": status is JournalStatus.VERIFIED, "after": after, "reason": reason}
    values = (*to_wire(journal, closed).values(), entry_id)
    if on_postgres(tx.conn):
        from data.crud.rows_postgres import close_entry as close  # loads psycopg

        return close(tx.conn, values)
    return driver_of(tx.conn).execute(_CLOSE, values).rowcount == 1


def writer_of(expected: Mapping[str, Any] | None) -> int | None:
    """Return the number of the writer that an entry waits for, None where writers have no numbers (SQLite)."""
    number = (expected or {}).get(_WRITER)
    return number if isinstance(number, int) else None


def events_of(expected: Mapping[str, Any] | None) -> tuple[Event, ...]:
    """Return the success events that an entry's `expected` carries."""
    stored = (expected or {}).get("events", [])
    return tuple(Event(name=e["name"], level=e["level"], payload=e["payload"]) for e in stored)
