"""The store: whole writes, snapshots, several processes, and one clear sentence for every fault."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, insert, select, text

from data import events, state
from data.clock import ManualClock
from data.errors import (
    ConstraintViolated,
    DatabaseDamaged,
    DatabaseTooNew,
    StoreClosed,
    StoreError,
    StoreUnavailable,
)
from data.models import Event
from data.schema import embedding
from data.schema import state as state_table
from data.store import Store
from data.tx import Tx
from data.writer import Writer
from tests.data.crudtools import reopened

NOBODY = 65534


def count_state(conn: Connection) -> int:
    return len(conn.execute(select(state_table)).all())


@pytest.mark.fast_on_postgres
async def test_a_failing_write_keeps_nothing_and_sends_nothing(store: Store) -> None:
    def fails(tx: Tx) -> None:
        state.set_state(tx, "half", 1)
        tx.emit(Event("daemon.started", {}))
        raise RuntimeError("in the middle")

    subscription = store.subscribe()
    with pytest.raises(RuntimeError, match="in the middle"):
        await store.write(fails)
    assert await store.read(state.get_state, "half") is None
    assert await store.read(events.list_events) == []
    assert subscription.ready() == ()


@pytest.mark.sqlite_only
async def test_home_is_private_and_database_is_durable(store: Store) -> None:
    assert stat.S_IMODE(store.home.stat().st_mode) == 0o700
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600

    def pragmas(writer: Writer) -> list[object]:
        with writer.transaction() as tx:
            return [
                tx.conn.exec_driver_sql(f"PRAGMA {name}").scalar_one()
                for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
            ]

    # 2 is FULL; the spec asks for WAL, FULL, foreign keys and a busy timeout of ten seconds.
    assert await store.on_writer(pragmas) == ["wal", 2, 1, 10_000]


@pytest.mark.sqlite_only
async def test_only_closing_a_journal_entry_does_not_wait_for_the_disk(store: Store) -> None:
    def levels(writer: Writer) -> list[int]:
        seen = []
        for transaction in (writer.transaction, writer.closing_transaction, writer.transaction):
            with transaction() as tx:
                seen.append(tx.conn.exec_driver_sql("PRAGMA synchronous").scalar_one())
        with pytest.raises(RuntimeError), writer.closing_transaction():
            raise RuntimeError
        with writer.transaction() as tx:
            seen.append(tx.conn.exec_driver_sql("PRAGMA synchronous").scalar_one())
        return seen

    assert await store.on_writer(levels) == [2, 1, 2, 2]  # FULL is 2, NORMAL 1


async def test_foreign_keys_are_enforced(store: Store) -> None:
    def orphan(tx: Tx) -> None:
        row = {"node_id": "n_nobody", "model": "m", "dim": 1, "content_hash": "", "vector": b"\0\0\0\0"}
        tx.conn.execute(insert(embedding).values(row))

    with pytest.raises(ConstraintViolated):
        await store.write(orphan)


@pytest.mark.fast_on_postgres
async def test_readers_cannot_write(store: Store) -> None:
    def sneaky(conn: Connection) -> None:
        conn.execute(text("DELETE FROM state"))

    for read in (store.read, store.read_bulk):
        with pytest.raises(StoreUnavailable) as caught:
            await read(sneaky)
        assert caught.value.reason == "read_only"


@pytest.mark.fast_on_postgres
async def test_a_read_sees_one_snapshot(store: Store) -> None:
    await store.write(state.set_state, "a", 1)
    written = threading.Event()
    started = threading.Event()

    def slow(conn: Connection) -> tuple[int, int]:
        first = count_state(conn)
        started.set()
        assert written.wait(10)
        return first, count_state(conn)

    reading = asyncio.create_task(store.read_bulk(slow))
    await asyncio.to_thread(started.wait, 10)
    await store.write(state.set_state, "b", 2)
    written.set()
    assert await reading == (1, 1)
    assert await store.read(count_state) == 2


async def test_cancelling_the_caller_does_not_tear_a_write(store: Store) -> None:
    inside = threading.Event()
    go_on = threading.Event()

    def slow(tx: Tx) -> None:
        state.set_state(tx, "first", 1)
        inside.set()
        assert go_on.wait(10)
        state.set_state(tx, "second", 2)
        tx.emit(Event("daemon.started", {"pid": 1}))

    subscription = store.subscribe()
    task = asyncio.create_task(store.write(slow))
    await asyncio.to_thread(inside.wait, 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await store.read(count_state) == 0
    go_on.set()
    await store.close()
    async with await reopened(store) as again:
        assert await again.read(state.all_state) == {"first": 1, "second": 2}
    assert [event.name for event in subscription.ready()] == ["daemon.started"]


async def test_close_waits_for_writes_handed_over(store: Store) -> None:
    writes = [asyncio.create_task(store.write(state.set_state, f"n{i}", i)) for i in range(50)]
    await asyncio.sleep(0)
    await asyncio.gather(store.close(), store.close())
    await asyncio.gather(*writes)
    with pytest.raises(StoreClosed):
        await store.read(count_state)
    async with await reopened(store) as again:
        assert await again.read(count_state) == 50


async def test_events_reach_subscribers_after_the_commit(store: Store) -> None:
    subscription = store.subscribe()
    seen: list[int] = []

    async def listen() -> None:
        async for event in subscription:
            assert (await store.read(events.list_events, event.id - 1, 1))[0] == event
            seen.append(event.id)

    listening = asyncio.create_task(listen())
    for number in range(5):
        await store.log(Event("loop.failed", {"number": number}), Event("loop.recovered", {"number": number}))
    subscription.close()
    await listening
    assert seen == list(range(1, 11))


async def test_a_slow_subscriber_loses_its_oldest_events_and_knows(store: Store) -> None:
    subscription = store.subscribe(size=3)
    await store.log(*(Event("loop.failed", {"number": number}) for number in range(10)))
    assert [event.payload["number"] for event in subscription.ready()] == [7, 8, 9]
    assert subscription.dropped == 7
    subscription.close()
    await store.log(Event("loop.failed", {}))
    assert subscription.ready() == ()


@pytest.mark.fast_on_postgres
async def test_two_stores_write_the_same_database(store: Store) -> None:
    async with await reopened(store) as other:

        def count_up(tx: Tx) -> None:
            state.set_state(tx, "count", (state.get_state(tx.conn, "count") or 0) + 1)

        await asyncio.gather(*(target.write(count_up) for target in (store, other) * 40))
        assert await store.read(state.get_state, "count") == 80


COUNTER = """
import asyncio, sys
from pathlib import Path
from data import state
from data.store import Store
def up(tx):
    state.set_state(tx, "count", (state.get_state(tx.conn, "count") or 0) + 1)
