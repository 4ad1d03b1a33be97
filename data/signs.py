"""What a text must show before a pattern is tried on it: most texts hold no identifier, most patterns can know it.

A pattern without a fixed beginning is tried at every character, some thirty nanoseconds each; looking for the pieces
of which it needs one is a hundred times cheaper. A sign may be there for nothing; it must never be missing where the
pattern would match. So texts with characters that upper and lower case treat oddly (the long s, the dotless i), or
with digits of other scripts, have no signs: everything is tried on them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

__all__ = ["Hint", "Signs", "beside", "holds", "signs_of", "writes"]

_ODD: Final = re.compile("[^\t-\r -~äöüÄÖÜß„“”‚‘’–—…·•§°€«»→©®\u00a0]")
_DIGITS: Final = re.compile("[0-9]+")
_NUMBERS: Final = re.compile("[0-9]+|xp")
_BEFORE: Final = 80
"""Characters before a number in which its word stands, if it has one; longer names of products there are not."""
_SPACED: Final = re.compile(r"\s\s\s|\t")
_TWO_DOTS: Final = re.compile("[0-9][.][0-9]{1,2}[.][0-9]")


@dataclass(frozen=True, slots=True)
class Signs:
    """`lowered` is the text in lower case, `near` what of it stands before a number or "xp" and may name it; `digits`
    is how many digits stand in its longest row; `dotted`: 5.7.1."""

    text: str
    lowered: str
    near: str
    digits: int
    dotted: bool

    def any_of(self, pieces: tuple[str, ...]) -> bool:
        """Tell whether one of the pieces, in lower case, is in the text."""
        lowered = self.lowered
        return any(piece in lowered for piece in pieces)


Hint = Callable[[Signs], bool]


@lru_cache(maxsize=8)  # whoever looks for identifiers asks several times about one text
def signs_of(text: str) -> Signs | None:
    """Return the signs of a text, None where they would say nothing."""
    if not text.isascii() and _ODD.search(text):
        return None
    lowered = text.lower()
    near, digits = _near(lowered)
    return Signs(text, lowered, near, digits, digits > 0 and _TWO_DOTS.search(text) is not None)


def _near(lowered: str) -> tuple[str, int]:
    """Return the stretches before numbers, and the digits of the longest row.

    All of the text where wide gaps may stand between a word and its number.
    """
    pieces: list[str] = []
    last = digits = 0
    for match in (_NUMBERS if "xp" in lowered else _DIGITS).finditer(lowered):
        start, end = match.span()
        pieces.append(lowered[max(last, start - _BEFORE) : start])
        last = start
        if end - start > digits and lowered[start] != "x":
            digits = end - start
    if not pieces:
        return "", 0
    return (lowered if _SPACED.search(lowered) else "".join(pieces)), digits


def holds(*pieces: str, digits: int = 1) -> Hint:
    """Return the hint: a row of so many digits, and one of the pieces in whatever case."""

    def hint(signs: Signs) -> bool:
        if signs.digits < digits:
            return False
        lowered = signs.lowered
        return any(piece in lowered for piece in pieces)

    return hint


def beside(*pieces: str, digits: int = 1) -> Hint:
    """Return the hint: a row of so many digits, and one of the pieces, in whatever case, shortly before a number."""

    def hint(signs: Signs) -> bool:
        if signs.digits < digits:
            return False
        near = signs.near
        return any(piece in near for piece in pieces)

    return hint


def writes(*pieces: str, digits: int = 1) -> Hint:
    """Return the hint: a row of so many digits, and one of the pieces as it is written."""

    def hint(signs: Signs) -> bool:
        if signs.digits < digits:
            return False
        text = signs.text
        return any(piece in text for piece in pieces)

    return hint
