"""Constants and variables as chips inside the boxes that read them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.visible.test_visible_graph import lines
from tfgraphwidget.scene.scene import build as scene_of
from tfgraphwidget.scene.scene import paint
from tfgraphwidget.visible.view_spec import ViewSpec
from tfgraphwidget.visible.visible_graph import BADGE, VisibleGraph, build_visible_graph

pytestmark = pytest.mark.no_tensorflow

LAYER = {
    "x": "Placeholder",
    "w/initial": "Const",
    "w": "VariableV2",
    "w/Assign": "Assign w w/initial",
    "w/read": "Identity w",
    "mul": "MatMul x w/read",
    "shape": "Const",
    "y": "Reshape mul shape",
}


def chips(shown: VisibleGraph) -> list[tuple[str, str, str]]:
    """(what reads, the op's name, what is said) of each badge."""
    items = np.flatnonzero(shown.kind == BADGE).tolist()
    return [(shown.names[shown.parent[i]], shown.names[i], shown.labels[i]) for i in items]


def test_a_read_variable_and_a_constant_are_badges_of_their_readers(graph):
    shown = build_visible_graph(graph(LAYER), ViewSpec())
    assert chips(shown) == [("mul", "w/read", "w"), ("y", "shape", "shape")]
    assert lines(shown) == {("x", "mul"): 1, ("mul", "y"): 1}
    assert "shape" not in [
        n for n, kind in zip(shown.names, shown.kind, strict=True) if kind != BADGE
    ]


def test_without_badges_they_are_boxes(graph):
    shown = build_visible_graph(graph(LAYER), ViewSpec(badges=False))
    assert "shape" in shown.names
    assert chips(shown) == []


def test_one_constant_has_a_badge_at_each_of_its_readers(graph):
    index = graph(
        {"x": "Placeholder", "two": "Const", "a": "Mul x two", "b": "Mul a two", "c": "Mul two two"}
    )
    shown = build_visible_graph(index, ViewSpec())
    assert [reader for reader, _, _ in chips(shown)] == ["a", "b", "c"]
    assert shown.badge_op.tolist() == [index.op("two")] * 3
    assert shown.item_of_op[index.op("two")] == shown.badge_item[0]
    assert [shown.names[shown.parent[i]] for i in shown.badge_item] == ["a", "b", "c"]


def test_an_op_with_many_constants_shows_three_and_counts_the_rest(graph):
    consts = {f"k{i}": "Const" for i in range(8)}
    index = graph({"x": "Placeholder"} | consts | {"y": "AddN x " + " ".join(consts)})
    shown = build_visible_graph(index, ViewSpec())
    assert [said for _, _, said in chips(shown)] == ["k0", "k1", "k2", "+5 more"]
    last = shown.badge_item.max()
    assert sorted(shown.badge_op[shown.badge_item == last].tolist()) == [
        index.op(f"k{i}") for i in range(3, 8)
    ]
    assert shown.names[last] == "k3"
    assert shown.count[last] == 5


def test_a_closed_layer_has_the_badges_of_its_two_variables_and_not_of_constants(graph):
    ops = {"x": "Placeholder", "store/w": "VariableV2", "store/b": "VariableV2", "axis": "Const"}
    ops |= {
        "layer/mul": "MatMul x store/w",
        "layer/add": "BiasAdd layer/mul store/b",
        "layer/sum": "Sum layer/add axis",
    }
    shown = build_visible_graph(graph(ops), ViewSpec())
    assert chips(shown) == [("layer", "store/w", "w"), ("layer", "store/b", "b")]
    assert ("axis", "layer") in lines(shown)


def test_a_closed_scope_that_reads_three_variables_has_no_badges(graph):
    ops = {"x": "Placeholder"} | {f"store/v{k}": "VariableV2" for k in range(3)}
    ops |= {f"net/m{k}": f"MatMul x store/v{k}" for k in range(3)}
    assert chips(build_visible_graph(graph(ops), ViewSpec())) == []


def test_what_initialises_a_variable_has_its_constants_as_badges_and_the_variable_as_a_box(graph):
    shown = build_visible_graph(graph(LAYER), ViewSpec(frozenset({"w"})))
    assert ("w/Assign", "w/initial", "initial") in chips(shown)
    assert ("mul", "w/read", "w") in chips(shown)
    assert lines(shown)["w", "w/Assign"] == 1


def test_a_variable_behind_a_read_with_a_badge_goes_with_it(graph):
    index = graph(
        {"x": "Placeholder", "v": "VarHandleOp", "read": "ReadVariableOp v", "y": "MatMul x read"}
    )
    shown = build_visible_graph(index, ViewSpec())
    assert [n for n, kind in zip(shown.names, shown.kind, strict=True) if kind != BADGE] == [
        "",
        "x",
        "y",
    ]
    assert shown.item_of_op[index.op("v")] == shown.item_of_op[index.op("read")]


def test_a_saver_takes_no_variable_out_of_its_place(graph):
    ops = {
        "x": "Placeholder",
        "v": "VariableV2",
        "y": "Assign v x",
        "save/SaveV2": "SaveV2 save/names v",
    }
    ops |= {"save/names": "Const"}
    shown = build_visible_graph(graph(ops), ViewSpec(frozenset({"save"})))
    assert [op for reader, op, _ in chips(shown) if reader == "save/SaveV2"] == ["save/names"]


def test_badges_come_right_behind_their_siblings_and_parents_stay_in_order(graph):
    shown = build_visible_graph(graph(LAYER), ViewSpec(frozenset({"w"})))
    assert (np.diff(shown.parent) >= 0).all()
    assert (shown.parent[1:] < np.arange(1, len(shown))).all()
    assert (shown.depth[1:] == shown.depth[shown.parent[1:]] + 1).all()


def test_a_hidden_constant_has_no_badge_and_a_hidden_reader_takes_its_own_along(graph):
    index = graph(LAYER)
    assert chips(build_visible_graph(index, ViewSpec(hidden=frozenset({"shape"})))) == [
        ("mul", "w/read", "w")
    ]
    shown = build_visible_graph(index, ViewSpec(hidden=frozenset({"y"})))
    assert chips(shown) == [("mul", "w/read", "w")]
    assert "shape" in shown.names


def test_an_op_counts_where_it_belongs_and_not_where_its_badge_is(graph):
    index = graph(LAYER)
    scene = scene_of(index, ViewSpec())
    chosen = np.array([name.startswith("w") for name in index.names])
    coverage = dict(zip(scene.names, paint(scene, chosen).coverage.tolist(), strict=True))
    assert coverage["w"] == coverage["w/read"] == 2
    assert coverage["mul"] == coverage["shape"] == coverage["y"] == 0
    everything = paint(scene, np.ones(len(index), dtype=bool))
    assert set(everything.coverage.tolist()) == {2}


def test_a_marked_constant_marks_its_badges_and_the_scopes_around_it(graph):
    index = graph(
        {
            "x": "Placeholder",
            "s/k": "Const",
            "s/a": "Mul x s/k",
            "s/c": "Neg s/a",
            "b": "Mul s/c s/k",
        }
    )
    scene = scene_of(index, ViewSpec(frozenset({"s"})))
    mark = paint(scene, np.zeros(len(index), dtype=bool), inputs=[index.op("s/k")]).mark.tolist()
    marked = [
        (scene.names[i], scene.names[scene.parent[i]]) for i, bit in enumerate(mark) if bit and i
    ]
    assert sorted(marked) == [("s", ""), ("s/k", "b"), ("s/k", "s/a")]
