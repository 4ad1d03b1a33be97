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
from typing import Final

__all__ = ["Hint", "Signs", "holds", "signs_of", "writes"]

_ODD: Final = re.compile("[^\t-\r -~äöüÄÖÜß„“”‚‘’–—…·•§°€«»→©®\u00a0]")
_DIGITS: Final = re.compile("[0-9]+")
_TWO_DOTS: Final = re.compile("[0-9][.][0-9]{1,2}[.][0-9]")


@dataclass(frozen=True, slots=True)
class Signs:
    """`lowered` is the text in lower case; `digits` how many digits stand in its longest row; `dotted`: 5.7.1."""

    text: str
    lowered: str
    digits: int
    dotted: bool

    def any_of(self, pieces: tuple[str, ...]) -> bool:
        """Tell whether one of the pieces, in lower case, is in the text."""
        lowered = self.lowered
        return any(piece in lowered for piece in pieces)


Hint = Callable[[Signs], bool]


def signs_of(text: str) -> Signs | None:
    """Return the signs of a text, None where they would say nothing."""
    if not text.isascii() and _ODD.search(text):
        return None
    digits = max(map(len, _DIGITS.findall(text)), default=0)
    return Signs(text, text.lower(), digits, digits > 0 and _TWO_DOTS.search(text) is not None)


def holds(*pieces: str, digits: int = 1) -> Hint:
    """Return the hint: a row of so many digits, and one of the pieces in whatever case."""

    def hint(signs: Signs) -> bool:
        if signs.digits < digits:
            return False
        lowered = signs.lowered
        return any(piece in lowered for piece in pieces)

    return hint


def writes(*pieces: str, digits: int = 1) -> Hint:
    """Return the hint: a row of so many digits, and one of the pieces as it is written."""

    def hint(signs: Signs) -> bool:
        if signs.digits < digits:
            return False
        text = signs.text
        return any(piece in text for piece in pieces)

    return hint
