"""What is opened or closed moves the rest no further than it must, and costs what has changed
only.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pytest

from tests.layout.checks import crossed, graph_of, loose, outside, overlaps
from tests.rounds import ROUNDS
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.layout import compound
from tfgraphwidget.layout.cache import LayoutCache
from tfgraphwidget.layout.compound import Positions, place
from tfgraphwidget.visible.view_spec import ViewSpec
from tfgraphwidget.visible.visible_graph import (
    BADGE,
    CLOSED,
    OPEN,
    VisibleGraph,
    build_visible_graph,
)

pytestmark = pytest.mark.no_tensorflow

# A line that was straight and no longer is takes a track or two.
TRACKS = 14.0 + 0.01
# Between a box that comes or goes and the next.
GAP = 16.0
# A line that comes where a scope is opened, since tensors have ports of their own there, or that
# turns to its port.
LANE = 12.0


def moves(
    before: tuple[VisibleGraph, Positions], after: tuple[VisibleGraph, Positions], name: str
) -> np.ndarray:
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


def assert_stays(
    index: GraphIndex, opened: frozenset[str], toggled: str, cache: LayoutCache
) -> None:
    before = build_visible_graph(index, ViewSpec(opened))
    here = place(before, cache=cache)
    after = build_visible_graph(index, ViewSpec(opened | {toggled}))
    there = place(after, cache=cache)
    old, new = before.names.index(toggled), after.names.index(toggled)
    were, are = lines(before), lines(after)
    are.pop(toggled, None)  # those inside are in what it has grown
    come = sum((now - were.get(scope, Counter())).total() for scope, now in are.items())
    come += sum(toggled in ends for now in are.values() for ends in now.elements())
    grown = np.maximum(there.box[new, 2:] - here.box[old, 2:], 0.0) + come * LANE
    moved = np.abs(moves((before, here), (after, there), toggled))
    assert moved[:, 0].max() <= grown[0] + 0.01, toggled
    assert moved[:, 1].max() <= grown[1] + TRACKS, toggled
    again = place(build_visible_graph(index, ViewSpec(opened)), cache=cache)
    assert np.array_equal(again.box, here.box)
    assert np.array_equal(again.route, here.route)


Box = npt.NDArray[np.float32]


def children(shown: VisibleGraph, positions: Positions) -> dict[str, dict[str, Box]]:
    """By container and name: left and top in the container, width and height of each box."""
    found: dict[str, dict[str, Box]] = {}
    for item in np.flatnonzero(shown.kind[1:] != BADGE).tolist():
        parent = int(shown.parent[item + 1])
        corner = np.array([*positions.box[parent, :2], 0, 0])
        found.setdefault(shown.names[parent], {})[shown.names[item + 1]] = (
            positions.box[item + 1] - corner
        )
    return found


def lines(shown: VisibleGraph) -> dict[str, Counter[tuple[str, str]]]:
    """By container: how many lines join which two."""
    found: dict[str, Counter[tuple[str, str]]] = {}
    for source, target, container in zip(shown.source, shown.target, shown.container, strict=True):
        found.setdefault(shown.names[container], Counter())[
            shown.names[source], shown.names[target]
        ] += 1
    return found


def excesses(
    before: tuple[VisibleGraph, Positions], after: tuple[VisibleGraph, Positions]
) -> Iterator[tuple[float, int]]:
    """Per box that stays in its container: how much further it moves than what is there has grown,
    come or gone.

    And how many of the container's lines have come or gone. Boxes at their ends are not asked.
    """
    here, there, old, new = children(*before), children(*after), lines(before[0]), lines(after[0])
    for container in here.keys() & there.keys():
        boxes, now = here[container], there[container]
        were, are = old.get(container, Counter()), new.get(container, Counter())
        changed = (were - are) + (are - were)
        both = boxes.keys() & now.keys()
        room = sum((abs(boxes[name] - now[name])[2:] for name in both), np.zeros(2))
        room = room + sum(
            ((boxes | now)[name][2:] + GAP for name in boxes.keys() ^ now.keys()), np.zeros(2)
        )
        room = room + changed.total() * LANE
        for name in both - {end for line in changed for end in line}:
            yield float((abs(boxes[name] - now[name])[:2] - room).max()), changed.total()


def walk(
    index: GraphIndex, opened: frozenset[str], direction: str, steps: int, seed: int
) -> Iterator[tuple[float, int]]:
    """Open and close scopes by lot; every drawing on the way is sound."""
    lot, cache, before = random.Random(seed), LayoutCache(), None
    for _ in range(steps):
        shown = build_visible_graph(index, ViewSpec(opened, direction=direction))
        after = shown, place(shown, direction=direction, cache=cache)
        assert overlaps(*after) == []
        assert outside(*after) == []
        assert loose(*after) == []
        assert crossed(*after)[0] == 0
        if before:
            yield from excesses(before, after)
        before = after
        of_kind = {
            kind: [n for n, k in zip(shown.names, shown.kind.tolist(), strict=True) if k == kind]
            for kind in (CLOSED, OPEN)
        }
        close = of_kind[OPEN][1:] if lot.random() < 0.35 else []
        if close or of_kind[CLOSED]:
            opened = opened ^ {lot.choice(close or of_kind[CLOSED])}


def made_by_lot(seed: int) -> GraphIndex:
    """Ops with badges in nested scopes, whose lines change as they are opened: circles of scopes,
    too.
    """
    lot = random.Random(seed)
    ops, names = {"x": "Placeholder"}, ["x"]
    kinds = ("Relu {}", "Add {} {}", "Const", "VariableV2", "Identity {}", "MatMul {} {}")
    for number in range(lot.randint(5, 45)):
        kind = lot.choice(kinds)
        name = f"{lot.choice(('', 'a/', 'b/', 'a/c/', 'b/d/', 'e/', 'e/f/g/'))}o{number}"
        ops[name] = kind.format(*(lot.choice(names[-12:]) for _ in range(kind.count("{}"))))
        names.append(name)
    return graph_of(ops)


def test_what_is_opened_and_closed_by_lot_moves_little_else_even_where_lines_come_and_go():
    found = []
    for seed in range(12 * ROUNDS):
        direction = ("down", "right")[seed % 2]
        found += list(walk(made_by_lot(seed), frozenset(), direction, 9, seed))
    same = np.array([far for far, changed in found if not changed])
    other = np.array([far for far, changed in found if changed])
    assert len(same) > 450 * ROUNDS
    assert len(other) > 148 * ROUNDS
    # A box may come down to stand beside another, or lose the line that it stood below.
    assert (same > TRACKS).mean() < 0.01
    assert (same > 3 * TRACKS).mean() < 0.003
    assert (other > 3 * TRACKS).mean() < 0.03
    assert np.quantile(other, 0.95) < TRACKS
    assert other.max() < 20 * TRACKS


def test_siblings_keep_their_order_when_one_is_opened(graph):
    ops = {"x": "Placeholder"}
    for i in range(9):
        ops[f"s{i}/a"] = f"Relu {'x' if i < 3 else f's{i - 3}/b'}"
        ops[f"s{i}/b"] = f"Tanh s{i}/a"
    index, cache = graph(ops), LayoutCache()
    before = place(build_visible_graph(index, ViewSpec(fold=False)), cache=cache).box
    after = place(
        build_visible_graph(index, ViewSpec(frozenset({"s4"}), fold=False)), cache=cache
    ).box
    for axis in (0, 1):
        apart = before[1:11, None, axis] + before[1:11, None, axis + 2] <= before[None, 1:11, axis]
        assert (after[1:11, None, axis] < after[None, 1:11, axis])[apart].all()


def test_only_the_toggled_scope_and_those_around_it_are_laid_out(network, monkeypatch):
    drawn, cache = [], LayoutCache()
    real = compound.layout_container
    monkeypatch.setattr(
        compound, "layout_container", lambda *args: drawn.append(args) or real(*args)
    )
    opened = frozenset({"net", "net/one"})
    place(build_visible_graph(network, ViewSpec(opened, fold=False)), cache=cache)
    first = len(drawn)
    place(build_visible_graph(network, ViewSpec(opened | {"net/two"}, fold=False)), cache=cache)
    # The two layers are alike inside, so only the root and net are new.
    assert len(drawn) <= first + 3
    count = len(drawn)
    place(build_visible_graph(network, ViewSpec(opened, fold=False)), cache=cache)
    place(build_visible_graph(network, ViewSpec(opened | {"net/two"}, fold=False)), cache=cache)
    assert len(drawn) == count


def test_two_scopes_that_are_alike_inside_are_drawn_once(graph, monkeypatch):
    drawn = []
    real = compound.layout_container
    monkeypatch.setattr(
        compound, "layout_container", lambda *args: drawn.append(args) or real(*args)
    )
    ops = {"x": "Placeholder", "y": "Placeholder"}
    for i in range(30):
        ops |= {f"s{i}/a": "Relu x", f"s{i}/b": f"Tanh s{i}/a", f"s{i}/c": f"Add s{i}/a s{i}/b"}
    place(
        build_visible_graph(graph(ops), ViewSpec(frozenset(f"s{i}" for i in range(30)), fold=False))
    )
    assert len(drawn) <= 3


def test_a_change_of_the_graph_is_laid_out_anew():
    cache = LayoutCache()
    one = graph_of({"x": "Placeholder", "a": "Relu x", "b": "Relu a"})
    two = graph_of({"x": "Placeholder", "a": "Relu x", "b": "Relu x"})
    place(build_visible_graph(one, ViewSpec()), cache=cache)
    assert np.array_equal(
        place(build_visible_graph(two, ViewSpec()), cache=cache).box,
        place(build_visible_graph(two, ViewSpec())).box,
    )


@pytest.mark.parametrize("direction", ["down", "right"])
def test_a_closed_scope_leaves_everything_as_it_was_in_both_directions(network, direction):
    cache = LayoutCache()
    shown = [
        build_visible_graph(network, ViewSpec(frozenset(some), direction=direction))
        for some in ({"net"}, {"net", "net/one"})
    ]
    first = place(shown[0], direction=direction, cache=cache)
    place(shown[1], direction=direction, cache=cache)
    again = place(shown[0], direction=direction, cache=cache)
    assert np.array_equal(first.box, again.box)
