"""The vector room against its peers: neighbours, edges, layout and relaxation in one table.

.venv/bin/pip install -c requirements.lock -e .[bench]     # the peers; whoever is missing is named as such
.venv/bin/python -m benchmarks.vectors [--profile quick|full] [--only neighbours,edges,layout,relax] [--json FILE]

quick ends in five minutes; full may take an hour. CPU seconds with one BLAS and one OpenMP thread, medians of
interleaved rounds; the ratio is to the first way of each piece of work.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import sys
import time
from pathlib import Path

from benchmarks.measure import Row, as_json, table

PARTS = ("neighbours", "edges", "layout", "relax")
THREAD_POOLS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def main() -> None:
    arguments = argparse.ArgumentParser(description="The vector room against its peers.")
    arguments.add_argument("--profile", choices=("quick", "full"), default="quick")
    arguments.add_argument("--only", default=",".join(PARTS), help="parts, separated by commas")
    arguments.add_argument("--json", type=Path, help="also write every round as JSON")
    chosen = arguments.parse_args()
    parts = [part.strip() for part in chosen.only.split(",")]
    if unknown := [part for part in parts if part not in PARTS]:
        arguments.error(f"--only knows {', '.join(PARTS)}; got {', '.join(unknown)}")
    # Before numpy and the peers start their pools: CPU seconds of waiting threads would be counted as work.
    for name in THREAD_POOLS:
        os.environ.setdefault(name, "1")
    rows: list[Row] = []
    for part in parts:
        started = time.perf_counter()
        rows += importlib.import_module(f"benchmarks.vector_{part}").rows(chosen.profile)
        print(f"{part}: {time.perf_counter() - started:.0f} s", file=sys.stderr)
    load = os.getloadavg()[0]
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, load {load:.1f}")
    print(table(rows))
    if chosen.json:
        chosen.json.write_text(json.dumps(as_json(rows), indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
