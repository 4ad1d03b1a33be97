"""The extractive planner: which type the evidence can carry, and to which it is replanned once (spec 06).

The rules are those of the seed (workflow integrity, section 3): an operational type only where concrete steps stand
in the sources, hardening, prevention, mapping and mechanisms are no troubleshooting by themselves, and where three
steps will not be found a non-operational type is preferred. `skip` is an answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from articles.cues import names_doing, subject_pattern
from articles.facts import FactCandidate, option_names
from articles.material import facts_of, statements_of
from articles.procedures import procedure
from articles.relevance import TopicModel, index_of, topic_model
from articles.roles import ArticlePlan, ArticlePlanRequest, PassageView, Reconsideration, ReconsiderRequest
from articles.selection import FLOOR, sentence_score
from articles.tables import FACT_TOPIC
from articles.types import MIN_FACTS, MIN_OPTIONS, MIN_SOLUTION_STEPS, MIN_VALIDATION_STEPS, SectionName
from data.models import ArticleType
from data.text import IdentifierClass, identifiers, terms

__all__ = ["Carrying", "carrying", "plan_article", "reconsider_type"]

QUOTE_WORDS: Final = 25
"""As the author's limit: what cannot be quoted within it cannot be counted on."""
_CODES: Final = frozenset(
    {
        IdentifierClass.ERROR_CODE,
        IdentifierClass.SYSTEM_CODE,
        IdentifierClass.HTTP_STATUS,
        IdentifierClass.VENDOR_CODE,
    }
)


@dataclass(frozen=True, slots=True)
class Carrying:
    """What the passages hold for each type; counts of usable parts about the topic."""

    steps: int
    checks: int
    causes: int
    symptoms: int
    facts: int
    hard_facts: int
    definitions: int
    workings: int
    consequences: int
    options: int
    recommendations: int
    scopes: int

    @property
    def types(self) -> frozenset[ArticleType]:
        """The types whose every required part is there."""
        found = set()
        procedural = self.steps >= MIN_SOLUTION_STEPS and self.checks >= MIN_VALIDATION_STEPS
        if procedural:
            found.add(ArticleType.HOW_TO)
        if procedural and self.causes and self.symptoms:
            found.add(ArticleType.TROUBLESHOOTING)
        if self.facts >= MIN_FACTS and self.scopes:
            found.add(ArticleType.REFERENCE)
        if self.definitions and self.workings and self.consequences:
            found.add(ArticleType.CONCEPT)
        if self.options >= MIN_OPTIONS and self.recommendations:
            found.add(ArticleType.DECISION_GUIDE)
        return frozenset(found)


def carrying(topic: str, language: str, passages: Sequence[PassageView]) -> Carrying:
    """Return what `passages` hold about `topic`."""
    model = topic_model(topic, language, [view.text for view in passages])
    steps = procedure(passages, model, QUOTE_WORDS)
    counted = (
        SectionName.CAUSE,
        SectionName.SYMPTOMS,
        SectionName.DEFINITION,
        SectionName.HOW_IT_WORKS,
        SectionName.CONSEQUENCES,
        SectionName.RECOMMENDATION,
        SectionName.SCOPE,
    )
    counts = dict.fromkeys(counted, 0)
    names = option_names(topic)
    mentioned: set[str] = set()
    for view in passages:
        for said in statements_of(view, language, QUOTE_WORDS):
            for section in counted:
                counts[section] += sentence_score(section, said, view, model, (), 0.0) >= FLOOR
            index = index_of(said.text)
            mentioned.update(name for name in names if set(terms(name, language)) <= index)
    facts = {fact.term.casefold(): fact for view in passages for fact in _about(view, model, language)}
    return Carrying(
        steps=len(steps.solution),
        checks=len(steps.validation),
        causes=counts[SectionName.CAUSE],
        symptoms=counts[SectionName.SYMPTOMS],
        facts=len(facts),
        hard_facts=sum(fact.hard for fact in facts.values()),
        definitions=counts[SectionName.DEFINITION],
        workings=counts[SectionName.HOW_IT_WORKS],
        consequences=counts[SectionName.CONSEQUENCES],
        options=len(mentioned),
        recommendations=counts[SectionName.RECOMMENDATION],
        scopes=counts[SectionName.SCOPE],
    )


def _about(view: PassageView, model: TopicModel, language: str) -> list[FactCandidate]:
    headings = " ".join(view.headings)
    return [
        fact
        for fact in facts_of(view, language, QUOTE_WORDS)
        if model.cover((f"{fact.term} {fact.description}", 1.0), (headings, 0.9), (view.text, 0.6)) >= FACT_TOPIC
    ]


