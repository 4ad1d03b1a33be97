"""What is written down about one thought: the text that `brain pairs show` prints (spec 09).

A `PairRecord` is filled while a pair is thought about and becomes the decision's `detail`: the plan, the
query before and after the guard, every hit and where it fell, every text with its scores and the sentence
why, the review. It is JSON through and through and bounded in size.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from data.models import Node, PairDecision
from research.gate import Assessment, Passage
from research.guard import GuardedQuery
from research.hits import HitTrail, ReadResult, ReadText
from research.roles import RelationPlan, RelationReview

__all__ = ["PairRecord", "refused_urls"]

SHOWN_PASSAGE: Final = 600
SHOWN_LINE: Final = 300
SHOWN_HITS: Final = 40


@dataclass(slots=True)
class PairRecord:
    """One run over one pair."""

    source: Node
    target: Node
    plan: RelationPlan | None = None
    query: GuardedQuery | None = None
    read: ReadResult | None = None
    review: RelationReview | None = None
    cited: Mapping[str, str] = field(default_factory=dict)
    """Id a passage was shown under → where it comes from."""
    error: str | None = None

    def counts(self) -> dict[str, int]:
        """Return hits, scoped, fetched, fetch errors and accepted, zero where no search was made."""
        if self.read is not None:
            return self.read.counts()
        return dict.fromkeys(("hits", "scoped", "fetched", "fetch_errors", "accepted"), 0)

    def detail(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        found: dict[str, Any] = {
            "labels": {"source": self.source.label, "target": self.target.label},
            "plan": None if self.plan is None else self.plan.model_dump(mode="json"),
            "counts": self.counts(),
        }
        if self.query is not None:
            found["query"] = {
                "planned": self.query.original,
                "sent": self.query.query,
                "rebuilt": self.query.rebuilt,
                "reason": self.query.reason,
            }
        if self.read is not None:
            found["search"] = {
                "state": str(self.read.state),
                "engines_failed": list(self.read.engines_failed),
                "notes": [_line(note) for note in self.read.notes],
            }
            found["hits"] = [_hit(trail) for trail in self.read.trails[:SHOWN_HITS]]
            found["texts"] = [_text(text) for text in self.read.texts]
        if self.review is not None:
            found["review"] = {**self.review.model_dump(mode="json"), "shown": dict(self.cited)}
        if self.error is not None:
            found["error"] = _line(self.error)
        return found


def refused_urls(decision: PairDecision | None) -> frozenset[str]:
    """Return the addresses whose texts the last run over this pair refused (spec 04: not looked at again)."""
    if decision is None:
        return frozenset()
    texts = decision.detail.get("texts", ())
    return frozenset(text["url"] for text in texts if not text["accepted"])


def _hit(trail: HitTrail) -> dict[str, Any]:
    return {
        "url": trail.url,
        "title": _line(trail.title),
        "engine": trail.engine,
        "stage": str(trail.stage),
        "reason": trail.reason,
        "why": _line(trail.why),
    }


def _text(text: ReadText) -> dict[str, Any]:
    document, judged = text.document, text.assessment
    return {
        "url": document.url,
        "final_url": document.final_url,
        "title": _line(document.title),
        "publisher": document.publisher,
        "language": document.language,
        "fetched_at": text.fetched_at.isoformat(),
        "flags": list(document.flags),
        "passages": [_passage(passage) for passage in judged.passages],
        **_scores(judged),
    }


def _scores(judged: Assessment) -> dict[str, Any]:
    return {
        "accepted": judged.accepted,
        "reason": judged.reject_reason,
        "relevance": judged.relevance,
        "cosine": judged.cosine,
        "coverage": judged.coverage,
        "source_quality": str(judged.source_quality),
        "source_quality_score": judged.source_quality_score,
        "mirror_of": judged.mirror_of,
        "why": judged.assessment_reason,
    }


def _passage(passage: Passage) -> dict[str, Any]:
    return {
        "start": passage.start,
        "end": passage.end,
        "text": passage.text[:SHOWN_PASSAGE],
        "cosine": passage.cosine,
        "coverage": passage.coverage,
    }


def _line(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= SHOWN_LINE else f"{flat[: SHOWN_LINE - 1]}…"
