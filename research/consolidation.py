"""Which waiting tasks are merged into which: greedy, exact, fast for a hundred thousand of them (spec 05). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from research.duplicate_index import DuplicateIndex
from research.duplicates import DEFAULT, DuplicatePolicy, Features, TaskShape, features

__all__ = ["Group", "QueueEntry", "consolidate", "keepers"]

_COMPILED_FROM: Final = 4_000
"""Tasks from which packing them for the compiled loop pays; below it the index is as fast, and needs no compiler."""


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """A task as consolidation sees it; `key` is its id, `since` when it was queued."""

    key: str
    shape: TaskShape
    priority: int
    since: datetime


@dataclass(frozen=True, slots=True)
class Group:
    """A keeper with the members it takes in; each member is a direct duplicate of the keeper."""

    keeper: str
    members: tuple[str, ...]


def consolidate(entries: Iterable[QueueEntry], policy: DuplicatePolicy = DEFAULT) -> tuple[Group, ...]:
    """Return the merges among `entries`, greedily by priority (highest first), then age (oldest first).

    Each entry still free becomes a keeper and takes its free direct duplicates, judged on the shapes as
    they came in: A~B~C never chains two tasks that are far apart. Groups without members are left out.
    """
    ordered = sorted(entries, key=lambda entry: (-entry.priority, entry.since, entry.key))
    if len(ordered) < _COMPILED_FROM:
        return _by_index(ordered, policy)
    owners = keepers((features(entry.shape) for entry in ordered), policy)
    members: dict[int, list[str]] = {}
    for place, owner in enumerate(owners):
        if owner >= 0:
            members.setdefault(owner, []).append(ordered[place].key)
    return tuple(Group(ordered[owner].key, tuple(members[owner])) for owner in sorted(members))


def keepers(taken: Iterable[Features], policy: DuplicatePolicy) -> list[int]:
    """Return for each task, in the order in which they may become keepers, the place of its keeper, −1 for none.

    Computing, in compiled loops without the interpreter lock but for the packing: call it in a thread.
    """
    from research.packed import keepers_of, pack

    return [int(owner) for owner in keepers_of(pack(taken), policy)]


def _by_index(ordered: Sequence[QueueEntry], policy: DuplicatePolicy) -> tuple[Group, ...]:
    rank = {entry.key: place for place, entry in enumerate(ordered)}
    index = DuplicateIndex(policy)
    for entry in ordered:
        index.add(entry.key, entry.shape)
    groups = []
    for entry in ordered:
        if entry.key not in index:
            continue
        index.remove(entry.key)
        members = sorted((key for key, _ in index.duplicates(entry.shape)), key=rank.__getitem__)
        for key in members:
            index.remove(key)
        if members:
            groups.append(Group(entry.key, tuple(members)))
    return tuple(groups)
