"""The final gates: what must hold of the very content that is staged (spec 06; pure)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from articles.policies import ArticlePolicy
from articles.quality import QualityReport
from articles.review import ReviewResult
from articles.types import Article, Source, cited_evidence, items, structure_errors
from data.models import SourceClass
from data.text import label_key

__all__ = ["AUTHORITATIVE", "evidence_reason", "final_reasons"]

AUTHORITATIVE: Final = frozenset({SourceClass.OFFICIAL, SourceClass.STANDARD, SourceClass.VENDOR, SourceClass.OWN})
"""Classes of which a single publisher is enough."""


def evidence_reason(evidence: Iterable[Source], policy: ArticlePolicy) -> str | None:
    """Return `not_enough_evidence` or `not_enough_publishers` where `evidence` is, None where it suffices."""
    records = {source.evidence.sha256: source.evidence for source in evidence if source.evidence.accepted}
    if len(records) < policy.min_evidence:
        return "not_enough_evidence"
    publishers = {label_key(record.publisher) for record in records.values() if record.publisher.strip()}
    authoritative = any(record.source_quality in AUTHORITATIVE for record in records.values())
    if len(publishers) < policy.min_publishers and not authoritative:
        return "not_enough_publishers"
    return None


def final_reasons(
    article: Article,
    digest: str,
    evidence: Mapping[str, Source],
    quality: QualityReport,
    reviews: Sequence[ReviewResult],
    policy: ArticlePolicy,
) -> list[str]:
    """Return why the article may not be staged, in order; empty where it may.

    Counts the evidence that the article cites, resolves every citation once more, and takes no review for granted
    that was made of another content.
    """
    reasons = list(structure_errors(article))
    cited = [evidence[one] for one in cited_evidence(article) if one in evidence]
    if reason := evidence_reason(cited, policy):
        reasons.append(reason)
    if not quality.passed:
        reasons.append("open_findings")
    passed = {review.kind for review in reviews if review.passed and review.digest == digest}
    reasons += [f"review_not_passed:{kind}" for kind in ("claims", "coverage") if kind not in passed]
    for _, item in items(article):
        for citation in item.citations:
            source = evidence.get(citation.evidence_id)
            if source is None or source.text[citation.start : citation.end] != citation.quote:
                reasons.append("unresolved_citation")
    return list(dict.fromkeys(reasons))
