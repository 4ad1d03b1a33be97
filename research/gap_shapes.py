"""Gaps in the shape of the graph: clusters without an answer, lonely nodes, thin bridges (spec 05). Pure."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Final

from data.models import NodeKind
from data.text import Identifier, IdentifierClass, fold
from research.gap_names import CLASSES
from research.gaps import Opportunity
from research.reading import Reading
from research.vocabulary import NAME_WEIGHT, word_weight
from research.wording import majority_language, names_a_subject, shared_topic

if TYPE_CHECKING:
    from research.graph_view import GraphView

__all__ = ["orphans", "uncovered_clusters", "weak_bridges"]

_SUBJECTS: Final = {
    NodeKind.TICKET: 1.0,
    NodeKind.TECHNIQUE: 0.9,
    NodeKind.PRODUCT: 0.8,
    NodeKind.NOTE: 0.7,
    NodeKind.SECTION: 0.6,
}
"""Kinds whose missing relations are a gap, and how much: a problem without an answer comes first, then a
technique or product nobody connects to anything; a document is more than one subject, an article is an answer."""

_FAMILIAR: Final = 3
"""Nodes that hold a word from which the house has to do with its subject: an orphan of familiar words matters more
than the one ticket about a forklift."""

_ALL_OF_IT: Final = 30
"""Mentions of a name from which a text is about nothing else."""
_SPOKEN_OF: Final = 0.3
"""Of `_topical`, two mentions: a heading whose words its own section does not use twice ("Purpose", "Standard
configuration") says where one is in a book, not what one reads about."""


# ------------------------------------------------------------------------------------ uncovered cluster


def uncovered_clusters(view: GraphView) -> Iterator[Opportunity]:
    """Yield the communities of tickets with no article or reference in them."""
    least = view.policy.cluster_min_tickets
    for members in view.communities:
        if len(members) < least or any(view.answers(place) for place in members):
            continue
        tickets = [place for place in members if view.graph.nodes[place].kind is NodeKind.TICKET]
        if len(tickets) < least:
            continue
        ordered = view.central_first(tickets)
        topic = shared_topic([view.reading(place) for place in ordered], view.rarity, _common_identifier(view, ordered))
        sharing = {reading.node.id for reading in topic.of}
        core = [place for place in ordered if view.graph.nodes[place].id in sharing]
        if len(core) < least:  # they lie near each other and share no subject
            continue
        inside = [weight for weights in view.among(core).values() for weight in weights.tolist()]
        cohesion = fmean(inside) if inside else 0.0
        score = min(0.95, 0.4 + 0.05 * len(core) + 0.4 * max(0.0, cohesion - view.policy.cluster_min_weight))
        why = f"{len(core)} tickets belong together and no article or reference among them answers."
        language = majority_language(topic.of, topic.text)
        yield Opportunity("uncovered_cluster", topic.text, round(score, 4), view.seeds(topic.of), why, language)


def _common_identifier(view: GraphView, places: Sequence[int]) -> Identifier | None:
    """Return the identifier that most of the nodes share, the strongest class first, or None."""
    carriers: dict[str, list[Identifier]] = defaultdict(list)
    for place in places:
        for value, identifier in view.reading(place).identifiers.items():
            if identifier.cls is not IdentifierClass.VERSION:
                carriers[value].append(identifier)
    common = {value: found for value, found in carriers.items() if 2 * len(found) > len(places)}
    if not common:
        return None
    best = min(common, key=lambda value: (-len(common[value]), -CLASSES[common[value][0].cls], value))
    return common[best][0]


# ----------------------------------------------------------------------------------------------- orphan


def orphans(view: GraphView) -> Iterator[Opportunity]:
    """Yield the nodes with content and no relation that stand alone among the vectors, too."""
    policy = view.policy
    alone = (view.degree <= policy.orphan_max_edges) & (view.nearest < policy.orphan_max_weight) & ~view.related
    for place in alone.nonzero()[0].tolist():
        node, edges, nearest = view.graph.nodes[place], int(view.degree[place]), float(view.nearest[place])
        if node.kind not in _SUBJECTS or node.chars < policy.orphan_min_chars:
            continue
        reading = view.reading(place)
        topical = _topical(reading)
        if node.kind is NodeKind.SECTION and topical < _SPOKEN_OF:
            continue
        named = 0.1 * bool(reading.label_identifiers)
        score = _SUBJECTS[node.kind] * (
            0.2 + 0.15 * (1.0 - nearest) + 0.15 * _familiar(view, reading) + 0.1 * topical + named
        )
        why = (
            f"A {node.kind} with content has no relation and "
            f"{'no vector edge' if not edges else f'{edges} weak vector edge' + 's' * (edges > 1)}."
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
    said = [
        reading.mentions[key] for key, word in reading.label_stems.items() if word_weight(fold(word)) >= NAME_WEIGHT
    ]
    return min(1.0, math.log1p(max(said, default=0)) / math.log1p(_ALL_OF_IT))


# ------------------------------------------------------------------------------------------ weak bridge


def weak_bridges(view: GraphView) -> Iterator[Opportunity]:
    """Yield pairs of strong communities joined by a single weak vector edge and no relation."""
    for (first, second), (a, b, weight) in _single_edges(view):
        ends = [view.reading(a), view.reading(b)]
        if not all(end.label for end in ends) or not _kin(*ends):
            continue
        language = majority_language(ends, ends[0].label)
        joint = {"de": "und", "en": "and"}.get(language, "/")
        sizes = len(view.communities[first]), len(view.communities[second])
        why = f"Communities of {sizes[0]} and {sizes[1]} nodes are joined by one vector edge of {weight:.2f} alone."
        score = 0.25 + 0.25 * (1.0 - weight) + 0.01 * min(10, *sizes)
        topic = f"{ends[0].label} {joint} {ends[1].label}"
        yield Opportunity("weak_bridge", topic, round(score, 4), view.seeds(ends), why, language)


def _single_edges(view: GraphView) -> Iterator[tuple[tuple[int, int], tuple[int, int, float]]]:
    """Yield (communities, edge) where one weak vector edge is all that joins two strong communities, in order."""
    import numpy as np

    policy, count = view.policy, len(view.communities)
    pairs = np.concatenate([view.pairs, view.related_pairs])
    weights = np.concatenate([view.weights, np.ones(len(view.related_pairs))])
    ends = view.home[pairs]
    known = (ends >= 0).all(axis=1)
    pairs, weights, ends = pairs[known], weights[known], np.sort(ends[known], axis=1)
    inside = ends[:, 0] == ends[:, 1]
    edges = np.bincount(ends[inside, 0], minlength=count)
    held = np.bincount(ends[inside, 0], weights=weights[inside], minlength=count)
    sizes = np.array([len(members) for members in view.communities])
    strong = (sizes >= policy.bridge_min_members) & (held >= policy.bridge_min_cohesion * np.maximum(edges, 1))
    pairs, weights, ends = pairs[~inside], weights[~inside], ends[~inside]
    _, first, times = np.unique(ends[:, 0] * count + ends[:, 1], return_index=True, return_counts=True)
    single = first[(times == 1) & (weights[first] < policy.bridge_max_weight) & strong[ends[first]].all(axis=1)]
    for at in single.tolist():
        yield tuple(ends[at].tolist()), (*pairs[at].tolist(), float(weights[at]))


def _kin(first: Reading, second: Reading) -> bool:
    """Return whether the labels of a bridge's ends share a telling word or an identifier: else it is chance.

    Two nodes in two languages make no topic that one text could answer: such a bridge joins a text and its translation.
    """
    if {first.node.language, second.node.language} == {"de", "en"}:
        return False
    if {item.value for item in first.label_identifiers} & {item.value for item in second.label_identifiers}:
        return True
    shared = first.label_stems.keys() & second.label_stems.keys()
    return any(names_a_subject(first.label_stems[key]) for key in shared)
