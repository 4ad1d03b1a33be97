"""What a publisher's page is worth: class, standing and a score in [0, 1] with its parts (spec 04, gate 4).

The table of publishers is data (`sources.toml`, reviewed by hand); an operator's table of the same form adds
to it and wins. A library collection that states its class wins over both, because the operator wrote it.

    score = 0.50 class + 0.15 standing + 0.15 date + 0.12 cleanness + 0.08 authorship - deductions

The weights were set so that the threshold of 0.40 (BRAIN_EVIDENCE_MIN_QUALITY) separates what a service desk
lead would accept from what she would not: any page of an authority, standard, vendor or the house passes, also
an undated one; an ordinary page of nobody known passes where it is dated or clean; it falls where it is full
of advertisements, carries instructions to machines, or describes versions of more than ten years ago. The
sample corpus and `tests/research/test_sources.py` hold both sides.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from data.extract import Document
from data.models import SourceClass
from data.text import IdentifierClass, identifiers

__all__ = ["Publisher", "SourceError", "SourceScore", "SourceTable", "shipped_table"]

_CLASS_VALUE: Final[Mapping[SourceClass, float]] = {
    SourceClass.STANDARD: 0.95,
    SourceClass.OFFICIAL: 0.90,
    SourceClass.OWN: 0.90,
    SourceClass.VENDOR: 0.85,
    SourceClass.REFERENCE: 0.80,
    SourceClass.COMMUNITY: 0.60,
    SourceClass.NEWS: 0.55,
    SourceClass.BLOG: 0.48,
    SourceClass.FORUM: 0.45,
    SourceClass.UNKNOWN: 0.40,
    SourceClass.AGGREGATOR: 0.0,
}
_STANDING: Final[Mapping[SourceClass, float]] = {
    SourceClass.STANDARD: 0.95,
    SourceClass.OFFICIAL: 0.90,
    SourceClass.OWN: 0.90,
    SourceClass.VENDOR: 0.85,
    SourceClass.REFERENCE: 0.75,
    SourceClass.COMMUNITY: 0.60,
    SourceClass.NEWS: 0.55,
    SourceClass.BLOG: 0.50,
    SourceClass.FORUM: 0.50,
    SourceClass.UNKNOWN: 0.40,
    SourceClass.AGGREGATOR: 0.10,
}
"""Of a publisher whose class is known (a collection states it) and whose standing nobody has reviewed."""

_WEIGHTS: Final = {"class": 0.50, "standing": 0.15, "date": 0.15, "cleanness": 0.12, "authorship": 0.08}
_MACHINE_TALK: Final = 0.25
"""Deducted where a page speaks to machines: enough for any page of nobody known, not for an authority's that
quotes such a sentence."""
_HIDDEN_TEXT: Final = 0.03
"""Deducted for hidden text that says nothing to machines: menus have it too."""
_OUTDATED: Final = 0.18
"""Deducted where a page on certain versions is older than `_OLD_YEARS`."""
_BOUGHT: Final = 0.15
"""Deducted, by degree, for text that sells instead of explaining."""
_OLD_YEARS: Final = 10.0
_UNDATED: Final = {True: 0.7, False: 0.4}
"""Value of a missing date: publishers that keep their pages current often show none, others hide their age."""
_KEEPS_CURRENT: Final = frozenset(
    {SourceClass.STANDARD, SourceClass.OFFICIAL, SourceClass.OWN, SourceClass.VENDOR, SourceClass.REFERENCE}
)
_USUAL_FRAME: Final = 0.45
"""Boilerplate that any page may have: navigation, header, footer."""
_MOST_LINKS: Final = 0.30
_LOOKED_AT: Final = 6_000  # characters: versions and advertisements show early

_SELLING: Final = re.compile(
    r"\b(?:advertisements?|anzeige|werbung|sponsored|gesponsert|affiliate|provisions?-?links?|% off|% rabatt|"
    r"gutschein(?:code)?|coupon|limited offer|nur heute|free (?:download|scan|trial)|download (?:our|now|pc|free)|"
    r"(?:jetzt )?kostenlos(?:er)? (?:download|herunterladen|scannen)|jetzt (?:kaufen|bestellen)|buy now|one[- ]click|"
    r"mit einem klick|happy users|zufriedene (?:kunden|nutzer)|driver[- ]?(?:updater|booster)|repair tool|"
    r"(?:registry|pc)[- ]?(?:cleaner|repair|booster|optimi[sz]er|reiniger|tuning)|reparatur-?tool|you may also like|"
    r"das könnte (?:sie|dich) auch interessieren|share this (?:article|post)|teile diesen (?:artikel|beitrag)|"
    r"subscribe to|newsletter abonnieren|click here|hier klicken|\[?(?:solved|gelöst)\]|best (?:methods|ways|fixes)|"
    r"(?:beste|besten) (?:methoden|tipps|wege)|really works?|100 ?% (?:working|funktioniert)|top \d+|"
    r"in (?:less than )?(?:one|two|\d+) minutes?!|in nur \d+ minuten?!|(?:method|methode|trick|tipp) \d+ (?:is|ist)\b)",
    re.IGNORECASE,
)
"""What a text says that sells rather than explains, in English and German."""
_SELLING_FULL: Final = 2.0
"""Such phrases in a hundred words that make a text an advertisement altogether."""


class SourceError(Exception):
    """A table of sources that cannot be used; the message names the file, the entry and what is expected."""


@dataclass(frozen=True, slots=True)
class Publisher:
    """Who stands behind a domain."""

    name: str
    source_class: SourceClass
    standing: float
    sphere: str = "both"
    tags: frozenset[str] = frozenset()
    """`vendor` marks the forum or blog of a manufacturer."""


@dataclass(frozen=True, slots=True)
class SourceScore:
    """The judgement of one document's publisher; `parts` add up to the score before it is bounded."""

    source_class: SourceClass
    score: float
    parts: Mapping[str, float] = field(default_factory=dict)
    why: str = ""


