"""Making a PostgreSQL database ready to open: look at the server, then at the revision, migrate when behind.

The counterpart of `data.migrations.prepare`. The usual start asks one question; Alembic is loaded only when there is
something to do, and two starts at once are kept apart by an advisory lock.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final

import psycopg

from data.errors import DatabaseDamaged, DatabaseTooNew, StoreUnavailable
from data.migrations.names import HEAD, REVISIONS
from data.postgres import PostgresBackend, Server
from data.postgres_errors import explain_connection, translate

__all__ = ["OLDEST", "connect", "holds_store", "prepare_server", "tables_of"]

OLDEST: Final = 14
"""The oldest major version of PostgreSQL that is taken: what came before is no longer maintained."""

_CREATE: Final = "create it anew with: createdb --template=template0 --encoding=UTF8 --locale=C.UTF-8 NAME"

_LOOK: Final = """
    SELECT current_setting('server_version_num')::int, current_setting('server_version'),
        current_setting('server_encoding'), (SELECT datctype FROM pg_database WHERE datname = current_database()),
        current_schema(), pg_is_in_recovery(),
        current_schema() IS NOT NULL AND has_schema_privilege(current_schema(), 'CREATE'),
        ARRAY(SELECT relname::text FROM pg_class JOIN pg_namespace AS n ON n.oid = relnamespace
              WHERE n.nspname = current_schema() AND relkind IN ('r', 'p'))
"""


@dataclass(frozen=True, slots=True)
class _Seen:
    """What a server says of itself and of the schema that new tables would go to."""

    number: int
    version: str
    encoding: str
    ctype: str
    schema: str | None
    standby: bool
    may_create: bool
    tables: list[str]


def prepare_server(server: Server) -> None:
    """Leave a schema of this program's revision; raise StoreUnavailable, DatabaseTooNew or DatabaseDamaged."""
    if _is_ready(server):
        return
    from data.migrations.upgrade import upgrade  # loads Alembic

    backend = PostgresBackend(server)
    engine = backend.migrator()
    try:
        upgrade(engine)
    except backend.errors as error:
        raise translate(error, server.where) from error
    finally:
        engine.dispose()


def holds_store(server: Server) -> bool:
    """Tell whether there is a store of Neural Brain, of whatever revision; raise StoreUnavailable."""
    with closing(connect(server)) as connection:
        return "alembic_version" in tables_of(connection)


def tables_of(connection: psycopg.Connection[tuple[Any, ...]]) -> list[str]:
    """Return the names of the tables of the schema that new tables would go to."""
    return _seen(connection).tables


def _is_ready(server: Server) -> bool:
    """Tell whether the schema stands at this revision; refuse a server or a schema that cannot be used."""
    where = server.where
    with closing(connect(server)) as connection:
        seen = _seen(connection)
        _check_server(seen, where)
        if "alembic_version" not in seen.tables:
            if seen.tables:
                raise DatabaseDamaged(
                    f"{where} holds tables of another program ({', '.join(sorted(seen.tables)[:3])}); "
                    "give Neural Brain a database or a schema of its own"
                )
            _check_rights(seen, where)
            return False
        row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    revision = None if row is None else str(row[0])
    if revision is not None and revision not in REVISIONS:
        raise DatabaseTooNew(
            f"{where} was written by a later version (revision {revision}, this one knows {HEAD}); "
            "update neural-brain or restore an older backup"
        )
    if revision != HEAD:
        _check_rights(seen, where)
    return revision == HEAD


def connect(server: Server) -> psycopg.Connection[tuple[Any, ...]]:
    """Return a plain connection in autocommit; raise StoreUnavailable with why there is none."""
    try:
        return server.connect()
    except psycopg.Error as error:
        url = server.url
        raise explain_connection(
            error, where=server.where, place=server.place, user=url.username or "", database=url.database or ""
        ) from error


def _seen(connection: psycopg.Connection[tuple[Any, ...]]) -> _Seen:
    row = connection.execute(_LOOK).fetchone()
    assert row is not None
    return _Seen(*row)


def _check_server(seen: _Seen, where: str) -> None:
    fault = ""
    if seen.number // 10_000 < OLDEST:
        fault = f"is of PostgreSQL {seen.version}; Neural Brain needs {OLDEST} or later"
    elif seen.encoding != "UTF8":
        fault = f"has the encoding {seen.encoding} and must have UTF8; {_CREATE}"
    elif seen.ctype in {"C", "POSIX"}:
        fault = f"has LC_CTYPE {seen.ctype}, which knows no letters beyond ASCII; {_CREATE}"
    elif seen.standby:
        fault = "is a standby, which takes no writes; name the primary in BRAIN_DATABASE_URL"
    if fault:
        raise StoreUnavailable(f"{where} {fault}", reason="cannot_open")


def _check_rights(seen: _Seen, where: str) -> None:
    if seen.schema is None:
        raise StoreUnavailable(
            f"{where} has no schema for new tables; create the one that search_path names", reason="read_only"
        )
    if not seen.may_create:
        raise StoreUnavailable(
            f"the role may not create tables in schema {seen.schema!r} of {where}; "
            f"make it the owner of the database, or: GRANT CREATE ON SCHEMA {seen.schema} TO the role",
            reason="read_only",
        )
