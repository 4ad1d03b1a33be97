"""What a process knows of tasks and articles is what the store holds, whoever wrote it, and is decided on alike."""

from __future__ import annotations

from datetime import timedelta
from random import Random

import pytest
from sqlalchemy import delete, insert, update

from data.clock import ManualClock
from data.crud.tasks import TaskResult
from data.known import Gap, KnownGaps
from data.models import ArticleState, TaskOrigin, TaskState
from data.schema import article, evidence, research_task
from data.store import Store
from data.tasks import QueueSnapshot, TaskRequest, list_tasks, load_snapshot
from data.tx import Tx
from research.admission import KnownIndex, decide_enqueue, request_shape
from research.queue import QueuePolicy, ResearchQueue
from tests.data.crudtools import reopened

POLICY = QueuePolicy(max_tasks_per_day=8, max_attempts=1)
WORDS = [
    "printer offline",
    "offline printer",
    "kerberos clock skew",
    "outlook profile",
    "VPN error 809",
    "VPN error 691",
]
STATES = [ArticleState.STAGED, ArticleState.APPROVED, ArticleState.REJECTED, ArticleState.RETIRED]


def contents(snapshot: QueueSnapshot) -> dict[str, Gap]:
    tasks = (*snapshot.active, *snapshot.finished, *snapshot.refused)
    articles = (*snapshot.articles, *snapshot.rejected)
    return {f"research_task:{one.id}": one for one in tasks} | {f"article:{one.id}": one for one in articles}


class Known:
    """One process's memory, followed as the queue follows it."""

    def __init__(self, store: Store) -> None:
        self.store, self.known, self.gaps = store, KnownGaps(), dict[str, Gap]()

    async def look(self) -> None:
        """Take in what changed, and compare all of it with the store read whole."""

        def both(tx: Tx) -> QueueSnapshot:
            self.known.refresh(tx.conn, tx.now - POLICY.history)
            return load_snapshot(tx.conn, tx.now, POLICY.history)

        whole = await self.store.write(both)
        for ref, gap in self.known.take_changes().items():
            if gap is None:
                self.gaps.pop(ref, None)
            else:
                self.gaps[ref] = gap
        edge = whole.now - POLICY.history
        within = {
            ref: gap
            for ref, gap in self.gaps.items()
            if getattr(gap, "finished_at", None) is None or gap.state is TaskState.CANCELLED or gap.finished_at >= edge  # type: ignore[union-attr, operator]
        }
        assert within == contents(whole)


def plant_article(tx: Tx, number: int, state: ArticleState, task_id: str | None) -> None:
    values = {
        "id": f"a_{number}", "topic": WORDS[number % len(WORDS)], "topic_key": f"k{number}", "type": "concept",
        "language": "en", "state": state.value, "title": "t", "current_revision": 1, "approved_revision": 1,
        "task_id": task_id, "active": True, "created_at": tx.now, "updated_at": tx.now, "version": 1,
    }  # fmt: skip
    tx.conn.execute(insert(article).values(values))


def plant_evidence(tx: Tx, number: int, task_id: str) -> None:
    values = {
        "id": f"v_{number}", "url": "u", "final_url": "u", "title": "b", "publisher": "a", "language": "en",
        "fetched_at": tx.now - timedelta(days=number), "sha256": "0" * 64, "path": "", "chars": 9, "accepted": True,
        "relevance": 0.8, "source_quality": "vendor", "source_quality_score": 0.8, "assessment_reason": "",
        "owner": f"task:{task_id}",
    }  # fmt: skip
    tx.conn.execute(insert(evidence).values(values))


class Life:
    """What may happen to tasks and articles, through two stores as two processes have them."""

    def __init__(self, stores: list[Store], clock: ManualClock, random: Random) -> None:
        self.queues = [ResearchQueue(store, POLICY) for store in stores]
        self.clock, self.random, self.number = clock, random, 0

    async def step(self) -> None:
        random, queue = self.random, self.random.choice(self.queues)
        self.number += 1
        tasks = await queue.store.read(list_tasks, limit=1_000)
        way = random.randrange(10)
        if way < 3:
            request = TaskRequest(
                random.choice(WORDS), seeds=(f"n_{random.randrange(3)}",), priority=random.randrange(9)
            )
            await queue.enqueue(request, random.choice(list(TaskOrigin)))
        elif way == 3:
            task = await queue.reserve("w")
            if task is not None and random.random() < 0.7:
                started = await queue.start(task)
                if random.random() < 0.5:
                    await queue.complete(started, TaskResult(1))
                else:
                    await queue.fail(started, "broken")
        elif way == 4 and tasks:
            task = random.choice(tasks)
            await (queue.cancel(task.id, actor="a") if random.random() < 0.5 else queue.retry(task.id, actor="a"))
        elif way == 5:
            await queue.consolidate()
        elif way in {6, 7, 8}:
            await self._article(queue.store, [task.id for task in tasks])
        else:
            days = random.choice([0.2, 1, 40, -35])
            self.clock.jump(self.clock.now() + timedelta(days=days))

    async def _article(self, store: Store, tasks: list[str]) -> None:
        number, random = self.number, self.random
        task_id = random.choice(tasks[-2:]) if tasks and random.random() < 0.8 else None
        kind = random.randrange(4)
        if kind == 0:
            await store.write(plant_article, number, random.choice(STATES), task_id)
        elif kind == 1 and task_id is not None:
            await store.write(plant_evidence, number, task_id)
        elif kind == 2:
            state = random.choice(STATES).value
            change = update(article).where(article.c.id < f"a_{number // 2}").values(state=state)
            await store.write(lambda tx: tx.conn.execute(change) and None)
        else:
            gone = delete(evidence).where(evidence.c.id < f"v_{number // 3}")
            await store.write(lambda tx: tx.conn.execute(gone) and None)


