"""Approved articles as an Obsidian vault, a web site and JSON, and what changed between two revisions."""

from __future__ import annotations

import html
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from articles.export import ExportFormat, ExportItem, OtherFormat
from articles.export_html import html_page
from articles.publish import Publisher, UnknownArticle
from articles.types import Article as Content
from articles.types import Citation, Claim, Paragraph, Section, SectionName
from data.article_links import article_links
from data.articles import get_article
from data.evidence import EvidenceFiles
from data.models import ArticleState, ArticleType
from data.schema import article, edge, node, research_task
from data.store import Store
from data.tx import Tx
from tests.articles.corpus import KERBEROS, NGINX, make
from tests.articles.runs import run

EVA = "person:eva"
TGT = "Kerberos ticket-granting ticket"
RENEWAL = "Let's-Encrypt-Zertifikat unter nginx erneuern"


@pytest.fixture
def publisher(store: Store) -> Publisher:
    return Publisher(store, EvidenceFiles(store.home))


async def approved(store: Store, publisher: Publisher, topic: str, names: tuple[str, ...], language: str = "en") -> str:
    result = await run(store, topic, language, names)
    assert result.article_id is not None, result
    assert (await publisher.approve(result.article_id, 1, EVA)).ok
    return result.article_id


def connect(tx: Tx, first: str, second: str) -> None:
    """Let both articles come from research on nodes that a relation joins."""
    moment = tx.now
    for number, (label, owner) in enumerate((("Ticket lifetime | limits", first), ("Gateway [errors]", second))):
        tx.conn.execute(
            node.insert().values(
                id=f"n_{number}", kind="note", label=label, label_key=label, body="", language="en",
                source_uri=f"t:{number}", content_hash=label, category="", meta={}, active=True, created_at=moment,
                updated_at=moment, version=1,
            )
        )  # fmt: skip
        tx.conn.execute(
            research_task.insert().values(
                id=f"t_{number}", topic=label, seeds=[f"n_{number}"], questions=["?"], article_type=None, priority=1,
                state="completed", origins=["manual"], kind="asked", dedupe_key=str(number), language="en", attempts=1,
                phase="", progress={}, evidence_count=0, created_at=moment, updated_at=moment, version=1,
            )
        )  # fmt: skip
        tx.conn.execute(article.update().where(article.c.id == owner).values(task_id=f"t_{number}"))
    tx.conn.execute(
        edge.insert().values(
            id="e_1", source_id="n_0", target_id="n_1", kind="relation", relation_type="part_of", weight=1.0, meta={},
            active=True, created_at=moment, updated_at=moment,
        )
    )  # fmt: skip


class Texts(HTMLParser):
    """The visible text and the addresses of a page, and whether its tags close."""

    VOID = frozenset({"meta", "link", "input"})

    def __init__(self) -> None:
        super().__init__()
        self.text: list[str] = []
        self.hrefs: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)
        self.hrefs += [value or "" for name, value in attrs if name in {"href", "src"}]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


async def test_a_vault_links_what_relations_join(store: Store, publisher: Publisher, tmp_path: Path) -> None:
    first = await approved(store, publisher, TGT, KERBEROS)
    second = await approved(store, publisher, RENEWAL, NGINX, "de")
    await store.write(connect, first, second)
    report = await publisher.export(tmp_path / "vault", ExportFormat.OBSIDIAN)
    assert len(report.written) == 2
    one, other = sorted(report.written, key=lambda name: not name.endswith(f"{first[-8:].lower()}.md"))
    text = (tmp_path / "vault" / one).read_text(encoding="utf-8")
    assert text.startswith("---\n")
    assert "\ntags: [knowledge-base, " in text.partition("\n---\n")[0]
    (link,) = re.findall(r"\[\[([^\]|]+)\|([^\]]+)\]\](.*)", text)
    assert f"{link[0]}.md" == other
    assert "**part of**" in link[2]
    assert (tmp_path / "vault" / other).read_text(encoding="utf-8").count("[[") == 1
    again = await publisher.export(tmp_path / "vault", ExportFormat.OBSIDIAN)
    assert (again.written, again.unchanged) == ((), tuple(sorted(report.written)))


async def test_a_withdrawn_relation_links_nothing(store: Store, publisher: Publisher) -> None:
    first = await approved(store, publisher, TGT, KERBEROS)
    second = await approved(store, publisher, RENEWAL, NGINX, "de")
    await store.write(connect, first, second)
    both = [found for one in (first, second) if (found := await store.read(get_article, one)) is not None]
    links = await store.read(article_links, both)
    assert {(link.first, link.second, link.relation) for link in links} == {
        (first, second, "part_of"),
        (second, first, "part_of"),
    }
    await store.write(lambda tx: tx.conn.execute(edge.update().values(active=False)))
    assert await store.read(article_links, both) == []


