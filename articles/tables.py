"""The parts of an article that are no running text: its table of facts and its options (extractive author)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from articles.arrange import arrange_claims, draft_citations
from articles.desk import Desk
from articles.facts import FactCandidate, option_names
from articles.material import facts_of
from articles.relevance import index_of
from articles.roles import DraftFact, DraftOption, DraftSection, PassageView
from articles.selection import redundant
from articles.types import MIN_FACTS, SectionName
from data.text import fold, terms

__all__ = ["FACT_TOPIC", "facts_section", "is_of", "mentions", "name_terms", "options_section"]

_S = SectionName
MOST_FACTS: Final = 20
MOST_CRITERIA: Final = 3
MOST_OPTIONS: Final = 6
SUBJECT_WORDS: Final = 7
"""Words at the front of a sentence among which its subject stands."""
FACT_TOPIC: Final = 0.45
"""Least share of the topic in a fact with its passage and headings."""
COHERENT: Final = 3
"""Facts of one section of a page that make a table of it; single ones from elsewhere only fill up a short table."""


def facts_section(desk: Desk) -> dict[SectionName, DraftSection]:
    """Return the fact table: facts of the passages that answer, nearest to the topic first, shown by term."""
    request = desk.request
    passages = dict.fromkeys(passage for question in desk.questions(_S.FACTS) for passage in question.passages)
    scored: dict[str, tuple[float, PassageView, FactCandidate]] = {}
    said = list(desk.used)
    for passage in passages:
        view = desk.views[passage]
        for fact in facts_of(view, request.language, request.max_quote_words):
            key = fold(fact.term).strip("` ")
            about = desk.model.cover(
                (fact.description, 1.0), (fact.term, 1.0), (" ".join(view.headings), 0.9), (view.text, 0.6)
            )
            if about < FACT_TOPIC or key in scored or redundant(fact.description, said, request.language):
                continue
            if desk.private(f"{fact.term} {fact.description}", view):
                continue
            scored[key] = (view.relevance + 0.3 * about, view, fact)
            said.append(frozenset(terms(fact.description, request.language)))
    best = sorted(_coherent(scored).items(), key=lambda entry: (-entry[1][0], entry[0]))[:MOST_FACTS]
    desk.used.extend(frozenset(terms(fact.description, request.language)) for _, (_, _, fact) in best)
    facts = tuple(
        DraftFact(
            term=fact.term,
            description=fact.description,
            citations=draft_citations(view, (fact.term_span, *fact.pieces)),
        )
        for _, (_, view, fact) in sorted(best, key=lambda entry: entry[0])
    )
    return {_S.FACTS: DraftSection(name=_S.FACTS, facts=facts)} if facts else {}


def _coherent(
    scored: Mapping[str, tuple[float, PassageView, FactCandidate]],
) -> dict[str, tuple[float, PassageView, FactCandidate]]:
    """Return the facts that stand several to a section, where they make a table; all of them where they do not."""
    groups = Counter((view.source, view.headings) for _, view, _ in scored.values())
    whole = {key: entry for key, entry in scored.items() if groups[entry[1].source, entry[1].headings] >= COHERENT}
    return whole if len(whole) >= MIN_FACTS else dict(scored)


def options_section(desk: Desk) -> dict[SectionName, DraftSection]:
    """Return the options that the topic names (else the sources' list), each with what is said about it alone."""
    request = desk.request
    questions = desk.questions(_S.OPTIONS)
    lists = [desk.views[p].text for q in questions for p in q.passages if desk.views[p].kind in {"list", "procedure"}]
    names = option_names(request.topic, lists)[:MOST_OPTIONS]
    pool = desk.pool(_S.OPTIONS)
    options = []
    for name in names:
        wanted = name_terms(name, request.language)
        others = [name_terms(other, request.language) for other in names if other != name]
        own = [candidate for candidate in pool if is_of(candidate.said.text, wanted, others)]
        chosen = desk.take(_S.OPTIONS, MOST_CRITERIA, own)
        if chosen:
            criteria = arrange_claims(chosen, desk.views, request.language, request.max_quote_words)
            options.append(DraftOption(name=name, criteria=tuple(claim for group in criteria for claim in group)))
    return {_S.OPTIONS: DraftSection(name=_S.OPTIONS, options=tuple(options))} if options else {}


def is_of(sentence: str, wanted: frozenset[str], others: Sequence[frozenset[str]]) -> bool:
    """Tell whether a sentence speaks of one option: it names no other, or compares it, as its subject, with others."""
    if not mentions(sentence, wanted):
        return False
    if not any(mentions(sentence, other) for other in others):
        return True
    opening = " ".join(sentence.split()[:SUBJECT_WORDS])
    return mentions(opening, wanted) and not any(mentions(opening, other) for other in others)


def name_terms(name: str, language: str) -> frozenset[str]:
    """Return the terms by which a text names the option `name`."""
    return frozenset(terms(name, language)) or frozenset({fold(name)})


def mentions(text: str, name: frozenset[str]) -> bool:
    """Tell whether `text` names the option whose terms are `name`."""
    return name <= index_of(text) or any(f" {term} " in f" {fold(text)} " for term in name if len(name) == 1)
