"""How near a passage or a sentence is to a topic: shared words first, meaning by embedding beside them.

The words of the topic weigh by how rare they are in the evidence at hand: in ten pages about Postfix the word
"Postfix" tells nothing. Pure but for the embedder handed in.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Final

import numpy as np

from articles.cues import names_doing, word_list
from articles.roles import PassageView
from data.text import fold, identifiers, stem, term_in, term_index, terms
from vector.embed import Embedder

__all__ = [
    "LEXICAL_SHARE",
    "Nearness",
    "TopicModel",
    "index_of",
    "overlap",
    "question_terms",
    "specific_terms",
    "topic_model",
]

HEADING_SHARE: Final = 0.8
"""A topic word in a heading above the passage counts this much of one in it; in the page's title, the half."""
TITLE_SHARE: Final = 0.5
PAGE_SHARE: Final = 0.6
SECTION_SHARE: Final = 0.3
SHORT_PAGE: Final = 6_000
"""Characters up to which a page is about one thing, so that a topic word anywhere on it counts; in a manual of 100 KB
every word stands somewhere."""
OFTEN: Final = 3
"""Times a page says a topic word that it is about; one time less on a page of half that length."""
LEAST_SHARE: Final = 0.1
"""A page that counts less is not looked at."""
OTHER_IDENTIFIER: Final = 0.3
"""What is left of a passage's relevance when it names another identifier of the topic's class and not the topic's."""
LEXICAL_SHARE: Final = 0.65
"""Of relevance; the rest is cosine. Words lead because the bundled model was trained on English alone."""


@lru_cache(maxsize=20_000)
def index_of(text: str) -> frozenset[str]:
    """Return `data.text.term_index` of a sentence or a passage, remembered."""
    return term_index(text)


@lru_cache(maxsize=8_000)
def _folded(text: str) -> str:
    return fold(text)


@lru_cache(maxsize=8_000)
def _long_words(text: str) -> frozenset[str]:
    return frozenset(_LONG_WORD.findall(_folded(text)))


_LONG_WORD: Final = re.compile(r"[a-z]{5,}")
_SHORT_STEM: Final = 4
_COMPOUND: Final = 9
"""Letters from which a German topic word may be made of others ("Webserver"), so that one of them in a text counts."""


@dataclass(frozen=True, slots=True)
class _Word:
    """One word of a topic as it is looked for in folded text: its stem at the beginning of a word, or anywhere."""

    pattern: re.Pattern[str]
    compound: str

    def found(self, text: str) -> bool:
        if self.pattern.search(_folded(text)):
            return True
        return bool(self.compound) and any(word in self.compound for word in _long_words(text))


_ENDINGS: Final = ("es", "en", "er", "em", "e", "n", "s")


def _root(word: str, language: str) -> str:
    """Return the beginning that the forms of `word` share as they are written: its stem, unless that was respelled."""
    stemmed = stem(word, language)
    if word.startswith(stemmed):
        return stemmed
    ending = next((e for e in _ENDINGS if word.endswith(e) and len(word) - len(e) >= _SHORT_STEM), "")
    return word.removesuffix(ending)


def _word(word: str, language: str) -> _Word:
    stemmed = re.escape(_root(word, language))
    if len(stemmed) <= _SHORT_STEM:
        form = rf"(?<![^\W_]){stemmed}[^\W\d_]{{0,3}}(?![^\W_])"
    else:
        form = stemmed if language == "de" else rf"(?<![^\W_]){stemmed}"
    return _Word(re.compile(form), word if language == "de" and len(word) >= _COMPOUND else "")


