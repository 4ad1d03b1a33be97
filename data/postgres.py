"""PostgreSQL through psycopg 3: addresses, connections, and how transactions begin (spec 02, "Store").

What SQLite gets from BEGIN IMMEDIATE, one writer at a time over all processes, a write transaction gets here
from an advisory lock that it takes first and that ends with it. It runs READ COMMITTED: every statement after
the lock sees what the transaction before it committed. The numbers of two transactions that follow each other tell
whether anybody wrote in between. A read is one REPEATABLE READ snapshot and read-only.

Each writer also holds an advisory lock of its own for as long as its connection lives, under a number that its
journal entries carry: a start can tell what a crash left pending from what another process is about to verify.
"""

from __future__ import annotations

import secrets
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import unquote

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import AsyncAdaptedQueuePool, NullPool, QueuePool

from data.errors import StoreError

try:
    import psycopg
except ImportError as missing:  # an optional part of the installation
    raise StoreError(
        "a PostgreSQL database needs the driver psycopg, which is not installed; "
        "install it with: pip install 'neural-brain[postgres]'"
    ) from missing

__all__ = ["LOCK_TIMEOUT_S", "PostgresBackend", "Server", "migration_lock", "parse_address"]

LOCK_TIMEOUT_S: Final = 30
"""Seconds a write waits for the writes of other processes."""
_IDLE_TIMEOUT_S: Final = 300
"""Seconds after which the server ends a transaction whose process has stopped between two statements."""
_CONNECT_TIMEOUT_S: Final = 10
_READERS: Final = 4

_TURN: Final = 0x4E42_0001
_WRITER: Final = 0x4E42_0002
_MIGRATION: Final = 0x4E42_0003
"""First halves of the advisory locks' keys; the second is made of the schema's name, or is a writer's number."""

_KEEPALIVE: Final = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}
_SERVER_KEEPALIVE: Final = "-c tcp_keepalives_idle=30 -c tcp_keepalives_interval=10 -c tcp_keepalives_count=3"
_WRITES: Final = (
    r"-c default_transaction_isolation=read\ committed -c synchronous_commit=on "
    f"-c lock_timeout={LOCK_TIMEOUT_S}s -c idle_in_transaction_session_timeout={_IDLE_TIMEOUT_S}s {_SERVER_KEEPALIVE}"
)
_READS: Final = r"-c default_transaction_isolation=repeatable\ read -c default_transaction_read_only=on"
_MIGRATES: Final = f"-c lock_timeout=300s {_SERVER_KEEPALIVE}"


class Server:
    """The address of a database; its password is never shown."""

    def __init__(self, url: URL) -> None:
        self.url = url

    @property
    def where(self) -> str:
        """The address as messages show it."""
        return f"postgresql://{self.url.username or ''}@{self.place}/{self.url.database}".replace("://@", "://")

    @property
    def place(self) -> str:
        host = self.url.host or _text(self.url.query.get("host")) or "the local socket"
        port = self.url.port or _text(self.url.query.get("port"))
        return f"{host}:{port}" if port else host

    def engine_arguments(self, options: str) -> dict[str, Any]:
        """Return what `create_engine` is told, with the session's settings beside those of the address."""
        own = _text(self.url.query.get("options"))
        query = {name: value for name, value in self.url.query.items() if name != "options"}
        arguments: dict[str, Any] = {"options": f"{options} {own}".strip(), "application_name": "neural-brain"}
        arguments |= {"connect_timeout": _CONNECT_TIMEOUT_S, **_KEEPALIVE}
        arguments = {name: value for name, value in arguments.items() if name == "options" or name not in query}
        return {"url": self.url.set(query=query), "connect_args": arguments}

    def connect(self, options: str = "") -> psycopg.Connection[tuple[Any, ...]]:
        """Return a plain connection in autocommit; raise psycopg.Error."""
        arguments = self.engine_arguments(options)
        url: URL = arguments["url"]
        parts: dict[str, Any] = {"host": url.host, "port": url.port, "user": url.username, "dbname": url.database}
        given = {name: value for name, value in {**parts, "password": url.password}.items() if value is not None}
        return psycopg.connect(**{**_flat(url.query), **arguments["connect_args"], **given}, autocommit=True)


def parse_address(address: str) -> Server:
    """Return the server of a `postgresql://` address; raise StoreError, which shows no password."""
    try:
        url = make_url(address)
    except (ArgumentError, ValueError) as error:
        raise StoreError(
            "the database URL cannot be read; write it as postgresql://USER:PASSWORD@HOST:PORT/DATABASE, "
            "with %40 for an @ in the password"
        ) from error
    if not url.database:
        raise StoreError("the database URL names no database; write it as postgresql://USER:PASSWORD@HOST/DATABASE")
    return Server(url.set(drivername="postgresql+psycopg", database=unquote(url.database)))


