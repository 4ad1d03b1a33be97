"""Several backends as one, and the library behind the port."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from data.errors import StoreUnavailable
from data.library_query import LibraryHit
from data.models import SourceClass
from research.search.base import Hit, Probe, SearchPage, SearchState
from research.search.combined import CombinedBackend
from research.search.library import LibraryBackend


@dataclass
class Fixed:
    """A backend that answers what it is told."""

    name: str
    page: SearchPage
    ok: bool = True

    async def search(self, query: str, *, language: str, limit: int) -> SearchPage:
        return self.page

    async def probe(self) -> Probe:
        return Probe(self.ok, f"{self.name} says so", "" if self.ok else f"BRAIN_{self.name.upper()}")


def hits(*urls: str, engine: str = "e") -> SearchPage:
    return SearchPage(SearchState.HITS, tuple(Hit(url=url, title=url, engine=engine) for url in urls))


NONE = SearchPage(SearchState.NONE)
BLIND = SearchPage(SearchState.BLIND, engines_failed=("searxng",), notes=("down",), retry_after=30.0)


async def combined(*pages: SearchPage, limit: int = 10) -> SearchPage:
    backend = CombinedBackend([Fixed(f"b{number}", page) for number, page in enumerate(pages)])
    return await backend.search("x", language="en", limit=limit)


async def test_ranks_are_fused_and_what_both_found_comes_first() -> None:
    page = await combined(
        hits("library:a/1.md", "https://both.org/x", engine="library"),
        hits("https://www.both.org/x/?utm_source=1", "https://c.org/", engine="docs+alt"),
    )
    assert [hit.url for hit in page.hits] == ["https://both.org/x", "library:a/1.md", "https://c.org/"]
    assert page.hits[0].engine == "library+docs+alt"
    assert [hit.rank for hit in page.hits] == [1, 2, 3]
    assert page.hits[0].score == 1.0 > page.hits[1].score > page.hits[2].score > 0
    assert len((await combined(hits("https://a.org/", "https://b.org/"), limit=1)).hits) == 1


@pytest.mark.parametrize(
    ("pages", "state", "failed", "retry"),
    [
        ((NONE, NONE), SearchState.NONE, (), None),
        ((hits("https://a.org/"), BLIND), SearchState.HITS, ("searxng",), None),
        ((BLIND, BLIND), SearchState.BLIND, ("searxng",), 30.0),
        ((NONE, BLIND), SearchState.BLIND, ("searxng",), 30.0),  # who could not look may have known
        ((hits("https://a.org/"), NONE), SearchState.HITS, (), None),
    ],
)
async def test_states(
    pages: tuple[SearchPage, ...], state: SearchState, failed: tuple[str, ...], retry: float | None
) -> None:
    page = await combined(*pages)
    assert (page.state, page.engines_failed, page.retry_after) == (state, failed, retry)
    assert bool(page.notes) is bool(failed)


async def test_the_probe_is_as_good_as_the_worst() -> None:
    assert (await CombinedBackend([Fixed("a", NONE), Fixed("b", NONE)]).probe()).ok
    bad = await CombinedBackend([Fixed("a", NONE), Fixed("b", NONE, ok=False)]).probe()
    assert (bad.ok, bad.setting) == (False, "BRAIN_B")
    with pytest.raises(ValueError):
        CombinedBackend([])


class Shelf:
    def __init__(self, *found: LibraryHit, broken: bool = False) -> None:
        self.found = found
        self.broken = broken

    async def search(self, query: str, language: str, limit: int) -> tuple[LibraryHit, ...]:
        if self.broken:
            raise StoreUnavailable("the store is locked", reason="locked")
        return self.found[:limit]


async def test_library_hits_carry_publisher_and_class() -> None:
    one = LibraryHit("library:runbooks/a.md", "VPN", "restart it", "IT", SourceClass.OWN, "de", None, 8.0)
    two = LibraryHit("library:manuals/b.html", "NAT", "", "Vendor", SourceClass.VENDOR, "en", None, 2.0)
    page = await LibraryBackend(Shelf(one, two)).search("vpn", language="de", limit=5)
    assert page.state is SearchState.HITS
    assert [(h.url, h.publisher, h.source_class, h.engine, h.rank, h.score) for h in page.hits] == [
        ("library:runbooks/a.md", "IT", SourceClass.OWN, "library", 1, 1.0),
        ("library:manuals/b.html", "Vendor", SourceClass.VENDOR, "library", 2, 0.25),
    ]


async def test_an_empty_library_knows_nothing_and_a_broken_store_is_blind() -> None:
    assert (await LibraryBackend(Shelf()).search("vpn", language="de", limit=5)).state is SearchState.NONE
    broken = LibraryBackend(Shelf(broken=True))
    page = await broken.search("vpn", language="de", limit=5)
    assert page.state is SearchState.BLIND and "locked" in page.notes[0]
    assert not (await broken.probe()).ok
    assert (await LibraryBackend(Shelf()).probe()).ok
