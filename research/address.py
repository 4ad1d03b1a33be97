"""The address guard: where the fetcher may go (spec 10, Addresses).

Two looks: at the URL before anything is asked (`checked_target`), and at the addresses its host resolves to
(`checked_addresses`), of which one is then connected to. A host that resolves to a public and a private
address is refused as a whole. `allow_hosts` opens named `host` (on the usual ports) or `host:port` entries.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol
from urllib.parse import urlsplit

import idna

__all__ = [
    "ALLOWED_PORTS",
    "AddressError",
    "Resolver",
    "SystemResolver",
    "Target",
    "checked_addresses",
    "checked_host",
    "checked_target",
    "is_public",
    "literal_address",
    "split_allowed",
]

_MAX_URL: Final = 8_000
ALLOWED_PORTS: Final = frozenset({80, 443, 8080, 8443})

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

_CLOSED: Final = tuple(
    ipaddress.ip_network(net)
    for net in (
        # IANA special-purpose registry, IPv4
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24",
        "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
        # a metadata service on a public address (Azure)
        "168.63.129.16/32",
        # IPv6: what lies in the global unicast block and is not the internet
        "2001::/23", "2001:db8::/32", "2620:4f:8000::/48", "3fff::/20", "5f00::/16",
    )
)  # fmt: skip
_GLOBAL_V6: Final = ipaddress.IPv6Network("2000::/3")
_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
_INTERNAL_NAMES: Final = re.compile(
    r"(?:^|\.)(?:localhost|localdomain|local|lan|corp|internal|intranet|intern|intra|home\.arpa|onion|invalid|test)$"
)
_HOST: Final = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)(?:\.(?!-)[a-z0-9_-]{1,63}(?<!-))*")
_NUMBERISH: Final = re.compile(r"0x[0-9a-f]*|[0-9]+")


class AddressError(Exception):
    """A URL or an address that may not be fetched from; the message says why."""


@dataclass(frozen=True, slots=True)
class Target:
    """A URL that passed the first look."""

    scheme: str
    host: str
    """Lower case, ASCII (IDNA); an address in its one canonical form, IPv6 without brackets."""
    port: int
    allowed: bool
    """Whether an operator opened this host, so that its addresses are not looked at."""

    @property
    def origin(self) -> str:
        """Scheme, host and port as robots.txt is looked up under."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


class Resolver(Protocol):
    """Turns a name into addresses."""

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        """Return the addresses of `host` in the order they should be tried; raise OSError where it has none."""
        ...


class SystemResolver:
    """The machine's own resolver."""

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
        return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def is_public(address: IPAddress) -> bool:
    """Tell whether `address` is one of the public internet, also where IPv4 hides inside of IPv6."""
    if isinstance(address, ipaddress.IPv4Address):
        return not any(address in net for net in _CLOSED if net.version == 4)
    if address.scope_id is not None:
        return False
    inner = _inner_ipv4(address)
    if inner is not None:
        return is_public(inner)
    return address in _GLOBAL_V6 and not any(address in net for net in _CLOSED if net.version == 6)


