"""Whole runs: staged articles, every named end, the one reconsideration, the correction loop, attempts."""

from __future__ import annotations

from typing import Any

import pytest

from articles.fingerprint import PIPELINE, fingerprint
from articles.pipeline import SynthesisRequest
from articles.policies import ArticlePolicy
from articles.roles import (
    ArticleDraft,
    ArticlePlan,
    ClaimReview,
    CoverageReview,
    DraftClaim,
    DraftSection,
    Reconsideration,
)
from articles.types import SectionName, topic_key
from data.articles import attempts_on, get_article, get_revision, list_articles, reviews_of
from data.crud.articles import AttemptDraft, RecordAttempt, RejectArticle
from data.crud.engine import perform
from data.events import list_events
from data.models import ArticleState, ArticleType, SourceClass
from data.store import Store
from research.reasoner import ReasonerUnavailable
from tests.articles.corpus import BACKUP, KERBEROS, TOPICS, VPN, evidence, make
from tests.articles.runs import Bend, More, recorded, run, synthesis

VPN_TOPIC = "VPN error 809 on Windows 11"
TGT = "Kerberos ticket-granting ticket"


async def names(store: Store) -> list[str]:
    events = await store.read(list_events, name_prefix="article.", limit=200)
    return [event.name.removeprefix("article.") for event in events]


@pytest.mark.parametrize(("topic", "language", "texts", "questions", "type_"), TOPICS)
async def test_each_type_is_staged(store: Store, topic, language, texts, questions, type_) -> None:  # type: ignore[no-untyped-def]
    result = await run(store, topic, language, texts, questions)
    assert (result.outcome, result.reason) == ("staged", "staged")
    assert result.article_id is not None
    article = await store.read(get_article, result.article_id)
    assert article is not None
    assert (article.type, article.state) == (ArticleType(type_), ArticleState.STAGED)
    revision = await store.read(get_revision, article.id, 1)
    assert revision is not None
    assert len(revision.evidence_ids) >= 2
    assert revision.quality["passed"] is True
    reviews = await store.read(reviews_of, article.id, 1)
    assert {review.kind: review.passed for review in reviews} == {"claims": True, "coverage": True}
    assert await names(store) == [
        "planned",
        "brief.completed",
        "drafted",
        "cpu_quality.completed",
        "review.completed",
        "review.completed",
        "staged",
    ]
    attempts = await store.read(attempts_on, topic_key(topic, language))
    assert [(one.outcome, one.pipeline) for one in attempts] == [("staged", PIPELINE)]


async def test_the_same_attempt_is_not_repeated(store: Store) -> None:
    first = await run(store, TGT, "en", KERBEROS)
    before = await names(store)
    again = await run(store, TGT, "en", tuple(reversed(KERBEROS)))
    assert again.outcome == "unchanged"
    assert again.article_id == first.article_id
    assert await names(store) == before


async def test_a_refused_attempt_is_not_repeated_either(store: Store) -> None:
    refused = await run(store, TGT, "en", KERBEROS[:1])
    assert (refused.outcome, refused.reason) == ("refused", "not_enough_evidence")
    again = await run(store, TGT, "en", KERBEROS[:1])
    assert (again.outcome, again.reason) == ("unchanged", "not_enough_evidence")
    assert len(await store.read(attempts_on, topic_key(TGT, "en"))) == 1


async def test_an_outside_error_or_an_older_pipeline_blocks_nothing(store: Store) -> None:
    def down(_request: Any, _honest: Any) -> Any:
        raise ReasonerUnavailable("article_author", "no answer within 60 s")

    failed = await run(store, TGT, "en", KERBEROS, bent={"article_author": down})
    assert (failed.outcome, failed.reason) == ("outside_error", "model_failed")
    assert "rejected" not in await names(store)
    attempt = (await store.read(attempts_on, topic_key(TGT, "en")))[0]
    old = AttemptDraft(None, attempt.topic_key, attempt.fingerprint, "adaptive/v9", None, "refused", "too_short")
    assert (await perform(store, RecordAttempt(old), actor="synthesis")).ok
    assert (await run(store, TGT, "en", KERBEROS)).outcome == "staged"


