"""At a start: finish the verification of writes whose process died before it could read them back."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import Connection, select

from data.crud import ledger, repair
from data.crud.rows import RowWork
from data.crud.wire import parse_ref, wire_of_readable
from data.journal import pending_entries
from data.models import JournalEntry, JournalStatus
from data.schema import journal
from data.tx import Tx
from data.writer import Writer

__all__ = ["anything_pending", "recover"]

_INTERRUPTED: Final = "the process ended before this was read back; what it derives is computed again"
_VERSION_COLUMNS: Final = ("version", "updated_at")


def anything_pending(conn: Connection) -> bool:
    """Tell whether the journal holds writes that nobody verified."""
    statement = select(journal.c.id).where(journal.c.status == JournalStatus.PENDING.value).limit(1)
    return conn.execute(statement).first() is not None


def recover(writer: Writer) -> int:
    """Verify every pending entry that no living process is about to verify, and close it; return how many there were.

    A write that reads back as expected is verified and its success events are sent now. One that does
    not is undone if no later change touched its rows, else it is failed as it stands.
    """
    with writer.transaction():  # nobody writes between the two questions
        with writer.fresh() as connection:
            entries = pending_entries(connection)
        alive = writer.living_elsewhere()
    entries = [entry for entry in entries if ledger.writer_of(entry.expected) not in alive]
    for entry in entries:
        try:
            _finish(writer, entry)
        except (ValueError, KeyError, TypeError) as error:
            # Nothing of this program writes such an entry; a start must not hang on one.
            _fail(writer, entry, f"the entry cannot be read: {error}")
    return len(entries)


def _finish(writer: Writer, entry: JournalEntry) -> None:
    forms = (entry.expected or {}).get("rows")
    if not isinstance(forms, dict):
        _fail(writer, entry, _INTERRUPTED)
        return
    with writer.transaction() as tx:
        with writer.fresh() as connection:
            work, after = _reconstruct(connection, entry, forms)
        wrong = {row.ref: ("differs",) for row in work if not ledger.fits(row, forms[row.ref], after.get(row.ref))}
        if not wrong:
            closed = ledger.close_entry(
                tx, entry.id, status=JournalStatus.VERIFIED, after=repair.after_form(work, after)
            )
            if closed:
                for event in ledger.events_of(entry.expected):
                    tx.emit(event)
            return
        if all(after.get(row.ref) == row.before for row in work):
            _close(tx, entry, JournalStatus.ROLLED_BACK, "it was undone before the process ended")
            return
        moved_on = [row.ref for row in work if row.ref in wrong and _moved_on(forms[row.ref], after.get(row.ref))]
        if moved_on:
            names = ", ".join(moved_on)
            _close(tx, entry, JournalStatus.FAILED, f"changed again before it was read back ({names}); left as it is")
            return
    repair.fail(writer, entry.id, entry.action, entry.target, work, after, wrong)


def _fail(writer: Writer, entry: JournalEntry, reason: str) -> None:
    with writer.transaction() as tx:
        _close(tx, entry, JournalStatus.FAILED, reason)


def _close(tx: Tx, entry: JournalEntry, status: JournalStatus, reason: str) -> None:
    repair.close_failed(
        tx, entry.id, status=status, action=entry.action, target=entry.target, reason=reason, after=None
    )


def _reconstruct(
    conn: Connection, entry: JournalEntry, forms: dict[str, Any]
) -> tuple[tuple[RowWork, ...], repair.Current]:
    before = entry.before or {}
    work = []
    for ref in forms:
        table, key = parse_ref(ref)
        work.append(RowWork(table, ref, key, wire_of_readable(table, before.get(ref)), {}))
    return tuple(work), repair.read_current(conn, work)


def _moved_on(form: Any, actual: dict[str, Any] | None) -> bool:
    """Tell whether the row carries a later version or time than was written: somebody changed it since."""
    if actual is None:
        return False
    if isinstance(form, str):  # a digest says nothing about versions: rather leave the row alone
        return True
    return any(name in form and form[name] != actual[name] for name in _VERSION_COLUMNS)
