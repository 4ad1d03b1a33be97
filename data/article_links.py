"""How articles hang together: the nodes they are about, and the relations between those nodes (spec 06, "Export")."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, select

from data.models import Article, EdgeKind
from data.nodes import nodes_by_ids
from data.schema import edge, research_task

__all__ = ["ArticleLink", "article_links"]

_CHUNK = 500


@dataclass(frozen=True, slots=True)
class ArticleLink:
    """From article `first` to `second`, both ids: a relation of type `relation` from the node labelled `source` to the
    one labelled `target`; or, with relation "", a node `source` that both are about."""

    first: str
    second: str
    relation: str
    source: str
    target: str


def article_links(conn: Connection, articles: Sequence[Article]) -> list[ArticleLink]:
    """Return the links among `articles`, each in both directions, in a fixed order.

    What an article is about are the seeds of the research that it came from; withdrawn relations link nothing.
    """
    about = _seeds(conn, articles)
    holders: dict[str, list[str]] = defaultdict(list)
    for article_id, seeds in sorted(about.items()):
        for seed in sorted(seeds):
            holders[seed].append(article_id)
    found: dict[tuple[str, str, str, str, str], None] = {}
    for seed, owners in holders.items():
        found |= {(one, other, "", seed, seed): None for one in owners for other in owners if one != other}
    for source, target, relation in _relations(conn, holders):
        for one in holders[source]:
            for other in holders[target]:
                if one != other:
                    found[one, other, relation, source, target] = None
                    found[other, one, relation, source, target] = None
    labels = {node_id: node.label for node_id, node in nodes_by_ids(conn, holders).items()}
    return [
        ArticleLink(one, other, relation, labels.get(source, ""), labels.get(target, ""))
        for one, other, relation, source, target in sorted(found)
    ]


def _seeds(conn: Connection, articles: Sequence[Article]) -> dict[str, set[str]]:
    by_task = {article.task_id: article.id for article in articles if article.task_id}
    found: dict[str, set[str]] = {}
    for chunk in _chunks(by_task):
        statement = select(research_task.c.id, research_task.c.seeds).where(research_task.c.id.in_(chunk))
        for task_id, seeds in conn.execute(statement):
            found[by_task[task_id]] = set(seeds or ())
    return found


def _relations(conn: Connection, nodes: Iterable[str]) -> list[tuple[str, str, str]]:
    known = set(nodes)
    found = []
    for chunk in _chunks(sorted(known)):
        statement = select(edge.c.source_id, edge.c.target_id, edge.c.relation_type).where(
            edge.c.kind == EdgeKind.RELATION.value, edge.c.active.is_(True), edge.c.source_id.in_(chunk)
        )
        found += [(source, target, kind or "") for source, target, kind in conn.execute(statement) if target in known]
    return found


def _chunks(values: Iterable[str]) -> list[list[str]]:
    listed = list(values)
    return [listed[start : start + _CHUNK] for start in range(0, len(listed), _CHUNK)]
