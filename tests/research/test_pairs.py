"""Which pairs are thought about next, and how a pass over them goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import insert

from data import events
from data.clock import ManualClock
from data.crud.engine import perform
from data.crud.ingest import IngestNodes, NodeDraft
from data.crud.nodes import DeactivateNode, UpdateNode
from data.errors import StoreUnavailable
from data.events import list_events
from data.evidence import EvidenceFiles
from data.models import EdgeKind, NodeKind, PairDecision, PairState
from data.nodes import nodes_by_uris
from data.pairs import (
    NodeText,
    ask_for,
    count_by_reason,
    count_by_state,
    count_open,
    get_decision,
    list_decisions,
    pair_key,
    put_decision,
)
from data.schema import edge
from data.store import Store, Tx
from research.extractive_relation import relation_handlers
from research.hits import EvidenceReader
from research.pairs import PairPolicy, open_pairs, shared_identifier_pairs, translations
from research.reasoner import ExtractiveReasoner
from research.relation import RelationResearch
from research.search.base import SearchState
from research.sources import shipped_table
from tests.research.relation_parts import Scripted, Web, model_down
from vector.embed import HashingEmbedder

LABELS = ("VPN alpha", "VPN beta", "VPN gamma", "VPN delta")


async def nodes(store: Store, labels: Sequence[str] = LABELS, kind: NodeKind = NodeKind.TICKET) -> list[str]:
    """Create a node a label and return their ids in the order of the labels."""
    uris = [f"test:{label}" for label in labels]
    drafts = [NodeDraft(kind, label, f"Text of {label}.", "en", uri) for label, uri in zip(labels, uris, strict=True)]
    assert (await perform(store, IngestNodes(drafts), actor="test")).ok
    found = await store.read(nodes_by_uris, uris)
    return [found[uri].id for uri in uris]


def put_edge(tx: Tx, first: str, second: str, kind: EdgeKind, affinity: float | None, weight: float = 0.6) -> None:
    low, high = pair_key(first, second)
    meta = {} if affinity is None else {"affinity": affinity}
    relation = "related_to" if kind is EdgeKind.RELATION else None
    row = {"source_id": low, "target_id": high, "kind": kind.value, "relation_type": relation, "weight": weight}
    tx.conn.execute(
        insert(edge).values(
            id=tx.new_id("edge"), **row, meta=meta, active=True, created_at=tx.now, updated_at=tx.now
        )
    )  # fmt: skip


async def joined(store: Store, *edges: tuple[str, str, float]) -> None:
    for first, second, affinity in edges:
        await store.write(put_edge, first, second, EdgeKind.VECTOR, affinity)


def decision(store: Store, pair: tuple[str, str], hashes: tuple[str, str], **also: object) -> PairDecision:
    low, high = pair_key(*pair)
    made = PairDecision(
        low, high, *hashes, PairState.REFUSED, "no_hits", "q", None, 0,
        store.clock.now() + timedelta(days=7), store.clock.now(),
    )  # fmt: skip
    return replace(made, **also)  # type: ignore[arg-type]


async def hashes_of(store: Store, first: str, second: str) -> tuple[str, str]:
    found = await store.read(nodes_by_uris, [f"test:{label}" for label in LABELS])
    by_id = {node.id: node.content_hash for node in found.values()}
    low, high = pair_key(first, second)
    return by_id[low], by_id[high]


async def chosen(store: Store, limit: int = 10, policy: PairPolicy | None = None) -> list[tuple[str, str]]:
    return [(p.source_id, p.target_id) for p in await open_pairs(store, policy or PairPolicy(), limit)]


async def test_a_relation_a_containment_or_an_outside_text_is_no_open_pair(store: Store) -> None:
    a, b, c, d = await nodes(store)
    outside = (await nodes(store, ["evidence page"], NodeKind.EVIDENCE))[0]
    await joined(store, (a, b, 0.3), (a, c, 0.2), (a, d, 0.1), (a, outside, 0.9))
    await store.write(put_edge, b, a, EdgeKind.RELATION, None)
    await store.write(put_edge, c, a, EdgeKind.PART_OF, None)
    assert await chosen(store) == [pair_key(a, d)]


async def test_the_strongest_affinity_comes_first_and_weak_edges_never(store: Store, clock: ManualClock) -> None:
    a, b, c, d = await nodes(store)
    await joined(store, (a, b, 0.1), (b, c, 0.4), (c, d, -0.05), (a, d, 0.2))
    assert await chosen(store) == [pair_key(b, c), pair_key(a, d), pair_key(a, b)]
    assert await chosen(store, limit=2) == [pair_key(b, c), pair_key(a, d)]
    assert await store.read(count_open, clock.now(), 0.0) == 3


async def test_a_decided_pair_rests_until_its_time_or_its_content_changes(store: Store, clock: ManualClock) -> None:
    a, b, *_ = await nodes(store)
    await joined(store, (a, b, 0.3))
    await store.write(put_decision, decision(store, (a, b), await hashes_of(store, a, b)))
    assert await chosen(store) == []
    clock.advance(timedelta(days=7))
    assert await chosen(store) == [pair_key(a, b)]
    await store.write(put_decision, decision(store, (a, b), await hashes_of(store, a, b), retry_not_before=None))
    assert await chosen(store) == []
    assert (await perform(store, UpdateNode(a, {"body": "changed"}), actor="test")).ok
    assert await chosen(store) == [pair_key(a, b)]


async def test_an_inactive_node_is_in_no_pair(store: Store) -> None:
    a, b, *_ = await nodes(store)
    await joined(store, (a, b, 0.3))
    assert (await perform(store, DeactivateNode(a), actor="test")).ok
    assert await chosen(store) == []


async def test_what_a_person_asks_for_comes_first_and_once(store: Store) -> None:
    a, b, c, d = await nodes(store)
    await joined(store, (a, b, 0.9), (c, d, 0.1))
    await store.write(ask_for, d, c)
    found = await open_pairs(store, PairPolicy(), 10)
    assert [(p.source_id, p.target_id, p.why) for p in found] == [
        (*pair_key(c, d), "asked"),
        (*pair_key(a, b), "vector"),
    ]


async def test_a_shared_identifier_joins_what_the_vectors_do_not(store: Store) -> None:
    ids = await nodes(store, ["CVE-2024-3094 in liblzma", "Patch plan for March"])
    assert (await perform(store, UpdateNode(ids[1], {"body": "Close CVE-2024-3094 on all servers."}), actor="t")).ok
    found = await open_pairs(store, PairPolicy(), 10)
    assert [(p.source_id, p.target_id, p.why) for p in found] == [(*pair_key(*ids), "identifier")]
    await store.write(put_decision, replace(decision(store, (ids[0], ids[1]), ("", "")), source_hash="x"))
    assert await chosen(store) == [pair_key(*ids)]


async def test_pairs_across_communities_get_their_share_of_a_full_pass(store: Store) -> None:
    a, b, c, d = await nodes(store)
    far = await nodes(store, ["KB5034441 fails", "Recovery partition"])
    assert (await perform(store, UpdateNode(far[1], {"body": "Needed by KB5034441."}), actor="t")).ok
    await joined(store, (a, b, 0.4), (b, c, 0.3), (c, d, 0.2))
    assert await chosen(store, limit=3) == [pair_key(a, b), pair_key(b, c), pair_key(*far)]


def text(number: int, label: str, body: str = "") -> NodeText:
    return NodeText(f"n_{number}", NodeKind.TICKET, label, body, "h")


@pytest.mark.parametrize(
    ("texts", "pairs"),
    [
        ([text(1, "Fehler 809"), text(2, "VPN", "Meldet Fehler 809.")], [("n_1", "n_2")]),
        ([text(1, "Fehler 809"), text(2, "VPN", "Meldet Fehler 691.")], []),
        ([text(1, "0x0000011b"), text(2, "Drucker", "Fehler 0x11b.")], [("n_1", "n_2")]),
        ([text(1, "Windows 11 langsam"), text(2, "Windows 11 Start")], []),
        ([text(n, "Event ID 4625") for n in range(1, 20)], []),
        (
            [
                text(1, "Fehler 809"),
                text(2, "x", "Fehler 809"),
                text(3, "CVE-2024-3094"),
                text(4, "y", "CVE-2024-3094"),
            ],
            [("n_3", "n_4"), ("n_1", "n_2")],
        ),
    ],
)
def test_shared_identifiers(texts: list[NodeText], pairs: list[tuple[str, str]]) -> None:
    assert shared_identifier_pairs(texts, max_holders=12) == pairs


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("file:de-DE/dns.html#a", "file:en-US/dns.html#b", True),
        ("file:doc/manual.de.html", "file:doc/manual.en.html", True),
        ("file:x/en/dns.html", "file:x/de/dns.html", True),
        ("file:de-DE/dns.html#a", "file:de-DE/dns.html#b", False),
        ("file:de-DE/dns.html", "file:en-US/ntp.html", False),
        ("file:dens.html", "file:ens.html", False),
        ("", "", False),
    ],
)
def test_translations_are_known_by_the_language_in_their_address(first: str, second: str, same: bool) -> None:
    assert translations(first, second) is same


async def test_decisions_are_listed_in_pages_and_counted_by_reason(store: Store, clock: ManualClock) -> None:
    a, b, c, d = await nodes(store)
    for pair, reason in (((a, b), "no_hits"), ((a, c), "no_hits"), ((c, d), "uncited")):
        await store.write(put_decision, decision(store, pair, ("x", "y"), reason=reason))
    await store.write(ask_for, b, d)
    assert await store.read(count_by_reason) == {"no_hits": 2, "uncited": 1}
    assert await store.read(count_by_state) == {"refused": 3, "retry": 1}
    first = await store.read(list_decisions, limit=3)
    rest = await store.read(list_decisions, limit=3, after=(first[-1].source_id, first[-1].target_id))
    assert len({(d.source_id, d.target_id) for d in (*first, *rest)}) == 4
    assert [d.reason for d in await store.read(list_decisions, reason="uncited")] == ["uncited"]
    assert len(await store.read(list_decisions, state=PairState.RETRY)) == 1


async def test_a_decision_is_read_in_either_order_and_kept_once(store: Store) -> None:
    a, b, *_ = await nodes(store)
    await store.write(put_decision, decision(store, (a, b), ("x", "y")))
    await store.write(put_decision, decision(store, (a, b), ("x", "z"), reason="uncited", detail={"k": [1]}))
    for first, second in ((a, b), (b, a)):
        found = await store.read(get_decision, first, second)
        assert found is not None
        assert (found.reason, found.target_hash, found.detail) == ("uncited", "z", {"k": [1]})
    with pytest.raises(ValueError, match="lower id first"):
        low, high = pair_key(a, b)
        await store.write(put_decision, replace(decision(store, (a, b), ("x", "y")), source_id=high, target_id=low))
    with pytest.raises(ValueError, match="two nodes"):
        pair_key(a, a)


def thinking(store: Store, source: Web, **answers: Exception) -> RelationResearch:
    embedder = HashingEmbedder(64)
    reasoner = Scripted(ExtractiveReasoner(relation_handlers(embedder)), answers)
    reader = EvidenceReader(source, source, shipped_table(), embedder, store.clock)
    return RelationResearch(store, reasoner, reader, EvidenceFiles(store.home))


async def test_a_pass_reports_by_reason_and_a_second_one_finds_nothing_to_do(store: Store) -> None:
    a, b, c, d = await nodes(store)
    await joined(store, (a, b, 0.4), (c, d, 0.3))
    seen: list[tuple[str, int, int | None]] = []
    source = Web(state=SearchState.NONE)
    report = await thinking(store, source).think_pass(10, lambda *now: seen.append(now))
    assert (report.thought, report.accepted, report.by_reason, report.stopped) == (2, 0, {"no_hits": 2}, "")
    assert seen == [("thinking", 0, 10), ("thinking", 1, 10), ("thinking", 2, 2)]
    assert (await thinking(store, source).think_pass(10)).thought == 0
    assert len(source.queries) == 2
    (completed, empty) = [e for e in await store.read(list_events) if e.name == events.THINK_PASS_COMPLETED]
    assert completed.payload == {"thought": 2, "accepted": 0, "by_reason": {"no_hits": 2}, "stopped": ""}
    assert empty.payload["thought"] == 0


async def test_pairs_that_are_refused_on_their_labels_do_not_spend_the_pass(store: Store) -> None:
    twins = await nodes(store, ["Fehler 809", "Fehler 691", "Fehler 720", "Fehler 734"])
    a, b, *_ = await nodes(store)
    await joined(store, *((twins[n], twins[n + 1], 0.9) for n in range(3)), (a, b, 0.2))
    report = await thinking(store, Web(state=SearchState.NONE)).think_pass(1)
    assert report.by_reason == {"not_related": 3, "no_hits": 1}


async def test_a_pass_ends_early_when_the_outside_is_down(store: Store) -> None:
    labels = [f"VPN {name}" for name in ("ash", "beech", "cedar", "elm", "fir", "hazel", "larch", "maple")]
    ids = await nodes(store, labels)
    await joined(store, *((ids[n], ids[n + 1], 0.5) for n in range(0, 8, 2)))
    report = await thinking(store, Web(state=SearchState.BLIND)).think_pass(10)
    assert (report.thought, report.by_reason) == (3, {"search_failed": 3})
    assert "search_failed" in report.stopped


async def test_a_pass_ends_between_two_pairs_when_the_process_is_asked_to(store: Store) -> None:
    a, b, c, d = await nodes(store)
    await joined(store, (a, b, 0.4), (b, c, 0.3), (c, d, 0.2))
    source = Web(state=SearchState.NONE)
    report = await thinking(store, source).think_pass(10, stopping=lambda: len(source.queries) >= 1)
    assert (report.thought, report.stopped) == (1, "the process was asked to end")
    assert (await thinking(store, source).think_pass(10)).thought == 2


async def test_a_fault_in_one_pair_does_not_keep_the_others_from_being_thought_about(store: Store) -> None:
    a, b, c, d = await nodes(store)
    await joined(store, (a, b, 0.4), (c, d, 0.3))
    faulty = thinking(store, Web(state=SearchState.NONE), relation_plan=ZeroDivisionError("fault"))
    report = await faulty.think_pass(10)
    assert report.by_reason == {"error": 2}
    found = await store.read(get_decision, a, b)
    assert found is not None
    assert (found.state, found.attempts) == (PairState.RETRY, 1)
    assert "ZeroDivisionError: fault" in found.detail["error"]


async def test_a_store_that_cannot_be_written_ends_the_pass(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b, *_ = await nodes(store)
    await joined(store, (a, b, 0.4))
    faulty = thinking(store, Web(state=SearchState.NONE), relation_plan=model_down("relation_plan"))

    async def full(*args: object) -> None:
        raise StoreUnavailable("the disk is full", reason="disk_full")

    monkeypatch.setattr(store, "log", full)
    with pytest.raises(StoreUnavailable):
        await faulty.think_pass(10)
