"""The operator's own documents: indexed for search, read in full when asked (spec 04, Search).

Everything below the library's folder is taken as it is, login pages and link lists too: judging is the evidence
gate's work. Reading goes back to the file's bytes every time; the index only finds. What was extracted of these very
bytes a short while ago is not extracted again: one page answers many questions of a pass.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote, urljoin

from data.characters import normalise
from data.extract import MIME_TYPES, Document, ExtractionError, ExtractLimits
from data.extractor import DocumentReader
from data.library_index import (
    SUFFIXES,
    Collection,
    Entry,
    KnownFile,
    count_documents,
    find_files,
    known_files,
    read_collections,
    remove_entries,
    write_entries,
)
from data.library_query import LibraryHit, library_url, search_library
from data.progress import Progress, silent
from data.store import Store

__all__ = ["IndexReport", "Library", "LibraryHit", "NotInLibrary"]

_BATCH: Final = 32  # documents in one write: a stop in the middle loses no more than these
_SCHEME: Final = "library:"
_RECENT_CHARS: Final = 8_000_000  # of text kept as it was extracted, 8 to 32 MB: some hundred pages, or 16 books


class NotInLibrary(LookupError):
    """A `library:` URL names nothing that may be read there."""


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What an indexing run did; counts are documents."""

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    removed: int = 0
    failed: tuple[tuple[str, str], ...] = ()
    """Path and reason of those that gave no text; they are in the index by their name alone."""
    problems: tuple[tuple[str, str], ...] = ()
    """What is wrong with collection files."""

    @property
    def total(self) -> int:
        return self.added + self.updated + self.unchanged


