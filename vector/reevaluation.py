"""From stored vectors to stored vector edges: what changed is computed, what differs is written (spec 03).

A graph that did not change is recognised by a digest over its nodes' contents and costs one read. Otherwise the
neighbour lists of the last pass, in memory or in table `neighbour`, leave only the changed rows to compute, and one
verified batch replaces the edges that differ.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from data.clock import to_iso
from data.crud.batch import Batch
from data.edges import count_by_kind
from data.events import VECTOR_REBUILT
from data.models import EdgeKind, Event
from data.progress import Progress, silent
from data.schema import edge, embedding, neighbour
from data.state import get_state
from data.store import Store
from data.vectors import StoredVectors, embedded_nodes, load_neighbours, load_vectors, vector_edges
from vector.affinity import VectorGraph, vector_graph
from vector.background import in_background
from vector.cluster import LOCAL
from vector.edge_changes import edge_changes
from vector.elsewhere import opened_blocks
from vector.lists import Kept, from_rows, step, to_rows
from vector.neighbours import FULL_PASS_SHARE, full_pass_cells, neighbour_state, update_neighbours
from vector.selection import Tick
from vector.similarity import BadVectors
from vector.torchblocks import Device
from vector.writing import WriteFailed, write

__all__ = ["LAST_REEVALUATION", "LAYOUT_WANTED", "ReevaluationReport", "Reevaluator", "VectorPolicy", "WriteFailed"]

DIGEST: Final = "vector_graph_digest"
LAST_REEVALUATION: Final = "last_vector_reevaluation"
LAYOUT_WANTED: Final = "vector_layout_wanted"
"""State row: the edges were rebuilt from nothing, and the mode `full` has not laid them out yet."""

FloatArray = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class VectorPolicy:
    """Knobs of the vector graph (BRAIN_VECTOR_…); the defaults are the documented ones."""

    k: int = 12
    min_similarity: float = 0.45
    min_affinity: float = -0.10
    block_bytes: int = 256 * 2**20
    reevaluate_interval: timedelta = timedelta(minutes=30)
    slack: int = 12
    """How much longer than k the kept lists are: so many neighbours can go before a row is computed anew."""
    threads: int | None = None
    """Threads of a pass; None takes every core the process may use."""
    offload: str = LOCAL
    """`local`, or `dask://HOST:PORT`: the cluster that computes the blocks of a pass."""
    device: Device = "cpu"
    """Where blocks are computed, here or on the cluster's workers."""


@dataclass(frozen=True, slots=True)
class ReevaluationReport:
    """What one reevaluation did; `computed` is the number of rows whose neighbours were looked for."""

    nodes: int
    added: int
    changed: int
    removed: int
    kept: int
    computed: int
    seconds: float
    duplicates: int = 0
    """Nodes that stand behind another one of the same text."""


@dataclass(frozen=True, slots=True)
class _Pass:
    """Lists over all nodes, which rows of them differ from those kept, and whose kept rows go."""

    kept: Kept
    dirty: NDArray[np.int64]
    gone: list[str]
    computed: int
    whole: bool


