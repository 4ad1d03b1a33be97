"""GLPI as a person and a daemon meet it: commands, exit statuses, and the learning loop that goes on without it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from brain.config import load_settings
from brain.passes import LearnReport, Passes
from brain.runtime import open_runtime
from data.clock import ManualClock
from data.nodes import count_by_kind
from tests.brain.cli_tools import Brain, Done, light_embedder, make_brain
from tests.glpi.rows import sample
from tests.glpi.standin import APP_TOKEN, USER_TOKEN, Fault, StandIn


def connected(glpi: StandIn) -> dict[str, str]:
    return {"BRAIN_GLPI_URL": glpi.url, "BRAIN_GLPI_APP_TOKEN": APP_TOKEN, "BRAIN_GLPI_USER_TOKEN": USER_TOKEN}


@pytest.fixture
def brain(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, glpi: StandIn
) -> Callable[..., Done]:
    plain: Brain = make_brain(monkeypatch, capsys, tmp_path)
    return partial(plain, **connected(glpi))


def test_not_connected_is_wrong_usage(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    plain = make_brain(monkeypatch, capsys, tmp_path)
    done = plain("glpi", "import")
    assert done.status == 2
    assert "BRAIN_GLPI_URL" in done.sentence
    done = plain("glpi", "export")
    assert done.status == 2
    assert "BRAIN_GLPI_URL" in done.sentence


def test_import_status_and_again(glpi: StandIn, brain: Callable[..., Done]) -> None:
    sample(glpi.house, 12)
    done = brain("glpi", "import", "--json")
    assert done.status == 0
    assert done.document["tickets"]["added"] == 12
    assert done.document["articles"]["added"] == 1
    assert "12 known, all up to 2026-01-12" in brain("glpi", "status").out
    assert "0 new, 0 changed, 0 gone" in brain("glpi", "import").out
    assert brain("glpi", "import", "--articles", "--json").document["tickets"] is None
    assert brain("search", "error 809", "--json").document


def test_what_goes_wrong_has_its_status_and_sentence(glpi: StandIn, brain: Callable[..., Done]) -> None:
    done = brain("glpi", "import", BRAIN_GLPI_USER_TOKEN="wrong")
    assert done.status == 1
    assert "ERROR_GLPI_LOGIN_USER_TOKEN" in done.sentence
    assert brain("glpi", "import", "--since", "yesterday").status == 2
    assert brain("glpi", "export", "--again", "a_1").status == 2
    assert "brain glpi export" in brain("articles", "export", "out", "--format", "glpi").sentence


@pytest.mark.slow
def test_removals_that_wait_end_with_a_refusal(glpi: StandIn, brain: Callable[..., Done]) -> None:
    sample(glpi.house, 30)
    brain("glpi", "import", "--tickets")
    glpi.house.tables["Ticket"].clear()
    done = brain("glpi", "import", "--tickets", "--full")
    assert done.status == 3
    assert "--confirm-removals" in done.sentence
    assert "30 are gone and kept" in brain("glpi", "status").out
    assert brain("glpi", "import", "--tickets", "--full", "--confirm-removals").status == 0
    assert "are gone and kept" not in brain("glpi", "status").out


def learned(home: Path, glpi: StandIn, clock: ManualClock, *, passes: int = 1, **other: str) -> list[Any]:
    """Run learning passes, the clock a minute on after each; return their reports and the tickets there are."""

    async def run() -> list[Any]:
        settings, _ = load_settings(home=home, environment={**connected(glpi), **other})
        async with open_runtime(settings, clock=clock, embedder=light_embedder()) as runtime:
            found: list[Any] = []
            for _ in range(passes):
                report: LearnReport = await Passes(runtime).learn()
                kinds = await runtime.store.read(count_by_kind)
                found.append((report, sum(kinds.values())))
                clock.advance(60)
            return found

    return asyncio.run(run())


def test_the_learning_loop_imports_at_its_interval(glpi: StandIn, tmp_path: Path, clock: ManualClock) -> None:
    sample(glpi.house, 5)
    reports = learned(tmp_path / "home", glpi, clock, passes=4, BRAIN_GLPI_INTERVAL="3m")
    assert [report.glpi is not None for report, _ in reports] == [True, False, False, True]
    assert reports[0][0].glpi["tickets"]["added"] == 5
    assert reports[0][0].embedded.changed
    assert reports[0][1] == 6
    assert glpi.sessions == {}


@pytest.mark.slow
def test_a_long_first_import_takes_several_passes(
    glpi: StandIn, tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("brain.passes._ITEMS_A_PASS", 4)
    sample(glpi.house, 10)
    reports = learned(tmp_path / "home", glpi, clock, passes=4)
    assert [nodes for _, nodes in reports] == [4, 8, 11, 11]
    assert reports[3][0].glpi is None


def test_a_glpi_that_fails_never_stops_the_files(glpi: StandIn, tmp_path: Path, clock: ManualClock) -> None:
    inbox = tmp_path / "home" / "inbox"
    inbox.mkdir(parents=True, mode=0o700)
    (inbox / "note.md").write_text("# Fan noise\n\nThe fan of the second server is loud; it was cleaned.\n")
    glpi.enabled = False
    clock.advance(10 * 366 * 86400)  # so that the file has lain there for a while
    ((report, nodes),) = learned(tmp_path / "home", glpi, clock)
    assert "API disabled" in report.glpi["error"]
    assert report.inbox.admitted == 1
    assert nodes == 1


@pytest.mark.slow
def test_what_the_loop_is_told_not_to_import(glpi: StandIn, tmp_path: Path, clock: ManualClock) -> None:
    sample(glpi.house, 5)
    ((report, nodes),) = learned(tmp_path / "home", glpi, clock, BRAIN_GLPI_IMPORT="none")
    assert (report.glpi, nodes, glpi.calls) == (None, 0, [])
    ((report, nodes),) = learned(tmp_path / "home", glpi, clock, BRAIN_GLPI_IMPORT="articles")
    assert nodes == 1


@pytest.mark.slow
def test_no_secret_in_the_log_the_store_or_the_output(
    glpi: StandIn, brain: Callable[..., Done], tmp_path: Path
) -> None:
    sample(glpi.house, 3)
    glpi.faults = [Fault("GET Ticket", "500", skip=1, times=1)]
    said = [brain("glpi", "import", "--json"), brain("glpi", "status"), brain("events")]
    said += [brain("glpi", "import", BRAIN_GLPI_APP_TOKEN="other-secret"), brain("doctor")]
    text = " ".join(done.out + done.err for done in said)
    stored = b"".join(path.read_bytes() for path in (tmp_path / "var").rglob("*") if path.is_file())
    for secret in (APP_TOKEN, USER_TOKEN, "other-secret"):
        assert secret not in text
        assert secret.encode() not in stored
