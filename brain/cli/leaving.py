"""Leaving in time: a process that has ended its work does not wait for a thread that nobody can interrupt.

A name that is being resolved, a disk that does not answer: such a thread outlives its cancelled caller, and both the
event loop and the interpreter wait for it at their end. By then tasks are given back and the store is closed.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import suppress
from typing import Final

__all__ = ["LEAVE_S", "leave_soon", "own_the_process"]

LEAVE_S: Final = 5.0
"""Seconds from the end of a command to the end of its process."""

_owned = False


def own_the_process() -> None:
    """Say that this process runs one command and nothing else: it may be ended with it."""
    global _owned  # noqa: PLW0603 - there is one process
    _owned = True


def leave_soon(status: int) -> None:
    """End the process with `status` within `LEAVE_S`, where it has not ended by itself and is the command's own."""
    if _owned:
        threading.Thread(target=_leave, args=(status,), name="leaving", daemon=True).start()


def _leave(status: int) -> None:
    time.sleep(LEAVE_S)
    with suppress(OSError, ValueError):
        sys.stdout.flush()
        print("brain: A step that cannot be interrupted was left behind.", file=sys.stderr, flush=True)
    os._exit(status)
