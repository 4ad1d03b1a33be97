"""The real process, stopped and killed in the middle of an import, and between GLPI's adding an item and its link."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from articles.publish import Publisher
from data.evidence import EvidenceFiles
from data.nodes import count_by_kind
from data.store import Store
from tests.articles.corpus import KERBEROS
from tests.articles.runs import run
from tests.glpi.standin import APP_TOKEN, USER_TOKEN, Fault, StandIn

ROOT = Path(__file__).parents[2]


def started(home: Path, glpi: StandIn, *arguments: str) -> subprocess.Popen[str]:
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("BRAIN_")},
        "PYTHONPATH": str(ROOT),
        "BRAIN_HOME": str(home),
        "BRAIN_GLPI_URL": glpi.url,
        "BRAIN_GLPI_APP_TOKEN": APP_TOKEN,
        "BRAIN_GLPI_USER_TOKEN": USER_TOKEN,
    }
    command = [sys.executable, "-c", "from brain.cli.main import main; main()", "glpi", *arguments]
    return subprocess.Popen(
        command, cwd=home.parent, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


@pytest.mark.slow
@pytest.mark.sqlite_only
async def test_killed_between_the_item_and_its_link(glpi: StandIn, store: Store, tmp_path: Path) -> None:
    result = await run(store, "Kerberos ticket-granting ticket", "en", KERBEROS)
    assert result.article_id is not None
    publisher = Publisher(store, EvidenceFiles(store.home))
    assert (await publisher.approve(result.article_id, 1, "person:eva")).ok
    home = tmp_path / "other" / "home"
    shutil.copytree(store.home, home)
    first = started(home, glpi, "export")
    glpi.faults = [Fault("POST KnowbaseItem", "done_then_drop", then=lambda: os.kill(first.pid, signal.SIGKILL))]
    first.communicate()
    assert first.returncode == -signal.SIGKILL
    assert len(glpi.house.tables["KnowbaseItem"]) == 1
    second = started(home, glpi, "export")
    said, _ = second.communicate()
    assert second.returncode == 0, said
    assert "1 unchanged, 1 now published" in said
    assert len(glpi.house.tables["KnowbaseItem"]) == 1


@pytest.mark.slow
@pytest.mark.sqlite_only
@pytest.mark.parametrize(("sent", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
async def test_an_import_that_is_ended_is_continued(
    glpi: StandIn, store: Store, sent: signal.Signals, status: int
) -> None:
    for number in range(60):
        glpi.house.ticket(name=f"Ticket about {number}", content="<p>Some text.</p>")
    first = started(store.home, glpi, "import", "--tickets")
    glpi.faults = [Fault("GET Ticket/31/", lambda: (os.kill(first.pid, sent), time.sleep(0.5)))]
    said, _ = first.communicate()
    assert first.returncode == status, said
    kept = sum((await store.read(count_by_kind)).values())
    assert 20 <= kept < 60
    if sent != signal.SIGKILL:
        assert glpi.sessions == {}, "the session was closed all the same"
        assert "what was done stays" in said
    glpi.faults = []
    asked = glpi.called("ITILSolution")
    second = started(store.home, glpi, "import", "--tickets", "--json")
    said, _ = second.communicate()
    assert second.returncode == 0, said
    assert sum((await store.read(count_by_kind)).values()) == 60
    assert glpi.called("ITILSolution") - asked == 60 - kept, "nothing was read twice"
