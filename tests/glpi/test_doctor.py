"""`brain doctor` and GLPI: each thing that is missing by its name, what to do, and no token anywhere."""

from __future__ import annotations

import pytest

from brain.config import load_settings
from brain.doctor_checks import Check
from brain.doctor_glpi import glpi_checks
from data.state import set_state
from data.store import Store
from research.glpi.importing import LAST
from tests.glpi.rows import CREATE, KNOWBASEADMIN, READ, READALL, UPDATE
from tests.glpi.standin import APP_TOKEN, USER_TOKEN, Fault, StandIn


async def look(store: Store, url: str, **other: str) -> list[Check]:
    environment = {"BRAIN_GLPI_URL": url, "BRAIN_GLPI_APP_TOKEN": APP_TOKEN, "BRAIN_GLPI_USER_TOKEN": USER_TOKEN}
    settings, _ = load_settings(environment={**environment, **other})
    checks = [check async for check in glpi_checks(settings, store)]
    said = " ".join(f"{check.message} {check.todo}" for check in checks)
    assert APP_TOKEN not in said
    assert USER_TOKEN not in said
    return checks


def worst(checks: list[Check]) -> list[str]:
    return [f"{check.verdict}: {check.message} -> {check.todo}" for check in checks if check.verdict != "well"]


async def test_not_connected_it_says_nothing_and_asks_nobody(store: Store) -> None:
    settings, _ = load_settings(environment={})
    assert [check async for check in glpi_checks(settings, store)] == []


async def test_all_well(glpi: StandIn, store: Store) -> None:
    for _ in range(3):
        glpi.house.ticket(name="t")
    checks = await look(store, glpi.url)
    assert worst(checks) == []
    said = " ".join(check.message for check in checks)
    for part in ("GLPI 10.0.17", "'brain'", "'Technician'", "'Root entity'", "3 tickets", "can be read", "drafts"):
        assert part in said
    assert glpi.sessions == {}


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("BRAIN_GLPI_USER_TOKEN", "wrong", "ERROR_GLPI_LOGIN_USER_TOKEN"),
        ("BRAIN_GLPI_APP_TOKEN", "wrong", "ERROR_WRONG_APP_TOKEN_PARAMETER"),
        ("BRAIN_GLPI_APP_TOKEN", "", "ERROR_APP_TOKEN_PARAMETERS_MISSING"),
        ("BRAIN_GLPI_URL", "http://127.0.0.1:9/apirest.php", "cannot be reached"),
    ],
)
async def test_what_keeps_it_from_answering_is_one_fault(
    glpi: StandIn, store: Store, name: str, value: str, expected: str
) -> None:
    found = worst(await look(store, glpi.url, **{name: value}))
    assert len(found) == 1
    assert found[0].startswith("fault")
    assert expected in found[0]
    assert name in found[0]


async def test_another_page_in_its_place(glpi: StandIn, store: Store) -> None:
    glpi.faults = [Fault("GET", "html", times=9)]
    found = worst(await look(store, glpi.url))
    assert len(found) == 1
    assert "BRAIN_GLPI_URL" in found[0]


@pytest.mark.parametrize(
    ("rights", "verdict", "expected"),
    [
        ({"ticket": 0}, "fault", "may not read tickets"),
        ({"ticket": READ}, "note", "the user's own alone"),
        ({"followup": 0}, "fault", "public follow-ups cannot be read"),
        ({"ticket": READALL}, "fault", "solutions (their own tickets') cannot be read"),
        ({"knowbase": READ | CREATE | UPDATE | KNOWBASEADMIN}, "note", "administers the knowledge base"),
        ({"knowbase": 0}, "fault", "may not read the knowledge base"),
        ({"knowbase": READ | CREATE}, "note", "may not write drafts"),
        ({"knowbase": READ | UPDATE}, "note", "may not write drafts"),
    ],
)
async def test_each_missing_right_is_named_with_what_to_do(
    glpi: StandIn, store: Store, rights: dict[str, int], verdict: str, expected: str
) -> None:
    glpi.house.profile.update(rights)
    found = [line for line in worst(await look(store, glpi.url)) if expected in line]
    assert len(found) == 1
    assert found[0].startswith(verdict)
    assert "Administration > Profiles" in found[0]


async def test_rights_that_are_not_needed_are_not_asked_for(glpi: StandIn, store: Store) -> None:
    glpi.house.profile = {"knowbase": READ | CREATE | UPDATE, "interface": "central"}
    assert worst(await look(store, glpi.url, BRAIN_GLPI_IMPORT="articles")) == []
    glpi.house.profile = {"ticket": READ | READALL, "followup": READ}
    found = worst(await look(store, glpi.url, BRAIN_GLPI_IMPORT="tickets"))
    assert len(found) == 1
    assert "may not write drafts" in found[0]


async def test_what_imports_left_open(glpi: StandIn, store: Store) -> None:
    standing = {"api": glpi.url, "watermark": "2026-01-01 00:00:00", "held_back": 31}
    await store.write(set_state, "glpi.sync.Ticket", standing)
    await store.write(set_state, LAST, {"at": "2026-01-01T00:00:00.000000Z", "error": "it was down", "more": False})
    found = worst(await look(store, glpi.url, BRAIN_LEARNING="false"))
    assert any("31 tickets" in line and "--confirm-removals" in line for line in found)
    assert any("it was down" in line for line in found)
    assert any("BRAIN_LEARNING=true" in line for line in found)
