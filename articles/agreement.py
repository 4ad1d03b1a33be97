"""How far a sentence agrees with the text it cites: words, numbers, versions, identifiers, negation (pure).

The same measure serves the CPU quality checks and the extractive claim review. A sentence made of nothing but the
cited words in their order is supported by construction; anything else is measured.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from articles.cues import negations
from articles.plaintext import code_tokens, plain, same_words, word_tokens
from data.text import identifiers, term_in, term_index, terms

__all__ = ["Agreement", "Verdict", "agreement", "missing_code", "missing_numbers", "verdict"]

Verdict = Literal["supported", "partly", "unsupported", "contradicted"]

SUPPORTED_WORDS: Final = 0.85
"""Share of a sentence's terms that the citation must hold; with less, something was added."""
PARTLY_WORDS: Final = 0.60
CONTRADICTED_WORDS: Final = 0.50
"""A sentence that differs in a number or a negation contradicts its citation only where both speak of one thing."""
SUPPORTED_NEAR: Final = 0.55
"""Cosine that a sentence with other words than its citation must reach; below, words alone are chance."""

_NUMBER: Final = re.compile(r"(?<![\w.,])\d+(?:[.,:]\d+)*(?![\w])")


@dataclass(frozen=True, slots=True)
class Agreement:
    verbatim: bool
    """The sentence is the cited words and nothing else."""
    words: float
    """Share of the sentence's terms found in the citations."""
    numbers: tuple[str, ...]
    """Numbers, versions and identifiers of the sentence that the citations do not hold."""
    code: tuple[str, ...]
    """Commands, paths and settings of the sentence that the citations do not hold."""
    negated: bool
    """One of both is negated and the other is not."""


def agreement(text: str, quotes: Sequence[str], language: str, code: str = "") -> Agreement:
    """Return how `text` (and the `code` shown with it) agrees with the cited `quotes`."""
    if same_words(text, [quote for quote in quotes if not _is_code(quote, code)]) and (not code or _held(code, quotes)):
        return Agreement(True, 1.0, (), (), False)
    cited = " ".join(quotes)
    index = term_index(plain(cited))
    mine = terms(text, language)
    share = sum(term_in(term, index) for term in mine) / len(mine) if mine else 0.0
    lost_code = missing_code(text, quotes)
    if code and not _held(code, quotes):
        lost_code = (*lost_code, code.splitlines()[0])
    return Agreement(
        verbatim=False,
        words=share,
        numbers=missing_numbers(text, cited),
        code=lost_code,
        negated=_negation_differs(text, quotes),
    )


def _is_code(quote: str, code: str) -> bool:
    return bool(code) and _flat(code) == _flat(quote)


def _held(code: str, quotes: Sequence[str]) -> bool:
    return any(_flat(code) in _flat(quote) for quote in quotes)


def _flat(text: str) -> str:
    return " ".join(text.split())


def missing_numbers(text: str, cited: str) -> tuple[str, ...]:
    """Return the numbers, versions and identifiers of `text` that `cited` does not hold, in order."""
    held_numbers = {_canonical(number) for number in _NUMBER.findall(plain(cited))}
    held_identifiers = {item.value for item in identifiers(plain(cited))}
    plain_text = plain(text)
    lost = [item.text for item in identifiers(plain_text) if item.value not in held_identifiers]
    lost += [number for number in _NUMBER.findall(plain_text) if _canonical(number) not in held_numbers]
    return tuple(dict.fromkeys(lost))


def _canonical(number: str) -> str:
    return number.replace(",", ".").rstrip(".")


def missing_code(text: str, quotes: Sequence[str]) -> tuple[str, ...]:
    """Return the commands, paths and settings in `text` that stand in none of `quotes` as written."""
    held = [_flat(plain(quote).replace("`", "")) for quote in quotes] + [_flat(quote) for quote in quotes]
    return tuple(token for token in code_tokens(text) if not any(token.strip("`") in text_ for text_ in held))


def _negation_differs(text: str, quotes: Sequence[str]) -> bool:
    """Compare the negations of `text` with those of the cited words it retells.

    A sentence that takes one clause out of a long quote is not measured by the negation of another clause.
    """
    return any(bool(negations(text)) != bool(negations(quote)) for quote in quotes if _retells(text, quote))


def _retells(text: str, quote: str) -> bool:
    mine = {token.text for token in word_tokens(text)}
    other = {token.text for token in word_tokens(quote)}
    shared = len(mine & other)
    return bool(shared) and shared / len(mine) >= CONTRADICTED_WORDS and shared / len(other) >= CONTRADICTED_WORDS


def verdict(found: Agreement, near: float) -> tuple[Verdict, str]:
    """Return the verdict on a claim and why. `near` is the cosine of claim and citation, 1.0 where none is known."""
    if found.verbatim:
        return "supported", "the sentence is made of the cited words"
    if found.words >= CONTRADICTED_WORDS and found.numbers:
        return "contradicted", f"the citation does not hold {', '.join(found.numbers)}"
    if found.words >= CONTRADICTED_WORDS and found.negated:
        return "contradicted", "only one of sentence and citation is negated"
    if found.code:
        return "unsupported", f"the citation does not hold {', '.join(found.code)}"
    if found.numbers:
        return "unsupported", f"the citation does not hold {', '.join(found.numbers)}"
    if found.words >= SUPPORTED_WORDS and near >= SUPPORTED_NEAR:
        return "supported", f"{found.words:.0%} of its terms are cited"
    if found.words >= PARTLY_WORDS:
        return "partly", f"{found.words:.0%} of its terms are cited"
    return "unsupported", f"only {found.words:.0%} of its terms are cited"
