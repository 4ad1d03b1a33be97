"""The knowledge brief: what must be answered, the passages that answer it, what is missing (spec 06).

A passage is a span of an accepted evidence's full text. Code cuts the passages, ranks them by topic and offers the
best; the reasoner says which answers what, and can name only passages it was shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from articles.blocks import PassageKind, passage_spans
from articles.contradictions import Said, contradictory_pairs
from articles.cues import question_section, subject_pattern
from articles.drafts import Shelf
from articles.material import facts_of, statements_of
from articles.phrases import must_answer_question
from articles.relevance import LEXICAL_SHARE, Nearness, TopicModel, specific_terms, topic_model
from articles.roles import BriefAnswer, BriefRequest, Contradiction, MustAnswer, PassageView
from articles.sentences import in_language
from articles.types import REQUIRED_SECTIONS, SectionName, Source
from data.models import ArticleType, SourceClass
from research.reasoner import InvalidAnswer
from vector.embed import Embedder

__all__ = [
    "STANDING",
    "BriefPolicy",
    "KnowledgeBrief",
    "brief_from_answer",
    "brief_request",
    "must_answer",
    "shelve",
]

STANDING: Final[Mapping[SourceClass, int]] = {
    SourceClass.OFFICIAL: 0,
    SourceClass.STANDARD: 0,
    SourceClass.VENDOR: 0,
    SourceClass.OWN: 0,
    SourceClass.REFERENCE: 1,
    SourceClass.COMMUNITY: 2,
    SourceClass.FORUM: 2,
    SourceClass.BLOG: 2,
    SourceClass.NEWS: 2,
    SourceClass.AGGREGATOR: 3,
    SourceClass.UNKNOWN: 2,
}
"""Which of two contradicting sources is believed: the lower number; equal ones leave the contradiction open."""


EMBEDDED_CHARS: Final = 280
NAMED_HEAD: Final = 0.5
NAMED_BONUS: Final = 0.1
"""On relevance, for a passage under a heading that names at least this share of the topic's own thing."""
_OPERATIONAL: Final = frozenset({SectionName.SOLUTION_STEPS, SectionName.VALIDATION_STEPS, SectionName.DIAGNOSIS})


@dataclass(frozen=True, slots=True)
class BriefPolicy:
    """What is offered to the reasoner. Sizes keep one request within a small model's window (about 12,000 words)."""

    candidates: int = 110
    """Passages, the best by words, whose meaning is looked at too."""
    max_passages: int = 60
    """Best passages of the whole evidence by words and meaning."""
    max_per_source: int = 40
    min_relevance: float = 0.28
    """Below, a passage shares too little with the topic; on constructed topics, on-topic ones start at about 0.35."""


@dataclass(frozen=True, slots=True)
class KnowledgeBrief:
    type: ArticleType
    questions: tuple[MustAnswer, ...]
    """Each with the passages that answer it."""
    missing: tuple[str, ...]
    """Ids of the questions that no passage answers."""
    contradictions: tuple[Contradiction, ...]
    """Those that the sources' standing does not settle."""
    settled: tuple[Contradiction, ...]
    """Those where the weaker source's passage was left out (its id stands second)."""
    shelf: Shelf
    extra: Mapping[str, Any] = field(default_factory=dict)

    def summary(self) -> dict[str, Any]:
        """Return the counts that events and attempts carry."""
        return {
            "questions": len(self.questions),
            "answered": len(self.questions) - len(self.missing),
            "missing": [question.question for question in self.questions if question.id in self.missing],
            "passages": len(self.shelf.passages),
            "sources": len({view.source for view in self.shelf.passages}),
            "contradictions": len(self.contradictions),
            "settled": len(self.settled),
        }


