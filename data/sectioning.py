"""A document as nodes: itself, and its sections under it where it is long (spec 02, "The inbox").

A section is what can be asked about on its own, so its label must read as a title: section numbers go, and a heading
that says nothing alone ("Overview", "Preemption") stands behind the title of what it belongs to.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Final

from data.admission import InboxPolicy
from data.characters import fold, word_set
from data.crud.ingest import EdgeDraft, NodeDraft, is_label
from data.extract import Document, Section
from data.identifiers import identifiers
from data.language import detect_language
from data.models import EdgeKind, NodeKind
from data.spans import paragraphs
from data.text import STOP_WORDS, terms

__all__ = ["document_drafts"]

_LABEL_CHARS: Final = 200
_NUMBERED: Final = re.compile(
    r"^\s*(?:(?:chapter|kapitel|section|abschnitt|appendix|anhang|teil|part)\s+)?"
    r"(?:\d{1,3}(?:\.\d{1,3}){0,5}[.)]?|[A-Z](?:\.\d{1,3}){1,5}\.?|[IVX]{1,5}\.)[:\s–-]+(?=\S)",
    re.IGNORECASE,
)
_GENERIC: Final = word_set(
    """
    introduction einleitung einfuehrung overview uebersicht ueberblick summary zusammenfassung fazit conclusion
    description beschreibung synopsis name names options optionen parameters parameter example examples beispiel
    beispiele notes note hinweis hinweise anmerkung remarks usage verwendung see also siehe auch references
    referenzen literatur author authors autor history files dateien environment umgebung diagnostics bugs
    license lizenz readme contents inhalt background hintergrund purpose zweck scope requirements
    voraussetzungen voraussetzung prerequisites installation configuration konfiguration limitations
    einschraenkungen troubleshooting fehlerbehebung faq support credits general allgemein allgemeines details
    steps schritte vorgehen ursache cause loesung solution problem symptom symptoms ergebnis result commands
    return value values syntax compatibility security sicherheit features further information weitere
    """
)
_SAYS_NOTHING: Final = _GENERIC | STOP_WORDS


@dataclass(frozen=True, slots=True)
class _Part:
    """A piece of the document that becomes a node: its headings from the outside in, and its text."""

    path: tuple[str, ...]
    text: str
    own_heading: str = ""
    """What it is called, where that is not the last heading of the path."""


def document_drafts(
    document: Document, uri: str, policy: InboxPolicy, *, meta: dict[str, Any] | None = None
) -> tuple[list[NodeDraft], list[EdgeDraft]]:
    """Return the document's node first, then its sections, and the edges that join them to it."""
    title = _clean(document.title) or "document"
    common = {"title": document.title, "flags": list(document.flags), **(meta or {})}
    if document.author:
        common["author"] = document.author
    if document.published_at:
        common["published_at"] = document.published_at.isoformat()
    if len(document.text) <= policy.split_chars:
        return [_node(NodeKind.DOCUMENT, title, _body(document, title), document.language, uri, common)], []
    lead, parts = _parts(document, title, policy)
    if len(parts) + bool(lead) < 2:
        return [_node(NodeKind.DOCUMENT, title, _body(document, title), document.language, uri, common)], []
    labels = _labels(title, parts)
    drafts = [_node(NodeKind.DOCUMENT, title, lead or _contents(labels), document.language, uri, common)]
    names: dict[str, int] = {}
    for position, (part, label) in enumerate(zip(parts, labels, strict=True), start=1):
        own = {"document": title, "position": position, "path": list(part.path)}
        language = detect_language(part.text)
        drafts.append(
            _node(
                NodeKind.SECTION,
                label,
                part.text,
                language if language != "und" else document.language,
                f"{uri}#{_fragment(part, names)}",
                own,
            )
        )
    return drafts, [EdgeDraft(number, 0, EdgeKind.PART_OF) for number in range(1, len(drafts))]


def _contents(labels: list[str]) -> str:
    """Return the sections' labels as a list: what a document says that has no text of its own before them."""
    lines: list[str] = []
    size = 0
    for label in labels:
        size += len(label) + 3
        if size > _CONTENTS_CHARS:
            break
        lines.append(f"- {label}")
    return "\n".join(lines)


def _node(kind: NodeKind, label: str, body: str, language: str, uri: str, meta: dict[str, Any]) -> NodeDraft:
    return NodeDraft(kind, label, body, language, uri, "", meta)


def _clean(heading: str) -> str:
    """Return a heading without its number: "9.1.2. System Boot" is "System Boot"."""
    text = " ".join(heading.split())
    bare = _NUMBERED.sub("", text)
    text = bare if is_label(bare) else text
    return text[:_LABEL_CHARS].strip(" :–-") if is_label(text) else ""


def _body(document: Document, title: str) -> str:
    """Return the text without a first heading that only repeats the title."""
    first = document.sections[0] if document.sections else None
    if first is None or first.start != 0 or fold(_clean(first.heading)) != fold(title):
        return document.text
    rest = document.text[document.text.find("\n", first.start) + 1 :] if "\n" in document.text else ""
    return rest.strip("\n") or document.text


def _under(document: Document, section: Section) -> str:
    """Return what stands under a heading, up to the next one."""
    text = document.text[section.start : section.end]
    return text.partition("\n")[2].strip("\n")


