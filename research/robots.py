"""robots.txt as RFC 9309 reads it: the longest rule wins, `*` and `$` are wildcards, allow wins a tie (pure)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, unquote, urlsplit

__all__ = ["ALLOW_ALL", "MAX_ROBOTS_BYTES", "Robots", "parse_robots"]

MAX_ROBOTS_BYTES: Final = 500 * 1024
"""RFC 9309, 2.5: a parser reads at least 500 KiB; what stands behind is not looked at."""
_MAX_RULES: Final = 5_000
_MAX_DELAY_S: Final = 60.0
"""A longer Crawl-delay is kept to a minute; a site that wants more than that says `Disallow`."""


@dataclass(frozen=True, slots=True)
class _Rule:
    allow: bool
    pattern: str
    """As written, percent codes normalised."""

    def matches(self, path: str) -> bool:
        anchored = self.pattern.endswith("$")
        parts = (self.pattern[:-1] if anchored else self.pattern).split("*")
        if not path.startswith(parts[0]):
            return False
        at = len(parts[0])
        for part in parts[1:-1]:
            found = path.find(part, at)
            if found < 0:
                return False
            at = found + len(part)
        if len(parts) == 1:
            return not anchored or at == len(path)
        last = parts[-1]
        return path.endswith(last) and len(path) - len(last) >= at if anchored else path.find(last, at) >= 0


@dataclass(frozen=True, slots=True)
class Robots:
    """What one site lets one agent do."""

    rules: tuple[_Rule, ...] = ()
    delay_s: float | None = None
    """Crawl-delay in seconds, at most a minute."""

    def allows(self, url: str) -> bool:
        """Tell whether the page at `url` may be fetched."""
        parts = urlsplit(url)
        path = _normal(parts.path or "/") + (f"?{_normal(parts.query)}" if parts.query else "")
        if path == "/robots.txt":
            return True
        best = max(
            (rule for rule in self.rules if rule.matches(path)), key=lambda r: (len(r.pattern), r.allow), default=None
        )
        return best is None or best.allow


ALLOW_ALL: Final = Robots()


def _normal(path: str) -> str:
    """Return `path` with one spelling of percent codes, so that /~a and /%7Ea are one."""
    return quote(unquote(path, errors="surrogateescape"), safe="/*$=&;,:@!~'()+-._?", errors="surrogateescape")


def parse_robots(text: str, agent: str) -> Robots:
    """Return the rules for `agent` (a product token such as "NeuralBrain"); any text is accepted.

    All groups that name the agent count together; where none does, those of `*` do.
    """
    groups: dict[str, list[tuple[str, str]]] = {}
    named: list[str] = []
    in_rules = False
    for line in text.removeprefix("\ufeff").splitlines():
        field, colon, value = line.split("#", 1)[0].partition(":")
        field, value = field.strip().lower(), value.strip()
        if not colon:
            continue
        if field == "user-agent":
            if in_rules:
                named, in_rules = [], False
            named.append(_token(value))
            groups.setdefault(named[-1], [])
        elif field in {"allow", "disallow", "crawl-delay"}:
            in_rules = True
            for name in named:
                groups[name].append((field, value))
    lines = groups.get(_token(agent), groups.get("*", []))
    rules = tuple(_Rule(field == "allow", _normal(value)) for field, value in lines if field != "crawl-delay" and value)
    delays = [float(v) for f, v in lines if f == "crawl-delay" and re.fullmatch(r"\d{1,6}(?:\.\d{1,3})?", v)]
    return Robots(rules[:_MAX_RULES], min(max(delays), _MAX_DELAY_S) if delays else None)


def _token(value: str) -> str:
    """Return the product token of a user-agent line: letters, `-`, `_`, or `*`."""
    match = re.match(r"\*|[A-Za-z_-]+", value)
    return match[0].lower() if match else value.lower()
