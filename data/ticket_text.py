"""Values of an export as text: HTML, Jira's markup and its document tree become paragraphs, lists and code."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from typing import Any, Final

from data.characters import normalise, word_set

__all__ = ["as_line", "as_text", "html_to_text"]

_TAG: Final = re.compile(
    r"</?(?:p|br|div|span|b|i|u|strong|em|a|ul|ol|li|table|t[rdh]|tbody|thead|h[1-6]|pre|code|blockquote|img|font|hr|html"
    r"|body|head|style|script)\b[^<>]*>",
    re.IGNORECASE,
)
_ESCAPED_TAG: Final = re.compile(
    r"&(?:lt|#60|#0?60);/?(?:p|br|div|span|strong|b|ul|ol|li|table)\b[^&]{0,200}(?:&|>)", re.IGNORECASE
)
_DEPTH: Final = 40
_NAMES: Final = ("display_value", "displayName", "name", "value", "title", "completename", "key", "body", "content")
"""Where an object in an export keeps what a person reads of it, in this order."""


def as_text(value: Any) -> str:
    """Return a value as clean text of several lines; markup is turned into text, objects into what they are named."""
    text = _plain(value, 0)
    if _ESCAPED_TAG.search(text) and not _TAG.search(text):
        text = html.unescape(text)  # GLPI escapes its HTML once more
    if _TAG.search(text):
        text = html_to_text(text)
    elif "{code" in text or "{noformat" in text or re.search(r"^h[1-6]\. ", text, re.MULTILINE):
        text = _jira(text)
    elif "&" in text:
        text = html.unescape(text)
    lines = [line.rstrip() for line in normalise(text).replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def as_line(value: Any) -> str:
    """Return a value as one line."""
    return " ".join(as_text(value).split())


def _plain(value: Any, depth: int) -> str:
    if isinstance(value, str):
        return value
    if value is None or depth > _DEPTH:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, list):
        parts = [_plain(item, depth + 1) for item in value[:100]]
        blocks = any("\n" in part or len(part) > 60 for part in parts) or any(
            isinstance(item, dict) and "body" in item for item in value
        )
        return ("\n\n" if blocks else ", ").join(filter(None, parts))
    if isinstance(value, dict):
        if value.get("type") == "doc" and isinstance(value.get("content"), list):
            return _tree(value, 0).strip()
        return next((text for name in _NAMES if (text := _plain(value.get(name), depth + 1))), "")
    return ""


def _tree(node: Any, depth: int) -> str:
    """Return the text of Jira's document tree (Atlassian Document Format)."""
    if not isinstance(node, dict) or depth > _DEPTH:
        return ""
    kind = node.get("type")
    content = node.get("content")
    inner = [_tree(child, depth + 1) for child in content] if isinstance(content, list) else []
    attrs = node.get("attrs") if isinstance(node.get("attrs"), dict) else {}
    if kind == "text":
        return str(node.get("text", ""))
    if kind == "hardBreak":
        return "\n"
    if kind == "codeBlock":
        return f"```\n{''.join(inner)}\n```\n\n"
    if kind == "heading":
        level = attrs.get("level", 2) if attrs else 2
        return f"{'#' * level if isinstance(level, int) and 0 < level < 7 else '##'} {''.join(inner)}\n\n"
    if kind in {"bulletList", "orderedList"}:
        marks = [f"{number}. " if kind == "orderedList" else "- " for number in range(1, len(inner) + 1)]
        return "\n".join(mark + " ".join(item.split()) for mark, item in zip(marks, inner, strict=True)) + "\n\n"
    if kind in {"mention", "emoji", "inlineCard"} and attrs:
        return str(attrs.get("text") or attrs.get("shortName") or attrs.get("url") or "")
    text = "".join(inner)
    return f"{text}\n\n" if kind in {"paragraph", "blockquote", "panel", "tableRow"} else text


def _jira(text: str) -> str:
    """Turn Jira's wiki marks for code and headings into the common form; the rest reads well as it is."""
    text = re.sub(
        r"\{(code|noformat)(?::[^{}\n]{0,80})?\}\n?(.*?)\n?\{\1\}",
        lambda match: f"\n```\n{match[2]}\n```\n",
        text,
        flags=re.DOTALL,
    )
    return re.sub(r"^h([1-6])\. +", lambda match: f"{'#' * int(match[1])} ", text, flags=re.MULTILINE)


_BLOCK: Final = word_set("p div table tr ul ol blockquote section article h1 h2 h3 h4 h5 h6 pre hr body dl dt dd")
_DROPPED: Final = word_set("script style head title template noscript iframe object svg")


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.dropped = 0
        self.code = 0
        self.lists: list[int] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        if tag in _DROPPED:
            self.dropped += 1
        elif tag == "br":
            self.parts.append("\n")
        elif tag == "li":
            number = self.lists[-1] if self.lists else -1
            if number >= 0 and self.lists:
                self.lists[-1] += 1
            self.parts.append(f"\n{number + 1}. " if number >= 0 else "\n- ")
        elif tag in {"td", "th"}:
            self.parts.append(" | ")
        elif tag == "pre":
            self.code += 1
            self.parts.append("\n\n```\n")
        elif tag in _BLOCK:
            if tag in {"ul", "ol"}:
                self.lists.append(0 if tag == "ol" else -1)
            if not (self.parts and re.fullmatch(r"\n(?:-|\d+\.) ", self.parts[-1])):  # a paragraph in a list item
                self.parts.append("\n\n" if tag != "tr" else "\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in _DROPPED:
            self.dropped = max(0, self.dropped - 1)
        elif tag == "pre":
            self.code = max(0, self.code - 1)
            self.parts.append("\n```\n\n")
        elif tag in _BLOCK:
            if tag in {"ul", "ol"} and self.lists:
                self.lists.pop()
            self.parts.append("\n\n" if tag not in {"tr", "div"} else "\n")

    def handle_data(self, data: str) -> None:
        if self.dropped:
            return
        if self.code:
            self.parts.append(data)
            return
        text = re.sub(r"\s+", " ", data)
        if text != " " or (self.parts and not self.parts[-1].endswith((" ", "\n"))):
            self.parts.append(text)


def html_to_text(markup: str) -> str:
    """Return the text of an HTML fragment: paragraphs, list items and code as lines; scripts and styles dropped."""
    reader = _Reader()
    reader.feed(markup)
    reader.close()
    text = "".join(reader.parts).replace("\xa0", " ")
    lines = [line.strip(" |") if "|" in line else line.strip() for line in text.split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
