"""The extractive author: an article assembled from the brief's passages, each part with its citation (spec 06).

It takes sentences whole or shortened, instructions with their commands, and facts; it orders them, leaves out what
was said already, and keeps every run from one source below the limit. It adds nothing but fixed phrases. The same
request gives the same draft.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from articles.arrange import arrange_claims, draft_citations
from articles.facts import option_names
from articles.material import facts_of, versions_of
from articles.phrases import title_for
from articles.procedures import procedure
from articles.relevance import Nearness, TopicModel, index_of, topic_model
from articles.roles import (
    ArticleDraft,
    ArticleDraftRequest,
    CorrectionBackground,
    DraftCitation,
    DraftClaim,
    DraftFact,
    DraftOption,
    DraftSection,
    MustAnswer,
    PassageView,
)
from articles.selection import FLOOR, NEAR_SHARE, Candidate, Near, candidates, pick, redundant
from articles.sentences import points_back
from articles.types import OPERATIONAL, REQUIRED_SECTIONS, SectionName
from data.models import ArticleType, SourceClass
from data.text import fold, identifiers, terms
from research.private import DEFAULT_POLICY, GuardPolicy, PrivateKind, private_tokens
from vector.embed import Embedder

__all__ = ["FACT_TOPIC", "fresh_claims", "public_title", "write_article"]

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
ALWAYS_PRIVATE: Final = frozenset({PrivateKind.NODE_ID, PrivateKind.PRIVATE_TERM})
"""Private whatever the source; the other kinds only where the house itself wrote it."""
MOST_SUMMARY: Final = 2
MOST_FACTS: Final = 20
MOST_CRITERIA: Final = 3
MOST_VERSIONS: Final = 3
MOST_OPTIONS: Final = 6
MOST_FRESH: Final = 2
MOST_EMBEDDED: Final = 80
"""Sentences embedded for one draft; a second on two cores."""
FACT_TOPIC: Final = 0.45
"""Least share of the topic in a fact with its passage and headings."""

# Narrow kinds choose first, so that a broad one ("how it works") does not take the only definition.
_FILL_ORDER: Final = (
    _S.CAUSE,
    _S.SYMPTOMS,
    _S.DEFINITION,
    _S.QUESTION,
    _S.RECOMMENDATION,
    _S.PREREQUISITES,
    _S.GOAL,
    _S.SCOPE,
    _S.CONSEQUENCES,
    _S.DIAGNOSIS,
    _S.HOW_IT_WORKS,
    _S.DETAILS,
)
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


@dataclass
class _Desk:
    """What lies on the author's desk while one article is written."""

    request: ArticleDraftRequest
    views: Mapping[str, PassageView]
    model: TopicModel
    near: Near = field(default=lambda _question, _sentence: 0.0)
    used: list[frozenset[str]] = field(default_factory=list)
    guard: GuardPolicy = DEFAULT_POLICY

    def questions(self, name: SectionName) -> list[MustAnswer]:
        return [question for question in self.request.questions if question.section is name]

    def pool(
        self, name: SectionName, questions: Sequence[MustAnswer] | None = None, floor: float = FLOOR
    ) -> list[Candidate]:
        asked = self.questions(name) if questions is None else questions
        found = candidates(name, asked, self.views, self.model, self.request.max_quote_words, self.near, floor)
        return [candidate for candidate in found if not self.private(candidate.said.text, candidate.view)]

    def private(self, text: str, view: PassageView) -> bool:
        """Tell whether `text` may not stand in an article: the house's own hosts and people, configured terms."""
        kinds = frozenset(PrivateKind) if view.source_class is SourceClass.OWN else ALWAYS_PRIVATE
        return bool(private_tokens(text, self.guard, kinds=kinds))

    def take(self, name: SectionName, most: int, pool: Sequence[Candidate]) -> list[Candidate]:
        return pick(name, pool, most, self.used, self.model, self.request.max_quote_words)


def write_article(
    request: ArticleDraftRequest, embedder: Embedder, guard: GuardPolicy = DEFAULT_POLICY
) -> ArticleDraft:
    """Return the draft for `request`. Blocking: embeds the sentences of the brief's passages once.

    Passages that hold what `guard` calls private are not used.
    """
    views = {view.id: view for view in request.passages}
    model = topic_model(request.topic, request.language, [view.text for view in request.passages])
    desk = _Desk(request, views, model, guard=guard)
    desk.near = _nearness(request, desk, embedder)
    sections: dict[SectionName, DraftSection] = {}
    if request.type in OPERATIONAL:
        sections |= _operational(desk)
    if request.type is ArticleType.REFERENCE:
        sections |= _facts_section(desk)
    for name in _FILL_ORDER:
        if name in sections or (name not in request.required_sections and name is not _S.DETAILS):
            continue
        chosen = desk.take(name, MOST[name], desk.pool(name))
        if chosen:
            paragraphs = arrange_claims(chosen, views, request.language, request.max_quote_words)
            sections[name] = DraftSection(name=name, paragraphs=paragraphs)
    if request.type is ArticleType.DECISION_GUIDE:
        sections |= _options_section(desk)
    summary, sections = _summary(desk, sections)
    ordered = tuple(sections[name] for name in (*REQUIRED_SECTIONS[request.type], _S.DETAILS) if name in sections)
    return ArticleDraft(
        title=public_title(request.topic, request.type, request.language, guard),
        summary=summary,
        applies_to=_applies_to(desk, ordered),
        sections=ordered,
    )


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
    desk = _Desk(request, views, model, guard=guard)
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


