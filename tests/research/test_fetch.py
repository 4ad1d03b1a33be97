"""The guarded fetch against real servers on loopback: what comes back, and the name of everything that does not."""

from __future__ import annotations

import asyncio
import gzip
import socket
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import zstandard

from data.clock import Clock, ManualClock, SystemClock
from data.extract import Document, ExtractionError, extract
from data.extractor import Extractor, InlineExtractor
from research.fetch import Fetcher, FetchPolicy, user_agent
from research.fetch_errors import FetchError, FetchReason
from tests.research.h2page import H2Page, trusting
from tests.research.pages import Page, PageServer, Request, prose


class Resolver:
    """Names to addresses, round after round: a rebinding server answers differently each time."""

    def __init__(self, **names: list[list[str]]) -> None:
        self.names = {name.replace("_", "."): rounds for name, rounds in names.items()}
        self.asked: list[str] = []

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        rounds = self.names.get(host)
        if rounds is None:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return rounds.pop(0) if len(rounds) > 1 else rounds[0]


@asynccontextmanager
async def fetcher(
    *servers: PageServer, clock: Clock | None = None, resolver: Resolver | None = None, **knobs: object
) -> AsyncIterator[Fetcher]:
    policy = FetchPolicy(allow_hosts=tuple(server.entry for server in servers), host_delay_s=0.0)
    async with Fetcher(
        None,
        InlineExtractor(),
        replace(policy, **knobs),  # type: ignore[arg-type]
        clock or SystemClock(),
        resolver=resolver,
        ssl_context=trusting(),
    ) as one:
        yield one


async def refusal(one: Fetcher, url: str) -> FetchError:
    with pytest.raises(FetchError) as caught:
        await one.fetch(url)
    return caught.value


async def test_a_page_is_read_with_a_clear_name_and_without_a_trace() -> None:
    routes = {
        "/a": Page(prose(), headers={"Set-Cookie": "id=1", "Content-Language": "en"}),
        "/b": Page(prose("Dovecot")),
    }
    with PageServer(routes) as server:
        async with fetcher(server, contact="ops@example.org") as one:
            document = await one.fetch(server.url("/a#part"))
            await one.fetch(server.url("/b"))
    assert document.title == "Postfix relay"
    assert "whether a message may be relayed" in document.text
    assert (document.url, document.final_url) == (server.url("/a#part"), server.url("/a"))
    assert server.paths() == ["/robots.txt", "/a", "/b"]
    headers = server.requests[1].headers
    assert headers["User-Agent"].startswith("NeuralBrain/") and "ops@example.org" in headers["User-Agent"]
    assert server.requests[1].host == server.entry
    for request in server.requests:
        assert not {"Cookie", "Referer", "Authorization"} & request.headers.keys()


@pytest.mark.parametrize(
    ("content_type", "body", "found"),
    [
        ("text/html; charset=iso-8859-1", "<p>Größe prüfen, Übertragung läuft.</p>".encode("latin-1"), "Größe"),
        ("application/xhtml+xml", prose("Kerberos"), "Kerberos"),
        ("text/plain; charset=utf-8", b"A plain note about Kerberos.\n\nIt has two paragraphs.", "two paragraphs"),
    ],
)  # fmt: skip
async def test_the_content_types_that_are_read(content_type: str, body: bytes, found: str) -> None:
    with PageServer({"/a": Page(body, content_type=content_type)}) as server:
        async with fetcher(server) as one:
            assert found in (await one.fetch(server.url("/a"))).text


@pytest.mark.parametrize("coding", ["gzip", "deflate", "zstd"])
async def test_codings_are_undone(coding: str) -> None:
    import zlib

    packed = {"gzip": gzip.compress, "deflate": zlib.compress, "zstd": zstandard.compress}[coding](prose())
    with PageServer({"/a": Page(packed, headers={"Content-Encoding": coding})}) as server:
        async with fetcher(server) as one:
            assert "may be relayed" in (await one.fetch(server.url("/a"))).text
        assert coding in server.requests[0].headers["Accept-Encoding"]


