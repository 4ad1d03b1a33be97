"""The inbox: outside files become nodes, or are refused with one sentence each (spec 02, "The inbox").

`ingest` takes files where they lie (`brain ingest PATH…`); `scan_inbox` looks into the watched folder and moves
what it took to `inbox/done`, what it refused to `inbox/refused` with a `.reason.json`. Nothing is lost and nothing
is taken twice: content is known by its SHA-256, and one poison document never stops the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

__all__ = ["FileReport", "InboxPolicy", "InboxRefusal", "IngestReport"]

MAX_BYTES: Final = 20 * 1024 * 1024
"""BRAIN_INBOX_MAX_BYTES where nothing else is configured (spec 11)."""


@dataclass(frozen=True, slots=True)
class InboxPolicy:
    """What a file may be."""

    max_bytes: int = MAX_BYTES


class InboxRefusal(Exception):
    """A gate said no. `reason` is a stable word, `message` one sentence: what, what was given, what to do."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


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
