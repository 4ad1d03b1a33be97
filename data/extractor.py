"""Extraction in processes that can be killed: one hostile or lost document fails alone (spec 10).

A worker is started once and reused; it is killed when a document takes too long or too much memory, and the next
document gets a fresh one. The daemon's event loop only ever waits on pipes.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import struct
import sys
from typing import Any, Final, Protocol

from data.clock import from_iso
from data.extract import Document, ExtractionError, ExtractLimits, Section, extract
from data.models import SourceClass

__all__ = ["DocumentReader", "Extractor", "InlineExtractor"]

_START_SECONDS: Final = 60.0  # importing lxml and trafilatura on a busy machine; a document's time starts after it
_CLOCK_FACTOR: Final = 4
_FRAME: Final = struct.Struct(">II")
_ANSWER: Final = struct.Struct(">I")
_MAX_ANSWER: Final = 64 * 1024 * 1024


class DocumentReader(Protocol):
    """Whoever turns bytes into documents."""

    async def extract(self, data: bytes, *, content_type: str, url: str) -> Document:
        """Return the document in `data`, or raise ExtractionError."""
        ...


class InlineExtractor:
    """Extraction on a thread of this process: for documents of one's own and for tests, never for the web.

    A document that runs away cannot be stopped here.
    """

    def __init__(self, limits: ExtractLimits | None = None) -> None:
        self._limits = limits or ExtractLimits()

    async def extract(self, data: bytes, *, content_type: str, url: str) -> Document:
        """Return the document in `data`, or raise ExtractionError."""
        return await asyncio.to_thread(extract, data, content_type=content_type, url=url, limits=self._limits)


class Extractor:
    """A pool of extraction processes.

    `async with Extractor() as extractor: document = await extractor.extract(data, content_type=…, url=…)`

    `timeout` is processor seconds for one document (four times that on the clock: a busy machine is no fault of the
    document), `memory` bytes a worker may take beyond what it has after its start.
    """

    def __init__(self, workers: int = 1, *, timeout: float = 15.0, memory: int = 1024 * 1024 * 1024) -> None:
        if workers < 1:
            raise ValueError(f"an extractor needs at least one worker, got {workers}")
        self.workers = workers
        self.started = 0
        """Processes started so far; one more than `workers` for each that was lost."""
        self._timeout = timeout
        self._memory = memory
        self._idle: asyncio.LifoQueue[asyncio.subprocess.Process | None] = asyncio.LifoQueue()
        for _ in range(workers):
            self._idle.put_nowait(None)
        self._running: set[asyncio.subprocess.Process] = set()
        self._closed = False

    async def __aenter__(self) -> Extractor:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def extract(self, data: bytes, *, content_type: str, url: str) -> Document:
        """Return the document in `data`, or raise ExtractionError (also `timeout` and `crashed`)."""
        if self._closed:
            raise RuntimeError("the extractor is closed")
        worker = await self._idle.get()
        try:
            if worker is None or worker.returncode is not None:
                await self._kill(worker)
                worker = None
                worker = await self._start()
            request = json.dumps({"content_type": content_type, "url": url}).encode()
            async with asyncio.timeout(self._timeout * _CLOCK_FACTOR):
                answer = await self._ask(worker, request, data)
            if answer.get("lost"):  # it ran out of memory, said so, and ends
                await self._kill(worker)
                worker = None
        except TimeoutError:
            await self._kill(worker)
            worker = None
            raise ExtractionError("timeout", f"took longer than {self._timeout:g} s to read") from None
        except (ConnectionError, asyncio.IncompleteReadError) as error:
            await self._kill(worker)
            overrun = worker is not None and worker.returncode == -signal.SIGXCPU
            worker = None
            if overrun:
                raise ExtractionError("timeout", f"took longer than {self._timeout:g} s to read") from error
            raise ExtractionError("crashed", "killed its reader (memory or a fault in the parser)") from error
        except BaseException:
            await self._kill(worker)  # cancelled in the middle: the pipe holds half a conversation
            worker = None
            raise
        finally:
            self._idle.put_nowait(worker)
        if "error" in answer:
            raise ExtractionError(answer["error"], answer["message"])
        return _document(answer["document"])

    async def close(self) -> None:
        """End the workers; what is being extracted fails as crashed."""
        self._closed = True
        for worker in list(self._running):
            await self._kill(worker)

    async def _start(self) -> asyncio.subprocess.Process:
        worker = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",  # a folder named data where the daemon happens to stand is not ours
            "-m",
            "data.extract_worker",
            str(self._memory),
            str(self._timeout),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        self._running.add(worker)
        self.started += 1
        try:
            async with asyncio.timeout(_START_SECONDS):
                await self._read(worker)
        except BaseException as error:
            await self._kill(worker)
            if isinstance(error, TimeoutError | asyncio.IncompleteReadError | ConnectionError):
                raise ExtractionError("crashed", "found no reader: the extraction process did not start") from error
            raise
        return worker

    async def _ask(self, worker: asyncio.subprocess.Process, request: bytes, data: bytes) -> Any:
        assert worker.stdin is not None
        worker.stdin.write(_FRAME.pack(len(request), len(data)) + request)
        worker.stdin.write(data)
        await worker.stdin.drain()
        return await self._read(worker)

    async def _read(self, worker: asyncio.subprocess.Process) -> Any:
        assert worker.stdout is not None
        (length,) = _ANSWER.unpack(await worker.stdout.readexactly(_ANSWER.size))
        if length > _MAX_ANSWER:
            raise ConnectionError(f"an answer of {length} bytes")
        return json.loads(await worker.stdout.readexactly(length))

    async def _kill(self, worker: asyncio.subprocess.Process | None) -> None:
        if worker is None:
            return
        self._running.discard(worker)
        if worker.stdin is not None:
            worker.stdin.close()
        with contextlib.suppress(ProcessLookupError):
            worker.kill()
        await asyncio.shield(worker.wait())


def _document(fields: dict[str, Any]) -> Document:
    stamp = fields["published_at"]
    return Document(
        **{
            **fields,
            "published_at": from_iso(stamp) if stamp else None,
            "sections": tuple(Section(*section) for section in fields["sections"]),
            "flags": tuple(fields["flags"]),
            "source_class": SourceClass(fields["source_class"]),
        }
    )
