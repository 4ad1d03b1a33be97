"""A world on loopback that fails on demand: a search server, two pages and a reasoner, asked by the real clients.

A fault is one change of that world, with the reason that spec 04 ("Fail closed") gives to it. `STAGES` is the way
of a pair: of two faults the one that is met first names the reason. `RANK` is the order of the table's rows, which
decides between two pages.
"""

from __future__ import annotations

import gzip
import hashlib
import html
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final

from pydantic import BaseModel
from sqlalchemy import Connection, select

from data import schema
from data.crud.engine import perform
from data.crud.ingest import IngestNodes, NodeDraft
from data.evidence import EvidenceFiles
from data.extractor import InlineExtractor
from data.models import NodeKind, RelationType
from data.nodes import nodes_by_uris
from data.store import Store
from research.extractive_relation import relation_handlers
from research.fetch import Fetcher, FetchPolicy
from research.gate import EvidencePolicy
from research.hits import EvidenceReader
from research.pair_reasons import Reason
from research.reasoner import ExtractiveReasoner, InvalidAnswer
from research.relation import RelationResearch
from research.roles import Direction, RelationPlan, RelationReview
from research.search.searxng import SearxngBackend, SearxngPolicy
from research.sources import shipped_table
from tests.research import relation_pages as pages
from tests.research.pages import Page, PageServer
from tests.research.relation_parts import Scripted, model_down
from vector.embed import HashingEmbedder

__all__ = ["FAULTS", "RANK", "STAGES", "Fault", "World", "as_html", "contents", "pairs_of_nodes", "thinking_world"]

DEADLINE_S: Final = 0.4
PLAN: Final = RelationPlan(
    related=True,
    query="VPN Fehler 809 L2TP NAT",
    questions=("Behebt der Schlüssel den Fehler?",),
    confidence=0.6,
    reason="r",
)
REVIEW: Final = RelationReview(
    accept=True,
    relation_type=RelationType.SOLVES,
    direction=Direction.TARGET_TO_SOURCE,
    confidence=0.8,
    cited=("E1",),
    rationale="E1 says so",
)
PRIVATE: Final = ("srv-fs01.corp 10.20.4.15", "j.petersen@brueckner-sohl.example, 030 23125 417")
STAGES: Final = ("plan", "labels", "search", "snippets", "page", "review")
RANK: Final = (
    Reason.PLAN_FAILED,
    Reason.NOTHING_SEARCHABLE,
    Reason.SEARCH_FAILED,
    Reason.FETCH_FAILED,
    Reason.NO_HITS,
    Reason.NO_ACCEPTED_EVIDENCE,
    Reason.UNCITED,
    Reason.REVIEW_FAILED,
    Reason.REVIEW_REJECTED,
)


@dataclass(frozen=True)
class World:
    """What is there: labels, answers of the reasoner, the search server's page, two pages."""

    private: bool = False
    plan: BaseModel | Exception = PLAN
    review: BaseModel | Exception = REVIEW
    search: Page | None = None
    """None: hits for both pages."""
    page: tuple[Page, Page] = field(default_factory=lambda: (as_html(pages.BOTH_DE), as_html(pages.BOTH_EN)))
    snippets: bool = True


@dataclass(frozen=True)
class Fault:
    """One thing that goes wrong; `slot` is where, and two of one slot come one after the other."""

    name: str
    slot: str
    reason: Reason
    change: Callable[[World], World]
    wrong: Page | None = None
    """For slot `page`: what stands in the place of a page."""


def as_html(text: str) -> Page:
    """Return a text of `relation_pages` as the web page it might be."""
    title, *blocks = [block.strip() for block in text.strip().split("\n\n")]
    body = "".join(
        f"<h2>{html.escape(block[3:])}</h2>" if block.startswith("## ") else f"<p>{html.escape(block)}</p>"
        for block in blocks
    )
    heading = html.escape(title.lstrip("# "))
    return Page(
        f"<html><head><title>{heading}</title></head><body><main><h1>{heading}</h1>{body}</main></body></html>".encode()
    )


