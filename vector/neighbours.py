"""Exact k-nearest-neighbours by cosine similarity, in full and incrementally (spec 03, "Neighbours").

Every answer is defined by the exact similarity of a pair (vector.similarity) and, on ties, the lower row;
the plain numpy path, the compiled one and the incremental one therefore return the same bits.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from vector.halfproduct import half_product_lists, kernels_available
from vector.rowblocks import BlockLists
from vector.selection import NO_KEY, Lists, Tick, decode, encode, nearest_of_rows
from vector.similarity import BadVectors, check_vectors

__all__ = [
    "BLOCK_BYTES",
    "COMPILED_FROM",
    "BadVectors",
    "NeighbourState",
    "Neighbours",
    "full_pass_cells",
    "nearest_neighbours",
    "neighbour_state",
    "renumbered",
    "update_neighbours",
]

BLOCK_BYTES: Final = 256 * 2**20
"""BRAIN_VECTOR_BLOCK_BYTES: bound on what a pass holds beside the vectors and the lists it returns."""
COMPILED_FROM: Final = 3000
"""Rows from which the compiled pass is used: below, numpy needs a fraction of a second and no compiler."""
FULL_PASS_SHARE: Final = 0.25
"""Share of changed rows from which a full pass is cheaper than an incremental one."""
_MERGE_ROWS: Final = 8192

FloatArray = NDArray[np.float32]
Path = Literal["auto", "numpy", "compiled"]


@dataclass(frozen=True, slots=True)
class Neighbours:
    """For m rows their k nearest, best first: `indices` int64[m, k], -1 where fewer than k pass, and
    `similarities` float32[m, k], NaN there."""

    indices: NDArray[np.int64]
    similarities: FloatArray


@dataclass(frozen=True, slots=True)
class NeighbourState:
    """Lists longer than k, without a threshold: what the incremental pass starts from.

    indices: int32[n, length], -1 where absent; similarities: float32[n, length], NaN there. A row's list
    is the exact beginning of its ranking, and `floor`, float32[n], bounds who is not in it: no such row is
    nearer (-inf: nobody is missing). Entries that go leave shorter lists; a row is computed anew only when
    fewer than k remain. Rows that are not `alive`, bool[n], have no list and are in none.
    """

    k: int
    length: int
    indices: NDArray[np.int32]
    similarities: FloatArray
    floor: FloatArray
    alive: NDArray[np.bool_]

    def neighbours(self) -> Neighbours:
        """Return the first k of every row."""
        return Neighbours(self.indices[:, : self.k].astype(np.int64), self.similarities[:, : self.k].copy())


def nearest_neighbours(
    vectors: FloatArray,
    k: int,
    *,
    min_similarity: float = -1.0,
    rows: NDArray[np.int64] | None = None,
    block_bytes: int = BLOCK_BYTES,
    threads: int | None = None,
    path: Path = "auto",
    tick: Tick | None = None,
) -> Neighbours:
    """Return the k nearest of every row (of `rows` alone where given), the row itself left out.

    Ties go to the lower row. Raises BadVectors, naming the rows, for vectors that are not float32[n, d],
    finite and of unit length, IndexError for `rows` outside them and ValueError for k below 1 or a
    threshold that is no number.
    """
    _check_k(k)
    if np.isnan(min_similarity):
        raise ValueError("min_similarity must be a number, got NaN")
    vectors = check_vectors(vectors)
    # float32 of the threshold: similarities are compared in the type they are returned in.
    least = -np.inf if min_similarity <= -1.0 else float(np.float32(min_similarity))
    if rows is not None:
        wanted = _row_numbers(rows, len(vectors), "rows")
        lists = nearest_of_rows(
            vectors, wanted, k, min_similarity=least, block_bytes=block_bytes, threads=threads, tick=tick
        )
    else:
        lists = _all_lists(vectors, k, least, block_bytes, threads, path, tick)
    return Neighbours(lists.ids.astype(np.int64), lists.similarities)


def neighbour_state(
    vectors: FloatArray,
    k: int,
    *,
    slack: int | None = None,
    block_bytes: int = BLOCK_BYTES,
    threads: int | None = None,
    path: Path = "auto",
    tick: Tick | None = None,
    blocks: BlockLists | None = None,
) -> NeighbourState:
    """Return the full pass with lists of k + slack (default: k), to be kept up by `update_neighbours`.

    `blocks` computes the lists elsewhere: the same ones.
    """
    _check_k(k)
    if slack is not None and slack < 0:
        raise ValueError(f"slack must not be negative, got {slack}")
    vectors = check_vectors(vectors)
    length = k + (k if slack is None else slack)
    if blocks is not None:
        lists = blocks(np.arange(len(vectors), dtype=np.int64), length, tick=tick)
    else:
        lists = _all_lists(vectors, length, -np.inf, block_bytes, threads, path, tick)
    alive = np.ones(len(vectors), np.bool_)
    return NeighbourState(k, length, lists.ids, lists.similarities, lists.floor, alive)


def full_pass_cells(count: int) -> int:
    """Return about how many cells a full pass over `count` rows ticks: the triangle where kernels compile."""
    return count * count // 2 if count >= COMPILED_FROM and kernels_available() else count * count


def renumbered(
    state: NeighbourState, rows: NDArray[np.int64], count: int, *, k: int, length: int
) -> tuple[NeighbourState, NDArray[np.bool_]]:
    """Return `state` in a numbering of `count` rows and in lists of `length`, and which lists lost an entry.

    rows: int64[n], the new number of each row, -1 for one that is gone; numbers must ascend, because ties go to
    the lower row. Rows that nobody became are not alive: `update_neighbours` takes them as changed.
    """
    staying = np.flatnonzero(rows >= 0)
    if (np.diff(rows[staying]) <= 0).any():
        raise ValueError("the new numbers of rows must ascend as the old ones do")
    indices = np.full((count, length), -1, np.int32)
    similarities = np.full((count, length), np.nan, np.float32)
    floor = np.full(count, -np.inf, np.float32)
    alive = np.zeros(count, np.bool_)
    old = state.indices[staying]
    present = old >= 0
    moved = np.where(present, rows[np.where(present, old, 0)], -1)
    order = np.argsort(moved < 0, axis=1, kind="stable")
    moved = np.take_along_axis(moved, order, axis=1)
    near = np.where(moved >= 0, np.take_along_axis(state.similarities[staying], order, axis=1), np.float32(np.nan))
    below = state.floor[staying]
    if moved.shape[1] > length:
        # Who no longer fits is left out, and is nearer than everybody who already was.
        below = np.fmax(below, near[:, length])
    width = min(length, moved.shape[1])
    there = rows[staying]
    indices[there, :width], similarities[there, :width] = moved[:, :width], near[:, :width]
    floor[there], alive[there] = below, state.alive[staying]
    lost = np.zeros(count, np.bool_)
    lost[there] = (moved >= 0).sum(axis=1) != present.sum(axis=1)
    return NeighbourState(k, length, indices, similarities, floor, alive), lost


def update_neighbours(
    previous: NeighbourState,
    vectors: FloatArray,
    *,
    changed: NDArray[np.int64],
    removed: NDArray[np.int64],
    block_bytes: int = BLOCK_BYTES,
    threads: int | None = None,
    tick: Tick | None = None,
    blocks: BlockLists | None = None,
) -> tuple[NeighbourState, NDArray[np.int64]]:
    """Return the state after `changed` rows got new vectors and `removed` ones went, and the rows touched.

    Row numbers keep their meaning: `vectors` has the rows of the previous pass in their order, then new
    ones, all of them in `changed`; a removed row stays as a place that nobody sees (its vector is not
    looked at) until it is in `changed` again. The returned rows, int64[t] ascending, are all whose first k
    changed. The result equals a full pass over the living rows. `blocks` computes the rescans elsewhere; what the
    changed rows come near to is looked for here. Raises as `nearest_neighbours` does.
    """
    count = len(vectors)
    if count < len(previous.alive):
        raise ValueError(f"vectors must keep the previous {len(previous.alive)} rows, got {count}")
    moved = np.unique(_row_numbers(changed, count, "changed"))
    gone = np.unique(_row_numbers(removed, count, "removed"))
    if np.intersect1d(moved, gone).size:
        raise ValueError("a row cannot be both changed and removed")
    missing = np.setdiff1d(np.arange(len(previous.alive), count), moved)
    if missing.size:
        raise ValueError(f"new rows must be listed as changed, {missing[0]} is not")
    state = _grown(previous, count)
    state.alive[moved] = True
    state.alive[gone] = False
    vectors = check_vectors(vectors, state.alive)
    if not (moved.size or gone.size):
        return state, np.zeros(0, np.int64)

    stale = np.zeros(count, np.bool_)
    stale[moved] = stale[gone] = True
    touched = stale | _drop_stale(state, stale)
    rescan = np.zeros(count, np.bool_)
    if len(moved) > FULL_PASS_SHARE * count:
        rescan |= state.alive
    elif moved.size:
        hits = _Hits(state.floor, state.alive, stale)
        # One thread: the blocks are few rows high, and every block writes to the same collection.
        lists = nearest_of_rows(
            vectors, moved, state.length, alive=state.alive, block_bytes=block_bytes, threads=threads,
            tick=tick, visit=hits.collect,
        )  # fmt: skip
        _put(state, moved, lists)
        rescan |= hits.undecided
        _merge(state, *hits.sorted_by_row(rescan), touched)
    short = state.alive & (state.indices[:, state.k - 1] < 0) & (state.floor > -np.inf)
    again = np.flatnonzero(rescan | short)
    if again.size:
        lists_of = blocks or partial(nearest_of_rows, vectors, block_bytes=block_bytes, threads=threads)
        lists = lists_of(again, state.length, alive=state.alive, tick=tick)
        _put(state, again, lists)
        touched[again] = True
    return state, _differences(previous, state, np.flatnonzero(touched))


def _all_lists(
    vectors: FloatArray,
    length: int,
    least: float,
    block_bytes: int,
    threads: int | None,
    path: Path,
    tick: Tick | None,
) -> Lists:
    compiled = path == "compiled" or (path == "auto" and len(vectors) >= COMPILED_FROM and kernels_available())
    if compiled:
        return half_product_lists(
            vectors, length, min_similarity=least, block_bytes=block_bytes, threads=threads, tick=tick
        )
    rows = np.arange(len(vectors), dtype=np.int64)
    return nearest_of_rows(
        vectors, rows, length, min_similarity=least, block_bytes=block_bytes, threads=threads, tick=tick
    )


def _grown(previous: NeighbourState, count: int) -> NeighbourState:
    """Return a copy of `previous` with room for `count` rows."""
    extra = count - len(previous.alive)
    return NeighbourState(
        previous.k,
        previous.length,
        np.pad(previous.indices, ((0, extra), (0, 0)), constant_values=-1),
        np.pad(previous.similarities, ((0, extra), (0, 0)), constant_values=np.nan),
        np.pad(previous.floor, (0, extra), constant_values=-np.inf),
        np.pad(previous.alive, (0, extra), constant_values=False),
    )


def _drop_stale(state: NeighbourState, stale: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Take stale rows out of all lists and empty their own; return which rows lost something."""
    state.indices[stale] = -1
    state.similarities[stale] = np.nan
    state.floor[stale] = -np.inf
    present = state.indices >= 0
    out = present & stale[np.where(present, state.indices, 0)]
    losing: NDArray[np.bool_] = np.asarray(out.any(axis=1))
    rows = np.flatnonzero(losing)
    # A stable sort of "goes away" moves what stays to the front in its order.
    order = np.argsort(out[rows] | ~present[rows], axis=1, kind="stable")
    kept = ~np.take_along_axis(out[rows] | ~present[rows], order, axis=1)
    state.indices[rows] = np.where(kept, np.take_along_axis(state.indices[rows], order, axis=1), -1)
    state.similarities[rows] = np.where(kept, np.take_along_axis(state.similarities[rows], order, axis=1), np.nan)
    return losing


