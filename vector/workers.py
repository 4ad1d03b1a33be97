"""Running independent blocks on a few threads, each with one BLAS thread.

OpenBLAS's own threads wait for each other inside every product and collapse on a busy machine; Python
threads over whole blocks do not, because numpy's products and the compiled kernels release the
interpreter lock.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

__all__ = ["default_threads", "run_blocks", "single_blas_thread"]

T = TypeVar("T")


def default_threads() -> int:
    """Return the number of cores this process may use."""
    return max(1, len(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_blocks(work: Callable[[T], None], items: Sequence[T], threads: int | None = None) -> None:
    """Call `work` on each item, in order of their start, on up to `threads` threads (None: all cores).

    The first exception ends the run: blocks not yet started are dropped and it is raised here, after the
    running ones have ended.
    """
    count = min(threads or default_threads(), len(items))
    with single_blas_thread():
        if count <= 1:
            for item in items:
                work(item)
            return
        remaining = iter(items)
        guard = threading.Lock()
        failed = threading.Event()

        def drain() -> None:
            while not failed.is_set():
                with guard:
                    try:
                        item = next(remaining)
                    except StopIteration:
                        return
                try:
                    work(item)
                except BaseException:
                    failed.set()
                    raise

        with ThreadPoolExecutor(count, thread_name_prefix="blocks") as pool:
            for future in [pool.submit(drain) for _ in range(count)]:
                future.result()


class _BlasLimit:
    """Counts who wants single-threaded BLAS: the limit is one number for the process, and two overlapping
    users that each restored what they found would leave it wrong."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._users = 0
        self._limit: Any = None

    def enter(self) -> None:
        with self._guard:
            if self._users == 0:
                self._limit = _controller().limit(limits=1)
                self._limit.__enter__()
            self._users += 1

    def leave(self) -> None:
        with self._guard:
            self._users -= 1
            if self._users == 0:
                self._limit.__exit__(None, None, None)
                self._limit = None


_blas = _BlasLimit()


@contextmanager
def single_blas_thread() -> Iterator[None]:
    """Hold numpy's BLAS to one thread inside the block; may be nested and used from several threads."""
    _blas.enter()
    try:
        yield
    finally:
        _blas.leave()


@functools.cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")
