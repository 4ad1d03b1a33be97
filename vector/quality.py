"""How good a picture of a graph is, in three numbers (spec 03, "Layout")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["LayoutQuality", "layout_quality"]

SAMPLE: Final = 5000
"""Nodes whose neighbourhoods are looked at; their mean is then known within about half a percent."""
SOURCES: Final = 40
"""Nodes from which distances in the graph are measured."""
CROWDED: Final = 0.02
"""Two nodes nearer than this share of an even spacing cover each other at any useful size of their dots."""

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LayoutQuality:
    """neighbourhood_preservation: mean share of a node's graph neighbours among as many nearest in the picture
    (1 is perfect). stress: normalised difference of distances in picture and graph, 0 is perfect. overlap:
    share of nodes that another one covers."""

    neighbourhood_preservation: float
    stress: float
    overlap: float


def layout_quality(
    positions: FloatArray,
    edges: IntArray,
    weights: FloatArray | None = None,
    *,
    k: int = 12,
) -> LayoutQuality:
    """Measure `positions`, float64[n, dims], against undirected `edges`, int64[e, 2].

    A node's graph neighbours are its k heaviest (all where no weights are given). Nodes without edges count
    for overlap alone. Large graphs are sampled, always the same way.
    """
    from scipy.sparse import csr_array
    from scipy.spatial import cKDTree

    count = len(positions)
    if count < 2:
        return LayoutQuality(1.0, 0.0, 0.0)
    tree = cKDTree(positions)
    rng = np.random.default_rng(20240607)
    overlap = _overlap(positions, tree, _sample(np.arange(count), SAMPLE, rng))
    if not len(edges):
        return LayoutQuality(1.0, 0.0, overlap)
    ends = np.concatenate([edges, edges[:, ::-1]])
    strength = np.ones(len(edges)) if weights is None else weights
    both = np.concatenate([strength, strength])
    graph = csr_array((both, (ends[:, 0], ends[:, 1])), shape=(count, count))
    linked = np.flatnonzero(np.diff(graph.indptr))
    kept = _preserved(tree, graph, _sample(linked, SAMPLE, rng), k if weights is not None else None)
    return LayoutQuality(kept, _stress(positions, graph, _sample(linked, SOURCES, rng)), overlap)


def _sample(rows: IntArray, size: int, rng: np.random.Generator) -> IntArray:
    return rows if len(rows) <= size else np.sort(rng.choice(rows, size, replace=False))


def _preserved(tree: Any, graph: Any, rows: IntArray, k: int | None) -> float:
    degrees = np.diff(graph.indptr)[rows]
    wanted = np.minimum(degrees, k) if k is not None else degrees
    most = int(min(wanted.max(), tree.n - 1))
    _, nearest = tree.query(tree.data[rows], k=most + 1)
    shares = np.empty(len(rows))
    for place, (row, number) in enumerate(zip(rows.tolist(), wanted.tolist(), strict=True)):
        part = slice(graph.indptr[row], graph.indptr[row + 1])
        others, strength = graph.indices[part], graph.data[part]
        mine = others[np.lexsort((others, -strength))[:number]]
        seen = nearest[place][nearest[place] != row][:number]
        shares[place] = np.isin(mine, seen).mean()
    return float(shares.mean())


def _stress(positions: FloatArray, graph: Any, sources: IntArray) -> float:
    """Return Σ (s·picture − graph)² / Σ graph² with the best s, over pairs that a path connects."""
    from scipy.sparse.csgraph import dijkstra

    # One source at a time: the search holds the interpreter, and from all of them at once it does so for half a second.
    hops = np.stack([dijkstra(graph, directed=False, indices=row, unweighted=True) for row in sources])
    apart = np.stack([np.sqrt(((positions - positions[row]) ** 2).sum(axis=1)) for row in sources])
    counted = np.isfinite(hops) & (hops > 0)
    wanted, seen = hops[counted], apart[counted]
    square = float((seen**2).sum())
    if square == 0.0:
        return 1.0
    best = float((wanted * seen).sum()) / square
    return float(((best * seen - wanted) ** 2).sum() / (wanted**2).sum())


def _overlap(positions: FloatArray, tree: Any, rows: IntArray) -> float:
    """Return the share of `rows` nearer to another node than CROWDED of an even spacing."""
    radius = float(np.percentile(np.sqrt((positions**2).sum(axis=1)), 99))
    spacing = 2.0 * radius / len(positions) ** (1.0 / positions.shape[1])
    distance, _ = tree.query(positions[rows], k=2)
    # A stack of nodes in one point has its own distance 0 twice.
    return float((distance[:, 1] <= CROWDED * spacing).mean())