@dataclass(frozen=True, slots=True)
class TopicModel:
    """The words of a topic with their weights (all weights together: 1) and its identifiers by class.

    An identifier stands among the words as "=error 809": it is in a text as such or not at all.
    """

    weights: Mapping[str, float]
    identifiers: Mapping[str, frozenset[str]]
    language: str
    words: Mapping[str, _Word]
    aliases: Mapping[str, re.Pattern[str]] = field(default_factory=dict)
    """For a topic word, the abbreviations that the texts explain with it: "ticket-granting ticket (TGT)"."""
    head: tuple[str, ...] = ()
    """The topic words of the thing itself: of "Kerberos keytab for a service" the first two."""

    def cover(self, *parts: tuple[str, float]) -> float:
        """Return the weighted share of topic words found in `parts` of (text, how much a find in it counts)."""
        best = sorted((part for part in parts if part[0] and part[1] > 0), key=lambda part: -part[1])
        total = 0.0
        for term, weight in self.weights.items():
            total += weight * next((share for text, share in best if self.holds(term, text)), 0.0)
        return total

    def holds(self, term: str, text: str) -> bool:
        """Tell whether `text` has the topic word `term`, in any of its forms, or as a part of a German compound."""
        if term.startswith("="):
            return _names(term[1:], text)
        if self.words[term].found(text):
            return True
        return term in self.aliases and bool(self.aliases[term].search(text))

    def names_head(self, text: str) -> float:
        """Return the share of the thing's own words found in `text`; of the whole topic where it has no head."""
        head = self.head or tuple(self.weights)
        return sum(self.holds(term, text) for term in head) / len(head) if head else 0.0

    def names_core(self, text: str, publisher: str) -> bool:
        """Tell whether `text` names the thing itself by a word of its own: not by its maker's name alone.

        In what the Apache Software Foundation writes, "Apache" tells no sentence from another.
        """
        head = self.head or tuple(self.weights)
        core = [term for term in head if not self.holds(term, publisher)] or list(head)
        core += [term for term in self.weights if term.startswith("=")]  # an error's number is its name
        return any(self.holds(term, text) for term in core)

    def passage(self, view: PassageView, page_share: Mapping[str, float] | None = None) -> float:
        """Return how far `view` is about the topic, 0 to 1, by words and identifiers.

        `page_share` says how much each topic word counts because the whole page is about it.
        """
        parts = ((view.text, 1.0), (" ".join(view.headings), HEADING_SHARE), (view.title, TITLE_SHARE))
        shares = page_share or {}
        score = 0.0
        for term, weight in self.weights.items():
            own = next((share for text, share in parts if text and self.holds(term, text)), 0.0)
            score += weight * max(own, shares.get(term, 0.0))
        return score * OTHER_IDENTIFIER if self.contradicted(view.text) else score

    def page_share(self, title: str, page: str) -> dict[str, float]:
        """Return, for each topic word that a whole page is about, how much it counts in each of its passages.

        A page is about a word that its title names or that it says often; a short page is about one thing.
        """
        share = PAGE_SHARE * min(1.0, SHORT_PAGE / max(1, len(page)))
        if share < LEAST_SHARE:
            return {}
        return {
            term: share
            for term in self.weights
            if self.holds(term, title) or (self.holds(term, page) and self._often(term, page))
        }

    def section_share(self, section: str) -> dict[str, float]:
        """Return, for each topic word that a section (all its passages) says, how much it counts in each of them.

        "Here is how to protect a directory" stands in front, and the steps below it say it no more.
        """
        share = SECTION_SHARE * min(1.0, SHORT_PAGE / max(1, len(section)))
        return {} if share < LEAST_SHARE else {term: share for term in self.weights if self.holds(term, section)}

    def _often(self, term: str, page: str) -> bool:
        if term.startswith("="):
            return True  # a page that names the error by its number was not let in for anything else
        least = OFTEN if len(page) > SHORT_PAGE / 2 else OFTEN - 1
        return len(self.words[term].pattern.findall(_folded(page))) >= least

    def contradicted(self, text: str) -> bool:
        """Tell whether `text` names another error, CVE or technique where the topic names one."""
        if not self.identifiers or not any(letter.isdigit() for letter in text):
            return False
        named: dict[str, set[str]] = {}
        for item in identifiers(text):
            named.setdefault(item.cls, set()).add(item.value)
        return any(named.get(cls) and not values & named[cls] for cls, values in self.identifiers.items())


def _names(value: str, text: str) -> bool:
    """Tell whether `text` names the identifier or product `value`."""
    last = value.rsplit(maxsplit=1)[-1]
    if last not in _folded(text):
        return False
    return any(value in {item.value, item.product} for item in identifiers(text)) or value in _folded(text).split()


