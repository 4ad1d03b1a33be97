"""Ids of stored records: a prefix that names the kind, and a ULID.

Node ids are internal and must never leave the house; `research.guard` knows their form (spec 02, 04).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice, product
from typing import Final

from ulid import ULID

__all__ = ["IdFactory", "new_id", "new_ids", "sequential_ids"]

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

_CROCKFORD: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS: Final = tuple(left + right for left, right in product(_CROCKFORD, _CROCKFORD))

IdFactory = Callable[[str], str]
"""Takes a kind (a key of the prefix table) and returns a fresh id."""


def new_id(kind: str) -> str:
    """Return a fresh id for `kind`, e.g. `n_01J…` for a node; raise KeyError for an unknown kind."""
    return type_prefixes[kind] + str(ULID())


def new_ids(kind: str, count: int) -> list[str]:
    """Return `count` fresh ids for `kind`, a twentieth of the time of so many calls of `new_id`.

    As ULIDs of one moment may, they count on from each other: up to 2^20 share the moment and 60 random bits.
    """
    found: list[str] = []
    while len(found) < count:
        head = new_id(kind)[:-4]
        found += [head + high + low for high, low in islice(product(_PAIRS, _PAIRS), count - len(found))]
    return found


def sequential_ids(start: int = 1) -> IdFactory:
    """Return a factory of predictable ids in the same form, for replayed runs."""
    counter = start

    def make(kind: str) -> str:
        nonlocal counter
        value = str(ULID.from_int(counter))
        counter += 1
        return type_prefixes[kind] + value

    return make
