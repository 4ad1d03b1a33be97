"""`brain pairs …`: thinking pairs and why each was decided as it was."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from brain.cli.pair_view import history, pair_lines
from brain.cli.shell import Context
from brain.errors import UsageError
from brain.homes import open_store
from data.edges import get_edge, relations_between
from data.models import Node, PairDecision
from data.nodes import get_node, node_by_uri, nodes_by_ids
from data.pairs import decisions_of, get_decision, list_decisions
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


async def pairs_show(context: Context, *, source: str, target: str | None) -> None:
    """Print everything that led to one decision, and the relations that join or joined the two nodes."""
    async with open_store(context.settings, must_exist=True) as store:
        first, second = await _pair(store, source, target)
        decision = await store.read(get_decision, first, second)
        if decision is None:
            raise UsageError(f"Nobody thought about this pair yet; `brain think --pair {first} {second}` does.")
        nodes = await store.read(nodes_by_ids, [first, second])
        relations = await store.read(relations_between, first, second, active=None)
    document = {**_summary(decision, nodes), **asdict(decision), "relations": history(relations)}

    def show(console: Console) -> None:
        for line in pair_lines(decision, nodes, relations):
            console.print(line, markup=False, highlight=False, soft_wrap=True)

    context.emit(document, show)


async def _pair(store: Store, source: str, target: str | None) -> tuple[str, str]:
    """Return the ids of the pair that was named: by two nodes, by a relation, or by a node of one pair alone."""
    if target is None:
        edge = await store.read(get_edge, source)
        if edge is not None:
            return edge.source_id, edge.target_id
        first, colon, second = source.removeprefix("pair:").partition(":n_")
        if colon:
            source, target = first, f"n_{second}"
    node = await find_node(store, source)
    if target is None:
        of_node = await store.read(decisions_of, node.id, limit=20)
        if len(of_node) == 1:
            return of_node[0].source_id, of_node[0].target_id
        commands = "".join(f"\n  brain pairs show {pair.source_id} {pair.target_id}" for pair in of_node)
        raise UsageError(f"{node.label!r} is in {len(of_node) or 'no'} decided pairs; name both nodes.{commands}")
    other = await find_node(store, target)
    if node.id == other.id:
        raise UsageError("A pair needs two different nodes.")
    return node.id, other.id


def _summary(decision: PairDecision, nodes: dict[str, Node]) -> dict[str, Any]:
    return {
        "state": decision.state,
        "reason": decision.reason,
        "decided_at": decision.decided_at,
        "source": {"id": decision.source_id, "label": nodes[decision.source_id].label},
        "target": {"id": decision.target_id, "label": nodes[decision.target_id].label},
    }
