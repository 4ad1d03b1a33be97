"""SQLite connections: how they are opened, what they promise, and how transactions begin.

The driver runs in autocommit, so that nothing but our own BEGIN opens a transaction: the writer begins
IMMEDIATE (it takes the write lock before it reads what it decides on), readers begin DEFERRED (one
snapshot for a whole read) and are `query_only`.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import AsyncAdaptedQueuePool, NullPool, QueuePool

__all__ = ["BUSY_TIMEOUT", "async_reader", "migrator", "raw_connection", "reader", "writer"]

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
