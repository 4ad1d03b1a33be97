"""SIGKILL in the middle of the work, again and again; each start finds a whole store and goes on."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from tests.acceptance.invariants import check, tasks
from tests.acceptance.processes import daemon, query, wait_for

ROUNDS = 3
FINISHED = {"completed", "failed", "cancelled"}
BUSY = {
    "BRAIN_THINKING_INTERVAL": "1s",
    "BRAIN_AUTONOMOUS_RESEARCH_INTERVAL": "1s",
    "BRAIN_AUTONOMOUS_RESEARCH_MAX_TASKS_PER_DAY": "100",
    "BRAIN_RESEARCH_LEASE": "4s",
    "BRAIN_RESEARCH_MAX_ATTEMPTS": "50",
    "BRAIN_LEARNING_INTERVAL": "1s",
}


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_killed_at_any_moment_nothing_is_half_lost_or_done_twice(home: Path) -> None:
    moments = random.Random(20260115)
    known: dict[str, str] = {}
    relations = 0
    for number in range(2 * ROUNDS):
        thinking = number % 2 == 0
        event, longest = ("think.relation.planned", 0.6) if thinking else ("autonomous.research.task.started", 1.6)
        switches = {
            "BRAIN_RESEARCH_WORKER": str(not thinking).lower(),
            "BRAIN_THINKING": str(thinking).lower(),
        }
        with daemon(home, **BUSY, **switches) as running:
            running.wait_event(event)
            time.sleep(moments.uniform(0.0, longest))  # the moment of the blow is the input of this test
            running.kill()
        before = tasks(home)
        assert known.keys() <= before.keys()
        assert all(before[task] == state for task, state in known.items() if state in FINISHED)
        check(home)
        [[count]] = query(home, "SELECT count(*) FROM edge WHERE kind = 'relation' AND active = 1")
        assert count >= relations
        known, relations = tasks(home), count
        assert known.keys() == before.keys()
    held = query(home, "SELECT id, lease_owner FROM research_task WHERE state IN ('reserved', 'running')")
    assert held, "no blow fell while a task was at work"
    with daemon(home, **BUSY) as running:
        first = running.wait_event("autonomous.research.task.completed")
        running.wait_event("autonomous.research.task.completed", after=first)
        running.wait_event("think.relation.accepted")
        wait_for(lambda: not still_held(home, held), "the end of the dead worker's leases")
        assert running.stop() == 0
    after = tasks(home)
    assert known.keys() <= after.keys()
    assert not set(after.values()) & {"reserved", "running"}
    check(home)


def still_held(home: Path, held: list[tuple[str, str]]) -> bool:
    """Tell whether a task is still in the hands of the worker that died with it."""
    sql = "SELECT 1 FROM research_task WHERE id = ? AND lease_owner = ?"
    return any(query(home, sql, task, owner) for task, owner in held)
