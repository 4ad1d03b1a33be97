from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from vector.mesh import DirectSum, PotentialMesh, repulsion


def direct(points: NDArray[np.float32]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The potential and its gradient by summing over all pairs."""
    away = points[:, None].astype(np.float64) - points[None]
    kernel = 1.0 / (1.0 + (away**2).sum(axis=-1))
    np.fill_diagonal(kernel, 0.0)
    return -2.0 * (kernel[:, :, None] ** 2 * away).sum(axis=1), kernel.sum(axis=1)


def cloud(dims: int, spread: float, count: int = 400) -> NDArray[np.float32]:
    return (np.random.default_rng(7).standard_normal((count, dims)) * spread).astype(np.float32)


def test_one_dimension_is_no_picture() -> None:
    with pytest.raises(ValueError, match="dims must be 2 or 3, got 1"):
        PotentialMesh(1, compiled=False)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(("dims", "spread"), [(2, 0.5), (2, 8.0), (3, 2.0)])
def test_field_is_the_sum_over_all_pairs(dims: int, spread: float, compiled: bool) -> None:
    points = cloud(dims, spread)
    gradient, potential = PotentialMesh(dims, compiled=compiled).field(points)
    wanted_gradient, wanted_potential = direct(points)
    assert potential == pytest.approx(wanted_potential, rel=0.01, abs=0.03)
    error = np.sqrt(((gradient - wanted_gradient) ** 2).mean() / (wanted_gradient**2).mean())
    assert error < 0.03


@pytest.mark.parametrize("dims", [2, 3])
def test_small_graphs_are_summed_directly(dims: int) -> None:
    points = cloud(dims, 3.0, 50)
    assert isinstance(repulsion(50, dims, compiled=False), DirectSum)
    assert isinstance(repulsion(5000, dims, compiled=False), PotentialMesh)
    gradient, potential = DirectSum().field(points)
    wanted_gradient, wanted_potential = direct(points)
    assert gradient == pytest.approx(wanted_gradient, rel=1e-4, abs=1e-5)
    assert potential == pytest.approx(wanted_potential, rel=1e-5)


@pytest.mark.parametrize("dims", [2, 3])
def test_both_paths_give_the_same_field(dims: int) -> None:
    points = cloud(dims, 3.0)
    plain, compiled = PotentialMesh(dims, compiled=False), PotentialMesh(dims, compiled=True)
    for _ in range(2):
        (gradient, potential), (other_gradient, other_potential) = plain.field(points), compiled.field(points)
        scale = np.abs(gradient).max()
        assert np.abs(gradient - other_gradient).max() < 1e-3 * scale
        assert potential == pytest.approx(other_potential, rel=1e-4, abs=1e-3)
        points = points * np.float32(1.7)


def test_grid_stays_bounded_however_far_points_go() -> None:
    mesh = PotentialMesh(2, compiled=False, side=64)
    near = cloud(2, 1.0)
    for factor in (1, 50, 10_000, 0.001):
        gradient, potential = mesh.field((near * factor).astype(np.float32))
        assert np.isfinite(gradient).all()
        assert np.isfinite(potential).all()
    assert mesh._side <= 64


def test_all_in_one_point_and_two_points() -> None:
    mesh = PotentialMesh(2, compiled=False)
    gradient, potential = mesh.field(np.zeros((5, 2), np.float32))
    assert potential == pytest.approx(4.0, abs=0.1)
    assert np.abs(gradient).max() < 0.2
    _, potential = mesh.field(np.array([[0, 0], [3, 0]], np.float32))
    assert potential == pytest.approx([0.1, 0.1], abs=0.02)


def test_grid_is_fine_again_once_points_are_near_again() -> None:
    points = cloud(2, 8.0)
    wanted, _ = direct(points)
    mesh = PotentialMesh(2, compiled=False, side=140)
    mesh.field(points * np.float32(40))
    gradient, _ = mesh.field(points)
    assert np.sqrt(((gradient - wanted) ** 2).mean() / (wanted**2).mean()) < 0.03
