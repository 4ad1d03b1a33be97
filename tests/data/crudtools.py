"""Small helpers for tests of verified writes."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from data import events, journal
from data.clock import Clock
from data.crud.engine import perform
from data.crud.nodes import CreateNode, NodeDraft
from data.models import Event, JournalEntry, NodeKind
from data.sqlite import SqliteBackend
from data.store import Store

__all__ = ["create_note", "event_names", "heal", "last_entry", "reopened", "rows", "sabotage", "sql", "url_of"]


def sql(store: Store, statement: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """Run one statement behind the store's back, on a connection of its own; parameters are written `?`."""
    if isinstance(store.backend, SqliteBackend):
        with closing(sqlite3.connect(store.path, isolation_level=None, timeout=10)) as connection:
            return connection.execute(statement, parameters).fetchall()
    server = store.backend.server  # type: ignore[attr-defined]
    with closing(server.connect()) as connection:
        done = connection.execute(statement.replace("%", "%%").replace("?", "%s"), parameters)
        return done.fetchall() if done.description else []


def url_of(store: Store) -> str | None:
    """Return the address under which the same database can be opened again, None for the home's own file."""
    if isinstance(store.backend, SqliteBackend):
        return None
    return str(store.backend.server.url.render_as_string(hide_password=False))  # type: ignore[attr-defined]


async def reopened(store: Store, clock: Clock | None = None) -> Store:
    """Open the same database once more, as another process would."""
    return await Store.open(store.home, clock=clock or store.clock, url=url_of(store))


TRIGGER = re.compile(r"CREATE TRIGGER (\w+) (.*?) ON (\w+)\s*(WHEN .*?)?\s*BEGIN (.*) END\s*$", re.DOTALL)


def sabotage(store: Store, statement: str) -> None:
    """Plant a trigger, written as SQLite has it, that alters what is written."""
    if isinstance(store.backend, SqliteBackend):
        sql(store, statement)
        return
    found = TRIGGER.match(statement.strip())
    assert found is not None, statement
    name, moment, table, condition, body = found.groups()
    # What a trigger of SQLite's does with its own table wakes no trigger again.
    condition = f" AND ({condition.removeprefix('WHEN ')})" if condition else ""
    when = f"WHEN (pg_trigger_depth() = 0{condition})"
    body = re.sub(r"SELECT RAISE\(ABORT, ('[^']*')\)", r"RAISE EXCEPTION \1", body)
    body = body.replace("SELECT RAISE(IGNORE)", "RETURN NULL")
    row = "OLD" if "DELETE" in moment else "NEW"
    sql(store, f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} RETURN {row}; END $$")
    sql(store, f"CREATE TRIGGER {name} {moment} ON {table} FOR EACH ROW {when} EXECUTE FUNCTION {name}()")


def heal(store: Store, name: str, table: str) -> None:
    """Take the trigger `name` of `table` away again."""
    on = "" if isinstance(store.backend, SqliteBackend) else f" ON {table}"
    sql(store, f"DROP TRIGGER {name}{on}")


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
