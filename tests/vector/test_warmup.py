"""The warm-up really reaches what large passes import and compile."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
from vector.warmup import warm_up
assert "scipy.sparse" not in sys.modules and "vector.kernels" not in sys.modules
warm_up()
before = set(sys.modules)
import numpy as np
from vector.layout import LayoutPolicy, full_layout
from vector.neighbours import neighbour_state
rows = np.random.default_rng(2).standard_normal((3100, 16))
vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
near = neighbour_state(vectors, 3, threads=1).neighbours().indices
edges = np.unique(np.sort(np.stack([np.repeat(np.arange(3100), 3), near.ravel()], axis=1), axis=1), axis=0)
full_layout(3100, edges, np.ones(len(edges)), LayoutPolicy(steps=3), np.random.default_rng(1))
late = sorted(set(sys.modules) - before)
assert not late, late
"""


def test_a_large_pass_imports_nothing_more() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
