"""The graph in one piece, as the opportunity scan looks at it: contents, edges, articles, what was asked (spec 05)."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from sqlalchemy import Connection, select

from data.asked import asked_topics
from data.edges import EdgeArrays, edge_arrays
from data.models import ArticleState, EdgeKind, NodeKind, RelationType
from data.readings import NodeReading, later_text, load_readings
from data.schema import edge, node
from data.tasks import KnownArticle, TaskRequest, known_articles

__all__ = ["GraphSnapshot", "LaterText", "load_graph"]

LaterText = Callable[[Iterable[NodeKind]], Iterable[tuple[str, str]]]
"""Given kinds, the (node id, text behind what was read of its body) of the nodes whose body goes on there."""


def _nothing_later(_: Iterable[NodeKind]) -> Iterable[tuple[str, str]]:
    return ()


def _no_edges() -> EdgeArrays:
    return EdgeArrays([], array("i"), array("i"), array("d"))


@dataclass(frozen=True, slots=True)
class GraphSnapshot:
    """What a scan sees at `now`. `nodes` are active, read, without external evidence, in order of what they say.

    `vectors` are the vector edges, `relations` the relations, both between active nodes by id; `articles` are those a
    person approved; `contradicted` holds the ids of articles whose node another one contradicts. `later` reads from
    the same snapshot, and only as long as it is open.
    """

    now: datetime
    nodes: list[NodeReading]
    vectors: EdgeArrays = field(default_factory=_no_edges)
    relations: EdgeArrays = field(default_factory=_no_edges)
    articles: tuple[KnownArticle, ...] = ()
    contradicted: frozenset[str] = field(default_factory=frozenset)
    asked: tuple[TaskRequest, ...] = ()
    later: LaterText = _nothing_later


def load_graph(conn: Connection, now: datetime, *, reader: str, read_chars: int) -> GraphSnapshot:
    """Return the graph as it stands and as `reader` has read it, `read_chars` of each body (large: use `read_bulk`)."""
    approved = (ArticleState.APPROVED, ArticleState.PUBLISHED)
    return GraphSnapshot(
        now=now,
        nodes=load_readings(conn, reader),
        vectors=edge_arrays(conn, [EdgeKind.VECTOR]),
        relations=edge_arrays(conn, [EdgeKind.RELATION]),
        articles=tuple(article for article in known_articles(conn) if article.state in approved),
        contradicted=_contradicted(conn),
        asked=tuple(asked_topics(conn)),
        later=partial(later_text, conn, start=read_chars),
    )


def _contradicted(conn: Connection) -> frozenset[str]:
    """Return the ids of the articles whose node has an active `contradicts` relation.

    An article's node says which article it is in its `meta` ("article_id").
    """
    contradiction = (
        edge.c.kind == EdgeKind.RELATION.value,
        edge.c.relation_type == RelationType.CONTRADICTS.value,
        edge.c.active.is_(True),
    )
    ends = [select(column).where(*contradiction) for column in (edge.c.source_id, edge.c.target_id)]
    rows = conn.execute(
        select(node.c.meta).where(
            node.c.kind == NodeKind.ARTICLE.value, node.c.active.is_(True), node.c.id.in_(ends[0].union(ends[1]))
        )
    )
    return frozenset(meta["article_id"] for (meta,) in rows if "article_id" in meta)
