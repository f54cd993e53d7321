"""What is opened or closed moves the rest no further than it must, and costs what has changed only."""

from __future__ import annotations

import numpy as np
import pytest

from tests.view.checks import graph_of
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.view import inside
from tfgraphwidget.view.layout import Positions, place
from tfgraphwidget.view.shown import Shown
from tfgraphwidget.view.visible import BADGE, CLOSED, Visible, default_open, visible

# A line that was straight and no longer is takes a track or two.
TRACKS = 14.0 + 0.01


def moves(before: tuple[Visible, Positions], after: tuple[Visible, Positions], name: str) -> np.ndarray:
    """How far each item but the toggled one has moved in its container, (n, 2)."""
    (shown, here), (then, there) = before, after
    new = {item: number for number, item in enumerate(then.names)}
    around, at = set(), new[name]
    while at >= 0:
        around.add(at)
        at = int(then.parent[at])
    pairs = [
        (i, new[item])
        for i, item in enumerate(shown.names)
        if i and shown.kind[i] != BADGE and item in new and new[item] not in around
    ]
    old, now = np.array(pairs).T
    result: np.ndarray = (there.box[now, :2] - there.box[then.parent[now], :2]).astype(float)
    return result - (here.box[old, :2] - here.box[shown.parent[old], :2])


def assert_stays(index: GraphIndex, opened: frozenset[str], toggled: str, memo: dict) -> None:
    before = visible(index, Shown(opened))
    here = place(before, memo=memo)
    after = visible(index, Shown(opened | {toggled}))
    there = place(after, memo=memo)
    old, new = before.names.index(toggled), after.names.index(toggled)
    grown = np.maximum(there.box[new, 2:] - here.box[old, 2:], 0.0)
    moved = np.abs(moves((before, here), (after, there), toggled))
    assert moved[:, 0].max() <= grown[0] + 0.01, toggled
    assert moved[:, 1].max() <= grown[1] + TRACKS, toggled
    again = place(visible(index, Shown(opened)), memo=memo)
    assert np.array_equal(again.box, here.box)
    assert np.array_equal(again.route, here.route)


def test_opening_any_scope_of_inception_moves_the_rest_no_further_than_it_grows(inception):
    opened = default_open(inception)
    shown = visible(inception, Shown(opened))
    memo: dict = {}
    for name, kind in zip(shown.names, shown.kind.tolist(), strict=True):
        if kind == CLOSED:
            assert_stays(inception, opened, name, memo)


def test_siblings_keep_their_order_when_one_is_opened(graph):
    ops = {"x": "Placeholder"}
    for i in range(9):
        ops[f"s{i}/a"] = f"Relu {'x' if i < 3 else f's{i - 3}/b'}"
        ops[f"s{i}/b"] = f"Tanh s{i}/a"
    index, memo = graph(ops), {}
    before = place(visible(index, Shown(fold=False)), memo=memo).box
    after = place(visible(index, Shown(frozenset({"s4"}), fold=False)), memo=memo).box
    for axis in (0, 1):
        apart = before[1:11, None, axis] + before[1:11, None, axis + 2] <= before[None, 1:11, axis]
        assert (after[1:11, None, axis] < after[None, 1:11, axis])[apart].all()


def test_only_the_toggled_scope_and_those_around_it_are_laid_out(network, monkeypatch):
    drawn, memo = [], {}
    real = inside.arranged
    monkeypatch.setattr(inside, "arranged", lambda *args: drawn.append(args) or real(*args))
    opened = frozenset({"net", "net/one"})
    place(visible(network, Shown(opened, fold=False)), memo=memo)
    first = len(drawn)
    place(visible(network, Shown(opened | {"net/two"}, fold=False)), memo=memo)
    # The two layers are alike inside, so only the root and net are new.
    assert len(drawn) <= first + 3
    count = len(drawn)
    place(visible(network, Shown(opened, fold=False)), memo=memo)
    place(visible(network, Shown(opened | {"net/two"}, fold=False)), memo=memo)
    assert len(drawn) == count


def test_two_scopes_that_are_alike_inside_are_drawn_once(graph, monkeypatch):
    drawn = []
    real = inside.arranged
    monkeypatch.setattr(inside, "arranged", lambda *args: drawn.append(args) or real(*args))
    ops = {"x": "Placeholder", "y": "Placeholder"}
    for i in range(30):
        ops |= {f"s{i}/a": "Relu x", f"s{i}/b": f"Tanh s{i}/a", f"s{i}/c": f"Add s{i}/a s{i}/b"}
    place(visible(graph(ops), Shown(frozenset(f"s{i}" for i in range(30)), fold=False)))
    assert len(drawn) <= 3


def test_a_change_of_the_graph_is_laid_out_anew():
    memo: dict = {}
    one = graph_of({"x": "Placeholder", "a": "Relu x", "b": "Relu a"})
    two = graph_of({"x": "Placeholder", "a": "Relu x", "b": "Relu x"})
    place(visible(one, Shown()), memo=memo)
    assert np.array_equal(place(visible(two, Shown()), memo=memo).box, place(visible(two, Shown())).box)


@pytest.mark.parametrize("direction", ["down", "right"])
def test_a_closed_scope_leaves_everything_as_it_was_in_both_directions(network, direction):
    memo: dict = {}
    shown = [visible(network, Shown(frozenset(some), direction=direction)) for some in ({"net"}, {"net", "net/one"})]
    first = place(shown[0], direction=direction, memo=memo)
    place(shown[1], direction=direction, memo=memo)
    again = place(shown[0], direction=direction, memo=memo)
    assert np.array_equal(first.box, again.box)
