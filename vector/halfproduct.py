"""The full neighbour pass as one product over the upper triangle with the selection fused in.

Each pair of rows is multiplied once, in float32, and offered to both rows' lists while its tile is hot. In large
sets most pairs are spared even that: a narrow product bounds them below what the lists hold (vector.prefix).
The lists are a few places longer than asked for; the exact similarities (vector.similarity) then order
them, and a row whose last place is too close to tell is computed anew. So the result does not depend on
tiles, threads or library.
"""

from __future__ import annotations

import threading
from contextlib import ExitStack
from typing import Final

import numpy as np
from numpy.typing import NDArray

from vector.prefix import BOUNDED_FROM, bounding_rows, lower_limits
from vector.selection import Lists, Tick, nearest_of_rows
from vector.settling import Candidates, settled, worth_refining
from vector.similarity import GRID, product_error
from vector.workers import default_threads, run_blocks

__all__ = ["half_product_lists", "kernels_available"]

_ROWS: Final = 1024
_COLUMNS: Final = 2048
"""Tile of 1024 × 2048: 8 MiB and one product call of 1.6 GFLOP at d = 384; larger ones gain at most 5 %."""
_GROUPS: Final = 4
"""Groups for each place of a list: with four, the bound lets in about a seventh more than fit."""
_SPARE: Final = 4
"""Places beyond those asked for: room for candidates that float32 cannot tell apart."""
_EMPTY: Final = np.float32(-2.0)
_REFINE_ROWS: Final = 4096

FloatArray = NDArray[np.float32]


def kernels_available() -> bool:
    """Return whether the compiled selection can be used; without numba the numpy path serves."""
    try:
        import numba  # noqa: F401
    except ImportError:
        return False
    return True


def half_product_lists(
    vectors: FloatArray,
    length: int,
    *,
    min_similarity: float = -np.inf,
    block_bytes: int,
    threads: int | None = None,
    tick: Tick | None = None,
) -> Lists:
    """Return the same lists as `nearest_of_rows` over all rows, for checked `vectors`."""
    count = len(vectors)
    wide = length + _SPARE
    error = product_error(vectors.shape[1])
    # Two errors below the threshold: whoever is left out is certainly below it.
    start = np.float32(max(min_similarity - 2 * error, float(_EMPTY)))
    values = np.full((count, wide), start, np.float32)
    ids = np.full((count, wide), -1, np.int32)
    _select(vectors, values, ids, block_bytes, threads, tick)
    found = Candidates(values, ids, worth_refining(values, ids, length, error), np.full_like(values, np.nan))
    _refine(vectors, found, threads)
    return _settle(vectors, found, length, min_similarity, error, block_bytes, threads)


def _select(
    vectors: FloatArray,
    values: FloatArray,
    ids: NDArray[np.int32],
    block_bytes: int,
    threads: int | None,
    tick: Tick | None,
) -> None:
    """Fill the lists with the best float32 products of each row."""
    from vector.kernels import select_bounded, select_tile

    count, wide = values.shape
    last = values[:, -1].copy()
    bounding = None
    if count >= BOUNDED_FROM:
        np.maximum(last, lower_limits(vectors, wide, threads), out=last)
        bounding = bounding_rows(vectors, last, block_bytes, threads)
    rows = _ROWS
    # The other half is left to the bounding rows and to what the refinement holds.
    while rows > 64 and rows * 2 * rows * 4 * (threads or default_threads()) > block_bytes // 2:
        rows //= 2
    columns = rows * (_COLUMNS // _ROWS)
    guards = [threading.Lock() for _ in range(0, count, rows)]
    # Limits over all rows are there already where there were rows enough for them.
    seeded = np.full(len(guards), count >= BOUNDED_FROM)
    local = threading.local()
    factors = vectors if bounding is None else bounding

    def work(row0: int) -> None:
        buffer = getattr(local, "tile", None)
        if buffer is None:
            buffer = local.tile = np.empty(rows * columns, np.float32)
        left = factors[row0 : row0 + rows]
        for col0 in range(row0, count, columns):
            right = factors[col0 : col0 + columns]
            tile = buffer[: len(left) * len(right)].reshape(len(left), len(right))
            np.matmul(left, right.T, out=tile)
            touched = {row0 // rows, *range(col0 // rows, (col0 + len(right) - 1) // rows + 1)}
            with ExitStack() as held:
                for number in sorted(touched):
                    held.enter_context(guards[number])
                for number in sorted(touched - {row0 // rows}):
                    first = number * rows - col0
                    part = tile[:, first : first + rows]
                    if not seeded[row0 // rows]:
                        seeded[row0 // rows] = _seed(part.T, last[row0 : row0 + len(left)], wide)
                    if not seeded[number]:
                        seeded[number] = _seed(part, last[number * rows : number * rows + part.shape[1]], wide)
                if bounding is None:
                    select_tile(tile, row0, col0, values, ids, last)
                else:
                    select_bounded(tile, row0, col0, vectors, values, ids, last)
            if tick is not None:
                tick(tile.size)

    # Stripes from the top: the longest first, so that the threads end together.
    run_blocks(work, range(0, count, rows), threads)


def _seed(offered: FloatArray, last: FloatArray, wide: int) -> bool:
    """Raise `last`, float32[c], to what only about `wide` of the values in each column of `offered` exceed.

    To be called on a block that nothing of was offered yet; returns whether the block was tall enough. The
    first thousand rows would otherwise enter and leave a list about as often as all later ones together. The
    rows are cut into groups: at least `wide` values reach the wide-th largest of the groups' maxima.
    """
    size = len(offered) // (_GROUPS * wide)
    if size < 2:
        return False
    groups = len(offered) // size
    maxima = offered[: groups * size].reshape(groups, size, -1).max(axis=1)
    # Short rows that lie together are sorted faster than columns are partitioned.
    bound = np.sort(np.ascontiguousarray(maxima.T), axis=1)[:, groups - wide]
    # Values equal to the bound must still enter, and only what exceeds `last` does.
    np.maximum(last, np.nextafter(bound, np.float32(-np.inf)), out=last)
    return True


def _refine(vectors: FloatArray, found: Candidates, threads: int | None) -> None:
    """Set the exact similarities of the candidates that are worth it."""
    from vector.kernels import exact_pairs

    # Rows of one neighbourhood together: the vectors they share are then still in the cache. The lowest row
    # that a row or its candidates list is a label good enough for that.
    own = np.arange(len(vectors))
    label = np.where(found.ids >= 0, found.ids, own[:, None]).min(axis=1)
    label = np.minimum(label, label[label])
    order = np.argsort(label[label], kind="stable")

    def work(start: int) -> None:
        places = order[start : start + _REFINE_ROWS]
        exact_pairs(vectors, places, own, found.ids, found.counts, GRID, found.exact)

    run_blocks(work, range(0, len(own), _REFINE_ROWS), threads)


def _settle(
    vectors: FloatArray,
    found: Candidates,
    length: int,
    min_similarity: float,
    error: float,
    block_bytes: int,
    threads: int | None,
) -> Lists:
    """Order the candidates by their exact similarity and recompute the rows that are not certain."""
    count = len(vectors)
    lists = Lists(
        np.empty((count, length), np.int32), np.empty((count, length), np.float32), np.empty(count, np.float32)
    )
    unsure: list[NDArray[np.int64]] = []
    for start in range(0, count, _REFINE_ROWS):
        part = slice(start, start + _REFINE_ROWS)
        done, rows = settled(found[part], length, min_similarity, error)
        lists.ids[part], lists.similarities[part], lists.floor[part] = done.ids, done.similarities, done.floor
        unsure.append(start + rows)
    again = np.concatenate(unsure) if unsure else np.zeros(0, np.int64)
    if len(again):
        sure = nearest_of_rows(
            vectors, again, length, min_similarity=min_similarity, block_bytes=block_bytes, threads=threads
        )
        lists.ids[again], lists.similarities[again], lists.floor[again] = sure.ids, sure.similarities, sure.floor
    return lists
