"""The first schema: the tables of `data.schema`, and full text, which Core does not know."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from data.migrations import postgres

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    _create_article()
    _create_article_attempt()
    _create_event()
    _create_evidence()
    _create_inbox_file()
    _create_journal()
    _create_library_document()
    _create_lock()
    _create_node()
    _create_scan()
    _create_state()
    _create_article_review()
    _create_article_revision()
    _create_edge()
    _create_embedding()
    _create_neighbour()
    _create_node_text()
    _create_pair_decision()
    _create_position()
    _create_research_task()
    _create_scan_decision()
    if op.get_bind().dialect.name == "postgresql":
        postgres.create_full_text(op.get_bind())
        return
    _create_node_fts()
    _create_library_fts()


# Nanoseconds and sizes of files need 64 bits, which an integer of SQLite always has.
_WHOLE = sa.Integer().with_variant(sa.BigInteger(), "postgresql")


def downgrade() -> None:
    raise NotImplementedError("the first revision is the ground: restore a backup instead of going below it")


def _create_article() -> None:
    op.create_table(
        "article",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("topic", sa.Text(), nullable=False),
        sa.Column("topic_key", sa.Text(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("language", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("current_revision", sa.Integer(), nullable=False),
        sa.Column("approved_revision", sa.Integer(), nullable=True),
        sa.Column("task_id", sa.Text(), nullable=True),
        sa.Column("reject_reason", sa.Text(), nullable=True),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_article")),
    )
    op.create_index(op.f("ix_article_state"), "article", ["state"], unique=False)
    op.create_index(op.f("ix_article_topic_key"), "article", ["topic_key"], unique=False)
    op.create_index(
        "uq_article_active_topic",
        "article",
        ["topic_key"],
        unique=True,
        sqlite_where=sa.text("active = 1 AND state IN ('staged', 'approved', 'published')"),
        postgresql_where=sa.text("active AND state IN ('staged', 'approved', 'published')"),
    )


def _create_article_attempt() -> None:
    op.create_table(
        "article_attempt",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("task_id", sa.Text(), nullable=True),
        sa.Column("topic_key", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("pipeline", sa.Text(), nullable=False),
        sa.Column("type", sa.Text(), nullable=True),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("article_id", sa.Text(), nullable=True),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_article_attempt")),
    )
    op.create_index(op.f("ix_article_attempt_fingerprint"), "article_attempt", ["fingerprint"], unique=False)
    op.create_index(op.f("ix_article_attempt_topic_key"), "article_attempt", ["topic_key"], unique=False)


def _create_event() -> None:
    op.create_table(
        "event",
        sa.Column("id", _WHOLE, autoincrement=True, nullable=False),
        sa.Column("at", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("level", sa.Text(), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_event")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_event_at"), "event", ["at"], unique=False)
    op.create_index(op.f("ix_event_name"), "event", ["name"], unique=False)


def _create_evidence() -> None:
    op.create_table(
        "evidence",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("final_url", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("publisher", sa.Text(), nullable=False),
        sa.Column("language", sa.Text(), nullable=False),
        sa.Column("published_at", sa.Text(), nullable=True),
        sa.Column("fetched_at", sa.Text(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("chars", sa.Integer(), nullable=False),
        sa.Column("accepted", sa.Boolean(), nullable=False),
        sa.Column("reject_reason", sa.Text(), nullable=True),
        sa.Column("relevance", sa.Float(precision=53), nullable=False),
        sa.Column("source_quality", sa.Text(), nullable=False),
        sa.Column("source_quality_score", sa.Float(precision=53), nullable=False),
        sa.Column("assessment_reason", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_evidence")),
    )
    op.create_index(op.f("ix_evidence_owner"), "evidence", ["owner"], unique=False)
    op.create_index(op.f("ix_evidence_sha256"), "evidence", ["sha256"], unique=False)


def _create_inbox_file() -> None:
    op.create_table(
        "inbox_file",
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("nodes", sa.Integer(), nullable=False),
        sa.Column("at", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("sha256", name=op.f("pk_inbox_file")),
    )


def _create_journal() -> None:
    op.create_table(
        "journal",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("at", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("before", sa.Text(), nullable=True),
        sa.Column("after", sa.Text(), nullable=True),
        sa.Column("expected", sa.Text(), nullable=True),
        sa.Column("verified", sa.Boolean(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_journal")),
    )
    op.create_index(op.f("ix_journal_at"), "journal", ["at"], unique=False)
    op.create_index(op.f("ix_journal_status"), "journal", ["status"], unique=False)


def _create_library_document() -> None:
    op.create_table(
        "library_document",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("collection", sa.Text(), nullable=False),
        sa.Column("publisher", sa.Text(), nullable=False),
        sa.Column("source_class", sa.Text(), nullable=False),
        sa.Column("language", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("base_url", sa.Text(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("size", _WHOLE, nullable=False),
        sa.Column("mtime_ns", _WHOLE, nullable=False),
        sa.Column("published_at", sa.Text(), nullable=True),
        sa.Column("meta", sa.Text(), nullable=False),
        sa.Column("indexed_at", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_library_document")),
        sa.UniqueConstraint("path", name=op.f("uq_library_document_path")),
    )


def _create_lock() -> None:
    op.create_table(
        "lock",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("holder", sa.Text(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("since", sa.Text(), nullable=False),
        sa.Column("lease_until", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_lock")),
    )


def _create_node() -> None:
    op.create_table(
        "node",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("label_key", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("language", sa.Text(), nullable=False),
        sa.Column("source_uri", sa.Text(), nullable=False),
        sa.Column("content_hash", sa.Text(), nullable=False),
        sa.Column("category", sa.Text(), nullable=False),
        sa.Column("meta", sa.Text(), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_node")),
    )
    op.create_index(op.f("ix_node_content_hash"), "node", ["content_hash"], unique=False)
    op.create_index(op.f("ix_node_kind_label_key"), "node", ["kind", "label_key"], unique=False)
    op.create_index(op.f("ix_node_source_uri"), "node", ["source_uri"], unique=False)


def _create_scan() -> None:
    op.create_table(
        "scan",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("started_at", sa.Text(), nullable=False),
        sa.Column("finished_at", sa.Text(), nullable=False),
        sa.Column("candidates", sa.Integer(), nullable=False),
        sa.Column("planned", sa.Integer(), nullable=False),
        sa.Column("created", sa.Integer(), nullable=False),
        sa.Column("merged", sa.Integer(), nullable=False),
        sa.Column("rejected", sa.Text(), nullable=False),
        sa.Column("budget", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_scan")),
    )


def _create_state() -> None:
    op.create_table(
        "state",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_state")),
    )


def _create_article_review() -> None:
    op.create_table(
        "article_review",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("article_id", sa.Text(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("passed", sa.Boolean(), nullable=False),
        sa.Column("score", sa.Float(precision=53), nullable=False),
        sa.Column("findings", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["article_id"], ["article.id"], name=op.f("fk_article_review_article_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_article_review")),
    )
    op.create_index(
        op.f("ix_article_review_article_id_revision"), "article_review", ["article_id", "revision"], unique=False
    )


def _create_article_revision() -> None:
    op.create_table(
        "article_revision",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("article_id", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("markdown", sa.Text(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("evidence_ids", sa.Text(), nullable=False),
        sa.Column("quality", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["article_id"], ["article.id"], name=op.f("fk_article_revision_article_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_article_revision")),
        sa.UniqueConstraint("article_id", "number", name=op.f("uq_article_revision_article_id_number")),
    )


def _create_edge() -> None:
    op.create_table(
        "edge",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("source_id", sa.Text(), nullable=False),
        sa.Column("target_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("relation_type", sa.Text(), nullable=True),
        sa.Column("weight", sa.Float(precision=53), nullable=False),
        sa.Column("meta", sa.Text(), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["source_id"], ["node.id"], name=op.f("fk_edge_source_id")),
        sa.ForeignKeyConstraint(["target_id"], ["node.id"], name=op.f("fk_edge_target_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_edge")),
    )
    op.create_index(op.f("ix_edge_kind_source_id_target_id"), "edge", ["kind", "source_id", "target_id"], unique=False)
    op.create_index(op.f("ix_edge_target_id"), "edge", ["target_id"], unique=False)


def _create_embedding() -> None:
    op.create_table(
        "embedding",
        sa.Column("node_id", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("dim", sa.Integer(), nullable=False),
        sa.Column("content_hash", sa.Text(), nullable=False),
        sa.Column("vector", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["node_id"], ["node.id"], name=op.f("fk_embedding_node_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("node_id", "model", name=op.f("pk_embedding")),
    )


def _create_neighbour() -> None:
    op.create_table(
        "neighbour",
        sa.Column("node_id", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("content_hash", sa.Text(), nullable=False),
        sa.Column("ids", sa.Text(), nullable=False),
        sa.Column("similarities", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["node_id"], ["node.id"], name=op.f("fk_neighbour_node_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("node_id", name=op.f("pk_neighbour")),
    )


def _create_node_text() -> None:
    op.create_table(
        "node_text",
        sa.Column("id", _WHOLE, nullable=False),
        sa.Column("node_id", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["node_id"], ["node.id"], name=op.f("fk_node_text_node_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_node_text")),
        sa.UniqueConstraint("node_id", name=op.f("uq_node_text_node_id")),
    )


def _create_pair_decision() -> None:
    op.create_table(
        "pair_decision",
        sa.Column("source_id", sa.Text(), nullable=False),
        sa.Column("target_id", sa.Text(), nullable=False),
        sa.Column("source_hash", sa.Text(), nullable=False),
        sa.Column("target_hash", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("query", sa.Text(), nullable=False),
        sa.Column("rebuilt_query", sa.Text(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("retry_not_before", sa.Text(), nullable=True),
        sa.Column("decided_at", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["source_id"], ["node.id"], name=op.f("fk_pair_decision_source_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["target_id"], ["node.id"], name=op.f("fk_pair_decision_target_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("source_id", "target_id", name=op.f("pk_pair_decision")),
    )
    op.create_index(op.f("ix_pair_decision_state_reason"), "pair_decision", ["state", "reason"], unique=False)


def _create_position() -> None:
    op.create_table(
        "position",
        sa.Column("node_id", sa.Text(), nullable=False),
        sa.Column("x", sa.Float(precision=53), nullable=False),
        sa.Column("y", sa.Float(precision=53), nullable=False),
        sa.Column("z", sa.Float(precision=53), nullable=False),
        sa.Column("updated_at", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["node_id"], ["node.id"], name=op.f("fk_position_node_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("node_id", name=op.f("pk_position")),
    )


def _create_research_task() -> None:
    op.create_table(
        "research_task",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("topic", sa.Text(), nullable=False),
        sa.Column("seeds", sa.Text(), nullable=False),
        sa.Column("questions", sa.Text(), nullable=False),
        sa.Column("article_type", sa.Text(), nullable=True),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("origins", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("dedupe_key", sa.Text(), nullable=False),
        sa.Column("language", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("not_before", sa.Text(), nullable=True),
        sa.Column("lease_owner", sa.Text(), nullable=True),
        sa.Column("lease_until", sa.Text(), nullable=True),
        sa.Column("phase", sa.Text(), nullable=False),
        sa.Column("progress", sa.Text(), nullable=False),
        sa.Column("merged_into", sa.Text(), nullable=True),
        sa.Column("evidence_count", sa.Integer(), nullable=False),
        sa.Column("article_id", sa.Text(), nullable=True),
        sa.Column("result_reason", sa.Text(), nullable=True),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.Text(), nullable=False),
        sa.Column("started_at", sa.Text(), nullable=True),
        sa.Column("finished_at", sa.Text(), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["article_id"], ["article.id"], name=op.f("fk_research_task_article_id")),
        sa.ForeignKeyConstraint(["merged_into"], ["research_task.id"], name=op.f("fk_research_task_merged_into")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_research_task")),
    )
    op.create_index(op.f("ix_research_task_dedupe_key"), "research_task", ["dedupe_key"], unique=False)
    op.create_index(op.f("ix_research_task_finished_at"), "research_task", ["finished_at"], unique=False)
    op.create_index(
        op.f("ix_research_task_state_priority_created_at"),
        "research_task",
        ["state", "priority", "created_at"],
        unique=False,
    )


def _create_scan_decision() -> None:
    op.create_table(
        "scan_decision",
        sa.Column("scan_id", sa.Text(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("topic", sa.Text(), nullable=False),
        sa.Column("seeds", sa.Text(), nullable=False),
        sa.Column("score", sa.Float(precision=53), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("decision", sa.Text(), nullable=False),
        sa.Column("rejection_reason", sa.Text(), nullable=True),
        sa.Column("recommended_action", sa.Text(), nullable=True),
        sa.Column("task_id", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["scan_id"], ["scan.id"], name=op.f("fk_scan_decision_scan_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("scan_id", "ordinal", name=op.f("pk_scan_decision")),
    )


def _create_node_fts() -> None:
    # The index keeps its own copy of the text: one that read it from `node` would have to be told the old
    # text at every change, and a single slip there breaks it for good.
    for statement in (
        "CREATE VIRTUAL TABLE node_fts USING fts5(label, body, tokenize='unicode61 remove_diacritics 2')",
        """
        CREATE TRIGGER node_fts_insert AFTER INSERT ON node BEGIN
            INSERT INTO node_text (node_id) VALUES (new.id);
            INSERT INTO node_fts (rowid, label, body)
            SELECT node_text.id, node.label, node.body
            FROM node_text JOIN node ON node.id = node_text.node_id WHERE node.id = new.id;
        END
        """,
        """
        CREATE TRIGGER node_fts_update AFTER UPDATE OF label, body ON node
        WHEN old.label <> new.label OR old.body <> new.body BEGIN
            UPDATE node_fts SET label = new.label, body = new.body
            WHERE rowid = (SELECT id FROM node_text WHERE node_id = new.id);
        END
        """,
        """
        CREATE TRIGGER node_fts_delete BEFORE DELETE ON node BEGIN
            DELETE FROM node_fts WHERE rowid = (SELECT id FROM node_text WHERE node_id = old.id);
            DELETE FROM node_text WHERE node_id = old.id;
        END
        """,
    ):
        op.execute(statement)


def _create_library_fts() -> None:
    op.execute("CREATE VIRTUAL TABLE library_fts USING fts5(title, body, tokenize='unicode61 remove_diacritics 2')")
