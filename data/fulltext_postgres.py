"""Full text on PostgreSQL: the questions that FTS5 answers on SQLite, over the words that migrations keep there.

PostgreSQL finds the documents (a GIN index over tsvector); the order is BM25 as FTS5 computes it, phrase by phrase
over the whole index, because PostgreSQL's own ranks know nothing of how rare a word is. What a phrase counts within
a document comes from `ts_rank`: one for one occurrence in the text, `title_weight` for one in the title, and ever
less for each further one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from sqlalchemy import Connection, bindparam, text

__all__ = ["library_snippets", "put_library_text", "rank_library", "rank_nodes", "remove_library_text"]

_K1: Final = 1.2
_B: Final = 0.75
"""The constants of BM25 that FTS5 has built in."""
_LEAST_IDF: Final = 1e-6
_RANK_UNIT: Final = 1.64493406685
"""What `ts_rank` divides by: the sum of 1/i²."""
_LONGEST: Final = 60
"""Characters of a word that the index keeps."""

_TOKEN: Final = re.compile(r"[^\W_]+")
_PHRASE: Final = re.compile(r'"([^"]*)"(\*?)')
_NARROW: Final = 450
"""Characters in which the hits of a snippet must lie together: about as many as its words have."""
_BEFORE: Final = 12
"""Words shown before the first hit."""

_SCORES: Final = f"""
    WITH term AS MATERIALIZED (
        SELECT member, weight, query::tsquery AS query, n
        FROM unnest(CAST(:queries AS text[]), CAST(:members AS integer[]), CAST(:weights AS double precision[]))
        WITH ORDINALITY AS t (query, member, weight, n)
    ), size AS (
        SELECT count(*) AS documents, coalesce(avg(length), 1) AS average FROM {{table}} WHERE part = 0
    ), hit AS (
        SELECT f.document, t.n, t.member, t.weight, min(f.length) AS length,
            sum(ts_rank(CAST(:marks AS real[]), f.words, t.query)) AS rank
        FROM term AS t JOIN {{table}} AS f ON f.words @@ t.query GROUP BY f.document, t.n, t.member, t.weight
    ), spread AS (
        SELECT n, greatest({_LEAST_IDF}, ln((size.documents - count(*) + 0.5) / (count(*) + 0.5))) AS idf
        FROM hit CROSS JOIN size GROUP BY n, size.documents
    ), scored AS (
        SELECT hit.document, hit.member, hit.weight, spread.idf, hit.length / size.average AS relative,
            hit.rank * {_RANK_UNIT} * :title_weight AS tf
        FROM hit JOIN spread USING (n) CROSS JOIN size
    ), total AS (
        SELECT document, sum(weight * idf * tf * {_K1 + 1} / (tf + {_K1} * ({1 - _B} + {_B} * relative))) AS score,
            array_agg(DISTINCT member) AS members
        FROM scored GROUP BY document
    )
