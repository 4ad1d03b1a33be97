"""Planner and reviewer without a model: what they believe, what they doubt, and what type they dare to name."""

from __future__ import annotations

import pytest

from data.models import NodeKind, RelationType
from research.connections import PairReader
from research.cues import cues_in, denies, hedges
from research.extractive_relation import plan_relation, relation_handlers, review_relation
from research.own_text import own_passages, own_spans
from research.reasoner import prompt_text
from research.roles import (
    RELATION_PLAN,
    RELATION_REVIEW,
    Direction,
    NodeView,
    RelationPlan,
    RelationPlanRequest,
    RelationReview,
    RelationReviewRequest,
    ShownPassage,
)
from vector.embed import HashingEmbedder

EMBEDDER = HashingEmbedder(512)


def node(label: str, body: str = "", kind: NodeKind = NodeKind.TICKET, language: str = "de") -> NodeView:
    return NodeView(label=label, kind=kind, body=body, language=language)


VPN = node("VPN-Fehler 809 bei L2TP im Homeoffice", "Seit dem neuen Router geht es nicht.")
KEY = node("Registrierungswert AssumeUDPEncapsulation für NAT-Traversal", "DWORD, Werte 0 bis 2.", NodeKind.NOTE)
RUNBOOK = node("Runbook: Einwahl hinter NAT", "1. Wert setzen.\n\nBehebt Fehler 809 bei L2TP.", NodeKind.SECTION)


def plan(source: NodeView, target: NodeView) -> RelationPlan:
    return plan_relation(RelationPlanRequest(source=source, target=target), EMBEDDER)


def review(source: NodeView, target: NodeView, *texts: str, own: bool = False) -> RelationReview:
    passages = tuple(
        ShownPassage(id=f"E{number}", title="A page", publisher="docs", text=text)
        for number, text in enumerate(texts, 1)
    )
    return review_relation(RelationReviewRequest(source=source, target=target, passages=passages, own_text=own))


# -- planner ---------------------------------------------------------------------------------------------------

UNRELATED = [
    ("error codes of one class", node("VPN Fehler 809"), node("VPN Fehler 691 nach Kennwortwechsel")),
    ("two CVEs", node("CVE-2024-3094 in xz"), node("CVE-2021-44228 in Log4j")),
    ("a technique and its neighbour", node("T1566.001 Anhang"), node("T1566.002 Link")),
    ("nothing in common", node("Espressoautomat Brühgruppe"), node("PostgreSQL vacuum", language="en")),
    ("a label that names nothing", node("Fehler beim Start"), node("Start der Urlaubszeit")),
]


@pytest.mark.parametrize(("source", "target"), [row[1:] for row in UNRELATED], ids=[row[0] for row in UNRELATED])
def test_the_planner_says_no_to_what_cannot_be_related(source: NodeView, target: NodeView) -> None:
    answer = plan(source, target)
    assert not answer.related
    assert answer.reason


def test_an_update_that_names_the_one_it_replaces_is_another_matter() -> None:
    newer = node("KB5035853", "Ersetzt KB5034441 und enthält dessen Änderungen.", NodeKind.NOTE)
    assert plan(newer, node("KB5034441 schlägt fehl")).related


def test_a_plan_asks_with_identifiers_first_and_names_as_they_are_written() -> None:
    answer = plan(VPN, RUNBOOK.model_copy(update={"body": "Hinweise zu L2TP."}))
    assert answer.related
    assert answer.needs_research
    assert answer.query.split()[:2] == ["VPN-Fehler", "809"]
    assert "NAT" in answer.query.split()
    assert 1 <= len(answer.questions) <= 3


def test_facts_are_needed_unless_one_node_states_the_connection() -> None:
    assert not plan(VPN, RUNBOOK).needs_research
    doubtful = RUNBOOK.model_copy(update={"body": "Behebt vermutlich Fehler 809 bei L2TP."})
    assert plan(VPN, doubtful).needs_research
    asking = RUNBOOK.model_copy(update={"body": "Hilft das bei Fehler 809 und L2TP?"})
    assert plan(VPN, asking).needs_research
    denying = RUNBOOK.model_copy(update={"body": "Mit Fehler 809 bei L2TP hat das nichts zu tun."})
    assert plan(VPN, denying).needs_research


def test_a_ticket_that_names_a_technique_states_it() -> None:
    technique = node("T1486 Data Encrypted for Impact", "ATT&CK technique.", NodeKind.TECHNIQUE, "en")
    alert = node("vssadmin deletes shadow copies", "The EDR tags this as T1486.", language="en")
    assert not plan(alert, technique).needs_research


