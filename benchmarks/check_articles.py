"""Check exported articles against the evidence they cite, without a line of the product's own code.

    python benchmarks/check_articles.py --evidence HOME/evidence FILE.md|FOLDER...

Reads nothing but the exported Markdown with its front matter and the evidence folder. For every sentence, step and
fact: it has citations; each names a stored text with the digest it says, and a span within it; the words of the
statement are the words of its spans in their order, options, paths and inline code as they are written there, and what
a step shows as code is a cited span line by line. No "not" and no exception stands right beside a span and was cut off;
a sentence is not stitched together from two, and steps keep the order of their source. The page a person reads says
what the front matter lists, in its order, each with the numbers of the sources it cites, and nothing besides the title,
fixed headings and fixed lead-ins.

A statement in other words than its spans (`--paraphrases`, for articles that a model wrote) is measured instead: every
number, also in letters, unit, version, path, option and name in it is cited, it denies what is denied there, has no
word whose opposite stands there, and four of five of its words stand there. One line an article; exit status 1 where
any fails, 2 where there is nothing to look at.
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

SHARE = 0.8


@dataclass
class Statement:
    place: str = ""
    kind: str = ""
    text: str = ""
    code: str = ""
    lead_in: str = ""
    citations: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Exported:
    title: str
    sources: dict[int, dict[str, str]]
    statements: list[Statement]
    page: list[str]


def _listed(text: str, mark: str | None = None) -> list[str]:
    return text.split(mark)


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
        article = read(document)
    except (Malformed, ValueError, KeyError, IndexError) as error:
        return [f"it cannot be read: {error}"]
    if not article.statements:
        return ["it says nothing"]
    faults = [fault for one in article.statements for fault in _faults(one, evidence, paraphrases=paraphrases)]
    return [*faults, *_order_faults(article.statements), *_page_faults(article)]


# -- reading ----------------------------------------------------------------------------------------------------------


def read(document: str) -> Exported:
    """Return the statements and sources of the front matter, and the lines of the page below it."""
    lines = document.split("\n")
    if lines[0] != "---" or "---" not in lines[1:]:
        raise Malformed("there is no front matter")
    end = lines.index("---", 1)
    article = Exported("", {}, [], lines[end + 1 :])
    inside, number = "", 0
    for line in lines[1:end]:
        if not line.startswith(" "):
            inside = line
            if match := re.fullmatch(r"title: (.+)", line):
                article.title = json.loads(match[1])
        elif inside == "sources:" and (match := re.fullmatch(r"  (?:- |  )(\w+): (.+)", line)):
            number = int(match[2]) if match[1] == "number" else number
            article.sources.setdefault(number, {})[match[1]] = str(json.loads(match[2]))
        elif inside == "statements:":
            _read_statement(line, article.statements)
    return article


def _read_statement(line: str, statements: list[Statement]) -> None:
    if match := re.fullmatch(r"  - place: (.+)", line):
        statements.append(Statement(place=json.loads(match[1])))
    elif match := re.fullmatch(r"    (kind|text|code|lead_in): (.+)", line):
        setattr(statements[-1], match[1], json.loads(match[2]))
    elif match := re.fullmatch(r"      - \{(.+)\}", line):
        pairs = re.findall(r'(\w+): ("(?:[^"\\]|\\.)*"|\d+)', match[1])
        cited = {key: json.loads(value) for key, value in pairs}
        if not re.fullmatch(r"[0-9a-f]{64}", str(cited["sha256"])) or not {"start", "end"} <= cited.keys():
            raise Malformed(f"no citation: {line[:60]!r}")
        statements[-1].citations.append(cited)
    elif line != "    citations:":
        raise Malformed(f"unknown line {line[:60]!r}")


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
    spans: list[tuple[str, int, int]] = []
    for citation in one.citations:
        text = stored(evidence, citation["sha256"])
        if text is None:
            yield f"{one.place}: the text {citation['sha256'][:12]} is not there, or altered"
            return
        start, end = int(citation["start"]), int(citation["end"])
        if not 0 <= start < end <= len(text) or not text[start:end].strip():
            yield f"{one.place}: {start}..{end} is no span of its text"
            return
        spans.append((text, start, end))
    rows = _rows(one.code)
    if one.code:
        if not any(rows == _rows(text[start:end]) for text, start, end in spans):
            yield f"{one.place}: the code {rows[0] if rows else ''!r} is no cited span"
        spans = [span for span in spans if _rows(span[0][span[1] : span[2]]) != rows] or spans
    cited = [text[start:end] for text, start, end in spans]
    said, held = words(one.text), [word for span in cited for word in words(span)]
    if said == held:
        yield from (f"{one.place}: {fault}" for fault in _cut_faults(one, spans))
    elif not paraphrases:
        position = next((i for i, pair in enumerate(zip(said, held, strict=False)) if pair[0] != pair[1]), len(held))
        yield f"{one.place}: its words are not the cited ones from word {position + 1} on: {one.text[:80]!r}"
    else:
        yield from (f"{one.place}: {fault}" for fault in _measured(one.text, " ".join(cited), said, held))


def _order_faults(statements: Sequence[Statement]) -> Iterator[str]:
    """Yield steps of one list that stand in another order than in the text they come from."""
    last: dict[tuple[str, str], int] = {}
    for one in statements:
        if one.kind == "step" and one.citations:
            key, start = (one.place.rpartition(".")[0], one.citations[0]["sha256"]), int(one.citations[0]["start"])
            if start < last.get(key, 0):
                yield f"{one.place}: it stands in another order than in its source"
            last[key] = start


def _rows(code: str) -> list[str]:
    return [line.strip() for line in code.splitlines() if line.strip()]


_MARKS = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)|(?<![\w*])\*{1,3}(?=\S)|(?<=\S)\*{1,3}(?![\w*])|\\([^\w\s])|`+")
_UNDERLINED = re.compile(r"(?<![\w_])(_{1,3})(?=[^\s_])([^_]+?)(?<=[^\s_])\1(?![\w_])")
_LEFT = " \t\n([{\"'„“”‚‘’»«`,;:!?….<>–—"
_RIGHT = _LEFT + ")]}-"
_SIGN = re.compile(r"[!<>=&+%$~]{1,3}|\|\||/")
_AS_WRITTEN = re.compile(r"^-{1,2}\w|[\d/\\_=@~$%]|\w\.\w|^[A-Z][A-Z0-9]+$")


def words(text: str) -> list[str]:
    """Return the words of a text in order, Markdown's marks and outer punctuation off.

    Prose in lower case; what looks like an option, a path, a setting, a number or an abbreviation, and signs that stand
    alone ("!=", "&&"), as they are written.
    """
    bare = _UNDERLINED.sub(r"\2", _MARKS.sub(lambda match: match[1] or match[2] or "", text))
    found = []
    for token in bare.replace("|", " ").split():
        word = token.lstrip(_LEFT).rstrip(_RIGHT)
        if re.search(r"\w", word):
            found.append(word if _AS_WRITTEN.search(word) else word.lstrip("-").casefold())
        elif (sign := token.strip(".,;:`'\"")) and _SIGN.fullmatch(sign) and sign not in {">", "<"}:
            found.append(sign)
    return found


# -- what was cut off -------------------------------------------------------------------------------------------------

_DENIAL = re.compile(
    r"(?<!\w)(?:not|no|never|none|neither|nor|without|cannot|unable|\w+n['’]t|nicht|kein\w*|nie|niemals|weder|ohne)(?!\w)",
    re.IGNORECASE,
)
_UNLESS = re.compile(r"\W*(?:unless|except|es sei denn|außer|ausser)\b", re.IGNORECASE)
_CLAUSE = re.compile(r"[,;:.!?()\n|–—]|\s--?\s")
_SENTENCE = re.compile(r"[.!?:]['\"”“)]*\s+(?=\W*[A-ZÄÖÜ`])|\n\s*\n")


def _cut_faults(one: Statement, spans: Sequence[tuple[str, int, int]]) -> Iterator[str]:
    """Yield where a span leaves out a "not" or an exception that belongs to it, or two sentences are made one."""
    if one.kind == "fact":  # a term and its description stand in two cells
        return
    for number, (text, start, end) in enumerate(spans):
        shown = spans[number - 1][2] if number and spans[number - 1][0] == text else 0
        before = _CLAUSE.split(text[max(0, start - 120, shown if shown <= start else 0) : start])[-1]
        behind = text[end : end + 120]
        if _inner(text, start) and _DENIAL.search(before):
            yield f"a denial right before {text[start : start + 40]!r} is left out"
        if not re.search(r"[.!?:]\W*$", text[start:end]):
            if _DENIAL.search(_CLAUSE.split(behind)[0]):
                yield f"a denial right behind {text[max(start, end - 40) : end]!r} is left out"
            if _UNLESS.match(behind):
                yield f"the exception behind {text[max(start, end - 40) : end]!r} is left out"
        if number == 0:
            continue
        other, _, last = spans[number - 1]
        whole = re.search(r"[.!?:;]\W*$", other[:last]) or not re.search(r"\w", other[last : last + 2].split("\n")[0])
        apart = other != text or last > start or _SENTENCE.search(other[last - 1 : start])
        if apart and _inner(text, start) and not (whole and re.match(r"\W*[A-ZÄÖÜ`]", text[start:end])):
            yield f"{other[max(0, last - 30) : last]!r} and {text[start : start + 30]!r} are no one sentence"


def _inner(text: str, start: int) -> bool:
    """Tell whether a span opens within a sentence."""
    before = text[max(0, start - 120) : start]
    return bool(re.search(r"\w", _SENTENCE.split(f"{before}\x00")[-1].rpartition("\n")[2]))


# -- statements in other words ----------------------------------------------------------------------------------------

_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_SPELLED = _listed(
    "two zwei|three drei|four vier|five fünf|six sechs|seven sieben|eight acht|nine neun|ten zehn|eleven elf|"
    "twelve zwölf|fifteen fünfzehn|twenty zwanzig|thirty dreißig|sixty sechzig|hundred hundert|thousand tausend",
    "|",
)
_DIGITS = _listed("2 3 4 5 6 7 8 9 10 11 12 15 20 30 60 100 1000")
_NUMBERS = {word: digit for row, digit in zip(_SPELLED, _DIGITS, strict=True) for word in row.split()}
_UNITS = {
    form: row.split()[0]
    for row in _listed(
        "second seconds sekunde sekunden s|minute minutes minuten min|hour hours stunde stunden h|"
        "day days tag tage tagen|week weeks woche wochen|month months monat monate monaten|"
        "year years jahr jahre jahren|kb kilobyte|mb megabyte megabytes|gb gigabyte gigabytes|tb terabyte|"
        "kib|mib|gib|tib|percent prozent",
        "|",
    )
    for form in row.split()
}
_OPPOSITES = tuple(
    frozenset(pair.split("/"))
    for pair in _listed(
        "before/after always/never always/sometimes all/some first/last more/less more/fewer most/least "
        "minimum/maximum larger/smaller higher/lower longer/shorter newer/older earlier/later increase/decrease "
        "increases/decreases enable/disable enabled/disabled allow/deny allow/block allows/blocks start/stop "
        "starts/stops open/close opens/closes add/remove adds/removes incoming/outgoing local/remote "
        "internal/external public/private client/server source/destination read/write send/receive sends/receives "
        "must/may must/can required/optional above/below with/without true/false success/failure before/behind "
        "vor/nach immer/nie immer/manchmal alle/einige erste/letzte mehr/weniger mindestens/höchstens größer/kleiner "
        "höher/niedriger länger/kürzer neue/alte neuer/älter früher/später erhöht/senkt aktivieren/deaktivieren "
        "aktiviert/deaktiviert erlaubt/verboten startet/stoppt öffnet/schließt lokal/entfernt intern/extern "
        "öffentlich/privat sendet/empfängt liest/schreibt muss/kann müssen/können mit/ohne oben/unten "
        "eingehende/ausgehende eingehend/ausgehend"
    )
)


def _measured(text: str, cited: str, said: Sequence[str], held: Sequence[str]) -> Iterator[str]:
    """Yield what a statement in other words holds that its spans do not."""
    known = set(held)
    digits = {*_NUMBER.findall(cited), *(_NUMBERS[word] for word in held if word in _NUMBERS)}
    for number in [*_NUMBER.findall(text), *(_NUMBERS[word] for word in said if word in _NUMBERS)]:
        if number not in digits:
            yield f"the number {number} is not cited"
    units = {_UNITS[word.casefold()] for word in held if word.casefold() in _UNITS}
    for word in said:
        if word.casefold() in _UNITS and _UNITS[word.casefold()] not in units:
            yield f"the unit {word!r} is not cited"
        if (re.search(r"[\d/\\_=@~]|^-|\w\.\w", word) or (word.isupper() and len(word) > 1)) and word not in known:
            yield f"{word!r} is not cited"
        for pair in _OPPOSITES:
            if word in pair and word not in known and (pair - {word}) <= known - set(said):
                yield f"{word!r} is the opposite of what is cited"
    for name in re.findall(r"(?<=[a-z,] )[A-Z][\w-]+", text):
        if name not in known and name.casefold() not in known and not any(name.casefold()[:5] in one for one in known):
            yield f"the name {name} is not cited"
    if len(_DENIAL.findall(text)) % 2 != len(_DENIAL.findall(cited)) % 2:
        yield "only one of statement and citation denies"
    starts = {word.casefold()[:5] for word in known}
    share = sum(word.casefold()[:5] in starts for word in said) / (len(said) or 1)
    if share < SHARE:
        yield f"only {share:.0%} of its words are cited"


# -- the page ---------------------------------------------------------------------------------------------------------

_HEADINGS = frozenset(
    _listed(
        "Summary|Symptoms|Cause|Diagnosis|Goal|Prerequisites|Steps|Check the result|Scope|Facts|Definition|"
        "How it works|Consequences|Question|Options|Recommendation by case|Further details|"
        "Kurzfassung|Symptome|Ursache|Diagnose|Ziel|Voraussetzungen|Vorgehen|Ergebnis prüfen|Geltungsbereich|Angaben|"
        "Begriff|Funktionsweise|Auswirkungen|Fragestellung|Möglichkeiten|Empfehlung je nach Fall|Weitere Einzelheiten",
        "|",
    )
)
_LEADS = re.compile(
    r"^(?:(?:According to source|Laut Quelle) \[\d+\]:|In addition:|To add to this:|Next:|After that:|Go on:|"
    r"Außerdem gilt:|Ergänzend dazu:|Danach:|Im nächsten Schritt:|Weiter:) "
)
_CITED = re.compile(r"((?:\\\[\d+\\\])+)")
_TABLE = re.compile(r"\|(?: ---? ?-? \|)+|\| (?:Term \| Meaning \| Source|Begriff \| Bedeutung \| Quelle) \|")
_OPENING = re.compile(r"^(?:\d{1,3}\. |- |\*\*(?:Applies to|Gilt für):\*\* )")
_SOURCES = frozenset({"## Sources", "## Quellen"})
_AFTER = frozenset({"## Related articles", "## Verwandte Artikel"})


def _page_faults(article: Exported) -> Iterator[str]:
    """Yield where the page says otherwise than the front matter lists, or something besides it."""
    numbers = {source.get("sha256", ""): number for number, source in article.sources.items()}
    first = {one.place: numbers.get(one.citations[0]["sha256"]) for one in article.statements if one.citations}
    end = next((i for i, line in enumerate(article.page) if line in _SOURCES), None)
    if end is None:
        yield "the page lists no sources"
        return
    # what a product applies to stands above the summary, but is listed below it
    waiting = sorted(article.statements, key=lambda one: not one.place.startswith("applies_to."))
    titles: list[str] = []
    code: list[str] | None = None
    for line in article.page[:end]:
        if line.strip().startswith("```"):
            if code is not None and (not waiting or code != _rows(waiting[0].code)):
                yield f"the page shows other code than its step: {(code or [''])[0][:60]!r}"
            if code is not None and waiting:
                waiting.pop(0)
            code = [] if code is None else None
        elif code is not None:
            code.extend(_rows(line))
        elif line.startswith("# "):
            titles.append(_plain(line[2:]))
        elif line.startswith("### "):
            if not waiting or not _named(line[4:], waiting, article):
                yield f"nothing is said of {line[4:60]!r}"
        elif line.startswith("## "):
            if line[3:] not in _HEADINGS:
                yield f"the page has a heading of its own: {line[:60]!r}"
        elif line.strip() and not _TABLE.fullmatch(line):
            yield from _line_faults(line, waiting, numbers, first)
    if titles != [_plain(article.title)]:
        yield "the page has another title than the front matter, or more than one"
    yield from (f"{one.place}: the page does not say it: {one.text[:80]!r}" for one in waiting)
    yield from _source_faults(article, article.page[end + 1 :])


def _line_faults(
    line: str, waiting: list[Statement], numbers: dict[str, int], first: dict[str, int | None]
) -> Iterator[str]:
    pieces = _CITED.split(_OPENING.sub("", line))
    for said, marks in zip(pieces[::2], pieces[1::2], strict=False):
        text = _plain(said.strip().removeprefix(", "))
        if line.startswith("| "):
            cells = [_plain(cell.replace("\x00", "|")) for cell in said.replace("\\|", "\x00").split("|")[1:3]]
            text = ": ".join(cells)
        one = waiting[0] if waiting else Statement()
        lead = _LEADS.match(text)
        if lead and one.lead_in:
            named = re.search(r"\[(\d+)\]", lead.group())
            if named and int(named[1]) != first.get(one.place):
                yield f"{one.place}: the page names another source for it"
            text = text[lead.end() :]
        wanted = _plain(one.text)
        if text != wanted and not (one.place.startswith("applies_to.") and text == wanted.replace(": ", " ", 1)):
            yield f"the page says something else than its statements, or in another order: {text[:80]!r}"
            return
        if {int(n) for n in re.findall(r"\d+", marks)} != {numbers.get(c["sha256"]) for c in one.citations}:
            yield f"{one.place}: the page shows other sources for it than it cites"
        if not one.code:
            waiting.pop(0)
    rest = pieces[-1].strip(" |")
    if rest:
        yield f"the page says more than its statements: {rest[:80]!r}"


def _named(name: str, waiting: Sequence[Statement], article: Exported) -> bool:
    """Tell whether the next statements are of one option, and one of them says its name."""
    place = waiting[0].place.rpartition(".")[0]
    texts = [one.text for one in article.statements if one.place.rpartition(".")[0] == place]
    wanted = words(_plain(name))
    return waiting[0].place.startswith("options.") and bool(wanted) and any(set(wanted) <= set(words(t)) for t in texts)


def _plain(text: str) -> str:
    """Return a line of the page as it reads: escapes, entities and the marks of code off, white space folded."""
    bare = re.sub(r"\\([^\w\s])", r"\1", text).replace("&amp;", "&").replace("`", "")
    return " ".join(bare.split())


def _source_faults(article: Exported, lines: Sequence[str]) -> Iterator[str]:
    end = next((i for i, line in enumerate(lines) if line in _AFTER), len(lines))
    listed = [line for line in lines[:end] if line.strip()]
    if len(listed) != len(article.sources):
        yield "the page lists other sources than the front matter"
    for line, (number, source) in zip(listed, sorted(article.sources.items()), strict=False):
        url = source.get("url", "").replace(" ", "%20").replace("<", "%3C").replace(">", "%3E")
        if not line.startswith(f"{number}. [") or f"(<{url}>)" not in line:
            yield f"the page gives another address for source {number}"
    for one in article.statements:
        for citation in one.citations:
            if citation["sha256"] not in {source.get("sha256") for source in article.sources.values()}:
                yield f"{one.place}: it cites a text that is no listed source"
    yield from (f"the page goes on with {x[:60]!r}" for x in lines[end + 1 :] if x.strip() and not x.startswith("- [["))


if __name__ == "__main__":
    sys.exit(main())
