"""What an article is, what each type must contain, and what its structure may lack (spec 06).

An article is sections of blocks, and every claim, step, fact and criterion carries citations. A
`Citation` is cut out of the evidence's full text when it is made: one without a verbatim span cannot exist.
All offsets are code points in the stored full text, end exclusive.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import InitVar, dataclass, field
from enum import StrEnum
from typing import Final, Protocol

from data.models import ArticleType, Evidence
from data.text import label_key

__all__ = [
    "MIN_FACTS",
    "MIN_OPTIONS",
    "MIN_SOLUTION_STEPS",
    "MIN_VALIDATION_STEPS",
    "OPERATIONAL",
    "REQUIRED_SECTIONS",
    "Article",
    "Block",
    "Citation",
    "CitationError",
    "Claim",
    "Fact",
    "FactTable",
    "Item",
    "Option",
    "OptionList",
    "Paragraph",
    "Section",
    "SectionName",
    "Source",
    "Step",
    "StepList",
    "cited_evidence",
    "item_text",
    "items",
    "section_items",
    "structure_errors",
    "topic_key",
]


class SectionName(StrEnum):
    SYMPTOMS = "symptoms"
    CAUSE = "cause"
    DIAGNOSIS = "diagnosis"
    GOAL = "goal"
    PREREQUISITES = "prerequisites"
    SOLUTION_STEPS = "solution_steps"
    VALIDATION_STEPS = "validation_steps"
    SCOPE = "scope"
    FACTS = "facts"
    DEFINITION = "definition"
    HOW_IT_WORKS = "how_it_works"
    CONSEQUENCES = "consequences"
    QUESTION = "question"
    OPTIONS = "options"
    RECOMMENDATION = "recommendation"
    DETAILS = "details"
    """Answers to the task's own questions that have no place in the type's sections; never required."""


OPERATIONAL: Final = frozenset({ArticleType.TROUBLESHOOTING, ArticleType.HOW_TO})

MIN_SOLUTION_STEPS: Final = 3
MIN_VALIDATION_STEPS: Final = 1
MIN_FACTS: Final = 5
MIN_OPTIONS: Final = 2

REQUIRED_SECTIONS: Final[Mapping[ArticleType, tuple[SectionName, ...]]] = {
    ArticleType.TROUBLESHOOTING: (
        SectionName.SYMPTOMS,
        SectionName.CAUSE,
        SectionName.DIAGNOSIS,
        SectionName.SOLUTION_STEPS,
        SectionName.VALIDATION_STEPS,
    ),
    ArticleType.HOW_TO: (
        SectionName.GOAL,
        SectionName.PREREQUISITES,
        SectionName.SOLUTION_STEPS,
        SectionName.VALIDATION_STEPS,
    ),
    ArticleType.REFERENCE: (SectionName.SCOPE, SectionName.FACTS),
    ArticleType.CONCEPT: (SectionName.DEFINITION, SectionName.HOW_IT_WORKS, SectionName.CONSEQUENCES),
    ArticleType.DECISION_GUIDE: (SectionName.QUESTION, SectionName.OPTIONS, SectionName.RECOMMENDATION),
}
"""The sections of each type in reading order (table of spec 06)."""


class Source(Protocol):
    """An evidence with its full text; `data.evidence.EvidenceText` is one. Keeps this module free of the store."""

    @property
    def evidence(self) -> Evidence: ...

    @property
    def text(self) -> str: ...


class CitationError(ValueError):
    """A citation that its evidence does not hold: span out of bounds, blank, or altered text."""


@dataclass(frozen=True, slots=True)
class Citation:
    """A verbatim span of one evidence; `quote` and `evidence_id` are taken from the text, never given."""

    source: InitVar[Source]
    start: int
    end: int
    evidence_id: str = field(init=False)
    sha256: str = field(init=False)
    quote: str = field(init=False)

    def __post_init__(self, source: Source) -> None:
        if not 0 <= self.start < self.end <= len(source.text):
            raise CitationError(
                f"span {self.start}..{self.end} is outside the {len(source.text)} characters of {source.evidence.id}"
            )
        quote = source.text[self.start : self.end]
        if not quote.strip():
            raise CitationError(f"span {self.start}..{self.end} of {source.evidence.id} is blank")
        object.__setattr__(self, "evidence_id", source.evidence.id)
        object.__setattr__(self, "sha256", source.evidence.sha256)
        object.__setattr__(self, "quote", quote)


@dataclass(frozen=True, slots=True)
class Claim:
    """One sentence. `lead_in` is a key of the fixed phrase table (articles/phrases.py) and states no fact."""

    text: str
    citations: tuple[Citation, ...]
    lead_in: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction a person can carry out; `code` is what to type or to write into a file, exactly."""

    text: str
    citations: tuple[Citation, ...]
    code: str = ""
    lead_in: str = ""


@dataclass(frozen=True, slots=True)
class Fact:
    term: str
    description: str
    citations: tuple[Citation, ...]