async def test_a_site_opens_from_the_file_system(store: Store, publisher: Publisher, tmp_path: Path) -> None:
    first = await approved(store, publisher, TGT, KERBEROS)
    second = await approved(store, publisher, RENEWAL, NGINX, "de")
    await store.write(connect, first, second)
    site = tmp_path / "site"
    report = await publisher.export(site, ExportFormat.HTML)
    pages = [name for name in report.written if name.endswith(".html") and name != "index.html"]
    assert len(pages) == 2
    assert {"index.html", "search-index.js", "search.js", "style.css"} <= set(report.written)
    view = await publisher.show(first)
    for name in (*pages, "index.html"):
        page = Texts()
        page.feed((site / name).read_text(encoding="utf-8"))
        assert page.open == []
        for address in page.hrefs:
            if not address.startswith(("http://", "https://", "#")):
                assert (site / address).is_file(), f"{name} leads to {address}, which is not there"
    own = next(name for name in pages if name.endswith(f"{first[-8:].lower()}.html"))
    page = Texts()
    page.feed((site / own).read_text(encoding="utf-8"))
    shown = " ".join("".join(page.text).split())
    for statement in view.statements:
        assert " ".join(statement.text.replace("`", "").split()) in shown.replace("`", "")
        for _, citation in statement.citations:
            assert " ".join(citation.quote.split()) in shown
    index = json.loads((site / "search-index.js").read_text(encoding="utf-8").partition("= ")[2].rstrip(";\n"))
    assert sorted(entry["file"] for entry in index) == sorted(pages)


def test_what_evidence_says_is_never_markup() -> None:
    source = make(
        "Use <script>alert(1)</script> & <b>this</b>.", publisher="<i>Evil</i>", title="<b>Bold</b>",
        url="javascript:alert(1)",
    )  # fmt: skip
    claim = Claim("Use <script>alert(1)</script> & `a<b>` with </details>.", (Citation(source, 0, 30),))
    section = Section(SectionName.DEFINITION, (Paragraph((claim,)),))
    content = Content(ArticleType.CONCEPT, "x", "en", "<b>Title</b>", (claim,), (), (section,))
    record = source.evidence
    item = ExportItem("a_1", 1, ArticleState.APPROVED, content, "", {record.id: record})
    page = html_page(item, {}).decode()
    for mark in ("<script", "<b>", "<i>", 'href="javascript:'):
        assert mark not in page
    assert html.escape("<script>alert(1)</script>") in page
    assert page.count("</details>") == 1


async def test_json_holds_every_citation(store: Store, publisher: Publisher, tmp_path: Path) -> None:
    first = await approved(store, publisher, TGT, KERBEROS)
    report = await publisher.export(tmp_path / "json", ExportFormat.JSON)
    listed = json.loads((tmp_path / "json" / "index.json").read_bytes())
    assert [entry["article"] for entry in listed["articles"]] == [first]
    document = json.loads((tmp_path / "json" / listed["articles"][0]["file"]).read_bytes())
    digests = {source["sha256"] for source in document["sources"]}
    files = EvidenceFiles(store.home)
    found = re.findall(r'"sha256": "([0-9a-f]+)", "start": (\d+), "end": (\d+), "quote": ', json.dumps(document))
    assert found
    assert {digest for digest, _, _ in found} == digests
    for claim in document["summary"]:
        for citation in claim["citations"]:
            text = files.get(citation["sha256"])
            assert text[citation["start"] : citation["end"]] == citation["quote"]
    assert report.published == (first,)
    found_article = await store.read(get_article, first)
    assert found_article is not None
    assert found_article.state is ArticleState.PUBLISHED


async def test_a_folder_holds_one_format(store: Store, publisher: Publisher, tmp_path: Path) -> None:
    await approved(store, publisher, TGT, KERBEROS)
    await publisher.export(tmp_path / "out")
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    with pytest.raises(OtherFormat, match="holds an export as markdown; choose another folder for json"):
        await publisher.export(tmp_path / "out", ExportFormat.JSON)
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before


async def test_an_edited_page_is_left(store: Store, publisher: Publisher, tmp_path: Path) -> None:
    await approved(store, publisher, TGT, KERBEROS)
    await publisher.export(tmp_path / "site", ExportFormat.HTML)
    (tmp_path / "site" / "style.css").write_text("body { color: green }", encoding="utf-8")
    report = await publisher.export(tmp_path / "site", ExportFormat.HTML)
    assert report.edited == ("style.css",)
    assert (tmp_path / "site" / "style.css").read_text(encoding="utf-8") == "body { color: green }"


async def test_the_difference_of_two_revisions(store: Store, publisher: Publisher) -> None:
    first = await approved(store, publisher, TGT, KERBEROS)
    with pytest.raises(UnknownArticle, match="one revision; there is nothing to compare"):
        await publisher.diff(first)
    await run(store, TGT.upper(), "en", KERBEROS, directives=("write the topic in capitals",))
    changes = (await publisher.diff(first)).splitlines()
    assert changes[:2] == ["--- revision 1", "+++ revision 2"]
    assert any(line.startswith("+# ") and TGT.upper() in line for line in changes)
    assert await publisher.diff(first, 2, 2) == ""
    with pytest.raises(UnknownArticle, match="has no revision 9"):
        await publisher.diff(first, 1, 9)
