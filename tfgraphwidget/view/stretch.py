"""The same columns and order again when sizes or lines have changed, so that the eye finds everything where it was.

Where a box has grown, x is stretched: what stands right of the box moves by as much as it grew, what stands left
stays, and what is above or below moves along. No two things change their order, and nothing moves further than the
box has grown. Where all boxes at some x have shrunk, x shrinks in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from tfgraphwidget.view.align import settled
from tfgraphwidget.view.drawing import Pack
from tfgraphwidget.view.flow import Plan
from tfgraphwidget.view.packing import GAP, beside, extent
from tfgraphwidget.view.placed import Point
from tfgraphwidget.view.route import Column, finished, gap, space, width
from tfgraphwidget.view.slots import slotted
from tfgraphwidget.view.unbent import unbend

Floats = npt.NDArray[np.float64]
Size = tuple[float, float]
Span = tuple[float, float, float]


@dataclass(frozen=True)
class Was:
    """Which vertices of a plan were which before: those of the `same` row, and nodes that have `moved` to another."""

    same: dict[int, int]
    moved: dict[int, int]


def stretched(before: Plan, columns: list[Column], plan: Plan, was: Was | None = None) -> list[Column]:
    """The columns of the plan, placed near to where those of the plan before were.

    `was` tells which vertex each vertex was, if lines have changed, too.
    """
    made = []
    for number, old in enumerate(columns):
        same, x = {vertex: vertex for vertex in old.x}, old.x
        if was is not None:
            here = [vertex for row in plan.layers[number] for vertex in row]
            same = {v: was.same[v] for v in here if was.same.get(v) in old.x}
            moved = {v: old.x[was.moved[v]] for v in here if was.moved.get(v) in old.x}
            x = slotted(plan, number, {v: old.x[there] for v, there in same.items()}, moved)
        move = _Stretch(_spans(before, plan, number, old, same))
        middle = np.array(list(x.values()))
        half = np.array([width(before, same[v]) / 2 if v in same else 0.0 for v in x])
        centres = dict(zip(x, ((move(middle - half) + move(middle + half)) / 2).tolist(), strict=True))
        if len(same) < len(x):
            _settle(plan, number, centres, same)
        unbend(plan, number, centres)
        made.append(finished(plan, number, centres, _floor(before, plan, old, same)))
    return made


def _settle(plan: Plan, number: int, x: dict[int, float], firm: Mapping[int, int]) -> None:
    """Let new vertices stand beside the others, which do not move."""
    for row in plan.layers[number]:
        if any(v not in firm for v in row):
            gaps = [gap(plan, a, b) for a, b in pairwise(row)]
            weights = [1e9 if v in firm else 1.0 for v in row]
            x.update(zip(row, settled([x[v] for v in row], weights, gaps), strict=True))


def _floor(before: Plan, plan: Plan, old: Column, same: Mapping[int, int]) -> dict[int, float]:
    """How high up each box may be: where it was, or higher by as much as all boxes beside each other have shrunk."""
    boxes = [(v, there) for v, there in same.items() if there < len(before.flow.sizes)]
    top = np.array([old.top[there] for _, there in boxes])
    tall = np.array([before.flow.sizes[there][1] for _, there in boxes])
    more = np.array([plan.flow.sizes[v][1] for v, _ in boxes]) - tall
    floor = _stretch(top, tall, np.minimum(tall, tall + more))
    return dict(zip((v for v, _ in boxes), floor.tolist(), strict=True))


def repacked(pack: Pack, at: Sequence[int], boxes: Sequence[Size], aspect: float) -> list[Point]:
    """Corners of packed boxes: x and y are stretched where boxes have grown since.

    `at` says which of the pack's each box was; new ones (-1) stand beside or below what was there.
    """
    there = [i for i, was in enumerate(at) if was >= 0]
    low, old = (np.array([some[at[i]] for i in there]).reshape(-1, 2) for some in (pack.places, pack.boxes))
    new = np.array([boxes[i] for i in there]).reshape(-1, 2)
    moved = [_stretch(low[:, k], old[:, k], new[:, k]) for k in (0, 1)]
    corner = dict(zip(there, zip(moved[0].tolist(), moved[1].tolist(), strict=True), strict=True))
    more = [i for i, was in enumerate(at) if was < 0]
    if more:
        width, height = extent([boxes[i] for i in there], list(corner.values()))
        below, places = beside((width, height), [boxes[i] for i in more], aspect)
        right, down = (0.0, height + GAP) if below else (width + GAP, 0.0)
        corner |= {i: (x + right, y + down) for i, (x, y) in zip(more, places, strict=True)}
    return [corner[i] for i in range(len(boxes))]


def _stretch(low: Floats, old: Floats, new: Floats) -> Floats:
    return _Stretch(list(zip(low, low + old, new - old, strict=True)))(low)


def _spans(before: Plan, plan: Plan, number: int, column: Column, was: Mapping[int, int]) -> list[Span]:
    """Pieces of x (from, to) that must grow by so much at least, or may shrink by so much (negative)."""
    spans = []
    for row in plan.layers[number]:
        left, room = None, 0.0  # the upper end of the last box or lane that was there, and what has come since
        for i, vertex in enumerate(row):
            room += space(plan, row[i - 1], vertex) if i else 0.0
            there = was.get(vertex)
            if there is None:
                room += width(plan, vertex)
                continue
            half = width(before, there) / 2
            low, high = column.x[there] - half, column.x[there] + half
            spans.append((low, high, width(plan, vertex) - 2 * half))
            if left is not None:
                spans.append((left, low, room - (low - left)))
            left, room = high, 0.0
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
