"""Sweep the constants of the duplicate score on the development half of the labelled task pairs.

    .venv/bin/python -m benchmarks.duplicates_sweep

The labelled pairs are split by a hash of their topics; those of the second set, written by somebody who had not seen
score nor lists, are all in the first half. Constants are chosen on that half, precision first and then recall; of
equally good ones, the strictest. The other half is only reported. A row a constant shows how both
halves fare when it alone moves, so that one sees whether the chosen value stands on a plateau or on a peak.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, Final

from research.duplicates import DuplicatePolicy, TaskShape, duplicate_score

__all__ = ["PAIRS", "SECOND", "Pair", "counts", "load", "main"]

_DATA: Final = Path(__file__).parent.parent / "tests" / "research" / "data"
PAIRS: Final = _DATA / "task_pairs.json"
SECOND: Final = _DATA / "task_pairs_second.json"

GRID: Final[dict[str, tuple[float, ...]]] = {
    "score": (0.50, 0.55, 0.60, 0.65),
    "topic_weight": (0.45, 0.55, 0.65),
    "apart": (0.60, 0.65, 0.70, 0.75),
    "strong_topic": (0.45, 0.50, 0.55),
    "strong_seeds": (0.50, 1.00),
    "strong_questions": (0.40, 0.50, 0.60),
    "pinned": (0.20, 0.25, 0.30),
    "contained_topic": (0.35, 0.45),
}


@dataclass(frozen=True, slots=True)
class Pair:
    """One labelled pair; `dev` says in which half it is."""

    a: TaskShape
    b: TaskShape
    same: bool
    reason: str
    dev: bool


def load(path: Path = PAIRS, *, first: bool = False) -> list[Pair]:
    """Return the labelled pairs; `first` puts all of them into the first half."""
    pairs = []
    for row in json.loads(path.read_text(encoding="utf-8")):
        a, b = _shape(row["a"]), _shape(row["b"])
        half = hashlib.sha256(f"{a.topic}\n{b.topic}".encode()).digest()[0] % 2
        pairs.append(Pair(a, b, row["same"], row["reason"], first or half == 0))
    return pairs


def _shape(side: dict[str, Any]) -> TaskShape:
    return TaskShape(side["topic"], frozenset(side["seeds"]), tuple(side["questions"]))


def counts(pairs: Sequence[Pair], policy: DuplicatePolicy) -> tuple[int, int, int]:
    """Return true positives, false positives and false negatives."""
    found = [(duplicate_score(pair.a, pair.b, policy).duplicate, pair.same) for pair in pairs]
    return found.count((True, True)), found.count((True, False)), found.count((False, True))


def _told(pairs: Sequence[Pair], policy: DuplicatePolicy) -> str:
    tp, fp, fn = counts(pairs, policy)
    return f"P {tp / max(1, tp + fp):.3f} R {tp / max(1, tp + fn):.3f} ({fp} wrong, {fn} missed)"


def _policy(values: dict[str, float]) -> DuplicatePolicy:
    rest = 1.0 - values.get("topic_weight", DuplicatePolicy().topic_weight)
    # seeds and questions share what the topic leaves over as 25 to 20, the proportion of the starting values
    return replace(DuplicatePolicy(), seeds_weight=rest * 25 / 45, questions_weight=rest * 20 / 45, **values)


def main() -> None:
    """Print the best constants on the development half, and how each moves both halves."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    pairs = [*load(), *load(SECOND, first=True)]
    dev, held = [pair for pair in pairs if pair.dev], [pair for pair in pairs if not pair.dev]
    print(f"{len(dev)} pairs to choose on, {len(held)} held out")
    print(f"as shipped: chosen on {_told(dev, DuplicatePolicy())}; held out {_told(held, DuplicatePolicy())}")
    best: tuple[int, int, float] | None = None
    chosen: dict[str, float] = {}
    for point in product(*GRID.values()):
        values = dict(zip(GRID, point, strict=True))
        tp, fp, _ = counts(dev, _policy(values))
        # precision first: a wrong merge loses a task, a missed one costs a repetition
        mark = (-fp, tp, sum(value for name, value in values.items() if name != "topic_weight"))
        if best is None or mark > best:
            best, chosen = mark, values
    print("best on the first half, strictest of equals:", chosen)
    print(f"  chosen on {_told(dev, _policy(chosen))}; held out {_told(held, _policy(chosen))}")
    for name, values in GRID.items():
        for value in values:
            policy = _policy({name: value})
            print(f"{name:>17} {value:.2f}  chosen on {_told(dev, policy)}  held out {_told(held, policy)}")


if __name__ == "__main__":
    main()
