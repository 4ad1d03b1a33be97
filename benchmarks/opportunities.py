"""Finding gaps in a large house: how long, how much memory, whether what was planted is found, and who has to wait.

.venv/bin/python -m benchmarks.opportunities [--nodes 100000] [--edges 1000000] [--home DIR] [--json FILE]
    [--daemon | --only-daemon]

A seeded house (`benchmarks.gap_house`) with planted gaps of all six kinds is written through the store (kept in DIR
for another run). Two processes then look for gaps as a scan does, with a heartbeat of 10 ms on their event loop: the
first finds no node read (a cold house) and looks a second time, the second starts with what the first has kept. With
`--daemon`, the real `brain run` scans the same house, cold and again, while `/status` is asked 20 times a second.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from sqlalchemy import delete, insert

from benchmarks.gap_house import House, build_house
from benchmarks.status_latency import Asked, first_answer, summary
from data.asked import remember_asked
from data.crud.batch import Batch, Columns, write_batch
from data.crud.engine import perform
from data.crud.ingest import IngestNodes, NodeDraft
from data.nodes import list_nodes
from data.schema import article, edge, evidence, node_reading, research_task
from data.store import DATABASE_NAME, Store
from data.tasks import TaskRequest
from data.tx import Tx

LIMIT_S = 60.0
BEAT_S = 0.01
RATE = 20.0
CHUNK = 2_000
TRUTH = "planted.json"


# ------------------------------------------------------------------------------------------- the house


async def write_house(home: Path, house: House) -> None:
    """Write the house through the store, its nodes in an order of their own, and what was planted beside it."""
    async with await Store.open(home) as store:
        ids: dict[str, str] = {}
        order = random.Random(3).sample(range(len(house.texts)), len(house.texts))
        for start in range(0, len(order), CHUNK):
            drafts = [
                NodeDraft(text.kind, text.label, text.body, text.language, f"bench:{text.key}", meta=text.meta)
                for text in (house.texts[place] for place in order[start : start + CHUNK])
            ]
            assert (await perform(store, IngestNodes(drafts), actor="benchmark")).ok
        after: str | None = None
        while page := await store.read_bulk(list_nodes, limit=5_000, after=after):
            ids |= {node.source_uri.removeprefix("bench:"): node.id for node in page}
            after = page[-1].id
        by_place = [ids[text.key] for text in house.texts]
        for start in range(0, len(house.edges), 100_000):
            rows = _vectors(store, by_place, house.edges[start : start + 100_000])
            assert (await write_batch(store, Batch("vector edges", edge, rows), actor="benchmark")).ok
        await store.write(_relate, by_place, house)
        await store.write(_articles, house)
        for topic in house.planted.asked:
            await store.write(remember_asked, TaskRequest(topic, (topic,)))
    planted = house.planted
    truth = {
        "asked": planted.asked,
        "stale": planted.stale,
        "missing_reference": {
            code: sorted(ids[key] for key in keys) for code, keys in planted.missing_reference.items()
        },
        "uncovered_cluster": [sorted(ids[key] for key in keys) for keys in planted.uncovered_cluster],
        "orphan": [[ids[key]] for key in planted.orphan],
        "weak_bridge": [sorted(ids[key] for key in keys) for keys in planted.weak_bridge],
        "near_misses": sorted(ids[key] for key in planted.near_misses),
    }
    (home / TRUTH).write_text(json.dumps(truth), encoding="utf-8")


def _vectors(store: Store, by_place: Sequence[str], edges: Sequence[tuple[int, int, float]]) -> Columns:
    ends = [sorted((by_place[a], by_place[b])) for a, b, _ in edges]
    count, now = len(edges), store.clock.now()
    return Columns(
        {
            "id": store.new_ids("edge", count),
            "source_id": [low for low, _ in ends],
            "target_id": [high for _, high in ends],
            "kind": ["vector"] * count,
            "relation_type": [None] * count,
            "weight": [weight for _, _, weight in edges],
            "meta": [{"affinity": 0.5}] * count,
            "active": [True] * count,
            "created_at": [now] * count,
            "updated_at": [now] * count,
        }
    )


def _relate(tx: Tx, by_place: Sequence[str], house: House) -> None:
    pairs = [(a, b, "relates_to") for a, b in house.relations] + [
        (a, b, "contradicts") for a, b in house.contradictions
    ]
    tx.conn.execute(
        insert(edge),
        [
            {
                "id": tx.new_id("edge"), "source_id": by_place[a], "target_id": by_place[b], "kind": "relation",
                "relation_type": kind, "weight": 0.9, "meta": {}, "active": True, "created_at": tx.now,
                "updated_at": tx.now,
            }
            for a, b, kind in pairs
        ],
    )  # fmt: skip


def _articles(tx: Tx, house: House) -> None:
    for number, (topic, article_id, days) in enumerate(house.articles):
        task, then = f"bench-task-{number}", tx.now - timedelta(days=days)
        tx.conn.execute(
            insert(research_task).values(
                id=task, topic=topic, seeds=[], questions=[topic], priority=50, state="completed", origins=["scanner"],
                kind="orphan", dedupe_key=task, language="de", attempts=1, phase="", progress={}, evidence_count=1,
                created_at=then, updated_at=then, finished_at=then, version=1,
            )
        )  # fmt: skip
        tx.conn.execute(
            insert(article).values(
                id=article_id, topic=topic, topic_key=article_id, type="concept", language="de", state="approved",
                title=topic, current_revision=1, approved_revision=1, task_id=task, active=True, created_at=then,
                updated_at=then, version=1,
            )
        )  # fmt: skip
        tx.conn.execute(
            insert(evidence).values(
                id=f"bench-evidence-{number}", url="u", final_url="u", title="t", publisher="p", language="de",
                fetched_at=then, sha256="0" * 64, path="", chars=9, accepted=True, relevance=0.8,
                source_quality="vendor", source_quality_score=0.8, assessment_reason="", owner=f"task:{task}",
            )
        )  # fmt: skip


# --------------------------------------------------------------------------------------------- looking


async def heartbeat(late: list[float]) -> None:
    """Note how late each beat of the event loop comes, in milliseconds."""
    due = time.perf_counter() + BEAT_S
    while True:
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        late.append(max(0.0, (time.perf_counter() - due) * 1000))
        due = max(due + BEAT_S, time.perf_counter())


async def look_twice(home: Path, turns: Sequence[str]) -> list[dict[str, Any]]:
    """Look for gaps once a turn, as the daemon does, and return the figures of each."""
    from brain.daemon import SWITCH_S
    from research.communities import warm_up
    from research.opportunities import OpportunityPolicy
    from research.scan import look

    sys.setswitchinterval(SWITCH_S)
    await asyncio.to_thread(warm_up)
    gc.collect()
    gc.freeze()
    rows = []
    async with await Store.open(home) as store:
        for turn in turns:
            late: list[float] = []
            beating = asyncio.create_task(heartbeat(late))
            read: list[tuple[float, int]] = []

            def note(phase: str, done: int, total: int | None, read: list[tuple[float, int]] = read) -> None:
                if phase == "reading":
                    read.append((time.perf_counter(), done))

            await asyncio.sleep(0.1)
            late.clear()
            clock, cpu = time.perf_counter(), _cpu()
            gaps = await look(store, OpportunityPolicy(), store.clock.now(), note)
            seconds, busy = time.perf_counter() - clock, _cpu() - cpu
            beating.cancel()
            rows.append(
                {
                    "turn": turn,
                    "clock_s": round(seconds, 2),
                    "cpu_s": round(busy, 2),
                    "reading_s": round(read[-1][0] - clock, 2) if read else 0.0,
                    "nodes_read": read[-1][1] if read else 0,
                    "peak_mb": round(_high_water()),
                    "beat_p50_ms": round(float(np.percentile(late, 50)), 1),
                    "beat_p99_ms": round(float(np.percentile(late, 99)), 1),
                    "beat_max_ms": round(max(late), 1),
                    "found": dict(sorted(Counter(gap.kind for gap in gaps).items())),
                    "planted": judged(json.loads((home / TRUTH).read_text(encoding="utf-8")), gaps),
                }
            )
    return rows


def judged(truth: Mapping[str, Any], gaps: Sequence[Any]) -> dict[str, str]:
    """Return how many of the planted gaps were found, by kind, and how many near misses were reported."""
    found: dict[str, str] = {}
    topics = {kind: {gap.topic for gap in gaps if gap.kind == kind} for kind in ("asked", "stale")}
    for kind, seen in topics.items():
        found[kind] = f"{sum(topic in seen for topic in truth[kind])}/{len(truth[kind])}"
    for kind in ("missing_reference", "uncovered_cluster", "orphan", "weak_bridge"):
        wanted = truth[kind].values() if isinstance(truth[kind], dict) else truth[kind]
        seeds = {frozenset(gap.seeds) for gap in gaps if gap.kind == kind}
        found[kind] = f"{sum(frozenset(nodes) in seeds for nodes in wanted)}/{len(wanted)}"
    missed = set(truth["near_misses"])
    found["near misses reported"] = str(sum(bool(missed & set(gap.seeds)) for gap in gaps))
    return found


def _cpu() -> float:
    """Return the processor seconds of this process and of the children it has waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _high_water(pid: str | int = "self") -> float:
    """Return the most MB a process ever had resident."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def child(home: Path, *turns: str) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "benchmarks.opportunities", "--child", str(home), *turns]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return rows


# ------------------------------------------------------------------------------------------- the daemon


def daemon_rows(home: Path, timeout_s: float) -> list[dict[str, Any]]:
    """Let `brain run` scan the house, cold and again, and ask `/status` all the while."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    env = {name: value for name, value in os.environ.items() if not name.startswith("BRAIN_")}
    env |= {"BRAIN_HOME": str(home), "BRAIN_API_PORT": str(port), "BRAIN_AUTONOMOUS_RESEARCH_INTERVAL": "20s"}
    env |= {f"BRAIN_{name}": "false" for name in ("LEARNING", "THINKING", "RESEARCH_WORKER", "VECTOR_MAINTENANCE")}
    command = [sys.executable, "-c", "from brain.cli.main import main; main()", "run"]
    with (home / "daemon.log").open("wb") as log:
        daemon = subprocess.Popen(command, env=env, stdout=log, stderr=subprocess.STDOUT, cwd=home)
    try:
        asked, scans = asyncio.run(_ask(port, timeout_s))
        peak = _high_water(daemon.pid)
        times = Path(f"/proc/{daemon.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        cpu_s = sum(map(int, times[11:15])) / os.sysconf("SC_CLK_TCK")
    finally:
        daemon.send_signal(signal.SIGTERM)
        daemon.wait(60)
    rows = []
    for name, (start, end) in zip(("scan, cold", "scan, again"), scans, strict=False):
        rows.append(summary(name, end - start, [one for one in asked if start <= one.at <= end]))
    quiet = [one for one in asked if not any(start - 1 <= one.at <= end + 1 for start, end in scans)]
    rows.append(
        summary("nothing", len(quiet) / RATE, quiet) | {"daemon_peak_mb": round(peak), "daemon_cpu_s": round(cpu_s)}
    )
    return rows


async def _ask(port: int, timeout_s: float) -> tuple[list[Asked], list[tuple[float, float]]]:
    """Ask at fixed times until two scans are over; return the answers, and when each scan ran."""
    asked: list[Asked] = []
    scans: list[tuple[float, float]] = []
    began: float | None = None
    async with httpx.AsyncClient(
        base_url=f"http://127.0.0.1:{port}", timeout=60, limits=httpx.Limits(max_connections=200)
    ) as http:
        await first_answer(http)
        await http.get("/status")  # the first one waits for the first counts of a large house, which is another matter
        start, number, running = time.perf_counter(), 0, set()

        async def one() -> None:
            nonlocal began
            at, clock = time.time(), time.perf_counter()
            answer = await http.get("/status")
            asked.append(Asked(at, (time.perf_counter() - clock) * 1000, None, answer.status_code))
            state = answer.json()["loops"]["scanning"]["state"]
            if state == "running" and began is None:
                began = at
            elif state != "running" and began is not None:
                scans.append((began, at))
                began = None

        while time.perf_counter() - start < timeout_s and len(scans) < 2:
            task = asyncio.create_task(one())
            running.add(task)
            task.add_done_callback(running.discard)
            number += 1
            await asyncio.sleep(max(0.0, start + number / RATE - time.perf_counter()))
        await asyncio.gather(*running)
    return asked, scans


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--edges", type=int, help="default: ten a node")
    parser.add_argument("--home", type=Path, help="where the built house is kept for another run")
    parser.add_argument(
        "--daemon", action="store_true", help="let the real daemon scan, too, and ask it for its status"
    )
    parser.add_argument("--only-daemon", action="store_true", help="leave the two processes out")
    parser.add_argument("--timeout", type=float, default=900.0)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(asyncio.run(look_twice(Path(options.child[0]), options.child[1:]))))
        return
    edges = options.edges or 10 * options.nodes
    with tempfile.TemporaryDirectory() as folder:
        kept = (options.home or Path(folder)) / f"gaps-{options.nodes}-{edges}"
        if not (kept / TRUTH).exists():
            shutil.rmtree(kept, ignore_errors=True)
            asyncio.run(write_house(kept, build_house(options.nodes, edges=edges)))
        home = Path(folder) / "home"
        home.mkdir(mode=0o700)
        for name in (DATABASE_NAME, TRUTH):
            shutil.copy(kept / name, home / name)
        looked: list[dict[str, Any]] = []
        if not options.only_daemon:
            looked = [*child(home, "cold", "again"), *child(home, "new process")]
            tell(looked)
        watched: list[dict[str, Any]] = []
        if options.daemon or options.only_daemon:
            asyncio.run(_forget(home))
            watched = daemon_rows(home, options.timeout)
            tell(watched)
    if looked:
        slowest = max(row["clock_s"] for row in looked)
        ratios = [value.split("/") for row in looked for value in row["planted"].values() if "/" in value]
        found = "all" if all(count == of for count, of in ratios) else "NOT all"
        print(f"Slowest {slowest:.1f} s ({LIMIT_S:g} s are the limit); {found} planted gaps were found.")
    if options.json:
        options.json.write_text(json.dumps([*looked, *watched], indent=2) + "\n", encoding="utf-8")


def tell(rows: Sequence[Mapping[str, Any]]) -> None:
    for row in rows:
        print("  ".join(f"{name} {value}" for name, value in row.items()), flush=True)


async def _forget(home: Path) -> None:
    async with await Store.open(home) as store:
        await store.write(lambda tx: tx.conn.execute(delete(node_reading)))


if __name__ == "__main__":
    main()
