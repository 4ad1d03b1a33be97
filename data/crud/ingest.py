"""One document with its sections and edges as one verified write.

What is there already is recognised: by `source_uri`, or, where a draft has none, by kind and normalised
label. Unchanged nodes are not written, changed ones get a new version, vanished sections are deactivated,
returning ones reactivated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar, Final

from sqlalchemy import select

from data.characters import label_key
from data.crud.engine import Ask, Plan, Refusal, RowChange
from data.edges import edge_from_row
from data.models import Edge, EdgeKind, Event, Node, NodeKind, RelationType
from data.nodes import content_hash, nodes_by_ids, nodes_by_label_keys, nodes_by_uris
from data.schema import edge, node
from data.tx import Tx

__all__ = ["EdgeDraft", "IngestNodes", "IngestResult", "NodeDraft", "is_label"]

_CHUNK: Final = 500


@dataclass(frozen=True, slots=True)
class NodeDraft:
    """A node as it comes from outside, already normalised."""

    kind: NodeKind
    label: str
    body: str = ""
    language: str = "und"
    source_uri: str = ""
    category: str = ""
    meta: Mapping[str, Any] = field(default_factory=dict)

    def content(self) -> dict[str, Any]:
        """Return the columns that come from the draft."""
        return {
            "kind": NodeKind(self.kind).value,
            "label": self.label,
            "label_key": label_key(self.label),
            "body": self.body,
            "language": self.language,
            "source_uri": self.source_uri,
            "content_hash": content_hash(self.kind, self.label, self.body),
            "category": self.category,
            "meta": dict(self.meta),
        }

    def row(self, now: datetime) -> dict[str, Any]:
        """Return every column of a new node but its id."""
        return {**self.content(), "active": True, "created_at": now, "updated_at": now, "version": 1}


@dataclass(frozen=True, slots=True)
class EdgeDraft:
    """An edge between two drafts, each named by its position or its `source_uri`, or an existing node's id."""

    source: int | str
    target: int | str
    kind: EdgeKind = EdgeKind.PART_OF
    relation_type: RelationType | None = None
    weight: float = 1.0
    meta: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class IngestResult:
    """What an ingest did. `node_ids[i]` is the node of draft `i`; the others count nodes, and edges apart."""

    node_ids: tuple[str, ...] = ()
    created: int = 0
    updated: int = 0
    reactivated: int = 0
    deactivated: int = 0
    unchanged: int = 0
    edges_created: int = 0
    edges_updated: int = 0
    edges_deactivated: int = 0


@dataclass(frozen=True, slots=True)
class IngestNodes:
    """Take `drafts` and `edges` in as one operation. `result` is an `IngestResult`.

    Sections that the store has as `part_of` a document among the drafts, and that are not among them any
    more, are deactivated with their `part_of` edge. `events` go out when the write is verified; `also`
    are further rows of the same write (the inbox's record of the file).
    """

    drafts: Sequence[NodeDraft]
    edges: Sequence[EdgeDraft] = ()
    events: tuple[Event, ...] = ()
    also: tuple[RowChange, ...] = ()
    target: str = ""
    action: ClassVar[str] = "ingest"

    def plan(self, tx: Tx) -> Plan | Refusal | Ask:
        for number, draft in enumerate(self.drafts):
            if not is_label(draft.label):
                return Refusal("empty_label", f"node {number + 1} has no label with a letter or digit")
        nodes = _NodePlan(tx)
        nodes.take(self.drafts)
        edges = _EdgePlan(tx, nodes)
        refusal = edges.take(self.edges)
        if refusal is not None:
            return refusal
        edges.retire_vanished()
        changes = (*nodes.changes.values(), *edges.changes.values(), *self.also)
        counts = {**nodes.counts, **edges.counts}
        result = IngestResult(tuple(nodes.ids), **counts)
        first = self.drafts[0].label if self.drafts else ""
        return Plan(
            "ingest",
            self.target or (f"node:{nodes.ids[0]}" if nodes.ids else ""),
            changes,
            events=self.events,
            message=f"{first!r}: {result.created} new, {result.updated} changed, {result.unchanged} unchanged",
            result=result,
        )


def is_label(label: str) -> bool:
    """Tell whether a label names anything: it holds at least one letter or digit."""
    return any(map(str.isalnum, label))


class _NodePlan:
    """Works out which node each draft is and what of it must be written."""

    def __init__(self, tx: Tx) -> None:
        self.tx = tx
        self.ids: list[str] = []
        self.new: set[str] = set()
        self.by_uri: dict[str, str] = {}
        self.documents: list[str] = []
        self.changes: dict[str, RowChange] = {}
        self.counts = dict.fromkeys(("created", "updated", "reactivated", "deactivated", "unchanged"), 0)

    def take(self, drafts: Sequence[NodeDraft]) -> None:
        conn = self.tx.conn
        by_uri = nodes_by_uris(conn, (draft.source_uri for draft in drafts))
        nameless = {(NodeKind(d.kind), label_key(d.label)) for d in drafts if not d.source_uri}
        by_label = nodes_by_label_keys(conn, nameless)
        # A draft that names the same node as an earlier one of this ingest replaces it: the last word counts.
        mine: dict[tuple[str, str], str] = {}
        for draft in drafts:
            name = ("uri", draft.source_uri) if draft.source_uri else (draft.kind.value, label_key(draft.label))
            found = by_uri.get(draft.source_uri) or by_label.get((draft.kind, name[1]))
            node_id = found.id if found is not None else mine.get(name)
            if found is not None:
                self._existing(found, draft)
                node_id = found.id
            else:
                node_id = self._fresh(node_id, draft)
            mine[name] = node_id
            self.ids.append(node_id)
            if draft.source_uri:
                self.by_uri[draft.source_uri] = node_id
            if draft.kind is NodeKind.DOCUMENT:
                self.documents.append(node_id)

    def _fresh(self, node_id: str | None, draft: NodeDraft) -> str:
        if node_id is None:
            node_id = self.tx.new_id("node")
            self.new.add(node_id)
            self.counts["created"] += 1
        self.changes[node_id] = RowChange(node, {"id": node_id}, draft.row(self.tx.now))
        return node_id

    def _existing(self, found: Node, draft: NodeDraft) -> None:
        content = draft.content()
        before = self.changes.pop(found.id, None)
        if before is None:
            self.counts["unchanged"] += 1
        if found.active and all(content[name] == getattr(found, name) for name in content if name != "label_key"):
            return
        if before is None:
            self.counts["unchanged"] -= 1
            self.counts["updated" if found.active else "reactivated"] += 1
        values = {**content, "active": True, "updated_at": self.tx.now, "version": found.version + 1}
        self.changes[found.id] = RowChange(node, {"id": found.id}, values)

    def deactivate(self, found: Node) -> None:
        self.counts["deactivated"] += 1
        values = {"active": False, "updated_at": self.tx.now, "version": found.version + 1}
        self.changes[found.id] = RowChange(node, {"id": found.id}, values)


