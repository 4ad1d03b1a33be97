"""Numbers for many askers: fresh where they come in time, else the last ones with their time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import pytest

from brain.counting import LONGEST_REST_S, Numbers
from data.clock import ManualClock, SystemClock, to_iso


class Counter:
    """Counts its calls; each waits until it is let go, and takes `took_s` of the clock."""

    def __init__(self, clock: ManualClock, took_s: float = 0.0) -> None:
        self.clock, self.took_s = clock, took_s
        self.calls = 0
        self.go = threading.Event()
        self.go.set()

    def __call__(self, now: datetime) -> Mapping[str, Any]:
        self.calls += 1
        assert self.go.wait(10)
        if self.took_s:
            self.clock.advance(self.took_s)
        return {"nodes": self.calls}


async def test_a_small_house_is_counted_for_every_asker(clock: ManualClock) -> None:
    counter = Counter(clock)
    numbers = Numbers(counter, clock)
    first = await numbers.latest()
    clock.advance(1)
    second = await numbers.latest()
    assert (first["nodes"], second["nodes"]) == (1, 2)
    assert second["counted_at"] == to_iso(clock.now())
    numbers.close()


async def test_who_cannot_wait_gets_the_last_numbers_with_their_time() -> None:
    counter = Counter(ManualClock(datetime.fromisoformat("2026-01-15T08:00:00+00:00")))
    numbers = Numbers(counter, SystemClock())
    first = await numbers.latest()
    counter.go.clear()
    waited = asyncio.get_running_loop().time()
    answers = await asyncio.gather(*(numbers.latest() for _ in range(50)))
    assert asyncio.get_running_loop().time() - waited < 5  # the count itself would never have ended
    assert all(answer == first for answer in answers)
    assert counter.calls == 2  # one count for all of them
    counter.go.set()
    while (await numbers.latest())["nodes"] == 1:  # noqa: ASYNC110 - nothing tells that a count has ended
        await asyncio.sleep(0.01)
    numbers.close()


async def test_the_first_asker_waits_for_the_first_count() -> None:
    counter = Counter(ManualClock(datetime.fromisoformat("2026-01-15T08:00:00+00:00")))
    numbers = Numbers(counter, SystemClock())
    counter.go.clear()
    asking = asyncio.create_task(numbers.latest())
    await asyncio.sleep(0.1)
    assert not asking.done()
    counter.go.set()
    assert (await asking)["nodes"] == 1
    numbers.close()


async def test_a_large_house_is_not_counted_again_at_once(clock: ManualClock) -> None:
    counter = Counter(clock, took_s=0.4)
    numbers = Numbers(counter, clock)
    await numbers.latest()
    for _ in range(20):
        assert (await numbers.latest())["nodes"] == 1
    clock.advance(7.9)
    assert (await numbers.latest())["nodes"] == 1
    clock.advance(0.2)
    assert (await numbers.latest())["nodes"] == 2
    counter.took_s = 100.0
    clock.advance(10)
    await numbers.latest()
    clock.advance(LONGEST_REST_S + 0.1)
    assert (await numbers.latest())["nodes"] == 4
    numbers.close()


async def test_a_count_that_fails_is_told_and_tried_again(clock: ManualClock) -> None:
    failing = True

    def count(now: datetime) -> Mapping[str, Any]:
        if failing:
            raise OSError("the disk is gone")
        return {"nodes": 7}

    numbers = Numbers(count, clock)
    for _ in range(2):
        with pytest.raises(OSError, match="the disk is gone"):
            await numbers.latest()
    failing = False
    assert (await numbers.latest())["nodes"] == 7
    failing = True
    with pytest.raises(OSError, match="the disk is gone"):
        await numbers.latest()
    numbers.close()
