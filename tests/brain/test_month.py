"""A month of maintenance, played event by event on a clock of its own.

A daemon's supervised loops (learning, maintaining) and rebuilds of a second process share one home. Embedder and writes
fail, processes die in the middle and leave their lease behind, knowledge comes and goes, learning is switched off, the
mode changes. Nothing waits in earnest: time moves to the next moment somebody waits for, once everybody waits.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import shutil
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import structlog

from brain.config import Settings
from brain.loops import Loop, Supervisor
from brain.policies import layout_policy
from brain.status import status_document
from data.clock import ManualClock, from_iso, to_iso
from data.crud.engine import perform
from data.crud.nodes import DeactivateNode
from data.events import list_events
from data.locks import EngineMutex
from data.nodes import list_nodes
from data.state import set_state
from data.store import DATABASE_NAME, Store
from tests.vector.house import drafts, ingest
from vector.embed import HashingEmbedder, ModelUnavailable
from vector.layout import LayoutPolicy
from vector.maintenance import Maintenance, VectorPolicy

LOOK, REEVALUATE, RELAX, LEARN = (timedelta(hours=hours) for hours in (4, 8, 24, 20))
MONTH = timedelta(days=30)
GRACE = timedelta(minutes=25)
"""What may lie between a due time and its run beside the look: the longest backoff, holds, a dead one's lease."""
EDGES = "SELECT count(*), sum(weight), max(updated_at), group_concat(id) FROM edge WHERE kind = 'vector'"
PLACES = "SELECT count(*), sum(x), sum(y), sum(x * y), max(updated_at) FROM position"
LASTS = {None: (3, 12), "embedder": (4, 5), "edge": (5, 8), "position": (10, 16)}
"""Hours until the next mishap, by what is broken: a map is due more seldom than edges."""
LEAST = {
    "held by maintenance": 80, "held by learning": 10, "held by rebuild edges": 12, "waited": 3, "killed": 2,
    "killed while holding": 2, "stopped": 8, "applied full": 3, "applied relax": 4, "failed: reevaluate": 2,
    "failed: embed": 2, "failed: layout": 1,
}  # fmt: skip
"""How often each thing must have happened for the month to have tried it."""
STAMPS = "SELECT name, value FROM state WHERE name LIKE 'last_vector_%'"
TOLD = ("last_vector_reevaluation", "last_vector_layout")


class Life(ManualClock):
    """The clock, and who is at work on it: time moves on only when all sleep or wait for somebody who does."""

    def __init__(self) -> None:
        super().__init__(datetime(2026, 1, 1, tzinfo=UTC))
        self.working: set[asyncio.Task[Any]] = set()
        self.news = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        task = asyncio.current_task()
        assert task is not None
        was_working = task in self.working
        self.working.discard(task)
        self.news.set()
        try:
            await super().sleep(seconds)
        finally:
            if was_working:
                self.working.add(task)

    @asynccontextmanager
    async def work(self) -> AsyncIterator[None]:
        task = asyncio.current_task()
        assert task is not None
        inside = task in self.working
        self.working.add(task)
        try:
            yield
        finally:
            if not inside:
                self.working.discard(task)
                self.news.set()

    def next_moment(self) -> float:
        return (
            min((due for due, future in self._sleepers if not future.done()), default=MONTH.total_seconds())
            - self.monotonic()
        )


class Month:
    """What all processes have in common, and the book that is kept on them."""

    def __init__(self, home: Path, luck: int) -> None:
        self.home, self.clock, self.luck = home, Life(), random.Random(luck)
        self.embedder = Fragile(self)
        self._eyes = sqlite3.connect(home / DATABASE_NAME, isolation_level=None)
        self.holders: set[str] = set()
        self.seen: Counter[str] = Counter()
        self.processes: list[Process] = []
        self.wrote: Counter[str] = Counter()
        self.broken: str | None = None
        self.faults = itertools.cycle(["edge", "embedder", "position"])

    def close(self) -> None:
        self._eyes.close()

    def look(self, sql: str) -> list[tuple[Any, ...]]:
        """Ask the database from outside of every process."""
        return self._eyes.execute(sql).fetchall()

    async def settle(self) -> None:
        """Wait until everybody waits for the clock, or for somebody of the same process who does."""
        while True:
            for _ in range(12):
                await asyncio.sleep(0)
            waiting = sum(len(process.mutex._inner._waiters or ()) for process in self.processes)
            if len(self.clock.working) > waiting:
                self.clock.news.clear()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self.clock.news.wait(), 1.0)
                continue
            if not self.holders:
                return
            for process in self.processes:  # a lease may be about to be renewed
                await process.store.on_writer(lambda _writer: None)
            for _ in range(12):
                await asyncio.sleep(0)
            waiting = sum(len(process.mutex._inner._waiters or ()) for process in self.processes)
            if len(self.clock.working) <= waiting:
                return


