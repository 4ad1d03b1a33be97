"""Topics that were asked for and could not be taken in: kept for a later scan (spec 05, opportunity `asked`).

An agent task that finds the day's budget used up is refused; what it asked for is not forgotten. The list
lives in `state`, holds a bounded number of topics, and loses one as soon as a scan has dealt with it.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from sqlalchemy import Connection

from data.models import ArticleType
from data.state import get_state, set_state
from data.tasks import TaskRequest
from data.text import label_key
from data.tx import Tx

__all__ = ["asked_topics", "forget_asked", "remember_asked"]

_NAME: Final = "research.asked"
_LIMIT: Final = 100
"""Topics kept; past it the oldest goes. A service desk that asks for more a day has another problem."""


def asked_topics(conn: Connection) -> list[TaskRequest]:
    """Return what was asked for and not dealt with, oldest first."""
    return [
        TaskRequest(
            topic=entry["topic"],
            questions=tuple(entry["questions"]),
            seeds=tuple(entry["seeds"]),
            article_type=ArticleType(entry["article_type"]) if entry["article_type"] else None,
            priority=entry["priority"],
            language=entry["language"],
        )
        for entry in _stored(conn)
    ]


def remember_asked(tx: Tx, request: TaskRequest) -> None:
    """Keep `request`; a topic that is kept already is replaced by its newer form."""
    key = label_key(request.topic)
    kept = [entry for entry in _stored(tx.conn) if label_key(entry["topic"]) != key]
    kept.append(
        {
            "topic": request.topic,
            "questions": list(request.questions),
            "seeds": list(request.seeds),
            "article_type": request.article_type.value if request.article_type else None,
            "priority": request.priority,
            "language": request.language,
        }
    )
    set_state(tx, _NAME, kept[-_LIMIT:])


def forget_asked(tx: Tx, topics: Collection[str]) -> None:
    """Drop these topics; unknown ones are no error."""
    gone = {label_key(topic) for topic in topics}
    stored = _stored(tx.conn)
    kept = [entry for entry in stored if label_key(entry["topic"]) not in gone]
    if len(kept) != len(stored):
        set_state(tx, _NAME, kept)


def _stored(conn: Connection) -> list[dict[str, Any]]:
    return list(get_state(conn, _NAME) or [])
