"""Gaps of all six kinds, seen in small graphs whose gaps a person can name."""

from __future__ import annotations

import os
import subprocess
import sys
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pytest
from sqlalchemy import insert

from data.crud.engine import perform
from data.crud.ingest import IngestNodes, NodeDraft
from data.edges import EdgeArrays
from data.graph import GraphSnapshot
from data.models import ArticleState, ArticleType, NodeKind
from data.nodes import NodeContent, all_contents, list_nodes
from data.schema import edge
from data.store import Store
from data.tasks import KnownArticle, TaskRequest
from data.tx import Tx
from research.communities import find_communities
from research.intent import expected_type
from research.labels import public_label
from research.opportunities import KINDS, Opportunity, OpportunityPolicy, find
from research.plan import RESEARCH_PLAN, ResearchPlan, ResearchPlanRequest, SeedView, plan_handlers, plan_research
from research.questions import questions_for, subject_of
from research.reading import BODY_READ, read_node
from research.reasoner import prompt_text
from research.scan import look

NOW = datetime(2026, 1, 15, 8, 0, tzinfo=UTC)
TICKET, SECTION, NOTE = NodeKind.TICKET, NodeKind.SECTION, NodeKind.NOTE
FILLER = "Everybody on the floor reports the same since the works of last weekend. "


def node(name: str, kind: NodeKind, label: str, body: str = FILLER, language: str = "en") -> NodeContent:
    return NodeContent(f"n_{name}", kind, label, body, language, "", name)


def columns(nodes: Sequence[NodeContent], edges: Iterable[tuple[int, int, float]]) -> EdgeArrays:
    found = list(edges)
    return EdgeArrays(
        [one.id for one in nodes],
        array("i", [a for a, _, _ in found]),
        array("i", [b for _, b, _ in found]),
        array("d", [weight for _, _, weight in found]),
    )


def graph(
    *nodes: NodeContent,
    edges: Iterable[tuple[int, int, float]] = (),
    relations: Iterable[tuple[int, int]] = (),
    **more: object,
) -> GraphSnapshot:
    def later(kinds: Iterable[NodeKind]) -> list[tuple[str, str]]:
        return [(one.id, one.body[BODY_READ:]) for one in nodes if one.kind in kinds and len(one.body) > BODY_READ]

    return GraphSnapshot(
        NOW,
        list(map(read_node, nodes)),
        columns(nodes, edges),
        columns(nodes, ((a, b, 1.0) for a, b in relations)),
        later=later,
        **more,  # type: ignore[arg-type]
    )


def gaps(snapshot: GraphSnapshot, kind: str, policy: OpportunityPolicy | None = None) -> list[Opportunity]:
    return [gap for gap in find(snapshot, policy or OpportunityPolicy()) if gap.kind == kind]


# ------------------------------------------------------------------------------------------- six kinds

CODES = (
    node(
        "a", TICKET, "ORA-12154 when the report starts", "The report cannot resolve the connect identifier. " + FILLER
    ),
    node(
        "b",
        TICKET,
        "Excel report fails with ORA-12154",
        "ORA-12154 could not resolve the connect identifier. " + FILLER,
    ),
    node("c", TICKET, "Printer prints blank pages", "Toner is new. " + FILLER),
)


def test_an_identifier_that_several_mention_and_none_explains_is_a_missing_reference() -> None:
    (gap,) = gaps(graph(*CODES, edges=((0, 1, 0.8),)), "missing_reference")
    assert gap.topic in {"ORA-12154 when the report starts", "Excel report fails with ORA-12154"}
    assert gap.seeds == ("n_a", "n_b")
    assert gap.why.startswith("2 nodes mention ORA-12154 and no article")
    assert 0.0 < gap.score <= 1.0


@pytest.mark.parametrize(
    ("explainer", "explained"),
    [
        (
            node("x", SECTION, "Name resolution of Oracle clients", "ORA-12154 means: no such alias. " + FILLER * 3),
            True,
        ),
        (node("x", SECTION, "Name resolution of Oracle clients", "ORA-12154: to be written."), False),
        (node("x", NOTE, "Remember ORA-12154", "ORA-12154 again today. " + FILLER * 3), False),
        (node("x", NodeKind.ARTICLE, "Oracle: tnsnames.ora", "Solves ORA-12154. " + FILLER * 3), True),
    ],
)
def test_a_stub_or_a_note_explains_nothing(explainer: NodeContent, explained: bool) -> None:
    found = gaps(graph(*CODES, explainer), "missing_reference")
    assert (found == []) is explained


