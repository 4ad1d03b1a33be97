"""From stored vectors to stored vector edges: what changed is computed, what differs is written (spec 03).

One verified batch replaces the difference; a graph that did not change is recognised by its digest and costs a
read. The lists of the last pass stay in memory, so that the next one computes the changed rows alone.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from data.clock import to_iso
from data.crud.batch import Batch, write_batch
from data.edges import count_by_kind
from data.events import VECTOR_REBUILT
from data.models import EdgeKind, Event
from data.progress import Progress, silent
from data.schema import edge
from data.state import get_state
from data.store import Store
from data.vectors import StoredEdge, StoredVectors, load_vectors, vector_edges
from vector.affinity import EdgeDifference, VectorGraph, edge_difference, vector_graph
from vector.neighbours import FULL_PASS_SHARE, NeighbourState, neighbour_state, update_neighbours

__all__ = ["ReevaluationReport", "Reevaluator", "VectorPolicy", "WriteFailed"]

ACTOR: Final = "maintenance"
DIGEST: Final = "vector_graph_digest"
LAST: Final = "last_vector_reevaluation"

FloatArray = NDArray[np.float32]


class WriteFailed(Exception):
    """A batch of derived rows did not read back as written; the next run writes it again."""


@dataclass(frozen=True, slots=True)
class VectorPolicy:
    """Knobs of the vector graph (BRAIN_VECTOR_…); the defaults are the documented ones."""

    k: int = 12
    min_similarity: float = 0.45
    min_affinity: float = -0.10
    block_bytes: int = 256 * 2**20
    reevaluate_interval: timedelta = timedelta(minutes=30)


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


@dataclass(slots=True)
class _Memory:
    """The last pass of this process: row i of `vectors` and of the state is node `ids[i]`."""

    ids: list[str]
    hashes: list[str]
    vectors: FloatArray
    state: NeighbourState


class Reevaluator:
    """Keeps the vector edges of one store in step with its vectors of one model."""

    def __init__(self, store: Store, model: str, policy: VectorPolicy) -> None:
        self._store = store
        self._model = model
        self._policy = policy
        self._memory: _Memory | None = None

    async def run(self, *, force: bool = False, progress: Progress = silent) -> ReevaluationReport:
        """Recompute what changed and write the difference; `force` computes everything anew.

        The caller holds the engine mutex. Raises WriteFailed or StoreError; the previous edges then stand.
        """
        started = time.perf_counter()
        found = await self._store.read_bulk(load_vectors, self._model)
        digest = self._digest(found)
        stamp = {LAST: to_iso(self._store.clock.now())}
        if not force and await self._store.read(get_state, DIGEST) == digest:
            counts = await self._store.read(count_by_kind)
            await write_batch(self._store, Batch("vector_edges", edge, state=stamp), actor=ACTOR)
            kept = counts.get(EdgeKind.VECTOR, 0)
            return ReevaluationReport(len(found.ids), 0, 0, 0, kept, 0, time.perf_counter() - started)
        memory, computed = await asyncio.to_thread(self._pass, found, force, progress)
        graph = await asyncio.to_thread(self._graph, memory)
        old = await self._store.read_bulk(vector_edges)
        difference, upserts, deletes = await asyncio.to_thread(self._difference, memory.ids, graph, old)
        report = ReevaluationReport(
            nodes=len(found.ids),
            added=int(difference.added.sum()),
            changed=int((~difference.added).sum()),
            removed=len(deletes),
            kept=difference.kept,
            computed=computed,
            seconds=time.perf_counter() - started,
        )
        event = Event(VECTOR_REBUILT, {**_counts(report), "seconds": round(report.seconds, 3)})
        batch = Batch("vector_edges", edge, upserts, deletes, events=(event,), state={**stamp, DIGEST: digest})
        outcome = await write_batch(self._store, batch, actor=ACTOR)
        if not outcome.ok:
            raise WriteFailed(f"vector edges were not written: {outcome.message}")
        self._memory = memory
        progress("vector edges", len(upserts), len(upserts))
        return report

    def _digest(self, found: StoredVectors) -> str:
        """Return what the edges follow from: policy, model, and every node with its content."""
        policy = (self._policy.k, self._policy.min_similarity, self._policy.min_affinity)
        digest = hashlib.sha256(repr((policy, self._model)).encode())
        for node_id, content in zip(found.ids, found.hashes, strict=True):
            digest.update(f"{node_id} {content}\n".encode())
        return digest.hexdigest()

    def _pass(self, found: StoredVectors, force: bool, progress: Progress) -> tuple[_Memory, int]:
        """Return lists over all living nodes, and how many rows were computed."""
        vectors = np.frombuffer(found.data, "<f4").reshape(len(found.ids), found.dim or 1)
        total = len(found.ids)
        progress("neighbours", 0, total)
        done = None if force or self._memory is None else self._extended(self._memory, found, vectors)
        if done is None:
            state = neighbour_state(vectors, self._policy.k, block_bytes=self._policy.block_bytes)
            done = _Memory(found.ids, found.hashes, vectors, state), total
        progress("neighbours", total, total)
        return done

    def _extended(self, memory: _Memory, found: StoredVectors, vectors: FloatArray) -> tuple[_Memory, int] | None:
        """Return the memory brought up to `found`, or None where computing everything is cheaper."""
        place = {node_id: row for row, node_id in enumerate(found.ids)}
        seen = set(memory.ids)
        ids = [*memory.ids, *(node_id for node_id in found.ids if node_id not in seen)]
        rows = [place.get(node_id, -1) for node_id in ids]
        hashes = [found.hashes[row] if row >= 0 else "" for row in rows]
        known = len(memory.ids)
        changed = [
            row
            for row, (at, content) in enumerate(zip(rows, hashes, strict=True))
            if at >= 0 and (row >= known or memory.hashes[row] != content)
        ]
        removed = [row for row in range(known) if rows[row] < 0 and memory.state.alive[row]]
        if len(changed) + len(removed) > FULL_PASS_SHARE * max(1, len(found.ids)) or len(ids) > 2 * len(found.ids) + 1:
            return None
        space = np.zeros((len(ids), vectors.shape[1]), np.float32)
        space[:known] = memory.vectors
        present = np.array(rows) >= 0
        space[present] = vectors[np.array(rows)[present]]
        state, _ = update_neighbours(
            memory.state,
            space,
            changed=np.array(changed, np.int64),
            removed=np.array(removed, np.int64),
            block_bytes=self._policy.block_bytes,
        )
        return _Memory(ids, hashes, space, state), len(changed)

    def _graph(self, memory: _Memory) -> VectorGraph:
        return vector_graph(
            memory.vectors,
            memory.state,
            min_similarity=self._policy.min_similarity,
            min_affinity=self._policy.min_affinity,
            block_bytes=self._policy.block_bytes,
        )

    def _difference(
        self, ids: Sequence[str], graph: VectorGraph, old: Sequence[StoredEdge]
    ) -> tuple[EdgeDifference, list[dict[str, Any]], list[dict[str, Any]]]:
        """Return the difference and the rows it writes and deletes."""
        place = {node_id: row for row, node_id in enumerate(ids)}
        present = [one for one in old if one.source_id in place and one.target_id in place]
        lost = [one.id for one in old if one.source_id not in place or one.target_id not in place]
        keys = np.array([_key(place[one.source_id], place[one.target_id], len(ids)) for one in present], np.int64)
        order = np.argsort(keys, kind="stable")
        before = (
            keys[order],
            np.array([one.weight for one in present])[order],
            np.array([one.affinity for one in present])[order],
            np.array([one.duplicate for one in present], np.bool_)[order],
        )
        now = (
            graph.source * np.int64(len(ids)) + graph.target,
            graph.similarity.astype(np.float64),
            graph.affinity,
            graph.duplicate,
        )
        difference = edge_difference(before, now)
        standing = {int(keys[row]): present[row] for row in range(len(present))}
        moment = self._store.clock.now()
        upserts = []
        for index in difference.put:
            known = standing.get(int(now[0][index]))
            low, high = sorted((ids[graph.source[index]], ids[graph.target[index]]))
            meta: dict[str, Any] = {"affinity": round(float(graph.affinity[index]), 6)}
            if graph.duplicate[index]:
                meta["duplicate"] = True
            upserts.append(
                {
                    "id": known.id if known else self._store.new_id("edge"),
                    "source_id": low,
                    "target_id": high,
                    "kind": EdgeKind.VECTOR.value,
                    "relation_type": None,
                    "weight": round(float(graph.similarity[index]), 6),
                    "meta": meta,
                    "active": True,
                    "created_at": known.created_at if known else moment,
                    "updated_at": moment,
                }
            )
        gone = [present[order[row]].id for row in difference.removed] + lost
        return difference, upserts, [{"id": edge_id} for edge_id in gone]


def _key(first: int, second: int, count: int) -> int:
    return min(first, second) * count + max(first, second)


def _counts(report: ReevaluationReport) -> Mapping[str, int]:
    return {
        "nodes": report.nodes,
        "edges_added": report.added,
        "edges_changed": report.changed,
        "edges_removed": report.removed,
        "edges_kept": report.kept,
    }
