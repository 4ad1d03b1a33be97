"""The whole job on real documentation: Debian packages as nodes and library, phase by phase with time and memory.

    .venv/bin/python benchmarks/real_input.py [--cache DIR] [--pairs 400] [--json FILE] [--fresh]

Fetches debian-handbook (English and German), postfix-doc, bind9-doc, krb5-doc, apache2-doc and nginx-doc with
`apt-get download`, unpacks them, ingests the handbook and the Postfix documents as nodes, indexes the rest as
library, and runs learning, thinking, scanning and working over them. The product knows nothing of these documents.

Beside what it finds by itself, a reader's wishes come first, as a person's do: pairs to think about (`PAIRS`) and
questions for the queue (`QUESTIONS`, as with `brain queue add`), under the same gates and within one budget of tasks,
the only setting that differs from the defaults (`TASKS`); the output says which is which. Of their own accord the
highest affinities are mostly a section and its translation, or the same paragraph in two documents: variants of one
thing, for which no outside text is asked.

At the end every sentence of every article is traced back to its text by `trace_articles.py`, which shares no code
with the product; exit status 1 if one fails.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gzip
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from brain.config import load_settings
from brain.passes import Passes
from brain.runtime import Runtime, open_runtime
from data.articles import list_articles
from data.crud.relations import RESEARCHED_RELATION
from data.edges import list_edges
from data.inbox import ingest
from data.models import EdgeKind, NodeKind, TaskOrigin
from data.nodes import all_contents, nodes_by_ids
from data.pairs import ask_for, count_by_reason, get_decision, pair_key
from data.store import Store
from data.tasks import TaskRequest, list_tasks

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

PAIRS = (
    ("Web Server (HTTP): Configuring Virtual Hosts", "Web Server (HTTP): Adding support for SSL"),
    ("Web Server (HTTP): Adding support for SSL", "X.509 certificates"),
    ("Web Server (HTTP): Adding support for SSL", "Self-signed server certificate"),
    ("Web Server (HTTP): Requiring Authentication", "LDAP Directory"),
    ("Web Server (HTTP): Restricting Access", "Web Server (HTTP): Requiring Authentication"),
    ("Web Server (HTTP): Installing Apache", "IPv6"),
    ("Web Server (HTTP): Log Analyzers", "Rotating Log Files"),
    ("HTTP/FTP Proxy", "Web Server (HTTP): Installing Apache"),
    ("HTTP/FTP Proxy: Configuring a Cache", "Web Server (HTTP): Configuring Virtual Hosts"),
    ("Domain Name Servers (DNS)", "IPv6"),
    ("Domain Name Servers (DNS): Configuring bind", "DHCP and DNS"),
    ("Domain Name Servers (DNS): Configuring bind", "syslog System Events"),
    ("Domain Name Servers (DNS)", "Firewall or Packet Filtering"),
    ("Domain Name Servers (DNS)", "Fighting Spam with SPF, DKIM and DMARC"),
    ("Domain Name Servers (DNS)", "DANE TLS authentication"),
    ("Domain Name Servers (DNS)", "LDAP Directory"),
    ("Domain Name Servers (DNS)", "Dynamic Routing"),
    ("Domain Name Servers (DNS)", "Web Server (HTTP): Configuring Virtual Hosts"),
    ("Configuring DNS Servers", "IPv6"),
    ("DNS settings for RTC services", "LDAP Directory"),
    ("Web Server (HTTP): Configuring Virtual Hosts", "IPv6"),
    ("Web Server (HTTP): Installing Apache", "Web Server (HTTP): Adding support for SSL"),
    ("Web Server (HTTP): Installing Apache", "LDAP Directory"),
    ("Web Server (HTTP): Log Analyzers", "syslog System Events"),
    ("HTTP/FTP Proxy", "X.509 certificates"),
    ("Self-signed server certificate", "X.509 certificates"),
    ("Remote Login: Key-Based Authentication", "X.509 certificates"),
    ("LDAP Directory", "Backup"),
    ("LDAP Directory", "Secure Remote Login: SSH"),
    ("LDAP Directory", "X.509 certificates"),
    ("LDAP Directory", "How Postfix uses SASL authentication"),
    ("LDAP Directory", "Cyrus SASL Plugins - auxiliary property plugins"),
    ("LDAP Directory", "Remote Login: Key-Based Authentication"),
    ("LDAP Directory: Configuring PAM", "The Hidden and Encrypted Password File: /etc/shadow"),
    ("Webserver (HTTP): Virtuelle Hosts konfigurieren", "Webserver (HTTP): Unterstützung für SSL hinzufügen"),
    ("Webserver (HTTP): Virtuelle Hosts konfigurieren", "Domain Name Server (DNS)"),
    ("Webserver (HTTP): Authentifizierung verlangen", "Webserver (HTTP): Zugang beschränken"),
    ("Webserver (HTTP): Apache installieren", "Webserver (HTTP): Unterstützung für SSL hinzufügen"),
)
"""Nodes of which a reader asks how they hang together, by their labels; nobody said that they do."""

QUESTIONS = (
    "BIND DNSSEC key rollover",
    "Setting up DNSSEC signing for a zone with BIND",
    "Kerberos keytab for a service",
    "Kerberos realm configuration in krb5.conf",
    "Apache name-based virtual hosts with SSL",
    "Virtuelle Hosts in Apache einrichten",
    "SSL-Verschlüsselung mit Apache einrichten",
    "Apache mod_rewrite rewrite rules",
    # what has to be set up, chosen or looked up: a reader asks of a library more than what a thing is
    "Installing a Kerberos KDC",
    "Apache prefork, worker or event MPM",
    "NSEC or NSEC3 for a signed zone",
    "KSK or ZSK in DNSSEC",
    "BIND rndc commands",
    "Apache content negotiation",
    "BIND response policy zones",
    "Adding a replica KDC to a Kerberos realm",
)
"""What a reader of the handbook would ask next; the rest of the day's budget is the scan's."""

TASKS = 19
"""The day's budget of research tasks here: the questions, and three of the scan's own."""


@dataclass
class Phases:
    """Seconds and peak memory of each phase, in the order they ran."""

    rows: list[dict[str, Any]] = field(default_factory=list)

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[dict[str, Any]]:
        row: dict[str, Any] = {"phase": name}
        started, cpu, helped = time.perf_counter(), time.process_time(), helpers()[0]
        yield row
        row |= {
            "seconds": round(time.perf_counter() - started, 2),
            "cpu_s": round(time.process_time() - cpu + max(0.0, helpers()[0] - helped), 2),
            "peak_rss_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        }
        self.rows.append(row)
        figures = f"{row['seconds']:8.1f} s {row['cpu_s']:8.1f} s CPU {row['peak_rss_mib']:5d} MiB"
        print(f"{name:<22} {figures}  {row.get('result', '')}", flush=True)


def helpers() -> tuple[float, int]:
    """Return the CPU seconds of the running helper processes (extraction), and the most memory one took (MiB)."""
    seconds, peak = 0.0, 0
    for task in Path("/proc/self/task").iterdir():
        for pid in (task / "children").read_text(encoding="ascii").split():
            with contextlib.suppress(OSError):
                numbers = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
                seconds += (int(numbers[11]) + int(numbers[12])) / os.sysconf("SC_CLK_TCK")
                status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
                peak = max(peak, int(status.partition("VmHWM:")[2].split()[0]) // 1024)
    return seconds, peak


def fetch(cache: Path) -> Path:
    """Download and unpack the packages once; return the folder with their documents."""
    debs, root = cache / "debs", cache / "root"
    debs.mkdir(parents=True, exist_ok=True)
    missing = [package for package in PACKAGES if not list(debs.glob(f"{package}_*.deb"))]
    if missing:
        download = ["apt-get", "download", *missing]
        if subprocess.run(download, cwd=debs, check=False, stdout=sys.stderr).returncode != 0:
            # a fresh container knows no package until its lists are there
            subprocess.run(["apt-get", "update"], check=True, stdout=sys.stderr)
            subprocess.run(download, cwd=debs, check=True, stdout=sys.stderr)
    if missing or not (root / "complete").exists():
        shutil.rmtree(root, ignore_errors=True)
        for deb in sorted(debs.glob("*.deb")):
            subprocess.run(["dpkg", "-x", str(deb), str(root)], check=True)
        (root / "complete").touch()
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
    settings, _ = load_settings(home=home, environment={"BRAIN_AUTONOMOUS_RESEARCH_MAX_TASKS_PER_DAY": str(TASKS)})
    async with open_runtime(settings) as runtime:
        yield runtime, Passes(runtime)


async def run(cache: Path, pairs: int) -> dict[str, Any]:
    """Do the whole job over the packages and return what is said of it."""
    phases = Phases()
    with phases.phase("fetch and unpack"):
        documents = await asyncio.to_thread(fetch, cache)
    home = cache / "home"
    with phases.phase("library on disk"):
        await asyncio.to_thread(build_library, documents, home / "library")
    async with opened(home) as (runtime, passes):
        store = runtime.store
        with phases.phase("ingest") as row:
            report = await ingest(store, runtime.extractor, [documents / name for name in NODES])
            nodes = await store.read(nodes_with_content)
            row["result"] = (
                f"{report.admitted} files taken, {report.unchanged} known, {report.refused} refused, "
                f"{len(report.skipped)} of other types skipped; {nodes} nodes with content"
            )
        with phases.phase("index the library") as row:
            indexed = await runtime.library.index()
            row["result"] = f"{indexed.total} documents, {len(indexed.failed)} without text"
        with phases.phase("embed and draw edges") as row:
            learned = await passes.learn()
            row["result"] = f"{learned.embedded}, {learned.edges}"
        with phases.phase("layout") as row:
            row["result"] = str(await passes.maintain())
        with phases.phase("ask for pairs") as row:
            wishes = await ask_for_pairs(store)
            row["result"] = f"{len(wishes)} of a reader's {len(PAIRS)} pairs put first"
        with phases.phase("think") as row:
            thought = await passes.think(limit=pairs)
            row["result"] = f"{thought.thought} pairs, {thought.accepted} accepted, {dict(thought.by_reason)}"
        with phases.phase("ask questions") as row:
            asked = [await runtime.queue.enqueue(TaskRequest(topic), TaskOrigin.MANUAL) for topic in QUESTIONS]
            row["result"] = f"{len(asked)} questions of a reader: {dict(Counter(one.outcome for one in asked))}"
        with phases.phase("scan") as row:
            scanned = await passes.scan()
            row["result"] = f"{scanned.candidates} gaps, {scanned.created} tasks, {dict(scanned.rejected)}"
        with phases.phase("work") as row:
            worked = await passes.work()
            row["result"] = f"{worked.completed} tasks, {worked.articles} articles, {dict(worked.reasons)}"
        document = {
            "phases": phases.rows,
            "nodes_with_content": await store.read(nodes_with_content),
            "helper_peak_rss_mib": helpers()[1],
            "pairs": await store.read(count_by_reason),
            "relations": await relations(store, wishes),
            "tasks": await tasks(store),
            "articles": [
                {"type": article.type, "language": article.language, "title": article.title, "state": article.state}
                for article in await store.read(list_articles, limit=1000)
            ],
        }
    tracing = await asyncio.to_thread(trace, home)
    return document | {"traced": tracing.returncode == 0, "trace": tracing.stdout.splitlines()}


def trace(home: Path) -> subprocess.CompletedProcess[str]:
    """Check every citation from outside the product."""
    command = [sys.executable, str(Path(__file__).with_name("trace_articles.py")), str(home)]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)


def nodes_with_content(conn: Connection) -> int:
    """Return how many nodes carry text of their own; outside evidence is none of ours."""
    kinds = [kind for kind in NodeKind if kind is not NodeKind.EVIDENCE]
    return sum(bool(content.body.strip()) for content in all_contents(conn, kinds=kinds))


async def ask_for_pairs(store: Store) -> frozenset[tuple[str, str]]:
    """Put the reader's pairs first, those not decided yet; return all of them as ids in stored order."""
    contents = await store.read(all_contents)
    ids = {content.label: content.id for content in reversed(contents)}
    found = [pair_key(ids[first], ids[second]) for first, second in PAIRS if {first, second} <= ids.keys()]
    for first, second in found:
        if await store.read(get_decision, first, second) is None:
            await store.write(ask_for, first, second)
    return frozenset(found)