def test_a_technique_explains_what_its_label_names_and_not_its_parent() -> None:
    technique = node("t", NodeKind.TECHNIQUE, "T1110.003 Password Spraying", "Sub-technique of T1110.")
    tickets = (
        node("a", TICKET, "Spraying alert T1110.003 on the gateway"),
        node("b", TICKET, "T1110.003 seen again", "Parent is T1110. " + FILLER),
    )
    found = find(graph(technique, *tickets))
    assert not any("T1110.003" in gap.why for gap in found if gap.kind == "missing_reference")


def test_one_code_of_two_products_is_two_subjects() -> None:
    snapshot = graph(
        node("a", TICKET, "Windows Update fails with 0x80070005", "Update history shows 0x80070005. " + FILLER),
        node("b", TICKET, "0x80070005 in Windows Update after hardening", "Windows Update again. " + FILLER),
        node("c", TICKET, "DCOM 0x80070005 when the scanner starts", "Remote activation refused. " + FILLER),
        edges=((0, 1, 0.8),),
    )
    (gap,) = gaps(snapshot, "missing_reference")
    assert gap.seeds == ("n_a", "n_b")


SAP = tuple(
    node(name, TICKET, label, f"SAP GUI reports that the partner was not reached. {FILLER}")
    for name, label in [
        ("a", "SAP GUI partner not reached"),
        ("b", "SAP GUI: partner not reached in home office"),
        ("c", "Partner not reached when SAP GUI starts"),
    ]
)
TRIANGLE = ((0, 1, 0.7), (0, 2, 0.66), (1, 2, 0.64))


def test_tickets_that_belong_together_without_a_reference_are_an_uncovered_cluster() -> None:
    (gap,) = gaps(graph(*SAP, edges=TRIANGLE), "uncovered_cluster")
    assert gap.topic == "SAP GUI partner not reached"
    assert gap.seeds == ("n_a", "n_b", "n_c")
    assert gap.language == "en"


def test_a_reference_with_content_covers_a_cluster_and_a_stub_does_not() -> None:
    edges = (*TRIANGLE, (0, 3, 0.7), (1, 3, 0.7))
    whole = node("r", SECTION, "Message server and SAP GUI ports", FILLER * 3)
    assert gaps(graph(*SAP, whole, edges=edges), "uncovered_cluster") == []
    stub = replace(whole, body="To be written.")
    assert len(gaps(graph(*SAP, stub, edges=edges), "uncovered_cluster")) == 1


def test_neighbours_without_a_common_subject_are_no_cluster() -> None:
    alien = (
        node("a", TICKET, "Forklift mast squeaks", "Grease? " * 12),
        node("b", TICKET, "Espresso machine leaks", "Water everywhere. " * 6),
        node("c", TICKET, "Barrier transponder ignored", "Car waits. " * 8),
    )
    assert gaps(graph(*alien, edges=TRIANGLE), "uncovered_cluster") == []


def test_a_node_with_content_that_stands_alone_is_an_orphan() -> None:
    snapshot = graph(
        node("a", TICKET, "LDAPS certificate on the domain controller expired"),
        node("b", TICKET, "Empty shell", ""),
        node("c", TICKET, "SAP GUI partner not reached"),
        node("d", TICKET, "SAP GUI starts slowly"),
        node("e", NodeKind.DOCUMENT, "Handbook of the operating department"),
        edges=((2, 3, 0.71),),
    )
    assert [gap.seeds for gap in gaps(snapshot, "orphan")] == [("n_a",)]
    related = replace(
        snapshot, relations=EdgeArrays(["n_a", "n_c"], array("i", [0]), array("i", [1]), array("d", [1.0]))
    )
    assert gaps(related, "orphan") == []


def two_rings(bridge: tuple[tuple[int, int, float], ...]) -> GraphSnapshot:
    first = [node(f"a{i}", NOTE, f"Kerberos ticket renewal problem {'abcd'[i]}") for i in range(4)]
    second = [node(f"b{i}", SECTION, f"Kerberos keytab rollout {'abcd'[i]}") for i in range(4)]
    ring = tuple((i, j, 0.8) for i in range(4) for j in range(i + 1, 4))
    return graph(*first, *second, edges=(*ring, *((i + 4, j + 4, w) for i, j, w in ring), *bridge))


