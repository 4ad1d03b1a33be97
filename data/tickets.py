"""Records of an export become nodes: one ticket a row, or the nodes of this product's own form (spec 02).

A row that has no label or an unknown kind fails alone, with its number and the reason.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import PurePath
from typing import Any, Final

from data.characters import fold
from data.crud.ingest import NodeDraft, is_label
from data.language import detect_language
from data.models import NodeKind
from data.ticket_fields import Columns, guess_columns
from data.ticket_rows import Record
from data.ticket_text import as_line, as_text

__all__ = ["RowBatch", "ticket_batches"]

_LOOKED_AT: Final = 200
"""Records whose keys decide what the columns of a JSON export are."""
_LABEL: Final = 300
_BODY: Final = 50_000
_META_FIELDS: Final = 40
_META_VALUE: Final = 300
_KINDS: Final = tuple(kind.value for kind in NodeKind if kind is not NodeKind.EVIDENCE)
"""Kinds that may come from outside; evidence nodes are built with the relation they prove."""
_LANGUAGES: Final = {"de": "de", "deutsch": "de", "german": "de", "en": "en", "englisch": "en", "english": "en"}


@dataclass(frozen=True, slots=True)
class RowBatch:
    """Drafts of some rows, and (number, reason) of those that gave none."""

    drafts: tuple[NodeDraft, ...]
    failed: tuple[tuple[int, str], ...]


def ticket_batches(
    records: Iterable[Record], *, name: str, mapping: Mapping[str, str], size: int
) -> Iterator[RowBatch]:
    """Yield the rows as drafts, `size` at a time; `name` is the file's name, `mapping` is {column: field}."""
    records = iter(records)
    head = list(islice(records, _LOOKED_AT))
    columns = guess_columns((column for record in head for column in record.values), mapping)
    maker = _Maker(columns, PurePath(name).stem)
    drafts: list[NodeDraft] = []
    failed: list[tuple[int, str]] = []
    for count, record in enumerate(chain(head, records), 1):
        made = record.error or maker.draft(record.values)
        if isinstance(made, str):
            failed.append((record.number, made))
        else:
            drafts.append(made)
        if count % size == 0:
            yield RowBatch(tuple(drafts), tuple(failed))
            drafts, failed = [], []
    if drafts or failed:
        yield RowBatch(tuple(drafts), tuple(failed))


class _Maker:
    """Turns the values of a row into a draft, or into the reason why not."""

    def __init__(self, columns: Columns, stem: str) -> None:
        self._columns = columns
        self._stem = _name(stem)
        self._used = {column for found in columns.fields.values() for column in found} | columns.ignored

    def draft(self, values: Mapping[str, Any]) -> NodeDraft | str:
        if not self._columns.fields.get("label"):
            return "has no column that is a label; map one, for example --map Betreff=label"
        label = as_line(self._first(values, "label"))[:_LABEL].strip()
        if not is_label(label):
            return "has no label"
        said = as_line(self._first(values, "kind")).lower()
        kind = said or NodeKind.TICKET.value
        if kind not in _KINDS:
            return f"has the unknown kind {said[:40]!r}; use one of {', '.join(_KINDS)}"
        texts = [as_text(values.get(name)) for name in self._named("body")]
        texts += [as_text(values.get(name)) for name in self._named("resolution")]
        body = "\n\n".join(dict.fromkeys(filter(None, texts)))[:_BODY].rstrip()
        language = _LANGUAGES.get(fold(as_line(self._first(values, "language"))).replace("_", "-").split("-")[0], "")
        return NodeDraft(
            NodeKind(kind),
            label,
            body,
            language or detect_language(f"{label}\n{body}"),
            self._uri(values, label, body),
            _category(self._named("category"), values),
            self._meta(values),
        )

    def _named(self, field: str) -> tuple[str, ...]:
        return self._columns.fields.get(field, ())

    def _first(self, values: Mapping[str, Any], field: str) -> Any:
        return next((values[name] for name in self._named(field) if name in values), None)

    def _uri(self, values: Mapping[str, Any], label: str, body: str) -> str:
        key = re.sub(r"\s+", "", as_line(self._first(values, "key")))[:120]
        if self._columns.system == "glpi" and not key.isalnum():
            key = re.sub(r"\D", "", key) or key  # GLPI writes the number 12345 as "12 345"
        if not key:
            key = "h-" + hashlib.sha256(f"{label}\0{body}".encode()).hexdigest()[:20]
        if self._columns.native:
            meta = values.get("meta")
            source = as_line(meta.get("source")) if isinstance(meta, dict) else ""
            return f"{_name(source) if source else self._stem}:{key}"
        return f"ticket:{self._columns.system or self._stem}:{key}"

    def _meta(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return what else the row holds, bounded in number and length."""
        meta: dict[str, Any] = {}
        own = values.get("meta") if self._columns.native else None
        if isinstance(own, dict):
            meta.update((str(name)[:60], _bounded(value)) for name, value in list(own.items())[:_META_FIELDS])
        for field in ("created", "updated"):
            if text := as_line(self._first(values, field))[:40]:
                meta[field] = text
        for column, value in values.items():
            if len(meta) >= _META_FIELDS:
                break
            if column in self._used or (own is not None and column == "meta"):
                continue
            if text := as_line(value)[:_META_VALUE]:
                meta.setdefault(column[:60], text)
        return meta


def _category(names: tuple[str, ...], values: Mapping[str, Any]) -> str:
    found = (as_line(values.get(name))[:100] for name in names)
    return next((text for text in found if text and not text.isdigit()), "")


def _bounded(value: Any) -> Any:
    """Return a value of our own form as it is where it is small, else as short text."""
    if isinstance(value, bool | int) or value is None:
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list) and len(value) <= 20 and all(isinstance(item, str | int | bool) for item in value):
        return [_bounded(item) for item in value]
    return as_line(value)[:_META_VALUE]


def _name(stem: str) -> str:
    """Return a file's stem as the first part of a `source_uri`."""
    return re.sub(r"[^\w.-]+", "-", fold(stem)).strip("-.")[:60] or "import"
