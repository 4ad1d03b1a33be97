"""Facts, options and versions: what a source says about one named thing (spec 06, reference and decision guide).

A fact is a term as it stands in the source and what is said about it: an item "term: text", a row of a table, or a
sentence whose subject is a command, a file or a setting. Pure functions; offsets are those of the full text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from articles.blocks import BlockKind, TextBlock, text_blocks
from articles.cues import pointing_pattern
from articles.plaintext import is_code_token, plain
from articles.sentences import compose, in_language, statement
from articles.shorten import shorten
from data.text import IdentifierClass, Span, identifiers, sentences

__all__ = ["FactCandidate", "VersionMention", "facts", "option_names", "versions"]

MAX_TERM_WORDS: Final = 6
MIN_DESCRIPTION_WORDS: Final = 3
MAX_DESCRIPTION_WORDS: Final = 40


@dataclass(frozen=True, slots=True)
class FactCandidate:
    """`pieces` are the spans of the description, in order; `term` and `description` are what is shown."""

    term: str
    term_span: Span
    description: str
    pieces: tuple[Span, ...]

    @property
    def hard(self) -> bool:
        """Whether the term is a name to look up (a command, a file, a code, an abbreviation), not a heading."""
        bare = self.term.strip("`")
        return self.term.startswith("`") or is_code_token(bare) or bool(identifiers(bare)) or bare.isupper()


@dataclass(frozen=True, slots=True)
class VersionMention:
    product: str
    version: str
    span: Span


_ITEM_FORM: Final = re.compile(
    r"(?P<term>\*\*[^*\n]{1,60}\*\*|`[^`\n]{1,60}`(?:[ ,/]+`[^`\n]{1,60}`)?(?: \([^()\n]{1,40}\))?|"
    r"[^\s:–—`*][^:–—\n]{0,50}?)"
    r"(?:\s*:\s+|\s+[–—]\s+|\s+--\s+|(?<=[`*])\s+-\s+)(?P<text>\S[\s\S]*)"
)
_SUBJECT: Final = {
    "en": re.compile(
        r"(?:(?:The|An?|With|Using|Setting|Option|Parameter|Command|File)\s+)?(?:(?:option|parameter|directive|command|file|"
        r"setting|module|package|tool|utility|daemon|program|service|value|keyword|statement|field|port|flag)\s+)?"
        r"(?P<term>`[^`\n]{1,60}`|[\w./-]*[\w)])(?=\s)"
    ),
    "de": re.compile(
        r"(?:(?:Der|Die|Das|Mit|Mit dem|Mit der|Ein|Eine)\s+)?(?:(?:Option|Parameter|Direktive|Anweisung|Befehl|Datei|"
        r"Einstellung|Modul|Paket|Werkzeug|Dienst|Daemon|Programm|Wert|Schlüsselwort|Feld|Port|Schalter|Variable|Verzeichnis|Kommando)\s+)?"
        r"(?P<term>`[^`\n]{1,60}`|[\w./-]*[\w)])(?=\s)"
    ),
}
_ROW_RULE: Final = re.compile(r"[|\s:\-–—]+$")
_LABELS: Final = re.compile(
    r"(?:note|notes|tip|hint|important|warning|caution|example|examples|hinweis|achtung|wichtig|tipp|warnung|beispiel|"
    r"beispiele|what(?: happened|-if)?|if|when|wenn|falls)$|(?:schritte?|steps?|lines?|zeilen?) ?\d|\d",
    re.IGNORECASE,
)


def facts(text: str, language: str, limit: int, offset: int = 0) -> list[FactCandidate]:
    """Return the facts of a passage `text` in order, at most one a term."""
    found: dict[str, FactCandidate] = {}
    for block in text_blocks(text):
        for candidate in _of_block(text, block, language, limit):
            shifted = FactCandidate(
                candidate.term,
                _shift(candidate.term_span, offset),
                candidate.description,
                tuple(_shift(piece, offset) for piece in candidate.pieces),
            )
            found.setdefault(candidate.term.casefold(), shifted)
    return list(found.values())


def _shift(span: Span, offset: int) -> Span:
    return Span(span.start + offset, span.end + offset)


def _of_block(text: str, block: TextBlock, language: str, limit: int) -> Iterator[FactCandidate]:
    if block.kind is BlockKind.TABLE:
        yield from _rows(text, block, language, limit)
    if block.kind is BlockKind.ITEM and (fact := _item(text, block, language, limit)):
        yield fact
    elif block.kind in {BlockKind.PROSE, BlockKind.ITEM}:
        yield from _sentences(text, block, language, limit)


def _item(text: str, block: TextBlock, language: str, limit: int) -> FactCandidate | None:
    match = _ITEM_FORM.match(text, block.start, block.end)
    if match is None:
        return None
    term = plain(match["term"]).strip(" :")
    if not 1 <= len(term.split()) <= MAX_TERM_WORDS or _LABELS.match(term) or not re.search(r"[^\W\d]", term):
        return None
    start = match.start("text")
    first = next(iter(sentences(text[start : block.end])), None)
    if first is None:
        return None
    described = _described(text, Span(start + first.start, start + first.end), language, limit)
    return FactCandidate(term, Span(*match.span("term")), *described) if described else None


def _rows(text: str, block: TextBlock, language: str, limit: int) -> Iterator[FactCandidate]:
    """Yield a fact a row: the first cell names it, the others describe it; a header row above a rule is none."""
    position = block.start
    lines = []
    for line in text[block.start : block.end].split("\n"):
        lines.append((position, line))
        position += len(line) + 1
    ruled = next((i for i, (_, line) in enumerate(lines) if "-" in line and _ROW_RULE.match(line)), -1)
    for index, (start, line) in enumerate(lines):
        if index <= ruled:
            continue
        cells = [
            Span(start + m.start(), start + m.end()) for m in re.finditer(r"(?<=\|)\s*[^|\s](?:[^|]*[^|\s])?", line)
        ]
        cells = [_stripped(text, cell) for cell in cells]
        if len(cells) < 2:
            continue
        term = plain(cells[0].of(text))
        if term.endswith(":") or term.count("{") != term.count("}"):
            continue  # "Status: Extension" is the sheet of one thing and says nothing of a term; a cut name is none
        pieces = tuple(cells[1:])
        description = "; ".join(plain(cell.of(text)).rstrip(".;") for cell in pieces)
        short = len(term.split()) <= MAX_TERM_WORDS and len(description.split()) <= MAX_DESCRIPTION_WORDS
        within = all(len(cell.of(text).split()) <= limit for cell in pieces)
        if term and short and within and in_language(description, language):
            yield FactCandidate(term, cells[0], description, pieces)


def _stripped(text: str, span: Span) -> Span:
    raw = span.of(text)
    return Span(span.start + len(raw) - len(raw.lstrip()), span.start + len(raw.rstrip()))


def _described(text: str, span: Span, language: str, limit: int) -> tuple[str, tuple[Span, ...]] | None:
    raw = span.of(text)
    if not in_language(raw, language) or raw.rstrip().endswith((":", "?")):
        return None
    pieces = shorten(raw, language, limit)
    if pieces is None:
        return None
    description = compose([piece.of(raw) for piece in pieces])
    words = len(description.split())
    if not MIN_DESCRIPTION_WORDS <= words <= MAX_DESCRIPTION_WORDS or description.count("`") % 2:
        return None
    if pointing_pattern(language).search(description) or not in_language(description, language):
        return None
    if description.count("(") != description.count(")") or re.search(r"https?://|\.\.\.|\w@\w", description):
        return None
    return description, tuple(_shift(piece, span.start) for piece in pieces)


def _sentences(text: str, block: TextBlock, language: str, limit: int) -> Iterator[FactCandidate]:
    body = text[block.start : block.end]
    for span in sentences(body):
        said = statement(body, span, language, limit, block.start)
        match = _SUBJECT[language].match(text, said.start, said.end) if said else None
        if said is None or match is None or said.dependent:
            continue
        term = plain(match["term"])
        if term.startswith("`") or is_code_token(term):
            yield FactCandidate(term, Span(*match.span("term")), said.text, said.pieces)


def versions(text: str, offset: int = 0) -> list[VersionMention]:
    """Return the products with a version that `text` names, in order; a bare version without its product is none."""
    return [
        VersionMention(
            item.product, item.value.removeprefix(item.product).strip(), Span(item.start + offset, item.end + offset)
        )
        for item in identifiers(text)
        if item.cls is IdentifierClass.VERSION and item.product and item.value != item.product
    ]


_BETWEEN: Final = re.compile(
    r"\s+(?:vs\.?|versus|or|oder|gegenüber|gegen|compared (?:to|with)|im vergleich (?:zu|mit))\s+", re.IGNORECASE
)
_OPENING: Final = re.compile(
    r"^.*?(?:between|zwischen|choose|wählen|which|welche\w*|compare|vergleich\w*|entscheidung\w*|use|verwenden)\b[:\s]*",
    re.IGNORECASE,
)


def option_names(topic: str, passages: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the names to decide between: those the topic sets against each other ("A or B", "A vs. B, C").

    `passages`, lists of the sources, are asked where the topic names fewer than two: their items' terms.
    """
    parts = _BETWEEN.split(topic.strip().rstrip("?"))
    if len(parts) < 2 and (
        match := re.search(r"\b(?:between|zwischen)\s+(.+?)\s+(?:and|und)\s+(.+)$", topic, re.IGNORECASE)
    ):
        parts = [match[1], match[2]]
    if len(parts) >= 2:
        names = [name for part in parts for name in re.split(r"\s*,\s*", part)]
        names[0] = _last_words(_OPENING.sub("", names[0]))
        return tuple(dict.fromkeys(_alike([name for part in names if (name := _first_words(part))])))
    found: list[str] = []
    for passage in passages:
        for block in text_blocks(passage):
            if block.kind is BlockKind.ITEM and (match := _ITEM_FORM.match(passage, block.start, block.end)):
                term = plain(match["term"]).strip(" :")
                if len(term.split()) <= MAX_TERM_WORDS and not _LABELS.match(term):
                    found.append(term)
    return tuple(dict.fromkeys(found))


def _alike(names: Sequence[str]) -> list[str]:
    """Return names of one form: of "Apache prefork, worker, event MPM" what stands around the choice is no name."""
    bare = [re.sub(r"^(?:an?|the|eine?[nmrs]?|der|die|das) ", "", name, flags=re.IGNORECASE).split() for name in names]
    least = min((len(words) for words in bare), default=0)
    first, *rest = bare or [[]]
    shown = [
        first[len(first) - least :],
        *(words[:least] if one == len(rest) - 1 else words for one, words in enumerate(rest)),
    ]
    return [" ".join(words) for words in shown if words]


def _last_words(name: str) -> str:
    # "Backup with rsync" set against "Bacula": what is compared stands last
    words = re.split(r"\b(?:with|using|mit|per|through|durch|:)\s*", name.strip())
    return words[-1].strip() if words else ""


def _first_words(name: str) -> str:
    return re.split(
        r"\s+(?:for|für|to|zum|zur|when|wenn|on|auf|in|im|as|als|with|mit)\b|[:(]", name.strip(), maxsplit=1
    )[0].strip(" .,-")