class _Hits:
    """Collects which unchanged rows the changed ones come near enough to enter."""

    def __init__(self, floor: FloatArray, alive: NDArray[np.bool_], stale: NDArray[np.bool_]) -> None:
        self._floor = floor
        self._open = alive & ~stale
        self._guard = threading.Lock()
        self._parts: list[tuple[NDArray[np.int64], NDArray[np.int64], FloatArray]] = []
        self.undecided = np.zeros(len(floor), np.bool_)
        """Rows that a changed one comes exactly as near as somebody who is not listed: the tie is unknown."""

    def collect(self, rows: NDArray[np.int64], first: int, similarities: FloatArray) -> None:
        columns = slice(first, first + similarities.shape[1])
        floor, is_open = self._floor[columns], self._open[columns]
        left, right = np.nonzero((similarities > floor) & is_open)
        ties = ((similarities == floor) & is_open).any(axis=0)
        with self._guard:
            self._parts.append((right + first, rows[left], similarities[left, right]))
            self.undecided[columns] |= ties

    def sorted_by_row(self, without: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64], FloatArray]:
        """Return (row that is entered, row that enters, similarity), ordered by the first."""
        entered, entering, similarities = (np.concatenate(parts) for parts in zip(*self._parts, strict=True))
        keep = ~without[entered]
        entered, entering, similarities = entered[keep], entering[keep], similarities[keep]
        order = np.argsort(entered, kind="stable")
        return entered[order], entering[order], similarities[order]


