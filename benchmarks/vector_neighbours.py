"""Exact neighbours against the bare half product and named peers: full passes, changes, memory (benchmarks.vectors).

Recall is counted against the product's own answer, which is first held against float64 products of a sample.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.graphs import sphere_mixture
from benchmarks.measure import Row, interleaved
from vector.affinity import vector_graph
from vector.neighbours import NeighbourState, nearest_neighbours, neighbour_state, update_neighbours

__all__ = ["rows"]

K = 12
SLACK = 12
CHANGED = (1, 10, 100, 1000)
SAMPLE = 400
ROWS, COLUMNS = 1024, 2048
BASE = "bare half product"
OURS, STATE, TWO = f"ours, k={K}", f"ours, k={K} and slack {SLACK}", f"ours, k={K}, two threads"
GRAPH = "ours, affinity and edges from the lists"
EDGES = {"min_similarity": 0.45, "min_affinity": -0.10}

FloatArray = NDArray[np.float32]
IdArray = NDArray[np.int64]


def rows(profile: str) -> list[Row]:
    """Return the rows of `profile`: quick measures at 10k (and ours at 20k), full at 10k and 50k."""
    found: list[Row] = []
    with threadpool_limits(1):
        _compile()
        for count in (10_000, 50_000) if profile == "full" else (10_000,):
            vectors = sphere_mixture(count + max(CHANGED))
            found += _full(vectors[:count], slow_once=profile == "quick" or count > 10_000)
            found += _incremental(vectors[:count].copy(), vectors[count:], rounds=3)
        if profile == "quick":
            found += _ours(sphere_mixture(20_000), rounds=2)
    return found


def _compile() -> None:
    """Let numba, here and in pynndescent, compile before anything is timed."""
    few = sphere_mixture(4_000)
    nearest_neighbours(few, K, threads=1, path="compiled")
    with contextlib.suppress(ImportError):
        _pynndescent(few)


def _ours(vectors: FloatArray, *, rounds: int) -> list[Row]:
    cases = {
        BASE: lambda: _half_product(vectors),
        OURS: lambda: nearest_neighbours(vectors, K, threads=1),
        STATE: lambda: neighbour_state(vectors, K, slack=SLACK, threads=1),
    }
    return interleaved("neighbours, full", len(vectors), cases, rounds=rounds)


def _full(vectors: FloatArray, *, slow_once: bool) -> list[Row]:
    """Measure full passes; `slow_once` gives the slow peers a single round."""
    truth = nearest_neighbours(vectors, K)
    _hold_against_float64(vectors, truth.indices, truth.similarities)
    state = neighbour_state(vectors, K, slack=SLACK)
    quick: dict[str, Callable[[], Any]] = {
        BASE: lambda: _half_product(vectors),
        OURS: lambda: nearest_neighbours(vectors, K, threads=1).indices,
        STATE: lambda: neighbour_state(vectors, K, slack=SLACK, threads=1).neighbours().indices,
        TWO: lambda: nearest_neighbours(vectors, K, threads=2).indices,
        GRAPH: lambda: vector_graph(vectors, state, threads=1, **EDGES),
        "faiss-cpu IndexFlatIP": lambda: _faiss(vectors),
    }
    slow: dict[str, Callable[[], Any]] = {
        "numpy, blocks and argpartition": lambda: _numpy(vectors),
        "scikit-learn brute": lambda: _scikit(vectors),
        "hnswlib M16 efc100 ef64": lambda: _hnswlib(vectors),
        "pynndescent": lambda: _pynndescent(vectors),
    }

    def figures(name: str, result: Any) -> dict[str, float]:
        if name == GRAPH:
            return {"edges": float(len(result.source))}
        return {} if name == BASE else {"recall": _recall(truth.indices, result)}

    work = "neighbours, full"
    if slow_once:
        found = interleaved(work, len(vectors), quick, rounds=3, figures=figures)
        once = interleaved(work, len(vectors), slow, rounds=1, figures=figures)
        for row in once:
            row.note = row.note or "one round"
        found += once
    else:
        found = interleaved(work, len(vectors), {**quick, **slow}, rounds=3, figures=figures)
    named = {row.name: row for row in found}
    named[TWO].figures["cores used"] = named[TWO].median_cpu / named[TWO].median_wall
    named[GRAPH].figures["of the full pass"] = named[GRAPH].median_cpu / named[STATE].median_cpu
    if named["faiss-cpu IndexFlatIP"].cpu:
        named[OURS].figures["of faiss"] = named[OURS].median_cpu / named["faiss-cpu IndexFlatIP"].median_cpu
    for name, slack in ((OURS, None), (STATE, SLACK)):
        named[name].figures["MiB beyond the vectors"] = _extra_memory(vectors, slack)
    return found


def _incremental(vectors: FloatArray, fresh: FloatArray, *, rounds: int) -> list[Row]:
    """Measure updates after some rows got new vectors, and hold each result against a full pass."""
    rng = np.random.default_rng(7)
    state = neighbour_state(vectors, K, slack=SLACK)
    none = np.zeros(0, np.int64)
    cases: dict[str, Callable[[], Any]] = {
        "full pass with slack": lambda: neighbour_state(vectors, K, slack=SLACK, threads=1)
    }
    expected: dict[str, NeighbourState] = {}
    # At 50k each comparison costs a full pass.
    compared = CHANGED if len(vectors) <= 10_000 else CHANGED[2:]
    for number in CHANGED:
        changed = np.sort(rng.choice(len(vectors), number, replace=False))
        after = vectors.copy()
        after[changed] = fresh[:number]
        name = f"{number} changed"
        # Bound as defaults, or every case would see the last round's arrays.
        cases[name] = lambda after=after, changed=changed: update_neighbours(
            state, after, changed=changed, removed=none, threads=1
        )
        if number in compared:
            expected[name] = neighbour_state(after, K, slack=SLACK)

    def figures(name: str, result: Any) -> dict[str, float]:
        if isinstance(result, NeighbourState):
            return {}
        updated, touched = result
        if name not in expected:
            return {"rows touched": float(len(touched))}
        ours, whole = updated.neighbours(), expected[name].neighbours()
        np.testing.assert_array_equal(ours.indices, whole.indices)
        np.testing.assert_array_equal(ours.similarities, whole.similarities)
        return {"rows touched": float(len(touched)), "equal to a full pass": 1.0}

    return interleaved("neighbours, changed", len(vectors), cases, rounds=rounds, figures=figures)


# ways ---------------------------------------------------------------------------------------------


def _half_product(vectors: FloatArray) -> None:
    """Multiply the tiles of the upper triangle and look at nothing: the bound of every symmetric exact pass."""
    buffer = np.empty(ROWS * COLUMNS, np.float32)
    for row in range(0, len(vectors), ROWS):
        left = vectors[row : row + ROWS]
        for column in range(row, len(vectors), COLUMNS):
            right = vectors[column : column + COLUMNS]
            np.matmul(left, right.T, out=buffer[: len(left) * len(right)].reshape(len(left), len(right)))


def _numpy(vectors: FloatArray) -> IdArray:
    found = np.empty((len(vectors), K), np.int64)
    for start in range(0, len(vectors), 256):
        block = -(vectors[start : start + 256] @ vectors.T)
        own = np.arange(len(block))
        block[own, start + own] = np.inf
        near = np.argpartition(block, K, axis=1)[:, :K]
        order = np.argsort(np.take_along_axis(block, near, axis=1), axis=1)
        found[start : start + 256] = np.take_along_axis(near, order, axis=1)
    return found


def _faiss(vectors: FloatArray) -> IdArray:
    import faiss

    faiss.omp_set_num_threads(1)
    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(vectors)
    return _without_self(index.search(vectors, K + 1)[1])


def _scikit(vectors: FloatArray) -> IdArray:
    from sklearn.neighbors import NearestNeighbors

    fitted = NearestNeighbors(n_neighbors=K + 1, algorithm="brute", metric="euclidean", n_jobs=1).fit(vectors)
    return _without_self(fitted.kneighbors(vectors, return_distance=False))


def _hnswlib(vectors: FloatArray) -> IdArray:
    import hnswlib

    index = hnswlib.Index(space="ip", dim=vectors.shape[1])
    index.init_index(max_elements=len(vectors), M=16, ef_construction=100, random_seed=1)
    index.set_num_threads(1)
    index.add_items(vectors)
    index.set_ef(64)
    return _without_self(index.knn_query(vectors, K + 1)[0].astype(np.int64))


def _pynndescent(vectors: FloatArray) -> IdArray:
    from pynndescent import NNDescent

    index = NNDescent(vectors, metric="cosine", n_neighbors=K + 1, random_state=1, n_jobs=1)
    return _without_self(index.neighbor_graph[0].astype(np.int64))


# checks -------------------------------------------------------------------------------------------


def _without_self(ids: IdArray) -> IdArray:
    """Return the lists without the row itself, or without their last place where it is not among them."""
    others = ids != np.arange(len(ids))[:, None]
    others[others.all(axis=1), -1] = False
    # A row listed twice would leave a list too short to be stacked: the peers promise not to.
    return ids[others].reshape(len(ids), ids.shape[1] - 1)


def _recall(truth: IdArray, found: IdArray) -> float:
    return float(np.mean((truth[:, :, None] == found[:, None, :]).any(axis=2)))


def _hold_against_float64(vectors: FloatArray, indices: IdArray, similarities: FloatArray) -> None:
    """Raise AssertionError unless a sample of lists agrees with plain float64 products, near ties aside."""
    sample = np.sort(np.random.default_rng(3).choice(len(vectors), SAMPLE, replace=False))
    products = vectors[sample].astype(np.float64) @ vectors.T.astype(np.float64)
    products[np.arange(SAMPLE), sample] = -np.inf
    best = -np.sort(-products, axis=1)[:, : K + 1]
    np.testing.assert_allclose(similarities[sample], best[:, :K], atol=2e-7)
    listed = np.take_along_axis(products, indices[sample], axis=1)
    np.testing.assert_allclose(listed, best[:, :K], atol=2e-7)


def _extra_memory(vectors: FloatArray, slack: int | None) -> float:
    """Return the MiB that a pass on all cores needs at its peak beside the vectors, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vectors.npy"
        np.save(path, vectors)
        command = [sys.executable, "-m", "benchmarks.vector_neighbours", str(path), str(-1 if slack is None else slack)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(done.stdout)


def _memory_child(path: str, slack: int) -> None:
    """Print by how many MiB one pass raised the peak of this process over what it held before (Linux)."""
    # So few rows load the compiler and its kernels and leave no freed pages behind that a pass could reuse unseen.
    nearest_neighbours(sphere_mixture(100), K, path="compiled")
    vectors = np.load(path)
    vectors.sum()
    # Forget the peak of what went before: the pass alone counts.
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    before = _status("VmRSS")
    result = nearest_neighbours(vectors, K) if slack < 0 else neighbour_state(vectors, K, slack=slack)
    print((_status("VmHWM") - before) / 1024)
    del result


def _status(name: str) -> int:
    """Return a field of /proc/self/status in KiB."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return int(next(line for line in lines if line.startswith(f"{name}:")).split()[1])


if __name__ == "__main__":
    _memory_child(sys.argv[1], int(sys.argv[2]))
