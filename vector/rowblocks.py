"""Exact lists of a block of rows against all rows, on one core: the piece of work that is sent elsewhere.

The half product (vector.halfproduct) needs all lists in one memory. A block of rows needs nobody: products in float32
leave a few more candidates than asked for, their exact similarities (vector.similarity) order them, and a row whose
last place is too close to tell is computed in doubles. So the lists are those of every other path, bit for bit.
"""

from __future__ import annotations

from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from vector.selection import Lists, Tick, nearest_of_rows
from vector.settling import Candidates, settled, worth_refining
from vector.similarity import GRID, product_error
from vector.workers import single_blas_thread

__all__ = ["BlockLists", "block_rows", "lists_of_block"]

_EMPTY: Final = -2.0
_COLUMNS: Final = 4096
_ROWS: Final = 1024
_CELLS: Final = 2**27
"""Pairs of rows in one piece of work: about a second of one core at d = 384."""

FloatArray = NDArray[np.float32]


class BlockLists(Protocol):
    """Whoever computes the lists of many rows of one set of vectors elsewhere."""

    def __call__(
        self,
        rows: NDArray[np.int64],
        length: int,
        *,
        min_similarity: float = -np.inf,
        alive: NDArray[np.bool_] | None = None,
        tick: Tick | None = None,
    ) -> Lists:
        """Return what `vector.selection.nearest_of_rows` returns; `floor` may be a looser bound."""
        ...


def block_rows(count: int) -> int:
    """Return how many rows make one piece of work among `count`."""
    return max(32, min(8192, _CELLS // max(1, count)))


def lists_of_block(
    vectors: FloatArray,
    rows: NDArray[np.int64],
    length: int,
    *,
    min_similarity: float = -np.inf,
    alive: NDArray[np.bool_] | None = None,
    block_bytes: int,
    compiled: bool = True,
) -> Lists:
    """Return the `length` nearest of each of `rows` among all living rows of the checked `vectors`.

    Without `compiled` (numba is missing there) the numpy path does it in doubles, several times slower.
    """
    if not compiled:
        return nearest_of_rows(
            vectors, rows, length, min_similarity=min_similarity, alive=alive, block_bytes=block_bytes, threads=1
        )
    from vector.kernels import exact_pairs

    error = product_error(vectors.shape[1])
    values, ids = _candidates(vectors, rows, length, min_similarity - 2 * error, alive, block_bytes)
    found = Candidates(values, ids, worth_refining(values, ids, length, error), np.full_like(values, np.nan))
    exact_pairs(vectors, np.arange(len(rows)), rows, ids, found.counts, GRID, found.exact)
    lists, unsure = settled(found, length, min_similarity, error)
    if unsure.size:
        sure = nearest_of_rows(
            vectors,
            rows[unsure],
            length,
            min_similarity=min_similarity,
            alive=alive,
            block_bytes=block_bytes,
            threads=1,
        )
        lists.ids[unsure], lists.similarities[unsure], lists.floor[unsure] = sure.ids, sure.similarities, sure.floor
    return lists


def _candidates(
    vectors: FloatArray,
    rows: NDArray[np.int64],
    length: int,
    least: float,
    alive: NDArray[np.bool_] | None,
    block_bytes: int,
) -> tuple[FloatArray, NDArray[np.int32]]:
    """Return float32[m, wide] and int32[m, wide]: the best float32 products of each row above `least`, best first."""
    from vector.rowkernels import select_rows

    wide = length + max(4, length // 3)
    values = np.full((len(rows), wide), np.float32(max(least, _EMPTY)), np.float32)
    ids = np.full((len(rows), wide), -1, np.int32)
    living = np.ones(len(vectors), np.bool_) if alive is None else alive
    width = max(1, min(_COLUMNS, len(vectors)))
    height = max(1, min(_ROWS, block_bytes // (8 * width)))
    buffer = np.empty(height * width, np.float32)
    with single_blas_thread():
        for top in range(0, len(rows), height):
            part = slice(top, top + height)
            left = vectors[rows[part]]
            for first in range(0, len(vectors), width):
                right = vectors[first : first + width]
                tile = buffer[: len(left) * len(right)].reshape(len(left), len(right))
                np.matmul(left, right.T, out=tile)
                select_rows(tile, rows[part], first, living, values[part], ids[part])
    return values, ids
