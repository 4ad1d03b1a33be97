"""The event log: names that stay, the stored log, and the live stream of this process (spec 02, 09).

An event row is written in the transaction of the fact it reports and reaches subscribers after that
commit, so that no event precedes what it reports.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from types import TracebackType
from typing import Final, Self

from sqlalchemy import Connection, delete, func, insert, select

from data.models import Event
from data.schema import event
from data.tx import Tx

__all__ = [
    "ARTICLE_APPROVED",
    "ARTICLE_BRIEF_COMPLETED",
    "ARTICLE_CORRECTED",
    "ARTICLE_CPU_QUALITY_COMPLETED",
    "ARTICLE_DRAFTED",
    "ARTICLE_PLANNED",
    "ARTICLE_PUBLISHED",
    "ARTICLE_REACTIVATED",
    "ARTICLE_REJECTED",
    "ARTICLE_RETIRED",
    "ARTICLE_REVIEW_COMPLETED",
    "ARTICLE_STAGED",
    "ARTICLE_TYPE_RECONSIDERED",
    "CRUD_VERIFICATION_FAILED",
    "DAEMON_STARTED",
    "DAEMON_STOPPING",
    "DESK_MESSAGE",
    "DESK_OUTCOME",
    "DESK_QUESTION",
    "EVENT_NAMES",
    "GLPI_EXPORTED",
    "GLPI_FAILED",
    "GLPI_IMPORTED",
    "INBOX_ADMITTED",
    "INBOX_REFUSED",
    "LOOP_FAILED",
    "LOOP_RECOVERED",
    "QUEUE_CONSOLIDATED",
    "SCAN_COMPLETED",
    "SCAN_STARTED",
    "TASK_COMPLETED",
    "TASK_DEFERRED",
    "TASK_ENQUEUED",
    "TASK_FAILED",
    "TASK_MERGED",
    "TASK_STARTED",
    "THINK_EVIDENCE_ASSESSED",
    "THINK_INSUFFICIENT",
    "THINK_PASS_COMPLETED",
    "THINK_PASS_STARTED",
    "THINK_QUERY_REBUILT",
    "THINK_RELATION_ACCEPTED",
    "THINK_RELATION_PLANNED",
    "THINK_RELATION_REJECTED",
    "VECTOR_MAINTENANCE_COMPLETED",
    "VECTOR_MAINTENANCE_STARTED",
    "VECTOR_REBUILT",
    "EventHub",
    "Subscription",
    "append",
    "last_event_id",
    "list_events",
    "prune",
]

THINK_PASS_STARTED: Final = "think.pass.started"  # noqa: S105
THINK_PASS_COMPLETED: Final = "think.pass.completed"  # noqa: S105
THINK_RELATION_PLANNED: Final = "think.relation.planned"
THINK_QUERY_REBUILT: Final = "think.research.query.rebuilt"
THINK_EVIDENCE_ASSESSED: Final = "think.research.evidence.assessed"
THINK_INSUFFICIENT: Final = "think.research.insufficient"
THINK_RELATION_ACCEPTED: Final = "think.relation.accepted"
THINK_RELATION_REJECTED: Final = "think.relation.rejected"

SCAN_STARTED: Final = "autonomous.research.scan.started"
SCAN_COMPLETED: Final = "autonomous.research.scan.completed"
TASK_ENQUEUED: Final = "autonomous.research.task.enqueued"
TASK_MERGED: Final = "autonomous.research.task.merged"
QUEUE_CONSOLIDATED: Final = "autonomous.research.queue.consolidated"
TASK_STARTED: Final = "autonomous.research.task.started"
TASK_COMPLETED: Final = "autonomous.research.task.completed"
TASK_FAILED: Final = "autonomous.research.task.failed"
TASK_DEFERRED: Final = "autonomous.research.task.deferred"

ARTICLE_PLANNED: Final = "article.planned"
ARTICLE_BRIEF_COMPLETED: Final = "article.brief.completed"
ARTICLE_DRAFTED: Final = "article.drafted"
ARTICLE_TYPE_RECONSIDERED: Final = "article.type.reconsidered"
ARTICLE_CPU_QUALITY_COMPLETED: Final = "article.cpu_quality.completed"
ARTICLE_REVIEW_COMPLETED: Final = "article.review.completed"
ARTICLE_CORRECTED: Final = "article.corrected"
ARTICLE_STAGED: Final = "article.staged"
ARTICLE_REJECTED: Final = "article.rejected"
ARTICLE_APPROVED: Final = "article.approved"
ARTICLE_PUBLISHED: Final = "article.published"
ARTICLE_RETIRED: Final = "article.retired"
ARTICLE_REACTIVATED: Final = "article.reactivated"

VECTOR_MAINTENANCE_STARTED: Final = "vector.graph.maintenance.started"
VECTOR_REBUILT: Final = "vector.graph.rebuilt"
VECTOR_MAINTENANCE_COMPLETED: Final = "vector.graph.maintenance.completed"

DESK_MESSAGE: Final = "desk.message"
DESK_QUESTION: Final = "desk.question"
DESK_OUTCOME: Final = "desk.outcome"

CRUD_VERIFICATION_FAILED: Final = "crud.verification.failed"
INBOX_ADMITTED: Final = "inbox.admitted"
INBOX_REFUSED: Final = "inbox.refused"
GLPI_IMPORTED: Final = "glpi.imported"
GLPI_EXPORTED: Final = "glpi.exported"
GLPI_FAILED: Final = "glpi.failed"
LOOP_FAILED: Final = "loop.failed"
LOOP_RECOVERED: Final = "loop.recovered"
DAEMON_STARTED: Final = "daemon.started"
DAEMON_STOPPING: Final = "daemon.stopping"

EVENT_NAMES: Final = frozenset(
    value for name, value in list(globals().items()) if name.isupper() and isinstance(value, str)
)
"""Every stable name of the catalogue."""

_APPEND: Final = insert(event).returning(event.c.id, sort_by_parameter_order=True)

DEFAULT_BUFFER: Final = 1000
"""Events a slow subscriber may lag behind before its oldest are dropped (bounded memory, spec 14)."""


def append(conn: Connection, events: Sequence[Event], now: datetime) -> tuple[Event, ...]:
    """Write `events` to the log on `conn` and return them with the ids and times they got."""
    if not events:
        return ()
    dated = [entry if entry.at is not None else replace(entry, at=now) for entry in events]
    rows = [{"at": e.at, "name": e.name, "level": e.level, "payload": dict(e.payload)} for e in dated]
    ids = conn.execute(_APPEND, rows).scalars().all()
    return tuple(replace(entry, id=number) for entry, number in zip(dated, ids, strict=True))


def list_events(
    conn: Connection, after_id: int = 0, limit: int = 100, name_prefix: str = "", *, newest: bool = False
) -> list[Event]:
    """Return up to `limit` events with an id above `after_id`, in order of id.

    `name_prefix` keeps names that start with it (`article.`). With `newest` the last `limit` of them
    are taken instead of the first; the order stays ascending.
    """
    statement = select(event).where(event.c.id > after_id)
    if name_prefix:
        statement = statement.where(event.c.name.startswith(name_prefix, autoescape=True))
    order = event.c.id.desc() if newest else event.c.id
    found = [
        Event(name=row.name, payload=row.payload, level=row.level, at=row.at, id=row.id)
        for row in conn.execute(statement.order_by(order).limit(limit))
    ]
    return found[::-1] if newest else found


def last_event_id(conn: Connection) -> int:
    """Return the id of the newest event, 0 where there is none."""
    return int(conn.execute(select(func.coalesce(func.max(event.c.id), 0))).scalar_one())


def prune(tx: Tx, before: datetime) -> int:
    """Delete events older than `before` (BRAIN_EVENT_RETENTION) and return how many went."""
    return tx.conn.execute(delete(event).where(event.c.at < before)).rowcount


class Subscription:
    """Live events of this process, in order: `async for event in subscription`.

    The buffer is bounded: when a reader lags behind, its oldest events are dropped and `dropped`
    counts them; `list_events` has them all. Ends when it or the store is closed.
    """

    def __init__(self, hub: EventHub, size: int) -> None:
        self._hub = hub
        self._buffer: deque[Event] = deque(maxlen=size)
        self._ready = asyncio.Event()
        self._closed = False
        self.dropped = 0

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        while not self._buffer:
            if self._closed:
                raise StopAsyncIteration
            self._ready.clear()
            await self._ready.wait()
        return self._buffer.popleft()

    def ready(self) -> tuple[Event, ...]:
        """Take what is buffered now, without waiting."""
        taken = tuple(self._buffer)
        self._buffer.clear()
        return taken

    def close(self) -> None:
        """End the iteration after what is buffered; safe to call twice."""
        self._closed = True
        self._ready.set()
        self._hub.forget(self)

    def offer(self, entry: Event) -> None:
        """Add `entry`, dropping the oldest when the buffer is full."""
        if len(self._buffer) == self._buffer.maxlen:
            self.dropped += 1
        self._buffer.append(entry)
        self._ready.set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class EventHub:
    """The subscribers of one store; belongs to one event loop."""

    def __init__(self) -> None:
        self._subscriptions: list[Subscription] = []

    def subscribe(self, size: int = DEFAULT_BUFFER) -> Subscription:
        """Return a subscription that sees every event from now on."""
        subscription = Subscription(self, size)
        self._subscriptions.append(subscription)
        return subscription

    def forget(self, subscription: Subscription) -> None:
        """Send nothing to `subscription` any more."""
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)

    def publish(self, events: Iterable[Event]) -> None:
        """Hand `events` to every subscriber."""
        for entry in events:
            for subscription in self._subscriptions:
                subscription.offer(entry)

    def close(self) -> None:
        """End every subscription."""
        for subscription in list(self._subscriptions):
            subscription.close()