@dataclass(frozen=True, slots=True)
class SourceTable:
    """Domain patterns to publishers: `host` or `host/path`, a host covering its subdomains."""

    by_pattern: Mapping[str, Publisher]

    @classmethod
    def load(cls, *operators: Path) -> SourceTable:
        """Return the shipped table with the operator's on top; raise SourceError for a file that is not one."""
        patterns = dict(shipped_table().by_pattern)
        for path in operators:
            try:
                text = path.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise SourceError(f"{path} cannot be read: {error}") from error
            patterns |= _parsed(text, str(path))
        return cls(patterns)

    def publisher_of(self, url: str) -> Publisher | None:
        """Return who stands behind a web page, by the longest pattern; None for nobody known or `library:`."""
        parts = urlsplit(url)
        host = (parts.hostname or "").lower().rstrip(".").removeprefix("www.")
        if parts.scheme not in {"http", "https"} or not host:
            return None
        path = [piece for piece in parts.path.split("/") if piece]
        labels = host.split(".")
        for first in range(len(labels)):
            domain = ".".join(labels[first:])
            for depth in range(min(3, len(path)), -1, -1):
                found = self.by_pattern.get("/".join([domain, *path[:depth]]).lower())
                if found is not None:
                    return found
        return None

    def classify(self, document: Document) -> tuple[SourceClass, float]:
        """Return class and standing: a collection's own word first, else the table, else unknown."""
        if document.source_class is not SourceClass.UNKNOWN:
            return document.source_class, _STANDING[document.source_class]
        publisher = self.publisher_of(document.final_url or document.url)
        if publisher is None:
            return SourceClass.UNKNOWN, _STANDING[SourceClass.UNKNOWN]
        return publisher.source_class, publisher.standing

    def score(self, document: Document, now: datetime) -> SourceScore:
        """Return the quality of `document` as a source at `now`, with its parts and a sentence why."""
        source_class, standing = self.classify(document)
        years = None if document.published_at is None else (now - document.published_at).total_seconds() / 31_557_600
        values = {
            "class": _CLASS_VALUE[source_class],
            "standing": standing,
            "date": _date_value(years, source_class),
            "cleanness": _cleanness(document),
            "authorship": _authorship(document, source_class),
        }
        parts = {name: round(weight * values[name], 4) for name, weight in _WEIGHTS.items()}
        parts |= {name: -round(value, 4) for name, value in _deductions(document, source_class, years).items()}
        total = round(min(1.0, max(0.0, sum(parts.values()))), 4)
        return SourceScore(source_class, total, parts, _why(source_class, years, parts))


def _date_value(years: float | None, source_class: SourceClass) -> float:
    """Return 1 for two years or younger, falling to 0.2 at ten years; a date in the future is none."""
    if years is None or years < -0.1:
        return _UNDATED[source_class in _KEEPS_CURRENT]
    return 1.0 if years <= 2 else max(0.2, 1.0 - 0.1 * (years - 2))


def _cleanness(document: Document) -> float:
    """Return 1 for a page that is mostly its own text, 0 for one that is mostly frame and links."""
    frame = max(0.0, document.boilerplate - _USUAL_FRAME) / (1.0 - _USUAL_FRAME)
    links = max(0.0, document.link_density - _MOST_LINKS) / (1.0 - _MOST_LINKS)
    return max(0.0, 1.0 - frame - links)


def _authorship(document: Document, source_class: SourceClass) -> float:
    """Return 1 where somebody answers for the text: an author, or a publisher that is one."""
    if document.author or source_class in _KEEPS_CURRENT:
        return 1.0
    return 0.5 if source_class in {SourceClass.NEWS, SourceClass.COMMUNITY} else 0.0