def endless(piece: bytes = b"<p>and so on</p>" * 64) -> Iterator[bytes]:
    while True:
        yield piece


BOMB = gzip.compress(bytes(64 * 1024 * 1024))
FAULTS: dict[str, tuple[Page, FetchReason]] = {
    "/404": (Page(b"gone", 404), FetchReason.HTTP_STATUS),
    "/403": (Page(b"no", 403), FetchReason.HTTP_STATUS),
    "/500": (Page(b"oops", 500), FetchReason.HTTP_STATUS),
    "/204": (Page(b"", 204), FetchReason.HTTP_STATUS),
    "/206": (Page(prose(), 206), FetchReason.HTTP_STATUS),
    "/304": (Page(b"", 304), FetchReason.HTTP_STATUS),
    "/image": (Page(b"\x89PNG", content_type="image/png"), FetchReason.CONTENT_TYPE),
    "/json": (Page(b"{}", content_type="application/json"), FetchReason.CONTENT_TYPE),
    "/untyped": (Page(prose(), content_type=""), FetchReason.CONTENT_TYPE),
    "/nowhere": (Page(b"", 302), FetchReason.REDIRECT),
    "/circle": (Page(b"", 302, {"Location": "/circle"}), FetchReason.REDIRECT),
    "/far": (Page(b"", 301, {"Location": "/r1"}), FetchReason.REDIRECT),
    "/to-private": (Page(b"", 302, {"Location": "http://10.0.0.1/x"}), FetchReason.BLOCKED_ADDRESS),
    "/to-loopback": (Page(b"", 302, {"Location": "http://127.0.0.1/x"}), FetchReason.BLOCKED_ADDRESS),
    "/to-decimal": (Page(b"", 302, {"Location": "http://2130706433/x"}), FetchReason.BLOCKED_ADDRESS),
    "/to-metadata": (Page(b"", 302, {"Location": "http://169.254.169.254/latest"}), FetchReason.BLOCKED_ADDRESS),
    "/to-file": (Page(b"", 302, {"Location": "file:///etc/passwd"}), FetchReason.BLOCKED_ADDRESS),
    "/to-library": (Page(b"", 302, {"Location": "library:runbooks/vpn.md"}), FetchReason.BLOCKED_ADDRESS),
    "/to-login": (Page(b"", 302, {"Location": "http://a:b@example.org/"}), FetchReason.BLOCKED_ADDRESS),
    "/large.txt": (Page(b"x" * 6_000_000, content_type="text/plain"), FetchReason.TOO_LARGE),
    "/large.pdf": (Page(b"", content_type="application/pdf", announce=9_000_000), FetchReason.TOO_LARGE),
    "/stream.txt": (Page(content_type="text/plain", pieces=endless), FetchReason.TOO_LARGE),
    "/bomb": (Page(BOMB, headers={"Content-Encoding": "gzip"}), FetchReason.TOO_LARGE),
    "/bomb.txt": (Page(BOMB, headers={"Content-Encoding": "gzip"}, content_type="text/plain"), FetchReason.TOO_LARGE),
    "/bomb.zst": (
        Page(zstandard.compress(bytes(256 * 1024 * 1024)), headers={"Content-Encoding": "zstd"}),
        FetchReason.TOO_LARGE,
    ),
    "/broken": (Page(gzip.compress(prose())[:-20], headers={"Content-Encoding": "gzip"}), FetchReason.DECODING),
    "/liar": (Page(prose(), headers={"Content-Encoding": "gzip"}), FetchReason.DECODING),
    "/unasked": (Page(prose(), headers={"Content-Encoding": "compress"}), FetchReason.DECODING),
    "/short": (Page(prose(), announce=100_000), FetchReason.DECODING),
    "/binary": (Page(b"\x00\x01\x02" * 100, content_type="text/plain"), FetchReason.DECODING),
    "/empty": (Page(b"<html><body></body></html>"), FetchReason.EMPTY_EXTRACTION),
}


