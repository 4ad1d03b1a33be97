"""The labelled evidence set: real pages, judged by reading, and what the gate and the reviewer make of them.

    .venv/bin/python benchmarks/evidence_set.py [--cache DIR] [--half dev|held-out] [--wrong] [--sweep] [--json FILE]

`tests/research/evidence_set/pairs.json` holds pairs of node labels (or a topic) and a page, each with the verdict of
a reader who did not ask the gate: accept, or refuse with the reason expected, and a short quotation that decides it.
Pages are the sample library's, and documents out of Debian packages, of which the repository keeps only package,
version, path and hash; they are fetched with `apt-get download`.

A page whose hash differs (Debian published another revision of its package, and the old one is gone from the
mirrors) is still judged while the quotation that decides each of its pairs stands in it; where one does not, the page
is named and the set is void until a person has read it again. Revisions within a stable release touch few pages, and
mostly their footers, so a bare hash would stop CI for nothing; a bare "still there" would let a rewritten page pass.

Pairs are split in halves by a hash of their page, so that no page is in both: thresholds and rules are tuned on `dev`
alone, `held-out` is only measured. Accepted is what the product would keep: for a pair of labels a text that passes
the gate and is cited by the reviewer, for a topic a text that passes the gate.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from data.extract import MIME_TYPES, Document, extract
from data.library_index import Collection, read_collections
from data.models import Label, NodeKind
from research.extractive_relation import review_relation
from research.gate import Assessment, EvidencePolicy, assess_evidence
from research.guard import guard_query
from research.relation import RelationPolicy
from research.roles import NodeView, RelationReviewRequest, ShownPassage
from research.sources import shipped_table
from vector.embed import Embedder, SentenceTransformerEmbedder

ROOT = Path(__file__).parents[1]
SET = ROOT / "tests" / "research" / "evidence_set" / "pairs.json"
SAMPLE = "sample"
SAMPLE_LIBRARY = ROOT / "data" / "sample" / "library"
CACHE = ROOT / ".cache" / "evidence-set"
NOW = datetime(2026, 12, 1, tzinfo=UTC)
"""The day the set was read: what a page's age is worth must not change from run to run."""
HALVES = ("dev", "held-out")
LANGUAGES = ("en", "de")


class SetError(Exception):
    """The set cannot be judged as it was labelled; the message names pages and packages."""


@dataclass(frozen=True)
class Pair:
    """One judgement of a reader. `labels` are two nodes (`all`) or one topic (`any`)."""

    id: str
    page: str
    language: str
    require: str
    labels: tuple[str, ...]
    questions: tuple[str, ...]
    accept: bool
    reason: str | None
    quote: str

    @property
    def half(self) -> str:
        return HALVES[int(hashlib.sha256(self.page.encode()).hexdigest()[:8], 16) % 2]

    @property
    def sample(self) -> bool:
        return self.page.startswith(f"{SAMPLE}:")


@dataclass(frozen=True)
class Outcome:
    """What the gate said of a pair, and the reviewer where it was asked."""

    pair: Pair
    gate: bool
    reason: str | None
    why: str
    relevance: float
    coverage: float
    cosine: float
    accepted: bool
    review: str

    @property
    def right(self) -> bool:
        return self.accepted == self.pair.accept


@cache
def labelled() -> dict[str, Any]:
    """Return the set as it is written."""
    found: dict[str, Any] = json.loads(SET.read_text(encoding="utf-8"))
    return found


def pairs() -> list[Pair]:
    return [
        Pair(**{**row, "labels": tuple(row["labels"]), "questions": tuple(row["questions"])})
        for row in labelled()["pairs"]
    ]


def fetch(cache: Path = CACHE, elsewhere: Iterable[Path] = (ROOT / ".cache" / "real-input" / "debs",)) -> Path:
    """Return the root below which the packages' files lie; download what is missing, the labelled version first."""
    debs, root = cache / "debs", cache / "root"
    debs.mkdir(parents=True, exist_ok=True)
    for package, facts in labelled()["packages"].items():
        done = root / f".{package}"
        if done.exists():
            continue
        deb = _newest(package, [debs, *elsewhere]) or _download(package, facts["version"], debs)
        subprocess.run(["dpkg", "-x", str(deb), str(root)], check=True)
        done.write_text(deb.name, encoding="utf-8")
    return root


def _newest(package: str, folders: Iterable[Path]) -> Path | None:
    return next((deb for folder in folders for deb in sorted(folder.glob(f"{package}_*.deb"), reverse=True)), None)


def _download(package: str, version: str, debs: Path) -> Path:
    """Fetch the version that was read, else the one there is now; a fresh container has no package lists yet."""
    wanted = ([f"{package}={version}"], ["update"], [f"{package}={version}"], [package])
    for words in wanted:
        command = ["apt-get", *words] if words == ["update"] else ["apt-get", "download", *words]
        done = subprocess.run(command, cwd=debs, check=False, stdout=sys.stderr, stderr=subprocess.STDOUT)
        if done.returncode == 0 and (deb := _newest(package, [debs])) is not None:
            return deb
    raise SetError(f"the Debian package {package} cannot be downloaded; apt-get said why above")


