"""What both imports share: refusals, verified writes, removals with a hand on the brake."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from data import events
from data.crud.engine import perform
from data.crud.ingest import EdgeDraft, IngestNodes, IngestResult, NodeDraft
from data.crud.sources import RetireSources
from data.inbox_gates import InboxPolicy, InboxRefusal
from data.models import Event
from data.progress import Progress, silent
from data.store import Store
from research.glpi.report import Tally
from research.glpi.standing import load_refused, save_refused

__all__ = ["ACTOR", "ImportPolicy", "Intake"]

ACTOR: Final = "glpi"


@dataclass(frozen=True, slots=True)
class ImportPolicy:
    """How an import goes about it."""

    inbox: InboxPolicy = field(default_factory=InboxPolicy)
    parallel: int = 4
    """Calls beside each other, for the parts of tickets."""
    sweep_every: timedelta = timedelta(days=1)
    """How often the whole list of ids is compared, for what was purged without a trace."""
    removals: int = 20
    removed_share: float = 0.2
    """More removals at once than both are not done until a person confirms them: a profile that lost a right, or an
    entity that was closed, looks like everything having been deleted."""


@dataclass(slots=True)
class Intake:
    """One run's hands: what it writes, what it refused, whether it should end."""

    store: Store
    policy: ImportPolicy
    stopping: Callable[[], bool]
    limit: int | None = None
    confirmed: bool = False
    progress: Progress = silent
    refused: dict[str, str] = field(default_factory=dict)
    _before: dict[str, str] = field(default_factory=dict)
    _taken: int = 0

    async def open(self) -> None:
        self.refused = await load_refused(self.store)
        self._before = dict(self.refused)

    async def close(self) -> None:
        if self.refused != self._before:
            await save_refused(self.store, self.refused)
            self._before = dict(self.refused)

    @property
    def room(self) -> int | None:
        """How many more items may be written; None without a limit."""
        return None if self.limit is None else max(0, self.limit - self._taken)

    def ends(self) -> bool:
        return self.stopping() or self.room == 0

    async def refuse(self, tally: Tally, uri: str, updated: str, refusal: InboxRefusal, origin: str) -> None:
        """Count a refusal and note it in the log, once for each state of the item."""
        tally.refused[refusal.reason] += 1
        if self.refused.get(uri) == updated:
            return
        self.refused.pop(uri, None)
        self.refused[uri] = updated
        payload = {"name": origin, "reason": refusal.reason, "message": refusal.message}
        await self.store.log(Event(events.INBOX_REFUSED, payload, "warning"))

    async def write_each(self, tally: Tally, drafts: Sequence[NodeDraft]) -> None:
        """Write items of one node each, as one verified operation; one by one where that did not stand."""
        result = await self._ingested(drafts)
        if result is None and len(drafts) > 1:
            for draft in drafts:
                await self.write_each(tally, [draft])
            return
        self._taken += len(drafts)
        if result is None:
            tally.failed += 1
            return
        tally.added += result.created
        tally.unchanged += result.unchanged
        tally.changed += len(drafts) - result.created - result.unchanged

    async def write_one(self, tally: Tally, drafts: Sequence[NodeDraft], edges: Sequence[EdgeDraft]) -> None:
        """Write one item of several nodes as one verified operation."""
        result = await self._ingested(drafts, edges)
        self._taken += 1
        if result is None:
            tally.failed += 1
        elif result.created and not (result.updated or result.reactivated or result.unchanged):
            tally.added += 1
        elif result.created or result.updated or result.reactivated or result.deactivated:
            tally.changed += 1
        else:
            tally.unchanged += 1

    async def _ingested(self, drafts: Sequence[NodeDraft], edges: Sequence[EdgeDraft] = ()) -> IngestResult | None:
        """Return what the write did, None where it did not stand."""
        outcome = await perform(self.store, IngestNodes(tuple(drafts), tuple(edges)), actor=ACTOR)
        if not outcome.ok or not isinstance(outcome.result, IngestResult):
            return None
        for draft in drafts:
            self.refused.pop(draft.source_uri, None)
        return outcome.result

    def holds_back(self, leaving: int, active: int) -> bool:
        """Tell whether `leaving` of `active` are more removals than are done without a person's word."""
        many = leaving > self.policy.removals and leaving > self.policy.removed_share * active
        return many and not self.confirmed

    async def retire(self, tally: Tally, uris: Iterable[str], active: int, reason: str) -> None:
        """Take what is gone out of the graph; `active` is how many of its kind there are."""
        leaving = list(uris)
        if self.holds_back(len(leaving), active):
            tally.held_back += len(leaving)
            return
        for start in range(0, len(leaving), self.policy.inbox.batch_rows):
            chunk = leaving[start : start + self.policy.inbox.batch_rows]
            outcome = await perform(self.store, RetireSources(chunk, reason), actor=ACTOR)
            if outcome.ok and isinstance(outcome.result, int):
                tally.removed += outcome.result
            elif outcome.reason != "not_found":
                tally.failed += len(chunk)
