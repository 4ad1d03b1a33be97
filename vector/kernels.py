"""Compiled inner loops of the neighbour pass; importing this module imports numba.

Every function is plain Python too, so that it can be read and tested without the compiler.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

__all__ = ["compiled", "exact_pairs", "select_tile"]


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
