"""One thinking pair and how it ended: the values that relation research hands around (spec 04)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from data.edges import relation_between
from data.models import Edge, Label, Node, PairDecision, PairState, RelationType
from data.nodes import nodes_by_ids
from data.pairs import get_decision
from data.store import Store
from research.hits import FetchBudget
from research.pair_reasons import Reason

__all__ = ["PairOutcome", "RelationPolicy", "ThinkingPair", "load_pair"]


@dataclass(frozen=True, slots=True)
class RelationPolicy:
    """Knobs of relation research; retry times are those of spec 04."""

    budget: FetchBudget = field(default_factory=FetchBudget)
    error_backoff: timedelta = timedelta(minutes=10)
    error_backoff_max: timedelta = timedelta(days=1)
    insufficient_retry: timedelta = timedelta(days=7)
    rejected_retry: timedelta = timedelta(days=30)
    shown_body: int = 4_000
    """Characters of a node's text that a reasoner is shown."""
    shown_passage: int = 2_500


@dataclass(frozen=True, slots=True)
class PairOutcome:
    """How one pair ended. `detail` is what was stored for `brain pairs show`."""

    source_id: str
    target_id: str
    state: PairState
    reason: Reason
    relation_type: RelationType | None = None
    edge_id: str | None = None
    """The relation that was accepted, that still stands, or that was withdrawn (`withdrawn`)."""
    evidence: int = 0
    withdrawn: bool = False
    detail: Mapping[str, Any] = field(default_factory=dict)

    @property
    def asked(self) -> bool:
        """Tell whether the reasoner was asked, and not only the two labels looked at."""
        return self.reason is not Reason.NOT_RELATED or self.detail.get("plan") is not None

    @property
    def accepted(self) -> bool:
        return self.state is PairState.ACCEPTED


@dataclass(frozen=True, slots=True)
class ThinkingPair:
    """Two active nodes, lower id first, with their last decision and the relation that joins them, if any."""

    source: Node
    target: Node
    last: PairDecision | None
    relation: Edge | None

    @property
    def labels(self) -> tuple[Label, Label]:
        return Label(self.source.id, self.source.label), Label(self.target.id, self.target.label)

    @property
    def unchanged(self) -> bool:
        """Tell whether the last decision was made on the present content."""
        return self.last is not None and (self.last.source_hash, self.last.target_hash) == (
            self.source.content_hash,
            self.target.content_hash,
        )


async def load_pair(store: Store, low: str, high: str) -> ThinkingPair | None:
    """Return the pair as it stands in the store, None where one of its nodes is not in the graph any more."""
    found = await store.read(nodes_by_ids, (low, high))
    if len(found) < 2 or not all(node.active for node in found.values()):
        return None
    decision = await store.read(get_decision, low, high)
    return ThinkingPair(found[low], found[high], decision, await store.read(relation_between, low, high))
