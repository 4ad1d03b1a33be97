"""Whether each word of a sentence that says something is said by what it cites too (pure).

A sentence can keep nine words in ten of its citation and say something else by the tenth. So each word counts: it is
licensed where the citation has it in any form, in a compound or as a synonym, and where it is light: "takes", "occurs"
and "the command" say nothing that the rest of the sentence does not. Numbers, code, "not" and must or may have checks
of their own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final

from articles.bounds import bounded_alike
from articles.claimwords import (
    are_opposites,
    bound_words,
    core_of,
    force_of,
    number_of,
    one_meaning,
    unit_of,
    variants,
    word_set_of,
)
from articles.clauses import Clause, Pair, Word
from articles.cues import negations
from data.text import stem

__all__ = ["Licence", "licence"]

_JOINING: Final = frozenset({"and", "or", "but", "und", "oder", "aber", "sondern", "sowie"})
_PART: Final = 3
"""Words that say something which a supported part of a sentence must have at the least."""
_COMPOUND: Final = 5
"""Letters from which on a word may be found inside of another ("Drucker" in "Druckerwarteschlange")."""
_PREFIX: Final = 4
_DENIED: Final = re.compile(r"(?:un|in|im|ir|non|dis|ent|ver|miss|ab|aus)$")
"""What makes another word of the one that stands behind it: "changed" is not in "unchanged"."""


@dataclass(frozen=True, slots=True)
class Licence:
    words: tuple[str, ...]
    """The words of the sentence that its citation does not say: as written, in order, each once."""
    share: float
    """Share of the words that say something which the citation says too, 0 to 1; 0 where none says anything."""
    in_part: bool
    """What stands before the first "and" says nothing but what is cited, and is half of the sentence or more."""


def licence(pair: Pair) -> Licence:
    """Return what of the sentence its citation does not license."""
    cited = tuple(dict.fromkeys(form for clause in pair.cited for form in _forms(clause)))
    bounding = bound_words() if bounded_alike(pair) else frozenset()
    units = frozenset(unit_of(word.text) for clause in pair.cited for word in clause.words)
    denying = [one for one, other in pair.matched if one.negated or (other is not None and other.negated)]
    contrary = frozenset(word.root for clause in denying for word in clause.words)
    lost: dict[str, None] = {}
    said = unsaid = whole = 0
    for number, part in enumerate(_parts(pair.mine)):
        free = [
            word
            for word, near in zip(part, [*part[1:], None], strict=True)
            if word.text not in bounding
            and not _licensed(word, pair, cited, units)
            and not (near and _joined(word, near, cited))
            and not (word.root in contrary and word.text in word_set_of("soft"))
            and not (word.root in contrary and any(are_opposites(word.text, other) for other in cited))
        ]
        lost.update(dict.fromkeys(word.raw for word in free))
        weight = sum(_weighs(word) for word in part)
        said += weight
        unsaid += len(free)
        whole += sum(_heavy(word) for word in part) if not free and (number == 0 or whole) else 0
    return Licence(tuple(lost), 1.0 - unsaid / said if said else 0.0, whole >= _PART and whole * 2 >= said)


def _parts(mine: Sequence[Clause]) -> list[list[Word]]:
    """Return the words between the "and"s of a sentence: what is added with a comma belongs to what stands before."""
    parts: list[list[Word]] = [[]]
    sentence = 0
    for clause in mine:
        if clause.sentence != sentence:
            parts.append([])
            sentence = clause.sentence
        for word in clause.words:
            if word.text in _JOINING:
                parts.append([])
            else:
                parts[-1].append(word)
    return [part for part in parts if part]


_SHORT: Final = 3
_PARTICLE: Final = 5
"""Letters that the short half of a word in two may have at the most: "log in", "neu starten"."""


def _forms(clause: Clause) -> list[str]:
    """Return the words of a cited clause, and two together where they may be one: "logging in" for "login"."""
    plain = [word.text for word in clause.words if not word.code]
    verbs = [
        two + core_of(one)
        for place, two in enumerate(plain)
        if two in word_set_of("particles")
        for one in plain[:place]
        if len(one) > _SHORT
    ]
    return (
        plain
        + verbs
        + [stem(one, "en") + two for one, two in pairwise(plain) if len(two) <= _PARTICLE and one.isalpha()]
    )


def _joined(one: Word, two: Word, cited: tuple[str, ...]) -> bool:
    base = stem(one.text, "en")
    base = base[:-1] if base[-2:-1] == base[-1:] else base  # "shutt" of "shutting"
    if len(two.text) <= _PARTICLE and base + two.text in cited:
        return True
    return len(one.text) <= _PARTICLE and any(one.text + core_of(two.text) in other for other in cited)


def _heavy(word: Word) -> bool:
    return _weighs(word) and not light(word.text)


def _weighs(word: Word) -> bool:
    return word.content or word.text in word_set_of("strict")


def _licensed(word: Word, pair: Pair, cited: tuple[str, ...], units: frozenset[str]) -> bool:
    if word.code or any(letter.isdigit() for letter in word.text):
        return True
    if not _weighs(word) or word.text in word_set_of("exempt"):
        return True
    if word.text in word_set_of("strict"):
        return _reaches(word, pair)
    if negations(word.raw) or force_of([word.text]) or number_of(word.text):
        return True
    if unit := unit_of(word.text):
        return unit in units
    return word.root in pair.held or light(word.text) or _said(word.text, cited, _particles(pair))


def _reaches(word: Word, pair: Pair) -> bool:
    """Tell whether what is retold reaches as far: "all" is not said by the "all" of another sentence."""
    clause = next(clause for clause in pair.mine if any(one is word for one in clause.words))
    if word.text == "any" and clause.negated:
        return True
    others = {other.sentence for one, other in pair.matched if other is not None and one.sentence == clause.sentence}
    others |= {part.sentence for part in pair.cited if len(part.roots & clause.roots) >= _PART}
    cited = [one.text for part in pair.cited if part.sentence in others for one in part.words]
    if word.text in word_set_of("only"):
        return any(one in word_set_of("only") or one in word_set_of("except") for one in cited)
    return any(one == word.text or (one_meaning(word.text, one) and not are_opposites(word.text, one)) for one in cited)


@lru_cache(maxsize=20_000)
def light(word: str) -> bool:
    """Tell whether a folded word may be said without a citation."""
    listed = word_set_of("light")
    return word in listed or core_of(word) in _light_cores()


@lru_cache(maxsize=1)
def _light_cores() -> frozenset[str]:
    return frozenset(core_of(word) for word in word_set_of("light"))


def _particles(pair: Pair) -> frozenset[str]:
    """Return the short words of both sides: the "ab" of "schaltet es ab" is that of "abgeschaltet"."""
    return frozenset(
        word.text for clause in (*pair.mine, *pair.cited) for word in clause.words if len(word.text) <= _PREFIX
    )


@lru_cache(maxsize=20_000)
def _said(word: str, cited: tuple[str, ...], particles: frozenset[str]) -> bool:
    pieces = [piece for piece in re.split(r"[-/+()]", word) if piece]
    if len(pieces) > 1:
        return all(len(piece) < 3 or light(piece) or _said(piece, cited, particles) for piece in pieces)
    return any(_says(pieces[0] if pieces else word, other, particles) for other in cited)


def _says(word: str, other: str, particles: frozenset[str]) -> bool:
    if are_opposites(word, other):
        return False
    if one_meaning(word, other) or _inside(word, other, particles) or _inside(other, word, particles):
        return True
    pieces = [piece for piece in re.split(r"[-/+()]", other) if piece]
    return pieces != [other] and any(_says(word, piece, particles) for piece in pieces)


def _inside(part: str, whole: str, particles: frozenset[str]) -> bool:
    """Tell whether the bare form of `part` stands in `whole`, and not as the denied half of it."""
    core = core_of(part)
    core = core if len(core) >= _COMPOUND else part
    if len(core) < _COMPOUND:
        return False
    for form in variants(core):
        if form in whole:
            denied = _DENIED.search(whole[: whole.index(form)])
            return denied is None or denied.group() in particles
    return False
