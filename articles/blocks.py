"""The parts of an evidence text: headings, prose, list items, code, tables; and the passages made of them.

A passage is what a brief offers to the author: one paragraph, one list with its introduction, one table, with the
headings it stands under. All positions are offsets in the stored full text. Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from data.text import Span, paragraphs

__all__ = ["BlockKind", "PassageKind", "PassageSpan", "TextBlock", "passage_spans", "text_blocks"]

MAX_PASSAGE: Final = 1_800
"""Characters; a longer list is divided between two items. About a screen: what a reviewer reads at a glance."""
MAX_LEAD: Final = 400
"""Characters of an introducing paragraph that still belongs to the list or code below it."""


class BlockKind(StrEnum):
    HEADING = "heading"
    PROSE = "prose"
    ITEM = "item"
    CODE = "code"
    TABLE = "table"


class PassageKind(StrEnum):
    PROSE = "prose"
    LIST = "list"
    PROCEDURE = "procedure"
    """A numbered list: its order means something."""
    CODE = "code"
    TABLE = "table"


@dataclass(frozen=True, slots=True)
class TextBlock:
    """`start`..`end` is the block's own text, its list mark, heading mark or fence left out."""

    kind: BlockKind
    start: int
    end: int
    outer: Span
    ordered: bool = False
    depth: int = 0
    """Heading level, or indent of a list item in columns."""


@dataclass(frozen=True, slots=True)
class PassageSpan:
    kind: PassageKind
    start: int
    end: int
    headings: tuple[str, ...]


_HEADING: Final = re.compile(r" {0,3}(?P<marks>#{1,6})[ \t]+(?=\S)")
_UNDERLINED: Final = re.compile(r"(?P<title>[^\n]+)\n {0,3}(?:={3,}|-{3,})[ \t]*$")
_ITEM: Final = re.compile(r"(?P<indent>[ \t]*)(?:[-*+•–]|(?P<number>\(?(?:\d{1,3}|[a-zA-Z])[.)]))[ \t]+(?=\S)")
_FENCE: Final = re.compile(r" {0,3}(?:`{3,}|~{3,})[^\n]*\n?")
_FENCE_END: Final = re.compile(r"\n?[ \t]*(?:`{3,}|~{3,})[ \t]*$")
_PROMPT: Final = re.compile(r"(?:\$|%|#|>|[\w.-]+@[\w.-]+:[^\s]*[#$]|C:\\[^\n>]*>) ?(?=[\w./~])")
_SPANNED: Final = re.compile(r"(?P<mark>`{1,2})(?P<code>[^`\n]+)(?P=mark)\s*$")
_SENTENCE_END: Final = re.compile(r"[.!?:]['\"”“)»*_`]{0,3}$")
_CODE_SIGNS: Final = re.compile(r"[={}<>|;\\$]|^\s*[/#]|--\w|\w_\w|\S/\S")


def text_blocks(text: str) -> list[TextBlock]:
    """Return the blocks of `text` in order."""
    return [block for span in paragraphs(text) if (block := _block(text, span)) is not None]


def _block(text: str, span: Span) -> TextBlock | None:
    raw = span.of(text)
    if mark := _FENCE.match(raw):
        start, end = span.start + mark.end(), span.end
        if closing := _FENCE_END.search(text, start, end):
            end = closing.start()
        return TextBlock(BlockKind.CODE, start, end, span) if text[start:end].strip() else None
    if mark := _HEADING.match(raw):
        return TextBlock(BlockKind.HEADING, span.start + mark.end(), span.end, span, depth=len(mark["marks"]))
    if title := _UNDERLINED.match(raw):
        return TextBlock(BlockKind.HEADING, span.start, span.start + title.end("title"), span, depth=2)
    if raw.startswith("|"):
        return TextBlock(BlockKind.TABLE, span.start, span.end, span)
    if (spanned := _SPANNED.match(raw)) and " " in spanned["code"].strip():  # a command in a line of its own
        return TextBlock(BlockKind.CODE, span.start + spanned.start("code"), span.start + spanned.end("code"), span)
    if raw.startswith(("    ", "\t")) or _is_command(raw):
        return TextBlock(BlockKind.CODE, span.start, span.end, span)
    if mark := _ITEM.match(raw):
        indent = len(mark["indent"].expandtabs(4)) + _column(text, span.start)
        return TextBlock(BlockKind.ITEM, span.start + mark.end(), span.end, span, mark["number"] is not None, indent)
    return TextBlock(BlockKind.PROSE, span.start, span.end, span)


