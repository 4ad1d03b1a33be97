"""Fixtures shared by all rooms: a clock that moves only when told, a real store, a light embedder."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from data.clock import ManualClock
from data.store import DATABASE_NAME, Store

if TYPE_CHECKING:
    from vector.embed import HashingEmbedder


settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("dev", deadline=None, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(datetime(2026, 1, 15, 8, 0, tzinfo=UTC))


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A freshly migrated database, closed: copying it is quicker than migrating for every test."""

    async def create(home: Path) -> Path:
        async with await Store.open(home) as store:
            return store.path

    return asyncio.run(create(tmp_path_factory.mktemp("empty") / "home"))


@pytest.fixture
async def store(tmp_path: Path, clock: ManualClock, empty_database: Path) -> AsyncIterator[Store]:
    (tmp_path / "home").mkdir(mode=0o700)
    shutil.copy(empty_database, tmp_path / "home" / DATABASE_NAME)
    async with await Store.open(tmp_path / "home", clock=clock) as opened:
        yield opened


@pytest.fixture
def embedder() -> HashingEmbedder:
    from vector.embed import HashingEmbedder

    return HashingEmbedder()
