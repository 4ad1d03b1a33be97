"""Keeping vectors, vector edges and map fresh, whether learning is on or off (spec 03, "Maintenance").

At least once a minute `run_due` is asked what is due; it holds the engine mutex while it works, which the
learning scan shares. `last_vector_reevaluation` and `last_vector_layout` are set only by runs that were made
and read back; what keeps a restart from relaxing at once is a time of this process, never an invented one.

A run that fails raises and leaves due what was due: the supervised loop tries again with backoff.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from data.clock import from_iso, to_iso
from data.collecting import no_collections
from data.events import VECTOR_MAINTENANCE_COMPLETED, VECTOR_MAINTENANCE_STARTED
from data.locks import EngineMutex
from data.models import Event
from data.progress import Progress, silent
from data.state import get_state, set_state
from data.store import Store
from data.tx import Tx
from data.writer import Writer
from vector.charting import Cartographer, LayoutReport
from vector.embed import Embedder
from vector.layout import LayoutMode, LayoutPolicy
from vector.reevaluation import LAST_REEVALUATION, ReevaluationReport, Reevaluator, VectorPolicy
from vector.vectorise import EmbedReport, embed_stale
from vector.writing import WriteFailed

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
        self._cartographer = Cartographer(store, layout)
        self._reevaluated: float | None = None  # monotonic, of this process
        self._relaxed = store.clock.monotonic()  # the not-before of this process: no restart relaxes at once

    async def embed(self, *, everything: bool = False, progress: Progress = silent) -> EmbedReport:
        """Embed nodes whose vector is missing or of other content (`everything`: all nodes anew)."""
        return await embed_stale(self._store, self._embedder, everything=everything, progress=progress)

    async def reevaluate(self, *, force: bool = False, progress: Progress = silent) -> ReevaluationReport:
        """Bring the vector edges up to the vectors; the caller holds the engine mutex."""
        with no_collections():
            report = await self._reevaluator.run(force=force, progress=progress)
            await self._store.on_writer(_nothing)  # until then the last batch's rows are still in its hands
        self._reevaluated = self._store.clock.monotonic()
        return report

    async def refresh_layout(self, mode: LayoutMode, *, progress: Progress = silent) -> LayoutReport:
        """Lay out in full or relax, and write what moved; the caller holds the engine mutex.

        Where no position exists, relax lays out in full once. A layout at rest writes nothing.
        """
        with no_collections():
            report = await self._cartographer.refresh(mode, progress=progress)
            await self._store.on_writer(_nothing)
        if mode != "off":
            self._relaxed = self._store.clock.monotonic()
        return report

    async def due(self) -> tuple[bool, LayoutMode]:
        """Return whether a reevaluation is due, and which layout is (`off`: none)."""
        return await self._reevaluation_wait() <= 0, await self._layout_due()

    async def run_due(self, *, progress: Progress = silent) -> MaintenanceReport:
        """Run what is due under the engine mutex; raise what failed, with the old edges and positions whole."""
        if await self.due() == (False, "off"):
            return MaintenanceReport()
        async with self._mutex.hold("maintenance"):
            # Who held the mutex before may have done it.
            reevaluation, layout = await self.due()
            if not reevaluation and layout == "off":
                return MaintenanceReport()
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
                # New edges may be the first there are, or call for a full layout.
                layout = layout if layout != "off" else await self._layout_due()
            if layout != "off":
                done = replace(done, layout=await self.refresh_layout(layout, progress=progress))
            facts["layout_refresh"] = layout != "off"
            payload = {**facts, **_outcome(done), "seconds": round(time.perf_counter() - started, 3)}
            await self._store.write(_close, await self._next_due(), payload)
        return done

    async def _reevaluation_wait(self) -> float:
        """Return the seconds until a reevaluation is due, at most 0 when it is."""
        interval = self._policy.reevaluate_interval.total_seconds()
        if self._reevaluated is not None:
            return interval - (self._store.clock.monotonic() - self._reevaluated)
        last = await self._store.read(get_state, LAST_REEVALUATION)
        return interval - (float("inf") if last is None else _age(from_iso(last), self._store.clock.now()))

    def _relax_wait(self) -> float:
        return self._relax_interval.total_seconds() - (self._store.clock.monotonic() - self._relaxed)

    async def _layout_due(self) -> LayoutMode:
        if await self._cartographer.full_due():
            return "full"
        return "relax" if self._layout.mode == "relax" and self._relax_wait() <= 0 else "off"

    async def _next_due(self) -> dict[str, str]:
        """Return when what runs on an interval is due next, as far as the clock goes evenly."""
        waits = {"reevaluation": await self._reevaluation_wait()}
        if self._layout.mode == "relax":
            waits["layout"] = self._relax_wait()
        now = self._store.clock.now()
        return {name: to_iso(now + timedelta(seconds=max(0.0, wait))) for name, wait in waits.items()}


def _nothing(writer: Writer) -> None:
    """What comes after everything that was handed over before."""


def _close(tx: Tx, next_due: Mapping[str, str], payload: Mapping[str, Any]) -> None:
    set_state(tx, "vector_next_due", dict(next_due))
    tx.emit(Event(VECTOR_MAINTENANCE_COMPLETED, payload))


def _age(moment: datetime, now: datetime) -> float:
    """Return seconds since `moment`; a moment in the future (the clock was set back) counts as long ago."""
    seconds = (now - moment).total_seconds()
    return seconds if seconds >= 0 else float("inf")


def _outcome(done: MaintenanceReport) -> dict[str, Any]:
    found: dict[str, Any] = {"layout_applied": done.layout.applied if done.layout else "none"}
    if done.embedded is not None:
        found["embedded"] = done.embedded.embedded
        if done.embedded.failed:
            found["not_embedded"] = len(done.embedded.failed)
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
