"""Keeping vectors, vector edges and map fresh, whether learning is on or off (spec 03, "Maintenance").

At least once a minute `run_due` is asked what is due; it holds the engine mutex while it works, which the
learning scan shares. `last_vector_reevaluation` and `last_vector_layout` are set only by runs that were made
and read back; what keeps a restart from relaxing at once is a time of this process, never an invented one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from data.clock import from_iso, to_iso
from data.crud.batch import Batch, write_batch
from data.edges import EdgeArrays, edge_arrays
from data.events import VECTOR_MAINTENANCE_COMPLETED, VECTOR_MAINTENANCE_STARTED
from data.locks import EngineMutex
from data.models import EdgeKind, Event
from data.nodes import NodeContent
from data.progress import Progress, silent
from data.schema import embedding, position
from data.state import get_state, set_state
from data.store import Store
from data.vectors import foreign_embeddings, load_positions, stale_contents
from vector.embed import Embedder, node_vectors
from vector.layout import LayoutMode, LayoutPolicy, full_layout, layout_quality, relax
from vector.reevaluation import ReevaluationReport, Reevaluator, VectorPolicy, WriteFailed

__all__ = [
    "EmbedReport",
    "LayoutPolicy",
    "LayoutReport",
    "Maintenance",
    "MaintenanceReport",
    "ReevaluationReport",
    "VectorPolicy",
    "WriteFailed",
]

ACTOR: Final = "maintenance"
BATCH: Final = 64
"""Nodes embedded and written at once: what a stop loses at most."""
SEED: Final = 20250301
"""The same graph gives the same picture."""
LAST_LAYOUT: Final = "last_vector_layout"
LAID_OUT: Final = "vector_layout_nodes"
"""Number of nodes at the last full layout, for "changed by more than a fifth"."""
RENEWED_SHARE: Final = 0.2
MAP_KINDS: Final = (EdgeKind.VECTOR, EdgeKind.RELATION)


@dataclass(frozen=True, slots=True)
class EmbedReport:
    """What one run embedded; `dropped` vectors belonged to another model."""

    embedded: int
    dropped: int
    seconds: float

    @property
    def changed(self) -> bool:
        return self.embedded > 0 or self.dropped > 0


@dataclass(frozen=True, slots=True)
class LayoutReport:
    """What one layout run did. `applied` is `full`, `relax` or `none`; `quality` is None where nothing was written."""

    mode: LayoutMode
    applied: str
    nodes: int
    moved: int
    entered: int
    max_shift: float
    mean_shift: float
    quality: Mapping[str, float] | None
    seconds: float


@dataclass(frozen=True, slots=True)
class MaintenanceReport:
    """What was due and done; None where it was not due."""

    embedded: EmbedReport | None = None
    edges: ReevaluationReport | None = None
    layout: LayoutReport | None = None


class Maintenance:
    """The mathematics of one store, on its due times. `mode` of the layout policy is the configured one."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        mutex: EngineMutex,
        policy: VectorPolicy,
        layout: LayoutPolicy,
        *,
        relax_interval: timedelta = timedelta(hours=2),
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._mutex = mutex
        self._policy = policy
        self._layout = layout
        self._relax_interval = relax_interval
        self._reevaluator = Reevaluator(store, embedder.name, policy)
        self._scale: float | None = None
        self._reevaluated: float | None = None  # monotonic, of this process
        self._relaxed = store.clock.monotonic()  # the not-before of this process: no restart relaxes at once

    async def embed(self, *, everything: bool = False, progress: Progress = silent) -> EmbedReport:
        """Embed nodes whose vector is missing or of other content; each batch stands once it is written.

        `everything` embeds all nodes anew. Vectors of another model go once all nodes have one of this model.
        """
        started, model = time.perf_counter(), self._embedder.name
        if everything:
            await self._forget(model)
        stale = await self._store.read_bulk(stale_contents, model)
        # Texts of like length together: the model pads a batch to its longest text.
        stale.sort(key=lambda content: len(content.label) + len(content.body))
        for start in range(0, len(stale), BATCH):
            progress("embedding", start, len(stale))
            await self._embed(stale[start : start + BATCH], model)
        if stale:
            progress("embedding", len(stale), len(stale))
        foreign = await self._store.read_bulk(foreign_embeddings, model)
        if foreign:
            keys = [{"node_id": node_id, "model": other} for node_id, other in foreign]
            await self._write(Batch("embeddings of another model", embedding, deletes=keys))
        return EmbedReport(len(stale), len(foreign), time.perf_counter() - started)

    async def reevaluate(self, *, force: bool = False, progress: Progress = silent) -> ReevaluationReport:
        """Bring the vector edges up to the vectors; the caller holds the engine mutex."""
        report = await self._reevaluator.run(force=force, progress=progress)
        self._reevaluated = self._store.clock.monotonic()
        return report

    async def refresh_layout(self, mode: LayoutMode, *, progress: Progress = silent) -> LayoutReport:
        """Lay out in full or relax, and write what moved; the caller holds the engine mutex.

        Where no position exists, relax lays out in full once. A layout at rest writes nothing.
        """
        started = time.perf_counter()
        graph = await self._store.read_bulk(edge_arrays, MAP_KINDS)
        placed = await self._store.read_bulk(load_positions)
        if mode == "off" or not graph.ids:
            return LayoutReport(self._layout.mode, "none", len(graph.ids), 0, 0, 0.0, 0.0, None, 0.0)
        full = mode == "full" or not placed
        progress("layout", 0, None)
        drawn = await asyncio.to_thread(self._draw, graph, placed, full)
        upserts = self._rows(graph.ids, drawn.after, placed)
        alive = set(graph.ids)
        deletes = [{"node_id": node_id} for node_id in placed if node_id not in alive]
        wrote = bool(upserts or deletes)
        if wrote:
            state: dict[str, Any] = {LAST_LAYOUT: to_iso(self._store.clock.now()), "layout_quality": drawn.quality}
            if full:
                state[LAID_OUT] = len(graph.ids)
            await self._write(Batch("positions", position, upserts, deletes, state=state))
        progress("layout", len(graph.ids), len(graph.ids))
        return LayoutReport(
            mode=self._layout.mode,
            applied=("full" if full else "relax") if wrote else "none",
            nodes=len(graph.ids),
            moved=drawn.moved,
            entered=drawn.entered,
            max_shift=drawn.max_shift,
            mean_shift=drawn.mean_shift,
            quality=drawn.quality if wrote else None,
            seconds=time.perf_counter() - started,
        )

    async def due(self) -> tuple[bool, LayoutMode]:
        """Return whether a reevaluation is due, and which layout is (`off`: none)."""
        return await self._reevaluation_due(), await self._layout_due()

    async def run_due(self, *, progress: Progress = silent) -> MaintenanceReport:
        """Run what is due under the engine mutex; raise what failed, with the old edges and positions whole."""
        reevaluation, layout = await self.due()
        if not reevaluation and layout == "off":
            return MaintenanceReport()
        async with self._mutex.hold("maintenance"):
            started = time.perf_counter()
            facts = {
                "layout_mode": self._layout.mode,
                "periodic_refresh": reevaluation,
                "layout_refresh": layout != "off",
            }
            await self._store.log(Event(VECTOR_MAINTENANCE_STARTED, facts))
            done = MaintenanceReport()
            if reevaluation:
                done = replace(done, embedded=await self.embed(progress=progress))
                done = replace(done, edges=await self.reevaluate(progress=progress))
            if layout != "off":
                done = replace(done, layout=await self.refresh_layout(layout, progress=progress))
                self._relaxed = self._store.clock.monotonic()
            payload = {**facts, **_outcome(done), "seconds": round(time.perf_counter() - started, 3)}
            await self._store.write(self._close, payload)
        return done

    def _close(self, tx: Any, payload: Mapping[str, Any]) -> None:
        clock = self._store.clock
        waits = {"reevaluation": self._policy.reevaluate_interval}
        if self._layout.mode == "relax":
            waits["layout"] = self._relax_interval
        set_state(tx, "vector_next_due", {name: to_iso(clock.now() + wait) for name, wait in waits.items()})
        tx.emit(Event(VECTOR_MAINTENANCE_COMPLETED, payload))

    async def _reevaluation_due(self) -> bool:
        interval = self._policy.reevaluate_interval.total_seconds()
        if self._reevaluated is not None:
            return self._store.clock.monotonic() - self._reevaluated >= interval
        last = await self._store.read(get_state, "last_vector_reevaluation")
        return last is None or _age(from_iso(last), self._store.clock.now()) >= interval

    async def _layout_due(self) -> LayoutMode:
        if self._layout.mode == "off":
            return "off"
        graph_size, placed = await self._store.read_bulk(_map_size)
        if graph_size == 0:
            return "off"
        if placed == 0:
            return "full"
        if self._layout.mode == "full":
            laid_out = await self._store.read(get_state, LAID_OUT) or 0
            return "full" if abs(graph_size - laid_out) > RENEWED_SHARE * max(laid_out, 1) else "off"
        waited = self._store.clock.monotonic() - self._relaxed
        return "relax" if waited >= self._relax_interval.total_seconds() else "off"

    async def _embed(self, contents: list[NodeContent], model: str) -> None:
        texts = [(content.label, content.body) for content in contents]
        vectors = await asyncio.to_thread(node_vectors, texts, self._embedder)
        rows = [
            {
                "node_id": content.id,
                "model": model,
                "dim": int(vectors.shape[1]),
                "content_hash": content.content_hash,
                "vector": vector.astype("<f4").tobytes(),
            }
            for content, vector in zip(contents, vectors, strict=True)
        ]
        await self._write(Batch("embeddings", embedding, rows))

    async def _forget(self, model: str) -> None:
        kept = await self._store.read_bulk(foreign_embeddings, "")
        keys = [{"node_id": node_id, "model": model} for node_id, other in kept if other == model]
        await self._write(Batch("embeddings to be made anew", embedding, deletes=keys))

    async def _write(self, batch: Batch) -> None:
        outcome = await write_batch(self._store, batch, actor=ACTOR)
        if not outcome.ok:
            raise WriteFailed(f"{batch.name} were not written: {outcome.message}")

    def _draw(self, graph: EdgeArrays, placed: Mapping[str, tuple[float, float, float]], full: bool) -> _Drawn:
        count, dims = len(graph.ids), self._layout.dims
        ends = (
            np.stack([np.frombuffer(graph.sources, "i4"), np.frombuffer(graph.targets, "i4")], axis=1)
            .astype(np.int64)
            .reshape(-1, 2)
        )
        weights = np.frombuffer(graph.weights, "f8").copy()
        edges, weights = _simple(ends, weights)
        rng = np.random.default_rng(SEED)
        if full:
            after = full_layout(count, edges, weights, self._layout, rng)
            self._scale = None
            drawn = _Drawn(after, count, 0, 0.0, 0.0)
        else:
            before = np.full((count, dims), np.nan)
            for row, node_id in enumerate(graph.ids):
                if node_id in placed:
                    before[row] = placed[node_id][:dims]
            after, report = relax(before, edges, weights, self._layout, rng, scale=self._scale)
            self._scale = report.scale
            drawn = _Drawn(after, report.moved, report.entered, report.max_shift, report.mean_shift)
        quality = {name: round(value, 4) for name, value in asdict(layout_quality(after, edges, weights)).items()}
        return replace(drawn, quality=quality)

    def _rows(
        self, ids: list[str], after: NDArray[np.float64], placed: Mapping[str, tuple[float, float, float]]
    ) -> list[dict[str, Any]]:
        now = self._store.clock.now()
        rows = []
        for node_id, point in zip(ids, after, strict=True):
            x, y, z = (*map(float, point), 0.0)[:3]
            if placed.get(node_id) != (x, y, z):
                rows.append({"node_id": node_id, "x": x, "y": y, "z": z, "updated_at": now})
        return rows


