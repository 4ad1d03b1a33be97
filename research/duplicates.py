"""Is it the same gap? Keys, the semantic score and consolidation of research tasks (spec 05). Pure.

What decides is the question a service desk lead would ask: would one piece of research answer both? The
score looks at three things of a task, its topic, the nodes it was seen in and its questions, and lets
identifiers overrule the words: error 809 is not error 691, however alike two tickets read.
"""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, lru_cache
from typing import Final, Literal

from data.text import Identifier, IdentifierClass, identifiers, label_key, stem, terms
from research.questions import ASKING

__all__ = [
    "ALGORITHM",
    "DuplicateIndex",
    "DuplicatePolicy",
    "DuplicateScore",
    "Group",
    "QueueEntry",
    "TaskShape",
    "consolidate",
    "dedupe_key",
    "duplicate_score",
    "merge_questions",
    "same_topic",
]

ALGORITHM: Final = "topic-seed-question-jaccard-v1"

_CODE_CLASSES: Final = frozenset({
    IdentifierClass.VENDOR_CODE,
    IdentifierClass.SYSTEM_CODE,
    IdentifierClass.HTTP_STATUS,
    IdentifierClass.ERROR_CODE,
})  # fmt: skip
# The classes that pin a subject down for a task (spec 05); an RFC is a text that many subjects rest on.
_PINNING: Final = frozenset({
    IdentifierClass.CVE,
    IdentifierClass.TECHNIQUE,
    IdentifierClass.KB,
    IdentifierClass.VENDOR_CODE,
})  # fmt: skip

Verdict = Literal["none", "shared", "pinned", "different"]


@dataclass(frozen=True, slots=True)
class DuplicatePolicy:
    """Weights and thresholds of `topic-seed-question-jaccard-v1`; all are shares in [0, 1].

    The values are the starting values of spec 05; `score` is BRAIN_QUEUE_DUPLICATE_SCORE.
    """

    score: float = 0.60
    topic_weight: float = 0.55
    seeds_weight: float = 0.25
    questions_weight: float = 0.20
    pinned: float = 0.30
    """What topic or questions must reach beside a shared identifier that pins the subject down."""
    strong_topic: float = 0.50
    strong_seeds: float = 0.50
    strong_questions: float = 0.40


@dataclass(frozen=True, slots=True)
class TaskShape:
    """What of a task the comparison sees. `seeds` are node ids; questions may stand in any order."""

    topic: str
    seeds: frozenset[str] = frozenset()
    questions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DuplicateScore:
    """The judgement of one pair. `topic`, `seeds`, `questions` are 0 where a side has none to compare."""

    duplicate: bool
    score: float
    topic: float
    seeds: float
    questions: float
    identifiers: Verdict
    """`none` shared, `shared` without proof, `pinned` (same subject), or `different` (contradicting)."""


def dedupe_key(topic: str, seeds: Iterable[str]) -> str:
    """Return the SHA-256 (hex) of the normalised topic and the sorted seeds: equal for exact repeats."""
    parts = [label_key(topic), *sorted(set(seeds))]
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


# ---------------------------------------------------------------------------------------------- features


@dataclass(frozen=True, slots=True)
class _Features:
    """A shape taken apart once: terms without identifiers, and identifiers by the class they contradict in."""

    topic: frozenset[str]
    named: frozenset[str]
    """Values of the identifiers in the topic."""
    questions: frozenset[str]
    """Terms of the questions without the words of asking ("cause", "steps"), which every task has in common."""
    seeds: frozenset[str]
    classes: Mapping[str, frozenset[str]]
    pins: frozenset[str]
    key: str


@lru_cache(maxsize=32_768)
def _features(shape: TaskShape) -> _Features:
    asked = " \n".join(sorted(shape.questions))
    in_topic, in_questions = identifiers(shape.topic), identifiers(asked)
    classes = _primary(_by_class(in_topic), _by_class(in_questions))
    pins = (values for name in _PINNING for values in [classes.get(name.value, frozenset())])
    return _Features(
        topic=_terms(shape.topic),
        named=frozenset(identifier.value for identifier in in_topic),
        questions=_terms(asked) - _asking_terms(),
        seeds=shape.seeds,
        classes=classes,
        pins=frozenset().union(*pins),
        key=label_key(shape.topic),
    )


def _terms(text: str) -> frozenset[str]:
    """Return the terms of `text`, each stemmed as German and then as English.

    A topic is too short to tell its language for sure ("Windows Update bricht ab" reads as neither), and a
    word must have one stem whatever stands around it; two stemmers in a row give it one.
    """
    return frozenset(stem(stem(word, "de"), "en") for word in terms(text, "und"))


@cache
def _asking_terms() -> frozenset[str]:
    return _terms(ASKING)


