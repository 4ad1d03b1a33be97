"""Articles as stored: records, their revisions, reviews and attempts (spec 06)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import Connection, Row, func, select

from data.models import (
    Article,
    ArticleAttempt,
    ArticleReview,
    ArticleRevision,
    ArticleState,
    ArticleType,
)
from data.schema import article, article_attempt, article_review, article_revision

__all__ = [
    "ACTIVE_STATES",
    "active_article",
    "articles_in",
    "attempts_on",
    "attempts_with",
    "count_by_state",
    "get_article",
    "get_revision",
    "latest_revisions",
    "list_articles",
    "rejected_article",
    "rejection_reasons",
    "reviews_of",
    "revisions_of",
]

ACTIVE_STATES: Final = (ArticleState.STAGED, ArticleState.APPROVED, ArticleState.PUBLISHED)
"""The states in which an article holds its topic: one a topic key (unique index)."""


def get_article(conn: Connection, article_id: str) -> Article | None:
    """Return one article, or None."""
    row = conn.execute(select(article).where(article.c.id == article_id)).one_or_none()
    return None if row is None else _article(row)


def active_article(conn: Connection, topic_key: str) -> Article | None:
    """Return the article that holds the topic, or None."""
    row = conn.execute(
        select(article).where(
            article.c.topic_key == topic_key,
            article.c.active.is_(True),
            article.c.state.in_([state.value for state in ACTIVE_STATES]),
        )
    ).one_or_none()
    return None if row is None else _article(row)


def rejected_article(conn: Connection, topic_key: str) -> Article | None:
    """Return the newest rejected article on the topic, or None."""
    row = conn.execute(
        select(article)
        .where(
            article.c.topic_key == topic_key,
            article.c.active.is_(True),
            article.c.state == ArticleState.REJECTED.value,
        )
        .order_by(article.c.updated_at.desc(), article.c.id.desc())
        .limit(1)
    ).one_or_none()
    return None if row is None else _article(row)


def list_articles(
    conn: Connection, *, state: ArticleState | None = None, limit: int = 100, after: str | None = None
) -> list[Article]:
    """Return articles by id; `after` continues behind an id already seen."""
    statement = select(article)
    if state is not None:
        statement = statement.where(article.c.state == state.value)
    if after is not None:
        statement = statement.where(article.c.id > after)
    return [_article(row) for row in conn.execute(statement.order_by(article.c.id).limit(limit))]


def articles_in(conn: Connection, states: Sequence[ArticleState]) -> list[Article]:
    """Return every active article in one of `states`, by id."""
    statement = select(article).where(article.c.active.is_(True), article.c.state.in_([s.value for s in states]))
    return [_article(row) for row in conn.execute(statement.order_by(article.c.id))]


def count_by_state(conn: Connection) -> dict[str, int]:
    """Return how many articles each state has."""
    statement = select(article.c.state, func.count()).group_by(article.c.state).order_by(article.c.state)
    return {row[0]: int(row[1]) for row in conn.execute(statement)}


def get_revision(conn: Connection, article_id: str, number: int) -> ArticleRevision | None:
    """Return one revision, or None."""
    row = conn.execute(
        select(article_revision).where(article_revision.c.article_id == article_id, article_revision.c.number == number)
    ).one_or_none()
    return None if row is None else _revision(row)


def revisions_of(conn: Connection, article_id: str) -> list[ArticleRevision]:
    """Return every revision of an article, oldest first."""
    statement = select(article_revision).where(article_revision.c.article_id == article_id)
    return [_revision(row) for row in conn.execute(statement.order_by(article_revision.c.number))]


def latest_revisions(conn: Connection, pairs: Sequence[tuple[str, int]]) -> dict[str, ArticleRevision]:
    """Return the named (article id, number) revisions that exist, by article id."""
    found = {}
    for article_id, number in pairs:
        revision = get_revision(conn, article_id, number)
        if revision is not None:
            found[article_id] = revision
    return found


def reviews_of(conn: Connection, article_id: str, revision: int | None = None) -> list[ArticleReview]:
    """Return the reviews of an article, or of one of its revisions, oldest first."""
    statement = select(article_review).where(article_review.c.article_id == article_id)
    if revision is not None:
        statement = statement.where(article_review.c.revision == revision)
    return [_review(row) for row in conn.execute(statement.order_by(article_review.c.created_at, article_review.c.id))]


def rejection_reasons(conn: Connection, topic_key: str) -> tuple[str, ...]:
    """Return why people rejected articles on the topic, oldest first: what the next attempt gets as input."""
    statement = (
        select(article_review.c.findings)
        .join(article, article.c.id == article_review.c.article_id)
        .where(article.c.topic_key == topic_key, article_review.c.kind == "rejection")
        .order_by(article_review.c.created_at, article_review.c.id)
    )
    return tuple(
        str(finding["detail"]) for (findings,) in conn.execute(statement) for finding in findings if "detail" in finding
    )


def attempts_with(conn: Connection, fingerprint: str) -> list[ArticleAttempt]:
    """Return the attempts with this fingerprint, oldest first."""
    statement = select(article_attempt).where(article_attempt.c.fingerprint == fingerprint)
    return [
        _attempt(row) for row in conn.execute(statement.order_by(article_attempt.c.created_at, article_attempt.c.id))
    ]


def attempts_on(conn: Connection, topic_key: str) -> list[ArticleAttempt]:
    """Return every attempt on the topic, oldest first."""
    statement = select(article_attempt).where(article_attempt.c.topic_key == topic_key)
    return [
        _attempt(row) for row in conn.execute(statement.order_by(article_attempt.c.created_at, article_attempt.c.id))
    ]


def _article(row: Row[Any]) -> Article:
    values = dict(row._mapping)
    values["type"] = ArticleType(values["type"])
    values["state"] = ArticleState(values["state"])
    return Article(**values)


def _revision(row: Row[Any]) -> ArticleRevision:
    values = dict(row._mapping)
    values["evidence_ids"] = tuple(values["evidence_ids"])
    return ArticleRevision(**values)


def _review(row: Row[Any]) -> ArticleReview:
    values = dict(row._mapping)
    values["findings"] = tuple(values["findings"])
    return ArticleReview(**values)


def _attempt(row: Row[Any]) -> ArticleAttempt:
    values = dict(row._mapping)
    values["type"] = None if values["type"] is None else ArticleType(values["type"])
    return ArticleAttempt(**values)