HOPS = {
    "/r1": Page(b"", 302, {"Location": "/r2"}),
    "/r2": Page(b"", 307, {"Location": "/r3"}),
    "/r3": Page(b"", 308, {"Location": "/r4"}),
    "/r4": Page(prose()),
}


async def test_every_fault_of_a_page_has_its_name() -> None:
    with PageServer({**{path: page for path, (page, _) in FAULTS.items()}, **HOPS}) as server:
        async with fetcher(server) as one:
            found = {}
            for path in FAULTS:
                error = await refusal(one, server.url(path))
                found[path] = error.reason
                assert error.message and error.url
            assert found == {path: reason for path, (_, reason) in FAULTS.items()}
        assert server.paths().count("/r4") == 0  # three redirects were followed, not four


async def test_three_redirects_are_followed_and_the_last_address_is_told() -> None:
    routes: dict[str, Page] = {f"/r{n}": Page(b"", 302, {"Location": f"r{n + 1}"}) for n in range(3)}
    with PageServer({**routes, "/r3": Page(prose())}) as server:
        async with fetcher(server) as one:
            document = await one.fetch(server.url("/r0"))
    assert (document.url, document.final_url) == (server.url("/r0"), server.url("/r3"))


async def test_a_long_html_page_is_cut_with_a_note() -> None:
    with PageServer({"/a": Page(pieces=lambda: [prose(), *[b"<p>more and more text.</p>" * 4000] * 40])}) as server:
        async with fetcher(server, max_html_bytes=200_000) as one:
            document = await one.fetch(server.url("/a"))
    assert "cut" in document.flags
    assert document.title == "Postfix relay"


async def test_no_answer_is_told_apart_from_a_slow_one() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        nobody = f"127.0.0.1:{closed.getsockname()[1]}"
    async with fetcher(allow_hosts=(nobody,)) as one:
        error = await refusal(one, f"http://{nobody}/")
        assert (error.reason, error.status, error.retryable) == (FetchReason.HTTP_STATUS, None, True)
    async with fetcher(resolver=Resolver()) as one:
        error = await refusal(one, "https://nowhere.example.org/")
        assert (error.reason, error.status) == (FetchReason.HTTP_STATUS, None)


async def test_the_deadline_ends_a_slow_body_and_a_silent_server() -> None:
    def slow() -> Iterator[bytes]:
        while not server.stopped.wait(0.05):
            yield b"<p>."

    with PageServer({"/slow": Page(pieces=slow)}) as server:
        async with fetcher(server, deadline_s=0.4) as one:
            started = asyncio.get_running_loop().time()
            assert (await refusal(one, server.url("/slow"))).reason is FetchReason.TIMEOUT
            assert asyncio.get_running_loop().time() - started < 2.0


async def test_tls_faults_have_their_name() -> None:
    with PageServer({"/a": Page(prose())}) as plain:
        async with fetcher(plain) as one:
            assert (await refusal(one, f"https://{plain.entry}/a")).reason is FetchReason.TLS
    async with H2Page(prose()) as server:
        resolver = Resolver(wrong_example_org=[["127.0.0.1"]])
        entry = f"wrong.example.org:{server.port}"
        async with fetcher(allow_hosts=(entry,), resolver=resolver) as one:
            error = await refusal(one, f"https://{entry}/")  # the certificate names pages.example.org
            assert error.reason is FetchReason.TLS


async def test_http2_to_the_checked_address_with_the_hosts_own_name() -> None:
    async with H2Page(prose()) as server:
        resolver = Resolver(pages_example_org=[["127.0.0.1"], ["10.0.0.1"]])
        entry = f"pages.example.org:{server.port}"
        async with fetcher(allow_hosts=(entry,), resolver=resolver) as one:
            document = await one.fetch(f"https://{entry}/a")
            assert document.final_url == f"https://{entry}/a"
        assert resolver.asked == ["pages.example.org"]  # robots.txt and page: one connection, one resolution
        assert server.names == ["pages.example.org"]
        assert {request[":authority"] for request in server.requests} == {entry}


