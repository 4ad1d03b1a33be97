"""Embeddings, vector edges and positions as they stand in the store (spec 02, 03). Reading only.

Vectors come as the raw bytes of float32[n, dim], little-endian: `numpy.frombuffer(found.data, "<f4")` copies nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, and_, select

from data.models import EdgeKind, NodeKind
from data.nodes import NodeContent
from data.schema import edge, embedding, node, position

__all__ = [
    "StoredEdge",
    "StoredVectors",
    "foreign_embeddings",
    "load_positions",
    "load_vectors",
    "stale_contents",
    "vector_edges",
]

_OWN = and_(node.c.active.is_(True), node.c.kind != NodeKind.EVIDENCE.value)
"""What takes part in the vector graph: the house's own knowledge. External evidence hangs on relations alone, so that
thinking pairs are pairs of own nodes."""


@dataclass(frozen=True, slots=True)
class StoredVectors:
    """Current vectors of one model, in order of node id: `data` is float32[len(ids), dim]."""

    ids: list[str]
    hashes: list[str]
    dim: int
    data: bytes


@dataclass(frozen=True, slots=True)
class StoredEdge:
    """A vector edge as it is compared with a new one."""

    id: str
    source_id: str
    target_id: str
    weight: float
    affinity: float
    duplicate: bool
    created_at: datetime


def stale_contents(conn: Connection, model: str) -> list[NodeContent]:
    """Return the nodes without a vector of `model` for their present content, in order of id."""
    fresh = and_(
        embedding.c.node_id == node.c.id,
        embedding.c.model == model,
        embedding.c.content_hash == node.c.content_hash,
    )
    columns = (node.c.id, node.c.kind, node.c.label, node.c.body, node.c.language, node.c.category, node.c.content_hash)
    statement = (
        select(*columns).outerjoin(embedding, fresh).where(_OWN, embedding.c.node_id.is_(None)).order_by(node.c.id)
    )
    return [
        NodeContent(row.id, NodeKind(row.kind), row.label, row.body, row.language, row.category, row.content_hash)
        for row in conn.execute(statement)
    ]


def load_vectors(conn: Connection, model: str) -> StoredVectors:
    """Return every current vector of `model` (large: use `read_bulk`)."""
    statement = (
        select(embedding.c.node_id, embedding.c.content_hash, embedding.c.dim, embedding.c.vector)
        .join(node, node.c.id == embedding.c.node_id)
        .where(_OWN, embedding.c.model == model, embedding.c.content_hash == node.c.content_hash)
        .order_by(embedding.c.node_id)
    )
    rows = conn.execute(statement).all()
    dim = int(rows[0].dim) if rows else 0
    return StoredVectors(
        [row.node_id for row in rows], [row.content_hash for row in rows], dim, b"".join(row.vector for row in rows)
    )


def foreign_embeddings(conn: Connection, model: str) -> list[tuple[str, str]]:
    """Return (node id, model) of vectors of other models than `model`."""
    statement = select(embedding.c.node_id, embedding.c.model).where(embedding.c.model != model)
    return [(row.node_id, row.model) for row in conn.execute(statement)]


def vector_edges(conn: Connection) -> list[StoredEdge]:
    """Return every vector edge (large: use `read_bulk`)."""
    columns = (edge.c.id, edge.c.source_id, edge.c.target_id, edge.c.weight, edge.c.meta, edge.c.created_at)
    return [
        StoredEdge(
            row.id,
            row.source_id,
            row.target_id,
            row.weight,
            float(row.meta.get("affinity", "nan")),
            bool(row.meta.get("duplicate", False)),
            row.created_at,
        )
        for row in conn.execute(select(*columns).where(edge.c.kind == EdgeKind.VECTOR.value))
    ]


def load_positions(conn: Connection) -> dict[str, tuple[float, float, float]]:
    """Return every stored position by node id."""
    statement = select(position.c.node_id, position.c.x, position.c.y, position.c.z)
    return {row.node_id: (row.x, row.y, row.z) for row in conn.execute(statement)}
