"""One relaxation of a large map: 20 steps of the forces, then the blended, capped move.

The graph is a synthetic picture with twelve edges a node (`benchmarks.graphs.plane_graph`), shaken by a third of the
distance between neighbours. The picture's size in natural units is known, as it is from the second refresh of a
graph on; the row "size measured anew" is the first one. The growth is that of the CPU seconds a node from one size
to the next larger one; n·log n would let it be log n / log m, 1.2 from 100,000 to a million.
"""

from __future__ import annotations

import numpy as np

from benchmarks.graphs import plane_graph
from benchmarks.measure import Row, interleaved
from vector.layout import LayoutPolicy, RelaxReport, relax

__all__ = ["rows"]

EDGES_A_NODE = 12
ROUNDS = 3


def rows(profile: str) -> list[Row]:
    """Return the rows of 10,000 and 100,000 nodes; full: a million as well, which takes about 4 GiB."""
    measured: list[Row] = []
    for size in (10_000, 100_000) if profile == "quick" else (10_000, 100_000, 1_000_000):
        first, next_one = _relaxed(size)
        before = [row for row in measured if row.name == next_one.name]
        if before:
            last = before[-1]
            next_one.figures["growth"] = next_one.median_cpu * last.size / (last.median_cpu * size)
        measured += [next_one, first]
    return measured


def _relaxed(size: int) -> tuple[Row, Row]:
    places, edges, weights = plane_graph(size, edges_a_node=EDGES_A_NODE)
    rng = np.random.default_rng(1)
    places = places + rng.standard_normal(places.shape) * (0.3 / np.sqrt(size))
    policy = LayoutPolicy()
    small = plane_graph(2_000)
    relax(*small, policy, rng)

    def once(scale: float | None) -> RelaxReport:
        return relax(places, edges, weights, policy, np.random.default_rng(1), scale=scale)[1]

    def figures(_: str, report: RelaxReport) -> dict[str, float]:
        return {"edges": len(edges), "moved": report.moved, "max shift": report.max_shift, "scale": report.scale}

    found: list[RelaxReport] = []

    def measure() -> RelaxReport:
        found.append(once(None))
        return found[-1]

    (first,) = interleaved("relax", size, {"size measured anew": measure}, rounds=1, figures=figures)
    scale = found[-1].scale
    (later,) = interleaved("relax", size, {"one refresh": lambda: once(scale)}, rounds=ROUNDS, figures=figures)
    return first, later
