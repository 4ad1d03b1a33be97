"""A sentence as clauses of words, and which clause of a cited text a clause retells (pure).

Articles ("the", "der") and what only opens a clause ("and", "dass") are left out: they change nothing of what is said,
and without them two wordings of one thing stand side by side.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Final

from articles.claimwords import core_of, number_of, word_set_of
from articles.cues import negations
from articles.plaintext import is_code_token, plain
from data.text import STOP_WORDS, fold, sentences, stem

__all__ = ["NAME", "Clause", "Difference", "Pair", "Word", "clauses", "paired"]


@dataclass(frozen=True, slots=True)
class Word:
    text: str
    """Folded; inline code whole, as it is written."""
    root: str
    raw: str
    code: bool
    article: str = ""
    """The folded article right before it, "" for none."""

    @property
    def content(self) -> bool:
        """Whether the word says something by itself."""
        if self.code or any(letter.isdigit() for letter in self.text):
            return True
        empty = self.text in STOP_WORDS or self.text in word_set_of("openings") or self.text in word_set_of("fillers")
        return len(self.text) > 2 and not empty

    @property
    def content_like(self) -> bool:
        """Whether it can be a name behind "option" or "port": any word but one that joins."""
        return self.code or self.text not in STOP_WORDS

    @property
    def anchor(self) -> bool:
        """Whether the word names the very thing a sentence is about: code, an option, a number, a name by its form."""
        return self.code or self.raw.startswith("-") or bool(re.search(r"\d", self.raw) or NAME.fullmatch(self.raw))


@dataclass(frozen=True, slots=True)
class Clause:
    words: tuple[Word, ...]
    sentence: int
    """Number of the sentence it stands in, from 0."""

    @property
    def roots(self) -> frozenset[str]:
        """The roots of its content words."""
        return frozenset(word.root for word in self.words if word.content)

    @property
    def neighbours(self) -> frozenset[tuple[str, str]]:
        """The pairs of words side by side of which one is a content word, negating words left out."""
        row = [word for word in self.words if word.code or not negations(word.raw)]
        pairs = pairwise(row)
        return frozenset((one.root, other.root) for one, other in pairs if one.content or other.content)

    def retells(self, other: Clause) -> bool:
        """Tell whether both have two content words in common, or half of those that one of them has."""
        common = len(self.roots & other.roots)
        return common >= 2 or (bool(common) and common * 2 >= min(len(self.roots), len(other.roots)))

    @property
    def denials(self) -> int:
        """How many negating words it holds; the "no" of "no more than" bounds a number and denies nothing."""
        row = [word.text for word in self.words]
        paired_ = sum(word in {"nor", "noch"} for word in row) if {"neither", "weder"} & set(row) else 0
        return -min(paired_, sum(word == "nor" for word in row)) + sum(
            word.raw == "!=" or (not word.code and negations(word.raw) > 0 and not _bounds(row[index + 1 : index + 3]))
            for index, word in enumerate(self.words)
        )

    @property
    def negated(self) -> bool:
        return self.denials > 0

    @property
    def elliptical(self) -> bool:
        """Whether it leaves its predicate to the clause before: "but the other does"."""
        return len(self.words) > 1 and self.words[-1].text in word_set_of("auxiliaries")


_THAN: Final = frozenset({"than", "als"})


def _bounds(behind: Sequence[str]) -> bool:
    return len(behind) > 1 and behind[1] in _THAN


_SUBORDINATE: Final = (
    "if|when|unless|because|while|although|until|whereas|wenn|falls|sobald|weil|während|obwohl|bis|sofern|damit"
)
NAME: Final = re.compile(r"[A-Z][A-Z0-9.]+[a-z]?|[A-Za-z]+[a-z0-9][A-Z]\w*|[A-Za-z]+\d\w*")
"""What a name looks like whatever the language: capitals inside, all capitals, digits behind letters."""
_DENIED_PART: Final = (
    r"(?:and|or|und|oder)\s+(?:(?:it|they|does|do|did|is|are|was|were|can|may|will|must|should|has|have)\s+){0,2}"
    r"(?:not|never|nicht|kein\w*)\b"
)
"""The second half of "keeps it and does not bounce it": its "not" is none of the first half's."""
_CODE: Final = re.compile(r"`+([^`]+)`+")
_CALL: Final = re.compile(r"(?<=\w)\([^()\s]*\)")
"""The bracket of "postfix(1)", which opens no clause."""
_BREAK: Final = re.compile(
    r"(?<=[,;:.!?])\s+|\s+[–—-]+\s+|\s+[(]|[)](?=[\s,.;:]|$)|;"
    rf"|\s+(?=(?:{_SUBORDINATE})\s)|\s+(?={_DENIED_PART})"
)
_OUTER: Final = " \t\n,.;:!?\"'„“”‚‘’»«…*[]{}"
_APOSTROPHE: Final = re.compile(r"['’]s$")


@lru_cache(maxsize=4_000)
def clauses(text: str, language: str) -> tuple[Clause, ...]:
    """Return the clauses of `text` in order."""
    flat = plain(text)
    return tuple(
        Clause(words, number)
        for number, span in enumerate(sentences(flat))
        for piece in _pieces(span.of(flat))
        if (words := tuple(_words(piece, language)))
    )