class Fragile(HashingEmbedder):
    """The light embedder, which fails while it is told to."""

    def __init__(self, month: Month) -> None:
        super().__init__(32)
        self.month = month

    def encode(self, texts: Any) -> Any:
        if self.month.broken == "embedder":
            raise ModelUnavailable("the model's file is gone")
        return super().encode(texts)


class Process:
    """One process on the home: its store, its side of the mutex, its maintenance, all of it watched."""

    def __init__(self, month: Month, store: Store, mode: LayoutPolicy) -> None:
        self.month, self.store, self.mode = month, store, mode
        self.mutex = EngineMutex(store)
        self.started = month.clock.monotonic()
        self.relaxed = float("-inf")
        self.alive = True
        self._watch_mutex()
        policy = VectorPolicy(k=4, reevaluate_interval=REEVALUATE, threads=1)
        self.care = Maintenance(store, month.embedder, self.mutex, policy, mode, relax_interval=RELAX)
        self._watch_care()
        month.processes.append(self)

    def die(self) -> None:
        """As after SIGKILL: nothing more of it reaches the store, its lease stays behind."""
        self.alive = False
        self.month.processes.remove(self)
        self.month.holders -= {name for name in self.month.holders if name.startswith(f"{id(self)} ")}

    def _watch_mutex(self) -> None:
        hold, month = self.mutex.hold, self.month

        @asynccontextmanager
        async def watched(who: str) -> AsyncIterator[None]:
            month.seen["waited"] += bool(month.look("SELECT 1 FROM lock"))
            async with hold(who):
                assert not month.holders, f"{who} and {month.holders} at once"
                month.holders.add(f"{id(self)} {who}")
                month.seen[f"held by {who}"] += 1
                try:
                    yield
                finally:
                    month.holders.discard(f"{id(self)} {who}")

        self.mutex.hold = watched  # type: ignore[method-assign]

    def _watch_care(self) -> None:
        self.care.embed = self._slowly(self.care.embed, "embed")  # type: ignore[method-assign]
        self.care.reevaluate = self._slowly(self.care.reevaluate, "reevaluate")  # type: ignore[method-assign]
        self.care.refresh_layout = self._slowly(self.care.refresh_layout, "layout")  # type: ignore[method-assign]

    def _slowly(self, part: Callable[..., Awaitable[Any]], name: str) -> Callable[..., Awaitable[Any]]:
        async def watched(*arguments: Any, **more: Any) -> Any:
            month = self.month
            if month.luck.random() < 0.3:
                await month.clock.sleep(month.luck.uniform(1, 40))
            assert month.holders == {next(iter(month.holders))}  # nobody touches edges or map without the mutex
            before = standing(month) if month.broken else None
            try:
                done = await part(*arguments, **more)
            except Exception:
                month.seen[f"failed: {name}"] += 1
                # What failed left edges and map as they were.
                assert before is None or not self.alive or standing(month) == before
                raise
            if name == "reevaluate":
                month.wrote[TOLD[0]] += 1
            if name == "layout" and done.applied != "none":
                month.wrote[TOLD[1]] += 1
                month.seen[f"applied {done.applied}"] += 1
                if done.applied == "relax":
                    # Neither at a start nor sooner than the interval.
                    assert month.clock.monotonic() - max(self.started, self.relaxed) >= RELAX.total_seconds()
                self.relaxed = month.clock.monotonic()
            return done

        return watched


class Daemon(Process):
    """A process with supervised loops, as `brain run` has them."""

    def __init__(self, month: Month, store: Store, mode: LayoutPolicy, *, learning: bool) -> None:
        super().__init__(month, store, mode)
        loops = [Loop("learning", LEARN, self._learn, learning), Loop("maintaining", LOOK, self._maintain)]
        self.supervisor = Supervisor(loops, journal=self, clock=month.clock)
        self.life = asyncio.create_task(self.supervisor.run(grace=timedelta(seconds=0)))

    async def log(self, *events: Any) -> None:
        async with self.month.clock.work():
            await self.store.log(*events)

    async def remember(self, name: str, value: Any) -> None:
        async with self.month.clock.work():
            await self.store.write(set_state, name, value)

    async def _maintain(self) -> None:
        async with self.month.clock.work():
            await self.care.run_due()

    async def _learn(self) -> None:
        async with self.month.clock.work(), self.mutex.hold("learning"):
            if (await self.care.embed()).changed:
                await self.care.reevaluate()

    async def end(self, *, killed: bool) -> None:
        if killed:
            self.month.seen["killed while holding"] += any(
                name.startswith(f"{id(self)} ") for name in self.month.holders
            )
            self.die()
            await self.store.close()  # whatever its tasks still want to write finds no store
            self.life.cancel()
        else:
            self.supervisor.stop()
        with suppress(asyncio.CancelledError):
            await self.life
        if not killed:
            self.month.processes.remove(self)
            await self.store.close()


