"""What relation research reports while it thinks (spec 04, 09): events `think.*`."""

from __future__ import annotations

from typing import Any

from data import events
from data.models import Event
from research.hits import ReadText
from research.pair_reasons import RETRIED, SAID_NO, Reason
from research.pair_record import PairRecord

__all__ = ["assessed", "planned", "rebuilt", "refused"]


def _ends(record: PairRecord) -> dict[str, Any]:
    return {
        "source": record.source.id,
        "target": record.target.id,
        "source_label": record.source.label,
        "target_label": record.target.label,
    }


def planned(record: PairRecord) -> Event:
    """Return what the planner said."""
    plan = record.plan
    assert plan is not None
    payload = {
        "related": plan.related,
        "relation_type": str(plan.relation_type),
        "needs_research": plan.needs_research,
        "confidence": plan.confidence,
        "reason": plan.reason,
    }
    return Event(events.THINK_RELATION_PLANNED, {**_ends(record), **payload})


def rebuilt(record: PairRecord) -> Event:
    """Return the query before and after the guard; the original is for the house's own eyes."""
    query = record.query
    assert query is not None
    payload = {"original": query.original, "query": query.query, "reason": query.reason}
    return Event(events.THINK_QUERY_REBUILT, {**_ends(record), **payload})


def assessed(record: PairRecord, text: ReadText) -> Event:
    """Return the judgement of one text that was read in full."""
    judged = text.assessment
    payload = {
        "url": text.document.url,
        "accepted": judged.accepted,
        "reason": judged.reject_reason,
        "relevance": judged.relevance,
        "source_quality": str(judged.source_quality),
        "source_quality_score": judged.source_quality_score,
        "why": judged.assessment_reason,
    }
    return Event(events.THINK_EVIDENCE_ASSESSED, {**_ends(record), **payload})


def refused(record: PairRecord, reason: Reason, *, relation: str | None = None, withdrawn: bool = False) -> list[Event]:
    """Return what reports a refusal: why, and how many hits came how far.

    `relation` is the one that joined the pair when it was looked at again, `withdrawn` tells whether it ended.
    """
    payload = {**_ends(record), "reason": str(reason), "why": record.error or "", **record.counts()}
    if relation is not None:
        payload |= {"relation": relation, "withdrawn": withdrawn}
    reported = []
    if reason is not Reason.NOT_RELATED:
        level = "warning" if reason in RETRIED else "info"
        reported.append(Event(events.THINK_INSUFFICIENT, payload, level=level))
    if reason in SAID_NO or withdrawn:
        reported.append(Event(events.THINK_RELATION_REJECTED, payload))
    return reported
