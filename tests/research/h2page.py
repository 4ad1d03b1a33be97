"""One TLS server on loopback that speaks HTTP/2 and remembers what it was told (SNI, :authority, coding)."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path
from types import TracebackType
from typing import Self

import h2.config
import h2.connection
import h2.events

__all__ = ["CERTIFICATE", "H2Page", "trusting"]

CERTIFICATE = Path(__file__).parent / "certificates" / "loopback.pem"
"""Self-signed for pages.example.org, localhost and 127.0.0.1; the key beside it is for these tests only."""


def trusting() -> ssl.SSLContext:
    """A client context that trusts the test certificate alone."""
    return ssl.create_default_context(cafile=str(CERTIFICATE))


class H2Page:
    """`async with H2Page(body) as server:` serves `body` as HTML on every path."""

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.names: list[str | None] = []
        self.requests: list[dict[str, str]] = []
        self.port = 0

    async def __aenter__(self) -> Self:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTIFICATE, CERTIFICATE.with_suffix(".key"))
        context.set_alpn_protocols(["h2"])
        context.sni_callback = lambda _socket, name, _context: self.names.append(name)
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=context)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
        connection.initiate_connection()
        writer.write(connection.data_to_send())
        try:
            while data := await reader.read(65_536):
                for event in connection.receive_data(data):
                    if isinstance(event, h2.events.RequestReceived):
                        self._answer(connection, event)
                writer.write(connection.data_to_send())
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()

    def _answer(self, connection: h2.connection.H2Connection, event: h2.events.RequestReceived) -> None:
        headers = {str(name): str(value) for name, value in event.headers or ()}
        self.requests.append(headers)
        stream = event.stream_id
        assert stream is not None
        if headers[":path"] == "/robots.txt":
            connection.send_headers(stream, [(":status", "404")], end_stream=True)
            return
        connection.send_headers(stream, [(":status", "200"), ("content-type", "text/html; charset=utf-8")])
        connection.send_data(stream, self.body, end_stream=True)
