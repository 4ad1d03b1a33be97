"""One similarity for a pair of vectors, whoever computes it (spec 03, "Neighbours").

Float sums depend on their order, so two matrix products of the same vectors differ in the last bits and
would order near ties differently. Here a component is first rounded to a multiple of 2^-26. Products of
two such numbers are multiples of 2^-52, and every partial sum over unit vectors stays below 2, so each
intermediate value fits the 53 bits of a double: the double sum is exact in any order, on any library, with
any number of threads, and with fused multiply-add. The rounding moves a similarity by less than 2e-8, a
third of what storing it as float32 costs.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["GRID", "UNIT_TOLERANCE", "BadVectors", "check_vectors", "exact_similarities", "product_error", "snapped"]

GRID: Final = float(2**26)
UNIT_TOLERANCE: Final = 1e-3
"""A row's length may differ from 1 by this much: float16 stores of other tools stay inside it."""
_CHECK_ROWS: Final = 8192

FloatArray = NDArray[np.float32]


class BadVectors(ValueError):
    """Vectors that are not float32[n, d] of finite unit rows; `rows` lists the offending ones."""

    def __init__(self, message: str, rows: tuple[int, ...] = ()) -> None:
        super().__init__(message)
        self.rows = rows


def check_vectors(vectors: FloatArray, alive: NDArray[np.bool_] | None = None) -> FloatArray:
    """Return `vectors` as C-contiguous float32[n, d]; raise BadVectors for anything else.

    Rows where `alive` is false are not looked at.
    """
    if not isinstance(vectors, np.ndarray) or vectors.dtype != np.float32 or vectors.ndim != 2:
        found = f"{vectors.dtype}{list(vectors.shape)}" if isinstance(vectors, np.ndarray) else type(vectors).__name__
        raise BadVectors(f"vectors must be float32[n, d], got {found}")
    if vectors.shape[0] and not vectors.shape[1]:
        raise BadVectors(f"vectors have no components: shape {list(vectors.shape)}")
    vectors = np.ascontiguousarray(vectors)
    bad: list[int] = []
    for start in range(0, len(vectors), _CHECK_ROWS):
        block = vectors[start : start + _CHECK_ROWS]
        # inf squared overflows to inf and NaN stays NaN: both fail the comparison below.
        with np.errstate(over="ignore", invalid="ignore"):
            squares = np.einsum("ij,ij->i", block, block, dtype=np.float64)
            unit = np.abs(np.sqrt(squares) - 1.0) <= UNIT_TOLERANCE
        if alive is not None:
            unit |= ~alive[start : start + _CHECK_ROWS]
        bad.extend((start + np.flatnonzero(~unit)).tolist())
    if bad:
        shown = ", ".join(map(str, bad[:10])) + (", …" if len(bad) > 10 else "")
        raise BadVectors(f"{len(bad)} of {len(vectors)} rows are not finite and of unit length: {shown}", tuple(bad))
    return vectors


def snapped(block: FloatArray) -> NDArray[np.float64]:
    """Return `block` as doubles rounded to the grid."""
    scaled = block.astype(np.float64)
    scaled *= GRID
    np.rint(scaled, out=scaled)
    scaled /= GRID
    return scaled


def exact_similarities(left: NDArray[np.float64], right: NDArray[np.float64]) -> FloatArray:
    """Return float32[len(left), len(right)]: the similarities of rows that `snapped` returned."""
    return (left @ right.T).astype(np.float32)


def product_error(dim: int) -> float:
    """Return how far a float32 product of unit rows can be from the exact similarity.

    The classical bound d·u/(1 − d·u) for any order of summation, with room for the rounding of the result,
    for the grid and for rows that are longer than 1 by the tolerance.
    """
    return (dim + 8) * 2.0**-24 * (1.0 + 4 * UNIT_TOLERANCE)
