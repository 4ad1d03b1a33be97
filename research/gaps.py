"""What a gap is, and the thresholds by which one is seen (spec 05). Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from data.models import ArticleType, NodeKind
from research.duplicates import DuplicatePolicy
from research.private import DEFAULT_POLICY, GuardPolicy

__all__ = ["KINDS", "REFERENCES", "Opportunity", "OpportunityPolicy"]

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
