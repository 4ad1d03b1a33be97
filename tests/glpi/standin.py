"""A local GLPI: the rules of its REST API over real HTTP on 127.0.0.1, with faults to order.

Built from GLPI's public API documentation (`apirest.md`) and, where that is silent, from what its source does:

- tokens and sessions: "Init session", "Kill session", `checkAppToken`, `checkSessionToken` (an ended session is 401
  ERROR_SESSION_TOKEN_INVALID, a missing header 400 ERROR_SESSION_TOKEN_MISSING, a wrong client's token 400);
- entities: "Change active entities"; without `entities_id` all are opened, a word there is read as the number 0;
- lists: "Get all items", `getItems`; ranges, 200 and 206, `Content-Range`, `Accept-Range`, ERROR_RANGE_EXCEED_TOTAL
  only where the start lies beyond the total; sorted by a field's name, whatever the documentation says of numbers;
- items: "Get an item" (404, 403), "Get sub items", "Add item(s)" (201, 207, 400), "Update item(s)", "Delete item(s)";
- errors: section "Errors" and `returnError`: `[code, message]`, some with the address of the documentation in it.

Run by itself for trying things by hand: `python -m tests.glpi.standin --port 8099`.
"""

from __future__ import annotations

import argparse
import json
import re
import secrets
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, ClassVar, Self
from urllib.parse import parse_qsl, unquote, urlsplit

from tests.glpi.rows import COLUMNS, CREATE, OWN_USER, PUBLISHFAQ, PURGE, TARGETS, UPDATE, House, Row, sample

APP_TOKEN = "app-token-of-the-test"
USER_TOKEN = "user-token-of-the-test"
LIST_LIMIT = 50
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


