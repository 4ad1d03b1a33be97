"""From the stored graph to stored positions: a full layout or one gentle step (spec 03, "Layout")."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from data.clock import to_iso
from data.crud.batch import Batch
from data.progress import Progress, silent
from data.schema import position
from data.state import get_state
from data.store import Store
from data.vectors import StoredMap, load_map, map_state
from vector.background import in_background
from vector.layout import LayoutMode, LayoutPolicy, full_layout, layout_quality, relax
from vector.reevaluation import LAYOUT_WANTED
from vector.selection import Tick
from vector.writing import write

__all__ = ["LAST_LAYOUT", "Cartographer", "LayoutReport"]

Applied = Literal["full", "relax", "none"]
Places = Mapping[str, tuple[float, float, float]]

LAST_LAYOUT: Final = "last_vector_layout"
QUALITY: Final = "layout_quality"
SCALE: Final = "vector_layout_scale"
"""State row: the picture's size in natural units, measured for a number of nodes and a number of dimensions."""
SEED: Final = 20250301
"""The same graph gives the same picture."""
RENEWED_SHARE: Final = 0.2
"""Share of the node set whose change calls for a full layout (spec 03), or for measuring the scale again."""


@dataclass(frozen=True, slots=True)
class LayoutReport:
    """What one layout run did. `applied` is `full`, `relax` or `none`; `quality` is None where nothing was written."""

    mode: LayoutMode
    applied: Applied
    nodes: int
    moved: int
    entered: int
    max_shift: float
    mean_shift: float
    quality: Mapping[str, float] | None
    seconds: float


@dataclass(frozen=True, slots=True)
class _Drawn:
    after: NDArray[np.float64]
    moved: int
    entered: int
    max_shift: float
    mean_shift: float
    scale: float | None