async def test_rebinding_names_are_refused_before_anything_is_sent() -> None:
    with PageServer({"/a": Page(prose())}) as server:
        resolver = Resolver(
            private_example_org=[["127.0.0.1"]],
            mixed_example_org=[["93.184.216.34", "127.0.0.1"]],
            mapped_example_org=[["::ffff:127.0.0.1"]],
            cloud_example_org=[["169.254.169.254"]],
        )
        async with fetcher(resolver=resolver) as one:
            for name in list(resolver.names):
                error = await refusal(one, f"http://{name}:8080/a")
                assert error.reason is FetchReason.BLOCKED_ADDRESS, name
        assert server.requests == []
        assert len(resolver.asked) == 4  # each once, for robots.txt


async def test_a_redirect_to_a_name_that_resolves_inside_is_refused() -> None:
    resolver = Resolver(inside_example_org=[["192.168.1.1"]])
    with PageServer({"/a": Page(b"", 302, {"Location": "http://inside.example.org/"})}) as server:
        async with fetcher(server, resolver=resolver) as one:
            assert (await refusal(one, server.url("/a"))).reason is FetchReason.BLOCKED_ADDRESS


# -- robots.txt ---------------------------------------------------------------------------------------------------


async def test_robots_txt_is_read_once_and_honoured() -> None:
    robots = Page(b"User-agent: *\nDisallow: /private\n", content_type="text/plain")
    with PageServer({"/robots.txt": robots, "/a": Page(prose()), "/private": Page(prose())}) as server:
        async with fetcher(server) as one:
            await one.fetch(server.url("/a"))
            assert (await refusal(one, server.url("/private"))).reason is FetchReason.ROBOTS
        assert server.paths() == ["/robots.txt", "/a"]


async def test_robots_txt_of_the_site_redirected_to_counts() -> None:
    closed = Page(b"User-agent: NeuralBrain\nDisallow: /\n", content_type="text/plain")
    with (
        PageServer({"/robots.txt": closed, "/b": Page(prose())}, "127.0.0.2") as other,
        PageServer({"/a": Page(b"", 302, {"Location": other.url("/b")})}) as server,
    ):
        async with fetcher(server, other) as one:
            assert (await refusal(one, server.url("/a"))).reason is FetchReason.ROBOTS
        assert other.paths() == ["/robots.txt"]


@pytest.mark.parametrize(
    ("robots", "reason"),
    [
        (Page(b"x", 404), None),
        (Page(b"x", 401), None),
        (Page(b"<html>not found</html>"), None),
        (Page(b"x", 500), FetchReason.ROBOTS),
        (Page(b"x", 503), FetchReason.HTTP_STATUS),
        (Page(b"", 302, {"Location": "/rules"}), FetchReason.ROBOTS),
        (
            Page(b"User-agent: *\nDisallow: /\n" + b"# filler\n" * 100_000, content_type="text/plain"),
            FetchReason.ROBOTS,
        ),
        (Page(b"", 302, {"Location": "http://10.0.0.1/"}), FetchReason.BLOCKED_ADDRESS),
    ],
)
async def test_what_robots_txt_may_be(robots: Page, reason: FetchReason | None) -> None:
    rules = Page(b"User-agent: *\nDisallow: /\n", content_type="text/plain")
    with PageServer({"/robots.txt": robots, "/rules": rules, "/a": Page(prose())}) as server:
        async with fetcher(server) as one:
            if reason is None:
                assert (await one.fetch(server.url("/a"))).title == "Postfix relay"
            else:
                assert (await refusal(one, server.url("/a"))).reason is reason


# -- politeness and cache -----------------------------------------------------------------------------------------


