"""Where two sources say different numbers or versions of the same thing, or the contrary (spec 06, brief; pure).

Two sentences of different publishers contradict each other when they say nearly the same in nearly the same words
and every number of one differs from its counterpart, or one denies what the other says, or one has the opposite of the
other's word. One number more or less is detail, not contradiction.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from articles.claimwords import are_opposites
from articles.cues import negations
from articles.plaintext import word_tokens
from articles.relevance import index_of
from data.text import STOP_WORDS, fold, plain_terms, stem

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
    """Return the pairs that say otherwise of the same thing, each once, those that differ in a number first."""
    return [*_other_numbers(sentences), *_contrary(sentences)]


def _other_numbers(sentences: Sequence[Said]) -> list[tuple[Said, Said]]:
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


MIN_ALIKE: Final = 0.8
"""Share of the words that two sentences have in common when one denies the other; by hand, as `MIN_SAME`."""
MIN_WORDS: Final = 3


def _contrary(sentences: Sequence[Said]) -> list[tuple[Said, Said]]:
    """Return the pairs of which one denies what the other says, or has the opposite of one of its words."""
    profiles = [(said, _stems(said.text), _denied(said.text), number_contexts(said.text)) for said in sentences]
    pairs = []
    for index, (one, words, denied, numbers) in enumerate(profiles):
        for other, other_words, other_denied, other_numbers in profiles[index + 1 :]:
            common = words.keys() & other_words.keys()
            if one.publisher == other.publisher or len(common) < MIN_WORDS or numbers != other_numbers:
                continue
            mine = [words[key] for key in words.keys() - common]
            theirs = [other_words[key] for key in other_words.keys() - common]
            turned = len(mine) == len(theirs) == 1 and are_opposites(mine[0], theirs[0])
            alike = turned or len(common) >= MIN_ALIKE * len(words.keys() | other_words.keys())
            # who denies the opposite says the same
            if alike and turned != (denied != other_denied):
                pairs.append((one, other))
    return pairs


def _denied(text: str) -> bool:
    return negations(text) % 2 == 1


def _stems(text: str) -> dict[str, str]:
    """Return the words of a sentence, negating ones left out, by their stem."""
    return {stem(stem(word, "de"), "en"): word for word in plain_terms(text) if not negations(word)}


def _words(text: str) -> frozenset[str]:
    return frozenset(
        word for word in index_of(fold(text)) if not any(c.isdigit() for c in word) and word == stem(word, "en")
    )
