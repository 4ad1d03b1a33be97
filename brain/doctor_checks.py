"""What a check of `brain doctor` says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Check", "Verdict"]

Verdict = Literal["well", "note", "fault"]


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at; `todo` is empty where nothing is to be done."""

    subject: str
    verdict: Verdict
    message: str
    todo: str = ""
