"""In-memory parts for tests of relation research: a search, a page server and reasoners that fail on demand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from pydantic import BaseModel
from sqlalchemy import func, select

from data import schema
from data.crud.engine import perform
from data.crud.ingest import IngestNodes, NodeDraft
from data.extract import Document
from data.models import Node, NodeKind, SourceClass
from data.nodes import node_by_uri
from data.store import Store
from research.fetch_errors import FetchError, FetchReason
from research.reasoner import Reasoner, ReasonerUnavailable, Role
from research.search.base import Hit, Probe, SearchPage, SearchState
from tests.research import relation_pages as pages

Q = TypeVar("Q", bound=BaseModel)
A = TypeVar("A", bound=BaseModel)

TICKET_BODY = "Seit dem letzten Patchday kommt niemand mehr ins Firmennetz. Mit dem Hotspot geht es."
NOTE_BODY = "Merkzettel: DWORD unter PolicyAgent, Werte 0, 1, 2. Wird noch nicht verteilt."

DOMAIN_TABLES = (schema.node, schema.edge, schema.evidence, schema.journal, schema.research_task, schema.article)


def document(
    text: str, url: str, *, source_class: SourceClass = SourceClass.VENDOR, publisher: str = "docs"
) -> Document:
    return Document(
        url=url,
        final_url=url,
        text=text,
        title=text.strip().partition("\n")[0].lstrip("# "),
        publisher=publisher,
        language="de",
        published_at=None,
        author="Redaktion",
        source_class=source_class,
        collection=publisher,
    )


@dataclass
class Web:
    """A search backend and a fetcher in one: it knows these documents, in this order."""

    documents: Mapping[str, Document] = field(default_factory=dict)
    state: SearchState = SearchState.HITS
    engines_failed: tuple[str, ...] = ()
    raises: Exception | None = None
    broken: Mapping[str, Exception] = field(default_factory=dict)
    extra: tuple[Hit, ...] = ()
    name: str = "memory"
    queries: list[str] = field(default_factory=list)
    fetched: list[str] = field(default_factory=list)

    async def search(self, query: str, *, language: str, limit: int) -> SearchPage:
        self.queries.append(query)
        if self.raises is not None:
            raise self.raises
        if self.state is not SearchState.HITS:
            return SearchPage(self.state, engines_failed=self.engines_failed)
        found = [
            Hit(url=url, title=page.title, snippet=page.text[:200], engine="memory", rank=rank)
            for rank, (url, page) in enumerate(self.documents.items(), 1)
        ]
        return SearchPage(SearchState.HITS, (*self.extra, *found)[:limit], self.engines_failed)

    async def probe(self) -> Probe:
        return Probe(True, "in memory")

    async def fetch(self, url: str) -> Document:
        self.fetched.append(url)
        if url in self.broken:
            raise self.broken[url]
        if url not in self.documents:
            raise FetchError(FetchReason.HTTP_STATUS, f"{url} answered 404", url=url, status=404)
        return self.documents[url]


def web(*texts: str) -> Web:
    """Return a web of these texts, each on a host of its own."""
    urls = [f"https://docs{number}.example/page" for number in range(1, len(texts) + 1)]
    return Web({url: document(text, url) for url, text in zip(urls, texts, strict=True)})


@dataclass
class Scripted:
    """A reasoner that answers some roles from a script and hands the others on; an exception is raised."""

    inner: Reasoner
    answers: Mapping[str, BaseModel | Exception] = field(default_factory=dict)
    identity: str = "scripted/1"
    asked: list[BaseModel] = field(default_factory=list)

    async def ask(self, role: Role[Q, A], request: Q) -> A:
        self.asked.append(request)
        answer = self.answers.get(role.name)
        if isinstance(answer, Exception):
            raise answer
        if answer is None:
            return await self.inner.ask(role, request)
        assert isinstance(answer, role.answer_type)
        return answer


def model_down(role: str) -> ReasonerUnavailable:
    return ReasonerUnavailable(role, "connection refused")


async def pair_of_nodes(
    store: Store,
    first: NodeDraft | None = None,
    second: NodeDraft | None = None,
) -> tuple[Node, Node]:
    """Put the pair of VPN error 809 and its registry key into the store and return (ticket, note)."""
    drafts = (
        first or NodeDraft(NodeKind.TICKET, pages.VPN_809.text, TICKET_BODY, "de", "test:ticket"),
        second or NodeDraft(NodeKind.NOTE, pages.NAT_KEY.text, NOTE_BODY, "de", "test:note"),
    )
    assert (await perform(store, IngestNodes(drafts), actor="test")).ok
    found = [await store.read(node_by_uri, draft.source_uri) for draft in drafts]
    assert found[0] is not None
    assert found[1] is not None
    return found[0], found[1]


async def footprint(store: Store) -> dict[str, int]:
    """Return the rows of every domain table and the files of the evidence folder: what a refusal must not touch."""

    def count(conn) -> dict[str, int]:  # type: ignore[no-untyped-def]
        return {
            table.name: conn.execute(select(func.count()).select_from(table)).scalar_one() for table in DOMAIN_TABLES
        }

    rows = await store.read(count)
    rows["evidence files"] = sum(path.is_file() for path in (store.home / "evidence").rglob("*"))
    return rows
