"""Embedding what is stale, batch by verified batch (spec 03, "Embeddings")."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from data.crud.batch import Batch
from data.progress import Progress, silent
from data.schema import embedding
from data.store import Store
from data.vectors import StaleNode, contents_of, foreign_embeddings, stale_nodes, vectors_by_content
from vector.embed import Embedder, EmbeddingError, ModelUnavailable, node_vectors
from vector.writing import write

__all__ = ["EmbedReport", "embed_stale"]

BATCH_NODES: Final = 64
BATCH_CHARS: Final = 150_000
"""What is embedded and written at once, some seconds of work: a stop loses no more than this."""


@dataclass(frozen=True, slots=True)
class EmbedReport:
    """What one run embedded.

    `reused` vectors were there already, for another node of the same content; `dropped` ones belonged to another
    model; `failed` are the nodes that the model gave no vector for, each with the reason.
    """

    embedded: int
    dropped: int
    seconds: float
    reused: int = 0
    failed: Mapping[str, str] | None = None

    @property
    def changed(self) -> bool:
        return self.embedded + self.reused + self.dropped > 0


async def embed_stale(
    store: Store, embedder: Embedder, *, everything: bool = False, progress: Progress = silent
) -> EmbedReport:
    """Embed own nodes whose vector is missing, damaged, or of other content; each batch stands once written.

    `everything` makes all vectors anew, each replaced when its new one is there. Vectors of another model stay
    until every node has one of this model. A node that the model cannot embed is reported and holds nobody up.
    """
    started, model, dim = time.perf_counter(), embedder.name, await asyncio.to_thread(lambda: embedder.dim)
    stale = await store.read_bulk(stale_nodes, model, dim, everything=everything)
    # Texts of like length together: the model pads a batch to its longest text.
    stale.sort(key=lambda one: (one.chars, one.id))
    reused = 0 if everything else await _reuse(store, stale, model, dim)
    if reused:
        stale = await store.read_bulk(stale_nodes, model, dim)
        stale.sort(key=lambda one: (one.chars, one.id))
    failed: dict[str, str] = {}
    done = 0
    for batch in _batches(stale):
        progress("embedding", done, len(stale))
        failed |= await _embed(store, embedder, [one.id for one in batch])
        done += len(batch)
    if stale:
        progress("embedding", len(stale), len(stale))
    dropped = 0 if failed else await _drop_foreign(store, model)
    seconds = time.perf_counter() - started
    return EmbedReport(len(stale) - len(failed), dropped, seconds, reused, failed or None)


async def _reuse(store: Store, stale: Sequence[StaleNode], model: str, dim: int) -> int:
    """Give nodes the vector that another node of the same content has; return how many."""
    known = await store.read_bulk(vectors_by_content, model, dim, [one.content_hash for one in stale])
    rows = [
        _row(one.id, model, dim, one.content_hash, known[one.content_hash])
        for one in stale
        if one.content_hash in known
    ]
    if rows:
        await write(store, Batch("embeddings of known content", embedding, rows))
    return len(rows)


async def _embed(store: Store, embedder: Embedder, ids: Sequence[str]) -> dict[str, str]:
    """Embed and write one batch; return the nodes that could not be embedded."""
    contents = await store.read_bulk(contents_of, ids)
    failed: dict[str, str] = {}
    try:
        vectors = await asyncio.to_thread(_vectors, contents, embedder)
    except ModelUnavailable:
        raise
    except EmbeddingError:
        vectors = {}
        for node_id, content in contents.items():
            try:
                vectors |= await asyncio.to_thread(_vectors, {node_id: content}, embedder)
            except ModelUnavailable:
                raise
            except EmbeddingError as error:
                failed[node_id] = str(error)
    model, dim = embedder.name, embedder.dim
    rows = [_row(node_id, model, dim, contents[node_id][2], vector) for node_id, vector in vectors.items()]
    await write(store, Batch("embeddings", embedding, rows))
    return failed


def _vectors(contents: Mapping[str, tuple[str, str, str]], embedder: Embedder) -> dict[str, bytes]:
    """Return the vector of each node, float32 little-endian; nodes of the same content share one."""
    distinct = {digest: (label, body) for label, body, digest in contents.values()}
    vectors = node_vectors(list(distinct.values()), embedder)
    made = {digest: vector.astype("<f4").tobytes() for digest, vector in zip(distinct, vectors, strict=True)}
    return {node_id: made[digest] for node_id, (_, _, digest) in contents.items()}


async def _drop_foreign(store: Store, model: str) -> int:
    foreign = await store.read_bulk(foreign_embeddings, model)
    keys = [{"node_id": node_id, "model": other} for node_id, other in foreign]
    if keys:
        await write(store, Batch("embeddings of another model", embedding, deletes=keys))
    return len(keys)


def _row(node_id: str, model: str, dim: int, content_hash: str, vector: bytes) -> dict[str, Any]:
    return {"node_id": node_id, "model": model, "dim": dim, "content_hash": content_hash, "vector": vector}


def _batches(stale: Sequence[StaleNode]) -> Iterator[list[StaleNode]]:
    """Cut into runs of at most BATCH_NODES nodes and, but for a single long one, BATCH_CHARS characters."""
    batch: list[StaleNode] = []
    chars = 0
    for one in stale:
        if batch and (len(batch) == BATCH_NODES or chars + one.chars > BATCH_CHARS):
            yield batch
            batch, chars = [], 0
        batch.append(one)
        chars += one.chars
    if batch:
        yield batch
