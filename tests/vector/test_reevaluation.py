"""What a reevaluation computes, keeps and writes, over restarts and faults."""

from __future__ import annotations

import asyncio
import time

import numpy as np
import pytest
from sqlalchemy import delete, update

from data.clock import SystemClock
from data.crud.engine import perform
from data.crud.nodes import DeactivateNode
from data.events import list_events
from data.models import NodeKind
from data.nodes import list_nodes
from data.schema import embedding, neighbour
from data.state import get_state, set_state
from data.store import Store
from data.tx import Tx
from data.vectors import load_neighbours
from tests.vector.house import drafts, ingest, journal_entries, vector_edges_of
from vector.embed import HashingEmbedder
from vector.reevaluation import DIGEST, LAST_REEVALUATION, LAYOUT_WANTED, ReevaluationReport, Reevaluator, VectorPolicy
from vector.similarity import BadVectors
from vector.vectorise import embed_stale
from vector.writing import WriteFailed

POLICY = VectorPolicy(k=4, slack=4)


async def embedded(store: Store, embedder: HashingEmbedder, count: int, salt: str = "") -> Reevaluator:
    await ingest(store, drafts(count, salt))
    await embed_stale(store, embedder)
    return Reevaluator(store, embedder.name, POLICY)


async def remove_digest(store: Store) -> None:
    await store.write(set_state, DIGEST, "")


async def test_damaged_vectors_are_discarded_and_the_edges_stand(store: Store, embedder: HashingEmbedder) -> None:
    care = await embedded(store, embedder, 12)
    await care.run()
    before = await vector_edges_of(store)
    victim = (await store.read(list_nodes, limit=1))[0].id

    def spoil(tx: Tx) -> None:
        zeros = np.zeros(64, "<f4").tobytes()
        tx.conn.execute(update(embedding).where(embedding.c.node_id == victim).values(vector=zeros))

    await store.write(spoil)
    await remove_digest(store)
    with pytest.raises(BadVectors, match="1 of 12 rows"):
        await care.run(force=True)
    assert await vector_edges_of(store) == before
    assert (await embed_stale(store, embedder)).embedded == 1
    report = await care.run()
    assert (report.added, report.changed, report.removed) == (0, 0, 0)


async def test_edges_that_cannot_be_written_leave_the_old_ones_and_the_run_due(
    store: Store, embedder: HashingEmbedder
) -> None:
    care = await embedded(store, embedder, 12)
    await care.run()
    before, told = await vector_edges_of(store), await store.read(get_state, LAST_REEVALUATION)
    await ingest(store, drafts(4, " new"))
    await embed_stale(store, embedder)
    refuse = "CREATE TRIGGER refuse BEFORE INSERT ON edge BEGIN SELECT RAISE(ABORT, 'no edge today'); END"
    await store.write(lambda tx: tx.conn.exec_driver_sql(refuse) and None)
    with pytest.raises(WriteFailed, match="no edge today"):
        await care.run()
    await store.write(lambda tx: tx.conn.exec_driver_sql("DROP TRIGGER refuse") and None)
    assert await vector_edges_of(store) == before
    assert await store.read(get_state, LAST_REEVALUATION) == told
    after = await care.run()
    assert after.added > 0
    whole = await Reevaluator(store, embedder.name, POLICY).run(force=True)
    assert (whole.added, whole.changed, whole.removed) == (0, 0, 0)


async def test_a_process_that_is_started_anew_computes_only_what_changed(
    store: Store, embedder: HashingEmbedder
) -> None:
    await (await embedded(store, embedder, 40)).run()
    await ingest(store, drafts(3, " new"))
    gone = (await store.read(list_nodes, limit=1))[0]
    assert (await perform(store, DeactivateNode(gone.id, version=gone.version), actor="test")).ok
    await embed_stale(store, embedder)
    report = await Reevaluator(store, embedder.name, POLICY).run()
    assert report.computed == 3
    assert not any(gone.id in pair for pair in await vector_edges_of(store))
    assert gone.id not in {one.node_id for one in await store.read_bulk(load_neighbours, embedder.name)}
    whole = await Reevaluator(store, embedder.name, POLICY).run(force=True)
    assert (whole.computed, whole.added, whole.changed, whole.removed) == (42, 0, 0, 0)


