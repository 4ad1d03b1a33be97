"""Claims against their citations, questions against the article, and what the corrector reads."""

from __future__ import annotations

import pytest

from articles.agreement import agreement, verdict
from articles.quality import Finding
from articles.review import (
    ReviewPolicy,
    claim_result,
    claim_review_request,
    coverage_result,
    judge_claims,
    judge_coverage,
    review_summary,
)
from articles.roles import (
    ClaimReview,
    ClaimReviewRequest,
    ClaimView,
    CoverageReview,
    CoverageReviewRequest,
    MustAnswer,
    SectionView,
)
from articles.types import SectionName
from data.models import ArticleType
from research.reasoner import InvalidAnswer
from tests.articles.corpus import VPN, evidence
from tests.articles.runs import EMBEDDER, written

QUOTE = "Postfix 3.7 keeps a deferred message for 5 days and does not bounce it before."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Postfix 3.7 keeps a deferred message for 5 days and does not bounce it before.", "supported"),
        ("Postfix 3.7 keeps a deferred message for 7 days and does not bounce it before.", "contradicted"),
        ("Postfix 3.8 keeps a deferred message for 5 days and does not bounce it before.", "contradicted"),
        ("Postfix 3.7 keeps a deferred message for 5 days and does bounce it before.", "contradicted"),
        ("For 5 days Postfix 3.7 keeps a deferred message, and it does not bounce the message before.", "supported"),
        ("The keyboard layout of the terminal can be changed in the boot menu.", "unsupported"),
        ("Postfix keeps a deferred message in `/var/spool/mail`.", "unsupported"),
    ],
)
def test_verdicts(text: str, expected: str) -> None:
    assert verdict(agreement(text, [QUOTE], "en"), 1.0)[0] == expected


def test_a_german_negation_counts() -> None:
    quote = "Der Dienst startet ohne die Datei nicht."
    assert verdict(agreement("Der Dienst startet mit der Datei.", [quote], "de"), 1.0)[0] == "contradicted"


def test_an_answer_must_judge_every_claim_once() -> None:
    request = ClaimReviewRequest(
        language="en", claims=(ClaimView(place="a.0.0", kind="claim", text="x", quotes=("x",)),)
    )
    with pytest.raises(InvalidAnswer):
        claim_result(request, ClaimReview(judgements=()), "d", ReviewPolicy())
    answer = judge_claims(request, EMBEDDER)
    with pytest.raises(InvalidAnswer):
        claim_result(request, ClaimReview(judgements=answer.judgements * 2), "d", ReviewPolicy())


def test_one_contradicted_claim_fails_a_review_of_twenty() -> None:
    good = [ClaimView(place=f"a.0.{n}", kind="claim", text=QUOTE, quotes=(QUOTE,)) for n in range(19)]
    bad = ClaimView(place="a.0.19", kind="claim", text=QUOTE.replace("5", "6"), quotes=(QUOTE,))
    request = ClaimReviewRequest(language="en", claims=(*good, bad))
    result = claim_result(request, judge_claims(request, EMBEDDER), "d", ReviewPolicy())
    assert result.score == pytest.approx(0.95)
    assert not result.passed
    assert [finding.code for finding in result.findings] == ["claim_contradicted"]


def test_an_honest_article_passes_the_claim_review() -> None:
    article, _ = written("VPN error 809 on Windows 11", "en", ArticleType.TROUBLESHOOTING, evidence(*VPN))
    request = claim_review_request(article)
    result = claim_result(request, judge_claims(request, EMBEDDER), "d", ReviewPolicy())
    assert result.passed
    assert result.score == 1.0


def question(number: int, section: SectionName, text: str, *, required: bool) -> MustAnswer:
    return MustAnswer(id=f"Q{number}", section=section, question=text, required=required)


def coverage(*questions: MustAnswer, sections: tuple[SectionView, ...]) -> CoverageReview:
    return judge_coverage(
        CoverageReviewRequest(topic="Postfix queue", language="en", questions=questions, sections=sections)
    )


def test_coverage_judges_sections_and_specific_questions() -> None:
    sections = (
        SectionView(name=SectionName.CAUSE, sentences=("The queue grows because the disk is slow.",)),
        SectionView(name=SectionName.SOLUTION_STEPS, sentences=("Stop it.", "Start it.")),
        SectionView(name=SectionName.DETAILS, sentences=("A deferred message is kept for five days.",)),
    )
    answer = coverage(
        question(1, SectionName.CAUSE, "cause?", required=True),
        question(2, SectionName.SOLUTION_STEPS, "steps?", required=True),
        question(3, SectionName.SYMPTOMS, "symptoms?", required=True),
        question(4, SectionName.DETAILS, "How long is a deferred message kept?", required=False),
        question(5, SectionName.DETAILS, "Which bandwidth does the replication need?", required=False),
        question(6, SectionName.DETAILS, "What does CVE-2024-3094 change?", required=False),
        sections=sections,
    )
    assert [judgement.verdict for judgement in answer.judgements] == [
        "answered",
        "partly",
        "missing",
        "answered",
        "missing",
        "missing",
    ]


def test_coverage_passes_at_four_of_five() -> None:
    questions = tuple(question(n, SectionName.CAUSE, "cause?", required=True) for n in range(1, 5))
    missing = question(5, SectionName.SYMPTOMS, "symptoms?", required=True)
    sections = (SectionView(name=SectionName.CAUSE, sentences=("It grows because the disk is slow.",)),)
    for asked, passed in (((*questions, missing), True), ((*questions[:3], missing), False)):
        request = CoverageReviewRequest(topic="t", language="en", questions=asked, sections=sections)
        assert coverage_result(request, judge_coverage(request), "d", ReviewPolicy()).passed is passed


def test_computed_findings_come_first_in_the_summary() -> None:
    article, brief = written("VPN error 809 on Windows 11", "en", ArticleType.TROUBLESHOOTING, evidence(*VPN))
    request = claim_review_request(article)
    judged = judge_claims(request, EMBEDDER)
    spoiled = ClaimReview(
        judgements=tuple(one.model_copy(update={"verdict": "unsupported"}) for one in judged.judgements)
    )
    review = claim_result(request, spoiled, "d", ReviewPolicy())
    text = review_summary([Finding("number_not_in_evidence", "cause.0.0", "4600")], review)
    lines = text.splitlines()
    assert lines[0] == "COMPUTED number_not_in_evidence at cause.0.0: 4600"
    assert all(line.startswith("REVIEW claim_unsupported") for line in lines[1:])
    assert brief.missing == ()
