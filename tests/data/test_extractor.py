"""The extraction process: what it returns, and that a lost one costs one document."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import signal

import pytest

from data.extract import ExtractionError, extract
from data.extractor import Extractor

PAGE = (
    b'<html lang="de"><head><title>Drucker</title><meta name="date" content="2024-05-06"></head><body><h1>Drucker</h1>'
    b"<p>Der Drucker druckt nicht, weil die Warteschlange voll ist.</p></body></html>"
)
SLOW = b"<table>" + b"<tr>" + b"<td>" * 60_000 + b"</tr>" + b"</table>" + b"<i><p>" * 90_000


async def test_a_worker_reads_as_the_function_does_and_is_reused() -> None:
    async with Extractor() as extractor:
        first = await extractor.extract(PAGE, content_type="text/html", url="https://example.org/a")
        second = await extractor.extract(PAGE, content_type="text/html", url="https://example.org/a")
        assert extractor.started == 1
    assert dataclasses.asdict(first) == dataclasses.asdict(
        extract(PAGE, content_type="text/html", url="https://example.org/a")
    )
    assert first == second


async def test_a_refusal_leaves_the_worker_alive() -> None:
    async with Extractor() as extractor:
        with pytest.raises(ExtractionError) as caught:
            await extractor.extract(b"\x00\x01\x02\x03", content_type="text/plain", url="x")
        assert caught.value.reason == "decoding"
        await extractor.extract(PAGE, content_type="text/html", url="x")
        assert extractor.started == 1


async def test_a_document_that_takes_too_long_fails_alone() -> None:
    async with Extractor(timeout=0.05) as extractor:
        with pytest.raises(ExtractionError) as caught:
            await extractor.extract(SLOW, content_type="text/html", url="x")
        assert caught.value.reason == "timeout"
    async with Extractor(timeout=30) as extractor:
        document = await extractor.extract(PAGE, content_type="text/html", url="x")
        assert document.title == "Drucker"


async def test_the_processor_time_of_a_document_is_limited_also_without_a_parent() -> None:
    async with Extractor(timeout=0.01) as extractor:
        worker = await extractor._start()
        assert worker.stdin is not None
        heavy = b"<i><p>x</p>" * 180_000
        request = b'{"content_type": "text/html", "url": "x"}'
        worker.stdin.write(len(request).to_bytes(4) + len(heavy).to_bytes(4) + request + heavy)
        await worker.wait()
        assert worker.returncode == -signal.SIGXCPU


async def test_a_document_that_takes_too_much_memory_fails_alone() -> None:
    async with Extractor(memory=24 * 1024 * 1024) as extractor:
        with pytest.raises(ExtractionError) as caught:
            await extractor.extract(b"<p>" + b"many words " * 1_500_000, content_type="text/html", url="x")
        assert caught.value.reason in {"crashed", "empty_extraction"}
        document = await extractor.extract(PAGE, content_type="text/html", url="x")
        assert document.title == "Drucker"


async def test_a_killed_worker_is_replaced() -> None:
    async with Extractor() as extractor:
        await extractor.extract(PAGE, content_type="text/html", url="x")
        (worker,) = extractor._running
        os.kill(worker.pid, signal.SIGKILL)
        await worker.wait()
        await extractor.extract(PAGE, content_type="text/html", url="x")
        assert extractor.started == 2


async def test_a_cancelled_caller_leaves_a_clean_worker() -> None:
    async with Extractor() as extractor:
        await extractor.extract(PAGE, content_type="text/html", url="x")
        task = asyncio.create_task(extractor.extract(SLOW, content_type="text/html", url="x"))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        document = await extractor.extract(PAGE, content_type="text/html", url="x")
        assert document.title == "Drucker"


async def test_a_closed_extractor_refuses() -> None:
    extractor = Extractor()
    await extractor.close()
    with pytest.raises(RuntimeError):
        await extractor.extract(PAGE, content_type="text/html", url="x")


def test_no_workers_make_no_extractor() -> None:
    with pytest.raises(ValueError, match="at least one"):
        Extractor(0)
