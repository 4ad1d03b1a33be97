"""Rows out of CSV, JSON and JSON Lines: flat text fields, and which row could not be read and why."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from data.admission import InboxRefusal
from data.characters import normalise

__all__ = ["Record", "RowFailure", "read_records"]

_CELL: Final = 2_000_000  # characters; a longer cell is a file in the wrong place
_DELIMITERS: Final = ",;\t|"
_LISTS: Final = ("issues", "records", "result", "results", "tickets", "items", "nodes", "data", "rows", "values")
"""Keys under which exports keep their list: Jira, ServiceNow, GLPI's and Zammad's interfaces, and plain ones."""


@dataclass(frozen=True, slots=True)
class Record:
    row: int
    """Counted from 1, without the header of a CSV file."""
    fields: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RowFailure:
    row: int
    reason: str


def read_records(name: str, suffix: str, text: str) -> tuple[list[Record], list[RowFailure]]:
    """Return the rows of a file and the rows that are broken; raise InboxRefusal where there is no list of rows."""
    if suffix == ".csv":
        return _csv(name, text)
    if suffix == ".jsonl":
        return _json_lines(text)
    return _json(name, text)


def _csv(name: str, text: str) -> tuple[list[Record], list[RowFailure]]:
    csv.field_size_limit(_CELL)
    delimiter = _delimiter(text)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=False)
    header = _header(name, reader)
    records: list[Record] = []
    failures: list[RowFailure] = []
    row = 0
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            break
        except csv.Error as error:
            row += 1
            failures.append(RowFailure(row, f"is broken: {error}"))
            continue
        if not any(cell.strip() for cell in cells):
            continue
        row += 1
        if len(cells) > len(header) and any(cell.strip() for cell in cells[len(header) :]):
            failures.append(RowFailure(row, f"has {len(cells)} columns, the header has {len(header)}"))
            continue
        records.append(Record(row, _named(header, cells)))
    return records, failures


def _header(name: str, reader: Iterator[list[str]]) -> list[str]:
    try:
        header = next((cells for cells in reader if any(cell.strip() for cell in cells)), [])
    except csv.Error as error:
        raise InboxRefusal("no_records", f"{name} has a broken header: {error}") from error
    header = [normalise(cell).strip() for cell in header]
    if len([cell for cell in header if cell]) < 2:
        raise InboxRefusal("no_records", f"{name} has no header of at least two columns")
    return header


def _named(header: list[str], cells: list[str]) -> dict[str, str]:
    """Join cells to their columns; several columns of one name (Jira's comments) become paragraphs."""
    fields: dict[str, str] = {}
    for column, cell in zip(header, cells, strict=False):
        value = normalise(cell).strip()
        if column and (value or column not in fields):
            fields[column] = f"{fields[column]}\n\n{value}" if fields.get(column) else value
    return fields


def _delimiter(text: str) -> str:
    """Return the delimiter under which the first rows have the most columns, and all as many."""
    sample = text[:20_000]
    best = (-1.0, ",")
    for delimiter in _DELIMITERS:
        try:
            rows = [row for row in csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter) if row][:20]
        except csv.Error:
            continue
        if not rows:
            continue
        width = len(rows[0])
        even = sum(len(row) == width for row in rows) / len(rows)
        score = (width - 1) * even if width > 1 else 0.0
        if score > best[0]:
            best = (score, delimiter)
    return best[1]


def _json_lines(text: str) -> tuple[list[Record], list[RowFailure]]:
    records: list[Record] = []
    failures: list[RowFailure] = []
    row = 0
    for line in text.split("\n"):
        if not line.strip():
            continue
        row += 1
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            failures.append(RowFailure(row, f"is no JSON: {_short(error)}"))
            continue
        if isinstance(value, dict):
            records.append(Record(row, _flat(value)))
        else:
            failures.append(RowFailure(row, "is no JSON object"))
    return records, failures


def _json(name: str, text: str) -> tuple[list[Record], list[RowFailure]]:
    try:
        value = json.loads(text.lstrip("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise InboxRefusal("no_records", f"{name} is no JSON: {_short(error)}") from error
    rows = value
    if isinstance(value, dict):
        rows = next((value[key] for key in _LISTS if isinstance(value.get(key), list)), [value])
    records: list[Record] = []
    failures: list[RowFailure] = []
    for row, item in enumerate(rows if isinstance(rows, list) else [], start=1):
        if isinstance(item, dict):
            records.append(Record(row, _flat(item)))
        else:
            failures.append(RowFailure(row, "is no JSON object"))
    if not records and not failures:
        raise InboxRefusal("no_records", f"{name} holds no list of objects")
    return records, failures


def _short(error: Exception) -> str:
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)[:120]


def _flat(item: Mapping[str, Any]) -> dict[str, str]:
    """Return the text fields of a nested object: Jira's `fields` opened, names and display values taken."""
    fields: dict[str, str] = {}
    for key, value in item.items():
        if key == "fields" and isinstance(value, dict):
            for inner, inner_value in _flat(value).items():
                fields.setdefault(inner, inner_value)
            continue
        fields[normalise(str(key)).strip()] = normalise(_text(value, 0)).strip()
    return fields


def _text(value: Any, depth: int) -> str:
    """Return a value as text: an object by its name or its words, a list by its parts."""
    if value is None or depth > 12:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    if isinstance(value, dict):
        for key in ("display_value", "displayName", "name", "value", "body", "text", "label"):
            if value.get(key) not in (None, ""):
                return _text(value[key], depth + 1)
        return _text(value["content"], depth + 1) if "content" in value else ""
    if isinstance(value, list):
        parts = [part for part in (_text(part, depth + 1).strip() for part in value) if part]
        long = any(len(part) > 60 or "\n" in part for part in parts)
        long = long or any(isinstance(part, dict) and ("body" in part or "content" in part) for part in value)
        return ("\n\n" if long else ", ").join(parts)
    return ""
