"""The queue on a real store: the budget, one gap once, and a task's life with leases."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import func, insert, select, update

from data.asked import asked_topics
from data.clock import ManualClock
from data.crud.tasks import TaskResult
from data.models import Task, TaskOrigin, TaskState
from data.schema import article, event, evidence, journal, research_task
from data.store import Store
from data.tasks import (
    ACTIVE,
    TRANSITIONS,
    EnqueueDecision,
    LeaseLost,
    TaskCounts,
    TaskRequest,
    TransitionRefused,
    check_transition,
    count_tasks,
    get_task,
    list_tasks,
)
from data.tx import Tx
from research.admission import Budget, budget_of
from research.queue import EnqueueResult, QueuePolicy, ResearchQueue, remaining_budget
from tests.data.crudtools import reopened

NAMES = """
    printer kerberos outlook firewall certificate backup mailbox scanner proxy wireless keyboard database monitor
    bluetooth projector sharepoint licence thunderbolt headset router jenkins grafana postfix apache nginx ansible
    terraform kubernetes docker podman wireguard openvpn samba cups zfs ceph redis kafka rabbit elastic squid haproxy
    varnish memcached gitlab sonar nexus vault consul nomad prometheus zabbix nagios icinga
"""
SUBJECTS = NAMES.split()


def topic(number: int) -> str:
    """Topics that share no word, so that none is another's duplicate."""
    return f"{SUBJECTS[number]} broken"


def ask(text: str, **fields: object) -> TaskRequest:
    return TaskRequest(text, **fields)  # type: ignore[arg-type]


@pytest.fixture
def queue(store: Store) -> ResearchQueue:
    return ResearchQueue(store, QueuePolicy(max_tasks_per_day=12))


async def add(queue: ResearchQueue, text: str, origin: TaskOrigin = TaskOrigin.MANUAL, **fields: object) -> Task:
    result = await queue.enqueue(ask(text, **fields), origin)
    assert result.task is not None, result
    return result.task


async def running(queue: ResearchQueue, worker: str = "w1") -> Task:
    task = await queue.reserve(worker)
    assert task is not None
    return await queue.start(task)


async def finished(queue: ResearchQueue, text: str, result: TaskResult | None = None) -> Task:
    await add(queue, text)
    task = await running(queue)
    assert (await queue.complete(task, result or TaskResult(3, None, "insufficient_evidence"))).ok
    return task


async def stored(queue: ResearchQueue, task: Task) -> Task:
    found = await queue.store.read(get_task, task.id)
    assert found is not None
    return found


async def event_names(store: Store) -> list[str]:
    return await store.read(lambda conn: list(conn.execute(select(event.c.name).order_by(event.c.id)).scalars()))


# ------------------------------------------------------------------------------------------------ budget


@pytest.mark.parametrize(
    ("counts", "remaining"),
    [
        (TaskCounts(completed_today=0, queued=0, deferred=0, reserved=0, running=0), 12),
        (TaskCounts(completed_today=5, queued=2, deferred=1, reserved=1, running=1), 2),
        (TaskCounts(completed_today=12, queued=0, deferred=0, reserved=0, running=0), 0),
        (TaskCounts(completed_today=10, queued=4, deferred=1, reserved=0, running=0), -3),
    ],
)
def test_remaining_is_the_day_less_completed_less_active(counts: TaskCounts, remaining: int) -> None:
    budget = budget_of(counts, QueuePolicy(max_tasks_per_day=12))
    assert budget == Budget(remaining, 12, counts.completed_today, 12 - counts.completed_today - remaining)


async def test_every_origin_and_every_active_state_counts(queue: ResearchQueue, clock: ManualClock) -> None:
    for number, origin in enumerate([TaskOrigin.SCANNER, TaskOrigin.API, TaskOrigin.DESK, TaskOrigin.MANUAL]):
        await add(queue, topic(number), origin)
    task = await running(queue)
    await queue.complete(task, TaskResult(2))
    await running(queue)
    reserved = await queue.reserve("w2")
    assert reserved is not None
    await queue.defer(reserved, "search is down")
    assert await queue.budget() == Budget(remaining=8, max_per_day=12, completed_today=1, active=3)
    assert await remaining_budget(queue.store, queue.policy, clock.now() + timedelta(days=1)) == Budget(9, 12, 0, 3)


