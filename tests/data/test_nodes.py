"""Nodes, read: pages, look-ups and the full-text search."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from data import nodes
from data.crud.engine import perform
from data.crud.nodes import DeactivateNode, IngestNodes, NodeDraft, UpdateNode
from data.models import NodeKind
from data.store import Store
from tests.data.crudtools import create_note, rows, sql


@pytest.fixture
async def filled(store: Store) -> Store:
    drafts = [
        NodeDraft(NodeKind.TICKET, "Drucker druckt nicht", "Der Spooler hängt nach dem Update.", "de", "t:1"),
        NodeDraft(NodeKind.TICKET, "Printer queue stuck", "Restart the spooler service.", "en", "t:2"),
        NodeDraft(NodeKind.PRODUCT, "Postfix", "", "und", "p:1"),
        NodeDraft(NodeKind.DOCUMENT, "Spooler", "Handbuch", "de", "d:1"),
    ]
    assert (await perform(store, IngestNodes(drafts), actor="t")).ok
    return store


async def test_lookups(filled: Store) -> None:
    by_uri = await filled.read(nodes.nodes_by_uris, ["t:1", "t:2", "nothing", ""])
    assert {uri: node.label for uri, node in by_uri.items()} == {
        "t:1": "Drucker druckt nicht",
        "t:2": "Printer queue stuck",
    }
    ids = [node.id for node in by_uri.values()]
    assert set(await filled.read(nodes.nodes_by_ids, [*ids, "n_nobody"])) == set(ids)
    assert await filled.read(nodes.get_node, "n_nobody") is None
    found = await filled.read(nodes.find_by_label_key, "postfix")
    assert [node.source_uri for node in found] == ["p:1"]
    assert await filled.read(nodes.find_by_label_key, "postfix", kind=NodeKind.TICKET) == []
    assert await filled.read(nodes.count_by_kind) == {NodeKind.TICKET: 2, NodeKind.PRODUCT: 1, NodeKind.DOCUMENT: 1}


async def test_pages(filled: Store) -> None:
    first = await filled.read(nodes.list_nodes, limit=3)
    second = await filled.read(nodes.list_nodes, limit=3, after=first[-1].id)
    assert len(first) == 3
    assert len(second) == 1
    assert len({node.id for node in first + second}) == 4
    tickets = await filled.read(nodes.list_nodes, kind=NodeKind.TICKET)
    assert {node.source_uri for node in tickets} == {"t:1", "t:2"}


async def test_contents_are_those_of_active_nodes(filled: Store) -> None:
    gone = await filled.read(nodes.node_by_uri, "p:1")
    assert gone is not None
    await perform(filled, DeactivateNode(gone.id), actor="t")
    contents = await filled.read_bulk(nodes.all_contents)
    assert [content.id for content in contents] == sorted(content.id for content in contents)
    assert {content.label for content in contents} == {"Drucker druckt nicht", "Printer queue stuck", "Spooler"}
    assert [c.label for c in await filled.read(nodes.all_contents, kinds=[NodeKind.DOCUMENT])] == ["Spooler"]


@pytest.mark.fast_on_postgres
async def test_search_ranks_labels_before_bodies_and_folds_accents(filled: Store) -> None:
    hits = await filled.read(nodes.search_nodes, "spooler")
    assert hits[0].node.label == "Spooler"
    assert {hit.node.label for hit in hits[1:]} == {"Drucker druckt nicht", "Printer queue stuck"}
    assert all(hit.score > 0 for hit in hits)
    assert [hit.node.source_uri for hit in await filled.read(nodes.search_nodes, "hangt")] == ["t:1"]
    only = await filled.read(nodes.search_nodes, "spooler", kinds=[NodeKind.TICKET], limit=1)
    assert len(only) == 1
    assert only[0].node.kind is NodeKind.TICKET


@pytest.mark.fast_on_postgres
async def test_search_follows_changes(filled: Store) -> None:
    ticket = await filled.read(nodes.node_by_uri, "t:1")
    assert ticket is not None
    await perform(filled, UpdateNode(ticket.id, {"body": "Der Toner ist leer."}), actor="t")
    assert [hit.node.id for hit in await filled.read(nodes.search_nodes, "toner")] == [ticket.id]
    assert await filled.read(nodes.search_nodes, "hängt") == []
    await perform(filled, DeactivateNode(ticket.id), actor="t")
    assert await filled.read(nodes.search_nodes, "toner") == []


async def test_search_survives_vacuum(filled: Store) -> None:
    gone = await filled.read(nodes.node_by_uri, "t:1")
    assert gone is not None
    sql(filled, "DELETE FROM node WHERE id = ?", [gone.id])
    sql(filled, "VACUUM")
    hits = await filled.read(nodes.search_nodes, "printer")
    assert [hit.node.source_uri for hit in hits] == ["t:2"]
    assert (rows(filled, "node_text"), rows(filled, "node_fts")) == (3, 3)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=st.text(max_size=60) | st.sampled_from(['"', "a AND", "NEAR(", "label:x", "*", "(", "- OR -", "a\x00b"]))
async def test_any_text_is_a_query(filled: Store, query: str) -> None:
    assert isinstance(await filled.read(nodes.search_nodes, query), list)


async def test_the_active_node_wins_a_uri(store: Store) -> None:
    first = await create_note(store, "first")
    second = await create_note(store, "second")
    sql(store, "UPDATE node SET source_uri = 'same', active = (id = ?)", [second])
    found = await store.read(nodes.node_by_uri, "same")
    assert found is not None
    assert found.id == second
    sql(store, "UPDATE node SET active = (1 = 0)")
    found = await store.read(nodes.node_by_uri, "same")
    assert found is not None
    assert found.id == min(first, second)
