"""From a query to judged texts: where every hit falls, and when reading stops."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from data.clock import ManualClock
from data.extract import Document
from data.models import SourceClass
from research.fetch_errors import FetchError, FetchReason
from research.gate import EvidencePolicy
from research.hits import EvidenceReader, FetchBudget, ReadResult, Shortfall, Stage
from research.search.base import Hit, SearchState
from research.search.scope import ScopePolicy
from research.sources import shipped_table
from tests.research import relation_pages as pages
from tests.research.relation_parts import Web, document, web
from vector.embed import HashingEmbedder

PAIR = (pages.VPN_809, pages.NAT_KEY)
QUERY = "Fehler 809 VPN L2TP NAT AssumeUDPEncapsulation"


def reader(source: Web, clock: ManualClock, **knobs: object) -> EvidenceReader:
    policy = EvidencePolicy(cosine_floor=0.0, cosine_ceiling=0.5)
    return EvidenceReader(source, source, shipped_table(), HashingEmbedder(512), clock, evidence=policy, **knobs)  # type: ignore[arg-type]


async def read(source: Web, clock: ManualClock, budget: FetchBudget | None = None, **also: object) -> ReadResult:
    return await reader(source, clock).read(QUERY, PAIR, require="all", budget=budget, **also)  # type: ignore[arg-type]


def stages(result: ReadResult) -> dict[str, tuple[Stage, str | None]]:
    return {trail.url: (trail.stage, trail.reason) for trail in result.trails}


async def test_a_blind_search_forbids_every_conclusion(clock: ManualClock) -> None:
    result = await read(Web(state=SearchState.BLIND, engines_failed=("bing",)), clock)
    assert result.shortfall is Shortfall.SEARCH_FAILED
    assert result.engines_failed == ("bing",)


async def test_a_backend_that_raises_is_blind(clock: ManualClock) -> None:
    result = await read(Web(raises=RuntimeError("boom")), clock)
    assert (result.state, result.shortfall) == (SearchState.BLIND, Shortfall.SEARCH_FAILED)
    assert result.notes == ("memory failed: RuntimeError",)


async def test_everybody_answered_and_nobody_knew(clock: ManualClock) -> None:
    assert (await read(Web(state=SearchState.NONE), clock)).shortfall is Shortfall.NO_HITS


async def test_every_hit_is_recorded_with_where_it_fell(clock: ManualClock) -> None:
    source = web(pages.BOTH_DE, pages.OTHER_CODE_DE, pages.GENERIC_DE, pages.BOTH_EN)
    urls = list(source.documents)
    source.extra = (Hit("ftp://files.example.org/a", "VPN Fehler 809"), Hit(urls[0], "VPN Fehler 809 noch einmal"))
    source.broken = {urls[3]: FetchError(FetchReason.TIMEOUT, "slow")}
    result = await read(source, clock)
    fallen = [(trail.url, trail.stage, trail.reason) for trail in result.trails]
    assert ("ftp://files.example.org/a", Stage.SCOPE, "scheme") in fallen
    assert (urls[0], Stage.SCOPE, "duplicate") in fallen
    assert (urls[0], Stage.ACCEPTED, None) in fallen
    assert (urls[1], Stage.GATE, "other_identifier") in fallen
    assert (urls[2], Stage.SNIPPET, "snippet_off_topic") in fallen
    assert (urls[3], Stage.FETCH, "timeout") in fallen
    assert len(result.trails) == 6
    assert result.counts() == {"hits": 6, "scoped": 4, "fetched": 2, "fetch_errors": 1, "accepted": 1}


async def test_a_failed_fetch_is_an_error_only_where_nothing_was_accepted(clock: ManualClock) -> None:
    good = web(pages.BOTH_DE, pages.BOTH_EN)
    good.broken = {list(good.documents)[1]: FetchError(FetchReason.TLS, "certificate expired")}
    assert (await read(good, clock)).shortfall is None
    bad = web(pages.OTHER_CODE_DE, pages.BOTH_EN)
    bad.broken = {list(bad.documents)[1]: FetchError(FetchReason.TLS, "certificate expired")}
    assert (await read(bad, clock)).shortfall is Shortfall.FETCH_FAILED


async def test_no_text_passed_the_gate(clock: ManualClock) -> None:
    assert (await read(web(pages.OTHER_CODE_DE, pages.NO_CODE_EN), clock)).shortfall is Shortfall.NO_ACCEPTED_EVIDENCE
    assert (await read(web(pages.GENERIC_DE), clock)).shortfall is Shortfall.NO_ACCEPTED_EVIDENCE


async def test_at_most_the_budget_is_fetched(clock: ManualClock) -> None:
    source = web(*[pages.OTHER_CODE_DE] * 6)
    result = await read(source, clock, FetchBudget(fetches=4))
    assert len(source.fetched) == result.fetches == 4
    assert [trail.stage for trail in result.trails].count(Stage.NOT_READ) == 2


async def test_reading_stops_when_there_is_enough(clock: ManualClock) -> None:
    source = web(pages.BOTH_DE, pages.BOTH_EN, pages.OTHER_CODE_DE)
    result = await read(source, clock, FetchBudget(enough=1))
    assert len(source.fetched) == 1
    assert [trail.why for trail in result.trails if trail.stage is Stage.NOT_READ] == ["there is enough evidence"] * 2


async def test_a_mirror_is_no_second_witness_also_of_earlier_rounds(clock: ManualClock) -> None:
    first = await read(web(pages.BOTH_DE), clock)
    accepted = [text.assessment for text in first.accepted]
    again = Web({url: document(pages.BOTH_DE, url) for url in ("https://mirror.example.net/x",)})
    second = await read(again, clock, accepted=accepted)
    assert stages(second) == {"https://mirror.example.net/x": (Stage.GATE, "duplicate_content")}


async def test_hits_that_reach_both_labels_are_read_first(clock: ManualClock) -> None:
    source = web(pages.ONE_SIDED_EN, pages.BOTH_DE)
    await read(source, clock, FetchBudget(fetches=1))
    assert source.fetched == [list(source.documents)[1]]


async def test_what_was_refused_before_is_out_of_scope(clock: ManualClock) -> None:
    source = web(pages.BOTH_DE)
    url = next(iter(source.documents))
    result = await read(source, clock, seen_urls={url})
    assert stages(result) == {url: (Stage.SCOPE, "already_refused")}
    assert source.fetched == []


async def test_a_directive_keeps_sources_out(clock: ManualClock) -> None:
    source = web(pages.BOTH_DE)
    source.extra = (Hit("https://forum.example.org/t", "VPN Fehler 809 L2TP", source_class=SourceClass.FORUM),)
    result = await read(source, clock, directives=["Never cite forums."])
    assert stages(result)["https://forum.example.org/t"] == (Stage.SCOPE, "directive")


async def test_a_blocked_domain_keeps_a_page_out(clock: ManualClock) -> None:
    source = web(pages.BOTH_DE)
    blocking = reader(source, clock, scope=ScopePolicy(block_domains=("docs1.example",)))
    result = await blocking.read(QUERY, PAIR, require="all")
    assert [trail.reason for trail in result.trails] == ["blocked_domain"]


async def test_a_page_that_cannot_be_judged_is_a_fetch_error_and_the_others_go_on(clock: ManualClock) -> None:
    source = web(pages.BOTH_DE, pages.BOTH_EN)
    first, second = source.documents
    source.documents = {first: replace(source.documents[first], text=None), second: source.documents[second]}  # type: ignore[arg-type]
    source.extra = (Hit(first, pages.BOTH_DE.partition("\n\n")[0]), Hit(second, "VPN error 809 L2TP"))

    async def search(query: str, *, language: str, limit: int):  # type: ignore[no-untyped-def]
        from research.search.base import SearchPage

        return SearchPage(SearchState.HITS, source.extra)

    source.search = search  # type: ignore[method-assign]
    result = await read(source, clock)
    assert stages(result)[first] == (Stage.FETCH, "internal_error")
    assert [text.document.url for text in result.accepted] == [second]


async def test_pages_are_fetched_beside_each_other_and_read_as_one_after_the_other(clock: ManualClock) -> None:
    texts = [pages.OTHER_CODE_DE, pages.BOTH_DE, pages.OTHER_CODE_DE.replace("NAT", "Nat"), pages.BOTH_EN]
    single, beside = web(*texts), web(*texts)
    last_first = asyncio.Event()
    under_way: list[int] = []
    fetch = beside.fetch

    async def slow_first(url: str) -> Document:
        under_way.append(len(beside.fetched) + 1)
        document = await fetch(url)
        if len(beside.fetched) == 3:
            last_first.set()
        await last_first.wait()  # nobody is answered before three are on their way
        return document

    beside.fetch = slow_first  # type: ignore[method-assign]
    one = await read(single, clock, FetchBudget(at_once=1))
    several = await read(beside, clock, FetchBudget())
    assert several == one
    assert (beside.fetched, len(one.accepted)) == (single.fetched, 2)


async def test_no_page_is_fetched_that_reading_singly_would_not_have_needed(clock: ManualClock) -> None:
    source = web(pages.BOTH_DE, pages.BOTH_EN, pages.OTHER_CODE_DE)
    await read(source, clock, FetchBudget(enough=1))
    assert len(source.fetched) == 1


async def test_a_cancelled_read_cancels_its_fetches(clock: ManualClock) -> None:
    source = web(pages.BOTH_DE, pages.BOTH_EN)
    ended: list[str] = []

    async def endless(url: str) -> Document:
        try:
            await asyncio.sleep(3600)
        finally:
            ended.append(url)
        raise AssertionError("it was not cancelled")

    source.fetch = endless  # type: ignore[method-assign]
    task = asyncio.create_task(read(source, clock))
    while not task.done() and len(ended) < 1:
        await asyncio.sleep(0.01)
        task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert sorted(ended) == sorted(source.documents)


async def test_an_empty_query_is_never_sent(clock: ManualClock) -> None:
    source = web(pages.BOTH_DE)
    with pytest.raises(ValueError, match="nothing_searchable"):
        await reader(source, clock).read("  ", PAIR, require="all")
    assert source.queries == []
