"""Springs along edges, repulsion between all: the equilibrium that a layout seeks (spec 03, "Layout").

The energy is that of t-SNE with the graph in place of the similarities: springs p·w along the edges pull,
all pairs repel with w², w = 1/(1 + d²), and the picture's natural scale is where both balance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from vector.mesh import Repulsion, repulsion

__all__ = ["COMPILED_FROM", "Springs", "descend", "natural_scale", "springs"]

COMPILED_FROM: Final = 1000
"""Nodes from which the compiled kernels are used; below, numpy needs about two seconds for a whole layout."""
MOMENTUM: Final = 0.9
RATE: Final = 1.5
"""Step in units of force through stiffness. With this momentum 1 leaves the last third of the gain, 3 rings."""
REPULSIVE_STIFFNESS: Final = 0.2
"""Share of the potential counted into a node's stiffness: damps nodes with few springs in crowded places."""
SLACK: Final = 0.12
"""Springs slacken below a length of about √SLACK. Without it cliques and lone pairs fall into one point; between
0.06 and 0.25 a fifth to a tenth of the overlaps remain and a hundredth more neighbourhoods are kept."""

FloatArray = NDArray[np.float32]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Springs:
    """The springs of every node in rows: `starts` int32[n + 1], `others` int32[m], `strengths` float32[m], sum 1."""

    starts: NDArray[np.int32]
    others: NDArray[np.int32]
    strengths: FloatArray

    @property
    def count(self) -> int:
        return len(self.starts) - 1


def springs(count: int, edges: IntArray, weights: NDArray[np.float64], k: int) -> Springs:
    """Return the springs of undirected `edges`, int64[e, 2].

    A node divides one unit of strength evenly among its k heaviest edges, and an edge is as strong as both
    ends make it. Against springs as strong as the weights this keeps a tenth more neighbourhoods: otherwise
    nodes with many edges pull everything, and near and far neighbours pull alike.
    """
    tails = np.concatenate([edges[:, 0], edges[:, 1]])
    heads = np.concatenate([edges[:, 1], edges[:, 0]])
    both = np.concatenate([weights, weights])
    order = np.lexsort((heads, -both, tails))
    degree = np.bincount(tails, minlength=count)
    starts = np.concatenate([[0], np.cumsum(degree)])
    rank = np.empty(len(tails), np.int64)
    rank[order] = np.arange(len(tails)) - starts[tails[order]]
    given = np.where(rank < k, 1.0 / np.minimum(np.maximum(degree[tails], 1), k), 0.0)
    half = len(edges)
    strength = given[:half] + given[half:]
    # Edges that neither end counts among its nearest still hold a little: they are part of the graph.
    strength = np.maximum(strength, 0.01 / k)
    total = 2.0 * strength.sum() or 1.0
    rows = np.argsort(tails, kind="stable")
    strengths = (np.concatenate([strength, strength]) / total)[rows].astype(np.float32)
    return Springs(starts.astype(np.int32), heads[rows].astype(np.int32), strengths)


def descend(
    points: FloatArray,
    net: Springs,
    steps: int,
    *,
    rate: float = RATE,
    momentum: float = MOMENTUM,
    exaggeration: float = 1.0,
    exaggerated: int = 0,
    tick: Callable[[int], None] | None = None,
) -> FloatArray:
    """Return `points`, float32[n, dims], after `steps` steps of descent with momentum.

    Every node's step is its force through its own stiffness. The springs are `exaggeration` times as strong
    for the first `exaggerated` steps. `tick(1)` is called after each step; raising there ends the descent.
    """
    push = repulsion(*points.shape, compiled=len(points) >= COMPILED_FROM)
    points = points.astype(np.float32, copy=True)
    speed = np.zeros_like(points)
    for step in range(steps):
        force, give = _forces(points, net, push, exaggeration if step < exaggerated else 1.0)
        speed *= np.float32(momentum)
        speed += np.float32(rate) * force / np.maximum(give, np.float32(1e-20))[:, None]
        points += speed
        if tick is not None:
            tick(1)
    return points


def natural_scale(points: FloatArray, net: Springs) -> float:
    """Return the factor s for which s·points, float32[n, dims], is nearest to rest.

    Too small a picture is pushed apart everywhere, too large a one is pulled together; between, the median
    of what one step would move a node, relative to the picture's size, has one sharp minimum.
    """
    push = repulsion(*points.shape, compiled=len(points) >= COMPILED_FROM)
    radius = float(np.sqrt((points.astype(np.float64) ** 2).sum(axis=1).mean()))
    typical = np.log(np.sqrt(len(points)) / max(radius, 1e-12))

    def unrest(log_scale: float) -> float:
        scaled = points * np.float32(np.exp(log_scale))
        force, give = _forces(scaled, net, push, 1.0)
        moved = np.sqrt((force.astype(np.float64) ** 2).sum(axis=1)) / np.maximum(give, 1e-20)
        return float(np.median(moved) / np.exp(log_scale))

    # Equilibria of 10 to 50,000 nodes lay between a fifth and twice the typical size.
    tried = typical + np.linspace(np.log(0.05), np.log(4.0), 9)
    best = int(np.argmin([unrest(value) for value in tried]))
    low, high = tried[max(best - 1, 0)], tried[min(best + 1, len(tried) - 1)]
    return float(np.exp(_minimum(unrest, float(low), float(high), 9)))


def _minimum(function: Callable[[float], float], low: float, high: float, steps: int) -> float:
    """Return where `function` is least between `low` and `high`, by golden section."""
    ratio = (np.sqrt(5.0) - 1.0) / 2.0
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = function(left), function(right)
    for _ in range(steps):
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - ratio * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + ratio * (high - low)
            at_right = function(right)
    return (low + high) / 2.0


def _forces(points: FloatArray, net: Springs, push: Repulsion, factor: float) -> tuple[FloatArray, FloatArray]:
    """Return (force float32[n, dims], stiffness float32[n]) with springs `factor` times as strong."""
    pull, stiffness = _pull(points, net, compiled=len(points) >= COMPILED_FROM)
    gradient, potential = push.field(points)
    total = max(float(potential.sum(dtype=np.float64)), 1e-12)
    force = np.float32(factor) * pull - gradient * np.float32(0.5 / total)
    crowd = np.maximum(potential, np.float32(0.0)) * np.float32(REPULSIVE_STIFFNESS / total)
    return force, np.float32(factor) * stiffness + crowd


def _pull(points: FloatArray, net: Springs, *, compiled: bool) -> tuple[FloatArray, FloatArray]:
    """Return (force of the springs float32[n, dims], their stiffness float32[n])."""
    force = np.empty_like(points)
    stiffness = np.empty(len(points), np.float32)
    if compiled:
        from vector.kernels import pull

        pull(points, net.starts, net.others, net.strengths, np.float32(SLACK), force, stiffness)
        return force, stiffness
    rows = np.repeat(np.arange(net.count), np.diff(net.starts))
    away = points[net.others] - points[rows]
    square = (away**2).sum(axis=1)
    weight = net.strengths / (np.float32(1.0) + square)
    stiffness[:] = np.bincount(rows, weights=weight, minlength=net.count)
    weight *= square / (square + np.float32(SLACK))
    for axis in range(points.shape[1]):
        force[:, axis] = np.bincount(rows, weights=weight * away[:, axis], minlength=net.count)
    return force, stiffness
