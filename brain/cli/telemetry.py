"""`brain status`, `brain events`, `brain journal`: what there is and what happened."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from brain.cli.shell import Context
from brain.errors import BrainError
from brain.status import status_document
from data.telemetry import MissingStore, TelemetryError

if TYPE_CHECKING:
    from rich.console import Console

    from data.models import Event

__all__ = ["events", "journal", "status", "told"]

POLL_S = 0.5


async def status(context: Context) -> None:
    """Print the status document; needs a store, makes none."""
    try:
        document = status_document(context.settings, now=datetime.now(UTC))
    except MissingStore as error:
        raise BrainError(f"{error}; `brain demo` or `brain ingest PATH` makes one.") from error
    except TelemetryError as error:
        raise BrainError(str(error)) from error
    context.emit(document, lambda console: _show_status(console, document))


async def events(context: Context, *, follow: bool, name: str, limit: int) -> None:
    """Print the latest events, and go on as they come where asked to."""
    from brain.homes import open_store
    from data.events import list_events

    async with open_store(context.settings, must_exist=True) as store:
        found = await store.read(list_events, 0, limit, name, newest=True)
        if not follow:
            document = [_event(entry) for entry in found]
            context.emit(document, lambda console: _show_events(console, found))
            return
        seen, context.emitted = 0, True
        while True:
            for entry in found:
                seen = entry.id
                if context.json:
                    print(json.dumps(_event(entry), ensure_ascii=False, default=str), flush=True)
                else:
                    _show_events(context.console, [entry])
            await asyncio.sleep(POLL_S)
            found = await store.read(list_events, seen, 1000, name)


async def journal(context: Context, *, limit: int) -> None:
    """Print the latest verified writes."""
    from brain.homes import open_store
    from data.journal import list_entries

    async with open_store(context.settings, must_exist=True) as store:
        entries = await store.read(list_entries, limit=limit)
    document = [asdict(entry) for entry in entries]

    def show(console: Console) -> None:
        for entry in entries:
            line = (
                f"{entry.at:%Y-%m-%d %H:%M:%S}  {entry.status:<11} {entry.actor:<12} {entry.action:<22} {entry.target}"
            )
            console.print(line + (f"  ({entry.reason})" if entry.reason else ""), markup=False)

    context.emit(document, show)


def _event(entry: Event) -> dict[str, Any]:
    return {"id": entry.id, "at": entry.at, "name": entry.name, "level": entry.level, "payload": dict(entry.payload)}


def _show_events(console: Console, found: Iterable[Event]) -> None:
    for entry in found:
        stamp = f"{entry.at:%Y-%m-%d %H:%M:%S}" if entry.at else ""
        words = "  ".join(f"{name}={_short(value)}" for name, value in entry.payload.items())
        console.print(f"{stamp}  {entry.name}  {words}", markup=False)


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 120 else text[:117] + "..."


def _show_status(console: Console, document: Mapping[str, Any]) -> None:
    for name, words in [*_knowledge(document), *_work(document)]:
        console.print(f"{name:<9} {words}", markup=False)


def _knowledge(document: Mapping[str, Any]) -> list[tuple[str, str]]:
    learning, thinking, vector = document["learning"], document["thinking"], document["vector"]
    last, laid = _moment(vector["last_vector_reevaluation"]), _moment(vector["last_vector_layout"])
    own = {kind: count for kind, count in learning["nodes_by_kind"].items() if kind != "evidence"}
    outside = learning["nodes_by_kind"].get("evidence", 0)
    decided, waiting = thinking["pairs_decided"], thinking["pairs_open"]
    return [
        ("home", f"{document['home']}  (version {document['version']}, reasoner {document['reasoner']})"),
        ("nodes", f"{learning['nodes']} ({_counts(own)}), {learning['stale']} without vector"),
        ("", f"{outside} texts from outside support relations"),
        ("vectors", f"{vector['edges']} vector edges, {vector['positions']} positions, layout {_layout(vector)}"),
        ("", f"reevaluated {last}, laid out {laid}"),
        ("thinking", f"{thinking['relations']} relations, {decided} pairs decided, {waiting} open"),
        *(("", f"{reason}: {count}") for reason, count in thinking["by_reason"].items()),
    ]


def _work(document: Mapping[str, Any]) -> list[tuple[str, str]]:
    research, articles, mutex = document["autonomous_research"], document["articles"], document["mutex"]
    budget = research["budget"]
    done = f"{research['completed_total']} completed, {research['failed_total']} failed"
    return [
        ("research", f"{_counts(research['queue'])}; {done}"),
        ("", f"budget today: {max(0, budget['remaining'])} of {budget['max_per_day']} left"),
        *(("working", _working(task)) for task in research["working"]),
        ("articles", _counts({name: count for name, count in articles.items() if name != "by_reason"})),
        *(("", f"not written, {reason}: {count}") for reason, count in articles["by_reason"].items()),
        ("engine", f"held by {mutex['holder']} since {_moment(mutex['since'])}" if mutex["holder"] else "free"),
        *(("loop", _loop(name, loop)) for name, loop in document["loops"].items()),
    ]


def _working(task: Mapping[str, Any]) -> str:
    return f"{task['topic']}: {told(task['phase'], task['counts'], task['age_s'])}, by {task['worker']}"


def told(phase: str, counts: Mapping[str, int], seconds: float) -> str:
    """Return how far a task is, in words: phase, counts, age."""
    asked = {"question", "questions"}
    parts = [f"question {counts['question']} of {counts['questions']}"] if asked <= counts.keys() else []
    parts += [f"{count} {name}" for name, count in counts.items() if name not in asked]
    counted = ", ".join(parts)
    minutes, rest = divmod(round(seconds), 60)
    age = (
        f"{minutes // 60} h {minutes % 60} min"
        if minutes >= 60
        else f"{minutes} min {rest} s"
        if minutes
        else f"{rest} s"
    )
    return f"{phase or 'begun'}{f' ({counted})' if counted else ''} for {age}"


def _moment(stamp: str | None) -> str:
    """Return a stored time as a person reads it, to the second."""
    return "never" if stamp is None else f"{stamp[:10]} {stamp[11:19]} UTC"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items()) or "none"


def _layout(vector: Mapping[str, Any]) -> str:
    quality = vector["layout_quality"]
    kept = f", neighbourhood preserved {quality['neighbourhood_preservation']:.2f}" if quality else ""
    return f"{vector['vector_graph_layout_mode']}{kept}"


def _loop(name: str, loop: Mapping[str, Any]) -> str:
    due = f", next {_moment(loop['next_due'])}" if loop.get("next_due") else ""
    error = f", last error: {loop['last_error']}" if loop.get("last_error") and loop.get("failures") else ""
    return f"{name}: {loop['state']}{due}{error}"
