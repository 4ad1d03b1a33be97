"""Where in a text a label is spoken of (spec 04, topic guard).

`LabelAnchors` is what a label offers to recognise it by: its identifiers, and its words with their weights
(`research.vocabulary`). `AnchorIndex` looks the anchors of a few labels up in many words at once: every word
of a text is mapped to a bit mask of the anchors it shows, so that joining neighbouring paragraphs is an `or`.

A word shows an anchor when one of these holds:

- its stem, German or English, is the anchor's;
- it is a German compound of the anchor ("Netzwerkdrucker" speaks of "Drucker");
- it says the same in the other language ("queue" for "Warteschlange"), also part by part ("print queue" for
  "Druckerwarteschlange"); the head of a compound alone shows it only in part.

Pure: no store, no network, no clock.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from data.models import Label
from data.text import STOP_WORDS, Identifier, IdentifierClass, detect_language, fold, identifiers, normalise
from research.private import private_tokens
from research.vocabulary import GENERIC_WEIGHT, NAME_WEIGHT, compound_parts, done_to, equivalents, keys, word_weight

__all__ = ["CODE_CLASSES", "AnchorIndex", "AnchorWord", "LabelAnchors", "contradicts", "label_anchors"]

IDENTIFIER_WEIGHT: Final = 2.0
"""An identifier counts double (spec 04, snippet gate)."""
VERSION_WEIGHT: Final = 0.6
"""A version names no subject by itself: one product has many problems (spec 05)."""
MARKED_WEIGHT: Final = 2.0
"""A long word with inner capitals or underscores (AssumeUDPEncapsulation, proxy_read_timeout) is a component's own
name: as good as an identifier."""
PART_SHARE: Final = 0.4
"""What a compound is worth where only its head is shown."""
OWN_WORTH: Final = 0.4
"""What a label's own word must be worth as shown: an ordinary word, or a name in part."""

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

_TOKEN: Final = re.compile(r"[^\W_]\w*")
"""A name written with underscores (proxy_read_timeout) is one word, in labels as in texts."""
_MARKED: Final = re.compile(r"(?=\w{10})[A-Za-z]+[a-z][A-Z]\w*|[^\W_]\w*_\w+")
_SHORT_NAME: Final = re.compile(r"[A-Z]{2}")
"""MX, AD, CD: of an "MX record" the record alone would be any record."""
_PLURAL: Final = re.compile(r"[A-Z]{2,}s")
"""Of a short form: the DNs of a directory are not the DNS."""
_MIN_WORD: Final = 3
_MIN_PART: Final = 5
_MIN_COMPOUND: Final = 8
_ENDING: Final = 3
"""Letters that may follow a compound's last part: an ending of its own."""


@dataclass(frozen=True, slots=True)
class AnchorWord:
    """One word of a label, folded, with its weight in (0, 2], and as the label writes it."""

    word: str
    weight: float
    written: str
    forms: frozenset[str]
    """Its stems in the label's language, so that a German "Leasing" is not an English "lease"."""
    german: bool
    """Whether it may stand inside of other words; in an English label only words that begin with it count."""


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
    def named(self) -> bool:
        """Whether one of the words is a name, and not only words of the trade."""
        return any(word.weight >= NAME_WEIGHT for word in self.words)

    @property
    def distinctive(self) -> float:
        """Summed weight of the words that name something."""
        return sum(word.weight for word in self.words if word.weight > GENERIC_WEIGHT)


@lru_cache(maxsize=4096)
def label_anchors(label: Label) -> LabelAnchors:
    """Return the anchors of a label. A product that stands in a version ("Exchange 2019") is a word of it too."""
    text = _public(normalise(label.text))
    listed = identifiers(text)
    found = {item.value: item for item in listed}
    marked = {fold(match.group()) for match in _MARKED.finditer(text)}
    written = dict[str, str]()
    for token in (*_plain_words(text, listed), *(part for item in found.values() for part in _named_with(item))):
        written.setdefault(fold(token), token)
    language = detect_language(text)
    words = tuple(
        AnchorWord(
            word,
            MARKED_WEIGHT if word in marked else word_weight(word),
            token,
            keys(word, language),
            language != "en",
        )
        for word, token in written.items()
    )
    return LabelAnchors(label, words, tuple(found.values()))


def _named_with(item: Identifier) -> list[str]:
    """Return the words inside an identifier that name something beside it.

    Of a version its product, where a name with its version grown on ("IKEv2") is one word; of an error code
    what it was written together with ("VPN-Fehler 809").
    """
    if item.cls is IdentifierClass.ERROR_CODE:
        words = [token for token in _TOKEN.findall(item.text) if not token[0].isdigit()]
        return [token for token in words if len(token) >= _MIN_WORD and word_weight(fold(token)) > GENERIC_WEIGHT]
    return item.product.split() if " " in item.text else [item.text] if item.product else []


