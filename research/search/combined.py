"""Several backends asked at once and fused by rank (spec 04, Search)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from research.search.base import Hit, Probe, SearchBackend, SearchPage, SearchState
from research.search.urls import canonical_url

__all__ = ["CombinedBackend"]

_K: Final = 60.0
"""Reciprocal rank fusion's constant (Cormack, Clarke and Büttcher, SIGIR 2009): a hit counts 1/(60 + rank) a list."""


class CombinedBackend:
    """Asks all of `backends`; a page that one of them could not give is noted, and blind only where none could
    look and nothing was found."""

    def __init__(self, backends: Sequence[SearchBackend]) -> None:
        if not backends:
            raise ValueError("a combined search needs at least one backend")
        self._backends = tuple(backends)
        self.name = "+".join(backend.name for backend in self._backends)

    async def search(self, query: str, *, language: str, limit: int) -> SearchPage:
        """Return hits of all backends, best first; what several found counts for more."""
        asked = [backend.search(query, language=language, limit=limit) for backend in self._backends]
        pages = await asyncio.gather(*asked)
        hits = _fused(pages)[:limit]
        blind = [page for page in pages if page.state is SearchState.BLIND]
        failed = tuple(dict.fromkeys(name for page in pages for name in page.engines_failed))
        notes = tuple(
            f"{backend.name}: {note}"
            for backend, page in zip(self._backends, pages, strict=True)
            for note in page.notes
        )
        if hits:
            state = SearchState.HITS
        else:  # who could not look may have known: only where everybody looked is nothing known
            state = SearchState.BLIND if blind else SearchState.NONE
        waits = [page.retry_after for page in blind if page.retry_after is not None]
        retry_after = max(waits) if state is SearchState.BLIND and waits else None
        return SearchPage(state, tuple(hits), failed, notes, retry_after)

    async def probe(self) -> Probe:
        """Return the faults of the backends with the settings to change, else that all answer."""
        probes = await asyncio.gather(*(backend.probe() for backend in self._backends))
        bad = [probe for probe in probes if not probe.ok]
        settings = ", ".join(dict.fromkeys(probe.setting for probe in bad if probe.setting))
        return Probe(not bad, "; ".join(probe.message for probe in bad or probes), settings)


def _fused(pages: Sequence[SearchPage]) -> list[Hit]:
    """Return the hits of all pages by summed reciprocal rank; the first page's hit stands for its copies."""
    sums: dict[str, float] = {}
    first: dict[str, Hit] = {}
    engines: dict[str, dict[str, None]] = {}
    for page in pages:
        for place, hit in enumerate(page.hits, start=1):
            try:
                key = canonical_url(hit.url)
            except ValueError:
                key = hit.url
            sums[key] = sums.get(key, 0.0) + 1.0 / (_K + place)
            first.setdefault(key, hit)
            engines.setdefault(key, {}).update(dict.fromkeys(filter(None, hit.engine.split("+"))))
    order = sorted(sums, key=lambda key: -sums[key])  # stable: the earlier backend wins a tie
    best = sums[order[0]] if order else 1.0
    return [
        replace(first[key], engine="+".join(engines[key]), rank=rank, score=round(sums[key] / best, 6))
        for rank, key in enumerate(order, start=1)
    ]