class Cartographer:
    """Keeps the positions of one store. `policy.mode` is the configured mode."""

    def __init__(self, store: Store, policy: LayoutPolicy) -> None:
        self._store = store
        self._policy = policy

    async def full_due(self) -> bool:
        """Tell whether a full layout is due: nothing has a place; or, in mode `full`, edges were rebuilt, or more
        than a fifth of the node set changed."""
        if self._policy.mode == "off":
            return False
        state = await self._store.read_bulk(map_state)
        if state.nodes == 0:
            return False
        if state.placed == state.vanished:
            return True
        if self._policy.mode != "full":
            return False
        renewed = state.missing + state.vanished > RENEWED_SHARE * state.placed
        return renewed or bool(await self._store.read(get_state, LAYOUT_WANTED))

    async def refresh(self, mode: LayoutMode, *, progress: Progress = silent) -> LayoutReport:
        """Lay out in full or relax, and write what moved; the caller holds the engine mutex.

        Where no position exists, or those there are have other dimensions, relax lays out in full once. A layout at
        rest writes nothing.
        """
        started = time.perf_counter()
        if mode == "off":
            return self._report(None, "none", None, 0, started)
        found = await self._store.read_bulk(load_map)
        ids = found.graph.ids
        alive = set(ids)
        deletes = [{"node_id": node_id} for node_id in found.placed if node_id not in alive]
        standing = {node_id: place for node_id, place in found.placed.items() if node_id in alive}
        if not ids:
            await write(self._store, Batch("positions", position, deletes=deletes))
            return self._report(None, "none", None, 0, started)
        full = mode == "full" or not standing or _other_dimensions(standing, self._policy.dims)
        scale = None if full else await self._known_scale(len(ids))
        edges, weights = _springs(found)
        total = self._policy.steps if full else 1

        def draw(tick: Tick) -> tuple[_Drawn, list[dict[str, Any]], Mapping[str, float] | None]:
            drawn = self._draw(ids, edges, weights, None if full else standing, scale, tick)
            rows = self._rows(ids, drawn.after, standing)
            quality = asdict(layout_quality(drawn.after, edges, weights, k=self._policy.k)) if rows else None
            return drawn, rows, quality and {name: round(value, 4) for name, value in quality.items()}

        drawn, rows, quality = await in_background(draw, progress, "layout", total)
        state: dict[str, Any] = {}
        if drawn.scale is not None and drawn.scale != scale:
            state[SCALE] = {"scale": drawn.scale, "nodes": len(ids), "dims": self._policy.dims}
        if rows:
            state |= {LAST_LAYOUT: to_iso(self._store.clock.now()), QUALITY: quality}
        if full:
            state |= {LAYOUT_WANTED: False, SCALE: {}}
        if rows or deletes or state:
            await write(self._store, Batch("positions", position, rows, deletes, state=state))
        applied: Applied = ("full" if full else "relax") if rows else "none"
        return self._report(drawn, applied, quality if rows else None, len(ids), started)

    async def _known_scale(self, nodes: int) -> float | None:
        """Return the scale of the last relaxation, unless the graph has outgrown it."""
        known = await self._store.read(get_state, SCALE) or {}
        fits = abs(known.get("nodes", 0) - nodes) <= RENEWED_SHARE * nodes and known.get("dims") == self._policy.dims
        return float(known["scale"]) if fits else None

    def _draw(
        self,
        ids: Sequence[str],
        edges: NDArray[np.int64],
        weights: NDArray[np.float64],
        placed: Places | None,
        scale: float | None,
        tick: Tick,
    ) -> _Drawn:
        rng = np.random.default_rng(SEED)
        if placed is None:
            after = full_layout(len(ids), edges, weights, self._policy, rng, tick=tick)
            return _Drawn(after, len(ids), 0, 0.0, 0.0, None)
        nowhere = (np.nan,) * 3
        before = np.array([placed.get(node_id, nowhere) for node_id in ids])[:, : self._policy.dims]
        after, report = relax(before, edges, weights, self._policy, rng, scale=scale)
        return _Drawn(after, report.moved, report.entered, report.max_shift, report.mean_shift, report.scale)

    def _rows(self, ids: Sequence[str], after: NDArray[np.float64], placed: Places) -> list[dict[str, Any]]:
        """Return the rows of the nodes that do not stand where they stood."""
        now = self._store.clock.now()
        rows = []
        for node_id, point in zip(ids, after.tolist(), strict=True):
            x, y, z = (*point, 0.0)[:3]
            if placed.get(node_id) != (x, y, z):
                rows.append({"node_id": node_id, "x": x, "y": y, "z": z, "updated_at": now})
        return rows

    def _report(
        self, drawn: _Drawn | None, applied: Applied, quality: Mapping[str, float] | None, nodes: int, started: float
    ) -> LayoutReport:
        nothing = _Drawn(np.zeros((0, 2)), 0, 0, 0.0, 0.0, None)
        drawn = drawn if drawn is not None and applied != "none" else nothing
        return LayoutReport(
            mode=self._policy.mode,
            applied=applied,
            nodes=nodes,
            moved=drawn.moved,
            entered=drawn.entered,
            max_shift=drawn.max_shift,
            mean_shift=drawn.mean_shift,
            quality=quality,
            seconds=time.perf_counter() - started,
        )


def _springs(found: StoredMap) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return each linked pair once, lower end first, with its heaviest weight; loops and weightless edges go."""
    sources, targets = (
        np.frombuffer(ends, "i4").astype(np.int64) for ends in (found.graph.sources, found.graph.targets)
    )
    weights = np.frombuffer(found.graph.weights, "f8")
    low, high = np.minimum(sources, targets), np.maximum(sources, targets)
    kept = (low != high) & (weights > 0)
    low, high, weights = low[kept], high[kept], weights[kept]
    order = np.lexsort((-weights, high, low))
    low, high, weights = low[order], high[order], weights[order]
    first = np.ones(len(low), np.bool_)
    first[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
    return np.stack([low[first], high[first]], axis=1), weights[first]


def _other_dimensions(placed: Places, dims: int) -> bool:
    """Tell whether a map of more than a few nodes is flat where it should not be, or the other way round."""
    deep = any(z != 0.0 for _, _, z in placed.values())
    return deep if dims == 2 else not deep and len(placed) > 3
