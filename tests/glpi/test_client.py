"""The client: what goes wrong first, then sessions, pages, and lists that change while they are read."""

from __future__ import annotations

import asyncio
import logging
import ssl

import pytest

from research.glpi.address import item_page, normalised_api
from research.glpi.client import GlpiClient, GlpiPolicy
from research.glpi.errors import (
    GlpiDenied,
    GlpiError,
    GlpiNotFound,
    GlpiRefused,
    GlpiUncertain,
    GlpiUnreachable,
)
from research.glpi.listing import Place, item, listing
from tests.glpi.conftest import Naps, policy
from tests.glpi.standin import APP_TOKEN, USER_TOKEN, Fault, StandIn
from tests.research.h2page import CERTIFICATE


async def ids(client: GlpiClient, path: str = "Ticket", **options: object) -> list[int]:
    return [row["id"] async for page in listing(client, path, **options) for row in page.rows]  # type: ignore[arg-type]


async def failing(client: GlpiClient, path: str = "Ticket/1") -> GlpiError:
    with pytest.raises(GlpiError) as caught:
        await client.get(path)
    said = str(caught.value)
    assert client.api in said
    assert USER_TOKEN not in said
    assert APP_TOKEN not in said
    return caught.value


@pytest.mark.parametrize(
    ("user", "app", "code", "setting"),
    [
        ("wrong", APP_TOKEN, "ERROR_GLPI_LOGIN_USER_TOKEN", "BRAIN_GLPI_USER_TOKEN"),
        (USER_TOKEN, "", "ERROR_APP_TOKEN_PARAMETERS_MISSING", "BRAIN_GLPI_APP_TOKEN"),
        (USER_TOKEN, "wrong", "ERROR_WRONG_APP_TOKEN_PARAMETER", "BRAIN_GLPI_APP_TOKEN"),
    ],
)
async def test_a_wrong_token_is_named_by_its_setting(
    glpi: StandIn, user: str, app: str, code: str, setting: str
) -> None:
    async with GlpiClient(policy(glpi, user_token=user, app_token=app)) as client:
        error = await failing(client)
    assert isinstance(error, GlpiDenied)
    assert error.code == code
    assert setting in str(error)
    assert "wrong" not in str(error).replace("app_token seems wrong", "")


async def test_a_server_that_is_not_there_is_tried_again_and_named(naps: Naps) -> None:
    async with GlpiClient(GlpiPolicy("http://127.0.0.1:9/apirest.php", USER_TOKEN), sleep=naps) as client:
        assert isinstance(await failing(client), GlpiUnreachable)
    assert naps.taken == [1.0, 2.0, 4.0]


async def test_maintenance_pages_and_server_errors(glpi: StandIn, client: GlpiClient, naps: Naps) -> None:
    glpi.house.ticket(name="x")
    glpi.faults = [Fault("GET Ticket/1", "500"), Fault("GET Ticket/1", "503", headers={"Retry-After": "7"})]
    assert (await item(client, "Ticket", 1))["name"] == "x"
    assert naps.taken == [1.0, 7.0]
    glpi.faults = [Fault("GET Ticket/1", "html")]
    error = await failing(client)
    assert isinstance(error, GlpiUnreachable)
    assert "text/html" in str(error)
    assert "BRAIN_GLPI_URL" in str(error)
    glpi.faults = [Fault("GET Ticket/1", "502", times=9)]
    assert (await failing(client)).status == 502
    glpi.faults = [Fault("GET Ticket/1", "429", headers={"Retry-After": "3600"})]
    before = len(naps.taken)
    assert isinstance(await failing(client), GlpiUnreachable)
    assert len(naps.taken) == before, "nobody waits an hour inside a call"
    glpi.faults = [Fault("GET Ticket/1", "302", headers={"Location": "https://elsewhere.example/apirest.php?t=1"})]
    error = await failing(client)
    assert "'https://elsewhere.example/apirest.php'" in str(error)
    assert glpi.called("GET Ticket/1") == 3 + 1 + 4 + 1 + 1


