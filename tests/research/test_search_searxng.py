"""The SearXNG client against a server that speaks its formats and its faults, as the real one does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.clock import ManualClock
from research.search.base import SearchPage, SearchState
from research.search.searxng import SearxngBackend, SearxngPolicy, neutral_query, normalised_base
from tests.research.pages import Page, PageServer, Request

ROW: dict[str, Any] = {
    "url": "https://docs.example.test/alpha", "title": "Alpha particle physics",
    "content": "An alpha particle is two protons and two neutrons.", "engine": "docs", "template": "default.html",
    "parsed_url": ["https", "docs.example.test", "/alpha", "", "", ""], "img_src": "", "thumbnail": "",
    "priority": "",
    "engines": ["docs"], "positions": [3], "score": 0.3333333333333333, "category": "general",
}  # fmt: skip
EMPTY: dict[str, Any] = {
    "query": "physics", "results": [], "answers": [], "corrections": [], "infoboxes": [], "suggestions": [],
    "unresponsive_engines": [],
}  # fmt: skip


def answer(**parts: Any) -> Page:
    return Page(json.dumps({**EMPTY, **parts}).encode(), content_type="application/json")


async def ask(page: Page, query: str = "physics", limit: int = 10, **policy: Any) -> SearchPage:
    with PageServer({"/search": page}) as server:
        async with SearxngBackend(server.url(""), SearxngPolicy(**policy)) as backend:
            return await backend.search(query, language="en", limit=limit)


async def test_the_question_as_it_is_sent() -> None:
    with PageServer({"/search": answer(results=[ROW])}) as server:
        policy = SearxngPolicy(categories=("general", "it"), safesearch=1)
        async with SearxngBackend(server.url("/search?q=%s"), policy) as backend:
            page = await backend.search("  VPN  Fehler 809 ", language="de", limit=5)
            await backend.search("x", language="und", limit=5)
    first, second = (parse_qs(request.query) for request in server.requests)
    assert first == {
        "q": ["VPN Fehler 809"], "format": ["json"], "language": ["de"], "pageno": ["1"], "safesearch": ["1"],
        "categories": ["general,it"],
    }  # fmt: skip
    assert second["language"] == ["all"]
    assert server.requests[0].headers["Accept-Language"] == "en"
    assert not {"Cookie", "Referer"} & server.requests[0].headers.keys()
    assert page.state is SearchState.HITS
    (hit,) = page.hits
    assert (hit.url, hit.title, hit.snippet) == (ROW["url"], ROW["title"], ROW["content"])
    assert (hit.engine, hit.category, hit.rank, hit.score) == ("docs", "general", 1, 1.0)


@pytest.mark.parametrize(
    ("unresponsive", "results", "state", "failed"),
    [
        ([], [], SearchState.NONE, ()),
        ([], [ROW], SearchState.HITS, ()),
        ([["dead", "HTTP connection error"]], [], SearchState.BLIND, ("dead",)),
        ([["dead", "Suspended: HTTP error"], ["slow", "délai dépassé"]], [], SearchState.BLIND, ("dead", "slow")),
        ([["docs", "unexpected crash"]], [ROW], SearchState.HITS, ("docs",)),  # in both lists
        (["dead", ["alt"], [], [None, "x"], 7, None], [], SearchState.BLIND, ("dead", "alt")),
        (None, [], SearchState.NONE, ()),
    ],
)
async def test_the_three_states(unresponsive: Any, results: Any, state: SearchState, failed: tuple[str, ...]) -> None:
    page = await ask(answer(results=results, unresponsive_engines=unresponsive))
    assert (page.state, page.engines_failed) == (state, failed)
    assert bool(page.notes) is bool(failed)


BLIND: dict[str, tuple[Page, str]] = {
    "403": (Page(b"<h1>Forbidden</h1>", 403), "search.formats"),
    "html": (Page(b"<html>results</html>"), "search.formats"),
    "400": (Page(b'{"error": "No query"}', 400, content_type="application/json"), "No query"),
    "500 json": (Page(b'{"error": "search error"}', 500, content_type="application/json"), "search error"),
    "500 html": (Page(b"<h1>Internal Server Error</h1>", 500), "500"),
    "404": (Page(b"nothing", 404), "BRAIN_SEARXNG_URL"),
    "405": (Page(b"<h1>Method Not Allowed</h1>", 405), "405"),
    "414": (Page(b"too long", 414, content_type="text/plain"), "414"),
    "431": (Page(b"too large", 431, content_type="text/plain"), "431"),
    "302": (Page(b"", 302, {"Location": "https://www.google.com/search?q=foo"}), "redirect"),
    "308": (Page(b"", 308, {"Location": "/search"}), "redirect"),
    "cut": (Page(b'{"results": [', content_type="application/json"), "cannot be read"),
    "deep": (Page(b"[" * 100_000, content_type="application/json"), "cannot be read"),
    "list": (Page(b"[]", content_type="application/json"), "no object"),
    "null": (Page(b"null", content_type="application/json"), "no object"),
    "bytes": (Page(b"\xff\xfe\x00", content_type="application/json"), "cannot be read"),
    "none": (Page(b"{}", content_type="application/json"), "no results field"),
    "short": (Page(b'{"results": []}', content_type="application/json", announce=5_000), "cannot be reached"),
}


@pytest.mark.parametrize("name", BLIND)
async def test_whatever_is_no_answer_is_blind_and_says_why(name: str) -> None:
    served, said = BLIND[name]
    page = await ask(served)
    assert (page.state, page.hits, page.engines_failed) == (SearchState.BLIND, (), ("searxng",))
    assert said in page.notes[0]


async def test_403_says_how_to_enable_json() -> None:
    page = await ask(Page(b"Forbidden", 403))
    assert "formats: [html, json]" in page.notes[0] and "settings.yml" in page.notes[0]


async def test_redirects_are_not_followed() -> None:
    with PageServer(
        {"/search": Page(b"", 302, {"Location": "/elsewhere"}), "/elsewhere": answer(results=[ROW])}
    ) as server:
        async with SearxngBackend(server.url("")) as backend:
            assert (await backend.search("x", language="en", limit=5)).state is SearchState.BLIND
        assert server.paths() == ["/search"]


async def test_no_server_a_slow_one_and_an_endless_one() -> None:
    gone = PageServer({})
    gone.__enter__()
    gone.__exit__(None, None, None)
    async with SearxngBackend(gone.url("")) as backend:
        assert (await backend.search("x", language="en", limit=5)).state is SearchState.BLIND

    def drip() -> Iterator[bytes]:
        while not server.stopped.wait(0.05):
            yield b" "

    with PageServer({"/search": Page(pieces=drip, content_type="application/json")}) as server:
        async with SearxngBackend(server.url(""), SearxngPolicy(timeout_s=0.3)) as backend:
            page = await backend.search("x", language="en", limit=5)
    assert page.state is SearchState.BLIND and "took longer" in page.notes[0]

    def flood() -> Iterator[bytes]:
        while True:
            yield b" " * 65_536

    page = await ask(Page(pieces=flood, content_type="application/json"))
    assert page.state is SearchState.BLIND and "more than" in page.notes[0]


async def test_429_backs_off_and_comes_back(clock: ManualClock) -> None:
    answers = [
        Page(b"Too Many Requests", 429, content_type="text/plain"),
        Page(b"Too Many Requests", 429, content_type="text/plain"),
        Page(b"", 429, {"Retry-After": "7"}, content_type="text/plain"), answer(results=[ROW]),
    ]  # fmt: skip
    with PageServer({"/search": lambda _: answers.pop(0)}) as server:
        async with SearxngBackend(server.url(""), clock=clock) as backend:
            for wait, sent in ((30.0, 1), (60.0, 2), (7.0, 3)):
                page = await backend.search("x", language="en", limit=5)
                assert (page.state, page.retry_after) == (SearchState.BLIND, wait)
                clock.advance(wait - 1)
                assert (await backend.search("x", language="en", limit=5)).state is SearchState.BLIND
                assert len(server.requests) == sent  # nothing was sent while it wants silence
                clock.advance(1.5)
            assert (await backend.search("x", language="en", limit=5)).state is SearchState.HITS


async def test_rows_as_they_come() -> None:
    rows = [
        {**ROW, "url": "https://a.test/1", "title": "Low", "score": 0, "content": None},
        {**ROW, "url": "https://a.test/2", "title": None, "score": 5.2, "content": "<b>bold</b> &amp; 1 &lt; 2"},
        {**ROW, "url": None, "title": ""},
        {**ROW, "url": "https://a.test/1", "title": "Again", "score": 9},
        {**ROW, "url": "ftp://a.test/3"}, {**ROW, "url": 7}, {"title": "no url"}, "a string", None, [],
        {"url": "HTTPS://a.test/4", "engines": ["b", "a"], "positions": "", "score": "high", "unknown": {"x": 1}},
        {"url": "https://a.test/5", "engine": "x", "score": True, "title": " Zero\u200b width  spaces "},
        {"url": "https://a.test/6", "score": 1e300, "engines": [1, None]}, {"url": "https://a.test/7", "score": -3},
    ]  # fmt: skip
    page = await ask(
        answer(results=rows, answers=["a string", {"answer": "x"}, {"translations": []}], infoboxes=[{"infobox": "X"}])
    )
    hits = {hit.url: hit for hit in page.hits}
    assert [hit.url for hit in page.hits][:2] == ["https://a.test/1", "https://a.test/2"]  # by score, not as sent
    assert set(hits) == {f"https://a.test/{n}" for n in (1, 2, 5, 6, 7)} | {"HTTPS://a.test/4"}
    assert hits["https://a.test/2"].title == "https://a.test/2"
    assert hits["https://a.test/2"].snippet == "bold & 1 < 2"
    assert hits["HTTPS://a.test/4"].engine == "a+b"
    assert hits["https://a.test/5"].title == "Zero width spaces"
    assert [hit.rank for hit in page.hits] == list(range(1, 7))
    assert all(0.0 <= hit.score <= 1.0 for hit in page.hits)


@pytest.mark.parametrize(
    ("fields", "moment"),
    [
        ({}, None), ({"publishedDate": None}, None), ({"publishedDate": ""}, None),
        ({"publishedDate": "2024-03-01T10:00:00"}, datetime(2024, 3, 1, 10, tzinfo=UTC)),
        ({"publishedDate": "2024-03-01T10:00:00+02:00"}, datetime(2024, 3, 1, 8, tzinfo=UTC)),
        ({"publishedDate": "2 hour(s), 3 minute(s) ago"}, None), ({"publishedDate": 1709287200}, None),
        ({"publishedDate": None, "pubdate": "2024-03-01 10:00:00"}, datetime(2024, 3, 1, 10, tzinfo=UTC)),
        ({"publishedDate": "9999-99-99"}, None),
    ],
)  # fmt: skip
async def test_dates(fields: dict[str, Any], moment: datetime | None) -> None:
    page = await ask(answer(results=[{**ROW, **fields}]))
    assert page.hits[0].published_at == moment


async def test_more_pages_while_there_is_not_enough() -> None:
    def paged(request: Request) -> Page:
        number = int(parse_qs(request.query)["pageno"][0])
        rows = [{**ROW, "url": f"https://a.test/{n}"} for n in range(2 * number - 2, 2 * number + 1)]  # one repeats
        return answer(results=rows if number < 3 else [])

    with PageServer({"/search": paged}) as server:
        async with SearxngBackend(server.url(""), SearxngPolicy(pages=5)) as backend:
            page = await backend.search("x", language="en", limit=4)
            assert [hit.url[-1] for hit in page.hits] == ["0", "1", "2", "3"]
            assert len(server.requests) == 2
            everything = await backend.search("x", language="en", limit=50)
            assert len(everything.hits) == 5
            assert [hit.rank for hit in everything.hits] == [1, 2, 3, 4, 5]


async def test_a_second_page_that_fails_leaves_the_first() -> None:
    answers = [answer(results=[ROW]), Page(b"oops", 500)]
    with PageServer({"/search": lambda _: answers.pop(0)}) as server:
        async with SearxngBackend(server.url(""), SearxngPolicy(pages=2)) as backend:
            page = await backend.search("x", language="en", limit=9)
    assert (page.state, len(page.hits)) == (SearchState.HITS, 1)
    assert "500" in page.notes[0]


# -- the query and the base URL -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "sent"),
    [
        ("VPN Fehler 809", "VPN Fehler 809"), ("!g foo", "g foo"), ("!!g foo", "g foo"), ("!! foo", "foo"),
        (":de foo", "de foo"),
        ("<3 foo", "3 foo"), ("foo !images :fr <30 bar", "foo images fr 30 bar"), ("! ! foo", "foo"),
        ("!:de !<3 foo", "de 3 foo"),
        ("max 3 5", '"max" 3 5'), ("Sum of angles", '"Sum" of angles'), ("random uuid", '"random" uuid'),
        ("minimum", "minimum"),
        ("a != b", "a = b"), ("std::vector", "std::vector"), ("error <809>", "error 809>"),
        ("10:30 Uhr", "10:30 Uhr"), ("!!", ""),
        ("", ""), ("x" * 900, "x" * 400), ("??? what", "what"), ("\u200b!g foo", "g foo"),
    ],
)  # fmt: skip
def test_commands_are_neutral(query: str, sent: str) -> None:
    assert neutral_query(query) == sent


@given(st.text(st.sampled_from("!:<?123deg \t\u200b"), max_size=30))
def test_no_query_keeps_a_command(query: str) -> None:
    for word in neutral_query(query).split():
        assert word[0] not in "!?"
        assert not (word[0] == ":" and len(word) > 1 and word[1].isalpha())
        assert not (word[0] == "<" and len(word) > 1 and word[1].isdigit())


async def test_a_query_of_signs_alone_is_not_sent_and_concludes_nothing() -> None:
    with PageServer({}) as server:
        async with SearxngBackend(server.url("")) as backend:
            assert (await backend.search("!! !", language="en", limit=5)).state is SearchState.BLIND
        assert server.requests == []


@pytest.mark.parametrize(
    ("given_url", "base"),
    [
        ("127.0.0.1:8888", "http://127.0.0.1:8888"), ("http://searx.lan/", "http://searx.lan"),
        ("https://host/searxng/", "https://host/searxng"), ("https://host/searxng/search", "https://host/searxng"),
        ("http://host:8888/search?q=%s&format=json", "http://host:8888"),
        (" http://[::1]:8888 ", "http://[::1]:8888"),
        ("http://host//", "http://host"),
    ],
)  # fmt: skip
def test_one_base_url(given_url: str, base: str) -> None:
    assert normalised_base(given_url) == base


@pytest.mark.parametrize(
    "bad", ["", "http://", "ftp://host", "http://user:pw@host", "http://ho st", "http://host:99999"]
)
def test_a_bad_base_url_names_the_setting(bad: str) -> None:
    with pytest.raises(ValueError, match="BRAIN_SEARXNG_URL"):
        normalised_base(bad)


@pytest.mark.parametrize(
    ("served", "ok", "setting"),
    [
        (answer(results=[ROW]), True, ""),
        (answer(results=[ROW], unresponsive_engines=[["dead", "timeout"]]), True, ""),
        (answer(unresponsive_engines=[["dead", "timeout"]]), False, "engines"),
        (Page(b"Forbidden", 403), False, "search.formats"),
        (Page(b"<html></html>"), False, "search.formats"),
        (Page(b"nothing", 404), False, "BRAIN_SEARXNG_URL"),
    ],
)
async def test_the_probe_names_the_setting_to_change(served: Page, ok: bool, setting: str) -> None:
    with PageServer({"/search": served}) as server:
        async with SearxngBackend(server.url("")) as backend:
            probe = await backend.probe()
    assert (probe.ok, probe.setting) == (ok, setting)
    assert server.url("") in probe.message
