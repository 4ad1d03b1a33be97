"""GLPI's REST API (`apirest.php`, GLPI 9.5 to 10, and GLPI 11 where it is kept), one session at a time.

Rules of the API are those of its documentation (`apirest.md` in GLPI): a session is opened with the user's token and
closed at the end whatever happened; every call carries the session's and, where configured, the client's token; a
session that ended is opened again once for a call; errors are `[code, message]`. Redirects are not followed, the
certificate is checked, bodies are bounded, and only calls that change nothing are tried again.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

import httpx
import structlog

from research.fetch import user_agent
from research.glpi.address import normalised_api
from research.glpi.errors import (
    SESSION_CODES,
    GlpiDenied,
    GlpiError,
    GlpiTooLong,
    GlpiUncertain,
    GlpiUnreachable,
    answer_error,
)
from research.transport import trusted_context

__all__ = ["Answer", "GlpiClient", "GlpiPolicy"]

log = structlog.get_logger()

_SETTING: Final = "BRAIN_GLPI_URL"
_RETRIED: Final = frozenset({429, 500, 502, 503, 504})
_CLOSING_S: Final = 5.0
"""How long the end of a session may take: it ends by itself anyway, when PHP's sessions do."""


@dataclass(frozen=True, slots=True)
class GlpiPolicy:
    """Where GLPI is and how it is asked."""

    url: str
    user_token: str = field(repr=False)
    app_token: str = field(default="", repr=False)
    timeout_s: float = 60.0
    """For one call, whole: a ticket's list is computed by GLPI before its first byte comes."""
    max_body: int = 64 * 1024 * 1024
    tries: int = 4
    backoff_s: float = 1.0
    """Wait before the second try; it doubles with each."""
    longest_wait_s: float = 60.0
    """Also of a Retry-After: who asks for more gets an error instead."""
    contact: str = ""


class Answer(NamedTuple):
    """What a call brought: the decoded body (None for 204) and its headers."""

    body: Any
    headers: Mapping[str, str]
    status: int


