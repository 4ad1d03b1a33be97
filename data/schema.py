"""Tables of the store (spec 02) as SQLAlchemy Core; `data/migrations` builds exactly these.

Times are ISO-8601 text (UTC, microseconds) and JSON is text on SQLite and PostgreSQL alike, so that a
value reads back byte for byte on both and a verification compares like with like.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.types import TypeDecorator

from data.clock import from_iso, to_iso

__all__ = [
    "Json",
    "Moment",
    "article",
    "article_attempt",
    "article_review",
    "article_revision",
    "edge",
    "embedding",
    "encode_json",
    "event",
    "evidence",
    "inbox_file",
    "journal",
    "library_document",
    "lock",
    "metadata",
    "neighbour",
    "node",
    "node_reading",
    "node_text",
    "pair_decision",
    "position",
    "queue_change",
    "research_task",
    "scan",
    "scan_decision",
    "state",
]


encode_json = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False).encode


class Moment(TypeDecorator[datetime]):
    """An aware UTC datetime, stored as ISO-8601 text with microseconds."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> str | None:
        return None if value is None else to_iso(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> datetime | None:
        return None if value is None else from_iso(value)


class Json(TypeDecorator[Any]):
    """A JSON value, stored as canonical text (sorted keys, no spaces, no NaN)."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        if value is None:
            return None
        return encode_json(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        return None if value is None else json.loads(value)


_WHOLE = Integer().with_variant(BigInteger(), "postgresql")
"""64 bits, which an integer of SQLite always has."""

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

node = Table(
    "node",
    metadata,
    Column("id", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("label", Text, nullable=False),
    Column("label_key", Text, nullable=False),  # normalised label: exact look-up before any embedding (spec 14)
    Column("body", Text, nullable=False),
    Column("language", Text, nullable=False),
    Column("source_uri", Text, nullable=False),
    Column("content_hash", Text, nullable=False),
    Column("category", Text, nullable=False),
    Column("meta", Json, nullable=False),
    Column("active", Boolean, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("updated_at", Moment, nullable=False),
    Column("version", Integer, nullable=False),
    Index(None, "kind", "label_key"),
    Index(None, "content_hash"),
    Index(None, "source_uri"),
)

# The row number of a node in the FTS5 table `node_fts`: FTS5 knows rows by an integer, and the implicit
# one of `node` would be renumbered by VACUUM. Kept by triggers, as the index itself is.
node_text = Table(
    "node_text",
    metadata,
    Column("id", _WHOLE, primary_key=True),
    Column("node_id", Text, ForeignKey("node.id", ondelete="CASCADE"), nullable=False, unique=True),
)

embedding = Table(
    "embedding",
    metadata,
    Column("node_id", Text, ForeignKey("node.id", ondelete="CASCADE"), nullable=False),
    Column("model", Text, nullable=False),
    Column("dim", Integer, nullable=False),
    Column("content_hash", Text, nullable=False),
    Column("vector", LargeBinary, nullable=False),
    PrimaryKeyConstraint("node_id", "model"),
)

neighbour = Table(
    "neighbour",
    metadata,
    Column("node_id", Text, ForeignKey("node.id", ondelete="CASCADE"), primary_key=True),
    Column("model", Text, nullable=False),
    Column("content_hash", Text, nullable=False),
    Column("ids", Json, nullable=False),
    Column("similarities", LargeBinary, nullable=False),
)

position = Table(
    "position",
    metadata,
    Column("node_id", Text, ForeignKey("node.id", ondelete="CASCADE"), primary_key=True),
    Column("x", Float(53), nullable=False),
    Column("y", Float(53), nullable=False),
    Column("z", Float(53), nullable=False),
    Column("updated_at", Moment, nullable=False),
)

# What the research reads in a node's label and body, packed by `research.reading` (its texts are nobody else's affair);
# `reader` names the reader and its settings, so that another one reads again.
node_reading = Table(
    "node_reading",
    metadata,
    Column("node_id", Text, ForeignKey("node.id", ondelete="CASCADE"), primary_key=True),
    Column("content_hash", Text, nullable=False),
    Column("reader", Text, nullable=False),
    Column("chars", Integer, nullable=False),
    Column("label", Text, nullable=False),
    Column("words", Text, nullable=False),
    Column("named", Text, nullable=False),
    Column("terms", Text, nullable=False),
)

lock = Table(
    "lock",
    metadata,
    Column("name", Text, primary_key=True),
    Column("holder", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("since", Moment, nullable=False),
    Column("lease_until", Moment, nullable=False),
)

edge = Table(
    "edge",
    metadata,
    Column("id", Text, primary_key=True),
    Column("source_id", Text, ForeignKey("node.id"), nullable=False),
    Column("target_id", Text, ForeignKey("node.id"), nullable=False),
    Column("kind", Text, nullable=False),
    Column("relation_type", Text),
    Column("weight", Float(53), nullable=False),
    Column("meta", Json, nullable=False),
    Column("active", Boolean, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("updated_at", Moment, nullable=False),
    Index(None, "kind", "source_id", "target_id"),
    Index(None, "target_id"),
)

pair_decision = Table(
    "pair_decision",
    metadata,
    Column("source_id", Text, ForeignKey("node.id", ondelete="CASCADE"), nullable=False),
    Column("target_id", Text, ForeignKey("node.id", ondelete="CASCADE"), nullable=False),
    Column("source_hash", Text, nullable=False),
    Column("target_hash", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("query", Text, nullable=False),
    Column("rebuilt_query", Text),
    Column("attempts", Integer, nullable=False),
    Column("retry_not_before", Moment),
    Column("decided_at", Moment, nullable=False),
    Column("detail", Json, nullable=False),
    PrimaryKeyConstraint("source_id", "target_id"),
    Index(None, "state", "reason"),
)

evidence = Table(
    "evidence",
    metadata,
    Column("id", Text, primary_key=True),
    Column("url", Text, nullable=False),
    Column("final_url", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("publisher", Text, nullable=False),
    Column("language", Text, nullable=False),
    Column("published_at", Moment),
    Column("fetched_at", Moment, nullable=False),
    Column("sha256", Text, nullable=False),
    Column("path", Text, nullable=False),
    Column("chars", Integer, nullable=False),
    Column("accepted", Boolean, nullable=False),
    Column("reject_reason", Text),
    Column("relevance", Float(53), nullable=False),
    Column("source_quality", Text, nullable=False),
    Column("source_quality_score", Float(53), nullable=False),
    Column("assessment_reason", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Index(None, "owner"),
    Index(None, "sha256"),
)

research_task = Table(
    "research_task",
    metadata,
    Column("id", Text, primary_key=True),
    Column("topic", Text, nullable=False),
    Column("seeds", Json, nullable=False),
    Column("questions", Json, nullable=False),
    Column("article_type", Text),
    Column("priority", Integer, nullable=False),
    Column("state", Text, nullable=False),
    Column("origins", Json, nullable=False),
    Column("kind", Text, nullable=False),
    Column("dedupe_key", Text, nullable=False),
    Column("language", Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("not_before", Moment),
    Column("lease_owner", Text),
    Column("lease_until", Moment),
    Column("phase", Text, nullable=False),
    Column("progress", Json, nullable=False),
    Column("merged_into", Text, ForeignKey("research_task.id")),
    Column("evidence_count", Integer, nullable=False),
    Column("article_id", Text, ForeignKey("article.id")),
    Column("result_reason", Text),
    Column("last_error", Text),
    Column("created_at", Moment, nullable=False),
    Column("updated_at", Moment, nullable=False),
    Column("started_at", Moment),
    Column("finished_at", Moment),
    Column("version", Integer, nullable=False),
    Index(None, "state", "priority", "created_at"),
    Index(None, "dedupe_key"),
    Index(None, "finished_at"),
)

# The number of the last change of each task (`research_task:ID`), article (`article:ID`) and task's evidence
# (`task:ID`). Kept by triggers: no writer can forget it.
queue_change = Table(
    "queue_change",
    metadata,
    Column("ref", Text, primary_key=True),
    Column("number", _WHOLE, nullable=False),
    Index(None, "number"),
)

scan = Table(
    "scan",
    metadata,
    Column("id", Text, primary_key=True),
    Column("started_at", Moment, nullable=False),
    Column("finished_at", Moment, nullable=False),
    Column("candidates", Integer, nullable=False),
    Column("planned", Integer, nullable=False),
    Column("created", Integer, nullable=False),
    Column("merged", Integer, nullable=False),
    Column("rejected", Json, nullable=False),
    Column("budget", Json, nullable=False),
)

scan_decision = Table(
    "scan_decision",
    metadata,
    Column("scan_id", Text, ForeignKey("scan.id", ondelete="CASCADE"), nullable=False),
    Column("ordinal", Integer, nullable=False),
    Column("kind", Text, nullable=False),
    Column("topic", Text, nullable=False),
    Column("seeds", Json, nullable=False),
    Column("score", Float(53), nullable=False),
    Column("why", Text, nullable=False),
    Column("decision", Text, nullable=False),
    Column("rejection_reason", Text),
    Column("recommended_action", Text),
    Column("task_id", Text),
    PrimaryKeyConstraint("scan_id", "ordinal"),
)

article = Table(
    "article",
    metadata,
    Column("id", Text, primary_key=True),
    Column("topic", Text, nullable=False),
    Column("topic_key", Text, nullable=False),
    Column("type", Text, nullable=False),
    Column("language", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("current_revision", Integer, nullable=False),
    Column("approved_revision", Integer),
    Column("task_id", Text),
    Column("reject_reason", Text),
    Column("active", Boolean, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("updated_at", Moment, nullable=False),
    Column("version", Integer, nullable=False),
    Index(None, "topic_key"),
    Index(None, "state"),
    # One active article a topic: a second one becomes a proposed revision (spec 06, final gates).
    Index(
        "uq_article_active_topic",
        "topic_key",
        unique=True,
        sqlite_where=text("active = 1 AND state IN ('staged', 'approved', 'published')"),
        postgresql_where=text("active AND state IN ('staged', 'approved', 'published')"),
    ),
)

article_revision = Table(
    "article_revision",
    metadata,
    Column("id", Text, primary_key=True),
    Column("article_id", Text, ForeignKey("article.id", ondelete="CASCADE"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("content", Json, nullable=False),
    Column("markdown", Text, nullable=False),
    Column("sha256", Text, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("evidence_ids", Json, nullable=False),
    Column("quality", Json, nullable=False),
    Column("actor", Text, nullable=False),
    Column("created_at", Moment, nullable=False),
    UniqueConstraint("article_id", "number"),
)

article_review = Table(
    "article_review",
    metadata,
    Column("id", Text, primary_key=True),
    Column("article_id", Text, ForeignKey("article.id", ondelete="CASCADE"), nullable=False),
    Column("revision", Integer, nullable=False),
    Column("kind", Text, nullable=False),
    Column("passed", Boolean, nullable=False),
    Column("score", Float(53), nullable=False),
    Column("findings", Json, nullable=False),
    Column("actor", Text, nullable=False),
    Column("created_at", Moment, nullable=False),
    Index(None, "article_id", "revision"),
)

article_attempt = Table(
    "article_attempt",
    metadata,
    Column("id", Text, primary_key=True),
    Column("task_id", Text),
    Column("topic_key", Text, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("pipeline", Text, nullable=False),
    Column("type", Text),
    Column("outcome", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("detail", Json, nullable=False),
    Column("article_id", Text),
    Column("created_at", Moment, nullable=False),
    Index(None, "topic_key"),
    Index(None, "fingerprint"),
)

journal = Table(
    "journal",
    metadata,
    Column("id", Text, primary_key=True),
    Column("at", Moment, nullable=False),
    Column("actor", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("target", Text, nullable=False),
    Column("before", Json),
    Column("after", Json),
    Column("expected", Json),
    Column("verified", Boolean, nullable=False),
    Column("status", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Index(None, "status"),
    Index(None, "at"),
)

event = Table(
    "event",
    metadata,
    Column("id", _WHOLE, primary_key=True, autoincrement=True),
    Column("at", Moment, nullable=False),
    Column("name", Text, nullable=False),
    Column("level", Text, nullable=False),
    Column("payload", Json, nullable=False),
    Index(None, "name"),
    Index(None, "at"),
    sqlite_autoincrement=True,
)

state = Table(
    "state",
    metadata,
    Column("name", Text, primary_key=True),
    Column("value", Json, nullable=False),
    Column("updated_at", Moment, nullable=False),
)

# What the inbox has taken or refused, by content: nothing is taken twice (spec 02, "The inbox").
inbox_file = Table(
    "inbox_file",
    metadata,
    Column("sha256", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("reason", Text),
    Column("nodes", Integer, nullable=False),
    Column("at", Moment, nullable=False),
)

# The operator's own documents; their text also stands in the FTS5 table `library_fts` (a migration
# creates it with plain SQL, because Core has no virtual tables).
library_document = Table(
    "library_document",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("path", Text, nullable=False, unique=True),
    Column("collection", Text, nullable=False),
    Column("publisher", Text, nullable=False),
    Column("source_class", Text, nullable=False),
    Column("language", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("base_url", Text, nullable=False),
    Column("sha256", Text, nullable=False),
    Column("size", _WHOLE, nullable=False),
    Column("mtime_ns", _WHOLE, nullable=False),
    Column("published_at", Moment),
    Column("meta", Json, nullable=False),
    Column("indexed_at", Moment, nullable=False),
)
