"""Keeping the readings of nodes in the store, so that a scan reads only what has changed since the last (spec 05, 12).

A reading holds for one content and one reader. The reader's name is made of the very sources that do the reading, so
that a new version of the program reads again without anybody having to remember it, and of the privacy settings.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from dataclasses import astuple
from functools import cache
from importlib.util import find_spec
from typing import Any, Final

from data.crud.batch import Batch, Columns, write_batch
from data.errors import StoreError
from data.nodes import NodeContent
from data.progress import Progress, silent
from data.readings import NodeReading, count_unread, unread_nodes
from data.schema import node_reading
from data.store import Store
from research.private import GuardPolicy
from research.read_pool import WORKERS, pool, read_all

__all__ = ["read_nodes", "reader_name"]

_SOURCES: Final = (
    "data.characters", "data.codes", "data.identifiers", "data.language", "data.products", "data.signs", "data.text",
    "research.disguise", "research.labels", "research.private", "research.reading", "research.references",
    "research.traces", "snowballstemmer", "snowballstemmer.english_stemmer", "snowballstemmer.german_stemmer",
)  # fmt: skip
"""Modules on which a reading hangs."""
_AT_ONCE: Final = 1_000
"""Nodes that are read and written in one batch: what an interruption loses, and what stands in memory."""
_MANY: Final = 20_000
"""Unread nodes from which processes are worth their start: each loads the program and learns the words anew."""


async def read_nodes(store: Store, privacy: GuardPolicy, *, progress: Progress = silent) -> int:
    """Read the nodes that are new or changed, keep the readings, and return how many they were.

    Raises StoreError where they cannot be written. What was read before an interruption stays.
    """
    reader = reader_name(privacy)
    waiting = await store.read_bulk(count_unread, reader)
    if not waiting:
        return 0

    def tell(done: int) -> None:
        progress("reading", done, waiting)

    if waiting < _MANY:
        return await _read(store, reader, privacy, None, tell)
    processes = pool()
    try:
        return await _read(store, reader, privacy, processes, tell)
    except BrokenExecutor:  # a process was killed, as where memory is short: the rest is read here, more slowly
        return await _read(store, reader, privacy, None, tell)
    finally:
        processes.shutdown(wait=False, cancel_futures=True)


async def _read(
    store: Store,
    reader: str,
    privacy: GuardPolicy,
    processes: ProcessPoolExecutor | None,
    tell: Callable[[int], None],
) -> int:
    """Read and keep chunk by chunk; while one is written, the next are being read."""
    loop = asyncio.get_running_loop()
    under_way: deque[tuple[list[NodeContent], asyncio.Future[list[NodeReading]]]] = deque()
    after, done, more = "", 0, True
    try:
        while more or under_way:
            while more and len(under_way) < (1 if processes is None else WORKERS + 1):
                unread = await store.read_bulk(unread_nodes, reader, limit=_AT_ONCE, after=after)
                more = len(unread) == _AT_ONCE
                if unread:
                    after = unread[-1].id
                    under_way.append((unread, loop.run_in_executor(processes, read_all, unread, privacy)))
            if under_way:
                nodes, reading = under_way.popleft()
                await _keep(store, nodes, await reading, reader)
                done += len(nodes)
                tell(done)
    finally:
        for _, reading in under_way:
            reading.cancel()
    return done


async def _keep(store: Store, nodes: Sequence[NodeContent], readings: Sequence[NodeReading], reader: str) -> None:
    outcome = await write_batch(store, Batch("readings", node_reading, _rows(nodes, readings, reader)), actor="scanner")
    if not outcome.ok:
        raise StoreError(f"readings of nodes were not kept: {outcome.message}")


def reader_name(privacy: GuardPolicy) -> str:
    """Return what names the reader: its sources and the privacy settings, as 32 hexadecimal digits."""
    return hashlib.sha256(f"{_sources()}\0{astuple(privacy)!r}".encode()).hexdigest()[:32]


@cache
def _sources() -> str:
    digest = hashlib.sha256()
    for name in _SOURCES:
        spec = find_spec(name)
        get_source = getattr(spec.loader, "get_source", None) if spec else None
        digest.update(f"{name}\0{get_source(name) if get_source else ''}\0".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _rows(nodes: Sequence[NodeContent], readings: Sequence[NodeReading], reader: str) -> Columns:
    columns: dict[str, list[Any]] = {
        "node_id": [node.id for node in nodes],
        "content_hash": [node.content_hash for node in nodes],
        "reader": [reader] * len(nodes),
    }
    for name in ("chars", "label", "words", "named", "terms"):
        columns[name] = [getattr(reading, name) for reading in readings]
    return Columns(columns)
