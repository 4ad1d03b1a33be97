"""The inbox: outside files become nodes, each file as one verified write (spec 02, "The inbox").

Each file stands alone: one that is refused, or that breaks its reader, never keeps the others waiting, and the
report says for each what became of it. What was taken once is known by its content and not taken again.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import stat
from collections.abc import AsyncIterator, Iterable, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal

from sqlalchemy import Connection, select
from sqlalchemy.dialects.sqlite import insert

from data.admission import Admitted, InboxPolicy, InboxRefusal, RefusalReason, admit
from data.characters import normalise
from data.clock import to_iso
from data.crud.engine import RowChange, perform
from data.crud.ingest import EdgeDraft, IngestNodes, IngestResult, NodeDraft
from data.decode import decode
from data.events import INBOX_ADMITTED, INBOX_REFUSED
from data.extract import ExtractionError
from data.extractor import DocumentReader, Extractor
from data.models import Event
from data.progress import Progress, silent
from data.records import RowFailure, read_records
from data.schema import inbox_file
from data.sectioning import document_drafts
from data.store import Store, StoreError, Tx
from data.tickets import ColumnMap, ticket_drafts

__all__ = [
    "ColumnMap",
    "FileReport",
    "InboxPolicy",
    "InboxRefusal",
    "IngestReport",
    "Seen",
    "inbox_files",
    "ingest",
    "scan_inbox",
]

FileStatus = Literal["admitted", "known", "refused", "waiting"]
Seen = MutableMapping[str, tuple[int, int]]
"""Name, size and modification time (ns) of the files of the last look at the watched folder."""

_ROWS_AT_ONCE: Final = 500  # rows of an export in one verified write
_RECORD_SUFFIXES: Final = frozenset([".csv", ".json", ".jsonl"])
_TAKEN_SUFFIXES: Final = _RECORD_SUFFIXES | frozenset([".md", ".txt", ".html", ".htm", ".pdf", ".docx"])
_DONE: Final = "done"
_REFUSED: Final = "refused"
_EXTRACTION_REASONS: Final[dict[str, RefusalReason]] = {
    "empty_extraction": "no_content",
    "decoding": "undecodable",
    "content_type": "unsupported_type",
    "too_large": "too_large",
    "timeout": "too_slow",
    "crashed": "reader_failed",
}


@dataclass(frozen=True, slots=True)
class FileReport:
    """What became of one file."""

    name: str
    status: FileStatus
    reason: str = ""
    message: str = ""
    sha256: str = ""
    created: int = 0
    updated: int = 0
    reactivated: int = 0
    deactivated: int = 0
    unchanged: int = 0
    rows_failed: tuple[RowFailure, ...] = ()
    flags: tuple[str, ...] = ()
    """What extraction noticed: `cut`, `hidden_removed`, `encoding_doubtful`, …"""


@dataclass(frozen=True, slots=True)
class IngestReport:
    files: tuple[FileReport, ...] = field(default=())

    def count(self, status: FileStatus) -> int:
        """Return how many files ended with `status`."""
        return sum(file.status == status for file in self.files)

    @property
    def created(self) -> int:
        return sum(file.created for file in self.files)

    @property
    def updated(self) -> int:
        return sum(file.updated + file.reactivated for file in self.files)

    @property
    def unchanged(self) -> int:
        return sum(file.unchanged for file in self.files)

    @property
    def refused(self) -> tuple[FileReport, ...]:
        return tuple(file for file in self.files if file.status == "refused")

    @property
    def rows_failed(self) -> int:
        return sum(len(file.rows_failed) for file in self.files)


async def ingest(
    store: Store,
    paths: Iterable[Path],
    policy: InboxPolicy | None = None,
    mapping: ColumnMap | None = None,
    progress: Progress = silent,
    *,
    extractor: DocumentReader | None = None,
    actor: str = "inbox",
) -> IngestReport:
    """Take files in; a folder stands for the documents in it (of the types taken here, hidden ones left out).

    Nodes are recognised by where they came from (a file's path, a ticket's number in its system), so a changed
    file updates them. Raises `StoreError` when nothing can be written; what was taken before stays.
    """
    policy = policy or InboxPolicy()
    files = await asyncio.to_thread(_expanded, list(paths))
    reports: list[FileReport] = []
    async with _reader(extractor) as reader:
        for number, path in enumerate(files):
            progress("ingest", number, len(files))
            uri = path.absolute().as_uri()
            reports.append(await _take(store, path, uri, policy, mapping, reader, actor))
    progress("ingest", len(files), len(files))
    return IngestReport(tuple(reports))


async def scan_inbox(
    store: Store,
    policy: InboxPolicy | None = None,
    *,
    seen: Seen | None = None,
    progress: Progress = silent,
    extractor: DocumentReader | None = None,
    actor: str = "inbox",
) -> IngestReport:
    """Take what lies in `inbox/` of the home and has stopped changing; move it to `done/` or `refused/`.

    A file is taken when it is as it was at the last look (`seen`, kept by the caller between looks) or has not
    changed for `policy.settle_seconds`; else it is reported as `waiting`. A file whose move fails is found again by
    its content and only moved. Folders other than the two are left alone.
    """
    policy = policy or InboxPolicy()
    seen = {} if seen is None else seen
    root = store.home / "inbox"
    now = store.clock.now().timestamp()
    ready, waiting = await asyncio.to_thread(_settled, root, policy, seen, now)
    reports = [FileReport(_shown(path), "waiting", message=f"{_shown(path)} is still changing") for path in waiting]
    async with _reader(extractor) as reader:
        for number, path in enumerate(ready):
            progress("inbox", number, len(ready))
            report = await _take(store, path, f"inbox:{_shown(path)}", policy, None, reader, actor)
            at = to_iso(store.clock.now())
            moved = await asyncio.to_thread(_put_away, path, root, report, at)
            reports.append(replace(report, message=f"{report.message} ({moved})".strip()) if moved else report)
            seen.pop(path.name, None)
    return IngestReport(tuple(reports))


def inbox_files(conn: Connection, limit: int = 100) -> list[tuple[str, str, str | None]]:
    """Return name, status and reason of the files last taken or refused."""
    statement = select(inbox_file).order_by(inbox_file.c.at.desc(), inbox_file.c.sha256).limit(limit)
    return [(row.name, row.status, row.reason) for row in conn.execute(statement)]


@contextlib.asynccontextmanager
async def _reader(extractor: DocumentReader | None) -> AsyncIterator[DocumentReader]:
    if extractor is not None:
        yield extractor
        return
    async with Extractor() as own:
        yield own


def _shown(path: Path) -> str:
    """Return a file's name as text that can be stored and printed, whatever bytes it is made of."""
    return " ".join(normalise(os.fsencode(path.name).decode("utf-8", "replace")).split())[:200] or "unnamed"


