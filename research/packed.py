"""The rules of `research.duplicates` over numbers instead of words, for queues of a hundred thousand (spec 05). Pure.

`pack` turns shapes taken apart into arrays of whole numbers; terms are numbered by rarity, so that the terms of
a topic stand rarest first. `keepers_of` runs the greedy loop over them, compiled: candidates come from postings of
what two duplicates must share (`_sources`), and each is verified by the full rule. Importing this module imports numba.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np
from numpy.typing import NDArray

from data.text import IdentifierClass
from research.concepts import FULL
from research.duplicate_index import apart_bounds, least_topic
from research.duplicate_kernels import greedy, term_keys
from research.duplicates import CODE_MARK, DuplicatePolicy, Features, refinements, weight_of

__all__ = ["Lists", "Packed", "keepers_of", "pack"]

Ints = NDArray[np.int64]
_SLACK: Final = 1e-9

_VERSION: Final = IdentifierClass.VERSION.value
ANY: Final = 0
"""A class of which one value must be shared."""
MEET: Final = 1
"""Versions of all products: one must be the other's refinement, or its equal."""
COVER: Final = 2
"""Versions of one product: all of one side must meet one of the other's."""


@dataclass(frozen=True, slots=True)
class Lists:
    """Lists of numbers, one a row: row i is `ids[ptr[i]:ptr[i + 1]]`, ascending."""

    ptr: Ints
    ids: Ints


@dataclass(frozen=True, slots=True)
class Packed:
    """Shapes as numbers. Term numbers ascend with the number of topics that hold the term."""

    topic: Lists
    questions: Lists
    seeds: Lists
    named: Lists
    pins: Lists
    groups: Lists
    """Row of a shape → numbers into `group_class`, `group_kind` and the rows of `values`."""
    group_class: Ints
    group_kind: Ints
    values: Lists
    coarser: Lists
    """Row of a value → the values it is a refinement of."""
    weights: Ints
    """Of each topic or question term."""
    codes: NDArray[np.bool_]
    """Whether a term is an identifier."""
    topic_weight: Ints
    questions_weight: Ints
    words: NDArray[np.bool_]
    key: Ints

    def __len__(self) -> int:
        return len(self.key)


class _Names(dict[str, int]):
    """Numbers of names, given as they come."""

    def __missing__(self, name: str) -> int:
        self[name] = number = len(self)
        return number


class _Rows:
    """Rows of names on their way into `Lists`."""

    def __init__(self, names: _Names | None = None) -> None:
        self.names = _Names() if names is None else names
        self._sizes, self._ids = array("q"), array("q")

    def add(self, said: Collection[str]) -> None:
        self._sizes.append(len(said))
        self._ids.extend(map(self.names.__getitem__, said))

    def lists(self) -> Lists:
        return Lists(_ptr(np.array(self._sizes, dtype=np.int64)), np.array(self._ids, dtype=np.int64))


def pack(taken: Iterable[Features]) -> Packed:
    """Return `taken` as numbers; each is looked at once and need not be kept."""
    terms = _Names()
    topics, questions = _Rows(terms), _Rows(terms)
    seeds, named, pins, keys, values = _Rows(), _Rows(), _Rows(), _Rows(), _Rows()
    classes = _Names()
    groups, group_class, group_kind, topic_weight, questions_weight, words = (array("q") for _ in range(6))
    for shape in taken:
        topics.add(shape.topic)
        questions.add(shape.questions)
        seeds.add(shape.seeds)
        named.add(shape.named)
        pins.add(shape.pins)
        keys.add((shape.key,))
        topic_weight.append(shape.topic_weight)
        questions_weight.append(shape.questions_weight)
        words.append(shape.words)
        groups.append(len(shape.classes) + len(shape.sides))
        for name, said in shape.classes.items():
            group_class.append(classes[name])
            group_kind.append(ANY if not name.startswith(_VERSION) else COVER if ":" in name else MEET)
            values.add(said)
        for line, sides in shape.sides.items():
            group_class.append(classes[f"side {line}"])
            group_kind.append(ANY)
            values.add(sides)
    topic, asked = topics.lists(), questions.lists()
    seen = np.bincount(topic.ids, minlength=len(terms))
    rank = np.empty(len(terms), dtype=np.int64)
    rank[np.argsort(seen, kind="stable")] = np.arange(len(terms))
    weights = np.empty(len(terms), dtype=np.int64)
    weights[rank] = [weight_of((term,)) for term in terms]
    codes = np.zeros(len(terms), dtype=np.bool_)
    codes[rank] = [term.startswith(CODE_MARK) for term in terms]
    return Packed(
        topic=_sorted(Lists(topic.ptr, rank[topic.ids])),
        questions=_sorted(Lists(asked.ptr, rank[asked.ids])),
        seeds=_sorted(seeds.lists()),
        named=_sorted(named.lists()),
        pins=_sorted(pins.lists()),
        groups=Lists(_ptr(_ints(groups)), np.arange(len(group_class), dtype=np.int64)),
        group_class=_ints(group_class),
        group_kind=_ints(group_kind),
        values=_sorted(values.lists()),
        coarser=_coarser(values.names),
        weights=weights,
        codes=codes,
        topic_weight=_ints(topic_weight),
        questions_weight=_ints(questions_weight),
        words=_ints(words) > 0,
        key=keys.lists().ids,
    )


