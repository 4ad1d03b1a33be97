"""Full layout of a neighbour graph beside the layouts that people use for it.

Everybody starts from the same exact neighbour graph (12 nearest, cosine) and draws 2-D. Ours is run again before
each peer, so that a busy minute falls on both; a peer runs once, on one thread, after a small run that compiles
it. What each is given, its settings being its own defaults otherwise:

- umap-learn: the lists as `precomputed_knn`, 200 epochs (its default above 10,000 nodes);
- openTSNE: the graph as precomputed affinities with its spectral start, 750 iterations. From the vectors, with its
  default perplexity, it took longer and kept less;
- pacmap: the lists as its near pairs; it takes the vectors as well, for its start and its other pairs;
- igraph DrL and Fruchterman-Reingold: the weighted graph;
- fa2: the weighted graph, 100 iterations with Barnes-Hut, from a random start;
- networkx spring_layout: the weighted graph, 50 iterations, at 2,000 nodes alone.

NP is the share of a node's 12 nearest that are among its 12 nearest in the picture, over all nodes.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_matrix
from scipy.spatial import cKDTree

from benchmarks.graphs import neighbour_graph, sphere_mixture
from benchmarks.measure import Row, interleaved
from vector.layout import LayoutPolicy, full_layout
from vector.quality import layout_quality

__all__ = ["LayoutGraph", "layout_graph", "preserved", "rows"]

K = 12
SEED = 1
OURS = "Neural Brain, full layout"
Draw = Callable[["LayoutGraph"], Any]


@dataclass(frozen=True, slots=True)
class LayoutGraph:
    """`near`: int64[n, 12], descending similarity; `similar`: float64[n, 12]; edges and weights of their union."""

    vectors: NDArray[np.float32]
    edges: NDArray[np.int64]
    weights: NDArray[np.float64]
    near: NDArray[np.int64]
    similar: NDArray[np.float64]

    def matrix(self) -> Any:
        """Return the weighted adjacency, both ways, as a scipy CSR matrix."""
        a, b = self.edges.T
        ends = (np.concatenate([a, b]), np.concatenate([b, a]))
        return csr_matrix((np.tile(self.weights, 2), ends), shape=(len(self.near),) * 2)


def layout_graph(vectors: NDArray[np.float32]) -> LayoutGraph:
    """Return the exact graph of `vectors`. A node's 12 heaviest edges are its 12 nearest: an edge that only the
    other end lists is lighter than all twelve."""
    edges, weights = neighbour_graph(vectors, K)
    tails, heads, both = edges.T.ravel(), edges[:, ::-1].T.ravel(), np.tile(weights, 2)
    order = np.lexsort((heads, -both, tails))
    starts = np.searchsorted(tails[order], np.arange(len(vectors)))
    first = order[starts[:, None] + np.arange(K)]
    return LayoutGraph(vectors, edges, weights, heads[first], both[first])


def preserved(places: NDArray[np.float64], near: NDArray[np.int64]) -> float:
    """Return NP: the mean share of near[i] among as many nearest to places[i]."""
    count, k = near.shape
    _, found = cKDTree(places).query(places, k=k + 1)
    own = found == np.arange(count)[:, None]
    own[~own.any(axis=1), -1] = True  # a stack of nodes in one point need not list the node itself
    found = found[~own].reshape(count, k)
    return float((near[:, :, None] == found[:, None, :]).any(axis=2).mean())


def rows(profile: str) -> list[Row]:
    """Return the rows of 2,000 and 10,000 nodes, without those that take minutes; full: all of them, and 50,000."""
    quick = {"umap-learn": _umap, "pacmap": _pacmap, "fa2": _forceatlas}
    small = quick | {"igraph DrL": _drl, "igraph Fruchterman-Reingold": _fruchterman}
    if profile == "quick":
        return compared(2_000, small) + compared(10_000, {"umap-learn": _umap, "pacmap": _pacmap})
    return (
        compared(2_000, small | {"networkx spring": _spring, "openTSNE": _tsne})
        + compared(10_000, small | {"openTSNE": _tsne})
        + compared(50_000, quick | {"igraph DrL": _drl})
    )


def compared(size: int, peers: dict[str, Draw], *, seed: int = SEED) -> list[Row]:
    """Return our row and one of each peer, on the graph of `size` nodes with this seed."""
    graph = layout_graph(sphere_mixture(size, seed=seed))
    small = layout_graph(sphere_mixture(1_200, seed=99))
    ours, others = Row("layout", OURS, size), []
    _ours(small)

    def figures(_: str, places: Any) -> dict[str, float]:
        at = np.asarray(places, np.float64)
        quality = layout_quality(at, graph.edges, graph.weights)
        return {"NP": preserved(at, graph.near), "stress": quality.stress, "overlap": quality.overlap}

    for name, draw in peers.items():
        _warm(draw, small)
        cases = {OURS: lambda: _ours(graph), name: lambda draw=draw: draw(graph)}
        mine, theirs = interleaved("layout", size, cases, rounds=1, figures=figures)
        ours.cpu += mine.cpu
        ours.wall += mine.wall
        ours.figures = mine.figures
        others.append(theirs)
    return [ours, *others]


def _warm(draw: Draw, graph: LayoutGraph) -> None:
    """Let a peer compile what it compiles; one that is missing is told when it is measured."""
    if draw in {_umap, _pacmap}:
        try:
            draw(graph)
        except ImportError:
            return


def _ours(graph: LayoutGraph) -> NDArray[np.float64]:
    rng = np.random.default_rng(SEED)
    return full_layout(len(graph.near), graph.edges, graph.weights, LayoutPolicy(), rng)


def _umap(graph: LayoutGraph) -> Any:
    import umap

    count = len(graph.near)
    # Its lists begin with the node itself.
    lists = np.column_stack([np.arange(count), graph.near]).astype(np.int32)
    apart = np.column_stack([np.zeros(count), 1.0 - graph.similar]).clip(0.0).astype(np.float32)
    reducer = umap.UMAP(
        n_neighbors=K + 1, metric="cosine", precomputed_knn=(lists, apart), n_epochs=200, random_state=SEED, n_jobs=1
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return reducer.fit_transform(graph.vectors)


def _pacmap(graph: LayoutGraph) -> Any:
    import pacmap

    count = len(graph.near)
    pairs = np.stack([np.repeat(np.arange(count), K), graph.near.ravel()], axis=1).astype(np.int32)
    reducer = pacmap.PaCMAP(n_neighbors=K, pair_neighbors=pairs, distance="angular", random_state=SEED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return reducer.fit_transform(graph.vectors)


def _tsne(graph: LayoutGraph) -> Any:
    from openTSNE import TSNE, initialization
    from openTSNE.affinity import PrecomputedAffinities

    linked = graph.matrix()
    linked.data[:] = 1.0
    affinities = PrecomputedAffinities(linked)
    start = initialization.spectral(affinities.P, random_state=SEED)
    return TSNE(n_jobs=1, random_state=SEED).fit(affinities=affinities, initialization=start)


def _igraph(graph: LayoutGraph) -> Any:
    import igraph

    random.seed(SEED)  # igraph draws from Python's generator
    return igraph.Graph(n=len(graph.near), edges=graph.edges)


def _drl(graph: LayoutGraph) -> Any:
    return np.array(_igraph(graph).layout_drl(weights=graph.weights.tolist()).coords)


def _fruchterman(graph: LayoutGraph) -> Any:
    layout = _igraph(graph).layout_fruchterman_reingold(weights=graph.weights.tolist(), niter=50)
    return np.array(layout.coords)


def _forceatlas(graph: LayoutGraph) -> Any:
    try:
        from fa2 import ForceAtlas2
    except ImportError:
        from fa2_modified import ForceAtlas2

    start = np.random.default_rng(SEED).random((len(graph.near), 2))
    return np.array(ForceAtlas2(verbose=False).forceatlas2(graph.matrix(), pos=start, iterations=100))


def _spring(graph: LayoutGraph) -> Any:
    import networkx

    places = networkx.spring_layout(
        networkx.from_scipy_sparse_array(coo_array(graph.matrix())), iterations=50, seed=SEED
    )
    return np.array([places[node] for node in range(len(graph.near))])
