"""Scopes of equal structure are drawn alike: siblings, and what has the same place in scopes that
are alike.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np
import pytest

from tests.layout.checks import graph_of
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.hierarchy.builder import outline_of
from tfgraphwidget.layout import compound
from tfgraphwidget.layout.cache import LayoutCache
from tfgraphwidget.layout.compound import Positions, place
from tfgraphwidget.visible.view_spec import ViewSpec
from tfgraphwidget.visible.visible_graph import OPEN, VisibleGraph, build_visible_graph

pytestmark = pytest.mark.no_tensorflow


def alike_scopes(shown: VisibleGraph) -> Iterator[tuple[int, int]]:
    """Pairs of open scopes that are alike, and in which the same scopes are open and the same lines
    drawn.
    """
    groups = defaultdict(list)
    for item in np.flatnonzero(shown.kind == OPEN)[1:].tolist():
        groups[int(shown.alike[item]), content(shown, item)].append(item)
    for items in groups.values():
        for item in items[1:]:
            yield items[0], item


def content(shown: VisibleGraph, item: int) -> tuple[object, ...]:
    """The kinds of the children of an open scope and its lines, whatever the names."""
    first, stop = shown.child_start[item : item + 2].tolist()
    lines = np.flatnonzero(shown.container == item)
    ends = [
        np.where(end[lines] == item, -1, end[lines] - first) for end in (shown.source, shown.target)
    ]
    ports = shown.source_port[lines], shown.target_port[lines]
    inner = tuple(
        content(shown, child) for child in range(first, stop) if shown.kind[child] == OPEN
    )
    return (
        shown.kind[first:stop].tobytes(),
        *(array.tobytes() for array in (*ends, *ports)),
        *inner,
    )


def inside(shown: VisibleGraph, positions: Positions, item: int) -> np.ndarray:
    """The boxes of the children of a scope, relative to it, and its size."""
    first, stop = shown.child_start[item : item + 2].tolist()
    boxes = positions.box[[*range(first, stop), item]].astype(float)
    boxes[:, :2] -= positions.box[item, :2].astype(float)
    return boxes


def assert_alike(shown: VisibleGraph, positions: Positions) -> int:
    """Check all alike scopes of a drawing; return how many pairs there are."""
    count = 0
    for one, other in alike_scopes(shown):
        assert np.allclose(
            inside(shown, positions, one), inside(shown, positions, other), atol=0.02
        ), f"{shown.names[one]} and {shown.names[other]} are alike, and drawn differently"
        count += 1
    return count


def blocks(count: int, more: str = "") -> GraphIndex:
    """A chain of equal blocks, the widest names last; `more` is a block that has one more op."""
    ops, before = {"x": "Placeholder"}, "x"
    for number in range(count):
        name = f"block_{10**number}"
        ops |= {
            f"{name}/left/a": f"Relu {before}",
            f"{name}/left/{'b' * (number + 1)}": f"Tanh {name}/left/a",
            f"{name}/right/a": f"Relu {before}",
            f"{name}/right/b{number}": f"Exp {name}/right/a",
            f"{name}/out": f"Add {name}/left/{'b' * (number + 1)} {name}/right/b{number}",
        }
        if name == more:
            ops[f"{name}/left/more"] = f"Sin {name}/left/a"
        before = f"{name}/out"
    return graph_of(ops)


def test_blocks_whose_names_are_longer_and_longer_are_drawn_alike():
    index = blocks(5)
    opened = frozenset(outline_of(index, fold=False)[0].names)
    shown = build_visible_graph(index, ViewSpec(opened, fold=False))
    assert assert_alike(shown, place(shown)) >= 3 + 8


def test_blocks_that_are_opened_one_after_the_other_are_drawn_alike():
    index, cache, opened = blocks(4), LayoutCache(), frozenset()
    for name in (
        "block_1",
        "block_1/left",
        "block_10",
        "block_10/left",
        "block_100/right",
        "block_100",
    ):
        opened |= {name}
        place(build_visible_graph(index, ViewSpec(opened, fold=False)), cache=cache)
    for closed in (set(), {"block_100/right"}):
        shown = build_visible_graph(index, ViewSpec(opened - closed, fold=False))
        assert assert_alike(shown, place(shown, cache=cache)) >= 1


def test_an_edit_of_one_block_changes_the_drawing_of_that_one_only():
    drawings, cache = [], LayoutCache()
    for index in (blocks(4), blocks(4, more="block_10")):
        opened = frozenset(outline_of(index, fold=False)[0].names)
        shown = build_visible_graph(index, ViewSpec(opened, fold=False))
        positions = place(shown, cache=cache)
        drawings.append(
            {
                shown.names[i]: inside(shown, positions, i)
                for i in np.flatnonzero(shown.kind == OPEN)[1:].tolist()
            }
        )
    before, after = drawings
    same = {name for name in before if np.array_equal(before[name], after[name])}
    assert before.keys() - same <= {"block_10", "block_10/left", "block_10/right"}
    assert "block_10/left" not in same


def test_blocks_that_are_alike_are_laid_out_once(monkeypatch):
    drawn = []
    real = compound.layout_container
    monkeypatch.setattr(
        compound, "layout_container", lambda *args: drawn.append(args) or real(*args)
    )
    index = blocks(6)
    opened = frozenset(outline_of(index, fold=False)[0].names)
    place(build_visible_graph(index, ViewSpec(opened, fold=False)))
    # In each of three trials the root, a block and its two insides.
    assert len(drawn) <= 3 * 4
