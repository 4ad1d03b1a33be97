"""What kind of thing a sentence says: the words by which a definition, a cause or a recommendation shows.

The words stand in `articles/cues.toml`. A sentence that shows none may still be used where its topic fits, never
where its kind decides. Pure functions; the table is read once.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final

from articles.types import SectionName

__all__ = [
    "CLEAR",
    "LIKELY",
    "cue",
    "cue_match",
    "denied",
    "dependent_pattern",
    "finite_words",
    "heading_cue",
    "instruction_words",
    "names_doing",
    "negations",
    "pointing_pattern",
    "question_section",
    "subject_pattern",
    "tells_news",
    "word_list",
]

CLEAR: Final = 1.0
"""Two signs or more."""
LIKELY: Final = 0.8
OPEN: Final = 0.5
"""No sign, in a section whose kind is so broad that the topic alone decides."""

_BROAD: Final = frozenset({SectionName.HOW_IT_WORKS, SectionName.DETAILS})


@cache
def _table() -> Mapping[str, Any]:
    return tomllib.loads(files("articles").joinpath("cues.toml").read_text(encoding="utf-8"))


def _words(alternatives: Sequence[str]) -> re.Pattern[str]:
    return re.compile(r"(?<![\w-])(?:" + "|".join(alternatives) + r")(?![\w-])", re.IGNORECASE)


@cache
def _sentence_pattern(section: SectionName, language: str) -> re.Pattern[str] | None:
    table = _table()["sentences"][language]
    if section is SectionName.SCOPE:  # a scope is told by what a thing is and what it is for
        return _words([*table[SectionName.DEFINITION], *table[SectionName.GOAL]])
    return _words(table[section]) if section in table else None


def cue(section: SectionName, sentence: str, language: str) -> float:
    """Return how clearly `sentence` is of the section's kind, 0 (no sign) to 1."""
    pattern = _sentence_pattern(section, language)
    hits = len(pattern.findall(sentence)) if pattern is not None else 0
    if hits >= 2:
        return CLEAR
    if hits == 1:
        return LIKELY
    return OPEN if section in _BROAD else 0.0


def cue_match(section: SectionName, sentence: str, language: str) -> re.Match[str] | None:
    """Return the first sign of the section's kind in `sentence`, None where there is none."""
    pattern = _sentence_pattern(section, language)
    return pattern.search(sentence) if pattern is not None else None


@cache
def _denied_pattern(section: SectionName, language: str) -> re.Pattern[str] | None:
    table = _table()["denied"][language]
    return _words(table[section]) if section in table else None


def denied(section: SectionName, sentence: str, language: str) -> bool:
    """Tell whether `sentence` shows that it is not of the section's kind, whatever signs it has."""
    pattern = _denied_pattern(section, language)
    return pattern is not None and pattern.search(sentence) is not None


def tells_news(sentence: str) -> bool:
    """Tell whether `sentence` says what changed with a release, not how things are."""
    return _news_pattern().search(sentence) is not None


@cache
def _news_pattern() -> re.Pattern[str]:
    return _words(_table()["words"]["news"])


@cache
def _ordered(kind: str) -> tuple[tuple[SectionName, re.Pattern[str]], ...]:
    return tuple((SectionName(name), re.compile("|".join(words), re.I)) for name, words in _table()[kind].items())


def heading_cue(heading: str) -> SectionName | None:
    """Return which section a heading of an evidence announces, None where it names its subject only."""
    return next((name for name, pattern in _ordered("headings") if pattern.search(heading)), None)


def question_section(question: str) -> SectionName:
    """Return the section whose kind of sentence answers a task's question; `details` where none stands out."""
    return next((name for name, pattern in _ordered("questions") if pattern.search(question)), SectionName.DETAILS)


@cache
def _negation_pattern() -> re.Pattern[str]:
    return _words([re.escape(word) for word in _table()["words"]["negations"]])


def negations(text: str) -> int:
    """Return how many negating words `text` holds, in German and English."""
    return len(_negation_pattern().findall(text.replace("’", "'")))


@cache
def instruction_words(language: str, kind: str) -> tuple[str, ...]:
    """Return the `do` or `check` verbs or the `modal` patterns by which an instruction shows."""
    return tuple(_table()["instructions"][language][kind])


@cache
def dependent_pattern(language: str) -> re.Pattern[str]:
    """Return what matches the opening of a sentence that only continues the one before it."""
    return re.compile("(?:" + "|".join(_table()["dependent"][language]) + r")(?![\w-])", re.IGNORECASE)


@cache
def pointing_pattern(language: str) -> re.Pattern[str]:
    """Return what finds a word that points at the page a sentence stands on, or at its author."""
    return re.compile(r"\b(?:" + "|".join(_table()["pointing"][language]) + r")\b", re.IGNORECASE)


@cache
def word_list(name: str) -> frozenset[str]:
    """Return the words listed under `name`: `states`, `generic_objects` or `asking`."""
    return frozenset(_table()["words"][name])


@cache
def subject_pattern(kind: str) -> re.Pattern[str]:
    """Return what shows that a topic is `trouble`, `procedure`, `calm`, `choice` or `look_up`."""
    return re.compile("|".join(_table()["subjects"][kind]), re.IGNORECASE)


@cache
def _doing_pattern() -> re.Pattern[str]:
    forms = []
    for verb in instruction_words("en", "do"):
        first, _, rest = verb.partition(" ")
        stem = first[:-1] if first.endswith("e") else first
        forms.append(rf"{stem}{first[-1]}?ing{' ' + rest if rest else ''}")
    german = "|".join(map(re.escape, instruction_words("de", "do")))
    return re.compile(rf"(?:{'|'.join(forms)})\b|.*\s\w*(?:{german})$", re.IGNORECASE)


def names_doing(topic: str) -> bool:
    """Tell whether a topic is something to do: "Updating the master key", "Apache neu starten"."""
    return _doing_pattern().match(topic.strip().rstrip(".?!")) is not None


@cache
def finite_words(name: str) -> tuple[str, ...]:
    """Return the finite verbs listed under `name`: `en_forms`, `en` (base forms) or `de_not` (words that are none)."""
    return tuple(_table()["finite"][name])
