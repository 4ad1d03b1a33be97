from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vector.packing import pack_components, rim_places


@given(seed=st.integers(0, 2**32 - 1), count=st.integers(1, 25), dims=st.sampled_from([2, 3]))
@settings(max_examples=40, deadline=None)
def test_components_move_as_a_whole_and_do_not_overlap(seed: int, count: int, dims: int) -> None:
    rng = np.random.default_rng(seed)
    component = np.concatenate([np.arange(count), rng.integers(0, count, 6 * count)])
    points = rng.standard_normal((len(component), dims)) * rng.uniform(0.1, 5, count)[component, None]
    packed = pack_components(points, component, 0.5)
    for one in range(count):
        mine = component == one
        moved = packed[mine] - points[mine]
        assert np.abs(moved - moved[0]).max() < 1e-9
        for other in range(one):
            gap = np.sqrt(((packed[mine][:, None] - packed[component == other][None]) ** 2).sum(-1)).min()
            assert gap >= 0.5 - 1e-9


def test_packing_leaves_little_empty() -> None:
    # 100 equal discs: packed ideally they cover 0.9 of their hull, in a ring far less.
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, (100, 50))
    points = np.stack([np.cos(angle), np.sin(angle)], axis=2).reshape(-1, 2)
    packed = pack_components(points, np.repeat(np.arange(100), 50), 0.1)
    radius = np.sqrt((packed**2).sum(axis=1)).max()
    assert 100 * 1.05**2 / radius**2 > 0.5


def test_thousands_of_components_go_around_in_rings() -> None:
    component = np.repeat(np.arange(1200), 2)
    points = np.tile([[0.0, 0.0], [0.2, 0.0]], (1200, 1))
    packed = pack_components(points, component, 0.2)
    middles = (packed[0::2] + packed[1::2]) / 2
    distance = np.sqrt(((middles[:, None] - middles[None]) ** 2).sum(-1)) + 9 * np.eye(1200)
    assert distance.min() > 0.39


def test_nothing_to_pack() -> None:
    assert pack_components(np.zeros((0, 2)), np.zeros(0, np.int64), 1.0).shape == (0, 2)


@pytest.mark.parametrize("dims", [2, 3])
@pytest.mark.parametrize("count", [0, 1, 2, 7, 500])
def test_rim_is_outside_and_without_overlap(dims: int, count: int) -> None:
    places = rim_places(np.full(count, 0.5), 10.0, dims)
    assert places.shape == (count, dims)
    if count:
        assert np.sqrt((places**2).sum(axis=1)).min() >= 10.5 - 1e-9
    if count > 1:
        distance = np.sqrt(((places[:, None] - places[None]) ** 2).sum(-1)) + 99 * np.eye(count)
        assert distance.min() > 0.9