async def test_a_slow_answer_ends_at_its_deadline(glpi: StandIn, naps: Naps) -> None:
    glpi.house.ticket(name="x")
    async with GlpiClient(policy(glpi, timeout_s=0.2, tries=2), sleep=naps) as client:
        glpi.faults = [Fault("GET Ticket", "slow", times=2, seconds=0.5)]
        assert "0.2 s" in str(await failing(client))


async def test_an_answer_too_long_is_not_read(glpi: StandIn) -> None:
    glpi.house.ticket(name="x", content="<p>" + "word " * 10_000 + "</p>")
    async with GlpiClient(policy(glpi, max_body=20_000)) as client:
        assert "longer than 20000 bytes" in str(await failing(client))


async def test_pages_too_long_are_asked_for_smaller(glpi: StandIn) -> None:
    for _ in range(12):
        glpi.house.ticket(name="x", content="<p>" + "word " * 1_000 + "</p>")
    async with GlpiClient(policy(glpi, max_body=20_000)) as client:
        assert await ids(client, size=10) == list(range(1, 13))
        glpi.house.change("Ticket", 5, content="<p>" + "word " * 10_000 + "</p>")
        with pytest.raises(GlpiUnreachable, match="longer than 20000 bytes"):
            await ids(client, size=10)


async def test_a_certificate_that_nobody_vouches_for_is_not_trusted(glpi: StandIn, naps: Naps) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE, CERTIFICATE.with_suffix(".key"))
    glpi.encrypt(context)
    async with GlpiClient(GlpiPolicy(glpi.url, USER_TOKEN, APP_TOKEN), sleep=naps) as client:
        error = await failing(client)
    assert "certificate is not trusted" in str(error)
    assert (naps.taken, glpi.calls) == ([], []), "no token was sent, and it was not tried again"


async def test_missing_items_missing_rights_and_bad_requests(glpi: StandIn, client: GlpiClient) -> None:
    assert isinstance(await failing(client, "Ticket/99"), GlpiNotFound)
    assert isinstance(await failing(client, "Nonsense/1"), GlpiRefused)
    glpi.house.profile["ticket"] = 0
    error = await failing(client, "Ticket")
    assert isinstance(error, GlpiDenied)
    assert error.code == "ERROR_RIGHT_MISSING"
    glpi.enabled = False
    assert "API disabled" in str(await failing(client, "Ticket"))


async def test_a_session_that_ends_is_opened_once_more_and_closed_at_the_end(glpi: StandIn, naps: Naps) -> None:
    for number in range(7):
        glpi.house.ticket(name=f"t{number}")
    async with GlpiClient(policy(glpi), sleep=naps) as client:
        glpi.faults = [Fault("GET Ticket\\?", "expire", skip=1)]
        assert await ids(client, size=3) == [1, 2, 3, 4, 5, 6, 7]
        assert glpi.called("initSession") == 2
        glpi.faults = [Fault("GET Ticket", "expire", times=2)]
        assert (await failing(client)).code == "ERROR_SESSION_TOKEN_INVALID"
    assert glpi.sessions == {}
    async with GlpiClient(policy(glpi)) as client:
        await ids(client)
        assert len(glpi.sessions) == 1
    assert glpi.sessions == {}
    assert naps.taken == []


async def test_calls_beside_each_other_open_one_session(glpi: StandIn, client: GlpiClient) -> None:
    for _ in range(8):
        glpi.house.ticket(name="t")
    await asyncio.gather(*(item(client, "Ticket", number) for number in range(1, 9)))
    assert glpi.called("initSession") == 1
    glpi.sessions.clear()
    await asyncio.gather(*(item(client, "Ticket", number) for number in range(1, 9)))
    assert glpi.called("initSession") == 2