def _expanded(paths: Sequence[Path]) -> list[Path]:
    files: list[Path] = []
    for path in paths:
        if path.is_dir() and not path.is_symlink():
            inside = (found for found in path.rglob("*") if found.suffix.lower() in _TAKEN_SUFFIXES)
            visible = (
                found for found in inside if not any(part.startswith(".") for part in found.relative_to(path).parts)
            )
            files.extend(sorted(found for found in visible if found.is_file() and not found.is_symlink()))
        else:
            files.append(path)
    return list(dict.fromkeys(files))


async def _take(
    store: Store,
    path: Path,
    uri: str,
    policy: InboxPolicy,
    mapping: ColumnMap | None,
    reader: DocumentReader,
    actor: str,
) -> FileReport:
    """Bring one file through the gates and into the store; every refusal is recorded."""
    name = _shown(path)
    sha256 = ""
    try:
        admitted = await asyncio.to_thread(admit, path, policy)
        sha256 = admitted.sha256
        if await store.read(_is_known, sha256):
            return FileReport(name, "known", message=f"{name} was taken before", sha256=sha256)
        if admitted.suffix in _RECORD_SUFFIXES:
            return await _take_records(store, admitted, name, mapping, actor)
        return await _take_document(store, admitted, name, uri, policy, reader, actor)
    except InboxRefusal as error:
        refusal = error
        sha256 = sha256 or error.sha256
    except StoreError:
        raise
    except Exception as error:  # a poison document must not keep the others waiting; its name and cause are kept
        refusal = InboxRefusal("reader_failed", f"{name} broke its reader ({type(error).__name__}: {error})"[:500])
    await _note_refusal(store, name, sha256, refusal)
    return FileReport(name, "refused", refusal.reason, refusal.message, sha256)


async def _take_document(
    store: Store, file: Admitted, name: str, uri: str, policy: InboxPolicy, reader: DocumentReader, actor: str
) -> FileReport:
    try:
        document = await reader.extract(file.data, content_type=file.mime, url=uri)
    except ExtractionError as error:
        raise InboxRefusal(_EXTRACTION_REASONS[error.reason], f"{name} {error.message}") from error
    meta = {"file": name, "sha256": file.sha256, "content_type": document.content_type}
    drafts, edges = await asyncio.to_thread(document_drafts, document, uri, policy, meta=meta)
    result = await _write(store, file, name, drafts, edges, len(drafts), actor)
    return _report(file, name, [result], flags=document.flags)


