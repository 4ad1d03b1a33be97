"""The graph as the finders of gaps look at it: readings of the nodes, neighbours, communities (spec 05). Pure.

Edges are columns, communities numbers: a hundred thousand nodes and a million edges take some hundred megabytes, and
no step holds the interpreter for long. Nodes are places 0 to n − 1, in order of what they say.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from data.edges import EdgeArrays
from data.graph import GraphSnapshot
from research.bridges import split_at_weak_edges
from research.communities import find_communities
from research.gaps import REFERENCES, OpportunityPolicy
from research.reading import Reading, unpack
from research.wording import Rarity

__all__ = ["GraphView"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class GraphView:
    """A snapshot taken apart once.

    `pairs` int64[e, 2] and `weights` float64[e] are the vector edges, lower place first, in order; `related_pairs`
    the relations likewise; `home` int64[n] is the community of each node, −1 for one that stands alone.
    """

    def __init__(self, graph: GraphSnapshot, policy: OpportunityPolicy) -> None:
        self.graph = graph
        self.policy = policy
        self.place = {node.id: place for place, node in enumerate(graph.nodes)}
        self.rarity = Rarity(graph.nodes)
        self._readings: dict[int, Reading] = {}
        self.pairs, self.weights = self._edges(graph.vectors)
        self.related_pairs, _ = self._edges(graph.relations)
        self._start, self._near, self._weight = _by_node(len(graph.nodes), self.pairs, self.weights)
        self.degree: Ints = np.diff(self._start)
        self.nearest: Floats = _highest(self._start, self._weight)
        self.related: NDArray[np.bool_] = np.zeros(len(graph.nodes), dtype=bool)
        self.related[self.related_pairs.ravel()] = True
        self.home, self.communities = self._communities()

    def reading(self, place: int) -> Reading:
        """Return what the node at `place` speaks of; each is unpacked once."""
        found = self._readings.get(place)
        if found is None:
            found = self._readings[place] = unpack(self.graph.nodes[place])
        return found

    def near(self, place: int) -> tuple[Ints, Floats]:
        """Return the neighbours of a node by vector edges, in order of place, and the weights."""
        span = slice(int(self._start[place]), int(self._start[place + 1]))
        return self._near[span], self._weight[span]

    def among(self, places: Iterable[int]) -> dict[int, Floats]:
        """Return for each node, in order of place, the weights of its edges to the others of `places`."""
        chosen = sorted(set(places))
        inside = np.zeros(len(self.graph.nodes), dtype=bool)
        inside[chosen] = True
        found = {}
        for place in chosen:
            others, weights = self.near(place)
            found[place] = weights[inside[others]]
        return found

    def central_first(self, places: Iterable[int]) -> list[int]:
        """Return nodes by the weight they have among each other, heaviest first, then by place."""
        weight = {place: float(weights.sum()) for place, weights in self.among(places).items()}
        return sorted(weight, key=lambda place: (-weight[place], place))

    def seeds(self, readings: Sequence[Reading]) -> tuple[str, ...]:
        """Return the ids of the first few nodes, sorted."""
        return tuple(sorted(reading.node.id for reading in readings[: self.policy.max_seeds]))

    def answers(self, place: int) -> bool:
        """Return whether the node is a reference with something in it."""
        node = self.graph.nodes[place]
        return node.kind in REFERENCES and node.chars >= self.policy.reference_min_chars

    def _edges(self, arrays: EdgeArrays) -> tuple[Ints, Floats]:
        """Return the edges between nodes of the graph by place, without loops, in order."""
        place = np.array([self.place.get(node_id, -1) for node_id in arrays.ids], dtype=np.int64)
        if not len(arrays.sources):
            return np.empty((0, 2), np.int64), np.empty(0)
        a, b = place[np.frombuffer(arrays.sources, np.int32)], place[np.frombuffer(arrays.targets, np.int32)]
        weights = np.frombuffer(arrays.weights, np.float64)
        kept = (a >= 0) & (b >= 0) & (a != b)
        low, high, weights = np.minimum(a, b)[kept], np.maximum(a, b)[kept], weights[kept]
        order = np.lexsort((weights, high, low))
        return np.stack([low, high], axis=1)[order], weights[order]

    def _communities(self) -> tuple[Ints, list[tuple[int, ...]]]:
        """Return the community of each node, and the communities of two and more, largest first, then by place."""
        policy, count = self.policy, len(self.graph.nodes)
        strong = self.weights >= policy.cluster_min_weight
        pairs = np.concatenate([self.pairs[strong], self.related_pairs])
        weights = np.concatenate([self.weights[strong], np.ones(len(self.related_pairs))])
        member = np.full(count, -1, dtype=np.int64)
        table = np.column_stack([pairs, weights])
        for number, members in enumerate(find_communities(count, table, resolution=policy.resolution)):
            if len(members) > 1:
                member[list(members)] = number
        member = split_at_weak_edges(member, pairs, weights < policy.bridge_max_weight, policy.bridge_min_members)
        found = [part for part in _groups(member) if len(part) > 1]
        found.sort(key=lambda members: (-len(members), members))
        home = np.full(count, -1, dtype=np.int64)
        for number, members in enumerate(found):
            home[list(members)] = number
        return home, found


def _groups(member: Ints) -> list[tuple[int, ...]]:
    """Return the nodes of each community, −1 left out, each sorted."""
    order = np.argsort(member, kind="stable")
    order = order[member[order] >= 0]
    ends = np.flatnonzero(np.diff(member[order])) + 1
    return [tuple(part.tolist()) for part in np.split(order, ends) if len(part)]


def _by_node(nodes: int, pairs: Ints, weights: Floats) -> tuple[Ints, Ints, Floats]:
    """Return the edges of each node: where they start in the other two arrays, the neighbours, the weights."""
    ends = np.concatenate([pairs[:, 0], pairs[:, 1]])
    others = np.concatenate([pairs[:, 1], pairs[:, 0]])
    order = np.lexsort((others, ends))
    start = np.zeros(nodes + 1, dtype=np.int64)
    np.cumsum(np.bincount(ends, minlength=nodes), out=start[1:])
    return start, others[order], np.concatenate([weights, weights])[order]


def _highest(start: Ints, weight: Floats) -> Floats:
    """Return the highest weight of each node's edges, 0 where it has none."""
    found: Floats = np.zeros(len(start) - 1)
    held = np.flatnonzero(np.diff(start))
    if len(held):
        found[held] = np.maximum(np.maximum.reduceat(weight, start[held]), 0.0)
    return found
