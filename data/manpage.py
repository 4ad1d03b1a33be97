"""Manual pages kept as one preformatted block: headings, paragraphs and examples in the common text form.

Such a page has its headings in capitals at the left edge and its text indented and filled to the terminal's width,
often with words divided at line ends.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from typing import Final

from data.characters import fold, word_set

__all__ = ["read_manual"]

_FENCE: Final = re.compile(r"\A```\n(?P<body>.*)\n```\s*\Z", re.DOTALL)
_TOP: Final = re.compile(r"^(?P<name>\S+\(\d\w*\))\s.*\s(?P=name)$")
_HEADING: Final = re.compile(r"^[^\W\d_a-zäöü][^a-zäöü\n]{2,70}$")
_LEAD: Final = word_set("name bezeichnung synopsis übersicht description beschreibung")
_APPENDIX: Final = word_set(
    "see also siehe auch author authors author(s) autor autoren license lizenz copyright readme files"
)
"""Words of the sections that only point elsewhere; a section of nothing else is left out."""
_FILLED: Final = 52
"""Mean length from which on lines are filled text; examples and tables are shorter."""


def read_manual(text: str) -> str | None:
    """Return a manual page as headings and paragraphs, None for a text that is none."""
    match = _FENCE.match(text.strip())
    if match is None:
        return None
    lines = match["body"].split("\n")
    while lines and not lines[0].strip():
        lines.pop(0)
    heads = [number for number, line in enumerate(lines) if _HEADING.match(line) and not _TOP.match(line)]
    if not lines or len(heads) < 3 or not any(line.startswith("  ") for line in lines):
        return None
    blocks = _blocks(lines[1 if _TOP.match(lines[0]) else 0 : heads[0]])
    leading = True
    for start, end in zip(heads, [*heads[1:], len(lines)], strict=True):
        words = fold(lines[start]).split()
        if _APPENDIX.issuperset(words):
            continue
        leading = leading and _LEAD.issuperset(words)
        if not leading:  # what it is and does is the page's own text
            blocks.append(f"## {' '.join(lines[start].split())}")
        blocks.extend(_blocks(line for line in lines[start + 1 : end] if not _TOP.match(line)))
    return "\n\n".join(filter(None, blocks))


def _blocks(lines: Iterable[str]) -> list[str]:
    """Return the paragraphs of indented lines; what is not filled text stays as it is, in a fence if aligned."""
    text = textwrap.dedent("\n".join(lines))
    return [_block(block) for block in re.split(r"\n\s*\n", text.strip("\n")) if block.strip()]


def _block(block: str) -> str:
    text = _text_of(block)
    # An option called "#" would read as a heading.
    return f"```\n{textwrap.dedent(block)}\n```" if re.search(r"^#{1,6}\s", text, re.MULTILINE) else text


def _text_of(block: str) -> str:
    """Return filled lines as one, behind the term they explain; other lines as they are."""
    lines = block.split("\n")
    rest = lines[1:] if len(lines) > 1 and _indent(lines[1]) > _indent(lines[0]) else lines
    term = lines[: len(lines) - len(rest)]
    if len({_indent(line) for line in rest}) == 1 and (
        len(rest) == 1 or sum(map(len, rest[:-1])) / (len(rest) - 1) >= _FILLED
    ):
        return "\n".join([*(" ".join(line.split()) for line in term), _joined(rest)])
    if any(re.search(r"\S {3,}\S", line) for line in lines) or len({_indent(line) for line in lines}) > 1:
        return f"```\n{textwrap.dedent(block)}\n```"
    return "\n".join(line.strip() for line in lines)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _joined(lines: list[str]) -> str:
    text = ""
    for line in (" ".join(line.split()) for line in lines):
        if re.search(r"[^\W\d_]-$", text) and line[:1].islower():
            text = text[:-1] + line
        else:
            text = f"{text} {line}" if text else line
    return text
