"""The labelled claims (tests/articles/data/claims.json) against the extractive claim review.

    python -m benchmarks.claims            # both halves with the bundled model, one line a language and label
    python -m benchmarks.claims --sweep    # thresholds over the development half alone
    python -m benchmarks.claims --wrong    # the pairs that are judged otherwise than a reader did

A pair belongs to the development half when the SHA-256 of its passage is even: a passage is never in both. A
contradicted claim is caught when it is judged contradicted or unsupported; "partly" is not counted as caught.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from articles import agreement as limits
from articles.agreement import Agreement, agreement, verdict
from articles.plaintext import plain
from vector.embed import Embedder, SentenceTransformerEmbedder

__all__ = ["CLAIMS", "LabelledClaim", "Rates", "judged", "load", "rates"]

CLAIMS = Path(__file__).parents[1] / "tests" / "articles" / "data" / "claims.json"


@dataclass(frozen=True)
class LabelledClaim:
    claim: str
    passage: str
    language: str
    label: str
    swap: str

    @property
    def development(self) -> bool:
        return int(hashlib.sha256(self.passage.encode()).hexdigest(), 16) % 2 == 0


@dataclass(frozen=True)
class Rates:
    """Shares of the pairs of one label: `caught` of contradicted ones, `passed_*` of supported ones."""

    caught: float
    passed_en: float
    passed_de: float
    pairs: int


def load(path: Path = CLAIMS) -> list[LabelledClaim]:
    """Return the labelled pairs in the file's order."""
    document = json.loads(path.read_text(encoding="utf-8"))
    passages = {passage["id"]: passage for passage in document["passages"]}
    return [
        LabelledClaim(
            pair["claim"],
            passages[pair["passage"]]["text"],
            passages[pair["passage"]]["language"],
            pair["label"],
            pair.get("swap", ""),
        )
        for pair in document["pairs"]
    ]


def compared(pairs: Sequence[LabelledClaim], embedder: Embedder | None) -> list[tuple[Agreement, float]]:
    """Return agreement and cosine of each pair; without an embedder the cosine is 1.0, so that words decide alone."""
    found = [agreement(pair.claim, [pair.passage], pair.language) for pair in pairs]
    if embedder is None:
        return [(one, 1.0) for one in found]
    texts = list(dict.fromkeys(text for pair in pairs for text in (pair.claim, plain(pair.passage))))
    vectors = dict(zip(texts, embedder.encode(texts), strict=True))
    return [
        (one, float(np.dot(vectors[pair.claim], vectors[plain(pair.passage)])))
        for one, pair in zip(found, pairs, strict=True)
    ]


def judged(pairs: Sequence[LabelledClaim], embedder: Embedder | None) -> list[str]:
    """Return the verdict on each pair."""
    return [verdict(found, near)[0] for found, near in compared(pairs, embedder)]


def rates(pairs: Sequence[LabelledClaim], verdicts: Sequence[str]) -> Rates:
    rows = list(zip(pairs, verdicts, strict=True))

    def share(hits: Iterable[bool]) -> float:
        listed = list(hits)
        return sum(listed) / len(listed) if listed else 1.0

    return Rates(
        share(said in {"contradicted", "unsupported"} for pair, said in rows if pair.label == "contradicted"),
        share(said == "supported" for pair, said in rows if pair.label == "supported" and pair.language == "en"),
        share(said == "supported" for pair, said in rows if pair.label == "supported" and pair.language == "de"),
        len(rows),
    )


def _sweep(pairs: Sequence[LabelledClaim], embedder: Embedder) -> None:
    rows = compared(pairs, embedder)
    for words in (0.70, 0.75, 0.80, 0.85, 0.90, 0.95, 1.0):
        for near in (0.0, 0.40, 0.50, 0.55, 0.60, 0.65, 0.70, 0.80):
            limits.SUPPORTED_WORDS, limits.SUPPORTED_NEAR = words, near  # type: ignore[misc]
            said = [verdict(found, cosine)[0] for found, cosine in rows]
            found = rates(pairs, said)
            weak = [v for pair, v in zip(pairs, said, strict=True) if pair.label in {"partly", "unsupported"}]
            print(
                f"words {words:.2f} near {near:.2f}: contradicted caught {found.caught:.3f}, supported passed "
                f"en {found.passed_en:.3f} de {found.passed_de:.3f}, of {len(weak)} partly or unsupported "
                f"{sum(v == 'supported' for v in weak)} passed"
            )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sweep", action="store_true")
    parser.add_argument("--wrong", action="store_true")
    parser.add_argument("--file", type=Path, default=CLAIMS)
    options = parser.parse_args()
    pairs = load(options.file)
    embedder = SentenceTransformerEmbedder()
    if options.sweep:
        _sweep([pair for pair in pairs if pair.development], embedder)
        return 0
    said = judged(pairs, embedder)
    for name, kept in (
        ("development", [pair.development for pair in pairs]),
        ("held out", [not pair.development for pair in pairs]),
        ("all", [True] * len(pairs)),
    ):
        half = [pair for pair, keep in zip(pairs, kept, strict=True) if keep]
        found = rates(half, [v for v, keep in zip(said, kept, strict=True) if keep])
        print(
            f"{name:<12} {found.pairs:>4} pairs: contradicted caught {found.caught:.3f}, "
            f"supported passed en {found.passed_en:.3f} de {found.passed_de:.3f}"
        )
    for pair, verdict_ in zip(pairs, said, strict=True) if options.wrong else ():
        if verdict_ != pair.label:
            print(f"{pair.label} {pair.swap} judged {verdict_}\n  {pair.claim}\n  {pair.passage}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
