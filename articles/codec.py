"""An article as JSON and back; the way back goes through the evidence, so that no altered citation is read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from articles.types import (
    Article,
    Block,
    Citation,
    CitationError,
    Claim,
    Fact,
    FactTable,
    Option,
    OptionList,
    Paragraph,
    Section,
    SectionName,
    Source,
    Step,
    StepList,
)
from data.models import ArticleType

__all__ = ["article_from_content", "article_to_content", "content_digest", "section_digests"]


def article_to_content(article: Article) -> dict[str, Any]:
    """Return the article as JSON values; citations carry evidence id, digest, span and quote."""
    return {
        "type": article.type.value,
        "topic": article.topic,
        "language": article.language,
        "title": article.title,
        "summary": [_claim(claim) for claim in article.summary],
        "applies_to": [_fact(fact) for fact in article.applies_to],
        "sections": [_section(section) for section in article.sections],
    }


def _citations(citations: Sequence[Citation]) -> list[dict[str, Any]]:
    return [
        {"evidence": c.evidence_id, "sha256": c.sha256, "start": c.start, "end": c.end, "quote": c.quote}
        for c in citations
    ]


def _claim(claim: Claim) -> dict[str, Any]:
    return {"text": claim.text, "lead_in": claim.lead_in, "citations": _citations(claim.citations)}


def _fact(fact: Fact) -> dict[str, Any]:
    return {"term": fact.term, "description": fact.description, "citations": _citations(fact.citations)}


def _step(step: Step) -> dict[str, Any]:
    return {"text": step.text, "code": step.code, "lead_in": step.lead_in, "citations": _citations(step.citations)}


def _section(section: Section) -> dict[str, Any]:
    return {"name": section.name.value, "blocks": [_block(block) for block in section.blocks]}


def _block(block: Block) -> dict[str, Any]:
    match block:
        case Paragraph(claims=claims):
            return {"claims": [_claim(claim) for claim in claims]}
        case StepList(steps=steps):
            return {"steps": [_step(step) for step in steps]}
        case FactTable(facts=facts):
            return {"facts": [_fact(fact) for fact in facts]}
        case OptionList(options=options):
            return {"options": [{"name": o.name, "criteria": [_claim(c) for c in o.criteria]} for o in options]}


def article_from_content(content: Mapping[str, Any], evidence: Mapping[str, Source]) -> Article:
    """Return the article of stored `content`, each citation cut out of `evidence` (by id) anew.

    Raises CitationError where a quote is not what stands at its span, or its evidence is not given.
    """

    def cite(entries: Sequence[Mapping[str, Any]]) -> tuple[Citation, ...]:
        return tuple(_cite(entry, evidence) for entry in entries)

    def claim(entry: Mapping[str, Any]) -> Claim:
        return Claim(entry["text"], cite(entry["citations"]), entry["lead_in"])

    def fact(entry: Mapping[str, Any]) -> Fact:
        return Fact(entry["term"], entry["description"], cite(entry["citations"]))

    def block(entry: Mapping[str, Any]) -> Block:
        if "claims" in entry:
            return Paragraph(tuple(claim(one) for one in entry["claims"]))
        if "steps" in entry:
            return StepList(
                tuple(Step(one["text"], cite(one["citations"]), one["code"], one["lead_in"]) for one in entry["steps"])
            )
        if "facts" in entry:
            return FactTable(tuple(fact(one) for one in entry["facts"]))
        return OptionList(
            tuple(Option(one["name"], tuple(claim(c) for c in one["criteria"])) for one in entry["options"])
        )

    return Article(
        type=ArticleType(content["type"]),
        topic=content["topic"],
        language=content["language"],
        title=content["title"],
        summary=tuple(claim(one) for one in content["summary"]),
        applies_to=tuple(fact(one) for one in content["applies_to"]),
        sections=tuple(
            Section(SectionName(one["name"]), tuple(block(entry) for entry in one["blocks"]))
            for one in content["sections"]
        ),
    )


def _cite(entry: Mapping[str, Any], evidence: Mapping[str, Source]) -> Citation:
    source = evidence.get(entry["evidence"])
    if source is None:
        raise CitationError(f"the evidence {entry['evidence']} of a citation is not at hand")
    citation = Citation(source, entry["start"], entry["end"])
    if citation.quote != entry["quote"] or citation.sha256 != entry["sha256"]:
        raise CitationError(
            f"at {entry['start']}..{entry['end']} of {entry['evidence']} stands another text than was cited"
        )
    return citation


def _without_ids(value: Any) -> Any:
    # evidence ids differ from home to home; the texts' digests say what is cited
    if isinstance(value, dict):
        return {key: _without_ids(inner) for key, inner in value.items() if key != "evidence"}
    if isinstance(value, list):
        return [_without_ids(inner) for inner in value]
    return value


def _digest(value: Any) -> str:
    text = json.dumps(_without_ids(value), ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def content_digest(article: Article) -> str:
    """Return the SHA-256 (hex) of everything the article says and cites, ids of this home left out."""
    return _digest(article_to_content(article))


def section_digests(article: Article) -> dict[str, str]:
    """Return a digest for each part: `title`, `summary`, `applies_to` and every section by its name."""
    content = article_to_content(article)
    parts = {name: _digest(content[name]) for name in ("title", "summary", "applies_to")}
    return parts | {section["name"]: _digest(section) for section in content["sections"]}
