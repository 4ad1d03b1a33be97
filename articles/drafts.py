"""Between what a reasoner drafted and the article: citations are found in the evidence, or they are none.

A drafted citation names a source and quotes it. Code looks the quote up in the passages that were shown; where it
does not stand there verbatim (white space apart) the citation is dropped, and the claim stands uncited.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from articles.roles import (
    ArticleDraft,
    DraftCitation,
    DraftClaim,
    DraftFact,
    DraftOption,
    DraftSection,
    DraftStep,
    PassageView,
)
from articles.types import (
    Article,
    Block,
    Citation,
    Claim,
    Fact,
    FactTable,
    Option,
    OptionList,
    Paragraph,
    Section,
    Source,
    Step,
    StepList,
)
from data.models import ArticleType

__all__ = ["Shelf", "article_from_draft", "draft_from_article"]


@dataclass(frozen=True)
class Shelf:
    """The sources of one run by their shown names, and the passages of each that may be cited."""

    sources: Mapping[str, Source]
    passages: Sequence[PassageView]

    def name_of(self, evidence_id: str) -> str:
        """Return the shown name of an evidence; raise KeyError for one that is not on the shelf."""
        for name, source in self.sources.items():
            if source.evidence.id == evidence_id:
                return name
        raise KeyError(evidence_id)

    def cite(self, drafted: DraftCitation) -> Citation | None:
        """Return the citation with its span, or None where the quote stands in no shown passage of its source."""
        source = self.sources.get(drafted.source)
        quote = drafted.quote.strip()
        if source is None or not quote:
            return None
        spans = [(view.start, view.end) for view in self.passages if view.source == drafted.source]
        start = drafted.start
        if start is not None and source.text.startswith(quote, start):
            end = start + len(quote)
            if any(low <= start and end <= high for low, high in spans):
                return Citation(source, start, end)
        pattern = re.compile(r"\s+".join(re.escape(word) for word in quote.split()))
        for low, high in spans:
            if match := pattern.search(source.text, low, high):
                return Citation(source, match.start(), match.end())
        return None

    def cite_all(self, drafted: Sequence[DraftCitation]) -> tuple[Citation, ...]:
        """Return the citations that hold, in order, each once."""
        return tuple(dict.fromkeys(found for one in drafted if (found := self.cite(one)) is not None))


def article_from_draft(draft: ArticleDraft, shelf: Shelf, *, topic: str, type_: ArticleType, language: str) -> Article:
    """Return the article that `draft` describes, with every citation that the evidence holds."""
    return Article(
        type=type_,
        topic=topic,
        language=language,
        title=" ".join(draft.title.split()),
        summary=tuple(_claim(claim, shelf) for claim in draft.summary),
        applies_to=tuple(_fact(fact, shelf) for fact in draft.applies_to),
        sections=tuple(section for drafted in draft.sections if (section := _section(drafted, shelf)).blocks),
    )


def _claim(drafted: DraftClaim, shelf: Shelf) -> Claim:
    return Claim(drafted.text, shelf.cite_all(drafted.citations), drafted.lead_in)


def _step(drafted: DraftStep, shelf: Shelf) -> Step:
    return Step(drafted.text, shelf.cite_all(drafted.citations), drafted.code, drafted.lead_in)


def _fact(drafted: DraftFact, shelf: Shelf) -> Fact:
    return Fact(drafted.term, drafted.description, shelf.cite_all(drafted.citations))


def _option(drafted: DraftOption, shelf: Shelf) -> Option:
    return Option(drafted.name, tuple(_claim(claim, shelf) for claim in drafted.criteria))


def _section(drafted: DraftSection, shelf: Shelf) -> Section:
    blocks: list[Block] = [Paragraph(tuple(_claim(c, shelf) for c in group)) for group in drafted.paragraphs if group]
    if drafted.steps:
        blocks.append(StepList(tuple(_step(step, shelf) for step in drafted.steps)))
    if drafted.facts:
        blocks.append(FactTable(tuple(_fact(fact, shelf) for fact in drafted.facts)))
    if drafted.options:
        blocks.append(OptionList(tuple(_option(option, shelf) for option in drafted.options)))
    return Section(drafted.name, tuple(blocks))


def draft_from_article(article: Article, shelf: Shelf) -> ArticleDraft:
    """Return the draft that `article_from_draft` would turn into `article`: what a corrector is given."""

    def cite(citations: Sequence[Citation]) -> tuple[DraftCitation, ...]:
        return tuple(
            DraftCitation(source=shelf.name_of(one.evidence_id), quote=one.quote, start=one.start) for one in citations
        )

    def claims(entries: Sequence[Claim]) -> tuple[DraftClaim, ...]:
        return tuple(DraftClaim(text=c.text, citations=cite(c.citations), lead_in=c.lead_in) for c in entries)

    def facts(entries: Sequence[Fact]) -> tuple[DraftFact, ...]:
        return tuple(DraftFact(term=f.term, description=f.description, citations=cite(f.citations)) for f in entries)

    def section(entry: Section) -> DraftSection:
        parts: dict[str, Any] = {"paragraphs": (), "steps": (), "facts": (), "options": ()}
        for block in entry.blocks:
            match block:
                case Paragraph(claims=entries):
                    parts["paragraphs"] += (claims(entries),)
                case StepList(steps=steps):
                    parts["steps"] += tuple(
                        DraftStep(text=s.text, citations=cite(s.citations), code=s.code, lead_in=s.lead_in)
                        for s in steps
                    )
                case FactTable(facts=entries):
                    parts["facts"] += facts(entries)
                case OptionList(options=options):
                    parts["options"] += tuple(DraftOption(name=o.name, criteria=claims(o.criteria)) for o in options)
        return DraftSection(name=entry.name, **parts)

    return ArticleDraft(
        title=article.title,
        summary=claims(article.summary),
        applies_to=facts(article.applies_to),
        sections=tuple(section(entry) for entry in article.sections),
    )
