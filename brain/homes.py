"""Opening the store of a home, for commands that need no more than that."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from brain.config import Settings
from brain.errors import BrainError
from brain.status import database_path
from data.clock import Clock, SystemClock
from data.store import Store

__all__ = ["open_store"]


@asynccontextmanager
async def open_store(
    settings: Settings, *, must_exist: bool = False, clock: Clock | None = None
) -> AsyncIterator[Store]:
    """Yield the open store of the configured home, made where it is absent.

    With `must_exist`, a home without a store is an error instead: a command that only looks makes nothing.
    Raises ConfigError for a database of another kind, data.errors.StoreError for a home or database that cannot be
    used.
    """
    path = database_path(settings)
    if must_exist and not path.is_file():
        raise BrainError(f"There is no store at {path} yet; `brain demo` or `brain ingest PATH` makes one.")
    async with await Store.open(
        settings.home, clock=clock or SystemClock(), url=settings.database_url or None
    ) as store:
        yield store
