"""Sentences that can stand alone in an article, taken whole or shortened (spec 06, "Author").

A sentence is refused when it points at the page it comes from, speaks of its author, is no whole sentence or is
in another language; one that only continues the sentence before it is marked. Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from articles.cues import dependent_pattern, pointing_pattern
from articles.plaintext import plain, prose_words
from articles.shorten import shorten
from articles.verbs import is_sentence
from data.text import Span, detect_language

__all__ = [
    "MAX_SENTENCE_WORDS",
    "MIN_SENTENCE_WORDS",
    "Statement",
    "compose",
    "in_language",
    "points_back",
    "statement",
]

MIN_SENTENCE_WORDS: Final = 4
OWN_WORDS: Final = 12
"""After so many words "this restriction" points into its own sentence more often than out of it."""
MAX_SENTENCE_WORDS: Final = 42
"""Above this a sentence is hard to read at one go in either language; counted with code."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One usable sentence. `pieces` are the spans that stay, in order; `text` is what they say, tidied."""

    start: int
    end: int
    pieces: tuple[Span, ...]
    text: str
    dependent: bool
    """It points back ("This …", "Dadurch …"): only right after the sentence that stands before it in the source."""


_FIRST_PERSON: Final = re.compile(r"(?<![\w'])(?:I|I'm|I've|us)(?![\w/])")
_PREFIXED: Final = re.compile(r"[^.:`]{2,45}:\s+\S")
_END: Final = re.compile(r"[.!]['\"”“»)\]*_`]{0,3}$")
_BROKEN: Final = re.compile(
    r"\.\.\.|…|\s#+\s|https?://|www\.|\bftp://|[|{}]|\w@\w|\[\d+\]|\s[*_]\s|^\W*\d+\W*$|"
    r"\b[A-Z]{2,} [A-Z]{2,} [A-Z]{3,}\b|\b(?:e\.g|i\.e|cf|vs|z\. ?B|d\. ?h|bzw|ca)\.$|"
    r"(?<=[a-z])\. [a-z]+ (?:was|is|are)\b|\w\(\d\)\W+\w[\w.-]*\(\d\)"
)
_POINTS_BACK: Final = re.compile(
    r"\b(?:this|these|those|such|the (?:latter|former)|the same(?! \w+ as| as)|dies|diese[mnrs]?|solche[mnrs]?|"
    r"that(?= (?:around|way|too|again|instead|case|time)\b|[.;]))\b",
    re.IGNORECASE,
)
_RESULT: Final = re.compile(
    r"(?:\S+ ){1,4}then\b|[^,;:]{0,90}\b(?:dann|dabei|dadurch|dafür|daraus|davon|daran|trotzdem|ebenfalls)\b"
    r"(?![^.]*,\s(?:dass|ob|wie|um|was|wenn)\b)",
    re.IGNORECASE,
)
"""A consequence of something said before; a condition of the sentence's own makes it whole."""
_ALSO: Final = re.compile(
    r"(?:\S+ ){0,6}(?:also|additionally|auch|außerdem|zudem|folglich|zusätzlich|dagegen|hingegen|jedoch|allerdings)\b",
    re.IGNORECASE,
)
_CONDITION: Final = re.compile(r"(?:if|when|once|wenn|falls|sobald|sofern|ist|sind|wird|fehlt|liegt)\b", re.IGNORECASE)
_NO_SUBJECT: Final = re.compile(
    r"(?:how|why|whether|wie man|warum)\b|(?:uses|sets|allows|specifies|enables|returns|defines|determines|controls|"
    r"provides|indicates|describes|gives|contains|lists|shows|causes|creates|adds|removes|changes|displays|prints|reads|"
    r"writes|generates|makes|limits|disables|configures|requires|tells|instructs|runs|starts|stops|sends|performs|"
    r"represents|supports|applies|checks|deletes|retrieves|sorts|extracts) (?!(?:are|is|of|and|or)\b)|"
    r"(?!(?:unless|as|is|does|was|has|its|this|thus|perhaps|always|sometimes|besides)\b)[a-z]+[^s]s "
    r"(?:the|an?|all|any|each|whether|if)\b",
    re.IGNORECASE,
)
"""A heading, or what a manual says of a command that stands above it: no sentence by itself."""
_OPENERS: Final = "`\"'„“»«(*_"


def in_language(text: str, language: str) -> bool:
    """Tell whether `text` may stand in an article in `language`: detected as such, or as no language at all."""
    return detect_language(text) in {language, "und"}


def statement(
    text: str, span: Span, language: str, limit: int, offset: int = 0, *, listed: bool = False
) -> Statement | None:
    """Return the sentence `span` of `text` as it may be used, or None where it cannot stand in an article.

    `limit`: most consecutive prose words of one piece. `listed`: it comes from an item of a list, where fragments
    with a full stop are common; there its verb must be a known one.
    """
    raw = span.of(text)
    if not _END.search(raw) or not in_language(raw, language):
        return None
    pieces = shorten(raw, language, limit)
    if pieces is None:
        return None
    body = compose([piece.of(raw) for piece in pieces])
    opening = raw[pieces[0].start :].lstrip(_OPENERS)
    if not _usable(body, language, listed) or not in_language(body, language):
        return None
    base = offset + span.start
    return Statement(
        start=base,
        end=offset + span.end,
        pieces=tuple(Span(base + piece.start, base + piece.end) for piece in pieces),
        text=body,
        dependent=points_back(opening, language),
    )


def points_back(sentence: str, language: str) -> bool:
    """Tell whether a sentence only continues the one before it: by its opening, or by an early "this …"."""
    opening = sentence.lstrip(_OPENERS)
    if dependent_pattern(language).match(opening):
        return True
    if _ALSO.match(opening):
        return True
    if _RESULT.match(opening) and not _CONDITION.match(opening):
        return True
    if (found := _POINTS_BACK.search(opening)) is None:
        return False
    before = opening[: found.start()]
    return ";" not in before and len(before.split()) < OWN_WORDS


def _usable(body: str, language: str, listed: bool) -> bool:
    words = body.split()
    if not MIN_SENTENCE_WORDS <= len(words) <= MAX_SENTENCE_WORDS or len(prose_words(body)) < MIN_SENTENCE_WORDS:
        return False
    if pointing_pattern(language).search(body) or _FIRST_PERSON.search(body) or _BROKEN.search(body):
        return False
    if _PREFIXED.match(body) or body.count("(") != body.count(")") or body.count("`") % 2 or body.count('"') % 2:
        return False
    if not is_sentence(body, language, strict=listed) or (language == "en" and _NO_SUBJECT.match(body)):
        return False
    first = body.lstrip(_OPENERS)[:1]
    return first.isupper() or first.isdigit() or body.startswith("`")


def compose(quotes: Sequence[str]) -> str:
    """Return the sentence that verbatim pieces make: marks off, joined, first letter up, a full stop at the end."""
    body = " ".join(filter(None, (plain(quote) for quote in quotes)))
    body = re.sub(r"\s+([,;.!?)])(?=\s|$)", r"\1", body)
    body = re.sub(r",\s*,", ",", body).strip().lstrip(",;:–—- ")
    body = re.sub(r"[\s,;:–—-]+$", "", body)
    if body and not re.search(r"[.!?:]['\"”“»)`]{0,2}$", body):
        body += "."
    return body[:1].upper() + body[1:]
