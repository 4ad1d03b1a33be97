"""Which thing a statement is made of: names taken from another place, sides of a contrast changed (pure).

All words of a sentence can be cited and still not be said together: "write access with option ro" out of "ro mounts
read-only. rw gives write access." A name belongs to the sentence, and the clause, that says the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final

from articles.claimwords import one_meaning, word_set_of
from articles.clauses import Clause, Difference, Pair, Word
from articles.licensing import light
from data.text import stem

__all__ = ["actors", "contrasted", "directed", "moved_names", "other_subject", "subjects"]

_WHOLE: Final = 2
"""Words besides the name that a clause must say for a clause of one sentence to be told from another."""


_LOOSE: Final = frozenset({"name", "`name`", "capitals"})
"""Sorts so wide that two names of one sentence may well be of both."""


def moved_names(pair: Pair) -> Iterator[Difference]:
    """A name said of what the citation says of another name of its sort."""
    sentences = [tuple(part for part in pair.cited if part.sentence == n) for n in sorted(_sentences(pair.cited))]
    places: tuple[tuple[Sequence[tuple[Clause, ...]], int], ...] = (
        (sentences, 1),
        ([(part,) for part in pair.cited], _WHOLE),
    )
    for clause in pair.mine:
        names = _names(clause)
        rest = frozenset(w.root for w in clause.words if w.content and w.root not in names and not light(w.text))
        for among, least in places:
            yield from _moved(names, rest, among, least, pair)


def _moved(
    names: dict[str, str], rest: frozenset[str], among: Sequence[tuple[Clause, ...]], least: int, pair: Pair
) -> Iterator[Difference]:
    said = [frozenset().union(*(part.roots for part in place)) for place in among]
    common = [len(rest & roots) for roots in said]
    best = max(common, default=0)
    if best < least:
        return
    for root, sort in names.items():
        own = [shared for shared, place in zip(common, among, strict=True) if _holds(place, root)]
        if not own:
            continue
        if max(own) * 2 <= best and (sort not in _LOOSE or best >= _WHOLE):
            places = [place for shared, place in zip(common, among, strict=True) if shared == best]
        elif (
            least == 1 and sort not in _LOOSE
        ):  # a word that only one sentence has, and that of another name of the sort
            held = frozenset().union(*(roots for roots, place in zip(said, among, strict=True) if _holds(place, root)))
            lone = [w for w in rest - held if sum(w in roots for roots in said) == 1]
            places = [place for roots, place in zip(said, among, strict=True) if any(w in roots for w in lone)]
        else:
            continue
        for place in places:
            rivals = [
                rival
                for part in place
                for rival, its in _names(part).items()
                if its == sort and (least == 1 or sort not in _LOOSE) and _other(rival, root, pair)
            ]
            if rivals:
                yield Difference("exchanged", f"{root} for {rivals[0]}")
                return


def _other(rival: str, name: str, pair: Pair) -> bool:
    """Tell whether `rival` is another name than `name`, and one that the sentence does not mention."""
    if rival in pair.said or rival in name or name in rival or one_meaning(rival, name):
        return False
    return not any(rival in root.split() for root in pair.said)


def _sentences(among: Sequence[Clause]) -> frozenset[int]:
    return frozenset(clause.sentence for clause in among)


def _holds(place: Sequence[Clause], root: str) -> bool:
    return any(word.root == root for part in place for word in part.words)


def _names(clause: Clause) -> dict[str, str]:
    """Return the roots of a clause's names with their sort: the word that labels them, or their form."""
    found: dict[str, str] = {}
    before: Word | None = None
    for word in clause.words:
        label = before is not None and not before.code and before.text in word_set_of("labels")
        if label and before is not None and word.content_like and word.text not in word_set_of("openings"):
            found[word.root] = stem(before.text, "en")
        elif word.anchor:
            found[word.root] = _shape(word)
        before = word
    return found


