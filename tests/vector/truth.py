"""Slow, plain definitions that the fast code is checked against."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray


def unit(rows: NDArray[np.float64]) -> NDArray[np.float32]:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def scattered(count: int, dim: int, seed: int) -> NDArray[np.float32]:
    return unit(np.random.default_rng(seed).standard_normal((count, dim)))


def clustered(count: int, dim: int, seed: int, clusters: int = 5, spread: float = 0.3) -> NDArray[np.float32]:
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((clusters, dim))
    rows = centres[rng.integers(0, clusters, count)] + spread * rng.standard_normal((count, dim))
    return unit(rows)


def with_duplicates(count: int, dim: int, seed: int) -> NDArray[np.float32]:
    rng = np.random.default_rng(seed)
    different = scattered(max(1, count // 6), dim, seed)
    return different[rng.integers(0, len(different), count)]


def nearly_same(count: int, dim: int, seed: int) -> NDArray[np.float32]:
    """Rows that float32 products cannot tell apart: their similarities differ by less than the products err."""
    rng = np.random.default_rng(seed)
    return unit(rng.standard_normal(dim) + 2e-4 * rng.standard_normal((count, dim)))


def equal_rows(count: int, dim: int, seed: int) -> NDArray[np.float32]:
    """Data without variance: every row is the same."""
    return np.repeat(scattered(1, dim, seed), count, axis=0)


def exact_similarity(left: NDArray[np.float32], right: NDArray[np.float32]) -> float:
    """The definition in exact rational arithmetic: components to multiples of 2^-26, one rounding at the end."""
    scale = 2**26
    total = sum(
        Fraction(round(Fraction(float(a)) * scale) * round(Fraction(float(b)) * scale), scale * scale)
        for a, b in zip(left, right, strict=True)
    )
    return float(np.float32(float(total)))


def brute_force(
    similarities: NDArray[np.float32], k: int, min_similarity: float = -2.0, alive: NDArray[np.bool_] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Rank a full matrix of similarities row by row with Python's own sort."""
    count = len(similarities)
    indices = np.full((count, k), -1, np.int64)
    values = np.full((count, k), np.nan, np.float32)
    for row in range(count):
        if alive is not None and not alive[row]:
            continue
        ranking = sorted(
            (-float(similarities[row, other]), other)
            for other in range(count)
            if other != row and similarities[row, other] >= min_similarity and (alive is None or alive[other])
        )[:k]
        for place, (value, other) in enumerate(ranking):
            indices[row, place], values[row, place] = other, -value
    return indices, values


def sorted_lists(
    similarities: NDArray[np.float32], k: int, alive: NDArray[np.bool_] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """As `brute_force` without a threshold, for more rows than Python can sort: best first, ties by lower row."""
    ranked = similarities.astype(np.float64)
    np.fill_diagonal(ranked, -np.inf)
    if alive is not None:
        ranked[:, ~alive] = ranked[~alive] = -np.inf
    indices = np.argsort(-ranked, axis=1, kind="stable")[:, :k].astype(np.int64)
    values = np.take_along_axis(ranked, indices, axis=1)
    indices[np.isinf(values)], values[np.isinf(values)] = -1, np.nan
    return indices, values.astype(np.float32)


def matrix(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """All exact similarities, from integers: (2^26 · component) fits 27 bits and a product 54."""
    whole = np.rint(vectors.astype(np.float64) * 2**26).astype(np.int64)
    count = len(whole)
    out = np.zeros((count, count), np.float32)
    for row in range(count):
        out[row] = ((whole[row] * whole).sum(axis=1) / 2.0**52).astype(np.float32)
    return out
