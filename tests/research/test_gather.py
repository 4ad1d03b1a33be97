"""Gathering on a real store with the real gate: what is kept, what is told, and when to come back later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import select

from data.clock import ManualClock
from data.crud.engine import perform
from data.crud.ingest import IngestNodes, NodeDraft
from data.crud.leases import DEFERRALS
from data.evidence import EvidenceFiles, evidence_by_owner
from data.extract import Document
from data.models import NodeKind, SourceClass, Task, TaskOrigin
from data.nodes import list_nodes
from data.schema import event
from data.store import Store
from data.tasks import TaskRequest
from research.fetch_errors import FetchError, FetchReason
from research.gate import EvidencePolicy
from research.gather import Gathered, Gatherer, GatherPolicy
from research.hits import EvidenceReader
from research.queue import ResearchQueue
from research.search.base import Hit, Probe, SearchPage, SearchState
from research.sources import shipped_table
from vector.embed import HashingEmbedder

TOPIC = "ORA-12154 could not resolve the connect identifier"
QUESTIONS = ("What is the cause: ORA-12154?", "Which steps resolve ORA-12154 for an Oracle client?")


def page(name: str, about: str = "ORA-12154", publisher: str = "docs") -> Document:
    """A page of running text about `about`; pages of different names share no run of five words."""
    sentences = [
        f"{name.title()} {word} explains that {about} appears when the Oracle client could not resolve the {word} "
        f"{name} connect identifier of an alias in {name} {word} tnsnames."
        for word in ("first", "second", "third", "fourth", "fifth", "sixth")
    ]
    text = f"# {about} and the connect identifier, {name}\n\n" + "\n\n".join(sentences)
    url = f"library:{publisher}/{name}.html"
    return Document(
        url=url, final_url=url, text=text, title=f"{about} connect identifier {name}", publisher=publisher,
        language="en", published_at=None, author=None, source_class=SourceClass.VENDOR, collection=publisher,
    )  # fmt: skip


class Library:
    """A search backend and a fetcher over documents in memory; `down` and `broken` are faults of the outside."""

    name = "memory"

    def __init__(self, *documents: Document) -> None:
        self.documents = {document.url: document for document in documents}
        self.queries: list[str] = []
        self.fetched: list[str] = []
        self.down = False
        self.broken: set[str] = set()

    async def search(self, query: str, *, language: str, limit: int) -> SearchPage:
        self.queries.append(query)
        if self.down:
            return SearchPage(SearchState.BLIND, engines_failed=("memory",))
        hits = tuple(Hit(url, document.title, document.text[:200]) for url, document in self.documents.items())
        return SearchPage(SearchState.HITS if hits else SearchState.NONE, hits[:limit])

    async def probe(self) -> Probe:
        return Probe(True, "")

    async def fetch(self, url: str) -> Document:
        self.fetched.append(url)
        if url in self.broken:
            raise FetchError(FetchReason.TIMEOUT, f"{url} did not answer in time")
        return self.documents[url]


def gatherer(store: Store, library: Library, policy: GatherPolicy | None = None) -> Gatherer:
    reader = EvidenceReader(
        library, library, shipped_table(), HashingEmbedder(256), store.clock, evidence=EvidencePolicy(min_relevance=0.3)
    )
    return Gatherer(store, reader, EvidenceFiles(store.home), policy)


@pytest.fixture
async def task(store: Store) -> Task:
    seed = NodeDraft(NodeKind.TICKET, "Report fails with ORA-12154 (INC-204511)", "It does.", "en", "test:1")
    assert (await perform(store, IngestNodes([seed]), actor="test")).ok
    (node,) = await store.read(list_nodes)
    queue = ResearchQueue(store)
    request = TaskRequest(TOPIC, questions=QUESTIONS, seeds=(node.id,), language="en")
    assert (await queue.enqueue(request, TaskOrigin.SCANNER)).outcome == "created"
    reserved = await queue.reserve("w1")
    assert reserved is not None
    return await queue.start(reserved)


def pages(count: int, **fields: str) -> list[Document]:
    names = [
        "alpha",
        "bravo",
        "charlie",
        "delta",
        "echo",
        "foxtrot",
        "golf",
        "hotel",
        "india",
        "juliett",
        "kilo",
        "lima",
    ]
    return [page(name, publisher=f"docs{number // 2}", **fields) for number, name in enumerate(names[:count])]


async def test_accepted_texts_are_on_disk_and_every_judgement_is_recorded(store: Store, task: Task) -> None:
    off_topic = page("mirrored", about="ORA-01017", publisher="other")
    gathered = await gatherer(store, Library(*pages(2), off_topic)).gather(task)
    assert [text.evidence.url for text in gathered.accepted] == ["library:docs0/alpha.html", "library:docs0/bravo.html"]
    assert (gathered.outside_error, gathered.incomplete, gathered.reason) == (None, None, None)
    for kept in gathered.accepted:
        assert EvidenceFiles(store.home).get(kept.evidence.sha256) == kept.text
        assert kept.evidence.owner == f"task:{task.id}"
        assert Path(store.home / kept.evidence.path).is_file()
    rows = await store.read(evidence_by_owner, f"task:{task.id}")
    refused = [row for row in rows if not row.accepted]
    assert [(row.url, row.reject_reason, row.path) for row in refused] == [
        ("library:other/mirrored.html", "other_identifier", "")
    ]
    assert gathered.refused == {"other_identifier": 1}


async def test_no_page_is_read_twice_whichever_question_finds_it(store: Store, task: Task) -> None:
    library = Library(*pages(2), page("mirrored", about="ORA-01017", publisher="other"))
    gathered = await gatherer(store, library).gather(task)
    assert len(library.queries) == 3  # the topic and its two questions
    assert gathered.queries == tuple(library.queries)
    assert sorted(library.fetched) == sorted(library.documents)
    assert gathered.fetches == 3


async def test_fetches_are_bounded_for_the_whole_task(store: Store, task: Task) -> None:
    library = Library(*pages(12))
    gathered = await gatherer(store, library, GatherPolicy(max_fetches=5, enough=50, enough_each=50)).gather(task)
    assert gathered.fetches == len(library.fetched) == 5
    assert len(gathered.accepted) == 5


async def test_enough_is_enough(store: Store, task: Task) -> None:
    library = Library(*pages(12))
    gathered = await gatherer(store, library, GatherPolicy(enough=2)).gather(task)
    assert len(gathered.accepted) == 2


async def test_a_copy_of_an_accepted_text_is_no_second_witness(store: Store, task: Task) -> None:
    original = page("alpha")
    copy = replace(original, url="library:mirror/alpha.html", final_url="library:mirror/alpha.html", publisher="mirror")
    gathered = await gatherer(store, Library(original, copy)).gather(task)
    assert len(gathered.accepted) == 1
    assert gathered.refused == {"duplicate_content": 1}


async def test_no_internal_id_reaches_a_query_and_a_rebuild_is_an_event(store: Store, task: Task) -> None:
    library = Library(*pages(1))
    asked = replace(task, questions=(f"What does {task.seeds[0]} say?", "Ticket INC-204511 of anna@firma.example"))
    await gatherer(store, library).gather(asked)
    assert all(task.seeds[0].lower() not in query.lower() for query in library.queries)
    assert all("204511" not in query and "firma.example" not in query for query in library.queries)
    rebuilt = select(event.c.payload).where(event.c.name == "think.research.query.rebuilt")
    reasons = await store.read(lambda conn: [payload["reason"] for (payload,) in conn.execute(rebuilt)])
    assert reasons == ["internal_node_id", "private_token"]


async def test_a_blind_search_forbids_every_conclusion(store: Store, task: Task) -> None:
    library = Library(*pages(2))
    library.down = True
    gathered = await gatherer(store, library).gather(task)
    assert (gathered.accepted, gathered.outside_error, gathered.reason) == ((), "search_failed", None)
    patient = replace(task, progress={DEFERRALS: 40})
    assert (await gatherer(store, library).gather(patient)).outside_error == "search_failed"


async def test_pages_that_cannot_be_read_put_the_task_off_but_not_for_ever(store: Store, task: Task) -> None:
    library = Library(*pages(1))
    library.broken = set(library.documents)
    gathered = await gatherer(store, library).gather(task)
    assert (gathered.outside_error, gathered.reason) == ("fetch_failed", None)
    assert gathered.fetches == 1  # a page that failed is not asked again for the next question
    spent = await gatherer(store, library).gather(replace(task, progress={DEFERRALS: 5}))
    assert (spent.outside_error, spent.reason) == (None, "fetch_failed")


async def test_a_failed_page_beside_accepted_ones_is_told_and_stops_nothing(store: Store, task: Task) -> None:
    library = Library(*pages(2))
    library.broken = {next(iter(library.documents))}
    gathered = await gatherer(store, library).gather(task)
    assert len(gathered.accepted) == 1
    assert (gathered.outside_error, gathered.incomplete) == (None, "fetch_failed")


@pytest.mark.parametrize(
    ("documents", "reason"), [([], "no_hits"), ([page("alpha", about="ORA-01017")], "no_accepted_evidence")]
)
async def test_when_everybody_answered_the_reason_is_told(
    store: Store, task: Task, documents: Sequence[Document], reason: str
) -> None:
    gathered = await gatherer(store, Library(*documents)).gather(task)
    assert (gathered.accepted, gathered.outside_error, gathered.reason) == ((), None, reason)


async def test_a_topic_with_nothing_public_is_not_searched(store: Store, task: Task) -> None:
    library = Library(*pages(1))
    secret = replace(task, topic="10.20.4.15", questions=("10.20.4.15?",), seeds=())
    gathered = await gatherer(store, library).gather(secret)
    assert (library.queries, gathered.reason) == ([], "nothing_searchable")


async def test_a_second_run_keeps_what_the_first_has_read(store: Store, task: Task) -> None:
    library = Library(*pages(2), page("mirrored", about="ORA-01017", publisher="other"))
    first = await gatherer(store, library).gather(task)
    library.fetched.clear()
    library.documents |= {document.url: document for document in pages(3)}
    second = await gatherer(store, library).gather(task)
    assert library.fetched == ["library:docs1/charlie.html"]
    assert {text.evidence.id for text in first.accepted} < {text.evidence.id for text in second.accepted}
    assert second.refused == first.refused


async def test_an_altered_file_is_not_served_but_read_again(store: Store, task: Task) -> None:
    library = Library(*pages(1))
    first = await gatherer(store, library).gather(task)
    (store.home / first.accepted[0].evidence.path).write_bytes(b"something else")
    library.fetched.clear()
    second = await gatherer(store, library).gather(task)
    assert library.fetched == list(library.documents)
    assert [text.text for text in second.accepted] == [text.text for text in first.accepted]


async def test_one_more_round_has_a_budget_of_its_own(store: Store, task: Task) -> None:
    library = Library(*pages(12))
    gather = gatherer(store, library, GatherPolicy(max_fetches=2))
    first = await gather.gather(task)
    more = await gather.more(task, ["Where is tnsnames of the Oracle client for ORA-12154?"], fetches=1)
    assert len(more.accepted) == len(first.accepted) + 1
    assert more.fetches == 1


async def test_phase_and_counts_are_told_while_it_runs(store: Store, task: Task, clock: ManualClock) -> None:
    told: list[tuple[str, Mapping[str, int]]] = []

    async def report(phase: str, counts: Mapping[str, int]) -> None:
        told.append((phase, dict(counts)))

    gathered: Gathered = await gatherer(store, Library(*pages(2))).gather(task, report=report)
    assert [phase for phase, _ in told] == ["gathering"] * 3 + ["gathered"]
    assert told[0][1]["fetches"] == 0
    assert told[-1][1]["accepted"] == len(gathered.accepted)
    assert told[-1][1]["fetches"] == gathered.fetches
