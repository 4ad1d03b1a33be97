"""Who may work: the engine mutex that loops and commands share, and the lock on a home (spec 03, 10, 11).

The engine mutex is an asyncio lock within a process and a row in table `lock` between processes. The
row carries a lease that its holder renews. A lease is stolen only by one who has watched it go without
renewal: the wall clock alone never decides, so a jump of it takes nothing from a holder that lives.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from sqlalchemy import Connection, delete, insert, select, update

from data.clock import Clock, SystemClock, from_iso, to_iso
from data.errors import HomeLocked, LockLost, StoreError, StoreUnavailable
from data.schema import lock
from data.store import Store
from data.tx import Tx

__all__ = ["EngineMutex", "HomeLock", "LockHolder", "MutexStatus", "Waiter", "lock_holder"]

LEASE: Final = timedelta(seconds=60)
_RENEW_EVERY: Final = LEASE.total_seconds() / 4
_UNRENEWED: Final = LEASE.total_seconds() / 2
"""Seconds one must have watched an expired lease without a renewal before taking it: two renewals' time."""
_LOOK_EVERY: Final = 0.5


@dataclass(frozen=True, slots=True)
class LockHolder:
    """A row of table `lock`."""

    name: str
    holder: str
    pid: int
    since: datetime
    lease_until: datetime


@dataclass(frozen=True, slots=True)
class Waiter:
    """A part of this process that waits for the mutex."""

    name: str
    since: datetime


@dataclass(frozen=True, slots=True)
class MutexStatus:
    """What status shows: who holds the mutex, in whatever process, and who waits in this one."""

    holder: str | None
    pid: int | None
    since: datetime | None
    waiting: tuple[Waiter, ...]


class EngineMutex:
    """One mutex for all that replaces edges or positions. One instance a store and process."""

    def __init__(self, store: Store, name: str = "engine") -> None:
        self._store = store
        self._name = name
        self._inner = asyncio.Lock()
        self._waiting: list[Waiter] = []
        self._token = f"{socket.gethostname()}/{os.getpid()}"

    @contextlib.asynccontextmanager
    async def hold(self, who: str) -> AsyncIterator[None]:
        """Hold the mutex for `who` while the body runs; wait for it first, without an end.

        Raises LockLost after the body when the lease was lost under way (the machine slept, the store
        could not be written for longer than the lease): what was done then is not to be relied on.
        """
        waiter = Waiter(who, self._store.clock.now())
        self._waiting.append(waiter)
        try:
            await self._inner.acquire()
            try:
                holder = await self._take(who)
            except BaseException:
                self._inner.release()
                raise
        finally:
            self._waiting.remove(waiter)
        renewing = asyncio.create_task(self._renew(holder), name=f"renew {self._name} for {who}")
        try:
            yield
        finally:
            lost = renewing.done() and isinstance(renewing.exception(), LockLost)
            renewing.cancel()
            try:
                await asyncio.shield(self._store.write(_release, self._name, holder))
            finally:
                self._inner.release()
        if lost:
            raise LockLost(f"the lock {self._name!r} of {who} was not renewed in time and went to somebody else")

    def waiting(self) -> tuple[str, ...]:
        """Return who of this process waits, longest first."""
        return tuple(waiter.name for waiter in self._waiting)

    async def status(self) -> MutexStatus:
        """Return who holds the mutex and who of this process waits."""
        row = await self._store.read(lock_holder, self._name)
        waiting = tuple(self._waiting)
        if row is None:
            return MutexStatus(None, None, None, waiting)
        return MutexStatus(row.holder.partition(" ")[2], row.pid, row.since, waiting)

    async def _take(self, who: str) -> str:
        holder = f"{self._token}/{self._store.new_id('journal')} {who}"
        clock = self._store.clock
        seen: tuple[LockHolder, float] | None = None
        while True:
            stealable = seen is not None and _is_abandoned(seen[0], clock.monotonic() - seen[1], clock.now())
            other = await self._store.write(_acquire, self._name, holder, seen[0] if seen and stealable else None)
            if other is None:
                return holder
            if seen is None or seen[0] != other:
                seen = (other, clock.monotonic())
            await clock.sleep(_LOOK_EVERY)

    async def _renew(self, holder: str) -> None:
        """Renew until cancelled; end early, with LockLost, when the row is somebody else's."""
        while True:
            await self._store.clock.sleep(_RENEW_EVERY)
            try:
                mine = await self._store.write(_prolong, self._name, holder)
            except StoreUnavailable:
                continue  # it may be renewed in time yet; if not, the row will tell
            if not mine:
                raise LockLost(self._name)