async def main():
    async with await Store.open(Path(sys.argv[1])) as store:
        for _ in range(20):
            await store.write(up)
asyncio.run(main())
"""


async def test_processes_that_start_at_once_share_an_empty_home(tmp_path: Path) -> None:
    home = tmp_path / "shared"
    command = [sys.executable, "-c", COUNTER, str(home)]
    started = [await asyncio.create_subprocess_exec(*command, stderr=subprocess.PIPE) for _ in range(2)]
    errors = [(await process.communicate())[1].decode() for process in started]
    assert [process.returncode for process in started] == [0, 0], errors
    async with await Store.open(home) as store:
        assert await store.read(state.get_state, "count") == 40


@pytest.mark.sqlite_only
async def test_a_full_disk_is_said_and_overcome(store: Store) -> None:
    def limit(writer: Writer, pages: int) -> None:
        with writer.transaction() as tx:
            tx.conn.exec_driver_sql(f"PRAGMA max_page_count={pages}")

    await store.on_writer(limit, 1)
    with pytest.raises(StoreUnavailable, match=r"brain\.db: the disk is full; free some space") as caught:
        await store.write(state.set_state, "big", "x" * 1_000_000)
    assert caught.value.reason == "disk_full"
    assert await store.read(count_state) == 0
    await store.on_writer(limit, 1_000_000)
    await store.write(state.set_state, "big", "x")
    assert await store.read(count_state) == 1


@pytest.mark.sqlite_only
async def test_a_database_that_turned_read_only_still_serves_reads(store: Store) -> None:
    await store.write(state.set_state, "kept", 1)

    def read_only(writer: Writer, on: str) -> None:
        # Not in a transaction of the writer's: none can begin while the file is read-only.
        connection = writer._open().connection.driver_connection
        assert isinstance(connection, sqlite3.Connection)
        connection.execute(f"PRAGMA query_only={on}")

    await store.on_writer(read_only, "ON")
    with pytest.raises(StoreUnavailable, match="it is read-only; make it and its folder writable"):
        await store.write(state.set_state, "lost", 1)
    assert await store.read(state.all_state) == {"kept": 1}
    await store.on_writer(read_only, "OFF")
    await store.write(state.set_state, "again", 1)


@pytest.mark.sqlite_only
async def test_a_lock_held_too_long_is_said(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def impatient(writer: Writer) -> None:
        with writer.transaction() as tx:
            tx.conn.exec_driver_sql("PRAGMA busy_timeout=1")

    await store.on_writer(impatient)
    other = sqlite3.connect(store.path, isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable, match="locked by another process") as caught:
            await store.write(state.set_state, "a", 1)
        assert caught.value.reason == "locked"
        other.execute("ROLLBACK")
        await store.write(state.set_state, "a", 1)
    finally:
        other.close()


@pytest.fixture
def unprivileged() -> Iterator[None]:
    """Run the test as somebody whom file modes stop, also where the suite runs as root."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_folder(tmp_path: Path) -> Path:
    """A folder of this test that everybody may enter, and nobody but its owner write."""
    for folder in (tmp_path, *tmp_path.parents[:3]):
        if folder.name.startswith(("pytest-", "test_")):
            folder.chmod(0o755)
    return tmp_path


