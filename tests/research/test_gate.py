"""The gate as a whole: five judgements in their order, each alone able to refuse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from data.models import Label, SourceClass
from research.gate import (
    Assessment,
    EvidencePolicy,
    assess_evidence,
    overlap,
    shingles,
    similarity_to_unit,
    snippet_gate,
)
from research.topic import Require
from tests.research import relation_pages as pages
from vector.embed import HashingEmbedder, SentenceTransformerEmbedder

NOW = datetime(2026, 1, 15, 8, tzinfo=UTC)
PAIR = (pages.VPN_809, pages.NAT_KEY)


@dataclass(frozen=True)
class Page:
    text: str
    url: str = "https://example.org/a"
    title: str = ""
    link_density: float = 0.0
    has_password_field: bool = False


@dataclass(frozen=True)
class Score:
    score: float = 0.7
    source_class: SourceClass = SourceClass.VENDOR
    why: str = "a vendor's own page"


@dataclass(frozen=True)
class Judge:
    """Knows one score for everybody."""

    given: Score = Score()

    def score(self, document: Any, now: datetime) -> Score:
        return self.given


class CountingEmbedder(HashingEmbedder):
    def __init__(self) -> None:
        super().__init__(512)
        self.seen: list[int] = []

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.seen.append(len(texts))
        return super().encode(texts)


def judge(
    page: Page,
    *,
    labels: Sequence[Label] = PAIR,
    require: Require = "all",
    accepted: Sequence[Assessment] = (),
    score: Score | None = None,
    embedder: HashingEmbedder | SentenceTransformerEmbedder | None = None,
    policy: EvidencePolicy | None = None,
) -> Assessment:
    return assess_evidence(
        page,
        anchors=labels,
        require=require,
        questions=["Which registry value solves VPN error 809?"],
        query="VPN error 809 L2TP NAT AssumeUDPEncapsulation",
        accepted=accepted,
        sources=Judge(score or Score()),
        embedder=embedder or HashingEmbedder(512),
        policy=policy or EvidencePolicy(),
        now=NOW,
    )


def test_a_short_text_is_refused_before_anything_else() -> None:
    found = judge(Page("VPN Fehler 809, L2TP hinter NAT: AssumeUDPEncapsulation setzen."), score=Score(0.0))
    assert (found.accepted, found.reject_reason) == (False, "too_short")
    assert "63 characters" in found.assessment_reason


def test_a_page_off_topic_is_refused_before_it_is_embedded() -> None:
    embedder = CountingEmbedder()
    assert judge(Page(pages.ONE_SIDED_EN), embedder=embedder).reject_reason == "one_sided"
    assert embedder.seen == []


def test_a_page_that_names_both_labels_but_has_nothing_to_do_with_the_question_is_irrelevant() -> None:
    found = judge(Page(pages.BOTH_EN), policy=EvidencePolicy(cosine_floor=0.97, cosine_ceiling=0.99, min_relevance=0.6))
    assert found.reject_reason == "irrelevant"
    assert 0.3 < found.relevance < 0.6
    assert "cosine" in found.assessment_reason


def test_a_good_page_of_a_bad_source_is_refused() -> None:
    found = judge(Page(pages.BOTH_EN), score=Score(0.39, SourceClass.AGGREGATOR, "half of it is advertising"))
    assert (found.reject_reason, found.source_quality) == ("low_quality", SourceClass.AGGREGATOR)
    assert "half of it is advertising" in found.assessment_reason


def test_a_mirror_of_an_accepted_text_is_no_second_witness() -> None:
    first = judge(Page(pages.BOTH_EN))
    assert first.accepted
    mirrored = pages.BOTH_EN + "\n\nThis copy was made on a Tuesday for readers who prefer another layout.\n"
    second = judge(Page(mirrored, url="https://mirror.example/x"), accepted=[first])
    assert (second.reject_reason, second.mirror_of) == ("duplicate_content", "https://example.org/a")
    other = judge(Page(pages.BOTH_DE, url="https://example.net/b"), accepted=[first])
    assert other.accepted


def test_the_passages_of_an_accepted_text_in_another_frame_are_no_second_witness() -> None:
    first = judge(Page(pages.BOTH_DE))
    frame = "\n\n".join(
        f"Kapitel {n}: ganz andere Dinge stehen in Absatz {n}, etwa zu Thema {n * n}." for n in range(60)
    )
    second = judge(Page(f"{pages.BOTH_DE}\n\n{frame}", url="https://mirror.example/y"), accepted=[first])
    assert second.reject_reason == "duplicate_content"


def test_an_accepted_text_says_why_with_its_scores() -> None:
    found = judge(Page(pages.BOTH_DE))
    assert found.accepted
    assert found.reject_reason is None
    assert found.source_quality is SourceClass.VENDOR
    assert 0.55 <= found.relevance <= 1.0
    assert "error 809" in found.assessment_reason
    for passage in found.passages:
        assert pages.BOTH_DE[passage.start : passage.end] == passage.text


def test_at_most_three_passages_of_a_page_are_embedded() -> None:
    embedder = CountingEmbedder()
    long = "\n\n".join(
        f"# Teil {n}\n\nVPN Fehler 809 hinter NAT, L2TP, AssumeUDPEncapsulation, Fall {n}." for n in range(40)
    )
    assert judge(Page(long), embedder=embedder).accepted
    assert sum(embedder.seen) <= 1 + 3


def test_equal_arguments_give_an_equal_judgement() -> None:
    assert judge(Page(pages.BOTH_EN)) == judge(Page(pages.BOTH_EN))


def test_a_task_takes_a_text_about_one_of_its_labels() -> None:
    found = judge(Page(pages.ONE_SIDED_EN), labels=[pages.VPN_809, pages.SPOOLER], require="any")
    assert found.accepted, found.assessment_reason


@dataclass(frozen=True)
class Shown:
    title: str
    snippet: str = ""


SNIPPETS = [
    ("a name", Shown("L2TP setup", "how to"), True),
    ("an identifier counts double", Shown("Fehlercode 809", "Was tun?"), True),
    ("generic words alone", Shown("Windows update error", "Fix problems after an update"), False),
    ("ordinary words only", Shown("Registry tips", "clean your PC"), False),
    ("another subject", Shown("Apple pie", "with cinnamon"), False),
    ("no snippet passes on its title", Shown("IPsec and NAT"), True),
    ("another code of the same kind", Shown("Fehler 691", "Kennwort falsch"), False),
]


@pytest.mark.parametrize(("hit", "passed"), [row[1:] for row in SNIPPETS], ids=[row[0] for row in SNIPPETS])
def test_title_and_snippet_must_share_an_anchor(hit: Shown, passed: bool) -> None:
    assert snippet_gate(hit, PAIR).passed is passed


def test_a_cosine_is_stretched_and_clipped() -> None:
    policy = EvidencePolicy(cosine_floor=0.2, cosine_ceiling=0.6)
    assert [similarity_to_unit(value, policy) for value in (-1.0, 0.2, 0.4, 0.6, 1.0)] == pytest.approx(
        [0, 0, 0.5, 1, 1]
    )


@given(st.lists(st.sampled_from("abcdefgh"), max_size=40), st.lists(st.sampled_from("abcdefgh"), max_size=40))
def test_overlap_is_symmetric_bounded_and_whole_for_an_excerpt(first: list[str], second: list[str]) -> None:
    one, two = shingles(" ".join(first)), shingles(" ".join(second))
    assert overlap(one, two) == overlap(two, one)
    assert 0.0 <= overlap(one, two) <= 1.0
    whole = shingles(" ".join([*second, *first]))
    if len(first) > 5:
        assert overlap(one, whole) == 1.0


def test_a_refused_text_keeps_nothing_for_the_next_one() -> None:
    refused = judge(Page(pages.BOTH_EN), score=Score(0.1))
    assert refused.grams == frozenset()
    assert replace(refused, accepted=True).grams == frozenset()


@pytest.mark.slow
@pytest.mark.parametrize("text", [pages.BOTH_EN, pages.BOTH_DE], ids=["en", "de"])
def test_the_bundled_model_finds_pages_of_both_languages_relevant(text: str) -> None:
    found = judge(Page(text), embedder=SentenceTransformerEmbedder(threads=1))
    assert found.accepted, found.assessment_reason
