"""Check exported articles against the evidence they cite, without a line of the product's own code.

    python benchmarks/check_articles.py --evidence HOME/evidence FILE.md|FOLDER...

Reads nothing but the exported Markdown with its front matter and the evidence folder. For every sentence, step and
fact: it has citations; each names a stored text with the digest it says, and a span within it; the words of the
statement are the words of its spans in their order, and what a step shows as code is a cited span line by line. The
page a person reads says what the front matter lists and nothing besides headings, fixed lead-ins and the list of
sources. A statement in other words than its spans (`--paraphrases`, for articles that a model wrote) is measured
instead: every number, version, path, option and name in it is cited, it denies what is denied there, and four of five
of its words stand there. One line an article; exit status 1 where any fails, 2 where there is nothing to look at.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import zstandard

LEAD_WORDS = 12
"""Words before a statement that may be a fixed lead-in."""
SHARE = 0.8


@dataclass
class Statement:
    place: str = ""
    kind: str = ""
    text: str = ""
    code: str = ""
    lead_in: str = ""
    citations: list[dict[str, Any]] = field(default_factory=list)


class Malformed(Exception):
    """The file is no exported article."""


def main() -> int:
    parser = argparse.ArgumentParser(description="check exported articles against their evidence")
    parser.add_argument("--evidence", type=Path, required=True)
    parser.add_argument("--paraphrases", action="store_true")
    parser.add_argument("paths", type=Path, nargs="+")
    options = parser.parse_args()
    files = [file for path in options.paths for file in (sorted(path.glob("*.md")) if path.is_dir() else [path])]
    failed = 0
    for file in files:
        faults = check(file.read_text(encoding="utf-8"), options.evidence, paraphrases=options.paraphrases)
        print(f"{'FAILED' if faults else 'ok':<7} {file.name}")
        for fault in faults[:10]:
            print(f"        {fault}")
        failed += bool(faults)
    print(f"{len(files)} articles checked, {failed} failed")
    return 2 if not files else 1 if failed else 0


def check(document: str, evidence: Path, *, paraphrases: bool = False) -> list[str]:
    """Return what is wrong with one exported article; empty where every statement stands in its evidence."""
    try:
        statements, body = read(document)
    except (Malformed, ValueError, KeyError) as error:
        return [f"it cannot be read: {error}"]
    if not statements:
        return ["it says nothing"]
    faults = [fault for one in statements for fault in _faults(one, evidence, paraphrases=paraphrases)]
    return [*faults, *_body_faults(statements, body)]


# -- reading ----------------------------------------------------------------------------------------------------------


def read(document: str) -> tuple[list[Statement], str]:
    """Return the statements of the front matter, and the page below it."""
    lines = document.split("\n")
    if lines[0] != "---" or "---" not in lines[1:]:
        raise Malformed("there is no front matter")
    end = lines.index("---", 1)
    statements: list[Statement] = []
    inside = False
    for line in lines[1:end]:
        if not line.startswith(" "):
            inside = line == "statements:"
            continue
        if not inside:
            continue
        if match := re.fullmatch(r"  - place: (.+)", line):
            statements.append(Statement(place=json.loads(match[1])))
        elif match := re.fullmatch(r"    (kind|text|code|lead_in): (.+)", line):
            setattr(statements[-1], match[1], json.loads(match[2]))
        elif match := re.fullmatch(r"      - \{(.+)\}", line):
            pairs = re.findall(r'(\w+): ("(?:[^"\\]|\\.)*"|\d+)', match[1])
            statements[-1].citations.append({key: json.loads(value) for key, value in pairs})
        elif not re.fullmatch(r"    \w+:.*", line):
            raise Malformed(f"unknown line {line[:60]!r}")
    return statements, "\n".join(lines[end + 1 :])


def stored(evidence: Path, sha256: str) -> str | None:
    """Return the stored text, None where it is missing or is not what its digest says."""
    try:
        packed = (evidence / sha256[:2] / f"{sha256}.txt.zst").read_bytes()
        content = zstandard.ZstdDecompressor().decompressobj().decompress(packed)
    except (OSError, zstandard.ZstdError):
        return None
    return content.decode() if hashlib.sha256(content).hexdigest() == sha256 else None


# -- one statement ----------------------------------------------------------------------------------------------------


def _faults(one: Statement, evidence: Path, *, paraphrases: bool) -> Iterator[str]:
    if not one.citations:
        yield f"{one.place}: nothing is cited"
        return
    spans = []
    for citation in one.citations:
        text = stored(evidence, str(citation["sha256"]))
        if text is None:
            yield f"{one.place}: the text {str(citation['sha256'])[:12]} is not there, or altered"
            return
        start, end = int(citation["start"]), int(citation["end"])
        if not 0 <= start < end <= len(text) or not text[start:end].strip():
            yield f"{one.place}: {start}..{end} is no span of its text"
            return
        spans.append(text[start:end])
    if one.code:
        rows = _rows(one.code)
        if not any(rows == _rows(span) for span in spans):
            yield f"{one.place}: the code {rows[0] if rows else ''!r} is no cited span"
        spans = [span for span in spans if _rows(span) != rows] or spans
    said, held = words(one.text), [word for span in spans for word in words(span)]
    if said == held:
        return
    if not paraphrases:
        position = next((i for i, pair in enumerate(zip(said, held, strict=False)) if pair[0] != pair[1]), len(held))
        yield f"{one.place}: its words are not the cited ones from word {position + 1} on: {one.text[:80]!r}"
        return
    yield from (f"{one.place}: {fault}" for fault in _measured(one.text, " ".join(spans), said, held))


def _rows(code: str) -> list[str]:
    return [line.strip() for line in code.splitlines() if line.strip()]


_MARKS = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)|(?<![\w*])\*{1,3}(?=\S)|(?<=\S)\*{1,3}(?![\w*])|\\([^\w\s])|`+")
_UNDERLINED = re.compile(r"(?<![\w_])(_{1,3})(?=[^\s_])([^_]+?)(?<=[^\s_])\1(?![\w_])")
_EDGE = " \t\n([{\"'„“”‚‘’»«`,;:!?….)]}|<>–—-"


def words(text: str) -> list[str]:
    """Return the words of a text in order, lower case, Markdown's marks and outer punctuation off."""
    bare = _UNDERLINED.sub(r"\2", _MARKS.sub(lambda match: match[1] or match[2] or "", text))
    tokens = (token.strip(_EDGE) for token in bare.replace("|", " ").split())
    return [token.casefold() for token in tokens if re.search(r"\w", token)]


