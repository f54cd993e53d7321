"""The same columns and order again when only sizes have changed, so that the eye finds everything where it was.

Where a box has grown, x is stretched: what stands right of the box moves by as much as it grew, what stands left
stays, and what is above or below moves along. No two things change their order, and nothing moves further than the
box has grown. Where all boxes at some x have shrunk, x shrinks in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from tfgraphwidget.view.flow import Flow, Plan
from tfgraphwidget.view.placed import Point
from tfgraphwidget.view.route import Column, finished, gap, width

Floats = npt.NDArray[np.float64]
Size = tuple[float, float]
Span = tuple[float, float, float]


def stretched(before: Plan, columns: list[Column], flow: Flow) -> tuple[Plan, list[Column]]:
    """The plan with other sizes, and its columns placed anew, near to where they were."""
    plan = replace(before, flow=flow)
    made = []
    for number, old in enumerate(columns):
        move = _Stretch(_spans(before, plan, number, old))
        vertices = list(old.x)
        x = np.array([old.x[v] for v in vertices])
        half = np.array([width(before, v) / 2 for v in vertices])
        centres = (move(x - half) + move(x + half)) / 2
        made.append(finished(plan, number, dict(zip(vertices, centres.tolist(), strict=True))))
    return plan, made


def apart(before: Sequence[Size], boxes: Sequence[Size], places: Sequence[Point]) -> list[Point]:
    """Corners of boxes that had other sizes `before` at these places: x and y are stretched where boxes have grown."""
    low, old, new = (np.array(some).reshape(-1, 2) for some in (places, before, boxes))
    moved = [
        _Stretch(list(zip(low[:, k], low[:, k] + old[:, k], new[:, k] - old[:, k], strict=True)))(low[:, k])
        for k in (0, 1)
    ]
    return list(zip(moved[0].tolist(), moved[1].tolist(), strict=True))


def _spans(before: Plan, plan: Plan, number: int, column: Column) -> list[Span]:
    """Pieces of x (from, to) that must grow by so much at least, or may shrink by so much (negative)."""
    spans = []
    for row in plan.layers[number]:
        for vertex in row:
            half = width(before, vertex) / 2
            spans.append((column.x[vertex] - half, column.x[vertex] + half, width(plan, vertex) - 2 * half))
        for a, b in pairwise(row):
            low, high = column.x[a] + width(before, a) / 2, column.x[b] - width(before, b) / 2
            slack = column.x[b] - column.x[a] - gap(before, a, b)
            spans.append((low, high, -max(0.0, slack)))
    return [span for span in spans if span[1] - span[0] > 1e-9]


class _Stretch:
    """A map of x that grows by what the spans ask for."""

    def __init__(self, spans: list[Span]) -> None:
        low, high, more = np.array(spans).reshape(-1, 3).T
        self.at = np.unique(np.concatenate([low, high]))
        rate = np.full(max(0, len(self.at) - 1), -np.inf)
        start, stop = np.searchsorted(self.at, low), np.searchsorted(self.at, high)
        # The largest last: it overwrites the others.
        steep = more / (high - low)
        for i in np.argsort(steep, kind="stable").tolist():
            rate[start[i] : stop[i]] = steep[i]
        rate[np.isinf(rate)] = 0.0
        self.moved = np.concatenate([[0.0], np.cumsum(rate * np.diff(self.at))]) if len(self.at) else self.at

    def __call__(self, x: Floats) -> Floats:
        return x + np.interp(x, self.at, self.moved) if len(self.at) else x
