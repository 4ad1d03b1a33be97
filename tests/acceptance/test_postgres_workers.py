"""Two real worker processes on one PostgreSQL, killed at random: every task is finished exactly once (spec 05)."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from data.clock import to_iso
from data.store import Store
from tests.postgres import Cluster

TASKS = 1000
WORKERS = 2
KILLS = 16
LEASE_S = 1.5
SEED = 20260115
DEADLINE_S = 420

# The queue's own code from reservation to completion, around a handler that does nothing but take a moment. `ledger`
# is a table of the test's own: a trigger in the database writes a row in it in the very transaction that completes a
# task, so it counts what was committed, whatever the worker lived to see of it.
WORKER = """
import asyncio, random, sys
from datetime import timedelta
from pathlib import Path
from brain.worker import Completed, Worker
from data.clock import SystemClock
from data.store import Store
from research.queue import QueuePolicy, ResearchQueue

async def main(home, url, name, lease, seed):
    dice = random.Random(seed)
    policy = QueuePolicy(max_tasks_per_day=10**6, lease=timedelta(seconds=lease), max_attempts=10**6)
    async with await Store.open(Path(home), url=url) as store:
        queue = ResearchQueue(store, policy)

        async def work(task, report):
            await report("gathering", {"fetched": 1})
            await asyncio.sleep(dice.random() / 500)
            return Completed(1, None, "nothing to write")

        worker = Worker(queue, work, clock=SystemClock(), name=name, lease_s=lease)
        print("ready", flush=True)
        while True:
            await worker.run()
            await asyncio.sleep(0.1)

asyncio.run(main(*sys.argv[1:4], float(sys.argv[4]), int(sys.argv[5])))
"""
HELD = "SELECT count(*) FROM research_task WHERE state IN ('reserved', 'running')"
LEDGER = """
CREATE TABLE ledger (task text NOT NULL, at timestamptz NOT NULL DEFAULT clock_timestamp());
CREATE FUNCTION note_completion() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN INSERT INTO ledger (task) VALUES (NEW.id); RETURN NULL; END $$;
CREATE TRIGGER note_completion AFTER UPDATE OF state ON research_task FOR EACH ROW
WHEN (NEW.state = 'completed' AND OLD.state <> 'completed') EXECUTE FUNCTION note_completion()
"""


def fill(cluster: Cluster, database: str) -> None:
    """Put the tasks in as rows: how they come in is not what is looked at here."""
    now = to_iso(datetime.now(UTC))
    cluster.run(
        "INSERT INTO research_task (id, topic, seeds, questions, priority, state, origins, kind, dedupe_key, language, "
        "attempts, phase, progress, evidence_count, created_at, updated_at, version) "
        "SELECT 't_' || lpad(n::text, 26, '0'), 'topic ' || n, '[]', '[]', n % 100, 'queued', '[\"scanner\"]', "
        f"'orphan', n::text, 'en', 0, '', '{{}}', 0, '{now}', '{now}', 1 FROM generate_series(1, {TASKS}) AS n",
        database,
    )


@pytest.mark.slow
@pytest.mark.timeout(480)
def test_a_thousand_tasks_are_each_finished_once_while_workers_are_killed(
    cluster: Cluster, template: str, tmp_path: Path
) -> None:
    database = cluster.create(template)
    url = cluster.url(database)
    cluster.run(LEDGER, database)
    fill(cluster, database)
    dice = random.Random(SEED)
    started = 0

    def start() -> subprocess.Popen[str]:
        nonlocal started
        started += 1
        arguments = [str(tmp_path / "home"), url, f"worker {started}", str(LEASE_S), str(SEED + started)]
        command = [sys.executable, "-c", WORKER, *arguments]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    workers = [start() for _ in range(WORKERS)]
    kills = 0
    mid_task = 0
    end = time.monotonic() + DEADLINE_S
    try:
        while True:
            assert time.monotonic() < end, states(cluster, database)
            done = int(str(cluster.run("SELECT count(*) FROM ledger", database)[0][0]))
            left = cluster.run("SELECT count(*) FROM research_task WHERE state <> 'completed'", database)
            for worker in workers:
                if worker.poll() is not None:
                    pytest.fail(f"a worker ended by itself: {worker.communicate()[0][-3000:]}")
            if left == [(0,)]:
                break
            # Kills are spread over the work, so that there is always something under way when one falls.
            if kills < KILLS and done >= (kills + 1) * TASKS / (KILLS + 2):
                place = dice.randrange(WORKERS)
                time.sleep(dice.random() / 50)
                workers[place].kill()
                workers[place].communicate()
                kills += 1
                held = cluster.run(
                    "SELECT count(*) FROM research_task WHERE state IN ('reserved', 'running')", database
                )
                mid_task += held != [(0,)]
                workers[place] = start()
            time.sleep(0.02)
    finally:
        for worker in workers:
            worker.kill()
            worker.communicate()
    assert kills == KILLS
    assert mid_task > KILLS / 4, "the kills fell where it matters"
    check(cluster, database, tmp_path / "home")
    cluster.drop(database)


def states(cluster: Cluster, database: str) -> list[tuple[object, ...]]:
    return cluster.run("SELECT state, count(*), max(attempts) FROM research_task GROUP BY state", database)


def check(cluster: Cluster, database: str, home: Path) -> None:
    # A start finishes what the last kill left between a write and its verification.

    async def settle() -> None:
        async with await Store.open(home, url=cluster.url(database)):
            pass

    asyncio.run(settle())
    assert states(cluster, database)[0][:2] == ("completed", TASKS)
    ledger = Counter(str(row[0]) for row in cluster.run("SELECT task FROM ledger", database))
    assert len(ledger) == TASKS
    assert set(ledger.values()) == {1}, "completed once in the ledger"
    journal = cluster.run("SELECT target, count(*) FROM journal WHERE action = 'complete' GROUP BY target", database)
    assert len(journal) == TASKS
    assert {row[1] for row in journal} == {1}, "completed once in the journal"
    assert cluster.run("SELECT DISTINCT status FROM journal", database) == [("verified",)]
    told = cluster.run("SELECT payload FROM event WHERE name = 'autonomous.research.task.completed'", database)
    assert len(told) == len(set(told)) == TASKS, "told once as an event"
    released = cluster.run("SELECT count(*) FROM research_task WHERE attempts > 0", database)
    assert released != [(0,)], "some tasks were taken back from the dead"
