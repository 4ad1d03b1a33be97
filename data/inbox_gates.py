"""The gates of the inbox, in the order of spec 02: what is no ordinary document is refused before it is parsed.

Each gate has a stable reason word and says in one sentence what is wrong, what was found and what to do. Nothing
here follows a link, waits on a pipe or reads beyond the size limit.
"""

from __future__ import annotations

import hashlib
import io
import os
import stat
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from data.characters import word_set
from data.decode import DecodingError, decode

__all__ = [
    "DOCUMENT_ENDINGS",
    "EXTENSIONS",
    "MAX_BYTES",
    "Admitted",
    "Form",
    "InboxPolicy",
    "InboxRefusal",
    "admit",
    "size_text",
    "sniff",
]

Form = Literal["html", "text", "markdown", "pdf", "docx", "csv", "json", "jsonl"]

MAX_BYTES: Final = 20 * 1024 * 1024
"""BRAIN_INBOX_MAX_BYTES where nothing else is configured (spec 11)."""

EXTENSIONS: Final[dict[str, Form]] = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".txt": "text",
    ".html": "html",
    ".htm": "html",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "csv",
    ".pdf": "pdf",
    ".docx": "docx",
}
_ADMITTED: Final = ".md .txt .html .json .jsonl .csv .pdf .docx"
_ARCHIVES: Final = word_set(
    """
    .zip .gz .tgz .bz2 .tbz .tbz2 .xz .txz .lzma .zst .tar .7z .rar .cab .iso .jar .war .ear .z .lz4 .br .deb .rpm
    .msi .arj .lzh .cpio .epub
    """
)
_MACROS: Final = word_set(".docm .dotm .xlsm .xlsb .pptm")

DOCUMENT_ENDINGS: Final = frozenset(EXTENSIONS) | _ARCHIVES | _MACROS
"""Endings of files that are, or may hold, a document: of a folder's files these are judged, the others passed over."""


@dataclass(frozen=True, slots=True)
class InboxPolicy:
    """What a file may be, and how many rows of an export go into one write."""

    max_bytes: int = MAX_BYTES
    batch_rows: int = 500


class InboxRefusal(Exception):
    """A gate said no. `reason` is a stable word, `message` one sentence: what, what was given, what to do."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


@dataclass(frozen=True, slots=True)
class Admitted:
    """A file that passed the gates, whole in memory."""

    path: Path
    form: Form
    data: bytes
    sha256: str
    text: str
    """Decoded text with plain line ends; empty for PDF and Word."""
    stamp: tuple[int, int, int]
    """Inode, size and modification time (ns) of what was read."""


def admit(path: Path, policy: InboxPolicy = InboxPolicy()) -> Admitted:
    """Read `path` through all gates, or raise InboxRefusal. Blocking: call it in a thread."""
    name = path.name
    _regular(path)
    data, stamp = _read(path, policy)
    form = _form(path)
    found = sniff(data)
    if not data.strip(b"\0 \t\r\n\f\xef\xbb\xbf"):
        raise InboxRefusal("empty", f"{name} is empty ({len(data)} bytes); put the finished file there again")
    _agrees(name, form, found, data)
    text = ""
    if form not in {"pdf", "docx"}:
        try:
            text = decode(data, html=form == "html").text.replace("\r\n", "\n").replace("\r", "\n")
        except DecodingError as error:
            raise InboxRefusal("decoding", f"{name} {error}; save it as UTF-8 text") from error
    return Admitted(path, form, data, hashlib.sha256(data).hexdigest(), text, stamp)


def _regular(path: Path) -> None:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        raise InboxRefusal("missing", f"{path} is not there; check the path") from None
    except (OSError, ValueError) as error:
        raise InboxRefusal(
            "unreadable", f"{path.name} cannot be looked at ({_why(error)}); check its rights"
        ) from error
    if stat.S_ISREG(mode):
        return
    kinds: dict[str, Callable[[int], bool]] = {
        "a link": stat.S_ISLNK,
        "a folder": stat.S_ISDIR,
        "a pipe": stat.S_ISFIFO,
        "a socket": stat.S_ISSOCK,
        "a device": lambda given: stat.S_ISCHR(given) or stat.S_ISBLK(given),
    }
    what = next((kind for kind, test in kinds.items() if test(mode)), "no ordinary file")
    advice = "give the file it points to" if what == "a link" else "give an ordinary file"
    raise InboxRefusal("not_a_file", f"{path.name} is {what}, not an ordinary file; {advice}")


def _read(path: Path, policy: InboxPolicy) -> tuple[bytes, tuple[int, int, int]]:
    """Return content and stamp; the file is looked at again once it is open, in case it was exchanged meanwhile."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        handle = os.open(path, flags)
    except OSError as error:
        advice = "make it readable for the user that runs the brain"
        raise InboxRefusal("unreadable", f"{path.name} cannot be opened ({_why(error)}); {advice}") from error
    try:
        with os.fdopen(handle, "rb", buffering=0) as file:
            info = os.fstat(handle)
            if not stat.S_ISREG(info.st_mode):
                raise InboxRefusal("not_a_file", f"{path.name} is no ordinary file; give an ordinary file")
            _within(path.name, info.st_size, policy)
            data = bytearray()
            while chunk := file.read(1024 * 1024):
                data += chunk
                _within(path.name, len(data), policy)
    except OSError as error:
        raise InboxRefusal("unreadable", f"{path.name} cannot be read ({_why(error)}); check the disk") from error
    return bytes(data), (info.st_ino, info.st_size, info.st_mtime_ns)


