"""The extractive author: an article assembled from the brief's passages, each part with its citation (spec 06).

It takes sentences whole or shortened, instructions with their commands, and facts; it orders them, leaves out what
was said already, and keeps every run from one source below the limit. It adds nothing but fixed phrases. The same
request gives the same draft.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Final

from articles.arrange import RunCounter, arrange_claims, draft_citations
from articles.desk import Desk
from articles.facts import option_names
from articles.material import versions_of
from articles.phrases import title_for
from articles.procedures import procedure
from articles.relevance import Nearness, index_of, topic_model
from articles.roles import (
    ArticleDraft,
    ArticleDraftRequest,
    CorrectionBackground,
    DraftCitation,
    DraftClaim,
    DraftFact,
    DraftSection,
)
from articles.selection import FLOOR, NEAR_SHARE, Candidate, Near, redundant
from articles.sentences import points_back
from articles.summary import opening_sentences
from articles.tables import facts_section, mentions, name_terms, options_section
from articles.types import MIN_OPTIONS, OPERATIONAL, REQUIRED_SECTIONS, SectionName
from data.models import ArticleType
from data.text import identifiers, terms
from research.private import DEFAULT_POLICY, GuardPolicy, private_tokens
from vector.embed import Embedder

__all__ = ["fresh_claims", "public_title", "write_article"]

_S = SectionName
MOST: Final[Mapping[SectionName, int]] = {
    _S.SYMPTOMS: 3,
    _S.CAUSE: 3,
    _S.DIAGNOSIS: 4,
    _S.GOAL: 2,
    _S.PREREQUISITES: 4,
    _S.SCOPE: 3,
    _S.DEFINITION: 2,
    _S.HOW_IT_WORKS: 7,
    _S.CONSEQUENCES: 4,
    _S.QUESTION: 2,
    _S.RECOMMENDATION: 4,
    _S.DETAILS: 4,
}
"""Sentences a section takes at most: what a person reads before a decision, not all there is."""
MOST_SUMMARY: Final = 2
SAME_OPENING: Final = 0.35
"""Two pages open alike: from this share of common words the second sentence of a summary says the first once more."""
SECOND_OPENING: Final = 0.5
"""Least score of a second sentence of the summary."""
MOST_VERSIONS: Final = 3
MOST_FRESH: Final = 2
MOST_SECOND: Final = 2
MOST_EMBEDDED: Final = 80
"""Sentences embedded for one draft; a second on two cores."""

# Narrow kinds choose first, so that a broad one ("how it works") does not take the only definition.
_FILL_ORDER: Final = (
    _S.CAUSE,
    _S.SYMPTOMS,
    _S.DEFINITION,
    _S.RECOMMENDATION,
    _S.QUESTION,
    _S.PREREQUISITES,
    _S.GOAL,
    _S.SCOPE,
    _S.CONSEQUENCES,
    _S.DIAGNOSIS,
    _S.HOW_IT_WORKS,
    _S.DETAILS,
)
_ORDERS: Final = (_FILL_ORDER, (_S.QUESTION, *(name for name in _FILL_ORDER if name is not _S.QUESTION)))
INTRODUCTION: Final = 1_200
"""Characters from the start of a page: where it says which versions it is about."""
_VERSION: Final = re.compile(
    r"(?P<product>\D*?[^\W\d_])[\s/(-]*(?:versions?|release|v)?[\s.]*(?P<version>\d.*)$", re.IGNORECASE | re.DOTALL
)
_GIVES_SUMMARY: Final = (
    _S.GOAL,
    _S.SCOPE,
    _S.CAUSE,
    _S.SYMPTOMS,
    _S.DEFINITION,
    _S.HOW_IT_WORKS,
    _S.CONSEQUENCES,
    _S.QUESTION,
)


def write_article(
    request: ArticleDraftRequest, embedder: Embedder, guard: GuardPolicy = DEFAULT_POLICY
) -> ArticleDraft:
    """Return the draft for `request`. Blocking: embeds the sentences of the brief's passages once.

    Passages that hold what `guard` calls private are not used.
    """
    views = {view.id: view for view in request.passages}
    model = topic_model(request.topic, request.language, [view.text for view in request.passages])
    desk = Desk(request, views, model, guard=guard)
    desk.near = _nearness(request, desk, embedder)
    for most, order in product((*range(MOST_SUMMARY, 0, -1), 0), _ORDERS):
        # what opens the article, or advises in it, may be the only sentence that a section of it can have
        desk.used.clear()
        opening, sections = _written(desk, most, order)
        if all(name in sections for name in request.required_sections):
            break
    summary, sections = (opening, sections) if opening else _summary(desk, sections)
    ordered = tuple(sections[name] for name in (*REQUIRED_SECTIONS[request.type], _S.DETAILS) if name in sections)
    return ArticleDraft(
        title=public_title(request.topic, request.type, request.language, guard),
        summary=summary,
        applies_to=_applies_to(desk, ordered),
        sections=ordered,
    )


def _written(
    desk: Desk, first: int, order: Sequence[SectionName]
) -> tuple[tuple[DraftClaim, ...], dict[SectionName, DraftSection]]:
    """Return the opening and the sections; up to `first` sentences go to the opening before the sections choose."""
    request = desk.request
    opening = _opening(desk, first)
    sections: dict[SectionName, DraftSection] = {}
    if request.type in OPERATIONAL:
        sections |= _operational(desk)
    if request.type is ArticleType.REFERENCE:
        sections |= facts_section(desk)
    for name in order:
        if name in sections or (name not in request.required_sections and name is not _S.DETAILS):
            continue
        chosen = desk.take(name, MOST[name], _fitting(desk, name))
        if chosen:
            paragraphs = arrange_claims(chosen, desk.views, request.language, request.max_quote_words)
            sections[name] = DraftSection(name=name, paragraphs=paragraphs)
    if request.type is ArticleType.DECISION_GUIDE:
        sections |= options_section(desk)
    _second_voice(desk, sections)
    return opening or _opening(desk, MOST_SUMMARY), sections


def _second_voice(desk: Desk, sections: dict[SectionName, DraftSection]) -> None:
    """Add to `sections` what another source says where one alone is cited so far: two that say it are better."""
    cited = {citation.source for section in sections.values() for citation in _citations(section)}
    if len(cited) != 1:
        return
    limit, language = desk.request.max_quote_words, desk.request.language
    general = [question for question in desk.request.questions if question.required]
    for name in (*_FILL_ORDER[:-1], _S.DETAILS):
        present = sections.get(name)
        if name is not _S.DETAILS and (present is None or not present.paragraphs):
            continue
        pool = desk.pool(name, general if name is _S.DETAILS else None)
        chosen = desk.take(name, MOST_SECOND, [one for one in pool if one.view.source not in cited])
        groups = arrange_claims(chosen, desk.views, language, limit)
        if groups:
            before = present.paragraphs if present is not None else ()
            sections[name] = DraftSection(name=name, paragraphs=(*before, *groups))
            return


def _fitting(desk: Desk, name: SectionName) -> list[Candidate]:
    """Return the sentences for a section: of a procedure's own page where it has some, of a choice what names it."""
    pool = desk.pool(name)
    if desk.page and name in {_S.GOAL, _S.PREREQUISITES}:
        # goal and prerequisites of these very steps stand on their page, if anywhere
        return [one for one in pool if one.view.source == desk.page] or pool
    least = {_S.QUESTION: MIN_OPTIONS, _S.RECOMMENDATION: 1}.get(name, 0)
    names = [name_terms(one, desk.request.language) for one in option_names(desk.request.topic)]
    if not least or len(names) < MIN_OPTIONS:
        return pool
    naming = [c for c in pool if sum(mentions(c.said.text, one) for one in names) >= least]
    return naming or (pool if name is _S.QUESTION else [])


