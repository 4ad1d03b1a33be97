"""Compiled inner loops of the layout; importing this module imports numba.

Every function is plain Python too, so that it can be read and tested without the compiler.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vector.kernels import compiled

__all__ = [
    "bounds",
    "divide",
    "fill_rows",
    "link",
    "pull_2d",
    "pull_3d",
    "read_2d",
    "read_3d",
    "reorder",
    "share_out",
    "spread_2d",
    "spread_3d",
    "step",
]


def _spline(f: float, values: NDArray[np.float32], slopes: NDArray[np.float32]) -> None:
    """Set the four values of a cubic B-spline at distance f after its second point, and their slopes."""
    g = np.float32(1.0) - f
    values[0] = g * g * g / np.float32(6.0)
    values[1] = (np.float32(4.0) - f * f * (np.float32(6.0) - np.float32(3.0) * f)) / np.float32(6.0)
    values[2] = (np.float32(4.0) - g * g * (np.float32(6.0) - np.float32(3.0) * g)) / np.float32(6.0)
    values[3] = f * f * f / np.float32(6.0)
    slopes[0] = -g * g / np.float32(2.0)
    slopes[1] = f * (np.float32(1.5) * f - np.float32(2.0))
    slopes[2] = g * (np.float32(2.0) - np.float32(1.5) * g)
    slopes[3] = f * f / np.float32(2.0)


spline: Any = compiled(_spline)


def _spread_2d(places: NDArray[np.float32], grid: NDArray[np.float32]) -> None:
    """Add a unit of mass to grid[a, b] for every place, float32[n, 2] in grid units."""
    x, y, unused = np.empty(4, np.float32), np.empty(4, np.float32), np.empty(4, np.float32)
    for i in range(places.shape[0]):
        a, b = int(places[i, 0]), int(places[i, 1])
        spline(places[i, 0] - np.float32(a), x, unused)
        spline(places[i, 1] - np.float32(b), y, unused)
        for s in range(4):
            for t in range(4):
                grid[a + s - 1, b + t - 1] += x[s] * y[t]


def _read_2d(
    places: NDArray[np.float32],
    field: NDArray[np.float32],
    gradient: NDArray[np.float32],
    potential: NDArray[np.float32],
) -> None:
    """Set potential and gradient (per grid unit) of `field` at every place."""
    x, y = np.empty(4, np.float32), np.empty(4, np.float32)
    dx, dy = np.empty(4, np.float32), np.empty(4, np.float32)
    for i in range(places.shape[0]):
        a, b = int(places[i, 0]), int(places[i, 1])
        spline(places[i, 0] - np.float32(a), x, dx)
        spline(places[i, 1] - np.float32(b), y, dy)
        value = along_x = along_y = np.float32(0.0)
        for s in range(4):
            line = slope = np.float32(0.0)
            for t in range(4):
                here = field[a + s - 1, b + t - 1]
                line += y[t] * here
                slope += dy[t] * here
            value += x[s] * line
            along_x += dx[s] * line
            along_y += x[s] * slope
        potential[i] = value
        gradient[i, 0] = along_x
        gradient[i, 1] = along_y


def _spread_3d(places: NDArray[np.float32], grid: NDArray[np.float32]) -> None:
    """As `_spread_2d`, for float32[n, 3]."""
    x, y, z = np.empty(4, np.float32), np.empty(4, np.float32), np.empty(4, np.float32)
    unused = np.empty(4, np.float32)
    for i in range(places.shape[0]):
        a, b, c = int(places[i, 0]), int(places[i, 1]), int(places[i, 2])
        spline(places[i, 0] - np.float32(a), x, unused)
        spline(places[i, 1] - np.float32(b), y, unused)
        spline(places[i, 2] - np.float32(c), z, unused)
        for s in range(4):
            for t in range(4):
                share = x[s] * y[t]
                for u in range(4):
                    grid[a + s - 1, b + t - 1, c + u - 1] += share * z[u]


def _read_3d(
    places: NDArray[np.float32],
    field: NDArray[np.float32],
    gradient: NDArray[np.float32],
    potential: NDArray[np.float32],
) -> None:
    """As `_read_2d`, for float32[n, 3]."""
    x, y, z = np.empty(4, np.float32), np.empty(4, np.float32), np.empty(4, np.float32)
    dx, dy, dz = np.empty(4, np.float32), np.empty(4, np.float32), np.empty(4, np.float32)
    for i in range(places.shape[0]):
        a, b, c = int(places[i, 0]), int(places[i, 1]), int(places[i, 2])
        spline(places[i, 0] - np.float32(a), x, dx)
        spline(places[i, 1] - np.float32(b), y, dy)
        spline(places[i, 2] - np.float32(c), z, dz)
        value = along_x = along_y = along_z = np.float32(0.0)
        for s in range(4):
            for t in range(4):
                line = slope = np.float32(0.0)
                for u in range(4):
                    here = field[a + s - 1, b + t - 1, c + u - 1]
                    line += z[u] * here
                    slope += dz[u] * here
                value += x[s] * y[t] * line
                along_x += dx[s] * y[t] * line
                along_y += x[s] * dy[t] * line
                along_z += x[s] * y[t] * slope
        potential[i] = value
        gradient[i, 0] = along_x
        gradient[i, 1] = along_y
        gradient[i, 2] = along_z


def _pull_2d(
    points: NDArray[np.float32],
    starts: NDArray[np.int64],
    others: NDArray[np.int32],
    strengths: NDArray[np.float32],
    slack: np.float32,
    force: NDArray[np.float32],
    stiffness: NDArray[np.float32],
) -> None:
    """Set force[i] = Σ p·w·s·(y_j − y_i) and stiffness[i] = Σ p·w over the springs of i, with w = 1/(1 + d²)
    and s = d²/(d² + slack): a spring that has pulled its ends together slackens. One division serves both."""
    one = np.float32(1.0)
    for i in range(points.shape[0]):
        here_x, here_y = points[i, 0], points[i, 1]
        x = y = total = np.float32(0.0)
        for e in range(starts[i], starts[i + 1]):
            j = others[e]
            away_x, away_y = points[j, 0] - here_x, points[j, 1] - here_y
            square = away_x * away_x + away_y * away_y
            slackened = square + slack
            weight = strengths[e] / ((one + square) * slackened)
            total += weight * slackened
            weight *= square
            x += weight * away_x
            y += weight * away_y
        force[i, 0] = x
        force[i, 1] = y
        stiffness[i] = total


def _pull_3d(
    points: NDArray[np.float32],
    starts: NDArray[np.int64],
    others: NDArray[np.int32],
    strengths: NDArray[np.float32],
    slack: np.float32,
    force: NDArray[np.float32],
    stiffness: NDArray[np.float32],
) -> None:
    """As `_pull_2d`, for float32[n, 3]."""
    one = np.float32(1.0)
    for i in range(points.shape[0]):
        here_x, here_y, here_z = points[i, 0], points[i, 1], points[i, 2]
        x = y = z = total = np.float32(0.0)
        for e in range(starts[i], starts[i + 1]):
            j = others[e]
            away_x, away_y, away_z = points[j, 0] - here_x, points[j, 1] - here_y, points[j, 2] - here_z
            square = away_x * away_x + away_y * away_y + away_z * away_z
            slackened = square + slack
            weight = strengths[e] / ((one + square) * slackened)
            total += weight * slackened
            weight *= square
            x += weight * away_x
            y += weight * away_y
            z += weight * away_z
        force[i, 0] = x
        force[i, 1] = y
        force[i, 2] = z
        stiffness[i] = total


def _step(
    pull: NDArray[np.float32],
    stiffness: NDArray[np.float32],
    gradient: NDArray[np.float32],
    potential: NDArray[np.float32],
    factor: np.float32,
    push: np.float32,
    crowd: np.float32,
    momentum: np.float32,
    rate: np.float32,
    speed: NDArray[np.float32],
    points: NDArray[np.float32],
) -> None:
    """Move `points` one step of descent with momentum: see `vector.forces.advance`."""
    nothing = np.float32(0.0)
    for i in range(points.shape[0]):
        give = factor * stiffness[i] + crowd * max(potential[i], nothing)
        reach = rate / max(give, np.float32(1e-20))
        for c in range(points.shape[1]):
            speed[i, c] = momentum * speed[i, c] + reach * (factor * pull[i, c] - push * gradient[i, c])
            points[i, c] += speed[i, c]


def _fill_rows(
    edges: NDArray[np.int64], starts: NDArray[np.int64], others: NDArray[np.int32], edge_of: NDArray[np.int32]
) -> None:
    """Sort both ends of every edge into rows: first the edges that leave a node, then those that reach it."""
    cursor = starts[:-1].copy()
    for end in range(2):
        for e in range(edges.shape[0]):
            row = edges[e, end]
            at = cursor[row]
            others[at] = edges[e, 1 - end]
            edge_of[at] = e
            cursor[row] = at + 1


def _rank_many(
    low: int,
    high: int,
    others: NDArray[np.int32],
    edge_of: NDArray[np.int32],
    weights: NDArray[np.float64],
    mine: NDArray[np.float64],
    ends: NDArray[np.int32],
    best: NDArray[np.int32],
) -> None:
    """Set best to the heaviest edges of the row low…high, at least as many as best holds (ties: lower neighbour)."""
    k, length = best.shape[0], 0
    for at in range(low, high):
        edge, other = edge_of[at], others[at]
        weight, place = weights[edge], length
        while place > 0 and (mine[place - 1] < weight or (mine[place - 1] == weight and ends[place - 1] > other)):
            place -= 1
        if place == k:
            continue
        length = min(length + 1, k)
        for back in range(length - 1, place, -1):
            mine[back], ends[back], best[back] = mine[back - 1], ends[back - 1], best[back - 1]
        mine[place], ends[place], best[place] = weight, other, edge


rank_many: Any = compiled(_rank_many)


def _share_out(
    starts: NDArray[np.int64],
    others: NDArray[np.int32],
    edge_of: NDArray[np.int32],
    weights: NDArray[np.float64],
    k: int,
    strength: NDArray[np.float64],
) -> None:
    """Add one unit of every node to `strength`, evenly over its k heaviest edges (ties: lower neighbour).

    Short rows count for every edge how many are heavier, without branches; long ones keep a sorted list.
    """
    short = 64
    mine, ends = np.empty(max(short, k), np.float64), np.empty(max(short, k), np.int32)
    best = np.empty(k, np.int32)
    for row in range(starts.shape[0] - 1):
        low, degree = starts[row], starts[row + 1] - starts[row]
        if degree <= k:
            for at in range(low, low + degree):
                strength[edge_of[at]] += 1.0 / degree
        elif degree <= short:
            for c in range(degree):
                mine[c], ends[c] = weights[edge_of[low + c]], others[low + c]
            for c in range(degree):
                weight, other, heavier = mine[c], ends[c], 0
                for d in range(degree):
                    heavier += int(mine[d] > weight) + int((mine[d] == weight) & (ends[d] < other))
                if heavier < k:
                    strength[edge_of[low + c]] += 1.0 / k
        else:
            rank_many(low, low + degree, others, edge_of, weights, mine, ends, best)
            for place in range(k):
                strength[best[place]] += 1.0 / k


def _reorder(
    starts: NDArray[np.int64],
    others: NDArray[np.int32],
    strengths: NDArray[np.float32],
    order: NDArray[np.int64],
    number: NDArray[np.int32],
    new_starts: NDArray[np.int64],
    new_others: NDArray[np.int32],
    new_strengths: NDArray[np.float32],
) -> None:
    """Write the rows in another order: new row r is row order[r], and node i is number[i] now."""
    at = 0
    for row in range(order.shape[0]):
        new_starts[row] = at
        for old in range(starts[order[row]], starts[order[row] + 1]):
            new_others[at] = number[others[old]]
            new_strengths[at] = strengths[old]
            at += 1
    new_starts[order.shape[0]] = at


def _bounds(points: NDArray[np.float32], low: NDArray[np.float32], high: NDArray[np.float32]) -> None:
    """Set low and high to the corners of the box around `points`, at least one."""
    for c in range(points.shape[1]):
        least = most = points[0, c]
        for i in range(points.shape[0]):
            least = min(least, points[i, c])
            most = max(most, points[i, c])
        low[c] = least
        high[c] = most


def _divide(
    edge_of: NDArray[np.int32], strength: NDArray[np.float64], total: float, strengths: NDArray[np.float32]
) -> None:
    """Set strengths[at] to the share of its edge in `total`."""
    for at in range(edge_of.shape[0]):
        strengths[at] = strength[edge_of[at]] / total


def _link(edges: NDArray[np.int64], parent: NDArray[np.int32]) -> int:
    """Turn parent = 0…n−1 into the number of each node's component, in the order of their first nodes.

    Union-find with path halving; the lower root wins, so that one ascending pass ends all chains.
    """
    for e in range(edges.shape[0]):
        a, b = edges[e, 0], edges[e, 1]
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        while parent[b] != b:
            parent[b] = parent[parent[b]]
            b = parent[b]
        if a < b:
            parent[b] = a
        elif b < a:
            parent[a] = b
    found = 0
    for i in range(parent.shape[0]):
        if parent[i] == i:
            parent[i] = found
            found += 1
        else:
            parent[i] = parent[parent[i]]
    return found


_LOOSE: Any = {"reassoc", "contract", "nsz", "arcp"}
"""Layout sums may be reordered by the compiler: it orders them the same way in every run."""
spread_2d: Any = compiled(_spread_2d, fastmath=_LOOSE)
read_2d: Any = compiled(_read_2d, fastmath=_LOOSE)
spread_3d: Any = compiled(_spread_3d, fastmath=_LOOSE)
read_3d: Any = compiled(_read_3d, fastmath=_LOOSE)
pull_2d: Any = compiled(_pull_2d, fastmath=_LOOSE)
pull_3d: Any = compiled(_pull_3d, fastmath=_LOOSE)
step: Any = compiled(_step, fastmath=_LOOSE)
fill_rows: Any = compiled(_fill_rows)
share_out: Any = compiled(_share_out)
divide: Any = compiled(_divide)
reorder: Any = compiled(_reorder)
bounds: Any = compiled(_bounds)
link: Any = compiled(_link)
