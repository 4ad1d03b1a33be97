from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.vector.truth import clustered
from vector.forces import descend, natural_scale
from vector.layout import LayoutPolicy, full_layout, layout_quality, relax
from vector.neighbours import nearest_neighbours
from vector.springs import springs

Graph = tuple[NDArray[np.int64], NDArray[np.float64]]
NO_EDGES = np.zeros((0, 2), np.int64)
NO_WEIGHTS = np.zeros(0)


def neighbour_graph(count: int, seed: int = 0, k: int = 8, clusters: int = 6) -> Graph:
    vectors = clustered(count, 16, seed, clusters=clusters, spread=0.6)
    found = nearest_neighbours(vectors, k)
    rows = np.repeat(np.arange(count), k)
    pairs = np.sort(np.stack([rows, found.indices.ravel()], axis=1), axis=1)
    edges, first = np.unique(pairs, axis=0, return_index=True)
    return edges, np.maximum(found.similarities.ravel()[first].astype(np.float64), 0.05)


def full(count: int, graph: Graph, policy: LayoutPolicy | None = None, seed: int = 0) -> NDArray[np.float64]:
    return full_layout(count, *graph, policy or LayoutPolicy(), np.random.default_rng(seed))


# refusals -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("edges", "weights", "message"),
    [
        ([[0, 1]], [1.0, 2.0], "one weight an edge"),
        ([[0, 9]], [1.0], r"nodes 0\.\.3"),
        ([[-1, 1]], [1.0], r"nodes 0\.\.3"),
        ([[2, 2]], [1.0], "joins a node to itself"),
        ([[0, 1]], [0.0], "finite and above 0"),
        ([[0, 1]], [np.nan], "finite and above 0"),
    ],
)
def test_edges_that_are_none_are_refused(edges: list[list[int]], weights: list[float], message: str) -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=message):
        full_layout(4, np.array(edges), np.array(weights), LayoutPolicy(), rng)
    with pytest.raises(ValueError, match=message):
        relax(np.zeros((4, 2)), np.array(edges), np.array(weights), LayoutPolicy(), rng)


def test_positions_of_the_wrong_shape_are_refused() -> None:
    with pytest.raises(ValueError, match="positions must be"):
        relax(np.zeros((4, 1)), NO_EDGES, NO_WEIGHTS, LayoutPolicy(), np.random.default_rng(0))


# full ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 1, 2, 3, 40])
def test_orphans_alone_still_get_places(count: int) -> None:
    places = full(count, (NO_EDGES, NO_WEIGHTS))
    assert places.shape == (count, 2)
    assert np.isfinite(places).all()
    if count > 1:
        assert len(np.unique(places.round(9), axis=0)) == count


@pytest.mark.parametrize("count", [2, 3, 5])
def test_the_smallest_graphs(count: int) -> None:
    edges = np.array([[at, at + 1] for at in range(count - 1)])
    places = full(count, (edges, np.ones(count - 1)), LayoutPolicy(steps=100))
    assert np.isfinite(places).all()
    assert len(np.unique(places.round(6), axis=0)) == count


@pytest.mark.parametrize(("dims", "least"), [(2, 0.55), (3, 0.55)])
def test_full_layout_keeps_neighbourhoods_and_is_normalised(dims: int, least: float) -> None:
    graph = neighbour_graph(200)
    places = full(200, graph, LayoutPolicy(dims=dims, steps=150))
    assert places.shape == (200, dims)
    assert np.abs(places.mean(axis=0)).max() < 1e-9
    assert np.percentile(np.sqrt((places**2).sum(axis=1)), 99) == pytest.approx(1.0)
    quality = layout_quality(places, *graph)
    assert quality.neighbourhood_preservation > least
    assert quality.stress < 0.35
    scrambled = layout_quality(np.random.default_rng(1).permutation(places), *graph)
    assert scrambled.neighbourhood_preservation < 0.1


