"""Paragraphs and sentences as spans of a text, never as copies: what is cited must stand there verbatim.

The text form is that of data/extract.py: blank lines between paragraphs, "# " headings, one list item a line,
code in fences or indented. Two languages' abbreviations and ordinals are known; nothing is ever rewritten.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from data.characters import word_set

__all__ = ["Span", "paragraphs", "sentences"]


@dataclass(frozen=True, slots=True)
class Span:
    """Half-open range of characters; `text[start:end]` is the span's text."""

    start: int
    end: int

    def of(self, text: str) -> str:
        return text[self.start : self.end]


_HEADING: Final = re.compile(r" {0,3}#{1,6}[ \t]+\S")
_ITEM: Final = re.compile(r"[ \t]*(?:[-*+•–]|\(?\d{1,3}[.)]|\(?[a-zA-Z][.)])[ \t]+(?=\S)")
_FENCE: Final = re.compile(r" {0,3}(?P<mark>`{3,}|~{3,})")
_ROW: Final = re.compile(r"[ \t]*\|")
_CODE: Final = re.compile(r"(?: {4,}|\t)[ \t]*\S")
_UNDERLINE: Final = re.compile(r" {0,3}(?:={3,}|-{3,})[ \t]*$")
_HEAD_MARK: Final = re.compile(r" {0,3}#{1,6}[ \t]+")


@dataclass(slots=True)
class _Block:
    kind: str  # text, heading, item, code, fence, table
    start: int
    end: int


