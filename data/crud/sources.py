"""Nodes whose source is gone: deactivated with their sections, never deleted (spec 02, "Deleting is soft")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from sqlalchemy import select

from data.crud.engine import Ask, Plan, Refusal, RowChange
from data.models import EdgeKind, NodeKind
from data.nodes import nodes_by_ids, nodes_by_uris
from data.schema import edge, node
from data.tx import Tx

__all__ = ["RetireSources"]


@dataclass(frozen=True, slots=True)
class RetireSources:
    """Take what came from `uris` out of the graph. `result` is how many sources left.

    Relations and evidence keep their rows, as with every node that leaves: the graph is read over active nodes, and
    what comes back has them again. Sections of a document go with it, as sections that vanish from one do.
    """

    uris: Sequence[str]
    reason: str = ""
    action: ClassVar[str] = "delete"

    def plan(self, tx: Tx) -> Plan | Refusal | Ask:
        held = {found.id: found for found in nodes_by_uris(tx.conn, self.uris).values() if found.active}
        if not held:
            return Refusal("not_found", "none of these sources has an active node; nothing was deleted")
        statement = select(edge.c.id, edge.c.source_id).where(
            edge.c.kind == EdgeKind.PART_OF.value, edge.c.active.is_(True), edge.c.target_id.in_(sorted(held))
        )
        parts = dict(tx.conn.execute(statement).tuples().all())
        sections = nodes_by_ids(tx.conn, parts.values())
        leaving = {
            **held,
            **{one.id: one for one in sections.values() if one.active and one.kind is NodeKind.SECTION},
        }
        changes = [
            RowChange(node, {"id": one.id}, {"active": False, "updated_at": tx.now, "version": one.version + 1})
            for one in leaving.values()
        ]
        changes += [
            RowChange(edge, {"id": edge_id}, {"active": False, "updated_at": tx.now}) for edge_id in sorted(parts)
        ]
        first = next(iter(held.values()))
        return Plan(
            self.action,
            f"node:{first.id}",
            tuple(changes),
            message=f"{len(held)} sources left{f' ({self.reason})' if self.reason else ''}, first {first.label!r}",
            result=len(held),
        )
