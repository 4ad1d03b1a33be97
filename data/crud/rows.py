"""Whole rows, read and written by key, in the wire form of `data.crud.wire`; on PostgreSQL by `rows_postgres`.

The statements are plain SQL on the driver's connection, built once a table: a verified write makes half
a dozen of them, and building each anew would cost more than the database does.
"""

from __future__ import annotations

import json
import sqlite3
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from operator import itemgetter
from types import ModuleType
from typing import Any, Final, cast

from sqlalchemy import Boolean, Connection, Table

from data.crud.wire import Row, key_columns

__all__ = [
    "Driver",
    "RowWork",
    "blocks",
    "delete_rows",
    "driver_of",
    "fetch_rows",
    "on_postgres",
    "put_rows",
    "read_rows",
    "upsert_rows",
    "writes_so_far",
]

Driver = sqlite3.Connection

_BLOCK: Final = 1000
"""Rows looked up by one statement."""


@dataclass(frozen=True, slots=True)
class RowWork:
    """One row of a write: where it is, what stood there, what must stand there now."""

    table: Table
    ref: str
    key: tuple[Any, ...]
    before: Row | None
    expected: Row


def on_postgres(conn: Connection) -> bool:
    """Tell whether `conn` speaks to PostgreSQL: then `data.crud.rows_postgres` does the work."""
    return conn.dialect.name == "postgresql"


def writes_so_far(conn: Connection) -> object:
    """Return what changes as soon as the transaction of `conn` has written anything."""
    if on_postgres(conn):
        # A transaction gets its number with its first write.
        return conn.exec_driver_sql("SELECT pg_current_xact_id_if_assigned()::text").scalar_one()
    return driver_of(conn).total_changes


def _postgres() -> ModuleType:
    from data.crud import rows_postgres  # loads psycopg, which SQLite does without

    return rows_postgres


def driver_of(conn: Connection) -> Driver:
    """Return the driver's own connection below `conn`, in the same transaction."""
    return cast("Driver", conn.connection.driver_connection)


def read_rows(conn: Connection, table: Table, keys: Iterable[tuple[Any, ...]]) -> dict[tuple[Any, ...], Row]:
    """Return the rows of `table` with these keys that are there, by key, in wire form."""
    names = table.columns.keys()
    booleans = [column.name for column in table.columns if isinstance(column.type, Boolean)]
    found: dict[tuple[Any, ...], Row] = {}
    for values in fetch_rows(conn, table, list(keys)):
        row = dict(zip(names, values, strict=True))
        for name in booleans:
            row[name] = bool(row[name]) if row[name] is not None else None
        found[tuple(row[name] for name in key_columns(table))] = row
    return found


