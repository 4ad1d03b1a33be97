"""Reading many nodes at once in processes of their own: the first look at a large house (spec 05, 12).

A reading is plain computing and takes most of a cold scan. In threads it would keep one core busy and everybody else
waiting for the interpreter; in processes it uses what cores there are. A process ends with its parent, whatever ends
that, and leaves stopping to it.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context, parent_process
from typing import Final

from data.collecting import no_collections
from data.nodes import NodeContent
from data.readings import NodeReading
from research.private import GuardPolicy
from research.reading import read_node

__all__ = ["WORKERS", "pool", "read_all"]

WORKERS: Final = 2
"""Processes at most: the rest of the machine belongs to whoever else works on it."""


def pool() -> ProcessPoolExecutor:
    """Return processes for `read_all`; shut them down when done."""
    workers = min(WORKERS, os.cpu_count() or 1)
    return ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_begin)


def read_all(nodes: Sequence[NodeContent], privacy: GuardPolicy) -> list[NodeReading]:
    """Return what the nodes speak of, in their order."""
    with no_collections():
        return [read_node(node, privacy) for node in nodes]


def _begin() -> None:
    """Leave Ctrl-C to the parent, and end when it is gone: a killed parent tells its pool nothing."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    if parent is not None:

        def follow() -> None:
            parent.join()
            os._exit(1)

        threading.Thread(target=follow, daemon=True).start()
