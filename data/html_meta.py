"""What a page says about itself: title, publisher, author, date, language.

Read from structured data first (JSON-LD, meta elements), then from the visible text near a word such as "Stand" or
"Last updated". Nothing is guessed from a copyright line: a wrong date would make an old page look fresh.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

__all__ = ["PageMeta", "page_meta", "parse_date"]


@dataclass(frozen=True, slots=True)
class PageMeta:
    title: str = ""
    publisher: str = ""
    author: str | None = None
    published_at: datetime | None = None
    language: str = ""
    """As declared, two letters; empty where the page declares none."""


_MONTHS: Final = {
    name: number
    for number, names in enumerate(
        (
            "january januar jan jänner", "february februar feb", "march märz mar mär maerz", "april apr", "may mai",
            "june juni jun", "july juli jul", "august aug", "september sep sept", "october oktober oct okt",
            "november nov", "december dezember dec dez",
        ),
        start=1,
    )
    for name in names.split()
}  # fmt: skip
_MONTH: Final = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DATE_FORMS: Final = (
    re.compile(
        r"(?P<y>(?:19|20)\d\d)-(?P<m>\d{1,2})-(?P<d>\d{1,2})"
        r"(?:[T ](?P<time>\d{2}:\d{2}(?::\d{2})?)(?P<zone>Z|[+-]\d{2}:?\d{2})?)?"
    ),
    re.compile(r"(?P<d>\d{1,2})\.[ ]?(?P<m>\d{1,2})\.[ ]?(?P<y>(?:19|20)\d\d)(?!\d)"),
    re.compile(r"(?P<y>(?:19|20)\d\d)/(?P<m>\d{1,2})/(?P<d>\d{1,2})(?!\d)"),
    re.compile(
        rf"(?P<d>\d{{1,2}})(?:\.|st|nd|rd|th)?[ ](?P<name>{_MONTH})\.?,?[ ](?P<y>(?:19|20)\d\d)(?!\d)", re.IGNORECASE
    ),
    re.compile(
        rf"(?P<name>{_MONTH})\.?[ ](?P<d>\d{{1,2}})(?:st|nd|rd|th)?,?[ ](?P<y>(?:19|20)\d\d)(?!\d)", re.IGNORECASE
    ),
)
_DATE_WORD: Final = re.compile(
    r"\b(?:stand|datum|letzte (?:änderung|aktualisierung|bearbeitung)|zuletzt (?:geändert|aktualisiert|bearbeitet)|"
    r"aktualisiert|veröffentlicht|erstellt|geändert|last (?:updated|modified|changed|revised|reviewed)|updated|"
    r"published|posted|date|release date|reviewed)(?: am| on)?[ ]?[:,]?[ ]{0,2}(?=\S{1,12}.{0,24}\d)",
    re.IGNORECASE,
)


def parse_date(text: str) -> datetime | None:
    """Return the first date of `text` as aware UTC, None where there is none that exists (31 February)."""
    for form in _DATE_FORMS:
        match = form.search(text)
        if not match:
            continue
        parts = match.groupdict()
        month = _MONTHS[parts["name"].lower()] if parts.get("name") else int(parts["m"])
        clock = parts.get("time") or "00:00"
        zone = (parts.get("zone") or "Z").replace("Z", "+00:00")
        try:
            stamp = f"{parts['y']}-{month:02d}-{int(parts['d']):02d}T{clock}{zone}"
            return datetime.fromisoformat(stamp).astimezone(UTC)
        except (ValueError, OverflowError):
            continue
    return None


def page_meta(tree: Any, structured: list[str], url: str) -> PageMeta:
    """Return what the page declares; `structured` holds its JSON-LD, `url` may carry the date (/2024/03/12/)."""
    named = _meta_elements(tree)
    items = list(_items(structured))
    return PageMeta(
        title=_title(tree, named),
        publisher=_first(named, "og:site_name", "publisher", "dc.publisher", "dcterms.publisher", "application-name")
        or _names(items, "publisher"),
        author=(
            _first(named, "author", "article:author", "dc.creator", "dcterms.creator")
            or _names(items, "author")
            or None
        ),
        published_at=_date(tree, named, items, url),
        language=_language(tree, named),
    )


def _meta_elements(tree: Any) -> dict[str, str]:
    found: dict[str, str] = {}
    for element in tree.iter("meta"):
        name = element.get("name") or element.get("property") or element.get("itemprop") or element.get("http-equiv")
        content = " ".join((element.get("content") or "").split())
        if name and content:
            found.setdefault(name.strip().lower(), content[:500])
    return found


def _first(named: Mapping[str, str], *names: str) -> str:
    value = next((named[name] for name in names if name in named), "")
    return "" if value.startswith(("http://", "https://")) else value[:200]


def _items(structured: list[str]) -> Iterator[Mapping[str, Any]]:
    """Yield the JSON-LD objects that describe a text, graphs flattened; broken ones are passed over."""
    for text in structured[:20]:
        try:
            data = json.loads(text)
        except (ValueError, RecursionError):
            continue
        stack = [data]
        for _ in range(200):
            if not stack:
                break
            item = stack.pop()
            if isinstance(item, list):
                stack.extend(item[:50])
            elif isinstance(item, dict):
                stack.extend([item["@graph"]] if "@graph" in item else [])
                yield item


def _names(items: list[Mapping[str, Any]], key: str) -> str:
    for item in items:
        value = item.get(key)
        values = value if isinstance(value, list) else [value]
        names = [part.get("name") if isinstance(part, dict) else part for part in values[:5]]
        joined = ", ".join(name.strip() for name in names if isinstance(name, str) and name.strip())
        if joined and not joined.startswith("http"):
            return joined[:200]
    return ""


_SEPARATOR: Final = re.compile(r"\s+[|·•–—»:-]+\s+")


def _title(tree: Any, named: Mapping[str, str]) -> str:
    """Return the page's own title: its h1 where the title element repeats it, else that without the site's name."""
    head = tree.find(".//title")
    title = " ".join("".join(head.itertext()).split()) if head is not None else ""
    parts = _SEPARATOR.split(title)
    headings = _headings(tree)
    lowered = [part.lower() for part in parts]
    exact = [heading for heading in headings if heading.lower() in lowered]
    if exact:  # a site's name in a banner is a part of the title as well, but not the first one
        return min(exact, key=lambda heading: lowered.index(heading.lower()))[:300]
    for heading in headings:
        if heading.lower() in title.lower() or len(headings) == 1:
            return heading[:300]
    graph = named.get("og:title", "")
    if graph and (not title or graph.lower() in title.lower()):
        return graph[:300]
    site = named.get("og:site_name", "").lower()
    kept = [part for part in parts if part.lower() != site]
    return (title if len(kept) == len(parts) else " - ".join(kept))[:300]


_BANNER: Final = re.compile(r"(?:^|[\s_-])(?:header|banner|logo|masthead|brand|topbar|top)(?:$|[\s_-])", re.IGNORECASE)


def _headings(tree: Any) -> list[str]:
    """Return the texts of the page's first-level headings, those of a banner left out where others are left."""
    found: list[tuple[bool, str]] = []
    for heading in tree.iter("h1"):
        text = " ".join("".join(heading.itertext()).replace("¶", "").split())
        above = (parent for parent in heading.iterancestors() if parent.tag not in {"html", "body", "article", "main"})
        banner = any(
            parent.tag == "header" or _BANNER.search(f"{parent.get('class') or ''} {parent.get('id') or ''}")
            for parent in above
        )
        if text:
            found.append((banner, text))
    inside = [text for banner, text in found if not banner]
    return inside or [text for _, text in found]


