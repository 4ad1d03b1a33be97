"""The domain: what is remembered, as frozen values (spec 00 and 02).

Records carry aware UTC datetimes; the store turns them into text. Enumerations are strings, so that
what stands in the database, in JSON and in events is the same word.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

__all__ = [
    "Article",
    "ArticleAttempt",
    "ArticleReview",
    "ArticleRevision",
    "ArticleState",
    "ArticleType",
    "Edge",
    "EdgeKind",
    "Event",
    "Evidence",
    "JournalEntry",
    "JournalStatus",
    "Label",
    "Node",
    "NodeKind",
    "PairDecision",
    "PairState",
    "Position",
    "RelationType",
    "Scan",
    "ScanDecision",
    "SourceClass",
    "Task",
    "TaskOrigin",
    "TaskState",
]


class NodeKind(StrEnum):
    TICKET = "ticket"
    DOCUMENT = "document"
    SECTION = "section"
    ARTICLE = "article"
    TECHNIQUE = "technique"
    PRODUCT = "product"
    EVIDENCE = "evidence"
    NOTE = "note"


class EdgeKind(StrEnum):
    VECTOR = "vector"
    RELATION = "relation"
    RESEARCH_EVIDENCE = "research_evidence"
    MENTIONS = "mentions"
    PART_OF = "part_of"


class RelationType(StrEnum):
    CAUSES = "causes"
    SOLVES = "solves"
    MITIGATES = "mitigates"
    REQUIRES = "requires"
    PART_OF = "part_of"
    VARIANT_OF = "variant_of"
    SUPERSEDES = "supersedes"
    CONTRADICTS = "contradicts"
    DOCUMENTS = "documents"
    RELATED_TO = "related_to"


class SourceClass(StrEnum):
    """Publisher classes of the source-quality judgement (spec 04, gate 4)."""

    OFFICIAL = "official"
    STANDARD = "standard"
    VENDOR = "vendor"
    OWN = "own"
    REFERENCE = "reference"
    COMMUNITY = "community"
    FORUM = "forum"
    BLOG = "blog"
    NEWS = "news"
    AGGREGATOR = "aggregator"
    UNKNOWN = "unknown"


class PairState(StrEnum):
    ACCEPTED = "accepted"
    REFUSED = "refused"
    RETRY = "retry"


class TaskState(StrEnum):
    QUEUED = "queued"
    DEFERRED = "deferred"
    RESERVED = "reserved"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class TaskOrigin(StrEnum):
    SCANNER = "scanner"
    MANUAL = "manual"
    API = "api"
    DESK = "desk"


class ArticleType(StrEnum):
    TROUBLESHOOTING = "troubleshooting"
    HOW_TO = "how_to"
    REFERENCE = "reference"
    CONCEPT = "concept"
    DECISION_GUIDE = "decision_guide"


class ArticleState(StrEnum):
    STAGED = "staged"
    APPROVED = "approved"
    PUBLISHED = "published"
    REJECTED = "rejected"
    RETIRED = "retired"


class JournalStatus(StrEnum):
    PENDING = "pending"
    VERIFIED = "verified"
    FAILED = "failed"
    ROLLED_BACK = "rolled_back"


@dataclass(frozen=True, slots=True)
class Label:
    """A node's internal id with its visible title: the only part that may leave the house is `text`."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Node:
    id: str
    kind: NodeKind
    label: str
    body: str
    language: str
    """ISO 639-1 code, `und` where it could not be told."""
    source_uri: str
    content_hash: str
    """SHA-256 (hex) of kind, label and body: what embeddings and pair decisions hang on."""
    category: str
    meta: Mapping[str, Any]
    active: bool
    created_at: datetime
    updated_at: datetime
    version: int


