"""The operator's own documents behind the search port (spec 04, Search)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from data.errors import StoreError
from data.library_query import LibraryHit
from research.search.base import Hit, Probe, SearchPage, SearchState

__all__ = ["LibraryBackend"]


class LibraryIndex(Protocol):
    """`data.library.Library`, as far as it is needed here."""

    async def search(self, query: str, language: str, limit: int) -> Sequence[LibraryHit]: ...


class LibraryBackend:
    """Full-text search over the library; it is never blind unless the store cannot be read."""

    name = "library"

    def __init__(self, library: LibraryIndex) -> None:
        self._library = library

    async def search(self, query: str, *, language: str, limit: int) -> SearchPage:
        """Return the documents that match best."""
        try:
            found = await self._library.search(query, language, limit)
        except StoreError as error:  # it could not look, so nothing follows
            note = f"the library cannot be searched: {error or type(error).__name__}"
            return SearchPage(SearchState.BLIND, engines_failed=(self.name,), notes=(note,))
        best = max((hit.score for hit in found), default=0.0)
        hits = tuple(
            Hit(
                url=hit.url,
                title=hit.title,
                snippet=hit.snippet,
                publisher=hit.publisher,
                source_class=hit.source_class,
                language=hit.language,
                published_at=hit.published_at,
                engine=self.name,
                rank=rank,
                score=round(hit.score / best, 6) if best > 0 else 0.0,
            )
            for rank, hit in enumerate(found, start=1)
        )
        return SearchPage(SearchState.HITS if hits else SearchState.NONE, hits)

    async def probe(self) -> Probe:
        """Say whether the library answers."""
        page = await self.search("test", language="und", limit=1)
        if page.state is SearchState.BLIND:
            return Probe(False, page.notes[0], "BRAIN_LIBRARY_DIR")
        return Probe(True, "the library answers")
