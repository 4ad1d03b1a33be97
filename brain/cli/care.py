"""`brain doctor`, `brain backup`, `brain restore`."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from brain.backup import BackupReport, back_up
from brain.backup import restore as bring_back
from brain.cli.shell import Context
from brain.errors import BrainError, UsageError
from brain.status import database_of

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["backup", "doctor", "restore"]

MARKS = {"well": "ok   ", "note": "note ", "fault": "FAULT"}


async def doctor(context: Context) -> None:
    """Print every setting with its origin, then every check; exit status 1 where there is a fault."""
    from brain.doctor import Check, examine
    from brain.runtime import open_runtime

    checks: list[Check] = []
    if not context.json:
        for origin in context.origins:
            context.console.print(f"{origin.name:<46} {origin.value:<24} {origin.source}", markup=False)
        context.console.print()
    async with open_runtime(context.settings) as runtime:
        async for check in examine(context.settings, runtime):
            checks.append(check)
            if not context.json:
                todo = f" ({check.todo})" if check.todo else ""
                context.console.print(f"{MARKS[check.verdict]} {check.subject:<9} {check.message}{todo}", markup=False)
    faults = [check for check in checks if check.verdict == "fault"]
    if context.json:
        settings = [asdict(origin) for origin in context.origins]
        context.emit({"settings": settings, "checks": [asdict(check) for check in checks]}, lambda console: None)
    if faults:
        raise BrainError(f"{len(faults)} of {len(checks)} checks found a fault.")


async def backup(context: Context, *, file: Path) -> None:
    """Write a backup."""
    with context.progress() as progress:
        report = await asyncio.to_thread(
            back_up,
            context.settings.home,
            file,
            now=datetime.now(UTC),
            progress=progress,
            database=database_of(context.settings),
        )
    context.emit(asdict(report), lambda console: _show(console, "Backed up", report))


async def restore(context: Context, *, file: Path) -> None:
    """Bring a backup back."""
    database = database_of(context.settings)
    if context.settings.database_url and isinstance(database, Path):
        raise UsageError("A backup is restored into the home's own database; leave BRAIN_DATABASE_URL empty for it.")
    address = database if isinstance(database, str) else ""
    with context.progress() as progress:
        report = await asyncio.to_thread(bring_back, context.settings.home, file, progress=progress, address=address)
    context.emit(asdict(report), lambda console: _show(console, f"Restored into {context.settings.home}", report))


def _show(console: Console, what: str, report: BackupReport) -> None:
    console.print(f"{what}: {report.files} files, {report.bytes / 2**20:.1f} MiB, {report.file}", markup=False)