async def test_a_restart_at_midnight_starts_the_new_utc_day(store: Store, clock: ManualClock) -> None:
    policy = QueuePolicy(max_tasks_per_day=2)
    clock.jump(datetime(2026, 1, 15, 23, 59, 50, tzinfo=UTC))
    for number in range(2):
        await finished(ResearchQueue(store, policy), topic(number))
    assert (await ResearchQueue(store, policy).budget()).remaining == 0
    before = await ResearchQueue(store, policy).totals()
    await store.close()
    clock.advance(20)
    async with await reopened(store) as again:
        queue = ResearchQueue(again, policy)
        assert (await queue.budget()).remaining == 2
        assert await queue.totals() == before
        assert (await queue.totals()).completed_total == 2
        assert queue.own_totals()["completed"] == 0


async def test_a_day_that_was_lived_through_too_early_does_not_count_today(
    queue: ResearchQueue, clock: ManualClock
) -> None:
    today = clock.now()
    clock.jump(today + timedelta(days=400))
    await finished(queue, topic(0))
    clock.jump(today)
    assert (await queue.budget()).completed_today == 0


@pytest.mark.fast_on_postgres
@pytest.mark.parametrize("origin", [TaskOrigin.SCANNER, TaskOrigin.API])
async def test_fifty_at_once_never_overrun_the_budget(store: Store, clock: ManualClock, origin: TaskOrigin) -> None:
    results = await fifty_at_once(store, ResearchQueue, origin)
    assert sorted(result.outcome for result in results) == ["created"] * 12 + ["refused"] * 38
    assert {result.reason for result in results} == {"", "daily_budget_exhausted"}
    assert await remaining_budget(store, QueuePolicy(max_tasks_per_day=12), clock.now()) == Budget(0, 12, 0, 12)


async def fifty_at_once(store: Store, kind: type[ResearchQueue], origin: TaskOrigin) -> list[EnqueueResult]:
    """Enqueue fifty gaps at once through five stores, each with a writer and a connection of its own."""
    async with AsyncExitStack() as stack:
        stores = [store, *[await stack.enter_async_context(await reopened(store)) for _ in range(4)]]
        queues = [kind(one, QueuePolicy(max_tasks_per_day=12)) for one in stores]
        return await asyncio.gather(*(queues[number % 5].enqueue(ask(topic(number)), origin) for number in range(50)))


class CountsTooEarly(ResearchQueue):
    """Counts before its write transaction begins, as a queue does that forgets the others."""

    counted: TaskCounts | None = None

    async def enqueue(self, request: TaskRequest, origin: TaskOrigin, *, actor: str | None = None) -> EnqueueResult:
        self.counted = self.counted or await self.store.read(count_tasks, self.store.clock.now())
        return await super().enqueue(request, origin, actor=actor)

    def _decide(self, request: TaskRequest, origin: TaskOrigin, counts: TaskCounts, now: datetime) -> EnqueueDecision:
        assert self.counted is not None
        return super()._decide(request, origin, self.counted, now)


@pytest.mark.fast_on_postgres
async def test_the_race_is_one(store: Store) -> None:
    """What counts outside of the transaction does overrun the budget in the same race."""
    results = await fifty_at_once(store, CountsTooEarly, TaskOrigin.SCANNER)
    assert [result.outcome for result in results].count("created") > 12


async def test_what_a_person_queues_beyond_the_budget_waits_for_the_next_utc_day(
    queue: ResearchQueue, clock: ManualClock
) -> None:
    for number in range(12):
        await add(queue, topic(number))
    late = await queue.enqueue(ask(topic(12)), TaskOrigin.DESK)
    assert late.outcome == "deferred"
    assert "next UTC day (2026-01-16)" in late.message
    assert late.task is not None
    assert late.task.not_before == datetime(2026, 1, 16, tzinfo=UTC)
    assert (await queue.budget()).remaining == -1
    clock.jump(datetime(2026, 1, 16, 0, 0, 1, tzinfo=UTC))
    await running(queue)
    assert (await stored(queue, late.task)).state is TaskState.QUEUED


async def test_what_an_agent_asks_for_beyond_the_budget_is_refused_and_kept_as_asked(queue: ResearchQueue) -> None:
    for number in range(12):
        await add(queue, topic(number))
    refused = await queue.enqueue(ask("zabbix broken", questions=("Why does zabbix stop?",)), TaskOrigin.API)
    assert (refused.outcome, refused.reason, refused.task) == ("refused", "daily_budget_exhausted", None)
    assert [request.topic for request in await queue.store.read(asked_topics)] == ["zabbix broken"]
    assert (await queue.budget()).active == 12


