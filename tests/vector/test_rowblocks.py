"""Blocks that can be computed elsewhere: the compiled, the numpy and the torch form against the definition."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.vector.truth import brute_force, clustered, matrix, scattered, with_duplicates
from vector import torchblocks
from vector.rowblocks import BlockLists, block_rows, lists_of_block
from vector.selection import Lists
from vector.torchblocks import DeviceUnavailable, TorchBlocks, chosen_device

Vectors = NDArray[np.float32]
MAKERS: list[Callable[[int, int, int], Vectors]] = [scattered, clustered, with_duplicates]
SMALL = 2**16


def compiled(vectors: Vectors) -> BlockLists:
    return lambda rows, length, **more: lists_of_block(vectors, rows, length, block_bytes=SMALL, **_less(more))


def plain(vectors: Vectors) -> BlockLists:
    return lambda rows, length, **more: lists_of_block(
        vectors, rows, length, block_bytes=SMALL, compiled=False, **_less(more)
    )


def torch_on_cpu(vectors: Vectors) -> BlockLists:
    return TorchBlocks(vectors, "cpu", block_bytes=SMALL)


def _less(more: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in more.items() if name != "tick"}


WAYS = [compiled, plain, torch_on_cpu]


def check(lists: Lists, vectors: Vectors, rows: NDArray[np.int64], length: int, **limits: object) -> None:
    """Compare with a sort of all exact similarities; the floor must bound whoever is left out."""
    similarities = matrix(vectors)
    indices, values = brute_force(similarities, length + 1, **limits)  # type: ignore[arg-type]
    np.testing.assert_array_equal(lists.ids, indices[rows, :length])
    np.testing.assert_array_equal(lists.similarities, values[rows, :length])
    assert (lists.ids.dtype, lists.similarities.dtype, lists.floor.dtype) == (np.int32, np.float32, np.float32)
    beyond = values[rows, length]
    left_out = ~np.isnan(beyond)
    assert (lists.floor[left_out] >= beyond[left_out]).all()
    assert not np.isnan(lists.floor).any()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("count", [1, 2, 7, 150])
def test_lists_are_those_of_the_definition(
    way: Callable[[Vectors], BlockLists], make: Callable[[int, int, int], Vectors], count: int
) -> None:
    for seed in range(3):
        vectors = make(count, 24, seed)
        rows = np.random.default_rng(seed).permutation(count).astype(np.int64)[: max(1, count // 2)]
        check(way(vectors)(rows, 5), vectors, rows, 5)


@pytest.mark.parametrize("way", WAYS)
def test_who_is_gone_or_too_far_is_in_no_list(way: Callable[[Vectors], BlockLists]) -> None:
    vectors = clustered(90, 16, 4)
    alive = np.random.default_rng(1).random(90) < 0.7
    rows = np.flatnonzero(alive)
    lists = way(vectors)(rows, 6, min_similarity=0.93, alive=alive)
    check(lists, vectors, rows, 6, min_similarity=0.93, alive=alive)
    assert (lists.ids == -1).any()
    assert (lists.ids >= 0).any()


@pytest.mark.parametrize("way", WAYS)
def test_near_ties_and_copies_are_ordered_exactly(way: Callable[[Vectors], BlockLists]) -> None:
    # Four hundred rows around one point, nearer to each other than a float32 product can tell.
    vectors = np.tile(scattered(1, 64, 3), (400, 1))
    vectors[:, 0] += np.random.default_rng(2).integers(-3, 4, 400).astype(np.float32) * np.float32(2.0**-24)
    rows = np.arange(0, 400, 7)
    check(way(vectors)(rows, 8), vectors, rows, 8)


def test_opposites_sort_below_everything_else() -> None:
    vectors = np.concatenate([scattered(20, 8, 1), -scattered(20, 8, 1)])
    rows = np.arange(40)
    check(torch_on_cpu(vectors)(rows, 39), vectors, rows, 39)


def test_a_piece_of_work_is_neither_a_row_nor_the_house() -> None:
    assert block_rows(10) == block_rows(1000) == 8192
    assert block_rows(50_000) == 2684
    assert block_rows(10**9) == 32


def test_cuda_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(DeviceUnavailable, match=r"DEVICE=cuda.*sees no CUDA device.*DEVICE=cpu"):
        chosen_device("cuda")
    assert chosen_device("auto") == "cpu"
    assert chosen_device("cpu") == "cpu"


def test_cuda_without_torch_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(DeviceUnavailable, match="needs torch"):
        chosen_device("cuda")


def test_auto_takes_the_card_that_torch_sees(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torchblocks, "_CARD", Path(__file__))
    assert chosen_device("auto") == "cuda"
    monkeypatch.setattr(torchblocks, "_CARD", Path("/nowhere/version"))
    assert chosen_device("auto") == "cpu"
