"""What this package asks a reasoner, and what may be answered (spec 01, "The reasoner"; spec 06).

Answers choose only among what was shown: passages by their number, questions by theirs, places by theirs. Outside
text stands in `text`, `quote` and `title` fields alone. Sources are "S1", "S2", …, passages "P1", "P2", …,
questions "Q1", "Q2", … within one run; no internal id is ever shown.
"""

from __future__ import annotations

from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from articles.types import SectionName
from data.models import ArticleType, SourceClass
from research.reasoner import Answer, Request, Role

__all__ = [
    "AUTHOR",
    "BRIEF",
    "CLAIM_REVIEW",
    "CORRECT",
    "COVERAGE_REVIEW",
    "PLAN",
    "RECONSIDER",
    "ROLES",
    "ArticleDraft",
    "ArticleDraftRequest",
    "ArticlePlan",
    "ArticlePlanRequest",
    "BriefAnswer",
    "BriefEntry",
    "BriefRequest",
    "ClaimJudgement",
    "ClaimReview",
    "ClaimReviewRequest",
    "ClaimView",
    "Contradiction",
    "CorrectionBackground",
    "CorrectionRequest",
    "CoverageJudgement",
    "CoverageReview",
    "CoverageReviewRequest",
    "DraftCitation",
    "DraftClaim",
    "DraftFact",
    "DraftOption",
    "DraftSection",
    "DraftStep",
    "FindingView",
    "MustAnswer",
    "PassageView",
    "ReconsiderRequest",
    "Reconsideration",
    "SectionView",
]


