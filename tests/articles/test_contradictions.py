"""Differing numbers for the same thing are a contradiction, a detail more is none."""

from __future__ import annotations

import pytest

from articles.contradictions import Said, contradictory_pairs


def pairs(one: str, other: str, publisher: str = "B") -> int:
    return len(contradictory_pairs([Said(0, "A", 1, one), Said(1, publisher, 1, other)]))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("By default, a ticket is valid for 10 hours.", "By default, a ticket is valid for 24 hours."),
        ("Die Frist beträgt standardmäßig 5 Tage.", "Die Frist beträgt standardmäßig 14 Tage."),
        ("The daemon listens on port 8080.", "The daemon listens on port 9090."),
    ],
)
def test_other_numbers_contradict(one: str, other: str) -> None:
    assert pairs(one, other) == 1
    assert pairs(other, one) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("By default, a ticket is valid for 10 hours.", "By default, a ticket is valid for 10 hours."),
        ("By default, a ticket is valid for 10 hours.", "A ticket can be renewed for up to 7 days."),
        ("The daemon listens on port 8080.", "The queue is scanned every 300 seconds."),
        ("The daemon listens on port 8080.", "The daemon listens on a port."),
    ],
)
def test_the_same_or_another_thing_does_not(one: str, other: str) -> None:
    assert pairs(one, other) == 0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "Transaction pooling supports prepared statements.",
            "Transaction pooling does not support prepared statements.",
        ),
        (
            "The update of the firmware clears the stored keys.",
            "The update of the firmware never clears the stored keys.",
        ),
        ("By default the service is enabled on a new host.", "By default the service is disabled on a new host."),
        ("The client encrypts the ticket before it is sent.", "The client decrypts the ticket before it is sent."),
        (
            "Der Neustart löscht die Warteschlange des Servers.",
            "Der Neustart löscht die Warteschlange des Servers nicht.",
        ),
        ("Die Sicherung läuft bei geöffneter Datenbank.", "Die Sicherung läuft bei geschlossener Datenbank."),
        ("Der Dienst ist ab Werk aktiviert und erreichbar.", "Der Dienst ist ab Werk deaktiviert und erreichbar."),
    ],
)
def test_the_contrary_contradicts(one: str, other: str) -> None:
    assert pairs(one, other) == 1
    assert pairs(other, one) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("By default the service is not enabled on a new host.", "By default the service is disabled on a new host."),
        ("Transaction pooling supports prepared statements.", "Session pooling does not support advisory locks."),
        ("The client encrypts the ticket before it is sent.", "The server decrypts the ticket after it was received."),
        ("The queue is full.", "The queue is not full."),
        ("Der Dienst ist nicht aktiviert und nicht erreichbar.", "Der Dienst ist deaktiviert und nicht erreichbar."),
        ("Die Sicherung läuft bei geöffneter Datenbank.", "Die Prüfung läuft bei geschlossener Datenbank."),
    ],
)
def test_another_wording_or_another_thing_does_not(one: str, other: str) -> None:
    assert pairs(one, other) == pairs(other, one) == 0


def test_one_publisher_does_not_contradict_itself() -> None:
    assert pairs("A ticket is valid for 10 hours.", "A ticket is valid for 24 hours.", publisher="A") == 0