def _by_class(found: Sequence[Identifier]) -> dict[str, set[str]]:
    """Group values by everything they can contradict in: their class, all error codes together, their product."""
    grouped: dict[str, set[str]] = defaultdict(set)
    for identifier in found:
        grouped[identifier.cls.value].add(identifier.value)
        if identifier.cls in _CODE_CLASSES:
            grouped["code"].add(identifier.value)
        if identifier.product:
            grouped[f"{identifier.cls.value}:{identifier.product}"].add(identifier.value)
    return grouped


def _primary(in_topic: Mapping[str, set[str]], in_questions: Mapping[str, set[str]]) -> dict[str, frozenset[str]]:
    """Return per class what the topic names, else what the questions name.

    A question may mention a neighbour ("is it the same as error 691?") without being about it.
    """
    return {name: frozenset(in_topic.get(name) or in_questions[name]) for name in {*in_topic, *in_questions}}


# ------------------------------------------------------------------------------------------------- score


def duplicate_score(a: TaskShape, b: TaskShape, policy: DuplicatePolicy = DuplicatePolicy()) -> DuplicateScore:
    """Judge whether two tasks are the same gap: symmetric, reflexive, independent of any order."""
    return _score(_features(a), _features(b), policy)


def same_topic(a: str, b: str, policy: DuplicatePolicy = DuplicatePolicy()) -> bool:
    """Return whether two topics alone, without seeds and questions, are the same gap."""
    return duplicate_score(TaskShape(a), TaskShape(b), policy).duplicate


def _score(a: _Features, b: _Features, policy: DuplicatePolicy) -> DuplicateScore:
    verdict = _verdict(a, b)
    topic = _topic(a, b)
    seeds = len(a.seeds & b.seeds) / min(len(a.seeds), len(b.seeds)) if a.seeds and b.seeds else None
    questions = _jaccard(a.questions, b.questions)
    parts = ((topic, policy.topic_weight), (seeds, policy.seeds_weight), (questions, policy.questions_weight))
    present = [(value, weight) for value, weight in parts if value is not None]
    if present:
        score = sum(value * weight for value, weight in present) / sum(weight for _, weight in present)
    else:
        score = float(a.key == b.key)  # nothing but stop words: only the same words are the same
    t, s, q = topic or 0.0, seeds or 0.0, questions or 0.0
    if verdict == "different":
        duplicate = False
    elif verdict == "pinned" and max(t, q) >= policy.pinned:
        duplicate = True
    else:
        near = t >= policy.strong_topic and (s >= policy.strong_seeds or q >= policy.strong_questions)
        duplicate = score >= policy.score or near
    return DuplicateScore(duplicate, score, t, s, q, verdict)


def _verdict(a: _Features, b: _Features) -> Verdict:
    shared = False
    for name in a.classes.keys() & b.classes.keys():
        if not _agree(name, a.classes[name], b.classes[name]):
            return "different"
        shared = True
    if not a.pins.isdisjoint(b.pins):
        return "pinned"
    return "shared" if shared else "none"


def _agree(name: str, a: frozenset[str], b: frozenset[str]) -> bool:
    """Return whether two sets of one class can speak of the same thing.

    "Windows 11 23H2" is a Windows 11, so of two versions one may refine the other; T1003.001 is not T1003.
    """
    if not a.isdisjoint(b):
        return True
    if not name.startswith(IdentifierClass.VERSION.value):
        return False
    return any(_refines(one, other) or _refines(other, one) for one in a for other in b)


def _refines(version: str, coarser: str) -> bool:
    return version.startswith((f"{coarser} ", f"{coarser}."))


def _topic(a: _Features, b: _Features) -> float | None:
    """Return the Jaccard of the topics' terms, None where they cannot be compared.

    A topic that is an identifier and nothing else is compared by it, where that proves something: with
    another such topic, or where the identifier pins the subject down.
    """
    if a.topic and b.topic:
        return _jaccard(a.topic, b.topic)
    if a.named and b.named and (not (a.topic or b.topic) or not a.pins.isdisjoint(b.pins)):
        return _jaccard(a.named, b.named)
    return None


def _jaccard(a: frozenset[str], b: frozenset[str]) -> float | None:
    if not a or not b:
        return None
    shared = len(a & b)
    return shared / (len(a) + len(b) - shared)


# ------------------------------------------------------------------------------------------------- index


