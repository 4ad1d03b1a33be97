"""A month of maintenance on a clock of its own, with restarts, new knowledge and failing writes in it."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Connection

from data.clock import ManualClock, from_iso
from data.crud.engine import perform
from data.crud.nodes import DeactivateNode
from data.locks import EngineMutex
from data.nodes import list_nodes
from data.state import get_state
from data.store import Store
from tests.vector.house import drafts, ingest
from vector.embed import HashingEmbedder
from vector.layout import LayoutPolicy
from vector.maintenance import Maintenance, VectorPolicy, WriteFailed

REEVALUATE, RELAX, LOOK = timedelta(minutes=30), timedelta(hours=2), timedelta(minutes=15)
REFUSE = "CREATE TRIGGER refuse_{0} BEFORE INSERT ON {0} BEGIN SELECT RAISE(ABORT, 'not today'); END"


def started(store: Store, embedder: HashingEmbedder) -> Maintenance:
    layout = LayoutPolicy(mode="relax", steps=30, k=4)
    policy = VectorPolicy(k=4, reevaluate_interval=REEVALUATE, threads=1)
    return Maintenance(store, embedder, EngineMutex(store), policy, layout, relax_interval=RELAX)


async def told(store: Store, name: str) -> datetime | None:
    value = await store.read(get_state, name)
    return None if value is None else from_iso(value)


async def execute(store: Store, sql: str) -> None:
    def run(tx: Any) -> None:
        tx.conn.exec_driver_sql(sql)

    await store.write(run)


EDGES = "SELECT count(*), sum(weight), max(updated_at), group_concat(id) FROM edge WHERE kind = 'vector'"
PLACES = "SELECT count(*), sum(x), sum(y), sum(x * y), max(updated_at) FROM position"


async def everything(store: Store) -> tuple[Any, ...]:
    """What stands: edges, positions, and what is told of both."""

    def look(conn: Connection) -> tuple[Any, ...]:
        return tuple(tuple(conn.exec_driver_sql(sql).one()) for sql in (EDGES, PLACES))

    edges, places = await store.read(look)
    return edges, places, await told(store, "last_vector_reevaluation"), await told(store, "last_vector_layout")


@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_a_month(store: Store, clock: ManualClock, embedder: HashingEmbedder) -> None:
    luck = random.Random(5)
    await ingest(store, drafts(24))
    care, began, refused = started(store, embedder), clock.monotonic(), ""
    reevaluations = relaxations = failures = restarts = 0
    relaxed = float("-inf")
    while clock.monotonic() < timedelta(days=30).total_seconds():
        if luck.random() < 0.02:
            care, began = started(store, embedder), clock.monotonic()
            restarts += 1
        if luck.random() < 0.03:
            await ingest(store, drafts(1, f" at {clock.monotonic():.0f}"))
        if luck.random() < 0.02:
            one = luck.choice(await store.read(list_nodes, limit=1000))
            assert (await perform(store, DeactivateNode(one.id, version=one.version), actor="test")).ok
        if refused:
            await execute(store, f"DROP TRIGGER refuse_{refused}")
            refused = ""
        elif luck.random() < 0.05:
            refused = luck.choice(["edge", "position", "embedding", "neighbour"])
            await execute(store, REFUSE.format(refused))
        before, now = await everything(store), clock.now()
        try:
            done = await care.run_due()
        except WriteFailed as error:
            failures += 1
            assert "not today" in str(error)
            after = await everything(store)
            # What failed stands as it stood; what came before it in the run may stand anew, with its time.
            assert after[1] == before[1]
            assert after[3] == before[3]
            assert after[2] in {before[2], now}
            assert after[0] == before[0] or after[2] == now
        else:
            after = await everything(store)
            if done.edges is not None:
                reevaluations += 1
                assert after[2] == now
            else:
                assert after[:1] + after[2:3] == before[:1] + before[2:3]
                assert after[2] is not None
                assert now - after[2] < REEVALUATE  # nothing due was left undone
            if done.layout is not None:
                relaxations += 1
                assert clock.monotonic() - max(began, relaxed) >= RELAX.total_seconds() or not before[1][0]
                relaxed = clock.monotonic()
            elif before[1][0]:
                assert clock.monotonic() - max(began, relaxed) < RELAX.total_seconds()
            # Told exactly when positions were written.
            wrote = done.layout is not None and done.layout.applied != "none"
            assert after[3] == (now if wrote else before[3])
            if not wrote:
                assert after[1][0] <= before[1][0]  # places of nodes that left may go
                assert after[1][0] < before[1][0] or after[1] == before[1]
        clock.advance(LOOK)
    assert (await store.read(get_state, "last_vector_layout")) is not None
    assert reevaluations > 1000
    assert relaxations > 250
    assert failures > 5
    assert restarts > 50
