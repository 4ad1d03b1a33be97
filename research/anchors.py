"""Where in a text a label is spoken of (spec 04, topic guard).

`LabelAnchors` is what a label offers to recognise it by: its identifiers, and its words with their weights
(`research.vocabulary`). `AnchorIndex` looks the anchors of a few labels up in many words at once: every word
of a text is mapped to a bit mask of the anchors it shows, so that joining neighbouring paragraphs is an `or`.

A word shows an anchor when one of these holds:

- its stem, German or English, is the anchor's;
- one is a German compound of the other ("Netzwerkdrucker" speaks of "Drucker");
- it says the same in the other language ("queue" for "Warteschlange").

Pure: no store, no network, no clock.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from data.models import Label
from data.text import STOP_WORDS, Identifier, IdentifierClass, fold, identifiers, normalise
from research.vocabulary import GENERIC_WEIGHT, NAME_WEIGHT, equivalents, keys, word_weight

__all__ = ["CODE_CLASSES", "AnchorIndex", "AnchorWord", "LabelAnchors", "contradicts", "label_anchors"]

IDENTIFIER_WEIGHT: Final = 2.0
"""An identifier counts double (spec 04, snippet gate)."""
VERSION_WEIGHT: Final = 0.6
"""A version names no subject by itself: one product has many problems (spec 05)."""
MARKED_WEIGHT: Final = 2.0
"""A long word with inner capitals (AssumeUDPEncapsulation) is a component's own name: as good as an identifier."""

CODE_CLASSES: Final = frozenset(
    {
        IdentifierClass.CVE,
        IdentifierClass.TECHNIQUE,
        IdentifierClass.KB,
        IdentifierClass.VENDOR_CODE,
        IdentifierClass.SYSTEM_CODE,
        IdentifierClass.ERROR_CODE,
        IdentifierClass.HTTP_STATUS,
    }
)
"""Classes of which another member in a label's place contradicts it: error 691 is not error 809."""

_TOKEN: Final = re.compile(r"[^\W_]+")
_MARKED: Final = re.compile(r"(?=\w{10})[A-Za-z]+[a-z][A-Z]\w*")
_MIN_WORD: Final = 3
_MIN_PART: Final = 5
_MIN_COMPOUND: Final = 8


@dataclass(frozen=True, slots=True)
class AnchorWord:
    """One word of a label, folded, with its weight in (0, 2]."""

    word: str
    weight: float


@dataclass(frozen=True, slots=True)
class LabelAnchors:
    """What a label can be recognised by."""

    label: Label
    words: tuple[AnchorWord, ...]
    identifiers: tuple[Identifier, ...]
    """Without repeats of a value."""

    @property
    def codes(self) -> tuple[Identifier, ...]:
        """Identifiers a text must show: all but versions, or the versions where there is nothing else."""
        codes = tuple(item for item in self.identifiers if item.cls is not IdentifierClass.VERSION)
        return codes or self.identifiers

    @property
    def distinctive(self) -> float:
        """Summed weight of the words that name something."""
        return sum(word.weight for word in self.words if word.weight > GENERIC_WEIGHT)


@lru_cache(maxsize=4096)
def label_anchors(label: Label) -> LabelAnchors:
    """Return the anchors of a label. A product that stands in a version ("Exchange 2019") is a word of it too."""
    text = normalise(label.text)
    listed = identifiers(text)
    found = {item.value: item for item in listed}
    marked = {fold(match.group()) for match in _MARKED.finditer(text)}
    written = [*_plain_words(text, listed), *(part for item in found.values() for part in item.product.split())]
    weights = {word: MARKED_WEIGHT if word in marked else word_weight(word) for word in written}
    words = tuple(AnchorWord(word, weight) for word, weight in weights.items())
    return LabelAnchors(label, words, tuple(found.values()))


def _plain_words(text: str, listed: Sequence[Identifier]) -> Iterator[str]:
    """Yield the folded words of `text` outside of its identifiers: three characters or more, no stop words."""
    edges = [0, *(edge for item in listed for edge in (item.start, item.end)), len(text)]
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        for token in _TOKEN.findall(fold(text[start:end])):
            if len(token) >= _MIN_WORD and token not in STOP_WORDS and not token.isdigit():
                yield token


