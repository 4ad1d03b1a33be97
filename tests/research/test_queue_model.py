"""The queue against a small reference model that knows nothing of its code: any sequence of what can happen to it.

Topics are one word of their own each, so that for the model two tasks are the same gap where they name the same word.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Coroutine
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import insert

from data.clock import ManualClock
from data.crud.tasks import TaskResult
from data.models import Task, TaskOrigin
from data.schema import research_task
from data.store import DATABASE_NAME, Store
from data.tasks import TaskRequest, list_tasks
from data.tx import Tx
from research.duplicates import dedupe_key
from research.queue import QueuePolicy, ResearchQueue

T = TypeVar("T")
WORDS = ["printer", "kerberos", "outlook", "firewall", "scanner", "postfix"]
A_DAY = 4
ATTEMPTS = 2
LEASE = timedelta(minutes=10)
BACKOFF = [timedelta(minutes=10), timedelta(minutes=20), timedelta(minutes=40), timedelta(minutes=80)]
ACTIVE = {"queued", "deferred", "reserved", "running"}
POLICY = QueuePolicy(max_tasks_per_day=A_DAY, max_attempts=ATTEMPTS, lease=LEASE)


@dataclass
class Known:
    """A task as the model knows it."""

    id: str
    word: str
    priority: int
    order: int
    state: str
    attempts: int = 0
    deferrals: int = 0
    not_before: datetime | None = None
    waits_for: str | None = None
    lease_until: datetime | None = None
    merged_into: str | None = None
    finished: datetime | None = None


class Model:
    """What spec 05 says happens, over a plain dictionary."""

    def __init__(self) -> None:
        self.tasks: dict[str, Known] = {}
        self.made = 0

    def of(self, *states: str) -> list[Known]:
        found = [task for task in self.tasks.values() if task.state in states]
        return sorted(found, key=lambda task: (-task.priority, task.order))

    def completed_on(self, now: datetime) -> int:
        return sum(task.finished is not None and task.finished.date() == now.date() for task in self.of("completed"))

    def remaining(self, now: datetime) -> int:
        return A_DAY - self.completed_on(now) - len(self.of(*ACTIVE))

    def add(self, task_id: str, word: str, priority: int, state: str = "queued") -> Known:
        self.made += 1
        self.tasks[task_id] = Known(task_id, word, priority, self.made, state)
        return self.tasks[task_id]

    def wake(self, now: datetime) -> None:
        for task in self.of("deferred"):
            if task.waits_for is not None:
                due = self.tasks[task.waits_for].state not in ACTIVE
            else:
                due = task.not_before is None or task.not_before <= now
            if due:
                task.state, task.not_before, task.waits_for = "queued", None, None

    def next(self, now: datetime) -> Known | None:
        self.wake(now)
        if self.completed_on(now) + len(self.of("reserved", "running")) >= A_DAY:
            return None
        waiting = self.of("queued")
        return waiting[0] if waiting else None

    def consolidate(self) -> None:
        for keeper in self.of("queued", "deferred"):
            if keeper.state == "cancelled":
                continue
            for twin in self.of("queued", "deferred"):
                if twin is not keeper and twin.word == keeper.word:
                    twin.state, twin.merged_into, twin.waits_for = "cancelled", keeper.id, None
                    twin.not_before = None
        for task in self.of("queued", "deferred"):
            twins = [other for other in self.of("reserved", "running") if other.word == task.word]
            if twins:
                task.state, task.waits_for, task.not_before = "deferred", twins[0].id, None


class QueueLife(RuleBasedStateMachine):
    database: Path

    @initialize()
    def begin(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.folder = Path(tempfile.mkdtemp())
        shutil.copy(self.database, self.folder / DATABASE_NAME)
        self.clock = ManualClock(datetime(2026, 1, 15, 8, 0, tzinfo=UTC))
        self.store = self.do(Store.open(self.folder, clock=self.clock))
        self.queue = ResearchQueue(self.store, POLICY)
        self.model = Model()
        self.held: dict[str, Task] = {}
        self.workers = 0

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    def now(self) -> datetime:
        return self.clock.now()

    # ------------------------------------------------------------------------------------- what happens

    @rule(word=st.sampled_from(WORDS), priority=st.integers(0, 9), person=st.booleans())
    def enqueue(self, word: str, priority: int, person: bool) -> None:
        self.clock.advance(timedelta(seconds=1))
        origin = TaskOrigin.MANUAL if person else TaskOrigin.SCANNER
        request = TaskRequest(f"{word} offline", (f"Why is {word} offline?",), priority=priority)
        result = self.do(self.queue.enqueue(request, origin))
        model, same = self.model, [task for task in self.model.tasks.values() if task.word == word]
        waiting = [task for task in same if task.state in {"queued", "deferred"}]
        worked_on = [task for task in same if task.state in {"reserved", "running"}]
        known = [task for task in same if task.state in {"completed", "failed"}]
        if waiting:
            assert result.outcome == "merged"
            assert result.task is not None
            keeper = model.tasks[result.task.id]
            assert keeper in waiting
            keeper.priority = max(keeper.priority, priority)
        elif worked_on and not person:
            assert result.reason == "semantic_queue_duplicate"
        elif known and not person and not worked_on:
            assert result.reason in {"already_answered", "failed_before"}
        elif model.remaining(self.now()) <= 0 and not person:
            assert result.reason == "daily_budget_exhausted"
        else:
            assert result.task is not None, result
            full = model.remaining(self.now()) <= 0
            task = model.add(result.task.id, word, priority)
            if worked_on:
                assert result.task.progress["waits_for"] in {other.id for other in worked_on}
                task.state, task.waits_for = "deferred", result.task.progress["waits_for"]
            elif full:
                midnight = self.now().replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
                task.state, task.not_before = "deferred", midnight

    @rule(word=st.sampled_from(WORDS), priority=st.integers(0, 9))
    def a_twin_from_elsewhere(self, word: str, priority: int) -> None:
        """A task of an earlier version, or of a colder algorithm: only consolidation can find it."""
        self.clock.advance(timedelta(seconds=1))
        task_id, topic = f"task_other{self.model.made}", f"{word} offline"

        def put(tx: Tx) -> None:
            tx.conn.execute(
                insert(research_task).values(
                    id=task_id, topic=topic, seeds=[], questions=[f"Why is {word} offline?"], priority=priority,
                    state="queued", origins=["manual"], kind="asked", dedupe_key=dedupe_key(topic, ()), language="en",
                    attempts=0, phase="", progress={}, evidence_count=0, created_at=tx.now, updated_at=tx.now,
                    version=1,
                )
            )  # fmt: skip

        self.do(self.store.write(put))
        self.model.add(task_id, word, priority)

    @rule()
    def consolidate(self) -> None:
        self.do(self.queue.consolidate())
        self.model.consolidate()

    @rule()
    def reserve(self) -> None:
        self.workers += 1
        task = self.do(self.queue.reserve(f"w{self.workers}"))
        expected = self.model.next(self.now())
        assert (task.id if task else None) == (expected.id if expected else None)
        if task is not None and expected is not None:
            self.held[task.id] = self.do(self.queue.start(task))
            expected.state, expected.lease_until = "running", self.now() + LEASE

    @precondition(lambda self: self.held)
    @rule(data=st.data(), way=st.sampled_from(["complete", "fail", "defer", "give back", "crash"]))
    def the_worker_ends(self, data: st.DataObject, way: str) -> None:
        task = self.held.pop(data.draw(st.sampled_from(sorted(self.held))))
        known = self.model.tasks[task.id]
        if way == "crash":
            return  # its lease will tell
        known.lease_until = None
        if way == "complete":
            assert self.do(self.queue.complete(task, TaskResult(2, None, "insufficient_evidence"))).ok
            known.state, known.finished = "completed", self.now()
            for twin in self.model.of("deferred"):
                if twin.waits_for == task.id:
                    twin.state, twin.merged_into, twin.waits_for = "cancelled", task.id, None
        elif way == "give back":
            self.do(self.queue.give_back(task))
            known.state = "queued"
        elif way == "fail" and known.attempts + 1 >= ATTEMPTS:
            self.do(self.queue.fail(task, "broken"))
            known.state, known.attempts = "failed", known.attempts + 1
        else:
            self.do(self.queue.fail(task, "broken") if way == "fail" else self.queue.defer(task, "search is down"))
            known.state, known.attempts = "deferred", known.attempts + (way == "fail")
            known.not_before = self.now() + BACKOFF[min(known.deferrals, 3)]
            known.deferrals += 1

    @rule(minutes=st.sampled_from([1, 11, 45, 60 * 9, 60 * 24]))
    def time_passes(self, minutes: int) -> None:
        self.clock.advance(timedelta(minutes=minutes))
        self.do(self.queue.release_expired())
        for task in self.model.of("reserved", "running"):
            if task.lease_until is not None and task.lease_until <= self.now():
                self.held.pop(task.id, None)
                task.attempts, task.lease_until = task.attempts + 1, None
                task.state = "failed" if task.attempts >= ATTEMPTS else "queued"

    @rule(minutes=st.sampled_from([-30, -2, 2, 30]))
    def the_clock_is_set(self, minutes: int) -> None:
        """A lease is judged by time that passes; a clock that is set takes no task from a living worker."""
        self.do(self.queue.release_expired())  # it has looked before, as the loop does all the time
        before = {task.id for task in self.model.of("reserved", "running")}
        self.clock.jump(self.now() + timedelta(minutes=minutes))
        self.do(self.queue.release_expired())
        stored = {task.id for task in self.do(self.store.read(list_tasks, limit=1_000)) if task.lease_owner}
        assert stored == before
        self.clock.jump(self.now() - timedelta(minutes=minutes))

    @rule()
    def the_process_restarts(self) -> None:
        totals = self.do(self.queue.totals())
        self.do(self.store.close())
        self.store = self.do(Store.open(self.folder, clock=self.clock))
        self.queue = ResearchQueue(self.store, POLICY)
        assert self.do(self.queue.totals()) == totals

    # ------------------------------------------------------------------------------- what always holds

    @invariant()
    def the_store_is_what_the_model_says(self) -> None:
        if not hasattr(self, "model"):
            return
        stored = {task.id: task for task in self.do(self.store.read(list_tasks, limit=1_000))}
        assert stored.keys() == self.model.tasks.keys()
        for task_id, known in self.model.tasks.items():
            task = stored[task_id]
            assert (task.state, task.priority, task.attempts, task.merged_into, task.not_before) == (
                known.state, known.priority, known.attempts, known.merged_into, known.not_before,
            ), task  # fmt: skip
        budget = self.do(self.queue.budget())
        assert budget.remaining == self.model.remaining(self.now())
        assert self.model.completed_on(self.now()) + len(self.model.of("reserved", "running")) <= A_DAY
        totals = self.do(self.queue.totals())
        assert totals.completed_total == len(self.model.of("completed"))
        assert totals.failed_total == len(self.model.of("failed"))
        assert totals.evidence_total == 2 * totals.completed_total

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.do(self.store.close())
            self.loop.close()
            shutil.rmtree(self.folder)


def lives(database: Path, examples: int, steps: int) -> None:
    QueueLife.database = database
    run_state_machine_as_test(
        QueueLife,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_short_lives_follow_the_model(empty_database: Path) -> None:
    lives(empty_database, 4, 15)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_long_lives_follow_the_model(empty_database: Path) -> None:
    lives(empty_database, 30, 50)
