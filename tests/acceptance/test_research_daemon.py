"""Relation research in the real daemon: what it says of its search at the start, and how a pass over pairs ends."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tests.acceptance.invariants import check
from tests.acceptance.processes import daemon, query, wait_for
from tests.research.pages import Page, PageServer, Request

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

THINKING = {
    "BRAIN_AUTONOMOUS_RESEARCH": "false", "BRAIN_RESEARCH_WORKER": "false", "BRAIN_LEARNING": "false",
    "BRAIN_VECTOR_MAINTENANCE": "false", "BRAIN_SEARCH_BACKENDS": "searxng",
}  # fmt: skip
NOBODY_KNOWS = Page(json.dumps({"results": [], "unresponsive_engines": []}).encode(), content_type="application/json")


def test_the_start_says_which_setting_keeps_the_search_from_answering(home: Path) -> None:
    with (
        PageServer({"/search": Page(b"Forbidden", 403)}) as server,
        daemon(home, **THINKING | {"BRAIN_THINKING": "false"}, BRAIN_SEARXNG_URL=server.url("")) as running,
    ):
        wait_for(lambda: "search cannot answer" in running.log(), "the probe's word")
        said = next(line for line in running.log().splitlines() if "search cannot answer" in line)
        assert json.loads(said)["change"] == "search.formats"
        assert "[html, json]" in json.loads(said)["said"]
        assert running.stop() == 0


def test_a_signal_ends_a_pass_between_two_pairs(home: Path) -> None:
    def slow(_: Request) -> Page:
        server.stopped.wait(1.0)
        return NOBODY_KNOWS

    with (
        PageServer({"/search": slow}) as server,
        daemon(home, **THINKING, BRAIN_SEARXNG_URL=server.url(""), BRAIN_SHUTDOWN_GRACE="2m") as running,
    ):
        wait_for(lambda: len([r for r in server.requests if "q=linux" not in r.query]) >= 2, "the second pair")
        began = time.monotonic()
        assert running.stop() == 0
        assert time.monotonic() - began < 20  # one pair more, and what a busy machine needs to close
        assert "Traceback" not in running.log(), running.log()
    [[payload]] = query(home, "SELECT payload FROM event WHERE name = 'think.pass.completed' ORDER BY id DESC LIMIT 1")
    assert json.loads(payload)["stopped"] == "the process was asked to end"
    assert json.loads(payload)["thought"] < 20
    check(home)
