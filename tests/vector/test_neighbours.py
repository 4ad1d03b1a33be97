from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.vector.truth import (
    brute_force,
    clustered,
    equal_rows,
    exact_similarity,
    matrix,
    nearly_same,
    scattered,
    sorted_lists,
    unit,
    with_duplicates,
)
from vector.neighbours import BadVectors, Neighbours, nearest_neighbours, neighbour_state, update_neighbours
from vector.similarity import exact_similarities, product_error, snapped

Maker = Callable[[int, int, int], NDArray[np.float32]]
MAKERS: list[Maker] = [scattered, clustered, with_duplicates, nearly_same, equal_rows]
PATHS = ["numpy", "compiled"]


def same(found: Neighbours, indices: NDArray[np.int64], similarities: NDArray[np.float32]) -> None:
    assert found.indices.dtype == np.int64
    assert found.similarities.dtype == np.float32
    np.testing.assert_array_equal(found.indices, indices)
    np.testing.assert_array_equal(found.similarities, similarities)


# refusals -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [np.nan, np.inf, 0.0, 3.0])
@pytest.mark.parametrize("path", PATHS)
def test_rows_that_are_not_finite_unit_vectors_are_refused_by_index(bad: float, path: str) -> None:
    vectors = scattered(20, 8, 1)
    vectors[[3, 17]] = bad
    with pytest.raises(BadVectors, match=r"2 of 20 rows .*: 3, 17") as refused:
        nearest_neighbours(vectors, 3, path=path)  # type: ignore[arg-type]
    assert refused.value.rows == (3, 17)


@pytest.mark.parametrize(
    "vectors",
    [
        np.zeros((2, 2), np.float64),
        np.zeros(4, np.float32),
        np.zeros((1, 2, 2), np.float32),
        np.zeros((3, 0), np.float32),
        np.ones((2, 1), np.float16),
        np.ones((2, 1), np.int32),
    ],
)
def test_wrong_type_or_shape_is_refused(vectors: NDArray[np.float32]) -> None:
    with pytest.raises(BadVectors, match=r"float32|no components"):
        nearest_neighbours(vectors, 1)


def test_lists_are_no_vectors() -> None:
    with pytest.raises(BadVectors, match="got list"):
        nearest_neighbours([[1.0, 0.0]], 1)  # type: ignore[arg-type]


def test_a_length_is_one_within_a_thousandth() -> None:
    vectors = scattered(6, 8, 1)
    vectors[2] *= np.float32(1.0009)
    assert nearest_neighbours(vectors, 2).indices.shape == (6, 2)
    vectors[2] *= np.float32(1.001)
    with pytest.raises(BadVectors, match=r"1 of 6 rows .*: 2"):
        nearest_neighbours(vectors, 2)


def test_thresholds_and_slack_without_meaning_are_refused() -> None:
    vectors = scattered(4, 3, 0)
    with pytest.raises(ValueError, match="min_similarity must be a number"):
        nearest_neighbours(vectors, 1, min_similarity=float("nan"))
    with pytest.raises(ValueError, match="slack must not be negative, got -1"):
        neighbour_state(vectors, 2, slack=-1)


def test_k_and_rows_outside_are_refused() -> None:
    vectors = scattered(4, 3, 0)
    with pytest.raises(IndexError, match="row numbers"):
        nearest_neighbours(vectors, 1, rows=np.array([[0]]))
    with pytest.raises(IndexError, match=r"rows must lie in 0\.\.3, got -1"):
        nearest_neighbours(vectors, 1, rows=np.array([-1]))
    with pytest.raises(ValueError, match="k must be at least 1"):
        nearest_neighbours(vectors, 0)
    with pytest.raises(IndexError, match=r"rows must lie in 0\.\.3, got 4"):
        nearest_neighbours(vectors, 1, rows=np.array([4]))
    with pytest.raises(IndexError, match="row numbers"):
        nearest_neighbours(vectors, 1, rows=np.array([0.5]))


