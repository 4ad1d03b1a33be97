"""A relation that stands is looked at again when it has aged or lost its content: answers end it, errors do not."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from data import events
from data.clock import ManualClock
from data.crud.engine import perform
from data.crud.nodes import UpdateNode
from data.crud.relations import RestoreRelation
from data.edges import get_edge, list_edges, relation_between, relations_between
from data.events import list_events
from data.evidence import EvidenceFiles
from data.models import EdgeKind, Node, NodeKind, PairState
from data.nodes import get_node
from data.pairs import ask_for, due_relations, get_decision
from data.store import Store
from research.fetch_errors import FetchError, FetchReason
from research.gate import EvidencePolicy
from research.hits import EvidenceReader
from research.pair_reasons import Reason
from research.pairs import PairPolicy, open_pairs
from research.reasoner import Reasoner
from research.relation import PairOutcome, RelationResearch
from research.roles import RelationReview
from research.search.base import SearchState
from research.sources import shipped_table
from tests.research import relation_pages as pages
from tests.research.relation_parts import Scripted, Web, model_down, pair_of_nodes, web
from tests.research.test_relation import ACCEPTED, PLAN, extractive
from vector.embed import HashingEmbedder

YEAR = timedelta(days=365)
GOOD = {"relation_plan": PLAN, "relation_review": ACCEPTED}
NO = RelationReview(accept=False, confidence=0.9, rationale="only mentioned")


def research(store: Store, source: Web, reasoner: Reasoner) -> RelationResearch:
    embedder = HashingEmbedder(512)
    policy = EvidencePolicy(cosine_floor=0.0, cosine_ceiling=0.5)
    reader = EvidenceReader(source, source, shipped_table(), embedder, store.clock, evidence=policy)
    return RelationResearch(store, reasoner, reader, EvidenceFiles(store.home))


async def think(store: Store, source: Web, answers: dict[str, object], *pair: Node) -> PairOutcome:
    thinking = research(store, source, Scripted(extractive(), answers))  # type: ignore[arg-type]
    return await thinking.think(pair[0].id, pair[1].id)


@pytest.fixture
async def standing(store: Store) -> tuple[Node, Node, str]:
    """Return two nodes and the id of the relation that research accepted between them."""
    ticket, note = await pair_of_nodes(store)
    outcome = await think(store, web(pages.BOTH_DE), GOOD, ticket, note)
    assert outcome.edge_id is not None
    return ticket, note, outcome.edge_id


async def due(store: Store) -> list[tuple[str, str, str]]:
    found = await store.read(due_relations, store.clock.now(), store.clock.now() - YEAR, 10)
    return [(pair.source_id, pair.target_id, pair.why) for pair in found]


async def changed(store: Store, node: Node) -> None:
    assert (await perform(store, UpdateNode(node.id, {"body": "Es wurde etwas ergänzt."}), actor="test")).ok


async def test_a_fresh_relation_is_left_alone(store: Store, standing: tuple[Node, Node, str]) -> None:
    assert await due(store) == []
    assert await open_pairs(store, PairPolicy(), 10) == []


async def test_a_relation_is_due_once_all_its_evidence_is_too_old(
    store: Store, clock: ManualClock, standing: tuple[Node, Node, str]
) -> None:
    ticket, note, _ = standing
    low, high = sorted((ticket.id, note.id))
    clock.advance(YEAR - timedelta(seconds=1))
    assert await due(store) == []
    clock.advance(timedelta(seconds=2))
    assert await due(store) == [(low, high, "reexamine")]
    (pair,) = await open_pairs(store, PairPolicy(evidence_max_age=YEAR), 10)
    assert (pair.source_id, pair.target_id) == (low, high)
    assert await open_pairs(store, PairPolicy(evidence_max_age=2 * YEAR), 10) == []


async def test_a_relation_is_due_when_one_of_its_nodes_changed(store: Store, standing: tuple[Node, Node, str]) -> None:
    ticket, note, _ = standing
    await changed(store, note)
    assert await due(store) == [(*sorted((ticket.id, note.id)), "reexamine")]


async def test_a_new_acceptance_supersedes_and_renews(
    store: Store, clock: ManualClock, standing: tuple[Node, Node, str]
) -> None:
    ticket, note, first = standing
    clock.advance(YEAR + timedelta(days=1))
    outcome = await think(store, web(pages.BOTH_DE), GOOD, ticket, note)
    assert outcome.accepted
    old = await store.read(get_edge, first)
    assert old is not None
    assert (old.active, old.meta["superseded_by"], old.meta["ended"]["reason"]) == (
        False,
        outcome.edge_id,
        "superseded",
    )
    assert [edge.id for edge in await store.read(list_edges, kind=EdgeKind.RELATION)] == [outcome.edge_id]
    assert await due(store) == []


ANSWERS = [
    ("no text passes any more", web(pages.OTHER_CODE_DE), GOOD, Reason.NO_ACCEPTED_EVIDENCE),
    ("nobody knows any more", Web(state=SearchState.NONE), GOOD, Reason.NO_HITS),
    ("the review says no", web(pages.BOTH_DE), {**GOOD, "relation_review": NO}, Reason.REVIEW_REJECTED),
    (
        "the review cites nothing",
        web(pages.BOTH_DE),
        {**GOOD, "relation_review": ACCEPTED.model_copy(update={"cited": ()})},
        Reason.UNCITED,
    ),
    (
        "the planner sees no relation",
        web(pages.BOTH_DE),
        {**GOOD, "relation_plan": PLAN.model_copy(update={"related": False})},
        Reason.NOT_RELATED,
    ),
]


@pytest.mark.parametrize(("source", "answers", "reason"), [row[1:] for row in ANSWERS], ids=[row[0] for row in ANSWERS])
async def test_an_answer_that_refuses_withdraws_the_relation(
    store: Store,
    clock: ManualClock,
    standing: tuple[Node, Node, str],
    source: Web,
    answers: dict[str, object],
    reason: Reason,
) -> None:
    ticket, note, edge_id = standing
    await changed(store, note)
    outcome = await think(store, source, answers, ticket, note)
    assert (outcome.state, outcome.reason, outcome.withdrawn, outcome.edge_id) == (
        PairState.REFUSED,
        reason,
        True,
        edge_id,
    )
    ended = await store.read(get_edge, edge_id)
    assert ended is not None
    assert not ended.active
    assert ended.meta["ended"] == {"at": clock.now().isoformat(), "reason": f"reexamined: {reason}"}
    assert await store.read(list_edges, kind=EdgeKind.RESEARCH_EVIDENCE) == []
    for edge in await store.read(list_edges, kind=EdgeKind.RESEARCH_EVIDENCE, active=None):
        outside = await store.read(get_node, edge.source_id)
        assert outside is not None
        assert (outside.kind, outside.active) == (NodeKind.EVIDENCE, False)
    decision = await store.read(get_decision, ticket.id, note.id)
    assert decision is not None
    assert (decision.state, decision.reason) == (PairState.REFUSED, reason)
    rejected = [e for e in await store.read(list_events) if e.name == events.THINK_RELATION_REJECTED]
    assert [(e.payload["relation"], e.payload["withdrawn"]) for e in rejected] == [(edge_id, True)]
    assert await due(store) == []
    assert EvidenceFiles(store.home).has(ended.meta["evidence"][0]["sha256"])  # history keeps its text


BROKEN = replace(web(pages.BOTH_DE), broken={"https://docs1.example/page": FetchError(FetchReason.TIMEOUT, "slow")})
ERRORS = [
    ("the planner is down", web(pages.BOTH_DE), {"relation_plan": model_down("relation_plan")}, Reason.PLAN_FAILED),
    ("the search is blind", Web(state=SearchState.BLIND, engines_failed=("bing",)), GOOD, Reason.SEARCH_FAILED),
    ("the page cannot be fetched", BROKEN, GOOD, Reason.FETCH_FAILED),
    (
        "the model is down at the review",
        web(pages.BOTH_DE),
        {**GOOD, "relation_review": model_down("relation_review")},
        Reason.REVIEW_FAILED,
    ),
    (
        "some engines failed and the others know nothing",
        replace(web(pages.OTHER_CODE_DE), engines_failed=("bing",)),
        GOOD,
        Reason.NO_ACCEPTED_EVIDENCE,
    ),
]


@pytest.mark.parametrize(("source", "answers", "reason"), [row[1:] for row in ERRORS], ids=[row[0] for row in ERRORS])
async def test_an_error_of_the_outside_never_withdraws(
    store: Store,
    clock: ManualClock,
    standing: tuple[Node, Node, str],
    source: Web,
    answers: dict[str, object],
    reason: Reason,
) -> None:
    ticket, note, edge_id = standing
    await changed(store, note)
    before = await store.read(get_decision, ticket.id, note.id)
    outcome = await think(store, source, answers, ticket, note)
    assert (outcome.state, outcome.reason, outcome.withdrawn) == (PairState.RETRY, reason, False)
    relation = await store.read(relation_between, ticket.id, note.id)
    assert relation is not None
    assert relation.id == edge_id
    after = await store.read(get_decision, ticket.id, note.id)
    assert before is not None
    assert after is not None
    assert (after.state, after.reason, after.decided_at) == (PairState.ACCEPTED, "accepted", before.decided_at)
    assert {key: after.detail[key] for key in before.detail} == dict(before.detail)
    assert after.detail["reexamination"]["reason"] == reason
    assert await due(store) == []  # it rests first
    rests = [(after.retry_not_before or clock.now()) - clock.now()]
    for _ in range(2):
        clock.advance(rests[-1])
        assert len(await due(store)) == 1
        await think(store, source, answers, ticket, note)
        again = await store.read(get_decision, ticket.id, note.id)
        assert again is not None
        assert again.retry_not_before is not None
        rests.append(again.retry_not_before - clock.now())
    assert rests == [timedelta(minutes=10), timedelta(minutes=20), timedelta(minutes=40)]


async def test_a_change_between_look_and_withdrawal_lets_the_relation_stand(
    store: Store, standing: tuple[Node, Node, str]
) -> None:
    ticket, note, edge_id = standing
    source = web(pages.OTHER_CODE_DE)
    fetch = source.fetch

    async def changing(url: str):  # type: ignore[no-untyped-def]
        await changed(store, note)
        return await fetch(url)

    source.fetch = changing  # type: ignore[method-assign]
    outcome = await think(store, source, GOOD, ticket, note)
    assert (outcome.reason, outcome.withdrawn) == (Reason.CHANGED, False)
    relation = await store.read(relation_between, ticket.id, note.id)
    assert relation is not None
    assert relation.id == edge_id


async def test_what_a_person_restored_is_not_looked_at_again_for_its_age(
    store: Store, clock: ManualClock, standing: tuple[Node, Node, str]
) -> None:
    ticket, note, edge_id = standing
    clock.advance(2 * YEAR)
    assert (await think(store, Web(state=SearchState.NONE), GOOD, ticket, note)).withdrawn
    assert (await perform(store, RestoreRelation(edge_id), actor="anna")).ok
    assert await due(store) == []
    clock.advance(YEAR)
    assert len(await due(store)) == 1


async def test_a_relation_on_own_text_does_not_age_but_changes(store: Store, clock: ManualClock) -> None:
    from data.crud.ingest import NodeDraft

    runbook = NodeDraft(
        NodeKind.SECTION, "Runbook Einwahl", "Behebt VPN Fehler 809 nach Windows-Update.", "de", "test:note"
    )
    ticket, section = await pair_of_nodes(store, second=runbook)
    outcome = await research(store, web(), extractive()).think(ticket.id, section.id)
    assert outcome.accepted
    clock.advance(5 * YEAR)
    assert await due(store) == []
    await changed(store, section)
    assert len(await due(store)) == 1
    gone = await research(store, Web(state=SearchState.NONE), extractive()).think(ticket.id, section.id)
    assert gone.withdrawn
    history = await store.read(relations_between, ticket.id, section.id, active=None)
    assert [edge.active for edge in history] == [False]


async def test_a_wish_of_a_person_keeps_what_is_known_when_the_outside_fails(
    store: Store, clock: ManualClock, standing: tuple[Node, Node, str]
) -> None:
    ticket, note, _ = standing
    await store.write(ask_for, ticket.id, note.id)
    await think(store, Web(state=SearchState.BLIND), GOOD, ticket, note)
    decision = await store.read(get_decision, ticket.id, note.id)
    assert decision is not None
    assert decision.state is PairState.ACCEPTED
    assert decision.detail["review"]["accept"] is True
    clock.advance(timedelta(minutes=10))
    assert len(await due(store)) == 1  # the wish is not forgotten


async def test_relations_that_are_due_get_their_share_of_a_full_pass(
    store: Store, standing: tuple[Node, Node, str]
) -> None:
    from tests.research.test_pairs import joined, nodes

    _, note, _ = standing
    await changed(store, note)
    a, b, c, d = await nodes(store)
    await joined(store, (a, b, 0.4), (b, c, 0.3), (c, d, 0.2), (a, d, 0.1))
    whys = [pair.why for pair in await open_pairs(store, PairPolicy(), 3)]
    assert whys == ["reexamine", "vector", "vector"]
