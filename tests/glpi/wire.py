"""The stand-in's wire: calls parsed as `APIRest` parses them, errors in its form, and faults to order."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any, ClassVar, Protocol
from urllib.parse import parse_qsl, urlsplit

from tests.glpi.rows import House, Row

LINKED = {"ERROR_APP_TOKEN_PARAMETERS_MISSING", "ERROR_WRONG_APP_TOKEN_PARAMETER", "ERROR_BAD_ARRAY"} | {
    "ERROR_METHOD_NOT_ALLOWED",
    "ERROR_SESSION_TOKEN_MISSING",
    "ERROR_RANGE_EXCEED_TOTAL",
    "ERROR_JSON_PAYLOAD_FORBIDDEN",
    "ERROR_LOGIN_PARAMETERS_MISSING",
    "ERROR_RESOURCE_NOT_FOUND_NOR_COMMONDBTM",
    "ERROR",
}


class Told(Exception):
    """An error that the API answers with."""

    def __init__(self, status: int, code: str, message: Any) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


@dataclass
class Fault:
    """What goes wrong with calls whose "METHOD path" matches: after `skip` of them, `times` times.

    One fault strikes a call. action: a status such as `500`, `html` (a maintenance page with status 200), `expire`
    (the session ended), `drop` (the connection ends unanswered), `done_then_drop` (the same after the work was
    done), `slow` (answers after `seconds`), `total` (adds `seconds` to the counted total), or something to call first.
    """

    matching: str
    action: str | Callable[[], object]
    skip: int = 0
    times: int = 1
    seconds: float = 0.0
    then: Callable[[], object] | None = None
    """Called when the work is done and its answer not sent yet."""
    headers: dict[str, str] = field(default_factory=dict)

    def strikes(self, call: str) -> bool:
        if not re.search(self.matching, call) or not self.times:
            return False
        if self.skip:
            self.skip -= 1
            return False
        self.times -= 1
        return True


class Served(Protocol):
    """What the handler needs of the stand-in."""

    url: str
    lock: threading.RLock
    calls: list[str]
    faults: list[Fault]
    sessions: dict[str, set[int]]

    def answer(self, call: Call) -> tuple[int, Any, dict[str, str]]: ...


@dataclass
class Call:
    method: str
    path: str
    query: dict[str, str]
    headers: Any
    body: Any = None
    extra_total: int = 0

    def says(self, name: str) -> bool:
        return self.query.get(name, "false") not in {"false", "0", ""}

    def filter(self, itemtype: str, parent: tuple[str, int] | None, house: House) -> Callable[[Row], bool]:
        """Return what `searchText` and a parent leave of the rows (`getItems`; the search is a LIKE %…%)."""
        wanted = {}
        for name, value in self.query.items():
            if match := re.fullmatch(r"searchText\[(\w+)\]", name):
                wanted[match[1]] = house.stored(value).lower()

        def matches(row: Row) -> bool:
            if parent is not None:
                key = "knowbaseitems_id" if parent[0] == "KnowbaseItem" else "items_id"
                if row.get(key) != parent[1] or row.get("itemtype", parent[0]) != parent[0]:
                    return False
            return all(text in str(row[name]).lower() for name, text in wanted.items())

        return matches


class Handler(BaseHTTPRequestHandler):
    glpi: ClassVar[Served]
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._serve()

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def _serve(self) -> None:
        parts = urlsplit(self.path)
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = parts.path.removeprefix("/apirest.php/")
        call = Call(self.command, path, dict(parse_qsl(parts.query, keep_blank_values=True)), self.headers)
        said = f"{self.command} {path}" + (f"?{parts.query}" if parts.query else "")
        with self.glpi.lock:
            self.glpi.calls.append(said)
            fault = next((fault for fault in self.glpi.faults if fault.strikes(said)), None)
        if fault is not None:
            if callable(fault.action):
                with self.glpi.lock:
                    fault.action()
            elif fault.action == "expire":
                self.glpi.sessions.clear()
            elif fault.action == "slow":
                time.sleep(fault.seconds)
            elif fault.action == "total":
                call.extra_total = int(fault.seconds)
            elif fault.action == "drop":
                self._hang_up()
                return
            elif fault.action == "html":
                self._send(200, "<!doctype html><title>Maintenance</title>", {}, media="text/html")
                return
            elif fault.action.isdigit():
                self._send(int(fault.action), "<html>Service unavailable</html>", fault.headers, media="text/html")
                return
        status, body, headers = self._answer(call, raw)
        if fault is not None and fault.then is not None:
            fault.then()
        if fault is not None and fault.action == "done_then_drop":
            self._hang_up()
            return
        self._send(status, json.dumps(body, ensure_ascii=False), headers)

    def _answer(self, call: Call, raw: bytes) -> tuple[int, Any, dict[str, str]]:
        try:
            if raw.strip() and call.method == "GET":
                raise Told(400, "ERROR_JSON_PAYLOAD_FORBIDDEN", "GET Request should not have json payload (http body)")
            if raw.strip():
                try:
                    call.body = json.loads(raw)
                except ValueError:
                    raise Told(400, "ERROR_JSON_PAYLOAD_INVALID", "JSON payload seems not valid") from None
            with self.glpi.lock:
                return self.glpi.answer(call)
        except Told as told:
            message = told.message
            if told.code in LINKED and isinstance(message, str):
                message += f"; view documentation in your browser at {self.glpi.url}/#{told.code}"
            return told.status, [told.code, message], {}

    def _send(self, status: int, text: str, headers: dict[str, str], *, media: str = "application/json") -> None:
        body = text.encode()
        self.send_response(status)
        for name, value in {"Content-Type": f"{media}; charset=UTF-8", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _hang_up(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)
