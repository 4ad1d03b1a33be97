"""The two roles of relation research, with what they are asked and what they may answer (spec 04).

Neither request holds an internal id: nodes are shown by label, kind and text, passages by the mark they
were given for this one review ("E1"), and an answer can cite nothing but such a mark.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, Self

from pydantic import Field, model_validator

from data.models import NodeKind, RelationType
from research.reasoner import Answer, Request, Role

__all__ = [
    "RELATION_PLAN",
    "RELATION_REVIEW",
    "Direction",
    "NodeView",
    "RelationPlan",
    "RelationPlanRequest",
    "RelationReview",
    "RelationReviewRequest",
    "ShownPassage",
]


class Direction(StrEnum):
    """Which way a relation reads; `undirected` for related_to, contradicts and variant_of."""

    SOURCE_TO_TARGET = "source_to_target"
    TARGET_TO_SOURCE = "target_to_source"
    UNDIRECTED = "undirected"


class NodeView(Request):
    """A node as a reasoner sees it; `body` is cut to what a request may hold."""

    label: str
    kind: NodeKind
    body: str
    language: str = "und"


class RelationPlanRequest(Request):
    source: NodeView
    target: NodeView
    affinity: float | None = None
    """Of the vector edge, where the pair has one: why the two are looked at, never why they are related."""
    directives: tuple[str, ...] = ()


class RelationPlan(Answer):
    """Whether two nodes may be related, and what would show it."""

    related: bool
    relation_type: RelationType = RelationType.RELATED_TO
    direction: Direction = Direction.UNDIRECTED
    needs_research: bool = True
    query: str = ""
    questions: tuple[str, ...] = Field(default=(), max_length=3)
    confidence: float = Field(ge=0.0, le=1.0)
    reason: str

    @model_validator(mode="after")
    def _asks_something(self) -> Self:
        if self.related and self.needs_research and not any(question.strip() for question in self.questions):
            raise ValueError("a related pair that needs research needs at least one question")
        return self


class ShownPassage(Request):
    """One passage the reviewer may cite by `id`; its text is quoted material, whatever it says."""

    id: str
    title: str
    publisher: str
    heading: str = ""
    text: str


class RelationReviewRequest(Request):
    source: NodeView
    target: NodeView
    passages: tuple[ShownPassage, ...]
    own_text: bool = False
    """True where the passages are spans of the two nodes themselves and no outside facts were needed."""
    directives: tuple[str, ...] = ()


class RelationReview(Answer):
    accept: bool
    relation_type: RelationType = RelationType.RELATED_TO
    direction: Direction = Direction.UNDIRECTED
    confidence: float = Field(ge=0.0, le=1.0)
    cited: tuple[str, ...] = ()
    """Ids of shown passages that carry the decision."""
    rationale: str


RELATION_PLAN: Final = Role("relation_plan", RelationPlanRequest, RelationPlan, "research/prompts/relation_plan.md")
RELATION_REVIEW: Final = Role(
    "relation_review", RelationReviewRequest, RelationReview, "research/prompts/relation_review.md"
)
