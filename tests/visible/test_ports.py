"""Tensors have ports of their own where they cross the border of an open scope; the last port is of
all further.

Tensors share a port only if they come from one box of the drawing and beyond the border go to the
same boxes.
"""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings

from tests.layout.checks import graph_of
from tests.rounds import ROUNDS
from tests.visible.test_every_edge_has_a_line import graphs, model
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.hierarchy.builder import outline_of
from tfgraphwidget.layout import place
from tfgraphwidget.visible.edge_bundles import MOST_PORTS
from tfgraphwidget.visible.view_spec import ViewSpec
from tfgraphwidget.visible.visible_graph import (
    OPEN,
    OUTPUTS,
    VisibleGraph,
    build_visible_graph,
    default_open,
)

__all__ = ["model"]

Border = tuple[int, str]


def ports_of(shown: VisibleGraph) -> dict[Border, dict[int, set[int]]]:
    """The tensors of each port of each border, by what the lines at it carry; control edges are the
    tensor -1.
    """
    found: dict[Border, dict[int, set[int]]] = {}
    for line, (a, b) in enumerate(zip(shown.source.tolist(), shown.target.tolist(), strict=True)):
        tensors = shown.edge_tensor[
            shown.edge_tensor_start[line] : shown.edge_tensor_start[line + 1]
        ].tolist() or [-1]
        comes_in, goes_out = shown.parent[b] == a, shown.parent[a] == b
        for item, port, side in (
            (a, int(shown.source_port[line]), "in" if comes_in else "out"),
            (b, int(shown.target_port[line]), "out" if goes_out else "in"),
        ):
            assert (port >= 0) == (shown.kind[item] == OPEN)
            if port >= 0:
                found.setdefault((item, side), {}).setdefault(port, set()).update(tensors)
    return found


def tensors_by_ends(shown: VisibleGraph) -> dict[Border, list[set[int]]]:
    """The tensors that cross each border, those together that come from one box and go to the same
    boxes beyond it.
    """
    onward: dict[tuple[Border, int], list[Border]] = {}
    for line, (a, b) in enumerate(zip(shown.source.tolist(), shown.target.tolist(), strict=True)):
        comes_in, goes_out = shown.parent[b] == a, shown.parent[a] == b
        begin = (a, "in" if comes_in else "out")
        end = (b, ("out" if goes_out else "in") if shown.kind[b] == OPEN else "")
        for tensor in shown.edge_tensor[
            shown.edge_tensor_start[line] : shown.edge_tensor_start[line + 1]
        ].tolist():
            if shown.kind[a] == OPEN:
                onward.setdefault((begin, tensor), []).append(end)
    groups: dict[Border, dict[tuple[int, frozenset[int]], set[int]]] = {}
    for border, tensor in onward:
        reached = [border]
        for one in reached:
            reached += onward.get((one, tensor), [])
        targets = frozenset(item for item, side in reached if not side)
        source = int(shown.home_of_op[tensor // OUTPUTS])
        groups.setdefault(border, {}).setdefault((source, targets), set()).add(tensor)
    return {border: list(alike.values()) for border, alike in groups.items()}


def check_ports(index: GraphIndex, opened: frozenset[str]) -> None:
    """Check the ports of all borders of a view, and where they are drawn."""
    shown = build_visible_graph(index, ViewSpec(opened))
    ports, crossing = ports_of(shown), tensors_by_ends(shown)
    for border, groups in crossing.items():
        of_data = {port: tensors for port, tensors in ports[border].items() if tensors != {-1}}
        count = min(len(groups), MOST_PORTS)
        assert sorted(of_data) == list(range(count))
        assert set().union(*of_data.values()) == set().union(*groups)
        assert all(of_data[port] in groups for port in range(count - 1))
        assert len(groups) > MOST_PORTS or of_data[count - 1] in groups
    check_places(shown)


def check_places(shown: VisibleGraph) -> None:
    """Check that the ports of a border are apart, and that all lines at one are at one place of
    it.
    """
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


@pytest.mark.no_tensorflow
def test_two_tensors_enter_a_scope_at_two_ports_and_leave_it_at_two():
    shown = build_visible_graph(two_inputs(), ViewSpec(frozenset({"net", "out", "out/deep"})))
    names = [shown.names[item] for item in range(len(shown))]
    net = names.index("net")
    ports = ports_of(shown)
    assert ports[net, "in"] == {0: {0 * OUTPUTS}, 1: {1 * OUTPUTS}}
    assert sorted(map(sorted, ports[net, "out"].values())) == [[3 * OUTPUTS], [4 * OUTPUTS]]
    check_places(shown)


@pytest.mark.no_tensorflow
def test_tensors_of_one_op_go_apart_only_where_they_go_to_different_boxes():
    """The images and the labels of an iterator do; two statistics of one op with the same consumer
    do not.
    """
    ops = {
        "data": "IteratorGetNext",
        "net/images": "Relu data",
        "net/labels": "Relu data:1",
        "net/stats": "Moments net/images",
        "net/norm/a": "Sub net/stats net/stats:1",
        "net/norm/b": "Relu net/norm/a",
    }
    shown = build_visible_graph(graph_of(ops), ViewSpec(frozenset({"net", "net/norm"}), fold=False))
    ports, names = ports_of(shown), list(shown.names)
    assert sorted(map(sorted, ports[names.index("net"), "in"].values())) == [
        [0 * OUTPUTS],
        [0 * OUTPUTS + 1],
    ]
    assert ports[names.index("net/norm"), "in"] == {0: {3 * OUTPUTS, 3 * OUTPUTS + 1}}


@pytest.mark.no_tensorflow
@pytest.mark.parametrize("count", [MOST_PORTS - 1, MOST_PORTS, MOST_PORTS + 1, 3 * MOST_PORTS])
def test_what_does_not_fit_is_one_bundle_with_its_count(count):
    ops = {f"x{k}": "Placeholder" for k in range(count)} | {
        f"net/y{k}": f"Relu x{k}" for k in range(count)
    }
    shown = build_visible_graph(graph_of(ops), ViewSpec(frozenset({"net"}), fold=False))
    net = list(shown.names).index("net")
    sizes = [len(tensors) for _, tensors in sorted(ports_of(shown)[net, "in"].items())]
    assert sizes == [1] * min(count, MOST_PORTS - 1) + [count - MOST_PORTS + 1] * (
        count >= MOST_PORTS
    )
    check_ports(graph_of(ops), frozenset({"net"}))


@pytest.mark.no_tensorflow
@settings(max_examples=16 * ROUNDS)
@given(graphs())
def test_of_random_graphs_the_tensors_across_a_border_have_ports_of_their_own(made):
    check_ports(*made)


@pytest.mark.parametrize("opened", ["at first", "everything"])
def test_of_the_models_the_tensors_across_a_border_have_ports_of_their_own(model, opened):
    views = {"at first": default_open(model), "everything": outline_of(model)[0].names}
    check_ports(model, frozenset(views[opened]))
