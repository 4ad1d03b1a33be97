"""Records of a table file, one by one: CSV, JSON and JSON Lines as ticket systems export them (spec 02).

A record that cannot be read fails alone, with its number; counting begins at 1 and leaves a header out.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from data.inbox_gates import Form, InboxRefusal

__all__ = ["Record", "read_records"]

_DELIMITERS: Final = ";,\t|"
_SAMPLE_ROWS: Final = 60
_FIELD: Final = 1024 * 1024
"""Characters one CSV value may have; a quote that is never closed would take the rest of the file otherwise."""
_LISTS: Final = ("issues", "tickets", "records", "result", "results", "items", "nodes", "rows", "data", "value", "hits")
"""Where exports put their list; another name is taken when it is the only list of objects."""


@dataclass(frozen=True, slots=True)
class Record:
    """One row: its values by column, or why it could not be read."""

    number: int
    values: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""


def read_records(text: str, form: Form, name: str) -> Iterator[Record]:
    """Yield the records of a decoded `csv`, `json` or `jsonl` file; raise InboxRefusal where there are none."""
    if form == "csv":
        return _csv(text, name)
    if form == "jsonl":
        return _jsonl(text)
    return _json(text, name)


def _csv(text: str, name: str) -> Iterator[Record]:
    text = text.lstrip("\ufeff")
    delimiter = ""
    if text[:4].lower() == "sep=":  # Excel's own hint, in a line before the header
        first, _, text = text.partition("\n")
        delimiter = first[4:5]
    delimiter = delimiter or _delimiter(text)
    csv.field_size_limit(_FIELD)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        header = next((row for row in rows if any(cell.strip() for cell in row)), [])
    except csv.Error as error:
        raise InboxRefusal("malformed", f"{name} has no readable header ({error}); export it again as CSV") from error
    columns = [" ".join(cell.split()) for cell in header]
    if len([column for column in columns if column]) < 2:
        raise InboxRefusal(
            "no_rows", f"{name} has {len(columns)} column under its first line; export it with a header line"
        )
    return _csv_rows(rows, columns)


def _csv_rows(rows: Iterator[list[str]], columns: list[str]) -> Iterator[Record]:
    number = 0
    while True:
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            number += 1
            yield Record(number, error=f"cannot be read as CSV: {error}")
            continue
        if not any(cell.strip() for cell in row):
            continue
        number += 1
        extra = [cell for cell in row[len(columns) :] if cell.strip()]
        if extra:
            yield Record(number, error=f"has {len(row)} values under {len(columns)} columns")
            continue
        values: dict[str, Any] = {}
        for column, cell in zip(columns, row, strict=False):
            if column and cell.strip():
                # Jira repeats a column for each of several values.
                values[column] = f"{values[column]}\n{cell}" if column in values else cell
        yield Record(number, values)


def _delimiter(text: str) -> str:
    """Return the delimiter under which the first records agree best on a number of columns."""
    head = text[:200_000]
    best, chosen = (0.0, 0), ","
    for delimiter in _DELIMITERS:
        sizes = []
        try:
            for row in csv.reader(io.StringIO(head, newline=""), delimiter=delimiter):
                if row:
                    sizes.append(len(row))
                if len(sizes) > _SAMPLE_ROWS:
                    break
        except csv.Error:
            pass
        if sizes and sizes[0] > 1:
            score = (sum(abs(size - sizes[0]) <= 1 for size in sizes) / len(sizes), sizes[0])
            if score > best:
                best, chosen = score, delimiter
    return chosen


def _jsonl(text: str) -> Iterator[Record]:
    for number, line in enumerate(text.lstrip("\ufeff").split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            yield Record(number, error=f"is no JSON ({_said(error)})")
            continue
        yield _record(number, value)


def _json(text: str, name: str) -> Iterator[Record]:
    try:
        value = json.loads(text.lstrip("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise InboxRefusal("malformed", f"{name} is no valid JSON ({_said(error)}); export it again") from error
    found = _list_of(value)
    if found is None:
        raise InboxRefusal("no_rows", f"{name} holds no list of records; give an array of objects or one object a line")
    return (_record(number, item) for number, item in enumerate(found, 1))


def _list_of(value: Any) -> list[Any] | None:
    if isinstance(value, list):
        return value if any(isinstance(item, dict) for item in value) else None
    if not isinstance(value, dict):
        return None
    assets = value.get("assets")
    if isinstance(assets, dict) and isinstance(assets.get("Ticket"), dict):  # Zammad's search
        return list(assets["Ticket"].values())
    named = [value[key] for key in _LISTS if _is_list(value.get(key))]
    if named:
        return list(named[0])
    lists = [item for item in value.values() if _is_list(item)]
    if len(lists) == 1:
        return list(lists[0])
    inner = value.get("data") or value.get("hits") or value.get("result")
    return _list_of(inner) if isinstance(inner, dict) else [value]


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def _record(number: int, value: Any) -> Record:
    if not isinstance(value, dict):
        return Record(number, error=f"is no object but {type(value).__name__}")
    fields = value.get("fields")
    if isinstance(fields, dict):  # Jira's issues
        value = {**{key: item for key, item in value.items() if key != "fields"}, **fields}
    return Record(number, {str(key): item for key, item in value.items() if item not in (None, "", [], {})})


def _said(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} in line {error.lineno}, column {error.colno}"
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)[:100]
