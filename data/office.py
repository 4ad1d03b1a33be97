"""PDF and Word documents in the common text form, bounded in pages, size and time (spec 10).

Both libraries are imported where they are used: they are heavy, and only the extraction worker needs them.
"""

from __future__ import annotations

import io
import re
import time
import zipfile
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

__all__ = ["OfficeDocument", "OfficeError", "read_docx", "read_pdf"]


class OfficeError(ValueError):
    """The file cannot be read as what it says it is; the message says why in one sentence."""


@dataclass(frozen=True, slots=True)
class OfficeDocument:
    text: str
    title: str = ""
    author: str | None = None
    published_at: datetime | None = None
    cut: bool = False


_PAGE_NUMBER: Final = re.compile(
    r"^(?:(?:seite|page)\s*)?[-–]?\s*(?:\d{1,4}|[ivxlc]{1,7})\s*[-–]?(?:\s*(?:von|of|/)\s*\d{1,4})?$", re.IGNORECASE
)
_ITEM: Final = re.compile(r"^(?:[-*•–▪●○‣]|\(?\d{1,3}[.)]|[a-z]\))\s+\S")
_BULLET: Final = re.compile(r"^[•▪●○‣∙·]\s*")
_FINISHED: Final = re.compile(r"[.!?:;]['\"”“)]?$")


def read_pdf(data: bytes, *, max_pages: int, max_chars: int, seconds: float) -> OfficeDocument:
    """Return the text of a PDF; pages, characters and seconds beyond the limits are cut and said so.

    Raises OfficeError for an encrypted or damaged file. Lines are joined to paragraphs, hyphens at line ends
    closed, running heads and page numbers left out, outline entries turned into headings.
    """
    import logging

    from pypdf import PdfReader
    from pypdf.errors import PyPdfError

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    deadline = time.monotonic() + seconds
    pages: list[list[str]] = []
    cut = False
    try:
        reader = PdfReader(io.BytesIO(data), strict=False)
        if reader.is_encrypted and not reader.decrypt(""):
            raise OfficeError("is encrypted, and no password is known")
        size = 0
        for number, page in enumerate(reader.pages):
            if number >= max_pages or size >= max_chars or time.monotonic() > deadline:
                cut = True
                break
            text = page.extract_text() or ""
            size += len(text)
            pages.append([" ".join(line.split()) for line in text.split("\n")])
        outline = _outline(reader)
        info = reader.metadata
    except OfficeError:
        raise
    except (
        PyPdfError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        IndexError,
        RecursionError,
        OSError,
        NotImplementedError,
    ) as error:
        raise OfficeError(f"is a damaged PDF ({type(error).__name__})") from error
    text = _paragraphs(pages, outline)
    title = str(info.title or "").strip() if info else ""
    author = str(info.author or "").strip() if info else ""
    return OfficeDocument(
        text[:max_chars], title[:300], author[:200] or None, _pdf_date(info), cut or len(text) > max_chars
    )


def _pdf_date(info: Any) -> datetime | None:
    try:
        found = (info.modification_date or info.creation_date) if info else None
    except (ValueError, AttributeError, TypeError):
        return None
    if not isinstance(found, datetime):
        return None
    return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)


def _outline(reader: Any) -> dict[str, int]:
    """Return outline titles, folded to compare, with their level from 1; empty where there is none or it is broken."""
    levels: dict[str, int] = {}

    def walk(entries: Any, level: int) -> None:
        for entry in entries:
            if isinstance(entry, list):
                if level < 6:
                    walk(entry, level + 1)
            elif len(levels) < 2_000:
                title = " ".join(str(getattr(entry, "title", "") or "").split())
                if title:
                    levels.setdefault(_key(title), level)

    try:
        walk(reader.outline, 1)
    except Exception:  # a broken outline must not lose the text
        return {}
    return levels


def _key(line: str) -> str:
    return re.sub(r"[\W_]+", "", line).lower()


