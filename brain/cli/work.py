"""Commands that do the work: demo, run, ingest, one pass of a loop, rebuilds."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brain.cli.shell import Context
from brain.errors import BrainError, RefusedError, UsageError
from brain.logs import configure_logs
from brain.passes import Passes
from brain.policies import inbox_policy
from brain.runtime import Runtime, open_runtime

if TYPE_CHECKING:
    from rich.console import Console

    from brain.demo import DemoSummary

__all__ = ["daemon", "demo", "ingest", "learn", "rebuild", "scan", "think", "work"]


async def demo(context: Context) -> None:
    """Run the demo and print its summary."""
    from brain.demo import run_demo

    async with _runtime(context) as runtime:
        with context.progress() as progress:
            summary = await run_demo(runtime, progress=progress)
    context.emit(asdict(summary), lambda console: _show_demo(console, summary))


async def daemon(context: Context) -> None:
    """Run the daemon."""
    from brain.daemon import run_daemon

    configure_logs(context.settings.log_level)
    await run_daemon(context.settings)


async def ingest(context: Context, *, paths: list[Path], mapping: str) -> None:
    """Admit files; exit status 3 where one was refused, the others are in all the same."""
    from data.inbox import ingest as admit
    from data.inbox import parse_mapping

    try:
        columns = parse_mapping(mapping)
    except ValueError as error:
        raise UsageError(f"--map: {error}") from error
    async with _runtime(context) as runtime:
        with context.progress() as progress:
            report = await admit(
                runtime.store,
                runtime.extractor,
                paths,
                policy=inbox_policy(context.settings),
                mapping=columns,
                progress=progress,
            )

    def show(console: Console) -> None:
        for file in report.files:
            if file.status == "refused":
                console.print(f"refused ({file.reason})  {file.message}", markup=False)
            for number, reason in file.failed_rows:
                console.print(f"row {number} of {file.name} was left out: {reason}", markup=False)
        console.print(
            f"{report.admitted} files taken, {report.unchanged} known already, {report.refused} refused; "
            f"{report.created} nodes created, {report.updated} updated."
        )
        if report.skipped:
            console.print(f"{len(report.skipped)} files of other types were skipped (pictures, style sheets, …).")
        if report.created or report.updated:
            console.print("`brain learn` embeds them; a running daemon does it by itself.")

    document = {
        "files": [asdict(file) for file in report.files],
        "skipped": len(report.skipped),
        "created": report.created,
        "updated": report.updated,
    }
    context.emit(document, show)
    if report.refused:
        raise RefusedError(f"{report.refused} of {len(report.files)} files were refused; the reasons stand above.")
    if not report.files:
        raise UsageError("No file was found under the given paths that can be taken.")


async def learn(context: Context, *, limit: int | None) -> None:
    """Run one learning pass."""
    async with _passes(context) as passes:
        with context.progress() as progress:
            report = await passes.learn(limit=limit, progress=progress)
    context.emit(asdict(report), lambda console: _show_pairs(console, _flat(asdict(report))))


async def think(context: Context, *, limit: int | None, pair: tuple[str, str] | None) -> None:
    """Think about open pairs, or about the one that was named."""
    from brain.cli.pairs import find_node

    async with _runtime(context) as runtime:
        if pair is not None:
            first, second = [await find_node(runtime.store, name) for name in pair]
            if first.id == second.id:
                raise UsageError("A pair needs two different nodes.")
            outcome = await runtime.relations.think(first.id, second.id)
            words = f"{outcome.state}: {outcome.reason}. `brain pairs show {first.id} {second.id}` says why."
            context.emit(asdict(outcome), lambda console: console.print(words, markup=False))
            return
        with context.progress() as progress:
            report = await Passes(runtime).think(limit=limit, progress=progress)
    document = {"thought": report.thought, "accepted": report.accepted, "by_reason": dict(report.by_reason)}
    context.emit(document, lambda console: _show_pairs(console, document))


async def scan(context: Context, *, limit: int | None) -> None:
    """Look for gaps once."""
    async with _passes(context) as passes:
        with context.progress() as progress:
            done = await passes.scan(limit=limit, progress=progress)
    document = asdict(done)
    context.emit(document, lambda console: _show_pairs(console, _flat(document)))


async def work(context: Context, *, limit: int | None) -> None:
    """Work on the queue."""
    async with _passes(context) as passes:
        with context.progress() as progress:
            report = await passes.work(limit=limit, progress=progress)
    document = {**asdict(report), "reasons": dict(report.reasons)}
    context.emit(document, lambda console: _show_pairs(console, _flat(document)))


async def rebuild(context: Context, *, what: str) -> None:
    """Rebuild vectors, edges, layout, or all three."""
    async with _runtime(context) as runtime:
        with context.progress() as progress:
            report = await Passes(runtime).rebuild(what, progress=progress)
    context.emit(report, lambda console: _show_pairs(console, _flat(report)))


@asynccontextmanager
async def _runtime(context: Context) -> AsyncIterator[Runtime]:
    from vector.cluster import ClusterLost
    from vector.embed import EmbeddingError
    from vector.torchblocks import DeviceUnavailable
    from vector.writing import WriteFailed

    configure_logs("warning" if context.settings.log_level == "info" else context.settings.log_level)
    try:
        async with open_runtime(context.settings) as runtime:
            yield runtime
    except EmbeddingError as error:
        raise BrainError(f"{error} (BRAIN_EMBED_MODEL)") from error
    except (ClusterLost, DeviceUnavailable, WriteFailed) as error:
        raise BrainError(str(error)) from error


@asynccontextmanager
async def _passes(context: Context) -> AsyncIterator[Passes]:
    async with _runtime(context) as runtime:
        yield Passes(runtime)


def _flat(document: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested numbers and words under dotted names, without what is empty."""
    found: dict[str, Any] = {}
    for name, value in document.items():
        if isinstance(value, Mapping):
            found |= _flat(value, f"{prefix}{name}.")
        elif value not in (None, "", [], ()) and not isinstance(value, (list, tuple)):
            found[prefix + name] = value
    return found


