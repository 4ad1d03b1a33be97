"""Who works on which research task: technical writes of the queue (spec 02, 05), plain functions over a `Tx`.

A lease is two columns, its owner and its end. Each function changes what it names and nothing else, checks
the state it starts from, and never touches a task whose verified write still waits for its verification.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import select, update

from data.events import TASK_DEFERRED, TASK_STARTED
from data.models import Event, Task, TaskState
from data.schema import research_task
from data.tasks import (
    ACTIVE,
    WAITS_FOR,
    LeaseLost,
    UnknownTask,
    check_transition,
    count_tasks,
    get_task,
    is_pending,
    not_pending,
    task_of,
)
from data.tx import Tx

__all__ = ["DEFERRALS", "defer", "give_back", "let_wait", "release", "renew", "report", "reserve", "start", "wake_due"]

DEFERRALS = "deferrals"
"""The key in `progress` that counts how often the outside has put a task off."""

Backoff = Callable[[int], timedelta]


def reserve(tx: Tx, *, worker: str, lease: timedelta, max_per_day: int, longest_deferral: timedelta) -> Task | None:
    """Reserve the first queued task by priority, then age, for `worker`; return it, or None.

    None also where the day is full: nothing is reserved once completed today + reserved + running reaches
    `max_per_day`, whatever is queued (spec 05).
    """
    wake_due(tx, longest_deferral)
    counts = count_tasks(tx.conn, tx.now)
    if counts.completed_today + counts.reserved + counts.running >= max_per_day:
        return None
    row = tx.conn.execute(
        select(research_task)
        .where(research_task.c.state == TaskState.QUEUED.value, not_pending())
        .order_by(research_task.c.priority.desc(), research_task.c.created_at, research_task.c.id)
        .limit(1)
        .with_for_update(skip_locked=True)
    ).one_or_none()
    if row is None:
        return None
    return _move(tx, task_of(row), TaskState.RESERVED, lease_owner=worker, lease_until=tx.now + lease, phase="reserved")


def wake_due(tx: Tx, longest_deferral: timedelta) -> int:
    """Queue the deferred tasks whose time has come, or whose running twin did not complete; return how many.

    A `not_before` farther away than any deferral reaches was written before the clock was set back: it is due.
    """
    rows = tx.conn.execute(
        select(research_task).where(research_task.c.state == TaskState.DEFERRED.value, not_pending())
    ).all()
    woken = 0
    for task in map(task_of, rows):
        twin = task.progress.get(WAITS_FOR)
        if twin is not None:
            other = get_task(tx.conn, twin)
            due = other is None or other.state not in ACTIVE  # a completion took its twins with it
        else:
            due = task.not_before is None or not tx.now < task.not_before <= tx.now + longest_deferral
        if due:
            progress = {name: value for name, value in task.progress.items() if name != WAITS_FOR}
            _move(tx, task, TaskState.QUEUED, not_before=None, progress=progress)
            woken += 1
    return woken


def let_wait(tx: Tx, task_id: str, twin_id: str) -> bool:
    """Defer a queued or deferred task until the reserved or running `twin_id` has settled; say whether it was done."""
    task, twin = get_task(tx.conn, task_id), get_task(tx.conn, twin_id)
    if task is None or twin is None or is_pending(tx.conn, task_id):
        return False
    if twin.state not in {TaskState.RESERVED, TaskState.RUNNING} or task.progress.get(WAITS_FOR) == twin_id:
        return False
    progress = {**task.progress, WAITS_FOR: twin_id}
    if task.state is TaskState.DEFERRED:
        _write(tx, task, progress=progress, not_before=None)
    elif task.state is TaskState.QUEUED:
        _move(tx, task, TaskState.DEFERRED, progress=progress, not_before=None)
        payload = {"task_id": task.id, "topic": task.topic, "error": None, "not_before": None, "waits_for": twin_id}
        tx.emit(Event(TASK_DEFERRED, {**payload, "attempts": task.attempts}))
    else:
        return False
    return True


def renew(tx: Tx, task_id: str, worker: str, lease: timedelta) -> datetime:
    """Extend the lease and return its new end; raise LeaseLost where it is no longer `worker`'s."""
    task = _held(tx, task_id, worker)
    _write(tx, task, lease_until=tx.now + lease)
    return tx.now + lease


