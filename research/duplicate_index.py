"""Finds the direct duplicates of a task without comparing it with all the others; exact (spec 05). Pure."""

from __future__ import annotations

from collections import Counter, defaultdict

from research.duplicates import (
    DEFAULT,
    DuplicatePolicy,
    DuplicateScore,
    Features,
    TaskShape,
    features,
    judge,
    weight_of,
)

__all__ = ["DuplicateIndex", "apart_bounds", "least_topic"]

_SLACK = 1e-9
"""What a bound gives away, so that no rounding of a share makes a pair miss it."""


class DuplicateIndex:
    """Finds the members that are direct duplicates of a shape, exactly, without comparing with all of them.

    A pair can only be duplicates where it shares a pinning identifier or a seed, or where one topic has no terms, or
    where the topics' Jaccard reaches a bound that follows from the policy (`apart_bounds`). The shared weight of all
    topics that share a term at all is added up from the postings; only what then reaches the bound is judged.
    """

    def __init__(self, policy: DuplicatePolicy = DEFAULT) -> None:
        self._policy = policy
        self._bound = min(policy.contained_topic - _SLACK, *apart_bounds(policy))
        self._members: dict[str, Features] = {}
        self._weights: dict[str, int] = {}
        self._by_term: dict[str, set[str]] = defaultdict(set)
        self._by_pin: dict[str, set[str]] = defaultdict(set)
        self._by_seed: dict[str, set[str]] = defaultdict(set)
        self._without_terms: set[str] = set()

    def __len__(self) -> int:
        return len(self._members)

    def __contains__(self, key: object) -> bool:
        return key in self._members

    def add(self, key: str, shape: TaskShape) -> None:
        """Take in a member under its key; a key that is there already is replaced."""
        self.remove(key)
        taken = features(shape)
        self._members[key], self._weights[key] = taken, taken.topic_weight
        for term in taken.topic:
            self._by_term[term].add(key)
        for pin in taken.pins:
            self._by_pin[pin].add(key)
        for seed in taken.seeds:
            self._by_seed[seed].add(key)
        if not taken.topic:
            self._without_terms.add(key)

    def remove(self, key: str) -> None:
        """Forget a member; an unknown key is no error."""
        taken = self._members.pop(key, None)
        if taken is None:
            return
        del self._weights[key]
        lists = ((self._by_term, taken.topic), (self._by_pin, taken.pins), (self._by_seed, taken.seeds))
        for postings, terms in lists:
            for term in terms:
                postings[term].discard(key)
                if not postings[term]:
                    del postings[term]
        self._without_terms.discard(key)

    def duplicates(self, shape: TaskShape) -> list[tuple[str, DuplicateScore]]:
        """Return the members that duplicate `shape` with their scores, best first, then by key."""
        probe = features(shape)
        found = []
        for key in self._candidates(probe):
            score = judge(probe, self._members[key], self._policy)
            if score.duplicate:
                found.append((key, score))
        return sorted(found, key=lambda item: (-item[1].score, item[0]))

    def _candidates(self, probe: Features) -> set[str]:
        if not probe.topic:
            return set(self._members)
        candidates = set(self._without_terms)
        for postings, keys in ((self._by_pin, probe.pins), (self._by_seed, probe.seeds)):
            for key in keys:
                candidates |= postings.get(key, set())
        candidates |= self._near(probe)
        return candidates

    def _near(self, probe: Features) -> set[str]:
        """Return the members whose topic's Jaccard with the probe's reaches the bound."""
        shared: Counter[str] = Counter()
        for term in probe.topic:
            for _ in range(weight_of((term,))):  # counting is done in C, adding would not be
                shared.update(self._by_term.get(term, ()))
        bound, whole, weights = self._bound, probe.topic_weight, self._weights
        return {key for key, common in shared.items() if common >= bound * (whole + weights[key] - common)}


def least_topic(policy: DuplicatePolicy) -> float:
    """Return the smallest Jaccard of two non-empty topics at which a pair without a shared pin can be a duplicate."""
    bounds = [policy.strong_topic, policy.contained_topic]
    for seeds in (0.0, policy.seeds_weight):
        for questions in (0.0, policy.questions_weight):
            whole = policy.topic_weight + seeds + questions
            bounds.append((policy.score * whole - seeds - questions) / policy.topic_weight if whole else 0.0)
    return max(0.0, min(bounds) - _SLACK)


def apart_bounds(policy: DuplicatePolicy) -> tuple[float, float]:
    """Return the smallest Jaccard of two non-empty topics that share neither seed nor pin and are duplicates.

    First where both have seeds, which then pull the score down; second where one has none. What is contained in
    the other topic (`DuplicatePolicy.contained_topic`) is a rule of its own.
    """
    topic, asked = policy.topic_weight, policy.questions_weight
    found = []
    for seeds in (policy.seeds_weight, 0.0):
        with_questions = (policy.score * (topic + seeds + asked) - asked) / topic
        without = policy.score * (topic + seeds) / topic
        found.append(max(0.0, min(policy.strong_topic, with_questions, without) - _SLACK))
    return found[0], found[1]
