"""Bottlenecks: what all that flows through a container goes through, and the stretches between them.

Where names say nothing of what belongs together ("conv2d_17", "activation_12"), the wiring does: the branches of an
Inception block all begin at one box and end at one, the concatenation; so do those of a residual block. Such a stretch,
with the box at its end, is a block: "… mixed3". The activation that follows the sum of a residual block belongs to it.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from itertools import pairwise

import numpy as np

from tfgraphwidget.view.alike import Siblings
from tfgraphwidget.view.cycles import Lines
from tfgraphwidget.view.facts import Mask

_ROUNDS = 3


def stretches(boxes: list[int], lines: Lines, activation: Mask, least: int, most: int) -> list[list[int]]:
    """Stretches of so few boxes of one container, each with the bottleneck at its end, last; none if there is a cycle.

    `lines` are (source, target) of what flows between siblings, `activation` is per thing.
    """
    order = _ordered(boxes, lines)
    if len(order) < len(boxes):
        return []
    place = np.full(len(activation), -1)
    place[order] = np.arange(len(order))
    source, target = place[lines[0]], place[lines[1]]
    inner = (source >= 0) & (target >= 0)
    reach = np.arange(len(order))
    np.maximum.at(reach, source[inner], target[inner])
    before = np.maximum.accumulate(reach)  # the furthest that anything up to here goes
    narrow = np.r_[True, before[:-1] <= np.arange(1, len(order))]
    ends = np.flatnonzero(narrow).tolist()
    parts = [order[a + 1 : b + 1 + _more(order, b, narrow, activation)] for a, b in pairwise(ends) if b - a >= least]
    return [part for part in parts if len(part) <= most]


def _more(order: list[int], at: int, narrow: Mask, activation: Mask) -> bool:
    """Whether an activation, and nothing beside it, comes right behind."""
    return at + 1 < len(order) and bool(narrow[at + 1]) and bool(activation[order[at + 1]])


def _ordered(boxes: list[int], lines: Lines) -> list[int]:
    """The boxes so that each comes after what it reads, and otherwise as they are; less what is in a cycle."""
    waits = dict.fromkeys(boxes, 0)
    after: dict[int, list[int]] = {}
    for a, b in zip(*(ends.tolist() for ends in lines), strict=True):
        if a in waits and b in waits:
            waits[b] += 1
            after.setdefault(a, []).append(b)
    rank = {box: at for at, box in enumerate(boxes)}
    ready = [rank[box] for box in boxes if not waits[box]]
    heapify(ready)
    order = []
    while ready:
        order.append(boxes[heappop(ready)])
        for box in after.get(order[-1], ()):
            waits[box] -= 1
            if not waits[box]:
                heappush(ready, rank[box])
    return order


def with_feeders(parts: list[list[int]], edges: Siblings, may: Mask) -> list[list[int]]:
    """The same with what feeds one of them only: constants, and reads of variables; `may` says which things."""
    owner = np.full(len(edges.around), -1, dtype=np.int64)
    for number, part in enumerate(parts):
        owner[part] = number
    for _ in range(_ROUNDS):
        low, high = np.full(len(owner), len(parts)), np.full(len(owner), -1)
        np.minimum.at(low, edges.source, owner[edges.target])
        np.maximum.at(high, edges.source, owner[edges.target])
        joins = may & (owner < 0) & (low == high) & (high >= 0)
        owner[joins] = high[joins]
    things = np.argsort(owner, kind="stable")
    things = things[owner[things] >= 0]
    return [part.tolist() for part in np.split(things, np.flatnonzero(np.diff(owner[things])) + 1)] if parts else []