def standing(month: Month) -> tuple[Any, ...]:
    return tuple(month.look(sql) for sql in (EDGES, PLACES))


def stamps_of(month: Month) -> dict[str, Any]:
    return {name: json.loads(value) for name, value in month.look(STAMPS)}


async def execute(store: Store, sql: str) -> None:
    await store.write(lambda tx: tx.conn.exec_driver_sql(sql) and None)


async def rebuild(month: Month) -> None:
    """What `brain rebuild edges` does, beside the daemon, in a process of its own."""
    async with month.clock.work():
        store = await Store.open(month.home, clock=month.clock)
        process = Process(month, store, LayoutPolicy(mode="off", steps=20, k=4))
        try:
            async with process.mutex.hold("rebuild edges"):
                await process.care.reevaluate(force=True)
        finally:
            month.processes.remove(process)
            await store.close()


async def start(month: Month, settings: Settings, *, learning: bool) -> Daemon:
    store = await Store.open(month.home, clock=month.clock)
    policy = layout_policy(settings)
    mode = LayoutPolicy(mode=policy.mode, dims=policy.dims, steps=20, k=4)
    return Daemon(month, store, mode, learning=learning)


async def mishap(month: Month, ours: Store) -> None:
    """Break something, or mend it; let knowledge come and go."""
    if month.broken is not None:
        if month.broken != "embedder":
            await execute(ours, f"DROP TRIGGER refuse_{month.broken}")
        month.broken = None
    elif month.luck.random() < 0.3:
        month.broken = next(month.faults)
        if month.broken != "embedder":
            refuse = f"CREATE TRIGGER refuse_{month.broken} BEFORE INSERT ON {month.broken}"
            await execute(ours, f"{refuse} BEGIN SELECT RAISE(ABORT, 'not today'); END")
    if month.broken or month.luck.random() < 0.5:  # a fault shows only where there is something to do
        await ingest(ours, drafts(1, f" at {month.clock.monotonic():.0f}"))
    elif month.luck.random() < 0.3:
        one = month.luck.choice(await ours.read(list_nodes, limit=1000))
        assert (await perform(ours, DeactivateNode(one.id, version=one.version), actor="test")).ok


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_a_month_with_two_processes_restarts_and_failures(tmp_path: Path, empty_database: Path) -> None:
    seen: Counter[str] = Counter()
    # What falls together depends a little on the threads; a month in which too little happened is followed by another.
    for luck in (11, 12, 13):
        with structlog.testing.capture_logs():  # each failure would print its trace, which takes longer than the day
            seen += await play(tmp_path / f"home-{luck}", empty_database, luck)
        if all(seen[what] >= least for what, least in LEAST.items()):
            return
    raise AssertionError({what: (seen[what], least) for what, least in LEAST.items() if seen[what] < least})


