"""Words put in the place of cited ones: replaced, exchanged, or taken from another clause (pure).

A place is known by its neighbours. What stands between the same neighbours as a cited word and is another word says
something else, unless it is a form of it or a synonym.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final

from articles.claimwords import are_opposites, force_of, number_of, one_meaning, word_set_of
from articles.clauses import NAME, Clause, Difference, Pair, Word
from articles.licensing import light
from data.products import PRODUCTS

__all__ = ["exchanged", "misplaced", "replaced", "replaced_pairs"]

_EDGE: Final = Word("|", "|", "|", False)
Frame = tuple[Word, Word, Word, Word, Word]


def _frames(clause: Clause) -> Iterator[Frame]:
    """Yield each word with the two before and the two behind it; beyond a clause stands its edge."""
    words = clause.words
    while len(words) > 1 and words[0].text in word_set_of("openings"):
        words = words[1:]
    row = (_EDGE, _EDGE, *words, _EDGE, _EDGE)
    for index in range(2, len(row) - 2):
        yield row[index - 2], row[index - 1], row[index], row[index + 1], row[index + 2]


_AT_HOME: Final = 0.75
"""By how much more a place must be like a word's own for the word to have been moved there: an edge is no neighbour."""


def replaced(pair: Pair) -> Iterator[Difference]:
    """Another word in the very place of a cited one: the words before and behind it are the same."""
    cited = [frame for clause in pair.cited for frame in _frames(clause)]
    for clause in pair.mine:
        for frame in _frames(clause):
            word = frame[2]
            if not _weighs(word):
                continue
            own = max((_likeness(frame, other) for other in cited if other[2].root == word.root), default=-1.0)
            own += _AT_HOME if own >= 0 else 0
            for other in cited:
                likeness = _likeness(frame, other)
                placed = _one_place(frame, other, own >= 0) or (own < 0 and _turned(frame, other))
                if likeness > own and placed and _says_other(frame, other, pair.language):
                    yield Difference("replaced", f"{word.raw} for {other[2].raw}")
                    break


def replaced_pairs(pair: Pair) -> Iterator[Difference]:
    """Two words that are not cited in the very place of two cited ones."""
    cited = [(_EDGE, *clause.words, _EDGE) for clause in pair.cited]
    for clause in pair.mine:
        row = (_EDGE, *clause.words, _EDGE)
        for i in range(1, len(row) - 2):
            mine = row[i : i + 2]
            if not all(word.content and word.root not in pair.held for word in mine):
                continue
            for other in cited:
                for j in range(1, len(other) - 2):
                    theirs = other[j : j + 2]
                    edges = (row[i - 1], row[i + 2]), (other[j - 1], other[j + 2])
                    if [word.root for word in edges[0]] != [word.root for word in edges[1]]:
                        continue
                    around = any(word is not _EDGE for word in edges[0])
                    if around and all(word.content and word.root not in pair.said for word in theirs):
                        yield Difference("replaced", f"{mine[0].raw} {mine[1].raw} for {theirs[0].raw} {theirs[1].raw}")


def _weighs(word: Word) -> bool:
    return (
        word.content
        or bool(force_of([word.text]))
        or bool(number_of(word.text))
        or word.text in word_set_of("quantities")
        or word.text in word_set_of("places")
    )


def _likeness(mine: Frame, cited: Frame) -> float:
    """Return how much of a word's surroundings is the same, 0 to 4; an edge counts half."""
    total = 0.0
    for near, far in ((1, 0), (3, 4)):
        if mine[near].root == cited[near].root:
            total += 0.5 if mine[near] is _EDGE else 1.0
            if mine[near] is not _EDGE and mine[far].root == cited[far].root:
                total += 0.5 if mine[far] is _EDGE else 1.0
    if mine[1].root == cited[1].root and mine[3].root == cited[3].root:
        total += 0.5
    return total


def _one_place(mine: Frame, cited: Frame, known: bool) -> bool:
    """Tell whether both middle words stand in one place: same neighbours, one of them saying something.

    A word that the citation holds elsewhere must have more in common with the place than one it does not hold.
    """
    if mine[1].root != cited[1].root or mine[3].root != cited[3].root:
        return False
    same = [mine[1], mine[3]]
    same += [
        mine[far] for near, far in ((1, 0), (3, 4)) if mine[far].root == cited[far].root and mine[near] is not _EDGE
    ]
    inner = [word for word in same if word is not _EDGE and word.text not in word_set_of("pronouns")]
    weighty = sum(word.content for word in inner)
    if mine[1] is _EDGE and mine[4] is not _EDGE and mine[4].root == cited[4].root and weighty >= 1:
        return True
    if _named(mine[2]) and len(inner) >= 3:
        return True
    if _named(cited[2]) and not known and weighty >= 1:
        return True
    if known or mine[1] is _EDGE or mine[3] is _EDGE:
        return weighty >= 2 or (weighty >= 1 and len(inner) >= 3) or (weighty >= 1 and len(inner) >= 2 and not known)
    return weighty >= 1 or len(inner) >= 3


