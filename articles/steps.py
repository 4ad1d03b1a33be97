"""Instructions: what a source tells its reader to do, one a step, with the command that belongs to it (spec 06).

German instructions come as "Öffnen Sie …", "Öffne …" and, in numbered lists, as "Datei … öffnen"; English ones
begin with a verb in its base form or say "you must …". Pure functions; offsets are those of the stored full text.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from articles.blocks import BlockKind, TextBlock, text_blocks
from articles.cues import instruction_words, pointing_pattern, word_list
from articles.plaintext import code_tokens, prose_words
from articles.sentences import compose, in_language, points_back
from articles.shorten import label_length, shorten
from data.text import STOP_WORDS, Span, fold, identifiers, sentences

__all__ = ["Instruction", "code_text", "instruction_kind", "instructions", "is_concrete", "verifies"]

MAX_STEP_WORDS: Final = 45
"""With code; a longer one is more than one instruction."""
MAX_CODE_LINES: Final = 15
MIN_OBJECT_TERMS: Final = 3
"""Content words a step without any command, path, name or quoted label must have beside its verb."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction. `check` tells a look at something from a change; `code` is a block shown right below it."""

    start: int
    end: int
    pieces: tuple[Span, ...]
    text: str
    code: Span | None
    check: bool
    ordered: bool
    """It is an item of a numbered list."""
    verifies: bool = False
    """A check of whether something done before is as it should be, not a look around."""
    dependent: bool = False
    """It speaks of "it" or "this": it means something right behind the instruction before it only."""


_FLAGS: Final = re.IGNORECASE
_LEAD: Final = re.compile(
    r"(?:(?:first|second|third|next|then|now(?! that)|finally|afterwards|after that|lastly|also|again|simply|just|"
    r"please|optionally|instead|once done|at the end),?\s+)+",
    _FLAGS,
)
_CONDITION: Final = re.compile(
    r"(?:to|if|when|once|after|before|on|in|as|for|with|from|under|using|at|by|unless)\b[^.;:]{2,110}?,\s+(?:then\s+)?",
    _FLAGS,
)
_NOT_IMPERATIVE: Final = re.compile(
    r"\w+(?:\s+(?:up|out|in|on|down))?\s+(?:is|are|was|were|has|have|can|may|will|would|of|occurs?|fails?|files?|time|mode)\b",
    _FLAGS,
)
_POLITE: Final = re.compile(r"(?<![\w-])(?P<verb>[A-ZÄÖÜa-zäöü][a-zäöüß]{2,}(?:en|ern|eln|n)) Sie\b")
_FAMILIAR: Final = re.compile(
    r"(?:öffne|starte|installiere|prüfe|trage|setze|führe|lege|erstelle|wähle|klicke|gib|ändere|lösche|stelle|aktiviere|"
    r"deaktiviere|füge|kopiere|melde|teste|warte|rufe|entferne|speichere|konfiguriere|aktualisiere|suche|ersetze|verbinde|"
    r"trenne|schließe|beende|bearbeite|lade|notiere|kontrolliere|überprüfe|navigiere|bestätige|passe|sichere|drücke|"
    r"erzeuge|generiere|richte|schalte|nimm|lies|vergleiche|untersuche|verschiebe|ergänze|binde|hänge)\b",
    _FLAGS,
)
_FAMILIAR_CHECK: Final = re.compile(
    r"(?:prüfe|teste|kontrolliere|überprüfe|suche|lies|vergleiche|untersuche)\b", _FLAGS
)
_IMPERATIVE_FORM: Final = re.compile(
    r"(?P<verb>[A-Z][a-z]{2,}) (?:(?:up|down|out|off|back|in) )?(?:the|an?|all|any|each|every|your|both|one|`)(?=\W|\w)"
)
"""How an English instruction with an unknown verb looks: "Shrink the journal …"."""
_NO_VERB: Final = word_list("no_verbs")
_EXPECTED: Final = {
    "en": re.compile(
        r"`[^`]+` (?:must|should)(?: now| then)? (?:show|print|report|return|list|contain|display|answer|say|give|stay|"
        r"be|end|succeed)\b"
    ),
    "de": re.compile(
        r"`[^`]+` (?:muss|müssen|sollte|sollten|darf|dürfen)\b[^;]*\b(?:zeigen|melden|ausgeben|enthalten|liefern|"
        r"auflisten|anzeigen|antworten|sein|stehen|bleiben|enden)[.!]?$"
    ),
}
"""What a command must show: a look at the result, told by what has to be seen."""
_CAN_CHECK: Final = {
    "en": re.compile(r"\byou can (?:easily |also |then |now )?(?:verify|check|test|confirm|make sure)\b", _FLAGS),
    "de": re.compile(
        r"\b(?:können Sie|kann man|Sie können)\b.{0,120}\b(?:prüfen|überprüfen|kontrollieren|testen|nachprüfen)\b"
        r"|\blässt sich\b.{0,120}\b(?:prüfen|überprüfen|kontrollieren|testen)[.!]?$",
        _FLAGS,
    ),
}
_VERIFIES: Final = {
    "en": re.compile(
        r"\b(?:verify|confirm|verification|(?:check|test|see) (?:that|whether|if)|test the)\b|`[^`]+` (?:must|should) ",
        _FLAGS,
    ),
    "de": re.compile(
        r"\b(?:über)?prüfen\b[^,]{0,50}, (?:ob|dass)\b|\b(?:überprüf|vergewisser|test)\w*\b|\bob .*prüfen|"
        r"`[^`]+` (?:muss|müssen|sollte|sollten|darf|dürfen)\b",
        _FLAGS,
    ),
}
_BEFOREHAND: Final = re.compile(r"(?:before|bevor|vor)\b", _FLAGS)
_NEVER: Final = re.compile(
    r"\b(?:never|niemals|nie)\b|\b(?:should|must|sollten|müssen|dürfen)(?: Sie)? (?:\w+ ){0,3}(?:not|nicht|keine?n?)\b",
    _FLAGS,
)
"""What is not to be done is a warning, no step."""
_CAN_DO: Final = {
    "en": re.compile(r"\byou can (?:also |then |now )?(?P<verb>\w+)", _FLAGS),
    "de": re.compile(r"\b(?:können Sie|kann man|Sie können)\b", _FLAGS),
}
"""An ability: an instruction only where the source shows right below what to type."""
_ASKED_FORM: Final = re.compile(r",\s+(?:so|dann)\b|\?$")
_LISTS_ABILITIES: Final = re.compile(r"\b(?:to|can|may|either|and|or|kann|können|zu):\s*$")
_QUOTED: Final = re.compile(r"[\"“„»«][^\"”“„»«]{2,60}[\"”“«»]|\*\*[^*]{2,60}\*\*|\w+ ?(?:>|→|->) ?\w+")


