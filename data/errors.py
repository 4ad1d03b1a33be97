"""Errors of the store, and the one seam that turns what SQLite says into them (PostgreSQL: data/postgres_errors.py).

StoreError
├── StoreUnavailable      the database cannot be reached or written right now (read-only, full, locked, away)
├── DatabaseTooNew        written by a later version of this program
├── DatabaseDamaged       not a database, or one whose pages do not hold together
├── ConstraintViolated    a write that breaks a key or a reference; nothing of it was kept
├── StoreClosed           used before opening or after closing
├── HomeLocked            another daemon holds this home
└── LockLost              a lease ran out and somebody else took it

Every message is one sentence a person can act on: what happened, where, and what to do.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from datetime import datetime
from pathlib import Path
from typing import Final

from sqlalchemy.exc import IntegrityError, StatementError

__all__ = [
    "ConstraintViolated",
    "DatabaseDamaged",
    "DatabaseTooNew",
    "HomeLocked",
    "LockLost",
    "StoreClosed",
    "StoreError",
    "StoreUnavailable",
    "translate",
]


class StoreError(Exception):
    """The root: something about the store, its message fit for a person."""


class StoreUnavailable(StoreError):
    """The store cannot be written or read now; trying again later may help.

    `reason` is one of `read_only`, `disk_full`, `locked`, `cannot_open`, `io_error`.
    """

    def __init__(self, message: str, *, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class DatabaseTooNew(StoreError):
    """The database carries a revision that this program does not know."""


class DatabaseDamaged(StoreError):
    """The file is no database, is truncated, or its pages do not hold together."""


class ConstraintViolated(StoreError):
    """A key or a reference was broken; the whole transaction was rolled back."""


class StoreClosed(StoreError):
    """The store is not open."""


class HomeLocked(StoreError):
    """Another process holds the home; `pid` and `since` say who, where that could be read."""

    def __init__(self, message: str, *, pid: int | None, since: datetime | None) -> None:
        super().__init__(message)
        self.pid = pid
        self.since = since


class LockLost(StoreError):
    """The engine mutex was held too long without renewal and now belongs to somebody else."""


_UNAVAILABLE: Final = {
    sqlite3.SQLITE_READONLY: (
        "read_only",
        "cannot write to {path}: it is read-only; make it and its folder writable, or set BRAIN_HOME to another folder",
    ),
    sqlite3.SQLITE_PERM: (
        "read_only",
        "no permission for {path}; make it and its folder writable, or set BRAIN_HOME to another folder",
    ),
    sqlite3.SQLITE_FULL: ("disk_full", "cannot write to {path}: the disk is full; free some space, then try again"),
    sqlite3.SQLITE_BUSY: (
        "locked",
        "{path} is locked by another process for too long; let the other command finish, then try again",
    ),
    sqlite3.SQLITE_LOCKED: ("locked", "{path} is locked; let the other command finish, then try again"),
    sqlite3.SQLITE_CANTOPEN: (
        "cannot_open",
        "cannot open {path}; check that the folder exists, is readable and that BRAIN_HOME names it",
    ),
    sqlite3.SQLITE_IOERR: (
        "io_error",
        "reading or writing {path} failed ({detail}); check the disk and its free space, then try again",
    ),
}
_ROOM: Final = 64 * 1024
"""Bytes free below which a disk counts as full: the least that SQLite asks for to open a database."""
_DAMAGED: Final = {
    sqlite3.SQLITE_CORRUPT: "{path} is damaged ({detail}); restore a backup with `brain restore`, keep this file",
    sqlite3.SQLITE_NOTADB: "{path} is not a database; restore a backup with `brain restore` or move the file away",
}


def translate(error: Exception, path: Path) -> StoreError | ValueError:
    """Return the `StoreError` for what the driver raised about the database at `path`.

    A value that its column cannot hold is a ValueError, as it is where no statement was sent yet.
    """
    original = error.orig if isinstance(error, StatementError) else error
    if isinstance(original, ValueError | TypeError):
        return ValueError(f"a value cannot be stored: {original}")
    code = getattr(original, "sqlite_errorcode", None)
    primary = code & 0xFF if isinstance(code, int) else None
    if primary == sqlite3.SQLITE_IOERR and _is_full(path):  # what SQLite says where its shared index finds no room
        primary = sqlite3.SQLITE_FULL
    if primary == sqlite3.SQLITE_CANTOPEN and path.exists() and not os.access(path.parent, os.W_OK):
        primary = sqlite3.SQLITE_READONLY  # it has no room for the index that all who read it share
    if primary in _UNAVAILABLE:
        reason, sentence = _UNAVAILABLE[primary]
        return StoreUnavailable(sentence.format(path=path, detail=original), reason=reason)
    if primary in _DAMAGED:
        return DatabaseDamaged(_DAMAGED[primary].format(path=path, detail=original))
    if isinstance(error, IntegrityError | sqlite3.IntegrityError):
        return ConstraintViolated(f"the write breaks a rule of the store and was not kept: {original}")
    return StoreError(f"the store at {path} refused a statement: {original}")


def _is_full(path: Path) -> bool:
    try:
        return shutil.disk_usage(path.parent).free < _ROOM
    except OSError:
        return False