def _nearness(request: ArticleDraftRequest, desk: _Desk, embedder: Embedder) -> Near:
    """Return the cosines between the questions and those sentences that words alone put near the floor."""
    best: dict[str, float] = {}
    for name in _FILL_ORDER:
        for candidate in desk.pool(name, floor=FLOOR - NEAR_SHARE):
            best[candidate.said.text] = max(best.get(candidate.said.text, 0.0), candidate.score)
    texts = sorted(best, key=lambda text: (-best[text], text))[:MOST_EMBEDDED]
    return Nearness(embedder, [question.question for question in request.questions], sorted(texts))


def _operational(desk: _Desk) -> dict[SectionName, DraftSection]:
    request = desk.request
    troubleshooting = request.type is ArticleType.TROUBLESHOOTING
    answering = [
        desk.views[passage]
        for name in (_S.SOLUTION_STEPS, _S.VALIDATION_STEPS, _S.DIAGNOSIS)
        for question in desk.questions(name)
        for passage in question.passages
    ]
    distinct = list({view.id: view for view in answering}.values())
    found = procedure(distinct, desk.model, request.max_quote_words, desk.private)
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


def _facts_section(desk: _Desk) -> dict[SectionName, DraftSection]:
    """Return the fact table: facts of the passages that answer, nearest to the topic first, shown by term."""
    request = desk.request
    passages = dict.fromkeys(passage for question in desk.questions(_S.FACTS) for passage in question.passages)
    scored: dict[str, tuple[float, DraftFact]] = {}
    for passage in passages:
        view = desk.views[passage]
        for fact in facts_of(view, request.language, request.max_quote_words):
            key = fold(fact.term).strip("` ")
            about = desk.model.cover(
                (fact.description, 1.0), (fact.term, 1.0), (" ".join(view.headings), 0.9), (view.text, 0.6)
            )
            if about < FACT_TOPIC or key in scored or redundant(fact.description, desk.used, request.language):
                continue
            if desk.private(f"{fact.term} {fact.description}", view):
                continue
            drafted = DraftFact(
                term=fact.term,
                description=fact.description,
                citations=draft_citations(view, (fact.term_span, *fact.pieces)),
            )
            scored[key] = (view.relevance + 0.3 * about, drafted)
            desk.used.append(frozenset(terms(fact.description, request.language)))
    best = sorted(scored.items(), key=lambda entry: (-entry[1][0], entry[0]))[:MOST_FACTS]
    facts = tuple(drafted for _, (_, drafted) in sorted(best))
    return {_S.FACTS: DraftSection(name=_S.FACTS, facts=facts)} if facts else {}


def _options_section(desk: _Desk) -> dict[SectionName, DraftSection]:
    """Return the options that the topic names (else the sources' list), each with what is said about it alone."""
    request = desk.request
    questions = desk.questions(_S.OPTIONS)
    lists = [desk.views[p].text for q in questions for p in q.passages if desk.views[p].kind in {"list", "procedure"}]
    names = option_names(request.topic, lists)[:MOST_OPTIONS]
    pool = desk.pool(_S.OPTIONS)
    options = []
    for name in names:
        wanted = _name_terms(name, request.language)
        others = [_name_terms(other, request.language) for other in names if other != name]
        own = [
            candidate
            for candidate in pool
            if _mentions(candidate.said.text, wanted) and not any(_mentions(candidate.said.text, o) for o in others)
        ]
        chosen = desk.take(_S.OPTIONS, MOST_CRITERIA, own)
        if chosen:
            criteria = arrange_claims(chosen, desk.views, request.language, request.max_quote_words)
            options.append(DraftOption(name=name, criteria=tuple(claim for group in criteria for claim in group)))
    return {_S.OPTIONS: DraftSection(name=_S.OPTIONS, options=tuple(options))} if options else {}


def _name_terms(name: str, language: str) -> frozenset[str]:
    return frozenset(terms(name, language)) or frozenset({fold(name)})


def _mentions(text: str, name: frozenset[str]) -> bool:
    return name <= index_of(text) or any(f" {term} " in f" {fold(text)} " for term in name if len(name) == 1)


def _summary(
    desk: _Desk, sections: dict[SectionName, DraftSection]
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


def _move_up(desk: _Desk, section: DraftSection) -> tuple[DraftClaim, DraftSection]:
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


def _applies_to(desk: _Desk, sections: Sequence[DraftSection]) -> tuple[DraftFact, ...]:
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
