"""The worker: every way out of a task settles it, and a lost lease ends the work."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import update

from brain.cli.telemetry import told
from brain.config import Settings
from brain.status import status_document
from brain.worker import Completed, Postponed, Worker, WorkReport
from data.clock import ManualClock
from data.models import Task, TaskOrigin, TaskState
from data.schema import research_task
from data.store import Store
from data.tasks import TaskRequest, get_task
from research.queue import QueuePolicy, ResearchQueue

LEASE = timedelta(minutes=10)
Report = Callable[[str, Mapping[str, int]], Awaitable[None]]


@pytest.fixture
def queue(store: Store) -> ResearchQueue:
    return ResearchQueue(store, QueuePolicy(lease=LEASE, max_attempts=2))


async def add(queue: ResearchQueue, topic: str) -> str:
    request = TaskRequest(topic=topic, seeds=(), questions=(f"What solves {topic}?",), priority=50)
    result = await queue.enqueue(request, TaskOrigin.MANUAL)
    assert result.task is not None, result
    return result.task.id


async def state_of(store: Store, task_id: str) -> Task:
    task = await store.read(get_task, task_id)
    assert task is not None
    return task


def worker(queue: ResearchQueue, work: Callable[[Task, Report], Awaitable[Completed | Postponed]]) -> Worker:
    return Worker(queue, work, clock=queue.store.clock, name="worker-1", lease_s=LEASE.total_seconds())


async def test_completed_postponed_and_broken_tasks_each_end_as_they_should(store: Store, queue: ResearchQueue) -> None:
    done = await add(queue, "printer spooler error 0x0000011b")
    later = await add(queue, "ORA-12154 after client update")
    broken = await add(queue, "Kerberos clock skew on domain members")

    async def work(task: Task, report: Report) -> Completed | Postponed:
        await report("gather", {"fetched": 3})
        if task.id == done:
            return Completed(evidence_count=3, article_id=None, reason="not_enough_publishers")
        if task.id == later:
            return Postponed("search_failed: every backend was blind")
        raise ValueError("broken page")

    report = await worker(queue, work).run()
    assert (report.completed, report.deferred, report.failed, report.evidence, report.articles) == (1, 1, 1, 3, 0)
    assert report.reasons == {"not_enough_publishers": 1}
    finished = await state_of(store, done)
    assert (finished.state, finished.evidence_count, finished.result_reason) == (
        TaskState.COMPLETED,
        3,
        "not_enough_publishers",
    )
    postponed = await state_of(store, later)
    assert (postponed.state, postponed.attempts) == (TaskState.DEFERRED, 0)
    failed = await state_of(store, broken)
    assert (failed.state, failed.attempts) == (TaskState.DEFERRED, 1)
    assert failed.last_error == "ValueError: broken page"


async def test_the_limit_leaves_the_rest_queued(store: Store, queue: ResearchQueue) -> None:
    topics = ["printer error 0x0000011b", "ORA-12154 after update", "BitLocker recovery loop"]
    ids = [await add(queue, topic) for topic in topics]

    async def work(task: Task, report: Report) -> Completed | Postponed:
        return Completed(0, None, "no_accepted_evidence")

    assert (await worker(queue, work).run(limit=2)).worked == 2
    states = [(await state_of(store, task_id)).state for task_id in ids]
    assert sorted(states) == [TaskState.COMPLETED, TaskState.COMPLETED, TaskState.QUEUED]


async def test_a_stopped_worker_gives_its_task_back(store: Store, queue: ResearchQueue) -> None:
    task_id = await add(queue, "nginx 502 bad gateway")

    begun = asyncio.Event()

    async def work(task: Task, report: Report) -> Completed | Postponed:
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError

    job = asyncio.create_task(worker(queue, work).run())
    await begun.wait()
    assert (await state_of(store, task_id)).state is TaskState.RUNNING
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job
    given = await state_of(store, task_id)
    assert (given.state, given.attempts, given.lease_owner) == (TaskState.QUEUED, 0, None)


async def test_the_lease_is_renewed_while_the_work_goes_on(
    store: Store, queue: ResearchQueue, clock: ManualClock
) -> None:
    task_id = await add(queue, "nginx 502 bad gateway")
    go = asyncio.Event()

    async def work(task: Task, report: Report) -> Completed | Postponed:
        await go.wait()
        return Completed(1, None, "not_enough_evidence")

    job = asyncio.create_task(worker(queue, work).run())
    other = ResearchQueue(store, queue.policy)
    ends = set()
    for _ in range(40):  # 40 steps of 1 minute: four leases long
        await asyncio.sleep(0.005)
        clock.advance(timedelta(minutes=1))
        await asyncio.sleep(0.005)
        assert await other.release_expired() == 0
        ends.add((await state_of(store, task_id)).lease_until)
    assert len(ends) > 5
    go.set()
    report: WorkReport = await job
    assert report.completed == 1


async def test_work_whose_lease_was_lost_is_dropped_and_settled_by_nobody(
    store: Store, queue: ResearchQueue, clock: ManualClock
) -> None:
    task_id = await add(queue, "nginx 502 bad gateway")

    async def work(task: Task, report: Report) -> Completed | Postponed:
        await asyncio.sleep(0)  # the renewal beside the work waits by now
        clock.jump(clock.now() + LEASE * 2)  # another process, whose wall clock is ahead, takes the task back
        assert await ResearchQueue(store, queue.policy).release_expired() == 1
        clock.advance(LEASE / 2)
        await asyncio.Event().wait()
        raise AssertionError

    job = asyncio.create_task(worker(queue, work).run(limit=1))
    async with asyncio.timeout(5):
        report = await job
    assert (report.completed, report.failed) == (0, 1)
    task = await state_of(store, task_id)
    assert (task.state, task.attempts) == (TaskState.QUEUED, 1)


async def test_a_worker_that_is_asked_to_stop_ends_its_task_and_takes_no_other(
    store: Store, queue: ResearchQueue
) -> None:
    ids = [await add(queue, topic) for topic in ("printer error 0x0000011b", "ORA-12154 after update")]
    asked = asyncio.Event()

    async def work(task: Task, report: Report) -> Completed | Postponed:
        asked.set()
        return Completed(1, None, "not_enough_evidence")

    running = Worker(queue, work, clock=store.clock, name="worker-1", lease_s=600, stopping=asked.is_set)
    assert (await running.run()).completed == 1
    assert sorted([(await state_of(store, one)).state for one in ids]) == [TaskState.COMPLETED, TaskState.QUEUED]


async def test_a_stopped_worker_does_not_wait_for_a_thread_that_hangs(store: Store, queue: ResearchQueue) -> None:
    """A name that is being resolved cannot be interrupted: the task is given back all the same."""
    task_id = await add(queue, "nginx 502 bad gateway")
    begun, answer = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def hangs() -> None:
        loop.call_soon_threadsafe(begun.set)
        answer.wait(30)

    async def work(task: Task, report: Report) -> Completed | Postponed:
        await asyncio.to_thread(hangs)
        raise AssertionError

    job = asyncio.create_task(worker(queue, work).run())
    try:
        await begun.wait()
        job.cancel()
        async with asyncio.timeout(5):
            with pytest.raises(asyncio.CancelledError):
                await job
        given = await state_of(store, task_id)
        assert (given.state, given.attempts, given.lease_owner) == (TaskState.QUEUED, 0, None)
    finally:
        answer.set()


async def test_a_task_that_was_only_reserved_when_the_worker_stopped_is_given_back(
    store: Store, queue: ResearchQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    task_id = await add(queue, "nginx 502 bad gateway")
    reserved = asyncio.Event()

    async def never_starts(task: Task) -> Task:
        reserved.set()
        await asyncio.Event().wait()
        raise AssertionError

    async def work(task: Task, report: Report) -> Completed | Postponed:
        raise AssertionError

    monkeypatch.setattr(queue, "start", never_starts)
    job = asyncio.create_task(worker(queue, work).run())
    await reserved.wait()
    assert (await state_of(store, task_id)).state is TaskState.RESERVED
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job
    given = await state_of(store, task_id)
    assert (given.state, given.attempts, given.lease_owner) == (TaskState.QUEUED, 0, None)


async def test_several_workers_of_one_process_take_each_task_once(store: Store) -> None:
    queue = ResearchQueue(store, QueuePolicy(max_tasks_per_day=50))
    names = ["printer", "kerberos", "outlook", "firewall", "certificate", "backup", "mailbox", "scanner", "proxy"]
    ids = [await add(queue, f"{name} broken") for name in names]
    taken: list[str] = []
    together, most = 0, 0

    async def work(task: Task, report: Report) -> Completed | Postponed:
        nonlocal together, most
        taken.append(task.id)
        together += 1
        most = max(most, together)
        await report("gathering", {"fetches": 1})
        await asyncio.sleep(0.01)
        together -= 1
        return Completed(1, None, "not_enough_evidence")

    workers = [Worker(queue, work, clock=store.clock, name=f"worker-{n}", lease_s=600) for n in range(3)]
    reports = await asyncio.gather(*(one.run() for one in workers))
    assert sorted(taken) == sorted(ids)
    assert sum(report.completed for report in reports) == len(ids)
    assert all(report.completed for report in reports)
    assert most == 3


async def test_a_worker_that_starts_merges_waiting_duplicates_first(store: Store, queue: ResearchQueue) -> None:
    """Of an earlier version, or of a looser score: nobody has compared them yet."""
    first = await add(queue, "Kerberos clock skew on domain members")
    second = await add(queue, "nginx 502 bad gateway")
    await store.write(
        lambda tx: (
            tx.conn.execute(
                update(research_task)
                .where(research_task.c.id == second)
                .values(topic="clock skew of domain members in Kerberos", questions=[])
            )
            and None
        )
    )
    seen: list[str] = []

    async def work(task: Task, report: Report) -> Completed | Postponed:
        seen.append(task.id)
        return Completed(1, None, "not_enough_evidence")

    running = worker(queue, work)
    assert (await running.run()).completed == 1
    assert seen == [first]
    assert (await state_of(store, second)).merged_into == first


async def test_the_status_document_shows_how_far_the_running_task_is(
    store: Store, queue: ResearchQueue, clock: ManualClock
) -> None:
    settings = Settings(home=store.home)
    task_id = await add(queue, "nginx 502 bad gateway")
    seen: list[dict[str, Any]] = []

    async def work(task: Task, report: Report) -> Completed | Postponed:
        await report("gathering", {"question": 2, "questions": 4, "fetches": 5, "accepted": 1})
        clock.advance(timedelta(minutes=2, seconds=5))
        seen.extend(status_document(settings, now=clock.now())["autonomous_research"]["working"])
        return Completed(1, None, "not_enough_evidence")

    assert (await worker(queue, work).run()).completed == 1
    [shown] = seen
    assert (shown["id"], shown["topic"], shown["state"]) == (task_id, "nginx 502 bad gateway", "running")
    assert (shown["phase"], shown["counts"]) == (
        "gathering",
        {"question": 2, "questions": 4, "fetches": 5, "accepted": 1},
    )
    assert (shown["worker"], shown["attempt"], shown["age_s"]) == ("worker-1", 1, 125.0)
    clock.jump(clock.now() - timedelta(days=1))
    assert status_document(settings, now=clock.now())["autonomous_research"]["working"] == []
    assert told(shown["phase"], shown["counts"], shown["age_s"]) == (
        "gathering (question 2 of 4, 1 accepted, 5 fetches) for 2 min 5 s"
    )
