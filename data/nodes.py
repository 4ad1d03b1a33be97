"""Nodes, read (spec 02, table `node`)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from sqlalchemy import Connection, Row, Select, bindparam, func, select, text, tuple_

from data.fulltext_postgres import rank_nodes
from data.models import Node, NodeKind
from data.schema import node

__all__ = [
    "NodeContent",
    "NodeHit",
    "all_contents",
    "content_hash",
    "count_by_kind",
    "count_by_language",
    "find_by_label_key",
    "get_node",
    "list_nodes",
    "node_by_uri",
    "node_from_row",
    "nodes_by_ids",
    "nodes_by_label_keys",
    "nodes_by_uris",
    "search_nodes",
]

_CHUNK: Final = 500
_QUERY_WORD: Final = re.compile(r"\w+", re.UNICODE)
_QUERY_WORDS: Final = 24
"""Words of a search that are looked up; more makes a query slow and its ranking no better."""
_LABEL_WEIGHT: Final = 4.0
_SEARCH: Final = text(
    "SELECT node_text.node_id AS id, -bm25(node_fts, :label_weight, 1.0) AS score FROM node_fts "
    "JOIN node_text ON node_text.id = node_fts.rowid JOIN node ON node.id = node_text.node_id "
    "WHERE node_fts MATCH :match AND node.active = 1 AND node.kind IN :kinds "
    "ORDER BY score DESC, node_text.node_id LIMIT :limit"
).bindparams(bindparam("kinds", expanding=True))


@dataclass(frozen=True, slots=True)
class NodeContent:
    """What an embedding or a graph scan needs of a node."""

    id: str
    kind: NodeKind
    label: str
    body: str
    language: str
    category: str
    content_hash: str


@dataclass(frozen=True, slots=True)
class NodeHit:
    """A node found by full text; `score` is positive, higher is better (negated BM25)."""

    node: Node
    score: float


def content_hash(kind: NodeKind | str, label: str, body: str) -> str:
    """Return the SHA-256 (hex) that embeddings and pair decisions hang on."""
    return hashlib.sha256("\x00".join((str(kind), label, body)).encode()).hexdigest()


def get_node(conn: Connection, node_id: str) -> Node | None:
    """Return the node, active or not, or None."""
    row = conn.execute(select(node).where(node.c.id == node_id)).one_or_none()
    return None if row is None else node_from_row(row)


def nodes_by_ids(conn: Connection, ids: Iterable[str]) -> dict[str, Node]:
    """Return the nodes that exist among `ids`, by id."""
    return {found.id: found for chunk in _chunks(ids) for found in _select(conn, node.c.id.in_(chunk))}


def node_by_uri(conn: Connection, source_uri: str) -> Node | None:
    """Return the node that came from `source_uri` (the active one, else the oldest), or None."""
    return nodes_by_uris(conn, [source_uri]).get(source_uri)


def nodes_by_uris(conn: Connection, uris: Iterable[str], *, kind: NodeKind | None = None) -> dict[str, Node]:
    """Return the nodes by the URI they came from; where several share one, the active, else the oldest."""
    also = () if kind is None else (node.c.kind == kind.value,)
    found = [n for chunk in _chunks(u for u in uris if u) for n in _select(conn, node.c.source_uri.in_(chunk), *also)]
    return {n.source_uri: n for n in sorted(found, key=_last_wins)}


def find_by_label_key(
    conn: Connection, label_key: str, *, kind: NodeKind | None = None, active: bool | None = True
) -> list[Node]:
    """Return the nodes whose normalised label is exactly `label_key`; `active=None` takes both."""
    asked = {"label_key": label_key} | ({} if kind is None else {"kind": kind.value})
    return [node_from_row(row) for row in conn.execute(_by_label_key(kind is not None, active), asked)]


@cache
def _by_label_key(of_kind: bool, active: bool | None) -> Select[Any]:
    # Every creation asks this: a statement built anew takes twice the time that the answer does.
    statement = select(node).where(node.c.label_key == bindparam("label_key")).order_by(node.c.id)
    if of_kind:
        statement = statement.where(node.c.kind == bindparam("kind"))
    return statement if active is None else statement.where(node.c.active.is_(active))


def nodes_by_label_keys(conn: Connection, keys: Iterable[tuple[NodeKind, str]]) -> dict[tuple[NodeKind, str], Node]:
    """Return nodes by kind and normalised label; where several share them, the active, else the oldest."""
    wanted = [(kind.value, key) for kind, key in keys]
    found: list[tuple[tuple[NodeKind, str], Node]] = []
    for start in range(0, len(wanted), _CHUNK):
        pair = tuple_(node.c.kind, node.c.label_key).in_(wanted[start : start + _CHUNK])
        for row in conn.execute(select(node).where(pair)):
            found.append(((NodeKind(row.kind), row.label_key), node_from_row(row)))
    return dict(sorted(found, key=lambda entry: _last_wins(entry[1])))


def list_nodes(
    conn: Connection,
    *,
    kind: NodeKind | None = None,
    active: bool | None = True,
    limit: int = 100,
    after: str | None = None,
) -> list[Node]:
    """Return nodes in order of id; `after` is the last id of the page before."""
    condition = []
    if kind is not None:
        condition.append(node.c.kind == kind.value)
    if active is not None:
        condition.append(node.c.active.is_(active))
    if after is not None:
        condition.append(node.c.id > after)
    return list(_select(conn, *condition, limit=limit))


def count_by_kind(conn: Connection, *, active: bool | None = True) -> dict[NodeKind, int]:
    """Return how many nodes each kind has."""
    statement = select(node.c.kind, func.count()).group_by(node.c.kind)
    if active is not None:
        statement = statement.where(node.c.active.is_(active))
    return {NodeKind(kind): count for kind, count in conn.execute(statement).tuples()}


def count_by_language(conn: Connection) -> dict[str, int]:
    """Return how many active nodes of the house's own (no external evidence) each language has."""
    statement = (
        select(node.c.language, func.count())
        .where(node.c.active, node.c.kind != NodeKind.EVIDENCE.value)
        .group_by(node.c.language)
    )
    return dict(conn.execute(statement).tuples().all())


