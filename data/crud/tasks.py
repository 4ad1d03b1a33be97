"""Research tasks as verified writes: enqueue, merge, cancel, retry, and how one ended (spec 02, 05).

What becomes of a request is judged by a function that research passes in; it runs inside the write
transaction over a snapshot read there, so no other writer can come between the judgement and the row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from data.crud.engine import Plan, Refusal, RowChange, stale_version
from data.events import QUEUE_CONSOLIDATED, TASK_COMPLETED, TASK_ENQUEUED, TASK_FAILED, TASK_MERGED
from data.known import KnownGaps
from data.models import Event, Task, TaskOrigin, TaskState
from data.schema import research_task
from data.tasks import (
    WAITS_FOR,
    Add,
    EnqueueDecision,
    Merge,
    QueueSnapshot,
    Reject,
    TaskCounts,
    TaskRequest,
    TransitionRefused,
    check_transition,
    count_tasks,
    get_task,
    load_snapshot,
    task_target,
    waiting_for,
)
from data.tx import Tx

__all__ = [
    "CancelTask",
    "CompleteTask",
    "EnqueueTask",
    "FailTask",
    "MergeTasks",
    "RetryTask",
    "Taken",
    "TaskResult",
]

_WAITING: Final = frozenset({TaskState.QUEUED, TaskState.DEFERRED})
_FREE: Final[Mapping[str, Any]] = {"lease_owner": None, "lease_until": None, "phase": ""}


@dataclass(frozen=True, slots=True)
class TaskResult:
    """How the work on a task ended: the article, or the reason why there is none."""

    evidence_count: int
    article_id: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Taken:
    """What an enqueueing or a retry led to: the task, and `created`, `deferred`, `merged` or `retried`."""

    task_id: str
    outcome: str


@dataclass(slots=True)
class EnqueueTask:
    """Take in a request as `decide` judges it; `decision` says how it was judged."""

    request: TaskRequest
    origin: TaskOrigin
    dedupe_key: str
    decide: Callable[[TaskCounts, datetime], EnqueueDecision]
    history: timedelta
    known: KnownGaps
    """What the request is held against; refreshed before `decide` is called with the counts and the time."""
    action: str = "create"
    decision: EnqueueDecision | None = field(default=None, init=False)

    def plan(self, tx: Tx) -> Plan | Refusal:
        self.known.refresh(tx.conn, tx.now - self.history)
        self.decision = self.decide(count_tasks(tx.conn, tx.now), tx.now)
        if isinstance(self.decision, Reject):
            return Refusal(self.decision.reason, self.decision.message)
        if isinstance(self.decision, Merge):
            return self._merge(tx, self.decision)
        return self._add(tx, self.decision)

    def _add(self, tx: Tx, decision: Add) -> Plan:
        task_id = tx.new_id("task")
        request = self.request
        values: dict[str, Any] = {
            "topic": request.topic,
            "seeds": sorted(set(request.seeds)),
            "questions": list(request.questions),
            "article_type": request.article_type,
            "priority": request.priority,
            "state": decision.state,
            "origins": [self.origin.value],
            "kind": request.kind,
            "dedupe_key": self.dedupe_key,
            "language": request.language,
            "attempts": 0,
            "not_before": decision.not_before,
            "phase": "",
            "progress": {WAITS_FOR: decision.waits_for} if decision.waits_for else {},
            "evidence_count": 0,
            "created_at": tx.now,
            "updated_at": tx.now,
            "version": 1,
        }
        payload = {
            "task_id": task_id,
            "topic": request.topic,
            "origin": self.origin.value,
            "kind": request.kind,
            "priority": request.priority,
            "state": decision.state.value,
            "not_before": None if decision.not_before is None else decision.not_before.isoformat(),
            "waits_for": decision.waits_for,
        }
        return Plan(
            action="create",
            target=task_target(task_id),
            changes=(RowChange(research_task, {"id": task_id}, values),),
            events=(Event(TASK_ENQUEUED, payload),),
            message=decision.message,
            result=Taken(task_id, "created" if decision.state is TaskState.QUEUED else "deferred"),
        )

    def _merge(self, tx: Tx, merge: Merge) -> Plan | Refusal:
        keeper = get_task(tx.conn, merge.keeper)
        if keeper is None or keeper.state not in _WAITING:
            return Refusal("not_waiting", f"task {merge.keeper} no longer waits, so nothing can be merged into it")
        changes = _merged_values(keeper, merge, tx.now)
        payload = {"keeper": keeper.id, "topic": self.request.topic, "origin": self.origin.value, **merge.detail}
        return Plan(
            action="merge",
            target=task_target(keeper.id),
            changes=changes,
            # a repeat that adds nothing writes nothing, and is no fact to report
            events=(Event(TASK_MERGED, payload),) if changes else (),
            message=merge.message,
            corrected=True,
            result=Taken(keeper.id, "merged"),
        )


def _merged_values(keeper: Task, merge: Merge, now: datetime) -> tuple[RowChange, ...]:
    merged = (merge.seeds, merge.questions, merge.origins, merge.priority)
    if merged == (keeper.seeds, keeper.questions, keeper.origins, keeper.priority):
        return ()
    values = {
        "seeds": list(merge.seeds),
        "questions": list(merge.questions),
        "origins": [origin.value for origin in merge.origins],
        "priority": merge.priority,
        "updated_at": now,
        "version": keeper.version + 1,
    }
    return (RowChange(research_task, {"id": keeper.id}, values),)


@dataclass(frozen=True, slots=True)
class MergeTasks:
    """Cancel waiting duplicates into their keeper, which carries what `merge` says.

    `versions` holds the version of the keeper and of every member as it was judged: one that changed since
    makes the whole merge a refusal, and the next consolidation judges again.
    """

    merge: Merge
    members: tuple[str, ...]
    versions: dict[str, int]
    action: str = "merge"

    def plan(self, tx: Tx) -> Plan | Refusal:
        found: dict[str, Task] = {}
        for task_id in (self.merge.keeper, *self.members):
            task = get_task(tx.conn, task_id)
            if task is None or task.state not in _WAITING:
                return Refusal("not_waiting", f"task {task_id} no longer waits")
            refusal = stale_version(task.version, self.versions[task_id])
            if refusal is not None:
                return refusal
            found[task_id] = task
        keeper = found[self.merge.keeper]
        cancelled = [_cancelled(found[member], tx.now, merged_into=keeper.id) for member in self.members]
        payload = {"keeper": keeper.id, "topic": keeper.topic, "merged": list(self.members), **self.merge.detail}
        return Plan(
            action="merge",
            target=task_target(keeper.id),
            changes=(*_merged_values(keeper, self.merge, tx.now), *cancelled),
            events=(Event(QUEUE_CONSOLIDATED, payload),),
            result=Taken(keeper.id, "merged"),
        )


def _cancelled(task: Task, now: datetime, *, merged_into: str | None = None, reason: str | None = None) -> RowChange:
    progress = {name: value for name, value in task.progress.items() if name != WAITS_FOR}
    values = {
        "state": TaskState.CANCELLED,
        "merged_into": merged_into,
        "result_reason": reason,
        "not_before": None,
        "progress": progress,
        "finished_at": now,
        "updated_at": now,
        "version": task.version + 1,
    }
    return RowChange(research_task, {"id": task.id}, values)


@dataclass(frozen=True, slots=True)
class CancelTask:
    """A person does not want this task: cancelled, kept, and remembered as refused."""

    task_id: str
    reason: str = "cancelled by a person"
    version: int | None = None
    action: str = "cancel"

    def plan(self, tx: Tx) -> Plan | Refusal:
        task = get_task(tx.conn, self.task_id)
        if task is None:
            return Refusal("not_found", f"there is no task {self.task_id}")
        refusal = stale_version(task.version, self.version) or _not_cancellable(task)
        if refusal is not None:
            return refusal
        return Plan(
            action="cancel",
            target=task_target(task.id),
            changes=(_cancelled(task, tx.now, reason=self.reason),),
            message=f"task {task.id} is cancelled",
            result=Taken(task.id, "cancelled"),
        )


@dataclass(slots=True)
class RetryTask:
    """A person wants a failed task done again, from its first attempt, as `decide` judges it."""

    task_id: str
    decide: Callable[[Task, QueueSnapshot], Add | Reject]
    history: timedelta
    version: int | None = None
    action: str = "retry"
    decision: Add | Reject | None = field(default=None, init=False)

    def plan(self, tx: Tx) -> Plan | Refusal:
        task = get_task(tx.conn, self.task_id)
        if task is None:
            return Refusal("not_found", f"there is no task {self.task_id}")
        refusal = stale_version(task.version, self.version)
        if refusal is not None:
            return refusal
        if task.state is not TaskState.FAILED:
            return Refusal("transition", f"task {task.id} is {task.state}; only a failed task can be tried again")
        self.decision = self.decide(task, load_snapshot(tx.conn, tx.now, self.history))
        if isinstance(self.decision, Reject):
            return Refusal(self.decision.reason, self.decision.message)
        values = {
            **_FREE,
            "state": self.decision.state,
            "attempts": 0,
            "not_before": self.decision.not_before,
            "progress": {},
            "started_at": None,
            "finished_at": None,
            "updated_at": tx.now,
            "version": task.version + 1,
        }
        return Plan(
            action="retry",
            target=task_target(task.id),
            changes=(RowChange(research_task, {"id": task.id}, values),),
            message=self.decision.message,
            result=Taken(task.id, "retried" if self.decision.state is TaskState.QUEUED else "deferred"),
        )


@dataclass(frozen=True, slots=True)
class CompleteTask:
    """Store how a running task ended; duplicates that waited for it are cancelled into it."""

    task_id: str
    worker: str
    outcome: TaskResult
    action: str = "complete"

    def plan(self, tx: Tx) -> Plan | Refusal:
        task = get_task(tx.conn, self.task_id)
        refusal = _not_held(task, self.task_id, self.worker)
        if refusal is not None or task is None:
            return refusal or Refusal("not_found", f"there is no task {self.task_id}")
        refusal = _transition(task, TaskState.COMPLETED)
        if refusal is not None:
            return refusal
        values = {
            **_FREE,
            "state": TaskState.COMPLETED,
            "phase": "completed",
            "evidence_count": self.outcome.evidence_count,
            "article_id": self.outcome.article_id,
            "result_reason": self.outcome.reason,
            "finished_at": tx.now,
            "updated_at": tx.now,
            "version": task.version + 1,
        }
        twins = [_cancelled(twin, tx.now, merged_into=task.id) for twin in waiting_for(tx.conn, task.id)]
        payload = {
            "task_id": task.id,
            "topic": task.topic,
            "evidence": self.outcome.evidence_count,
            "article_id": self.outcome.article_id,
            "reason": self.outcome.reason,
            "merged": [twin.key["id"] for twin in twins],
        }
        return Plan(
            action="complete",
            target=task_target(task.id),
            changes=(RowChange(research_task, {"id": task.id}, values), *twins),
            events=(Event(TASK_COMPLETED, payload),),
            result=Taken(task.id, "completed"),
        )


@dataclass(frozen=True, slots=True)
class FailTask:
    """Store that a task failed for good: out of attempts, or by an error that no attempt can help.

    `worker` holds it, or `expired` is the end of the lease that was judged to have run out.
    """

    task_id: str
    error: str
    worker: str | None = None
    expired: datetime | None = None
    evidence_count: int = 0
    action: str = "fail"

    def plan(self, tx: Tx) -> Plan | Refusal:
        task = get_task(tx.conn, self.task_id)
        if task is None:
            return Refusal("not_found", f"there is no task {self.task_id}")
        if self.worker is not None:
            refusal = _not_held(task, self.task_id, self.worker)
        else:
            renewed = task.lease_until != self.expired
            refusal = Refusal("lease_renewed", f"the lease of task {task.id} was renewed") if renewed else None
        refusal = refusal or _transition(task, TaskState.FAILED)
        if refusal is not None:
            return refusal
        attempts = task.attempts + 1
        values = {
            **_FREE,
            "state": TaskState.FAILED,
            "phase": "failed",
            "attempts": attempts,
            "evidence_count": self.evidence_count,
            "last_error": self.error,
            "finished_at": tx.now,
            "updated_at": tx.now,
            "version": task.version + 1,
        }
        payload = {"task_id": task.id, "topic": task.topic, "error": self.error, "attempts": attempts}
        return Plan(
            action="fail",
            target=task_target(task.id),
            changes=(RowChange(research_task, {"id": task.id}, values),),
            events=(Event(TASK_FAILED, payload, level="error"),),
            message=self.error,
            result=Taken(task.id, "failed"),
        )


def _not_cancellable(task: Task) -> Refusal | None:
    if task.state in _WAITING:
        return None
    if task.state is TaskState.CANCELLED:
        into = f", merged into {task.merged_into}" if task.merged_into else ""
        return Refusal("transition", f"task {task.id} is cancelled already{into}")
    if task.state in {TaskState.RESERVED, TaskState.RUNNING}:
        worked_on = f"task {task.id} is {task.state}: {task.lease_owner} works on it"
        return Refusal("transition", f"{worked_on}, and only a task that waits can be cancelled; let it end")
    return Refusal("transition", f"task {task.id} is {task.state}; only a task that waits can be cancelled")


def _transition(task: Task, to: TaskState) -> Refusal | None:
    try:
        check_transition(task, to)
    except TransitionRefused as error:
        return Refusal("transition", str(error))
    return None


def _not_held(task: Task | None, task_id: str, worker: str) -> Refusal | None:
    if task is None:
        return Refusal("not_found", f"there is no task {task_id}")
    if task.state not in {TaskState.RESERVED, TaskState.RUNNING} or task.lease_owner != worker:
        return Refusal("lease_lost", f"task {task_id} is {task.state} and no longer held by {worker}")
    return None