async def test_the_worker_reserves_nothing_on_a_full_day(queue: ResearchQueue, clock: ManualClock) -> None:
    small = ResearchQueue(queue.store, QueuePolicy(max_tasks_per_day=2))
    for number in range(4):
        await add(queue, topic(number))
    first = await running(small)
    assert await small.reserve("w2") is not None
    assert await small.reserve("w3") is None
    await small.complete(first, TaskResult(2))
    assert await small.reserve("w3") is None
    clock.jump(datetime(2026, 1, 16, 0, 0, 1, tzinfo=UTC))
    assert await small.reserve("w3") is not None


# ----------------------------------------------------------------------------------------- one gap once


async def test_a_duplicate_is_merged_into_the_task_that_waits(queue: ResearchQueue) -> None:
    first = await add(queue, "Drucker offline nach Update", TaskOrigin.SCANNER, seeds=("n_1",), questions=("Warum?",))
    again = await queue.enqueue(
        ask("Nach Update ist Drucker offline", seeds=("n_2",), questions=("Wie prüft man das?",), priority=90),
        TaskOrigin.DESK,
    )
    assert again.outcome == "merged"
    merged = await stored(queue, first)
    assert (merged.topic, merged.priority, merged.seeds) == ("Drucker offline nach Update", 90, ("n_1", "n_2"))
    assert merged.questions == ("Warum?", "Wie prüft man das?")
    assert merged.origins == (TaskOrigin.DESK, TaskOrigin.SCANNER)
    assert (await queue.budget()).active == 1
    assert "autonomous.research.task.merged" in await event_names(queue.store)


async def test_an_exact_repeat_writes_nothing(queue: ResearchQueue) -> None:
    await add(queue, "Drucker offline", seeds=("n_1",))
    entries = select(func.count()).select_from(journal)
    before = await queue.store.read(lambda conn: conn.execute(entries).scalar_one())
    assert (await queue.enqueue(ask("drucker  OFFLINE!", seeds=("n_1",)), TaskOrigin.MANUAL)).outcome == "merged"
    assert await queue.store.read(lambda conn: conn.execute(entries).scalar_one()) == before


async def test_a_repeat_with_another_error_code_is_another_task(queue: ResearchQueue) -> None:
    await add(queue, "VPN bricht mit Fehler 809 ab")
    assert (await queue.enqueue(ask("VPN bricht mit Fehler 691 ab"), TaskOrigin.SCANNER)).outcome == "created"


@pytest.mark.fast_on_postgres
async def test_a_twin_of_a_running_task_waits_and_goes_with_its_completion(
    queue: ResearchQueue, clock: ManualClock
) -> None:
    await add(queue, "Kerberos clock skew")
    task = await running(queue)
    twin = await queue.enqueue(ask("clock skew in Kerberos"), TaskOrigin.MANUAL)
    assert twin.outcome == "deferred"
    assert twin.task is not None
    clock.advance(timedelta(hours=2))
    await queue.renew(task)
    assert await queue.reserve("w2") is None
    await queue.complete(task, TaskResult(4, None, "insufficient_evidence"))
    settled = await stored(queue, twin.task)
    assert (settled.state, settled.merged_into) == (TaskState.CANCELLED, task.id)


async def test_a_twin_of_a_failed_task_goes_back_to_the_queue(queue: ResearchQueue) -> None:
    hasty = ResearchQueue(queue.store, QueuePolicy(max_attempts=1))
    await add(queue, "Kerberos clock skew")
    task = await running(queue)
    twin = await add(queue, "clock skew in Kerberos")
    assert (await hasty.fail(task, "no room on the disk")).state is TaskState.FAILED
    next_task = await queue.reserve("w2")
    assert next_task is not None
    assert next_task.id == twin.id


async def test_a_scanner_adds_no_twin_of_a_running_task(queue: ResearchQueue) -> None:
    await add(queue, "Kerberos clock skew")
    task = await running(queue)
    result = await queue.enqueue(ask("clock skew in Kerberos"), TaskOrigin.SCANNER)
    assert (result.outcome, result.reason, result.other) == ("refused", "semantic_queue_duplicate", task.id)


