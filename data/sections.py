"""A document becomes nodes: one when it is short, else a document node and its sections (spec 02, "The inbox").

It is split at its headings. A bare heading becomes no node: it names its children. Tiny neighbours under one heading
are one section, a huge section is split at the terms it defines or at its paragraphs. Labels are titles a person
would search for: the document's title stands before a heading that says little alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from data.clock import to_iso
from data.crud.ingest import EdgeDraft, NodeDraft
from data.extract import Document, sections_of
from data.headings import BARE_NUMBER, LABEL_CHARS, clean_heading, slug
from data.language import detect_language
from data.manpage import read_manual
from data.models import EdgeKind, NodeKind
from data.spans import paragraphs, sentences
from data.text import label_key, terms

__all__ = ["document_nodes"]

_WHOLE: Final = 3_000
"""A document up to this long is one node; a chapter up to half of it is one section with its sub-headings inside."""
_TINY: Final = 400
_LARGE: Final = 6_000
_PART: Final = 4_000
"""Characters a part of a huge section aims at."""
_CODE: Final = re.compile(r"^(`{3,})[^\n]*\n.*?^\1`*[ \t]*$", re.MULTILINE | re.DOTALL)
"""A fenced block: an English configuration file makes no German section English."""


@dataclass(slots=True)
class _Part:
    """A heading with its own text and what stands under it."""

    level: int
    heading: str
    text: str = ""
    parts: list[_Part] = field(default_factory=list)

    def whole(self) -> str:
        """Return own text and everything below, sub-headings as lines."""
        return "\n\n".join(filter(None, (self.text, *(part.titled() for part in self.parts))))

    def titled(self) -> str:
        return "\n\n".join(filter(None, (f"{'#' * self.level} {self.heading}", self.whole())))


@dataclass(slots=True)
class _Piece:
    """What becomes one section: texts with their headings ("" for a parent's introduction)."""

    path: tuple[str, ...]
    members: list[tuple[int, str, str]]
    number: int = 1
    """Which part of a huge section this is."""
    defined: bool = False
    """It explains terms of a list of definitions; they say nothing without what they are terms of."""

    @property
    def headings(self) -> list[str]:
        return [heading for _, heading, _ in self.members if heading]

    def body(self) -> str:
        if len(self.members) == 1 or self.defined:  # a definition begins with its term
            return "\n\n".join(text for _, _, text in self.members if text)
        lines = [
            "\n\n".join(filter(None, (f"{'#' * level} {heading}" if heading else "", text)))
            for level, heading, text in self.members
        ]
        return "\n\n".join(filter(None, lines))

    def size(self) -> int:
        return sum(len(text) for _, _, text in self.members)


def document_nodes(document: Document, uri: str) -> tuple[list[NodeDraft], list[EdgeDraft]]:
    """Return the nodes of a document, the document node first, and the `part_of` edges from its sections to it.

    `uri` becomes the document's `source_uri`, `uri#slug` those of its sections: read again, they are found again.
    Both lists are empty where there is no running text at all (a table of contents, a bare heading).
    """
    manual = read_manual(document.text)
    if manual is not None:
        document = replace(document, text=manual, sections=sections_of(manual))
    root = _tree(document)
    title = clean_heading(root.heading or document.title, numbered=True)
    meta = _meta(document)
    whole = root.whole()
    if not _speaks(root):
        return [], []
    pieces = [] if len(whole) <= _WHOLE else _sections(root)
    lead = pieces.pop(0) if pieces and not pieces[0].path and pieces[0].number == 1 else None
    if not pieces or (len(pieces) == 1 and len(whole) <= _LARGE):
        return [_draft(NodeKind.DOCUMENT, title, whole, document, uri, meta)], []
    labels = _labels(title, pieces)
    body = lead.body() if lead else ""
    if len(body) < _TINY:
        body = "\n\n".join(filter(None, (body, _contents(pieces))))
    drafts = [_draft(NodeKind.DOCUMENT, title, body, document, uri, meta)]
    for piece, label, name in zip(pieces, labels, _slugs(title, pieces), strict=True):
        under = {"headings": list(piece.path)} if piece.path else {}
        drafts.append(_draft(NodeKind.SECTION, label, piece.body(), document, f"{uri}#{name}", under))
    return drafts, [EdgeDraft(number, 0, EdgeKind.PART_OF) for number in range(1, len(drafts))]


def _draft(kind: NodeKind, label: str, body: str, document: Document, uri: str, meta: dict[str, Any]) -> NodeDraft:
    language = detect_language(f"{label}\n{_CODE.sub(' ', body)}")
    if language == "und" and document.language in {"de", "en"}:
        language = document.language
    return NodeDraft(kind, label, body, language, uri, "", meta)


def _meta(document: Document) -> dict[str, Any]:
    found: dict[str, Any] = {"publisher": document.publisher, "author": document.author}
    if document.published_at is not None:
        found["published_at"] = to_iso(document.published_at)
    if document.flags:
        found["flags"] = list(document.flags)
    return {name: value for name, value in found.items() if value}


def _tree(document: Document) -> _Part:
    """Return the document as a tree; its root is the title heading where the first heading is that."""
    text, sections = document.text, document.sections
    root = _Part(0, "", text[: sections[0].start].strip() if sections else text.strip())
    stack = [root]
    for section in sections:
        body = text[section.start : section.end].partition("\n")[2].strip("\n").rstrip()
        part = _Part(section.level, section.heading, body)
        while stack[-1].level >= part.level:
            stack.pop()
        stack[-1].parts.append(part)
        stack.append(part)
    if root.parts and _is_title(root, document.title):
        first = root.parts[0]
        text = "\n\n".join(filter(None, (root.text, first.text)))
        return _Part(0, first.heading, text, [*first.parts, *root.parts[1:]])
    return root


def _is_title(root: _Part, title: str) -> bool:
    first = root.parts[0]
    if len(root.text) > _TINY:
        return False
    return len(root.parts) == 1 or label_key(first.heading) == label_key(title)


def _sections(root: _Part) -> list[_Piece]:
    """Return the pieces of the whole document in order; those without a path are the document's own text."""
    own = _own_pieces(root, ())
    return own + _below(root, (), carried="")


def _own_pieces(part: _Part, path: tuple[str, ...]) -> list[_Piece]:
    """Return a part's own text, split where it is huge."""
    if not part.text:
        return []
    if len(part.text) <= _LARGE:
        return [_Piece(path, [(part.level, part.heading if path else "", part.text)])]
    found = _terms_defined(part.text)
    if found:
        return _defined(part, path, found)
    return [
        _Piece(path, [(part.level, part.heading if path else "", text)], number)
        for number, text in enumerate(_parts_of(part.text), 1)
    ]


def _defined(part: _Part, path: tuple[str, ...], found: list[tuple[str, str]]) -> list[_Piece]:
    """Return a huge list of definitions as its terms, tiny neighbours together."""
    pieces: list[_Piece] = []
    for term, text in found:
        if not term:
            inner = _Part(part.level, part.heading, text)
            pieces.extend(
                _Piece(path, [(part.level, part.heading if path else "", piece)], number)
                for number, piece in enumerate(_parts_of(inner.text), 1)
            )
            continue
        below = (*path, term)
        pieces.extend(
            _Piece(below, [(part.level + 1, term, piece)], number, defined=True)
            for number, piece in enumerate(_parts_of(text), 1)
        )
    return _merged(pieces, set(map(id, pieces)))


def _below(part: _Part, path: tuple[str, ...], carried: str) -> list[_Piece]:
    """Return the pieces of everything below `part`; `carried` is its introduction, too short to stand alone."""
    pieces: list[_Piece] = []
    direct: set[int] = set()
    bare: list[tuple[int, str, str]] = [(part.level, "", carried)] if carried else []
    for child in part.parts:
        below = (*path, child.heading)
        whole = child.whole()
        if not whole:
            bare.append((child.level, child.heading, ""))
            continue
        if len(whole) <= _WHOLE // 2 or (not child.parts and len(whole) <= _LARGE):
            found = [_Piece(below, [(child.level, child.heading, whole)])]
            direct.add(id(found[0]))
        else:
            short = len(child.text) < _TINY
            own = [] if short else _own_pieces(child, below)
            found = own + _below(child, below, child.text if short else "")
        if bare and found and found[0].size() + sum(len(text) for _, _, text in bare) <= _LARGE:
            found[0].members[:0] = bare
            bare = []
        pieces.extend(found)
    return _merged(pieces, direct)


def _merged(pieces: Sequence[_Piece], direct: set[int]) -> list[_Piece]:
    """Join neighbours of one parent until each has some substance."""
    result: list[_Piece] = []
    for piece in pieces:
        last = result[-1] if result else None
        if last is not None and _joinable(last, piece, direct) and last.size() < _TINY:
            last.members.extend(piece.members)
        else:
            result.append(piece)
    if len(result) > 1 and result[-1].size() < _TINY and _joinable(result[-2], result[-1], direct):
        last = result.pop()
        result[-1].members.extend(last.members)
    return result


def _joinable(first: _Piece, second: _Piece, direct: set[int]) -> bool:
    both = {id(first), id(second)} <= direct and first.number == second.number == 1
    return both and first.path[:-1] == second.path[:-1] and first.size() + second.size() <= _LARGE


_TERM: Final = re.compile(r"^(?![-*|>`#\d]|\s)(?=.*[^\W\d_]).{2,100}$")
_DEFAULT: Final = re.compile(r"\s*[(\[][^()\[\]]*(?:default|Standard|Vorgabe)[^\n]*[)\]]\s*$", re.IGNORECASE)
_MANY_TERMS: Final = 8


def _terms_defined(text: str) -> list[tuple[str, str]]:
    """Return (term, its text) for a list of definitions as manuals have them, [] for running text.

    A term is a line of its own without an end of sentence, with text below it; running text has few such lines.
    The first entry is the text before the first term, with the term "".
    """
    spans = [text[span.start : span.end] for span in paragraphs(text)]
    found: list[tuple[str, list[str]]] = [("", [])]
    for number, paragraph in enumerate(spans):
        follows = spans[number + 1] if number + 1 < len(spans) else ""
        if _is_term(paragraph) and follows and not _is_term(follows) and not follows.startswith(("#", "```")):
            found.append((paragraph, [paragraph]))
        else:
            found[-1][1].append(paragraph)
    valued = sum(_DEFAULT.search(term) is not None for term, _ in found)
    if valued >= max(_MANY_TERMS, len(found) // 4):  # "name (default: value)": other short lines are values of these
        found = _rejoined(found)
    if len(found) - 1 < max(_MANY_TERMS, len(text) // _PART):
        return []
    return [(_DEFAULT.sub("", term).strip() or term, "\n\n".join(lines)) for term, lines in found if lines]


def _rejoined(found: list[tuple[str, list[str]]]) -> list[tuple[str, list[str]]]:
    """Give what stands under a term without a default value back to the term before it."""
    result = found[:1]
    for term, lines in found[1:]:
        if _DEFAULT.search(term):
            result.append((term, lines))
        else:
            result[-1][1].extend(lines)
    return result


def _is_term(paragraph: str) -> bool:
    """Tell whether a paragraph is a short name, or one with its default value; "NOTE Spare disks" is a title."""
    if "\n" in paragraph or _TERM.match(paragraph) is None or paragraph[-1] in ".!?:;,…":
        return False
    return _DEFAULT.search(paragraph) is not None or len(paragraph.split()) <= 2


def _parts_of(text: str) -> Iterator[str]:
    """Split a huge text at paragraphs, and where one is huge itself (a listing, a table), at lines or characters."""
    if len(text) <= _LARGE:
        yield text
        return
    current = ""
    for block in _blocks(text):
        if current and len(current) + len(block) > _PART:
            yield current.strip("\n")
            current = ""
        current += block
    if current.strip():
        yield current.strip("\n")


def _blocks(text: str) -> Iterator[str]:
    """Yield paragraphs with the white space that follows them; pieces of them where they are huge."""
    spans = paragraphs(text)
    for number, span in enumerate(spans):
        end = spans[number + 1].start if number + 1 < len(spans) else len(text)
        block = text[span.start : end]
        while len(block) > _PART:
            cut = max(block.rfind("\n", 0, _PART), block.rfind(". ", 0, _PART) + 1)
            if cut < _PART // 2:
                cut = block.rfind(" ", 0, _PART)
            cut = cut + 1 if cut > 0 else _PART
            yield block[:cut]
            block = block[cut:]
        yield block


_SENTENCE: Final = re.compile(r"[^\W\d_]{2,}\W+[^\W\d_]{2,}")


def _speaks(root: _Part) -> bool:
    """Tell whether anything but headings stands in the document."""
    if _SENTENCE.search(root.text):
        return True
    return any(_speaks(part) for part in root.parts)


def _contents(pieces: Sequence[_Piece]) -> str:
    """Return what the sections begin with: what a document without an introduction of its own is about."""
    lines: list[str] = []
    size = 0
    for piece in pieces:
        if piece.number > 1:
            continue
        text = next((text for _, _, text in piece.members if text and not text.startswith(("```", "|", "#"))), "")
        spans = sentences(text[:_PART])
        first = " ".join(text[spans[0].start : spans[0].end].split()) if spans else ""
        lines.append(f"- {_joined(piece)}" + (f": {first}" if 0 < len(first) <= 300 else ""))
        size += len(lines[-1])
        if size > _WHOLE // 2:
            break
    return "\n".join(lines)


def _labels(title: str, pieces: Sequence[_Piece]) -> list[str]:
    """Return a label for each piece, no two alike."""
    numbered = sum(bool(BARE_NUMBER.match(name)) for piece in pieces for name in piece.headings) >= 3
    labels: list[str] = []
    taken: dict[str, int] = {}
    for piece in pieces:
        names = [clean_heading(name, numbered=numbered) for name in (*piece.path[:-1], _joined(piece))]
        label = _title_of(title, names, defined=piece.defined)
        if label_key(label) in taken and piece.number == 1 and len(names) > 1:
            label = _title_of(title, [f"{names[-2]}: {names[-1]}"], defined=False)
        if piece.number > 1:
            label = f"{label} ({piece.number})"
        key = label_key(label)
        taken[key] = taken.get(key, 0) + 1
        if taken[key] > 1:
            label = f"{label} ({taken[key]})"
            taken[label_key(label)] = 1
        labels.append(label)
    return labels


def _joined(piece: _Piece) -> str:
    """Return the heading of a piece: its own, or those it was merged from as far as they fit."""
    own = [heading for _, heading, text in piece.members if heading and text]
    names = [clean_heading(name, numbered=True) for name in own or piece.headings or piece.path[-1:]]
    if not names:
        return ""
    text = names[0]
    for name in names[1:]:
        if len(text) + len(name) > 90:
            break
        text += f" / {name}"
    return text


def _title_of(title: str, names: Sequence[str], *, defined: bool) -> str:
    """Return the last of `names` (a heading under its parents), behind the title where it says too little alone."""
    heading = names[-1]
    if not heading:
        return title
    said, about = set(terms(heading)), set(terms(title))
    alone = (len(said) >= 4 and len(heading) >= 30) or (len(said) >= 3 and said & about)
    if (alone and not defined and not heading.isupper()) or label_key(title) in label_key(heading):
        return heading[:LABEL_CHARS]
    if label_key(heading) in label_key(title) and len(label_key(heading)) > len(label_key(title)) // 2:
        return title
    if len(names) > 2 and (defined or said <= about):
        return f"{names[-2]}: {heading}"[:LABEL_CHARS]
    if len(title) > 60:
        short = re.split(r": | [–—-] ", title, maxsplit=1)[0]
        title = short if len(short) >= 8 else title[:60].rsplit(" ", 1)[0]
    return f"{title}{' – ' if ': ' in title else ': '}{heading}"[:LABEL_CHARS]


def _slugs(title: str, pieces: Sequence[_Piece]) -> list[str]:
    """Return a fragment for each piece that stays the same when other sections come and go."""
    found: list[str] = []
    taken: set[str] = set()
    for piece in pieces:
        names = [clean_heading(name, numbered=True) for name in piece.path] or [title]
        options = [slug("-".join(names[-depth:])) for depth in range(1, len(names) + 1)]
        if piece.number > 1:
            options = [f"{option}-{piece.number}" for option in options]
        name = next((option for option in options if option not in taken), "")
        number = 2
        while not name:
            candidate = f"{options[0]}-{number}"
            name = candidate if candidate not in taken else ""
            number += 1
        taken.add(name)
        found.append(name)
    return found
