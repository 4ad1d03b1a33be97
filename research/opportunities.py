"""Gaps in what is known, seen in the graph alone (spec 05). Pure and deterministic; run it off the event loop.

Each finder looks for one kind of gap and says where it saw it (seeds), how much it matters (score in [0, 1]) and why,
in a sentence. The same snapshot gives the same list, best first, without two that are the same gap.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from data.graph import GraphSnapshot
from data.text import detect_language, identifiers
from research.duplicate_index import DuplicateIndex
from research.duplicates import TaskShape
from research.gap_names import missing_references
from research.gap_shapes import orphans, uncovered_clusters, weak_bridges
from research.gaps import KINDS, Opportunity, OpportunityPolicy
from research.labels import public_label
from research.wording import names_a_subject

if TYPE_CHECKING:
    from research.graph_view import GraphView

__all__ = ["KINDS", "Opportunity", "OpportunityPolicy", "find"]


def find(graph: GraphSnapshot, policy: OpportunityPolicy | None = None) -> list[Opportunity]:
    """Return the gaps of the graph, best first. Blocking and computing: call it in a thread."""
    from research.graph_view import GraphView  # loads numpy, which a scan needs and a policy does not

    policy = policy or OpportunityPolicy()
    view = GraphView(graph, policy)
    found: list[Opportunity] = []
    for finder in _FINDERS:
        named = [gap for gap in finder(view) if names_a_subject(gap.topic)]
        found += sorted(named, key=_rank)[: policy.max_each]
    return _distinct(sorted(found, key=_rank), policy)


def _distinct(gaps: Sequence[Opportunity], policy: OpportunityPolicy) -> list[Opportunity]:
    """Return the gaps without those that a better one has already named, or whose nodes are part of one."""
    index = DuplicateIndex(policy.duplicates)
    kept: list[Opportunity] = []
    by_seed: dict[str, list[Opportunity]] = defaultdict(list)
    for gap in gaps:
        shape = TaskShape(gap.topic, frozenset(gap.seeds), gap.questions)
        better = by_seed[gap.seeds[0]] if gap.seeds else []
        if index.duplicates(shape) or any(_part_of(gap, other) for other in better):
            continue
        index.add(str(len(kept)), shape)
        kept.append(gap)
        for seed in gap.seeds:
            by_seed[seed].append(gap)
    return kept


def _part_of(gap: Opportunity, better: Opportunity) -> bool:
    """Return whether all nodes of a gap are among those of a better one, and it is about no other identifier."""
    if not gap.seeds or not set(gap.seeds) <= set(better.seeds):
        return False
    named = {item.value for item in identifiers(gap.topic)}
    return gap.kind == "orphan" or bool(named & {item.value for item in identifiers(better.topic)})


def _rank(gap: Opportunity) -> tuple[float, int, str, tuple[str, ...]]:
    return -gap.score, KINDS.index(gap.kind), gap.topic, gap.seeds


def _asked(view: GraphView) -> Iterator[Opportunity]:
    """Topics an agent task or a person asked for while the day's budget was used up."""
    for request in view.graph.asked:
        topic = public_label(request.topic, view.policy.privacy)
        yield Opportunity(
            kind="asked",
            topic=topic,
            score=round(0.75 + 0.25 * request.priority / 100, 4),
            seeds=tuple(sorted(request.seeds)),
            why="It was asked for when the day's budget was used up.",
            language=request.language if request.language != "und" else detect_language(topic),
            questions=request.questions,
            article_type=request.article_type,
        )


def _stale(view: GraphView) -> Iterator[Opportunity]:
    """Approved articles whose evidence is out of date, or whose node something contradicts."""
    for article in view.graph.articles:
        contradicted = article.id in view.graph.contradicted
        age = None if article.evidence_at is None else view.graph.now - article.evidence_at
        if not contradicted and (age is None or age <= view.policy.evidence_max_age):
            continue
        if contradicted:
            score, why = 0.9, "An approved article is contradicted by newer knowledge."
        else:
            days = age.days if age is not None else 0
            score, why = 0.8, f"The evidence of an approved article is {days} days old."
        topic = public_label(article.topic, view.policy.privacy)
        yield Opportunity("stale", topic, score, article.seeds, why, detect_language(topic), article.questions)


_FINDERS: Final[tuple[Callable[[GraphView], Iterator[Opportunity]], ...]] = (
    _asked,
    _stale,
    missing_references,
    uncovered_clusters,
    orphans,
    weak_bridges,
)
