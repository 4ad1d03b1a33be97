"""One thinking pair from plan to decision (spec 04). Read `RelationResearch.think` from top to bottom.

    plan → needs outside facts?
       no  → review on spans of the two nodes' own texts
       yes → query guard → search, scope, snippet gate, fetch, evidence gate (research.hits) → review
    → accepted and cited? → one verified write of relation and evidence

Every other way out is a refusal with a reason of the table "Fail closed"; an error is never read as "no", so
what failed is thought about again soon, and what was answered is not. Until the review has accepted, hits
and texts live in memory alone: a refusal leaves no node, edge, evidence row or file behind, only the pair's
decision, which says what happened. Where a relation that stands is looked at again, an answer that refuses it
withdraws it, and an error lets it stand (`research.refusal`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import structlog

from data import events
from data.crud.engine import WriteOutcome, perform
from data.crud.relations import AcceptedRelation
from data.errors import StoreError
from data.evidence import EvidenceFiles
from data.models import Event, Node, PairState
from data.pairs import CandidatePair, pair_key
from data.progress import Progress, silent
from data.store import Store
from research import relation_events
from research.connections import no_question
from research.evidence_keeping import KeptTexts
from research.guard import GuardPolicy, guard_query
from research.hits import EvidenceReader, ReadText
from research.materialise import acceptance, draft
from research.own_text import own_passages
from research.pair_outcome import PairOutcome, RelationPolicy, ThinkingPair, load_pair
from research.pair_reasons import OUTSIDE, Reason
from research.pair_record import PairRecord, refused_urls
from research.pairs import PairPolicy, open_pairs, translations
from research.reasoner import Reasoner, ReasonerError
from research.refusal import ACTOR, refuse
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

BATCH: Final = 50
MOST_LOOKED_AT: Final = 20
"""Pairs looked at in a pass for each one it may work on."""
STOP_AFTER: Final = 3
"""Pairs in a row that failed on the outside, after which a pass ends: the next one would fail as well."""


@dataclass(frozen=True, slots=True)
class ThinkReport:
    """One pass. `stopped` says why it ended before its pairs did, empty where it did not."""

    thought: int
    accepted: int
    by_reason: Mapping[str, int]
    stopped: str = ""
    outcomes: tuple[PairOutcome, ...] = ()


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

    async def think_pass(
        self, limit: int, progress: Progress = silent, *, stopping: Callable[[], bool] = lambda: False
    ) -> ThinkReport:
        """Think about up to `limit` open pairs, one after the other, and report how they ended.

        Pairs whose labels alone forbid a question cost nothing and do not count, so that a corpus in two
        languages does not spend its passes on its own translations. Raises StoreError when the store cannot
        be written; nothing else ends a pass but `stopping`, which is asked before each pair.
        """
        await self._store.log(Event(events.THINK_PASS_STARTED, {"limit": limit}))
        outcomes: list[PairOutcome] = []
        worked = failed_in_a_row = 0
        stopped = ""
        while worked < limit and not stopped and len(outcomes) < MOST_LOOKED_AT * limit:
            batch = await open_pairs(self._store, self._pairs, max(limit - worked, BATCH))
            for pair in batch:
                if stopping():
                    stopped = "the process was asked to end"
                    break
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
        pair = await load_pair(self._store, low, high)
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

    async def _on_own_text(self, pair: ThinkingPair, record: PairRecord, own: tuple[ShownPassage, ...]) -> PairOutcome:
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
        self, pair: ThinkingPair, record: PairRecord, review: RelationReview, cited: Sequence[ReadText]
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
            detail=detail,
        )

    async def _refuse(
        self, pair: ThinkingPair, record: PairRecord, reason: Reason, why: str | None = None
    ) -> PairOutcome:
        return await refuse(self._store, self._policy, pair, record, reason, why)

    async def _think_safely(self, pair: CandidatePair) -> PairOutcome:
        try:
            return await self.think(pair.source_id, pair.target_id, affinity=pair.affinity or None)
        except StoreError:
            raise
        except Exception as error:  # a fault in one pair must not keep the others from being thought about
            log.exception("think.pair_failed", source=pair.source_id, target=pair.target_id)
            loaded = await load_pair(self._store, pair.source_id, pair.target_id)
            if loaded is None:
                return PairOutcome(pair.source_id, pair.target_id, PairState.REFUSED, Reason.INACTIVE_NODE)
            why = f"{type(error).__name__}: {error}"
            return await self._refuse(loaded, PairRecord(loaded.source, loaded.target), Reason.ERROR, why)

    def _view(self, node: Node) -> NodeView:
        body = node.body[: self._policy.shown_body]
        return NodeView(label=node.label, kind=node.kind, body=body, language=node.language)

    def _plan_request(self, pair: ThinkingPair, affinity: float | None) -> RelationPlanRequest:
        return RelationPlanRequest(
            source=self._view(pair.source),
            target=self._view(pair.target),
            affinity=affinity,
            directives=tuple(self._directives()),
        )

    def _review_request(
        self, pair: ThinkingPair, passages: tuple[ShownPassage, ...], *, own_text: bool
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


def _common_language(source: Node, target: Node) -> str:
    return source.language if source.language == target.language else "und"


def _written(outcome: WriteOutcome) -> AcceptedRelation:
    if not isinstance(outcome.result, AcceptedRelation):
        raise TypeError(f"an accepted relation should report its ids, got {type(outcome.result).__name__}")
    return outcome.result