def _lines(text: str) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of each line without its newline."""
    start = 0
    while start < len(text):
        end = text.find("\n", start)
        if end < 0:
            end = len(text)
        yield start, end
        start = end + 1


def _line_kind(text: str, start: int, end: int, previous: _Block | None, after_blank: bool) -> str:
    line = text[start:end]
    if _FENCE.match(line):
        return "fence"
    if _HEADING.match(line):
        return "heading"
    indented = bool(_CODE.match(line))
    if indented and previous is not None and previous.kind == "code":
        return "code"
    item = _ITEM.match(line)
    in_list = previous is not None and previous.kind == "item"
    if indented and after_blank and not in_list:
        return "code"
    if item and (not indented or in_list):
        return "item"
    if _ROW.match(line):
        return "table"
    return "text"


def _blocks(text: str) -> list[_Block]:
    """Return the blocks of `text` in order; blank lines belong to none, except inside of code."""
    blocks: list[_Block] = []
    fence = ""
    blank = True
    for start, end in _lines(text):
        line = text[start:end]
        last = blocks[-1] if blocks else None
        if fence:
            assert last is not None
            last.end = end
            if line.strip().startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
            continue
        if not line.strip():
            blank = True
            continue
        kind = _line_kind(text, start, end, last, blank)
        if kind == "fence":
            mark = _FENCE.match(line)
            assert mark is not None
            fence = mark["mark"]
            blocks.append(_Block("fence", start, end))
        elif last is None or kind in {"heading", "item"} or last.kind == "heading":
            blocks.append(_Block(kind, start, end))
        elif kind == "code" and last.kind == "code":
            last.end = end
        elif kind == "text" and not blank and last.kind == "text" and _UNDERLINE.match(line):
            last.kind, last.end = ("heading" if "\n" not in text[last.start : last.end] else last.kind), end
        elif not blank and (kind == last.kind or (kind == "text" and last.kind == "item")):
            last.end = end
        else:
            blocks.append(_Block(kind, start, end))
        blank = False
    return blocks


def _trimmed(text: str, start: int, end: int) -> Span | None:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return Span(start, end) if end > start else None


def paragraphs(text: str) -> list[Span]:
    """Return the paragraphs of `text`: a heading, a list item, a table and a block of code are one each.

    Spans are in order, do not overlap, and hold every character that is not white space. Code keeps its indent.
    """
    spans = []
    for block in _blocks(text):
        if block.kind == "code":
            spans.append(Span(block.start, block.end))
        elif span := _trimmed(text, block.start, block.end):
            spans.append(span)
    return spans


_ABBREVIATIONS: Final = word_set(
    """
    bzw ca vgl nr no nos abb tab kap dr prof dipl ing hr fr st str tel ggf evtl gem inkl incl exkl excl zzgl max
    min mind sog vs fig figs eq sec ch vol pp pg approx resp cf viz al ed eds mr mrs ms jr sr inc ltd corp co
    dept est ext art abs anm aufl bd ff hrsg jh mio mrd std sek tsd usf usw etc allg bes bspw einschl entspr erg
    lt rd sept okt nov dez jan feb apr aug oct dec
    """
)
_MAYBE_FINAL: Final = word_set("usw usf etc no inc ltd co al ff std sek max min art")
"""Abbreviations that also end sentences: a capital after them begins a new one."""
_ORDINAL_LEAD: Final = word_set(
    """
    der die das dem den des im am vom zum zur beim ab bis seit dieser diesem diesen jeder jedem jeden und oder
    ins
    """
)
_END: Final = re.compile(r"[.!?…]+[\"'”“»«)\]’*_`]{0,3}(?=\s)")
_STARTS_LOW: Final = re.compile(r"[a-zäöüß]")
_LAST_WORD: Final = re.compile(r"([^\W_]+(?:\.[^\W_]+)*)$")


def _ends_sentence(text: str, start: int, mark: re.Match[str], limit: int) -> bool:
    """Tell whether the full stop at `mark` ends a sentence that began at `start`."""
    following = mark.end()
    while following < limit and text[following].isspace():
        following += 1
    if following >= limit:
        return True
    if _STARTS_LOW.match(text[following]):
        return False
    if mark.group()[0] != "." or mark.group().startswith(("..", ".!", ".?")):
        return True
    word_match = _LAST_WORD.search(text, max(start, mark.start() - 40), mark.start())
    word = word_match.group(1).lower() if word_match else ""
    if word.isdigit() and len(word) <= 2:
        before = text[max(start, mark.start() - 40) : mark.start() - len(word)].rsplit(None, 1)
        lead = before[-1].lower() if before else ""
        return lead not in _ORDINAL_LEAD and bool(before) and not text[following].isdigit()
    if word in _MAYBE_FINAL:
        return text[following].isupper()
    if "." in word:  # "z.B", "u.s", but not "main.cf"
        return any(len(part) > 1 or part.isdigit() for part in word.split("."))
    return len(word) != 1 and word not in _ABBREVIATIONS


def _split(text: str, start: int, end: int) -> Iterator[Span]:
    begin = start
    for mark in _END.finditer(text, start, end):
        if mark.start() < begin or not _ends_sentence(text, begin, mark, end):
            continue
        if span := _trimmed(text, begin, mark.end()):
            yield span
        begin = mark.end()
    if span := _trimmed(text, begin, end):
        yield span


def sentences(text: str) -> list[Span]:
    """Return the sentences of `text` in order, without overlaps, within paragraphs.

    The marks of headings and list items stay outside, so that a span reads as a sentence; each line of code and
    each table row is one; a full stop after an abbreviation or an ordinal ends nothing.
    """
    spans: list[Span] = []
    for block in _blocks(text):
        if block.kind in {"code", "fence", "table"}:
            for start, end in _lines(text[block.start : block.end]):
                span = _trimmed(text, block.start + start, block.start + end)
                rule = block.kind == "table" and span and not re.search(r"\w", span.of(text))
                if span and not rule and not (block.kind == "fence" and _FENCE.match(span.of(text))):
                    spans.append(span)
            continue
        start = block.start
        mark = (_HEAD_MARK if block.kind == "heading" else _ITEM).match(text, start, block.end)
        if mark and block.kind in {"heading", "item"}:
            start = mark.end()
        if block.kind == "heading":
            line_end = text.find("\n", start, block.end)
            if span := _trimmed(text, start, block.end if line_end < 0 else line_end):
                spans.append(span)
        else:
            spans.extend(_split(text, start, block.end))
    return spans
