"""What `brain doctor` looks at in GLPI: the way there, both tokens, rights, and what the last import left open.

Not connected, it says nothing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Final
from urllib.parse import urlsplit

from brain.config import Settings
from brain.doctor_checks import Check
from brain.policies import glpi_kinds, glpi_policy
from data.state import get_state
from data.store import Store
from research.glpi.account import Account, account
from research.glpi.articles import TARGETS
from research.glpi.client import GlpiClient
from research.glpi.errors import GlpiDenied, GlpiError
from research.glpi.importing import LAST
from research.glpi.standing import load_standing

__all__ = ["glpi_checks"]

_SUBJECT: Final = "glpi"
_PROFILES: Final = "in GLPI: Administration > Profiles"
_LOCAL: Final = frozenset({"127.0.0.1", "::1", "localhost"})


async def glpi_checks(settings: Settings, store: Store) -> AsyncIterator[Check]:
    """Yield the checks; nothing where GLPI is not connected."""
    policy = glpi_policy(settings)
    if policy is None:
        return
    async with GlpiClient(replace(policy, tries=2, timeout_s=20.0)) as client:
        parts = urlsplit(client.api)
        if parts.scheme == "http" and parts.hostname not in _LOCAL:
            yield Check(_SUBJECT, "note", "tokens and texts travel unencrypted", "use https:// in BRAIN_GLPI_URL")
        try:
            who = await account(client)
        except GlpiDenied as error:
            yield Check(_SUBJECT, "fault", str(error))
            return
        except GlpiError as error:
            yield Check(_SUBJECT, "fault", str(error), "" if "see BRAIN_GLPI_URL" in str(error) else "see its own log")
            return
        version = f"GLPI {who.version}" if who.version else "GLPI"
        said = f"{client.api} answers: {version}, user {who.user!r}, profile {who.profile!r}, entity {who.entity!r}"
        yield Check(_SUBJECT, "well", said)
        kinds = glpi_kinds(settings)
        if "tickets" in kinds:
            async for check in _tickets(client, who):
                yield check
        if "articles" in kinds:
            yield await _articles(client, who)
        yield _export(who)
    async for check in _left_open(settings, store, client.api):
        yield check


async def _tickets(client: GlpiClient, who: Account) -> AsyncIterator[Check]:
    if not (who.reads_all_tickets or who.reads_own_tickets):
        todo = f"give the profile {who.profile!r} the right to see all tickets ({_PROFILES}, Assistance)"
        yield Check(_SUBJECT, "fault", "the user may not read tickets", todo)
        return
    try:
        answer = await client.get("Ticket", {"range": "0-0", "only_id": "true"})
    except GlpiError as error:
        yield Check(_SUBJECT, "fault", f"tickets cannot be read: {error}")
        return
    total = str(answer.headers.get("content-range", "")).rpartition("/")[2] or "0"
    if not who.reads_all_tickets:
        todo = f"for those of others give the right to see all tickets ({_PROFILES}, Assistance)"
        yield Check(_SUBJECT, "note", f"{total} tickets are shown, the user's own alone", todo)
    else:
        yield Check(_SUBJECT, "well", f"{total} tickets are shown")
    for kind, name in (("ITILFollowup", "public follow-ups"), ("ITILSolution", "solutions (their own tickets')")):
        try:
            await client.get(kind, {"range": "0-0", "only_id": "true"})
        except GlpiError as error:
            todo = f"give the right to see {name} ({_PROFILES}, Assistance); tickets are not imported without"
            yield Check(_SUBJECT, "fault", f"{name} cannot be read: {error}", todo)


async def _articles(client: GlpiClient, who: Account) -> Check:
    if not who.reads_articles:
        todo = f"give the profile {who.profile!r} the right to read the knowledge base ({_PROFILES}, Tools)"
        return Check(_SUBJECT, "fault", "the user may not read the knowledge base", todo)
    try:
        for kind in TARGETS:
            await client.get(kind, {"range": "0-0"})
    except GlpiError as error:
        return Check(_SUBJECT, "fault", f"whom articles are shown to cannot be read: {error}")
    if who.sees_all_drafts:
        todo = f"a profile that does not administer it sees what is shown, and no more ({_PROFILES}, Tools)"
        said = (
            "the user administers the knowledge base: articles shown to groups or profiles of all entities are left out"
        )
        return Check(_SUBJECT, "note", said, todo)
    return Check(_SUBJECT, "well", "the knowledge base can be read")


def _export(who: Account) -> Check:
    if who.writes_articles:
        return Check(_SUBJECT, "well", "drafts can be written into the knowledge base")
    todo = (
        f"for `brain glpi export`, give the rights to create and to update in the knowledge base ({_PROFILES}, Tools)"
    )
    return Check(_SUBJECT, "note", "the user may not write drafts into the knowledge base", todo)


async def _left_open(settings: Settings, store: Store, api: str) -> AsyncIterator[Check]:
    """Look at what imports left for a person."""
    last = await store.read(get_state, LAST)
    if isinstance(last, dict) and last.get("error"):
        yield Check(_SUBJECT, "fault", f"the last import failed ({last['at'][:19]} UTC): {last['error']}")
    for kind, name in (("Ticket", "tickets"), ("KnowbaseItem", "articles")):
        held = (await load_standing(store, kind, api)).held_back
        if held:
            todo = "if that is right: `brain glpi import --full --confirm-removals`"
            yield Check(_SUBJECT, "note", f"{held} {name} are gone from GLPI at once and were kept", todo)
    if settings.glpi_import != "none" and not settings.learning:
        yield Check(_SUBJECT, "note", "nothing is imported while learning is off", "set BRAIN_LEARNING=true")
