"""Markdown and plain text in the common text form: front matter read, hidden parts and inline marks taken off.

What remains is what a reader of the rendered text sees, so that a sentence cited from it reads as one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

__all__ = ["PlainDocument", "read_markdown", "read_plain"]


@dataclass(frozen=True, slots=True)
class PlainDocument:
    text: str
    title: str = ""
    front: dict[str, str] = field(default_factory=dict)
    """Keys of the front matter, lower case: title, date, language, publisher, author, class, source, tags, …"""
    hidden: str = ""


_FRONT: Final = re.compile(r"\A(?P<mark>---|\+\+\+)[ \t]*\n(?P<body>.*?)\n(?P=mark)[ \t]*(?:\n|\Z)", re.DOTALL)
_PAIR: Final = re.compile(r"^(?P<key>[A-Za-z][\w -]{0,40}?)[ \t]*[:=][ \t]*(?P<value>.*)$")
_COMMENT: Final = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_ACTIVE: Final = re.compile(
    r"<(script|style|iframe|object|template|svg)\b.*?(?:</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE
)
_HIDDEN_TAG: Final = re.compile(
    r"<(?P<tag>span|div|p|font)\b[^>]*(?:display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0|\bhidden\b)[^>]*>"
    r".*?(?:</(?P=tag)\s*>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_HTML_TAG: Final = re.compile(
    r"</?(?:a|abbr|b|big|br|center|code|details|div|em|font|h[1-6]|hr|i|img|kbd|li|mark|ol|p|pre|s|samp|small|span|"
    r"strong|sub|summary|sup|table|tbody|td|th|thead|tr|tt|u|ul|var)\b[^<>]*>",
    re.IGNORECASE,
)
_FENCE: Final = re.compile(r"^ {0,3}(?P<mark>`{3,}|~{3,})")
_IMAGE: Final = re.compile(r"!\[([^\]\n]{0,300})\]\([^()\n]{0,1000}(?:\([^()\n]{0,200}\)[^()\n]{0,200})?\)")
_LINK: Final = re.compile(
    r"\[([^\]\n]{1,500})\](?:\([^()\n]{0,1000}(?:\([^()\n]{0,200}\)[^()\n]{0,200})?\)|\[[^\]\n]{0,100}\])"
)
_REFERENCE: Final = re.compile(r"^ {0,3}\[[^\]\n]{1,100}\]:[ \t]*\S+.*$")
_AUTOLINK: Final = re.compile(r"<((?:https?://|mailto:)[^<>\s]{1,500})>")
_STRONG: Final = re.compile(r"(?<![\w*])(\*\*|__)(?=\S)(.{1,500}?)(?<=\S)\1(?![\w*])")
_EMPHASIS: Final = re.compile(r"(?<![\w*])\*(?=[^\s*])([^*\n]{1,300}?)(?<=[^\s*])\*(?![\w*])")
_CODE_SPAN: Final = re.compile(r"(?<!`)(`{1,2})(?!`)([^`\n]{1,500}?)\1(?!`)")
_ESCAPED: Final = re.compile(r"\\([\\`*_{}\[\]()#+.!|<>~-])")
_CLOSED_HEADING: Final = re.compile(r"^( {0,3}#{1,6}[ \t]+.*?)[ \t]+#+[ \t]*$")
_UNDERLINE: Final = re.compile(r"^ {0,3}(=+|-{2,})[ \t]*$")


def read_plain(text: str) -> PlainDocument:
    """Return plain text with underlined titles as headings; everything else stays as it is."""
    lines = _underlined_to_hashes(text.split("\n"))
    return PlainDocument(_squeezed(lines), _first_title(lines))


def read_markdown(text: str) -> PlainDocument:
    """Return Markdown without front matter, comments, embedded HTML and inline marks; code stays literally."""
    front: dict[str, str] = {}
    match = _FRONT.match(text)
    if match:
        front = _front_matter(match["body"])
        text = text[match.end() :]
    hidden: list[str] = []
    lines: list[str] = []
    for is_code, part in _parts(text):
        if is_code:
            lines.extend(part.split("\n"))
        else:
            lines.extend(_visible(part, hidden).split("\n"))
    lines = _underlined_to_hashes(lines)
    title = front.get("title") or _first_title(lines)
    return PlainDocument(_squeezed(lines), title, front, " ".join(hidden))


def _front_matter(body: str) -> dict[str, str]:
    """Read the flat `key: value` (or `key = "value"`) lines; nested values are kept as they are written."""
    found: dict[str, str] = {}
    for line in body.split("\n"):
        match = _PAIR.match(line)
        if match:
            value = match["value"].strip().strip("\"'").strip()
            found.setdefault(match["key"].strip().lower(), value)
    return found


def _parts(text: str) -> list[tuple[bool, str]]:
    """Split into (is code, text): fenced blocks and everything between them."""
    parts: list[tuple[bool, str]] = []
    current: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            current.append(line)
            if mark and mark["mark"].startswith(fence) and not line.strip().strip(fence[0]):
                parts.append((True, "\n".join(current)))
                current, fence = [], ""
        elif mark:
            if current:
                parts.append((False, "\n".join(current)))
            current, fence = [line], mark["mark"]
        else:
            current.append(line)
    if current:
        parts.append((bool(fence), "\n".join(current)))
    return parts


def _visible(text: str, hidden: list[str]) -> str:
    """Take off what a reader does not see, and the marks of what is seen."""

    def note(match: re.Match[str]) -> str:
        hidden.append(re.sub(r"<!--|-->|<[^<>]*>", " ", match.group()).strip())
        return ""

    text = _COMMENT.sub(note, text)
    text = _ACTIVE.sub("", text)
    text = _HIDDEN_TAG.sub(note, text)
    text = _HTML_TAG.sub("", text)
    lines = []
    for line in text.split("\n"):
        if _REFERENCE.match(line):
            continue
        if line.startswith(("    ", "\t")) and not re.match(r"\s*(?:[-*+]|\d+[.)])\s", line):
            lines.append(line)
            continue
        lines.append(_unmarked(line))
    return "\n".join(lines)


def _unmarked(line: str) -> str:
    """Take inline marks off one line, but for those of code; what stands in code spans is not looked into."""
    kept: list[str] = []

    def keep(match: re.Match[str]) -> str:
        kept.append(f"{match[1]}{match[2].strip()}{match[1]}" if match[2].strip() else "")
        return f"\x00{len(kept) - 1}\x00"

    line = _CODE_SPAN.sub(keep, line.replace("\x00", ""))
    line = _IMAGE.sub("", line)
    line = _LINK.sub(r"\1", line)
    line = _AUTOLINK.sub(r"\1", line)
    for _ in range(2):
        line = _STRONG.sub(r"\2", line)
    line = _EMPHASIS.sub(r"\1", line)
    line = _CLOSED_HEADING.sub(r"\1", line)
    line = _ESCAPED.sub(r"\1", line)
    return re.sub(r"\x00(\d+)\x00", lambda match: kept[int(match[1])], line)


def _underlined_to_hashes(lines: list[str]) -> list[str]:
    """Turn "Title" over "=====" into "# Title", outside of fences, where the title is a paragraph of one line."""
    result: list[str] = []
    fence = ""
    for line in lines:
        mark = _FENCE.match(line)
        if fence:
            if mark and mark["mark"].startswith(fence):
                fence = ""
        elif mark:
            fence = mark["mark"]
        else:
            under = _UNDERLINE.match(line)
            alone = len(result) < 2 or not result[-2].strip() or result[-2].startswith("#")
            titled = bool(result) and 0 < len(result[-1].strip()) <= 120 and result[-1][:1] not in "#|>-*+ \t"
            if under and titled and alone and (under[1][0] == "=" or len(under[1]) >= min(3, len(result[-1].strip()))):
                result[-1] = f"{'#' if under[1][0] == '=' else '##'} {result[-1].strip()}"
                continue
        result.append(line)
    return result


def _first_title(lines: list[str]) -> str:
    for line in lines[:40]:
        match = re.match(r" {0,3}#{1,2}[ \t]+(\S.*)", line)
        if match:
            return match[1].strip()[:300]
    first = next((line.strip() for line in lines if line.strip()), "")
    return first[:300] if len(first) <= 120 and not first.endswith((".", ",", ";")) else ""


def _squeezed(lines: list[str]) -> str:
    """Join lines without trailing blanks and with at most one empty line in a row (code keeps its own)."""
    result: list[str] = []
    fence = ""
    for line in lines:
        mark = _FENCE.match(line)
        if mark and (not fence or mark["mark"].startswith(fence)):
            fence = "" if fence else mark["mark"]
        text = line.rstrip()
        if text or fence or (result and result[-1]):
            result.append(text)
    return "\n".join(result).strip("\n")
