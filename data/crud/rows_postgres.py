"""Whole rows on PostgreSQL: what `data.crud.rows` and `data.crud.batch` say to SQLite, said to psycopg.

Many rows go and come as one array a column, so that a statement has as many parameters as columns and the server
plans it once: quicker than a statement a row, and equal in what it leaves behind.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Final, cast

import psycopg
from sqlalchemy import Boolean, Connection, Float, Integer, LargeBinary, Table

from data.crud.wire import key_columns

__all__ = ["close_entry", "delete_rows", "fetch_rows", "insert_rows", "update_rows", "upsert_rows"]

_BLOCK: Final = 2000
"""Rows in one statement: a few megabytes of vectors at most."""

_Rows = Sequence[tuple[Any, ...]]
Driver = psycopg.Connection[tuple[Any, ...]]


def fetch_rows(conn: Connection, table: Table, keys: _Rows) -> list[tuple[Any, ...]]:
    """Return the rows with these keys that are there, all columns, in the order of the keys."""
    cursor = _driver(conn).cursor(binary=True)
    found: list[tuple[Any, ...]] = []
    for block in _blocks(keys):
        found += cursor.execute(_lookup(table), _columns(block)).fetchall()
    return found


def insert_rows(conn: Connection, table: Table, rows: _Rows) -> None:
    """Insert rows of all columns."""
    for block in _blocks(rows):
        _driver(conn).execute(_insert(table), _columns(block))


def upsert_rows(conn: Connection, table: Table, rows: _Rows) -> None:
    """Insert rows of all columns, or replace those with the same key."""
    for block in _blocks(rows):
        _driver(conn).execute(_upsert(table), _columns(block))


def update_rows(conn: Connection, table: Table, rows: _Rows) -> None:
    """Update rows that are there; each has the columns that are no key, then the key."""
    for block in _blocks(rows):
        _driver(conn).execute(_update(table), _columns(block))


def delete_rows(conn: Connection, table: Table, keys: _Rows) -> None:
    """Delete rows by key."""
    for block in _blocks(keys):
        _driver(conn).execute(_delete(table), _columns(block))


def close_entry(conn: Connection, values: tuple[Any, ...]) -> bool:
    """Close a journal entry that is pending: status, verified, after, reason, id; tell whether it was pending."""
    return _driver(conn).execute(_CLOSE, values).rowcount == 1


_CLOSE: Final = (
    "UPDATE journal SET status = %s, verified = %s, after = %s, reason = %s WHERE id = %s AND status = 'pending'"
)


def _driver(conn: Connection) -> Driver:
    return cast("Driver", conn.connection.driver_connection)


def _blocks(rows: _Rows) -> Iterator[list[tuple[Any, ...]]]:
    for start in range(0, len(rows), _BLOCK):
        yield list(rows[start : start + _BLOCK])


def _columns(rows: list[tuple[Any, ...]]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]


@cache
def _lookup(table: Table) -> str:
    keys = key_columns(table)
    names = ", ".join(f't."{column.name}"' for column in table.columns)
    condition = " AND ".join(f't."{name}" = k."{name}"' for name in keys)
    aliases = ", ".join(f'"{name}"' for name in keys)
    return (
        f"SELECT {names} FROM unnest({_arrays(table, keys)}) WITH ORDINALITY AS k ({aliases}, place) "  # noqa: S608
        f'JOIN "{table.name}" AS t ON {condition} ORDER BY k.place'
    )


@cache
def _insert(table: Table) -> str:
    names = _names(table)
    columns = ", ".join(f'"{name}"' for name in names)
    # In the order given: a row may refer to one before it, and numbers are drawn in this order.
    return (
        f'INSERT INTO "{table.name}" ({columns}) SELECT {columns} FROM unnest({_arrays(table, names)}) '  # noqa: S608
        f"WITH ORDINALITY AS r ({columns}, place) ORDER BY place"
    )


@cache
def _upsert(table: Table) -> str:
    keys = key_columns(table)
    conflict = ", ".join(f'"{name}"' for name in keys)
    others = ", ".join(f'"{name}" = excluded."{name}"' for name in _names(table) if name not in keys)
    return f"{_insert(table)} ON CONFLICT ({conflict}) DO UPDATE SET {others}"


@cache
def _update(table: Table) -> str:
    keys = key_columns(table)
    others = [name for name in _names(table) if name not in keys]
    order = (*others, *keys)
    values = ", ".join(f'"{name}" = r."{name}"' for name in others)
    condition = " AND ".join(f't."{name}" = r."{name}"' for name in keys)
    aliases = ", ".join(f'"{name}"' for name in order)
    return (
        f'UPDATE "{table.name}" AS t SET {values} '  # noqa: S608
        f"FROM unnest({_arrays(table, order)}) AS r ({aliases}) WHERE {condition}"
    )


@cache
def _delete(table: Table) -> str:
    keys = key_columns(table)
    condition = " AND ".join(f't."{name}" = k."{name}"' for name in keys)
    aliases = ", ".join(f'"{name}"' for name in keys)
    return f'DELETE FROM "{table.name}" AS t USING unnest({_arrays(table, keys)}) AS k ({aliases}) WHERE {condition}'  # noqa: S608


def _names(table: Table) -> tuple[str, ...]:
    return tuple(column.name for column in table.columns)


def _arrays(table: Table, names: Sequence[str]) -> str:
    return ", ".join(f"{_PARAMETER}::{_kind(table, name)}[]" for name in names)


_PARAMETER: Final = "%b"
"""Sent as bytes: a vector as it is, a number without a detour through its digits."""


def _kind(table: Table, name: str) -> str:
    column = table.columns[name]
    for kind, word in ((Boolean, "boolean"), (Float, "double precision"), (Integer, "bigint"), (LargeBinary, "bytea")):
        if isinstance(column.type, kind):
            return word
    return "text"
