"""Files go in whole, once, and each for itself; the watched folder loses nothing."""

from __future__ import annotations

import asyncio
import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from data import events
from data.clock import ManualClock
from data.extract import Document, ExtractionError, extract
from data.extractor import Extractor
from data.inbox import InboxPolicy, ingest, scan_inbox
from data.models import Node, NodeKind
from data.nodes import list_nodes
from data.store import Store
from tests.data.crudtools import event_names, rows, sql
from tests.data.inboxtools import docx_bytes, pdf_bytes

SENTENCE = "The queue manager picks the next message and hands it to a delivery agent. "
PROSE = "\n\n".join([(SENTENCE * 5).strip()] * 6)


class InProcess(Extractor):
    """The same extraction without its process: these tests are about files, not about killing readers."""

    async def extract(self, data: bytes, *, content_type: str, url: str) -> Document:
        return extract(data, content_type=content_type, url=url)


@pytest.fixture
def extractor() -> Extractor:
    return InProcess()


async def active(store: Store) -> dict[str, Node]:
    """Return the active nodes by `source_uri`."""
    return {found.source_uri: found for found in await store.read(list_nodes, limit=10_000)}


def manual(*chapters: str) -> str:
    return "# Mail manual\n\n" + PROSE + "".join(f"\n\n## {name}\n\n{PROSE}" for name in chapters) + "\n"


