"""A disk that is full or may not be written: a clear sentence, nothing lost, and it goes on by itself.

The disks are small ones in memory, mounted in a namespace of the process's own; that takes rights which not every
machine gives.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.acceptance.invariants import check
from tests.acceptance.processes import arguments, environment, query


def may_mount() -> bool:
    probe = ["unshare", "-m", "sh", "-c", "mount -t tmpfs -o size=64k tmpfs /mnt"]
    try:
        return subprocess.run(probe, capture_output=True, timeout=10, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


MAY_MOUNT = may_mount()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.skipif(not MAY_MOUNT, reason="mounting in a namespace of one's own is not permitted here"),
]


def in_namespace(script: str, folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a shell script with mounts of its own; `$BRAIN` is the command, `$DISK` an empty folder to mount on."""
    (folder / "disk").mkdir()
    own = environment(env) | {"BRAIN": " ".join(arguments()), "DISK": str(folder / "disk")}
    return subprocess.run(
        ["unshare", "-m", "sh", "-c", script], env=own, cwd=Path(__file__).parents[2], capture_output=True, text=True,
        encoding="utf-8", timeout=240, check=False,
    )  # fmt: skip


def own_words(stderr: str) -> list[str]:
    return [line for line in stderr.splitlines() if line.startswith("brain: ")]


def test_a_home_that_may_only_be_read_is_shown_and_not_written(home: Path, tmp_path: Path) -> None:
    script = f"""
        mount --bind {home} $DISK && mount -o remount,ro,bind $DISK || exit 99
        $BRAIN status --json --home $DISK || exit 98
        for command in "queue add x" "learn" "run" "think"; do
            $BRAIN $command --home $DISK; echo "status $?" >&2
        done
    """
    done = in_namespace(script, tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["learning"]["nodes"] > 150
    said = own_words(done.stderr)
    assert len(said) == 4 and all("BRAIN_HOME" in line or "read-only" in line.lower() for line in said), said
    assert done.stderr.count("status 1\n") == 4
    assert "Traceback" not in done.stderr
    check(home)


def test_a_full_disk_says_so_and_loses_nothing(home: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    size = sum(path.stat().st_size for path in home.rglob("*") if path.is_file()) // 1024
    script = f"""
        mount -t tmpfs -o size={size + 2500}k tmpfs $DISK && cp -a {home}/. $DISK || exit 99
        $BRAIN think --limit 2 --json --home $DISK || exit 98
        head -c 1G /dev/zero > $DISK/filler 2>/dev/null
        $BRAIN think --limit 20 --home $DISK >&2; echo "think $?" >&2
        $BRAIN queue add "Druckserver Neustart" --home $DISK >&2; echo "add $?" >&2
        $BRAIN status --json --home $DISK > /dev/null; echo "look $?" >&2
        rm $DISK/filler
        $BRAIN queue add "Druckserver Neustart" --home $DISK >&2; echo "again $?" >&2
        cp -a $DISK/. {kept}
    """
    done = in_namespace(script, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    assert "add 1\n" in done.stderr and "full" in done.stderr, done.stderr
    assert "look 0\n" in done.stderr and "again 0\n" in done.stderr, done.stderr
    assert query(kept, "SELECT count(*) FROM pair_decision")[0][0] >= 2
    assert query(kept, "SELECT count(*) FROM research_task WHERE topic = 'Druckserver Neustart'") == [(1,)]
    check(kept)


def test_a_daemon_on_a_full_disk_goes_on_when_there_is_room_again(home: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    size = sum(path.stat().st_size for path in home.rglob("*") if path.is_file()) // 1024
    script = f"""
        mount -t tmpfs -o size={size + 40000}k tmpfs $DISK && cp -a {home}/. $DISK || exit 99
        $BRAIN run --home $DISK 2> {tmp_path}/log & pid=$!
        trap 'kill -9 $pid' EXIT
        waits() {{ for i in $(seq 600); do grep -q "$1" {tmp_path}/log && return 0; sleep 0.1; done; return 1; }}
        waits "Neural Brain runs" || exit 96
        head -c 1G /dev/zero > $DISK/filler 2>/dev/null
        waits "loop failed" || exit 97
        rm $DISK/filler
        for i in $(seq 30); do
            $BRAIN events --name think.pass.completed --home $DISK | grep -q pass && break; sleep 1
        done
        kill -TERM $pid; wait $pid; echo "status $?"
        trap - EXIT
        cp -a $DISK/. {kept}
    """
    done = in_namespace(script, tmp_path, BRAIN_THINKING_INTERVAL="1s", BRAIN_LEARNING_INTERVAL="1s")
    log = (tmp_path / "log").read_text(encoding="utf-8")
    assert done.returncode == 0, done.stderr + log
    assert "full" in log
    assert done.stdout.endswith("status 0\n"), done.stdout + log
    assert query(kept, "SELECT count(*) FROM event WHERE name = 'think.pass.completed'")[0][0] >= 1
    check(kept)
