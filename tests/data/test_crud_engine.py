"""The four steps of a verified write, and that nothing counts as done that was not read back."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest

from data import journal, nodes, state
from data.crud.engine import Ask, Plan, Refusal, RowChange, WriteOutcome, perform
from data.crud.nodes import NodeDraft, UpdateNode
from data.crud.outcome import settle
from data.models import Event, JournalStatus, NodeKind
from data.schema import edge, node
from data.store import Store
from data.tx import Tx
from data.writer import Writer
from tests.data.crudtools import create_note, event_names, last_entry, reopened, rows, sabotage, sql


@dataclass
class Write:
    """An operation with a ready plan."""

    decision: Any
    action: ClassVar[str] = "write"

    def plan(self, tx: Tx) -> Plan | Refusal | Ask:
        return self.decision(tx) if callable(self.decision) else self.decision


@dataclass
class CreateMany:
    """Create nodes with given ids and report a success event."""

    ids: tuple[str, ...]
    events: tuple[Event, ...] = field(default=(Event("inbox.admitted", {"by": "test"}),))
    action: ClassVar[str] = "create"

    def plan(self, tx: Tx) -> Plan | Refusal | Ask:
        changes = tuple(RowChange(node, {"id": i}, NodeDraft(NodeKind.NOTE, f"note {i}").row(tx.now)) for i in self.ids)
        return Plan("create", f"node:{self.ids[0]}", changes, events=self.events, message="created", result=self.ids)


async def test_a_write_is_verified_journaled_and_reported(store: Store) -> None:
    outcome = await perform(store, CreateMany(("n_a",)), actor="tester")
    assert (outcome.status, outcome.action, outcome.verified, outcome.ok) == ("done", "create", True, True)
    assert outcome.before == {"node:n_a": None}
    assert outcome.after == outcome.expected
    assert outcome.after["node:n_a"] is not None
    assert outcome.after["node:n_a"]["label"] == "note n_a"
    entry = await last_entry(store)
    assert (entry.actor, entry.action, entry.target) == ("tester", "create", "node:n_a")
    assert (entry.status, entry.verified, entry.reason) == (JournalStatus.VERIFIED, True, "")
    assert entry.id == outcome.journal_id
    assert await event_names(store) == ["inbox.admitted"]


@pytest.mark.fast_on_postgres
async def test_an_altered_value_is_found_undone_and_reported(store: Store) -> None:
    sabotage(
        store,
        "CREATE TRIGGER evil AFTER INSERT ON node BEGIN UPDATE node SET body = 'altered' WHERE id = new.id; END",
    )
    subscription = store.subscribe()
    outcome = await perform(store, CreateMany(("n_a",)), actor="tester")
    assert (outcome.status, outcome.verified, outcome.ok, outcome.result) == ("failed", False, False, None)
    assert outcome.reason == "verification"
    assert "node:n_a: body" in outcome.message
    assert "it was undone" in outcome.message
    assert outcome.after["node:n_a"] is not None
    assert outcome.after["node:n_a"]["body"] == "altered"
    assert rows(store, "node") == 0
    entry = await last_entry(store)
    assert (entry.status, entry.verified) == (JournalStatus.ROLLED_BACK, False)
    assert [event.name for event in subscription.ready()] == ["crud.verification.failed"]
    assert await event_names(store) == ["crud.verification.failed"]


async def test_a_failed_update_is_undone_from_before(store: Store) -> None:
    node_id = await create_note(store, "title", "kept body")
    before = await store.read(nodes.get_node, node_id)
    sabotage(
        store,
        "CREATE TRIGGER evil AFTER UPDATE OF body ON node WHEN new.body = 'new body' "
        "BEGIN UPDATE node SET language = 'xx' WHERE id = new.id; END",
    )
    outcome = await perform(store, UpdateNode(node_id, {"body": "new body"}), actor="tester")
    assert outcome.status == "failed"
    assert f"node:{node_id}: language" in outcome.message
    assert await store.read(nodes.get_node, node_id) == before


async def test_what_cannot_be_undone_is_said(store: Store) -> None:
    node_id = await create_note(store, "title", "kept body")
    sabotage(
        store,
        "CREATE TRIGGER evil AFTER UPDATE ON node WHEN new.category <> 'evil' "
        "BEGIN UPDATE node SET category = 'evil' WHERE id = new.id; END",
    )
    outcome = await perform(store, UpdateNode(node_id, {"body": "new body"}), actor="tester")
    assert outcome.status == "failed"
    assert "undoing it did not read back either" in outcome.message
    entry = await last_entry(store)
    assert (entry.status, entry.verified) == (JournalStatus.FAILED, False)
    assert await event_names(store) == ["crud.verification.failed"]


async def test_a_silently_dropped_row_fails(store: Store) -> None:
    sabotage(store, "CREATE TRIGGER evil BEFORE INSERT ON node WHEN new.id = 'n_b' BEGIN SELECT RAISE(IGNORE); END")
    outcome = await perform(store, CreateMany(("n_a", "n_b", "n_c")), actor="tester")
    assert outcome.status == "failed"
    assert "node:n_b: missing" in outcome.message
    assert rows(store, "node") == 0


async def test_a_broken_reference_keeps_nothing(store: Store) -> None:
    def plan(tx: Tx) -> Plan:
        good = RowChange(node, {"id": "n_a"}, NodeDraft(NodeKind.NOTE, "a").row(tx.now))
        values = {"source_id": "n_a", "target_id": "n_nobody", "kind": "relation", "weight": 1.0, "meta": {}}
        values |= {"active": True, "created_at": tx.now, "updated_at": tx.now}
        return Plan("create", "node:n_a", (good, RowChange(edge, {"id": "e_a"}, values)))

    outcome = await perform(store, Write(plan), actor="tester")
    assert (outcome.status, outcome.reason, outcome.verified) == ("failed", "constraint", False)
    assert (rows(store, "node"), rows(store, "edge"), rows(store, "journal")) == (0, 0, 0)


async def test_a_missing_column_keeps_nothing(store: Store) -> None:
    plan = Plan("create", "node:n_a", (RowChange(node, {"id": "n_a"}, {"label": "no kind"}),))
    outcome = await perform(store, Write(plan), actor="tester")
    assert (outcome.status, outcome.reason) == ("failed", "constraint")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"nonsense": 1}, "table node has no column 'nonsense'"),
        ({"label": "half a pair \ud83d"}, "column node.label cannot hold str"),
        ({"meta": {"set": {1}}}, "column node.meta cannot hold dict"),
        ({"meta": {"number": float("nan")}}, "column node.meta cannot hold dict"),
        ({"created_at": "yesterday"}, "column node.created_at cannot hold str"),
    ],
)
async def test_values_no_column_can_hold_are_named(store: Store, values: dict[str, Any], message: str) -> None:
    plan = Plan("create", "node:n_a", (RowChange(node, {"id": "n_a"}, values),))
    with pytest.raises(ValueError, match=message):
        await perform(store, Write(plan), actor="tester")
    assert rows(store, "journal") == 0


async def test_refusals_and_questions_write_nothing(store: Store) -> None:
    refused = await perform(store, Write(Refusal("because", "not today")), actor="tester")
    assert (refused.status, refused.reason, refused.message, refused.ok) == ("refused", "because", "not today", False)
    asked = await perform(store, Write(Ask("which", "which one?", ("a", "b"))), actor="tester")
    assert (asked.status, asked.choices, asked.ok, asked.verified) == ("question", ("a", "b"), False, False)
    assert rows(store, "journal") == 0


async def test_a_plan_without_changes_is_done_without_a_journal_entry(store: Store) -> None:
    plan = Plan("update", "node:n_a", (), events=(Event("inbox.admitted", {}),), result=7)
    outcome = await perform(store, Write(plan), actor="tester")
    assert (outcome.status, outcome.result, outcome.journal_id) == ("done", 7, None)
    assert rows(store, "journal") == 0
    assert await event_names(store) == ["inbox.admitted"]


async def test_a_plan_that_writes_is_an_error(store: Store) -> None:
    def plan(tx: Tx) -> Plan:
        state.set_state(tx, "sneaky", 1)
        return Plan("create", "", ())

    with pytest.raises(TypeError, match="a plan only decides"):
        await perform(store, Write(plan), actor="tester")
    assert await store.read(state.get_state, "sneaky") is None


async def test_a_row_named_twice_is_an_error(store: Store) -> None:
    change = RowChange(node, {"id": "n_a"}, {})
    with pytest.raises(ValueError, match="writes node:n_a twice"):
        await perform(store, Write(Plan("create", "", (change, change))), actor="tester")


@pytest.mark.fast_on_postgres
async def test_a_later_verified_write_accounts_for_ours(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process writes, verified and journaled, between our commit and our reading back."""
    async with await reopened(store) as other:
        loop = asyncio.get_running_loop()
        real = Writer.transaction
        state_of = {"calls": 0}

        def transaction(writer: Writer) -> Any:
            if writer is store._writer:
                state_of["calls"] += 1
                if state_of["calls"] == 2:  # our write is committed, our verification is about to begin
                    update = perform(other, UpdateNode("n_a", {"body": "theirs"}), actor="other")
                    assert asyncio.run_coroutine_threadsafe(update, loop).result(10).ok
            return real(writer)

        monkeypatch.setattr(Writer, "transaction", transaction)
        outcome = await perform(store, CreateMany(("n_a",)), actor="ours")
    assert outcome.ok, outcome.message
    found = await store.read(nodes.get_node, "n_a")
    assert found is not None
    assert (found.body, found.version) == ("theirs", 2)
    assert await store.read(journal.count_by_status) == {"verified": 2}


