"""Is a gap worth a task, and what is to be found out? The role `research_plan` (spec 05, 06).

The extractive handler plans by the words of the topic and the kinds of the nodes it was seen in: what names
no subject is refused, the expected type of article is told by `research.intent`, the questions by
`research.questions`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Self

from pydantic import Field, model_validator

from data.models import ArticleType, NodeKind
from data.text import IdentifierClass, identifiers, terms
from research.intent import expected_type
from research.questions import questions_for
from research.reasoner import Answer, Handler, Request, Role
from research.vocabulary import NAME_WEIGHT, ORDINARY_WEIGHT, word_weight

__all__ = ["RESEARCH_PLAN", "ResearchPlan", "ResearchPlanRequest", "SeedView", "plan_handlers", "plan_research"]


class SeedView(Request):
    """A node in which the gap was seen, without its id; `body` is cut to what a request may hold."""

    label: str
    kind: NodeKind
    body: str = ""


class ResearchPlanRequest(Request):
    """One gap as the planner sees it."""

    kind: str
    topic: str
    why: str
    score: float = Field(ge=0.0, le=1.0)
    language: str = "und"
    seeds: tuple[SeedView, ...] = ()
    questions: tuple[str, ...] = ()
    """What was asked literally; it is kept."""
    article_type: ArticleType | None = None
    directives: tuple[str, ...] = ()


class ResearchPlan(Answer):
    """What is to be found out, or why nothing is."""

    worthwhile: bool
    topic: str = ""
    questions: tuple[str, ...] = Field(default=(), max_length=5)
    article_type: ArticleType | None = None
    priority: int = Field(default=50, ge=0, le=100)
    reason: str

    @model_validator(mode="after")
    def _asks_something(self) -> Self:
        if self.worthwhile and not (self.topic.strip() and any(question.strip() for question in self.questions)):
            raise ValueError("a worthwhile plan names its topic and asks at least one question")
        return self


RESEARCH_PLAN: Final = Role("research_plan", ResearchPlanRequest, ResearchPlan, "research/prompts/research_plan.md")


def plan_handlers() -> Mapping[str, Handler]:
    """Return the extractive handler of this role, by name."""
    return {RESEARCH_PLAN.name: plan_research}


def plan_research(request: ResearchPlanRequest) -> ResearchPlan:
    """Plan by rule. The reason is a stable word where nothing is worthwhile, else a sentence."""
    topic = " ".join(request.topic.split())
    refusal = _not_worthwhile(request, topic)
    if refusal:
        return ResearchPlan(worthwhile=False, topic=topic, reason=refusal)
    article_type = request.article_type or expected_type(topic, {seed.kind for seed in request.seeds})
    questions = request.questions or questions_for(topic, article_type, request.language)
    return ResearchPlan(
        worthwhile=True,
        topic=topic,
        questions=questions[:5],
        article_type=article_type,
        priority=_priority(request),
        reason=f"{request.why} Expected: {article_type.value.replace('_', ' ')}.",
    )


# ------------------------------------------------------------------------------------------ worthwhile?


def _not_worthwhile(request: ResearchPlanRequest, topic: str) -> str:
    """Return why the gap is not worth a task, or nothing.

    What a person or an agent asked for, and what keeps an approved article true, is worth it wherever it
    can be searched at all.
    """
    found = identifiers(topic)
    products = [word for item in found for word in item.product.split()]
    weights = [word_weight(term) for term in dict.fromkeys((*terms(topic, "und"), *products))]
    named = [item for item in found if item.cls is not IdentifierClass.VERSION]
    if not weights and not found:
        return "nothing_searchable"
    if request.kind in {"asked", "stale"}:
        return ""
    names = sum(weight >= NAME_WEIGHT for weight in weights)
    ordinary = sum(weight == ORDINARY_WEIGHT for weight in weights)
    if not named and names + ordinary < 2 and not (names and len(weights) > 1):
        return "too_vague"
    if request.kind == "weak_bridge" and not _bridged(request):
        return "no_shared_subject"
    return ""


def _bridged(request: ResearchPlanRequest) -> bool:
    """Return whether both ends of a bridge speak of one thing: a shared name or identifier in their labels."""
    said = []
    for seed in request.seeds:
        names = {term for term in terms(seed.label, "und") if word_weight(term) >= NAME_WEIGHT}
        said.append(names | {item.value for item in identifiers(seed.label)})
    return len(said) >= 2 and bool(frozenset.intersection(*map(frozenset, said)))


def _priority(request: ResearchPlanRequest) -> int:
    """Return 0 to 100 from the score: 20 for the weakest gap, so that a person's 0 stays the lowest."""
    return round(20 + 75 * request.score)
