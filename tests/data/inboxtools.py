"""Real files for tests of the inbox."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence

__all__ = ["docx_bytes", "pdf_bytes", "zip_bytes"]


def zip_bytes(parts: Mapping[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return packed.getvalue()


def docx_bytes(title: str, paragraphs: Sequence[str]) -> bytes:
    """Return a Word document; a paragraph that begins with "# " or "## " is a heading."""
    import docx

    document = docx.Document()
    document.core_properties.title = title
    for text in paragraphs:
        mark = len(text) - len(text.lstrip("#"))
        if mark:
            document.add_heading(text[mark:].strip(), level=mark)
        else:
            document.add_paragraph(text)
    packed = io.BytesIO()
    document.save(packed)
    return packed.getvalue()


def pdf_bytes(lines: Sequence[str]) -> bytes:
    """Return a PDF with one page that shows `lines`."""
    from pypdf import PdfWriter
    from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

    writer = PdfWriter()
    page = writer.add_blank_page(612, 792)
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
        }
    )
    fonts = DictionaryObject({NameObject("/F1"): writer._add_object(font)})
    page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
    content = DecodedStreamObject()
    shown = " ".join(f"({line}) Tj 0 -16 Td" for line in lines)
    content.set_data(f"BT /F1 12 Tf 72 720 Td {shown} ET".encode("latin-1"))
    page[NameObject("/Contents")] = writer._add_object(content)
    packed = io.BytesIO()
    writer.write(packed)
    return packed.getvalue()
