"""Characters: what text looks like when it comes in, and the folded form in which it is compared.

`normalise` is the gate every outside text passes (spec 10, "Input that means harm"); `fold` and
`label_key` are for comparing only and never for showing (spec 05, terms).
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

__all__ = ["INVISIBLE", "fold", "label_key", "normalise", "word_set"]

INVISIBLE: Final = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufeff\uffa0\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""Inside of a character class: zero-width, filler and tag characters, soft hyphens, bidirectional controls."""

_LINE_ENDS: Final = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_DROPPED: Final = re.compile(f"[\x00-\x08\x0e-\x1f\x7f-\x9f{INVISIBLE}]")
_SURROGATES: Final = re.compile("[\ud800-\udfff]")
_SPACES: Final = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")
_GERMAN: Final = re.compile("[ -~äöüÄÖÜß]*")
"""A line of plain German, as most texts here are: nothing needs normalising, and only four letters folding."""
_UMLAUTS: Final = (("ä", "ae"), ("ö", "oe"), ("ü", "ue"), ("ß", "ss"))
_BLANKS: Final = re.compile(r"\s+")
_LETTERS: Final = str.maketrans({
    "ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "æ": "ae", "œ": "oe", "ø": "oe", "đ": "d", "ł": "l", "ħ": "h",
    "ı": "i", "‐": "-", "‑": "-", "‒": "-", "–": "-", "—": "-", "−": "-", "’": "'", "‘": "'",
})  # fmt: skip


def normalise(text: str) -> str:
    """Return `text` in NFC without control, zero-width and bidirectional control characters.

    Line ends become `\\n`, every kind of space a plain one, a lone surrogate U+FFFD. Tabs and newlines stay.
    Idempotent; any string is accepted.
    """
    if _GERMAN.fullmatch(text):
        return text
    text = _LINE_ENDS.sub("\n", text)
    text = _DROPPED.sub("", text)
    text = _SURROGATES.sub("\ufffd", text)
    return unicodedata.normalize("NFC", _SPACES.sub(" ", text))


def fold(text: str) -> str:
    """Return the form in which words are compared: NFKC, casefold, ae oe ue ss, accents off (spec 05).

    Idempotent; length and offsets change.
    """
    if text.isascii():
        return text.lower()
    if _GERMAN.fullmatch(text):
        text = text.lower()
        for letter, letters in _UMLAUTS:  # four passes, each a tenth of what `str.translate` takes
            text = text.replace(letter, letters)
        return text
    previous = ""
    while previous != text:  # two rounds for all but a few compatibility characters
        previous = text
        text = unicodedata.normalize("NFKC", text).casefold()
        text = unicodedata.normalize("NFC", text).translate(_LETTERS)
        text = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
        text = unicodedata.normalize("NFC", text)
    return text


def label_key(text: str) -> str:
    """Return the key under which a label is looked up before any embedding (spec 14, exact match first).

    Folded, white space collapsed, outer punctuation dropped: "  VPN-Fehler 809! " and "vpn‑fehler 809" are one.
    A label of punctuation alone keeps it.
    """
    flat = _BLANKS.sub(" ", fold(normalise(text))).strip()
    start, end = 0, len(flat)
    while start < end and not flat[start].isalnum():
        start += 1
    while end > start and not (flat[end - 1].isalnum() or flat[end - 1] in "+#"):
        end -= 1
    return flat[start:end] or flat


def word_set(text: str) -> frozenset[str]:
    """Return the folded words of a list written as running text, as the modules beside this one keep theirs."""
    return frozenset(fold(text).split())
