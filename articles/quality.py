"""CPU quality: deterministic checks before any reviewer (spec 06; pure but for the embedder handed in).

Every check is a function of its own with its own finding code. A report passes with no finding at all: there is no
score that outweighs one. The score tells how many of the checks found nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from articles.agreement import agreement, missing_code, missing_numbers, verdict
from articles.markup import markup_faults
from articles.phrases import lead_in_text
from articles.plaintext import plain, prose_words, run_index
from articles.render import render_markdown
from articles.sentences import in_language
from articles.steps import is_concrete
from articles.types import Article, Claim, Fact, FactTable, Item, Source, Step, item_text, items, section_items
from data.models import ArticleType, SourceClass
from data.text import terms
from research.guard import GuardPolicy, PrivateKind, private_tokens
from research.private import DEFAULT_POLICY
from vector.embed import Embedder

__all__ = ["CHECKS", "Finding", "QualityPolicy", "QualityReport", "cpu_quality"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing wrong. `place` is `section.block.item`, a section's name, or "" for the whole article."""

    code: str
    place: str
    detail: str


@dataclass(frozen=True, slots=True)
class QualityPolicy:
    """The thresholds. Depths are what a reader needs at least of each type, below the shortest good article of the
    shipped sample and the Debian manuals; they are never lowered for a single article (rule 4)."""

    min_words: Mapping[ArticleType, int] = field(
        default_factory=lambda: {
            ArticleType.TROUBLESHOOTING: 90,
            ArticleType.HOW_TO: 60,
            ArticleType.REFERENCE: 60,
            ArticleType.CONCEPT: 80,
            ArticleType.DECISION_GUIDE: 70,
        }
    )
    max_sentence_words: int = 45
    """With code; as the author's own limit and a little more for a model."""
    max_section_words: int = 450
    max_quote_words: int = 25
    """BRAIN_ARTICLE_MAX_QUOTE_WORDS."""
    min_step_words: float = 0.60
    """Share of a step's terms that its citation holds."""
    min_step_cosine: float = 0.40
    """Of step and citation; only for a step that is not verbatim."""
    same_words: float = 0.80
    """Jaccard of terms from which one sentence repeats another."""
    guard: GuardPolicy = DEFAULT_POLICY


@dataclass(frozen=True, slots=True)
class QualityReport:
    passed: bool
    score: float
    """Share of the checks that found nothing, 0 to 1."""
    findings: tuple[Finding, ...]

    def as_json(self) -> dict[str, Any]:
        return {
            "passed": self.passed,
            "score": round(self.score, 4),
            "findings": [{"code": f.code, "place": f.place, "detail": f.detail} for f in self.findings],
        }


@dataclass(frozen=True)
class _Case:
    article: Article
    evidence: Mapping[str, Source]
    policy: QualityPolicy
    embedder: Embedder | None


def _words(item: Item) -> int:
    return len(item_text(item).split())


def check_depth(case: _Case) -> Iterator[Finding]:
    """`too_short`: fewer words than the type needs; `too_few_sections`: a single section is no article."""
    total = sum(_words(item) for _, item in items(case.article))
    least = case.policy.min_words[case.article.type]
    if total < least:
        yield Finding("too_short", "", f"{total} words, at least {least} for a {case.article.type.value}")
    if len(case.article.sections) < 2:
        yield Finding("too_few_sections", "", f"{len(case.article.sections)} sections, at least 2")


def check_cited(case: _Case) -> Iterator[Finding]:
    """`uncited_claim`, `uncited_step`, `uncited_fact`: a statement without a span of evidence."""
    for place, item in items(case.article):
        if not item.citations:
            kind = {Claim: "claim", Step: "step", Fact: "fact"}[type(item)]
            yield Finding(f"uncited_{kind}", place, item_text(item))


def check_evidence(case: _Case) -> Iterator[Finding]:
    """`unknown_evidence`, `unaccepted_evidence`, `altered_span`: a citation of what may not be cited."""
    for place, item in items(case.article):
        for citation in item.citations:
            source = case.evidence.get(citation.evidence_id)
            if source is None:
                yield Finding("unknown_evidence", place, "the cited evidence is not at hand")
            elif not source.evidence.accepted:
                yield Finding("unaccepted_evidence", place, f"the cited text was refused: {source.evidence.title}")
            elif source.text[citation.start : citation.end] != citation.quote:
                yield Finding("altered_span", place, "the evidence holds another text at the cited span")