class StandIn:
    """The server. Use as `with StandIn() as glpi`; `glpi.house` is what it holds, `glpi.calls` what was asked."""

    def __init__(self, house: House | None = None, *, port: int = 0, app_token: str = APP_TOKEN) -> None:
        self.house = house or House()
        self.app_token = app_token
        self.user_token = USER_TOKEN
        self.enabled = True
        self.sessions: dict[str, set[int]] = {}
        self.calls: list[str] = []
        self.faults: list[Fault] = []
        self.lock = threading.RLock()
        handler = type("Bound", (_Handler,), {"glpi": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", port), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/apirest.php"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def wait(self) -> None:
        self._thread.join()

    def called(self, pattern: str) -> int:
        """Return how many calls "METHOD path?query" matched."""
        return sum(re.search(pattern, call) is not None for call in self.calls)

    def answer(self, call: _Call) -> tuple[int, Any, dict[str, str]]:
        """Return status, body and headers for one call, as `APIRest::call` decides."""
        if not self.enabled:
            raise Told(400, "ERROR", "API disabled")
        parts = [unquote(part) for part in call.path.strip("/").split("/")]
        resource = parts[0]
        if resource == "initSession":
            return self._init(call)
        self._check_app_token(call)
        token = call.headers.get("Session-Token") or call.query.get("session_token", "")
        if not token:
            raise Told(400, "ERROR_SESSION_TOKEN_MISSING", "parameter session_token is missing or empty")
        if token not in self.sessions:
            raise Told(401, "ERROR_SESSION_TOKEN_INVALID", "session_token seems invalid")
        plain: dict[str, Callable[[], Any]] = {
            "killSession": lambda: self.sessions.pop(token) is not None,
            "changeActiveEntities": lambda: self._change_entities(token, call.body),
            "getActiveEntities": lambda: self._active_entities(token),
            "getMyEntities": lambda: {
                "myentities": [{"id": one, "name": name} for one, name in self.house.entities.items()]
            },
            "getActiveProfile": lambda: {"active_profile": {"id": 6, "name": "Technician", **self.house.profile}},
            "getFullSession": lambda: {"session": self._session(token)},
            "getGlpiConfig": lambda: {"cfg_glpi": {"version": self.house.version, "list_limit_max": 500}},
        }
        if resource in plain:
            return 200, plain[resource](), {}
        if resource not in COLUMNS:
            raise Told(
                400, "ERROR_RESOURCE_NOT_FOUND_NOR_COMMONDBTM", "resource not found or not an instance of CommonDBTM"
            )
        return self._items(call, parts, self.sessions[token])

    def _check_app_token(self, call: _Call) -> None:
        given = call.headers.get("App-Token") or call.query.get("app_token", "")
        if given == self.app_token:
            return
        if given:
            raise Told(400, "ERROR_WRONG_APP_TOKEN_PARAMETER", "parameter app_token seems wrong")
        raise Told(400, "ERROR_APP_TOKEN_PARAMETERS_MISSING", "missing parameter app_token")

    def _init(self, call: _Call) -> tuple[int, Any, dict[str, str]]:
        self._check_app_token(call)
        kind, _, token = call.headers.get("Authorization", "").partition(" ")
        if kind != "user_token" or not token:
            raise Told(400, "ERROR_LOGIN_PARAMETERS_MISSING", "parameter(s) login, password or user_token are missing")
        if token != self.user_token:
            raise Told(401, "ERROR_GLPI_LOGIN_USER_TOKEN", "parameter user_token seems invalid")
        session = secrets.token_hex(13)
        self.sessions[session] = {self.house.default_entity}
        return 200, {"session_token": session}, {}

    def _change_entities(self, token: str, body: Any) -> bool:
        body = body or {}
        if not isinstance(body.get("is_recursive", False), bool):
            raise Told(400, "ERROR", "Bad Request")
        if "entities_id" not in body:
            self.sessions[token] = set(self.house.entities)
            return True
        given = body["entities_id"]
        chosen = given if isinstance(given, int) else 0  # PHP's intval of a word
        if chosen not in self.house.entities:
            return False
        self.sessions[token] = set(self.house.entities) if chosen == 0 and body.get("is_recursive") else {chosen}
        return True

    def _active_entities(self, token: str) -> Any:
        active = sorted(self.sessions[token])
        return {
            "active_entity": {
                "id": active[0],
                "active_entity_recursive": len(active) > 1,
                "active_entities": [{"id": one} for one in active],
            }
        }

    def _session(self, token: str) -> Row:
        return {
            "glpiID": OWN_USER,
            "glpiname": "brain",
            "glpiactive_entity": min(self.sessions[token]),
            "glpiactive_entity_name": self.house.entities[min(self.sessions[token])],
            "glpiactiveprofile": {"id": 6, "name": "Technician", **self.house.profile},
            "glpi_plugins": [],
        }

    def _items(self, call: _Call, parts: list[str], entities: set[int]) -> tuple[int, Any, dict[str, str]]:
        itemtype = parts[0]
        number = int(parts[1]) if len(parts) > 1 and parts[1].isdigit() else None
        if call.method == "GET" and len(parts) > 2:
            if parts[2] not in COLUMNS:
                raise Told(400, "ERROR_RESOURCE_NOT_FOUND_NOR_COMMONDBTM", "resource not found")
            self._visible(itemtype, number or 0, entities)
            return self._list(call, parts[2], entities, parent=(itemtype, number or 0))
        if call.method == "GET" and number:
            row = self._visible(itemtype, number, entities)
            return 200, self.house.shown(row, names=call.says("expand_dropdowns")), {}
        if call.method == "GET":
            return self._list(call, itemtype, entities, parent=None)
        if call.method == "POST":
            return self._add(itemtype, call)
        if call.method in {"PUT", "PATCH"}:
            return self._update(itemtype, number, call, entities)
        if call.method == "DELETE" and number:
            if number not in self.house.tables[itemtype]:
                raise Told(400, "ERROR_GLPI_DELETE", "Item not found")
            if not self.house.right("knowbase") & PURGE:
                raise Told(400, "ERROR_GLPI_DELETE", "You don't have permission to perform this action.")
            self.house.purge(itemtype, number)
            return 200, [{str(number): True, "message": ""}], {}
        raise Told(405, "ERROR_METHOD_NOT_ALLOWED", "Method Not Allowed")

    def _visible(self, itemtype: str, number: int, entities: set[int]) -> Row:
        row = self.house.tables[itemtype].get(number)
        if row is None:
            raise Told(404, "ERROR_ITEM_NOT_FOUND", "Item not found")
        if not self.house.may_list(itemtype) or not self.house.sees(itemtype, row, entities):
            raise Told(403, "ERROR_RIGHT_MISSING", "You don't have permission to perform this action.")
        return row

    def _list(
        self, call: _Call, itemtype: str, entities: set[int], *, parent: tuple[str, int] | None
    ) -> tuple[int, Any, dict[str, str]]:
        if not self.house.may_list(itemtype):
            raise Told(403, "ERROR_RIGHT_MISSING", "You don't have permission to perform this action.")
        given = call.query.get("range", f"0-{LIST_LIMIT - 1}")
        if not re.fullmatch(r"[0-9]+-[0-9]+", given):
            raise Told(400, "ERROR", "range must be in format : [start-end] with integers")
        start, end = map(int, given.split("-"))
        order = call.query.get("order", "ASC").upper()
        if order not in {"ASC", "DESC"}:
            raise Told(400, "ERROR", "order must be DESC or ASC")
        sort = call.query.get("sort", "id")
        if sort != "id" and sort not in COLUMNS[itemtype]:
            raise Told(400, "ERROR", f"sort param is not a field of glpi_{itemtype.lower()}s")
        rows, total = self.house.listed(
            itemtype, entities, call.filter(itemtype, parent, self.house), deleted=call.says("is_deleted")
        )
        total += call.extra_total
        # MySQL gives rows of one value of the sorted column in no promised order; the id settles it here.
        rows.sort(key=lambda row: (row[sort] or "", row["id"]), reverse=order == "DESC")
        if start > total:
            raise Told(400, "ERROR_RANGE_EXCEED_TOTAL", f"Provided range exceed total count of data: {total}")
        chosen = [self.house.shown(row, names=call.says("expand_dropdowns")) for row in rows[start : end + 1]]
        if call.says("only_id"):
            chosen = [{"id": row["id"]} for row in chosen]
        last = min(end, total - 1)
        headers = {"Accept-Range": f"{itemtype} 990"}
        if total > 0:
            headers["Content-Range"] = f"{start}-{last}/{total}"
        return (206 if last - start + 1 < total else 200), chosen, headers

    def _add(self, itemtype: str, call: _Call) -> tuple[int, Any, dict[str, str]]:
        given = call.body.get("input") if isinstance(call.body, dict) else None
        if not isinstance(given, dict | list):
            raise Told(400, "ERROR_BAD_ARRAY", "input parameter must be an array of objects")
        results = [self._added(itemtype, one) for one in (given if isinstance(given, list) else [given])]
        failed = sum(result["id"] is False for result in results)
        if isinstance(given, dict):
            if failed:
                raise Told(400, "ERROR_GLPI_ADD", results[0]["message"])
            return 201, results[0], {"location": f"{self.url}/{itemtype}/{results[0]['id']}"}
        if failed:
            partial = failed < len(results)
            raise Told(207 if partial else 400, "ERROR_GLPI_PARTIAL_ADD" if partial else "ERROR_GLPI_ADD", results)
        return 201, results, {}

    def _added(self, itemtype: str, given: Row) -> Row:
        right = self.house.right("knowbase")
        if itemtype in TARGETS or itemtype == "KnowbaseItem":
            allowed = right & (CREATE | PUBLISHFAQ)
        else:
            allowed = self.house.right("ticket") & CREATE
        if not allowed:
            return {"id": False, "message": "You don't have permission to perform this action."}
        values = {name: value for name, value in given.items() if name in COLUMNS[itemtype]}
        if itemtype == "KnowbaseItem":
            if right & PUBLISHFAQ and not right & UPDATE:
                values["is_faq"] = 1
            if right & UPDATE and not right & PUBLISHFAQ:
                values["is_faq"] = 0
            values |= {"date_creation": self.house.clock, "date_mod": self.house.clock}
        number = self.house.add(itemtype, **values)
        return {"id": number, "message": f"Item successfully added: {given.get('name', number)}"}

    def _update(
        self, itemtype: str, number: int | None, call: _Call, entities: set[int]
    ) -> tuple[int, Any, dict[str, str]]:
        given = call.body.get("input") if isinstance(call.body, dict) else None
        if not isinstance(given, dict):
            raise Told(400, "ERROR_BAD_ARRAY", "input parameter must be an array of objects")
        number = int(given.get("id", number or 0))
        row = self.house.tables[itemtype].get(number)
        if row is None:
            raise Told(400, "ERROR_GLPI_UPDATE", "Item not found")
        if not self.house.right("knowbase") & UPDATE or not self.house.sees(itemtype, row, entities):
            raise Told(400, "ERROR_GLPI_UPDATE", "You don't have permission to perform this action.")
        self.house.change(itemtype, number, **{k: v for k, v in given.items() if k in COLUMNS[itemtype]})
        return 200, [{str(number): True, "message": ""}], {}


@dataclass
class _Call:
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


class _Handler(BaseHTTPRequestHandler):
    glpi: ClassVar[StandIn]
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
        call = _Call(self.command, path, dict(parse_qsl(parts.query, keep_blank_values=True)), self.headers)
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

    def _answer(self, call: _Call, raw: bytes) -> tuple[int, Any, dict[str, str]]:
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


def main() -> None:
    parser = argparse.ArgumentParser(description="A local GLPI with a sample of tickets, for trying things by hand.")
    parser.add_argument("--port", type=int, default=8099)
    parser.add_argument("--tickets", type=int, default=120)
    parser.add_argument("--version", default="10.0.17", help="9.5.7, 10.0.17 or 11.0.0: how texts are stored")
    chosen = parser.parse_args()
    with StandIn(sample(House(version=chosen.version), chosen.tickets), port=chosen.port) as glpi:
        print(
            f"BRAIN_GLPI_URL={glpi.url}\nBRAIN_GLPI_APP_TOKEN={APP_TOKEN}\nBRAIN_GLPI_USER_TOKEN={USER_TOKEN}",
            flush=True,
        )
        try:
            glpi.wait()
        except KeyboardInterrupt:
            return


if __name__ == "__main__":
    main()