def test_a_fingerprint_hangs_on_what_the_chapter_names() -> None:
    base: dict[str, Any] = {
        "topic_key": "en:a",
        "questions": ("q",),
        "suggested": None,
        "evidence_hashes": ("x", "y"),
        "reasoner": "extractive/1",
        "models": ("m",),
        "directives": (),
        "rejections": (),
    }
    same = fingerprint(**{**base, "evidence_hashes": ("y", "x")})
    assert same == fingerprint(**base)
    changes: dict[str, Any] = {
        "topic_key": "en:b",
        "evidence_hashes": ("x",),
        "reasoner": "model/2",
        "models": ("n",),
        "directives": ("never cite forums",),
        "rejections": ("too long",),
        "questions": ("r",),
    }
    assert len({fingerprint(**{**base, name: value}) for name, value in changes.items()} | {same}) == len(changes) + 1


# -- named ends ---------------------------------------------------------------------------------------------------


async def test_one_publisher_is_not_enough_unless_it_is_authoritative(store: Store) -> None:
    for source_class, reason in ((SourceClass.REFERENCE, "not_enough_publishers"), (SourceClass.OFFICIAL, "staged")):
        texts = [
            make(one.text, number=number, title=one.evidence.title, publisher="One", source_class=source_class)
            for number, one in enumerate(evidence(*KERBEROS), 1)
        ]
        request = SynthesisRequest(TGT, (), "en", await recorded(store, texts), directives=(source_class.value,))
        assert (await synthesis(store).run(request)).reason == reason


async def test_evidence_in_another_language_ends_by_name(store: Store) -> None:
    result = await run(store, TGT, "de", KERBEROS)
    assert (result.outcome, result.reason) == ("refused", "evidence_language")
    other = await run(store, TGT, "fr", KERBEROS)
    assert (other.outcome, other.reason) == ("refused", "unsupported_language")


async def test_contradicting_sources_end_by_name_and_a_stronger_source_settles(store: Store) -> None:
    text = evidence(*KERBEROS)[0].text
    other = "# Ticket lifetimes\n\nBy default, a TGT is valid for 24 hours and can be renewed for up to 9 days.\n"
    for source_class, reason in ((SourceClass.REFERENCE, "contradicting_sources"), (SourceClass.FORUM, "staged")):
        texts = [
            make(text, number=1, title="Ticket-granting tickets", publisher="A"),
            make(evidence(*KERBEROS)[1].text, number=2, title="Kerberos", publisher="B"),
            make(other, number=3, title="Kerberos ticket lifetimes", publisher="C", source_class=source_class),
        ]
        stored = await recorded(store, texts)
        request = SynthesisRequest(TGT, ("How long is a TGT valid?",), "en", stored, directives=(source_class.value,))
        assert (await synthesis(store).run(request)).reason == reason


@pytest.mark.parametrize(
    ("topic", "language", "question", "said", "contrary"),
    [
        (
            "PgBouncer transaction pooling",
            "en",
            "Which prepared statements does transaction pooling support?",
            "Transaction pooling supports prepared statements of the client protocol.",
            "Transaction pooling does not support prepared statements of the client protocol.",
        ),
        (
            "Nordlicht-Spooler Neustart",
            "de",
            "Was geschieht mit der Warteschlange bei einem Neustart?",
            "Ein Neustart leert die Warteschlange des Nordlicht-Spoolers.",
            "Ein Neustart leert die Warteschlange des Nordlicht-Spoolers nicht.",
        ),
    ],
)
async def test_sources_that_deny_each_other_end_by_name(
    store: Store, topic: str, language: str, question: str, said: str, contrary: str
) -> None:
    filler = {
        "en": "PgBouncer is a connection pooler for PostgreSQL. A pooler keeps connections open for its clients.",
        "de": "Der Nordlicht-Spooler ist ein Dienst für Druckaufträge. Er nimmt die Aufträge der Clients entgegen.",
    }[language]
    for second, contradicted in ((contrary, True), (said, False)):
        texts = [
            make(f"# {topic}\n\n{filler}\n\n{said}\n", number=1, title=topic, publisher="A"),
            make(f"# {topic}\n\n{second}\n\n{filler}\n", number=2, title=topic, publisher="B"),
        ]
        stored = await recorded(store, texts)
        request = SynthesisRequest(topic, (question,), language, stored, directives=(second,))
        result = await synthesis(store).run(request)
        assert (result.reason == "contradicting_sources") is contradicted