def _inner_ipv4(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """Return the IPv4 address that packets to `address` may end at: mapped, NAT64, 6to4, ISATAP."""
    number = int(address)
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address in _NAT64:
        return ipaddress.IPv4Address(number & 0xFFFFFFFF)
    if address.sixtofour is not None:
        return address.sixtofour
    if (number >> 32) & 0xFCFFFFFF == 0x5EFE:
        return ipaddress.IPv4Address(number & 0xFFFFFFFF)
    return None


def literal_address(host: str) -> IPAddress | None:
    """Return the address that `host` writes out in any notation a resolver would take, None for a name.

    127.1, 0x7f000001, 2130706433 and 0177.0.0.1 are all 127.0.0.1. Raise AddressError for numbers that are none.
    """
    if ":" in host:
        try:
            return ipaddress.IPv6Address(host)
        except ValueError:
            raise AddressError(f"{host!r} is no IPv6 address") from None
    labels = host.split(".")
    if not _NUMBERISH.fullmatch(labels[-1]):
        return None
    if len(labels) > 4 or not all(_NUMBERISH.fullmatch(label) for label in labels):
        raise AddressError(f"{host!r} ends in a number and is no IPv4 address")
    try:
        numbers = [_number(label) for label in labels]
    except ValueError:
        raise AddressError(f"{host!r} is no IPv4 address") from None
    *first, last = numbers
    if any(number > 255 for number in first) or last >= 256 ** (5 - len(numbers)):
        raise AddressError(f"{host!r} is no IPv4 address")
    value = last + sum(number << (8 * (3 - place)) for place, number in enumerate(first))
    return ipaddress.IPv4Address(value)


def _number(label: str) -> int:
    """Return a part of an address as inet_aton reads it: 0x is hexadecimal, a leading 0 octal."""
    if label.startswith("0x"):
        return int(label[2:] or "0", 16)
    return int(label, 8) if len(label) > 1 and label.startswith("0") else int(label)


def _canonical_host(host: str) -> str:
    """Return the one ASCII form of a host; raise AddressError for what is none."""
    host = host.lower().rstrip(".")
    if ":" not in host and not host.isascii():
        try:
            host = idna.encode(host, uts46=True).decode("ascii")
        except idna.IDNAError as error:
            raise AddressError(f"{host!r} is no host name: {error}") from None
    address = literal_address(host) if host else None
    if address is not None:
        return str(address)
    if len(host) > 253 or not _HOST.fullmatch(host):
        raise AddressError(f"{host!r} is no host name")
    return host


def split_allowed(entries: Iterable[str]) -> frozenset[tuple[str, int | None]]:
    """Return BRAIN_FETCH_ALLOW_HOSTS entries as (host, port); None stands for the usual ports.

    Raise ValueError for an entry that is neither `host` nor `host:port` ([::1]:8080 for IPv6).
    """
    found = set()
    for entry in entries:
        match = re.fullmatch(r"\[([0-9a-fA-F:.]+)\](?::(\d{1,5}))?|([^:/\s\[\]@]+)(?::(\d{1,5}))?", entry.strip())
        if match is None:
            raise ValueError(f"{entry!r} is neither host nor host:port")
        port = match[2] or match[4]
        if port is not None and not 0 < int(port) < 65_536:
            raise ValueError(f"{entry!r} names no port between 1 and 65535")
        try:
            found.add((_canonical_host(match[1] or match[3]), int(port) if port else None))
        except AddressError as error:
            raise ValueError(str(error)) from None
    return frozenset(found)


def checked_target(url: str, allow_hosts: frozenset[tuple[str, int | None]] = frozenset()) -> Target:
    """Return where `url` goes, or raise AddressError: the first look, without asking anybody.

    Refused: other schemes than http and https, credentials, ports outside ALLOWED_PORTS, addresses that are not
    public, names that only a house knows, characters that parsers read differently.
    """
    if len(url) > _MAX_URL:
        raise AddressError(f"the URL has {len(url)} characters, {_MAX_URL} are read")
    if re.search(r"[\s\x00-\x20\x7f\\]", url):
        raise AddressError("the URL holds white space, a control character or a backslash")
    try:
        parts = urlsplit(url)
        raw_host, port = parts.hostname, parts.port
    except ValueError as error:
        raise AddressError(f"the URL cannot be read: {error}") from None
    if parts.scheme not in {"http", "https"}:
        raise AddressError(f"the scheme {parts.scheme or '(none)'!r} is not fetched, only http and https")
    if "@" in parts.netloc:
        raise AddressError("the URL carries credentials")
    if not raw_host or "%" in raw_host:
        raise AddressError("the URL has no plain host name")
    if port is None:
        port = 443 if parts.scheme == "https" else 80
    return _checked_host(parts.scheme, raw_host, port, allow_hosts)


def checked_host(host: str, port: int, allow_hosts: frozenset[tuple[str, int | None]] = frozenset()) -> Target:
    """Return the target of a connection to `host` and `port`, or raise AddressError; as `checked_target`."""
    return _checked_host("", host, port, allow_hosts)


def _checked_host(scheme: str, raw: str, port: int, allow_hosts: frozenset[tuple[str, int | None]]) -> Target:
    host = _canonical_host(raw)
    if (host, port) in allow_hosts or ((host, None) in allow_hosts and port in ALLOWED_PORTS):
        return Target(scheme, host, port, allowed=True)
    if port not in ALLOWED_PORTS:
        raise AddressError(f"port {port} is not fetched from, only {', '.join(map(str, sorted(ALLOWED_PORTS)))}")
    address = literal_address(host)
    if address is not None:
        if not is_public(address):
            raise AddressError(f"{address} is not a public address")
    elif "." not in host or _INTERNAL_NAMES.search(host):
        raise AddressError(f"{host!r} is not a public name")
    return Target(scheme, host, port, allowed=False)


async def checked_addresses(target: Target, resolver: Resolver) -> tuple[str, ...]:
    """Resolve `target` once and return the addresses that may be connected to.

    Raise AddressError where any of them is not public (and the host was not opened), OSError where there is none.
    """
    address = literal_address(target.host)
    found = [str(address)] if address is not None else await resolver.resolve(target.host, target.port)
    if not found:
        raise OSError(f"{target.host} has no address")
    if not target.allowed:
        for text in found:
            if not is_public(ipaddress.ip_address(text)):
                raise AddressError(f"{target.host} resolves to {text}, which is not a public address")
    return tuple(found)
