"""Whole copies of a PostgreSQL database, by the programs that come with it: pg_dump, and pg_restore back.

pg_dump reads one snapshot while others write. The password goes to the programs through their environment, where
other users of the machine cannot see it.
"""

from __future__ import annotations

import shutil
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Final

from psycopg.conninfo import make_conninfo

from data.errors import StoreError
from data.migrations.prepare_postgres import connect, tables_of
from data.postgres import Server, parse_address
from data.snapshots import SnapshotError

__all__ = ["dump_server", "restore_server"]

_PACKAGED: Final = Path("/usr/lib/postgresql")


def dump_server(address: str, target: Path) -> None:
    """Write the whole database to the new file `target` (pg_dump's own format); raise SnapshotError."""
    server = _server(address)
    _run(server, "pg_dump", "--format=custom", "--no-owner", "--no-privileges", f"--file={target}")


def restore_server(address: str, dump: Path) -> None:
    """Bring a dump into an empty database, whole or not at all; raise SnapshotError."""
    server = _server(address)
    try:
        with closing(connect(server)) as connection:
            tables = tables_of(connection)
    except StoreError as error:
        raise SnapshotError(str(error)) from error
    if tables:
        raise SnapshotError(f"{server.where} holds tables already; restore into an empty database")
    _run(
        server,
        "pg_restore",
        "--single-transaction",
        "--exit-on-error",
        "--no-owner",
        "--no-privileges",
        str(dump),
    )


def _server(address: str) -> Server:
    try:
        return parse_address(address)
    except StoreError as error:
        raise SnapshotError(str(error)) from error


def _run(server: Server, name: str, *arguments: str) -> None:
    url = server.url
    place = {"host": url.host, "port": url.port, "user": url.username, "dbname": url.database}
    asked = {key: value for key, value in url.query.items() if isinstance(value, str) and key != "options"}
    address = make_conninfo(**asked, **{key: str(value) for key, value in place.items() if value is not None})
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
    if url.password:
        environment["PGPASSWORD"] = str(url.password)
    command = [str(_program(name)), f"--dbname={address}", "--no-password", *arguments]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    except OSError as error:
        raise SnapshotError(f"{name} cannot be run: {error}") from error
    if done.returncode:
        raise SnapshotError(f"{name} says: {' '.join(done.stderr.split())[:500]}")


def _program(name: str) -> Path:
    """Return the newest program of that name, which can speak to every older server."""
    packaged = [path for path in _PACKAGED.glob(f"*/bin/{name}") if path.parent.parent.name.isdigit()]
    if packaged:
        return max(packaged, key=lambda path: int(path.parent.parent.name))
    found = shutil.which(name)
    if found is None:
        raise SnapshotError(
            f"{name} is not installed here (Debian: apt-get install postgresql-client); "
            "install it, or copy the database with the means of its server"
        )
    return Path(found)
