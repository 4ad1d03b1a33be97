"""A stopped command leaves in time, also where one of its threads hangs in something nobody can interrupt."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMMAND = """
import asyncio, time
from pathlib import Path
from brain.cli.leaving import own_the_process
from brain.cli.shell import Invocation, run

async def command(context):
    asyncio.get_running_loop().run_in_executor(None, time.sleep, 120)
    print("begun", flush=True)
    try:
        await asyncio.Event().wait()
    finally:
        print("given back", flush=True)

own_the_process()
run(lambda: command, Invocation(False, Path("."), None))
"""


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_thread_that_hangs_does_not_keep_the_process(tmp_path: Path, number: signal.Signals, status: int) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("BRAIN_")}
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND], cwd=tmp_path, env=environment | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        began = time.monotonic()
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
        assert time.monotonic() - began < 30  # the thread sleeps for two minutes
    finally:
        process.kill()
    assert process.returncode == status
    assert out == "given back\n"
    assert "was left behind" in err
