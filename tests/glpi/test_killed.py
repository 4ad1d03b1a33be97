"""The real process, killed between GLPI's adding an item and the store's knowing of it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from articles.publish import Publisher
from data.evidence import EvidenceFiles
from data.store import Store
from tests.articles.corpus import KERBEROS
from tests.articles.runs import run
from tests.glpi.standin import APP_TOKEN, USER_TOKEN, Fault, StandIn

ROOT = Path(__file__).parents[2]


def started(home: Path, glpi: StandIn) -> subprocess.Popen[str]:
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("BRAIN_")},
        "PYTHONPATH": str(ROOT),
        "BRAIN_HOME": str(home),
        "BRAIN_GLPI_URL": glpi.url,
        "BRAIN_GLPI_APP_TOKEN": APP_TOKEN,
        "BRAIN_GLPI_USER_TOKEN": USER_TOKEN,
    }
    command = [sys.executable, "-c", "from brain.cli.main import main; main()", "glpi", "export"]
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
    first = started(home, glpi)
    glpi.faults = [Fault("POST KnowbaseItem", "done_then_drop", then=lambda: os.kill(first.pid, signal.SIGKILL))]
    first.communicate()
    assert first.returncode == -signal.SIGKILL
    assert len(glpi.house.tables["KnowbaseItem"]) == 1
    second = started(home, glpi)
    said, _ = second.communicate()
    assert second.returncode == 0, said
    assert "1 unchanged, 1 now published" in said
    assert len(glpi.house.tables["KnowbaseItem"]) == 1
