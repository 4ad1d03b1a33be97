"""The PostgreSQL backend where it differs: its start-up check, its locks, a lost server, a living neighbour."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from data import events, nodes, state
from data.clock import ManualClock
from data.crud.engine import perform
from data.crud.nodes import CreateNode, NodeDraft, UpdateNode
from data.errors import DatabaseDamaged, DatabaseTooNew, StoreError, StoreUnavailable
from data.journal import count_by_status
from data.models import NodeKind
from data.schema import metadata
from data.shared import check_shared_folders
from data.store import Store
from data.telemetry import MissingStore, TelemetryError, read_telemetry
from data.writer import Writer
from tests.conftest import Home
from tests.data.crudtools import create_note, reopened, sql, url_of
from tests.postgres import Cluster

NOW = datetime(2026, 1, 15, 8, tzinfo=UTC)


@pytest.fixture
def address(cluster: Cluster, template: str) -> Iterator[str]:
    """A migrated, empty database."""
    name = cluster.create(template)
    yield cluster.url(name)
    cluster.drop(name)


@pytest.fixture
def bare(cluster: Cluster) -> Iterator[str]:
    """The name of a database without tables."""
    name = cluster.create()
    yield name
    cluster.drop(name)


async def refusal(home: Path, url: str, kind: type[StoreError] = StoreUnavailable) -> str:
    """Return the sentence with which a start is refused, which never shows the password."""
    with pytest.raises(kind) as caught:
        await Store.open(home / "home", url=url)
    assert "hush" not in str(caught.value)
    assert "hush" not in repr(caught.value)
    return str(caught.value)


async def test_an_address_that_names_no_server_database_or_role(tmp_path: Path, cluster: Cluster) -> None:
    nobody = await refusal(tmp_path, "postgresql://brain:hush@127.0.0.1:1/brain")
    assert nobody.startswith("no PostgreSQL answers at 127.0.0.1:1 (")
    unknown = await refusal(tmp_path, "postgresql://brain:hush@nowhere.invalid/brain")
    assert unknown.startswith("the host of postgresql://brain@nowhere.invalid/brain is not known")
    missing = await refusal(tmp_path, cluster.url("absent").replace("postgres@", "postgres:hush@"))
    assert "has no database 'absent'; create it with: createdb --owner=postgres" in missing
    role = await refusal(tmp_path, cluster.url("postgres", user="ghost").replace("ghost@", "ghost:hush@"))
    assert "knows no role 'ghost'; create it with: createuser --pwprompt ghost" in role
    unreadable = await refusal(tmp_path, "postgresql://brain:hush@host:port/brain", StoreError)
    assert unreadable.startswith("the database URL cannot be read")
    nameless = await refusal(tmp_path, "postgresql://brain:hush@host", StoreError)
    assert nameless.startswith("the database URL names no database")


async def test_a_wrong_password_is_said_and_not_shown(tmp_path: Path, cluster: Cluster, bare: str) -> None:
    rules = cluster.folder / "data" / "pg_hba.conf"
    before = rules.read_text(encoding="utf-8")
    cluster.run("CREATE ROLE locked LOGIN PASSWORD 'other'")
    try:
        rules.write_text("local all locked scram-sha-256\n" + before, encoding="utf-8")
        cluster.run("SELECT pg_reload_conf()")
        url = cluster.url(bare, user="locked").replace("locked@", "locked:hush@")
        async with asyncio.timeout(10):
            while "refuses the password" not in (said := await refusal(tmp_path, url)):  # noqa: ASYNC110
                await asyncio.sleep(0.05)  # until the server has read its rules
        assert said.endswith("refuses the password of role 'locked'; check BRAIN_DATABASE_URL")
    finally:
        rules.write_text(before, encoding="utf-8")
        cluster.run("SELECT pg_reload_conf()")
        cluster.run("DROP ROLE locked")


async def test_a_database_that_cannot_hold_a_store(tmp_path: Path, cluster: Cluster) -> None:
    latin = cluster.create(ENCODING="LATIN1", LC_COLLATE="C", LC_CTYPE="C")
    said = await refusal(tmp_path, cluster.url(latin))
    assert "has the encoding LATIN1 and must have UTF8; create it anew with: createdb" in said
    ascii_only = cluster.create(ENCODING="UTF8", LC_COLLATE="C", LC_CTYPE="C")
    assert "has LC_CTYPE C, which knows no letters beyond ASCII" in await refusal(tmp_path, cluster.url(ascii_only))
    for name in (latin, ascii_only):
        cluster.drop(name)


async def test_a_server_that_is_too_old_or_a_standby(
    tmp_path: Path, cluster: Cluster, bare: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from data.migrations import prepare_postgres

    monkeypatch.setattr(prepare_postgres, "OLDEST", 99)
    assert "Neural Brain needs 99 or later" in await refusal(tmp_path, cluster.url(bare))
    monkeypatch.setattr(prepare_postgres, "OLDEST", 14)
    monkeypatch.setattr(prepare_postgres, "_LOOK", prepare_postgres._LOOK.replace("pg_is_in_recovery()", "true"))
    assert "is a standby, which takes no writes" in await refusal(tmp_path, cluster.url(bare))


async def test_a_role_without_rights_and_tables_of_others(tmp_path: Path, cluster: Cluster, bare: str) -> None:
    cluster.run("CREATE ROLE poor LOGIN")
    try:
        said = await refusal(tmp_path, cluster.url(bare, user="poor"))
        assert "may not create tables in schema 'public'" in said
        assert "GRANT CREATE ON SCHEMA public" in said
        nowhere = cluster.url(bare) + "&options=-csearch_path%3Dabsent"
        assert "has no schema for new tables" in await refusal(tmp_path, nowhere)
    finally:
        cluster.run("DROP ROLE poor")
    cluster.run("CREATE TABLE bookmarks (url text)", bare)
    assert "holds tables of another program (bookmarks)" in await refusal(tmp_path, cluster.url(bare), DatabaseDamaged)


async def test_a_schema_of_its_own_beside_others(tmp_path: Path, cluster: Cluster, bare: str) -> None:
    cluster.run("CREATE TABLE bookmarks (url text)", bare)
    cluster.run("CREATE SCHEMA brain", bare)
    url = cluster.url(bare) + "&options=-csearch_path%3Dbrain"
    async with await Store.open(tmp_path / "home", url=url) as store:
        await create_note(store, "Prüfung", "in a schema of its own")
        assert [hit.node.label for hit in await store.read(nodes.search_nodes, "pruefung prüfung")] == ["Prüfung"]
    tables = cluster.run("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'", bare)
    assert tables == [(1,)]


async def test_a_newer_schema_is_refused_and_an_absent_one_told_apart(
    tmp_path: Path, cluster: Cluster, bare: str, address: str
) -> None:
    with pytest.raises(MissingStore, match="holds no store of Neural Brain yet"):
        read_telemetry(cluster.url(bare), now=NOW)
    with pytest.raises(TelemetryError, match="no PostgreSQL answers"):
        read_telemetry("postgresql://brain:hush@127.0.0.1:1/brain", now=NOW)
    assert read_telemetry(address, now=NOW)["nodes"] == 0
    async with await Store.open(tmp_path / "home", url=address) as store:
        sql(store, "UPDATE alembic_version SET version_num = '9999'")
    assert "written by a later version (revision 9999" in await refusal(tmp_path, address, DatabaseTooNew)
    with pytest.raises(TelemetryError, match="later version"):
        read_telemetry(address, now=NOW)


async def test_two_starts_at_once_share_an_empty_database(tmp_path: Path, cluster: Cluster, bare: str) -> None:
    homes = [tmp_path / name for name in ("one", "two")]
    stores = await asyncio.gather(*(Store.open(home, url=cluster.url(bare)) for home in homes))
    try:
        await asyncio.gather(*(store.write(state.set_state, f"n{number}", 1) for number, store in enumerate(stores)))
        assert set(await stores[0].read(state.all_state)) == {"n0", "n1"}
    finally:
        await asyncio.gather(*(store.close() for store in stores))


async def test_the_schema_is_the_one_of_the_tables(tmp_path: Path, address: str) -> None:
    """Alembic finds no difference, and every text column is in the order of its bytes."""
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    from data.migrations.names import is_ours
    from data.postgres import PostgresBackend, parse_address

    engine = PostgresBackend(parse_address(address)).migrator()
    options = {"include_name": lambda name, kind, _: kind != "table" or is_ours(name), "compare_type": True}
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"target_metadata": metadata, **options})
        assert compare_metadata(context, metadata) == []
        other = connection.exec_driver_sql(
            "SELECT count(*) FROM information_schema.columns WHERE table_schema = 'public' AND data_type = 'text' "
            "AND collation_name IS DISTINCT FROM 'C'"
        ).scalar_one()
    engine.dispose()
    assert other == 0


async def test_a_server_that_went_away_is_said_and_found_again(tmp_path: Path, cluster: Cluster, address: str) -> None:
    async with await Store.open(tmp_path / "home", url=address) as store:
        await store.write(state.set_state, "kept", 1)
        await store.read(state.get_state, "kept")
        ended = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = '{}'"
        name = address.partition("@/")[2].partition("?")[0]
        cluster.run(ended.format(name))
        assert await store.read(state.get_state, "kept") == 1
        assert await store.read_bulk(state.get_state, "kept") == 1
        await store.write(state.set_state, "again", 2)
        assert (await perform(store, CreateNode(NodeDraft(NodeKind.NOTE, "after")), actor="t")).ok

        def lose(tx: object) -> None:
            cluster.run(ended.format(name))
            state.set_state(tx, "lost", 3)  # type: ignore[arg-type]

        with pytest.raises(StoreUnavailable) as caught:
            await store.write(lose)
        assert caught.value.reason == "cannot_open"
        assert await store.read(state.get_state, "lost") is None
        await store.write(state.set_state, "lost", 4)


async def test_a_write_that_waits_too_long_is_said(
    tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from data import postgres

    monkeypatch.setattr(postgres, "_WRITES", postgres._WRITES.replace("lock_timeout=30s", "lock_timeout=50ms"))
    async with (
        await Store.open(tmp_path / "one", url=address) as one,
        await Store.open(tmp_path / "two", url=address) as two,
    ):
        inside, go_on = asyncio.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()

        def slow(tx: object) -> None:
            loop.call_soon_threadsafe(inside.set)
            asyncio.run_coroutine_threadsafe(go_on.wait(), loop).result(10)

        writing = asyncio.create_task(one.write(slow))
        await inside.wait()
        with pytest.raises(StoreUnavailable, match="locked by another process for too long") as caught:
            await two.write(state.set_state, "a", 1)
        assert caught.value.reason == "locked"
        go_on.set()
        await writing
        await two.write(state.set_state, "a", 1)


async def test_what_a_column_cannot_hold_is_a_value_error(tmp_path: Path, address: str) -> None:
    async with await Store.open(tmp_path / "home", url=address) as store:
        with pytest.raises(ValueError, match="cannot be stored"):
            await perform(store, CreateNode(NodeDraft(NodeKind.NOTE, "label", "a\x00b")), actor="t")


async def test_a_living_writers_pending_write_is_no_crash(
    tmp_path: Path, clock: ManualClock, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between a write and its verification another process starts: it leaves the entry to the one that lives.

    The row has moved on by then; a start that took the entry for a crash's would close it as failed.
    """
    async with await Store.open(tmp_path / "one", url=address, clock=clock) as store:
        node_id = await create_note(store, "title", "old body")
        loop = asyncio.get_running_loop()
        real, seen, starting = Writer.closing_transaction, [], asyncio.Lock()

        async def start_another() -> dict[str, int]:
            async with await reopened(store) as other:
                return await other.read(count_by_status)

        def closing(writer: Writer) -> object:
            if writer is store._writer and not seen:
                sql(store, "UPDATE node SET body = 'moved on', version = 9 WHERE id = ?", [node_id])
                seen.append(asyncio.run_coroutine_threadsafe(start_another(), loop).result(20))
                sql(store, "UPDATE node SET body = 'new body', version = 2 WHERE id = ?", [node_id])
            return real(writer)

        monkeypatch.setattr(Writer, "closing_transaction", closing)
        async with starting:
            outcome = await perform(store, UpdateNode(node_id, {"body": "new body"}), actor="t")
        assert seen == [{"verified": 1, "pending": 1}]
        assert outcome.ok, outcome.message
        assert await store.read(count_by_status) == {"verified": 2}
        assert "crud.verification.failed" not in [e.name for e in await store.read(events.list_events, 0, 100)]


