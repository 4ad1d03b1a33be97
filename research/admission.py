"""Does a request become a task? Budget, duplicates, history and refusals, in one pure decision (spec 05).

The decision is taken inside the write transaction that carries it out, over a snapshot read there, so that
neither two scans nor a scan and a person can overrun the budget or queue the same gap twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from data.clock import utc_day_start
from data.models import ArticleState, Task, TaskOrigin, TaskState
from data.tasks import ACTIVE, Add, EnqueueDecision, KnownArticle, Merge, QueueSnapshot, Reject, TaskCounts, TaskRequest
from data.text import normalise
from research.duplicate_index import DuplicateIndex
from research.duplicates import (
    ALGORITHM,
    DuplicatePolicy,
    DuplicateScore,
    TaskShape,
    dedupe_key,
    duplicate_score,
    merge_questions,
)

__all__ = [
    "ALREADY_ANSWERED",
    "BUDGET_EXHAUSTED",
    "EMPTY_TOPIC",
    "FAILED_BEFORE",
    "REFUSED_BY_OPERATOR",
    "SEMANTIC_DUPLICATE",
    "TOPIC_TOO_LONG",
    "Budget",
    "KnownIndex",
    "QueuePolicy",
    "budget_of",
    "decide_enqueue",
    "decide_retry",
    "find_answer",
    "find_refusal",
    "next_utc_day",
    "request_shape",
    "task_shape",
]

BUDGET_EXHAUSTED: Final = "daily_budget_exhausted"
SEMANTIC_DUPLICATE: Final = "semantic_queue_duplicate"
ALREADY_ANSWERED: Final = "already_answered"
REFUSED_BY_OPERATOR: Final = "refused_by_operator"
FAILED_BEFORE: Final = "failed_before"
EMPTY_TOPIC: Final = "empty_topic"
TOPIC_TOO_LONG: Final = "topic_too_long"

LONGEST_TOPIC: Final = 400
"""Characters of a topic: it is searched for and becomes an article's subject, and no ticket's title is longer."""

STALE: Final = "stale"
"""The opportunity kind that asks for an answered topic again, because its evidence has aged."""

_PEOPLE: Final = frozenset({TaskOrigin.MANUAL, TaskOrigin.DESK})
_FINISHED: Final = frozenset({TaskState.COMPLETED, TaskState.FAILED})
_WORKED_ON: Final = frozenset({TaskState.RESERVED, TaskState.RUNNING})


@dataclass(frozen=True, slots=True)
class QueuePolicy:
    """Knobs of the queue (spec 05); brain/config builds it."""

    max_tasks_per_day: int = 12
    lease: timedelta = timedelta(minutes=10)
    max_attempts: int = 3
    history: timedelta = timedelta(days=30)
    backoff: timedelta = timedelta(minutes=10)
    """First deferral after an error; each further one doubles it, up to `longest_backoff`."""
    longest_backoff: timedelta = timedelta(hours=6)
    evidence_max_age: timedelta = timedelta(days=365)
    max_questions: int = 12
    """A keeper holds no more questions than a task has fetches (BRAIN_RESEARCH_MAX_FETCHES_PER_TASK)."""
    duplicates: DuplicatePolicy = field(default_factory=DuplicatePolicy)

    def deferral(self, before: int) -> timedelta:
        """Return how long a task waits that was put off `before` times already."""
        return min(self.backoff * (1 << min(before, 16)), self.longest_backoff)

    @property
    def longest_deferral(self) -> timedelta:
        """The farthest `not_before` that any deferral sets: the next UTC day, or the longest backoff."""
        return max(timedelta(days=1), self.longest_backoff)


@dataclass(frozen=True, slots=True)
class Budget:
    """What the day still holds. `remaining` is negative where people queued more than the day can do."""

    remaining: int
    max_per_day: int
    completed_today: int
    active: int


def budget_of(counts: TaskCounts, policy: QueuePolicy) -> Budget:
    """Return max_tasks_per_day − completed_today_utc − active_research_tasks, with its parts."""
    remaining = policy.max_tasks_per_day - counts.completed_today - counts.active
    return Budget(remaining, policy.max_tasks_per_day, counts.completed_today, counts.active)


def next_utc_day(now: datetime) -> datetime:
    """Return the next midnight UTC."""
    return utc_day_start(now) + timedelta(days=1)


def task_shape(task: Task) -> TaskShape:
    """Return what the duplicate comparison sees of a task."""
    return TaskShape(task.topic, frozenset(task.seeds), task.questions)


def request_shape(request: TaskRequest) -> TaskShape:
    """Return what the duplicate comparison sees of a request."""
    return TaskShape(request.topic, frozenset(request.seeds), request.questions)


def decide_enqueue(
    request: TaskRequest,
    origin: TaskOrigin,
    snapshot: QueueSnapshot,
    policy: QueuePolicy,
) -> EnqueueDecision:
    """Return what becomes of `request`: a task, part of another, or a reason why not.

    In order: an active duplicate takes it in; what is answered or unwanted is not queued again; then the
    budget. People may queue beyond the budget, onto the next UTC day; nobody else may.
    """
    if not any(letter.isalnum() for letter in normalise(request.topic)):
        return Reject(EMPTY_TOPIC, "a task needs a topic of letters or digits")
    if len(request.topic) > LONGEST_TOPIC:
        message = (
            f"the topic has {len(request.topic)} characters, {LONGEST_TOPIC} are the most; details go into questions"
        )
        return Reject(TOPIC_TOO_LONG, message)
    shape = request_shape(request)
    waiting, worked_on = _active_duplicates(shape, snapshot, policy)
    if waiting is not None:
        return _merge(request, origin, waiting, policy)
    if worked_on is not None and origin is TaskOrigin.SCANNER:
        task, score = worked_on
        return Reject(SEMANTIC_DUPLICATE, f"task {task.id} works on it ({_told(score)})", task.id)
    if worked_on is None:
        answer = find_answer(request, origin, snapshot, policy) or find_refusal(shape, origin, snapshot, policy)
        if answer is not None:
            return answer
    remaining = budget_of(snapshot.counts, policy).remaining
    if remaining <= 0 and origin not in _PEOPLE:
        return Reject(BUDGET_EXHAUSTED, _exhausted(snapshot, policy))
    if worked_on is not None:
        task, score = worked_on
        message = f"task {task.id} works on the same gap ({_told(score)}): this one waits until it has settled"
        return Add(TaskState.DEFERRED, waits_for=task.id, message=message)
    if remaining <= 0:
        midnight = next_utc_day(snapshot.now)
        message = f"{_exhausted(snapshot, policy)}: the task is deferred to the next UTC day ({midnight:%Y-%m-%d})"
        return Add(TaskState.DEFERRED, not_before=midnight, message=message)
    return Add()


def decide_retry(task: Task, snapshot: QueueSnapshot, policy: QueuePolicy) -> Add | Reject:
    """Return whether a person's retry of a failed task queues it now, puts it off, or is refused."""
    others = [other for other in snapshot.active if other.id != task.id]
    best = _best(task_shape(task), others, policy)
    if best is not None:
        return Reject(SEMANTIC_DUPLICATE, f"task {best[0].id} is on it already ({_told(best[1])})", best[0].id)
    if budget_of(snapshot.counts, policy).remaining <= 0:
        midnight = next_utc_day(snapshot.now)
        message = f"{_exhausted(snapshot, policy)}: the task is deferred to the next UTC day ({midnight:%Y-%m-%d})"
        return Add(TaskState.DEFERRED, not_before=midnight, message=message)
    return Add()