def _turned(mine: Frame, cited: Frame) -> bool:
    """Tell whether the words are opposites, with the same word, or the same edge, on either side of them."""
    beside = [(mine[1], cited[1]), (mine[3], cited[3])]
    named = any(one is not _EDGE for one, _ in beside)
    return named and are_opposites(mine[2].text, cited[2].text) and all(one.root == two.root for one, two in beside)


_SUFFIX: Final = 4


def _says_other(mine: Frame, theirs: Frame, language: str) -> bool:
    word, cited = mine[2], theirs[2]
    if light(word.text) and not word.code and not are_opposites(word.text, cited.text):
        return False
    if word.root == cited.root or not _weighs(cited):
        return False
    if word.code or cited.code:
        one, other = set(word.text.split()), set(cited.text.split())
        return not (
            one <= other or other <= one or word.text.endswith(f"/{cited.text}") or cited.text.endswith(f"/{word.text}")
        )
    if are_opposites(word.text, cited.text):
        return True
    if one_meaning(word.text, cited.text):
        return False
    named = _named(word) or _named(cited)
    if language == "de" and mine[1] is not _EDGE and not named and (_capital(word) != _capital(cited)):
        return False
    if language == "de" and mine[3] is _EDGE and not _capital(word):
        return False  # a noun is no verb, and at the end of a German clause the verb may be any that fits
    if language == "de" and cited.root in {mine[0].root, mine[4].root}:
        return False  # subject and object around the verb
    if (word.text in word_set_of("places")) != (cited.text in word_set_of("places")):
        return False
    short, long = sorted((word.text, cited.text), key=len)
    return not (len(short) > _SUFFIX and short in long and len(long) - len(short) >= _SUFFIX)


def _named(word: Word) -> bool:
    """Tell whether a word is a name whatever the language: by its form, or a product's as people write it."""
    return bool(NAME.fullmatch(word.raw)) or word.text in _product_names()


@cache
def _product_names() -> frozenset[str]:
    return frozenset(product.name for product in PRODUCTS)


def _capital(word: Word) -> bool:
    return any(letter.isupper() for letter in word.raw)


def exchanged(pair: Pair) -> Iterator[Difference]:
    """Two words that have changed places while all others kept theirs, or one word put where another clause has its."""
    for clause, other in pair.matched:
        if other is None:
            continue
        sentence = [word for part in pair.sentence_of(other) for word in (*part.words, _EDGE)]
        whole = [word.root for word in sentence if word.content]
        mine = [word.root for word in clause.words if word.content and word.root in whole]
        if len(mine) < 3 or len(set(mine)) != len(mine):
            continue
        places = [whole.index(root) for root in mine]
        wrong = [i for i, (a, b) in enumerate(zip(places, sorted(places), strict=True)) if a != b]
        if len(wrong) != 2:
            continue
        one, two = mine[wrong[0]], mine[wrong[1]]
        if pair.language == "de" and wrong[1] - wrong[0] == 2:
            continue  # around the verb a German sentence may put either first
        if _of_between(clause, one, two):
            continue  # "types of plugins" for "plugin types"
        own = [*clause.words, _EDGE]
        if _beside(own, one) & _beside(sentence, two) and _beside(own, two) & _beside(sentence, one):
            yield Difference("exchanged", f"{one} and {two}")


def _of_between(clause: Clause, one: str, two: str) -> bool:
    row = [word.root for word in clause.words]
    first, second = sorted((row.index(one), row.index(two)))
    return any(word.text in {"of", "von", "vom"} for word in clause.words[first + 1 : second])


def _beside(words: Sequence[Word], root: str) -> frozenset[str]:
    """Return the roots right before and right behind a word, told apart."""
    found = set()
    for index, word in enumerate(words):
        if word.root == root:
            found |= {f"<{words[index - 1].root}"} if index else {"<|"}
            found |= {f">{words[index + 1].root}"} if index + 1 < len(words) else {">|"}
    return frozenset(found - {"<|", ">|"})


def misplaced(pair: Pair) -> Iterator[Difference]:
    """A clause retold but for one word, and that one taken from another clause."""
    for clause, other in pair.matched:
        if other is None or len(clause.roots) < 2:
            continue
        more, less = clause.roots - other.roots, other.roots - clause.roots
        if len(more) != 1 or len(less) != 1 or len(clause.roots) != len(other.roots):
            continue
        (mine,) = (word for word in _distinct(clause) if word.root in more)
        (cited,) = (word for word in _distinct(other) if word.root in less)
        elsewhere = any(mine.root in part.roots for part in pair.cited if part is not other)
        opens = mine is clause.words[0] or cited is other.words[0]
        alike = mine.code == cited.code and (opens or _capital(mine) == _capital(cited))
        one_place = _distinct(clause).index(mine) == _distinct(other).index(cited)
        if (
            not (light(mine.text) or light(cited.text))
            and elsewhere
            and alike
            and one_place
            and not one_meaning(mine.text, cited.text)
        ):
            yield Difference("exchanged", f"{mine.raw} for {cited.raw}")


def _distinct(clause: Clause) -> list[Word]:
    return list({word.root: word for word in clause.words if word.content}.values())