async def test_consolidation_keeps_the_highest_then_the_oldest_and_never_touches_a_running_task(
    queue: ResearchQueue, store: Store, clock: ManualClock
) -> None:
    def plant(tx: Tx, number: int, text: str, priority: int, state: TaskState = TaskState.QUEUED) -> None:
        tx.conn.execute(
            insert(research_task).values(
                id=f"t_{number}", topic=text, seeds=[f"n_{number}"], questions=[], priority=priority, state=state.value,
                origins=["scanner"], kind="orphan", dedupe_key=str(number), language="en", attempts=0, phase="",
                progress={}, evidence_count=0, created_at=tx.now + timedelta(seconds=number), updated_at=tx.now,
                lease_owner="w1" if state is TaskState.RUNNING else None, version=1,
            )
        )  # fmt: skip

    for number, text, priority in [
        (1, "printer offline after update", 10),
        (2, "after update printer offline", 70),
        (3, "printer is offline after the update", 70),
        (4, "kerberos clock skew", 50),
    ]:
        await store.write(plant, number, text, priority)
    await store.write(plant, 5, "clock skew kerberos", 5, TaskState.RUNNING)
    done = await queue.consolidate()
    assert (done.keepers, done.merged, done.waiting) == (1, 2, 1)
    states = {task.id: (task.state, task.merged_into) for task in await store.read(list_tasks)}
    assert states == {
        "t_1": (TaskState.CANCELLED, "t_2"),
        "t_2": (TaskState.QUEUED, None),
        "t_3": (TaskState.CANCELLED, "t_2"),
        "t_4": (TaskState.DEFERRED, None),
        "t_5": (TaskState.RUNNING, None),
    }
    keeper = await store.read(get_task, "t_2")
    assert keeper is not None
    assert keeper.seeds == ("n_1", "n_2", "n_3")
    assert (await queue.consolidate()) == replace(done, keepers=0, merged=0, waiting=0)
    assert (await event_names(store)).count("autonomous.research.queue.consolidated") == 1


async def test_what_was_researched_is_not_queued_again_within_the_history(
    queue: ResearchQueue, clock: ManualClock
) -> None:
    await finished(queue, "Kerberos clock skew")
    again = await queue.enqueue(ask("clock skew in Kerberos"), TaskOrigin.SCANNER)
    assert (again.outcome, again.reason) == ("refused", "already_answered")
    person = await queue.enqueue(ask("clock skew in Kerberos"), TaskOrigin.MANUAL)
    assert person.outcome == "created"  # it ended without an article: a person may have it tried again
    assert person.task is not None
    await queue.cancel(person.task.id, actor="anna")
    clock.advance(timedelta(days=31))
    later = await queue.enqueue(ask("clock skew in Kerberos"), TaskOrigin.SCANNER)
    assert (later.outcome, later.reason) == ("refused", "refused_by_operator")


async def plant_article(store: Store, state: str, text: str, fetched: datetime, task_id: str = "t_old") -> None:
    def plant(tx: Tx) -> None:
        tx.conn.execute(
            insert(article).values(
                id="a_1", topic=text, topic_key=text.lower(), type="concept", language="en", state=state, title=text,
                current_revision=1, approved_revision=1, task_id=task_id, active=state != "rejected",
                created_at=tx.now, updated_at=tx.now, version=1,
            )
        )  # fmt: skip
        tx.conn.execute(
            insert(evidence).values(
                id="v_1", url="library:a/b.html", final_url="library:a/b.html", title="b", publisher="a", language="en",
                fetched_at=fetched, sha256="0" * 64, path="", chars=900, accepted=True, relevance=0.8,
                source_quality="vendor", source_quality_score=0.8, assessment_reason="", owner=f"task:{task_id}",
            )
        )  # fmt: skip

    await store.write(plant)


@pytest.mark.parametrize("state", ["staged", "approved", "published"])
async def test_what_an_article_answers_is_not_queued_unless_its_evidence_is_stale(
    queue: ResearchQueue, clock: ManualClock, state: str
) -> None:
    await plant_article(queue.store, state, "Kerberos clock skew", clock.now())
    refused = await queue.enqueue(ask("clock skew in Kerberos"), TaskOrigin.MANUAL)
    assert (refused.outcome, refused.reason, refused.other) == ("refused", "already_answered", "a_1")
    clock.advance(timedelta(days=366))
    assert (await queue.enqueue(ask("clock skew in Kerberos"), TaskOrigin.SCANNER)).outcome == "created"


