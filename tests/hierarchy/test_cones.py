"""In a crowd, what leads to one op only is drawn as one box with it."""

from __future__ import annotations

from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest

from tests.hierarchy.test_repeats import boxes
from tfgraphwidget.graph.index import build
from tfgraphwidget.hierarchy.builder import outline_of
from tfgraphwidget.hierarchy.op_facts import FAMILIES
from tfgraphwidget.visible.view_spec import ViewSpec
from tfgraphwidget.visible.visible_graph import CLOSED, VisibleGraph, build_visible_graph

pytestmark = pytest.mark.no_tensorflow
TYPES = ("Reshape", "Mul", "Cast", "ConcatV2", "Relu", "MatMul", "Slice")


def reshapes(count: int) -> dict[str, str]:
    """x -> so many reshapes to computed shapes, each before an activation of its own -> y."""
    ops, before = {"x": "Placeholder", "begin": "Const", "size": "Const"}, "x"
    for k in range(count):
        kind = ("Relu", "Tanh", "Elu", "Sigmoid")[(k // 3) % 4]  # chains that differ are no fold
        ops |= {
            f"Shape_{k}": f"Shape {before}",
            f"strided_slice_{k}/stack": "Const",
            f"strided_slice_{k}": f"StridedSlice Shape_{k} strided_slice_{k}/stack begin",
            f"strided_slice_{k}_1": f"StridedSlice Shape_{k} begin begin",
            f"pack_{k}": f"Pack strided_slice_{k} strided_slice_{k}_1 size",
            f"Reshape_{k}": f"Reshape {before} pack_{k}",
            f"act_{k}": f"{kind} Reshape_{k} {f'act_{k - 2}' if k > 1 and k % 5 == 0 else ''}",
        }
        before = f"act_{k}"
    # What passes all of it by leaves no bottleneck: the ops are no blocks of a network.
    return ops | {"end": f"MatMul {before} act_0", "y": "Softmax end"}


def members(graph, ops: dict[str, str], group: str) -> set[str]:
    index = graph(ops)
    outline = outline_of(index)[0]
    return {index.names[op] for op in outline.ops(outline.ids[group])}


def is_acyclic(seen: VisibleGraph) -> bool:
    """Whether the boxes are in no circle; one with the gradients does not count."""
    lines = zip(seen.source.tolist(), seen.target.tolist(), strict=True)
    boxes = nx.DiGraph([(a, b) for a, b in lines if seen.parent[a] == seen.parent[b]])
    gradients = [number for number in boxes if seen.names[number].startswith("gradients")]
    boxes.remove_nodes_from(gradients)
    return nx.is_directed_acyclic_graph(boxes)


def test_what_computes_the_shape_of_a_reshape_is_in_its_box(graph):
    ops = reshapes(12)
    seen = build_visible_graph(graph(ops), ViewSpec())
    # Each activation is the only op that reads its reshape, and takes that in too.
    cone = {"Shape_3", "strided_slice_3", "strided_slice_3_1", "pack_3", "Reshape_3", "act_3"}
    assert members(graph, ops, "… act_3") == cone | {"strided_slice_3/stack"}
    at = seen.names.index("… act_3")
    assert (seen.labels[at], seen.kind[at]) == ("act_3", CLOSED)
    assert FAMILIES[seen.family[at]] == "activation", "it has the color of the op it is named for"
    assert len(boxes(seen)) < 20


def test_a_box_opens_to_its_ops(graph):
    seen = build_visible_graph(graph(reshapes(12)), ViewSpec(frozenset({"… act_3"})))
    at = seen.names.index("… act_3")
    inside = {name for name, around in zip(seen.names, seen.parent, strict=True) if around == at}
    assert inside >= {"Shape_3", "strided_slice_3", "strided_slice_3_1", "pack_3", "Reshape_3"}


def test_where_there_are_few_boxes_each_op_is_one(graph):
    assert not outline_of(graph(reshapes(6)))[0].cones.any()


def test_what_several_ops_read_stays_a_box(graph):
    ops = reshapes(12) | {"other": "Tanh strided_slice_3"}
    assert "strided_slice_3" not in members(graph, ops, "… act_3")
    assert "Shape_3" not in members(graph, ops, "… act_3"), "it leads to two boxes"
    assert "… strided_slice_3" not in outline_of(graph(ops))[0].names, "nothing leads to it only"


def test_gradients_are_no_readers(graph):
    ops = reshapes(12)
    ops["gradients/Reshape_3_grad/Shape"] = "Shape Reshape_3"
    ops["gradients/Reshape_3_grad/Reshape"] = "Reshape y gradients/Reshape_3_grad/Shape"
    assert "Reshape_3" in members(graph, ops, "… act_3")


def test_gradients_that_lead_back_are(graph):
    """A force is the gradient of an energy, and the network goes on with it."""
    ops = reshapes(12)
    ops["gradients/Reshape_11_grad/Reshape"] = "Reshape y Reshape_11"
    ops["force"] = "Mul gradients/Reshape_11_grad/Reshape Reshape_11"
    ops["o_force"] = "MatMul force force"
    assert is_acyclic(build_visible_graph(graph(ops), ViewSpec()))


@pytest.mark.parametrize("scope", ["… net", "… ", "a… b/… "])
def test_names_of_a_stranger_that_look_like_those_of_boxes_do_no_harm(scope):
    nodes = [SimpleNamespace(name="… act_3", op="Placeholder", attr={}, input=[], device="")]
    for name, text in reshapes(12).items():
        op_type, *read = text.split()
        inputs = [f"{scope}/{source}" for source in read]
        nodes.append(
            SimpleNamespace(name=f"{scope}/{name}", op=op_type, attr={}, input=inputs, device="")
        )
    index = build(nodes)
    outline = outline_of(index)[0]
    assert outline.cones.any()
    assert is_acyclic(build_visible_graph(index, ViewSpec(frozenset(outline.names))))


def test_a_loop_has_no_tip(graph):
    ops = reshapes(12)
    ops |= {
        "loop/merge": "Merge x loop/next",
        "loop/add": "Add loop/merge begin",
        "loop/next": "NextIteration loop/add",
    }
    assert "loop" in boxes(build_visible_graph(graph(ops), ViewSpec()))


def test_a_computation_with_one_result_is_several_boxes(graph):
    """All of it leads to the result only; alike branches are cut at one depth."""
    ops, before = {"x": "Placeholder"}, "x"
    for step in range(6):
        for branch in "abc":
            ops[f"{branch}{step}_0"] = f"Mul {before} x"
            for k in range(1, 5):
                ops[f"{branch}{step}_{k}"] = f"{('Cast', 'Mul')[k % 2]} {branch}{step}_{k - 1}"
        ops[f"sum_{step}"] = f"AddN {' '.join(f'{branch}{step}_4' for branch in 'abc')} {before}"
        before = f"sum_{step}"
    seen = build_visible_graph(graph(ops | {"y": f"Identity {before}"}), ViewSpec(fold=False))
    whole = build_visible_graph(graph(ops | {"y": f"Identity {before}"}), ViewSpec())
    assert len(boxes(seen)) == 98
    assert 6 <= len(boxes(whole)) <= 45
    assert is_acyclic(whole)


@pytest.mark.parametrize("share", [0.0, 0.1])
@pytest.mark.parametrize("seed", range(12))
def test_no_box_makes_a_circle(graph, seed, share):
    """Also where a share of the ops are gradients, which the network goes on with."""
    numbers = np.random.default_rng(seed)
    ops = {"x": "Placeholder", "z": "Placeholder"}
    for k in range(150):
        before = [*ops][-int(numbers.integers(2, 12)) :]
        read = numbers.choice(before, size=int(numbers.integers(1, 3)))
        is_gradient = k > 60 and numbers.random() < share
        name = f"gradients/op_{k % 60}_grad/op_{k}" if is_gradient else f"op_{k}"
        ops[name] = f"{numbers.choice(TYPES)} {' '.join(read)}"
    index = graph(ops)
    outline = outline_of(index)[0]
    assert outline.cones.any()
    for cone in np.flatnonzero(outline.cones).tolist():
        inside = (outline.parent == cone).sum() + (outline.home == cone).sum()
        assert outline.members[cone] <= inside, "each op is in one box"
    assert is_acyclic(build_visible_graph(index, ViewSpec()))
