"""A seeded house whose gaps are known: every planted one is found as it was planted, and no near miss."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import pytest

from benchmarks.gap_house import House, build_house
from data.edges import EdgeArrays
from data.graph import GraphSnapshot
from data.models import ArticleState, NodeKind
from data.nodes import NodeContent
from data.tasks import KnownArticle, TaskRequest
from research.opportunities import find
from research.reading import BODY_READ, read_node

NOW = datetime(2026, 1, 15, 8, 0, tzinfo=UTC)


def snapshot(house: House) -> GraphSnapshot:
    nodes = [NodeContent(t.key, t.kind, t.label, t.body, t.language, "", t.key) for t in house.texts]
    contradicted = {house.texts[a].meta["article_id"] for a, _ in house.contradictions}

    def columns(edges: Iterable[tuple[int, int, float]]) -> EdgeArrays:
        low, high, weight = zip(*edges, strict=True)
        return EdgeArrays([one.id for one in nodes], array("i", low), array("i", high), array("d", weight))

    def later(kinds: Iterable[NodeKind]) -> list[tuple[str, str]]:
        return [(one.id, one.body[BODY_READ:]) for one in nodes if one.kind in kinds and len(one.body) > BODY_READ]

    return GraphSnapshot(
        now=NOW,
        nodes=list(map(read_node, nodes)),
        vectors=columns(house.edges),
        relations=columns((a, b, 1.0) for a, b in [*house.relations, *house.contradictions]),
        articles=tuple(
            KnownArticle(article, topic, (), (topic,), ArticleState.APPROVED, NOW - timedelta(days=days))
            for topic, article, days in house.articles
        ),
        contradicted=frozenset(contradicted),
        asked=tuple(TaskRequest(topic, (topic,)) for topic in house.planted.asked),
        later=later,
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2])
def test_what_was_planted_is_found_and_nothing_that_only_looks_like_it(seed: int) -> None:
    house = build_house(1_000, seed=seed)
    planted = house.planted
    found = find(snapshot(house))
    seeds = {kind: {frozenset(gap.seeds) for gap in found if gap.kind == kind} for kind in {gap.kind for gap in found}}
    topics = {kind: {gap.topic for gap in found if gap.kind == kind} for kind in ("asked", "stale")}
    assert topics == {"asked": set(planted.asked), "stale": set(planted.stale)}
    assert seeds["orphan"] == {frozenset({key}) for key in planted.orphan}
    assert seeds["uncovered_cluster"] == set(map(frozenset, planted.uncovered_cluster))
    assert seeds["missing_reference"] == set(map(frozenset, planted.missing_reference.values()))
    assert seeds["weak_bridge"] == set(map(frozenset, planted.weak_bridge))
    assert not any(planted.near_misses & set(gap.seeds) for gap in found)
