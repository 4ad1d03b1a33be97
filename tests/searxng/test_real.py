"""The client against SearXNG itself, of two generations: what it sends, what comes back, what is no answer."""

from __future__ import annotations

import json
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from data.store import Store
from research.pair_reasons import Reason
from research.search import searxng
from research.search.base import SearchPage, SearchState
from research.search.searxng import SearxngBackend, SearxngPolicy
from tests.research.fault_world import World, contents, pairs_of_nodes, thinking_world
from tests.research.pages import Page, PageServer, Request
from tests.searxng.instance import FAULTS, GENERATIONS, Instance, installed, settings, started

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
UMLAUTS = "Druckerwarteschlange hängt: Größe prüfen"
EMPTY = {"number_of_results": 0, "results": [], "answers": [], "infoboxes": [], "suggestions": []}


class Upstream:
    """The world behind the engines: documents by page, raw answers, faults; `asked` is every query that came in."""

    def __init__(self, server: PageServer) -> None:
        self.server = server
        self.hits: dict[int, list[dict[str, Any]]] = {1: []}
        self.raw: dict[str, Any] = {}
        routes: dict[str, Callable[[Request], Page]] = {
            "/search": self._search,
            "/twin": self._search,
            "/raw": lambda _: _json({**EMPTY, **self.raw}),
            "/translate": lambda _: _json({"translatedText": "Wort", "alternatives": ["Begriff"]}),
            "/fault/prose": lambda _: Page(b"not { json", content_type="application/json"),
            "/fault/reset": lambda _: Page(
                pieces=lambda: [], announce=-1, status=200, headers={"Content-Length": "99"}
            ),
            "/fault/hang": self._hang,
        }
        for name in FAULTS:
            if name.startswith("s"):
                status = int(name[1:])
                routes[f"/fault/{name}"] = lambda _, status=status: Page(b"no", status, content_type="text/plain")  # type: ignore[misc]
        server.routes |= routes

    @property
    def asked(self) -> list[str]:
        return [parse_qs(request.query).get("q", [""])[0] for request in self.server.requests]

    def _search(self, request: Request) -> Page:
        number = int(parse_qs(request.query).get("page", ["1"])[0])
        return _json({"hits": self.hits.get(number, [])})

    def _hang(self, request: Request) -> Page:
        self.server.stopped.wait(5)
        return Page(b"late")


def _json(value: object) -> Page:
    return Page(json.dumps(value).encode(), content_type="application/json")


def document(number: int, **more: Any) -> dict[str, Any]:
    return {
        "url": f"https://docs.example.test/{number}",
        "title": f"Page {number}",
        "snippet": f"Text {number}",
        **more,
    }


@contextmanager
def _instance(generation: str, folder: Path, upstream: PageServer, **knobs: Any) -> Iterator[Instance]:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # bound and never listening: who connects is refused
        nobody = f"http://127.0.0.1:{closed.getsockname()[1]}"
        with started(generation, settings(upstream.url(""), nobody, **knobs), folder) as running:
            yield running


@pytest.fixture(scope="module", params=GENERATIONS)
def generation(request: pytest.FixtureRequest) -> str:
    installed(request.param)
    return str(request.param)


@pytest.fixture(scope="module")
def world(generation: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Instance, Upstream]]:
    with PageServer({}) as server:
        upstream = Upstream(server)
        with _instance(generation, tmp_path_factory.mktemp("searxng"), server) as running:
            yield running, upstream


@pytest.fixture
def upstream(world: tuple[Instance, Upstream]) -> Upstream:
    world[1].hits = {1: [document(1), document(2)]}
    world[1].raw = {}
    world[1].server.requests.clear()
    return world[1]


@pytest.fixture
def instance(world: tuple[Instance, Upstream]) -> Instance:
    return world[0]


@pytest.fixture
async def searching(instance: Instance) -> AsyncIterator[SearxngBackend]:
    async with SearxngBackend(instance.url) as opened:
        yield opened


async def search(instance: Instance, category: str, query: str = "physics", **policy: Any) -> SearchPage:
    async with SearxngBackend(instance.url, SearxngPolicy(categories=(category,), **policy)) as backend:
        return await backend.search(query, language="en", limit=20)


async def test_hits_come_as_they_are(upstream: Upstream, searching: SearxngBackend) -> None:
    page = await searching.search(UMLAUTS, language="de", limit=10)
    assert page.state is SearchState.HITS
    assert [(hit.url, hit.title, hit.snippet) for hit in page.hits] == [
        ("https://docs.example.test/1", "Page 1", "Text 1"),
        ("https://docs.example.test/2", "Page 2", "Text 2"),
    ]
    assert {hit.engine for hit in page.hits} == {"docs"}
    assert page.engines_failed == ()
    assert upstream.asked == [UMLAUTS]


async def test_what_the_server_does_not_know_is_known_as_such(upstream: Upstream, searching: SearxngBackend) -> None:
    upstream.hits = {}
    page = await searching.search("nobody knows", language="en", limit=10)
    assert (page.state, page.hits, page.engines_failed) == (SearchState.NONE, (), ())


