"""Loops: each on its own, failing alone, coming back, stopping within the grace."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from brain.loops import Loop, Supervisor
from data.clock import ManualClock
from data.models import Event


class Notebook:
    def __init__(self, *, broken: bool = False) -> None:
        self.events: list[Event] = []
        self.notes: dict[str, Any] = {}
        self.written = 0
        self.broken = broken

    async def log(self, *events: Event) -> None:
        if self.broken:
            raise OSError("disk full")
        self.events.extend(events)

    async def remember(self, name: str, value: Any) -> None:
        if self.broken:
            raise OSError("disk full")
        self.notes[name] = value
        self.written += 1


async def settle() -> None:
    for _ in range(30):
        await asyncio.sleep(0)


def counting(calls: list[float], clock: ManualClock, failures: int = 0) -> Callable[[], Awaitable[None]]:
    async def run() -> None:
        calls.append(clock.monotonic())
        if len(calls) <= failures:
            raise RuntimeError(f"broken {len(calls)}")

    return run


def clock_at_noon() -> ManualClock:
    return ManualClock(datetime(2026, 1, 15, 12, tzinfo=UTC))


async def test_a_failing_loop_backs_off_recovers_and_leaves_the_other_alone() -> None:
    clock, notes = clock_at_noon(), Notebook()
    bad: list[float] = []
    good: list[float] = []
    loops = [
        Loop("bad", timedelta(seconds=60), counting(bad, clock, failures=3)),
        Loop("good", timedelta(seconds=10), counting(good, clock)),
    ]
    supervisor = Supervisor(loops, journal=notes, clock=clock)
    running = asyncio.create_task(supervisor.run(grace=timedelta(seconds=1)))
    await settle()
    assert supervisor.document()["bad"]["last_error"] == "RuntimeError: broken 1"
    for _ in range(100):
        clock.advance(1)
        await settle()
    supervisor.stop()
    await running
    assert bad == [0, 5, 15, 35, 95]  # 5, 10, 20 s of backoff, then its own interval again
    assert good == [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100]
    assert [event.name for event in notes.events] == ["loop.failed"] * 3 + ["loop.recovered"]
    assert notes.events[-1].payload == {"loop": "bad", "after_failures": 3}
    assert supervisor.document()["bad"]["failures"] == 0
    assert {status["state"] for status in supervisor.document().values()} == {"stopped"}
    assert notes.notes["loop.good"]["state"] == "stopped"


async def test_a_loop_that_is_off_does_not_run_and_says_so() -> None:
    clock, notes, calls = clock_at_noon(), Notebook(), list[float]()
    supervisor = Supervisor(
        [Loop("off", timedelta(seconds=1), counting(calls, clock), enabled=False)], journal=notes, clock=clock
    )
    running = asyncio.create_task(supervisor.run(grace=timedelta(0)))
    await settle()
    clock.advance(10)
    await settle()
    supervisor.stop()
    await running
    assert calls == []
    assert notes.notes["loop.off"]["state"] == "off"


async def test_a_wall_clock_jump_changes_no_interval() -> None:
    clock, calls = clock_at_noon(), list[float]()
    supervisor = Supervisor([Loop("a", timedelta(seconds=10), counting(calls, clock))], journal=Notebook(), clock=clock)
    running = asyncio.create_task(supervisor.run(grace=timedelta(0)))
    await settle()
    clock.jump(datetime(2031, 1, 1, tzinfo=UTC))
    clock.advance(9)
    await settle()
    assert calls == [0]
    clock.jump(datetime(2001, 1, 1, tzinfo=UTC))
    clock.advance(1)
    await settle()
    assert calls == [0, 10]
    supervisor.stop()
    await running


async def test_a_store_that_cannot_be_written_does_not_stop_the_loops() -> None:
    clock, calls = clock_at_noon(), list[float]()
    supervisor = Supervisor(
        [Loop("a", timedelta(seconds=10), counting(calls, clock, failures=1))],
        journal=Notebook(broken=True),
        clock=clock,
    )
    running = asyncio.create_task(supervisor.run(grace=timedelta(0)))
    await settle()
    clock.advance(5)
    await settle()
    supervisor.stop()
    await running
    assert calls == [0, 5]


async def test_wake_runs_a_waiting_loop_at_once() -> None:
    clock, calls = clock_at_noon(), list[float]()
    supervisor = Supervisor([Loop("a", timedelta(hours=1), counting(calls, clock))], journal=Notebook(), clock=clock)
    running = asyncio.create_task(supervisor.run(grace=timedelta(0)))
    await settle()
    supervisor.wake("a")
    await settle()
    supervisor.stop()
    await running
    assert calls == [0, 0]


async def test_stop_cancels_a_pass_that_outlasts_the_grace() -> None:
    clock, ended = clock_at_noon(), list[str]()

    async def stubborn() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("given back")

    supervisor = Supervisor([Loop("a", timedelta(hours=1), stubborn)], journal=Notebook(), clock=clock)
    running = asyncio.create_task(supervisor.run(grace=timedelta(milliseconds=10)))
    await settle()
    assert supervisor.document()["a"]["state"] == "running"
    supervisor.stop()
    await running
    assert ended == ["given back"]


async def test_a_quiet_loop_is_noted_once_a_minute() -> None:
    clock, notes, calls = clock_at_noon(), Notebook(), list[float]()
    supervisor = Supervisor([Loop("a", timedelta(seconds=5), counting(calls, clock))], journal=notes, clock=clock)
    running = asyncio.create_task(supervisor.run(grace=timedelta(0)))
    for _ in range(120):
        await settle()
        clock.advance(1)
    await settle()
    assert len(calls) == 25
    assert notes.written == 3
    supervisor.stop()
    await running
    assert notes.written == 4
