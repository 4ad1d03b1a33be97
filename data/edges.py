"""Edges, read, one by one and as arrays for graph work (spec 02, table `edge`)."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Row, and_, func, or_, select, union_all

from data.dialect import unindexed
from data.models import Edge, EdgeKind, RelationType
from data.schema import edge, node

__all__ = [
    "EdgeArrays",
    "count_by_kind",
    "edge_arrays",
    "edge_from_row",
    "edges_by_ids",
    "edges_of",
    "find_edge",
    "get_edge",
    "list_edges",
    "relation_between",
    "relation_counts_by_node",
    "relations_between",
]

_BLOCK: Final = 10_000
"""Rows fetched at once; their strings stay in the processor's cache while they are looked up."""


@dataclass(frozen=True, slots=True)
class EdgeArrays:
    """Active edges between active nodes as columns: `sources[i]` and `targets[i]` index `ids`.

    `ids` holds every active node in order of id, also those without an edge. The arrays carry the
    buffer protocol (`numpy.frombuffer(arrays.sources, dtype="i4")` copies nothing); `weights` is float64.
    """

    ids: list[str]
    sources: array[int]
    targets: array[int]
    weights: array[float]


def get_edge(conn: Connection, edge_id: str) -> Edge | None:
    """Return the edge, active or not, or None."""
    row = conn.execute(select(edge).where(edge.c.id == edge_id)).one_or_none()
    return None if row is None else edge_from_row(row)


def edges_by_ids(conn: Connection, ids: Sequence[str]) -> dict[str, Edge]:
    """Return the edges that exist among `ids`, by id (a few hundred at most)."""
    return {row.id: edge_from_row(row) for row in conn.execute(select(edge).where(edge.c.id.in_(ids)))}


def list_edges(
    conn: Connection,
    *,
    kind: EdgeKind | None = None,
    active: bool | None = True,
    limit: int | None = None,
    after: str | None = None,
) -> list[Edge]:
    """Return edges in order of id; `after` is the last id of the page before."""
    statement = select(edge)
    if kind is not None:
        statement = statement.where(edge.c.kind == kind.value)
    if active is not None:
        statement = statement.where(edge.c.active.is_(active))
    if after is not None:
        statement = statement.where(edge.c.id > after)
    return [edge_from_row(row) for row in conn.execute(statement.order_by(edge.c.id).limit(limit))]


def edges_of(
    conn: Connection, node_id: str, *, kinds: Sequence[EdgeKind] | None = None, active: bool | None = True
) -> list[Edge]:
    """Return the edges that begin or end at the node, heaviest first."""
    statement = select(edge).where(or_(edge.c.source_id == node_id, edge.c.target_id == node_id))
    # Naming every kind lets the index (kind, source, target) serve the first half of the condition.
    statement = statement.where(edge.c.kind.in_([kind.value for kind in (kinds or EdgeKind)]))
    if active is not None:
        statement = statement.where(edge.c.active.is_(active))
    return [edge_from_row(row) for row in conn.execute(statement.order_by(edge.c.weight.desc(), edge.c.id))]


def find_edge(
    conn: Connection, kind: EdgeKind, source_id: str, target_id: str, relation_type: RelationType | None = None
) -> Edge | None:
    """Return the edge of this kind from source to target (the active one first), or None."""
    statement = select(edge).where(
        edge.c.kind == kind.value, edge.c.source_id == source_id, edge.c.target_id == target_id
    )
    if relation_type is not None:
        statement = statement.where(edge.c.relation_type == relation_type.value)
    row = conn.execute(statement.order_by(edge.c.active.desc(), edge.c.id).limit(1)).one_or_none()
    return None if row is None else edge_from_row(row)


def relations_between(conn: Connection, a: str, b: str, *, active: bool | None = True) -> list[Edge]:
    """Return the relation edges between two nodes, in either direction, oldest first."""
    both = or_(and_(edge.c.source_id == a, edge.c.target_id == b), and_(edge.c.source_id == b, edge.c.target_id == a))
    statement = select(edge).where(edge.c.kind == EdgeKind.RELATION.value, both)
    if active is not None:
        statement = statement.where(edge.c.active.is_(active))
    return [edge_from_row(row) for row in conn.execute(statement.order_by(edge.c.id))]


def relation_between(conn: Connection, a: str, b: str) -> Edge | None:
    """Return the active relation between two nodes, in either direction, or None."""
    return next(iter(relations_between(conn, a, b)), None)


def relation_counts_by_node(conn: Connection) -> dict[str, int]:
    """Return how many active relations each node has; nodes without one are absent."""
    relations = [
        select(column.label("id")).where(edge.c.kind == EdgeKind.RELATION.value, edge.c.active.is_(True))
        for column in (edge.c.source_id, edge.c.target_id)
    ]
    ends = union_all(*relations).subquery()
    return dict(conn.execute(select(ends.c.id, func.count()).group_by(ends.c.id)).tuples().all())


def count_by_kind(conn: Connection, *, active: bool | None = True) -> dict[EdgeKind, int]:
    """Return how many edges each kind has."""
    statement = select(edge.c.kind, func.count()).group_by(edge.c.kind)
    if active is not None:
        statement = statement.where(edge.c.active.is_(active))
    return {EdgeKind(kind): count for kind, count in conn.execute(statement).tuples()}


def edge_arrays(conn: Connection, kinds: Sequence[EdgeKind] = (EdgeKind.VECTOR,)) -> EdgeArrays:
    """Return the active edges of `kinds` between active nodes as columns (large: use `read_bulk`)."""
    ids = list(conn.execute(select(node.c.id).where(node.c.active.is_(True)).order_by(node.c.id)).scalars())
    place = {node_id: index for index, node_id in enumerate(ids)}
    # Vector edges are most of the table: walking it is quicker than jumping to each row from the index,
    # which SQLite is kept from doing.
    kind: ColumnElement[Any] = unindexed(conn, edge.c.kind) if EdgeKind.VECTOR in kinds else edge.c.kind
    statement = select(edge.c.source_id, edge.c.target_id, edge.c.weight).where(
        kind.in_([kind.value for kind in kinds]), edge.c.active.is_(True)
    )
    sources, targets, weights = array("i"), array("i"), array("d")
    with conn.execute(statement) as result:
        cursor = result.cursor
        while cursor is not None and (block := cursor.fetchmany(_BLOCK)):
            from_, to, weight = zip(*block, strict=True)
            found = [place.get(node_id, -1) for node_id in from_], [place.get(node_id, -1) for node_id in to]
            if -1 in found[0] or -1 in found[1]:
                inner = [s >= 0 and t >= 0 for s, t in zip(*found, strict=True)]
                found = list(compress(found[0], inner)), list(compress(found[1], inner))
                weight = tuple(compress(weight, inner))
            sources.extend(found[0])
            targets.extend(found[1])
            weights.extend(weight)
    return EdgeArrays(ids, sources, targets, weights)


def edge_from_row(row: Row[Any]) -> Edge:
    """Return the record of a row of table `edge`."""
    return Edge(
        id=row.id,
        source_id=row.source_id,
        target_id=row.target_id,
        kind=EdgeKind(row.kind),
        relation_type=None if row.relation_type is None else RelationType(row.relation_type),
        weight=row.weight,
        meta=row.meta,
        active=row.active,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )
