"""A relation with its evidence appears whole or not at all, and can be taken back."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from data import edges, evidence, nodes
from data.crud.engine import WriteOutcome, perform
from data.crud.evidence import EvidenceDraft
from data.crud.nodes import DeactivateNode, UpdateNode
from data.crud.relations import (
    INTERNAL_RELATION,
    RESEARCHED_RELATION,
    AcceptedRelation,
    AcceptRelation,
    RestoreRelation,
    WithdrawRelation,
)
from data.models import Edge, EdgeKind, NodeKind, PairDecision, PairState, RelationType, SourceClass
from data.store import Store
from tests.data.crudtools import create_note, event_names, last_entry, rows, sabotage, sql

FETCHED = datetime(2026, 1, 14, 12, tzinfo=UTC)


def text(name: str, **changes: Any) -> EvidenceDraft:
    draft = EvidenceDraft(
        url=f"https://example.org/{name}",
        final_url=f"https://example.org/{name}",
        title=f"Page {name}",
        publisher="example.org",
        language="en",
        published_at=None,
        fetched_at=FETCHED,
        sha256=name.encode().hex().ljust(64, "0"),
        path=f"evidence/{name}",
        chars=1000,
        accepted=True,
        reject_reason=None,
        relevance=0.8,
        source_quality=SourceClass.VENDOR,
        source_quality_score=0.7,
        assessment_reason="both named together",
    )
    return replace(draft, **changes)


async def accept(
    store: Store, source: str, target: str, *texts: EvidenceDraft, meta: dict[str, Any] | None = None
) -> WriteOutcome:
    return await perform(store, await relation(store, source, target, *texts, meta=meta), actor="thinking")


async def relation(
    store: Store, source: str, target: str, *texts: EvidenceDraft, meta: dict[str, Any] | None = None
) -> AcceptRelation:
    ends = await store.read(nodes.nodes_by_ids, [source, target])
    low, high = sorted((source, target))
    decision = PairDecision(
        low,
        high,
        ends[low].content_hash,
        ends[high].content_hash,
        PairState.ACCEPTED,
        "accepted",
        "q",
        None,
        1,
        None,
        FETCHED,
    )
    return AcceptRelation(
        source_id=source,
        target_id=target,
        relation_type=RelationType.SOLVES,
        confidence=0.9,
        rationale="the page says so",
        evidence=texts,
        meta=meta or {"validation_state": RESEARCHED_RELATION, "query": "q"},
        source_hash=ends[source].content_hash,
        target_hash=ends[target].content_hash,
        decision=decision,
        passages={draft.sha256: f"passage of {draft.title}" for draft in texts},
    )


@pytest.fixture
async def pair(store: Store) -> tuple[str, str]:
    return await create_note(store, "Fehler 809"), await create_note(store, "Port 500 öffnen")


def the(outcome: WriteOutcome) -> AcceptedRelation:
    assert outcome.ok, outcome
    assert isinstance(outcome.result, AcceptedRelation)
    return outcome.result


async def get(store: Store, edge_id: str) -> Edge:
    found = await store.read(edges.get_edge, edge_id)
    assert found is not None
    return found


async def test_everything_of_a_relation_is_one_write(store: Store, pair: tuple[str, str]) -> None:
    entries = rows(store, "journal")
    result = the(await accept(store, *pair, text("a"), text("b", path="")))
    assert rows(store, "journal") == entries + 1
    found = await get(store, result.edge_id)
    assert (found.source_id, found.target_id, found.kind) == (*pair, EdgeKind.RELATION)
    assert (found.relation_type, found.weight) == (RelationType.SOLVES, 0.9)
    assert found.meta["validation_state"] == RESEARCHED_RELATION
    assert [item["sha256"] for item in found.meta["evidence"]] == [text("a").sha256, text("b").sha256]
    assert [item.get("fulltext") for item in found.meta["evidence"]] == [None, "absent"]
    kept = await store.read(evidence.evidence_by_owner, "pair:" + ":".join(sorted(pair)))
    assert tuple(row.id for row in kept) == result.evidence_ids
    for external in result.external_node_ids:
        node = await store.read(nodes.get_node, external)
        assert node is not None
        assert node.kind is NodeKind.EVIDENCE
        assert node.body.startswith("passage of Page")
        joined = await store.read(edges.edges_of, external)
        assert {edge.target_id for edge in joined} == set(pair)
        assert {edge.kind for edge in joined} == {EdgeKind.RESEARCH_EVIDENCE}
    assert sql(store, "SELECT state, reason FROM pair_decision") == [("accepted", "accepted")]
    assert await event_names(store) == ["think.relation.accepted"]
    assert (await store.read(edges.relation_counts_by_node)) == dict.fromkeys(pair, 1)


async def test_a_relation_that_fails_verification_leaves_nothing(store: Store, pair: tuple[str, str]) -> None:
    sabotage(
        store,
        "CREATE TRIGGER evil AFTER INSERT ON evidence BEGIN UPDATE evidence SET relevance = 1 WHERE id = new.id; END",
    )
    outcome = await accept(store, *pair, text("a"))
    assert (outcome.status, outcome.result) == ("failed", None)
    assert [rows(store, table) for table in ("node", "edge", "evidence", "pair_decision")] == [2, 0, 0, 0]
    assert await event_names(store) == ["crud.verification.failed"]


async def test_what_changed_since_the_review_is_refused(store: Store, pair: tuple[str, str]) -> None:
    operation = await relation(store, *pair, text("a"))
    await perform(store, UpdateNode(pair[1], {"body": "something else"}), actor="t")
    outcome = await perform(store, operation, actor="thinking")
    assert (outcome.status, outcome.reason) == ("refused", "content_changed")
    fresh = await relation(store, *pair, text("a"))
    await perform(store, DeactivateNode(pair[0]), actor="t")
    assert (await perform(store, fresh, actor="thinking")).reason == "inactive_node"
    assert rows(store, "edge") == 0


async def test_without_accepted_evidence_only_an_internal_relation_is_accepted(
    store: Store, pair: tuple[str, str]
) -> None:
    assert (await accept(store, *pair)).reason == "uncited"
    refused = text("a", accepted=False, reject_reason="irrelevant")
    assert (await accept(store, *pair, text("b"), refused)).reason == "uncited"
    assert (await accept(store, *pair, meta={"validation_state": INTERNAL_RELATION})).ok


async def test_a_decision_for_another_pair_is_an_error(store: Store, pair: tuple[str, str]) -> None:
    operation = await relation(store, *pair, text("a"))
    swapped = replace(operation.decision, source_id=max(pair), target_id=min(pair))
    with pytest.raises(ValueError, match="ascending order"):
        await perform(store, replace(operation, decision=swapped), actor="t")
    with pytest.raises(ValueError, match="accepted decision"):
        await perform(store, replace(operation, decision=replace(operation.decision, state=PairState.RETRY)), actor="t")


async def test_a_text_that_supports_two_relations_outlives_one(store: Store, pair: tuple[str, str]) -> None:
    third = await create_note(store, "Windows 11")
    first = the(await accept(store, *pair, text("a"), text("only-first")))
    second = the(await accept(store, pair[0], third, text("a")))
    assert second.external_node_ids[0] == first.external_node_ids[0]
    assert (await perform(store, WithdrawRelation(first.edge_id, "wrong"), actor="person")).ok
    shared = await store.read(nodes.get_node, first.external_node_ids[0])
    alone = await store.read(nodes.get_node, first.external_node_ids[1])
    assert shared is not None
    assert alone is not None
    assert (shared.active, alone.active) == (True, False)
    left = await store.read(edges.edges_of, shared.id)
    assert {edge.target_id for edge in left} == {pair[0], third}
    assert await store.read(edges.edges_of, alone.id) == []
    assert (await perform(store, WithdrawRelation(second.edge_id, "wrong too"), actor="person")).ok
    assert await store.read(edges.list_edges) == []
    assert sql(store, "SELECT count(*) FROM node WHERE kind = 'evidence' AND active") == [(0,)]


async def test_withdrawing_and_restoring(store: Store, pair: tuple[str, str]) -> None:
    result = the(await accept(store, *pair, text("a")))
    active = await store.read(edges.list_edges)
    assert (await perform(store, WithdrawRelation(result.edge_id, "not true"), actor="person")).ok
    found = await get(store, result.edge_id)
    assert (found.active, found.meta["ended"]["reason"]) == (False, "not true")
    assert sql(store, "SELECT state, reason FROM pair_decision") == [("refused", "withdrawn")]
    assert (await perform(store, WithdrawRelation(result.edge_id, "again"), actor="person")).reason == "not_found"
    assert (await perform(store, RestoreRelation(result.edge_id), actor="person")).ok
    assert {edge.id for edge in await store.read(edges.list_edges)} == {edge.id for edge in active}
    external = await store.read(nodes.get_node, result.external_node_ids[0])
    assert external is not None
    assert external.active
    assert sql(store, "SELECT state, reason FROM pair_decision") == [("accepted", "restored")]
    assert (await perform(store, RestoreRelation(result.edge_id), actor="person")).reason == "nothing_to_restore"


async def test_a_new_review_supersedes_the_old_relation(store: Store, pair: tuple[str, str]) -> None:
    old = the(await accept(store, *pair, text("a"), text("b")))
    new = the(await accept(store, pair[1], pair[0], text("b"), text("c")))
    active = await store.read(edges.list_edges, kind=EdgeKind.RELATION)
    assert [edge.id for edge in active] == [new.edge_id]
    ended = await get(store, old.edge_id)
    assert ended.meta["superseded_by"] == new.edge_id
    between = await store.read(edges.relation_between, *pair)
    assert between is not None
    assert between.id == new.edge_id
    external = await store.read(nodes.nodes_by_ids, {*old.external_node_ids, *new.external_node_ids})
    assert sorted((node.label, node.active) for node in external.values()) == [
        ("Page a", False),
        ("Page b", True),
        ("Page c", True),
    ]
    outcome = await perform(store, RestoreRelation(old.edge_id), actor="person")
    assert outcome.reason == "superseded"
    assert (await last_entry(store)).target == f"edge:{new.edge_id}"


async def test_accepting_the_same_again_keeps_one_evidence_row(store: Store, pair: tuple[str, str]) -> None:
    first = the(await accept(store, *pair, text("a")))
    second = the(await accept(store, *pair, text("a", relevance=0.95)))
    assert first.evidence_ids == second.evidence_ids
    (kept,) = (await store.read(evidence.evidence_by_ids, second.evidence_ids)).values()
    assert kept.relevance == 0.95
    assert rows(store, "evidence") == 1
