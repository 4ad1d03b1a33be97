"""The store: one database, SQLite under BRAIN_HOME or PostgreSQL, one writer thread, many readers (spec 02, "Store").

A write is a plain function that runs whole on the writer thread: nothing is awaited inside it, so a
cancelled task cannot tear it, and it either happens or not. A read is a plain function over a
`Connection` that sees one snapshot. The same query functions serve both.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, Concatenate, Final, ParamSpec, Self, TypeVar

from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import AsyncEngine

from data.backend import Backend
from data.clock import Clock, SystemClock
from data.crud import recovery
from data.errors import (
    ConstraintViolated,
    DatabaseDamaged,
    DatabaseTooNew,
    StoreClosed,
    StoreError,
    StoreUnavailable,
)
from data.events import DEFAULT_BUFFER, EventHub, Subscription
from data.ids import IdFactory, new_id, new_ids
from data.migrations import prepare
from data.models import Event
from data.sqlite import SqliteBackend
from data.tx import Tx
from data.writer import Writer

__all__ = [
    "DATABASE_NAME",
    "ConstraintViolated",
    "DatabaseDamaged",
    "DatabaseTooNew",
    "Store",
    "StoreClosed",
    "StoreError",
    "StoreUnavailable",
    "Tx",
]

DATABASE_NAME: Final = "brain.db"
_BULK_READERS: Final = 2

P = ParamSpec("P")
T = TypeVar("T")


class Store:
    """An open store. Get one from `Store.open`; close it, or use it as an async context manager."""

    def __init__(self, home: Path, backend: Backend, clock: Clock, new_id: IdFactory) -> None:
        self.home = home
        self.backend = backend
        self.clock = clock
        self.new_id = new_id
        self._loop = asyncio.get_running_loop()
        self._hub = EventHub()
        self._sync_readers = backend.reader()
        self._async_readers: AsyncEngine = backend.async_reader()
        self._writer = Writer(backend, clock, new_id, self._publish, self._sync_readers)
        self._write_thread = ThreadPoolExecutor(1, thread_name_prefix="store-writer")
        self._read_threads = ThreadPoolExecutor(_BULK_READERS, thread_name_prefix="store-reader")
        self._closing: asyncio.Future[None] | None = None

    @classmethod
    async def open(
        cls, home: Path, *, clock: Clock | None = None, url: str | None = None, new_id: IdFactory = new_id
    ) -> Self:
        """Open the store of `home`, creating the folder (mode 0700) and the database where absent.

        Runs migrations when the database is behind, then verifies what a crash left pending in the
        journal. `url` names another SQLite file (`sqlite:///…`) than `home/brain.db`, or a PostgreSQL
        database (`postgresql://…`), which several processes and machines may share.

        Raises `StoreUnavailable`, `DatabaseTooNew` or `DatabaseDamaged`, each with one sentence.
        """
        home = home.absolute()
        backend = _backend(home, url)
        await asyncio.to_thread(prepare.prepare_home, home)
        await asyncio.to_thread(backend.prepare)
        store = cls(home, backend, clock or SystemClock(), new_id)
        try:
            await store.verify_pending()
        except BaseException:
            await store.close()
            raise
        return store

    @property
    def where(self) -> str:
        """What messages call the database: its path, or its address without the password."""
        return self.backend.where

    @property
    def path(self) -> Path:
        """The SQLite file; raise StoreError where the store is none."""
        if isinstance(self.backend, SqliteBackend):
            return self.backend.path
        raise StoreError(f"the store {self.where} is no file")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Wait for writes under way, then close every connection; safe to call twice."""
        if self._closing is None:
            self._closing = asyncio.ensure_future(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        def stop() -> None:
            self._write_thread.submit(self._writer.close)
            self._write_thread.shutdown(wait=True)
            self._read_threads.shutdown(wait=True)

        await asyncio.to_thread(stop)
        self._hub.close()
        await self._async_readers.dispose()
        self._sync_readers.dispose()

    def new_ids(self, kind: str, count: int) -> list[str]:
        """Return `count` fresh ids for `kind` from this store's source of ids."""
        return new_ids(kind, count) if self.new_id is new_id else [self.new_id(kind) for _ in range(count)]

    async def write(self, fn: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `fn(tx, …)` in one write transaction and return its result after the commit.

        Whatever `fn` raises rolls the transaction back. Cancelling the caller does not undo a write
        that was handed over: it happens, and `close` waits for it.
        """
        return await self.on_writer(_in_transaction, fn, *args, **kwargs)

    async def on_writer(self, fn: Callable[Concatenate[Writer, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `fn(writer, …)` on the writer thread; it opens its own transactions (data/crud does)."""
        if self._closing is not None:
            raise StoreClosed(f"the store at {self.where} is closed")
        handed_over = self._write_thread.submit(fn, self._writer, *args, **kwargs)
        waiting = asyncio.wrap_future(handed_over)
        waiting.add_done_callback(_retrieve)
        return await asyncio.shield(waiting)

    async def verify_pending(self) -> int:
        """Finish what is written and not verified; return how many writes that were.

        `open` does it for what a crash left; a running daemon may do it again after a fault of the disk
        kept a write from being read back.
        """
        if not await self.read(recovery.anything_pending):
            return 0
        return await self.on_writer(recovery.recover)

    async def read(self, fn: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `fn(connection, …)` over one snapshot. For short reads: `fn` shares the event loop's thread."""
        if self._closing is not None:
            raise StoreClosed(f"the store at {self.where} is closed")
        try:
            async with self._async_readers.connect() as connection:
                await connection.begin()  # ends with the connection: there is nothing to commit
                return await connection.run_sync(fn, *args, **kwargs)
        except self.backend.errors as error:
            raise self.backend.translate(error) from error

    async def read_bulk(self, fn: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `fn(connection, …)` over one snapshot on a reader thread: many rows, or much work on them."""
        if self._closing is not None:
            raise StoreClosed(f"the store at {self.where} is closed")

        def run() -> T:
            try:
                with self._sync_readers.connect() as connection:
                    connection.begin()  # ends with the connection: there is nothing to commit
                    return fn(connection, *args, **kwargs)
            except self.backend.errors as error:
                raise self.backend.translate(error) from error

        return await asyncio.wrap_future(self._read_threads.submit(run))

    async def log(self, *events: Event) -> None:
        """Write technical events in a transaction of their own."""
        if events:
            await self.write(_emit, events)

    def subscribe(self, size: int = DEFAULT_BUFFER) -> Subscription:
        """Return a live stream of this process's events from now on, with a buffer of `size`."""
        return self._hub.subscribe(size)

    def _publish(self, events: tuple[Event, ...]) -> None:
        # Scheduled before the writer's future resolves, so a caller that has its result has its events too.
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._hub.publish, events)


def _backend(home: Path, url: str | None) -> Backend:
    if url is None:
        return SqliteBackend(home / DATABASE_NAME)
    scheme = url.partition(":")[0]
    if scheme.partition("+")[0] in {"postgresql", "postgres"}:
        from data.postgres import PostgresBackend, parse_address  # loads the driver, which SQLite does without

        return PostgresBackend(parse_address(url))
    prefix = "sqlite:///"
    if not url.startswith(prefix) or url == prefix:
        raise StoreError(
            f"a database URL of the kind {scheme[:20]!r} is not supported; "
            "use sqlite:///PATH or postgresql://USER:PASSWORD@HOST/DATABASE"
        )
    return SqliteBackend(Path(url.removeprefix(prefix)).absolute())


def _in_transaction(writer: Writer, fn: Callable[Concatenate[Tx, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    with writer.transaction() as tx:
        return fn(tx, *args, **kwargs)


def _emit(tx: Tx, events: tuple[Event, ...]) -> None:
    for entry in events:
        tx.emit(entry)


def _retrieve(future: asyncio.Future[Any]) -> None:
    # A caller that was cancelled no longer asks: take the error, so that nobody reports it as lost.
    if not future.cancelled():
        future.exception()
