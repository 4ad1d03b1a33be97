"""Time, passed in: every part that asks what time it is takes a `Clock`.

Wall time orders and dates things; durations (leases in a process, backoff, intervals) are measured on
the monotonic clock, so a jump of the wall clock shortens or lengthens nothing (spec 10, "What survives").
"""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta
from typing import Protocol

__all__ = ["Clock", "ManualClock", "SystemClock", "from_iso", "to_iso", "utc_day_start"]


class Clock(Protocol):
    """What a part may ask about time."""

    def now(self) -> datetime:
        """Return the wall time as an aware UTC datetime with microseconds."""
        ...

    def monotonic(self) -> float:
        """Return seconds on a clock that never goes back."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Suspend the calling task for `seconds` (0 yields once)."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class ManualClock:
    """A clock that moves only when told; ships with the product so that every loop can be replayed.

    `sleep` returns once the clock was advanced past its end.
    """

    def __init__(self, start: datetime) -> None:
        if start.tzinfo is None:
            raise ValueError("ManualClock needs an aware start time, got a naive one")
        self._now = start.astimezone(UTC)
        self._monotonic = 0.0
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (self._monotonic + seconds, future)
        self._sleepers.append(entry)
        try:
            await future
        finally:
            if entry in self._sleepers:
                self._sleepers.remove(entry)

    def advance(self, delta: timedelta | float) -> None:
        """Move both clocks forward by `delta` (seconds or timedelta, not negative) and wake who is due."""
        seconds = delta.total_seconds() if isinstance(delta, timedelta) else float(delta)
        if seconds < 0:
            raise ValueError(f"advance takes no negative time, got {seconds} s; use jump for the wall clock")
        self._now += timedelta(seconds=seconds)
        self._monotonic += seconds
        for due, future in list(self._sleepers):
            if due <= self._monotonic and not future.done():
                future.set_result(None)

    def jump(self, to: datetime) -> None:
        """Set the wall clock alone, as an administrator or NTP would."""
        self._now = to.astimezone(UTC)


def to_iso(moment: datetime) -> str:
    """Return the stored form: UTC, microseconds, ISO 8601 with `+00:00` (sorts as text)."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def from_iso(text: str) -> datetime:
    """Return the aware UTC datetime of a stored timestamp; raise ValueError for anything else."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"a stored time must carry its offset, got {text!r}")
    return moment.astimezone(UTC)


def utc_day_start(moment: datetime) -> datetime:
    """Return midnight UTC of the day of `moment` (the budget's day, spec 05)."""
    return moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