async def test_homes_of_one_database_must_share_their_evidence(
    tmp_path: Path, clock: ManualClock, address: str
) -> None:
    async def start(name: str) -> None:
        async with await Store.open(tmp_path / name, url=address, clock=clock) as store:
            await check_shared_folders(store, tmp_path / name / "library")

    await start("one")
    await start("one")
    with pytest.raises(StoreUnavailable, match="is not the evidence folder of the other homes"):
        await start("two")
    (tmp_path / "two" / "evidence").symlink_to(tmp_path / "one" / "evidence")
    await start("two")
    async with await Store.open(tmp_path / "two", url=address) as store:
        row = ["a.md", "c", "p", "unknown", "en", "t", "", "x", 1, 1, None, "{}", "2026-01-15T08:00:00.000000+00:00"]
        sql(store, f"INSERT INTO library_document VALUES (1, {', '.join('?' * len(row))})", row)
    with pytest.raises(StoreUnavailable, match=r"has an indexed library and .* is empty"):
        await start("two")


def test_a_sqlite_home_needs_no_mark(backend: Home) -> None:
    async def start() -> None:
        async with await Store.open(backend.folder, url=backend.url) as store:
            await check_shared_folders(store, backend.folder / "library")
            assert (url_of(store) is None) == (not (backend.folder / "evidence").exists())

    asyncio.run(start())


async def test_a_backup_brings_everything_back(tmp_path: Path, cluster: Cluster, address: str, bare: str) -> None:
    from data.snapshots import SnapshotError
    from data.snapshots_postgres import dump_server, restore_server

    async with await Store.open(tmp_path / "home", url=address) as store:
        await create_note(store, "Störung", "Drucker druckt nicht")
    dump_server(address, tmp_path / "dump")
    restore_server(cluster.url(bare), tmp_path / "dump")
    async with await Store.open(tmp_path / "home", url=cluster.url(bare)) as again:
        assert [hit.node.label for hit in await again.read(nodes.search_nodes, "stoerung störung")] == ["Störung"]
        assert (await perform(again, CreateNode(NodeDraft(NodeKind.NOTE, "next")), actor="t")).ok
    with pytest.raises(SnapshotError, match="holds tables already"):
        restore_server(cluster.url(bare), tmp_path / "dump")
    with pytest.raises(SnapshotError, match="pg_dump says"):
        dump_server("postgresql://brain:hush@127.0.0.1:1/brain", tmp_path / "other")