@cache
def _verbs(language: str, kind: str) -> re.Pattern[str]:
    words = sorted(instruction_words(language, kind), key=len, reverse=True)
    return re.compile("(?:" + "|".join(re.escape(word) for word in words) + r")(?![\w-])", _FLAGS)


@cache
def _modal(language: str) -> re.Pattern[str]:
    return re.compile(r"\b(?:" + "|".join(instruction_words(language, "modal")) + r")\b", _FLAGS)


@cache
def _infinitives() -> re.Pattern[str]:
    words = [*instruction_words("de", "do"), *instruction_words("de", "check")]
    # separable verbs also as "einzutragen"; the whole word at the end of the main clause
    return re.compile(
        r"(?:\s|^)(?P<verb>\w*(?:" + "|".join(map(re.escape, words)) + r"))"
        r"(?:[.!]?$|(?=,\s(?:wenn|falls|sofern|damit|bis|sobald|um)\b))",
        _FLAGS,
    )


def instruction_kind(sentence: str, language: str, *, ordered: bool = False, among: bool = False) -> str | None:
    """Return `do` or `check` for a sentence that tells its reader to do something, None for any other.

    `among`: it is an item of a list most of whose items are instructions; its form is then enough, whatever its verb.
    """
    named = sentence[label_length(sentence) :]
    if _EXPECTED[language].match(named):
        return "check"
    bare = named.lstrip("`\"'„“(*_ ")
    if language == "de":
        return _german(bare, ordered)
    kind = _english(bare)
    if kind is None and among and (form := _IMPERATIVE_FORM.match(named)):
        verb = form["verb"].lower()
        return None if verb in _NO_VERB or verb.endswith(("ing", "ed", "s")) else "do"
    return kind