async def test_an_unexplained_change_by_somebody_else_is_left_and_said(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Writer.transaction
    calls: list[int] = []

    def transaction(writer: Writer) -> Any:
        calls.append(1)
        if len(calls) == 2:
            sql(store, "UPDATE node SET body = 'stranger', version = 5 WHERE id = 'n_a'")
        return real(writer)

    monkeypatch.setattr(Writer, "transaction", transaction)
    outcome = await perform(store, CreateMany(("n_a",)), actor="ours")
    assert (outcome.status, outcome.verified) == ("failed", False)
    found = await store.read(nodes.get_node, "n_a")
    assert found is not None, "what somebody else has changed since is not ours to undo"
    assert found.body == "stranger"
    assert (await last_entry(store)).status is JournalStatus.FAILED


async def test_cancelling_leaves_a_verified_write(store: Store) -> None:
    task = asyncio.create_task(perform(store, CreateMany(tuple(f"n_{i}" for i in range(200))), actor="tester"))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await store.close()
    async with await reopened(store) as again:
        assert await again.read(journal.count_by_status) in ({}, {"verified": 1})


@pytest.mark.fast_on_postgres
async def test_concurrent_writes_all_verify(store: Store) -> None:
    outcomes = await asyncio.gather(*(perform(store, CreateMany((f"n_{i}",)), actor="t") for i in range(20)))
    assert all(outcome.ok for outcome in outcomes)
    updates = [perform(store, UpdateNode("n_0", {"body": f"body {i}"}), actor="t") for i in range(20)]
    assert all(outcome.ok for outcome in await asyncio.gather(*updates))
    found = await store.read(nodes.get_node, "n_0")
    assert found is not None
    assert (found.body, found.version) == ("body 19", 21)


def test_success_needs_verification() -> None:
    assert settle(action="a", target="t", written=True).status == "failed"
    assert settle(action="a", target="t", verified=True).status == "failed"
    assert settle(action="a", target="t", written=True, result=1).result is None
    assert settle(action="a", target="t", written=True, verified=True).status == "done"
    assert settle(action="a", target="t", written=True, verified=True, corrected=True).status == "corrected"
    assert settle(action="a", target="t", written=True, verified=True, refused=True).ok is False


def test_only_settle_makes_an_outcome() -> None:
    with pytest.raises(TypeError, match="settle alone"):
        WriteOutcome("done", "a", "t", {}, {}, {}, True, "", "", None, (), None, None, object())
