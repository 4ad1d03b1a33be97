"""A web server on loopback for the tests of fetching and searching: a route is a function, a fault is a route."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

__all__ = ["Page", "PageServer", "Request", "prose"]


@dataclass(frozen=True)
class Request:
    path: str
    query: str
    headers: Mapping[str, str]
    host: str
    body: bytes = b""


@dataclass(frozen=True)
class Page:
    """What a route answers; `pieces` are written one by one, so that a body can be endless or break off."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "text/html; charset=utf-8"
    pieces: Callable[[], object] | None = None
    announce: int | None = None
    """Content-Length to claim; the body's own if None, none at all if negative."""


Route = Callable[[Request], Page]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: _Server

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers.get("Content-Length", "0"))))

    def do_GET(self) -> None:
        self._answer(b"")

    def _answer(self, body: bytes) -> None:
        parts = urlsplit(self.path)
        request = Request(parts.path, parts.query, dict(self.headers.items()), self.headers.get("Host", ""), body)
        self.server.pages.requests.append(request)
        route = self.server.pages.routes.get(parts.path)
        page = route(request) if callable(route) else route
        if page is None:
            page = Page(b"nothing here", 404, content_type="text/plain")
        self.send_response(page.status)
        if page.content_type:
            self.send_header("Content-Type", page.content_type)
        for name, value in page.headers.items():
            self.send_header(name, value)
        length = len(page.body) if page.announce is None else page.announce
        if length >= 0 and page.pieces is None:
            self.send_header("Content-Length", str(length))
        else:
            self.send_header("Connection", "close")
            self.close_connection = True
        self.end_headers()
        try:
            if page.pieces is None:
                self.wfile.write(page.body)
            else:
                for piece in page.pieces():  # type: ignore[attr-defined]
                    self.wfile.write(piece)
                    self.wfile.flush()
        except OSError:
            self.close_connection = True
        if page.announce is not None and page.announce > len(page.body):
            self.close_connection = True

    def log_message(self, *args: object) -> None:
        return


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    pages: PageServer

    def handle_error(self, request: object, client_address: object) -> None:
        return


class PageServer:
    """`with PageServer({"/a": Page(b"…")}) as server:`; `server.requests` is what came in."""

    def __init__(self, routes: Mapping[str, Route | Page], address: str = "127.0.0.1") -> None:
        self.routes: dict[str, Route | Page] = dict(routes)
        self.requests: list[Request] = []
        self.stopped = threading.Event()
        """Set at the end; endless routes wait on it."""
        self._server = _Server((address, 0), _Handler)
        self._server.pages = self
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self.address = address
        self.port: int = self._server.server_address[1]

    @property
    def entry(self) -> str:
        """The server as an entry of BRAIN_FETCH_ALLOW_HOSTS."""
        return f"{self.address}:{self.port}"

    def url(self, path: str) -> str:
        return f"http://{self.entry}{path}"

    def paths(self) -> list[str]:
        return [request.path for request in self.requests]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stopped.set()
        self._server.shutdown()
        self._server.server_close()


def prose(title: str = "Postfix relay", sentences: int = 12) -> bytes:
    """An ordinary page of running text."""
    body = " ".join(
        f"Sentence {number} explains how {title} decides whether a message may be relayed to another host."
        for number in range(sentences)
    )
    return (
        f"<html lang='en'><head><title>{title}</title></head><body><main><h1>{title}</h1>"
        f"<p>{body}</p><p>{body}</p></main></body></html>"
    ).encode()