def _opening(desk: Desk, most: int) -> tuple[DraftClaim, ...]:
    """Return the summary out of the openings of the pages: one sentence, and another that says more."""
    request = desk.request
    found = opening_sentences(
        request.passages,
        desk.model,
        request.type,
        request.max_quote_words,
        lambda sentence: desk.near(request.topic, sentence),
        desk.private,
    )
    chosen: list[Candidate] = []
    counter = RunCounter(request.max_quote_words)
    for candidate in found:
        if len(chosen) >= most:
            break
        if redundant(candidate.said.text, desk.used, request.language, SAME_OPENING):
            continue
        if chosen and (candidate.score < SECOND_OPENING or not counter.fits(candidate.view, candidate.said.pieces)):
            continue
        chosen.append(candidate)
        counter.add(candidate.view, candidate.said.pieces)
        desk.used.append(frozenset(terms(candidate.said.text, request.language)))
    groups = arrange_claims(chosen, desk.views, request.language, request.max_quote_words)
    return tuple(claim for group in groups for claim in group)


def public_title(topic: str, type_: ArticleType, language: str, guard: GuardPolicy) -> str:
    """Return the title of an article on `topic`, with everything private taken out of the topic."""
    kept = topic
    for token in reversed(private_tokens(topic, guard)):
        kept = f"{kept[: token.start]} {kept[token.end :]}"
    return title_for(re.sub(r"\s+([,.;:!?)])", r"\1", kept).strip(" ,;:-–("), type_, language)


