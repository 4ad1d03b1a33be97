"""Verified writes of single nodes (spec 02, table of validations)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from data.characters import label_key
from data.crud.engine import Ask, Plan, Refusal, RowChange, stale_version
from data.crud.ingest import EdgeDraft, IngestNodes, IngestResult, NodeDraft, is_label
from data.models import Node
from data.nodes import content_hash, find_by_label_key, get_node
from data.schema import node
from data.tx import Tx

__all__ = [
    "CreateNode",
    "DeactivateNode",
    "EdgeDraft",
    "IngestNodes",
    "IngestResult",
    "NodeDraft",
    "ReactivateNode",
    "UpdateNode",
]

UPDATABLE = frozenset({"label", "body", "language", "category", "meta", "source_uri"})


@dataclass(frozen=True, slots=True)
class CreateNode:
    """Create one node. `result` is its id.

    An active node of the same kind and normalised label makes it a question, unless `anyway`; an
    inactive one with the same content is reactivated instead (corrected).
    """

    draft: NodeDraft
    anyway: bool = False
    action: ClassVar[str] = "create"

    def plan(self, tx: Tx) -> Plan | Refusal | Ask:
        draft = self.draft
        if not is_label(draft.label):
            return Refusal("empty_label", "a node needs a label with at least one letter or digit")
        same = find_by_label_key(tx.conn, label_key(draft.label), kind=draft.kind, active=None)
        active = [found for found in same if found.active]
        if active and not self.anyway:
            return Ask(
                "exists", f"{active[0].label!r} exists already; update it?", ("update", "create_another", "cancel")
            )
        digest = content_hash(draft.kind, draft.label, draft.body)
        gone = next((found for found in same if not found.active and found.content_hash == digest), None)
        if gone is not None:
            return _reactivation(tx, gone, corrected=True)
        node_id = tx.new_id("node")
        change = RowChange(node, {"id": node_id}, draft.row(tx.now))
        return Plan("create", f"node:{node_id}", (change,), message=f"created {draft.label!r}", result=node_id)


@dataclass(frozen=True, slots=True)
class UpdateNode:
    """Change columns of an active node (label, body, language, category, meta, source_uri). `result` is its id.

    `version` is the one the change was based on; None takes whatever stands there.
    """

    node_id: str
    values: Mapping[str, Any] = field(default_factory=dict)
    version: int | None = None
    action: ClassVar[str] = "update"

    def plan(self, tx: Tx) -> Plan | Refusal | Ask:
        unknown = set(self.values) - UPDATABLE
        if unknown:
            raise ValueError(f"UpdateNode cannot change {', '.join(sorted(unknown))}")
        found = get_node(tx.conn, self.node_id)
        if found is None or not found.active:
            return Refusal("not_found", f"there is no active node {self.node_id}; create it instead?")
        if (stale := stale_version(found.version, self.version)) is not None:
            return stale
        label = self.values.get("label", found.label)
        body = self.values.get("body", found.body)
        if not is_label(label):
            return Refusal("empty_label", "a node needs a label with at least one letter or digit")
        if all(getattr(found, name) == value for name, value in self.values.items()):
            return Plan("update", f"node:{found.id}", (), message="nothing to change", result=found.id)
        values = {
            **self.values,
            "label_key": label_key(label),
            "content_hash": content_hash(found.kind, label, body),
            "updated_at": tx.now,
            "version": found.version + 1,
        }
        change = RowChange(node, {"id": found.id}, values)
        return Plan("update", f"node:{found.id}", (change,), message=f"updated {label!r}", result=found.id)


@dataclass(frozen=True, slots=True)
class DeactivateNode:
    """Delete a node softly: it leaves the graph and can be reactivated. `result` is its id."""

    node_id: str
    version: int | None = None
    action: ClassVar[str] = "delete"

    def plan(self, tx: Tx) -> Plan | Refusal | Ask:
        found = get_node(tx.conn, self.node_id)
        if found is None or not found.active:
            return Refusal("not_found", f"there is no active node {self.node_id}; nothing was deleted")
        if (stale := stale_version(found.version, self.version)) is not None:
            return stale
        values = {"active": False, "updated_at": tx.now, "version": found.version + 1}
        change = RowChange(node, {"id": found.id}, values)
        return Plan("delete", f"node:{found.id}", (change,), message=f"deleted {found.label!r}", result=found.id)


@dataclass(frozen=True, slots=True)
class ReactivateNode:
    """Bring a deleted node back. `result` is its id."""

    node_id: str
    version: int | None = None
    action: ClassVar[str] = "reactivate"

    def plan(self, tx: Tx) -> Plan | Refusal | Ask:
        found = get_node(tx.conn, self.node_id)
        if found is None or found.active:
            return Refusal("nothing_to_restore", f"there is no deleted node {self.node_id}; nothing to restore")
        if (stale := stale_version(found.version, self.version)) is not None:
            return stale
        return _reactivation(tx, found, corrected=False)


def _reactivation(tx: Tx, found: Node, *, corrected: bool) -> Plan:
    values = {"active": True, "updated_at": tx.now, "version": found.version + 1}
    change = RowChange(node, {"id": found.id}, values)
    return Plan(
        "reactivate",
        f"node:{found.id}",
        (change,),
        message=f"restored {found.label!r}",
        corrected=corrected,
        result=found.id,
    )
