"""The corrector: only what was criticised is removed or replaced; code proves that the rest stayed (spec 06).

The extractive corrector takes out what has no ground and puts another sentence of the brief in its place where one is
left; it breaks runs that are too long, and answers a question that stayed open from the passages that answer it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from articles.author import fresh_claims, public_title
from articles.codec import section_digests
from articles.phrases import STEP_LEAD_INS
from articles.quality import Finding
from articles.roles import (
    ArticleDraft,
    CorrectionRequest,
    DraftClaim,
    DraftFact,
    DraftOption,
    DraftSection,
    DraftStep,
    FindingView,
)
from articles.types import Article, SectionName
from research.private import DEFAULT_POLICY, GuardPolicy
from vector.embed import Embedder

__all__ = ["UNTOUCHED_CHANGED", "correct_draft", "criticised_parts", "finding_views", "untouched_changes"]

UNTOUCHED_CHANGED: Final = "untouched_part_changed"


def finding_views(findings: Sequence[Finding]) -> tuple[FindingView, ...]:
    """Return findings as a corrector is shown them."""
    return tuple(FindingView(code=f.code, place=f.place, detail=f.detail) for f in findings)


def criticised_parts(findings: Sequence[Finding], article: Article) -> frozenset[str]:
    """Return the parts (`title`, `summary`, `applies_to`, section names) that a correction may change.

    A finding about the whole article opens all of its parts; an unanswered question opens its section, there or not.
    """
    parts: set[str] = set()
    for finding in findings:
        if finding.code == UNTOUCHED_CHANGED:
            continue  # that a corrector went too far opens nothing to it
        if not finding.place:
            parts |= section_digests(article).keys() - {"title"}
            parts.add(SectionName.DETAILS.value)
        else:
            parts.add(finding.place.split(".")[0])
    return frozenset(parts)


def untouched_changes(before: Article, after: Article, criticised: frozenset[str]) -> list[str]:
    """Return the parts that were not criticised and are not byte for byte what they were."""
    old, new = section_digests(before), section_digests(after)
    return sorted(part for part in old.keys() | new.keys() if part not in criticised and old.get(part) != new.get(part))


def correct_draft(request: CorrectionRequest, embedder: Embedder, guard: GuardPolicy = DEFAULT_POLICY) -> ArticleDraft:
    """Return the corrected draft. Blocking where a sentence has to be replaced."""
    draft = request.draft
    places = {finding.place for finding in request.findings}
    codes: dict[str, set[str]] = {}
    for finding in request.findings:
        codes.setdefault(finding.place, set()).add(finding.code)
    if "title" in places:
        background = request.background
        title = public_title(background.topic, background.type, background.language, guard)
        draft = draft.model_copy(update={"title": title})
    if any(place.startswith("summary.") for place in places):
        draft = draft.model_copy(update={"summary": _kept(draft.summary, "summary.0", places)})
    if any(place.startswith("applies_to.") for place in places):
        draft = draft.model_copy(update={"applies_to": _kept(draft.applies_to, "applies_to.0", places)})
    sections = [_corrected(section, places, codes) for section in draft.sections]
    draft = draft.model_copy(update={"sections": tuple(section for section in sections if _holds_anything(section))})
    return _refilled(draft, request, embedder, guard)


def _kept(entries: tuple, prefix: str, places: set[str]) -> tuple:  # type: ignore[type-arg]
    return tuple(entry for index, entry in enumerate(entries) if f"{prefix}.{index}" not in places)


def _holds_anything(section: DraftSection) -> bool:
    return bool(section.paragraphs or section.steps or section.facts or section.options)


def _corrected(section: DraftSection, places: set[str], codes: dict[str, set[str]]) -> DraftSection:
    """Return `section` without its criticised items; block numbers are those of the article made of the draft."""
    name = section.name.value
    if not any(place == name or place.startswith(f"{name}.") for place in places):
        return section
    block = 0
    paragraphs: list[tuple[DraftClaim, ...]] = []
    for group in section.paragraphs:
        if group:
            kept: tuple[DraftClaim, ...] = _kept(group, f"{name}.{block}", places)
            paragraphs.append(kept)
            block += 1
    steps: tuple[DraftStep, ...] = _kept(section.steps, f"{name}.{block}", places)
    block += bool(section.steps)
    facts: tuple[DraftFact, ...] = _kept(section.facts, f"{name}.{block}", places)
    block += bool(section.facts)
    options: list[DraftOption] = []
    for index, option in enumerate(section.options):
        criteria: tuple[DraftClaim, ...] = _kept(option.criteria, f"{name}.{block}.{index}", places)
        if criteria:
            options.append(option.model_copy(update={"criteria": criteria}))
    changed = DraftSection(
        name=section.name,
        paragraphs=tuple(group for group in paragraphs if group),
        steps=steps,
        facts=facts,
        options=tuple(options),
    )
    own = codes.get(name, set())
    if "section_too_long" in own and changed.paragraphs:
        changed = changed.model_copy(update={"paragraphs": (*changed.paragraphs[:-1], changed.paragraphs[-1][:-1])})
    return _broken_up(changed) if "verbatim_run" in own else changed


def _broken_up(section: DraftSection) -> DraftSection:
    """Return `section` with a lead-in before every claim and every step but the first."""
    number = -1
    paragraphs = []
    for group in section.paragraphs:
        claims = []
        for claim in group:
            number += 1
            lead = "" if number == 0 else "also" if number % 2 else "adds"
            claims.append(claim.model_copy(update={"lead_in": claim.lead_in or lead}))
        paragraphs.append(tuple(claims))
    steps = tuple(
        step.model_copy(update={"lead_in": step.lead_in or (STEP_LEAD_INS[index % 3] if index else "")})
        for index, step in enumerate(section.steps)
    )
    return section.model_copy(update={"paragraphs": tuple(paragraphs), "steps": steps})


def _refilled(draft: ArticleDraft, request: CorrectionRequest, embedder: Embedder, guard: GuardPolicy) -> ArticleDraft:
    """Return `draft` with fresh sentences where criticised sections lost theirs, or a question stayed open."""
    wanted: list[SectionName] = []
    for finding in request.findings:
        part = finding.place.split(".")[0]
        if finding.code in {"too_short", "too_few_sections"}:
            wanted += [section.name for section in draft.sections if section.paragraphs] + [SectionName.DETAILS]
        elif part in SectionName.__members__.values() and part not in {"title", "summary", "applies_to"}:
            name = SectionName(part)
            if finding.code.startswith(("question_", "missing_section")) or not finding.place.endswith(part):
                wanted.append(name)
    sections = {section.name: section for section in draft.sections}
    for name in dict.fromkeys(wanted):
        present = sections.get(name)
        if present is not None and (present.steps or present.facts or present.options):
            continue
        # what was taken out must not come back: everything the criticised draft said counts as said
        said = (*request.draft.sections, *sections.values())
        claims = fresh_claims(request.background, said, request.draft.summary, name, embedder, guard)
        if claims:
            paragraphs = (*(present.paragraphs if present else ()), claims)
            sections[name] = DraftSection(name=name, paragraphs=paragraphs)
    order = [section.name for section in draft.sections]
    order += [name for name in sections if name not in order]
    return draft.model_copy(update={"sections": tuple(sections[name] for name in order if name in sections)})
