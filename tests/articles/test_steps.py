"""Instructions in both languages, and what is too vague to be one."""

from __future__ import annotations

import pytest

from articles.steps import code_text, instruction_kind, instructions, is_concrete
from data.text import Span


@pytest.mark.parametrize(
    ("sentence", "language", "ordered", "kind"),
    [
        ("Open the file `/etc/hosts`.", "en", False, "do"),
        ("Then restart the service with `systemctl restart nginx`.", "en", False, "do"),
        ("If the test fails, increase the time limit.", "en", False, "do"),
        ("To find the cause, check the log of the daemon.", "en", False, "check"),
        ("You must install the package first.", "en", False, "do"),
        ("Make sure that port 80 is open.", "en", False, "check"),
        ("Set of rules that the filter applies.", "en", False, None),
        ("Run time errors are rare.", "en", False, None),
        ("The daemon opens the file.", "en", False, None),
        ("If you must store passwords, you cannot use the plugin.", "en", False, None),
        ("Öffnen Sie die Datei `/etc/hosts`.", "de", False, "do"),
        ("Anschließend starten Sie den Dienst neu.", "de", False, "do"),
        ("Stellen Sie sicher, dass der Port 80 offen ist.", "de", False, "check"),
        ("Prüfe das Protokoll des Dienstes.", "de", False, "check"),
        ("Sie müssen das Paket zuerst installieren.", "de", False, "do"),
        ("Dienst mit `systemctl restart nginx` neu starten.", "de", True, "do"),
        ("Dienst mit `systemctl restart nginx` neu starten.", "de", False, None),
        ("Hier finden Sie die Liste der Dateien.", "de", False, None),
        ("Der Dienst öffnet die Datei.", "de", False, None),
    ],
)
def test_instructions_are_told_from_statements(sentence: str, language: str, ordered: bool, kind: str | None) -> None:
    assert instruction_kind(sentence, language, ordered=ordered) == kind


@pytest.mark.parametrize(
    ("step", "concrete"),
    [
        ("Check the configuration.", False),
        ("Prüfen Sie die Einstellungen.", False),
        ("Check the configuration with `nginx -t`.", True),
        ("Open UDP ports 500 and 4500 in the firewall of the router.", True),
        ("Klicken Sie auf „Verbindung trennen“.", True),
    ],
)
def test_a_vague_step_is_none(step: str, concrete: bool) -> None:
    assert is_concrete(step) is concrete


def test_code_below_an_instruction_belongs_to_it() -> None:
    code = "```\nreg add HKLM\\Key /v Name /d 2\n```"
    text = f"1. Create the value:\n\n{code}\n\n2. Restart the computer so that the new value takes effect.\n"
    found = instructions(text, "en", 25)
    assert [step.text for step in found] == [
        "Create the value:",
        "Restart the computer so that the new value takes effect.",
    ]
    assert found[0].code is not None
    assert code_text(text, found[0].code) == "reg add HKLM\\Key /v Name /d 2"
    assert all(step.ordered for step in found)


def test_code_keeps_its_inner_indent() -> None:
    text = "Write:\n\n    a {\n      b;\n    }\n"
    assert code_text(text, Span(text.index("    a"), len(text))) == "a {\n  b;\n}"


def test_offsets_are_those_of_the_whole_text() -> None:
    whole = "Intro text about nothing.\n\n1. Open the file `/etc/hosts` with an editor.\n"
    start = whole.index("1.")
    (step,) = instructions(whole[start:], "en", 25, start)
    assert step.pieces[0].of(whole) == "Open the file `/etc/hosts` with an editor."


def test_a_list_of_abilities_is_no_procedure() -> None:
    text = (
        "The client is allowed to:\n\n- Send a message to a remote recipient host.\n- Open the file of another user.\n"
    )
    assert instructions(text, "en", 25) == []
