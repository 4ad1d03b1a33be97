"""What the store asks of a database: SQLite (`data/sqlite.py`) or PostgreSQL (`data/postgres.py`).

The store's promises are the same on both. One write transaction at a time, over all processes, decides on
what the last one committed: SQLite by BEGIN IMMEDIATE, PostgreSQL by an advisory lock that each write
transaction takes first. A read sees one snapshot and cannot write.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from sqlalchemy import Connection, Engine
from sqlalchemy.ext.asyncio import AsyncEngine

from data.errors import StoreError

__all__ = ["Backend"]


class Backend(Protocol):
    """One database, not yet or already prepared."""

    @property
    def where(self) -> str:
        """What messages call the database: a path, or an address without its password."""
        ...

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """What the driver and the query builder may raise."""
        ...

    def prepare(self) -> None:
        """Create or migrate the schema where needed; raise StoreError with what to do. Blocking."""
        ...

    def writer(self) -> Engine:
        """Return the engine of the one writer thread of this process."""
        ...

    def reader(self) -> Engine:
        """Return the engine of synchronous reads, each in one snapshot."""
        ...

    def async_reader(self) -> AsyncEngine:
        """Return the engine of asynchronous reads, each in one snapshot."""
        ...

    def translate(self, error: Exception) -> StoreError | ValueError:
        """Return what one of `errors` means, in one sentence for a person."""
        ...

    def version(self, connection: Connection) -> int:
        """Return a number that changes when another connection than this writer's commits a write.

        Call inside a write transaction of the writer's connection.
        """
        ...

    def relaxed(self, connection: Connection) -> AbstractContextManager[None]:
        """Let the transactions begun inside survive a kill, but perhaps not a power cut."""
        ...

    def living_writers(self, connection: Connection) -> frozenset[int]:
        """Return the numbers of the writers of *other* processes that live now; empty where that cannot be told.

        Call inside a write transaction. A pending journal entry of one of them waits for its own process.
        """
        ...
