"""`brain queue …`: what is planned, why, and what a person changes about it."""

from __future__ import annotations

import getpass
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from brain.cli.shell import Context
from brain.cli.telemetry import told
from brain.errors import RefusedError, UsageError
from brain.homes import open_store
from brain.policies import queue_policy
from brain.status import age_s
from data.models import Task, TaskOrigin, TaskState
from data.store import Store
from data.tasks import ACTIVE, WAITS_FOR, TaskRequest, get_task, list_tasks, tasks_beginning
from research.admission import EMPTY_TOPIC, TOPIC_TOO_LONG
from research.queue import EnqueueResult, ResearchQueue

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "queue_add",
    "queue_cancel",
    "queue_consolidate",
    "queue_list",
    "queue_retry",
    "queue_show",
]

LISTED: Final = 1000
SHORTEST_NAME: Final = 4
"""Characters from which the beginning of an id may stand for it: `t_01`."""
WORKED_ON: Final = frozenset({TaskState.RESERVED, TaskState.RUNNING})


async def queue_list(context: Context, *, everything: bool) -> None:
    """Print tasks and the day's budget."""
    async with open_store(context.settings, must_exist=True) as store:
        queue = ResearchQueue(store, queue_policy(context.settings))
        tasks = await store.read(list_tasks, states=() if everything else ACTIVE, limit=LISTED + 1)
        budget = await queue.budget()
    more, tasks, now = len(tasks) > LISTED, tasks[:LISTED], store.clock.now()
    document = {"budget": asdict(budget), "more": more, "tasks": [_document(task, now) for task in tasks]}

    def show(console: Console) -> None:
        for task in tasks:
            console.print(f"{task.id}  {task.state:<9} {task.priority:>3}  {task.topic}", markup=False)
            if note := _note(task, now):
                console.print(f"{'':30}{note}", markup=False)
        shown = f"the newest {LISTED}" if more else f"{len(tasks)}"
        console.print(
            f"{shown} tasks; today's budget: {max(0, budget.remaining)} of {budget.max_per_day} left "
            f"({budget.completed_today} completed, {budget.active} active)",
            markup=False,
        )

    context.emit(document, show)


async def queue_show(context: Context, *, task: str) -> None:
    """Print one task."""
    async with open_store(context.settings, must_exist=True) as store:
        found = await _task(store, task)
    now = store.clock.now()
    document = _document(found, now)

    def show(console: Console) -> None:
        if found.state in WORKED_ON:
            console.print(f"{'now':<15} {_note(found, now)}", markup=False)
        for name, value in document.items():
            if value not in (None, "", [], {}):
                console.print(f"{name:<15} {_line(value)}", markup=False)

    context.emit(document, show)


async def queue_add(context: Context, *, topic: str, questions: list[str], priority: int) -> None:
    """Queue what a person asks for."""
    if not topic.strip():
        raise UsageError("The topic is empty; say what to find out, e.g. brain queue add 'Kerberos clock skew'.")
    async with open_store(context.settings) as store:
        queue = ResearchQueue(store, queue_policy(context.settings))
        request = TaskRequest(topic=topic, questions=tuple(questions) or (topic,), priority=priority)
        _report(context, await queue.enqueue(request, TaskOrigin.MANUAL, actor=_who()))


async def queue_cancel(context: Context, *, task: str) -> None:
    """Cancel a waiting task."""
    async with open_store(context.settings, must_exist=True) as store:
        found = await _task(store, task)
        outcome = await ResearchQueue(store, queue_policy(context.settings)).cancel(found.id, actor=_who())
    if not outcome.ok:
        raise RefusedError(outcome.message)
    context.emit(
        {"task": found.id, "outcome": "cancelled"},
        lambda console: console.print(f"Cancelled {found.id}: {found.topic}", markup=False),
    )


async def queue_retry(context: Context, *, task: str) -> None:
    """Queue a failed task again."""
    async with open_store(context.settings, must_exist=True) as store:
        found = await _task(store, task)
        if found.state is not TaskState.FAILED:
            raise RefusedError(f"Task {found.id} is {found.state}; only a failed task can be tried again.")
        _report(context, await ResearchQueue(store, queue_policy(context.settings)).retry(found.id, actor=_who()))


async def queue_consolidate(context: Context) -> None:
    """Merge waiting duplicates."""
    async with open_store(context.settings, must_exist=True) as store:
        done = await ResearchQueue(store, queue_policy(context.settings)).consolidate(actor=_who())
    context.emit(
        asdict(done),
        lambda console: console.print(
            f"{done.merged} tasks merged into {done.keepers} keepers; {done.waiting} wait for a running twin."
        ),
    )


async def _task(store: Store, task_id: str) -> Task:
    """Return the task with this id, or the only one whose id begins so."""
    name = task_id.strip()
    found = await store.read(get_task, name)
    if found is not None:
        return found
    alike = await store.read(tasks_beginning, name) if len(name) >= SHORTEST_NAME else []
    if not alike:
        raise UsageError(f"There is no task {shortened(task_id)!r}; `brain queue list --all` shows them.")
    if len(alike) > 1:
        ids = ", ".join(task.id for task in alike)
        raise UsageError(f"Several tasks begin with {name!r} ({ids}, …); give more of the id.")
    return alike[0]


def _report(context: Context, result: EnqueueResult) -> None:
    if result.reason in {EMPTY_TOPIC, TOPIC_TOO_LONG}:
        raise UsageError(f"Not queued ({result.reason}): {result.message}")
    if result.task is None:
        raise RefusedError(f"Not queued ({result.reason}): {result.message}")
    task = result.task
    document = {"outcome": result.outcome, "message": result.message, "task": _document(task, task.updated_at)}

    def show(console: Console) -> None:
        wait = f", waits until {task.not_before:%Y-%m-%d %H:%M} UTC" if task.not_before else ""
        console.print(f"{result.outcome}: {task.id}  {task.topic}{wait}", markup=False)
        if result.message:
            console.print(result.message, markup=False)

    context.emit(document, show)


def _document(task: Task, now: datetime) -> dict[str, Any]:
    document = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(task).items()}
    if task.state in WORKED_ON:
        document |= {"counts": task.progress.get("counts", {}), "age_s": age_s(_since(task), now)}
    return document


def _note(task: Task, now: datetime) -> str:
    """Return what there is to say about a task in one line."""
    if task.state in WORKED_ON:
        return f"{told(task.phase, task.progress.get('counts', {}), age_s(_since(task), now))}, by {task.lease_owner}"
    waits = ""
    if task.state is TaskState.DEFERRED:
        twin = task.progress.get(WAITS_FOR)
        waits = (
            f"waits for {twin}"
            if twin
            else f"waits until {task.not_before:%Y-%m-%d %H:%M} UTC"
            if task.not_before
            else ""
        )
    said = task.merged_into and f"merged into {task.merged_into}"
    return "; ".join(filter(None, [waits, said or task.result_reason or task.last_error]))


def _since(task: Task) -> datetime:
    """Return when the worker took it."""
    return task.started_at if task.state is TaskState.RUNNING and task.started_at else task.updated_at


def shortened(text: str) -> str:
    """Return `text` as a message can hold it."""
    return text if len(text) <= 80 else f"{text[:77]}..."


def _line(value: object) -> str:
    return "; ".join(map(str, value)) if isinstance(value, list) else str(value)


def _who() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # no entry for this user id, as in a container
        return "operator"
