"""What a synthesis run is asked, what it knows while it runs, and what it comes to (spec 06)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from articles.drafts import Shelf
from data.evidence import EvidenceText, text_digest
from data.models import ArticleType

__all__ = [
    "MoreEvidence",
    "MoreResearch",
    "RunEnded",
    "RunState",
    "SynthesisRequest",
    "SynthesisResult",
    "counted",
    "whole_texts",
]


class MoreEvidence(Protocol):
    """What a round of additional research brings: all accepted texts so far, and what failed outside, if anything."""

    @property
    def accepted(self) -> tuple[EvidenceText, ...]: ...

    @property
    def incomplete(self) -> str | None: ...


class MoreResearch(Protocol):
    """Looks for answers to `questions` with at most `fetches` fetches."""

    async def __call__(self, questions: Sequence[str], *, fetches: int) -> MoreEvidence: ...


@dataclass(frozen=True, slots=True)
class SynthesisRequest:
    topic: str
    questions: tuple[str, ...]
    language: str
    evidence: tuple[EvidenceText, ...]
    directives: tuple[str, ...] = ()
    task_id: str | None = None
    article_type: ArticleType | None = None
    incomplete: str | None = None
    """What failed outside while the evidence was gathered: too little of it then proves nothing."""


@dataclass(frozen=True, slots=True)
class SynthesisResult:
    outcome: Literal["staged", "refused", "outside_error", "unchanged"]
    reason: str
    article_id: str | None = None
    revision: int | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)


class RunEnded(Exception):
    """The run ends here with a reason."""

    def __init__(self, reason: str, detail: Mapping[str, Any] | None = None, *, outside: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.detail = dict(detail or {})
        self.outside = outside


@dataclass
class RunState:
    """What one run knows so far."""

    request: SynthesisRequest
    key: str
    rejections: tuple[str, ...]
    evidence: dict[str, EvidenceText]
    incomplete: str | None
    more: MoreResearch | None
    fingerprint: str = ""
    type: ArticleType | None = None
    asked_more: bool = False
    reconsidered: bool = False
    shelf: tuple[frozenset[str], Shelf] | None = None
    """The passages about the topic, and of which evidence they were cut: embedding them again would change nothing."""
    log: dict[str, Any] = field(default_factory=dict)

    def texts(self) -> list[EvidenceText]:
        """Return the accepted evidence in the article's language."""
        return [one for one in self.evidence.values() if one.evidence.language in {self.request.language, "und"}]

    def payload(self, **values: Any) -> dict[str, Any]:
        return {"topic": self.request.topic, "task_id": self.request.task_id, **values}


def whole_texts(evidence: Sequence[EvidenceText]) -> dict[str, EvidenceText]:
    """Return the accepted evidence whose text is what its row says, by id, each text once, in a fixed order."""
    accepted = (one for one in evidence if one.evidence.accepted and text_digest(one.text) == one.evidence.sha256)
    by_text: dict[str, EvidenceText] = {}
    for one in sorted(accepted, key=lambda entry: (entry.evidence.sha256, entry.evidence.url, entry.evidence.id)):
        by_text.setdefault(one.evidence.sha256, one)
    return {one.evidence.id: one for one in by_text.values()}


def counted(codes: Iterable[str]) -> dict[str, int]:
    """Return how often each code occurs, in the order of their first."""
    counts: dict[str, int] = {}
    for code in codes:
        counts[code] = counts.get(code, 0) + 1
    return counts
