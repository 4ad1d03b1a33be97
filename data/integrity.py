"""Whether a database holds together: what `brain doctor` asks, page by page and reference by reference."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, Table, func, select
from sqlalchemy.exc import DBAPIError

from data.journal import count_by_status
from data.schema import node, node_text

__all__ = ["database_faults"]

_SHOWN: Final = 20


def database_faults(conn: Connection) -> list[str]:
    """Return what is wrong with the database, a sentence each; empty when nothing is (large: use `read_bulk`).

    Looks at every page and index, every foreign key, the full-text index, and the journal.
    """
    try:
        pages = [row[0] for row in conn.exec_driver_sql(f"PRAGMA integrity_check({_SHOWN})") if row[0] != "ok"]
    except DBAPIError as error:
        pages = [str(error.orig)]
    if pages:  # what else is asked would be asked of broken pages
        return [f"the database is damaged: {message}; restore a backup" for message in pages]
    faults: list[str] = []
    broken = conn.exec_driver_sql("PRAGMA foreign_key_check").all()
    faults += [f"a row of {row[0]} refers to a row of {row[2]} that is not there" for row in broken[:_SHOWN]]
    nodes, indexed = (_count(conn, table) for table in (node, node_text))
    if nodes != indexed:
        faults.append(f"the full-text index knows {indexed} of {nodes} nodes; restore a backup")
    states = count_by_status(conn)
    if pending := states.get("pending", 0):
        faults.append(f"{pending} writes wait for their verification; the next start of any command finishes them")
    if failed := states.get("failed", 0):
        faults.append(f"{failed} writes did not read back as expected and could not be undone; see `brain journal`")
    return faults


def _count(conn: Connection, table: Table) -> int:
    return int(conn.execute(select(func.count()).select_from(table)).scalar_one())
