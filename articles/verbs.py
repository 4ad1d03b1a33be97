"""Whether a piece of text is a sentence: it has a finite verb outside of its subordinate clauses (pure).

A rough test by word lists and endings, made to keep fragments of lists out; it never decides what a sentence means.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from articles.cues import finite_words, instruction_words

__all__ = ["is_sentence"]

_FLAGS: Final = re.IGNORECASE
_OPENS_CONDITION: Final = {
    "en": re.compile(
        r"(?:if|when|whenever|once|because|since|while|although|though|unless|until|after|before)\b", _FLAGS
    ),
    "de": re.compile(r"(?:falls|wenn|sobald|weil|da|obwohl|während|bevor|nachdem|sofern|solange|damit|um)\b", _FLAGS),
}
_MAIN_CLAUSE_DE: Final = re.compile(
    r",\s+(?:so\s+|dann\s+)?(?!(?:den|dem|der|die|das|dass|denen|deren|dessen|wenn|weil|falls|ob|um|und|oder|mit|aber|nicht|"
    r"sondern|seit|statt)\b)[a-zäöü]+(?:t|en|ern|eln|e|ß|rf|nn|ll|g)\b"
)
_SUBORDINATE: Final = {
    "en": re.compile(
        r"\b(?:that|which|who|whose|when|whenever|where|if|because|unless|until|while|although)\b[^,;]*", _FLAGS
    ),
    "de": re.compile(
        r",\s*(?:dass|die|der|das|den|dem|deren|dessen|denen|welche\w*|wenn|weil|falls|ob|wobei|wodurch)\b[^,;]*",
        _FLAGS,
    ),
}
_GERMAN_FORM: Final = re.compile(
    r"(?<![\wäöüß-])(?![a-zäöüß]*(?:[ie]gen|lichen|ischen|enden|baren|samen|losen|vollen|elnen|sten|ieren|ierten|einen)\b)"
    r"[a-zäöüß]{2,}(?:t|en|ern|eln)(?![\wäöüß-])"
)
_GERMAN_AUXILIARY: Final = re.compile(
    r"\b(?:ist|sind|war|waren|wird|werden|wurde|wurden|hat|haben|hatte|hatten|kann|können|konnte|muss|müssen|soll|sollen|"
    r"sollte|sollten|darf|dürfen|will|wollen|lässt|gibt|geht|steht|liegt|heißt|braucht|sei|wäre|würde)\b"
)


@cache
def _english_verbs() -> re.Pattern[str]:
    verbs = {*finite_words("en"), *instruction_words("en", "do"), *instruction_words("en", "check")}
    forms = {verb for verb in verbs if " " not in verb}
    for verb in sorted(forms):
        forms |= {f"{verb}s", f"{verb}es", f"{verb.removesuffix('e')}ed", f"{verb}{verb[-1]}ed"}
        if verb.endswith("y"):
            forms |= {f"{verb[:-1]}ies", f"{verb[:-1]}ied"}
    forms |= set(finite_words("en_forms"))
    return re.compile(r"(?<![\w'-])(?:" + "|".join(map(re.escape, sorted(forms))) + r")(?![\w'-])", _FLAGS)


def is_sentence(text: str, language: str, *, strict: bool = True) -> bool:
    """Tell whether `text` has a main clause with a verb of its own, its first word aside.

    Without `strict` only a condition without a main clause is refused: running text ends its sentences.
    """
    if _OPENS_CONDITION[language].match(text):
        return bool(_MAIN_CLAUSE_DE.search(text)) if language == "de" else "," in text or " then " in text
    if not strict:
        return True
    rest = _SUBORDINATE[language].sub(" ", text.partition(" ")[2])
    if language == "en":
        return bool(_english_verbs().search(rest))
    if _GERMAN_AUXILIARY.search(rest):
        return True
    return any(form.group() not in finite_words("de_not") for form in _GERMAN_FORM.finditer(rest))
