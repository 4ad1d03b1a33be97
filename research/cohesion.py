"""What holds sentences together, and what only stands side by side (spec 04, connection rather than co-mention).

Two sentences say something together where the second takes up the first: by a word that links ("then", "deshalb"),
as the answer to it ("Solution: …"), or by speaking of the same things. Two members of an enumeration are named
together and not connected. What stands in brackets is said aside.

Pure: no store, no network, no clock.
"""

from __future__ import annotations

import re
from typing import Final

from data.text import STOP_WORDS, fold
from research.anchors import AnchorIndex
from research.vocabulary import GENERIC_WEIGHT, keys, word_weight

__all__ = ["follows", "only_listed", "refers_back", "without_asides", "without_glosses"]

LISTED_WORDS: Final = 3
LISTED_EDGE: Final = 2
LISTED_MEMBERS: Final = 3
"""Words of an enumeration's member, those at its edges within which the labels must stand, and its least members."""
_ASIDE: Final = re.compile(r"\([^()]*\)")
_GLOSS: Final = re.compile(
    r"\((?!(?:most |more )?(?:notably|especially|such|including|for|in|with|by|e\.|für|bei|mit|von|durch|insbesondere|"
    r"vor|zum|zur|z\.|wie|etwa)\b)[^()`]*\)",
    re.IGNORECASE,
)
"""Brackets around another word for something, "MX (mail exchanger)", not around code or a part of the sentence."""
_LINK: Final = re.compile(
    r"\b(?:this|these|those|such|it|its|they|them|their|he|she|there|here|then|thus|therefore|hence|so|otherwise|"
    r"instead|the (?:former|latter|same)|because|since|as a result|in (?:this|that|which) case|"
    r"dies\w*|jene[rsmn]?|solche[rsmn]?|es|er|sie|ihn|ihm|ihr\w*|sein\w*|dessen|deren|dort|hier\w*|dann|da|daher|darum|"
    r"deshalb|deswegen|so|somit|sonst|andernfalls|stattdessen|letzter\w*|ersterer?\w*|anschließend|danach|"
    r"da(?:bei|durch|für|gegen|mit|nach|raus|rin|rüber|von|zu)|den(?:n|noch)|weil|selbst)\b",
    re.IGNORECASE,
)
"""Words by which a sentence takes up the one before it: without one, two neighbours are two statements."""
_WORD: Final = re.compile(r"[^\W\d_]{4,}")
COMMON_SUBJECT: Final = 2
LINKED_WITHIN: Final = 60
"""Characters from a sentence's beginning in which such a word stands."""
_REMEDY_BEGINS: Final = re.compile(
    r"\W*(?:solution|resolution|fix|remedy|workaround|answer|cause|reason|lösung|abhilfe|behebung|umgehung|antwort|"
    r"ursache)\W*:",
    re.IGNORECASE,
)
_THING: Final = (
    r"(?:module|directive|command|feature|option|parameter|setting|service|server|daemon|program|tool|utility|package|"
    r"function|file|mechanism|method|document|page|modul|direktive|anweisung|befehl|funktion|option|parameter|"
    r"einstellung|dienst|server|daemon|programm|werkzeug|hilfsprogramm|paket|datei|verfahren|dokument|system)"
)
_ANAPHOR: Final = re.compile(
    rf"\W*(?:(?:this|these|dies(?:e[rsmn]?)?)\b|(?:it|they|es)\b|(?:the|der|die|das)\W+{_THING}s?\b)", re.IGNORECASE
)
"""The beginning of a sentence whose subject is what its heading names."""
_CHUNK: Final = re.compile(r"(?:(?!\b(?:and|or|und|oder|sowie)\b)[^,;/])+", re.IGNORECASE)
_RANGE: Final = re.compile(r"(?:(?!\b(?:and|or|und|oder|sowie|to|bis)\b)[^,;/])+", re.IGNORECASE)
_FROM_TO: Final = re.compile(r"\b(?:from|von)\b[^.]*\b(?:to|bis)\b", re.IGNORECASE)
_TOGETHER: Final = re.compile(
    r"\b(?:together|between|each other|one another|both|zusammen\w*|zwischen|miteinander|beide[nrs]?|gegenseitig)\b",
    re.IGNORECASE,
)


