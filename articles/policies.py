"""What an operator may set about articles (BRAIN_ARTICLE_*); the other thresholds stand with the checks they serve."""

from __future__ import annotations

from dataclasses import dataclass

from research.private import DEFAULT_POLICY, GuardPolicy

__all__ = ["ArticlePolicy"]


@dataclass(frozen=True, slots=True)
class ArticlePolicy:
    min_evidence: int = 2
    """BRAIN_ARTICLE_MIN_EVIDENCE: accepted texts that the article cites."""
    min_publishers: int = 2
    """BRAIN_ARTICLE_MIN_PUBLISHERS: independent ones, unless one is official, standard, vendor or own."""
    extra_fetches: int = 6
    """BRAIN_ARTICLE_EXTRA_FETCHES: budget of the one round of additional research."""
    max_quote_words: int = 25
    """BRAIN_ARTICLE_MAX_QUOTE_WORDS."""
    max_corrections: int = 2
    """Rounds of correction; the seed's limit, not a setting."""
    guard: GuardPolicy = DEFAULT_POLICY
    """The house's private terms."""
