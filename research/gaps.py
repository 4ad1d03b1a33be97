"""What a gap is, and the graph as the finders of gaps look at it (spec 05). Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from data.graph import GraphSnapshot
from data.models import ArticleType, NodeKind
from research.communities import find_communities
from research.duplicates import DuplicatePolicy
from research.private import DEFAULT_POLICY, GuardPolicy
from research.wording import Rarity, Reading, read_node

__all__ = ["KINDS", "REFERENCES", "GraphView", "Opportunity", "OpportunityPolicy"]

KINDS: Final = ("asked", "stale", "missing_reference", "uncovered_cluster", "orphan", "weak_bridge")

REFERENCES: Final = frozenset({NodeKind.ARTICLE, NodeKind.DOCUMENT, NodeKind.SECTION, NodeKind.TECHNIQUE})
"""What answers for a whole cluster."""


@dataclass(frozen=True, slots=True)
class OpportunityPolicy:
    """Thresholds of the six kinds, chosen by hand on the shipped sample; on no other corpus have gaps been labelled."""

    orphan_min_chars: int = 40
    """A node with less body is a heading, not content."""
    orphan_max_edges: int = 2
    """Vector edges a node may have and still count as an orphan: with three it sits in a neighbourhood."""
    orphan_max_weight: float = 0.62
    """Similarity that no edge of an orphan reaches: from here on, two texts speak of one subject."""
    cluster_min_weight: float = 0.50
    """Vector edges below it do not bind a community together."""
    cluster_min_tickets: int = 3
    reference_min_chars: int = 150
    """A reference with less body is a stub ("steps not written yet") and answers nothing."""
    mention_min_nodes: int = 2
    bridge_min_members: int = 4
    bridge_min_cohesion: float = 0.55
    """Mean weight inside a community from which it is a strong one."""
    bridge_max_weight: float = 0.60
    evidence_max_age: timedelta = timedelta(days=365)
    max_seeds: int = 12
    max_each: int = 500
    """Gaps of one kind in a list. Large, because what was answered stays in the graph and in the list."""
    resolution: float = 1.2
    privacy: GuardPolicy = DEFAULT_POLICY
    duplicates: DuplicatePolicy = field(default_factory=DuplicatePolicy)


@dataclass(frozen=True, slots=True)
class Opportunity:
    """One gap. `topic` is made of public labels only; `seeds` are node ids and never leave the house."""

    kind: str
    topic: str
    score: float
    seeds: tuple[str, ...]
    why: str
    language: str
    questions: tuple[str, ...] = ()
    """What was asked literally, for the kinds `asked` and `stale`."""
    article_type: ArticleType | None = None


class GraphView:
    """A snapshot taken apart once: readings of the nodes, neighbours, communities."""

    def __init__(self, graph: GraphSnapshot, policy: OpportunityPolicy) -> None:
        self.graph = graph
        self.policy = policy
        self.readings = [read_node(node, policy.privacy) for node in graph.nodes]
        self.rarity = Rarity(self.readings)
        self.edges: dict[int, list[tuple[int, float]]] = defaultdict(list)
        for a, b, weight in graph.vectors:
            self.edges[a].append((b, weight))
            self.edges[b].append((a, weight))
        self.related = frozenset(place for pair in graph.relations for place in pair)
        strong = [edge for edge in graph.vectors if edge[2] >= policy.cluster_min_weight]
        bound = [*strong, *((a, b, 1.0) for a, b in graph.relations)]
        self.communities = [
            members
            for members in find_communities(len(graph.nodes), bound, resolution=policy.resolution)
            if len(members) > 1
        ]

    def central_first(self, places: Iterable[int]) -> list[int]:
        """Return nodes by the weight they have among each other, heaviest first, then by place."""
        among = set(places)
        weight = {place: sum(w for other, w in self.edges[place] if other in among) for place in among}
        return sorted(among, key=lambda place: (-weight[place], place))

    def seeds(self, readings: Sequence[Reading]) -> tuple[str, ...]:
        """Return the ids of the first few nodes, sorted."""
        return tuple(sorted(reading.node.id for reading in readings[: self.policy.max_seeds]))

    def answers(self, place: int) -> bool:
        """Return whether the node is a reference with something in it."""
        node = self.graph.nodes[place]
        return node.kind in REFERENCES and len(node.body) >= self.policy.reference_min_chars
