"""What a verified write says it did, and the one function that turns facts into a status."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

__all__ = ["Status", "WriteOutcome", "settle"]

Status = Literal["done", "corrected", "question", "refused", "failed"]
Rows = Mapping[str, Mapping[str, Any] | None]

_REPORTS_SUCCESS: Final = frozenset({"done", "corrected"})
_SEAL: Final = object()


@dataclass(frozen=True, slots=True)
class WriteOutcome:
    """The result of one operation; only `settle` makes one.

    `before`, `after` and `expected` map a row's name (`node:n_…`) to its readable columns, None where
    there was or is no row. `action` is what was really done. `reason` is a stable word for refusals and
    failures, `message` a sentence for a person, `choices` what a question offers.
    """

    status: Status
    action: str
    target: str
    before: Rows
    after: Rows
    expected: Rows
    verified: bool
    message: str
    reason: str
    question_id: str | None
    choices: tuple[str, ...]
    result: Any
    journal_id: str | None
    seal: object = field(repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.seal is not _SEAL:
            raise TypeError("a WriteOutcome is made by data.crud.outcome.settle alone")

    @property
    def ok(self) -> bool:
        """Tell whether the write was made and read back (`done` or `corrected`)."""
        return self.status in _REPORTS_SUCCESS


def settle(
    *,
    action: str,
    target: str,
    written: bool = False,
    verified: bool = False,
    corrected: bool = False,
    question: bool = False,
    refused: bool = False,
    before: Rows | None = None,
    after: Rows | None = None,
    expected: Rows | None = None,
    message: str = "",
    reason: str = "",
    question_id: str | None = None,
    choices: tuple[str, ...] = (),
    result: Any = None,
    journal_id: str | None = None,
) -> WriteOutcome:
    """Return the outcome for these facts. A write counts as done only when it was read back as expected.

    Whatever was neither verified nor refused nor asked about has failed; a failure promises no result.
    """
    status: Status
    if refused:
        status = "refused"
    elif question:
        status = "question"
    elif written and verified:
        status = "corrected" if corrected else "done"
    else:
        status = "failed"
    ok = status in _REPORTS_SUCCESS
    return WriteOutcome(
        status=status,
        action=action,
        target=target,
        before=before or {},
        after=after or {},
        expected=expected or {},
        verified=ok,
        message=message,
        reason=reason,
        question_id=question_id,
        choices=choices,
        result=result if ok else None,
        journal_id=journal_id,
        seal=_SEAL,
    )
