"""The inbox's gates: what a file must be before anything of it is read as knowledge (spec 02, "The inbox").

They are asked in the spec's order, and each refusal is one sentence a person can act on. Nothing is followed
(links), waited for (pipes, devices) or read whole to find that it is too large.
"""

from __future__ import annotations

import errno
import hashlib
import io
import os
import re
import stat
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from data.decode import DecodingError, decode
from data.extract import MIME_TYPES

__all__ = ["Admitted", "InboxPolicy", "InboxRefusal", "RefusalReason", "admit"]

RefusalReason = Literal[
    "not_a_regular_file",
    "unreadable",
    "empty",
    "too_large",
    "unsupported_type",
    "type_mismatch",
    "archive",
    "active_content",
    "undecodable",
    "no_content",
    "no_records",
    "too_slow",
    "reader_failed",
    "write_refused",
]


@dataclass(frozen=True, slots=True)
class InboxPolicy:
    """The inbox's own knobs with the documented defaults."""

    max_bytes: int = 20 * 1024 * 1024
    """BRAIN_INBOX_MAX_BYTES"""
    settle_seconds: float = 2.0
    """A watched file must not have changed for this long, or be as it was at the last look."""
    split_chars: int = 3_000
    """Documents longer than this are split at their headings."""
    section_min_chars: int = 200
    """Shorter sections go along with the one before them."""
    section_max_chars: int = 6_000
    """Longer sections are split between paragraphs: about four passages of an embedding."""


