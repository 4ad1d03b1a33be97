"""What a sentence does decides where it may stand: told by its heading, by its form, by what it hangs on."""

from __future__ import annotations

import pytest

from articles.announce import announced, elsewhere
from articles.cues import denied, names_doing
from articles.phrases import title_for
from articles.plaintext import page_title
from articles.procedures import procedure
from articles.relevance import topic_model
from articles.roles import PassageView
from articles.sentences import points_back, statement
from articles.shorten import shorten
from articles.steps import instruction_kind, instructions, verifies
from articles.summary import opening_sentences
from articles.types import SectionName
from data.models import ArticleType
from data.text import Span

TOPIC = "Full disk on /var/log"


def view(text: str, *headings: str, source: str = "S1", number: int = 1, kind: str = "prose") -> PassageView:
    return PassageView(
        id=f"P{number}",
        source=source,
        start=1000 * number,
        end=1000 * number + len(text),
        kind=kind,
        headings=headings,
        title=headings[0] if headings else "",
        text=text,
        topic=0.8,
        relevance=0.8,
    )


@pytest.mark.parametrize(
    ("heading", "section"),
    [
        ("Symptoms", SectionName.SYMPTOMS),
        ("Recognise it", SectionName.SYMPTOMS),
        ("Cause", SectionName.CAUSE),
        ("Ursache", SectionName.CAUSE),
        ("Gegenprobe", SectionName.VALIDATION_STEPS),
        ("Repair it", SectionName.SOLUTION_STEPS),
        ("Nachsehen", SectionName.DIAGNOSIS),
        ("Which error messages a full disk on /var/log causes", None),
        ("Disk errors", None),
    ],
)
def test_a_short_heading_without_the_topic_announces_a_section(heading: str, section: SectionName | None) -> None:
    model = topic_model(TOPIC, "en", ["A full disk stops services."])
    assert announced(view("Services stop.", "Disk full", heading), model) is section


def test_what_stands_under_another_section_is_none_of_this() -> None:
    assert elsewhere(SectionName.CAUSE, SectionName.SYMPTOMS)
    assert elsewhere(SectionName.SYMPTOMS, SectionName.VALIDATION_STEPS)
    assert not elsewhere(SectionName.CAUSE, SectionName.CAUSE)
    assert not elsewhere(SectionName.CAUSE, None)
    assert not elsewhere(SectionName.HOW_IT_WORKS, SectionName.SOLUTION_STEPS)


@pytest.mark.parametrize(
    ("sentence", "language"),
    [
        ("The check must show the new rule without an error.", "en"),
        ("Permission denied means that the worker may not write to the socket.", "en"),
        ("Der Fehler bedeutet, dass ein Objekt nicht gefunden wurde.", "de"),
        ("Outlook darf keinen Fehler mehr zeigen.", "de"),
    ],
)
def test_a_meaning_or_an_expected_result_is_no_symptom(sentence: str, language: str) -> None:
    assert denied(SectionName.SYMPTOMS, sentence, language)


@pytest.mark.parametrize(
    ("sentence", "language"),
    [
        ("A second reason is a full inode table.", "en"),
        ("Password spraying turns that around and avoids the threshold.", "en"),
        ("The firewall log shows the same order.", "en"),
        ("The task then reduces to a change of passwords.", "en"),
        ("It can also be used for files.", "en"),
        ("Name servers can also be written in brackets.", "en"),
        ("Ein zweiter Grund ist ein falscher Eintrag.", "de"),
        ("Auf dem Server muss dann das Adressbuch geprüft werden.", "de"),
        ("Meldet der Dienst dagegen einen Erfolg, ist alles gut.", "de"),
        ("Der Server lehnt dabei jede Verbindung ab.", "de"),
    ],
)
def test_a_sentence_that_hangs_on_another_is_told(sentence: str, language: str) -> None:
    assert points_back(sentence, language)


@pytest.mark.parametrize(
    ("sentence", "language"),
    [
        ("A second factor for VPN accounts makes the hits worthless.", "en"),
        ("If the pool is down, the connection then fails.", "en"),
        ("The log shows the same order as the address book.", "en"),
        ("Wenn das Feld leer ist, muss dann der Dienst neu starten.", "de"),
        ("Der Dienst sorgt dafür, dass die Datei bleibt.", "de"),
    ],
)
def test_a_sentence_with_its_own_condition_stands_alone(sentence: str, language: str) -> None:
    assert not points_back(sentence, language)


