"""Every command once, with real parts: what it prints, as text and as JSON, and how it ends."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.brain.cli_tools import Brain, Done

READING: list[tuple[list[str], str]] = [
    (["status"], "thinking"),
    (["events", "--limit", "5"], "  "),
    (["events", "--name", "think.relation"], "think.relation."),
    (["journal", "--limit", "5"], "verified"),
    (["opportunities"], "gaps"),
    (["queue", "list", "--all"], "today's budget"),
    (["pairs", "list"], "brain pairs show"),
    (["articles", "list"], "revision 1"),
    (["search", "ORA-12154"], "ORA-12154"),
]


def rows(home: Path, query: str, *values: object) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(f"{(home / 'brain.db').as_uri()}?mode=ro", uri=True)) as connection:
        return connection.execute(query, values).fetchall()


def staged(home: Path) -> str:
    return str(rows(home, "SELECT id FROM article WHERE state = 'staged' ORDER BY id LIMIT 1")[0][0])


def queued(home: Path) -> str:
    return str(rows(home, "SELECT id FROM research_task WHERE state = 'queued' ORDER BY id LIMIT 1")[0][0])


def well(done: Done) -> Done:
    assert done.status == 0, done
    assert "Traceback" not in done.err
    return done


@pytest.mark.parametrize(("command", "word"), READING, ids=lambda value: " ".join(value[:2]))
def test_commands_that_look(brain: Brain, worked_home: Path, command: list[str], word: str) -> None:
    text = well(brain(*command, "--home", worked_home))
    assert word in text.out
    assert text.err == ""
    assert well(brain(*command, "--json", "--home", worked_home)).document


def test_status_counts_what_stands_in_the_store(brain: Brain, worked_home: Path) -> None:
    document = well(brain("status", "--json", "--home", worked_home)).document
    [[relations]] = rows(worked_home, "SELECT count(*) FROM edge WHERE kind = 'relation' AND active = 1")
    [[completed]] = rows(worked_home, "SELECT count(*) FROM research_task WHERE state = 'completed'")
    assert relations > 0 and completed > 0
    assert document["thinking"]["relations"] == relations
    assert document["autonomous_research"]["completed_total"] == completed
    assert document["learning"]["stale"] == 0
    assert document["mutex"]["holder"] is None


def test_search_finds_by_words_by_meaning_and_by_name(brain: Brain, worked_home: Path) -> None:
    first = well(brain("search", "ORA-12154", "--json", "--limit", "3", "--home", worked_home)).document
    assert len(first) == 3
    assert "ORA-12154" in first[0]["label"]
    assert first[0]["text_rank"] is not None and first[0]["similarity"] > 0.3
    named = well(brain("search", first[0]["id"], "--json", "--home", worked_home)).document
    assert [node["id"] for node in named] == [first[0]["id"]]
    assert well(brain("search", "qqqqzzzz wwwwvvvv", "--json", "--home", worked_home)).document == []
    assert "try other words" in well(brain("search", "qqqqzzzz wwwwvvvv", "--home", worked_home)).out


def test_pairs_show_says_what_was_sent_and_where_each_hit_fell(brain: Brain, worked_home: Path) -> None:
    pairs = well(brain("pairs", "list", "--json", "--limit", "100", "--home", worked_home)).document
    sent = {
        (row["source"]["id"], row["target"]["id"])
        for row in pairs
        if row["reason"] in {"accepted", "no_accepted_evidence"}
    }
    shown = [well(brain("pairs", "show", *pair, "--json", "--home", worked_home)).document for pair in sent]
    asked = next(document for document in shown if document["query"])
    assert asked["detail"]["hits"] and asked["detail"]["texts"]
    text = well(brain("pairs", "show", asked["source"]["id"], asked["target"]["id"], "--home", worked_home)).out
    assert asked["query"] in text
    assert asked["detail"]["hits"][0]["url"] in text
    only = well(brain("pairs", "list", "--reason", "accepted", "--json", "--home", worked_home)).document
    assert only and {row["reason"] for row in only} == {"accepted"}


def test_an_article_is_shown_with_the_span_under_every_sentence(brain: Brain, worked_home: Path) -> None:
    article = staged(worked_home)
    document = well(brain("articles", "show", article, "--json", "--home", worked_home)).document
    assert document["revision"] == 1 and document["statements"]
    [[markdown]] = rows(worked_home, "SELECT markdown FROM article_revision WHERE article_id = ?", article)
    assert document["markdown"] == markdown
    assert markdown.strip() in well(brain("articles", "show", article, "--home", worked_home)).out
    with_spans = well(brain("articles", "show", article, "--evidence", "--home", worked_home)).out
    cited = [cited for statement in document["statements"] for cited in statement["citations"]]
    assert cited and all(citation["url"] in with_spans for citation in cited)


def test_an_article_goes_from_staged_over_approved_to_the_export_and_back(
    brain: Brain, own_home: Path, tmp_path: Path
) -> None:
    home, article, book = ("--home", own_home), staged(own_home), tmp_path / "book"
    before = well(brain("articles", "export", book, *home))
    assert "No article is approved yet" in before.out
    refused = brain("articles", "approve", article, "--revision", "2", "--as", "Mira", *home)
    assert refused.status == 3
    assert f"{article} has no revision 2, its latest is 1" in refused.sentence
    approved = brain("articles", "approve", article, "--revision", "1", "--as", "Mira", "--json", *home)
    assert well(approved).document == {"article": article, "outcome": "approved", "verified": True}
    exported = well(brain("articles", "export", book, "--json", *home)).document
    assert len(exported["written"]) == 1
    [page] = book.glob("**/*.md")
    assert article[-8:].lower() in page.stem and "## Sources" in page.read_text(encoding="utf-8")
    [listed] = well(brain("articles", "list", "--state", "published", "--json", *home)).document
    assert listed["id"] == article
    assert well(brain("articles", "export", book, "--json", *home)).document["unchanged"]
    well(brain("articles", "retire", article, "--as", "Mira", "--reason", "outdated", *home))
    assert well(brain("articles", "export", book, "--json", *home)).document["removed"]
    well(brain("articles", "reactivate", article, "--as", "Mira", *home))
    rejected = brain("articles", "reject", article, "--as", "Mira", "--reason", "name the version", *home)
    assert "rejected" in well(rejected).out
    again = brain("articles", "reject", article, "--as", "Mira", "--reason", "again", *home)
    assert again.status == 3
    actors = rows(own_home, "SELECT DISTINCT actor FROM journal WHERE target LIKE '%' || ? || '%'", article)
    assert ("person:Mira",) in actors


def test_the_queue_is_added_to_shown_cancelled_and_merged(
    brain: Brain, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = ("--home", own_home)
    later = well(brain("queue", "add", "Quota of the roaming profiles", "--json", *home)).document
    assert later["outcome"] == "deferred" and later["task"]["not_before"]  # today's budget is used up
    assert "waits until" in well(brain("queue", "add", "Signature of the driver packages", *home)).out
    monkeypatch.setenv("BRAIN_AUTONOMOUS_RESEARCH_MAX_TASKS_PER_DAY", "30")
    topic = "GRUB rescue prompt after enlarging a partition"
    added = well(
        brain("queue", "add", topic, "-q", "How is GRUB installed anew?", "--priority", "90", "--json", *home)
    ).document
    task = added["task"]["id"]
    assert (added["outcome"], added["task"]["topic"], added["task"]["priority"]) == ("created", topic, 90)
    twin = well(brain("queue", "add", topic.upper(), "--json", *home)).document
    assert (twin["outcome"], twin["task"]["id"]) == ("merged", task)
    assert "GRUB rescue" in well(brain("queue", "show", task, *home)).out
    assert well(brain("queue", "show", task, "--json", *home)).document["state"] == "queued"
    assert "merged into" in well(brain("queue", "consolidate", *home)).out
    assert topic in well(brain("queue", "cancel", task, *home)).out
    assert brain("queue", "cancel", task, *home).status == 3
    retried = brain("queue", "retry", task, *home)
    assert retried.status == 3
    assert "only a failed task" in retried.sentence
    assert rows(own_home, "SELECT state FROM research_task WHERE id = ?", task) == [("cancelled",)]


def test_one_pass_of_each_loop_by_hand(brain: Brain, own_home: Path) -> None:
    home = ("--home", own_home)
    note = own_home / "inbox" / "chrony.md"
    note.write_text("# Chrony drift\n\nA clock that drifts is set with chronyc makestep.\n", encoding="utf-8")
    for _ in range(2):  # the first look only notes the file: it may not be finished
        learned = well(brain("learn", "--json", *home))
    assert "Chrony drift" in str(rows(own_home, "SELECT label FROM node WHERE source_uri LIKE '%chrony.md%'"))
    assert learned.document["embedded"]["embedded"] >= 1
    assert (own_home / "inbox" / "done").is_dir()
    thought = well(brain("think", "--limit", "2", "--json", *home)).document
    assert thought["thought"] == 2 == sum(thought["by_reason"].values())
    scanned = well(brain("scan", "--limit", "1", "--json", *home)).document
    assert scanned["candidates"] > 0
    before = rows(own_home, "SELECT count(*) FROM research_task WHERE state = 'completed'")[0][0]
    worked = well(brain("work", "--limit", "1", "--json", *home)).document
    after = rows(own_home, "SELECT count(*) FROM research_task WHERE state = 'completed'")[0][0]
    assert worked["completed"] == after - before == 1
    for command in (["learn"], ["think", "--limit", "1"], ["scan"]):
        assert well(brain(*command, *home)).out.strip()


def test_a_named_pair_is_thought_about_at_once(brain: Brain, own_home: Path) -> None:
    first, second = (
        row[0] for row in rows(own_home, "SELECT id FROM node WHERE kind = 'ticket' AND active = 1 LIMIT 2")
    )
    done = well(brain("think", "--pair", first, second, "--json", "--home", own_home)).document
    assert {done["source_id"], done["target_id"]} == {first, second}
    assert rows(
        own_home, "SELECT reason FROM pair_decision WHERE ? IN (source_id, target_id) AND ? IN (source_id, target_id)",
        first, second,
    ) == [(done["reason"],)]  # fmt: skip
    assert "brain pairs show" in well(brain("think", "--pair", first, second, "--home", own_home)).out
    same = brain("think", "--pair", first, first, "--home", own_home)
    assert (same.status, same.sentence) == (2, "A pair needs two different nodes.")


@pytest.mark.parametrize("what", ["vectors", "edges", "layout", "all"])
def test_rebuilds(brain: Brain, own_home: Path, what: str) -> None:
    counted = "SELECT (SELECT count(*) FROM embedding), (SELECT count(*) FROM edge WHERE kind = 'vector' AND active)"
    before = rows(own_home, counted)
    done = well(brain("rebuild", what, "--json", "--home", own_home)).document
    assert set(done) == {"vectors": {"vectors", "edges"}, "all": {"vectors", "edges", "layout"}}.get(what, {what})
    assert rows(own_home, counted) == before


def test_ingest_takes_what_it_can_and_says_why_not_the_rest(brain: Brain, tmp_path: Path) -> None:
    files = tmp_path / "files"
    files.mkdir()
    (files / "good.md").write_text("# Spooler hangs\n\nThe spooler hangs when the queue is full.\n", encoding="utf-8")
    (files / "nul.txt").write_bytes(b"a text with \0\0\0 in \0 it \0\0\0\0\0")
    (files / "picture.md").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    (files / "tool.exe").write_bytes(b"MZ" + bytes(100))
    done = brain("ingest", files / "good.md", files / "nul.txt", files / "picture.md", files / "tool.exe", "--json")
    assert done.status == 3
    said = {Path(file["name"]).name: (file["status"], file["reason"]) for file in done.document["files"]}
    assert said["good.md"][0] == "admitted"
    assert {name: status for name, (status, _) in said.items() if name != "good.md"} == {
        "nul.txt": "refused", "picture.md": "refused", "tool.exe": "refused",
    }  # fmt: skip
    assert "3 of 4 files" in done.sentence
    again = brain("ingest", files / "good.md")
    assert "1 known already" in well(again).out


def test_backup_restore_and_doctor(brain: Brain, worked_home: Path, tmp_path: Path) -> None:
    file, home = tmp_path / "b.tar", tmp_path / "restored"
    made = well(brain("backup", file, "--json", "--home", worked_home)).document
    assert made["files"] > 10 and Path(made["file"]) == file
    assert "Restored" in well(brain("restore", file, "--home", home)).out
    count = "SELECT count(*) FROM node"
    assert rows(home, count) == rows(worked_home, count)
    report = well(brain("doctor", "--json", "--home", home))
    assert {check["verdict"] for check in report.document["checks"]} <= {"well", "note"}
    assert {origin["name"] for origin in report.document["settings"]} >= {"BRAIN_HOME", "BRAIN_API_TOKEN"}
    assert "BRAIN_HOME" in well(brain("doctor", "--home", home)).out


def test_doctor_names_evidence_that_was_altered_and_evidence_that_is_gone(brain: Brain, own_home: Path) -> None:
    texts = sorted((own_home / "evidence").rglob("*.zst"))
    texts[0].write_bytes(b"something else")
    texts[1].unlink()
    done = brain("doctor", "--json", "--home", own_home)
    assert done.status == 1
    [fault] = [check for check in done.document["checks"] if check["verdict"] == "fault"]
    assert fault["subject"] == "evidence"
    assert texts[0].name in fault["message"] and texts[1].name in fault["message"]
    assert "restore" in fault["todo"]


def test_a_rejection_does_not_hang_on_the_texts_being_whole(brain: Brain, own_home: Path) -> None:
    article = staged(own_home)
    shutil.rmtree(own_home / "evidence")
    shown = brain("articles", "show", article, "--home", own_home)
    assert shown.status == 1 and "restore a backup" in shown.sentence
    assert brain("articles", "approve", article, "--revision", "1", "--as", "M", "--home", own_home).status == 1
    well(brain("articles", "reject", article, "--reason", "its sources are lost", "--as", "M", "--home", own_home))


def test_a_database_elsewhere_is_used_by_every_command(brain: Brain, own_home: Path, tmp_path: Path) -> None:
    database = tmp_path / "elsewhere.db"
    (own_home / "brain.db").rename(database)
    env = {"BRAIN_DATABASE_URL": f"sqlite:///{database}"}
    assert well(brain("status", "--json", "--home", own_home, **env)).document["thinking"]["relations"] > 0
    assert well(brain("pairs", "list", "--json", "--home", own_home, **env)).document
    well(brain("backup", tmp_path / "b.tar", "--home", own_home, **env))
    assert brain("restore", tmp_path / "b.tar", "--home", tmp_path / "new", **env).status == 2
    well(brain("restore", tmp_path / "b.tar", "--home", tmp_path / "new"))
    assert well(brain("pairs", "list", "--json", "--home", tmp_path / "new")).document


def test_progress_goes_to_stderr(brain: Brain, own_home: Path) -> None:
    done = well(brain("think", "--limit", "1", "--json", "--home", own_home))
    assert done.document["thought"] == 1
    assert "think" in done.err.lower() or "pair" in done.err.lower()


def test_help_and_version(brain: Brain) -> None:
    text = well(brain("--help")).out
    commands = """demo run ingest learn think scan work rebuild status events queue pairs opportunities articles
        search journal doctor backup restore"""
    for command in commands.split():
        assert command in text
    assert well(brain("--version")).out.startswith("neural-brain ")
    assert brain("bogus").status == 2
    assert brain("status", "--bogus").status == 2
    assert json.loads(brain("status", "--json").out)["exit_status"] == 1
