"""Loading what passes over a large house use, before anybody waits for an answer.

Imports and compiled code are loaded under the interpreter's lock, a fifth of a second at a time. A daemon on a large
house does it once before it answers, on rows of no meaning; in a small one the compiled passes are not used at all.
"""

from __future__ import annotations

import numpy as np

from vector.halfproduct import kernels_available
from vector.layout import LayoutPolicy, full_layout, layout_quality, relax
from vector.neighbours import COMPILED_FROM, neighbour_state

__all__ = ["COMPILED_FROM", "warm_up"]

_ROWS = COMPILED_FROM + 100


def warm_up() -> None:
    """Run each kind of pass once over a few rows. Blocking: seconds where nothing was compiled yet."""
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((_ROWS, 8))
    vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    state = neighbour_state(vectors, 4, path="compiled" if kernels_available() else "numpy", threads=1)
    near = state.neighbours().indices
    pairs = np.stack([np.repeat(np.arange(_ROWS), near.shape[1]), near.ravel()], axis=1)
    edges = np.unique(np.sort(pairs, axis=1), axis=0)
    policy = LayoutPolicy(steps=3)
    places = full_layout(_ROWS, edges, np.ones(len(edges)), policy, rng)
    layout_quality(places, edges, np.ones(len(edges)), k=4)
    relax(places, edges, np.ones(len(edges)), policy, rng)
