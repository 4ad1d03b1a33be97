from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.vector.truth import brute_force, clustered, matrix, scattered, unit, with_duplicates
from vector.affinity import VectorGraph, edge_difference, local_scale, vector_graph
from vector.neighbours import Neighbours, neighbour_state, update_neighbours

Edges = dict[tuple[int, int], tuple[float, float, bool]]


def as_dict(graph: VectorGraph) -> Edges:
    columns = (graph.similarity, graph.affinity, graph.duplicate)
    return {
        (int(a), int(b)): (float(s), float(f), bool(d))
        for a, b, s, f, d in zip(graph.source, graph.target, *columns, strict=True)
    }


def slow_graph(
    similarities: NDArray[np.float32], k: int, low: float, least_affinity: float, near: float = 0.995
) -> Edges:
    """The definition, with loops: groups by flooding over all pairs, then the rule for each pair."""
    count = len(similarities)
    keeper = list(range(count))
    for row in range(count):
        if keeper[row] == row:
            stack = [row]
            while stack:
                here = stack.pop()
                for other in range(count):
                    if other != here and similarities[here, other] > np.float32(near) and keeper[other] > row:
                        keeper[other] = row
                        stack.append(other)
    standing = np.array([keeper[row] == row for row in range(count)], np.bool_)
    indices, values = brute_force(similarities, k, alive=standing)
    scale = [
        float(np.mean(v[~np.isnan(v)], dtype=np.float64)) if (i >= 0).any() else 0.0
        for i, v in zip(indices, values, strict=True)
    ]
    found: Edges = {}
    for a in range(count):
        for b in range(a + 1, count):
            if not (standing[a] and standing[b]) or (b not in indices[a] and a not in indices[b]):
                continue
            affinity = 2 * float(similarities[a, b]) - scale[a] - scale[b]
            if similarities[a, b] >= np.float32(low) and affinity >= least_affinity:
                found[a, b] = (float(similarities[a, b]), affinity, False)
    return found


@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.integers(0, 70),
    maker=st.sampled_from([scattered, clustered, with_duplicates]),
    k=st.integers(1, 8),
    slack=st.integers(0, 6),
    low=st.sampled_from([-1.0, 0.2, 0.45]),
    least=st.sampled_from([-2.0, -0.1, 0.1]),
)
@settings(max_examples=60, deadline=None)
def test_equals_the_definition(
    seed: int, count: int, maker: object, k: int, slack: int, low: float, least: float
) -> None:
    vectors = maker(count, 6, seed)  # type: ignore[operator]
    graph = vector_graph(vectors, neighbour_state(vectors, k, slack=slack), min_similarity=low, min_affinity=least)
    similarities = matrix(vectors)
    expected = slow_graph(similarities, k, low, least)
    found = as_dict(graph)
    plain = {pair: values for pair, values in found.items() if not values[2]}
    assert plain.keys() == expected.keys()
    for pair, (similarity, affinity, _) in plain.items():
        assert similarity == expected[pair][0]
        assert affinity == pytest.approx(expected[pair][1], abs=1e-9)
    marks = [pair for pair, values in found.items() if values[2]]
    # The marks are a forest: one for each row that does not stand for itself, each within one group.
    assert len(marks) == int((graph.keeper != np.arange(count)).sum())
    assert all(graph.keeper[a] == graph.keeper[b] and similarities[a, b] > np.float32(0.995) for a, b in marks)
    keys = graph.source * max(count, 1) + graph.target
    assert (np.diff(keys) > 0).all()
    assert (graph.source < graph.target).all()


def test_a_hub_gets_fewer_edges_than_similarity_alone_would_give_it() -> None:
    # 40 directions around an axis, and one generic vector on the axis: it is the nearest of all of them.
    rng = np.random.default_rng(3)
    around = rng.standard_normal((40, 30))
    axis = np.zeros(30)
    axis[0] = 1.0
    vectors = unit(np.concatenate([axis[None], 0.8 * axis + unit(around)]))
    state = neighbour_state(vectors, 5)
    listed = int((state.neighbours().indices[1:] == 0).any(axis=1).sum())
    graph = vector_graph(vectors, state, min_similarity=0.3, min_affinity=0.12)
    hub = int((graph.source == 0).sum())
    assert listed == 40
    assert hub < listed / 4


def test_copies_of_a_ticket_become_marks_and_keep_their_surroundings() -> None:
    vectors = clustered(60, 24, 1, clusters=3, spread=0.5)
    alone = vector_graph(vectors, neighbour_state(vectors, 6))
    assert not alone.duplicate.any()
    assert len(alone.source) > 60
    copies = np.concatenate([vectors, np.repeat(vectors[[7]], 40, axis=0)])
    graph = vector_graph(copies, neighbour_state(copies, 6))
    assert int(graph.duplicate.sum()) == 40
    assert graph.keeper[60:].tolist() == [7] * 40
    without = {pair: values for pair, values in as_dict(graph).items() if not values[2]}
    assert without == as_dict(alone)


def test_rows_that_left_have_no_edges() -> None:
    vectors = clustered(40, 8, 2)
    state, _ = update_neighbours(
        neighbour_state(vectors, 4), vectors, changed=np.zeros(0, np.int64), removed=np.array([3, 9])
    )
    graph = vector_graph(vectors, state)
    assert not np.isin([3, 9], np.concatenate([graph.source, graph.target])).any()
    assert len(graph.source) > 0


def test_local_scale_counts_only_neighbours_that_are_there() -> None:
    lists = Neighbours(
        np.array([[1, -1], [0, 2], [-1, -1]]),
        np.array([[0.5, np.nan], [0.5, 0.25], [np.nan, np.nan]], np.float32),
    )
    assert local_scale(lists).tolist() == [0.5, 0.375, 0.0]


def test_difference_writes_only_what_moved() -> None:
    flags = np.array([False, False, False, False])
    old = (np.array([1, 2, 3, 4]), np.array([0.5, 0.5, 0.5, 0.5]), np.array([0.1, 0.1, 0.1, np.nan]), flags)
    new = (
        np.array([2, 3, 4, 9]),
        np.array([0.50009, 0.5002, 0.5, 0.7]),
        np.array([0.1, 0.1, 0.1, 0.2]),
        np.array([False, False, False, False]),
    )
    found = edge_difference(old, new)
    assert found.removed.tolist() == [0]
    assert found.put.tolist() == [1, 2, 3]
    assert found.added.tolist() == [False, False, True]
    assert found.kept == 1


def test_difference_sees_a_mark_that_changed() -> None:
    edge = (np.array([5]), np.array([1.0]), np.array([0.0]), np.array([False]))
    marked = (*edge[:3], np.array([True]))
    assert edge_difference(edge, marked).put.tolist() == [0]
    assert edge_difference(edge, edge).put.tolist() == []
    nothing = (np.zeros(0, np.int64), np.zeros(0), np.zeros(0), np.zeros(0, np.bool_))
    assert edge_difference(edge, nothing).removed.tolist() == [0]
    assert edge_difference(nothing, edge).added.tolist() == [True]