def _deductions(document: Document, source_class: SourceClass, years: float | None) -> dict[str, float]:
    """Return what is taken off, by name."""
    found: dict[str, float] = {}
    flags: frozenset[str] = frozenset(document.flags)
    if flags & {"instructions_visible", "hidden_instructions"}:
        found["machine_talk"] = _MACHINE_TALK
    elif "hidden_removed" in flags:
        found["hidden_text"] = _HIDDEN_TEXT
    opening = f"{document.title}\n{document.text[:_LOOKED_AT]}"
    if years is not None and years > _OLD_YEARS and _names_a_version(opening):
        found["outdated"] = _OUTDATED
    if source_class not in _KEEPS_CURRENT:
        words = max(50, len(opening.split()))
        found["advertising"] = _BOUGHT * min(1.0, 100 * len(_SELLING.findall(opening)) / words / _SELLING_FULL)
    return {name: value for name, value in found.items() if value > 0}


def _names_a_version(text: str) -> bool:
    """Tell whether a text is bound to versions: it names one, or an update of one."""
    return any(item.cls in {IdentifierClass.VERSION, IdentifierClass.KB} for item in identifiers(text))


_WORDS: Final = {
    "machine_talk": "it carries instructions to machines",
    "hidden_text": "it hides text",
    "outdated": "it describes versions of more than ten years ago",
    "advertising": "it advertises",
}


def _why(source_class: SourceClass, years: float | None, parts: Mapping[str, float]) -> str:
    """Return one sentence with the parts in it."""
    age = "undated" if years is None else f"{max(0.0, years):.0f} years old" if years >= 1.5 else "recent"
    sums = ", ".join(f"{name} {parts[name]:.2f}" for name in _WEIGHTS)
    off = "".join(f"; {_WORDS[name]} ({parts[name]:.2f})" for name in _WORDS if name in parts)
    return f"{source_class} source, {age}: {sums}{off}"


@cache
def shipped_table() -> SourceTable:
    """Return the table that comes with the product."""
    text = files("research").joinpath("sources.toml").read_text(encoding="utf-8")
    return SourceTable(_parsed(text, "sources.toml"))


_PATTERN: Final = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)+(?:/[^\s/]+){0,3}")


def _parsed(text: str, name: str) -> dict[str, Publisher]:
    """Return patterns to publishers of one TOML text; raise SourceError with what is wrong and where."""
    try:
        entries = tomllib.loads(text).get("source", [])
    except tomllib.TOMLDecodeError as error:
        raise SourceError(f"{name} is no TOML: {error}") from error
    if not isinstance(entries, list):
        raise SourceError(f"{name}: `source` must be a list of tables ([[source]])")
    found: dict[str, Publisher] = {}
    for number, entry in enumerate(entries, start=1):
        where = f"{name}, source {number}"
        if not isinstance(entry, dict):
            raise SourceError(f"{where}: must be a table")
        unknown = entry.keys() - {"publisher", "class", "standing", "sphere", "tags", "domains"}
        if unknown:
            raise SourceError(f"{where}: unknown key {min(unknown)!r}")
        publisher = _publisher(entry, where)
        for pattern in _domains(entry.get("domains"), where):
            if pattern in found:
                raise SourceError(f"{where}: {pattern!r} stands twice in this table")
            found[pattern] = publisher
    return found


def _publisher(entry: Mapping[str, object], where: str) -> Publisher:
    name, standing = entry.get("publisher"), entry.get("standing")
    if not isinstance(name, str) or not name.strip():
        raise SourceError(f"{where}: `publisher` must be a name")
    try:
        source_class = SourceClass(str(entry.get("class")))
    except ValueError:
        raise SourceError(f"{where}: `class` must be one of {', '.join(SourceClass)}") from None
    if standing is None:
        standing = _STANDING[source_class]
    if isinstance(standing, bool) or not isinstance(standing, int | float) or not 0 <= standing <= 1:
        raise SourceError(f"{where}: `standing` must be a number from 0 to 1")
    tags = entry.get("tags", [])
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise SourceError(f"{where}: `tags` must be a list of words")
    return Publisher(name.strip(), source_class, float(standing), str(entry.get("sphere", "both")), frozenset(tags))


def _domains(value: object, where: str) -> Iterable[str]:
    if not isinstance(value, list) or not value:
        raise SourceError(f"{where}: `domains` must be a list of host names")
    for item in value:
        pattern = str(item).strip().lower().removeprefix("www.").rstrip("/")
        if not isinstance(item, str) or not _PATTERN.fullmatch(pattern):
            raise SourceError(f"{where}: {item!r} is no domain such as docs.example.org or example.org/forum")
        yield pattern
