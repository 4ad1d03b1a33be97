"""Bytes to a document: HTML, Markdown, text, PDF and Word in one text form (spec 02, 04, 10).

The form: paragraphs separated by blank lines, headings as "# …" lines, list items "- " or "1. " one a line, code
in fences, table rows "| a | b |". Evidence spans refer to exactly this text.

`extract` is synchronous and pure; untrusted documents go through `data.extractor.Extractor`, which runs it in a
process that can be killed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal
from urllib.parse import unquote, urlsplit

from data.characters import INVISIBLE, normalise
from data.decode import Decoded, DecodingError, decode
from data.html_clean import HtmlCaps, clean_page, speaks_to_machines
from data.language import detect_language
from data.models import SourceClass

__all__ = [
    "MIME_TYPES",
    "Document",
    "ExtractLimits",
    "ExtractionError",
    "Flag",
    "Reason",
    "Section",
    "extract",
    "sections_of",
]

Reason = Literal["content_type", "decoding", "empty_extraction", "too_large", "timeout", "crashed"]
Flag = Literal[
    "cut", "hidden_removed", "hidden_instructions", "instructions_visible", "encoding_repaired", "encoding_doubtful"
]


class ExtractionError(Exception):
    """One document gave no text. `reason` is one of the names of spec 04, `message` one sentence."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason: Reason = reason
        self.message = message


@dataclass(frozen=True, slots=True)
class ExtractLimits:
    """What one document may be; the rest is cut with the flag `cut`, or refused where cutting makes no sense."""

    bytes: int = 20 * 1024 * 1024
    html: HtmlCaps = field(default_factory=HtmlCaps)
    text_chars: int = 2_000_000
    pdf_pages: int = 300
    pdf_seconds: float = 10.0


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands under it up to the next heading of any level; `text[start:end]` begins with it."""

    level: int
    heading: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Document:
    url: str
    final_url: str
    text: str
    title: str
    publisher: str
    language: str
    """`de`, `en`, another declared two-letter code, or `und`."""
    published_at: datetime | None
    author: str | None
    sections: tuple[Section, ...] = ()
    flags: tuple[Flag, ...] = ()
    boilerplate: float = 0.0
    """Share of the page's text that is not main text, 0 to 1."""
    link_density: float = 0.0
    """Share of the main text that belongs to links, 0 to 1."""
    has_password_field: bool = False
    source_class: SourceClass = SourceClass.UNKNOWN
    """Stated by a library collection alone: what a text says about its own standing is never believed."""
    collection: str = ""
    public_url: str = ""
    """Of a library document whose collection has a base URL: where its original is published."""
    content_type: str = "text/html"


MIME_TYPES: Final = {
    ".html": "text/html",
    ".htm": "text/html",
    ".xhtml": "application/xhtml+xml",
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".txt": "text/plain",
    ".text": "text/plain",
    ".pdf": "application/pdf",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
}
"""File endings read here and the content type each one has."""

_DOCX: Final = MIME_TYPES[".docx"]
_HTML_START: Final = re.compile(
    rb"^(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:<!--.{0,2000}?-->\s*)*<(?:!doctype\s+html|html|head|body)\b",
    re.IGNORECASE | re.DOTALL,
)


def extract(data: bytes, *, content_type: str, url: str, limits: ExtractLimits = ExtractLimits()) -> Document:
    """Return the document in `data`; `content_type` is what the server (or the file's ending) says, charset and all.

    Raises ExtractionError: `content_type` for what is not read here, `decoding` for bytes that are no text or a
    damaged file, `too_large` beyond the byte limit, `empty_extraction` where nothing readable is left.
    """
    if len(data) > limits.bytes:
        raise ExtractionError("too_large", f"is {len(data)} bytes long, {limits.bytes} are allowed")
    mime = _mime(data, content_type, url)
    if mime in {"application/pdf", _DOCX}:
        return _office(data, mime, url, limits)
    html = mime in {"text/html", "application/xhtml+xml"}
    charset = re.search(r"charset\s*=\s*[\"']?([\w.:-]+)", content_type, re.IGNORECASE)
    try:
        decoded = decode(data, declared=charset[1] if charset else None, html=html)
    except DecodingError as error:
        raise ExtractionError("decoding", str(error)) from error
    flags: list[Flag] = []
    if decoded.repaired:
        flags.append("encoding_repaired")
    if decoded.doubtful:
        flags.append("encoding_doubtful")
    if html:
        return _html(decoded, mime, url, flags, limits)
    return _plain(decoded, mime, url, flags, limits)


def _mime(data: bytes, content_type: str, url: str) -> str:
    """Return the content type to read `data` as: what is said, corrected by what is plainly there."""
    said = content_type.split(";", maxsplit=1)[0].strip().lower()
    if data[:1024].lstrip().startswith(b"%PDF-"):
        return "application/pdf"
    if said in {"", "application/octet-stream", "binary/octet-stream"}:
        ending = re.search(r"\.[A-Za-z0-9]{1,8}$", urlsplit(url).path)
        said = MIME_TYPES.get(ending.group().lower(), "") if ending else ""
        said = said or ("text/html" if _HTML_START.match(data) else "")
    if said in {"text/markdown", "text/x-markdown"}:
        return "text/markdown"
    if said == "text/plain":
        return "text/html" if _HTML_START.match(data) else said
    if said == _DOCX and data.startswith(b"PK"):
        return said
    if said in {"text/html", "application/xhtml+xml"}:
        return said
    raise ExtractionError("content_type", f"is {said or 'of an unknown type'}, which is not read here")


