"""One look at the graph for gaps: what is found, what of it becomes a task, and why the rest does not (spec 05).

The scanner may look as often as it likes; it plans no more than the day can still do. Everything it finds is
stored with its decision, also on a day whose budget is used up.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from data.asked import forget_asked
from data.collecting import let_go, no_collections
from data.events import SCAN_STARTED
from data.graph import load_graph
from data.models import Event, Scan, ScanDecision, TaskOrigin
from data.nodes import nodes_by_ids
from data.progress import Progress, silent
from data.scans import record_scan, rejections_since
from data.store import Store
from data.tasks import Add, EnqueueDecision, QueueSnapshot, Reject, TaskRequest, load_snapshot
from research.admission import (
    ALREADY_ANSWERED,
    BUDGET_EXHAUSTED,
    FAILED_BEFORE,
    REFUSED_BY_OPERATOR,
    SEMANTIC_DUPLICATE,
    KnownIndex,
    decide_enqueue,
    request_shape,
)
from research.duplicates import dedupe_key
from research.labels import public_label
from research.opportunities import Opportunity, OpportunityPolicy, find
from research.plan import RESEARCH_PLAN, ResearchPlan, ResearchPlanRequest, SeedView
from research.queue import ResearchQueue
from research.read_nodes import read_nodes, reader_name
from research.reading import BODY_READ
from research.reasoner import Reasoner, ReasonerError

__all__ = ["PLAN_FAILED", "ScanPolicy", "look", "scan"]

PLAN_FAILED: Final = "plan_failed"
WAIT_FOR_BUDGET: Final = "wait_for_next_utc_day_or_finish_queue"
PLANNER_REFUSED: Final = "queue_by_hand_if_wanted"
"""What a refusal of the planner recommends; by it a later scan finds the refusal again."""

_RECOMMENDED: Final = {
    BUDGET_EXHAUSTED: WAIT_FOR_BUDGET,
    SEMANTIC_DUPLICATE: "wait_for_the_task_that_works_on_it",
    ALREADY_ANSWERED: "read_what_answers_it",
    REFUSED_BY_OPERATOR: "queue_by_hand_if_still_wanted",
    FAILED_BEFORE: "retry_the_failed_task",
    PLAN_FAILED: "wait_for_the_next_scan",
}
_DEALT_WITH: Final = frozenset({ALREADY_ANSWERED, REFUSED_BY_OPERATOR, SEMANTIC_DUPLICATE})
_BODY: Final = 600
"""Characters of a seed's body that the planner is shown: what a ticket is about stands at its beginning."""


@dataclass(frozen=True, slots=True)
class ScanPolicy:
    """What a scan looks for, and how long a refusal of the planner is remembered."""

    opportunities: OpportunityPolicy = field(default_factory=OpportunityPolicy)
    planner_memory: timedelta = timedelta(days=7)
    """A gap that the planner refused is not put to it again within this time: otherwise the best candidates, once
    refused, would be asked about at every scan, and those behind them never."""
    max_shown: int = 3_000
    """Decisions that the latest scan keeps: all that led to a task, and the best of the others; of earlier scans stay
    fewer (`data.scans.SHOWN`). The counts are of all."""


@dataclass(slots=True)
class _Verdict:
    """What becomes of one candidate."""

    decision: str
    reason: str | None = None
    action: str | None = None
    task_id: str | None = None