def check_steps(case: _Case) -> Iterator[Finding]:
    """`vague_step`: nothing a person could carry out; `ungrounded_step`: its citation says something else."""
    for place, item in items(case.article):
        if not isinstance(item, Step):
            continue
        if not is_concrete(item.text, item.code):
            yield Finding("vague_step", place, item.text)
        if not item.citations:
            continue
        quotes = [citation.quote for citation in item.citations]
        found = agreement(item.text, quotes, case.article.language, item.code)
        if found.verbatim:
            continue
        if found.words < case.policy.min_step_words:
            yield Finding("ungrounded_step", place, f"only {found.words:.0%} of its terms stand in its citation")
        elif case.embedder is not None:
            near = _cosine(case.embedder, item.text, " ".join(map(plain, quotes)))
            if near < case.policy.min_step_cosine:
                yield Finding("ungrounded_step", place, f"meaning too far from its citation ({near:.2f})")


def check_claims(case: _Case) -> Iterator[Finding]:
    """`ungrounded_claim`, `ungrounded_fact`, `altered_step`: says something else than its citation.

    Words, numbers, names, negations and order alone; the claim review judges meaning beside them and lets one claim in
    ten be less than supported. What contradicts its citation, or is not in it, is not let through by that tenth.
    """
    for place, item in items(case.article):
        quotes = [citation.quote for citation in item.citations]
        if not quotes:
            continue
        code = item.code if isinstance(item, Step) else ""
        judged, reason = verdict(agreement(item_text(item), quotes, case.article.language, code), 1.0)
        if judged in {"contradicted", "unsupported"}:
            kind = {Claim: "ungrounded_claim", Step: "altered_step", Fact: "ungrounded_fact"}[type(item)]
            yield Finding(kind, place, reason)


def _cosine(embedder: Embedder, one: str, other: str) -> float:
    vectors = embedder.encode([one, other])
    return float(np.dot(vectors[0], vectors[1]))


def check_repetition(case: _Case) -> Iterator[Finding]:
    """`repetition`: a sentence that says again what stands before it."""
    said: list[tuple[str, frozenset[str]]] = []
    for place, item in items(case.article):
        if place.startswith("applies_to."):
            continue
        code = item.code if isinstance(item, Step) else ""
        mine = frozenset(terms(f"{item_text(item)} {code}", case.article.language))
        for other_place, other in said:
            if mine and len(mine & other) / len(mine | other) >= case.policy.same_words:
                yield Finding("repetition", place, f"repeats {other_place}: {item_text(item)}")
                break
        said.append((place, mine))


_PLACEHOLDER: Final = re.compile(
    r"\b(?:TODO|TBD|FIXME|XXX|lorem ipsum|n/a|platzhalter|placeholder|noch (?:zu )?ergänzen|insert (?:text|here)|"
    r"your (?:text|content) here|hier (?:text|inhalt) einfügen)\b|\[(?:\.{3}|…|insert[^\]]*|einfügen[^\]]*)\]|\?\?\?",
    re.IGNORECASE,
)


def check_placeholders(case: _Case) -> Iterator[Finding]:
    """`placeholder`: text that stands for text."""
    if _PLACEHOLDER.search(case.article.title) or not case.article.title.strip():
        yield Finding("placeholder", "title", case.article.title)
    for place, item in items(case.article):
        if match := _PLACEHOLDER.search(item_text(item)):
            yield Finding("placeholder", place, match.group())


def check_language(case: _Case) -> Iterator[Finding]:
    """`mixed_language`: a sentence or a cited text in another language than the article's."""
    for place, item in items(case.article):
        if not in_language(item_text(item), case.article.language):
            yield Finding("mixed_language", place, item_text(item))


_INTERNAL: Final = re.compile(r"(?<![A-Za-z0-9])[a-z]_[0-9A-HJKMNP-TV-Z]{26}(?![A-Za-z0-9])", re.IGNORECASE)


def check_internal_ids(case: _Case) -> Iterator[Finding]:
    """`internal_id`: an id of the store in a title, a sentence or a command."""
    for place, text in _texts(case.article):
        if match := _INTERNAL.search(text):
            yield Finding("internal_id", place, match.group())


_ALWAYS_PRIVATE: Final = frozenset({PrivateKind.NODE_ID, PrivateKind.PRIVATE_TERM})


def check_private(case: _Case) -> Iterator[Finding]:
    """`private_term`: what must not leave the house.

    A configured term never may. Addresses, hosts, accounts and the like are private in the title and where they come
    from the house's own documents; in a public text they are that text's examples.
    """
    for found in private_tokens(case.article.title, case.policy.guard):
        yield Finding("private_term", "title", f"{found.kind.value} in the title")
    for place, item in items(case.article):
        own = any(
            (source := case.evidence.get(citation.evidence_id)) is not None
            and source.evidence.source_quality is SourceClass.OWN
            for citation in item.citations
        )
        kinds = frozenset(PrivateKind) if own else _ALWAYS_PRIVATE
        code = item.code if isinstance(item, Step) else ""
        for found in private_tokens(f"{item_text(item)} {code}", case.policy.guard, kinds=kinds):
            yield Finding("private_term", place, f"{found.kind.value} in the text")


