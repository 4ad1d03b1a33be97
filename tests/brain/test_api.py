"""The API's door: who may ask, and what the answers look like."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from brain.api.access import access_policy, is_loopback
from brain.api.app import create_app
from brain.config import ConfigError

TOKEN = "a-long-enough-token"


def client(*, host: str = "127.0.0.1", token: str = "", missing: list[str] | None = None) -> httpx.AsyncClient:
    async def status() -> dict[str, Any]:
        return {"nodes": 3}

    async def ready() -> list[str]:
        return missing or []

    app = create_app(version="9.9", access=access_policy(host, token), status=status, ready=ready)
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://127.0.0.1:8787")


async def test_health_status_and_readiness() -> None:
    async with client() as http:
        assert (await http.get("/health")).json() == {"status": "ok", "service": "neural-brain", "version": "9.9"}
        assert (await http.get("/status")).json() == {"nodes": 3}
        assert (await http.get("/health/ready")).status_code == 200


async def test_not_ready_is_503_with_the_reason() -> None:
    async with client(missing=["the store cannot be written"]) as http:
        answer = await http.get("/health/ready")
    assert answer.status_code == 503
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["detail"] == "the store cannot be written"


async def test_unknown_paths_are_problem_documents() -> None:
    async with client() as http:
        answer = await http.get("/nowhere")
    assert answer.status_code == 404
    assert answer.json() == {
        "type": "about:blank",
        "title": "Not Found",
        "status": 404,
        "detail": "There is nothing at /nowhere.",
    }


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"host": "127.0.0.1.evil.example:8787"}, 421),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://localhost:8787"}, 200),
        ({"host": "localhost:1"}, 200),
        ({"host": "[::1]:8787"}, 200),
    ],
)
async def test_rebinding_and_foreign_pages_are_refused(headers: dict[str, str], status: int) -> None:
    async with client() as http:
        assert (await http.get("/status", headers=headers)).status_code == status


@pytest.mark.parametrize(
    ("authorization", "status"), [(None, 401), ("Bearer wrong", 401), (TOKEN, 401), (f"Bearer {TOKEN}", 200)]
)
async def test_an_open_bind_asks_everybody_for_the_token(authorization: str | None, status: int) -> None:
    headers = {"host": "0.0.0.0:8787"} | ({"authorization": authorization} if authorization else {})
    async with client(host="0.0.0.0", token=TOKEN) as http:
        assert (await http.get("/status", headers=headers)).status_code == status


def test_an_open_bind_without_a_token_is_refused() -> None:
    with pytest.raises(ConfigError, match="BRAIN_API_TOKEN"):
        access_policy("0.0.0.0", "")
    with pytest.raises(ConfigError, match="shorter"):
        access_policy("127.0.0.1", "short")


def hosts() -> Iterator[tuple[str, bool]]:
    yield from [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("localhost", True)]
    yield from [("0.0.0.0", False), ("192.168.1.4", False), ("::", False), ("brain.example", False)]


@pytest.mark.parametrize(("host", "expected"), hosts())
def test_loopback(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected
