"""Where one weak edge alone holds a community together: there it is two (spec 05, weak bridges). Pure.

In a large graph modularity joins two strong communities over the thinnest edge: what it loses by that shrinks with the
weight of the whole graph (Fortunato and Barthélemy 2007), so a gap seen among a thousand nodes would vanish among
a hundred thousand. A weak edge whose loss takes a community apart is therefore a border, whatever the rest weighs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["split_at_weak_edges"]


def split_at_weak_edges(
    member: NDArray[np.int64], pairs: NDArray[np.int64], weak: NDArray[np.bool_], least: int
) -> NDArray[np.int64]:
    """Return `member` with communities cut where a single weak edge joins two parts of at least `least` nodes.

    `member` [n] is the community of each node, −1 for none; `pairs` [e, 2] are all edges, `weak` [e] says which are.
    """
    import numpy as np
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    count = len(member)

    def parts(edges: NDArray[Any]) -> NDArray[Any]:
        ones = np.ones(len(edges), dtype=np.int8)
        graph = coo_array((ones, (edges[:, 0], edges[:, 1])), shape=(count, count))
        return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)

    inside = (member[pairs[:, 0]] == member[pairs[:, 1]]) & (member[pairs[:, 0]] >= 0)
    pairs, weak = pairs[inside], weak[inside]
    if not weak.any():
        return member
    block = parts(pairs[~weak])
    size = np.bincount(block)
    a, b = block[pairs[:, 0]], block[pairs[:, 1]]
    key = np.minimum(a, b) * len(size) + np.maximum(a, b)
    joint, times = np.unique(key[weak & (a != b)], return_counts=True)
    ends = np.stack([joint // len(size), joint % len(size)], axis=1)
    borders = np.array(_borders(ends.tolist(), size, least), dtype=np.int64).reshape(-1, 2)
    cut = np.intersect1d(joint[times == 1], borders[:, 0] * len(size) + borders[:, 1])
    if not len(cut):
        return member
    part = parts(pairs[~np.isin(key, cut)])
    # Parts of one community are told apart; nodes that had none keep none.
    _, label = np.unique(member * count + part, return_inverse=True)
    return np.where(member < 0, -1, label)


def _borders(joints: list[list[int]], size: NDArray[Any], least: int) -> list[tuple[int, int]]:
    """Return the joints whose loss leaves `least` nodes on both sides: bridges of the blocks, by depth-first search.

    After Tarjan (1974): a joint to a block from which no other way leads back above it is a bridge.
    """
    near: dict[int, list[int]] = {}
    for a, b in joints:
        near.setdefault(a, []).append(b)
        near.setdefault(b, []).append(a)
    seen: dict[int, int] = {}
    found: list[tuple[int, int]] = []
    for root in sorted(near):
        if root in seen:
            continue
        below: dict[int, int] = {}  # nodes in the blocks at and below one
        lowest: dict[int, int] = {}
        bridges: list[tuple[int, int]] = []
        stack = [(root, -1, iter(near[root]))]
        seen[root] = lowest[root] = len(seen)
        below[root] = int(size[root])
        while stack:
            block, parent, others = stack[-1]
            other = next(others, None)
            if other is None:
                stack.pop()
                if parent >= 0:
                    lowest[parent] = min(lowest[parent], lowest[block])
                    below[parent] += below[block]
                    if lowest[block] > seen[parent]:
                        bridges.append((parent, block))
            elif other not in seen:
                seen[other] = lowest[other] = len(seen)
                below[other] = int(size[other])
                stack.append((other, block, iter(near[other])))
            elif other != parent:
                lowest[block] = min(lowest[block], seen[other])
        whole = below[root]
        found += [(min(a, b), max(a, b)) for a, b in bridges if least <= below[b] <= whole - least]
    return found
