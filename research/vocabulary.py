"""What a word of a label is worth as an anchor (spec 04, topic guard).

A label's words do not weigh the same. "Fehler beim Start des Servers" names no subject at all; "Drucker"
names a field; "Postfix" or "AssumeUDPEncapsulation" names a thing. So every word of a label gets one of
these weights (`word_weight`), and only words that name something can show that a text speaks of the label:

    GENERIC   0.15  something is wrong, must be done, or is a computer: true of every page of the field
    ORDINARY  0.6   a field of the trade (printer, mailbox, certificate): narrows, but does not name
    COMPOUND  0.9   a German compound of such words (Druckerwarteschlange): narrow, and still no name
    NAME      1.0   any other word: products, protocols, components, rare words

The lists (`research.trade_words`) are compared by stem; `equivalents` looks words up in `research.glossary`.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from data.text import stem
from research.glossary import GLOSSARY
from research.trade_words import DEEDS, GENERIC, ORDINARY

__all__ = [
    "COMPOUND_WEIGHT",
    "GENERIC_WEIGHT",
    "NAME_WEIGHT",
    "ORDINARY_WEIGHT",
    "compound_parts",
    "done_to",
    "equivalents",
    "keys",
    "word_weight",
]

GENERIC_WEIGHT: Final = 0.15
ORDINARY_WEIGHT: Final = 0.6
COMPOUND_WEIGHT: Final = 0.9
NAME_WEIGHT: Final = 1.0

_UMLAUTS: Final = (("ae", "a"), ("oe", "o"), ("ue", "u"))
_MIN_HEAD: Final = 6
"""A German compound is known by its head from six letters on: "Druckerwarteschlange" is a queue."""
_MIN_REST: Final = 4


@cache
def keys(word: str, language: str = "und") -> frozenset[str]:
    """Return the forms under which a folded `word` is compared: itself and its stem; both stems for `und`.

    Folded umlauts lose their e, so that "vorgaenge" and "vorgang" meet: the stemmer leaves German plurals apart.
    """
    languages = (language,) if language in {"de", "en"} else ("de", "en")
    return frozenset(_flat(form) for form in (word, *(stem(word, language) for language in languages)))


def _flat(form: str) -> str:
    for written, plain in _UMLAUTS:
        form = form.replace(written, plain)
    return form


@cache
def _known(words: str) -> frozenset[str]:
    return frozenset(_flat(stem(word, language)) for word in words.split() for language in ("de", "en"))


@cache
def _groups() -> dict[str, tuple[tuple[str, ...], ...]]:
    """Return word key → the other words of its groups, each a tuple of its parts ("print-queue" has two)."""
    found: dict[str, dict[tuple[str, ...], None]] = {}
    for line in GLOSSARY.strip().splitlines():
        group = line.split()
        for word in group:
            others = [tuple(other.split("-")) for other in group if other != word]
            for key in keys(word):
                found.setdefault(key, {}).update(dict.fromkeys(others))
    return {key: tuple(others) for key, others in found.items()}


@cache
def _listed() -> frozenset[str]:
    return frozenset(GENERIC.split()) | frozenset(ORDINARY.split())


@cache
def _ordinary() -> frozenset[str]:
    return frozenset(ORDINARY.split()) - frozenset(GENERIC.split())


@cache
def word_weight(word: str) -> float:
    """Return the anchor weight of a folded word, in (0, 1]."""
    forms = keys(word)
    if word in _ordinary():  # as it is written: a stem that "timer" shares with "time" says less
        return ORDINARY_WEIGHT
    if not forms.isdisjoint(_known(GENERIC)):
        return GENERIC_WEIGHT
    if not forms.isdisjoint(_known(ORDINARY)):
        return ORDINARY_WEIGHT
    if (thing := done_to(word)) is not None:
        return word_weight(thing)
    if (parts := compound_parts(word)) and all(word_weight(part) < NAME_WEIGHT for part in parts):
        return COMPOUND_WEIGHT
    return NAME_WEIGHT


@cache
def equivalents(word: str) -> tuple[tuple[str, ...], ...]:
    """Return what says the same as a folded word, each a tuple of words that stand together; () where unknown."""
    groups = _groups()
    return next((groups[key] for key in sorted(keys(word), key=len, reverse=True) if key in groups), ())


@cache
def done_to(word: str) -> str | None:
    """Return what a German compound of a deed or a fault is about ("adressvergabe" is "adress"), or None.

    Such a head says as little as "problem" does: what is assigned, changed or broken names the subject.
    """
    for head in DEEDS.split():
        if word.endswith(head) and len(word) - len(head) >= _MIN_REST:
            rest = word[: -len(head)]
            linked = rest.endswith("s") and len(rest) > _MIN_REST and keys(rest).isdisjoint(_known(ORDINARY))
            return rest[:-1] if linked else rest
    return None


@cache
def compound_parts(word: str) -> tuple[str, str] | None:
    """Return (rest, head) of a German compound of known words, or of any word with a head of the trade, or None.

    "dateiserver" is ("datei", "server"), "druckerwarteschlange" is ("drucker", "warteschlange"); a linking s is
    dropped from the rest.
    """
    for start in range(_MIN_REST, len(word) - _MIN_HEAD + 1):
        head = word[start:]
        known = any(key in _groups() and len(key) >= _MIN_HEAD - 1 for key in keys(head))
        if known or (head in _listed() and word[:start] in _listed()):
            rest = word[:start]
            return (rest[:-1] if rest.endswith("s") and len(rest) > _MIN_REST else rest), head
    return None
