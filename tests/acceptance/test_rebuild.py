"""`brain rebuild` beside a running daemon: one at a time in either order, and ended by a signal without a trace."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from data.clock import to_iso
from tests.acceptance.invariants import check
from tests.acceptance.processes import ROOT, arguments, daemon, environment, query, run_brain, wait_for

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

MAINTAINING = {
    "BRAIN_THINKING": "false", "BRAIN_AUTONOMOUS_RESEARCH": "false", "BRAIN_RESEARCH_WORKER": "false",
    "BRAIN_LEARNING": "false", "BRAIN_VECTOR_GRAPH_REEVALUATE_INTERVAL": "1s",
}  # fmt: skip
EDGES = "SELECT source_id, target_id, weight, meta FROM edge WHERE kind = 'vector' ORDER BY 1, 2"


def hold_the_engine(home: Path, lease_s: float) -> None:
    """Put another process's lock into the store."""
    now = datetime.now(UTC)
    row = ("engine", "elsewhere/1/x maintenance", 1, to_iso(now), to_iso(now + timedelta(seconds=lease_s)))
    with closing(sqlite3.connect(home / "brain.db", timeout=10)) as connection:
        connection.execute("INSERT INTO lock (name, holder, pid, since, lease_until) VALUES (?, ?, ?, ?, ?)", row)
        connection.commit()


def test_rebuilds_beside_a_daemon_that_maintains(home: Path) -> None:
    before = query(home, EDGES)
    assert before
    with daemon(home, **MAINTAINING) as running:
        running.wait_event("vector.graph.maintenance.started")
        for what in ("edges", "layout", "vectors", "all"):
            done = run_brain("rebuild", what, "--json", "--home", home)
            assert done.returncode == 0, done.stderr
            report = json.loads(done.stdout)
            assert set(report) >= ({"vectors", "edges", "layout"} if what == "all" else {what})
        assert running.stop() == 0
    assert query(home, EDGES) == before  # the same vectors give the same edges, whoever draws them
    assert not query(home, "SELECT 1 FROM lock")
    check(home)


def test_two_rebuilds_at_once_take_turns(home: Path) -> None:
    before = query(home, EDGES)
    command = arguments("rebuild", "edges", "--json", "--home", home)
    both = [
        subprocess.Popen(command, cwd=ROOT, env=environment({}), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    for process in both:
        out, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
        edges = json.loads(out)["edges"]
        assert (edges["added"], edges["removed"], edges["kept"]) == (0, 0, len(before))
    assert query(home, EDGES) == before
    check(home)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_rebuild_that_waits(home: Path, number: signal.Signals, status: int) -> None:
    hold_the_engine(home, 600)
    before = query(home, EDGES)
    log = (home.parent / "rebuild.log").open("w+b")
    command = arguments("rebuild", "all", "--home", home)
    process = subprocess.Popen(command, cwd=ROOT, env=environment({}), stdout=subprocess.DEVNULL, stderr=log)
    try:
        wait_for(lambda: b"waiting for maintenance" in Path(log.name).read_bytes(), "word that it waits")
        process.send_signal(number)
        assert process.wait(60) == status
    finally:
        process.kill()
        log.close()
    assert b"what was done stays" in Path(log.name).read_bytes()
    assert query(home, "SELECT holder FROM lock") == [("elsewhere/1/x maintenance",)]
    assert query(home, EDGES) == before


def test_what_is_not_there_is_told(home: Path, tmp_path: Path) -> None:
    unknown = run_brain("rebuild", "maps", "--home", home)
    assert (unknown.returncode, "maps" in unknown.stderr) == (2, True)
    empty = run_brain("rebuild", "all", "--json", "--home", tmp_path / "empty")
    assert empty.returncode == 0
    report = json.loads(empty.stdout)
    assert (report["vectors"]["embedded"], report["edges"]["nodes"], report["layout"]["applied"]) == (0, 0, "none")
    gone = run_brain("rebuild", "edges", "--home", home, BRAIN_VECTOR_OFFLOAD="dask://127.0.0.1:1")
    assert gone.returncode == 1
    assert "No Dask scheduler answers" in gone.stderr
