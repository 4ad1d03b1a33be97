"""One spelling for one page: URLs as they are compared, and the domain they count for (spec 04, Search; pure)."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final
from urllib.parse import SplitResult, quote, unquote, urlsplit, urlunsplit

import idna

__all__ = ["canonical_url", "clean_url", "domain_of"]

_TRACKING: Final = re.compile(
    r"(?:utm|mtm|pk|piwik|matomo|hsa|ns|vero|oly|wt|trk)_\w+|_hs\w+|_g[al]|gclid|gclsrc|dclid|gbraid|wbraid|fbclid|msclkid|"
    r"yclid|twclid|igshid|mc_[ce]id|mkt_tok|s_cid|wt\.\w+|wtmc|ocid|xtor|at_(?:medium|campaign|custom\d)|cmpid|"
    r"phpsessid|jsessionid|sessionid|ref_(?:src|url)|spm|share_?id|feature",
    re.IGNORECASE,
)
_SESSION: Final = re.compile(r";jsessionid=[^/?#]*", re.IGNORECASE)
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_UNRESERVED: Final = re.compile(r"%[0-9A-Fa-f]{2}")


def clean_url(url: str) -> str:
    """Return `url` as it can be fetched, without tracking parameters, fragment and default port.

    Raise ValueError for what is no http, https or `library:` URL.
    """
    url = url.strip()
    if url.lower().startswith("library:"):
        return "library:" + url[len("library:") :].split("#", 1)[0].strip()
    parts = urlsplit(url)
    scheme = parts.scheme.lower()
    host = (parts.hostname or "").rstrip(".")
    if scheme not in _DEFAULT_PORTS or not host or re.search(r"\s", url):
        raise ValueError(f"{url!r} is no web address")
    if not host.isascii():
        host = idna.encode(host, uts46=True).decode("ascii").rstrip(".")  # IDNAError is a ValueError
    netloc = f"[{host}]" if ":" in host else host
    if parts.port is not None and parts.port != _DEFAULT_PORTS[scheme]:
        netloc += f":{parts.port}"
    if parts.username or parts.password:
        netloc = f"{parts.netloc.rpartition('@')[0]}@{netloc}"  # left in, so that the address guard refuses it
    path = _dots_out(_one_spelling(_SESSION.sub("", parts.path or "/")))
    query = "&".join(p for p in parts.query.split("&") if p and not _TRACKING.fullmatch(p.split("=", 1)[0]))
    return urlunsplit(SplitResult(scheme, netloc, path, query, ""))


def canonical_url(url: str) -> str:
    """Return the form under which two URLs are the same page; for comparing, not for fetching.

    As `clean_url`, and: no scheme's difference, no `www.`, no closing slash, parameters in order.
    """
    clean = clean_url(url)
    if clean.startswith("library:"):
        return clean
    parts = urlsplit(clean)
    query = "&".join(sorted(parts.query.split("&"))) if parts.query else ""
    return urlunsplit(SplitResult("https", parts.netloc.removeprefix("www."), parts.path.rstrip("/") or "/", query, ""))


@lru_cache(maxsize=4096)
def domain_of(url: str) -> str:
    """Return the domain a page counts for: the registrable one, or `library:` with the collection.

    Sites below a shared one (github.io, readthedocs.io) count for themselves. "" for what has none.
    """
    if url.lower().startswith("library:"):
        first, slash, _ = unquote(url[len("library:") :]).lstrip("/").partition("/")
        return f"library:{first if slash else ''}"
    try:
        host = (urlsplit(url).hostname or "").lower().rstrip(".")
    except ValueError:
        return ""
    return _registrable(host) or host.removeprefix("www.")


def _registrable(host: str) -> str | None:
    """Return the registrable domain by the public suffix list, None for addresses and unknown suffixes."""
    from tld import get_fld

    found = get_fld(f"https://{host}/", fail_silently=True, search_private=True)
    return str(found) if found else None


def _one_spelling(path: str) -> str:
    """Return `path` with percent codes of plain characters resolved and the others in capitals."""

    def plain(match: re.Match[str]) -> str:
        char = unquote(match[0])
        return char if re.fullmatch(r"[A-Za-z0-9._~-]", char) else match[0].upper()

    return quote(_UNRESERVED.sub(plain, path), safe="/%:@!$&'()*+,;=~")


def _dots_out(path: str) -> str:
    """Return `path` without `.` and `..` segments (RFC 3986, 5.2.4)."""
    kept: list[str] = []
    segments = path.split("/")
    for segment in segments:
        if segment == "..":
            if len(kept) > 1:
                kept.pop()
        elif segment != ".":
            kept.append(segment)
    if segments[-1] in {".", ".."}:
        kept.append("")
    return "/".join(kept) or "/"
