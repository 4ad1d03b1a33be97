"""The status document (spec 09): numbers of the store, and what this process alone knows, told apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Literal

from brain.config import Settings
from brain.version import VERSION
from data.clock import from_iso, to_iso
from data.telemetry import read_telemetry

__all__ = ["Live", "age_s", "count", "database_of", "layout_mode", "status_document"]

SQLITE_URL: Final = "sqlite:///"
ACTIVE_TASK_STATES = ("queued", "deferred", "reserved", "running")
ARTICLE_STATES = ("staged", "approved", "published", "rejected", "retired")


@dataclass(frozen=True, slots=True)
class Live:
    """What only the running daemon can tell."""

    started_at: datetime
    uptime_s: float
    loops: Mapping[str, Any]
    waiting: tuple[str, ...]
    process_totals: Mapping[str, int]


def database_of(settings: Settings) -> Path | str:
    """Return the SQLite file that the settings name, or the address of a PostgreSQL database."""
    url = settings.database_url
    if not url:
        return settings.home / "brain.db"
    if url.startswith(SQLITE_URL):
        return Path(url.removeprefix(SQLITE_URL)).absolute()
    return url


def layout_mode(settings: Settings) -> Literal["full", "relax", "off"]:
    """Return `full`, `relax` or `off`; LAYOUT wins over RELAX_LAYOUT (spec 03)."""
    if settings.vector_graph_layout:
        return "full"
    return "relax" if settings.vector_graph_relax_layout else "off"


def status_document(
    settings: Settings, *, now: datetime, live: Live | None = None, seen: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the whole document. `seen` are the store's numbers as `count` returned them, with their time.

    Without `seen` it blocks (reads the store) and raises data.telemetry.MissingStore where there is none.
    """
    if seen is None:
        seen = {**count(settings, now), "counted_at": to_iso(now)}
    state = seen["state"]
    loops = (
        dict(live.loops)
        if live
        else {name.removeprefix("loop."): value for name, value in state.items() if name.startswith("loop.")}
    )
    lock = seen["lock"]
    held = lock is not None and from_iso(lock["lease_until"]) > now
    return {
        "version": VERSION,
        "started_at": to_iso(live.started_at) if live else None,
        "now": to_iso(now),
        "counted_at": seen["counted_at"],
        "uptime_s": round(live.uptime_s, 3) if live else None,
        "home": str(settings.home.absolute()),
        "reasoner": settings.reasoner,
        "search_backends": list(settings.search_backends),
        "embed_model": seen["embed_model"],
        "learning": {
            "enabled": settings.learning,
            "last_scan": state.get("last_learning_scan"),
            "nodes": seen["nodes"],
            "nodes_by_kind": seen["nodes_by_kind"],
            "embedded": seen["embedded"],
            "stale": seen["nodes"] - seen["embedded"],
        },
        "thinking": {
            "enabled": settings.thinking,
            "last_pass": seen["last_pass"],
            "pairs_open": seen["pairs_open"],
            "pairs_decided": seen["pairs_decided"],
            "relations": seen["relations"],
            "by_reason": seen["pairs_by_reason"],
        },
        "autonomous_research": _research(settings, seen, live, now),
        "articles": {
            **{name: seen["articles_by_state"].get(name, 0) for name in ARTICLE_STATES},
            "by_reason": seen["attempts_by_reason"],
        },
        "vector": _vector(settings, seen),
        "mutex": {
            "holder": lock["holder"] if lock and held else None,
            "since": lock["since"] if lock and held else None,
            "waiting": list(live.waiting) if live else [],
        },
        "loops": loops,
        "models": {},
    }


def count(settings: Settings, now: datetime) -> dict[str, Any]:
    """Read the store's numbers for the document. Blocking; raises as data.telemetry.read_telemetry does."""
    return read_telemetry(database_of(settings), now=now)


def _working(task: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """Return what is being worked on: how far it is, and for how many seconds it has been in its worker's hands."""
    since = task["started_at"] if task["state"] == "running" else task["updated_at"]
    return {
        "id": task["id"],
        "topic": task["topic"],
        "state": task["state"],
        "phase": task["phase"],
        "counts": task["progress"].get("counts", {}),
        "attempt": task["attempts"] + 1,
        "worker": task["lease_owner"],
        "since": since,
        "age_s": age_s(from_iso(since), now),
        "lease_until": task["lease_until"],
    }


def age_s(since: datetime, now: datetime) -> float:
    """Return the seconds from `since` to `now`; 0 where the clock was set back meanwhile."""
    return round(max(0.0, (now - since).total_seconds()), 1)


def _research(settings: Settings, seen: Mapping[str, Any], live: Live | None, now: datetime) -> dict[str, Any]:
    tasks = seen["tasks_by_state"]
    active = sum(tasks.get(name, 0) for name in ACTIVE_TASK_STATES)
    most = settings.autonomous_research_max_tasks_per_day
    return {
        "enabled": settings.autonomous_research,
        "interval_s": settings.autonomous_research_interval.total_seconds(),
        "budget": {
            "remaining": most - seen["completed_today"] - active,
            "max_per_day": most,
            "completed_today": seen["completed_today"],
            "active": active,
        },
        "queue": {name: tasks.get(name, 0) for name in ACTIVE_TASK_STATES},
        "working": [_working(task, now) for task in seen["working"]],
        **{name: seen[name] for name in ("completed_total", "failed_total", "evidence_total", "articles_total")},
        "process_totals": dict(live.process_totals) if live else None,
        "last_scan": seen["last_scan"],
    }


def _vector(settings: Settings, seen: Mapping[str, Any]) -> dict[str, Any]:
    state, mode = seen["state"], layout_mode(settings)
    return {
        "nodes": seen["embedded"],
        "edges": seen["vector_edges"],
        "positions": seen["positions"],
        "vector_graph_layout_mode": mode,
        "vector_graph_layout_relax_effective": mode == "relax",
        "last_vector_reevaluation": state.get("last_vector_reevaluation"),
        "last_vector_layout": state.get("last_vector_layout"),
        "next_due": state.get("vector_next_due") or {},
        "layout_quality": state.get("layout_quality"),
    }
