"""The inbox: outside files become nodes, or are refused with one sentence each (spec 02, "The inbox").

`ingest` takes files where they lie (`brain ingest PATH…`); `scan_inbox` looks into the watched folder and moves
what it took to `inbox/done`, what it refused to `inbox/refused` with a `.reason.json`. Nothing is lost and nothing
is taken twice: content is known by its SHA-256, and one poison document never stops the others. Whoever is
cancelled leaves what was done; a file that was not finished is taken again next time.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Final, ParamSpec, TypeVar

from sqlalchemy import Connection, insert, select, update

from data import events
from data.clock import to_iso
from data.crud.engine import RowChange, WriteOutcome, perform
from data.crud.ingest import EdgeDraft, IngestNodes, IngestResult, NodeDraft
from data.extract import MIME_TYPES, Document, ExtractionError
from data.extractor import Extractor
from data.inbox_files import DONE, REFUSED, Source, look, move, sources, waiting
from data.inbox_gates import DOCUMENT_ENDINGS, Admitted, InboxPolicy, InboxRefusal, admit
from data.inbox_report import Counted, FileReport, IngestReport, no_row, taken
from data.models import Event
from data.nodes import node_by_uri
from data.progress import Progress, silent
from data.schema import inbox_file
from data.sections import document_nodes
from data.state import get_state, set_state
from data.store import Store
from data.ticket_fields import parse_mapping
from data.ticket_rows import read_records
from data.tickets import RowBatch, ticket_batches
from data.tx import Tx

__all__ = [
    "FileReport",
    "InboxPolicy",
    "InboxRefusal",
    "IngestReport",
    "ingest",
    "parse_mapping",
    "scan_inbox",
]

T = TypeVar("T")
P = ParamSpec("P")

_DEFAULT: Final = InboxPolicy()
_ACTOR: Final = "inbox"
_LAST_LOOK: Final = "inbox_last_look"
"""State: size and modification time of each file in the watched folder as it was last seen."""
SETTLED_S: Final = 60.0
"""A file that nobody touched for so long is not being written any more."""
_NAVIGATION: Final = 0.6
"""Share of a page's text that belongs to links from which on it is a list of links."""
_MARKDOWN_LINK: Final = re.compile(r"!?\[[^\]\n]{0,300}\]\([^()\n]{0,1000}\)")


async def ingest(
    store: Store,
    extractor: Extractor,
    paths: Sequence[Path],
    *,
    policy: InboxPolicy = _DEFAULT,
    mapping: Mapping[str, str] = {},
    progress: Progress = silent,
) -> IngestReport:
    """Take the files of `paths` (folders recursively) where they lie; `mapping` is {column: field} for exports.

    Nodes of a document are called `file:folder/path` (and `#section`), so that a changed file updates them. Raises
    only what the store raises: what is wrong with a file is in its report. What lies in a folder and is of no type
    that is read here is skipped, and its name kept; a file given by name is refused with the reason.
    """
    skipped: list[str] = []
    found = await asyncio.to_thread(lambda: list(sources(paths, DOCUMENT_ENDINGS, skipped)))
    reports: list[FileReport] = []
    work = _Intake(store, extractor, policy, mapping)
    progress("ingest", 0, len(found))
    async with aclosing(work.prepared(found)) as prepared:
        async for item in prepared:
            reports.append(await work.take(item))
            progress("ingest", len(reports), len(found))
    return IngestReport(tuple(reports), tuple(skipped))


async def scan_inbox(
    store: Store,
    extractor: Extractor,
    *,
    policy: InboxPolicy = _DEFAULT,
    limit: int | None = None,
    progress: Progress = silent,
) -> IngestReport:
    """Take what lies finished in `$BRAIN_HOME/inbox`, at most `limit` files, and move it away.

    A file counts as finished when its size and time are those of the last look, which the table `state` keeps, or
    when nothing was done to it for `SETTLED_S`: so one `brain learn` takes what has lain there for a while. A file
    that changes while it is read stays for the next look.
    """
    inbox = store.home / "inbox"
    await asyncio.to_thread(inbox.mkdir, mode=0o700, parents=True, exist_ok=True)
    before = await store.read(get_state, _LAST_LOOK) or {}
    found, seen = await asyncio.to_thread(_looked, inbox)
    now = store.clock.now().timestamp()
    ready = [source for source in found if before.get(source.name) == seen[source.name] or _settled(source.path, now)][
        :limit
    ]
    if seen != before:
        await store.write(set_state, _LAST_LOOK, seen)
    reports: list[FileReport] = []
    work = _Intake(store, extractor, policy, {})
    progress("inbox", 0, len(ready))
    async with aclosing(work.prepared(ready)) as prepared:
        async for item in prepared:
            report = await work.take(item)
            if await asyncio.to_thread(_put_away, item, report, inbox, to_iso(store.clock.now())):
                reports.append(report)
            progress("inbox", len(reports), len(ready))
    return IngestReport(tuple(reports))