def test_the_same_report_entered_twice_is_a_variant() -> None:
    again = node("VPN Fehler 809 - L2TP im Homeoffice geht nicht", "Ruft zum zweiten Mal an.")
    answer = plan(VPN, again)
    assert (answer.related, answer.needs_research) == (True, False)
    own = own_passages(VPN, again)
    judged = review_relation(RelationReviewRequest(source=VPN, target=again, passages=own, own_text=True))
    assert (judged.accept, judged.relation_type) == (True, RelationType.VARIANT_OF)


def test_two_reports_with_a_name_in_common_are_no_variants() -> None:
    assert plan(node("VPN langsam"), node("VPN geht nicht")).needs_research


def test_equal_requests_get_equal_plans() -> None:
    assert plan(VPN, KEY) == plan(VPN, KEY)


# -- reviewer --------------------------------------------------------------------------------------------------

SOLVES = "Der Registrierungswert AssumeUDPEncapsulation behebt den Fehler 809 bei L2TP."


def test_a_sentence_that_says_it_is_cited_and_typed() -> None:
    answer = review(VPN, KEY, "Ganz etwas anderes steht hier.", SOLVES)
    assert (answer.accept, answer.relation_type, answer.direction) == (
        True,
        RelationType.SOLVES,
        Direction.TARGET_TO_SOURCE,
    )
    assert answer.cited == ("E2",)
    assert SOLVES in answer.rationale


NOT_ACCEPTED = [
    ("both mentioned apart", "Fehler 809 bei L2TP ist lästig. Das Wetter ist gut. AssumeUDPEncapsulation gibt es."),
    ("denied", "AssumeUDPEncapsulation hat mit Fehler 809 bei L2TP nichts zu tun."),
    ("does not help", "AssumeUDPEncapsulation hilft bei Fehler 809 und L2TP nicht."),
    ("asked", "Behebt AssumeUDPEncapsulation den Fehler 809 bei L2TP?"),
    ("guessed", "AssumeUDPEncapsulation behebt vermutlich den Fehler 809 bei L2TP."),
    ("another code", "AssumeUDPEncapsulation behebt den Fehler 691 bei L2TP."),
    ("neighbours", "VPN-Fehler 809 bei L2TP kostet Zeit. Der Wert AssumeUDPEncapsulation steht im Handbuch."),
    ("over a paragraph's end", "VPN-Fehler 809 bei L2TP ist lästig.\n\nDieser Wert heißt AssumeUDPEncapsulation."),
    ("points of a list", "Themen:\n\n- VPN-Fehler 809 bei L2TP;\n- AssumeUDPEncapsulation unter Windows;"),
    ("members of a list", "Es geht um den VPN-Fehler 809 bei L2TP, AssumeUDPEncapsulation und den Drucker."),
    (
        "a heading states nothing",
        "# AssumeUDPEncapsulation und VPN-Fehler 809 bei L2TP\n\nDer Text handelt von Kuchen.",
    ),
]


@pytest.mark.parametrize("text", [row[1] for row in NOT_ACCEPTED], ids=[row[0] for row in NOT_ACCEPTED])
def test_what_does_not_state_a_connection_is_no_acceptance(text: str) -> None:
    answer = review(VPN, KEY, text)
    assert (answer.accept, answer.cited) == (False, ())


CONNECTED = [
    ("a link", "VPN-Fehler 809 bei L2TP ist lästig. Dann fehlt der Wert AssumeUDPEncapsulation."),
    ("an answer", "Problem: VPN-Fehler 809 bei L2TP.\n\nAbhilfe: den Wert AssumeUDPEncapsulation setzen."),
    (
        "a list's lead-in",
        "Bei VPN-Fehler 809 mit L2TP:\n\n- AssumeUDPEncapsulation setzen;\n- neu starten;",
    ),
    ("what its heading names", "# AssumeUDPEncapsulation\n\nDieser Wert betrifft den VPN-Fehler 809 bei L2TP."),
    ("below a remedy", "# VPN-Fehler 809 bei L2TP\n\n## Lösung\n\nDen Wert AssumeUDPEncapsulation anlegen."),
    ("a condition", "Wenn AssumeUDPEncapsulation nicht gesetzt ist, kommt der VPN-Fehler 809 bei L2TP."),
]


@pytest.mark.parametrize("text", [row[1] for row in CONNECTED], ids=[row[0] for row in CONNECTED])
def test_sentences_that_take_each_other_up_connect(text: str) -> None:
    answer = review(VPN, KEY, text)
    assert (answer.accept, answer.cited) == (True, ("E1",))


