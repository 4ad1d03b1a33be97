"""The query guard: what may be asked outside (spec 04, Query guard; pure).

A planner's query is kept unless it is empty, carries something internal or private, or has lost its subject;
then it is rebuilt from the visible labels. The same labels always give the same query. Nothing that the
detectors of `research.private` find is in what comes back, whatever the labels hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from data.models import Label
from data.text import STOP_WORDS, fold, identifiers, term_in, term_index, terms, words
from research.disguise import Match, View, squeeze, views, visible
from research.private import DEFAULT_POLICY, GuardPolicy, PrivateKind, PrivateToken, private_tokens, squeezed_forms

__all__ = ["GuardPolicy", "GuardedQuery", "PrivateKind", "PrivateToken", "guard_query", "private_tokens"]

_REASONS: Final = ("internal_node_id", "hash_like_token", "private_token")
_REASON_OF: Final = {PrivateKind.NODE_ID: 0, PrivateKind.HASH: 1}  # every other kind is a private token
_LONG_ID: Final = 6
"""An id of fewer letters and digits is looked for as a word of its own only: "n1" is part of too much."""


@dataclass(frozen=True, slots=True)
class GuardedQuery:
    """What may be sent. `original` is for the house's own eyes (event and pair view), never for the outside."""

    query: str
    original: str
    rebuilt: bool
    reason: str | None
    """Why it was rebuilt; `nothing_searchable` with an empty query where no public term is left; None if kept."""


@dataclass(frozen=True, slots=True)
class _House:
    """What is internal for one query: the policy, the anchors' ids, and private tokens of the labels."""

    policy: GuardPolicy
    ids: frozenset[str]
    tokens: frozenset[str]

    def leaks(self, text: str) -> list[tuple[int, int, int]]:
        """Return (rule, start, end) of everything in `text` that must not go out; rules count as `_REASONS`."""
        found = [(_REASON_OF.get(t.kind, 2), t.start, t.end) for t in private_tokens(text, self.policy)]
        if self.ids or self.tokens:
            for view in views(text):
                found += self._known(view)
        return found

    def _known(self, view: View) -> Iterable[tuple[int, int, int]]:
        flat = squeeze(view)
        for form in self.ids:
            for span in flat.find(form, Match.ANYWHERE if len(form) >= _LONG_ID else Match.WORD):
                yield (0, *span)
        for form in self.tokens:
            for span in flat.find(form, Match.NAME):
                yield (2, *span)


def guard_query(
    query: str, *, anchors: Sequence[Label], topic: str | None = None, policy: GuardPolicy = DEFAULT_POLICY
) -> GuardedQuery:
    """Return the query that may be sent for `anchors` (a relation's source and target, a task's seeds) and `topic`.

    Rules in order: empty_query, internal_node_id, hash_like_token, private_token, no_label_anchor (spec 04).
    Never raises, whatever the strings hold.
    """
    labels = tuple(label.text for label in anchors) + ((topic,) if topic else ())
    house = _house(tuple(label.id for label in anchors), labels, policy)
    shown = " ".join(visible(query).text.split())
    public = [_public_part(label, house) for label in labels]
    reason = _objection(shown, public, house)
    if reason is None:
        return GuardedQuery(shown, query, rebuilt=False, reason=None)
    rebuilt = _rebuild(public, house)
    return GuardedQuery(rebuilt, query, rebuilt=True, reason=reason if rebuilt else "nothing_searchable")


@lru_cache(maxsize=256)
def _house(ids: tuple[str, ...], labels: tuple[str, ...], policy: GuardPolicy) -> _House:
    id_forms = {form for node_id in ids for form in squeezed_forms(node_id)}
    id_forms |= {form for node_id in ids if "_" in node_id for form in squeezed_forms(node_id.split("_", 1)[1])}
    tokens = {
        form
        for label in labels
        for token in private_tokens(label, policy)
        for form in squeezed_forms(token.text)
        if len(form) >= 4  # "#12" squeezed is a number that stands everywhere
    }
    return _House(policy, frozenset(id_forms), frozenset(tokens))


def _objection(query: str, public: Sequence[str], house: _House) -> str | None:
    """Return the first rule that the visible `query` breaks, or None."""
    if not any(char.isalnum() for char in query):
        return "empty_query"
    leaks = house.leaks(query)
    if leaks:
        return _REASONS[min(rule for rule, _, _ in leaks)]
    return None if _names_subject(query, public) else "no_label_anchor"


def _names_subject(query: str, public: Sequence[str]) -> bool:
    """Tell whether a term or an identifier of one of the labels occurs in `query`."""
    asked_identifiers = {item.value for item in identifiers(query)}
    asked_terms = term_index(query)
    for label in public:
        if any(item.value in asked_identifiers for item in identifiers(label)):
            return True
        if any(term_in(term, asked_terms) for term in (*terms(label), *term_index(label))):
            return True
    return False


@lru_cache(maxsize=512)
def _public_part(label: str, house: _House) -> str:
    """Return `label` as it is read, without anything private; a word that was cut into goes as a whole."""
    shown = visible(label).text
    while leaks := house.leaks(shown):
        secret = [False] * len(shown)
        for _, start, end in leaks:
            first, last = _whole_words(shown, start, end)
            secret[first:last] = [True] * (last - first)
        shown = "".join(" " if hidden else char for char, hidden in zip(shown, secret, strict=True))
    return " ".join(shown.split())


def _whole_words(text: str, start: int, end: int) -> tuple[int, int]:
    """Widen a span to the ends of the words it touches, so that no piece of a secret stays behind."""
    while start > 0 and (text[start - 1].isalnum() or text[start - 1] in "_-@\\%"):
        start -= 1
    while end < len(text) and (text[end].isalnum() or text[end] in "_-@\\%"):
        end += 1
    return start, end


def _rebuild(public: Sequence[str], house: _House) -> str:
    """Return identifiers first, then significant words of the labels in order, within the policy's bounds."""
    found: list[str] = []
    rest: list[str] = []
    for label in public:
        position = 0
        for item in identifiers(label):
            found.append(" ".join(item.text.split()))
            rest.append(label[position : item.start])
            position = item.end
        rest.append(label[position:])
    significant = [word for part in rest for word in words(part) if _significant(word)]
    return _joined([*found, *significant], house)


def _significant(word: str) -> bool:
    folded = fold(word)
    return sum(c.isalnum() for c in folded) >= 3 and folded not in STOP_WORDS and any(c.isalpha() for c in folded)


def _joined(candidates: Sequence[str], house: _House) -> str:
    """Return as many candidates as fit, without repeats, so that the whole stays clean."""
    sent = _taken(candidates, house.policy)
    if house.leaks(sent):  # words that are clean alone make a secret together: take each only where none arises
        sent = _taken(candidates, house.policy, lambda wider: not house.leaks(wider))
    if sent:
        return sent
    for candidate in candidates:  # none fits as it is: the beginning of the first one that stays clean
        short = candidate[: house.policy.max_chars].strip()
        if short and not house.leaks(short):
            return short
    return ""


def _taken(candidates: Sequence[str], policy: GuardPolicy, clean: Callable[[str], bool] = bool) -> str:
    """Return the candidates joined, each once, within the policy's bounds and where `clean` holds of the whole."""
    sent = ""
    seen: set[str] = set()
    for candidate in candidates:
        key = fold(candidate)
        wider = f"{sent} {candidate}".strip()
        if key in seen or len(wider.split()) > policy.max_terms or len(wider) > policy.max_chars or not clean(wider):
            continue
        seen.add(key)
        sent = wider
    return sent
