"""The writer: what runs on the one writer thread, and what a verified write needs there.

A unit of work runs whole on this thread. Between its transactions nothing of this process can write,
so a verified write can commit, read back on another connection, and close its journal row without a
neighbour changing its rows in between. `overtaken` tells whether another *process* did.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from sqlalchemy import Connection, Engine, RootTransaction

from data import events
from data.backend import Backend
from data.clock import Clock
from data.ids import IdFactory
from data.models import Event
from data.tx import Tx

__all__ = ["Writer"]


class Writer:
    """Transactions on the write connection, and the connection that verifies them."""

    def __init__(
        self,
        backend: Backend,
        clock: Clock,
        new_id: IdFactory,
        publish: Callable[[tuple[Event, ...]], None],
        readers: Engine,
    ) -> None:
        self.clock = clock
        self.new_id = new_id
        self._backend = backend
        self._publish = publish
        self._engine = backend.writer()
        self._readers = readers
        self._connection: Connection | None = None
        self._version = 0

    @contextmanager
    def transaction(self) -> Iterator[Tx]:
        """Begin as the only writer, yield the transaction, commit with its events, then send them.

        The commit survives a power cut. Anything raised inside rolls back. Errors of the driver come
        out as `StoreError`.
        """
        try:
            connection, transaction = self._begin()
            with transaction:
                tx = Tx(connection, self.clock.now(), self.new_id)
                yield tx
                written = events.append(connection, tx.pending_events(), tx.now)
        except self._backend.errors as error:
            self._drop_if_broken()
            raise self._backend.translate(error) from error
        if written:
            self._publish(written)

    @contextmanager
    def closing_transaction(self) -> Iterator[Tx]:
        """A transaction that survives a kill, but perhaps not a power cut: it does not wait for the disk.

        For closing a journal entry whose rows are safe already: where that is lost, the entry is still
        pending and the next start verifies it again, with its events.
        """
        try:
            with self._backend.relaxed(self._open()), self.transaction() as tx:
                yield tx
        except self._backend.errors as error:
            raise self._backend.translate(error) from error

    @contextmanager
    def fresh(self) -> Iterator[Connection]:
        """Yield another connection in a snapshot of its own: what is on it was really committed."""
        try:
            with self._readers.connect() as connection:
                connection.begin()
                yield connection
        except self._backend.errors as error:
            raise self._backend.translate(error) from error

    def mark(self) -> None:
        """Remember what the database looks like now, for `overtaken`; call inside a transaction."""
        self._version = self._backend.version(self._open())

    def overtaken(self) -> bool:
        """Tell whether another connection committed since `mark`; call inside a transaction."""
        return self._backend.version(self._open()) != self._version

    def living_elsewhere(self) -> frozenset[int]:
        """Return the numbers of other processes' writers that live; call inside a transaction."""
        return self._backend.living_writers(self._open())

    def close(self) -> None:
        """Close the write connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._engine.dispose()

    def _begin(self) -> tuple[Connection, RootTransaction]:
        """Begin on the connection, on a new one where a server has closed it since its last use."""
        connection = self._open()
        try:
            return connection, connection.begin()
        except self._backend.errors:
            if not _is_lost(connection):
                with suppress(*self._backend.errors):  # what the lock was waited for in
                    connection.connection.rollback()
                raise
        self._drop_if_broken()
        connection = self._open()
        return connection, connection.begin()

    def _open(self) -> Connection:
        if self._connection is None or self._connection.closed:
            self._connection = self._engine.connect()
        return self._connection

    def _drop_if_broken(self) -> None:
        connection = self._connection
        if connection is not None and (_is_lost(connection) or connection.in_transaction()):
            connection.close()
            self._connection = None


def _is_lost(connection: Connection) -> bool:
    """Tell whether the connection to a server is gone; a file is never lost so."""
    return connection.invalidated or bool(getattr(connection.connection.driver_connection, "closed", False))
