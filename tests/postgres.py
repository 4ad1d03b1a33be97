"""A PostgreSQL cluster of the tests' own: made in a temporary folder, reached through a socket there, ended by its id.

TEST_POSTGRES=required turns a missing PostgreSQL from a reason to skip into an error.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

__all__ = ["REQUIRED", "Cluster", "find_programs", "running_cluster"]

REQUIRED = os.environ.get("TEST_POSTGRES") == "required"
PORT = 5432
"""The number in the socket's name; no port of the machine is taken."""


def find_programs() -> Path | None:
    """Return the folder of the newest PostgreSQL's programs, None where there is none."""
    folders = list(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    if folders:
        return max(folders, key=lambda path: int(path.parent.parent.name)).parent
    found = shutil.which("postgres")
    return Path(found).resolve().parent if found else None


@dataclass
class Cluster:
    """A running server: its superuser is `postgres`, everybody on its socket is trusted."""

    programs: Path
    folder: Path
    pid: int
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def url(self, database: str, *, user: str = "postgres") -> str:
        return f"postgresql://{user}@/{database}?host={self.folder}&port={PORT}"

    def run(self, statement: str, database: str = "postgres") -> list[tuple[object, ...]]:
        """Run one statement as superuser."""
        import psycopg

        connection = psycopg.connect(self.url(database), autocommit=True)
        try:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []
        finally:
            connection.close()

    def create(self, template: str = "template0", **options: str) -> str:
        """Create a database and return its name."""
        name = f"test_{next(self.numbers)}"
        given = " ".join(f"{key} '{value}'" for key, value in options.items())
        self.run(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy {given}")
        return name

    def drop(self, database: str) -> None:
        self.run(f"DROP DATABASE IF EXISTS {database} WITH (FORCE)")


@contextmanager
def running_cluster(folder: Path) -> Iterator[Cluster]:
    """Make a cluster in `folder`, which is not there yet, yield it running, and end it.

    PostgreSQL refuses to run as root: then it runs as the owner that its package made, else as `nobody`.
    """
    programs = find_programs()
    if programs is None:
        raise FileNotFoundError("PostgreSQL is not installed")
    as_user = _unprivileged()
    folder.mkdir(mode=0o700)
    if as_user:
        shutil.chown(folder, *as_user)
    data, log = folder / "data", folder / "log"
    made = ("-D", data, "-U", "postgres", "-A", "trust", "--locale=C.UTF-8", "-E", "UTF8", "--no-sync")
    _call(as_user, programs / "initdb", *made)
    settings = {
        "listen_addresses": "",
        "unix_socket_directories": str(folder),
        "port": str(PORT),
        "fsync": "off",
        "full_page_writes": "off",
        "shared_buffers": "32MB",
        "max_connections": "200",
        "autovacuum": "off",
        "jit": "off",
    }
    arguments = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    with log.open("wb") as output:
        server = subprocess.Popen(
            [programs / "postgres", "-D", data, *arguments],
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd="/",
            user=as_user[0] if as_user else None,
            group=as_user[1] if as_user else None,
            extra_groups=[] if as_user else None,
        )
    try:
        cluster = Cluster(programs, folder, server.pid)
        _wait_until_ready(cluster, server, log)
        yield cluster
    finally:
        if server.poll() is not None:
            said = log.read_text(encoding="utf-8", errors="replace")[-4000:]
            raise RuntimeError(f"PostgreSQL ended by itself ({server.returncode}): {said}")
        server.send_signal(signal.SIGINT)  # a fast shutdown: sessions are ended
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.send_signal(signal.SIGQUIT)
            server.wait(20)


def _unprivileged() -> tuple[int, int] | None:
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return entry.pw_uid, entry.pw_gid
    raise FileNotFoundError("no user to run PostgreSQL as")


def _call(as_user: tuple[int, int] | None, *command: object) -> None:
    done = subprocess.run(
        list(map(str, command)),
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
        user=as_user[0] if as_user else None,
        group=as_user[1] if as_user else None,
        extra_groups=[] if as_user else None,
    )
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed: {done.stdout}{done.stderr}")


def _wait_until_ready(cluster: Cluster, server: subprocess.Popen[bytes], log: Path) -> None:
    import psycopg

    end = time.monotonic() + 60
    while True:
        try:
            cluster.run("SELECT 1")
        except psycopg.OperationalError:
            if server.poll() is not None or time.monotonic() > end:
                said = log.read_text(encoding="utf-8", errors="replace")
                raise RuntimeError(f"PostgreSQL did not start: {said}") from None
            time.sleep(0.05)
        else:
            return
