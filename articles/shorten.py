"""Shortening a sentence at clause borders, so that no long run of it is taken over (spec 06, "Author").

What goes is a reference in brackets, a parenthesis, a trailing relative clause, a second half after a semicolon:
never anything that holds a negation, a condition or an exception, because that would turn what the source says.
What stays are verbatim pieces of the sentence. Pure functions; offsets are those of the sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from articles.cues import negations
from articles.plaintext import prose_words
from data.text import Span

__all__ = ["label_length", "shorten"]

MIN_REST: Final = 6
"""Words that must be left after a cut; fewer rarely make a sentence that says something."""

_FLAGS: Final = re.IGNORECASE
_LABEL: Final = re.compile(
    r"(?:\*{0,2}(?:note|notes|tip|hint|important|warning|caution|attention|remark|hinweis|achtung|wichtig|tipp|warnung|merke|"
    r"anmerkung)\*{0,2}(?:\s*[:!]\*{0,2}\s*|\s+(?=(?-i:[A-ZÄÖÜ`\"]))))+",
    _FLAGS,
)
_ENGLISH_CONNECTIVE: Final = re.compile(
    r"(?:however|therefore|additionally|in addition|moreover|furthermore|for example|for instance|of course|besides|"
    r"unfortunately|fortunately|naturally|in fact|indeed|finally|firstly|secondly|(?:first|second|third|next)(?=,)|"
    r"then|also|lastly|similarly|thus|hence|consequently|as you can see|obviously|basically|in general|after that|"
    r"afterwards|note that|please note that|remember that|be aware that|keep in mind that|by the way|in other words)"
    r",?\s+(?=[\w`\"'(])",
    _FLAGS,
)
_KEEP: Final = re.compile(
    r"\b(?:only|except|unless|if|but|however|provided|although|though|until|at least|at most|must|"
    r"nur|außer|sofern|falls|wenn|aber|jedoch|sondern|solange|obwohl|es sei denn|mindestens|höchstens|muss|müssen)\b",
    _FLAGS,
)
_REFERENCE: Final = re.compile(
    r"\s*[(\[](?:see|cf\.|as described|described|documented|refer|siehe|s\. ?o\.|s\. ?u\.|vgl\.|vergleiche|beschrieben|"
    r"abschnitt|kapitel|section|chapter|figure|abb)(?:[^()\[\]]|\[[^()\[\]]*\])*[)\]]",
    _FLAGS,
)
_FILLER: Final = re.compile(r",\s+(?:of course|indeed|naturally|in fact|natürlich|selbstverständlich)\s*,", _FLAGS)
_PARENTHESIS: Final = re.compile(r"\s*\((?!\d\w?\))[^()]*\)")
_DASHED: Final = re.compile(r"\s+(?:--|–|—)\s[^–—]*?\s(?:--|–|—)(?=\s)")
_END_MARK: Final = r"(?=[.!]['\"”“»)*_`]{0,3}$)"
# One alternative a line, the harmless first; each runs to the end of the sentence.
_TRAILING_FORMS: Final[Mapping[str, tuple[str, ...]]] = {
    "en": (
        r",\s+(?:which|whose|where|who|whereas|while)\s[^;:]*?",
        r"\s*;\s[^;]*?",
        r"\s+(?:--|–|—)\s.*?",
        r",\s+(?:such as|for example|for instance|e\.g\.|including|i\.e\.|that is|in particular)\s.*?",
        r",\s+(?:because|since|as)\s[^;:]*?",
        r",\s+(?:and|so) (?:it|they|this|these|you|the|that|there|its|their)\s[^;:]*?",
    ),
    "de": (
        r",\s+(?:wobei|wodurch|weshalb|was|womit|sodass|so dass|während|wohingegen)\s[^;:]*?",
        r"\s*;\s[^;]*?",
        r"\s+(?:--|–|—)\s.*?",
        r",\s+(?:z\. ?B\.|zum Beispiel|beispielsweise|etwa|insbesondere|d\. ?h\.|das heißt|also|darunter)\s.*?",
        r",\s+(?:weil|da|denn)\s[^;:]*?",
        r",\s+und (?:er|sie|es|dies\w*|das|die|der|man)\s[^;:]*?",
    ),
}
_TRAILING: Final = {
    language: tuple(re.compile(form + _END_MARK, _FLAGS) for form in forms)
    for language, forms in _TRAILING_FORMS.items()
}
_FINITE: Final[Mapping[str, re.Pattern[str]]] = {
    "en": re.compile(
        r"\b(?:is|are|was|were|has|have|had|can|could|may|might|must|should|will|would|does|do|did|need|use|run|make|"
        r"[a-z]{2,}(?:s|ed))\b"
    ),
    "de": re.compile(
        r"\b(?:ist|sind|war|waren|hat|haben|kann|können|muss|müssen|soll|sollte|sollten|wird|werden|darf|dürfen|lässt|gibt|"
        r"[a-zäöüß]{2,}(?:t|en|ern|eln|te|ten))\b"
    ),
}


def label_length(sentence: str) -> int:
    """Return how many characters a label such as "Note:" takes at the front of `sentence`, 0 for none."""
    return match.end() if (match := _LABEL.match(sentence)) else 0


def shorten(sentence: str, language: str, limit: int) -> tuple[Span, ...] | None:
    """Return the pieces of `sentence` that stay, each of at most `limit` prose words; None where no cut suffices.

    References in brackets, labels and opening connectives always go; more goes only from a sentence that is too
    long, the harmless first.
    """
    start = label_length(sentence)
    if language == "en" and (opening := _ENGLISH_CONNECTIVE.match(sentence, start)):
        start = opening.end()
    removed: list[Span] = [Span(0, start)] if start else []
    for always in (_REFERENCE, _FILLER):
        removed += [Span(*match.span()) for match in always.finditer(sentence, start)]
    kept = _kept(sentence, removed)
    if _fits(sentence, kept, limit):
        return kept
    for cut in _cuts(sentence, start, language):
        if any(cut.start < other.end and other.start < cut.end for other in removed):
            continue
        trial = _kept(sentence, [*removed, cut])
        if not _stands(sentence, trial, language):
            continue
        removed.append(cut)
        kept = trial
        if _fits(sentence, kept, limit):
            return kept
    return None


def _cuts(sentence: str, start: int, language: str) -> Iterator[Span]:
    for pattern in (_PARENTHESIS, _DASHED):
        for match in pattern.finditer(sentence, start):
            if _harmless(match.group()):
                yield Span(*match.span())
    for pattern in _TRAILING[language]:
        matches = list(pattern.finditer(sentence, start))
        # the last one first: it takes the least away
        for match in reversed(matches):
            if _harmless(match.group()):
                yield Span(*match.span())


def _harmless(gone: str) -> bool:
    return not negations(gone) and not _KEEP.search(gone)


def _kept(sentence: str, removed: Sequence[Span]) -> tuple[Span, ...]:
    pieces = []
    position = 0
    for gone in sorted(removed, key=lambda span: span.start):
        pieces.append((position, gone.start))
        position = gone.end
    pieces.append((position, len(sentence)))
    return tuple(span for start, end in pieces if (span := _trim(sentence, start, end)) is not None)


def _trim(sentence: str, start: int, end: int) -> Span | None:
    while start < end and sentence[start].isspace():
        start += 1
    while end > start and sentence[end - 1].isspace():
        end -= 1
    # a piece without a word (the full stop after a cut) is no quotation; compose() ends the sentence itself
    return Span(start, end) if re.search(r"\w", sentence[start:end]) else None


def _fits(sentence: str, pieces: Sequence[Span], limit: int) -> bool:
    """Tell whether no run is longer than `limit` prose words; a gap that held only code does not end a run."""
    run, end = 0, 0
    for piece in pieces:
        run = len(prose_words(piece.of(sentence))) + (0 if prose_words(sentence[end : piece.start]) else run)
        if run > limit:
            return False
        end = piece.end
    return bool(pieces)


def _stands(sentence: str, pieces: Sequence[Span], language: str) -> bool:
    rest = " ".join(piece.of(sentence) for piece in pieces)
    return len(rest.split()) >= MIN_REST and bool(_FINITE[language].search(rest))