@dataclass(frozen=True, slots=True)
class _Drawn:
    after: NDArray[np.float64]
    moved: int
    entered: int
    max_shift: float
    mean_shift: float
    quality: Mapping[str, float] | None = None


def _simple(ends: NDArray[np.int64], weights: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return each linked pair once, lower end first, with its heaviest weight; loops and weightless edges go."""
    low, high = ends.min(axis=1, initial=2**62), ends.max(axis=1, initial=-1)
    kept = (low != high) & (weights > 0)
    low, high, weights = low[kept], high[kept], weights[kept]
    order = np.lexsort((-weights, high, low))
    low, high, weights = low[order], high[order], weights[order]
    first = np.ones(len(low), np.bool_)
    first[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
    return np.stack([low[first], high[first]], axis=1), weights[first]


def _map_size(conn: Any) -> tuple[int, int]:
    from data.nodes import count_by_kind

    return sum(count_by_kind(conn).values()), len(load_positions(conn))


def _age(moment: datetime, now: datetime) -> float:
    """Return seconds since `moment`; a moment in the future (the clock was set back) counts as long ago."""
    seconds = (now - moment).total_seconds()
    return seconds if seconds >= 0 else float("inf")


def _outcome(done: MaintenanceReport) -> dict[str, Any]:
    found: dict[str, Any] = {"layout_applied": done.layout.applied if done.layout else "none"}
    if done.edges is not None:
        found |= {
            "nodes": done.edges.nodes,
            "edges_added": done.edges.added,
            "edges_removed": done.edges.removed,
            "edges_kept": done.edges.kept,
        }
    if done.layout is not None and done.layout.quality is not None:
        found["quality"] = dict(done.layout.quality)
    return found
