"""The embedder that the settings name; the one place that makes it."""

from __future__ import annotations

from brain.config import Settings
from vector.embed import CachedEmbedder, Embedder, SentenceTransformerEmbedder

__all__ = ["configured_embedder"]


def configured_embedder(settings: Settings) -> Embedder:
    """Return the embedder, its model not loaded yet; raise vector.embed.EmbeddingError for a folder without one."""
    return CachedEmbedder(SentenceTransformerEmbedder(settings.embed_model or None))
