"""Rules with exceptions: what holds for all does not hold for those, and the other way round (pure)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from articles.claimwords import are_opposites, one_meaning, word_set_of
from articles.clauses import Clause, Difference, Pair
from articles.licensing import light

__all__ = ["exception", "indifferent", "only_dropped"]


@cache
def _pattern(name: str) -> re.Pattern[str]:
    phrases = sorted(word_set_of(name), key=len, reverse=True)
    return re.compile(r"(?<!\S)(?:" + "|".join(map(re.escape, phrases)) + r")(?!\S)")


def _text(clauses: tuple[Clause, ...]) -> str:
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
            of = next((one for one in other.words[place + 1 :] if one.content and not light(one.text)), None)
            if of and not any(one_meaning(of.text, one.text) for part in pair.mine for one in part.words):
                yield Difference("only", f"without {of.raw}")
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
        if not apart or not rule:
            continue
        of_rule = frozenset().union(*(clause.roots for clause in rule))
        own = frozenset().union(*(clause.roots for clause in apart)) - of_rule
        naming = [clause for clause in pair.mine if clause.roots & own]
        if not naming or not any(clause.roots & of_rule for clause in pair.mine):
            continue
        if _pattern("exceptions").search(_text(pair.mine)):
            return False, None
        stating = [clause for clause in pair.mine if clause.roots & of_rule]
        apart_from = [clause for clause in naming if clause not in stating]
        denied = any(clause.negated for clause in stating)
        turned = denied != any(clause.negated for clause in rule)
        turned ^= _contrary(stating, rule, pair)
        conditional = any(clause.negated for clause in apart_from)
        if turned == conditional:
            return True, Difference("exception", " ".join(sorted(own & frozenset().union(*(c.roots for c in naming)))))
        return True, None
    return False, None


def _split(clauses: tuple[Clause, ...]) -> tuple[list[Clause], list[Clause]]:
    """Return the clauses of the rule and those of its exception; none of the latter where there is no exception."""
    rule: list[Clause] = []
    apart: list[Clause] = []
    for clause in clauses:
        if apart:
            apart.append(clause)
            continue
        text = _text((clause,))
        match = _pattern("exceptions").search(text)
        if not match:
            rule.append(clause)
            continue
        before, behind = len(text[: match.start()].split()), len(text[: match.end()].split())
        if before:
            rule.append(Clause(clause.words[:before], clause.sentence))
        apart.append(Clause(clause.words[behind:], clause.sentence))
    return rule, apart


def _contrary(stating: list[Clause], rule: list[Clause], pair: Pair) -> bool:
    theirs = [word for clause in rule for word in clause.words if word.content and word.root not in pair.said]
    mine = [word for clause in stating for word in clause.words if word.content and word.root not in pair.held]
    return any(are_opposites(one.text, other.text) for one in mine for other in theirs)
