"""Headings as titles and as fragments: without their numbers, marks and quotes of code."""

from __future__ import annotations

import re
from typing import Final

from data.characters import fold
from data.crud.ingest import is_label

__all__ = ["BARE_NUMBER", "LABEL_CHARS", "clean_heading", "slug"]

LABEL_CHARS: Final = 160

_NAMED: Final = re.compile(
    r"^(?:Kapitel|Chapter|Teil|Part|Anhang|Appendix|Abschnitt|Section)\s+(?:\d+|[A-Z]|[IVXLC]+)(?:\.\d+)*\s*[.:–-]\s+",
    re.IGNORECASE,
)
_DOTTED: Final = re.compile(r"^(?:\d{1,2}|[A-Z])(?:\.\d{1,2})*(?:\.\s+|\s+[-–—]\s+)(?=\S)")
BARE_NUMBER: Final = re.compile(r"^\d{1,2}(?:\.\d{1,2})+\s+(?=[^\W\d_])")


def clean_heading(heading: str, *, numbered: bool) -> str:
    """Return a heading without its number, end marks and quotes of code; `numbered` where the others have one too."""
    text = " ".join(heading.replace("`", "").replace("¶", " ").split())
    bare = _DOTTED.sub("", _NAMED.sub("", text))
    if numbered:
        bare = BARE_NUMBER.sub("", bare)
    bare = bare.rstrip(" :").strip()
    if re.search(r"[^\W\d_]{4,}\.$", bare):  # a sentence's end, not that of "etc."
        bare = bare[:-1]
    return (bare if is_label(bare) else text)[:LABEL_CHARS].strip()


def slug(text: str) -> str:
    """Return a heading as a fragment: folded letters and digits with hyphens, at most 60 characters."""
    return re.sub(r"[^a-z0-9]+", "-", fold(text)).strip("-")[:60].strip("-") or "section"