_DATE_NAMES: Final = (
    "article:published_time", "og:published_time", "datepublished", "dcterms.issued", "dcterms.created",
    "dc.date.issued", "dc.date", "dcterms.date", "date", "pubdate", "publish-date", "publication_date",
    "article:modified_time", "og:updated_time", "dcterms.modified", "last-modified", "datemodified",
)  # fmt: skip


def _date(tree: Any, named: Mapping[str, str], items: list[Mapping[str, Any]], url: str) -> datetime | None:
    for key in ("datePublished", "dateModified", "dateCreated"):
        for item in items:
            if isinstance(item.get(key), str) and (found := parse_date(item[key])):
                return found
    for name in _DATE_NAMES:
        if name in named and (found := parse_date(named[name])):
            return found
    for element in list(tree.iter("time"))[:10]:
        if found := parse_date(element.get("datetime") or "".join(element.itertext())):
            return found
    address = re.search(r"/((?:19|20)\d\d/\d{2}/\d{2})(?:/|-|$)", url)
    if address and (found := parse_date(address[1])):
        return found
    return _visible_date(" ".join(" ".join(tree.itertext()).split()))


def _visible_date(text: str) -> datetime | None:
    for piece in (text[:3_000], text[-3_000:]):
        for match in _DATE_WORD.finditer(piece):
            if found := parse_date(piece[match.end() : match.end() + 28]):
                return found
    return None


def _language(tree: Any, named: Mapping[str, str]) -> str:
    declared = tree.get("lang") or tree.get("{http://www.w3.org/XML/1998/namespace}lang") or tree.get("xml:lang") or ""
    declared = declared or named.get("content-language", "") or named.get("og:locale", "") or named.get("language", "")
    match = re.match(r"\s*([A-Za-z]{2})(?:$|[-_,\s])", declared)
    return match[1].lower() if match else ""
