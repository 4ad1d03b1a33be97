"""From a guarded query to judged texts: what a relation and a research task do alike (spec 04, 05).

    search → source scope → snippet gate → fetch (at most N, until there is enough) → evidence gate

`EvidenceReader.read` follows every hit to the place where it fell and says so. Nothing that the outside does
makes it raise: a blind search is a state of the result, a page that cannot be read is a fetch error, and
both forbid the conclusion that nothing is known (`ReadResult.shortfall`).

Texts and hits live in the result alone. Nothing is stored here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, Protocol

import structlog

from data.clock import Clock
from data.extract import Document
from data.models import Label
from research.fetch_errors import FetchError
from research.gate import Assessment, EvidencePolicy, SnippetVerdict, assess_evidence, snippet_gate
from research.search.base import Hit, SearchBackend, SearchPage, SearchState
from research.search.scope import ScopePolicy, scope_hits
from research.sources import SourceTable
from research.topic import Require
from vector.embed import Embedder

__all__ = [
    "EvidenceReader",
    "FetchBudget",
    "HitTrail",
    "PageFetcher",
    "ReadResult",
    "ReadText",
    "Shortfall",
    "Stage",
]

log = structlog.get_logger(__name__)

UNREADABLE: Final = "internal_error"
"""A text that could not be fetched or judged for a fault of the house; it counts as a fetch error, never as a no."""


class Stage(StrEnum):
    """Where a hit fell; `ACCEPTED` where it did not."""

    SCOPE = "scope"
    SNIPPET = "snippet"
    NOT_READ = "not_read"
    FETCH = "fetch"
    GATE = "gate"
    ACCEPTED = "accepted"


class Shortfall(StrEnum):
    """Why there is no evidence, in the order of the table "Fail closed" (spec 04)."""

    SEARCH_FAILED = "search_failed"
    FETCH_FAILED = "fetch_failed"
    NO_HITS = "no_hits"
    NO_ACCEPTED_EVIDENCE = "no_accepted_evidence"


@dataclass(frozen=True, slots=True)
class FetchBudget:
    """How much may be looked at for one question."""

    hits: int = 20
    """Asked of the search; most fall before they cost a fetch."""
    fetches: int = 4
    enough: int = 3
    """Accepted texts, with those accepted before, at which no further page is fetched."""
    at_once: int = 4
    """Pages fetched beside each other; one host is still asked one at a time."""


@dataclass(frozen=True, slots=True)
class HitTrail:
    """One hit and where it fell, as it is shown to a person."""

    url: str
    title: str
    engine: str
    stage: Stage
    reason: str | None
    why: str


@dataclass(frozen=True, slots=True)
class ReadText:
    """One text that was read in full, with its judgement."""

    document: Document
    assessment: Assessment
    fetched_at: datetime


@dataclass(frozen=True, slots=True)
class ReadResult:
    """What one query brought. `trails` holds every hit once; `texts` every page that was judged."""

    query: str
    state: SearchState
    engines_failed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    trails: tuple[HitTrail, ...] = ()
    texts: tuple[ReadText, ...] = ()
    fetches: int = 0
    retry_after: float | None = None

    @property
    def accepted(self) -> tuple[ReadText, ...]:
        return tuple(text for text in self.texts if text.assessment.accepted)

    @property
    def fetch_errors(self) -> tuple[HitTrail, ...]:
        return tuple(trail for trail in self.trails if trail.stage is Stage.FETCH)

    @property
    def shortfall(self) -> Shortfall | None:
        """Return why there is no evidence, None where there is some."""
        if self.state is SearchState.BLIND:
            return Shortfall.SEARCH_FAILED
        if self.accepted:
            return None
        if self.fetch_errors:
            return Shortfall.FETCH_FAILED
        if self.state is SearchState.NONE or not self.trails:
            return Shortfall.NO_HITS
        return Shortfall.NO_ACCEPTED_EVIDENCE

    def counts(self) -> dict[str, int]:
        """Return what an event says: hits, those within scope, fetched, fetch errors, accepted."""
        return {
            "hits": len(self.trails),
            "scoped": sum(trail.stage is not Stage.SCOPE for trail in self.trails),
            "fetched": len(self.texts),
            "fetch_errors": len(self.fetch_errors),
            "accepted": len(self.accepted),
        }


class PageFetcher(Protocol):
    """Who reads a page (`research.fetch.Fetcher`)."""

    async def fetch(self, url: str) -> Document:
        """Return the document at `url`; raise FetchError for whatever the page or its server does."""
        ...


class EvidenceReader:
    """Looks for texts and judges them. Holds no state of a question: one reader serves all passes."""

    def __init__(
        self,
        search: SearchBackend,
        fetcher: PageFetcher,
        sources: SourceTable,
        embedder: Embedder,
        clock: Clock,
        *,
        evidence: EvidencePolicy | None = None,
        scope: ScopePolicy | None = None,
    ) -> None:
        self._search = search
        self._fetcher = fetcher
        self._sources = sources
        self._embedder = embedder
        self._clock = clock
        self._evidence = evidence or EvidencePolicy()
        self._scope = scope or ScopePolicy()

    async def read(
        self,
        query: str,
        labels: Sequence[Label],
        *,
        require: Require,
        questions: Sequence[str] = (),
        language: str = "und",
        budget: FetchBudget | None = None,
        directives: Sequence[str] = (),
        seen_urls: Collection[str] = frozenset(),
        accepted: Sequence[Assessment] = (),
    ) -> ReadResult:
        """Return what `query` brought for `labels`.

        query: has passed the guard and is not empty.
        seen_urls: already refused for this question; they are out of scope.
        accepted: judgements of texts that count as witnesses already, for the independence of new ones.
        """
        if not query.strip():
            raise ValueError("an empty query is never sent; the guard says nothing_searchable")
        budget = budget or FetchBudget()
        page = await self._ask(query, language, budget.hits)
        if page.state is not SearchState.HITS:
            return ReadResult(query, page.state, page.engines_failed, page.notes, retry_after=page.retry_after)
        trails, queue = self._sift(page.hits, labels, directives, seen_urls)
        texts: list[ReadText] = []
        witnesses = list(accepted)
        fetches = 0
        while wave := queue[fetches : fetches + _wave(budget, fetches, len(witnesses))]:
            fetches += len(wave)
            for hit, got in zip(wave, await self._fetch_all(wave), strict=True):
                outcome = (
                    got
                    if isinstance(got, HitTrail)
                    else await self._judge(hit, *got, query, labels, require, questions, witnesses)
                )
                if isinstance(outcome, HitTrail):
                    trails.append(outcome)
                    continue
                texts.append(outcome)
                judged = outcome.assessment
                stage = Stage.ACCEPTED if judged.accepted else Stage.GATE
                trails.append(_trail(hit, stage, judged.reject_reason, judged.assessment_reason))
                if judged.accepted:
                    witnesses.append(judged)
        spent = "there is enough evidence" if len(witnesses) >= budget.enough else "the fetches are spent"
        trails += [_trail(hit, Stage.NOT_READ, None, spent) for hit in queue[fetches:]]
        return ReadResult(query, page.state, page.engines_failed, page.notes, tuple(trails), tuple(texts), fetches)

    async def _ask(self, query: str, language: str, limit: int) -> SearchPage:
        try:
            return await self._search.search(query, language=language, limit=limit)
        except Exception as error:  # a backend that breaks its promise is blind, whatever it raised
            log.warning("search.raised", backend=self._search.name, error=repr(error))
            note = f"{self._search.name} failed: {type(error).__name__}"
            return SearchPage(SearchState.BLIND, engines_failed=(self._search.name,), notes=(note,))

    def _sift(
        self, hits: Sequence[Hit], labels: Sequence[Label], directives: Sequence[str], seen_urls: Collection[str]
    ) -> tuple[list[HitTrail], list[Hit]]:
        """Return the trails of hits that fell before a fetch, and the others in the order they should be read.

        Hits whose title or snippet reaches more of the labels come first, because fetches are few; among
        equals the search engine's order stands.
        """
        kept, dropped = scope_hits(hits, self._scope, directives, seen_urls, self._sources)
        trails = [_trail(out.hit, Stage.SCOPE, str(out.reason), out.why) for out in dropped]
        passed: list[tuple[Hit, SnippetVerdict]] = []
        for hit in kept:
            verdict = snippet_gate(hit, labels, self._evidence)
            if verdict.passed:
                passed.append((hit, verdict))
            else:
                why = "title and snippet share no anchor with a label"
                trails.append(_trail(hit, Stage.SNIPPET, "snippet_off_topic", why))
        passed.sort(key=lambda entry: -entry[1].reached)
        return trails, [hit for hit, _ in passed]

    async def _fetch_all(self, hits: Sequence[Hit]) -> list[tuple[Document, datetime] | HitTrail]:
        """Fetch these pages beside each other; a host's turns are the fetcher's. A failed one fails alone."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._fetch(hit)) for hit in hits]
        return [task.result() for task in tasks]

    async def _fetch(self, hit: Hit) -> tuple[Document, datetime] | HitTrail:
        try:
            document = await self._fetcher.fetch(hit.url)
        except FetchError as error:
            return _trail(hit, Stage.FETCH, str(error.reason), str(error))
        except Exception as error:  # a fetcher that breaks its promise: this page failed, the others are read
            log.warning("fetch.raised", url=hit.url, error=repr(error))
            return _trail(hit, Stage.FETCH, UNREADABLE, f"{type(error).__name__}: {error}")
        return document, self._clock.now()

    async def _judge(
        self,
        hit: Hit,
        document: Document,
        fetched_at: datetime,
        query: str,
        labels: Sequence[Label],
        require: Require,
        questions: Sequence[str],
        witnesses: Sequence[Assessment],
    ) -> ReadText | HitTrail:
        try:
            assessment = await asyncio.to_thread(
                assess_evidence,
                document,
                anchors=labels,
                require=require,
                questions=questions,
                query=query,
                accepted=tuple(witnesses),
                sources=self._sources,
                embedder=self._embedder,
                policy=self._evidence,
                now=fetched_at,
            )
        except Exception as error:  # one page that cannot be judged must not end the pass; it is said, not hidden
            log.warning("gate.raised", url=hit.url, error=repr(error))
            return _trail(hit, Stage.FETCH, UNREADABLE, f"{type(error).__name__}: {error}")
        return ReadText(document, assessment, fetched_at)


def _wave(budget: FetchBudget, fetches: int, witnesses: int) -> int:
    """Return how many pages may be fetched at once: all of them would be read one after the other as well.

    Were each of them accepted, there would be just enough. So the pages that are read, their order and their
    judgements are those of reading them singly.
    """
    return max(0, min(budget.at_once, budget.fetches - fetches, budget.enough - witnesses))


def _trail(hit: Hit, stage: Stage, reason: str | None, why: str) -> HitTrail:
    return HitTrail(hit.url, hit.title, hit.engine, stage, reason, why)
