"""What a verified write and a verified batch cost, beside the bare driver doing the same in the same run.

.venv/bin/python benchmarks/store.py [--runs 5] [--json FILE]

`verified write` is compared with one bare committed transaction that inserts the same row (same file,
synchronous=FULL); `batch` with a raw executemany of the same rows in one committed transaction. Wall
and CPU seconds are medians; ratios are medians of the ratios of interleaved runs.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from data import edges
from data.crud.batch import Batch, write_batch
from data.crud.engine import perform
from data.crud.nodes import CreateNode, EdgeDraft, IngestNodes, NodeDraft
from data.crud.wire import to_wire
from data.ids import new_id
from data.models import NodeKind
from data.schema import edge, embedding, node, position
from data.store import Store

WRITES = 50
SECTIONS = 2000
Measured = tuple[float, float]


async def measured(work: Callable[[], Awaitable[object]]) -> Measured:
    wall, cpu = time.perf_counter(), time.process_time()
    await work()
    return time.perf_counter() - wall, time.process_time() - cpu


def bare(store: Store) -> sqlite3.Connection:
    connection = sqlite3.connect(store.path, isolation_level=None, timeout=10)
    for pragma in ("synchronous=FULL", "foreign_keys=ON", "temp_store=MEMORY", "cache_size=-32768"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def insert_rows(connection: sqlite3.Connection, table: str, rows: list[tuple[Any, ...]]) -> None:
    marks = ", ".join("?" * len(rows[0]))
    connection.execute("BEGIN IMMEDIATE")
    connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
    connection.execute("COMMIT")


async def verified_writes(store: Store, number: int) -> tuple[Measured, Measured]:
    async def ours() -> None:
        for i in range(WRITES):
            outcome = await perform(
                store, CreateNode(NodeDraft(NodeKind.NOTE, f"ours {number}/{i}")), actor="benchmark"
            )
            assert outcome.ok

    rows = []
    for i in range(WRITES):
        draft = NodeDraft(NodeKind.NOTE, f"bare {number}/{i}").row(store.clock.now())
        wire = to_wire(node, {"id": new_id("node"), **draft})
        rows.append(tuple(wire[column.name] for column in node.columns))
    with closing(bare(store)) as connection:

        async def theirs() -> None:
            for row in rows:
                insert_rows(connection, "node", [row])

        return await measured(ours), await measured(theirs)


async def batches(store: Store, table: Any, rows: list[dict[str, Any]]) -> tuple[Measured, Measured]:
    """Write `rows` verified, then the same rows bare into the emptied table."""
    names = [column.name for column in table.columns]
    wire = [tuple(to_wire(table, row)[name] for name in names) for row in rows]

    async def ours() -> None:
        assert (await write_batch(store, Batch("benchmark", table, rows), actor="benchmark")).ok

    async def theirs() -> None:
        insert_rows(connection, table.name, wire)

    empty(store, table.name)
    first = await measured(ours)
    empty(store, table.name)
    with closing(bare(store)) as connection:
        return first, await measured(theirs)


def empty(store: Store, table: str) -> None:
    """Empty the table from a connection of its own, so that neither side starts with warm pages."""
    with closing(bare(store)) as connection:
        connection.execute(f"DELETE FROM {table}")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def some_edges(store: Store, ids: list[str], count: int) -> list[dict[str, Any]]:
    now, chance = store.clock.now(), random.Random(7)
    rows = []
    for _ in range(count):
        source, target = sorted(chance.sample(ids, 2))
        meta = {"affinity": round(chance.random(), 6)}
        rows.append(
            {"id": new_id("edge"), "source_id": source, "target_id": target, "kind": "vector", "relation_type": None}
            | {"weight": chance.random(), "meta": meta, "active": True, "created_at": now, "updated_at": now}
        )
    return rows


async def run(home: Path, runs: int) -> dict[str, dict[str, float]]:
    table: dict[str, list[tuple[Measured, Measured]]] = {}
    alone: dict[str, Measured] = {}
    async with await Store.open(home) as store:
        drafts = [NodeDraft(NodeKind.DOCUMENT, "handbook", source_uri="b:")]
        drafts += [NodeDraft(NodeKind.SECTION, f"s {i}", "a word " * 150, "en", f"b:{i}") for i in range(SECTIONS)]
        operation = IngestNodes(drafts, [EdgeDraft(i + 1, 0) for i in range(SECTIONS)])
        for name in ("ingest of 2,000 sections", "the same again, unchanged"):
            alone[name] = await measured(lambda: perform(store, operation, actor="benchmark"))
        await verified_writes(store, 0)
        for number in range(1, runs + 1):
            table.setdefault(f"{WRITES} verified writes", []).append(await verified_writes(store, number))
        await store.write(lambda tx: tx.conn.exec_driver_sql("DELETE FROM edge"))
        ids = list((await store.read_bulk(edges.edge_arrays)).ids)
        vectors = [
            {"node_id": i, "model": "m", "dim": 384, "content_hash": "h", "vector": random.randbytes(1536)} for i in ids
        ]
        now = store.clock.now()
        places = [{"node_id": i, "x": 0.1, "y": 0.2, "z": 0.0, "updated_at": now} for i in ids]
        for _ in range(runs):
            table.setdefault("batch of 20,000 edges", []).append(
                await batches(store, edge, some_edges(store, ids, 20_000))
            )
            table.setdefault(f"batch of {len(ids)} vectors", []).append(await batches(store, embedding, vectors))
            table.setdefault(f"batch of {len(ids)} positions", []).append(await batches(store, position, places))
    found = {name: {"wall_s": wall, "cpu_s": cpu} for name, (wall, cpu) in alone.items()}
    for name, pairs in table.items():
        found[name] = {
            "wall_s": statistics.median(ours[0] for ours, _ in pairs),
            "cpu_s": statistics.median(ours[1] for ours, _ in pairs),
            "wall_ratio": statistics.median(ours[0] / theirs[0] for ours, theirs in pairs),
            "cpu_ratio": statistics.median(ours[1] / theirs[1] for ours, theirs in pairs),
        }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(run(Path(folder) / "home", options.runs))
    print(f"{'work':<32}{'wall s':>9}{'CPU s':>9}{'wall ratio':>12}{'CPU ratio':>12}")
    for name, row in found.items():
        ratios = [f"{row[key]:>12.2f}" if key in row else f"{'-':>12}" for key in ("wall_ratio", "cpu_ratio")]
        print(f"{name:<32}{row['wall_s']:>9.3f}{row['cpu_s']:>9.3f}{''.join(ratios)}")
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
