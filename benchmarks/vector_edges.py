"""Vector edges: the difference of two graphs, written as one verified batch, beside a raw executemany of the same rows.

Ours starts from the neighbour lists and the stored edges and ends when every row was read back; the raw way has
its rows ready made and only inserts and commits them, on a connection with the same settings.
"""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.graphs import sphere_mixture
from benchmarks.measure import Row
from data.crud.batch import Batch, write_batch
from data.crud.engine import perform
from data.crud.ingest import IngestNodes, NodeDraft
from data.models import NodeKind
from data.schema import edge
from data.store import Store
from data.vectors import vector_edges
from vector.affinity import VectorGraph, vector_graph
from vector.edge_changes import edge_changes
from vector.neighbours import neighbour_state

CHANGED = 100


def rows(profile: str) -> list[Row]:
    """Return the rows of 10,000 nodes (quick) or 50,000 (full)."""
    size, rounds = (10_000, 3) if profile == "quick" else (50_000, 3)
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_rows(Path(folder) / "home", size, rounds))


async def _rows(home: Path, size: int, rounds: int) -> list[Row]:
    vectors = sphere_mixture(size, seed=3)
    graph = vector_graph(vectors, neighbour_state(vectors, 12, slack=12))
    other = _moved(graph, size)
    raw, ours = Row("edges", "raw executemany", size), Row("edges", "diffed, written, verified", size)
    same, some = Row("edges", "the same graph again", size), Row("edges", f"edges of {CHANGED} nodes changed", size)
    async with await Store.open(home) as store:
        ids = await _nodes(store, size)
        _empty(store)
        for _ in range(rounds):
            await _timed(ours, lambda: _replace(store, ids, graph))
            with closing(_bare(store)) as connection:
                stored = connection.execute("SELECT * FROM edge ORDER BY id").fetchall()
            _empty(store)
            await _timed(raw, lambda stored=stored: _insert(store, stored))
            written = await _timed(same, lambda: _replace(store, ids, graph))
            assert written == 0, f"an unchanged graph wrote {written} rows"
            some.figures["rows"] = await _timed(some, lambda: _replace(store, ids, other))
            _empty(store)
            raw.figures["rows"] = ours.figures["rows"] = len(stored)
    return [raw, ours, same, some]


async def _replace(store: Store, ids: list[str], graph: VectorGraph) -> int:
    """Do what a reevaluation does once the graph is known; return how many rows it wrote or deleted."""
    old = await store.read_bulk(vector_edges)
    changes = await asyncio.to_thread(edge_changes, store, ids, graph, old)
    batch = Batch("vector edges", edge, changes.upserts, changes.deletes)
    outcome = await write_batch(store, batch, actor="benchmark")
    assert outcome.ok, outcome.message
    return outcome.written + outcome.deleted


async def _insert(store: Store, stored: list[tuple[object, ...]]) -> int:
    with closing(_bare(store)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(f"INSERT INTO edge VALUES ({', '.join('?' * len(stored[0]))})", stored)
        connection.execute("COMMIT")
    return len(stored)


async def _timed(row: Row, work: Callable[[], Awaitable[int]]) -> int:
    wall, cpu = time.perf_counter(), time.process_time()
    written = await work()
    row.cpu.append(time.process_time() - cpu)
    row.wall.append(time.perf_counter() - wall)
    return written


def _moved(graph: VectorGraph, size: int) -> VectorGraph:
    """Return the graph with the edges of some nodes gone or of another weight, half of them each."""
    some = np.random.default_rng(4).choice(size, CHANGED, replace=False)
    touched = np.isin(graph.source, some) | np.isin(graph.target, some)
    similarity = np.where(touched, graph.similarity - np.float32(0.01), graph.similarity)
    kept = ~touched | (np.arange(len(touched)) % 2 == 0)
    return replace(
        graph,
        source=graph.source[kept],
        target=graph.target[kept],
        similarity=similarity[kept],
        affinity=graph.affinity[kept],
        duplicate=graph.duplicate[kept],
    )


async def _nodes(store: Store, size: int) -> list[str]:
    ids: list[str] = []
    for start in range(0, size, 5000):
        drafts = [NodeDraft(NodeKind.NOTE, f"node {number}") for number in range(start, min(size, start + 5000))]
        outcome = await perform(store, IngestNodes(drafts), actor="benchmark")
        ids += outcome.result.node_ids
    return sorted(ids)


def _bare(store: Store) -> sqlite3.Connection:
    connection = sqlite3.connect(store.path, isolation_level=None, timeout=10)
    for pragma in ("synchronous=FULL", "foreign_keys=ON", "temp_store=MEMORY", "cache_size=-32768"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def _empty(store: Store) -> None:
    """Empty the table from a connection of its own, so that neither side starts with warm pages."""
    with closing(_bare(store)) as connection:
        connection.execute("DELETE FROM edge")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
