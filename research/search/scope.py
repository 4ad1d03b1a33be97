"""Which hits may be read at all (spec 04, Search): scheme, domain, directives, repeats, two a domain (pure)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from data.models import SourceClass
from data.text import fold
from research.search.base import Hit
from research.search.urls import canonical_url, clean_url, domain_of
from research.sources import Publisher, SourceTable

__all__ = ["Dropped", "ScopePolicy", "ScopeReason", "SourceRule", "scope_hits", "source_rules"]


@dataclass(frozen=True, slots=True)
class ScopePolicy:
    """What an operator allows; domains cover their subdomains, a collection is `library:name`."""

    allow_domains: tuple[str, ...] = ()
    """BRAIN_SEARCH_ALLOW_DOMAINS: where any is named, nothing else is read (the library always is)."""
    block_domains: tuple[str, ...] = ()
    """BRAIN_SEARCH_BLOCK_DOMAINS."""
    per_domain: int = 2
    schemes: tuple[str, ...] = ("https", "http", "library")
    categories: tuple[str, ...] = ()
    """Search categories to keep; empty keeps all, and a hit without a category always stays."""


class ScopeReason(StrEnum):
    BAD_URL = "bad_url"
    SCHEME = "scheme"
    CATEGORY = "category"
    BLOCKED_DOMAIN = "blocked_domain"
    OUTSIDE_ALLOWED = "outside_allowed"
    DIRECTIVE = "directive"
    ALREADY_REFUSED = "already_refused"
    DUPLICATE = "duplicate"
    DOMAIN_LIMIT = "domain_limit"


@dataclass(frozen=True, slots=True)
class Dropped:
    """A hit that is not read, and why; `detail` names the rule or the other hit."""

    hit: Hit
    reason: ScopeReason
    detail: str = ""

    @property
    def why(self) -> str:
        """Return the reason as a sentence for a person."""
        return _WHY[self.reason].format(self.detail)


_WHY: Final = {
    ScopeReason.BAD_URL: "its address cannot be read",
    ScopeReason.SCHEME: "addresses of the kind “{}:” are not read",
    ScopeReason.CATEGORY: "it comes from the search category “{}”, which is not asked for",
    ScopeReason.BLOCKED_DOMAIN: "the operator blocked {}",
    ScopeReason.OUTSIDE_ALLOWED: "it is none of the domains that the operator allowed",
    ScopeReason.DIRECTIVE: "a directive keeps it out: “{}”",
    ScopeReason.ALREADY_REFUSED: "its text was refused for this pair before, on the same content",
    ScopeReason.DUPLICATE: "it is the same page as {}",
    ScopeReason.DOMAIN_LIMIT: "enough hits of {} come before it",
}


@dataclass(frozen=True, slots=True)
class SourceRule:
    """What one directive says about sources: `only` these, or none of them."""

    text: str
    only: bool
    classes: frozenset[SourceClass] = frozenset()
    tags: frozenset[str] = frozenset()
    domains: frozenset[str] = frozenset()

    def names(self, url: str, source_class: SourceClass, publisher: Publisher | None) -> bool:
        """Tell whether the rule speaks of this source; tags narrow a class ("vendor forums")."""
        if any(_within(url, domain) for domain in self.domains):
            return True
        return source_class in self.classes and self.tags <= (publisher.tags if publisher else frozenset())


_NOT: Final = re.compile(
    r"\b(?:never|not|don'?t|no|none|avoid|without|exclude|ignore|except|nie|niemals|nicht|kein\w*|ohne|vermeid\w*|"
    r"ausschliess?en|ignorier\w*|ausser)\b"
)
_ONLY: Final = re.compile(r"\b(?:only|solely|exclusively|nur|ausschliesslich|lediglich)\b")
_VERB: Final = re.compile(
    r"\b(?:cit\w+|quot\w+|sourc\w+|evidence|rely|trust|use|link\w*|search\w*|read|documentation|docs|"
    r"zitier\w*|quelle\w*|beleg\w*|verlink\w*|nutz\w*|verwend\w*|heranzieh\w*|such\w*|vertrau\w*|les\w*|dokumentation\w*)\b"
)
_CITING: Final = re.compile(
    r"\b(?:cit\w+|quot\w+|sourc\w+|evidence|rely|trust|documentation|docs|"
    r"zitier\w*|quelle\w*|beleg\w*|vertrau\w*|dokumentation\w*|unterlagen)\b"
)
_PLACES: Final = (
    (r"(?:vendor|manufacturer) forums?|hersteller-?(?:forum|foren)|foren der hersteller", SourceClass.FORUM, "vendor"),
    (r"vendor blogs?|hersteller-?blogs?", SourceClass.BLOG, "vendor"),
    (r"forums?|foren", SourceClass.FORUM, ""),
    (r"blogs?|weblogs?", SourceClass.BLOG, ""),
    (r"news(?: sites?)?|nachrichtenseiten?|presse\w*|zeitungen", SourceClass.NEWS, ""),
    (r"aggregators?|aggregatoren|content farms?|downloadportale?", SourceClass.AGGREGATOR, ""),
    (r"communities|community (?:sites?|pages?)|wikis?|stack ?(?:overflow|exchange)", SourceClass.COMMUNITY, ""),
)
"""Words that can only mean a kind of source."""
_QUALITIES: Final = (
    (r"vendors?|manufacturers?|hersteller\w*", SourceClass.VENDOR, ""),
    (r"standards?(?: bodies)?|normen", SourceClass.STANDARD, ""),
    (r"official\w*|behoerd\w*|offiziell\w*|amtlich\w*", SourceClass.OFFICIAL, ""),
    (r"reference works?|nachschlagewerke?", SourceClass.REFERENCE, ""),
    (r"(?:our )?own|internal|eigene\w*|interne\w*|hauseigen\w*", SourceClass.OWN, ""),
    (r"unknown|unbekannt\w*", SourceClass.UNKNOWN, ""),
)
"""Words that mean a kind of source where the sentence speaks of citing; "no internal jargon" does not."""
_DOMAIN: Final = re.compile(r"\b(?:[a-z0-9-]+\.)+[a-z]{2,24}\b")
_FILE: Final = re.compile(r"\.(?:md|txt|html?|pdf|docx?|xlsx?|conf|cfg|ini|exe|dll|py|ps1|sh|log|json|toml|yml|yaml)$")


def source_rules(directives: Iterable[str]) -> tuple[SourceRule, ...]:
    """Return what the active directives say about sources, in German or English; the others give no rule.

    "Never cite vendor forums", "Nur offizielle Quellen zitieren", "Keine Belege von example.com verwenden".
    """
    rules = []
    for directive in directives:
        text = fold(directive)
        classes: set[SourceClass] = set()
        tags: set[str] = set()
        rest = text
        for pattern, source_class, tag in (*_PLACES, *(_QUALITIES if _CITING.search(text) else ())):
            rest, found = re.subn(rf"\b(?:{pattern})\b", " ", rest)
            if found:
                classes.add(source_class)
                tags |= {tag} - {""}
        domains = frozenset(d.removeprefix("www.") for d in _DOMAIN.findall(text) if not _FILE.search(d))
        only = bool(_ONLY.search(text))
        if (classes or domains) and (only or _NOT.search(text)) and _VERB.search(text):
            rules.append(SourceRule(directive, only, frozenset(classes), frozenset(tags), domains))
    return tuple(rules)


def scope_hits(
    hits: Sequence[Hit],
    policy: ScopePolicy,
    directives: Iterable[str] = (),
    seen_urls: Collection[str] = (),
    sources: SourceTable | None = None,
) -> tuple[tuple[Hit, ...], tuple[Dropped, ...]]:
    """Return the hits that may be read, in their order and with cleaned URLs, and the others with the reason.

    `directives` are the active directives' sentences, `seen_urls` what was already refused for this subject.
    """
    rules = source_rules(directives)
    refused = {key for url in seen_urls if (key := _key(url)) is not None}
    kept: list[Hit] = []
    dropped: list[Dropped] = []
    taken: dict[str, Hit] = {}
    per_domain: Counter[str] = Counter()
    for hit in hits:
        reason, detail = _verdict(hit, policy, rules, sources)
        key = _key(hit.url) or ""
        domain = domain_of(hit.url)
        if reason is None and key in refused:
            reason = ScopeReason.ALREADY_REFUSED
        if reason is None and key in taken:
            reason, detail = ScopeReason.DUPLICATE, taken[key].url
        if reason is None and per_domain[domain] >= policy.per_domain:
            reason, detail = ScopeReason.DOMAIN_LIMIT, domain
        if reason is not None:
            dropped.append(Dropped(hit, reason, detail))
            continue
        per_domain[domain] += 1
        taken[key] = replace(hit, url=clean_url(hit.url))
        kept.append(taken[key])
    return tuple(kept), tuple(dropped)


def _verdict(
    hit: Hit, policy: ScopePolicy, rules: Sequence[SourceRule], sources: SourceTable | None
) -> tuple[ScopeReason | None, str]:
    """Return why a hit is out by itself, whatever the other hits are."""
    scheme = hit.url.split(":", 1)[0].strip().lower()
    if scheme not in policy.schemes:
        return ScopeReason.SCHEME, scheme
    if _key(hit.url) is None:
        return ScopeReason.BAD_URL, ""
    if policy.categories and hit.category and hit.category not in policy.categories:
        return ScopeReason.CATEGORY, hit.category
    for domain in policy.block_domains:
        if _within(hit.url, domain):
            return ScopeReason.BLOCKED_DOMAIN, domain
    if policy.allow_domains and scheme != "library" and not any(_within(hit.url, d) for d in policy.allow_domains):
        return ScopeReason.OUTSIDE_ALLOWED, ""
    publisher = sources.publisher_of(hit.url) if sources else None
    source_class = hit.source_class
    if source_class is SourceClass.UNKNOWN and publisher is not None:
        source_class = publisher.source_class
    for rule in rules:
        if rule.names(hit.url, source_class, publisher) is not rule.only:
            return ScopeReason.DIRECTIVE, rule.text
    return None, ""


def _key(url: str) -> str | None:
    try:
        return canonical_url(url)
    except ValueError:
        return None


def _within(url: str, domain: str) -> bool:
    """Tell whether `url` lies below `domain` (or is of the collection `library:name`)."""
    domain = domain.strip().lower()
    if url.lower().startswith("library:"):
        return domain_of(url).lower() == domain
    try:
        host = canonical_url(url).split("/")[2].rpartition("@")[2].split(":")[0]
    except ValueError:
        return False
    domain = domain.removeprefix("*.").removeprefix("www.").strip(".")
    return bool(domain) and (host == domain or host.endswith("." + domain))