def test_two_strong_communities_with_one_weak_edge_are_a_weak_bridge() -> None:
    (gap,) = gaps(two_rings(((0, 4, 0.5),)), "weak_bridge")
    assert gap.seeds == ("n_a0", "n_b0")
    assert gap.topic == "Kerberos ticket renewal problem a and Kerberos keytab rollout a"
    assert gaps(two_rings(((0, 4, 0.5), (1, 5, 0.5))), "weak_bridge") == []
    assert gaps(two_rings(((0, 4, 0.7),)), "weak_bridge") == []
    both = two_rings(((0, 4, 0.5),))
    translated = tuple(replace(one, language="de") if one.id == "n_b0" else one for one in both.nodes)
    assert gaps(replace(both, nodes=translated), "weak_bridge") == [], "no text answers in two languages"


def test_a_bridge_is_seen_however_much_lies_beside_it() -> None:
    # The weight of the clique makes modularity join the two rings over their one edge.
    beside = [node(f"z{i:02}", NOTE, f"Postfix relay remark {i}") for i in range(24)]
    clique = [(i + 8, j + 8, 0.95) for i in range(24) for j in range(i + 1, 24)]
    small = two_rings(((0, 4, 0.5),))
    arrays = small.vectors
    own = zip(arrays.sources, arrays.targets, arrays.weights, strict=True)
    rings = [node(f"a{i}", NOTE, f"Kerberos ticket renewal problem {'abcd'[i]}") for i in range(4)]
    rings += [node(f"b{i}", SECTION, f"Kerberos keytab rollout {'abcd'[i]}") for i in range(4)]
    edges = [*own, *clique]
    joined = find_communities(32, edges, resolution=OpportunityPolicy().resolution)
    assert (0, 1, 2, 3, 4, 5, 6, 7) in joined, "this graph does not show the limit"
    (gap,) = gaps(graph(*rings, *beside, edges=edges), "weak_bridge")
    assert gap.seeds == ("n_a0", "n_b0")
    assert gaps(graph(*rings, *beside, edges=[*edges, (1, 5, 0.5)]), "weak_bridge") == []


ARTICLE = KnownArticle(
    "a_1", "Kerberos clock skew", ("n_k",), ("Why?",), ArticleState.APPROVED, NOW - timedelta(days=10)
)


def test_an_approved_article_with_aged_or_contradicted_evidence_is_stale() -> None:
    assert gaps(graph(articles=(ARTICLE,)), "stale") == []
    aged = replace(ARTICLE, evidence_at=NOW - timedelta(days=400))
    (gap,) = gaps(graph(articles=(aged,)), "stale")
    assert (gap.topic, gap.seeds, gap.questions) == ("Kerberos clock skew", ("n_k",), ("Why?",))
    assert "400 days" in gap.why
    (gap,) = gaps(graph(articles=(ARTICLE,), contradicted=frozenset({"a_1"})), "stale")
    assert "contradicted" in gap.why


def test_what_was_asked_for_comes_first() -> None:
    asked = TaskRequest("Rotating the krbtgt password", questions=("How often?",), priority=80, language="en")
    found = find(graph(*CODES, edges=((0, 1, 0.8),), asked=(asked,)))
    assert (found[0].kind, found[0].questions) == ("asked", ("How often?",))


def test_what_names_no_subject_is_no_gap_though_asked_for() -> None:
    topics = ("The new guide", "Das Problem mit dem Server", "Kerberos on the server")
    asked = tuple(map(TaskRequest, topics))
    assert [gap.topic for gap in gaps(graph(asked=asked), "asked")] == ["Kerberos on the server"]


# -------------------------------------------------------------------------------------------- the list


async def seen(
    home: Path, order: Sequence[NodeContent], edges: Sequence[tuple[str, str, float]]
) -> list[tuple[object, ...]]:
    """Ingest the nodes one after the other in this order, write the edges, and return what is seen."""
    async with await Store.open(home) as store:
        for one in order:
            draft = NodeDraft(one.kind, one.label, one.body, one.language, f"test:{one.id}")
            assert (await perform(store, IngestNodes([draft]), actor="test")).ok
        title = {one.id: one.label for one in await store.read(all_contents)}
        ids = {one.source_uri: one.id for one in await store.read(list_nodes)}

        def join(tx: Tx) -> None:
            for number, (a, b, weight) in enumerate(edges):
                low, high = sorted((ids[f"test:n_{a}"], ids[f"test:n_{b}"]))
                tx.conn.execute(
                    insert(edge).values(
                        id=f"e_{number}", source_id=low, target_id=high, kind="vector", weight=weight, meta={},
                        active=True, created_at=tx.now, updated_at=tx.now,
                    )
                )  # fmt: skip

        await store.write(join)
        found = await look(store, OpportunityPolicy(), NOW)
        return [(gap.kind, gap.topic, gap.score, gap.why, sorted(title[seed] for seed in gap.seeds)) for gap in found]


