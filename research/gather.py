"""Evidence for one research task: question by question, read in full, judged, and kept (spec 05).

    guard each question's query → search → scope → snippet gate → fetch → evidence gate → recorded

At most so many fetches in all; no page twice, whichever question it answered, and nothing again that an
earlier run of the same task has read. What was accepted is on disk and in the store before the next question
is asked, so that a crash loses no evidence.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from data.crud.engine import perform
from data.crud.evidence import EvidenceDraft, RecordEvidence
from data.crud.leases import DEFERRALS
from data.errors import StoreError
from data.events import THINK_EVIDENCE_ASSESSED, THINK_QUERY_REBUILT
from data.evidence import EvidenceFiles, EvidenceText, evidence_by_ids, evidence_by_owner, text_digest
from data.models import Event, Evidence, Label, Task
from data.nodes import nodes_by_ids
from data.store import Store
from data.text import identifiers, terms
from research.duplicates import merge_questions, same_topic
from research.gate import Assessment, shingles
from research.guard import GuardPolicy, guard_query
from research.hits import FetchBudget, ReadResult, ReadText, Shortfall
from research.labels import public_label
from research.private import DEFAULT_POLICY
from research.search.base import SearchState
from research.topic import Require

__all__ = ["GatherPolicy", "Gathered", "Gatherer", "Reader", "Report"]

Report = Callable[[str, Mapping[str, int]], Awaitable[None]]
"""Told the phase and the counts while the work goes on."""

NOTHING_SEARCHABLE: Final = "nothing_searchable"


class Reader(Protocol):
    """Who looks for texts and judges them (`research.hits.EvidenceReader`)."""

    async def read(
        self,
        query: str,
        labels: Sequence[Label],
        *,
        require: Require,
        questions: Sequence[str] = (),
        language: str = "und",
        budget: FetchBudget | None = None,
        directives: Sequence[str] = (),
        seen_urls: frozenset[str] = frozenset(),
        accepted: Sequence[Assessment] = (),
    ) -> ReadResult: ...


@dataclass(frozen=True, slots=True)
class GatherPolicy:
    """How much one task may look at."""

    max_fetches: int = 12
    """BRAIN_RESEARCH_MAX_FETCHES_PER_TASK."""
    fetches_each: int = 4
    """For one question, so that the first does not use up what the others need."""
    enough: int = 8
    """Accepted texts at which nothing further is fetched: more of them make no article better."""
    enough_each: int = 3
    hits: int = 20
    patience: int = 5
    """How often a task is put off because a page could not be read; a page that fails for hours will go on to."""
    max_labels: int = 4
    """The topic and the seeds' labels that speak of the same; more labels let in texts beside the topic."""
    privacy: GuardPolicy = DEFAULT_POLICY


@dataclass(frozen=True, slots=True)
class Gathered:
    """What was found for a task, earlier runs included. `refused` counts texts by reason, `fetches` this run's."""

    accepted: tuple[EvidenceText, ...]
    refused: Mapping[str, int]
    fetches: int
    queries: tuple[str, ...]
    outside_error: str | None
    """Set where nothing was accepted and something outside failed: no conclusion is allowed, only a later try."""
    incomplete: str | None
    """What failed outside, also where something was accepted: too little evidence then proves nothing."""
    reason: str | None
    """Why nothing was accepted and no later try is worth it: `nothing_searchable`, `no_hits`,
    `no_accepted_evidence`, or `fetch_failed` where it was tried often enough."""


@dataclass(slots=True)
class _Run:
    """The state of one gathering."""

    task: Task
    labels: tuple[Label, ...]
    anchors: tuple[Label, ...]
    directives: tuple[str, ...]
    fetches_left: int
    kept: dict[str, EvidenceText] = field(default_factory=dict)
    witnesses: list[Assessment] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    refused: Counter[str] = field(default_factory=Counter)
    shortfalls: list[Shortfall] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)
    fetches: int = 0
    hits: int = 0

    def counts(self) -> dict[str, int]:
        return {
            "queries": len(self.queries),
            "hits": self.hits,
            "fetches": self.fetches,
            "accepted": len(self.kept),
            "refused": sum(self.refused.values()),
        }


