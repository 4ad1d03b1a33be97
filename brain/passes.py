"""One pass of each loop, as the daemon and the command line both run it."""

from __future__ import annotations

import os
import socket
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

import structlog

from articles.phrases import LANGUAGES
from articles.pipeline import SynthesisRequest
from brain.policies import glpi_kinds, glpi_policy, import_policy, inbox_policy, scan_policy
from brain.runtime import Runtime
from brain.worker import Completed, Postponed, Report, Worker, WorkReport
from data.clock import to_iso
from data.events import prune
from data.inbox import IngestReport, scan_inbox
from data.library import IndexReport
from data.models import Scan, Task
from data.progress import Progress, silent
from data.state import get_state, set_state
from research.gather import Gathered
from research.glpi.client import GlpiClient
from research.glpi.errors import GlpiError
from research.glpi.importing import LAST, Wanted, is_due, run_import
from research.relation import ThinkReport
from research.scan import scan
from vector.maintenance import EmbedReport, ReevaluationReport

__all__ = ["LearnReport", "Passes"]

log = structlog.get_logger()

_ITEMS_A_PASS: Final = 500
"""Items of GLPI one learning pass writes at most: a first import takes several passes, and files come in between."""


@dataclass(frozen=True, slots=True)
class LearnReport:
    """What one learning pass took in and drew; `edges` is None where nothing had changed."""

    inbox: IngestReport
    library: IndexReport
    embedded: EmbedReport
    edges: ReevaluationReport | None = None
    glpi: dict[str, Any] | None = None
    """What an import did, or why it failed (`error`); None where none was due."""


class Passes:
    """The duties of one process over its runtime; `stopping` tells that the process was asked to end."""

    def __init__(self, runtime: Runtime, stopping: Callable[[], bool] = lambda: False) -> None:
        self._rt = runtime
        self._stopping = stopping
        self._worker = Worker(
            runtime.queue,
            self._research,
            clock=runtime.clock,
            name=f"{socket.gethostname()}:{os.getpid()}",
            lease_s=runtime.settings.research_lease.total_seconds(),
            stopping=stopping,
        )

    async def learn(
        self, *, limit: int | None = None, connectors: bool = True, progress: Progress = silent
    ) -> LearnReport:
        """Take what lies in the inbox and what GLPI has, index the library, embed what is stale, redraw vector edges
        where it changed. `connectors=False` asks nobody outside."""
        rt = self._rt
        inbox = await scan_inbox(
            rt.store, rt.extractor, policy=inbox_policy(rt.settings), limit=limit, progress=progress
        )
        glpi = await self._import_glpi(progress) if connectors else None
        library = await rt.library.index(progress)
        async with rt.mutex.hold("learning"):
            embedded = await rt.maintenance.embed(progress=progress)
            edges = await rt.maintenance.reevaluate(progress=progress) if embedded.changed else None
        await rt.store.write(set_state, "last_learning_scan", to_iso(rt.clock.now()))
        return LearnReport(inbox, library, embedded, edges, glpi)

    async def _import_glpi(self, progress: Progress) -> dict[str, Any] | None:
        """Import from GLPI where that is due. What keeps it from answering is noted, and never stops the files."""
        rt = self._rt
        policy, kinds = glpi_policy(rt.settings), glpi_kinds(rt.settings)
        if policy is None or not kinds:
            return None
        last = await rt.store.read(get_state, LAST)
        if not is_due(last, rt.clock.now(), rt.settings.glpi_interval):
            return None
        try:
            # Two tries: the pass that comes after the interval is the third, and what was admitted waits for this one.
            async with GlpiClient(replace(policy, tries=2)) as client:
                report = await run_import(
                    client,
                    rt.store,
                    rt.extractor,
                    Wanted(kinds, limit=_ITEMS_A_PASS),
                    import_policy(rt.settings),
                    stopping=self._stopping,
                    progress=progress,
                )
        except GlpiError as error:
            log.warning("GLPI was not imported", why=str(error))
            return {"error": str(error)}
        return report.document()

    async def think(self, *, limit: int | None = None, progress: Progress = silent) -> ThinkReport:
        """Think about the best open pairs; between two of them the pass ends where the process was asked to."""
        most = self._rt.settings.thinking_max_pairs if limit is None else limit
        return await self._rt.relations.think_pass(most, progress, stopping=self._stopping)

    async def scan(self, *, limit: int | None = None, progress: Progress = silent) -> Scan:
        """Look for gaps once and plan what today's budget can do."""
        rt = self._rt
        return await scan(rt.store, rt.queue, rt.reasoner, scan_policy(rt.settings), limit=limit, progress=progress)

    async def work(self, *, limit: int | None = None, progress: Progress = silent) -> WorkReport:
        """Work on the queue until it has nothing for today."""
        return await self._worker.run(limit=limit, progress=progress)

    async def maintain(self, *, progress: Progress = silent) -> object:
        """Run what of reevaluation and layout is due."""
        return await self._rt.maintenance.run_due(progress=progress)

    async def rebuild(self, what: str, *, progress: Progress = silent) -> dict[str, Any]:
        """Make vectors, edges, layout or all of it anew, under the engine mutex; return the reports by name."""
        maintenance = self._rt.maintenance
        done: dict[str, Any] = {}
        if (holder := (await self._rt.mutex.status()).holder) is not None:
            progress(f"waiting for {holder}", 0, None)
        async with self._rt.mutex.hold(f"rebuild {what}"):
            if what in {"vectors", "all"}:
                done["vectors"] = asdict(await maintenance.embed(everything=True, progress=progress))
            if what in {"vectors", "edges", "all"}:
                done["edges"] = asdict(await maintenance.reevaluate(force=True, progress=progress))
            if what in {"layout", "all"}:
                done["layout"] = asdict(await maintenance.refresh_layout("full", progress=progress))
        return done

    async def keep_house(self) -> None:
        """Forget events that are older than the retention."""
        rt = self._rt
        await rt.store.write(prune, rt.clock.now() - rt.settings.event_retention)

    async def _research(self, task: Task, report: Report) -> Completed | Postponed:
        """Gather evidence for the task and write what it carries."""
        rt = self._rt
        gathered = await rt.gatherer.gather(task, report=report)
        if gathered.outside_error is not None:
            return Postponed(gathered.outside_error)
        if not gathered.accepted:
            return Completed(0, None, gathered.reason or "no_accepted_evidence")
        await report("writing", {"accepted": len(gathered.accepted)})
        evidence = gathered.accepted

        async def more(questions: Sequence[str], *, fetches: int) -> Gathered:
            nonlocal evidence
            found = await rt.gatherer.more(task, questions, fetches=fetches, report=report)
            evidence = found.accepted
            return found

        request = SynthesisRequest(
            topic=task.topic,
            questions=task.questions,
            language=_language(task, gathered),
            evidence=gathered.accepted,
            task_id=task.id,
            article_type=task.article_type,
            incomplete=gathered.incomplete,
        )
        result = await rt.synthesis.run(request, more)
        if result.outcome == "outside_error":
            return Postponed(result.reason)
        return Completed(len(evidence), result.article_id, "" if result.article_id else result.reason)


def _language(task: Task, gathered: Gathered) -> str:
    """Return the language to write in: the topic's, else ("BIND DNSSEC") what most of the evidence is written in."""
    if task.language in LANGUAGES:
        return task.language
    counted = Counter(text.evidence.language for text in gathered.accepted if text.evidence.language in LANGUAGES)
    return min(counted, key=lambda language: (-counted[language], language), default="en")