class InboxRefusal(Exception):
    """A file is not taken. `reason` is a stable word, `message` a sentence that begins with the file's name."""

    def __init__(self, reason: RefusalReason, message: str) -> None:
        super().__init__(message)
        self.reason: RefusalReason = reason
        self.message = message
        self.sha256 = ""
        """Of the content, where it was read."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """A file that passed the gates, read once: what is parsed is what was checked and hashed."""

    path: Path
    name: str
    suffix: str
    mime: str
    data: bytes
    sha256: str


_RECORDS: Final = {".csv": "text/csv", ".json": "application/json", ".jsonl": "application/x-ndjson"}
_SUFFIXES: Final = {
    suffix: MIME_TYPES[suffix] for suffix in (".md", ".txt", ".html", ".htm", ".pdf", ".docx")
} | _RECORDS
_ARCHIVE_SUFFIXES: Final = frozenset(
    [".zip", ".gz", ".tgz", ".tar", ".bz2", ".xz", ".zst", ".7z", ".rar", ".cab", ".iso", ".jar", ".lz4", ".arj"]
)
# First bytes, and what they are: (offset, bytes, name, is it an archive)
_MAGIC: Final = (
    (0, b"PK\x03\x04", "a ZIP archive", True),
    (0, b"PK\x05\x06", "a ZIP archive", True),
    (0, b"\x1f\x8b", "a gzip archive", True),
    (0, b"BZh", "a bzip2 archive", True),
    (0, b"\xfd7zXZ\x00", "an xz archive", True),
    (0, b"\x28\xb5\x2f\xfd", "a Zstandard archive", True),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", True),
    (0, b"Rar!\x1a\x07", "a RAR archive", True),
    (0, b"MSCF", "a cabinet archive", True),
    (257, b"ustar", "a tar archive", True),
    (0, b"MZ", "a Windows program", False),
    (0, b"\x7fELF", "a Linux program", False),
    (0, b"\x89PNG", "a PNG picture", False),
    (0, b"\xff\xd8\xff", "a JPEG picture", False),
    (0, b"GIF8", "a GIF picture", False),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office file", False),
    (0, b"SQLite format 3\x00", "a SQLite database", False),
    (0, b"{\\rtf", "an RTF document", False),
    (0, b"%PDF-", "a PDF document", False),
)
_PAGE: Final = re.compile(
    r"^\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body)\b", re.I | re.S
)
_TAG: Final = re.compile(r"<[a-zA-Z!/][^<>]*>")


def admit(path: Path, policy: InboxPolicy) -> Admitted:
    """Return the file behind `path`, or raise InboxRefusal with the first gate that it does not pass."""
    name = path.name
    data = _read_regular(path, name, policy.max_bytes)
    suffix = path.suffix.lower()
    sha256 = hashlib.sha256(data).hexdigest()
    try:
        _known_type(name, suffix)
        _agrees(name, suffix, data)
    except InboxRefusal as refusal:
        refusal.sha256 = sha256
        raise
    return Admitted(path, name, suffix, _SUFFIXES[suffix], data, sha256)


def _read_regular(path: Path, name: str, limit: int) -> bytes:
    """Read at most `limit` bytes of a regular file; the file that is checked is the file that is read."""
    try:
        info = path.lstat()
    except OSError as error:
        raise InboxRefusal("unreadable", f"{name} cannot be read: {_why(error)}") from error
    if stat.S_ISLNK(info.st_mode):
        raise InboxRefusal("not_a_regular_file", f"{name} is a symbolic link; give the file itself")
    if not stat.S_ISREG(info.st_mode):
        raise InboxRefusal("not_a_regular_file", f"{name} is {_kind(info.st_mode)}, not a regular file")
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise InboxRefusal("not_a_regular_file", f"{name} is a symbolic link; give the file itself") from error
        raise InboxRefusal("unreadable", f"{name} cannot be read: {_why(error)}") from error
    with os.fdopen(handle, "rb") as file:
        info = os.fstat(file.fileno())
        if not stat.S_ISREG(info.st_mode):
            raise InboxRefusal("not_a_regular_file", f"{name} is {_kind(info.st_mode)}, not a regular file")
        if info.st_size > limit:
            raise InboxRefusal(
                "too_large", f"{name} is {_size(info.st_size)}, and the inbox takes files up to {_size(limit)}"
            )
        try:
            data = file.read(limit + 1)
        except OSError as error:
            raise InboxRefusal("unreadable", f"{name} cannot be read: {_why(error)}") from error
    if len(data) > limit:
        raise InboxRefusal("too_large", f"{name} grew beyond {_size(limit)} while it was read")
    if not data.strip():
        raise InboxRefusal("empty", f"{name} is empty")
    return data


def _why(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()


def _kind(mode: int) -> str:
    tests = (
        (stat.S_ISDIR, "a folder"),
        (stat.S_ISFIFO, "a pipe"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISCHR, "a device"),
        (stat.S_ISBLK, "a device"),
    )
    return next((kind for test, kind in tests if test(mode)), "something else")


def _size(count: int) -> str:
    return f"{count / 1024**2:.1f} MiB" if count >= 1024**2 else f"{count} bytes"


def _known_type(name: str, suffix: str) -> None:
    if suffix in _ARCHIVE_SUFFIXES:
        raise InboxRefusal("archive", f"{name} is an archive; unpack it and give the documents in it")
    if suffix in {".docm", ".dotm", ".xlsm", ".hta", ".js", ".vbs", ".ps1", ".bat", ".exe"}:
        raise InboxRefusal("active_content", f"{name} can hold active content and is not taken")
    if suffix not in _SUFFIXES:
        taken = " ".join(sorted(_SUFFIXES))
        raise InboxRefusal("unsupported_type", f"{name} ends in {suffix or 'nothing'}; the inbox takes {taken}")


def _agrees(name: str, suffix: str, data: bytes) -> None:
    """Hold what the file is named against what it is."""
    if suffix == ".docx":
        _word(name, data)
        return
    if suffix == ".pdf":
        if b"%PDF-" not in data[:1024]:
            raise InboxRefusal("type_mismatch", f"{name} is named .pdf and is no PDF document")
        return
    for offset, magic, what, archive in _MAGIC:
        if data[offset : offset + len(magic)] == magic:
            if archive:
                raise InboxRefusal("archive", f"{name} is {what} under another name")
            raise InboxRefusal("type_mismatch", f"{name} is named {suffix} and is {what}")
    try:
        text = decode(data, html=suffix in {".html", ".htm"}).text
    except DecodingError as error:
        raise InboxRefusal("undecodable", f"{name} {error}") from error
    if "\0" in text:
        raise InboxRefusal("undecodable", f"{name} holds NUL characters, so it is no text")
    if suffix in {".html", ".htm"}:
        if not _TAG.search(text):
            raise InboxRefusal("type_mismatch", f"{name} is named {suffix} and holds no HTML")
    elif _PAGE.match(text[:4_096]):
        raise InboxRefusal("type_mismatch", f"{name} is named {suffix} and is an HTML page")
    if suffix in {".json", ".jsonl"} and text.lstrip("\ufeff \t\r\n")[:1] not in {"{", "["}:
        raise InboxRefusal("type_mismatch", f"{name} is named {suffix} and holds no JSON")


def _word(name: str, data: bytes) -> None:
    if not data.startswith(b"PK"):
        raise InboxRefusal("type_mismatch", f"{name} is named .docx and is no Word document")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {member.lower() for member in archive.namelist()}
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:
        raise InboxRefusal("type_mismatch", f"{name} is named .docx and is no whole Word document") from error
    if "word/document.xml" not in members:
        raise InboxRefusal("archive", f"{name} is a ZIP archive under another name")
    if any(member.endswith(("vbaproject.bin", "vbadata.xml")) or "/activex/" in member for member in members):
        raise InboxRefusal("active_content", f"{name} holds macros; save it without them")
