"""Placing what no edge holds together: components beside each other, orphans on the rim (spec 03, "Layout")."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["pack_components", "rim_places"]

PLACED_ONE_BY_ONE: Final = 300
"""Components that are fitted into the gaps between larger ones; each later one costs a look at all before it."""
TOUCHING: Final = 1e-9
RAYS_2D: Final = 96
RAYS_3D: Final = 240
"""Directions in which a place is looked for: gaps are then found within a few percent of the radius."""

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def pack_components(points: FloatArray, component: IntArray, gap: float) -> FloatArray:
    """Return `points`, float64[n, dims], with each component moved as a whole so that none overlaps another.

    component: int64[n], 0…c−1. The largest stays in the middle, the others come as near to it as they fit,
    about in the direction they were in; beyond the first few hundred they follow in rings. `gap` is left
    between the circles (spheres) around any two components.
    """
    count = int(component.max()) + 1 if len(component) else 0
    if count == 0:
        return points.copy()
    centres = _middles(points, component, count)
    reach = np.sqrt(((points - centres[component]) ** 2).sum(axis=1))
    radii = np.zeros(count)
    np.maximum.at(radii, component, reach)
    radii += gap / 2
    order = np.lexsort((np.arange(count), -radii))
    places = np.zeros_like(centres)
    first = order[:PLACED_ONE_BY_ONE]
    towards = centres - centres[order[0]]
    for position, one in enumerate(first):
        if position:
            before = first[:position]
            places[one] = _nearest_gap(towards[one], radii[one], places[before], radii[before])
    rest = order[PLACED_ONE_BY_ONE:]
    if len(rest):
        outer = float((np.sqrt((places[first] ** 2).sum(axis=1)) + radii[first]).max())
        places[rest] = rim_places(radii[rest], outer, points.shape[1])
    moved: FloatArray = points + (places - centres)[component]
    return moved


def _middles(points: FloatArray, component: IntArray, count: int) -> FloatArray:
    """Return float64[count, dims]: the middle of each component's box, whose circle is tighter than the mean's."""
    low = np.full((count, points.shape[1]), np.inf)
    high = np.full((count, points.shape[1]), -np.inf)
    np.minimum.at(low, component, points)
    np.maximum.at(high, component, points)
    middles: FloatArray = (low + high) / 2
    return middles


def rim_places(radii: FloatArray, inner: float, dims: int) -> FloatArray:
    """Return float64[m, dims]: centres for circles of these radii in rings around a disc of radius `inner`."""
    places = np.empty((len(radii), dims))
    start = 0
    while start < len(radii):
        widest = float(radii[start:].max())
        ring = inner + widest
        # A circle takes 2·widest of the circumference; on a sphere, with some room, 4·widest² of the surface.
        fits = np.pi * ring / widest if dims == 2 else np.pi * (ring / widest) ** 2
        stop = min(len(radii), start + max(1, int(fits)))
        places[start:stop] = ring * _directions(stop - start, dims)
        inner, start = ring + widest, stop
    return places


def _nearest_gap(towards: FloatArray, radius: float, places: FloatArray, radii: FloatArray) -> FloatArray:
    """Return the place nearest to the origin, on one of many rays, where a circle touches none of those placed."""
    dims = len(towards)
    rays = _directions(RAYS_2D if dims == 2 else RAYS_3D, dims)
    length = float(np.sqrt((towards**2).sum()))
    if length > 0:
        # Mirror the rays so that the first one is the wanted direction: it is taken where all are as good.
        axis = rays[0] - towards / length
        norm = float((axis**2).sum())
        if norm > 1e-18:
            rays = rays - 2.0 * np.outer(rays @ axis, axis) / norm
    along = rays @ places.T
    aside = (places**2).sum(axis=1)[None, :] - along**2
    half = np.sqrt(np.maximum((radii + radius)[None, :] ** 2 - aside, 0.0))
    # On each ray a placed circle forbids an interval; go out to the end of whatever covers the present place.
    enter, leave = along - half, along + half
    distance = np.zeros(len(rays))
    while True:
        here = distance[:, None]
        covered = np.where((enter < here - TOUCHING) & (leave > here + TOUCHING), leave, -np.inf)
        further = np.maximum(distance, covered.max(axis=1))
        if (further == distance).all():
            break
        distance = further
    best = int(np.argmin(np.round(distance, 6)))
    place: FloatArray = rays[best] * distance[best]
    return place


def _directions(count: int, dims: int) -> FloatArray:
    """Return float64[count, dims]: unit vectors spread evenly over the circle or (Fibonacci) the sphere."""
    index = np.arange(count)
    if dims == 2:
        angle = 2.0 * np.pi * index / max(count, 1)
        return np.stack([np.cos(angle), np.sin(angle)], axis=1)
    height = 1.0 - (2.0 * index + 1.0) / max(count, 1)
    angle = np.pi * (1.0 + np.sqrt(5.0)) * index
    flat = np.sqrt(np.maximum(0.0, 1.0 - height**2))
    return np.stack([flat * np.cos(angle), flat * np.sin(angle), height], axis=1)
