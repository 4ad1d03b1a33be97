"""Values as the database holds them: what a verified write compares, journals and puts back.

A *wire* value is what stands in the file: times and JSON as their canonical text, numbers, booleans,
text and bytes as they are. Comparing wire values compares what was stored, not what a type made of it.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import cache, lru_cache, partial
from typing import Any, Final

from sqlalchemy import Boolean, Float, Integer, LargeBinary, Table

from data import schema
from data.clock import to_iso
from data.schema import Json, Moment, encode_json

__all__ = [
    "Row",
    "batch_binders",
    "differences",
    "journal_row",
    "key_columns",
    "parse_ref",
    "readable",
    "ref_of",
    "row_digest",
    "to_wire",
    "wire_of_readable",
]

Row = dict[str, Any]
"""A whole row in wire form, by column name."""

Binder = Callable[[Any], Any]

_LONG_TEXT: Final = 512
"""Characters above which a journal keeps a value's SHA-256 instead of the value, where it needs no undo."""


@cache
def key_columns(table: Table) -> tuple[str, ...]:
    """Return the names of the primary key's columns, in order."""
    return tuple(column.name for column in table.primary_key.columns)


@cache
def _binders(table: Table) -> Mapping[str, Binder]:
    # The rows of one write share their times, so a time is turned into text once.
    moment = lru_cache(maxsize=256)(to_iso)
    found: dict[str, Binder] = {}
    for column in table.columns:
        kind = column.type
        bind: Binder = _text
        if isinstance(kind, Moment):
            bind = moment
        elif isinstance(kind, Json):
            bind = encode_json
        elif isinstance(kind, Boolean):
            bind = bool
        elif isinstance(kind, Float):
            bind = float
        elif isinstance(kind, Integer):
            bind = int
        elif isinstance(kind, LargeBinary):
            bind = bytes
        # NULL where a value must be is the database's to refuse, with the whole transaction.
        found[column.name] = partial(_optional, bind)
    return found


@cache
def batch_binders(table: Table) -> Mapping[str, Binder]:
    """Return, by column, what turns a value into its wire form: quick, for many rows of one kind.

    None is taken only where the column may be NULL; numpy scalars become plain numbers.
    """
    found: dict[str, Binder] = {}
    for column in table.columns:
        optional = _binders(table)[column.name]
        bind: Binder = optional.args[0] if isinstance(optional, partial) else optional
        quick: Binder = str if bind is _text else bind
        found[column.name] = partial(_optional, quick) if column.nullable else quick
    return found


def _optional(bind: Binder, value: Any) -> Any:
    return None if value is None else bind(value)


def _text(value: Any) -> str:
    if isinstance(value, Enum):
        value = value.value
    if not isinstance(value, str):
        raise TypeError("text is expected")
    if not value.isascii():
        value.encode()  # a lone surrogate cannot be stored: refuse it here, where the column is known
    return value


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
            row[column.name] = encode_json(value)
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
