"""Every gate refuses with its own word and one sentence; what passes is read whole and unchanged."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import os
import socket
import tarfile
import time
from pathlib import Path

import pytest

from data.inbox_gates import InboxPolicy, InboxRefusal, admit, sniff
from tests.data.inboxtools import docx_bytes, pdf_bytes, zip_bytes

DEFAULT = InboxPolicy()


def refused(path: Path, policy: InboxPolicy = DEFAULT) -> InboxRefusal:
    with pytest.raises(InboxRefusal) as caught:
        admit(path, policy)
    return caught.value


PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)
ELF = b"\x7fELF\x02\x01\x01" + bytes(60)
EXE = b"MZ\x90\x00" + bytes(80)
DOCM = zip_bytes({"[Content_Types].xml": b"<Types/>", "word/document.xml": b"<d/>", "word/vbaProject.bin": b"x"})
MACRO_TYPE = zip_bytes(
    {
        "[Content_Types].xml": b'<Types><O ContentType="application/vnd.ms-word.document.macroEnabled.main+xml"/>'
        b"</Types>",
        "word/document.xml": b"<d/>",
    }
)


@pytest.mark.parametrize(
    ("name", "data", "reason", "says"),
    [
        ("a.png", PNG, "extension", ".png"),
        ("noending", b"text", "extension", "no extension"),
        ("a.exe", EXE, "extension", ".exe"),
        ("a.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500), "extension", ".doc"),
        ("a.zip", zip_bytes({"a.txt": b"x"}), "archive", "unpack"),
        ("a.tar.gz", gzip.compress(b"x"), "archive", "unpack"),
        ("a.docm", DOCM, "active_content", "macros"),
        ("a.docx", DOCM, "active_content", "macros"),
        ("b.docx", MACRO_TYPE, "active_content", "macros"),
        ("a.txt", zip_bytes({"a.txt": b"x"}), "archive", "in spite of its name"),
        ("a.docx", zip_bytes({"a.txt": b"x"}), "archive", "no Word document"),
        ("a.csv", gzip.compress(b"x"), "archive", "gzip"),
        ("a.md", b"%PDF-1.7\n", "type_mismatch", "pdf"),
        ("a.txt", PNG, "type_mismatch", "image"),
        ("a.txt", ELF, "type_mismatch", "program"),
        ("a.html", EXE, "type_mismatch", "program"),
        ("a.pdf", b"just words", "type_mismatch", "PDF"),
        ("a.pdf", docx_bytes("T", ["x"]), "archive", "zip"),
        ("a.docx", b"just words", "type_mismatch", "Word"),
        ("a.docx", pdf_bytes(["x"]), "type_mismatch", "pdf"),
        ("a.docx", b"PK\x03\x04 broken", "type_mismatch", "damaged"),
        ("a.csv", b"<!DOCTYPE html><html><body>Login</body></html>", "type_mismatch", "HTML"),
        ("a.json", b"\xef\xbb\xbf<html></html>", "type_mismatch", "HTML"),
        ("a.md", b"", "empty", "0 bytes"),
        ("a.txt", b" \r\n\t\n", "empty", "5 bytes"),
        ("a.txt", bytes(4096), "empty", "empty"),
        ("a.txt", b"some text\x00 with a hole in it, and more words", "decoding", "NUL"),
        ("a.csv", b"a;b\n1;\x00\n", "decoding", "NUL"),
        ("a.md", b"\xff\xfe" + b"\x00\xd8" * 200, "decoding", "UTF-16"),
    ],
)
def test_refuses_what_is_no_document(tmp_path: Path, name: str, data: bytes, reason: str, says: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    refusal = refused(path)
    assert refusal.reason == reason
    assert says in refusal.message
    assert name in refusal.message
    assert "\n" not in refusal.message
    assert ";" in refusal.message, "says what to do"


def test_refuses_what_is_no_file(tmp_path: Path) -> None:
    target = tmp_path / "target.txt"
    target.write_text("words")
    (tmp_path / "link.txt").symlink_to(target)
    (tmp_path / "gone.txt").symlink_to(tmp_path / "nowhere")
    (tmp_path / "folder.md").mkdir()
    os.mkfifo(tmp_path / "pipe.txt")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket.txt"))
    kinds = {"link": "a link", "gone": "a link", "pipe": "a pipe", "socket": "a socket"}
    begun = time.monotonic()
    for name, kind in kinds.items():
        refusal = refused(tmp_path / f"{name}.txt")
        assert refusal.reason == "not_a_file"
        assert kind in refusal.message
    assert refused(tmp_path / "folder.md").reason == "not_a_file"
    assert refused(Path("/dev/null")).reason == "not_a_file"
    assert time.monotonic() - begun < 2, "nobody waits on a pipe"
    assert refused(tmp_path / "absent.txt").reason == "missing"
    assert refused(tmp_path / "a\0b.txt").reason == "unreadable"


def test_a_file_that_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "secret.txt"
    path.write_text("words")
    path.chmod(0)
    if os.access(path, os.R_OK):  # root reads everything; a folder in the way of the path does not let it either
        refusal = refused(path / "below.txt")
    else:
        refusal = refused(path)
    assert refusal.reason == "unreadable"
    assert "cannot be" in refusal.message


def test_a_huge_file_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "huge.txt"
    with path.open("wb") as file:
        file.truncate(200 * 1024 * 1024)
    begun = time.monotonic()
    refusal = refused(path)
    assert refusal.reason == "too_large"
    assert "200.0 MiB" in refusal.message
    assert "20.0 MiB" in refusal.message
    assert "BRAIN_INBOX_MAX_BYTES" in refusal.message
    assert time.monotonic() - begun < 0.5


def test_the_size_limit_is_inclusive(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"x" * 100)
    assert admit(path, InboxPolicy(max_bytes=100)).data == b"x" * 100
    assert refused(path, InboxPolicy(max_bytes=99)).reason == "too_large"


@pytest.mark.parametrize(
    ("name", "data", "form", "text"),
    [
        ("a.txt", "Störung behoben\r\nZeile".encode("cp1252"), "text", "Störung behoben\nZeile"),
        ("a.md", "# Überschrift".encode("utf-8-sig"), "markdown", "# Überschrift"),
        ("a.csv", "Nummer;Größe\n1;2\n".encode("utf-16"), "csv", "Nummer;Größe\n1;2\n"),
        ("A.HTML", b"<p>Hello</p>", "html", "<p>Hello</p>"),
        ("a.html", b"no tags at all", "html", "no tags at all"),
        ("a.txt", b"<html><body>tolerated</body></html>", "text", "<html><body>tolerated</body></html>"),
        ("a.json", b"[]", "json", "[]"),
        ("a.jsonl", b"{}", "jsonl", "{}"),
    ],
)
def test_admits_text(tmp_path: Path, name: str, data: bytes, form: str, text: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    file = admit(path)
    assert (file.form, file.text, file.data) == (form, text, data)
    assert file.sha256 == hashlib.sha256(data).hexdigest()
    assert file.stamp[1] == len(data)


def test_admits_office_documents(tmp_path: Path) -> None:
    for name, data in (("a.pdf", pdf_bytes(["Hello"])), ("a.docx", docx_bytes("Title", ["Text"]))):
        path = tmp_path / name
        path.write_bytes(data)
        assert admit(path).form == name[2:]


def test_sniff_takes_words_for_words() -> None:
    for text in (b"MZ is a country code", b"BZh", b"ID", b"PK is short for primary key", b"", b"GIF is a format"):
        assert sniff(text) == ""
    assert sniff(bz2.compress(b"x")) == "bzip2"
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("a.txt"))
    assert sniff(packed.getvalue()) == "tar"
