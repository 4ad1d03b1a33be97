"""What two nodes say about each other in their own words: the ground of a relation that needs no outside facts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from data.text import sentences
from research.connections import SOURCE, TARGET, PairReader
from research.roles import Direction, NodeView, ShownPassage

__all__ = ["OwnSpan", "own_passages", "own_spans"]


@dataclass(frozen=True, slots=True)
class OwnSpan:
    """A sentence of one node's own label or body that names the other node; `text == field[start:end]`."""

    side: Direction
    """SOURCE_TO_TARGET where the source's text speaks of the target, else the other way."""
    field: str
    start: int
    end: int
    text: str


def own_spans(source: NodeView, target: NodeView) -> list[OwnSpan]:
    """Return the sentences of either node's own text that name the other one, in order, source first."""
    reader = PairReader(source, target)
    found = []
    for side, other, direction in (
        (SOURCE, TARGET, Direction.SOURCE_TO_TARGET),
        (TARGET, SOURCE, Direction.TARGET_TO_SOURCE),
    ):
        view = reader.views[side]
        for field, start, end in _sentences_of(view):
            text = getattr(view, field)[start:end]
            if reader.names(other, text):
                found.append(OwnSpan(direction, field, start, end, text))
    return found


def own_passages(source: NodeView, target: NodeView) -> tuple[ShownPassage, ...]:
    """Return `own_spans` as passages a reviewer may cite; each has its node's label as title."""
    return tuple(
        ShownPassage(
            id=f"S{number}",
            title=(source if span.side is Direction.SOURCE_TO_TARGET else target).label,
            publisher="",
            text=span.text,
        )
        for number, span in enumerate(own_spans(source, target), 1)
    )


def _sentences_of(view: NodeView) -> Iterator[tuple[str, int, int]]:
    yield "label", 0, len(view.label)
    for span in sentences(view.body):
        yield "body", span.start, span.end
