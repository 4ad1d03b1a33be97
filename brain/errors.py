"""What the brain says when it cannot do what was asked: one sentence and an exit status (spec 09).

BrainError            1  failed: unreadable or read-only home, second daemon, backend down
├── UsageError        2  wrong usage: an unknown id, an argument that does not fit
└── RefusedError      3  refused by a gate: inbox, budget, approval of another revision

ConfigError (brain.config, 2) and StoreError (data.store, 1) are translated at the command line's one seam.
"""

from __future__ import annotations

from typing import ClassVar

__all__ = ["BrainError", "RefusedError", "UsageError"]


class BrainError(Exception):
    """The message is one sentence that names the thing, what is wrong with it and what to do."""

    exit_status: ClassVar[int] = 1


class UsageError(BrainError):
    exit_status = 2


class RefusedError(BrainError):
    exit_status = 3