def _plan(answer: BaseModel | Exception) -> Callable[[World], World]:
    return lambda world: replace(world, plan=answer)


def _review(answer: BaseModel | Exception) -> Callable[[World], World]:
    return lambda world: replace(world, review=answer)


def _search(page: Page) -> Callable[[World], World]:
    return lambda world: replace(world, search=page)


def _answer(**parts: object) -> Page:
    whole = {"query": "", "results": [], "answers": [], "infoboxes": [], "suggestions": [], "unresponsive_engines": []}
    return Page(json.dumps({**whole, **parts}).encode(), content_type="application/json")


def _page(name: str, reason: Reason, wrong: Page) -> Fault:
    return Fault(name, "page", reason, lambda world: replace(world, page=(wrong, wrong)), wrong)


def _endless() -> Any:
    while True:
        yield b"<p>and so on"


_BOMB: Final = Page(gzip.compress(bytes(64 * 1024 * 1024), 1), headers={"Content-Encoding": "gzip"})
_LOGIN: Final = Page(b"<html><title>Sign in</title><form><input type=password></form><p>Please sign in.</p></html>")
_FETCHED: Final = (
    ("404", Page(b"gone", 404)),
    ("500", Page(b"oops", 500)),
    ("a redirect inside", Page(b"", 302, {"Location": "http://10.0.0.1/"})),
    ("a compression bomb", _BOMB),
    ("a picture", Page(b"\x89PNG", content_type="image/png")),
    ("a body that breaks off", Page(b"<p>x", announce=9_000)),
)
FAULTS: Final = (
    Fault("planner down", "plan", Reason.PLAN_FAILED, _plan(model_down("relation_plan"))),
    Fault("planner talks nonsense", "plan", Reason.PLAN_FAILED, _plan(InvalidAnswer("relation_plan", "not JSON"))),
    Fault("nothing public", "labels", Reason.NOTHING_SEARCHABLE, lambda world: replace(world, private=True)),
    Fault("search 500", "search", Reason.SEARCH_FAILED, _search(Page(b"oops", 500))),
    Fault("search without JSON", "search", Reason.SEARCH_FAILED, _search(Page(b"Forbidden", 403))),
    Fault("search talks HTML", "search", Reason.SEARCH_FAILED, _search(Page(b"<html>results</html>"))),
    Fault(
        "search redirects", "search", Reason.SEARCH_FAILED, _search(Page(b"", 302, {"Location": "http://x.example/"}))
    ),
    Fault(
        "every engine failed", "search", Reason.SEARCH_FAILED, _search(_answer(unresponsive_engines=[["a", "timeout"]]))
    ),
    Fault(
        "search talks nonsense", "search", Reason.SEARCH_FAILED, _search(Page(b"{", content_type="application/json"))
    ),
    Fault(
        "search hangs", "search", Reason.SEARCH_FAILED, _search(Page(pieces=_endless, content_type="application/json"))
    ),
    Fault("nobody knows", "search", Reason.NO_HITS, _search(_answer())),
    *(_page(f"page: {name}", Reason.FETCH_FAILED, page) for name, page in _FETCHED),
    _page("page of another error code", Reason.NO_ACCEPTED_EVIDENCE, as_html(pages.OTHER_CODE_DE)),
    _page("page about one side", Reason.NO_ACCEPTED_EVIDENCE, as_html(pages.ONE_SIDED_EN)),
    _page("page is a login form", Reason.NO_ACCEPTED_EVIDENCE, _LOGIN),
    Fault("hits off topic", "snippets", Reason.NO_ACCEPTED_EVIDENCE, lambda world: replace(world, snippets=False)),
    Fault("review cites nothing", "review", Reason.UNCITED, _review(REVIEW.model_copy(update={"cited": ()}))),
    Fault(
        "review cites what was not shown",
        "review",
        Reason.UNCITED,
        _review(REVIEW.model_copy(update={"cited": ("E9",)})),
    ),
    Fault("reviewer down", "review", Reason.REVIEW_FAILED, _review(model_down("relation_review"))),
    Fault("reviewer talks nonsense", "review", Reason.REVIEW_FAILED, _review(InvalidAnswer("relation_review", "?"))),
    Fault(
        "review says no",
        "review",
        Reason.REVIEW_REJECTED,
        _review(RelationReview(accept=False, confidence=0.9, rationale="no")),
    ),
)


