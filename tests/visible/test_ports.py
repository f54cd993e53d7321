"""Each tensor has a port of its own where it crosses the border of an open scope; the last port is of all further."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings

from tests.layout.checks import graph_of
from tests.visible.test_every_edge_has_a_line import edges_of, graphs, model, segments
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.hierarchy.builder import outline_of
from tfgraphwidget.layout import place
from tfgraphwidget.visible.edge_bundles import MOST_PORTS
from tfgraphwidget.visible.view_spec import ViewSpec
from tfgraphwidget.visible.visible_graph import OPEN, OUTPUTS, VisibleGraph, build_visible_graph, default_open

__all__ = ["model"]
pytestmark = pytest.mark.no_tensorflow

Border = tuple[int, str]


def ports_of(shown: VisibleGraph) -> dict[Border, dict[int, set[int]]]:
    """The tensors of each port of each border, by what the lines at it carry; control edges are the tensor -1."""
    found: dict[Border, dict[int, set[int]]] = {}
    for line, (a, b) in enumerate(zip(shown.source.tolist(), shown.target.tolist(), strict=True)):
        tensors = shown.edge_tensor[shown.edge_tensor_start[line] : shown.edge_tensor_start[line + 1]].tolist() or [-1]
        comes_in, goes_out = shown.parent[b] == a, shown.parent[a] == b
        for item, port, side in (
            (a, int(shown.source_port[line]), "in" if comes_in else "out"),
            (b, int(shown.target_port[line]), "out" if goes_out else "in"),
        ):
            assert (port >= 0) == (shown.kind[item] == OPEN)
            if port >= 0:
                found.setdefault((item, side), {}).setdefault(port, set()).update(tensors)
    return found


def crossing_tensors(index: GraphIndex, shown: VisibleGraph) -> dict[Border, set[int]]:
    """The tensors that cross each border, by the edges of the graph whose lines are all drawn."""
    drawn = shown.kind[shown.home_of_op] != OPEN
    drawn[shown.badge_op] = False
    carried = {}
    for line, ends in enumerate(zip(shown.source.tolist(), shown.target.tolist(), strict=True)):
        tensors = shown.edge_tensor[shown.edge_tensor_start[line] : shown.edge_tensor_start[line + 1]].tolist()
        carried.setdefault(ends, set()).update(tensors)
    found: dict[Border, set[int]] = {}
    for producer, port, consumer in edges_of(index):
        a, b = int(shown.home_of_op[producer]), int(shown.home_of_op[consumer])
        if port < 0 or a == b or not (drawn[producer] and drawn[consumer]):
            continue
        tensor = producer * OUTPUTS + port
        for x, y in segments(shown, a, b):
            if tensor not in carried.get((x, y), ()):
                continue
            comes_in, goes_out = shown.parent[y] == x, shown.parent[x] == y
            if comes_in or shown.kind[x] == OPEN:
                found.setdefault((x, "in" if comes_in else "out"), set()).add(tensor)
            if goes_out or shown.kind[y] == OPEN:
                found.setdefault((y, "out" if goes_out else "in"), set()).add(tensor)
    return found


def check_ports(index: GraphIndex, opened: frozenset[str]) -> None:
    """Check the ports of all borders of a view, and where they are drawn."""
    shown = build_visible_graph(index, ViewSpec(opened))
    ports, crossing = ports_of(shown), crossing_tensors(index, shown)
    for border, tensors in crossing.items():
        of_data = {port: held for port, held in ports[border].items() if held != {-1}}
        count = min(len(tensors), MOST_PORTS)
        assert sorted(of_data) == list(range(count))
        sizes = [len(of_data[port]) for port in range(count)]
        assert sizes[:-1] == [1] * (count - 1)
        assert sum(sizes) == len(tensors)
        assert set().union(*of_data.values()) == tensors
    check_places(shown)


def check_places(shown: VisibleGraph) -> None:
    """Check that the ports of a border are apart, and that all lines at one are at one place of it."""
    positions = place(shown)
    places: dict[tuple[int, str, int], set[float]] = {}
    for line, (a, b) in enumerate(zip(shown.source.tolist(), shown.target.tolist(), strict=True)):
        route = positions.route[positions.route_start[line] : positions.route_start[line + 1]]
        comes_in, goes_out = shown.parent[b] == a, shown.parent[a] == b
        for item, port, side, (x, y) in (
            (a, int(shown.source_port[line]), "in" if comes_in else "out", route[0].tolist()),
            (b, int(shown.target_port[line]), "out" if goes_out else "in", route[-1].tolist()),
        ):
            top, height = positions.box[item, [1, 3]].tolist()
            # What runs upwards, in a circle of scopes, is drawn from the upper border to the lower.
            is_upwards = (y > top + height / 2) == (side == "in")
            if port >= 0 and not is_upwards:
                places.setdefault((item, side, port), set()).add(round(x, 1))
    borders: Counter[tuple[int, str]] = Counter()
    spots: dict[tuple[int, str], set[float]] = {}
    for (item, side, port), at in places.items():
        assert max(at) - min(at) < 2, f"the lines at port {port} of {shown.names[item]} do not meet"
        borders[item, side] += 1
        spots.setdefault((item, side), set()).add(min(at))
    for border, count in borders.items():
        assert len(spots[border]) == count, f"ports of {shown.names[border[0]]} fall together"


def two_inputs() -> GraphIndex:
    """Two tensors go into a scope, and two come out; another scope is around their consumers."""
    return graph_of(
        {
            "x": "Placeholder",
            "y": "Placeholder",
            "net/a": "Relu x",
            "net/b": "Relu y",
            "net/c": "Add net/a net/b",
            "out/deep/d": "Relu net/c",
            "out/deep/e": "Relu net/b",
        }
    )


def test_two_tensors_enter_a_scope_at_two_ports_and_leave_it_at_two():
    shown = build_visible_graph(two_inputs(), ViewSpec(frozenset({"net", "out", "out/deep"})))
    names = [shown.names[item] for item in range(len(shown))]
    net = names.index("net")
    ports = ports_of(shown)
    assert ports[net, "in"] == {0: {0 * OUTPUTS}, 1: {1 * OUTPUTS}}
    assert sorted(map(sorted, ports[net, "out"].values())) == [[3 * OUTPUTS], [4 * OUTPUTS]]
    check_places(shown)


@pytest.mark.parametrize("count", [MOST_PORTS - 1, MOST_PORTS, MOST_PORTS + 1, 3 * MOST_PORTS])
def test_what_does_not_fit_is_one_bundle_with_its_count(count):
    ops = {f"x{k}": "Placeholder" for k in range(count)} | {f"net/y{k}": f"Relu x{k}" for k in range(count)}
    shown = build_visible_graph(graph_of(ops), ViewSpec(frozenset({"net"}), fold=False))
    net = list(shown.names).index("net")
    sizes = [len(held) for _, held in sorted(ports_of(shown)[net, "in"].items())]
    assert sizes == [1] * min(count, MOST_PORTS - 1) + [count - MOST_PORTS + 1] * (count >= MOST_PORTS)
    check_ports(graph_of(ops), frozenset({"net"}))


@settings(max_examples=40)
@given(graphs())
def test_of_random_graphs_the_tensors_across_a_border_have_ports_of_their_own(made):
    check_ports(*made)


@pytest.mark.parametrize("opened", ["at first", "everything"])
def test_of_the_models_the_tensors_across_a_border_have_ports_of_their_own(model, opened):
    views = {"at first": default_open(model), "everything": outline_of(model)[0].names}
    check_ports(model, frozenset(views[opened]))
