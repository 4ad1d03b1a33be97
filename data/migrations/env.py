"""Alembic's entry: runs the versions on the connection that `data.migrations.upgrade` hands over."""

from __future__ import annotations

from alembic import context

from data.migrations.names import is_ours
from data.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    include_name=lambda name, kind, _parents: kind != "table" or is_ours(name),
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
