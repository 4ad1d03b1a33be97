"""Repulsion of many points at once: a potential on a grid, by one FFT convolution (spec 03, "Layout").

Every pair of points repels with the kernel w = 1/(1 + d²). The sum over all pairs is a convolution, so the
points are spread onto a grid with cubic B-splines, convolved with w, and the potential and its gradient are
read off the grid at the points with the same splines. Dividing the kernel's spectrum by the splines' own
takes their smoothing out again, as particle-mesh Ewald summation does (Essmann et al. 1995); with a grid
step of 0.4 the forces are right within about 2 %, which a picture cannot tell from exact. (FFT-accelerated
t-SNE, Linderman et al. 2019, uses the same idea with polynomials.)
"""

from __future__ import annotations

from itertools import product
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["DirectSum", "PotentialMesh", "Repulsion", "repulsion"]

STEP: Final = 0.4
"""Grid step in units of the kernel's width, where single forces matter."""
SHIFTS: Final = {2: (0.7548776662, 0.5698402910), 3: (0.8191725134, 0.6710436067, 0.5497004779)}
"""The grid is shifted by these shares of a step more each time (the powers of the plastic number's inverse and its
cousin, which fill a cell evenly). A grid that stood still would draw points to fixed places within its cells, and
the leaves of a star would end on top of each other; shifted, its errors average out."""
SIDE_2D: Final = 480
SIDE_3D: Final = 72
"""Most points along a side; larger pictures get a coarser grid. 480² costs 15 ms a step, 72³ costs 40 ms."""
_MARGIN: Final = 7
"""Grid points around the outermost points, for the splines' reach and rounding."""
_ROOM: Final = 1.15
"""Growth that a grid leaves room for, so that a spreading picture does not need a new kernel every step."""
DIRECT_2D: Final = 400
DIRECT_3D: Final = 800
"""Points up to which summing over all pairs is faster than the grid."""

FloatArray = NDArray[np.float32]