class Reevaluator:
    """Keeps the vector edges of one store in step with its vectors of one model."""

    def __init__(self, store: Store, model: str, policy: VectorPolicy) -> None:
        self._store = store
        self._model = model
        self._policy = policy
        self._kept: Kept | None = None

    async def run(self, *, force: bool = False, progress: Progress = silent) -> ReevaluationReport:
        """Recompute what changed and write the difference; `force` computes everything anew.

        The caller holds the engine mutex. Raises WriteFailed, StoreError, vector.cluster.ClusterLost or
        vector.torchblocks.DeviceUnavailable where the blocks are computed elsewhere, or BadVectors when stored vectors
        are damaged (they are discarded, so that they are made anew); the previous edges then stand.
        """
        started = time.perf_counter()
        nodes = await self._store.read_bulk(embedded_nodes, self._model)
        digest = await asyncio.to_thread(self._digest, nodes)
        if not force and await self._store.read(get_state, DIGEST) == digest:
            return await self._unchanged(len(nodes), started)
        found = await self._store.read_bulk(load_vectors, self._model)
        try:
            done, graph = await self._computed(found, force, progress)
        except BadVectors as damaged:
            await self._discard([found.ids[row] for row in damaged.rows])
            raise
        old = await self._store.read_bulk(vector_edges)
        changes = await asyncio.to_thread(edge_changes, self._store, found.ids, graph, old)
        await self._keep(done)
        report = ReevaluationReport(
            nodes=len(found.ids),
            added=changes.added,
            changed=changes.changed,
            removed=len(changes.deletes),
            kept=changes.kept,
            computed=done.computed,
            seconds=time.perf_counter() - started,
            duplicates=int((graph.keeper != np.arange(len(graph.keeper))).sum()),
        )
        state: dict[str, Any] = {
            LAST_REEVALUATION: to_iso(self._store.clock.now()),
            DIGEST: await asyncio.to_thread(self._digest, zip(found.ids, found.hashes, strict=True)),
        }
        if done.whole:
            state[LAYOUT_WANTED] = True
        event = Event(VECTOR_REBUILT, {**_counts(report), "seconds": round(report.seconds, 3)})
        batch = Batch("vector edges", edge, changes.upserts, changes.deletes, events=(event,), state=state)
        await write(self._store, batch)
        progress("vector edges", len(changes.upserts), len(changes.upserts))
        return report

    async def _unchanged(self, nodes: int, started: float) -> ReevaluationReport:
        counts = await self._store.read_bulk(count_by_kind)
        stamp = {LAST_REEVALUATION: to_iso(self._store.clock.now())}
        await write(self._store, Batch("vector edges", edge, state=stamp))
        kept = counts.get(EdgeKind.VECTOR, 0)
        return ReevaluationReport(nodes, 0, 0, 0, kept, 0, time.perf_counter() - started)

    def _digest(self, nodes: Iterable[tuple[str, str]]) -> str:
        """Return what the edges follow from: policy, model, and every node with its content."""
        policy = (self._policy.k, self._policy.min_similarity, self._policy.min_affinity)
        digest = hashlib.sha256(repr((policy, self._model)).encode())
        digest.update("\n".join(f"{node_id} {content}" for node_id, content in nodes).encode())
        return digest.hexdigest()

    async def _computed(self, found: StoredVectors, force: bool, progress: Progress) -> tuple[_Pass, VectorGraph]:
        """Return the lists and the graph of these vectors."""
        stored = None if force or self._kept else await self._store.read_bulk(load_neighbours, self._model)
        vectors = (
            np.frombuffer(found.data, "<f4").reshape(len(found.ids), found.dim or 1).astype(np.float32, copy=False)
        )

        policy, count = self._policy, len(found.ids)

        def work(tick: Tick) -> tuple[_Pass, VectorGraph]:
            kept = self._kept if stored is None else from_rows(stored, policy.k)
            with opened_blocks(
                vectors, offload=policy.offload, device=policy.device, block_bytes=policy.block_bytes
            ) as blocks:
                limits: Any = {
                    "block_bytes": policy.block_bytes,
                    "threads": policy.threads,
                    "tick": tick,
                    "blocks": blocks,
                }
                done = self._pass(found, vectors, None if force else kept, limits)
                graph = vector_graph(
                    vectors,
                    done.kept.state,
                    min_similarity=policy.min_similarity,
                    min_affinity=policy.min_affinity,
                    **limits,
                )
            return done, graph

        here = policy.offload == LOCAL and policy.device == "cpu"
        return await in_background(work, progress, "neighbours", full_pass_cells(count) if here else count * count)

    def _pass(self, found: StoredVectors, vectors: FloatArray, kept: Kept | None, limits: Mapping[str, Any]) -> _Pass:
        policy, count = self._policy, len(found.ids)
        if kept is not None:
            taken = step(kept, found.ids, found.hashes, k=policy.k, length=policy.k + policy.slack)
            if len(taken.changed) + len(taken.gone) <= FULL_PASS_SHARE * max(1, count):
                nobody = np.zeros(0, np.int64)
                before = taken.previous
                state, _ = update_neighbours(before, vectors, changed=taken.changed, removed=nobody, **limits)
                dirty = taken.lost | (state.indices != before.indices).any(axis=1) | (state.floor != before.floor)
                near, nearer = np.nan_to_num(before.similarities), np.nan_to_num(state.similarities)
                dirty |= (near != nearer).any(axis=1)
                dirty[taken.changed] = True
                rows = np.flatnonzero(dirty)
                return _Pass(Kept(found.ids, found.hashes, state), rows, taken.gone, len(taken.changed), False)
        state = neighbour_state(vectors, policy.k, slack=policy.slack, **limits)
        return _Pass(Kept(found.ids, found.hashes, state), np.arange(count), [], count, True)

    async def _keep(self, done: _Pass) -> None:
        """Write the lists that differ, for the next pass and for the next process."""
        gone = done.gone
        if done.whole:
            present = set(done.kept.ids)
            stored = await self._store.read_bulk(load_neighbours, None)
            gone = [one.node_id for one in stored if one.node_id not in present]
        upserts = await asyncio.to_thread(to_rows, done.kept, done.dirty, self._model)
        # Until both batches stand, neither memory nor digest says that they do.
        self._kept = None
        await write(self._store, Batch("neighbours", neighbour, upserts, [{"node_id": node_id} for node_id in gone]))
        self._kept = done.kept

    async def _discard(self, ids: Sequence[str]) -> None:
        """Delete damaged vectors; they are stale then, and embedded anew."""
        keys = [{"node_id": node_id, "model": self._model} for node_id in ids]
        if keys:
            await write(self._store, Batch("damaged embeddings", embedding, deletes=keys))


def _counts(report: ReevaluationReport) -> Mapping[str, int]:
    return {
        "nodes": report.nodes,
        "edges_added": report.added,
        "edges_changed": report.changed,
        "edges_removed": report.removed,
        "edges_kept": report.kept,
        "duplicates": report.duplicates,
    }
