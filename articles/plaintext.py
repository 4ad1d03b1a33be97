"""Quoted text without its markup, and the words in which texts are compared and verbatim runs are counted.

Evidence comes as light Markdown (data/extract.py). What an article says must be the words of its source, not
their marks: `plain` takes the marks off, `word_tokens` gives what is compared. Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from data.text import fold

__all__ = [
    "WordToken",
    "code_tokens",
    "is_code_token",
    "longest_run",
    "page_title",
    "plain",
    "prose_words",
    "run_index",
    "same_words",
    "word_tokens",
]

_CODE_SPAN: Final = re.compile(r"(?<!`)(`+)(?!`)(?P<code>(?:(?!\n[ \t]*\n).){1,2000}?)(?<!`)\1(?!`)", re.DOTALL)
_LINK: Final = re.compile(r"!?\[(?P<text>[^\[\]]*)\]\((?:[^()\s]|\([^()]*\))*(?:\s+\"[^\"]*\")?\)")
_STRONG: Final = re.compile(r"(?<![\w*])(\*{1,3})(?=\S)(?P<text>[^*]+?)(?<=\S)\1(?![\w*])")
_UNDER: Final = re.compile(r"(?<![\w_])(_{1,3})(?=[^\s_])(?P<text>[^_]+?)(?<=[^\s_])\1(?![\w_])")
_ESCAPE: Final = re.compile(r"\\([\\`*_{}\[\]()#+\-.!<>|~$%&\"'])")
_ICON: Final = re.compile("[\ue000-\uf8ff]")
"""Private use characters: the little anchor that documentation tools put behind a heading."""
_BLANKS: Final = re.compile(r"\s+")


def _unmarked(text: str) -> str:
    text = _LINK.sub(lambda m: m["text"], text)
    text = _STRONG.sub(lambda m: m["text"], text)
    text = _UNDER.sub(lambda m: m["text"], text)
    return _ESCAPE.sub(r"\1", text)


def page_title(title: str) -> str:
    """Return a page's title as a reader is shown it: on one line, without the signs of an icon font."""
    return " ".join(_ICON.sub("", title).split())


def plain(quote: str) -> str:
    """Return `quote` on one line without emphasis, links and escapes; inline code keeps its backticks."""
    pieces: list[str] = []
    position = 0
    for match in _CODE_SPAN.finditer(quote):
        pieces.append(_unmarked(quote[position : match.start()]))
        code = _BLANKS.sub(" ", match["code"]).strip()
        mark = "``" if "`" in code else "`"
        pieces.append(f"{mark}{code}{mark}" if code else "")
        position = match.end()
    pieces.append(_unmarked(quote[position:]))
    return _BLANKS.sub(" ", "".join(pieces)).strip()


@dataclass(frozen=True, slots=True)
class WordToken:
    """One word, folded; `code` marks what is no prose: paths, options, names with inner signs, inline code."""

    text: str
    code: bool


_CODE_SHAPE: Final = re.compile(
    r"""
      ^--?[a-z][\w-]*(?:=.*)?$          # options
    | [/\\=<>{}\[\]$|~@%]              # paths, assignments, prompts, redirections
    | \w_\w                             # names with underscores
    | ^[\w-]+\(\d[a-z]*\)$              # manual pages: postconf(5)
    | \w{2}\.[a-z0-9]{1,6}$             # files and hosts: main.cf, example.org
    | ^\d[\d.,:x/-]*$                   # numbers, ports, addresses
    | ^[\w.-]+:\d+$                     # host:port
    """,
    re.VERBOSE,
)
_ALTERNATIVES: Final = re.compile(r"[^\W\d_][^\W_]*(?:-[^\W_]+)*(?:/[^\W\d_][^\W_]*(?:-[^\W_]+)*){1,3}$")
"""and/or, client/server, TCP/IP: words, not paths."""
_TRIM_LEFT: Final = "([{\"'„“”‚‘’»«*`,;:!?…"
_TRIM_RIGHT: Final = ")]}\"'„“”‚‘’»«*`.,;:!?…"
_WORDLIKE: Final = re.compile(r"\w")


def is_code_token(token: str) -> bool:
    """Tell whether a token outside of backticks is a command's, a path's or a setting's, not prose."""
    if token.isalpha():
        return False
    bare = token.strip(_TRIM_LEFT).rstrip(".,;:!?…\"'")
    if bare.endswith(")") and "(" not in bare:
        bare = bare.rstrip(")")
    return bool(bare) and _ALTERNATIVES.match(bare) is None and bool(_CODE_SHAPE.search(bare))


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    position = 0
    for match in _CODE_SPAN.finditer(text):
        yield text[position : match.start()], False
        yield match["code"], True
        position = match.end()
    yield text[position:], False


def word_tokens(text: str) -> list[WordToken]:
    """Return the words of `text` in order, folded, marks and outer punctuation off."""
    found = []
    for piece, in_code in _pieces(text):
        for raw in (piece if in_code else _unmarked(piece)).split():
            if raw.isalpha():  # most tokens of a long text
                found.append(WordToken(fold(raw), in_code))
                continue
            bare = raw.lstrip(_TRIM_LEFT).rstrip(_TRIM_RIGHT)
            if not _WORDLIKE.search(bare):
                continue
            found.append(WordToken(fold(bare), in_code or is_code_token(raw)))
    return found


def code_tokens(text: str) -> list[str]:
    """Return inline code (whole, without backticks) and bare tokens of a command's form, as written."""
    found = []
    for piece, in_code in _pieces(text):
        if in_code:
            found.append(_BLANKS.sub(" ", piece).strip())
            continue
        for raw in _unmarked(piece).split():
            bare = raw.lstrip(_TRIM_LEFT).rstrip(_TRIM_RIGHT)
            if bare and is_code_token(raw) and re.search(r"[^\W\d]", bare):
                found.append(bare)
    return found


def prose_words(text: str) -> list[str]:
    """Return the words that count for the verbatim limit: all but code (spec 06, "Author")."""
    return [token.text for token in word_tokens(text) if not token.code]


def same_words(text: str, quotes: Iterable[str]) -> bool:
    """Tell whether `text` is exactly the words of `quotes` in their order, whatever the punctuation."""
    wanted = [token.text for quote in quotes for token in word_tokens(quote)]
    return bool(wanted) and [token.text for token in word_tokens(text)] == wanted


def run_index(text: str, length: int) -> frozenset[tuple[str, ...]]:
    """Return every run of `length` consecutive prose words of `text`."""
    words = prose_words(text)
    return frozenset(tuple(words[i : i + length]) for i in range(len(words) - length + 1))


def longest_run(words: Sequence[str], source: Sequence[str]) -> int:
    """Return the length of the longest run of `words` that stands in `source` in one piece.

    Quadratic in the worst case; for sentences against passages. `run_index` serves whole articles.
    """
    best = 0
    previous = [0] * (len(source) + 1)
    for word in words:
        current = [0] * (len(source) + 1)
        for index, other in enumerate(source, 1):
            if word == other:
                current[index] = previous[index - 1] + 1
                best = max(best, current[index])
        previous = current
    return best
