"""Louvain communities of large graphs in compiled loops (Blondel et al. 2008). Pure; importing it imports numba.

Written here because what is fast elsewhere is under a licence that this product cannot carry along (igraph), and
networkx takes minutes for a million edges. Nodes are visited in one seeded order, gains are compared in one fixed
order of additions, ties go to the lower community: the same edges give the same communities.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array

from vector.kernels import compiled

__all__ = ["louvain"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
_ROUNDS: Final = 50
"""Rounds over all nodes in one level; what still moves then moves for next to nothing."""
_LEAST: Final = 1e-9
"""Gain in modularity, times the weight of all edges, below which a node stays."""


def louvain(nodes: int, pairs: Ints, weights: Floats, *, resolution: float, seed: int) -> Ints:
    """Return the community number of each node.

    `pairs` [e, 2] are undirected edges between different nodes with positive `weights` [e]; repeated pairs add up.
    """
    member = np.arange(nodes, dtype=np.int64)
    if not len(pairs):
        return member
    random = np.random.default_rng(seed)
    both = np.concatenate([pairs, pairs[:, ::-1]])
    graph = coo_array((np.concatenate([weights, weights]), (both[:, 0], both[:, 1])), shape=(nodes, nodes)).tocsr()
    loops: NDArray[Any] = np.zeros(nodes)
    whole = float(graph.sum())
    while True:
        count = graph.shape[0]
        degree = np.asarray(graph.sum(axis=1)).ravel() + loops
        community = np.arange(count, dtype=np.int64)
        order = random.permutation(count).astype(np.int64)
        moved = settle(
            graph.indptr.astype(np.int64), graph.indices.astype(np.int64), graph.data, degree, order, community,
            resolution / whole, _ROUNDS, _LEAST,
        )  # fmt: skip
        if not moved:
            return member
        community = np.asarray(np.unique(community, return_inverse=True)[1], dtype=np.int64)
        member = community[member]
        size = int(community.max()) + 1
        joined = coo_array(graph)
        a, b = community[joined.row], community[joined.col]
        inside = a == b
        kept = np.bincount(community, weights=loops, minlength=size)
        loops = kept + np.bincount(a[inside], weights=joined.data[inside], minlength=size)
        graph = coo_array((joined.data[~inside], (a[~inside], b[~inside])), shape=(size, size)).tocsr()


def _settle(
    ptr: Any,
    others: Any,
    weights: Any,
    degree: Any,
    order: Any,
    community: Any,
    scale: float,
    rounds: int,
    least: float,
) -> bool:
    """Move nodes to the neighbouring community that gains most, until none does; return whether any moved."""
    count = len(order)
    held = degree.copy()  # what the degrees of a community's nodes add up to
    toward = np.zeros(count)
    met = np.empty(count, dtype=np.int64)
    any_moved = False
    for _ in range(rounds):
        moves = 0
        for node in order:
            home = community[node]
            found = 0
            for place in range(ptr[node], ptr[node + 1]):
                near = community[others[place]]
                if toward[near] == 0.0:
                    met[found] = near
                    found += 1
                toward[near] += weights[place]
            held[home] -= degree[node]
            best, best_gain = home, toward[home] - scale * degree[node] * held[home]
            for at in range(found):
                near = met[at]
                gain = toward[near] - scale * degree[node] * held[near]
                if gain > best_gain + least or (near < best and best != home and gain >= best_gain):
                    best, best_gain = near, gain
            for at in range(found):
                toward[met[at]] = 0.0
            held[best] += degree[node]
            if best != home:
                community[node] = best
                moves += 1
        any_moved = any_moved or moves > 0
        if moves == 0:
            break
    return any_moved


settle: Any = compiled(_settle)
