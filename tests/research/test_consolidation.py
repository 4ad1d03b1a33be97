"""Consolidation in compiled loops is the all-pairs greedy rule; the score is symmetric on ten thousand pairs."""

from __future__ import annotations

from random import Random

import pytest

from benchmarks.tasks import queue_entries, shapes
from research.consolidation import Group, QueueEntry, consolidate, keepers
from research.duplicates import DuplicatePolicy, Features, TaskShape, duplicate_score, features, judge
from tests.research.test_task_pairs import pairs

LOOSE = DuplicatePolicy(score=0.4, strong_topic=0.3, strong_questions=0.2, contained_topic=0.2, contained_terms=1)
POLICIES = pytest.mark.parametrize("policy", [DuplicatePolicy(), LOOSE, DuplicatePolicy(score=0.9, strong_topic=0.9)])


def all_pairs_greedy(taken: list[Features], policy: DuplicatePolicy) -> list[int]:
    """The rule as it is written: each task still free takes every free direct duplicate behind it."""
    owner = [-1] * len(taken)
    for i, keeper in enumerate(taken):
        if owner[i] < 0:
            for j in range(i + 1, len(taken)):
                if owner[j] < 0 and judge(keeper, taken[j], policy).duplicate:
                    owner[j] = i
    return owner


def odd_shapes() -> list[TaskShape]:
    """Tasks without words, without seeds, with bare identifiers, and with all that the labelled pairs hold."""
    odd = [TaskShape(""), TaskShape("der die das"), TaskShape("Der die das!"), TaskShape("der", frozenset({"n_1"}))]
    odd += [TaskShape(topic) for topic in ("CVE-2024-3094", "CVE-2024-3094 xz", "809", "Fehler 809", "HTTP 503", "VPN")]
    odd += [TaskShape("Windows 11"), TaskShape("Windows 11 23H2"), TaskShape("Windows 10 und Windows 11 Update")]
    odd += [TaskShape("", frozenset({"n_1"}), ("Was ist CVE-2024-3094?",)), TaskShape("Drucker", frozenset({"n_1"}))]
    return odd + [shape for a, b, _ in pairs() for shape in (a, b)]


@POLICIES
def test_compiled_loops_give_what_all_pairs_give(policy: DuplicatePolicy) -> None:
    taken = [features(shape) for shape in (*odd_shapes(), *shapes(300, seed=5))]
    taken = Random(3).sample(taken, 450)
    owners = keepers(taken, policy)
    assert owners == all_pairs_greedy(taken, policy)
    assert sum(owner >= 0 for owner in owners) > 50


def test_keys_by_term_pairs_suffice_where_vectors_share_little_but_words() -> None:
    """Tasks without seeds or identifiers are reached by their words alone."""
    random = Random(11)
    words = [f"word{number}x" for number in range(60)]
    taken = [features(TaskShape(" ".join(random.sample(words, random.randint(1, 7))))) for _ in range(400)]
    for policy in (DuplicatePolicy(), LOOSE):
        assert keepers(taken, policy) == all_pairs_greedy(taken, policy)


@pytest.mark.slow
def test_five_thousand_generated_tasks_are_consolidated_exactly() -> None:
    entries = queue_entries(5_000, seed=2)
    groups = consolidate(entries)
    ordered = sorted(entries, key=lambda entry: (-entry.priority, entry.since, entry.key))
    owners = all_pairs_greedy([features(entry.shape) for entry in ordered], DuplicatePolicy())
    expected: dict[str, list[str]] = {}
    for place, owner in enumerate(owners):
        if owner >= 0:
            expected.setdefault(ordered[owner].key, []).append(ordered[place].key)
    assert {group.keeper: list(group.members) for group in groups} == expected
    assert len(expected) > 500


def test_both_ways_of_consolidating_agree_on_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    entries: list[QueueEntry] = queue_entries(400, seed=9)
    by_index: tuple[Group, ...] = consolidate(entries)
    monkeypatch.setattr("research.consolidation._COMPILED_FROM", 0)
    assert consolidate(entries) == by_index
    assert consolidate([]) == ()


def test_the_score_is_symmetric_and_independent_of_order_on_ten_thousand_random_pairs() -> None:
    random = Random(17)
    pool = [*shapes(250, seed=13), *odd_shapes()]
    found = 0
    for _ in range(10_000):
        a, b = random.choice(pool), random.choice(pool)
        turned = TaskShape(
            b.topic, frozenset(sorted(b.seeds, reverse=True)), tuple(random.sample(b.questions, len(b.questions)))
        )
        score = duplicate_score(a, b)
        assert duplicate_score(b, a) == score
        assert duplicate_score(a, turned) == score
        assert 0.0 <= score.score <= 1.0
        found += score.duplicate
    assert found > 20
