"""Whether a database holds together: what `brain doctor` asks, page by page and reference by reference."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, Table, func, select, text
from sqlalchemy.exc import DBAPIError

from data.journal import count_by_status
from data.schema import node, node_text

__all__ = ["database_faults", "database_notes"]

_SHOWN: Final = 20
_CHECKSUMS: Final = text("SELECT checksum_failures FROM pg_stat_database WHERE datname = current_database()")
_OURS: Final = "relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())"
_INVALID: Final = text(
    f"SELECT relname FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid WHERE {_OURS} AND NOT indisvalid"  # noqa: S608
)
_UNCHECKED: Final = text(
    f"SELECT conname FROM pg_constraint JOIN pg_class ON pg_class.oid = conrelid WHERE {_OURS} AND NOT convalidated"  # noqa: S608
)


def database_faults(conn: Connection) -> list[str]:
    """Return what is wrong with the database, a sentence each; empty when nothing is (large: use `read_bulk`).

    Looks at every page and index, every foreign key, the full-text index, and the journal. PostgreSQL looks after
    its pages and keys itself: there it is asked what it found.
    """
    if conn.dialect.name == "postgresql":
        return [*_server_faults(conn), *_index_faults(conn), *_journal_faults(conn)]
    try:
        pages = [row[0] for row in conn.exec_driver_sql(f"PRAGMA integrity_check({_SHOWN})") if row[0] != "ok"]
    except DBAPIError as error:
        pages = [str(error.orig)]
    if pages:  # what else is asked would be asked of broken pages
        return [f"the database is damaged: {message}; restore a backup" for message in pages]
    faults: list[str] = []
    broken = conn.exec_driver_sql("PRAGMA foreign_key_check").all()
    faults += [f"a row of {row[0]} refers to a row of {row[2]} that is not there" for row in broken[:_SHOWN]]
    return [*faults, *_index_faults(conn), *_journal_faults(conn)]


def database_notes(conn: Connection) -> list[str]:
    """Return what keeps a PostgreSQL server from its promises in a power cut; empty for SQLite, which is set by us."""
    if conn.dialect.name != "postgresql":
        return []
    asked = text("SELECT name, setting FROM pg_settings WHERE name IN ('fsync', 'full_page_writes')")
    off = sorted(name for name, setting in conn.execute(asked).tuples() if setting == "off")
    return [f"{name} is off on the server: a power cut may damage the database; set it to on" for name in off]


def _server_faults(conn: Connection) -> list[str]:
    faults: list[str] = []
    failed = conn.execute(_CHECKSUMS).scalar_one_or_none()
    if failed:
        faults.append(f"the server found {failed} damaged pages in the database; restore a backup")
    faults += [f"the index {name} is not valid; REINDEX it" for name in conn.execute(_INVALID).scalars()]
    faults += [f"the rule {name} was never checked; VALIDATE it" for name in conn.execute(_UNCHECKED).scalars()]
    return faults


def _index_faults(conn: Connection) -> list[str]:
    faults: list[str] = []
    nodes, indexed = (_count(conn, table) for table in (node, node_text))
    if nodes != indexed:
        faults.append(f"the full-text index knows {indexed} of {nodes} nodes; restore a backup")
    return faults


def _journal_faults(conn: Connection) -> list[str]:
    faults: list[str] = []
    states = count_by_status(conn)
    if pending := states.get("pending", 0):
        faults.append(f"{pending} writes wait for their verification; the next start of any command finishes them")
    if failed := states.get("failed", 0):
        faults.append(f"{failed} writes did not read back as expected and could not be undone; see `brain journal`")
    return faults


def _count(conn: Connection, table: Table) -> int:
    return int(conn.execute(select(func.count()).select_from(table)).scalar_one())
