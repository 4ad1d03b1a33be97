"""Which sentences can stand alone, and what shortening never takes away."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from articles.cues import negations
from articles.plaintext import prose_words, same_words
from articles.sentences import Statement, statement
from articles.shorten import shorten
from data.text import Span
from tests.articles.corpus import PUBLISHERS, text_of

LIMIT = 25


def taken(sentence: str, language: str = "en") -> Statement | None:
    return statement(sentence, Span(0, len(sentence)), language, LIMIT)


@pytest.mark.parametrize(
    ("sentence", "language"),
    [
        ("The queue manager sorts messages by age.", "en"),
        ("Der Dienst liest die Datei beim Start.", "de"),
        ("`rw` allows clients to write to the share.", "en"),
        ("Wenn der Port gesperrt ist, bricht die Verbindung ab.", "de"),
    ],
)
def test_a_sentence_that_stands_alone_is_taken(sentence: str, language: str) -> None:
    found = taken(sentence, language)
    assert found is not None
    assert found.text == sentence
    assert not found.dependent


@pytest.mark.parametrize(
    ("sentence", "language"),
    [
        ("The following options control the queue.", "en"),
        ("We recommend this setting to our readers.", "en"),
        ("Is the queue full?", "en"),
        ("If the local network has a server that you do not want to use.", "en"),
        ("See section 4.2 for the list of queues.", "en"),
        ("Die folgende Datei enthält das Beispiel.", "de"),
        ("Wir haben den Dienst im Kapitel davor eingerichtet.", "de"),
        ("Falls das Netz einen Server hat, den Sie nicht benutzen möchten.", "de"),
        ("The daemon reads the file at start and keeps it in memory.", "de"),
        ("Mail to admin@example.org about the queue.", "en"),
    ],
)
def test_a_sentence_that_points_elsewhere_or_is_none_is_not_taken(sentence: str, language: str) -> None:
    assert taken(sentence, language) is None


@pytest.mark.parametrize(
    ("sentence", "language", "whole"),
    [
        ("Support for several domains and mail queues.", "en", False),
        ("Inclusion of new keys into the zone when the rollover starts.", "en", False),
        ("Requiring that the client sends a name before the message.", "en", False),
        ("Clients send their name before the message.", "en", True),
        ("Die Bedienung mehrerer Seiten mit einer einzigen Instanz.", "de", False),
        ("Die Instanz bedient mehrere Seiten zugleich.", "de", True),
    ],
)
def test_an_item_of_a_list_must_be_a_whole_sentence(sentence: str, language: str, whole: bool) -> None:
    found = statement(sentence, Span(0, len(sentence)), language, LIMIT, listed=True)
    assert (found is not None) is whole


@pytest.mark.parametrize(
    ("sentence", "language"),
    [
        ("This daemon reads the queue.", "en"),
        ("It is started by the master process.", "en"),
        ("Dadurch wird die Warteschlange geleert.", "de"),
        ("Diese Datei enthält die Adressen.", "de"),
    ],
)
def test_a_sentence_that_points_back_is_marked(sentence: str, language: str) -> None:
    found = taken(sentence, language)
    assert found is not None
    assert found.dependent


@pytest.mark.parametrize(
    ("sentence", "language", "text"),
    [
        (
            "However, the master process of the mail system starts a new instance of the queue manager after a crash of "  # noqa: E501
            "the old one, which takes a few seconds on a busy machine with many thousand messages.",
            "en",
            "The master process of the mail system starts a new instance of the queue manager after a crash of the old one.",  # noqa: E501
        ),
        (
            "Note: The lock file (see section 3) prevents a second start.",
            "en",
            "The lock file prevents a second start.",
        ),
        (
            "Der Dienst legt jede angenommene Nachricht als einzelne Datei in einem Unterverzeichnis der Liste ab und "
            "meldet danach den Empfang, wobei der sendende Rechner sie erst jetzt aus seiner eigenen Liste löscht und weitermacht.",  # noqa: E501
            "de",
            "Der Dienst legt jede angenommene Nachricht als einzelne Datei in einem Unterverzeichnis der Liste ab und "
            "meldet danach den Empfang.",
        ),
    ],
)
def test_a_long_sentence_is_cut_at_a_clause(sentence: str, language: str, text: str) -> None:
    found = taken(sentence, language)
    assert found is not None
    assert found.text == text


def test_a_condition_or_negation_is_never_cut_away() -> None:
    sentence = (
        "The administrator of the mail system may raise the number of parallel deliveries to one place at any time, "
        "which must not be done unless the receiving site has agreed to it beforehand in writing."
    )
    assert shorten(sentence, "en", LIMIT) is None


@pytest.mark.parametrize("name", sorted(PUBLISHERS))
def test_every_piece_stands_verbatim_in_its_text(name: str) -> None:
    from articles.blocks import BlockKind, text_blocks
    from data.text import detect_language, sentences

    text = text_of(name)
    language = detect_language(text)
    count = 0
    for block in text_blocks(text):
        if block.kind not in {BlockKind.PROSE, BlockKind.ITEM}:
            continue
        body = text[block.start : block.end]
        for span in sentences(body):
            found = statement(body, span, language, LIMIT, block.start)
            if found is None:
                continue
            count += 1
            quotes = [piece.of(text) for piece in found.pieces]
            assert same_words(found.text, quotes)
            assert all(len(prose_words(quote)) <= LIMIT for quote in quotes)
            assert negations(found.text) == negations(text[found.start : found.end])
    assert count >= 1


@given(st.text(alphabet="ab ,;()–. whichunlessnotwenn", max_size=300))
def test_pieces_are_in_order_and_inside(sentence: str) -> None:
    for language in ("de", "en"):
        pieces = shorten(sentence, language, 5)
        if pieces is None:
            continue
        assert all(0 <= p.start < p.end <= len(sentence) for p in pieces)
        assert all(a.end <= b.start for a, b in pairwise(pieces))