async def scan(
    store: Store,
    queue: ResearchQueue,
    reasoner: Reasoner,
    policy: ScanPolicy | None = None,
    *,
    directives: Sequence[str] = (),
    limit: int | None = None,
    progress: Progress = silent,
) -> Scan:
    """Look for gaps once and queue what the day can still do, at most `limit` tasks; return the stored scan.

    A planner that fails makes its candidates `plan_failed`, not the scan; errors of the store are raised.
    """
    policy = policy or ScanPolicy()
    started = store.clock.now()
    await store.log(Event(SCAN_STARTED, {"at": started.isoformat()}))
    await queue.consolidate(actor="scanner")
    gaps = await look(store, policy.opportunities, started, progress)
    budget = await queue.budget()
    verdicts: list[_Verdict] = []
    planned = 0
    if budget.remaining > 0:
        room = budget.remaining if limit is None else min(limit, budget.remaining)
        run = await _Run.begin(store, queue, reasoner, policy, started, directives)
        judged = await asyncio.to_thread(run.judge, gaps)
        for number, (gap, first) in enumerate(zip(gaps, judged, strict=True)):
            verdicts.append(await run.decide(gap, first, room=run.planned < room))
            progress("candidates", number + 1, len(gaps))
        planned = run.planned
    else:
        verdicts = [_rejected(BUDGET_EXHAUSTED) for _ in gaps]
    counted = Counter(verdict.decision for verdict in verdicts)
    finished = Scan(
        id=store.new_id("scan"),
        started_at=started,
        finished_at=store.clock.now(),
        candidates=len(gaps),
        planned=planned,
        created=counted["created"],
        merged=counted["merged"],
        rejected=dict(Counter(v.reason for v in verdicts if v.decision == "rejected" and v.reason)),
        budget={
            "remaining": budget.remaining,
            "max_per_day": budget.max_per_day,
            "completed_today": budget.completed_today,
            "active": budget.active,
        },
    )
    shown = _shown(verdicts, policy.max_shown)
    decisions = [_decision(finished.id, place, gaps[place], verdicts[place]) for place in shown]
    await store.write(
        record_scan,
        finished,
        decisions,
        forget_before=started - queue.policy.history,
        keep=(PLANNER_REFUSED,),
    )
    await _forget_settled(store, gaps, verdicts)
    return finished


async def look(
    store: Store, policy: OpportunityPolicy, now: datetime, progress: Progress = silent
) -> list[Opportunity]:
    """Return the gaps of the graph as it stands, best first; what has changed is read first, all off the event loop."""
    await read_nodes(store, policy.privacy, progress=progress)
    gaps = await store.read_bulk(_find, policy, now)
    progress("opportunities", len(gaps), len(gaps))
    return gaps


def _find(conn: Any, policy: OpportunityPolicy, now: datetime) -> list[Opportunity]:
    with no_collections():
        graph = load_graph(conn, now, reader=reader_name(policy.privacy), read_chars=BODY_READ)
        try:
            return find(graph, policy)
        finally:
            for rows in (graph.nodes, graph.vectors.ids, graph.relations.ids):
                let_go(rows)


