"""The table of publishers and the score: both sides of the threshold, and what the operator may add."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.extract import Document
from data.models import SourceClass
from research.sources import SourceError, SourceTable, shipped_table

NOW = datetime(2026, 1, 15, tzinfo=UTC)
THRESHOLD = 0.40  # BRAIN_EVIDENCE_MIN_QUALITY

PAGE = Document(
    url="https://notes.example.net/vpn",
    final_url="https://notes.example.net/vpn",
    text="The VPN client reports error 809 when UDP port 4500 is closed. " * 20,
    title="VPN error 809",
    publisher="notes.example.net",
    language="en",
    published_at=None,
    author=None,
    boilerplate=0.3,
    link_density=0.05,
)


def at(url: str, **changes: object) -> Document:
    return replace(PAGE, url=url, final_url=url, **changes)  # type: ignore[arg-type]


# -- the table ----------------------------------------------------------------------------------------------------


def test_the_shipped_table_is_large_and_covers_both_spheres_and_every_class() -> None:
    entries = tomllib.loads(files("research").joinpath("sources.toml").read_text(encoding="utf-8"))["source"]
    assert len(entries) >= 120
    assert sum(entry["sphere"] in {"de", "both"} for entry in entries) >= 60
    assert {entry["class"] for entry in entries} == set(SourceClass) - {SourceClass.UNKNOWN, SourceClass.OWN}
    for entry in entries:
        assert 0 < entry["standing"] <= 1 and entry["domains"], entry


@pytest.mark.parametrize(
    ("url", "source_class"),
    [
        ("https://learn.microsoft.com/en-us/windows/", SourceClass.VENDOR),
        ("https://learn.microsoft.com/en-us/answers/questions/1", SourceClass.FORUM),
        ("https://answers.microsoft.com/de-de/x", SourceClass.FORUM),
        ("https://www.postfix.org/postconf.5.html", SourceClass.OFFICIAL),
        ("https://www.bsi.bund.de/DE/x", SourceClass.OFFICIAL),
        ("https://datatracker.ietf.org/doc/html/rfc8446", SourceClass.STANDARD),
        ("https://www.rfc-editor.org/rfc/rfc8446", SourceClass.STANDARD),
        ("https://attack.mitre.org/techniques/T1059/001/", SourceClass.REFERENCE),
        ("https://cve.mitre.org/x", SourceClass.STANDARD),
        ("https://serverfault.com/questions/1", SourceClass.COMMUNITY),
        ("https://wiki.ubuntuusers.de/Postfix", SourceClass.COMMUNITY),
        ("https://forum.ubuntuusers.de/topic/x", SourceClass.FORUM),
        ("https://administrator.de/x", SourceClass.FORUM),
        ("https://www.heise.de/news/x", SourceClass.NEWS),
        ("https://www.heise.de/download/x", SourceClass.AGGREGATOR),
        ("https://somebody.blogspot.com/x", SourceClass.BLOG),
        ("https://web.mit.edu/kerberos/krb5-latest/", SourceClass.OFFICIAL),
        ("https://www.solvusoft.com/en/errors", SourceClass.AGGREGATOR),
        ("https://DE.Wikipedia.org./wiki/X", SourceClass.REFERENCE),
    ],
)  # fmt: skip
def test_known_publishers(url: str, source_class: SourceClass) -> None:
    found = shipped_table().publisher_of(url)
    assert found is not None and found.source_class is source_class


@pytest.mark.parametrize(
    "url",
    [
        "https://notpostfix.org/", "https://postfix.org.evil.example/", "https://web.mit.edu/other/",
        "library:postfix.org/x.html",
        "ftp://postfix.org/", "https://microsoft.com.tech-help.example/", "", "https://",
    ],
)  # fmt: skip
def test_a_name_that_only_looks_like_one_is_nobody(url: str) -> None:
    assert shipped_table().publisher_of(url) is None


def test_an_operators_table_adds_and_wins(tmp_path: Path) -> None:
    table = tmp_path / "sources.toml"
    table.write_text(
        """
        [[source]]
        publisher = "Our hardware partner"
        class = "vendor"
        domains = ["partner.example", "www.postfix.org/special/"]

        [[source]]
        publisher = "A forum we trust"
        class = "community"
        standing = 0.9
        domains = ["administrator.de"]
        """,
        encoding="utf-8",
    )
    loaded = SourceTable.load(table)
    assert loaded.classify(at("https://support.partner.example/x"))[0] is SourceClass.VENDOR
    assert loaded.classify(at("https://postfix.org/special/a"))[0] is SourceClass.VENDOR
    assert loaded.classify(at("https://postfix.org/other"))[0] is SourceClass.OFFICIAL
    assert loaded.classify(at("https://administrator.de/x")) == (SourceClass.COMMUNITY, 0.9)
    assert shipped_table().classify(at("https://administrator.de/x"))[0] is SourceClass.FORUM


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[source", "TOML"),
        ("source = 1", "list"),
        ('source = ["x"]', "table"),
        ('[[source]]\npublisher = "A"\nclass = "great"\ndomains = ["a.org"]', "class"),
        ('[[source]]\nclass = "blog"\ndomains = ["a.org"]', "publisher"),
        ('[[source]]\npublisher = "A"\nclass = "blog"', "domains"),
        ('[[source]]\npublisher = "A"\nclass = "blog"\ndomains = ["not a domain"]', "domain"),
        ('[[source]]\npublisher = "A"\nclass = "blog"\ndomains = ["https://a.org"]', "domain"),
        ('[[source]]\npublisher = "A"\nclass = "blog"\ndomains = [1]', "domain"),
        ('[[source]]\npublisher = "A"\nclass = "blog"\nstanding = 3\ndomains = ["a.org"]', "standing"),
        ('[[source]]\npublisher = "A"\nclass = "blog"\nstanding = true\ndomains = ["a.org"]', "standing"),
        ('[[source]]\npublisher = "A"\nclass = "blog"\ntags = "x"\ndomains = ["a.org"]', "tags"),
        ('[[source]]\npublisher = "A"\nclass = "blog"\nstars = 5\ndomains = ["a.org"]', "stars"),
        ('[[source]]\npublisher = "A"\nclass = "blog"\ndomains = ["a.org", "www.a.org"]', "twice"),
    ],
)
def test_a_bad_table_says_what_is_wrong_and_where(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SourceError, match=said) as caught:
        SourceTable.load(path)
    assert "mine.toml" in str(caught.value)


def test_a_missing_table_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"none\.toml"):
        SourceTable.load(tmp_path / "none.toml")


def test_a_collections_own_word_wins_over_the_domain() -> None:
    document = at("https://www.heise.de/download/x", source_class=SourceClass.OWN)
    assert shipped_table().classify(document)[0] is SourceClass.OWN


# -- the score ----------------------------------------------------------------------------------------------------


def score(document: Document) -> float:
    judged = shipped_table().score(document, NOW)
    assert 0.0 <= judged.score <= 1.0
    assert judged.score == pytest.approx(min(1.0, max(0.0, sum(judged.parts.values()))), abs=1e-6)
    assert judged.source_class.value in judged.why
    return judged.score


RECENT = datetime(2025, 6, 1, tzinfo=UTC)
OLD = datetime(2011, 3, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "url",
    ["https://www.postfix.org/x", "https://learn.microsoft.com/x", "https://www.rfc-editor.org/rfc/rfc8446", "https://bsi.bund.de/x"],
)  # fmt: skip
def test_authorities_pass_clearly_also_undated(url: str) -> None:
    assert score(at(url)) > THRESHOLD + 0.25


def test_the_houses_own_documents_pass_clearly() -> None:
    assert (
        score(
            replace(PAGE, url="library:runbooks/a.md", final_url="library:runbooks/a.md", source_class=SourceClass.OWN)
        )
        > 0.65
    )


def test_a_plain_page_of_nobody_known_passes_slightly() -> None:
    dated = score(replace(PAGE, published_at=RECENT))
    assert THRESHOLD < dated < THRESHOLD + 0.2
    assert THRESHOLD < score(PAGE) < dated < score(replace(PAGE, published_at=RECENT, author="A. Person"))


FARM = (
    "VPN error 809 is an annoying error. Method 1 is to restart your PC. Method 2 is to download our free PC cleaner. "
    "Click here for a free scan. Method 3 is to buy a better VPN, now 81% off. You may also like: top 10 cleaners. "
)


@pytest.mark.parametrize(
    "document",
    [
        replace(PAGE, text=FARM * 5, title="[SOLVED] VPN error 809: 9 best methods", boilerplate=0.7),
        replace(PAGE, boilerplate=0.85, link_density=0.5),
        replace(PAGE, text=FARM * 5, boilerplate=0.5),
        at("https://www.solvusoft.com/x", published_at=RECENT, author="Team"),
        at("https://qastack.com.de/x", boilerplate=0.1),
    ],
)
def test_a_content_farm_falls(document: Document) -> None:
    assert score(document) < THRESHOLD


@pytest.mark.parametrize("flag", ["instructions_visible", "hidden_instructions"])
def test_a_page_that_speaks_to_machines_falls_unless_an_authority_answers_for_it(flag: str) -> None:
    flagged = replace(PAGE, flags=(flag,), published_at=RECENT, author="A. Person")  # type: ignore[arg-type]
    assert score(flagged) < THRESHOLD
    official = at("https://owasp.org/x", flags=(flag,))
    assert THRESHOLD < score(official) < score(replace(official, flags=()))


def test_hidden_menus_cost_little() -> None:
    assert (
        THRESHOLD
        < score(replace(PAGE, flags=("hidden_removed",), published_at=RECENT))
        < score(replace(PAGE, published_at=RECENT))
    )


def test_versions_of_more_than_ten_years_ago_fall_where_nobody_known_answers_for_them() -> None:
    text = "Under Windows Server 2008 R2 the VPN client reports error 809 when UDP port 4500 is closed. " * 15
    outdated = replace(PAGE, text=text, published_at=OLD, author="A. Person")
    assert score(outdated) < THRESHOLD
    assert score(replace(outdated, published_at=RECENT)) > THRESHOLD
    assert score(replace(outdated, final_url="https://learn.microsoft.com/x")) > THRESHOLD
    timeless = replace(
        PAGE, published_at=OLD, author="A. Person", text="How a queue works and why it is first in, first out. " * 20
    )
    assert score(timeless) > score(outdated)


def test_age_lowers_and_a_date_in_the_future_is_no_date() -> None:
    ages = [score(replace(PAGE, published_at=datetime(year, 1, 15, tzinfo=UTC))) for year in (2026, 2022, 2019, 2016)]
    assert ages == sorted(ages, reverse=True) and ages[0] > ages[-1]
    assert score(replace(PAGE, published_at=datetime(2031, 1, 1, tzinfo=UTC))) == score(PAGE)


@given(
    st.sampled_from(list(SourceClass)), st.floats(0, 1), st.floats(0, 1),
    st.one_of(st.none(), st.datetimes(timezones=st.just(UTC))), st.booleans(),
)  # fmt: skip
def test_more_frame_more_links_or_a_flag_never_raise_a_score(
    source_class: SourceClass, boilerplate: float, links: float, at: datetime | None, authored: bool
) -> None:
    document = replace(
        PAGE, source_class=source_class, boilerplate=boilerplate, link_density=links, published_at=at,
        author="A. Person" if authored else None,
    )  # fmt: skip
    base = score(document)
    assert score(replace(document, boilerplate=1.0)) <= base
    assert score(replace(document, link_density=1.0)) <= base
    assert score(replace(document, flags=("instructions_visible",))) <= base
    assert score(document) == base
