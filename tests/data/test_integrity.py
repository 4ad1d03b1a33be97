"""What a check of the database finds."""

from __future__ import annotations

import pytest

from data.integrity import database_faults, database_notes
from data.store import Store
from tests.data.crudtools import create_note, sql, url_of


async def test_a_sound_database_has_no_faults(store: Store) -> None:
    await create_note(store, "title", "body " * 2000)
    assert await store.read_bulk(database_faults) == []


@pytest.mark.sqlite_only
async def test_a_broken_reference_is_named(store: Store) -> None:
    sql(store, "INSERT INTO position VALUES ('n_nobody', 0, 0, 0, '2026-01-15T08:00:00.000000+00:00')")
    assert await store.read_bulk(database_faults) == ["a row of position refers to a row of node that is not there"]


async def test_an_index_that_lost_a_node_is_named(store: Store) -> None:
    await create_note(store, "title")
    sql(store, "DELETE FROM node_text")
    assert await store.read_bulk(database_faults) == [
        "the full-text index knows 0 of 1 nodes; restore a backup",
    ]


@pytest.mark.sqlite_only
async def test_a_damaged_page_is_named(store: Store) -> None:
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)"
    sql(store, f"{numbers} INSERT INTO state SELECT 'name ' || i, '1', '2026-01-15T08:00:00.000000+00:00' FROM n")
    ((root,),) = sql(store, "SELECT rootpage FROM sqlite_master WHERE name = 'sqlite_autoindex_state_1'")
    await store.close()
    with store.path.open("r+b") as file:
        file.seek((root - 1) * 4096 + 2000)
        file.write(b"\x55" * 1500)
    async with await Store.open(store.home) as again:
        faults = await again.read_bulk(database_faults)
    assert faults
    assert all(fault.startswith("the database is damaged:") for fault in faults)


async def test_writes_that_nobody_verified_are_named(store: Store) -> None:
    await create_note(store, "a")
    await create_note(store, "b")
    first = "(SELECT min(id) FROM journal)"
    sql(store, f"UPDATE journal SET status = CASE id WHEN {first} THEN 'pending' ELSE 'failed' END")
    faults = await store.read_bulk(database_faults)
    assert [fault.partition(" ")[0] for fault in faults] == ["1", "1"]
    assert "wait for their verification" in faults[0]
    assert "could not be undone" in faults[1]


async def test_a_server_that_does_not_wait_for_its_disk_is_noted(store: Store) -> None:
    notes = await store.read_bulk(database_notes)
    if url_of(store) is None:
        assert notes == [], "SQLite is told by every connection"
    else:  # the cluster of the tests runs without both
        assert [note.partition(" ")[0] for note in notes] == ["fsync", "full_page_writes"]


async def test_an_index_that_is_not_valid_is_named(store: Store) -> None:
    if url_of(store) is None:
        pytest.skip("SQLite knows no such state")
    sql(store, "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'ix_node_content_hash'::regclass")
    assert await store.read_bulk(database_faults) == ["the index ix_node_content_hash is not valid; REINDEX it"]
