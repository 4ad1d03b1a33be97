"""Traces of machines and accounts: ids, hashes, addresses, hosts, paths (spec 04, rules 2 to 4; pure).

Every function takes a plain reading of a text (`research.disguise`) and yields spans. Quantifiers are bounded,
so that no text makes a pattern slow.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Final

__all__ = ["INTERNAL_SUFFIXES", "accounts", "addresses", "emails", "hashes", "hosts", "macs", "node_ids", "unc_paths"]

INTERNAL_SUFFIXES: Final = (
    "local", "lan", "corp", "internal", "intranet",  # spec 04
    "intern", "intra", "localdomain", "localnet", "home.arpa", "private",
)  # fmt: skip
"""Last labels of names that no public resolver knows."""

Spans = Iterator[tuple[int, int]]
_I: Final = re.IGNORECASE
_CROCKFORD: Final = "0-9a-hjkmnp-tv-z"

# Ids and hashes.
_NODE: Final = re.compile(
    rf"[a-z]_[{_CROCKFORD}]{{26}}"  # any stored record, also inside of a longer token
    rf"|(?<![a-z0-9])[a-z][\W_]{{1,3}}[0-7](?=[a-z]*\d)[{_CROCKFORD}]{{25}}(?![a-z0-9])"
    rf"|(?<![a-z0-9])[a-z]?[0-7](?=[a-z]*\d)[{_CROCKFORD}]{{25}}(?![a-z0-9])",
    _I,
)
_HEX_RUN: Final = re.compile(r"[0-9a-f]{20,}", _I)
_UUID: Final = re.compile(r"[0-9a-f]{8}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{12}", _I)
_HEX_GROUPS: Final = re.compile(
    r"(?<![0-9a-z])[0-9a-f]{2,32}(?:[-_][0-9a-f]{2,32}){1,32}(?![0-9a-z])"
    r"|(?<![0-9a-f:])(?:[0-9a-f]{2}([:.\s]))(?:[0-9a-f]{2}\1){8,}[0-9a-f]{2}(?![0-9a-f:])"
    r"|(?<![0-9a-z])(?:[0-9a-f]{4}\s){4,}[0-9a-f]{4}(?![0-9a-z])|(?<![0-9a-z])(?:[0-9a-f]{8}\s){2,}[0-9a-f]{8}(?![0-9a-z])",
    _I,
)


def node_ids(text: str) -> Spans:
    """Yield ids of stored records, also inside of longer tokens."""
    for match in _NODE.finditer(text):
        yield match.span()


def hashes(text: str) -> Spans:
    """Yield hexadecimal tokens of twenty characters and more, also in groups; UUIDs."""
    for pattern in (_HEX_RUN, _UUID):
        for match in pattern.finditer(text):
            yield match.span()
    for match in _HEX_GROUPS.finditer(text):
        digits = re.sub(r"[^0-9a-f]", "", match[0].lower())
        if len(digits) >= 20 and re.search(r"\d", digits) and re.search(r"[a-f]", digits):
            yield match.span()


# People and machines.
_EMAIL: Final = re.compile(
    r"(?:\"[^\"@\n]{1,64}\"|[\w.+%'~&=/-]{0,64}[\w+%'~-])@(?:\[[0-9a-f.:]{3,45}\]|[\w-]+(?:\.[\w-]+){0,10})", _I
)
_PACKAGE_VERSION: Final = re.compile(r"@v?\d{1,4}(?:\.\d+){0,2}(?:[-+.][a-z][\w.]*)?$", _I)
_DOTTED: Final = re.compile(r"(?<![\d.])(?<!\bv)\d{1,3}(?:\.\d{1,3}){3,}(?!\d)(?!\.\d)", _I)
_QUAD: Final = re.compile(r"(?<!\d)(\d{1,3})([-_ ,])(\d{1,3})\2(\d{1,3})\2(\d{1,3})(?!\d)(?!\2\d)")
_REVERSED: Final = re.compile(r"(?<!\d)(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})(?=\.in-addr\.arpa)", _I)
_DECIMAL: Final = re.compile(r"(?<![\w.,-])\d{9,10}(?![\w]|[.,]\d)")
_COLONS: Final = re.compile(
    r"(?<![\w:.])(?=[^\W_]{0,20}:[^\W_]{0,20}:)[^\W_]{0,20}(?::[^\W_]{0,20}){2,10}(?:(?:\.\d{1,3}){3})?(?![\w:])", _I
)
_MAC: Final = re.compile(
    r"(?<![0-9a-f])(?:[0-9a-f]{2}([:-]|\s(?=\S{2}\s)|\.)(?:[0-9a-f]{2}\1){4}(?:[0-9a-f]{2}\1){0,2}[0-9a-f]{2}"
    r"|(?<!-)[0-9a-f]{4}([.-])[0-9a-f]{4}\2[0-9a-f]{4}(?!-)|[0-9a-f]{6}[-:][0-9a-f]{6})(?![0-9a-f])"
    r"|(?<![0-9a-z-])(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{12}(?![0-9a-z-])",
    _I,
)
_PRIVATE_NETS: Final = tuple(
    ipaddress.ip_network(net)
    for net in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "100.64.0.0/10",
                "fc00::/7", "fe80::/10", "fec0::/10")
)  # fmt: skip
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def _is_private(address: _Address) -> bool:
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if inner is None and address in ipaddress.ip_network("64:ff9b::/96"):
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return _is_private(inner)
    return any(address in net for net in _PRIVATE_NETS if net.version == address.version)


def _quad(parts: Iterable[str]) -> ipaddress.IPv4Address | None:
    numbers = [int(part) for part in parts]
    return ipaddress.IPv4Address(bytes(numbers)) if all(n <= 255 for n in numbers) else None


def emails(text: str) -> Spans:
    """Yield e-mail addresses and user@host; `name@1.2` is a package version."""
    if "@" not in text:
        return
    for match in _EMAIL.finditer(text):
        if not _PACKAGE_VERSION.search(match[0]) and not match[0].startswith("//"):
            yield match.span()


def addresses(text: str) -> Spans:
    """Yield private and link-local IP addresses in every notation; loopback is everybody's."""
    for match in _DOTTED.finditer(text):
        parts = match[0].split(".")
        # A longer row of numbers is an OID, which may carry an address at its end; 10.x in it is chance.
        rows = [parts] if len(parts) == 4 else [row for row in (parts[:4], parts[-4:]) if row[0] != "10"]
        if any(address and _is_private(address) for address in map(_quad, rows)):
            yield match.span()
    for match in _QUAD.finditer(text):
        address = _quad(match.group(1, 3, 4, 5))
        if address and _is_private(address) and (match[2] in "-_" or match[1] != "10"):
            yield match.span()
    for match in _REVERSED.finditer(text):
        address = _quad(match.group(4, 3, 2, 1))
        if address and _is_private(address):
            yield match.span()
    for match in _DECIMAL.finditer(text):
        if int(match[0]) < 2**32 and _is_private(ipaddress.IPv4Address(int(match[0]))):
            yield match.span()
    for match in _COLONS.finditer(text):
        if any(map(_is_private, _behind_names(match[0]))):
            yield match.span()


