"""Wiring: every part is made here once, given what it needs, and closed in reverse order (one exit stack)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from articles.handlers import article_handlers
from articles.pipeline import Synthesis
from articles.publish import Publisher
from brain import policies
from brain.config import ConfigError, Settings
from brain.embedding import configured_embedder
from brain.homes import open_store
from data.clock import Clock, SystemClock
from data.evidence import EvidenceFiles
from data.extractor import Extractor
from data.library import Library
from data.locks import EngineMutex
from data.shared import check_shared_folders
from data.state import get_state, set_state
from data.store import Store
from research.extractive_relation import relation_handlers
from research.fetch import Fetcher
from research.gather import Gatherer, GatherPolicy
from research.hits import EvidenceReader
from research.plan import plan_handlers
from research.private import GuardPolicy
from research.queue import ResearchQueue
from research.reasoner import ExtractiveReasoner, Reasoner
from research.relation import RelationPolicy, RelationResearch
from research.search.base import SearchBackend
from research.search.combined import CombinedBackend
from research.search.library import LibraryBackend
from research.search.searxng import SearxngBackend
from research.sources import SourceError, SourceTable
from vector.embed import Embedder
from vector.maintenance import Maintenance

__all__ = ["Runtime", "open_runtime"]

EXTRACTION_WORKERS = 2


@dataclass(frozen=True, slots=True)
class Runtime:
    """All parts of one process, ready to work."""

    settings: Settings
    clock: Clock
    store: Store
    mutex: EngineMutex
    library: Library
    extractor: Extractor
    embedder: Embedder
    search: SearchBackend
    fetcher: Fetcher
    files: EvidenceFiles
    reasoner: Reasoner
    relations: RelationResearch
    queue: ResearchQueue
    gatherer: Gatherer
    synthesis: Synthesis
    publisher: Publisher
    maintenance: Maintenance


@asynccontextmanager
async def open_runtime(
    settings: Settings, *, clock: Clock | None = None, embedder: Embedder | None = None
) -> AsyncIterator[Runtime]:
    """Yield the wired parts over the configured home; nothing heavy is loaded before it is used.

    `embedder` replaces the configured one (tests). Raises ConfigError for settings that do not fit together,
    StoreError for a home that cannot be used.
    """
    clock = clock or SystemClock()
    policies.glpi_policy(settings)  # says what is missing before anything is opened
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(open_store(settings, clock=clock))
        await check_shared_folders(store, settings.library_path.absolute())
        extractor = await stack.enter_async_context(Extractor(EXTRACTION_WORKERS))
        library = Library(store, settings.library_path.absolute(), extractor)
        search = await _search(settings, library, clock, stack)
        fetcher = await stack.enter_async_context(_fetcher(settings, library, extractor, clock))
        model = embedder or configured_embedder(settings)
        await _name_model(store, model)
        files = EvidenceFiles(settings.home.absolute())
        guard = policies.guard_policy(settings)
        reasoner = _reasoner(model, guard)
        reader = EvidenceReader(
            search,
            fetcher,
            _sources(settings),
            model,
            clock,
            evidence=policies.evidence_policy(settings),
            scope=policies.scope_policy(settings),
        )
        mutex = EngineMutex(store)
        yield Runtime(
            settings=settings,
            clock=clock,
            store=store,
            mutex=mutex,
            library=library,
            extractor=extractor,
            embedder=model,
            search=search,
            fetcher=fetcher,
            files=files,
            reasoner=reasoner,
            relations=RelationResearch(
                store,
                reasoner,
                reader,
                files,
                policy=RelationPolicy(),
                pairs=policies.pair_policy(settings),
                guard=guard,
            ),
            queue=ResearchQueue(store, policies.queue_policy(settings)),
            gatherer=Gatherer(
                store, reader, files, GatherPolicy(max_fetches=settings.research_max_fetches_per_task, privacy=guard)
            ),
            synthesis=Synthesis(store, reasoner, model, policies.article_policy(settings)),
            publisher=Publisher(store, files),
            maintenance=Maintenance(
                store,
                model,
                mutex,
                policies.vector_policy(settings),
                policies.layout_policy(settings),
                relax_interval=settings.vector_graph_layout_relax_interval,
            ),
        )


def _reasoner(embedder: Embedder, guard: GuardPolicy) -> Reasoner:
    return ExtractiveReasoner({**relation_handlers(embedder), **plan_handlers(), **article_handlers(embedder, guard)})


def _fetcher(settings: Settings, library: Library, extractor: Extractor, clock: Clock) -> Fetcher:
    try:
        return Fetcher(library, extractor, policies.fetch_policy(settings), clock)
    except ValueError as error:
        raise ConfigError(f"BRAIN_FETCH_ALLOW_HOSTS: {error}") from error


def _sources(settings: Settings) -> SourceTable:
    try:
        return SourceTable.load(*policies.source_tables(settings))
    except SourceError as error:
        raise ConfigError(f"BRAIN_SOURCE_TABLE: {error}") from error


async def _search(settings: Settings, library: Library, clock: Clock, stack: AsyncExitStack) -> SearchBackend:
    backends: list[SearchBackend] = []
    for name in settings.search_backends:
        if name == "library":
            backends.append(LibraryBackend(library))
        elif name == "searxng":
            backends.append(await stack.enter_async_context(_searxng(settings, clock)))
        else:
            raise ConfigError(f"BRAIN_SEARCH_BACKENDS names {name!r}; expected is library, searxng, or both.")
    if not backends:
        raise ConfigError("BRAIN_SEARCH_BACKENDS is empty; expected is library, searxng, or both.")
    return backends[0] if len(backends) == 1 else CombinedBackend(backends)


def _searxng(settings: Settings, clock: Clock) -> SearxngBackend:
    if not settings.searxng_url:
        raise ConfigError("BRAIN_SEARCH_BACKENDS names searxng and BRAIN_SEARXNG_URL is not set.")
    try:
        return SearxngBackend(settings.searxng_url, policies.searxng_policy(settings), clock)
    except ValueError as error:
        raise ConfigError(f"{error}.") from error


async def _name_model(store: Store, embedder: Embedder) -> None:
    """Note the vector space in the store, so that status can count what is embedded in it."""
    if await store.read(get_state, "embed_model") != embedder.name:
        await store.write(set_state, "embed_model", embedder.name)
