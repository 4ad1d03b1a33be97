"""What supports a relation: external nodes and their `research_evidence` edges to both ends (spec 04, 14).

An evidence edge names every relation it supports (`meta.relations`) and those it once did
(`meta.former`). It ends with its last support, and an external node with its last evidence edge, so
nothing that one relation still rests on vanishes with another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from data.characters import label_key
from data.crud.engine import RowChange
from data.crud.evidence import EvidenceDraft
from data.crud.ingest import is_label
from data.edges import edge_from_row
from data.models import Edge, EdgeKind, Node, NodeKind
from data.nodes import content_hash, get_node, nodes_by_uris
from data.schema import edge, node
from data.tx import Tx

__all__ = ["Support"]


@dataclass(slots=True)
class _Link:
    """An evidence edge as it will be."""

    id: str
    source: str
    target: str
    weight: float
    meta: dict[str, Any]
    active: bool
    is_new: bool
    changed: bool = False


class Support:
    """Collects what of external nodes and evidence edges must be written; reads the rest from `tx`."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx
        self._links: dict[tuple[str, str], _Link] = {}
        self._loaded: set[str] = set()
        self._nodes: dict[str, Node | None] = {}
        self._values: dict[str, dict[str, Any]] = {}
        self._by_uri: dict[str, str] = {}

    def add(self, draft: EvidenceDraft, evidence_id: str, relation_id: str, ends: tuple[str, str], passage: str) -> str:
        """Let the text support the relation between `ends`; return its external node's id."""
        node_id = self._external(draft, evidence_id, passage)
        for end in ends:
            link = self._link(node_id, end)
            link.weight = float(draft.relevance)
            link.active = link.changed = True
            link.meta = {
                **_moved(link.meta, relation_id, to="relations"),
                "evidence": evidence_id,
                "sha256": draft.sha256,
                "relevance": draft.relevance,
            }
        return node_id

    def end(self, relation: Edge) -> None:
        """Take the relation out of the support of whatever names it."""
        for link in self._naming(relation, "relations"):
            link.meta = _moved(link.meta, relation.id, to="former")
            link.active = bool(link.meta["relations"])
            link.changed = True

    def restore(self, relation: Edge) -> None:
        """Let what once supported the relation support it again."""
        for link in self._naming(relation, "former"):
            link.meta = _moved(link.meta, relation.id, to="relations")
            link.active = link.changed = True

    def changes(self) -> list[RowChange]:
        """Return the rows to write: external nodes first, then their edges."""
        changed = [link for link in self._links.values() if link.changed]
        for node_id in dict.fromkeys(link.source for link in changed):
            self._settle_node(node_id)
        now = self._tx.now
        rows = [RowChange(node, {"id": node_id}, values) for node_id, values in self._values.items()]
        for link in changed:
            values: dict[str, Any] = {
                "weight": link.weight,
                "meta": link.meta,
                "active": link.active,
                "updated_at": now,
            }
            if link.is_new:
                values |= {"source_id": link.source, "target_id": link.target, "relation_type": None}
                values |= {"kind": EdgeKind.RESEARCH_EVIDENCE.value, "created_at": now}
            rows.append(RowChange(edge, {"id": link.id}, values))
        return rows

    def _external(self, draft: EvidenceDraft, evidence_id: str, passage: str) -> str:
        uri = draft.final_url or draft.url
        node_id = self._by_uri.get(uri)
        if node_id is None:
            found = nodes_by_uris(self._tx.conn, [uri], kind=NodeKind.EVIDENCE).get(uri)
            node_id = self._tx.new_id("node") if found is None else found.id
            self._nodes[node_id] = found
            self._by_uri[uri] = node_id
        known = self._nodes[node_id]
        if known is None or known.meta.get("sha256") != draft.sha256:
            self._values[node_id] = _external_content(draft, evidence_id, uri, passage)
        return node_id

    def _settle_node(self, node_id: str) -> None:
        """Give the external node the state that follows from its edges: active while it supports anything."""
        if node_id not in self._nodes:
            self._nodes[node_id] = get_node(self._tx.conn, node_id)
        known = self._nodes[node_id]
        active = self._supports_anything(node_id)
        values = self._values.get(node_id, {})
        if known is None:
            values |= {"active": active, "created_at": self._tx.now, "updated_at": self._tx.now, "version": 1}
        elif values or known.active != active:
            values |= {"active": active, "updated_at": self._tx.now, "version": known.version + 1}
        if values:
            self._values[node_id] = values

    def _supports_anything(self, node_id: str) -> bool:
        planned = {link.id: link.active for link in self._links.values() if link.source == node_id}
        if any(planned.values()):
            return True
        statement = select(edge.c.id).where(
            edge.c.kind == EdgeKind.RESEARCH_EVIDENCE.value, edge.c.source_id == node_id, edge.c.active.is_(True)
        )
        return not set(self._tx.conn.execute(statement).scalars()) <= set(planned)

    def _naming(self, relation: Edge, where: str) -> list[_Link]:
        for end in (relation.source_id, relation.target_id):
            self._load(edge.c.target_id == end, f"target:{end}")
        return [
            link
            for link in self._links.values()
            if link.target in {relation.source_id, relation.target_id} and relation.id in link.meta.get(where, ())
        ]

    def _link(self, node_id: str, end: str) -> _Link:
        self._load(edge.c.target_id == end, f"target:{end}")
        link = self._links.get((node_id, end))
        if link is None:
            link = _Link(self._tx.new_id("edge"), node_id, end, 0.0, {"relations": [], "former": []}, True, True)
            self._links[node_id, end] = link
        return link

    def _load(self, condition: Any, name: str) -> None:
        if name in self._loaded:
            return
        self._loaded.add(name)
        statement = select(edge).where(edge.c.kind == EdgeKind.RESEARCH_EVIDENCE.value, condition)
        # The active edge last, so that it stands for its pair.
        for found in map(edge_from_row, self._tx.conn.execute(statement.order_by(edge.c.active, edge.c.id.desc()))):
            meta: Mapping[str, Any] = {"relations": [], "former": [], **found.meta}
            self._links.setdefault(
                (found.source_id, found.target_id),
                _Link(found.id, found.source_id, found.target_id, found.weight, dict(meta), found.active, False),
            )


def _moved(meta: Mapping[str, Any], relation_id: str, *, to: str) -> dict[str, Any]:
    """Return `meta` with the relation in the list `to` and in no other."""
    moved = dict(meta)
    for name in ("relations", "former"):
        moved[name] = [other for other in meta.get(name, ()) if other != relation_id]
    moved[to] = [*moved[to], relation_id]
    return moved


def _external_content(draft: EvidenceDraft, evidence_id: str, uri: str, passage: str) -> dict[str, Any]:
    label = draft.title if is_label(draft.title) else uri
    meta = {
        "evidence": evidence_id,
        "sha256": draft.sha256,
        "path": draft.path,
        "url": draft.url,
        "publisher": draft.publisher,
        "source_quality": str(draft.source_quality),
        "source_quality_score": draft.source_quality_score,
        **({} if draft.path else {"fulltext": "absent"}),
    }
    return {
        "kind": NodeKind.EVIDENCE.value,
        "label": label,
        "label_key": label_key(label),
        "body": passage,
        "language": draft.language,
        "source_uri": uri,
        "content_hash": content_hash(NodeKind.EVIDENCE, label, passage),
        "category": "",
        "meta": meta,
    }