def _looked(inbox: Path) -> tuple[list[Source], dict[str, list[int]]]:
    found = waiting(inbox)
    seen = {source.name: list(stamp[1:]) for source in found if (stamp := look(source.path)) is not None}
    return [source for source in found if source.name in seen], seen


def _settled(path: Path, now: float) -> bool:
    """Tell whether the file was last touched long ago; by its change time, which no copying tool can set back."""
    try:
        return now - path.lstat().st_ctime >= SETTLED_S
    except OSError:
        return False


def _put_away(item: _Prepared, report: FileReport, inbox: Path, now: str) -> bool:
    """Move a file to where its report says; False leaves one that was exchanged meanwhile for the next look."""
    if item.file is not None and look(item.source.path) != item.file.stamp:
        return False
    note: dict[str, object] | None = None
    if report.status == "refused":
        note = {"name": report.name, "reason": report.reason, "message": report.message, "at": now}
        if report.failed_rows:
            note["failed_rows"] = [list(row) for row in report.failed_rows]
    move(item.source, inbox, REFUSED if report.status == "refused" else DONE, note)
    return True


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A file read and, if it is a document, extracted; or why not."""

    source: Source
    file: Admitted | None = None
    document: Document | None = None
    refusal: InboxRefusal | None = None
    known: bool = False


@dataclass(frozen=True, slots=True)
class _Intake:
    """Takes files one after the other; while one is written the next ones are read."""

    store: Store
    extractor: Extractor
    policy: InboxPolicy
    mapping: Mapping[str, str] = field(default_factory=dict)

    async def prepared(self, found: Sequence[Source]) -> AsyncGenerator[_Prepared, None]:
        """Yield the files in order, read and extracted, some ahead of the writing."""
        ahead: deque[asyncio.Task[_Prepared]] = deque()
        rest = iter(found)
        try:
            while True:
                for source in islice(rest, self.extractor.workers + 1 - len(ahead)):
                    ahead.append(asyncio.create_task(self._prepare(source)))
                if not ahead:
                    return
                item = await ahead[0]
                ahead.popleft()
                yield item
        finally:
            for task in ahead:
                task.cancel()
            await asyncio.gather(*ahead, return_exceptions=True)

    async def _prepare(self, source: Source) -> _Prepared:
        file: Admitted | None = None
        try:
            file = await _in_thread(source, admit, source.path, self.policy)
            if not self.mapping and await self.store.read(_is_known, file.sha256):
                return _Prepared(source, file, known=True)
            if file.form in {"csv", "json", "jsonl"}:
                return _Prepared(source, file)
            return _Prepared(source, file, await self._extract(source, file))
        except InboxRefusal as refusal:
            return _Prepared(source, file, refusal=refusal)

    async def _extract(self, source: Source, file: Admitted) -> Document:
        try:
            document = await self.extractor.extract(
                file.data, content_type=MIME_TYPES[f".{_ENDINGS[file.form]}"], url=source.path.as_uri()
            )
        except ExtractionError as error:
            advice = "save it again or give its text"
            raise InboxRefusal(error.reason, f"{source.name} {error.message}; {advice}") from error
        links = document.link_density
        if file.form == "markdown" and file.text.strip():
            linked = sum(len(link) for link in _MARKDOWN_LINK.findall(file.text))
            links = linked / len(file.text)
        if links >= _NAVIGATION:
            raise InboxRefusal(
                "navigation", f"{source.name} is a list of links ({links:.0%} of its text); give the pages it names"
            )
        return document

    async def take(self, item: _Prepared) -> FileReport:
        """Write one prepared file and say what became of it."""
        file = item.file
        try:
            if item.refusal is not None:
                raise item.refusal
            assert file is not None
            # Known once more: two files of one run can hold the same.
            if item.known or (not self.mapping and await self.store.read(_is_known, file.sha256)):
                return FileReport(item.source.name, "unchanged", message=f"{item.source.name} is known already")
            if item.document is not None:
                return await self._document(item.source, file, item.document)
            return await self._rows(item.source, file)
        except InboxRefusal as refusal:
            await self._refuse(item.source, file, refusal)
            return FileReport(item.source.name, "refused", refusal.reason, refusal.message)

    async def _document(self, source: Source, file: Admitted, document: Document) -> FileReport:
        uri = await self.store.read(_free_uri, source)
        drafts, edges = await _in_thread(source, document_nodes, document, uri)
        if not drafts:
            raise InboxRefusal("no_content", f"{source.name} has headings and no text under them; give its full text")
        drafts[0] = replace(drafts[0], meta={**drafts[0].meta, "file": source.name, "folder": source.root})
        counted = Counted().plus(await self._write(source, file, drafts, edges, total=len(drafts)))
        return taken(source.name, counted)

    async def _rows(self, source: Source, file: Admitted) -> FileReport:
        """Write an export batch by batch; the row that says the file is taken goes with the last one."""
        batches = await _in_thread(source, self._batches, source, file)
        counted = Counted()
        batch = await _in_thread(source, _next, batches)
        while batch is not None:
            following = await _in_thread(source, _next, batches)
            counted = counted.without(batch.failed)
            last = following is None
            if batch.drafts or (last and counted.nodes):
                total = counted.nodes + len(batch.drafts) if last else None
                written = await self._write(source, file, batch.drafts, (), total=total, failures=counted.failures)
                counted = counted.plus(written)
            batch = following
        if not counted.nodes:
            raise InboxRefusal("no_valid_row", no_row(source.name, counted))
        return taken(source.name, counted)

    def _batches(self, source: Source, file: Admitted) -> Iterator[RowBatch]:
        records = read_records(file.text, file.form, source.name)
        return ticket_batches(records, name=source.path.name, mapping=self.mapping, size=self.policy.batch_rows)

    async def _write(
        self,
        source: Source,
        file: Admitted,
        drafts: Sequence[NodeDraft],
        edges: Sequence[EdgeDraft],
        *,
        total: int | None,
        failures: int = 0,
    ) -> IngestResult:
        """Write drafts as one verified operation; with `total` nodes it closes the file, and says so."""
        also: tuple[RowChange, ...] = ()
        told: tuple[Event, ...] = ()
        if total is not None:
            row = {"name": source.uri, "status": "admitted", "reason": None, "nodes": total}
            older = await self.store.read(_replaced, file.sha256, source.uri)
            also = (
                RowChange(inbox_file, {"sha256": file.sha256}, {**row, "at": self.store.clock.now()}),
                *(RowChange(inbox_file, {"sha256": digest}, {"status": "replaced"}) for digest in older),
            )
            payload = {"name": source.name, "source_uri": source.uri, "sha256": file.sha256, "nodes": total}
            told = (Event(events.INBOX_ADMITTED, payload | ({"failed_rows": failures} if failures else {})),)
        operation = IngestNodes(tuple(drafts), tuple(edges), told, also, target=source.uri)
        outcome: WriteOutcome = await perform(self.store, operation, actor=_ACTOR)
        if not outcome.ok or not isinstance(outcome.result, IngestResult):
            raise InboxRefusal(
                outcome.reason or "write_failed", f"{source.name} could not be written: {outcome.message}; try again"
            )
        return outcome.result

    async def _refuse(self, source: Source, file: Admitted | None, refusal: InboxRefusal) -> None:
        """Note a refusal in the log, and the content where it was read; said once, it is not said again."""
        reason = refusal.reason
        if file is not None and not await self.store.write(_note_refusal, file.sha256, source.uri, reason):
            return
        payload = {"name": source.name, "reason": refusal.reason, "message": refusal.message}
        await self.store.log(Event(events.INBOX_REFUSED, payload, "warning"))


_ENDINGS: Final = {"html": "html", "text": "txt", "markdown": "md", "pdf": "pdf", "docx": "docx"}


async def _in_thread(source: Source, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a parser's step in a thread; whatever goes wrong inside it is the file's fault alone."""
    try:
        return await asyncio.to_thread(work, *args, **kwargs)
    except InboxRefusal:
        raise
    except Exception as error:
        what = f"{type(error).__name__}: {str(error)[:200]}"
        raise InboxRefusal("malformed", f"{source.name} cannot be read ({what}); export it again") from error


