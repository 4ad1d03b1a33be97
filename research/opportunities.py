"""Gaps in what is known, seen in the graph alone (spec 05). Pure and deterministic; run it off the event loop.

Each finder below looks for one kind of gap and says where it saw it (seeds), how much it matters (score in
[0, 1]) and why, in a sentence. The same snapshot gives the same list, best first, without two that are the
same gap.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from statistics import fmean
from typing import Final

from data.graph import GraphSnapshot
from data.models import NodeKind
from data.text import Identifier, IdentifierClass, detect_language, fold, identifiers
from research.duplicate_index import DuplicateIndex
from research.duplicates import TaskShape
from research.gaps import KINDS, REFERENCES, GraphView, Opportunity, OpportunityPolicy
from research.vocabulary import NAME_WEIGHT, word_weight
from research.wording import (
    Reading,
    majority_language,
    names_a_subject,
    public_label,
    read_topic,
    shared_topic,
)

__all__ = ["KINDS", "Opportunity", "OpportunityPolicy", "find"]

_EXPLAINERS: Final = REFERENCES | {NodeKind.PRODUCT}
_NAMED_BY_LABEL: Final = frozenset({NodeKind.TECHNIQUE, NodeKind.PRODUCT})
"""Kinds that explain what their label names however short they are: that is what they are there for."""
_SUBJECTS: Final = {
    NodeKind.TICKET: 1.0,
    NodeKind.TECHNIQUE: 0.9,
    NodeKind.PRODUCT: 0.8,
    NodeKind.NOTE: 0.7,
    NodeKind.SECTION: 0.6,
}
"""Kinds whose missing relations are a gap, and how much: a problem without an answer comes first, then a
technique or product nobody connects to anything; a document is more than one subject, an article is an answer."""
_CLASSES: Final = {
    IdentifierClass.CVE: 1.0,
    IdentifierClass.KB: 1.0,
    IdentifierClass.VENDOR_CODE: 1.0,
    IdentifierClass.TECHNIQUE: 0.95,
    IdentifierClass.ERROR_CODE: 0.95,
    IdentifierClass.SYSTEM_CODE: 0.9,
    IdentifierClass.RFC: 0.8,
    IdentifierClass.HTTP_STATUS: 0.7,
    IdentifierClass.VERSION: 0.4,
}
"""How much of a subject a class of identifiers is: a status or a version is shared by unrelated problems."""

_FAMILIAR: Final = 3
"""Nodes that hold a word from which the house has to do with its subject: an orphan of familiar words matters more
than the one ticket about a forklift."""

_ALL_OF_IT: Final = 30
"""Mentions of a name from which a text is about nothing else."""
_SPOKEN_OF: Final = 0.3
"""Of `_topical`, two mentions: a heading whose words its own section does not use twice ("Purpose", "Standard
configuration") says where one is in a book, not what one reads about."""


def find(graph: GraphSnapshot, policy: OpportunityPolicy | None = None) -> list[Opportunity]:
    """Return the gaps of the graph, best first. Blocking and computing: call it in a thread."""
    policy = policy or OpportunityPolicy()
    view = GraphView(graph, policy)
    found: list[Opportunity] = []
    for finder in (_asked, _stale, _missing_references, _uncovered_clusters, _orphans, _weak_bridges):
        named = [gap for gap in finder(view) if names_a_subject(gap.topic)]
        found += sorted(named, key=_rank)[: policy.max_each]
    return _distinct(sorted(found, key=_rank), policy)


def _distinct(gaps: Sequence[Opportunity], policy: OpportunityPolicy) -> list[Opportunity]:
    """Return the gaps without those that a better one has already named, or whose nodes are part of one."""
    index = DuplicateIndex(policy.duplicates)
    kept: list[Opportunity] = []
    for gap in gaps:
        shape = TaskShape(gap.topic, frozenset(gap.seeds), gap.questions)
        if index.duplicates(shape) or any(_part_of(gap, better) for better in kept):
            continue
        index.add(str(len(kept)), shape)
        kept.append(gap)
    return kept


def _part_of(gap: Opportunity, better: Opportunity) -> bool:
    """Return whether all nodes of a gap are among those of a better one, and it is about no other identifier."""
    if not gap.seeds or not set(gap.seeds) <= set(better.seeds):
        return False
    named = {item.value for item in identifiers(gap.topic)}
    return gap.kind == "orphan" or bool(named & {item.value for item in identifiers(better.topic)})


def _rank(gap: Opportunity) -> tuple[float, int, str, tuple[str, ...]]:
    return -gap.score, KINDS.index(gap.kind), gap.topic, gap.seeds


# --------------------------------------------------------------------------------- asked for, and stale


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


# ------------------------------------------------------------------------------------ missing reference


def _missing_references(view: GraphView) -> Iterator[Opportunity]:
    """Identifiers and products that several nodes mention and no node explains."""
    mentions: dict[str, list[int]] = defaultdict(list)
    named: dict[str, Identifier] = {}
    explained: set[str] = set()
    for place, reading in enumerate(view.readings):
        in_label = {item.value for item in reading.label_identifiers}
        for value, identifier in reading.identifiers.items():
            mentions[value].append(place)
            if value in in_label or value not in named:
                named[value] = identifier
            if _explains(view, place, in_label=value in in_label):
                explained |= {value, identifier.product} - {""}
    open_ones = {
        value: places
        for value, places in sorted(mentions.items())
        if len(places) >= view.policy.mention_min_nodes and not {value, named[value].product} & explained
    }
    late = _explained_further_down(view, open_ones)
    for value, places in open_ones.items():
        # a tactic (TA0001) is a shelf of techniques, not a subject
        if value not in late and not value.startswith("ta0"):
            gap = _missing_reference(view, named[value], places)
            if gap is not None:
                yield gap


def _explained_further_down(view: GraphView, values: Collection[str]) -> set[str]:
    """Return those of `values` that a reference speaks of where its body was not read.

    By the last word of the value ("809" of "error 809"): here a gap too few is better than one too many.
    """
    needles = {value: re.compile(rf"(?<!\w){re.escape(value.split()[-1])}(?!\w)") for value in values}
    found: set[str] = set()
    for place, reading in enumerate(view.readings):
        tail = fold(reading.body_tail()) if view.answers(place) else ""
        if tail:
            found |= {value for value, needle in needles.items() if value not in found and needle.search(tail)}
    return found


def _explains(view: GraphView, place: int, *, in_label: bool) -> bool:
    """Return whether a node that mentions an identifier also says what it is."""
    node = view.graph.nodes[place]
    if in_label and node.kind in _NAMED_BY_LABEL:
        return True
    # a technique or product mentions its parents and neighbours in passing; it explains itself alone
    return node.kind in _EXPLAINERS - _NAMED_BY_LABEL and len(node.body) >= view.policy.reference_min_chars


def _missing_reference(view: GraphView, identifier: Identifier, places: Sequence[int]) -> Opportunity | None:
    readings = [view.readings[place] for place in view.central_first(places)]
    topic = shared_topic(readings, view.rarity, identifier)
    if not identifier.pins:
        # one code, several products: those nodes stay that share more with the topic than the code
        readings = _same_subject(topic.text, readings)
    asking = sum(reading.node.kind not in _EXPLAINERS for reading in readings)
    passing = all(reading.node.kind in _NAMED_BY_LABEL for reading in readings)
    if len(readings) < view.policy.mention_min_nodes or passing:
        return None
    score = _CLASSES[identifier.cls] * min(1.0, 0.45 + 0.12 * asking + 0.04 * (len(readings) - asking))
    why = f"{len(readings)} nodes mention {identifier.text} and no article, section, technique or product explains it."
    language = majority_language(readings, topic.text)
    return Opportunity("missing_reference", topic.text, round(score, 4), view.seeds(readings), why, language)


def _same_subject(topic: str, readings: Sequence[Reading]) -> list[Reading]:
    """Return the nodes that share more with the topic than its code: a telling word, else any word."""
    if not readings:
        return []
    said = read_topic(readings[0].node, topic).label_stems
    telling = {key for key, word in said.items() if names_a_subject(word)} or set(said)
    return [reading for reading in readings if telling & reading.keys]


# ------------------------------------------------------------------------------------ uncovered cluster


def _uncovered_clusters(view: GraphView) -> Iterator[Opportunity]:
    """Communities of tickets with no article or reference in them."""
    least = view.policy.cluster_min_tickets
    for members in view.communities:
        tickets = [place for place in members if view.graph.nodes[place].kind is NodeKind.TICKET]
        if len(tickets) < least or any(view.answers(place) for place in members):
            continue
        ordered = view.central_first(tickets)
        topic = shared_topic(
            [view.readings[place] for place in ordered], view.rarity, _common_identifier(view, ordered)
        )
        core = [place for place in ordered if view.readings[place] in topic.of]
        if len(core) < least:  # they lie near each other and share no subject
            continue
        inside = [weight for place in core for other, weight in view.edges[place] if other in set(core)]
        cohesion = fmean(inside) if inside else 0.0
        score = min(0.95, 0.4 + 0.05 * len(core) + 0.4 * max(0.0, cohesion - view.policy.cluster_min_weight))
        why = f"{len(core)} tickets belong together and no article or reference among them answers."
        language = majority_language(topic.of, topic.text)
        yield Opportunity("uncovered_cluster", topic.text, round(score, 4), view.seeds(topic.of), why, language)


def _common_identifier(view: GraphView, places: Sequence[int]) -> Identifier | None:
    """Return the identifier that most of the nodes share, the strongest class first, or None."""
    carriers: dict[str, list[Identifier]] = defaultdict(list)
    for place in places:
        for value, identifier in view.readings[place].identifiers.items():
            if identifier.cls is not IdentifierClass.VERSION:
                carriers[value].append(identifier)
    common = {value: found for value, found in carriers.items() if 2 * len(found) > len(places)}
    if not common:
        return None
    best = min(common, key=lambda value: (-len(common[value]), -_CLASSES[common[value][0].cls], value))
    return common[best][0]


# ----------------------------------------------------------------------------------------------- orphan


def _orphans(view: GraphView) -> Iterator[Opportunity]:
    """Nodes with content and no relation that stand alone among the vectors, too."""
    policy = view.policy
    for place, reading in enumerate(view.readings):
        node, edges = reading.node, view.edges[place]
        nearest = max((weight for _, weight in edges), default=0.0)
        if node.kind not in _SUBJECTS or place in view.related or len(node.body) < policy.orphan_min_chars:
            continue
        if len(edges) > policy.orphan_max_edges or nearest >= policy.orphan_max_weight:
            continue
        isolation = 1.0 - nearest
        topical = _topical(reading)
        if node.kind is NodeKind.SECTION and topical < _SPOKEN_OF:
            continue
        named = 0.1 * bool(reading.label_identifiers)
        score = _SUBJECTS[node.kind] * (
            0.2 + 0.15 * isolation + 0.15 * _familiar(view, reading) + 0.1 * topical + named
        )
        why = (
            f"A {node.kind} with content has no relation and "
            f"{'no vector edge' if not edges else f'{len(edges)} weak vector edge' + 's' * (len(edges) > 1)}."
        )
        language = majority_language([reading], reading.label)
        yield Opportunity("orphan", reading.label, round(score, 4), (node.id,), why, language)


def _familiar(view: GraphView, reading: Reading) -> float:
    """Return the share of the label's weight in words that several nodes of the house use."""
    weights = {key: view.rarity.weight(key, word) for key, word in reading.label_stems.items()}
    known = sum(weight for key, weight in weights.items() if view.rarity.seen(key) >= _FAMILIAR)
    return known / (sum(weights.values()) or 1.0)


def _topical(reading: Reading) -> float:
    """Return how much the body speaks of a name in the label, in [0, 1], by the logarithm of its mentions."""
    body = fold(reading.node.body)
    said = [body.count(fold(word)) for word in reading.label_stems.values() if word_weight(fold(word)) >= NAME_WEIGHT]
    return min(1.0, math.log1p(max(said, default=0)) / math.log1p(_ALL_OF_IT))


# ------------------------------------------------------------------------------------------ weak bridge


def _weak_bridges(view: GraphView) -> Iterator[Opportunity]:
    """Two strong communities joined by a single weak vector edge and no relation."""
    policy = view.policy
    home = {place: number for number, members in enumerate(view.communities) for place in members}
    between: dict[tuple[int, int], list[tuple[int, int, float]]] = defaultdict(list)
    inside: dict[int, list[float]] = defaultdict(list)
    for a, b, weight in [*view.graph.vectors, *((a, b, 1.0) for a, b in view.graph.relations)]:
        first, second = home.get(a), home.get(b)
        if first is None or second is None:
            continue
        if first == second:
            inside[first].append(weight)
        else:
            between[min(first, second), max(first, second)].append((a, b, weight))
    strong = {
        number
        for number, weights in inside.items()
        if len(view.communities[number]) >= policy.bridge_min_members and fmean(weights) >= policy.bridge_min_cohesion
    }
    for (first, second), edges in sorted(between.items()):
        if len(edges) != 1 or edges[0][2] >= policy.bridge_max_weight or not {first, second} <= strong:
            continue
        a, b, weight = edges[0]
        ends = [view.readings[a], view.readings[b]]
        if not all(end.label for end in ends) or not _kin(view, a, b):
            continue
        language = majority_language(ends, ends[0].label)
        joint = {"de": "und", "en": "and"}.get(language, "/")
        sizes = len(view.communities[first]), len(view.communities[second])
        why = f"Communities of {sizes[0]} and {sizes[1]} nodes are joined by one vector edge of {weight:.2f} alone."
        score = 0.25 + 0.25 * (1.0 - weight) + 0.01 * min(10, *sizes)
        topic = f"{ends[0].label} {joint} {ends[1].label}"
        yield Opportunity("weak_bridge", topic, round(score, 4), view.seeds(ends), why, language)


def _kin(view: GraphView, a: int, b: int) -> bool:
    """Return whether the labels of a bridge's ends share a telling word or an identifier: else it is chance.

    Two nodes in two languages make no topic that one text could answer: such a bridge joins a text and its translation.
    """
    first, second = view.readings[a], view.readings[b]
    if {first.node.language, second.node.language} == {"de", "en"}:
        return False
    if {item.value for item in first.label_identifiers} & {item.value for item in second.label_identifiers}:
        return True
    shared = first.label_stems.keys() & second.label_stems.keys()
    return any(names_a_subject(first.label_stems[key]) for key in shared)
