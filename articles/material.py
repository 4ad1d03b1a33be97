"""What a passage offers an author: its sentences, instructions and facts, cut out once and remembered.

Pure functions; offsets are those of the evidence's full text.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from articles.blocks import BlockKind, text_blocks
from articles.facts import FactCandidate, VersionMention, facts, versions
from articles.roles import PassageView
from articles.sentences import Statement, statement
from articles.steps import Instruction, instructions
from data.text import sentences

__all__ = ["facts_of", "instructions_of", "statements_of", "versions_of"]

_REMEMBERED: Final = 4_000


@lru_cache(maxsize=_REMEMBERED)
def _statements(text: str, start: int, language: str, limit: int) -> tuple[Statement, ...]:
    found = []
    for block in text_blocks(text):
        if block.kind not in {BlockKind.PROSE, BlockKind.ITEM}:
            continue
        body = text[block.start : block.end]
        for span in sentences(body):
            if said := statement(body, span, language, limit, start + block.start, listed=block.kind is BlockKind.ITEM):
                found.append(said)
    return tuple(found)


def statements_of(view: PassageView, language: str, limit: int) -> tuple[Statement, ...]:
    """Return the sentences of a passage that can stand in an article, in order."""
    return _statements(view.text, view.start, language, limit)


@lru_cache(maxsize=_REMEMBERED)
def _instructions(text: str, start: int, language: str, limit: int) -> tuple[Instruction, ...]:
    return tuple(instructions(text, language, limit, start))


def instructions_of(view: PassageView, language: str, limit: int) -> tuple[Instruction, ...]:
    """Return the instructions of a passage in order."""
    return _instructions(view.text, view.start, language, limit)


@lru_cache(maxsize=_REMEMBERED)
def _facts(text: str, start: int, language: str, limit: int) -> tuple[FactCandidate, ...]:
    return tuple(facts(text, language, limit, start))


def facts_of(view: PassageView, language: str, limit: int) -> tuple[FactCandidate, ...]:
    """Return the facts of a passage in order, one a term."""
    return _facts(view.text, view.start, language, limit)


def versions_of(view: PassageView) -> list[VersionMention]:
    """Return the products with versions that a passage names."""
    return versions(view.text, view.start)
