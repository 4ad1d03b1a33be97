"""What follows when a write does not read back as expected: explain it, undo it, or say that it failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Connection, select

from data.crud import ledger
from data.crud.rows import RowWork, delete_rows, put_rows, read_rows
from data.crud.wire import Row, differences, journal_row, wire_of_readable
from data.errors import StoreError
from data.events import CRUD_VERIFICATION_FAILED
from data.models import Event, JournalStatus
from data.schema import journal
from data.tx import Tx
from data.writer import Writer

__all__ = ["after_form", "close_failed", "fail", "mismatches", "read_current", "undo", "unexplained"]

Current = Mapping[str, Row]
"""Rows read afresh, by ref; absent where there is no such row."""

_SHOWN: Final = 10
"""Rows that a failure names; the journal has them all."""
_DETAILED: Final = 50


def read_current(conn: Connection, work: Sequence[RowWork]) -> Current:
    """Read the rows of `work` on `conn`."""
    keys: dict[Any, list[tuple[Any, ...]]] = {}
    for row in work:
        keys.setdefault(row.table, []).append(row.key)
    found = {table: read_rows(conn, table, wanted) for table, wanted in keys.items()}
    return {row.ref: found[row.table][row.key] for row in work if row.key in found[row.table]}


def mismatches(work: Sequence[RowWork], after: Current) -> dict[str, tuple[str, ...]]:
    """Return the rows that are not as expected, each with the names of the columns that differ."""
    wrong = {row.ref: differences(row.expected, after.get(row.ref)) for row in work}
    return {ref: names for ref, names in wrong.items() if names}


def unexplained(
    conn: Connection, journal_id: str, work: Sequence[RowWork], wrong: Mapping[str, tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    """Return what of `wrong` no later verified write accounts for.

    A later entry whose `before` is what we expected is proof that our row stood as expected when that
    write began.
    """
    expected = {row.ref: (row, row.expected) for row in work}
    left = dict(wrong)
    for ref in wrong:
        row, wanted = expected[ref]
        statement = select(journal.c.before).where(
            journal.c.id != journal_id, journal.c.before.is_not(None), journal.c.target != ""
        )
        for (before,) in conn.execute(statement.order_by(journal.c.at.desc()).limit(200)):
            if before.get(ref) is not None and wire_of_readable(row.table, before[ref]) == wanted:
                del left[ref]
                break
    return left


def after_form(work: Sequence[RowWork], after: Current) -> dict[str, Any]:
    """Return what was read back as the journal keeps it: rows, or their number for a large write."""
    if len(work) > _DETAILED:
        return {"rows": len(after)}
    return {row.ref: journal_row(row.table, after.get(row.ref)) for row in work}


def undo(tx: Tx, work: Sequence[RowWork], seen: Current) -> None:
    """Put every row back as it was before, last first; raise StoreError when one has changed since `seen`."""
    now = read_current(tx.conn, work)
    for row in work:
        if now.get(row.ref) != seen.get(row.ref):
            raise StoreError(f"{row.ref} was changed by somebody else meanwhile")
    for row in reversed(work):
        if row.before is None:
            if row.ref in now:
                delete_rows(tx.conn, row.table, [row.key])
        else:
            put_rows(tx.conn, [RowWork(row.table, row.ref, row.key, now.get(row.ref), row.before)])


def fail(
    writer: Writer,
    journal_id: str,
    action: str,
    target: str,
    work: Sequence[RowWork],
    after: Current,
    wrong: Mapping[str, tuple[str, ...]],
    *,
    undoable: bool = True,
) -> str:
    """Undo a write that did not read back, read that back, close its entry; return the sentence why.

    With `undoable=False` another process has written since: the rows are left as they stand, because
    undoing could take away what that process did.
    """
    named = "; ".join(f"{ref}: {', '.join(names)}" for ref, names in list(wrong.items())[:_SHOWN])
    sentence = f"what was read back differs from what was written ({named})"
    if undoable:
        status, ending = _undo_and_check(writer, work, after)
    else:
        status, ending = JournalStatus.FAILED, "another process wrote at the same time, so it is left as it stands"
    sentence += f"; {ending}"
    with writer.transaction() as tx:
        close_failed(
            tx, journal_id, status=status, action=action, target=target, reason=sentence, after=after_form(work, after)
        )
    return sentence


def _undo_and_check(writer: Writer, work: Sequence[RowWork], after: Current) -> tuple[JournalStatus, str]:
    """Put the rows back, read that back too, and return how the entry ends and the words for it."""
    try:
        with writer.transaction() as tx:
            undo(tx, work, after)
        with writer.fresh() as connection:
            now = read_current(connection, work)
    except StoreError as error:
        return JournalStatus.FAILED, f"it could not be undone: {error}"
    left = [row.ref for row in work if now.get(row.ref) != row.before]
    if left:
        return JournalStatus.FAILED, f"undoing it did not read back either ({', '.join(left[:_SHOWN])})"
    return JournalStatus.ROLLED_BACK, "it was undone"


def close_failed(
    tx: Tx,
    journal_id: str,
    *,
    status: JournalStatus,
    action: str,
    target: str,
    reason: str,
    after: Mapping[str, Any] | None,
) -> None:
    """Close an entry as failed or rolled back and report it as `crud.verification.failed`."""
    if ledger.close_entry(tx, journal_id, status=status, after=after, reason=reason):
        tx.emit(
            Event(
                CRUD_VERIFICATION_FAILED,
                {
                    "journal": journal_id,
                    "action": action,
                    "target": target,
                    "reason": reason,
                    "undone": status is JournalStatus.ROLLED_BACK,
                },
                level="error",
            )
        )
