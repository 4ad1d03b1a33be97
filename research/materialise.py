"""From an accepting review to the one verified write (spec 04, "Materialising")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import structlog

from data.crud.evidence import EvidenceDraft
from data.crud.relations import INTERNAL_RELATION, RESEARCHED_RELATION, AcceptRelation
from data.errors import StoreUnavailable
from data.evidence import text_digest
from data.models import PairDecision, PairState, RelationType
from research.evidence_keeping import KeptTexts
from research.hits import ReadText
from research.pair_reasons import Reason
from research.pair_record import PairRecord
from research.roles import Direction, RelationReview
from research.topic import TOPIC_GUARD

__all__ = ["acceptance", "draft"]

log = structlog.get_logger(__name__)

UNDIRECTED: Final = frozenset({RelationType.RELATED_TO, RelationType.VARIANT_OF, RelationType.CONTRADICTS})


async def draft(kept: KeptTexts, text: ReadText) -> EvidenceDraft:
    """Keep the full text and return its evidence row; a text that cannot be kept is recorded without a path."""
    document, judged = text.document, text.assessment
    try:
        digest, path = await kept.keep(document.text)
    except StoreUnavailable as error:  # said in the relation's metadata (fulltext=absent), never hidden
        log.warning("think.fulltext_absent", url=document.url, error=str(error))
        digest, path = text_digest(document.text), ""
    return EvidenceDraft(
        url=document.url,
        final_url=document.final_url,
        title=document.title,
        publisher=document.publisher,
        language=document.language,
        published_at=document.published_at,
        fetched_at=text.fetched_at,
        sha256=digest,
        path=path,
        chars=len(document.text),
        accepted=judged.accepted,
        reject_reason=judged.reject_reason,
        relevance=judged.relevance,
        source_quality=judged.source_quality,
        source_quality_score=judged.source_quality_score,
        assessment_reason=judged.assessment_reason,
    )


def acceptance(
    record: PairRecord,
    review: RelationReview,
    cited: Sequence[ReadText],
    drafts: Sequence[EvidenceDraft],
    detail: Mapping[str, Any],
    *,
    reasoner: str,
    now: datetime,
) -> AcceptRelation:
    """Return the one write that makes the relation: `drafts` are the rows of the `cited` texts, in that order."""
    source, target = record.source, record.target
    if review.relation_type not in UNDIRECTED and review.direction is Direction.TARGET_TO_SOURCE:
        source, target = target, source
    sent = record.query.query if record.query else ""
    meta: dict[str, Any] = {
        "validation_state": RESEARCHED_RELATION if cited else INTERNAL_RELATION,
        "query": sent,
        "reasoner": reasoner,
        "topic_guard": TOPIC_GUARD,
    }
    if not cited:
        meta["spans"] = [record.cited[mark] for mark in review.cited]
    decision = PairDecision(
        source_id=record.source.id,
        target_id=record.target.id,
        source_hash=record.source.content_hash,
        target_hash=record.target.content_hash,
        state=PairState.ACCEPTED,
        reason=str(Reason.ACCEPTED),
        query=record.query.original if record.query else "",
        rebuilt_query=sent if record.query and record.query.rebuilt else None,
        attempts=0,
        retry_not_before=None,
        decided_at=now,
        detail=detail,
    )
    return AcceptRelation(
        source_id=source.id,
        target_id=target.id,
        relation_type=review.relation_type,
        confidence=review.confidence,
        rationale=review.rationale,
        evidence=drafts,
        meta=meta,
        source_hash=source.content_hash,
        target_hash=target.content_hash,
        decision=decision,
        passages={draft.sha256: text.assessment.passages[0].text for draft, text in zip(drafts, cited, strict=True)},
    )