class Gatherer:
    """Gathers evidence for research tasks; holds no state of a task."""

    def __init__(self, store: Store, reader: Reader, files: EvidenceFiles, policy: GatherPolicy | None = None) -> None:
        self._store = store
        self._reader = reader
        self._files = files
        self._policy = policy or GatherPolicy()

    async def gather(self, task: Task, *, report: Report | None = None, directives: Sequence[str] = ()) -> Gathered:
        """Return the evidence for the task's topic and questions; raise StoreError, nothing else of the outside."""
        asked = merge_questions((task.topic,), task.questions, 1 + len(task.questions))
        return await self._run(task, asked, self._policy.max_fetches, report, directives)

    async def more(
        self,
        task: Task,
        questions: Sequence[str],
        *,
        fetches: int,
        report: Report | None = None,
        directives: Sequence[str] = (),
    ) -> Gathered:
        """Return the task's evidence after one further round on `questions` with a fetch budget of its own."""
        return await self._run(task, tuple(questions), fetches, report, directives)

    async def _run(
        self, task: Task, asked: Sequence[str], fetches: int, report: Report | None, directives: Sequence[str]
    ) -> Gathered:
        run = await self._begin(task, fetches, directives)
        enough = max(self._policy.enough, len(run.kept) + 1)
        for number, question in enumerate(asked):
            if run.fetches_left <= 0 or len(run.kept) >= enough:
                break
            if report is not None:
                await report("gathering", {**run.counts(), "question": number + 1, "questions": len(asked)})
            await self._ask(run, question, enough)
        if report is not None:
            await report("gathered", run.counts())
        return _gathered(run, self._policy.patience)

    async def _begin(self, task: Task, fetches: int, directives: Sequence[str]) -> _Run:
        """Take up what earlier runs of the task have read: accepted texts count, and no page is read twice."""
        nodes = await self._store.read(nodes_by_ids, task.seeds)
        seeds = [Label(seed, nodes[seed].label) for seed in task.seeds if seed in nodes]
        topic = Label(task.id, task.topic)
        labels = (topic, *self._on_topic(topic, seeds))
        run = _Run(task, labels, (topic, *seeds), tuple(directives), fetches)
        for evidence in await self._store.read(evidence_by_owner, _owner(task)):
            if not evidence.accepted:
                run.seen.update((evidence.url, evidence.final_url))
                run.refused[evidence.reject_reason or "refused"] += 1
                continue
            try:
                text = await asyncio.to_thread(self._files.get, evidence.sha256)
            except StoreError:
                continue  # a missing or altered text is never served as if it were whole: the page is read again
            run.seen.update((evidence.url, evidence.final_url))
            run.kept[evidence.id] = EvidenceText(evidence, text)
            run.witnesses.append(_witness(evidence, text))
        return run

    def _on_topic(self, topic: Label, seeds: Iterable[Label]) -> tuple[Label, ...]:
        """Return the seeds' public labels that speak of the topic itself: they let in texts in other words."""
        named = {item.value for item in identifiers(topic.text)}
        alike: list[Label] = []
        for seed in seeds:
            text = public_label(seed.text, self._policy.privacy)
            if not text or text == topic.text:
                continue
            if named & {item.value for item in identifiers(text)} or same_topic(topic.text, text):
                alike.append(Label(seed.id, text))
        return tuple(alike[: self._policy.max_labels - 1])

    async def _ask(self, run: _Run, question: str, enough: int) -> None:
        guarded = guard_query(question, anchors=run.anchors, topic=run.task.topic, policy=self._policy.privacy)
        if guarded.rebuilt:
            payload = {"task_id": run.task.id, "original": guarded.original, "query": guarded.query}
            await self._store.log(Event(THINK_QUERY_REBUILT, {**payload, "reason": guarded.reason}))
        if not guarded.query or _same_query(guarded.query, run.queries):
            return
        run.queries.append(guarded.query)
        result = await self._reader.read(
            guarded.query,
            run.labels,
            require="any",
            questions=run.task.questions if question == run.task.topic else (question,),
            language=run.task.language,
            budget=FetchBudget(
                hits=self._policy.hits,
                fetches=min(self._policy.fetches_each, run.fetches_left),
                enough=min(enough, len(run.witnesses) + self._policy.enough_each),
            ),
            directives=run.directives,
            seen_urls=frozenset(run.seen),
            accepted=tuple(run.witnesses),
        )
        run.fetches += result.fetches
        run.fetches_left -= result.fetches
        run.hits += len(result.trails)
        if result.shortfall is not None:
            run.shortfalls.append(result.shortfall)
        elif result.fetch_errors:
            run.shortfalls.append(Shortfall.FETCH_FAILED)
        if result.engines_failed and result.state is not SearchState.BLIND and not result.accepted:
            run.shortfalls.append(Shortfall.SEARCH_FAILED)
        run.seen.update(trail.url for trail in result.fetch_errors)
        await self._keep(run, result.texts)

    async def _keep(self, run: _Run, texts: Sequence[ReadText]) -> None:
        """Write accepted texts to files, then all judgements to the store in one verified write."""
        if not texts:
            return
        drafts = [await asyncio.to_thread(self._draft, text) for text in texts]
        events = tuple(_assessed(run.task, text) for text in texts)
        outcome = await perform(self._store, RecordEvidence(drafts, _owner(run.task), events), actor="gather")
        if not outcome.ok:
            raise StoreError(f"the evidence for task {run.task.id} could not be recorded: {outcome.message}")
        stored = await self._store.read(evidence_by_ids, list(outcome.result))
        for evidence_id, text in zip(outcome.result, texts, strict=True):
            run.seen.update((text.document.url, text.document.final_url))
            if text.assessment.accepted:
                run.kept[evidence_id] = EvidenceText(stored[evidence_id], text.document.text)
                run.witnesses.append(text.assessment)
            else:
                run.refused[text.assessment.reject_reason or "refused"] += 1

    def _draft(self, text: ReadText) -> EvidenceDraft:
        document, judged = text.document, text.assessment
        if judged.accepted:
            digest, path = self._files.put(document.text)
        else:
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


