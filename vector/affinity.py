"""From similarities to vector edges (spec 03, "Affinity and vector edges"). Pure: arrays in, arrays out.

Cosine similarity alone makes hubs: a few generic nodes that are near everything. The affinity takes from
a pair's similarity how near each of the two is to its own surroundings (cross-domain similarity local
scaling, Conneau et al. 2018), so that a hub has to be nearer than usual to get an edge.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from vector.neighbours import BLOCK_BYTES, Neighbours, NeighbourState
from vector.rowblocks import BlockLists
from vector.selection import Tick, nearest_of_rows

__all__ = [
    "DUPLICATE_SIMILARITY",
    "EdgeDifference",
    "VectorGraph",
    "affinities",
    "edge_difference",
    "local_scale",
    "mutual_edges",
    "vector_graph",
]

DUPLICATE_SIMILARITY: Final = 0.995
"""Above this two texts say the same (spec 03)."""
CHANGED: Final = 1e-4
"""A weight or affinity that moved by no more than this is left as it stands (spec 03)."""

FloatArray = NDArray[np.float32]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class VectorGraph:
    """Undirected edges: `source` < `target`, int64[e], ascending; `similarity` float32[e]; `affinity` float64[e].

    `duplicate`, bool[e], marks the edges that say "the same text": in a group of like texts they form a
    tree, and its other pairs have no edge. `keeper`, int64[n], is the member that stands for each row's
    group in the graph: the lowest row, the row itself where it has no duplicate.
    """

    source: IntArray
    target: IntArray
    similarity: FloatArray
    affinity: NDArray[np.float64]
    duplicate: NDArray[np.bool_]
    keeper: IntArray


def local_scale(neighbours: Neighbours) -> NDArray[np.float64]:
    """Return r, float64[n]: a row's mean similarity to its k nearest, 0 for a row that has none.

    The lists must have been computed without a threshold, or r would say nothing about sparse places.
    """
    present = ~np.isnan(neighbours.similarities)
    number = present.sum(axis=1)
    total = np.where(present, neighbours.similarities, np.float32(0.0)).sum(axis=1, dtype=np.float64)
    scale: NDArray[np.float64] = np.divide(total, number, out=np.zeros(len(total)), where=number > 0)
    return scale


def affinities(
    similarity: FloatArray, source: IntArray, target: IntArray, scale: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return 2·cos(a, b) − r(a) − r(b) for each pair."""
    found: NDArray[np.float64] = 2.0 * similarity.astype(np.float64) - scale[source] - scale[target]
    return found


def mutual_edges(
    neighbours: Neighbours, *, min_similarity: float, min_affinity: float
) -> tuple[IntArray, IntArray, FloatArray, NDArray[np.float64]]:
    """Return (source, target, similarity, affinity) of all pairs where one lists the other and both limits hold."""
    source, target, similarity = _listed_pairs(neighbours, np.float32(min_similarity))
    affinity = affinities(similarity, source, target, local_scale(neighbours))
    kept = affinity >= min_affinity
    return source[kept], target[kept], similarity[kept], affinity[kept]


def vector_graph(
    vectors: FloatArray,
    state: NeighbourState,
    *,
    min_similarity: float = 0.45,
    min_affinity: float = -0.10,
    duplicate_similarity: float = DUPLICATE_SIMILARITY,
    block_bytes: int = BLOCK_BYTES,
    threads: int | None = None,
    tick: Tick | None = None,
    blocks: BlockLists | None = None,
) -> VectorGraph:
    """Return the vector edges of the living rows of `state`, whose lists belong to `vectors`.

    Texts nearer than `duplicate_similarity` form groups first. One of each group, the lowest row, takes
    part in the graph; the others hang on the group by `duplicate` edges alone. Otherwise a dozen copies
    of one ticket would fill each other's lists, push their local scale to 1 and lose every other edge.
    """
    count = len(state.alive)
    groups = _Groups(count)
    lists = state.neighbours()
    near = np.float32(duplicate_similarity)
    pairs = _listed_pairs(Neighbours(state.indices.astype(np.int64), state.similarities), near)
    while groups.join(*pairs, near):
        # Groups too large for their lists show only when their keepers are compared with each other.
        lists = _lists_of_keepers(vectors, state, groups.keeper, block_bytes, threads, tick, blocks)
        pairs = _listed_pairs(lists, near)
    edges = mutual_edges(lists, min_similarity=min_similarity, min_affinity=min_affinity)
    return _assembled(edges, groups, local_scale(lists))


class _Groups:
    """Rows joined by pairs of duplicates, and the pairs that joined them (a spanning tree of each group)."""

    def __init__(self, count: int) -> None:
        self.keeper: IntArray = np.arange(count, dtype=np.int64)
        self.marks: list[tuple[int, int, float]] = []

    def join(self, source: IntArray, target: IntArray, similarity: FloatArray, above: np.float32) -> bool:
        """Join what is nearer than `above`; return whether any group grew."""
        near = np.flatnonzero(similarity > above)
        if not near.size:
            return False
        # Nearest pairs first, so that a mark joins the likest two; ties go to the lower rows.
        order = near[np.lexsort((target[near], source[near], -similarity[near]))]
        parent = self.keeper
        before = len(self.marks)
        for index in order.tolist():
            left, right = self._root(int(source[index])), self._root(int(target[index]))
            if left != right:
                parent[max(left, right)] = min(left, right)
                self.marks.append((int(source[index]), int(target[index]), float(similarity[index])))
        while (parent[parent] != parent).any():
            parent[:] = parent[parent]
        return len(self.marks) > before

    def _root(self, row: int) -> int:
        parent = self.keeper
        while parent[row] != row:
            parent[row] = parent[parent[row]]
            row = int(parent[row])
        return row


