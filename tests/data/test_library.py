"""The library: indexing by differences, search, and reading nothing but what lies below the folder."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from data.extract import Document, ExtractionError
from data.extractor import InlineExtractor
from data.library import Library, NotInLibrary
from data.library_query import match_groups
from data.models import SourceClass
from data.store import Store

PAGES = {
    "vendor/vpn-809.html": (
        "<title>VPN error 809</title><h1>VPN error 809</h1><p>The network connection between your computer and the "
        "VPN server could not be established: error 809. Open UDP ports 500 and 4500 on the router.</p>"
    ),
    "vendor/vpn-691.html": (
        "<title>VPN error 691</title><h1>VPN error 691</h1><p>The remote connection was denied: error 691. The user "
        "name and password combination is wrong on the VPN server.</p>"
    ),
    "vendor/printer.html": "<title>Print queue</title><h1>Print queue</h1><p>A job hangs in the print spooler.</p>",
    "wiki/drucker.md": "---\npublisher: Hausmeisterei\ndate: 2024-02-03\n---\n# Drucker prüfen\n\nDie Warteschlange "
    "des Druckers wird geprüft und geleert, wenn nichts mehr gedruckt wird.",
    "wiki/update.md": "# Windows Update 0x80070005\n\nDas Update KB5034441 bricht mit dem Fehler 0x80070005 ab.",
    "notes.txt": "Notes\n=====\n\nThe certificate of the mail server expires in May.",
    "wiki/empty.html": "<html><body></body></html>",
    "wiki/login.html": "<title>Sign in</title><form><input type=password></form><p>Sign in to go on.</p>",
}
TOML = 'publisher = "Vendor Support"\nclass = "vendor"\nlanguage = "en"\nbase_url = "https://support.example.org/kb/"\n'


class Counting(InlineExtractor):
    """An inline extractor that says how often it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    async def extract(self, data: bytes, *, content_type: str, url: str) -> Document:
        self.asked.append(url)
        return await super().extract(data, content_type=content_type, url=url)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "library"
    for name, content in PAGES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    (root / "vendor" / "collection.toml").write_text(TOML, encoding="utf-8")
    (root / "vendor" / "logo.png").write_bytes(b"\x89PNG")
    (root / ".hidden.md").write_text("# no", encoding="utf-8")
    return root


@pytest.fixture
def reader() -> Counting:
    return Counting()


@pytest.fixture
async def library(store: Store, root: Path, reader: Counting) -> Library:
    library = Library(store, root, reader)
    await library.index()
    return library


async def test_everything_readable_is_indexed_also_what_a_gate_will_refuse(store: Store, root: Path) -> None:
    steps: list[tuple[str, int, int | None]] = []
    library = Library(store, root, InlineExtractor())
    report = await library.index(lambda *step: steps.append(step))
    assert (report.added, report.updated, report.unchanged, report.removed) == (8, 0, 0, 0)
    assert report.failed == (("wiki/empty.html", "empty_extraction: holds no readable text"),)
    assert report.problems == ()
    assert await library.count() == 8
    assert steps[0] == ("library", 0, 8)
    assert steps[-1] == ("library", 8, 8)


async def test_a_hit_carries_what_its_collection_says(library: Library) -> None:
    hit = (await library.search("VPN error 809", "en", 5))[0]
    assert hit.url == "library:vendor/vpn-809.html"
    assert hit.title == "VPN error 809"
    assert "error 809. Open UDP ports 500" in hit.snippet
    assert (hit.publisher, hit.source_class, hit.language) == ("Vendor Support", SourceClass.VENDOR, "en")
    drucker = (await library.search("Drucker prüfen", "de", 5))[0]
    assert (drucker.publisher, drucker.source_class) == ("Hausmeisterei", SourceClass.UNKNOWN)
    assert drucker.published_at == datetime(2024, 2, 3, tzinfo=UTC)
    notes = (await library.search("certificate expires", "en", 5))[0]
    assert (notes.url, notes.publisher) == ("library:notes.txt", "library")


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("VPN-Fehler 691", "library:vendor/vpn-691.html"),
        ("Fehler 809 VPN", "library:vendor/vpn-809.html"),
        ("0x80070005", "library:wiki/update.md"),
        ("KB 5034441 Windows", "library:wiki/update.md"),
        ("Druckerwarteschlangen prüfen", "library:wiki/drucker.md"),
        ("drucker pruefung", "library:wiki/drucker.md"),
        ("printing queues", "library:vendor/printer.html"),
        ("the certificates of the mail server", "library:notes.txt"),
        ('vpn" OR NEAR( * 809', "library:vendor/vpn-809.html"),
    ],
)
async def test_the_best_document_comes_first(library: Library, query: str, best: str) -> None:
    assert (await library.search(query, "und", 3))[0].url == best


