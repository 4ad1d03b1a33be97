"""Rows as the database holds them: what a verified write compares, journals and puts back.

A *wire* value is what stands in the file: times and JSON as their canonical text, booleans, numbers,
text and bytes as they are. Comparing wire values compares what was stored, not what a type made of it.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache, lru_cache, partial
from itertools import groupby
from typing import Any, Final

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Float,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    bindparam,
    delete,
    insert,
    select,
    tuple_,
    update,
)
from sqlalchemy.dialects.sqlite.pysqlite import dialect

from data import schema
from data.clock import to_iso
from data.schema import Json, Moment, encode_json

__all__ = [
    "Row",
    "RowWork",
    "batch_binders",
    "delete_rows",
    "differences",
    "journal_row",
    "key_columns",
    "parse_ref",
    "put_rows",
    "read_rows",
    "readable",
    "ref_of",
    "row_digest",
    "to_wire",
    "wire_of_readable",
]

Row = dict[str, Any]
"""A whole row in wire form, by column name."""

_CHUNK: Final = 400
"""Keys of one look-up; SQLite allows 32,766 parameters, a short statement is parsed faster."""
_DIALECT: Final = dialect()
_LONG_TEXT: Final = 512
"""Characters above which a journal keeps a value's SHA-256 instead of the value, where it needs no undo."""


@dataclass(frozen=True, slots=True)
class RowWork:
    """One row of a write: where it is, what stood there, what must stand there now."""

    table: Table
    ref: str
    key: tuple[Any, ...]
    before: Row | None
    expected: Row


@cache
def _wire_table(table: Table) -> Table:
    """Return a shadow of `table` whose columns read and write wire values."""
    columns = [Column(column.name, _wire_type(column), primary_key=column.primary_key) for column in table.columns]
    return Table(table.name, MetaData(), *columns)


def _wire_type(column: Column[Any]) -> Boolean | Float[float] | Integer | LargeBinary | Text:
    kind = column.type
    if isinstance(kind, Moment | Json):
        return Text()
    if isinstance(kind, Boolean):
        return Boolean()
    if isinstance(kind, Float):
        return Float(53)
    if isinstance(kind, Integer):
        return Integer()
    return LargeBinary() if isinstance(kind, LargeBinary) else Text()


@cache
def key_columns(table: Table) -> tuple[str, ...]:
    """Return the names of the primary key's columns, in order."""
    return tuple(column.name for column in table.primary_key.columns)


@cache
def _binders(table: Table) -> Mapping[str, Callable[[Any], Any]]:
    found: dict[str, Callable[[Any], Any]] = {}
    for column in table.columns:
        kind = column.type
        if isinstance(kind, Moment | Json):
            found[column.name] = partial(_bind, kind)
        elif isinstance(kind, Boolean):
            found[column.name] = lambda value: None if value is None else bool(value)
        elif isinstance(kind, LargeBinary):
            found[column.name] = lambda value: None if value is None else bytes(value)
        else:
            found[column.name] = _plain
    return found


def _bind(kind: Moment | Json, value: Any) -> Any:
    return kind.process_bind_param(value, _DIALECT)


def _optional(bind: Callable[[Any], Any], value: Any) -> Any:
    return None if value is None else bind(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, str) and not value.isascii():
        value.encode()  # a lone surrogate cannot be stored: refuse it here, where the column is known
    return value


@cache
def batch_binders(table: Table) -> Mapping[str, Callable[[Any], Any]]:
    """Return, by column, what turns a value into what SQLite gives back: quick, for many rows of one kind.

    numpy scalars become plain numbers, booleans 0 or 1.
    """
    plain: dict[type[Any], Callable[[Any], Any]] = {
        Boolean: int,
        Float: float,
        Integer: int,
        LargeBinary: bytes,
        Text: str,
    }
    found: dict[str, Callable[[Any], Any]] = {}
    for column in table.columns:
        kind = column.type
        bind: Callable[[Any], Any]
        if isinstance(kind, Moment):
            bind = lru_cache(maxsize=256)(to_iso)  # the rows of one batch share their times
        elif isinstance(kind, Json):
            bind = encode_json
        else:
            bind = next(convert for known, convert in plain.items() if isinstance(kind, known))
        found[column.name] = bind if not column.nullable else partial(_optional, bind)
    return found


def to_wire(table: Table, values: Mapping[str, Any]) -> Row:
    """Return `values` (Python values by column name) in wire form; raise ValueError for what cannot be stored."""
    binders = _binders(table)
    wire: Row = {}
    for name, value in values.items():
        if name not in binders:
            raise ValueError(f"table {table.name} has no column {name!r}")
        try:
            wire[name] = binders[name](value)
        except (TypeError, ValueError, AttributeError) as error:
            raise ValueError(f"column {table.name}.{name} cannot hold {type(value).__name__}: {error}") from error
    return wire


def ref_of(table: Table, key: Sequence[Any]) -> str:
    """Return the name of a row in journals and outcomes, e.g. `node:n_01J…`."""
    return f"{table.name}:{'/'.join(map(str, key))}"