def lock_holder(conn: Connection, name: str) -> LockHolder | None:
    """Return who holds the lock `name`, or None."""
    row = conn.execute(select(lock).where(lock.c.name == name)).one_or_none()
    return None if row is None else LockHolder(row.name, row.holder, row.pid, row.since, row.lease_until)


def _is_abandoned(row: LockHolder, watched: float, now: datetime) -> bool:
    """Tell whether a lease seen unchanged for `watched` seconds may be taken."""
    if watched >= LEASE.total_seconds():
        return True
    return row.lease_until <= now and watched >= _UNRENEWED


def _acquire(tx: Tx, name: str, holder: str, abandoned: LockHolder | None) -> LockHolder | None:
    """Take the lock when it is free or still as `abandoned`; return who has it otherwise."""
    current = lock_holder(tx.conn, name)
    if current is not None and current != abandoned:
        return current
    tx.conn.execute(delete(lock).where(lock.c.name == name))
    tx.conn.execute(
        insert(lock).values(name=name, holder=holder, pid=os.getpid(), since=tx.now, lease_until=tx.now + LEASE)
    )
    return None


def _prolong(tx: Tx, name: str, holder: str) -> bool:
    statement = update(lock).where(lock.c.name == name, lock.c.holder == holder)
    return tx.conn.execute(statement.values(lease_until=tx.now + LEASE)).rowcount == 1


def _release(tx: Tx, name: str, holder: str) -> None:
    tx.conn.execute(delete(lock).where(lock.c.name == name, lock.c.holder == holder))


class HomeLock:
    """The operating system's lock on a home: one daemon at a time; it ends with the process that holds it.

    Use as a context manager, or `acquire` and `release`.
    """

    def __init__(self, home: Path, *, clock: Clock | None = None) -> None:
        self._path = home / "lock"
        self._clock = clock or SystemClock()
        self._handle: int | None = None

    def acquire(self) -> None:
        """Take the lock; raise HomeLocked (who has it, since when) or StoreUnavailable."""
        try:
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StoreUnavailable(
                f"cannot write to {self._path.parent}: {error.strerror}; "
                "make it writable or set BRAIN_HOME to a folder that is",
                reason="read_only",
            ) from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            pid, since = self.holder()
            who = f"process {pid}" if pid is not None else "another process"
            when = f" since {to_iso(since)}" if since is not None else ""
            raise HomeLocked(
                f"{self._path.parent} is in use by {who}{when}; stop it first or use another home", pid=pid, since=since
            ) from None
        try:
            os.ftruncate(handle, 0)
            os.write(handle, json.dumps({"pid": os.getpid(), "since": to_iso(self._clock.now())}).encode())
        except OSError as error:
            os.close(handle)
            raise StoreUnavailable(
                f"cannot write to {self._path}: {error.strerror}; free some space, then try again", reason="disk_full"
            ) from error
        self._handle = handle

    def release(self) -> None:
        """Give the lock back; safe to call twice."""
        if self._handle is not None:
            os.ftruncate(self._handle, 0)
            os.close(self._handle)
            self._handle = None

    def holder(self) -> tuple[int | None, datetime | None]:
        """Return pid and start of who wrote the lock file last, as far as it can be read."""
        try:
            written = json.loads(self._path.read_text(encoding="utf-8"))
            return int(written["pid"]), from_iso(written["since"])
        except (OSError, ValueError, KeyError, TypeError):
            return None, None

    def __enter__(self) -> Self:
        if self._handle is not None:
            raise StoreError(f"{self._path} is held already")
        self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()
