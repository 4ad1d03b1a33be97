"""How well a sentence serves a section, and which sentences, instructions and facts are taken (extractive author).

Scores are sums of shares in [0, 1]: how much of the topic a sentence holds, how clearly it is of the section's kind,
how near its meaning is to the question. The shares and the floor were set by hand on articles about the Debian
manuals, in both languages, by reading what came out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from articles.announce import announced, elsewhere, page_topic
from articles.cues import CLEAR, LIKELY, cue, cue_match, denied, tells_news
from articles.material import statements_of
from articles.relevance import TopicModel, index_of, overlap, question_terms
from articles.roles import MustAnswer, PassageView
from articles.sentences import Statement
from articles.steps import instruction_kind
from articles.types import SectionName
from data.text import terms

__all__ = [
    "FLOOR",
    "NEAR_SHARE",
    "SAME_STEP",
    "Candidate",
    "Near",
    "candidates",
    "pick",
    "redundant",
    "sentence_score",
    "successor",
]

FLOOR: Final = 0.40
"""Least score of a sentence: about half the topic in it or around it, and a sign of the section's kind."""
OWN_TOPIC: Final = 0.3
"""Of a sentence of a narrow kind (a cause, a definition): the least share of the topic in it or in its headings."""
MIN_ABOUT: Final = 0.45
"""Least share of the topic in a sentence with what stands around it, however clear its kind."""
SUBJECT_HEAD: Final = 0.5
GENERAL_SUBJECT_HEAD: Final = 0.3
"""Share of the thing's own words that the subject of a definition must name; for the scope, less will do."""
TOPIC_SHARE: Final = 0.30
FOCUS_SHARE: Final = 0.10
"""Of a sentence whose page or section is about the whole topic."""
FOCUS: Final = 0.30
"""Least share of the topic in a page's title or the headings above; from elsewhere only what names most of it."""
WIDE_NAMED: Final = 0.6
OWN_SHARE: Final = 0.20
"""Of a sentence that names the whole topic itself; what its page is about says less of it than its own words."""
KIND_SHARE: Final = 0.30
NEAR_SHARE: Final = 0.15
QUESTION_SHARE: Final = 0.20
"""Of a sentence that holds all the words of a question of the task; on top of the others."""
HEADING_BONUS: Final = 0.12
"""For a sentence under a heading that announces the section ("Cause", "Voraussetzungen")."""
ANNOUNCED_PAGE: Final = 0.3
"""Least share of the topic in a page's title for its "Cause" to be taken as the topic's."""
LEAST_NAMED: Final = 0.15
"""Of a sentence of a broad kind: the least share of the topic it must name itself; else it is about something near."""
SUBJECT_BONUS: Final = 0.10
"""For a definition whose first words name the topic, and for one that says what it is, not what it does."""
SAME_SOURCE: Final = 0.05
"""Taken off for each sentence already taken from the same source, so that no article retells one page."""
SAME_WORDS: Final = 0.55
"""Jaccard of terms from which a sentence repeats another one."""

SAME_STEP: Final = 0.75
"""Of two instructions: opening a port and checking that it is open share most words and are two things."""

_INSTRUCTIONS_ALLOWED: Final = frozenset(
    {SectionName.PREREQUISITES, SectionName.RECOMMENDATION, SectionName.DIAGNOSIS, SectionName.DETAILS}
)
_NARROW: Final = frozenset(
    {SectionName.CAUSE, SectionName.SYMPTOMS, SectionName.DEFINITION, SectionName.RECOMMENDATION, SectionName.GOAL}
)
_OF_ITSELF: Final = frozenset(
    {SectionName.HOW_IT_WORKS, SectionName.CONSEQUENCES, SectionName.DETAILS, SectionName.GOAL}
)
"""Kinds so broad, or so close to the topic, that a sentence must name the thing itself."""
_ABOUT: Final = frozenset({SectionName.DEFINITION, SectionName.SCOPE})
_SAYS_WHAT: Final = re.compile(
    r"\b(?:is|are|ist|sind) (?:an?|the|eine?[nmrs]?|ein|der|die|das)\b|"
    r"\b(?:bezeichnet|stands for|refers to|steht für)\b",
    re.IGNORECASE,
)
_JUDGES: Final = re.compile(
    r"(?:is|are|ist|sind) (?:an?|the|eine?[nmrs]?|ein|der|die|das) (?:very|great\w*|good|better|best|bad|common|"
    r"frequent|serious|problem|mistake|pity|case|reason|cause|time|sehr|gute?\w*|bessere?\w*|häufige?\w*|schlechte?\w*|problem|"
    r"fehler|grund|ursache|fall)\b",
    re.IGNORECASE,
)
_SUBJECT_WORDS: Final = 8
_NO_NOUN: Final = re.compile(
    r"\b(?:if|when|while|because|although|though|since|as with|by|to|obwohl|wenn|falls|sobald|weil|um|beim|mit)\b",
    re.IGNORECASE,
)
_CODE: Final = re.compile(r"`[^`]+`")


