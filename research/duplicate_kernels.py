"""Compiled loops of `research.packed`; importing this module imports numba.

Every function is plain Python too, so that it can be read and tested without the compiler. Lists are pairs of
`ptr` and `ids` as in `research.packed.Lists`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from research.concepts import FULL
from research.duplicates import mean_score
from vector.kernels import compiled

__all__ = ["greedy", "term_keys"]

_mean_score: Any = compiled(mean_score)


def _overlap(ids: Any, a: int, a_end: int, b: int, b_end: int) -> int:
    """Return how many numbers two ascending stretches of `ids` share."""
    shared = 0
    while a < a_end and b < b_end:
        if ids[a] == ids[b]:
            shared += 1
            a += 1
            b += 1
        elif ids[a] < ids[b]:
            a += 1
        else:
            b += 1
    return shared


overlap: Any = compiled(_overlap)


def _weighted_overlap(ids: Any, weights: Any, a: int, a_end: int, b: int, b_end: int) -> int:
    """Return what the shared numbers of two ascending stretches of `ids` weigh."""
    shared = 0
    while a < a_end and b < b_end:
        if ids[a] == ids[b]:
            shared += weights[ids[a]]
            a += 1
            b += 1
        elif ids[a] < ids[b]:
            a += 1
        else:
            b += 1
    return shared


weighted_overlap: Any = compiled(_weighted_overlap)


def _stand_apart(ids: Any, weights: Any, codes: Any, a: int, a_end: int, b: int, b_end: int) -> bool:
    """Return whether each of two topics has a full term that the other lacks, and no identifier is in both."""
    own_a, own_b = False, False
    while a < a_end or b < b_end:
        if a < a_end and b < b_end and ids[a] == ids[b]:
            if codes[ids[a]]:
                return False
            a += 1
            b += 1
        elif b == b_end or (a < a_end and ids[a] < ids[b]):
            own_a = own_a or weights[ids[a]] == FULL
            a += 1
        else:
            own_b = own_b or weights[ids[b]] == FULL
            b += 1
    return own_a and own_b


stand_apart: Any = compiled(_stand_apart)


def _meet(coarser_ptr: Any, coarser: Any, a: int, b: int) -> bool:
    """Return whether two versions are one, or one refines the other."""
    if a == b:
        return True
    for place in range(coarser_ptr[a], coarser_ptr[a + 1]):
        if coarser[place] == b:
            return True
    found = False
    for place in range(coarser_ptr[b], coarser_ptr[b + 1]):
        found = found or coarser[place] == a
    return found


meet: Any = compiled(_meet)


def _covers(values: Any, coarser_ptr: Any, coarser: Any, a: int, a_end: int, b: int, b_end: int) -> bool:
    """Return whether every version of stretch b meets one of stretch a."""
    for other in range(b, b_end):
        met = False
        for one in range(a, a_end):
            met = met or meet(coarser_ptr, coarser, values[one], values[other])
        if not met:
            return False
    return True


covers: Any = compiled(_covers)


def _agree(kind: int, values: Any, coarser_ptr: Any, coarser: Any, a: int, a_end: int, b: int, b_end: int) -> bool:
    """Return whether two stretches of values of one class can speak of the same thing; `kind` as in `packed`."""
    if kind == 0:
        return bool(overlap(values, a, a_end, b, b_end) > 0)
    if kind == 2:
        return bool(
            covers(values, coarser_ptr, coarser, a, a_end, b, b_end)
            or covers(values, coarser_ptr, coarser, b, b_end, a, a_end)
        )
    for one in range(a, a_end):
        for other in range(b, b_end):
            if meet(coarser_ptr, coarser, values[one], values[other]):
                return True
    return False


agree: Any = compiled(_agree)


def _contradict(lists: Any, flat: Any, i: int, j: int) -> bool:
    """Return whether two shapes hold disagreeing values of one class."""
    groups_ptr = lists[5][0]
    values_ptr, values = lists[6]
    coarser_ptr, coarser = lists[7]
    group_class, group_kind = flat[0], flat[1]
    for one in range(groups_ptr[i], groups_ptr[i + 1]):
        for other in range(groups_ptr[j], groups_ptr[j + 1]):
            if group_class[one] == group_class[other] and not agree(
                group_kind[one], values, coarser_ptr, coarser,
                values_ptr[one], values_ptr[one + 1], values_ptr[other], values_ptr[other + 1],
            ):  # fmt: skip
                return True
    return False


contradict: Any = compiled(_contradict)


def _topic_share(lists: Any, flat: Any, i: int, j: int, shared: int, pinned: bool) -> float:
    """Return the Jaccard of two topics, −1 where they cannot be compared; `shared` is what their common terms weigh."""
    topic_ptr, named_ptr, named = lists[0][0], lists[3][0], lists[3][1]
    topic_weight, words = flat[3], flat[5]
    if not (words[i] and words[j]) and pinned and named_ptr[i + 1] > named_ptr[i] and named_ptr[j + 1] > named_ptr[j]:
        both = overlap(named, named_ptr[i], named_ptr[i + 1], named_ptr[j], named_ptr[j + 1])
        whole = named_ptr[i + 1] - named_ptr[i] + named_ptr[j + 1] - named_ptr[j] - both
        return float(both / whole)
    if topic_ptr[i + 1] == topic_ptr[i] or topic_ptr[j + 1] == topic_ptr[j]:
        return -1.0
    return float(shared / (topic_weight[i] + topic_weight[j] - shared))


topic_share: Any = compiled(_topic_share)


def _duplicate(lists: Any, flat: Any, limits: Any, contained: int, i: int, j: int) -> bool:
    """Return whether two shapes are duplicates: `research.duplicates.judge`, in the same arithmetic."""
    topic_ptr, topic = lists[0]
    asked_ptr, asked = lists[1]
    seeds_ptr, seeds = lists[2]
    pins_ptr, pins = lists[4]
    weights, topic_weight, asked_weight, words = flat[2], flat[3], flat[4], flat[5]
    pinned = overlap(pins, pins_ptr[i], pins_ptr[i + 1], pins_ptr[j], pins_ptr[j + 1]) > 0
    shared = weighted_overlap(topic, weights, topic_ptr[i], topic_ptr[i + 1], topic_ptr[j], topic_ptr[j + 1])
    t = topic_share(lists, flat, i, j, shared, pinned)
    if 0.0 <= t < limits[9] and not pinned:
        return False  # below what any rule asks of the topic: the rest need not be looked at
    s, q = -1.0, -1.0
    of_i, of_j = seeds_ptr[i + 1] - seeds_ptr[i], seeds_ptr[j + 1] - seeds_ptr[j]
    if of_i > 0 and of_j > 0:
        s = overlap(seeds, seeds_ptr[i], seeds_ptr[i + 1], seeds_ptr[j], seeds_ptr[j + 1]) / min(of_i, of_j)
    if s <= 0.0 and 0.0 <= t < limits[10] and not pinned:
        return False
    asked_both = asked_ptr[i + 1] > asked_ptr[i] and asked_ptr[j + 1] > asked_ptr[j]
    apart = False
    if t >= 0.0 and not pinned:
        apart = stand_apart(topic, weights, flat[7], topic_ptr[i], topic_ptr[i + 1], topic_ptr[j], topic_ptr[j + 1])
        if apart and _mean_score(t, s, 1.0 if asked_both else -1.0, limits[1], limits[2], limits[3]) < limits[11]:
            return False  # whatever the questions share, and theirs are the longest lists, is not enough
    if asked_both:
        both = weighted_overlap(asked, weights, asked_ptr[i], asked_ptr[i + 1], asked_ptr[j], asked_ptr[j + 1])
        q = both / (asked_weight[i] + asked_weight[j] - both)
    score = _mean_score(t, s, q, limits[1], limits[2], limits[3])
    if score < 0.0:
        score = 1.0 if flat[6][i] == flat[6][j] else 0.0
    found = score >= limits[0] or (pinned and max(t, q) >= limits[4])
    found = found or (t >= limits[5] and (s >= limits[6] or q >= limits[7]))
    if not found and t >= limits[8]:
        short = i
        if topic_weight[j] < topic_weight[i] or (
            topic_weight[j] == topic_weight[i] and topic_ptr[j + 1] - topic_ptr[j] < topic_ptr[i + 1] - topic_ptr[i]
        ):
            short = j
        found = words[short] and shared == topic_weight[short] and topic_weight[short] >= contained
    if apart and score < limits[11]:
        found = False
    return bool(found and not contradict(lists, flat, i, j))


duplicate: Any = compiled(_duplicate)


def _near(topic_ptr: Any, topic: Any, weights: Any, topic_weight: Any, least: float, i: int, j: int) -> bool:
    """Return whether the Jaccard of two topics reaches `least`."""
    a, b = topic_weight[i], topic_weight[j]
    if min(a, b) < least * max(a, b):
        return False
    shared = weighted_overlap(topic, weights, topic_ptr[i], topic_ptr[i + 1], topic_ptr[j], topic_ptr[j + 1])
    return bool(shared >= least * (a + b - shared))


near: Any = compiled(_near)


def _take(state: Any, lists: Any, flat: Any, limits: Any, contained: int, i: int, j: int) -> None:
    """Give shape j to keeper i where it is still free and a duplicate; each pair is looked at once."""
    owner, looked = state
    if j <= i or looked[j] == i or owner[j] >= 0:
        return
    looked[j] = i
    if duplicate(lists, flat, limits, contained, i, j):
        owner[j] = i


take: Any = compiled(_take)


def _greedy(lists: Any, flat: Any, sources: Any, empty: Any, limits: Any, contained: int) -> Any:
    """Return the keeper of each shape, −1 for none: each one still free takes its free duplicates behind it.

    A source is (ptr, keys) of each shape and (ptr, rows) of each key; rows up to the keeper are done with for good.
    The first two sources are shared pins and shared seeds; a pair of the others must reach `limits[10]` by its topics
    alone, which is looked at before anything else is unpacked.
    """
    topic_ptr, topic = lists[0]
    weights, topic_weight, least = flat[2], flat[3], limits[10]
    count = len(topic_ptr) - 1
    owner = np.full(count, -1, dtype=np.int64)
    looked = np.full(count, -1, dtype=np.int64)
    state = (owner, looked)
    heads = [source[2][:-1].copy() for source in sources]
    for i in range(count):
        if owner[i] >= 0:
            continue
        for j in empty:
            take(state, lists, flat, limits, contained, i, j)
        if topic_ptr[i + 1] == topic_ptr[i]:
            for j in range(i + 1, count):
                take(state, lists, flat, limits, contained, i, j)
        for number in range(len(sources)):
            ptr, keys, ends, rows = sources[number]
            head = heads[number]
            for place in range(ptr[i], ptr[i + 1]):
                key = keys[place]
                while head[key] < ends[key + 1] and rows[head[key]] <= i:
                    head[key] += 1
                for entry in range(head[key], ends[key + 1]):
                    j = rows[entry]
                    if looked[j] == i or owner[j] >= 0:
                        continue
                    if number > 1 and not near(topic_ptr, topic, weights, topic_weight, least, i, j):
                        looked[j] = i  # no later source asks for less
                        continue
                    take(state, lists, flat, limits, contained, i, j)
    return owner


greedy: Any = compiled(_greedy)


def _term_keys(ptr: Any, ids: Any, first: Any, least: Any, out_ptr: Any, terms: int) -> Any:
    """Return codes of the keys of each row: triples of its `first` terms; pairs where `least` ≤ 2; terms where it is 1.

    Codes may run over and meet: two topics then look at each other that need not.
    """
    codes = np.empty(out_ptr[-1], dtype=np.int64)
    for row in range(len(first)):
        at, start, end = out_ptr[row], ptr[row], ptr[row + 1]
        for a in range(start, start + first[row]):
            for b in range(a + 1, start + first[row]):
                for c in range(b + 1, start + first[row]):
                    codes[at] = (ids[a] * terms + ids[b]) * terms + ids[c]
                    at += 1
        for a in range(start, end):
            if least[row] <= 2:
                for b in range(a + 1, end):
                    codes[at] = (ids[a] * terms + ids[b]) * terms + ids[b]
                    at += 1
            if least[row] == 1:
                codes[at] = (ids[a] * terms + ids[a]) * terms + ids[a]
                at += 1
    return codes


term_keys: Any = compiled(_term_keys)
