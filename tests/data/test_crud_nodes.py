"""Nodes: the validation table, and documents taken in as one write."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from data import edges, nodes
from data.crud.engine import perform
from data.crud.nodes import (
    CreateNode,
    DeactivateNode,
    EdgeDraft,
    IngestNodes,
    IngestResult,
    NodeDraft,
    ReactivateNode,
    UpdateNode,
)
from data.models import EdgeKind, Event, Node, NodeKind
from data.store import DATABASE_NAME, Store
from tests.data.crudtools import create_note, event_names, rows, sql


async def fetch(store: Store, node_id: str) -> Node:
    found = await store.read(nodes.get_node, node_id)
    assert found is not None
    return found


async def test_create_asks_when_the_label_is_taken(store: Store) -> None:
    await create_note(store, "VPN-Fehler 809")
    asked = await perform(store, CreateNode(NodeDraft(NodeKind.NOTE, "  vpn-fehler   809 ")), actor="t")
    assert (asked.status, asked.reason) == ("question", "exists")
    assert asked.choices == ("update", "create_another", "cancel")
    other_kind = await perform(store, CreateNode(NodeDraft(NodeKind.TICKET, "VPN-Fehler 809")), actor="t")
    assert other_kind.status == "done"
    anyway = await perform(store, CreateNode(NodeDraft(NodeKind.NOTE, "VPN-Fehler 809"), anyway=True), actor="t")
    assert anyway.status == "done"


async def test_create_of_what_was_deleted_is_corrected_to_reactivate(store: Store) -> None:
    node_id = await create_note(store, "Drucker", "druckt nicht")
    assert (await perform(store, DeactivateNode(node_id), actor="t")).status == "done"
    outcome = await perform(store, CreateNode(NodeDraft(NodeKind.NOTE, "Drucker", "druckt nicht")), actor="t")
    assert (outcome.status, outcome.action, outcome.result) == ("corrected", "reactivate", node_id)
    assert (await fetch(store, node_id)).active
    assert rows(store, "node") == 1


async def test_update_checks_existence_and_version(store: Store) -> None:
    node_id = await create_note(store, "Drucker")
    missing = await perform(store, UpdateNode("n_nobody", {"body": "x"}), actor="t")
    assert (missing.status, missing.reason) == ("refused", "not_found")
    assert "create it instead?" in missing.message
    done = await perform(store, UpdateNode(node_id, {"label": "Drucker 2", "body": "neu"}, version=1), actor="t")
    assert done.status == "done"
    found = await fetch(store, node_id)
    assert (found.label, found.body, found.version) == ("Drucker 2", "neu", 2)
    assert found.content_hash == nodes.content_hash(NodeKind.NOTE, "Drucker 2", "neu")
    stale = await perform(store, UpdateNode(node_id, {"body": "alt"}, version=1), actor="t")
    assert (stale.status, stale.reason) == ("refused", "stale_version")
    same = await perform(store, UpdateNode(node_id, {"body": "neu"}), actor="t")
    assert (same.status, same.journal_id) == ("done", None)
    assert (await perform(store, UpdateNode(node_id, {"label": " ... "}), actor="t")).reason == "empty_label"


async def test_delete_and_reactivate(store: Store) -> None:
    node_id = await create_note(store, "Drucker")
    assert (await perform(store, ReactivateNode(node_id), actor="t")).reason == "nothing_to_restore"
    assert (await perform(store, DeactivateNode(node_id), actor="t")).status == "done"
    assert not (await fetch(store, node_id)).active
    assert (await perform(store, DeactivateNode(node_id), actor="t")).reason == "not_found"
    assert (await perform(store, ReactivateNode(node_id), actor="t")).status == "done"
    assert (await fetch(store, node_id)).version == 3


def handbook(sections: Sequence[str], *, body: str = "text") -> IngestNodes:
    drafts = [NodeDraft(NodeKind.DOCUMENT, "Handbook", source_uri="file:handbook")]
    drafts += [NodeDraft(NodeKind.SECTION, name, body, source_uri=f"file:handbook#{name}") for name in sections]
    return IngestNodes(drafts, [EdgeDraft(number + 1, 0) for number in range(len(sections))])


async def ingest(store: Store, operation: IngestNodes) -> IngestResult:
    outcome = await perform(store, operation, actor="inbox")
    assert outcome.ok, outcome
    assert isinstance(outcome.result, IngestResult)
    return outcome.result


async def test_a_document_is_taken_in_once(store: Store) -> None:
    first = await ingest(store, handbook(["one", "two"]))
    assert (first.created, first.edges_created) == (3, 2)
    again = await ingest(store, handbook(["one", "two"]))
    assert again == IngestResult(first.node_ids, unchanged=3)
    assert rows(store, "journal") == 1, "an unchanged document writes nothing"


async def test_a_changed_document_writes_the_difference(store: Store) -> None:
    first = await ingest(store, handbook(["one", "two", "three"]))
    changed = await ingest(store, handbook(["one", "three", "four"]))
    assert (changed.created, changed.updated, changed.unchanged, changed.deactivated) == (1, 0, 3, 1)
    assert (changed.edges_created, changed.edges_deactivated) == (1, 1)
    two = await fetch(store, first.node_ids[2])
    assert (two.label, two.active, two.version) == ("two", False, 2)
    back = await ingest(store, handbook(["one", "two", "three", "four"]))
    assert (back.created, back.reactivated, back.edges_updated, back.node_ids[2]) == (0, 1, 1, two.id)
    updated = await ingest(store, handbook(["one", "two", "three", "four"], body="better text"))
    assert (updated.updated, updated.unchanged) == (4, 1)


async def test_what_has_no_uri_is_known_by_kind_and_label(store: Store) -> None:
    operation = IngestNodes([NodeDraft(NodeKind.TECHNIQUE, "OS Credential Dumping (T1003)", "a")])
    first = await ingest(store, operation)
    second = await ingest(
        store, IngestNodes([NodeDraft(NodeKind.TECHNIQUE, "os credential  dumping (T1003)", "b")] * 2)
    )
    assert second.node_ids == first.node_ids * 2
    assert rows(store, "node") == 1
    assert (await fetch(store, first.node_ids[0])).body == "b"


async def test_sections_of_one_name_stay_apart(store: Store) -> None:
    drafts = [NodeDraft(NodeKind.SECTION, "Introduction", source_uri=f"file:{name}#1") for name in ("a", "b")]
    result = await ingest(store, IngestNodes(drafts))
    assert len(set(result.node_ids)) == 2


async def test_edges_name_drafts_uris_or_stored_nodes(store: Store) -> None:
    product = await create_note(store, "Postfix", kind=NodeKind.PRODUCT)
    drafts = [NodeDraft(NodeKind.TICKET, "Mail stuck", source_uri="t:1")]
    result = await ingest(store, IngestNodes(drafts, [EdgeDraft("t:1", product, EdgeKind.MENTIONS, weight=0.5)]))
    (edge,) = await store.read(edges.edges_of, product)
    assert (edge.source_id, edge.target_id, edge.kind, edge.weight) == (
        result.node_ids[0],
        product,
        EdgeKind.MENTIONS,
        0.5,
    )
    unknown = await perform(store, IngestNodes(drafts, [EdgeDraft(0, "n_nobody")]), actor="t")
    assert (unknown.status, unknown.reason) == ("refused", "unknown_node")
    out_of_range = await perform(store, IngestNodes(drafts, [EdgeDraft(0, 5)]), actor="t")
    assert out_of_range.reason == "unknown_node"
    loop = await perform(store, IngestNodes(drafts, [EdgeDraft(0, 0)]), actor="t")
    assert loop.reason == "self_edge"


async def test_a_draft_without_a_label_refuses_the_whole(store: Store) -> None:
    drafts = [NodeDraft(NodeKind.NOTE, "fine"), NodeDraft(NodeKind.NOTE, " \u00a0- ")]
    outcome = await perform(store, IngestNodes(drafts), actor="t")
    assert (outcome.status, outcome.reason) == ("refused", "empty_label")
    assert rows(store, "node") == 0


async def test_events_of_an_ingest_go_out_when_it_is_verified(store: Store) -> None:
    drafts = [NodeDraft(NodeKind.NOTE, "fine")]
    await ingest(store, IngestNodes(drafts, events=(Event("inbox.admitted", {"name": "a.md"}),)))
    assert await event_names(store) == ["inbox.admitted"]


async def test_two_thousand_sections_are_one_verified_write(store: Store) -> None:
    result = await ingest(store, handbook([f"section {number}" for number in range(2000)], body="word " * 30))
    assert result.created == 2001
    assert rows(store, "node_fts") == 2001
    assert sql(store, "SELECT status, length(expected) < 1000000 FROM journal") == [("verified", 1)]


names = st.lists(st.sampled_from(["DGIA", "dgia", " DGIA ", "Dgia.", "T1003", "t1003", "Drucker"]), max_size=6)


@settings(max_examples=15, deadline=None)
@given(batches=st.lists(names, min_size=1, max_size=4))
def test_taking_a_name_in_twice_never_gives_two_nodes(empty_database: Path, batches: list[list[str]]) -> None:
    async def run() -> None:
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(empty_database, Path(folder) / DATABASE_NAME)
            async with await Store.open(Path(folder)) as store:
                for labels in batches:
                    await ingest(store, IngestNodes([NodeDraft(NodeKind.PRODUCT, label) for label in labels]))
                taken = sql(store, "SELECT label_key FROM node")
                assert len(taken) == len(set(taken))
                expected = {label.strip(" .").casefold() for labels in batches for label in labels}
                assert {key for (key,) in taken} == expected

    asyncio.run(run())
