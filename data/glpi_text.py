"""Texts of GLPI: what is stored to what was written, and the mark that tells our own articles apart (pure).

GLPI 10 stores `<`, `>` and `&` as numeric entities and 9.5 the first two as named ones; GLPI 11 stores texts as they
are (its `Sanitizer`). Rich text is HTML; descriptions that came by mail or from older versions are plain text.
"""

from __future__ import annotations

import hashlib
import html
import re
from dataclasses import dataclass
from typing import Final

from data.ticket_text import as_text

__all__ = ["OwnMark", "decoded", "digest_of", "mark_line", "marked", "plain_text", "without_mark"]

_TEN: Final = (("&#62;", ">"), ("&#60;", "<"), ("&#38;", "&"))
_NINE: Final = (("&gt;", ">"), ("&lt;", "<"))
_RAW: Final = re.compile(r"[<>]|&(?!#?[a-zA-Z0-9]+;)")
_MARK: Final = re.compile(r"Neural Brain article\s+(a_[0-9A-Z]{26})\s+revision\s+(\d{1,9})\s+digest\s+([0-9a-f]{16})")
_MARK_BLOCK: Final = re.compile(rf"<p[^<>]*>(?:<\w+[^<>]*>)*\s*{_MARK.pattern}\s*(?:</\w+>)*\s*</p>", re.IGNORECASE)
_BETWEEN: Final = re.compile(r">\s+<")
_SPACE: Final = re.compile(r"\s+")
_ENTITY_ROUNDS: Final = 4


def decoded(stored: str) -> str:
    """Return a text as it was written.

    It is encoded where it holds no character that encoding would have replaced, and an entity that it writes; the
    numeric ones tell the newer mapping, in which `&` was replaced too.
    """
    if _RAW.search(stored):
        return stored
    mapping = _TEN if any(entity in stored for entity, _ in _TEN) else _NINE
    for entity, character in mapping:
        stored = stored.replace(entity, character)
    return stored


def plain_text(stored: str) -> str:
    """Return the readable text of a stored field: paragraphs, lists and code as lines, scripts and styles dropped."""
    return as_text(decoded(stored))


@dataclass(frozen=True, slots=True)
class OwnMark:
    """What the mark of an exported article says; `digest` is `digest_of` the item as it was written."""

    article_id: str
    revision: int
    digest: str


def mark_line(mark: OwnMark) -> str:
    """Return the visible line that every exported article ends with. Plain letters: no editor rewrites them."""
    return f"Neural Brain article {mark.article_id} revision {mark.revision} digest {mark.digest}"


def marked(text: str) -> OwnMark | None:
    """Return the mark in a text, HTML or plain, or None."""
    match = _MARK.search(text.replace("&nbsp;", " ").replace("\xa0", " "))
    return OwnMark(match[1], int(match[2]), match[3]) if match else None


def without_mark(markup: str) -> str:
    """Return an item's HTML without the paragraph of its mark."""
    return _MARK.sub("", _MARK_BLOCK.sub("", markup))


def digest_of(name: str, answer: str) -> str:
    """Return 16 hex digits of an item's title and HTML, the mark left out.

    The same for what was sent and for what any version of GLPI gives back of it unedited: encodings of characters and
    white space between tags do not count.
    """
    said = "\0".join((_folded(name), _folded(without_mark(answer))))
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def _folded(text: str) -> str:
    for _ in range(_ENTITY_ROUNDS):
        before, text = text, html.unescape(text)
        if text == before:
            break
    return _SPACE.sub(" ", _BETWEEN.sub("><", text.replace("\xa0", " "))).strip()
