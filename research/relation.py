"""One thinking pair from plan to decision (spec 04). Read `RelationResearch.think` from top to bottom.

    plan → needs outside facts?
       no  → review on spans of the two nodes' own texts
       yes → query guard → search, scope, snippet gate, fetch, evidence gate (research.hits) → review
    → accepted and cited? → one verified write of relation and evidence

Every other way out is a refusal with a reason of the table "Fail closed"; an error is never read as "no", so
what failed is thought about again soon, and what was answered is not. Until the review has accepted, hits
and texts live in memory alone: a refusal leaves no node, edge, evidence row or file behind, only the pair's
decision, which says what happened.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

import structlog

from data import events
from data.crud.engine import WriteOutcome, perform
from data.crud.relations import AcceptedRelation
from data.errors import StoreError
from data.evidence import EvidenceFiles
from data.models import Event, Label, Node, PairDecision, PairState, RelationType
from data.nodes import nodes_by_ids
from data.pairs import CandidatePair, get_decision, pair_key, put_decision
from data.progress import Progress, silent
from data.store import Store, Tx
from research import relation_events
from research.connections import no_question
from research.evidence_keeping import KeptTexts
from research.guard import GuardPolicy, guard_query
from research.hits import EvidenceReader, FetchBudget, ReadText
from research.materialise import acceptance, draft
from research.own_text import own_passages
from research.pair_reasons import OUTSIDE, RETRIED, SAID_NO, Reason
from research.pair_record import PairRecord, refused_urls
from research.pairs import PairPolicy, open_pairs, translations
from research.reasoner import Reasoner, ReasonerError
from research.roles import (
    RELATION_PLAN,
    RELATION_REVIEW,
    NodeView,
    RelationPlanRequest,
    RelationReview,
    RelationReviewRequest,
    ShownPassage,
)

__all__ = ["PairOutcome", "RelationPolicy", "RelationResearch", "ThinkReport"]

log = structlog.get_logger(__name__)

ACTOR: Final = "thinking"
BATCH: Final = 50
MOST_LOOKED_AT: Final = 20
"""Pairs looked at in a pass for each one it may work on."""
STOP_AFTER: Final = 3
"""Pairs in a row that failed on the outside, after which a pass ends: the next one would fail as well."""


@dataclass(frozen=True, slots=True)
class RelationPolicy:
    """Knobs of relation research; retry times are those of spec 04."""

    budget: FetchBudget = field(default_factory=FetchBudget)
    error_backoff: timedelta = timedelta(minutes=10)
    error_backoff_max: timedelta = timedelta(days=1)
    insufficient_retry: timedelta = timedelta(days=7)
    rejected_retry: timedelta = timedelta(days=30)
    shown_body: int = 4_000
    """Characters of a node's text that a reasoner is shown."""
    shown_passage: int = 2_500


@dataclass(frozen=True, slots=True)
class PairOutcome:
    """How one pair ended. `detail` is what was stored for `brain pairs show`."""

    source_id: str
    target_id: str
    state: PairState
    reason: Reason
    relation_type: RelationType | None = None
    edge_id: str | None = None
    evidence: int = 0
    detail: Mapping[str, Any] = field(default_factory=dict)

    @property
    def asked(self) -> bool:
        """Tell whether the reasoner was asked, and not only the two labels looked at."""
        return self.reason is not Reason.NOT_RELATED or self.detail.get("plan") is not None

    @property
    def accepted(self) -> bool:
        return self.state is PairState.ACCEPTED


