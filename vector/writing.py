"""Writing derived rows: a batch that did not read back as written is an error here, not a value."""

from __future__ import annotations

from typing import Final

from data.crud.batch import Batch, BatchOutcome, write_batch
from data.store import Store

__all__ = ["ACTOR", "WriteFailed", "write"]

ACTOR: Final = "maintenance"


class WriteFailed(Exception):
    """A batch of derived rows did not read back as written; the next run writes it again."""


async def write(store: Store, batch: Batch) -> BatchOutcome:
    """Write `batch` as one verified operation; raise WriteFailed or StoreError when it does not stand."""
    outcome = await write_batch(store, batch, actor=ACTOR)
    if not outcome.ok:
        raise WriteFailed(f"{batch.name}: not written ({outcome.message})")
    return outcome