async def pairs_of_nodes(store: Store, count: int) -> list[dict[bool, tuple[str, str]]]:
    """Return `count` times the pair of VPN error 809, with public labels (False) and with private ones (True)."""
    labels = {False: (pages.VPN_809.text, pages.NAT_KEY.text), True: PRIVATE}
    drafts = {
        (number, private, side): NodeDraft(
            NodeKind.NOTE, label, f"Text {number}.", "de", f"t:{number}:{private}:{side}"
        )
        for number in range(count)
        for private, pair in labels.items()
        for side, label in enumerate(pair)
    }
    assert (await perform(store, IngestNodes(list(drafts.values())), actor="test")).ok
    found = await store.read(nodes_by_uris, [draft.source_uri for draft in drafts.values()])
    ids = {key: found[draft.source_uri].id for key, draft in drafts.items()}
    return [{p: (ids[number, p, 0], ids[number, p, 1]) for p in (False, True)} for number in range(count)]


@asynccontextmanager
async def thinking_world(
    store: Store, search_at: str | None = None, categories: Sequence[str] = ("general",)
) -> AsyncIterator[tuple[Callable[[World], RelationResearch], PageServer]]:
    """Yield a function that sets the world up and returns relation research over its real clients, and its server.

    `search_at`: another search server than the world's own.
    """
    embedder = HashingEmbedder(512)
    with PageServer({}) as server:
        fetching = FetchPolicy(allow_hosts=(server.entry,), host_delay_s=0.0, deadline_s=DEADLINE_S)
        searching = SearxngPolicy(categories=tuple(categories), timeout_s=DEADLINE_S if search_at is None else 5.0)
        async with (
            SearxngBackend(search_at or server.url(""), searching) as search,
            Fetcher(None, InlineExtractor(), fetching) as web,
        ):
            policy = EvidencePolicy(cosine_floor=0.0, cosine_ceiling=0.5)
            reader = EvidenceReader(search, web, shipped_table(), embedder, store.clock, evidence=policy)

            def set_up(world: World) -> RelationResearch:
                server.routes = {
                    "/search": world.search or _hits(server, world),
                    "/1": world.page[0],
                    "/2": world.page[1],
                }
                inner = ExtractiveReasoner(relation_handlers(embedder))
                reasoner = Scripted(inner, {"relation_plan": world.plan, "relation_review": world.review})
                return RelationResearch(store, reasoner, reader, EvidenceFiles(store.home))

            yield set_up, server


def _hits(server: PageServer, world: World) -> Page:
    said = (
        "VPN Fehler 809, L2TP/IPsec hinter NAT: AssumeUDPEncapsulation" if world.snippets else "Kuchen backen mit Obst"
    )
    return _answer(
        results=[{"url": server.url(f"/{n}"), "title": said, "content": said, "engine": "x"} for n in (1, 2)]
    )


async def contents(store: Store) -> Mapping[str, str]:
    """Return a digest of every table but decisions and events, and of every file of the home but the database."""

    def tables(conn: Connection) -> dict[str, str]:
        found = {}
        for table in schema.metadata.sorted_tables:
            if table.name not in {"event", "pair_decision"}:
                rows: Sequence[Any] = conn.execute(select(table).order_by(*table.primary_key.columns)).all()
                found[table.name] = hashlib.sha256(repr(rows).encode()).hexdigest()
        return found

    digests = dict(await store.read(tables))
    for path in store.home.rglob("*"):
        if path.is_file() and not path.name.startswith(store.path.name):
            digests[str(path.relative_to(store.home))] = hashlib.sha256(path.read_bytes()).hexdigest()
    return digests
