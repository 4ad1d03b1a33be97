"""Which hits may be read: each rule alone, directives in two languages, and the order of what stays."""

from __future__ import annotations

import pytest

from data.models import SourceClass
from research.search.base import Hit
from research.search.scope import ScopePolicy, ScopeReason, scope_hits, source_rules
from research.sources import shipped_table


def hit(url: str, **changes: object) -> Hit:
    return Hit(url=url, title="A title", **changes)  # type: ignore[arg-type]


def reasons(
    urls: list[str], policy: ScopePolicy | None = None, directives: tuple[str, ...] = (), seen: tuple[str, ...] = ()
) -> dict[str, str]:
    kept, dropped = scope_hits([hit(url) for url in urls], policy or ScopePolicy(), directives, seen, shipped_table())
    assert len(kept) + len(dropped) == len(urls)
    return {**{h.url: "" for h in kept}, **{d.hit.url: d.reason.value for d in dropped}}


def test_hits_keep_their_order_and_lose_tracking() -> None:
    kept, dropped = scope_hits(
        [hit("https://b.org/x?utm_source=a#p", rank=1), hit("https://a.org/"), hit("library:runbooks/a.md")],
        ScopePolicy(),
    )
    assert [h.url for h in kept] == ["https://b.org/x", "https://a.org/", "library:runbooks/a.md"]
    assert kept[0].rank == 1 and not dropped


def test_the_same_page_twice_and_three_of_a_domain() -> None:
    urls = [
        "https://www.a.org/x/", "http://a.org/x", "https://docs.a.org/y", "https://a.org/z", "https://b.org/",
        "library:runbooks/1.md", "library:runbooks/2.md", "library:runbooks/3.md", "library:manuals/1.md",
    ]  # fmt: skip
    kept, dropped = scope_hits([hit(url) for url in urls], ScopePolicy())
    assert [h.url for h in kept] == [
        "https://www.a.org/x/", "https://docs.a.org/y", "https://b.org/",
        "library:runbooks/1.md", "library:runbooks/2.md", "library:manuals/1.md",
    ]  # fmt: skip
    assert [(d.hit.url, d.reason, d.detail) for d in dropped] == [
        ("http://a.org/x", ScopeReason.DUPLICATE, "https://www.a.org/x/"),
        ("https://a.org/z", ScopeReason.DOMAIN_LIMIT, "a.org"),
        ("library:runbooks/3.md", ScopeReason.DOMAIN_LIMIT, "library:runbooks"),
    ]
    wide, _ = scope_hits([hit(url) for url in urls], ScopePolicy(per_domain=9))
    assert len(wide) == 8


def test_a_refused_hit_takes_no_place_of_its_domain() -> None:
    found = reasons(
        ["https://a.org/1", "https://a.org/2", "https://a.org/3"], seen=("http://www.a.org/1/#x", "not a url")
    )
    assert found == {"https://a.org/1": "already_refused", "https://a.org/2": "", "https://a.org/3": ""}


def test_schemes_and_urls() -> None:
    found = reasons(
        [
            "ftp://a.org/x",
            "javascript:alert(1)",
            "file:///etc/passwd",
            "https://",
            "http://exa mple.org/",
            "https://a.org/",
        ]
    )
    assert found == {
        "ftp://a.org/x": "scheme", "javascript:alert(1)": "scheme", "file:///etc/passwd": "scheme",
        "https://": "bad_url",
        "http://exa mple.org/": "bad_url", "https://a.org/": "",
    }  # fmt: skip
    assert reasons(["http://a.org/"], ScopePolicy(schemes=("https", "library"))) == {"http://a.org/": "scheme"}


def test_domains_and_categories() -> None:
    policy = ScopePolicy(allow_domains=("a.org", "*.b.org"), block_domains=("bad.a.org", "library:old"))
    assert reasons(
        ["https://a.org/", "https://x.a.org/", "https://bad.a.org/", "https://x.bad.a.org/", "https://b.org/", "https://nota.org/",
         "https://a.org.evil.com/", "library:runbooks/a.md", "library:old/a.md"], policy
    ) == {
        "https://a.org/": "", "https://x.a.org/": "", "https://bad.a.org/": "blocked_domain",
        "https://x.bad.a.org/": "blocked_domain",
        "https://b.org/": "", "https://nota.org/": "outside_allowed", "https://a.org.evil.com/": "outside_allowed",
        "library:runbooks/a.md": "", "library:old/a.md": "blocked_domain",
    }  # fmt: skip
    kept, dropped = scope_hits(
        [hit("https://a.org/", category="it"), hit("https://b.org/", category="images"), hit("https://c.org/")],
        ScopePolicy(categories=("general", "it")),
    )
    assert [h.url for h in kept] == ["https://a.org/", "https://c.org/"]
    assert dropped[0].reason is ScopeReason.CATEGORY


WEB = ["https://learn.microsoft.com/x", "https://answers.microsoft.com/x", "https://administrator.de/x", "https://www.heise.de/x",
       "https://somebody.blogspot.com/x", "https://www.postfix.org/x", "https://unknown.example/x"]  # fmt: skip


@pytest.mark.parametrize(
    ("directive", "dropped"),
    [
        ("Never cite vendor forums.", ["answers.microsoft.com"]),
        ("Keine Herstellerforen zitieren!", ["answers.microsoft.com"]),
        ("Do not use forums or blogs", ["answers.microsoft.com", "administrator.de", "somebody.blogspot.com"]),
        ("Foren und Blogs sind keine Quellen.", ["answers.microsoft.com", "administrator.de", "somebody.blogspot.com"]),
        ("Avoid news sites as evidence", ["www.heise.de"]),
        ("Never cite heise.de or administrator.de", ["administrator.de", "www.heise.de"]),
        ("Nur offizielle Quellen und Herstellerdokumentation zitieren",
         ["answers.microsoft.com", "administrator.de", "www.heise.de", "somebody.blogspot.com", "unknown.example"]),
        ("Only use postfix.org", [u.split("/")[2] for u in WEB if "postfix" not in u]),
        ("Do not rely on unknown sources", ["unknown.example"]),
        # about something else
        ("Write in a formal tone, never use slang", []),
        ("Keine internen Abkürzungen verwenden", []),
        ("Never mention vendors by name", []),
        ("Use short sentences only", []),
        ("Do not use official titles of people", []),
        ("Bitte nie main.cf oder config.yml löschen und nutzen", []),
        ("", []),
    ],
)  # fmt: skip
def test_directives_about_sources(directive: str, dropped: list[str]) -> None:
    found = reasons(WEB, ScopePolicy(), (directive,))
    assert [url.split("/")[2] for url in WEB if found[url] == "directive"] == dropped
    assert set(found.values()) <= {"", "directive"}


def test_a_directive_names_itself_as_the_reason_and_knows_collections() -> None:
    text = "Keine Foren zitieren"
    kept, dropped = scope_hits(
        [
            hit("library:board/a.html", source_class=SourceClass.FORUM),
            hit("library:docs/a.html", source_class=SourceClass.OWN),
        ],
        ScopePolicy(),
        [text],
    )
    assert [h.url for h in kept] == ["library:docs/a.html"]
    assert (dropped[0].reason, dropped[0].detail) == (ScopeReason.DIRECTIVE, text)
    assert len(source_rules([text, "Be brief"])) == 1
