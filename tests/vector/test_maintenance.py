"""Maintenance: what is due and when, what is written and what is not, and telemetry that tells the truth."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest
from sqlalchemy import text

from data.clock import ManualClock, from_iso
from data.crud.engine import perform
from data.crud.ingest import IngestNodes, NodeDraft
from data.crud.nodes import DeactivateNode
from data.edges import list_edges
from data.events import list_events
from data.locks import EngineMutex
from data.models import Edge, EdgeKind, NodeKind
from data.nodes import list_nodes
from data.state import get_state
from data.store import Store
from data.vectors import load_positions, load_vectors
from vector.embed import HashingEmbedder
from vector.layout import LayoutPolicy
from vector.maintenance import Maintenance, VectorPolicy

INTERVAL = timedelta(minutes=30)
RELAX = timedelta(hours=2)
TOPICS = ("printer spooler queue", "kerberos clock skew", "postfix relay denied", "nginx bad gateway upstream")


def drafts(count: int, salt: str = "") -> list[NodeDraft]:
    words = np.random.default_rng(len(salt))
    return [
        NodeDraft(
            kind=NodeKind.TICKET,
            label=f"{TOPICS[number % 4]} case {number}{salt}",
            body=f"{TOPICS[number % 4]} " * 3 + " ".join(f"w{word}" for word in words.integers(0, 400, 12)),
            language="en",
            source_uri=f"t:{number}{salt}",
            category="",
            meta={},
        )
        for number in range(count)
    ]


async def ingest(store: Store, count: int, salt: str = "") -> None:
    outcome = await perform(store, IngestNodes(drafts(count, salt)), actor="test")
    assert outcome.ok


def maintenance(store: Store, embedder: HashingEmbedder, mode: str = "relax", **policy: float) -> Maintenance:
    layout = LayoutPolicy(mode=mode, steps=60)  # type: ignore[arg-type]
    vectors = VectorPolicy(k=4, reevaluate_interval=INTERVAL, **policy)  # type: ignore[arg-type]
    return Maintenance(store, embedder, EngineMutex(store), vectors, layout, relax_interval=RELAX)


async def edges(store: Store) -> dict[tuple[str, str], Edge]:
    return {
        (edge.source_id, edge.target_id): edge
        for edge in await store.read(list_edges, kind=EdgeKind.VECTOR, limit=10_000)
    }


async def names(store: Store) -> list[str]:
    return [event.name for event in await store.read(list_events, 0, 1000, "vector.")]


async def data_version(store: Store) -> int:
    return await store.read(lambda conn: conn.execute(text("SELECT count(*) FROM journal")).scalar_one())


async def test_edges_are_those_of_the_definition_and_stored_lower_id_first(
    store: Store, embedder: HashingEmbedder
) -> None:
    await ingest(store, 24)
    care = maintenance(store, embedder)
    await care.embed()
    await care.reevaluate()
    found = await store.read_bulk(load_vectors, embedder.name)
    space = np.frombuffer(found.data, "<f4").reshape(len(found.ids), found.dim).astype(np.float64)
    similarity = space @ space.T
    np.fill_diagonal(similarity, -np.inf)
    nearest = np.sort(similarity, axis=1)[:, ::-1][:, :4]
    scale = nearest.mean(axis=1)
    expected = set()
    for a in range(len(space)):
        for b in range(a + 1, len(space)):
            listed = similarity[a, b] >= nearest[a, -1] or similarity[a, b] >= nearest[b, -1]
            affinity = 2 * similarity[a, b] - scale[a] - scale[b]
            if listed and similarity[a, b] >= 0.45 and affinity >= -0.10 and similarity[a, b] <= 0.995:
                expected.add((found.ids[a], found.ids[b]))
    stored = await edges(store)
    assert similarity.max() <= 0.995  # no duplicates here: they are grouped first
    assert expected
    assert {pair for pair, edge in stored.items() if not edge.meta.get("duplicate")} == expected
    assert all(source < target for source, target in stored)


async def test_an_unchanged_graph_computes_and_writes_nothing(store: Store, embedder: HashingEmbedder) -> None:
    await ingest(store, 20)
    first = maintenance(store, embedder)
    await first.embed()
    done = await first.reevaluate()
    assert (done.added, done.computed) == (len(await edges(store)), 20)
    before, written = await edges(store), await data_version(store)
    for care in (first, maintenance(store, embedder)):  # the same process, and one that was started anew
        assert not (await care.embed()).changed
        again = await care.reevaluate()
        assert (again.added, again.changed, again.removed, again.computed) == (0, 0, 0, 0)
        assert again.kept == len(before)
    assert await edges(store) == before
    assert await data_version(store) == written


async def test_a_change_computes_its_rows_alone_and_ends_like_a_full_pass(
    store: Store, embedder: HashingEmbedder
) -> None:
    await ingest(store, 40)
    care = maintenance(store, embedder)
    await care.embed()
    await care.reevaluate()
    await ingest(store, 3, salt=" new")
    gone = (await store.read(list_nodes, limit=1))[0]
    assert (await perform(store, DeactivateNode(gone.id, version=gone.version), actor="test")).ok
    assert (await care.embed()).embedded == 3
    report = await care.reevaluate()
    assert report.computed == 3
    incremental = {pair: (edge.weight, edge.meta) for pair, edge in (await edges(store)).items()}
    assert not any(gone.id in pair for pair in incremental)
    full = await maintenance(store, embedder).reevaluate(force=True)
    assert full.computed == 42
    assert (full.added, full.changed, full.removed) == (0, 0, 0)
    assert {pair: (edge.weight, edge.meta) for pair, edge in (await edges(store)).items()} == incremental


async def test_another_model_leaves_no_vector_of_the_old_one(store: Store) -> None:
    await ingest(store, 12)
    await maintenance(store, HashingEmbedder(64)).embed()
    other = HashingEmbedder(32)
    report = await maintenance(store, other).embed()
    assert (report.embedded, report.dropped) == (12, 12)
    found = await store.read_bulk(load_vectors, other.name)
    assert (len(found.ids), found.dim) == (12, 32)


async def test_last_layout_is_told_only_of_positions_that_were_written(store: Store, embedder: HashingEmbedder) -> None:
    await ingest(store, 16)
    care = maintenance(store, embedder)
    await care.embed()
    await care.reevaluate()
    assert await store.read(get_state, "last_vector_layout") is None
    first = await care.refresh_layout("relax")
    assert (first.applied, len(await store.read(load_positions))) == ("full", 16)  # there was nothing to relax
    told = await store.read(get_state, "last_vector_layout")
    assert from_iso(told) == store.clock.now()
    shifts = []
    for _ in range(60):
        report = await care.refresh_layout("relax")
        shifts.append(report.max_shift)
        if report.applied == "none":
            break
    assert max(shifts) <= 0.035
    assert shifts[-1] == 0.0, shifts  # at rest, and silent
    told = await store.read(get_state, "last_vector_layout")
    assert isinstance(store.clock, ManualClock)
    store.clock.advance(60)
    await care.refresh_layout("relax")
    assert await store.read(get_state, "last_vector_layout") == told


async def test_a_restart_does_not_relax_at_once(store: Store, embedder: HashingEmbedder, clock: ManualClock) -> None:
    await ingest(store, 12)
    first = maintenance(store, embedder)
    done = await first.run_due()
    assert done.layout is not None
    assert done.layout.applied == "full"  # there was no position yet
    clock.advance(RELAX * 3)
    restarted = maintenance(store, embedder)
    assert await restarted.due() == (True, "off")
    clock.advance(RELAX)
    assert (await restarted.due())[1] == "relax"


@pytest.mark.parametrize(("mode", "expected"), [("off", "off"), ("relax", "relax"), ("full", "off")])
async def test_modes_decide_what_is_due(
    store: Store, embedder: HashingEmbedder, clock: ManualClock, mode: str, expected: str
) -> None:
    await ingest(store, 12)
    care = maintenance(store, embedder, mode)
    await care.run_due()
    clock.advance(RELAX)
    assert (await care.due())[1] == expected
    if mode == "full":
        await ingest(store, 6, salt=" more")
        assert (await care.due())[1] == "full"


async def test_due_times_events_and_state_are_as_named(
    store: Store, embedder: HashingEmbedder, clock: ManualClock
) -> None:
    await ingest(store, 12)
    care = maintenance(store, embedder)
    await care.run_due()
    assert await names(store) == [
        "vector.graph.maintenance.started",
        "vector.graph.rebuilt",
        "vector.graph.maintenance.completed",
    ]
    completed = (await store.read(list_events, 0, 10, "vector.graph.maintenance.completed"))[0].payload
    assert {"layout_mode", "layout_applied", "periodic_refresh", "layout_refresh", "nodes", "edges_added"} <= set(
        completed
    )
    assert {"edges_removed", "edges_kept", "seconds", "quality"} <= set(completed)
    assert (completed["layout_mode"], completed["layout_applied"]) == ("relax", "full")
    assert await care.run_due() == type(await care.run_due())()  # nothing is due: nothing is done or told
    assert len(await names(store)) == 3
    clock.advance(INTERVAL - timedelta(seconds=1))
    assert not (await care.due())[0]
    clock.advance(1)
    assert (await care.due())[0]
    due = await store.read(get_state, "vector_next_due")
    assert set(due) == {"reevaluation", "layout"}


async def test_maintenance_waits_for_who_holds_the_engine(store: Store, embedder: HashingEmbedder) -> None:
    import asyncio

    await ingest(store, 8)
    mutex = EngineMutex(store)
    care = Maintenance(store, embedder, mutex, VectorPolicy(k=4), LayoutPolicy(mode="off"))
    async with mutex.hold("learning"):
        job = asyncio.create_task(care.run_due())
        while not mutex.waiting():  # noqa: ASYNC110 - the mutex tells nobody that somebody waits
            await asyncio.sleep(0)
        assert mutex.waiting() == ("maintenance",)
        assert await store.read(get_state, "last_vector_reevaluation") is None
    assert (await job).edges is not None
