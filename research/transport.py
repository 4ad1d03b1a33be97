"""Connections that go to the very address that was checked (spec 10, Addresses).

`GuardedBackend` stands where httpcore opens a TCP connection: it looks at host and port, resolves once,
looks at the addresses and connects to one of them. There is no second resolution between the check and the
connection, and no request, redirect or robots.txt goes round it. TLS still names the host (SNI and
certificate), and so does the Host header, because both are made above this layer.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Iterable
from functools import cache
from types import TracebackType
from typing import Any, Final

import certifi
import httpcore
import httpx

from research.address import AddressError, Resolver, checked_addresses, checked_host

__all__ = ["BlockedAddress", "GuardedBackend", "GuardedTransport", "Unreachable", "trusted_context"]

_TRIES: Final = 3
"""How many addresses of one host are tried, in the resolver's order."""


class BlockedAddress(Exception):
    """The connection would have gone where the fetcher may not go."""


class Unreachable(Exception):
    """The host has no address, or none of its addresses takes a connection."""


@cache
def trusted_context() -> ssl.SSLContext:
    """Return a context that trusts the public authorities and those of the machine (an intranet's own)."""
    context = ssl.create_default_context(cafile=certifi.where())
    context.load_default_certs()
    return context


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """Opens connections to checked addresses only."""

    def __init__(self, resolver: Resolver, allow_hosts: frozenset[tuple[str, int | None]]) -> None:
        self._resolver = resolver
        self._allow_hosts = allow_hosts
        self._inner = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        try:
            target = checked_host(host, port, self._allow_hosts)
            addresses = await checked_addresses(target, self._resolver)
        except AddressError as error:
            raise BlockedAddress(str(error)) from None
        except OSError as error:
            raise Unreachable(f"{host} cannot be resolved: {error}") from None
        timed_out: httpcore.ConnectTimeout | None = None
        for address in addresses[:_TRIES]:
            try:
                return await self._inner.connect_tcp(address, port, timeout, local_address, socket_options)
            except httpcore.ConnectTimeout as error:
                timed_out = error
            except httpcore.ConnectError:
                continue
        if timed_out is not None:
            raise timed_out
        raise Unreachable(f"{host} takes no connection on port {port}")

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore.AsyncNetworkStream:
        raise BlockedAddress("a web page is not fetched from a unix socket")

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)


class _Body(httpx.AsyncByteStream):
    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._inner:
            yield part

    async def aclose(self) -> None:
        await self._inner.aclose()


class GuardedTransport(httpx.AsyncBaseTransport):
    """An httpx transport over a pool whose every connection the backend has checked; HTTP/2 where offered.

    Errors of httpcore pass as they are: `research.fetch` is the one seam that names them.
    """

    def __init__(self, backend: GuardedBackend, *, ssl_context: ssl.SSLContext, max_connections: int) -> None:
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=ssl_context,
            max_connections=max_connections,
            max_keepalive_connections=max_connections,
            keepalive_expiry=30.0,
            http2=True,
            network_backend=backend,
        )

    async def __aenter__(self) -> GuardedTransport:
        await self._pool.__aenter__()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        await self._pool.__aexit__(exc_type, exc_value, traceback)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await self._pool.handle_async_request(
            httpcore.Request(
                method=request.method,
                url=httpcore.URL(
                    scheme=request.url.raw_scheme,
                    host=request.url.raw_host,
                    port=request.url.port,
                    target=request.url.raw_path,
                ),
                headers=request.headers.raw,
                content=request.stream,
                extensions=request.extensions,
            )
        )
        return httpx.Response(
            status_code=response.status,
            headers=response.headers,
            stream=_Body(response.stream),
            extensions=response.extensions,
        )

    async def aclose(self) -> None:
        await self._pool.aclose()
