"""Citations cannot be made up, and structure errors are those of the chapter."""

from __future__ import annotations

from dataclasses import replace

import pytest

from articles.types import (
    Article,
    Citation,
    CitationError,
    Claim,
    Fact,
    FactTable,
    Option,
    OptionList,
    Paragraph,
    Section,
    SectionName,
    Step,
    StepList,
    structure_errors,
    topic_key,
)
from data.models import ArticleType
from tests.articles.corpus import make

SOURCE = make("The server listens on port 25. It refuses relaying.")
CITED = (Citation(SOURCE, 0, 30),)


def claims(name: SectionName, *, cited: bool = True) -> Section:
    return Section(name, (Paragraph((Claim("A sentence.", CITED if cited else ()),)),))


def steps(name: SectionName, count: int) -> Section:
    return Section(name, (StepList(tuple(Step(f"Step {n}.", CITED) for n in range(count))),))


def article(type_: ArticleType, *sections: Section) -> Article:
    return Article(type_, "Topic", "en", "Title", (), (), sections)


def test_a_citation_takes_its_quote_from_the_text() -> None:
    citation = Citation(SOURCE, 4, 10)
    assert citation.quote == "server"
    assert citation.evidence_id == SOURCE.evidence.id
    assert citation.sha256 == SOURCE.evidence.sha256


@pytest.mark.parametrize(("start", "end"), [(-1, 5), (5, 5), (9, 4), (0, 10_000), (29, 30_000)])
def test_a_citation_outside_of_the_text_cannot_be_made(start: int, end: int) -> None:
    with pytest.raises(CitationError):
        Citation(SOURCE, start, end)


def test_a_blank_citation_cannot_be_made() -> None:
    with pytest.raises(CitationError):
        Citation(make("a   b"), 1, 4)


def test_a_quote_cannot_be_given() -> None:
    with pytest.raises(TypeError):
        Citation(SOURCE, 0, 10, quote="something else")  # type: ignore[call-arg]
    with pytest.raises((TypeError, ValueError)):
        replace(Citation(SOURCE, 0, 10), quote="something else")


def test_a_whole_troubleshooting_article_has_no_errors() -> None:
    whole = article(
        ArticleType.TROUBLESHOOTING,
        claims(SectionName.SYMPTOMS),
        claims(SectionName.CAUSE),
        claims(SectionName.DIAGNOSIS),
        steps(SectionName.SOLUTION_STEPS, 3),
        steps(SectionName.VALIDATION_STEPS, 1),
    )
    assert structure_errors(whole) == []


def test_steps_come_first_among_the_errors() -> None:
    lacking = article(ArticleType.TROUBLESHOOTING, claims(SectionName.SYMPTOMS), steps(SectionName.SOLUTION_STEPS, 2))
    assert structure_errors(lacking) == [
        "insufficient_solution_steps",
        "missing_validation_steps",
        "missing_section:cause",
        "missing_section:diagnosis",
    ]


@pytest.mark.parametrize("facts", [0, 4, 5])
def test_a_reference_needs_five_facts(facts: int) -> None:
    table = Section(SectionName.FACTS, (FactTable(tuple(Fact(f"t{n}", "d", CITED) for n in range(facts))),))
    errors = structure_errors(article(ArticleType.REFERENCE, claims(SectionName.SCOPE), table))
    assert errors == ([] if facts >= 5 else ["too_few_facts"])


def test_an_option_without_criteria_is_none() -> None:
    options = OptionList((Option("a", (Claim("Fast.", CITED),)), Option("b", ())))
    errors = structure_errors(
        article(
            ArticleType.DECISION_GUIDE,
            claims(SectionName.QUESTION),
            Section(SectionName.OPTIONS, (options,)),
            claims(SectionName.RECOMMENDATION),
        )
    )
    assert errors == ["too_few_options"]


def test_a_section_with_an_uncited_claim_is_named() -> None:
    whole = article(
        ArticleType.CONCEPT,
        claims(SectionName.DEFINITION),
        claims(SectionName.HOW_IT_WORKS, cited=False),
        claims(SectionName.CONSEQUENCES),
    )
    assert structure_errors(whole) == ["uncited_section:how_it_works"]


def test_topic_keys_ignore_case_and_blanks_but_not_order_or_language() -> None:
    assert topic_key("  VPN  Error 809 ", "en") == topic_key("vpn error 809", "en")
    assert topic_key("Umzug von A nach B", "de") != topic_key("Umzug von B nach A", "de")
    assert topic_key("VPN", "de") != topic_key("VPN", "en")
