"""What a layout run reads and writes: which nodes, when in full, and what it remembers."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from data.clock import from_iso
from data.crud.engine import perform
from data.crud.nodes import DeactivateNode
from data.models import NodeKind
from data.nodes import list_nodes
from data.state import get_state, set_state
from data.store import Store
from data.vectors import load_positions
from tests.vector.house import drafts, ingest, journal_entries
from vector.charting import LAST_LAYOUT, SCALE, Cartographer
from vector.embed import HashingEmbedder
from vector.layout import LayoutMode, LayoutPolicy
from vector.reevaluation import LAYOUT_WANTED, Reevaluator, VectorPolicy
from vector.vectorise import embed_stale


async def graph(store: Store, embedder: HashingEmbedder, count: int, salt: str = "") -> None:
    await ingest(store, drafts(count, salt))
    await embed_stale(store, embedder)
    await Reevaluator(store, embedder.name, VectorPolicy(k=4)).run()


def chart(store: Store, mode: LayoutMode = "relax", dims: int = 2) -> Cartographer:
    return Cartographer(store, LayoutPolicy(mode=mode, dims=dims, steps=50, k=4, blend=0.4))


async def deactivate(store: Store, ids: Sequence[str]) -> None:
    for one in await store.read(list_nodes, limit=1000):
        if one.id in ids:
            assert (await perform(store, DeactivateNode(one.id, version=one.version), actor="test")).ok


async def test_mode_off_touches_nothing(store: Store, embedder: HashingEmbedder) -> None:
    await graph(store, embedder, 8)
    report = await chart(store, "off").refresh("off")
    assert (report.applied, await store.read(load_positions)) == ("none", {})
    assert not await chart(store, "off").full_due()


async def test_evidence_from_outside_stands_on_no_map(store: Store, embedder: HashingEmbedder) -> None:
    await ingest(store, drafts(3, kind=NodeKind.EVIDENCE))
    await graph(store, embedder, 10)
    report = await chart(store).refresh("full")
    outside = {one.id for one in await store.read(list_nodes, kind=NodeKind.EVIDENCE, limit=10)}
    assert report.nodes == 10
    assert not outside & (await store.read(load_positions)).keys()


async def test_same_graph_same_picture(store: Store, embedder: HashingEmbedder) -> None:
    await graph(store, embedder, 20)
    await chart(store).refresh("full")
    first = await store.read(load_positions)
    written = await journal_entries(store)
    again = await chart(store).refresh("full")
    assert again.applied == "none"  # nothing moved, so nothing was written
    assert await store.read(load_positions) == first
    assert await journal_entries(store) == written


async def test_nodes_that_left_leave_the_map_and_new_ones_enter_it(store: Store, embedder: HashingEmbedder) -> None:
    await graph(store, embedder, 20)
    await chart(store).refresh("full")
    before = await store.read(load_positions)
    gone = sorted(before)[:2]
    await deactivate(store, gone)
    await graph(store, embedder, 2, " new")
    report = await chart(store).refresh("relax")
    after = await store.read(load_positions)
    assert report.entered == 2
    assert len(after) == 20
    assert not set(gone) & after.keys()
    for node_id in before.keys() & after.keys():
        assert sum((a - b) ** 2 for a, b in zip(before[node_id], after[node_id], strict=True)) ** 0.5 <= 0.035


async def test_a_rebuild_or_a_renewed_node_set_calls_for_a_full_layout(store: Store, embedder: HashingEmbedder) -> None:
    await graph(store, embedder, 20)
    full = chart(store, "full")
    assert await full.full_due()
    await full.refresh("full")
    assert await store.read(get_state, LAYOUT_WANTED) is False
    assert not await full.full_due()
    await store.write(set_state, LAYOUT_WANTED, True)
    assert await full.full_due()
    assert not await chart(store, "relax").full_due()
    await full.refresh("full")
    # Two go and two come: a fifth, which is not more than a fifth. One more is.
    await deactivate(store, sorted(await store.read(load_positions))[:2])
    await graph(store, embedder, 2, " new")
    assert not await full.full_due()
    await graph(store, embedder, 1, " newer")
    assert await full.full_due()


async def test_a_map_of_other_dimensions_is_laid_out_anew(store: Store, embedder: HashingEmbedder) -> None:
    await graph(store, embedder, 12)
    await chart(store, dims=2).refresh("full")
    assert (await chart(store, dims=3).refresh("relax")).applied == "full"
    assert any(z != 0.0 for _, _, z in (await store.read(load_positions)).values())
    assert (await chart(store, dims=3).refresh("relax")).applied != "full"
    assert (await chart(store, dims=2).refresh("relax")).applied == "full"
    assert all(z == 0.0 for _, _, z in (await store.read(load_positions)).values())


async def test_the_scale_is_measured_once_and_again_when_the_graph_outgrew_it(
    store: Store, embedder: HashingEmbedder
) -> None:
    await graph(store, embedder, 20)
    care = chart(store)
    await care.refresh("full")
    assert await store.read(get_state, SCALE) == {}
    await care.refresh("relax")
    first = await store.read(get_state, SCALE)
    assert (first["nodes"], first["dims"]) == (20, 2)
    await chart(store).refresh("relax")
    assert await store.read(get_state, SCALE) == first
    await graph(store, embedder, 9, " more")
    await care.refresh("relax")
    assert (await store.read(get_state, SCALE))["nodes"] == 29


async def test_last_layout_and_quality_come_with_the_positions(store: Store, embedder: HashingEmbedder) -> None:
    await graph(store, embedder, 16)
    report = await chart(store).refresh("full")
    assert report.quality is not None
    assert await store.read(get_state, "layout_quality") == dict(report.quality)
    assert set(report.quality) == {"neighbourhood_preservation", "stress", "overlap"}
    told = await store.read(get_state, LAST_LAYOUT)
    assert from_iso(told) == store.clock.now()
    store.clock.advance(60)  # type: ignore[attr-defined]
    gone = sorted(await store.read(load_positions))[:1]
    await deactivate(store, gone)
    await Reevaluator(store, embedder.name, VectorPolicy(k=4)).run()
    for _ in range(100):
        if (await chart(store).refresh("relax")).applied == "none":
            break
        told = await store.read(get_state, LAST_LAYOUT)
    assert await store.read(get_state, LAST_LAYOUT) == told
    assert not set(gone) & (await store.read(load_positions)).keys()


@pytest.mark.parametrize("mode", ["relax", "full"])
async def test_an_empty_house_has_an_empty_map(store: Store, mode: LayoutMode) -> None:
    care = chart(store, mode)
    assert not await care.full_due()
    assert (await care.refresh(mode)).applied == "none"
    assert await store.read(get_state, LAST_LAYOUT) is None