def topic_model(topic: str, language: str, texts: Sequence[str], *, selected: bool = True) -> TopicModel:
    """Return the model of `topic` over the passages `texts` it will be looked up in.

    Over all passages of some pages a word weighs by its rarity; over passages `selected` for the topic all words weigh
    alike, because there the subject itself is the commonest.
    """
    names = tuple({stem(word, language): word for word in reversed(terms(topic, "und"))}.values())[::-1]
    values: dict[str, set[str]] = {}
    for item in identifiers(topic):
        # of a version its product: which of its versions a page may be about, the topic guard has judged
        name = f"={item.product or item.value}"
        names += (name,) if name not in names else ()
        if item.cls != "version":
            values.setdefault(item.cls, set()).add(item.value)
    words = {name: _word(name, language) for name in names if not name.startswith("=")}
    bare = TopicModel({}, {}, language, words, _aliases(words, texts))
    raw = dict.fromkeys(names, 1.0)
    if not selected:
        raw = {name: _rarity(sum(bare.holds(name, text) for text in texts), len(texts)) for name in names}
    total = sum(raw.values()) or 1.0
    return TopicModel(
        {name: value / total for name, value in raw.items()},
        {cls: frozenset(found) for cls, found in values.items()},
        language,
        words,
        bare.aliases,
        tuple(name for name in terms(_head_phrase(topic), "und") if name in raw),
    )


_HEAD_END: Final = re.compile(
    r"\s(?:for|with|in|of|to|on|at|against|from|by|via|after|before|when|if|für|mit|im|von|vom|zur?|zum|auf|am|beim?|"
    r"gegen|aus|durch|über|nach|vor|wenn)\s|[:,(–—]",
    re.IGNORECASE,
)
_DOING: Final = re.compile(r"(?:how to \w+|wie man|[A-Za-z]+ing(?: up)?) (?:an?|the|your)?\s*", re.IGNORECASE)


def _head_phrase(topic: str) -> str:
    """Return what a topic is about, without what is done to it in front and what it stands in behind."""
    bare = topic.strip()
    if names_doing(bare):
        bare = bare[match.end() :] if (match := _DOING.match(bare)) else bare
    return _HEAD_END.split(bare, maxsplit=1)[0] or topic


_EXPLAINED: Final = re.compile(r"((?:[\w'’]+[ -]){1,6}[\w'’]+)\s\(([A-Z][A-Za-z]{1,6})\)")


def _aliases(words: Mapping[str, _Word], texts: Sequence[str]) -> dict[str, re.Pattern[str]]:
    """Return the abbreviations that `texts` explain by words of the topic, where the initials agree."""
    found: dict[str, set[str]] = {}
    for text in texts:
        for match in _EXPLAINED.finditer(text):
            short = match[2]
            spelled = re.split(r"[ -]+", match[1])[-len(short) :]
            if [word[:1].lower() for word in spelled] != list(short.lower()):
                continue
            phrase = " ".join(spelled)
            for name, word in words.items():
                if word.found(phrase):
                    found.setdefault(name, set()).add(short)
    return {name: re.compile(r"\b(?:" + "|".join(sorted(shorts)) + r")s?\b") for name, shorts in found.items()}


def _rarity(found: int, among: int) -> float:
    # a word that no passage holds must not outweigh those by which passages can be told apart
    return math.log(1 + (among + 1) / (found + 1)) if found else math.log(2)


def question_terms(question: str, language: str) -> tuple[str, ...]:
    """Return the terms a question is about, asking words left out, each once."""
    return tuple(dict.fromkeys(term for term in terms(question, language) if term not in word_list("asking")))


@cache
def _kind_stems() -> frozenset[str]:
    return frozenset(stem(fold(word), language) for word in word_list("kinds_of_answer") for language in ("de", "en"))


def specific_terms(question: str, topic: str, language: str) -> tuple[str, ...]:
    """Return the terms by which a question asks for more than a kind of answer about the topic itself."""
    about = index_of(topic)
    return tuple(
        term for term in question_terms(question, language) if term not in _kind_stems() and not term_in(term, about)
    )


def overlap(wanted: Collection[str], index: Collection[str]) -> float:
    """Return the share of `wanted` terms found in `index`, 0 for none wanted."""
    return sum(term_in(term, index) for term in wanted) / len(wanted) if wanted else 0.0


class Nearness:
    """Cosines of meaning between questions and sentences, each text embedded once. Blocking when made."""

    def __init__(self, embedder: Embedder, questions: Sequence[str], sentences: Sequence[str]) -> None:
        texts = list(dict.fromkeys((*questions, *sentences)))
        self._rows = {text: row for row, text in enumerate(texts)}
        self._vectors = embedder.encode(texts)

    def __call__(self, question: str, sentence: str) -> float:
        """Return the cosine, a negative one as 0; 0 for a text that was not given."""
        one, other = self._rows.get(question), self._rows.get(sentence)
        if one is None or other is None:
            return 0.0
        return max(0.0, float(np.dot(self._vectors[one], self._vectors[other])))