async def test_a_home_that_cannot_be_created(open_folder: Path, unprivileged: None) -> None:
    home = open_folder / "locked" / "home"
    if os.geteuid() != NOBODY:
        open_folder.chmod(0o500)
    with pytest.raises(StoreUnavailable, match=f"cannot create the home {home}.*set BRAIN_HOME"):
        await Store.open(home)


async def test_a_read_only_home(open_folder: Path, request: pytest.FixtureRequest) -> None:
    home = open_folder / "home"
    home.mkdir(mode=0o755)
    home.chmod(0o555)
    request.getfixturevalue("unprivileged")
    with pytest.raises(StoreUnavailable, match="make it writable or set BRAIN_HOME") as caught:
        await Store.open(home)
    assert caught.value.reason == "read_only"
    assert list(home.iterdir()) == []


async def test_a_file_in_place_of_the_home(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("not a folder", encoding="utf-8")
    with pytest.raises(StoreUnavailable, match="cannot create the home"):
        await Store.open(tmp_path / "home")


@pytest.mark.parametrize(
    "content", [b"certainly not a database", b"\x00" * 4096, b"SQLite format 3\x00" + b"\xff" * 5000]
)
async def test_a_file_that_is_no_database_is_named_and_kept(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "brain.db"
    path.write_bytes(content)
    with pytest.raises(DatabaseDamaged, match=r"brain\.db"):
        await Store.open(tmp_path)
    assert path.read_bytes() == content


@pytest.mark.sqlite_only
async def test_a_truncated_database_is_named(store: Store) -> None:
    await store.close()
    size = store.path.stat().st_size
    with store.path.open("r+b") as file:
        file.truncate(size // 2)
    with pytest.raises(DatabaseDamaged, match=f"is cut off \\({size // 2} of {size} bytes\\)"):
        await Store.open(store.home)


@pytest.mark.sqlite_only
async def test_an_overwritten_page_is_found_at_use(store: Store) -> None:
    await store.write(state.set_state, "a", "x" * 20_000)
    await store.close()
    with store.path.open("r+b") as file:
        page = 4096
        for number in range(5, store.path.stat().st_size // page):
            file.seek(number * page)
            file.write(b"\xde" * page)
    with pytest.raises(DatabaseDamaged, match="restore a backup"):
        async with await Store.open(store.home) as again:
            await again.read(state.all_state)


@pytest.mark.sqlite_only
async def test_a_newer_database_is_refused(store: Store) -> None:
    await store.close()
    other = sqlite3.connect(store.path)
    other.execute("UPDATE alembic_version SET version_num = '9999'")
    other.commit()
    other.close()
    with pytest.raises(DatabaseTooNew, match=r"written by a later version \(revision 9999"):
        await Store.open(store.home)


async def test_another_programs_database_is_refused(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "brain.db")
    other.execute("CREATE TABLE bookmarks (url TEXT)")
    other.commit()
    other.close()
    with pytest.raises(DatabaseDamaged, match="a database of another program"):
        await Store.open(tmp_path)


async def test_a_database_url(tmp_path: Path, clock: ManualClock) -> None:
    path = tmp_path / "elsewhere.db"
    async with await Store.open(tmp_path / "home", clock=clock, url=f"sqlite:///{path}") as store:
        await store.write(state.set_state, "a", 1)
    assert path.exists()
    with pytest.raises(StoreError, match="'oracle' is not supported"):
        await Store.open(tmp_path / "home", url="oracle://db")


def test_importing_the_store_stays_light() -> None:
    heavy = ["alembic", "numpy", "scipy", "torch", "numba", "networkx", "httpx", "trafilatura", "fastapi", "pydantic"]
    code = f"import sys, data.store, data.models, data.progress; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.sqlite_only
async def test_opening_a_current_database_loads_no_alembic(store: Store) -> None:
    await store.close()
    code = (
        "import asyncio, sys; from pathlib import Path; from data.store import Store\n"
        "async def main():\n    async with await Store.open(Path(sys.argv[1])): print('alembic' in sys.modules)\n"
        "asyncio.run(main())"
    )
    command = [sys.executable, "-c", code, str(store.home)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: ASYNC221
    assert done.stdout.strip() == "False"
