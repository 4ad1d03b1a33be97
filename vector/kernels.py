"""Compiled inner loops of the neighbours; importing this module imports numba.

Every function is plain Python too, so that it can be read and tested without the compiler.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

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


_CHUNK: Final = 64
"""Columns that are tested as a whole: a loop without branches that becomes vector instructions."""


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


# Inlined where they are used: passing eight arrays costs more than what is done with them.
insert: Any = compiled(_insert, inline="always")
_LOOSE_TILE: Any = {"nnan", "nsz", "ninf", "reassoc"}
"""Tiles hold no NaN (rows were checked), and the only sum counts hits."""


def _offer(
    tile: NDArray[np.float32],
    i: int,
    start: int,
    stop: int,
    corner: tuple[int, int],
    values: NDArray[np.float32],
    ids: NDArray[np.int32],
    last: NDArray[np.float32],
    found: NDArray[np.int64],
    marks: NDArray[np.uint8],
    words: NDArray[np.uint64],
) -> float:
    """Offer tile[i, start:stop], at most 64 wide, to the lists of both rows of each pair; return last of row i.

    found, marks: room for 64 places; words: `marks` eight at a time.
    """
    row = corner[0] + i
    limit: float = last[row]
    hits = 0
    if stop - start == _CHUNK:
        chunk, thresholds = tile[i, start : start + _CHUNK], last[corner[1] + start : corner[1] + start + _CHUNK]
        for j in range(_CHUNK):
            marks[j] = np.uint8(chunk[j] > min(limit, thresholds[j]))
        for word in range(_CHUNK // 8):
            if words[word]:
                for j in range(8 * word, 8 * word + 8):
                    # Written always and counted on a hit: no branch to guess wrong.
                    found[hits] = start + j
                    hits += int(marks[j])
    else:
        for j in range(start, stop):
            found[hits] = j
            hits += int(tile[i, j] > min(limit, last[corner[1] + j]))
    for hit in range(hits):
        j = found[hit]
        value, other = tile[i, j], corner[1] + j
        # A limit may stand above the list's own last value while the list still fills (halfproduct._seed).
        if value > limit:
            limit = max(limit, insert(values, ids, row, value, other))
        if value > last[other]:
            last[other] = max(last[other], insert(values, ids, other, value, row))
    last[row] = limit
    return limit


offer: Any = compiled(_offer, inline="always", fastmath=_LOOSE_TILE)


def _select_tile(
    tile: NDArray[np.float32],
    row0: int,
    col0: int,
    values: NDArray[np.float32],
    ids: NDArray[np.int32],
    last: NDArray[np.float32],
) -> None:
    """Offer tile[i, j], the product of rows row0+i < col0+j, to the lists of both.

    values, ids: float32[n, c], int32[n, c] sorted lists; last: float32[n], what a value must exceed to enter.
    A chunk of 64 columns is first tested as a whole against the smaller threshold of each pair; nearly all
    chunks end there.
    """
    rows, cols = tile.shape
    corner = (row0, col0)
    found, marks = np.empty(_CHUNK, np.int64), np.empty(_CHUNK, np.uint8)
    words = marks.view(np.uint64)
    limits = last[col0 : col0 + cols]
    whole = cols - cols % _CHUNK
    for i in range(rows):
        line, limit = tile[i], last[row0 + i]
        first = max(0, row0 + i + 1 - col0)
        begin = min(cols, first + (-first) % _CHUNK)
        if first < begin:
            limit = offer(tile, i, first, begin, corner, values, ids, last, found, marks, words)
        for start in range(begin, whole, _CHUNK):
            # Slices counted from 0 to a constant, and a sum of ones: this form is vectorised.
            chunk, thresholds = line[start : start + _CHUNK], limits[start : start + _CHUNK]
            hits = np.float32(0.0)
            for j in range(_CHUNK):
                hits += np.float32(1.0) if chunk[j] > min(limit, thresholds[j]) else np.float32(0.0)
            if hits > 0.0:
                limit = offer(tile, i, start, start + _CHUNK, corner, values, ids, last, found, marks, words)
        rest = max(whole, begin)
        if rest < cols:
            offer(tile, i, rest, cols, corner, values, ids, last, found, marks, words)


select_tile: Any = compiled(_select_tile, fastmath=_LOOSE_TILE)


def _dot(left: NDArray[np.float32], right: NDArray[np.float32]) -> np.float32:
    total = np.float32(0.0)
    for x in range(left.shape[0]):
        total += left[x] * right[x]
    return total


dot: Any = compiled(_dot, fastmath={"reassoc", "contract", "nsz"})


def _select_bounded(
    bounds: NDArray[np.float32],
    row0: int,
    col0: int,
    vectors: NDArray[np.float32],
    values: NDArray[np.float32],
    ids: NDArray[np.int32],
    last: NDArray[np.float32],
) -> None:
    """As `select_tile`, where bounds[i, j] is no less than the product of rows row0+i < col0+j of `vectors`.

    A pair is multiplied out only where its bound exceeds the smaller threshold of the two.
    """
    rows, cols = bounds.shape
    found, marks = np.empty(cols + 1, np.int64), np.empty(_CHUNK, np.uint8)
    words = marks.view(np.uint64)
    limits = last[col0 : col0 + cols]
    for i in range(rows):
        row = row0 + i
        line, limit = bounds[i], last[row]
        first = max(0, row + 1 - col0)
        number = 0
        for start in range(first - first % _CHUNK, cols, _CHUNK):
            stop = min(start + _CHUNK, cols)
            chunk, thresholds = line[start:stop], limits[start:stop]
            hits = np.float32(0.0)
            for j in range(stop - start):
                hits += np.float32(1.0) if chunk[j] > min(limit, thresholds[j]) else np.float32(0.0)
            if hits == 0.0:
                continue
            for j in range(stop - start):
                marks[j] = np.uint8(chunk[j] > min(limit, thresholds[j]))
            for word in range((stop - start + 7) // 8):
                if words[word]:
                    for j in range(8 * word, min(8 * word + 8, stop - start)):
                        # Written always and counted on a hit: no branch to guess wrong.
                        found[number] = start + j
                        number += int(marks[j] and start + j >= first)
        left = vectors[row]
        for place in range(number):
            j = found[place]
            value = dot(left, vectors[col0 + j])
            if value > limit:
                limit = max(limit, insert(values, ids, row, value, col0 + j))
            if value > limits[j]:
                limits[j] = max(limits[j], insert(values, ids, col0 + j, value, row))
        last[row] = limit


select_bounded: Any = compiled(_select_bounded, fastmath=_LOOSE_TILE)


def _exact_pairs(
    vectors: NDArray[np.float32],
    places: NDArray[np.int64],
    rows: NDArray[np.int64],
    ids: NDArray[np.int32],
    counts: NDArray[np.int64],
    grid: float,
    out: NDArray[np.float32],
) -> None:
    """For each of `places`, set out[place, c] to the exact similarity of rows[place] and ids[place, c], c < counts."""
    dim = vectors.shape[1]
    left = np.empty(dim, np.float64)
    for place in places:
        for x in range(dim):
            left[x] = np.rint(np.float64(vectors[rows[place], x]) * grid)
        for c in range(counts[place]):
            other = ids[place, c]
            total = 0.0
            for x in range(dim):
                total += left[x] * np.rint(np.float64(vectors[other, x]) * grid)
            out[place, c] = np.float32(total / (grid * grid))


# The sum is exact in any order (vector.similarity), so the compiler may choose one.
exact_pairs: Any = compiled(_exact_pairs, fastmath={"reassoc", "contract", "nsz"})