_PREFERENCE: Final[Mapping[str, tuple[ArticleType, ...]]] = {
    "trouble": (ArticleType.TROUBLESHOOTING, ArticleType.HOW_TO, ArticleType.CONCEPT, ArticleType.REFERENCE),
    "procedure": (ArticleType.HOW_TO, ArticleType.CONCEPT, ArticleType.REFERENCE),
    "choice": (ArticleType.DECISION_GUIDE, ArticleType.CONCEPT, ArticleType.REFERENCE),
    "look_up": (ArticleType.REFERENCE, ArticleType.CONCEPT),
    "plain": (ArticleType.CONCEPT, ArticleType.REFERENCE),
}


def subject_kind(topic: str, questions: Sequence[str]) -> str:
    """Return what kind of subject a topic is: trouble, procedure, choice, look_up or plain.

    The topic decides before the questions do; prevention and mechanisms are never trouble.
    """
    for text in (topic, " ".join(questions)):
        calm = bool(subject_pattern("calm").search(text))
        if len(option_names(text if text is topic else "")) >= MIN_OPTIONS and subject_pattern("choice").search(text):
            return "choice"
        if not calm and (
            subject_pattern("trouble").search(text) or any(item.cls in _CODES for item in identifiers(text))
        ):
            return "trouble"
        if not calm and (subject_pattern("procedure").search(text) or (text is topic and names_doing(topic))):
            return "procedure"
        if text is topic and subject_pattern("look_up").search(text):
            return "look_up"
        if text is topic and calm:
            return "plain"
    return "plain"


def plan_article(request: ArticlePlanRequest) -> ArticlePlan:
    """Return the type to write: the subject's own kind where the sources carry it, else the next that they do.

    An operational kind is planned on its subject and at least the steps; what it lacks besides is looked for by the
    round of additional research and told by the structure check, not here.
    """
    found = carrying(request.topic, request.language, request.passages)
    if not request.passages:
        return ArticlePlan(type="skip", reason="no passage of the evidence is about the topic")
    kind = subject_kind(request.topic, request.questions)
    wanted = list(_PREFERENCE[kind])
    if request.suggested is not None:
        wanted = [request.suggested, *(type_ for type_ in wanted if type_ is not request.suggested)]
    possible = {*found.types}
    if found.steps >= MIN_SOLUTION_STEPS:
        possible |= {ArticleType.TROUBLESHOOTING, ArticleType.HOW_TO} & {_PREFERENCE[kind][0], request.suggested}
    if kind != "look_up" and request.suggested is not ArticleType.REFERENCE and found.hard_facts < MIN_FACTS:
        possible.discard(
            ArticleType.REFERENCE
        )  # items of a list under a heading each are no table to look things up in
    for type_ in wanted:
        if type_ in possible:
            return ArticlePlan(type=type_.value, reason=_why(type_, kind, found))
    # nothing is whole yet: the subject's own kind, so that what is missing can be looked for once
    operational = {ArticleType.TROUBLESHOOTING, ArticleType.HOW_TO}
    fallback = next((type_ for type_ in wanted if type_ not in operational), ArticleType.CONCEPT)
    if kind in {"trouble", "procedure"} and found.steps + found.checks > 0:
        fallback = wanted[0]
    return ArticlePlan(type=fallback.value, reason=_why(fallback, kind, found))


def _why(type_: ArticleType, kind: str, found: Carrying) -> str:
    return (
        f"{type_.value} for a subject of kind {kind}: {found.steps} steps, {found.checks} checks, "
        f"{found.causes} causes, {found.facts} facts, {found.definitions} definitions, {found.workings} workings, "
        f"{found.consequences} consequences, {found.options} options"
    )


def reconsider_type(request: ReconsiderRequest) -> Reconsideration:
    """Return the non-operational type that the passages carry in full, or skip."""
    found = carrying(request.topic, request.language, request.passages)
    whole = found.types
    kind = subject_kind(request.topic, request.questions)
    order = (ArticleType.CONCEPT, ArticleType.REFERENCE, ArticleType.DECISION_GUIDE)
    if kind == "choice":
        order = (ArticleType.DECISION_GUIDE, ArticleType.CONCEPT, ArticleType.REFERENCE)
    elif kind == "look_up" or found.hard_facts >= 2 * MIN_FACTS:
        order = (ArticleType.REFERENCE, ArticleType.CONCEPT, ArticleType.DECISION_GUIDE)
    if kind != "look_up" and found.hard_facts < MIN_FACTS:
        whole -= {ArticleType.REFERENCE}
    for type_ in order:
        if type_ in whole:
            return Reconsideration(type=type_.value, reason=_why(type_, kind, found))
    return Reconsideration(type="skip", reason="the evidence carries none of the other types in full")
