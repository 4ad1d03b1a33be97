"""The engine mutex within and between processes, and the lock on a home."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from data import locks
from data.clock import ManualClock
from data.errors import HomeLocked, LockLost, StoreError
from data.locks import LEASE, EngineMutex, HomeLock, lock_holder
from data.store import Store
from tests.data.crudtools import heal, reopened, rows, sabotage, sql


async def until(condition: Callable[[], bool]) -> None:
    """Let other tasks and threads go on until `condition` holds."""
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 - what is waited for sets no event
            await asyncio.sleep(0)


async def pass_time(clock: ManualClock, seconds: float, done: Callable[[], bool], *, sleepers: int = 1) -> None:
    """Advance the clock in half seconds; after each, wait until all `sleepers` have acted and sleep again."""
    for _ in range(int(2 * seconds)):
        await until(lambda: done() or len(clock._sleepers) == sleepers)
        if done():
            return
        clock.advance(0.5)
        for _ in range(3):  # those it woke leave the list of sleepers
            await asyncio.sleep(0)


async def test_one_holder_at_a_time_and_status_names_it(store: Store, clock: ManualClock) -> None:
    mutex = EngineMutex(store)
    order: list[str] = []
    go_on = asyncio.Event()

    async def work(name: str) -> None:
        async with mutex.hold(name):
            order.append(f"{name} in")
            await go_on.wait()
            order.append(f"{name} out")

    first = asyncio.create_task(work("learning"))
    await until(lambda: order == ["learning in"])
    second = asyncio.create_task(work("maintenance"))
    await asyncio.sleep(0)
    status = await mutex.status()
    assert (status.holder, status.pid, status.since) == ("learning", os.getpid(), clock.now())
    assert [waiter.name for waiter in status.waiting] == ["maintenance"]
    go_on.set()
    await asyncio.gather(first, second)
    assert order == ["learning in", "learning out", "maintenance in", "maintenance out"]
    assert (await mutex.status()).holder is None
    assert rows(store, "lock") == 0


async def test_an_error_and_a_cancellation_give_it_back(store: Store) -> None:
    mutex = EngineMutex(store)
    with pytest.raises(RuntimeError, match="inside"):
        async with mutex.hold("learning"):
            raise RuntimeError("inside")
    entered = asyncio.Event()

    async def hold_for_ever() -> None:
        async with mutex.hold("learning"):
            entered.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(hold_for_ever())
    await entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with mutex.hold("maintenance"):
        assert (await mutex.status()).holder == "maintenance"


async def test_a_store_that_cannot_be_written_holds_nobody(store: Store) -> None:
    mutex = EngineMutex(store)
    sabotage(store, "CREATE TRIGGER full_up BEFORE INSERT ON lock BEGIN SELECT RAISE(ABORT, 'no'); END")
    with pytest.raises(StoreError):
        async with mutex.hold("learning"):
            pytest.fail("it was never taken")
    assert (await mutex.status()).waiting == ()
    heal(store, "full_up", "lock")
    async with mutex.hold("learning"):
        assert (await mutex.status()).holder == "learning"


@pytest.mark.fast_on_postgres
async def test_another_process_waits_until_it_is_released(store: Store, clock: ManualClock) -> None:
    async with await reopened(store) as other:
        theirs = EngineMutex(other)
        entered = False

        async def work() -> None:
            nonlocal entered
            async with theirs.hold("rebuild"):
                entered = True

        async with EngineMutex(store).hold("learning"):
            waiting = asyncio.create_task(work())
            await pass_time(clock, 4 * LEASE.total_seconds(), lambda: entered, sleepers=2)
            assert not entered, "a lease that is renewed is not stolen, however long it is held"
            assert (await theirs.status()).holder == "learning"
        await pass_time(clock, 5, lambda: entered)
        await waiting


async def leave_behind(store: Store, until_seconds: float) -> None:
    """Plant the row of a holder that died."""
    until_ = store.clock.now() + timedelta(seconds=until_seconds)
    sql(
        store,
        "INSERT INTO lock VALUES ('engine', 'host/1/x learning', 1, ?, ?)",
        [store.clock.now().isoformat(timespec="microseconds"), until_.isoformat(timespec="microseconds")],
    )


@pytest.mark.parametrize(
    ("remaining", "at_least", "at_most"),
    [
        pytest.param(60, 59, 62, id="died just now: its lease runs out"),
        pytest.param(-3600, 29, 32, id="died long ago: two renewals' time is watched"),
        pytest.param(86400, 59, 62, id="the wall clock was set back: a whole lease is watched"),
    ],
)
async def test_a_dead_holder_is_taken_from(
    store: Store, clock: ManualClock, remaining: float, at_least: float, at_most: float
) -> None:
    await leave_behind(store, remaining)
    start = clock.monotonic()
    taken: list[float] = []

    async def work() -> None:
        async with EngineMutex(store).hold("maintenance"):
            taken.append(clock.monotonic() - start)

    task = asyncio.create_task(work())
    await pass_time(clock, 120, lambda: bool(taken))
    await task
    assert at_least <= taken[0] <= at_most


async def test_a_jump_of_the_wall_clock_takes_nothing_from_a_living_holder(store: Store, clock: ManualClock) -> None:
    async with await reopened(store) as other, EngineMutex(store).hold("learning"):
        entered: list[bool] = []

        async def work() -> None:
            async with EngineMutex(other).hold("rebuild"):
                entered.append(True)

        waiting = asyncio.create_task(work())
        await until(lambda: len(clock._sleepers) == 2)
        clock.jump(clock.now() + timedelta(days=2))
        await pass_time(clock, 90, lambda: bool(entered), sleepers=2)
        assert not entered
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting


async def test_a_lost_lease_is_told_to_its_holder(store: Store, clock: ManualClock) -> None:
    with pytest.raises(LockLost, match="was not renewed in time"):
        async with EngineMutex(store).hold("learning"):
            sql(store, "UPDATE lock SET holder = 'host/2/y rebuild'")
            await until(lambda: len(clock._sleepers) == 1)
            clock.advance(LEASE / 4)
            await until(lambda: not any(task.get_name().startswith("renew") for task in asyncio.all_tasks()))
    found = await store.read(lock_holder, "engine")
    assert found is not None
    assert found.holder == "host/2/y rebuild", "what is somebody else's is not released"


HOLDER = """
import sys
from pathlib import Path
from data.locks import HomeLock
HomeLock(Path(sys.argv[1])).acquire()
print("held", flush=True)
sys.stdin.read()
"""


def test_a_home_belongs_to_one_daemon(tmp_path: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stdout.readline() == "held\n"
        with pytest.raises(HomeLocked, match=f"in use by process {child.pid} since 20.*stop it first") as caught:
            HomeLock(tmp_path).acquire()
        assert caught.value.pid == child.pid
        child.kill()
    with HomeLock(tmp_path) as mine:
        assert mine.holder()[0] == os.getpid(), "the lock ends with the process that held it"


def test_a_home_lock_is_given_back(tmp_path: Path, clock: ManualClock) -> None:
    lock = HomeLock(tmp_path, clock=clock)
    with lock:
        assert lock.holder() == (os.getpid(), clock.now())
        with pytest.raises(HomeLocked):
            HomeLock(tmp_path).acquire()
    lock.release()
    with HomeLock(tmp_path):
        pass
    assert locks.HomeLock(tmp_path).holder() == (None, None)
