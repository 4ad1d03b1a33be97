"""One request at a time to a host, with a pause between two, and silence where it asked for some (spec 04, Fetch)."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from data.clock import Clock

__all__ = ["HostGate"]

_MAX_HOSTS: Final = 2_048
"""Hosts remembered; those not in use for longest are forgotten first."""


@dataclass(slots=True)
class _Host:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    not_before: float = 0.0
    held_until: float = 0.0
    waiting: int = 0


class HostGate:
    """Turns per host, measured on the monotonic clock."""

    def __init__(self, clock: Clock, delay_s: float) -> None:
        self._clock = clock
        self._delay_s = delay_s
        self._hosts: OrderedDict[str, _Host] = OrderedDict()

    @asynccontextmanager
    async def turn(self, host: str, delay_s: float | None = None) -> AsyncIterator[None]:
        """Wait for the host's turn and hold it; the next turn comes `delay_s` (or the usual delay) after this one."""
        entry = self._entry(host)
        entry.waiting += 1
        try:
            async with entry.lock:
                wait = entry.not_before - self._clock.monotonic()
                if wait > 0:
                    await self._clock.sleep(wait)
                try:
                    yield
                finally:
                    entry.not_before = self._clock.monotonic() + max(self._delay_s, delay_s or 0.0)
        finally:
            entry.waiting -= 1

    def hold(self, host: str, seconds: float) -> None:
        """Ask nothing of `host` for `seconds`: it said 429 or 503."""
        entry = self._entry(host)
        entry.held_until = max(entry.held_until, self._clock.monotonic() + seconds)

    def held_for(self, host: str) -> float:
        """Return the seconds for which `host` still wants silence, 0 if none."""
        return max(0.0, self._entry(host).held_until - self._clock.monotonic())

    def _entry(self, host: str) -> _Host:
        entry = self._hosts.get(host)
        if entry is None:
            entry = self._hosts[host] = _Host()
            for name in [n for n, e in self._hosts.items() if not e.waiting and e is not entry][:-_MAX_HOSTS]:
                del self._hosts[name]
        self._hosts.move_to_end(host)
        return entry
