"""SearXNG, asked so that no fault of it is read as knowledge (spec 04, Search).

The server answers 200 when all its engines failed, HTML when JSON is not enabled, a redirect when a query
begins with a command, and texts in the language of the asker. So: the content type is looked at before the
body, redirects are not followed, messages are never branched on, and a page without results counts as
`none` only where no engine failed.
"""

from __future__ import annotations

import asyncio
import html
import json
import re
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import urlsplit

import httpx

from data.clock import Clock, SystemClock
from data.text import normalise
from research.fetch import user_agent
from research.search.base import Hit, Probe, SearchPage, SearchState
from research.transport import trusted_context

__all__ = ["SearxngBackend", "SearxngPolicy", "neutral_query", "normalised_base"]

_SETTING: Final = "BRAIN_SEARXNG_URL"
_ENABLE_JSON: Final = (
    "the JSON format is not enabled there: add `json` to search.formats in its settings.yml "
    "(search: {formats: [html, json]}) and restart it"
)
_MAX_QUERY: Final = 400
_MAX_BODY: Final = 8 * 1024 * 1024
_MAX_ROWS: Final = 200
_BACKOFF_S: Final = (30.0, 900.0)
"""First and longest silence after 429 or 503 without a Retry-After; it doubles in between."""
_COMMAND: Final = re.compile(r"(?<!\S)(?:[!?]+|:(?=[^\W\d])|<(?=\d))")
_ANSWERER: Final = re.compile(r"^(?:avg|max|min|sum|range|random)\b", re.IGNORECASE)
_LANGUAGE: Final = re.compile(r"[a-z]{2}(?:-[A-Z]{2})?|all|auto")
_TAG: Final = re.compile(r"</?[a-zA-Z][^<>]{0,200}>")


@dataclass(frozen=True, slots=True)
class SearxngPolicy:
    """How it is asked."""

    categories: tuple[str, ...] = ("general",)
    """BRAIN_SEARXNG_CATEGORIES; an unknown one is dropped by the server without a word."""
    safesearch: int = 0
    """BRAIN_SEARXNG_SAFESEARCH: 0, 1 or 2."""
    pages: int = 1
    """Result pages read for one query, while there are not enough hits."""
    timeout_s: float = 20.0
    contact: str = ""


def normalised_base(url: str) -> str:
    """Return the one base URL of an instance; raise ValueError with what is wrong.

    Taken: `host:8888`, `http://host/`, `https://host/searxng`, and what people paste (`…/search?q=%s`).
    """
    text = url.strip()
    if "://" not in text:
        text = "http://" + text
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise ValueError(f"{_SETTING} {url!r} cannot be read: {error}") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname or re.search(r"\s", text):
        raise ValueError(f"{_SETTING} {url!r} is no address such as http://127.0.0.1:8888")
    if "@" in parts.netloc:
        raise ValueError(f"{_SETTING} carries credentials; put a proxy in front that needs none")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    path = re.sub(r"(?:/+(?:search|config|healthz))?/*$", "", parts.path)
    return f"{parts.scheme}://{host}{f':{port}' if port else ''}{path}"


def neutral_query(query: str) -> str:
    """Return `query` without what SearXNG takes for a command, which it does anywhere in a query.

    There is no way to escape one: `!x`, `!!x`, `:de` and `<3` lose their sign, and a first word that would call an
    answerer ("max 3 5") instead of the engines is put in quotes.
    """
    text = " ".join(normalise(query).split())[:_MAX_QUERY]
    before = None
    while before != text:
        before, text = text, " ".join(_COMMAND.sub("", text).split())
    return _ANSWERER.sub(lambda match: f'"{match[0]}"', text)


