"""The extractive author: nothing but cited words, no long run, one language, the same again."""

from __future__ import annotations

import pytest

from articles.codec import article_from_content, article_to_content, content_digest
from articles.plaintext import longest_run, plain, prose_words, same_words
from articles.render import render_markdown
from articles.types import Claim, Fact, Step, items, structure_errors
from data.models import ArticleType
from data.text import detect_language
from tests.articles.corpus import TOPICS, evidence, make
from tests.articles.runs import written

CASES = [pytest.param(*case, id=case[4]) for case in TOPICS]


@pytest.mark.parametrize(("topic", "language", "names", "questions", "type_"), CASES)
def test_every_statement_is_made_of_its_cited_words(topic, language, names, questions, type_) -> None:  # type: ignore[no-untyped-def]
    texts = evidence(*names)
    article, _ = written(topic, language, ArticleType(type_), texts, questions)
    assert structure_errors(article) == []
    by_id = {one.evidence.id: one.text for one in texts}
    count = 0
    for place, item in items(article):
        count += 1
        assert item.citations, place
        for citation in item.citations:
            assert by_id[citation.evidence_id][citation.start : citation.end] == citation.quote
        quotes = [citation.quote for citation in item.citations]
        if isinstance(item, Fact):
            said = " ".join((item.term, item.description)) if not place.startswith("applies_to") else ""
            assert not said or same_words(said, quotes)
        elif isinstance(item, Step) and item.code:
            assert same_words(item.text, quotes[:-1])
            assert [line.strip() for line in quotes[-1].splitlines()] == [
                line.strip() for line in item.code.splitlines()
            ]
        else:
            assert same_words(item.text, quotes)
    assert count >= 6


@pytest.mark.parametrize(("topic", "language", "names", "questions", "type_"), CASES)
def test_no_run_is_longer_than_the_limit(topic, language, names, questions, type_) -> None:  # type: ignore[no-untyped-def]
    texts = evidence(*names)
    article, _ = written(topic, language, ArticleType(type_), texts, questions)
    sources = [prose_words(plain(one.text)) for one in texts]
    for section in article.sections:
        words: list[str] = []
        for place, item in items(article):
            if not place.startswith(f"{section.name}."):
                continue
            if isinstance(item, Fact):
                assert all(longest_run(prose_words(item.description), source) <= 25 for source in sources)
                continue
            words += (["<lead-in>"] if isinstance(item, Claim | Step) and item.lead_in else []) + prose_words(item.text)
        assert all(longest_run(words, source) <= 25 for source in sources)


@pytest.mark.parametrize(("topic", "language", "names", "questions", "type_"), CASES)
def test_the_same_evidence_in_any_order_gives_the_same_article(topic, language, names, questions, type_) -> None:  # type: ignore[no-untyped-def]
    first, _ = written(topic, language, ArticleType(type_), evidence(*names), questions)
    again, _ = written(topic, language, ArticleType(type_), evidence(*reversed(names)), questions)
    assert content_digest(first) == content_digest(again)
    one = render_markdown(first, {e.evidence.id: e.evidence for e in evidence(*names)})
    other = render_markdown(again, {e.evidence.id: e.evidence for e in evidence(*reversed(names))})
    assert one == other


@pytest.mark.parametrize(("topic", "language", "names", "questions", "type_"), CASES)
def test_an_article_survives_its_json(topic, language, names, questions, type_) -> None:  # type: ignore[no-untyped-def]
    texts = evidence(*names)
    article, _ = written(topic, language, ArticleType(type_), texts, questions)
    by_id = {one.evidence.id: one for one in texts}
    assert article_from_content(article_to_content(article), by_id) == article


def test_text_in_another_language_is_not_used() -> None:
    mixed = (
        "# Quotas\n\nDie Quota ist eine Grenze für den Speicherplatz eines Benutzers. A quota is a limit for the space "
        "of a user.\n\nThe quota of a user is checked by the kernel at each write to the disk.\n\nWenn die Quota erreicht "  # noqa: E501
        "ist, lehnt der Kernel jeden weiteren Schreibvorgang ab. Die Quota verhindert, dass ein Benutzer die Festplatte "  # noqa: E501
        "füllt.\n"
    )
    article, _ = written("Quota", "de", ArticleType.CONCEPT, (make(mixed, title="Quotas", language="de"),))
    said = [item.text for _, item in items(article) if isinstance(item, Claim)]
    assert said
    assert {detect_language(text) for text in said} <= {"de", "und"}


def test_a_private_host_of_the_house_is_not_used_and_a_public_example_is() -> None:
    from data.models import SourceClass

    text = (
        "# Backup server\n\nThe backup server is a machine that keeps copies of all files. The backup server is reachable "  # noqa: E501
        "as srv-backup01.corp.local from every office. When a copy fails, the backup server repeats it at night. The "
        "backup server prevents the loss of files.\n"
    )
    own = make(text, title="Backup server", source_class=SourceClass.OWN)
    article, _ = written("Backup server", "en", ArticleType.CONCEPT, (own,))
    assert "corp.local" not in " ".join(str(item) for _, item in items(article))
    public = make(text, title="Backup server", source_class=SourceClass.REFERENCE)
    article, _ = written("Backup server", "en", ArticleType.CONCEPT, (public,))
    assert "corp.local" in " ".join(str(item) for _, item in items(article))


def test_commands_are_exact() -> None:
    article, _ = written(
        "VPN error 809 on Windows 11", "en", ArticleType.TROUBLESHOOTING, evidence("vpn809-vendor", "vpn809-wiki")
    )
    codes = [item.code for _, item in items(article) if isinstance(item, Step) and item.code]
    assert codes == [
        r"reg add HKLM\SYSTEM\CurrentControlSet\Services\PolicyAgent /v AssumeUDPEncapsulationContextOnSendRule "
        "/t REG_DWORD /d 2 /f"
    ]
