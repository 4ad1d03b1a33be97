"""Exact selection of the nearest rows with numpy alone.

A similarity and its column become one 64-bit key whose order is "higher similarity first, then lower
column", so that a plain partition of keys is the exact answer, ties included.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from vector.similarity import exact_similarities, snapped
from vector.workers import default_threads, run_blocks

__all__ = ["NO_KEY", "Lists", "Tick", "decode", "encode", "nearest_of_rows"]

NO_KEY: Final = np.uint64(2**64 - 1)
"""The key that sorts last: no neighbour."""
_COLUMNS: Final = 4096
_BYTES_A_CELL: Final = 40
"""Doubles, floats, keys and their temporaries for one cell of a block."""

FloatArray = NDArray[np.float32]
Keys = NDArray[np.uint64]
Tick = Callable[[int], None]
"""Called with the number of cells (pairs of rows) done since the last call; raising ends the pass."""


@dataclass(frozen=True, slots=True)
class Lists:
    """For m rows their `length` nearest, best first. `ids` int32[m, length], -1 where fewer; `similarities`
    float32[m, length], NaN there; `floor` float32[m]: no row left out is nearer than this (-inf: none is left)."""

    ids: NDArray[np.int32]
    similarities: FloatArray
    floor: FloatArray


def encode(similarities: FloatArray, columns: NDArray[np.int64] | NDArray[np.int32]) -> Keys:
    """Return the keys of `similarities`, float32[..., c] without NaN, for the column numbers `columns`, [..., c]."""
    # Adding 0 turns -0 into 0, which compare equal and must sort equal.
    bits = np.ascontiguousarray(similarities + np.float32(0.0)).view(np.uint32)
    ascending = np.where(bits >> 31, ~bits, bits | np.uint32(0x80000000))
    keys: Keys = ((~ascending).astype(np.uint64) << np.uint64(32)) | columns.astype(np.uint64)
    return keys


def decode(keys: Keys) -> tuple[NDArray[np.int32], FloatArray]:
    """Return (ids, similarities) of `keys`: -1 and NaN where there is no neighbour."""
    ascending = ~(keys >> np.uint64(32)).astype(np.uint32)
    bits = np.where(ascending >> 31, ascending & np.uint32(0x7FFFFFFF), ~ascending)
    none = keys == NO_KEY
    ids = (keys & np.uint64(0x7FFFFFFF)).astype(np.int32)
    similarities = bits.astype(np.uint32).view(np.float32).copy()
    ids[none] = -1
    similarities[none] = np.nan
    return ids, similarities


def nearest_of_rows(
    vectors: FloatArray,
    rows: NDArray[np.int64],
    length: int,
    *,
    min_similarity: float = -np.inf,
    alive: NDArray[np.bool_] | None = None,
    block_bytes: int,
    threads: int | None = None,
    tick: Tick | None = None,
    visit: Callable[[NDArray[np.int64], int, FloatArray], None] | None = None,
) -> Lists:
    """Return the `length` nearest of each of `rows` among all living rows, the row itself left out.

    `visit(rows, first column, similarities)` sees every block as it is computed, from one thread at a time
    only when `threads` is 1.
    """
    best = np.full((len(rows), length + 1), NO_KEY, np.uint64)
    height, width = _block_shape(len(vectors), block_bytes, threads)
    least = np.float32(min_similarity)

    def work(start: int) -> None:
        block = rows[start : start + height]
        left = snapped(vectors[block])
        kept = best[start : start + height]
        for first in range(0, len(vectors), width):
            columns = np.arange(first, min(first + width, len(vectors)), dtype=np.int64)
            similarities = exact_similarities(left, snapped(vectors[first : first + width]))
            if visit is not None:
                visit(block, first, similarities)
            keys = encode(similarities, columns[None, :])
            keys[block[:, None] == columns[None, :]] = NO_KEY
            if alive is not None:
                keys[:, ~alive[columns]] = NO_KEY
            if least > -1.0:
                keys[similarities < least] = NO_KEY
            both = np.concatenate([kept, keys], axis=1)
            both.partition(length, axis=1)
            kept[:] = both[:, : length + 1]
            if tick is not None:
                tick(similarities.size)

    run_blocks(work, range(0, len(rows), height), threads)
    best.sort(axis=1)
    ids, similarities = decode(best)
    return Lists(ids[:, :length].copy(), similarities[:, :length].copy(), _floor(similarities[:, length]))


def _floor(next_best: FloatArray) -> FloatArray:
    return np.where(np.isnan(next_best), np.float32(-np.inf), next_best).astype(np.float32)


def _block_shape(count: int, block_bytes: int, threads: int | None) -> tuple[int, int]:
    """Return (rows, columns) of one block, so that the blocks of all threads stay inside `block_bytes`."""
    cells = max(1024, block_bytes // ((threads or default_threads()) * _BYTES_A_CELL))
    width = max(1, min(_COLUMNS, count, cells // 16))
    return max(1, min(512, cells // width)), width
