"""Keeping the interpreter's collector away from stretches that make millions of rows.

A collection walks every container there is without giving the interpreter away: with the rows of 400,000 edges about,
that is a second in which nothing answers, many times over. Such rows form no cycles, they go when their last reader
lets go of them.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

__all__ = ["let_go", "no_collections"]

_PIECE: Final = 20_000
_guard = threading.Lock()
_users = 0
_was_on = False


@contextmanager
def no_collections() -> Iterator[None]:
    """Hold automatic collections off inside the block; may be nested and used by several tasks at once."""
    global _users, _was_on  # noqa: PLW0603 - the collector is one for the process
    with _guard:
        if _users == 0:
            _was_on = gc.isenabled()
            gc.disable()
        _users += 1
    try:
        yield
    finally:
        with _guard:
            _users -= 1
            if _users == 0 and _was_on:
                gc.enable()


def let_go(rows: list[Any]) -> None:
    """Empty `rows` piece by piece: freed in one go, half a million rows hold the interpreter for 100 ms."""
    while rows:
        del rows[-_PIECE:]