class _EdgePlan:
    """Works out which edges exist, which change, and which sections have vanished."""

    def __init__(self, tx: Tx, nodes: _NodePlan) -> None:
        self.tx = tx
        self.nodes = nodes
        self.changes: dict[str, RowChange] = {}
        self.counts = dict.fromkeys(("edges_created", "edges_updated", "edges_deactivated"), 0)
        self.kept: set[str] = set()

    def take(self, drafts: Sequence[EdgeDraft]) -> Refusal | None:
        named = [(draft, self._resolve(draft.source), self._resolve(draft.target)) for draft in drafts]
        ours = {*self.nodes.ids}
        outside = {end for _, *ends in named for end in ends if end is not None and end not in ours}
        known = nodes_by_ids(self.tx.conn, outside)
        present = self._stored({source for _, source, _ in named if source is not None})
        for draft, source, target in named:
            if source is None or target is None or not {source, target} <= {*ours, *known}:
                return Refusal("unknown_node", f"an edge names {draft.source!r} and {draft.target!r}, one is not there")
            if source == target:
                return Refusal("self_edge", f"an edge begins and ends at {draft.source!r}")
            self._put(draft, source, target, present)
        return None

    def retire_vanished(self) -> None:
        """Deactivate sections (and their `part_of` edge) that a document of this ingest no longer has."""
        ours = {*self.nodes.ids}
        statement = select(edge).where(
            edge.c.kind == EdgeKind.PART_OF.value,
            edge.c.active.is_(True),
            edge.c.target_id.in_(self.nodes.documents),
        )
        gone = [
            found
            for found in map(edge_from_row, self.tx.conn.execute(statement))
            if found.id not in self.kept and found.id not in self.changes
        ]
        sections = nodes_by_ids(self.tx.conn, (found.source_id for found in gone))
        for found in gone:
            self.counts["edges_deactivated"] += 1
            self.changes[found.id] = RowChange(edge, {"id": found.id}, {"active": False, "updated_at": self.tx.now})
            section = sections[found.source_id]
            if section.id not in ours and section.active and section.kind is NodeKind.SECTION:
                self.nodes.deactivate(section)

    def _resolve(self, end: int | str) -> str | None:
        if isinstance(end, int):
            return self.nodes.ids[end] if 0 <= end < len(self.nodes.ids) else None
        return self.nodes.by_uri.get(end, end)

    def _stored(self, sources: set[str]) -> dict[tuple[str, str, str, str | None], Edge]:
        old = sorted(sources - self.nodes.new)
        found: dict[tuple[str, str, str, str | None], Edge] = {}
        for start in range(0, len(old), _CHUNK):
            statement = select(edge).where(
                edge.c.kind.in_([kind.value for kind in EdgeKind if kind is not EdgeKind.VECTOR]),
                edge.c.source_id.in_(old[start : start + _CHUNK]),
            )
            # Active edges last, so that they win over inactive ones of the same name.
            for row in self.tx.conn.execute(statement.order_by(edge.c.active, edge.c.id.desc())):
                found[row.source_id, row.target_id, row.kind, row.relation_type] = edge_from_row(row)
        return found

    def _put(
        self, draft: EdgeDraft, source: str, target: str, present: dict[tuple[str, str, str, str | None], Edge]
    ) -> None:
        kind = EdgeKind(draft.kind).value
        relation_type = None if draft.relation_type is None else RelationType(draft.relation_type).value
        values: dict[str, Any] = {"weight": float(draft.weight), "meta": dict(draft.meta), "active": True}
        old = present.get((source, target, kind, relation_type))
        if old is not None:
            self.kept.add(old.id)
            if (old.weight, dict(old.meta), old.active) != (values["weight"], values["meta"], True):
                self.counts["edges_updated"] += old.id not in self.changes
                self.changes[old.id] = RowChange(edge, {"id": old.id}, {**values, "updated_at": self.tx.now})
            return
        edge_id = self.tx.new_id("edge")
        now = self.tx.now
        values |= {"source_id": source, "target_id": target, "kind": kind, "relation_type": relation_type}
        values |= {"created_at": now, "updated_at": now}
        self.changes[edge_id] = RowChange(edge, {"id": edge_id}, values)
        self.counts["edges_created"] += 1
        present[source, target, kind, relation_type] = Edge(
            edge_id,
            source,
            target,
            EdgeKind(kind),
            draft.relation_type,
            values["weight"],
            values["meta"],
            True,
            now,
            now,
        )
