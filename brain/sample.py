"""The shipped sample: brought into a home the way an operator would, and judged against its hand-made key.

Nothing here tells the gates what to do: the key is only compared with what they said.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from brain.policies import evidence_policy, guard_policy, source_tables
from brain.runtime import Runtime
from data.inbox import IngestReport, ingest
from data.models import Label
from data.nodes import node_by_uri
from data.progress import Progress, silent
from research.fetch_errors import FetchError
from research.gate import Assessment, assess_evidence, snippet_gate
from research.guard import guard_query
from research.search.base import Hit
from research.sources import SourceTable

__all__ = ["DecoyVerdict", "PairVerdict", "judge_decoys", "judge_pairs", "load_sample", "sample_key"]

LOOKED_AT = 50
"""Hits in which a decoy is looked for."""
SNIPPET_CHARS = 300


@dataclass(frozen=True, slots=True)
class DecoyVerdict:
    path: str
    kind: str
    expected: str
    found: str
    why: str

    @property
    def right(self) -> bool:
        return self.found == self.expected


@dataclass(frozen=True, slots=True)
class PairVerdict:
    source: str
    target: str
    expected: str
    found: str
    why: str
    right: bool


def sample_key() -> Mapping[str, Any]:
    """Return the hand-made key: `pairs` and `decoys` (data/sample/README.md says how to read it)."""
    key: Mapping[str, Any] = json.loads(files("data").joinpath("sample/key.json").read_text(encoding="utf-8"))
    return key


async def load_sample(runtime: Runtime, *, progress: Progress = silent) -> IngestReport:
    """Put the sample's library where the operator's documents are, and admit its nodes; both only where missing."""
    with as_file(files("data").joinpath("sample")) as sample:
        await asyncio.to_thread(_copy_library, sample / "library", runtime.settings.library_path)
        nodes = sorted((sample / "nodes").glob("*.jsonl"))
        return await ingest(runtime.store, runtime.extractor, nodes, progress=progress)


async def judge_decoys(runtime: Runtime, *, progress: Progress = silent) -> list[DecoyVerdict]:
    """Fetch and assess every decoy against the labels the key names; say which gate stopped it."""
    decoys = sample_key()["decoys"]
    verdicts = []
    for number, decoy in enumerate(decoys, 1):
        found, why = await _stop(runtime, decoy)
        verdicts.append(DecoyVerdict(decoy["path"], decoy["kind"], decoy["stopped_by"], found, why))
        progress("decoys", number, len(decoys))
    return verdicts


async def judge_pairs(runtime: Runtime, *, progress: Progress = silent) -> list[PairVerdict]:
    """Think about every pair of the key, as for an operator who asks; say how each ended."""
    pairs = sample_key()["pairs"]
    verdicts = []
    for number, pair in enumerate(pairs, 1):
        source, target = [(await _label(runtime, pair[end])).id for end in ("source", "target")]
        outcome = await runtime.relations.think(source, target)
        reasons = [pair["reason"]] if isinstance(pair["reason"], str) else list(pair["reason"] or [])
        expected = "accepted" if pair["accept"] else "refused: " + " | ".join(reasons)
        found = "accepted" if outcome.accepted else f"refused: {outcome.reason}"
        right = outcome.accepted == pair["accept"]
        verdicts.append(PairVerdict(pair["source"], pair["target"], expected, found, pair["why"], right))
        progress("pairs of the key", number, len(pairs))
    return verdicts


def _copy_library(source: Path, target: Path) -> None:
    for path in sorted(source.rglob("*")):
        place = target / path.relative_to(source)
        if path.is_file() and not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, place)


@cache
def _uris() -> Mapping[str, str]:
    """Return where each key's node came from, as the inbox names rows: the file's stem and the row's key."""
    found = {}
    for path in files("data").joinpath("sample/nodes").iterdir():
        for line in path.read_text(encoding="utf-8").splitlines():
            key = json.loads(line)["key"]
            found[key] = f"{path.name.removesuffix('.jsonl')}:{key}"
    return found


async def _label(runtime: Runtime, key: str) -> Label:
    node = await runtime.store.read(node_by_uri, _uris()[key])
    if node is None:
        raise LookupError(f"the sample has no node {key!r} in this home")
    return Label(node.id, node.label)


async def _stop(runtime: Runtime, decoy: Mapping[str, Any]) -> tuple[str, str]:
    """Return the reason of the first gate that stops the decoy, `accepted` where none does, and a sentence why."""
    labels = [await _label(runtime, key) for key in decoy["labels"]]
    query = guard_query("", anchors=labels, policy=guard_policy(runtime.settings)).query
    url = _url(decoy["path"])
    try:
        if decoy["stopped_by"] == "snippet_off_topic":
            return await _snippet(runtime, query, url, labels)
        witnesses = []
        if decoy["mirror_of"]:
            original = await _assess(runtime, _url(decoy["mirror_of"]), labels, decoy, query, ())
            witnesses = [original] if original.accepted else []
        judged = await _assess(runtime, url, labels, decoy, query, witnesses)
    except FetchError as error:
        return error.reason, str(error)
    return judged.reject_reason or "accepted", judged.assessment_reason


async def _snippet(runtime: Runtime, query: str, url: str, labels: Sequence[Label]) -> tuple[str, str]:
    """Judge the decoy by the hit that the search gives of it, or by its own title and beginning."""
    page = await runtime.search.search(query, language="und", limit=LOOKED_AT)
    hit = next((hit for hit in page.hits if hit.url == url), None)
    if hit is None:
        document = await runtime.fetcher.fetch(url)
        hit = Hit(url=url, title=document.title, snippet=document.text[:SNIPPET_CHARS])
    verdict = snippet_gate(hit, labels, evidence_policy(runtime.settings))
    return ("passed the snippet gate" if verdict.passed else "snippet_off_topic"), ", ".join(verdict.shared)


async def _assess(
    runtime: Runtime,
    url: str,
    labels: Sequence[Label],
    decoy: Mapping[str, Any],
    query: str,
    accepted: Sequence[Assessment],
) -> Assessment:
    document = await runtime.fetcher.fetch(url)
    return await asyncio.to_thread(
        assess_evidence,
        document,
        anchors=labels,
        require=decoy["require"],
        questions=(query,),
        query=query,
        accepted=accepted,
        sources=SourceTable.load(*source_tables(runtime.settings)),
        embedder=runtime.embedder,
        policy=evidence_policy(runtime.settings),
        now=runtime.clock.now(),
    )


def _url(path: str) -> str:
    return "library:" + path.removeprefix("library/")
