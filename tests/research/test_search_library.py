"""The library from folder to evidence source: indexed, found, read, weighed, with the real parts."""

from __future__ import annotations

from pathlib import Path

import pytest

from data.clock import ManualClock
from data.extractor import InlineExtractor
from data.library import Library
from data.models import SourceClass
from data.store import Store
from research.fetch import Fetcher
from research.fetch_errors import FetchError, FetchReason
from research.search.base import SearchState
from research.search.library import LibraryBackend
from research.search.scope import ScopePolicy, scope_hits
from research.sources import shipped_table

PAGES = {
    "runbooks/collection.toml": 'publisher = "IT operations"\nclass = "own"\nlanguage = "en"\n',
    "runbooks/vpn 809.md": "# VPN error 809\n\nError 809 means that UDP port 4500 is closed. Open it.\n",
    "runbooks/print.md": "# Print queue\n\nThe print queue is cleared by restarting the spooler.\n",
    "notes/nat.html": "<html><body><p>NAT traversal for the VPN: error 809 again, elsewhere.</p></body></html>",
    "notes/empty.html": "<html><body></body></html>",
}


@pytest.fixture
async def library(tmp_path: Path, store: Store) -> Library:
    for name, text in PAGES.items():
        path = tmp_path / "library" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    made = Library(store, tmp_path / "library", InlineExtractor())
    await made.index()
    return made


async def test_from_a_query_to_a_weighed_document(library: Library, clock: ManualClock) -> None:
    page = await LibraryBackend(library).search("VPN error 809", language="en", limit=5)
    assert page.state is SearchState.HITS and page.engines_failed == ()
    assert {hit.url for hit in page.hits} == {"library:runbooks/vpn%20809.md", "library:notes/nat.html"}
    assert all(0 < hit.score <= 1 and hit.engine == "library" and hit.snippet for hit in page.hits)
    kept, dropped = scope_hits(page.hits, ScopePolicy(), sources=shipped_table())
    assert len(kept) == 2 and not dropped
    async with Fetcher(library, InlineExtractor()) as fetcher:
        documents = {hit.url: await fetcher.fetch(hit.url) for hit in kept}
    own = shipped_table().score(documents["library:runbooks/vpn%20809.md"], clock.now())
    unknown = shipped_table().score(documents["library:notes/nat.html"], clock.now())
    assert (own.source_class, unknown.source_class) == (SourceClass.OWN, SourceClass.UNKNOWN)
    assert own.score > 0.65 > unknown.score


async def test_nobody_knows_and_nothing_matches(library: Library) -> None:
    backend = LibraryBackend(library)
    for query in ("dachgarten bewässern", "", "!!", '"' * 50, "AND OR NOT"):
        assert (await backend.search(query, language="de", limit=5)).state is SearchState.NONE, query
    assert (await backend.probe()).ok


async def test_a_closed_store_is_blind(library: Library, store: Store) -> None:
    await store.close()
    page = await LibraryBackend(library).search("VPN", language="en", limit=5)
    assert page.state is SearchState.BLIND and page.notes


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("library:runbooks/gone.md", FetchReason.HTTP_STATUS),
        ("library:../../etc/passwd", FetchReason.HTTP_STATUS),
        ("library:%2e%2e/secret.md", FetchReason.HTTP_STATUS),
        ("library:/etc/hosts.txt", FetchReason.HTTP_STATUS),
        ("library:", FetchReason.HTTP_STATUS),
        ("library:runbooks/collection.toml", FetchReason.HTTP_STATUS),
        ("library:notes/empty.html", FetchReason.EMPTY_EXTRACTION),
    ],
)
async def test_what_the_library_does_not_give(library: Library, url: str, reason: FetchReason) -> None:
    async with Fetcher(library, InlineExtractor()) as fetcher:
        with pytest.raises(FetchError) as caught:
            await fetcher.fetch(url)
    assert caught.value.reason is reason and not caught.value.retryable
