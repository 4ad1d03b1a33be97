"""One look for gaps on a real store: what becomes a task, what does not, and what is remembered of it."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import TypeVar

import pytest
from pydantic import BaseModel
from sqlalchemy import func, insert, select

from data.asked import asked_topics
from data.clock import ManualClock
from data.crud.engine import perform
from data.crud.ingest import IngestNodes, NodeDraft
from data.crud.tasks import TaskResult
from data.errors import StoreClosed
from data.models import ArticleType, NodeKind, ScanDecision, TaskOrigin, TaskState
from data.nodes import list_nodes
from data.scans import decisions_of, last_scan, list_scans
from data.schema import edge, event, research_task, scan_decision
from data.store import Store
from data.tasks import TaskRequest, list_tasks
from data.tx import Tx
from research.plan import ResearchPlan, ResearchPlanRequest, plan_handlers
from research.queue import QueuePolicy, ResearchQueue
from research.reasoner import ExtractiveReasoner, ReasonerUnavailable, Role
from research.scan import ScanPolicy, scan
from tests.conftest import Home

Q = TypeVar("Q", bound=BaseModel)
A = TypeVar("A", bound=BaseModel)

FILLER = "Reported by several people since the works of last weekend, please have a look at it soon."
TICKETS = [
    ("ORA-12154 when the report starts", f"Could not resolve the connect identifier. {FILLER}"),
    ("Excel report fails with ORA-12154", f"ORA-12154 could not resolve the connect identifier. {FILLER}"),
    ("LDAPS certificate on the domain controller expired", FILLER),
    ("Kerberos clock skew too great after snapshot restore", FILLER),
    ("Postfix queue full of deferred mail", FILLER),
    ("Thunderbird profile corrupted after crash", FILLER),
]


@pytest.fixture
async def tickets(store: Store) -> dict[str, str]:
    """The nodes of TICKETS, by label."""
    drafts = [NodeDraft(NodeKind.TICKET, label, body, "en", f"test:{label}") for label, body in TICKETS]
    assert (await perform(store, IngestNodes(drafts), actor="test")).ok
    ids = {node.label: node.id for node in await store.read(list_nodes)}

    def join(tx: Tx) -> None:
        first, second = sorted((ids[TICKETS[0][0]], ids[TICKETS[1][0]]))
        tx.conn.execute(
            insert(edge).values(
                id="e_1", source_id=first, target_id=second, kind="vector", weight=0.8, meta={}, active=True,
                created_at=tx.now, updated_at=tx.now,
            )
        )  # fmt: skip

    await store.write(join)
    return ids


@pytest.fixture
def queue(store: Store) -> ResearchQueue:
    return ResearchQueue(store, QueuePolicy(max_tasks_per_day=3))


@pytest.fixture
def planner() -> ExtractiveReasoner:
    return ExtractiveReasoner(plan_handlers())


class CountingPlanner:
    """Answers as told and counts how often it is asked."""

    identity = "counting/1"

    def __init__(self, refuse: str = "", error: bool = False) -> None:
        self.topics: list[str] = []
        self.refuse = refuse
        self.error = error

    async def ask(self, role: Role[Q, A], request: Q) -> A:
        assert isinstance(request, ResearchPlanRequest)
        self.topics.append(request.topic)
        if self.error:
            raise ReasonerUnavailable(role.name, "nobody answers")
        worthwhile = not self.refuse or self.refuse not in request.topic
        reason = "worth it" if worthwhile else "one case"
        plan = ResearchPlan(worthwhile=worthwhile, topic=request.topic, questions=("What is it?",), reason=reason)
        assert isinstance(plan, role.answer_type)
        return plan


async def decisions(store: Store) -> list[ScanDecision]:
    latest = await store.read(last_scan)
    assert latest is not None
    return await store.read(decisions_of, latest.id)


async def test_a_scan_creates_no_more_than_remains_and_says_why_for_the_rest(
    store: Store, tickets: dict[str, str], queue: ResearchQueue, planner: ExtractiveReasoner
) -> None:
    done = await scan(store, queue, planner)
    assert (done.candidates, done.planned, done.created, done.merged) == (5, 3, 3, 0)
    assert done.rejected == {"daily_budget_exhausted": 2}
    assert done.budget == {"remaining": 3, "max_per_day": 3, "completed_today": 0, "active": 0}
    stored = await decisions(store)
    assert [entry.decision for entry in stored] == ["created"] * 3 + ["rejected"] * 2
    assert [entry.score for entry in stored] == sorted((entry.score for entry in stored), reverse=True)
    assert {entry.recommended_action for entry in stored[3:]} == {"wait_for_next_utc_day_or_finish_queue"}
    best = next(task for task in await store.read(list_tasks) if task.id == stored[0].task_id)
    assert best.kind == "missing_reference"
    assert best.article_type is ArticleType.TROUBLESHOOTING
    assert best.origins == (TaskOrigin.SCANNER,)
    assert set(best.seeds) == {tickets[TICKETS[0][0]], tickets[TICKETS[1][0]]}
    assert best.questions[0].startswith("What is the cause: ")
    assert (await queue.budget()).remaining == 0


async def test_without_budget_everything_is_seen_and_nothing_is_planned(
    store: Store, tickets: dict[str, str], planner: ExtractiveReasoner
) -> None:
    nobody = CountingPlanner()
    queue = ResearchQueue(store, QueuePolicy(max_tasks_per_day=0))
    done = await scan(store, queue, nobody)
    assert (done.candidates, done.planned, done.created) == (5, 0, 0)
    assert done.rejected == {"daily_budget_exhausted": 5}
    assert nobody.topics == []
    assert {(entry.rejection_reason, entry.recommended_action) for entry in await decisions(store)} == {
        ("daily_budget_exhausted", "wait_for_next_utc_day_or_finish_queue")
    }


async def test_a_week_of_scans_with_a_full_queue_does_not_grow_it(
    store: Store, tickets: dict[str, str], queue: ResearchQueue, planner: ExtractiveReasoner, clock: ManualClock
) -> None:
    await scan(store, queue, planner)
    before = {task.id: task.state for task in await store.read(list_tasks)}
    for _ in range(12):  # some looks a day; the interval changes nothing
        clock.advance(timedelta(hours=14))
        done = await scan(store, queue, planner)
        assert (done.created, done.rejected) == (0, {"daily_budget_exhausted": 5})
    assert {task.id: task.state for task in await store.read(list_tasks)} == before


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_a_look_every_ten_minutes_for_a_week_adds_nothing_to_a_day_that_is_full(
    store: Store, backend: Home, tickets: dict[str, str], planner: ExtractiveReasoner, clock: ManualClock
) -> None:
    """Every decision says why and what to do; ten restarts in between change no total."""
    policy = QueuePolicy(max_tasks_per_day=3)
    queue = ResearchQueue(store, policy)
    await queue.enqueue(TaskRequest("Label printer jams on thick paper"), TaskOrigin.MANUAL)
    task = await queue.reserve("w1")
    assert task is not None
    assert (await queue.complete(await queue.start(task), TaskResult(4, None, "insufficient_evidence"))).ok
    await scan(store, queue, planner)  # completed today and active together use the budget up
    await queue.enqueue(TaskRequest("Fax gateway rejects international numbers"), TaskOrigin.MANUAL)
    before = {task.id: (task.state, task.version) for task in await store.read(list_tasks)}
    totals, restarts = await queue.totals(), 0
    assert (totals.completed_total, totals.evidence_total) == (1, 4)
    opened = store
    for number in range(7 * 24 * 6):
        clock.advance(timedelta(minutes=10))
        if number % 100 == 50:  # a process ends and another one starts on the same home
            await opened.close()
            restarts += 1
            opened = await Store.open(backend.folder, clock=clock, url=backend.url)
            queue = ResearchQueue(opened, policy)
            assert await queue.totals() == totals
            assert queue.process_totals.created == 0
        done = await scan(opened, queue, planner)
        assert (done.planned, done.created, done.merged) == (0, 0, 0)
        assert done.candidates == done.rejected["daily_budget_exhausted"] == 5
        told = {(entry.rejection_reason, entry.recommended_action) for entry in await decisions(opened)}
        assert told == {("daily_budget_exhausted", "wait_for_next_utc_day_or_finish_queue")}
    assert restarts == 10
    with pytest.raises(StoreClosed):
        await store.read(list_tasks)
    assert {task.id: (task.state, task.version) for task in await opened.read(list_tasks)} == before
    assert await queue.totals() == totals
    await opened.close()


async def test_what_is_queued_is_merged_and_what_is_worked_on_is_left_alone(
    store: Store, tickets: dict[str, str], planner: ExtractiveReasoner
) -> None:
    queue = ResearchQueue(store, QueuePolicy(max_tasks_per_day=20))
    await queue.enqueue(TaskRequest("LDAPS certificate of a domain controller expired"), TaskOrigin.MANUAL)
    running = await queue.reserve("w1")
    assert running is not None
    await queue.start(running)
    await queue.enqueue(TaskRequest("Kerberos clock skew too great after snapshot restore"), TaskOrigin.MANUAL)
    done = await scan(store, queue, planner)
    by_topic = {entry.topic: entry for entry in await decisions(store)}
    worked_on = by_topic["LDAPS certificate on the domain controller expired"]
    assert (worked_on.decision, worked_on.rejection_reason, worked_on.task_id) == (
        "rejected", "semantic_queue_duplicate", running.id,
    )  # fmt: skip
    merged = by_topic["Kerberos clock skew too great after snapshot restore"]
    assert (merged.decision, merged.rejection_reason) == ("merged", "semantic_queue_duplicate")
    assert (done.created, done.merged) == (3, 1)
    keeper = next(task for task in await store.read(list_tasks) if task.id == merged.task_id)
    assert keeper.origins == (TaskOrigin.MANUAL, TaskOrigin.SCANNER)
    assert keeper.seeds == (tickets["Kerberos clock skew too great after snapshot restore"],)
    again = await scan(store, queue, planner)
    assert (again.planned, again.created) == (0, 0)


async def test_what_was_answered_or_refused_is_not_planned_again(
    store: Store, tickets: dict[str, str], planner: ExtractiveReasoner
) -> None:
    queue = ResearchQueue(store, QueuePolicy(max_tasks_per_day=20))
    await queue.enqueue(TaskRequest("LDAPS certificate on the domain controller expired"), TaskOrigin.MANUAL)
    task = await queue.reserve("w1")
    assert task is not None
    await queue.complete(await queue.start(task), TaskResult(0, None, "no_hits"))
    unwanted = await queue.enqueue(TaskRequest("Thunderbird profile corrupted after crash"), TaskOrigin.MANUAL)
    assert unwanted.task is not None
    await queue.cancel(unwanted.task.id, actor="anna")
    done = await scan(store, queue, planner)
    assert done.rejected == {"already_answered": 1, "refused_by_operator": 1}
    assert done.created == 3


async def test_what_the_planner_refuses_is_remembered_so_that_the_next_best_get_their_turn(
    store: Store, tickets: dict[str, str], clock: ManualClock
) -> None:
    queue = ResearchQueue(store, QueuePolicy(max_tasks_per_day=1))
    planner = CountingPlanner(refuse="ORA-12154")
    first = await scan(store, queue, planner)
    assert (first.planned, first.created) == (1, 0)
    assert first.rejected == {"one case": 1, "daily_budget_exhausted": 4}
    refused = (await decisions(store))[0]
    assert (refused.rejection_reason, refused.recommended_action) == ("one case", "queue_by_hand_if_wanted")
    second = await scan(store, queue, planner)
    assert (second.planned, second.created) == (1, 1)
    assert second.rejected == {"one case": 1, "daily_budget_exhausted": 3}
    clock.advance(timedelta(days=8))
    roomy = ResearchQueue(store, QueuePolicy(max_tasks_per_day=10))
    await scan(store, roomy, planner)
    assert Counter(topic for topic in planner.topics if "ORA-12154" in topic).total() == 2


async def test_a_planner_that_is_down_is_asked_once_and_costs_no_scan(
    store: Store, tickets: dict[str, str], queue: ResearchQueue
) -> None:
    planner = CountingPlanner(error=True)
    done = await scan(store, queue, planner)
    assert len(planner.topics) == 1
    assert done.created == 0
    assert done.rejected == {"plan_failed": 5}


async def test_a_topic_an_agent_asked_for_in_vain_is_taken_up_and_then_forgotten(
    store: Store, clock: ManualClock, planner: ExtractiveReasoner
) -> None:
    full = ResearchQueue(store, QueuePolicy(max_tasks_per_day=0))
    request = TaskRequest("Rotating the krbtgt password", questions=("How often is krbtgt rotated?",), language="en")
    assert (await full.enqueue(request, TaskOrigin.API)).reason == "daily_budget_exhausted"
    kept = await scan(store, full, planner)
    assert kept.candidates == 1
    done = await scan(store, ResearchQueue(store, QueuePolicy(max_tasks_per_day=1)), planner)
    assert done.created == 1
    (task,) = await store.read(list_tasks)
    assert (task.kind, task.questions, task.state) == ("asked", request.questions, TaskState.QUEUED)
    assert await store.read(asked_topics) == []


async def test_scans_are_told_as_events_and_old_ones_are_forgotten(
    store: Store, tickets: dict[str, str], queue: ResearchQueue, planner: ExtractiveReasoner, clock: ManualClock
) -> None:
    first = await scan(store, queue, planner)
    clock.advance(timedelta(days=31))
    second = await scan(store, queue, planner)
    assert [entry.id for entry in await store.read(list_scans)] == [second.id]
    left = select(func.count()).where(scan_decision.c.scan_id == first.id)
    assert await store.read(lambda conn: conn.execute(left).scalar_one()) == 0
    rows = await store.read(
        lambda conn: conn.execute(select(event.c.name, event.c.payload).where(event.c.name.like("%.scan.%"))).all()
    )
    assert [name.rsplit(".", 1)[1] for name, _ in rows] == ["started", "completed"] * 2
    assert rows[1][1]["created"] == 3
    assert rows[1][1]["budget"]["remaining"] == 3


async def test_a_long_list_is_kept_short_without_losing_what_led_to_a_task(
    store: Store, tickets: dict[str, str], queue: ResearchQueue, planner: ExtractiveReasoner
) -> None:
    done = await scan(store, queue, planner, ScanPolicy(max_shown=4))
    stored = await decisions(store)
    assert (done.candidates, done.rejected, len(stored)) == (5, {"daily_budget_exhausted": 2}, 4)
    assert [entry.decision for entry in stored] == ["created"] * 3 + ["rejected"]


@pytest.mark.fast_on_postgres
async def test_two_scans_at_once_never_overrun_the_budget(
    store: Store, tickets: dict[str, str], queue: ResearchQueue, planner: ExtractiveReasoner
) -> None:
    both = await asyncio.gather(scan(store, queue, planner), scan(store, queue, planner))
    assert sum(done.created for done in both) == 3
    count = select(func.count()).select_from(research_task)
    assert await store.read(lambda conn: conn.execute(count).scalar_one()) == 3


async def test_an_empty_graph_has_no_gaps(store: Store, queue: ResearchQueue, planner: ExtractiveReasoner) -> None:
    done = await scan(store, queue, planner, ScanPolicy())
    assert (done.candidates, done.created, done.rejected) == (0, 0, {})
    assert done.started_at == datetime(2026, 1, 15, 8, 0, tzinfo=UTC)
