from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from sqlalchemy import text, update

from data.crud.engine import perform
from data.crud.ingest import IngestNodes, NodeDraft
from data.models import NodeKind
from data.schema import embedding
from data.store import Store
from data.tx import Tx
from data.vectors import load_vectors
from vector.embed import EmbeddingError, HashingEmbedder, ModelUnavailable
from vector.vectorise import BATCH_NODES, embed_stale


class Counting(HashingEmbedder):
    """A real embedder that counts the texts it is given, and refuses or waits where it is told to."""

    def __init__(self, dim: int = 64) -> None:
        super().__init__(dim)
        self.texts: list[str] = []
        self.poison = ""
        self.gone = False
        self.hold_after: int | None = None
        self.held = threading.Event()
        self.released = threading.Event()

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self.gone:
            raise ModelUnavailable("no model")
        if self.poison and any(self.poison in one for one in texts):
            raise EmbeddingError("a text that cannot be embedded")
        if self.hold_after is not None and len(self.texts) >= self.hold_after:
            self.held.set()
            self.released.wait(10)
        self.texts.extend(texts)
        return super().encode(texts)


async def ingest(store: Store, labels: Sequence[str], *, body: str = "", kind: NodeKind = NodeKind.TICKET) -> None:
    drafts = [
        NodeDraft(
            kind=kind, label=label, body=body, language="en", source_uri=f"t:{kind}:{at}:{label}", category="", meta={}
        )
        for at, label in enumerate(labels)
    ]
    assert (await perform(store, IngestNodes(drafts), actor="test")).ok


async def test_a_model_that_is_not_there_fails_and_writes_nothing(store: Store) -> None:
    await ingest(store, ["one", "two"])
    embedder = Counting()
    embedder.gone = True
    with pytest.raises(ModelUnavailable):
        await embed_stale(store, embedder)
    assert (await store.read_bulk(load_vectors, embedder.name)).ids == []


async def test_one_poisonous_text_holds_nobody_up(store: Store) -> None:
    await ingest(store, [f"node {at}" for at in range(9)] + ["poison here"])
    embedder = Counting()
    embedder.poison = "poison"
    await embed_stale(store, HashingEmbedder(32))
    report = await embed_stale(store, embedder)
    assert report.embedded == 9
    assert list((report.failed or {}).values()) == ["a text that cannot be embedded"]
    assert report.dropped == 0  # the old vectors stay until every node has a new one
    embedder.poison = ""
    again = await embed_stale(store, embedder)
    assert (again.embedded, again.dropped, again.failed) == (1, 10, None)


async def test_what_was_embedded_before_a_stop_stays(store: Store) -> None:
    await ingest(store, [f"node {at}" for at in range(BATCH_NODES * 3)])
    embedder = Counting()
    embedder.hold_after = BATCH_NODES
    job = asyncio.create_task(embed_stale(store, embedder))
    await asyncio.to_thread(embedder.held.wait, 10)
    job.cancel()
    embedder.released.set()
    with pytest.raises(asyncio.CancelledError):
        await job
    assert len((await store.read_bulk(load_vectors, embedder.name)).ids) == BATCH_NODES
    embedder.hold_after = None
    assert (await embed_stale(store, embedder)).embedded == BATCH_NODES * 2


async def test_equal_contents_are_embedded_once_and_known_ones_not_at_all(store: Store) -> None:
    await ingest(store, ["same", "same", "other"])
    embedder = Counting()
    assert (await embed_stale(store, embedder)).embedded == 3
    assert sorted(embedder.texts) == ["other", "same"]
    await ingest(store, ["x", "x", "x", "same"])
    report = await embed_stale(store, embedder)
    assert (report.embedded, report.reused) == (3, 1)
    assert sorted(embedder.texts) == ["other", "same", "x"]
    found = await store.read_bulk(load_vectors, embedder.name)
    assert len(found.ids) == 7


async def test_external_evidence_gets_no_vector(store: Store, embedder: HashingEmbedder) -> None:
    await ingest(store, ["a page from outside"], kind=NodeKind.EVIDENCE)
    assert (await embed_stale(store, embedder)).embedded == 0


async def test_a_vector_of_the_wrong_length_is_made_anew(store: Store, embedder: HashingEmbedder) -> None:
    await ingest(store, ["one", "two"])
    await embed_stale(store, embedder)

    def cut(tx: Tx) -> None:
        tx.conn.execute(update(embedding).values(vector=b"\0" * 12).where(embedding.c.content_hash > ""))

    await store.write(cut)
    assert (await embed_stale(store, embedder)).embedded == 2
    assert len((await store.read_bulk(load_vectors, embedder.name)).data) == 2 * 64 * 4


async def test_everything_is_replaced_batch_by_batch_and_never_missing(store: Store) -> None:
    await ingest(store, ["one", "two", "three"])
    embedder = Counting()
    await embed_stale(store, embedder)
    embedder.gone = True
    with pytest.raises(ModelUnavailable):
        await embed_stale(store, embedder, everything=True)
    assert len((await store.read_bulk(load_vectors, embedder.name)).ids) == 3
    embedder.gone = False
    seen: list[tuple[str, int, int | None]] = []
    report = await embed_stale(store, embedder, everything=True, progress=lambda *step: seen.append(step))
    assert report.embedded == 3
    assert seen == [("embedding", 0, 3), ("embedding", 3, 3)]


async def test_batches_are_journaled_as_digests(store: Store, embedder: HashingEmbedder) -> None:
    await ingest(store, ["one"])
    await embed_stale(store, embedder)
    actions = await store.read(
        lambda conn: conn.execute(text("SELECT action, verified FROM journal ORDER BY id DESC LIMIT 1")).all()
    )
    assert [tuple(row) for row in actions] == [("batch:embeddings", 1)]