def _english(sentence: str) -> str | None:
    rest = sentence[match.end() :] if (match := _LEAD.match(sentence)) else sentence
    for _ in range(3):
        if kind := _english_verb(rest):
            return kind
        if not (condition := _CONDITION.match(rest)):
            break
        rest = rest[condition.end() :]
    if (
        (modal := _modal("en").search(sentence))
        and not re.search(r"\b(?:if|when|what|that|which)\s$", sentence[: modal.start()], _FLAGS)
        and modal.group().lower().startswith("you")
    ):
        after = sentence[modal.end() :].strip()
        return "check" if _verbs("en", "check").match(after) else "do" if _verbs("en", "do").match(after) else None
    if _CAN_CHECK["en"].search(sentence):
        return "check"
    return None


def _english_verb(text: str) -> str | None:
    if _NOT_IMPERATIVE.match(text):
        return None
    for kind in ("check", "do"):
        if match := _verbs("en", kind).match(text):
            after = text[match.end() :].lstrip()
            if after and (after == ":" or not re.match(r"[,.;:]|(?:and|or) \w+ing\b", after)):
                return kind
    return None


def _german(sentence: str, ordered: bool) -> str | None:
    if _CAN_CHECK["de"].search(sentence):
        return "check"
    for match in _POLITE.finditer(sentence):
        verb = fold(match["verb"])
        if match["verb"].lower() in word_list("states"):
            continue
        if match["verb"].lower() in {"stellen", "vergewissern"} and re.search(r"\bsicher\b|\bsich\b", sentence):
            return "check"
        stem = verb.removesuffix("n")
        if any(fold(word) == verb or fold(word).endswith(verb) for word in instruction_words("de", "check")):
            return "check"
        if any(fold(word).endswith(stem + "n") for word in instruction_words("de", "do")):
            return "do"
    if (opening := _POLITE.match(sentence)) and not _ASKED_FORM.search(sentence):
        # a verb in front and a full stop behind: an instruction, whatever it tells to do
        return None if opening["verb"].lower() in word_list("states") else "do"
    if _FAMILIAR.match(sentence):
        return "check" if _FAMILIAR_CHECK.match(sentence) else "do"
    infinitive = _infinitives().search(sentence)
    if (modal := _modal("de").search(sentence)) and infinitive and modal.start() < infinitive.start():
        return _infinitive_kind(infinitive["verb"])
    if (
        ordered
        and infinitive
        and not re.search(r"\b(?:ist|sind|wird|werden|kann|können|muss|müssen|hat|haben)\b", sentence)
    ):
        return _infinitive_kind(infinitive["verb"])
    return None


def _infinitive_kind(verb: str) -> str:
    return "check" if any(fold(verb).endswith(fold(word)) for word in instruction_words("de", "check")) else "do"


def verifies(text: str, language: str) -> bool:
    """Tell whether a check asks if something is as it should be ("verify that …"), and does not only look around."""
    return _VERIFIES[language].search(text) is not None and not _BEFOREHAND.match(text)


def is_concrete(text: str, code: str = "") -> bool:
    """Tell whether a person could carry `text` out: it names a command, a path, a label, or enough of its object."""
    if code or code_tokens(text) or _QUOTED.search(text) or identifiers(text):
        return True
    content = [
        word
        for word in prose_words(text)
        if word not in STOP_WORDS and word not in word_list("generic_objects") and len(word) > 2
    ]
    return len(content) - 1 >= MIN_OBJECT_TERMS


def code_text(text: str, span: Span) -> str:
    """Return the lines of a code block as an article shows them: common indent off, nothing else changed."""
    start = text.rfind("\n", 0, span.start) + 1
    lead = text[start : span.start]
    body = (lead if not lead.strip() else "") + span.of(text)
    return textwrap.dedent(body).strip("\n").rstrip()


def instructions(text: str, language: str, limit: int, offset: int = 0) -> list[Instruction]:
    """Return the instructions of a passage `text` in order; `offset` is where the passage begins in the full text."""
    blocks = text_blocks(text)
    among = _mostly_instructions(text, blocks, language)
    found: list[Instruction] = []
    for index, block in enumerate(blocks):
        if block.kind is BlockKind.PROSE and _LISTS_ABILITIES.search(text[block.start : block.end]):
            return found  # "This allows users to:" introduces what can be done, not what is to be done
        if block.kind in {BlockKind.PROSE, BlockKind.ITEM}:
            code = _code_after(text, blocks, index)
            found.extend(_of_block(text, block, code, language, limit, offset, among and block.kind is BlockKind.ITEM))
    return found


