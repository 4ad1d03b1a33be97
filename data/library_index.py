"""The library's index: which files are known, written in batches, technical rows (spec 04, Search)."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, bindparam, delete, insert, select, text, update

from data.extract import MIME_TYPES
from data.fulltext_postgres import put_library_text, remove_library_text
from data.models import SourceClass
from data.schema import library_document
from data.tx import Tx

__all__ = [
    "SUFFIXES",
    "Collection",
    "Entry",
    "KnownFile",
    "count_documents",
    "find_files",
    "known_files",
    "read_collections",
    "remove_entries",
    "write_entries",
]

SUFFIXES: Final = frozenset([".html", ".htm", ".xhtml", ".md", ".markdown", ".txt", ".pdf"]) & frozenset(MIME_TYPES)
_CHUNK: Final = 500


@dataclass(frozen=True, slots=True)
class Collection:
    """What `collection.toml` says of the first folder below the library; the root is the collection "library"."""

    name: str
    publisher: str
    source_class: SourceClass = SourceClass.UNKNOWN
    language: str = ""
    base_url: str = ""


@dataclass(frozen=True, slots=True)
class KnownFile:
    id: int
    sha256: str
    size: int
    mtime_ns: int
    described: tuple[str, str, str, str]
    """Collection, publisher, class and base URL as they were indexed."""
    meta: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Entry:
    """A document as the index takes it; `body` is its extracted text, empty where there is none."""

    path: str
    collection: Collection
    publisher: str
    language: str
    title: str
    body: str
    sha256: str
    size: int
    mtime_ns: int
    published_at: datetime | None
    meta: Mapping[str, Any]

    def row(self, now: datetime) -> dict[str, Any]:
        return {
            "path": self.path,
            "collection": self.collection.name,
            "publisher": self.publisher,
            "source_class": self.collection.source_class.value,
            "language": self.language,
            "title": self.title,
            "base_url": self.collection.base_url,
            "sha256": self.sha256,
            "size": self.size,
            "mtime_ns": self.mtime_ns,
            "published_at": self.published_at,
            "meta": dict(self.meta),
            "indexed_at": now,
        }


def find_files(root: Path) -> dict[str, tuple[int, int]]:
    """Return path below `root` (forward slashes), size and mtime of every document; links and hidden files are not."""
    found: dict[str, tuple[int, int]] = {}
    folders = [root]
    while folders:
        folder = folders.pop()
        try:
            entries = sorted(folder.iterdir())
        except OSError:
            continue
        for entry in entries:
            if entry.name.startswith(".") or entry.is_symlink():
                continue
            if entry.is_dir():
                folders.append(entry)
            elif entry.suffix.lower() in SUFFIXES and entry.is_file():
                info = entry.stat()
                relative = entry.relative_to(root).as_posix()
                if relative.isprintable():  # a name no URL can carry is left alone
                    found[relative] = (info.st_size, info.st_mtime_ns)
    return dict(sorted(found.items()))


def read_collections(root: Path, paths: Iterable[str]) -> tuple[dict[str, Collection], list[tuple[str, str]]]:
    """Return the collections that `paths` belong to, and what is wrong with their `collection.toml` files.

    A broken file costs only its own facts: its documents stay in the index, of class unknown.
    """
    collections: dict[str, Collection] = {}
    problems: list[tuple[str, str]] = []
    for name in sorted({path.split("/")[0] if "/" in path else "" for path in paths}):
        if not name:
            collections[name] = Collection("library", "library")
            continue
        facts, problem = _facts(root / name / "collection.toml")
        if problem:
            problems.append((f"{name}/collection.toml", problem))
        collections[name] = Collection(
            name,
            facts.get("publisher") or name,
            SourceClass(facts.get("class") or "unknown"),
            facts.get("language", "")[:2].lower(),
            facts.get("base_url", ""),
        )
    return collections, problems


def _facts(path: Path) -> tuple[dict[str, str], str]:
    if not path.is_file():
        return {}, ""
    try:
        read = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        return {}, f"cannot be read: {error}"
    facts = {key: value.strip() for key, value in read.items() if isinstance(value, str)}
    wrong = [key for key in read if key not in {"publisher", "class", "language", "base_url"} or key not in facts]
    problem = f"has what is not known here: {', '.join(sorted(wrong))}" if wrong else ""
    if facts.get("class", "unknown") not in list(SourceClass):
        problem = f"names the unknown class {facts.pop('class')!r}"
    if facts.get("base_url") and not facts["base_url"].startswith(("https://", "http://")):
        problem = f"names the base URL {facts.pop('base_url')!r}, which is none"
    return facts, problem


def known_files(conn: Connection) -> dict[str, KnownFile]:
    """Return what is indexed, by path."""
    table = library_document.c
    columns = (table.id, table.path, table.sha256, table.size, table.mtime_ns, table.collection, table.publisher)
    rows = conn.execute(select(*columns, table.source_class, table.base_url, table.meta))
    return {
        row.path: KnownFile(
            row.id,
            row.sha256,
            row.size,
            row.mtime_ns,
            (row.collection, row.publisher, row.source_class, row.base_url),
            row.meta,
        )
        for row in rows
    }


def count_documents(conn: Connection) -> int:
    """Return how many documents are indexed."""
    return int(conn.execute(text("SELECT count(*) FROM library_document")).scalar_one())


def write_entries(tx: Tx, entries: Sequence[Entry], touched: Mapping[int, tuple[int, int]]) -> None:
    """Put documents in or replace them; `touched` are those whose size and mtime alone changed, by id."""
    ids = _ids(tx.conn, [entry.path for entry in entries])
    for entry in entries:
        number = ids.get(entry.path)
        if number is None:
            result = tx.conn.execute(insert(library_document).values(**entry.row(tx.now)))
            (number,) = result.inserted_primary_key or (0,)
        else:
            tx.conn.execute(update(library_document).where(library_document.c.id == number).values(**entry.row(tx.now)))
            _remove_text(tx.conn, number)
        _put_text(tx.conn, number, entry)
    if touched:
        tx.conn.execute(
            update(library_document)
            .where(library_document.c.id == bindparam("number"))
            .values(size=bindparam("new_size"), mtime_ns=bindparam("new_mtime")),
            [{"number": number, "new_size": size, "new_mtime": mtime} for number, (size, mtime) in touched.items()],
        )


def _put_text(conn: Connection, number: int, entry: Entry) -> None:
    if conn.dialect.name == "postgresql":
        put_library_text(conn, number, entry.title, entry.body)
        return
    conn.execute(
        text("INSERT INTO library_fts (rowid, title, body) VALUES (:id, :title, :body)"),
        {"id": number, "title": entry.title, "body": entry.body},
    )


def _remove_text(conn: Connection, number: int) -> None:
    if conn.dialect.name == "postgresql":
        remove_library_text(conn, number)
        return
    conn.execute(text("DELETE FROM library_fts WHERE rowid = :id"), {"id": number})


def _ids(conn: Connection, paths: Sequence[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for start in range(0, len(paths), _CHUNK):
        statement = select(library_document.c.path, library_document.c.id).where(
            library_document.c.path.in_(paths[start : start + _CHUNK])
        )
        found.update({row.path: row.id for row in conn.execute(statement)})
    return found


def remove_entries(tx: Tx, ids: Sequence[int]) -> None:
    """Take documents out of the index."""
    for number in ids:
        _remove_text(tx.conn, number)
    for start in range(0, len(ids), _CHUNK):
        tx.conn.execute(delete(library_document).where(library_document.c.id.in_(ids[start : start + _CHUNK])))
