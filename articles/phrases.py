"""The fixed words that code may add to an article, in its language: headings, titles, lead-ins, labels.

Nothing here states a fact. A lead-in only tells where the next sentence comes from or that it follows; it
ends with a colon, so that a whole sentence can stand after it unchanged in both languages.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from articles.types import SectionName
from data.models import ArticleType
from data.text import fold

__all__ = [
    "HEADINGS",
    "LABELS",
    "LANGUAGES",
    "LEAD_INS",
    "STEP_LEAD_INS",
    "heading",
    "kind_name",
    "label",
    "lead_in_text",
    "must_answer_question",
    "title_for",
]

LANGUAGES: Final = ("de", "en")

_S = SectionName
HEADINGS: Final[Mapping[str, Mapping[SectionName, str]]] = {
    "de": {
        _S.SYMPTOMS: "Symptome",
        _S.CAUSE: "Ursache",
        _S.DIAGNOSIS: "Diagnose",
        _S.GOAL: "Ziel",
        _S.PREREQUISITES: "Voraussetzungen",
        _S.SOLUTION_STEPS: "Vorgehen",
        _S.VALIDATION_STEPS: "Ergebnis prüfen",
        _S.SCOPE: "Geltungsbereich",
        _S.FACTS: "Angaben",
        _S.DEFINITION: "Begriff",
        _S.HOW_IT_WORKS: "Funktionsweise",
        _S.CONSEQUENCES: "Auswirkungen",
        _S.QUESTION: "Fragestellung",
        _S.OPTIONS: "Möglichkeiten",
        _S.RECOMMENDATION: "Empfehlung je nach Fall",
        _S.DETAILS: "Weitere Einzelheiten",
    },
    "en": {
        _S.SYMPTOMS: "Symptoms",
        _S.CAUSE: "Cause",
        _S.DIAGNOSIS: "Diagnosis",
        _S.GOAL: "Goal",
        _S.PREREQUISITES: "Prerequisites",
        _S.SOLUTION_STEPS: "Steps",
        _S.VALIDATION_STEPS: "Check the result",
        _S.SCOPE: "Scope",
        _S.FACTS: "Facts",
        _S.DEFINITION: "Definition",
        _S.HOW_IT_WORKS: "How it works",
        _S.CONSEQUENCES: "Consequences",
        _S.QUESTION: "Question",
        _S.OPTIONS: "Options",
        _S.RECOMMENDATION: "Recommendation by case",
        _S.DETAILS: "Further details",
    },
}

_T = ArticleType
_TITLES: Final[Mapping[str, Mapping[ArticleType, str]]] = {
    "de": {
        _T.TROUBLESHOOTING: "Fehlerbehebung: {topic}",
        _T.HOW_TO: "Anleitung: {topic}",
        _T.REFERENCE: "Referenz: {topic}",
        _T.CONCEPT: "Grundlagen: {topic}",
        _T.DECISION_GUIDE: "Entscheidungshilfe: {topic}",
    },
    "en": {
        _T.TROUBLESHOOTING: "Troubleshooting: {topic}",
        _T.HOW_TO: "How to: {topic}",
        _T.REFERENCE: "Reference: {topic}",
        _T.CONCEPT: "Concept: {topic}",
        _T.DECISION_GUIDE: "Decision guide: {topic}",
    },
}

LEAD_INS: Final[Mapping[str, Mapping[str, str]]] = {
    "de": {
        "source": "Laut Quelle [{n}]:",
        "also": "Außerdem gilt:",
        "adds": "Ergänzend dazu:",
        "next": "Danach:",
        "then": "Im nächsten Schritt:",
        "on": "Weiter:",
    },
    "en": {
        "source": "According to source [{n}]:",
        "also": "In addition:",
        "adds": "To add to this:",
        "next": "Next:",
        "then": "After that:",
        "on": "Go on:",
    },
}
STEP_LEAD_INS: Final = ("next", "then", "on")
"""Lead-ins for steps, used in turn."""

LABELS: Final[Mapping[str, Mapping[str, str]]] = {
    "de": {
        "summary": "Kurzfassung",
        "applies_to": "Gilt für",
        "sources": "Quellen",
        "accessed": "abgerufen am {date}",
        "published": "veröffentlicht am {date}",
        "term": "Begriff",
        "meaning": "Bedeutung",
        "source": "Quelle",
        "topic": "Thema",
        "related": "Verwandte Artikel",
        "evidence": "Belege",
    },
    "en": {
        "summary": "Summary",
        "applies_to": "Applies to",
        "sources": "Sources",
        "accessed": "accessed {date}",
        "published": "published {date}",
        "term": "Term",
        "meaning": "Meaning",
        "source": "Source",
        "topic": "Topic",
        "related": "Related articles",
        "evidence": "Evidence",
    },
}

_QUESTIONS: Final[Mapping[str, Mapping[SectionName, str]]] = {
    "de": {
        _S.SYMPTOMS: "Woran erkennt man das Problem? ({topic})",
        _S.CAUSE: "Was ist die Ursache? ({topic})",
        _S.DIAGNOSIS: "Wie grenzt man das Problem ein? ({topic})",
        _S.GOAL: "Wozu dient es, was wird erreicht? ({topic})",
        _S.PREREQUISITES: "Was muss vorher vorhanden sein? ({topic})",
        _S.SOLUTION_STEPS: "Welche Schritte sind auszuführen? ({topic})",
        _S.VALIDATION_STEPS: "Wie prüft man das Ergebnis? ({topic})",
        _S.SCOPE: "Worum geht es, was gehört dazu? ({topic})",
        _S.FACTS: "Welche einzelnen Angaben, Werte und Optionen gibt es? ({topic})",
        _S.DEFINITION: "Was ist das? ({topic})",
        _S.HOW_IT_WORKS: "Wie funktioniert es? ({topic})",
        _S.CONSEQUENCES: "Welche Folgen hat es, was ist zu beachten? ({topic})",
        _S.QUESTION: "Was ist zu entscheiden? ({topic})",
        _S.OPTIONS: "Welche Möglichkeiten gibt es, und was spricht für sie? ({topic})",
        _S.RECOMMENDATION: "Was empfiehlt sich in welchem Fall? ({topic})",
    },
    "en": {
        _S.SYMPTOMS: "How does the problem show? ({topic})",
        _S.CAUSE: "What is the cause? ({topic})",
        _S.DIAGNOSIS: "How is the problem narrowed down? ({topic})",
        _S.GOAL: "What is it for, what is achieved? ({topic})",
        _S.PREREQUISITES: "What has to be there before? ({topic})",
        _S.SOLUTION_STEPS: "Which steps are to be carried out? ({topic})",
        _S.VALIDATION_STEPS: "How is the result checked? ({topic})",
        _S.SCOPE: "What is it about, what belongs to it? ({topic})",
        _S.FACTS: "Which single facts, values and options are there? ({topic})",
        _S.DEFINITION: "What is it? ({topic})",
        _S.HOW_IT_WORKS: "How does it work? ({topic})",
        _S.CONSEQUENCES: "What follows from it, what has to be kept in mind? ({topic})",
        _S.QUESTION: "What is to be decided? ({topic})",
        _S.OPTIONS: "Which options are there, and what speaks for them? ({topic})",
        _S.RECOMMENDATION: "What is advisable in which case? ({topic})",
    },
}


def heading(name: SectionName, language: str) -> str:
    """Return the section's heading; raise KeyError for a language outside `LANGUAGES`."""
    return HEADINGS[language][name]


def kind_name(kind: ArticleType, language: str) -> str:
    """Return what a reader calls a type of article, such as "How to"."""
    return _TITLES[language][kind].partition(":")[0]


def label(key: str, language: str, **values: str) -> str:
    """Return a fixed label such as "Sources", with `values` put in."""
    return LABELS[language][key].format(**values)


def lead_in_text(key: str, language: str, number: int = 0) -> str:
    """Return the lead-in `key` ("" for none); `number` is the source's number where the phrase names it."""
    return LEAD_INS[language][key].format(n=number) if key else ""


def must_answer_question(name: SectionName, topic: str, language: str) -> str:
    """Return the question that a required section answers."""
    return _QUESTIONS[language][name].format(topic=topic)


def title_for(topic: str, type_: ArticleType, language: str) -> str:
    """Return the title: the topic as asked, under the type's fixed word unless it stands there already.

    Behind the fixed word the topic keeps its case: nginx and krb5.conf are written small.
    """
    subject = " ".join(topic.split()).strip().rstrip(".:")
    pattern = _TITLES[language][type_]
    if fold(subject).startswith(fold(pattern.split(":")[0])):
        return subject[:1].upper() + subject[1:]
    return pattern.format(topic=subject)
