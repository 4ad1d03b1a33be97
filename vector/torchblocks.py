"""Exact lists of a block of rows through torch, on whatever device it is given (spec 03, "Scaling out").

The product runs in doubles over components on the grid of vector.similarity, so that its sums are exact in any order
and on any device: no setting of a card (TF32, reduced accumulation) has a say, and no candidate needs checking at home.
Similarity and column then form one 64-bit key, whose order is "higher similarity first, then lower column".
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from vector.selection import Lists, Tick
from vector.similarity import GRID

__all__ = ["Device", "DeviceUnavailable", "TorchBlocks", "chosen_device"]

Device = Literal["auto", "cpu", "cuda"]
"""BRAIN_VECTOR_DEVICE."""

_NO_KEY: Final = -(2**63)
_LOW: Final = 2**31 - 1
_BYTES_A_CELL: Final = 48
"""Doubles, floats, keys and their temporaries for one cell of a block."""
_COLUMNS: Final = 8192
_CARD: Final = Path("/proc/driver/nvidia/version")

FloatArray = NDArray[np.float32]


class DeviceUnavailable(Exception):
    """The device that was asked for is not there; the message is one sentence for the operator."""


def chosen_device(device: Device) -> Literal["cpu", "cuda"]:
    """Return where blocks are computed; `auto` is CUDA where torch sees a card.

    Raises DeviceUnavailable where CUDA is asked for and absent. Without a driver nothing is imported for `auto`.
    """
    if device == "cpu" or (device == "auto" and not _CARD.exists()):
        return "cpu"
    try:
        import torch
    except ImportError as error:
        if device == "auto":
            return "cpu"
        raise DeviceUnavailable(f"BRAIN_VECTOR_DEVICE=cuda needs torch, which cannot be imported: {error}") from error
    if torch.cuda.is_available():
        return "cuda"
    if device == "auto":
        return "cpu"
    raise DeviceUnavailable(
        f"BRAIN_VECTOR_DEVICE=cuda, but torch {torch.__version__} sees no CUDA device; "
        "install torch with CUDA and a driver that fits it, or set BRAIN_VECTOR_DEVICE=cpu"
    )


class TorchBlocks:
    """The lists of rows of the checked `vectors`, float32[n, d], from a device of torch (rowblocks.BlockLists).

    The vectors move there when the first lists are asked for; beside them a call holds about `block_bytes` there.
    """

    def __init__(self, vectors: FloatArray, device: str, *, block_bytes: int) -> None:
        self._device = device
        self._home = vectors
        self._vectors: Any = None
        self._block_bytes = block_bytes

    def __call__(
        self,
        rows: NDArray[np.int64],
        length: int,
        *,
        min_similarity: float = -np.inf,
        alive: NDArray[np.bool_] | None = None,
        tick: Tick | None = None,
    ) -> Lists:
        """Return what `vector.selection.nearest_of_rows` returns."""
        if self._vectors is None:
            self._vectors = self._moved(self._home)
        count = len(self._vectors)
        width = max(1, min(_COLUMNS, count))
        height = max(1, min(8192, self._block_bytes // (_BYTES_A_CELL * width)))
        keys = np.full((len(rows), length + 1), _NO_KEY, np.int64)
        gone = None if alive is None else self._moved(~alive)
        for top in range(0, len(rows), height):
            block = self._moved(rows[top : top + height])
            best = self._best(block, length + 1, min_similarity, gone, width, tick)
            keys[top : top + height, : best.shape[1]] = best.cpu().numpy()
        return _lists(keys, length)

    def _best(self, block: Any, length: int, least: float, gone: Any, width: int, tick: Tick | None) -> Any:
        """Return int64[len(block), ≤ length] on the device: the best keys of these rows, best first."""
        import torch

        left, best = _snapped(self._vectors[block]), None
        for first in range(0, len(self._vectors), width):
            right = self._vectors[first : first + width]
            columns = torch.arange(first, first + len(right), device=self._device)
            similarity = (left @ _snapped(right).T).float()
            keys = _keys(similarity, columns)
            keys[block[:, None] == columns[None, :]] = _NO_KEY
            if gone is not None:
                keys[:, gone[first : first + width]] = _NO_KEY
            if least > -1.0:
                keys[similarity < float(np.float32(least))] = _NO_KEY
            both = keys if best is None else torch.cat([best, keys], dim=1)
            best = torch.topk(both, min(length, both.shape[1]), dim=1).values
            if tick is not None:
                tick(similarity.numel())
        return best

    def _moved(self, array: NDArray[Any]) -> Any:
        """Return a copy of `array` on the device: the one place that knows of one."""
        import torch

        return torch.tensor(array, device=self._device)


def _snapped(block: Any) -> Any:
    """Return `block` as doubles on the grid; torch rounds halves to even, as numpy does."""
    return (block.double() * GRID).round_() / GRID


def _keys(similarity: Any, columns: Any) -> Any:
    """Return signed 64-bit keys: the order of floats as integers above, the column counted down below."""
    import torch

    # Adding 0 turns -0 into 0, which compare equal and must sort equal.
    bits = (similarity + 0.0).view(torch.int32)
    ascending = torch.where(bits < 0, bits ^ _LOW, bits).long()
    return (ascending << 32) | (_LOW - columns)[None, :]


def _lists(keys: NDArray[np.int64], length: int) -> Lists:
    none = keys == _NO_KEY
    ascending = (keys >> 32).astype(np.int32)
    similarities = np.where(ascending < 0, ascending ^ np.int32(_LOW), ascending).view(np.float32).copy()
    ids = (_LOW - (keys & _LOW)).astype(np.int32)
    ids[none], similarities[none] = -1, np.nan
    beyond = similarities[:, length]
    floor = np.where(np.isnan(beyond), np.float32(-np.inf), beyond).astype(np.float32)
    return Lists(ids[:, :length].copy(), similarities[:, :length].copy(), floor)