def _next(batches: Iterator[RowBatch]) -> RowBatch | None:
    return next(batches, None)


def _is_known(conn: Connection, sha256: str) -> bool:
    """Tell whether this content was taken and not replaced by other content of the same name since."""
    found = conn.execute(select(inbox_file.c.status).where(inbox_file.c.sha256 == sha256)).scalar_one_or_none()
    return found == "admitted"


def _replaced(conn: Connection, sha256: str, uri: str) -> list[str]:
    """Return the digests of what was taken under this name before."""
    statement = select(inbox_file.c.sha256).where(
        inbox_file.c.name == uri, inbox_file.c.status == "admitted", inbox_file.c.sha256 != sha256
    )
    return list(conn.execute(statement).scalars())


def _free_uri(conn: Connection, source: Source) -> str:
    """Return the name of a document's nodes: another folder of the same name must not take over its nodes.

    Only where the file that the nodes came from is still there; a folder that was moved keeps its nodes.
    """
    found = node_by_uri(conn, source.uri)
    folder = found.meta.get("folder") if found is not None else ""
    if not folder or folder == source.root or not (Path(folder) / source.name).exists():
        return source.uri
    return f"file:{source.root.strip('/')}/{source.name}"


def _note_refusal(tx: Tx, sha256: str, uri: str, reason: str) -> bool:
    """Keep that this content was refused; False where that stands there already."""
    row = tx.conn.execute(select(inbox_file).where(inbox_file.c.sha256 == sha256)).one_or_none()
    if row is not None and (row.status == "admitted" or (row.name, row.reason) == (uri, reason)):
        return bool(row.status == "admitted")
    values = {"name": uri, "status": "refused", "reason": reason, "nodes": 0, "at": tx.now}
    if tx.conn.execute(update(inbox_file).where(inbox_file.c.sha256 == sha256).values(**values)).rowcount == 0:
        tx.conn.execute(insert(inbox_file).values(sha256=sha256, **values))
    return True
