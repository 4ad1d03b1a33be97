from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from vector.springs import compiles, components, springs

Graph = tuple[NDArray[np.int64], NDArray[np.float64]]


def tangle(count: int, wanted: int, seed: int, *, levels: int = 4, hub: bool = False) -> Graph:
    """A random graph, with ties among its weights and perhaps one node that is linked to all."""
    rng = np.random.default_rng(seed)
    pairs = np.sort(rng.integers(0, count, (wanted, 2)), axis=1)
    if hub:
        pairs = np.concatenate([pairs, np.stack([np.zeros(count - 1, np.int64), np.arange(1, count)], axis=1)])
    edges = np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)
    return rng.permutation(edges), rng.integers(1, levels + 1, len(edges)) / levels


def share_by_hand(count: int, graph: Graph, k: int) -> dict[tuple[int, int], float]:
    """Every node gives one unit, evenly to its k heaviest edges; what nobody gives to gets a hundredth of a share."""
    strength = {(int(a), int(b)): 0.0 for a, b in graph[0]}
    weight = {edge: float(w) for edge, w in zip(strength, graph[1], strict=True)}
    for node in range(count):
        mine = sorted((edge for edge in strength if node in edge), key=lambda edge: (-weight[edge], sum(edge) - node))
        for edge in mine[:k]:
            strength[edge] += 1.0 / min(len(mine), k)
    return {edge: max(value, 0.01 / k) for edge, value in strength.items()}


@pytest.mark.parametrize("compiled", [False, True])
@given(seed=st.integers(0, 2**32 - 1), count=st.integers(2, 40), k=st.integers(1, 6), hub=st.booleans())
@settings(max_examples=25, deadline=None)
def test_every_edge_is_as_strong_as_its_ends_make_it(compiled: bool, seed: int, count: int, k: int, hub: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("vector.springs.COMPILED_FROM", 1 if compiled else 10**9)
        assert compiles(count) == compiled
        graph = tangle(count, 3 * count, seed, hub=hub)
        net = springs(count, *graph, k)
    wanted = share_by_hand(count, graph, k)
    total = 2 * sum(wanted.values()) or 1.0
    found = {
        (row, int(net.others[at])): float(net.strengths[at])
        for row in range(count)
        for at in range(net.starts[row], net.starts[row + 1])
    }
    assert len(found) == 2 * len(wanted) == len(net.others)
    for (a, b), value in wanted.items():
        assert found[a, b] == found[b, a] == pytest.approx(value / total, rel=1e-6)


@pytest.mark.parametrize("wanted", [2000, 20_000])
@pytest.mark.parametrize("hub", [False, True])
def test_both_paths_build_the_same(monkeypatch: pytest.MonkeyPatch, wanted: int, hub: bool) -> None:
    edges, weights = tangle(1500, wanted, 3, hub=hub)
    compiled, labels = springs(1500, edges, weights, 12), components(1500, edges)
    monkeypatch.setattr("vector.springs.COMPILED_FROM", 10**9)
    plain = springs(1500, edges, weights, 12)
    np.testing.assert_array_equal(compiled.starts, plain.starts)
    np.testing.assert_array_equal(compiled.others, plain.others)
    np.testing.assert_array_equal(compiled.strengths, plain.strengths)
    np.testing.assert_array_equal(labels, components(1500, edges))


@pytest.mark.parametrize("compiled", [False, True])
@given(seed=st.integers(0, 2**32 - 1), count=st.integers(1, 60), density=st.floats(0.0, 1.5))
@settings(max_examples=25, deadline=None)
def test_components_are_those_of_the_graph(compiled: bool, seed: int, count: int, density: float) -> None:
    edges, _ = tangle(count, int(density * count), seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("vector.springs.COMPILED_FROM", 1 if compiled else 10**9)
        labels = components(count, edges)
    graph = nx.Graph()
    graph.add_nodes_from(range(count))
    graph.add_edges_from(edges.tolist())
    wanted = sorted(sorted(part) for part in nx.connected_components(graph))
    assert [sorted(np.flatnonzero(labels == number).tolist()) for number in range(labels.max() + 1)] == wanted


def test_reordered_springs_join_the_same_nodes() -> None:
    edges, weights = tangle(1200, 5000, 1)
    net = springs(1200, edges, weights, 12)
    order = np.random.default_rng(0).permutation(1200)
    other = net.reordered(order)
    for row in (0, 1, 599, 1199):
        old = slice(net.starts[order[row]], net.starts[order[row] + 1])
        new = slice(other.starts[row], other.starts[row + 1])
        np.testing.assert_array_equal(order[other.others[new]], net.others[old])
        np.testing.assert_array_equal(other.strengths[new], net.strengths[old])


def test_numpy_serves_where_numba_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert compiles(1000)
    assert not compiles(999)
    monkeypatch.setattr("vector.springs.kernels_available", lambda: False)
    assert not compiles(1000)
