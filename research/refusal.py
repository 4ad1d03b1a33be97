"""What a pair that is not accepted leaves behind: its decision and why, and nothing else (spec 04, "Fail closed").

An answer (nobody knew, no text passed, the review said no) refuses the pair, and withdraws the relation that
joined it until now. A fault of the outside or of this program is no answer: the pair is thought about again
soon, and a relation that stands goes on standing, with a note that the new look has not come about yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final

import structlog

from data.crud.engine import perform
from data.crud.relations import WithdrawRelation
from data.models import Edge, Event, PairDecision, PairState
from data.pairs import ASKED, put_decision
from data.store import Store, Tx
from research import relation_events
from research.pair_outcome import PairOutcome, RelationPolicy, ThinkingPair
from research.pair_reasons import RETRIED, SAID_NO, Reason
from research.pair_record import PairRecord

__all__ = ["ACTOR", "refuse"]

log = structlog.get_logger(__name__)

ACTOR: Final = "thinking"


async def refuse(
    store: Store,
    policy: RelationPolicy,
    pair: ThinkingPair,
    record: PairRecord,
    reason: Reason,
    why: str | None = None,
) -> PairOutcome:
    """Store the refusal with its reason and the time before which the pair rests, and return it.

    Raises StoreError when the store cannot be written.
    """
    record.error = why
    soon = reason in RETRIED or (_partly_blind(record) and reason not in SAID_NO)
    decision = _refusal(store, policy, pair, record, reason, soon=soon)
    if pair.relation is None:
        await store.write(_put, decision, relation_events.refused(record, reason))
        return PairOutcome(decision.source_id, decision.target_id, decision.state, reason, detail=decision.detail)
    if soon:
        return await _stands(store, policy, pair, pair.relation, record, reason)
    return await _withdraw(store, policy, pair, pair.relation, record, decision)


def _refusal(
    store: Store, policy: RelationPolicy, pair: ThinkingPair, record: PairRecord, reason: Reason, *, soon: bool
) -> PairDecision:
    attempts = pair.last.attempts + 1 if soon and pair.unchanged and pair.last else int(soon)
    now = store.clock.now()
    return PairDecision(
        source_id=pair.source.id,
        target_id=pair.target.id,
        source_hash=pair.source.content_hash,
        target_hash=pair.target.content_hash,
        state=PairState.RETRY if reason in RETRIED else PairState.REFUSED,
        reason=str(reason),
        query=record.query.original if record.query else "",
        rebuilt_query=record.query.query if record.query and record.query.rebuilt else None,
        attempts=attempts,
        retry_not_before=now + _rest(policy, reason, attempts),
        decided_at=now,
        detail=record.detail(),
    )


async def _stands(
    store: Store, policy: RelationPolicy, pair: ThinkingPair, relation: Edge, record: PairRecord, reason: Reason
) -> PairOutcome:
    """Leave the relation and what led to it as they are; note the attempt, and when there may be another one."""
    now, last = store.clock.now(), pair.last
    if last is None or last.reason == ASKED:
        # Whose decision is not there any more is due until there is one: no content has an empty hash.
        blank = PairDecision(pair.source.id, pair.target.id, "", "", PairState.ACCEPTED, str(Reason.ACCEPTED), "", None,
                             0, None, relation.created_at, {} if last is None else last.detail)  # fmt: skip
        last = replace(blank, attempts=0 if last is None else last.attempts)
    attempts = last.attempts + 1
    again = now + _rest(policy, reason, attempts)
    look = {"at": now.isoformat(), "reason": str(reason), "attempts": attempts, **record.detail()}
    decision = replace(last, attempts=attempts, retry_not_before=again, detail={**last.detail, "reexamination": look})
    reported = relation_events.refused(record, reason, relation=relation.id, withdrawn=False)
    await store.write(_put, decision, reported)
    return PairOutcome(
        decision.source_id,
        decision.target_id,
        PairState.RETRY,
        reason,
        relation.relation_type,
        relation.id,
        detail=decision.detail,
    )


async def _withdraw(
    store: Store,
    policy: RelationPolicy,
    pair: ThinkingPair,
    relation: Edge,
    record: PairRecord,
    decision: PairDecision,
) -> PairOutcome:
    """Take the relation back and store the refusal, in one verified write."""
    reason = Reason(decision.reason)
    reported = relation_events.refused(record, reason, relation=relation.id, withdrawn=True)
    operation = WithdrawRelation(relation.id, f"reexamined: {reason}", decision, tuple(reported))
    outcome = await perform(store, operation, actor=ACTOR)
    if outcome.reason == "not_found":  # somebody else took it back meanwhile: a refusal as any other
        await store.write(_put, decision, relation_events.refused(record, reason))
        return PairOutcome(decision.source_id, decision.target_id, decision.state, reason, detail=decision.detail)
    if not outcome.ok:
        log.warning("think.not_withdrawn", relation=relation.id, reason=outcome.reason, message=outcome.message)
        record.error = outcome.message
        failed = Reason.CHANGED if outcome.reason == "content_changed" else Reason.WRITE_FAILED
        return await _stands(store, policy, pair, relation, record, failed)
    return PairOutcome(
        decision.source_id,
        decision.target_id,
        decision.state,
        reason,
        relation.relation_type,
        relation.id,
        withdrawn=True,
        detail=decision.detail,
    )


def _rest(policy: RelationPolicy, reason: Reason, attempts: int) -> timedelta:
    """Return how long the pair rests: errors double from ten minutes to a day, answers rest for days."""
    if attempts:
        doubled: timedelta = policy.error_backoff * (1 << min(attempts - 1, 20))
        return min(doubled, policy.error_backoff_max)
    return policy.rejected_retry if reason in SAID_NO else policy.insufficient_retry


def _partly_blind(record: PairRecord) -> bool:
    """Tell whether some engines failed: that the others knew nothing is then no answer for a week."""
    return record.read is not None and bool(record.read.engines_failed)


def _put(tx: Tx, decision: PairDecision, reported: Sequence[Event]) -> None:
    put_decision(tx, decision)
    for event in reported:
        tx.emit(event)