@dataclass(frozen=True, slots=True)
class Candidate:
    view: PassageView
    said: Statement
    score: float


Near = Callable[[str, str], float]
"""(question, sentence) -> cosine of their meanings, 0 where none is known."""


def sentence_score(
    section: SectionName, said: Statement, view: PassageView, model: TopicModel, asked: Sequence[str], near: float
) -> float:
    """Return how well `said` serves `section`, 0 where it is not of its kind and answers none of `asked`."""
    place = announced(view, model)
    if denied(section, said.text, model.language) or elsewhere(section, place) or tells_news(said.text):
        return 0.0
    kind = cue(section, said.text, model.language)
    wanted = max((_answers(question, said, view, model) for question in asked), default=0.0)
    told = place is section and page_topic(view, model) >= ANNOUNCED_PAGE
    if told:  # the source itself says of what kind it is
        kind = CLEAR if kind else LIKELY
    if kind == 0.0 and wanted < 0.6:
        return 0.0
    headings = " ".join(view.headings)
    named = model.cover((said.text, 1.0))
    own = max(named, model.cover((said.text, 1.0), (headings, 0.8)))
    if model.contradicted(said.text) or (section in _NARROW and own < OWN_TOPIC and wanted < 0.6 and not told):
        return 0.0
    of_itself = named >= LEAST_NAMED and model.names_core(said.text, view.publisher)
    if section in _OF_ITSELF and wanted < 0.6 and not told and not of_itself:
        return 0.0
    if section in _ABOUT and not _introduces(section, said.text, model):
        return 0.0
    about = max(model.cover((said.text, 1.0), (headings, 0.7), (view.text, 0.6), (view.title, 0.45)), view.topic * 0.8)
    if about < MIN_ABOUT and not told:
        return 0.0
    focus = max(page_topic(view, model), model.cover((headings, 1.0)))
    if focus < FOCUS and named < WIDE_NAMED and wanted < 0.6:
        return 0.0
    score = TOPIC_SHARE * about + FOCUS_SHARE * focus + OWN_SHARE * named
    score += KIND_SHARE * kind + NEAR_SHARE * near + QUESTION_SHARE * wanted
    if place is section:
        score += HEADING_BONUS
    if section in _ABOUT:
        score += SUBJECT_BONUS * (_names_subject(said.text, model) + bool(_SAYS_WHAT.search(said.text)))
    return score


def _answers(question: str, said: Statement, view: PassageView, model: TopicModel) -> float:
    wanted = question_terms(question, model.language)
    index = index_of(said.text)
    if not wanted or not any(term in index for term in wanted):
        return 0.0
    return 0.7 * overlap(wanted, index) + 0.3 * overlap(wanted, index_of(" ".join((*view.headings, view.text))))


