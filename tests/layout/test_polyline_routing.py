"""Lines in any direction: straight where they can be, around what is between, quick where there is
much.
"""

from __future__ import annotations

from itertools import pairwise
from math import hypot

import numpy as np
import pytest

from tests.layout.exact import _long_within
from tfgraphwidget.layout.free_form.orthogonal_detour import pieces_through
from tfgraphwidget.layout.free_form.polyline_routing import (
    CLEAR,
    NoPathError,
    ObstacleAvoidance,
    PolylineRouter,
)

pytestmark = pytest.mark.no_tensorflow

OP = (100.0, 30.0)


def grid(count):
    """So many boxes in rows and columns, 24 pixels from each other."""
    corner = np.array([(x * 124.0, y * 54.0) for y in range(count) for x in range(count)])
    return corner, np.full((count * count, 2), OP)


def long(way):
    return sum(hypot(c - a, d - b) for (a, b), (c, d) in pairwise(way))


def test_a_line_with_nothing_between_is_straight_from_border_to_border():
    corner, sizes = np.array([[0.0, 0.0], [300.0, 200.0]]), np.full((2, 2), OP)
    way = PolylineRouter(corner, sizes, [None, None], (0.0, 0.0), (0.0, 0.0)).route(0, 1)
    assert len(way) == 2
    assert way[0] == (72.5, 30.0)
    assert way[1] == (327.5, 200.0)


def test_a_line_past_a_box_turns_at_its_corners_on_the_shorter_side():
    corner, sizes = np.array([[0.0, 0.0], [200.0, -10.0], [400.0, 0.0]]), np.full((3, 2), OP)
    way = PolylineRouter(corner, sizes, [None] * 3, (0.0, 0.0), (0.0, 0.0)).route(0, 2)
    assert way[1:-1] == [(200.0 - CLEAR, 20.0 + CLEAR), (300.0 + CLEAR, 20.0 + CLEAR)]


def test_a_line_across_many_boxes_meets_none_and_is_not_much_longer():
    corner, sizes = grid(12)
    draw = PolylineRouter(corner, sizes, [None] * len(corner), (0.0, 0.0), (0.0, 0.0))
    for source, target in ((0, 143), (11, 132), (5, 138), (60, 71), (0, 23)):
        way = draw.route(source, target)
        points = np.array(way)
        hit = _long_within(points[:-1], points[1:], corner, corner + sizes).any(axis=0)
        assert not hit.any()
        assert long(way) < 1.5 * long([way[0], way[-1]])


def test_a_line_to_an_open_scope_ends_on_its_top_where_it_goes_on_inside():
    corner, sizes = np.array([[0.0, 0.0], [300.0, -200.0]]), np.array([OP, (200.0, 150.0)])
    draw = PolylineRouter(corner, sizes, [None, (40.0, 160.0)], (0.0, 0.0), (0.0, 0.0))
    assert draw.route(0, 1)[-2:] == [(340.0, -200.0 - CLEAR), (340.0, -200.0)]
    back = draw.route(1, 0)
    assert back[:2] == [(460.0, -50.0), (460.0, -50.0 + CLEAR)]


def test_a_line_that_finds_no_way_runs_at_right_angles(monkeypatch):
    corner, sizes = grid(4)
    monkeypatch.setattr("tfgraphwidget.layout.free_form.polyline_routing._STEPS", 0)
    with pytest.raises(NoPathError):
        ObstacleAvoidance(corner, sizes, CLEAR).find_path((50.0, 15.0), (422.0, 177.0), (0, 15))
    way = PolylineRouter(corner, sizes, [None] * 16, (0.0, 0.0), (0.0, 0.0)).route(0, 15)
    assert all(min(abs(c - a), abs(d - b)) < 1e-6 for (a, b), (c, d) in pairwise(way))
    assert not _long_within(np.array(way)[:-1], np.array(way)[1:], corner, corner + sizes).any()


def test_a_slanted_piece_beside_a_corner_runs_through_nothing():
    points = np.array([(0.0, 0.0), (100.0, 100.0), (0.0, 100.0)])
    low = np.array([(60.0, 10.0)])
    assert pieces_through(points, low, low + 25).tolist() == [False, False]
    assert pieces_through(points, low, low + np.array([25, 70])).tolist() == [True, False]
    assert pieces_through(points, np.array([(40.0, 95.0)]), np.array([(50.0, 120.0)])).tolist() == [
        False,
        True,
    ]
