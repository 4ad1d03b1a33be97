"""robots.txt: groups, longest rule, wildcards (examples of RFC 9309 where it has some)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from research.robots import ALLOW_ALL, parse_robots

RFC_EXAMPLE = """
# 5.1 of RFC 9309
User-Agent: *
Disallow: *.gif$
Disallow: /example/
Allow: /publications/

User-Agent: foobot
Disallow:/
Allow:/example/page.html
Allow:/example/allowed.gif

User-Agent: barbot
User-Agent: bazbot
Disallow: /example/page.html

User-Agent: quxbot
"""


@pytest.mark.parametrize(
    ("agent", "path", "allowed"),
    [
        ("anybot", "/x.gif", False), ("anybot", "/x.gif?size=1", True), ("anybot", "/example/a", False),
        ("anybot", "/publications/a", True), ("anybot", "/", True),
        ("foobot", "/", False), ("foobot", "/example/page.html", True), ("FooBot", "/example/allowed.gif", True),
        ("foobot", "/publications/", False),
        ("barbot", "/example/page.html", False), ("bazbot", "/example/page.html", False),
        ("bazbot", "/example/a.gif", True),
        ("quxbot", "/example/page.html", True), ("foobot", "/robots.txt", True),
    ],
)  # fmt: skip
def test_the_example_of_the_standard(agent: str, path: str, allowed: bool) -> None:
    assert parse_robots(RFC_EXAMPLE, agent).allows("https://example.org" + path) is allowed


@pytest.mark.parametrize(
    ("rules", "path", "allowed"),
    [
        ("Disallow: /example/page/\nAllow: /example/page/disallowed.gif", "/example/page/disallowed.gif", True),
        ("Disallow: /a\nAllow: /a", "/a", True),  # a tie is for allow
        ("Disallow:", "/a", True),
        ("Disallow: /", "/a", False),
        ("Disallow: /*.php$", "/x/y.php", False),
        ("Disallow: /*.php$", "/x/y.php5", True),
        ("Disallow: /*/private", "/a/b/private/x", False),
        ("Disallow: /a*b*c", "/a-b-c", False),
        ("Disallow: /a*b*c", "/a-c-b", True),
        ("Disallow: /x*x$", "/x", True),
        ("Disallow: /~joe", "/%7Ejoe/a", False),
        ("Disallow: /%7ejoe", "/~joe", False),
        ("Disallow: /search?q=", "/search?q=x", False),
        ("Disallow: /search?q=", "/search", True),
        ("Disallow: /ä", "/%C3%A4", False),
        ("disallow : /a # comment", "/a", False),
        ("Disallow /a", "/a", True),  # no colon, no rule
    ],
)
def test_rules(rules: str, path: str, allowed: bool) -> None:
    assert parse_robots(f"User-agent: *\n{rules}\n", "NeuralBrain").allows(f"https://example.org{path}") is allowed


def test_groups_of_one_agent_count_together_and_the_product_token_counts() -> None:
    text = (
        "User-agent: NeuralBrain/1.0\nDisallow: /a\n\nUser-agent: *\nDisallow: /\n\n"
        "User-agent: neuralbrain\nDisallow: /b\n"
    )
    robots = parse_robots(text, "NeuralBrain")
    assert [robots.allows(f"https://example.org{p}") for p in ("/a", "/b", "/c")] == [False, False, True]


def test_crawl_delay_is_kept_within_a_minute() -> None:
    assert parse_robots("User-agent: *\nCrawl-delay: 2.5\n", "x").delay_s == 2.5
    assert parse_robots("User-agent: *\nCrawl-delay: 86400\n", "x").delay_s == 60.0
    assert parse_robots("User-agent: *\nCrawl-delay: soon\n", "x").delay_s is None


@given(st.text(max_size=200), st.text(max_size=40))
def test_any_text_is_a_file(text: str, path: str) -> None:
    assert parse_robots(text, "NeuralBrain").allows("https://example.org/" + path) in {True, False}
    assert ALLOW_ALL.allows("https://example.org/" + path)
