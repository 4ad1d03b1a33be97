"""The extractive corrector: what was criticised goes or is replaced, the rest stays byte for byte."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from articles.codec import section_digests
from articles.correct import UNTOUCHED_CHANGED, correct_draft, criticised_parts, finding_views, untouched_changes
from articles.drafts import article_from_draft, draft_from_article
from articles.quality import Finding
from articles.roles import CorrectionBackground, CorrectionRequest
from articles.types import Article, Claim, items, section_items
from data.models import ArticleType
from tests.articles.corpus import KERBEROS, VPN, evidence
from tests.articles.runs import EMBEDDER, written


def corrected(
    topic: str, type_: ArticleType, names: Sequence[str], findings: Sequence[Finding]
) -> tuple[Article, Article]:
    article, brief = written(topic, "en", type_, evidence(*names))
    request = CorrectionRequest(
        background=CorrectionBackground(
            topic=topic,
            type=type_,
            language="en",
            directives=(),
            questions=brief.questions,
            passages=tuple(brief.shelf.passages),
            max_quote_words=25,
        ),
        draft=draft_from_article(article, brief.shelf),
        summary="",
        findings=finding_views(findings),
        round=1,
    )
    draft = correct_draft(request, EMBEDDER)
    return article, article_from_draft(draft, brief.shelf, topic=topic, type_=type_, language="en")


@pytest.mark.parametrize("place", ["how_it_works.0.0", "consequences.0.1", "summary.0.0"])
def test_a_criticised_sentence_goes_and_only_its_part_changes(place: str) -> None:
    finding = Finding("claim_unsupported", place, "not there")
    before, after = corrected("Kerberos ticket-granting ticket", ArticleType.CONCEPT, KERBEROS, [finding])
    gone = dict(items(before))[place]
    assert isinstance(gone, Claim)
    assert gone.text not in [item.text for _, item in items(after) if isinstance(item, Claim)]
    part = place.split(".", maxsplit=1)[0]
    old, new = section_digests(before), section_digests(after)
    assert {name for name in old.keys() | new.keys() if old.get(name) != new.get(name)} == {part}
    assert untouched_changes(before, after, criticised_parts([finding], before)) == []


def test_a_criticised_step_goes_and_none_is_invented() -> None:
    finding = Finding("ungrounded_step", "solution_steps.0.2", "not there")
    before, after = corrected("VPN error 809 on Windows 11", ArticleType.TROUBLESHOOTING, VPN, [finding])

    def count(article: Article) -> int:
        return sum(1 for s in article.sections if s.name == "solution_steps" for _ in section_items(s))

    assert count(after) == count(before) - 1


def test_a_long_run_is_broken_by_lead_ins_before_all_but_the_first() -> None:
    finding = Finding("verbatim_run", "how_it_works", "many words")
    before, after = corrected("Kerberos ticket-granting ticket", ArticleType.CONCEPT, KERBEROS, [finding])
    leads = [
        item.lead_in for place, item in items(after) if place.startswith("how_it_works.") and isinstance(item, Claim)
    ]
    assert leads[0] == ""
    assert all(leads[1:])
    said = [item.text for place, item in items(before) if place.startswith("how_it_works.") and isinstance(item, Claim)]
    assert said == [
        item.text for place, item in items(after) if place.startswith("how_it_works.") and isinstance(item, Claim)
    ]


def test_a_change_beyond_the_criticism_is_named() -> None:
    finding = Finding("claim_unsupported", "how_it_works.0.0", "not there")
    before, after = corrected("Kerberos ticket-granting ticket", ArticleType.CONCEPT, KERBEROS, [finding])
    assert untouched_changes(before, after, frozenset()) == ["how_it_works"]
    too_far = [Finding(UNTOUCHED_CHANGED, "consequences", "must stay")]
    assert criticised_parts(too_far, before) == frozenset()
