"""A process killed between the commit of a write and its verification: the next start finishes it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from typing import NoReturn

import pytest

from data import journal, nodes, state
from data.crud.batch import Batch, write_batch
from data.crud.engine import Operation, perform
from data.crud.nodes import EdgeDraft, IngestNodes, NodeDraft, UpdateNode
from data.errors import StoreUnavailable
from data.models import JournalStatus, NodeKind
from data.schema import position
from data.store import Store
from data.writer import Writer
from tests.data.crudtools import create_note, event_names, last_entry, reopened, rows, sql, url_of

# The child dies by a real SIGKILL in the moment in which it would open the connection that verifies:
# its write is committed, its journal entry is pending.
CHILD = """
import asyncio, json, os, signal, sys
from datetime import UTC, datetime
from pathlib import Path
from data.clock import ManualClock
from data.crud.batch import Batch, write_batch
from data.crud.engine import perform
from data.crud.nodes import EdgeDraft, IngestNodes, NodeDraft, UpdateNode
from data.models import Event, NodeKind
from data.schema import position
from data.store import Store
from data.writer import Writer

async def main(home, what, argument):
    store = await Store.open(home, url=sys.argv[4] or None, clock=ManualClock(datetime(2026, 1, 15, 9, tzinfo=UTC)))
    Writer.fresh = lambda self: os.kill(os.getpid(), signal.SIGKILL)
    if what == "ingest":
        names = [f"section {i}" for i in range(argument)]
        sections = [NodeDraft(NodeKind.SECTION, name, "x" * 700, source_uri=f"s:{name}") for name in names]
        drafts = [NodeDraft(NodeKind.DOCUMENT, "handbook", source_uri="s:"), *sections]
        edges = [EdgeDraft(i + 1, 0) for i in range(argument)]
        operation = IngestNodes(drafts, edges, events=(Event("inbox.admitted", {"name": "handbook"}),))
    elif what == "update":
        operation = UpdateNode(argument, {"body": "changed body", "meta": {"k": [1, 2.5, None]}})
    else:
        rows = [{"node_id": argument, "x": 1.0, "y": 2.0, "z": 0.0, "updated_at": store.clock.now()}]
        await write_batch(store, Batch("layout", position, rows, state={"last_vector_layout": 1}), actor="child")
    await perform(store, operation, actor="child")

