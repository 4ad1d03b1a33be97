"""Neighbour lists between table `neighbour` and arrays: what lets the first pass after a restart be incremental."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from data.crud.batch import Columns
from data.vectors import StoredList
from vector.neighbours import NeighbourState, renumbered

__all__ = ["Kept", "Step", "from_rows", "step", "to_rows"]


@dataclass(frozen=True, slots=True)
class Kept:
    """The lists of a finished pass: row i of `state` is node `ids[i]` with content `hashes[i]`; ids ascend."""

    ids: list[str]
    hashes: list[str]
    state: NeighbourState


@dataclass(frozen=True, slots=True)
class Step:
    """From one pass to the next: the previous lists in the new numbering, which rows have other vectors, which
    lists lost a node that is gone, and the ids that are gone."""

    previous: NeighbourState
    changed: NDArray[np.int64]
    lost: NDArray[np.bool_]
    gone: list[str]


def step(kept: Kept, ids: Sequence[str], hashes: Sequence[str], *, k: int, length: int) -> Step:
    """Return what an incremental pass over `ids` (ascending) with `hashes` starts from."""
    place = {node_id: row for row, node_id in enumerate(ids)}
    rows = np.array([place.get(node_id, -1) for node_id in kept.ids], np.int64)
    previous, lost = renumbered(kept.state, rows, len(ids), k=k, length=length)
    known = dict(zip(kept.ids, kept.hashes, strict=True))
    changed = [
        row for row, (node_id, digest) in enumerate(zip(ids, hashes, strict=True)) if known.get(node_id) != digest
    ]
    gone = [node_id for node_id, row in zip(kept.ids, rows.tolist(), strict=True) if row < 0]
    return Step(previous, np.array(changed, np.int64), lost, gone)


def from_rows(stored: Sequence[StoredList], k: int) -> Kept | None:
    """Return the lists of table `neighbour`, or None where there are none or a row is damaged."""
    if not stored:
        return None
    lengths = [len(one.ids) for one in stored]
    if any(len(one.similarities) != 4 * (length + 1) for one, length in zip(stored, lengths, strict=True)):
        return None
    count, width = len(stored), max(1, *lengths)
    place = {one.node_id: row for row, one in enumerate(stored)}
    filled = np.arange(width)[None, :] < np.array(lengths)[:, None]
    values = np.frombuffer(b"".join(one.similarities for one in stored), "<f4")
    last = np.cumsum(np.array(lengths) + 1) - 1
    near = np.full((count, width), np.nan, np.float32)
    near[filled] = np.delete(values, last)
    # A node that has no row of its own is gone: its entries drop out as any other stale entry does.
    entries = np.full((count, width), -1, np.int32)
    entries[filled] = [place.get(node_id, -1) for one in stored for node_id in one.ids]
    order = np.argsort(entries < 0, axis=1, kind="stable")
    entries, near = np.take_along_axis(entries, order, axis=1), np.take_along_axis(near, order, axis=1)
    near[entries < 0] = np.nan
    state = NeighbourState(k, width, entries, near, values[last].astype(np.float32), np.ones(count, np.bool_))
    return Kept([one.node_id for one in stored], [one.content_hash for one in stored], state)


def to_rows(kept: Kept, rows: NDArray[np.int64], model: str) -> Columns:
    """Return the rows of table `neighbour` for these rows of `kept`."""
    indices, near = kept.state.indices[rows], kept.state.similarities[rows]
    lengths = (indices >= 0).sum(axis=1)
    # A list's similarities are stored with its floor behind them.
    values = np.column_stack([near, np.zeros(len(rows), np.float32)]).astype("<f4")
    values[np.arange(len(rows)), lengths] = kept.state.floor[rows]
    data = values[np.arange(values.shape[1])[None, :] <= lengths[:, None]].tobytes()
    ends = 4 * np.cumsum(lengths + 1)
    spans = zip((ends - 4 * (lengths + 1)).tolist(), ends.tolist(), strict=True)
    others = zip(indices.tolist(), lengths.tolist(), strict=True)
    numbers = rows.tolist()
    return Columns(
        {
            "node_id": [kept.ids[row] for row in numbers],
            "model": [model] * len(numbers),
            "content_hash": [kept.hashes[row] for row in numbers],
            "ids": [[kept.ids[other] for other in line[:length]] for line, length in others],
            "similarities": [data[start:end] for start, end in spans],
        }
    )
