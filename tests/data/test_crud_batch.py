"""Derived rows as one verified batch, and graph arrays read from them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from data import edges, journal, state
from data.crud.batch import Batch, Columns, write_batch
from data.crud.engine import perform
from data.crud.nodes import DeactivateNode, IngestNodes, NodeDraft
from data.ids import new_id
from data.models import EdgeKind, Event, JournalStatus, NodeKind
from data.schema import edge, embedding, encode_json, position
from data.store import Store
from tests.data.crudtools import event_names, last_entry, rows, sabotage, sql


@pytest.fixture
async def ids(store: Store) -> list[str]:
    drafts = [NodeDraft(NodeKind.NOTE, f"note {number}") for number in range(50)]
    outcome = await perform(store, IngestNodes(drafts), actor="t")
    return sorted(outcome.result.node_ids)


def positions(store: Store, ids: Sequence[str], x: float = 0.5) -> list[dict[str, Any]]:
    return [{"node_id": i, "x": x, "y": n / 3, "z": 0.0, "updated_at": store.clock.now()} for n, i in enumerate(ids)]


def vector_edges(store: Store, pairs: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    now = store.clock.now()
    common = {"kind": "vector", "relation_type": None, "active": True, "created_at": now, "updated_at": now}
    return [
        {
            "id": new_id("edge"),
            "source_id": a,
            "target_id": b,
            "weight": n / 7,
            "meta": {"affinity": 0.1, "ä": n},
            **common,
        }
        for n, (a, b) in enumerate(pairs)
    ]


async def test_a_batch_is_verified_and_sets_state_and_events(store: Store, ids: list[str]) -> None:
    batch = Batch(
        "layout",
        position,
        positions(store, ids),
        events=[Event("vector.graph.maintenance.completed", {"nodes": 50})],
        state={"last_vector_layout": "2026-01-15T08:00:00+00:00"},
    )
    outcome = await write_batch(store, batch, actor="maintenance")
    assert (outcome.ok, outcome.written, outcome.deleted) == (True, 50, 0)
    assert rows(store, "position") == 50
    assert await store.read(state.get_state, "last_vector_layout") == "2026-01-15T08:00:00+00:00"
    assert await event_names(store) == ["vector.graph.maintenance.completed"]
    entry = await last_entry(store)
    assert (entry.action, entry.target, entry.status) == ("batch:layout", "table:position", JournalStatus.VERIFIED)
    assert entry.after == {"written": 50, "deleted": 0, "sha256": outcome.digest}


async def test_the_digest_does_not_depend_on_the_order(store: Store, ids: list[str]) -> None:
    given = positions(store, ids)
    first = await write_batch(store, Batch("layout", position, given), actor="t")
    shuffled = random.Random(7).sample(given, len(given))
    second = await write_batch(store, Batch("layout", position, shuffled), actor="t")
    third = await write_batch(store, Batch("layout", position, positions(store, ids, x=0.6)), actor="t")
    assert first.digest == second.digest != third.digest
    assert rows(store, "position") == 50


async def test_upserts_and_deletes(store: Store, ids: list[str]) -> None:
    given = vector_edges(store, [(ids[0], ids[1]), (ids[1], ids[2]), (ids[2], ids[3])])
    assert (await write_batch(store, Batch("edges", edge, given), actor="t")).ok
    given[0]["weight"] = 0.25
    changed = Batch("edges", edge, given[:1], deletes=[{"id": given[1]["id"]}, {"id": given[2]["id"]}])
    outcome = await write_batch(store, changed, actor="t")
    assert (outcome.ok, outcome.written, outcome.deleted) == (True, 1, 2)
    (left,) = await store.read(edges.list_edges)
    assert (left.id, left.weight, left.meta) == (given[0]["id"], 0.25, {"affinity": 0.1, "ä": 0})


async def test_a_key_deleted_and_written_in_one_batch_stays(store: Store, ids: list[str]) -> None:
    given = positions(store, ids[:2])
    batch = Batch("layout", position, given, deletes=[{"node_id": ids[0]}, {"node_id": ids[5]}])
    assert (await write_batch(store, batch, actor="t")).ok
    assert rows(store, "position") == 2


async def test_rows_partly_new_partly_there(store: Store, ids: list[str]) -> None:
    assert (await write_batch(store, Batch("layout", position, positions(store, ids[::3])), actor="t")).ok
    assert (await write_batch(store, Batch("layout", position, positions(store, ids, x=0.7)), actor="t")).ok
    assert sql(store, "SELECT count(*), count(DISTINCT node_id) FROM position WHERE x = 0.7") == [(50, 50)]


async def test_a_key_twice_is_an_error(store: Store, ids: list[str]) -> None:
    with pytest.raises(ValueError, match="writes a row of position twice"):
        await write_batch(store, Batch("layout", position, positions(store, ids[:1] * 2)), actor="t")


async def test_composite_keys_and_numpy_values(store: Store, ids: list[str]) -> None:
    rng = np.random.default_rng(1)
    given = [
        {
            "node_id": i,
            "model": "m/1",
            "dim": np.int64(4),
            "content_hash": "h",
            "vector": rng.random(4, dtype=np.float32).tobytes(),
        }
        for i in ids
    ]
    assert (await write_batch(store, Batch("embed", embedding, given), actor="t")).ok
    deleted = Batch("embed", embedding, deletes=[{"node_id": i, "model": "m/1"} for i in ids[:10]])
    assert (await write_batch(store, deleted, actor="t")).ok
    assert rows(store, "embedding") == 40
    assert sql(store, "SELECT vector FROM embedding WHERE node_id = ?", [ids[20]]) == [(given[20]["vector"],)]


async def test_an_empty_batch_writes_nothing_but_its_state(store: Store) -> None:
    batch = Batch("layout", position, events=[Event("vector.graph.maintenance.completed", {})], state={"looked": 1})
    outcome = await write_batch(store, batch, actor="t")
    assert (outcome.ok, outcome.journal_id) == (True, None)
    assert rows(store, "journal") == 0
    assert await store.read(state.get_state, "looked") == 1


@pytest.mark.parametrize(
    ("trigger", "message"),
    [
        ("AFTER INSERT ON position BEGIN UPDATE position SET y = 9 WHERE node_id = new.node_id; END", "written: y"),
        (
            "BEFORE INSERT ON position WHEN new.y = 0 BEGIN SELECT RAISE(IGNORE); END",
            "1 rows of position were not there",
        ),
        ("BEFORE DELETE ON position BEGIN SELECT RAISE(IGNORE); END", "1 rows of position are still there"),
    ],
)
async def test_what_does_not_read_back_fails(store: Store, ids: list[str], trigger: str, message: str) -> None:
    assert (await write_batch(store, Batch("layout", position, positions(store, ids[-1:])), actor="t")).ok
    sabotage(store, f"CREATE TRIGGER evil {trigger}")
    batch = Batch(
        "layout",
        position,
        positions(store, ids[:-1]),
        deletes=[{"node_id": ids[-1]}],
        events=[Event("vector.graph.maintenance.completed", {})],
        state={"last_vector_layout": 1},
    )
    outcome = await write_batch(store, batch, actor="t")
    assert (outcome.ok, outcome.written) == (False, 0)
    assert message in outcome.message
    assert await store.read(state.get_state, "last_vector_layout") is None
    assert await event_names(store) == ["crud.verification.failed"]
    assert await store.read(journal.count_by_status) == {"verified": 2, "failed": 1}


async def test_a_broken_reference_keeps_nothing(store: Store, ids: list[str]) -> None:
    outcome = await write_batch(store, Batch("layout", position, positions(store, [*ids, "n_nobody"])), actor="t")
    assert not outcome.ok
    assert rows(store, "position") == 0


@pytest.mark.parametrize("fault", [{"x": None}, {"x": "left"}, {"updated_at": None}])
async def test_a_row_no_column_can_hold_is_an_error(store: Store, ids: list[str], fault: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="position"):
        await write_batch(store, Batch("layout", position, [{**positions(store, ids)[0], **fault}]), actor="t")
    with pytest.raises(ValueError, match="has no column 'y'"):
        await write_batch(store, Batch("layout", position, [{"node_id": ids[0], "x": 1.0}]), actor="t")


async def test_arrays_for_graph_work(store: Store, ids: list[str]) -> None:
    pairs = [(ids[0], ids[1]), (ids[1], ids[2]), (ids[0], ids[3]), (ids[4], ids[5])]
    given = vector_edges(store, pairs)
    given[2]["active"] = False
    given.append({**vector_edges(store, [(ids[6], ids[7])])[0], "kind": "mentions"})
    assert (await write_batch(store, Batch("edges", edge, given), actor="t")).ok
    assert (await perform(store, DeactivateNode(ids[4]), actor="t")).ok
    arrays = await store.read_bulk(edges.edge_arrays)
    assert arrays.ids == [i for i in ids if i != ids[4]]
    assert [(arrays.ids[s], arrays.ids[t]) for s, t in zip(arrays.sources, arrays.targets, strict=True)] == pairs[:2]
    assert np.frombuffer(arrays.weights).tolist() == [0.0, 1 / 7]
    assert np.frombuffer(arrays.sources, dtype=np.int32).tolist() == [0, 1]
    both = await store.read_bulk(edges.edge_arrays, (EdgeKind.VECTOR, EdgeKind.MENTIONS))
    assert len(both.sources) == 3
    nothing = await store.read_bulk(edges.edge_arrays, (EdgeKind.RELATION,))
    assert (len(nothing.ids), len(nothing.sources)) == (49, 0)


async def test_edges_are_found_by_kind_pair_and_node(store: Store, ids: list[str]) -> None:
    given = vector_edges(store, [(ids[0], ids[1]), (ids[1], ids[2])])
    given.append({**vector_edges(store, [(ids[0], ids[1])])[0], "kind": "relation", "relation_type": "solves"})
    assert (await write_batch(store, Batch("edges", edge, given), actor="t")).ok
    assert await store.read(edges.count_by_kind) == {EdgeKind.VECTOR: 2, EdgeKind.RELATION: 1}
    assert [e.id for e in await store.read(edges.edges_of, ids[2])] == [given[1]["id"]]
    assert len(await store.read(edges.edges_of, ids[1])) == 3
    assert [e.kind for e in await store.read(edges.edges_of, ids[1], kinds=[EdgeKind.RELATION])] == [EdgeKind.RELATION]
    found = await store.read(edges.find_edge, EdgeKind.VECTOR, ids[0], ids[1])
    assert found is not None
    assert found.id == given[0]["id"]
    assert await store.read(edges.find_edge, EdgeKind.VECTOR, ids[1], ids[0]) is None
    relation = await store.read(edges.relation_between, ids[1], ids[0])
    assert relation is not None
    assert relation.id == given[2]["id"]
    page = await store.read(edges.list_edges, limit=2)
    rest = await store.read(edges.list_edges, limit=2, after=page[-1].id)
    assert [e.id for e in page + rest] == sorted(row["id"] for row in given)
    assert set(await store.read(edges.edges_by_ids, [given[0]["id"], "e_nobody"])) == {given[0]["id"]}


async def test_columns_say_the_same_as_rows(store: Store, ids: list[str]) -> None:
    given = vector_edges(store, [(ids[0], ids[1]), (ids[1], ids[2])])
    by_row = await write_batch(store, Batch("edges", edge, given), actor="t")
    values = {name: [row[name] for row in given] for name in given[0]}
    ready = {**values, "meta": [encode_json(meta) for meta in values["meta"]]}
    for columns in (Columns(values), Columns(ready, wire=frozenset({"meta", "id", "kind"}))):
        by_column = await write_batch(store, Batch("edges", edge, columns), actor="t")
        assert by_column.ok
        assert by_column.digest == by_row.digest


async def test_columns_of_unequal_length_or_missing_are_refused(store: Store, ids: list[str]) -> None:
    given = positions(store, ids[:3])
    values = {name: [row[name] for row in given] for name in given[0]}
    with pytest.raises(ValueError, match="shorter"):
        await write_batch(store, Batch("layout", position, Columns({**values, "y": values["y"][:2]})), actor="t")
    without = {name: column for name, column in values.items() if name != "z"}
    with pytest.raises(ValueError, match="no column 'z'"):
        await write_batch(store, Batch("layout", position, Columns(without)), actor="t")
    assert rows(store, "position") == 0


async def test_keys_below_and_above_those_that_stand(store: Store, ids: list[str]) -> None:
    assert (await write_batch(store, Batch("layout", position, positions(store, ids[10:20])), actor="t")).ok
    for part in (ids[5:12], ids[18:30], ids):
        assert (await write_batch(store, Batch("layout", position, positions(store, part, x=0.9)), actor="t")).ok
    assert sql(store, "SELECT count(*), count(DISTINCT node_id) FROM position WHERE x = 0.9") == [(50, 50)]
