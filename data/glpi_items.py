"""Tickets and articles of GLPI as nodes: what is taken of them, and what is refused (pure).

Of a ticket: title, description, public follow-ups, and the solution unless it was refused. Nothing of people, nothing
private. The gates are the inbox's: size, NUL bytes, a label, some text. What carries the mark of our own export is
left out wherever it stands: in an item, or pasted into a ticket as its solution.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from data.crud.ingest import NodeDraft, is_label
from data.glpi_text import decoded, marked, plain_text
from data.inbox_gates import InboxPolicy, InboxRefusal, size_text
from data.language import detect_language
from data.models import NodeKind
from data.ticket_text import as_line

__all__ = [
    "ARTICLE_URI",
    "TICKET_URI",
    "article_meta",
    "article_page",
    "article_uri",
    "is_own",
    "ticket_draft",
    "ticket_uri",
    "updated_of",
]

TICKET_URI: Final = "ticket:glpi:"
"""The same name that a ticket has when it comes from an exported file: connected later, it is found again."""
ARTICLE_URI: Final = "glpi:KnowbaseItem/"
_LABEL: Final = 300
_BODY: Final = 50_000
_SOLUTION: Final = 15_000
_DESCRIPTION: Final = 20_000
_REFUSED_SOLUTION: Final = 4  # CommonITILValidation::REFUSED
_HEADINGS: Final = {"de": ("Verlauf", "Lösung"), "en": ("Follow-ups", "Solution")}
_STATUS: Final = {1: "new", 2: "assigned", 3: "planned", 4: "pending", 5: "solved", 6: "closed"}
_TYPE: Final = {1: "incident", 2: "request"}
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")


def ticket_uri(ticket_id: int) -> str:
    """Return the `source_uri` of a ticket's node."""
    return f"{TICKET_URI}{ticket_id}"


def article_uri(item_id: int) -> str:
    """Return the `source_uri` of the node of an item of the knowledge base."""
    return f"{ARTICLE_URI}{item_id}"


def updated_of(row: Mapping[str, Any]) -> str:
    """Return when GLPI says a row was modified (its own time, `YYYY-MM-DD hh:mm:ss`), "" where it says nothing."""
    value = row.get("date_mod")
    return value if isinstance(value, str) and _DATE.fullmatch(value) else ""


def is_own(stored: object) -> bool:
    """Tell whether a stored text carries the mark of our own export."""
    return isinstance(stored, str) and marked(decoded(stored)) is not None


def ticket_draft(
    row: Mapping[str, Any],
    followups: Sequence[Mapping[str, Any]],
    solutions: Sequence[Mapping[str, Any]],
    *,
    page: str,
    policy: InboxPolicy,
) -> NodeDraft:
    """Return the node of a ticket; `page` is its web address. Raises InboxRefusal."""
    name = f"ticket {row['id']}"
    label = _label(row.get("name"), name)
    public = [entry for entry in followups if _flag(entry.get("is_private")) == 0 and not is_own(entry.get("content"))]
    accepted = [
        entry
        for entry in solutions
        if _flag(entry.get("status")) != _REFUSED_SOLUTION and not is_own(entry.get("content"))
    ]
    description = "" if is_own(row.get("content")) else _text(row.get("content"), name, policy)
    said = _texts(public, name, policy)
    solved = _texts(accepted, name, policy)[:_SOLUTION].rstrip()
    if not (description or said or solved):
        raise InboxRefusal("empty", f"{name} has no text that may be taken; describe it in GLPI")
    language = detect_language(f"{label}\n{description}\n{said}\n{solved}")
    course, cure = _HEADINGS.get(language, _HEADINGS["en"])
    parts = [description[:_DESCRIPTION].rstrip()]
    cured = f"## {cure}\n\n{solved}" if solved else ""
    room = _BODY - len(parts[0]) - len(cured) - len(course) - 10
    if said:
        parts.append(f"## {course}\n\n{said[:room].rstrip()}")
    parts.append(cured)
    category = as_line(plain_text(str(row.get("itilcategories_id") or "")))[:100]
    meta = {
        "origin": f"glpi:Ticket/{row['id']}",
        "url": page,
        "created": _date(row, "date"),
        "updated": updated_of(row),
        "status": _STATUS.get(_flag(row.get("status")), ""),
        "type": _TYPE.get(_flag(row.get("type")), ""),
    }
    return NodeDraft(
        NodeKind.TICKET,
        label,
        "\n\n".join(filter(None, parts)),
        language,
        ticket_uri(row["id"]),
        "" if category.isdigit() else category,
        {name: value for name, value in meta.items() if value},
    )


def article_page(row: Mapping[str, Any], policy: InboxPolicy) -> bytes:
    """Return an item of the knowledge base as a page for the extractor. Raises InboxRefusal."""
    name = f"article {row['id']}"
    title = _label(row.get("name"), name)
    answer = row.get("answer")
    markup = decoded(answer) if isinstance(answer, str) else ""
    _within(markup, name, policy)
    if not plain_text(markup):
        raise InboxRefusal("empty", f"{name} has no text; write its answer in GLPI")
    if "<" not in markup:  # plain text of older versions
        markup = "".join(f"<p>{line}</p>" for line in markup.splitlines() if line.strip())
    shown = title.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return (
        f'<!doctype html><html><head><meta charset="utf-8"><title>{shown}</title></head>'
        f"<body><main><h1>{shown}</h1>{markup}</main></body></html>"
    ).encode()


def article_meta(row: Mapping[str, Any], page: str) -> dict[str, Any]:
    """Return what the node of an item remembers of where it came from."""
    meta = {
        "origin": f"glpi:KnowbaseItem/{row['id']}",
        "url": page,
        "created": _date(row, "date_creation") or _date(row, "date"),
        "updated": updated_of(row),
        "begins": _date(row, "begin_date"),
        "ends": _date(row, "end_date"),
    }
    return {name: value for name, value in meta.items() if value}


def _label(value: object, name: str) -> str:
    label = as_line(plain_text(value) if isinstance(value, str) else "")[:_LABEL].strip()
    if not is_label(label):
        raise InboxRefusal("empty_label", f"{name} has no title; give it one in GLPI")
    return label


def _texts(entries: Iterable[Mapping[str, Any]], name: str, policy: InboxPolicy) -> str:
    texts = (_text(entry.get("content"), name, policy) for entry in entries)
    return "\n\n".join(dict.fromkeys(filter(None, texts)))


def _text(stored: object, name: str, policy: InboxPolicy) -> str:
    if not isinstance(stored, str):
        return ""
    _within(stored, name, policy)
    return plain_text(stored)


def _within(text: str, name: str, policy: InboxPolicy) -> None:
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > policy.max_bytes:
        raise InboxRefusal(
            "too_large",
            f"{name} has {size_text(size)} of text, {size_text(policy.max_bytes)} are allowed; shorten it or raise "
            "BRAIN_INBOX_MAX_BYTES",
        )
    if "\0" in text:
        raise InboxRefusal("decoding", f"{name} holds a NUL byte and is no text; write it anew in GLPI")


def _flag(value: object) -> int:
    if isinstance(value, bool | int):
        return int(value)
    return int(value) if isinstance(value, str) and re.fullmatch(r"-?\d{1,9}", value) else 0


def _date(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    return value if isinstance(value, str) and _DATE.fullmatch(value) else ""