async def test_a_planner_may_skip(store: Store) -> None:
    def skip(_request: Any, _honest: Any) -> ArticlePlan:
        return ArticlePlan(type="skip", reason="nothing here")

    result = await run(store, TGT, "en", KERBEROS, bent={"article_plan": skip})
    assert (result.outcome, result.reason) == ("refused", "planner_skip")


async def test_an_altered_or_refused_text_is_no_evidence(store: Store) -> None:
    texts = await recorded(store, evidence(*KERBEROS))
    altered = type(texts[0])(texts[0].evidence, texts[0].text + " And more.")
    result = await synthesis(store).run(SynthesisRequest(TGT, (), "en", (altered, texts[1])))
    assert result.reason == "not_enough_evidence"


# -- more research ------------------------------------------------------------------------------------------------


async def test_missing_evidence_is_looked_for_once(store: Store) -> None:
    stored = await recorded(store, evidence(*KERBEROS))
    more = More(stored)
    result = await synthesis(store).run(SynthesisRequest(TGT, (), "en", stored[:1]), more)
    assert result.outcome == "staged"
    assert more.asked is not None
    assert len(more.asked) == 1
    assert more.fetches == 6


async def test_what_the_brief_lacks_is_asked_for(store: Store) -> None:
    stored = await recorded(store, evidence(*VPN))
    more = More(stored)
    wiki_and_forum = tuple(one for one in stored if one.evidence.source_quality is not SourceClass.VENDOR)
    request = SynthesisRequest(VPN_TOPIC, (), "en", wiki_and_forum, article_type=ArticleType.TROUBLESHOOTING)
    result = await synthesis(store, {"article_plan": _plan("troubleshooting")}).run(request, more)
    assert result.outcome == "staged", result
    assert more.asked is not None
    assert any("Which steps" in question or "How is the result" in question for question in more.asked[0])


async def test_too_little_evidence_proves_nothing_when_something_failed_outside(store: Store) -> None:
    stored = await recorded(store, evidence(*KERBEROS))
    result = await synthesis(store).run(SynthesisRequest(TGT, (), "en", stored[:1]), More(stored[:1], "search_failed"))
    assert (result.outcome, result.reason) == ("outside_error", "not_enough_evidence")
    assert (await synthesis(store).run(SynthesisRequest(TGT, (), "en", stored))).outcome == "staged"


# -- the one reconsideration --------------------------------------------------------------------------------------


def _plan(type_: str) -> Bend:
    return lambda _request, _honest: ArticlePlan(type=type_, reason="bent")  # type: ignore[arg-type]


def _reconsider(type_: str) -> Bend:
    return lambda _request, _honest: Reconsideration(type=type_, reason="bent")  # type: ignore[arg-type]


CASES = {
    "concept": (TGT, "en", KERBEROS),
    "reference": ("Parameter der Postfix-Warteschlange", "de", TOPICS[3][2]),
    "decision_guide": ("Datensicherung mit rsync oder BorgBackup", "de", BACKUP),
}


@pytest.mark.parametrize("answer", ["concept", "reference", "decision_guide"])
@pytest.mark.parametrize("planned", ["troubleshooting", "how_to"])
async def test_an_operational_type_without_steps_is_replanned_once(store: Store, planned: str, answer: str) -> None:
    topic, language, texts = CASES[answer]
    asked: list[Any] = []

    def replan(request: Any, _honest: Any) -> Reconsideration:
        asked.append(request)
        return Reconsideration(type=answer, reason="no steps here")  # type: ignore[arg-type]

    result = await run(
        store, topic, language, texts, bent={"article_plan": _plan(planned), "article_reconsider": replan}
    )
    assert result.outcome == "staged"
    assert len(asked) == 1
    assert asked[0].failed_type.value == planned
    assert "insufficient_solution_steps" in asked[0].structure_errors
    article = await store.read(get_article, result.article_id or "")
    assert article is not None
    assert article.type.value == answer
    assert (await names(store))[:6] == [
        "planned",
        "brief.completed",
        "drafted",
        "type.reconsidered",
        "brief.completed",
        "drafted",
    ]
    attempts = await store.read(attempts_on, topic_key(topic, language))
    assert [(one.outcome, one.type and one.type.value) for one in attempts] == [
        ("reconsidered", planned),
        ("staged", answer),
    ]
    assert attempts[0].detail["draft"]["type"] == planned
    event = next(e for e in await store.read(list_events, name_prefix="article.type", limit=5))
    assert (event.payload["from"], event.payload["to"]) == (planned, answer)


