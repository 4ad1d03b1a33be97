"""`brain queue …` and `brain opportunities`: what is planned, why, and what a person changes about it."""

from __future__ import annotations

import getpass
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from brain.cli.shell import Context
from brain.errors import BrainError, RefusedError, UsageError
from brain.homes import open_store
from brain.policies import queue_policy
from data.models import Task, TaskOrigin, TaskState
from data.scans import decisions_of, last_scan
from data.store import Store
from data.tasks import ACTIVE, TaskRequest, get_task, list_tasks
from research.queue import EnqueueResult, ResearchQueue

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "opportunities",
    "queue_add",
    "queue_cancel",
    "queue_consolidate",
    "queue_list",
    "queue_retry",
    "queue_show",
]


async def opportunities(context: Context, *, limit: int) -> None:
    """Print the latest scan's gaps with the decision about each."""
    async with open_store(context.settings, must_exist=True) as store:
        scan = await store.read(last_scan)
        decisions = await store.read(decisions_of, scan.id) if scan else []
    if scan is None:
        raise BrainError("There was no scan yet; `brain scan` makes one.")
    shown = decisions[:limit]
    document = {"scan": asdict(scan), "decisions": [asdict(decision) for decision in shown]}

    def show(console: Console) -> None:
        rejected = _counts(scan.rejected)
        console.print(
            f"Scan of {scan.finished_at:%Y-%m-%d %H:%M} UTC: {scan.candidates} gaps, {scan.created} tasks created, "
            f"{scan.merged} merged, not planned: {rejected}",
            markup=False,
        )
        for gap in shown:
            verdict = gap.decision if gap.rejection_reason is None else gap.rejection_reason
            console.print(f"{gap.score:5.2f}  {gap.kind:<18} {verdict:<26} {gap.topic}", markup=False)
            console.print(f"       {gap.why}", markup=False)
            if gap.recommended_action:
                console.print(f"       to do: {gap.recommended_action}", markup=False)

    context.emit(document, show)


async def queue_list(context: Context, *, everything: bool) -> None:
    """Print tasks and the day's budget."""
    async with open_store(context.settings, must_exist=True) as store:
        queue = ResearchQueue(store, queue_policy(context.settings))
        tasks = await store.read(list_tasks, states=() if everything else ACTIVE, limit=1000)
        budget = await queue.budget()
    document = {"budget": asdict(budget), "tasks": [_document(task) for task in tasks]}

    def show(console: Console) -> None:
        for task in tasks:
            note = task.result_reason or task.last_error or task.phase
            console.print(f"{task.id}  {task.state:<9} {task.priority:>3}  {task.topic}", markup=False)
            if note:
                console.print(f"{'':30}{note}", markup=False)
        console.print(
            f"{len(tasks)} tasks; today's budget: {budget.remaining} of {budget.max_per_day} left "
            f"({budget.completed_today} completed, {budget.active} active)",
            markup=False,
        )

    context.emit(document, show)


async def queue_show(context: Context, *, task: str) -> None:
    """Print one task."""
    async with open_store(context.settings, must_exist=True) as store:
        found = await _task(store, task)
    document = _document(found)

    def show(console: Console) -> None:
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
        raise RefusedError(f"Task {found.id} was not cancelled: {outcome.message}")
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
    found = await store.read(get_task, task_id)
    if found is None:
        raise UsageError(f"There is no task {task_id!r}; `brain queue list --all` shows them.")
    return found


def _report(context: Context, result: EnqueueResult) -> None:
    if result.task is None:
        raise RefusedError(f"Not queued ({result.reason}): {result.message}")
    task = result.task
    document = {"outcome": result.outcome, "message": result.message, "task": _document(task)}

    def show(console: Console) -> None:
        wait = f", waits until {task.not_before:%Y-%m-%d %H:%M} UTC" if task.not_before else ""
        console.print(f"{result.outcome}: {task.id}  {task.topic}{wait}", markup=False)
        if result.message:
            console.print(result.message, markup=False)

    context.emit(document, show)


def _document(task: Task) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(task).items()}


def _line(value: object) -> str:
    return "; ".join(map(str, value)) if isinstance(value, list) else str(value)


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items()) or "none"


def _who() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # no entry for this user id, as in a container
        return "operator"
