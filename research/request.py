"""One GET in its host's turn, read within bounds (spec 04, Fetch; spec 10, Input that means harm)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import httpx

from research.decoding import Decoder, decoder_for
from research.fetch_errors import FetchError, FetchReason, named, named_body
from research.politeness import HostGate

__all__ = ["Answer", "Deadline", "Limits", "ask"]

_HTML: Final = frozenset({"text/html", "application/xhtml+xml"})
_TYPES: Final = _HTML | {"text/plain", "application/pdf"}
_SLICE: Final = 4_096  # small, so that a bomb shows its ratio before much of it was undone
_BOMB_RATIO: Final = 100
"""Text compresses three to twenty times; what still grows a hundredfold at the limit is no page."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Bytes read of one body, after decompression."""

    most: int
    most_html: int
    any_type: bool = False
    """For robots.txt: any content type, and what is longer is cut at `most`."""


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: httpx.Headers
    body: bytes = b""
    """Read for status 200 only."""
    cut: bool = False


class Deadline:
    """Seconds of work left; waiting for a host's turn costs none."""

    def __init__(self, seconds: float) -> None:
        self._left = seconds

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        loop = asyncio.get_running_loop()
        started = loop.time()
        try:
            async with asyncio.timeout(max(0.0, self._left)):
                yield
        finally:
            self._left -= loop.time() - started


async def ask(
    client: httpx.AsyncClient,
    gate: HostGate,
    url: str,
    host: str,
    *,
    deadline: Deadline,
    limits: Limits,
    in_flight: asyncio.Semaphore,
    delay_s: float | None = None,
    headers: Mapping[str, str] | None = None,
) -> Answer:
    """Send one GET and read what is worth reading; raise FetchError for whatever goes wrong.

    Who waits for a host's turn holds none of the `in_flight` places, so a slow host keeps nobody else waiting.
    """
    async with gate.turn(host, delay_s), in_flight:
        held = gate.held_for(host)
        if held > 0:
            message = f"{host} asked for silence, {held:.0f} s are left"
            raise FetchError(FetchReason.HTTP_STATUS, message, url=url, status=429, retry_after=held)
        with named(url):
            async with deadline.running(), client.stream("GET", url, headers=dict(headers or {})) as response:
                if response.status_code != 200:
                    return Answer(response.status_code, response.headers)
                with named_body(url):
                    return await _read(response, url, limits)


async def _read(response: httpx.Response, url: str, limits: Limits) -> Answer:
    """Return the body, undone and bounded while it streams."""
    media = response.headers.get("content-type", "").split(";")[0].strip().lower()
    if not limits.any_type and media not in _TYPES:
        raise FetchError(FetchReason.CONTENT_TYPE, f"the content type {media or '(none)'!r} is not read", url=url)
    may_cut = limits.any_type or media in _HTML
    most = limits.most_html if media in _HTML else limits.most
    length = response.headers.get("content-length", "")
    if not may_cut and length.isascii() and length.isdigit() and int(length[:18]) > most:
        raise FetchError(FetchReason.TOO_LARGE, f"the page has {length} bytes, {most} are read", url=url)
    decoder = decoder_for(response.headers.get("content-encoding", ""))
    body, cut, sent = bytearray(), False, 0
    async for raw in response.aiter_raw(_SLICE):
        sent += len(raw)
        cut = _fill(body, decoder, raw, most)
        if cut:
            break
    if cut and len(body) > _BOMB_RATIO * sent:
        raise FetchError(FetchReason.TOO_LARGE, "the page is a compression bomb", url=url)
    if cut and not may_cut:
        raise FetchError(FetchReason.TOO_LARGE, f"the page has more than {most} bytes", url=url)
    if not cut:
        decoder.finish()
    return Answer(200, response.headers, bytes(body[:most]), cut)


def _fill(body: bytearray, decoder: Decoder, raw: bytes, most: int) -> bool:
    """Append what `raw` decodes to and tell whether that made `body` longer than `most`."""
    for piece in decoder.feed(raw):
        body += piece
        if len(body) > most:
            return True
    return False