def _behind_names(text: str) -> Iterator[ipaddress.IPv6Address]:
    """Yield the addresses that stand in `host:fe80::1` from one of its colons to its end."""
    for start in (0, *(match.end() for match in re.finditer(":", text))):
        if text.count(":", start) >= 2:
            with suppress(ValueError):
                yield ipaddress.IPv6Address(text[start:])


def macs(text: str) -> Spans:
    """Yield MAC addresses."""
    for match in _MAC.finditer(text):
        if not re.search(r"\s", match[0]) or re.search(r"[a-f]", match[0], _I):
            yield match.span()


# Places.
_UNC: Final = re.compile(
    r"(?<!\b[a-z]:)(?<![\w\\])\\{2,}(?:\?\\+UNC\\+)?(?![.?]\\)[\w$-][\w.$-]*(?:\\+[^\s\\\"'<>|]+)+\\*"
    r"|(?<![^\s\"'(\[<])\\\\(?=[\w-]*[A-Za-z])[\w-][\w.-]{2,}"
    r"|(?<![:/\w])//[\w-][\w.-]*/[\w$%.-][^\s\"'<>|]*"
    r"|\b(?:smb|cifs|afp|nfs|file)://(?!/)[^\s\"'<>|]+",
    _I,
)
_ACCOUNT: Final = re.compile(r"(?<!\b[A-Za-z]:)(?<![\w\\.%-])([A-Za-zÀ-ÿ][\w.-]{0,62})\\{1,2}([\w.$-]{2,})")
_PROFILE: Final = re.compile(
    r"(?<![A-Za-z])[a-z]:[\\/]+(?:users|benutzer)[\\/]+(?!(?:public|default|all)\b)[\w.$-]+", _I
)
_ROOTS: Final = """
    hklm hkcu hkcr hku hkcc authority autorität builtin vordefiniert service dienst apppool window font winnt windows
    system32 syswow64 drivers software system microsoft currentversion currentcontrolset services program files policies
    etc wow6432node root cimv2 appdata programdata registry machine
"""
_PUBLIC_ROOTS: Final = frozenset(_ROOTS.split())
"""What stands before a backslash without being a domain: registry roots, system folders, built-in authorities."""
_FILE_NAMES: Final = re.compile(
    r"(?:^|[/.])(?:rc|named\.conf|jail|fail2ban|env|\.env|paths|settings|npmrc|conf)\.local$", _I
)
_ONE_LABEL_URL: Final = re.compile(
    r"\bhttps?://(?!localhost\b)(?!\d+(?:[:/\s]|$))[\w-]+(?::\d+)?(?=[/\s?#]|$)(?:/\S*)?", _I
)


