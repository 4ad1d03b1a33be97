"""The one reconsideration as a machine: every path is walked, and none gets round a gate.

The model below is written from the chapter, not from the pipeline: what a path must come to is worked out from what
was bent, and compared with what the run did, said and kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import pytest

from articles.pipeline import SynthesisRequest
from articles.roles import ArticleDraft, ArticlePlan, ClaimReview, CoverageReview, Reconsideration
from articles.types import topic_key
from data.articles import attempts_on, get_article, list_articles
from data.crud.articles import AttemptDraft, RecordAttempt
from data.crud.engine import perform
from data.events import list_events
from data.models import ArticleType, SourceClass
from data.store import Store
from tests.articles.corpus import BACKUP, KERBEROS, TOPICS, evidence, make
from tests.articles.runs import More, recorded, run, synthesis

TGT = "Kerberos ticket-granting ticket"
CASES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "concept": (TGT, "en", KERBEROS),
    "reference": ("Parameter der Postfix-Warteschlange", "de", TOPICS[3][2]),
    "decision_guide": ("Datensicherung mit rsync oder BorgBackup", "de", BACKUP),
}
SECOND = ("good", "structure", "quality", "claims", "coverage")


@dataclass(frozen=True)
class Path:
    planned: str
    """troubleshooting or how_to."""
    answer: str
    second: str
    """What is wrong with the draft of the second type."""
    more: bool = False
    """Whether more research is offered; it brings nothing new."""


PATHS = [
    *(Path(*one) for one in product(("troubleshooting", "how_to"), ("concept", "reference", "decision_guide"), SECOND)),
    *(Path(planned, "skip", "good") for planned in ("troubleshooting", "how_to")),
    *(Path(planned, answer, "good") for planned in ("troubleshooting", "how_to") for answer in ("how_to", "garbage")),
    Path("how_to", "concept", "good", more=True),
    Path("troubleshooting", "skip", "good", more=True),
]


def expected(path: Path) -> tuple[str, str | None]:
    """Return outcome and, where the chapter names it, the reason."""
    if path.answer == "skip":
        return "refused", "wrong_article_type_or_insufficient_operational_evidence"
    if path.answer in {"how_to", "troubleshooting", "garbage"}:
        return "outside_error", "model_failed"
    if path.second == "good":
        return "staged", "staged"
    if path.second == "structure":
        return "refused", None
    return "refused", "correction_exhausted"


def bends(path: Path, asked: Counter[str], drafts: list[str]) -> dict[str, Any]:
    def plan(_request: Any, _honest: Any) -> ArticlePlan:
        asked["plan"] += 1
        return ArticlePlan(type=path.planned, reason="bent")  # type: ignore[arg-type]

    def replan(request: Any, _honest: Any) -> Reconsideration:
        asked["reconsider"] += 1
        assert request.failed_type.value == path.planned
        return Reconsideration.model_construct(type=path.answer, reason="bent")

    def author(request: Any, honest: Any) -> ArticleDraft:
        drafts.append(request.type.value)
        draft = honest(request)
        assert isinstance(draft, ArticleDraft)
        if len(drafts) == 1:
            return draft
        if path.second == "structure":
            return draft.model_copy(update={"sections": draft.sections[:1]})
        return _with_lie(draft) if path.second == "quality" else draft

    def correct(request: Any, _honest: Any) -> ArticleDraft:
        asked["correct"] += 1
        draft = request.draft
        assert isinstance(draft, ArticleDraft)
        return draft

    def claims(request: Any, honest: Any) -> ClaimReview:
        asked["claims"] += 1
        answer = honest(request)
        assert isinstance(answer, ClaimReview)
        return _all(answer, "unsupported") if path.second == "claims" else answer

    def coverage(request: Any, honest: Any) -> CoverageReview:
        asked["coverage"] += 1
        answer = honest(request)
        assert isinstance(answer, CoverageReview)
        return _all(answer, "missing") if path.second == "coverage" else answer

    return {
        "article_plan": plan,
        "article_reconsider": replan,
        "article_author": author,
        "article_correct": correct,
        "article_claim_review": claims,
        "article_coverage_review": coverage,
    }


def _all(answer: Any, verdict: str) -> Any:
    return type(answer)(judgements=tuple(one.model_copy(update={"verdict": verdict}) for one in answer.judgements))


def _with_lie(draft: ArticleDraft) -> ArticleDraft:
    lie = draft.summary[0].model_copy(update={"text": "It always takes 4711 seconds."})
    return draft.model_copy(update={"summary": (lie, *draft.summary[1:])})


@pytest.mark.parametrize("path", PATHS, ids=lambda path: f"{path.planned}-{path.answer}-{path.second}-{path.more}")
async def test_every_path_ends_where_the_chapter_says(store: Store, path: Path) -> None:
    topic, language, names = CASES.get(path.answer, CASES["concept"])
    asked: Counter[str] = Counter()
    drafts: list[str] = []
    bent = bends(path, asked, drafts)
    more = More(await recorded(store, evidence(*names))) if path.more else None
    result = await run(store, topic, language, names, bent=bent, more=more)
    outcome, reason = expected(path)
    assert result.outcome == outcome
    assert reason in {None, result.reason}
    # asked exactly once, whatever came of it; more research at most once
    assert (asked["plan"], asked["reconsider"]) == (1, 1)
    assert more is None or len(more.asked or ()) <= 1
    # a new type means a new draft; there is no third
    accepted = path.answer in CASES
    assert drafts == [path.planned, path.answer] if accepted else drafts == [path.planned]
    events = [event.name for event in await store.read(list_events, name_prefix="article.", limit=300)]
    _no_gate_is_skipped(events, staged=outcome == "staged")
    if accepted and path.second != "structure":
        rounds = 1 if path.second == "good" else 3
        assert (asked["claims"], asked["coverage"]) == (rounds, rounds)
        assert asked["correct"] == rounds - 1
    else:
        assert asked["claims"] == asked["coverage"] == asked["correct"] == 0
    await _kept_as_it_was(store, path, topic_key(topic, language), accepted_or_skip=accepted or path.answer == "skip")


def _no_gate_is_skipped(events: Sequence[str], *, staged: bool) -> None:
    """After the last draft: every gate in order before an article is staged, and nothing staged without them."""
    last = max(i for i, name in enumerate(events) if name == "article.drafted")
    after = [name for name in events[last + 1 :] if name != "article.corrected"]
    gates = ["article.cpu_quality.completed", "article.review.completed", "article.review.completed"]
    assert events.count("article.type.reconsidered") <= 1
    assert "article.staged" not in events[:last]
    if staged:
        assert after == [*gates, "article.staged"]
    else:
        assert "article.staged" not in after
    first = events.index("article.drafted")
    between = events[first + 1 : last]
    if first != last:  # a brief is made anew between two drafts, and nothing of the first one was judged
        assert between == ["article.type.reconsidered", "article.brief.completed"]


async def _kept_as_it_was(store: Store, path: Path, key: str, *, accepted_or_skip: bool) -> None:
    attempts = await store.read(attempts_on, key)
    kept = [one for one in attempts if one.outcome == "reconsidered"]
    assert len(kept) == int(accepted_or_skip)
    for one in kept:
        assert one.type is not None
        assert one.type.value == path.planned
        assert one.detail["draft"]["type"] == path.planned
    for article in await store.read(list_articles):
        assert article.type.value == path.answer


async def test_a_pipeline_of_before_blocks_no_path(store: Store) -> None:
    bent = bends(Path("how_to", "skip", "good"), Counter(), [])
    first = await run(store, TGT, "en", KERBEROS, bent=bent)
    assert first.reason == "wrong_article_type_or_insufficient_operational_evidence"
    attempt = (await store.read(attempts_on, topic_key(TGT, "en")))[-1]
    assert (await run(store, TGT, "en", KERBEROS)).outcome == "unchanged"
    stored = await recorded(store, evidence(*KERBEROS))
    request = SynthesisRequest(TGT, (), "en", stored, directives=("anew",))
    print_ = (await synthesis(store)._begin(request, None)).fingerprint
    for pipeline in ("adaptive_generate_review/v4-quality-routing-v9", "adaptive/v8"):
        for outcome in ("refused", "staged", "reconsidered"):
            old = AttemptDraft(None, attempt.topic_key, print_, pipeline, None, outcome, "too_short")
            assert (await perform(store, RecordAttempt(old), actor="synthesis")).ok
    assert (await synthesis(store).run(request)).outcome == "staged"


# -- topics on which the extractive reasoner itself ends in each of the four answers ---------------------------------

STEPS_EN = """# Working with tickets