class _View(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PassageView(_View):
    """One passage as it is shown: `text` is the evidence's full text from `start` to `end`."""

    id: str
    source: str
    start: int
    end: int
    kind: str
    headings: tuple[str, ...] = ()
    title: str = ""
    publisher: str = ""
    source_class: SourceClass = SourceClass.UNKNOWN
    text: str
    topic: float = 0.0
    """Share of the topic's words in the passage, its headings and its page."""
    relevance: float = 0.0
    """That, and how near its meaning is to the topic."""


class MustAnswer(_View):
    """A question the article has to answer. `section`: where its answer belongs."""

    id: str
    section: SectionName
    question: str
    required: bool
    """Asked by the type; the task's own questions are not required by structure, but count for coverage."""
    passages: tuple[str, ...] = ()


class ArticlePlanRequest(Request):
    topic: str
    questions: tuple[str, ...]
    language: str
    directives: tuple[str, ...]
    suggested: ArticleType | None
    earlier_rejections: tuple[str, ...]
    passages: tuple[PassageView, ...]


class ArticlePlan(Answer):
    type: Literal["troubleshooting", "how_to", "reference", "concept", "decision_guide", "skip"]
    reason: str


class BriefRequest(Request):
    topic: str
    type: ArticleType
    language: str
    directives: tuple[str, ...]
    questions: tuple[MustAnswer, ...]
    passages: tuple[PassageView, ...]


class BriefEntry(_View):
    question: str
    passages: tuple[str, ...]


class Contradiction(_View):
    """Two passages that cannot both be right; `subject` names what they differ about."""

    passages: tuple[str, str]
    subject: str


class BriefAnswer(Answer):
    answers: tuple[BriefEntry, ...]
    contradictions: tuple[Contradiction, ...] = ()


class DraftCitation(_View):
    """`quote` must stand verbatim in a shown passage of `source`; `start` tells which of several places."""

    source: str
    quote: str
    start: int | None = None


class DraftClaim(_View):
    text: str
    citations: tuple[DraftCitation, ...]
    lead_in: str = ""


class DraftStep(_View):
    text: str
    citations: tuple[DraftCitation, ...]
    code: str = ""
    lead_in: str = ""


class DraftFact(_View):
    term: str
    description: str
    citations: tuple[DraftCitation, ...]


class DraftOption(_View):
    name: str
    criteria: tuple[DraftClaim, ...]


class DraftSection(_View):
    name: SectionName
    paragraphs: tuple[tuple[DraftClaim, ...], ...] = ()
    steps: tuple[DraftStep, ...] = ()
    facts: tuple[DraftFact, ...] = ()
    options: tuple[DraftOption, ...] = ()


class ArticleDraft(Answer):
    title: str
    summary: tuple[DraftClaim, ...]
    applies_to: tuple[DraftFact, ...] = ()
    sections: tuple[DraftSection, ...]


class ArticleDraftRequest(Request):
    topic: str
    type: ArticleType
    language: str
    directives: tuple[str, ...]
    earlier_rejections: tuple[str, ...]
    required_sections: tuple[SectionName, ...]
    questions: tuple[MustAnswer, ...]
    passages: tuple[PassageView, ...]
    max_quote_words: int = Field(ge=1)


class ClaimView(_View):
    place: str
    kind: Literal["claim", "step", "fact"]
    text: str
    code: str = ""
    quotes: tuple[str, ...]


class ClaimReviewRequest(Request):
    language: str
    claims: tuple[ClaimView, ...]


class ClaimJudgement(_View):
    place: str
    verdict: Literal["supported", "partly", "unsupported", "contradicted"]
    reason: str


class ClaimReview(Answer):
    judgements: tuple[ClaimJudgement, ...]


class SectionView(_View):
    name: SectionName
    sentences: tuple[str, ...]


class CoverageReviewRequest(Request):
    topic: str
    language: str
    questions: tuple[MustAnswer, ...]
    sections: tuple[SectionView, ...]


class CoverageJudgement(_View):
    question: str
    verdict: Literal["answered", "partly", "missing"]
    reason: str


class CoverageReview(Answer):
    judgements: tuple[CoverageJudgement, ...]


class FindingView(_View):
    code: str
    place: str
    """`section.block.item`, the name of a section, or "" for the whole article."""
    detail: str


class CorrectionBackground(_View):
    """What explains the object of assessment and is not itself to be corrected (seed corrector, section 3)."""

    topic: str
    type: ArticleType
    language: str
    directives: tuple[str, ...]
    questions: tuple[MustAnswer, ...]
    passages: tuple[PassageView, ...]
    max_quote_words: int


class CorrectionRequest(Request):
    background: CorrectionBackground
    draft: ArticleDraft
    summary: str
    findings: tuple[FindingView, ...]
    round: int


class ReconsiderRequest(Request):
    topic: str
    questions: tuple[str, ...]
    language: str
    directives: tuple[str, ...]
    failed_type: ArticleType
    structure_errors: tuple[str, ...]
    passages: tuple[PassageView, ...]


class Reconsideration(Answer):
    """troubleshooting and how_to are not among the answers: an operational type is not tried twice."""

    type: Literal["reference", "concept", "decision_guide", "skip"]
    reason: str


PLAN: Final = Role("article_plan", ArticlePlanRequest, ArticlePlan, "articles/prompts/plan.md")
BRIEF: Final = Role("article_brief", BriefRequest, BriefAnswer, "articles/prompts/brief.md")
AUTHOR: Final = Role("article_author", ArticleDraftRequest, ArticleDraft, "articles/prompts/author.md", 0.3)
CLAIM_REVIEW: Final = Role("article_claim_review", ClaimReviewRequest, ClaimReview, "articles/prompts/claim_review.md")
COVERAGE_REVIEW: Final = Role(
    "article_coverage_review", CoverageReviewRequest, CoverageReview, "articles/prompts/coverage_review.md"
)
CORRECT: Final = Role("article_correct", CorrectionRequest, ArticleDraft, "articles/prompts/correct.md", 0.5)
RECONSIDER: Final = Role("article_reconsider", ReconsiderRequest, Reconsideration, "articles/prompts/reconsider.md")

ROLES: Final = (PLAN, BRIEF, AUTHOR, CLAIM_REVIEW, COVERAGE_REVIEW, CORRECT, RECONSIDER)
"""Every role of this package, in the order of a run; their prompts enter the fingerprint."""
