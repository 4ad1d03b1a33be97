"""The inbox on real files: gates, ingest, the watched folder."""

from __future__ import annotations

import io
import json
import os
import socket
import sqlite3
import zipfile
from datetime import timedelta
from pathlib import Path

import docx
import pytest

from data import edges, events, nodes
from data.admission import InboxPolicy, InboxRefusal, admit
from data.clock import ManualClock
from data.crud.ingest import NodeDraft
from data.extractor import Extractor, InlineExtractor
from data.inbox import inbox_files, ingest, scan_inbox
from data.models import EdgeKind, NodeKind
from data.store import Store

POLICY = InboxPolicy()


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def zip_file(**members: str) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return target.getvalue()


@pytest.fixture
def reader() -> InlineExtractor:
    return InlineExtractor()


REFUSED = [
    ("empty.txt", b"", "empty"),
    ("blank.txt", b" \n\t\n", "empty"),
    ("picture.txt", b"\x89PNG\r\n\x1a\n" + b"x" * 50, "type_mismatch"),
    ("archive.txt", zip_file(a="text"), "archive"),
    ("logs.md", b"\x1f\x8b\x08" + b"\x00" * 20, "archive"),
    ("backup.zip", zip_file(a="text"), "archive"),
    ("report.docx", zip_file(a="text"), "archive"),
    ("report.docx", b"no zip at all", "type_mismatch"),
    ("macro.docx", zip_file(**{"word/document.xml": "x", "word/vbaProject.bin": "x"}), "active_content"),
    ("letter.docm", b"PK", "active_content"),
    ("tool.exe", b"MZ", "active_content"),
    ("paper.pdf", b"plain words", "type_mismatch"),
    ("page.txt", b"<!DOCTYPE html><html><body>words</body></html>", "type_mismatch"),
    ("note.txt", b"%PDF-1.4\n", "type_mismatch"),
    ("page.html", b"only words, no tags", "type_mismatch"),
    ("nul.txt", b"words\x00more words", "undecodable"),
    ("data.json", b"words", "type_mismatch"),
    ("data.json", b'{"a": ', "no_records"),
    ("data.json", b"[1, 2]", "no_records"),
    ("data.csv", b"just one column\nvalue\n", "no_records"),
    ("photo.jpg", b"\xff\xd8\xff", "unsupported_type"),
    ("no_ending", b"words", "unsupported_type"),
    ("script.html", b"<html><script>alert(1)</script></html>", "no_content"),
]


@pytest.mark.parametrize(("name", "content", "reason"), REFUSED, ids=[f"{n}-{r}" for n, _, r in REFUSED])
async def test_each_gate_refuses_with_one_sentence(
    store: Store, tmp_path: Path, reader: InlineExtractor, name: str, content: bytes, reason: str
) -> None:
    report = await ingest(store, [write(tmp_path / name, content)], extractor=reader)
    (file,) = report.files
    assert (file.status, file.reason) == ("refused", reason)
    assert file.message.startswith(name)
    assert "\n" not in file.message
    assert await store.read(nodes.list_nodes) == []
    (logged,) = await store.read(events.list_events, name_prefix="inbox.")
    assert logged.payload["reason"] == reason


def test_a_link_a_pipe_a_folder_and_a_device_are_refused_without_waiting(tmp_path: Path) -> None:
    target = write(tmp_path / "real.txt", "words")
    (tmp_path / "link.txt").symlink_to(target)
    os.mkfifo(tmp_path / "pipe.txt")
    (tmp_path / "folder.txt").mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s.txt"))
        for name in ("link.txt", "pipe.txt", "folder.txt", "s.txt"):
            with pytest.raises(InboxRefusal) as caught:
                admit(tmp_path / name, POLICY)
            assert caught.value.reason == "not_a_regular_file"
    with pytest.raises(InboxRefusal) as caught:
        admit(Path("/dev/zero"), POLICY)
    assert caught.value.reason == "not_a_regular_file"