async def _take_records(store: Store, file: Admitted, name: str, mapping: ColumnMap | None, actor: str) -> FileReport:
    def parse() -> tuple[list[NodeDraft], list[RowFailure]]:
        text = decode(file.data).text.lstrip("\ufeff")
        records, broken = read_records(name, file.suffix, text)
        drafts, failed = ticket_drafts(records, mapping, file=name)
        return drafts, sorted([*broken, *failed], key=lambda failure: failure.row)

    drafts, failures = await asyncio.to_thread(parse)
    if not drafts:
        first = f"; row {failures[0].row} {failures[0].reason}" if failures else ""
        raise InboxRefusal("no_records", f"{name} holds no row that could be taken{first}")
    results: list[IngestResult] = []
    for start in range(0, len(drafts), _ROWS_AT_ONCE):
        part = drafts[start : start + _ROWS_AT_ONCE]
        last = start + _ROWS_AT_ONCE >= len(drafts)  # only then is the file known as taken: a crash begins it anew
        results.append(await _write(store, file if last else None, name, part, (), len(drafts), actor))
    return _report(file, name, results, failures=tuple(failures))


async def _write(
    store: Store,
    file: Admitted | None,
    name: str,
    drafts: Sequence[NodeDraft],
    edges: Sequence[EdgeDraft],
    count: int,
    actor: str,
) -> IngestResult:
    """Write nodes, edges and (with `file`) the record that it was taken, as one verified operation."""
    also: tuple[RowChange, ...] = ()
    events: tuple[Event, ...] = ()
    if file is not None:
        row = {"name": name, "status": "done", "reason": None, "nodes": count, "at": store.clock.now()}
        also = (RowChange(inbox_file, {"sha256": file.sha256}, row),)
        events = (Event(INBOX_ADMITTED, {"name": name, "sha256": file.sha256, "nodes": count}),)
    outcome = await perform(store, IngestNodes(drafts, edges, events=events, also=also), actor=actor)
    if not outcome.ok or not isinstance(outcome.result, IngestResult):
        raise InboxRefusal("write_refused", f"{name} was not written: {outcome.message or outcome.reason}")
    return outcome.result


def _report(
    file: Admitted,
    name: str,
    results: Sequence[IngestResult],
    *,
    failures: tuple[RowFailure, ...] = (),
    flags: Sequence[str] = (),
) -> FileReport:
    return FileReport(
        name,
        "admitted",
        sha256=file.sha256,
        created=sum(result.created for result in results),
        updated=sum(result.updated for result in results),
        reactivated=sum(result.reactivated for result in results),
        deactivated=sum(result.deactivated for result in results),
        unchanged=sum(result.unchanged for result in results),
        rows_failed=failures,
        flags=tuple(flags),
    )


def _is_known(conn: Connection, sha256: str) -> bool:
    statement = select(inbox_file.c.status).where(inbox_file.c.sha256 == sha256)
    return conn.execute(statement).scalar_one_or_none() == "done"


async def _note_refusal(store: Store, name: str, sha256: str, refusal: InboxRefusal) -> None:
    def note(tx: Tx) -> None:
        values = {"name": name, "status": "refused", "reason": refusal.message, "nodes": 0, "at": tx.now}
        if sha256:
            statement = insert(inbox_file).values(sha256=sha256, **values)
            tx.conn.execute(statement.on_conflict_do_update(index_elements=["sha256"], set_=values))
        tx.emit(Event(INBOX_REFUSED, {"name": name, "reason": refusal.reason, "message": refusal.message}, "warning"))

    await store.write(note)


def _settled(root: Path, policy: InboxPolicy, seen: Seen, now: float) -> tuple[list[Path], list[Path]]:
    """Return the entries of the watched folder that may be taken, and those still changing; `seen` is brought up."""
    for folder in (root, root / _DONE, root / _REFUSED):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    ready: list[Path] = []
    waiting: list[Path] = []
    current: dict[str, tuple[int, int]] = {}
    for path in sorted(root.iterdir()):
        if path.name.startswith("."):
            continue
        try:
            info = path.lstat()
        except FileNotFoundError:
            continue
        if stat.S_ISDIR(info.st_mode):
            continue
        look = (info.st_size, info.st_mtime_ns)
        quiet = now - info.st_mtime >= policy.settle_seconds
        if not stat.S_ISREG(info.st_mode) or quiet or seen.get(path.name) == look:
            ready.append(path)
        else:
            waiting.append(path)
        current[path.name] = look
    seen.clear()
    seen.update(current)
    return ready, waiting


def _put_away(path: Path, root: Path, report: FileReport, at: str) -> str:
    """Move a file to its folder under a name that is free there; return what went wrong, or nothing."""
    folder = root / (_REFUSED if report.status == "refused" else _DONE)
    target = folder / path.name
    number = 1
    while os.path.lexists(target):
        number += 1
        target = folder / f"{path.stem}~{number}{path.suffix}"
    try:
        path.rename(target)
        if report.status == "refused":
            facts = {"file": report.name, "reason": report.reason, "message": report.message, "at": at}
            if report.sha256:
                facts["sha256"] = report.sha256
            note = target.with_name(f"{target.name}.reason.json")
            draft = note.with_name(f".{note.name}.part")
            draft.write_text(json.dumps(facts, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
            draft.replace(note)
    except OSError as error:
        return f"it could not be moved to {folder.name}/: {(error.strerror or 'error').lower()}"
    return ""
