"""Trace every sentence of every article back to the text it came from, without a line of the product's own code.

    python benchmarks/trace_articles.py HOME

Opens HOME/brain.db read-only and the texts under HOME/evidence. For the newest revision of each article: every
sentence, step, fact and criterion has a citation; every citation names an accepted evidence whose stored text has
the digest it says, and the quote stands verbatim at its span; a step's commands stand in a cited text. One line an
article; exit status 1 where any fails, 2 where there is nothing to look at.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import zstandard


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: trace_articles.py HOME", file=sys.stderr)
        return 2
    home = Path(sys.argv[1]).absolute()
    if not (home / "brain.db").is_file():
        print(f"{home} holds no brain.db", file=sys.stderr)
        return 2
    with closing(sqlite3.connect(f"{(home / 'brain.db').as_uri()}?mode=ro", uri=True)) as connection:
        connection.row_factory = sqlite3.Row
        articles = newest_revisions(connection)
        evidence = {row["id"]: row for row in connection.execute("SELECT * FROM evidence")}
    failed = 0
    for article in articles:
        content = json.loads(article["content"])
        statements = list(statements_of(content))
        faults = [fault for name, statement in statements for fault in faults_of(name, statement, evidence, home)]
        cited = {citation["evidence"] for _, statement in statements for citation in statement["citations"]}
        if not statements:
            faults.append("it says nothing")
        verdict = f"FAILED ({len(faults)})" if faults else "ok"
        print(
            f"{verdict:<7} {article['state']:<9} {content['language']} {content['type']:<15} {content['title']}: "
            f"{len(statements)} statements, {sum(len(s['citations']) for _, s in statements)} citations, "
            f"{len(cited)} texts"
        )
        for fault in faults[:10]:
            print(f"        {fault}")
        failed += bool(faults)
    print(f"{len(articles)} articles traced, {failed} failed")
    return 1 if failed else 0


def newest_revisions(connection: sqlite3.Connection) -> list[sqlite3.Row]:
    """Return state and content of every article's newest revision, in order of creation."""
    return connection.execute(
        "SELECT article.id, article.state, revision.content FROM article "
        "JOIN article_revision AS revision ON revision.article_id = article.id "
        "WHERE revision.number = (SELECT max(number) FROM article_revision WHERE article_id = article.id) "
        "ORDER BY article.id"
    ).fetchall()


def statements_of(content: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield everything an article states with the name of its place; whatever states something has citations."""
    for number, claim in enumerate(content["summary"], 1):
        yield f"summary, sentence {number}", claim
    for fact in content["applies_to"]:
        yield "applies to", fact
    for section in content["sections"]:
        for block in section["blocks"]:
            inner = [*block.get("claims", ()), *block.get("steps", ()), *block.get("facts", ())]
            inner += [criterion for option in block.get("options", ()) for criterion in option["criteria"]]
            for number, statement in enumerate(inner, 1):
                yield f"{section['name']}, {number}", statement


def faults_of(
    place: str, statement: Mapping[str, Any], evidence: Mapping[str, sqlite3.Row], home: Path
) -> Iterator[str]:
    """Yield what is wrong with one statement's citations."""
    if not statement["citations"]:
        yield f"{place}: nothing is cited"
    texts = []
    for citation in statement["citations"]:
        row = evidence.get(citation["evidence"])
        if row is None or not row["accepted"]:
            yield f"{place}: {citation['evidence']} is no accepted evidence"
            continue
        text = stored_text(home / row["path"], citation["sha256"])
        if text is None or row["sha256"] != citation["sha256"]:
            yield f"{place}: the text {citation['sha256'][:12]} is not there, or altered"
            continue
        texts.append(text)
        quote = citation["quote"]
        if not quote.strip() or text[citation["start"] : citation["end"]] != quote:
            yield f"{place}: at {citation['start']}..{citation['end']} of {row['url']} stands another text"
    code = statement.get("code", "")
    lines = [line.strip() for line in code.splitlines() if line.strip()]
    if texts and not all(any(line in text for text in texts) for line in lines):
        yield f"{place}: its command does not stand in a cited text"


def stored_text(path: Path, sha256: str) -> str | None:
    """Return the text of an evidence file, None where it is missing or is not what its digest says."""
    try:
        content = zstandard.ZstdDecompressor().decompressobj().decompress(path.read_bytes())
    except (OSError, zstandard.ZstdError):
        return None
    return content.decode() if hashlib.sha256(content).hexdigest() == sha256 else None


if __name__ == "__main__":
    sys.exit(main())