def _owner(task: Task) -> str:
    return f"task:{task.id}"


def _witness(evidence: Evidence, text: str) -> Assessment:
    """Return the judgement of a text accepted in an earlier run, for the independence of new ones."""
    return Assessment(
        url=evidence.url,
        accepted=True,
        reject_reason=None,
        relevance=evidence.relevance,
        source_quality=evidence.source_quality,
        source_quality_score=evidence.source_quality_score,
        assessment_reason=evidence.assessment_reason,
        grams=shingles(text),
    )


def _assessed(task: Task, text: ReadText) -> Event:
    judged = text.assessment
    return Event(
        THINK_EVIDENCE_ASSESSED,
        {
            "task_id": task.id,
            "url": text.document.final_url,
            "accepted": judged.accepted,
            "reason": judged.reject_reason,
            "relevance": judged.relevance,
            "source_quality": judged.source_quality.value,
            "source_quality_score": judged.source_quality_score,
        },
    )


def _same_query(query: str, earlier: Sequence[str]) -> bool:
    """Return whether a query asks with the same words as an earlier one: engines ignore their order."""
    said = _words(query)
    return any(_words(other) == said for other in earlier)


def _words(query: str) -> frozenset[str]:
    return frozenset(terms(query)) | {item.value for item in identifiers(query)}


def _gathered(run: _Run, patience: int) -> Gathered:
    failed = [fall for fall in run.shortfalls if fall in {Shortfall.SEARCH_FAILED, Shortfall.FETCH_FAILED}]
    order = tuple(Shortfall)
    incomplete = min(failed, key=order.index) if failed else None
    spent = int(run.task.progress.get(DEFERRALS, 0)) >= patience
    conclude = incomplete is None or (incomplete is Shortfall.FETCH_FAILED and spent)
    return Gathered(
        accepted=tuple(run.kept.values()),
        refused=dict(run.refused),
        fetches=run.fetches,
        queries=tuple(run.queries),
        outside_error=None if run.kept or conclude or incomplete is None else incomplete.value,
        incomplete=None if incomplete is None else incomplete.value,
        reason=_reason(run, incomplete) if conclude and not run.kept else None,
    )


def _reason(run: _Run, incomplete: Shortfall | None) -> str:
    if not run.queries:
        return NOTHING_SEARCHABLE
    if incomplete is not None:
        return incomplete.value
    if run.refused or Shortfall.NO_ACCEPTED_EVIDENCE in run.shortfalls:
        return Shortfall.NO_ACCEPTED_EVIDENCE.value
    return Shortfall.NO_HITS.value
