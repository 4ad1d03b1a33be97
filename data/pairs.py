"""Thinking pairs as the store sees them: their last decision, and the pairs still to be decided (spec 04).

A pair is unordered; its decision is kept under the lower id first. Decisions are technical rows (spec 02):
plain writes, renewed by every run, deleted with their nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    and_,
    case,
    exists,
    func,
    insert,
    literal,
    or_,
    select,
    update,
)

from data.dialect import json_number, json_text
from data.models import EdgeKind, NodeKind, PairDecision, PairState
from data.schema import edge, evidence, node, pair_decision
from data.tx import Tx

__all__ = [
    "ASKED",
    "INTERNAL_RELATION",
    "REEXAMINE",
    "RESTORED",
    "CandidatePair",
    "NodeText",
    "active_texts",
    "ask_for",
    "asked_pairs",
    "count_by_reason",
    "count_by_state",
    "count_open",
    "decisions_of",
    "due_among",
    "due_relations",
    "get_decision",
    "list_decisions",
    "pair_key",
    "put_decision",
    "strong_pairs",
]

ASKED = "asked"
"""Reason of a decision row that a person's wish created; it is due at once."""
REEXAMINE = "reexamine"
"""Why a pair is looked at whose relation has aged or has a node that changed."""
RESTORED = "restored"
"""Reason of the decision after a person brought a withdrawn relation back."""
INTERNAL_RELATION = "relation_internal_v1"
"""`meta.validation_state` of a relation that rests on the two nodes' own text: the only one without evidence."""


@dataclass(frozen=True, slots=True)
class CandidatePair:
    """Two active nodes that might be related, and why they are looked at; `source_id < target_id`."""

    source_id: str
    target_id: str
    why: str
    """`asked`, `reexamine` (a relation joins them), `vector` or `identifier`."""
    affinity: float
    """Of the vector edge; 0.0 where there is none."""


@dataclass(frozen=True, slots=True)
class NodeText:
    """What looking for shared identifiers needs of a node."""

    id: str
    kind: NodeKind
    label: str
    body: str
    content_hash: str


def pair_key(first: str, second: str) -> tuple[str, str]:
    """Return the two ids in stored order; raise ValueError for a pair of one node with itself."""
    if first == second:
        raise ValueError(f"a pair needs two nodes, got {first} twice")
    return (first, second) if first < second else (second, first)


def get_decision(conn: Connection, first: str, second: str) -> PairDecision | None:
    """Return the last decision about a pair, in either order of its ids."""
    source_id, target_id = pair_key(first, second)
    row = conn.execute(
        select(pair_decision).where(pair_decision.c.source_id == source_id, pair_decision.c.target_id == target_id)
    ).one_or_none()
    return None if row is None else _decision(row._mapping)


def put_decision(tx: Tx, decision: PairDecision) -> None:
    """Write `decision` in place of the pair's last one."""
    key = pair_key(decision.source_id, decision.target_id)
    if key != (decision.source_id, decision.target_id):
        raise ValueError(f"a decision is stored with the lower id first, got {decision.source_id} first")
    values = {
        "source_hash": decision.source_hash,
        "target_hash": decision.target_hash,
        "state": decision.state.value,
        "reason": decision.reason,
        "query": decision.query,
        "rebuilt_query": decision.rebuilt_query,
        "attempts": decision.attempts,
        "retry_not_before": decision.retry_not_before,
        "decided_at": decision.decided_at,
        "detail": dict(decision.detail),
    }
    known = and_(pair_decision.c.source_id == key[0], pair_decision.c.target_id == key[1])
    if tx.conn.execute(update(pair_decision).where(known).values(**values)).rowcount == 0:
        tx.conn.execute(insert(pair_decision).values(source_id=key[0], target_id=key[1], **values))


def ask_for(tx: Tx, first: str, second: str) -> PairDecision:
    """Put a pair at the front of the next thinking pass because a person wants it, and return its row.

    What led to the last decision stays readable until there is a new one.
    """
    source_id, target_id = pair_key(first, second)
    last = get_decision(tx.conn, source_id, target_id)
    asked = PairDecision(
        source_id=source_id,
        target_id=target_id,
        source_hash="",
        target_hash="",
        state=PairState.RETRY,
        reason=ASKED,
        query="",
        rebuilt_query=None,
        attempts=0,
        retry_not_before=tx.now,
        decided_at=tx.now,
        detail={} if last is None else last.detail,
    )
    put_decision(tx, asked)
    return asked


