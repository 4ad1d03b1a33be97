"""A "not" more or less than in what a sentence retells (pure).

Compared are clauses that retell one another, so that a sentence which takes one clause out of a long quote is not
measured by the "not" of another clause.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from articles.claimwords import are_opposites, force_of, one_meaning, word_set_of
from articles.clauses import Clause, Difference, Pair
from articles.cues import negations
from articles.licensing import light

__all__ = ["denials_counted", "denied_there", "negated_words", "negation"]


def negation(pair: Pair) -> Iterator[Difference]:
    """A "not" more or less than in what is retold, or the same number of them on other clauses."""
    groups: dict[int, list[Clause]] = {}
    others: dict[int, tuple[Clause, ...]] = {}
    for clause, other in pair.matched:
        if other is None:
            continue
        told = _told(clause, other, pair) if clause.retells(other) else _sharing(clause, pair.sentence_of(other))
        key = id(clause) if clause.elliptical else id(other)
        groups.setdefault(key, []).append(clause)
        others[key] = told
    turned = [
        key
        for key, told in others.items()
        if _turned(groups[key], told) and _most(groups[key], told) and not _denied_beside(groups[key], told, pair)
    ]
    if not turned:
        for key, told in others.items():
            if _negated(told) and _excludes(told) and not _limits(pair.mine):
                yield Difference("negation", "the exception is left out")
            del key
        return
    mine = sum(_negated(group) or bool(_soft(group, others[key])) for key, group in groups.items())
    cited = sum(_negated(told) or bool(_soft(told, groups[key])) for key, told in others.items())
    if (mine != cited or len(turned) > 1) and not _only_for_except(pair, turned, others):
        yield Difference("negation", " ".join(word.raw for word in groups[turned[0]][0].words))


def _denied_beside(mine: Sequence[Clause], told: Sequence[Clause], pair: Pair) -> bool:
    """Tell whether what `mine` denies is denied in another cited clause: "the administrator can, a user cannot"."""
    if not _negated(mine):
        return False
    own = frozenset().union(*(clause.roots for clause in mine)) - frozenset().union(*(clause.roots for clause in told))
    return any(clause.roots & own for clause in pair.cited if clause.negated or _soft([clause], []))


def _turned(mine: Sequence[Clause], told: Sequence[Clause]) -> bool:
    """Tell whether one side denies what the other does not, by a "not" or by a word such as "impossible"."""
    if _negated(mine) == _negated(told):
        return not _negated(mine) and bool(_soft(told, mine)) and _common(mine, told) >= _JOINED
    return not (_soft(told, mine) if _negated(mine) else _soft(mine, told))


def _soft(among: Sequence[Clause], beside: Sequence[Clause]) -> list[str]:
    """Return the words of `among` that deny without a "not" and have no like in `beside`."""
    near = [word.text for clause in beside for word in clause.words if not negations(word.raw)]
    denying = [word.text for clause in among for word in clause.words if word.text in word_set_of("soft")]
    return [word for word in denying if not any(one_meaning(word, other) for other in near)]


def _common(mine: Sequence[Clause], told: Sequence[Clause]) -> int:
    return len(frozenset().union(*(c.roots for c in mine)) & frozenset().union(*(c.roots for c in told)))


def _told(clause: Clause, other: Clause, pair: Pair) -> tuple[Clause, ...]:
    """Return `other` with those clauses of its sentence that `clause` takes more words from: two clauses made one."""
    told = [other]
    for part in pair.sentence_of(other):
        new = (clause.roots & part.roots) - other.roots
        if part is other or not new:
            continue
        # "it does not run it": what a pronoun stands for is said by the clause before, the verb by this one alone
        alone = _stands_for(part) and any(sum(root in one.roots for one in pair.cited) == 1 for root in new)
        if alone or len(new) + len(clause.neighbours & part.neighbours) >= _JOINED:
            told.append(part)
    return tuple(told)


def _stands_for(clause: Clause) -> bool:
    return clause.negated and any(word.text in word_set_of("pronouns") for word in clause.words)


_JOINED: Final = 2
"""Words, and pairs of them, that a clause has from a second cited one where it retells both."""


def _sharing(clause: Clause, among: Sequence[Clause]) -> tuple[Clause, ...]:
    return tuple(other for other in among if clause.roots & other.roots)


def negated_words(pair: Pair) -> Iterator[Difference]:
    """The very word that is denied on one side, and never on the other."""
    if _limits(pair.mine) or _limits(pair.cited):
        return
    for denied, other in ((pair.mine, pair.cited), (pair.cited, pair.mine)):
        free = _words_denied(other, denied=False) - _words_denied(other, denied=True)
        for root in sorted((_words_denied(denied, denied=True) - _words_denied(denied, denied=False)) & free):
            if root.isalpha() and not force_of([root]):
                yield Difference("negation", root)


_PLAIN_NOT: Final = frozenset({"not", "cannot", "never", "don't", "doesn't", "didn't", "isn't", "aren't", "won't"})
"""In English the word behind these is the one denied; German denies from any place of a clause."""


def _words_denied(among: Sequence[Clause], *, denied: bool) -> frozenset[str]:
    """Return the words right behind a negating word, or all words of clauses without one."""
    found: set[str] = set()
    for clause in among:
        if not denied and not clause.negated:
            found |= clause.roots
        if denied and _soft([clause], []):
            found |= clause.roots
        if denied and clause.negated:
            for index, word in enumerate(clause.words):
                if word.text in _PLAIN_NOT:
                    found.update(next(([one.root] for one in clause.words[index + 1 :] if one.content), []))
    return frozenset(found)


def denied_there(pair: Pair) -> Iterator[Difference]:
    """A word that the citation says in a short denial alone: "this does not happen automatically"."""
    for clause in pair.mine:
        if clause.negated or _soft([clause], []) or _limits(pair.mine):
            continue
        for word in clause.words:
            if not word.content or word.anchor or light(word.text) or force_of([word.text]):
                continue
            holders = [other for other in pair.cited if word.root in other.roots]
            if any(
                are_opposites(one.text, two.text) for other in holders for one in clause.words for two in other.words
            ):
                continue  # "not automatically" is by hand
            if holders and all(len(one.roots) <= _BRIEF and word.root in _behind_denial(one) for one in holders):
                yield Difference("negation", word.raw)


_BRIEF: Final = 3


def _behind_denial(clause: Clause) -> frozenset[str]:
    places = [place for place, word in enumerate(clause.words) if not word.code and negations(word.raw)]
    if not places or _limits([clause]):
        return frozenset()
    return frozenset(word.root for word in clause.words[places[0] + 1 :])


def denials_counted(pair: Pair) -> Iterator[Difference]:
    """Of several negating words one more or less, in a clause that is otherwise the cited one."""
    for clause, other in pair.matched:
        if other is None or clause.denials == other.denials or not (clause.negated and other.negated):
            continue
        if len(clause.roots & other.roots) >= _SAME * len(clause.roots | other.roots):
            yield Difference("negation", " ".join(word.raw for word in clause.words))


_SAME: Final = 0.8
"""Share of the words that two clauses have in common when one is the other."""


def _negated(among: Sequence[Clause]) -> bool:
    return any(clause.negated for clause in among)


def _most(mine: Sequence[Clause], told: Sequence[Clause]) -> bool:
    """Tell whether what `mine` says is for the most part what `told` says."""
    roots = frozenset().union(*(clause.roots for clause in mine))
    theirs = frozenset().union(*(clause.roots for clause in told))
    common = len(roots & theirs)
    return common * 2 >= min(len(roots), len(theirs))


def _has(among: Sequence[Clause], name: str) -> bool:
    return any(word.text in word_set_of(name) for clause in among for word in clause.words)


def _excludes(among: Sequence[Clause]) -> bool:
    return any(word.text in {"except", "ausser"} for clause in among for word in clause.words)


def _limits(among: Sequence[Clause]) -> bool:
    return _has(among, "except") or _has(among, "only")


def _only_for_except(pair: Pair, turned: Sequence[int], others: Mapping[int, tuple[Clause, ...]]) -> bool:
    """Tell whether "not … except" stands on one side and "only" on the other: they say the same."""
    told = [clause for key in turned for clause in others[key]]
    whole = [clause for one in told for clause in pair.sentence_of(one)]
    if _negated(pair.mine):
        return _has(pair.mine, "except") and _has(told, "only")
    return _has(pair.mine, "only") and _has(whole, "except")