_SHAPES: Final = (
    ("number", re.compile(r"\d[\d.,]*%?")),
    ("option", re.compile(r"-.*")),
    ("path", re.compile(r"\S*/\S*")),
    ("file", re.compile(r"[\w-]+\.\w+")),
    ("capitals", re.compile(r"[A-Z][A-Z0-9-]+s?")),
    ("command", re.compile(r"\S+ .*")),
)


def _shape(word: Word) -> str:
    """Return of which sort a name is by its form."""
    found = next((name for name, pattern in _SHAPES if pattern.fullmatch(word.raw)), "name")
    return f"`{found}`" if word.code and found == "name" else found


def directed(pair: Pair) -> Iterator[Difference]:
    """The thing behind a preposition, where the citation has another of the sentence's things there: "to the child"."""
    theirs = _directions(pair.cited)
    known = {(preposition, thing.root) for _, preposition, thing in theirs}
    for before, preposition, thing in _directions(pair.mine):
        if (preposition, thing.root) in known:
            continue
        for other_before, other, other_thing in theirs:
            same = other == preposition and _like(before.text, other_before.text)
            if (
                same
                and other_thing.root in pair.said
                and thing.root in pair.held
                and not _like(thing.text, other_thing.text)
            ):
                yield Difference("exchanged", f"{preposition} {thing.raw} for {other_thing.raw}")
                return


def _like(one: str, other: str) -> bool:
    return one_meaning(one, other) or one.rpartition("-")[2] == other.rpartition("-")[2]


def _directions(among: Sequence[Clause]) -> list[tuple[Word, str, Word]]:
    """Return every preposition with the content word before it and the one behind it."""
    found = []
    for clause in among:
        for place, word in enumerate(clause.words):
            if word.text not in word_set_of("prepositions"):
                continue
            before = next((one for one in reversed(clause.words[:place]) if one.content), None)
            behind = next((one for one in clause.words[place + 1 : place + 4] if one.content), None)
            infinitive = word.text == "to" and behind is not None and not (behind.article or behind.anchor)
            if before is not None and behind is not None and not infinitive:
                found.append((before, word.text, behind))
    return found


_SUBJECT: Final = frozenset({"der", "ein"})
_OBJECT: Final = frozenset({"den", "dem", "einen", "einem"})
_PASSIVE: Final = frozenset({"wird", "werden", "wurde", "wurden", "worden"})


def actors(pair: Pair) -> Iterator[Difference]:
    """Who acts on whom in German, told by the articles: "der Server lehnt ab" is not "der Client lehnt ihn ab"."""
    if pair.language != "de":
        return
    for clause, other in pair.matched:
        if other is None or len(clause.roots & other.roots) < _WHOLE:
            continue
        mine = [part for part in pair.mine if part.sentence == clause.sentence]
        theirs = pair.sentence_of(other)
        if _passive(mine) != _passive(theirs):
            continue
        acting, acted = _cased(mine, _SUBJECT), _cased(theirs, _SUBJECT)
        said = frozenset().union(*(part.roots for part in mine))
        told = frozenset().union(*(part.roots for part in theirs))
        suffering = _cased(mine, _OBJECT) & acted - _cased(theirs, _OBJECT)
        if (suffering and acting - suffering - acted) or ((acting - acted) & told and (acted - acting) & said):
            yield Difference("exchanged", f"{min(suffering or acting - acted)} acts")
            return


def subjects(pair: Pair) -> Iterator[Difference]:
    """Another subject of the same verb, and the cited one is what it acts on: "A marks B" out of "B marks C"."""
    for clause in pair.mine:
        mine = _opening(clause)
        for other in pair.cited if mine else ():
            theirs = _opening(other)
            if not mine or not theirs or mine[1].root != theirs[1].root or light(mine[1].text):
                continue
            one, two = mine[0], theirs[0]
            if pair.language == "de" and one.article != "der" and not one.anchor:
                continue  # "die", "das" and "ein" stand before the object as well
            if two.root in clause.roots and not one_meaning(one.text, two.text) and one.root in pair.held:
                yield Difference("exchanged", f"{one.raw} for {two.raw}")
                return


