"""The statements of `data.telemetry`, asked of PostgreSQL: one read-only snapshot on a connection of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any, Final

import psycopg

from data.errors import StoreError
from data.migrations.prepare_postgres import connect, tables_of
from data.postgres import parse_address
from data.postgres_errors import translate
from data.telemetry import Connection, MissingStore, TelemetryError, check_revision

__all__ = ["snapshot"]

_NAMED: Final = re.compile(r":(\w+)")


class _Snapshot:
    def __init__(self, connection: psycopg.Connection[tuple[Any, ...]]) -> None:
        self._connection = connection

    def execute(self, sql: str, parameters: Mapping[str, Any] | None = None, /) -> psycopg.Cursor[tuple[Any, ...]]:
        # CROSS JOIN with a condition is how SQLite is told the order of its loops; a planner with statistics is not.
        statement = _NAMED.sub(r"%(\1)s", sql.replace("%", "%%")).replace("CROSS JOIN", "JOIN")
        return self._connection.execute(statement, parameters or {})


@contextmanager
def snapshot(address: str) -> Iterator[Connection]:
    """Yield the database in one snapshot; raise MissingStore or TelemetryError."""
    try:
        server = parse_address(address)
        with closing(connect(server)) as connection:
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            if "alembic_version" not in tables_of(connection):
                raise MissingStore(f"{server.where} holds no store of Neural Brain yet")
            check_revision(connection.execute("SELECT version_num FROM alembic_version").fetchone(), server.where)
            yield _Snapshot(connection)
    except psycopg.Error as error:
        raise TelemetryError(str(translate(error, server.where))) from error
    except StoreError as error:
        raise TelemetryError(str(error)) from error