async def test_a_stale_request_is_not_held_against_the_article_it_renews(
    queue: ResearchQueue, clock: ManualClock
) -> None:
    await plant_article(queue.store, "approved", "Kerberos clock skew", clock.now())
    assert (await queue.enqueue(ask("Kerberos clock skew", kind="stale"), TaskOrigin.SCANNER)).outcome == "created"


async def test_a_rejected_article_refuses_the_scanner_but_not_the_person(
    queue: ResearchQueue, clock: ManualClock
) -> None:
    await plant_article(queue.store, "rejected", "Kerberos clock skew", clock.now())
    assert (await queue.enqueue(ask("Kerberos clock skew"), TaskOrigin.SCANNER)).reason == "refused_by_operator"
    assert (await queue.enqueue(ask("Kerberos clock skew"), TaskOrigin.MANUAL)).outcome == "created"


async def test_a_bare_topic_is_asked_what_a_service_desk_would_ask(queue: ResearchQueue) -> None:
    task = await add(queue, "VPN-Fehler 809  bei L2TP", questions=("VPN-Fehler 809 bei L2TP",))
    assert (task.topic, task.language) == ("VPN-Fehler 809 bei L2TP", "de")
    assert task.questions[0] == "Was ist die Ursache: VPN-Fehler 809 bei L2TP?"
    assert len(task.questions) == 4


async def test_a_topic_of_nothing_is_refused(queue: ResearchQueue) -> None:
    assert (await queue.enqueue(ask(" \u200b "), TaskOrigin.MANUAL)).reason == "empty_topic"


# ---------------------------------------------------------------------------------------- life of a task


def test_only_the_named_transitions_are_allowed(clock: ManualClock) -> None:
    task = Task(
        "t_1", "x", (), (), None, 50, TaskState.QUEUED, (), "asked", "", "en", 0, None, None, None, "", {}, None, 0,
        None, None, None, clock.now(), clock.now(), None, None, 1,
    )  # fmt: skip
    allowed = {
        ("queued", "deferred"), ("queued", "reserved"), ("queued", "cancelled"), ("deferred", "queued"),
        ("deferred", "cancelled"), ("reserved", "running"), ("reserved", "queued"), ("reserved", "deferred"),
        ("reserved", "failed"), ("running", "completed"), ("running", "failed"), ("running", "queued"),
        ("running", "deferred"), ("failed", "queued"), ("failed", "deferred"),
    }  # fmt: skip
    for state in TaskState:
        for to in TaskState:
            if (state.value, to.value) in allowed:
                check_transition(replace(task, state=state), to)
            else:
                with pytest.raises(TransitionRefused):
                    check_transition(replace(task, state=state), to)
    assert set(TRANSITIONS) == set(TaskState)


async def test_workers_take_the_highest_priority_then_the_oldest(queue: ResearchQueue, clock: ManualClock) -> None:
    for number, priority in enumerate([10, 50, 50]):
        await add(queue, topic(number), priority=priority)
        clock.advance(1)
    taken = [await queue.reserve(f"w{number}") for number in range(3)]
    assert [task.topic for task in taken if task] == [topic(1), topic(2), topic(0)]
    assert await queue.reserve("w4") is None


@pytest.mark.fast_on_postgres
async def test_workers_on_two_stores_never_take_one_task_twice(store: Store) -> None:
    policy = QueuePolicy(max_tasks_per_day=50)
    async with await reopened(store) as other:
        queues = [ResearchQueue(one, policy) for one in (store, other)]
        for number in range(20):
            await add(queues[0], topic(number))
        taken: list[str] = []

        async def work(queue: ResearchQueue, worker: str) -> None:
            while (task := await queue.reserve(worker)) is not None:
                taken.append(task.id)
                started = await queue.start(task)
                assert (await queue.complete(started, TaskResult(1))).ok

        await asyncio.gather(*(work(queues[number % 2], f"w{number}") for number in range(8)))
        assert len(taken) == len(set(taken)) == 20
        assert (await queues[1].totals()).completed_total == 20
        pending = select(func.count()).select_from(journal).where(journal.c.status != "verified")
        assert await store.read(lambda conn: conn.execute(pending).scalar_one()) == 0


