"""One spelling for one page."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from research.search.urls import canonical_url, clean_url, domain_of


@pytest.mark.parametrize(
    ("url", "clean"),
    [
        ("HTTP://WWW.Example.ORG:80/a/../b/./c#part", "http://www.example.org/b/c"),
        ("https://example.org:443?utm_source=x&id=7&UTM_Medium=y", "https://example.org/?id=7"),
        ("https://example.org/a?gclid=1&fbclid=2&msclkid=3&mc_cid=4&_ga=5&wt_zmc=6", "https://example.org/a"),
        ("https://example.org/a;jsessionid=ABC?x=1", "https://example.org/a?x=1"),
        ("https://example.org:8443/%7euser/%e4%f6/%2F", "https://example.org:8443/~user/%E4%F6/%2F"),
        ("https://bücher.example/straße", "https://xn--bcher-kva.example/stra%C3%9Fe"),
        ("https://example.org/a?b=1&a=2", "https://example.org/a?b=1&a=2"),
        ("  https://example.org/ ", "https://example.org/"),
        ("https://[2001:DB8::1]:443/x", "https://[2001:db8::1]/x"),
        ("https://example.org/docs?ref=v2&source=x", "https://example.org/docs?ref=v2&source=x"),
        ("library:runbooks/VPN zurücksetzen.html#a", "library:runbooks/VPN zurücksetzen.html"),
        ("LIBRARY:a.md", "library:a.md"),
        ("http://user:pw@example.org/", "http://user:pw@example.org/"),  # the address guard refuses it
    ],
)
def test_clean_url(url: str, clean: str) -> None:
    assert clean_url(url) == clean


@pytest.mark.parametrize(
    "url",
    ["", "example.org", "ftp://example.org/", "mailto:a@b.org", "http://", "https://exa mple.org/", "http://[::1/"],
)
def test_what_is_no_web_address(url: str) -> None:
    with pytest.raises(ValueError):
        clean_url(url)


@pytest.mark.parametrize(
    "same",
    [
        "https://www.example.org/a/", "http://example.org/a", "https://example.org:443/a#x",
        "HTTPS://EXAMPLE.org./a?utm_id=1",
        "http://www.example.org:80/b/../a", "https://example.org/%61",
    ],
)  # fmt: skip
def test_canonical_url_is_one_for_one_page(same: str) -> None:
    assert canonical_url(same) == "https://example.org/a"


def test_canonical_url_orders_parameters_and_keeps_different_pages_apart() -> None:
    assert canonical_url("https://a.org/?y=1&x=2") == canonical_url("https://a.org/?x=2&y=1")
    pages = [
        "https://a.org/",
        "https://a.org/b",
        "https://a.org/B",
        "https://b.a.org/",
        "https://a.org/?x=1",
        "https://a.org:8080/",
    ]
    assert len({canonical_url(page) for page in pages}) == len(pages)


@pytest.mark.parametrize(
    ("url", "domain"),
    [
        ("https://docs.example.co.uk/x", "example.co.uk"), ("https://www.example.org", "example.org"),
        ("https://a.github.io/x", "a.github.io"), ("https://b.readthedocs.io/", "b.readthedocs.io"),
        ("http://127.0.0.1:8080/x", "127.0.0.1"), ("http://wiki.intranet/", "wiki.intranet"), ("http://wiki/", "wiki"),
        ("library:runbooks/a/b.html", "library:runbooks"), ("library:a.html", "library:"), ("http://[::1/", ""),
    ],
)  # fmt: skip
def test_domain_of(url: str, domain: str) -> None:
    assert domain_of(url) == domain


@given(st.text(max_size=40), st.sampled_from(["https://example.org/", "http://", "library:", ""]))
def test_any_text_is_a_url_or_refused_and_cleaning_is_idempotent(text: str, prefix: str) -> None:
    try:
        clean = clean_url(prefix + text)
    except ValueError:
        return
    assert clean_url(clean) == clean
    assert canonical_url(clean) == canonical_url(prefix + text)
    assert isinstance(domain_of(clean), str)
