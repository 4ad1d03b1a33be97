"""Which pairs to think about next (spec 04, "Thinking pairs").

Four sources, in this order: pairs a person asked for; pairs whose relation has aged or lost the content it was
decided on; pairs with a strong vector edge and no relation, highest affinity first; pairs of two communities
that share an identifier though their texts are far apart. The second and the last kind get a share of every
pass, because the third one never runs dry in a big graph.
"""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from data.edges import EdgeArrays, edge_arrays
from data.models import EdgeKind
from data.pairs import (
    CandidatePair,
    NodeText,
    active_texts,
    asked_pairs,
    due_among,
    due_relations,
    pair_key,
    strong_pairs,
)
from data.store import Store
from data.text import Identifier, IdentifierClass, fold, identifiers, sentences
from research.communities import find_communities

__all__ = ["PairPolicy", "open_pairs", "shared_identifier_pairs", "translations"]

MAX_COMMUNITY_NODES: Final = 20_000
"""Above this, communities cost more than a pass; then every pair without a vector edge counts as far apart."""
_LANGUAGE: Final = re.compile(r"(?:(?<=[/:])|(?<=[._-]))(?:de|en)(?:[-_][A-Za-z]{2})?(?=[/._-]|$)")
"""A language as a folder or a part of a file's name: de-DE/, /en/, manual.de.html, guide_en.pdf."""
_RUN: Final = re.compile(r"[a-z0-9]+")


@dataclass(frozen=True, slots=True)
class PairPolicy:
    """Which pairs are worth a thought."""

    min_affinity: float = 0.0
    """A vector edge is strong from here on: the two are nearer to each other than either to its surroundings."""
    identifier_share: float = 0.25
    """Share of a pass kept for pairs that share an identifier across communities."""
    max_holders: int = 12
    """An identifier in more nodes than this ties none of them together (Event ID 4625, RFC 5321)."""
    evidence_max_age: timedelta = timedelta(days=365)
    """BRAIN_EVIDENCE_MAX_AGE: a relation whose evidence is older is examined again."""
    reexamined_share: float = 0.25
    """Share of a pass kept for relations that are due; what the others leave free is theirs too."""


async def open_pairs(store: Store, policy: PairPolicy, limit: int) -> list[CandidatePair]:
    """Return up to `limit` pairs that may be thought about now, in order."""
    if limit <= 0:
        return []
    now = store.clock.now()
    asked = await store.read(asked_pairs, now, limit)
    room = limit - len(asked)
    if room <= 0:
        return asked
    due = await store.read_bulk(due_relations, now, now - policy.evidence_max_age, room)
    strong = await store.read_bulk(strong_pairs, now, room, policy.min_affinity)
    due = due[: max(1, round(room * policy.reexamined_share), room - len(strong))]
    room -= len(due)
    across: list[CandidatePair] = []
    if room > 0:
        wanted = max(1, round(room * policy.identifier_share), room - len(strong))
        across = await _across(store, policy, now, wanted)
    known = {(pair.source_id, pair.target_id) for pair in asked}
    chosen = list(asked)
    for pair in (*due, *strong[: max(0, room - len(across))], *across):
        if (pair.source_id, pair.target_id) not in known:
            known.add((pair.source_id, pair.target_id))
            chosen.append(pair)
    return chosen[:limit]


async def _across(store: Store, policy: PairPolicy, now: datetime, limit: int) -> list[CandidatePair]:
    texts = await store.read_bulk(active_texts)
    shared = await asyncio.to_thread(shared_identifier_pairs, texts, policy.max_holders)
    if not shared:
        return []
    hashes = {text.id: text.content_hash for text in texts}
    due = await store.read_bulk(due_among, shared, now, hashes)
    if not due:
        return []
    if len(texts) <= MAX_COMMUNITY_NODES:
        arrays = await store.read_bulk(edge_arrays, (EdgeKind.VECTOR, EdgeKind.RELATION, EdgeKind.PART_OF))
        member = await asyncio.to_thread(_communities, arrays)
        due = [pair for pair in due if member.get(pair[0]) != member.get(pair[1])]
    return [CandidatePair(source_id, target_id, "identifier", 0.0) for source_id, target_id in due[:limit]]


def translations(first_uri: str, second_uri: str) -> bool:
    """Tell whether two nodes come from one document in two languages, by the language in its address alone.

    `file:de-DE/dns.html` and `file:en-US/dns.html` are; sections of one and the same document are not.
    """
    first, second = (uri.partition("#")[0] for uri in (first_uri, second_uri))
    return first != second and _LANGUAGE.sub("", first) == _LANGUAGE.sub("", second)


def shared_identifier_pairs(texts: Sequence[NodeText], max_holders: int) -> list[tuple[str, str]]:
    """Return the pairs of nodes of which one carries an identifier in its label and the other one names it.

    Ids in stored order; identifiers that pin a subject down first, then those in few nodes, then by id.
    Versions are left out: every node of a product shares them.
    """
    owners: dict[str, set[str]] = defaultdict(set)
    found: dict[str, Identifier] = {}
    for text in texts:
        for item in identifiers(text.label):
            if item.cls is not IdentifierClass.VERSION:
                owners[item.value].add(text.id)
                found.setdefault(item.value, item)
    if not found:
        return []
    holders = _holders(texts, found)
    ranked: dict[tuple[str, str], tuple[bool, int]] = {}
    for value, own in owners.items():
        everybody = sorted(holders[value] | own)
        if not 2 <= len(everybody) <= max_holders:
            continue
        rank = (not found[value].pins, len(everybody))
        for owner in own:
            for other in everybody:
                if other != owner:
                    key = pair_key(owner, other)
                    ranked[key] = min(rank, ranked.get(key, rank))
    return sorted(ranked, key=lambda key: (*ranked[key], key))


def _holders(texts: Sequence[NodeText], wanted: Mapping[str, Identifier]) -> dict[str, set[str]]:
    """Return, by identifier value, the nodes whose body names it. Only sentences that may hold one are scanned."""
    needles: dict[str, set[str]] = defaultdict(set)
    for value in wanted:
        needles[_RUN.findall(value)[-1].removeprefix("0x")].add(value)
    probe = re.compile("|".join(sorted(map(re.escape, needles), key=len, reverse=True)))
    holders: dict[str, set[str]] = defaultdict(set)
    for text in texts:
        if not probe.search(fold(text.body)):
            continue
        for span in sentences(text.body):
            sentence = text.body[span.start : span.end]
            if probe.search(fold(sentence)):
                for item in identifiers(sentence):
                    if item.value in wanted:
                        holders[item.value].add(text.id)
    return holders


def _communities(arrays: EdgeArrays) -> dict[str, int]:
    edges = zip(arrays.sources, arrays.targets, arrays.weights, strict=True)
    groups = find_communities(len(arrays.ids), ((a, b, max(weight, 1e-6)) for a, b, weight in edges))
    return {arrays.ids[member]: number for number, group in enumerate(groups) for member in group}