def check_commands(case: _Case) -> Iterator[Finding]:
    """`command_not_in_evidence`: a command, path or setting that its citation does not hold literally."""
    for place, item in items(case.article):
        quotes = [citation.quote for citation in item.citations]
        for token in missing_code(item_text(item), quotes):
            yield Finding("command_not_in_evidence", place, token)
        if isinstance(item, Step) and item.code and not _holds_code(item.code, quotes):
            yield Finding("command_not_in_evidence", place, item.code.splitlines()[0])


def _holds_code(code: str, quotes: list[str]) -> bool:
    wanted = [line.strip() for line in code.splitlines() if line.strip()]
    return any(wanted == [line.strip() for line in quote.splitlines() if line.strip()] for quote in quotes)


def check_numbers(case: _Case) -> Iterator[Finding]:
    """`number_not_in_evidence`: a number, version or identifier that the citation does not hold."""
    for number in missing_numbers(case.article.title, case.article.topic):
        if not any(number in source.text for source in case.evidence.values()):
            yield Finding("number_not_in_evidence", "title", number)
    for place, item in items(case.article):
        cited = " ".join(citation.quote for citation in item.citations)
        for number in missing_numbers(item_text(item), cited):
            yield Finding("number_not_in_evidence", place, number)


def check_verbatim(case: _Case) -> Iterator[Finding]:
    """`verbatim_run`: more consecutive words of one source than the limit, counted across joined sentences.

    Lead-ins are our words and end a run, as they do for a reader; code is not counted. Rows of a table are no running
    text and are counted one by one.
    """
    length = case.policy.max_quote_words + 1
    cited = {citation.evidence_id for _, item in items(case.article) for citation in item.citations}
    indexes = [run_index(case.evidence[one].text, length) for one in sorted(cited) if one in case.evidence]
    for place, words in _running_texts(case.article):
        runs = (tuple(words[i : i + length]) for i in range(len(words) - length + 1))
        hit = next((run for run in runs if any(run in index for index in indexes)), None)
        if hit is not None:
            yield Finding("verbatim_run", place, " ".join(hit))


def _running_texts(article: Article) -> Iterator[tuple[str, list[str]]]:
    def joined(entries: Iterator[tuple[str, Item]]) -> list[str]:
        words: list[str] = []
        for _, item in entries:
            lead = item.lead_in if isinstance(item, Claim | Step) else ""
            words += prose_words(lead_in_text(lead, article.language)) + prose_words(item_text(item))
        return words

    yield "summary", joined((place, item) for place, item in items(article) if place.startswith("summary."))
    for section in article.sections:
        if any(isinstance(block, FactTable) for block in section.blocks):
            for place, item in section_items(section):
                yield place, prose_words(item_text(item))
        else:
            yield section.name.value, joined(section_items(section))


def check_length(case: _Case) -> Iterator[Finding]:
    """`sentence_too_long`, `section_too_long`: hard to read at one go."""
    for place, item in items(case.article):
        if _words(item) > case.policy.max_sentence_words:
            yield Finding("sentence_too_long", place, f"{_words(item)} words")
    for section in case.article.sections:
        total = sum(_words(item) for _, item in section_items(section))
        if total > case.policy.max_section_words:
            yield Finding("section_too_long", section.name.value, f"{total} words")


def check_markdown(case: _Case) -> Iterator[Finding]:
    """`invalid_markdown`: what the renderer made cannot be read back as it was meant."""
    known = {one: source.evidence for one, source in case.evidence.items()}
    try:
        text = render_markdown(case.article, known)
    except KeyError:
        return  # unknown evidence has its own finding
    for fault in markup_faults(text):
        yield Finding("invalid_markdown", "", fault)


def _texts(article: Article) -> Iterator[tuple[str, str]]:
    yield "title", article.title
    for place, item in items(article):
        yield place, f"{item_text(item)} {item.code}" if isinstance(item, Step) else item_text(item)


CHECKS: Final[tuple[Callable[[_Case], Iterator[Finding]], ...]] = (
    check_cited,
    check_evidence,
    check_numbers,
    check_commands,
    check_depth,
    check_steps,
    check_claims,
    check_repetition,
    check_placeholders,
    check_language,
    check_internal_ids,
    check_private,
    check_verbatim,
    check_length,
    check_markdown,
)
"""In the order in which a corrector should read what they find: what has no ground first."""


def cpu_quality(
    article: Article,
    evidence: Mapping[str, Source],
    policy: QualityPolicy = QualityPolicy(),
    *,
    embedder: Embedder | None = None,
) -> QualityReport:
    """Return what the checks find in `article` against the evidence (by id) it may cite.

    `embedder` serves the grounding of steps that are not verbatim; without one they are judged by words alone.
    """
    case = _Case(article, evidence, policy, embedder)
    results = [tuple(check(case)) for check in CHECKS]
    findings = tuple(finding for found in results for finding in found)
    return QualityReport(not findings, sum(not found for found in results) / len(results), findings)
