"""What the store remembers of GLPI: known nodes, links, and sources that left."""

from __future__ import annotations

import pytest

from data.crud.engine import perform
from data.crud.ingest import EdgeDraft, IngestNodes, NodeDraft
from data.crud.sources import RetireSources
from data.edges import list_edges
from data.glpi import ItemLink, exported_items, forget_link, item_link, keep_link, known_among, known_items
from data.glpi_items import ARTICLE_URI, TICKET_URI
from data.models import NodeKind
from data.nodes import node_by_uri
from data.store import Store

pytestmark = pytest.mark.fast_on_postgres

ORIGIN = {"origin": "glpi:x", "updated": "2026-01-01 08:00:00"}


def draft(uri: str, kind: NodeKind = NodeKind.TICKET, **meta: str) -> NodeDraft:
    return NodeDraft(kind, f"Node {uri}", "text", "en", uri, meta=meta)


async def test_known_items_are_those_of_the_prefix_and_no_sections(store: Store) -> None:
    drafts = [
        draft("ticket:glpi:1", **ORIGIN),
        draft("ticket:glpi:22"),
        draft("ticket:glpi2:3", **ORIGIN),
        draft("glpi:KnowbaseItem/5", NodeKind.DOCUMENT, **ORIGIN, ends="2026-02-01 00:00:00"),
        draft("glpi:KnowbaseItem/5#steps", NodeKind.SECTION),
    ]
    assert (await perform(store, IngestNodes(drafts), actor="t")).ok
    known = await store.read(known_items, TICKET_URI)
    assert {number: (one.active, one.updated, one.connected) for number, one in known.items()} == {
        1: (True, "2026-01-01 08:00:00", True),
        22: (True, "", False),
    }
    articles = await store.read(known_items, ARTICLE_URI)
    assert {number: one.ends for number, one in articles.items()} == {5: "2026-02-01 00:00:00"}
    assert await store.read(known_among, TICKET_URI, [1, 3, 99]) == {1: known[1]}


async def test_a_source_leaves_with_its_sections_and_comes_back(store: Store) -> None:
    document = [
        draft("glpi:KnowbaseItem/5", NodeKind.DOCUMENT, **ORIGIN),
        draft("glpi:KnowbaseItem/5#a", NodeKind.SECTION),
        draft("ticket:glpi:1", **ORIGIN),
    ]
    operation = IngestNodes(document, [EdgeDraft(1, 0)])
    assert (await perform(store, operation, actor="t")).ok
    outcome = await perform(store, RetireSources(["glpi:KnowbaseItem/5", "glpi:KnowbaseItem/9"], "gone"), actor="t")
    assert (outcome.status, outcome.verified, outcome.result) == ("done", True, 1)
    for uri, active in (("glpi:KnowbaseItem/5", False), ("glpi:KnowbaseItem/5#a", False), ("ticket:glpi:1", True)):
        found = await store.read(node_by_uri, uri)
        assert found is not None
        assert found.active is active
    assert await store.read(list_edges) == []
    again = await perform(store, RetireSources(["glpi:KnowbaseItem/5"]), actor="t")
    assert (again.status, again.reason) == ("refused", "not_found")
    assert (await perform(store, operation, actor="t")).ok
    found = await store.read(node_by_uri, "glpi:KnowbaseItem/5#a")
    assert found is not None
    assert found.active


async def test_links_hold_for_one_glpi(store: Store) -> None:
    link = ItemLink(
        "a_01ARZ3NDEKTSV4RRFFQ69G5FAV", "https://one.example", 5, 1, "0" * 16, "2026-01-01T00:00:00.000000Z"
    )
    await store.write(keep_link, link)
    assert await store.read(item_link, link.article_id, "https://one.example") == link
    assert await store.read(item_link, link.article_id, "https://two.example") is None
    assert await store.read(exported_items, "https://one.example") == {5: link}
    assert await store.read(exported_items, "https://two.example") == {}
    await store.write(forget_link, link.article_id)
    assert await store.read(item_link, link.article_id, "https://one.example") is None