@dataclass(slots=True)
class _Run:
    """One scan with budget: what it knows, and how many candidates it has put to the planner."""

    store: Store
    queue: ResearchQueue
    reasoner: Reasoner
    policy: ScanPolicy
    directives: tuple[str, ...]
    snapshot: QueueSnapshot
    refused: dict[str, str]
    planned: int = 0
    planner_down: bool = False

    @classmethod
    async def begin(
        cls,
        store: Store,
        queue: ResearchQueue,
        reasoner: Reasoner,
        policy: ScanPolicy,
        now: datetime,
        directives: Sequence[str],
    ) -> _Run:
        snapshot = await store.read_bulk(load_snapshot, now, queue.policy.history)
        earlier = await store.read(rejections_since, now - policy.planner_memory, PLANNER_REFUSED)
        refused = {dedupe_key(past.topic, past.seeds): past.rejection_reason or "" for past in earlier}
        return cls(store, queue, reasoner, policy, tuple(directives), snapshot, refused)

    def judge(self, gaps: Sequence[Opportunity]) -> list[EnqueueDecision]:
        """Judge all gaps on what the scan has read, to spare the planner. Computing: call it in a thread."""
        policy, snapshot = self.queue.policy, self.snapshot
        index = KnownIndex.of(snapshot, policy.duplicates)

        def judged(request: TaskRequest) -> EnqueueDecision:
            narrowed = index.narrowed(request_shape(request), snapshot.counts, snapshot.now, policy.history)
            return decide_enqueue(request, TaskOrigin.SCANNER, narrowed, policy)

        return [judged(_bare(gap)) for gap in gaps]

    async def decide(self, gap: Opportunity, first: EnqueueDecision, *, room: bool) -> _Verdict:
        """Return what becomes of `gap`; `room` says whether the day has room for another plan.

        The transaction that enqueues judges again on what is true by then.
        """
        if isinstance(first, Reject):
            return _rejected(first.reason, first.other)
        if not isinstance(first, Add):
            return await self._enqueue(_bare(gap))
        earlier = self.refused.get(dedupe_key(gap.topic, gap.seeds))
        if earlier is not None:
            return _Verdict("rejected", earlier, "wait_or_queue_by_hand")
        if not room:
            return _rejected(BUDGET_EXHAUSTED)
        if self.planner_down:
            return _rejected(PLAN_FAILED)
        return await self._plan(gap)

    async def _plan(self, gap: Opportunity) -> _Verdict:
        self.planned += 1
        try:
            plan = await self.reasoner.ask(RESEARCH_PLAN, await self._question(gap))
        except ReasonerError as error:
            self.planner_down = error.retryable
            return _rejected(PLAN_FAILED)
        if not plan.worthwhile:
            return _Verdict("rejected", plan.reason or "not_worthwhile", PLANNER_REFUSED)
        return await self._enqueue(self._request(gap, plan))

    async def _question(self, gap: Opportunity) -> ResearchPlanRequest:
        by_id = await self.store.read(nodes_by_ids, gap.seeds)
        seeds = tuple(
            SeedView(label=by_id[seed].label, kind=by_id[seed].kind, body=by_id[seed].body[:_BODY])
            for seed in gap.seeds
            if seed in by_id and by_id[seed].active
        )
        return ResearchPlanRequest(
            kind=gap.kind,
            topic=gap.topic,
            why=gap.why,
            score=min(1.0, max(0.0, gap.score)),
            language=gap.language,
            seeds=seeds,
            questions=gap.questions,
            article_type=gap.article_type,
            directives=self.directives,
        )

    def _request(self, gap: Opportunity, plan: ResearchPlan) -> TaskRequest:
        return TaskRequest(
            topic=public_label(plan.topic, self.policy.opportunities.privacy) or gap.topic,
            questions=plan.questions,
            seeds=gap.seeds,
            kind=gap.kind,
            article_type=plan.article_type,
            priority=plan.priority,
            language=gap.language,
        )

    async def _enqueue(self, request: TaskRequest) -> _Verdict:
        result = await self.queue.enqueue(request, TaskOrigin.SCANNER)
        task_id = result.task.id if result.task is not None else None
        if result.outcome == "merged":
            return _Verdict("merged", SEMANTIC_DUPLICATE, None, task_id)
        if result.outcome in {"created", "deferred"}:
            return _Verdict("created", None, None, task_id)
        return _rejected(result.reason, result.other)


def _bare(gap: Opportunity) -> TaskRequest:
    return TaskRequest(topic=gap.topic, questions=gap.questions, seeds=gap.seeds, kind=gap.kind, language=gap.language)


def _shown(verdicts: Sequence[_Verdict], limit: int) -> list[int]:
    """Return the places of the decisions that are kept, in order."""
    led = [place for place, verdict in enumerate(verdicts) if verdict.decision != "rejected"]
    # what was put to the planner must be kept: a later scan looks its refusals up
    led += [place for place, verdict in enumerate(verdicts) if verdict.action == PLANNER_REFUSED]
    rest = [place for place in range(len(verdicts)) if place not in set(led)]
    return sorted([*led, *rest[: max(0, limit - len(led))]])


def _rejected(reason: str, other: str | None = None) -> _Verdict:
    return _Verdict("rejected", reason, _RECOMMENDED.get(reason), other)


def _decision(scan_id: str, ordinal: int, gap: Opportunity, verdict: _Verdict) -> ScanDecision:
    return ScanDecision(
        scan_id=scan_id,
        ordinal=ordinal,
        kind=gap.kind,
        topic=gap.topic,
        seeds=gap.seeds,
        score=gap.score,
        why=gap.why,
        decision=verdict.decision,
        rejection_reason=verdict.reason,
        recommended_action=verdict.action,
        task_id=verdict.task_id,
    )


async def _forget_settled(store: Store, gaps: Sequence[Opportunity], verdicts: Sequence[_Verdict]) -> None:
    """Drop from the list of what was asked for the topics that are queued, answered or refused by now."""
    settled = [
        gap.topic
        for gap, verdict in zip(gaps, verdicts, strict=True)
        if gap.kind == "asked" and (verdict.decision != "rejected" or verdict.reason in _DEALT_WITH)
    ]
    if settled:
        await store.write(forget_asked, settled)
