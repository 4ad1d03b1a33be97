"""Keeping the readings of nodes in the store, so that a scan reads only what has changed since the last (spec 05, 12).

A reading holds for one content and one reader. The reader's name is made of the very sources that do the reading, so
that a new version of the program reads again without anybody having to remember it, and of the privacy settings.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import astuple
from functools import cache
from importlib.util import find_spec
from typing import Any, Final

from data.collecting import no_collections
from data.crud.batch import Batch, Columns, write_batch
from data.errors import StoreError
from data.nodes import NodeContent
from data.progress import Progress, silent
from data.readings import unread_nodes
from data.schema import node_reading
from data.store import Store
from research.private import GuardPolicy
from research.reading import read_node

__all__ = ["read_nodes", "reader_name"]

_SOURCES: Final = (
    "data.characters", "data.codes", "data.identifiers", "data.language", "data.products", "data.signs", "data.text",
    "research.disguise", "research.labels", "research.private", "research.reading", "research.references",
    "research.traces", "snowballstemmer", "snowballstemmer.english_stemmer", "snowballstemmer.german_stemmer",
)  # fmt: skip
"""Modules on which a reading hangs."""
_AT_ONCE: Final = 2_000
"""Nodes that are read and written in one batch: what an interruption loses, and what stands in memory."""


async def read_nodes(store: Store, privacy: GuardPolicy, *, progress: Progress = silent) -> int:
    """Read the nodes that are new or changed, keep the readings, and return how many they were.

    Raises StoreError where they cannot be written. What was read before an interruption stays.
    """
    reader, after, done = reader_name(privacy), "", 0
    while unread := await store.read_bulk(unread_nodes, reader, limit=_AT_ONCE, after=after):
        rows = await asyncio.to_thread(_rows, unread, reader, privacy)
        outcome = await write_batch(store, Batch("readings", node_reading, rows), actor="scanner")
        if not outcome.ok:
            raise StoreError(f"readings of nodes were not kept: {outcome.message}")
        after, done = unread[-1].id, done + len(unread)
        progress("reading", done, None)
    return done


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


def _rows(nodes: Sequence[NodeContent], reader: str, privacy: GuardPolicy) -> Columns:
    with no_collections():
        readings = [read_node(node, privacy) for node in nodes]
    columns: dict[str, list[Any]] = {
        "node_id": [node.id for node in nodes],
        "content_hash": [node.content_hash for node in nodes],
        "reader": [reader] * len(nodes),
    }
    for name in ("chars", "label", "words", "named", "terms"):
        columns[name] = [getattr(reading, name) for reading in readings]
    return Columns(columns)