def _column(text: str, position: int) -> int:
    # paragraphs() trims the indent of an item; the nesting still shows in the line
    return position - (text.rfind("\n", 0, position) + 1)


def _is_command(raw: str) -> bool:
    """Tell whether an unmarked paragraph is typed text: prompts, or lines of settings without a sentence."""
    lines = raw.splitlines()
    if all(_PROMPT.match(line) for line in lines) and not raw.startswith(("> ", "# ")):
        return True
    if any(_SENTENCE_END.search(line.rstrip()) for line in lines):
        return False
    return len(lines) > 1 and all(_CODE_SIGNS.search(line) and len(line) < 160 for line in lines)


def passage_spans(text: str) -> list[PassageSpan]:
    """Return the passages of `text` in order, without overlaps.

    A paragraph that ends with a colon goes with the list or code below it. Code goes with what stands above it.
    """
    spans: list[PassageSpan] = []
    path: list[tuple[int, str]] = []
    group: list[TextBlock] = []

    def close() -> None:
        if group:
            spans.extend(_passages(group, tuple(title for _, title in path)))
            group.clear()

    for block in text_blocks(text):
        if block.kind is BlockKind.HEADING:
            close()
            while path and path[-1][0] >= block.depth:
                path.pop()
            path.append((block.depth, " ".join(text[block.start : block.end].split())))
            continue
        if group and not _belongs(text, group, block):
            close()
        group.append(block)
    close()
    return spans


def _belongs(text: str, group: Sequence[TextBlock], block: TextBlock) -> bool:
    last = group[-1]
    if block.kind is BlockKind.CODE:
        return True
    if block.kind is BlockKind.ITEM:
        if any(other.kind is BlockKind.ITEM for other in group):
            return True
        return last.kind is BlockKind.PROSE and _introduces(text, last)
    if block.kind is BlockKind.TABLE:
        return last.kind is BlockKind.PROSE and _introduces(text, last)
    # prose: a continuation of an item keeps its indent; code that a sentence introduced ends with its explanation
    return any(other.kind is BlockKind.ITEM for other in group) and _column(text, block.outer.start) > 0


def _introduces(text: str, block: TextBlock) -> bool:
    raw = text[block.start : block.end].rstrip().rstrip("*_")
    return raw.endswith(":") and len(raw) <= MAX_LEAD


def _passages(group: Sequence[TextBlock], headings: tuple[str, ...]) -> list[PassageSpan]:
    """Return one passage for the group, or several where it is too long; never dividing an item from its code."""
    found: list[PassageSpan] = []
    part: list[TextBlock] = []
    for block in group:
        full = part and block.outer.end - part[0].outer.start > MAX_PASSAGE
        if full and block.kind in {BlockKind.ITEM, BlockKind.PROSE}:
            found.append(_passage(part, headings))
            part = []
        part.append(block)
    if part:
        found.append(_passage(part, headings))
    return found


def _passage(blocks: Sequence[TextBlock], headings: tuple[str, ...]) -> PassageSpan:
    kinds = {block.kind for block in blocks}
    if BlockKind.ITEM in kinds:
        ordered = any(block.ordered for block in blocks if block.kind is BlockKind.ITEM)
        kind = PassageKind.PROCEDURE if ordered else PassageKind.LIST
    elif BlockKind.TABLE in kinds:
        kind = PassageKind.TABLE
    elif kinds == {BlockKind.CODE}:
        kind = PassageKind.CODE
    else:
        kind = PassageKind.PROSE
    return PassageSpan(kind, blocks[0].outer.start, blocks[-1].outer.end, headings)
