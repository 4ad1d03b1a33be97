"""`brain search`: find nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brain.cli.shell import Context
from brain.embedding import configured_embedder
from brain.errors import BrainError, UsageError
from brain.homes import open_store
from brain.search import find_nodes
from vector.embed import EmbeddingError

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["search"]

SHOWN_CHARS = 160


async def search(context: Context, *, query: str, limit: int) -> None:
    """Print the nodes that fit the query, best first, with what found each."""
    if not query.strip():
        raise UsageError("The query is empty; give words, a code or a sentence.")
    async with open_store(context.settings, must_exist=True) as store:
        try:
            found = await find_nodes(store, configured_embedder(context.settings), query, limit=limit)
        except EmbeddingError as error:
            raise BrainError(f"{error} (BRAIN_EMBED_MODEL)") from error
    document = [
        {
            "id": hit.node.id,
            "kind": hit.node.kind,
            "label": hit.node.label,
            "language": hit.node.language,
            "source_uri": hit.node.source_uri,
            "score": round(hit.score, 5),
            "text_rank": hit.text_rank,
            "vector_rank": hit.vector_rank,
            "similarity": None if hit.similarity is None else round(hit.similarity, 3),
        }
        for hit in found
    ]

    def show(console: Console) -> None:
        for hit in found:
            ways = [
                *(["words"] if hit.text_rank else []),
                *([f"meaning {hit.similarity:.2f}"] if hit.similarity is not None else []),
            ]
            console.print(f"{hit.node.id}  {hit.node.kind:<9}  {hit.node.label}", markup=False)
            body = " ".join(hit.node.body.split())
            text = body if len(body) <= SHOWN_CHARS else body[: SHOWN_CHARS - 1] + "…"
            console.print(f"{'':30}{text}", markup=False)
            console.print(f"{'':30}found by {' and '.join(ways) or 'its name'}", markup=False)
        if not found:
            console.print("Nothing was found; try other words.")

    context.emit(document, show)
