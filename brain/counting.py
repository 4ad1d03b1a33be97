"""The store's numbers for many askers at once: one count at a time, and nobody waits long for it.

Counting a large house takes a good part of a second, and longer while a pass keeps the machine busy. An asker waits
for the count that is under way for `PATIENCE`; where that is not enough the last one is the answer, which says when
it was taken (`counted_at`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any, Final

from data.clock import Clock, to_iso

__all__ = ["Numbers"]

PATIENCE: Final = 0.01
"""Seconds an asker waits for fresh numbers where older ones are known: with it, /status keeps its 50 ms."""
ALWAYS_S: Final = 0.05
"""A count that takes less is taken for every asker: in a small house the numbers are always those of now."""
REST: Final = 20.0
"""Otherwise there is a pause of so many times a count's own time between two: a twentieth of a core at most."""
LONGEST_REST_S: Final = 10.0


class Numbers:
    """Counts with `count(now)`, a blocking function, on a thread of its own. Close it in the end."""

    def __init__(self, count: Callable[[datetime], Mapping[str, Any]], clock: Clock) -> None:
        self._count = count
        self._clock = clock
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="counting")
        self._running: asyncio.Future[Mapping[str, Any]] | None = None
        self._last: Mapping[str, Any] | None = None
        self._next = float("-inf")  # monotonic

    async def latest(self) -> Mapping[str, Any]:
        """Return the numbers, fresh where that is possible in time; raise what the count raised."""
        if self._running is not None and self._running.done():  # nobody waited to its end
            ended, self._running = self._running, None
            self._last = self._last if ended.exception() else ended.result()
        if self._running is None and self._last is not None and self._clock.monotonic() < self._next:
            return self._last
        if self._running is None:
            self._running = asyncio.get_running_loop().run_in_executor(self._thread, self._take)
        running = self._running
        await asyncio.wait([running], timeout=None if self._last is None else PATIENCE)
        if not running.done():
            assert self._last is not None
            return self._last
        if self._running is running:
            self._running = None
            self._last = running.result()
        return running.result()

    def close(self) -> None:
        """Take no more counts; one that is under way ends by itself."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _take(self) -> Mapping[str, Any]:
        now, started = self._clock.now(), self._clock.monotonic()
        counted = {**self._count(now), "counted_at": to_iso(now)}
        ended = self._clock.monotonic()
        took = ended - started
        self._next = ended + (0.0 if took < ALWAYS_S else min(REST * took, LONGEST_REST_S))
        return counted
