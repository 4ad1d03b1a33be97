"""What the research reads in nodes, as it is kept beside them: table `node_reading` (spec 05, opportunities).

A reading holds for a content and a reader; where either has changed, the node is unread. Reading only; the rows are
written as verified batches (`data.crud.batch`). What the packed texts mean is the affair of `research.reading`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, and_, func, or_, select

from data.models import NodeKind
from data.nodes import NodeContent
from data.schema import node, node_reading

__all__ = ["NodeReading", "count_unread", "later_text", "load_readings", "unread_nodes"]

_AT_ONCE: Final = 2_000
"""Rows fetched by one call that holds the interpreter: some milliseconds."""
_OWN = and_(node.c.active.is_(True), node.c.kind != NodeKind.EVIDENCE.value)


@dataclass(frozen=True, slots=True)
class NodeReading:
    """One node, read, without its body; `words`, `named` and `terms` are packed."""

    id: str
    kind: NodeKind
    language: str
    chars: int
    """Length of the body."""
    label: str
    """The public label."""
    words: str
    named: str
    terms: str


def count_unread(conn: Connection, reader: str) -> int:
    """Return how many nodes `reader` has not read as they are."""
    statement = select(func.count()).select_from(node).outerjoin(node_reading, node_reading.c.node_id == node.c.id)
    return int(conn.execute(statement.where(_OWN, _unread(reader))).scalar_one())


def unread_nodes(conn: Connection, reader: str, *, limit: int, after: str = "") -> list[NodeContent]:
    """Return the next `limit` nodes behind the id `after` that `reader` has not read as they are, by id."""
    statement = (
        select(node.c.id, node.c.kind, node.c.label, node.c.body, node.c.language, node.c.category, node.c.content_hash)
        .outerjoin(node_reading, node_reading.c.node_id == node.c.id)
        .where(_OWN, node.c.id > after, _unread(reader))
        .order_by(node.c.id)
        .limit(limit)
    )
    return [NodeContent(row[0], NodeKind(row[1]), *row[2:]) for row in conn.execute(statement).tuples()]


def _unread(reader: str) -> ColumnElement[bool]:
    reading = node_reading.c
    return or_(reading.node_id.is_(None), reading.content_hash != node.c.content_hash, reading.reader != reader)


def load_readings(conn: Connection, reader: str) -> list[NodeReading]:
    """Return the nodes that `reader` has read as they are, in order of what they say (large: use `read_bulk`).

    By content, not by id: ids tell when a node came, and what is seen in a graph must not hang on that.
    """
    reading = node_reading.c
    statement = (
        select(
            node.c.id, node.c.kind, node.c.language, reading.chars, reading.label, reading.words, reading.named,
            reading.terms,
        )
        .join(node_reading, reading.node_id == node.c.id)
        .where(_OWN, reading.content_hash == node.c.content_hash, reading.reader == reader)
        .order_by(node.c.content_hash, node.c.id)
    )  # fmt: skip
    kinds = {kind.value: kind for kind in NodeKind}
    found: list[NodeReading] = []
    with conn.execute(statement) as result:
        for rows in _blocks(result.fetchmany):
            found += [NodeReading(row[0], kinds[row[1]], *row[2:]) for row in rows]
    return found


def later_text(conn: Connection, kinds: Iterable[NodeKind], start: int) -> Iterator[tuple[str, str]]:
    """Yield (node id, body from character `start` on) of the nodes of these kinds whose body goes on there."""
    statement = select(node.c.id, func.substr(node.c.body, start + 1)).where(
        _OWN, node.c.kind.in_([kind.value for kind in kinds]), func.length(node.c.body) > start
    )
    with conn.execute(statement) as result:
        for rows in _blocks(result.fetchmany):
            yield from ((row[0], row[1]) for row in rows)


def _blocks(fetch: Callable[[int], Sequence[Any]]) -> Iterator[Sequence[Any]]:
    while rows := fetch(_AT_ONCE):
        yield rows