class DuplicateIndex:
    """Finds the members that are direct duplicates of a shape, exactly, without comparing with all of them.

    Two shapes can only be duplicates when they share a pinning identifier, or their topics' Jaccard reaches
    a bound that follows from the policy (prefix filter: of n terms, one of the n − ⌈bound·n⌉ + 1 rarest must
    be shared), or one topic has no terms. Everything else is never compared.
    """

    def __init__(self, policy: DuplicatePolicy = DuplicatePolicy()) -> None:
        self._policy = policy
        self._bound = _least_topic(policy)
        self._members: dict[str, _Features] = {}
        self._by_term: dict[str, set[str]] = defaultdict(set)
        self._by_pin: dict[str, set[str]] = defaultdict(set)
        self._without_terms: set[str] = set()

    def __len__(self) -> int:
        return len(self._members)

    def __contains__(self, key: object) -> bool:
        return key in self._members

    def add(self, key: str, shape: TaskShape) -> None:
        """Take in a member under its key; a key that is there already is replaced."""
        self.remove(key)
        features = _features(shape)
        self._members[key] = features
        for term in features.topic:
            self._by_term[term].add(key)
        for pin in features.pins:
            self._by_pin[pin].add(key)
        if not features.topic:
            self._without_terms.add(key)

    def remove(self, key: str) -> None:
        """Forget a member; an unknown key is no error."""
        features = self._members.pop(key, None)
        if features is None:
            return
        for term in features.topic:
            self._by_term[term].discard(key)
        for pin in features.pins:
            self._by_pin[pin].discard(key)
        self._without_terms.discard(key)

    def duplicates(self, shape: TaskShape) -> list[tuple[str, DuplicateScore]]:
        """Return the members that duplicate `shape` with their scores, best first, then by key."""
        features = _features(shape)
        found = []
        for key in self._candidates(features):
            score = _score(features, self._members[key], self._policy)
            if score.duplicate:
                found.append((key, score))
        return sorted(found, key=lambda item: (-item[1].score, item[0]))

    def _candidates(self, features: _Features) -> set[str]:
        if not features.topic:
            return set(self._members)
        candidates = set(self._without_terms)
        for pin in features.pins:
            candidates |= self._by_pin.get(pin, set())
        rarest_first = sorted(features.topic, key=lambda term: (len(self._by_term.get(term, ())), term))
        needed = len(rarest_first) - math.ceil(self._bound * len(rarest_first) - 1e-9) + 1
        for term in rarest_first[:needed]:
            candidates |= self._by_term.get(term, set())
        return candidates


def _least_topic(policy: DuplicatePolicy) -> float:
    """Return the smallest Jaccard of two non-empty topics at which a pair without a shared pin can be a duplicate."""
    bounds = [policy.strong_topic]
    for seeds in (0.0, policy.seeds_weight):
        for questions in (0.0, policy.questions_weight):
            whole = policy.topic_weight + seeds + questions
            bounds.append((policy.score * whole - seeds - questions) / policy.topic_weight if whole else 0.0)
    return max(0.0, min(bounds))


# --------------------------------------------------------------------------------------- consolidation


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """A task as consolidation sees it; `key` is its id, `since` when it was queued."""

    key: str
    shape: TaskShape
    priority: int
    since: datetime


@dataclass(frozen=True, slots=True)
class Group:
    """A keeper with the members it takes in; each member is a direct duplicate of the keeper."""

    keeper: str
    members: tuple[str, ...]


def consolidate(entries: Iterable[QueueEntry], policy: DuplicatePolicy = DuplicatePolicy()) -> tuple[Group, ...]:
    """Return the merges among `entries`, greedily by priority (highest first), then age (oldest first).

    Each entry still free becomes a keeper and takes its free direct duplicates, judged on the shapes as
    they came in: A~B~C never chains two tasks that are far apart. Groups without members are left out.
    """
    ordered = sorted(entries, key=lambda entry: (-entry.priority, entry.since, entry.key))
    rank = {entry.key: place for place, entry in enumerate(ordered)}
    index = DuplicateIndex(policy)
    for entry in ordered:
        index.add(entry.key, entry.shape)
    groups = []
    for entry in ordered:
        if entry.key not in index:
            continue
        index.remove(entry.key)
        members = sorted((key for key, _ in index.duplicates(entry.shape)), key=rank.__getitem__)
        for key in members:
            index.remove(key)
        if members:
            groups.append(Group(entry.key, tuple(members)))
    return tuple(groups)


def merge_questions(keeper: Sequence[str], others: Iterable[str], limit: int) -> tuple[str, ...]:
    """Return the keeper's questions and those of `others` that ask for something else, at most `limit`."""
    merged: list[str] = []
    seen: set[frozenset[str] | str] = set()
    for question in (*keeper, *others):
        asked = frozenset((*_terms(question), *(found.value for found in identifiers(question)))) or label_key(question)
        if not asked or asked in seen:
            continue
        seen.add(asked)
        merged.append(question)
    return tuple(merged[:limit])