def test_a_file_that_is_not_there_or_not_readable(tmp_path: Path) -> None:
    with pytest.raises(InboxRefusal, match=r"missing\.txt cannot be read: no such file"):
        admit(tmp_path / "missing.txt", POLICY)
    secret = write(tmp_path / "secret.txt", "words")
    secret.chmod(0)
    if not os.access(secret, os.R_OK):  # root reads everything
        with pytest.raises(InboxRefusal, match="permission denied"):
            admit(secret, POLICY)


def test_a_large_file_is_refused_unread(tmp_path: Path) -> None:
    large = tmp_path / "large.txt"
    with large.open("wb") as file:
        file.truncate(200 * 1024 * 1024)
    with pytest.raises(InboxRefusal, match=r"large\.txt is 200\.0 MiB, and the inbox takes files up to 20\.0 MiB"):
        admit(large, POLICY)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252", "latin-1", "cp850"])
async def test_encodings_are_read(store: Store, tmp_path: Path, reader: InlineExtractor, encoding: str) -> None:
    text = "Größe ändern\n============\n\nDer Ordner für die Übergabe ist zu groß, später prüfen."
    report = await ingest(store, [write(tmp_path / "a.txt", text.encode(encoding))], extractor=reader)
    assert report.count("admitted") == 1
    (node,) = await store.read(nodes.list_nodes)
    assert (node.label, node.language) == ("Größe ändern", "de")
    assert "Übergabe ist zu groß" in node.body


MANUAL = "# VPN handbook\n\nHow the VPN of the company works.\n\n" + "\n\n".join(
    f"## {title}\n\n" + f"{title} of the tunnel is described here in several words. " * 14
    for title in ("Overview", "Certificates and their renewal", "Error 809 behind a router")
)


async def test_a_long_document_becomes_sections_under_it(store: Store, tmp_path: Path, reader: InlineExtractor) -> None:
    report = await ingest(store, [write(tmp_path / "vpn.md", MANUAL)], extractor=reader)
    assert (report.created, report.updated) == (4, 0)
    found = await store.read(nodes.list_nodes)
    by_label = {node.label: node for node in found}
    assert set(by_label) == {
        "VPN handbook",
        "VPN handbook: Overview",
        "VPN handbook: Certificates and their renewal",
        "Error 809 behind a router",
    }
    document = by_label["VPN handbook"]
    assert document.kind is NodeKind.DOCUMENT
    assert document.body == "How the VPN of the company works."
    for node in found:
        if node is not document:
            assert node.kind is NodeKind.SECTION
            (edge,) = await store.read(edges.edges_of, node.id)
            assert (edge.kind, edge.target_id) == (EdgeKind.PART_OF, document.id)
            assert "##" not in node.body


async def test_a_changed_document_updates_adds_and_retires_sections(
    store: Store, tmp_path: Path, reader: InlineExtractor
) -> None:
    path = write(tmp_path / "vpn.md", MANUAL)
    await ingest(store, [path], extractor=reader)
    changed = MANUAL.replace("Error 809 behind a router", "Error 691 at the logon").replace("the company", "our firm")
    (file,) = (await ingest(store, [write(path, changed)], extractor=reader)).files
    assert (file.created, file.updated, file.unchanged, file.deactivated) == (1, 1, 2, 1)
    labels = {node.label for node in await store.read(nodes.list_nodes) if node.active}
    assert "Error 691 at the logon" in labels
    assert "Error 809 behind a router" not in labels


async def test_nothing_is_taken_twice(store: Store, tmp_path: Path, reader: InlineExtractor) -> None:
    path = write(tmp_path / "vpn.md", MANUAL)
    await ingest(store, [path], extractor=reader)
    again = await ingest(store, [path, write(tmp_path / "copy.md", MANUAL)], extractor=reader)
    assert [file.status for file in again.files] == ["known", "known"]
    assert len(await store.read(nodes.list_nodes)) == 4