def find_answer(
    request: TaskRequest, origin: TaskOrigin, snapshot: QueueSnapshot, policy: QueuePolicy
) -> Reject | None:
    """Return the rejection of a request that an article or a finished task has dealt with, or None.

    A `stale` request is held only against earlier `stale` tasks; an article with outdated evidence against
    nobody; a task that ended without an article, or failed, not against a person.
    """
    shape, stale = request_shape(request), request.kind == STALE
    if not stale:
        for article in snapshot.articles:
            outdated = article.evidence_at is not None and article.evidence_at < snapshot.now - policy.evidence_max_age
            if not outdated and _same(shape, _article_shape(article), policy):
                message = f"article {article.id} ({article.state}) answers it: {article.topic}"
                return Reject(ALREADY_ANSWERED, message, article.id)
    for task in snapshot.finished:
        if stale and task.kind != STALE:
            continue
        if origin in _PEOPLE and task.article_id is None:
            continue
        if not _same(shape, task_shape(task), policy):
            continue
        if task.state is TaskState.FAILED:
            return Reject(
                FAILED_BEFORE, f"task {task.id} failed on it: {task.last_error}; a person may retry it", task.id
            )
        ended = f"article {task.article_id}" if task.article_id else f"no article ({task.result_reason})"
        return Reject(ALREADY_ANSWERED, f"task {task.id} was completed on it with {ended}", task.id)
    return None


def find_refusal(shape: TaskShape, origin: TaskOrigin, snapshot: QueueSnapshot, policy: QueuePolicy) -> Reject | None:
    """Return the rejection of a topic that a person cancelled or whose article a person rejected, or None.

    Whoever refused may ask again: a person's own request is not held against it.
    """
    if origin in _PEOPLE:
        return None
    for task in snapshot.refused:
        if _same(shape, task_shape(task), policy):
            return Reject(REFUSED_BY_OPERATOR, f"a person cancelled task {task.id} on it", task.id)
    for article in snapshot.rejected:
        if _same(shape, _article_shape(article), policy):
            return Reject(REFUSED_BY_OPERATOR, f"a person rejected article {article.id} on it", article.id)
    return None


