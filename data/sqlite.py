"""SQLite: how connections are opened, what they promise, and how transactions begin.

The driver runs in autocommit, so that nothing but our own BEGIN opens a transaction: the writer begins
IMMEDIATE (it takes the write lock before it reads what it decides on), readers begin DEFERRED (one
snapshot for a whole read) and are `query_only`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, cast

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import AsyncAdaptedQueuePool, NullPool, QueuePool

from data.errors import StoreError, translate

__all__ = ["BUSY_TIMEOUT", "SqliteBackend", "async_reader", "migrator", "raw_connection", "reader", "writer"]

BUSY_TIMEOUT: Final = 10.0
"""Seconds a connection waits for another process's write transaction."""

_READERS: Final = 4
_WRITER_PRAGMAS: Final = (
    "PRAGMA synchronous=FULL",  # a verified write survives a power cut
    "PRAGMA foreign_keys=ON",
    "PRAGMA temp_store=MEMORY",
    "PRAGMA cache_size=-32768",  # KiB
    "PRAGMA journal_size_limit=67108864",  # a WAL that once grew is cut back
)
_READER_PRAGMAS: Final = ("PRAGMA query_only=ON", "PRAGMA temp_store=MEMORY", "PRAGMA cache_size=-16384")


class SqliteBackend:
    """The SQLite file at `path` as the store uses it."""

    errors: Final[tuple[type[Exception], ...]] = (SQLAlchemyError, sqlite3.Error)

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def where(self) -> str:
        return str(self.path)

    def prepare(self) -> None:
        from data.migrations.prepare import prepare_database  # which opens connections through this module

        prepare_database(self.path)

    def writer(self) -> Engine:
        return writer(self.path)

    def reader(self) -> Engine:
        return reader(self.path)

    def async_reader(self) -> AsyncEngine:
        return async_reader(self.path)

    def translate(self, error: Exception) -> StoreError | ValueError:
        return translate(error, self.path)

    def version(self, connection: Connection) -> int:
        return int(_driver(connection).execute("PRAGMA data_version").fetchone()[0])

    @contextmanager
    def relaxed(self, connection: Connection) -> Iterator[None]:
        _driver(connection).execute("PRAGMA synchronous=NORMAL")
        try:
            yield
        finally:
            _driver(connection).execute("PRAGMA synchronous=FULL")

    def living_writers(self, connection: Connection) -> frozenset[int]:
        return frozenset()


def _driver(connection: Connection) -> sqlite3.Connection:
    return cast("sqlite3.Connection", connection.connection.driver_connection)


def raw_connection(path: Path, *, timeout: float = BUSY_TIMEOUT) -> sqlite3.Connection:
    """Open `path` with the bare driver in autocommit; raise sqlite3.Error."""
    return sqlite3.connect(path, timeout=timeout, isolation_level=None, check_same_thread=False)


def writer(path: Path) -> Engine:
    """Return the engine of the one writer thread; its connection begins IMMEDIATE."""
    engine = create_engine(f"sqlite:///{path}", poolclass=NullPool, creator=lambda: raw_connection(path))
    _configure(engine, _WRITER_PRAGMAS, "BEGIN IMMEDIATE")
    return engine


def migrator(path: Path) -> Engine:
    """Return the engine of migrations: as the writer, without foreign keys, so that tables can be rebuilt."""
    engine = create_engine(f"sqlite:///{path}", poolclass=NullPool, creator=lambda: raw_connection(path))
    _configure(engine, ("PRAGMA synchronous=FULL", "PRAGMA foreign_keys=OFF"), "BEGIN IMMEDIATE")
    return engine


def reader(path: Path) -> Engine:
    """Return the engine of synchronous reads (verification, bulk reads on threads)."""
    engine = create_engine(
        f"sqlite:///{path}",
        poolclass=QueuePool,
        pool_size=_READERS,
        max_overflow=_READERS,
        creator=lambda: raw_connection(path),
    )
    _configure(engine, _READER_PRAGMAS, "BEGIN")
    return engine


def async_reader(path: Path) -> AsyncEngine:
    """Return the engine of asynchronous reads over aiosqlite."""
    engine = create_async_engine(
        f"sqlite+aiosqlite:///{path}",
        poolclass=AsyncAdaptedQueuePool,
        pool_size=_READERS,
        max_overflow=2 * _READERS,
        connect_args={"timeout": BUSY_TIMEOUT, "isolation_level": None},
    )
    _configure(engine.sync_engine, _READER_PRAGMAS, "BEGIN")
    return engine


def _configure(engine: Engine, pragmas: tuple[str, ...], begin: str) -> None:
    @event.listens_for(engine, "connect")
    def _on_connect(connection: Any, _record: Any) -> None:
        cursor = connection.cursor()
        try:
            for pragma in pragmas:
                cursor.execute(pragma)
        finally:
            cursor.close()

    @event.listens_for(engine, "begin")
    def _on_begin(connection: Connection) -> None:
        # Straight to the driver: this runs for every transaction, and a statement object costs more than it.
        cursor = connection.connection.cursor()
        try:
            cursor.execute(begin)
        finally:
            cursor.close()
