"""The queue against a small reference model that knows nothing of its code: any sequence of what can happen to it.

Topics are one word of their own each, so that for the model two tasks are the same gap where they name the same word.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Callable, Coroutine
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
from tests.postgres import Cluster

T = TypeVar("T")
WORDS = ["printer", "kerberos", "outlook", "firewall", "scanner", "postfix"]
A_DAY = 2
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
    created: datetime
    state: str
    attempts: int = 0
    deferrals: int = 0
    not_before: datetime | None = None
    waits_for: str | None = None
    merged_into: str | None = None
    finished: datetime | None = None
    taken: float = 0.0
    """On the monotonic clock, when its worker took or renewed the lease."""
    own: bool = True
    """Whether the process that took the lease still lives."""
    jumped: bool = False
    """Whether the wall clock was set since."""


class Model:
    """What spec 05 says happens, over a plain dictionary."""

    def __init__(self) -> None:
        self.tasks: dict[str, Known] = {}

    def of(self, *states: str) -> list[Known]:
        found = [task for task in self.tasks.values() if task.state in states]
        return sorted(found, key=lambda task: (-task.priority, task.created, task.id))

    def completed_on(self, now: datetime) -> int:
        return sum(task.finished is not None and task.finished.date() == now.date() for task in self.of("completed"))

    def remaining(self, now: datetime) -> int:
        return A_DAY - self.completed_on(now) - len(self.of(*ACTIVE))

    def add(self, task_id: str, word: str, priority: int, now: datetime) -> Known:
        self.tasks[task_id] = Known(task_id, word, priority, now, "queued")
        return self.tasks[task_id]

    def wake(self, now: datetime) -> None:
        for task in self.of("deferred"):
            if task.waits_for is not None:
                due = self.tasks[task.waits_for].state not in ACTIVE
            else:  # farther away than any deferral reaches: a clock wrote it that was wrong
                due = task.not_before is None or not now < task.not_before <= now + timedelta(days=1)
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


class QueueLife(RuleBasedStateMachine):
    home: Callable[[], tuple[Path, str | None]]
    """Makes a fresh home with a migrated, empty database."""

    @initialize(asked=st.integers(0, 4))
    def begin(self, asked: int) -> None:
        self.loop = asyncio.new_event_loop()
        self.folder, self.url = type(self).home()
        self.clock = ManualClock(datetime(2026, 1, 15, 20, 0, tzinfo=UTC))
        self.store = self.do(Store.open(self.folder, clock=self.clock, url=self.url))
        self.queue = ResearchQueue(self.store, POLICY)
        self.model = Model()
        self.held: dict[str, Task] = {}
        self.workers = 0
        self.watching_since = self.clock.monotonic()
        for word in WORDS[:asked]:  # two for today, the others beyond it
            self.ask(word, 5, True)

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    def now(self) -> datetime:
        return self.clock.now()

    def stored(self) -> dict[str, Task]:
        return {task.id: task for task in self.do(self.store.read(list_tasks, limit=1_000))}

    # ------------------------------------------------------------------------------------- what happens

    @rule(word=st.sampled_from(WORDS), priority=st.integers(0, 9), person=st.booleans())
    def enqueue(self, word: str, priority: int, person: bool) -> None:
        self.ask(word, priority, person)

    def ask(self, word: str, priority: int, person: bool) -> None:
        self.clock.advance(timedelta(seconds=1))
        origin = TaskOrigin.MANUAL if person else TaskOrigin.SCANNER
        request = TaskRequest(f"{word} offline", (f"Why is {word} offline?",), priority=priority)
        result = self.do(self.queue.enqueue(request, origin))
        model, same = self.model, [task for task in self.model.tasks.values() if task.word == word]
        waiting = [task for task in same if task.state in {"queued", "deferred"}]
        worked_on = [task for task in same if task.state in {"reserved", "running"}]
        known = [
            task
            for task in same
            if task.state in {"completed", "failed"}
            and task.finished is not None
            and task.finished >= self.now() - POLICY.history
        ]
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
            task = model.add(result.task.id, word, priority, self.now())
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
        task_id, topic = f"task_other{len(self.model.tasks):04}", f"{word} offline"

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
        self.model.add(task_id, word, priority, self.now())

    @rule()
    def consolidate(self) -> None:
        self.do(self.queue.consolidate())
        self.model.consolidate()
        stored = self.stored()
        for task in self.model.of("queued", "deferred"):
            twins = {other.id for other in self.model.of("reserved", "running") if other.word == task.word}
            if twins:  # it waits for one of them
                twin = stored[task.id].progress["waits_for"]
                assert twin in twins
                task.state, task.waits_for, task.not_before = "deferred", twin, None

    @rule(starts=st.booleans())
    def reserve(self, starts: bool) -> None:
        self.take(starts)

    def take(self, starts: bool = True) -> None:
        self.workers += 1
        task = self.do(self.queue.reserve(f"w{self.workers}"))
        expected = self.model.next(self.now())
        assert (task.id if task else None) == (expected.id if expected else None)
        if task is not None and expected is not None:
            self.held[task.id] = self.do(self.queue.start(task)) if starts else task
            expected.state = "running" if starts else "reserved"
            expected.taken, expected.own, expected.jumped = self.clock.monotonic(), True, False

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def the_worker_goes_on(self, data: st.DataObject) -> None:
        task = self.held[data.draw(st.sampled_from(sorted(self.held)))]
        self.do(self.queue.renew(task))
        known = self.model.tasks[task.id]
        known.taken, known.own, known.jumped = self.clock.monotonic(), True, False

    @precondition(lambda self: self.held)
    @rule(data=st.data(), way=st.sampled_from(["complete", "fail", "defer", "give back", "crash"]))
    def the_worker_ends(self, data: st.DataObject, way: str) -> None:
        task = self.held.pop(data.draw(st.sampled_from(sorted(self.held))))
        known = self.model.tasks[task.id]
        if way == "crash":
            return  # its lease will tell
        if way in {"complete", "fail"} and known.state == "reserved":
            way = "give back"  # it has not begun yet
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
            known.state, known.attempts, known.finished = "failed", known.attempts + 1, self.now()
        else:
            self.do(self.queue.fail(task, "broken") if way == "fail" else self.queue.defer(task, "search is down"))
            known.state, known.attempts = "deferred", known.attempts + (way == "fail")
            known.not_before = self.now() + BACKOFF[min(known.deferrals, 3)]
            known.deferrals += 1

    def look(self) -> None:
        """Leases are looked at, as the worker's loop does all the time; what may run out is told by `Known`."""
        self.do(self.queue.release_expired())
        stored, mono, lease = self.stored(), self.clock.monotonic(), LEASE.total_seconds()
        for task in self.model.of("reserved", "running"):
            elapsed = mono - task.taken
            released = stored[task.id].lease_owner is None
            if task.own or not task.jumped:
                assert released == (elapsed >= lease), "judged by the time that passed"
            elif mono - max(task.taken, self.watching_since) >= lease:
                assert released, "whatever the wall clock says: nobody holds it for ever"
            if released:
                self.held.pop(task.id, None)
                task.attempts += 1
                task.state = "failed" if task.attempts >= ATTEMPTS else "queued"
                task.finished = self.now() if task.state == "failed" else None

    @rule(minutes=st.sampled_from([1, 11, 45, 60 * 9, 60 * 24]), polls=st.booleans())
    def time_passes(self, minutes: int, polls: bool) -> None:
        self.clock.advance(timedelta(minutes=minutes))
        self.look()
        if polls:  # as a worker does every few seconds
            self.take()

    @rule(seconds=st.sampled_from([-1, 0, 1]), polls=st.booleans())
    def midnight_comes(self, seconds: int, polls: bool) -> None:
        """The last second of a UTC day, its end, and the first second of the next."""
        midnight = self.now().replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
        self.clock.advance(max(timedelta(0), midnight + timedelta(seconds=seconds) - self.now()))
        self.look()
        if polls:
            self.take()

    @rule(
        minutes=st.sampled_from([-60 * 72, -60 * 24, -60 * 5, -30, -2, 2, 30, 60 * 5, 60 * 24, 60 * 72]),
        polls=st.booleans(),
    )
    def the_clock_is_set(self, minutes: int, polls: bool) -> None:
        """A lease is judged by time that passes; a clock that is set takes no task from a living worker."""
        self.look()
        self.clock.jump(self.now() + timedelta(minutes=minutes))
        for task in self.model.of("reserved", "running"):
            task.jumped = True
        self.look()
        if polls:
            self.take()

    @rule()
    def the_process_restarts(self) -> None:
        totals = self.do(self.queue.totals())
        self.do(self.store.close())
        self.store = self.do(Store.open(self.folder, clock=self.clock, url=self.url))
        self.queue = ResearchQueue(self.store, POLICY)
        self.watching_since = self.clock.monotonic()
        for task in self.model.of("reserved", "running"):
            task.own = False
        assert self.do(self.queue.totals()) == totals
        assert set(self.queue.own_totals().values()) == {0}
        self.look()

    # ------------------------------------------------------------------------------- what always holds

    @invariant()
    def the_store_is_what_the_model_says(self) -> None:
        if not hasattr(self, "model"):
            return
        stored = self.stored()
        assert stored.keys() == self.model.tasks.keys()  # none lost, none twice
        for task_id, known in self.model.tasks.items():
            task = stored[task_id]
            assert (task.state, task.priority, task.attempts, task.merged_into, task.not_before) == (
                known.state, known.priority, known.attempts, known.merged_into, known.not_before,
            ), task  # fmt: skip
            if known.merged_into is not None:
                assert self.model.tasks[known.merged_into].word == known.word
        budget = self.do(self.queue.budget())
        assert budget.remaining == self.model.remaining(self.now())
        assert (budget.completed_today, budget.active) == (
            self.model.completed_on(self.now()), len(self.model.of(*ACTIVE)),
        )  # fmt: skip
        totals = self.do(self.queue.totals())
        assert totals.completed_total == len(self.model.of("completed"))
        assert totals.failed_total == len(self.model.of("failed"))
        assert totals.evidence_total == 2 * totals.completed_total

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.do(self.store.close())
            self.loop.close()
            shutil.rmtree(self.folder)


def lives(home: Callable[[], tuple[Path, str | None]], examples: int, steps: int) -> None:
    QueueLife.home = staticmethod(home)
    run_state_machine_as_test(
        QueueLife,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def copies(database: Path) -> tuple[Path, None]:
    folder = Path(tempfile.mkdtemp())
    shutil.copy(database, folder / DATABASE_NAME)
    return folder, None


def test_short_lives_follow_the_model(empty_database: Path) -> None:
    lives(lambda: copies(empty_database), 4, 15)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_long_lives_follow_the_model(empty_database: Path) -> None:
    lives(lambda: copies(empty_database), 40, 50)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_lives_on_postgresql_follow_the_model(cluster: Cluster, template: str) -> None:
    made: list[str] = []

    def home() -> tuple[Path, str]:
        made.append(cluster.create(template))
        return Path(tempfile.mkdtemp()), cluster.url(made[-1])

    lives(home, 6, 30)
    for database in made:
        cluster.drop(database)