1. Run `kinit -r 7d alice` to request a renewable ticket-granting ticket.
2. Run `kinit -R` to renew the ticket-granting ticket.
3. Run `kdestroy -A` to remove every ticket-granting ticket of the Kerberos user.
"""
STEPS_QUEUE = """# Warteschlange von Hand

1. Führen Sie `postsuper -h ALL` aus, um die Nachrichten der Postfix-Warteschlange anzuhalten.
2. Führen Sie `postsuper -H ALL` aus, um die Nachrichten der Postfix-Warteschlange freizugeben.
3. Führen Sie `postqueue -f` aus, um die Postfix-Warteschlange zuzustellen.
"""
STEPS_BACKUP = """# Datensicherung von Hand

1. Führen Sie `rsync -a /srv/ sicherung:/srv/` aus, um die Datensicherung mit rsync zu starten.
2. Führen Sie `borg init --encryption=repokey /mnt/borg` aus, um ein Archiv für BorgBackup anzulegen.
3. Führen Sie `borg create /mnt/borg::heute /srv` aus, um die Datensicherung mit BorgBackup zu starten.
"""
BARE = """# Aufräumen

1. Führen Sie `zcatalog --clear` aus, um den Zettelkatalog zu leeren.
2. Führen Sie `zcatalog --scan /srv/zettel` aus, um den Zettelkatalog neu einzulesen.
3. Führen Sie `zcatalog --merge` aus, um den Zettelkatalog zusammenzuführen.
"""
BARE_TOO = """# Zettelkatalog

