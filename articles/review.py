"""Claim review and coverage review: what is asked, how the answers count, and the extractive judges (spec 06).

The claim review passes with nothing contradicted and nine claims in ten supported, the coverage review with eight
must-answer questions in ten answered. An answer that leaves a claim or a question out is no answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from articles.agreement import agreement, verdict
from articles.cues import cue
from articles.plaintext import plain
from articles.quality import Finding
from articles.relevance import Nearness, index_of, overlap, question_terms, specific_terms
from articles.roles import (
    ClaimJudgement,
    ClaimReview,
    ClaimReviewRequest,
    ClaimView,
    CoverageJudgement,
    CoverageReview,
    CoverageReviewRequest,
    MustAnswer,
    SectionView,
)
from articles.types import (
    MIN_FACTS,
    MIN_OPTIONS,
    MIN_SOLUTION_STEPS,
    Article,
    Fact,
    SectionName,
    Step,
    item_text,
    items,
    section_items,
)
from data.text import identifiers
from research.reasoner import InvalidAnswer
from vector.embed import Embedder

__all__ = [
    "ReviewPolicy",
    "ReviewResult",
    "claim_result",
    "claim_review_request",
    "coverage_result",
    "coverage_review_request",
    "judge_claims",
    "judge_coverage",
    "review_summary",
]


@dataclass(frozen=True, slots=True)
class ReviewPolicy:
    min_supported: float = 0.9
    min_answered: float = 0.8


@dataclass(frozen=True, slots=True)
class ReviewResult:
    """One review of one content. `digest` is the content digest it was made on: it passes no other."""

    kind: Literal["claims", "coverage"]
    passed: bool
    score: float
    findings: tuple[Finding, ...]
    digest: str

    def rows(self) -> tuple[Mapping[str, Any], ...]:
        return tuple({"code": f.code, "place": f.place, "detail": f.detail} for f in self.findings)


def claim_review_request(article: Article) -> ClaimReviewRequest:
    """Return every claim, step and fact of the article with the quotes it cites."""
    claims = []
    for place, item in items(article):
        claims.append(
            ClaimView(
                place=place,
                kind="step" if isinstance(item, Step) else "fact" if isinstance(item, Fact) else "claim",
                text=item_text(item),
                code=item.code if isinstance(item, Step) else "",
                quotes=tuple(citation.quote for citation in item.citations),
            )
        )
    return ClaimReviewRequest(language=article.language, claims=tuple(claims))


def claim_result(request: ClaimReviewRequest, answer: ClaimReview, digest: str, policy: ReviewPolicy) -> ReviewResult:
    """Return what the claim review comes to; raise InvalidAnswer where it does not judge each claim once."""
    judged = {judgement.place: judgement for judgement in answer.judgements}
    places = [claim.place for claim in request.claims]
    if sorted(judgement.place for judgement in answer.judgements) != sorted(places):
        raise InvalidAnswer("article_claim_review", "the answer does not judge every claim exactly once")
    supported = sum(judged[place].verdict == "supported" for place in places)
    score = supported / len(places) if places else 0.0
    findings = tuple(
        Finding(f"claim_{judged[place].verdict}", place, judged[place].reason)
        for place in places
        if judged[place].verdict != "supported"
    )
    contradicted = any(finding.code == "claim_contradicted" for finding in findings)
    return ReviewResult("claims", not contradicted and score >= policy.min_supported, score, findings, digest)


def coverage_review_request(article: Article, questions: Sequence[MustAnswer]) -> CoverageReviewRequest:
    """Return the must-answer questions and the sentences of each section, the summary's with the first section."""
    sections = [
        SectionView(name=section.name, sentences=tuple(_shown(item) for _, item in section_items(section)))
        for section in article.sections
    ]
    if sections and article.summary:
        first = sections[0]
        extended = (*(claim.text for claim in article.summary), *first.sentences)
        sections[0] = SectionView(name=first.name, sentences=extended)
    return CoverageReviewRequest(
        topic=article.topic, language=article.language, questions=tuple(questions), sections=tuple(sections)
    )


def _shown(item: object) -> str:
    if isinstance(item, Step) and item.code:
        return f"{item.text} {item.code}"
    return item_text(item)  # type: ignore[arg-type]


def coverage_result(
    request: CoverageReviewRequest, answer: CoverageReview, digest: str, policy: ReviewPolicy
) -> ReviewResult:
    """Return what the coverage review comes to; raise InvalidAnswer where it does not judge each question once."""
    judged = {judgement.question: judgement for judgement in answer.judgements}
    ids = [question.id for question in request.questions]
    if sorted(judgement.question for judgement in answer.judgements) != sorted(ids):
        raise InvalidAnswer("article_coverage_review", "the answer does not judge every question exactly once")
    answered = sum(judged[one].verdict == "answered" for one in ids)
    score = answered / len(ids) if ids else 0.0
    findings = tuple(
        Finding(f"question_{judged[question.id].verdict}", question.section.value, question.question)
        for question in request.questions
        if judged[question.id].verdict != "answered"
    )
    return ReviewResult("coverage", score >= policy.min_answered, score, findings, digest)


