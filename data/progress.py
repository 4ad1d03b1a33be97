"""How long work tells how far it is."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Progress", "silent"]


class Progress(Protocol):
    """Called now and then by long work; must return quickly and never raise."""

    def __call__(self, phase: str, done: int, total: int | None) -> None:
        """Report `done` of `total` units of `phase`; `total` is None where nobody knows."""
        ...


def silent(phase: str, done: int, total: int | None) -> None:
    """Report to nobody."""
