"""The tasks and articles a request is held against, as one process knows them (spec 05, "Semantic deduplication").

Reading them all for every enqueueing would cost in proportion to what there is. Triggers number every change
(`queue_change`); a refresh reads what bears a higher number than the last one seen, whoever wrote it. It runs inside a
write transaction, so nothing can change between it and the decision that rests on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, and_, bindparam, or_, select

from data.models import Task, TaskState
from data.schema import article, queue_change, research_task
from data.tasks import ACTIVE, KnownArticle, known_articles, task_of

__all__ = ["Gap", "KnownGaps"]

Gap = Task | KnownArticle

_CHANGES: Final = (
    select(queue_change.c.ref, queue_change.c.number)
    .where(queue_change.c.number > bindparam("seen"))
    .order_by(queue_change.c.number)
)
_NEWEST: Final = select(queue_change.c.number).order_by(queue_change.c.number.desc()).limit(1)
_SETTLED: Final = research_task.c.state.in_([TaskState.COMPLETED.value, TaskState.FAILED.value])
_UNMERGED: Final = and_(research_task.c.state == TaskState.CANCELLED.value, research_task.c.merged_into.is_(None))
_AT_ONCE: Final = 500
"""Ids in one statement."""


class KnownGaps:
    """Active, finished and refused tasks, and articles, by their names in `queue_change`; one for each writer."""

    def __init__(self) -> None:
        self._gaps: dict[str, Gap] = {}
        self._changed: dict[str, Gap | None] = {}
        self._articles_of: dict[str, set[str]] = {}
        self._seen: int | None = None
        self._reaches: datetime | None = None

    def __len__(self) -> int:
        return len(self._gaps)

    def refresh(self, conn: Connection, since: datetime) -> None:
        """Take in what changed since the last time; of finished tasks those that finished at `since` or later.

        Call inside a write transaction, before it writes anything.
        """
        if self._seen is None or self._reaches is None:
            newest = conn.execute(_NEWEST).scalar_one_or_none() or 0
            wanted = research_task.c.state.in_([state.value for state in ACTIVE])
            self._read_tasks(conn, or_(wanted, _UNMERGED, _SETTLED & (research_task.c.finished_at >= since)))
            self._take_articles(known_articles(conn))
            self._seen, self._reaches = newest, since
            return
        if since < self._reaches:  # the clock was set back
            earlier = (research_task.c.finished_at >= since) & (research_task.c.finished_at < self._reaches)
            self._read_tasks(conn, _SETTLED & earlier)
            self._reaches = since
        changes = conn.execute(_CHANGES, {"seen": self._seen}).all()
        if changes:
            self._follow(conn, [ref for ref, _ in changes])
            self._seen = changes[-1].number

    def take_changes(self) -> dict[str, Gap | None]:
        """Return what changed since the last call: tasks and articles as they are now, None for what counts no more."""
        changed, self._changed = self._changed, {}
        return changed

    def _follow(self, conn: Connection, refs: Iterable[str]) -> None:
        named: dict[str, list[str]] = {"research_task": [], "article": [], "task": []}
        for ref in refs:
            kind, _, name = ref.partition(":")
            named[kind].append(name)
        for name in named["research_task"]:
            self._forget(f"research_task:{name}")
        for ids in _batches(named["research_task"]):
            self._read_tasks(conn, research_task.c.id.in_(ids))
        # an article is known by what its task asked, and is as old as that task's evidence
        own = [
            name for task_id in (*named["task"], *named["research_task"]) for name in self._articles_of.get(task_id, ())
        ]
        articles = list({*named["article"], *own})
        for name in articles:
            self._forget(f"article:{name}")
        for ids in _batches(articles):
            self._take_articles(known_articles(conn, article.c.id.in_(ids)))

    def _read_tasks(self, conn: Connection, condition: Any) -> None:
        for row in conn.execute(select(research_task).where(condition)):
            task = task_of(row)
            if task.state is not TaskState.CANCELLED or task.merged_into is None:
                self._take(f"research_task:{task.id}", task)

    def _take_articles(self, found: Iterable[KnownArticle]) -> None:
        for entry in found:
            self._take(f"article:{entry.id}", entry)
            if entry.task_id is not None:
                self._articles_of.setdefault(entry.task_id, set()).add(entry.id)

    def _take(self, ref: str, gap: Gap) -> None:
        self._gaps[ref] = self._changed[ref] = gap

    def _forget(self, ref: str) -> None:
        if self._gaps.pop(ref, None) is not None:
            self._changed[ref] = None


def _batches(ids: Sequence[str]) -> Iterable[Sequence[str]]:
    return (ids[start : start + _AT_ONCE] for start in range(0, len(ids), _AT_ONCE))
