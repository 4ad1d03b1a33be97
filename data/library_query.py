"""Search over the library's full-text index: a query of words to an FTS5 expression, hits to a ranking.

Any-term search: a document that holds more of the query, holds its identifiers, or holds them in its title comes
first. Words are looked up as written and by the beginning of their stem, with and without ae, oe, ue for umlauts
(the index drops the dots). Nothing of a query reaches FTS5 but letters and digits inside of quotes.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from urllib.parse import quote

from sqlalchemy import Connection, bindparam, text

from data.characters import fold, normalise
from data.clock import from_iso
from data.fulltext_postgres import library_snippets, rank_library
from data.identifiers import IdentifierClass, identifiers
from data.language import STOP_WORDS
from data.models import SourceClass
from data.text import stem

__all__ = ["LibraryHit", "library_url", "match_groups", "search_library"]


@dataclass(frozen=True, slots=True)
class LibraryHit:
    url: str
    title: str
    snippet: str
    publisher: str
    source_class: SourceClass
    language: str
    published_at: datetime | None
    score: float
    """Positive; higher is better. Comparable within one query only."""


_TOKEN: Final = re.compile(r"[^\W_]+")
_MAX_WORDS: Final = 24
_MIN_STEM: Final = 4
_TITLE_WEIGHT: Final = 4.0
_IDENTIFIER_WEIGHT: Final = 3
"""How often an identifier is counted: a page about error 809 must come before one about VPNs in general."""
_CANDIDATES: Final = 60
_COVERED_SHARE: Final = 0.5
"""The part of the score that depends on how much of the query a document holds; BM25 alone lets one rare word win."""
_LANGUAGE_BONUS: Final = 1.15
_SNIPPET_TOKENS: Final = 64  # the most FTS5 gives


def match_groups(query: str) -> list[tuple[str, int]]:
    """Return for each word or identifier of `query` an FTS5 expression and how often it counts.

    Stop words are left out unless there is nothing else. Any string is accepted; no words give an empty list.
    """
    query = normalise(query)
    groups: dict[str, int] = {}
    rest: list[str] = []
    position = 0
    for item in identifiers(query):
        rest.append(query[position : item.start])
        position = item.end
        for expression in _identifier(item.cls, item.value, item.text):
            groups.setdefault(expression, _IDENTIFIER_WEIGHT)
        if item.cls is IdentifierClass.VERSION:
            rest.append(item.product)
        elif item.cls in {IdentifierClass.ERROR_CODE, IdentifierClass.VENDOR_CODE}:
            rest.append(re.sub(r"[\d.-]+$", "", item.text))  # "VPN-Fehler" of "VPN-Fehler 809"
    words = _TOKEN.findall(" ".join([*rest, query[position:]]))
    telling = [word for word in words if fold(word) not in STOP_WORDS and (len(word) > 1 or word.isdigit())]
    for word in telling or ([] if groups else words):
        groups.setdefault(_word(word), 1)
    return list(groups.items())[:_MAX_WORDS]


def _identifier(cls: IdentifierClass, value: str, written: str) -> list[str]:
    """Return the phrases under which an identifier may stand in a text."""
    if cls in {IdentifierClass.ERROR_CODE, IdentifierClass.HTTP_STATUS} or value.startswith("event id "):
        phrases = [value.rsplit(" ", 1)[-1]]
    elif cls is IdentifierClass.SYSTEM_CODE:
        padded = f"0x{value[2:].zfill(8)}" if value.startswith("0x") else value.removeprefix("smtp ")
        phrases = [value.removeprefix("smtp "), padded]
    elif cls is IdentifierClass.KB:
        phrases = [value, value.removeprefix("kb")]
    else:
        phrases = [value, written]
    found = [phrase for phrase in dict.fromkeys(_phrase(phrase) for phrase in phrases) if phrase]
    return ["(" + " OR ".join(found) + ")"] if found else []


def _phrase(text: str) -> str:
    tokens = _TOKEN.findall(text.lower())
    return '"' + " ".join(tokens) + '"' if tokens else ""


def _word(word: str) -> str:
    """Return a word as written and by its stems, each as the index spells it: `("prufung" OR "pruf"*)`."""
    folded = fold(word)
    plain = _without_marks(word)
    spellings = dict.fromkeys([plain, _without_marks(folded), re.sub(r"([aou])e", r"\1", folded)])
    parts = [f'"{spelling}"' for spelling in spellings if _TOKEN.fullmatch(spelling)]
    stems = dict.fromkeys(stem(folded, language) for language in ("de", "en"))
    for root in stems:
        if len(root) >= _MIN_STEM and any(s.startswith(root) and s != root for s in spellings) and root.isalnum():
            parts.append(f'"{root}"*')
    return "(" + " OR ".join(dict.fromkeys(parts)) + ")" if parts else _phrase(word) or '""'


def _without_marks(word: str) -> str:
    """Return a word as the tokenizer `unicode61 remove_diacritics 2` indexes it."""
    return "".join(c for c in unicodedata.normalize("NFD", word.lower()) if not unicodedata.combining(c))


_RANK: Final = text(
    "SELECT library_fts.rowid AS id, -bm25(library_fts, :title_weight, 1.0) AS score FROM library_fts "
    "WHERE library_fts MATCH :match ORDER BY score DESC, library_fts.rowid LIMIT :limit"
)
_HOLDS: Final = text("SELECT rowid AS id FROM library_fts WHERE library_fts MATCH :match AND rowid IN :ids").bindparams(
    bindparam("ids", expanding=True)
)
_ROWS: Final = text(
    "SELECT id, path, title, publisher, source_class, language, published_at FROM library_document WHERE id IN :ids"
).bindparams(bindparam("ids", expanding=True))
_SNIPPET: Final = text(
    "SELECT rowid AS id, snippet(library_fts, 1, '', '', ' … ', :tokens) AS snippet FROM library_fts "
    "WHERE library_fts MATCH :match AND rowid IN :ids"
).bindparams(bindparam("ids", expanding=True))


def search_library(conn: Connection, query: str, language: str, limit: int) -> list[LibraryHit]:
    """Return the documents that hold most of `query`, best first; `language` is preferred, not required."""
    groups = match_groups(query)
    if not groups or limit < 1:
        return []
    found = _ranked(conn, groups, max(_CANDIDATES, limit))
    if not found:
        return []
    scores = {number: score for number, (score, _) in found.items()}
    ids = list(scores)
    whole = sum(weight for _, weight in groups)
    rows = {row.id: row for row in conn.execute(_ROWS, {"ids": ids})}
    for number, row in rows.items():
        covered = found[number][1] / whole
        scores[number] *= 1 - _COVERED_SHARE + _COVERED_SHARE * covered
        scores[number] *= _LANGUAGE_BONUS if row.language == language else 1.0
    best = sorted(rows, key=lambda number: (-scores[number], rows[number].path))[:limit]
    snippets = _snippets(conn, groups, best)
    return [_hit(rows[number], _tidy(snippets.get(number, "")), scores[number]) for number in best]


def _ranked(conn: Connection, groups: Sequence[tuple[str, int]], limit: int) -> dict[int, tuple[float, int]]:
    """Return score, and the weights of the groups that it holds, by document, best score first."""
    if conn.dialect.name == "postgresql":
        return rank_library(conn, groups, title_weight=_TITLE_WEIGHT, limit=limit)
    wanted = {"match": _match(groups), "title_weight": _TITLE_WEIGHT, "limit": limit}
    scores = {row.id: float(row.score) for row in conn.execute(_RANK, wanted)}
    held = dict.fromkeys(scores, 0)
    for expression, weight in groups if scores else ():
        for row in conn.execute(_HOLDS, {"match": expression, "ids": list(scores)}):
            held[row.id] += weight
    return {number: (score, held[number]) for number, score in scores.items()}


def _snippets(conn: Connection, groups: Sequence[tuple[str, int]], ids: Sequence[int]) -> dict[int, str]:
    if conn.dialect.name == "postgresql":
        return library_snippets(conn, groups, ids, tokens=_SNIPPET_TOKENS)
    wanted = {"match": _match(groups), "ids": list(ids), "tokens": _SNIPPET_TOKENS}
    return {row.id: row.snippet for row in conn.execute(_SNIPPET, wanted)}


def _match(groups: Sequence[tuple[str, int]]) -> str:
    return " OR ".join(expression for expression, weight in groups for _ in range(weight))


def _hit(row: Any, snippet: str, score: float) -> LibraryHit:
    fields: Mapping[str, Any] = row._mapping
    return LibraryHit(
        url=library_url(fields["path"]),
        title=fields["title"],
        snippet=snippet,
        publisher=fields["publisher"],
        source_class=SourceClass(fields["source_class"]),
        language=fields["language"],
        published_at=from_iso(fields["published_at"]) if fields["published_at"] else None,
        score=round(score, 6),
    )


def _tidy(snippet: str) -> str:
    """Return a snippet as one line without the marks of headings, items and fences."""
    lines: Sequence[str] = [re.sub(r"^\s*(?:#{1,6}|[-*]|\d+\.|`{3,}\w*)\s+", "", line) for line in snippet.split("\n")]
    return " ".join(" ".join(lines).replace("```", " ").split())


def library_url(path: str) -> str:
    """Return the URL of a document by its path below the library, forward slashes."""

    return f"library:{quote(path, safe='/')}"
