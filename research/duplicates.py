"""Is it the same gap? Keys, the semantic score and consolidation of research tasks (spec 05). Pure.

What decides is the question a service desk lead would ask: would one piece of research answer both? The
score looks at three things of a task, its topic, the nodes it was seen in and its questions, and lets
identifiers overrule the words: error 809 is not error 691, however alike two tickets read.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final, Literal

from data.products import AFTER_NUMBER
from data.text import Identifier, IdentifierClass, identifiers, label_key, plain_terms
from research.concepts import FULL, LIGHT, concepts, exclusive_sides, joined_words, light_concepts
from research.questions import ASKING

__all__ = [
    "ALGORITHM",
    "CODE_MARK",
    "DEFAULT",
    "DuplicatePolicy",
    "DuplicateScore",
    "Features",
    "TaskShape",
    "dedupe_key",
    "duplicate_score",
    "features",
    "judge",
    "mean_score",
    "merge_questions",
    "refinements",
    "same_topic",
    "weight_of",
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

CODE_MARK: Final = "="
"""What a term begins with that is an identifier."""

_CODE_DIGITS: Final = 3
"""Digits from which a number behind a word that says nothing ("returns", "shows") is a code."""

_EVENT: Final = "event id"
"""Event numbers stand in one class with vendor codes, but every source of events counts for itself."""

_NUMBERED: Final = re.compile(
    rf"(?<![\w.-])(?P<kind>[^\W\d_]{{3,}})(?:[ -]|[ ]?#)(?P<number>(?!(?:19|20)\d\d\b)\d{{1,5}}){AFTER_NUMBER}",
    re.IGNORECASE,
)

Verdict = Literal["none", "shared", "pinned", "different"]


@dataclass(frozen=True, slots=True)
class DuplicatePolicy:
    """Weights and thresholds of `topic-seed-question-jaccard-v1`; all are shares in [0, 1].

    `score` is BRAIN_QUEUE_DUPLICATE_SCORE. The values were swept by `benchmarks/duplicates_sweep.py` on one half of the
    labelled pairs in tests/research/data, from the starting values of spec 05: there 0.55 and 0.25 find more without a
    wrong one than 0.60 and 0.30, `score` 0.50 merges four pairs too many, and the other constants stand on a plateau.
    """

    score: float = 0.55
    topic_weight: float = 0.55
    seeds_weight: float = 0.25
    questions_weight: float = 0.20
    pinned: float = 0.25
    """What topic or questions must reach beside a shared identifier that pins the subject down."""
    strong_topic: float = 0.50
    strong_seeds: float = 0.50
    strong_questions: float = 0.40
    apart: float = 0.70
    """Score that is asked for where each topic speaks of something that the other does not, and they share neither a
    code nor what pins them down: "Triage of travel alerts" and "Triage of download alerts" share much, and are two."""
    contained_topic: float = 0.35
    """What the topic must reach where all of the shorter topic is in the longer one: one fault, told at length."""
    contained_terms: int = 3
    """Full terms of which such a shorter topic must speak; one of fewer is only the field of the longer one."""


DEFAULT: Final = DuplicatePolicy()


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
class Features:
    """A shape taken apart once: weighted terms, and identifiers by the class they contradict in."""

    topic: frozenset[str]
    """Concepts of the topic's words, and its identifiers; of a version, the words of its product."""
    words: bool
    """Whether the topic says anything but identifiers."""
    named: frozenset[str]
    """Values of the identifiers in the topic."""
    questions: frozenset[str]
    """Terms of the questions without the words of asking ("cause", "steps"), which every task has in common."""
    seeds: frozenset[str]
    classes: Mapping[str, frozenset[str]]
    sides: Mapping[int, frozenset[str]]
    """Concepts of the topic that exclude others, by the line they stand in."""
    pins: frozenset[str]
    key: str
    topic_weight: int
    questions_weight: int


@lru_cache(maxsize=32_768)
def features(shape: TaskShape) -> Features:
    """Return a shape taken apart; what it costs is stemming and looking for identifiers."""
    asked = [_asked(question) for question in sorted(set(shape.questions))]
    in_topic, words = _asked(shape.topic)
    in_questions = tuple(identifier for found, _ in asked for identifier in found)
    classes = {**_primary(_by_class(in_topic), _by_class(in_questions)), **_numbered(shape.topic, in_topic)}
    sides: dict[int, frozenset[str]] = defaultdict(frozenset)
    for concept in words:
        for line in exclusive_sides().get(concept, ()):
            sides[line] |= {concept}
    pins = (values for name in _PINNING for values in [classes.get(name.value, frozenset())])
    topic = words | _named_terms(in_topic)
    questions = frozenset().union(*(terms for _, terms in asked)) | _named_terms(in_questions)
    questions -= _asking_terms()
    return Features(
        topic=topic,
        words=bool(words),
        named=frozenset(identifier.value for identifier in in_topic),
        questions=questions,
        seeds=shape.seeds,
        classes=classes,
        sides=dict(sides),
        pins=frozenset(value for values in pins for value in values if not value.startswith(_EVENT)),
        key=label_key(shape.topic),
        topic_weight=weight_of(topic),
        questions_weight=weight_of(questions),
    )


