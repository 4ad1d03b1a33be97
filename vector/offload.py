"""The block computations of a reevaluation on a Dask cluster (spec 03, "Scaling out").

The vectors are scattered once a run, blocks of row numbers go out, neighbour lists come back; what the workers compute
is exact (vector.rowblocks), so the result is the local one. A worker that dies loses nothing: Dask gives its blocks to
others, and vectors that went with the last of their holders are scattered again. A cluster that is gone ends the run
within a bounded time with ClusterLost; nothing was written by then, so the old edges stand.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from vector.cluster import ClusterLost
from vector.clustertask import block_task, facts
from vector.rowblocks import block_rows
from vector.selection import Lists, Tick

__all__ = ["Cluster", "DaskBlocks", "connected", "look_at"]

CONNECT_S: Final = 10.0
"""How long a scheduler may take to answer."""
WORKERS_S: Final = 30.0
"""How long there may be no worker, at the start or in the middle: a nanny starts a new one in a few seconds."""
LOST_S: Final = 15.0
"""How long the connection to the scheduler may be down."""
SILENT_S: Final = 600.0
"""How long no block may come back although workers are there: a block is seconds of one core."""
LOOK_S: Final = 0.5
RESCATTERS: Final = 3
CLOSE_S: Final = 5.0
MISSING: Final = "BRAIN_VECTOR_OFFLOAD names a Dask cluster and dask is not installed; pip install 'neural-brain[dask]'"

FloatArray = NDArray[np.float32]


def connected(address: str) -> Any:
    """Return a client of the scheduler at `address` (HOST:PORT); raise ClusterLost where none answers in time."""
    try:
        from distributed import Client
    except ImportError as error:
        raise ClusterLost(f"{MISSING} ({error})") from error
    client: Any = Client
    try:
        return client(f"tcp://{address}", timeout=CONNECT_S, set_as_default=False, name="neural-brain")
    except Exception as error:  # from a refused connection to a scheduler that speaks another protocol
        raise ClusterLost(
            f"no Dask scheduler answers at {address} within {CONNECT_S:g} s ({_brief(error)}); "
            "see BRAIN_VECTOR_OFFLOAD, or set it to local"
        ) from error


@dataclass(frozen=True, slots=True)
class Cluster:
    """What `brain doctor` tells of a cluster; `differences` name the worker and what is not as it is here."""

    workers: int
    threads: int
    differences: tuple[str, ...]


def look_at(address: str) -> Cluster:
    """Ask every worker of the cluster for its versions; raise ClusterLost where no scheduler answers."""
    client = connected(address)
    try:
        here = facts()
        workers = client.scheduler_info(n_workers=-1)["workers"]
        asked = {name: client.submit(facts, workers=[name], pure=False) for name in workers}
        differences = []
        for name, future in asked.items():
            try:
                there = future.result(timeout=CONNECT_S)
            except Exception as error:  # whatever a worker raises that lacks the package, or is of another kind
                differences.append(f"{name} cannot compute blocks ({_brief(error)})")
                continue
            differences += [
                f"{name} has {part} {there[part]}, here is {here[part]}" for part in here if there[part] != here[part]
            ]
        return Cluster(len(workers), sum(int(one["nthreads"]) for one in workers.values()), tuple(differences))
    finally:
        with suppress(Exception):
            client.close(timeout=CLOSE_S)


class DaskBlocks:
    """The lists of rows of the checked `vectors`, float32[n, d], from a cluster (rowblocks.BlockLists).

    A context manager that connects when it is first asked for lists. Beside them it holds one block for each of the
    cluster's threads, twice.
    """

    def __init__(self, address: str, vectors: FloatArray, *, block_bytes: int, device: str = "cpu") -> None:
        self._address = address
        self._vectors = vectors
        self._block_bytes = block_bytes
        self._device = device
        self._client: Any = None
        self._scattered: Any = None
        self._rescatters = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._scattered = None
        if self._client is not None:
            with suppress(Exception):  # a scheduler that is gone cannot say goodbye
                self._client.close(timeout=CLOSE_S)
            self._client = None

    def __call__(
        self,
        rows: NDArray[np.int64],
        length: int,
        *,
        min_similarity: float = -np.inf,
        alive: NDArray[np.bool_] | None = None,
        tick: Tick | None = None,
    ) -> Lists:
        """Return the exact lists of `rows`; raise ClusterLost, or whatever `tick` raises."""
        lists = Lists(
            np.full((len(rows), length), -1, np.int32),
            np.full((len(rows), length), np.nan, np.float32),
            np.full(len(rows), -np.inf, np.float32),
        )
        if not len(rows):
            return lists
        if self._client is None:
            self._client = connected(self._address)
        step = block_rows(len(self._vectors))
        blocks = iter([slice(start, start + step) for start in range(0, len(rows), step)])
        limits = (length, float(min_similarity), alive, self._block_bytes, self._device)
        run = _Run(self, rows, limits)
        try:
            for part, (ids, similarities, floor) in run.results(blocks, tick or (lambda _: None)):
                lists.ids[part], lists.similarities[part], lists.floor[part] = ids, similarities, floor
        finally:
            run.cancel()
        return lists

    def submit(self, rows: NDArray[np.int64], limits: tuple[Any, ...]) -> Any:
        """Hand one block to the cluster and return its future."""
        if self._scattered is None:
            self._scattered = self._client.scatter(self._vectors, broadcast=True, hash=False, timeout=WORKERS_S)
        return self._client.submit(block_task, self._scattered, rows, *limits, pure=False)

    def scatter_again(self) -> None:
        """Forget the scattered vectors, whose holders are all gone; raise ClusterLost when that goes on and on."""
        self._rescatters += 1
        if self._rescatters > RESCATTERS:
            raise ClusterLost(
                f"the workers at {self._address} lost the vectors {self._rescatters} times; do they have enough memory?"
            )
        self._scattered = None

    def workers(self) -> Mapping[str, Any]:
        """Return the workers as the scheduler last told, which it does every two seconds."""
        known: Mapping[str, Any] = self._client.scheduler_info(n_workers=-1)["workers"]
        return known

    @property
    def client(self) -> Any:
        return self._client

    @property
    def address(self) -> str:
        return self._address


class _Run:
    """The blocks of one call that are under way, and how long the cluster has been silent."""

    def __init__(self, home: DaskBlocks, rows: NDArray[np.int64], limits: tuple[Any, ...]) -> None:
        self._home = home
        self._rows = rows
        self._limits = limits
        self._pending: dict[Any, slice] = {}
        self._done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        now = time.monotonic()
        self._heard, self._peopled, self._reached = now, now, now

    def results(self, blocks: Iterator[slice], tick: Tick) -> Iterator[tuple[slice, tuple[NDArray[Any], ...]]]:
        """Yield blocks as they come back, each once; submit as many as keep every thread busy."""
        again: list[slice] = []
        columns = len(self._home._vectors)
        while True:
            self._fill(again, blocks)
            if not self._pending:
                return
            for future in self._ended():
                part = self._pending.pop(future)
                answer = self._answer(future)
                if answer is None:
                    again.append(part)
                    continue
                self._heard = time.monotonic()
                yield part, answer
                tick(len(answer[0]) * columns)
            tick(0)  # raises where the run was cancelled
            self._check()

    def cancel(self) -> None:
        """Let go of what is under way; workers end the blocks they are at."""
        if self._pending:
            with suppress(Exception):
                self._home.client.cancel(list(self._pending), force=True)
            self._pending.clear()

    def _fill(self, again: list[slice], blocks: Iterator[slice]) -> None:
        threads = sum(int(worker["nthreads"]) for worker in self._home.workers().values())
        while len(self._pending) < 2 * max(1, threads):
            part = again.pop() if again else next(blocks, None)
            if part is None:
                return
            try:
                future = self._home.submit(self._rows[part], self._limits)
            except Exception as error:
                raise ClusterLost(
                    f"the cluster at {self._home.address} takes no work ({_brief(error)}): "
                    "its scheduler is gone, or no worker came in time"
                ) from error
            self._pending[future] = part
            future.add_done_callback(self._done.put)

    def _ended(self) -> list[Any]:
        """Return what has ended, waiting for the first a moment; lost and cancelled blocks are among it."""
        ended = []
        with suppress(queue.Empty):
            ended.append(self._done.get(timeout=LOOK_S))
            while True:
                ended.append(self._done.get_nowait())
        return [future for future in ended if future in self._pending]

    def _answer(self, future: Any) -> tuple[NDArray[Any], ...] | None:
        """Return what the block gave, None where it must be handed out again."""
        if future.status == "error":
            error = future.exception()
            raise ClusterLost(
                f"a block failed on the cluster at {self._home.address} ({_brief(error)}); "
                "its workers need this version of neural-brain, `brain doctor` compares them"
            ) from error
        if future.status != "finished":
            # Cancelled: the vectors it needs are on no worker any more, or the scheduler itself went.
            if self._home.client.status == "running":
                self._home.scatter_again()
            return None
        try:
            answer: tuple[NDArray[Any], ...] = future.result(timeout=WORKERS_S)
        except (TimeoutError, CancelledError):
            return None  # its worker died with the answer in hand
        return answer

    def _check(self) -> None:
        """Raise ClusterLost when the cluster has been away for too long."""
        now = time.monotonic()
        if self._home.client.status == "running":
            self._reached = now
            if self._home.workers():
                self._peopled = now
        if now - self._reached > LOST_S:
            raise ClusterLost(f"the Dask scheduler at {self._home.address} went away in the middle of a run")
        if now - self._peopled > WORKERS_S:
            raise ClusterLost(f"the cluster at {self._home.address} has had no worker for {WORKERS_S:g} s")
        if now - self._heard > SILENT_S:
            raise ClusterLost(f"the cluster at {self._home.address} has sent no block for {SILENT_S:g} s")


def _brief(error: BaseException) -> str:
    """Return type and first line of an error."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__
