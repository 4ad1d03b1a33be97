"""Folders that all homes of one database must share: evidence, and the library where it is indexed.

A database of PostgreSQL may serve several homes, on several machines. Its rows name evidence by content, and index
documents by their path; so every home must see the same two folders, by a mount or a link. A mark in the evidence
folder, whose number the database knows, shows that it is the one.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from pathlib import Path
from typing import Final

from data.errors import StoreUnavailable
from data.library_index import count_documents
from data.sqlite import SqliteBackend
from data.state import get_state, set_state
from data.store import Store
from data.tx import Tx

__all__ = ["check_shared_folders"]

_MARK: Final = "folder.json"
_STATE: Final = "evidence_folder"


async def check_shared_folders(store: Store, library: Path) -> None:
    """Make sure that this home has the evidence folder, and the library, of the other homes of its database.

    The first home of a database marks its folder. Raises StoreUnavailable for a home with another folder. A SQLite
    file has one home, and nothing is looked at.
    """
    if isinstance(store.backend, SqliteBackend):
        return
    folder = store.home / "evidence"
    known = await store.read(get_state, _STATE)
    mark = await asyncio.to_thread(_read, folder)
    if known is None:
        candidate = mark or secrets.token_hex(16)
        if mark is None:
            await asyncio.to_thread(_write, folder, candidate)
        known = await store.write(_claim, candidate)
        if mark is None and known != candidate:  # another home was quicker
            await asyncio.to_thread((folder / _MARK).unlink, missing_ok=True)
        mark = candidate
    if known != mark:
        raise StoreUnavailable(
            f"{folder} is not the evidence folder of the other homes of {store.where}; mount or link theirs there",
            reason="cannot_open",
        )
    if await store.read(count_documents) and not await asyncio.to_thread(_holds_anything, library):
        raise StoreUnavailable(
            f"{store.where} has an indexed library and {library} is empty; mount or link the same library there, "
            "or set BRAIN_LIBRARY_DIR",
            reason="cannot_open",
        )


def _claim(tx: Tx, candidate: str) -> str:
    known = get_state(tx.conn, _STATE)
    if known is None:
        set_state(tx, _STATE, candidate)
        return candidate
    return str(known)


def _read(folder: Path) -> str | None:
    try:
        return str(json.loads((folder / _MARK).read_text(encoding="utf-8"))["id"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write(folder: Path, mark: str) -> None:
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        (folder / _MARK).write_text(json.dumps({"id": mark}) + "\n", encoding="utf-8")
    except OSError as error:
        raise StoreUnavailable(
            f"cannot write to {folder}: {error.strerror}; make it writable", reason="read_only"
        ) from error


def _holds_anything(folder: Path) -> bool:
    try:
        return any(folder.iterdir())
    except OSError:
        return False
