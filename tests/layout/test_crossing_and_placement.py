"""Random layered drawings: rows are only reordered, neighbours keep their distance, lanes are
straight.
"""

from __future__ import annotations

from itertools import pairwise, product
from random import Random

import pytest

from tfgraphwidget.layout.layered.crossing import minimize_crossings
from tfgraphwidget.layout.layered.placement import OrderedRows, align_nodes, straighten_chains
from tfgraphwidget.layout.layered.routing import HyperedgeSpan, assign_tracks

pytestmark = pytest.mark.no_tensorflow

Links = list[tuple[int, int]]


def tangled(seed: int) -> tuple[list[list[int]], Links]:
    """A dozen rows of up to nine vertices, and links between neighbouring rows."""
    draw, rows, links, count = Random(seed), [], [], 0
    for _ in range(12):
        rows.append(list(range(count, count + draw.randint(1, 9))))
        count += len(rows[-1])
    for upper, lower in pairwise(rows):
        links += [(a, b) for a, b in product(upper, lower) if draw.random() < 0.3]
    return rows, links


def crossings(rows: list[list[int]], links: Links) -> int:
    """Counted pair by pair."""
    at = {vertex: (level, i) for level, row in enumerate(rows) for i, vertex in enumerate(row)}
    ends = [(at[a], at[b]) for a, b in links]
    return sum(
        a[0] == c[0] and a[1] < c[1] and b[1] > d[1] for (a, b), (c, d) in product(ends, ends)
    )


@pytest.mark.parametrize("seed", range(8))
def test_rows_are_only_reordered_and_cross_less(seed):
    rows, links = tangled(seed)
    found = minimize_crossings(rows, links, rows[-1][-1] + 1)
    assert [sorted(row) for row in found] == rows
    assert crossings(found, links) < crossings(rows, links)
    assert found == minimize_crossings(rows, links, rows[-1][-1] + 1)


@pytest.mark.parametrize("seed", range(8))
def test_neighbours_keep_their_distance_and_lanes_are_straight(seed):
    rows, links = tangled(seed)
    # The first vertex of each row is a lane, from top to bottom.
    first = {row[0] for row in rows}
    links = sorted({*links, *((a[0], b[0]) for a, b in pairwise(rows))})
    count = rows[-1][-1] + 1
    weighed = [(a, b, 30.0 if {a, b} <= first else 1.0, 0.0) for a, b in links]
    gaps = [[20.0 + vertex % 5 for vertex in row[1:]] for row in rows]
    given = OrderedRows(
        rows, gaps, [10.0] * count, weighed, [vertex in first for vertex in range(count)]
    )
    for x in (align_nodes(given), straighten_chains(align_nodes(given), given)):
        for row, between in zip(rows, gaps, strict=True):
            for (a, b), gap in zip(pairwise(row), between, strict=True):
                assert x[b] - x[a] >= gap - 1e-6
    assert max(x[vertex] for vertex in first) - min(x[vertex] for vertex in first) < 1e-6


@pytest.mark.parametrize("count", [30, 120, 600])
def test_no_two_nets_run_on_top_of_each_other(count):
    draw = Random(count)
    hyperedges = [
        HyperedgeSpan((draw.uniform(0, 3000),), (draw.uniform(0, 3000),)) for _ in range(count)
    ]
    found = assign_tracks(hyperedges)
    spans = [
        (track, min(*hyperedge.tops, *hyperedge.bottoms), max(*hyperedge.tops, *hyperedge.bottoms))
        for track, hyperedge in zip(found, hyperedges, strict=True)
    ]
    bent = sorted(span for span in spans if span[0] >= 0)
    assert len(bent) > 0.9 * count
    assert all(one[2] < other[1] for one, other in pairwise(bent) if one[0] == other[0])
