"""Where two sources say different numbers or versions of the same thing (spec 06, knowledge brief; pure).

Two sentences of different publishers contradict each other when they say nearly the same in nearly the same words
and every number of one differs from its counterpart. One number more or less is detail, not contradiction.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from articles.plaintext import word_tokens
from articles.relevance import index_of
from data.text import STOP_WORDS, fold, stem

__all__ = ["Said", "contradictory_pairs", "number_contexts"]

MIN_SAME: Final = 0.6
"""Jaccard of the sentences' words, numbers left out. Below, two sentences with numbers are mostly about two things;
value set by hand on pairs of manual sentences, to be kept high: a false contradiction ends a run."""
_NUMBER: Final = re.compile(r"\d+(?:[.,:]\d+)*")
_UNIT: Final = re.compile(
    r"(?:%|percent|prozent|[kmgt]i?b|bytes?|bits?|ms|milliseconds?|s|sec|seconds?|sekunden?|min|minutes?|minuten?|h|hours?|"
    r"stunden?|days?|tagen?|tage|weeks?|wochen?|months?|monaten?|years?|jahren?|attempts?|versuchen?|versuche)$"
)


@dataclass(frozen=True, slots=True)
class Said:
    """One sentence of one source. `standing` is the source's class, strongest lowest."""

    key: int
    publisher: str
    standing: int
    text: str


def number_contexts(text: str) -> dict[str, str]:
    """Return each number of `text` by what it counts or names: the word after it if a unit, else the one before."""
    tokens = [token.text for token in word_tokens(text)]
    found: dict[str, str] = {}
    for index, token in enumerate(tokens):
        if not _NUMBER.fullmatch(token.lstrip("v")):
            continue
        after = tokens[index + 1] if index + 1 < len(tokens) else ""
        before = next((word for word in reversed(tokens[:index]) if word not in STOP_WORDS), "")
        context = f"unit:{_unit(after)}" if _UNIT.match(after) else f"word:{before}"
        found.setdefault(context, token.lstrip("v").replace(",", "."))
    return found


def _unit(word: str) -> str:
    return stem(word, "en")[:3]


def contradictory_pairs(sentences: Sequence[Said]) -> list[tuple[Said, Said]]:
    """Return the pairs that differ in a number of the same thing, each once, in order."""
    profiles = [(said, _words(said.text), number_contexts(said.text)) for said in sentences]
    numbered = [profile for profile in profiles if profile[2]]
    pairs = []
    for index, (one, words, numbers) in enumerate(numbered):
        for other, other_words, other_numbers in numbered[index + 1 :]:
            if one.publisher == other.publisher:
                continue
            shared = numbers.keys() & other_numbers.keys()
            if not shared or any(numbers[key] == other_numbers[key] for key in shared):
                continue
            same = len(words & other_words) / max(1, len(words | other_words))
            if same >= MIN_SAME:
                pairs.append((one, other))
    return pairs


def _words(text: str) -> frozenset[str]:
    return frozenset(
        word for word in index_of(fold(text)) if not any(c.isdigit() for c in word) and word == stem(word, "en")
    )
