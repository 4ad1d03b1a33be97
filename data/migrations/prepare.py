"""Making the home and the database ready to open: create, look at the revision, migrate when behind.

The usual start reads the header and one row; Alembic is loaded only when there is something to do.
Two processes that start at once are kept apart by an operating-system lock for that time alone.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from sqlalchemy.exc import SQLAlchemyError

from data import sqlite
from data.errors import DatabaseDamaged, DatabaseTooNew, StoreUnavailable, translate
from data.migrations.names import HEAD, REVISIONS

__all__ = ["prepare_database", "prepare_home"]

_HEADER: Final = b"SQLite format 3\x00"
_HEADER_BYTES: Final = 100
_FOREIGN: Final = "not-ours"


def prepare_home(home: Path) -> None:
    """Create `home` (mode 0700) where absent; raise StoreUnavailable when that cannot be."""
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreUnavailable(
            f"cannot create the home {home}: {error.strerror}; set BRAIN_HOME to a folder that can be written",
            reason="cannot_open",
        ) from error


def prepare_database(path: Path) -> None:
    """Leave a database of this program's revision at `path`, in WAL mode.

    Raises `DatabaseTooNew`, `DatabaseDamaged` or `StoreUnavailable`; never replaces a file that is there.
    """
    try:
        if _is_ready(path):
            return
        with _alone(path):
            if not _is_ready(path):
                _migrate(path)
    except (sqlite3.Error, SQLAlchemyError) as error:
        raise translate(error, path) from error


def _is_ready(path: Path) -> bool:
    """Tell whether the database is there, whole at first sight, in WAL mode and at this revision."""
    if not path.exists() or path.stat().st_size == 0:
        return False
    _check_header(path)
    with closing(sqlite.raw_connection(path)) as connection:
        revision = _revision(connection)
        if revision == _FOREIGN:
            raise DatabaseDamaged(
                f"{path} is a database of another program; move it away or set BRAIN_HOME to another folder"
            )
        if revision is not None and revision not in REVISIONS:
            raise DatabaseTooNew(
                f"{path} was written by a later version (revision {revision}, this one knows {HEAD}); "
                "update neural-brain or restore an older backup"
            )
        return revision == HEAD and connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"


def _check_header(path: Path) -> None:
    with path.open("rb") as file:
        header = file.read(_HEADER_BYTES)
    if not header.startswith(_HEADER):
        raise DatabaseDamaged(f"{path} is not a database; restore a backup with `brain restore` or move the file away")
    # Header bytes 16-17 hold the page size (1 means 65536), 28-31 the number of pages as of the last
    # checkpoint. With frames still in the WAL the file may be shorter than that; without, it is cut off.
    page = int.from_bytes(header[16:18], "big")
    page = 65536 if page == 1 else page
    pages = int.from_bytes(header[28:32], "big")
    wal = path.with_name(path.name + "-wal")
    if (not wal.exists() or wal.stat().st_size == 0) and path.stat().st_size < page * pages:
        raise DatabaseDamaged(
            f"{path} is cut off ({path.stat().st_size} of {page * pages} bytes); "
            "restore a backup with `brain restore` and keep this file aside"
        )


def _revision(connection: sqlite3.Connection) -> str | None:
    """Return the stored revision, None for an empty database, `_FOREIGN` for somebody else's tables."""
    tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if "alembic_version" not in tables:
        return _FOREIGN if tables else None
    row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    return None if row is None else str(row[0])


def _migrate(path: Path) -> None:
    from data.migrations.upgrade import upgrade  # loads Alembic

    with closing(sqlite.raw_connection(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
    path.chmod(0o600)
    engine = sqlite.migrator(path)
    try:
        upgrade(engine)
    finally:
        engine.dispose()


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Hold the lock beside the database that only starts with something to migrate take."""
    try:
        handle = os.open(path.with_name(path.name + ".migrating"), os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise StoreUnavailable(
            f"cannot write to {path.parent}: {error.strerror}; make it writable or set BRAIN_HOME to a folder that is",
            reason="read_only",
        ) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
