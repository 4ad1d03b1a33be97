"""One pair from plan to decision: every row of the table "Fail closed", and the one way in."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from data import events
from data.clock import ManualClock
from data.crud.engine import Plan, perform
from data.crud.ingest import NodeDraft
from data.crud.nodes import UpdateNode
from data.crud.relations import AcceptRelation
from data.edges import list_edges, relation_between
from data.events import list_events
from data.evidence import EvidenceFiles, evidence_by_owner
from data.models import EdgeKind, Node, NodeKind, PairState, RelationType
from data.nodes import count_by_kind
from data.pairs import get_decision
from data.store import Store, StoreUnavailable, Tx
from research.extractive_relation import relation_handlers
from research.fetch_errors import FetchError, FetchReason
from research.gate import EvidencePolicy
from research.hits import EvidenceReader
from research.pair_reasons import Reason
from research.reasoner import ExtractiveReasoner, InvalidAnswer, Reasoner
from research.relation import RelationPolicy, RelationResearch
from research.roles import Direction, RelationPlan, RelationReview
from research.search.base import SearchState
from research.sources import shipped_table
from tests.research import relation_pages as pages
from tests.research.relation_parts import Scripted, Web, footprint, model_down, pair_of_nodes, web
from vector.embed import HashingEmbedder

PLAN = RelationPlan(
    related=True,
    query="VPN Fehler 809 L2TP NAT",
    questions=("Behebt der Schlüssel den Fehler?",),
    confidence=0.6,
    reason="r",
)
ACCEPTED = RelationReview(
    accept=True,
    relation_type=RelationType.SOLVES,
    direction=Direction.TARGET_TO_SOURCE,
    confidence=0.8,
    cited=("E1",),
    rationale="E1 says so",
)


def extractive() -> ExtractiveReasoner:
    return ExtractiveReasoner(relation_handlers(HashingEmbedder(512)))


def research(store: Store, source: Web, reasoner: Reasoner | None = None) -> RelationResearch:
    embedder = HashingEmbedder(512)
    policy = EvidencePolicy(cosine_floor=0.0, cosine_ceiling=0.5)
    reader = EvidenceReader(source, source, shipped_table(), embedder, store.clock, evidence=policy)
    return RelationResearch(store, reasoner or extractive(), reader, EvidenceFiles(store.home))


def ordered(first: Node, second: Node) -> tuple[Node, Node]:
    return (first, second) if first.id < second.id else (second, first)


BLIND = Web(state=SearchState.BLIND, engines_failed=("bing",))
BROKEN = replace(web(pages.BOTH_DE), broken={"https://docs1.example/page": FetchError(FetchReason.TIMEOUT, "slow")})
PLANNED = {"relation_plan": PLAN}

# What happened → the reason, whether it is tried again soon, and how long the pair rests (spec 04).
FAIL_CLOSED = [
    ("the planner failed", web(pages.BOTH_DE), {"relation_plan": model_down("relation_plan")}, Reason.PLAN_FAILED),
    ("search failed", Web(raises=OSError("no route")), PLANNED, Reason.SEARCH_FAILED),
    ("search blind", BLIND, PLANNED, Reason.SEARCH_FAILED),
    ("a fetch failed and nothing was accepted", BROKEN, PLANNED, Reason.FETCH_FAILED),
    ("everybody answered, nobody knew", Web(state=SearchState.NONE), PLANNED, Reason.NO_HITS),
    ("no text passed the gate", web(pages.OTHER_CODE_DE, pages.GENERIC_DE), PLANNED, Reason.NO_ACCEPTED_EVIDENCE),
    (
        "accepted without a citation",
        web(pages.BOTH_DE),
        {**PLANNED, "relation_review": ACCEPTED.model_copy(update={"cited": ()})},
        Reason.UNCITED,
    ),
    (
        "accepted on what was not shown",
        web(pages.BOTH_DE),
        {**PLANNED, "relation_review": ACCEPTED.model_copy(update={"cited": ("E1", "E99")})},
        Reason.UNCITED,
    ),
    (
        "the review failed: model down",
        web(pages.BOTH_DE),
        {**PLANNED, "relation_review": model_down("relation_review")},
        Reason.REVIEW_FAILED,
    ),
    (
        "the review failed: invalid answer",
        web(pages.BOTH_DE),
        {**PLANNED, "relation_review": InvalidAnswer("relation_review", "not JSON")},
        Reason.REVIEW_FAILED,
    ),
    (
        "the review said no",
        web(pages.BOTH_DE),
        {**PLANNED, "relation_review": RelationReview(accept=False, confidence=0.9, rationale="only mentioned")},
        Reason.REVIEW_REJECTED,
    ),
    (
        "not related at all",
        web(pages.BOTH_DE),
        {"relation_plan": RelationPlan(related=False, confidence=0.9, reason="other products")},
        Reason.NOT_RELATED,
    ),
]
RETRIED_SOON = {Reason.PLAN_FAILED, Reason.SEARCH_FAILED, Reason.FETCH_FAILED, Reason.REVIEW_FAILED}
RESTS_A_MONTH = {Reason.REVIEW_REJECTED, Reason.NOT_RELATED}


@pytest.mark.parametrize(("source", "answers", "reason"), [r[1:] for r in FAIL_CLOSED], ids=[r[0] for r in FAIL_CLOSED])
async def test_whatever_fails_leaves_nothing_behind_and_says_why(
    store: Store, clock: ManualClock, source: Web, answers: dict[str, object], reason: Reason
) -> None:
    ticket, note = await pair_of_nodes(store)
    before = await footprint(store)
    outcome = await research(store, source, Scripted(extractive(), answers)).think(ticket.id, note.id)  # type: ignore[arg-type]
    assert (outcome.reason, outcome.accepted) == (reason, False)
    assert await footprint(store) == before
    low, high = ordered(ticket, note)
    decision = await store.read(get_decision, ticket.id, note.id)
    assert decision is not None
    assert (decision.source_id, decision.target_id) == (low.id, high.id)
    assert (decision.source_hash, decision.target_hash) == (low.content_hash, high.content_hash)
    assert decision.reason == reason
    assert decision.state is (PairState.RETRY if reason in RETRIED_SOON else PairState.REFUSED)
    rest = timedelta(minutes=10) if reason in RETRIED_SOON else timedelta(days=30 if reason in RESTS_A_MONTH else 7)
    assert decision.retry_not_before == clock.now() + rest
    named = [event.name for event in await store.read(list_events, name_prefix="think.")]
    insufficient = [e for e in await store.read(list_events) if e.name == events.THINK_INSUFFICIENT]
    if reason is Reason.NOT_RELATED:
        assert events.THINK_RELATION_REJECTED in named
        assert not insufficient
    else:
        payload = insufficient[0].payload
        assert payload["reason"] == reason
        assert {payload["source"], payload["target"]} == {ticket.id, note.id}
        assert {"hits", "scoped", "fetched", "accepted"} <= payload.keys()


async def test_nothing_public_to_ask_with(store: Store) -> None:
    host = NodeDraft(NodeKind.NOTE, "srv-fs01.corp 10.20.4.15", "", "de", "test:host")
    mail = NodeDraft(NodeKind.TICKET, "j.petersen@brueckner-sohl.example, 030 23125 417", "", "de", "test:mail")
    first, second = await pair_of_nodes(store, host, mail)
    before = await footprint(store)
    source = web(pages.BOTH_DE)
    plan = PLAN.model_copy(update={"query": "srv-fs01.corp j.petersen@brueckner-sohl.example"})
    outcome = await research(store, source, Scripted(extractive(), {"relation_plan": plan})).think(first.id, second.id)
    assert outcome.reason is Reason.NOTHING_SEARCHABLE
    assert source.queries == []
    assert await footprint(store) == before


async def test_a_relation_is_accepted_with_its_evidence_in_one_write(store: Store) -> None:
    ticket, note = await pair_of_nodes(store)
    source = web(pages.BOTH_DE, pages.OTHER_CODE_DE)
    outcome = await research(store, source).think(ticket.id, note.id)
    assert (outcome.reason, outcome.state) == (Reason.ACCEPTED, PairState.ACCEPTED)
    relation = await store.read(relation_between, ticket.id, note.id)
    assert relation is not None
    assert relation.id == outcome.edge_id
    assert relation.meta["validation_state"] == "relation_fulltext_gate_v10"
    assert relation.meta["query"] == source.queries[0]
    low, high = ordered(ticket, note)
    (evidence,) = await store.read(evidence_by_owner, f"pair:{low.id}:{high.id}")
    assert evidence.accepted
    assert EvidenceFiles(store.home).get(evidence.sha256) == pages.BOTH_DE
    assert relation.meta["evidence"][0]["sha256"] == evidence.sha256
    assert (await store.read(count_by_kind))[NodeKind.EVIDENCE] == 1
    support = await store.read(list_edges, kind=EdgeKind.RESEARCH_EVIDENCE)
    assert {edge.target_id for edge in support} | {edge.source_id for edge in support} >= {ticket.id, note.id}
    decision = await store.read(get_decision, ticket.id, note.id)
    assert decision is not None
    assert (decision.state, decision.reason, decision.retry_not_before) == (PairState.ACCEPTED, "accepted", None)
    named = [event.name for event in await store.read(list_events, name_prefix="think.")]
    assert named.count(events.THINK_RELATION_ACCEPTED) == 1
    assert named.count(events.THINK_EVIDENCE_ASSESSED) == 2


async def test_only_cited_texts_become_evidence(store: Store) -> None:
    ticket, note = await pair_of_nodes(store)
    answers = {"relation_plan": PLAN, "relation_review": ACCEPTED}
    source = web(pages.BOTH_DE, pages.BOTH_EN)
    outcome = await research(store, source, Scripted(extractive(), answers)).think(ticket.id, note.id)
    assert outcome.evidence == 1
    assert (await footprint(store))["evidence files"] == 1


async def test_the_direction_of_the_review_is_the_direction_of_the_edge(store: Store) -> None:
    ticket, note = await pair_of_nodes(store)
    low, high = ordered(ticket, note)
    review = ACCEPTED.model_copy(update={"direction": Direction.TARGET_TO_SOURCE})
    answers = {"relation_plan": PLAN, "relation_review": review}
    outcome = await research(store, web(pages.BOTH_DE), Scripted(extractive(), answers)).think(high.id, low.id)
    relation = await store.read(relation_between, low.id, high.id)
    assert relation is not None
    assert (relation.source_id, relation.target_id) == (high.id, low.id)
    assert outcome.relation_type is RelationType.SOLVES


async def test_the_reviewer_sees_the_nodes_and_the_accepted_passages_and_no_internal_id(store: Store) -> None:
    ticket, note = await pair_of_nodes(store)
    reasoner = Scripted(extractive())
    await research(store, web(pages.BOTH_DE, pages.OTHER_CODE_DE), reasoner).think(ticket.id, note.id)
    shown = reasoner.asked[-1].model_dump_json()
    assert ticket.label in shown
    assert "691" not in shown
    assert ticket.id not in shown
    assert note.id not in shown


async def test_two_nodes_that_state_their_connection_need_no_search(store: Store) -> None:
    runbook = NodeDraft(
        NodeKind.SECTION,
        "Runbook Einwahl",
        "1. Wert setzen.\n2. Neu starten.\n\nBehebt VPN Fehler 809 nach Windows-Update.",
        "de",
        "test:note",
    )
    ticket, section = await pair_of_nodes(store, second=runbook)
    source = web(pages.BOTH_DE)
    outcome = await research(store, source).think(ticket.id, section.id)
    assert outcome.accepted, outcome.detail
    assert source.queries == []
    relation = await store.read(relation_between, ticket.id, section.id)
    assert relation is not None
    assert relation.meta["validation_state"] == "relation_internal_v1"
    assert relation.relation_type is RelationType.SOLVES
    assert (relation.source_id, relation.target_id) == (section.id, ticket.id)
    assert relation.meta["spans"] == ["Runbook Einwahl: Behebt VPN Fehler 809 nach Windows-Update."]
    assert (await footprint(store))["evidence"] == 0


async def test_a_plan_that_needs_no_facts_is_not_believed_without_a_span(store: Store) -> None:
    ticket, note = await pair_of_nodes(store)
    plan = PLAN.model_copy(update={"needs_research": False})
    source = Web(state=SearchState.NONE)
    outcome = await research(store, source, Scripted(extractive(), {"relation_plan": plan})).think(ticket.id, note.id)
    assert outcome.reason is Reason.NO_HITS
    assert len(source.queries) == 1


async def test_a_query_with_an_internal_id_is_rebuilt_before_it_leaves(store: Store) -> None:
    ticket, note = await pair_of_nodes(store)
    plan = PLAN.model_copy(update={"query": f"relation {ticket.id} to {note.id}"})
    source = web(pages.BOTH_DE)
    outcome = await research(store, source, Scripted(extractive(), {"relation_plan": plan})).think(ticket.id, note.id)
    (sent,) = source.queries
    assert ticket.id.lower() not in sent.lower()
    assert "809" in sent
    (event,) = [e for e in await store.read(list_events) if e.name == events.THINK_QUERY_REBUILT]
    assert event.payload["query"] == sent
    assert event.payload["reason"] == "internal_node_id"
    assert ticket.id in event.payload["original"]
    assert outcome.detail["query"] == {
        "planned": plan.query, "sent": sent, "rebuilt": True, "reason": "internal_node_id",
    }  # fmt: skip


async def test_the_decision_tells_every_hit_and_every_text(store: Store) -> None:
    ticket, note = await pair_of_nodes(store)
    source = web(pages.OTHER_CODE_DE, pages.GENERIC_DE, pages.ONE_SIDED_EN)
    await research(store, source, Scripted(extractive(), PLANNED)).think(ticket.id, note.id)
    decision = await store.read(get_decision, ticket.id, note.id)
    assert decision is not None
    stages = {hit["url"]: (hit["stage"], hit["reason"]) for hit in decision.detail["hits"]}
    assert stages == {
        "https://docs1.example/page": ("gate", "other_identifier"),
        "https://docs2.example/page": ("snippet", "snippet_off_topic"),
        "https://docs3.example/page": ("gate", "one_sided"),
    }
    assert all(text["why"] and not text["accepted"] for text in decision.detail["texts"])
    assert decision.detail["plan"]["query"] == PLAN.query


async def test_errors_back_off_from_ten_minutes_to_a_day(store: Store, clock: ManualClock) -> None:
    ticket, note = await pair_of_nodes(store)
    failing = research(store, Web(state=SearchState.BLIND), Scripted(extractive(), PLANNED))
    rests = []
    for _ in range(10):
        await failing.think(ticket.id, note.id)
        decision = await store.read(get_decision, ticket.id, note.id)
        assert decision is not None
        assert decision.retry_not_before is not None
        rests.append((decision.retry_not_before - clock.now()) / timedelta(minutes=10))
    assert rests == [1, 2, 4, 8, 16, 32, 64, 128, 144, 144]


async def test_a_partly_blind_search_is_asked_again_soon_where_it_brought_nothing(
    store: Store, clock: ManualClock
) -> None:
    ticket, note = await pair_of_nodes(store)
    source = replace(web(pages.GENERIC_DE), engines_failed=("bing",))
    outcome = await research(store, source, Scripted(extractive(), PLANNED)).think(ticket.id, note.id)
    assert outcome.reason is Reason.NO_ACCEPTED_EVIDENCE
    decision = await store.read(get_decision, ticket.id, note.id)
    assert decision is not None
    assert decision.retry_not_before == clock.now() + timedelta(minutes=10)


async def test_a_refused_page_is_not_read_again_for_the_same_content(store: Store) -> None:
    ticket, note = await pair_of_nodes(store)
    source = web(pages.OTHER_CODE_DE)
    thinking = research(store, source, Scripted(extractive(), PLANNED))
    await thinking.think(ticket.id, note.id)
    await thinking.think(ticket.id, note.id)
    assert len(source.fetched) == 1
    changed = await perform(store, UpdateNode(note.id, {"body": "Neuer Text."}), actor="test")
    assert changed.ok
    await thinking.think(ticket.id, note.id)
    assert len(source.fetched) == 2


async def test_a_node_that_changes_meanwhile_stops_the_write(store: Store) -> None:
    ticket, note = await pair_of_nodes(store)
    source = web(pages.BOTH_DE)
    thinking = research(store, source, Scripted(extractive(), {"relation_plan": PLAN, "relation_review": ACCEPTED}))
    fetch = source.fetch

    async def changing(url: str):  # type: ignore[no-untyped-def]
        assert (await perform(store, UpdateNode(note.id, {"body": "Anders."}), actor="test")).ok
        return await fetch(url)

    source.fetch = changing  # type: ignore[method-assign]
    outcome = await thinking.think(ticket.id, note.id)
    assert (outcome.reason, outcome.state) == (Reason.CHANGED, PairState.RETRY)
    found = await footprint(store)
    assert (found["evidence"], found["evidence files"]) == (0, 0)


async def test_a_text_that_cannot_be_kept_is_said_in_the_relation(store: Store) -> None:
    ticket, note = await pair_of_nodes(store)
    (store.home / "evidence").write_text("in the way of the folder", encoding="utf-8")
    outcome = await research(store, web(pages.BOTH_DE)).think(ticket.id, note.id)
    assert outcome.accepted
    relation = await store.read(relation_between, ticket.id, note.id)
    assert relation is not None
    assert relation.meta["evidence"][0]["fulltext"] == "absent"


async def test_a_refused_write_takes_its_files_with_it(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    ticket, note = await pair_of_nodes(store)

    def broken(self: AcceptRelation, tx: Tx) -> Plan:
        raise StoreUnavailable("the disk is full", reason="disk_full")

    monkeypatch.setattr(AcceptRelation, "plan", broken)
    with pytest.raises(StoreUnavailable, match="the disk is full"):
        await research(store, web(pages.BOTH_DE)).think(ticket.id, note.id)
    assert (await footprint(store))["evidence files"] == 0


async def test_a_text_of_other_evidence_stays_when_a_write_is_refused(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticket, note = await pair_of_nodes(store)
    kept, _ = EvidenceFiles(store.home).put(pages.BOTH_DE)
    plan = AcceptRelation.plan
    monkeypatch.setattr(AcceptRelation, "plan", lambda self, tx: plan(replace(self, source_hash="other"), tx))
    outcome = await research(store, web(pages.BOTH_DE)).think(ticket.id, note.id)
    assert outcome.reason is Reason.CHANGED
    assert EvidenceFiles(store.home).has(kept)


async def test_a_node_that_is_gone_is_no_pair(store: Store, tmp_path: Path) -> None:
    ticket, _ = await pair_of_nodes(store)
    outcome = await research(store, web(pages.BOTH_DE)).think(ticket.id, "n_" + "0" * 26)
    assert outcome.reason is Reason.INACTIVE_NODE


async def test_the_policy_counts_rest_times_from_its_own_knobs(store: Store, clock: ManualClock) -> None:
    ticket, note = await pair_of_nodes(store)
    source = Web(state=SearchState.NONE)
    reader = EvidenceReader(source, source, shipped_table(), HashingEmbedder(64), clock)
    policy = RelationPolicy(insufficient_retry=timedelta(hours=3))
    thinking = RelationResearch(
        store, Scripted(extractive(), PLANNED), reader, EvidenceFiles(store.home), policy=policy
    )  # fmt: skip
    await thinking.think(ticket.id, note.id)
    decision = await store.read(get_decision, ticket.id, note.id)
    assert decision is not None
    assert decision.retry_not_before == clock.now() + timedelta(hours=3)
