"""How long the short commands take to start, beside `python -c pass` in the same run.

.venv/bin/python benchmarks/startup.py [--runs 15] [--json FILE]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from data.store import Store

BRAIN = str(Path(sys.executable).with_name("brain"))
LIMITS = {"brain --help": 0.4, "brain status --json": 0.7}


async def make_home(home: Path) -> None:
    async with await Store.open(home):
        pass


def seconds(command: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "var"
        asyncio.run(make_home(home))
        commands = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "brain --help": [BRAIN, "--help"],
            "brain status --json": [BRAIN, "status", "--json", "--home", str(home)],
        }
        times: dict[str, list[float]] = {name: [] for name in commands}
        for command in commands.values():
            seconds(command)  # byte code and disk cache
        for _ in range(options.runs):  # in turn, so that a slow moment hits all alike
            for name, command in commands.items():
                times[name].append(seconds(command))
    base = statistics.median(times["python -c pass"])
    rows = []
    for name, values in times.items():
        median = statistics.median(values)
        limit = LIMITS.get(name)
        rows.append(
            {"command": name, "median_s": median, "max_s": max(values), "ratio": median / base, "limit_s": limit}
        )
        shown = f"limit {limit:.1f} s" if limit else ""
        print(f"{name:<22} median {median:.3f} s   max {max(values):.3f} s   {median / base:5.1f} x python   {shown}")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
