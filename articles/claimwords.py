"""What words mean beside one another: opposites, synonyms, units, numbers in letters, must and may (pure).

The words stand in `articles/claimwords.toml`, folded, German and English together; they are compared by stem, so that
one form stands for all. The table is read once.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Final

from data.text import stem

__all__ = [
    "are_opposites",
    "bound_phrases",
    "bound_words",
    "core_of",
    "force_of",
    "number_of",
    "one_meaning",
    "order_words",
    "other_of_kind",
    "unit_of",
    "variants",
    "word_set_of",
]


@cache
def _table() -> Mapping[str, Any]:
    return tomllib.loads(files("articles").joinpath("claimwords.toml").read_text(encoding="utf-8"))


@lru_cache(maxsize=20_000)
def _forms(word: str) -> frozenset[str]:
    return frozenset((word, stem(word, "de"), stem(word, "en")))


@cache
def _pairs(name: str) -> Mapping[str, frozenset[int]]:
    """Return for each form of a word the numbers of the groups it stands in."""
    found: dict[str, set[int]] = {}
    for number, group in enumerate(_table()[name]):
        for word in group:
            for form in _forms(word):
                found.setdefault(form, set()).add(number)
    return {form: frozenset(numbers) for form, numbers in found.items()}


@cache
def _sides() -> Mapping[str, frozenset[tuple[int, int]]]:
    found: dict[str, set[tuple[int, int]]] = {}
    for number, pair in enumerate(_table()["opposites"]):
        for side, word in enumerate(pair):
            for form in _forms(word):
                found.setdefault(form, set()).add((number, side))
    return {form: frozenset(places) for form, places in found.items()}


@cache
def _kinds() -> Mapping[str, Mapping[str, int]]:
    """Return for each folded word the kinds it is of, each with the number of the row it stands in."""
    found: dict[str, dict[str, int]] = {}
    for kind, rows in _table()["kinds"].items():
        for number, row in enumerate(rows):
            for word in row:
                found.setdefault(word, {})[kind] = number
    return found


def other_of_kind(one: str, other: str) -> bool:
    """Tell whether two folded words name different things of one kind: Monday and Tuesday, TCP and UDP."""
    mine, theirs = _kinds().get(one, {}), _kinds().get(other, {})
    return any(theirs.get(kind, row) != row for kind, row in mine.items())


def _same_of_kind(one: str, other: str) -> bool:
    mine, theirs = _kinds().get(one, {}), _kinds().get(other, {})
    return any(theirs.get(kind) == row for kind, row in mine.items())


_DENYING: Final = re.compile(r"(?:un|in|im|ir|non|dis|nicht)-?(?=[a-z]{4})")


@lru_cache(maxsize=50_000)
def are_opposites(one: str, other: str) -> bool:
    """Tell whether two folded words cannot both be said of one place.

    By the table of opposites, as two of one kind, or because one is the other with un-, in-, non- before it.
    """
    sides = _sides()
    mine = {place for form in _forms(one) for place in sides.get(form, ())}
    theirs = {place for form in _forms(other) for place in sides.get(form, ())}
    if any((number, 1 - side) in theirs for number, side in mine):
        return True
    if other_of_kind(one, other):
        return True
    for bare, denied in ((one, other), (other, one)):
        match = _DENYING.match(denied)
        if match and len(bare) > 4 and denied[match.end() :][:5] == bare[:5] and not bare.startswith(match.group()):
            return True
    return False


_SEPARABLE: Final = (
    "ab|an|auf|aus|bei|durch|ein|fest|her|hin|los"
    "|mit|nach|neu|um|vor|weg|zu|zurueck|zusammen|frei|bereit|fertig|still|wieder|weiter|teil|statt"
)
_INFIX: Final = re.compile(rf"^(?P<prefix>{_SEPARABLE})?(?:ge|zu)(?P<rest>[a-z]{{4,}})$")
_ENDING: Final = re.compile(r"(?:ungen|ung|eten|test|ten|ets|ete|est|end|ern|eln|en|et|te|st|es|em|er|t|e|n|s)$")
_PREFIX: Final = f"{_SEPARABLE}|be|ent|er|ge|miss|ueber|unter|ver|wider|zer"
_SHORT: Final = 3
_SAME_START: Final = 5
"""Letters that two forms of one word have in common at the least, and three fifths of the longer one."""


@lru_cache(maxsize=50_000)
def core_of(word: str, noun: bool = False) -> str:
    """Return a German verb or noun without what its forms differ in: "angehalten", "anzuhalten" are "anhalt".

    A noun has no "ge", and the vowel of a past tense behind a prefix alone: "Ausgabe" is of "ausgeben", "Lager" is not
    of "liegen".
    """
    ended = _ENDING.sub("", word)
    if noun:
        found = _irregular()[0].match(ended)
        return _regular(ended) if found and found.start("form") else ended if len(ended) > _SHORT else word
    if _irregular()[0].match(ended) or ended in _stems():
        return _regular(ended)
    match = _INFIX.match(word)
    bare = (match["prefix"] or "") + match["rest"] if match else word
    ended = _ENDING.sub("", bare)
    return _regular(ended if len(ended) > _SHORT or ended in _stems() else bare)


@cache
def _irregular() -> tuple[re.Pattern[str], Mapping[str, str]]:
    forms = {form: row[0] for row in _table()["irregular"]["de"] for form in row[1:]}
    longest = sorted(forms, key=lambda form: -len(form))
    return re.compile(rf"^(?P<prefix>{_PREFIX})*(?:ge|zu)?(?P<form>{'|'.join(longest)})$"), forms


@cache
def _stems() -> frozenset[str]:
    return frozenset(row[0] for row in _table()["irregular"]["de"])


def _regular(core: str) -> str:
    """Return the core with the vowel of its infinitive: "aufhob" of "aufgehoben" is "aufheb"."""
    pattern, forms = _irregular()
    match = pattern.match(core)
    return core[: match.start("form")].removesuffix("zu").removesuffix("ge") + forms[match["form"]] if match else core


@cache
def variants(core: str) -> frozenset[str]:
    """Return a German core with each vowel its verb has: "freigeb" and "freigab"."""
    rows = [row for row in _table()["irregular"]["de"] if core.endswith(row[0])]
    return frozenset({core, *(core.removesuffix(row[0]) + form for row in rows for form in row[1:])})


@cache
def _english() -> Mapping[str, str]:
    return {form: row[0] for row in _table()["irregular"]["en"] for form in row}


_UMLAUT: Final = re.compile(r"(?<=[aou])e(?!$)")


@lru_cache(maxsize=50_000)
def _base(word: str) -> str:
    """Return the core without the marks of plural and tense that stand inside of a word: "zugaenge" is "zugang"."""
    core = core_of(word).removesuffix("lich")
    core = core[:-1] if len(core) > _SHORT + 1 and core.endswith("t") else core
    return _UMLAUT.sub("", core) if len(core) > _SHORT else core


@lru_cache(maxsize=50_000)
def one_meaning(one: str, other: str) -> bool:
    """Tell whether two folded words say the same: forms of one word, or synonyms of the table."""
    if _forms(one) & _forms(other) or _base(one) == _base(other):
        return True
    if _same_of_kind(one, other) or (one in _english() and _english()[one] == _english().get(other)):
        return True
    if one.isalpha() and other.isalpha():
        common = 0
        for a, b in zip(one, other, strict=False):
            if a != b:
                break
            common += 1
        if common >= _SAME_START and common * 5 >= 3 * max(len(one), len(other)):
            return True
    groups = _pairs("synonyms")
    mine = {number for form in _forms(one) for number in groups.get(form, ())}
    return any(number in mine for form in _forms(other) for number in groups.get(form, ()))


@cache
def _inverted(name: str) -> Mapping[str, str]:
    return {word: key for key, words in _table()[name].items() for word in words}


def unit_of(word: str) -> str:
    """Return the unit that a folded word names ("days" is `day`), "" for none."""
    return _inverted("units").get(word, "")


def number_of(word: str) -> str:
    """Return the number in digits that a folded word spells ("vier" is `4`), "" for none."""
    return _inverted("numbers").get(word, "")


@cache
def word_set_of(name: str) -> frozenset[str]:
    """Return the words listed under `name`: `except`, `only`, `articles`, `openings`."""
    return frozenset(_table()[name])


def order_words(kind: str) -> Mapping[str, Sequence[str]]:
    """Return the connecting words of `order`, `cause` or `instead`, by what they say of their two sides."""
    table: Mapping[str, Sequence[str]] = _table()[kind]
    return table


def bound_phrases(side: str) -> Mapping[str, Sequence[str]]:
    """Return the phrases that bound a number, by kind, of those that stand `before` it or `behind` it."""
    table: Mapping[str, Sequence[str]] = _table()["bounds"][side]
    return table


@cache
def bound_words() -> frozenset[str]:
    """Return the words that phrases which bound a number are made of."""
    phrases = [phrase for side in _table()["bounds"].values() for kind in side.values() for phrase in kind]
    return frozenset(word for phrase in phrases for word in phrase.split())


@cache
def _force() -> Mapping[str, int]:
    return {word: number for number, name in enumerate(("may", "should", "must"), 1) for word in _table()[name]}


def force_of(words: Sequence[str]) -> frozenset[int]:
    """Return how binding what folded `words` say is: 1 may, 2 should, 3 must; empty for a plain statement."""
    return frozenset(_force()[word] for word in words if word in _force())
