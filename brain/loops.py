"""Supervised periodic loops: each runs on its own interval, fails alone, and comes back with backoff.

A loop that raises is logged with its cause, visible in status, and tried again after a pause that
doubles from `FIRST_RETRY` up to `LAST_RETRY`; the others do not notice (spec 10, "What survives").
Intervals are measured on the monotonic clock.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any, Final, Protocol

import structlog

from data.clock import Clock, to_iso
from data.models import Event

__all__ = ["Journalist", "Loop", "LoopStatus", "Supervisor"]

FIRST_RETRY: Final = timedelta(seconds=5)
LAST_RETRY: Final = timedelta(minutes=10)
NOTE_EVERY_S: Final = 60.0
"""A loop that only goes on as before is noted this often; what changes is noted at once."""

log = structlog.get_logger()


class Journalist(Protocol):
    """What the supervisor needs of the store: a place for events and for its loops' last words."""

    async def log(self, *events: Event) -> None: ...

    async def remember(self, name: str, value: Any) -> None: ...


@dataclass(frozen=True, slots=True)
class Loop:
    """One periodic duty. `run` does one pass and returns; it is cancelled only at the end of the grace."""

    name: str
    interval: timedelta
    run: Callable[[], Awaitable[object]]
    enabled: bool = True


@dataclass(slots=True)
class LoopStatus:
    state: str = "waiting"
    """`off`, `waiting`, `running`, `failing` or `stopped`."""
    last_started: str | None = None
    last_finished: str | None = None
    last_error: str | None = None
    next_due: str | None = None
    failures: int = 0


class Supervisor:
    """Runs loops until it is told to stop (`stop()`, or the event it was given); owns their tasks: none is orphaned."""

    def __init__(
        self, loops: Sequence[Loop], *, journal: Journalist, clock: Clock, stop: asyncio.Event | None = None
    ) -> None:
        self._loops = tuple(loops)
        self._journal = journal
        self._clock = clock
        self._stop = stop or asyncio.Event()
        self._wake = {loop.name: asyncio.Event() for loop in loops}
        self._noted: dict[str, tuple[tuple[str, str | None], float]] = {}
        self.status = {loop.name: LoopStatus(state="waiting" if loop.enabled else "off") for loop in loops}

    def stop(self) -> None:
        """Ask every loop to end after its present pass."""
        self._stop.set()

    def wake(self, name: str) -> None:
        """Let a waiting loop run now."""
        self._wake[name].set()

    def document(self) -> dict[str, Any]:
        """Return the `loops` part of the status document."""
        return {name: asdict(status) for name, status in self.status.items()}

    async def run(self, *, grace: timedelta) -> None:
        """Run all enabled loops; after `stop`, give running passes `grace` to end and cancel the rest."""
        tasks = [asyncio.create_task(self._run(loop), name=f"loop:{loop.name}") for loop in self._loops if loop.enabled]
        for loop in self._loops:
            await self._remember(loop.name)
        try:
            await self._stop.wait()
            if tasks:
                await asyncio.wait(tasks, timeout=grace.total_seconds())
        finally:
            # Also where `run` itself is cancelled: a pass that answers its cancellation with an error of its own (the
            # lock cannot be given back) would otherwise be taken for one that failed, and be tried again for ever.
            self._stop.set()
            for task in tasks:
                task.cancel()
            for outcome in await asyncio.gather(*tasks, return_exceptions=True):
                if isinstance(outcome, Exception):
                    log.error("loop ended badly", error=repr(outcome))

    async def _run(self, loop: Loop) -> None:
        status = self.status[loop.name]
        try:
            while not self._stop.is_set():
                pause = await self._pass(loop, status)
                status.next_due = to_iso(self._clock.now() + pause)
                await self._remember(loop.name)
                await self._pause(loop.name, pause)
        finally:
            status.state, status.next_due = "stopped", None
            await asyncio.shield(self._remember(loop.name))

    async def _pass(self, loop: Loop, status: LoopStatus) -> timedelta:
        """Run once and return how long to wait."""
        status.state, status.last_started, status.next_due = "running", self._stamp(), None
        await self._remember(loop.name)
        try:
            await loop.run()
        except Exception as error:
            status.failures += 1
            pause = min(FIRST_RETRY * (1 << min(status.failures - 1, 16)), LAST_RETRY)
            status.state, status.last_error = "failing", f"{type(error).__name__}: {error}"
            log.error("loop failed", loop=loop.name, retry_in_s=pause.total_seconds(), exc_info=error)
            payload = {"loop": loop.name, "error": status.last_error, "retry_in_s": pause.total_seconds()}
            await self._tell(Event("loop.failed", payload, level="error"))
        else:
            if status.failures:
                await self._tell(Event("loop.recovered", {"loop": loop.name, "after_failures": status.failures}))
            status.failures, status.state, pause = 0, "waiting", loop.interval
        status.last_finished = self._stamp()
        return pause

    async def _pause(self, name: str, pause: timedelta) -> None:
        waits = [
            asyncio.ensure_future(self._clock.sleep(pause.total_seconds())),
            asyncio.ensure_future(self._stop.wait()),
            asyncio.ensure_future(self._wake[name].wait()),
        ]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*waits, return_exceptions=True)
        self._wake[name].clear()

    def _stamp(self) -> str:
        return to_iso(self._clock.now())

    async def _remember(self, name: str) -> None:
        status, now = self.status[name], self._clock.monotonic()
        news = ("well" if status.state in {"waiting", "running"} else status.state, status.last_error)
        known = self._noted.get(name)
        if known is not None and known[0] == news and now - known[1] < NOTE_EVERY_S:
            return
        self._noted[name] = (news, now)
        try:
            await self._journal.remember(f"loop.{name}", asdict(status))
        except Exception as error:  # the disk may be full: the loop's own work decides, not its note
            log.warning("loop state was not written", loop=name, error=str(error))

    async def _tell(self, event: Event) -> None:
        try:
            await self._journal.log(event)
        except Exception as error:
            log.warning("event was not written", event_name=event.name, error=str(error))
