"""`GET /opportunities`: knowledge gaps of the latest scan, with what was decided about each and why (spec 05, 09)."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from brain.api.problems import problem, problem_responses
from brain.gaps import BadCursor, gaps_page
from data.store import Store

__all__ = ["opportunity_routes"]

_MOST: Final = 500
Kind = Literal["asked", "stale", "missing_reference", "uncovered_cluster", "orphan", "weak_bridge"]


class Seed(BaseModel):
    """A node in which a gap was seen."""

    id: str
    kind: str | None = Field(description="Null where the node is gone.")
    title: str | None
    active: bool


class Gap(BaseModel):
    """A gap and what was decided about it."""

    rank: int = Field(description="Place in the scan's list, 1 for the best.")
    kind: Kind
    topic: str
    score: float = Field(ge=0.0, le=1.0)
    why: str = Field(description="A sentence.")
    seeds: list[Seed]
    decision: Literal["created", "merged", "rejected"]
    rejection_reason: str | None = Field(examples=["daily_budget_exhausted"])
    recommended_action: str | None = Field(examples=["wait_for_next_utc_day_or_finish_queue"])
    task_id: str | None
    task_state: str | None = Field(description="The state of that task now.")


class ScanSummary(BaseModel):
    """The scan that found them; its counts are of all its candidates."""

    id: str
    started_at: datetime
    finished_at: datetime
    candidates: int
    planned: int
    created: int
    merged: int
    rejected: dict[str, int] = Field(description="Rejected candidates by reason.")
    budget: dict[str, int]


class Opportunities(BaseModel):
    """A page of gaps, best first."""

    scan: ScanSummary | None = Field(description="Null before the first scan.")
    by_kind: dict[str, int]
    opportunities: list[Gap]
    next: str | None = Field(description="The cursor of the next page, null on the last one.")


def opportunity_routes(store: Store) -> APIRouter:
    """Return the route over an open store."""
    routes = APIRouter(tags=["research"])

    @routes.get(
        "/opportunities",
        summary="Knowledge gaps of the latest scan, and what was decided about each",
        response_model=Opportunities,
        responses=problem_responses(
            bad_request="The cursor is unknown, or its scan is no longer kept.",
            unprocessable_entity="A parameter does not fit.",
        ),
    )
    async def opportunities(
        kind: Annotated[Kind | None, Query(description="Only gaps of this kind.")] = None,
        limit: Annotated[int, Query(ge=1, le=_MOST, description="Gaps on a page.")] = 50,
        cursor: Annotated[str | None, Query(max_length=100, description="`next` of the page before.")] = None,
    ) -> Any:
        try:
            page = await gaps_page(store, kind=kind, limit=limit, cursor=cursor)
        except BadCursor as error:
            return problem(400, str(error))
        return page.document()

    return routes