def test_more_denials_than_statements_are_a_no() -> None:
    denied = "AssumeUDPEncapsulation hat mit Fehler 809 bei L2TP nichts zu tun."
    assert not review(VPN, KEY, SOLVES, denied, denied.replace("hat", "hatte")).accept
    assert review(VPN, KEY, SOLVES, denied).accept


NGINX = node("nginx HTTP 502 after deployment", language="en")
POOL = node("PHP-FPM pool and nginx upstream", kind=NodeKind.SECTION, language="en")
LSASS = node("T1003.001 LSASS Memory", kind=NodeKind.TECHNIQUE, language="en")
PPL = node("RunAsPPL and Credential Guard", kind=NodeKind.NOTE, language="en")
L2TP = node("L2TP in der Einwahl", kind=NodeKind.NOTE)
IKE = node("IKEv2 für Notebooks", kind=NodeKind.NOTE)

TYPES = [
    (VPN, KEY, "Den VPN-Fehler 809 beseitigt AssumeUDPEncapsulation.", "solves", "target_to_source"),
    (VPN, KEY, "Der VPN-Fehler 809 wird durch fehlendes NAT-Traversal verursacht.", "causes", "target_to_source"),
    (VPN, KEY, "NAT-Traversal führt ohne Zutun zum VPN-Fehler 809.", "causes", "target_to_source"),
    (NGINX, POOL, "HTTP 502 of nginx is caused by a renamed PHP-FPM pool.", "causes", "target_to_source"),
    (LSASS, PPL, "RunAsPPL protects against T1003.001.", "mitigates", "target_to_source"),
    (LSASS, PPL, "T1003.001 is mentioned beside Credential Guard.", "related_to", "undirected"),
    (L2TP, IKE, "IKEv2 löst L2TP auf allen Notebooks ab.", "supersedes", "target_to_source"),
    (L2TP, IKE, "L2TP wurde auf den Notebooks durch IKEv2 ersetzt.", "supersedes", "target_to_source"),
    (L2TP, IKE, "L2TP setzt hier IKEv2 auf Notebooks voraus.", "requires", "source_to_target"),
    (L2TP, IKE, "IKEv2 auf Notebooks ist eine Voraussetzung für L2TP.", "requires", "source_to_target"),
    (L2TP, IKE, "L2TP und IKEv2 auf Notebooks stehen im Widerspruch zueinander.", "contradicts", "undirected"),
    (L2TP, IKE, "IKEv2 auf Notebooks ist eine Variante von L2TP.", "variant_of", "undirected"),
    (L2TP, IKE, "Auf Notebooks läuft IKEv2 neben L2TP.", "related_to", "undirected"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "target", "text", "relation", "direction"), TYPES, ids=[row[2] for row in TYPES])
def test_the_type_is_what_the_sentence_says(
    source: NodeView, target: NodeView, text: str, relation: str, direction: str
) -> None:
    answer = review(source, target, text)
    assert (answer.accept, answer.relation_type, answer.direction) == (True, relation, direction)


def test_the_order_of_the_two_nodes_turns_the_direction_and_nothing_else() -> None:
    one, other = review(VPN, KEY, SOLVES), review(KEY, VPN, SOLVES)
    assert (one.direction, other.direction) == (Direction.TARGET_TO_SOURCE, Direction.SOURCE_TO_TARGET)
    assert (one.relation_type, one.confidence, one.cited) == (other.relation_type, other.confidence, other.cited)


def test_passages_that_disagree_on_the_type_give_related_to() -> None:
    causes = "Der VPN-Fehler 809 wird durch fehlendes NAT-Traversal verursacht."
    assert review(VPN, KEY, SOLVES, causes).relation_type is RelationType.RELATED_TO


def test_a_step_below_a_solution_heading_solves_what_the_title_names() -> None:
    guide = node("PgBouncer connection pooler", kind=NodeKind.PRODUCT, language="en")
    ticket = node("PostgreSQL too many clients", language="en")
    text = "# PostgreSQL: too many clients\n\n## Resolution\n\n1. Install PgBouncer and set its pool mode."
    answer = review(ticket, guide, text)
    assert (answer.accept, answer.relation_type) == (True, RelationType.SOLVES)


def test_a_word_that_both_labels_have_speaks_for_neither() -> None:
    assert not review(NGINX, POOL, "Install nginx from the repository and start nginx.").accept