def shelve(
    evidence: Sequence[Source], topic: str, language: str, embedder: Embedder, policy: BriefPolicy
) -> tuple[Shelf, TopicModel]:
    """Return the passages about `topic` out of `evidence`, best `policy.max_passages` of them, in reading order.

    A list of what changed between releases tells no reader how things are: it gives passages only to a topic about it.
    Sources are numbered by their text's digest, so that the order they come in changes nothing. Blocking: embeds.
    """
    sources = {
        f"S{number}": source
        for number, source in enumerate(sorted(evidence, key=lambda e: (e.evidence.sha256, e.evidence.url)), 1)
    }
    news = subject_pattern("news")
    about_news = bool(news.search(topic))
    told = {name: source for name, source in sources.items() if about_news or not news.search(source.evidence.title)}
    views = [view for name, source in told.items() for view in _views(name, source, language)]
    texts = [" ".join((*view.headings, view.text)) for view in views]
    model = topic_model(topic, language, texts, selected=False)
    pages = {name: model.page_share(source.evidence.title, source.text) for name, source in told.items()}
    sections = _section_shares(views, model)
    lexical = [
        (model.passage(view, _larger(pages[view.source], sections[view.source, view.headings])), view) for view in views
    ]
    lexical = [pair for pair in lexical if pair[0] > 0.0]
    best = sorted(lexical, key=lambda pair: (-pair[0], pair[1].source, pair[1].start))[: policy.candidates]
    near = Nearness(embedder, [topic], [_embedded(view) for _, view in best])
    scored = [
        (
            LEXICAL_SHARE * score + (1 - LEXICAL_SHARE) * near(topic, _embedded(view)) + _named_bonus(view, model),
            view.model_copy(update={"topic": round(score, 4)}),
        )
        for score, view in best
    ]
    scored = [(score, view) for score, view in scored if score >= policy.min_relevance]
    scored.sort(key=lambda pair: (-pair[0], pair[1].source, pair[1].start))
    kept: list[PassageView] = []
    per_source: dict[str, int] = {}
    for score, view in scored:
        if len(kept) < policy.max_passages and per_source.get(view.source, 0) < policy.max_per_source:
            per_source[view.source] = per_source.get(view.source, 0) + 1
            kept.append(view.model_copy(update={"relevance": round(score, 4)}))
    kept.sort(key=lambda view: (int(view.source[1:]), view.start))
    numbered = tuple(view.model_copy(update={"id": f"P{number}"}) for number, view in enumerate(kept, 1))
    return Shelf(sources, numbered), model


def _named_bonus(view: PassageView, model: TopicModel) -> float:
    """Return what a passage gains whose own heading names the thing itself: there it is explained."""
    return NAMED_BONUS if view.headings and model.names_head(view.headings[-1]) >= NAMED_HEAD else 0.0


def _section_shares(
    views: Sequence[PassageView], model: TopicModel
) -> dict[tuple[str, tuple[str, ...]], Mapping[str, float]]:
    texts: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for view in views:
        texts.setdefault((view.source, view.headings), []).append(view.text)
    return {key: model.section_share("\n".join(parts)) for key, parts in texts.items()}


def _larger(one: Mapping[str, float], other: Mapping[str, float]) -> dict[str, float]:
    return {term: max(one.get(term, 0.0), other.get(term, 0.0)) for term in one.keys() | other.keys()}


def _views(name: str, source: Source, language: str) -> list[PassageView]:
    evidence = source.evidence
    found = []
    for span in passage_spans(source.text):
        text = source.text[span.start : span.end]
        if span.kind is PassageKind.CODE or not in_language(text, language):
            continue
        found.append(
            PassageView(
                id="",
                source=name,
                start=span.start,
                end=span.end,
                kind=span.kind,
                headings=span.headings,
                title=evidence.title,
                publisher=evidence.publisher,
                source_class=evidence.source_quality,
                text=text,
            )
        )
    return found


def _embedded(view: PassageView) -> str:
    # headings first, then the beginning of the text: a passage says early what it is about, and short texts embed fast
    return " ".join((*view.headings[-2:], view.text[:EMBEDDED_CHARS]))


