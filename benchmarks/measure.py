"""Honest timing of several ways to do one piece of work: in turn, in one process, medians and ratios.

CPU seconds of the whole process (all its threads) are the primary figure, because the clock also measures what
else the machine does. Every case runs once a round, so that a busy minute falls on all of them alike.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["NOT_INSTALLED", "Row", "as_json", "interleaved", "table"]

NOT_INSTALLED = "not installed"
Case = Callable[[], Any]
Figures = Callable[[str, Any], dict[str, float]]


@dataclass(slots=True)
class Row:
    """One way to do one piece of work: `cpu` and `wall` seconds of each round, `figures` of its last result."""

    work: str
    name: str
    size: int
    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)
    figures: dict[str, float] = field(default_factory=dict)
    note: str = ""

    @property
    def median_cpu(self) -> float:
        return statistics.median(self.cpu) if self.cpu else float("nan")

    @property
    def median_wall(self) -> float:
        return statistics.median(self.wall) if self.wall else float("nan")


def interleaved(
    work: str, size: int, cases: Mapping[str, Case], *, rounds: int, figures: Figures | None = None
) -> list[Row]:
    """Run every case once a round, in turn, and return a row for each.

    `figures(name, result)` is asked after the last round. A case that raises ImportError becomes a row with
    the note "not installed"; any other exception ends the benchmark.
    """
    rows = {name: Row(work, name, size) for name in cases}
    last: dict[str, Any] = {}
    for _ in range(rounds):
        for name, case in cases.items():
            row = rows[name]
            if row.note:
                continue
            gc.collect()
            wall, cpu = time.perf_counter(), time.process_time()
            try:
                last[name] = case()
            except ImportError as error:
                row.note = f"{NOT_INSTALLED} ({error.name or error})"
                continue
            row.cpu.append(time.process_time() - cpu)
            row.wall.append(time.perf_counter() - wall)
    if figures is not None:
        for name, result in last.items():
            rows[name].figures = figures(name, result)
    return list(rows.values())


def table(rows: Sequence[Row], *, base: str = "") -> str:
    """Return one line a row: medians, the ratio to the row named `base` of the same work and size, and figures.

    Where a piece of work has no such row, its first row is the base.
    """
    lines = [f"{'work':<22}{'size':>9}  {'way':<34}{'CPU s':>10}{'clock s':>10}{'ratio':>8}  figures"]
    for row in rows:
        peers = [other for other in rows if (other.work, other.size) == (row.work, row.size) and other.cpu]
        first = next((other for other in peers if other.name == base), peers[0] if peers else None)
        ratio = f"{row.median_cpu / first.median_cpu:.3f}" if row.cpu and first and first.median_cpu else ""
        cpu, wall = (f"{value:.3f}" if row.cpu else "" for value in (row.median_cpu, row.median_wall))
        figures = ", ".join(f"{name} {value:.4g}" for name, value in row.figures.items())
        note = "; ".join(part for part in (figures, row.note) if part)
        lines.append(f"{row.work:<22}{row.size:>9}  {row.name:<34}{cpu:>10}{wall:>10}{ratio:>8}  {note}".rstrip())
    return "\n".join(lines)


def as_json(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return the rows with every round's seconds."""
    return [
        {
            "work": row.work,
            "name": row.name,
            "size": row.size,
            "rounds": len(row.cpu),
            "median_cpu_s": row.median_cpu if row.cpu else None,
            "median_clock_s": row.median_wall if row.wall else None,
            "cpu_s": row.cpu,
            "clock_s": row.wall,
            "figures": row.figures,
            "note": row.note,
        }
        for row in rows
    ]
