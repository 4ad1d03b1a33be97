"""Whether a Markdown text reads back as it was meant: fences, tables, headings, raw HTML (pure)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

__all__ = ["markup_faults"]

_FENCE: Final = re.compile(r"^ {0,8}(?P<mark>`{3,}|~{3,})(?P<info>.*)$")
_HEADING: Final = re.compile(r"^(?P<marks>#{1,6})(?P<text>.*)$")
_TAG: Final = re.compile(r"(?<!\\)<(?!https?:|library:|[^>]*:)[a-zA-Z/!][^>]*>")
_CODE_SPAN: Final = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_CELL_BAR: Final = re.compile(r"(?<!\\)\|")


def markup_faults(text: str) -> list[str]:
    """Return a sentence for each fault, in order; empty for a sound text."""
    return list(_faults(text))


def _faults(text: str) -> Iterator[str]:
    lines, open_fence = _outside_code(text)
    level = 0
    cells: int | None = None
    for number, line in lines:
        if match := _HEADING.match(line):
            depth = len(match["marks"])
            if not match["text"].startswith(" ") or not match["text"].strip():
                yield f"line {number}: a heading without text"
            if depth > level + 1:
                yield f"line {number}: heading level {depth} follows level {level}"
            level = depth
        if tag := _TAG.search(_CODE_SPAN.sub("", line)):
            yield f"line {number}: raw HTML {tag.group()}"
        found = len(_CELL_BAR.findall(line)) if line.startswith("| ") else None
        if cells is not None and found is not None and found != cells:
            yield f"line {number}: a table row with {found - 1} cells, not {cells - 1}"
        cells = found
    if open_fence:
        yield "a code block without an end"


def _outside_code(text: str) -> tuple[list[tuple[int, str]], bool]:
    """Return the numbered lines that are no code, and whether a fence stays open."""
    lines = []
    fence = ""
    for number, line in enumerate(text.split("\n"), 1):
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark["mark"]
        elif mark and mark["mark"].startswith(fence) and not mark["info"].strip():
            fence = ""
        elif not fence:
            lines.append((number, line))
    return lines, bool(fence)