def _show_pairs(console: Console, document: Mapping[str, Any]) -> None:
    for name, value in document.items():
        console.print(f"{name:<34} {value}", markup=False)


def _show_demo(console: Console, summary: DemoSummary) -> None:
    run, holds = summary.this_run, summary.holds
    nodes, edges, articles = holds["nodes"], holds["vector_edges"], _counts(holds["articles"])
    rows = [
        ("Knowledge", f"{sum(nodes.values())} nodes ({_counts(nodes)}), {run['nodes_created']} of them new"),
        ("Map", f"{edges} vector edges; {run['nodes_embedded']} nodes embedded in this run"),
        ("Thinking", f"{run['pairs_thought_about']} pairs, {run['relations_accepted']} relations accepted"),
        *(("", f"  refused, {reason}: {count}") for reason, count in _refusals(run["pairs_by_reason"])),
        ("Gaps", f"{run['gaps_seen']} seen, {run['tasks_planned']} tasks planned, {run['tasks_merged']} merged"),
        *(("", f"  not planned, {reason}: {count}") for reason, count in run["gaps_not_planned"].items()),
        (
            "Research",
            f"{run['tasks_finished']} tasks finished, {run['tasks_deferred']} put off, {run['tasks_failed']} failed",
        ),
        ("Articles", f"{run['articles_staged']} staged for approval in this run; in all {articles}"),
        *(("", f"  not written, {reason}: {count}") for reason, count in run["articles_refused"].items()),
    ]
    console.print(
        f"\nNeural Brain did its whole job on the sample in {summary.seconds:.0f} s; its home is {summary.home}.\n"
    )
    for name, words in rows:
        console.print(f"{name:<10} {words}", markup=False)
    console.print("\nLook next:")
    for command in summary.look_next:
        console.print(f"  .venv/bin/{command}", markup=False)


def _refusals(reasons: Mapping[str, int]) -> list[tuple[str, int]]:
    refused = [(reason, count) for reason, count in reasons.items() if reason != "accepted"]
    return sorted(refused, key=lambda row: -row[1])


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items(), key=lambda row: -row[1])) or "none"
