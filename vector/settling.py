"""From candidates by float32 products to exact lists: which are worth the exact similarity, and which rows are certain.

A float32 product errs by at most `vector.similarity.product_error`. What lies further than that behind a list's last
place need not be looked at; where the last place itself is nearer to what was left out, the row is not certain.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vector.selection import NO_KEY, Lists, decode, encode

__all__ = ["Candidates", "settled", "worth_refining"]

FloatArray = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Candidates:
    """For m rows their best by float32 product, best first: `values` float32[m, c] and `ids` int32[m, c], -1 where
    there are fewer; of the first `counts`, int64[m], the `exact` similarities, float32[m, c], NaN elsewhere."""

    values: FloatArray
    ids: NDArray[np.int32]
    counts: NDArray[np.int64]
    exact: FloatArray

    def __getitem__(self, part: slice) -> Candidates:
        return Candidates(self.values[part], self.ids[part], self.counts[part], self.exact[part])


def worth_refining(values: FloatArray, ids: NDArray[np.int32], length: int, error: float) -> NDArray[np.int64]:
    """Return, int64[m], how many of each row's candidates can be among its first length + 1."""
    near = values >= values[:, length : length + 1] - np.float32(2 * error)
    counts: NDArray[np.int64] = (near & (ids >= 0)).sum(axis=1)
    return counts


def settled(found: Candidates, length: int, min_similarity: float, error: float) -> tuple[Lists, NDArray[np.int64]]:
    """Return the lists of `length`, and the rows, int64[u], whose last place is too close to tell."""
    least, nobody = np.float32(min_similarity), np.float32(-np.inf)
    # NaN, for candidates that were not refined, fails the comparison too.
    absent = (found.ids < 0) | ~(found.exact >= least)
    keys = encode(np.where(absent, np.float32(0.0), found.exact), found.ids)
    keys[absent] = NO_KEY
    keys.sort(axis=1)
    ids, similarities = decode(keys)
    # Left out is who was not refined, or what a full list let go; a list with room let nobody go.
    first_out = np.minimum(found.counts, found.ids.shape[1] - 1)[:, None]
    some = np.take_along_axis(found.ids, first_out, axis=1)[:, 0] >= 0
    nearest_out = np.take_along_axis(found.values, first_out, axis=1)[:, 0]
    outside = np.where(some, nearest_out + np.float32(error), nobody)
    outside = np.where(outside < least, nobody, outside)
    kept, beyond = (np.where(np.isnan(column), nobody, column) for column in similarities[:, length - 1 : length + 1].T)
    lists = Lists(ids[:, :length].copy(), similarities[:, :length].copy(), np.maximum(outside, beyond))
    return lists, np.flatnonzero((kept <= outside) & np.isfinite(outside))
