"""The springs of a layout and what hangs together by them (spec 03, "Layout")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from vector.halfproduct import kernels_available

__all__ = ["COMPILED_FROM", "Springs", "compiles", "components", "springs"]

COMPILED_FROM: Final = 1000
"""Nodes from which the compiled kernels are used; below, numpy needs about two seconds for a whole layout."""
_FAINT: Final = 0.01
"""Strength of an edge that neither end counts among its nearest: it holds a little, as part of the graph."""

IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Springs:
    """The springs of every node in rows: `starts` int64[n + 1], `others` int32[m], `strengths` float32[m], sum 1."""

    starts: NDArray[np.int64]
    others: NDArray[np.int32]
    strengths: NDArray[np.float32]

    @property
    def count(self) -> int:
        return len(self.starts) - 1

    def reordered(self, order: IntArray) -> Springs:
        """Return the springs with node order[r] as node r. Compiled only."""
        from vector.layout_kernels import reorder

        number = np.empty(self.count, np.int32)
        number[order] = np.arange(self.count, dtype=np.int32)
        net = Springs(np.empty_like(self.starts), np.empty_like(self.others), np.empty_like(self.strengths))
        reorder(self.starts, self.others, self.strengths, order, number, net.starts, net.others, net.strengths)
        return net


def compiles(count: int) -> bool:
    """Return whether the compiled kernels serve a layout of `count` nodes; without numba, numpy does."""
    return count >= COMPILED_FROM and kernels_available()


def springs(count: int, edges: IntArray, weights: NDArray[np.float64], k: int) -> Springs:
    """Return the springs of undirected `edges`, int64[e, 2], each once, with weights float64[e].

    A node divides one unit of strength evenly among its k heaviest edges, and an edge is as strong as both
    ends make it. Against springs as strong as the weights this keeps a tenth more neighbourhoods: otherwise
    nodes with many edges pull everything, and near and far neighbours pull alike.
    """
    degree = np.bincount(edges.ravel(), minlength=count)
    starts = np.concatenate([[0], np.cumsum(degree)]).astype(np.int64)
    build = _compiled_rows if compiles(count) else _plain_rows
    others, edge_of, strength = build(starts, edges, weights, k)
    np.maximum(strength, _FAINT / k, out=strength)
    total = float(2.0 * strength.sum()) or 1.0
    if build is _plain_rows:
        return Springs(starts, others, (strength / total)[edge_of].astype(np.float32))
    from vector.layout_kernels import divide

    strengths = np.empty(len(others), np.float32)
    divide(edge_of, strength, total, strengths)
    return Springs(starts, others, strengths)


def components(count: int, edges: IntArray) -> IntArray:
    """Return int64[count]: the number of each node's connected component, in the order of their first nodes."""
    if compiles(count):
        from vector.layout_kernels import link

        parent = np.arange(count, dtype=np.int32)
        link(edges, parent)
        return parent.astype(np.int64)
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(edges), np.int8), (edges[:, 0], edges[:, 1])), shape=(count, count))
    _, labels = connected_components(graph.tocsr(), directed=False)
    return labels.astype(np.int64)


def _compiled_rows(starts: IntArray, edges: IntArray, weights: NDArray[np.float64], k: int) -> tuple[Any, Any, Any]:
    """Return (others int32[2e], the edge of each int32[2e], strength of each edge float64[e])."""
    from vector.layout_kernels import fill_rows, share_out

    others, edge_of = np.empty(2 * len(edges), np.int32), np.empty(2 * len(edges), np.int32)
    strength = np.zeros(len(edges))
    fill_rows(edges, starts, others, edge_of)
    share_out(starts, others, edge_of, weights, k, strength)
    return others, edge_of, strength


def _plain_rows(starts: IntArray, edges: IntArray, weights: NDArray[np.float64], k: int) -> tuple[Any, Any, Any]:
    """As `_compiled_rows`, with the same result."""
    half = len(edges)
    tails, heads = edges.T.ravel(), edges[:, ::-1].T.ravel()
    order = np.lexsort((heads, -np.concatenate([weights, weights]), tails))
    rank = np.empty(2 * half, np.int64)
    rank[order] = np.arange(2 * half) - starts[tails[order]]
    degree = np.diff(starts)[tails]
    given = np.where(rank < k, 1.0 / np.minimum(np.maximum(degree, 1), k), 0.0)
    rows = np.argsort(tails, kind="stable")
    edge_of = np.tile(np.arange(half, dtype=np.int32), 2)[rows]
    return heads[rows].astype(np.int32), edge_of, given[:half] + given[half:]
