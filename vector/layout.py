"""The map: where nodes stand (spec 03, "Layout"). Pure: arrays in, arrays out, randomness passed in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from vector.forces import descend, natural_scale
from vector.packing import pack_components, rim_places
from vector.quality import LayoutQuality, layout_quality
from vector.springs import Springs, compiles, components, springs

__all__ = [
    "LayoutMode",
    "LayoutPolicy",
    "LayoutQuality",
    "RelaxReport",
    "full_layout",
    "layout_quality",
    "relax",
]

LayoutMode = Literal["off", "relax", "full"]
Tick = Callable[[int], None]

EXAGGERATION: Final = 12.0
"""Springs of the first third are this much stronger, so that clusters gather before they spread (t-SNE's)."""
GRID: Final = 0.8
"""Step of the grid in a full layout, whose hundreds of steps average the grid's errors out: against 0.4 it keeps as
many neighbourhoods in half the time; 1.0 leaves more overlap."""
RELAX_STEPS: Final = 20
RELAX_RATE: Final = 0.5
RELAX_MOMENTUM: Final = 0.5
"""Gentler than a full layout: near rest the target must come to rest too, not swing around it."""
SWEPT_FROM: Final = 20_000
"""Nodes from which their order in memory is worth arranging."""
GAP: Final = 2.0
"""Room between components and on the rim, in units of the kernel's width (neighbours are about 1 apart)."""
POWER_STEPS: Final = 40
START_SPREAD: Final = 0.15
"""Size of a component at the start, per node and in units of the kernel's width: dense, so that it can unfold."""

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LayoutPolicy:
    """Knobs of the map; the defaults are the documented ones (BRAIN_VECTOR_GRAPH_…)."""

    mode: LayoutMode = "relax"
    dims: int = 2
    blend: float = 0.08
    """Share of the way to equilibrium that one refresh goes."""
    max_shift: float = 0.035
    """Most a node moves in one refresh; the picture's radius is 1."""
    rest: float = 1e-4
    """A shift below this is none."""
    steps: int = 500
    k: int = 12
    """How many of its heaviest edges hold a node."""


@dataclass(frozen=True, slots=True)
class RelaxReport:
    """What one relaxation did. `entered` nodes had no position before and count as neither moved nor shifted.
    `scale` is the picture's size in natural units: pass it to the next relaxation of the same graph."""

    max_shift: float
    mean_shift: float
    moved: int
    entered: int
    scale: float

    @property
    def at_rest(self) -> bool:
        return self.moved == 0 and self.entered == 0


def full_layout(
    count: int,
    edges: IntArray,
    weights: FloatArray,
    policy: LayoutPolicy,
    rng: np.random.Generator,
    *,
    tick: Tick | None = None,
) -> FloatArray:
    """Return float64[count, dims]: a layout from scratch, centred, the 99th percentile of the radius 1.

    edges: int64[e, 2], undirected, each once, no loops; weights: float64[e], positive. The same input and
    seed give the same picture. Raises ValueError for edges or weights that are none.
    """
    edges, weights = _checked(count, edges, weights)
    linked, inner, edges = _linked(count, edges)
    places = np.zeros((count, policy.dims))
    outer = GAP / 2
    if len(edges):
        net = springs(len(inner), edges, weights, policy.k)
        component = components(len(inner), edges)
        points = descend(
            _start(net, component, policy.dims, rng),
            net,
            policy.steps,
            exaggeration=EXAGGERATION,
            exaggerated=policy.steps // 3,
            grid=GRID,
            tick=tick,
        ).astype(np.float64)
        points = pack_components(points, component, GAP)
        points -= points.mean(axis=0)
        places[inner] = points
        outer = float(np.sqrt((points**2).sum(axis=1)).max()) + GAP / 2
    orphans = np.flatnonzero(~linked)
    if len(orphans) == 1 and count == 1:
        return places
    places[orphans] = rim_places(np.full(len(orphans), GAP / 4), outer, policy.dims)
    return _normalised(places)


def relax(
    positions: FloatArray,
    edges: IntArray,
    weights: FloatArray,
    policy: LayoutPolicy,
    rng: np.random.Generator,
    *,
    scale: float | None = None,
) -> tuple[FloatArray, RelaxReport]:
    """Return (positions, report): every node moved a little toward where the forces would put it.

    positions: float64[n, dims], NaN rows for nodes that have none yet; they enter at the weighted mean of
    their neighbours, or on the rim. Nodes without edges stay. Each component keeps its place and size: what
    would shift, or grow, it as a whole is not movement toward a better picture. `scale` is the `scale` of
    the last report for this graph; without it it is measured.
    """
    edges, weights = _checked(len(positions), edges, weights)
    if positions.ndim != 2 or positions.shape[1] not in {2, 3}:
        raise ValueError(f"positions must be float64[n, 2 or 3], got {list(positions.shape)}")
    placed, entered = _entered(positions, edges, weights, rng)
    _, inner, edges = _linked(len(placed), edges)
    if not len(inner):
        return placed, RelaxReport(0.0, 0.0, 0, int(entered.sum()), scale or 1.0)
    net = springs(len(inner), edges, weights, policy.k)
    here = placed[inner]
    factor = natural_scale(here.astype(np.float32), net) if scale is None else scale
    target = _settled((here * factor).astype(np.float32), net)
    shift = _inward(here, target / factor - here, components(len(inner), edges)) * policy.blend
    length = np.sqrt((shift**2).sum(axis=1))
    # Not quite the limit, so that adding the shift to a position cannot round it beyond.
    shift *= np.minimum(1.0, policy.max_shift * (1 - 1e-9) / np.maximum(length, 1e-300))[:, None]
    length = np.minimum(length, policy.max_shift)
    moving = (length >= policy.rest) & ~entered[inner]
    placed[inner[moving]] += shift[moving]
    moved = int(moving.sum())
    report = RelaxReport(
        max_shift=float(length[moving].max()) if moved else 0.0,
        mean_shift=float(length[moving].mean()) if moved else 0.0,
        moved=moved,
        entered=int(entered.sum()),
        scale=factor,
    )
    return placed, report


def _settled(points: NDArray[np.float32], net: Springs) -> FloatArray:
    """Return float64[n, dims]: where a few gentle steps bring `points`.

    Large pictures are swept row by row: neighbours are then near each other in memory too, and a step over
    a million nodes takes a third of the time.
    """
    swept = len(points) >= SWEPT_FROM and compiles(len(points))
    order = _sweep(points) if swept else np.arange(len(points))
    target = np.empty(points.shape)
    target[order] = descend(
        points[order], net.reordered(order) if swept else net, RELAX_STEPS, rate=RELAX_RATE, momentum=RELAX_MOMENTUM
    )
    return target


def _sweep(points: NDArray[np.float32]) -> IntArray:
    """Return int64[n]: the nodes cell by cell of a grid with about 16 nodes a cell."""
    low, high = points.min(axis=0), points.max(axis=0)
    side = max(1, int((len(points) / 16) ** (1 / points.shape[1])))
    cells = ((points - low) * (side / max(float((high - low).max()), 1e-12))).astype(np.int64)
    key = np.zeros(len(points), np.int64)
    for axis in range(points.shape[1]):
        key = key * (side + 1) + cells[:, axis]
    return np.argsort(key, kind="stable")


def _checked(count: int, edges: IntArray, weights: FloatArray) -> tuple[IntArray, FloatArray]:
    edges = np.asarray(edges, np.int64).reshape(-1, 2)
    weights = np.asarray(weights, np.float64)
    if weights.shape != (len(edges),):
        raise ValueError(f"one weight an edge: {len(edges)} edges, weights of shape {list(weights.shape)}")
    if len(edges) and (edges.min() < 0 or edges.max() >= count):
        raise ValueError(f"edges must join nodes 0..{count - 1}, got {edges.min()}..{edges.max()}")
    if (edges[:, 0] == edges[:, 1]).any():
        raise ValueError(f"edge {int(np.argmax(edges[:, 0] == edges[:, 1]))} joins a node to itself")
    if not (np.isfinite(weights) & (weights > 0)).all():
        raise ValueError("weights must be finite and above 0")
    return edges, weights


def _linked(count: int, edges: IntArray) -> tuple[NDArray[np.bool_], IntArray, IntArray]:
    """Return (bool[count], which nodes have edges; their numbers; the edges between them, counted anew)."""
    linked = np.zeros(count, np.bool_)
    linked[edges[:, 0]] = True
    linked[edges[:, 1]] = True
    inner = np.flatnonzero(linked)
    return linked, inner, edges if len(inner) == count else (np.cumsum(linked) - 1)[edges]


def _start(net: Springs, component: IntArray, dims: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Return float32[n, dims]: each component in its slowest modes, all beside each other.

    The modes are those of a lazy random walk over the springs, by power iteration within each component; a
    few dozen rounds separate the coarse structure, and the descent does the rest. Components that began on
    top of each other would be torn apart instead: no spring tells them which nodes belong together.
    """
    from scipy.sparse import csr_array

    count = net.count
    sizes = np.bincount(component)
    graph: Any = csr_array((net.strengths.astype(np.float64), net.others, net.starts), shape=(count, count))
    degree: FloatArray = np.asarray(graph.sum(axis=1), np.float64).ravel()
    modes: FloatArray = rng.standard_normal((count, dims))

    def total(values: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(component, weights=values), np.float64)[component]

    share = degree / total(degree)
    for step in range(POWER_STEPS):
        modes = 0.5 * (modes + (graph @ modes) / degree[:, None])
        if step % 5 != 4:
            continue
        for axis in range(dims):
            mode = modes[:, axis] - total(share * modes[:, axis])
            for other in modes.T[:axis]:
                mode = mode - other * total(share * mode * other)
            modes[:, axis] = mode / np.sqrt(np.maximum(total(share * mode**2), 1e-18))
    # A little noise takes nodes apart that the walk cannot tell from each other.
    modes = np.clip(modes, -2.0, 2.0) + 0.01 * rng.standard_normal(modes.shape)
    start = START_SPREAD * sizes[component, None] ** (1.0 / dims) * modes
    return pack_components(start, component, START_SPREAD).astype(np.float32)


def _normalised(places: FloatArray) -> FloatArray:
    centred = places - places.mean(axis=0) if len(places) else places
    if not len(places):
        return centred
    radius = float(np.percentile(np.sqrt((centred**2).sum(axis=1)), 99))
    return centred / radius if radius > 0 else centred


def _entered(
    positions: FloatArray, edges: IntArray, weights: FloatArray, rng: np.random.Generator
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Return a copy with a place for every node, and which ones had none (NaN in any coordinate)."""
    placed = positions.astype(np.float64, copy=True)
    new: NDArray[np.bool_] = np.asarray(~np.isfinite(placed).all(axis=1))
    placed[new] = 0.0
    waiting = new.copy()
    if not new.any():
        return placed, new
    reach = float(np.sqrt((placed[~new] ** 2).sum(axis=1).max())) if (~new).any() else 1.0
    ends = np.concatenate([edges, edges[:, ::-1]])
    both = np.concatenate([weights, weights])
    while waiting.any():
        # New nodes that hang on new nodes wait until those have their place.
        useful = waiting[ends[:, 0]] & ~waiting[ends[:, 1]]
        rows, others, pull = ends[useful, 0], ends[useful, 1], both[useful]
        if not len(rows):
            break
        total = np.bincount(rows, weights=pull, minlength=len(placed))
        ready = total > 0
        for axis in range(placed.shape[1]):
            mean = np.bincount(rows, weights=pull * placed[others, axis], minlength=len(placed))
            placed[ready, axis] = mean[ready] / total[ready]
        # Not exactly on a neighbour: two nodes in one point feel no force that would part them.
        placed[ready] += 1e-3 * reach * rng.standard_normal((int(ready.sum()), placed.shape[1]))
        waiting &= ~ready
    if waiting.any():
        outside = rng.standard_normal((int(waiting.sum()), placed.shape[1]))
        placed[waiting] = 1.05 * reach * outside / np.sqrt((outside**2).sum(axis=1, keepdims=True))
    return placed, new


def _inward(here: FloatArray, shift: FloatArray, component: IntArray) -> FloatArray:
    """Return `shift` without each component's mean shift and without growing or shrinking as a whole."""
    sizes = np.bincount(component)

    def centred(values: FloatArray) -> FloatArray:
        means = np.stack([np.bincount(component, weights=axis) / sizes for axis in values.T], axis=1)
        inside: FloatArray = values - means[component]
        return inside

    own, moves = centred(here), centred(shift)
    spread = float((own**2).sum())
    growth = float((own * moves).sum()) / spread if spread > 0 else 0.0
    return moves - growth * own