def test_update_refuses_what_it_cannot_follow() -> None:
    vectors = scattered(5, 3, 0)
    state = neighbour_state(vectors, 2)
    none = np.zeros(0, np.int64)
    with pytest.raises(ValueError, match="keep the previous 5 rows"):
        update_neighbours(state, vectors[:4], changed=none, removed=none)
    with pytest.raises(ValueError, match="both changed and removed"):
        update_neighbours(state, vectors, changed=np.array([1]), removed=np.array([1]))
    with pytest.raises(ValueError, match="5 is not"):
        update_neighbours(state, scattered(6, 3, 0), changed=none, removed=none)
    broken = vectors.copy()
    broken[2] = np.nan
    with pytest.raises(BadVectors, match=": 2"):
        update_neighbours(state, broken, changed=np.array([2]), removed=none)


# the definition -----------------------------------------------------------------------------------


@given(st.integers(0, 2**32 - 1), st.integers(1, 40))
@settings(max_examples=30, deadline=None)
def test_similarity_is_exact_in_any_order(seed: int, dim: int) -> None:
    left, right = scattered(2, dim, seed)
    truth = exact_similarity(left, right)
    assert exact_similarities(snapped(left[None]), snapped(right[None]))[0, 0] == truth
    order = np.random.default_rng(seed).permutation(dim)
    assert float(np.float32((snapped(left[None])[0, order] * snapped(right[None])[0, order]).sum())) == truth
    assert abs(float(left.astype(np.float64) @ right.astype(np.float64)) - truth) < 2e-8 + 2.0**-24


@pytest.mark.parametrize("dim", [2, 64, 384])
def test_float32_products_stay_inside_the_stated_error(dim: int) -> None:
    vectors = clustered(300, dim, 5)
    assert np.abs(vectors @ vectors.T - matrix(vectors)).max() <= product_error(dim)


# against brute force ------------------------------------------------------------------------------


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("count", [0, 1, 2, 3, 13])
def test_fewer_rows_than_k_leave_places_empty(count: int, path: str) -> None:
    vectors = scattered(count, 4, 2)
    found = nearest_neighbours(vectors, 12, path=path)  # type: ignore[arg-type]
    assert found.indices.shape == (count, 12)
    same(found, *brute_force(matrix(vectors), 12))


@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.integers(0, 180),
    dim=st.sampled_from([1, 2, 5, 48]),
    k=st.integers(1, 15),
    threshold=st.sampled_from([-1.0, -0.2, 0.35, 0.9, 1.0]),
    maker=st.sampled_from(MAKERS),
    path=st.sampled_from(PATHS),
)
@settings(max_examples=80, deadline=None)
def test_equals_brute_force(seed: int, count: int, dim: int, k: int, threshold: float, maker: Maker, path: str) -> None:
    vectors = maker(count, dim, seed)
    found = nearest_neighbours(vectors, k, min_similarity=threshold, path=path)  # type: ignore[arg-type]
    least = -2.0 if threshold <= -1.0 else np.float32(threshold)
    same(found, *brute_force(matrix(vectors), k, least))


@pytest.mark.parametrize("path", PATHS)
def test_zero_variance_ranks_by_row(path: str) -> None:
    vectors = np.repeat(scattered(1, 16, 3), 90, axis=0)
    found = nearest_neighbours(vectors, 5, path=path)  # type: ignore[arg-type]
    assert found.indices[0].tolist() == [1, 2, 3, 4, 5]
    assert found.indices[2].tolist() == [0, 1, 3, 4, 5]
    assert found.indices[89].tolist() == [0, 1, 2, 3, 4]
    assert (found.similarities == found.similarities[0, 0]).all()


# More rows than a tile is high: limits are then raised from whole blocks before their values are offered.
@pytest.mark.parametrize("maker", MAKERS)
def test_several_tiles_equal_brute_force(maker: Maker) -> None:
    vectors = maker(2300, 12, 11)
    truth = sorted_lists(matrix(vectors), 6)
    for threads in (1, 2):
        found = nearest_neighbours(vectors, 6, path="compiled", threads=threads)
        same(found, *truth)


