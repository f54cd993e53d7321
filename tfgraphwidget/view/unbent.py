"""Lanes moved back below the boxes that they come from, after these have grown: no line goes aside and back again."""

from __future__ import annotations

from math import inf

from tfgraphwidget.view.flow import Plan
from tfgraphwidget.view.route import gap, port, width

_SAME, _EDGE, _BACK = 0.5, 10.0, 8.0
Ends = tuple[dict[int, list[tuple[int, float]]], dict[int, list[int]]]


def unbend(plan: Plan, number: int, x: dict[int, float]) -> None:
    """Move lanes of a column that bend at each of their ends to where one of them is straight, if there is room."""
    ends = _ends(plan, number)
    place = {vertex: (row, i) for row in plan.layers[number] for i, vertex in enumerate(row)}
    for chain in _chains(x, ends):
        wishes = _wishes(plan, x, ends, chain)
        if not wishes or any(abs(wish - x[chain[0]]) < _SAME for wish in wishes):
            continue
        low, high = -inf, inf
        for vertex in chain:
            row, i = place[vertex]
            if i:
                low = max(low, x[row[i - 1]] + gap(plan, row[i - 1], vertex))
            if i + 1 < len(row):
                high = min(high, x[row[i + 1]] - gap(plan, vertex, row[i + 1]))
        at = max(low, min(high, wishes[0]))
        for vertex in chain:
            x[vertex] = at


def _ends(plan: Plan, number: int) -> Ends:
    """By lane: what is above it, and how far aside a way back leaves that; and what is below it."""
    nodes = len(plan.flow.sizes)
    above: dict[int, list[tuple[int, float]]] = {}
    below: dict[int, list[int]] = {}
    for a, b, net in plan.links[number]:
        if b >= nodes:
            above.setdefault(b, []).append((a, _BACK if net[0] == "back" and a < nodes else 0.0))
            below.setdefault(b, [])
        if a >= nodes:
            below.setdefault(a, []).append(b)
            above.setdefault(a, [])
    return above, below


def _chains(x: dict[int, float], ends: Ends) -> list[list[int]]:
    """Lanes right below each other."""
    above, below = ends

    def goes_on(a: int, b: int) -> bool:
        return b in above and abs(x[a] - x[b]) < _SAME

    chains = []
    for lane in below:
        if any(a in below and goes_on(a, lane) for a, _ in above[lane]):
            continue
        chain = [lane]
        while following := [b for b in below[chain[-1]] if goes_on(chain[-1], b)]:
            chain.append(following[0])
        chains.append(chain)
    return chains


def _wishes(plan: Plan, x: dict[int, float], ends: Ends, chain: list[int]) -> list[float]:
    """Where the chain would be straight at one of its ends, those above it first."""
    (above, below), at = ends, x[chain[0]]
    wishes = [_wish(plan, x, a, at, leaves=True) + aside for a, aside in above[chain[0]]]
    for vertex, onward in zip(chain, [*chain[1:], -1], strict=True):
        wishes += [_wish(plan, x, b, at, leaves=False) for b in below[vertex] if b != onward]
    return wishes


def _wish(plan: Plan, x: dict[int, float], end: int, at: float, *, leaves: bool) -> float:
    """Where a line at `at` leaves or enters a vertex."""
    if end >= len(plan.flow.sizes):
        return x[end]
    half = width(plan, end) / 2 - _EDGE
    if plan.flow.ports[end] is not None:
        return x[end] + min(port(plan, end)[leaves], half)
    return min(max(at, x[end] - half), x[end] + half)