@lru_cache(maxsize=32_768)
def _asked(text: str) -> tuple[tuple[Identifier, ...], frozenset[str]]:
    """Return the identifiers and the concepts of a topic or of one question: merged tasks keep most of theirs."""
    return identifiers(text), _terms(text)


def weight_of(terms: Iterable[str]) -> int:
    """Return the sum of the terms' weights, a whole number: no order of adding changes it."""
    light = _light()
    return sum(LIGHT if term in light else FULL for term in terms)


@cache
def _light() -> frozenset[str]:
    return light_concepts()


def _terms(text: str) -> frozenset[str]:
    """Return the concepts of the words of `text`, identifiers left out."""
    return frozenset(concept for word in plain_terms(joined_words(text)) for concept, _ in concepts(word))


def _named_terms(found: Sequence[Identifier]) -> frozenset[str]:
    """Return identifiers as terms: each by its value, a version by the words of its product.

    Two tasks about one code have that in common, though it proves nothing by itself; two versions that do not
    contradict each other ("11" and "11 23H2") have the product in common.
    """
    said: set[str] = set()
    for item in found:
        if item.cls is IdentifierClass.VERSION:
            said |= {concept for word in item.product.split() for concept, _ in concepts(word)}
        else:
            said.add(CODE_MARK + item.value)
    return frozenset(said)


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


def _numbered(topic: str, found: Sequence[Identifier]) -> dict[str, frozenset[str]]:
    """Return what a topic tells by number, by its kind: RAID 5 is not RAID 1, nor port 443 port 8443.

    A number belongs to the word before it, or is a code where that word says nothing; years, quantities and what an
    identifier has taken are left out.
    """
    numbers: dict[str, set[str]] = defaultdict(set)
    taken = [(item.start, item.end) for item in found]
    for match in _NUMBERED.finditer(topic):
        if any(start < match.end() and match.start() < end for start, end in taken):
            continue
        number, words = match["number"].lstrip("0") or "0", plain_terms(match["kind"])
        kind = [name for word in words for name, _ in concepts(word)]
        if kind and kind[-1] not in _light():
            numbers[f"number:{kind[-1]}"].add(number)
        elif words and len(number) >= _CODE_DIGITS:  # "returns 404": what is returned is a code
            numbers["number:"].add(number)
    return {kind: frozenset(values) for kind, values in numbers.items()}


def _primary(in_topic: Mapping[str, set[str]], in_questions: Mapping[str, set[str]]) -> dict[str, frozenset[str]]:
    """Return per class what the topic names, else what the questions name.

    A question may mention a neighbour ("is it the same as error 691?") without being about it.
    """
    return {name: frozenset(in_topic.get(name) or in_questions[name]) for name in {*in_topic, *in_questions}}


# ------------------------------------------------------------------------------------------------- score


def duplicate_score(a: TaskShape, b: TaskShape, policy: DuplicatePolicy = DEFAULT) -> DuplicateScore:
    """Judge whether two tasks are the same gap: symmetric, reflexive, independent of any order."""
    return judge(features(a), features(b), policy)


def same_topic(a: str, b: str, policy: DuplicatePolicy = DEFAULT) -> bool:
    """Return whether two topics alone, without seeds and questions, are the same gap."""
    return duplicate_score(TaskShape(a), TaskShape(b), policy).duplicate


