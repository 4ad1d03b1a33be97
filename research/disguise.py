"""Seeing a text as somebody would read it who looks for what it hides (spec 04, Query guard; pure).

A secret need not stand there as it was stored: it may be percent-encoded, written in full-width or Cyrillic
letters, cut by zero-width characters, "defanged" (`host[.]local`), or packed in base64. `views` gives the
readings of a text that the detectors of `research.private` look at. Every reading remembers for each of its
characters which characters of the original it came from, so that a find can be cut out of the original.
"""

from __future__ import annotations

import base64
import binascii
import html
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from typing import Final

from data.text import fold

__all__ = ["Match", "Squeezed", "View", "squeeze", "unpacked", "views", "visible"]

_ROUNDS: Final = 4
"""How deep encodings may be nested; a text encoded more often is no query that a person or a planner writes."""

_MIN_PART: Final = 4
_MIN_PART_ELSEWHERE: Final = 2  # many scripts write names of two characters, and no spaces around them
_MIN_SPLIT: Final = 6

_LOOKALIKES: Final = dict(
    zip(
        "аеорсхуіѕјһԁԛԝӏкмнвтгАВЕКМНОРСТХУЅІЈԚԜΑΒΕΖΗΙΚΜΝΟΡΤΥΧοιανρτυκ",
        "aeopcxyisjhdqwlkmhbtrABEKMHOPCTXYSIJQWABEZHIKMNOPTYXoiavptuk",
        strict=True,
    )
)
"""Cyrillic and Greek letters that are drawn like Latin ones."""

_SAME: Final = str.maketrans("∖⧵∕⁄∶ː。｡♯−", "\\\\//::..#-")

_HIDDEN_CATEGORIES: Final = frozenset({"Cc", "Cf", "Co", "Cn", "Cs"})
_LINE_ENDS: Final = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_MARKS: Final = r"\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe00-\ufe0f\ufe20-\ufe2f"
_STRANGE: Final = re.compile(rf"[^\n -~][{_MARKS}]*|[ -~][{_MARKS}]+")
"""What is not plain ASCII: a character with its marks."""
_ENCLOSING: Final = re.compile(r"[\u0488\u0489\u20d0-\u20ff\ufe00-\ufe0f]")
_PERCENT: Final = re.compile(r"%u[0-9a-f]{4}|(?:%[0-9a-f]{2})+", re.IGNORECASE)
_ENTITY: Final = re.compile(r"&(?:#\d{1,7}|#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,30});?", re.IGNORECASE)
_ESCAPE: Final = re.compile(
    r"\\u\{([0-9a-f]{1,6})\}|\\u([0-9a-f]{4})|\\U([0-9a-f]{8})|\\x\{?([0-9a-f]{2})\}?|U\+([0-9a-f]{4,6})\s?",
    re.IGNORECASE,
)
_QUOTED_PRINTABLE: Final = re.compile(r"(?:=[0-9A-Fa-f]{2})+")
_PUNYCODE: Final = re.compile(r"xn--([a-z0-9-]{2,59})", re.IGNORECASE)
_FANGED: Final = (
    (
        re.compile(r"\s{0,2}[\[({<]\s{0,2}(?:\.|dot|punkt)\s{0,2}[\])}>]\s{0,2}|\s{1,2}\.\s{0,2}(?=\w)", re.IGNORECASE),
        ".",
    ),
    (
        re.compile(
            r"\s{0,2}[\[({<]\s{0,2}(?:@|at|ät)\s{0,2}[\])}>]\s{0,2}|\s{1,2}@\s{0,2}(?=[\w-]{1,63}\s{0,2}\.)"
            r"|(?<=\w)@\s{1,2}(?=[\w-]{1,63}\s{0,2}\.)",
            re.IGNORECASE,
        ),
        "@",
    ),
    (re.compile(r"\s{1,2}(?:at|ät)\s{1,2}(?=[\w-]{1,63}\s{1,2}(?:dot|punkt)\s{1,2}\w)", re.IGNORECASE), "@"),
    (re.compile(r"\s{1,2}(?:dot|punkt)\s{1,2}(?=\w)", re.IGNORECASE), "."),
    (re.compile(r"\s{0,2}\[\s?:\s?\]\s{0,2}"), ":"),
)
_SPELT_OUT: Final = re.compile(r"(?<!\w)\S([ _.,:;/|+*~·-])(?:\S\1){3,}\S(?!\w)")
"""Five or more single signs with the same one between: `n - 0 1`, `I-N-C-1-2-3`."""
_CODED: Final = re.compile(r"\d|[a-z][A-Z]|[A-Z]{2}[a-z]")
_USUAL: Final = frozenset(" .,:;-_@/\\#+()[]%$\"'=")
_MIN_BASE32: Final = 7
_MIN_SHOUTED: Final = 12
"""Shorter words in capitals are words: "GRAFISKA" is base32 of something, too."""
_PACKED: Final = re.compile(r"[A-Za-z0-9+/_-]{6,}={0,6}")


