"""How near a passage or a sentence is to a topic: shared words first, meaning by embedding beside them.

The words of the topic weigh by how rare they are in the evidence at hand: in ten pages about Postfix the word
"Postfix" tells nothing. Pure but for the embedder handed in.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final

import numpy as np

from articles.cues import word_list
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
OTHER_IDENTIFIER: Final = 0.3
"""What is left of a passage's relevance when it names another identifier of the topic's class and not the topic's."""
LEXICAL_SHARE: Final = 0.65
"""Of relevance; the rest is cosine. Words lead because the bundled model was trained on English alone."""


@lru_cache(maxsize=20_000)
def index_of(text: str) -> frozenset[str]:
    """Return every form under which a word of `text` may be looked up (data.text.term_index), remembered."""
    return term_index(text)


@dataclass(frozen=True, slots=True)
class TopicModel:
    """The words of a topic with their weights (all weights together: 1) and its identifiers by class."""

    weights: Mapping[str, float]
    identifiers: Mapping[str, frozenset[str]]
    language: str

    def cover(self, *parts: tuple[str, float]) -> float:
        """Return the weighted share of topic words found in `parts` of (text, how much a find in it counts)."""
        if not self.weights:
            return 0.0
        indexed = [(index_of(text), share) for text, share in parts if text]
        total = 0.0
        for term, weight in self.weights.items():
            total += weight * max((share for index, share in indexed if self.holds(term, index)), default=0.0)
        return total

    def holds(self, term: str, index: Collection[str]) -> bool:
        """Tell whether `index` has the topic word `term`, as written, stemmed, or as a part of a German compound."""
        return term_in(term, index) or term_in(stem(term, self.language), index)

    def passage(self, view: PassageView) -> float:
        """Return how far `view` is about the topic, 0 to 1, by words and identifiers."""
        score = self.cover((view.text, 1.0), (" ".join(view.headings), HEADING_SHARE), (view.title, TITLE_SHARE))
        return score * OTHER_IDENTIFIER if self.contradicted(view.text) else score

    def contradicted(self, text: str) -> bool:
        """Tell whether `text` names another error, CVE or technique where the topic names one."""
        if not self.identifiers:
            return False
        named: dict[str, set[str]] = {}
        for item in identifiers(text):
            named.setdefault(item.cls, set()).add(item.value)
        return any(named.get(cls) and not values & named[cls] for cls, values in self.identifiers.items())


def topic_model(topic: str, language: str, texts: Sequence[str]) -> TopicModel:
    """Return the model of `topic` over the passages `texts` it will be looked up in."""
    # whole words, not stems: "webserver" holds the "server" of a text, its stem "webserv" does not
    found = [*terms(topic, "und"), *(word for item in identifiers(topic) for word in terms(item.text, "und"))]
    words = tuple({stem(word, language): word for word in reversed(found)}.values())[::-1]
    values: dict[str, set[str]] = {}
    for item in identifiers(topic):
        if item.cls != "version":
            values.setdefault(item.cls, set()).add(item.value)
    indexes = [index_of(text) for text in texts]
    bare = TopicModel({}, {}, language)
    raw = {word: _rarity(sum(bare.holds(word, index) for index in indexes), len(indexes)) for word in words}
    total = sum(raw.values()) or 1.0
    return TopicModel(
        {word: value / total for word, value in raw.items()},
        {cls: frozenset(found) for cls, found in values.items()},
        language,
    )


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