@dataclass(frozen=True, slots=True)
class ThinkReport:
    """One pass. `stopped` says why it ended before its pairs did, empty where it did not."""

    thought: int
    accepted: int
    by_reason: Mapping[str, int]
    stopped: str = ""
    outcomes: tuple[PairOutcome, ...] = ()


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two active nodes, lower id first, with their last decision."""

    source: Node
    target: Node
    last: PairDecision | None

    @property
    def labels(self) -> tuple[Label, Label]:
        return Label(self.source.id, self.source.label), Label(self.target.id, self.target.label)

    @property
    def unchanged(self) -> bool:
        """Tell whether the last decision was made on the present content."""
        return self.last is not None and (self.last.source_hash, self.last.target_hash) == (
            self.source.content_hash,
            self.target.content_hash,
        )


class RelationResearch:
    """Thinks about pairs. Collaborators are passed in; it keeps no state between pairs."""

    def __init__(
        self,
        store: Store,
        reasoner: Reasoner,
        reader: EvidenceReader,
        files: EvidenceFiles,
        *,
        policy: RelationPolicy | None = None,
        pairs: PairPolicy | None = None,
        guard: GuardPolicy | None = None,
        directives: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        self._store = store
        self._reasoner = reasoner
        self._reader = reader
        self._files = files
        self._policy = policy or RelationPolicy()
        self._pairs = pairs or PairPolicy()
        self._guard = guard or GuardPolicy()
        self._directives = directives

    async def think_pass(self, limit: int, progress: Progress = silent) -> ThinkReport:
        """Think about up to `limit` open pairs, one after the other, and report how they ended.

        Pairs whose labels alone forbid a question cost nothing and do not count, so that a corpus in two
        languages does not spend its passes on its own translations. Raises StoreError when the store cannot
        be written; nothing else ends a pass.
        """
        await self._store.log(Event(events.THINK_PASS_STARTED, {"limit": limit}))
        outcomes: list[PairOutcome] = []
        worked = failed_in_a_row = 0
        stopped = ""
        while worked < limit and not stopped and len(outcomes) < MOST_LOOKED_AT * limit:
            batch = await open_pairs(self._store, self._pairs, max(limit - worked, BATCH))
            for pair in batch:
                progress("thinking", worked, limit)
                outcome = await self._think_safely(pair)
                outcomes.append(outcome)
                worked += outcome.asked
                failed_in_a_row = failed_in_a_row + 1 if outcome.reason in OUTSIDE else 0
                if failed_in_a_row >= STOP_AFTER:
                    stopped = f"{failed_in_a_row} pairs in a row ended with {outcome.reason}"
                if stopped or worked >= limit:
                    break
            if not batch:
                break
        progress("thinking", worked, worked)
        counted = Counter(str(outcome.reason) for outcome in outcomes)
        accepted = sum(outcome.accepted for outcome in outcomes)
        payload = {"thought": len(outcomes), "accepted": accepted, "by_reason": dict(counted), "stopped": stopped}
        await self._store.log(Event(events.THINK_PASS_COMPLETED, payload))
        return ThinkReport(len(outcomes), accepted, dict(counted), stopped, tuple(outcomes))

    async def think(self, source_id: str, target_id: str, *, affinity: float | None = None) -> PairOutcome:
        """Think about one pair, in either order of its ids, and return its outcome, which is stored.

        Raises StoreError when the store cannot be read or written.
        """
        low, high = pair_key(source_id, target_id)
        pair = await self._load(low, high)
        if pair is None:
            return PairOutcome(low, high, PairState.REFUSED, Reason.INACTIVE_NODE)
        record = PairRecord(pair.source, pair.target)
        if translations(pair.source.source_uri, pair.target.source_uri):
            return await self._refuse(pair, record, Reason.NOT_RELATED, "one document in two languages")
        if why := no_question(self._view(pair.source), self._view(pair.target)):
            return await self._refuse(pair, record, Reason.NOT_RELATED, why)

        try:
            record.plan = plan = await self._reasoner.ask(RELATION_PLAN, self._plan_request(pair, affinity))
        except ReasonerError as error:
            return await self._refuse(pair, record, Reason.PLAN_FAILED, str(error))
        await self._store.log(relation_events.planned(record))
        if not plan.related:
            return await self._refuse(pair, record, Reason.NOT_RELATED, plan.reason)
        own = () if plan.needs_research else own_passages(self._view(pair.source), self._view(pair.target))
        if own:
            return await self._on_own_text(pair, record, own)

        record.query = guarded = guard_query(plan.query, anchors=pair.labels, policy=self._guard)
        if guarded.rebuilt:
            await self._store.log(relation_events.rebuilt(record))
        if not guarded.query:
            return await self._refuse(pair, record, Reason.NOTHING_SEARCHABLE, "no public term is left to ask with")
        record.read = read = await self._reader.read(
            guarded.query,
            pair.labels,
            require="all",
            questions=plan.questions,
            language=_common_language(pair.source, pair.target),
            budget=self._policy.budget,
            directives=self._directives(),
            seen_urls=refused_urls(pair.last) if pair.unchanged else frozenset(),
        )
        await self._store.log(*(relation_events.assessed(record, text) for text in read.texts))
        if read.shortfall is not None:
            return await self._refuse(pair, record, Reason(read.shortfall))

        shown, sources = self._shown(read.accepted)
        record.cited = {passage.id: sources[passage.id].document.url for passage in shown}
        try:
            record.review = review = await self._reasoner.ask(
                RELATION_REVIEW, self._review_request(pair, shown, own_text=False)
            )
        except ReasonerError as error:
            return await self._refuse(pair, record, Reason.REVIEW_FAILED, str(error))
        if reason := _objection(review, record.cited):
            return await self._refuse(pair, record, reason, review.rationale)
        cited = list({id(sources[mark]): sources[mark] for mark in review.cited}.values())
        return await self._accept(pair, record, review, cited)

    async def _on_own_text(self, pair: _Pair, record: PairRecord, own: tuple[ShownPassage, ...]) -> PairOutcome:
        """Decide on spans of the two nodes themselves: no outside fact was needed."""
        record.cited = {passage.id: f"{passage.title}: {passage.text}" for passage in own}
        try:
            record.review = review = await self._reasoner.ask(
                RELATION_REVIEW, self._review_request(pair, own, own_text=True)
            )
        except ReasonerError as error:
            return await self._refuse(pair, record, Reason.REVIEW_FAILED, str(error))
        if reason := _objection(review, record.cited):
            return await self._refuse(pair, record, reason, review.rationale)
        return await self._accept(pair, record, review, [])

    async def _accept(
        self, pair: _Pair, record: PairRecord, review: RelationReview, cited: Sequence[ReadText]
    ) -> PairOutcome:
        """Write relation and evidence in one verified operation; texts are kept before the rows that name them."""
        kept = KeptTexts(self._store, self._files)
        drafts = [await draft(kept, text) for text in cited]
        detail = record.detail()
        now, reasoner = self._store.clock.now(), self._reasoner.identity
        operation = acceptance(record, review, cited, drafts, detail, reasoner=reasoner, now=now)
        try:
            outcome = await perform(self._store, operation, actor=ACTOR)
        except StoreError:
            await kept.forget_unnamed()
            raise
        if not outcome.ok:
            await kept.forget_unnamed()
            reason = Reason.CHANGED if outcome.reason in {"content_changed", "inactive_node"} else Reason.WRITE_FAILED
            return await self._refuse(pair, record, reason, outcome.message)
        written = _written(outcome)
        return PairOutcome(
            pair.source.id,
            pair.target.id,
            PairState.ACCEPTED,
            Reason.ACCEPTED,
            operation.relation_type,
            written.edge_id,
            len(written.evidence_ids),
            detail,
        )

    async def _refuse(self, pair: _Pair, record: PairRecord, reason: Reason, why: str | None = None) -> PairOutcome:
        """Store the refusal with its reason and the time before which the pair rests; nothing else is written."""
        record.error = why
        retried = reason in RETRIED
        soon = retried or (_partly_blind(record) and reason not in SAID_NO)
        attempts = pair.last.attempts + 1 if soon and pair.unchanged and pair.last else int(soon)
        decision = PairDecision(
            source_id=pair.source.id,
            target_id=pair.target.id,
            source_hash=pair.source.content_hash,
            target_hash=pair.target.content_hash,
            state=PairState.RETRY if retried else PairState.REFUSED,
            reason=str(reason),
            query=record.query.original if record.query else "",
            rebuilt_query=record.query.query if record.query and record.query.rebuilt else None,
            attempts=attempts,
            retry_not_before=self._store.clock.now() + self._rest(reason, attempts),
            decided_at=self._store.clock.now(),
            detail=record.detail(),
        )
        await self._store.write(_put_refusal, decision, relation_events.refused(record, reason))
        return PairOutcome(decision.source_id, decision.target_id, decision.state, reason, detail=decision.detail)

    def _rest(self, reason: Reason, attempts: int) -> timedelta:
        """Return how long the pair rests: errors double from ten minutes to a day, answers rest for days."""
        if attempts:
            doubled: timedelta = self._policy.error_backoff * (1 << min(attempts - 1, 20))
            return min(doubled, self._policy.error_backoff_max)
        return self._policy.rejected_retry if reason in SAID_NO else self._policy.insufficient_retry

    async def _think_safely(self, pair: CandidatePair) -> PairOutcome:
        try:
            return await self.think(pair.source_id, pair.target_id, affinity=pair.affinity or None)
        except StoreError:
            raise
        except Exception as error:  # a fault in one pair must not keep the others from being thought about
            log.exception("think.pair_failed", source=pair.source_id, target=pair.target_id)
            loaded = await self._load(pair.source_id, pair.target_id)
            if loaded is None:
                return PairOutcome(pair.source_id, pair.target_id, PairState.REFUSED, Reason.INACTIVE_NODE)
            why = f"{type(error).__name__}: {error}"
            return await self._refuse(loaded, PairRecord(loaded.source, loaded.target), Reason.ERROR, why)

    async def _load(self, low: str, high: str) -> _Pair | None:
        found = await self._store.read(nodes_by_ids, (low, high))
        if len(found) < 2 or not all(node.active for node in found.values()):
            return None
        return _Pair(found[low], found[high], await self._store.read(get_decision, low, high))

    def _view(self, node: Node) -> NodeView:
        body = node.body[: self._policy.shown_body]
        return NodeView(label=node.label, kind=node.kind, body=body, language=node.language)

    def _plan_request(self, pair: _Pair, affinity: float | None) -> RelationPlanRequest:
        return RelationPlanRequest(
            source=self._view(pair.source),
            target=self._view(pair.target),
            affinity=affinity,
            directives=tuple(self._directives()),
        )

    def _review_request(
        self, pair: _Pair, passages: tuple[ShownPassage, ...], *, own_text: bool
    ) -> RelationReviewRequest:
        return RelationReviewRequest(
            source=self._view(pair.source),
            target=self._view(pair.target),
            passages=passages,
            own_text=own_text,
            directives=tuple(self._directives()),
        )

    def _shown(self, texts: Sequence[ReadText]) -> tuple[tuple[ShownPassage, ...], dict[str, ReadText]]:
        """Return the accepted passages under marks of this one review, and the text behind each mark."""
        shown: list[ShownPassage] = []
        sources: dict[str, ReadText] = {}
        for text in texts:
            for passage in text.assessment.passages:
                mark = f"E{len(shown) + 1}"
                sources[mark] = text
                shown.append(
                    ShownPassage(
                        id=mark,
                        title=text.document.title,
                        publisher=text.document.publisher,
                        heading="" if passage.heading in passage.text else passage.heading,
                        text=passage.text[: self._policy.shown_passage],
                    )
                )
        return tuple(shown), sources


def _objection(review: RelationReview, shown: Mapping[str, str]) -> Reason | None:
    """Return why a review's answer is no acceptance, or None: it must cite, and only what it was shown."""
    if not review.accept:
        return Reason.REVIEW_REJECTED
    if not review.cited or any(mark not in shown for mark in review.cited):
        return Reason.UNCITED
    return None


def _partly_blind(record: PairRecord) -> bool:
    """Tell whether some engines failed: that the others knew nothing is then no answer for a week."""
    return record.read is not None and bool(record.read.engines_failed)


def _common_language(source: Node, target: Node) -> str:
    return source.language if source.language == target.language else "und"


def _written(outcome: WriteOutcome) -> AcceptedRelation:
    if not isinstance(outcome.result, AcceptedRelation):
        raise TypeError(f"an accepted relation should report its ids, got {type(outcome.result).__name__}")
    return outcome.result


def _put_refusal(tx: Tx, decision: PairDecision, reported: Sequence[Event]) -> None:
    put_decision(tx, decision)
    for event in reported:
        tx.emit(event)
