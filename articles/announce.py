"""What a passage's own heading says its sentences are: "Symptoms", "Ursache", "Check the result" (pure).

A heading that names its subject announces nothing: "Installing the KDC" stands over whatever there is to say of it.
"""

from __future__ import annotations

from typing import Final

from articles.cues import heading_cue
from articles.relevance import TopicModel
from articles.roles import PassageView
from articles.types import SectionName

__all__ = ["KEPT_APART", "announced", "elsewhere", "page_topic"]

MOST_WORDS: Final = 5
"""Of a heading that announces a kind of text; a longer one tells its subject."""
SUBJECT: Final = 0.25
"""Share of the topic in a heading from which it names the subject."""

_S = SectionName
KEPT_APART: Final = frozenset(
    {_S.SYMPTOMS, _S.CAUSE, _S.DIAGNOSIS, _S.SOLUTION_STEPS, _S.VALIDATION_STEPS, _S.PREREQUISITES}
)
"""Sections that a source keeps apart by its headings: what stands under one of them is not of another."""
_HELD_TO_IT: Final = frozenset({_S.SYMPTOMS, _S.CAUSE, _S.GOAL, _S.DEFINITION, _S.SCOPE})


def announced(view: PassageView, model: TopicModel) -> SectionName | None:
    """Return the section that the passage's nearest heading announces, None where it names a subject."""
    if not view.headings:
        return None
    heading = view.headings[-1]
    if len(heading.split()) > MOST_WORDS or model.cover((heading, 1.0)) >= SUBJECT:
        return None
    return heading_cue(heading)


def elsewhere(section: SectionName, place: SectionName | None) -> bool:
    """Tell whether a passage announced as `place` cannot hold sentences for `section`."""
    return section in _HELD_TO_IT and place in KEPT_APART and place is not section


def page_topic(view: PassageView, model: TopicModel) -> float:
    """Return the share of the topic in the page's title and first heading, 0 to 1."""
    return model.cover((view.title, 1.0), (view.headings[0] if view.headings else "", 1.0))