async def arrived(server: PageServer, count: int) -> None:
    """Return once `count` requests came in and nothing more follows for a moment."""
    async with asyncio.timeout(5):
        while len(server.requests) < count:  # noqa: ASYNC110 - the server is a thread
            await asyncio.sleep(0.005)
    await asyncio.sleep(0.05)


async def test_one_request_at_a_time_to_a_host_with_its_pause(clock: ManualClock) -> None:
    with PageServer({path: Page(prose()) for path in ("/a", "/b")}) as server:
        async with fetcher(server, clock=clock, host_delay_s=5.0) as one:
            tasks = [asyncio.create_task(one.fetch(server.url(path))) for path in ("/a", "/b")]
            for expected in (1, 2, 3):
                await arrived(server, expected)
                assert len(server.requests) == expected  # the next one waits for the clock
                clock.advance(5.0)
            assert all(document.text for document in await asyncio.gather(*tasks))


async def test_hosts_do_not_wait_for_each_other() -> None:
    def stuck() -> Iterator[bytes]:
        first.stopped.wait(20)
        yield b""

    addresses = [f"127.0.0.{number}" for number in range(2, 6)]
    with PageServer({"/stuck": Page(pieces=stuck)}) as first:
        others = [PageServer({"/a": Page(prose())}, address) for address in addresses]
        for other in others:
            other.__enter__()
        async with fetcher(first, *others, in_flight=2, deadline_s=5.0) as one:
            waiting = [asyncio.create_task(one.fetch(first.url(f"/stuck?{n}"))) for n in range(6)]
            documents = await asyncio.wait_for(asyncio.gather(*(one.fetch(o.url("/a")) for o in others)), 4.0)
            assert [document.title for document in documents] == ["Postfix relay"] * len(others)
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
        for other in others:
            other.__exit__(None, None, None)


async def test_a_site_that_asks_for_silence_gets_it(clock: ManualClock) -> None:
    answers = [Page(b"slow down", 429, {"Retry-After": "120"}), Page(prose())]
    with PageServer({"/a": lambda _: answers.pop(0)}) as server:
        async with fetcher(server, clock=clock) as one:
            first = await refusal(one, server.url("/a"))
            assert (first.reason, first.status, first.retry_after) == (FetchReason.HTTP_STATUS, 429, 120.0)
            assert first.retryable
            clock.advance(119)
            second = await refusal(one, server.url("/a"))
            assert second.retry_after == pytest.approx(1.0)
            assert server.paths() == ["/robots.txt", "/a"]
            clock.advance(1.5)
            assert (await one.fetch(server.url("/a"))).title == "Postfix relay"


async def test_retry_after_as_a_date(clock: ManualClock) -> None:
    at = clock.now() + timedelta(seconds=90)
    page = Page(b"", 503, {"Retry-After": at.strftime("%a, %d %b %Y %H:%M:%S GMT")})
    with PageServer({"/a": page}) as server:
        async with fetcher(server, clock=clock) as one:
            assert (await refusal(one, server.url("/a"))).retry_after == 90.0


async def test_a_second_pass_sends_nothing_and_a_later_one_asks_whether_it_changed(
    clock: ManualClock, tmp_path: Path
) -> None:
    def tagged(request: Request) -> Page:
        if request.headers.get("If-None-Match") == '"v1"':
            return Page(b"", 304, {"ETag": '"v1"'})
        return Page(prose(), headers={"ETag": '"v1"', "Last-Modified": "Wed, 01 Jan 2025 00:00:00 GMT"})

    routes = {"/a": Page(b"", 301, {"Location": "/b"}), "/b": tagged}
    with PageServer(routes) as server:
        async with fetcher(server, clock=clock, cache_dir=tmp_path) as one:
            first = await one.fetch(server.url("/a"))
            await one.fetch(server.url("/a"))
            assert server.paths() == ["/robots.txt", "/a", "/b"]
        async with fetcher(server, clock=clock, cache_dir=tmp_path) as one:  # after a restart
            again = await one.fetch(server.url("/a"))
            assert again == first
            assert len(server.requests) == 3
            clock.advance(timedelta(days=2))
            assert await one.fetch(server.url("/a")) == first
            assert server.paths()[3:] == ["/robots.txt", "/a", "/b"]
            assert server.requests[-1].headers["If-Modified-Since"] == "Wed, 01 Jan 2025 00:00:00 GMT"
            await one.fetch(server.url("/a"))
            assert len(server.requests) == 6  # the confirmation made it fresh again


