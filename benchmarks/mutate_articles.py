"""Articles made wrong on purpose, and who notices: the independent checker and the product's own gates.

    python -m benchmarks.mutate_articles HOME... [--count 500] [--seed 1]
    python -m benchmarks.mutate_articles HOME... --exports DIR     # staged articles as an export writes approved ones

Takes the newest revision of every article of HOME and changes one thing each time so that the text is wrong by
construction: a number, unit, version, command, option, path or product that its citation does not hold, a "not" more
or less, a word or a comparison turned into its opposite, a step invented, a citation moved to a span of other words.
`benchmarks/check_articles.py` reads the exported form; quality checks and claim review judge the article itself. Exit
status 1 where either notices less than 99 of a hundred.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import re
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import Any

import zstandard

from articles.codec import article_from_content
from articles.export_items import ExportItem
from articles.export_markdown import markdown_file
from articles.quality import QualityPolicy, cpu_quality
from articles.render import render_markdown
from articles.review import ReviewPolicy, claim_result, claim_review_request, judge_claims
from articles.types import Article, Source
from benchmarks.check_articles import check
from data.evidence import EvidenceText
from data.models import ArticleState, Evidence, SourceClass
from vector.embed import Embedder, HashingEmbedder

__all__ = ["KINDS", "Base", "Mutated", "mutations", "noticed_by_checker", "noticed_by_gates"]

Content = dict[str, Any]
FLOOR = 0.99


@dataclass(frozen=True)
class Base:
    """A good article: its content as it is stored, and the evidence (by id) it cites."""

    content: Content
    evidence: Mapping[str, Source]


@dataclass(frozen=True)
class Mutated:
    kind: str
    content: Content
    evidence: Mapping[str, Source]
    what: str

    @property
    def article(self) -> Article:
        return article_from_content(self.content, self.evidence)


def _statements(content: Content) -> list[tuple[Content, str]]:
    """Return every statement with the key of its text."""
    found = [(claim, "text") for claim in content["summary"]]
    for section in content["sections"]:
        for block in section["blocks"]:
            found += [(claim, "text") for claim in block.get("claims", ())]
            found += [(step, "text") for step in block.get("steps", ())]
            found += [(fact, "description") for fact in block.get("facts", ())]
            found += [(one, "text") for option in block.get("options", ()) for one in option["criteria"]]
    return found


def _quotes(statement: Content) -> str:
    return " ".join(citation["quote"] for citation in statement["citations"])


# -- the mutations: each changes `content` in place and tells what it did, "" where there is nothing ---


def _number(rng: random.Random, base: Base, content: Content) -> str:
    places = [
        (one, key, match)
        for one, key in _statements(content)
        for match in re.finditer(r"(?<![\w.,:/-])\d+(?![\w.,:/-]|\.\d)", one[key])
    ]
    if not places:
        return ""
    one, key, match = rng.choice(places)
    value = int(match.group())
    other = next(
        str(n) for n in (value + rng.choice((1, 2, 7, 10)), value + 3, value + 11) if str(n) not in _quotes(one)
    )
    return _put(one, key, match, other)


def _version(rng: random.Random, base: Base, content: Content) -> str:
    pattern = (
        r"(?<![\w/-])\d+\.\d+(?:\.\d+)*(?![\w/])|\b(?:CVE-\d{4}-\d+|KB\d{6,}|T1\d{3}(?:\.\d{3})?|0x[0-9A-Fa-f]{8})\b"
    )
    places = [(one, key, match) for one, key in _statements(content) for match in re.finditer(pattern, one[key])]
    if not places:
        return ""
    one, key, match = rng.choice(places)
    last = match.group()[-1]
    other = match.group()[:-1] + str((int(last, 16) + rng.randrange(1, 9)) % 10)
    return _put(one, key, match, other) if other not in _quotes(one) else ""


def _denial_dropped(rng: random.Random, base: Base, content: Content) -> str:
    words = r"\s+(?:not|never|nicht|nie)\b|(?<=\b[dmw]o)es not\b|\b(?:no|kein|keine|keinen)\s+(?=\w)"
    places = [(one, key, m) for one, key in _statements(content) for m in re.finditer(words, one[key])]
    if not places:
        return ""
    one, key, match = rng.choice(places)
    return _put(one, key, match, "es" if match.group() == "es not" else "")


def _denial_added(rng: random.Random, base: Base, content: Content) -> str:
    pattern = r"\b(?:is|are|was|were|can|must|should|may|will|has|have|ist|sind|kann|muss|wird|werden|darf|soll|hat)\b"
    places = [
        (one, key, m)
        for one, key in _statements(content)
        if not re.search(r"\b(?:not|no|never|without|nicht|kein\w*|nie|ohne|weder)\b", one[key], re.IGNORECASE)
        for m in re.finditer(pattern, one[key])
    ]
    if not places:
        return ""
    one, key, match = rng.choice(places)
    return _put(one, key, match, f"{match.group()} {'nicht' if content['language'] == 'de' else 'not'}")


def _moved(rng: random.Random, base: Base, content: Content) -> str:
    """Cite for one statement what another one cites, where the two have less than three words in ten in common."""
    statements = [(one, key) for one, key in _statements(content) if one["citations"]]
    one, key = rng.choice(statements)
    mine = _bag(one[key])
    others = [
        other["citations"]
        for other, _ in statements
        if other is not one and mine and len(mine & _bag(_quotes(other))) < 0.3 * len(mine)
    ]
    if not others:
        return ""
    one["citations"] = copy.deepcopy(rng.choice(others))
    return f"{one[key][:60]!r} cites {_quotes(one)[:60]!r}"


def _bag(text: str) -> frozenset[str]:
    return frozenset(word for word in re.findall(r"\w+", text.casefold()) if len(word) > 2)


_INVENTED = {
    "en": (
        "Reboot the firewall and wait until the cluster has elected a new leader.",
        "Delete the folder `/var/lib/old-cache` with administrator rights.",
        "Set `MaxRetries=17` in the registry of the client.",
        "Run `systemctl disable auditd --now` on every node.",
    ),
    "de": (
        "Starten Sie die Firewall neu und warten Sie auf die Wahl eines neuen Knotens.",
        "Löschen Sie den Ordner `/var/lib/alter-cache` mit Administratorrechten.",
        "Setzen Sie `MaxRetries=17` in der Registrierung des Clients.",
        "Führen Sie `systemctl disable auditd --now` auf jedem Knoten aus.",
    ),
}


def _invented(rng: random.Random, base: Base, content: Content) -> str:
    lists = [block["steps"] for s in content["sections"] for block in s["blocks"] if block.get("steps")]
    text = rng.choice(_INVENTED[content["language"]])
    if lists:
        steps = rng.choice(lists)
        cited = copy.deepcopy(rng.choice(steps)["citations"])
        steps.insert(rng.randrange(len(steps) + 1), {"text": text, "code": "", "lead_in": "", "citations": cited})
        return text
    claims = [block["claims"] for s in content["sections"] for block in s["blocks"] if block.get("claims")]
    if not claims:
        return ""
    chosen = rng.choice(claims)
    cited = copy.deepcopy(rng.choice(chosen)["citations"])
    chosen.insert(rng.randrange(len(chosen) + 1), {"text": text, "lead_in": "", "citations": cited})
    return text


def _command(rng: random.Random, base: Base, content: Content) -> str:
    steps = [one for one, _ in _statements(content) if one.get("code")]
    spans = [
        (one, key, match)
        for one, key in _statements(content)
        for match in re.finditer(r"`[^`]+`", one[key])
        if re.search(r"[a-z]", match.group())
    ]
    if steps and (not spans or rng.random() < 0.5):
        one = rng.choice(steps)
        before = one["code"]
        one["code"] = _bent(rng, before)
        return f"{before!r} to {one['code']!r}" if one["code"] not in _quotes(one) else ""
    if not spans:
        return ""
    one, key, match = rng.choice(spans)
    other = f"`{_bent(rng, match.group().strip('`'))}`"
    return _put(one, key, match, other) if other.strip("`") not in _quotes(one) else ""


def _bent(rng: random.Random, code: str) -> str:
    """Return another command: one letter of a word other, or an option more."""
    if rng.random() < 0.4:
        return f"{code} --{rng.choice(('force', 'recursive', 'purge', 'all'))}"
    letters = [i for i, letter in enumerate(code) if letter.isascii() and letter.islower()]
    place = rng.choice(letters)
    return code[:place] + rng.choice([c for c in "abcdefghkmnprstvw" if c != code[place]]) + code[place + 1 :]


def _path(rng: random.Random, base: Base, content: Content) -> str:
    pattern = r"(?:/[\w.-]+){2,}|[A-Z]:\\[\w\\.-]+|\b[\w-]+\.(?:conf|cf|log|ora|ini|xml|keytab)\b"
    places = [(one, key, m) for one, key in _statements(content) for m in re.finditer(pattern, one[key])]
    if not places:
        return ""
    one, key, match = rng.choice(places)
    cut = len(match.group()) - rng.randrange(1, min(4, len(match.group()) - 1) + 1)
    other = match.group()[:cut] + rng.choice(("zz", "x1", "-old")) + match.group()[cut:]
    return _put(one, key, match, other) if other not in _quotes(one) else ""


_PRODUCTS = {
    "Windows": "macOS", "Linux": "FreeBSD", "Postfix": "Exim", "nginx": "Caddy", "Nginx": "Caddy", "Apache": "Caddy",
    "Kerberos": "RADIUS", "Outlook": "Thunderbird", "SAP": "Navision", "Oracle": "MariaDB", "BitLocker": "VeraCrypt",
    "L2TP": "PPTP", "VPN": "WLAN", "IKEv2": "WireGuard", "BorgBackup": "restic",
    "rsync": "robocopy", "certbot": "acme.sh",
    "Debian": "Fedora", "BIND": "Unbound", "Exchange": "Zimbra", "DHCP": "BOOTP", "PgBouncer": "Pgpool",
    "PostgreSQL": "MariaDB", "Autodiscover": "Autoconfig", "TPM": "HSM", "MFA": "SSO", "KDC": "RDC", "TGT": "PAC",
}  # fmt: skip


def _product(rng: random.Random, base: Base, content: Content) -> str:
    names = r"(?<![\w`/.-])(?:" + "|".join(map(re.escape, _PRODUCTS)) + r")(?![\w`/.])"
    places = [(one, key, m) for one, key in _statements(content) for m in re.finditer(names, one[key])]
    if not places:
        return ""
    one, key, match = rng.choice(places)
    other = _PRODUCTS[match.group()]
    return _put(one, key, match, other) if other.casefold() not in _quotes(one).casefold() else ""


_TURNED = {
    "before": "after", "after": "before", "always": "never", "first": "last", "must": "may", "incoming": "outgoing",
    "outgoing": "incoming", "enable": "disable", "allow": "block", "local": "remote",
    "more": "less", "longer": "shorter",
    "start": "stop", "open": "close", "without": "with", "older": "newer", "newer": "older", "hours": "days",
    "minutes": "hours", "days": "weeks", "seconds": "minutes", "vor": "nach", "nach": "vor", "immer": "nie",
    "muss": "kann", "mehr": "weniger", "ohne": "mit", "lokal": "entfernt", "Stunden": "Tage", "Minuten": "Stunden",
    "Tage": "Wochen", "Tagen": "Wochen", "Sekunden": "Minuten", "erste": "letzte", "neue": "alte", "alle": "einige",
}  # fmt: skip


def _turned(rng: random.Random, base: Base, content: Content) -> str:
    names = r"(?<![\w`/.-])(?:" + "|".join(map(re.escape, _TURNED)) + r")(?![\w`/.-])"
    places = [
        (one, key, m)
        for one, key in _statements(content)
        for m in re.finditer(names, one[key])
        if not re.search(rf"\b{_TURNED[m.group()]}\b", _quotes(one), re.IGNORECASE)
    ]
    if not places:
        return ""
    one, key, match = rng.choice(places)
    return _put(one, key, match, _TURNED[match.group()])


_UNITS = {
    "seconds": "hours", "second": "hour", "minutes": "seconds", "minute": "second", "hours": "weeks", "hour": "week",
    "days": "months", "day": "month", "weeks": "days", "months": "years", "years": "months", "KB": "TB", "MB": "TB",
    "GB": "KB", "KiB": "TiB", "MiB": "TiB", "GiB": "KiB", "bytes": "gigabytes", "bits": "megabytes", "percent": "days",
    "Sekunden": "Wochen", "Minuten": "Wochen", "Minute": "Woche", "Stunden": "Monate", "Stunde": "Woche",
    "Tage": "Jahre", "Tagen": "Jahren",
    "Wochen": "Sekunden", "Monate": "Sekunden", "Monaten": "Sekunden", "Jahre": "Minuten", "Jahren": "Minuten",
    "Zeichen": "Megabyte", "Prozent": "Tage",
}  # fmt: skip


def _unit(rng: random.Random, base: Base, content: Content) -> str:
    return _swapped(rng, content, _UNITS, r"(?<=\d)(?:\s|-)?{}")


_COMPARED = {
    "at least": "at most", "at most": "at least", "up to": "more than", "more than": "less than",
    "less than": "more than", "fewer than": "more than", "older than": "newer than", "newer than": "older than",
    "larger than": "smaller than",
    "smaller than": "larger than", "longer than": "shorter than", "higher than": "lower than",
    "lower than": "higher than",
    "or later": "or earlier", "or newer": "or older", "minimum": "maximum", "maximum": "minimum", "exactly": "at most",
    "greater": "smaller", "larger": "smaller", "smaller": "larger", "higher": "lower", "lower": "higher",
    "only": "also", "every": "hardly any", "all": "none of the", "most": "least", "mindestens": "höchstens",
    "höchstens": "mindestens", "bis zu": "mehr als", "mehr als": "weniger als", "weniger als": "mehr als",
    "länger als": "kürzer als", "älter als": "jünger als", "größer als": "kleiner als", "maximal": "mindestens",
    "größere": "kleinere", "kleinere": "größere", "höhere": "niedrigere", "nur": "auch", "jede": "kaum eine",
    "jeder": "kaum ein", "jedes": "kaum ein", "alle": "kaum", "meisten": "wenigsten",
}  # fmt: skip


def _comparator(rng: random.Random, base: Base, content: Content) -> str:
    return _swapped(rng, content, _COMPARED, r"(?<![\w`/.-]){}(?![\w`/.-])")


def _swapped(rng: random.Random, content: Content, table: Mapping[str, str], pattern: str) -> str:
    """Put in the place of a listed word the other one, where the citation does not hold that."""
    names = "(?:" + "|".join(map(re.escape, sorted(table, key=len, reverse=True))) + r")\b"
    found = re.compile(pattern.replace("{}", f"(?P<word>{names})"))
    places = [
        (one, key, match)
        for one, key in _statements(content)
        for match in found.finditer(one[key])
        if not re.search(rf"\b{re.escape(table[match['word']])}\b", _quotes(one), re.IGNORECASE)
    ]
    if not places:
        return ""
    one, key, match = rng.choice(places)
    before = one[key]
    one[key] = before[: match.start("word")] + table[match["word"]] + before[match.end("word") :]
    return f"{before!r} to {one[key]!r}"


_OPTION = re.compile(r"(?<=\s)--?[A-Za-z][\w-]*")


def _option(rng: random.Random, base: Base, content: Content) -> str:
    """Turn an option of a command into another one, or leave it out."""
    places = [
        (one, key, match)
        for one, name in _statements(content)
        for key in (name, "code")
        for match in _OPTION.finditer(one.get(key) or "")
        if key == "code" or one[key][: match.start()].count("`") % 2
    ]
    if not places:
        return ""
    one, key, match = rng.choice(places)
    flag = match.group()
    last = flag[-1]
    others = [
        flag.swapcase() if len(flag) == 2 else f"{flag}x",
        flag[:-1] + rng.choice([letter for letter in "abcdefgiklmnopqrstuvxyz" if letter != last.lower()]),
        "",
    ]
    other = rng.choice(
        [one_ for one_ in others if not one_ or not re.search(rf"(?<![\w-]){re.escape(one_)}(?![\w-])", _quotes(one))]
    )
    return _put(one, key, match, other)


def _put(statement: Content, key: str, match: re.Match[str], other: str) -> str:
    before = statement[key]
    statement[key] = before[: match.start()] + other + before[match.end() :]
    return f"{before!r} to {statement[key]!r}"


Mutation = Callable[[random.Random, Base, Content], str]
KINDS: Mapping[str, Mutation] = {
    "number": _number,
    "version": _version,
    "denial dropped": _denial_dropped,
    "denial added": _denial_added,
    "citation moved": _moved,
    "step invented": _invented,
    "command": _command,
    "path": _path,
    "product": _product,
    "turned round": _turned,
    "unit": _unit,
    "comparator": _comparator,
    "option": _option,
}


def mutations(bases: Sequence[Base], count: int, seed: int) -> Iterator[Mutated]:
    """Yield `count` different mutated articles, every kind in its turn as long as the articles give it something."""
    rng = random.Random(seed)
    seen: set[tuple[str, str]] = set()
    names = list(KINDS)
    made = tries = 0
    while made < count and tries < 200 * count:
        name = names[tries % len(names)]
        tries += 1
        base = bases[tries // len(names) % len(bases)] if made < count // 2 else rng.choice(bases)
        content = copy.deepcopy(base.content)
        what = KINDS[name](rng, base, content)
        if not what or content == base.content or (content["topic"], what) in seen:
            continue
        seen.add((content["topic"], what))
        made += 1
        yield Mutated(name, content, base.evidence, what)


# -- who notices ------------------------------------------------------------------------------------------------------


def noticed_by_gates(one: Mutated, embedder: Embedder) -> bool:
    """Tell whether quality checks or claim review refuse the article."""
    article = one.article
    if not cpu_quality(article, one.evidence, QualityPolicy()).passed:
        return True
    request = claim_review_request(article)
    return not claim_result(request, judge_claims(request, embedder), "", ReviewPolicy()).passed


def noticed_by_checker(one: Mutated, folder: Path) -> bool:
    """Tell whether the checker, given the exported form and the evidence `folder`, finds a fault."""
    return bool(check(exported(one.article, one.evidence), folder))


def exported(article: Article, evidence: Mapping[str, Source]) -> str:
    """Return the article as its Markdown file would read."""
    records = {name: source.evidence for name, source in evidence.items()}
    markdown = render_markdown(article, records)
    return markdown_file(ExportItem("a_1", 1, ArticleState.APPROVED, article, markdown, records)).decode()


def keep(evidence: Mapping[str, Source], folder: Path) -> None:
    """Write evidence texts as an evidence folder holds them."""
    for source in evidence.values():
        digest = source.evidence.sha256
        (folder / digest[:2]).mkdir(parents=True, exist_ok=True)
        packed = zstandard.ZstdCompressor().compress(source.text.encode())
        (folder / digest[:2] / f"{digest}.txt.zst").write_bytes(packed)


def bases_of(home: Path) -> list[Base]:
    """Return the newest revision of every article of a home, with the evidence it cites."""
    with closing(sqlite3.connect(f"{(home / 'brain.db').absolute().as_uri()}?mode=ro", uri=True)) as connection:
        connection.row_factory = sqlite3.Row
        rows = connection.execute(
            "SELECT content FROM article_revision AS r WHERE number = "
            "(SELECT max(number) FROM article_revision WHERE article_id = r.article_id) ORDER BY article_id"
        ).fetchall()
        contents = [json.loads(row["content"]) for row in rows]
        records = {row["id"]: row for row in connection.execute("SELECT * FROM evidence")}
    bases = []
    for content in contents:
        cited = {c["evidence"] for one, _ in _statements(content) for c in one["citations"]}
        cited |= {c["evidence"] for fact in content["applies_to"] for c in fact["citations"]}
        bases.append(Base(content, {name: _evidence(home, records[name]) for name in sorted(cited)}))
    return bases


def _evidence(home: Path, row: sqlite3.Row) -> EvidenceText:
    packed = (home / row["path"]).read_bytes()
    text = zstandard.ZstdDecompressor().decompressobj().decompress(packed).decode()
    values = {one.name: row[one.name] for one in fields(Evidence) if one.name in row.keys()}  # noqa: SIM118
    values["source_quality"] = SourceClass(values["source_quality"])
    values["accepted"] = bool(values["accepted"])
    for name in ("fetched_at", "published_at"):
        if isinstance(values[name], str):
            values[name] = datetime.fromisoformat(values[name])
    return EvidenceText(Evidence(**values), text)


def main() -> int:
    parser = argparse.ArgumentParser(description="mutate the articles of homes and count who notices")
    parser.add_argument("homes", type=Path, nargs="+")
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--exports", type=Path, help="only write the articles there as an export would")
    options = parser.parse_args()
    bases = [base for home in options.homes for base in bases_of(home)]
    if options.exports is not None:
        options.exports.mkdir(parents=True, exist_ok=True)
        for number, base in enumerate(bases, 1):
            text = exported(article_from_content(base.content, base.evidence), base.evidence)
            (options.exports / f"{number:03d}.md").write_text(text, encoding="utf-8")
        return 0
    total: Counter[str] = Counter()
    gates: Counter[str] = Counter()
    checker: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for base in bases:
            keep(base.evidence, folder)
            if faults := check(exported(article_from_content(base.content, base.evidence), base.evidence), folder):
                print(f"an article as it stands: {faults[0]}")
        embedder = HashingEmbedder()
        for one in mutations(bases, options.count, options.seed):
            total[one.kind] += 1
            if noticed_by_gates(one, embedder):
                gates[one.kind] += 1
            else:
                print(f"gates missed, {one.kind}: {one.what}")
            if noticed_by_checker(one, folder):
                checker[one.kind] += 1
            else:
                print(f"checker missed, {one.kind}: {one.what}")
    for kind in KINDS:
        print(f"{kind:<16} {total[kind]:>4}: gates {gates[kind]:>4}, checker {checker[kind]:>4}")
    whole = total.total() or 1
    shares = gates.total() / whole, checker.total() / whole
    print(f"{len(bases)} articles, {total.total()} mutations: gates {shares[0]:.3f}, checker {shares[1]:.3f}")
    return 1 if min(shares) < FLOOR else 0


if __name__ == "__main__":
    sys.exit(main())
