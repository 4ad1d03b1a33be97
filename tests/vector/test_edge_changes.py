"""The rows that turn stored vector edges into those of a graph."""

from __future__ import annotations

import json
from array import array
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.schema import encode_json
from data.store import Store
from data.vectors import StoredEdges
from vector.affinity import VectorGraph
from vector.edge_changes import _meta, edge_changes

NOTHING = StoredEdges([], [], [], array("d"), array("d"), [], [])
IDS = ["n_a", "n_b", "n_c", "n_d"]


def graph(*edges: tuple[int, int, float, float, bool]) -> VectorGraph:
    source, target, near, affinity, mark = zip(*edges, strict=True) if edges else ((), (), (), (), ())
    return VectorGraph(
        np.array(source, np.int64),
        np.array(target, np.int64),
        np.array(near, np.float32),
        np.array(affinity, np.float64),
        np.array(mark, np.bool_),
        np.arange(len(IDS)),
    )


@given(st.floats(-3, 1, allow_nan=False), st.booleans())
def test_meta_is_written_as_the_store_writes_json(affinity: float, duplicate: bool) -> None:
    said = {"affinity": affinity, "duplicate": True} if duplicate else {"affinity": affinity}
    assert _meta(affinity, duplicate) == encode_json(said)
    assert json.loads(_meta(affinity, duplicate)) == said


async def test_a_first_graph_is_all_new(store: Store) -> None:
    changes = edge_changes(store, IDS, graph((0, 1, 0.5, 0.1, False), (0, 2, 0.999, 0.2, True)), NOTHING)
    assert (changes.added, changes.changed, changes.kept, list(changes.deletes)) == (2, 0, 0, [])
    assert changes.upserts.values["source_id"] == ["n_a", "n_a"]
    assert changes.upserts.values["target_id"] == ["n_b", "n_c"]
    assert changes.upserts.values["meta"] == ['{"affinity":0.1}', '{"affinity":0.2,"duplicate":true}']
    assert len(set(changes.upserts.values["id"])) == 2


async def test_an_edge_that_changed_keeps_its_id_and_birth(store: Store) -> None:
    old = StoredEdges(
        ["e_1", "e_2", "e_3", "e_4"],
        ["n_a", "n_a", "n_b", "n_c"],
        ["n_b", "n_c", "n_z", "n_b"],
        array("d", [0.5, 0.6, 0.7, 0.8]),
        array("d", [0.1, 0.2, 0.3, 0.4]),
        [False, False, False, False],
        ["then-1", "then-2", "then-3", "then-4"],
    )
    new = graph((0, 1, 0.5 + 5e-5, 0.1, False), (0, 2, 0.6, 0.2002, False), (2, 3, 0.9, 0.5, False))
    changes = edge_changes(store, IDS, new, old)
    assert (changes.added, changes.changed, changes.kept) == (1, 1, 1)
    # The end of e_3 is gone, and e_4 stands the wrong way round.
    assert [row["id"] for row in changes.deletes] == ["e_3", "e_4"]
    assert changes.upserts.values["id"][0] == "e_2"
    assert changes.upserts.values["created_at"][0] == "then-2"
    assert changes.upserts.values["created_at"][1] == changes.upserts.values["updated_at"][1] != "then-2"


@pytest.mark.parametrize("count", [0, 1, 1025, 3000])
def test_ids_made_at_once_are_ids_and_differ(count: int) -> None:
    from ulid import ULID

    from data.ids import new_ids

    made = new_ids("edge", count)
    assert len(set(made)) == count
    assert made == sorted(made)
    for one in made[:50] + made[-50:]:
        assert one.startswith("e_")
        assert str(ULID.from_str(one[2:])) == one[2:]


async def test_a_store_with_predictable_ids_keeps_them(tmp_path: Path) -> None:
    from data.ids import sequential_ids

    async with await Store.open(tmp_path / "replayed", new_id=sequential_ids(7)) as replayed:
        assert replayed.new_ids("edge", 2) == ["e_00000000000000000000000007", "e_00000000000000000000000008"]
