"""What changed of tasks and articles since somebody last looked: a feed for whoever keeps them in mind."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from data.migrations import queue_changes

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_WHOLE = sa.Integer().with_variant(sa.BigInteger(), "postgresql")


def upgrade() -> None:
    op.create_table(
        "queue_change",
        sa.Column("ref", sa.Text(), nullable=False),
        sa.Column("number", _WHOLE, nullable=False),
        sa.PrimaryKeyConstraint("ref", name=op.f("pk_queue_change")),
    )
    op.create_index(op.f("ix_queue_change_number"), "queue_change", ["number"], unique=False)
    queue_changes.create_triggers(op.get_bind())


def downgrade() -> None:
    raise NotImplementedError("a backup made before the upgrade brings the earlier revision back")