def plain(text: str) -> str:
    """Return `text` without marks and line ends, as quotations are compared."""
    return " ".join(re.sub(r"[`*]", "", text).split())


def documents(chosen: Sequence[Pair], cache: Path = CACHE) -> tuple[dict[str, Document], list[str]]:
    """Return the page of each pair, extracted, and the names of pages whose hash differs.

    Raises SetError for a page that is gone, or that lost a quotation which decides one of its pairs.
    """
    needed = {pair.page for pair in chosen}
    root = fetch(cache) if any(not pair.sample for pair in chosen) else None
    found: dict[str, Document] = {}
    changed, faults = [], []
    for name, facts in labelled()["pages"].items():
        if name not in needed:
            continue
        sample = facts["package"] == SAMPLE
        path = SAMPLE_LIBRARY / facts["path"] if sample or root is None else root / facts["path"]
        if not path.is_file():
            faults.append(f"{name}: the file is gone")
            continue
        data = path.read_bytes()
        document = _sample_document(facts["path"], data) if sample else _web_document(facts, data)
        found[name] = document
        if hashlib.sha256(data).hexdigest() != facts["sha256"]:
            changed.append(name)
            said = plain(f"{document.title} {document.text}")
            lost = [pair.quote for pair in chosen if pair.page == name and pair.quote not in said]
            faults += [f"{name}: changed, and “{quote}” is no longer in it" for quote in lost]
    if faults:
        raise SetError("pages must be read again:\n" + "\n".join(faults))
    return found, changed


def _web_document(facts: Mapping[str, str], data: bytes) -> Document:
    """Return a package's page as if it had been fetched from where its publisher shows it."""
    package = labelled()["packages"][facts["package"]]
    url = package["url"] + facts["path"].removeprefix(package["folder"])
    return extract(data, content_type="text/html", url=url)


def _sample_document(path: str, data: bytes) -> Document:
    """Return a sample page as the library would: its collection says who publishes it."""
    url = f"library:{path}"
    document = extract(data, content_type=MIME_TYPES[Path(path).suffix], url=url)
    collection: Collection = read_collections(SAMPLE_LIBRARY, [path])[0][path.split("/", maxsplit=1)[0]]
    return replace(
        document,
        final_url=url,
        publisher=collection.publisher,
        language=document.language if document.language != "und" else collection.language or "und",
        source_class=collection.source_class,
        collection=collection.name,
    )


def judge(pair: Pair, document: Document, embedder: Embedder, policy: EvidencePolicy | None = None) -> Outcome:
    """Return what the gate and the extractive reviewer make of one pair."""
    labels = [Label(f"label-{number}", text) for number, text in enumerate(pair.labels)]
    query = guard_query("" if pair.require == "all" else pair.labels[0], anchors=labels).query
    judged = assess_evidence(
        document,
        anchors=labels,
        require="all" if pair.require == "all" else "any",
        questions=pair.questions,
        query=query,
        accepted=(),
        sources=shipped_table(),
        embedder=embedder,
        policy=policy or EvidencePolicy(),
        now=NOW,
    )
    accepted, said = judged.accepted, ""
    if judged.accepted and pair.require == "all":
        accepted, said = _reviewed(pair, document, judged)
    return Outcome(
        pair,
        judged.accepted,
        judged.reject_reason,
        judged.assessment_reason,
        judged.relevance,
        judged.coverage,
        judged.cosine,
        accepted,
        said,
    )


def _reviewed(pair: Pair, document: Document, judged: Assessment) -> tuple[bool, str]:
    """Ask the reviewer as relation research does: the two labels and the accepted passages, nothing else."""
    shown = tuple(
        ShownPassage(
            id=f"E{number}",
            title=document.title,
            publisher=document.publisher,
            heading="" if passage.heading in passage.text else passage.heading,
            text=passage.text[: RelationPolicy().shown_passage],
        )
        for number, passage in enumerate(judged.passages, start=1)
    )
    views = [NodeView(label=text, kind=NodeKind.SECTION, body="", language=pair.language) for text in pair.labels]
    review = review_relation(RelationReviewRequest(source=views[0], target=views[1], passages=shown))
    return review.accept and bool(review.cited), review.rationale


