"""Embeddings, neighbour lists, vector edges and positions as they stand in the store (spec 02, 03). Reading only.

Vectors come as the raw bytes of float32[n, dim], little-endian: `numpy.frombuffer(found.data, "<f4")` copies nothing.
Everything here is large in a large house: use `read_bulk`.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Select, and_, func, select

from data.edges import EdgeArrays, edge_arrays
from data.models import EdgeKind, NodeKind
from data.schema import embedding, neighbour, node, position

__all__ = [
    "MapState",
    "StaleNode",
    "StoredEdges",
    "StoredList",
    "StoredMap",
    "StoredVectors",
    "contents_of",
    "embedded_nodes",
    "foreign_embeddings",
    "load_map",
    "load_neighbours",
    "load_positions",
    "load_vectors",
    "map_state",
    "stale_nodes",
    "vector_edges",
    "vectors_by_content",
]

_CHUNK: Final = 500
_OWN = and_(node.c.active.is_(True), node.c.kind != NodeKind.EVIDENCE.value)
"""What takes part in vector graph and map: the house's own knowledge. External evidence hangs on relations alone, so
that thinking pairs are pairs of own nodes."""
_READ_AT_ONCE: Final = 5000
"""Rows taken apart by one call that holds the interpreter lock: some milliseconds."""
MAP_EDGES: Final = (EdgeKind.VECTOR, EdgeKind.RELATION)
"""What holds the map together: nearness and accepted relations."""


@dataclass(frozen=True, slots=True)
class StaleNode:
    """A node to embed: `chars` is the length of its label and body."""

    id: str
    content_hash: str
    chars: int


@dataclass(frozen=True, slots=True)
class StoredVectors:
    """Current vectors of one model, in order of node id: `data` is float32[len(ids), dim]."""

    ids: list[str]
    hashes: list[str]
    dim: int
    data: bytes


@dataclass(frozen=True, slots=True)
class StoredList:
    """The neighbour list of one node as it was kept: `similarities` holds one float32 more than `ids`, the floor."""

    node_id: str
    content_hash: str
    ids: list[str]
    similarities: bytes


@dataclass(frozen=True, slots=True)
class StoredEdges:
    """All vector edges as columns, to be compared with new ones.

    An edge without a readable affinity, or that is not active, has the affinity NaN, so that it counts as changed.
    `created` holds stored times (ISO 8601).
    """

    ids: list[str]
    sources: list[str]
    targets: list[str]
    weights: array[float]
    affinities: array[float]
    duplicates: list[bool]
    created: list[str]


@dataclass(frozen=True, slots=True)
class StoredMap:
    """Own nodes with the edges that place them, and where they stand by node id."""

    graph: EdgeArrays
    placed: dict[str, tuple[float, float, float]]


@dataclass(frozen=True, slots=True)
class MapState:
    """How the map fits the nodes: `missing` nodes have no position, `vanished` positions no living node."""

    nodes: int
    placed: int
    missing: int
    vanished: int


def stale_nodes(conn: Connection, model: str, dim: int, *, everything: bool = False) -> list[StaleNode]:
    """Return the own nodes without a whole vector of `model` for their present content, in order of id.

    With `everything` all own nodes. A stored vector of another length than `dim` is none.
    """
    fresh = and_(
        embedding.c.node_id == node.c.id,
        embedding.c.model == model,
        embedding.c.content_hash == node.c.content_hash,
        func.length(embedding.c.vector) == 4 * dim,
    )
    chars = func.length(node.c.label) + func.length(node.c.body)
    statement = select(node.c.id, node.c.content_hash, chars).where(_OWN).order_by(node.c.id)
    if not everything:
        statement = statement.outerjoin(embedding, fresh).where(embedding.c.node_id.is_(None))
    return [StaleNode(*row) for row in conn.execute(statement).tuples()]


def contents_of(conn: Connection, ids: Sequence[str]) -> dict[str, tuple[str, str, str]]:
    """Return (label, body, content hash) of the active nodes among `ids`, by id."""
    columns = (node.c.id, node.c.label, node.c.body, node.c.content_hash)
    return {
        row.id: (row.label, row.body, row.content_hash)
        for chunk in _chunks(ids)
        for row in conn.execute(select(*columns).where(_OWN, node.c.id.in_(chunk)))
    }


def vectors_by_content(conn: Connection, model: str, dim: int, hashes: Sequence[str]) -> dict[str, bytes]:
    """Return a vector of `model` that stands for each of these content hashes, whichever node it was made for."""
    return {
        row.content_hash: row.vector
        for chunk in _chunks(hashes)
        for row in conn.execute(
            select(embedding.c.content_hash, embedding.c.vector).where(
                embedding.c.model == model,
                embedding.c.content_hash.in_(chunk),
                func.length(embedding.c.vector) == 4 * dim,
            )
        )
    }


def embedded_nodes(conn: Connection, model: str) -> list[tuple[str, str]]:
    """Return (node id, content hash) of every current vector of `model`, in order of id, without the vectors."""
    return list(conn.execute(_current(embedding.c.node_id, embedding.c.content_hash, model=model)).tuples())


def load_vectors(conn: Connection, model: str) -> StoredVectors:
    """Return every current vector of `model`."""
    columns = (embedding.c.node_id, embedding.c.content_hash, embedding.c.dim, embedding.c.vector)
    found = conn.execute(_current(*columns, model=model))
    ids, hashes, parts, dim = [], [], [], 0
    # Piece by piece: joined and freed in one go, a large house holds the interpreter for a tenth of a second.
    while rows := found.fetchmany(_CHUNK):
        dim = dim or int(rows[0].dim)
        whole = [row for row in rows if len(row.vector) == 4 * dim]
        ids += [row.node_id for row in whole]
        hashes += [row.content_hash for row in whole]
        parts.append(b"".join(row.vector for row in whole))
    return StoredVectors(ids, hashes, dim, b"".join(parts))


def foreign_embeddings(conn: Connection, model: str) -> list[tuple[str, str]]:
    """Return (node id, model) of vectors of other models than `model`."""
    statement = select(embedding.c.node_id, embedding.c.model).where(embedding.c.model != model)
    return [(row.node_id, row.model) for row in conn.execute(statement)]


def load_neighbours(conn: Connection, model: str | None) -> list[StoredList]:
    """Return the kept neighbour lists of `model` (None: of whatever model), in order of node id."""
    columns = (neighbour.c.node_id, neighbour.c.content_hash, neighbour.c.ids, neighbour.c.similarities)
    statement = select(*columns).order_by(neighbour.c.node_id)
    if model is not None:
        statement = statement.where(neighbour.c.model == model)
    return [StoredList(*row) for row in conn.execute(statement).tuples()]


def vector_edges(conn: Connection) -> StoredEdges:
    """Return every vector edge. Plain columns and one parse of all JSON: a tenth of the time of typed rows."""
    statement = "SELECT id, source_id, target_id, weight, meta, active, created_at FROM edge WHERE kind = 'vector'"
    found = StoredEdges([], [], [], array("d"), array("d"), [], [])
    for rows in conn.exec_driver_sql(statement).partitions(_READ_AT_ONCE):
        ids, sources, targets, weights, metas, active, created = zip(*rows, strict=True)
        parsed = json.loads(f"[{','.join(metas)}]")
        found.ids.extend(ids)
        found.sources.extend(sources)
        found.targets.extend(targets)
        found.weights.extend(weights)
        found.affinities.extend(
            float(meta.get("affinity", "nan")) if stands else float("nan")
            for meta, stands in zip(parsed, active, strict=True)
        )
        found.duplicates.extend(meta.get("duplicate") is True for meta in parsed)
        found.created.extend(created)
    return found


def load_positions(conn: Connection) -> dict[str, tuple[float, float, float]]:
    """Return every stored position by node id."""
    statement = select(position.c.node_id, position.c.x, position.c.y, position.c.z)
    return {row.node_id: (row.x, row.y, row.z) for row in conn.execute(statement)}


def load_map(conn: Connection) -> StoredMap:
    """Return what a layout works on. External evidence stands on no map."""
    graph = edge_arrays(conn, MAP_EDGES)
    own = set(conn.execute(select(node.c.id).where(_OWN)).scalars())
    if len(own) == len(graph.ids):
        return StoredMap(graph, load_positions(conn))
    ids = [node_id for node_id in graph.ids if node_id in own]
    place = {node_id: row for row, node_id in enumerate(ids)}
    moved = [place.get(node_id, -1) for node_id in graph.ids]
    sources, targets, weights = array("i"), array("i"), array("d")
    for source, target, weight in zip(graph.sources, graph.targets, graph.weights, strict=True):
        if moved[source] >= 0 and moved[target] >= 0:
            sources.append(moved[source])
            targets.append(moved[target])
            weights.append(weight)
    return StoredMap(EdgeArrays(ids, sources, targets, weights), load_positions(conn))


def map_state(conn: Connection) -> MapState:
    """Return how many own nodes and positions there are, and how many of each lack the other."""
    placed = conn.execute(select(func.count()).select_from(position)).scalar_one()
    nodes = conn.execute(select(func.count()).select_from(node).where(_OWN)).scalar_one()
    standing = position.join(node, and_(node.c.id == position.c.node_id, _OWN))
    both = conn.execute(select(func.count()).select_from(standing)).scalar_one()
    return MapState(nodes, placed, nodes - both, placed - both)


def _current(*columns: Any, model: str) -> Select[Any]:
    return (
        select(*columns)
        .join(node, node.c.id == embedding.c.node_id)
        .where(_OWN, embedding.c.model == model, embedding.c.content_hash == node.c.content_hash)
        .order_by(embedding.c.node_id)
    )


def _chunks(values: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(values), _CHUNK):
        yield values[start : start + _CHUNK]
