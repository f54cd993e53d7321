"""Walks over adjacency lists find what networkx finds."""

from __future__ import annotations

import sys
from itertools import pairwise
from types import ModuleType
from unittest import mock

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfgraphwidget.graph import adjacency
from tfgraphwidget.graph.adjacency import (
    distinct,
    first_to_reach,
    is_among,
    reach,
    rows_of,
    shortest_path,
    strong_components,
    turn_around,
    walk_from,
    weak_components,
)
from tfgraphwidget.graph.traversal import after_sources

pytestmark = pytest.mark.no_tensorflow

COUNT = 9
NODES = st.integers(0, COUNT - 1)
EDGES = st.lists(st.tuples(NODES, NODES), max_size=30)


def rows(edges: list[tuple[int, int]], count: int = COUNT) -> tuple[np.ndarray, np.ndarray]:
    """The edges in CSR."""
    owner, values = np.array(edges, dtype=np.int32).reshape(-1, 2).T
    return rows_of(owner, values, count)


def graph(edges: list[tuple[int, int]]) -> nx.DiGraph:
    """The same edges in networkx."""
    made = nx.DiGraph(edges)
    made.add_nodes_from(range(COUNT))
    return made


@given(EDGES, st.lists(NODES, max_size=3))
def test_what_is_reached_are_the_descendants_and_the_seeds(
    edges: list[tuple[int, int]], seeds: list[int]
) -> None:
    expected = set(seeds).union(*(nx.descendants(graph(edges), seed) for seed in seeds))
    assert (
        set(np.flatnonzero(reach(*rows(edges), np.array(seeds, dtype=np.int32))).tolist())
        == expected
    )


@given(edges=EDGES, seeds=st.lists(NODES))
def test_a_walk_of_python_comes_to_each_of_them_once(
    edges: list[tuple[int, int]], seeds: list[int]
) -> None:
    start, values = rows(edges)
    way = [*walk_from(seeds, lambda node: values[start[node] : start[node + 1]].tolist())]
    assert len(way) == len(set(way))
    expected = reach(start, values, np.array(seeds, np.int32))
    assert sorted(way) == np.flatnonzero(expected).tolist()


@given(edges=EDGES)
def test_ops_come_after_their_sources_but_for_cycles(edges: list[tuple[int, int]]) -> None:
    start, values = rows(edges)
    order = after_sources(
        range(COUNT), lambda node: values[start[node] : start[node + 1]].tolist(), COUNT
    )
    assert sorted(order) == list(range(COUNT))
    if nx.is_directed_acyclic_graph(nx.DiGraph(edges)):
        assert all(order.index(source) < order.index(node) for node, source in edges)


@pytest.mark.parametrize("wide", [3, 5_000])
def test_what_is_reached_is_the_same_for_wide_and_narrow_graphs(wide: int) -> None:
    layers = np.arange(4 * wide).reshape(4, wide)
    edges = [
        (a, b)
        for row, after in pairwise(layers)
        for a, b in zip(row, np.roll(after, 1), strict=True)
    ]
    start, values = rows(edges, 4 * wide)
    assert reach(start, values, layers[1]).tolist() == [False] * wide + [True] * 3 * wide


@given(EDGES, st.lists(NODES, max_size=3), NODES, NODES)
def test_scipys_walks_find_the_same(
    edges: list[tuple[int, int]], seeds: list[int], first: int, last: int
) -> None:
    nodes = np.array(seeds, dtype=np.int32)
    own = reach(*rows(edges), nodes), shortest_path(*rows(edges), first, last)
    with mock.patch.object(
        adjacency, "_search_of_scipy", return_value=adjacency._compiled_search()
    ):
        other = reach(*rows(edges), nodes), shortest_path(*rows(edges), first, last)
    assert other[0].tolist() == own[0].tolist()
    assert len(other[1]) == len(own[1])
    assert set(pairwise(other[1])) <= set(edges)


def test_large_graphs_are_walked_by_scipy_where_tensorflow_was_imported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "tensorflow", ModuleType("tensorflow"))
    assert adjacency._search_of_scipy(1_000_000) is adjacency._compiled_search() is not None
    assert adjacency._search_of_scipy(100) is None
    monkeypatch.delitem(sys.modules, "tensorflow")
    assert adjacency._search_of_scipy(1_000_000) is None


@given(EDGES, st.lists(NODES, max_size=4, unique=True))
def test_the_first_seed_that_leads_to_a_node(
    edges: list[tuple[int, int]], seeds: list[int]
) -> None:
    reached = [nx.descendants(graph(edges), seed) | {seed} for seed in seeds]
    expected = [
        next((k for k, some in enumerate(reached) if node in some), len(seeds))
        for node in range(COUNT)
    ]
    assert first_to_reach(*rows(edges), np.array(seeds, dtype=np.int32)).tolist() == expected


@given(EDGES, NODES, NODES)
def test_a_shortest_path_is_one_of_networkx(
    edges: list[tuple[int, int]], source: int, target: int
) -> None:
    made = graph(edges)
    paths = (
        list(nx.all_shortest_paths(made, source, target))
        if nx.has_path(made, source, target)
        else [[]]
    )
    assert shortest_path(*rows(edges), source, target) in paths


@given(EDGES)
def test_components_are_those_of_networkx(edges: list[tuple[int, int]]) -> None:
    strong, weak = (
        strong_components(*rows(edges)),
        weak_components(COUNT, np.array(edges).reshape(-1, 2)),
    )
    for labels, expected in (
        (strong.tolist(), nx.strongly_connected_components(graph(edges))),
        (weak, nx.weakly_connected_components(graph(edges))),
    ):
        parts: dict[int, set[int]] = {}
        for node, label in enumerate(labels):
            parts.setdefault(label, set()).add(node)
        assert sorted(map(sorted, parts.values())) == sorted(map(sorted, expected))
    assert [label for k, label in enumerate(weak) if label not in weak[:k]] == list(
        range(max(weak) + 1)
    )


@given(EDGES)
def test_the_opposite_direction_lists_each_edge_once_and_says_where_it_was(
    edges: list[tuple[int, int]],
) -> None:
    start, values = rows(edges)
    back, sources, places = turn_around(start, values, COUNT)
    assert sorted(places.tolist()) == list(range(len(edges)))
    found = [(a, b) for b in range(COUNT) for a in sources[back[b] : back[b + 1]].tolist()]
    assert sorted(found) == sorted(edges)
    assert found == sorted(found, key=lambda edge: edge[::-1])
    assert [values[place] for place in places] == [b for _, b in found]


@given(st.lists(NODES), st.lists(NODES))
def test_distinct_numbers_and_those_among_others_are_those_that_numpy_finds(
    some: list[int], others: list[int]
) -> None:
    values, known = np.array(some, dtype=np.int64), np.array(others, dtype=np.int64)
    assert distinct(values).tolist() == np.unique(values).tolist()
    assert is_among(values, known).tolist() == np.isin(values, known).tolist()
