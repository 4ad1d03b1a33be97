"""Whole copies of the database, for backup and restore: taken while others write, checked before they count."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

__all__ = ["SnapshotError", "check_database", "copy_database"]


class SnapshotError(Exception):
    """The database could not be copied or read; the message says why."""


def copy_database(source: Path, target: Path) -> None:
    """Copy `source` to the new file `target` through SQLite's online backup; raise SnapshotError."""
    try:
        with (
            closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True, timeout=10)) as reading,
            closing(sqlite3.connect(target)) as writing,
        ):
            reading.backup(writing)
    except sqlite3.Error as error:
        raise SnapshotError(str(error)) from error


def check_database(path: Path) -> str:
    """Return what SQLite finds wrong with the file's pages, "" for nothing."""
    try:
        with closing(sqlite3.connect(path)) as connection:
            verdict: str = connection.execute("PRAGMA integrity_check").fetchone()[0]
    except sqlite3.Error as error:
        return str(error)
    return "" if verdict == "ok" else verdict