class SearxngBackend:
    """One SearXNG instance. Use as `async with`, or let the first search open it and call `aclose`."""

    name = "searxng"

    def __init__(self, url: str, policy: SearxngPolicy | None = None, clock: Clock | None = None) -> None:
        self.base = normalised_base(url)
        self._policy = policy or SearxngPolicy()
        self._clock = clock or SystemClock()
        self._client: httpx.AsyncClient | None = None
        self._silent_until = 0.0
        self._refusals = 0

    async def __aenter__(self) -> Self:
        self._opened()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    def _opened(self) -> httpx.AsyncClient:
        if self._client is None:
            self._client = httpx.AsyncClient(
                base_url=self.base,
                follow_redirects=False,
                timeout=self._policy.timeout_s,
                trust_env=False,
                verify=trusted_context() if self.base.startswith("https:") else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
                headers={
                    "Accept": "application/json",
                    "Accept-Encoding": "gzip",
                    "Accept-Language": "en",  # engine messages come in the asker's language
                    "User-Agent": user_agent(self._policy.contact),
                },
            )
        return self._client

    async def search(self, query: str, *, language: str, limit: int) -> SearchPage:
        """Return hits for `query`; whatever goes wrong is a blind page with a note, never an error."""
        asked = neutral_query(query)
        if not asked:
            return SearchPage(SearchState.BLIND, notes=("nothing was left to ask for",))
        silent = self._silent_until - self._clock.monotonic()
        if silent > 0:
            return _blind(f"searxng asked for silence, {silent:.0f} s are left", retry_after=silent)
        rows: list[Hit] = []
        failed: dict[str, None] = {}
        notes: list[str] = []
        for number in range(1, self._policy.pages + 1):
            answer = await self._ask(asked, language, number)
            if isinstance(answer, SearchPage):
                if number == 1:
                    return answer
                notes += answer.notes
                break
            found = _hits(answer)
            failed |= dict.fromkeys(_failed_engines(answer))
            known = {hit.url for hit in rows}
            new = [hit for hit in found if hit.url not in known]
            rows += [replace(hit, rank=rank) for rank, hit in enumerate(new, start=len(rows) + 1)]
            if not found or len(rows) >= limit:
                break
        if rows:
            state = SearchState.HITS
        else:
            state = SearchState.BLIND if failed else SearchState.NONE
        if failed:
            notes.append(f"engines failed: {', '.join(failed)}")
        return SearchPage(state, tuple(rows[:limit]), tuple(failed), tuple(notes))

    async def probe(self) -> Probe:
        """Ask one question, and which categories there are; say which setting keeps it from being answered."""
        answer = await self._ask("linux", "en", 1)
        if isinstance(answer, SearchPage):
            note = answer.notes[0] if answer.notes else "no answer"
            setting = "search.formats" if _ENABLE_JSON in note else _SETTING
            return Probe(False, f"{self.base}: {note}", setting)
        known = await self._categories()
        unknown = [name for name in self._policy.categories if known and name not in known]
        if unknown:  # the server drops them without a word and asks its default ones
            said = f"the categories {', '.join(unknown)} are unknown; known there are {', '.join(sorted(known))}"
            return Probe(False, f"{self.base}: {said}", "BRAIN_SEARXNG_CATEGORIES")
        failed = _failed_engines(answer)
        rows = _hits(answer)
        if not rows and failed:
            return Probe(False, f"{self.base}: every engine failed ({', '.join(failed)})", "engines")
        named = f", engines failing: {', '.join(failed)}" if failed else ""
        return Probe(True, f"{self.base} answers with JSON, {len(rows)} results{named}")

    async def _categories(self) -> frozenset[str]:
        """Return the categories that the server says it has, none where it does not say."""
        try:
            async with asyncio.timeout(self._policy.timeout_s):
                async with self._opened().stream("GET", "/config") as response:
                    body = await _bounded(response) if response.status_code == 200 else None
            names = json.loads(body or b"{}").get("categories")
        except (TimeoutError, httpx.HTTPError, OSError, ValueError, AttributeError, RecursionError):
            return frozenset()
        return frozenset(name for name in names if isinstance(name, str)) if isinstance(names, list) else frozenset()

    async def _ask(self, query: str, language: str, page: int) -> Mapping[str, Any] | SearchPage:
        """Return the answer's object, or a blind page that says what came instead."""
        parameters = {
            "q": query,
            "format": "json",
            "language": language if _LANGUAGE.fullmatch(language) else "all",
            "pageno": str(page),
            "safesearch": str(self._policy.safesearch),
        }
        if self._policy.categories:
            parameters["categories"] = ",".join(self._policy.categories)
        try:
            async with asyncio.timeout(self._policy.timeout_s):
                async with self._opened().stream("GET", "/search", params=parameters) as response:
                    body = await _bounded(response)
        except (TimeoutError, httpx.TimeoutException):
            return _blind(f"searxng took longer than {self._policy.timeout_s:g} s")
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            return _blind(f"searxng cannot be reached at {self.base} ({error or type(error).__name__}); see {_SETTING}")
        if body is None:
            return _blind(f"searxng sent more than {_MAX_BODY} bytes")
        return self._understood(response, body)

    def _understood(self, response: httpx.Response, body: bytes) -> Mapping[str, Any] | SearchPage:
        status = response.status_code
        if status in {429, 503}:
            return self._silenced(response)
        self._refusals = 0
        media = response.headers.get("content-type", "").split(";")[0].strip().lower()
        if status == 403:
            return _blind(f"searxng answered 403 Forbidden: {_ENABLE_JSON}")
        if 300 <= status < 400:
            where = response.headers.get("location", "")[:200]
            return _blind(f"searxng answered with a redirect to {where!r}, which is not followed; see {_SETTING}")
        if media != "application/json":
            said = f"searxng answered {status} with {media or 'no content type'} instead of JSON"
            return _blind(f"{said}: {_ENABLE_JSON}" if status == 200 else f"{said}; see {_SETTING}")
        try:
            answer = json.loads(body)
        except (ValueError, RecursionError):
            return _blind("searxng sent JSON that cannot be read")
        if not isinstance(answer, dict):
            return _blind("searxng sent JSON that is no object")
        if status != 200 or "results" not in answer:
            said = str(answer.get("error", "no results field"))[:200]
            return _blind(f"searxng answered {status}: {said}")
        return answer

    def _silenced(self, response: httpx.Response) -> SearchPage:
        """Back off: as long as the server says, else twice as long with each refusal."""
        wait = _seconds(response.headers.get("retry-after", ""), self._clock.now())
        if wait is None:
            wait = min(_BACKOFF_S[0] * 2**self._refusals, _BACKOFF_S[1])
        self._refusals += 1
        self._silent_until = self._clock.monotonic() + wait
        return _blind(f"searxng answered {response.status_code}, it is not asked for {wait:.0f} s", retry_after=wait)