@dataclass(frozen=True, slots=True)
class Edge:
    """`vector` edges are undirected and stored once with the lower id as source."""

    id: str
    source_id: str
    target_id: str
    kind: EdgeKind
    relation_type: RelationType | None
    weight: float
    meta: Mapping[str, Any]
    active: bool
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Position:
    node_id: str
    x: float
    y: float
    z: float
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Evidence:
    """One text that was read in full, with its judgement. `owner` is `pair:<source>:<target>` or `task:<id>`."""

    id: str
    url: str
    final_url: str
    title: str
    publisher: str
    language: str
    published_at: datetime | None
    fetched_at: datetime
    sha256: str
    """SHA-256 (hex) of the extracted text; names the file under `evidence/`."""
    path: str
    """Relative to BRAIN_HOME; empty where the full text could not be kept (`fulltext=absent`)."""
    chars: int
    accepted: bool
    reject_reason: str | None
    relevance: float
    source_quality: SourceClass
    source_quality_score: float
    assessment_reason: str
    owner: str


@dataclass(frozen=True, slots=True)
class PairDecision:
    """The last outcome of one thinking pair; `source_id < target_id`."""

    source_id: str
    target_id: str
    source_hash: str
    target_hash: str
    state: PairState
    reason: str
    query: str
    rebuilt_query: str | None
    attempts: int
    retry_not_before: datetime | None
    decided_at: datetime
    detail: Mapping[str, Any] = field(default_factory=dict)
    """What `brain pairs show` prints: the plan, every hit and where it fell, every text with its scores."""


@dataclass(frozen=True, slots=True)
class Task:
    """A research task (spec 05)."""

    id: str
    topic: str
    seeds: tuple[str, ...]
    questions: tuple[str, ...]
    article_type: ArticleType | None
    priority: int
    """0 to 100, highest first."""
    state: TaskState
    origins: tuple[TaskOrigin, ...]
    kind: str
    """The opportunity kind, or `asked`."""
    dedupe_key: str
    language: str
    attempts: int
    not_before: datetime | None
    lease_owner: str | None
    lease_until: datetime | None
    phase: str
    progress: Mapping[str, Any]
    merged_into: str | None
    evidence_count: int
    article_id: str | None
    result_reason: str | None
    last_error: str | None
    created_at: datetime
    updated_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    version: int


@dataclass(frozen=True, slots=True)
class Scan:
    id: str
    started_at: datetime
    finished_at: datetime
    candidates: int
    planned: int
    created: int
    merged: int
    rejected: Mapping[str, int]
    budget: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ScanDecision:
    """What one scan decided about one candidate, and why."""

    scan_id: str
    ordinal: int
    kind: str
    topic: str
    seeds: tuple[str, ...]
    score: float
    why: str
    decision: str
    """`created`, `merged` or `rejected`."""
    rejection_reason: str | None
    recommended_action: str | None
    task_id: str | None


@dataclass(frozen=True, slots=True)
class Article:
    id: str
    topic: str
    topic_key: str
    type: ArticleType
    language: str
    state: ArticleState
    title: str
    current_revision: int
    approved_revision: int | None
    task_id: str | None
    reject_reason: str | None
    active: bool
    created_at: datetime
    updated_at: datetime
    version: int


@dataclass(frozen=True, slots=True)
class ArticleRevision:
    """One immutable text of an article. `content` is the structured article (articles/types.py) as JSON."""

    id: str
    article_id: str
    number: int
    content: Mapping[str, Any]
    markdown: str
    sha256: str
    fingerprint: str
    evidence_ids: tuple[str, ...]
    quality: Mapping[str, Any]
    actor: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ArticleReview:
    id: str
    article_id: str
    revision: int
    kind: str
    """`claims`, `coverage`, or a person's `approval` / `rejection`."""
    passed: bool
    score: float
    findings: tuple[Mapping[str, Any], ...]
    actor: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ArticleAttempt:
    """One synthesis run and how it ended; a failed one never becomes an article."""

    id: str
    task_id: str | None
    topic_key: str
    fingerprint: str
    pipeline: str
    type: ArticleType | None
    outcome: str
    """`staged`, `refused`, or `outside_error` (which never blocks another attempt)."""
    reason: str
    detail: Mapping[str, Any]
    article_id: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class JournalEntry:
    id: str
    at: datetime
    actor: str
    action: str
    target: str
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    expected: Mapping[str, Any] | None
    verified: bool
    status: JournalStatus
    reason: str


@dataclass(frozen=True, slots=True)
class Event:
    """One fact of the catalogue in spec 09; `id` is assigned by the store, 0 before."""

    name: str
    payload: Mapping[str, Any]
    level: str = "info"
    at: datetime | None = None
    id: int = 0