def unc_paths(text: str) -> Spans:
    """Yield UNC paths and URLs of file shares."""
    if "\\" not in text and "//" not in text:
        return
    for match in _UNC.finditer(text):
        yield match.span()


def accounts(text: str) -> Spans:
    """Yield DOMAIN\\user and the folders of user profiles."""
    if "\\" not in text and "/" not in text:
        return
    for match in _ACCOUNT.finditer(text):
        first = match[1].lower()
        if first not in _PUBLIC_ROOTS and not first.startswith("hkey_"):
            yield match.span()
    for match in _PROFILE.finditer(text):
        yield match.span()


@lru_cache(maxsize=64)
def _host_pattern(suffixes: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern of hosts below the built-in suffixes, and of configured domains with what is below them."""
    own = [re.escape(s.strip().strip(".").lower()) for s in suffixes if s.strip().strip(".")]
    names = rf"(?:[\w-]+\.){{1,12}}(?:{'|'.join(re.escape(s) for s in INTERNAL_SUFFIXES)})"
    if own:
        names += rf"|(?:[\w-]+\.){{0,12}}(?:{'|'.join(own)})"
    before, after = r"(?:\b[a-z][a-z0-9+-]{0,20}://)?(?<![\w-])", r"(?![\w-])(?!\.\w)(?:\.?(?::\d+)?(?:/[^\s\"'<>]*)?)?"
    return re.compile(rf"{before}({names}){after}", _I)


def hosts(text: str, suffixes: tuple[str, ...]) -> Spans:
    """Yield internal hosts with what hangs on them (scheme, port, path), and URLs of one-label hosts."""
    for match in _host_pattern(suffixes).finditer(text):
        if not _FILE_NAMES.search(match[1]):
            yield match.span()
    for match in _ONE_LABEL_URL.finditer(text):
        yield match.span()