async def test_the_list_does_not_depend_on_the_order_of_arrival(tmp_path: Path) -> None:
    rings = [node(f"a{i}", NOTE, f"Kerberos ticket renewal problem {'abcd'[i]}") for i in range(4)]
    rings += [node(f"b{i}", SECTION, f"Kerberos keytab rollout {'abcd'[i]}", FILLER * 3) for i in range(4)]
    names = ("Thunderbird", "Citrix", "Veeam")
    lonely = [node(f"l{i}", TICKET, f"{name} profile broken") for i, name in enumerate(names)]
    sap = [replace(one, id=f"n_s{one.id[2:]}") for one in SAP]
    nodes = [*CODES, *sap, *rings, *lonely]
    edges = [("a", "b", 0.8), ("sa", "sb", 0.7), ("sa", "sc", 0.66), ("sb", "sc", 0.64), ("a0", "b0", 0.5)]
    edges += [(f"{side}{i}", f"{side}{j}", 0.8) for side in "ab" for i in range(4) for j in range(i + 1, 4)]
    told = await seen(tmp_path / "first", nodes, edges)
    assert {kind for kind, *_ in told} == {"missing_reference", "uncovered_cluster", "orphan", "weak_bridge"}
    for number in range(3):
        random = Random(number)
        again = random.sample(nodes, len(nodes)), random.sample(edges, len(edges))
        assert await seen(tmp_path / str(number), *again) == told


def test_the_list_is_sorted_and_distinct() -> None:
    snapshot = graph(*CODES, *SAP, edges=((0, 1, 0.8), (3, 4, 0.7), (3, 5, 0.66), (4, 5, 0.64)))
    found = find(snapshot)
    assert found == find(snapshot)
    assert [gap.score for gap in found] == sorted((gap.score for gap in found), reverse=True)
    assert len({(gap.topic, gap.seeds) for gap in found}) == len(found)
    assert {gap.kind for gap in found} <= set(KINDS)


@pytest.mark.slow
def test_the_list_does_not_depend_on_the_hashing_of_strings() -> None:
    script = (
        "from tests.research.test_opportunities import CODES, SAP, find, graph\n"
        "edges = ((0, 1, 0.8), (3, 4, 0.7), (3, 5, 0.66), (4, 5, 0.64))\n"
        "print([(gap.topic, gap.score) for gap in find(graph(*CODES, *SAP, edges=edges))])\n"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", script], check=True, capture_output=True, text=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(told) == 1
    assert "ORA-12154" in told.pop()


def test_communities_do_not_depend_on_the_order_of_the_edges() -> None:
    edges = [(i, j, 1.0) for block in (0, 5) for i in range(block, block + 5) for j in range(i + 1, block + 5)]
    edges.append((4, 5, 0.1))
    assert find_communities(11, edges) == find_communities(11, list(reversed(edges)))
    assert find_communities(11, edges) == [(0, 1, 2, 3, 4), (5, 6, 7, 8, 9), (10,)]


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        ("AW: VPN-Fehler 809 bei L2TP (INC-204511)", "VPN-Fehler 809 bei L2TP"),
        ("Runbook: Spooler neu starten", "Spooler neu starten"),
        ("Backup of srv-fs01.corp fails!!!", "Backup fails"),
        ("Disk full on /var/log of lnx-app03.corp, no space left", "Disk full on /var/log, no space left"),
        ("Anruf von j.petersen@brueckner-sohl.example", "Anruf"),
        ("[EXT] *** KB5034441 schlägt mit 0x80070643 fehl", "KB5034441 schlägt mit 0x80070643 fehl"),
        ("SAP Druck kommt nicht an Arbeitsplatzdrucker an", "SAP Druck kommt nicht an Arbeitsplatzdrucker an"),
        ("10.20.4.15", ""),
    ],
)
def test_a_topic_is_made_of_public_words_only(label: str, shown: str) -> None:
    assert public_label(label) == shown


def test_no_topic_carries_an_id_or_a_word_of_a_body() -> None:
    secret = "Projekt Zugspitze " * 10
    snapshot = graph(*(replace(content, body=f"{content.body} {secret}") for content in CODES), edges=((0, 1, 0.8),))
    for gap in find(snapshot):
        assert "Zugspitze" not in gap.topic
        assert not any(seed in gap.topic for seed in gap.seeds)


# ----------------------------------------------------------------------------------------- the planner


