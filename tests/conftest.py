"""Fixtures shared by all rooms: a clock that moves only when told, a real store, a light embedder."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from data.clock import ManualClock
from data.store import Store

if TYPE_CHECKING:
    from vector.embed import HashingEmbedder


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(datetime(2026, 1, 15, 8, 0, tzinfo=UTC))


@pytest.fixture
async def store(tmp_path: Path, clock: ManualClock) -> AsyncIterator[Store]:
    async with await Store.open(tmp_path / "home", clock=clock) as opened:
        yield opened


@pytest.fixture
def embedder() -> HashingEmbedder:
    from vector.embed import HashingEmbedder

    return HashingEmbedder()