1. Öffnen Sie den Zettelkatalog mit `zcatalog --open`.
2. Löschen Sie den alten Zettelkatalog mit `zcatalog --drop alt`.
"""


@pytest.mark.parametrize(
    ("topic", "language", "names", "texts", "answer"),
    [
        (TGT, "en", KERBEROS, (STEPS_EN,), "concept"),
        ("Parameter der Postfix-Warteschlange", "de", TOPICS[3][2], (STEPS_QUEUE,), "reference"),
        ("Datensicherung mit rsync oder BorgBackup", "de", BACKUP, (STEPS_BACKUP,), "decision_guide"),
        ("Zettelkatalog neu einlesen", "de", (), (BARE, BARE_TOO), "skip"),
    ],
)
async def test_the_extractive_reasoner_comes_to_each_answer(  # type: ignore[no-untyped-def]
    store: Store, topic, language, names, texts, answer
) -> None:
    """A task that suggests a how-to, steps without any check of the result: research brings none, the type is wrong."""
    own = [
        make(
            text,
            number=9 + i,
            title=text.splitlines()[0][2:],
            publisher=f"Publisher {i}",
            source_class=SourceClass.BLOG,
        )
        for i, text in enumerate(texts)
    ]
    stored = await recorded(store, [*evidence(*names), *own])
    request = SynthesisRequest(topic, (), language, stored, article_type=ArticleType.HOW_TO)
    result = await synthesis(store).run(request, More(stored))
    events = await store.read(list_events, name_prefix="article.type.reconsidered", limit=5)
    assert [(event.payload["from"], event.payload["to"]) for event in events] == [("how_to", answer)], result
    assert set(events[0].payload["structure_errors"]) & {"insufficient_solution_steps", "missing_validation_steps"}
    if answer == "skip":
        assert result.reason == "wrong_article_type_or_insufficient_operational_evidence"
        assert await store.read(list_articles) == []
    else:
        assert (result.outcome, result.reason) == ("staged", "staged"), result.detail
        article = await store.read(get_article, result.article_id or "")
        assert article is not None
        assert article.type.value == answer


def test_the_steps_of_the_constructed_topics_are_steps_and_no_checks() -> None:
    from articles.steps import instructions

    for text, language in ((STEPS_EN, "en"), (STEPS_QUEUE, "de"), (STEPS_BACKUP, "de"), (BARE, "de")):
        found = instructions(text, language, 25)
        assert len(found) == 3
        assert not any(step.check for step in found)