class KnownIndex:
    """Tasks and articles of which those are found that a request duplicates, without comparing it with all of them."""

    def __init__(self, policy: DuplicatePolicy) -> None:
        self._index = DuplicateIndex(policy)
        self._gaps: dict[str, Task | KnownArticle] = {}
        self._by_key: dict[str, set[str]] = {}

    @classmethod
    def of(cls, snapshot: QueueSnapshot, policy: DuplicatePolicy) -> KnownIndex:
        """Return an index of all that `snapshot` holds."""
        index = cls(policy)
        tasks = (*snapshot.active, *snapshot.finished, *snapshot.refused)
        index.update({f"research_task:{task.id}": task for task in tasks})
        index.update({f"article:{entry.id}": entry for entry in (*snapshot.articles, *snapshot.rejected)})
        return index

    def update(self, changes: Mapping[str, Task | KnownArticle | None]) -> None:
        """Take in tasks and articles as they are now; None is one that counts no more."""
        for ref, gap in changes.items():
            known = self._gaps.pop(ref, None)
            if isinstance(known, Task):
                self._by_key[known.dedupe_key].discard(ref)
            if gap is None:
                self._index.remove(ref)
                continue
            self._gaps[ref] = gap
            if isinstance(gap, Task):
                self._by_key.setdefault(gap.dedupe_key, set()).add(ref)
            self._index.add(ref, task_shape(gap) if isinstance(gap, Task) else _article_shape(gap))

    def narrowed(self, shape: TaskShape, counts: TaskCounts, now: datetime, history: timedelta) -> QueueSnapshot:
        """Return the snapshot with only what duplicates `shape` or is its exact repeat: it is decided on alike.

        Tasks stand in the order in which workers take them, articles in that of their ids.
        """
        found = {ref for ref, _ in self._index.duplicates(shape)}
        found |= self._by_key.get(dedupe_key(shape.topic, shape.seeds), set())
        gaps = [self._gaps[ref] for ref in found]
        tasks = sorted(
            (gap for gap in gaps if isinstance(gap, Task)), key=lambda task: (-task.priority, task.created_at, task.id)
        )
        articles = sorted((gap for gap in gaps if isinstance(gap, KnownArticle)), key=lambda entry: entry.id)
        return QueueSnapshot(
            now=now,
            counts=counts,
            active=tuple(task for task in tasks if task.state in ACTIVE),
            finished=tuple(
                task
                for task in tasks
                if task.state in _FINISHED and task.finished_at is not None and task.finished_at >= now - history
            ),
            articles=tuple(entry for entry in articles if entry.state is not ArticleState.REJECTED),
            refused=tuple(task for task in tasks if task.state is TaskState.CANCELLED),
            rejected=tuple(entry for entry in articles if entry.state is ArticleState.REJECTED),
        )


def _active_duplicates(
    shape: TaskShape, snapshot: QueueSnapshot, policy: QueuePolicy
) -> tuple[tuple[Task, DuplicateScore] | None, tuple[Task, DuplicateScore] | None]:
    """Return the best duplicate that still waits, and the best one that is being worked on."""
    waiting = [task for task in snapshot.active if task.state not in _WORKED_ON]
    worked_on = [task for task in snapshot.active if task.state in _WORKED_ON]
    return _best(shape, waiting, policy), _best(shape, worked_on, policy)


def _best(shape: TaskShape, tasks: Iterable[Task], policy: QueuePolicy) -> tuple[Task, DuplicateScore] | None:
    """Return the task that takes the request in: an exact repeat first, then by score, then as workers take them."""
    key = dedupe_key(shape.topic, shape.seeds)
    best: tuple[Task, DuplicateScore] | None = None
    for task in tasks:
        score = duplicate_score(shape, task_shape(task), policy.duplicates)
        exact = task.dedupe_key == key and score.identifiers != "different"
        if exact:
            return task, score
        if score.duplicate and (best is None or score.score > best[1].score):
            best = task, score
    return best


def _same(a: TaskShape, b: TaskShape, policy: QueuePolicy) -> bool:
    return duplicate_score(a, b, policy.duplicates).duplicate


def _article_shape(article: KnownArticle) -> TaskShape:
    return TaskShape(article.topic, frozenset(article.seeds), article.questions)


def _merge(request: TaskRequest, origin: TaskOrigin, best: tuple[Task, DuplicateScore], policy: QueuePolicy) -> Merge:
    keeper, score = best
    return Merge(
        keeper=keeper.id,
        seeds=tuple(sorted({*keeper.seeds, *request.seeds})),
        questions=merge_questions(keeper.questions, request.questions, policy.max_questions),
        origins=tuple(sorted({*keeper.origins, origin})),
        priority=max(keeper.priority, request.priority),
        message=f"task {keeper.id} is on it already and takes it in ({_told(score)})",
        detail={
            "decision": SEMANTIC_DUPLICATE,
            "algorithm": ALGORITHM,
            "score": round(score.score, 4),
            "topic_score": round(score.topic, 4),
            "seeds_score": round(score.seeds, 4),
            "questions_score": round(score.questions, 4),
            "identifiers": score.identifiers,
        },
    )


def _told(score: DuplicateScore) -> str:
    return f"{ALGORITHM}: {score.score:.2f}"


def _exhausted(snapshot: QueueSnapshot, policy: QueuePolicy) -> str:
    budget = budget_of(snapshot.counts, policy)
    return (
        f"the budget of {budget.max_per_day} tasks a day is used up "
        f"({budget.completed_today} completed today, {budget.active} active)"
    )
