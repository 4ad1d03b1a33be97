"""Real processes of the `brain` command, watched through their store, their log and their API."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

ROOT = Path(__file__).parents[2]
PATIENCE_S = 60.0
"""Only how long a test waits for what must come; nothing sleeps that long when all is well."""

T = TypeVar("T")


def environment(env: Mapping[str, str]) -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("BRAIN_")}
    return own | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "BRAIN_API_PORT": "0", **env}


def arguments(*words: object) -> list[str]:
    return [sys.executable, "-m", "tests.acceptance.light_brain", *map(str, words)]


def run_brain(
    *words: object, before: Sequence[str] = (), folder: Path | None = None, **env: str
) -> subprocess.CompletedProcess[str]:
    """Run one command to its end; `before` is put in front of the command line (unshare, sh -c …)."""
    return subprocess.run(
        [*before, *arguments(*words)], cwd=folder or ROOT, env=environment(env), capture_output=True, text=True,
        encoding="utf-8", timeout=PATIENCE_S * 2, check=False,
    )  # fmt: skip


def wait_for(look: Callable[[], T | None], what: str, patience_s: float = PATIENCE_S) -> T:
    """Return the first thing `look` finds; fail when nothing comes."""
    end = time.monotonic() + patience_s
    while time.monotonic() < end:
        found = look()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"{what} did not come within {patience_s:.0f} s")


def query(home: Path, sql: str, *values: object) -> list[tuple[Any, ...]]:
    """Ask the home's database from outside, for reading only."""
    with closing(sqlite3.connect(f"{(home / 'brain.db').as_uri()}?mode=ro", uri=True, timeout=10)) as connection:
        return connection.execute(sql, values).fetchall()


class Daemon:
    """One `brain run`."""

    def __init__(self, home: Path, **env: str) -> None:
        self.home = home
        self._errors = (home.parent / f"{home.name}.log").open("ab+")
        self._from = self._errors.seek(0, os.SEEK_END)
        self._first_event = self._last_event() if (home / "brain.db").exists() else 0
        self.process = subprocess.Popen(
            arguments("run", "--home", home), cwd=ROOT, env=environment(env), stderr=self._errors,
            stdout=subprocess.PIPE, text=True, encoding="utf-8",
        )  # fmt: skip
        self.url = ""

    def ready(self) -> Daemon:
        """Wait until it runs, and remember where it listens."""

        def running() -> str | None:
            assert self.process.poll() is None, self.log()
            lines = [json.loads(line) for line in self.log().splitlines() if line.startswith("{")]
            return next((line["url"] for line in lines if line["event"] == "Neural Brain runs"), None)

        self.url = wait_for(running, "the daemon's start").removesuffix("/status")
        return self

    def log(self) -> str:
        self._errors.seek(self._from)
        return self._errors.read().decode()

    def wait_event(self, name: str, after: int | None = None) -> int:
        """Wait for an event of this run that begins with `name`; return its number."""
        first = self._first_event if after is None else after

        def seen() -> int | None:
            assert self.process.poll() is None, self.log()
            sql = "SELECT min(id) FROM event WHERE id > ? AND name LIKE ? || '%'"
            [[found]] = query(self.home, sql, first, name)
            return int(found) if found is not None else None

        return wait_for(seen, name)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self._close()

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send the signal and return the exit status."""
        self.process.send_signal(number)
        return self.wait()

    def wait(self) -> int:
        try:
            return self.process.wait(timeout=PATIENCE_S)
        finally:
            self.process.kill()
            self._close()

    def _close(self) -> None:
        if self.process.stdout is not None:
            self.process.stdout.close()
        self.process.wait()

    def _last_event(self) -> int:
        [[last]] = query(self.home, "SELECT coalesce(max(id), 0) FROM event")
        return int(last)


@contextmanager
def daemon(home: Path, **env: str) -> Iterator[Daemon]:
    """Yield a running daemon; whatever happens, its process ends with the block."""
    started = Daemon(home, **env)
    try:
        yield started.ready()
    finally:
        if started.process.poll() is None:
            started.kill()
        started._close()
        started._errors.close()


def read_lines(stream: Any, count: int) -> list[str]:
    """Return the next so many lines of a process's pipe; the test's own time limit ends the wait for them."""
    lines = [stream.readline() for _ in range(count)]
    assert all(lines), f"the process ended after {lines}"
    return lines