async def test_skip_ends_with_its_reason(store: Store) -> None:
    bent = {"article_plan": _plan("troubleshooting"), "article_reconsider": _reconsider("skip")}
    result = await run(store, TGT, "en", KERBEROS, bent=bent)
    assert (result.outcome, result.reason) == ("refused", "wrong_article_type_or_insufficient_operational_evidence")
    assert await store.read(list_articles) == []


async def test_a_second_failure_ends_the_run(store: Store) -> None:
    bent = {"article_plan": _plan("how_to"), "article_reconsider": _reconsider("decision_guide")}
    result = await run(store, TGT, "en", KERBEROS, bent=bent)
    assert result.outcome == "refused"
    assert result.reason == "too_few_options"
    assert (await names(store)).count("type.reconsidered") == 1


async def test_another_structure_error_is_not_replanned(store: Store) -> None:
    def without_cause(request: Any, honest: Any) -> ArticleDraft:
        draft = honest(request)
        assert isinstance(draft, ArticleDraft)
        kept = tuple(section for section in draft.sections if section.name is not SectionName.CAUSE)
        return draft.model_copy(update={"sections": kept})

    result = await run(store, VPN_TOPIC, "en", VPN, bent={"article_author": without_cause})
    assert (result.outcome, result.reason) == ("refused", "missing_section:cause")
    assert "type.reconsidered" not in await names(store)


async def test_a_non_operational_type_is_never_replanned(store: Store) -> None:
    result = await run(store, VPN_TOPIC, "en", VPN, bent={"article_plan": _plan("reference")})
    assert (result.outcome, result.reason) == ("refused", "too_few_facts")
    assert "type.reconsidered" not in await names(store)


# -- correction ---------------------------------------------------------------------------------------------------


def _spoil(draft: ArticleDraft, name: SectionName, text: str) -> ArticleDraft:
    """Return `draft` with a first claim in section `name` that says more than it cites."""

    def spoiled(section: DraftSection) -> DraftSection:
        if section.name is not name:
            return section
        first = section.paragraphs[0][0]
        bad = DraftClaim(text=text, citations=first.citations)
        return section.model_copy(update={"paragraphs": ((bad, *section.paragraphs[0]), *section.paragraphs[1:])})

    return draft.model_copy(update={"sections": tuple(spoiled(section) for section in draft.sections)})


INVENTED = "A ticket-granting ticket is always valid for 99 hours."


def _invents(request: Any, honest: Any) -> ArticleDraft:
    return _spoil(honest(request), SectionName.HOW_IT_WORKS, INVENTED)


async def test_an_invented_claim_is_corrected_away_and_nothing_else_changes(store: Store) -> None:
    honest = await run(store, TGT, "en", KERBEROS)
    clean = await store.read(get_revision, honest.article_id or "", 1)
    result = await run(store, TGT, "en", KERBEROS, directives=("anew",), bent={"article_author": _invents})
    # what was invented is gone; what stays is the honest text, so nothing new is staged
    assert (result.outcome, result.reason) in {("unchanged", "unchanged"), ("staged", "staged")}
    assert clean is not None
    assert "99" not in clean.markdown
    events = await store.read(list_events, name_prefix="article.corrected", limit=5)
    assert [event.payload["untouched_changed"] for event in events] == [[]]
    assert events[0].payload["findings"]["number_not_in_evidence"] == 1


async def test_a_corrector_that_touches_more_is_not_believed(store: Store) -> None:
    def oversteps(request: Any, honest: Any) -> ArticleDraft:
        draft = honest(request)
        return _spoil(draft, SectionName.CONSEQUENCES, INVENTED)

    result = await run(store, TGT, "en", KERBEROS, bent={"article_author": _invents, "article_correct": oversteps})
    assert (result.outcome, result.reason) == ("refused", "correction_exhausted")
    events = await store.read(list_events, name_prefix="article.corrected", limit=5)
    assert [event.payload["untouched_changed"] for event in events] == [["consequences"], ["consequences"]]


