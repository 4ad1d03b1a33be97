"""Cutting a node's text into passages that fit an embedding model's window (spec 03, "Embeddings").

A 40-page document must not be judged by its first 256 word pieces, so `label + body` is cut at paragraph
and sentence borders into passages, and each passage is embedded on its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from data.text import paragraphs, sentences

__all__ = ["LABEL_SHARE", "MAX_PASSAGES", "SCHEME", "WINDOW", "node_passages", "passage_weights", "passages", "pieces"]

SCHEME: Final = "p1"
"""Version of this cutting and weighting; part of every space's name, raised when either changes."""
WINDOW: Final = 220
"""Estimated word pieces in a passage. The bundled model reads 254 beside its two marks; the estimate is up
to a sixth too low on German technical text and a third too high on English (checked by a slow test)."""
MAX_PASSAGES: Final = 64
"""Passages embedded of one node, about 40 pages; a longer body is sampled evenly over its whole length."""
LABEL_SHARE: Final = 0.3
"""Least weight of the first passage, which begins with the label: the label says what the node is about."""

_TOKEN = re.compile(r"[^\W\d_]+|\d+|[^\w\s]|_")
_LETTERS_A_PIECE: Final = 4
_DIGITS_A_PIECE: Final = 2


def pieces(text: str) -> int:
    """Return the estimated number of word pieces: a piece for 4 letters or 2 digits of a word, and one a sign."""
    total = 0
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token.isascii() or token.isalpha():
            step = _DIGITS_A_PIECE if token[0].isdigit() else _LETTERS_A_PIECE
        else:
            step = 1
        # Scripts without spaces (CJK, kana, Hangul) are read letter by letter.
        total += len(token) if token[0] >= "\u2e80" else -(-len(token) // step)
    return total


def passages(text: str, window: int = WINDOW) -> list[str]:
    """Return `text` cut into consecutive verbatim pieces of at most `window` estimated word pieces.

    Borders are, in this order: paragraphs, sentences, words, letters. A blank text gives no passage.
    """
    if window < 1:
        raise ValueError(f"window must be at least 1, got {window}")
    found: list[str] = []
    start = end = -1
    used = 0
    for left, right in _units(text, window):
        size = pieces(text[left:right])
        if start >= 0 and used + size > window:
            found.append(text[start:end].strip())
            start = -1
        if start < 0:
            start, used = left, 0
        end = right
        used += size
    if start >= 0:
        found.append(text[start:end].strip())
    return [passage for passage in found if passage]


def node_passages(label: str, body: str, limit: int = MAX_PASSAGES) -> list[str]:
    """Return the passages of a node, at least one; the first begins with the label.

    Of more than `limit` the first is kept and the others are taken evenly over the body.
    """
    cut = passages(f"{label.strip()}\n\n{body}")
    if len(cut) > limit:
        cut = [cut[index] for index in np.linspace(0, len(cut) - 1, limit).round().astype(int)]
    return cut or [label.strip()]


def passage_weights(cut: Sequence[str]) -> NDArray[np.float64]:
    """Return float64[len(cut)], sum 1: by length, the first passage (label and opening) at least LABEL_SHARE."""
    sizes = np.array([max(1, len(passage)) for passage in cut], np.float64)
    weights: NDArray[np.float64] = sizes / sizes.sum()
    if len(cut) > 1 and weights[0] < LABEL_SHARE:
        weights[1:] *= (1.0 - LABEL_SHARE) / weights[1:].sum()
        weights[0] = LABEL_SHARE
    return weights


def _units(text: str, window: int) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of the largest natural parts that fit the window, in order."""
    for paragraph in paragraphs(text):
        part = text[paragraph.start : paragraph.end]
        if pieces(part) <= window:
            yield paragraph.start, paragraph.end
            continue
        for sentence in sentences(part):
            left, right = paragraph.start + sentence.start, paragraph.start + sentence.end
            if pieces(text[left:right]) <= window:
                yield left, right
            else:
                yield from _words(text, left, right, window)


def _words(text: str, start: int, end: int, window: int) -> Iterator[tuple[int, int]]:
    """Yield parts of a sentence that is too long for one passage, cut between words, else between letters."""
    for match in re.compile(r"\S+").finditer(text, start, end):
        if pieces(match[0]) <= window:
            yield match.span()
        else:
            for left in range(match.start(), match.end(), window):
                yield left, min(left + window, match.end())
