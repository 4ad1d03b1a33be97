"""The numbers of the status document, each one named query over the store (spec 09, rule 5 of spec 00).

Plain SQL on a read-only DB-API connection of its own: `brain status` starts without the weight of the
query builder, and the daemon's `/status` never waits for the writer or for the event loop's readers. The same
statements are asked of PostgreSQL, through `data.telemetry_postgres`.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, Protocol

from data.clock import to_iso, utc_day_start
from data.migrations.names import HEAD, REVISIONS

__all__ = ["Connection", "MissingStore", "TelemetryError", "check_revision", "read_telemetry"]

COUNTS: Final = {
    "nodes": "SELECT count(*) FROM node WHERE active AND kind <> 'evidence'",
    "external_nodes": "SELECT count(*) FROM node WHERE active AND kind = 'evidence'",
    "embedded": """SELECT count(*) FROM node AS n JOIN embedding AS e ON e.node_id = n.id AND e.model = :model
        WHERE n.active AND n.kind <> 'evidence' AND e.content_hash = n.content_hash""",
    "vector_edges": "SELECT count(*) FROM edge WHERE kind = 'vector' AND active",
    "relations": "SELECT count(*) FROM edge WHERE kind = 'relation' AND active",
    "pairs_decided": "SELECT count(*) FROM pair_decision",
    "pairs_closed": """SELECT count(*) FROM (
        SELECT v.id FROM edge AS r CROSS JOIN edge AS v ON v.kind = 'vector' AND v.active
            AND v.source_id = r.source_id AND v.target_id = r.target_id
        WHERE r.kind = 'relation' AND r.active
        UNION SELECT v.id FROM edge AS r CROSS JOIN edge AS v ON v.kind = 'vector' AND v.active
            AND v.source_id = r.target_id AND v.target_id = r.source_id
        WHERE r.kind = 'relation' AND r.active
        UNION SELECT v.id FROM pair_decision AS d
            CROSS JOIN node AS s ON s.id = d.source_id AND s.content_hash = d.source_hash
            CROSS JOIN node AS t ON t.id = d.target_id AND t.content_hash = d.target_hash
            CROSS JOIN edge AS v ON v.kind = 'vector' AND v.active
                AND v.source_id = d.source_id AND v.target_id = d.target_id
        WHERE d.retry_not_before IS NULL OR d.retry_not_before > :now
        UNION SELECT v.id FROM pair_decision AS d
            CROSS JOIN node AS s ON s.id = d.source_id AND s.content_hash = d.source_hash
            CROSS JOIN node AS t ON t.id = d.target_id AND t.content_hash = d.target_hash
            CROSS JOIN edge AS v ON v.kind = 'vector' AND v.active
                AND v.source_id = d.target_id AND v.target_id = d.source_id
        WHERE d.retry_not_before IS NULL OR d.retry_not_before > :now) AS closed""",
    "positions": "SELECT count(*) FROM position",
    "completed_today": """SELECT count(*) FROM research_task
        WHERE state = 'completed' AND finished_at >= :day AND finished_at < :next_day""",
    "completed_total": "SELECT count(*) FROM research_task WHERE state = 'completed'",
    "failed_total": "SELECT count(*) FROM research_task WHERE state = 'failed'",
    "evidence_total": """SELECT coalesce(sum(evidence_count), 0) FROM research_task
        WHERE state IN ('completed', 'failed')""",
    "articles_total": "SELECT count(*) FROM research_task WHERE article_id IS NOT NULL AND state = 'completed'",
}

"""Open pairs are the vector edges less `pairs_closed`: those with a relation, or a decision that still holds. Asked
that way round, the number costs what relations and decisions cost, not two look-ups for each of 400,000 edges; CROSS
JOIN keeps SQLite from turning it round again."""

GROUPS: Final = {
    "pairs_by_reason": "SELECT state || ':' || reason, count(*) FROM pair_decision GROUP BY 1 ORDER BY 1",
    "nodes_by_kind": "SELECT kind, count(*) FROM node WHERE active GROUP BY 1 ORDER BY 1",
    "tasks_by_state": "SELECT state, count(*) FROM research_task GROUP BY 1 ORDER BY 1",
    "articles_by_state": """SELECT state, count(*) FROM article
        WHERE active OR state = 'retired' GROUP BY 1 ORDER BY 1""",
    "attempts_by_reason": """SELECT reason, count(*) FROM article_attempt WHERE outcome <> 'staged'
        GROUP BY 1 ORDER BY 1""",
}

LAST_SCAN: Final = """SELECT id, started_at, finished_at, candidates, planned, created, merged, rejected, budget
    FROM scan ORDER BY started_at DESC LIMIT 1"""
WORKING: Final = """SELECT id, topic, state, phase, progress, attempts, lease_owner, started_at, updated_at, lease_until
    FROM research_task WHERE state IN ('reserved', 'running') ORDER BY created_at, id"""
LATEST_THOUGHT: Final = "SELECT max(at) FROM event WHERE name = 'think.pass.completed'"
LOCK: Final = "SELECT holder, pid, since, lease_until FROM lock WHERE name = 'engine'"
STATE: Final = "SELECT name, value FROM state ORDER BY name"


class TelemetryError(Exception):
    """The numbers cannot be read; the message is one sentence: damaged, of a later version, locked.

    No StoreError: data.errors brings the query builder with it, which `brain status` does without.
    """


class MissingStore(TelemetryError):
    """There is no store where one was asked for."""


def read_telemetry(database: Path | str, *, now: datetime) -> dict[str, Any]:
    """Return all counts, groups, the last scan, tasks under way, the lock and the state rows in one snapshot.

    `database` is the SQLite file or the address of a PostgreSQL database, `now` the wall time that says which UTC
    day and which retries are due.
    What counts as embedded is a vector of the model that the state row `embed_model` names. Raises
    MissingStore where there is no file or no schema in it yet, TelemetryError for a store that cannot be read.
    """
    with _opened(database) as connection:
        state = {name: json.loads(value) for name, value in connection.execute(STATE)}
        model = state.get("embed_model")
        day = utc_day_start(now)
        values = {"model": model, "now": to_iso(now), "day": to_iso(day), "next_day": to_iso(day + timedelta(days=1))}
        document: dict[str, Any] = {name: connection.execute(sql, values).fetchone()[0] for name, sql in COUNTS.items()}
        document["pairs_open"] = document["vector_edges"] - document.pop("pairs_closed")
        document |= {"state": state, "embed_model": model}
        for name, sql in GROUPS.items():
            document[name] = dict(connection.execute(sql).fetchall())
        document["last_scan"] = _row(connection, LAST_SCAN, decode=("rejected", "budget"))
        document["working"] = _rows(connection, WORKING, decode=("progress",))
        document["last_pass"] = connection.execute(LATEST_THOUGHT).fetchone()[0]
        document["lock"] = _row(connection, LOCK)
    return document


class Connection(Protocol):
    """A DB-API connection within one snapshot, which takes `:name` parameters."""

    def execute(self, sql: str, parameters: Mapping[str, Any] = ..., /) -> Any: ...


@contextmanager
def _opened(database: Path | str) -> Iterator[Connection]:
    if isinstance(database, str):
        from data.telemetry_postgres import snapshot  # loads the driver

        with snapshot(database) as connection:
            yield connection
        return
    with _read_only(database) as file:
        file.execute("BEGIN")
        yield file


@contextmanager
def _read_only(database: Path) -> Iterator[sqlite3.Connection]:
    """Open the database for reading and translate what SQLite says about it."""
    if not database.is_file():
        raise MissingStore(f"There is no store at {database} yet")
    try:
        with closing(_connected(database)) as connection:
            _check_revision(connection, database)
            yield connection
    except sqlite3.Error as error:
        if _code(error) in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
            raise TelemetryError(
                f"{database} is damaged ({error}); restore a backup with `brain restore`, keep this file"
            ) from error
        raise TelemetryError(f"{database} cannot be read ({error}); `brain doctor` looks closer") from error


def _connected(database: Path) -> sqlite3.Connection:
    """Return a connection for reading.

    A WAL database is read through a shared index, for which a read-only or full disk has no room. Where none is
    there and no log either, nobody has the database open, and it can be read without one.
    """
    address = f"{database.absolute().as_uri()}?mode=ro"
    connection = sqlite3.connect(address, uri=True, timeout=10, isolation_level=None)
    try:
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    except sqlite3.OperationalError as error:
        connection.close()
        log = database.with_name(database.name + "-wal")
        alone = not (log.exists() and log.stat().st_size)
        if _code(error) in {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY} and alone:
            return sqlite3.connect(f"{address}&immutable=1", uri=True, isolation_level=None)
        raise
    except BaseException:
        connection.close()
        raise
    return connection


def _code(error: sqlite3.Error) -> int:
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _check_revision(connection: sqlite3.Connection, database: Path) -> None:
    tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if "alembic_version" not in tables:
        raise MissingStore(f"{database} holds no store of Neural Brain yet")
    check_revision(connection.execute("SELECT version_num FROM alembic_version").fetchone(), str(database))


def check_revision(row: tuple[str] | None, where: str) -> None:
    """Raise MissingStore where a store has no revision, TelemetryError where it has another than this program's."""
    if row is None:
        raise MissingStore(f"{where} holds no store of Neural Brain yet")
    if row[0] not in REVISIONS:
        raise TelemetryError(
            f"{where} was written by a later version (revision {row[0]}, this one knows {HEAD}); update neural-brain"
        )
    if row[0] != HEAD:
        raise TelemetryError(f"{where} is of an earlier version; `brain doctor` brings it up to date")


def _row(connection: Connection, sql: str, decode: tuple[str, ...] = ()) -> dict[str, Any] | None:
    return next(iter(_rows(connection, sql, decode)), None)


def _rows(connection: Connection, sql: str, decode: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    cursor = connection.execute(sql)
    names = [column[0] for column in cursor.description]
    records = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    return [{n: json.loads(value) if n in decode else value for n, value in record.items()} for record in records]
