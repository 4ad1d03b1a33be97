"""Research tasks as they stand in the store: their life, their counts, and what an enqueueing decides on (spec 05).

Reading only; the writes are in `data.crud.tasks` (verified) and `data.crud.leases` (technical).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection, Row, and_, bindparam, func, literal, or_, select

from data.clock import from_iso, utc_day_start
from data.models import ArticleState, ArticleType, Task, TaskOrigin, TaskState
from data.schema import Moment, article, evidence, journal, research_task

__all__ = [
    "ACTIVE",
    "SETTLED",
    "TRANSITIONS",
    "WAITS_FOR",
    "Add",
    "EnqueueDecision",
    "KnownArticle",
    "LeaseLost",
    "Merge",
    "QueueSnapshot",
    "Reject",
    "TaskCounts",
    "TaskError",
    "TaskRequest",
    "TaskTotals",
    "TransitionRefused",
    "UnknownTask",
    "active_tasks",
    "check_transition",
    "count_tasks",
    "get_task",
    "is_pending",
    "known_articles",
    "leased_tasks",
    "list_tasks",
    "load_snapshot",
    "not_pending",
    "task_as_read_back",
    "task_of",
    "task_target",
    "task_totals",
    "tasks_beginning",
    "waiting_for",
]

ACTIVE: Final = (TaskState.QUEUED, TaskState.DEFERRED, TaskState.RESERVED, TaskState.RUNNING)
SETTLED: Final = (TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELLED)

TRANSITIONS: Final[Mapping[TaskState, frozenset[TaskState]]] = {
    TaskState.QUEUED: frozenset({TaskState.DEFERRED, TaskState.RESERVED, TaskState.CANCELLED}),
    TaskState.DEFERRED: frozenset({TaskState.QUEUED, TaskState.CANCELLED}),
    # reserved → failed only where the lease ran out for the last time that is allowed
    TaskState.RESERVED: frozenset({TaskState.RUNNING, TaskState.QUEUED, TaskState.DEFERRED, TaskState.FAILED}),
    TaskState.RUNNING: frozenset({TaskState.COMPLETED, TaskState.FAILED, TaskState.QUEUED, TaskState.DEFERRED}),
    # failed → deferred is a person's retry on a day whose budget is used up: queued and put off in one write
    TaskState.FAILED: frozenset({TaskState.QUEUED, TaskState.DEFERRED}),
    TaskState.COMPLETED: frozenset(),
    TaskState.CANCELLED: frozenset(),
}

WAITS_FOR: Final = "waits_for"
"""The key in `progress` of a deferred task that waits until the task it duplicates has settled."""

_TARGET: Final = f"{research_task.name}:"


class TaskError(Exception):
    """A change of a task that cannot be made; the message is one sentence for a person.

    TaskError
    ├── UnknownTask         there is no such task
    ├── TransitionRefused   its state does not allow that change
    └── LeaseLost           another worker, or nobody, holds it now
    """


class UnknownTask(TaskError):
    pass


class TransitionRefused(TaskError):
    pass


class LeaseLost(TaskError):
    pass


def check_transition(task: Task, to: TaskState) -> None:
    """Raise TransitionRefused unless `task` may go from its state to `to`."""
    if to not in TRANSITIONS[task.state]:
        allowed = ", ".join(sorted(TRANSITIONS[task.state])) or "nothing"
        raise TransitionRefused(f"task {task.id} is {task.state} and cannot become {to}; it can become {allowed}")


# ------------------------------------------------------------------------------------------------ records


@dataclass(frozen=True, slots=True)
class TaskRequest:
    """What is asked of the queue. `priority` is 0 to 100; `kind` the opportunity kind, or `asked`."""

    topic: str
    questions: tuple[str, ...] = ()
    seeds: tuple[str, ...] = ()
    kind: str = "asked"
    article_type: ArticleType | None = None
    priority: int = 50
    language: str = "und"


@dataclass(frozen=True, slots=True)
class KnownArticle:
    """An article as the queue sees it: what it is about, and how old its evidence is."""

    id: str
    topic: str
    seeds: tuple[str, ...]
    questions: tuple[str, ...]
    state: ArticleState
    evidence_at: datetime | None
    """When the oldest accepted evidence of the task behind it was fetched; None where there is none."""
    task_id: str | None = None


@dataclass(frozen=True, slots=True)
class TaskCounts:
    """How many tasks there are by state, and how many were completed on the UTC day of the asking."""

    completed_today: int
    queued: int
    deferred: int
    reserved: int
    running: int

    @property
    def active(self) -> int:
        """All that the worker still has before it, whoever asked for it."""
        return self.queued + self.deferred + self.reserved + self.running


@dataclass(frozen=True, slots=True)
class TaskTotals:
    """Totals counted from the store: the same before and after a restart."""

    completed_total: int
    failed_total: int
    evidence_total: int
    articles_total: int


@dataclass(frozen=True, slots=True)
class QueueSnapshot:
    """What an enqueueing is decided on, read in the very transaction that writes its outcome."""

    now: datetime
    counts: TaskCounts
    active: tuple[Task, ...]
    finished: tuple[Task, ...]
    """Completed or failed within the history."""
    articles: tuple[KnownArticle, ...]
    """Staged, approved and published ones."""
    refused: tuple[Task, ...]
    """Cancelled by a person."""
    rejected: tuple[KnownArticle, ...]
    """Articles a person rejected."""


@dataclass(frozen=True, slots=True)
class Add:
    """Take the request in as a task of its own, `queued` or `deferred`."""

    state: TaskState = TaskState.QUEUED
    not_before: datetime | None = None
    waits_for: str | None = None
    """The running task it duplicates: it stays deferred until that one has settled."""
    message: str = ""
    questions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Merge:
    """Take the request into the active task `keeper`, which then carries these values."""

    keeper: str
    seeds: tuple[str, ...]
    questions: tuple[str, ...]
    origins: tuple[TaskOrigin, ...]
    priority: int
    message: str
    detail: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Reject:
    """Do not take it in. `other` names the task or article that stands in its place."""

    reason: str
    message: str
    other: str | None = None


EnqueueDecision = Add | Merge | Reject


# ------------------------------------------------------------------------------------------------ reading

_MOMENTS: Final = tuple(column.name for column in research_task.columns if isinstance(column.type, Moment))
# Statements that every enqueueing runs are built once: building them costs more than the database does.
_COUNTS: Final = select(
    select(func.count())
    .where(
        research_task.c.state == TaskState.COMPLETED.value,
        research_task.c.finished_at >= bindparam("day", type_=research_task.c.finished_at.type),
        research_task.c.finished_at < bindparam("next_day", type_=research_task.c.finished_at.type),
    )
    .scalar_subquery(),
    # one by one: SQLite groups ten thousand rows in twice the time that it counts them in
    *(select(func.count()).where(research_task.c.state == state.value).scalar_subquery() for state in ACTIVE),
)
_BY_ID: Final = select(research_task).where(research_task.c.id == bindparam("task_id"))
_KNOWN: Final = (
    ArticleState.STAGED.value,
    ArticleState.APPROVED.value,
    ArticleState.PUBLISHED.value,
    ArticleState.REJECTED.value,
)


def task_of(row: Row[Any]) -> Task:
    """Return the record of one row of `research_task`."""
    return _record(dict(row._mapping))


def task_as_read_back(shown: Mapping[str, Any]) -> Task:
    """Return the record of a row as a verified write read it back (`WriteOutcome.after`)."""
    values = dict(shown)
    for name in _MOMENTS:
        values[name] = None if values[name] is None else from_iso(values[name])
    return _record(values)


def _record(values: dict[str, Any]) -> Task:
    values["seeds"] = tuple(values["seeds"])
    values["questions"] = tuple(values["questions"])
    values["article_type"] = None if values["article_type"] is None else ArticleType(values["article_type"])
    values["state"] = TaskState(values["state"])
    values["origins"] = tuple(TaskOrigin(origin) for origin in values["origins"])
    return Task(**values)


def task_target(task_id: str) -> str:
    """Return the name under which the journal knows a task."""
    return _TARGET + task_id


def get_task(conn: Connection, task_id: str) -> Task | None:
    """Return the task, or None."""
    row = conn.execute(_BY_ID, {"task_id": task_id}).one_or_none()
    return None if row is None else task_of(row)


def tasks_beginning(conn: Connection, beginning: str, *, limit: int = 5) -> list[Task]:
    """Return the tasks whose id begins so, whatever the case of its letters, in order of their ids."""
    query = select(research_task).where(func.lower(research_task.c.id).startswith(beginning.lower(), autoescape=True))
    return [task_of(row) for row in conn.execute(query.order_by(research_task.c.id).limit(limit))]


def list_tasks(
    conn: Connection, *, states: Iterable[TaskState] = (), limit: int = 100, after: str | None = None
) -> list[Task]:
    """Return tasks, newest first, all states unless told; `after` is the id of the last one seen."""
    query = select(research_task).order_by(research_task.c.created_at.desc(), research_task.c.id.desc()).limit(limit)
    wanted = [state.value for state in states]
    if wanted:
        query = query.where(research_task.c.state.in_(wanted))
    if after is not None:
        last = select(research_task.c.created_at).where(research_task.c.id == after).scalar_subquery()
        older = and_(research_task.c.created_at == last, research_task.c.id < after)
        query = query.where(or_(research_task.c.created_at < last, older))
    return [task_of(row) for row in conn.execute(query)]


def active_tasks(conn: Connection) -> list[Task]:
    """Return every active task in the order in which workers take them: priority, then age."""
    return _tasks(conn, research_task.c.state.in_([state.value for state in ACTIVE]))


def leased_tasks(conn: Connection) -> list[Task]:
    """Return the reserved and running tasks."""
    return _tasks(conn, research_task.c.state.in_([TaskState.RESERVED.value, TaskState.RUNNING.value]))


def waiting_for(conn: Connection, task_id: str) -> list[Task]:
    """Return the deferred tasks that wait until `task_id` has settled."""
    deferred = _tasks(conn, research_task.c.state == TaskState.DEFERRED.value)
    return [task for task in deferred if task.progress.get(WAITS_FOR) == task_id]


def _tasks(conn: Connection, condition: Any) -> list[Task]:
    order = (research_task.c.priority.desc(), research_task.c.created_at, research_task.c.id)
    return [task_of(row) for row in conn.execute(select(research_task).where(condition).order_by(*order))]


def count_tasks(conn: Connection, now: datetime) -> TaskCounts:
    """Return the counts of the budget at `now`; the day is the UTC day of `now`, whatever was written after it."""
    day = utc_day_start(now)
    return TaskCounts(*conn.execute(_COUNTS, {"day": day, "next_day": day + timedelta(days=1)}).one())


def task_totals(conn: Connection) -> TaskTotals:
    """Return the totals of all finished tasks ever (spec 05, "Telemetry that survives")."""
    finished = research_task.c.state.in_([TaskState.COMPLETED.value, TaskState.FAILED.value])
    completed = research_task.c.state == TaskState.COMPLETED.value
    row = conn.execute(
        select(
            func.count().filter(completed),
            func.count().filter(research_task.c.state == TaskState.FAILED.value),
            func.coalesce(func.sum(research_task.c.evidence_count).filter(finished), 0),
            func.count().filter(completed, research_task.c.article_id.is_not(None)),
        )
    ).one()
    return TaskTotals(*(int(value) for value in row))


def not_pending() -> Any:
    """Return the condition that no write of the task is still waiting for its verification.

    A technical change must not touch such a row: the verification would read it and find another value.
    """
    target = literal(_TARGET) + research_task.c.id
    return ~select(journal.c.id).where(journal.c.status == "pending", journal.c.target == target).exists()


def is_pending(conn: Connection, task_id: str) -> bool:
    """Return whether a write of the task is still waiting for its verification."""
    query = select(journal.c.id).where(journal.c.status == "pending", journal.c.target == task_target(task_id))
    return conn.execute(query.limit(1)).first() is not None


def load_snapshot(conn: Connection, now: datetime, history: timedelta) -> QueueSnapshot:
    """Return what an enqueueing at `now` is decided on, read whole; finished tasks reach back `history`."""
    finished = and_(
        research_task.c.state.in_([TaskState.COMPLETED.value, TaskState.FAILED.value]),
        research_task.c.finished_at >= now - history,
    )
    cancelled = and_(research_task.c.state == TaskState.CANCELLED.value, research_task.c.merged_into.is_(None))
    known = known_articles(conn)
    return QueueSnapshot(
        now=now,
        counts=count_tasks(conn, now),
        active=tuple(active_tasks(conn)),
        finished=tuple(_tasks(conn, finished)),
        articles=tuple(entry for entry in known if entry.state is not ArticleState.REJECTED),
        refused=tuple(_tasks(conn, cancelled)),
        rejected=tuple(entry for entry in known if entry.state is ArticleState.REJECTED),
    )


def known_articles(conn: Connection, condition: Any = None) -> list[KnownArticle]:
    """Return the staged, approved, published and rejected articles with what they were researched for.

    `condition` narrows them by columns of `article`.
    """
    oldest = (
        select(func.min(evidence.c.fetched_at))
        .where(evidence.c.owner == "task:" + article.c.task_id, evidence.c.accepted)
        .scalar_subquery()
        .label("fetched_at")
    )
    narrowed = article.c.state.in_(_KNOWN)
    if condition is not None:
        narrowed &= condition
    rows = conn.execute(
        select(
            article.c.id,
            article.c.topic,
            article.c.state,
            article.c.task_id,
            research_task.c.seeds,
            research_task.c.questions,
            oldest,
        )
        .select_from(article)
        .outerjoin(research_task, research_task.c.id == article.c.task_id)
        .where(narrowed)
        .order_by(article.c.id)
    )
    return [
        KnownArticle(
            id=row.id,
            topic=row.topic,
            seeds=tuple(row.seeds or ()),
            questions=tuple(row.questions or ()),
            state=ArticleState(row.state),
            task_id=row.task_id,
            evidence_at=row.fetched_at,
        )
        for row in rows
    ]
