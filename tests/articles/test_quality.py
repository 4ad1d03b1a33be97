"""Each check finds what it is for, and nothing in an honest article."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from articles.markup import markup_faults
from articles.quality import QualityPolicy, cpu_quality
from articles.types import Article, Citation, Claim, Fact, FactTable, Paragraph, Section, SectionName, Step, StepList
from data.evidence import EvidenceText
from data.models import ArticleType, SourceClass
from research.guard import GuardPolicy
from tests.articles.corpus import TOPICS, VPN, evidence, make
from tests.articles.runs import EMBEDDER, written

TEXTS = evidence(*VPN)
EVIDENCE = {one.evidence.id: one for one in TEXTS}
HONEST, _ = written("VPN error 809 on Windows 11", "en", ArticleType.TROUBLESHOOTING, TEXTS)


def codes(
    article: Article, evidence: dict[str, EvidenceText] = EVIDENCE, policy: QualityPolicy | None = None
) -> set[str]:
    report = cpu_quality(article, evidence, policy or QualityPolicy(), embedder=EMBEDDER)
    assert report.passed is (not report.findings)
    assert 0.0 <= report.score <= 1.0
    return {finding.code for finding in report.findings}


def with_claim(change: Callable[[Claim], Claim], name: SectionName = SectionName.CAUSE) -> Article:
    """Return the honest article with the first claim of a section changed."""

    def changed(section: Section) -> Section:
        if section.name is not name:
            return section
        block = section.blocks[0]
        assert isinstance(block, Paragraph)
        return replace(section, blocks=(Paragraph((change(block.claims[0]), *block.claims[1:])), *section.blocks[1:]))

    return replace(HONEST, sections=tuple(changed(section) for section in HONEST.sections))


def with_step(change: Callable[[Step], Step]) -> Article:
    def changed(section: Section) -> Section:
        if section.name is not SectionName.SOLUTION_STEPS:
            return section
        block = section.blocks[0]
        assert isinstance(block, StepList)
        return replace(section, blocks=(StepList((*block.steps[:1], change(block.steps[1]), *block.steps[2:])),))

    return replace(HONEST, sections=tuple(changed(section) for section in HONEST.sections))


@pytest.mark.parametrize(("topic", "language", "names", "questions", "type_"), TOPICS)
def test_honest_articles_pass(topic, language, names, questions, type_) -> None:  # type: ignore[no-untyped-def]
    texts = evidence(*names)
    article, _ = written(topic, language, ArticleType(type_), texts, questions)
    report = cpu_quality(article, {one.evidence.id: one for one in texts}, embedder=EMBEDDER)
    assert report.findings == ()
    assert report.passed
    assert report.score == 1.0


@pytest.mark.parametrize(
    ("code", "article"),
    [
        ("uncited_claim", with_claim(lambda claim: replace(claim, citations=()))),
        ("uncited_step", with_step(lambda step: replace(step, citations=()))),
        ("number_not_in_evidence", with_claim(lambda claim: replace(claim, text=f"{claim.text[:-1]} on port 4600."))),
        ("number_not_in_evidence", replace(HONEST, title="VPN error 813 on Windows 11")),
        ("command_not_in_evidence", with_step(lambda step: replace(step, code=step.code.replace("/d 2", "/d 1")))),
        (
            "command_not_in_evidence",
            with_claim(lambda claim: replace(claim, text=f"{claim.text} Look at `/etc/passwd`.")),
        ),
        ("vague_step", with_step(lambda step: replace(step, text="Check the configuration.", code=""))),
        (
            "ungrounded_step",
            with_step(lambda step: replace(step, text="Delete every mailbox of the former tenant.", code="")),
        ),
        (
            "repetition",
            with_claim(
                lambda claim: replace(claim, text=HONEST.summary[0].text, citations=HONEST.summary[0].citations)
            ),
        ),
        ("placeholder", with_claim(lambda claim: replace(claim, text="TODO describe the cause here."))),
        ("placeholder", replace(HONEST, title="Error 809 [...]")),
        (
            "mixed_language",
            with_claim(lambda claim: replace(claim, text="Der Fehler entsteht durch einen gesperrten Port.")),
        ),
        ("internal_id", with_claim(lambda claim: replace(claim, text=f"{claim.text} n_01ARZ3NDEKTSV4RRFFQ69G5FAV"))),
        ("private_term", replace(HONEST, title="VPN error 809 of jane.doe@example.com")),
        ("sentence_too_long", with_claim(lambda claim: replace(claim, text=" ".join(["word"] * 60)))),
    ],
)
def test_each_fault_is_found(code: str, article: Article) -> None:
    assert code in codes(article)


REFERENCE_TEXTS = evidence(*TOPICS[3][2])
REFERENCE, _ = written(TOPICS[3][0], TOPICS[3][1], ArticleType.REFERENCE, REFERENCE_TEXTS)
REFERENCE_EVIDENCE = {one.evidence.id: one for one in REFERENCE_TEXTS}


def with_fact(change: Callable[[Fact], Fact]) -> Article:
    """Return the honest reference with its first fact changed."""

    def changed(section: Section) -> Section:
        if section.name is not SectionName.FACTS:
            return section
        block = section.blocks[0]
        assert isinstance(block, FactTable)
        return replace(section, blocks=(FactTable((change(block.facts[0]), *block.facts[1:])),))

    return replace(REFERENCE, sections=tuple(changed(section) for section in REFERENCE.sections))


def test_the_honest_reference_has_no_fault() -> None:
    assert codes(REFERENCE, REFERENCE_EVIDENCE) == set()


@pytest.mark.parametrize(
    ("code", "change"),
    [
        ("uncited_fact", lambda fact: replace(fact, citations=())),
        (
            "ungrounded_fact",
            lambda fact: replace(fact, description="Löscht alle Postfächer der Buchhaltung endgültig."),
        ),
    ],
)
def test_a_fact_without_its_ground_is_found(code: str, change: Callable[[Fact], Fact]) -> None:
    assert code in codes(with_fact(change), REFERENCE_EVIDENCE)


def test_what_says_something_else_than_its_citation_is_found() -> None:
    other = with_claim(lambda claim: replace(claim, text="The accounting department deletes every mailbox at night."))
    assert "ungrounded_claim" in codes(other)
    step = with_step(lambda step: replace(step, text="Delete every mailbox of the former tenant.", code=""))
    assert "altered_step" in codes(step)


def test_a_section_that_nobody_reads_to_its_end_is_found() -> None:
    claims = tuple(Claim(" ".join(f"word{n}x{i}" for i in range(40)), ()) for n in range(12))
    long = replace(HONEST, sections=(Section(SectionName.CAUSE, (Paragraph(claims),)), *HONEST.sections[1:]))
    assert "section_too_long" in codes(long)


def test_markdown_that_reads_back_otherwise_is_found() -> None:
    assert "invalid_markdown" in codes(replace(HONEST, title="  "))


def test_a_citation_of_unknown_refused_or_altered_text_is_found() -> None:
    first = HONEST.sections[0].name.value
    assert first == "symptoms"
    gone = {one: text for one, text in EVIDENCE.items() if one != TEXTS[0].evidence.id}
    assert "unknown_evidence" in codes(HONEST, gone)
    refused = EVIDENCE | {TEXTS[0].evidence.id: EvidenceText(replace(TEXTS[0].evidence, accepted=False), TEXTS[0].text)}
    assert "unaccepted_evidence" in codes(HONEST, refused)
    altered = EVIDENCE | {TEXTS[0].evidence.id: EvidenceText(TEXTS[0].evidence, "x" + TEXTS[0].text)}
    assert "altered_span" in codes(HONEST, altered)


def test_a_long_run_is_found_across_joined_sentences_and_broken_by_a_lead_in() -> None:
    text = (
        "The queue manager opens the file of each waiting message in turn. It sorts all waiting messages by their age "
        "and hands the oldest one to a delivery agent at once."
    )
    source = make(text, title="Queue")
    middle = text.index("It sorts")
    one = Claim(text[: middle - 1], (Citation(source, 0, middle - 1),))
    other = Claim(text[middle:], (Citation(source, middle, len(text)),))
    sections = (
        Section(SectionName.DEFINITION, (Paragraph((one, other)),)),
        Section(SectionName.CONSEQUENCES, (Paragraph((Claim("Nothing.", ()),)),)),
    )
    article = Article(ArticleType.CONCEPT, "Queue", "en", "Queue", (), (), sections)
    assert "verbatim_run" in codes(article, {source.evidence.id: source})
    broken = replace(
        article,
        sections=(Section(SectionName.DEFINITION, (Paragraph((one, replace(other, lead_in="also"))),)), sections[1]),
    )
    assert "verbatim_run" not in codes(broken, {source.evidence.id: source})


def test_too_short_and_too_few_sections() -> None:
    assert {"too_short", "too_few_sections"} <= codes(replace(HONEST, sections=HONEST.sections[:1], summary=()))


def test_a_configured_private_term_is_found_everywhere() -> None:
    assert "private_term" in codes(HONEST, policy=QualityPolicy(guard=GuardPolicy(private_terms=("PolicyAgent",))))


def test_an_address_is_private_in_the_houses_own_text_alone() -> None:
    text = "The gateway answers on 10.20.30.40 and nothing else. " * 2
    for source_class, private in ((SourceClass.OWN, True), (SourceClass.REFERENCE, False)):
        source = make(text, source_class=source_class)
        claim = Claim("The gateway answers on 10.20.30.40 and nothing else.", (Citation(source, 0, 52),))
        article = replace(HONEST, sections=(Section(SectionName.CAUSE, (Paragraph((claim,)),)), *HONEST.sections[1:]))
        assert ("private_term" in codes(article, EVIDENCE | {source.evidence.id: source})) is private


@pytest.mark.parametrize(
    ("text", "sound"),
    [
        ("# A\n\n## B\n\ntext\n", True),
        ("# A\n\n```\n<b>\n```\n", True),
        ("# A\n\n```\ncode\n", False),
        ("# A\n\n### C\n", False),
        ("# \n", False),
        ("# A\n\ntext <script>x</script>\n", False),
        ("# A\n\ntext `<script>`\n", True),
        ("# A\n\n| a | b |\n| --- | --- |\n| 1 |\n", False),
    ],
)
def test_markdown_faults(text: str, sound: bool) -> None:
    assert (markup_faults(text) == []) is sound