@pytest.mark.parametrize(
    "sentence",
    [
        "Uses the kadmin protocol to update the keys in the database.",
        "Dumps the current database into an ASCII file.",
        "How the module hooks into the request processing phases.",
        "The directive is useful for many servers, e.g.",
    ],
)
def test_a_fragment_is_no_sentence(sentence: str) -> None:
    assert statement(sentence, Span(0, len(sentence)), "en", 25) is None


def test_a_filler_between_commas_goes_and_a_reference_in_brackets_too() -> None:
    for sentence, gone in (
        ("You can, of course, use one host for all of these sites.", "of course"),
        ("The daemon writes its messages to the log (see [logging]).", "logging"),
    ):
        pieces = shorten(sentence, "en", 25)
        assert pieces is not None
        assert gone not in " ".join(piece.of(sentence) for piece in pieces)


# -- instructions -----------------------------------------------------------------------------------------------------

LIST = """1. Restart the service with `systemctl restart app`.
2. Shrink the journal with `journalctl --vacuum-size=500M`.
3. Set the log level back to INFO.
4. The journal of the host is small.
"""


def test_in_a_list_of_instructions_the_form_is_enough() -> None:
    found = [step.text for step in instructions(LIST, "en", 25)]
    assert found[1].startswith("Shrink the journal")
    assert len(found) == 3
    assert instruction_kind("Shrink the journal with `x`.", "en") is None


@pytest.mark.parametrize(
    ("sentence", "language", "kind"),
    [
        ("`df -h /var/log` must show at least 20 percent free.", "en", "check"),
        ("`curl -I host` should print 200.", "en", "check"),
        ("The quota must be set by hand.", "en", None),
        ("You can verify that the daemon runs by looking at its log.", "en", "check"),
        ("You can use the module for many things.", "en", None),
        ("`Test-NetConnection` muss TcpTestSucceeded True melden.", "de", "check"),
        ("Sie können die Datei mit `named-checkconf` prüfen.", "de", "check"),
        ("Stoßen Sie die Erzeugung mit `Update-OfflineAddressBook` an.", "de", "do"),
        ("Beachten Sie, dass der Dienst langsam startet.", "de", None),
        ("Möchten Sie Strom sparen, so schalten Sie den Rechner ab.", "de", "do"),
    ],
)
def test_what_must_be_seen_is_a_check_and_an_ability_is_no_step(sentence: str, language: str, kind: str | None) -> None:
    assert instruction_kind(sentence, language) == kind


def test_an_infinitive_may_stand_before_its_condition() -> None:
    assert instruction_kind("Das Postfach mit `x` wiederherstellen, wenn es fehlt.", "de", ordered=True) == "do"


def test_an_ability_with_a_command_below_it_is_a_step() -> None:
    text = "You can start the daemon:\n\n```\nkrb5kdc\n```\n"
    (step,) = instructions(text, "en", 25)
    assert step.code is not None


def test_a_command_in_a_line_of_its_own_is_code() -> None:
    (step,) = instructions("To create the file, type:\n\n`htpasswd -c /etc/passwords alice`\n", "en", 25)
    assert step.code is not None
    assert step.text.endswith("type:")


def test_a_warning_is_no_step() -> None:
    assert instructions("You should never install the beta version of the package.", "en", 25) == []
    assert instructions("Sie sollten den Dienst nicht im laufenden Betrieb neu starten.", "de", 25) == []


@pytest.mark.parametrize(
    ("text", "language", "yes"),
    [
        ("Verify that the port is open.", "en", True),
        ("List the largest files with `du`.", "en", False),
        ("Before the restart, check that the syntax is right.", "en", False),
        ("Prüfen Sie, dass der Port offen ist.", "de", True),
        ("Prüfen Sie den Kontext, um herauszufinden, ob er passt.", "de", False),
    ],
)
def test_a_verification_is_told_from_a_look_around(text: str, language: str, yes: bool) -> None:
    assert verifies(text, language) is yes


