"""The queue's worker: reserve → gather → synthesise → settle, one task at a time (spec 05).

While a task runs its lease is renewed; a worker that lost the lease drops the work at once, one that is
stopped gives the task back. Every way out of a task settles it: completed, failed, deferred or given back.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import structlog

from data.clock import Clock
from data.crud.tasks import TaskResult
from data.models import Task
from data.progress import Progress, silent
from data.tasks import LeaseLost

__all__ = ["Completed", "Postponed", "TaskQueue", "TaskWork", "WorkReport", "Worker"]

RENEWALS_PER_LEASE: Final = 3

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Completed:
    """The task's work is done: with an article, or with the reason why there is none."""

    evidence_count: int
    article_id: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class Postponed:
    """Something outside failed (search, fetch, model): the task is worth another try later."""

    error: str


Report = Callable[[str, Mapping[str, int]], Awaitable[None]]
TaskWork = Callable[[Task, Report], Awaitable[Completed | Postponed]]
"""Does one task's gathering and synthesis; tells phase and counts while it runs."""


class TaskQueue(Protocol):
    """What the worker needs of research.queue.ResearchQueue."""

    async def release_expired(self) -> int: ...
    async def consolidate(self, *, actor: str = ...) -> object: ...
    async def reserve(self, worker: str) -> Task | None: ...
    async def start(self, task: Task) -> Task: ...
    async def renew(self, task: Task) -> None: ...
    async def progress(self, task: Task, phase: str, counts: Mapping[str, int] | None = None) -> None: ...
    async def complete(self, task: Task, result: TaskResult) -> Any: ...
    async def fail(self, task: Task, error: str, *, evidence_count: int = 0) -> Task: ...
    async def defer(self, task: Task, error: str) -> Task: ...
    async def give_back(self, task: Task) -> Task: ...


@dataclass(slots=True)
class WorkReport:
    """What one run of the worker did; `reasons` says why completed tasks have no article."""

    completed: int = 0
    articles: int = 0
    failed: int = 0
    deferred: int = 0
    evidence: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    @property
    def worked(self) -> int:
        return self.completed + self.failed + self.deferred


class Worker:
    """Works on the queue under the name `name`; `lease_s` is the length of a lease in seconds.

    Once `stopping` says so it takes no further task; the present one goes on to its end, or until it is cancelled.
    """

    def __init__(
        self,
        queue: TaskQueue,
        work: TaskWork,
        *,
        clock: Clock,
        name: str,
        lease_s: float,
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        self._queue = queue
        self._work = work
        self._clock = clock
        self._name = name
        self._renew_after = lease_s / RENEWALS_PER_LEASE
        self.current: Task | None = None
        self._stopping = stopping
        self._consolidated = False

    async def run(self, *, limit: int | None = None, progress: Progress = silent) -> WorkReport:
        """Work until the queue has nothing for today, or `limit` tasks were taken; return what was done.

        When the worker starts, waiting duplicates are merged first, so that it does not work on one gap twice.
        """
        report = WorkReport()
        await self._queue.release_expired()
        if not self._consolidated:
            await self._queue.consolidate(actor=self._name)
            self._consolidated = True
        while not self._stopping() and (limit is None or report.worked < limit):
            task = await self._queue.reserve(self._name)
            if task is None:
                break
            self.current = task
            try:
                await self._settle(task, report)
            finally:
                self.current = None
            progress("research tasks", report.worked, limit)
        if report.worked:
            progress("research tasks", report.worked, report.worked)
        return report

    async def _settle(self, task: Task, report: WorkReport) -> None:
        try:
            await self._do(task, report)
        except LeaseLost as error:  # somebody else holds it by now, and will settle it
            log.warning("lease lost, work dropped", task=task.id, error=str(error))
            report.failed += 1

    async def _do(self, task: Task, report: WorkReport) -> None:
        try:
            task = await self._queue.start(task)
            outcome = await self._with_lease(task)
        except asyncio.CancelledError:
            with suppress(LeaseLost):
                await asyncio.shield(self._queue.give_back(task))
            raise
        except LeaseLost:
            raise
        except Exception as error:
            log.error("task failed", task=task.id, exc_info=error)
            await self._queue.fail(task, f"{type(error).__name__}: {error}")
            report.failed += 1
            return
        if isinstance(outcome, Postponed):
            await self._queue.defer(task, outcome.error)
            report.deferred += 1
            return
        result = TaskResult(outcome.evidence_count, outcome.article_id, outcome.reason or None)
        written = await self._queue.complete(task, result)
        if not written.ok:
            raise RuntimeError(f"the result of task {task.id} was not kept: {written.message}")
        report.completed += 1
        report.evidence += outcome.evidence_count
        if outcome.article_id is not None:
            report.articles += 1
        else:
            report.reasons[outcome.reason] += 1

    async def _with_lease(self, task: Task) -> Completed | Postponed:
        """Run the work beside the renewal of its lease; whichever fails ends the other."""

        async def tell(phase: str, counts: Mapping[str, int]) -> None:
            await self._queue.progress(task, phase, counts)

        working = asyncio.ensure_future(self._work(task, tell))
        renewing = asyncio.ensure_future(self._keep_lease(task))
        try:
            await asyncio.wait((working, renewing), return_when=asyncio.FIRST_COMPLETED)
            if renewing.done() and not working.done():
                renewing.result()
            return await working
        finally:
            for future in (working, renewing):
                future.cancel()
            await asyncio.gather(working, renewing, return_exceptions=True)

    async def _keep_lease(self, task: Task) -> None:
        while True:
            await self._clock.sleep(self._renew_after)
            await self._queue.renew(task)
