"""Backup and restore of a home: one tar file, consistent while the daemon runs (spec 09).

The database is copied first, through SQLite's online backup or pg_dump, the evidence files after it: a file is
written before its row (spec 02), so every row in the copy finds its file. A manifest of SHA-256 sums
closes the archive; restore checks each before anything counts as there.
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from brain.errors import BrainError, RefusedError, UsageError
from brain.version import VERSION
from data.clock import to_iso
from data.progress import Progress
from data.snapshots import SnapshotError, check_database, copy_database

__all__ = ["BackupReport", "back_up", "restore"]

DATABASE: Final = "brain.db"
DUMP: Final = "brain.dump"
"""What stands in the place of the database file where the store is PostgreSQL."""
FOLDERS: Final = ("evidence", "exports", "inbox", "library")
MANIFEST: Final = "manifest.json"
FORMAT: Final = "neural-brain-backup/1"
CHUNK: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class BackupReport:
    file: str
    files: int
    bytes: int


def back_up(
    home: Path, file: Path, *, now: datetime, progress: Progress, database: Path | str | None = None
) -> BackupReport:
    """Write `home` to the tar `file`; appears whole or not at all. Secrets (the API token) stay out.

    `database` is the SQLite file where it lies elsewhere than in the home (restore brings it into the home), or the
    address of a PostgreSQL database.

    Raises UsageError where there is no store or the target exists, BrainError where it cannot be written.
    """
    database = database or home / DATABASE
    if isinstance(database, Path) and not database.is_file():
        raise UsageError(f"There is no store at {database} to back up.")
    if file.exists():
        raise UsageError(f"{file} exists already; name a new file.")
    partial = file.with_name(file.name + ".partial")
    try:
        with tempfile.TemporaryDirectory(dir=file.absolute().parent) as scratch:
            copy = Path(scratch) / (DATABASE if isinstance(database, Path) else DUMP)
            _copy(database, copy)
            members = [(copy.name, copy), *_files(home)]
            sums: dict[str, str] = {}
            with tarfile.open(partial, "w") as archive:
                for number, (name, path) in enumerate(members, 1):
                    sums[name] = _digest(path)
                    archive.add(path, arcname=name, recursive=False)
                    progress("backup", number, len(members))
                manifest = {"format": FORMAT, "version": VERSION, "made_at": to_iso(now), "sha256": sums}
                _add_bytes(archive, MANIFEST, json.dumps(manifest, indent=1).encode())
        partial.replace(file)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise BrainError(f"The backup {file} could not be written: {error.strerror or error}.") from error
    except SnapshotError as error:
        partial.unlink(missing_ok=True)
        where = f" at {database}" if isinstance(database, Path) else ""
        raise BrainError(f"The store{where} could not be copied: {error}.") from error
    return BackupReport(file=str(file), files=len(members), bytes=file.stat().st_size)


def _copy(database: Path | str, target: Path) -> None:
    if isinstance(database, Path):
        copy_database(database, target)
        return
    from data.snapshots_postgres import dump_server  # loads the driver

    dump_server(database, target)


def restore(home: Path, file: Path, *, progress: Progress, address: str = "") -> BackupReport:
    """Bring the backup `file` into `home`, which must hold no store; all sums are checked first.

    A backup of a PostgreSQL database goes into the empty one at `address`, and its files into `home`.

    Raises RefusedError for an archive that is no backup, damaged, or would write outside, UsageError
    for a missing file or a home that is in use.
    """
    if not file.is_file():
        raise UsageError(f"There is no backup file {file}.")
    if (home / DATABASE).exists():
        raise UsageError(f"{home} holds a store already; restore into an empty home (--home DIR) or move it away.")
    home.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home.absolute().parent, prefix=".restore-") as scratch:
        staged = Path(scratch) / "home"
        staged.mkdir(mode=0o700)
        sums = _unpack(file, staged, progress)
        if DUMP in sums:
            _restore_server(staged / DUMP, home, address)
        elif address:
            raise UsageError(f"{file} holds a SQLite store; leave BRAIN_DATABASE_URL empty to restore it.")
        elif fault := check_database(staged / DATABASE):
            raise RefusedError(f"The database in {file} is damaged: {fault}.")
        _move_in(staged, home)
    return BackupReport(file=str(file), files=len(sums), bytes=file.stat().st_size)


def _restore_server(dump: Path, home: Path, address: str) -> None:
    if not address:
        raise UsageError("This is a backup of a PostgreSQL store; name an empty database in BRAIN_DATABASE_URL.")
    _refuse_full(dump.parent, home, but=DUMP)
    from data.snapshots_postgres import restore_server  # loads the driver

    try:
        restore_server(address, dump)
    except SnapshotError as error:
        raise BrainError(f"The database could not be restored: {error}.") from error
    dump.unlink()


def _unpack(file: Path, staged: Path, progress: Progress) -> dict[str, str]:
    try:
        with tarfile.open(file, "r:") as archive:
            members = archive.getmembers()
            for number, member in enumerate(members, 1):
                if not member.isfile():
                    raise RefusedError(f"{file} holds {member.name!r}, which is no regular file.")
                archive.extract(member, staged, filter="data")
                progress("restore", number, len(members))
    except (tarfile.TarError, OSError, EOFError) as error:
        raise RefusedError(f"{file} is not a whole backup: {error}.") from error
    try:
        manifest = json.loads((staged / MANIFEST).read_text(encoding="utf-8"))
        sums: dict[str, str] = manifest["sha256"]
        if manifest["format"] != FORMAT or not {DATABASE, DUMP} & sums.keys():
            raise ValueError(manifest.get("format"))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RefusedError(f"{file} is not a backup of Neural Brain (no manifest of {FORMAT}).") from error
    for name, expected in sums.items():
        path = staged / name
        if not path.is_file() or _digest(path) != expected:
            raise RefusedError(f"{name} in {file} is missing or altered; use another backup.")
    (staged / MANIFEST).unlink()
    return sums


def _move_in(staged: Path, home: Path) -> None:
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    _refuse_full(staged, home)
    # The database last: a restore that is cut short leaves a home without a store, which can be restored again.
    for entry in sorted(staged.iterdir(), key=lambda path: path.name == DATABASE):
        shutil.move(entry, home / entry.name)


def _refuse_full(staged: Path, home: Path, *, but: str = "") -> None:
    for entry in sorted(staged.iterdir()):
        if entry.name != but and (home / entry.name).exists():
            raise UsageError(f"{home / entry.name} exists already; restore into an empty home (--home DIR).")


def _files(home: Path) -> Iterator[tuple[str, Path]]:
    for folder in FOLDERS:
        for path in sorted((home / folder).rglob("*")):
            if path.is_file() and not path.is_symlink():
                yield path.relative_to(home).as_posix(), path


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _add_bytes(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    archive.addfile(info, io.BytesIO(content))
