"""Boxes near points: none overlap, they stand to each other as the points do, and take no more room
than that needs.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.rounds import ROUNDS
from tfgraphwidget.layout.free_form.overlap_removal import GAP, remove_overlaps

pytestmark = pytest.mark.no_tensorflow

OP = (100.0, 30.0)
POINT = st.tuples(*[st.sampled_from([0.0, 1.0, 1e-12, -1e9, 1e300]) | st.floats(-1, 1)] * 2)
SIZE = st.tuples(st.floats(10, 200), st.floats(10, 50)) | st.tuples(
    st.floats(200, 4000), st.floats(50, 4000)
)


def boxes(count, size=OP):
    return np.full((count, 2), size)


def on_a_circle(count):
    turn = 2 * np.pi * np.arange(count) / count
    return np.stack([np.cos(turn), np.sin(turn)], axis=1)


def extent(centre, sizes):
    return (centre + sizes / 2).max(axis=0) - (centre - sizes / 2).min(axis=0)


def nearest(centre, sizes):
    """How far apart those two are that are nearest to each other: in x or in y."""
    i, j = np.triu_indices(len(centre), 1)
    return float((np.abs(centre[i] - centre[j]) - (sizes[i] + sizes[j]) / 2).max(axis=1).min())


@given(st.lists(st.tuples(POINT, SIZE), min_size=2, max_size=60))
@example([((0.0, 1e300), (10.0, 10.0)), ((1.0, 1e300), (10.0, 10.0))])
@settings(max_examples=16 * ROUNDS, deadline=None, derandomize=True)
def test_no_two_boxes_are_nearer_than_a_line_needs(some):
    points, sizes = np.array([point for point, _ in some]), np.array([size for _, size in some])
    centre = remove_overlaps(points, sizes)
    assert np.isfinite(centre).all()
    assert nearest(centre, sizes) > GAP - 1e-3


@pytest.mark.parametrize("count", [4, 12, 40])
def test_a_circle_stays_one(count):
    centre = remove_overlaps(on_a_circle(count), boxes(count))
    centre = (centre - centre.mean(axis=0)) / np.abs(centre - centre.mean(axis=0)).max(axis=0)
    assert np.hypot(*centre.T).min() > 0.8
    turn = np.unwrap(np.arctan2(centre[:, 1], centre[:, 0]))
    assert (np.diff(turn) > 0).all()
    assert np.abs(turn - np.unwrap(2 * np.pi * np.arange(count) / count)).max() < 0.5


def test_a_grid_keeps_its_rows_and_columns():
    points = np.array([(x, y) for y in range(6) for x in range(6)], dtype=float)
    x, y = remove_overlaps(points, boxes(36)).T.reshape(2, 6, 6)
    assert (np.diff(x, axis=1) > 0).all()
    assert (np.diff(y, axis=0) > 0).all()


def test_one_large_box_and_two_at_nearly_one_point_do_not_make_it_endless():
    points, sizes = on_a_circle(20), boxes(20)
    points[0] = points[1] + 1e-7
    sizes[5] = (3000.0, 2000.0)
    assert (extent(remove_overlaps(points, sizes), sizes) < [4200.0, 3200.0]).all()


def test_a_row_aslant_is_made_steep_instead_of_wide():
    points, sizes = np.stack([np.arange(8.0)] * 2, axis=1), boxes(8, (400.0, 400.0))
    centre = remove_overlaps(points, sizes)
    assert extent(centre, sizes).prod() < 0.4 * (8 * 400.0) ** 2
    assert (np.diff(centre, axis=0) > 0).all()


@pytest.mark.parametrize("points", [np.zeros((1, 2)), np.zeros((30, 2)), np.full((30, 2), 7.0)])
def test_boxes_at_one_point_stand_around_it(points):
    sizes = boxes(len(points))
    wide, tall = extent(remove_overlaps(points, sizes), sizes)
    assert wide * tall <= 6 * ((sizes + GAP).prod(axis=1)).sum()


def test_what_is_never_settled_is_pushed_apart_all_the_same(monkeypatch):
    monkeypatch.setattr("tfgraphwidget.layout.free_form.overlap_removal._ROUNDS", 1)
    points, sizes = on_a_circle(30) * [1.0, 0.01], boxes(30)
    assert nearest(remove_overlaps(points, sizes), sizes) > GAP - 1e-3
