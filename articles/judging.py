"""Quality, reviews and the correction loop of one run (spec 06, "Reviews and the correction loop")."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from articles.brief import KnowledgeBrief
from articles.codec import content_digest
from articles.correct import UNTOUCHED_CHANGED, criticised_parts, finding_views, untouched_changes
from articles.drafts import article_from_draft, draft_from_article
from articles.policies import ArticlePolicy
from articles.quality import Finding, QualityPolicy, QualityReport, cpu_quality
from articles.review import (
    ReviewPolicy,
    ReviewResult,
    claim_result,
    claim_review_request,
    coverage_result,
    coverage_review_request,
    review_summary,
)
from articles.roles import CLAIM_REVIEW, CORRECT, COVERAGE_REVIEW, CorrectionBackground, CorrectionRequest
from articles.run import RunEnded, RunState, counted
from articles.types import Article, structure_errors
from data.events import ARTICLE_CORRECTED, ARTICLE_CPU_QUALITY_COMPLETED, ARTICLE_REVIEW_COMPLETED
from data.models import Event
from data.store import Store
from research.reasoner import Reasoner
from vector.embed import Embedder

__all__ = ["Judged", "Judging", "lacking_questions", "structure_findings"]


@dataclass(frozen=True)
class Judged:
    """One content with everything that was found about it."""

    article: Article
    digest: str
    structure: tuple[str, ...]
    quality: QualityReport
    reviews: tuple[ReviewResult, ReviewResult]

    @property
    def passed(self) -> bool:
        return not self.structure and self.quality.passed and all(review.passed for review in self.reviews)


class Judging:
    """Judges an article, and has it corrected at most as often as the policy allows; holds no state of a run."""

    def __init__(self, store: Store, reasoner: Reasoner, embedder: Embedder, policy: ArticlePolicy) -> None:
        self._store = store
        self._reasoner = reasoner
        self._embedder = embedder
        self._policy = policy
        self._quality = QualityPolicy(max_quote_words=policy.max_quote_words, guard=policy.guard)
        self._reviews = ReviewPolicy()

    async def judge_and_correct(self, run: RunState, article: Article, brief: KnowledgeBrief) -> Judged:
        judged = await self._judge(run, article, brief, 0)
        violation: tuple[Finding, ...] = ()
        for round_ in range(1, self._policy.max_corrections + 1):
            if judged.passed:
                break
            corrected, violation = await self._correct(run, judged, brief, violation, round_)
            if not violation:
                judged = await self._judge(run, corrected, brief, round_)
        if not judged.passed:
            raise RunEnded("correction_exhausted", self._why_not(judged))
        return judged

    async def _judge(self, run: RunState, article: Article, brief: KnowledgeBrief, round_: int) -> Judged:
        evidence = dict(run.evidence)
        digest = content_digest(article)
        quality = await asyncio.to_thread(cpu_quality, article, evidence, self._quality, embedder=self._embedder)
        await self._store.log(
            Event(
                ARTICLE_CPU_QUALITY_COMPLETED,
                run.payload(
                    round=round_,
                    passed=quality.passed,
                    score=round(quality.score, 4),
                    findings=counted(finding.code for finding in quality.findings),
                ),
            )
        )
        claims = claim_review_request(article)
        coverage = coverage_review_request(article, brief.questions)
        reviews = (
            claim_result(claims, await self._reasoner.ask(CLAIM_REVIEW, claims), digest, self._reviews),
            coverage_result(coverage, await self._reasoner.ask(COVERAGE_REVIEW, coverage), digest, self._reviews),
        )
        await self._store.log(
            *(
                Event(
                    ARTICLE_REVIEW_COMPLETED,
                    run.payload(
                        round=round_,
                        kind=review.kind,
                        passed=review.passed,
                        score=round(review.score, 4),
                        findings=counted(finding.code for finding in review.findings),
                    ),
                )
                for review in reviews
            )
        )
        return Judged(article, digest, tuple(structure_errors(article)), quality, reviews)

    async def _correct(
        self, run: RunState, judged: Judged, brief: KnowledgeBrief, violation: tuple[Finding, ...], round_: int
    ) -> tuple[Article, tuple[Finding, ...]]:
        """Return the corrected article, or the old one with findings where the correction went beyond what was asked.

        Computed findings come first in the summary; the corrector reads nothing else.
        """
        computed = (*violation, *structure_findings(judged.structure), *judged.quality.findings)
        said = tuple(finding for review in judged.reviews if not review.passed for finding in review.findings)
        findings = (*computed, *said)
        request = CorrectionRequest(
            background=CorrectionBackground(
                topic=run.request.topic,
                type=judged.article.type,
                language=run.request.language,
                directives=run.request.directives,
                questions=brief.questions,
                passages=tuple(brief.shelf.passages),
                max_quote_words=self._policy.max_quote_words,
            ),
            draft=draft_from_article(judged.article, brief.shelf),
            summary=review_summary(computed, *judged.reviews),
            findings=finding_views(findings),
            round=round_,
        )
        draft = await self._reasoner.ask(CORRECT, request)
        article = article_from_draft(
            draft, brief.shelf, topic=run.request.topic, type_=judged.article.type, language=run.request.language
        )
        changed = untouched_changes(judged.article, article, criticised_parts(findings, judged.article))
        await self._store.log(
            Event(
                ARTICLE_CORRECTED,
                run.payload(round=round_, findings=counted(f.code for f in findings), untouched_changed=changed),
            )
        )
        run.log["correction_round"] = round_
        if changed:
            return judged.article, tuple(
                Finding(UNTOUCHED_CHANGED, part, "it was not criticised and must stay as it is") for part in changed
            )
        return article, ()

    def _why_not(self, judged: Judged) -> dict[str, Any]:
        return {
            "structure": list(judged.structure),
            "quality": judged.quality.as_json(),
            "reviews": {
                review.kind: {"passed": review.passed, "score": round(review.score, 4), "findings": list(review.rows())}
                for review in judged.reviews
            },
        }


_SECTION_OF: Final[Mapping[str, str]] = {
    "insufficient_solution_steps": "solution_steps",
    "missing_validation_steps": "validation_steps",
    "too_few_facts": "facts",
    "too_few_options": "options",
}


def structure_findings(errors: Sequence[str]) -> tuple[Finding, ...]:
    """Return structure errors as findings at their sections."""
    found = []
    for error in errors:
        code, _, name = error.partition(":")
        found.append(Finding(code, name or _SECTION_OF.get(code, ""), "the type demands it"))
    return tuple(found)


def lacking_questions(brief: KnowledgeBrief, errors: Sequence[str]) -> tuple[str, ...]:
    """Return the questions whose sections the structure check found wanting."""
    sections = {finding.place for finding in structure_findings(errors)}
    return tuple(question.question for question in brief.questions if question.section.value in sections)
