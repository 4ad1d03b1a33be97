"""The questions a gap is researched with, by what is wanted to be known and in the language of the gap (spec 05).

They are what a service desk asks: of a problem its cause, diagnosis, solution and verification; of a thing
what it is, how it works and what follows; of a choice its options. A topic is often a ticket's title, hence
a sentence: it stands behind a colon, unquoted, because quotes would make a search engine look for it word
by word.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from data.models import ArticleType
from data.text import IdentifierClass, detect_language, identifiers, terms, words
from research.vocabulary import ORDINARY_WEIGHT, word_weight

__all__ = ["ASKING", "questions_for", "subject_of"]

_SUBJECT_WORDS: Final = 4
"""Identifiers and names that make a subject; the rest of a topic is its circumstances."""

_QUESTIONS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "de": {
        "troubleshooting": (
            "Was ist die Ursache: {topic}?",
            "Wie stellt man die Diagnose: {topic}?",
            "Welche Schritte beheben das Problem: {topic}?",
            "Wie prüft man danach, ob das Problem mit {subject} gelöst ist?",
        ),
        "how_to": (
            "Welche Voraussetzungen gibt es: {topic}?",
            "Welche Schritte sind nötig: {topic}?",
            "Wie prüft man das Ergebnis: {topic}?",
        ),
        "reference": (
            "Was bezeichnet {subject}?",
            "Welche Werte, Optionen und Grenzen gehören zu {subject}?",
            "Für welche Produkte und Versionen gilt {subject}?",
        ),
        "vulnerability": (
            "Was ist {subject} und wie wird die Schwachstelle ausgenutzt?",
            "Welche Produkte und Versionen sind von {subject} betroffen?",
            "Welche Aktualisierung oder Gegenmaßnahme hilft gegen {subject}?",
        ),
        "concept": (
            "Was ist {subject}?",
            "Wie funktioniert {subject}?",
            "Welche Folgen hat {subject} für den Betrieb?",
        ),
        "technique": (
            "Was ist {subject}?",
            "Wie gehen Angreifer bei {subject} vor?",
            "Wie erkennt man {subject} und was hilft dagegen?",
        ),
        "decision_guide": (
            "Welche Möglichkeiten gibt es: {topic}?",
            "Welche Vor- und Nachteile haben die Möglichkeiten bei {subject}?",
            "In welchem Fall ist welche Möglichkeit zu empfehlen: {topic}?",
        ),
    },
    "en": {
        "troubleshooting": (
            "What is the cause: {topic}?",
            "How is it diagnosed: {topic}?",
            "Which steps resolve the problem: {topic}?",
            "How is it verified afterwards that the problem with {subject} is solved?",
        ),
        "how_to": (
            "What are the prerequisites: {topic}?",
            "Which steps are needed: {topic}?",
            "How is the result checked: {topic}?",
        ),
        "reference": (
            "What does {subject} stand for?",
            "Which values, options and limits belong to {subject}?",
            "Which products and versions does {subject} apply to?",
        ),
        "vulnerability": (
            "What is {subject} and how is the vulnerability exploited?",
            "Which products and versions are affected by {subject}?",
            "Which update or mitigation helps against {subject}?",
        ),
        "concept": (
            "What is {subject}?",
            "How does {subject} work?",
            "What are the consequences of {subject} for operations?",
        ),
        "technique": (
            "What is {subject}?",
            "How do attackers use {subject}?",
            "How is {subject} detected and what helps against it?",
        ),
        "decision_guide": (
            "Which options are there: {topic}?",
            "What are the advantages and disadvantages of the options for {subject}?",
            "Which option is recommended in which case: {topic}?",
        ),
    },
}


ASKING: Final = " ".join(
    question.format(topic="", subject="")
    for sets in _QUESTIONS.values()
    for questions in sets.values()
    for question in questions
)
"""The words of asking: two tasks that are both asked for cause and solution share nothing by that."""


def questions_for(topic: str, article_type: ArticleType, language: str) -> tuple[str, ...]:
    """Return three or four questions about `topic`; English where its language is not known."""
    if language not in _QUESTIONS:
        language = detect_language(topic)
    wanted = _QUESTIONS.get(language, _QUESTIONS["en"])[_set_name(topic, article_type)]
    subject = subject_of(topic)
    return tuple(question.format(topic=topic, subject=subject) for question in wanted)


def _set_name(topic: str, article_type: ArticleType) -> str:
    classes = {item.cls for item in identifiers(topic)}
    if article_type is ArticleType.REFERENCE and IdentifierClass.CVE in classes:
        return "vulnerability"
    if article_type is ArticleType.CONCEPT and IdentifierClass.TECHNIQUE in classes:
        return "technique"
    return article_type.value


def subject_of(topic: str) -> str:
    """Return the identifiers and the first names of a topic, as written and in order; the topic where it has none."""
    pieces: list[tuple[str, bool]] = []
    position = 0
    for item in identifiers(topic):
        pieces += ((word, False) for word in _names(topic[position : item.start]))
        pieces.append((item.text, True))
        position = item.end
    pieces += ((word, False) for word in _names(topic[position:]))
    room = max(1, _SUBJECT_WORDS - sum(identifier for _, identifier in pieces))
    said: list[str] = []
    for text, identifier in pieces:
        if not identifier and room == 0:
            continue
        room -= not identifier
        said.append(text)
    return " ".join(dict.fromkeys(said)) or topic


def _names(text: str) -> list[str]:
    return [word for word in words(text) if any(word_weight(term) >= ORDINARY_WEIGHT for term in terms(word, "und"))]