@pytest.mark.fast_on_postgres
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
async def test_what_is_known_is_what_the_store_holds_whoever_changed_it(
    store: Store, clock: ManualClock, seed: int
) -> None:
    async with await reopened(store) as other:
        life = Life([store, other], clock, Random(seed))
        memories = [Known(store), Known(other)]
        for number in range(80):
            await life.step()
            await memories[number % 2].look()
        assert all(len(memory.gaps) > 8 for memory in memories)


async def test_a_clock_that_was_set_back_brings_older_tasks_into_the_history_again(
    store: Store, clock: ManualClock
) -> None:
    queue = ResearchQueue(store, POLICY)
    await queue.enqueue(TaskRequest("kerberos clock skew"), TaskOrigin.MANUAL)
    task = await queue.reserve("w")
    assert task is not None
    assert (await queue.complete(await queue.start(task), TaskResult(1))).ok
    now = clock.now()
    clock.jump(now + timedelta(days=45))
    memory = Known(store)
    await memory.look()
    assert memory.gaps == {}
    clock.jump(now + timedelta(days=1))
    await memory.look()
    assert len(memory.gaps) == 1


async def test_a_write_that_was_undone_is_forgotten(store: Store, clock: ManualClock) -> None:
    """What a failed verification takes back was seen by nobody, and what was seen before it stays."""
    queue, memory = ResearchQueue(store, POLICY), Known(store)
    await queue.enqueue(TaskRequest("kerberos clock skew"), TaskOrigin.MANUAL)
    await memory.look()
    (task,) = await store.read(list_tasks)
    await store.write(lambda tx: tx.conn.execute(delete(research_task).where(research_task.c.id == task.id)) and None)
    await memory.look()
    assert memory.gaps == {}

    def fails(tx: Tx) -> None:
        tx.conn.execute(update(research_task).values(version=9))
        plant_article(tx, 1, ArticleState.STAGED, None)
        raise RuntimeError("not today")

    with pytest.raises(RuntimeError, match="not today"):
        await store.write(fails)
    await memory.look()
    assert memory.gaps == {}


async def test_renewing_a_lease_is_no_change(store: Store, clock: ManualClock) -> None:
    queue, known = ResearchQueue(store, POLICY), KnownGaps()
    await queue.enqueue(TaskRequest("kerberos clock skew"), TaskOrigin.MANUAL)
    task = await queue.reserve("w")
    assert task is not None
    started = await queue.start(task)
    await store.write(lambda tx: known.refresh(tx.conn, tx.now))
    assert len(known.take_changes()) == 1
    await queue.renew(started)
    await queue.progress(started, "searching", {"hits": 3})
    await store.write(lambda tx: known.refresh(tx.conn, tx.now))
    assert known.take_changes() == {}


async def test_what_is_decided_on_a_part_is_what_would_be_decided_on_the_whole(
    store: Store, clock: ManualClock
) -> None:
    random = Random(5)
    life = Life([store], clock, random)
    kinds = set()
    for _ in range(120):
        await life.step()
        whole = await store.read_bulk(load_snapshot, clock.now(), POLICY.history)
        index = KnownIndex.of(whole, POLICY.duplicates)
        for origin in (TaskOrigin.SCANNER, TaskOrigin.MANUAL):
            request = TaskRequest(random.choice(WORDS), seeds=(f"n_{random.randrange(3)}",), kind=random.choice("ab"))
            shape = request_shape(request)
            part = index.narrowed(shape, whole.counts, whole.now, POLICY.history)
            decided = decide_enqueue(request, origin, part, POLICY)
            assert decided == decide_enqueue(request, origin, whole, POLICY)
            kinds.add((type(decided).__name__, getattr(decided, "reason", "")))
    assert len(kinds) >= 5, kinds
