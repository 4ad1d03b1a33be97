"""Verified writes: validate, snapshot, execute, read back (spec 02, "Verified writes").

`perform` runs an operation whole on the writer thread:

1. `operation.plan` looks at the current state and decides; it writes nothing;
2. every row it wants to touch is read as it stands (`before`);
3. the changes and a pending journal entry are written in one transaction;
4. after the commit another connection reads the rows afresh; they are compared with what was expected,
   column by column, and the entry is closed: verified with its success events, or failed.

A write that does not read back as expected is undone from `before` where nobody else has touched its
rows; that, too, is read back. Between 3 and 4 no other write of this process can run. A write of
another process in that gap shows in the file's version, and in the journal as a `before` that equals
what we expected: then our write did stand, and counts as verified.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from sqlalchemy import Table

from data.crud import ledger, repair
from data.crud.outcome import WriteOutcome, settle
from data.crud.rows import RowWork, put_rows, read_rows, writes_so_far
from data.crud.wire import Row, key_columns, readable, ref_of, to_wire
from data.errors import ConstraintViolated, StoreError
from data.models import Event, JournalStatus
from data.store import Store
from data.tx import Tx
from data.writer import Writer

__all__ = ["Ask", "Operation", "Plan", "Refusal", "RowChange", "WriteOutcome", "perform", "stale_version"]


@dataclass(frozen=True, slots=True)
class RowChange:
    """One row to write: inserted when `key` is absent (missing columns are NULL), else these columns updated."""

    table: Table
    key: Mapping[str, Any]
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Plan:
    """What an operation decided to write. Rows go in in this order; no row occurs twice.

    `events` report the success and are written when it is verified. `corrected` says that the action
    differs from what was asked. A plan without changes is a success that needed no write.
    """

    action: str
    target: str
    changes: tuple[RowChange, ...]
    events: tuple[Event, ...] = ()
    message: str = ""
    corrected: bool = False
    result: Any = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an operation is not done: a stable word and a sentence."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Ask:
    """A question that a person must answer first."""

    kind: str
    text: str
    choices: tuple[str, ...]


class Operation(Protocol):
    """One domain write."""

    @property
    def action(self) -> str:
        """What is asked for, e.g. `update`."""
        ...

    def plan(self, tx: Tx) -> Plan | Refusal | Ask:
        """Decide on the state that `tx.conn` shows; write nothing."""
        ...


@dataclass(frozen=True, slots=True)
class _Written:
    """A committed write that waits for its verification."""

    plan: Plan
    work: tuple[RowWork, ...]
    journal_id: str


async def perform(store: Store, operation: Operation, *, actor: str) -> WriteOutcome:
    """Do `operation` as a verified write for `actor` and return what really happened.

    Raises `StoreUnavailable` when nothing could be written, ValueError for values no column can hold.
    Cancelling the caller leaves the write whole: it is finished, verified and journaled all the same.
    """
    return await store.on_writer(_perform, operation, actor)


def stale_version(current: int, seen: int | None) -> Refusal | None:
    """Return the refusal of an update that was based on another version than the stored one, or None."""
    if seen is None or seen == current:
        return None
    return Refusal("stale_version", f"it was changed meanwhile (version {current}, you saw {seen}); look at it again")


def _perform(writer: Writer, operation: Operation, actor: str) -> WriteOutcome:
    try:
        written = _execute(writer, operation, actor)
    except ConstraintViolated as error:
        return settle(action=operation.action, target="", reason="constraint", message=str(error))
    if isinstance(written, WriteOutcome):
        return written
    try:
        return _verify(writer, written)
    except StoreError as error:
        return settle(
            action=written.plan.action,
            target=written.plan.target,
            written=True,
            before=_shown((row, row.before) for row in written.work),
            expected=_shown((row, row.expected) for row in written.work),
            reason="unverified",
            message=f"written, but not read back ({error}); the next start verifies it",
            journal_id=written.journal_id,
        )


def _execute(writer: Writer, operation: Operation, actor: str) -> _Written | WriteOutcome:
    """Plan and write in one transaction; return the outcome at once where there is nothing to verify."""
    with writer.transaction() as tx:
        decision = _decide(tx, operation)
        if isinstance(decision, Refusal):
            return settle(
                action=operation.action, target="", refused=True, reason=decision.reason, message=decision.message
            )
        if isinstance(decision, Ask):
            return settle(
                action=operation.action,
                target="",
                question=True,
                reason=decision.kind,
                message=decision.text,
                choices=decision.choices,
            )
        if not decision.changes:
            for event in decision.events:
                tx.emit(event)
            return settle(
                action=decision.action,
                target=decision.target,
                written=True,
                verified=True,
                corrected=decision.corrected,
                message=decision.message,
                result=decision.result,
            )
        work = _snapshot(tx, decision.changes)
        put_rows(tx.conn, work)
        journal_id = ledger.open_entry(
            tx, actor=actor, action=decision.action, target=decision.target, work=work, events=decision.events
        )
        writer.mark()
    return _Written(decision, work, journal_id)


def _decide(tx: Tx, operation: Operation) -> Plan | Refusal | Ask:
    before = writes_so_far(tx.conn)
    decision = operation.plan(tx)
    if writes_so_far(tx.conn) != before:
        raise TypeError(f"{type(operation).__name__}.plan wrote to the database; a plan only decides")
    return decision


def _snapshot(tx: Tx, changes: Sequence[RowChange]) -> tuple[RowWork, ...]:
    """Read every row as it stands and work out what must stand there afterwards."""
    keys: dict[Table, dict[tuple[Any, ...], None]] = {}
    for change in changes:
        key = tuple(change.key[name] for name in key_columns(change.table))
        wanted = keys.setdefault(change.table, {})
        if key in wanted:
            raise ValueError(f"the plan writes {ref_of(change.table, key)} twice")
        wanted[key] = None
    current = {table: read_rows(tx.conn, table, wanted) for table, wanted in keys.items()}
    work: list[RowWork] = []
    for change in changes:
        table = change.table
        key = tuple(change.key[name] for name in key_columns(table))
        before = current[table].get(key)
        base: Row = dict.fromkeys(table.columns.keys()) if before is None else before
        expected = base | to_wire(table, change.values) | to_wire(table, change.key)
        work.append(RowWork(table, ref_of(table, key), key, before, expected))
    return tuple(work)


def _verify(writer: Writer, written: _Written) -> WriteOutcome:
    """Read the rows on another connection, compare, close the journal entry."""
    work, plan = written.work, written.plan
    with writer.closing_transaction() as tx:
        overtaken = writer.overtaken()
        with writer.fresh() as connection:
            after = repair.read_current(connection, work)
        wrong = repair.mismatches(work, after)
        if wrong and overtaken:
            wrong = repair.unexplained(tx.conn, written.journal_id, work, wrong)
        if not wrong:
            closed = ledger.close_entry(
                tx, written.journal_id, status=JournalStatus.VERIFIED, after=repair.after_form(work, after)
            )
            if closed:  # otherwise a start of another process has verified it and sent the events
                for event in plan.events:
                    tx.emit(event)
    reason = ""
    if wrong:
        reason = repair.fail(
            writer, written.journal_id, plan.action, plan.target, work, after, wrong, undoable=not overtaken
        )
    expected = _shown((row, row.expected) for row in work)
    as_expected = not wrong and not overtaken
    return settle(
        action=plan.action,
        target=plan.target,
        written=True,
        verified=not wrong,
        corrected=plan.corrected,
        before=_shown((row, row.before) for row in work),
        after=expected if as_expected else _shown((row, after.get(row.ref)) for row in work),
        expected=expected,
        message=plan.message if not wrong else reason,
        reason="verification" if wrong else "",
        result=plan.result,
        journal_id=written.journal_id,
    )


def _shown(pairs: Any) -> dict[str, Any]:
    return {work.ref: readable(work.table, row) for work, row in pairs}
