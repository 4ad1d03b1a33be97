from __future__ import annotations

import asyncio
import threading

import pytest

from data.progress import silent
from vector.background import Stopped, in_background
from vector.selection import Tick


async def test_what_it_raises_is_raised() -> None:
    def fail(tick: Tick) -> None:
        raise KeyError("inside")

    with pytest.raises(KeyError, match="inside"):
        await in_background(fail, silent, "work", 1)


async def test_cancelling_the_caller_ends_the_computation_at_its_next_tick() -> None:
    begun, ended = threading.Event(), threading.Event()

    def endless(tick: Tick) -> None:
        try:
            while True:
                begun.set()
                tick(1)
        except Stopped:
            ended.set()
            raise

    job = asyncio.create_task(in_background(endless, silent, "work", 10**9))
    await asyncio.to_thread(begun.wait, 5)
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job
    assert await asyncio.to_thread(ended.wait, 5)


async def test_progress_is_told_on_the_loops_thread_and_not_too_often() -> None:
    seen: list[tuple[str, int, int | None]] = []
    here = threading.current_thread()

    def progress(phase: str, done: int, total: int | None) -> None:
        assert threading.current_thread() is here
        seen.append((phase, done, total))

    def work(tick: Tick) -> str:
        for _ in range(5000):
            tick(1)
        return "done"

    assert await in_background(work, progress, "work", 4000) == "done"
    await asyncio.sleep(0)
    assert seen[0] == ("work", 0, 4000)
    assert seen[-1] == ("work", 4000, 4000)
    assert len(seen) < 110
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)
