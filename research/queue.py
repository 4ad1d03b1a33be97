"""The queue of research tasks: what is taken in, who works on it, how it ends (spec 05).

The judgement is in `research.admission` (pure), the writes in `data.crud`; this is the part that a scanner,
a worker, a person and an agent task speak to. Whoever holds a task passes the `Task` that `reserve` gave:
its lease names the worker, and every step refuses with `LeaseLost` once somebody else holds it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any, Final

from data.asked import remember_asked
from data.crud import leases
from data.crud.engine import WriteOutcome, perform
from data.crud.tasks import CancelTask, CompleteTask, EnqueueTask, FailTask, MergeTasks, RetryTask, TaskResult
from data.known import KnownGaps
from data.models import Task, TaskOrigin, TaskState
from data.store import Store
from data.tasks import (
    EnqueueDecision,
    LeaseLost,
    Merge,
    Reject,
    TaskCounts,
    TaskError,
    TaskRequest,
    TaskTotals,
    active_tasks,
    count_tasks,
    get_task,
    leased_tasks,
    load_snapshot,
    task_as_read_back,
    task_target,
    task_totals,
)
from data.text import detect_language, label_key, normalise
from research.admission import (
    BUDGET_EXHAUSTED,
    SEMANTIC_DUPLICATE,
    Budget,
    KnownIndex,
    QueuePolicy,
    budget_of,
    decide_enqueue,
    decide_retry,
    request_shape,
    task_shape,
)
from research.consolidation import Group, QueueEntry, consolidate
from research.duplicate_index import DuplicateIndex
from research.duplicates import ALGORITHM, dedupe_key, features, merge_questions
from research.intent import expected_type
from research.leasewatch import LeaseWatch
from research.questions import questions_for

__all__ = [
    "Budget",
    "Consolidation",
    "EnqueueResult",
    "ProcessTotals",
    "QueuePolicy",
    "ResearchQueue",
    "remaining_budget",
]


_TERMINAL: Final = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
"""Colours and movements of a terminal, which come with what is copied from one."""


@dataclass(frozen=True, slots=True)
class EnqueueResult:
    """What became of a request: `created`, `deferred`, `merged`, `retried`, `refused` or `failed`.

    `reason` is the stable word of a refusal, `message` a sentence for a person, `task` the task that took
    the request in, `other` the id of what stands in its place.
    """

    outcome: str
    task: Task | None
    reason: str = ""
    message: str = ""
    other: str | None = None


@dataclass(frozen=True, slots=True)
class Consolidation:
    """What a consolidation did: tasks cancelled into keepers, and tasks that now wait for a running twin."""

    keepers: int
    merged: int
    waiting: int


@dataclass(slots=True)
class ProcessTotals:
    """What this process did since it started; nothing of it survives, and it says so by its name."""

    created: int = 0
    merged: int = 0
    completed: int = 0
    failed: int = 0
    deferred: int = 0
    evidence: int = 0
    articles: int = 0


async def remaining_budget(store: Store, policy: QueuePolicy, now: datetime) -> Budget:
    """Return max_tasks_per_day − completed_today_utc − active_research_tasks at `now`, with its parts."""
    return budget_of(await store.read(count_tasks, now), policy)


class ResearchQueue:
    """One process's door to the queue in the store; any number of them may be open at once."""

    def __init__(self, store: Store, policy: QueuePolicy | None = None) -> None:
        self.store = store
        self.policy = policy or QueuePolicy()
        self.process_totals = ProcessTotals()
        self._watch = LeaseWatch(self.policy.lease)
        self._known = KnownGaps()
        self._index = KnownIndex(self.policy.duplicates)
        self._acquainted = False

    # ------------------------------------------------------------------------------------- taking in

    async def budget(self) -> Budget:
        """Return what the UTC day still holds."""
        return await remaining_budget(self.store, self.policy, self.store.clock.now())

    async def enqueue(self, request: TaskRequest, origin: TaskOrigin, *, actor: str | None = None) -> EnqueueResult:
        """Take a request in, merge it, put it off, or refuse it with a reason; never past the budget.

        What an agent task asks for when nothing remains is refused, and kept as an `asked` opportunity.
        """
        if not self._acquainted:
            await self._get_acquainted()
        request = await asyncio.to_thread(self._prepared, request)
        operation = EnqueueTask(
            request=request,
            origin=origin,
            dedupe_key=dedupe_key(request.topic, request.seeds),
            decide=partial(self._decide, request, origin),
            history=self.policy.history,
            known=self._known,
        )
        outcome = await perform(self.store, operation, actor=actor or origin.value)
        if origin is TaskOrigin.API and outcome.reason == BUDGET_EXHAUSTED:
            await self.store.write(remember_asked, request)
        result = await self._result(outcome, operation.decision)
        self.process_totals.created += result.outcome in {"created", "deferred"}
        self.process_totals.merged += result.outcome == "merged"
        return result

    async def _get_acquainted(self) -> None:
        """Take apart what is there before the first write transaction would do it, with everybody waiting for it."""
        snapshot = await self.store.read_bulk(load_snapshot, self.store.clock.now(), self.policy.history)
        await asyncio.to_thread(KnownIndex.of, snapshot, self.policy.duplicates)
        self._acquainted = True

    def _decide(self, request: TaskRequest, origin: TaskOrigin, counts: TaskCounts, now: datetime) -> EnqueueDecision:
        """Judge inside the write transaction, hence on the writer thread, which alone touches the index."""
        self._index.update(self._known.take_changes())
        snapshot = self._index.narrowed(request_shape(request), counts, now, self.policy.history)
        return decide_enqueue(request, origin, snapshot, self.policy)

    def _prepared(self, request: TaskRequest) -> TaskRequest:
        """Return the request completed, and taken apart before the write transaction has everybody wait for it."""
        request = self._completed(request)
        features(request_shape(request))
        return request

    def _completed(self, request: TaskRequest) -> TaskRequest:
        """Return the request cleaned, with the questions a service desk would ask where it brings none of its own."""
        topic = " ".join(normalise(_TERMINAL.sub(" ", request.topic)).split())
        language = request.language if request.language in {"de", "en"} else detect_language(topic)
        own = [question for question in map(normalise, request.questions) if label_key(question) != label_key(topic)]
        if not own:
            article_type = request.article_type or expected_type(topic, ())
            own = list(questions_for(topic, article_type, language))
        return replace(
            request,
            topic=topic,
            language=language,
            questions=merge_questions((), own, self.policy.max_questions),
            priority=min(100, max(0, request.priority)),
        )

    async def retry(self, task_id: str, *, actor: str, version: int | None = None) -> EnqueueResult:
        """Queue a failed task again for a person, or onto the next UTC day where nothing remains."""
        operation = RetryTask(
            task_id, lambda task, snapshot: decide_retry(task, snapshot, self.policy), self.policy.history, version
        )
        outcome = await perform(self.store, operation, actor=actor)
        return await self._result(outcome, operation.decision)

    async def cancel(self, task_id: str, *, actor: str, reason: str = "", version: int | None = None) -> WriteOutcome:
        """Cancel a queued or deferred task for a person; its topic then counts as refused."""
        operation = CancelTask(task_id, reason or f"cancelled by {actor}", version)
        return await perform(self.store, operation, actor=actor)

    async def _result(self, outcome: WriteOutcome, decision: object) -> EnqueueResult:
        other = decision.other if isinstance(decision, Reject) else None
        if not outcome.ok:
            kind = "refused" if outcome.status == "refused" else "failed"
            return EnqueueResult(kind, None, outcome.reason, outcome.message, other)
        task_id = outcome.result.task_id
        read_back = outcome.after.get(task_target(task_id))
        task = task_as_read_back(read_back) if read_back else await self.store.read(get_task, task_id)
        return EnqueueResult(outcome.result.outcome, task, "", outcome.message, other)

    # --------------------------------------------------------------------------------- consolidation

    async def consolidate(self, *, actor: str = "queue") -> Consolidation:
        """Merge waiting duplicates into their keepers, and let the twins of running tasks wait.

        Judged outside the transaction and checked inside: a task that changed meanwhile is left to the next
        time. Reserved and running tasks are never touched.
        """
        tasks = {task.id: task for task in await self.store.read_bulk(active_tasks)}
        waiting = {key: task for key, task in tasks.items() if task.state in {TaskState.QUEUED, TaskState.DEFERRED}}
        entries = [QueueEntry(task.id, task_shape(task), task.priority, task.created_at) for task in waiting.values()]
        groups = await asyncio.to_thread(consolidate, entries, self.policy.duplicates)
        keepers = merged = 0
        for group in groups:
            outcome = await perform(self.store, self._merge(group, tasks), actor=actor)
            if outcome.ok:
                keepers += 1
                merged += len(group.members)
                for member in group.members:
                    waiting.pop(member, None)
        worked_on = [task for key, task in tasks.items() if task.state in {TaskState.RESERVED, TaskState.RUNNING}]
        return Consolidation(keepers, merged, await self._let_wait(waiting, worked_on))

    def _merge(self, group: Group, tasks: Mapping[str, Task]) -> MergeTasks:
        keeper, members = tasks[group.keeper], [tasks[member] for member in group.members]
        merge = Merge(
            keeper=keeper.id,
            seeds=tuple(sorted({*keeper.seeds, *(seed for task in members for seed in task.seeds)})),
            questions=merge_questions(
                keeper.questions,
                (question for task in members for question in task.questions),
                self.policy.max_questions,
            ),
            origins=tuple(sorted({*keeper.origins, *(origin for task in members for origin in task.origins)})),
            priority=max(task.priority for task in (keeper, *members)),
            message="",
            detail={"decision": SEMANTIC_DUPLICATE, "algorithm": ALGORITHM},
        )
        return MergeTasks(merge, group.members, {task.id: task.version for task in (keeper, *members)})

    async def _let_wait(self, waiting: Mapping[str, Task], worked_on: list[Task]) -> int:
        if not worked_on:
            return 0
        index = DuplicateIndex(self.policy.duplicates)
        for task in worked_on:
            index.add(task.id, task_shape(task))
        changed = 0
        for task in waiting.values():
            twins = index.duplicates(task_shape(task))
            if twins:
                changed += await self.store.write(leases.let_wait, task.id, twins[0][0])
        return changed

    # ------------------------------------------------------------------------------------ working off

    async def reserve(self, worker: str) -> Task | None:
        """Reserve the next task for `worker`, or return None: nothing is due, or the day is full."""
        task = await self.store.write(
            leases.reserve,
            worker=worker,
            lease=self.policy.lease,
            max_per_day=self.policy.max_tasks_per_day,
            longest_deferral=self.policy.longest_deferral,
        )
        if task is not None:
            self._watch.hold(task.id, self.store.clock.monotonic())
        return task

    async def start(self, task: Task) -> Task:
        """Turn the reserved task into a running one."""
        started = await self.store.write(leases.start, task.id, _worker(task), self.policy.lease)
        self._watch.hold(task.id, self.store.clock.monotonic())
        return started

    async def renew(self, task: Task) -> None:
        """Extend the lease by its full length from now."""
        await self.store.write(leases.renew, task.id, _worker(task), self.policy.lease)
        self._watch.hold(task.id, self.store.clock.monotonic())

    async def progress(self, task: Task, phase: str, counts: Mapping[str, int] | None = None) -> None:
        """Show how far the running task is; renews the lease as well."""
        await self.store.write(leases.report, task.id, _worker(task), phase, counts or {}, self.policy.lease)
        self._watch.hold(task.id, self.store.clock.monotonic())

    async def complete(self, task: Task, result: TaskResult) -> WriteOutcome:
        """Store the result; raise LeaseLost where another worker holds the task by now."""
        outcome = await perform(self.store, CompleteTask(task.id, _worker(task), result), actor=_worker(task))
        self._settled(task, outcome)
        if outcome.ok:
            self.process_totals.completed += 1
            self.process_totals.evidence += result.evidence_count
            self.process_totals.articles += result.article_id is not None
        return outcome

    async def fail(self, task: Task, error: str, *, evidence_count: int = 0) -> Task:
        """Count an attempt that ended in an error of the task's own; return the task as it now stands.

        Before the last attempt it is put off with backoff; the last one makes it failed, with its error,
        readable and open to a person's retry.
        """
        current = await self.store.read(get_task, task.id)
        if current is not None and current.attempts + 1 < self.policy.max_attempts:
            return await self._defer(task, error, attempt=True)
        operation = FailTask(task.id, error, worker=_worker(task), evidence_count=evidence_count)
        outcome = await perform(self.store, operation, actor=_worker(task))
        self._settled(task, outcome)
        self.process_totals.failed += outcome.ok
        failed = await self.store.read(get_task, task.id)
        if failed is None or not outcome.ok:
            raise TaskError(f"task {task.id} could not be marked as failed: {outcome.message}")
        return failed

    async def defer(self, task: Task, error: str) -> Task:
        """Put the task off because something outside failed (search, model): no attempt is counted."""
        return await self._defer(task, error, attempt=False)

    async def give_back(self, task: Task) -> Task:
        """Queue the task again because this worker stops; no attempt is counted."""
        given = await self.store.write(leases.give_back, task.id, _worker(task))
        self._watch.drop(task.id)
        return given

    async def release_expired(self) -> int:
        """Take back tasks whose lease ran out, each with one attempt more; return how many.

        The one that was its last attempt is failed, with that as its error.
        """
        leased = await self.store.read(leased_tasks)
        expired = self._watch.expired(leased, self.store.clock.now(), self.store.clock.monotonic())
        if not expired:
            return 0
        queued, exhausted = await self.store.write(leases.release, expired, self.policy.max_attempts)
        released = len(queued)
        for task in exhausted:
            error = f"the lease of {task.lease_owner} ran out while the task was {task.state}"
            operation = FailTask(task.id, error, expired=task.lease_until)
            outcome = await perform(self.store, operation, actor="queue")
            released += outcome.ok
            self.process_totals.failed += outcome.ok
        for task in (*queued, *exhausted):
            self._watch.drop(task.id)
        return released

    async def _defer(self, task: Task, error: str, *, attempt: bool) -> Task:
        deferred = await self.store.write(
            partial(leases.defer, backoff=self.policy.deferral, error=error, attempt=attempt), task.id, _worker(task)
        )
        self._watch.drop(task.id)
        self.process_totals.deferred += 1
        return deferred

    def _settled(self, task: Task, outcome: WriteOutcome) -> None:
        if outcome.reason == "lease_lost":
            raise LeaseLost(outcome.message)
        if outcome.ok:
            self._watch.drop(task.id)

    # -------------------------------------------------------------------------------------- telemetry

    async def totals(self) -> TaskTotals:
        """Return the totals of all tasks ever, counted from the store."""
        return await self.store.read(task_totals)

    def own_totals(self) -> dict[str, Any]:
        """Return this process's own counts, for `process_totals` of the status document."""
        return asdict(self.process_totals)


def _worker(task: Task) -> str:
    if task.lease_owner is None:
        raise LeaseLost(f"task {task.id} is {task.state} and held by nobody")
    return task.lease_owner
