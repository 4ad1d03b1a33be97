"""The port through which something is looked for (spec 04, Search).

A backend answers every question with a `SearchPage` and raises nothing for what happens outside: a server
that is down, slow or talks nonsense is a *blind* page. Blind forbids every conclusion; it postpones and
never counts as "nothing known".
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from data.models import SourceClass

__all__ = ["Hit", "Probe", "SearchBackend", "SearchPage", "SearchState"]


class SearchState(StrEnum):
    """What a page allows to conclude."""

    HITS = "hits"
    """Something was found, though some engines may have failed (`engines_failed`)."""
    NONE = "none"
    """Everybody answered, nobody knew."""
    BLIND = "blind"
    """Nobody could answer, or some could not and the others knew nothing."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One candidate. It is never evidence: only its text, read in full, can become that."""

    url: str
    title: str
    snippet: str = ""
    publisher: str = ""
    """The collection of a library document; empty for a web page, whose host says it."""
    source_class: SourceClass = SourceClass.UNKNOWN
    language: str = "und"
    published_at: datetime | None = None
    engine: str = ""
    """Who found it; several names are joined with `+`."""
    rank: int = 0
    """Place in the page it came from, from 1."""
    score: float = 0.0
    """In (0, 1], comparable within one page only."""
    category: str = ""
    """The search category the hit came from, where the backend knows one."""


@dataclass(frozen=True, slots=True)
class SearchPage:
    """The answer to one query; `notes` say in plain words what went wrong or was left out."""

    state: SearchState
    hits: tuple[Hit, ...] = ()
    engines_failed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    retry_after: float | None = None
    """Seconds after which a blind backend may be asked again, where it said so."""


@dataclass(frozen=True, slots=True)
class Probe:
    """What a look at a backend at start or by `brain doctor` found."""

    ok: bool
    message: str
    setting: str = ""
    """The setting to change, `BRAIN_…` or a key of the other side's configuration; empty when all is well."""


class SearchBackend(Protocol):
    """Anything that can be asked; `name` is the word of BRAIN_SEARCH_BACKENDS."""

    @property
    def name(self) -> str: ...

    async def search(self, query: str, *, language: str, limit: int) -> SearchPage:
        """Return at most `limit` hits for `query`, best first; never raise for a fault of the outside."""
        ...

    async def probe(self) -> Probe:
        """Say whether this backend can answer, and if not, which setting to change."""
        ...
