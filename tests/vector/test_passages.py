from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vector.passages import LABEL_SHARE, MAX_PASSAGES, WINDOW, node_passages, passage_weights, passages, pieces

PARAGRAPH = "Der Dienst startet nicht, weil der Port belegt ist. Prüfen Sie mit netstat, wer ihn hält.\n\n"


def test_a_window_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="window must be at least 1, got 0"):
        passages("text", 0)


@pytest.mark.parametrize(
    ("text", "count"),
    [("", 0), ("VPN", 1), ("printer", 2), ("809", 2), ("0x80070005", 6), ("a_b", 3), ("日本語", 3), ("  \n ", 0)],
)
def test_pieces_counts_letters_digits_and_signs(text: str, count: int) -> None:
    assert pieces(text) == count


def test_short_text_is_one_passage_and_blank_text_none() -> None:
    assert passages("VPN error 809") == ["VPN error 809"]
    assert passages(" \n\t ") == []


def test_paragraphs_are_kept_whole_where_they_fit() -> None:
    cut = passages(PARAGRAPH * 30)
    assert len(cut) > 3
    assert all(passage.startswith("Der Dienst") and passage.endswith("hält.") for passage in cut)


def test_a_long_paragraph_is_cut_between_sentences() -> None:
    cut = passages("The server refuses the connection because the certificate expired yesterday. " * 60)
    assert len(cut) > 3
    assert all(passage.startswith("The server") and passage.endswith("yesterday.") for passage in cut)


def test_a_text_without_any_border_is_cut_between_letters() -> None:
    blob = "a1" * 5_000
    cut = passages(blob)
    assert "".join(cut) == blob
    assert max(pieces(passage) for passage in cut) <= WINDOW


@given(st.text(max_size=2_000), st.integers(1, 60))
def test_passages_keep_every_visible_character_in_order(text: str, window: int) -> None:
    cut = passages(text, window)
    assert "".join("".join(cut).split()) == "".join(text.split())
    assert all(pieces(passage) <= window for passage in cut)


def test_huge_body_is_sampled_over_its_whole_length() -> None:
    body = "\n\n".join(f"Abschnitt {number:05d} " + "Wort " * 150 for number in range(600))
    cut = node_passages("Handbuch", body)
    assert len(cut) == MAX_PASSAGES
    assert cut[0].startswith("Handbuch")
    numbers = [int(passage.split("Abschnitt ")[1][:5]) for passage in cut]
    assert numbers == sorted(numbers)
    assert numbers[-1] > 590
    assert max(np.diff(numbers)) <= 2 * 600 / MAX_PASSAGES


def test_node_without_text_still_has_a_passage() -> None:
    assert node_passages("  ", "") == [""]


def test_weights_follow_length_but_the_label_is_never_drowned() -> None:
    assert passage_weights(["abcd", "ab", "ab"]).tolist() == [0.5, 0.25, 0.25]
    weights = passage_weights(["x" * 10] * 50)
    assert weights[0] == pytest.approx(LABEL_SHARE)
    assert weights.sum() == pytest.approx(1.0)
    assert passage_weights([""]).tolist() == [1.0]
