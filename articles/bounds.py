"""How a number bounds what it counts: at least, at most, more than, every, within (pure).

"At least 4 GB" and "at most 4 GB" hold the same number; what stands around it is what they say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Final

from articles.claimwords import bound_phrases
from articles.clauses import Clause, Difference, Pair, Word

__all__ = ["bounded_alike", "bounds"]

_NUMBER: Final = re.compile(r"\d[\d.,]*%?")
_BEFORE: Final = 4
_BEHIND: Final = 4
"""Words before and behind a number that may bound it."""
_AGREEING: Final = (
    frozenset({"least", "over", "after"}),
    frozenset({"most", "under"}),
    frozenset({"within", "most", "under"}),
)
"""Bounds that differ by less than what a reader would call another statement."""


_TOUCHING: Final = frozenset({"about", "exactly", "every", "within", "after"})
"""What bounds a number only from right before it: "each message for five days" is not every five days."""


def bounds(pair: Pair) -> Iterator[Difference]:
    """A number of both sides that the sentence bounds another way than each place that has it."""
    mine, theirs = _bounded(pair.mine), _bounded(pair.cited)
    for number, said in mine.items():
        held = theirs.get(number, frozenset())
        if said and held and not any(_agree(one, other) for one in said for other in held):
            yield Difference("bound", f"{number}: {min(said)} for {min(held)}")


def bounded_alike(pair: Pair) -> bool:
    """Tell whether some number is bounded by both sides, and alike."""
    mine, theirs = _bounded(pair.mine), _bounded(pair.cited)
    return any(_agree(one, other) for number, said in mine.items() for one in said for other in theirs.get(number, ()))


def _agree(one: str, other: str) -> bool:
    return one == other or any({one, other} <= group for group in _AGREEING)


def _bounded(among: Sequence[Clause]) -> Mapping[str, frozenset[str]]:
    """Return for each number the bounds that stand around it, of all places where it stands."""
    found: dict[str, set[str]] = {}
    for clause in among:
        for index, word in enumerate(clause.words):
            if not _NUMBER.fullmatch(word.root):
                continue
            ahead = _until_number(clause.words[max(0, index - _BEFORE) : index][::-1])
            behind = _until_number(clause.words[index + 1 : index + 1 + _BEHIND])
            near = found.setdefault(word.root, set())
            near |= _closest(" ".join(reversed(ahead)), "before", last=True)
            near |= _closest(" ".join(behind), "behind", last=False)
    return {number: frozenset(kinds) for number, kinds in found.items()}


def _until_number(words: Sequence[Word]) -> list[str]:
    taken: list[str] = []
    for word in words:
        if _NUMBER.fullmatch(word.root):
            break
        taken.append(word.text)
    return taken


@cache
def _patterns(side: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple(
        (kind, re.compile(r"(?<!\w)(?:" + "|".join(re.escape(one) for one in phrases) + r")(?!\w)"))
        for kind, phrases in bound_phrases(side).items()
    )


def _closest(text: str, side: str, *, last: bool) -> set[str]:
    """Return the kind of bound that stands closest to the number: of "not more than" the whole, not "more than"."""
    hits = [
        (match, kind)
        for kind, pattern in _patterns(side)
        for match in pattern.finditer(text)
        if kind not in _TOUCHING or match.end() == len(text)
    ]
    if not hits:
        return set()
    if last:
        return {max(hits, key=lambda hit: (hit[0].end(), -hit[0].start()))[1]}
    return {max(hits, key=lambda hit: (-hit[0].start(), hit[0].end()))[1]}
