"""What the research queue costs: consolidation beside rensa, one enqueueing beside a bare write.

    .venv/bin/python -m benchmarks.research_queue [--profile quick|full]
        [--only consolidate,enqueue] [--json FILE]

`consolidate` starts, for both sides, from tasks that are taken apart already: this one from their features (terms,
seeds, identifiers), rensa from the same terms of topic and questions. In the time is for this side everything from
there to the finished groups, exactly verified; for rensa its MinHashes (128 permutations, 32 bands of 4 rows: the
division nearest to a threshold of 0.5) and the candidates alone. `rensa flags` is its fastest batch interface, which
only tells whether a task has any candidate. The peak of memory is that of a child process that does this side's work
alone. Taking tasks apart (stemming, looking for identifiers) costs the same whoever compares them: a row of its own.

`enqueue` is a whole verified write against 10,000 active tasks, 360 finished, 60 refused and 500 articles: what a house
with the budget's default keeps in mind, and a queue that its people have overfilled. Requests for new gaps and for gaps
that are queued already, in other words, take turns. Beside each a bare transaction that inserts the same row into the
same kind of file. Opportunities have a benchmark of their own.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import pickle
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from benchmarks.measure import Row, as_json, interleaved, table
from benchmarks.tasks import queue_entries, shapes

__all__ = ["PROFILES", "rows"]

PROFILES = {
    "quick": {"consolidate": 10_000, "enqueue": 10_000},
    "full": {"consolidate": 100_000, "enqueue": 10_000},
}
ENQUEUED = 200
FINISHED, REFUSED, ARTICLES = 360, 60, 500
"""Thirty days of twelve tasks, what people did not want, and a knowledge base of some years."""


# ----------------------------------------------------------------------------------------- consolidation


def taken_apart(count: int) -> list[Any]:
    from research.duplicates import features

    ordered = sorted(queue_entries(count), key=lambda entry: (-entry.priority, entry.since, entry.key))
    return [features.__wrapped__(entry.shape) for entry in ordered]


def consolidate_rows(count: int, rounds: int) -> list[Row]:
    from research.consolidation import keepers
    from research.duplicates import DuplicatePolicy

    cpu, wall = time.process_time(), time.perf_counter()
    taken = taken_apart(count)
    apart = Row("taking apart", "features of every task", count)
    apart.cpu, apart.wall = [time.process_time() - cpu], [time.perf_counter() - wall]
    keepers(taken[:200], DuplicatePolicy())  # compiled once
    sets = [sorted(shape.topic | shape.questions) for shape in taken]

    def rensa_candidates() -> int:
        from rensa import RMinHash, RMinHashLSH

        hashes = RMinHash.from_token_sets(sets, 128, 42)
        index = RMinHashLSH(0.5, 128, 32)
        index.insert_pairs(list(enumerate(hashes)))
        return sum(map(len, index.query_all(hashes)))

    def rensa_flags() -> int:
        from rensa import RMinHash, RMinHashLSH

        matrix = RMinHash.digest_matrix_from_token_sets(sets, 128, 42)
        return sum(RMinHashLSH(0.5, 128, 32).query_duplicate_flags_matrix_one_shot(matrix))

    cases = {
        "rensa candidates": rensa_candidates,
        "rensa flags": rensa_flags,
        "consolidation, exact": lambda: sum(owner >= 0 for owner in keepers(taken, DuplicatePolicy())),
    }
    terms = statistics.fmean(map(len, sets))
    made = interleaved(
        "consolidate", count, cases, rounds=rounds, figures=lambda _, found: {"found": found, "terms": terms}
    )
    made[-1].figures.update(_child_peak(taken))
    return [apart, *made]


def _child_peak(taken: list[Any]) -> dict[str, float]:
    """Return the peak resident memory in MB of a process that reads the features one by one and consolidates."""
    with tempfile.NamedTemporaryFile(suffix=".pickle") as file:
        for start in range(0, len(taken), 1_000):
            pickle.dump(taken[start : start + 1_000], file, protocol=pickle.HIGHEST_PROTOCOL)
        file.flush()
        command = [sys.executable, "-m", "benchmarks.research_queue", "--child", file.name]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _high_water() -> float:
    """Return the most MB this process ever had resident; `ru_maxrss` would be the parent's where that was larger."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def _child(path: Path) -> None:
    from research.consolidation import keepers
    from research.duplicates import DuplicatePolicy

    def stored() -> Iterator[Any]:
        with path.open("rb") as file, contextlib.suppress(EOFError):
            while True:
                yield from pickle.load(file)

    before = _high_water()
    keepers(stored(), DuplicatePolicy())
    peak = _high_water()
    print(json.dumps({"peak MB": peak, "MB before": before}))


