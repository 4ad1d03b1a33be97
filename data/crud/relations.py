"""Verified writes of relations: a relation with its evidence appears whole or not at all (spec 02, 04)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from sqlalchemy import select

from data.crud.engine import Ask, Plan, Refusal, RowChange
from data.crud.evidence import EvidenceDraft, evidence_changes
from data.crud.support import Support
from data.edges import get_edge, relations_between
from data.events import THINK_RELATION_ACCEPTED
from data.models import Edge, EdgeKind, Event, Node, PairDecision, PairState, RelationType
from data.nodes import get_node, nodes_by_ids
from data.pairs import INTERNAL_RELATION, RESTORED
from data.schema import edge, pair_decision
from data.tx import Tx

__all__ = [
    "INTERNAL_RELATION",
    "RESEARCHED_RELATION",
    "AcceptRelation",
    "AcceptedRelation",
    "RestoreRelation",
    "WithdrawRelation",
]

RESEARCHED_RELATION: Final = "relation_fulltext_gate_v10"

_WITHDRAWN: Final = "withdrawn"


@dataclass(frozen=True, slots=True)
class AcceptedRelation:
    """The ids of what an accepted relation wrote."""

    edge_id: str
    evidence_ids: tuple[str, ...]
    external_node_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AcceptRelation:
    """Write a relation that passed its review, with all it rests on. `result` is an `AcceptedRelation`.

    source_id, target_id: the relation's direction.
    source_hash, target_hash: the content that was reviewed; another content is refused (`content_changed`).
    evidence: the accepted texts the review cited. Empty only where `meta["validation_state"]` is
        `INTERNAL_RELATION`; an unaccepted text is refused (`uncited`).
    passages: by sha256, the passage to show as the body of the external node.
    decision: the pair's outcome, state accepted, its ids in ascending order.
    meta: goes to the relation edge beside what this operation adds (evidence, confidence, rationale).
    """

    source_id: str
    target_id: str
    relation_type: RelationType
    confidence: float
    rationale: str
    evidence: Sequence[EvidenceDraft]
    meta: Mapping[str, Any]
    source_hash: str
    target_hash: str
    decision: PairDecision
    passages: Mapping[str, str] = field(default_factory=dict)
    action: ClassVar[str] = "accept_relation"

    def plan(self, tx: Tx) -> Plan | Refusal | Ask:
        ends = nodes_by_ids(tx.conn, (self.source_id, self.target_id))
        refusal = self._refusal(ends)
        if refusal is not None:
            return refusal
        low, high = sorted((self.source_id, self.target_id))
        relation_id = tx.new_id("edge")
        rows, evidence_ids = evidence_changes(tx, self.evidence, f"pair:{low}:{high}")
        support = Support(tx)
        older = relations_between(tx.conn, self.source_id, self.target_id)
        for old in older:
            support.end(old)
        external = [
            support.add(
                draft, evidence_id, relation_id, (self.source_id, self.target_id), self.passages.get(draft.sha256, "")
            )
            for draft, evidence_id in zip(self.evidence, evidence_ids, strict=True)
        ]
        changes = (
            *rows,
            *support.changes(),
            *(RowChange(edge, {"id": old.id}, _ended(old, tx, superseded_by=relation_id)) for old in older),
            self._relation(tx, relation_id, evidence_ids),
            _decision_change(self.decision),
        )
        result = AcceptedRelation(relation_id, tuple(evidence_ids), tuple(dict.fromkeys(external)))
        source, target = ends[self.source_id], ends[self.target_id]
        return Plan(
            "accept_relation",
            f"edge:{relation_id}",
            changes,
            events=(self._event(result, source, target),),
            message=f"{source.label!r} {RelationType(self.relation_type).value} {target.label!r}",
            result=result,
        )

    def _refusal(self, ends: Mapping[str, Node]) -> Refusal | None:
        for node_id, digest in ((self.source_id, self.source_hash), (self.target_id, self.target_hash)):
            found = ends.get(node_id)
            if found is None or not found.active:
                return Refusal("inactive_node", f"the node {node_id} is not in the graph any more")
            if found.content_hash != digest:
                return Refusal("content_changed", f"{found.label!r} changed since it was reviewed")
        if self.source_id == self.target_id:
            return Refusal("same_node", "a relation joins two different nodes")
        internal = self.meta.get("validation_state") == INTERNAL_RELATION
        if not all(draft.accepted for draft in self.evidence) or (not self.evidence and not internal):
            return Refusal("uncited", "it needs outside facts, and no accepted evidence was cited")
        low, high = sorted((self.source_id, self.target_id))
        if (self.decision.source_id, self.decision.target_id) != (low, high):
            raise ValueError("the decision names another pair than the relation, or its ids are not in ascending order")
        if self.decision.state is not PairState.ACCEPTED:
            raise ValueError(f"an accepted relation goes with an accepted decision, got {self.decision.state}")
        return None

    def _relation(self, tx: Tx, relation_id: str, evidence_ids: Sequence[str]) -> RowChange:
        texts = [
            {
                "id": evidence_id,
                "sha256": draft.sha256,
                "path": draft.path,
                "url": draft.final_url,
                "relevance": draft.relevance,
                "source_quality": str(draft.source_quality),
                "source_quality_score": draft.source_quality_score,
                "assessment_reason": draft.assessment_reason,
                **({} if draft.path else {"fulltext": "absent"}),
            }
            for draft, evidence_id in zip(self.evidence, evidence_ids, strict=True)
        ]
        meta = {**self.meta, "confidence": self.confidence, "rationale": self.rationale, "evidence": texts}
        return RowChange(
            edge,
            {"id": relation_id},
            {
                "source_id": self.source_id,
                "target_id": self.target_id,
                "kind": EdgeKind.RELATION.value,
                "relation_type": RelationType(self.relation_type).value,
                "weight": float(self.confidence),
                "meta": meta,
                "active": True,
                "created_at": tx.now,
                "updated_at": tx.now,
            },
        )

    def _event(self, result: AcceptedRelation, source: Node, target: Node) -> Event:
        payload = {
            "edge": result.edge_id,
            "source": source.id,
            "target": target.id,
            "source_label": source.label,
            "target_label": target.label,
            "relation_type": RelationType(self.relation_type).value,
            "confidence": self.confidence,
            "evidence": list(result.evidence_ids),
            "validation_state": self.meta.get("validation_state"),
        }
        return Event(THINK_RELATION_ACCEPTED, payload)


@dataclass(frozen=True, slots=True)
class WithdrawRelation:
    """Take a relation back; it keeps its history. `result` is the edge's id.

    Evidence edges and external nodes that support nothing else go with it. A person's withdrawal leaves the pair
    refused with reason `withdrawn`, so that it is not thought about again before its content changes; where a new
    look refused the relation, `decision` is that refusal and `events` report it. A decision on content that is not
    the nodes' present one is refused (`content_changed`).
    """

    edge_id: str
    reason: str
    decision: PairDecision | None = None
    events: tuple[Event, ...] = ()
    action: ClassVar[str] = "delete"

    def plan(self, tx: Tx) -> Plan | Refusal | Ask:
        found = get_edge(tx.conn, self.edge_id)
        if found is None or not found.active or found.kind is not EdgeKind.RELATION:
            return Refusal("not_found", f"there is no active relation {self.edge_id}; nothing was withdrawn")
        if self.decision is not None and not _decides(tx, self.decision, found):
            return Refusal("content_changed", f"a node of {found.id} changed since it was looked at")
        changes = [RowChange(edge, {"id": found.id}, _ended(found, tx, withdrawn=self.reason))]
        support = Support(tx)
        support.end(found)
        changes += support.changes()
        if self.decision is not None:
            changes.append(_decision_change(self.decision))
        else:
            changes += _pair_state(tx, found, PairState.REFUSED, _WITHDRAWN)
        return Plan(
            "delete",
            f"edge:{found.id}",
            tuple(changes),
            events=self.events,
            message=f"withdrew {found.id}: {self.reason}",
            result=found.id,
        )


@dataclass(frozen=True, slots=True)
class RestoreRelation:
    """Bring a withdrawn relation back with its evidence. `result` is the edge's id."""

    edge_id: str
    action: ClassVar[str] = "reactivate"

    def plan(self, tx: Tx) -> Plan | Refusal | Ask:
        found = get_edge(tx.conn, self.edge_id)
        if found is None or found.active or found.kind is not EdgeKind.RELATION:
            return Refusal("nothing_to_restore", f"there is no withdrawn relation {self.edge_id}; nothing to restore")
        for end in (found.source_id, found.target_id):
            if (known := get_node(tx.conn, end)) is None or not known.active:
                return Refusal("inactive_node", f"the node {end} is not in the graph any more")
        if relations_between(tx.conn, found.source_id, found.target_id):
            return Refusal("superseded", "another relation joins these nodes now; withdraw it first")
        meta = {name: value for name, value in found.meta.items() if name not in {"ended", "superseded_by"}}
        values = {"active": True, "meta": meta, "updated_at": tx.now}
        support = Support(tx)
        support.restore(found)
        changes = [*support.changes(), RowChange(edge, {"id": found.id}, values)]
        changes += _pair_state(tx, found, PairState.ACCEPTED, RESTORED)
        return Plan("reactivate", f"edge:{found.id}", tuple(changes), message=f"restored {found.id}", result=found.id)


