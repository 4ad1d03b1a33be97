"""Putting chosen sentences in order, so that they read on and no long run of one source is taken over (spec 06).

A run is what stands in the source in one piece and in the article in one piece. It is broken by words of another
source, by a gap in the source, or by one of our fixed lead-ins between two sentences.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from articles.plaintext import prose_words
from articles.roles import DraftCitation, DraftClaim, PassageView
from articles.selection import Candidate
from data.text import Span

__all__ = ["RunCounter", "arrange_claims", "draft_citations"]

_LEAD_INS: Final = ("also", "adds")
MOST_LEAD_INS: Final = 1
"""A paragraph: two of them read like a list."""
NEAR: Final = 40
"""Characters between two passages of one source that may hold nothing but a mark or a blank line."""


class RunCounter:
    """Counts the prose words that would stand in one piece in the source and in the article."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._view: PassageView | None = None
        self._end = 0
        self._run = 0

    def fits(self, view: PassageView, pieces: Sequence[Span]) -> bool:
        """Tell whether `pieces` may come next without a lead-in."""
        return self._after(view, pieces)[0] <= self._limit

    def add(self, view: PassageView, pieces: Sequence[Span], *, after_lead_in: bool = False) -> None:
        """Count `pieces` as written."""
        if after_lead_in:
            self._view = None
        _, self._run = self._after(view, pieces)
        self._view = view
        self._end = pieces[-1].end

    def _after(self, view: PassageView, pieces: Sequence[Span]) -> tuple[int, int]:
        """Return (longest run, run still open) if `pieces` came next."""
        run = self._run if self._touches(view, pieces[0].start) else 0
        longest = 0
        previous: Span | None = None
        for piece in pieces:
            words = len(prose_words(_cut(view, piece)))
            if previous is not None and prose_words(_cut(view, Span(previous.end, piece.start))):
                run = 0
            run += words
            longest = max(longest, run)
            previous = piece
        return longest, run

    def _touches(self, view: PassageView, start: int) -> bool:
        if self._view is None or self._view.source != view.source or start < self._end:
            return False
        if self._view.id == view.id:
            return not prose_words(_cut(view, Span(self._end, start)))
        return start - self._end <= NEAR


def _cut(view: PassageView, span: Span) -> str:
    return view.text[span.start - view.start : span.end - view.start]


def draft_citations(view: PassageView, spans: Sequence[Span]) -> tuple[DraftCitation, ...]:
    """Return one citation a span of `view`'s source."""
    return tuple(DraftCitation(source=view.source, quote=_cut(view, span), start=span.start) for span in spans)


def arrange_claims(
    chosen: Sequence[Candidate], views: Mapping[str, PassageView], language: str, limit: int
) -> tuple[tuple[DraftClaim, ...], ...]:
    """Return `chosen` as paragraphs: one source after the other, the best first, in the order of the source.

    A sentence that would make a run too long gets a lead-in, or goes where the paragraph has one already.
    """
    order = list(dict.fromkeys(candidate.view.source for candidate in chosen))
    groups = [sorted((c for c in chosen if c.view.source == source), key=lambda c: c.said.start) for source in order]
    if sum(len(group) for group in groups) <= 4 or any(len(group) < 2 for group in groups):
        groups = [[candidate for group in groups for candidate in group]]
    paragraphs: list[tuple[DraftClaim, ...]] = []
    counter = RunCounter(limit)
    for group in groups:
        claims: list[DraftClaim] = []
        leads = 0
        before: Candidate | None = None
        for candidate in group:
            if candidate.said.dependent and not _follows(candidate, before):
                continue
            pieces = candidate.said.pieces
            lead = ""
            if not counter.fits(candidate.view, pieces):
                if leads >= MOST_LEAD_INS or candidate.said.dependent:
                    continue
                lead = _LEAD_INS[(len(paragraphs) + leads) % len(_LEAD_INS)]
                leads += 1
            counter.add(candidate.view, pieces, after_lead_in=bool(lead))
            claims.append(
                DraftClaim(text=candidate.said.text, citations=draft_citations(candidate.view, pieces), lead_in=lead)
            )
            before = candidate
        if claims:
            paragraphs.append(tuple(claims))
    return tuple(paragraphs)


def _follows(candidate: Candidate, before: Candidate | None) -> bool:
    if before is None or before.view.id != candidate.view.id:
        return False
    return not _cut(candidate.view, Span(before.said.end, candidate.said.start)).strip()
