"""Ids of stored records: a prefix that names the kind, and a ULID.

Node ids are internal and must never leave the house; `research.guard` knows their form (spec 02, 04).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ulid import ULID

__all__ = ["IdFactory", "new_id", "sequential_ids"]

type_prefixes: Final = {
    "node": "n_",
    "edge": "e_",
    "evidence": "v_",
    "task": "t_",
    "article": "a_",
    "revision": "r_",
    "review": "w_",
    "attempt": "m_",
    "scan": "s_",
    "journal": "j_",
    "question": "q_",
}

IdFactory = Callable[[str], str]
"""Takes a kind (a key of the prefix table) and returns a fresh id."""


def new_id(kind: str) -> str:
    """Return a fresh id for `kind`, e.g. `n_01J…` for a node; raise KeyError for an unknown kind."""
    return type_prefixes[kind] + str(ULID())


def sequential_ids(start: int = 1) -> IdFactory:
    """Return a factory of predictable ids in the same form, for replayed runs."""
    counter = start

    def make(kind: str) -> str:
        nonlocal counter
        value = str(ULID.from_int(counter))
        counter += 1
        return type_prefixes[kind] + value

    return make
