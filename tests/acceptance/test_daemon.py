"""The daemon from outside: its door, its answers while it works, its end, and what it does when a part fails."""

from __future__ import annotations

import json
import signal
import socket
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.acceptance.invariants import check
from tests.acceptance.processes import ROOT, arguments, daemon, environment, query, read_lines, run_brain, wait_for

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

QUIET = {
    "BRAIN_THINKING": "false", "BRAIN_AUTONOMOUS_RESEARCH": "false", "BRAIN_RESEARCH_WORKER": "false",
    "BRAIN_LEARNING": "false", "BRAIN_VECTOR_MAINTENANCE": "false",
}  # fmt: skip
BUSY = {"BRAIN_THINKING_INTERVAL": "1s", "BRAIN_AUTONOMOUS_RESEARCH_INTERVAL": "2s", "BRAIN_LEARNING_INTERVAL": "1s"}


def get(url: str, **headers: str) -> httpx.Response:
    return httpx.get(url, headers=headers, timeout=30, trust_env=False)


def loops(url: str) -> dict[str, Any]:
    found: dict[str, Any] = get(f"{url}/status").json()["loops"]
    return found


def test_it_answers_while_it_works_and_only_to_whom_it_should(home: Path) -> None:
    with daemon(home, **BUSY) as running:
        running.wait_event("think.relation.planned")
        assert get(f"{running.url}/health").json()["status"] == "ok"
        assert get(f"{running.url}/health/ready").status_code == 200
        status = get(f"{running.url}/status").json()
        assert status["uptime_s"] > 0 and status["learning"]["nodes"] > 150
        assert status["loops"]["thinking"]["state"] in {"running", "waiting"}
        assert set(status["loops"]) == {
            "learning", "thinking", "scanning", "working", "maintaining", "housekeeping",
        }  # fmt: skip
        assert get(f"{running.url}/status", host="evil.example").status_code == 421
        assert get(f"{running.url}/status", origin="https://evil.example").status_code == 403
        assert get(f"{running.url}/nothing").headers["content-type"] == "application/problem+json"
        shown = json.loads(run_brain("status", "--json", "--home", home).stdout)
        assert shown["loops"]["thinking"]["last_started"] is not None
        added = run_brain("queue", "add", "Zertifikate der Telefonanlage erneuern", "--json", "--home", home)
        assert added.returncode == 0, added.stderr  # the command line writes beside the daemon
        assert running.stop() == 0
    check(home)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_one_signal_ends_it_in_order(home: Path, number: signal.Signals) -> None:
    with daemon(home, **BUSY, BRAIN_SHUTDOWN_GRACE="5s") as running:
        running.wait_event("autonomous.research.task.started")
        began = time.monotonic()
        assert running.stop(number) == 0
        assert time.monotonic() - began < 15  # the grace, and what a busy machine needs to close
        assert "Traceback" not in running.log(), running.log()
    assert query(home, "SELECT id FROM research_task WHERE state IN ('reserved', 'running')") == []
    [[last]] = query(home, "SELECT name FROM event ORDER BY id DESC LIMIT 1")
    assert last == "daemon.stopping"
    states = [json.loads(row[0])["state"] for row in query(home, "SELECT value FROM state WHERE name LIKE 'loop.%'")]
    assert set(states) <= {"stopped", "off"}
    check(home)


def test_a_second_signal_ends_it_at_once(home: Path) -> None:
    with daemon(home, **BUSY, BRAIN_SHUTDOWN_GRACE="10m") as running:
        running.wait_event("autonomous.research.task.started")
        running.process.send_signal(signal.SIGTERM)
        wait_for(lambda: "stopping" in running.log(), "the first signal")
        running.process.send_signal(signal.SIGTERM)
        assert running.wait() == -signal.SIGTERM
    check(home)


def test_a_second_daemon_is_told_who_holds_the_home(home: Path) -> None:
    with daemon(home, **QUIET) as running:
        second = run_brain("run", "--home", home, **QUIET)
        assert second.returncode == 1
        [line] = [line for line in second.stderr.splitlines() if line.startswith("brain: ")]
        assert f"process {running.process.pid} since 20" in line
        assert str(home) in line
        assert running.stop() == 0
    with daemon(home, **QUIET) as running:  # the lock went with its process
        running.kill()
    with daemon(home, **QUIET) as running:
        assert running.stop() == 0


