"""Verified writes of evidence: what was read in full, and how it was judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, ClassVar

from data.crud.engine import Ask, Plan, Refusal, RowChange
from data.evidence import evidence_by_owner
from data.models import Event, Evidence, SourceClass
from data.schema import evidence
from data.tx import Tx

__all__ = ["EvidenceDraft", "RecordEvidence"]


@dataclass(frozen=True, slots=True)
class EvidenceDraft:
    """An evidence row before it has an id; the columns are those of `data.models.Evidence`."""

    url: str
    final_url: str
    title: str
    publisher: str
    language: str
    published_at: datetime | None
    fetched_at: datetime
    sha256: str
    path: str
    chars: int
    accepted: bool
    reject_reason: str | None
    relevance: float
    source_quality: SourceClass
    source_quality_score: float
    assessment_reason: str
    owner: str = ""

    def row(self, owner: str) -> dict[str, Any]:
        """Return every column but the id, for `owner`."""
        return {**asdict(self), "source_quality": SourceClass(self.source_quality).value, "owner": owner}

    def record(self, evidence_id: str, owner: str) -> Evidence:
        """Return the record this draft becomes."""
        return Evidence(id=evidence_id, **{**asdict(self), "owner": owner})


@dataclass(frozen=True, slots=True)
class RecordEvidence:
    """Record what was read for `owner`. `result` is the ids in the order of `drafts`.

    The same text from the same address for the same owner is one row: its judgement is brought up to
    date. Files are written before (`EvidenceFiles.put`). `events` go out when it is verified.
    """

    drafts: Sequence[EvidenceDraft]
    owner: str
    events: tuple[Event, ...] = ()
    action: ClassVar[str] = "record_evidence"

    def plan(self, tx: Tx) -> Plan | Refusal | Ask:
        if not self.owner:
            return Refusal("no_owner", "evidence belongs to a pair or a task, and none was named")
        changes, ids = evidence_changes(tx, self.drafts, self.owner)
        accepted = sum(draft.accepted for draft in self.drafts)
        return Plan(
            "record_evidence",
            self.owner,
            tuple(changes),
            events=self.events,
            message=f"recorded {len(self.drafts)} texts, {accepted} accepted",
            result=tuple(ids),
        )


def evidence_changes(tx: Tx, drafts: Sequence[EvidenceDraft], owner: str) -> tuple[list[RowChange], list[str]]:
    """Return the rows to write for `drafts` and the id of each, reusing rows that are there."""
    known = {(row.sha256, row.final_url): row for row in evidence_by_owner(tx.conn, owner)}
    ids = {key: row.id for key, row in known.items()}
    changes: dict[str, RowChange] = {}
    result: list[str] = []
    for draft in drafts:
        key = (draft.sha256, draft.final_url)
        evidence_id = ids.setdefault(key, "") or tx.new_id("evidence")
        ids[key] = evidence_id
        result.append(evidence_id)
        if key not in known or known[key] != draft.record(evidence_id, owner):
            changes[evidence_id] = RowChange(evidence, {"id": evidence_id}, draft.row(owner))
    return list(changes.values()), result
