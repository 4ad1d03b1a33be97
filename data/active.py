"""The active tasks as one process knows them, so that an enqueueing need not read ten thousand again (spec 05).

What can go unseen is only what another process changed about a task without any task coming or going. So whoever
decides on a task from here asks `is_current` about it first, in the transaction that writes, and refreshes if not.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection, Text, select, type_coerce

from data.models import Task
from data.schema import research_task
from data.tasks import ACTIVE, task_of

__all__ = ["ActiveTasks"]

_IN_ACTIVE = research_task.c.state.in_([state.value for state in ACTIVE])
_STAMP = (research_task.c.version, type_coerce(research_task.c.updated_at, Text))
_AT_ONCE = 500
"""Ids in one statement."""

Stamp = tuple[int, str]


class ActiveTasks:
    """Active tasks by id, refreshed inside of write transactions; one for each writer."""

    def __init__(self) -> None:
        self._tasks: dict[str, Task] = {}
        self._stamps: dict[str, Stamp] = {}
        self._stale: set[str] = set()
        self._newest: datetime | None = None
        self._changed: dict[str, Task | None] = {}

    def __len__(self) -> int:
        return len(self._tasks)

    def tasks(self) -> tuple[Task, ...]:
        """Return them as last refreshed, in no order that means anything."""
        return tuple(self._tasks.values())

    def refresh(self, conn: Connection, active: int, *, thorough: bool = False) -> None:
        """Take in what came since the last time; look at all of them where that does not give `active` tasks.

        `thorough` looks at all of them in any case: by their versions, reading in full only those that changed.
        """
        thorough = thorough or self._newest is None
        if not thorough:
            fresh = _IN_ACTIVE & (research_task.c.created_at >= self._newest)
            ids = [row.id for row in conn.execute(select(research_task.c.id).where(fresh))]
            self._read(conn, [task_id for task_id in ids if task_id not in self._tasks])
            self._read(conn, list(self._stale))
        self._stale.clear()
        if thorough or len(self._tasks) != active:
            stamps: dict[str, Stamp] = {
                row[0]: (row[1], row[2]) for row in conn.execute(select(research_task.c.id, *_STAMP).where(_IN_ACTIVE))
            }
            for gone in self._tasks.keys() - stamps.keys():
                self._forget(gone)
            self._read(conn, [task_id for task_id, stamp in stamps.items() if self._stamps.get(task_id) != stamp])

    def is_current(self, conn: Connection, task_id: str) -> bool:
        """Return whether an active task is still as it was when it was read."""
        query = select(*_STAMP).where(research_task.c.id == task_id, _IN_ACTIVE)
        row = conn.execute(query).one_or_none()
        return row is not None and self._stamps.get(task_id) == (row[0], row[1])

    def doubt(self) -> None:
        """Look at all of them the next time: a task came back that is older than what is known."""
        self._newest = None
        self._stamps = dict.fromkeys(self._stamps, (0, ""))

    def will_change(self, task_id: str) -> None:
        """Read this one again the next time: the transaction that asked is about to write it."""
        self._stale.add(task_id)

    def take_changes(self) -> dict[str, Task | None]:
        """Return what changed since the last call: tasks as they are now, None for those no longer active."""
        changed, self._changed = self._changed, {}
        return changed

    def _read(self, conn: Connection, wanted: Sequence[str]) -> None:
        for start in range(0, len(wanted), _AT_ONCE):
            batch = research_task.c.id.in_(wanted[start : start + _AT_ONCE])
            for row in conn.execute(select(research_task, _STAMP[1].label("stamp")).where(batch)):
                values = row._mapping
                task = task_of(row, without=("stamp",))
                self._tasks[task.id] = self._changed[task.id] = task
                self._stamps[task.id] = (task.version, values["stamp"])
                self._newest = task.created_at if self._newest is None else max(self._newest, task.created_at)

    def _forget(self, task_id: str) -> None:
        del self._tasks[task_id], self._stamps[task_id]
        self._changed[task_id] = None