def other_subject(pair: Pair) -> Iterator[Difference]:
    """What one clause opens with, said of it what the citation says in a clause that opens with something else."""
    for clause, other in pair.matched:
        if other is None or len(clause.roots & other.roots) < _WHOLE:
            continue
        one, two = _first(clause), _first(other)
        if one is None or two is None or one.root in other.roots or two.root in pair.said:
            continue
        if any(word.text in _LISTED for word in other.words[:_LIST]):
            continue  # "in A, B and C it does": the clause begins within a list
        opens = any((first := _first(part)) and first.root == one.root for part in pair.sentence_of(other))
        if opens and not light(one.text) and not light(two.text) and not one_meaning(one.text, two.text):
            yield Difference("exchanged", f"{one.raw} for {two.raw}")


_LISTED: Final = frozenset({"and", "or", "und", "oder"})
_LIST: Final = 3


def _first(clause: Clause) -> Word | None:
    return next((word for word in clause.words if word.content), None)


def _opening(clause: Clause) -> tuple[Word, Word] | None:
    """Return the first two content words of a clause, where the first may be its subject."""
    row = [word for word in clause.words if word.text not in word_set_of("openings")]
    if len(row) < _WHOLE or not row[0].content or not row[1].content or row[0].article in _OBJECT:
        return None
    return row[0], row[1]


def _passive(among: Sequence[Clause]) -> bool:
    return any(word.text in _PASSIVE for clause in among for word in clause.words)


def _cased(among: Sequence[Clause], articles: frozenset[str]) -> frozenset[str]:
    """Return the nouns that stand behind one of `articles`, and behind no preposition or other noun."""
    found = set()
    for clause in among:
        for place, word in enumerate(clause.words):
            before = clause.words[place - 1] if place else None
            if word.article not in articles or (before and before.text in word_set_of("before_cases")):
                continue
            noun = next((one for one in clause.words[place : place + 3] if one.raw[:1].isupper()), None)
            if noun is not None and not (articles is _SUBJECT and before and before.raw[:1].isupper() and place > 1):
                found.add(noun.root)
    return frozenset(found)


def contrasted(pair: Pair) -> Iterator[Difference]:
    """What is set against another thing ("unlike", "im Gegensatz zu", "than") has changed places with it."""
    for against, rest in _contrasts(pair.mine):
        for other, others in _contrasts(pair.cited):
            if against & other or not against & others or not other & rest:
                continue
            yield Difference("exchanged", f"{min(against)} and {min(other)}")
            return


@cache
def _contrast() -> re.Pattern[str]:
    phrases = sorted(word_set_of("contrast"), key=len, reverse=True)
    return re.compile(r"(?<!\S)(?:" + "|".join(map(re.escape, phrases)) + r")(?!\S)")


_AGAINST: Final = 3
"""Words behind "unlike" that may name what is meant."""


def _contrasts(among: Sequence[Clause]) -> list[tuple[frozenset[str], frozenset[str]]]:
    """Return (what is set against, all other words) of every contrast."""
    found = []
    for number in sorted(_sentences(among)):
        clauses = [clause for clause in among if clause.sentence == number]
        for clause in clauses:
            text = " ".join(word.text for word in clause.words)
            for match in _contrast().finditer(text):
                first = len(text[: match.end()].split())
                behind = [word for word in clause.words[first:] if word.content][:_AGAINST]
                roots = frozenset(word.root for word in behind)
                others = frozenset(
                    word.root
                    for part in clauses
                    for place, word in enumerate(part.words)
                    if word.content and not (part is clause and place >= first)
                )
                if roots and others:
                    found.append((roots, others))
    return found