async def play(home: Path, empty_database: Path, luck: int) -> Counter[str]:
    home.mkdir(mode=0o700)
    shutil.copy(empty_database, home / DATABASE_NAME)
    month = Month(home, luck)
    clock = month.clock
    ours = await Store.open(home, clock=clock)  # the test's own eyes and hands
    await ingest(ours, drafts(14))
    # Both switches on: LAYOUT wins. From the middle of the month on, relax.
    settings = Settings(home=home, vector_graph_layout=True, vector_graph_relax_layout=True)
    daemon = await start(month, settings, learning=True)
    assert daemon.mode.mode == "full"
    rebuilds: list[asyncio.Task[None]] = []
    told: dict[str, Any] = dict.fromkeys(TOLD)
    ages: list[float] = []
    trouble, plans = 0.0, {"mishap": 9.0 * 3600, "end": 30.0 * 3600, "rebuild": 20.0 * 3600}
    wrote = month.wrote.copy()
    while clock.monotonic() < MONTH.total_seconds():
        await month.settle()
        stamps = stamps_of(month)
        for name in TOLD:
            now = stamps.get(name)
            # Told exactly when something was written and read back, and with that moment.
            assert (now != told[name]) == (month.wrote[name] > wrote[name]), (name, now, told[name])
            assert now in (told[name], to_iso(clock.now()))
            told[name] = now
        # Taken here: what runs while something is broken or ended below counts for the next look.
        wrote = month.wrote.copy()
        loop = daemon.supervisor.status["maintaining"]
        if loop.state == "failing" or month.broken:
            trouble = clock.monotonic()
        if told[TOLD[0]] is not None:
            age = (clock.now() - from_iso(told[TOLD[0]])).total_seconds()
            late = age - (REEVALUATE + LOOK + GRACE).total_seconds()
            # What is due is done; where it is not, the loop says why, or the process has only just begun.
            excused = clock.monotonic() - max(trouble, daemon.started) < (LOOK + GRACE).total_seconds()
            assert late < 0 or excused, (clock.now(), age, loop)
            ages.append(age)
        step = clock.next_moment()
        for due in plans.values():
            step = min(step, max(0.0, due - clock.monotonic()))
        clock.advance(step)
        if clock.monotonic() >= plans["mishap"]:
            await mishap(month, ours)
            plans["mishap"] += month.luck.uniform(*LASTS[month.broken]) * 3600
        if clock.monotonic() >= plans["rebuild"]:
            # At the moment the loop looks, too, so that both want the mutex.
            plans["rebuild"] = (clock.monotonic() // 3600 + month.luck.randint(20, 50)) * 3600.0
            rebuilds.append(asyncio.create_task(rebuild(month)))
        if clock.monotonic() >= plans["end"] or (month.holders and month.luck.random() < 0.06):
            plans["end"] = clock.monotonic() + month.luck.uniform(20, 70) * 3600
            killed = bool(month.holders)
            await daemon.end(killed=killed)
            for name, now in stamps_of(month).items() if killed else ():
                # A write that was handed over is finished though its process dies before it can keep its book.
                if now != told.get(name) and month.wrote[name] == wrote[name]:
                    assert now == to_iso(clock.now())
                    told[name] = now
            month.seen["killed" if killed else "stopped"] += 1
            if clock.monotonic() > MONTH.total_seconds() / 2:
                settings = Settings(home=home, vector_graph_layout=False, vector_graph_relax_layout=True)
            daemon = await start(month, settings, learning=clock.monotonic() < MONTH.total_seconds() * 0.6)
    await month.settle()
    document = await asyncio.to_thread(status_document, settings, now=clock.now())
    await daemon.end(killed=False)
    outcomes = await asyncio.gather(*rebuilds, return_exceptions=True)
    events = await ours.read(list_events, 0, 100_000)
    await ours.close()
    month.close()
    check_book(month, document, [(one.name, one.payload) for one in events], outcomes, told)
    return month.seen


def check_book(
    month: Month,
    document: dict[str, Any],
    events: list[tuple[str, Any]],
    outcomes: list[Any],
    told: dict[str, Any],
) -> None:
    """Events and status tell of everything that happened, in the chapter's words."""
    seen, names = month.seen, Counter(name for name, _ in events)
    shown = (dict(seen), dict(names))
    reported = [payload for name, payload in events if name == "loop.failed"]
    failures = sum(count for name, count in seen.items() if name.startswith("failed: "))
    assert failures == len(reported) + sum(isinstance(outcome, Exception) for outcome in outcomes), shown
    assert {payload["loop"] for payload in reported} <= {"maintaining", "learning"}
    assert names["loop.recovered"] >= 2
    completed = [payload for name, payload in events if name == "vector.graph.maintenance.completed"]
    unfinished = names["vector.graph.maintenance.started"] - len(completed)
    assert unfinished <= len(reported) + seen["killed while holding"], shown
    assert seen["applied full"] + seen["applied relax"] == sum(one["layout_applied"] != "none" for one in completed)
    for payload in completed:
        assert {"layout_mode", "layout_applied", "periodic_refresh", "layout_refresh", "seconds"} <= set(payload)
        assert payload["layout_applied"] in {"full", "relax", "none"}
        assert ({"nodes", "edges_added", "edges_removed", "edges_kept"} <= set(payload)) == payload["periodic_refresh"]
        assert ("quality" in payload) == (payload["layout_applied"] != "none")
        if payload["layout_mode"] == "full":
            assert payload["layout_applied"] != "relax"
    assert {payload["layout_mode"] for payload in completed} == {"full", "relax"}
    vector = document["vector"]
    assert vector["vector_graph_layout_mode"] == "relax"
    assert vector["vector_graph_layout_relax_effective"] is True
    assert (vector["last_vector_reevaluation"], vector["last_vector_layout"]) == (told[TOLD[0]], told[TOLD[1]])
    assert set(vector["next_due"]) == {"reevaluation", "layout"}
    assert set(document["mutex"]) == {"holder", "since", "waiting"}