asyncio.run(main(Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])))
"""


async def kill_in_between(store: Store, what: str, argument: object) -> None:
    """Close `store`, and let a child write and die."""
    await store.close()
    command = [sys.executable, "-c", CHILD, str(store.home), what, json.dumps(argument), url_of(store) or ""]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: ASYNC221
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert sql(store, "SELECT count(*) FROM journal WHERE status = 'pending'") == [(1,)]


def stored_events(store: Store) -> list[str]:
    return [str(name) for (name,) in sql(store, "SELECT name FROM event ORDER BY id")]


@pytest.mark.parametrize("sections", [pytest.param(3, marks=pytest.mark.slow), 200])
async def test_a_write_that_stands_is_verified_and_reported_at_the_next_start(store: Store, sections: int) -> None:
    await kill_in_between(store, "ingest", sections)
    assert stored_events(store) == []
    async with await reopened(store) as again:
        entry = await last_entry(again)
        assert (entry.status, entry.verified, entry.action) == (JournalStatus.VERIFIED, True, "ingest")
        assert await event_names(again) == ["inbox.admitted"]
        assert rows(again, "node") == sections + 1
    async with await reopened(store) as third:
        assert await event_names(third) == ["inbox.admitted"], "a second start reports nothing again"


async def test_a_write_that_was_altered_is_undone_at_the_next_start(store: Store) -> None:
    node_id = await create_note(store, "title", "old body")
    before = await store.read(nodes.get_node, node_id)
    await kill_in_between(store, "update", node_id)
    sql(store, "UPDATE node SET meta = '{}' WHERE id = ?", [node_id])
    async with await reopened(store) as again:
        assert await again.read(nodes.get_node, node_id) == before
        entry = await last_entry(again)
        assert (entry.status, entry.verified) == (JournalStatus.ROLLED_BACK, False)
        assert await event_names(again) == ["crud.verification.failed"]


async def leave_pending(store: Store, operation: Operation) -> None:
    """Leave what a kill in between leaves, without one: the write committed, its entry pending."""
    assert (await perform(store, operation, actor="t")).ok
    await store.close()
    newest = "(SELECT max(id) FROM journal)"
    sql(store, f"UPDATE journal SET status = 'pending', verified = (1 = 0), after = NULL WHERE id = {newest}")
    sql(store, "DELETE FROM event")


@pytest.mark.fast_on_postgres
async def test_a_row_that_moved_on_since_is_left_alone(store: Store) -> None:
    node_id = await create_note(store, "title", "old body")
    await leave_pending(store, UpdateNode(node_id, {"body": "changed body"}))
    sql(store, "UPDATE node SET body = 'later', version = 3 WHERE id = ?", [node_id])
    async with await reopened(store) as again:
        found = await again.read(nodes.get_node, node_id)
        assert found is not None
        assert found.body == "later"
        entry = await last_entry(again)
        assert (entry.status, entry.verified) == (JournalStatus.FAILED, False)
        assert "changed again before it was read back" in entry.reason


async def test_a_row_that_vanished_is_failed(store: Store) -> None:
    drafts = [NodeDraft(NodeKind.DOCUMENT, "handbook"), NodeDraft(NodeKind.SECTION, "section")]
    await leave_pending(store, IngestNodes(drafts, [EdgeDraft(1, 0)]))
    sql(store, "DELETE FROM edge")
    async with await reopened(store) as again:
        entry = await last_entry(again)
        assert (entry.status, entry.verified) == (JournalStatus.ROLLED_BACK, False)
        assert (rows(again, "node"), rows(again, "edge")) == (0, 0), "a half write does not stay"


async def test_what_was_undone_before_the_process_ended_is_rolled_back(store: Store) -> None:
    node_id = await create_note(store, "title", "old body")
    await leave_pending(store, UpdateNode(node_id, {"body": "changed body"}))
    ((before,),) = sql(store, "SELECT before FROM journal WHERE status = 'pending'")
    row = json.loads(before)[f"node:{node_id}"]
    columns = ("body", "content_hash", "updated_at", "version")
    values = [row[name] for name in columns]
    sql(store, f"UPDATE node SET {', '.join(f'{name} = ?' for name in columns)}", values)
    async with await reopened(store) as again:
        entry = await last_entry(again)
        assert (entry.status, entry.reason) == (JournalStatus.ROLLED_BACK, "it was undone before the process ended")


async def test_a_write_that_could_not_be_read_back_is_finished_later(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    node_id = await create_note(store, "title", "old body")

    def broken(_writer: Writer) -> NoReturn:
        raise StoreUnavailable("reading failed", reason="io_error")

    with monkeypatch.context() as patched:
        patched.setattr(Writer, "fresh", broken)
        outcome = await perform(store, UpdateNode(node_id, {"body": "changed body"}), actor="t")
    assert (outcome.status, outcome.reason, outcome.verified) == ("failed", "unverified", False)
    assert await store.verify_pending() == 1
    assert (await last_entry(store)).status is JournalStatus.VERIFIED
    assert await store.verify_pending() == 0


async def test_an_entry_nobody_understands_does_not_keep_the_store_shut(store: Store) -> None:
    node_id = await create_note(store, "title", "old body")
    await leave_pending(store, UpdateNode(node_id, {"body": "changed body"}))
    sql(store, "UPDATE journal SET expected = replace(expected, 'node:', 'gone:') WHERE status = 'pending'")
    async with await reopened(store) as again:
        entry = await last_entry(again)
        assert entry.status is JournalStatus.FAILED
        assert "no table 'gone'" in entry.reason


async def test_a_batch_is_failed_and_its_state_not_set(store: Store) -> None:
    node_id = await create_note(store, "title")
    await kill_in_between(store, "layout", node_id)
    async with await reopened(store) as again:
        assert await again.read(state.get_state, "last_vector_layout") is None
        entry = await last_entry(again)
        assert (entry.status, entry.action) == (JournalStatus.FAILED, "batch:layout")
        batch = Batch("layout", position, [{"node_id": node_id, "x": 1.0, "y": 2.0, "z": 0.0, "updated_at": entry.at}])
        assert (await write_batch(again, batch, actor="test")).ok
        assert await again.read(journal.count_by_status) == {"verified": 2, "failed": 1}
