"""What to write so that the stored vector edges become those of a graph: the difference alone (spec 03).

Rows are made as columns and in wire form: 400,000 mappings with a JSON document each would take as long as the
database does to insert them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from data.clock import to_iso
from data.crud.batch import Columns
from data.models import EdgeKind
from data.store import Store
from data.vectors import StoredEdges
from vector.affinity import VectorGraph, edge_difference

__all__ = ["EdgeChanges", "edge_changes"]

_DECIMALS: Final = 6
"""Decimals of a stored weight and affinity; a change is one of more than 1e-4."""

IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class EdgeChanges:
    """The rows that are `added` or `changed`, in `upserts`; the keys that go; how many edges stay as they stand."""

    upserts: Columns
    deletes: Sequence[Mapping[str, Any]]
    added: int
    changed: int
    kept: int


def edge_changes(store: Store, ids: Sequence[str], graph: VectorGraph, old: StoredEdges) -> EdgeChanges:
    """Return what turns the edges `old` into those of `graph`, whose row i is the node `ids[i]` (ids ascend)."""
    count = len(ids)
    place = {node_id: row for row, node_id in enumerate(ids)}
    low = np.fromiter((place.get(end, -1) for end in old.sources), np.int64, len(old.ids))
    high = np.fromiter((place.get(end, -1) for end in old.targets), np.int64, len(old.ids))
    # An edge with an end that is gone, or stored the wrong way round, and the second of two alike: they go.
    present = np.flatnonzero((low >= 0) & (low < high))
    keys, first = np.unique(low[present] * count + high[present], return_index=True)
    standing = present[first]
    before = (
        keys,
        np.asarray(old.weights)[standing],
        np.asarray(old.affinities)[standing],
        np.asarray(old.duplicates, np.bool_)[standing],
    )
    now = (
        graph.source * np.int64(count) + graph.target,
        graph.similarity.astype(np.float64),
        graph.affinity,
        graph.duplicate,
    )
    difference = edge_difference(before, now)
    put = now[0][difference.put]
    at = np.minimum(np.searchsorted(keys, put), max(0, len(keys) - 1))
    known = np.where(difference.added, -1, standing[at] if len(standing) else -1)
    staying = np.zeros(len(old.ids), np.bool_)
    staying[standing] = True
    staying[standing[difference.removed]] = False
    added = int(difference.added.sum())
    return EdgeChanges(
        upserts=_columns(store, ids, graph, difference.put, known, old),
        deletes=[{"id": old.ids[row]} for row in np.flatnonzero(~staying).tolist()],
        added=added,
        changed=len(put) - added,
        kept=difference.kept,
    )


def _columns(
    store: Store, ids: Sequence[str], graph: VectorGraph, put: IntArray, known: IntArray, old: StoredEdges
) -> Columns:
    """Return the edges `put` of `graph`; `known` is each one's place among the old, -1 for none."""
    count = len(put)
    moment = to_iso(store.clock.now())
    fresh = iter(store.new_ids("edge", int((known < 0).sum())))
    affinities = graph.affinity[put].round(_DECIMALS).tolist()
    marks = graph.duplicate[put].tolist()
    return Columns(
        {
            "id": [old.ids[row] if row >= 0 else next(fresh) for row in known.tolist()],
            "source_id": [ids[row] for row in graph.source[put].tolist()],
            "target_id": [ids[row] for row in graph.target[put].tolist()],
            "kind": [EdgeKind.VECTOR.value] * count,
            "relation_type": [None] * count,
            "weight": graph.similarity[put].astype(np.float64).round(_DECIMALS).tolist(),
            "meta": [_meta(affinity, mark) for affinity, mark in zip(affinities, marks, strict=True)],
            "active": [True] * count,
            "created_at": [old.created[row] if row >= 0 else moment for row in known.tolist()],
            "updated_at": [moment] * count,
        },
        wire=frozenset({"id", "source_id", "target_id", "kind", "relation_type", "meta", "created_at", "updated_at"}),
    )


def _meta(affinity: float, duplicate: bool) -> str:
    """Return the JSON of an edge's meta, as `data.schema.encode_json` writes it; affinities are finite."""
    return f'{{"affinity":{affinity!r},"duplicate":true}}' if duplicate else f'{{"affinity":{affinity!r}}}'