@dataclass(frozen=True, slots=True)
class View:
    """One reading: `text[i]` came from `original[starts[i]:ends[i]]`."""

    text: str
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the part of the original behind `text[start:end]` (not empty)."""
        return self.starts[start], max(self.ends[start:end])

    def sub(self, pattern: re.Pattern[str], replace: Callable[[re.Match[str]], str | None]) -> View:
        """Return this reading with every match replaced; None leaves a match as it is."""
        parts: list[str] = []
        starts: list[int] = []
        ends: list[int] = []
        position = 0
        for match in pattern.finditer(self.text):
            new = replace(match)
            if new is None or match.start() == match.end():
                continue
            parts += [self.text[position : match.start()], new]
            first, last = self.span(match.start(), match.end())
            starts += [*self.starts[position : match.start()], *[first] * len(new)]
            ends += [*self.ends[position : match.start()], *[last] * len(new)]
            position = match.end()
        if position == 0:
            return self
        parts.append(self.text[position:])
        return View("".join(parts), (*starts, *self.starts[position:]), (*ends, *self.ends[position:]))


class Match(Enum):
    """Where a squeezed term counts as found."""

    ANYWHERE = auto()
    """For long ids, which mean nothing else."""
    WORD = auto()
    """Where it begins and ends with a word of the text, also split over several words."""
    NAME = auto()
    """As WORD; from four characters on also inside of one word (compounds, host names), and from six on as the
    beginning of a row of words (a split name with an ending)."""


@dataclass(frozen=True, slots=True)
class Squeezed:
    """Letters and digits of a text alone, folded: what is left of a word however it is split or punctuated.

    `first[i]` and `last[i]` say whether character i begins or ends a word of the original.
    """

    text: str
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    first: tuple[bool, ...]
    last: tuple[bool, ...]

    def find(self, term: str, match: Match) -> Iterator[tuple[int, int]]:
        """Yield the spans of a squeezed `term` in the original."""
        shortest = _MIN_PART if term.isascii() else _MIN_PART_ELSEWHERE
        at = self.text.find(term) if term else -1
        while at >= 0:
            end = at + len(term)
            counts = match is Match.ANYWHERE or (self.first[at] and self.last[end - 1])
            if not counts and match is Match.NAME and len(term) >= shortest:
                counts = not any(self.first[at + 1 : end]) or (len(term) >= _MIN_SPLIT and self.first[at])
            if counts:
                yield self.starts[at], max(self.ends[at:end])
            at = self.text.find(term, at + 1)


def _hidden(char: str) -> bool:
    """Tell whether `char` shows nothing: controls, format and tag characters, private and unassigned ones."""
    return unicodedata.category(char) in _HIDDEN_CATEGORIES or char in "\u034f\u115f\u1160\u3164\uffa0\u2800"


def _plain(cluster: str) -> str:
    """Return one character with its marks as it is read: NFKC, digits of any script ASCII, dashes one."""
    if cluster.isspace():
        return "\n" if cluster in _LINE_ENDS else " "
    kept = "".join(c for c in _ENCLOSING.sub("", cluster) if not _hidden(c))
    read = []
    for char in unicodedata.normalize("NFKC", kept).translate(_SAME):
        digit = unicodedata.decimal(char, None)
        category = unicodedata.category(char)
        if digit is not None:
            read.append(str(digit))
        elif char.isspace():
            read.append(" ")
        elif category == "Pd":
            read.append("-")
        elif category == "Pc":
            read.append("_")
        elif not _hidden(char):
            read.append(char)
    return "".join(read)


def _read(view: View) -> View:
    """Return `view` as it is read: nothing invisible, every character in its plain form."""
    return view.sub(_STRANGE, lambda match: _plain(match[0]))


def visible(text: str) -> View:
    """Return the plain reading of `text`; its `text` has printable characters, spaces and line ends only."""
    identity = tuple(range(len(text)))
    return _read(View(text, identity, tuple(i + 1 for i in identity)))


def _percent(match: re.Match[str]) -> str:
    if match[0][1] in "uU":
        return chr(int(match[0][2:], 16))
    return bytes.fromhex(match[0].replace("%", "")).decode("utf-8", "replace")


def _escape(match: re.Match[str]) -> str | None:
    code = int(next(group for group in match.groups() if group), 16)
    return chr(code) if code <= 0x10FFFF else None


def _entity(match: re.Match[str]) -> str | None:
    plain = html.unescape(match[0] if match[0].endswith(";") else match[0] + ";")
    return None if plain.startswith("&") and len(plain) > 1 else plain


def _punycode(match: re.Match[str]) -> str | None:
    try:
        return match[1].encode("ascii").decode("punycode")
    except (UnicodeError, ValueError, OverflowError):
        return None


def _decoded(view: View) -> View:
    """Return `view` with percent codes, HTML entities, backslash escapes and punycode resolved, also nested ones."""
    for _ in range(_ROUNDS):
        before = view.text
        view = view.sub(_PERCENT, _percent).sub(_ENTITY, _entity).sub(_ESCAPE, _escape).sub(_PUNYCODE, _punycode)
        view = _read(view)
        if view.text == before:
            break
    return view


def _bare(char: str) -> str:
    """Return `char` in Latin letters without accents, as far as it has a Latin look."""
    apart = unicodedata.normalize("NFKD", char)
    return "".join(_LOOKALIKES.get(c, c) for c in apart if not unicodedata.category(c).startswith("M"))


def _latin(view: View) -> View:
    return view.sub(_STRANGE, lambda match: _bare(match[0]))


def _refanged(view: View) -> View:
    for pattern, plain in _FANGED:
        view = view.sub(pattern, lambda _, plain=plain: plain)  # type: ignore[misc]
    return view


@lru_cache(maxsize=256)
def views(text: str) -> tuple[View, ...]:
    """Return the different readings of `text`, the plain one first; most texts have one."""
    plain = visible(text)
    decoded = _decoded(plain)
    latin = _latin(decoded)
    found = [plain, decoded, latin, _refanged(decoded), _refanged(latin)]
    if _SPELT_OUT.search(latin.text):
        found.append(latin.sub(_SPELT_OUT, lambda match: match[0][::2]))
    if _QUOTED_PRINTABLE.search(decoded.text):
        quoted = decoded.sub(
            _QUOTED_PRINTABLE, lambda m: bytes.fromhex(m[0].replace("=", "")).decode("utf-8", "replace")
        )
        found.append(_refanged(_latin(_decoded(_read(quoted)))))
    return tuple({view.text: view for view in reversed(found)}.values())[::-1]


@lru_cache(maxsize=1024)
def squeeze(view: View) -> Squeezed:
    """Return letters and digits of `view` alone, folded (ä is ae, as in `data.text.fold`)."""
    parts: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    first: list[bool] = []
    last: list[bool] = []
    inside = False
    for index, char in enumerate(view.text):
        if not char.isalnum():
            inside = False
            if last:
                last[-1] = True
            continue
        folded = [c for c in (char.lower() if char.isascii() else fold(char)) if c.isalnum()]
        for c in folded:
            parts.append(c)
            starts.append(view.starts[index])
            ends.append(view.ends[index])
            first.append(not inside)
            last.append(False)
            inside = True
    if last:
        last[-1] = True
    return Squeezed("".join(parts), tuple(starts), tuple(ends), tuple(first), tuple(last))


def _said(data: bytes) -> str | None:
    """Return `data` as text where it reads like some: as long as a name is, nearly all of it usual characters."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    usual = sum(char.isalnum() or char in _USUAL for char in text)
    shortest = _MIN_PART if text.isascii() else _MIN_PART_ELSEWHERE
    return text if len(text) >= shortest and text.isprintable() and usual >= 0.9 * len(text) else None


def unpacked(view: View) -> Iterator[tuple[str, int, int]]:
    """Yield (text, start, end in the original) of tokens that are base64, base32 or hexadecimal text.

    Plain words are left out: they have no digit, no capital inside and no `=` at their end, and are not long and
    all in capitals.
    """
    for match in _PACKED.finditer(view.text):
        token = match[0].rstrip("=")
        shouted = len(token) >= _MIN_SHOUTED and token.isupper()
        if token == match[0] and not shouted and not _CODED.search(token):
            continue
        decoders: list[tuple[Callable[[str], bytes], str]] = [
            (base64.b64decode, token + "=" * (-len(token) % 4)),
            (base64.urlsafe_b64decode, token + "=" * (-len(token) % 4)),
        ]
        if len(token) >= _MIN_BASE32:
            decoders.append((base64.b32decode, token.upper() + "=" * (-len(token) % 8)))
        if len(token) % 2 == 0:
            decoders.append((bytes.fromhex, token))
        for decode, form in decoders:
            try:
                text = _said(decode(form))
            except (ValueError, binascii.Error):
                continue
            if text is not None:
                yield (text, *view.span(match.start(), match.end()))
