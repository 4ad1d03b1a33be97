"""Gaps around a name: identifiers and products that several nodes mention and no node explains (spec 05). Pure."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from data.models import NodeKind
from data.text import Identifier, IdentifierClass, fold
from research.gaps import REFERENCES, Opportunity
from research.reading import Reading, read_topic
from research.wording import majority_language, names_a_subject, shared_topic

if TYPE_CHECKING:
    from research.graph_view import GraphView

__all__ = ["CLASSES", "missing_references"]

_EXPLAINERS: Final = REFERENCES | {NodeKind.PRODUCT}
_NAMED_BY_LABEL: Final = frozenset({NodeKind.TECHNIQUE, NodeKind.PRODUCT})
"""Kinds that explain what their label names however short they are: that is what they are there for."""
CLASSES: Final = {
    IdentifierClass.CVE: 1.0,
    IdentifierClass.KB: 1.0,
    IdentifierClass.VENDOR_CODE: 1.0,
    IdentifierClass.TECHNIQUE: 0.95,
    IdentifierClass.ERROR_CODE: 0.95,
    IdentifierClass.SYSTEM_CODE: 0.9,
    IdentifierClass.RFC: 0.8,
    IdentifierClass.HTTP_STATUS: 0.7,
    IdentifierClass.VERSION: 0.4,
}
"""How much of a subject a class of identifiers is: a status or a version is shared by unrelated problems."""
_WORD: Final = re.compile(r"\w+")


def missing_references(view: GraphView) -> Iterator[Opportunity]:
    """Yield the identifiers and products that several nodes mention and no node explains."""
    mentions: dict[str, list[int]] = defaultdict(list)
    named: dict[str, Identifier] = {}
    explained: set[str] = set()
    for place, node in enumerate(view.graph.nodes):
        if not node.named:
            continue
        reading = view.reading(place)
        in_label = {item.value for item in reading.label_identifiers}
        for value, identifier in reading.identifiers.items():
            mentions[value].append(place)
            if value in in_label or value not in named:
                named[value] = identifier
            if _explains(view, place, in_label=value in in_label):
                explained |= {value, identifier.product} - {""}
    open_ones = {
        value: places
        for value, places in sorted(mentions.items())
        if len(places) >= view.policy.mention_min_nodes and not {value, named[value].product} & explained
    }
    late = _explained_further_down(view, open_ones)
    for value, places in open_ones.items():
        # a tactic (TA0001) is a shelf of techniques, not a subject
        if value not in late and not value.startswith("ta0"):
            gap = _missing_reference(view, named[value], places)
            if gap is not None:
                yield gap


def _explained_further_down(view: GraphView, values: Collection[str]) -> set[str]:
    """Return those of `values` that a reference speaks of where its body was not read.

    By the last word of the value ("809" of "error 809"): here a gap too few is better than one too many. A text is
    searched only for values of which it has the longest piece.
    """
    needles: dict[str, list[tuple[str, re.Pattern[str]]]] = defaultdict(list)
    for value in values:
        last = value.split()[-1]
        piece = max(_WORD.findall(last), key=len, default="")
        needles[piece].append((value, re.compile(rf"(?<!\w){re.escape(last)}(?!\w)")))
    found: set[str] = set()
    if not needles:
        return found
    for node_id, text in view.graph.later(REFERENCES):
        place = view.place.get(node_id)
        if place is None or not view.answers(place):
            continue
        tail = fold(text)
        for piece in {"", *_WORD.findall(tail)} & needles.keys():
            found |= {value for value, needle in needles[piece] if value not in found and needle.search(tail)}
    return found


def _explains(view: GraphView, place: int, *, in_label: bool) -> bool:
    """Return whether a node that mentions an identifier also says what it is."""
    node = view.graph.nodes[place]
    if in_label and node.kind in _NAMED_BY_LABEL:
        return True
    # a technique or product mentions its parents and neighbours in passing; it explains itself alone
    return node.kind in _EXPLAINERS - _NAMED_BY_LABEL and node.chars >= view.policy.reference_min_chars


def _missing_reference(view: GraphView, identifier: Identifier, places: Sequence[int]) -> Opportunity | None:
    readings = [view.reading(place) for place in view.central_first(places)]
    topic = shared_topic(readings, view.rarity, identifier)
    if not identifier.pins:
        # one code, several products: those nodes stay that share more with the topic than the code
        readings = _same_subject(topic.text, readings)
    kinds = Counter(reading.node.kind for reading in readings)
    asking = sum(count for kind, count in kinds.items() if kind not in _EXPLAINERS)
    passing = not kinds.keys() - _NAMED_BY_LABEL
    if len(readings) < view.policy.mention_min_nodes or passing:
        return None
    score = CLASSES[identifier.cls] * min(1.0, 0.45 + 0.12 * asking + 0.04 * (len(readings) - asking))
    why = f"{len(readings)} nodes mention {identifier.text} and no article, section, technique or product explains it."
    language = majority_language(readings, topic.text)
    return Opportunity("missing_reference", topic.text, round(score, 4), view.seeds(readings), why, language)


def _same_subject(topic: str, readings: Sequence[Reading]) -> list[Reading]:
    """Return the nodes that share more with the topic than its code: a telling word, else any word."""
    if not readings:
        return []
    said = read_topic(readings[0].node, topic).label_stems
    telling = {key for key, word in said.items() if names_a_subject(word)} or set(said)
    return [reading for reading in readings if telling & reading.keys]