def keepers_of(packed: Packed, policy: DuplicatePolicy) -> Ints:
    """Return the place of each shape's keeper, −1 for none, as `research.consolidation.keepers` promises."""
    limits = np.array([
        policy.score, policy.topic_weight, policy.seeds_weight, policy.questions_weight, policy.pinned,
        policy.strong_topic, policy.strong_seeds, policy.strong_questions, policy.contained_topic,
        least_topic(policy), min(*apart_bounds(policy), policy.contained_topic - _SLACK), policy.apart,
    ])  # fmt: skip
    parts = (packed.topic, packed.questions, packed.seeds, packed.named, packed.pins, packed.groups, packed.values)
    lists = tuple((part.ptr, part.ids) for part in (*parts, packed.coarser))
    flat = (packed.group_class, packed.group_kind, packed.weights, packed.topic_weight, packed.questions_weight)
    contained = FULL * policy.contained_terms
    sources = tuple((probe.ptr, probe.ids, rows.ptr, rows.ids) for probe, rows in _sources(packed, policy, contained))
    empty = np.flatnonzero(np.diff(packed.topic.ptr) == 0)
    owners: Ints = greedy(lists, (*flat, packed.words, packed.key, packed.codes), sources, empty, limits, contained)
    return owners


def _sources(packed: Packed, policy: DuplicatePolicy, contained: int) -> list[tuple[Lists, Lists]]:
    """Return where candidates come from: of each, the keys a shape is looked up by, and key → rows, ascending.

    Together they reach every pair that any rule can make duplicates: a shared pin, a shared seed, a topic all of
    which is in the other's (then its rarest term is), and topics that share what `apart_bounds` asks for.
    """
    topic = packed.topic
    every = np.ones(len(packed), dtype=np.bool_)
    sources = [(lists, _postings(lists, every)) for lists in (packed.pins, packed.seeds)]
    sizes = np.diff(topic.ptr)
    short = packed.words & (packed.topic_weight >= contained) & (sizes > 0)
    rarest = Lists(_ptr(short.astype(np.int64)), topic.ids[topic.ptr[:-1][short]])
    sources += [(rarest, _postings(topic, every)), (topic, _postings(rarest, every, len(packed.weights)))]
    both, one = apart_bounds(policy)
    seeded = np.diff(packed.seeds.ptr) > 0
    keys = _shared_keys(packed, both)
    sources.append((_only(keys, seeded), _postings(keys, seeded)))
    if not seeded.all():
        keys = _shared_keys(packed, one)
        sources += [(_only(keys, seeded), _postings(keys, ~seeded)), (_only(keys, ~seeded), _postings(keys, every))]
    return sources


def _shared_keys(packed: Packed, bound: float) -> Lists:
    """Return keys of which two topics share one where their Jaccard reaches `bound`: threes of terms, mostly.

    Such topics share at least k terms, k being what `bound` times a topic's weight needs of full ones. Of k shared
    terms, all but k − 3 of the most frequent stand among the first n − k + 3 of each topic, so the three rarest do,
    and together they are a key. Where two or one may do (k < 3), pairs and terms are keys as well, and the threes are
    of all terms. Only keys of two or more topics are kept.
    """
    topic = packed.topic
    sizes = np.diff(topic.ptr)
    least = np.maximum(1, np.ceil((bound * packed.topic_weight - _SLACK) / FULL).astype(np.int64))
    first = np.minimum(sizes, np.maximum(0, sizes - least + 3))
    made = first * (first - 1) * (first - 2) // 6
    made += np.where(least <= 2, sizes * (sizes - 1) // 2, 0) + np.where(least == 1, sizes, 0)
    codes = term_keys(topic.ptr, topic.ids, first, least, _ptr(made), len(packed.weights))
    order = np.argsort(codes, kind="stable")
    codes = codes[order]
    fresh = np.concatenate([[True], codes[1:] != codes[:-1]])[: len(codes)]
    number = np.cumsum(fresh) - 1
    kept = np.bincount(number)[number] > 1 if len(codes) else fresh
    row = np.repeat(np.arange(len(packed)), made)[order][kept]
    again = np.argsort(row, kind="stable")
    renumbered = np.cumsum(fresh & kept) - 1
    return Lists(_ptr(np.bincount(row, minlength=len(packed))), renumbered[kept][again].astype(np.int64))


def _postings(lists: Lists, chosen: NDArray[np.bool_], numbers: int | None = None) -> Lists:
    """Return for each number the chosen rows, ascending, in which it stands."""
    numbers = int(lists.ids.max(initial=-1)) + 1 if numbers is None else numbers
    row = np.repeat(np.arange(len(chosen)), np.diff(lists.ptr))
    inside = chosen[row]
    ids, row = lists.ids[inside], row[inside]
    order = np.argsort(ids, kind="stable")
    return Lists(_ptr(np.bincount(ids, minlength=numbers)), row[order].astype(np.int64))


def _only(lists: Lists, chosen: NDArray[np.bool_]) -> Lists:
    """Return the lists with the rows that are not chosen empty."""
    sizes = np.diff(lists.ptr)
    return Lists(_ptr(np.where(chosen, sizes, 0)), lists.ids[np.repeat(chosen, sizes)])


def _ptr(sizes: Ints) -> Ints:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _ints(values: array[int]) -> Ints:
    return np.array(values, dtype=np.int64)


def _sorted(lists: Lists) -> Lists:
    offset = np.repeat(np.arange(len(lists.ptr) - 1), np.diff(lists.ptr)) * (int(lists.ids.max(initial=0)) + 1)
    return Lists(lists.ptr, np.sort(offset + lists.ids) - offset)  # rows stay together, each ascending


def _coarser(value_names: Mapping[str, int]) -> Lists:
    rows = [
        sorted(value_names[coarser] for coarser in refinements(value) if coarser in value_names)
        for value in value_names
    ]
    sizes = np.array([len(row) for row in rows], dtype=np.int64)
    return Lists(_ptr(sizes), np.array(list(chain.from_iterable(rows)), dtype=np.int64))