def _within(name: str, size: int, policy: InboxPolicy) -> None:
    if size > policy.max_bytes:
        raise InboxRefusal(
            "too_large",
            f"{name} has {size_text(size)}, {size_text(policy.max_bytes)} are allowed; split it or raise "
            "BRAIN_INBOX_MAX_BYTES",
        )


def _form(path: Path) -> Form:
    ending = path.suffix.lower()
    form = EXTENSIONS.get(ending)
    if form is not None:
        return form
    if ending in _ARCHIVES:
        raise InboxRefusal("archive", f"{path.name} is an archive; unpack it and give the documents in it")
    if ending in _MACROS:
        raise InboxRefusal("active_content", f"{path.name} may hold macros; save it as .docx without them")
    said = f"ends in {ending}" if ending else "has no extension"
    raise InboxRefusal("extension", f"{path.name} {said}, which is not read here; give one of {_ADMITTED}")


_MAGIC: Final = (
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),
    (b"PK\x07\x08", "zip"),
    (b"\x1f\x8b", "gzip"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\x04\x22\x4d\x18", "lz4"),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
    (b"Rar!\x1a\x07", "rar"),
    (b"MSCF\x00", "cab"),
    (b"!<arch>\n", "ar"),
    (b"\xed\xab\xee\xdb", "rpm"),
    (b"\x7fELF", "program"),
    (b"\xca\xfe\xba\xbe", "program"),
    (b"\xcf\xfa\xed\xfe", "program"),
    (b"\xce\xfa\xed\xfe", "program"),
    (b"\x89PNG\r\n\x1a\n", "image"),
    (b"\xff\xd8\xff", "image"),
    (b"GIF87a", "image"),
    (b"GIF89a", "image"),
    (b"II*\x00", "image"),
    (b"MM\x00*", "image"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "old Office"),
    (b"{\\rtf", "RTF"),
    (b"SQLite format 3\x00", "database"),
    (b"OggS", "sound or film"),
    (b"ID3", "sound or film"),
    (b"\x1aE\xdf\xa3", "sound or film"),
)
_PACKED: Final = word_set("zip gzip bzip2 xz zstd lz4 7z rar cab ar rpm tar")


def sniff(data: bytes) -> str:
    """Return what the first bytes say this is: `pdf`, `zip`, `image`, `program`, …; "" for text or unknown."""
    for magic, kind in _MAGIC:
        if data.startswith(magic):
            return kind
    if data[:3] == b"BZh" and data[4:10] == b"1AY&SY":
        return "bzip2"
    if data[257:262] == b"ustar":
        return "tar"
    if data[:1024].lstrip().startswith(b"%PDF-"):
        return "pdf"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image"
    if data[:2] == b"MZ" and b"\0" in data[:64]:
        return "program"
    return "sound or film" if data[4:8] == b"ftyp" else ""


def _agrees(name: str, form: Form, found: str, data: bytes) -> None:
    """Refuse a file whose content is another kind than its name says."""
    ending = Path(name).suffix.lower()
    if form == "docx" and found == "zip":
        _word(name, data)
        return
    if form == "pdf" and found == "pdf":
        return
    if found in _PACKED:
        raise InboxRefusal(
            "archive", f"{name} is a {found} archive in spite of its name; unpack it and give the documents in it"
        )
    if form in {"pdf", "docx"}:
        seen = f"is a {found} file" if found else "is none"
        what = "a PDF" if form == "pdf" else "a Word document"
        raise InboxRefusal("type_mismatch", f"{name} is called {what} but {seen}; give the file its right name")
    if found:
        raise InboxRefusal(
            "type_mismatch", f"{name} is called {ending} but is a {found} file; give the file its right name"
        )
    if form in {"csv", "json", "jsonl"} and data[:512].lstrip(b"\xef\xbb\xbf \t\r\n").lower().startswith(
        (b"<!doctype html", b"<html")
    ):
        raise InboxRefusal(
            "type_mismatch", f"{name} is called {ending} but is an HTML page (a login page?); export it again"
        )


def _word(name: str, data: bytes) -> None:
    """Look into the package: a Word document has its main part, and no macros."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            names = {entry.lower() for entry in package.namelist()}
            types = b""
            if "[content_types].xml" in names:
                with package.open("[Content_Types].xml") as part:
                    types = part.read(256 * 1024)
    except (zipfile.BadZipFile, KeyError, ValueError, OSError, NotImplementedError, RuntimeError, EOFError) as error:
        raise InboxRefusal(
            "type_mismatch", f"{name} is called a Word document but is damaged ({type(error).__name__}); save it again"
        ) from error
    if any(entry.endswith("vbaproject.bin") for entry in names) or b"macroEnabled" in types:
        raise InboxRefusal("active_content", f"{name} holds macros; save it as .docx without them")
    if "word/document.xml" not in names and b"wordprocessingml.document.main" not in types:
        raise InboxRefusal(
            "archive", f"{name} is a zip archive and no Word document; unpack it and give the documents in it"
        )


def size_text(size: int) -> str:
    """Return bytes as a person reads them: `812 bytes`, `200.0 MiB`."""
    if size < 1024:
        return f"{size} bytes"
    if size < 1024 * 1024:
        return f"{size / 1024:.1f} KiB"
    return f"{size / 1024 / 1024:.1f} MiB"


def _why(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
