"""Bad input: one clear sentence, the right exit status, and nothing is lost."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.brain.cli_tools import Brain, Done
from tests.brain.test_cli import rows, staged


def refused(done: Done, status: int, *words: str) -> None:
    """It ended so, with one sentence that holds the words, and no trace of how the program is built."""
    assert done.status == status, done
    assert "Traceback" not in done.err
    sentence = done.sentence
    assert sentence[-1] in ".?", sentence
    for word in words:
        assert word in sentence, sentence


@pytest.mark.parametrize("command", [
    ["status"], ["events"], ["journal"], ["opportunities"], ["queue", "list"], ["pairs", "list"], ["articles", "list"],
    ["search", "x"], ["backup", "b.tar"], ["queue", "consolidate"],
])  # fmt: skip
def test_a_command_that_looks_makes_no_store(brain: Brain, tmp_path: Path, command: list[str]) -> None:
    done = brain(*command, "--home", tmp_path / "none")
    refused(done, 2 if command[0] == "backup" else 1, "no store", str(tmp_path / "none"))
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(("command", "word"), [
    (["queue", "show", "t_none"], "t_none"),
    (["queue", "cancel", "t_none"], "t_none"),
    (["queue", "retry", "t_none"], "t_none"),
    (["articles", "show", "a_none"], "a_none"),
    (["articles", "approve", "a_none", "--revision", "1", "--as", "Mira"], "a_none"),
    (["articles", "reject", "a_none", "--reason", "r", "--as", "Mira"], "a_none"),
    (["articles", "retire", "a_none", "--as", "Mira"], "a_none"),
    (["articles", "list", "--state", "stagged"], "stagged"),
    (["pairs", "show", "n_none", "n_other"], "n_none"),
    (["pairs", "list", "--reason", "nonsense"], "nonsense"),
    (["think", "--pair", "n_none", "n_other"], "n_none"),
    (["queue", "add", " "], "empty"),
    (["search", " "], "empty"),
])  # fmt: skip
def test_what_is_not_there_is_named(brain: Brain, worked_home: Path, command: list[str], word: str) -> None:
    refused(brain(*command, "--home", worked_home), 2, word)


def test_a_pair_nobody_thought_about_says_what_to_do(brain: Brain, worked_home: Path) -> None:
    [first], [second] = rows(
        worked_home,
        "SELECT id FROM node WHERE kind <> 'evidence' AND id NOT IN "
        "(SELECT source_id FROM pair_decision UNION SELECT target_id FROM pair_decision) LIMIT 2",
    )
    refused(brain("pairs", "show", first, second, "--home", worked_home), 2, f"brain think --pair {first} {second}")


def test_approval_needs_a_person_and_the_revision_that_was_read(brain: Brain, own_home: Path) -> None:
    article = staged(own_home)
    refused(brain("articles", "approve", article, "--revision", "1", "--as", " ", "--home", own_home), 2, "--as")
    refused(brain("articles", "approve", article, "--revision", "7", "--as", "M", "--home", own_home), 3, "revision")
    refused(brain("articles", "reject", article, "--reason", " ", "--as", "M", "--home", own_home), 3, "reason")
    assert rows(own_home, "SELECT state, approved_revision FROM article WHERE id = ?", article) == [("staged", None)]


@pytest.mark.parametrize(("name", "value", "words"), [
    ("BRAIN_LEARNIG", "true", ("BRAIN_LEARNIG", "environment", "did you mean BRAIN_LEARNING?")),
    ("BRAIN_LEARNING", "on", ("BRAIN_LEARNING", "'on'", "true or false")),
    ("BRAIN_RESEARCH_LEASE", "soon", ("BRAIN_RESEARCH_LEASE", "'soon'", "10m")),
    ("BRAIN_API_PORT", "99999", ("BRAIN_API_PORT", "99999", "65535")),
    ("BRAIN_DATABASE_URL", "mysql://u:secret@db/b", ("BRAIN_DATABASE_URL", "postgresql")),
])  # fmt: skip
def test_a_setting_that_cannot_be_is_named(
    brain: Brain, tmp_path: Path, name: str, value: str, words: tuple[str]
) -> None:
    done = brain("queue", "add", "x", "--json", "--home", tmp_path / "home", **{name: value})
    refused(done, 2, *words)
    assert done.document == {"error": done.sentence, "exit_status": 2}
    assert "secret" not in done.out + done.err
    assert not (tmp_path / "home" / "brain.db").exists()


def test_a_configuration_file_that_cannot_be_used_is_named(brain: Brain, tmp_path: Path) -> None:
    refused(brain("status", "--config", tmp_path / "none.env"), 2, "none.env")
    refused(brain("status", "--config", tmp_path), 2, str(tmp_path))
    (tmp_path / "config.env").write_text("BRAIN_LEARNING=true\nBRAIN_THINKNG=false\n")  # in the working folder
    refused(brain("status"), 2, "BRAIN_THINKNG", "config.env", "BRAIN_THINKING")
    (tmp_path / "config.env").write_bytes(b"BRAIN_PRIVATE_TERMS=M\xfcller\n")
    refused(brain("status"), 2, "UTF-8")


@pytest.mark.parametrize("command", [["demo"], ["ingest", "file"], ["learn"], ["queue", "add", "x"], ["run"]])
def test_a_home_that_cannot_be_made(brain: Brain, tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "file").write_text("x")
    refused(brain(*command, "--home", tmp_path / "file" / "home"), 1, str(tmp_path / "file" / "home"), "BRAIN_HOME")
    refused(brain(*command, "--home", "/proc/home"), 1, "/proc/home", "BRAIN_HOME")
    refused(brain(*command, "--home", tmp_path / "file"), 1, str(tmp_path / "file"), "BRAIN_HOME")
    assert (tmp_path / "file").read_text() == "x"


COMMANDS = [["status"], ["events"], ["queue", "add", "x"], ["learn"], ["run"], ["doctor"], ["search", "x"]]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_damaged_database_is_named_and_left_alone(brain: Brain, tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "home").mkdir()
    database = tmp_path / "home" / "brain.db"
    database.write_bytes(b"this was never a database " * 400)
    before = database.read_bytes()
    refused(brain(*command, "--home", tmp_path / "home", BRAIN_API_PORT="0"), 1, str(database), "restore")
    assert database.read_bytes() == before


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_database_of_a_later_version_is_not_touched(
    brain: Brain, empty_database: Path, tmp_path: Path, command: list[str]
) -> None:
    (tmp_path / "home").mkdir()
    database = tmp_path / "home" / "brain.db"
    shutil.copy(empty_database, database)
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999_later'")
    refused(
        brain(*command, "--home", tmp_path / "home", BRAIN_API_PORT="0"), 1, "later version", "9999_later", "update"
    )
    assert rows(tmp_path / "home", "SELECT version_num FROM alembic_version") == [("9999_later",)]


def test_a_database_whose_middle_is_gone_is_named_by_doctor(brain: Brain, own_home: Path) -> None:
    database = own_home / "brain.db"
    with database.open("r+b") as file:
        size = database.stat().st_size
        file.seek(size // 3)
        file.write(os.urandom(size // 3))
    done = brain("doctor", "--json", "--home", own_home)
    assert done.status == 1
    assert "damaged" in done.out
    assert "Traceback" not in done.err


@pytest.mark.parametrize("command", [["think", "--limit", "1"], ["work", "--limit", "1"]], ids=" ".join)
def test_work_on_an_empty_store_ends_well(brain: Brain, tmp_path: Path, command: list[str]) -> None:
    done = brain(*command, "--json", "--home", tmp_path / "home")
    assert done.status == 0
    assert sum(value for value in done.document.values() if isinstance(value, int)) == 0


@pytest.mark.parametrize(("settings", "word"), [
    ({"BRAIN_API_HOST": "0.0.0.0"}, "BRAIN_API_TOKEN"),
    ({"BRAIN_API_TOKEN": "short"}, "16 characters"),
    ({"BRAIN_SEARCH_BACKENDS": "searxng"}, "BRAIN_SEARXNG_URL"),
    ({"BRAIN_SEARCH_BACKENDS": "gogle"}, "gogle"),
    ({"BRAIN_SEARCH_BACKENDS": "searxng", "BRAIN_SEARXNG_URL": "ftp://x"}, "BRAIN_SEARXNG_URL"),
    ({"BRAIN_FETCH_ALLOW_HOSTS": "http://x/y"}, "BRAIN_FETCH_ALLOW_HOSTS"),
    ({"BRAIN_SOURCE_TABLE": "/nowhere/t.toml"}, "BRAIN_SOURCE_TABLE"),
])  # fmt: skip
def test_the_daemon_refuses_settings_that_do_not_fit_together(
    brain: Brain, tmp_path: Path, settings: dict[str, str], word: str
) -> None:
    refused(brain("run", "--home", tmp_path / "home", BRAIN_API_PORT="0", **settings), 2, word)


@pytest.mark.parametrize("value", ["/nowhere/model", "no-such-org/no-such-model"])
def test_an_embedding_model_that_is_not_there(
    brain: Brain, own_home: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    from vector.embed import SentenceTransformerEmbedder

    monkeypatch.setattr("brain.embedding.SentenceTransformerEmbedder", SentenceTransformerEmbedder)
    if value.startswith("/"):
        Path(own_home / "model").mkdir()
        value = str(own_home / "model")
        refused(brain("search", "x", "--home", own_home, BRAIN_EMBED_MODEL=value), 1, "BRAIN_EMBED_MODEL", value)
        refused(brain("learn", "--home", own_home, BRAIN_EMBED_MODEL=value), 1, "BRAIN_EMBED_MODEL", value)


def test_ingest_of_nothing(brain: Brain, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    refused(brain("ingest", tmp_path / "empty"), 2, "No file")
    refused(brain("ingest", tmp_path / "missing.md"), 3, "1 of 1")
    refused(brain("ingest", "x.csv", "--map", "Betreff"), 2, "--map")


def test_ingest_stops_no_pipe_no_huge_file_and_no_folder_called_like_a_file(brain: Brain, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    with (tmp_path / "huge.txt").open("wb") as file:
        file.truncate(200 * 2**20)
    (tmp_path / "latin.txt").write_bytes("Der Drucker zieht kein Papier ein, Fächer prüfen.\n".encode("latin-1"))
    done = brain("ingest", tmp_path / "pipe.md", tmp_path / "huge.txt", tmp_path / "latin.txt", "--json")
    assert done.status == 3
    said = {file["name"].rpartition("/")[2]: file for file in done.document["files"]}
    assert (said["pipe.md"]["reason"], said["huge.txt"]["reason"]) == ("not_a_file", "too_large")
    assert "200.0 MiB" in said["huge.txt"]["message"] and "BRAIN_INBOX_MAX_BYTES" in said["huge.txt"]["message"]
    assert said["latin.txt"]["status"] == "admitted"
    assert rows(tmp_path / "var", "SELECT count(*) FROM node") == [(1,)]
    assert (tmp_path / "huge.txt").stat().st_size == 200 * 2**20


def test_a_backup_that_cannot_be_written_or_read(brain: Brain, worked_home: Path, tmp_path: Path) -> None:
    refused(brain("backup", tmp_path / "no" / "b.tar", "--home", worked_home), 1, str(tmp_path / "no" / "b.tar"))
    (tmp_path / "b.tar").write_bytes(b"x")
    refused(brain("backup", tmp_path / "b.tar", "--home", worked_home), 2, "exists already")
    refused(brain("restore", tmp_path / "b.tar", "--home", tmp_path / "new"), 3, "b.tar")
    refused(brain("restore", tmp_path / "none.tar", "--home", tmp_path / "new"), 2, "none.tar")
    refused(brain("restore", tmp_path / "b.tar", "--home", worked_home), 2, "holds a store already")
    assert (tmp_path / "b.tar").read_bytes() == b"x"


def test_an_export_onto_a_file(brain: Brain, own_home: Path, tmp_path: Path) -> None:
    article = staged(own_home)
    assert brain("articles", "approve", article, "--revision", "1", "--as", "M", "--home", own_home).status == 0
    (tmp_path / "book").write_text("x")
    done = brain("articles", "export", tmp_path / "book", "--json", "--home", own_home)
    refused(done, 1, str(tmp_path / "book"))
    assert json.loads(done.out)["exit_status"] == 1


@pytest.mark.parametrize(("topic", "word"), [("???", "letters or digits"), ("\u200b\u200b", "letters or digits"),
                                             ("offline " * 60, "400 are the most")])  # fmt: skip
def test_a_topic_that_is_none_is_wrong_usage(brain: Brain, own_home: Path, topic: str, word: str) -> None:
    refused(brain("queue", "add", topic, "--home", own_home), 2, word)


def test_a_task_is_named_by_the_beginning_of_its_id(brain: Brain, own_home: Path) -> None:
    home = ("--home", own_home)
    one, other = [
        brain("queue", "add", topic, "--json", *home).document["task"]["id"]
        for topic in ("Quota of the roaming profiles", "Fax gateway rejects international numbers")
    ]
    length = next(place for place in range(4, len(one)) if one[:place] != other[:place])
    shown = brain("queue", "show", one[:length].lower(), "--json", *home)
    assert (shown.status, shown.document["id"]) == (0, one)
    refused(brain("queue", "show", one[:4], *home), 2, "give more of the id")
    refused(brain("queue", "show", one[:2], *home), 2, "no task")
    refused(brain("queue", "show", "%%%%%%", *home), 2, "no task")
    refused(brain("queue", "retry", one, *home), 3, "only a failed task")
    assert brain("queue", "cancel", one, *home).status == 0
    again = brain("queue", "cancel", one, *home)
    refused(again, 3, "is cancelled already")
    assert one in again.sentence


def test_a_terminals_colours_are_no_part_of_a_topic(brain: Brain, own_home: Path) -> None:
    added = brain("queue", "add", "\x1b[31mQuota\x1b[0m of\x07 the\troaming profiles", "--json", "--home", own_home)
    assert added.document["task"]["topic"] == "Quota of the roaming profiles"
