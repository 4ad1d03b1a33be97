"""What a gap is called: a topic a person can read and a search engine can use (spec 05). Pure.

A topic is made of public labels only: whatever `research.private` finds in a label goes, and no word of a
body gets in. It is the label that says best what the seeds share; where every label is mostly its own
affair, it is the shared identifier with the most telling words the labels share.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from data.readings import NodeReading
from data.text import Identifier, detect_language, fold, identifiers, terms
from research.reading import Reading, read_topic, unpacked_keys
from research.vocabulary import GENERIC_WEIGHT, word_weight

__all__ = [
    "Rarity",
    "Topic",
    "majority_language",
    "names_a_subject",
    "shared_topic",
]

_OWN_AFFAIR: Final = 0.5
"""Share of a label's weight that the other seeds must confirm, or the label speaks of its own case alone."""
_TELLING: Final = 8
"""Shared words that make up what a group of nodes speaks of; the rest is the language of tickets."""
_EXTRA: Final = 3
"""Telling words beside an identifier: four words find the subject, more of them find only the house."""


class Rarity:
    """How telling a stem or an identifier is: rare in the graph, and a name rather than a word of the trade."""

    def __init__(self, nodes: Iterable[NodeReading]) -> None:
        self._nodes = 0
        self._seen: Counter[str] = Counter()
        for node in nodes:
            self._nodes += 1
            self._seen.update(unpacked_keys(node))

    def weight(self, key: str, word: str) -> float:
        """Return the weight of a key that is written as `word`: greater is more telling, never 0."""
        rarity = math.log((1 + self._nodes) / (1 + self._seen[key])) + 0.5
        return rarity * (word_weight(fold(word)) if key.isalpha() else 1.0)

    def seen(self, key: str) -> int:
        """Return how many nodes a key stands in."""
        return self._seen[key]


def majority_language(readings: Sequence[Reading], topic: str) -> str:
    """Return the language most of the nodes are in, else that of the topic (`de`, `en`, `und`)."""
    counted = Counter(reading.node.language for reading in readings if reading.node.language in {"de", "en"})
    if counted:
        return min(counted, key=lambda language: (-counted[language], language))
    return detect_language(topic)


def names_a_subject(topic: str) -> bool:
    """Return whether a topic says what it is about: an identifier, or a word that is not true of every page."""
    if identifiers(topic):
        return True
    return any(word_weight(term) > GENERIC_WEIGHT for term in terms(topic, "und"))


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic with the nodes it is true of: those that share a telling word or an identifier with it."""

    text: str
    of: tuple[Reading, ...]


def shared_topic(readings: Sequence[Reading], rarity: Rarity, focus: Identifier | None = None) -> Topic:
    """Return the topic of several nodes, most central first; with `focus`, the identifier they share.

    Empty where their public labels leave nothing to say.
    """
    readings = [reading for reading in readings if reading.label]
    shared = _shared(readings, rarity)
    labelled = [reading for reading in readings if focus is None or focus.value in reading.label_keys]
    place = {reading.node.id: 1.0 - 0.5 * number / len(readings) for number, reading in enumerate(readings)}
    language = majority_language(readings, "")
    labelled = [reading for reading in labelled if reading.node.language == language] or labelled
    best = max(labelled, key=lambda reading: _fit(reading, shared, rarity, place[reading.node.id]), default=None)
    if best is not None and (focus is None or _confirmed(best, shared, rarity)[0] >= _OWN_AFFAIR):
        return _of(best.label, readings, shared)
    if focus is None:
        return Topic("", ())
    return _of(_composed(focus, readings, shared, best), readings, shared)


def _of(text: str, readings: Sequence[Reading], shared: Mapping[str, float]) -> Topic:
    said = read_topic(readings[0].node, text).label_keys
    telling = {key for key, word in said.items() if key in shared and word_weight(fold(word)) > GENERIC_WEIGHT}
    return Topic(text, tuple(reading for reading in readings if telling & reading.keys))


def _shared(readings: Sequence[Reading], rarity: Rarity) -> dict[str, float]:
    """Return keys of the labels that stand in at least two of the nodes, with share × weight."""
    seen = Counter(key for reading in readings for key in reading.keys)
    written = {key: word for reading in reversed(readings) for key, word in reading.label_keys.items()}
    least = min(2, len(readings))
    return {
        key: seen[key] / len(readings) * rarity.weight(key, word) for key, word in written.items() if seen[key] >= least
    }


def _confirmed(reading: Reading, shared: Mapping[str, float], rarity: Rarity) -> tuple[float, float]:
    """Return the share of the label's weight that the others confirm, and how much of what is shared it says."""
    whole = sum(rarity.weight(key, word) for key, word in reading.label_keys.items())
    common = sum(rarity.weight(key, word) for key, word in reading.label_keys.items() if key in shared)
    said = sum(shared[key] for key in reading.label_keys if key in shared)
    everything = sum(sorted(shared.values(), reverse=True)[:_TELLING])
    return (common / whole if whole else 0.0), (said / everything if everything else 0.0)


def _fit(reading: Reading, shared: Mapping[str, float], rarity: Rarity, centrality: float) -> tuple[float, int, str]:
    """Order labels by how much of what is shared they say, how little else, and how central their node is."""
    precision, recall = _confirmed(reading, shared, rarity)
    harmonic = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return round(harmonic * centrality, 6), -len(reading.label), reading.label


def _composed(focus: Identifier, readings: Sequence[Reading], shared: Mapping[str, float], best: Reading | None) -> str:
    """Return the identifier with the most telling words that the labels share, in the order they stand there.

    One word beside an identifier is no sentence: then the best label speaks, if one has the identifier.
    """
    written: dict[str, str] = {}
    for reading in readings:
        for key, word in reading.label_stems.items():
            written.setdefault(key, word)
    telling = [key for key in shared if key in written and word_weight(fold(written[key])) > GENERIC_WEIGHT]
    chosen = set(sorted(telling, key=lambda key: (-shared[key], key))[:_EXTRA])
    if len(chosen) < 2 and best is not None:
        return best.label
    first = best.label_keys[focus.value] if best is not None else focus.text
    return " ".join([first, *(word for key, word in written.items() if key in chosen)])
