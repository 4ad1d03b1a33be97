"""Bytes to text: which encoding a file really has, whatever it says about itself (spec 02, the inbox; spec 14).

Valid UTF-8 with anything beyond ASCII is UTF-8, also where a page declares Latin-1; what was encoded twice is
repaired; what cannot be told is decoded as well as it goes and marked doubtful, never passed on as if whole.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from typing import Final

__all__ = ["Decoded", "DecodingError", "decode"]


class DecodingError(ValueError):
    """The bytes are no text in any encoding this product reads; the message says what they look like."""


@dataclass(frozen=True, slots=True)
class Decoded:
    text: str
    encoding: str
    repaired: bool = False
    """The declared encoding was wrong, or the text had been encoded twice, and it could be put right."""
    doubtful: bool = False
    """Some characters were lost or are guesses."""


_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_META: Final = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([A-Za-z0-9_:.-]{2,40})""", re.IGNORECASE)
_XML: Final = re.compile(rb"""^\s*<\?xml[^>]{0,100}?encoding\s*=\s*["']([A-Za-z0-9_:.-]{2,40})["']""")
_DECLARED_WITHIN: Final = 4_096  # bytes in which a page may declare its encoding (the HTML standard asks for 1,024)
_NEVER: Final = frozenset({"utf_7", "punycode", "idna", "unicode_escape", "raw_unicode_escape", "rot_13", "undefined"})
_SINGLE_BYTE: Final = ("cp1252", "cp850", "mac_roman", "cp1250")
"""Tried in this order: Windows, DOS (old ticket exports), Macintosh, Windows for Central Europe."""
_LETTERS: Final = frozenset("äöüßÄÖÜéèêëàâáçñóòôíìîúùûøåæœÉÈÀÇØÅÆ")
_SIGNS: Final = frozenset("€–—…„“”‚‘’«»°²³§µ©®™·×•±½¼¾¿¡ \u00a0\u00ad")
_DETECTOR_SAMPLE: Final = 65_536
_TWICE: Final = re.compile(
    "(?:Ã[\x80-\xbf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]|Â[\x80-\xbf]|â(?:€|‚|„)[\x80-\xbf\u0152-\u2122]?)+"
)


def decode(data: bytes, *, declared: str | None = None, html: bool = False) -> Decoded:
    """Return the text of `data`; `declared` is the encoding a server or container named, if any.

    Raises DecodingError where a NUL byte or the lack of any readable text shows that this is no text.
    """
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            return _checked(data[len(bom) :], encoding)
    wide = _wide_without_bom(data)
    if wide:
        return _checked(data, wide, said="looks like")
    if b"\0" in data:
        raise DecodingError("holds NUL bytes, so it is no text")
    names = [name for name in (_codec(declared), _declared_inside(data) if html else None) if name]
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return _not_utf8(data, names, error)
    if data.isascii():
        return Decoded(text, "ascii")
    fixed = _encoded_twice(text)
    if fixed is not None:
        # What is still garbled after one repair went through more hands than that can be undone with certainty.
        again = len(_TWICE.findall(fixed)) >= 2
        return Decoded(fixed, "utf-8", repaired=True, doubtful=again or "\ufffd" in fixed)
    wrong = bool(names) and names[0] not in {"utf-8", "ascii"}
    return Decoded(text, "utf-8", repaired=wrong, doubtful="\ufffd" in text)


def _codec(name: str | None) -> str | None:
    """Return Python's name of a declared encoding, None for one unknown or never to be honoured.

    As browsers do, Latin-1 and ASCII mean Windows-1252.
    """
    if not name:
        return None
    try:
        found = codecs.lookup(name.strip().strip("\"'")).name
    except (LookupError, ValueError):
        return None
    if found.replace("-", "_") in _NEVER:
        return None
    return "cp1252" if found in {"iso8859-1", "ascii"} else found


def _declared_inside(data: bytes) -> str | None:
    head = data[:_DECLARED_WITHIN]
    match = _META.search(head) or _XML.search(head)
    return _codec(match[1].decode("ascii")) if match else None


def _wide_without_bom(data: bytes) -> str | None:
    """Return UTF-16's name where every other byte of the beginning is zero, as in text without a mark."""
    head = data[:2_000]
    if len(head) < 4:
        return None
    even, odd = head[0::2].count(0), head[1::2].count(0)
    half = len(head) / 2
    if odd > 0.7 * half and even < 0.05 * half:
        return "utf-16-le"
    if even > 0.7 * half and odd < 0.05 * half:
        return "utf-16-be"
    return None


