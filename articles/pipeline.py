"""One synthesis run, from topic and evidence to a staged article or a named reason (spec 06).

    plan → brief (with one round of more research) → draft → structure
         → (once: another type, from a new brief on) → quality and reviews → (correct, at most twice) → gates → staged

Whatever the run comes to is an attempt in the store. An error of the outside ends it as `outside_error`, which
blocks no other attempt; every other end is a reason, and nothing lowers a gate.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from articles.brief import BriefPolicy, KnowledgeBrief, brief_from_answer, brief_request, must_answer, shelve
from articles.codec import article_to_content
from articles.drafts import Shelf, article_from_draft
from articles.fingerprint import PIPELINE, blocking_attempt, fingerprint
from articles.gates import evidence_reason, final_reasons
from articles.judging import Judged, Judging, lacking_questions
from articles.phrases import LANGUAGES
from articles.policies import ArticlePolicy
from articles.render import render_markdown
from articles.roles import AUTHOR, BRIEF, PLAN, RECONSIDER, ArticleDraftRequest, ArticlePlanRequest, ReconsiderRequest
from articles.run import (
    MoreEvidence,
    MoreResearch,
    RunEnded,
    RunState,
    SynthesisRequest,
    SynthesisResult,
    whole_texts,
)
from articles.types import OPERATIONAL, REQUIRED_SECTIONS, Article, cited_evidence, structure_errors, topic_key
from data.articles import active_article, attempts_with, rejection_reasons
from data.crud.articles import AttemptDraft, RecordAttempt, ReviewDraft, StageArticle
from data.crud.engine import perform
from data.errors import StoreError
from data.events import (
    ARTICLE_BRIEF_COMPLETED,
    ARTICLE_DRAFTED,
    ARTICLE_PLANNED,
    ARTICLE_REJECTED,
    ARTICLE_TYPE_RECONSIDERED,
)
from data.models import ArticleType, Event
from data.store import Store
from research.reasoner import InvalidAnswer, Reasoner, ReasonerError
from vector.embed import Embedder, EmbeddingError

__all__ = ["MoreEvidence", "MoreResearch", "Synthesis", "SynthesisRequest", "SynthesisResult"]

ACTOR: Final = "synthesis"
RECONSIDERABLE: Final = frozenset({"insufficient_solution_steps", "missing_validation_steps"})
RECONSIDERED_TO: Final = frozenset({"reference", "concept", "decision_guide", "skip"})
SHOWN_TO_PLANNER: Final = 40
"""Passages, the nearest to the topic."""


class Synthesis:
    """Writes articles out of accepted evidence; holds no state of a run."""

    def __init__(
        self,
        store: Store,
        reasoner: Reasoner,
        embedder: Embedder,
        policy: ArticlePolicy | None = None,
    ) -> None:
        self._store = store
        self._reasoner = reasoner
        self._embedder = embedder
        self._policy = policy or ArticlePolicy()
        self._judging = Judging(store, reasoner, embedder, self._policy)
        self._brief = BriefPolicy()

    async def run(self, request: SynthesisRequest, more: MoreResearch | None = None) -> SynthesisResult:
        """Return what became of `request`; raise StoreError where the store itself fails, nothing of the outside.

        `more` is asked at most once, for what the brief lacks.
        """
        run = await self._begin(request, more)
        try:
            self._check_request(run)
            if (earlier := await self._repeated(run)) is not None:
                return earlier
            return await self._write(run)
        except RunEnded as end:
            return await self._record(run, end)
        except (ReasonerError, EmbeddingError) as error:
            return await self._record(run, RunEnded("model_failed", {"error": str(error)}, outside=True))

    # -- beginning ------------------------------------------------------------------------------------------------

    async def _begin(self, request: SynthesisRequest, more: MoreResearch | None) -> RunState:
        key = topic_key(request.topic, request.language)
        rejections = await self._store.read(rejection_reasons, key)
        run = RunState(request, key, rejections, whole_texts(request.evidence), request.incomplete, more)
        run.fingerprint = fingerprint(
            topic_key=key,
            questions=request.questions,
            suggested=request.article_type.value if request.article_type else None,
            evidence_hashes=[one.evidence.sha256 for one in run.evidence.values()],
            reasoner=self._reasoner.identity,
            models=[self._embedder.name],
            directives=request.directives,
            rejections=rejections,
        )
        return run

    def _check_request(self, run: RunState) -> None:
        if run.request.language not in LANGUAGES:
            raise RunEnded("unsupported_language", {"language": run.request.language})
        if not run.request.topic.strip():
            raise RunEnded("empty_topic")

    async def _repeated(self, run: RunState) -> SynthesisResult | None:
        """Return the result of an earlier attempt with the same fingerprint that forbids this one, or None."""
        earlier = blocking_attempt(await self._store.read(attempts_with, run.fingerprint))
        if earlier is None:
            return None
        detail = {"attempt": earlier.id, "outcome": earlier.outcome, "reason": earlier.reason}
        return SynthesisResult("unchanged", earlier.reason or "same_fingerprint", earlier.article_id, None, detail)

    async def _write(self, run: RunState) -> SynthesisResult:
        await self._ensure_evidence(run)
        shelf = await self._shelve(run)
        run.type = await self._plan(run, shelf)
        article, brief = await self._draft(run, run.type)
        errors = structure_errors(article)
        if errors and await self._ask_more(run, lacking_questions(brief, errors)):
            article, brief = await self._draft(run, run.type)
            errors = structure_errors(article)
        if errors and run.type in OPERATIONAL and RECONSIDERABLE & set(errors):
            run.type = await self._reconsider(run, article, brief, errors)
            article, brief = await self._draft(run, run.type)
            errors = structure_errors(article)
        if errors:
            raise RunEnded(errors[0], {"structure": errors, "type": run.type.value}, outside=self._open_question(run))
        judged = await self._judging.judge_and_correct(run, article, brief)
        return await self._stage(run, judged)

    # -- evidence -------------------------------------------------------------------------------------------------

    async def _ensure_evidence(self, run: RunState) -> None:
        """End the run where the evidence cannot carry an article; look for more once before."""
        reason = self._evidence_reason(run)
        if reason is not None and not run.asked_more:
            await self._ask_more(run, (run.request.topic, *run.request.questions))
            reason = self._evidence_reason(run)
        if reason is not None:
            detail = {
                "accepted": len(run.evidence),
                "in_language": len(run.texts()),
                "publishers": len({one.evidence.publisher for one in run.texts()}),
            }
            raise RunEnded(reason, detail, outside=self._open_question(run))

    def _evidence_reason(self, run: RunState) -> str | None:
        if reason := evidence_reason(run.evidence.values(), self._policy):
            return reason
        if reason := evidence_reason(run.texts(), self._policy):
            return "evidence_language" if reason == "not_enough_evidence" else reason
        return None

    def _open_question(self, run: RunState) -> bool:
        """Tell whether something failed outside, so that what is missing proves nothing."""
        return run.incomplete is not None

    async def _ask_more(self, run: RunState, questions: Sequence[str]) -> bool:
        """Do the one round of additional research; return whether it brought a text that was not there."""
        if run.more is None or run.asked_more or self._policy.extra_fetches < 1:
            return False
        run.asked_more = True
        found = await run.more(tuple(questions), fetches=self._policy.extra_fetches)
        before = set(run.evidence)
        run.evidence |= whole_texts(found.accepted)
        run.incomplete = found.incomplete or run.incomplete
        run.log["more_research"] = {"questions": list(questions), "new_texts": len(set(run.evidence) - before)}
        return bool(set(run.evidence) - before)

    async def _shelve(self, run: RunState) -> Shelf:
        ids = frozenset(one.evidence.id for one in run.texts())
        if run.shelf is None or run.shelf[0] != ids:
            shelf, _ = await asyncio.to_thread(
                shelve, run.texts(), run.request.topic, run.request.language, self._embedder, self._brief
            )
            run.shelf = (ids, shelf)
        return run.shelf[1]

    # -- plan, brief, draft ---------------------------------------------------------------------------------------

    async def _plan(self, run: RunState, shelf: Shelf) -> ArticleType:
        nearest = sorted(shelf.passages, key=lambda view: (-view.relevance, int(view.id[1:])))[:SHOWN_TO_PLANNER]
        request = ArticlePlanRequest(
            topic=run.request.topic,
            questions=run.request.questions,
            language=run.request.language,
            directives=run.request.directives,
            suggested=run.request.article_type,
            earlier_rejections=run.rejections,
            passages=tuple(sorted(nearest, key=lambda view: int(view.id[1:]))),
        )
        plan = await self._reasoner.ask(PLAN, request)
        run.log["plan"] = {"type": plan.type, "reason": plan.reason}
        await self._store.log(Event(ARTICLE_PLANNED, run.payload(type=plan.type, reason=plan.reason)))
        if plan.type == "skip":
            raise RunEnded("planner_skip", {"why": plan.reason}, outside=self._open_question(run))
        return ArticleType(plan.type)

    async def _draft(self, run: RunState, type_: ArticleType) -> tuple[Article, KnowledgeBrief]:
        """Return a first draft of `type_` with its brief; what the brief lacks is looked for once."""
        brief = await self._make_brief(run, type_)
        if brief.missing:
            missing = [question.question for question in brief.questions if question.id in brief.missing]
            if await self._ask_more(run, missing):
                brief = await self._make_brief(run, type_)
        if brief.contradictions:
            subjects = [contradiction.subject for contradiction in brief.contradictions]
            raise RunEnded("contradicting_sources", {"subjects": subjects}, outside=False)
        request = ArticleDraftRequest(
            topic=run.request.topic,
            type=type_,
            language=run.request.language,
            directives=run.request.directives,
            earlier_rejections=run.rejections,
            required_sections=REQUIRED_SECTIONS[type_],
            questions=brief.questions,
            passages=tuple(brief.shelf.passages),
            max_quote_words=self._policy.max_quote_words,
        )
        draft = await self._reasoner.ask(AUTHOR, request)
        article = article_from_draft(
            draft, brief.shelf, topic=run.request.topic, type_=type_, language=run.request.language
        )
        errors = structure_errors(article)
        payload = run.payload(type=type_.value, sections=len(article.sections), structure_errors=errors)
        await self._store.log(Event(ARTICLE_DRAFTED, payload))
        return article, brief

    async def _make_brief(self, run: RunState, type_: ArticleType) -> KnowledgeBrief:
        shelf = await self._shelve(run)
        questions = must_answer(run.request.topic, run.request.questions, type_, run.request.language)
        request = brief_request(
            shelf, run.request.topic, questions, type_, run.request.language, run.request.directives
        )
        answer = await self._reasoner.ask(BRIEF, request)
        brief = await asyncio.to_thread(brief_from_answer, request, answer, shelf, self._policy.max_quote_words)
        run.log["brief"] = brief.summary()
        await self._store.log(Event(ARTICLE_BRIEF_COMPLETED, run.payload(type=type_.value, **brief.summary())))
        return brief

    async def _reconsider(
        self, run: RunState, article: Article, brief: KnowledgeBrief, errors: Sequence[str]
    ) -> ArticleType:
        """Return the one other type to try; the old draft is kept as an attempt, never relabelled."""
        run.reconsidered = True
        request = ReconsiderRequest(
            topic=run.request.topic,
            questions=run.request.questions,
            language=run.request.language,
            directives=run.request.directives,
            failed_type=article.type,
            structure_errors=tuple(errors),
            passages=tuple(brief.shelf.passages),
        )
        answer = await self._reasoner.ask(RECONSIDER, request)
        if answer.type not in RECONSIDERED_TO:  # whatever a reasoner hands over: an operational type is tried once
            raise InvalidAnswer(RECONSIDER.name, f"{answer.type} is none of {', '.join(sorted(RECONSIDERED_TO))}")
        payload = run.payload(
            **{"from": article.type.value}, to=answer.type, structure_errors=list(errors), reason=answer.reason
        )
        run.log["reconsidered"] = {key: payload[key] for key in ("from", "to", "structure_errors", "reason")}
        detail = {"structure": list(errors), "draft": article_to_content(article), "to": answer.type}
        kept = self._attempt(run, "reconsidered", errors[0], detail, article.type)
        written = await perform(
            self._store, RecordAttempt(kept, (Event(ARTICLE_TYPE_RECONSIDERED, payload),)), actor=ACTOR
        )
        if not written.ok:
            raise RunEnded("store_failed", {"message": written.message}, outside=True)
        if answer.type == "skip":
            raise RunEnded(
                "wrong_article_type_or_insufficient_operational_evidence",
                {"structure": list(errors), "why": answer.reason},
                outside=self._open_question(run),
            )
        return ArticleType(answer.type)

    # -- the end --------------------------------------------------------------------------------------------------

    async def _stage(self, run: RunState, judged: Judged) -> SynthesisResult:
        evidence = dict(run.evidence)
        reasons = final_reasons(judged.article, judged.digest, evidence, judged.quality, judged.reviews, self._policy)
        if reasons:
            raise RunEnded(reasons[0], {"gates": reasons}, outside=self._open_question(run))
        article = judged.article
        records = {one: text.evidence for one, text in evidence.items()}
        operation = StageArticle(
            topic=run.request.topic,
            topic_key=run.key,
            type=article.type,
            language=article.language,
            title=article.title,
            content=article_to_content(article),
            markdown=render_markdown(article, records),
            sha256=judged.digest,
            fingerprint=run.fingerprint,
            evidence_ids=cited_evidence(article),
            quality=judged.quality.as_json(),
            reviews=[ReviewDraft(r.kind, r.passed, round(r.score, 4), r.rows()) for r in judged.reviews],
            attempt=self._attempt(run, "staged", "staged", {}, article.type),
            actor=ACTOR,
            task_id=run.request.task_id,
        )
        written = await perform(self._store, operation, actor=ACTOR)
        if written.ok:
            staged = written.result
            detail = {**run.log, "proposed": staged.proposed}
            return SynthesisResult("staged", "staged", staged.article_id, staged.revision, detail)
        if written.reason == "unchanged":
            holder = await self._store.read(active_article, run.key)
            detail = {**run.log, "message": written.message}
            return SynthesisResult("unchanged", "unchanged", holder.id if holder else None, None, detail)
        raise RunEnded(
            written.reason or "store_failed", {"message": written.message}, outside=written.status == "failed"
        )

    def _attempt(
        self, run: RunState, outcome: str, reason: str, detail: Mapping[str, Any], type_: ArticleType | None
    ) -> AttemptDraft:
        return AttemptDraft(
            task_id=run.request.task_id,
            topic_key=run.key,
            fingerprint=run.fingerprint,
            pipeline=PIPELINE,
            type=type_,
            outcome=outcome,
            reason=reason,
            detail={**run.log, **detail},
        )

    async def _record(self, run: RunState, end: RunEnded) -> SynthesisResult:
        """Keep the attempt; return its result. An outside error is no rejection and sends no event of one."""
        outcome: Literal["refused", "outside_error"] = "outside_error" if end.outside else "refused"
        attempt = self._attempt(run, outcome, end.reason, end.detail, run.type)
        events = (
            ()
            if end.outside
            else (
                Event(
                    ARTICLE_REJECTED,
                    run.payload(reason=end.reason, by=ACTOR, type=run.type.value if run.type else None),
                ),
            )
        )
        written = await perform(self._store, RecordAttempt(attempt, events), actor=ACTOR)
        if not written.ok:
            raise StoreError(f"the attempt on {run.request.topic!r} was not kept: {written.message}")
        return SynthesisResult(outcome, end.reason, None, None, {**run.log, **end.detail})
