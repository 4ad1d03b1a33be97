"""Who may ask: Host and Origin checked against DNS rebinding, a token where the bind is not loopback (spec 09, 10)."""

from __future__ import annotations

import hmac
import ipaddress
from dataclasses import dataclass
from urllib.parse import urlsplit

from brain.config import ConfigError

__all__ = ["AccessPolicy", "access_policy", "is_loopback"]

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class AccessPolicy:
    """`hosts` are the names a request may carry in Host and Origin; `token` is asked of everybody if not open."""

    hosts: frozenset[str]
    token: str
    open_reading: bool

    def refusal(self, *, host: str, origin: str | None, authorization: str | None) -> tuple[int, str] | None:
        """Return (HTTP status, reason) for a request that must not be served, else None."""
        if _hostname(f"//{host}") not in self.hosts:
            return 421, f"This service answers to {', '.join(sorted(self.hosts))}, not to {host[:100]!r}."
        if origin is not None and _hostname(origin) not in self.hosts:
            return 403, "Requests from pages of another origin are refused."
        if self.open_reading:
            return None
        scheme, _, given = (authorization or "").partition(" ")
        if scheme.lower() != "bearer" or not hmac.compare_digest(given.encode(), self.token.encode()):
            return 401, "A bearer token is needed: Authorization: Bearer BRAIN_API_TOKEN."
        return None


def access_policy(host: str, token: str) -> AccessPolicy:
    """Return who may ask at this bind; raise ConfigError for an open address without a token."""
    loopback = is_loopback(host)
    if not loopback and not token:
        raise ConfigError(
            f"BRAIN_API_HOST={host} is reachable from other machines and BRAIN_API_TOKEN is not set; "
            "set a token of at least 16 characters or bind to 127.0.0.1."
        )
    if token and len(token) < 16:
        raise ConfigError("BRAIN_API_TOKEN is shorter than 16 characters; set a longer one.")
    return AccessPolicy(hosts=LOOPBACK_NAMES | {host}, token=token, open_reading=loopback)


def is_loopback(host: str) -> bool:
    """Tell whether a bind address is reachable from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _hostname(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