# --------------------------------------------------------------------------------------------- enqueueing


def enqueue_rows(active: int) -> list[Row]:
    return asyncio.run(_enqueue_rows(active))


async def _enqueue_rows(active: int) -> list[Row]:
    import sqlite3

    from data.models import TaskOrigin
    from data.store import Store
    from data.tasks import TaskRequest
    from research.queue import QueuePolicy, ResearchQueue

    bare = Row("enqueue", "bare insert, committed", active)
    rows = {name: Row("enqueue", f"verified: {name}", active) for name in ("created", "merged", "refused")}
    with tempfile.TemporaryDirectory() as folder:
        async with await Store.open(Path(folder) / "home") as store:
            queue = ResearchQueue(store, QueuePolicy(max_tasks_per_day=10 * active))
            more = shapes(active + ENQUEUED // 2, seed=3)
            await store.write(_fill, more[:active])
            await store.write(_remember, shapes(FINISHED + REFUSED, seed=4), shapes(ARTICLES, seed=5))
            fresh = shapes(ENQUEUED // 2, seed=8)
            turns = [shape for pair in zip(more[active:], fresh, strict=True) for shape in pair]
            requests = [
                TaskRequest(shape.topic, shape.questions, tuple(f"{number % 2}{seed}" for seed in sorted(shape.seeds)))
                for number, shape in enumerate(turns)
            ]
            cpu, wall = time.process_time(), time.perf_counter()
            await queue.enqueue(TaskRequest("Warm-up of the index"), TaskOrigin.MANUAL)
            first = Row("enqueue", "the first of a process", active)
            first.cpu, first.wall = [time.process_time() - cpu], [time.perf_counter() - wall]
            connection = sqlite3.connect(Path(folder) / "bare.db", isolation_level=None)
            for pragma in ("journal_mode=WAL", "synchronous=FULL"):
                connection.execute(f"PRAGMA {pragma}")
            connection.execute("CREATE TABLE task (id TEXT PRIMARY KEY, topic TEXT, seeds TEXT, questions TEXT)")
            for number, request in enumerate(requests):
                cpu, wall = time.process_time(), time.perf_counter()
                result = await queue.enqueue(request, TaskOrigin.MANUAL)
                row = rows[result.outcome]
                row.cpu.append(time.process_time() - cpu)
                row.wall.append(time.perf_counter() - wall)
                cpu, wall = time.process_time(), time.perf_counter()
                connection.execute("BEGIN IMMEDIATE")
                values = (str(number), request.topic, json.dumps(request.seeds), json.dumps(request.questions))
                connection.execute("INSERT INTO task VALUES (?, ?, ?, ?)", values)
                connection.execute("COMMIT")
                bare.cpu.append(time.process_time() - cpu)
                bare.wall.append(time.perf_counter() - wall)
            connection.close()
    measured = [bare, *(row for row in rows.values() if row.wall)]
    for one in measured:
        one.figures = {
            "median ms": 1000 * one.median_wall,
            "p99 ms": 1000 * _p99(one.wall),
            "median CPU ms": 1000 * statistics.median(one.cpu),
            "CPU p99 ms": 1000 * _p99(one.cpu),
            "times": len(one.wall),
        }
    return [*measured, first]


def _p99(values: Sequence[float]) -> float:
    return sorted(values)[max(0, round(0.99 * len(values)) - 1)]


def _fill(tx: Any, made: Sequence[Any]) -> None:
    """Insert active tasks as they stand after their enqueueing."""
    from sqlalchemy import insert

    from data.schema import research_task

    tx.conn.execute(insert(research_task), [_task(tx, f"task_{n:06}", shape, n) for n, shape in enumerate(made)])


def _remember(tx: Any, settled: Sequence[Any], answered: Sequence[Any]) -> None:
    """Insert finished and refused tasks, and approved articles, each out of a task long ago with three evidences."""
    from sqlalchemy import insert

    from data.schema import article, evidence, research_task

    tasks = []
    for number, shape in enumerate(settled):
        state = "completed" if number < FINISHED else "cancelled"
        finished = tx.now - timedelta(hours=2 * number % 700)
        made = _task(tx, f"past_{number:06}", shape, number)
        tasks.append(made | {"state": state, "finished_at": finished, "result_reason": "no_hits"})
    for number, shape in enumerate(answered):
        finished = tx.now - timedelta(days=40 + number % 300)
        made = _task(tx, f"old_{number:06}", shape, number)
        tasks.append(made | {"state": "completed", "finished_at": finished, "result_reason": "no_hits"})
    tx.conn.execute(insert(research_task), tasks)
    articles = [
        {
            "id": f"a_{n:06}", "topic": shape.topic, "topic_key": f"{shape.topic} {n}", "type": "concept",
            "language": "de", "state": "approved", "title": shape.topic, "current_revision": 1, "approved_revision": 1,
            "task_id": f"old_{n:06}", "active": True, "created_at": tx.now, "updated_at": tx.now, "version": 3,
        }
        for n, shape in enumerate(answered)
    ]  # fmt: skip
    tx.conn.execute(insert(article), articles)
    pages = [
        {
            "id": f"e_{n:06}{place}", "url": "u", "final_url": "u", "title": "t", "publisher": "p", "language": "de",
            "fetched_at": tx.now, "sha256": "0" * 64, "path": "", "chars": 9, "accepted": True, "relevance": 0.8,
            "source_quality": "vendor", "source_quality_score": 0.8, "assessment_reason": "",
            "owner": f"task:old_{n:06}",
        }
        for n in range(len(answered)) for place in range(3)
    ]  # fmt: skip
    tx.conn.execute(insert(evidence), pages)


def _task(tx: Any, task_id: str, shape: Any, number: int) -> dict[str, Any]:
    from research.duplicates import dedupe_key

    return {
        "id": task_id, "topic": shape.topic, "seeds": [f"0{seed}" for seed in sorted(shape.seeds)],
        "questions": list(shape.questions), "article_type": None, "priority": 20 + number % 70,
        "state": "queued", "origins": ["scanner"], "kind": "orphan",
        "dedupe_key": dedupe_key(shape.topic, shape.seeds), "language": "de", "attempts": 0, "phase": "",
        "progress": {}, "evidence_count": 0, "created_at": tx.now - timedelta(seconds=number),
        "updated_at": tx.now, "version": 1,
    }  # fmt: skip


# ---------------------------------------------------------------------------------------------------- all


def rows(profile: str, only: Sequence[str] = ()) -> list[Row]:
    """Return the rows of a profile, all kinds of work unless `only` names some."""
    sizes = PROFILES[profile]
    works: dict[str, Callable[[], list[Row]]] = {
        "consolidate": lambda: consolidate_rows(sizes["consolidate"], 3),
        "enqueue": lambda: enqueue_rows(sizes["enqueue"]),
    }
    return [row for name, work in works.items() if not only or name in only for row in work()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profile", choices=sorted(PROFILES), default="quick")
    parser.add_argument("--only", default="", help="consolidate, enqueue; both by a comma")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child is not None:
        _child(options.child)
        return
    made = rows(options.profile, [name for name in options.only.split(",") if name])
    print(table(made, base="rensa candidates"))
    if options.json is not None:
        options.json.write_text(json.dumps(as_json(made), indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
