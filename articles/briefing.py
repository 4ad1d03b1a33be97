"""The extractive brief: which passages answer which question, by what usable sentences, steps and facts they hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from articles.cues import heading_cue
from articles.facts import option_names
from articles.material import facts_of, instructions_of, statements_of
from articles.relevance import TopicModel, topic_model
from articles.roles import BriefAnswer, BriefEntry, BriefRequest, MustAnswer, PassageView
from articles.selection import FLOOR, sentence_score
from articles.tables import is_of, name_terms
from articles.types import SectionName

__all__ = ["answer_brief"]

QUOTE_WORDS: Final = 25
MOST_PASSAGES: Final = 12
"""Passages named for one question."""


def answer_brief(request: BriefRequest) -> BriefAnswer:
    """Return, for each question, the passages that hold an answer of its kind, best first."""
    model = topic_model(request.topic, request.language, [view.text for view in request.passages])
    entries = []
    for question in request.questions:
        worth = _worth(question, request, model)
        scored = [(worth(view), view) for view in request.passages]
        best = sorted((pair for pair in scored if pair[0] > 0), key=lambda pair: (-pair[0], int(pair[1].id[1:])))
        entries.append(BriefEntry(question=question.id, passages=tuple(view.id for _, view in best[:MOST_PASSAGES])))
    return BriefAnswer(answers=tuple(entries))


def _worth(question: MustAnswer, request: BriefRequest, model: TopicModel) -> Callable[[PassageView], float]:
    """Return how much a passage gives for `question`; 0 where it holds nothing of the kind."""
    names = option_names(request.topic) if question.section is SectionName.OPTIONS else ()
    special: Mapping[SectionName, Callable[[PassageView], float]] = {
        SectionName.SOLUTION_STEPS: lambda view: _steps(view, request.language, check=False),
        SectionName.VALIDATION_STEPS: lambda view: _steps(view, request.language, check=True),
        SectionName.FACTS: lambda view: float(len(facts_of(view, request.language, QUOTE_WORDS))),
        SectionName.OPTIONS: lambda view: _options(view, names, model),
    }
    if question.section in special and question.required:
        count = special[question.section]
        return lambda view: view.relevance + 0.05 * min(found, 8.0) if (found := count(view)) else 0.0
    asked = () if question.required else (question.question,)

    def by_sentences(view: PassageView) -> float:
        scores = (
            sentence_score(question.section, said, view, model, asked, 0.0)
            for said in statements_of(view, request.language, QUOTE_WORDS)
        )
        best = max(scores, default=0.0)
        if question.section is SectionName.DIAGNOSIS and not best:
            best = FLOOR if _steps(view, request.language, check=True) else 0.0
        return best if best >= FLOOR else 0.0

    return by_sentences


def _steps(view: PassageView, language: str, *, check: bool) -> float:
    found = instructions_of(view, language, QUOTE_WORDS)
    announced = bool(view.headings) and heading_cue(view.headings[-1]) is SectionName.VALIDATION_STEPS
    if check and announced:
        return float(len(found))
    return float(sum(step.check is check for step in found))


def _options(view: PassageView, names: tuple[str, ...], model: TopicModel) -> float:
    """Return how many sentences of the passage speak for or against one of the options alone."""
    if not names:
        return float(len(option_names("", (view.text,))))
    wanted = [name_terms(name, model.language) for name in names]
    return float(
        sum(
            sentence_score(SectionName.OPTIONS, said, view, model, (), 0.0) >= FLOOR
            and any(is_of(said.text, name, [other for other in wanted if other != name]) for name in wanted)
            for said in statements_of(view, model.language, QUOTE_WORDS)
        )
    )
