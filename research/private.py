"""What must not leave the house, found in a text however it is written (spec 04, Query guard, rules 2 to 4; pure).

One detector a kind, all of them regular expressions over the readings of `research.disguise`. In doubt a
token is private: the price of a false alarm is a query rebuilt from the labels, the price of a miss is a leak.
What is public by its form is left alone: identifiers of `data.text`, standards (ISO-27001, AES-256), product
versions, error codes, registry roots, built-in accounts, file names such as named.conf.local.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final

from research import references, traces
from research.disguise import Match, View, squeeze, unpacked, views

__all__ = ["DEFAULT_POLICY", "GuardPolicy", "PrivateKind", "PrivateToken", "private_tokens", "squeezed_forms"]


@dataclass(frozen=True, slots=True)
class GuardPolicy:
    """What a house adds to the rules, and how long a rebuilt query may be."""

    private_terms: tuple[str, ...] = ()
    """BRAIN_PRIVATE_TERMS: names of people, customers, projects; also found inflected, split or in a compound."""
    internal_suffixes: tuple[str, ...] = ()
    """BRAIN_PRIVATE_SUFFIXES: the house's own domains; they and every host below them are private."""
    ticket_prefixes: tuple[str, ...] = ()
    """Keys of the house's own ticket projects, where they look like public ones ("ORA", "RFC")."""
    max_terms: int = 12
    max_chars: int = 120


DEFAULT_POLICY: Final = GuardPolicy()


class PrivateKind(StrEnum):
    NODE_ID = "node_id"
    HASH = "hash"
    EMAIL = "email"
    IP_ADDRESS = "ip_address"
    MAC_ADDRESS = "mac_address"
    UNC_PATH = "unc_path"
    ACCOUNT = "account"
    INTERNAL_HOST = "internal_host"
    TICKET = "ticket"
    PHONE = "phone"
    PRIVATE_TERM = "private_term"


@dataclass(frozen=True, slots=True, order=True)
class PrivateToken:
    """One find: `source[start:end]`, as written there in `text`."""

    start: int
    end: int
    kind: PrivateKind
    text: str


_KINDS: Final = tuple(PrivateKind)
_DETECTORS: Final[tuple[tuple[PrivateKind, Callable[[str], Iterator[tuple[int, int]]]], ...]] = (
    (PrivateKind.NODE_ID, traces.node_ids),
    (PrivateKind.HASH, traces.hashes),
    (PrivateKind.EMAIL, traces.emails),
    (PrivateKind.IP_ADDRESS, traces.addresses),
    (PrivateKind.MAC_ADDRESS, traces.macs),
    (PrivateKind.UNC_PATH, traces.unc_paths),
    (PrivateKind.ACCOUNT, traces.accounts),
    (PrivateKind.PHONE, references.phones),
)


@lru_cache(maxsize=1024)
def squeezed_forms(term: str) -> frozenset[str]:
    """Return letters and digits of a name or id, folded, in every spelling it may be looked for.

    "Jörg Müller" is joergmueller, jorgmuller, and the same with the family name first, as lists write it.
    """
    head, _, tail = term.strip().rpartition(" ")
    return frozenset(squeeze(view).text for form in (term, f"{tail} {head}") for view in views(form)) - {""}


def _in_view(view: View, policy: GuardPolicy, kinds: Collection[PrivateKind]) -> Iterator[tuple[PrivateKind, int, int]]:
    for kind, detect in _DETECTORS:
        if kind in kinds:
            for start, end in detect(view.text):
                yield (kind, *view.span(start, end))
    if PrivateKind.INTERNAL_HOST in kinds:
        for start, end in traces.hosts(view.text, policy.internal_suffixes):
            yield (PrivateKind.INTERNAL_HOST, *view.span(start, end))
    if PrivateKind.TICKET in kinds:
        for start, end in references.tickets(view.text, policy.ticket_prefixes):
            yield (PrivateKind.TICKET, *view.span(start, end))
    forms = frozenset[str]().union(*map(squeezed_forms, policy.private_terms))
    if forms and PrivateKind.PRIVATE_TERM in kinds:
        flat = squeeze(view)
        for form in forms:
            for start, end in flat.find(form, Match.NAME):
                yield PrivateKind.PRIVATE_TERM, start, end


def private_tokens(
    text: str, policy: GuardPolicy = DEFAULT_POLICY, *, kinds: Collection[PrivateKind] = frozenset(PrivateKind)
) -> list[PrivateToken]:
    """Return what is private in `text`, in order of place, each longest find once.

    Any string is accepted. Use `kinds` to look for some only: an article about networks may well name
    192.168.0.0/16, but no node id.
    """
    found: set[tuple[int, int, PrivateKind]] = set()
    for view in views(text):
        found.update((start, end, kind) for kind, start, end in _in_view(view, policy, kinds))
        for inner, start, end in unpacked(view):
            for reading in views(inner):
                found.update((start, end, kind) for kind, _, _ in _in_view(reading, policy, kinds))
    kept: list[PrivateToken] = []
    for start, end, kind in sorted(found, key=lambda item: (item[0], -item[1], _KINDS.index(item[2]))):
        if not any(k.start <= start and end <= k.end and k.kind is kind for k in kept):
            kept.append(PrivateToken(start, end, kind, text[start:end]))
    return kept