async def test_nothing_is_found_for_nothing(library: Library) -> None:
    assert await library.search("", "en", 5) == []
    assert await library.search("?!*", "en", 5) == []
    assert await library.search("quantum chromodynamics", "en", 5) == []
    assert await library.search("VPN", "en", 0) == []


async def test_the_same_query_gives_the_same_hits(library: Library) -> None:
    assert await library.search("error VPN server", "en", 5) == await library.search("error VPN server", "en", 5)


async def test_the_index_follows_the_folder(library: Library, root: Path, reader: Counting) -> None:
    reader.asked.clear()
    report = await library.index()
    assert (report.unchanged, reader.asked) == (8, [])

    os.utime(root / "notes.txt", (1, 1))  # touched, not changed
    (root / "vendor" / "printer.html").write_text("<h1>Fax</h1><p>The fax is gone.</p>", encoding="utf-8")
    (root / "vendor" / "vpn-691.html").unlink()
    (root / "wiki" / "new.md").write_text("# Neues WLAN\n\nDas neue WLAN heißt anders.", encoding="utf-8")
    report = await library.index()
    assert (report.added, report.updated, report.unchanged, report.removed) == (1, 1, 6, 1)
    assert sorted(reader.asked) == ["library:vendor/printer.html", "library:wiki/new.md"]
    assert [hit.url for hit in await library.search("print spooler", "en", 5)] == []
    assert (await library.search("fax", "en", 5))[0].title == "Fax"
    assert "library:vendor/vpn-691.html" not in [hit.url for hit in await library.search("691", "en", 5)]
    reader.asked.clear()
    assert (await library.index()).unchanged == 8
    assert reader.asked == []


async def test_a_changed_collection_file_changes_its_documents(library: Library, root: Path) -> None:
    (root / "vendor" / "collection.toml").write_text('publisher = "Other"\nclass = "forum"\n', encoding="utf-8")
    report = await library.index()
    assert report.updated == 3
    hit = (await library.search("VPN error 809", "en", 5))[0]
    assert (hit.publisher, hit.source_class) == ("Other", SourceClass.FORUM)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("publisher = ", "cannot be read"),
        ('class = "best"', "unknown class 'best'"),
        ('base_url = "ftp://x"', "which is none"),
        ('publsher = "x"', "not known here: publsher"),
        ("language = 5", "not known here: language"),
    ],
)
async def test_a_broken_collection_file_costs_its_facts_alone(
    store: Store, root: Path, content: str, problem: str
) -> None:
    (root / "vendor" / "collection.toml").write_text(content, encoding="utf-8")
    library = Library(store, root, InlineExtractor())
    report = await library.index()
    assert report.added == 8
    ((path, message),) = report.problems
    assert path == "vendor/collection.toml"
    assert problem in message
    assert (await library.search("VPN error 809", "en", 5))[0].source_class is SourceClass.UNKNOWN


async def test_a_removed_document_leaves_no_text_behind(store: Store, library: Library, root: Path) -> None:
    for path in (root / "wiki").iterdir():
        path.unlink()
    assert (await library.index()).removed == 4
    left = await store.read(lambda conn: conn.execute(text("SELECT count(*) FROM library_fts")).scalar_one())
    assert left == await library.count() == 4


async def test_an_absent_folder_is_an_empty_library(store: Store, tmp_path: Path) -> None:
    library = Library(store, tmp_path / "nowhere", InlineExtractor())
    assert (await library.index()).total == 0
    assert await library.search("anything", "en", 5) == []


