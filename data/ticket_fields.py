"""Which column of an export is what: explicit mapping first, then guesses for four ticket systems (spec 02).

The names are those of the public export formats of GLPI, Zammad, Jira and ServiceNow in German and English, as
column titles and as field names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from data.characters import fold

__all__ = ["FIELDS", "Columns", "column_key", "guess_columns", "parse_mapping"]

FIELDS: Final = (
    "key",
    "kind",
    "label",
    "body",
    "resolution",
    "language",
    "category",
    "created",
    "updated",
    "meta",
    "ignore",
)
"""What a column can be mapped to. `resolution` is appended to the body; `ignore` is not kept at all."""

_NAMES: Final[dict[str, str]] = {
    "key": (
        "issue key|vorgangsschluessel|schluessel|key|ticket number|ticketnummer|ticket nummer|incident number|number|"
        "nummer|vorgangsnummer|ticket id|ticketid|issue id|vorgangs id|id|sys id|nr"
    ),
    "kind": "kind",
    "label": (
        "label|short description|kurzbeschreibung|title|titel|summary|zusammenfassung|subject|betreff|"
        "bezeichnung|ueberschrift|headline|name|thema|topic"
    ),
    "body": (
        "body|description|beschreibung|content|inhalt|detailed description|fehlerbeschreibung|"
        "problembeschreibung|articles|article body|text|details|message|nachricht|note|notiz|problem"
    ),
    "resolution": (
        "solution|loesung|solution solution|loesung loesung|resolution notes|close notes|loesungsnotizen|"
        "loesungshinweise|abschlussnotizen|schliessungsnotizen|loesungsbeschreibung|solution content|workaround"
    ),
    "language": "language|sprache|lang|locale",
    "category": (
        "category|kategorie|itil category|itilcategory|itil kategorie|component s|components|komponenten|komponente|"
        "component|group|gruppe|queue|bereich|project name|projektname|project|projekt|assignment group"
    ),
    "created": (
        "created|created at|erstellt|erstellt am|erstelldatum|erstellungsdatum|opened|opened at|geoeffnet|"
        "opening date|eroeffnungsdatum|eroeffnet|date creation|sys created on|creation date|date|datum"
    ),
    "updated": (
        "updated|updated at|aktualisiert|aktualisiert am|last update|letzte aktualisierung|letzte aenderung|"
        "date mod|sys updated on|last modified|geaendert|modified"
    ),
}
_SYSTEMS: Final[tuple[tuple[str, tuple[frozenset[str], ...]], ...]] = tuple(
    (system, tuple(frozenset(signs.split("+")) for signs in alternatives.split("|")))
    for system, alternatives in (
        ("servicenow", "short description|kurzbeschreibung|sys id|number+sys created on"),
        ("jira", "issue key|vorgangsschluessel|issuetype|issue type+summary|vorgangstyp+zusammenfassung"),
        (
            "glpi",
            "eroeffnungsdatum|opening date+title|itilcategories id|requester requester|anforderer anforderer|"
            "anfragender anfragender|date mod+content",
        ),
        (
            "zammad",
            "state id+title|article count|ticket number+title|number+title+state|nummer+titel+status|"
            "number+title+group|nummer+titel+gruppe|create article type id",
        ),
    )
)


def column_key(name: str) -> str:
    """Return a column's name as it is compared: folded, words separated by one space; `#` is a number."""
    if name.strip() in {"#", "Ticket#", "№"}:
        return "number"
    return " ".join(re.findall(r"[a-z0-9]+", fold(name)))


def parse_mapping(text: str) -> dict[str, str]:
    """Return {column: field} for `Betreff=label,Beschreibung=body`.

    Raises ValueError with one sentence for a part without `=`, a column named twice or an unknown field.
    """
    mapping: dict[str, str] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        column, sign, field = (piece.strip() for piece in part.rpartition("="))
        if not sign or not column:
            raise ValueError(f"{part!r} is no mapping; write COLUMN=FIELD, for example Betreff=label")
        if field not in FIELDS:
            raise ValueError(f"{field!r} is no field to map {column!r} to; use one of {', '.join(FIELDS)}")
        if column in mapping:
            raise ValueError(f"the column {column!r} is mapped twice; map it once")
        mapping[column] = field
    return mapping


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of one export: what each one is, and which system wrote it ("" where nobody knows)."""

    fields: Mapping[str, tuple[str, ...]]
    """Columns by field, in the order of the file; the first that has a value counts, for texts all of them."""
    system: str
    native: bool
    """The file is in the form of this product: key, kind, label, body, …"""
    ignored: frozenset[str] = frozenset()


def guess_columns(columns: Iterable[str], mapping: Mapping[str, str]) -> Columns:
    """Return what the columns are; `mapping` wins, and what it does not name is guessed."""
    names = list(dict.fromkeys(columns))
    keys = {name: column_key(name) for name in names}
    explicit = {column_key(column): field for column, field in mapping.items()}
    fields: dict[str, list[str]] = {}
    for name in names:
        if field := explicit.get(keys[name]):
            fields.setdefault(field, []).append(name)
    taken = {name for found in fields.values() for name in found}
    for field, alternatives in _NAMES.items():
        if field in fields:
            continue
        for alternative in alternatives.split("|"):
            found = [name for name in names if keys[name] == alternative and name not in taken]
            if found:
                fields[field] = found
                taken.update(found)
                break
    present = set(keys.values())
    native = {"label", "kind"} <= present
    system = next((name for name, signs in _SYSTEMS if any(sign <= present for sign in signs)), "")
    ignored = frozenset(fields.pop("ignore", ()))
    fields.pop("meta", None)
    return Columns({field: tuple(found) for field, found in fields.items()}, "" if native else system, native, ignored)