def steps_of(*views: PassageView) -> tuple[list[str], list[str], list[str]]:
    model = topic_model(TOPIC, "en", [one.text for one in views])
    found = procedure(views, model, 25)
    return tuple([step.text for step in part] for part in (found.solution, found.validation, found.diagnosis))  # type: ignore[return-value]


def test_a_look_at_the_trouble_is_no_check_of_the_result() -> None:
    solution, validation, diagnosis = steps_of(
        view(
            "1. List the largest files on /var/log with `du -x /var/log`.\n2. Check inodes with `df -i`.\n",
            "Full disk on /var/log",
            "Diagnosis",
            number=1,
        ),
        view(
            "1. Restart the application with `systemctl restart app`.\n2. Remove the old logs with `rm /var/log/old`.\n"
            "3. Set the log level of the application back to INFO.\n",
            "Full disk on /var/log",
            "Steps",
            number=2,
            kind="procedure",
        ),
    )
    assert len(solution) == 3
    assert validation == []
    assert len(diagnosis) == 2


def test_a_check_before_the_first_step_of_its_page_is_diagnosis_whatever_its_heading() -> None:
    solution, validation, diagnosis = steps_of(
        view("- Verify the fill level of /var/log with `df -h`.\n", "Full disk on /var/log", "Check", number=1),
        view(
            "1. Restart the application with `systemctl restart app`.\n2. Remove the old logs with `rm /var/log/old`.\n"
            "3. Set the log level of the application back to INFO.\n",
            "Full disk on /var/log",
            "Steps",
            number=2,
            kind="procedure",
        ),
        view("- `df -h /var/log` must show less than 80 percent.\n", "Full disk on /var/log", "Check", number=3),
    )
    assert len(solution) == 3
    assert validation == ["`df -h /var/log` must show less than 80 percent."]
    assert len(diagnosis) == 1


def test_a_step_that_speaks_of_it_stays_only_behind_its_own() -> None:
    solution, _, _ = steps_of(
        view(
            "1. Restart the application with `systemctl restart app`.\n2. Remove the old logs with `rm /var/log/old`.\n"
            "3. Set the log level of the application back to INFO.\n",
            "Full disk on /var/log",
            "Steps",
            number=1,
            kind="procedure",
        ),
        view(
            "Set it to become inactive on January 1 in `/var/log/keys`.\n", "Full disk on /var/log", "Steps", number=2
        ),
    )
    assert not any("Set it" in step for step in solution)


# -- topics, titles, openings -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("topic", "yes"),
    [
        ("Updating the Kerberos master key", True),
        ("Running an authoritative name server", True),
        ("Apache httpd beenden und neu starten", True),
        ("Kerberos keytab for a service", False),
        ("Apache-Module im Überblick", False),
    ],
)
def test_a_topic_that_names_something_to_do(topic: str, yes: bool) -> None:
    assert names_doing(topic) is yes


def test_a_title_keeps_the_case_of_its_topic() -> None:
    assert title_for("krb5.conf parameters", ArticleType.REFERENCE, "en") == "Reference: krb5.conf parameters"
    assert title_for("how to: sign a zone", ArticleType.HOW_TO, "en") == "How to: sign a zone"


def test_a_page_title_loses_the_sign_of_an_icon_font() -> None:
    assert page_title("Manual \n Pages\uf0c1") == "Manual Pages"


def test_an_article_opens_with_what_a_page_opens_with() -> None:
    views = [
        view("A full disk on /var/log stops services that write there.", "Full disk on /var/log", number=1),
        view("An application at debug level fills the disk on /var/log.", "Full disk on /var/log", "Cause", number=2),
        view("The same disk on /var/log is full again.", "Full disk on /var/log", number=3),
        view("Bread is baked from flour.", "Baking", source="S2", number=4),
    ]
    model = topic_model(TOPIC, "en", [one.text for one in views])
    found = opening_sentences(
        views, model, ArticleType.TROUBLESHOOTING, 25, lambda _text: 0.0, lambda _text, _view: False
    )
    assert [one.said.text for one in found][:1] == ["A full disk on /var/log stops services that write there."]
    assert not any("debug level" in one.said.text or "Bread" in one.said.text for one in found)
