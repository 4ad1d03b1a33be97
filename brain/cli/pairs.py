"""`brain pairs …`: thinking pairs and why each was decided as it was."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from brain.cli.shell import Context
from brain.errors import UsageError
from brain.homes import open_store
from data.models import Node, PairDecision
from data.nodes import get_node, node_by_uri, nodes_by_ids
from data.pairs import get_decision, list_decisions
from data.store import Store
from research.pair_reasons import Reason

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["find_node", "pairs_list", "pairs_show"]


async def find_node(store: Store, name: str) -> Node:
    """Return the node with this id or source URI; raise UsageError for none."""
    node = await store.read(get_node, name) or await store.read(node_by_uri, name)
    if node is None:
        raise UsageError(f"There is no node {name!r}; `brain search WORDS` finds ids.")
    return node


async def pairs_list(context: Context, *, reason: str, limit: int) -> None:
    """Print decided pairs, latest first."""
    if reason and reason not in set(Reason):
        raise UsageError(f"--reason {reason!r} is none of {', '.join(Reason)}.")
    async with open_store(context.settings, must_exist=True) as store:
        decisions = await store.read(list_decisions, reason=reason or None, limit=limit)
        ends = {end for decision in decisions for end in (decision.source_id, decision.target_id)}
        nodes = await store.read(nodes_by_ids, ends)
    document = [_summary(decision, nodes) for decision in decisions]

    def show(console: Console) -> None:
        for row in document:
            console.print(f"{row['state']:<9} {row['reason']:<24} {row['source']['label']}", markup=False)
            console.print(f"{'':34} {row['target']['label']}", markup=False)
            console.print(f"{'':34} brain pairs show {row['source']['id']} {row['target']['id']}", markup=False)
        if not document:
            console.print(f"No pair was decided{' so' if reason else ''} yet; `brain think` thinks about open ones.")

    context.emit(document, show)


async def pairs_show(context: Context, *, source: str, target: str) -> None:
    """Print everything that led to one decision."""
    async with open_store(context.settings, must_exist=True) as store:
        first, second = await find_node(store, source), await find_node(store, target)
        if first.id == second.id:
            raise UsageError("A pair needs two different nodes.")
        decision = await store.read(get_decision, first.id, second.id)
        if decision is None:
            raise UsageError(f"Nobody thought about this pair yet; `brain think --pair {first.id} {second.id}` does.")
        nodes = await store.read(nodes_by_ids, [first.id, second.id])
    document = {**_summary(decision, nodes), **asdict(decision)}

    def show(console: Console) -> None:
        for name in ("source_id", "target_id"):
            console.print(f"{name.removesuffix('_id'):<8} {nodes[getattr(decision, name)].label}", markup=False)
        console.print(
            f"decided  {decision.state}: {decision.reason}  ({decision.decided_at:%Y-%m-%d %H:%M} UTC)", markup=False
        )
        if decision.retry_not_before:
            console.print(f"again    not before {decision.retry_not_before:%Y-%m-%d %H:%M} UTC", markup=False)
        console.print(f"asked    {decision.query or '(nothing was sent)'}", markup=False)
        if decision.rebuilt_query:
            console.print(f"rebuilt  {decision.rebuilt_query}", markup=False)
        _show_detail(console, decision.detail)

    context.emit(document, show)


def _summary(decision: PairDecision, nodes: dict[str, Node]) -> dict[str, Any]:
    return {
        "state": decision.state,
        "reason": decision.reason,
        "decided_at": decision.decided_at,
        "source": {"id": decision.source_id, "label": nodes[decision.source_id].label},
        "target": {"id": decision.target_id, "label": nodes[decision.target_id].label},
    }


def _show_detail(console: Console, detail: Any) -> None:
    for name, value in detail.items():
        if isinstance(value, list):
            console.print(f"{name}:", markup=False)
            for item in value:
                console.print(f"  - {_line(item)}", markup=False)
        elif value not in (None, "", {}):
            console.print(f"{name}: {_line(value)}", markup=False)


def _line(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{name} {_line(item)}" for name, item in value.items() if item not in (None, "", [], {}))
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)
