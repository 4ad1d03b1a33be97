"""Communities of the graph: Louvain with a fixed seed, the same for the same edges (spec 05)."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["find_communities"]


def find_communities(
    nodes: int, edges: Iterable[tuple[int, int, float]], *, resolution: float = 1.0, seed: int = 7
) -> list[tuple[int, ...]]:
    """Return the communities of nodes 0 to `nodes` − 1, each sorted, largest first, then by lowest member.

    `edges` are undirected with positive weights; nodes without one stand alone. Nodes are integers all the
    way down, so that no order depends on the hashing of strings.
    """
    import networkx

    graph = networkx.Graph()
    graph.add_nodes_from(range(nodes))
    graph.add_weighted_edges_from(sorted((min(a, b), max(a, b), weight) for a, b, weight in edges))
    found = networkx.community.louvain_communities(graph, weight="weight", resolution=resolution, seed=seed)
    return sorted((tuple(sorted(members)) for members in found), key=lambda members: (-len(members), members))