def test_several_tiles_with_a_threshold_that_few_reach() -> None:
    vectors = scattered(2300, 12, 12)
    indices, similarities = sorted_lists(matrix(vectors), 6)
    below = ~(similarities >= np.float32(0.8))
    indices[below], similarities[below] = -1, np.nan
    assert 0 < below.sum() < below.size
    same(nearest_neighbours(vectors, 6, min_similarity=0.8, path="compiled"), indices, similarities)


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("path", PATHS)
def test_lists_with_slack_and_their_floor(maker: Maker, path: str) -> None:
    vectors = maker(1300, 12, 13)
    state = neighbour_state(vectors, 4, slack=3, path=path)  # type: ignore[arg-type]
    similarities = matrix(vectors)
    indices, near = sorted_lists(similarities, 8)
    np.testing.assert_array_equal(state.indices, indices[:, :7])
    np.testing.assert_array_equal(state.similarities, near[:, :7])
    # The floor bounds who is not listed, and no list reaches below it.
    assert (state.floor >= near[:, 7]).all()
    assert (state.floor <= near[:, 6]).all()


def test_other_layouts_of_memory_change_nothing() -> None:
    vectors = clustered(150, 16, 9)
    plain = nearest_neighbours(vectors, 5)
    for other in (np.asfortranarray(vectors), np.repeat(vectors, 2, axis=0)[::2]):
        found = nearest_neighbours(other, 5)
        same(found, plain.indices, plain.similarities)


def test_rows_alone_are_the_same_as_in_the_whole() -> None:
    vectors = clustered(200, 16, 4)
    whole = nearest_neighbours(vectors, 7)
    some = np.array([150, 3, 3, 199])
    part = nearest_neighbours(vectors, 7, rows=some)
    same(part, whole.indices[some], whole.similarities[some])
    assert nearest_neighbours(vectors, 7, rows=np.zeros(0, np.int64)).indices.shape == (0, 7)


@pytest.mark.parametrize("block_bytes", [1, 64_000, 2**28])
@pytest.mark.parametrize("threads", [1, 3])
def test_blocks_and_threads_change_nothing(block_bytes: int, threads: int) -> None:
    vectors = np.concatenate([clustered(1300, 24, 6), with_duplicates(200, 24, 7)])
    plain = nearest_neighbours(vectors, 9, path="numpy", block_bytes=2**28, threads=1)
    for path in PATHS:
        found = nearest_neighbours(vectors, 9, path=path, block_bytes=block_bytes, threads=threads)  # type: ignore[arg-type]
        same(found, plain.indices, plain.similarities)


def test_a_tick_that_raises_ends_the_pass() -> None:
    class EnoughError(Exception):
        pass

    def stop(cells: int) -> None:
        raise EnoughError

    for path in PATHS:
        with pytest.raises(EnoughError):
            nearest_neighbours(scattered(100, 4, 0), 3, path=path, tick=stop)  # type: ignore[arg-type]


def test_ticks_count_every_pair() -> None:
    seen: list[int] = []
    nearest_neighbours(scattered(300, 4, 0), 3, path="numpy", tick=seen.append)
    assert sum(seen) == 300 * 300


# incremental --------------------------------------------------------------------------------------


