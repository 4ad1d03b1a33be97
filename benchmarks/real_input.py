"""The whole job on real documentation: Debian packages as nodes and library, phase by phase with time and memory.

    .venv/bin/python benchmarks/real_input.py [--cache DIR] [--pairs 300] [--json FILE] [--fresh]

Fetches debian-handbook (English and German), postfix-doc, bind9-doc, krb5-doc, apache2-doc and nginx-doc with
`apt-get download`, unpacks them, ingests the handbook and the Postfix documents as nodes, indexes the rest as
library, and runs learning, thinking, scanning and working over them. Nothing of it is special to these documents.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gzip
import json
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from brain.config import load_settings
from brain.passes import Passes
from brain.runtime import Runtime, open_runtime
from data.articles import list_articles
from data.inbox import ingest
from data.nodes import count_by_kind

PACKAGES = ("debian-handbook", "postfix-doc", "bind9-doc", "krb5-doc", "apache2-doc", "nginx-doc")
NODES = ("debian-handbook/html/en-US", "debian-handbook/html/de-DE", "postfix/html")


@dataclass(frozen=True)
class Shelf:
    """One folder of the library: where its pages come from and who publishes them."""

    name: str
    source: str
    publisher: str
    language: str


SHELVES = (
    Shelf("bind9", "bind9-doc/arm", "Internet Systems Consortium", "en"),
    Shelf("krb5", "krb5-doc", "MIT Kerberos Consortium", "en"),
    Shelf("apache2-en", "apache2-doc/manual/en", "Apache Software Foundation", "en"),
    Shelf("apache2-de", "apache2-doc/manual/de", "Apache Software Foundation (de)", "de"),
    Shelf("nginx", "nginx-doc", "nginx.org", "en"),
)


@dataclass
class Phases:
    """Seconds and peak memory of each phase, in the order they ran."""

    rows: list[dict[str, Any]] = field(default_factory=list)

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[dict[str, Any]]:
        row: dict[str, Any] = {"phase": name}
        started, cpu = time.perf_counter(), time.process_time()
        yield row
        row |= {
            "seconds": round(time.perf_counter() - started, 2),
            "cpu_s": round(time.process_time() - cpu, 2),
            "peak_rss_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        }
        self.rows.append(row)
        print(f"{name:<22} {row['seconds']:8.1f} s  {row['peak_rss_mib']:5d} MiB  {row.get('result', '')}", flush=True)


def fetch(cache: Path) -> Path:
    """Download and unpack the packages once; return the folder with their documents."""
    debs, root = cache / "debs", cache / "root"
    debs.mkdir(parents=True, exist_ok=True)
    for package in PACKAGES:
        if not list(debs.glob(f"{package}_*.deb")):
            subprocess.run(["apt-get", "download", package], cwd=debs, check=True, stdout=sys.stderr)
    if not root.exists():
        for deb in sorted(debs.glob("*.deb")):
            subprocess.run(["dpkg", "-x", str(deb), str(root)], check=True)
    return root / "usr" / "share" / "doc"


def build_library(documents: Path, library: Path) -> None:
    """Put each shelf's pages into the library, with the collection file that says who publishes them."""
    for shelf in SHELVES:
        place = library / shelf.name
        if place.exists():
            continue
        shutil.copytree(documents / shelf.source, place, ignore=_only_documents, symlinks=False)
        for packed in list(place.rglob("*.gz")):
            packed.with_suffix(".txt").write_bytes(gzip.decompress(packed.read_bytes()))
            packed.unlink()
        collection = {"publisher": shelf.publisher, "class": "official", "language": shelf.language}
        lines = [f"{name} = {json.dumps(value)}" for name, value in collection.items()]
        (place / "collection.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _only_documents(folder: str, names: list[str]) -> set[str]:
    kept = {".html", ".txt", ".md", ".pdf"}
    return {
        name
        for name in names
        if (path := Path(folder) / name).is_symlink()
        or (path.is_file() and path.suffix not in kept and not name.startswith("changelog"))
    }


@contextlib.asynccontextmanager
async def opened(home: Path) -> AsyncIterator[tuple[Runtime, Passes]]:
    settings, _ = load_settings(home=home, environment={})
    async with open_runtime(settings) as runtime:
        yield runtime, Passes(runtime)


async def run(cache: Path, pairs: int) -> dict[str, Any]:
    phases = Phases()
    with phases.phase("fetch and unpack"):
        documents = await asyncio.to_thread(fetch, cache)
    home = cache / "home"
    with phases.phase("library on disk"):
        await asyncio.to_thread(build_library, documents, home / "library")
    async with opened(home) as (runtime, passes):
        with phases.phase("ingest") as row:
            report = await ingest(runtime.store, runtime.extractor, [documents / name for name in NODES])
            counted = await runtime.store.read(count_by_kind)
            row["result"] = f"{report.admitted} files, {report.refused} refused, {sum(counted.values())} nodes"
        with phases.phase("learn") as row:
            learned = await passes.learn()
            row["result"] = f"{learned.library}, {learned.embedded}"
        with phases.phase("layout") as row:
            row["result"] = str(await passes.maintain())
        with phases.phase("think") as row:
            thought = await passes.think(limit=pairs)
            row["result"] = f"{thought.thought} pairs, {thought.accepted} accepted, {dict(thought.by_reason)}"
        with phases.phase("scan") as row:
            scanned = await passes.scan()
            row["result"] = f"{scanned.candidates} gaps, {scanned.created} tasks"
        with phases.phase("work") as row:
            worked = await passes.work()
            row["result"] = f"{worked.completed} tasks, {worked.articles} articles, {dict(worked.reasons)}"
        articles = await runtime.store.read(list_articles)
        nodes = await runtime.store.read(count_by_kind)
    return {
        "phases": phases.rows,
        "nodes": {str(kind): count for kind, count in nodes.items()},
        "relations": thought.accepted,
        "articles": [f"{article.type}: {article.title}" for article in articles],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--cache", type=Path, default=Path(".cache/real-input"))
    parser.add_argument("--pairs", type=int, default=300, help="thinking pairs")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--fresh", action="store_true", help="begin with an empty home")
    options = parser.parse_args()
    if options.fresh:
        shutil.rmtree(options.cache / "home", ignore_errors=True)
    document = asyncio.run(run(options.cache.absolute(), options.pairs))
    for title in document["articles"]:
        print(title)
    if options.json:
        options.json.write_text(json.dumps(document, indent=1, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    main()
