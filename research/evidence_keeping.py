"""Full texts on disk around one verified write: kept before the rows that name them, gone if none does.

A file is content-addressed, so it may already serve other evidence; only what this write added and no row
names afterwards is removed. A crash in between leaves a file that `brain doctor` reports as an orphan, never
a row without its text.
"""

from __future__ import annotations

import asyncio

import structlog

from data.errors import StoreError
from data.evidence import EvidenceFiles, evidence_paths, text_digest
from data.store import Store

__all__ = ["KeptTexts"]

log = structlog.get_logger(__name__)


class KeptTexts:
    """The texts that one write needs."""

    def __init__(self, store: Store, files: EvidenceFiles) -> None:
        self._store = store
        self._files = files
        self._added: list[str] = []

    async def keep(self, text: str) -> tuple[str, str]:
        """Keep `text` and return its SHA-256 and relative path; raise StoreUnavailable where it cannot be."""
        digest = text_digest(text)
        known = await asyncio.to_thread(self._files.has, digest)
        stored, path = await asyncio.to_thread(self._files.put, text)
        if not known:
            self._added.append(stored)
        return stored, path

    async def forget_unnamed(self) -> None:
        """Remove what was added and no evidence row names; never raises, a leftover is found by the doctor."""
        if not self._added:
            return
        try:
            named = set(await self._store.read(evidence_paths))
            for digest in self._added:
                if digest not in named:
                    await asyncio.to_thread(self._remove, digest)
        except (StoreError, OSError) as error:
            log.warning("evidence.leftover", sha256=self._added, error=str(error))

    def _remove(self, digest: str) -> None:
        (self._store.home / self._files.path_of(digest)).unlink(missing_ok=True)