def parse_ref(ref: str) -> tuple[Table, tuple[Any, ...]]:
    """Return table and key of a `ref_of`; raise ValueError for anything else."""
    name, _, rest = ref.partition(":")
    table = schema.metadata.tables.get(name)
    if table is None:
        raise ValueError(f"no table {name!r} in {ref!r}")
    columns = table.primary_key.columns
    parts = rest.split("/", len(columns) - 1)
    if len(parts) != len(columns):
        raise ValueError(f"{ref!r} does not name a row of {name}")
    return table, tuple(
        int(part) if isinstance(column.type, Integer) else part for part, column in zip(parts, columns, strict=True)
    )


def read_rows(conn: Connection, table: Table, keys: Iterable[tuple[Any, ...]]) -> dict[tuple[Any, ...], Row]:
    """Return the rows of `table` with these keys that are there, by key, in wire form."""
    shadow = _wire_table(table)
    names = key_columns(table)
    columns = [shadow.c[name] for name in names]
    found: dict[tuple[Any, ...], Row] = {}
    for chunk in _chunks(list(keys)):
        if len(columns) == 1:
            condition = columns[0].in_([key[0] for key in chunk])
        else:
            condition = tuple_(*columns).in_(chunk)
        for row in conn.execute(select(shadow).where(condition)).mappings():
            found[tuple(row[name] for name in names)] = dict(row)
    return found


def put_rows(conn: Connection, work: Sequence[RowWork]) -> None:
    """Insert the rows that were absent and update those that differ, in the order given."""
    for (table, exists), group in groupby(work, key=lambda row: (row.table, row.before is not None)):
        rows = list(group)
        shadow = _wire_table(table)
        if not exists:
            conn.execute(insert(shadow), [row.expected for row in rows])
            continue
        changed = [row.expected for row in rows if row.before != row.expected]
        if changed:
            keys = key_columns(table)
            condition = [shadow.c[name] == bindparam(f"key_{name}") for name in keys]
            statement = update(shadow).where(*condition)
            statement = statement.values(
                {c.name: bindparam(f"to_{c.name}") for c in shadow.columns if c.name not in keys}
            )
            conn.execute(
                statement,
                [{(f"key_{name}" if name in keys else f"to_{name}"): v for name, v in row.items()} for row in changed],
            )


def delete_rows(conn: Connection, table: Table, keys: Sequence[tuple[Any, ...]]) -> None:
    """Delete rows by key (compensation and derived rows only: domain rows are deleted softly)."""
    if keys:
        shadow = _wire_table(table)
        names = key_columns(table)
        statement = delete(shadow).where(*(shadow.c[name] == bindparam(f"key_{name}") for name in names))
        conn.execute(statement, [{f"key_{n}": part for n, part in zip(names, key, strict=True)} for key in keys])


def differences(expected: Row | None, actual: Row | None) -> tuple[str, ...]:
    """Return the names of the columns that differ; `("missing",)` or `("present",)` for a whole row."""
    if expected is None:
        return () if actual is None else ("present",)
    if actual is None:
        return ("missing",)
    return tuple(name for name in expected if expected[name] != actual[name])


def readable(table: Table, row: Row | None) -> dict[str, Any] | None:
    """Return `row` for people and JSON: JSON columns parsed, bytes as base64."""
    if row is None:
        return None
    shown = dict(row)
    for column in table.columns:
        value = shown.get(column.name)
        if value is not None and isinstance(column.type, Json):
            shown[column.name] = json.loads(value)
        elif isinstance(value, bytes):
            shown[column.name] = {"base64": base64.b64encode(value).decode("ascii")}
    return shown


def wire_of_readable(table: Table, shown: Mapping[str, Any] | None) -> Row | None:
    """Return the wire form of what `readable` gave."""
    if shown is None:
        return None
    row = dict(shown)
    for column in table.columns:
        value = row.get(column.name)
        if value is None:
            continue
        if isinstance(column.type, Json):
            row[column.name] = column.type.process_bind_param(value, _DIALECT)
        elif isinstance(column.type, LargeBinary):
            row[column.name] = base64.b64decode(value["base64"])
    return row


def row_digest(row: Row) -> str:
    """Return the SHA-256 (hex) of a row's wire values, independent of the order of columns."""
    plain = {name: value.hex() if isinstance(value, bytes) else value for name, value in row.items()}
    return hashlib.sha256(json.dumps(plain, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def journal_row(table: Table, row: Row | None) -> dict[str, Any] | None:
    """Return `readable` with long values as `{"sha256", "chars"}`: enough to verify and to show, not to undo."""
    shown = readable(table, row)
    if shown is None or row is None:
        return None
    for name, value in row.items():
        if isinstance(value, str) and len(value) > _LONG_TEXT:
            shown[name] = {"sha256": hashlib.sha256(value.encode()).hexdigest(), "chars": len(value)}
    return shown


def _chunks(keys: Sequence[tuple[Any, ...]]) -> Iterator[Sequence[tuple[Any, ...]]]:
    for start in range(0, len(keys), _CHUNK):
        yield keys[start : start + _CHUNK]
