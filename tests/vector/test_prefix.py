"""The bound that spares most products: never below what it bounds, and the same lists with it as without."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from vector import halfproduct, prefix
from vector.neighbours import nearest_neighbours, neighbour_state
from vector.similarity import product_error

BLOCK = 2**28


def mixture(count: int, dim: int, seed: int, clusters: int = 12, spread: float = 0.8) -> NDArray[np.float32]:
    """Unit rows around a few centres, their spread falling off over the directions as that of embeddings does."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((clusters, dim)) / np.sqrt(dim)
    noise = rng.standard_normal((count, dim)) / np.sqrt(1.0 + np.arange(dim))
    noise *= spread / np.sqrt((1.0 / (1.0 + np.arange(dim))).sum())
    basis = np.linalg.qr(rng.standard_normal((dim, dim)))[0]
    rows = centres[rng.integers(0, clusters, count)] + noise @ basis
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows.astype(np.float32)


def ranked(vectors: NDArray[np.float32], length: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Every row's ranking by its definition: components on the grid of 2^-26, summed exactly, ties to the lower row."""
    grid = np.rint(vectors.astype(np.float64) * 2.0**26) / 2.0**26
    similarities = (grid @ grid.T).astype(np.float32)
    np.fill_diagonal(similarities, -np.inf)
    order = np.argsort(-similarities, axis=1, kind="stable")[:, :length]
    return order, np.take_along_axis(similarities, order, axis=1)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("axes", [8, 24, 95])
def test_no_product_exceeds_its_bound(seed: int, axes: int) -> None:
    vectors = mixture(300, 96, seed)
    vectors[7] = vectors[3]  # equal rows: the bound is tight
    vectors[11] = -vectors[5]
    bounding = prefix._bounding(vectors, prefix._axes(vectors)[:, :axes])
    assert bounding.shape == (300, axes + 1)
    bound = bounding @ bounding.T
    assert (bound >= vectors @ vectors.T).all()
    # Held against exact arithmetic too: as much above it as float32 may err.
    exact = vectors.astype(np.float64) @ vectors.T.astype(np.float64)
    assert (bound.astype(np.float64) >= exact + product_error(96)).all()
    # And tight enough to be of use.
    rest = np.sqrt(np.maximum(0.0, 1.0 - (bounding[:, :-1].astype(np.float64) ** 2).sum(axis=1)))
    assert (bound <= exact + 2.0 * np.outer(rest, rest) + 0.01).all()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("places", [1, 5, 16])
def test_enough_rows_reach_the_limits(seed: int, places: int) -> None:
    vectors = mixture(2300, 48, seed, clusters=40)
    limits = prefix.lower_limits(vectors, places, threads=2)
    products = vectors @ vectors.T
    np.fill_diagonal(products, -2.0)
    assert ((products > limits[:, None]).sum(axis=1) >= places).all()
    # Most of them near what the last place will hold, or the bound would spare nothing.
    last = np.sort(products, axis=1)[:, -places]
    assert np.median(last - limits) < 0.1


def test_too_few_rows_for_a_limit_give_none() -> None:
    assert (prefix.lower_limits(mixture(9, 16, 1), 12) == -2.0).all()


def test_rows_that_fill_their_space_evenly_are_multiplied_in_full() -> None:
    rows = np.random.default_rng(2).standard_normal((4000, 64))
    vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    limits = prefix.lower_limits(vectors, 16)
    assert prefix.bounding_rows(vectors, limits, BLOCK, None) is None
    assert (
        prefix.bounding_rows(mixture(4000, 64, 2), prefix.lower_limits(mixture(4000, 64, 2), 16), 2**10, None) is None
    )


@pytest.mark.parametrize(
    ("vectors", "length"),
    [
        (mixture(1700, 96, 5), 12),
        (mixture(1700, 96, 6, clusters=200, spread=0.3), 5),
        (np.repeat(mixture(340, 96, 7), 5, axis=0), 8),  # ties everywhere
        (np.repeat(mixture(1, 96, 8), 1500, axis=0), 4),  # no variance at all
    ],
    ids=["clusters", "small clusters", "copies", "one point"],
)
@pytest.mark.parametrize("threads", [1, 3])
def test_the_lists_are_those_of_brute_force(
    monkeypatch: pytest.MonkeyPatch, vectors: NDArray[np.float32], length: int, threads: int
) -> None:
    monkeypatch.setattr(halfproduct, "BOUNDED_FROM", 500)
    # Whatever pays: the lists must not depend on it.
    monkeypatch.setattr(prefix, "_WORTH", 1e9)
    used = []
    real = prefix.bounding_rows
    monkeypatch.setattr(halfproduct, "bounding_rows", lambda *given: used.append(real(*given)) or used[-1])
    found = nearest_neighbours(vectors, length, path="compiled", threads=threads)
    assert used[0] is not None
    indices, similarities = ranked(vectors, length)
    np.testing.assert_array_equal(found.indices, indices)
    np.testing.assert_array_equal(found.similarities, similarities)
    state = neighbour_state(vectors, length, slack=3, path="compiled", threads=threads)
    np.testing.assert_array_equal(state.neighbours().indices, indices)


def test_a_threshold_and_the_bound_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(halfproduct, "BOUNDED_FROM", 500)
    vectors = mixture(2000, 96, 9)
    found = nearest_neighbours(vectors, 12, min_similarity=0.6, path="compiled")
    plain = nearest_neighbours(vectors, 12, min_similarity=0.6, path="numpy")
    np.testing.assert_array_equal(found.indices, plain.indices)
    np.testing.assert_array_equal(found.similarities, plain.similarities)