def _merge(
    state: NeighbourState,
    entered: NDArray[np.int64],
    entering: NDArray[np.int64],
    similarities: FloatArray,
    touched: NDArray[np.bool_],
) -> None:
    """Put the newcomers into the lists they enter, in blocks of rows."""
    rows, starts, counts = np.unique(entered, return_index=True, return_counts=True)
    touched[rows] = True
    for block in range(0, len(rows), _MERGE_ROWS):
        part = slice(block, block + _MERGE_ROWS)
        own, number = rows[part], counts[part]
        present = state.indices[own] >= 0
        keys = np.full((len(own), state.length + int(number.max())), NO_KEY, np.uint64)
        listed = encode(np.where(present, state.similarities[own], np.float32(0.0)), state.indices[own])
        keys[:, : state.length] = np.where(present, listed, NO_KEY)
        within = np.arange(number.sum()) - np.repeat(np.cumsum(number) - number, number)
        source = np.repeat(starts[part], number) + within
        place = np.repeat(np.arange(len(own)), number), state.length + within
        keys[place] = encode(similarities[source], entering[source])
        keys.sort(axis=1)
        ids, values = decode(keys)
        state.indices[own], state.similarities[own] = ids[:, : state.length], values[:, : state.length]
        # Who no longer fits is left out now, and is nearer than everybody who already was.
        pushed = values[:, state.length]
        state.floor[own] = np.where(np.isnan(pushed), state.floor[own], pushed)