"""  # noqa: S608 - our own names and numbers
_LIBRARY: Final = text(
    _SCORES.format(table="library_fts")  # noqa: S608
    + "SELECT document, score, members FROM total ORDER BY score DESC, document LIMIT :limit"
)
_NODES: Final = text(
    _SCORES.format(table="node_fts")  # noqa: S608
    + """SELECT node.id, score FROM total JOIN node_text ON node_text.id = total.document
    JOIN node ON node.id = node_text.node_id WHERE node.active AND node.kind IN :kinds
    ORDER BY score DESC, node.id LIMIT :limit"""
).bindparams(bindparam("kinds", expanding=True))
_TEXTS: Final = text("SELECT document, body FROM library_fts WHERE part = 0 AND document IN :ids").bindparams(
    bindparam("ids", expanding=True)
)
_INSERT: Final = text(
    "INSERT INTO library_fts (document, part, words, length, body) "
    "SELECT CAST(:number AS integer), w.part, w.words, w.length, CASE w.part WHEN 0 THEN :body ELSE '' END "
    "FROM store_words(:title, :body) AS w"
)
_DELETE: Final = text("DELETE FROM library_fts WHERE document = :number")


def rank_nodes(
    conn: Connection, words: Sequence[str], kinds: Sequence[str], *, title_weight: float, limit: int
) -> dict[str, float]:
    """Return the scores of active nodes that hold any of `words`, by node id, best first."""
    given = _parameters([(f'"{word}"', 1) for word in words], title_weight, limit)
    if not given["queries"]:
        return {}
    return {row.id: float(row.score) for row in conn.execute(_NODES, {**given, "kinds": list(kinds)})}


def rank_library(
    conn: Connection, groups: Sequence[tuple[str, int]], *, title_weight: float, limit: int
) -> dict[int, tuple[float, int]]:
    """Return score, and the weights of the groups that it holds, by document, best score first.

    `groups` are FTS5 expressions of quoted phrases joined by OR, each with how often it counts.
    """
    given = _parameters(groups, title_weight, limit)
    if not given["queries"]:
        return {}
    return {
        row.document: (float(row.score), sum(groups[member][1] for member in row.members))
        for row in conn.execute(_LIBRARY, given)
    }


def library_snippets(
    conn: Connection, groups: Iterable[tuple[str, int]], ids: Sequence[int], *, tokens: int
) -> dict[int, str]:
    """Return for each document the piece of its text, `tokens` words long, that holds most of the groups."""
    if not ids:
        return {}
    sought = _sought(expression for expression, _ in groups)
    rows = conn.execute(_TEXTS, {"ids": list(ids)})
    return {row.document: _snippet(row.body, sought, tokens) for row in rows}


def put_library_text(conn: Connection, number: int, title: str, body: str) -> None:
    """Index the document `number`, which has no text in the index yet."""
    conn.execute(_INSERT, {"number": number, "title": title, "body": body})


def remove_library_text(conn: Connection, number: int) -> None:
    """Take the text of the document `number` out of the index."""
    conn.execute(_DELETE, {"number": number})


def _parameters(groups: Sequence[tuple[str, int]], title_weight: float, limit: int) -> dict[str, object]:
    queries: list[str] = []
    members: list[int] = []
    weights: list[float] = []
    for member, (expression, weight) in enumerate(groups):
        for query in _queries(expression):
            queries.append(query)
            members.append(member)
            weights.append(float(weight))
    return {
        "queries": queries,
        "members": members,
        "weights": weights,
        "title_weight": float(title_weight),
        "marks": [1 / title_weight, 1 / title_weight, 1 / title_weight, 1.0],  # D, C, B, A: text, -, -, title
        "limit": limit,
    }


def _queries(expression: str) -> list[str]:
    """Return each phrase of an FTS5 expression as a tsquery: words that follow each other, the last perhaps begun."""
    found = []
    for phrase, star in _PHRASE.findall(expression):
        words = [f"'{word[:_LONGEST]}'" for word in _words(phrase)]
        if words:
            found.append(" <-> ".join(words) + (":*" if star else ""))
    return list(dict.fromkeys(found))


def _words(phrase: str) -> list[str]:
    """Return words as `store_plain` spells them."""
    decomposed = unicodedata.normalize("NFD", phrase.lower())
    return _TOKEN.findall("".join(c for c in decomposed if not "\u0300" <= c <= "\u036f").lower())


def _sought(expressions: Iterable[str]) -> re.Pattern[str] | None:
    parts = []
    for expression in expressions:
        for phrase, star in _PHRASE.findall(expression):
            words = _words(phrase)
            if words:
                parts.append(r"[\W_]+".join(map(re.escape, words)) + (r"\w*" if star else ""))
    if not parts:
        return None
    return re.compile(rf"(?<![^\W_])(?:{'|'.join(sorted(set(parts), key=len, reverse=True))})(?![^\W_])")


def _snippet(body: str, sought: re.Pattern[str] | None, tokens: int) -> str:
    plain = body.lower().translate(_UNMARKED)
    if len(plain) != len(body):  # a capital whose small form is longer: the places would not fit
        plain = body.translate(_UNMARKED)
    hits = [] if sought is None else [(hit.start(), hit.group()) for hit in sought.finditer(plain)]
    best, most, end = 0, 0, 0
    for index, (start, _) in enumerate(hits):
        while end < len(hits) and hits[end][0] < start + _NARROW:
            end += 1
        distinct = len({word for _, word in hits[index : min(end, index + tokens)]})
        if distinct > most:
            best, most = start, distinct
    before = [match.start() for match in _TOKEN.finditer(body, max(0, best - 40 * _BEFORE), best)][-_BEFORE:]
    first = before[0] if before and best else (best if hits else 0)
    stop = len(body)
    for number, match in enumerate(_TOKEN.finditer(body, first), 1):
        if number == tokens:
            stop = match.end()
            break
    return ("… " if first else "") + body[first:stop] + (" …" if stop < len(body) else "")


def _unmarked() -> Mapping[int, str]:
    """Return what takes the marks off the letters that have one code with them, place by place."""
    found = {}
    for code in (*range(0xC0, 0x250), *range(0x1E00, 0x1F00)):
        plain = "".join(c for c in unicodedata.normalize("NFD", chr(code)) if not unicodedata.combining(c))
        if len(plain) == 1 and plain != chr(code):
            found[code] = plain
    return found


_UNMARKED: Final = _unmarked()
