"""Opening the store of a home, for commands that need no more than that."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from brain.config import Settings
from brain.errors import BrainError
from brain.status import database_of
from data.clock import Clock, SystemClock
from data.store import Store

__all__ = ["open_store"]


@asynccontextmanager
async def open_store(
    settings: Settings, *, must_exist: bool = False, clock: Clock | None = None
) -> AsyncIterator[Store]:
    """Yield the open store of the configured home, made where it is absent.

    With `must_exist`, a home without a store is an error instead: a command that only looks makes nothing.
    Raises data.errors.StoreError for a home or database that cannot be used.
    """
    if must_exist:
        await asyncio.to_thread(_require_store, database_of(settings))
    async with await Store.open(
        settings.home, clock=clock or SystemClock(), url=settings.database_url or None
    ) as store:
        yield store


def _require_store(database: Path | str) -> None:
    if isinstance(database, str):
        from data.migrations.prepare_postgres import holds_store  # loads the driver
        from data.postgres import parse_address

        server = parse_address(database)
        there, where = holds_store(server), server.where
    else:
        there, where = database.is_file(), str(database)
    if not there:
        raise BrainError(f"There is no store at {where} yet; `brain demo` or `brain ingest PATH` makes one.")