def _decides(tx: Tx, decision: PairDecision, found: Edge) -> bool:
    """Tell whether the decision refuses this relation on the content that its nodes have now."""
    if decision.state is PairState.ACCEPTED or {decision.source_id, decision.target_id} != {
        found.source_id,
        found.target_id,
    }:
        raise ValueError("a withdrawal goes with a refusal of the same pair")
    ends = nodes_by_ids(tx.conn, (decision.source_id, decision.target_id))
    present = (ends[decision.source_id].content_hash, ends[decision.target_id].content_hash)
    return present == (decision.source_hash, decision.target_hash)


def _ended(found: Edge, tx: Tx, *, withdrawn: str | None = None, superseded_by: str | None = None) -> dict[str, Any]:
    meta = dict(found.meta)
    meta["ended"] = {"at": tx.now.isoformat(), "reason": withdrawn if superseded_by is None else "superseded"}
    if superseded_by is not None:
        meta["superseded_by"] = superseded_by
    return {"active": False, "meta": meta, "updated_at": tx.now}


def _pair_state(tx: Tx, found: Edge, state: PairState, reason: str) -> list[RowChange]:
    """Bring the pair's decision, where there is one, to `state` for the content the nodes have now."""
    low, high = sorted((found.source_id, found.target_id))
    statement = select(pair_decision.c.source_id).where(
        pair_decision.c.source_id == low, pair_decision.c.target_id == high
    )
    if tx.conn.execute(statement).first() is None:
        return []
    ends = nodes_by_ids(tx.conn, (low, high))
    values = {
        "state": state.value,
        "reason": reason,
        "source_hash": ends[low].content_hash,
        "target_hash": ends[high].content_hash,
        "retry_not_before": None,
        "decided_at": tx.now,
    }
    return [RowChange(pair_decision, {"source_id": low, "target_id": high}, values)]


def _decision_change(decision: PairDecision) -> RowChange:
    values = {
        name: getattr(decision, name)
        for name in (
            "source_hash",
            "target_hash",
            "reason",
            "query",
            "rebuilt_query",
            "attempts",
            "retry_not_before",
            "decided_at",
        )
    }
    values |= {"state": decision.state.value, "detail": dict(decision.detail)}
    return RowChange(pair_decision, {"source_id": decision.source_id, "target_id": decision.target_id}, values)