def all_contents(conn: Connection, *, kinds: Sequence[NodeKind] | None = None) -> list[NodeContent]:
    """Return the content of every active node in order of id (large: use `read_bulk`)."""
    columns = (node.c.id, node.c.kind, node.c.label, node.c.body, node.c.language, node.c.category, node.c.content_hash)
    statement = select(*columns).where(node.c.active.is_(True)).order_by(node.c.id)
    if kinds is not None:
        statement = statement.where(node.c.kind.in_([kind.value for kind in kinds]))
    by_name = {kind.value: kind for kind in NodeKind}
    return [
        NodeContent(id_, by_name[kind], label, body, language, category, digest)
        for id_, kind, label, body, language, category, digest in conn.execute(statement).tuples()
    ]


def search_nodes(
    conn: Connection, query: str, *, limit: int = 20, kinds: Sequence[NodeKind] | None = None
) -> list[NodeHit]:
    """Return active nodes whose label or body hold words of `query`, best first; labels count four times.

    Any text is a valid query: its words are quoted, so no FTS5 operator is ever executed.
    """
    words = list(dict.fromkeys(_QUERY_WORD.findall(query)))[:_QUERY_WORDS]
    if not words:
        return []
    wanted = [kind.value for kind in (NodeKind if kinds is None else kinds)]
    scores: dict[str, float]
    if conn.dialect.name == "postgresql":
        scores = rank_nodes(conn, words, wanted, title_weight=_LABEL_WEIGHT, limit=limit)
    else:
        match = " OR ".join(f'"{word}"' for word in words)
        parameters = {"match": match, "label_weight": _LABEL_WEIGHT, "kinds": wanted, "limit": limit}
        scores = dict(conn.execute(_SEARCH, parameters).tuples().all())
    found = nodes_by_ids(conn, scores)
    return [NodeHit(found[node_id], score) for node_id, score in scores.items()]


def node_from_row(row: Row[Any]) -> Node:
    """Return the record of a row of table `node`."""
    return Node(
        id=row.id,
        kind=NodeKind(row.kind),
        label=row.label,
        body=row.body,
        language=row.language,
        source_uri=row.source_uri,
        content_hash=row.content_hash,
        category=row.category,
        meta=row.meta,
        active=row.active,
        created_at=row.created_at,
        updated_at=row.updated_at,
        version=row.version,
    )


def _select(conn: Connection, *conditions: Any, limit: int | None = None) -> Iterator[Node]:
    statement = select(node).where(*conditions).order_by(node.c.id).limit(limit)
    return (node_from_row(row) for row in conn.execute(statement))


def _last_wins(found: Node) -> tuple[bool, list[int]]:
    # Sorted so that the one to keep comes last: active before inactive, then the lowest id.
    return found.active, [-ord(character) for character in found.id]


def _chunks(values: Iterable[str]) -> Iterator[list[str]]:
    unique = list(dict.fromkeys(values))
    for start in range(0, len(unique), _CHUNK):
        yield unique[start : start + _CHUNK]
