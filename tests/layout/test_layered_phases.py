"""The steps of the layered layout, one by one."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfgraphwidget.layout.layered.column_wrapping import wrap_columns
from tfgraphwidget.layout.layered.crossing import minimize_crossings
from tfgraphwidget.layout.layered.layering import assign_layers, break_cycles, split_wide_layers
from tfgraphwidget.layout.layered.placement import isotonic_placement
from tfgraphwidget.layout.layered.routing import HyperedgeSpan, assign_tracks
from tfgraphwidget.layout.packing import pack

pytestmark = pytest.mark.no_tensorflow


def test_a_feeder_stands_right_above_its_only_reader():
    # 0 -> 1 -> 2 -> 3, and 4 -> 5 -> 3: the side branch moves down as a whole.
    arcs = [(0, 1), (1, 2), (2, 3), (4, 5), (5, 3)]
    assert assign_layers(6, arcs, [1] * 5, [], []) == [0, 1, 2, 3, 1, 2]


def test_what_only_feeds_the_border_stands_at_the_bottom():
    assert assign_layers(4, [(0, 1), (1, 2)], [1, 1], [0], [2, 3]) == [0, 1, 2, 2]


def test_a_tower_stands_at_the_height_of_the_one_whose_weights_it_reads_or_below():
    # Two towers, 0 -> 1 and 2 -> 3; 3 reads weights of 1, and that pulls at neither.
    assert assign_layers(4, [(0, 1), (2, 3), (1, 3)], [1, 1, 0], [], []) == [0, 1, 0, 1]
    # 3 -> 4 is a tower that begins further up than the one whose weights it reads.
    arcs = [(0, 1), (1, 2), (3, 4), (2, 4)]
    assert assign_layers(5, arcs, [1, 1, 1, 0], [], []) == [0, 1, 2, 1, 2]


def test_the_way_back_is_turned():
    assert break_cycles(3, [(0, 1), (1, 2), (2, 1)], []) == [False, False, True]
    assert break_cycles(2, [(0, 1), (1, 0)], [0]) == [True, False]


def test_a_wide_row_is_folded():
    sizes = [(6.0, 5.0), (8.0, 5.0), (8.0, 6.0), (8.0, 7.0), (8.0, 8.0)]
    assert split_wide_layers([0, 1, 1, 1, 1], sizes, 2.0, [], 20.0) == [0, 1, 1, 2, 2]


def test_a_row_that_is_little_too_wide_stays_one():
    sizes = [(8.0, 5.0 + node) for node in range(4)]
    assert split_wide_layers([0] * 4, sizes, 2.0, [], 30.0) == [0] * 4


def test_four_equal_boxes_stay_side_by_side_and_twenty_do_not():
    assert split_wide_layers([0] * 4, [(8.0, 5.0)] * 4, 2.0, [], 10.0) == [0] * 4
    assert max(split_wide_layers([0] * 20, [(8.0, 5.0)] * 20, 2.0, [], 50.0)) == 3


@given(st.lists(st.tuples(st.floats(-1e4, 1e4), st.floats(0.1, 10)), min_size=1, max_size=30))
def test_settled_places_keep_their_distance(wishes):
    places = isotonic_placement(
        [x for x, _ in wishes], [w for _, w in wishes], [5.0] * (len(wishes) - 1)
    )
    assert all(b - a >= 5.0 - 1e-6 for a, b in pairwise(places))


def test_crossings_are_undone():
    layers = minimize_crossings([[0, 1], [2, 3]], [(0, 3), (1, 2)], 4)
    assert layers in ([[0, 1], [3, 2]], [[1, 0], [2, 3]])


def test_tracks_neither_overlap_nor_cross_without_need():
    hyperedges = [
        HyperedgeSpan((0.0,), (50.0,)),
        HyperedgeSpan((20.0,), (20.0,)),
        HyperedgeSpan((30.0,), (90.0,)),
    ]
    assert assign_tracks(hyperedges) == [1, -1, 0]


def test_hundreds_of_nets_share_tracks():
    hyperedges = [HyperedgeSpan((float(i),), (float(i + 30),)) for i in range(0, 5000, 10)]
    assert max(assign_tracks(hyperedges)) < 10


def test_a_short_drawing_is_not_cut_and_a_needle_is():
    assert wrap_columns([80.0] * 3, [100.0] * 3, [1] * 3, 1.75) == [0]
    assert len(wrap_columns([80.0] * 40, [100.0] * 40, [1] * 40, 1.75)) > 3


def test_a_needle_is_cut_where_few_lines_cross():
    crossing = [5] * 40
    crossing[19] = 1
    assert 20 in wrap_columns([80.0] * 40, [300.0] * 40, crossing, 0.4)


def test_what_can_be_read_in_one_column_is_wrapped_where_one_line_passes_and_not_where_five_do():
    assert len(wrap_columns([90.0] * 10, [300.0] * 10, [1] * 10, 1.75)) > 1
    assert wrap_columns([90.0] * 10, [300.0] * 10, [5] * 10, 1.75) == [0]
    # Twice as tall it could not be read; in columns it can.
    assert len(wrap_columns([90.0] * 24, [300.0] * 24, [4] * 24, 1.75)) > 1


@pytest.mark.parametrize("count", [0, 1, 7, 50])
def test_packed_boxes_do_not_overlap(count):
    boxes = [(64.0 + 10 * (i % 3), 30.0 + 16 * (i % 2)) for i in range(count)]
    places, width, height = pack(boxes, 1.75)
    for (x, y), (w, h) in zip(places, boxes, strict=True):
        assert 0 <= x <= x + w <= width + 1e-6
        assert 0 <= y <= y + h <= height + 1e-6
    for ((x, y), (w, h)), ((u, v), (p, q)) in combinations(zip(places, boxes, strict=True), 2):
        assert x + w <= u or u + p <= x or y + h <= v or v + q <= y