def _public(text: str) -> str:
    """Return `text` with its private tokens blanked: no page of the world can show a house's host or ticket number."""
    for token in private_tokens(text):
        start, end = token.start, token.end
        while start > 0 and not text[start - 1].isspace():
            start -= 1
        while end < len(text) and not text[end].isspace():
            end += 1
        text = text[:start] + " " * (end - start) + text[end:]
    return text


def _plain_words(text: str, listed: Sequence[Identifier]) -> Iterator[str]:
    """Yield the words of `text` outside of its identifiers: three characters or two capitals, no stop words."""
    edges = [0, *(edge for item in listed for edge in (item.start, item.end)), len(text)]
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        for token in _TOKEN.findall(text[start:end]):
            long = len(token) >= _MIN_WORD or _SHORT_NAME.fullmatch(token) is not None
            if long and fold(token) not in STOP_WORDS and not token.isdigit():
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
    """Looks the words of several labels up in texts. Bits are numbered through all labels in order.

    A word has a bit for itself and, where it is a compound, one for its head alone: "Ordner" is a part of
    what "Projektordner" says, worth `PART_SHARE` of it, and never its name.
    """

    def __init__(self, labels: Sequence[LabelAnchors]) -> None:
        self.labels = tuple(labels)
        self._exact: dict[str, int] = {}
        self._inside = _Inside()
        self._together: list[tuple[int, int]] = []
        self._known: dict[str, int] = {}
        self._next = 0
        self._members: list[list[_Member]] = []
        for anchors in labels:
            self._members.append([self._add(word) for word in anchors.words])
        self._starts = frozenset(form[:2] for form in self._exact)
        self._own = [self._unshared(number) for number in range(len(self.labels))]

    def mask(self, text: str) -> int:
        """Return the bits of all words that `text` shows."""
        found = 0
        known = self._known
        for token in _TOKEN.findall(text):
            bits = known.get(token)
            if bits is None:
                bits = known[token] = self._look_up(fold(token[:-1] if _PLURAL.fullmatch(token) else token))
            found |= bits
        for parts, bit in self._together:
            if found & parts == parts:
                found |= bit
        return found

    def weight(self, label: int, mask: int) -> float:
        """Return the summed weight of the words of `label` (its index) in `mask`."""
        return sum(member.worth(mask) for member in self._members[label])

    def distinctive(self, label: int, mask: int) -> float:
        """Return the summed weight of the words of `label` in `mask` that name something."""
        return sum(member.worth(mask) for member in self._members[label] if member.weight > GENERIC_WEIGHT)

    def name_bits(self, label: int) -> int:
        """Return the bits of the names of `label`: what a page's title may say once for all of its passages."""
        bits = 0
        for member in self._members[label]:
            bits |= member.whole if member.weight >= NAME_WEIGHT else 0
        return bits

    def names(self, label: int, mask: int) -> bool:
        """Tell whether `mask` shows a name of `label`, or the label has none."""
        whole = [member.whole for member in self._members[label] if member.weight >= NAME_WEIGHT]
        return not whole or any(mask & bit for bit in whole)

    def shows_weak(self, label: int, mask: int) -> bool:
        """Tell whether a label without a name is shown by most of all its words, or has a name and need not be.

        "Microsoft Store app install fails" names nothing but a store: a page about the component store is another
        matter, and only together do its words say what it is about: of two words both, of more at least half.
        """
        members = self._members[label]
        if not members or sum(m.weight for m in members if m.weight > GENERIC_WEIGHT) >= NAME_WEIGHT:
            return True
        shown = sum(bool(mask & member.whole) for member in members)
        return shown >= min(len(members), max(2, (len(members) + 1) // 2))

    def shows_own(self, label: int, mask: int) -> bool:
        """Tell whether `mask` shows something of `label` that no other label of the index has too.

        Of "nginx upstream" and "nginx 502" the word nginx speaks for neither. A label without such a word is
        content.
        """
        own = self._own[label]
        return not own or any(member.worth(mask) >= OWN_WORTH for member in own)

    def shown(self, label: int, mask: int) -> list[str]:
        """Return the words of `label` that `mask` shows whole, as folded in the label."""
        pairs = zip(self.labels[label].words, self._members[label], strict=True)
        return [word.word for word, member in pairs if mask & member.whole]

    def _unshared(self, label: int) -> list[_Member]:
        """Return what names `label` alone: its distinctive words that show no word of another label."""
        others = 0
        for number, members in enumerate(self._members):
            if number != label:
                for member in members:
                    others |= member.whole
        pairs = zip(self.labels[label].words, self._members[label], strict=True)
        return [
            member for word, member in pairs if member.weight > GENERIC_WEIGHT and not self._look_up(word.word) & others
        ]

    def _bit(self) -> int:
        bit = 1 << self._next
        self._next += 1
        return bit

    def _add(self, anchor: AnchorWord) -> _Member:
        member = _Member(self._bit(), self._bit(), anchor.weight)
        self._register(anchor.word, anchor.forms, member.whole)
        for form in {anchor.word, *(anchor.forms if anchor.german else ())}:
            if len(form) >= _MIN_PART:  # a German compound is made with the stem: "Protokollmeldung" of "Protokolle"
                self._inside.add(form, member, anywhere=anchor.german)
        for parts in equivalents(anchor.word):
            if len(parts) == 1:
                self._register(parts[0], keys(parts[0]), member.whole)
                if len(parts[0]) >= _MIN_PART:
                    self._inside.add(parts[0], member, anywhere=True)
            else:
                self._join([(part,) for part in parts], member.whole)
        if (thing := done_to(anchor.word)) is not None:
            for word in (thing, *(parts[0] for parts in equivalents(thing) if len(parts) == 1)):
                self._register(word, keys(word), member.whole)
        elif split := compound_parts(anchor.word):
            rest, head = split
            heads = (head, *(parts[0] for parts in equivalents(head) if len(parts) == 1))
            rests = (rest, *(parts[0] for parts in equivalents(rest) if len(parts) == 1))
            for word in heads:
                self._register(word, keys(word), member.part)
            self._join([rests, heads], member.whole)
        return member

    def _join(self, groups: Sequence[Sequence[str]], bit: int) -> None:
        """Let `bit` be shown where one word of every group is."""
        joint = 0
        for group in groups:
            part = self._bit()
            joint |= part
            for word in group:
                self._register(word, keys(word), part)
        self._together.append((joint, bit))

    def _register(self, word: str, forms: Iterable[str], bit: int) -> None:
        for form in (word, *forms):
            self._exact[form] = self._exact.get(form, 0) | bit

    def _look_up(self, token: str) -> int:
        found = 0
        if token[:2] in self._starts or token[1:2] == "e":  # folded umlauts are compared without their e
            for form in keys(token):
                if len(form) > _MIN_WORD or not token.endswith("ly"):  # "aptly" has the stem "apt" and is not APT
                    found |= self._exact.get(form, 0)
        return found | self._inside.look_up(token) if len(token) >= _MIN_PART else found


@dataclass(frozen=True, slots=True)
class _Member:
    """The bits of one word of a label: shown whole, or in part."""

    whole: int
    part: int
    weight: float

    def worth(self, mask: int) -> float:
        if mask & self.whole:
            return self.weight
        return self.weight * PART_SHARE if mask & self.part else 0.0


class _Inside:
    """Finds anchor words inside of longer words, and words that an anchor is made with, by dictionary alone."""

    def __init__(self) -> None:
        self._words: dict[str, int] = {}
        self._ends: dict[str, int] = {}
        self._lengths: set[int] = set()
        self._pieces: dict[str, int] = {}

    def add(self, word: str, member: _Member, *, anywhere: bool) -> None:
        """Take an anchor word of at least `_MIN_PART` letters; `anywhere` lets it stand at a word's end too."""
        self._lengths.add(len(word))
        self._words[word] = self._words.get(word, 0) | member.whole
        if anywhere:
            self._ends[word] = self._ends.get(word, 0) | member.whole
        if len(word) >= _MIN_COMPOUND and word.isalpha():  # a part of "smtp_tls_timeout" is no part of what it says
            for cut in range(_MIN_PART, len(word)):
                pieces = {word[:cut]}
                if anywhere:
                    pieces |= {
                        word[start : start + cut]
                        for start in range(max(0, len(word) - cut - _ENDING), len(word) - cut + 1)
                    }
                for piece in pieces:
                    self._pieces[piece] = self._pieces.get(piece, 0) | member.part

    def look_up(self, token: str) -> int:
        """Return the bits of what a folded `token` is made with, or is a part of."""
        found = self._pieces.get(token, 0)
        if len(token) < _MIN_COMPOUND:
            return found
        for length in self._lengths:
            if length >= len(token):
                continue
            found |= self._words.get(token[:length], 0)
            for end in range(len(token), len(token) - _ENDING - 1, -1):
                if end >= length:
                    found |= self._ends.get(token[end - length : end], 0)
        return found
