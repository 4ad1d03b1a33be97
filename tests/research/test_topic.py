"""The topic guard: both labels, in one passage, with their identifiers, in German and English."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.models import Label
from research.anchors import AnchorIndex, contradicts, label_anchors
from research.topic import judge_topic, text_blocks
from tests.research import relation_pages as pages

ALL = [
    ("English page, German labels", pages.BOTH_EN, (pages.VPN_809, pages.NAT_KEY), None),
    ("German page", pages.BOTH_DE, (pages.VPN_809, pages.NAT_KEY), None),
    ("order of labels", pages.BOTH_DE, (pages.NAT_KEY, pages.VPN_809), None),
    ("same words, other code", pages.OTHER_CODE_DE, (pages.VPN_809, pages.NAT_KEY), "other_identifier"),
    ("no code at all", pages.NO_CODE_EN, (pages.VPN_809, pages.NAT_KEY), "identifier_missing"),
    ("one label only", pages.ONE_SIDED_EN, (pages.VPN_809, pages.NAT_KEY), "one_sided"),
    ("both, in separate entries", pages.NOT_TOGETHER_DE, (pages.VPN_809, pages.NAT_KEY), "not_together"),
    ("generic words alone", pages.GENERIC_DE, (pages.VPN_809, pages.NAT_KEY), "one_sided"),
    ("a pinning identifier alone", pages.XZ_EN, (pages.XZ, pages.XZ_TICKET), None),
    ("another CVE in its place", pages.XZ_OTHER_EN, (pages.XZ, pages.XZ_TICKET), "other_identifier"),
    ("the words in the other language", pages.KERBEROS_EN, (pages.CLOCK_SKEW, pages.CHRONY), None),
    ("another subject", pages.KERBEROS_EN, (pages.SPOOLER, pages.CHRONY), "one_sided"),
    ("nothing", "", (pages.SPOOLER, pages.CHRONY), "one_sided"),
]


@pytest.mark.parametrize(("text", "labels", "reason"), [row[1:] for row in ALL], ids=[row[0] for row in ALL])
def test_a_relation_needs_both_labels_in_one_passage(text: str, labels: tuple[Label, ...], reason: str | None) -> None:
    title = text.strip().partition("\n")[0].lstrip("# ")
    verdict = judge_topic(text, title, labels, "all")
    assert (verdict.reason, verdict.why != "") == (reason, True)


def test_an_accepted_text_hands_on_passages_that_stand_in_it_verbatim() -> None:
    verdict = judge_topic(pages.BOTH_DE, "", (pages.VPN_809, pages.NAT_KEY), "all")
    assert 1 <= len(verdict.windows) <= 3
    first = verdict.windows[0]
    passage = pages.BOTH_DE[first.start : first.end]
    assert "Fehler 809" in passage
    assert "AssumeUDPEncapsulation" in passage
    assert verdict.coverage > 0.9


def test_another_code_in_the_title_speaks_against_a_page_that_mentions_the_right_one() -> None:
    text = pages.OTHER_CODE_DE + "\n\nMit Fehler 809 hat das nichts zu tun, auch wenn L2TP hinter NAT im Spiel ist.\n"
    verdict = judge_topic(text, "VPN-Fehler 691 hinter NAT", (pages.VPN_809, pages.NAT_KEY), "all")
    assert verdict.reason == "other_identifier"
    assert "691" in verdict.why


def test_another_code_in_the_passage_speaks_against_it_though_the_right_one_stands_elsewhere() -> None:
    text = pages.NOT_TOGETHER_DE.replace(
        "angebunden sind.", "angebunden sind. Dort meldet das VPN nach dem Windows-Update den Fehler 691."
    )
    assert judge_topic(text, "Rundbrief", (pages.VPN_809, pages.NAT_KEY), "all").reason == "other_identifier"


def test_a_task_is_content_with_any_of_its_labels() -> None:
    labels = (pages.VPN_809, pages.SPOOLER)
    verdict = judge_topic(pages.ONE_SIDED_EN, "", labels, "any", ("Which update causes VPN error 809?",))
    assert verdict.reason is None
    assert judge_topic(pages.KERBEROS_EN, "", labels, "any").reason == "one_sided"
    assert judge_topic(pages.OTHER_CODE_DE, "", labels, "any").reason == "other_identifier"


def test_a_subtechnique_is_not_its_technique() -> None:
    label = Label("n", "T1003.001 LSASS Memory")
    text = "# OS Credential Dumping\n\nT1003 covers dumping of credentials. LSASS memory is one of its sources.\n"
    assert judge_topic(text, "OS Credential Dumping, T1003", [label], "all").reason == "other_identifier"


def test_codes_of_two_vendors_do_not_contradict_each_other() -> None:
    wanted = label_anchors(Label("n", "ORA-12154 beim Start des Dienstes")).codes[0]
    listener, event = (label_anchors(Label("n", text)).codes[0] for text in ("ORA-12541", "Event ID 4625"))
    assert contradicts(wanted, listener)
    assert not contradicts(wanted, event)
    assert not contradicts(wanted, wanted)


@pytest.mark.parametrize(
    ("label", "text", "shown"),
    [
        ("Druckerwarteschlange hängt", "The print queue is stuck", ["druckerwarteschlange"]),
        ("Netzlaufwerk fehlt", "Das Laufwerk im Netz", ["netzlaufwerk"]),
        ("Netzlaufwerk fehlt", "Das Laufwerk ist weg", []),
        ("Leasing der Notebooks", "DHCP leases of notebooks", ["notebooks"]),
        ("Drucker offline", "Alle Netzwerkdrucker", ["drucker"]),
        ("Vorgänge im Postfach", "Ein Vorgang je Postfach", ["vorgaenge", "postfach"]),
        ("Serverzertifikat abgelaufen", "Der Server läuft", []),
        ("Postfix Relay", "Postfix leitet weiter", ["postfix"]),
        ("Protokolle weiterleiten", "Der Empfang von Protokollmeldungen", ["protokolle"]),
        ("Adressvergabe", "eine Adresse wird ausgewählt", ["adressvergabe"]),
        ("APT archive", "it was named aptly", []),
        ("MX record", "a record without its name", ["record"]),
        ("MX record", "the MX of the domain", ["mx"]),
        ("cron", "Aufgaben mit `cron` planen", ["cron"]),
    ],
)
def test_words_are_found_across_inflection_compounds_and_languages(label: str, text: str, shown: list[str]) -> None:
    index = AnchorIndex([label_anchors(Label("n", label))])
    assert index.shown(0, index.mask(text)) == shown


def test_a_heading_speaks_for_its_section_and_a_structural_one_for_its_subject() -> None:
    blocks = text_blocks("# VPN Fehler 809\n\nEinleitung.\n\n## Ursache\n\nNAT.\n\n## Drucker\n\nToner.\n")
    assert [(block.heading, block.structural) for block in blocks] == [
        ("VPN Fehler 809", False),
        ("VPN Fehler 809", True),
        ("Drucker", False),
    ]


def test_a_long_table_is_read_row_by_row() -> None:
    rows = "\n".join(f"| {code} | meaning of code {code} in a sentence of its own |" for code in range(600, 700))
    blocks = text_blocks(f"# Codes\n\n{rows}\n")
    assert len(blocks) > 5
    assert all(block.end - block.start <= 1_200 for block in blocks)


@given(st.text(max_size=600), st.text(max_size=60), st.text(max_size=60))
def test_any_text_and_labels_get_a_verdict_and_blocks_are_in_order(text: str, first: str, second: str) -> None:
    verdict = judge_topic(text, "", [Label("a", first), Label("b", second)], "all")
    assert verdict.reason in {"one_sided", "not_together", "identifier_missing", "other_identifier", None}
    blocks = text_blocks(text)
    assert all(one.end <= two.start for one, two in pairwise(blocks))


def test_the_plural_of_a_short_form_is_no_other_short_form() -> None:
    index = AnchorIndex([label_anchors(Label("n_a", "DNS")), label_anchors(Label("n_b", "VPN tunnel"))])
    assert index.distinctive(0, index.mask("The server compares the DNs of both entries.")) == 0
    assert index.distinctive(0, index.mask("The DNS server answers.")) > 0
    assert index.names(1, index.mask("All VPNs were down."))
