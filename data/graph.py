"""The graph in one piece, as the opportunity scan looks at it: contents, edges, articles, what was asked (spec 05)."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import Connection, select

from data.asked import asked_topics
from data.edges import EdgeArrays, edge_arrays
from data.models import ArticleState, EdgeKind, NodeKind, RelationType
from data.nodes import NodeContent, all_contents
from data.schema import edge, node
from data.tasks import KnownArticle, TaskRequest, known_articles

__all__ = ["GraphSnapshot", "load_graph"]


@dataclass(frozen=True, slots=True)
class GraphSnapshot:
    """What a scan sees at `now`. `nodes` are active, without external evidence, in order of id.

    `vectors` are the vector edges as (place, place, weight) into `nodes`, smaller place first, `relations` the
    relations likewise; `articles` are those a person approved; `contradicted` holds the ids of articles whose
    node another one contradicts.
    """

    now: datetime
    nodes: tuple[NodeContent, ...]
    vectors: tuple[tuple[int, int, float], ...] = ()
    relations: tuple[tuple[int, int], ...] = ()
    articles: tuple[KnownArticle, ...] = ()
    contradicted: frozenset[str] = field(default_factory=frozenset)
    asked: tuple[TaskRequest, ...] = ()


def load_graph(conn: Connection, now: datetime) -> GraphSnapshot:
    """Return the graph as it stands (large: use `read_bulk`)."""
    kinds = [kind for kind in NodeKind if kind is not NodeKind.EVIDENCE]
    nodes = tuple(all_contents(conn, kinds=kinds))
    place = {content.id: index for index, content in enumerate(nodes)}
    approved = (ArticleState.APPROVED, ArticleState.PUBLISHED)
    return GraphSnapshot(
        now=now,
        nodes=nodes,
        vectors=tuple(_weighted(edge_arrays(conn, [EdgeKind.VECTOR]), place)),
        relations=tuple((a, b) for a, b, _ in _weighted(edge_arrays(conn, [EdgeKind.RELATION]), place)),
        articles=tuple(article for article in known_articles(conn) if article.state in approved),
        contradicted=_contradicted(conn),
        asked=tuple(asked_topics(conn)),
    )


def _weighted(arrays: EdgeArrays, place: dict[str, int]) -> list[tuple[int, int, float]]:
    """Return the edges between nodes that are in `place`, smaller place first, in order."""
    found = []
    for source, target, weight in zip(arrays.sources, arrays.targets, arrays.weights, strict=True):
        a, b = place.get(arrays.ids[source]), place.get(arrays.ids[target])
        if a is not None and b is not None and a != b:
            found.append((min(a, b), max(a, b), weight))
    return sorted(found)


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
