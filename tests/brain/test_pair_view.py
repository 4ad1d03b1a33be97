"""What `brain pairs show` prints: everything that led to a decision, German and English, and what became of it."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from brain.cli.pair_view import history, pair_lines
from brain.cli.pairs import pairs_show
from brain.cli.shell import Context, Invocation
from brain.errors import UsageError
from data.clock import ManualClock
from data.crud.engine import perform
from data.crud.ingest import NodeDraft
from data.crud.nodes import UpdateNode
from data.edges import relations_between
from data.models import Node, NodeKind
from data.nodes import nodes_by_ids
from data.pairs import get_decision
from data.store import Store
from research.search.base import Hit, SearchState
from tests.research import relation_pages as pages
from tests.research.relation_parts import Web, pair_of_nodes, web
from tests.research.test_reexamination import GOOD, PLAN, think


async def shown(store: Store, first: Node, second: Node) -> str:
    """Return the lines without their wrapping: a sentence is one run of words."""
    decision = await store.read(get_decision, first.id, second.id)
    assert decision is not None
    nodes = await store.read(nodes_by_ids, [first.id, second.id])
    relations = await store.read(relations_between, first.id, second.id, active=None)
    lines = list(pair_lines(decision, nodes, relations))
    assert all(len(line) <= 140 for line in lines)
    json.dumps(history(relations), default=str)
    return " ".join(" ".join(lines).split())


async def test_a_refused_pair_says_everything_that_led_to_it(store: Store) -> None:
    ticket, note = await pair_of_nodes(store)
    source = web(pages.OTHER_CODE_DE, pages.GENERIC_DE, pages.ONE_SIDED_EN)
    source.extra = (Hit("ftp://files.example.org/a", "VPN Fehler 809"),)
    source.engines_failed = ("bing",)
    plan = PLAN.model_copy(update={"query": f"relation {ticket.id} to {note.id}"})
    await think(store, source, {"relation_plan": plan}, ticket, note)
    text = await shown(store, ticket, note)
    decision = await store.read(get_decision, ticket.id, note.id)
    assert decision is not None
    assert f"planned: relation {ticket.id} to {note.id}" in text
    assert f"sent: {source.queries[0]}" in text
    assert "internal_node_id: the planned one carries the id of a record" in text
    assert "failed: bing" in text
    assert (
        "out of scope, scheme: VPN Fehler 809 ftp://files.example.org/a addresses of the kind “ftp:” are not read"
        in text
    )
    assert "fell at the snippet, snippet_off_topic" in text
    for hit in decision.detail["hits"]:
        assert hit["url"] in text
    assert len(decision.detail["texts"]) == 2
    for judged in decision.detail["texts"]:
        assert " ".join(judged["why"].split()) in text
        assert f"relevance {judged['relevance']:.2f} (cosine {judged['cosine']:.2f}" in text
        assert f"quality {judged['source_quality_score']:.2f}" in text


async def test_an_english_pair_that_was_accepted_shows_what_it_rests_on(store: Store) -> None:
    first = NodeDraft(NodeKind.TICKET, "VPN error 809 after a Windows update", "It came up in January.", "en", "t:1")
    second = NodeDraft(NodeKind.NOTE, "AssumeUDPEncapsulation for L2TP/IPsec behind NAT", "A value.", "en", "t:2")
    ticket, note = await pair_of_nodes(store, first, second)
    outcome = await think(store, web(pages.BOTH_EN), GOOD, ticket, note)
    assert outcome.accepted, outcome.detail
    text = await shown(store, ticket, note)
    assert "sent as planned; the guard found nothing to object to" in text
    assert "accepted as solves, target_to_source (confidence 0.80): E1 says so" in text
    assert f"{outcome.edge_id} solves, stands" in text
    assert "rests on https://docs1.example/page" in text
    assert "L2TP/IPsec VPN clients behind NAT fail with error 809" in text


async def test_history_is_shown_with_its_reasons(store: Store, clock: ManualClock) -> None:
    ticket, note = await pair_of_nodes(store)
    first = await think(store, web(pages.BOTH_DE), GOOD, ticket, note)
    clock.advance(timedelta(days=400))
    second = await think(store, web(pages.BOTH_DE), GOOD, ticket, note)
    blind = Web(state=SearchState.BLIND, engines_failed=("bing",))
    assert (await perform(store, UpdateNode(note.id, {"body": "Anders."}), actor="t")).ok
    await think(store, blind, GOOD, ticket, note)
    text = await shown(store, ticket, note)
    assert f"{first.edge_id} solves, ended 2027-02-19 08:00 UTC, superseded" in text
    assert f"superseded by {second.edge_id}" in text
    assert "Looked at again on 2027-02-19 08:00 UTC without an answer: search_failed" in text
    clock.advance(timedelta(days=1))
    await think(store, Web(state=SearchState.NONE), GOOD, ticket, note)
    text = await shown(store, ticket, note)
    assert f"{second.edge_id} solves, ended 2027-02-20 08:00 UTC, reexamined: no_hits" in text
    assert "decided refused: no_hits" in text


async def test_a_pair_is_named_by_two_nodes_by_a_relation_or_by_a_node_of_one_pair(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    ticket, note = await pair_of_nodes(store)
    context = Context(Invocation(json=True, home=store.home, config=None))
    with pytest.raises(UsageError, match="no decided pairs"):
        await pairs_show(context, source=ticket.id, target=None)
    outcome = await think(store, web(pages.BOTH_DE), GOOD, ticket, note)
    assert outcome.edge_id is not None
    names: list[tuple[str, str | None]] = [
        (ticket.id, note.id), (note.id, ticket.id), (outcome.edge_id, None), (ticket.id, None),
        (f"{ticket.id}:{note.id}", None), (f"pair:{ticket.id}:{note.id}", None),
    ]  # fmt: skip
    for source, target in names:
        await pairs_show(context, source=source, target=target)
        document = json.loads(capsys.readouterr().out)
        assert {document["source_id"], document["target_id"]} == {ticket.id, note.id}
        assert [relation["id"] for relation in document["relations"]] == [outcome.edge_id]
    with pytest.raises(UsageError, match="two different nodes"):
        await pairs_show(context, source=ticket.id, target=ticket.id)
