"""The rules of `research.duplicates` over numbers instead of words, for queues of a hundred thousand (spec 05). Pure.

`pack` turns shapes taken apart into arrays of whole numbers; terms are numbered by rarity, so that the terms of
a topic stand rarest first. `keepers_of` runs the greedy loop over them, compiled: candidates come from postings of
what two duplicates must share (`_sources`), and each is verified by the full rule. Importing this module imports numba.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import Final

import numpy as np
from numpy.typing import NDArray

from data.text import IdentifierClass
from research.concepts import FULL
from research.duplicate_index import apart_bounds, least_topic
from research.duplicate_kernels import greedy, term_pairs
from research.duplicates import DuplicatePolicy, Features, refinements, weight_of

__all__ = ["Lists", "Packed", "keepers_of", "pack"]

Ints = NDArray[np.int64]
_SLACK: Final = 1e-9

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
    topic_weight: Ints
    questions_weight: Ints
    words: NDArray[np.bool_]
    key: Ints

    def __len__(self) -> int:
        return len(self.key)


def pack(taken: Sequence[Features]) -> Packed:
    """Return `taken` as numbers."""
    names: dict[str, int] = {}
    topic = _numbered([shape.topic for shape in taken], names)
    questions = _numbered([shape.questions for shape in taken], names)
    seen = np.bincount(topic.ids, minlength=len(names))
    rank = np.empty(len(names), dtype=np.int64)
    rank[np.argsort(seen, kind="stable")] = np.arange(len(names))
    weights = np.empty(len(names), dtype=np.int64)
    weights[rank] = [weight_of((term,)) for term in names]
    groups, group_class, group_kind, values, value_names = _classes(taken)
    return Packed(
        topic=_sorted(Lists(topic.ptr, rank[topic.ids])),
        questions=_sorted(Lists(questions.ptr, rank[questions.ids])),
        seeds=_sorted(_numbered([shape.seeds for shape in taken], {})),
        named=_sorted(_numbered([shape.named for shape in taken], {})),
        pins=_sorted(_numbered([shape.pins for shape in taken], {})),
        groups=groups,
        group_class=group_class,
        group_kind=group_kind,
        values=values,
        coarser=_coarser(value_names),
        weights=weights,
        topic_weight=np.array([shape.topic_weight for shape in taken], dtype=np.int64),
        questions_weight=np.array([shape.questions_weight for shape in taken], dtype=np.int64),
        words=np.array([shape.words for shape in taken], dtype=np.bool_),
        key=_numbered([(shape.key,) for shape in taken], {}).ids,
    )


def keepers_of(packed: Packed, policy: DuplicatePolicy) -> Ints:
    """Return the place of each shape's keeper, −1 for none, as `research.consolidation.keepers` promises."""
    limits = np.array([
        policy.score, policy.topic_weight, policy.seeds_weight, policy.questions_weight, policy.pinned,
        policy.strong_topic, policy.strong_seeds, policy.strong_questions, policy.contained_topic,
        least_topic(policy), min(*apart_bounds(policy), policy.contained_topic - _SLACK),
    ])  # fmt: skip
    parts = (packed.topic, packed.questions, packed.seeds, packed.named, packed.pins, packed.groups, packed.values)
    lists = tuple((part.ptr, part.ids) for part in (*parts, packed.coarser))
    flat = (packed.group_class, packed.group_kind, packed.weights, packed.topic_weight, packed.questions_weight)
    contained = FULL * policy.contained_terms
    sources = tuple((probe.ptr, probe.ids, rows.ptr, rows.ids) for probe, rows in _sources(packed, policy, contained))
    empty = np.flatnonzero(np.diff(packed.topic.ptr) == 0)
    owners: Ints = greedy(lists, (*flat, packed.words, packed.key), sources, empty, limits, contained)
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
    """Return keys of which two topics share one where their Jaccard reaches `bound`: pairs of terms.

    Such topics share at least k terms, k being what `bound` times a topic's weight needs of full ones. Of k shared
    terms, all but k − 2 of the most frequent stand among the first n − k + 2 of each topic, so the two rarest do,
    and their pair is a key. Where one shared term may do (k = 1), each term is a key as well. Only keys of two or
    more topics are kept.
    """
    topic = packed.topic
    sizes = np.diff(topic.ptr)
    least = np.maximum(1, np.ceil((bound * packed.topic_weight - _SLACK) / FULL).astype(np.int64))
    first = np.minimum(sizes, sizes - least + 2)
    made = np.where(sizes > 0, first * (first - 1) // 2 + np.where(least == 1, sizes, 0), 0)
    ptr = _ptr(made)
    codes = term_pairs(topic.ptr, topic.ids, first, least, ptr, len(packed.weights))
    _, numbers, seen = np.unique(codes, return_inverse=True, return_counts=True)
    kept = seen[numbers] > 1
    row = np.repeat(np.arange(len(packed)), made)[kept]
    renumbered = np.cumsum(seen > 1) - 1
    return Lists(_ptr(np.bincount(row, minlength=len(packed))), renumbered[numbers[kept]].astype(np.int64))


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


def _numbered(rows: Sequence[Collection[str]], names: dict[str, int]) -> Lists:
    """Return rows of names as numbers, new names numbered as they come."""
    sizes = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
    fresh = (
        dict.fromkeys(chain.from_iterable(rows)).keys() - names.keys()
        if names
        else dict.fromkeys(chain.from_iterable(rows))
    )
    names.update(zip(fresh, count(len(names)), strict=False))
    ids = np.fromiter(map(names.__getitem__, chain.from_iterable(rows)), dtype=np.int64, count=int(sizes.sum()))
    return Lists(_ptr(sizes), ids)


def _sorted(lists: Lists) -> Lists:
    offset = np.repeat(np.arange(len(lists.ptr) - 1), np.diff(lists.ptr)) * (int(lists.ids.max(initial=0)) + 1)
    return Lists(lists.ptr, np.sort(offset + lists.ids) - offset)  # rows stay together, each ascending


def _classes(taken: Sequence[Features]) -> tuple[Lists, Ints, Ints, Lists, dict[str, int]]:
    """Return what can contradict: groups of each shape, their class and kind, their values, and the values' numbers."""
    class_names: dict[str, int] = {}
    value_names: dict[str, int] = {}
    sizes, classes, kinds, rows = [], [], [], []
    version = IdentifierClass.VERSION.value
    for shape in taken:
        sizes.append(len(shape.classes) + len(shape.sides))
        for name, said in shape.classes.items():
            classes.append(class_names.setdefault(name, len(class_names)))
            kinds.append(ANY if not name.startswith(version) else COVER if ":" in name else MEET)
            rows.append(said)
        for line, said in shape.sides.items():
            classes.append(class_names.setdefault(f"side {line}", len(class_names)))
            kinds.append(ANY)
            rows.append(said)
    values = _sorted(_numbered(rows, value_names))
    ptr = _ptr(np.array(sizes, dtype=np.int64))
    groups = Lists(ptr, np.arange(len(classes), dtype=np.int64))
    return groups, np.array(classes, dtype=np.int64), np.array(kinds, dtype=np.int64), values, value_names


def _coarser(value_names: dict[str, int]) -> Lists:
    rows = [
        sorted(value_names[coarser] for coarser in refinements(value) if coarser in value_names)
        for value in value_names
    ]
    sizes = np.array([len(row) for row in rows], dtype=np.int64)
    return Lists(_ptr(sizes), np.array(list(chain.from_iterable(rows)), dtype=np.int64))
