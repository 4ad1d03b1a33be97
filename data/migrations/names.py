"""What stands in a database beside the tables of `data.schema`, and the revisions this program knows."""

from __future__ import annotations

from typing import Final

__all__ = ["FULL_TEXT_TABLES", "HEAD", "REVISIONS", "is_ours"]

REVISIONS: Final = ("0001", "0002", "0003")
"""Every revision in order; kept here so that a start can tell new from old without loading Alembic."""

HEAD: Final = REVISIONS[-1]

FULL_TEXT_TABLES: Final = ("node_fts", "library_fts")
"""FTS5 tables; SQLite keeps each in shadow tables of the same prefix."""


def is_ours(name: str | None) -> bool:
    """Tell whether the table `name` is one of the schema's own (not FTS5's, not SQLite's)."""
    return name is not None and not name.startswith((*FULL_TEXT_TABLES, "sqlite_"))