def _pieces(sentence: str) -> list[str]:
    """Split at commas, semicolons, dashes and brackets outside of inline code."""
    held: list[str] = []

    def hide(match: re.Match[str]) -> str:
        held.append(match.group())
        return f"\x00{len(held) - 1}\x00"

    hidden = _CALL.sub(hide, _CODE.sub(hide, sentence))

    def show(piece: str) -> str:
        return re.sub(r"\x00(\d+)\x00", lambda match: held[int(match[1])], piece)

    return [show(piece) for piece in _BREAK.split(hidden) if piece and piece.strip(_OUTER)]


def _words(piece: str, language: str) -> Iterator[Word]:
    articles = word_set_of("articles")
    position = 0
    for match in _CODE.finditer(piece):
        yield from _bare(piece[position : match.start()], language, articles)
        code = " ".join(match[1].split())
        yield Word(code, code, code, True)
        position = match.end()
    yield from _bare(piece[position:], language, articles)


def _bare(text: str, language: str, articles: frozenset[str]) -> Iterator[Word]:
    article = ""
    for token in text.split():
        raw = _APOSTROPHE.sub("", token.strip(_OUTER))
        folded = fold(raw)
        if folded in articles:
            article = folded
            continue
        if not folded or not re.search(r"\w|[!=]=", folded):
            continue
        code = is_code_token(token)
        root = folded if code else (number_of(folded) or _root(folded, language, raw[:1].isupper()))
        yield Word(raw if code else folded, raw if code else root, raw, code, article)
        article = ""
    if article:  # no noun follows: the "ein" of "schaltet es ein"
        yield Word(article, article, article, False)


def _root(folded: str, language: str, noun: bool) -> str:
    """Return what the forms of a word share; German verbs need more than the stemmer takes off."""
    return core_of(folded, noun) if language == "de" and folded.isalpha() else stem(folded, language)


_ANCHORED: Final = 4.0
"""What an anchor of the sentence weighs, in words, for the clauses of the one cited sentence that has it."""


def _retold(clause: Clause, cited: Sequence[Clause], anchored: Mapping[int, int]) -> Clause | None:
    """Return the cited clause that `clause` retells best, None where none shares a content word with it.

    Common words count, and common pairs of neighbours, and how many anchors of the whole sentence stand in the cited
    one (by number in `anchored`): what is said "with -f" is not what is said without. Between clauses that have as
    many words in common, one that is negated as `clause` is comes first: the other would be a difference that nobody
    wrote.
    """
    ranked = []
    for number, other in enumerate(cited):
        common = len(clause.roots & other.roots)
        if common:
            both = len(clause.roots | other.roots)
            pairs = len(clause.neighbours & other.neighbours)
            weight = common + pairs + _ANCHORED * anchored.get(other.sentence, 0)
            ranked.append(((weight, common / both, -number), common, other))
    if not ranked:
        return None
    _, common, best = max(ranked, key=lambda entry: entry[0])
    if best.negated != clause.negated and not (clause.roots == best.roots and clause.neighbours <= best.neighbours):
        firm = anchored.get(best.sentence, 0)
        alike = [
            entry
            for entry in ranked
            if entry[1] >= common and entry[2].negated == clause.negated and anchored.get(entry[2].sentence, 0) >= firm
        ]
        if alike:
            return max(alike, key=lambda entry: entry[0])[2]
    return best


@dataclass(frozen=True, slots=True)
class Difference:
    """`kind` is one of number, unit, negation, opposite, force, name, replaced, exchanged, order."""

    kind: str
    detail: str


@dataclass(frozen=True)
class Pair:
    """A sentence's clauses and those of what it cites, each with the one it retells."""

    mine: tuple[Clause, ...]
    cited: tuple[Clause, ...]
    language: str

    @cached_property
    def matched(self) -> tuple[tuple[Clause, Clause | None], ...]:
        anchored = {clause.sentence: self._anchored(clause.sentence) for clause in self.mine}
        return tuple((clause, _retold(clause, self.cited, anchored[clause.sentence])) for clause in self.mine)

    def _anchored(self, sentence: int) -> Mapping[int, int]:
        """Return how many of a sentence's anchors each cited sentence holds: code, numbers, names that not all hold."""
        words = [word for clause in self.mine if clause.sentence == sentence for word in clause.words]
        found: dict[int, int] = {}
        for root in {word.root for word in words if word.anchor}:
            holders = {clause.sentence for clause in self.cited if any(word.root == root for word in clause.words)}
            if len(holders) == 1:
                found[min(holders)] = found.get(min(holders), 0) + 1
        return found

    @cached_property
    def held(self) -> frozenset[str]:
        """The roots of all words cited, function words too."""
        return frozenset(word.root for clause in self.cited for word in clause.words)

    @cached_property
    def said(self) -> frozenset[str]:
        return frozenset(word.root for clause in self.mine for word in clause.words)

    def sentence_of(self, clause: Clause) -> tuple[Clause, ...]:
        return tuple(other for other in self.cited if other.sentence == clause.sentence)


def paired(text: str, quotes: Sequence[str], language: str) -> Pair:
    """Return the clauses of `text` beside those of the `quotes` it cites."""
    cited: list[Clause] = []
    for quote in quotes:
        last = cited[-1].sentence + 1 if cited else 0
        cited += [Clause(clause.words, clause.sentence + last) for clause in clauses(quote, language)]
    return Pair(clauses(text, language), tuple(cited), language)