def must_answer(topic: str, questions: Sequence[str], type_: ArticleType, language: str) -> tuple[MustAnswer, ...]:
    """Return the type's questions, one a required section, then those of the task that ask for more, each once.

    A question of the task that only asks for a kind of answer ("What is the cause?") is the type's own where the type
    has that section, and none of this article's where it has not; no other type answers how to solve and verify.
    """
    sections = REQUIRED_SECTIONS[type_]
    found = [
        MustAnswer(id="", section=name, question=must_answer_question(name, topic, language), required=True)
        for name in sections
    ]
    for question in dict.fromkeys(" ".join(question.split()) for question in questions):
        section = question_section(question)
        if not specific_terms(question, topic, language) or (section in _OPERATIONAL and section not in sections):
            continue
        place = section if section in sections else SectionName.DETAILS
        found.append(MustAnswer(id="", section=place, question=question, required=False))
    return tuple(entry.model_copy(update={"id": f"Q{number}"}) for number, entry in enumerate(found, 1))


def brief_request(
    shelf: Shelf,
    topic: str,
    questions: tuple[MustAnswer, ...],
    type_: ArticleType,
    language: str,
    directives: Sequence[str],
) -> BriefRequest:
    """Return what the brief's role is asked."""
    return BriefRequest(
        topic=topic,
        type=type_,
        language=language,
        directives=tuple(directives),
        questions=questions,
        passages=tuple(shelf.passages),
    )


def brief_from_answer(request: BriefRequest, answer: BriefAnswer, shelf: Shelf, max_quote_words: int) -> KnowledgeBrief:
    """Return the brief that `answer` makes; raise InvalidAnswer where it names what was not shown.

    Contradictions that the answer names and those that code finds are settled by the sources' standing where they can
    be: the weaker source's passage is then left out of every answer.
    """
    shown = {view.id: view for view in request.passages}
    known = {question.id for question in request.questions}
    named = {entry.question for entry in answer.answers}
    ids = {one for entry in answer.answers for one in entry.passages} | {
        one for contradiction in answer.contradictions for one in contradiction.passages
    }
    if stray := sorted((named - known) | (ids - shown.keys())):
        raise InvalidAnswer("article_brief", f"the answer names {', '.join(stray)}, which was not shown")
    chosen = {entry.question: tuple(dict.fromkeys(entry.passages)) for entry in answer.answers}
    used = {one for passages in chosen.values() for one in passages}
    found = [*answer.contradictions, *_computed(request, used, max_quote_words)]
    open_, settled, dropped = _settle(found, shown)
    questions = tuple(
        question.model_copy(
            update={"passages": tuple(one for one in chosen.get(question.id, ()) if one not in dropped)}
        )
        for question in request.questions
    )
    missing = tuple(question.id for question in questions if not question.passages)
    left = tuple(view for view in shelf.passages if view.id not in dropped)
    return KnowledgeBrief(request.type, questions, missing, open_, settled, Shelf(shelf.sources, left))


def _computed(request: BriefRequest, used: set[str], max_quote_words: int) -> list[Contradiction]:
    said = []
    owners: list[PassageView] = []
    for view in request.passages:
        if view.id not in used:
            continue
        texts = [statement.text for statement in statements_of(view, request.language, max_quote_words)]
        texts += [f"{fact.term} {fact.description}" for fact in facts_of(view, request.language, max_quote_words)]
        for text in dict.fromkeys(texts):
            said.append(Said(len(owners), view.publisher, STANDING[view.source_class], text))
            owners.append(view)
    pairs = []
    for one, other in contradictory_pairs(said):
        first, second = sorted((one, other), key=lambda entry: (entry.standing, entry.key))
        subject = f"{first.text} / {second.text}"
        pairs.append(Contradiction(passages=(owners[first.key].id, owners[second.key].id), subject=subject))
    return pairs


def _settle(
    found: Sequence[Contradiction], shown: Mapping[str, PassageView]
) -> tuple[tuple[Contradiction, ...], tuple[Contradiction, ...], set[str]]:
    open_: list[Contradiction] = []
    settled: list[Contradiction] = []
    for contradiction in dict.fromkeys(found):
        one, other = (STANDING[shown[passage].source_class] for passage in contradiction.passages)
        if one == other:
            open_.append(contradiction)
            continue
        passages = contradiction.passages if one < other else contradiction.passages[::-1]
        settled.append(Contradiction(passages=passages, subject=contradiction.subject))
    return tuple(open_), tuple(settled), {contradiction.passages[1] for contradiction in settled}