def list_decisions(
    conn: Connection,
    *,
    state: PairState | None = None,
    reason: str | None = None,
    limit: int = 100,
    after: tuple[str, str] | None = None,
) -> list[PairDecision]:
    """Return up to `limit` decisions in order of their ids, beginning behind the pair `after`."""
    statement = select(pair_decision).order_by(pair_decision.c.source_id, pair_decision.c.target_id).limit(limit)
    if state is not None:
        statement = statement.where(pair_decision.c.state == state.value)
    if reason is not None:
        statement = statement.where(pair_decision.c.reason == reason)
    if after is not None:
        later = and_(pair_decision.c.source_id == after[0], pair_decision.c.target_id > after[1])
        statement = statement.where(or_(pair_decision.c.source_id > after[0], later))
    return [_decision(row._mapping) for row in conn.execute(statement)]


def decisions_of(conn: Connection, node_id: str, *, limit: int = 100) -> list[PairDecision]:
    """Return the decisions about pairs that the node is part of, latest first."""
    own = or_(pair_decision.c.source_id == node_id, pair_decision.c.target_id == node_id)
    statement = select(pair_decision).where(own).order_by(pair_decision.c.decided_at.desc()).limit(limit)
    return [_decision(row._mapping) for row in conn.execute(statement)]


def count_by_reason(conn: Connection) -> dict[str, int]:
    """Return the number of decided pairs by reason (`accepted` for those that became a relation)."""
    rows = conn.execute(
        select(pair_decision.c.reason, func.count())
        .where(pair_decision.c.reason != ASKED)
        .group_by(pair_decision.c.reason)
    )
    return dict(rows.tuples().all())


def count_by_state(conn: Connection) -> dict[str, int]:
    """Return the number of decision rows by state."""
    rows = conn.execute(select(pair_decision.c.state, func.count()).group_by(pair_decision.c.state))
    return dict(rows.tuples().all())


def asked_pairs(conn: Connection, now: datetime, limit: int) -> list[CandidatePair]:
    """Return the pairs a person asked for that are not thought about yet, oldest wish first."""
    a, b = node.alias("a"), node.alias("b")
    rows = conn.execute(
        select(pair_decision.c.source_id, pair_decision.c.target_id)
        .join(a, a.c.id == pair_decision.c.source_id)
        .join(b, b.c.id == pair_decision.c.target_id)
        .where(pair_decision.c.reason == ASKED, pair_decision.c.retry_not_before <= now, a.c.active, b.c.active)
        .order_by(pair_decision.c.decided_at, pair_decision.c.source_id, pair_decision.c.target_id)
        .limit(limit)
    )
    return [CandidatePair(source_id, target_id, ASKED, 0.0) for source_id, target_id in rows]


def strong_pairs(conn: Connection, now: datetime, limit: int, min_affinity: float) -> list[CandidatePair]:
    """Return open pairs with a vector edge of at least `min_affinity`, strongest first.

    Open: both nodes active and no outside evidence, neither joined by a relation nor by containment, not
    marked as duplicates, and not decided with the present content unless the retry time has come.
    """
    strength = _affinity()
    statement = _open_edges(now).where(strength >= min_affinity)
    rows = conn.execute(
        statement.with_only_columns(edge.c.source_id, edge.c.target_id, strength)
        .order_by(strength.desc(), edge.c.source_id, edge.c.target_id)
        .limit(limit)
    )
    return [CandidatePair(source_id, target_id, "vector", float(value)) for source_id, target_id, value in rows]


def due_relations(conn: Connection, now: datetime, evidence_before: datetime, limit: int) -> list[CandidatePair]:
    """Return pairs whose relation must be examined again, decided longest ago first (spec 04, "Materialising").

    Due is a relation of which a node changed since it was decided, or whose evidence was all fetched at
    `evidence_before` or earlier (one that rests on the nodes' own text has none, and one that a person
    restored since then counts as looked at). A pair that waits for its retry time is not due.
    """
    a, b = node.alias("a"), node.alias("b")
    decided = pair_decision
    first = edge.c.source_id < edge.c.target_id
    low = case((first, edge.c.source_id), else_=edge.c.target_id)
    high = case((first, edge.c.target_id), else_=edge.c.source_id)
    of_pair = and_(evidence.c.owner == literal("pair:") + low + ":" + high, evidence.c.accepted)
    aged = and_(
        exists().where(of_pair),
        ~exists().where(of_pair, evidence.c.fetched_at > evidence_before),
        json_text(edge.c.meta, "validation_state") != INTERNAL_RELATION,
        ~and_(func.coalesce(decided.c.reason, "") == RESTORED, decided.c.decided_at > evidence_before),
    )
    changed = or_(decided.c.source_hash != a.c.content_hash, decided.c.target_hash != b.c.content_hash)
    statement = (
        select(low, high)
        .join(a, a.c.id == low)
        .join(b, b.c.id == high)
        .outerjoin(decided, and_(decided.c.source_id == low, decided.c.target_id == high))
        .where(
            edge.c.kind == EdgeKind.RELATION.value,
            edge.c.active,
            a.c.active,
            b.c.active,
            or_(func.coalesce(changed, False), func.coalesce(aged, False)),
            or_(decided.c.retry_not_before.is_(None), decided.c.retry_not_before <= now),
        )
        .order_by(decided.c.decided_at, low, high)
        .limit(limit)
    )
    return [CandidatePair(lower, upper, REEXAMINE, 0.0) for lower, upper in conn.execute(statement)]


