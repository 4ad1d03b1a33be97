"""Elements to text in the form evidence is cited from: headings, steps, commands and tables as they stand there."""

from __future__ import annotations

import re
from typing import Any, Final

from data.characters import word_set

__all__ = ["BLOCKS", "render"]

BLOCKS: Final = word_set(
    """
    address article aside blockquote body caption center dd details dir div dl dt fieldset figcaption figure
    footer form h1 h2 h3 h4 h5 h6 header hr legend li main menu nav ol p pre section summary table tbody td
    tfoot th thead tr ul
    """
)
"""Elements that begin a line of their own."""

_HEADINGS: Final = {f"h{level}": level for level in range(1, 7)}


class _Writer:
    """Collects blocks of text and joins them: list items and table rows by lines, everything else by blank lines."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.last = ""

    def add(self, kind: str, text: str, *, fresh: bool = False) -> None:
        if not text.strip():
            return
        tight = kind == self.last and kind in {"item", "row"} and not fresh
        if self.parts:
            self.parts.append("\n" if tight else "\n\n")
        self.parts.append(text)
        self.last = kind

    def text(self) -> str:
        return "".join(self.parts)


_CODE_TAGS: Final = frozenset({"code", "kbd", "samp", "tt"})
_CODE_LENGTH: Final = 200
_BREAK: Final = "\x1e"  # stands for `br` until white space is collapsed; never in a text (control characters are out)


def render(container: Any) -> str:
    writer = _Writer()
    try:
        _flow(container, writer, depth=0)
    except RecursionError:  # nested by hundreds of tags: the words are kept, the form is not
        return "\n\n".join(filter(None, (" ".join(text.split()) for text in container.itertext())))
    return writer.text()


def _flow(element: Any, writer: _Writer, *, depth: int, lead: str = "") -> None:
    """Render the children of `element`; runs of inline content become paragraphs, the first one behind `lead`.

    `depth` is the nesting of lists, two spaces a level.
    """
    run: list[str] = [element.text or ""]

    def close() -> None:
        nonlocal lead
        text = _tidy("".join(run))
        run.clear()
        if text:
            kind = "item" if lead else "text"
            writer.add(
                *(
                    ("code", f"```\n{text}\n```")
                    if kind == "text" and _looks_like_heading(text)
                    else (kind, lead + text)
                )
            )
            lead = ""

    for child in element:
        if not isinstance(child.tag, str):
            run.append(child.tail or "")
        elif child.tag == "br":
            run.append(_BREAK + (child.tail or ""))
        elif child.tag in BLOCKS or (len(child) and _holds_blocks(child)):
            if (
                child.tag in {"p", "div", "section", "span", "a", "font", "center"}
                and lead
                and not "".join(run).strip()
            ):
                run.clear()
                _block(child, writer, depth=depth, lead=lead)
                lead = ""
            else:
                close()
                _block(child, writer, depth=depth)
            run.append(child.tail or "")
        else:
            run.append(_inline(child) + (child.tail or ""))
    close()


def _holds_blocks(element: Any) -> bool:
    return any(inner.tag in BLOCKS for inner in element.iter("*") if inner is not element)


def _looks_like_heading(text: str) -> bool:
    """A paragraph such as "# postfix reload" is a command, and would read as a heading."""
    return re.match(r"#{1,6}[ \t]", text) is not None


def _inline(element: Any) -> str:
    """Return the inline text of `element` with its white space as it is and `br` as the break mark."""
    whole = "".join(element.itertext()).strip()
    if element.tag == "sup" and re.fullmatch(r"\[?\d{1,3}\]?", whole) and element.find(".//a") is not None:
        return ""  # a footnote's mark
    if element.tag == "a" and whole in {"¶", "#", "§", "🔗"}:
        return ""
    parts = [element.text or ""]
    for child in element:
        if isinstance(child.tag, str):
            parts.append(_BREAK if child.tag == "br" else _inline(child))
        parts.append(child.tail or "")
    text = "".join(parts)
    return _quoted(text) if element.tag in _CODE_TAGS else text


def _quoted(text: str) -> str:
    """Return inline code between backticks, as it is cited; what is no piece of one line stays as it is."""
    core = text.strip()
    if not core or len(core) > _CODE_LENGTH or "`" in core or _BREAK in core or "\n\n" in core:
        return text
    return text.replace(core, f"`{core}`", 1)


def _tidy(text: str) -> str:
    """Collapse white space; a line ends only where the page has a `br`."""
    lines = [" ".join(line.split()) for line in text.split(_BREAK)]
    return "\n".join(line for line in lines if line)


def _block(element: Any, writer: _Writer, *, depth: int, lead: str = "") -> None:
    tag = element.tag
    if tag in _HEADINGS:
        text = " ".join(_tidy(_inline(element)).split())
        if text:
            writer.add("heading", f"{'#' * _HEADINGS[tag]} {text}")
    elif tag == "pre":
        writer.add("code", _code(element))
    elif tag in {"ul", "ol", "menu", "dir"}:
        _list(element, writer, depth=depth)
    elif tag == "table":
        _table(element, writer, depth=depth)
    elif tag == "hr":
        writer.last = ""
    else:
        _flow(element, writer, depth=depth, lead=lead)


def _code(element: Any) -> str:
    for line_break in element.iter("br"):
        line_break.tail = "\n" + (line_break.tail or "")
    text = "".join(element.itertext()).replace("\r\n", "\n").replace("\r", "\n")
    lines = [line.rstrip() for line in text.split("\n")]
    while lines and not lines[0]:
        lines.pop(0)
    while lines and not lines[-1]:
        lines.pop()
    if not lines:
        return ""
    fence = "`" * max(
        3, 1 + max((len(run) for run in re.findall(r"^`{3,}", "\n".join(lines), re.MULTILINE)), default=2)
    )
    return "\n".join([fence, *lines, fence])


def _list(element: Any, writer: _Writer, *, depth: int) -> None:
    ordered = element.tag == "ol"
    start = element.get("start") or ""
    number = int(start) if re.fullmatch(r"-?\d{1,6}", start) else 1
    fresh = depth == 0
    for child in element:
        if not isinstance(child.tag, str):
            continue
        if child.tag in {"ul", "ol"}:  # a list in a list without an item, as editors make them
            _list(child, writer, depth=depth + 1)
            continue
        value = child.get("value") or ""
        if ordered and re.fullmatch(r"-?\d{1,6}", value):
            number = int(value)
        mark = f"{number}. " if ordered else "- "
        if fresh:
            writer.last = ""
            fresh = False
        _flow(child, writer, depth=depth + 1, lead="  " * depth + mark)
        number += 1
    if depth == 0:
        writer.last = ""


def _table(element: Any, writer: _Writer, *, depth: int) -> None:
    rows = [row for row in element.iter("tr") if next((a for a in row.iterancestors("table")), None) is element]
    cells = [[cell for cell in row if cell.tag in {"td", "th"}] for row in rows]
    widest = max((len(row) for row in cells), default=0)
    if widest < 2 or any(_is_layout(cell) for row in cells for cell in row):
        _flow_table(element, cells, writer, depth=depth)
        return
    caption = element.find("caption")
    if caption is not None:
        writer.add("text", " ".join(_tidy(_inline(caption)).split()))
    writer.last = ""
    for index, row in enumerate(cells):
        texts = [" ".join(_tidy(_inline(cell)).split()) for cell in row]
        if not any(texts):
            continue
        texts += [""] * (widest - len(texts))
        writer.add("row", "| " + " | ".join(texts) + " |")
        if index == 0 and all(cell.tag == "th" for cell in row):
            writer.add("row", "|" + "---|" * widest)
    writer.last = ""


def _flow_table(element: Any, cells: list[list[Any]], writer: _Writer, *, depth: int) -> None:
    caption = element.find("caption")
    if caption is not None:
        _flow(caption, writer, depth=depth)
    for row in cells:
        for cell in row:
            if "linenos" not in (cell.get("class") or ""):  # the column of line numbers beside code
                _flow(cell, writer, depth=depth)


def _is_layout(cell: Any) -> bool:
    """A cell with code, headings, a table or long lists in it is part of a layout, not of a table."""
    return (
        cell.find(".//pre") is not None
        or cell.find(".//table") is not None
        or any(cell.find(f".//{tag}") is not None for tag in ("h1", "h2", "h3", "h4"))
    )
