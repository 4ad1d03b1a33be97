"""What an import from GLPI did, in numbers that add up."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

__all__ = ["ImportReport", "Tally"]


@dataclass(slots=True)
class Tally:
    """Items of one kind: each that was looked at is counted once."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    """How many were left out, by reason."""
    held_back: int = 0
    """Removals that were not done because there were so many at once; see `ImportPolicy`."""
    more: bool = False
    """It ended before the end of the list: at its limit, or because it was asked to stop."""
    failed: int = 0
    """Items whose write did not stand; they are taken again next time."""

    @property
    def written(self) -> int:
        return self.added + self.changed

    def document(self) -> dict[str, Any]:
        return {
            "added": self.added,
            "changed": self.changed,
            "removed": self.removed,
            "unchanged": self.unchanged,
            "refused": dict(sorted(self.refused.items())),
            "held_back": self.held_back,
            "failed": self.failed,
            "more": self.more,
        }


@dataclass(frozen=True, slots=True)
class ImportReport:
    """None stands for a kind that was not asked for."""

    tickets: Tally | None = None
    articles: Tally | None = None

    @property
    def tallies(self) -> tuple[Tally, ...]:
        return tuple(tally for tally in (self.tickets, self.articles) if tally is not None)

    @property
    def more(self) -> bool:
        return any(tally.more for tally in self.tallies)

    @property
    def touched(self) -> bool:
        """Tell whether anything was written, or should be looked at by a person."""
        return any(tally.written or tally.removed or tally.held_back or tally.failed for tally in self.tallies)

    def document(self) -> dict[str, Any]:
        return {
            "tickets": None if self.tickets is None else self.tickets.document(),
            "articles": None if self.articles is None else self.articles.document(),
        }
