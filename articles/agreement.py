"""How far a sentence agrees with the text it cites: words, numbers, versions, identifiers, negation (pure).

The same measure serves the CPU quality checks and the extractive claim review. A sentence made of nothing but the
cited words in their order is supported by construction; anything else is measured.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from articles.claimwords import number_of
from articles.clauses import paired
from articles.differences import Difference, differences
from articles.licensing import licence
from articles.plaintext import code_tokens, plain, same_words
from data.text import fold, identifiers

__all__ = ["Agreement", "Verdict", "agreement", "missing_code", "missing_numbers", "verdict"]

Verdict = Literal["supported", "partly", "unsupported", "contradicted"]

SUPPORTED_WORDS: Final = 1.0
"""Share of a sentence's terms that the citation must hold; with less, something was added. Swept on the development
half of the labelled claims (`benchmarks/claims.py --sweep`): 0.80 is the lowest at which none of its partly supported
or unsupported pairs passes; 0.85 loses German paraphrases and gains nothing."""
CONTRADICTED_WORDS: Final = 0.50
"""A sentence that differs in a number or a negation contradicts its citation only where both speak of one thing."""
SUPPORTED_NEAR: Final = 0.50
"""Cosine that a sentence with other words than its citation must reach; below, words alone are chance. In the same
sweep every value up to 0.65 costs German two pairs of forty at the most and decides nothing else: it is a guard against
sentences that share words and no meaning, of which the set has too few to set it closer."""

_NUMBER: Final = re.compile(r"(?<![\w.,])\d+(?:[.,:]\d+)*(?![\w])")


@dataclass(frozen=True, slots=True)
class Agreement:
    verbatim: bool
    """The sentence is the cited words and nothing else."""
    words: float
    """Share of the sentence's words, numbers and code included, that the citations say."""
    numbers: tuple[str, ...]
    """Numbers, versions and identifiers of the sentence that the citations do not hold."""
    code: tuple[str, ...]
    """Commands, paths and settings of the sentence that the citations do not hold."""
    differences: tuple[Difference, ...]
    """In which other points it says something else."""
    lost: tuple[str, ...] = ()
    """Which words of the sentence the citations do not say."""
    in_part: bool = True
    """What stands before the sentence's first "and" is free of them, and is half of it or more."""


def agreement(text: str, quotes: Sequence[str], language: str, code: str = "") -> Agreement:
    """Return how `text` (and the `code` shown with it) agrees with the cited `quotes`."""
    if same_words(text, [quote for quote in quotes if not _is_code(quote, code)]) and (not code or _held(code, quotes)):
        return Agreement(True, 1.0, (), (), ())
    cited = " ".join(quotes)
    pair = paired(text, quotes, language)
    cited_words = licence(pair)
    lost_code = missing_code(text, quotes)
    if code and not _held(code, quotes):
        lost_code = (*lost_code, code.splitlines()[0])
    return Agreement(
        verbatim=False,
        words=cited_words.share,
        numbers=missing_numbers(text, cited),
        code=lost_code,
        differences=differences(pair),
        lost=cited_words.words,
        in_part=cited_words.in_part,
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
    held_numbers |= {number_of(word.strip(".,;:()")) for word in fold(plain(cited)).split()}
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
    return tuple(token for token in code_tokens(text) if not any(_stands_in(token.strip("`"), text_) for text_ in held))


def _stands_in(token: str, text: str) -> bool:
    """Tell whether `token` stands in `text` as such: `-r` is not in `--recursive`, `apt` not in `apt-get`.

    Nor is a command the whole of it whose option was left out: `rm` is not `rm -r`.
    """
    option = r"(?!\s+--?[A-Za-z])" if not token.startswith("-") else ""
    return re.search(rf"(?<![\w-]){re.escape(token)}(?![\w-]){option}", text) is not None


def verdict(found: Agreement, near: float) -> tuple[Verdict, str]:
    """Return the verdict on a claim and why. `near` is the cosine of claim and citation, 1.0 where none is known."""
    if found.verbatim:
        return "supported", "the sentence is made of the cited words"
    if found.words >= CONTRADICTED_WORDS and found.numbers:
        return "contradicted", f"the citation does not hold {', '.join(found.numbers)}"
    if found.words >= CONTRADICTED_WORDS and found.differences:
        return "contradicted", "; ".join(f"{one.kind}: {one.detail}" for one in found.differences)
    if found.code:
        return "unsupported", f"the citation does not hold {', '.join(found.code)}"
    if found.numbers or found.differences:
        lost = (*found.numbers, *(one.detail for one in found.differences))
        return "unsupported", f"the citation does not hold {', '.join(lost)}"
    if found.words >= SUPPORTED_WORDS:
        if found.words == 1.0 or near >= SUPPORTED_NEAR:
            return "supported", f"{found.words:.0%} of its words are cited"
        return "unsupported", f"its words are cited, its meaning is not ({near:.2f})"
    reason = f"the citation does not say {', '.join(found.lost)}"
    return ("partly" if found.in_part else "unsupported"), reason
