"""Random lives of a queue: whatever happens in whatever order, the promises of spec 05 hold after each step."""

from __future__ import annotations

import asyncio
import tempfile
from datetime import UTC, datetime, timedelta
from itertools import combinations
from pathlib import Path
from random import Random

import pytest

from data.clock import ManualClock
from data.crud.tasks import TaskResult
from data.models import Task, TaskOrigin, TaskState
from data.store import Store
from data.tasks import ACTIVE, LeaseLost, TaskRequest, count_tasks, list_tasks
from research.admission import task_shape
from research.duplicates import duplicate_score
from research.queue import QueuePolicy, ResearchQueue

POLICY = QueuePolicy(max_tasks_per_day=4, max_attempts=2)
SUBJECTS = ["printer", "kerberos", "outlook", "firewall", "mailbox", "scanner", "proxy", "postfix", "nginx", "samba"]
FORMS = ["{} broken", "broken {}", "{} broken again", "{} error 809", "{} error 691"]
PEOPLE = {TaskOrigin.MANUAL, TaskOrigin.DESK}
SETTLED = {TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELLED}


class Life:
    """One queue, its workers, and what was seen of it so far."""

    def __init__(self, store: Store, clock: ManualClock, random: Random) -> None:
        self.store, self.clock, self.random = store, clock, random
        self.queues = [ResearchQueue(store, POLICY), ResearchQueue(store, POLICY)]
        self.held: list[tuple[ResearchQueue, Task]] = []
        self.seen: dict[str, TaskState] = {}
        self.completed: list[str] = []
        self.workers = 0

    def queue(self) -> ResearchQueue:
        return self.random.choice(self.queues)

    async def enqueue(self) -> None:
        origin = self.random.choice(list(TaskOrigin))
        topic = self.random.choice(FORMS).format(self.random.choice(SUBJECTS))
        before = (await self.queue().budget()).remaining
        result = await self.queue().enqueue(TaskRequest(topic, priority=self.random.randrange(100)), origin)
        if before <= 0 and origin not in PEOPLE:
            assert result.outcome in {"refused", "merged"}, result
        if before <= 0 and result.outcome == "deferred":
            assert origin in PEOPLE

    async def reserve(self) -> None:
        queue = self.queue()
        self.workers += 1
        task = await queue.reserve(f"w{self.workers}")
        if task is None:
            return
        counts = await self.store.read(count_tasks, self.clock.now())
        assert counts.completed_today + counts.reserved + counts.running <= POLICY.max_tasks_per_day
        for _, other in self.held:  # whoever held it before has let its lease run out
            assert task.id != other.id or task.version > other.version + 1
        self.held.append((queue, await queue.start(task)))

    async def settle(self) -> None:
        if not self.held:
            return
        queue, task = self.held.pop(self.random.randrange(len(self.held)))
        way = self.random.randrange(5)
        try:
            if way <= 1:
                assert (await queue.complete(task, TaskResult(2, None, "insufficient_evidence"))).ok
                self.completed.append(task.id)
            elif way == 2:
                await queue.fail(task, "broken")
            elif way == 3:
                await queue.defer(task, "search is blind")
            else:
                await queue.give_back(task)
        except LeaseLost:
            assert self.clock.monotonic() > 0  # only time, or another worker after it, takes a lease away

    async def crash(self) -> None:
        """A worker goes without a word; its task comes back by its lease."""
        if self.held:
            self.held.pop()

    async def time_passes(self) -> None:
        self.clock.advance(timedelta(minutes=self.random.choice([1, 11, 90, 60 * 25])))
        await self.queue().release_expired()

    async def clock_jumps(self) -> None:
        self.clock.jump(self.clock.now() + timedelta(minutes=self.random.choice([-600, -30, 30, 600])))

    async def person(self) -> None:
        tasks = await self.store.read(list_tasks)
        if tasks:
            task = self.random.choice(tasks)
            if self.random.random() < 0.5:
                await self.queue().cancel(task.id, actor="anna")
            else:
                await self.queue().retry(task.id, actor="anna")

    async def consolidate(self) -> None:
        await self.queue().consolidate()
        tasks = [task for task in await self.store.read(list_tasks) if task.state in ACTIVE]
        waiting = [task for task in tasks if task.state in {TaskState.QUEUED, TaskState.DEFERRED}]
        for one, other in combinations(waiting, 2):
            assert not duplicate_score(task_shape(one), task_shape(other)).duplicate

    async def check(self) -> None:
        tasks = {task.id: task for task in await self.store.read(list_tasks, limit=10_000)}
        assert self.seen.keys() <= tasks.keys()  # nothing is ever lost
        for task_id, state in self.seen.items():
            if state in {TaskState.COMPLETED, TaskState.CANCELLED}:
                assert tasks[task_id].state is state
        self.seen = {task.id: task.state for task in tasks.values()}
        assert len(self.completed) == len(set(self.completed))
        done = [task for task in tasks.values() if task.state is TaskState.COMPLETED]
        assert {task.id for task in done} == set(self.completed)
        day = self.clock.now().date()
        today = sum(task.finished_at is not None and task.finished_at.date() == day for task in done)
        worked_on = [task for task in tasks.values() if task.state in {TaskState.RESERVED, TaskState.RUNNING}]
        budget = await self.queue().budget()
        assert budget.completed_today == today
        assert budget.active == sum(task.state in ACTIVE for task in tasks.values())
        for task in tasks.values():
            assert (task.lease_owner is not None) == (task in worked_on)
            assert task.attempts <= POLICY.max_attempts
            if task.merged_into is not None:
                assert task.state is TaskState.CANCELLED
                assert task.merged_into in tasks
        totals = await self.queue().totals()
        assert totals.completed_total == len(done)
        assert totals.failed_total == sum(task.state is TaskState.FAILED for task in tasks.values())


async def live(seed: int, steps: int) -> None:
    random, clock = Random(seed), ManualClock(datetime(2026, 1, 15, 20, 0, tzinfo=UTC))
    with tempfile.TemporaryDirectory() as folder:
        async with await Store.open(Path(folder), clock=clock) as store:
            life = Life(store, clock, random)
            moves = [life.enqueue] * 4 + [life.reserve] * 3 + [life.settle] * 3
            moves += [life.crash, life.time_passes, life.time_passes, life.clock_jumps, life.person, life.consolidate]
            for _ in range(steps):
                await random.choice(moves)()
                await life.check()


@pytest.mark.parametrize("seed", range(1))
async def test_a_short_life(seed: int) -> None:
    await live(seed, steps=40)


@pytest.mark.slow
def test_many_long_lives() -> None:
    for seed in range(100, 104):
        asyncio.run(live(seed, steps=150))
