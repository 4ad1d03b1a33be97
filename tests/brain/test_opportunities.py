"""Gaps as they are shown: by the command and by the API, the same content, page by page, and what bad input is told."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import get_args

import httpx
import pytest
from fastapi import FastAPI

from brain.api.access import access_policy
from brain.api.app import create_app
from brain.api.opportunities import Kind, opportunity_routes
from brain.gaps import KINDS, BadCursor, GapsPage, gaps_page
from data.crud.engine import perform
from data.crud.ingest import IngestNodes, NodeDraft
from data.migrations.prepare import prepare_database, prepare_home
from data.models import NodeKind, Scan, ScanDecision, TaskOrigin
from data.nodes import list_nodes
from data.scans import SHOWN, decisions_of, record_scan
from data.store import DATABASE_NAME, Store
from data.tasks import TaskRequest
from research.queue import QueuePolicy, ResearchQueue
from tests.brain.cli_tools import Brain

TITLES = ("ORA-12154 beim Start", "ORA-12154 in Excel", "Postfix queue full")
FILLER = "Reported by several people since the works of last weekend."


async def fill(store: Store, *, more: int = 0) -> list[ScanDecision]:
    """Write three nodes, a task and a scan of three decisions (and `more` of the kind orphan)."""
    drafts = [NodeDraft(NodeKind.TICKET, title, FILLER, "de", f"test:{title}") for title in TITLES]
    assert (await perform(store, IngestNodes(drafts), actor="test")).ok
    ids = {node.label: node.id for node in await store.read(list_nodes)}
    queue = ResearchQueue(store, QueuePolicy())
    task = (await queue.enqueue(TaskRequest(TITLES[0], ("Why?",)), TaskOrigin.SCANNER)).task
    assert task is not None
    now = store.clock.now()
    found = Scan(
        "scan_1", now, now, 3 + more, 1, 1, 0, {"not_worth_it": 1, "daily_budget_exhausted": 1}, {"remaining": 4}
    )
    first = ScanDecision(
        "scan_1", 0, "missing_reference", TITLES[0], (ids[TITLES[0]], ids[TITLES[1]]), 0.69,
        "2 nodes mention ORA-12154.", "created", None, None, task.id,
    )  # fmt: skip
    second = ScanDecision(
        "scan_1", 1, "orphan", TITLES[2], (ids[TITLES[2]],), 0.5, "Alone.", "rejected", "not_worth_it",
        "queue_by_hand_if_wanted", None,
    )  # fmt: skip
    third = ScanDecision(
        "scan_1", 2, "stale", "Old <b>article</b>", ("n_gone",), 0.4, "400 days old.", "rejected",
        "daily_budget_exhausted", "wait_for_next_utc_day_or_finish_queue", None,
    )  # fmt: skip
    rest = [
        replace(second, ordinal=3 + number, topic=f"Topic {number}", recommended_action=None) for number in range(more)
    ]
    decisions = [first, second, third, *rest]
    await store.write(record_scan, found, decisions, forget_before=now)
    return decisions


@pytest.fixture
async def app(store: Store) -> FastAPI:
    async def nothing() -> list[str]:
        return []

    async def status() -> dict[str, str]:
        return {}

    access = access_policy("127.0.0.1", "")
    return create_app(version="9", access=access, status=status, ready=nothing, routes=[opportunity_routes(store)])


@pytest.fixture
async def http(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://127.0.0.1:8787") as client:
        yield client


async def test_before_the_first_scan_there_is_an_empty_page(http: httpx.AsyncClient) -> None:
    answer = await http.get("/opportunities")
    assert (answer.status_code, answer.json()) == (
        200,
        {"scan": None, "by_kind": {}, "opportunities": [], "next": None},
    )


async def test_a_gap_is_shown_with_titles_decision_and_reason(store: Store, http: httpx.AsyncClient) -> None:
    decisions = await fill(store)
    document = (await http.get("/opportunities")).json()
    assert document["by_kind"] == {"missing_reference": 1, "orphan": 1, "stale": 1}
    assert document["scan"]["candidates"] == 3
    first, second, third = document["opportunities"]
    assert [gap["rank"] for gap in document["opportunities"]] == [1, 2, 3]
    assert [(seed["title"], seed["kind"], seed["active"]) for seed in first["seeds"]] == [
        (TITLES[0], "ticket", True), (TITLES[1], "ticket", True)
    ]  # fmt: skip
    assert (first["decision"], first["task_id"], first["task_state"]) == ("created", decisions[0].task_id, "queued")
    assert (second["rejection_reason"], second["recommended_action"]) == ("not_worth_it", "queue_by_hand_if_wanted")
    assert third["seeds"] == [{"id": "n_gone", "kind": None, "title": None, "active": False}]
    assert document["next"] is None


async def test_pages_fit_together_although_another_scan_comes_between(store: Store, http: httpx.AsyncClient) -> None:
    await fill(store, more=5)
    first = (await http.get("/opportunities", params={"limit": 3})).json()
    then = store.clock.now() + timedelta(minutes=10)
    await store.write(
        record_scan, Scan("scan_2", then, then, 0, 0, 0, 0, {}, {}), [], forget_before=then - timedelta(1)
    )
    ranks, cursor = [gap["rank"] for gap in first["opportunities"]], first["next"]
    while cursor:
        page = (await http.get("/opportunities", params={"limit": 2, "cursor": cursor})).json()
        assert page["scan"]["id"] == "scan_1"
        ranks += [gap["rank"] for gap in page["opportunities"]]
        cursor = page["next"]
    assert ranks == list(range(1, 9))
    assert (await http.get("/opportunities")).json()["scan"]["id"] == "scan_2"


async def test_a_kind_is_paged_alone(store: Store, http: httpx.AsyncClient) -> None:
    await fill(store, more=3)
    page = (await http.get("/opportunities", params={"kind": "orphan", "limit": 3})).json()
    assert [gap["rank"] for gap in page["opportunities"]] == [2, 4, 5]
    rest = (await http.get("/opportunities", params={"kind": "orphan", "cursor": page["next"]})).json()
    assert ([gap["rank"] for gap in rest["opportunities"]], rest["next"]) == ([6], None)
    none = (await http.get("/opportunities", params={"kind": "weak_bridge"})).json()
    assert (none["opportunities"], none["next"]) == ([], None)


@pytest.mark.parametrize(
    ("query", "status", "word"),
    [
        ({"kind": "orphans"}, 422, "kind"),
        ({"limit": "0"}, 422, "limit"),
        ({"limit": "501"}, 422, "limit"),
        ({"limit": "many"}, 422, "limit"),
        ({"cursor": "x" * 101}, 422, "cursor"),
        ({"cursor": ""}, 400, "cursor"),
        ({"cursor": "scan_1"}, 400, "cursor"),
        ({"cursor": "scan_9.4"}, 400, "no longer kept"),
        ({"cursor": "scan_1.-1"}, 400, "cursor"),
        ({"cursor": "' OR 1=1 --.1"}, 400, "cursor"),
    ],
)
async def test_bad_input_is_a_problem_document(
    store: Store, http: httpx.AsyncClient, query: dict[str, str], status: int, word: str
) -> None:
    await fill(store)
    answer = await http.get("/opportunities", params=query)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    document = answer.json()
    assert document["status"] == status
    assert word in document["detail"]


async def test_openapi_names_the_route_its_parameters_and_its_errors(http: httpx.AsyncClient) -> None:
    document = (await http.get("/openapi.json")).json()
    route = document["paths"]["/opportunities"]["get"]
    assert {parameter["name"] for parameter in route["parameters"]} == {"kind", "limit", "cursor"}
    for status in ("400", "422"):
        assert "application/problem+json" in route["responses"][status]["content"]
    assert "Problem" in document["components"]["schemas"]


def test_the_api_knows_the_kinds_that_there_are() -> None:
    assert get_args(Kind) == KINDS


async def test_of_an_earlier_scan_stay_its_best_and_what_led_somewhere(store: Store) -> None:
    decisions = await fill(store, more=SHOWN + 20)
    now = store.clock.now()
    kept = replace(decisions[1], scan_id="scan_2", ordinal=SHOWN + 5)
    led = replace(decisions[0], scan_id="scan_2", ordinal=SHOWN + 6)
    lost = replace(decisions[2], scan_id="scan_2", ordinal=SHOWN + 7)
    second = Scan("scan_2", now, now, 3, 0, 0, 0, {}, {})
    await store.write(record_scan, second, [kept, led, lost], forget_before=now, keep=("queue_by_hand_if_wanted",))
    assert len(await store.read(decisions_of, "scan_1")) == SHOWN
    assert len(await store.read(decisions_of, "scan_2")) == 3, "the latest scan keeps all"
    await store.write(
        record_scan, replace(second, id="scan_3"), [], forget_before=now, keep=("queue_by_hand_if_wanted",)
    )
    assert [entry.ordinal for entry in await store.read(decisions_of, "scan_2")] == [SHOWN + 5, SHOWN + 6]


async def test_a_cursor_of_nobody_is_refused(store: Store) -> None:
    with pytest.raises(BadCursor):
        await gaps_page(store, limit=1, cursor="nobody.0")


# ------------------------------------------------------------------------------------------- the command


@pytest.fixture
async def filled(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    async with await Store.open(home) as store:
        await fill(store)
    return home


def test_the_command_says_what_was_seen_where_and_what_was_decided(brain: Brain, filled: Path) -> None:
    done = brain("opportunities", "--home", filled)
    assert done.status == 0
    assert "by kind: 1 missing_reference, 1 orphan, 1 stale" in done.out
    assert f"seen in: {TITLES[0]}; {TITLES[1]}" in done.out
    assert re.search(r"created, task \S+ \(queued\)", done.out)
    assert "rejected: not_worth_it; to do: queue_by_hand_if_wanted" in done.out
    assert "Old <b>article</b>" in done.out
    assert "seen in: n_gone" in done.out


def test_command_and_api_show_the_same(brain: Brain, filled: Path) -> None:
    async def paged() -> GapsPage:
        async with await Store.open(filled) as store:
            return await gaps_page(store, limit=2)

    page = asyncio.run(paged())
    printed = brain("opportunities", "--limit", "2", "--json", "--home", filled).document
    assert printed == json.loads(json.dumps(page.document(), default=str))
    assert page.next == "scan_1.1"


def test_the_command_filters_limits_and_says_when_there_is_nothing(brain: Brain, filled: Path) -> None:
    text = brain("opportunities", "--kind", "orphan", "--home", filled).out
    assert TITLES[2] in text and "ORA-12154 in Excel" not in text
    assert "The best 1; --limit shows more." in brain("opportunities", "--limit", "1", "--home", filled).out
    none = brain("opportunities", "--kind", "weak_bridge", "--home", filled)
    assert (none.status, "No gap of the kind weak_bridge was found." in none.out) == (0, True)


@pytest.mark.parametrize(
    ("arguments", "status", "word"),
    [
        (["--kind", "orphans"], 2, "the kinds are asked, stale, missing_reference"),
        (["--limit", "0"], 2, ""),
        (["--limit", "x"], 2, ""),
    ],
)
def test_the_command_refuses_bad_input(
    brain: Brain, filled: Path, arguments: list[str], status: int, word: str
) -> None:
    done = brain("opportunities", *arguments, "--home", filled)
    assert done.status == status
    assert word in done.err


def test_the_command_says_that_there_was_no_scan(brain: Brain, tmp_path: Path) -> None:
    prepare_home(tmp_path / "home")
    prepare_database(tmp_path / "home" / DATABASE_NAME)
    done = brain("opportunities", "--home", tmp_path / "home")
    assert (done.status, "brain scan" in done.err) == (1, True)