def _blind(note: str, *, retry_after: float | None = None) -> SearchPage:
    return SearchPage(SearchState.BLIND, engines_failed=("searxng",), notes=(note,), retry_after=retry_after)


async def _bounded(response: httpx.Response) -> bytes | None:
    """Return the body, None where it is longer than anything a search says."""
    body = bytearray()
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) > _MAX_BODY:
            return None
    return bytes(body)


def _seconds(value: str, now: datetime) -> float | None:
    if re.fullmatch(r"\d{1,6}", value.strip()):
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, TypeError):
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return min(max(0.0, (moment - now).total_seconds()), 86_400.0)


def _failed_engines(answer: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of engines that gave nothing; what they say about it is translated and not looked at."""
    rows = answer.get("unresponsive_engines")
    if not isinstance(rows, list):
        return ()
    names = [row[0] if isinstance(row, list) and row else row for row in rows]
    return tuple(dict.fromkeys(str(name) for name in names if isinstance(name, str) and name))


def _hits(answer: Mapping[str, Any]) -> list[Hit]:
    """Return the usable rows, best first; order and scores of the server are neither sorted nor bounded."""
    rows = answer.get("results")
    usable = [row for row in rows[:_MAX_ROWS] if isinstance(row, dict)] if isinstance(rows, list) else []
    ranked = sorted(enumerate(usable), key=lambda item: (-_number(item[1].get("score")), item[0]))
    hits: list[Hit] = []
    seen: set[str] = set()
    best = max((_number(row.get("score")) for row in usable), default=0.0)
    for _, row in ranked:
        url = _text(row.get("url"))
        if not re.match(r"https?://", url, re.IGNORECASE) or url in seen:
            continue
        seen.add(url)
        title = _plain(row.get("title"))
        hits.append(
            Hit(
                url=url,
                title=title or url,
                snippet=_plain(row.get("content")),
                published_at=_date(row),
                engine="+".join(sorted(_names(row))),
                rank=len(hits) + 1,
                score=round(_number(row.get("score")) / best, 6) if best > 0 else 0.0,
                category=_text(row.get("category")),
            )
        )
    return hits


def _names(row: Mapping[str, Any]) -> set[str]:
    engines: Sequence[object] = row["engines"] if isinstance(row.get("engines"), list) else [row.get("engine")]
    return {name for name in engines if isinstance(name, str) and name}


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e9:
        return 0.0
    return float(value)


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def _plain(value: object) -> str:
    """Return a title or snippet as text: tags out, entities resolved, one line."""
    return " ".join(normalise(html.unescape(_TAG.sub("", _text(value)))).split())


def _date(row: Mapping[str, Any]) -> datetime | None:
    """Return `publishedDate` or `pubdate` where it is a date; prose ("2 hours ago") and nonsense are none."""
    for key in ("publishedDate", "pubdate"):
        text = _text(row.get(key))
        if not text:
            continue
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            continue
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    return None
