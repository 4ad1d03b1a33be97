"""Fixtures shared by all rooms: a clock that moves only when told, a real store, a light embedder."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from data.clock import ManualClock
from data.store import DATABASE_NAME, Store
from tests.postgres import REQUIRED, Cluster, find_programs, running_cluster

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


BOTH = (
    "tests/data/",
    "tests/research/test_queue",
    "tests/research/test_scan",
    "tests/research/test_pairs",
    "tests/research/test_reexamination",
)
"""Tests of the store and of the queue: they run on SQLite, and on PostgreSQL where there is one."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run the tests of `BOTH` that use a store on both databases; on PostgreSQL most of them with the slow suite."""
    if "backend" not in metafunc.fixturenames:
        return
    path = metafunc.definition.path.relative_to(metafunc.config.rootpath).as_posix()
    marks = {mark.name for mark in metafunc.definition.iter_markers()}
    cases: list[object] = ["sqlite"]
    if path.startswith(BOTH) and "sqlite_only" not in marks:
        late = () if "fast_on_postgres" in marks else (pytest.mark.slow,)
        cases.append(pytest.param("postgresql", marks=late))
    metafunc.parametrize("backend", cases, indirect=True)


@dataclass(frozen=True)
class Home:
    """Where a test's store lives: a folder, and for PostgreSQL the address of its database."""

    folder: Path
    url: str | None


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A PostgreSQL server of this run's own."""
    if find_programs() is None and not REQUIRED:
        pytest.skip("PostgreSQL is not installed (apt-get install postgresql); TEST_POSTGRES=required forbids it")
    # Not below pytest's own folder: nobody else may enter that, and the server runs as somebody else than root.
    with tempfile.TemporaryDirectory(prefix="brain-pg-") as scratch:
        Path(scratch).chmod(0o755)
        with running_cluster(Path(scratch) / "c") as running:
            yield running


@pytest.fixture(scope="session")
def template(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A freshly migrated database of the cluster, closed: copying it is quicker than migrating for every test."""
    name = cluster.create()

    async def migrate() -> None:
        async with await Store.open(tmp_path_factory.mktemp("empty") / "home", url=cluster.url(name)):
            pass

    asyncio.run(migrate())
    return name


@pytest.fixture
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Home]:
    """A home with a migrated, empty database, on what the test is run on."""
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    if getattr(request, "param", "sqlite") == "sqlite":
        shutil.copy(request.getfixturevalue("empty_database"), folder / DATABASE_NAME)
        yield Home(folder, None)
        return
    cluster: Cluster = request.getfixturevalue("cluster")
    database = cluster.create(request.getfixturevalue("template"))
    yield Home(folder, cluster.url(database))
    cluster.drop(database)


@pytest.fixture
async def store(backend: Home, clock: ManualClock) -> AsyncIterator[Store]:
    async with await Store.open(backend.folder, clock=clock, url=backend.url) as opened:
        yield opened


@pytest.fixture
def embedder() -> HashingEmbedder:
    from vector.embed import HashingEmbedder

    return HashingEmbedder()
