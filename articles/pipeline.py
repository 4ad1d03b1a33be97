"""One synthesis run, from topic and evidence to a staged article or a named reason (spec 06).

    plan → brief (with one round of more research) → draft → structure
         → (once: another type, from a new brief on) → quality and reviews → (correct, at most twice) → gates → staged

Whatever the run comes to is an attempt in the store. An error of the outside ends it as `outside_error`, which
blocks no other attempt; every other end is a reason, and nothing lowers a gate.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol

from articles.brief import (
    BriefPolicy,
    KnowledgeBrief,
    brief_from_answer,
    brief_request,
    must_answer,
    shelve,
)
from articles.codec import article_to_content, content_digest
from articles.correct import UNTOUCHED_CHANGED, criticised_parts, finding_views, untouched_changes
from articles.drafts import Shelf, article_from_draft, draft_from_article
from articles.fingerprint import PIPELINE, blocking_attempt, fingerprint
from articles.gates import evidence_reason, final_reasons
from articles.phrases import LANGUAGES
from articles.policies import ArticlePolicy
from articles.quality import Finding, QualityPolicy, QualityReport, cpu_quality
from articles.render import render_markdown
from articles.review import (
    ReviewPolicy,
    ReviewResult,
    claim_result,
    claim_review_request,
    coverage_result,
    coverage_review_request,
    review_summary,
)
from articles.roles import (
    AUTHOR,
    BRIEF,
    CLAIM_REVIEW,
    CORRECT,
    COVERAGE_REVIEW,
    PLAN,
    RECONSIDER,
    ArticleDraftRequest,
    ArticlePlanRequest,
    CorrectionBackground,
    CorrectionRequest,
    ReconsiderRequest,
)
from articles.types import OPERATIONAL, REQUIRED_SECTIONS, Article, cited_evidence, structure_errors, topic_key
from data.articles import active_article, attempts_with, rejection_reasons
from data.crud.articles import AttemptDraft, RecordAttempt, ReviewDraft, StageArticle
from data.crud.engine import perform
from data.events import (
    ARTICLE_BRIEF_COMPLETED,
    ARTICLE_CORRECTED,
    ARTICLE_CPU_QUALITY_COMPLETED,
    ARTICLE_DRAFTED,
    ARTICLE_PLANNED,
    ARTICLE_REJECTED,
    ARTICLE_REVIEW_COMPLETED,
    ARTICLE_TYPE_RECONSIDERED,
)
from data.evidence import EvidenceText, text_digest
from data.models import ArticleType, Event
from data.store import Store
from research.reasoner import Reasoner, ReasonerError
from vector.embed import Embedder, EmbeddingError

__all__ = ["MoreEvidence", "MoreResearch", "Synthesis", "SynthesisRequest", "SynthesisResult"]

ACTOR: Final = "synthesis"
RECONSIDERABLE: Final = frozenset({"insufficient_solution_steps", "missing_validation_steps"})
SHOWN_TO_PLANNER: Final = 40
"""Passages, the nearest to the topic."""


class MoreEvidence(Protocol):
    """What a round of additional research brings: all accepted texts so far, and what failed outside, if anything."""

    @property
    def accepted(self) -> tuple[EvidenceText, ...]: ...

    @property
    def incomplete(self) -> str | None: ...


class MoreResearch(Protocol):
    """Looks for answers to `questions` with at most `fetches` fetches."""

    async def __call__(self, questions: Sequence[str], *, fetches: int) -> MoreEvidence: ...


@dataclass(frozen=True, slots=True)
class SynthesisRequest:
    topic: str
    questions: tuple[str, ...]
    language: str
    evidence: tuple[EvidenceText, ...]
    directives: tuple[str, ...] = ()
    task_id: str | None = None
    article_type: ArticleType | None = None
    incomplete: str | None = None
    """What failed outside while the evidence was gathered: too little of it then proves nothing."""


@dataclass(frozen=True, slots=True)
class SynthesisResult:
    outcome: Literal["staged", "refused", "outside_error", "unchanged"]
    reason: str
    article_id: str | None = None
    revision: int | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)


class _End(Exception):
    """The run ends here with a reason."""

    def __init__(self, reason: str, detail: Mapping[str, Any] | None = None, *, outside: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.detail = dict(detail or {})
        self.outside = outside


@dataclass
class _Run:
    """What one run knows so far."""

    request: SynthesisRequest
    key: str
    rejections: tuple[str, ...]
    evidence: dict[str, EvidenceText]
    incomplete: str | None
    more: MoreResearch | None
    fingerprint: str = ""
    type: ArticleType | None = None
    asked_more: bool = False
    reconsidered: bool = False
    log: dict[str, Any] = field(default_factory=dict)

    def texts(self) -> list[EvidenceText]:
        """Return the accepted evidence in the article's language."""
        return [one for one in self.evidence.values() if one.evidence.language in {self.request.language, "und"}]

    def payload(self, **values: Any) -> dict[str, Any]:
        return {"topic": self.request.topic, "task_id": self.request.task_id, **values}


