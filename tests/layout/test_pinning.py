"""Pinned items: who gives way, which lines are drawn anew and how often, and what a name means that
two have.
"""

from __future__ import annotations

from itertools import combinations, pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.layout.checks import crossed, graph_of, loose, outside, overlaps
from tests.rounds import ROUNDS
from tfgraphwidget.layout.cache import LayoutCache
from tfgraphwidget.layout.compound import place
from tfgraphwidget.layout.free_form.orthogonal_detour import OrthogonalRouter
from tfgraphwidget.visible.view_spec import ViewSpec
from tfgraphwidget.visible.visible_graph import build_visible_graph

pytestmark = pytest.mark.no_tensorflow


@pytest.fixture
def searched(monkeypatch):
    """The lines that a way was searched for."""
    found = []
    search = OrthogonalRouter.route

    def counted(self, source, target, before, entry=None):
        found.append((source, target))
        return search(self, source, target, before, entry)

    monkeypatch.setattr(OrthogonalRouter, "route", counted)
    return found


@pytest.fixture(scope="module")
def tangle():
    """160 ops beside each other, each of which reads four of those before it."""
    chance = Random(5)
    names = [f"p{i}" for i in range(10)]
    ops = dict.fromkeys(names, "Placeholder")
    for i in range(150):
        ops[f"f{i}"] = " ".join(["AddN", *chance.sample(names, 4)])
        names.append(f"f{i}")
    return build_visible_graph(graph_of(ops), ViewSpec(fold=False, badges=False))


@pytest.fixture(scope="module")
def free_tangle(tangle):
    return place(tangle)


def beside(shown, positions, name, x, y):
    """So far from an item's centre."""
    left, top, width, height = positions.box[shown.names.index(name)].tolist()
    return {name: (left + width / 2 + x, top + height / 2 + y)}


@pytest.mark.parametrize("name", ["f3", "f70", "p1"])
@pytest.mark.parametrize(("x", "y"), [(80, 60), (-300, 200), (0, 900)])
@pytest.mark.sample(2)
def test_no_line_runs_through_a_box_however_many_there_are(tangle, free_tangle, name, x, y):
    positions = place(tangle, pinned=beside(tangle, free_tangle, name, x, y))
    assert crossed(tangle, positions)[0] == 0
    assert loose(tangle, positions) == []
    assert overlaps(tangle, positions) == []


def test_a_way_is_searched_for_the_lines_of_what_moved_and_those_now_stood_on_and_once(
    tangle, searched
):
    cache = LayoutCache()
    free = place(tangle, cache=cache)
    pinned = beside(tangle, free, "f70", 80, 60)
    positions = place(tangle, pinned=pinned, cache=cache)
    first = len(searched)
    moved = np.flatnonzero(np.abs(positions.box - free.box).max(axis=1) > 1)[1:]
    of_moved = np.isin(tangle.source, moved) | np.isin(tangle.target, moved)
    assert of_moved.sum() <= first <= of_moved.sum() + 30
    again = place(tangle, pinned=dict(pinned), cache=cache)
    assert len(searched) == first
    assert again.route.tobytes() == positions.route.tobytes()
    elsewhere = place(tangle, pinned=beside(tangle, free, "f70", 200, 60), cache=cache)
    assert len(searched) > first
    assert not np.array_equal(elsewhere.box, positions.box)


def test_what_is_pinned_where_it_stands_changes_nothing(tangle, searched):
    free = place(tangle)
    positions = place(tangle, pinned=beside(tangle, free, "f70", 0, 0))
    assert searched == []
    assert np.allclose(positions.box, free.box, atol=0.01)


def test_only_what_a_pinned_box_would_stand_on_gives_way():
    shown = build_visible_graph(
        graph_of({f"part{i}": "Placeholder" for i in range(80)}), ViewSpec(fold=False)
    )
    free = place(shown)
    positions = place(shown, pinned=beside(shown, free, "part40", 60, 40))
    at, width, height = positions.box[shown.names.index("part40")][:2], *free.box[1, 2:].tolist()
    near = (np.abs(free.box[1:, :2] - at) < (width + 9, height + 9)).all(axis=1)
    moved = np.abs(positions.box[1:, :2] - free.box[1:, :2]).max(axis=1) > 1
    assert (moved <= near | (np.arange(1, len(shown)) == shown.names.index("part40"))).all()
    assert overlaps(shown, positions) == []


@given(
    st.lists(
        st.tuples(st.integers(0, 79), st.floats(0, 900), st.floats(0, 500)), min_size=1, max_size=6
    )
)
@settings(max_examples=6 * ROUNDS, deadline=None, derandomize=True)
def test_many_pinned_boxes_are_sound_too(spots):
    ops = {f"op{i}": "Placeholder" if i < 4 else f"AddN op{i // 2} op{i - 3}" for i in range(80)}
    shown = build_visible_graph(graph_of(ops), ViewSpec(fold=False))
    positions = place(shown, pinned={f"op{i}": (x, y) for i, x, y in spots})
    assert overlaps(shown, positions) == []
    assert outside(shown, positions) == []
    assert loose(shown, positions) == []
    assert crossed(shown, positions)[0] == 0


def test_a_scope_alone_of_its_name_is_pinned_by_it_with_a_slash_and_without():
    index = graph_of({"x": "Placeholder", "net/one": "Relu x", "net/two": "Relu net/one"})
    for name in ("net", "net/"):
        positions = place(
            build_visible_graph(index, ViewSpec(fold=False)), pinned={name: (300.0, 200.0)}
        )
        left, top, width, height = positions.box[2].tolist()
        assert (left + width / 2, top + height / 2) == (300.0, 200.0)


@pytest.mark.parametrize("place_of_sum", [(420.0, 150.0), (124.0, 300.0), (60.0, 40.0)])
@pytest.mark.parametrize("direction", ["down", "right"])
def test_lines_of_several_producers_come_to_a_pinned_box_apart(place_of_sum, direction):
    ops = dict.fromkeys("abcd", "Placeholder")
    ops |= {f"of_{name}": f"Relu {name}" for name in "abcd"}
    ops |= {"sum": "AddN of_a of_b of_c of_d", "end": "Relu sum"}
    shown = build_visible_graph(graph_of(ops), ViewSpec(fold=False, badges=False))
    positions = place(shown, pinned={"sum": place_of_sum}, direction=direction)
    into = [
        positions.route[positions.route_start[edge] : positions.route_start[edge + 1]].tolist()
        for edge in np.flatnonzero(shown.target == shown.names.index("sum")).tolist()
    ]
    assert len(into) == 4
    for one, other in combinations(into, 2):
        assert one[-1] != other[-1]
        shared = [(a, b) for a in pairwise(one) for b in pairwise(other) if run_together(*a, *b)]
        assert shared == []


def run_together(a, b, c, d):
    """Whether two straight pieces of lines lie on one another."""
    for across in (0, 1):
        if a[across] == b[across] == c[across] == d[across]:
            along = 1 - across
            low = max(min(a[along], b[along]), min(c[along], d[along]))
            if low < min(max(a[along], b[along]), max(c[along], d[along])):
                return True
    return False
