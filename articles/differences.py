"""In which points a sentence says something else than the text it cites, although it uses its words (pure).

A sentence can hold nine words in ten of its citation and still turn it round: another number, another unit, a "not"
more or less, the other product, must for may, after for before. Each check looks at the clause of the citation that a
clause of the sentence retells, and names what it found; where it finds nothing, words and meaning decide
(`articles/agreement.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from articles.bindings import actors, contrasted, directed, moved_names, other_subject, subjects
from articles.bounds import bounds
from articles.claimwords import are_opposites, force_of, number_of, one_meaning, order_words, unit_of
from articles.clauses import NAME, Clause, Difference, Pair, Word
from articles.cues import negations
from articles.exceptions import exception, indifferent, only_dropped, own_exception
from articles.negation import denials_counted, denied_there, negated_words, negation
from articles.places import exchanged, misplaced, replaced, replaced_pairs

__all__ = ["Difference", "differences"]


def differences(pair: Pair) -> tuple[Difference, ...]:
    """Return in which points a sentence says something else than what it cites; empty where none shows."""
    if not pair.mine or not pair.cited:
        return ()
    found = list(dict.fromkeys(found for check in _CHECKS for found in check(pair)))
    of_exception, wrong = exception(pair)
    found = _without_double(found)
    if of_exception:  # what denies the rule is what the exception says
        found = [one for one in found if one.kind not in {"negation", "opposite"}]
    return (*found, *(one for one in (wrong, indifferent(pair)) if one is not None))


def _without_double(found: list[Difference]) -> list[Difference]:
    """Return what is left where a clause denies the opposite of what is cited, and so says the same."""
    for denial in [one for one in found if one.kind == "negation"]:
        said = denial.detail.split()
        turned = [
            one
            for one in found
            if one.kind in {"opposite", "bound"}
            and not negations(one.detail)
            and one.detail.split(" for ")[0].split(":")[0] in said
        ]
        if turned:
            gone = {denial.detail, *(one.detail for one in turned)}
            found = [one for one in found if one.detail not in gone]
    return found


# -- numbers and units ----------------------------------------------------------------------------------------------


def _spelled_numbers(pair: Pair) -> Iterator[Difference]:
    """A number in letters that the citation holds neither in letters nor in digits, also as "third" or "thrice"."""
    numbers = pair.held | {root.rstrip("stndrh.") for root in pair.held if root[:1].isdigit()}
    for clause in pair.mine:
        for word in clause.words:
            digits = re.match(r"\d*", number_of(word.text))
            if digits and digits.group() and not {word.root, digits.group()} & numbers:
                yield Difference("number", word.raw)


def _units(pair: Pair) -> Iterator[Difference]:
    """Another unit where the cited clause or sentence has one: days for hours, MiB/s for KiB/s."""
    theirs = {unit_of(word.text) for clause in pair.cited for word in clause.words} - {""}
    for clause in pair.mine:
        for word in clause.words:
            if theirs and (unit := unit_of(word.text)) and unit not in theirs:
                yield Difference("unit", word.raw)
    yield from _moved_units(pair)


_FIGURE: Final = re.compile(r"\d+(?:[.,]\d+)*%?")
_RANGE: Final = frozenset({"to", "or", "and", "bis", "oder", "und", "-"})


def _moved_units(pair: Pair) -> Iterator[Difference]:
    """A number with a unit that stands with other numbers only: four days, where it is four hours and five days."""
    cited = _with_units(pair.cited)
    named = {unit for units in cited.values() for unit in units}
    for number, units in _with_units(pair.mine).items():
        if (units & named and not units & cited.get(number, set())) or (
            cited.get(number) and not units & cited[number]
        ):
            yield Difference("unit", f"{number} {min(units)}")


def _with_units(among: Sequence[Clause]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for clause in among:
        waiting: list[str] = []
        for word in clause.words:
            if _FIGURE.fullmatch(word.root):
                waiting.append(word.root)
            elif unit := unit_of(word.text):
                for number in waiting:
                    found.setdefault(number, set()).add(unit)
                waiting = []
            elif word.text not in _RANGE:
                waiting = []
    return found


def _number_order(pair: Pair) -> Iterator[Difference]:
    """Two numbers of one cited sentence the other way round: they have changed places."""
    cited: dict[int, list[str]] = {}
    for clause in pair.cited:
        cited.setdefault(clause.sentence, []).extend(_figures(clause))
    mine: dict[int, list[str]] = {}
    for clause in pair.mine:
        mine.setdefault(clause.sentence, []).extend(_figures(clause))
    for numbers in mine.values():
        for one, two in pairwise(numbers):
            holders = [row for row in cited.values() if one in row and two in row]
            if one == two or not holders or any(_follows(row, one, two) for row in holders):
                continue
            if not all(_company(pair.mine, number) & _company(pair.cited, number) for number in (one, two)):
                yield Difference("exchanged", f"{one} and {two}")


def _company(among: Sequence[Clause], number: str) -> frozenset[str]:
    """Return the content words right before and right behind a number."""
    found: set[str] = set()
    for clause in among:
        said = [word for word in clause.words if word.content]
        for index, word in enumerate(said):
            if word.root == number:
                found.update(near.root for near in said[max(0, index - 1) : index + 2] if near is not word)
    return frozenset(found)


def _follows(row: Sequence[str], one: str, two: str) -> bool:
    return two in row[row.index(one) + 1 :]


def _figures(clause: Clause) -> list[str]:
    return [word.root for word in clause.words if _FIGURE.fullmatch(word.root)]


# -- opposites, force, names ------------------------------------------------------------------------------------------


def _opposites(pair: Pair) -> Iterator[Difference]:
    """A word whose opposite stands in what is retold, where the sentence does not say that opposite too."""
    for clause, other in pair.matched:
        among = pair.sentence_of(other) if other is not None else pair.cited
        near = {word.root: word for part in among for word in part.words}
        beside = {word.root: next_ for part in among for word, next_ in _followed(part)}
        for word, next_ in _followed(clause):
            if word.code or word.root in near:
                continue
            for root, theirs in near.items():
                if root in pair.said or not are_opposites(word.text, theirs.text):
                    continue
                if _said_as(theirs, pair.mine) or _said_as(word, among):
                    continue
                if (word.content and theirs.content) or next_ & beside[root]:
                    yield Difference("opposite", f"{word.raw} for {theirs.raw}")


def _said_as(word: Word, among: Sequence[Clause]) -> bool:
    return any(one_meaning(word.text, one.text) for clause in among for one in clause.words if one.content)


def _followed(clause: Clause) -> list[tuple[Word, frozenset[str]]]:
    """Return each word with the roots of the two content words that follow it; none at the end of the clause."""
    found: list[tuple[Word, frozenset[str]]] = []
    behind: tuple[str, ...] = ()
    for word in reversed(clause.words):
        found.append((word, frozenset(behind)))
        behind = (word.root, *behind[:1]) if word.content else behind
    return found[::-1]


def _force(pair: Pair) -> Iterator[Difference]:
    """Must where the citation says may or should; may where it says must."""
    for clause, other in pair.matched:
        if other is None or not clause.retells(other):
            continue
        mine = force_of([word.text for word in clause.words])
        if clause.negated and not any(word.text.startswith(("must", "muss", "muess")) for word in clause.words):
            mine -= {3}  # what is not needed is no duty
        own = force_of([word.text for word in other.words])
        wide = force_of([word.text for part in pair.sentence_of(other) for word in part.words])
        if 3 in mine and own and 3 not in wide:
            yield Difference("force", "must for less")
        elif mine and 3 not in mine and 2 not in mine and 3 in own and own == wide:
            yield Difference("force", "may for must")


_WHOLE: Final = 4
_SHORT_FORM: Final = 3


def _names(pair: Pair) -> Iterator[Difference]:
    """A name that is not cited: capitals inside, digits, all capitals; in English any capital within a sentence."""
    cited = {part.lower() for clause in pair.cited for word in clause.words for part in _parts(word)}
    initials = _initials(pair.cited)
    sentence = -1
    for clause in pair.mine:
        for index, word in enumerate(clause.words):
            first = index == 0 and clause.sentence != sentence
            if word.code:
                continue
            for part in _parts(word):
                proper = pair.language == "en" and not first and part[:1].isupper()
                if not (proper or NAME.fullmatch(part)) or part.lower() in cited:
                    continue
                folded = word.text if part == word.raw else part.lower()
                if folded in initials or word.root in pair.held or any(_within(folded, other) for other in cited):
                    continue
                yield Difference("name", word.raw)
        sentence = clause.sentence


def _within(one: str, other: str) -> bool:
    return len(one) > _WHOLE and len(other) > _WHOLE and (one in other or other in one)


def _parts(word: Word) -> list[str]:
    return [part for part in re.split(r"[-/+()]", word.raw) if part]


def _initials(among: Sequence[Clause]) -> frozenset[str]:
    """Return the abbreviations that runs of the cited words would have."""
    found: set[str] = set()
    for clause in among:
        letters = "".join(part[0].lower() for word in clause.words for part in _parts(word))
        found.update(letters[i : i + size] for size in range(_SHORT_FORM, 7) for i in range(len(letters) - size + 1))
    return frozenset(found)


# -- order ----------------------------------------------------------------------------------------------------------


_Sides = tuple[frozenset[str], frozenset[str]]


def _order(pair: Pair) -> Iterator[Difference]:
    """What comes first, what is the cause, the condition or taken instead: the two sides have changed places."""
    for kind in ("order", "condition", "cause", "instead"):
        theirs = _sides(pair.cited, kind, pair.language)
        for one in _sides(pair.mine, kind, pair.language):
            straight = max((_common(one[0], other[0]) + _common(one[1], other[1]) for other in theirs), default=0.0)
            crossed = (
                _common(one[0], other[1]) + _common(one[1], other[0])
                for other in theirs
                if _common(one[0], other[1]) and _common(one[1], other[0])
            )
            if max(crossed, default=0.0) > straight or (theirs and all(_swapped(one, other) for other in theirs)):
                yield Difference("order", f"{kind} turned round")
                return


def _swapped(one: _Sides, other: _Sides) -> bool:
    """Tell whether each side has a word that the other side of the citation has, and only that one."""
    there = one[0] & (other[1] - other[0] - one[1])
    back = one[1] & (other[0] - other[1] - one[0])
    return bool(there and back)


_EDGE: Final = Word("|", "|", "|", False)


def _common(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / (min(len(one), len(other)) or 1)


def _sides(among: Sequence[Clause], kind: str, language: str) -> list[_Sides]:
    """Return (first, second) of each connection: earlier and later, cause and effect, taken and left."""
    table = order_words(kind)
    found: list[_Sides] = []
    by_sentence: dict[int, list[Clause]] = {}
    for clause in among:
        by_sentence.setdefault(clause.sentence, []).append(clause)
    for sentence in by_sentence.values():
        words = [word for clause in sentence for word in (*clause.words, _EDGE)]
        for index, word in enumerate(words):
            name = next((name for name, listed in table.items() if word.text in listed), None)
            if name is None:
                continue
            before, behind = words[:index], words[index + 1 :]
            opens = all(one is _EDGE for one in before)
            if name == "leads" and (opens or (word.text == "so" and (language == "de" or before[-1] is not _EDGE))):
                continue
            if name == "opening" and not (opens or before[-1] is _EDGE):
                continue
            if opens or name == "opening":  # "Before B, A", "A, if B, and more of A"
                cut = next((i for i, one in enumerate(behind) if one is _EDGE), len(behind))
                before, behind = [*before, *behind[cut:]], behind[:cut]
            sides = _roots(before), _roots(behind)
            if not sides[0] or not sides[1]:
                continue
            # "A before B", "A, then B", "A leads to B": in this order; "A after B", "A because B": the other way
            turned = name in {"later_first", "because", "opening"}
            found.append((sides[1], sides[0]) if turned else sides)
    return found


def _roots(words: Sequence[Word]) -> frozenset[str]:
    return frozenset(word.root for word in words if word.content)


_CHECKS: Final[tuple[Callable[[Pair], Iterator[Difference]], ...]] = (
    _spelled_numbers,
    _units,
    _number_order,
    bounds,
    negation,
    denials_counted,
    negated_words,
    _opposites,
    _force,
    _names,
    replaced,
    replaced_pairs,
    exchanged,
    misplaced,
    moved_names,
    contrasted,
    directed,
    only_dropped,
    _order,
    denied_there,
    own_exception,
    actors,
    subjects,
    other_subject,
)
