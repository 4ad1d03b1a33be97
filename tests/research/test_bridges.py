"""Borders of communities that one weak edge alone holds together, against networkx and by hand."""

from __future__ import annotations

from random import Random

import networkx
import numpy as np

from research.bridges import split_at_weak_edges

Edge = tuple[int, int, bool]


def split(nodes: int, edges: list[Edge], *, least: int = 3, member: list[int] | None = None) -> list[set[int]]:
    pairs = np.array([edge[:2] for edge in edges], dtype=np.int64)
    weak = np.array([edge[2] for edge in edges])
    home = np.array(member or [0] * nodes, dtype=np.int64)
    found = split_at_weak_edges(home, pairs, weak, least)
    return sorted(
        ({node for node in range(nodes) if found[node] == part} for part in set(found.tolist()) - {-1}), key=min
    )


def clique(*nodes: int) -> list[Edge]:
    return [(a, b, False) for a in nodes for b in nodes if a < b]


def test_one_weak_edge_is_a_border() -> None:
    assert split(6, [*clique(0, 1, 2), *clique(3, 4, 5), (2, 3, True)]) == [{0, 1, 2}, {3, 4, 5}]


def test_two_weak_edges_and_a_strong_one_are_none() -> None:
    both = [*clique(0, 1, 2), *clique(3, 4, 5)]
    assert len(split(6, [*both, (2, 3, True), (1, 4, True)])) == 1
    assert len(split(6, [*both, (2, 3, False)])) == 1


def test_the_same_edge_given_twice_is_two() -> None:
    assert len(split(6, [*clique(0, 1, 2), *clique(3, 4, 5), (2, 3, True), (2, 3, True)])) == 1


def test_a_ring_of_weak_edges_holds() -> None:
    three = [*clique(0, 1, 2), *clique(3, 4, 5), *clique(6, 7, 8)]
    assert len(split(9, [*three, (2, 3, True), (5, 6, True), (8, 0, True)])) == 1
    assert len(split(9, [*three, (2, 3, True), (5, 6, True)])) == 3


def test_a_small_appendix_stays() -> None:
    edges = [*clique(0, 1, 2), (3, 4, False), (2, 3, True)]
    assert split(5, edges) == [{0, 1, 2, 3, 4}]
    assert split(5, edges, least=2) == [{0, 1, 2}, {3, 4}]


def test_edges_between_communities_and_nodes_without_one_play_no_part() -> None:
    edges = [*clique(0, 1, 2), *clique(3, 4, 5), (2, 3, True)]
    assert split(7, edges, member=[0, 0, 0, 1, 1, 1, -1]) == [{0, 1, 2}, {3, 4, 5}]
    through = [*clique(0, 1, 2), *clique(3, 4, 5), (2, 3, True), (0, 6, False), (6, 5, False)]
    assert split(7, through, member=[0] * 6 + [1]) == [{0, 1, 2}, {3, 4, 5}, {6}]


def test_random_graphs_are_cut_exactly_at_the_weak_bridges_of_networkx() -> None:
    random, cuts = Random(2), 0
    for _ in range(150):
        nodes = random.randint(6, 24)
        edges: dict[tuple[int, int], bool] = {(i, i + 1): random.random() < 0.5 for i in range(nodes - 1)}
        for _ in range(random.randint(0, nodes)):
            a, b = sorted(random.sample(range(nodes), 2))
            edges.setdefault((a, b), random.random() < 0.5)
        graph = networkx.Graph(edges.keys())
        cut = set()
        for a, b in networkx.bridges(graph):
            pair = (min(a, b), max(a, b))
            rest = graph.copy()
            rest.remove_edge(a, b)
            sizes = [len(part) for part in networkx.connected_components(rest)]
            if edges[pair] and min(sizes) >= 3:
                cut.add(pair)
        cuts += len(cut)
        graph.remove_edges_from(cut)
        expected = sorted((set(part) for part in networkx.connected_components(graph)), key=min)
        given = [(a, b, weak) for (a, b), weak in edges.items()]
        random.shuffle(given)
        assert split(nodes, given) == expected
    assert cuts > 50
