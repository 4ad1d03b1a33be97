"""Springs along edges, repulsion between all: the equilibrium that a layout seeks (spec 03, "Layout").

The energy is that of t-SNE with the graph in place of the similarities: springs p·w along the edges pull,
all pairs repel with w², w = 1/(1 + d²), and the picture's natural scale is where both balance.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from vector.mesh import STEP, Repulsion, repulsion
from vector.springs import Springs, compiles

__all__ = ["descend", "natural_scale"]

MOMENTUM: Final = 0.9
RATE: Final = 1.5
"""Step in units of force through stiffness. With this momentum 1 leaves the last third of the gain, 3 rings."""
REPULSIVE_STIFFNESS: Final = 0.2
"""Share of the potential counted into a node's stiffness: damps nodes with few springs in crowded places."""
SLACK: Final = 0.12
"""Springs slacken below a length of about √SLACK. Without it cliques and lone pairs fall into one point; between
0.06 and 0.25 a fifth to a tenth of the overlaps remain and a hundredth more neighbourhoods are kept."""

FloatArray = NDArray[np.float32]


def descend(
    points: FloatArray,
    net: Springs,
    steps: int,
    *,
    rate: float = RATE,
    momentum: float = MOMENTUM,
    exaggeration: float = 1.0,
    exaggerated: int = 0,
    grid: float = STEP,
    tick: Callable[[int], None] | None = None,
) -> FloatArray:
    """Return `points`, float32[n, dims], after `steps` steps of descent with momentum.

    Every node's step is its force through its own stiffness. The springs are `exaggeration` times as strong
    for the first `exaggerated` steps. `grid` is the step of the repulsion's grid. `tick(1)` is called after
    each step; raising there ends the descent.
    """
    push = repulsion(*points.shape, compiled=compiles(len(points)), step=grid)
    points = points.astype(np.float32, copy=True)
    speed = np.zeros_like(points)
    for step in range(steps):
        _advance(points, speed, net, push, exaggeration if step < exaggerated else 1.0, rate, momentum)
        if tick is not None:
            tick(1)
    return points


def _advance(
    points: FloatArray, speed: FloatArray, net: Springs, push: Repulsion, factor: float, rate: float, momentum: float
) -> None:
    """Move `points` and change `speed` by one step: speed ← momentum·speed + rate·force / stiffness."""
    if not compiles(len(points)):
        force, give = _forces(points, net, push, factor)
        speed *= np.float32(momentum)
        speed += np.float32(rate) * force / np.maximum(give, np.float32(1e-20))[:, None]
        points += speed
        return
    from vector.layout_kernels import step

    pull, stiffness = _pull(points, net)
    gradient, potential = push.field(points)
    total = max(float(potential.sum(dtype=np.float64)), 1e-12)
    shares = np.array([factor, 0.5 / total, REPULSIVE_STIFFNESS / total, momentum, rate], np.float32)
    step(pull, stiffness, gradient, potential, *shares, speed, points)


def natural_scale(points: FloatArray, net: Springs) -> float:
    """Return the factor s for which s·points, float32[n, dims], is nearest to rest.

    Too small a picture is pushed apart everywhere, too large a one is pulled together; between, the median
    of what one step would move a node, relative to the picture's size, has one sharp minimum.
    """
    push = repulsion(*points.shape, compiled=compiles(len(points)))
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
    pull, stiffness = _pull(points, net)
    gradient, potential = push.field(points)
    total = max(float(potential.sum(dtype=np.float64)), 1e-12)
    force = np.float32(factor) * pull - gradient * np.float32(0.5 / total)
    crowd = np.maximum(potential, np.float32(0.0)) * np.float32(REPULSIVE_STIFFNESS / total)
    return force, np.float32(factor) * stiffness + crowd


def _pull(points: FloatArray, net: Springs) -> tuple[FloatArray, FloatArray]:
    """Return (force of the springs float32[n, dims], their stiffness float32[n])."""
    force = np.empty_like(points)
    stiffness = np.empty(len(points), np.float32)
    if compiles(len(points)):
        from vector.layout_kernels import pull_2d, pull_3d

        pull = pull_2d if points.shape[1] == 2 else pull_3d
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
