"""Why a pair ended as it did (spec 04, "Fail closed")."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

__all__ = ["OUTSIDE", "RETRIED", "SAID_NO", "Reason"]


class Reason(StrEnum):
    """Why a pair ended as it did; the names of spec 04 are stable."""

    ACCEPTED = "accepted"
    NOT_RELATED = "not_related"
    PLAN_FAILED = "plan_failed"
    NOTHING_SEARCHABLE = "nothing_searchable"
    SEARCH_FAILED = "search_failed"
    FETCH_FAILED = "fetch_failed"
    NO_HITS = "no_hits"
    NO_ACCEPTED_EVIDENCE = "no_accepted_evidence"
    UNCITED = "uncited"
    REVIEW_FAILED = "review_failed"
    REVIEW_REJECTED = "review_rejected"
    INACTIVE_NODE = "inactive_node"
    CHANGED = "changed"
    """A node changed, or went, between the plan and the write."""
    WRITE_FAILED = "write_failed"
    ERROR = "error"
    """A fault of this program; it is logged, and the other pairs go on."""


RETRIED: Final = frozenset(
    {
        Reason.PLAN_FAILED,
        Reason.SEARCH_FAILED,
        Reason.FETCH_FAILED,
        Reason.REVIEW_FAILED,
        Reason.CHANGED,
        Reason.WRITE_FAILED,
        Reason.ERROR,
    }
)
OUTSIDE: Final = frozenset({Reason.PLAN_FAILED, Reason.SEARCH_FAILED, Reason.REVIEW_FAILED, Reason.WRITE_FAILED})
SAID_NO: Final = frozenset({Reason.NOT_RELATED, Reason.REVIEW_REJECTED})
