"""The name of a cluster, and what is told when it does not do its work. Imports nothing heavy: settings read it."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["LOCAL", "ClusterLost", "cluster_address"]

LOCAL: Final = "local"
_ADDRESS: Final = re.compile(r"dask://((?:[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:]+\]):([0-9]{1,5}))/?")


class ClusterLost(Exception):
    """The cluster did not compute what was asked of it; the message is one sentence for the operator."""


def cluster_address(offload: str) -> str | None:
    """Return HOST:PORT of `dask://HOST:PORT`, None for `local`; raise ValueError saying what is expected."""
    if offload == LOCAL:
        return None
    match = _ADDRESS.fullmatch(offload)
    if match is None or not 0 < int(match[2]) < 65536:
        raise ValueError("local, or dask://HOST:PORT such as dask://10.0.0.5:8786")
    return match[1]
