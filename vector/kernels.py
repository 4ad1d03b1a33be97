"""Compiled inner loops of neighbours and layout; importing this module imports numba.

Every function is plain Python too, so that it can be read and tested without the compiler.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

__all__ = [
    "compiled",
    "exact_pairs",
    "pull",
    "read_2d",
    "read_3d",
    "select_tile",
    "spread_2d",
    "spread_3d",
]


def compiled(function: Callable[..., Any], **options: Any) -> Any:
    """Compile `function` on its first call without the interpreter lock, cached on disk where that works."""
    try:
        return numba.njit(nogil=True, cache=True, **options)(function)
    except RuntimeError:  # no directory to cache in: compile anew in each process
        return numba.njit(nogil=True, **options)(function)


def _insert(values: NDArray[np.float32], ids: NDArray[np.int32], row: int, value: float, other: int) -> float:
    """Put (value, other) into the descending list of `row`, drop its last, and return the new last value."""
    at = values.shape[1] - 1
    while at > 0 and values[row, at - 1] < value:
        values[row, at] = values[row, at - 1]
        ids[row, at] = ids[row, at - 1]
        at -= 1
    values[row, at] = value
    ids[row, at] = other
    last: float = values[row, values.shape[1] - 1]
    return last


insert: Any = compiled(_insert)


def _select_tile(
    tile: NDArray[np.float32],
    row0: int,
    col0: int,
    values: NDArray[np.float32],
    ids: NDArray[np.int32],
    last: NDArray[np.float32],
) -> None:
    """Offer tile[i, j], the product of rows row0+i < col0+j, to the lists of both.

    values, ids: float32[n, c], int32[n, c] sorted lists; last: float32[n], each list's smallest value.
    A chunk of 64 columns is first tested as a whole against the smaller threshold of each pair, a loop
    without branches; nearly all chunks end there.
    """
    rows, cols = tile.shape
    for i in range(rows):
        row = row0 + i
        limit = last[row]
        first = max(0, row + 1 - col0)
        for start in range(first - first % 64, cols, 64):
            stop = min(start + 64, cols)
            # Slices counted from 0 and an integer sum: this form becomes vector instructions (a maximum does not).
            chunk = tile[i, start:stop]
            limits = last[col0 + start : col0 + stop]
            hits = np.int32(0)
            for j in range(stop - start):
                hits += np.int32(1) if chunk[j] > min(limit, limits[j]) else np.int32(0)
            if hits == 0:
                continue
            for j in range(max(0, first - start), stop - start):
                value = chunk[j]
                other = col0 + start + j
                if value > limit:
                    limit = insert(values, ids, row, value, other)
                    last[row] = limit
                if value > limits[j]:
                    limits[j] = insert(values, ids, other, value, row)


# Tiles hold no NaN: rows were checked.
select_tile: Any = compiled(_select_tile, fastmath={"nnan", "nsz", "ninf"})


def _exact_pairs(
    vectors: NDArray[np.float32], start: int, ids: NDArray[np.int32], grid: float, out: NDArray[np.float32]
) -> None:
    """Set out[i, c] to the exact similarity of rows start+i and ids[i, c] (NaN where the id is -1)."""
    dim = vectors.shape[1]
    left = np.empty(dim, np.float64)
    for i in range(ids.shape[0]):
        for x in range(dim):
            left[x] = np.rint(np.float64(vectors[start + i, x]) * grid)
        for c in range(ids.shape[1]):
            other = ids[i, c]
            if other < 0:
                out[i, c] = np.nan
                continue
            total = 0.0
            for x in range(dim):
                total += left[x] * np.rint(np.float64(vectors[other, x]) * grid)
            out[i, c] = np.float32(total / (grid * grid))


# The sum is exact in any order (vector.similarity), so the compiler may choose one.
exact_pairs: Any = compiled(_exact_pairs, fastmath={"reassoc", "contract", "nsz"})


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


def _pull(
    points: NDArray[np.float32],
    starts: NDArray[np.int32],
    others: NDArray[np.int32],
    strengths: NDArray[np.float32],
    slack: float,
    force: NDArray[np.float32],
    stiffness: NDArray[np.float32],
) -> None:
    """Set force[i] = Σ p·w·s·(y_j − y_i) and stiffness[i] = Σ p·w over the springs of i, with w = 1/(1 + d²)
    and s = d²/(d² + slack): a spring that has pulled its ends together slackens."""
    dims = points.shape[1]
    for i in range(points.shape[0]):
        for c in range(dims):
            force[i, c] = 0.0
        total = np.float32(0.0)
        for e in range(starts[i], starts[i + 1]):
            j = others[e]
            square = np.float32(0.0)
            for c in range(dims):
                away = points[j, c] - points[i, c]
                square += away * away
            weight = strengths[e] / (np.float32(1.0) + square)
            total += weight
            weight *= square / (square + slack)
            for c in range(dims):
                force[i, c] += weight * (points[j, c] - points[i, c])
        stiffness[i] = total


_LOOSE: Any = {"reassoc", "contract", "nsz", "arcp"}
"""Layout sums may be reordered by the compiler: it orders them the same way in every run."""
spread_2d: Any = compiled(_spread_2d, fastmath=_LOOSE)
read_2d: Any = compiled(_read_2d, fastmath=_LOOSE)
spread_3d: Any = compiled(_spread_3d, fastmath=_LOOSE)
read_3d: Any = compiled(_read_3d, fastmath=_LOOSE)
pull: Any = compiled(_pull, fastmath=_LOOSE)