async def test_what_must_not_be_stored_is_not(clock: ManualClock, tmp_path: Path) -> None:
    with PageServer({"/a": Page(prose(), headers={"Cache-Control": "private, No-Store"})}) as server:
        async with fetcher(server, clock=clock, cache_dir=tmp_path) as one:
            await one.fetch(server.url("/a"))
            await one.fetch(server.url("/a"))
        assert server.paths() == ["/robots.txt", "/a", "/a"]
    assert list(tmp_path.glob("*/*")) == []


async def test_the_same_page_asked_for_twice_at_once_is_sent_for_once(tmp_path: Path) -> None:
    with PageServer({"/a": Page(prose())}) as server:
        async with fetcher(server, cache_dir=tmp_path) as one:
            first, second = await asyncio.gather(one.fetch(server.url("/a")), one.fetch(server.url("/a")))
        assert first == second
        assert server.paths() == ["/robots.txt", "/a"]


# -- the library --------------------------------------------------------------------------------------------------


class Shelf:
    async def read(self, url: str) -> Document:
        if url == "library:runbooks/empty.html":
            raise ExtractionError("empty_extraction", "holds no readable text")
        if url != "library:runbooks/vpn.md":
            raise LookupError(url)
        return extract(b"# VPN\n\nHow the VPN is restarted.", content_type="text/markdown", url=url)


async def test_library_urls_go_to_the_library() -> None:
    async with Fetcher(Shelf(), InlineExtractor()) as one:
        assert (await one.fetch("library:runbooks/vpn.md")).title == "VPN"
        missing = await refusal(one, "library:runbooks/none.md")
        assert (missing.reason, missing.status, missing.retryable) == (FetchReason.HTTP_STATUS, 404, False)
        assert (await refusal(one, "library:runbooks/empty.html")).reason is FetchReason.EMPTY_EXTRACTION
    async with Fetcher(None, InlineExtractor()) as one:
        assert (await refusal(one, "library:runbooks/vpn.md")).status == 404


@pytest.mark.slow
async def test_hostile_pages_end_in_a_process_and_the_others_go_on() -> None:
    hostile = {
        "/nested": Page(b"<html><body>" + b"<div>" * 50_000 + b"deep"),
        "/unclosed": Page(b"<html><body>" + b"<p><b>" * 20_000 + b"x"),
        "/table": Page(b"<table>" + b"<tr><td>cell</td></tr>" * 900_000 + b"</table>"),
        "/links": Page(b"<ul>" + b'<li><a href="/x">link</a></li>' * 50_000 + b"</ul>"),
    }
    with PageServer({**hostile, "/ok": Page(prose())}) as server:
        policy = FetchPolicy(allow_hosts=(server.entry,), host_delay_s=0.0)
        async with Extractor(workers=2) as extractor, Fetcher(None, extractor, policy) as one:
            results = await asyncio.gather(
                *(one.fetch(server.url(path)) for path in (*hostile, "/ok")), return_exceptions=True
            )
    for path, result in zip((*hostile, "/ok"), results, strict=True):
        assert isinstance(result, Document | FetchError), (path, result)
    assert isinstance(results[-1], Document)


def test_the_user_agent_says_who_asks() -> None:
    assert user_agent().startswith("NeuralBrain/")
    assert "https://example.org/bot" in user_agent("https://example.org/bot")