async def test_two_rounds_are_the_end(store: Store) -> None:
    def does_nothing(request: Any, _honest: Any) -> ArticleDraft:
        draft = request.draft
        assert isinstance(draft, ArticleDraft)
        return draft

    result = await run(store, TGT, "en", KERBEROS, bent={"article_author": _invents, "article_correct": does_nothing})
    assert (result.outcome, result.reason) == ("refused", "correction_exhausted")
    assert (await names(store)).count("corrected") == 2
    assert await store.read(list_articles) == []


async def test_the_corrector_reads_computed_findings_first(store: Store) -> None:
    seen: list[str] = []

    def reads(request: Any, honest: Any) -> ArticleDraft:
        seen.append(request.summary)
        draft = honest(request)
        assert isinstance(draft, ArticleDraft)
        return draft

    await run(store, TGT, "en", KERBEROS, bent={"article_author": _invents, "article_correct": reads})
    assert seen[0].splitlines()[0].startswith("COMPUTED number_not_in_evidence at how_it_works.0.0")
    assert "REVIEW claim_contradicted" in seen[0]


@pytest.mark.parametrize("role", ["article_claim_review", "article_coverage_review"])
async def test_a_review_that_says_no_stages_nothing(store: Store, role: str) -> None:
    def refuses(request: Any, honest: Any) -> ClaimReview | CoverageReview:
        answer = honest(request)
        word = "unsupported" if role == "article_claim_review" else "missing"
        judged = tuple(one.model_copy(update={"verdict": word}) for one in answer.judgements)
        return type(answer)(judgements=judged)

    result = await run(store, TGT, "en", KERBEROS, bent={role: refuses})
    assert result.outcome == "refused"
    assert await store.read(list_articles) == []


async def test_what_the_quality_checks_alone_refuse_is_not_staged(store: Store) -> None:
    """Every sentence is supported and every question answered; one of them is said twice."""

    def author(request: Any, honest: Any) -> ArticleDraft:
        draft = honest(request)
        assert isinstance(draft, ArticleDraft)
        return draft.model_copy(update={"summary": (*draft.summary, draft.summary[0])})

    def correct(request: Any, _honest: Any) -> ArticleDraft:
        draft = request.draft
        assert isinstance(draft, ArticleDraft)
        return draft

    result = await run(store, TGT, "en", KERBEROS, bent={"article_author": author, "article_correct": correct})
    assert (result.outcome, result.reason) == ("refused", "correction_exhausted")


async def test_a_review_that_skips_a_claim_is_an_error_of_the_model(store: Store) -> None:
    def skips(request: Any, honest: Any) -> ClaimReview:
        return ClaimReview(judgements=honest(request).judgements[1:])

    result = await run(store, TGT, "en", KERBEROS, bent={"article_claim_review": skips})
    assert (result.outcome, result.reason) == ("outside_error", "model_failed")


# -- revisions and rejections -------------------------------------------------------------------------------------


async def test_a_second_article_on_the_topic_becomes_a_proposed_revision(store: Store) -> None:
    first = await run(store, TGT, "en", KERBEROS)
    longer = await run(store, TGT.upper(), "en", KERBEROS, ("How is the TGT removed with kdestroy?",))
    assert longer.article_id == first.article_id
    assert longer.revision == 2
    assert longer.detail["proposed"] is True
    assert len(await store.read(list_articles)) == 1


async def test_the_next_attempt_gets_the_rejection_as_input(store: Store) -> None:
    first = await run(store, TGT, "en", KERBEROS)
    outcome = await perform(
        store, RejectArticle(first.article_id or "", "too short for us", "person:eva"), actor="person:eva"
    )
    assert outcome.ok
    seen: list[tuple[str, ...]] = []

    def reads(request: Any, honest: Any) -> ArticleDraft:
        seen.append(request.earlier_rejections)
        draft = honest(request)
        assert isinstance(draft, ArticleDraft)
        return draft

    again = await run(store, TGT, "en", KERBEROS, bent={"article_author": reads})
    assert seen == [("too short for us",)]
    # the very text that a person rejected is not staged again
    assert (again.outcome, again.reason) == ("refused", "rejected_before")


async def test_limits_come_from_the_policy(store: Store) -> None:
    stored = await recorded(store, evidence(*KERBEROS))
    strict = synthesis(store, policy=ArticlePolicy(min_evidence=3))
    assert (await strict.run(SynthesisRequest(TGT, (), "en", stored))).reason == "not_enough_evidence"
