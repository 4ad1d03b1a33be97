"""The writer: what runs on the one writer thread, and what a verified write needs there.

A unit of work runs whole on this thread. Between its transactions nothing of this process can write,
so a verified write can commit, read back on another connection, and close its journal row without a
neighbour changing its rows in between. `overtaken` tells whether another *process* did.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from data import events, sqlite
from data.clock import Clock
from data.errors import translate
from data.ids import IdFactory
from data.models import Event
from data.tx import Tx

__all__ = ["Writer"]


class Writer:
    """Transactions on the write connection, and the connection that verifies them."""

    def __init__(
        self, path: Path, clock: Clock, new_id: IdFactory, publish: Callable[[tuple[Event, ...]], None], readers: Engine
    ) -> None:
        self.path = path
        self.clock = clock
        self.new_id = new_id
        self._publish = publish
        self._engine = sqlite.writer(path)
        self._readers = readers
        self._connection: Connection | None = None
        self._version = 0

    @contextmanager
    def transaction(self) -> Iterator[Tx]:
        """Begin IMMEDIATE, yield the transaction, commit with its events, then send them.

        The commit survives a power cut. Anything raised inside rolls back. Errors of the driver come
        out as `StoreError`.
        """
        try:
            connection = self._open()
            with connection.begin():
                tx = Tx(connection, self.clock.now(), self.new_id)
                yield tx
                written = events.append(connection, tx.pending_events(), tx.now)
        except (SQLAlchemyError, sqlite3.Error) as error:
            self._drop_if_broken()
            raise translate(error, self.path) from error
        if written:
            self._publish(written)

    @contextmanager
    def closing_transaction(self) -> Iterator[Tx]:
        """A transaction that survives a kill, but perhaps not a power cut: it does not wait for the disk.

        For closing a journal entry whose rows are safe already: where that is lost, the entry is still
        pending and the next start verifies it again, with its events.
        """
        self._synchronous("NORMAL")
        try:
            with self.transaction() as tx:
                yield tx
        finally:
            self._synchronous("FULL")

    @contextmanager
    def fresh(self) -> Iterator[Connection]:
        """Yield another connection in a snapshot of its own: what is on it was really committed."""
        try:
            with self._readers.connect() as connection:
                connection.begin()
                yield connection
        except (SQLAlchemyError, sqlite3.Error) as error:
            raise translate(error, self.path) from error

    def mark(self) -> None:
        """Remember what the database file looks like now, for `overtaken`; call inside a transaction."""
        self._version = self._data_version()

    def overtaken(self) -> bool:
        """Tell whether another connection committed since `mark`; call inside a transaction."""
        return self._data_version() != self._version

    def close(self) -> None:
        """Close the write connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._engine.dispose()

    def _data_version(self) -> int:
        return int(self._driver().execute("PRAGMA data_version").fetchone()[0])

    def _synchronous(self, level: str) -> None:
        try:
            self._driver().execute(f"PRAGMA synchronous={level}")
        except (SQLAlchemyError, sqlite3.Error) as error:
            raise translate(error, self.path) from error

    def _driver(self) -> sqlite3.Connection:
        return cast("sqlite3.Connection", self._open().connection.driver_connection)

    def _open(self) -> Connection:
        if self._connection is None or self._connection.closed:
            self._connection = self._engine.connect()
        return self._connection

    def _drop_if_broken(self) -> None:
        if self._connection is not None and (self._connection.invalidated or self._connection.in_transaction()):
            self._connection.close()
            self._connection = None