class PostgresBackend:
    """A PostgreSQL database as the store uses it."""

    errors: Final[tuple[type[Exception], ...]] = (SQLAlchemyError, psycopg.Error)

    def __init__(self, server: Server) -> None:
        self.server = server

    @property
    def where(self) -> str:
        return self.server.where

    def prepare(self) -> None:
        from data.migrations.prepare_postgres import prepare_server

        prepare_server(self.server)

    def writer(self) -> Engine:
        engine = create_engine(**self.server.engine_arguments(_WRITES), poolclass=NullPool)
        event.listen(engine, "connect", _become_writer)
        event.listen(engine, "begin", _take_turn)
        return engine

    def migrator(self) -> Engine:
        """Return the engine of migrations."""
        return create_engine(**self.server.engine_arguments(_MIGRATES), poolclass=NullPool)

    def reader(self) -> Engine:
        return create_engine(
            **self.server.engine_arguments(_READS),
            poolclass=QueuePool,
            pool_size=_READERS,
            max_overflow=_READERS,
            pool_pre_ping=True,
        )

    def async_reader(self) -> AsyncEngine:
        return create_async_engine(
            **self.server.engine_arguments(_READS),
            poolclass=AsyncAdaptedQueuePool,
            pool_size=_READERS,
            max_overflow=2 * _READERS,
            pool_pre_ping=True,
        )

    def translate(self, error: Exception) -> StoreError | ValueError:
        from data.postgres_errors import translate

        return translate(error, self.where)

    def version(self, connection: Connection) -> int:
        # Every transaction that writes takes the next number of the whole server: less our own, it stands still as
        # long as nobody else writes. Another database of the server moves it too, and then we leave more alone.
        number = connection.exec_driver_sql("SELECT pg_current_xact_id()::text::bigint").scalar_one()
        return int(number) - int(connection.info["begun"])

    @contextmanager
    def relaxed(self, connection: Connection) -> Iterator[None]:
        connection.info["relaxed"] = True
        try:
            yield
        finally:
            if not connection.closed and not connection.invalidated:
                connection.info["relaxed"] = False

    def living_writers(self, connection: Connection) -> frozenset[int]:
        statement = (
            "SELECT objid::bigint FROM pg_locks JOIN pg_database AS d ON d.oid = pg_locks.database "  # noqa: S608
            "AND d.datname = current_database() WHERE locktype = 'advisory' AND granted AND objsubid = 2 "
            f"AND classid::bigint = {_WRITER}"
        )
        rows = connection.exec_driver_sql(statement).scalars()
        return frozenset(int(number) for number in rows) - {connection.info["writer"]}


def migration_lock(schema: str) -> str:
    """Return the statement that keeps two starts from migrating `schema` at once, until the transaction ends."""
    return f"SELECT pg_advisory_xact_lock({_MIGRATION}, {_number(schema)})"


def _become_writer(connection: Any, record: Any) -> None:
    """Take a number for this connection, and hold the lock of that number while it lives."""
    number = secrets.randbelow(2**31 - 1) + 1
    cursor = connection.cursor()
    try:
        cursor.execute("SELECT current_schema()")
        schema = cursor.fetchone()[0]
        cursor.execute(f"SELECT pg_advisory_lock({_WRITER}, {number})")
        connection.commit()
    finally:
        cursor.close()
    record.info.update(writer=number, schema=_number(schema or ""), begun=0, relaxed=False)


def _take_turn(connection: Connection) -> None:
    # Straight to the driver: this runs for every transaction, and a statement object costs more than it.
    info = connection.info
    cursor = connection.connection.cursor()
    try:
        cursor.execute(f"SELECT pg_advisory_xact_lock({_TURN}, {info['schema']})")
        info["begun"] += 1
        if info["relaxed"]:
            cursor.execute("SET LOCAL synchronous_commit = off")
    finally:
        cursor.close()


def _number(schema: str) -> int:
    """Return the signed 32 bits that stand for a schema's name in a lock's key."""
    value = zlib.crc32(schema.encode())
    return value - 2**32 if value >= 2**31 else value


def _text(value: Any) -> str:
    return (value[-1] if isinstance(value, tuple) else value) or ""


def _flat(query: Mapping[str, Any]) -> dict[str, str]:
    return {name: _text(value) for name, value in query.items()}
