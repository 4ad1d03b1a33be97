"""What became of the files of an inbox run, in words and numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, Literal

from data.crud.ingest import IngestResult

__all__ = ["Counted", "FileReport", "IngestReport", "no_row", "taken"]

FAILED_NAMED: Final = 1_000
"""Failed rows a report names; more are only counted in its message."""


@dataclass(frozen=True, slots=True)
class FileReport:
    """What became of one file. `failed_rows` are (row number, reason) of the rows that did not go in."""

    name: str
    status: Literal["admitted", "unchanged", "refused"]
    reason: str = ""
    message: str = ""
    nodes: int = 0
    created: int = 0
    updated: int = 0
    unchanged: int = 0
    failed_rows: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What became of all files, in order."""

    files: tuple[FileReport, ...] = ()
    skipped: tuple[str, ...] = ()
    """Files of folders that are of no type that is read here: pictures, style sheets, programs."""

    @property
    def admitted(self) -> int:
        return sum(file.status == "admitted" for file in self.files)

    @property
    def refused(self) -> int:
        return sum(file.status == "refused" for file in self.files)

    @property
    def unchanged(self) -> int:
        return sum(file.status == "unchanged" for file in self.files)

    @property
    def created(self) -> int:
        return sum(file.created for file in self.files)

    @property
    def updated(self) -> int:
        return sum(file.updated for file in self.files)

    @property
    def nodes(self) -> int:
        return sum(file.nodes for file in self.files)


@dataclass(frozen=True, slots=True)
class Counted:
    """Sums over the writes of one file."""

    nodes: int = 0
    created: int = 0
    updated: int = 0
    unchanged: int = 0
    failed: tuple[tuple[int, str], ...] = ()
    failures: int = 0

    def plus(self, result: IngestResult) -> Counted:
        return replace(
            self,
            nodes=self.nodes + len(set(result.node_ids)),
            created=self.created + result.created,
            updated=self.updated + result.updated + result.reactivated + result.deactivated,
            unchanged=self.unchanged + result.unchanged,
        )

    def without(self, rows: Iterable[tuple[int, str]]) -> Counted:
        rows = tuple(rows)
        named = (*self.failed, *rows[: max(0, FAILED_NAMED - len(self.failed))])
        return replace(self, failed=named, failures=self.failures + len(rows))


def taken(name: str, counted: Counted) -> FileReport:
    """Return the report of a file that was taken."""
    changed = counted.created + counted.updated > 0
    said = f"{name}: {counted.created} new, {counted.updated} changed, {counted.unchanged} unchanged"
    if counted.failures:
        said += f", {counted.failures} rows failed"
    return FileReport(
        name,
        "admitted" if changed else "unchanged",
        message=said,
        nodes=counted.nodes,
        created=counted.created,
        updated=counted.updated,
        unchanged=counted.unchanged,
        failed_rows=counted.failed,
    )


def no_row(name: str, counted: Counted) -> str:
    """Say in one sentence why an export gave nothing."""
    if not counted.failures:
        return f"{name} holds no row; export it again with its rows"
    number, reason = counted.failed[0]
    return f"{name} has no row that can be taken: row {number} {reason} ({counted.failures} failed)"