class Repulsion(Protocol):
    """What pushes points apart."""

    def field(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return (gradient float32[n, dims], potential float32[n]): φ(i) = Σ_{j≠i} 1/(1 + |y_i − y_j|²), and ∇φ."""
        ...


def repulsion(count: int, dims: int, *, compiled: bool, step: float = STEP) -> Repulsion:
    """Return the faster of the two ways for `count` points."""
    if count <= (DIRECT_2D if dims == 2 else DIRECT_3D):
        return DirectSum()
    return PotentialMesh(dims, compiled=compiled, step=step)


class DirectSum:
    """The sum over all pairs, for small graphs."""

    def field(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        away = [axis[:, None] - axis[None, :] for axis in np.ascontiguousarray(points.T)]
        kernel = np.float32(1.0) / (np.float32(1.0) + np.sum([part**2 for part in away], axis=0))
        np.fill_diagonal(kernel, 0.0)
        squares = kernel**2
        gradient = np.stack([np.float32(-2.0) * (squares * part).sum(axis=1) for part in away], axis=1)
        return gradient.astype(np.float32), kernel.sum(axis=1)


class PotentialMesh:
    """The grid of one layout run, 2-D or 3-D; it follows the points as they spread.

    `compiled` takes the numba kernels; the numpy path gives the same field up to float32 rounding.
    """

    def __init__(self, dims: int, *, compiled: bool, step: float = STEP, side: int | None = None) -> None:
        if dims not in {2, 3}:
            raise ValueError(f"dims must be 2 or 3, got {dims}")
        self._dims = dims
        self._compiled = compiled
        self._finest = step
        self._most = side or (SIDE_2D if dims == 2 else SIDE_3D)
        self._side = 0
        self._step = 0.0
        self._padded = 0
        self._fields = 0
        self._spectrum: NDArray[np.complex64] = np.zeros(0, np.complex64)

    def field(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        low, high = _box(points, compiled=self._compiled)
        self._fit(float((high - low).max()))
        self._fields += 1
        shift = self._step * (np.array(SHIFTS[self._dims]) * self._fields % 1.0 - 0.5)
        corner = ((low + high) / 2 - self._step * (self._side - 1) / 2 + shift).astype(np.float32)
        # In grid units: at least one grid point below and two above each point.
        places = ((points - corner) / np.float32(self._step)).astype(np.float32)
        spread, read = (_compiled_pair if self._compiled else _plain_pair)(self._dims)
        grid = np.zeros((self._side,) * self._dims, np.float32)
        spread(places, grid)
        gradient = np.empty_like(points)
        potential = np.empty(len(points), np.float32)
        read(places, self._convolved(grid), gradient, potential)
        gradient /= np.float32(self._step)
        # A point's own share of the potential is w(0) = 1 within the accuracy of the grid.
        return gradient, potential - np.float32(1.0)

    def _fit(self, extent: float) -> None:
        """Make the grid hold `extent`; keep the one there is while it fits and is not far too large."""
        wanted = int(extent / self._finest) + _MARGIN
        room = extent * _ROOM if wanted > self._most else extent
        step = max(self._finest, room / (self._most - _MARGIN))
        holds = self._side > 0 and self._step * (self._side - _MARGIN) >= extent
        if holds and self._side <= max(32, 1.6 * wanted) and self._step <= 1.3 * step:
            return
        from scipy.fft import next_fast_len

        self._side = min(self._most, next_fast_len(max(16, int(wanted * _ROOM))))
        self._step = max(self._finest, room / (self._side - _MARGIN))
        self._padded = next_fast_len(2 * self._side, real=True)
        self._spectrum = _kernel_spectrum(self._padded, self._step, self._dims)

    def _convolved(self, grid: FloatArray) -> FloatArray:
        """Return the convolution of `grid` with the kernel, transforming only the lines that are not all zero."""
        from scipy.fft import fft, ifft, irfft, rfft

        size, side, axes = self._padded, self._side, range(self._dims - 1)
        lines: Any = rfft(grid, n=size, axis=-1)
        for axis in axes:
            lines = fft(lines, n=size, axis=axis, overwrite_x=True)
        lines *= self._spectrum
        for axis in reversed(axes):
            lines = ifft(lines, axis=axis, overwrite_x=True)
            lines = lines[(slice(None),) * axis + (slice(side),)]
        whole: FloatArray = irfft(lines, n=size, axis=-1)
        return np.ascontiguousarray(whole[..., :side])


def _kernel_spectrum(size: int, step: float, dims: int) -> NDArray[np.complex64]:
    """Return the spectrum of w on a periodic grid of `size` points a side, without the splines' smoothing."""
    from scipy.fft import rfftn

    distance = np.minimum(np.arange(size), size - np.arange(size)) * step
    squares = sum(
        np.reshape(distance**2, [size if axis == other else 1 for other in range(dims)]) for axis in range(dims)
    )
    spectrum = rfftn(1.0 / (1.0 + np.asarray(squares)))
    # A cubic B-spline has the values 1/6, 4/6, 1/6 at the grid points; it is applied twice.
    spline = (2.0 + np.cos(2.0 * np.pi * np.arange(size) / size)) / 3.0
    for axis in range(dims):
        values = spline[: spectrum.shape[axis]]
        spectrum /= np.reshape(values**2, [-1 if axis == other else 1 for other in range(dims)])
    return spectrum.astype(np.complex64)


def _box(points: FloatArray, *, compiled: bool) -> tuple[FloatArray, FloatArray]:
    """Return the lower and the upper corner of the box around the points."""
    if not compiled:
        return points.min(axis=0), points.max(axis=0)
    from vector.layout_kernels import bounds

    # numpy needs as long for this as the compiled kernels for a third of the field.
    low, high = np.empty(points.shape[1], np.float32), np.empty(points.shape[1], np.float32)
    bounds(points, low, high)
    return low, high


def _compiled_pair(dims: int) -> tuple[Any, Any]:
    from vector import layout_kernels as kernels

    return (kernels.spread_2d, kernels.read_2d) if dims == 2 else (kernels.spread_3d, kernels.read_3d)


def _plain_pair(dims: int) -> tuple[Any, Any]:
    return _spread, _read


def _splines(places: FloatArray) -> tuple[NDArray[np.int64], FloatArray, FloatArray]:
    """Return (first grid point int64[n, dims], values float32[4, n, dims], slopes, the same shape)."""
    base = places.astype(np.int64)
    f = places - base.astype(np.float32)
    g = np.float32(1.0) - f
    values = np.stack([g**3, 4 - 6 * f**2 + 3 * f**3, 4 - 6 * g**2 + 3 * g**3, f**3]) / np.float32(6.0)
    slopes = np.stack([-(g**2), -4 * f + 3 * f**2, 4 * g - 3 * g**2, f**2]) / np.float32(2.0)
    return base - 1, values.astype(np.float32), slopes.astype(np.float32)


def _spread(places: FloatArray, grid: FloatArray) -> None:
    """Add a unit of mass to `grid` for every place, float32[n, dims] in grid units."""
    base, values, _ = _splines(places)
    flat = np.zeros(grid.size, np.float64)
    for offset in product(range(4), repeat=grid.ndim):
        index = np.ravel_multi_index(tuple((base + offset).T), grid.shape)
        flat += np.bincount(index, weights=_weights(values, offset), minlength=grid.size)
    grid += flat.reshape(grid.shape).astype(np.float32)


def _read(places: FloatArray, field: FloatArray, gradient: FloatArray, potential: FloatArray) -> None:
    """Set potential and gradient (per grid unit) of `field` at every place."""
    base, values, slopes = _splines(places)
    gradient[:] = 0.0
    potential[:] = 0.0
    for offset in product(range(4), repeat=field.ndim):
        found = field[tuple((base + offset).T)]
        potential += found * _weights(values, offset)
        for axis in range(field.ndim):
            part = [slopes[at, :, d] if d == axis else values[at, :, d] for d, at in enumerate(offset)]
            gradient[:, axis] += found * np.prod(part, axis=0)


def _weights(values: FloatArray, offset: tuple[int, ...]) -> FloatArray:
    weights: FloatArray = np.prod([values[at, :, axis] for axis, at in enumerate(offset)], axis=0)
    return weights
