"""Communities of the graph: Louvain with a fixed seed, the same for the same edges (spec 05)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["LARGE", "find_communities", "warm_up"]


LARGE: Final = 20_000
"""Edges from which the compiled form does it: networkx takes minutes for a million. Below, a graph keeps the
communities that the thresholds of gaps were chosen on; the same graph always goes the same way."""


def find_communities(
    nodes: int, edges: Iterable[tuple[int, int, float]] | NDArray[Any], *, resolution: float = 1.0, seed: int = 7
) -> list[tuple[int, ...]]:
    """Return the communities of nodes 0 to `nodes` − 1, each sorted, largest first, then by lowest member.

    `edges` are undirected with positive weights, as triples or as the rows of float64[e, 3]; nodes without one stand
    alone. Nodes are integers all the way down, so that no order depends on the hashing of strings.
    """
    import numpy as np

    table = np.asarray(edges if isinstance(edges, np.ndarray) else list(edges), dtype=np.float64).reshape(-1, 3)
    low, high = np.minimum(table[:, 0], table[:, 1]), np.maximum(table[:, 0], table[:, 1])
    table = np.stack([low, high, table[:, 2]], axis=1)[np.lexsort((table[:, 2], high, low))]
    louvain = _compiled if len(table) >= LARGE else _by_networkx
    found = louvain(nodes, table, resolution, seed)
    return sorted((tuple(sorted(members)) for members in found), key=lambda members: (-len(members), members))


def _by_networkx(nodes: int, table: NDArray[Any], resolution: float, seed: int) -> Iterable[Iterable[int]]:
    import networkx

    graph = networkx.Graph()
    graph.add_nodes_from(range(nodes))
    graph.add_weighted_edges_from((int(a), int(b), weight) for a, b, weight in table.tolist())
    found: Iterable[Iterable[int]] = networkx.community.louvain_communities(
        graph, weight="weight", resolution=resolution, seed=seed
    )
    return found


def _compiled(nodes: int, table: NDArray[Any], resolution: float, seed: int) -> Iterable[Iterable[int]]:
    import numpy as np

    from research.louvain import louvain

    pairs = table[:, :2].astype(np.int64)
    apart = pairs[:, 0] != pairs[:, 1]
    member = louvain(nodes, pairs[apart], table[apart, 2], resolution=resolution, seed=seed)
    order = np.argsort(member, kind="stable")
    ends = np.flatnonzero(np.diff(member[order])) + 1
    return [part.tolist() for part in np.split(order, ends)]


def warm_up() -> None:
    """Run the compiled form once over a few edges: loading it holds the interpreter, seconds the first time."""
    import numpy as np

    _compiled(4, np.array([[0, 1, 1.0], [1, 2, 0.5], [2, 3, 1.0]]), 1.0, 7)