def _parts(document: Document, title: str, policy: InboxPolicy) -> tuple[str, list[_Part]]:
    """Return the text before the first section, and the sections: none bare, none tiny, none endless."""
    sections = document.sections
    lead = document.text[: sections[0].start].strip("\n") if sections else document.text
    path: list[tuple[int, str]] = []
    parts: list[_Part] = []
    for section in sections:
        while path and path[-1][0] >= section.level:
            path.pop()
        heading = _clean(section.heading)
        if heading:
            path.append((section.level, heading))
        body = _under(document, section)
        headings = tuple(name for _, name in path)
        if not body.strip():
            continue  # a bare heading: it lives on in the path of what follows
        if not parts and not lead and fold(" ".join(headings)) == fold(title):
            lead = body  # what stands under the title itself
            continue
        if len(body) < policy.section_min_chars and parts and not _starts_anew(parts[-1].path, headings):
            mark = "#" * section.level
            before = parts[-1]
            parts[-1] = replace(before, text=f"{before.text}\n\n{mark} {section.heading}\n\n{body}")
        else:
            parts.append(_Part(headings, body))
    split = [piece for part in parts for piece in _pieces(part, policy.section_max_chars)]
    if len(lead) > policy.section_max_chars:
        first, *rest = _pieces(_Part((title,), lead), policy.section_max_chars)
        return first.text, rest + split
    return lead, split


def _starts_anew(before: tuple[str, ...], path: tuple[str, ...]) -> bool:
    """Tell whether a section belongs to another chapter than the one before it, so that they must not be joined."""
    return bool(before) and bool(path) and len(path) > 1 and before[0] != path[0]


_ENTRY_CHARS: Final = 800
"""Entries of a reference manual (a parameter and what it does) are gathered up to this size."""
_CONTENTS_CHARS: Final = 2_000
_TERM_LINE: Final = re.compile(r"^[^\n]{2,100}$")


def _pieces(part: _Part, limit: int) -> list[_Part]:
    """Split a long section between paragraphs; a reference manual's entries begin pieces of their own name."""
    if len(part.text) <= limit:
        return [part]
    spans = paragraphs(part.text)
    cuts: list[tuple[int, str]] = [(0, "")]
    for index, span in enumerate(spans[1:], start=1):
        size = span.end - cuts[-1][0]
        text = span.of(part.text)
        names = bool(_TERM_LINE.match(text)) and not text.rstrip().endswith((".", ":", ";", ",", "!", "?"))
        names = names and not re.match(r"[-*|`#]|\d+[.)]\s", text) and is_label(text)
        if (names and size > _ENTRY_CHARS) or (size > limit and index < len(spans)):
            cuts.append((span.start, " ".join(text.split()) if names else ""))
    ends = [*(start for start, _ in cuts[1:]), len(part.text)]
    pieces = []
    for number, ((start, name), end) in enumerate(zip(cuts, ends, strict=True), start=1):
        text = part.text[start:end].strip("\n")
        if text.strip():
            own = name or (f"{part.path[-1]} ({number})" if part.path and number > 1 else "")
            pieces.append(_Part(part.path, text, own))
    return pieces


def _labels(title: str, parts: list[_Part]) -> list[str]:
    """Return a title for each part, all different."""
    labels: list[str] = []
    used: dict[str, int] = {}
    for part in parts:
        label = _label(title, part)
        count = used.get(fold(label), 0) + 1
        used[fold(label)] = count
        labels.append(label if count == 1 else f"{label} ({count})")
    return labels


def _label(title: str, part: _Part) -> str:
    headings = [heading for heading in part.path if fold(heading) != fold(title)]
    if part.own_heading:
        owner = headings[-1] if headings and not part.own_heading.startswith(headings[-1]) else title
        name = part.own_heading
    elif not headings:
        return title
    else:
        name = headings[-1]
        owner = next((heading for heading in reversed(headings[:-1]) if _speaks(heading, title)), title)
    if _speaks(name, title) and not part.own_heading:
        return name[:_LABEL_CHARS]
    if fold(owner) in fold(name):
        return name[:_LABEL_CHARS]
    return f"{owner[: _LABEL_CHARS // 2]}: {name}"[:_LABEL_CHARS]


def _speaks(heading: str, title: str) -> bool:
    """Tell whether a heading says alone what it is about.

    An identifier does, three telling words do, and two where one of them is of the document's title.
    """
    if identifiers(heading):
        return True
    found = {word for word in re.findall(r"[^\W\d_]{3,}", fold(heading)) if word not in _SAYS_NOTHING}
    shared = set(terms(heading, "en")) & set(terms(title, "en"))
    return len(found) >= 3 or (len(found) == 2 and bool(shared))


def _fragment(part: _Part, names: dict[str, int]) -> str:
    """Return the part of the URI that names a section, the same for the same headings in every version."""
    source = [*part.path, part.own_heading] if part.own_heading else list(part.path)
    name = "/".join(re.sub(r"[^a-z0-9]+", "-", fold(heading)).strip("-")[:60] for heading in source[-3:]) or "text"
    names[name] = names.get(name, 0) + 1
    return name if names[name] == 1 else f"{name}~{names[name]}"