@pytest.mark.parametrize(
    ("topic", "kinds", "expected"),
    [
        ("VPN-Fehler 809 bei L2TP im Homeoffice", {TICKET}, ArticleType.TROUBLESHOOTING),
        ("LAPS password not shown in console", {TICKET}, ArticleType.TROUBLESHOOTING),
        ("DHCP-Bereich vergrößern und alte Leases löschen", {SECTION}, ArticleType.HOW_TO),
        ("BitLocker-Schutz vor Firmware-Updates anhalten", {SECTION}, ArticleType.HOW_TO),
        ("Extending an LVM volume online", {SECTION}, ArticleType.HOW_TO),
        ("Hardening of domain controllers", {TICKET}, ArticleType.CONCEPT),
        ("T1003.001 LSASS Memory", {NodeKind.TECHNIQUE}, ArticleType.CONCEPT),
        ("Mapping of controls to frameworks", {NOTE}, ArticleType.CONCEPT),
        ("CVE-2024-3094 in liblzma", {TICKET}, ArticleType.REFERENCE),
        ("DNS response codes NOERROR, NXDOMAIN, SERVFAIL, REFUSED", {NOTE}, ArticleType.REFERENCE),
        ("Auswahl der MFA-Methoden: App, FIDO2-Schlüssel oder SMS", {NOTE}, ArticleType.DECISION_GUIDE),
        ("Choosing a PgBouncer pool mode", {NOTE}, ArticleType.DECISION_GUIDE),
        ("TPM-PCR-Profil und Secure Boot", {NOTE}, ArticleType.CONCEPT),
    ],
)
def test_the_expected_type_follows_the_rules_of_the_type_plan(
    topic: str, kinds: set[NodeKind], expected: ArticleType
) -> None:
    assert expected_type(topic, kinds) is expected


def request(topic: str, kind: str = "orphan", **fields: object) -> ResearchPlanRequest:
    return ResearchPlanRequest(kind=kind, topic=topic, why="It stands alone.", score=0.5, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (request("Die neue Anleitung"), "too_vague"),
        (request("!!!"), "nothing_searchable"),
        (request("Drucker geht nicht"), "too_vague"),
        (
            request(
                "Kerberos keytab und Drucker am Empfang",
                "weak_bridge",
                seeds=(SeedView(label="Kerberos keytab", kind=NOTE), SeedView(label="Drucker am Empfang", kind=TICKET)),
            ),
            "no_shared_subject",
        ),
    ],
)
def test_what_names_no_subject_is_refused_with_its_reason(asked: ResearchPlanRequest, reason: str) -> None:
    plan = plan_research(asked)
    assert (plan.worthwhile, plan.reason) == (False, reason)


def test_a_plan_asks_one_to_five_questions_in_the_language_of_the_gap() -> None:
    plan = plan_research(request("VPN-Fehler 809 bei L2TP", language="de", seeds=(SeedView(label="x", kind=TICKET),)))
    assert plan.worthwhile
    assert plan.article_type is ArticleType.TROUBLESHOOTING
    assert 1 <= len(plan.questions) <= 5
    assert plan.questions[0] == "Was ist die Ursache: VPN-Fehler 809 bei L2TP?"
    assert all("809" in question for question in plan.questions)
    assert plan.priority == 58  # 20 + 75 · 0.5, rounded


def test_what_was_asked_literally_is_kept() -> None:
    plan = plan_research(request("Spooler", "asked", questions=("Warum hält er?",), article_type=ArticleType.CONCEPT))
    assert (plan.worthwhile, plan.questions, plan.article_type) == (True, ("Warum hält er?",), ArticleType.CONCEPT)


def test_the_subject_of_a_topic_is_its_identifiers_and_names() -> None:
    subject = subject_of("Load balancer vendor advisory mentions CVE-2023-44487").split()
    assert {"balancer", "CVE-2023-44487"} <= set(subject)
    assert "mentions" not in subject
    assert len(subject) <= 4
    assert "CVE-2023-44487" in questions_for("Advisory on CVE-2023-44487", ArticleType.REFERENCE, "en")[1]


def test_a_worthwhile_plan_without_a_question_is_no_plan() -> None:
    with pytest.raises(ValueError, match="at least one question"):
        ResearchPlan(worthwhile=True, topic="x", reason="y")


def test_the_role_has_its_prompt_and_its_handler() -> None:
    prompt = prompt_text(RESEARCH_PLAN)
    for field in ("topic", "why", "kind", "seeds", "questions", "directives", "language"):
        assert field in prompt
    assert set(plan_handlers()) == {"research_plan"}