_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_DENIAL = re.compile(
    r"(?<!\w)(?:not|no|never|none|neither|nor|without|cannot|unable|\w+n't|nicht|kein\w*|nie|niemals|weder|ohne)(?!\w)",
    re.IGNORECASE,
)


def _measured(text: str, cited: str, said: Sequence[str], held: Sequence[str]) -> Iterator[str]:
    """Yield what a statement in other words holds that its spans do not."""
    known = set(held)
    for number in _NUMBER.findall(text):
        if number not in _NUMBER.findall(cited):
            yield f"the number {number} is not cited"
    for word in said:
        if (re.search(r"[\d/\\_=@~]|^-|\w\.\w", word) or (word.isupper() and len(word) > 1)) and word not in known:
            yield f"{word!r} is not cited"
    for name in re.findall(r"(?<=[a-z,] )[A-Z][\w-]+", text):
        if name.casefold() not in known and not any(name.casefold()[:5] in one for one in known):
            yield f"the name {name} is not cited"
    if bool(_DENIAL.search(text)) != bool(_DENIAL.search(cited)):
        yield "only one of statement and citation denies"
    starts = {word[:5] for word in known}
    share = sum(word[:5] in starts for word in said) / (len(said) or 1)
    if share < SHARE:
        yield f"only {share:.0%} of its words are cited"


# -- the page ---------------------------------------------------------------------------------------------------------


def _body_faults(statements: Sequence[Statement], body: str) -> Iterator[str]:
    """Yield statements that the page does not make, and what it says that no statement does."""
    rest = " ".join(_page_words(body))
    rest = f" {rest} "
    for one in sorted(statements, key=lambda entry: -len(entry.text)):
        for part in (one.text, one.code):
            if not part:
                continue
            wanted = f" {' '.join(words(part))} "
            if wanted not in rest and not _in_parts(part, rest):
                yield f"{one.place}: the page does not say it: {part[:80]!r}"
            rest = rest.replace(wanted, " ‖ ", 1)
            for piece in _pieces(part):
                rest = rest.replace(piece, " ‖ ", 1)
    for left in rest.split("‖"):
        unknown = left.split()
        if len(unknown) > LEAD_WORDS or any(re.search(r"\d", word) for word in unknown):
            yield f"the page says more than its statements: {left.strip()[:80]!r}"


def _pieces(part: str) -> list[str]:
    # a fact "term: description" stands on the page in two cells, or as "product version"
    return [f" {' '.join(words(piece))} " for piece in part.split(": ", 1)] if ": " in part else []


def _in_parts(part: str, rest: str) -> bool:
    pieces = _pieces(part)
    return bool(pieces) and all(piece in rest for piece in pieces)


_FRAME = re.compile(r"\s*(?:#{1,6} |\|[ -]+\||\| [^|]+ \| [^|]+ \| (?:Source|Quelle) \||`{3})")
"""Headings, the head of a table, the fences of code: fixed by the exporter."""
_OPENING = re.compile(r"^\s*(?:\d{1,3}\. |- |\*\*[^*]+:\*\* )")


def _page_words(body: str) -> list[str]:
    found: list[str] = []
    lines = body.split("\n")
    last = max((number for number, line in enumerate(lines) if line.startswith("## ")), default=len(lines))
    for line in lines[:last]:
        if _FRAME.match(line):
            found.append("‖")
            continue
        marked = re.sub(r"\\\[\d+\\\]", " ‖ ", _OPENING.sub("‖ ", line))
        for token in marked.split():
            found.extend([token] if token == "‖" else words(token))
    return found


if __name__ == "__main__":
    sys.exit(main())
