"""What an export is made of: approved articles with their evidence, and how they hang together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from articles.types import Article
from data.models import ArticleState, Evidence

__all__ = ["ExportItem", "ExportLink"]


@dataclass(frozen=True, slots=True)
class ExportLink:
    """A reason to go on reading: a relation between what two articles are about; it leads to `title`.

    `relation` is its type, `source` and `target` the labels it holds between; relation "" means that both articles
    are about `source`.
    """

    article_id: str
    title: str
    relation: str
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class ExportItem:
    """The approved revision of one article; `evidence` holds every record it cites, `links` lead to exported ones."""

    article_id: str
    revision: int
    state: ArticleState
    content: Article
    markdown: str
    evidence: Mapping[str, Evidence]
    links: tuple[ExportLink, ...] = ()