@dataclass(frozen=True, slots=True)
class Option:
    """One of the things to decide between, with the criteria that speak for or against it."""

    name: str
    criteria: tuple[Claim, ...]


@dataclass(frozen=True, slots=True)
class Paragraph:
    claims: tuple[Claim, ...]


@dataclass(frozen=True, slots=True)
class StepList:
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class FactTable:
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class OptionList:
    options: tuple[Option, ...]


Block = Paragraph | StepList | FactTable | OptionList
Item = Claim | Step | Fact


@dataclass(frozen=True, slots=True)
class Section:
    name: SectionName
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Article:
    type: ArticleType
    topic: str
    language: str
    """`de` or `en`: the language of every sentence in it."""
    title: str
    summary: tuple[Claim, ...]
    applies_to: tuple[Fact, ...]
    """Product (term) and version (description), only where the evidence names one."""
    sections: tuple[Section, ...]

    def section(self, name: SectionName) -> Section | None:
        return next((section for section in self.sections if section.name is name), None)


def topic_key(topic: str, language: str) -> str:
    """Return the key under which there is one active article: the language and the topic's label key.

    Word order stays in the key: migrating from A to B is not migrating from B to A.
    """
    return f"{language}:{label_key(topic)}"


def section_items(section: Section) -> Iterator[tuple[str, Item]]:
    """Yield (place, item) in reading order; a place reads `section.block.item[.criterion]`, from 0."""
    for number, block in enumerate(section.blocks):
        prefix = f"{section.name}.{number}"
        match block:
            case Paragraph(claims=claims):
                yield from ((f"{prefix}.{index}", claim) for index, claim in enumerate(claims))
            case StepList(steps=steps):
                yield from ((f"{prefix}.{index}", step) for index, step in enumerate(steps))
            case FactTable(facts=facts):
                yield from ((f"{prefix}.{index}", fact) for index, fact in enumerate(facts))
            case OptionList(options=options):
                for index, option in enumerate(options):
                    for criterion, claim in enumerate(option.criteria):
                        yield f"{prefix}.{index}.{criterion}", claim


def items(article: Article) -> Iterator[tuple[str, Item]]:
    """Yield every (place, claim, step or fact) of the article, summary and applies-to first."""
    for index, claim in enumerate(article.summary):
        yield f"summary.0.{index}", claim
    for index, fact in enumerate(article.applies_to):
        yield f"applies_to.0.{index}", fact
    for section in article.sections:
        yield from section_items(section)


def item_text(item: Item) -> str:
    """Return what the item says, without lead-in and code: a fact reads as `term: description`."""
    return f"{item.term}: {item.description}" if isinstance(item, Fact) else item.text


def cited_evidence(article: Article) -> tuple[str, ...]:
    """Return the evidence ids in order of their first citation: the numbers of the source list."""
    return tuple(dict.fromkeys(citation.evidence_id for _, item in items(article) for citation in item.citations))


def structure_errors(article: Article) -> list[str]:
    """Return what the type demands and the article lacks, in the words of spec 06; empty when whole.

    Step and fact counts come first: they decide about the one reconsideration. A section that is missing
    because its steps are is told as the steps' error alone.
    """
    errors: list[str] = []
    steps = _count(article, SectionName.SOLUTION_STEPS, StepList)
    if article.type in OPERATIONAL:
        if steps < MIN_SOLUTION_STEPS:
            errors.append("insufficient_solution_steps")
        if _count(article, SectionName.VALIDATION_STEPS, StepList) < MIN_VALIDATION_STEPS:
            errors.append("missing_validation_steps")
    if article.type is ArticleType.REFERENCE and _count(article, SectionName.FACTS, FactTable) < MIN_FACTS:
        errors.append("too_few_facts")
    if article.type is ArticleType.DECISION_GUIDE and _options_with_criteria(article) < MIN_OPTIONS:
        errors.append("too_few_options")
    counted = {
        SectionName.SOLUTION_STEPS,
        SectionName.VALIDATION_STEPS,
        SectionName.FACTS,
        SectionName.OPTIONS,
    }
    for name in REQUIRED_SECTIONS[article.type]:
        section = article.section(name)
        if name not in counted and (section is None or not any(section_items(section))):
            errors.append(f"missing_section:{name}")
    errors += [
        f"uncited_section:{section.name}"
        for section in article.sections
        if any(True for _ in section_items(section)) and not all(item.citations for _, item in section_items(section))
    ]
    return errors


def _count(article: Article, name: SectionName, kind: type[StepList] | type[FactTable]) -> int:
    section = article.section(name)
    if section is None:
        return 0
    return sum(
        len(block.steps if isinstance(block, StepList) else block.facts)
        for block in section.blocks
        if isinstance(block, kind) and isinstance(block, StepList | FactTable)
    )


def _options_with_criteria(article: Article) -> int:
    section = article.section(SectionName.OPTIONS)
    if section is None:
        return 0
    options = [option for block in section.blocks if isinstance(block, OptionList) for option in block.options]
    return sum(1 for option in options if option.criteria)
