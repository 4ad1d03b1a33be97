"""Marks go, words stay; what counts as code; how verbatim runs are counted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from articles.plaintext import code_tokens, is_code_token, longest_run, plain, prose_words, run_index, same_words


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("the **panic**  level\nis *bad*", "the panic level is bad"),
        (r"smtpd\_relay\_restrictions", "smtpd_relay_restrictions"),
        ("see [the page](https://example.org/a_b) first", "see the page first"),
        ("run `a  b` and `c_d`", "run `a b` and `c_d`"),
        ("2 * 3 * 4", "2 * 3 * 4"),
        ("use `*` or `**`", "use `*` or `**`"),
    ],
)
def test_marks_are_taken_off(quote: str, text: str) -> None:
    assert plain(quote) == text


@pytest.mark.parametrize(
    "token", ["/etc/postfix/main.cf", "--dry-run", "a_b", "main.cf", "postconf(5)", "x=1", "10.0.0.1"]
)
def test_code_is_recognised(token: str) -> None:
    assert is_code_token(token)


@pytest.mark.parametrize(
    "token", ["server", "client/server", "and/or", "TCP/IP", "e.g.", "z.B.", "(optional)", "Web-Server"]
)
def test_prose_is_no_code(token: str) -> None:
    assert not is_code_token(token)


def test_code_is_not_counted_as_prose() -> None:
    assert prose_words("Edit `/etc/hosts` and set smtp_host to 5.") == ["edit", "and", "set", "to"]
    assert code_tokens("Edit `/etc/hosts` and set smtp_host to 5.") == ["/etc/hosts", "smtp_host"]


def test_same_words_ignores_marks_and_punctuation_alone() -> None:
    assert same_words("The server, which runs, stops.", ["The **server**", "which runs,", "stops"])
    assert not same_words("The server runs.", ["The server", "does not run"])
    assert not same_words("The server stops.", ["The server", "which runs, stops"])
    assert not same_words("", [])


WORDS = st.lists(st.sampled_from(["alpha", "beta", "gamma", "delta", "epsilon", "zeta"]), min_size=1, max_size=30)


@given(WORDS, WORDS)
def test_run_index_and_longest_run_agree(one: list[str], other: list[str]) -> None:
    best = longest_run(one, other)
    for length in (best, best + 1):
        if length == 0:
            continue
        index = run_index(" ".join(other), length)
        hit = any(tuple(one[i : i + length]) in index for i in range(len(one) - length + 1))
        assert hit == (length <= best)


@given(st.text(max_size=200))
def test_any_text_is_accepted(text: str) -> None:
    assert "\n" not in plain(text)
    prose_words(text)
    code_tokens(text)