def test_a_general_code_needs_a_name_of_its_label_near_it() -> None:
    dcom = node("DCOM 0x80070005 when the scan service starts", language="en")
    folder = node("Permissions of SoftwareDistribution", kind=NodeKind.ARTICLE, language="en")
    plain = "Reset the permissions of SoftwareDistribution, and 0x80070005 disappears."
    assert not review(dcom, folder, plain).accept
    assert review(dcom, folder, plain.replace("and 0x80070005", "and 0x80070005 of DCOM")).accept


def test_own_spans_stand_in_the_nodes_verbatim() -> None:
    spans = own_spans(VPN, RUNBOOK)
    assert [span.text for span in spans] == ["Behebt Fehler 809 bei L2TP."]
    (span,) = spans
    assert (span.side, span.field) == (Direction.TARGET_TO_SOURCE, "body")
    assert RUNBOOK.body[span.start : span.end] == span.text


# -- cues ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sentence", "relations"),
    [
        ("Ein NAT-Router löst den Fehler aus.", ["causes"]),
        ("Der Neustart löst das Problem.", ["solves"]),
        ("WireGuard löst L2TP ab.", ["supersedes"]),
        ("The relay depends on the network.", ["requires"]),
        ("The update no longer fails.", ["solves"]),
        ("Es regnet in Hamburg.", []),
    ],
)
def test_cues(sentence: str, relations: list[str]) -> None:
    assert [cue.relation for cue in cues_in(sentence)] == relations


@pytest.mark.parametrize(
    ("sentence", "denied", "hedged"),
    [
        ("Das hat damit nichts zu tun.", True, False),
        ("The patch does not help here.", True, False),
        ("RunAsPPL cannot help.", True, False),
        ("Vermutlich liegt es am Router.", False, True),
        ("Is it the router?", False, True),
        ("Der Router ist schuld.", False, False),
    ],
)
def test_denials_and_guesses(sentence: str, denied: bool, hedged: bool) -> None:
    assert (denies(sentence), hedges(sentence)) == (denied, hedged)


def test_every_role_has_its_handler_and_its_prompt() -> None:
    handlers = relation_handlers(EMBEDDER)
    assert handlers.keys() == {RELATION_PLAN.name, RELATION_REVIEW.name}
    for role in (RELATION_PLAN, RELATION_REVIEW):
        text = prompt_text(role)
        for field in role.request_type.model_fields:
            assert field in text


def test_a_reader_names_a_label_by_its_identifier_or_most_of_its_words() -> None:
    reader = PairReader(LSASS, VPN)
    assert reader.names(0, "Seen as T1003.001 on two hosts.")
    assert not reader.names(0, "LSASS memory was read.")
    assert reader.names(1, "Fehler 809 beim L2TP-Tunnel")
    assert not reader.names(1, "Fehler 691 beim L2TP-Tunnel im Homeoffice")


GERMAN = node("Knoppix", "Ein Live-System.", NodeKind.SECTION)
ENGLISH = node("Knoppix", "A live system.", NodeKind.SECTION, "en")


def test_one_section_in_two_languages_is_a_variant_and_needs_no_search() -> None:
    answer = plan(GERMAN, ENGLISH)
    assert (answer.related, answer.needs_research) == (True, False)
    own = own_passages(GERMAN, ENGLISH)
    judged = review_relation(RelationReviewRequest(source=GERMAN, target=ENGLISH, passages=own, own_text=True))
    assert judged.relation_type is RelationType.VARIANT_OF


def test_no_text_tells_two_labels_of_one_subject_apart() -> None:
    second, third = (node(f"Dynamic Routing ({n})", kind=NodeKind.SECTION, language="en") for n in (2, 3))
    assert not plan(second, third).related
    assert not review(second, third, "Dynamic routing exchanges routes between routers.").accept


def test_a_sentence_of_a_node_is_about_the_node_only_where_it_begins_with_what_it_says() -> None:
    grub = node("GRUB configuration", "Most often this failure is caused by an update of Lilo.", NodeKind.SECTION, "en")
    lilo = node("Lilo boot loader", kind=NodeKind.SECTION, language="en")
    assert plan(grub, lilo).needs_research
    replaces = grub.model_copy(update={"body": "Replaces Lilo on every machine with a boot loader menu."})
    assert not plan(replaces, lilo).needs_research


def test_a_label_of_trade_words_alone_needs_most_of_them() -> None:
    label = node("User and group databases: disabling an account", kind=NodeKind.SECTION, language="en")
    other = node("Apache mod_authz_dbm", kind=NodeKind.SECTION, language="en")
    assert not review(label, other, "With mod_authz_dbm Apache keeps a user in a database.").accept
