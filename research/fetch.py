"""The guarded fetch: a URL in, a document or one named reason out (spec 04, Fetch; spec 10, Addresses).

`Fetcher` is the only part that talks to the web. Each redirect is a new request with all its checks; bodies
are undone and cut while they stream; one deadline covers everything but waiting for a host's turn.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from http.cookiejar import CookieJar, DefaultCookiePolicy
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final, Protocol, Self
from urllib.parse import urldefrag, urljoin
from weakref import WeakValueDictionary

import httpx

from data.clock import Clock, SystemClock
from data.extract import Document, ExtractionError
from data.extractor import DocumentReader
from research.address import AddressError, Resolver, SystemResolver, Target, checked_target, split_allowed
from research.cache import CachedPage, PageCache
from research.decoding import accepted_codings
from research.fetch_errors import FetchError, FetchReason, extraction_failed
from research.politeness import HostGate
from research.request import Answer, Deadline, Limits, ask
from research.robots import ALLOW_ALL, MAX_ROBOTS_BYTES, Robots, parse_robots
from research.transport import GuardedBackend, GuardedTransport, trusted_context

__all__ = ["FetchError", "FetchPolicy", "FetchReason", "Fetcher", "user_agent"]

_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_AGENT: Final = "NeuralBrain"
_HOLD_S: Final = 60.0
_MAX_HOLD_S: Final = 86_400.0
_MAX_SITES: Final = 2_048
_ROBOTS_TTL_S: Final = 86_400.0
_ROBOTS_RETRY_S: Final = 600.0
_ROBOTS_LIMITS: Final = Limits(MAX_ROBOTS_BYTES, MAX_ROBOTS_BYTES, any_type=True)


@dataclass(frozen=True, slots=True)
class FetchPolicy:
    """What a fetch may cost; sizes in bytes after decompression."""

    deadline_s: float = 15.0
    connect_timeout_s: float = 5.0
    max_bytes: int = 5 * 1024 * 1024
    max_html_bytes: int = 2 * 1024 * 1024
    max_redirects: int = 3
    host_delay_s: float = 1.0
    """BRAIN_FETCH_HOST_DELAY."""
    in_flight: int = 8
    allow_hosts: tuple[str, ...] = ()
    """BRAIN_FETCH_ALLOW_HOSTS."""
    contact: str = ""
    """A mail address or page for site owners, put into the User-Agent."""
    cache_dir: Path | None = None
    """`cache/fetch` below the home; None keeps nothing."""
    cache_bytes: int = 256 * 1024 * 1024
    cache_fresh: timedelta = timedelta(days=1)
    """A page is not asked for again within this, whatever its headers allow: one pass after the other is polite."""
    cache_max_age: timedelta = timedelta(days=30)


class Shelf(Protocol):
    """`data.library.Library`, as far as it is needed here."""

    async def read(self, url: str) -> Document: ...


def user_agent(contact: str = "") -> str:
    """Return the User-Agent header: who asks, in which version, and where to complain."""
    try:
        number = version("neural-brain")
    except PackageNotFoundError:
        number = "0"
    return f"{_AGENT}/{number} (knowledge research; {f'{contact}; ' if contact else ''}honours robots.txt)"


class Fetcher:
    """Reads pages of the web and of the library. Use as `async with`.

    `library` may be None where there is none. Raises FetchError alone for whatever a page or its server does.
    """

    def __init__(
        self,
        library: Shelf | None,
        extractor: DocumentReader,
        policy: FetchPolicy | None = None,
        clock: Clock | None = None,
        *,
        resolver: Resolver | None = None,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        self._library = library
        self._extractor = extractor
        self._policy = policy or FetchPolicy()
        self._clock = clock or SystemClock()
        self._allowed = split_allowed(self._policy.allow_hosts)
        self._resolver = resolver or SystemResolver()
        self._ssl_context = ssl_context
        self._gate = HostGate(self._clock, self._policy.host_delay_s)
        self._in_flight = asyncio.Semaphore(self._policy.in_flight)
        self._robots: dict[str, tuple[float, Robots | None]] = {}
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._cache: PageCache | None = None
        if self._policy.cache_dir is not None:
            self._cache = PageCache(
                self._policy.cache_dir,
                max_bytes=self._policy.cache_bytes,
                max_age=self._policy.cache_max_age,
                now=self._clock.now,
            )
        self._client: httpx.AsyncClient | None = None
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        context = self._ssl_context
        if context is None:
            context = await asyncio.to_thread(trusted_context)
        transport = GuardedTransport(
            GuardedBackend(self._resolver, self._allowed),
            ssl_context=context,
            max_connections=self._policy.in_flight * 2,
        )
        self._client = await self._stack.enter_async_context(
            httpx.AsyncClient(
                transport=transport,
                follow_redirects=False,
                trust_env=False,
                timeout=httpx.Timeout(self._policy.deadline_s, connect=self._policy.connect_timeout_s),
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),  # nobody is recognised again
                headers={
                    "User-Agent": user_agent(self._policy.contact),
                    "Accept": "text/html, application/xhtml+xml, application/pdf;q=0.9, text/plain;q=0.8",
                    "Accept-Encoding": accepted_codings(),
                    "Accept-Language": "en, de;q=0.9",
                },
            )
        )
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._stack.aclose()
        self._client = None

    async def fetch(self, url: str) -> Document:
        """Return the document at `url` (`library:`, http or https); raise FetchError with one of the reasons."""
        if url.startswith("library:"):
            return await self._from_library(url)
        page = await self._page(urldefrag(url)[0])
        try:
            document = await self._extractor.extract(page.body, content_type=page.content_type, url=page.final_url)
        except ExtractionError as error:
            raise extraction_failed(error, url) from error
        flags = document.flags if not page.cut or "cut" in document.flags else (*document.flags, "cut")
        return replace(document, url=url, final_url=page.final_url, flags=flags)

    async def _from_library(self, url: str) -> Document:
        if self._library is None:
            raise FetchError(FetchReason.HTTP_STATUS, "there is no library", url=url, status=404)
        try:
            return await self._library.read(url)
        except ExtractionError as error:
            raise extraction_failed(error, url) from error
        except LookupError as error:
            raise FetchError(FetchReason.HTTP_STATUS, f"not in the library: {error}", url=url, status=404) from error

    # -- one page ------------------------------------------------------------------------------------------------

    async def _page(self, url: str) -> CachedPage:
        """Return the page from the cache while it is fresh, else from its server; the same URL once at a time."""
        self._target(url)
        async with self._lock(url):
            cached = await asyncio.to_thread(self._cache.get, url) if self._cache else None
            if cached is not None:
                self._target(cached.final_url)
                if cached.is_fresh(self._clock.now()):
                    return cached
            return await self._walk(url, cached, Deadline(self._policy.deadline_s))

    def _lock(self, name: str) -> asyncio.Lock:
        return self._locks.setdefault(name, asyncio.Lock())

    async def _walk(self, url: str, cached: CachedPage | None, deadline: Deadline) -> CachedPage:
        """Follow redirects from `url` by hand; each hop is checked like a first one."""
        current = url
        seen = {url}
        for _ in range(self._policy.max_redirects + 1):
            target = self._target(current)
            robots = await self._robots_of(current, target, deadline)
            if not robots.allows(current):
                raise FetchError(FetchReason.ROBOTS, f"robots.txt of {target.host} keeps this page closed", url=url)
            known = cached if cached is not None and cached.final_url == current else None
            answer = await self._ask(current, target, deadline, delay_s=robots.delay_s, headers=_conditions(known))
            if answer.status == 304 and known is not None and self._cache is not None:
                return await asyncio.to_thread(self._cache.refresh, known, self._fresh_until(answer.headers))
            if answer.status == 200:
                return await self._kept(url, current, answer)
            if answer.status not in _REDIRECTS:
                raise self._refused(answer, target, url)
            current = _location(current, answer)
            if current in seen:
                raise FetchError(FetchReason.REDIRECT, "the redirects go in a circle", url=url)
            seen.add(current)
        raise FetchError(FetchReason.REDIRECT, f"more than {self._policy.max_redirects} redirects", url=url)

    async def _kept(self, url: str, final_url: str, answer: Answer) -> CachedPage:
        page = CachedPage(
            url=url,
            final_url=final_url,
            content_type=answer.headers.get("content-type", ""),
            etag=answer.headers.get("etag", ""),
            last_modified=answer.headers.get("last-modified", ""),
            fetched_at=self._clock.now(),
            fresh_until=self._fresh_until(answer.headers),
            cut=answer.cut,
            body=answer.body,
        )
        if self._cache is not None and "no-store" not in answer.headers.get("cache-control", "").lower():
            await asyncio.to_thread(self._cache.put, page)
        return page

    def _fresh_until(self, headers: httpx.Headers) -> datetime:
        match = re.search(r"(?:^|[,\s])max-age=\"?(\d{1,10})", headers.get("cache-control", ""), re.IGNORECASE)
        stated = timedelta(seconds=int(match[1])) if match else timedelta(0)
        return self._clock.now() + min(max(stated, self._policy.cache_fresh), self._policy.cache_max_age)

    def _refused(self, answer: Answer, target: Target, url: str) -> FetchError:
        """Return the error of a status; 429 and 503 silence the host for as long as it asked."""
        wait = None
        if answer.status in {429, 503}:
            wait = _retry_after(answer.headers.get("retry-after", ""), self._clock.now())
            self._gate.hold(target.host, _HOLD_S if wait is None else wait)
        message = f"{target.host} answered {answer.status}"
        return FetchError(FetchReason.HTTP_STATUS, message, url=url, status=answer.status, retry_after=wait)

    def _target(self, url: str) -> Target:
        try:
            return checked_target(url, self._allowed)
        except AddressError as error:
            raise FetchError(FetchReason.BLOCKED_ADDRESS, str(error), url=url) from None

    # -- robots.txt ----------------------------------------------------------------------------------------------

    async def _robots_of(self, url: str, target: Target, deadline: Deadline) -> Robots:
        """Return what the site allows; raise FetchError where that cannot be known (RFC 9309: then nothing is)."""
        async with self._lock(target.origin):
            known = self._robots.get(target.origin)
            if known is None or known[0] <= self._clock.monotonic():
                known = await self._read_robots(target.origin, url, deadline)
                self._robots[target.origin] = known
                while len(self._robots) > _MAX_SITES:
                    del self._robots[next(iter(self._robots))]
        if known[1] is None:
            raise FetchError(FetchReason.ROBOTS, f"robots.txt of {target.host} cannot be read now", url=url)
        return known[1]

    async def _read_robots(self, origin: str, url: str, deadline: Deadline) -> tuple[float, Robots | None]:
        """Return (valid until, rules); None stands for a site that cannot say: everything is closed."""
        now = self._clock.monotonic()
        current = f"{origin}/robots.txt"
        for _ in range(self._policy.max_redirects + 1):
            target = self._target(current)
            answer = await self._ask(current, target, deadline, limits=_ROBOTS_LIMITS)
            if answer.status in _REDIRECTS:
                current = _location(current, answer)
                continue
            if answer.status == 200:
                return now + _ROBOTS_TTL_S, parse_robots(answer.body.decode("utf-8", "replace"), _AGENT)
            if answer.status == 429 or answer.status >= 500:
                if answer.status in {429, 503}:
                    raise self._refused(answer, target, url)
                return now + _ROBOTS_RETRY_S, None
            break  # 4xx: the site has no rules
        return now + _ROBOTS_TTL_S, ALLOW_ALL

    async def _ask(self, url: str, target: Target, deadline: Deadline, **how: Any) -> Answer:
        if self._client is None:
            raise RuntimeError("Fetcher is used outside of its `async with`")
        how.setdefault("limits", Limits(self._policy.max_bytes, self._policy.max_html_bytes))
        how["in_flight"] = self._in_flight
        return await ask(self._client, self._gate, url, target.host, deadline=deadline, **how)


def _conditions(known: CachedPage | None) -> dict[str, str]:
    if known is None:
        return {}
    headers = {"If-None-Match": known.etag, "If-Modified-Since": known.last_modified}
    return {name: value for name, value in headers.items() if value}


def _location(current: str, answer: Answer) -> str:
    """Return where a redirect points, without its fragment."""
    location = str(answer.headers.get("location", "")).strip()
    if not location:
        raise FetchError(FetchReason.REDIRECT, f"status {answer.status} without a Location", url=current)
    try:
        return urldefrag(urljoin(current, location))[0]
    except ValueError:
        raise FetchError(FetchReason.REDIRECT, "the redirect points to no URL", url=current) from None


def _retry_after(value: str, now: datetime) -> float | None:
    """Return the seconds of a Retry-After header (seconds or a date), bounded to a day; None for anything else."""
    value = value.strip()
    if re.fullmatch(r"\d{1,9}", value):
        return min(float(value), _MAX_HOLD_S)
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, TypeError):
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return min(max(0.0, (moment - now).total_seconds()), _MAX_HOLD_S)
