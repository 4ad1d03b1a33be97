"""Rules with exceptions: what holds for all does not hold for those, and the other way round (pure)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final

from articles.claimwords import are_opposites, one_meaning, word_set_of
from articles.clauses import Clause, Difference, Pair, Word
from articles.licensing import light

__all__ = ["exception", "indifferent", "only_dropped", "own_exception"]


@cache
def _pattern(name: str) -> re.Pattern[str]:
    phrases = sorted(word_set_of(name), key=len, reverse=True)
    return re.compile(r"(?<!\S)(?:" + "|".join(map(re.escape, phrases)) + r")(?!\S)")


def _text(clauses: Sequence[Clause]) -> str:
    return " ".join(word.text for clause in clauses for word in clause.words)


def indifferent(pair: Pair) -> Difference | None:
    """Return that the sentence says "even if" or "regardless" where nothing cited does; None otherwise."""
    said = _pattern("concessive").search(_text(pair.mine))
    if said and not _pattern("concessive").search(_text(pair.cited)):
        return Difference("condition", said.group())
    return None


def only_dropped(pair: Pair) -> Iterator[Difference]:
    """What is said of one thing only, said without it: "only the helpdesk can lift it", and users do."""
    if any(word.text in word_set_of("only") for clause in pair.mine for word in clause.words):
        return
    for clause, other in pair.matched:
        if other is None or len(clause.roots & other.roots) < _RETOLD:
            continue
        for place, word in enumerate(other.words):
            if word.text not in word_set_of("only") or (place and other.words[place - 1].text in _NOT):
                continue
            if any(one.text in word_set_of("also") for one in clause.words if one.root not in pair.held):
                yield Difference("only", "also for only")
                return
            if clause.negated:
                continue
            of = [one for one in other.words[place + 1 :] if one.content and not light(one.text)][:_NAMED]
            said = [one.text for part in pair.mine for one in part.words]
            if of and not any(one_meaning(one.text, word) for one in of for word in said):
                yield Difference("only", f"without {of[0].raw}")
                return


_RETOLD: Final = 2
_NOT: Final = frozenset({"not", "nicht"})


def exception(pair: Pair) -> tuple[bool, Difference | None]:
    """Return whether the sentence speaks of the exception to a cited rule, and the difference where it errs.

    "Jobs are deleted unless a user held them": that held jobs are not deleted is supported, that they are is not. Who
    says "not" or the contrary of the rule's word turns it; a condition that is denied turns it back.
    """
    for number in sorted({clause.sentence for clause in pair.cited}):
        clauses = tuple(clause for clause in pair.cited if clause.sentence == number)
        rule, apart = _split(clauses)
        of_whom = not apart
        if of_whom:
            rule, apart = _exempted(clauses, tuple(clause for clause in pair.cited if clause.sentence < number))
        if not apart or not rule:
            continue
        of_rule = frozenset().union(*(clause.roots for clause in rule))
        own = frozenset().union(*(clause.roots for clause in apart)) - of_rule
        naming = [clause for clause in pair.mine if clause.roots & own]
        if not naming or not any(clause.roots & of_rule for clause in pair.mine):
            continue
        if _pattern("exceptions").search(_text(pair.mine)) or _exempt(pair.mine):
            return False, None
        stating = [clause for clause in pair.mine if clause.roots & of_rule]
        apart_from = [clause for clause in naming if clause not in stating]
        denied = any(clause.negated for clause in stating)
        said = frozenset().union(*(clause.roots for clause in pair.mine))
        told = max(rule, key=lambda clause: len(clause.roots & said)) if of_whom else rule[-1]
        turned = denied != told.negated
        turned ^= _contrary(stating, rule, pair)
        conditional = any(clause.negated for clause in apart_from)
        if turned == conditional:
            return True, Difference("exception", " ".join(sorted(own & frozenset().union(*(c.roots for c in naming)))))
        return True, None
    return False, None


def own_exception(pair: Pair) -> Iterator[Difference]:
    """An exception that the sentence makes of what the citation says of that very thing: "all but X" do what X does."""
    for number in sorted({clause.sentence for clause in pair.mine}):
        rule, apart = _split(tuple(clause for clause in pair.mine if clause.sentence == number))
        own = frozenset().union(*(clause.roots for clause in apart)) - frozenset().union(*(c.roots for c in rule))
        for stated in rule if own else ():
            for clause in pair.cited:
                whole = _text(pair.sentence_of(clause))
                if _pattern("exceptions").search(whole) or _exempt(pair.sentence_of(clause)):
                    continue
                said = clause.roots & stated.roots - own
                whole_rule = said and 2 * len(said) >= len(stated.roots - own)
                if clause.roots & own and whole_rule and clause.negated == stated.negated:
                    yield Difference("exception", " ".join(sorted(own)))
                    return


def _exempt(among: Sequence[Clause]) -> bool:
    return any(word.text in word_set_of("exempt") for clause in among for word in clause.words)


def _exempted(clauses: tuple[Clause, ...], before: tuple[Clause, ...]) -> tuple[list[Clause], list[Clause]]:
    """Return the rule of the sentences before and whom this one exempts from it; nothing where it exempts nobody."""
    if not before or not _exempt(clauses):
        return [], []
    last = max(clause.sentence for clause in before)
    bare = [Clause(tuple(w for w in c.words if w.text not in word_set_of("exempt")), c.sentence) for c in clauses]
    return [clause for clause in before if clause.sentence == last], bare


def _split(clauses: tuple[Clause, ...]) -> tuple[list[Clause], list[Clause]]:
    """Return the clauses of the rule and those of its exception; none of the latter where there is no exception."""
    rule: list[Clause] = []
    apart: list[Clause] = []
    marked = False
    for clause in clauses:
        match = None if marked else _pattern("exceptions").search(_text((clause,)))
        if not match:
            (apart if marked else rule).append(clause)
            continue
        marked = True
        text = _text((clause,))
        before, behind = len(text[: match.start()].split()), len(text[: match.end()].split())
        named, rest = _named(clause.words[behind:], match.group())
        if named:
            apart.append(Clause(named, clause.sentence))
        if kept := clause.words[:before] + rest:
            rule.append(Clause(kept, clause.sentence))
    return rule, apart


_CLAUSAL: Final = frozenset({"unless", "es sei denn"})
_NAMED: Final = 2


def _named(words: tuple[Word, ...], marker: str) -> tuple[tuple[Word, ...], tuple[Word, ...]]:
    """Return whom an exception names and what comes behind: after "except" the next words, after "unless" all."""
    content = [place for place, word in enumerate(words) if word.content]
    if marker in _CLAUSAL or len(content) <= _NAMED:
        return words, ()
    cut = content[0] + 1 if words[content[0]].raw[:1].isupper() else content[_NAMED - 1] + 1
    return words[:cut], words[cut:]


def _contrary(stating: list[Clause], rule: list[Clause], pair: Pair) -> bool:
    theirs = [word for clause in rule for word in clause.words if word.content and word.root not in pair.said]
    mine = [word for clause in stating for word in clause.words if word.content and word.root not in pair.held]
    return any(are_opposites(one.text, other.text) for one in mine for other in theirs)
