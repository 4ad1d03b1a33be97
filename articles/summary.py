"""The sentences that open an article: what it is about, in the words of a page's own opening (extractive author).

A page says in its first lines what it deals with, and a section does under its heading. A sentence from there that
names the topic itself introduces an article better than any other; where none does, there is no summary of this kind.
Pure but for the nearness handed in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from articles.announce import announced
from articles.cues import cue, denied, tells_news
from articles.material import statements_of
from articles.relevance import TopicModel
from articles.roles import PassageView
from articles.selection import Candidate
from articles.steps import instruction_kind
from articles.types import SectionName
from data.models import ArticleType

__all__ = ["opening_sentences"]

NAMED: Final = 0.34
"""Least share of the topic that the sentence itself must name: one word of three."""
PAGE: Final = 0.5
"""Least share of the topic in a page's title or a section's heading for its first lines to introduce the topic."""
NAMED_SHARE: Final = 0.45
PLACE_SHARE: Final = 0.30
KIND_SHARE: Final = 0.15
NEAR_SHARE: Final = 0.10
DEFINES: Final = 0.12
"""For a sentence that says of the thing itself what it is or does."""
SUBJECT_WORDS: Final = 8
SUBJECT_HEAD: Final = 0.5
LATER: Final = 0.7
"""What the second sentence of an opening counts of the first; the third counts half of that, and so on."""
SECTION_OPENING: Final = 0.6
"""What the opening of a section counts of a page's."""
MIN_SCORE: Final = 0.42

_S = SectionName
_KINDS: Final[Mapping[ArticleType, tuple[SectionName, ...]]] = {
    ArticleType.TROUBLESHOOTING: (_S.SYMPTOMS, _S.CAUSE),
    ArticleType.HOW_TO: (_S.GOAL, _S.DEFINITION),
    ArticleType.REFERENCE: (_S.SCOPE,),
    ArticleType.CONCEPT: (_S.GOAL, _S.DEFINITION, _S.CONSEQUENCES),
    ArticleType.DECISION_GUIDE: (_S.QUESTION, _S.SCOPE),
}
_NO_OPENING: Final = frozenset(
    {_S.CAUSE, _S.DIAGNOSIS, _S.SOLUTION_STEPS, _S.VALIDATION_STEPS, _S.PREREQUISITES, _S.CONSEQUENCES}
)


def opening_sentences(
    views: Sequence[PassageView],
    model: TopicModel,
    type_: ArticleType,
    limit: int,
    near: Callable[[str], float],
    private: Callable[[str, PassageView], bool],
) -> list[Candidate]:
    """Return the sentences fit to open an article of `type_`, best first."""
    found = []
    for view in views:
        place = _place(view, views, model)
        if place == 0.0:
            continue
        for number, said in enumerate(statements_of(view, model.language, limit)):
            named = model.cover((said.text, 1.0))
            if named < NAMED or said.dependent or instruction_kind(said.text, model.language) is not None:
                continue
            if tells_news(said.text) or not model.names_core(said.text, view.publisher):
                continue
            if model.contradicted(said.text) or private(said.text, view):
                continue
            kind = max(
                0.0 if denied(name, said.text, model.language) else cue(name, said.text, model.language)
                for name in _KINDS[type_]
            )
            score = NAMED_SHARE * named + PLACE_SHARE * place * LATER**number
            score += KIND_SHARE * kind + NEAR_SHARE * near(said.text)
            opening = " ".join(said.text.split()[:SUBJECT_WORDS])
            if model.names_head(opening) >= SUBJECT_HEAD and cue(_S.DEFINITION, said.text, model.language):
                score += DEFINES
            if score >= MIN_SCORE:
                found.append(Candidate(view, said, score))
    return sorted(found, key=lambda c: (-c.score, int(c.view.source[1:]), c.said.start))


def _place(view: PassageView, views: Sequence[PassageView], model: TopicModel) -> float:
    """Return how far the passage opens a page or a section about the topic: 1 a page, less a section, 0 neither."""
    if announced(view, model) in _NO_OPENING:
        return 0.0
    same = [other for other in views if other.source == view.source]
    depth = min(len(other.headings) for other in same)
    title = model.cover((view.title, 1.0), (view.headings[0] if view.headings else "", 1.0))
    first = min(same, key=lambda other: other.start)
    if title >= PAGE and len(view.headings) == depth and view.headings == first.headings:
        return 1.0 if view.id == first.id else SECTION_OPENING
    heading = model.cover((" ".join(view.headings[-2:]), 1.0))
    opens = min((other for other in same if other.headings == view.headings), key=lambda other: other.start)
    if heading >= PAGE and opens.id == view.id:
        return SECTION_OPENING
    return SECTION_OPENING * LATER / 2 if heading >= PAGE or title >= PAGE else 0.0