def test_a_taken_port_is_named(home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run_brain("run", "--home", home, BRAIN_API_PORT=str(port))
    assert done.returncode == 1
    assert f"port {port}" in done.stderr and "BRAIN_API_PORT" in done.stderr
    assert "Traceback" not in done.stderr


def test_events_follow_as_lines_of_json_and_end_quietly_with_their_reader(home: Path) -> None:
    follower = subprocess.Popen(
        arguments("events", "--follow", "--json", "--limit", "2", "--home", home), cwd=ROOT, env=environment({}),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8",
    )  # fmt: skip
    try:
        assert follower.stdout is not None and follower.stderr is not None
        first = [json.loads(line) for line in read_lines(follower.stdout, 2)]
        run_brain("queue", "add", "Spooler der Filiale Lübeck", "--home", home)
        [line] = read_lines(follower.stdout, 1)
        entry = json.loads(line)
        assert entry["id"] > first[-1]["id"] > first[0]["id"]
        assert entry["name"].startswith("autonomous.research.task.enqueued")
        assert "Lübeck" in line
        follower.stdout.close()
        run_brain("queue", "add", "Rechte am Archivlaufwerk", "--home", home)
        assert follower.wait(timeout=30) == 0
        assert follower.stderr.read() == ""
    finally:
        follower.kill()
        follower.wait()
        for stream in (follower.stdout, follower.stderr):
            if stream is not None:
                stream.close()


def test_follow_ends_with_ctrl_c_and_without_a_document_of_another_kind(home: Path) -> None:
    follower = subprocess.Popen(
        arguments("events", "--follow", "--json", "--limit", "1", "--home", home), cwd=ROOT, env=environment({}),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8",
    )  # fmt: skip
    assert follower.stdout is not None
    read_lines(follower.stdout, 1)
    follower.send_signal(signal.SIGINT)
    out, err = follower.communicate(timeout=30)
    assert (follower.returncode, out) == (130, "")
    assert "Traceback" not in err


def test_ctrl_c_in_a_pass_keeps_what_was_done(home: Path) -> None:
    process = subprocess.Popen(
        arguments("think", "--limit", "60", "--json", "--home", home), cwd=ROOT, env=environment({}),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8",
    )  # fmt: skip
    wait_for(lambda: query(home, "SELECT 1 FROM pair_decision"), "a decided pair")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert json.loads(out) == {"error": "Stopped by Ctrl-C; what was done stays.", "exit_status": 130}
    assert "Traceback" not in err
    assert query(home, "SELECT count(*) FROM pair_decision")[0][0] >= 1
    check(home)


def test_a_search_that_is_down_costs_no_attempt_and_stops_no_loop(home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    down = {"BRAIN_SEARCH_BACKENDS": "searxng", "BRAIN_SEARXNG_URL": f"http://127.0.0.1:{port}"}
    with daemon(home, **BUSY, **down) as running:
        running.wait_event("autonomous.research.task.deferred")
        running.wait_event("think.pass.completed")
        assert get(f"{running.url}/health/ready").status_code == 200
        assert loops(running.url)["learning"]["last_error"] is None
        assert running.stop() == 0
    assert query(home, "SELECT count(*) FROM research_task WHERE attempts > 0 OR state = 'failed'") == [(0,)]
    assert query(home, "SELECT count(*) FROM evidence") == [(0,)]
    refused = {row[0] for row in query(home, "SELECT reason FROM pair_decision WHERE state = 'retry'")}
    assert refused == {"search_failed"}
    with daemon(home, **BUSY) as running:  # the library answers: what was put off is done once it is due
        assert running.stop() == 0
    check(home)


def test_a_loop_that_raises_is_seen_comes_back_and_the_others_go_on(home: Path) -> None:
    inbox = home / "inbox"
    for entry in inbox.iterdir():
        entry.rmdir()
    inbox.rmdir()
    inbox.write_text("in the way")  # the learning loop cannot make its folder
    with daemon(home, **BUSY) as running:
        running.wait_event("loop.failed")
        learning = wait_for(lambda: seen_failing(running.url), "the failure in status")
        assert learning["state"] in {"failing", "running"} and "inbox" in learning["last_error"]
        running.wait_event("think.relation.planned")
        assert loops(running.url)["thinking"]["failures"] == 0
        shown = run_brain("status", "--home", home).stdout
        assert "inbox" in shown
        inbox.unlink()
        running.wait_event("loop.recovered")
        assert loops(running.url)["learning"]["failures"] == 0
        assert running.stop() == 0


def seen_failing(url: str) -> dict[str, Any] | None:
    learning: dict[str, Any] = loops(url)["learning"]
    return learning if learning["failures"] else None


def test_a_locked_store_is_waited_for_and_nothing_is_lost(home: Path) -> None:
    with daemon(home, **BUSY) as running:
        running.wait_event("think.relation.planned")
        with closing(sqlite3.connect(home / "brain.db", isolation_level=None, timeout=30)) as other:
            other.execute("BEGIN IMMEDIATE")
            assert get(f"{running.url}/status").status_code == 200  # readers never need the writer's lock
            other.execute("ROLLBACK")
        running.wait_event("think.relation.accepted")
        assert running.stop() == 0
    check(home)


def test_the_log_is_json_lines_without_secrets(home: Path) -> None:
    token = "planted-secret-token-7f3a"
    with daemon(home, **QUIET, BRAIN_API_TOKEN=token) as running:
        assert get(f"{running.url}/status").status_code == 200
        assert running.stop() == 0
        for line in running.log().splitlines():
            json.loads(line)
        assert token not in running.log()
    assert token.encode() not in (home / "brain.db").read_bytes()
    assert home.stat().st_mode & 0o777 == 0o700
