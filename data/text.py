"""Words of a text: normalised, folded, stemmed, and what of them can anchor one text to another (spec 04, 05).

Pure functions without store or network. The parts live beside this module (`characters`, `language`,
`identifiers`, `spans`); what the other packages need of them is reachable from here.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from data.characters import fold, label_key, normalise
from data.identifiers import Identifier, IdentifierClass, identifiers
from data.language import STOP_WORDS, detect_language
from data.spans import Span, paragraphs, sentences

__all__ = [
    "STOP_WORDS",
    "Anchors",
    "Identifier",
    "IdentifierClass",
    "Span",
    "anchors",
    "detect_language",
    "distinct_terms",
    "fold",
    "identifiers",
    "label_key",
    "normalise",
    "paragraphs",
    "plain_terms",
    "sentences",
    "stem",
    "term_in",
    "term_index",
    "terms",
    "words",
]

_TOKEN: Final = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_VISIBLE: Final = re.compile(r"\.?[^\W_](?:[\w'’]|[-./:+#@&](?=\w))*(?:\+\+|#)?")
_MIN_TERM: Final = 3
_MIN_COMPOUND: Final = 5
"""A part of a German compound counts from five letters on ("Drucker" in "Druckerwarteschlange"); shorter ones
("rat" in "Beratung") would match by chance."""


_STEMMING: Final = threading.Lock()
"""A stemmer keeps the word it works on in itself: two threads at once would get each other's letters."""


@lru_cache(maxsize=4)
def _stemmer(language: str) -> Any:
    import snowballstemmer

    return snowballstemmer.stemmer({"de": "german", "en": "english"}[language])


@lru_cache(maxsize=65_536)
def stem(word: str, language: str) -> str:
    """Return the snowball stem of a folded `word`, folded again; `und` and words with digits stay whole."""
    if language not in {"de", "en"} or any(c.isdigit() for c in word):
        return word
    with _STEMMING:
        stemmed = _stemmer(language).stemWord(word)
    return fold(str(stemmed))


def _tokens(text: str, *, without_identifiers: bool) -> Iterable[str]:
    """Yield folded words of three or more characters with a letter in them, stop words left out."""
    text = normalise(text)
    return filter(None, map(_term, _TOKEN.findall(fold(_rest(text) if without_identifiers else text))))


def _rest(text: str) -> str:
    """Return a normalised text without its identifiers."""
    found = identifiers(text)
    if not found:
        return text
    pieces = []
    position = 0
    for item in found:
        pieces.append(text[position : item.start])
        position = item.end
    return " ".join([*pieces, text[position:]])


def _term(word: str) -> str:
    """Return the term of a folded token, "" for one that says nothing."""
    if word.endswith("'s"):
        word = word[:-2]
    if len(word) < _MIN_TERM or word in STOP_WORDS or word.isdigit():
        return ""
    return word.replace("'", "") if "'" in word else word


_known_term = lru_cache(maxsize=131_072)(_term)


def terms(text: str, language: str | None = None) -> tuple[str, ...]:
    """Return the terms of `text` in order, repeats kept: folded, stop words and identifiers out, stemmed.

    `language` (`de`, `en`, `und`) chooses the stemmer; None detects it from the text. In a text whose language
    could not be told each word is stemmed by its own evidence, or left whole.
    """
    language = detect_language(text) if language is None else language
    found = _tokens(text, without_identifiers=True)
    return tuple(stem(word, language if language != "und" else detect_language(word)) for word in found)


def plain_terms(text: str) -> tuple[str, ...]:
    """Return the terms of `text` in order, repeats kept, folded and not stemmed; stop words and identifiers out."""
    return tuple(_tokens(text, without_identifiers=True))


def distinct_terms(text: str) -> set[str]:
    """Return what `plain_terms` does, each term once, in a third of the time."""
    return set(map(_known_term, set(_TOKEN.findall(fold(_rest(normalise(text))))))) - {""}


def words(text: str) -> tuple[str, ...]:
    """Return the visible tokens as written, inner hyphens, dots and slashes kept: what a query is rebuilt from."""
    return tuple(match.group() for match in _VISIBLE.finditer(normalise(text)))


@dataclass(frozen=True, slots=True)
class Anchors:
    """What ties a text to a label: significant terms and identifier values."""

    terms: frozenset[str]
    identifiers: frozenset[str]

    def __bool__(self) -> bool:
        return bool(self.terms or self.identifiers)


def anchors(text: str, language: str | None = None) -> Anchors:
    """Return the anchors of a label or a query; see `term_index` for the text they are looked up in."""
    return Anchors(frozenset(terms(text, language)), frozenset(item.value for item in identifiers(normalise(text))))


def term_index(text: str) -> frozenset[str]:
    """Return every form under which a word of `text` may be looked up: folded, and stemmed as German and English.

    A label and a page may be detected as different languages ("Server" stems to "serv" in German and to "server"
    in English); looking a label's term up in this index finds it whichever stemmer made it. Words inside of
    identifiers ("windows" of "Windows 11") are in it too.
    """
    found: set[str] = set()
    for word in set(_tokens(text, without_identifiers=False)):
        found.update((word, stem(word, "de"), stem(word, "en")))
    return frozenset(found)


def term_in(term: str, among: Collection[str]) -> bool:
    """Tell whether `term` is one of `among`, or a part of one or made of one, as German compounds are.

    "warteschlang" is found in "druckerwarteschlang" and the other way round; the shorter one has at least five
    characters.
    """
    if term in among:
        return True
    if len(term) < _MIN_COMPOUND:
        return False
    return any(term in other or other in term for other in among if len(other) >= _MIN_COMPOUND)
