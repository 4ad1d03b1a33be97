"""Derived rows (embeddings, neighbours, vector edges, positions) written as one verified batch (spec 02).

A batch is journaled as a digest: how many rows it wrote and deleted, and a SHA-256 over all of them in
the order of their key, so that the same rows give the same digest in whatever order they came. After
the commit the rows are read back on another connection and compared value by value. There is no undo:
what a failed batch should have written can be computed again, and the next run does.

The rows go through the driver's own `executemany`; a batch costs at most about twice that.
"""

from __future__ import annotations

import hashlib
import marshal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter, lt
from typing import Any, Final

from sqlalchemy import Connection, Table

from data.collecting import let_go
from data.crud import ledger, repair
from data.crud.rows import Driver, blocks, delete_rows, driver_of, fetch_rows, on_postgres, upsert_rows
from data.crud.wire import batch_binders, key_columns
from data.errors import ConstraintViolated, StoreError
from data.models import Event, JournalStatus
from data.state import set_state
from data.store import Store
from data.tx import Tx
from data.writer import Writer

__all__ = ["Batch", "BatchOutcome", "Columns", "write_batch"]

_WALKED: Final = 1000
"""Rows of the table's end compared at once."""

_PIECE: Final = 5000
"""Rows turned into wire form by one call that holds the interpreter lock: some milliseconds."""

