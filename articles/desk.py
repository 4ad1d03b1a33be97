"""What lies on the extractive author's desk while one article is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from articles.relevance import TopicModel
from articles.roles import ArticleDraftRequest, MustAnswer, PassageView
from articles.selection import FLOOR, Candidate, Near, candidates, pick
from articles.types import SectionName
from data.models import SourceClass
from research.private import DEFAULT_POLICY, GuardPolicy, PrivateKind, private_tokens

__all__ = ["Desk"]

ALWAYS_PRIVATE: Final = frozenset({PrivateKind.NODE_ID, PrivateKind.PRIVATE_TERM})
"""Private whatever the source; the other kinds only where the house itself wrote it."""
SAME_PAGE: Final = 0.12
"""For a sentence of the page whose procedure is taken: goal and prerequisites belong to those very steps."""


@dataclass
class Desk:
    """What lies on the author's desk while one article is written."""

    request: ArticleDraftRequest
    views: Mapping[str, PassageView]
    model: TopicModel
    near: Near = field(default=lambda _question, _sentence: 0.0)
    used: list[frozenset[str]] = field(default_factory=list)
    guard: GuardPolicy = DEFAULT_POLICY
    page: str = ""
    """The source whose procedure was taken, "" for none."""

    def questions(self, name: SectionName) -> list[MustAnswer]:
        """Return the brief's questions whose answers belong into section `name`."""
        return [question for question in self.request.questions if question.section is name]

    def pool(
        self, name: SectionName, questions: Sequence[MustAnswer] | None = None, floor: float = FLOOR
    ) -> list[Candidate]:
        """Return the sentences fit for section `name`, best first; what is private left out."""
        asked = self.questions(name) if questions is None else questions
        found = candidates(name, asked, self.views, self.model, self.request.max_quote_words, self.near, floor)
        found = [candidate for candidate in found if not self.private(candidate.said.text, candidate.view)]
        if not self.page:
            return found
        raised = [replace(c, score=c.score + SAME_PAGE) if c.view.source == self.page else c for c in found]
        return sorted(raised, key=lambda c: (-c.score, int(c.view.source[1:]), c.said.start))

    def private(self, text: str, view: PassageView) -> bool:
        """Tell whether `text` may not stand in an article: the house's own hosts and people, configured terms."""
        kinds = frozenset(PrivateKind) if view.source_class is SourceClass.OWN else ALWAYS_PRIVATE
        return bool(private_tokens(text, self.guard, kinds=kinds))

    def take(self, name: SectionName, most: int, pool: Sequence[Candidate]) -> list[Candidate]:
        """Return up to `most` of `pool`, which then count as said."""
        return pick(name, pool, most, self.used, self.model, self.request.max_quote_words)