async def test_one_poison_document_never_blocks_the_others(
    store: Store, tmp_path: Path, reader: InlineExtractor
) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    write(folder / "a.html", "<p>The first page has some words.</p>")
    write(folder / "b.pdf", b"%PDF-1.7 \x00\xff broken")
    write(folder / "c.txt", b"nul\x00")
    write(folder / "d.md", "# Fourth\n\nIt has words, too.")
    write(folder / "style.css", "p {}")
    write(folder / ".hidden.md", "# no")
    report = await ingest(store, [folder], extractor=reader)
    assert [(file.name, file.status) for file in report.files] == [
        ("a.html", "admitted"),
        ("b.pdf", "refused"),
        ("c.txt", "refused"),
        ("d.md", "admitted"),
    ]
    assert {node.label for node in await store.read(nodes.list_nodes)} == {"a", "Fourth"}


async def test_a_fault_in_our_own_reading_costs_one_file(
    store: Store, tmp_path: Path, reader: InlineExtractor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> list[NodeDraft]:
        raise KeyError("never seen before")

    monkeypatch.setattr("data.inbox.ticket_drafts", broken)
    paths = [write(tmp_path / "a.csv", "title,body\nx,y\n"), write(tmp_path / "b.md", "# Second\n\nwords")]
    report = await ingest(store, paths, extractor=reader)
    assert [(file.status, file.reason) for file in report.files] == [("refused", "reader_failed"), ("admitted", "")]


async def test_word_files_are_taken_through_the_extraction_process(store: Store, tmp_path: Path) -> None:
    document = docx.Document()
    document.add_heading("Drucker einrichten", level=1)
    document.add_paragraph("Der Drucker wird über das Portal eingerichtet.")
    document.save(str(tmp_path / "drucker.docx"))
    async with Extractor() as process:
        report = await ingest(store, [tmp_path / "drucker.docx"], extractor=process)
    assert report.created == 1
    (node,) = await store.read(nodes.list_nodes)
    assert (node.label, node.body) == ("Drucker einrichten", "Der Drucker wird über das Portal eingerichtet.")


async def test_rows_that_fail_are_named_and_the_others_go_in(
    store: Store, tmp_path: Path, reader: InlineExtractor
) -> None:
    rows = [
        {"key": "a-1", "kind": "ticket", "label": "Drucker offline", "body": "Er druckt nicht.", "language": "de"},
        {"key": "a-2", "label": ""},
        {"key": "a-3", "label": "x", "kind": "animal"},
        {
            "key": "a-4",
            "kind": "technique",
            "label": "OS Credential Dumping",
            "body": "LSASS",
            "category": "credential",
        },
    ]
    text = "\n".join(json.dumps(row) for row in rows) + "\nno json\n[1]\n"
    (file,) = (await ingest(store, [write(tmp_path / "rows.jsonl", text)], extractor=reader)).files
    assert file.created == 2
    assert [failure.row for failure in file.rows_failed] == [2, 3, 5, 6]
    assert "has no title" in file.rows_failed[0].reason
    assert "'animal'" in file.rows_failed[1].reason
    kinds = {node.label: (node.kind, node.category) for node in await store.read(nodes.list_nodes)}
    assert kinds["OS Credential Dumping"] == (NodeKind.TECHNIQUE, "credential")


async def test_a_second_export_updates_its_tickets(store: Store, tmp_path: Path, reader: InlineExtractor) -> None:
    first = "Number,Title,Group,Text\n1001,Drucker offline,IT,neu\n1002,VPN langsam,Netz,neu\n"
    second = "Number,Title,Group,Text\n1001,Drucker offline,IT,gelöst: Kabel\n1003,WLAN weg,Netz,neu\n"
    await ingest(store, [write(tmp_path / "march.csv", first)], extractor=reader)
    (file,) = (await ingest(store, [write(tmp_path / "april.csv", second)], extractor=reader)).files
    assert (file.created, file.updated) == (1, 1)
    assert len(await store.read(nodes.list_nodes)) == 3


async def test_two_thousand_rows_go_in_quickly(store: Store, tmp_path: Path, reader: InlineExtractor) -> None:
    lines = "".join(f"{n},Ticket number {n} about a printer,The printer {n} is offline.\n" for n in range(2_000))
    report = await ingest(store, [write(tmp_path / "t.csv", "id,title,description\n" + lines)], extractor=reader)
    assert report.created == 2_000
    assert sum((await store.read(nodes.count_by_kind)).values()) == 2_000


async def test_a_write_that_is_refused_takes_nothing_and_says_so(
    store: Store, tmp_path: Path, reader: InlineExtractor
) -> None:
    path = write(tmp_path / "a.csv", "title,body,source_uri\nFirst,words,x:1\n")
    with sqlite3.connect(store.path) as connection:
        connection.execute("CREATE TRIGGER no_nodes BEFORE INSERT ON node BEGIN SELECT RAISE(ABORT, 'no'); END")
    (file,) = (await ingest(store, [path], extractor=reader)).files
    assert (file.status, file.reason) == ("refused", "write_refused")
    assert await store.read(nodes.list_nodes) == []


async def test_the_watched_folder_moves_what_it_took_and_what_it_refused(
    store: Store, clock: ManualClock, reader: InlineExtractor
) -> None:
    inbox = store.home / "inbox"
    inbox.mkdir()
    old = (clock.now() - timedelta(minutes=5)).timestamp()
    for name, content in (("good.md", "# Good\n\nwords"), ("bad.txt", b"nul\x00"), ("two.md", "# Two\n\nmore words")):
        os.utime(write(inbox / name, content), (old, old))
    (inbox / "link.md").symlink_to("/etc/hostname")
    report = await scan_inbox(store, extractor=reader)
    assert {file.name: file.status for file in report.files} == {
        "good.md": "admitted",
        "bad.txt": "refused",
        "two.md": "admitted",
        "link.md": "refused",
    }
    assert sorted(path.name for path in (inbox / "done").iterdir()) == ["good.md", "two.md"]
    assert sorted(path.name for path in (inbox / "refused").iterdir()) == [
        "bad.txt",
        "bad.txt.reason.json",
        "link.md",
        "link.md.reason.json",
    ]
    note = json.loads((inbox / "refused" / "bad.txt.reason.json").read_text())
    assert note["reason"] == "undecodable"
    assert note["message"].startswith("bad.txt ")
    assert Path("/etc/hostname").exists()
    assert sorted(name for name, _, _ in await store.read(inbox_files)) == ["bad.txt", "good.md", "two.md"]
    assert (await scan_inbox(store, extractor=reader)).files == ()


async def test_a_file_that_still_changes_waits_until_it_is_stable(
    store: Store, clock: ManualClock, reader: InlineExtractor
) -> None:
    inbox = store.home / "inbox"
    inbox.mkdir()
    now = clock.now().timestamp()
    path = write(inbox / "growing.md", "# Growing\n\nwor")
    os.utime(path, (now, now))
    seen: dict[str, tuple[int, int]] = {}
    assert (await scan_inbox(store, seen=seen, extractor=reader)).count("waiting") == 1
    os.utime(write(path, "# Growing\n\nwords and"), (now, now))
    assert (await scan_inbox(store, seen=seen, extractor=reader)).count("waiting") == 1
    assert (await scan_inbox(store, seen=seen, extractor=reader)).count("admitted") == 1
    assert (inbox / "done" / "growing.md").exists()


async def test_a_name_that_is_taken_in_done_gets_a_number(
    store: Store, clock: ManualClock, reader: InlineExtractor
) -> None:
    inbox = store.home / "inbox"
    (inbox / "done").mkdir(parents=True)
    write(inbox / "done" / "a.md", "an older one")
    old = (clock.now() - timedelta(minutes=5)).timestamp()
    os.utime(write(inbox / "a.md", "# New\n\nwords"), (old, old))
    await scan_inbox(store, extractor=reader)
    assert sorted(path.name for path in (inbox / "done").iterdir()) == ["a.md", "a~2.md"]
    assert (inbox / "done" / "a.md").read_text() == "an older one"
