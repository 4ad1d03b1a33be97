"""`brain demo`: the whole main job on the shipped sample, and a summary that a newcomer understands.

It does what an operator would do by hand (ingest, learn, think, scan, work), in this order and by the same
passes. A second run finds everything known and changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from brain.config import Settings
from brain.passes import Passes
from brain.runtime import Runtime
from brain.sample import load_sample
from data.articles import list_articles
from data.clock import Clock
from data.edges import count_by_kind as edges_by_kind
from data.models import EdgeKind
from data.nodes import count_by_kind as nodes_by_kind
from data.pairs import count_by_reason
from data.progress import Progress
from data.tasks import task_totals

__all__ = ["DemoSummary", "run_demo"]

PAIRS: Final = 80
"""Thinking pairs of the demo, counted over all its runs: enough to show every outcome, and a second run adds none."""


@dataclass(frozen=True, slots=True)
class DemoSummary:
    """What the demo did (`this_run`) and what its home holds now (`holds`)."""

    home: str
    seconds: float
    this_run: Mapping[str, Any]
    holds: Mapping[str, Any]
    look_next: tuple[str, ...]


async def run_demo(runtime: Runtime, *, progress: Progress) -> DemoSummary:
    """Run the job and return its summary."""
    clock: Clock = runtime.clock
    started = clock.monotonic()
    passes = Passes(runtime)
    taken = await load_sample(runtime, progress=progress)
    learned = await passes.learn(connectors=False, progress=progress)
    decided = sum((await runtime.store.read(count_by_reason)).values())
    thought = await passes.think(limit=max(0, PAIRS - decided), progress=progress)
    scanned = await passes.scan(progress=progress)
    worked = await passes.work(progress=progress)
    await passes.maintain(progress=progress)  # the map is drawn last, when the relations are there
    return DemoSummary(
        home=str(runtime.settings.home),
        seconds=round(clock.monotonic() - started, 1),
        this_run={
            "nodes_created": taken.created,
            "nodes_updated": taken.updated,
            "documents_indexed": learned.library.added + learned.library.updated,
            "nodes_embedded": learned.embedded.embedded,
            "pairs_thought_about": thought.thought,
            "relations_accepted": thought.accepted,
            "pairs_by_reason": dict(thought.by_reason),
            "gaps_seen": scanned.candidates,
            "tasks_planned": scanned.created,
            "tasks_merged": scanned.merged,
            "gaps_not_planned": dict(scanned.rejected),
            "tasks_finished": worked.completed,
            "tasks_deferred": worked.deferred,
            "tasks_failed": worked.failed,
            "articles_staged": worked.articles,
            "articles_refused": dict(worked.reasons),
        },
        holds=await _holds(runtime),
        look_next=await _look_next(runtime),
    )


async def _holds(runtime: Runtime) -> dict[str, Any]:
    store = runtime.store
    nodes = await store.read(nodes_by_kind)
    edges = await store.read(edges_by_kind)
    articles = Counter(str(article.state) for article in await store.read(list_articles, limit=1000))
    return {
        "nodes": {str(kind): count for kind, count in nodes.items()},
        "vector_edges": edges.get(EdgeKind.VECTOR, 0),
        "relations": edges.get(EdgeKind.RELATION, 0),
        "tasks": asdict(await store.read(task_totals)),
        "articles": dict(articles),
    }


async def _look_next(runtime: Runtime) -> tuple[str, ...]:
    default = Settings().home.absolute()
    home = "" if runtime.settings.home.absolute() == default else f" --home {runtime.settings.home}"
    commands = [f"brain status{home}", f"brain pairs list{home}", f"brain opportunities{home}"]
    articles = await runtime.store.read(list_articles, limit=1)
    if articles:
        commands += [f"brain articles list{home}", f"brain articles show {articles[0].id} --evidence{home}"]
    return (*commands, f"brain run{home}")
