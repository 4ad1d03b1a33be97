"""Long computations beside the event loop: on a thread, with progress, ended by cancellation."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

from data.progress import Progress
from vector.selection import Tick

__all__ = ["Stopped", "in_background"]

T = TypeVar("T")


class Stopped(Exception):
    """Raised inside a computation whose caller was cancelled."""


async def in_background(function: Callable[[Tick], T], progress: Progress, phase: str, total: int) -> T:
    """Run `function(tick)` on a thread and return its result; each `tick(n)` is reported as n of `total` done.

    `progress` is called on the event loop's thread, at most a hundred times. When the caller is cancelled the
    next tick ends the computation; its thread then works on nothing any more.
    """
    loop = asyncio.get_running_loop()
    stop, guard = threading.Event(), threading.Lock()
    done = shown = 0

    def tick(amount: int) -> None:
        nonlocal done, shown
        if stop.is_set():
            raise Stopped(phase)
        with guard:
            done = min(total, done + amount)
            if done - shown < max(1, total // 100):
                return
            shown = done
        loop.call_soon_threadsafe(progress, phase, shown, total)

    progress(phase, 0, total)
    try:
        result = await asyncio.to_thread(function, tick)
    except asyncio.CancelledError:
        stop.set()
        raise
    progress(phase, total, total)
    return result
