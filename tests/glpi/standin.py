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
import re
import secrets
import ssl
import threading
from collections.abc import Callable
from http.server import ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import unquote

from tests.glpi.rows import COLUMNS, CREATE, OWN_USER, PUBLISHFAQ, PURGE, TARGETS, UPDATE, House, Row, sample
from tests.glpi.wire import Call, Fault, Handler, Told

APP_TOKEN = "app-token-of-the-test"
USER_TOKEN = "user-token-of-the-test"
LIST_LIMIT = 50


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
        handler = type("Bound", (Handler,), {"glpi": self})
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

    def encrypt(self, context: ssl.SSLContext) -> None:
        """Speak TLS from now on; a handshake that fails is the connection's own affair."""
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self.url = self.url.replace("http:", "https:")

    def wait(self) -> None:
        self._thread.join()

    def called(self, pattern: str) -> int:
        """Return how many calls "METHOD path?query" matched."""
        return sum(re.search(pattern, call) is not None for call in self.calls)

    def answer(self, call: Call) -> tuple[int, Any, dict[str, str]]:
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

    def _check_app_token(self, call: Call) -> None:
        given = call.headers.get("App-Token") or call.query.get("app_token", "")
        if given == self.app_token:
            return
        if given:
            raise Told(400, "ERROR_WRONG_APP_TOKEN_PARAMETER", "parameter app_token seems wrong")
        raise Told(400, "ERROR_APP_TOKEN_PARAMETERS_MISSING", "missing parameter app_token")

    def _init(self, call: Call) -> tuple[int, Any, dict[str, str]]:
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

    def _items(self, call: Call, parts: list[str], entities: set[int]) -> tuple[int, Any, dict[str, str]]:
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
        self, call: Call, itemtype: str, entities: set[int], *, parent: tuple[str, int] | None
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

    def _add(self, itemtype: str, call: Call) -> tuple[int, Any, dict[str, str]]:
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
        self, itemtype: str, number: int | None, call: Call, entities: set[int]
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