async def relations(store: Store, wishes: frozenset[tuple[str, str]]) -> list[dict[str, Any]]:
    """Return the accepted relations that stand on outside texts: what they join, and whether a reader asked."""
    edges = await store.read(list_edges, kind=EdgeKind.RELATION)
    ends = await store.read(nodes_by_ids, {end for edge in edges for end in (edge.source_id, edge.target_id)})
    return [
        {
            "source": ends[edge.source_id].label,
            "type": edge.relation_type,
            "target": ends[edge.target_id].label,
            "evidence": len(edge.meta.get("evidence", ())),
            "rationale": edge.meta.get("rationale", ""),
            "asked": pair_key(edge.source_id, edge.target_id) in wishes,
        }
        for edge in edges
        if edge.meta.get("validation_state") == RESEARCHED_RELATION
    ]


async def tasks(store: Store) -> list[dict[str, Any]]:
    """Return what every task was about, who asked for it and how it ended."""
    return [
        {
            "topic": task.topic,
            "kind": task.kind,
            "origins": task.origins,
            "state": task.state,
            "evidence": task.evidence_count,
            "reason": task.result_reason,
        }
        for task in await store.read(list_tasks)
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--cache", type=Path, default=Path(".cache/real-input"))
    parser.add_argument("--pairs", type=int, default=400, help="thinking pairs")
    parser.add_argument("--json", type=Path, help="write everything below as JSON too")
    parser.add_argument("--fresh", action="store_true", help="begin with an empty home")
    options = parser.parse_args()
    if options.fresh:
        shutil.rmtree(options.cache / "home", ignore_errors=True)
    document = asyncio.run(run(options.cache.absolute(), options.pairs))
    print(f"\n{len(document['relations'])} relations on outside evidence")
    for one in document["relations"]:
        asked = ", asked for" if one["asked"] else ""
        print(f"  {one['source']} | {one['type']} | {one['target']} ({one['evidence']} texts{asked})")
    print(f"\n{len(document['tasks'])} research tasks")
    for one in document["tasks"]:
        print(
            f"  {', '.join(one['origins'])}: {one['topic']}: {one['evidence']} texts, {one['reason'] or 'an article'}"
        )
    print("\n" + "\n".join(document["trace"]))
    print(f"\n{document['nodes_with_content']} nodes with content")
    print(f"the largest helper process took {document['helper_peak_rss_mib']} MiB")
    if options.json:
        options.json.write_text(json.dumps(document, indent=1, ensure_ascii=False), encoding="utf-8")
    return 0 if document["traced"] else 1


if __name__ == "__main__":
    sys.exit(main())