def start(tx: Tx, task_id: str, worker: str, lease: timedelta) -> Task:
    """Turn the reserved task into a running one; raise LeaseLost or TransitionRefused."""
    task = _held(tx, task_id, worker)
    started = _move(
        tx, task, TaskState.RUNNING, started_at=tx.now, finished_at=None, lease_until=tx.now + lease, phase="started"
    )
    tx.emit(
        Event(TASK_STARTED, {"task_id": task.id, "topic": task.topic, "worker": worker, "attempt": task.attempts + 1})
    )
    return started


def report(tx: Tx, task_id: str, worker: str, phase: str, counts: Mapping[str, int], lease: timedelta) -> None:
    """Store how far the running task is, and renew its lease; raise LeaseLost."""
    task = _held(tx, task_id, worker)
    _write(tx, task, phase=phase, progress={**task.progress, "counts": dict(counts)}, lease_until=tx.now + lease)


def give_back(tx: Tx, task_id: str, worker: str) -> Task:
    """Queue the task again because its worker stops; no attempt is counted. Raise LeaseLost."""
    task = _held(tx, task_id, worker)
    return _move(tx, task, TaskState.QUEUED, **_FREE)


def defer(tx: Tx, task_id: str, worker: str, *, backoff: Backoff, error: str, attempt: bool) -> Task:
    """Put the task off by `backoff(how often before)`; raise LeaseLost.

    `attempt` says whether it counts as one: an error of the task's own does, one of the outside does not.
    """
    task = _held(tx, task_id, worker)
    before = int(task.progress.get(DEFERRALS, 0))
    not_before = tx.now + backoff(before)
    deferred = _move(
        tx,
        task,
        TaskState.DEFERRED,
        **{**_FREE, "progress": {**task.progress, DEFERRALS: before + 1}},
        not_before=not_before,
        attempts=task.attempts + attempt,
        last_error=error,
    )
    payload: dict[str, Any] = {"task_id": task.id, "topic": task.topic, "error": error, "waits_for": None}
    payload |= {"not_before": not_before.isoformat(), "deferrals": before + 1, "attempts": deferred.attempts}
    tx.emit(Event(TASK_DEFERRED, payload, level="warning"))
    return deferred


def release(tx: Tx, expired: Mapping[str, datetime | None], max_attempts: int) -> tuple[list[Task], list[Task]]:
    """Take back tasks whose lease, as last seen, ran out; return those queued again and those out of attempts.

    `expired` maps the task's id to the end of its lease as it was judged: a lease renewed since is left
    alone. A task out of attempts is not changed here: failing is a verified write.
    """
    queued, exhausted = [], []
    for task_id, seen in expired.items():
        task = get_task(tx.conn, task_id)
        if task is None or task.state not in {TaskState.RESERVED, TaskState.RUNNING} or task.lease_until != seen:
            continue
        if task.attempts + 1 >= max_attempts:
            exhausted.append(task)
            continue
        error = f"the lease of {task.lease_owner} ran out while the task was {task.state}"
        queued.append(_move(tx, task, TaskState.QUEUED, **_FREE, attempts=task.attempts + 1, last_error=error))
    return queued, exhausted


_FREE: Mapping[str, Any] = {"lease_owner": None, "lease_until": None, "phase": ""}


def _held(tx: Tx, task_id: str, worker: str) -> Task:
    task = get_task(tx.conn, task_id)
    if task is None:
        raise UnknownTask(f"there is no task {task_id}")
    if task.state not in {TaskState.RESERVED, TaskState.RUNNING} or task.lease_owner != worker:
        holder = task.lease_owner or "nobody"
        raise LeaseLost(f"task {task_id} is {task.state} and held by {holder}, not by {worker}")
    return task


def _move(tx: Tx, task: Task, to: TaskState, **values: Any) -> Task:
    """Change the state, where that is allowed, with its version, and return the task as it now stands."""
    check_transition(task, to)
    _write(tx, task, **values, state=to.value, version=task.version + 1)
    moved = get_task(tx.conn, task.id)
    if moved is None:
        raise UnknownTask(f"there is no task {task.id}")
    return moved


def _write(tx: Tx, task: Task, **values: Any) -> None:
    tx.conn.execute(update(research_task).where(research_task.c.id == task.id).values(**values, updated_at=tx.now))