def test_same_input_same_picture_and_another_seed_another() -> None:
    graph = neighbour_graph(150)
    policy = LayoutPolicy(steps=60)
    np.testing.assert_array_equal(full(150, graph, policy), full(150, graph, policy))
    assert not np.array_equal(full(150, graph, policy), full(150, graph, policy, seed=1))


def test_orphans_sit_on_the_rim_and_components_apart() -> None:
    first, second = neighbour_graph(80, clusters=1), neighbour_graph(40, seed=1, clusters=1)
    edges = np.concatenate([first[0], second[0] + 80])
    places = full(130, (edges, np.concatenate([first[1], second[1]])), LayoutPolicy(steps=150))
    radius = np.sqrt((places - places[:120].mean(axis=0)) ** 2 @ np.ones(2))
    assert radius[120:].min() > radius[:120].max()
    between = np.sqrt(((places[:80, None] - places[None, 80:120]) ** 2).sum(-1)).min()
    within = np.sqrt(((places[:80, None] - places[None, :80]) ** 2).sum(-1)) + 9 * np.eye(80)
    assert between > np.median(within.min(axis=1))


def test_compiled_path_gives_a_picture_as_good(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = neighbour_graph(400, clusters=4)
    policy = LayoutPolicy(steps=60)
    plain = layout_quality(full(400, graph, policy), *graph)
    monkeypatch.setattr("vector.springs.COMPILED_FROM", 1)
    monkeypatch.setattr("vector.mesh.DIRECT_2D", 1)
    compiled = layout_quality(full(400, graph, policy), *graph)
    assert compiled.neighbourhood_preservation == pytest.approx(plain.neighbourhood_preservation, abs=0.03)
    net = springs(400, *graph, 8)
    start = np.random.default_rng(0).standard_normal((400, 2)).astype(np.float32) * 5
    moved = descend(start, net, 3)
    monkeypatch.setattr("vector.springs.COMPILED_FROM", 10_000)
    assert np.abs(moved - descend(start, net, 3)).max() < 1e-3


def star(count: int) -> Graph:
    return np.stack([np.zeros(count - 1, np.int64), np.arange(1, count)], axis=1), np.ones(count - 1)


def chain(count: int) -> Graph:
    return np.stack([np.arange(count - 1), np.arange(1, count)], axis=1), np.ones(count - 1)


def clique(count: int) -> Graph:
    edges = np.stack(np.triu_indices(count, 1), axis=1)
    return edges, np.ones(len(edges))


def rings(count: int) -> Graph:
    first = 4 * np.arange(count // 4)
    edges = np.concatenate([np.stack([first + a, first + b], axis=1) for a, b in ((0, 1), (1, 2), (2, 3), (0, 3))])
    return edges, np.ones(len(edges))


def uneven(count: int) -> Graph:
    edges, weights = neighbour_graph(count)
    return edges, 10.0 ** np.random.default_rng(0).uniform(-3, 3, len(weights))


@pytest.mark.parametrize(("count", "dims"), [(120, 2), (120, 3), (1200, 2)])
@pytest.mark.parametrize("shape", [star, chain, clique, rings, uneven])
def test_odd_graphs_get_a_finite_picture_and_stay_in_bounds(
    shape: Callable[[int], Graph], count: int, dims: int
) -> None:
    graph = shape(count if shape is not clique else 120)
    count = int(graph[0].max()) + 1
    policy = LayoutPolicy(dims=dims, steps=25)
    places = full(count, graph, policy)
    assert np.isfinite(places).all()
    assert np.percentile(np.sqrt((places**2).sum(axis=1)), 99) == pytest.approx(1.0)
    np.testing.assert_array_equal(places, full(count, graph, policy))
    after, report = relax(places, *graph, policy, np.random.default_rng(0))
    assert np.isfinite(after).all()
    assert np.isfinite(report.scale)
    assert np.sqrt(((after - places) ** 2).sum(axis=1)).max() <= policy.max_shift


def test_leaves_of_a_star_do_not_end_on_top_of_each_other() -> None:
    places = full(1500, star(1500), LayoutPolicy(steps=200))
    assert len(np.unique(places.round(5), axis=0)) > 0.99 * 1500


def test_a_chain_stays_in_its_order() -> None:
    places = full(300, chain(300), LayoutPolicy(steps=200))
    assert layout_quality(places, *chain(300)).neighbourhood_preservation > 0.85


def test_relaxing_does_not_depend_on_the_order_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = neighbour_graph(1200)
    places = full(1200, graph, LayoutPolicy(steps=60))
    places += 0.02 * np.random.default_rng(0).standard_normal(places.shape)
    policy = LayoutPolicy(rest=0.0)
    plain, _ = relax(places, *graph, policy, np.random.default_rng(0), scale=30.0)
    monkeypatch.setattr("vector.layout.SWEPT_FROM", 1)
    swept, _ = relax(places, *graph, policy, np.random.default_rng(0), scale=30.0)
    assert np.abs(plain - places).max() > 1e-3
    np.testing.assert_allclose(swept, plain, atol=1e-5)


def test_a_tick_that_raises_ends_the_layout() -> None:
    class EnoughError(Exception):
        pass

    def stop(steps: int) -> None:
        raise EnoughError

    graph = neighbour_graph(30)
    with pytest.raises(EnoughError):
        full_layout(30, *graph, LayoutPolicy(), np.random.default_rng(0), tick=stop)


def test_springs_divide_one_unit_among_the_heaviest() -> None:
    # Node 0 has three edges; with k = 2 it holds its two heaviest, node 3 holds its only one.
    net = springs(4, np.array([[0, 1], [0, 2], [0, 3]]), np.array([0.9, 0.8, 0.7]), 2)
    row = dict(zip(net.others[net.starts[0] : net.starts[1]].tolist(), net.strengths[:3].tolist(), strict=True))
    assert net.strengths.sum() == pytest.approx(1.0)
    assert row[1] == row[2] == pytest.approx(1.5 * row[3])
    assert springs(3, NO_EDGES, NO_WEIGHTS, 2).starts.tolist() == [0, 0, 0, 0]


# relax --------------------------------------------------------------------------------------------


@given(
    seed=st.integers(0, 2**32 - 1),
    blend=st.floats(0.0, 1.0),
    most=st.sampled_from([0.0, 1e-3, 0.035, 0.5]),
    dims=st.sampled_from([2, 3]),
)
@settings(max_examples=8, deadline=None)
def test_no_node_moves_further_than_the_limit(seed: int, blend: float, most: float, dims: int) -> None:
    rng = np.random.default_rng(seed)
    graph = neighbour_graph(60, seed=seed % 1000)
    before = rng.standard_normal((60, dims))
    after, report = relax(before, *graph, LayoutPolicy(blend=blend, max_shift=most), rng)
    shift = np.sqrt(((after - before) ** 2).sum(axis=1))
    assert shift.max() <= most
    assert report.max_shift <= most
    assert report.moved == int((shift > 0).sum())
    assert ((shift == 0) | (shift >= 1e-4 * (1 - 1e-6))).all()


def test_relaxing_again_and_again_makes_a_bad_picture_better() -> None:
    graph = neighbour_graph(120, clusters=3)
    rng = np.random.default_rng(0)
    places = full(120, graph, LayoutPolicy(steps=200))
    places += 0.1 * rng.standard_normal(places.shape)
    before = layout_quality(places, *graph).neighbourhood_preservation
    scale = None
    for _ in range(40):
        places, report = relax(places, *graph, LayoutPolicy(), rng, scale=scale)
        scale = report.scale
    assert layout_quality(places, *graph).neighbourhood_preservation > before + 0.1


def test_relaxing_comes_to_rest_and_then_changes_nothing() -> None:
    graph = neighbour_graph(60, clusters=1)
    rng = np.random.default_rng(0)
    places, scale = full(60, graph), None
    for _ in range(300):
        places, report = relax(places, *graph, LayoutPolicy(blend=0.5), rng, scale=scale)
        scale = report.scale
        if report.at_rest:
            break
    assert report.at_rest
    again, report = relax(places, *graph, LayoutPolicy(blend=0.5), rng, scale=scale)
    assert (report.moved, report.max_shift) == (0, 0.0)
    np.testing.assert_array_equal(again, places)


def test_components_keep_their_place_and_the_picture_its_size() -> None:
    first, second = neighbour_graph(50, clusters=1), neighbour_graph(50, seed=1, clusters=1)
    graph = np.concatenate([first[0], second[0] + 50]), np.concatenate([first[1], second[1]])
    places = np.random.default_rng(0).standard_normal((100, 2))
    places[50:] += 3.0
    after, report = relax(places, *graph, LayoutPolicy(max_shift=1.0), np.random.default_rng(0))
    assert report.moved > 50
    for part in (slice(0, 50), slice(50, 100)):
        assert np.abs(after[part].mean(axis=0) - places[part].mean(axis=0)).max() < 1e-3


def test_new_nodes_enter_at_the_weighted_mean_of_their_neighbours() -> None:
    places = np.array([[1.0, 0.0], [0.0, 1.0], [np.nan, np.nan], [np.nan, np.nan], [np.nan, np.nan]])
    edges = np.array([[0, 1], [0, 2], [1, 2], [2, 3]])
    weights = np.array([1.0, 3.0, 1.0, 1.0])
    after, report = relax(places, edges, weights, LayoutPolicy(), np.random.default_rng(0))
    assert report.entered == 3
    assert after[2] == pytest.approx([0.75, 0.25], abs=0.01)
    assert after[3] == pytest.approx(after[2], abs=0.01)  # hangs on a new node
    assert np.sqrt((after[4] ** 2).sum()) == pytest.approx(1.05)  # hangs on nobody: the rim


def test_nodes_without_edges_stay() -> None:
    places = np.array([[0.3, 0.4], [1.0, 0.0]])
    after, report = relax(places, NO_EDGES, NO_WEIGHTS, LayoutPolicy(), np.random.default_rng(0))
    np.testing.assert_array_equal(after, places)
    assert report.at_rest


@pytest.mark.parametrize("factor", [0.2, 1.0, 7.0])
def test_natural_scale_finds_back_the_size_of_an_equilibrium(factor: float) -> None:
    graph = neighbour_graph(200, clusters=3)
    net = springs(200, *graph, 8)
    points = descend(np.random.default_rng(0).standard_normal((200, 2)).astype(np.float32) * 4, net, 400)
    points -= points.mean(axis=0)
    assert natural_scale(points * np.float32(factor), net) == pytest.approx(1 / factor, rel=0.1)


# quality ------------------------------------------------------------------------------------------


def test_quality_of_a_perfect_and_of_a_folded_line() -> None:
    line = np.stack([np.arange(30.0), np.zeros(30)], axis=1)
    edges = np.array([[at, at + 1] for at in range(29)])
    perfect = layout_quality(line, edges)
    assert perfect.neighbourhood_preservation == 1.0
    assert perfect.stress == pytest.approx(0.0, abs=1e-12)
    assert perfect.overlap == 0.0
    folded = line.copy()
    folded[15:, 0] = 29.0 - folded[15:, 0]
    bad = layout_quality(folded, edges)
    assert bad.overlap == 1.0
    assert bad.stress > 0.2


def test_quality_counts_the_heaviest_neighbours_alone() -> None:
    places = np.array([[0.0, 0.0], [1.0, 0.0], [5.0, 0.0], [6.0, 0.0]])
    edges = np.array([[0, 1], [0, 2], [2, 3]])
    assert layout_quality(places, edges, np.array([0.9, 0.1, 0.9]), k=1).neighbourhood_preservation == 1.0
    assert layout_quality(places, edges).neighbourhood_preservation < 1.0


def test_quality_of_next_to_nothing() -> None:
    assert layout_quality(np.zeros((0, 2)), NO_EDGES).overlap == 0.0
    assert layout_quality(np.zeros((1, 2)), NO_EDGES).neighbourhood_preservation == 1.0
    assert layout_quality(np.zeros((3, 2)), NO_EDGES).overlap == 1.0
