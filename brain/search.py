"""Finding nodes: full text and vectors, each with its own order, fused by rank (spec 09, `brain search`)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

import numpy as np

from data.models import Node, NodeKind
from data.nodes import get_node, node_by_uri, nodes_by_ids, search_nodes
from data.store import Store
from data.vectors import load_vectors
from vector.embed import Embedder

__all__ = ["FoundNode", "find_nodes"]

RANK_OFFSET: Final = 60
"""The usual constant of reciprocal rank fusion: how little the first rank counts more than the tenth."""
DEPTH: Final = 50
"""Hits of each order that take part; what both hold further down would not come to the front."""
MIN_SIMILARITY: Final = 0.30
"""A node below this cosine to the query is no hit by meaning: there is always a nearest one."""
OWN_KINDS: Final = tuple(kind for kind in NodeKind if kind is not NodeKind.EVIDENCE)


@dataclass(frozen=True, slots=True)
class FoundNode:
    """A node and what found it; a rank is None where that order did not hold it."""

    node: Node
    score: float
    text_rank: int | None
    vector_rank: int | None
    similarity: float | None


async def find_nodes(store: Store, embedder: Embedder, query: str, *, limit: int) -> list[FoundNode]:
    """Return at most `limit` own, active nodes for `query` (words, a code, a sentence), best first.

    A query that is a node's id or source URI finds that node alone. Where no vectors are stored the embedder is
    not used, so no model is loaded for nothing. Raises what the embedder and the store raise.
    """
    query = query.strip()
    named = await store.read(get_node, query) or await store.read(node_by_uri, query)
    if named is not None:
        return [FoundNode(named, 1.0, None, None, None)]
    by_text = [hit.node.id for hit in await store.read(search_nodes, query, limit=DEPTH, kinds=OWN_KINDS)]
    by_vector = await _nearest(store, embedder, query) if query else {}
    nodes = await store.read(nodes_by_ids, {*by_text, *by_vector})
    text_ranks = {node_id: rank for rank, node_id in enumerate(by_text, 1)}
    vector_ranks = {node_id: rank for rank, node_id in enumerate(by_vector, 1)}
    found = [
        FoundNode(
            node=node,
            score=sum(1 / (RANK_OFFSET + ranks[node_id]) for ranks in (text_ranks, vector_ranks) if node_id in ranks),
            text_rank=text_ranks.get(node_id),
            vector_rank=vector_ranks.get(node_id),
            similarity=by_vector.get(node_id),
        )
        for node_id, node in nodes.items()
    ]
    found.sort(key=lambda hit: (-hit.score, hit.node.id))
    return found[:limit]


async def _nearest(store: Store, embedder: Embedder, query: str) -> dict[str, float]:
    """Return the cosines of the nodes nearest to the query by node id, nearest first."""
    stored = await store.read_bulk(load_vectors, embedder.name)
    if not stored.ids:
        return {}
    vectors = np.frombuffer(stored.data, "<f4").reshape(len(stored.ids), stored.dim)
    cosines = vectors @ (await asyncio.to_thread(embedder.encode, [query]))[0]
    order = np.argsort(-cosines, kind="stable")[:DEPTH]
    return {stored.ids[index]: float(cosines[index]) for index in order if cosines[index] >= MIN_SIMILARITY}