async def test_a_task_whose_write_is_not_verified_yet_is_not_reserved(queue: ResearchQueue) -> None:
    task = await add(queue, topic(0))

    def reopen(tx: Tx, status: str) -> None:
        tx.conn.execute(update(journal).where(journal.c.target == f"research_task:{task.id}").values(status=status))

    await queue.store.write(reopen, "pending")
    assert await queue.reserve("w1") is None
    await queue.store.write(reopen, "verified")
    assert await queue.reserve("w1") is not None


@pytest.mark.fast_on_postgres
async def test_a_lease_that_runs_out_gives_the_task_back_until_it_has_failed_three_times(
    tmp_path: Path, queue: ResearchQueue, clock: ManualClock
) -> None:
    task = await add(queue, topic(0))
    for attempt in (1, 2):
        await running(queue, f"w{attempt}")
        assert await queue.release_expired() == 0
        clock.advance(timedelta(minutes=10))
        # another process judges by wall time alone
        assert await ResearchQueue(queue.store).release_expired() == 1
        again = await stored(queue, task)
        assert (again.state, again.attempts, again.lease_owner) == (TaskState.QUEUED, attempt, None)
    await running(queue, "w3")
    clock.advance(timedelta(minutes=10))
    assert await queue.release_expired() == 1
    failed = await stored(queue, task)
    assert (failed.state, failed.attempts) == (TaskState.FAILED, 3)
    assert failed.last_error == "the lease of w3 ran out while the task was running"
    assert "autonomous.research.task.failed" in await event_names(queue.store)


async def test_a_renewed_lease_holds_and_a_lost_one_is_told(queue: ResearchQueue, clock: ManualClock) -> None:
    await add(queue, topic(0))
    task = await running(queue)
    clock.advance(timedelta(minutes=9))
    await queue.progress(task, "searching", {"hits": 4})
    clock.advance(timedelta(minutes=9))
    assert await queue.release_expired() == 0
    shown = await stored(queue, task)
    assert (shown.phase, shown.progress["counts"]) == ("searching", {"hits": 4})
    clock.advance(timedelta(minutes=1))
    assert await queue.release_expired() == 1
    await running(queue, "w2")
    with pytest.raises(LeaseLost, match="held by w2, not by w1"):
        await queue.renew(task)
    with pytest.raises(LeaseLost):
        await queue.complete(task, TaskResult(1))
    assert (await queue.totals()).completed_total == 0


async def test_a_jump_of_the_wall_clock_takes_no_task_from_a_living_worker(
    queue: ResearchQueue, clock: ManualClock
) -> None:
    await add(queue, topic(0))
    await running(queue)
    other = ResearchQueue(queue.store)  # another process: it has looked before the jump
    assert await other.release_expired() == 0
    clock.jump(clock.now() + timedelta(hours=3))
    assert await queue.release_expired() == 0
    assert await other.release_expired() == 0
    clock.advance(timedelta(minutes=10))
    assert await other.release_expired() == 1


async def test_a_clock_set_back_keeps_no_dead_workers_task_for_ever(queue: ResearchQueue, clock: ManualClock) -> None:
    await add(queue, topic(0))
    await running(queue)
    clock.jump(clock.now() - timedelta(days=200))
    other = ResearchQueue(queue.store)
    assert await other.release_expired() == 0
    clock.advance(timedelta(minutes=10))
    assert await other.release_expired() == 1


async def test_outside_errors_put_off_longer_each_time_and_burn_no_attempt(
    queue: ResearchQueue, clock: ManualClock
) -> None:
    task = await add(queue, topic(0))
    waits = []
    for _ in range(8):
        deferred = await queue.defer(await running(queue), "search is blind")
        assert deferred.not_before is not None
        waits.append((deferred.not_before - clock.now()) / timedelta(minutes=1))
        assert await queue.reserve("w2") is None
        clock.jump(deferred.not_before)
    assert waits == [10, 20, 40, 80, 160, 320, 360, 360]
    last = await stored(queue, task)
    assert (last.attempts, last.last_error) == (0, "search is blind")


async def test_a_not_before_beyond_any_deferral_was_written_by_a_wrong_clock(
    queue: ResearchQueue, clock: ManualClock
) -> None:
    await add(queue, topic(0))
    clock.jump(clock.now() + timedelta(days=300))
    await queue.defer(await running(queue), "search is blind")
    clock.jump(clock.now() - timedelta(days=300))
    assert await queue.reserve("w1") is not None


