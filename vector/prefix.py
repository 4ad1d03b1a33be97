"""An upper bound on every similarity for a third of the cost of the similarity: what most pairs need no more of.

Embeddings do not fill their space evenly. Turned onto the principal axes of a sample, the first m of d components
hold most of a row; by Cauchy and Schwarz the others add at most |rest of a| · |rest of b|. With the length of the rest
as component m + 1, one product of m + 1 components is that bound, and only pairs whose bound exceeds what a row's list
already holds are multiplied out. Nothing is approximated: where the bound saves too little, it is not used.
(The bound is the classical one of partial distances, e.g. Cheng et al. 1984, with axes after Hotelling 1933.)
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from vector.similarity import product_error
from vector.workers import run_blocks

__all__ = ["BOUNDED_FROM", "bounding_rows", "lower_limits"]

BOUNDED_FROM: Final = 16_000
"""Rows from which the bound is tried: below, finding the axes and the limits costs what it saves."""
_SAMPLE: Final = 4096
"""Rows whose axes stand for all."""
_PROBES: Final = 512
"""Rows, and as many columns again, on which the share of pairs that remain is measured."""
_PAIR_COST: Final = 9.0
"""What a pair that remains costs, in pairs of the full product (measured at d = 384: 70 to 100 ns beside 7 to 10)."""
_NARROW_COST: Final = 1.15
"""A narrow product costs a little more for each component than a wide one."""
_WORTH: Final = 0.85
"""Share of the full product's cost above which the bound is left alone."""
_SHARES: Final = (6, 4, 3, 2)
"""Numbers of axes that are tried: d divided by these."""
_PIVOTS: Final = 256
_GROUP: Final = 512
_ROUNDS: Final = 4
_BLOCK: Final = 8192

FloatArray = NDArray[np.float32]


def lower_limits(vectors: FloatArray, places: int, threads: int | None = None) -> FloatArray:
    """Return, float32[n], what at least `places` other rows of each row certainly reach in any float32 product.

    Rows are put beside those that are nearest to the same one of a few rows, and compared within pieces of 512. The
    half that fares worse is put together anew: rows of small clusters, which the few rows had missed.
    """
    limits = np.full(len(vectors), -2.0, np.float32)
    rows = np.arange(len(vectors))
    for _ in range(_ROUNDS):
        _raise(limits, vectors, rows, places, threads)
        rows = rows[limits[rows] <= np.median(limits[rows])]
    return limits


def _raise(limits: FloatArray, vectors: FloatArray, rows: NDArray[np.int64], places: int, threads: int | None) -> None:
    """Raise the limits of `rows` to what a comparison among them shows."""
    pivots = vectors[rows[:: max(1, len(rows) // _PIVOTS)]]
    nearest = np.empty(len(rows), np.int64)

    def assign(start: int) -> None:
        products = vectors[rows[start : start + _BLOCK]] @ pivots.T
        nearest[start : start + _BLOCK] = products.argmax(axis=1)

    run_blocks(assign, range(0, len(rows), _BLOCK), threads)
    order = rows[np.argsort(nearest, kind="stable")]
    slack = np.float32(2 * product_error(vectors.shape[1]))

    def compare(start: int) -> None:
        piece = order[start : start + _GROUP]
        if len(piece) <= places:
            return
        group = vectors[piece]
        products = group @ group.T
        np.fill_diagonal(products, -2.0)
        products.partition(len(piece) - places, axis=1)
        limits[piece] = np.maximum(limits[piece], products[:, len(piece) - places] - slack)

    run_blocks(compare, range(0, len(order), _GROUP), threads)


def bounding_rows(vectors: FloatArray, limits: FloatArray, block_bytes: int, threads: int | None) -> FloatArray | None:
    """Return float32[n, m + 1] rows whose products bound those of `vectors`, or None where that would not pay.

    The product of two of them, in float32 in any order, is at least the float32 product of their vectors. `limits`,
    float32[n], tells how near a pair must be to matter.
    """
    count = len(vectors)
    axes = _axes(vectors)
    chosen = _number_of_axes(vectors, axes, limits)
    if chosen is None or 4 * count * (chosen + 1) > block_bytes // 2:
        return None
    rows = np.empty((count, chosen + 1), np.float32)

    def turn(start: int) -> None:
        rows[start : start + _BLOCK] = _bounding(vectors[start : start + _BLOCK], axes[:, :chosen])

    run_blocks(turn, range(0, count, _BLOCK), threads)
    return rows


def _axes(vectors: FloatArray) -> NDArray[np.float64]:
    """Return float64[d, d]: orthonormal columns, those along which a sample extends most first."""
    sample = vectors[:: max(1, len(vectors) // _SAMPLE)].astype(np.float64)
    _, axes = np.linalg.eigh(sample.T @ sample)
    return np.ascontiguousarray(axes[:, ::-1])


def _bounding(block: FloatArray, axes: NDArray[np.float64]) -> FloatArray:
    """Return float32[len(block), m + 1]: components along `axes` and, last, no less than the length of the rest.

    With s for what float32 can take from either product, (r² + s)(q² + s) ≥ (r q + s)²: the last components' product
    bounds that of the rests with s to spare.
    """
    exact = block.astype(np.float64)
    along = exact @ axes
    stored = along.astype(np.float32)
    rest = np.einsum("ij,ij->i", exact, exact) - np.einsum("ij,ij->i", along, along)
    # Storing a component rounds it by 2^-24 of itself; doubles and the axes' own errors stay far below that.
    spare = product_error(block.shape[1]) + product_error(axes.shape[1] + 1) + 2.0**-21
    length = np.sqrt(np.maximum(rest, 0.0) + spare)
    return np.column_stack([stored, np.nextafter(length.astype(np.float32), np.float32(2.0))])


def _number_of_axes(vectors: FloatArray, axes: NDArray[np.float64], limits: FloatArray) -> int | None:
    """Return how many axes cost least on a few rows against a few others, None where the full product does."""
    dim = vectors.shape[1]
    every = max(1, len(vectors) // _PROBES)
    left, right = np.arange(0, len(vectors), every), np.arange(every // 2, len(vectors), every)
    needed = np.minimum.outer(limits[left], limits[right])
    best, least = None, _WORTH
    for share in _SHARES:
        number = dim // share
        if number < 8:
            continue
        first, second = _bounding(vectors[left], axes[:, :number]), _bounding(vectors[right], axes[:, :number])
        remaining = float((first @ second.T > needed).mean())
        cost = _NARROW_COST * (number + 1) / dim + _PAIR_COST * remaining
        if cost < least:
            best, least = number, cost
    return best
