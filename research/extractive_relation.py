"""Relation planner and reviewer without a model: deterministic readers of labels, texts and passages.

The planner is generous, because a plan is only a reason to look: it refuses what names different things of
one kind and what shares nothing, and believes two nodes without outside facts only where one of them states
the connection itself. The reviewer is strict: it accepts what a sentence of a shown passage says about both
nodes, cites the passages that say so, and gives an exact type only where a cue and the roles agree.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from data.models import NodeKind, RelationType
from data.text import identifiers
from research.anchors import AnchorWord, LabelAnchors
from research.connections import ADJACENT, Bridge, PairReader, no_question
from research.own_text import own_passages
from research.reasoner import Handler
from research.roles import (
    RELATION_PLAN,
    RELATION_REVIEW,
    Direction,
    NodeView,
    RelationPlan,
    RelationPlanRequest,
    RelationReview,
    RelationReviewRequest,
    ShownPassage,
)
from research.vocabulary import GENERIC_WEIGHT, NAME_WEIGHT
from vector.embed import Embedder

__all__ = ["plan_relation", "relation_handlers", "review_relation"]

SHARED_ENOUGH: Final = 1.0
"""Distinctive weight one text must show of the other's label: a name, or two ordinary words."""
NEAR_ENOUGH: Final = 0.15
"""Cosine from which two texts without a common name may still be worth a search. In the sample corpus related
pairs without one lie between 0.18 and 0.40 with the bundled model, and half of all foreign pairs below this."""
COMPARED_CHARS: Final = 800
QUERY_WORDS: Final = 12
"""As many as the guard would rebuild (spec 04)."""
CLEAR_MAJORITY: Final = 1.5
"""What the best type must outweigh the next one by; else the type stays related_to."""


def relation_handlers(embedder: Embedder) -> Mapping[str, Handler]:
    """Return the handlers of this room's roles; the planner compares texts with `embedder`."""

    def plan(request: RelationPlanRequest) -> RelationPlan:
        return plan_relation(request, embedder)

    return {RELATION_PLAN.name: plan, RELATION_REVIEW.name: review_relation}


def plan_relation(request: RelationPlanRequest, embedder: Embedder) -> RelationPlan:
    """Return whether the two nodes may be related and what to ask for; blocking, it embeds two texts."""
    source, target = request.source, request.target
    if why := no_question(source, target):
        return RelationPlan(related=False, confidence=0.9, reason=why)
    reader = PairReader(source, target)
    for anchors in reader.anchors:
        if anchors.words and not anchors.distinctive and not anchors.identifiers:
            return RelationPlan(related=False, confidence=0.6, reason=f"“{anchors.label.text}” names no subject")
    private = not all(anchors.words or anchors.identifiers for anchors in reader.anchors)
    common = "a label holds nothing public to compare" if private else _in_common(reader)
    if not common:
        near = _cosine(source, target, embedder)
        if near < NEAR_ENOUGH:
            return RelationPlan(
                related=False, confidence=0.7, reason=f"nothing distinctive in common (cosine {near:.2f})"
            )
        common = f"texts near each other (cosine {near:.2f}) without a common name"
    relation, direction = _expected(source, target)
    stated = _stated(request)
    return RelationPlan(
        related=True,
        relation_type=relation,
        direction=direction,
        needs_research=not stated,
        query=_query(reader),
        questions=_questions(source, target, relation, direction),
        confidence=0.8 if stated else 0.5,
        reason=f"one text states it: {stated}" if stated else common,
    )


def review_relation(request: RelationReviewRequest) -> RelationReview:
    """Return whether the shown passages say how the two nodes are connected."""
    reader = PairReader(request.source, request.target)
    carrying: dict[str, list[Bridge]] = {}
    denied = 0
    for passage in request.passages:
        if request.own_text:
            bridges = _own_bridges(reader, passage)
        else:
            bridges = reader.bridges(passage.text, passage.heading, passage.title)
        denied += sum(bridge.denied for bridge in bridges)
        sound = [bridge for bridge in bridges if _carries(bridge)]
        if sound:
            carrying[passage.id] = sound
    if not carrying or denied > sum(map(len, carrying.values())):
        why = "the passages deny a connection" if denied else "no sentence of the passages connects the two"
        return RelationReview(accept=False, confidence=0.7, rationale=why)
    relation, direction = _voted(reader, [bridge for bridges in carrying.values() for bridge in bridges])
    best_id, best = max(
        ((passage_id, bridge) for passage_id, bridges in carrying.items() for bridge in bridges),
        key=lambda entry: (entry[1].relation == relation, entry[1].strength, reader.shown_weight(entry[1].sentence)),
    )
    confidence = 0.5 + 0.2 * best.strength + 0.1 * min(2, len(carrying) - 1) + 0.05 * (best.relation is not None)
    return RelationReview(
        accept=True,
        relation_type=relation,
        direction=direction,
        confidence=round(min(0.95, confidence), 2),
        cited=tuple(carrying),
        rationale=f"{best_id} says: “{_shortened(best.sentence)}”",
    )