async def test_own_errors_end_in_failed_with_the_last_one_and_a_person_can_retry(
    queue: ResearchQueue, clock: ManualClock
) -> None:
    task = await add(queue, topic(0))
    for attempt in (1, 2, 3):
        ended = await queue.fail(await running(queue), f"broken {attempt}")
        clock.advance(timedelta(hours=7))
    assert (ended.state, ended.attempts, ended.last_error) == (TaskState.FAILED, 3, "broken 3")
    assert await queue.reserve("w1") is None
    scanner = await queue.enqueue(ask(topic(0)), TaskOrigin.SCANNER)
    assert (scanner.outcome, scanner.reason, scanner.other) == ("refused", "failed_before", task.id)
    assert (await queue.retry(task.id, actor="anna")).outcome == "retried"
    assert (await running(queue)).attempts == 0
    assert (await queue.retry(task.id, actor="anna")).reason == "transition"
    assert (await queue.retry("t_none", actor="anna")).reason == "not_found"


async def test_a_retry_beyond_the_budget_waits_and_a_retry_of_an_active_gap_is_refused(
    queue: ResearchQueue, clock: ManualClock
) -> None:
    tight = ResearchQueue(queue.store, QueuePolicy(max_tasks_per_day=1, max_attempts=1))
    task = await add(queue, "Kerberos clock skew")
    await tight.fail(await running(queue), "broken")
    twin = await add(queue, "clock skew in Kerberos")
    refused = await tight.retry(task.id, actor="anna")
    assert (refused.reason, refused.other) == ("semantic_queue_duplicate", twin.id)
    await queue.complete(await running(queue), TaskResult(0, None, "insufficient_evidence"))
    late = await tight.retry(task.id, actor="anna")
    assert late.outcome == "deferred"
    assert late.task is not None
    assert late.task.not_before == datetime(2026, 1, 16, tzinfo=UTC)


async def test_a_worker_that_stops_gives_back_without_counting_an_attempt(queue: ResearchQueue) -> None:
    task = await add(queue, topic(0))
    given = await queue.give_back(await running(queue))
    assert (given.state, given.attempts, given.lease_owner, given.id) == (TaskState.QUEUED, 0, None, task.id)


@pytest.mark.parametrize("step", ["reserved", "running", "completed"])
async def test_what_is_worked_on_or_done_cannot_be_cancelled(queue: ResearchQueue, step: str) -> None:
    task = await add(queue, topic(0))
    reserved = await queue.reserve("w1")
    assert reserved is not None
    if step != "reserved":
        started = await queue.start(reserved)
        if step == "completed":
            await queue.complete(started, TaskResult(1))
    outcome = await queue.cancel(task.id, actor="anna")
    assert (outcome.status, outcome.reason) == ("refused", "transition")


async def test_totals_are_counted_from_the_store(queue: ResearchQueue) -> None:
    await finished(queue, topic(0), TaskResult(3, None, "insufficient_evidence"))
    await plant_article(queue.store, "staged", "unrelated thing", queue.store.clock.now())
    await finished(queue, topic(1), TaskResult(4, "a_1"))
    hasty = ResearchQueue(queue.store, QueuePolicy(max_attempts=1))
    await add(queue, topic(2))
    await hasty.fail(await running(queue), "broken", evidence_count=1)
    totals = await hasty.totals()
    assert (totals.completed_total, totals.failed_total, totals.evidence_total, totals.articles_total) == (2, 1, 8, 1)
    assert queue.own_totals()["completed"] == 2
    assert hasty.own_totals()["failed"] == 1


async def test_every_success_is_an_event_and_every_domain_write_is_verified(queue: ResearchQueue) -> None:
    await finished(queue, topic(0))
    names = [name for name in await event_names(queue.store) if name.startswith("autonomous.")]
    assert names == [f"autonomous.research.task.{step}" for step in ("enqueued", "started", "completed")]
    verified = select(func.count()).where(journal.c.verified, journal.c.action.in_(["create", "complete"]))
    assert await queue.store.read(lambda conn: conn.execute(verified).scalar_one()) == 2
    assert {state.value for state in ACTIVE} == {"queued", "deferred", "reserved", "running"}
