"""Fail closed (spec 04): a test for every row and for every pair of faults in one run, over real clients.

The search client, the fetcher and the gate are the real ones, against servers on loopback that fail. What is
compared is the content of every table but decisions and events, and every file of the home.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest

from data import events
from data.edges import relation_between
from data.events import list_events
from data.models import EdgeKind, PairState
from data.pairs import count_by_reason, get_decision
from data.store import Store
from research.pair_reasons import RETRIED, Reason
from tests.research.fault_world import FAULTS, RANK, STAGES, Fault, World, contents, pairs_of_nodes, thinking_world
from tests.research.test_pairs import put_edge

FEW = {
    "planner down", "nothing public", "every engine failed", "nobody knows", "page: 404", "page of another error code",
    "hits off topic", "review cites nothing", "reviewer down", "review says no",
}  # fmt: skip
"""One fault a row of the table; their pairs run every time, all pairs in the slow suite."""


def together(first: Fault, second: Fault) -> tuple[list[World], Reason]:
    """Return the worlds of one run with both faults, and the reason that its last thought must end with.

    Two faults of pages take a page each. Two of another slot cannot be at once: the first strikes, then the
    second does.
    """
    if first.slot == second.slot == "page":
        assert first.wrong is not None
        assert second.wrong is not None
        return [World(page=(first.wrong, second.wrong))], min(first.reason, second.reason, key=RANK.index)
    if first.slot == second.slot:
        return [first.change(World()), second.change(World())], second.reason
    earlier = min(first, second, key=lambda fault: STAGES.index(fault.slot))  # the other one is never reached
    return [first.change(second.change(World()))], earlier.reason


async def run(store: Store, cases: Sequence[tuple[str, list[World], Reason]]) -> None:
    nodes = await pairs_of_nodes(store, len(cases))
    before = await contents(store)
    expected: dict[str, int] = {}
    async with thinking_world(store) as (set_up, _):
        for (name, worlds, reason), pair in zip(cases, nodes, strict=True):
            for world in worlds:
                source, target = pair[world.private]
                outcome = await set_up(world).think(source, target)
            assert outcome.reason is reason, f"{name}: {outcome.detail}"
            decision = await store.read(get_decision, source, target)
            assert decision is not None
            assert decision.state is (PairState.RETRY if reason in RETRIED else PairState.REFUSED), name
            assert decision.retry_not_before is not None
            assert decision.retry_not_before > store.clock.now(), name
            for thought in {world.private: world for world in worlds}:
                known = await store.read(get_decision, *pair[thought])
                assert known is not None
                expected[known.reason] = expected.get(known.reason, 0) + 1
    assert await contents(store) == before
    assert await store.read(count_by_reason) == expected
    for event in await store.read(list_events, name_prefix="think.", limit=5_000):
        assert event.name != events.THINK_RELATION_ACCEPTED
        if event.name == events.THINK_INSUFFICIENT:
            payload = event.payload
            assert payload["reason"] in set(RANK)
            assert payload["source"] < payload["target"]
            assert payload["hits"] >= payload["scoped"] >= payload["fetched"] >= payload["accepted"] >= 0
    insufficient = [e for e in await store.read(list_events, limit=5_000) if e.name == events.THINK_INSUFFICIENT]
    assert len(insufficient) == sum(len(worlds) for _, worlds, _ in cases)


async def test_the_world_without_a_fault_leads_to_a_relation(store: Store) -> None:
    (pair,) = await pairs_of_nodes(store, 1)
    before = await contents(store)
    async with thinking_world(store) as (set_up, _):
        outcome = await set_up(World()).think(*pair[False])
    assert outcome.accepted, outcome.detail
    assert await store.read(relation_between, *pair[False]) is not None
    changed = {name for name, digest in (await contents(store)).items() if before.get(name) != digest}
    assert changed >= {"node", "edge", "evidence", "journal"}
    assert any(name.startswith("evidence/") for name in changed)


async def test_every_row_of_the_table_leaves_nothing_behind(store: Store) -> None:
    await run(store, [(fault.name, [fault.change(World())], fault.reason) for fault in FAULTS])
    assert {fault.reason for fault in FAULTS} == set(RANK)


def pairs_of(faults: Sequence[Fault]) -> list[tuple[str, list[World], Reason]]:
    return [
        (f"{first.name} + {second.name}", *together(first, second))
        for first, second in itertools.combinations(faults, 2)
    ]


async def test_a_pair_of_faults_for_any_two_rows_leaves_nothing_behind(store: Store) -> None:
    await run(store, pairs_of([fault for fault in FAULTS if fault.name in FEW]))


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_every_pair_of_faults_leaves_nothing_behind(store: Store) -> None:
    await run(store, pairs_of(FAULTS))


async def test_one_good_page_is_enough_whatever_the_other_one_does(store: Store) -> None:
    wrong = [fault for fault in FAULTS if fault.wrong is not None]
    nodes = await pairs_of_nodes(store, len(wrong))
    async with thinking_world(store) as (set_up, _):
        for fault, pair in zip(wrong, nodes, strict=True):
            assert fault.wrong is not None
            outcome = await set_up(World(page=(fault.wrong, World().page[0]))).think(*pair[False])
            assert outcome.accepted, f"{fault.name}: {outcome.detail}"
            assert outcome.evidence == 1


async def test_a_second_pass_over_the_same_pairs_sends_nothing(store: Store) -> None:
    nodes = [pair[False] for pair in await pairs_of_nodes(store, 2)]
    for pair in nodes:
        await store.write(put_edge, *pair, EdgeKind.VECTOR, 0.5)
    async with thinking_world(store) as (set_up, server):
        thinking = set_up(World())
        first = await thinking.think_pass(10)
        assert first.accepted == 2
        sent = len(server.requests)
        assert sent >= 4  # a search and a page a pair at least
        assert (await thinking.think_pass(10)).thought == 0
        assert len(server.requests) == sent
