"""What the evidence gate costs beside reading a page: its four judgements, without embedding, and trafilatura.

    .venv/bin/python benchmarks/gate.py [--rounds 3] [--cache DIR] [--json FILE]

The pages are those of the labelled evidence set that come out of Debian packages (`benchmarks/evidence_set.py`), each
judged for the first pair of labels it is listed with, mostly one that it answers: those cost most. Every round
extracts all pages with trafilatura and judges the texts with the gate, in turn and in one process. The embedder
stands in with a fixed vector, so that its model is no part of the figure; how often it is asked, and for how many
passages, is counted.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.evidence_set import CACHE, NOW, documents, labelled, pairs
from benchmarks.measure import as_json, interleaved, table
from data.models import Label
from research.gate import EvidencePolicy, assess_evidence
from research.sources import shipped_table

LIMIT = 0.5
"""Of trafilatura's time on the same pages."""


class Counting:
    """Gives one vector for every text and counts what it was asked for."""

    name, dim = "counting", 2

    def __init__(self) -> None:
        self.passages: list[int] = []

    def encode(self, texts: Sequence[str]) -> Any:
        self.passages.append(len(texts) - 1)
        return np.tile(np.array([[1.0, 0.0]], np.float32), (len(texts), 1))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cache", type=Path, default=CACHE)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(argv)
    chosen = list({pair.page: pair for pair in reversed(pairs()) if not pair.sample}.values())
    pages, _ = documents(chosen, options.cache)
    raw = {name: (options.cache / "root" / labelled()["pages"][name]["path"]).read_bytes() for name in pages}
    table_of_sources, embedder = shipped_table(), Counting()

    def peer() -> None:
        from trafilatura import extract

        for data in raw.values():
            extract(data.decode("utf-8", "replace"), include_tables=True, include_formatting=True)

    def gate() -> None:
        embedder.passages.clear()
        for pair in chosen:
            assess_evidence(
                pages[pair.page],
                anchors=[Label(f"label-{number}", text) for number, text in enumerate(pair.labels)],
                require="all" if pair.require == "all" else "any",
                questions=pair.questions,
                query=" ".join(pair.labels),
                accepted=(),
                sources=table_of_sources,
                embedder=embedder,
                policy=EvidencePolicy(),
                now=NOW,
            )

    gate()  # the word lists and stems are made once in a process's life
    rows = interleaved("judge a page", len(pages), {"trafilatura": peer, "evidence gate": gate}, rounds=options.rounds)
    print(table(rows, base="trafilatura"))
    ratio = rows[1].median_cpu / rows[0].median_cpu
    asked = embedder.passages
    print(f"gate / trafilatura = {ratio:.2f} (limit {LIMIT}); the embedder was asked for {len(asked)} of {len(pages)}")
    print(f"pages, {sum(asked)} passages, at most {max(asked, default=0)} a page")
    if options.json:
        facts = {"rows": as_json(rows), "ratio": ratio, "passages": asked, "pages": len(pages)}
        options.json.write_text(json.dumps(facts, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
