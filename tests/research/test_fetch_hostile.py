"""Pages that mean harm: each ends in its named refusal, or cut, within its deadline, and the others go on."""

from __future__ import annotations

import asyncio
import gzip
import json
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from data.extractor import InlineExtractor
from research.fetch import Fetcher, FetchPolicy
from research.fetch_errors import FetchError, FetchReason
from tests.research.pages import Page, PageServer, Request, prose

ROOT = Path(__file__).parents[2]
MEBI = 1024 * 1024
DEADLINE_S = 6.0


def gigabyte_bomb() -> bytes:
    """Return one GiB of spaces in a megabyte of gzip."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    block = b"<p>" + b" " * (MEBI - 3)
    return b"".join([*(packer.compress(block) for _ in range(1024)), packer.flush()])


def rows(megabytes: int) -> Iterator[bytes]:
    row = b"<tr><td>name</td><td>a cell of this table</td><td>4711</td></tr>"
    yield b"<html><head><title>Table</title></head><body><main><p>" + b"Words before the table. " * 40 + b"</p><table>"
    for _ in range(megabytes * MEBI // (len(row) * 1000)):
        yield row * 1000
    yield b"</table></main></body></html>"


def endless(server: PageServer) -> Iterator[bytes]:
    while not server.stopped.is_set():
        yield b"<p>and so on, without an end.</p>" * 100


def dripping(server: PageServer) -> Iterator[bytes]:
    while not server.stopped.wait(0.2):
        yield b"<p>."


START = b"<html><head><title>T</title></head><body><main><p>" + b"Words before what means harm. " * 40 + b"</p>"


def hostile(servers: list[PageServer]) -> dict[str, Page]:
    """Return the pages, each for a server of its own: at once is what they are asked for."""
    packed = gigabyte_bomb()
    return {
        "bomb": Page(packed, headers={"Content-Encoding": "gzip"}),
        "bomb as text": Page(packed, headers={"Content-Encoding": "gzip"}, content_type="text/plain"),
        "table": Page(pieces=lambda: rows(20)),
        "nested": Page(START + b"<div>" * 50_000 + b"deep"),
        "unclosed": Page(START + b"<p><b><i>" * 20_000 + b"x"),
        "links": Page(START + b"<ul>" + b'<li><a href="/x">link</a></li>' * 50_000 + b"</ul>"),
        "endless": Page(pieces=lambda: endless(servers[6])),
        "dripping": Page(pieces=lambda: dripping(servers[7])),
        "inside": Page(b"", 302, {"Location": "http://10.0.0.1/"}),
    }


EXPECTED = {
    "bomb": "too_large", "bomb as text": "too_large", "table": "cut", "nested": "cut", "unclosed": "cut",
    "links": "read", "endless": "cut", "dripping": "timeout", "inside": "blocked_address",
}  # fmt: skip
"""Links beyond the cap lose their tags and keep their words, so nothing of that page is cut."""


def run_reader(urls: list[str], hosts: list[str]) -> dict[str, Any]:
    order = json.dumps({"urls": urls, "hosts": hosts, "deadline_s": DEADLINE_S})
    done = subprocess.run(
        [sys.executable, "-m", "tests.research.hostile_reader", order],
        cwd=ROOT, capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_hostile_pages_end_by_name_and_in_time_and_the_others_go_on() -> None:
    with ExitStack() as stack:
        servers = [stack.enter_context(PageServer({}, f"127.0.0.{10 + n}")) for n in range(13)]
        pages = hostile(servers)
        for server, page in zip(servers, pages.values(), strict=False):
            server.routes["/"] = page
        for server in servers[len(pages) :]:
            server.routes["/"] = Page(prose())
        warm, others = servers[-1].url("/?warm"), [server.url("/") for server in servers[len(pages) :]]
        urls = {name: server.url("/") for name, server in zip(pages, servers, strict=False)}
        found = run_reader([warm, *urls.values(), *others], [server.entry for server in servers])
    print(json.dumps(found, indent=1))
    done = found["done"]
    ended = {
        name: done[url].get("reason") or ("cut" if "cut" in done[url]["flags"] else "read")
        for name, url in urls.items()
    }
    assert ended == EXPECTED
    for url in (*urls.values(), *others):
        assert done[url]["seconds"] < 3 * DEADLINE_S, done  # the extraction has its own limit, on a busy machine
    assert done[urls["dripping"]]["seconds"] < DEADLINE_S + 2
    assert all(done[url]["chars"] > 500 for url in others)
    assert max(done[url]["place"] for url in others) < done[urls["dripping"]]["place"]
    assert found["longest_pause_s"] < 1.0
    assert found["grown_mib"] < 64  # eight bodies of two MiB, and what the reading of them takes


async def test_eight_fetches_are_in_flight_and_no_more() -> None:
    lock, now, most, every = threading.Lock(), [0], [0], threading.Event()

    def slow(_: Request) -> Page:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
            if most[0] >= 8:
                every.set()
        every.wait(5)
        time.sleep(0.1)
        with lock:
            now[0] -= 1
        return Page(prose())

    with ExitStack() as stack:
        servers = [stack.enter_context(PageServer({"/": slow}, f"127.0.0.{30 + n}")) for n in range(12)]
        policy = FetchPolicy(allow_hosts=tuple(server.entry for server in servers), host_delay_s=0.0)
        async with Fetcher(None, InlineExtractor(), policy) as fetcher:
            read = await asyncio.gather(*(fetcher.fetch(server.url("/")) for server in servers))
    assert len(read) == 12
    assert most[0] == 8


async def test_a_bomb_ends_before_much_of_it_was_undone() -> None:
    packed = gzip.compress(b" " * (64 * MEBI))
    with PageServer({"/": Page(packed, headers={"Content-Encoding": "gzip"})}) as server:
        async with Fetcher(None, InlineExtractor(), FetchPolicy(allow_hosts=(server.entry,), host_delay_s=0.0)) as one:
            began = time.process_time()
            with pytest.raises(FetchError) as caught:
                await one.fetch(server.url("/"))
            assert caught.value.reason is FetchReason.TOO_LARGE
            assert time.process_time() - began < 1.0