def _put(state: NeighbourState, rows: NDArray[np.int64], lists: Lists) -> None:
    state.indices[rows], state.similarities[rows], state.floor[rows] = lists.ids, lists.similarities, lists.floor


def _differences(previous: NeighbourState, state: NeighbourState, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return those of `rows` whose first k are not what they were."""
    before = _grown(previous, len(state.alive)) if len(previous.alive) < len(state.alive) else previous
    same_ids = (before.indices[rows, : state.k] == state.indices[rows, : state.k]).all(axis=1)
    was, now = before.similarities[rows, : state.k], state.similarities[rows, : state.k]
    same = same_ids & ((was == now) | (np.isnan(was) & np.isnan(now))).all(axis=1)
    different: NDArray[np.int64] = rows[~same]
    return different


def _check_k(k: int) -> None:
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}")


def _row_numbers(rows: NDArray[np.int64], count: int, what: str) -> NDArray[np.int64]:
    numbers = np.asarray(rows)
    if numbers.ndim != 1 or (numbers.size and not np.issubdtype(numbers.dtype, np.integer)):
        raise IndexError(f"{what} must be a list of row numbers, got {numbers.dtype}{list(numbers.shape)}")
    outside = numbers[(numbers < 0) | (numbers >= count)]
    if outside.size:
        raise IndexError(f"{what} must lie in 0..{count - 1}, got {outside[0]}")
    return numbers.astype(np.int64)
