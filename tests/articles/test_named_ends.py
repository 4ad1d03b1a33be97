"""A topic that cannot become an article ends in its named reason, in English and in German alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from articles.pipeline import SynthesisRequest, SynthesisResult
from data.articles import attempts_on, list_articles
from data.evidence import EvidenceText
from data.models import SourceClass
from data.store import Store
from tests.articles.corpus import KERBEROS, POSTFIX, evidence, make
from tests.articles.runs import recorded, synthesis

TOPICS = {
    "en": ("Kerberos ticket-granting ticket", KERBEROS, "How long is a TGT valid?"),
    "de": ("Parameter der Postfix-Warteschlange", POSTFIX, "Wie lange bleibt eine Nachricht in der Warteschlange?"),
}
OTHER_NUMBER = {
    "en": "# Ticket lifetimes\n\nBy default, a TGT is valid for 24 hours and can be renewed for up to 9 days.\n",
    "de": (
        "# Warteschlangen von Postfix in Zahlen\n\n"
        "`maximal_backoff_time` begrenzt die längste Wartezeit zwischen zwei Zustellversuchen der "
        "Postfix-Warteschlange auf 9000 Sekunden. Die Parameter der Postfix-Warteschlange stehen in der Datei "
        "`/etc/postfix/main.cf`.\n"
    ),
}


def whole(language: str) -> list[EvidenceText]:
    return list(evidence(*TOPICS[language][1]))


def one_text(language: str) -> list[EvidenceText]:
    return whole(language)[:1]


def one_publisher(language: str) -> list[EvidenceText]:
    return [
        make(one.text, number=number, title=one.evidence.title, publisher="One", source_class=SourceClass.REFERENCE)
        for number, one in enumerate(whole(language), 1)
    ]


def contradicting(language: str) -> list[EvidenceText]:
    texts = [
        make(one.text, number=number, title=one.evidence.title, publisher=f"P{number}")
        for number, one in enumerate(whole(language), 1)
    ]
    text = OTHER_NUMBER[language]
    return [*texts, make(text, number=9, title=text.splitlines()[0][2:], publisher="P9", language=language)]


def other_language(language: str) -> list[EvidenceText]:
    return whole("de" if language == "en" else "en")


ENDS: tuple[tuple[Callable[[str], Sequence[EvidenceText]], str], ...] = (
    (one_text, "not_enough_evidence"),
    (one_publisher, "not_enough_publishers"),
    (contradicting, "contradicting_sources"),
    (other_language, "evidence_language"),
)


async def wrote(store: Store, language: str, texts: Sequence[EvidenceText]) -> SynthesisResult:
    topic, _, question = TOPICS[language]
    request = SynthesisRequest(topic, (question,), language, await recorded(store, texts))
    return await synthesis(store).run(request)


@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize(("made", "reason"), ENDS, ids=[reason for _, reason in ENDS])
async def test_what_cannot_become_an_article_ends_by_name(store: Store, made: Any, reason: str, language: str) -> None:
    result = await wrote(store, language, made(language))
    assert (result.outcome, result.reason) == ("refused", reason), result.detail
    assert await store.read(list_articles) == []
    attempts = await store.read(attempts_on, _key(language))
    assert [(one.outcome, one.reason) for one in attempts] == [("refused", reason)]


@pytest.mark.parametrize("language", ["en", "de"])
async def test_the_same_topic_with_enough_evidence_is_staged(store: Store, language: str) -> None:
    result = await wrote(store, language, whole(language))
    assert (result.outcome, result.reason) == ("staged", "staged"), result.detail


def _key(language: str) -> str:
    from articles.types import topic_key

    return topic_key(TOPICS[language][0], language)
