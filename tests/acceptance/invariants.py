"""What holds in every store, however its last process ended."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from data.evidence import EvidenceFiles, evidence_paths
from data.integrity import database_faults
from data.store import Store
from tests.acceptance.processes import query

# Each finds rows that must not be.
NEVER: dict[str, str] = {
    "a write nobody verified, or one that failed": "SELECT id, status FROM journal WHERE status <> 'verified'",
    "a relation without its accepted decision": """SELECT e.id FROM edge e WHERE e.kind = 'relation' AND e.active = 1
        AND NOT EXISTS (SELECT 1 FROM pair_decision d WHERE d.state = 'accepted'
            AND d.source_id = min(e.source_id, e.target_id) AND d.target_id = max(e.source_id, e.target_id))""",
    "an accepted decision without its relation": """SELECT d.source_id, d.target_id FROM pair_decision d
        WHERE d.state = 'accepted' AND NOT EXISTS (SELECT 1 FROM edge e WHERE e.kind = 'relation' AND e.active = 1
            AND min(e.source_id, e.target_id) = d.source_id AND max(e.source_id, e.target_id) = d.target_id)""",
    "a relation that names evidence which is not there": """SELECT e.id, t.value FROM edge e,
            json_each(e.meta, '$.evidence') t WHERE e.kind = 'relation' AND e.active = 1 AND NOT EXISTS
        (SELECT 1 FROM evidence v WHERE v.id = json_extract(t.value, '$.id') AND v.accepted = 1)""",
    "a researched relation without evidence": """SELECT id FROM edge WHERE kind = 'relation' AND active = 1
        AND json_extract(meta, '$.validation_state') <> 'relation_internal_v1'
        AND json_array_length(meta, '$.evidence') = 0""",
    "evidence of a pair that has no relation": """SELECT v.id FROM evidence v WHERE v.owner LIKE 'pair:%'
        AND NOT EXISTS (SELECT 1 FROM edge e WHERE e.kind = 'relation' AND e.active = 1
            AND v.owner = 'pair:' || min(e.source_id, e.target_id) || ':' || max(e.source_id, e.target_id))""",
    "an external node that supports nothing": """SELECT n.id FROM node n WHERE n.kind = 'evidence' AND n.active = 1
        AND 2 > (SELECT count(*) FROM edge e WHERE e.kind = 'research_evidence' AND e.active = 1
            AND n.id IN (e.source_id, e.target_id))""",
    "two relations of one pair": """SELECT min(source_id, target_id) a, max(source_id, target_id) b FROM edge
        WHERE kind = 'relation' AND active = 1 GROUP BY a, b HAVING count(*) > 1""",
    "two articles on one topic": """SELECT topic_key FROM article WHERE active = 1
        AND state IN ('staged', 'approved', 'published') GROUP BY topic_key HAVING count(*) > 1""",
    "an article without its revision": """SELECT a.id FROM article a WHERE NOT EXISTS
        (SELECT 1 FROM article_revision r WHERE r.article_id = a.id AND r.number = a.current_revision)""",
    "a revision without its evidence": """SELECT r.id FROM article_revision r WHERE json_array_length(evidence_ids) = 0
        OR EXISTS (SELECT 1 FROM json_each(r.evidence_ids) i WHERE NOT EXISTS
            (SELECT 1 FROM evidence v WHERE v.id = i.value AND v.accepted = 1))""",
    "an article without its reviews": """SELECT a.id FROM article a WHERE NOT EXISTS
        (SELECT 1 FROM article_review r WHERE r.article_id = a.id AND r.revision = a.current_revision)""",
    "a task that ended without a word": """SELECT id, state FROM research_task WHERE state = 'completed'
        AND article_id IS NULL AND coalesce(result_reason, '') = ''""",
    "a task at work that nobody holds": """SELECT id FROM research_task WHERE state IN ('reserved', 'running')
        AND (lease_owner IS NULL OR lease_until IS NULL)""",
    "a thing told twice": """SELECT name, payload FROM event WHERE name IN ('think.relation.accepted',
        'autonomous.research.task.completed', 'article.staged') GROUP BY name, payload HAVING count(*) > 1""",
    "a task completed twice": """SELECT json_extract(payload, '$.task') t FROM event
        WHERE name = 'autonomous.research.task.completed' AND t IS NOT NULL GROUP BY t HAVING count(*) > 1""",
}


def check(home: Path) -> None:
    """Open the store as any start does, then hold everything against the rules above and the files."""

    async def look() -> tuple[Sequence[str], Sequence[str]]:
        async with await Store.open(home) as store:
            faults = await store.read_bulk(database_faults)
            digests = await store.read(evidence_paths)
        return faults, [
            f"{fault.kind}: {fault.path}"
            for fault in EvidenceFiles(home).check(digests)
            if fault.kind in {"missing", "altered"}
        ]

    faults, broken = asyncio.run(look())
    assert faults == []
    assert broken == []
    found = {what: rows for what, sql in NEVER.items() if (rows := query(home, sql))}
    assert found == {}


def tasks(home: Path) -> dict[str, str]:
    """Return the state of every task by id."""
    return dict(query(home, "SELECT id, state FROM research_task"))