def review_summary(computed: Sequence[Finding], *reviews: ReviewResult) -> str:
    """Return the summary that the corrector reads: what was computed first, then what the reviewers say."""
    lines = [f"COMPUTED {finding.code} at {finding.place or 'article'}: {finding.detail}" for finding in computed]
    for review in reviews:
        lines += [
            f"REVIEW {finding.code} at {finding.place or 'article'}: {finding.detail}"
            for finding in review.findings
            if not review.passed
        ]
    return "\n".join(lines)


# -- the extractive judges ----------------------------------------------------------------------------------------


def judge_claims(request: ClaimReviewRequest, embedder: Embedder) -> ClaimReview:
    """Return a verdict on each claim by agreement with its quotes; meaning is embedded only where words differ."""
    found = [agreement(claim.text, claim.quotes, request.language, claim.code) for claim in request.claims]
    open_ = [claim for claim, one in zip(request.claims, found, strict=True) if not one.verbatim and claim.quotes]
    near = None
    if open_:
        near = Nearness(embedder, [claim.text for claim in open_], [_quoted(claim) for claim in open_])
    judgements = []
    for claim, one in zip(request.claims, found, strict=True):
        if not claim.quotes:
            judgements.append(ClaimJudgement(place=claim.place, verdict="unsupported", reason="it cites nothing"))
            continue
        cosine = near(claim.text, _quoted(claim)) if near is not None and not one.verbatim else 1.0
        judged, reason = verdict(one, cosine)
        judgements.append(ClaimJudgement(place=claim.place, verdict=judged, reason=reason))
    return ClaimReview(judgements=tuple(judgements))


def _quoted(claim: ClaimView) -> str:
    return " ".join(plain(quote) for quote in claim.quotes)


ANSWERED: Final = 0.5
"""Share of a task question's specific terms that its two best sentences must hold."""
PARTLY: Final = 0.3
_LEAST: Final[Mapping[SectionName, int]] = {
    SectionName.SOLUTION_STEPS: MIN_SOLUTION_STEPS,
    SectionName.FACTS: MIN_FACTS,
    SectionName.OPTIONS: MIN_OPTIONS,
}


def judge_coverage(request: CoverageReviewRequest) -> CoverageReview:
    """Return a verdict on each question: the type's own by their section, the task's by the words they ask about."""
    sections = {section.name: section.sentences for section in request.sections}
    judgements = []
    for question in request.questions:
        if question.required:
            judged, reason = _by_section(question, sections, request.language)
        else:
            judged, reason = _by_words(question, request.topic, sections, request.language)
        judgements.append(CoverageJudgement(question=question.id, verdict=judged, reason=reason))
    return CoverageReview(judgements=tuple(judgements))


_Covered = tuple[Literal["answered", "partly", "missing"], str]


def _by_section(question: MustAnswer, sections: Mapping[SectionName, Sequence[str]], language: str) -> _Covered:
    sentences = sections.get(question.section, ())
    least = _LEAST.get(question.section, 1)
    if not sentences:
        return "missing", "its section is not there"
    if len(sentences) < least:
        return "partly", f"{len(sentences)} of {least} parts"
    counted = question.section in _LEAST or question.section is SectionName.VALIDATION_STEPS
    if counted or any(cue(question.section, sentence, language) > 0 for sentence in sentences):
        return "answered", f"{len(sentences)} sentences of its kind"
    return "partly", "no sentence of its kind"


def _by_words(
    question: MustAnswer, topic: str, sections: Mapping[SectionName, Sequence[str]], language: str
) -> _Covered:
    wanted = specific_terms(question.question, topic, language) or question_terms(question.question, language)
    every = [sentence for sentences in sections.values() for sentence in sentences]
    named = {item.value for item in identifiers(question.question)}
    held = {item.value for sentence in every for item in identifiers(sentence)}
    if named - held:
        return "missing", f"{', '.join(sorted(named - held))} does not occur"
    if not wanted:
        return ("answered", "its identifiers occur") if named else ("missing", "it asks about nothing")
    ranked = sorted(every, key=lambda sentence: -overlap(wanted, index_of(sentence)))[:2]
    share = overlap(wanted, frozenset().union(*(index_of(sentence) for sentence in ranked)))
    if share >= ANSWERED:
        return "answered", f"{share:.0%} of its terms in two sentences"
    return ("partly" if share >= PARTLY else "missing"), f"{share:.0%} of its terms in two sentences"