def measure(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """Return counts, precision and recall; a precision without any acceptance is 1."""
    hits = sum(o.accepted and o.pair.accept for o in outcomes)
    wrong = sum(o.accepted and not o.pair.accept for o in outcomes)
    wanted = sum(o.pair.accept for o in outcomes)
    gate_hits = sum(o.gate and o.pair.accept for o in outcomes)
    gate_wrong = sum(o.gate and not o.pair.accept for o in outcomes)
    return {
        "pairs": len(outcomes),
        "wanted": wanted,
        "accepted": hits + wrong,
        "wrong": wrong,
        "precision": hits / (hits + wrong) if hits + wrong else 1.0,
        "recall": hits / wanted if wanted else 1.0,
        "gate_precision": gate_hits / (gate_hits + gate_wrong) if gate_hits + gate_wrong else 1.0,
        "gate_recall": gate_hits / wanted if wanted else 1.0,
    }


class StoredEmbedder:
    """Remembers vectors in a file: a run over changed rules embeds only passages it has not seen."""

    def __init__(self, inner: Embedder, path: Path) -> None:
        self._inner, self._path = inner, path
        self._known: dict[str, Any] = {}
        self._fresh = 0
        if path.exists():
            with np.load(path) as stored:
                self._known = dict(zip(stored["keys"].tolist(), stored["rows"], strict=True))

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def dim(self) -> int:
        return self._inner.dim

    def encode(self, texts: Sequence[str]) -> Any:
        names = [hashlib.sha256(f"{self.name}\n{text}".encode()).hexdigest() for text in texts]
        missing = {name: text for name, text in zip(names, texts, strict=True) if name not in self._known}
        if missing:
            rows = self._inner.encode(list(missing.values()))
            self._known.update(zip(missing, rows, strict=True))
            self._fresh += len(missing)
        return np.stack([self._known[name] for name in names])

    def store(self) -> None:
        if self._fresh:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            np.savez(self._path, keys=np.array(list(self._known)), rows=np.stack(list(self._known.values())))


def sweep(chosen: Sequence[Pair], pages: Mapping[str, Document], embedder: Embedder) -> None:
    """Print precision and recall over the grid of thresholds, for the pairs given."""
    print("min_relevance  floor  ceiling   en P/R         de P/R")
    for least, floor, ceiling in itertools.product((0.45, 0.55, 0.65), (0.15, 0.25), (0.55, 0.65)):
        policy = EvidencePolicy(min_relevance=least, cosine_floor=floor, cosine_ceiling=ceiling)
        outcomes = [judge(pair, pages[pair.page], embedder, policy) for pair in chosen]
        cells = []
        for language in LANGUAGES:
            found = measure([o for o in outcomes if o.pair.language == language])
            cells.append(f"{found['precision']:.3f}/{found['recall']:.3f}")
        print(f"{least:13.2f}  {floor:5.2f}  {ceiling:7.2f}   {cells[0]:<13}  {cells[1]:<13}", flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cache", type=Path, default=CACHE)
    parser.add_argument("--half", choices=HALVES)
    parser.add_argument("--wrong", action="store_true", help="list every wrong judgement with its reason")
    parser.add_argument("--sweep", action="store_true", help="the grid of thresholds, on the dev half alone")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(argv)
    half = "dev" if options.sweep else options.half
    chosen = [pair for pair in pairs() if half in {None, pair.half}]
    pages, changed = documents(chosen, options.cache)
    for name in changed:
        print(f"changed since it was labelled, quotations stand: {name}")
    embedder = StoredEmbedder(SentenceTransformerEmbedder(threads=1), options.cache / "vectors.npz")
    if options.sweep:
        sweep(chosen, pages, embedder)
        embedder.store()
        return 0
    outcomes = [judge(pair, pages[pair.page], embedder) for pair in chosen]
    embedder.store()
    print(table(outcomes))
    if options.wrong:
        print(wrong(outcomes))
    if options.json:
        rows = [{**asdict(o), "half": o.pair.half} for o in outcomes]
        options.json.write_text(json.dumps(rows, ensure_ascii=False, indent=1), encoding="utf-8")
    return 0


def table(outcomes: Sequence[Outcome]) -> str:
    """Return the figures of each half and language."""
    lines = ["half      lang  pairs  wanted  accepted  wrong  precision  recall   gate alone P/R"]
    for half, language in itertools.product((*HALVES, "both"), LANGUAGES):
        part = [o for o in outcomes if o.pair.language == language and half in {"both", o.pair.half}]
        if not part:
            continue
        found = measure(part)
        lines.append(
            f"{half:<9} {language:<4} {found['pairs']:6.0f} {found['wanted']:7.0f} {found['accepted']:9.0f} "
            f"{found['wrong']:6.0f}  {found['precision']:9.3f}  {found['recall']:6.3f}   "
            f"{found['gate_precision']:.3f}/{found['gate_recall']:.3f}"
        )
    return "\n".join(lines)


def wrong(outcomes: Sequence[Outcome]) -> str:
    """Return every wrong judgement, false acceptances first, with what was said about it."""
    lines = []
    for outcome in sorted((o for o in outcomes if not o.right), key=lambda o: o.pair.accept):
        pair = outcome.pair
        kind = "missed" if pair.accept else f"ACCEPTED, {pair.reason}"
        said = f"review: {outcome.review}" if outcome.gate else outcome.why
        lines.append(f"{kind:<12} {pair.language} {' / '.join(pair.labels)}  [{pair.page}]\n{'':13}{said}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
