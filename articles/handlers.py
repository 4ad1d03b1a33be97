"""The extractive handlers of this package's roles; brain/runtime hands them to the reasoner."""

from __future__ import annotations

from collections.abc import Mapping

from articles.author import write_article
from articles.briefing import answer_brief
from articles.correct import correct_draft
from articles.planning import plan_article, reconsider_type
from articles.review import judge_claims, judge_coverage
from articles.roles import AUTHOR, BRIEF, CLAIM_REVIEW, CORRECT, COVERAGE_REVIEW, PLAN, RECONSIDER
from research.private import DEFAULT_POLICY, GuardPolicy
from research.reasoner import Handler
from vector.embed import Embedder

__all__ = ["article_handlers"]


def article_handlers(embedder: Embedder, guard: GuardPolicy = DEFAULT_POLICY) -> Mapping[str, Handler]:
    """Return role name → handler. `guard` names what must not stand in an article's title or text."""
    return {
        PLAN.name: plan_article,
        BRIEF.name: answer_brief,
        AUTHOR.name: lambda request: write_article(request, embedder, guard),
        CLAIM_REVIEW.name: lambda request: judge_claims(request, embedder),
        COVERAGE_REVIEW.name: judge_coverage,
        CORRECT.name: lambda request: correct_draft(request, embedder, guard),
        RECONSIDER.name: reconsider_type,
    }
