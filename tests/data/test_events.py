"""Event names that stay, the stored log, state and the journal as they are read."""

from __future__ import annotations

from datetime import timedelta

import pytest

from data import events, journal, state
from data.clock import ManualClock
from data.models import Event, JournalStatus
from data.store import Store
from tests.data.crudtools import create_note, rows


def test_the_catalogue_is_complete_and_stable() -> None:
    # Written out from the chapters, not read from the module.
    assert {
        "think.pass.started",
        "think.pass.completed",
        "think.relation.planned",
        "think.research.query.rebuilt",
        "think.research.evidence.assessed",
        "think.research.insufficient",
        "think.relation.accepted",
        "think.relation.rejected",
        "autonomous.research.scan.started",
        "autonomous.research.scan.completed",
        "autonomous.research.task.enqueued",
        "autonomous.research.task.merged",
        "autonomous.research.queue.consolidated",
        "autonomous.research.task.started",
        "autonomous.research.task.completed",
        "autonomous.research.task.failed",
        "autonomous.research.task.deferred",
        "article.planned",
        "article.brief.completed",
        "article.drafted",
        "article.type.reconsidered",
        "article.cpu_quality.completed",
        "article.review.completed",
        "article.corrected",
        "article.staged",
        "article.rejected",
        "article.approved",
        "article.published",
        "vector.graph.maintenance.started",
        "vector.graph.rebuilt",
        "vector.graph.maintenance.completed",
        "desk.message",
        "desk.question",
        "desk.outcome",
        "crud.verification.failed",
        "inbox.admitted",
        "inbox.refused",
        "loop.failed",
        "loop.recovered",
        "daemon.started",
        "daemon.stopping",
    } <= events.EVENT_NAMES


async def test_events_are_listed_by_page_and_prefix(store: Store, clock: ManualClock) -> None:
    for number in range(3):
        await store.log(Event("loop.failed", {"n": number}, level="error"), Event("loopy.other", {"n": number}))
        clock.advance(60)
    every = await store.read(events.list_events)
    assert [event.id for event in every] == [1, 2, 3, 4, 5, 6]
    assert every[0] == Event("loop.failed", {"n": 0}, "error", clock.now() - timedelta(minutes=3), 1)
    page = await store.read(events.list_events, 2, 2)
    assert [event.id for event in page] == [3, 4]
    failed = await store.read(events.list_events, 0, 10, "loop.")
    assert [event.name for event in failed] == ["loop.failed"] * 3
    newest = await store.read(events.list_events, 0, 2, newest=True)
    assert [event.id for event in newest] == [5, 6]
    assert await store.read(events.list_events, 0, 10, "%") == []
    assert await store.read(events.last_event_id) == 6


async def test_old_events_are_pruned_and_ids_never_return(store: Store, clock: ManualClock) -> None:
    await store.log(Event("loop.failed", {}))
    clock.advance(timedelta(days=31))
    await store.log(Event("loop.recovered", {}))
    assert await store.write(events.prune, clock.now() - timedelta(days=30)) == 1
    assert [event.id for event in await store.read(events.list_events)] == [2]
    assert await store.write(events.prune, clock.now() + timedelta(days=1)) == 1
    await store.log(Event("loop.failed", {}))
    assert await store.read(events.last_event_id) == 3


async def test_an_event_that_cannot_be_written_takes_its_write_with_it(store: Store) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        await store.log(Event("loop.failed", {"score": float("nan")}))
    assert rows(store, "event") == 0


async def test_state_values(store: Store, clock: ManualClock) -> None:
    assert await store.read(state.get_state, "last") is None
    await store.write(state.set_state, "last", {"b": [1, None], "a": "ä"})
    first = clock.now()
    clock.advance(5)
    await store.write(state.set_state, "other", 0)
    assert await store.read(state.get_state, "last") == {"b": [1, None], "a": "ä"}
    assert await store.read(state.state_updated_at, "last") == first
    await store.write(state.set_state, "last", "again")
    assert await store.read(state.all_state) == {"last": "again", "other": 0}
    assert await store.read(state.state_updated_at, "last") == clock.now()
    await store.write(state.clear_state, "last")
    assert await store.read(state.all_state) == {"other": 0}
    with pytest.raises(ValueError, match="takes no None"):
        await store.write(state.set_state, "last", None)


async def test_the_journal_is_read_by_page_and_filter(store: Store, clock: ManualClock) -> None:
    ids = []
    for number in range(5):
        clock.advance(1)
        ids.append(await create_note(store, f"note {number}"))
    first = await store.read(journal.list_entries, limit=2)
    assert [entry.target for entry in first] == [f"node:{ids[4]}", f"node:{ids[3]}"]
    second = await store.read(journal.list_entries, limit=9, before_id=first[-1].id)
    assert [entry.target for entry in second] == [f"node:{i}" for i in reversed(ids[:3])]
    (one,) = await store.read(journal.list_entries, target=f"node:{ids[2]}")
    assert await store.read(journal.get_entry, one.id) == one
    assert one.expected is not None
    assert one.expected["rows"][f"node:{ids[2]}"]["label"] == "note 2"
    assert await store.read(journal.list_entries, actor="nobody") == []
    assert len(await store.read(journal.list_entries, status=JournalStatus.VERIFIED)) == 5
    assert await store.read(journal.pending_entries) == []
    assert await store.read(journal.get_entry, "j_nothing") is None
