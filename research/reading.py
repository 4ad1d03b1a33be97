"""What a node speaks of, read once: its public label, the beginning of its body, the identifiers in both (spec 05).

Pure. Reading is most of a scan's work and hangs on nothing but the content and the privacy policy, so it is packed
into texts that are kept in the store (`data.readings`, written by `research.read_nodes`) and unpacked where a finder
looks closer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from data.nodes import NodeContent
from data.readings import NodeReading
from data.text import (
    Identifier,
    IdentifierClass,
    detect_language,
    distinct_terms,
    fold,
    identifiers,
    normalise,
    stem,
)
from research.labels import public_label
from research.private import DEFAULT_POLICY, GuardPolicy

__all__ = ["BODY_READ", "Reading", "read_node", "read_topic", "unpack", "unpacked_keys"]

BODY_READ: Final = 1_000
"""Characters of a body that are read for terms and identifiers: a ticket names its subject at its beginning."""
_WORD: Final = re.compile(r"[^\W_]+")
_KNOWN_WORDS: Final = 131_072
"""Words whose stems are remembered: what a large house uses more than once."""
_LINE, _PART = "\n", "\t"


@dataclass(frozen=True, slots=True)
class Reading:
    """One node, read: what its public label and the beginning of its body speak of. Get one from `unpack`."""

    node: NodeReading
    label: str
    """The public label."""
    label_stems: Mapping[str, str]
    """Stems of the label's terms, identifiers left out, each with the word as it is written there."""
    mentions: Mapping[str, int]
    """How often the body, all of it, holds each of those words."""
    label_identifiers: tuple[Identifier, ...]
    identifiers: Mapping[str, Identifier]
    """Identifiers of label and body by value."""
    keys: frozenset[str]
    """Stems and identifier values of label and body."""

    @property
    def label_keys(self) -> Mapping[str, str]:
        """All that the label says: its stems, and the values of its identifiers, each as it is written there."""
        return {**{item.value: item.text for item in self.label_identifiers}, **self.label_stems}


def read_node(node: NodeContent, privacy: GuardPolicy = DEFAULT_POLICY) -> NodeReading:
    """Read a node and return what it speaks of, packed. Computing, a fraction of a millisecond."""
    label = public_label(node.label, privacy)
    stems, in_label = _stems_of(label), identifiers(label)
    head = normalise(node.body[:BODY_READ])
    in_body = identifiers(head)
    keys = set(map(_term_key, distinct_terms(head)))
    keys.update(stems, (item.value for item in in_label), (item.value for item in in_body))
    body = fold(node.body) if stems else ""
    words = (_PART.join((key, word, str(body.count(fold(word))))) for key, word in stems.items())
    return NodeReading(
        id=node.id,
        kind=node.kind,
        language=node.language,
        chars=len(node.body),
        label=label,
        words=_LINE.join(words),
        named=_packed(in_label, in_body),
        terms=_LINE.join(sorted(keys)),
    )


def unpack(node: NodeReading) -> Reading:
    """Return what a node speaks of."""
    words = [line.split(_PART) for line in node.words.split(_LINE)] if node.words else []
    label, body = _unpacked(node.named)
    return Reading(
        node=node,
        label=node.label,
        label_stems={key: word for key, word, _ in words},
        mentions={key: int(count) for key, _, count in words},
        label_identifiers=label,
        identifiers={item.value: item for item in reversed((*label, *body))},
        keys=frozenset(unpacked_keys(node)),
    )


def unpacked_keys(node: NodeReading) -> list[str]:
    """Return the stems and identifier values of a node, each once."""
    return node.terms.split(_LINE) if node.terms else []


def read_topic(node: NodeReading, topic: str) -> Reading:
    """Read a topic as if it were the label of a node without a body."""
    stems, found = _stems_of(topic), identifiers(topic)
    named = {item.value: item for item in found}
    return Reading(node, topic, stems, dict.fromkeys(stems, 0), found, named, frozenset({*stems, *named}))


def _packed(label: Sequence[Identifier], body: Sequence[Identifier]) -> str:
    """Return the identifiers of label and body as JSON, "" where there is none."""
    if not label and not body:
        return ""
    rows = [
        [[item.cls, item.value, item.start, item.end, item.text, item.product] for item in part]
        for part in (label, body)
    ]
    return json.dumps(rows, ensure_ascii=False, separators=(",", ":"))


def _unpacked(named: str) -> tuple[tuple[Identifier, ...], tuple[Identifier, ...]]:
    if not named:
        return (), ()
    label, body = (tuple(Identifier(IdentifierClass(row[0]), *row[1:]) for row in part) for part in json.loads(named))
    return label, body


def _stems_of(label: str) -> Mapping[str, str]:
    inside = {_term_key(term) for term in distinct_terms(label)}
    written: dict[str, str] = {}
    for word in _WORD.findall(label):
        key = _word_key(word)
        if key in inside:
            written.setdefault(key, word)
    return written


@lru_cache(maxsize=_KNOWN_WORDS)
def _term_key(term: str) -> str:
    """Return the key of a folded term: stemmed by its own language, then as every word is."""
    return _word_key(stem(term, detect_language(term)))


@lru_cache(maxsize=_KNOWN_WORDS)
def _word_key(word: str) -> str:
    return stem(stem(fold(word), "de"), "en")