@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.integers(0, 90),
    maker=st.sampled_from(MAKERS),
    k=st.integers(1, 6),
    slack=st.integers(0, 5),
    rounds=st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12), st.integers(0, 6)), min_size=1, max_size=4),
)
@settings(max_examples=60, deadline=None)
def test_updates_equal_a_full_pass(
    seed: int, count: int, maker: Maker, k: int, slack: int, rounds: list[tuple[int, int, int]]
) -> None:
    rng = np.random.default_rng(seed)
    vectors = maker(count, 6, seed)
    pool = maker(200, 6, seed)
    state = neighbour_state(vectors, k, slack=slack)
    alive = np.ones(count, np.bool_)
    for moving, going, coming in rounds:
        before = state.neighbours()
        some = rng.permutation(len(vectors))
        changed, removed = some[:moving], some[moving : moving + going]
        vectors = np.concatenate([vectors, pool[rng.integers(0, 200, coming)]])
        vectors[changed] = pool[rng.integers(0, 200, len(changed))]
        alive = np.concatenate([alive, np.ones(coming, np.bool_)])
        alive[changed], alive[removed] = True, False
        vectors[~alive] = np.nan  # nobody may look at these
        changed = np.concatenate([changed, np.arange(len(vectors) - coming, len(vectors))])
        state, touched = update_neighbours(state, vectors, changed=changed, removed=removed)
        after = state.neighbours()
        same(after, *brute_force(matrix(np.where(alive[:, None], vectors, 0)), k, alive=alive))
        expected = [
            row
            for row in range(len(vectors))
            if (row >= len(before.indices) and (after.indices[row] >= 0).any())
            or (
                row < len(before.indices)
                and not (
                    np.array_equal(before.indices[row], after.indices[row])
                    and np.array_equal(before.similarities[row], after.similarities[row], equal_nan=True)
                )
            )
        ]
        assert touched.tolist() == expected


@pytest.mark.parametrize("maker", MAKERS)
def test_updates_of_a_compiled_pass_equal_brute_force(maker: Maker) -> None:
    vectors = maker(1500, 8, 14)
    state = neighbour_state(vectors, 5, slack=5, path="compiled")
    some = np.random.default_rng(15).permutation(1500)
    changed, removed = some[:40], some[40:60]
    vectors[changed] = maker(40, 8, 16)
    alive = np.ones(1500, np.bool_)
    alive[removed] = False
    state, _ = update_neighbours(state, vectors, changed=changed, removed=removed)
    same(state.neighbours(), *sorted_lists(matrix(vectors), 5, alive))


@pytest.mark.parametrize("path", PATHS)
def test_a_graph_that_grows_from_nothing(path: str) -> None:
    vectors = clustered(4, 8, 1)
    state = neighbour_state(vectors[:0], 3, path=path)  # type: ignore[arg-type]
    for count in range(1, 5):
        new = np.array([count - 1])
        state, touched = update_neighbours(state, vectors[:count], changed=new, removed=np.zeros(0, np.int64))
        same(state.neighbours(), *brute_force(matrix(vectors[:count]), 3))
        assert touched.tolist() == (list(range(count)) if count > 1 else [])


def test_nothing_to_do_touches_nothing() -> None:
    vectors = clustered(50, 8, 0)
    state = neighbour_state(vectors, 4)
    none = np.zeros(0, np.int64)
    after, touched = update_neighbours(state, vectors, changed=none, removed=none)
    assert touched.tolist() == []
    np.testing.assert_array_equal(after.indices, state.indices)


def test_the_previous_state_is_left_as_it_was() -> None:
    vectors = clustered(50, 8, 0)
    state = neighbour_state(vectors, 4)
    kept = state.indices.copy()
    update_neighbours(state, vectors, changed=np.array([1]), removed=np.array([2]))
    np.testing.assert_array_equal(state.indices, kept)
    assert state.alive.all()


def test_slack_spares_rescans() -> None:
    # 20 points on an arc; the nearest of point 0 are 1, 2, …: with slack 4, losing three needs no new scan.
    angles = np.linspace(0, 0.5, 20)
    vectors = unit(np.stack([np.cos(angles), np.sin(angles)], axis=1))
    state = neighbour_state(vectors, 3, slack=4)
    cells: list[int] = []
    after, touched = update_neighbours(
        state, vectors, changed=np.zeros(0, np.int64), removed=np.array([1, 2, 3]), tick=cells.append
    )
    assert cells == []
    assert after.neighbours().indices[0].tolist() == [4, 5, 6]
    assert 0 in touched.tolist()
