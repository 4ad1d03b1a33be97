"""Backup and restore: whole or not at all, checked before it counts, never over what is there."""

from __future__ import annotations

import io
import sqlite3
import tarfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from brain.backup import back_up, restore
from brain.errors import RefusedError, UsageError
from data.progress import silent

NOW = datetime(2026, 1, 15, tzinfo=UTC)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    (home / "evidence" / "ab").mkdir(parents=True)
    (home / "evidence" / "ab" / "abc.txt.zst").write_bytes(b"full text")
    (home / "token").write_text("secret")
    with sqlite3.connect(home / "brain.db") as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE t (x)")
        connection.executemany("INSERT INTO t VALUES (?)", [(number,) for number in range(1000)])
    connection.close()
    return home


def count(database: Path) -> int:
    connection = sqlite3.connect(database)
    try:
        return int(connection.execute("SELECT count(*) FROM t").fetchone()[0])
    finally:
        connection.close()


def test_a_backup_beside_an_open_writer_restores_whole(home: Path, tmp_path: Path) -> None:
    writer = sqlite3.connect(home / "brain.db", isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("INSERT INTO t VALUES (-1)")  # not committed: must not be in the copy
    report = back_up(home, tmp_path / "b.tar", now=NOW, progress=silent)
    writer.execute("ROLLBACK")
    writer.close()
    assert report.files == 2
    restore(tmp_path / "new", tmp_path / "b.tar", progress=silent)
    assert count(tmp_path / "new" / "brain.db") == 1000
    assert (tmp_path / "new" / "evidence" / "ab" / "abc.txt.zst").read_bytes() == b"full text"
    assert not (tmp_path / "new" / "token").exists()
    assert not (tmp_path / "b.tar.partial").exists()


def test_nothing_is_overwritten(home: Path, tmp_path: Path) -> None:
    target = tmp_path / "b.tar"
    back_up(home, target, now=NOW, progress=silent)
    with pytest.raises(UsageError, match="exists already"):
        back_up(home, target, now=NOW, progress=silent)
    with pytest.raises(UsageError, match="holds a store"):
        restore(home, target, progress=silent)
    with pytest.raises(UsageError, match="no store"):
        back_up(tmp_path / "empty", tmp_path / "c.tar", now=NOW, progress=silent)
    with pytest.raises(UsageError, match="no backup file"):
        restore(tmp_path / "new", tmp_path / "none.tar", progress=silent)


def test_a_damaged_or_foreign_archive_is_refused_and_leaves_nothing(home: Path, tmp_path: Path) -> None:
    good = tmp_path / "b.tar"
    back_up(home, good, now=NOW, progress=silent)
    content = good.read_bytes()
    spot = content.index(b"full text")
    (tmp_path / "altered.tar").write_bytes(content[:spot] + b"fake text" + content[spot + 9 :])
    (tmp_path / "cut.tar").write_bytes(content[: len(content) // 2])
    (tmp_path / "noise.tar").write_bytes(b"not a tar at all")
    with tarfile.open(tmp_path / "foreign.tar", "w") as archive:
        info = tarfile.TarInfo("hello.txt")
        info.size = 2
        archive.addfile(info, io.BytesIO(b"hi"))
    with tarfile.open(tmp_path / "outside.tar", "w") as archive:
        info = tarfile.TarInfo("../outside.txt")
        info.size = 2
        archive.addfile(info, io.BytesIO(b"hi"))
    for name in ("altered", "cut", "noise", "foreign", "outside"):
        with pytest.raises(RefusedError):
            restore(tmp_path / "new", tmp_path / f"{name}.tar", progress=silent)
        assert not (tmp_path / "new").exists(), name
    assert not (tmp_path / "outside.txt").exists()