def count_open(conn: Connection, now: datetime, min_affinity: float) -> int:
    """Return how many pairs `strong_pairs` could give without a limit."""
    statement = _open_edges(now).where(_affinity() >= min_affinity)
    return conn.execute(statement.with_only_columns(func.count())).scalar_one()


def active_texts(conn: Connection) -> list[NodeText]:
    """Return every active node that is no outside evidence, in order of id."""
    rows = conn.execute(
        select(node.c.id, node.c.kind, node.c.label, node.c.body, node.c.content_hash)
        .where(node.c.active, node.c.kind != NodeKind.EVIDENCE.value)
        .order_by(node.c.id)
    )
    return [NodeText(row.id, NodeKind(row.kind), row.label, row.body, row.content_hash) for row in rows]


def due_among(
    conn: Connection, pairs: Sequence[tuple[str, str]], now: datetime, hashes: Mapping[str, str]
) -> list[tuple[str, str]]:
    """Return those of `pairs` (in stored order) that may be thought about now, in the given order.

    Left out: pairs that have a vector edge (they come by their affinity), a relation or a containment,
    and pairs decided with the content that `hashes` (id → content hash) names before their retry time.
    """
    if not pairs:
        return []
    wanted = set(pairs)
    ids = sorted({member for pair in wanted for member in pair})
    joined: set[tuple[str, str]] = set()
    for chunk in _chunks(ids):
        rows = conn.execute(
            select(edge.c.source_id, edge.c.target_id).where(
                edge.c.active,
                edge.c.kind.in_([EdgeKind.VECTOR.value, EdgeKind.RELATION.value, EdgeKind.PART_OF.value]),
                edge.c.source_id.in_(chunk),
            )
        )
        joined.update(pair_key(source_id, target_id) for source_id, target_id in rows)
        settled = conn.execute(select(pair_decision).where(pair_decision.c.source_id.in_(chunk)))
        joined.update(
            (row.source_id, row.target_id)
            for row in settled
            if (row.source_hash, row.target_hash) == (hashes.get(row.source_id), hashes.get(row.target_id))
            and (row.retry_not_before is None or row.retry_not_before > now)
        )
    return [pair for pair in pairs if pair not in joined]


def _open_edges(now: datetime) -> Select[Any]:
    a, b = node.alias("a"), node.alias("b")
    other = edge.alias("other")
    lower, upper = edge.c.source_id, edge.c.target_id
    decided = pair_decision
    settled = exists().where(
        decided.c.source_id == lower,
        decided.c.target_id == upper,
        decided.c.source_hash == a.c.content_hash,
        decided.c.target_hash == b.c.content_hash,
        or_(decided.c.retry_not_before.is_(None), decided.c.retry_not_before > now),
    )
    joined = exists().where(
        other.c.active,
        other.c.kind.in_([EdgeKind.RELATION.value, EdgeKind.PART_OF.value]),
        or_(
            and_(other.c.source_id == lower, other.c.target_id == upper),
            and_(other.c.source_id == upper, other.c.target_id == lower),
        ),
    )
    return (
        select(edge.c.id)
        .join(a, a.c.id == lower)
        .join(b, b.c.id == upper)
        .where(
            edge.c.kind == EdgeKind.VECTOR.value,
            edge.c.active,
            a.c.active,
            b.c.active,
            a.c.kind != NodeKind.EVIDENCE.value,
            b.c.kind != NodeKind.EVIDENCE.value,
            ~settled,
            ~joined,
        )
    )


def _affinity() -> ColumnElement[float]:
    """Return the expression of a vector edge's `meta.affinity`, 0.0 where it carries none."""
    return func.coalesce(json_number(edge.c.meta, "affinity"), 0.0)


def _chunks(ids: Sequence[str], size: int = 500) -> Iterable[Sequence[str]]:
    return (ids[start : start + size] for start in range(0, len(ids), size))


def _decision(row: Mapping[Any, Any]) -> PairDecision:
    values = {str(name): value for name, value in row.items()}
    values["state"] = PairState(values["state"])
    return PairDecision(**values)