def _running(pages: list[list[str]]) -> frozenset[str]:
    """Return the lines that stand at the head or foot of most pages, numbers aside."""
    if len(pages) < 3:
        return frozenset()
    seen: Counter[str] = Counter()
    for lines in pages:
        filled = [line for line in lines if line]
        edges = [line for line in filled[:2] + filled[-2:] if not _ITEM.match(line)]
        seen.update({re.sub(r"\d+", "#", line) for line in edges})
    return frozenset(line for line, count in seen.items() if count >= max(3, len(pages) // 2))


def _paragraphs(pages: list[list[str]], outline: dict[str, int]) -> str:
    running = _running(pages)
    blocks: list[str] = []
    current = ""

    def close() -> None:
        nonlocal current
        if current:
            blocks.append(current)
        current = ""

    for lines in pages:
        longest = max((len(line) for line in lines), default=0)
        for line in lines:
            if _PAGE_NUMBER.match(line) or re.sub(r"\d+", "#", line) in running:
                continue
            if not line:
                close()
                continue
            level = outline.get(_key(line))
            if level:
                close()
                blocks.append(f"{'#' * min(level, 6)} {line}")
                continue
            if _ITEM.match(line):
                close()
                current = _BULLET.sub("- ", line)
            elif current:
                current = _joined(current, line)
            else:
                current = line
            if len(line) < 0.6 * longest and _FINISHED.search(line):
                close()  # a short last line ends a paragraph
    close()
    result = ""
    for block in blocks:
        tight = bool(result) and _ITEM.match(block) and _ITEM.match(result.rsplit("\n", 1)[-1])
        result += (("\n" if tight else "\n\n") if result else "") + block
    return result


def _joined(text: str, line: str) -> str:
    """Join a line to its paragraph; a hyphen at the end is closed before a small letter ("Verbin-" "dung")."""
    if (
        text.endswith("-")
        and len(text) > 1
        and text[-2].isalpha()
        and line[:1].islower()
        and not line.startswith(("und ", "oder ", "and ", "or "))
    ):
        return text[:-1] + line
    return f"{text} {line}"


_DOCX_UNPACKED: Final = 64 * 1024 * 1024  # bytes; a document of 20 MB of text unpacks to about that


def read_docx(data: bytes, *, max_chars: int) -> OfficeDocument:
    """Return the text of a Word document: heading styles as "# ", numbered and bulleted lists, tables as rows.

    Raises OfficeError for what is no Word document, holds macros, or unpacks beyond 64 MiB (a zip bomb).
    """
    import docx
    from docx.opc.exceptions import PackageNotFoundError

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
            if sum(item.file_size for item in archive.infolist()) > _DOCX_UNPACKED:
                raise OfficeError("unpacks to more than 64 MiB")
        if any(name.lower().endswith("vbaproject.bin") for name in names):
            raise OfficeError("holds macros")
        document = docx.Document(io.BytesIO(data))
    except (
        zipfile.BadZipFile,
        PackageNotFoundError,
        KeyError,
        ValueError,
        OSError,
        RuntimeError,
        NotImplementedError,
        SyntaxError,
    ) as error:
        if isinstance(error, OfficeError):
            raise
        raise OfficeError(f"is no readable Word document ({type(error).__name__})") from error
    blocks: list[tuple[str, str]] = []
    counters: dict[tuple[str, str], int] = {}
    size = 0
    for element in document.iter_inner_content():
        added = _docx_table(element) if type(element).__name__ == "Table" else _docx_paragraph(element, counters)
        blocks.extend(added)
        size += sum(len(text) for _, text in added)
        if size > max_chars:
            break
    text = ""
    for index, (kind, block) in enumerate(blocks):
        tight = index and kind == blocks[index - 1][0] and kind in {"item", "row", "code"}
        text += (("\n" if tight else "\n\n") if text else "") + block
    core = document.core_properties
    stamp = core.modified or core.created
    if isinstance(stamp, datetime):
        stamp = stamp.astimezone(UTC) if stamp.tzinfo else stamp.replace(tzinfo=UTC)
    return OfficeDocument(
        text[:max_chars], (core.title or "")[:300], (core.author or "")[:200] or None, stamp, size > max_chars
    )


def _docx_paragraph(paragraph: Any, counters: dict[tuple[str, str], int]) -> list[tuple[str, str]]:
    text = "\n".join(" ".join(line.split()) for line in paragraph.text.split("\n")).strip()
    if not text:
        return []
    style = (paragraph.style.name or "") if paragraph.style is not None else ""
    heading = re.match(r"(?:Heading|Überschrift|heading)\s*(\d)", style)
    if heading:
        counters.clear()
        return [("heading", f"{'#' * min(int(heading[1]), 6)} {' '.join(text.split())}")]
    if style in {"Title", "Titel"}:
        return [("heading", f"# {' '.join(text.split())}")]
    if re.search(r"code|quelltext|listing|preformatted|konsole", style, re.IGNORECASE):
        return [("fence", f"```\n{paragraph.text.rstrip()}\n```")]
    mark = _docx_mark(paragraph, style, counters)
    return [("item", mark + " ".join(text.split()))] if mark else [("text", text)]


def _docx_mark(paragraph: Any, style: str, counters: dict[tuple[str, str], int]) -> str:
    """Return "- " or the next number of the list the paragraph belongs to, indented by its level; "" for no list."""
    numbering = paragraph._p.pPr.numPr if paragraph._p.pPr is not None else None
    identity = str(numbering.numId.val) if numbering is not None and numbering.numId is not None else ""
    level = int(numbering.ilvl.val) if numbering is not None and numbering.ilvl is not None else 0
    numbered = style.startswith(("List Number", "Listennummer"))
    bulleted = style.startswith(("List Bullet", "Aufzählungszeichen"))
    if not (numbered or bulleted or (identity and identity != "0")):
        return ""
    indent = "  " * min(level, 5)
    if bulleted or (not numbered and not _is_decimal(paragraph, identity, level)):
        return f"{indent}- "
    key = (identity or style, str(level))
    counters[key] = counters.get(key, 0) + 1
    return f"{indent}{counters[key]}. "


def _is_decimal(paragraph: Any, identity: str, level: int) -> bool:
    """Look the list's number format up in the numbering part: decimal and letters count, bullets do not."""
    try:
        root = paragraph.part.numbering_part.element
        space = {"w": "http://schemas.openxmlformats.org/wordprocessingml/2006/main"}
        abstract = root.xpath(f"./w:num[@w:numId='{int(identity)}']/w:abstractNumId/@w:val")
        formats = root.xpath(
            f"./w:abstractNum[@w:abstractNumId='{int(abstract[0])}']/w:lvl[@w:ilvl='{level}']/w:numFmt/@w:val"
        )
        del space
    except (KeyError, IndexError, ValueError, NotImplementedError, AttributeError):
        return False
    return bool(formats) and formats[0] not in {"bullet", "none"}


def _docx_table(table: Any) -> list[tuple[str, str]]:
    rows = []
    for row in table.rows:
        cells: list[str] = []
        previous = None
        for cell in row.cells:
            if cell._tc is previous:  # a merged cell is listed once for each column it spans
                continue
            previous = cell._tc
            cells.append(" ".join(cell.text.split()))
        if any(cells):
            rows.append(("row", "| " + " | ".join(cells) + " |"))
    return rows
