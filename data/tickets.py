"""Ticket exports: which column is the title, which the text, which the number (spec 02, "The inbox").

Guesses cover the exports of GLPI, Zammad, Jira and ServiceNow in German and English; a map given by the operator
(`--map title=label,…`) goes before them. Persons are never taken over: a node needs what was wrong and what helped.
"""

from __future__ import annotations

import hashlib
import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from data.characters import fold
from data.crud.ingest import NodeDraft, is_label
from data.html_clean import HtmlCaps, clean_page
from data.language import detect_language
from data.models import NodeKind
from data.records import Record, RowFailure

__all__ = ["FIELDS", "ColumnMap", "parse_map", "ticket_drafts"]

FIELDS: Final = (
    "label", "body", "solution", "key", "kind", "language", "category", "status", "priority", "created", "closed",
    "source_uri",
)  # fmt: skip
"""What a column can be mapped to."""

# Column names folded and without anything but letters and digits, most telling first.
_GUESSES: Final[Mapping[str, tuple[str, ...]]] = {
    "label": (
        "label", "title", "titel", "summary", "zusammenfassung", "shortdescription", "kurzbeschreibung", "subject",
        "betreff", "name", "thema",
    ),
    "body": (
        "body", "description", "beschreibung", "content", "inhalt", "text", "article", "articles", "details",
        "problem", "issuedescription", "nachricht", "message",
    ),
    "solution": (
        "solution", "loesung", "resolutionnotes", "closenotes", "loesungsbeschreibung", "loesungstext",
        "abschlussnotiz", "workaround", "comment", "comments", "kommentar", "kommentare", "worknotes",
    ),
    "key": (
        "key", "issuekey", "vorgangsschluessel", "number", "nummer", "ticketnumber", "ticketnummer", "ticketid",
        "ticketnr", "id", "vorgangsnummer", "incident", "sysid",
    ),
    "kind": ("kind", "nodekind"),
    "language": ("language", "lang", "sprache"),
    "category": ("category", "kategorie", "itilcategory", "components", "component", "komponente", "group", "gruppe"),
    "status": ("status", "state", "zustand", "statut"),
    "priority": ("priority", "prioritaet"),
    "created": ("created", "createdat", "opened", "openedat", "eroeffnungsdatum", "erstellt", "openingdate", "sysct"),
    "closed": ("closed", "closedat", "resolved", "resolvedat", "abschlussdatum", "geschlossen", "geloest"),
    "source_uri": ("sourceuri",),
}  # fmt: skip
_SYSTEMS: Final = (
    ("jira", ("issuekey", "issuetype")),
    ("jira", ("key", "summary", "issuetype")),
    ("servicenow", ("number", "shortdescription")),
    ("zammad", ("number", "title", "group")),
    ("zammad", ("number", "title", "articles")),
    ("glpi", ("id", "titel")),
    ("glpi", ("id", "itilcategory")),
    ("glpi", ("id", "title", "openingdate")),
)
_LABEL_CHARS: Final = 300
_META: Final = ("status", "priority", "created", "closed")
_MARKUP: Final = re.compile(
    r"</?(?:p|br|div|span|ul|ol|li|table|tr|td|b|strong|i|em|a|pre|h[1-6])\b[^<>]*>", re.IGNORECASE
)
_ESCAPED_MARKUP: Final = re.compile(r"&(?:lt|#60);/?(?:p|br|div|span|ul|li)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ColumnMap:
    """Which column feeds which field, as the operator said; `origin` names where the rows come from in their URI."""

    columns: Mapping[str, str] = field(default_factory=dict)
    origin: str = ""


def parse_map(text: str) -> ColumnMap:
    """Read `column=field,column=field`; raise ValueError that names the part and what is allowed."""
    columns: dict[str, str] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        column, sign, target = (piece.strip() for piece in part.partition("="))
        if not sign or not column or target not in FIELDS:
            raise ValueError(f"--map takes column=field with one of {', '.join(FIELDS)} as field, not {part!r}")
        columns[column] = target
    return ColumnMap(columns)


def ticket_drafts(
    records: Sequence[Record], mapping: ColumnMap | None = None, *, file: str = ""
) -> tuple[list[NodeDraft], list[RowFailure]]:
    """Return a node for each row that has a title, and for each other row why it has none."""
    mapping = mapping or ColumnMap()
    columns = {column for record in records for column in record.fields}
    targets = _targets(columns, mapping)
    system = mapping.origin or _system(columns)
    drafts: list[NodeDraft] = []
    failures: list[RowFailure] = []
    seen: dict[str, int] = {}
    for record in records:
        draft = _draft(record, targets, system, file)
        if isinstance(draft, RowFailure):
            failures.append(draft)
        elif draft.source_uri in seen:
            failures.append(RowFailure(record.row, f"repeats row {seen[draft.source_uri]}"))
        else:
            seen[draft.source_uri] = record.row
            drafts.append(draft)
    return drafts, failures


def _name(column: str) -> str:
    return re.sub(r"[^a-z0-9]", "", fold(column))


def _targets(columns: set[str], mapping: ColumnMap) -> dict[str, str]:
    """Return the column of each field: as mapped, else the most telling name that no field has yet."""
    wanted = {_name(column): target for column, target in mapping.columns.items()}
    targets = {wanted[_name(column)]: column for column in sorted(columns) if _name(column) in wanted}
    by_name = {_name(column): column for column in sorted(columns, reverse=True)}
    taken = set(targets.values())
    for target, names in _GUESSES.items():
        if target in targets:
            continue
        column = next((by_name[name] for name in names if name in by_name and by_name[name] not in taken), None)
        if column is not None:
            targets[target] = column
            taken.add(column)
    return targets


def _system(columns: set[str]) -> str:
    names = {_name(column) for column in columns}
    return next((system for system, needed in _SYSTEMS if names.issuperset(needed)), "ticket")


def _draft(record: Record, targets: Mapping[str, str], system: str, file: str) -> NodeDraft | RowFailure:
    values = {target: record.fields[column] for target, column in targets.items() if record.fields.get(column)}
    label = " ".join(_plain(values.get("label", "")).split())[:_LABEL_CHARS].strip()
    body = _plain(values.get("body", ""))
    if not label:
        return RowFailure(record.row, "has no title" if "label" in targets else "has no column that could be a title")
    if not is_label(label):
        return RowFailure(record.row, f"has a title without a letter: {label!r}")
    kind = values.get("kind", "").strip().lower() or NodeKind.TICKET.value
    if kind not in list(NodeKind):
        return RowFailure(record.row, f"has the unknown kind {kind!r}")
    language = values.get("language", "").strip().lower()[:2]
    if language not in {"de", "en"}:
        language = detect_language(f"{label}\n{body}")
    solution = _plain(values.get("solution", ""))
    if solution and solution not in body:
        heading = "Lösung" if language == "de" else "Solution"
        body = f"{body}\n\n## {heading}\n\n{solution}".strip()
    meta: dict[str, Any] = {name: values[name][:200] for name in _META if name in values}
    meta |= {"row": record.row, "file": file} if file else {"row": record.row}
    key = " ".join(values.get("key", "").split())[:200]
    if key:
        meta["key"] = key
    return NodeDraft(
        kind=NodeKind(kind),
        label=label,
        body=body,
        language=language,
        source_uri=values.get("source_uri", "").strip() or _uri(system, key, label, body),
        category=" ".join(values.get("category", "").split())[:200],
        meta=meta,
    )


def _uri(system: str, key: str, label: str, body: str) -> str:
    """Return where a row is from: its number in its system, else what it says (two rows of one text are one)."""
    if key:
        return f"{system}:{key}"
    digest = hashlib.sha256("\0".join((label, body)).encode()).hexdigest()
    return f"{system}:text-{digest[:32]}"


def _plain(text: str) -> str:
    """Return a cell as text in the common form; HTML, also escaped, is rendered as its reader saw it."""
    if _ESCAPED_MARKUP.search(text):
        text = html.unescape(text)
    if not _MARKUP.search(text):
        return text.strip()
    from data.html_render import render

    page = clean_page(text, HtmlCaps(chars=200_000, depth=200))
    return render(page.tree).strip() if page is not None else ""
