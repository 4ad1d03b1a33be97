"""Where the blocks of a reevaluation are computed (BRAIN_VECTOR_OFFLOAD, …_DEVICE): here, on a card, on a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from vector.cluster import cluster_address
from vector.rowblocks import BlockLists
from vector.torchblocks import Device, TorchBlocks, chosen_device

__all__ = ["opened_blocks"]


@contextmanager
def opened_blocks(
    vectors: NDArray[np.float32], *, offload: str, device: Device, block_bytes: int
) -> Iterator[BlockLists | None]:
    """Yield who computes lists of rows of `vectors` elsewhere, None where they are computed here.

    Nothing is connected, moved or imported before lists are asked for, but that CUDA which is asked for and absent is
    refused at once (torchblocks.DeviceUnavailable). On a cluster the device is the workers' own.
    """
    address = cluster_address(offload)
    if address is not None:
        from vector.offload import DaskBlocks

        with DaskBlocks(address, vectors, block_bytes=block_bytes, device=device) as blocks:
            yield blocks
    elif chosen_device(device) == "cuda":
        yield TorchBlocks(vectors, "cuda", block_bytes=block_bytes)
    else:
        yield None
