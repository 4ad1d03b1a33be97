"""Whom the brain is in GLPI: user, profile, rights, entity, version ("Get full session", "Get GLPI config")."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from research.glpi.client import GlpiClient
from research.glpi.errors import GlpiDenied, GlpiError, GlpiUnreachable

__all__ = ["Account", "account", "require_writer"]

_READ: Final = 1
_UPDATE: Final = 2
_CREATE: Final = 4
_READALL: Final = 1024  # of tickets, Ticket::READALL
_READFAQ: Final = 2048  # of the knowledge base, KnowbaseItem::READFAQ
_ADMINISTERS: Final = 1024  # KnowbaseItem::KNOWBASEADMIN


@dataclass(frozen=True, slots=True)
class Account:
    """Rights are the bits that GLPI keeps for each subject of a profile."""

    user_id: int
    user: str
    profile: str
    interface: str
    entity: str
    version: str
    ticket: int
    knowbase: int

    @property
    def reads_all_tickets(self) -> bool:
        return bool(self.ticket & _READALL)

    @property
    def reads_own_tickets(self) -> bool:
        return bool(self.ticket & _READ)

    @property
    def reads_articles(self) -> bool:
        return bool(self.knowbase & (_READ | _READFAQ))

    @property
    def sees_all_drafts(self) -> bool:
        return bool(self.knowbase & _ADMINISTERS)

    @property
    def writes_articles(self) -> bool:
        """Without the right to update, GLPI makes whatever a publisher of FAQs adds an FAQ at once."""
        return bool(self.knowbase & _CREATE and self.knowbase & _UPDATE)


async def account(client: GlpiClient) -> Account:
    """Return who we are. Raises GlpiError."""
    session = _object(client, "getFullSession", (await client.get("getFullSession")).body, "session")
    profile = session.get("glpiactiveprofile")
    if not isinstance(profile, dict):
        raise GlpiUnreachable(f"{client.api}/getFullSession: GLPI named no active profile; give the user one")
    try:
        config = _object(client, "getGlpiConfig", (await client.get("getGlpiConfig")).body, "cfg_glpi")
    except GlpiError:
        config = {}
    return Account(
        user_id=_number(session.get("glpiID")),
        user=str(session.get("glpiname") or ""),
        profile=str(profile.get("name") or ""),
        interface=str(profile.get("interface") or ""),
        entity=str(session.get("glpiactive_entity_name") or ""),
        version=str(config.get("version") or ""),
        ticket=_number(profile.get("ticket")),
        knowbase=_number(profile.get("knowbase")),
    )


def require_writer(who: Account) -> None:
    """Raise GlpiDenied where drafts cannot be written, or would be published by being written."""
    if not who.user_id or not who.writes_articles:
        raise GlpiDenied(
            f"the profile {who.profile!r} may not write drafts; give it the rights to create and to update in the "
            "knowledge base (GLPI: Administration > Profiles, Tools)"
        )


def _object(client: GlpiClient, path: str, body: object, name: str) -> Mapping[str, Any]:
    found = body.get(name) if isinstance(body, dict) else None
    if not isinstance(found, dict):
        raise GlpiUnreachable(f"{client.api}/{path}: GLPI sent something else than it documents")
    return found


def _number(value: object) -> int:
    if isinstance(value, bool | int):
        return int(value)
    return int(value) if isinstance(value, str) and re.fullmatch(r"\d{1,9}", value) else 0