async def test_two_engines_agree_on_one_row_and_scores_are_bounded(upstream: Upstream, instance: Instance) -> None:
    page = await search(instance, "it")
    assert [hit.engine for hit in page.hits] == ["docstoo+twin"] * 2
    assert page.hits[0].score == 1.0
    assert all(0.0 < hit.score <= 1.0 for hit in page.hits)


async def test_further_pages_are_read_while_there_are_some(upstream: Upstream, instance: Instance) -> None:
    upstream.hits = {n: [document(10 * n), document(10 * n + 1)] for n in (1, 2, 3)}
    page = await search(instance, "general", pages=5)
    assert [hit.url.rsplit("/", 1)[1] for hit in page.hits] == ["10", "11", "20", "21", "30", "31"]
    assert len(upstream.asked) == 4  # the fourth is past the end


@pytest.mark.parametrize("fault", [*FAULTS, "dead"])
async def test_an_engine_that_fails_alone_makes_the_page_blind(
    upstream: Upstream, instance: Instance, fault: str
) -> None:
    page = await search(instance, fault)
    assert (page.state, page.hits, page.engines_failed) == (SearchState.BLIND, (), (fault,))


async def test_hits_of_one_engine_count_though_another_failed(upstream: Upstream, instance: Instance) -> None:
    page = await search(instance, "mixed")
    assert (page.state, len(page.hits), page.engines_failed) == (SearchState.HITS, 2, ("gone",))
    upstream.hits = {}
    assert (await search(instance, "mixed")).state is SearchState.BLIND  # the failed one may have known


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ("!!g foo", "g foo"), ("!docs foo", "docs foo"), (":de foo", "de foo"), ("<3 foo", "3 foo"),
        ("foo !it bar", "foo it bar"), ("avg 1 2 3", '"avg" 1 2 3'), ("random uuid", '"random" uuid'),
        ("max 3 5", '"max" 3 5'),
    ],
)  # fmt: skip
async def test_no_query_is_taken_for_a_command(
    upstream: Upstream, searching: SearxngBackend, query: str, asked: str
) -> None:
    page = await searching.search(query, language="en", limit=10)
    assert (page.state, len(page.hits)) == (SearchState.HITS, 2)
    assert upstream.asked == [asked]


async def test_a_redirect_is_not_followed(
    upstream: Upstream, searching: SearxngBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searxng, "neutral_query", lambda query: query)
    page = await searching.search("!!g foo", language="en", limit=10)
    assert page.state is SearchState.BLIND
    assert "redirect to 'https://www.google.com" in page.notes[0]
    answered = await searching.search("avg 1 2 3", language="en", limit=10)  # an answerer, and no engine was asked
    assert answered.hits == ()
    assert upstream.asked == []


async def test_rows_of_any_kind(upstream: Upstream, instance: Instance) -> None:
    upstream.raw = {
        "results": [
            {"url": "https://a.test/1", "title": None, "content": None},
            {
                "url": "https://a.test/2",
                "title": "<b>Two</b> &amp; more",
                "content": "1 &lt; 2 <i>x</i>",
                "priority": "low",
            },
            {"url": "https://a.test/3", "title": "Three", "content": "Three", "unknown": {"deep": [1]}},
            {"url": "ftp://a.test/4", "title": "Four", "content": "4"},
        ],
        "answers": [{"answer": "forty-two", "url": None}],
        "infoboxes": [{"infobox": "Box", "content": None, "urls": [], "attributes": []}],
        "suggestions": ["other words"],
        "corrections": [],
    }
    page = await search(instance, "raw")
    found = {hit.url: hit for hit in page.hits}
    assert set(found) == {f"https://a.test/{n}" for n in (1, 2, 3)}
    assert (found["https://a.test/1"].title, found["https://a.test/1"].snippet) == ("https://a.test/1", "")
    assert (found["https://a.test/2"].title, found["https://a.test/2"].snippet) == ("Two & more", "1 < 2 x")
    assert all(0.0 <= hit.score <= 1.0 for hit in page.hits)


async def test_answers_alone_are_no_hits(upstream: Upstream, instance: Instance) -> None:
    upstream.raw = {"results": [], "answers": [{"answer": "forty-two"}], "suggestions": ["a"]}
    page = await search(instance, "raw")
    assert (page.state, page.hits) == (SearchState.NONE, ())
    typed = await search(instance, "translations", "en-de word")  # one generation fails over it with 500 and HTML
    assert typed.hits == ()
    assert typed.state in {SearchState.NONE, SearchState.BLIND}


async def test_a_long_query_is_cut_and_sent(upstream: Upstream, searching: SearxngBackend) -> None:
    assert (await searching.search("word " * 60_000, language="en", limit=5)).state is SearchState.HITS
    assert len(upstream.asked[0]) <= 400