@pytest.mark.parametrize("loss", ["rows", "floor", "k"])
async def test_kept_lists_that_are_lost_cost_time_but_no_truth(
    store: Store, embedder: HashingEmbedder, loss: str
) -> None:
    await (await embedded(store, embedder, 30)).run()
    before = await vector_edges_of(store)

    def lose(tx: Tx) -> None:
        some = delete(neighbour) if loss == "rows" else update(neighbour).values(similarities=b"")
        tx.conn.execute(some.where(neighbour.c.node_id > ""))

    if loss != "k":
        await store.write(lose)
    await remove_digest(store)
    policy = VectorPolicy(k=6 if loss == "k" else 4, slack=4)
    report = await Reevaluator(store, embedder.name, policy).run()
    assert report.computed == (0 if loss == "k" else 30)
    if loss != "k":
        assert await vector_edges_of(store) == before
        return
    whole = await Reevaluator(store, embedder.name, policy).run(force=True)
    assert (whole.added, whole.changed, whole.removed) == (0, 0, 0)


async def test_an_unchanged_graph_writes_no_row(store: Store, embedder: HashingEmbedder) -> None:
    care = await embedded(store, embedder, 20)
    await care.run()
    written = await journal_entries(store)
    await remove_digest(store)  # even when everything is compared
    report = await Reevaluator(store, embedder.name, POLICY).run()
    assert report.kept == len(await vector_edges_of(store)) > 0
    assert await journal_entries(store) == written


async def test_copies_become_marks_and_outside_evidence_has_no_edge(store: Store, embedder: HashingEmbedder) -> None:
    same = drafts(1, " copy")[0]
    copies = [type(same)(same.kind, same.label, same.body, "en", f"copy:{at}", "", {}) for at in range(9)]
    await ingest(store, copies)
    await ingest(store, drafts(5, kind=NodeKind.EVIDENCE))
    care = await embedded(store, embedder, 12)
    report = await care.run()
    edges = await vector_edges_of(store)
    marks = [one for one in edges.values() if one.meta.get("duplicate")]
    assert (report.nodes, report.duplicates, len(marks)) == (21, 8, 8)
    outside = {one.id for one in await store.read(list_nodes, kind=NodeKind.EVIDENCE, limit=100)}
    assert len(outside) == 5
    assert not outside & {end for pair in edges for end in pair}


async def test_a_rebuild_is_told_and_asks_for_a_layout(store: Store, embedder: HashingEmbedder) -> None:
    care = await embedded(store, embedder, 12)
    report = await care.run()
    assert await store.read(get_state, LAYOUT_WANTED) is True
    event = (await store.read(list_events, 0, 10, "vector.graph.rebuilt"))[0]
    assert event.payload["edges_added"] == report.added > 0
    assert event.payload["nodes"] == 12


async def test_an_empty_house_is_evaluated_too(store: Store, embedder: HashingEmbedder) -> None:
    report = await Reevaluator(store, embedder.name, POLICY).run()
    assert report == ReevaluationReport(0, 0, 0, 0, 0, 0, report.seconds)
    assert await store.read(get_state, LAST_REEVALUATION) is not None


@pytest.mark.slow
async def test_the_loop_answers_while_a_large_pass_runs(tmp_path_factory: pytest.TempPathFactory) -> None:
    rng = np.random.default_rng(0)
    home = tmp_path_factory.mktemp("large")
    async with await Store.open(home, clock=SystemClock()) as store:
        await ingest(store, drafts(12_000))
        nodes = [one.id for one in await store.read_bulk(list_nodes, limit=20_000)]
        vectors = rng.standard_normal((len(nodes), 256)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)

        def put(tx: Tx) -> None:
            hashes = dict(tx.conn.exec_driver_sql("SELECT id, content_hash FROM node").fetchall())
            rows = [
                {"node_id": one, "model": "m", "dim": 256, "content_hash": hashes[one], "vector": row.tobytes()}
                for one, row in zip(nodes, vectors, strict=True)
            ]
            tx.conn.execute(embedding.insert(), rows)

        await store.write(put)
        job = asyncio.create_task(Reevaluator(store, "m", VectorPolicy(min_similarity=0.0, min_affinity=-2.0)).run())
        waits = []
        while not job.done():
            before = time.perf_counter()
            await asyncio.sleep(0.005)
            waits.append(time.perf_counter() - before - 0.005)
        assert (await job).added > 50_000
        assert np.percentile(waits, 99) < 0.05
