"""Seeded vectors and graphs that stand for real ones: the same arguments give the same data on every machine.

`sphere_mixture` imitates embeddings of technical texts: topics of uneven size around random centres on the
sphere, and inside a topic a spread whose variance falls off as 1/rank over the directions (about 26 effective
dimensions at 384), because real embeddings do not fill their space evenly.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vector.neighbours import nearest_neighbours

__all__ = ["neighbour_graph", "plane_graph", "sphere_mixture"]

_NODES_A_CLUSTER = 200
_UNEVEN = 1.0
"""Standard deviation of the logarithm of the clusters' sizes: the largest of fifty is about ten times the median."""
_SPREAD = 1.0
"""Length of the spread beside a centre of length 1: two nodes of one cluster are about 0.5 alike."""


def sphere_mixture(
    count: int, *, dim: int = 384, seed: int = 1, clusters: int | None = None, spread: float = _SPREAD
) -> NDArray[np.float32]:
    """Return float32[count, dim], unit rows in random order, of `clusters` (default: one for each 200 nodes)."""
    rng = np.random.default_rng(seed)
    number = clusters or max(8, count // _NODES_A_CLUSTER)
    centres = rng.standard_normal((number, dim))
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    share = rng.lognormal(0.0, _UNEVEN, number)
    member = rng.choice(number, count, p=share / share.sum())
    scale = 1.0 / np.sqrt(1.0 + np.arange(dim))
    scale *= spread / np.linalg.norm(scale)
    basis = np.linalg.qr(rng.standard_normal((dim, dim)))[0].astype(np.float32)
    vectors = np.empty((count, dim), np.float32)
    for start in range(0, count, 10_000):
        part = slice(start, start + 10_000)
        noise = (rng.standard_normal((len(member[part]), dim)) * scale).astype(np.float32) @ basis
        block = centres[member[part]] + noise
        vectors[part] = block / np.linalg.norm(block, axis=1, keepdims=True)
    return vectors


def neighbour_graph(vectors: NDArray[np.float32], k: int = 12) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return (edges int64[e, 2], weights float64[e]): each pair of which one lists the other among its k nearest.

    Lower row first, ascending; the weight is the similarity, held above 0.01.
    """
    found = nearest_neighbours(vectors, k)
    rows, places = np.nonzero(found.indices >= 0)
    others, near = found.indices[rows, places], found.similarities[rows, places].astype(np.float64)
    low, high = np.minimum(rows, others), np.maximum(rows, others)
    _, first = np.unique(low * len(vectors) + high, return_index=True)
    return np.stack([low[first], high[first]], axis=1), np.maximum(near[first], 0.01)


def plane_graph(
    count: int, *, seed: int = 1, edges_a_node: int = 12
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]:
    """Return (places float64[count, 2], edges int64[edges_a_node·count, 2], weights float64): a picture and its graph.

    It stands for a large map where exact neighbours of vectors would take an hour: places in uneven clusters,
    numbered at random, each joined to some of its 56 nearest, so that about a quarter of a node's twelve nearest
    are its neighbours, as in a picture of real vectors. The 99th percentile of the radius is 1.
    """
    from scipy.spatial import cKDTree

    rng = np.random.default_rng(seed)
    number = max(8, count // 2_000)
    centres = rng.uniform(-1.0, 1.0, (number, 2))
    share = rng.lognormal(0.0, _UNEVEN, number)
    member = rng.choice(number, count, p=share / share.sum())
    places = centres[member] + rng.standard_normal((count, 2)) * (0.5 / np.sqrt(number))
    # Some pairs choose each other: a sixth more than wanted leaves enough of them.
    picks = -(-edges_a_node * 7 // 6)
    tree, keys, apart = cKDTree(places), [], []
    for start in range(0, count, 50_000):
        rows = np.arange(start, min(count, start + 50_000))
        distance, near = tree.query(places[rows], k=4 * picks + 1)
        chosen = 1 + rng.permuted(np.tile(np.arange(4 * picks), (len(rows), 1)), axis=1)[:, :picks]
        others = np.take_along_axis(near, chosen, axis=1)
        keys.append((np.minimum(rows[:, None], others) * count + np.maximum(rows[:, None], others)).ravel())
        apart.append(np.take_along_axis(distance, chosen, axis=1).ravel())
    key, first = np.unique(np.concatenate(keys), return_index=True)
    kept = np.sort(rng.choice(len(key), edges_a_node * count, replace=False))
    length = np.concatenate(apart)[first[kept]]
    places -= places.mean(axis=0)
    places /= np.percentile(np.sqrt((places**2).sum(axis=1)), 99)
    edges = np.stack([key[kept] // count, key[kept] % count], axis=1)
    return places, edges, 1.0 / (1.0 + length / length.mean())
