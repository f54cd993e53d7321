"""The layout's time on graphs of 14 and 100 thousand ops, all open; and its look beside graphviz's
dot.
"""

from __future__ import annotations

import resource
import shutil
import statistics
import subprocess
import time
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.bench.graphs import layered, many_inceptions
from tests.bench.nets import stages
from tests.bench.results import record
from tests.layout.quality import crossings, length, lines_of
from tfgraphwidget.graph.index import build
from tfgraphwidget.hierarchy.builder import outline_of
from tfgraphwidget.layout.compound import Positions, place
from tfgraphwidget.layout.container import layout_container
from tfgraphwidget.layout.layered.components import Edge, build_structure
from tfgraphwidget.visible.view_spec import ViewSpec
from tfgraphwidget.visible.visible_graph import VisibleGraph, build_visible_graph

pytestmark = pytest.mark.bench
Floats = npt.NDArray[np.float64]
RUNS = 5
INCH = 72.0
SLIM = 1.5  # a layer of `layered` is so much wider than it is tall


@pytest.mark.parametrize(("ops", "most"), [(14_000, 0.5), (100_000, 3.0)])
@pytest.mark.parametrize("graph", ["inceptions", "stages"])
def test_everything_open_is_laid_out_in_time(graph: str, ops: int, most: float) -> None:
    made = many_inceptions(ops // 3379) if graph == "inceptions" else stages(ops // 33)
    took, visible = [], []
    for _ in range(RUNS):
        # As of a file just opened: nothing is remembered of a layout before.
        index = build(made.node)
        everything = ViewSpec(frozenset(outline_of(index)[0].names))
        build_visible_graph(index, ViewSpec())  # what is known of the graph, whatever is open
        start = time.process_time()
        shown = build_visible_graph(index, everything)
        between = time.process_time()
        positions = place(shown)
        took.append(time.process_time() - start)
        visible.append(between - start)
    size = f"{positions.box[0, 2]:,.0f} × {positions.box[0, 3]:,.0f} pixels"
    what = f"layout of everything open, {len(index):,} ops of {graph}, {len(shown):,} items, CPU"
    record(
        "Draw",
        what,
        "s",
        took,
        note=f"{statistics.median(visible):.2f} s of it for what is visible; {size}",
    )
    assert statistics.median(took) <= most


@pytest.mark.parametrize("layers", [18, 71, 142])
def test_the_look_next_to_dot_s(layers: int) -> None:
    """The same flat graph, without scopes, with the same boxes: crossings, lines' length, area,
    boxes run through.

    Ours is the time of `place` in this process, at first and after that; nothing is remembered from
    one to the next. That of dot is of its process, which takes some 10 ms for two boxes.
    """
    if shutil.which("dot") is None:
        pytest.skip("graphviz is not installed: there is no dot to compare with")
    nodes = layered(25 * layers).graph_def.node
    flat = {node.name: node.name.replace("/", "_") for node in nodes}
    bare = [
        SimpleNamespace(
            name=flat[node.name],
            op=node.op,
            attr={},
            input=[flat[op] for op in _read_by(node)],
            device="",
        )
        for node in nodes
    ]
    shown = build_visible_graph(build(bare), ViewSpec(fold=False, badges=False))
    linked = np.union1d(shown.source, shown.target)
    ours_took, dot_took = [], []
    for _ in range(RUNS + 1):
        start = time.process_time()
        positions = place(shown)
        ours_took.append(time.process_time() - start)
        box, dot_routes, took = _by_dot(shown, positions.box.astype(float), linked)
        dot_took.append(took)
    theirs = _quality(box, dot_routes)
    ours = _quality(positions.box[linked].astype(float), lines_of(positions))
    what = f"layout of a flat graph, {len(linked)} ops, {len(dot_routes)} lines"
    record("Draw", f"{what}, CPU, cold", "s", ours_took[0], {"dot": dot_took[0]})
    record("Draw", f"{what}, CPU, warm", "s", ours_took[1:], {"dot": dot_took[1:]})
    column = _in_one_column(shown, positions, linked, layers)
    record(
        "Draw",
        f"{what}: length in one column",
        "million pixels",
        round(length(column) / 1e6, 3),
        {"dot": theirs["length"]},
    )
    for quality, unit in (
        ("crossings", ""),
        ("length", "million pixels"),
        ("area", "million pixels²"),
    ):
        note = "wrapped for a screen; dot's is one column" if quality == "length" else ""
        record(
            "Draw", f"{what}: {quality}", unit, ours[quality], {"dot": theirs[quality]}, note=note
        )
    assert length(column) <= 1.2e6 * theirs["length"]
    assert ours["through"] <= 0.001 * len(dot_routes)
    assert ours["area"] <= 2.0 * theirs["area"]


def _in_one_column(
    shown: VisibleGraph, positions: Positions, linked: npt.NDArray[np.int32], layers: int
) -> list[Floats]:
    """The lines of our drawing of the same boxes in dot's shape: all layers below each other."""
    number = {item: i for i, item in enumerate(linked.tolist())}
    edges = [
        Edge(number[source], number[target])
        for source, target in zip(shown.source.tolist(), shown.target.tolist(), strict=True)
    ]
    sizes = [(float(width), float(height)) for width, height in positions.box[linked, 2:]]
    layout = layout_container(
        build_structure([0] * len(sizes), edges), sizes, [None] * len(sizes), SLIM / layers
    ).layout
    return np.split(np.asarray(layout.route, dtype=float), np.cumsum(layout.points)[:-1])


def _read_by(node: Any) -> list[str]:
    return [text.split(":")[0] for text in node.input if text[0] != "^"]


def _by_dot(
    shown: VisibleGraph, box: Floats, linked: npt.NDArray[np.int32]
) -> tuple[Floats, list[Floats], float]:
    """Boxes and polylines (the splines' control points) from `dot -Tplain`, in pixels, y up, and
    the CPU seconds of dot's process.
    """
    lines = [
        f"n{i} [shape=box fixedsize=true width={box[i, 2] / INCH} height={box[i, 3] / INCH}]"
        for i in linked
    ]
    lines += [
        f"n{a} -> n{b}" for a, b in zip(shown.source.tolist(), shown.target.tolist(), strict=True)
    ]
    before = _children_s()
    text = "digraph {" + ";".join(lines) + "}"
    plain = subprocess.run(
        ["dot", "-Tplain"], input=text, capture_output=True, text=True, check=True
    ).stdout
    took = _children_s() - before
    boxes, routes = [], []
    for kind, *words in map(str.split, plain.splitlines()):
        if kind == "node":
            x, y, w, h = (float(word) * INCH for word in words[1:5])
            boxes.append([x - w / 2, y - h / 2, w, h])
        elif kind == "edge":
            count = int(words[2])
            routes.append(np.array(words[3 : 3 + 2 * count], dtype=float).reshape(-1, 2) * INCH)
    return np.array(boxes), routes, took


def _children_s() -> float:
    """The CPU seconds of the processes that this one has started and that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _quality(box: Floats, routes: list[Floats]) -> dict[str, float]:
    """Crossings of lines, their length and the area in millions of pixels, and how many run through
    a box.
    """
    pieces = np.array([[*a, *b] for way in routes for a, b in pairwise(way)])
    numbers = np.repeat(np.arange(len(routes)), [len(way) - 1 for way in routes])
    low, high = box[:, :2], box[:, :2] + box[:, 2:]
    every = np.concatenate([low, high, *routes])
    return {
        "crossings": crossings(routes),
        "length": round(length(routes) / 1e6, 3),
        "area": round(float(np.ptp(every, axis=0).prod()) / 1e6, 2),
        "through": len(
            {
                n
                for n, piece in zip(numbers, pieces, strict=True)
                if _inside(piece, low + 2, high - 2)
            }
        ),
    }


def _inside(piece: Floats, low: Floats, high: Floats) -> bool:
    """Whether a straight piece has points in a box; its ends are sampled in between, which suffices
    for boxes.
    """
    points = piece[:2] + np.linspace(0, 1, 40)[:, None] * (piece[2:4] - piece[:2])
    return bool(((points[:, None] > low) & (points[:, None] < high)).all(axis=2).any())