def contradicts(wanted: Identifier, other: Identifier) -> bool:
    """Tell whether `other` says that a text is about something else than `wanted`.

    They are of one class and, for a vendor's codes, of one vendor: ORA-12541 contradicts ORA-12154, while an
    Event ID beside it does not.
    """
    if wanted.cls is not other.cls or wanted.cls not in CODE_CLASSES or wanted.value == other.value:
        return False
    return wanted.cls is not IdentifierClass.VENDOR_CODE or _vendor(wanted.value) == _vendor(other.value)


def _vendor(value: str) -> str:
    return re.split(r"[-\d]", value, maxsplit=1)[0].strip()


class AnchorIndex:
    """Looks the words of several labels up in texts. Bits are numbered through all labels in order."""

    def __init__(self, labels: Sequence[LabelAnchors]) -> None:
        self.labels = tuple(labels)
        self._exact: dict[str, int] = {}
        self._compounds: list[tuple[str, int]] = []
        self._together: list[tuple[int, int]] = []
        self._known: dict[str, int] = {}
        self._next = 0
        self.members: list[list[tuple[int, float]]] = []
        """For each label its (bit, weight) of every word."""
        for anchors in labels:
            self.members.append([(self._add(word.word), word.weight) for word in anchors.words])
        self._starts = frozenset(form[:3] for form in self._exact)

    def mask(self, text: str) -> int:
        """Return the bits of all words that `text` shows."""
        found = 0
        known = self._known
        for token in _TOKEN.findall(text):
            bits = known.get(token)
            if bits is None:
                bits = known[token] = self._look_up(fold(token))
            found |= bits
        for parts, bit in self._together:
            if found & parts == parts:
                found |= bit
        return found

    def weight(self, label: int, mask: int) -> float:
        """Return the summed weight of the words of `label` (its index) in `mask`."""
        return sum(weight for bit, weight in self.members[label] if mask & bit)

    def distinctive(self, label: int, mask: int) -> float:
        """Return the summed weight of the words of `label` in `mask` that name something."""
        return sum(weight for bit, weight in self.members[label] if mask & bit and weight > GENERIC_WEIGHT)

    def names(self, label: int, mask: int) -> bool:
        """Tell whether `mask` shows a name of `label`, or the label has none."""
        bits = [bit for bit, weight in self.members[label] if weight >= NAME_WEIGHT]
        return not bits or any(mask & bit for bit in bits)

    def shown(self, label: int, mask: int) -> list[str]:
        """Return the words of `label` in `mask`, as folded in the label."""
        pairs = zip(self.labels[label].words, self.members[label], strict=True)
        return [word.word for word, (bit, _) in pairs if mask & bit]

    def _bit(self) -> int:
        bit = 1 << self._next
        self._next += 1
        return bit

    def _add(self, word: str) -> int:
        bit = self._bit()
        self._register(word, bit)
        for parts in equivalents(word):
            if len(parts) == 1:
                self._register(parts[0], bit)
                continue
            joint = 0
            for part in parts:
                part_bit = self._bit()
                self._register(part, part_bit)
                joint |= part_bit
            self._together.append((joint, bit))
        return bit

    def _register(self, word: str, bit: int) -> None:
        for form in keys(word):
            self._exact[form] = self._exact.get(form, 0) | bit
        if len(word) >= _MIN_PART:
            self._compounds.append((word, bit))

    def _look_up(self, token: str) -> int:
        found = 0
        if token[:3] in self._starts or any(c + "e" in token[:4] for c in "aou"):
            for form in keys(token):
                found |= self._exact.get(form, 0)
        for word, bit in self._compounds:
            if not found & bit and _compound(word, token):
                found |= bit
        return found


def _compound(word: str, token: str) -> bool:
    """Tell whether one of the two is made with the other at its beginning or end.

    An anchor counts in a longer word; a shorter word counts for a compound anchor only where it is at least
    half of it, so that "Server" does not stand for "Serverzertifikat".
    """
    if len(token) > len(word):
        return len(token) >= _MIN_COMPOUND and (token.startswith(word) or word in token[-len(word) - 3 :])
    if len(word) > len(token) >= _MIN_PART and 2 * len(token) >= len(word) >= _MIN_COMPOUND:
        return word.startswith(token) or token in word[-len(token) - 2 :]
    return False