def _introduces(section: SectionName, sentence: str, model: TopicModel) -> bool:
    """Tell whether the sentence says of the topic itself what it is or does, and does not only judge it."""
    match = cue_match(section, sentence, model.language)
    if match is None or _JUDGES.match(sentence, match.start()):
        return False
    subject = sentence[: match.start()]
    if "," in subject and model.names_head(subject.partition(",")[0]) < SUBJECT_HEAD:
        return False  # what stands between commas may explain the topic, not bring it in
    if _NO_NOUN.search(subject) or any(not model.cover((token, 1.0)) for token in _CODE.findall(subject)):
        return False  # a condition, or a command that has the topic among its words: what it does defines the topic not
    least = SUBJECT_HEAD if section is SectionName.DEFINITION else GENERAL_SUBJECT_HEAD
    return len(subject.split()) <= _SUBJECT_WORDS and model.names_head(subject) >= least


def _names_subject(sentence: str, model: TopicModel) -> bool:
    opening = " ".join(sentence.split()[:_SUBJECT_WORDS])
    rarest = max(model.weights, key=lambda term: model.weights[term], default="")
    held = sum(model.holds(term, opening) for term in model.weights)
    return bool(rarest) and (model.holds(rarest, opening) or 2 * held >= len(model.weights))


def candidates(
    section: SectionName,
    questions: Sequence[MustAnswer],
    views: Mapping[str, PassageView],
    model: TopicModel,
    limit: int,
    near: Near,
    floor: float = FLOOR,
) -> list[Candidate]:
    """Return the sentences of the passages that answer `questions`, scored for `section`, best first."""
    asked = [question.question for question in questions if not question.required]
    own = [question.question for question in questions if question.required]
    found: dict[tuple[str, int], Candidate] = {}
    for question in questions:
        for passage in question.passages:
            view = views[passage]
            for said in statements_of(view, model.language, limit):
                key = (view.source, said.start)
                if key in found or _is_instruction(section, said, model.language):
                    continue
                closeness = max((near(text, said.text) for text in (*own, *asked)), default=0.0)
                score = sentence_score(section, said, view, model, asked, closeness)
                if score >= floor:
                    found[key] = Candidate(view, said, score)
    return sorted(found.values(), key=lambda c: (-c.score, int(c.view.source[1:]), c.said.start))


def _is_instruction(section: SectionName, said: Statement, language: str) -> bool:
    return section not in _INSTRUCTIONS_ALLOWED and instruction_kind(said.text, language) is not None


def redundant(text: str, used: Sequence[frozenset[str]], language: str, at: float = SAME_WORDS) -> bool:
    """Tell whether `text` says again what one of the term sets `used` came from; `at` is the Jaccard that counts."""
    mine = frozenset(terms(text, language))
    return any(mine and len(mine & other) / len(mine | other) >= at for other in used)


def successor(candidate: Candidate, language: str, limit: int) -> Statement | None:
    """Return the sentence that stands right behind in the source and points back to this one, or None."""
    view = candidate.view
    for said in statements_of(view, language, limit):
        if said.start >= candidate.said.end:
            between = view.text[candidate.said.end - view.start : said.start - view.start]
            return said if said.dependent and not between.strip() else None
    return None


def pick(
    section: SectionName,
    pool: Sequence[Candidate],
    most: int,
    used: list[frozenset[str]],
    model: TopicModel,
    limit: int,
) -> list[Candidate]:
    """Return up to `most` of `pool`, best first with sources in turn; adds what they say to `used`.

    A sentence that points back is taken only with the one before it.
    """
    chosen: list[Candidate] = []
    counts: dict[str, int] = {}
    left = [candidate for candidate in pool if not candidate.said.dependent]
    while left and len(chosen) < most:
        left.sort(
            key=lambda c: (
                -(c.score - SAME_SOURCE * counts.get(c.view.source, 0)),
                int(c.view.source[1:]),
                c.said.start,
            )
        )
        best = left.pop(0)
        if redundant(best.said.text, used, model.language):
            continue
        chosen.append(best)
        used.append(frozenset(terms(best.said.text, model.language)))
        counts[best.view.source] = counts.get(best.view.source, 0) + 1
        follower = successor(best, model.language, limit)
        if follower is None or cue(section, follower.text, model.language) == 0.0:
            continue
        if len(chosen) < most and not redundant(follower.text, used, model.language):
            chosen.append(Candidate(best.view, follower, best.score))
            used.append(frozenset(terms(follower.text, model.language)))
    return chosen
