"""Small helpers for tests of verified writes."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from data import events, journal
from data.crud.engine import perform
from data.crud.nodes import CreateNode, NodeDraft
from data.models import Event, JournalEntry, NodeKind
from data.store import Store

__all__ = ["create_note", "event_names", "last_entry", "rows", "sabotage", "sql"]


def sql(store: Store, statement: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """Run one statement behind the store's back, on a connection of its own."""
    with closing(sqlite3.connect(store.path, isolation_level=None, timeout=10)) as connection:
        return connection.execute(statement, parameters).fetchall()


def sabotage(store: Store, statement: str) -> None:
    """Plant a trigger that alters what is written."""
    sql(store, statement)


def rows(store: Store, table: str) -> int:
    """Count the rows of `table`."""
    return int(sql(store, f"SELECT count(*) FROM {table}")[0][0])


async def create_note(store: Store, label: str, body: str = "", kind: NodeKind = NodeKind.NOTE) -> str:
    """Create a node and return its id."""
    outcome = await perform(store, CreateNode(NodeDraft(kind, label, body)), actor="test")
    assert outcome.ok, outcome
    return str(outcome.result)


async def last_entry(store: Store) -> JournalEntry:
    """Return the newest journal entry."""
    return (await store.read(journal.list_entries, limit=1))[0]


async def event_names(store: Store) -> list[str]:
    """Return the names of all events in order."""
    found: list[Event] = await store.read(events.list_events, 0, 1000)
    return [event.name for event in found]
