"""What a worker of a cluster runs; imported there by name, so the package must be installed on it."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vector.rowblocks import lists_of_block
from vector.torchblocks import Device, TorchBlocks, chosen_device

__all__ = ["block_task", "facts"]


def block_task(
    vectors: NDArray[np.float32],
    rows: NDArray[np.int64],
    length: int,
    min_similarity: float,
    alive: NDArray[np.bool_] | None,
    block_bytes: int,
    device: Device,
) -> tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.float32]]:
    """Return (ids, similarities, floor) of `rows` among all living rows of `vectors`, float32[n, d].

    `device` is of the worker: one without a card refuses `cuda`, and takes its cores for `auto`.
    """
    if chosen_device(device) == "cuda":
        lists = TorchBlocks(vectors, "cuda", block_bytes=block_bytes)(
            rows, length, min_similarity=min_similarity, alive=alive
        )
    else:
        lists = lists_of_block(
            vectors,
            rows,
            length,
            min_similarity=min_similarity,
            alive=alive,
            block_bytes=block_bytes,
            compiled=importlib.util.find_spec("numba") is not None,
        )
    return lists.ids, lists.similarities, lists.floor


def facts() -> dict[str, Any]:
    """Return the versions that must be alike on both sides."""
    try:
        own = importlib.metadata.version("neural-brain")
    except importlib.metadata.PackageNotFoundError:
        own = "not installed as a package"
    return {
        "neural-brain": own,
        "python": ".".join(platform.python_version_tuple()[:2]),
        "dask": importlib.metadata.version("dask"),
        "distributed": importlib.metadata.version("distributed"),
    }
