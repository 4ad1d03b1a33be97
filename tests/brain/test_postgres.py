"""The command line on PostgreSQL: the same commands, another address, and no word of its password."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from tests.brain.cli_tools import Brain
from tests.postgres import Cluster


def test_a_home_on_postgresql_from_its_first_file_to_its_backup(
    brain: Brain, cluster: Cluster, template: str, tmp_path: Path
) -> None:
    database, empty = cluster.create(), cluster.create()
    home, other = tmp_path / "home", tmp_path / "other"
    url = cluster.url(database).replace("postgres@", "postgres:hush@")
    here = {"BRAIN_DATABASE_URL": url, "BRAIN_HOME": str(home), "BRAIN_LEARNING": "false"}
    missing = brain("status", **here)
    assert missing.status == 1
    assert "holds no store of Neural Brain yet" in missing.sentence
    assert not home.exists(), "a command that only looks makes nothing"
    (tmp_path / "a.md").write_text(
        "# VPN Fehler 809\n\nDie Firewall blockiert UDP 500. Prüfung nötig.\n", encoding="utf-8"
    )
    assert brain("ingest", "a.md", **here).status == 0
    assert brain("queue", "add", "VPN error 809 on Windows", **here).status == 0
    status = brain("status", "--json", **here).document
    assert status["learning"]["nodes_by_kind"] == {"document": 1}
    assert status["autonomous_research"]["queue"]["queued"] == 1
    assert brain("search", "pruefung 809", "--json", **here).document[0]["label"] == "VPN Fehler 809"
    doctor = brain("doctor", "--json", **here)
    stores = [check for check in doctor.document["checks"] if check["subject"] == "store"]
    assert [check["verdict"] for check in stores] == ["well", "note", "note"], "the cluster of the tests has no fsync"
    assert "hush" not in doctor.out + doctor.err

    archive = tmp_path / "b.tar"
    assert brain("backup", archive, **here).status == 0
    with tarfile.open(archive) as packed:
        assert packed.getnames()[0] == "brain.dump"
    assert b"hush" not in archive.read_bytes()
    no_address = brain("restore", archive, BRAIN_HOME=str(other))
    assert (no_address.status, "name an empty database" in no_address.sentence) == (2, True)
    full = brain("restore", archive, **{**here, "BRAIN_HOME": str(other)})
    assert (full.status, "holds tables already" in full.sentence) == (1, True)
    there = {**here, "BRAIN_DATABASE_URL": cluster.url(empty), "BRAIN_HOME": str(other)}
    assert brain("restore", archive, **there).status == 0
    assert brain("status", "--json", **there).document["autonomous_research"]["queue"]["queued"] == 1
    assert brain("doctor", **there).status == 0, "the evidence folder came with its mark"
    for name in (database, empty):
        cluster.drop(name)


@pytest.mark.parametrize(
    "url", ["postgresql://u:hush@", "postgresql+asyncpg://u:hush@h/db", "mysql://u:hush@h/db", "x"]
)
def test_an_address_that_cannot_be_is_refused_without_showing_it(brain: Brain, url: str) -> None:
    refused = brain("status", BRAIN_DATABASE_URL=url)
    assert refused.status == 2
    assert refused.sentence.startswith(
        "BRAIN_DATABASE_URL (environment) is set to something else (hidden); expected is"
    )
    assert "hush" not in refused.err