def fetch_rows(conn: Connection, table: Table, keys: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return the rows with these keys that are there, all columns as stored, in the order of the keys."""
    if on_postgres(conn):
        found: list[tuple[Any, ...]] = _postgres().fetch_rows(conn, table, keys)
        return found
    driver = driver_of(conn)
    asked = (driver.execute(_lookup(table), (_lookup_keys(block),)) for block in blocks(keys))
    return [row for cursor in asked for row in cursor]


def upsert_rows(conn: Connection, table: Table, rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert rows of all columns, in ascending order of their keys, or replace those with the same key."""
    if on_postgres(conn):
        _postgres().upsert_rows(conn, table, rows)
        return
    driver = driver_of(conn)
    known = _possibly_known(driver, table, rows)
    for statement, part in ((_upsert(table), rows[:known]), (_insert(table), rows[known:])):
        if part:
            driver.executemany(statement, part)


def _possibly_known(driver: Driver, table: Table, rows: Sequence[tuple[Any, ...]]) -> int:
    """Return how many rows, from the first on, may be in the table: keys above its highest are not.

    Ids ascend with time, so nearly all new rows are found by this, and a plain INSERT takes two thirds of the
    time of one that may have to update.
    """
    first = key_columns(table)[0]
    highest = driver.execute(f'SELECT max("{first}") FROM "{table.name}"').fetchone()[0]  # noqa: S608
    if highest is None:
        return 0
    return bisect_right(rows, highest, key=itemgetter(list(table.columns.keys()).index(first)))


def put_rows(conn: Connection, work: Sequence[RowWork]) -> None:
    """Insert the rows that were absent and update those that differ, in the order given."""
    for (table, exists), group in groupby(work, key=lambda row: (row.table, row.before is not None)):
        names = table.columns.keys()
        if not exists:
            _insert_all(conn, table, [tuple(map(row.expected.__getitem__, names)) for row in group])
            continue
        keys = key_columns(table)
        order = [*(name for name in names if name not in keys), *keys]
        changed = [tuple(map(row.expected.__getitem__, order)) for row in group if row.before != row.expected]
        _update_all(conn, table, changed)


def _insert_all(conn: Connection, table: Table, rows: list[tuple[Any, ...]]) -> None:
    if on_postgres(conn):
        _postgres().insert_rows(conn, table, rows)
    else:
        driver_of(conn).executemany(_insert(table), rows)


def _update_all(conn: Connection, table: Table, rows: list[tuple[Any, ...]]) -> None:
    if on_postgres(conn):
        _postgres().update_rows(conn, table, rows)
    else:
        driver_of(conn).executemany(_update(table), rows)


def delete_rows(conn: Connection, table: Table, keys: Sequence[tuple[Any, ...]]) -> None:
    """Delete rows by key (compensation only: domain rows are deleted softly)."""
    if on_postgres(conn):
        _postgres().delete_rows(conn, table, keys)
        return
    condition = " AND ".join(f'"{name}" = ?' for name in key_columns(table))
    driver_of(conn).executemany(f'DELETE FROM "{table.name}" WHERE {condition}', keys)  # noqa: S608


@cache
def _lookup(table: Table) -> str:
    """Return the statement that reads rows by a JSON array of keys (`_lookup_keys`), in the order of that array."""
    keys = key_columns(table)
    names = ", ".join(f't."{column.name}"' for column in table.columns)
    if len(keys) == 1:
        condition = f't."{keys[0]}" = k.value'
    else:
        condition = " AND ".join(f"t.\"{name}\" = json_extract(k.value, '$[{i}]')" for i, name in enumerate(keys))
    # CROSS JOIN keeps the keys as the outer loop: their order is the order of the rows.
    return f'SELECT {names} FROM json_each(?) AS k CROSS JOIN "{table.name}" AS t ON {condition}'  # noqa: S608


def _lookup_keys(keys: Sequence[tuple[Any, ...]]) -> str:
    """Return keys as `_lookup` takes them."""
    return json.dumps([key[0] if len(key) == 1 else key for key in keys], ensure_ascii=False)


def blocks(rows: Sequence[tuple[Any, ...]]) -> Iterator[Sequence[tuple[Any, ...]]]:
    """Yield `rows` in pieces of what one look-up takes."""
    for start in range(0, len(rows), _BLOCK):
        yield rows[start : start + _BLOCK]


@cache
def _insert(table: Table) -> str:
    names = ", ".join(f'"{name}"' for name in table.columns.keys())  # noqa: SIM118 - columns iterate as columns
    marks = ", ".join("?" * len(table.columns))
    return f'INSERT INTO "{table.name}" ({names}) VALUES ({marks})'  # noqa: S608


@cache
def _upsert(table: Table) -> str:
    keys = key_columns(table)
    conflict = ", ".join(f'"{name}"' for name in keys)
    others = ", ".join(f'"{name}" = excluded."{name}"' for name in table.columns.keys() if name not in keys)  # noqa: SIM118
    return f"{_insert(table)} ON CONFLICT ({conflict}) DO UPDATE SET {others}"


@cache
def _update(table: Table) -> str:
    keys = key_columns(table)
    values = ", ".join(f'"{column.name}" = ?' for column in table.columns if column.name not in keys)
    condition = " AND ".join(f'"{name}" = ?' for name in keys)
    return f'UPDATE "{table.name}" SET {values} WHERE {condition}'  # noqa: S608
