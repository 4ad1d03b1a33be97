"""Compiled Louvain against networkx: as good by modularity, the same each time, and right where the answer is plain."""

from __future__ import annotations

from random import Random

import networkx
import numpy as np
import pytest

from research import communities
from research.communities import find_communities
from research.louvain import louvain

Edge = tuple[int, int, float]


def planted(groups: int, size: int, seed: int) -> list[Edge]:
    """Groups whose nodes know each other far better than the others."""
    random = Random(seed)
    nodes = groups * size
    edges: dict[tuple[int, int], float] = {}
    for node in range(nodes):
        for _ in range(8):
            home = node // size * size
            other = home + random.randrange(size) if random.random() < 0.75 else random.randrange(nodes)
            if other != node:
                edges[min(node, other), max(node, other)] = round(random.uniform(0.35, 0.95), 3)
    return [(a, b, weight) for (a, b), weight in sorted(edges.items())]


@pytest.fixture
def compiled_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(communities, "LARGE", 0)


def modularity(found: list[tuple[int, ...]], edges: list[Edge], resolution: float) -> float:
    graph = networkx.Graph()
    graph.add_nodes_from(node for members in found for node in members)
    graph.add_weighted_edges_from(edges)
    return float(networkx.community.modularity(graph, found, weight="weight", resolution=resolution))


@pytest.mark.parametrize(("groups", "size", "resolution"), [(12, 25, 1.0), (30, 10, 1.2), (5, 60, 0.8)])
def test_modularity_is_that_of_networkx(
    monkeypatch: pytest.MonkeyPatch, groups: int, size: int, resolution: float
) -> None:
    edges = planted(groups, size, seed=groups)
    slow = find_communities(groups * size, edges, resolution=resolution)
    monkeypatch.setattr(communities, "LARGE", 0)
    fast = find_communities(groups * size, edges, resolution=resolution)
    assert sorted(node for members in fast for node in members) == list(range(groups * size))
    assert modularity(fast, edges, resolution) >= 0.98 * modularity(slow, edges, resolution)


@pytest.mark.usefixtures("compiled_only")
def test_two_cliques_with_one_bridge_are_two_communities_and_the_lonely_stay_alone() -> None:
    clique = [(a, b, 1.0) for a in range(5) for b in range(a + 1, 5)]
    other = [(a + 5, b + 5, 1.0) for a, b, _ in clique]
    found = find_communities(11, [*other, *clique, (4, 5, 0.2)])
    assert found == [(0, 1, 2, 3, 4), (5, 6, 7, 8, 9), (10,)]
    assert find_communities(3, []) == [(0,), (1,), (2,)]


@pytest.mark.usefixtures("compiled_only")
def test_the_order_of_edges_and_their_ends_changes_nothing() -> None:
    edges = planted(10, 20, seed=4)
    turned = [(b, a, weight) for a, b, weight in edges]
    Random(1).shuffle(turned)
    assert find_communities(200, turned) == find_communities(200, edges)


def test_repeated_edges_add_up() -> None:
    pairs = np.array([[0, 1], [1, 2], [1, 2], [2, 3]], dtype=np.int64)
    twice = louvain(4, pairs, np.ones(4), resolution=1.0, seed=1)
    once = louvain(4, pairs[[0, 1, 3]], np.array([1.0, 2.0, 1.0]), resolution=1.0, seed=1)
    assert twice.tolist() == once.tolist()