@dataclass(frozen=True)
class _Judged:
    article: Article
    digest: str
    structure: tuple[str, ...]
    quality: QualityReport
    reviews: tuple[ReviewResult, ReviewResult]

    @property
    def passed(self) -> bool:
        return not self.structure and self.quality.passed and all(review.passed for review in self.reviews)


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
        self._quality = QualityPolicy(max_quote_words=self._policy.max_quote_words, guard=self._policy.guard)
        self._reviews = ReviewPolicy()
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
        except _End as end:
            return await self._record(run, end)
        except (ReasonerError, EmbeddingError) as error:
            return await self._record(run, _End("model_failed", {"error": str(error)}, outside=True))

    # -- beginning ------------------------------------------------------------------------------------------------

    async def _begin(self, request: SynthesisRequest, more: MoreResearch | None) -> _Run:
        key = topic_key(request.topic, request.language)
        rejections = await self._store.read(rejection_reasons, key)
        run = _Run(request, key, rejections, _whole(request.evidence), request.incomplete, more)
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

    def _check_request(self, run: _Run) -> None:
        if run.request.language not in LANGUAGES:
            raise _End("unsupported_language", {"language": run.request.language})
        if not run.request.topic.strip():
            raise _End("empty_topic")

    async def _repeated(self, run: _Run) -> SynthesisResult | None:
        """Return the result of an earlier attempt with the same fingerprint that forbids this one, or None."""
        earlier = blocking_attempt(await self._store.read(attempts_with, run.fingerprint))
        if earlier is None:
            return None
        detail = {"attempt": earlier.id, "outcome": earlier.outcome, "reason": earlier.reason}
        return SynthesisResult("unchanged", earlier.reason or "same_fingerprint", earlier.article_id, None, detail)

    async def _write(self, run: _Run) -> SynthesisResult:
        await self._ensure_evidence(run)
        shelf = await self._shelve(run)
        run.type = await self._plan(run, shelf)
        article, brief = await self._draft(run, run.type)
        errors = structure_errors(article)
        if errors and await self._ask_more(run, _lacking(brief, errors)):
            article, brief = await self._draft(run, run.type)
            errors = structure_errors(article)
        if errors and run.type in OPERATIONAL and RECONSIDERABLE & set(errors):
            run.type = await self._reconsider(run, article, brief, errors)
            article, brief = await self._draft(run, run.type)
            errors = structure_errors(article)
        if errors:
            raise _End(errors[0], {"structure": errors, "type": run.type.value}, outside=self._open_question(run))
        judged = await self._judge_and_correct(run, article, brief)
        return await self._stage(run, judged)

    # -- evidence -------------------------------------------------------------------------------------------------

    async def _ensure_evidence(self, run: _Run) -> None:
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
            raise _End(reason, detail, outside=self._open_question(run))

    def _evidence_reason(self, run: _Run) -> str | None:
        if reason := evidence_reason(run.evidence.values(), self._policy):
            return reason
        if reason := evidence_reason(run.texts(), self._policy):
            return "evidence_language" if reason == "not_enough_evidence" else reason
        return None

    def _open_question(self, run: _Run) -> bool:
        """Tell whether something failed outside, so that what is missing proves nothing."""
        return run.incomplete is not None

    async def _ask_more(self, run: _Run, questions: Sequence[str]) -> bool:
        """Do the one round of additional research; return whether it brought a text that was not there."""
        if run.more is None or run.asked_more or self._policy.extra_fetches < 1:
            return False
        run.asked_more = True
        found = await run.more(tuple(questions), fetches=self._policy.extra_fetches)
        before = set(run.evidence)
        run.evidence |= _whole(found.accepted)
        run.incomplete = found.incomplete or run.incomplete
        run.log["more_research"] = {"questions": list(questions), "new_texts": len(set(run.evidence) - before)}
        return bool(set(run.evidence) - before)

    async def _shelve(self, run: _Run) -> Shelf:
        shelf, _ = await asyncio.to_thread(
            shelve, run.texts(), run.request.topic, run.request.language, self._embedder, self._brief
        )
        return shelf

    # -- plan, brief, draft ---------------------------------------------------------------------------------------

    async def _plan(self, run: _Run, shelf: Shelf) -> ArticleType:
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
            raise _End("planner_skip", {"why": plan.reason}, outside=self._open_question(run))
        return ArticleType(plan.type)

    async def _draft(self, run: _Run, type_: ArticleType) -> tuple[Article, KnowledgeBrief]:
        """Return a first draft of `type_` with its brief; what the brief lacks is looked for once."""
        brief = await self._make_brief(run, type_)
        if brief.missing:
            missing = [question.question for question in brief.questions if question.id in brief.missing]
            if await self._ask_more(run, missing):
                brief = await self._make_brief(run, type_)
        if brief.contradictions:
            subjects = [contradiction.subject for contradiction in brief.contradictions]
            raise _End("contradicting_sources", {"subjects": subjects}, outside=False)
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

    async def _make_brief(self, run: _Run, type_: ArticleType) -> KnowledgeBrief:
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
        self, run: _Run, article: Article, brief: KnowledgeBrief, errors: Sequence[str]
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
            raise _End("store_failed", {"message": written.message}, outside=True)
        if answer.type == "skip":
            raise _End(
                "wrong_article_type_or_insufficient_operational_evidence",
                {"structure": list(errors), "why": answer.reason},
                outside=self._open_question(run),
            )
        return ArticleType(answer.type)

    # -- quality, reviews, correction -----------------------------------------------------------------------------

    async def _judge_and_correct(self, run: _Run, article: Article, brief: KnowledgeBrief) -> _Judged:
        judged = await self._judge(run, article, brief, 0)
        violation: tuple[Finding, ...] = ()
        for round_ in range(1, self._policy.max_corrections + 1):
            if judged.passed:
                break
            corrected, violation = await self._correct(run, judged, brief, violation, round_)
            if not violation:
                judged = await self._judge(run, corrected, brief, round_)
        if not judged.passed:
            raise _End("correction_exhausted", self._why_not(judged))
        return judged

    async def _judge(self, run: _Run, article: Article, brief: KnowledgeBrief, round_: int) -> _Judged:
        evidence = dict(run.evidence)
        digest = content_digest(article)
        quality = await asyncio.to_thread(cpu_quality, article, evidence, self._quality, embedder=self._embedder)
        await self._store.log(
            Event(
                ARTICLE_CPU_QUALITY_COMPLETED,
                run.payload(
                    round=round_,
                    passed=quality.passed,
                    score=round(quality.score, 4),
                    findings=_counted(finding.code for finding in quality.findings),
                ),
            )
        )
        claims = claim_review_request(article)
        coverage = coverage_review_request(article, brief.questions)
        reviews = (
            claim_result(claims, await self._reasoner.ask(CLAIM_REVIEW, claims), digest, self._reviews),
            coverage_result(coverage, await self._reasoner.ask(COVERAGE_REVIEW, coverage), digest, self._reviews),
        )
        await self._store.log(
            *(
                Event(
                    ARTICLE_REVIEW_COMPLETED,
                    run.payload(
                        round=round_,
                        kind=review.kind,
                        passed=review.passed,
                        score=round(review.score, 4),
                        findings=_counted(finding.code for finding in review.findings),
                    ),
                )
                for review in reviews
            )
        )
        return _Judged(article, digest, tuple(structure_errors(article)), quality, reviews)

    async def _correct(
        self, run: _Run, judged: _Judged, brief: KnowledgeBrief, violation: tuple[Finding, ...], round_: int
    ) -> tuple[Article, tuple[Finding, ...]]:
        """Return the corrected article, or the old one with findings where the correction went beyond what was asked.

        Computed findings come first in the summary; the corrector reads nothing else.
        """
        computed = (*violation, *_structure_findings(judged.structure), *judged.quality.findings)
        said = tuple(finding for review in judged.reviews if not review.passed for finding in review.findings)
        findings = (*computed, *said)
        request = CorrectionRequest(
            background=CorrectionBackground(
                topic=run.request.topic,
                type=judged.article.type,
                language=run.request.language,
                directives=run.request.directives,
                questions=brief.questions,
                passages=tuple(brief.shelf.passages),
                max_quote_words=self._policy.max_quote_words,
            ),
            draft=draft_from_article(judged.article, brief.shelf),
            summary=review_summary(computed, *judged.reviews),
            findings=finding_views(findings),
            round=round_,
        )
        draft = await self._reasoner.ask(CORRECT, request)
        article = article_from_draft(
            draft, brief.shelf, topic=run.request.topic, type_=judged.article.type, language=run.request.language
        )
        changed = untouched_changes(judged.article, article, criticised_parts(findings, judged.article))
        await self._store.log(
            Event(
                ARTICLE_CORRECTED,
                run.payload(round=round_, findings=_counted(f.code for f in findings), untouched_changed=changed),
            )
        )
        run.log["correction_round"] = round_
        if changed:
            return judged.article, tuple(
                Finding(UNTOUCHED_CHANGED, part, "it was not criticised and must stay as it is") for part in changed
            )
        return article, ()

    def _why_not(self, judged: _Judged) -> dict[str, Any]:
        return {
            "structure": list(judged.structure),
            "quality": judged.quality.as_json(),
            "reviews": {
                review.kind: {"passed": review.passed, "score": round(review.score, 4), "findings": list(review.rows())}
                for review in judged.reviews
            },
        }

    # -- the end --------------------------------------------------------------------------------------------------

    async def _stage(self, run: _Run, judged: _Judged) -> SynthesisResult:
        evidence = dict(run.evidence)
        reasons = final_reasons(judged.article, judged.digest, evidence, judged.quality, judged.reviews, self._policy)
        if reasons:
            raise _End(reasons[0], {"gates": reasons}, outside=self._open_question(run))
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
        raise _End(written.reason or "store_failed", {"message": written.message}, outside=written.status == "failed")

    def _attempt(
        self, run: _Run, outcome: str, reason: str, detail: Mapping[str, Any], type_: ArticleType | None
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

    async def _record(self, run: _Run, end: _End) -> SynthesisResult:
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
        await perform(self._store, RecordAttempt(attempt, events), actor=ACTOR)
        return SynthesisResult(outcome, end.reason, None, None, {**run.log, **end.detail})


def _whole(evidence: Sequence[EvidenceText]) -> dict[str, EvidenceText]:
    """Return the accepted evidence whose text is what its row says, by id, each text once, in a fixed order."""
    accepted = (one for one in evidence if one.evidence.accepted and text_digest(one.text) == one.evidence.sha256)
    by_text: dict[str, EvidenceText] = {}
    for one in sorted(accepted, key=lambda entry: (entry.evidence.sha256, entry.evidence.url, entry.evidence.id)):
        by_text.setdefault(one.evidence.sha256, one)
    return {one.evidence.id: one for one in by_text.values()}


_SECTION_OF: Final[Mapping[str, str]] = {
    "insufficient_solution_steps": "solution_steps",
    "missing_validation_steps": "validation_steps",
    "too_few_facts": "facts",
    "too_few_options": "options",
}


def _structure_findings(errors: Sequence[str]) -> tuple[Finding, ...]:
    found = []
    for error in errors:
        code, _, name = error.partition(":")
        found.append(Finding(code, name or _SECTION_OF.get(code, ""), "the type demands it"))
    return tuple(found)


def _lacking(brief: KnowledgeBrief, errors: Sequence[str]) -> tuple[str, ...]:
    """Return the questions whose sections the structure check found wanting."""
    sections = {finding.place for finding in _structure_findings(errors)}
    return tuple(question.question for question in brief.questions if question.section.value in sections)


def _counted(codes: Any) -> dict[str, int]:
    counts: dict[str, int] = {}
    for code in codes:
        counts[code] = counts.get(code, 0) + 1
    return counts