class _Again(Exception):
    """This try failed for a reason that may pass; `sent` tells whether the server may have acted on it."""

    def __init__(self, message: str, *, sent: bool, status: int = 0, wait: float | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.sent = sent
        self.status = status
        self.wait = wait


class GlpiClient:
    """Use as `async with`: the session is opened by the first call and closed at the end.

    Raises the errors of `research.glpi.errors` alone. Calls may run beside each other. Raises ValueError for an
    address that is none.
    """

    def __init__(self, policy: GlpiPolicy, *, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self.api = normalised_api(policy.url)
        self._policy = policy
        self._sleep = sleep
        self._session = ""
        self._opening = asyncio.Lock()
        self._http = httpx.AsyncClient(
            follow_redirects=False,
            timeout=policy.timeout_s,
            trust_env=False,
            verify=trusted_context() if self.api.startswith("https:") else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
            headers={
                "Accept": "application/json",
                "Accept-Encoding": "gzip",
                "Content-Type": "application/json",
                "User-Agent": user_agent(policy.contact),
            },
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """End the session at GLPI, then the connections; an end that fails is only logged."""
        session, self._session = self._session, ""
        try:
            if session:
                async with asyncio.timeout(_CLOSING_S):
                    await self._once("GET", "killSession", {}, None, {"Session-Token": session})
        except (GlpiError, _Again, TimeoutError) as error:
            log.debug("the session of GLPI was not closed", why=type(error).__name__)
        finally:
            await self._http.aclose()

    async def get(self, path: str, parameters: Mapping[str, Any] | None = None) -> Answer:
        """Read; tried again while it may help."""
        return await self._call("GET", path, parameters or {}, None)

    async def post(self, path: str, body: Mapping[str, Any]) -> Answer:
        """Add; never sent twice. Raises GlpiUncertain where nobody knows whether it was done."""
        return await self._call("POST", path, {}, body)

    async def put(self, path: str, body: Mapping[str, Any]) -> Answer:
        """Change; never sent twice. Raises GlpiUncertain where nobody knows whether it was done."""
        return await self._call("PUT", path, {}, body)

    async def _call(
        self, method: str, path: str, parameters: Mapping[str, Any], body: Mapping[str, Any] | None
    ) -> Answer:
        session = await self._opened("")
        try:
            return await self._tried(method, path, parameters, body, {"Session-Token": session})
        except GlpiDenied as error:
            if error.code not in SESSION_CODES:
                raise
        # GLPI turned the call down before doing anything, so also a write may go out again.
        session = await self._opened(session)
        return await self._tried(method, path, parameters, body, {"Session-Token": session})

    async def _opened(self, ended: str) -> str:
        """Return the session's token; `ended` is one that is known to be over."""
        async with self._opening:
            if self._session and self._session != ended:
                return self._session
            self._session = ""
            token = {"Authorization": f"user_token {self._policy.user_token}"}
            answer = await self._tried("GET", "initSession", {}, None, token)
            found = answer.body.get("session_token") if isinstance(answer.body, dict) else None
            if not isinstance(found, str) or not found or not found.isascii() or not found.isprintable():
                raise GlpiUnreachable(f"{self.api}/initSession: GLPI gave no session token; see {_SETTING}")
            self._session = found
            await self._see_everything()
            return self._session

    async def _see_everything(self) -> None:
        """Widen the session from the user's default entity to all of theirs.

        "All" is what comes without `entities_id`: a word is read as a number there, and that is the root alone.
        """
        header = {"Session-Token": self._session}
        try:
            answer = await self._tried("POST", "changeActiveEntities", {}, {"is_recursive": True}, header)
        except (GlpiDenied, GlpiUnreachable):
            self._session = ""
            raise
        except GlpiError as error:
            log.warning("GLPI shows the default entity alone", why=str(error))
            return
        if answer.body is not True:
            log.warning("GLPI shows the default entity alone", why="changeActiveEntities was not done")

    async def _tried(
        self,
        method: str,
        path: str,
        parameters: Mapping[str, Any],
        body: Mapping[str, Any] | None,
        headers: Mapping[str, str],
    ) -> Answer:
        """Send, and again where that cannot do a thing twice."""
        where = f"{self.api}/{path}"
        harmless = method == "GET" or path == "changeActiveEntities"
        for number in range(1, self._policy.tries + 1):
            try:
                return await self._once(method, path, parameters, body, headers)
            except _Again as failed:
                if failed.sent and not harmless:
                    raise GlpiUncertain(
                        f"{where}: {failed.message}; nobody knows whether it was done, so it is looked for next time",
                        status=failed.status,
                    ) from failed
                wait = self._policy.backoff_s * 2 ** (number - 1) if failed.wait is None else failed.wait
                if number == self._policy.tries or wait > self._policy.longest_wait_s:
                    raise GlpiUnreachable(
                        f"{where}: {failed.message}; try again later, or see {_SETTING}", status=failed.status
                    ) from failed
            await self._sleep(wait)
        raise AssertionError("the last try returns or raises")

    async def _once(
        self,
        method: str,
        path: str,
        parameters: Mapping[str, Any],
        body: Mapping[str, Any] | None,
        headers: Mapping[str, str],
    ) -> Answer:
        where = f"{self.api}/{path}"
        content = None if body is None else json.dumps(body, ensure_ascii=False).encode()
        sent = dict(headers)
        if self._policy.app_token:
            sent["App-Token"] = self._policy.app_token
        try:
            async with asyncio.timeout(self._policy.timeout_s):
                async with self._http.stream(
                    method, where, params=dict(parameters), headers=sent, content=content
                ) as response:
                    data = await self._bounded(response, where)
        except (TimeoutError, httpx.TimeoutException) as error:
            before = isinstance(error, (httpx.ConnectTimeout, httpx.PoolTimeout))
            raise _Again(f"no answer within {self._policy.timeout_s:g} s", sent=not before) from None
        except httpx.ConnectError as error:
            if isinstance(error.__cause__, ssl.SSLError) or "CERTIFICATE" in str(error).upper():
                raise GlpiUnreachable(
                    f"{self.api}: its certificate is not trusted ({error}); add the authority to this machine's"
                ) from None
            raise _Again(f"cannot be reached ({error or type(error).__name__})", sent=False) from None
        except (httpx.HTTPError, OSError) as error:
            raise _Again(f"the connection broke ({type(error).__name__})", sent=True) from None
        except (httpx.InvalidURL, ValueError) as error:
            raise GlpiUnreachable(f"{self.api}: {type(error).__name__}; see {_SETTING}") from None
        return self._understood(response, data, where)

    async def _bounded(self, response: httpx.Response, where: str) -> bytes:
        body = bytearray()
        async for piece in response.aiter_bytes():
            body += piece
            if len(body) > self._policy.max_body:
                raise GlpiTooLong(f"{where}: the answer is longer than {self._policy.max_body} bytes")
        return bytes(body)

    def _understood(self, response: httpx.Response, data: bytes, where: str) -> Answer:
        status = response.status_code
        media = response.headers.get("content-type", "").split(";")[0].strip().lower()
        if status in _RETRIED:
            wait = response.headers.get("retry-after", "").strip()
            said = f"GLPI answered {status}{_code(data) if media == 'application/json' else f' with {media}'}"
            # Only 429 and 503 say that the call was not looked at.
            raise _Again(
                said,
                sent=status not in {429, 503},
                status=status,
                wait=float(wait) if wait.isdigit() and len(wait) < 7 else None,
            )
        if 300 <= status < 400:
            target = response.headers.get("location", "").partition("?")[0][:200]
            raise GlpiUnreachable(
                f"{where}: GLPI answered with a redirect to {target!r}, which is not followed; set {_SETTING} to the "
                "address that answers",
                status=status,
            )
        if status == 204:
            return Answer(None, response.headers, status)
        if media != "application/json":
            raise GlpiUnreachable(
                f"{where}: {media or 'no content type'} came instead of JSON (status {status}): maintenance, a login "
                f"page, or not the API; see {_SETTING}",
                status=status,
            )
        try:
            body = json.loads(data)
        except (ValueError, RecursionError):
            raise GlpiUnreachable(f"{where}: GLPI sent JSON that cannot be read", status=status) from None
        if status >= 400 or status == 207:
            raise answer_error(where, status, body)
        return Answer(body, response.headers, status)


def _code(data: bytes) -> str:
    """Return GLPI's word for a server's error, with a space before it; "" where it said none."""
    try:
        body = json.loads(data)
    except (ValueError, RecursionError):
        return ""
    code = body[0] if isinstance(body, list) and body else ""
    return f" {code[:80]}" if isinstance(code, str) and code.isidentifier() else ""
