"""Approved articles in the form that others read: Markdown, an Obsidian vault, a web site, JSON (spec 06, "Export")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final

from articles.export_folder import MANIFEST, ExportFile, ExportReport, OtherFormat, export_folder, names_in
from articles.export_items import ExportItem, ExportLink
from articles.export_json import json_file, json_index
from articles.export_markdown import markdown_file, obsidian_note

__all__ = ["MANIFEST", "ExportFormat", "ExportItem", "ExportLink", "ExportReport", "OtherFormat", "export_to"]


class ExportFormat(StrEnum):
    MARKDOWN = "markdown"
    OBSIDIAN = "obsidian"
    HTML = "html"
    JSON = "json"


_SUFFIX: Final = {
    ExportFormat.MARKDOWN: ".md",
    ExportFormat.OBSIDIAN: ".md",
    ExportFormat.HTML: ".html",
    ExportFormat.JSON: ".json",
}


def export_to(
    directory: Path, format: ExportFormat, exported: Sequence[ExportItem], failed: Mapping[str, str]
) -> ExportReport:
    """Bring `directory` to what `exported` says; blocking.

    failed: article id to why it could not be read; its file stays. Raises OtherFormat where the folder holds
    another format, OSError where it cannot be written.
    """
    titles = {item.article_id: item.content.title for item in exported}
    names = names_in(directory, format, titles, _SUFFIX[format])
    files = [
        ExportFile(names[item.article_id], _content(format, item, names), item.article_id, item.revision)
        for item in exported
    ]
    return export_folder(directory, format, [*files, *_shared(format, exported, names)], failed)


def _content(format: ExportFormat, item: ExportItem, names: Mapping[str, str]) -> bytes:
    match format:
        case ExportFormat.MARKDOWN:
            return markdown_file(item)
        case ExportFormat.OBSIDIAN:
            return obsidian_note(item, names)
        case ExportFormat.JSON:
            return json_file(item, names)
        case ExportFormat.HTML:
            from articles.export_html import html_page

            return html_page(item, names)


def _shared(format: ExportFormat, exported: Sequence[ExportItem], names: Mapping[str, str]) -> list[ExportFile]:
    """Return the files that belong to no single article."""
    by_name = {names[item.article_id]: item for item in exported}
    if format is ExportFormat.JSON:
        return [ExportFile("index.json", json_index(by_name))]
    if format is ExportFormat.HTML:
        from articles.export_html import site_files

        return [ExportFile(name, content) for name, content in site_files(by_name).items()]
    return []
