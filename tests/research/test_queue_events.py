"""Each event of the queue with each of its fields, driven one by one; and totals that are counted, not remembered."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import update

from data.clock import ManualClock
from data.crud.engine import perform
from data.crud.ingest import IngestNodes, NodeDraft
from data.crud.tasks import TaskResult
from data.events import list_events
from data.models import Event, NodeKind, Task, TaskOrigin
from data.schema import research_task
from data.store import Store
from data.tasks import TaskRequest
from research.plan import plan_handlers
from research.queue import QueuePolicy, ResearchQueue
from research.reasoner import ExtractiveReasoner
from research.scan import scan
from tests.data.crudtools import reopened

PREFIX = "autonomous.research."
POLICY = QueuePolicy(max_tasks_per_day=8, max_attempts=2)
pytestmark = pytest.mark.fast_on_postgres


class Told:
    """The events since the last time somebody asked."""

    def __init__(self, store: Store) -> None:
        self.store, self.seen = store, 0

    async def news(self) -> list[Event]:
        found = await self.store.read(list_events, self.seen, 1000, PREFIX)
        self.seen = found[-1].id if found else self.seen
        return found

    async def one(self, name: str) -> dict[str, Any]:
        """Return the payload of the only event since the last time, which has this name."""
        [found] = await self.news()
        assert found.name == PREFIX + name
        return dict(found.payload)


async def begin(queue: ResearchQueue, worker: str = "w1") -> Task:
    task = await queue.reserve(worker)
    assert task is not None
    return await queue.start(task)


async def test_every_event_of_a_tasks_life_with_every_field(store: Store, clock: ManualClock) -> None:
    queue, told = ResearchQueue(store, POLICY), Told(store)
    added = await queue.enqueue(
        TaskRequest("Kerberos clock skew", ("Why?",), ("n_1",), "asked", None, 60), TaskOrigin.DESK
    )
    assert added.task is not None
    task_id = added.task.id
    assert await told.one("task.enqueued") == {
        "task_id": task_id, "topic": "Kerberos clock skew", "origin": "desk", "kind": "asked", "priority": 60,
        "state": "queued", "not_before": None, "waits_for": None,
    }  # fmt: skip

    await queue.enqueue(TaskRequest("Clock skew of Kerberos", ("How?",), ("n_2",)), TaskOrigin.SCANNER)
    merged = await told.one("task.merged")
    assert merged.pop("score") == 0.6875  # 0.55 of 0.80: topics are one, seeds apart, questions say nothing to compare
    assert merged == {
        "keeper": task_id, "topic": "Clock skew of Kerberos", "origin": "scanner",
        "decision": "semantic_queue_duplicate", "algorithm": "topic-seed-question-jaccard-v1",
        "topic_score": 1.0, "seeds_score": 0.0, "questions_score": 0.0, "identifiers": "none",
    }  # fmt: skip

    await begin(queue)
    assert await told.one("task.started") == {
        "task_id": task_id, "topic": "Kerberos clock skew", "worker": "w1", "attempt": 1,
    }  # fmt: skip

    later = await queue.enqueue(TaskRequest("Clock skew in Kerberos"), TaskOrigin.MANUAL)
    assert later.task is not None
    waiting = await told.one("task.enqueued")
    assert (waiting["state"], waiting["waits_for"], waiting["not_before"]) == ("deferred", task_id, None)

    held = (await store.read(_by_id, task_id)) or added.task
    put_off = await queue.fail(held, "ValueError: broken page")
    assert put_off.not_before == clock.now() + timedelta(minutes=10)
    assert await told.one("task.deferred") == {
        "task_id": task_id, "topic": "Kerberos clock skew", "error": "ValueError: broken page",
        "not_before": "2026-01-15T08:10:00+00:00", "waits_for": None, "deferrals": 1, "attempts": 1,
    }  # fmt: skip

    await queue.consolidate()
    gathered = await told.one("queue.consolidated")
    keeper, member = sorted((task_id, later.task.id), key=lambda one: one != gathered["keeper"])
    assert gathered == {
        "keeper": keeper, "topic": "Kerberos clock skew", "merged": [member],
        "decision": "semantic_queue_duplicate", "algorithm": "topic-seed-question-jaccard-v1",
    }  # fmt: skip
    assert keeper == task_id  # the older of two of one priority

    clock.advance(timedelta(minutes=11))
    again = await begin(queue)
    assert (await told.one("task.started"))["attempt"] == 2
    await queue.fail(again, "ValueError: broken again")
    assert await told.one("task.failed") == {
        "task_id": task_id, "topic": "Kerberos clock skew", "error": "ValueError: broken again", "attempts": 2,
    }  # fmt: skip

    await queue.retry(task_id, actor="anna")
    assert await told.news() == []  # a person's own doing stands in the journal
    third = await begin(queue)
    twin = await queue.enqueue(TaskRequest("Clock skew of Kerberos"), TaskOrigin.MANUAL)
    assert twin.task is not None
    await told.news()
    await queue.complete(third, TaskResult(4, None, "not_enough_evidence"))
    assert await told.one("task.completed") == {
        "task_id": task_id, "topic": "Kerberos clock skew", "evidence": 4, "article_id": None,
        "reason": "not_enough_evidence", "merged": [twin.task.id],
    }  # fmt: skip


def _by_id(conn: Any, task_id: str) -> Task | None:
    from data.tasks import get_task

    return get_task(conn, task_id)


async def test_a_task_that_waits_for_its_running_twin_is_told_as_deferred(store: Store, clock: ManualClock) -> None:
    queue, told = ResearchQueue(store, POLICY), Told(store)
    await queue.enqueue(TaskRequest("Kerberos clock skew"), TaskOrigin.MANUAL)
    running = await begin(queue)
    other = await queue.enqueue(TaskRequest("Fax gateway rejects numbers"), TaskOrigin.MANUAL)
    assert other.task is not None
    await store.write(
        lambda tx: (
            tx.conn.execute(
                update(research_task)
                .where(research_task.c.id == other.task.id)  # type: ignore[union-attr]
                .values(topic="Clock skew in Kerberos", questions=[])
            )
            and None
        )
    )
    await told.news()
    await queue.consolidate()
    assert await told.one("task.deferred") == {
        "task_id": other.task.id, "topic": "Clock skew in Kerberos", "error": None, "not_before": None,
        "waits_for": running.id, "attempts": 0,
    }  # fmt: skip


async def test_a_scan_tells_its_counts_reasons_and_budget(store: Store, clock: ManualClock) -> None:
    filler = "Reported by several people since the works of last weekend, please have a look at it soon."
    labels = ["LDAPS certificate of the domain controller expired", "Postfix queue full of deferred mail",
              "Thunderbird profile corrupted after crash", "Kerberos clock skew after snapshot restore"]  # fmt: skip
    drafts = [NodeDraft(NodeKind.TICKET, label, filler, "en", f"test:{label}") for label in labels]
    assert (await perform(store, IngestNodes(drafts), actor="test")).ok
    queue = ResearchQueue(store, QueuePolicy(max_tasks_per_day=3))
    await queue.enqueue(TaskRequest(labels[0]), TaskOrigin.MANUAL)
    told = Told(store)
    await told.news()
    done = await scan(store, queue, ExtractiveReasoner(plan_handlers()))
    news = await told.news()
    assert [event.name.removeprefix(PREFIX) for event in news if ".scan." in event.name] == [
        "scan.started", "scan.completed",
    ]  # fmt: skip
    assert news[0].payload == {"at": "2026-01-15T08:00:00+00:00"}
    assert news[-1].payload == {
        "scan_id": done.id, "candidates": 4, "planned": 2, "created": 2, "merged": 1,
        "rejected": {"daily_budget_exhausted": 1},
        "budget": {"remaining": 2, "max_per_day": 3, "completed_today": 0, "active": 1},
    }  # fmt: skip


async def test_totals_are_the_same_after_a_restart_and_the_processs_own_begin_anew(
    store: Store, clock: ManualClock
) -> None:
    queue = ResearchQueue(store, POLICY)
    for topic, evidence in (("Kerberos clock skew", 3), ("Fax gateway rejects numbers", 2)):
        await queue.enqueue(TaskRequest(topic), TaskOrigin.MANUAL)
        await queue.complete(await begin(queue), TaskResult(evidence, None, "not_enough_evidence"))
    await queue.enqueue(TaskRequest("Thunderbird profile corrupted"), TaskOrigin.MANUAL)
    hasty = ResearchQueue(store, QueuePolicy(max_attempts=1))
    await hasty.fail(await begin(hasty), "broken", evidence_count=1)
    before = await queue.totals()
    assert (before.completed_total, before.failed_total, before.evidence_total, before.articles_total) == (2, 1, 6, 0)
    assert (queue.process_totals.completed, queue.process_totals.created, queue.process_totals.evidence) == (2, 3, 5)
    assert (hasty.process_totals.failed, hasty.process_totals.created) == (1, 0)
    for _ in range(10):
        await store.close()
        store = await reopened(store)
        again = ResearchQueue(store, POLICY)
        assert await again.totals() == before
        assert set(again.own_totals().values()) == {0}
    await store.close()