def _checked(data: bytes, encoding: str, said: str = "says it is") -> Decoded:
    text = data.decode(encoding, "replace")
    lost = text.count("\ufffd")
    controls = sum(char < " " and char not in "\t\r\n\f" for char in text[:4_000])
    if "\0" in text or lost > len(text) // 10 or controls > min(len(text), 4_000) // 10:
        raise DecodingError(f"{said} {encoding.upper()} and is no text")
    return Decoded(text, encoding, doubtful=lost > 0)


def _not_utf8(data: bytes, names: list[str], error: UnicodeDecodeError) -> Decoded:
    """Decode what is not UTF-8: as declared, as a single-byte encoding that reads well, or by a detector."""
    for name in names:
        if name == "utf-8":
            continue
        try:
            text = data.decode(name)
        except (UnicodeDecodeError, LookupError):
            continue
        if _reads_well(text) >= _GOOD or (name not in _SINGLE_BYTE and _mostly_letters(text)):
            return Decoded(text, name)
    damaged = _damaged_utf8(data)
    if damaged is not None:
        return Decoded(damaged, "utf-8", doubtful=True)
    best = max(((_reads_well(text), name, text) for name, text in _candidates(data)), key=lambda item: item[0])
    if best[0] >= _GOOD:
        return Decoded(best[2], best[1], repaired=bool(names) and names[0] != best[1])
    detected = _detected(data)
    if detected is not None:
        return detected
    if best[0] <= 0.2:
        raise DecodingError(f"is in no known encoding (byte 0x{data[error.start]:02x} at {error.start})")
    return Decoded(best[2], best[1], doubtful=True)


_GOOD: Final = 0.9
"""Share of high characters that must be plausible. Wrong guesses among the four single-byte encodings put at
least one of ä, ö, ü, ß onto a sign inside of a word and fall below two thirds on German text."""


def _candidates(data: bytes) -> list[tuple[str, str]]:
    found = []
    for name in _SINGLE_BYTE:
        try:
            found.append((name, data.decode(name)))
        except UnicodeDecodeError:
            found.append((name, data.decode(name, "replace")))
    return found


def _reads_well(text: str) -> float:
    """Return the share of characters beyond ASCII that are letters of Western words or signs between them."""
    good = total = 0
    for match in re.finditer(r"[^\x00-\x7f]", text[:200_000]):
        total += 1
        char = match.group()
        before = text[match.start() - 1 : match.start()]
        after = text[match.end() : match.end() + 1]
        inside = before.isalpha() and after.isalpha() and before.isascii() and after.isascii()
        if char in _LETTERS:
            # a capital umlaut in the middle of small letters is another encoding's small one
            good += not (char.isupper() and before.islower() and after.islower())
        elif char in _SIGNS:
            good += char in "‘’\u00ad·–" or not inside
    return good / total if total else 1.0


def _mostly_letters(text: str) -> bool:
    """Tell whether what lies beyond ASCII are letters, as it must be where Cyrillic or Japanese was declared."""
    high = [char for char in text[:20_000] if char > "\x7f"]
    return sum(char.isalpha() for char in high) >= 0.7 * len(high)


def _damaged_utf8(data: bytes) -> str | None:
    """Return `data` as UTF-8 with replacement signs where most sequences are valid: by chance none would be."""
    text = data.decode("utf-8", "replace")
    lost = text.count("\ufffd")
    kept = sum(1 for char in text if char > "\x7f") - lost
    return text if kept >= 2 * lost else None


def _detected(data: bytes) -> Decoded | None:
    from charset_normalizer import from_bytes

    match = from_bytes(data[:_DETECTOR_SAMPLE]).best()
    if match is None or match.encoding.replace("-", "_") in _NEVER:
        return None
    try:
        text = data.decode(match.encoding)
    except (UnicodeDecodeError, LookupError):
        return None
    return None if "\0" in text else Decoded(text, match.encoding, doubtful=match.percent_chaos > 10)


def _encoded_twice(text: str) -> str | None:
    """Return `text` with "Ã¼" and its kin turned back into "ü", None where there is nothing of the kind.

    Done only where every such run decodes and there are at least two, so that a text about mojibake stays.
    """
    runs = 0

    def back(match: re.Match[str]) -> str:
        nonlocal runs
        raw = bytearray()
        for char in match.group():
            try:
                raw += char.encode("cp1252")
            except UnicodeEncodeError:
                raw += char.encode("latin-1", "replace")
        runs += 1
        return raw.decode("utf-8")

    try:
        fixed = _TWICE.sub(back, text)
    except UnicodeDecodeError:
        return None
    return fixed if runs >= 2 else None
