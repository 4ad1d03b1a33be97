"""When has a lease run out? Judged so that a jump of the wall clock takes no task from a living worker (spec 10).

A lease's end stands in the store as wall time, because several processes must read it. Each process also
watches on its own monotonic clock: its own leases it judges by that alone, and after a jump of the wall
clock every lease it knows, until it was renewed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from data.models import Task

__all__ = ["LeaseWatch"]

_JUMP: Final = 30.0
"""Seconds by which wall and monotonic clock may part between two looks; NTP slews by far less."""


@dataclass(slots=True)
class LeaseWatch:
    """Says which leases have run out. `lease` is the length of every lease."""

    lease: timedelta
    _own: dict[str, float] = field(default_factory=dict, init=False)
    _seen: dict[str, tuple[datetime | None, float]] = field(default_factory=dict, init=False)
    _distrusted: set[str] = field(default_factory=set, init=False)
    _offset: float | None = field(default=None, init=False)

    def hold(self, task_id: str, monotonic: float) -> None:
        """Note that this process took or renewed the lease just now."""
        self._own[task_id] = monotonic

    def drop(self, task_id: str) -> None:
        """Note that this process no longer holds the lease."""
        self._own.pop(task_id, None)

    def expired(self, leased: Iterable[Task], now: datetime, monotonic: float) -> dict[str, datetime | None]:
        """Return the tasks whose lease ran out, with its end as it stands in the store."""
        tasks = {task.id: task for task in leased}
        self._look(tasks, now, monotonic)
        seconds = self.lease.total_seconds()
        found: dict[str, datetime | None] = {}
        for task_id, task in tasks.items():
            own = self._own.get(task_id)
            if own is not None:
                over = monotonic - own >= seconds
            elif task_id in self._distrusted:
                over = monotonic - self._seen[task_id][1] >= seconds
            else:
                over = task.lease_until is None or task.lease_until <= now
            if over:
                found[task_id] = task.lease_until
        return found

    def _look(self, tasks: dict[str, Task], now: datetime, monotonic: float) -> None:
        """Remember since when each lease has stood as it is, and which of them a clock jump has spoilt."""
        offset = now.timestamp() - monotonic
        jumped = self._offset is not None and abs(offset - self._offset) > _JUMP
        self._offset = offset
        for task_id in [known for known in self._seen if known not in tasks]:
            del self._seen[task_id]
            self._distrusted.discard(task_id)
        for task_id, task in tasks.items():
            known = self._seen.get(task_id)
            if known is None or known[0] != task.lease_until:
                self._seen[task_id] = (task.lease_until, monotonic)
                self._distrusted.discard(task_id)
            # a lease that ends later than any lease can was written before the clock was set back
            if jumped or (
                task.lease_until is not None and task.lease_until > now + self.lease + timedelta(seconds=_JUMP)
            ):
                self._distrusted.add(task_id)
