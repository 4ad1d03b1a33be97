"""A store with nodes in it, for tests that look at what maintenance writes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sqlalchemy import func, select

from data.crud.engine import perform
from data.crud.ingest import IngestNodes, NodeDraft
from data.edges import list_edges
from data.models import Edge, EdgeKind, NodeKind
from data.schema import journal
from data.store import Store

TOPICS = ("printer spooler queue", "kerberos clock skew", "postfix relay denied", "nginx bad gateway upstream")


def drafts(count: int, salt: str = "", kind: NodeKind = NodeKind.TICKET) -> list[NodeDraft]:
    """Nodes of four topics, each with words of its own."""
    words = np.random.default_rng(len(salt))
    return [
        NodeDraft(
            kind=kind,
            label=f"{TOPICS[number % 4]} case {number}{salt}",
            body=f"{TOPICS[number % 4]} " * 3 + " ".join(f"w{word}" for word in words.integers(0, 400, 12)),
            language="en",
            source_uri=f"{kind}:{number}{salt}",
            category="",
            meta={},
        )
        for number in range(count)
    ]


async def ingest(store: Store, nodes: Sequence[NodeDraft]) -> None:
    assert (await perform(store, IngestNodes(nodes), actor="test")).ok


async def vector_edges_of(store: Store) -> dict[tuple[str, str], Edge]:
    found = await store.read(list_edges, kind=EdgeKind.VECTOR, limit=100_000)
    return {(one.source_id, one.target_id): one for one in found}


async def journal_entries(store: Store) -> int:
    return await store.read(lambda conn: conn.execute(select(func.count()).select_from(journal)).scalar_one())
