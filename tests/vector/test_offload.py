"""Blocks on a Dask cluster of real processes on 127.0.0.1: the same lists, and what happens when parts of it die."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from data.clock import ManualClock
from data.locks import EngineMutex
from data.state import get_state
from data.store import Store
from tests.vector.house import drafts, ingest, vector_edges_of
from tests.vector.truth import clustered, with_duplicates
from vector import offload, rowblocks
from vector.cluster import ClusterLost, cluster_address
from vector.embed import HashingEmbedder
from vector.layout import LayoutPolicy
from vector.maintenance import Maintenance, VectorPolicy
from vector.neighbours import neighbour_state, update_neighbours
from vector.offload import DaskBlocks
from vector.selection import nearest_of_rows

distributed = pytest.importorskip("distributed", reason="the extra `dask` is not installed")

pytestmark = [
    # Of distributed itself: sockets it leaves to the collector when a peer was killed, and its own deprecations.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:.*:UserWarning:distributed.*"),
]

ROOT = Path(__file__).parents[2]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Cluster:
    """A scheduler and workers as processes; the workers have no nanny, so a killed one stays dead."""

    def __init__(self, workers: int) -> None:
        self.port = free_port()
        self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard")
        self.workers = [self.add_worker() for _ in range(workers)]

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def add_worker(self) -> subprocess.Popen[bytes]:
        options = ("--nthreads", "1", "--no-nanny", "--host", "127.0.0.1", "--no-dashboard", "--memory-limit", "0")
        return self._start("worker", f"tcp://{self.address}", *options)

    def ready(self, workers: int) -> None:
        with distributed.Client(f"tcp://{self.address}", timeout=60, set_as_default=False) as client:
            client.wait_for_workers(workers, timeout=60)

    def close(self) -> None:
        for process in [*self.workers, self.scheduler]:
            process.kill()
            process.wait(20)

    def _start(self, what: str, *options: str) -> subprocess.Popen[bytes]:
        env = {**os.environ, "PYTHONPATH": str(ROOT), "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "10s"}
        command = [sys.executable, "-W", "ignore", "-m", "distributed.cli.dask_" + what, *options]
        return subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@contextmanager
def cluster(workers: int) -> Iterator[Cluster]:
    started = Cluster(workers)
    try:
        started.ready(workers)
        yield started
    finally:
        started.close()


def blocks(address: str, vectors: Any) -> DaskBlocks:
    return DaskBlocks(address, vectors, block_bytes=2**20)


# Names and a cluster that is not there ---------------------------------------------------------------


def test_addresses() -> None:
    assert cluster_address("local") is None
    assert cluster_address("dask://10.0.0.5:8786") == "10.0.0.5:8786"
    assert cluster_address("dask://dask-scheduler.intern:8786/") == "dask-scheduler.intern:8786"
    assert cluster_address("dask://[::1]:8786") == "[::1]:8786"
    for bad in (
        "",
        "dask",
        "dask://",
        "dask://host",
        "dask://host:0",
        "dask://host:99999",
        "tcp://h:1",
        "dask://a b:1",
    ):
        with pytest.raises(ValueError, match="dask://HOST:PORT"):
            cluster_address(bad)


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ClusterLost, match=r"pip install 'neural-brain\[dask\]'"):
        offload.connected("127.0.0.1:8786")


async def test_nobody_there_fails_in_time_and_keeps_the_edges(
    store: Store, embedder: HashingEmbedder, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(offload, "CONNECT_S", 0.5)
    await ingest(store, drafts(12))
    layout = LayoutPolicy(mode="off")
    await Maintenance(store, embedder, EngineMutex(store), VectorPolicy(k=4), layout).run_due()
    before = await vector_edges_of(store)
    told = await store.read(get_state, "last_vector_reevaluation")
    await ingest(store, drafts(3, " more"))
    clock.advance(3600)
    policy = VectorPolicy(k=4, offload=f"dask://127.0.0.1:{free_port()}")
    care = Maintenance(store, embedder, EngineMutex(store), policy, layout)
    began = time.monotonic()
    with pytest.raises(ClusterLost, match="no Dask scheduler answers"):
        await asyncio.wait_for(care.reevaluate(force=True), 30)
    assert time.monotonic() - began < 20
    assert before
    assert await vector_edges_of(store) == before
    assert await store.read(get_state, "last_vector_reevaluation") == told


# A cluster of processes ------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_lists_of_a_cluster_are_the_local_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rowblocks, "_CELLS", 2**17)
    with cluster(2) as running:
        seen = offload.look_at(running.address)
        assert (seen.workers, seen.threads, seen.differences) == (2, 2, ())
        for vectors in (clustered(3300, 32, 1), with_duplicates(200, 24, 2), clustered(2, 8, 3)):
            length = min(12, len(vectors))
            ticks: list[int] = []
            with blocks(running.address, vectors) as elsewhere:
                found = neighbour_state(vectors, length, slack=4, blocks=elsewhere, tick=ticks.append)
                here = neighbour_state(vectors, length, slack=4)
                np.testing.assert_array_equal(found.indices, here.indices)
                np.testing.assert_array_equal(found.similarities, here.similarities)
                assert (found.floor >= here.floor - 1e-4).all()
                assert sum(ticks) == len(vectors) ** 2
                rows = np.arange(0, len(vectors), 3)
                alive = np.random.default_rng(1).random(len(vectors)) < 0.6
                some = elsewhere(rows, 5, min_similarity=0.3, alive=alive)
                expected = nearest_of_rows(vectors, rows, 5, min_similarity=0.3, alive=alive, block_bytes=2**20)
                np.testing.assert_array_equal(some.ids, expected.ids)
                np.testing.assert_array_equal(some.similarities, expected.similarities)
        # An incremental pass, whose rescans go out.
        vectors = clustered(1200, 16, 5)
        state = neighbour_state(vectors, 4, slack=0)
        moved = np.arange(0, 200)
        vectors[moved] = clustered(200, 16, 6)
        with blocks(running.address, vectors) as elsewhere:
            changed, _ = update_neighbours(
                state, vectors, changed=moved, removed=np.zeros(0, np.int64), blocks=elsewhere
            )
            assert elsewhere.client is not None  # rows lost neighbours, so there was something to ask
        np.testing.assert_array_equal(changed.indices, neighbour_state(vectors, 4, slack=0).indices)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_killed_workers_are_survived(monkeypatch: pytest.MonkeyPatch) -> None:
    """First one of two is killed in the middle, then the other, while a third comes: even the vectors were gone."""
    monkeypatch.setattr(rowblocks, "_CELLS", 2**19)
    vectors = clustered(6000, 64, 1)
    killed: list[int] = []
    with cluster(2) as running:

        def tick(cells: int) -> None:
            ticked.append(cells)
            done = sum(ticked) / len(vectors) ** 2
            if done > 0.2 and not killed:
                running.workers[0].send_signal(signal.SIGKILL)
                killed.append(0)
            if done > 0.5 and len(killed) == 1:
                running.workers[1].send_signal(signal.SIGKILL)
                killed.append(1)
                running.workers.append(running.add_worker())

        ticked: list[int] = []
        with blocks(running.address, vectors) as elsewhere:
            found = neighbour_state(vectors, 6, slack=2, blocks=elsewhere, tick=tick)
    assert killed == [0, 1]
    here = neighbour_state(vectors, 6, slack=2)
    np.testing.assert_array_equal(found.indices, here.indices)
    np.testing.assert_array_equal(found.similarities, here.similarities)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_lost_cluster_ends_the_run_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rowblocks, "_CELLS", 2**18)
    monkeypatch.setattr(offload, "LOST_S", 3.0)
    monkeypatch.setattr(offload, "WORKERS_S", 6.0)
    vectors = clustered(6000, 64, 1)
    with cluster(1) as running:
        for victim in ("worker", "scheduler"):
            if victim == "scheduler":
                running.workers.append(running.add_worker())
                running.ready(1)
            hit: list[float] = []

            def tick(cells: int, victim: str = victim, hit: list[float] = hit) -> None:
                if cells and not hit:
                    hit.append(time.monotonic())
                    (running.scheduler if victim == "scheduler" else running.workers[0]).send_signal(signal.SIGKILL)

            with pytest.raises(ClusterLost, match=r"went away|takes no work|no worker"):  # noqa: SIM117
                with blocks(running.address, vectors) as elsewhere:
                    neighbour_state(vectors, 6, blocks=elsewhere, tick=tick)
            assert hit
            assert time.monotonic() - hit[0] < 45


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_a_reevaluation_on_a_cluster_writes_the_local_edges_and_can_be_cancelled(
    store: Store, embedder: HashingEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    await ingest(store, drafts(60))
    layout = LayoutPolicy(mode="off")
    with cluster(1) as running:
        policy = VectorPolicy(k=4, offload=f"dask://{running.address}")
        care = Maintenance(store, embedder, EngineMutex(store), policy, layout)
        assert (await care.run_due()).edges is not None
        far = {pair: (one.weight, one.meta) for pair, one in (await vector_edges_of(store)).items()}
        here = Maintenance(store, embedder, EngineMutex(store), VectorPolicy(k=4), layout)
        report = await here.reevaluate(force=True)
        assert far
        assert (report.added, report.changed, report.removed) == (0, 0, 0)

        monkeypatch.setattr(rowblocks, "_CELLS", 2**18)
        vectors, stop = clustered(8000, 64, 1), threading.Event()

        def tick(cells: int) -> None:
            if cells:
                stop.set()
            elif stop.is_set():
                raise InterruptedError("stopped")

        with pytest.raises(InterruptedError), blocks(running.address, vectors) as elsewhere:
            await asyncio.to_thread(neighbour_state, vectors, 6, blocks=elsewhere, tick=tick)
        with distributed.Client(f"tcp://{running.address}", timeout=30, set_as_default=False) as client:
            until = time.monotonic() + 20
            while (left := client.who_has()) and time.monotonic() < until:  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.2)
            assert not left  # neither vectors nor lists stay behind