def _carries(bridge: Bridge) -> bool:
    """Tell whether a bridge states a connection: in one sentence or two, or below a heading where a cue says what."""
    return bridge.plain and not bridge.denied and (bridge.relation is not None or bridge.strength >= ADJACENT)


def _in_common(reader: PairReader) -> str:
    """Return a sentence on what the two nodes share, empty where it is nothing that names a subject."""
    texts = [f"{view.label}. {view.body}" for view in reader.views]
    listed = [{item.value: item for item in identifiers(text)} for text in texts]
    shared = [item for value, item in listed[0].items() if value in listed[1]]
    weights = (reader.shared_weight(0, texts[1]), reader.shared_weight(1, texts[0]))
    if pinning := [item.text for item in shared if item.pins]:
        return f"both name {pinning[0]}"
    if shared and max(weights) > 0:
        return f"both name {shared[0].text}, and words of the labels agree"
    if max(weights) >= SHARED_ENOUGH:
        side = 0 if weights[0] >= weights[1] else 1
        words = reader.index.shown(side, reader.index.mask(texts[1 - side]))
        return f"both speak of {', '.join(words[:4])}"
    return ""


def _cosine(source: NodeView, target: NodeView, embedder: Embedder) -> float:
    texts = [f"{view.label}\n{view.body}"[:COMPARED_CHARS] for view in (source, target)]
    vectors = embedder.encode(texts)
    return float(np.dot(vectors[0], vectors[1]))


def _expected(source: NodeView, target: NodeView) -> tuple[RelationType, Direction]:
    """Return the type the kinds suggest; it only shapes the questions, the review decides."""
    problems = (source.kind is NodeKind.TICKET, target.kind is NodeKind.TICKET)
    if problems[0] != problems[1]:
        other = target.kind if problems[0] else source.kind
        if other is not NodeKind.TECHNIQUE and other is not NodeKind.PRODUCT:
            return RelationType.SOLVES, Direction.TARGET_TO_SOURCE if problems[0] else Direction.SOURCE_TO_TARGET
    return RelationType.RELATED_TO, Direction.UNDIRECTED


def _stated(request: RelationPlanRequest) -> str:
    """Return the sentence of one node that states its connection with the other, empty where none does."""
    passages = own_passages(request.source, request.target)
    review = review_relation(
        RelationReviewRequest(source=request.source, target=request.target, passages=passages, own_text=True)
    )
    return next((passage.text for passage in passages if passage.id in review.cited), "") if review.accept else ""


def _own_bridges(reader: PairReader, passage: ShownPassage) -> list[Bridge]:
    """Return what a span of a node's own text says about the other node; its title is its node's label."""
    side = 0 if passage.title == reader.views[0].label else 1
    stated = reader.stated(side, passage.text)
    return [] if stated is None else [stated]


def _voted(reader: PairReader, bridges: Sequence[Bridge]) -> tuple[RelationType, Direction]:
    """Return the type and direction that the bridges agree on, else `documents` or `related_to`."""
    votes: dict[tuple[RelationType, Direction], float] = defaultdict(float)
    for bridge in bridges:
        if bridge.relation is not None:
            votes[bridge.relation, bridge.direction] += bridge.strength
    ranked = sorted(votes.items(), key=lambda vote: -vote[1])
    if ranked and (len(ranked) == 1 or ranked[0][1] >= CLEAR_MAJORITY * ranked[1][1]):
        return ranked[0][0]
    if not ranked and (direction := reader.documents()) is not None:
        return RelationType.DOCUMENTS, direction
    return RelationType.RELATED_TO, Direction.UNDIRECTED


def _query(reader: PairReader) -> str:
    """Return identifiers first, then the words of both labels that name something, as written in them."""
    parts: dict[str, str] = {}
    for anchors in reader.anchors:
        for item in anchors.identifiers:
            parts.setdefault(item.value, item.text)
    for weight in (NAME_WEIGHT, 0.0):
        for anchors in reader.anchors:
            for word in _words(anchors, weight):
                parts.setdefault(word.word, word.written)
    return " ".join(list(parts.values())[:QUERY_WORDS])


def _words(anchors: LabelAnchors, least: float) -> list[AnchorWord]:
    return [word for word in anchors.words if word.weight > GENERIC_WEIGHT and word.weight >= least]


def _questions(source: NodeView, target: NodeView, relation: RelationType, direction: Direction) -> tuple[str, ...]:
    first, second = (source, target) if direction is not Direction.TARGET_TO_SOURCE else (target, source)
    german = source.language == "de"
    if relation is RelationType.SOLVES:
        asked = (
            f"Behebt „{first.label}“ das Problem „{second.label}“?"
            if german
            else f"Does “{first.label}” solve “{second.label}”?"
        )
    else:
        asked = (
            f"Wie hängen „{first.label}“ und „{second.label}“ zusammen?"
            if german
            else f"How are “{first.label}” and “{second.label}” connected?"
        )
    return (asked,)


def _shortened(text: str, limit: int = 240) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[:limit].rsplit(" ", 1)[0] + " …"
