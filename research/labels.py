"""A label as it may be shown outside: private words off, and what a mail program or a shouting person put before it.

Pure. Most labels are plain words in which nothing can hide; they are recognised by one pattern and spared the readings
of `research.disguise`, with the same result.
"""

from __future__ import annotations

import re
from typing import Final

from data.text import normalise
from research.private import DEFAULT_POLICY, GuardPolicy, private_tokens

__all__ = ["public_label"]

_LEADING: Final = re.compile(
    r"^(?:(?:re|aw|wg|fw|fwd|antwort|weiterleitung)\s*:\s*|(?:runbook|how-?to|anleitung|faq|kb|ticket|incident|störung)\s*:\s*"
    r"|(?:(?:kapitel|chapter|abschnitt|section|anhang|appendix)\s+)?(?:(?:[A-Z]|\d{1,3})(?:\.\d{1,3})+\.?|\d{1,3}\.|\d{1,3}\s[-–])\s+"
    r"|\[[^\]]{0,40}\]\s*|[!*#>.\-–•\s]+)+",
    re.IGNORECASE,
)
_TRAILING: Final = re.compile(r"[\s!?.,;:*\-–(]+$")
_DANGLING: Final = re.compile(
    r"(?:\s+(?:in|an|am|im|bei|beim|auf|von|mit|for|of|at|on|to|from|with|the|der|die|das|den|dem))+$"
)
_SPACED: Final = re.compile(r"\s+([,;:.])")
_LONGEST: Final = 110
"""A topic of more characters is cut at a word: what comes last in a long ticket title is its circumstances."""

_WORD: Final = r"(?:[A-ZÄÖÜ]?[a-zäöüß]{2,}|[A-ZÄÖÜ]{2,11}|[aAIà])"
_PLAIN: Final = re.compile(rf"{_WORD}(?:(?:[ -]|: |, ){_WORD})*[.!?]?")
"""Words in their usual case, one sign between two of them: no digit, no at sign, no slash, no dot inside, no code."""
_SUSPECT: Final = re.compile(r"\b[aAIà][ -][aAIà]\b|\b[a-f]{2}[ -][a-f]{2}\b|[a-f]{12}|dot|punkt", re.IGNORECASE)
"""Plain words that may still be pieces of something: single letters in a row, hexadecimal groups, a spelt-out dot."""


def public_label(label: str, privacy: GuardPolicy = DEFAULT_POLICY) -> str:
    """Return a label as it may be shown outside: private tokens, mail prefixes and shouting marks off, not too long.

    A preposition goes with the private word that it leads to: "full on srv-a.corp, again" is "full, again".
    """
    shown = " ".join(normalise(label).split())
    while found := [] if _nothing_hides(shown, privacy) else private_tokens(shown, privacy):
        for token in reversed(found):
            start, end = _whole_words(shown, token.start, token.end)
            shown = f"{_DANGLING.sub('', shown[:start].rstrip())} {shown[end:]}"
        shown = _SPACED.sub(r"\1", " ".join(shown.split()))
    shown = _LEADING.sub("", shown)
    if len(shown) > _LONGEST:
        shown = _DANGLING.sub("", shown[:_LONGEST].rsplit(" ", 1)[0])
    return _TRAILING.sub("", shown)


def _nothing_hides(shown: str, privacy: GuardPolicy) -> bool:
    """Tell, in a hundredth of the time, that `private_tokens` will find nothing; False where it must look."""
    if privacy.private_terms or any("." not in suffix.strip(" .") for suffix in privacy.internal_suffixes):
        return False
    return _PLAIN.fullmatch(shown) is not None and _SUSPECT.search(shown) is None


def _whole_words(text: str, start: int, end: int) -> tuple[int, int]:
    """Widen a span to the white space around it, punctuation at its end left out."""
    while start > 0 and not text[start - 1].isspace():
        start -= 1
    tail = end
    while tail < len(text) and not text[tail].isspace():
        tail += 1
    return start, tail if text[end:tail].strip(",;:.") else end
