"""Compiled inner loop of a block of rows (vector.rowblocks); importing this module imports numba."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vector.kernels import compiled

__all__ = ["select_rows"]


def _select_rows(
    tile: NDArray[np.float32],
    rows: NDArray[np.int64],
    first: int,
    alive: NDArray[np.bool_],
    values: NDArray[np.float32],
    ids: NDArray[np.int32],
) -> None:
    """Offer tile[i, j], the product of rows[i] and first+j, to the descending list i (values, ids: [m, wide]).

    A chunk of 64 columns is first tested as a whole, a loop without branches; nearly all chunks end there. Strictly
    greater products enter, so whatever is left out is not above the list's last value.
    """
    wide = values.shape[1]
    for i in range(tile.shape[0]):
        limit = values[i, wide - 1]
        for start in range(0, tile.shape[1], 64):
            chunk = tile[i, start : min(start + 64, tile.shape[1])]
            hits = np.int32(0)
            for j in range(chunk.shape[0]):
                hits += np.int32(1) if chunk[j] > limit else np.int32(0)
            if hits == 0:
                continue
            for j in range(chunk.shape[0]):
                value, other = chunk[j], first + start + j
                if value > limit and other != rows[i] and alive[other]:
                    at = wide - 1
                    while at > 0 and values[i, at - 1] < value:
                        values[i, at] = values[i, at - 1]
                        ids[i, at] = ids[i, at - 1]
                        at -= 1
                    values[i, at] = value
                    ids[i, at] = other
                    limit = values[i, wide - 1]


# Products hold no NaN: rows were checked.
select_rows: Any = compiled(_select_rows, fastmath={"nnan", "nsz", "ninf"})
