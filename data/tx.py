"""The write transaction as the functions inside it see it."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection

from data.ids import IdFactory
from data.models import Event

__all__ = ["Tx"]


class Tx:
    """One write transaction: its connection, its single time, fresh ids, and the events it will send.

    Events are written in the transaction and go to subscribers after its commit; a transaction that
    fails sends none.
    """

    __slots__ = ("_events", "conn", "new_id", "now")

    def __init__(self, conn: Connection, now: datetime, new_id: IdFactory) -> None:
        self.conn = conn
        self.now = now
        self.new_id = new_id
        self._events: list[Event] = []

    def emit(self, event: Event) -> None:
        """Add `event` to what this transaction writes and sends."""
        self._events.append(event)

    def pending_events(self) -> tuple[Event, ...]:
        """Return what was emitted so far, in order."""
        return tuple(self._events)
