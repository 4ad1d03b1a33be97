"""Export: no second item, no lost edit, nothing shown by itself; then the plain way, in every version of GLPI."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from articles.glpi_export import GlpiExportReport, export_to_glpi
from articles.publish import Publisher
from data.articles import get_article
from data.events import list_events
from data.evidence import EvidenceFiles
from data.extractor import InlineExtractor
from data.glpi import exported_items
from data.glpi_text import decoded, digest_of, mark_line, marked, without_mark
from data.models import ArticleState
from data.store import Store
from research.glpi.client import GlpiClient
from research.glpi.errors import GlpiDenied
from research.glpi.importing import Wanted, run_import
from research.glpi.intake import ImportPolicy
from tests.articles.corpus import KERBEROS
from tests.articles.runs import run
from tests.glpi.rows import CREATE, OWN_USER, PUBLISHFAQ, READ, UPDATE, Row
from tests.glpi.standin import Fault, StandIn

EVA = "person:eva"
TGT = "Kerberos ticket-granting ticket"

Export = Callable[..., Any]


@pytest.fixture
def publisher(store: Store) -> Publisher:
    return Publisher(store, EvidenceFiles(store.home))


@pytest.fixture
def export(store: Store, client: GlpiClient, publisher: Publisher) -> Export:
    async def work(*again: str) -> GlpiExportReport:
        return await export_to_glpi(store, client, publisher, again=again)

    return work


@pytest.fixture
async def article(store: Store, publisher: Publisher) -> str:
    result = await run(store, TGT, "en", KERBEROS)
    assert result.article_id is not None
    assert (await publisher.approve(result.article_id, 1, EVA)).ok
    return result.article_id


async def revised(store: Store, publisher: Publisher, article: str, revision: int = 2) -> None:
    word = "capitals" if revision == 2 else "small letters"
    topic = TGT.upper() if revision == 2 else TGT.lower()
    again = await run(store, topic, "en", KERBEROS, directives=(f"write the topic in {word}",))
    assert (again.article_id, again.revision) == (article, revision)
    assert (await publisher.approve(article, revision, EVA)).ok


async def state(store: Store, article: str) -> ArticleState:
    found = await store.read(get_article, article)
    assert found is not None
    return found.state


def items(glpi: StandIn) -> dict[int, Row]:
    return glpi.house.tables["KnowbaseItem"]


async def test_nothing_is_exported_without_a_person(glpi: StandIn, store: Store, export: Export) -> None:
    assert (await run(store, TGT, "en", KERBEROS)).article_id is not None
    report = await export()
    assert report.document() == GlpiExportReport().document()
    assert items(glpi) == {}


@pytest.mark.parametrize("right", [READ | UPDATE, READ | CREATE | PUBLISHFAQ])
async def test_a_profile_that_cannot_write_drafts_writes_nothing(
    glpi: StandIn, article: str, export: Export, right: int
) -> None:
    glpi.house.profile["knowbase"] = right
    with pytest.raises(GlpiDenied, match="create and to update"):
        await export()
    assert items(glpi) == {}


@pytest.mark.parametrize("action", ["done_then_drop", "500"])
async def test_an_answer_that_never_came_makes_no_second_item(
    glpi: StandIn, store: Store, article: str, export: Export, action: str
) -> None:
    glpi.faults = [Fault("POST KnowbaseItem", action)]
    report = await export()
    assert list(report.failed) == [article]
    assert "nobody knows" in report.failed[article]
    assert await state(store, article) is ArticleState.APPROVED
    report = await export()
    assert len(items(glpi)) == 1
    assert list(report.unchanged or report.created) == [article]
    assert await state(store, article) is ArticleState.PUBLISHED
    assert (await export()).unchanged.keys() == {article}
    assert len(items(glpi)) == 1


async def test_a_link_that_was_never_stored_is_found_by_the_mark(
    glpi: StandIn, store: Store, article: str, export: Export, publisher: Publisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def torn(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("articles.glpi_export._Run._keep", torn)
        with pytest.raises(KeyboardInterrupt):
            await export()
    assert len(items(glpi)) == 1
    assert await store.read(exported_items, glpi.url) == {}
    await revised(store, publisher, article)
    report = await export()
    assert len(items(glpi)) == 1
    assert list(report.updated) == [article], "it is ours, unedited, and a revision behind"


async def test_an_item_found_by_its_mark_that_somebody_edited_is_left(
    glpi: StandIn, store: Store, article: str, export: Export, monkeypatch: pytest.MonkeyPatch
) -> None:
    glpi.faults = [Fault("POST KnowbaseItem", "done_then_drop")]
    await export()
    before = items(glpi)[1]["answer"]
    items(glpi)[1]["answer"] = before + glpi.house.stored("<p>Ask Anna first.</p>")
    edited = items(glpi)[1]["answer"]
    report = await export()
    assert list(report.edited) == [article]
    assert items(glpi)[1]["answer"] == edited


@pytest.mark.parametrize("column", [pytest.param("name", marks=pytest.mark.slow), "answer"])
async def test_an_edit_in_glpi_is_never_overwritten(
    glpi: StandIn, store: Store, article: str, export: Export, publisher: Publisher, column: str
) -> None:
    await export()
    text = decoded(items(glpi)[1][column]).replace("ticket", "Ticket (!)", 1)
    glpi.house.change("KnowbaseItem", 1, **{column: text})
    edited = dict(items(glpi)[1])
    await revised(store, publisher, article)
    report = await export()
    assert list(report.edited) == [article]
    assert items(glpi)[1] == edited
    assert await state(store, article) is ArticleState.APPROVED, "what stands there is not what was approved"
    warned = await store.read(list_events, name_prefix="glpi.exported", limit=10)
    assert (warned[-1].level, warned[-1].payload["edited"]) == ("warning", [article])


async def test_a_deleted_item_comes_back_only_when_asked_for(
    glpi: StandIn, store: Store, article: str, export: Export
) -> None:
    await export()
    glpi.house.purge("KnowbaseItem", 1)
    for _ in range(2):
        assert list((await export()).deleted) == [article]
        assert items(glpi) == {}
    assert list((await export(article)).created) == [article]
    assert len(items(glpi)) == 1


async def test_an_item_that_glpi_would_show_at_once_is_no_success(
    glpi: StandIn, store: Store, article: str, export: Export
) -> None:
    def plugin() -> None:
        glpi.house.add("Entity_KnowbaseItem", knowbaseitems_id=1)

    glpi.faults = [Fault("GET KnowbaseItem/1/", plugin)]
    report = await export()
    assert "shows it to others" in report.failed[article]
    assert await state(store, article) is ArticleState.APPROVED


async def test_a_write_that_does_not_read_back_is_no_success(
    glpi: StandIn, store: Store, article: str, export: Export
) -> None:
    glpi.faults = [Fault(r"GET KnowbaseItem/1\?", lambda: glpi.house.change("KnowbaseItem", 1, answer="<p>cut</p>"))]
    report = await export()
    assert "does not read back" in report.failed[article]
    assert await state(store, article) is ArticleState.APPROVED


async def test_glpi_gone_in_the_middle_ends_the_run_and_is_said(
    glpi: StandIn, store: Store, article: str, export: Export
) -> None:
    glpi.faults = [Fault("GET KnowbaseItem", "500", times=9)]
    report = await export()
    assert "500" in report.stopped
    assert list(report.failed) == [article]
    assert items(glpi) == {}


async def test_a_session_that_ends_between_two_writes(glpi: StandIn, article: str, export: Export) -> None:
    glpi.faults = [Fault("POST KnowbaseItem", "expire")]
    assert list((await export()).created) == [article]
    assert len(items(glpi)) == 1


@pytest.mark.parametrize(
    "version",
    ["9.5.7", pytest.param("10.0.17", marks=pytest.mark.slow), pytest.param("11.0.0", marks=pytest.mark.slow)],
)
async def test_a_draft_of_the_brains_user_that_says_what_was_approved(
    glpi: StandIn, store: Store, article: str, export: Export, publisher: Publisher, version: str
) -> None:
    glpi.house.version = version
    report = await export()
    assert list(report.created.values()) == [glpi.url.replace("apirest.php", "front/knowbaseitem.form.php?id=1")]
    assert report.published == [article]
    assert await state(store, article) is ArticleState.PUBLISHED
    row = items(glpi)[1]
    assert (row["is_faq"], row["users_id"], glpi.house.targets_of(1)) == (0, OWN_USER, 0)
    answer = decoded(row["answer"])
    view = await publisher.show(article)
    plain = re.sub(r"<[^>]+>", "", answer).replace("&#39;", "'").replace("&#34;", '"').replace("&amp;", "&")
    for statement in view.statements:
        assert " ".join(statement.text.split()).split(" `")[0][:40] in plain
    for record, _ in (citation for statement in view.statements for citation in statement.citations):
        address = (record.final_url or record.url).replace("&", "&amp;")
        assert address in answer
    assert set(re.findall(r"<([a-z0-9]+)", answer)) <= {
        *("p", "h2", "h3", "ol", "ul", "li", "a", "code", "pre", "strong", "table", "tbody", "tr", "th", "td")
    }
    mark = marked(answer)
    assert mark is not None
    assert (mark.article_id, mark.revision) == (article, 1)
    before = dict(row)
    assert list((await export()).unchanged) == [article]
    assert items(glpi)[1] == before
    assert glpi.called("PUT") == 0
    await revised(store, publisher, article)
    assert list((await export()).updated) == [article]
    assert len(items(glpi)) == 1
    mark = marked(decoded(items(glpi)[1]["answer"]))
    assert mark is not None
    assert mark.revision == 2
    assert await state(store, article) is ArticleState.PUBLISHED


async def test_what_people_of_glpi_decide_stays(glpi: StandIn, store: Store, article: str, export: Export) -> None:
    await export()
    glpi.house.add("Entity_KnowbaseItem", knowbaseitems_id=1)
    glpi.house.change("KnowbaseItem", 1, is_faq=1)
    assert list((await export()).unchanged) == [article]
    assert (items(glpi)[1]["is_faq"], glpi.house.targets_of(1)) == (1, 1)


async def test_a_mark_removed_by_hand_is_no_edit_of_the_text(
    glpi: StandIn, store: Store, article: str, export: Export
) -> None:
    await export()
    text = without_mark(decoded(items(glpi)[1]["answer"]))
    glpi.house.change("KnowbaseItem", 1, answer=text)
    assert list((await export()).updated) == [article]
    assert marked(decoded(items(glpi)[1]["answer"])) is not None


async def test_a_retired_article_is_named_and_its_item_left(
    glpi: StandIn, store: Store, article: str, export: Export, publisher: Publisher
) -> None:
    await export()
    assert (await publisher.retire(article, EVA)).ok
    report = await export()
    assert list(report.orphaned) == [article]
    assert len(items(glpi)) == 1


async def test_what_was_exported_and_published_there_is_not_imported(
    glpi: StandIn, store: Store, article: str, export: Export, client: GlpiClient
) -> None:
    await export()
    glpi.house.add("Entity_KnowbaseItem", knowbaseitems_id=1)
    glpi.house.article(name="Of a colleague", answer="<p>Some text.</p>")
    report = await run_import(client, store, InlineExtractor(), Wanted(("articles",)), ImportPolicy())
    assert report.articles is not None
    assert (report.articles.added, dict(report.articles.refused)) == (1, {"own_export": 1})


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("<p>a &lt; b</p>", "<p>a < b</p>", True),
        ("<p>a</p>\n<p>b</p>", "<p>a</p><p>b</p>", True),
        ("<p>a&nbsp;b</p>", "<p>a b</p>", True),
        ("<p>a</p>", "<p>b</p>", False),
        ("<p>a</p>", "<h2>a</h2>", False),
        ("<p>a b</p>", "<p>ab</p>", False),
        ('<a href="https://x.example">a</a>', '<a href="https://y.example">a</a>', False),
    ],
)
def test_what_counts_as_the_same_text(one: str, other: str, same: bool) -> None:
    assert (digest_of("t", one) == digest_of("t", other)) is same
    mark = "<p>" + mark_line(marked_example()) + "</p>"
    assert digest_of("t", one) == digest_of("t", one + "\n" + mark)


def marked_example() -> Any:
    from data.glpi_text import OwnMark

    return OwnMark("a_01ARZ3NDEKTSV4RRFFQ69G5FAV", 1, "0123456789abcdef")