def _html(decoded: Decoded, mime: str, url: str, flags: list[Flag], limits: ExtractLimits) -> Document:
    from data.html_meta import page_meta
    from data.html_text import main_text

    page = clean_page(decoded.text, limits.html)
    if page is None:
        raise ExtractionError("empty_extraction", "holds no element")
    meta = page_meta(page.tree, page.structured, url)
    main = main_text(page.tree)
    if page.hidden:
        flags.append("hidden_removed")
        if speaks_to_machines(page.hidden):
            flags.append("hidden_instructions")
    if page.cut:
        flags.append("cut")
    return _document(
        main.text,
        url=url,
        mime=mime,
        title=meta.title,
        publisher=meta.publisher,
        author=meta.author,
        published_at=meta.published_at,
        declared_language=meta.language,
        flags=flags,
        limits=limits,
        boilerplate=main.boilerplate,
        # Links that lost their tags to the cap count as the others do, or a page of 50,000 would look like prose.
        link_density=min(1.0, main.link_density * max(1.0, page.links / limits.html.links)),
        has_password_field=page.has_password_field,
    )


def _plain(decoded: Decoded, mime: str, url: str, flags: list[Flag], limits: ExtractLimits) -> Document:
    from data.html_meta import parse_date
    from data.markdown import read_markdown, read_plain

    text = decoded.text.replace("\r\n", "\n").replace("\r", "\n")
    read = read_markdown(text) if mime == "text/markdown" else read_plain(text)
    if read.hidden:
        flags.append("hidden_removed")
        if speaks_to_machines(read.hidden):
            flags.append("hidden_instructions")
    front = read.front
    stamp = front.get("date") or front.get("published") or front.get("updated") or front.get("datum") or ""
    return _document(
        read.text,
        url=url,
        mime=mime,
        title=read.title,
        publisher=front.get("publisher", ""),
        author=front.get("author") or None,
        published_at=parse_date(stamp) if stamp else None,
        declared_language=(front.get("language") or front.get("lang") or "")[:2].lower(),
        flags=flags,
        limits=limits,
    )


def _office(data: bytes, mime: str, url: str, limits: ExtractLimits) -> Document:
    from data.office import OfficeError, read_docx, read_pdf

    try:
        if mime == _DOCX:
            read = read_docx(data, max_chars=limits.text_chars)
        else:
            read = read_pdf(data, max_pages=limits.pdf_pages, max_chars=limits.text_chars, seconds=limits.pdf_seconds)
    except OfficeError as error:
        raise ExtractionError("decoding", str(error)) from error
    return _document(
        read.text,
        url=url,
        mime=mime,
        title=read.title,
        publisher="",
        author=read.author,
        published_at=read.published_at,
        declared_language="",
        flags=["cut"] if read.cut else [],
        limits=limits,
    )


_SMUGGLED: Final = re.compile("[\U000e0000-\U000e0fff]")
_ZERO_WIDTH: Final = re.compile(f"[{INVISIBLE}]")
_MANY: Final = 20  # zero-width characters a page may hold by accident of its editor
_HEADING: Final = re.compile(r"^(#{1,6}) +(\S.*)$")


def _document(
    raw: str,
    *,
    url: str,
    mime: str,
    title: str,
    publisher: str,
    author: str | None,
    published_at: datetime | None,
    declared_language: str,
    flags: list[Flag],
    limits: ExtractLimits,
    boilerplate: float = 0.0,
    link_density: float = 0.0,
    has_password_field: bool = False,
) -> Document:
    text = normalise(raw).strip("\n")
    if len(text) > limits.text_chars:
        text = text[: limits.text_chars].rsplit("\n", 1)[0]
        flags.append("cut")
    if not text.strip():
        raise ExtractionError("empty_extraction", "holds no readable text")
    if _SMUGGLED.search(raw) or len(_ZERO_WIDTH.findall(raw.replace("\u00ad", ""))) > _MANY:
        flags.append("hidden_removed")
    if speaks_to_machines(text):
        flags.append("instructions_visible")
    sections = sections_of(text)
    detected = detect_language(text)
    return Document(
        url=url,
        final_url=url,
        text=text,
        title=_line(title) or (sections[0].heading if sections else "") or _name(url),
        publisher=_line(publisher) or _host(url),
        language=detected if detected != "und" else declared_language or "und",
        published_at=published_at,
        author=_line(author or "") or None,
        sections=sections,
        flags=tuple(dict.fromkeys(flags)),
        boilerplate=round(boilerplate, 4),
        link_density=round(link_density, 4),
        has_password_field=has_password_field,
        content_type=mime,
    )


def _line(text: str) -> str:
    return " ".join(normalise(text).split())


def _host(url: str) -> str:
    parts = urlsplit(url)
    return (parts.hostname or "").removeprefix("www.") if parts.scheme in {"http", "https"} else ""


def _name(url: str) -> str:
    stem = unquote(urlsplit(url).path).rstrip("/").rsplit("/", 1)[-1]
    return _line(re.sub(r"\.[A-Za-z0-9]{1,8}$", "", stem).replace("_", " ").replace("-", " ")) or url


def sections_of(text: str) -> tuple[Section, ...]:
    """Return the headings of a text in the common form, in order; lines inside of code are none."""
    found: list[tuple[int, str, int]] = []
    fence = ""
    position = 0
    for line in text.split("\n"):
        mark = re.match(r" {0,3}(`{3,}|~{3,})", line)
        if fence:
            if mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        elif mark:
            fence = mark[1]
        elif heading := _HEADING.match(line):
            found.append((len(heading[1]), heading[2].strip(), position))
        position += len(line) + 1
    ends = [*(start for _, _, start in found[1:]), len(text)]
    return tuple(Section(level, name, start, end) for (level, name, start), end in zip(found, ends, strict=False))