def fresh_claims(
    background: CorrectionBackground,
    sections: Sequence[DraftSection],
    summary: Sequence[DraftClaim],
    name: SectionName,
    embedder: Embedder,
    guard: GuardPolicy = DEFAULT_POLICY,
) -> tuple[DraftClaim, ...]:
    """Return up to two sentences for section `name` that say nothing the draft says already; a corrector's refill."""
    request = ArticleDraftRequest(
        **background.model_dump(include={"topic", "type", "language", "directives", "max_quote_words"}),
        earlier_rejections=(),
        required_sections=REQUIRED_SECTIONS[background.type],
        questions=background.questions,
        passages=background.passages,
    )
    views = {view.id: view for view in request.passages}
    model = topic_model(request.topic, request.language, [view.text for view in request.passages])
    desk = Desk(request, views, model, guard=guard)
    texts = [claim.text for claim in summary] + [text for section in sections for text in _texts(section)]
    desk.used = [frozenset(terms(text, request.language)) for text in texts]
    questions = desk.questions(name)
    if name is _S.DETAILS:
        questions = [question for question in request.questions if not question.required or question.section is name]
    pool = desk.pool(name, questions)
    desk.near = Nearness(embedder, [q.question for q in questions], [c.said.text for c in pool[:MOST_EMBEDDED]])
    chosen = desk.take(name, MOST_FRESH, desk.pool(name, questions))
    groups = arrange_claims(chosen, views, request.language, request.max_quote_words)
    return tuple(claim for group in groups for claim in group)


def _texts(section: DraftSection) -> list[str]:
    found = [claim.text for group in section.paragraphs for claim in group]
    found += [claim.text for option in section.options for claim in option.criteria]
    return found + [step.text for step in section.steps] + [fact.description for fact in section.facts]


def _nearness(request: ArticleDraftRequest, desk: Desk, embedder: Embedder) -> Near:
    """Return the cosines between the questions and those sentences that words alone put near the floor."""
    best: dict[str, float] = {}
    for name in _FILL_ORDER:
        for candidate in desk.pool(name, floor=FLOOR - NEAR_SHARE):
            best[candidate.said.text] = max(best.get(candidate.said.text, 0.0), candidate.score)
    texts = sorted(best, key=lambda text: (-best[text], text))[:MOST_EMBEDDED]
    asked = [request.topic, *(question.question for question in request.questions)]
    return Nearness(embedder, asked, sorted(texts))