def judge(a: Features, b: Features, policy: DuplicatePolicy) -> DuplicateScore:
    """Judge two shapes taken apart. `research.packed` holds the same rules compiled; a test compares the two."""
    verdict = _verdict(a, b)
    topic = _topic(a, b)
    seeds = len(a.seeds & b.seeds) / min(len(a.seeds), len(b.seeds)) if a.seeds and b.seeds else -1.0
    questions = _jaccard(a.questions, b.questions, a.questions_weight, b.questions_weight)
    score = mean_score(topic, seeds, questions, policy.topic_weight, policy.seeds_weight, policy.questions_weight)
    if score < 0.0:
        score = float(a.key == b.key)  # nothing but stop words: only the same words are the same
    t, s, q = max(0.0, topic), max(0.0, seeds), max(0.0, questions)
    if verdict == "different":
        duplicate = False
    elif verdict == "pinned" and max(t, q) >= policy.pinned:
        duplicate = True
    elif verdict != "pinned" and score < policy.apart and _stand_apart(a, b):
        duplicate = False
    else:
        near = t >= policy.strong_topic and (s >= policy.strong_seeds or q >= policy.strong_questions)
        duplicate = score >= policy.score or near or (t >= policy.contained_topic and _contained(a, b, policy))
    return DuplicateScore(duplicate, score, t, s, q, verdict)


def mean_score(
    topic: float, seeds: float, questions: float, topic_weight: float, seeds_weight: float, questions_weight: float
) -> float:
    """Return the weighted mean of the shares that are there (−1 marks a missing one), −1 where none is.

    Plain arithmetic in one fixed order: interpreted and compiled, it gives the same bits.
    """
    total, whole = 0.0, 0.0
    if topic >= 0.0:
        total += topic * topic_weight
        whole += topic_weight
    if seeds >= 0.0:
        total += seeds * seeds_weight
        whole += seeds_weight
    if questions >= 0.0:
        total += questions * questions_weight
        whole += questions_weight
    return total / whole if whole > 0.0 else -1.0


def _verdict(a: Features, b: Features) -> Verdict:
    if any(a.sides[line].isdisjoint(b.sides[line]) for line in a.sides.keys() & b.sides.keys()):
        return "different"
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
    if not name.startswith(IdentifierClass.VERSION.value):
        return not a.isdisjoint(b)
    if ":" in name:  # versions of one product: of two lists, one must be part of the other, or a path is another one
        return _covers(a, b) or _covers(b, a)
    return any(_meet(one, other) for one in a for other in b)


def _covers(whole: frozenset[str], part: frozenset[str]) -> bool:
    return all(any(_meet(one, other) for other in whole) for one in part)


def refinements(version: str) -> tuple[str, ...]:
    """Return the coarser versions of which `version` is one: "windows 11 23h2" is "windows 11" and "windows"."""
    return tuple(version[:place] for place, letter in enumerate(version) if letter in " .")


def _meet(a: str, b: str) -> bool:
    return a == b or _refines(a, b) or _refines(b, a)


def _refines(version: str, coarser: str) -> bool:
    return version.startswith((f"{coarser} ", f"{coarser}."))


def _topic(a: Features, b: Features) -> float:
    """Return the weighted Jaccard of the topics' terms, −1 where they cannot be compared.

    A topic that is an identifier and nothing else is compared by its identifiers alone, where they pin the
    subject down: what else the other topic says only explains it.
    """
    if not (a.words and b.words) and not a.pins.isdisjoint(b.pins) and a.named and b.named:
        shared = len(a.named & b.named)
        return shared / (len(a.named) + len(b.named) - shared)
    return _jaccard(a.topic, b.topic, a.topic_weight, b.topic_weight)


def _stand_apart(a: Features, b: Features) -> bool:
    """Return whether either topic has a full term that the other lacks, and no code is in both."""
    light = _light()
    if a.topic - b.topic <= light or b.topic - a.topic <= light:
        return False
    return not any(term.startswith(CODE_MARK) for term in a.topic & b.topic)


def _contained(a: Features, b: Features, policy: DuplicatePolicy) -> bool:
    """Return whether one topic is all in the other and says enough to be a subject of its own."""
    short, long = (a, b) if (a.topic_weight, len(a.topic)) <= (b.topic_weight, len(b.topic)) else (b, a)
    return short.words and short.topic <= long.topic and short.topic_weight >= FULL * policy.contained_terms


def _jaccard(a: frozenset[str], b: frozenset[str], weight_a: int, weight_b: int) -> float:
    if not a or not b:
        return -1.0
    shared = weight_of(a & b)
    return shared / (weight_a + weight_b - shared)


# ------------------------------------------------------------------------------------------- merging


def merge_questions(keeper: Sequence[str], others: Iterable[str], limit: int) -> tuple[str, ...]:
    """Return the keeper's questions and those of `others` that ask for something else, at most `limit`."""
    merged: list[str] = []
    seen: set[frozenset[str] | str] = set()
    for question in (*keeper, *others):
        named, said = _asked(question)
        asked = frozenset((*said, *(found.value for found in named))) or label_key(question)
        if not asked or asked in seen:
            continue
        seen.add(asked)
        merged.append(question)
    return tuple(merged[:limit])
