"""Small named values that must survive a restart (spec 02, table `state`)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from data.schema import state
from data.tx import Tx

__all__ = ["all_state", "clear_state", "get_state", "set_state", "state_updated_at"]


def get_state(conn: Connection, name: str) -> Any:
    """Return the value stored under `name`, or None where none was ever written."""
    return conn.execute(select(state.c.value).where(state.c.name == name)).scalar_one_or_none()


def state_updated_at(conn: Connection, name: str) -> datetime | None:
    """Return when `name` was last written, or None."""
    return conn.execute(select(state.c.updated_at).where(state.c.name == name)).scalar_one_or_none()


def all_state(conn: Connection) -> Mapping[str, Any]:
    """Return every named value."""
    return {row.name: row.value for row in conn.execute(select(state.c.name, state.c.value).order_by(state.c.name))}


def set_state(tx: Tx, name: str, value: Any) -> None:
    """Store `value` (anything JSON can hold, not None) under `name`."""
    if value is None:
        raise ValueError(f"state {name!r} takes no None; use clear_state")
    values = {"value": value, "updated_at": tx.now}
    # Writes come one after the other, so nobody puts the row in between the two statements.
    if tx.conn.execute(update(state).where(state.c.name == name).values(**values)).rowcount == 0:
        tx.conn.execute(insert(state).values(name=name, **values))


def clear_state(tx: Tx, name: str) -> None:
    """Forget `name`."""
    tx.conn.execute(delete(state).where(state.c.name == name))