class Library:
    """The documents below `root`. The folder may be absent: then the library is empty."""

    def __init__(self, store: Store, root: Path, extractor: DocumentReader, *, max_bytes: int | None = None) -> None:
        self._store = store
        self._root = root
        self._extractor = extractor
        self._max_bytes = max_bytes or ExtractLimits().bytes
        self._recent: OrderedDict[tuple[str, str, Collection], Document] = OrderedDict()

    async def index(self, progress: Progress = silent) -> IndexReport:
        """Bring the index up to the folder: new, changed and vanished documents, in batches.

        A file is unchanged when size and modification time are, else when its content is. Where a collection's
        facts changed its documents are read anew.
        """
        files = await asyncio.to_thread(find_files, self._root)
        collections, problems = await asyncio.to_thread(read_collections, self._root, files)
        known = await self._store.read_bulk(known_files)
        gone = [entry.id for path, entry in known.items() if path not in files]
        if gone:
            await self._store.write(remove_entries, gone)
        todo = [path for path in files if not _same(known.get(path), files[path], _collection(collections, path))]
        done = len(files) - len(todo)
        counts = {"added": 0, "updated": 0, "unchanged": done}
        failed: list[tuple[str, str]] = []
        for start in range(0, len(todo), _BATCH):
            progress("library", done + start, len(files))
            batch = todo[start : start + _BATCH]
            jobs = [self._entry(path, known.get(path), _collection(collections, path)) for path in batch]
            results = [result for result in await asyncio.gather(*jobs) if result is not None]
            entries = [result for result in results if isinstance(result, Entry)]
            touched = {result[0]: (result[1], result[2]) for result in results if not isinstance(result, Entry)}
            if entries or touched:
                await self._store.write(write_entries, entries, touched)
            counts["unchanged"] += len(touched)
            for entry in entries:
                counts["updated" if entry.path in known else "added"] += 1
                if "error" in entry.meta:
                    failed.append((entry.path, entry.meta["error"]))
        progress("library", len(files), len(files))
        return IndexReport(removed=len(gone), failed=tuple(failed), problems=tuple(problems), **counts)

    async def search(self, query: str, language: str = "und", limit: int = 10) -> list[LibraryHit]:
        """Return the documents that fit `query` best; any string is a query. Raises StoreError."""
        return await self._store.read_bulk(search_library, query, language, limit)

    async def count(self) -> int:
        """Return how many documents are indexed."""
        return await self._store.read(count_documents)

    async def read(self, url: str) -> Document:
        """Return the document behind a `library:` URL, extracted from its file as it is now.

        Raises NotInLibrary where the URL names no document below the folder, ExtractionError where it has no text.
        """
        path = await asyncio.to_thread(self._resolved, url)
        collections, _ = await asyncio.to_thread(read_collections, self._root, [path])
        data = await asyncio.to_thread(self._bytes, path)
        collection = _collection(collections, path)
        key = (path, hashlib.sha256(data).hexdigest(), collection)
        document = self._recent.pop(key, None) or await self._document(path, data, collection)
        self._recent[key] = document
        while sum(len(one.text) for one in self._recent.values()) > _RECENT_CHARS and len(self._recent) > 1:
            self._recent.popitem(last=False)
        return document

    def _resolved(self, url: str) -> str:
        """Return the path below the root that `url` names; nothing outside of it, no link, no hidden file."""
        if not url.startswith(_SCHEME):
            raise NotInLibrary(f"{url!r} is no library URL")
        path = unquote(url.removeprefix(_SCHEME).split("#")[0].split("?")[0])
        parts = path.split("/")
        plain = "\\" not in path and path.isprintable() and not any(p in {"", ".", ".."} or p[:1] == "." for p in parts)
        file = self._root / path
        if not plain or file.suffix.lower() not in SUFFIXES or not file.is_file():
            raise NotInLibrary(f"{url!r} names no document of the library")
        root = self._root.resolve()
        if file.resolve() != root.joinpath(*parts):
            raise NotInLibrary(f"{url!r} leads out of the library")
        return path

    def _bytes(self, path: str) -> bytes:
        file = self._root / path
        try:
            if file.stat().st_size > self._max_bytes:
                raise ExtractionError("too_large", f"is larger than {self._max_bytes} bytes")
            return file.read_bytes()
        except OSError as error:
            raise NotInLibrary(f"{path!r} cannot be read: {error.strerror}") from error

    async def _document(self, path: str, data: bytes, collection: Collection) -> Document:
        url = library_url(path)
        document = await self._extractor.extract(data, content_type=_content_type(path), url=url)
        stated = document.publisher if document.content_type == "text/markdown" else ""
        return replace(
            document,
            url=url,
            final_url=url,
            publisher=stated or collection.publisher,
            language=document.language if document.language != "und" else collection.language or "und",
            source_class=collection.source_class,
            collection=collection.name,
            public_url=_public_url(path, collection),
        )

    async def _entry(
        self, path: str, known: KnownFile | None, collection: Collection
    ) -> Entry | tuple[int, int, int] | None:
        """Return what the index takes of a file: an entry; id, size, mtime where only these are new; None if gone."""
        try:
            info = await asyncio.to_thread((self._root / path).stat)
            large = info.st_size > self._max_bytes
            data = b"" if large else await asyncio.to_thread(self._bytes, path)
        except (OSError, NotInLibrary):
            return None
        sha256 = hashlib.sha256(data).hexdigest()
        if known is not None and known.sha256 == sha256 and _described(known, collection):
            return known.id, info.st_size, info.st_mtime_ns
        entry = Entry(
            path=path,
            collection=collection,
            publisher=collection.publisher,
            language=collection.language or "und",
            title=_named_title(path),
            body="",
            sha256=sha256,
            size=info.st_size,
            mtime_ns=info.st_mtime_ns,
            published_at=None,
            meta={},
        )
        if large:
            return replace(entry, meta={"error": f"too_large: is larger than {self._max_bytes} bytes"})
        try:
            document = await self._document(path, data, collection)
        except ExtractionError as error:
            return replace(entry, meta={"error": f"{error.reason}: {error.message}"})
        return replace(
            entry,
            publisher=document.publisher,
            language=document.language,
            title=document.title,
            body=document.text,
            published_at=document.published_at,
            meta={
                "flags": list(document.flags),
                "boilerplate": document.boilerplate,
                "chars": len(document.text),
                "publisher_stated": document.publisher != collection.publisher,
            },
        )


def _collection(collections: dict[str, Collection], path: str) -> Collection:
    return collections[path.split("/", maxsplit=1)[0] if "/" in path else ""]


def _described(known: KnownFile, collection: Collection) -> bool:
    """Tell whether a document was indexed under the facts its collection states now."""
    name, publisher, source_class, base_url = known.described
    same = (name, source_class, base_url) == (collection.name, collection.source_class.value, collection.base_url)
    return same and (publisher == collection.publisher or bool(known.meta.get("publisher_stated")))


def _same(known: KnownFile | None, look: Sequence[int], collection: Collection) -> bool:
    return known is not None and (known.size, known.mtime_ns) == tuple(look) and _described(known, collection)


def _content_type(path: str) -> str:
    return MIME_TYPES[Path(path).suffix.lower()]


def _named_title(path: str) -> str:
    stem = Path(path).stem.replace("_", " ").replace("-", " ")
    return " ".join(normalise(stem).split()) or path


def _public_url(path: str, collection: Collection) -> str:
    """Return where the original stands: the path below the collection joined to its base URL."""
    if not collection.base_url:
        return ""
    inside = path.split("/", 1)[-1]
    base = collection.base_url if collection.base_url.endswith("/") else f"{collection.base_url}/"
    return urljoin(base, quote(inside, safe="/"))
