"""What the tests of whole runs share: evidence in a store, a reasoner that can be bent, drafts outside of a store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from articles.author import write_article
from articles.brief import BriefPolicy, KnowledgeBrief, brief_from_answer, brief_request, must_answer, shelve
from articles.briefing import answer_brief
from articles.drafts import article_from_draft
from articles.handlers import article_handlers
from articles.pipeline import Synthesis, SynthesisRequest, SynthesisResult
from articles.policies import ArticlePolicy
from articles.roles import ArticleDraftRequest
from articles.types import REQUIRED_SECTIONS, Article
from data.crud.engine import perform
from data.crud.evidence import EvidenceDraft, RecordEvidence
from data.evidence import EvidenceFiles, EvidenceText, evidence_by_ids
from data.models import ArticleType
from data.store import Store
from research.reasoner import ExtractiveReasoner, Handler
from tests.articles.corpus import evidence
from vector.embed import HashingEmbedder

EMBEDDER = HashingEmbedder()
OWNER = "task:t_00000000000000000000000001"


def written(
    topic: str, language: str, type_: ArticleType, texts: Sequence[EvidenceText], questions: Sequence[str] = ()
) -> tuple[Article, KnowledgeBrief]:
    """Return the extractive author's article and its brief, without any store."""
    shelf, _ = shelve(texts, topic, language, EMBEDDER, BriefPolicy())
    asked = must_answer(topic, questions, type_, language)
    request = brief_request(shelf, topic, asked, type_, language, ())
    brief = brief_from_answer(request, answer_brief(request), shelf, 25)
    draft = write_article(
        ArticleDraftRequest(
            topic=topic,
            type=type_,
            language=language,
            directives=(),
            earlier_rejections=(),
            required_sections=REQUIRED_SECTIONS[type_],
            questions=brief.questions,
            passages=tuple(brief.shelf.passages),
            max_quote_words=25,
        ),
        EMBEDDER,
    )
    return article_from_draft(draft, brief.shelf, topic=topic, type_=type_, language=language), brief


async def recorded(store: Store, texts: Sequence[EvidenceText]) -> tuple[EvidenceText, ...]:
    """Keep texts and rows in the store's home and return them with the ids they got."""
    files = EvidenceFiles(store.home)
    drafts = []
    for text in texts:
        files.put(text.text)
        values = {name: getattr(text.evidence, name) for name in EvidenceDraft.__dataclass_fields__}
        drafts.append(EvidenceDraft(**values))
    outcome = await perform(store, RecordEvidence(drafts, OWNER), actor="gather")
    assert outcome.ok, outcome.message
    rows = await store.read(evidence_by_ids, list(outcome.result))
    return tuple(EvidenceText(rows[one], text.text) for one, text in zip(outcome.result, texts, strict=True))


@dataclass
class More:
    """A round of additional research that brings `found` and remembers what it was asked."""

    found: tuple[EvidenceText, ...] = ()
    error: str | None = None
    asked: list[tuple[str, ...]] | None = None
    fetches: int = 0

    @property
    def accepted(self) -> tuple[EvidenceText, ...]:
        return self.found

    @property
    def incomplete(self) -> str | None:
        return self.error

    async def __call__(self, questions: Sequence[str], *, fetches: int) -> More:
        self.asked = [*(self.asked or []), tuple(questions)]
        self.fetches = fetches
        return self


Bend = Callable[[Any, Callable[[Any], BaseModel]], BaseModel]
"""(request, the handler itself) -> answer."""


def reasoner(bent: Mapping[str, Bend] | None = None) -> ExtractiveReasoner:
    """Return the extractive reasoner with some roles bent."""
    handlers: dict[str, Handler] = dict(article_handlers(EMBEDDER))
    for name, bend in (bent or {}).items():
        honest = handlers[name]
        handlers[name] = lambda request, bend=bend, honest=honest: bend(request, honest)
    return ExtractiveReasoner(handlers)


def synthesis(store: Store, bent: Mapping[str, Bend] | None = None, policy: ArticlePolicy | None = None) -> Synthesis:
    return Synthesis(store, reasoner(bent), EMBEDDER, policy)


async def run(
    store: Store,
    topic: str,
    language: str,
    names: Sequence[str],
    questions: tuple[str, ...] = (),
    *,
    bent: Mapping[str, Bend] | None = None,
    more: More | None = None,
    **values: Any,
) -> SynthesisResult:
    texts = await recorded(store, evidence(*names))
    request = SynthesisRequest(topic, questions, language, texts, **values)
    return await synthesis(store, bent).run(request, more)