_Rows = list[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Columns:
    """Rows given as columns of one length, which for many rows is several times quicker than a mapping a row.

    `wire` names the columns whose values are in wire form already (`data.crud.wire`); they are taken as they are.
    """

    values: Mapping[str, Sequence[Any]]
    wire: frozenset[str] = frozenset()

    def __len__(self) -> int:
        return len(next(iter(self.values.values()), ()))


@dataclass(frozen=True, slots=True)
class Batch:
    """Derived rows of one table to insert or replace, and keys to delete.

    upserts: every column of each row. deletes: the key columns of each row.
    events, state: written in the transaction that closes the journal entry as verified.
    """

    name: str
    table: Table
    upserts: Sequence[Mapping[str, Any]] | Columns = ()
    deletes: Sequence[Mapping[str, Any]] = ()
    events: Sequence[Event] = ()
    state: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BatchOutcome:
    """What a batch did. `ok` only when it was read back; `digest` is hexadecimal, "" for an empty batch."""

    ok: bool
    written: int
    deleted: int
    digest: str
    message: str
    journal_id: str | None


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A batch in wire form, in order of its key."""

    batch: Batch
    rows: _Rows
    deletes: _Rows
    digest: str


async def write_batch(store: Store, batch: Batch, *, actor: str) -> BatchOutcome:
    """Write `batch` as one verified operation and return what happened.

    An empty batch writes no row and no journal entry, only its events and state. Raises StoreUnavailable
    when nothing could be written, ValueError for a row without all columns.
    """
    return await store.on_writer(_write, batch, actor)


def _write(writer: Writer, batch: Batch, actor: str) -> BatchOutcome:
    if not len(batch.upserts) and not batch.deletes:
        with writer.transaction() as tx:
            _report(tx, batch)
        return BatchOutcome(True, 0, 0, "", "nothing to write", None)
    prepared = _prepare(batch)
    target = f"table:{batch.table.name}"
    action = f"batch:{batch.name}"
    try:
        with writer.transaction() as tx:
            last = _execute(tx.conn, prepared)
            journal_id = ledger.insert_entry(
                tx, actor=actor, action=action, target=target, before=None, expected={"batch": _summary(prepared)}
            )
            writer.mark()
    except ConstraintViolated as error:
        return BatchOutcome(False, 0, 0, "", str(error), None)
    written, deleted = len(prepared.rows), len(prepared.deletes)
    try:
        with writer.closing_transaction() as tx:
            with writer.fresh() as connection:
                fault = _fault(connection, prepared, last)
            if not fault:
                ledger.close_entry(tx, journal_id, status=JournalStatus.VERIFIED, after=_summary(prepared))
                _report(tx, batch)
            else:
                fault += "; another process wrote at the same time" if writer.overtaken() else ""
                repair.close_failed(
                    tx,
                    journal_id,
                    status=JournalStatus.FAILED,
                    action=action,
                    target=target,
                    reason=fault,
                    after=None,
                )
    except StoreError as error:
        fault = f"written, but not read back ({error})"
    let_go(prepared.rows)
    if fault:
        return BatchOutcome(False, 0, 0, prepared.digest, fault, journal_id)
    return BatchOutcome(True, written, deleted, prepared.digest, f"{written} written, {deleted} deleted", journal_id)


def _report(tx: Tx, batch: Batch) -> None:
    for name, value in batch.state.items():
        set_state(tx, name, value)
    for event in batch.events:
        tx.emit(event)


def _prepare(batch: Batch) -> _Prepared:
    table = batch.table
    names = [column.name for column in table.columns]
    rows = _wire(table, batch.upserts, names)
    key_of = _key_of(table)
    if not _ascending(rows, key_of):
        rows.sort(key=key_of)
        if len(set(map(key_of, rows))) != len(rows):
            raise ValueError(f"the batch writes a row of {table.name} twice")
    deletes = _wire(table, batch.deletes, list(key_columns(table)))
    digest = hashlib.sha256()
    for block in blocks(rows):
        # Format 2 has neither references nor interning, so equal rows give equal bytes.
        digest.update(marshal.dumps([*block], 2))
    return _Prepared(batch, rows, deletes, digest.hexdigest())


def _wire(table: Table, rows: Sequence[Mapping[str, Any]] | Columns, names: list[str]) -> _Rows:
    """Return the values of `names` of each row as SQLite stores them; raise ValueError where one is missing."""
    by_name = batch_binders(table)
    found: _Rows = []
    try:
        for start in range(0, len(rows), _PIECE):
            if isinstance(rows, Columns):
                given = ((name, rows.values[name][start : start + _PIECE]) for name in names)
                columns = [values if name in rows.wire else map(by_name[name], values) for name, values in given]
            else:
                piece = rows[start : start + _PIECE]
                columns = [map(by_name[name], map(itemgetter(name), piece)) for name in names]
            found += zip(*columns, strict=True)
    except KeyError as error:
        raise ValueError(f"a row of the batch for {table.name} has no column {error}") from error
    except (AttributeError, TypeError, ValueError) as error:
        raise ValueError(f"a row of the batch for {table.name} holds what its column cannot: {error}") from error
    return found


def _ascending(rows: _Rows, key_of: Callable[[tuple[Any, ...]], tuple[Any, ...]]) -> bool:
    """Tell whether the keys ascend strictly: then they are in order and each is there once."""
    for start in range(0, len(rows), _PIECE):
        keys = list(map(key_of, rows[start : start + _PIECE + 1]))
        if not all(map(lt, keys, keys[1:])):
            return False
    return True


def _execute(conn: Connection, prepared: _Prepared) -> int:
    """Delete and write the rows; return the highest row number from before the write (SQLite alone has one)."""
    table = prepared.batch.table
    if prepared.deletes:
        delete_rows(conn, table, prepared.deletes)
    last = 0
    if not on_postgres(conn):
        last = int(driver_of(conn).execute(f'SELECT coalesce(max(rowid), 0) FROM "{table.name}"').fetchone()[0])  # noqa: S608
    upsert_rows(conn, table, prepared.rows)
    return last


def _fault(conn: Connection, prepared: _Prepared, last: int) -> str:
    """Read the rows back on `conn`, compare value by value, and return what is wrong, "" where nothing is."""
    table = prepared.batch.table
    key_of = _key_of(table)
    equal = 0 if on_postgres(conn) else _new_and_equal(driver_of(conn), prepared, last)
    for block in blocks(prepared.rows[equal:]):
        found = fetch_rows(conn, table, list(map(key_of, block)))
        if found == block:
            continue
        missing = len(block) - len(found)
        if missing:
            return f"{missing} rows of {table.name} were not there when they were read back"
        wrong = next((was, now) for was, now in zip(block, found, strict=True) if was != now)
        names = table.columns.keys()
        differing = [name for name, was, now in zip(names, *wrong, strict=True) if was != now]
        return f"{table.name} {key_of(wrong[0])} differs from what was written: {', '.join(differing)}"
    written = set(map(key_of, prepared.rows)) if prepared.deletes else set()
    if left := fetch_rows(conn, table, [key for key in prepared.deletes if key not in written]):
        return f"{len(left)} rows of {table.name} are still there after they were deleted"
    return ""


def _new_and_equal(driver: Driver, prepared: _Prepared, last: int) -> int:
    """Return how many of the rows, from the first on, stand at the end of the table exactly as written.

    Rows that were new were appended in the order of the batch, so walking the table's end compares them
    without looking up a single key; whatever is not found there is looked up one by one.
    """
    table = prepared.batch.table
    names = ", ".join(f'"{column.name}"' for column in table.columns)
    statement = f'SELECT {names} FROM "{table.name}" WHERE rowid > ? ORDER BY rowid'  # noqa: S608
    cursor = driver.execute(statement, (last,))
    equal = 0
    while found := cursor.fetchmany(_WALKED):
        if found != prepared.rows[equal : equal + len(found)]:
            break
        equal += len(found)
    cursor.close()
    return equal


def _key_of(table: Table) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    """Return what takes the key out of a row of all columns."""
    names = [column.name for column in table.columns]
    places = [names.index(name) for name in key_columns(table)]
    if len(places) == 1:
        place = places[0]
        return lambda row: (row[place],)
    return itemgetter(*places)


def _summary(prepared: _Prepared) -> dict[str, Any]:
    return {"written": len(prepared.rows), "deleted": len(prepared.deletes), "sha256": prepared.digest}