def _mostly_instructions(text: str, blocks: Sequence[TextBlock], language: str) -> bool:
    """Tell whether at least half of the list's items begin with an instruction of a known verb."""
    first = [
        (block, next(iter(sentences(text[block.start : block.end])), None))
        for block in blocks
        if block.kind is BlockKind.ITEM
    ]
    told = sum(
        span is not None
        and instruction_kind(span.of(text[block.start : block.end]), language, ordered=block.ordered) is not None
        for block, span in first
    )
    return told >= 2 and 2 * told >= len(first)


def _code_after(text: str, blocks: Sequence[TextBlock], index: int) -> Span | None:
    if index + 1 >= len(blocks) or blocks[index + 1].kind is not BlockKind.CODE:
        return None
    span = Span(blocks[index + 1].start, blocks[index + 1].end)
    return span if len(span.of(text).strip().splitlines()) <= MAX_CODE_LINES else None


def _of_block(
    text: str, block: TextBlock, code: Span | None, language: str, limit: int, offset: int, among: bool
) -> Iterator[Instruction]:
    body = text[block.start : block.end]
    spans = sentences(body)
    for number, span in enumerate(spans):
        last = number == len(spans) - 1
        raw = span.of(body)
        shown = code if last else None
        if raw.rstrip("*_ ").endswith(":") and shown is None:
            continue
        kind = instruction_kind(raw, language, ordered=block.ordered, among=among and not number)
        if kind is None and not (shown is not None and _shows_how(raw, language)):
            continue
        if not in_language(raw, language):
            continue
        if _NEVER.search(raw):
            continue
        skip = _lead_length(raw, language)
        pieces = shorten(raw[skip:], language, limit)
        if pieces is None:
            continue
        body_text = compose([piece.of(raw[skip:]) for piece in pieces])
        if shown is not None and raw.rstrip().endswith(":"):
            body_text = body_text.rstrip(".:") + ":"
        if not _carries(body_text, language) or not is_concrete(body_text, code_text(text, shown) if shown else ""):
            continue
        base = offset + block.start + span.start
        yield Instruction(
            start=base,
            end=base + len(raw),
            pieces=tuple(Span(base + skip + piece.start, base + skip + piece.end) for piece in pieces),
            text=body_text,
            code=Span(offset + shown.start, offset + shown.end) if shown else None,
            check=kind == "check",
            ordered=block.ordered,
            verifies=kind == "check" and verifies(body_text, language),
            dependent=_points_back(body_text, language),
        )


_OBJECT_PRONOUN: Final = {
    "en": re.compile(
        r"(?:[\w-]+ ){1,3}(?:it|them|this|these|those|that option|the same)\b(?! (?:file|command)\b.*`)", _FLAGS
    ),
    "de": re.compile(r"\w+ Sie (?:es|sie|ihn|dies\w*|diesen?|diesem|das|dort|dabei|dazu)\b(?! \w+ `)", _FLAGS),
}


def _points_back(step: str, language: str) -> bool:
    return points_back(step, language) or _OBJECT_PRONOUN[language].match(step) is not None


def _shows_how(sentence: str, language: str) -> bool:
    """Tell whether a sentence says that its reader can do something: with a command below it, that is how."""
    found = _CAN_DO[language].search(sentence)
    if found is None or not sentence.rstrip("*_ ").endswith((":", ".")):
        return False
    return language == "de" or bool(_verbs("en", "do").match(sentence, found.start("verb")))


def _lead_length(sentence: str, language: str) -> int:
    # German keeps its opening adverb: without it the verb would stand first and the sentence would turn into a question
    label = label_length(sentence)
    match = _LEAD.match(sentence, label) if language == "en" else None
    return match.end() if match else label


def _carries(text: str, language: str) -> bool:
    if not 3 <= len(text.split()) <= MAX_STEP_WORDS or text.count("`") % 2 or text.count("(") != text.count(")"):
        return False
    pointing = pointing_pattern(language).search(text)
    # "the following command:" is no pointing where the code stands below it
    return pointing is None or (
        text.endswith(":") and re.match(r"follow|below|folgend|nachfolg", pointing.group(), re.I) is not None
    )