async def test_reading_goes_to_the_file_as_it_is_now(library: Library, root: Path) -> None:
    document = await library.read("library:vendor/vpn-809.html")
    assert document.text.startswith("# VPN error 809\n\nThe network connection")
    assert (document.url, document.final_url) == ("library:vendor/vpn-809.html",) * 2
    assert (document.publisher, document.source_class, document.collection) == ("Vendor Support", "vendor", "vendor")
    assert document.public_url == "https://support.example.org/kb/vpn-809.html"
    (root / "vendor" / "vpn-809.html").write_text("<p>Moved away.</p>", encoding="utf-8")
    assert (await library.read("library:vendor/vpn-809.html")).text == "Moved away."


async def test_the_same_bytes_are_extracted_once(library: Library, root: Path, reader: Counting) -> None:
    reader.asked.clear()
    first = await library.read("library:vendor/vpn-809.html")
    os.utime(root / "vendor" / "vpn-809.html", (1, 1))
    assert await library.read("library:vendor/vpn-809.html") == first
    assert reader.asked == ["library:vendor/vpn-809.html"]
    (root / "vendor" / "collection.toml").write_text('publisher = "Other"\n', encoding="utf-8")
    assert (await library.read("library:vendor/vpn-809.html")).publisher == "Other"


async def test_a_name_with_blanks_and_umlauts_makes_a_url_that_reads(store: Store, root: Path) -> None:
    (root / "wiki" / "Größe ändern?.md").write_text("# Größe ändern\n\nWorte über Postfächer.", encoding="utf-8")
    library = Library(store, root, InlineExtractor())
    await library.index()
    hit = (await library.search("Postfächer", "de", 5))[0]
    assert hit.url.isascii()
    assert (await library.read(hit.url)).title == "Größe ändern"


async def test_an_empty_page_is_found_and_fails_to_be_read(library: Library) -> None:
    assert (await library.search("empty", "en", 5))[0].url == "library:wiki/empty.html"
    with pytest.raises(ExtractionError) as caught:
        await library.read("library:wiki/empty.html")
    assert caught.value.reason == "empty_extraction"


@pytest.mark.parametrize(
    "url",
    [
        "library:../secret.txt",
        "library:vendor/../../secret.txt",
        "library:%2e%2e/secret.txt",
        "library:/etc/hostname.txt",
        "library://host/vendor/vpn-809.html",
        "library:vendor\\vpn-809.html",
        "library:vendor/collection.toml",
        "library:.hidden.md",
        "library:link.txt",
        "library:folder/inside.txt",
        "library:vendor/nothing.html",
        "library:vendor",
        "library:",
        "library:vendor/vpn-809.html%00",
        "https://example.org/vendor/vpn-809.html",
    ],
)
async def test_reading_never_leaves_the_folder(library: Library, root: Path, tmp_path: Path, url: str) -> None:
    (tmp_path / "secret.txt").write_text("secret words", encoding="utf-8")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "inside.txt").write_text("secret words", encoding="utf-8")
    (root / "link.txt").symlink_to(tmp_path / "secret.txt")
    (root / "folder").symlink_to(tmp_path / "outside")
    with pytest.raises(NotInLibrary):
        await library.read(url)
    await library.index()
    assert await library.search("secret", "en", 5) == []


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.text(alphabet=st.characters(codec=None, categories=None), max_size=60)
    | st.text(alphabet="aä\"'*()^:-+{}~ NEAROTD.²ªµ_½\x00\ud800٣中", max_size=40)
)
def test_no_query_breaks_the_index(query: str) -> None:
    import sqlite3

    with sqlite3.connect(":memory:") as connection:
        connection.execute("CREATE VIRTUAL TABLE t USING fts5(title, body, tokenize='unicode61 remove_diacritics 2')")
        for expression, weight in match_groups(query):
            assert weight >= 1
            connection.execute("SELECT rowid FROM t WHERE t MATCH ?", (expression,)).fetchall()
    connection.close()