async def test_a_body_with_an_error_also_closes_the_session(glpi: StandIn) -> None:
    with pytest.raises(RuntimeError, match="mine"):
        async with GlpiClient(policy(glpi)) as client:
            await ids(client)
            raise RuntimeError("mine")
    assert glpi.sessions == {}


async def test_all_entities_are_seen_not_the_default_one(glpi: StandIn, client: GlpiClient) -> None:
    glpi.house.default_entity = 1
    glpi.house.ticket(name="root", entities_id=0)
    glpi.house.ticket(name="branch", entities_id=1)
    assert await ids(client) == [1, 2]


async def test_also_of_a_user_who_has_no_right_on_the_root(glpi: StandIn, client: GlpiClient) -> None:
    glpi.house.entities = {1: "Root entity > A", 2: "Root entity > B"}
    glpi.house.default_entity = 1
    glpi.house.ticket(name="a", entities_id=1)
    glpi.house.ticket(name="b", entities_id=2)
    assert await ids(client) == [1, 2]


@pytest.mark.parametrize("count", [0, 1, 4, 5, 6, 10, 11])
async def test_every_row_once_whatever_the_pages(glpi: StandIn, client: GlpiClient, count: int) -> None:
    for _ in range(count):
        glpi.house.ticket(name="t")
    assert await ids(client, size=5) == list(range(1, count + 1))
    assert await ids(client, size=5, newest_first=True) == list(range(count, 0, -1))


async def test_a_list_that_shrinks_loses_no_row(glpi: StandIn, client: GlpiClient) -> None:
    for _ in range(20):
        glpi.house.ticket(name="t")

    def purge() -> None:
        for number in (1, 2, 5):
            glpi.house.tables["Ticket"].pop(number, None)

    glpi.faults = [Fault("GET Ticket", purge, skip=2)]
    assert await ids(client, size=5) == list(range(1, 21))
    left = [number for number in glpi.house.tables["Ticket"] if number < 19]
    glpi.faults = [Fault("GET Ticket", lambda: [glpi.house.purge("Ticket", number) for number in left], skip=1)]
    seen = await ids(client, size=5)
    assert set(seen) >= {19, 20}
    assert len(seen) == len(set(seen))


async def test_a_row_modified_meanwhile_hides_no_other(glpi: StandIn, client: GlpiClient) -> None:
    for number in range(1, 13):
        glpi.house.ticket(name="t", date_mod=f"2026-01-{number:02} 08:00:00")
    glpi.faults = [Fault("GET Ticket", lambda: glpi.house.change("Ticket", 2, name="new"), skip=1)]
    seen = await ids(client, size=4, newest_first=True)
    assert len(seen) == len(set(seen))
    # What moved to the front while it was read is the next pass's: its date is newer than everything read.
    assert set(seen) == set(range(1, 13)) - {2}


async def test_a_total_too_high_lengthens_no_list_and_one_too_low_is_not_believed(
    glpi: StandIn, client: GlpiClient
) -> None:
    for _ in range(9):
        glpi.house.ticket(name="t")
    glpi.faults = [Fault("GET Ticket", "total", times=99, seconds=40)]
    assert await ids(client, size=4) == list(range(1, 10))
    glpi.faults = [Fault("GET Ticket", "total", times=999, seconds=-6)]
    with pytest.raises(GlpiUnreachable, match="changes faster"):
        await ids(client, size=4)  # told of fewer rows than it was shown: nothing is known of the rest


async def test_an_item_with_several_targets_is_counted_more_often_than_it_is_listed(
    glpi: StandIn, client: GlpiClient
) -> None:
    first = glpi.house.article(name="a")
    for _ in range(3):
        glpi.house.add("Group_KnowbaseItem", knowbaseitems_id=first)
    glpi.house.article(name="b")
    assert await ids(client, "KnowbaseItem", size=2) == [1, 2]


async def test_reading_goes_on_where_it_was_left_also_after_removals(glpi: StandIn, client: GlpiClient) -> None:
    for _ in range(12):
        glpi.house.ticket(name="t")
    first = await anext(listing(client, "Ticket", size=5))
    assert first.place == Place(5, 5)
    for number in (1, 2):
        glpi.house.purge("Ticket", number)
    assert await ids(client, size=5, place=first.place) == [6, 7, 8, 9, 10, 11, 12]


