"""Where vertices that are new in a row stand among those that keep their places: near to what they are joined to."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from math import inf

from tfgraphwidget.view.flow import Plan
from tfgraphwidget.view.route import space, width

_NEAR = 8  # places to either side of the wished one that are looked at
_TIGHT = 3.0  # a pixel that others must move for it counts as so many that it stands away from where it would be


def slotted(plan: Plan, number: int, x: Mapping[int, float], wished: Mapping[int, float]) -> dict[int, float]:
    """The x of all vertices of a column, whose rows are put in order; those that have an x keep it.

    `wished` are places of some of the others; what is new in a row may overlap its neighbours still.
    """
    hint = _spread(plan, number, {**wished, **x})
    for row in plan.layers[number]:
        placed = sorted((v for v in row if v in x), key=lambda v: hint[v])
        for vertex in sorted((v for v in row if v not in x), key=lambda v: (hint[v], v)):
            at = bisect_left(placed, hint[vertex], key=lambda v: hint[v])
            near = range(max(0, at - _NEAR), min(len(placed), at + _NEAR) + 1)
            slots = [(*_slot(plan, placed, vertex, hint, i), i) for i in near]
            _, hint[vertex], chosen = min(slots, key=lambda slot: (slot[0], abs(slot[2] - at)))
            placed.insert(chosen, vertex)
        row[:] = placed
    return hint


def _slot(plan: Plan, placed: Sequence[int], vertex: int, hint: Mapping[int, float], i: int) -> tuple[float, float]:
    """How bad it is to put a vertex at this place of a row, and the x it would have."""
    half, high = width(plan, vertex) / 2, inf
    low = half  # left of the column's edge would be as bad as between two that must move
    if i:
        low = hint[placed[i - 1]] + width(plan, placed[i - 1]) / 2 + space(plan, placed[i - 1], vertex) + half
    if i < len(placed):
        high = hint[placed[i]] - width(plan, placed[i]) / 2 - space(plan, vertex, placed[i]) - half
    at = (low + high) / 2 if low > high else min(max(hint[vertex], low), high)
    return abs(at - hint[vertex]) + _TIGHT * max(0.0, low - high), at


def _spread(plan: Plan, number: int, x: Mapping[int, float]) -> dict[int, float]:
    """An x for all vertices of a column: from those that have one along the lines; the rest to the right."""
    near: dict[int, list[int]] = {}
    for a, b, _ in plan.links[number]:
        near.setdefault(a, []).append(b)
        near.setdefault(b, []).append(a)
    hint = dict(x)
    todo = list(x)
    for vertex in todo:
        for other in near.get(vertex, ()):
            if other not in hint:
                known = [hint[v] for v in near[other] if v in hint]
                hint[other] = sum(known) / len(known)
                todo.append(other)
    right = max(x.values(), default=0.0)
    return {v: hint.get(v, right) for row in plan.layers[number] for v in row}
