from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.vectors import StoredList
from tests.vector.truth import brute_force, clustered, matrix, with_duplicates
from vector.lists import Kept, from_rows, step, to_rows
from vector.neighbours import neighbour_state, renumbered, update_neighbours

NOBODY = np.zeros(0, np.int64)


def stored(kept: Kept) -> list[StoredList]:
    rows = to_rows(kept, np.arange(len(kept.ids)), "m").values
    columns = (rows["node_id"], rows["content_hash"], rows["ids"], rows["similarities"])
    return [StoredList(*row) for row in zip(*columns, strict=True)]


def names(rows: object) -> list[str]:
    return [f"n_{int(row):04d}" for row in rows]  # type: ignore[attr-defined]


def test_numbers_that_do_not_ascend_are_refused() -> None:
    state = neighbour_state(clustered(3, 4, 0), 1)
    with pytest.raises(ValueError, match="ascend"):
        renumbered(state, np.array([1, 0, 2]), 3, k=1, length=2)


@pytest.mark.parametrize("damage", ["short", "none"])
def test_damaged_or_missing_rows_give_no_lists(damage: str) -> None:
    vectors = clustered(5, 4, 0)
    rows = stored(Kept(names(range(5)), ["h"] * 5, neighbour_state(vectors, 2)))
    if damage == "short":
        rows[3] = StoredList(rows[3].node_id, "h", rows[3].ids, rows[3].similarities[:-4])
    assert from_rows(rows if damage == "short" else [], 2) is None


def test_lists_come_back_from_their_rows_as_they_were() -> None:
    vectors = clustered(30, 8, 1)
    kept = Kept(names(range(30)), [f"h{row}" for row in range(30)], neighbour_state(vectors, 3, slack=2))
    back = from_rows(stored(kept), 3)
    assert back is not None
    assert (back.ids, back.hashes) == (kept.ids, kept.hashes)
    np.testing.assert_array_equal(back.state.indices, kept.state.indices)
    np.testing.assert_array_equal(back.state.similarities, kept.state.similarities)
    np.testing.assert_array_equal(back.state.floor, kept.state.floor)


@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.integers(2, 60),
    copies=st.booleans(),
    k=st.integers(1, 5),
    slack=st.integers(0, 4),
    new_slack=st.integers(0, 4),
    forgotten=st.integers(0, 3),
)
@settings(max_examples=50, deadline=None)
def test_a_pass_from_stored_lists_equals_a_full_one(
    seed: int, count: int, copies: bool, k: int, slack: int, new_slack: int, forgotten: int
) -> None:
    rng = np.random.default_rng(seed)
    pool = (with_duplicates if copies else clustered)(120, 6, seed)
    before = np.sort(rng.choice(120, count, replace=False))
    kept = Kept(names(before), names(before), neighbour_state(pool[before], k, slack=slack))
    rows = stored(kept)
    for _ in range(min(forgotten, len(rows) - 1)):  # a node that was deleted took its own row with it
        del rows[int(rng.integers(len(rows)))]
    back = from_rows(rows, k)
    assert back is not None
    after = np.sort(rng.choice(120, int(rng.integers(1, 120)), replace=False))
    other = rng.random(len(after)) < 0.2
    space = pool.copy()
    space[after[other]] = pool[rng.integers(0, 120, int(other.sum()))]
    hashes = [f"other {name}" if moved else name for name, moved in zip(names(after), other, strict=True)]
    taken = step(back, names(after), hashes, k=k, length=k + new_slack)
    assert set(taken.gone) == set(back.ids) - set(names(after))
    state, _ = update_neighbours(taken.previous, space[after], changed=taken.changed, removed=NOBODY)
    found = state.neighbours()
    indices, similarities = brute_force(matrix(space[after]), k)
    np.testing.assert_array_equal(found.indices, indices)
    np.testing.assert_array_equal(found.similarities, similarities)