async def test_what_the_server_refuses_is_blind(upstream: Upstream, instance: Instance) -> None:
    async with SearxngBackend(instance.url, SearxngPolicy(safesearch=7)) as backend:
        page = await backend.search("x", language="en", limit=5)
        assert (page.state, page.engines_failed) == (SearchState.BLIND, ("searxng",))
    async with SearxngBackend(instance.url + "/nosuch") as backend:
        page = await backend.search("x", language="en", limit=5)
        assert page.state is SearchState.BLIND
        assert "404 with text/html" in page.notes[0]


async def test_the_probe_of_a_server_that_is_well(upstream: Upstream, searching: SearxngBackend) -> None:
    probe = await searching.probe()
    assert (probe.ok, probe.setting) == (True, "")
    assert "2 results" in probe.message


async def test_the_probe_names_an_unknown_category(upstream: Upstream, instance: Instance) -> None:
    async with SearxngBackend(instance.url, SearxngPolicy(categories=("general", "IT"))) as backend:
        probe = await backend.probe()
    assert (probe.ok, probe.setting) == (False, "BRAIN_SEARXNG_CATEGORIES")
    assert "IT" in probe.message
    assert "it" in probe.message.split("known there", 1)[1]


async def test_the_probe_names_engines_that_all_fail(upstream: Upstream, instance: Instance) -> None:
    async with SearxngBackend(instance.url, SearxngPolicy(categories=("dead",))) as backend:
        probe = await backend.probe()
    assert (probe.ok, probe.setting) == (False, "engines")
    assert "dead" in probe.message


async def test_a_relation_rests_on_what_the_real_search_found(
    upstream: Upstream, instance: Instance, store: Store
) -> None:
    (pair,) = await pairs_of_nodes(store, 1)
    async with thinking_world(store, instance.url, ("mixed",)) as (set_up, server):
        said = "VPN Fehler 809, L2TP/IPsec hinter NAT: AssumeUDPEncapsulation"
        upstream.hits = {1: [document(1, url=server.url(f"/{n}"), title=said, snippet=said) for n in (1, 2)]}
        outcome = await set_up(World()).think(*pair[False])
    assert outcome.accepted, outcome.detail
    assert upstream.asked == ["VPN Fehler 809 L2TP NAT"]
    assert outcome.detail["search"]["engines_failed"] == ["gone"]
    assert [hit["engine"] for hit in outcome.detail["hits"]] == ["mixed", "mixed"]


@pytest.mark.parametrize("fault", FAULTS)
async def test_nothing_is_concluded_from_engines_that_fail(
    upstream: Upstream, instance: Instance, store: Store, fault: str
) -> None:
    (pair,) = await pairs_of_nodes(store, 1)
    before = await contents(store)
    async with thinking_world(store, instance.url, (fault,)) as (set_up, _):
        outcome = await set_up(World()).think(*pair[False])
    assert outcome.reason is Reason.SEARCH_FAILED
    assert await contents(store) == before


async def test_without_the_json_format_search_is_blind_and_the_probe_says_what_to_change(
    generation: str, tmp_path: Path
) -> None:
    with PageServer({}) as server:
        Upstream(server).hits = {1: [document(1)]}
        with _instance(generation, tmp_path, server, formats=("html",)) as closed:
            async with SearxngBackend(closed.url) as backend:
                page = await backend.search("x", language="en", limit=5)
                probe = await backend.probe()
        assert server.requests == []
        async with SearxngBackend(closed.url) as backend:  # the server is gone by now
            late, gone = await backend.search("x", language="en", limit=5), await backend.probe()
    assert (late.state, gone.ok, gone.setting) == (SearchState.BLIND, False, "BRAIN_SEARXNG_URL")
    assert page.state is SearchState.BLIND
    assert (probe.ok, probe.setting) == (False, "search.formats")
    assert "[html, json]" in probe.message


async def test_a_suspended_engine_is_a_failed_one_in_every_language(generation: str, tmp_path: Path) -> None:
    with PageServer({}) as server:
        Upstream(server)
        config_knobs = {"bans": True}
        with _instance(generation, tmp_path, server, **config_knobs) as banning:
            policy = SearxngPolicy(categories=("s429",))
            async with SearxngBackend(banning.url, policy) as backend:
                first = await backend.search("x", language="en", limit=5)
                asked = len(server.requests)
                client = backend._opened()
                client.headers["Accept-Language"] = "de"  # the texts come translated where the server can
                second = await backend.search("y", language="de", limit=5)
                raw = (await client.get("/search", params={"q": "y", "format": "json", "categories": "s429"})).json()
        assert asked == len(server.requests) == 1  # suspended: the engine was not asked again
    assert [page.state for page in (first, second)] == [SearchState.BLIND] * 2
    assert first.engines_failed == second.engines_failed == ("s429",)
    assert raw["unresponsive_engines"][0][1] != "too many requests"


async def test_the_fields_each_generation_is_known_for(generation: str, upstream: Upstream, instance: Instance) -> None:
    async with SearxngBackend(instance.url) as backend:
        answer = (await backend._opened().get("/search", params={"q": "x", "format": "json"})).json()
    assert ("number_of_results" in answer) is (generation == "2025")
    assert ("publishedDate" in answer["results"][0]) is (generation == "2026")