def _operational(desk: Desk) -> dict[SectionName, DraftSection]:
    request = desk.request
    troubleshooting = request.type is ArticleType.TROUBLESHOOTING
    # every passage shown, not those alone that answer: a procedure without its middle is none
    found = procedure(list(desk.views.values()), desk.model, request.max_quote_words, desk.private)
    if request.type is ArticleType.HOW_TO and found.solution:
        desk.page = found.solution[0].citations[0].source
    sections: dict[SectionName, DraftSection] = {}
    for name, steps in (
        (_S.SOLUTION_STEPS, found.solution),
        (_S.VALIDATION_STEPS, found.validation),
        (_S.DIAGNOSIS, found.diagnosis if troubleshooting else ()),
    ):
        if steps:
            sections[name] = DraftSection(name=name, steps=steps)
            desk.used.extend(frozenset(terms(step.text, request.language)) for step in steps)
    return sections


def _summary(
    desk: Desk, sections: dict[SectionName, DraftSection]
) -> tuple[tuple[DraftClaim, ...], dict[SectionName, DraftSection]]:
    """Return the summary and the sections: general sentences not used yet, else one moved up from a full section."""
    general = [question for question in desk.request.questions if question.required]
    chosen = desk.take(_S.SCOPE, MOST_SUMMARY, desk.pool(_S.SCOPE, general))
    if chosen:
        groups = arrange_claims(chosen, desk.views, desk.request.language, desk.request.max_quote_words)
        return tuple(claim for group in groups for claim in group), sections
    for name in _GIVES_SUMMARY:
        section = sections.get(name)
        if section is not None and sum(map(len, section.paragraphs)) > 1:
            moved, left = _move_up(desk, section)
            return (moved,), {**sections, name: left}
    return (), sections


def _move_up(desk: Desk, section: DraftSection) -> tuple[DraftClaim, DraftSection]:
    """Return the claim of `section` that holds most of the topic, and the section without it.

    A sentence that points back at the one that moves would hang in the air: it goes too.
    """
    every = [claim for group in section.paragraphs for claim in group]
    best = max(every, key=lambda claim: desk.model.cover((claim.text, 1.0)))
    at = every.index(best)
    gone = [best]
    if at + 1 < len(every) and points_back(every[at + 1].text, desk.request.language):
        gone.append(every[at + 1])
    paragraphs = []
    for group in section.paragraphs:
        kept = [claim for claim in group if claim not in gone]
        if kept:
            kept[0] = kept[0].model_copy(update={"lead_in": ""})
            paragraphs.append(tuple(kept))
    return best.model_copy(update={"lead_in": ""}), section.model_copy(update={"paragraphs": tuple(paragraphs)})


def _applies_to(desk: Desk, sections: Sequence[DraftSection]) -> tuple[DraftFact, ...]:
    """Return the products with versions that the topic names or a cited page names at its beginning."""
    cited = {citation.source for section in sections for citation in _citations(section)}
    asked = {item.value for item in identifiers(desk.request.topic)}
    found: dict[str, DraftFact] = {}
    for view in desk.request.passages:
        if view.source not in cited:
            continue
        subject = index_of(f"{desk.request.topic} {view.title}")
        for mention in versions_of(view):
            raw = view.text[mention.span.start - view.start : mention.span.end - view.start]
            named = _VERSION.match(raw)
            key = f"{mention.product} {mention.version}"
            if named is None or not (key in asked or mention.span.end <= INTRODUCTION):
                continue
            if not set(terms(named["product"], desk.request.language)) & subject:
                continue
            fact = DraftFact(
                term=named["product"],
                description=named["version"],
                citations=draft_citations(view, (mention.span,)),
            )
            found.setdefault(key, fact)
    return tuple(found[key] for key in list(found)[:MOST_VERSIONS])


def _citations(section: DraftSection) -> list[DraftCitation]:
    claims = [claim for group in section.paragraphs for claim in group]
    claims += [claim for option in section.options for claim in option.criteria]
    cited = [claim.citations for claim in claims]
    cited += [step.citations for step in section.steps]
    cited += [fact.citations for fact in section.facts]
    return [citation for citations in cited for citation in citations]