def _listed_pairs(neighbours: Neighbours, least: np.float32) -> tuple[IntArray, IntArray, FloatArray]:
    """Return (lower, higher, similarity) of the pairs of which one lists the other at `least` or nearer, once each."""
    count = len(neighbours.indices)
    row, place = np.nonzero((neighbours.indices >= 0) & (neighbours.similarities >= least))
    other, similarity = neighbours.indices[row, place], neighbours.similarities[row, place]
    low, high = np.minimum(row, other), np.maximum(row, other)
    # Both directions carry the same exact similarity, so either copy will do.
    _, first = np.unique(low * count + high, return_index=True)
    return low[first], high[first], similarity[first]


def _lists_of_keepers(
    vectors: FloatArray,
    state: NeighbourState,
    keeper: IntArray,
    block_bytes: int,
    threads: int | None,
    tick: Tick | None,
    blocks: BlockLists | None,
) -> Neighbours:
    """Return the first k among keepers alone, for keepers; other rows have empty lists."""
    count = len(keeper)
    standing = state.alive & (keeper == np.arange(count))
    indices = np.where(standing[:, None], state.indices, -1)
    away = (indices < 0) | ~standing[np.where(indices >= 0, indices, 0)]
    order = np.argsort(away, axis=1, kind="stable")[:, : state.k]
    gone = np.take_along_axis(away, order, axis=1)
    ids = np.where(gone, -1, np.take_along_axis(indices, order, axis=1)).astype(np.int64)
    similarities = np.where(gone, np.float32(np.nan), np.take_along_axis(state.similarities, order, axis=1))
    short = np.flatnonzero(standing & (ids[:, -1] < 0) & (state.floor > -np.inf))
    if short.size:
        lists_of = blocks or partial(nearest_of_rows, vectors, block_bytes=block_bytes, threads=threads)
        lists = lists_of(short, state.k, alive=standing, tick=tick)
        ids[short], similarities[short] = lists.ids, lists.similarities
    return Neighbours(ids, similarities)


def _assembled(
    edges: tuple[IntArray, IntArray, FloatArray, NDArray[np.float64]],
    groups: _Groups,
    scale: NDArray[np.float64],
) -> VectorGraph:
    """Return edges and marks in one order."""
    marks = np.array([(low, high) for low, high, _ in groups.marks], np.int64).reshape(-1, 2)
    nearness = np.array([similarity for _, _, similarity in groups.marks], np.float32)
    # A duplicate stands where its keeper stands, so the keeper's scale is the scale of both ends.
    own = scale[groups.keeper[marks[:, 0]]]
    source, target = np.concatenate([edges[0], marks[:, 0]]), np.concatenate([edges[1], marks[:, 1]])
    similarity = np.concatenate([edges[2], nearness])
    affinity = np.concatenate([edges[3], 2.0 * nearness.astype(np.float64) - 2.0 * own])
    duplicate = np.concatenate([np.zeros(len(edges[0]), np.bool_), np.ones(len(marks), np.bool_)])
    order = np.lexsort((target, source))
    return VectorGraph(
        source[order], target[order], similarity[order], affinity[order], duplicate[order], groups.keeper
    )


@dataclass(frozen=True, slots=True)
class EdgeDifference:
    """What to write: `put` int64, edges of the new graph that are new or changed; `added` bool[len(put)];
    `removed` int64, edges of the old one that went; `kept`, the number of edges that stay as they stand."""

    put: IntArray
    added: NDArray[np.bool_]
    removed: IntArray
    kept: int


def edge_difference(
    old: tuple[IntArray, NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]],
    new: tuple[IntArray, NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]],
    *,
    changed: float = CHANGED,
) -> EdgeDifference:
    """Compare two graphs given as (pair key, weight, affinity, duplicate), keys unique and ascending.

    An edge has changed when its weight or affinity differs by more than `changed`, or its mark differs.
    """
    shared, in_old, in_new = np.intersect1d(old[0], new[0], assume_unique=True, return_indices=True)
    moved = np.abs(old[1][in_old] - new[1][in_new]) > changed
    # An affinity that cannot be read (NaN) is no reason to keep an edge as it stands.
    moved |= ~(np.abs(old[2][in_old] - new[2][in_new]) <= changed)
    moved |= old[3][in_old] != new[3][in_new]
    going, coming = np.ones(len(old[0]), np.bool_), np.ones(len(new[0]), np.bool_)
    going[in_old] = coming[in_new] = False
    removed, fresh = np.flatnonzero(going), np.flatnonzero(coming)
    put = np.concatenate([fresh, in_new[moved]])
    order = np.argsort(put, kind="stable")
    added = np.concatenate([np.ones(len(fresh), np.bool_), np.zeros(int(moved.sum()), np.bool_)])
    return EdgeDifference(put[order], added[order], removed, len(shared) - int(moved.sum()))