async def test_every_format_goes_in_through_the_real_extractor(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.md").write_text(manual("Start", "Stop"), encoding="utf-8")
    (folder / "b.txt").write_bytes("Notiz: Der Drucker im Lager braucht einen neuen Toner.".encode("cp1252"))
    head = "<html lang=en><head><title>Page</title><script>evil()</script></head>"
    page = f"{head}<body><h1>Page</h1><p>{SENTENCE * 6}</p></body></html>"
    (folder / "c.html").write_text(page, encoding="utf-8")
    (folder / "d.pdf").write_bytes(pdf_bytes(["The printer queue is stuck", "Restart the print spooler service."]))
    (folder / "e.docx").write_bytes(docx_bytes("Restore", ["# Restore a mailbox", SENTENCE * 3]))
    (folder / "f.csv").write_text(
        "Nummer;Titel;Beschreibung\n1;Login geht nicht;Kennwort abgelaufen\n", encoding="utf-8"
    )
    (folder / "g.json").write_text('[{"id": 2, "title": "VPN drops", "description": "every hour"}]', encoding="utf-8")
    (folder / "sub" / "h.jsonl").write_text('{"key": "x", "kind": "note", "label": "One note"}\n', encoding="utf-8")
    (folder / ".hidden.md").write_text("hidden", encoding="utf-8")
    (folder / "old.md.reason.json").write_text("{}", encoding="utf-8")
    async with Extractor() as real:
        report = await ingest(store, real, [folder])
    assert [(file.name, file.status, file.reason) for file in report.files] == [
        (name, "admitted", "")
        for name in ["a.md", "b.txt", "c.html", "d.pdf", "e.docx", "f.csv", "g.json", "sub/h.jsonl"]
    ]
    found = await active(store)
    assert report.created == report.nodes == len(found) == 10
    assert found["file:docs/a.md#start"].kind is NodeKind.SECTION
    assert found["file:docs/b.txt"].language == "de"
    assert "evil" not in found["file:docs/c.html"].body
    assert "Restart the print spooler service." in found["file:docs/d.pdf"].body
    assert found["file:docs/e.docx"].label == "Restore a mailbox"
    assert found["ticket:f:1"].body == "Kennwort abgelaufen"
    assert found["ticket:g:2"].kind is NodeKind.TICKET
    assert found["h:x"].label == "One note"
    assert (await event_names(store)).count("inbox.admitted") == 8
    assert (folder / "a.md").exists(), "files stay where they are"


async def test_known_content_writes_nothing(store: Store, extractor: Extractor, tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text(manual("Start"), encoding="utf-8")
    (tmp_path / "copy.md").write_text(manual("Start"), encoding="utf-8")
    first = await ingest(store, extractor, [path])
    assert (first.admitted, first.created) == (1, 1)
    before = (rows(store, "journal"), rows(store, "event"), rows(store, "node"))
    again = await ingest(store, extractor, [path, tmp_path / "copy.md"])
    assert [file.status for file in again.files] == ["unchanged", "unchanged"]
    assert (rows(store, "journal"), rows(store, "event"), rows(store, "node")) == before


async def test_a_copy_in_the_same_run_is_taken_once(store: Store, extractor: Extractor, tmp_path: Path) -> None:
    for name in ("a.md", "b.md", "c.md"):
        (tmp_path / name).write_text("# Same\n\n" + PROSE, encoding="utf-8")
    report = await ingest(store, extractor, [tmp_path])
    assert [file.status for file in report.files if file.name.endswith(".md")] == ["admitted", "unchanged", "unchanged"]


async def test_what_is_no_document_is_passed_over_in_a_folder(
    store: Store, extractor: Extractor, tmp_path: Path
) -> None:
    folder = tmp_path / "manual"
    (folder / "images").mkdir(parents=True)
    (folder / "a.md").write_text("# Same\n\n" + PROSE, encoding="utf-8")
    for name in ("images/logo.png", "images/LOGO.SVG", "style.css", "Makefile", "pages.zip"):
        (folder / name).write_bytes(b"\0\1")
    report = await ingest(store, extractor, [folder])
    assert [(file.name, file.status, file.reason) for file in report.files] == [
        ("a.md", "admitted", ""),
        ("pages.zip", "refused", "archive"),
    ]
    assert sorted(report.skipped) == ["Makefile", "images/LOGO.SVG", "images/logo.png", "style.css"]
    named = await ingest(store, extractor, [folder / "style.css", folder])
    assert ("style.css", "extension") in [(file.name, file.reason) for file in named.files]
    assert "style.css" not in named.skipped


async def test_a_changed_file_updates_its_nodes(store: Store, extractor: Extractor, tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text(manual("Start", "Stop", "Trace"), encoding="utf-8")
    await ingest(store, extractor, [path])
    before = await active(store)
    uri = f"file:{tmp_path.name}/a.md"
    assert set(before) == {uri, f"{uri}#start", f"{uri}#stop", f"{uri}#trace"}
    path.write_text(manual("Start", "Stop").replace("delivery agent", "delivery program", 1), encoding="utf-8")
    report = await ingest(store, extractor, [path])
    after = await active(store)
    assert set(after) == {uri, f"{uri}#start", f"{uri}#stop"}, "a section that vanished is no longer active"
    assert after[uri].id == before[uri].id
    assert "delivery program" in after[uri].body
    assert after[f"{uri}#stop"].version == before[f"{uri}#stop"].version
    assert (report.files[0].status, report.files[0].updated) == ("admitted", 2)
    path.write_text(manual("Start", "Stop", "Trace"), encoding="utf-8")  # the first version comes back
    again = await ingest(store, extractor, [path])
    assert again.files[0].status == "admitted"
    restored = await active(store)
    assert {name: node.content_hash for name, node in restored.items()} == {
        n: x.content_hash for n, x in before.items()
    }
    assert {node.id for node in restored.values()} == {node.id for node in before.values()}


async def test_two_folders_of_one_name_do_not_share_nodes(store: Store, extractor: Extractor, tmp_path: Path) -> None:
    for parent, text in (("one", "The first page about mail."), ("two", "The second page about printing.")):
        folder = tmp_path / parent / "html"
        folder.mkdir(parents=True)
        (folder / "index.md").write_text(f"# Title {parent}\n\n{text}", encoding="utf-8")
    await ingest(store, extractor, [tmp_path / "one" / "html", tmp_path / "two" / "html"])
    found = await active(store)
    assert sorted(node.label for node in found.values()) == ["Title one", "Title two"]
    assert "file:html/index.md" in found
    (tmp_path / "two" / "html" / "index.md").write_text("# Title two\n\nChanged.", encoding="utf-8")
    await ingest(store, extractor, [tmp_path / "two" / "html"])
    assert {node.id for node in (await active(store)).values()} == {node.id for node in found.values()}
    (tmp_path / "one").rename(tmp_path / "moved")
    (tmp_path / "moved" / "html" / "index.md").write_text("# Title one\n\nMoved and changed.", encoding="utf-8")
    await ingest(store, extractor, [tmp_path / "moved" / "html"])
    assert {node.id for node in (await active(store)).values()} == {node.id for node in found.values()}


async def test_poison_stops_nobody(store: Store, tmp_path: Path) -> None:
    class Poisoned(InProcess):
        async def extract(self, data: bytes, *, content_type: str, url: str) -> Document:
            if b"POISON" in data:
                raise ExtractionError("crashed", "killed its reader (memory or a fault in the parser)")
            return await super().extract(data, content_type=content_type, url=url)

    (tmp_path / "a.md").write_text("# POISON\n\ntext", encoding="utf-8")
    (tmp_path / "b.md").write_bytes(b"x\0y" * 30)
    (tmp_path / "c.csv").write_text("foo;bar\n1;2\n3;4\n", encoding="utf-8")
    (tmp_path / "d.json").write_text("[" * 50_000, encoding="utf-8")
    (tmp_path / "e.html").write_text(
        "<ul>" + "<li><a href=x>Some chapter of it</a></li>" * 60 + "</ul>", encoding="utf-8"
    )
    (tmp_path / "f.md").write_text("# Only\n\n## Headings\n", encoding="utf-8")
    (tmp_path / "g.md").write_text("- [One](1.md)\n- [Two](2.md)\n- [Three](3.md)\n", encoding="utf-8")
    os.mkfifo(tmp_path / "h.md")
    (tmp_path / "i.jsonl").write_text('{"kind": "note", "label": ""}\n', encoding="utf-8")
    (tmp_path / "z.md").write_text("# Good\n\n" + PROSE, encoding="utf-8")
    report = await ingest(store, Poisoned(), [path for path in sorted(tmp_path.iterdir()) if path.name != "home"])
    assert [(file.name, file.reason) for file in report.files] == [
        ("a.md", "crashed"),
        ("b.md", "decoding"),
        ("c.csv", "no_valid_row"),
        ("d.json", "malformed"),
        ("e.html", "empty_extraction"),
        ("f.md", "no_content"),
        ("g.md", "navigation"),
        ("h.md", "not_a_file"),
        ("i.jsonl", "no_valid_row"),
        ("z.md", ""),
    ]
    assert (report.refused, report.admitted) == (9, 1)
    assert all(file.message and "\n" not in file.message for file in report.files)
    told = [event for event in await store.read(events.list_events, 0, 100) if event.name == "inbox.refused"]
    assert [event.payload["reason"] for event in told] == [file.reason for file in report.files[:9]]
    assert "--map" in report.files[2].message


async def test_an_absent_path_is_one_clear_sentence(store: Store, extractor: Extractor, tmp_path: Path) -> None:
    report = await ingest(store, extractor, [tmp_path / "nothing.md"])
    assert [(file.status, file.reason) for file in report.files] == [("refused", "missing")]


async def test_rows_that_fail_are_named_and_the_others_go_in(
    store: Store, extractor: Extractor, tmp_path: Path
) -> None:
    path = tmp_path / "t.csv"
    lines = [f"{number};{'' if number % 10 == 0 else f'Ticket {number}'};body" for number in range(1, 1_001)]
    path.write_text("id;title;description\n" + "\n".join(lines), encoding="utf-8")
    report = await ingest(store, extractor, [path], policy=InboxPolicy(batch_rows=300))
    (file,) = report.files
    assert (file.status, file.nodes, file.created, len(file.failed_rows)) == ("admitted", 900, 900, 100)
    assert file.failed_rows[:2] == ((10, "has no label"), (20, "has no label"))
    assert "100 rows failed" in file.message
    assert sql(store, "SELECT status, nodes FROM inbox_file") == [("admitted", 900)]
    assert (await event_names(store)).count("inbox.admitted") == 1
    assert (await ingest(store, extractor, [path])).files[0].status == "unchanged"
    path.write_text("id;title;description\n1;Ticket one;body\n2;Ticket 2;body\n", encoding="utf-8")
    (file,) = (await ingest(store, extractor, [path])).files
    assert (file.created, file.updated, file.unchanged) == (0, 1, 1)


async def test_a_mapping_takes_a_known_file_again(store: Store, extractor: Extractor, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("id;title;was\n1;Wrong;Right\n", encoding="utf-8")
    await ingest(store, extractor, [path])
    report = await ingest(store, extractor, [path], mapping={"was": "label"})
    assert (report.files[0].status, report.updated) == ("admitted", 1)
    assert [node.label for node in (await active(store)).values()] == ["Right"]


async def test_what_was_done_stays_when_cancelled(store: Store, tmp_path: Path) -> None:
    reached = asyncio.Event()

    class Stuck(InProcess):
        async def extract(self, data: bytes, *, content_type: str, url: str) -> Document:
            if b"STUCK" in data:
                reached.set()
                await asyncio.Event().wait()
            return await super().extract(data, content_type=content_type, url=url)

    folder = tmp_path / "docs"
    folder.mkdir()
    for number in range(4):
        (folder / f"{number}.md").write_text(
            f"# Page {number}\n\n{'STUCK' if number == 2 else ''} {PROSE}", encoding="utf-8"
        )
    done = asyncio.Event()

    def progress(phase: str, count: int, total: int | None) -> None:
        if count == 2:
            done.set()

    task = asyncio.create_task(ingest(store, Stuck(), [folder], progress=progress))
    await reached.wait()
    await done.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert sorted(node.label for node in (await active(store)).values()) == ["Page 0", "Page 1"]
    report = await ingest(store, InProcess(), [folder])
    assert [file.status for file in report.files] == ["unchanged", "unchanged", "admitted", "admitted"]


def inbox_of(store: Store) -> Path:
    inbox = store.home / "inbox"
    inbox.mkdir(exist_ok=True)
    return inbox


async def test_the_watched_folder_waits_until_a_file_is_finished(store: Store, extractor: Extractor) -> None:
    inbox = inbox_of(store)
    path = inbox / "a.md"
    path.write_text("# A\n\nunfin", encoding="utf-8")
    assert (await scan_inbox(store, extractor)).files == ()
    path.write_text("# A\n\nunfinished, it still grows", encoding="utf-8")
    assert (await scan_inbox(store, extractor)).files == ()
    report = await scan_inbox(store, extractor)
    assert [(file.name, file.status) for file in report.files] == [("a.md", "admitted")]
    assert not path.exists()
    assert (inbox / "done" / "a.md").read_text(encoding="utf-8").endswith("grows")
    assert set(await active(store)) == {"inbox:a.md"}
    assert (await scan_inbox(store, extractor)).files == ()


async def test_refused_files_keep_their_reason_and_nothing_is_overwritten(store: Store, extractor: Extractor) -> None:
    inbox = inbox_of(store)
    for turn in range(3):
        (inbox / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes([turn]) * 20)
        (inbox / "b.md").write_text(f"# B\n\nVersion {turn} of the text.", encoding="utf-8")
        await scan_inbox(store, extractor)
        await scan_inbox(store, extractor)
    assert sorted(path.name for path in inbox.iterdir()) == ["done", "refused"]
    assert sorted(path.name for path in (inbox / "refused").iterdir()) == sorted(
        f"a{number}.png{ending}" for number in ("", " (2)", " (3)") for ending in ("", ".reason.json")
    )
    contents = {(inbox / "done" / name).read_text(encoding="utf-8")[-19:] for name in ("b.md", "b (2).md", "b (3).md")}
    assert len(contents) == 3
    note = json.loads((inbox / "refused" / "a.png.reason.json").read_text(encoding="utf-8"))
    assert note == {
        "name": "a.png",
        "reason": "extension",
        "message": note["message"],
        "at": "2026-01-15T08:00:00.000000+00:00",
    }
    assert "a.png" in note["message"]
    assert (await active(store))["inbox:b.md"].body == "Version 2 of the text."


async def test_known_content_is_put_away_too(store: Store, extractor: Extractor) -> None:
    inbox = inbox_of(store)
    for _ in range(2):
        (inbox / "sub").mkdir(exist_ok=True)
        (inbox / "sub" / "a.md").write_text("# A\n\nSome text.", encoding="utf-8")
        await scan_inbox(store, extractor)
        report = await scan_inbox(store, extractor)
    assert report.files[0].status == "unchanged"
    assert sorted(path.name for path in (inbox / "done" / "sub").iterdir()) == ["a (2).md", "a.md"]


async def test_links_and_pipes_in_the_watched_folder_are_moved_not_followed(
    store: Store, extractor: Extractor, tmp_path: Path
) -> None:
    inbox = inbox_of(store)
    secret = tmp_path / "secret.md"
    secret.write_text("# Secret\n\nkept outside", encoding="utf-8")
    (inbox / "link.md").symlink_to(secret)
    (inbox / "folder").symlink_to(tmp_path)
    os.mkfifo(inbox / "pipe.md")
    await scan_inbox(store, extractor)
    report = await scan_inbox(store, extractor)
    assert {(file.name, file.reason) for file in report.files} == {
        ("link.md", "not_a_file"),
        ("folder", "not_a_file"),
        ("pipe.md", "not_a_file"),
    }
    assert (inbox / "refused" / "link.md").is_symlink()
    assert secret.exists()
    assert await active(store) == {}


async def test_the_limit_leaves_the_rest_for_the_next_pass(store: Store, extractor: Extractor) -> None:
    inbox = inbox_of(store)
    for number in range(3):
        (inbox / f"{number}.md").write_text(f"# Page {number}\n\nText {number}.", encoding="utf-8")
    await scan_inbox(store, extractor)
    assert [file.name for file in (await scan_inbox(store, extractor, limit=2)).files] == ["0.md", "1.md"]
    assert [file.name for file in (await scan_inbox(store, extractor, limit=2)).files] == ["2.md"]


async def test_a_file_exchanged_while_it_was_read_stays(store: Store) -> None:
    inbox = inbox_of(store)
    path = inbox / "a.md"
    path.write_text("# A\n\nfirst version", encoding="utf-8")

    class Exchanging(InProcess):
        async def extract(self, data: bytes, *, content_type: str, url: str) -> Document:
            path.write_text("# A\n\nsecond version, longer", encoding="utf-8")
            return await super().extract(data, content_type=content_type, url=url)

    await scan_inbox(store, InProcess())
    await scan_inbox(store, Exchanging())
    assert path.exists()
    await scan_inbox(store, InProcess())
    await scan_inbox(store, InProcess())
    assert not path.exists()
    assert (await active(store))["inbox:a.md"].body == "second version, longer"


async def test_a_file_that_has_lain_there_for_a_while_is_taken_at_the_first_look(
    store: Store, extractor: Extractor, clock: ManualClock
) -> None:
    (inbox_of(store) / "old.md").write_text("# Printing\n\n" + PROSE, encoding="utf-8")
    clock.jump(datetime.now(UTC) + timedelta(seconds=30))
    assert (await scan_inbox(store, extractor)).files == ()
    (inbox_of(store) / "other.md").write_text("# Scanning\n\n" + PROSE + " It scans, too.", encoding="utf-8")
    clock.jump(datetime.now(UTC) + timedelta(seconds=61))
    assert {file.name for file in (await scan_inbox(store, extractor)).files} == {"old.md", "other.md"}