def follows(before: str, sentence: str, between: str, index: AnchorIndex) -> bool:
    """Tell whether a sentence takes up the one before it: by a word that links, as its answer, or by its subject.

    Two words that name something and belong to neither label are a common subject. Over a paragraph's end only
    an answer takes up what stands before it.
    """
    if _REMEDY_BEGINS.match(sentence):
        return True
    if "\n\n" in between:
        return False
    if _LINK.search(sentence[:LINKED_WITHIN]):
        return True
    return len(_subjects(before, index) & _subjects(sentence, index)) >= COMMON_SUBJECT


def _subjects(text: str, index: AnchorIndex) -> frozenset[str]:
    """Return the words of `text` that name something and show neither label."""
    words = {fold(word) for word in _WORD.findall(text)}
    return frozenset(
        min(keys(word), key=len)
        for word in words - STOP_WORDS
        if word_weight(word) > GENERIC_WEIGHT and not index.mask(word)
    )


def without_asides(text: str) -> str:
    """Return `text` without what stands in brackets: said aside, it is no part of what two sentences say together."""
    for _ in range(2):
        text = _ASIDE.sub(" ", text)
    return text


def refers_back(sentence: str) -> bool:
    """Tell whether a sentence speaks of what its heading names: "This module …", "Der Befehl …", "Es …"."""
    return _ANAPHOR.match(sentence) is not None


def without_glosses(text: str) -> str:
    """Return `text` without brackets that only give another word for something."""
    return _GLOSS.sub(" ", text)


def only_listed(sentence: str, index: AnchorIndex) -> bool:
    """Tell whether a sentence only lists the two labels of `index`, and says of neither what it is to the other.

    "BIND 9, ISC DHCP, and Kea DHCP" connects nothing; "NAT and IPsec do not work together" does.
    """
    if _TOGETHER.search(sentence):
        return False
    pattern = _RANGE if _FROM_TO.search(sentence) else _CHUNK
    sentence = without_asides(sentence)
    chunks = [chunk for chunk in pattern.finditer(sentence) if chunk.group().strip()]
    masks = [index.mask(match.group()) for match in chunks]
    places = [
        [number for number, mask in enumerate(masks) if index.distinctive(side, mask) > 0]
        for side in range(len(index.labels))
    ]
    if not places[0] or not places[1]:  # one of them is only said aside, which in a list is its gloss
        return sum(len(chunk.group().split()) <= LISTED_WORDS for chunk in chunks) >= LISTED_MEMBERS
    if set(places[0]) & set(places[1]):
        return False
    first, last = min(map(max, places)), max(map(min, places))
    if first >= last:
        return False
    words = [chunk.group().split() for chunk in chunks[first : last + 1]]
    near = [chunk.group().split() for chunk in (*chunks[max(0, first - 1) : first], *chunks[first + 1 : last])]
    near += [chunk.group().split() for chunk in chunks[last + 1 : last + 2]]
    bare = last == first + 1 and "," not in sentence[chunks[first].end() : chunks[last].start()]
    if not bare and not any(0 < len(member) <= LISTED_WORDS for member in near):
        return False  # two clauses of one sentence, not two members of a list
    ends = (" ".join(words[0][-LISTED_EDGE:]), " ".join(words[-1][:LISTED_EDGE]))
    return all(len(between) <= LISTED_WORDS for between in words[1:-1]) and all(
        any(index.distinctive(side, index.mask(edge)) > 0 for side in range(len(index.labels))) for edge in ends
    )
