"""Graphs written as names, types and inputs, without TensorFlow; and what must hold for every
drawing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from types import SimpleNamespace

import numpy as np

from tfgraphwidget.graph.index import GraphIndex, build
from tfgraphwidget.layout.compound import Positions
from tfgraphwidget.visible.visible_graph import CLOSED, OP, OPEN, VisibleGraph


def graph_of(ops: Mapping[str, str]) -> GraphIndex:
    """The index of {name: "Type input input ^control"}."""
    nodes = []
    for name, text in ops.items():
        op_type, *inputs = text.split()
        nodes.append(SimpleNamespace(name=name, op=op_type, input=inputs, device="", attr={}))
    return build(nodes)


def overlaps(shown: VisibleGraph, positions: Positions) -> list[tuple[str, str]]:
    """Pairs of siblings whose boxes overlap."""
    found = []
    for first, stop in _families(shown):
        low = positions.box[first:stop, :2].astype(float)
        high = low + positions.box[first:stop, 2:]
        both = (low[:, None] < high[None] - 0.01).all(axis=2) & (
            high[:, None] > low[None] + 0.01
        ).all(axis=2)
        found += [
            (shown.names[first + i], shown.names[first + j])
            for i, j in zip(*np.nonzero(np.triu(both, 1)), strict=True)
        ]
    return found


def outside(shown: VisibleGraph, positions: Positions) -> list[str]:
    """Items that are not strictly inside their parent."""
    box = positions.box[1:].astype(float)
    around = positions.box[shown.parent[1:]].astype(float)
    inside = (box[:, :2] > around[:, :2] + 1) & (
        box[:, :2] + box[:, 2:] < around[:, :2] + around[:, 2:] - 1
    )
    return [shown.names[i + 1] for i in np.flatnonzero(~inside.all(axis=1))]


def crossed(shown: VisibleGraph, positions: Positions) -> tuple[int, int]:
    """How many pieces of routes run through a sibling of their ends, and how many pieces there
    are.
    """
    bad = pieces = 0
    for edge, item in enumerate(shown.container.tolist()):
        first, stop = shown.child_start[item : item + 2].tolist()
        low = positions.box[first:stop, :2].astype(float)
        high = low + positions.box[first:stop, 2:]
        way = positions.route[positions.route_start[edge] : positions.route_start[edge + 1]].astype(
            float
        )
        for a, b in pairwise(way):
            hit = (np.minimum(a, b) < high - 0.5).all(axis=1) & (np.maximum(a, b) > low + 0.5).all(
                axis=1
            )
            for end in (int(shown.source[edge]), int(shown.target[edge])):
                if first <= end < stop:
                    hit[end - first] = False
            bad += bool(hit.any())
            pieces += 1
    return bad, pieces


def fill(shown: VisibleGraph, positions: Positions) -> float:
    """The share of the picture that ops and closed scopes cover."""
    leaf = (shown.kind == OP) | (shown.kind == CLOSED)
    area = positions.box[:, 2].astype(float) * positions.box[:, 3]
    return float(area[leaf].sum() / area[0])


def _families(shown: VisibleGraph) -> Iterable[tuple[int, int]]:
    return [
        tuple(shown.child_start[item : item + 2].tolist())
        for item in np.flatnonzero(shown.kind == OPEN)
    ]


def loose(shown: VisibleGraph, positions: Positions) -> list[int]:
    """The lines of which an end stands beside its box."""
    box = positions.box.astype(float)
    first, last = positions.route_start[:-1].astype(int), positions.route_start[1:].astype(int) - 1
    beside = np.zeros(len(shown.source), dtype=bool)
    for at, item in ((first, shown.source), (last, shown.target)):
        point, low = positions.route[at].astype(float), box[item, :2] - 1
        beside |= ((point < low) | (point > low + box[item, 2:] + 2)).any(axis=1)
    return np.flatnonzero(beside).tolist()