async def test_rows_without_ids_and_bodies_that_are_no_lists_are_errors(glpi: StandIn, client: GlpiClient) -> None:
    glpi.house.ticket(name="x")
    glpi.house.tables["Ticket"][1]["id"] = "7"
    assert await ids(client) == [7], "some drivers of PHP give numbers as text"
    glpi.house.tables["Ticket"][1]["id"] = None
    with pytest.raises(GlpiUnreachable, match="without an id"):
        await ids(client)


@pytest.mark.parametrize("action", ["done_then_drop", "drop", "500"])
async def test_a_write_is_never_sent_twice(glpi: StandIn, client: GlpiClient, action: str) -> None:
    await client.get("getActiveProfile")
    glpi.faults = [Fault("POST KnowbaseItem", action)]
    with pytest.raises(GlpiUncertain):
        await client.post("KnowbaseItem", {"input": {"name": "x", "answer": "<p>y</p>"}})
    assert glpi.called("POST KnowbaseItem") == 1
    assert len(glpi.house.tables["KnowbaseItem"]) == (action == "done_then_drop")


async def test_a_write_turned_down_unread_is_sent_again(glpi: StandIn, client: GlpiClient, naps: Naps) -> None:
    await client.get("getActiveProfile")
    glpi.faults = [Fault("POST KnowbaseItem", "503"), Fault("POST KnowbaseItem", "expire")]
    answer = await client.post("KnowbaseItem", {"input": {"name": "x", "answer": "<p>y</p>"}})
    assert answer.status == 201
    assert len(glpi.house.tables["KnowbaseItem"]) == 1
    with pytest.raises(GlpiRefused, match="ERROR_BAD_ARRAY"):
        await client.post("KnowbaseItem", {"input": "x"})
    assert len(naps.taken) == 1


async def test_no_token_is_logged_or_shown(glpi: StandIn, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        async with GlpiClient(policy(glpi)) as client:
            await ids(client)
            session = next(iter(glpi.sessions))
            shown = repr(policy(glpi)) + repr(client) + caplog.text
    shown += caplog.text
    for secret in (USER_TOKEN, APP_TOKEN, session):
        assert secret not in shown


@pytest.mark.parametrize(
    ("given", "api"),
    [
        ("https://glpi.example.org/apirest.php", "https://glpi.example.org/apirest.php"),
        ("https://glpi.example.org/", "https://glpi.example.org/apirest.php"),
        ("https://example.org/glpi", "https://example.org/glpi/apirest.php"),
        ("https://example.org/glpi/apirest.php/initSession/", "https://example.org/glpi/apirest.php"),
        ("https://example.org/glpi/api/", "https://example.org/glpi/api"),
        ("https://example.org/api.php/v1", "https://example.org/api.php/v1"),
        ("http://[::1]:8080", "http://[::1]:8080/apirest.php"),
    ],
)
def test_addresses_that_are_taken(given: str, api: str) -> None:
    assert normalised_api(given) == api
    assert normalised_api(api) == api


@pytest.mark.parametrize(
    "given",
    ["", "glpi", "ftp://x/apirest.php", "https://u:p@x/apirest.php", "https://x/?a=1", "http://", "http://x:y/"],
)
def test_addresses_that_are_not(given: str) -> None:
    with pytest.raises(ValueError, match=r"glpi\.example\.org"):
        normalised_api(given)


def test_the_page_of_an_item() -> None:
    assert (
        item_page("https://example.org/glpi/apirest.php", "Ticket", 12)
        == "https://example.org/glpi/front/ticket.form.php?id=12"
    )
    assert (
        item_page("https://example.org/api", "KnowbaseItem", 3)
        == "https://example.org/front/knowbaseitem.form.php?id=3"
    )
