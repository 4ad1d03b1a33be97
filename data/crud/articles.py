"""Articles as verified writes: staging with reviews, approval, rejection and the rest of their life (spec 06).

A revision is never changed: whatever changes the content is a new one, staged again. Only a person approves, and only
the revision that was seen. Who a person is, the actor says: `person:` and a name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar, Final

from sqlalchemy import select

from data.articles import active_article, get_article, get_revision, rejected_article
from data.crud.engine import Ask, Plan, Refusal, RowChange, stale_version
from data.crud.ingest import IngestNodes, NodeDraft
from data.events import (
    ARTICLE_APPROVED,
    ARTICLE_PUBLISHED,
    ARTICLE_REACTIVATED,
    ARTICLE_REJECTED,
    ARTICLE_RETIRED,
    ARTICLE_STAGED,
)
from data.evidence import evidence_by_ids
from data.models import Article, ArticleState, ArticleType, Event, NodeKind
from data.nodes import node_by_uri
from data.schema import article, article_attempt, article_review, article_revision, node
from data.tx import Tx

__all__ = [
    "PERSON",
    "ApproveArticle",
    "AttemptDraft",
    "PublishArticle",
    "ReactivateArticle",
    "RecordAttempt",
    "RejectArticle",
    "RetireArticle",
    "ReviewDraft",
    "StageArticle",
    "StagedArticle",
    "article_uri",
    "is_person",
]

PERSON: Final = "person:"
_REVIEWS_NEEDED: Final = frozenset({"claims", "coverage"})


def is_person(actor: str) -> bool:
    """Tell whether `actor` names a person, not a part of this program."""
    return actor.startswith(PERSON) and bool(actor.removeprefix(PERSON).strip())


def article_uri(article_id: str) -> str:
    """Return the source URI of the node that an approved article is in the graph."""
    return f"article:{article_id}"


@dataclass(frozen=True, slots=True)
class ReviewDraft:
    kind: str
    passed: bool
    score: float
    findings: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class AttemptDraft:
    """One synthesis run and how it ended; see `data.models.ArticleAttempt`."""

    task_id: str | None
    topic_key: str
    fingerprint: str
    pipeline: str
    type: ArticleType | None
    outcome: str
    reason: str
    detail: Mapping[str, Any] = field(default_factory=dict)
    article_id: str | None = None

    def change(self, tx: Tx, article_id: str | None = None) -> RowChange:
        values = {
            "task_id": self.task_id,
            "topic_key": self.topic_key,
            "fingerprint": self.fingerprint,
            "pipeline": self.pipeline,
            "type": None if self.type is None else self.type.value,
            "outcome": self.outcome,
            "reason": self.reason,
            "detail": dict(self.detail),
            "article_id": article_id or self.article_id,
            "created_at": tx.now,
        }
        return RowChange(article_attempt, {"id": tx.new_id("attempt")}, values)


@dataclass(frozen=True, slots=True)
class StagedArticle:
    article_id: str
    revision: int
    proposed: bool
    """It is a revision proposed to an article that was there."""


@dataclass(frozen=True, slots=True)
class StageArticle:
    """Stage `content` as a new article or, where the topic has one, as its next revision. `result`: `StagedArticle`.

    Revision, both reviews and the attempt are written together, or nothing is.
    """

    topic: str
    topic_key: str
    type: ArticleType
    language: str
    title: str
    content: Mapping[str, Any]
    markdown: str
    sha256: str
    fingerprint: str
    evidence_ids: tuple[str, ...]
    quality: Mapping[str, Any]
    reviews: Sequence[ReviewDraft]
    attempt: AttemptDraft
    actor: str
    task_id: str | None = None
    action: ClassVar[str] = "stage_article"

    def plan(self, tx: Tx) -> Plan | Refusal | Ask:
        if refusal := self._refused(tx):
            return refusal
        holder = active_article(tx.conn, self.topic_key) or rejected_article(tx.conn, self.topic_key)
        if holder is not None:
            current = get_revision(tx.conn, holder.id, holder.current_revision)
            if current is not None and current.sha256 == self.sha256:
                word = "rejected_before" if holder.state is ArticleState.REJECTED else "unchanged"
                return Refusal(word, f"revision {current.number} of {holder.id} says exactly the same")
        article_id = tx.new_id("article") if holder is None else holder.id
        number = 1 if holder is None else holder.current_revision + 1
        proposed = holder is not None
        payload = {
            "article_id": article_id,
            "revision": number,
            "topic": self.topic,
            "type": self.type.value,
            "title": self.title,
            "proposed": proposed,
            "task_id": self.task_id,
        }
        return Plan(
            self.action,
            f"article:{article_id}",
            (
                self._article_change(tx, article_id, number, holder),
                self._revision_change(tx, article_id, number),
                *(_review_change(tx, article_id, number, review, self.actor) for review in self.reviews),
                self.attempt.change(tx, article_id),
            ),
            events=(Event(ARTICLE_STAGED, payload),),
            message=f"staged {self.title!r} as revision {number}",
            result=StagedArticle(article_id, number, proposed),
        )

    def _refused(self, tx: Tx) -> Refusal | None:
        passed = {review.kind for review in self.reviews if review.passed}
        if lacking := sorted(_REVIEWS_NEEDED - passed):
            return Refusal("review_missing", f"no passed review of kind {', '.join(lacking)}")
        if not self.quality.get("passed"):
            return Refusal("quality_failed", "the quality report of this content did not pass")
        found = evidence_by_ids(tx.conn, self.evidence_ids)
        if missing := [one for one in self.evidence_ids if one not in found]:
            return Refusal("evidence_missing", f"{len(missing)} of the cited texts are not recorded")
        if any(not record.accepted for record in found.values()) or not found:
            return Refusal("evidence_not_accepted", "the article cites a text that was refused, or none")
        return None

    def _article_change(self, tx: Tx, article_id: str, number: int, holder: Article | None) -> RowChange:
        values: dict[str, Any] = {
            "topic": self.topic,
            "topic_key": self.topic_key,
            "type": self.type.value,
            "language": self.language,
            "state": ArticleState.STAGED.value,
            "title": self.title,
            "current_revision": number,
            "task_id": self.task_id if self.task_id is not None or holder is None else holder.task_id,
            "reject_reason": None,
            "active": True,
            "updated_at": tx.now,
            "version": 1 if holder is None else holder.version + 1,
        }
        if holder is None:
            values |= {"approved_revision": None, "created_at": tx.now}
        return RowChange(article, {"id": article_id}, values)

    def _revision_change(self, tx: Tx, article_id: str, number: int) -> RowChange:
        values = {
            "article_id": article_id,
            "number": number,
            "content": dict(self.content),
            "markdown": self.markdown,
            "sha256": self.sha256,
            "fingerprint": self.fingerprint,
            "evidence_ids": list(self.evidence_ids),
            "quality": dict(self.quality),
            "actor": self.actor,
            "created_at": tx.now,
        }
        return RowChange(article_revision, {"id": tx.new_id("revision")}, values)


def _review_change(tx: Tx, article_id: str, number: int, review: ReviewDraft, actor: str) -> RowChange:
    values = {
        "article_id": article_id,
        "revision": number,
        "kind": review.kind,
        "passed": review.passed,
        "score": review.score,
        "findings": [dict(finding) for finding in review.findings],
        "actor": actor,
        "created_at": tx.now,
    }
    return RowChange(article_review, {"id": tx.new_id("review")}, values)


@dataclass(frozen=True, slots=True)
class RecordAttempt:
    """Record a run that staged nothing: refused with its reason, or ended by an outside error."""

    attempt: AttemptDraft
    events: tuple[Event, ...] = ()
    action: ClassVar[str] = "record_attempt"

    def plan(self, tx: Tx) -> Plan | Refusal | Ask:
        change = self.attempt.change(tx)
        return Plan(
            self.action,
            f"attempt:{change.key['id']}",
            (change,),
            events=self.events,
            message=f"{self.attempt.outcome}: {self.attempt.reason}",
            result=change.key["id"],
        )


def _found(tx: Tx, article_id: str, version: int | None) -> Article | Refusal:
    found = get_article(tx.conn, article_id)
    if found is None or not found.active:
        return Refusal("not_found", f"there is no article {article_id}")
    return stale_version(found.version, version) or found


def _state_change(tx: Tx, found: Article, state: ArticleState, **values: Any) -> RowChange:
    changed = {"state": state.value, "updated_at": tx.now, "version": found.version + 1, **values}
    return RowChange(article, {"id": found.id}, changed)


@dataclass(frozen=True, slots=True)
class ApproveArticle:
    """Approve the revision that a person saw; the article becomes a node of the graph in the same write."""

    article_id: str
    revision: int
    actor: str
    version: int | None = None
    action: ClassVar[str] = "approve_article"

    def plan(self, tx: Tx) -> Plan | Refusal | Ask:
        if not is_person(self.actor):
            return Refusal("not_a_person", f"only a person approves, and {self.actor!r} is none")
        found = _found(tx, self.article_id, self.version)
        if isinstance(found, Refusal):
            return found
        if found.current_revision != self.revision:
            return Refusal(
                "revision_changed",
                f"you saw revision {self.revision}, by now it is {found.current_revision}; look at it again",
            )
        if found.state is not ArticleState.STAGED:
            return Refusal("not_staged", f"the article is {found.state.value}, not staged")
        revision = get_revision(tx.conn, found.id, self.revision)
        if revision is None:
            return Refusal("not_found", f"{found.id} has no revision {self.revision}")
        graph = IngestNodes([_node_of(found, revision.markdown)]).plan(tx)
        if not isinstance(graph, Plan):
            return graph
        payload = {"article_id": found.id, "revision": self.revision, "title": found.title, "actor": self.actor}
        review = ReviewDraft("approval", True, 1.0)
        return Plan(
            self.action,
            f"article:{found.id}",
            (
                _state_change(tx, found, ArticleState.APPROVED, approved_revision=self.revision, reject_reason=None),
                _review_change(tx, found.id, self.revision, review, self.actor),
                *graph.changes,
            ),
            events=(Event(ARTICLE_APPROVED, payload),),
            message=f"approved revision {self.revision} of {found.title!r}",
            result=found.id,
        )


def _node_of(found: Article, markdown: str) -> NodeDraft:
    return NodeDraft(
        kind=NodeKind.ARTICLE,
        label=found.title,
        body=markdown,
        language=found.language,
        source_uri=article_uri(found.id),
        category=found.type.value,
        meta={"article_id": found.id},
    )


@dataclass(frozen=True, slots=True)
class RejectArticle:
    """Reject what is staged, with a reason that the next attempt on the topic gets.

    A revision that was proposed to an approved article goes alone: the approved one stays approved.
    """

    article_id: str
    reason: str
    actor: str
    revision: int | None = None
    version: int | None = None
    action: ClassVar[str] = "reject_article"

    def plan(self, tx: Tx) -> Plan | Refusal | Ask:
        if not is_person(self.actor):
            return Refusal("not_a_person", f"only a person rejects, and {self.actor!r} is none")
        reason = " ".join(self.reason.split())
        if not reason:
            return Refusal("no_reason", "a rejection needs a reason: the next attempt works with it")
        found = _found(tx, self.article_id, self.version)
        if isinstance(found, Refusal):
            return found
        if self.revision is not None and found.current_revision != self.revision:
            return Refusal(
                "revision_changed",
                f"you saw revision {self.revision}, by now it is {found.current_revision}; look at it again",
            )
        if found.state is not ArticleState.STAGED:
            return Refusal("not_staged", f"the article is {found.state.value}, not staged")
        state = ArticleState.REJECTED if found.approved_revision is None else ArticleState.APPROVED
        number = found.current_revision
        payload = {"article_id": found.id, "revision": number, "reason": reason, "actor": self.actor}
        finding = {"code": "rejected", "place": "", "detail": reason}
        return Plan(
            self.action,
            f"article:{found.id}",
            (
                _state_change(tx, found, state, reject_reason=reason),
                _review_change(tx, found.id, number, ReviewDraft("rejection", False, 0.0, (finding,)), self.actor),
            ),
            events=(Event(ARTICLE_REJECTED, payload),),
            message=f"rejected revision {number} of {found.title!r}",
            result=found.id,
        )


@dataclass(frozen=True, slots=True)
class RetireArticle:
    """Take an approved or published article out of use; its node leaves the graph with it."""

    article_id: str
    actor: str
    reason: str = ""
    version: int | None = None
    action: ClassVar[str] = "retire_article"

    def plan(self, tx: Tx) -> Plan | Refusal | Ask:
        if not is_person(self.actor):
            return Refusal("not_a_person", f"only a person retires an article, and {self.actor!r} is none")
        found = _found(tx, self.article_id, self.version)
        if isinstance(found, Refusal):
            return found
        if found.state not in {ArticleState.APPROVED, ArticleState.PUBLISHED}:
            return Refusal("not_approved", f"the article is {found.state.value}; approved and published ones retire")
        payload = {"article_id": found.id, "reason": self.reason, "actor": self.actor}
        return Plan(
            self.action,
            f"article:{found.id}",
            (_state_change(tx, found, ArticleState.RETIRED), *_node_off(tx, found.id, tx.now)),
            events=(Event(ARTICLE_RETIRED, payload),),
            message=f"retired {found.title!r}",
            result=found.id,
        )


def _node_off(tx: Tx, article_id: str, now: datetime) -> tuple[RowChange, ...]:
    held = node_by_uri(tx.conn, article_uri(article_id))
    if held is None or not held.active:
        return ()
    version = tx.conn.execute(select(node.c.version).where(node.c.id == held.id)).scalar_one()
    return (RowChange(node, {"id": held.id}, {"active": False, "updated_at": now, "version": version + 1}),)


@dataclass(frozen=True, slots=True)
class ReactivateArticle:
    """Stage a retired article again, unless its topic has another one by now."""

    article_id: str
    actor: str
    version: int | None = None
    action: ClassVar[str] = "reactivate_article"

    def plan(self, tx: Tx) -> Plan | Refusal | Ask:
        if not is_person(self.actor):
            return Refusal("not_a_person", f"only a person reactivates an article, and {self.actor!r} is none")
        found = _found(tx, self.article_id, self.version)
        if isinstance(found, Refusal):
            return found
        if found.state is not ArticleState.RETIRED:
            return Refusal("not_retired", f"the article is {found.state.value}, not retired")
        if (other := active_article(tx.conn, found.topic_key)) is not None:
            return Refusal("topic_taken", f"{other.id} is the article on this topic by now")
        payload = {"article_id": found.id, "revision": found.current_revision, "actor": self.actor}
        return Plan(
            self.action,
            f"article:{found.id}",
            (_state_change(tx, found, ArticleState.STAGED, approved_revision=None),),
            events=(Event(ARTICLE_REACTIVATED, payload), Event(ARTICLE_STAGED, {**payload, "title": found.title})),
            message=f"staged {found.title!r} again",
            result=found.id,
        )


@dataclass(frozen=True, slots=True)
class PublishArticle:
    """Note that an export which names the approved revision succeeded."""

    article_id: str
    revision: int
    target: str
    """Where it was exported to, for the event."""
    version: int | None = None
    action: ClassVar[str] = "publish_article"

    def plan(self, tx: Tx) -> Plan | Refusal | Ask:
        found = _found(tx, self.article_id, self.version)
        if isinstance(found, Refusal):
            return found
        if found.state is not ArticleState.APPROVED or found.approved_revision != self.revision:
            return Refusal("not_approved", f"revision {self.revision} of {found.id} is not approved")
        payload = {"article_id": found.id, "revision": self.revision, "target": self.target}
        return Plan(
            self.action,
            f"article:{found.id}",
            (_state_change(tx, found, ArticleState.PUBLISHED),),
            events=(Event(ARTICLE_PUBLISHED, payload),),
            message=f"published revision {self.revision} of {found.title!r}",
            result=found.id,
        )
