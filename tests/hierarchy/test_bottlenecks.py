"""Where names say nothing, what lies between two bottlenecks is a block."""

from __future__ import annotations

import numpy as np
import pytest

from tests.hierarchy.test_repeats import boxes
from tests.visible.test_visible_graph import lines
from tfgraphwidget.hierarchy.builder import outline_of
from tfgraphwidget.hierarchy.layer_groups import split_at_bottlenecks
from tfgraphwidget.visible.view_spec import ViewSpec
from tfgraphwidget.visible.visible_graph import build_visible_graph

pytestmark = pytest.mark.no_tensorflow


def residual(count: int, *, act: str = "Relu") -> dict[str, str]:
    """x -> so many residual blocks of Keras' own names, all in one scope -> y."""
    ops, before = {"x": "Placeholder"}, "x"
    for k in range(count):
        ops |= {
            f"net/conv_{2 * k}": f"Conv2D {before}",
            f"net/norm_{2 * k}": f"Mul net/conv_{2 * k}",
            f"net/conv_{2 * k + 1}": f"Conv2D net/norm_{2 * k}",
            f"net/norm_{2 * k + 1}": f"Mul net/conv_{2 * k + 1}",
            f"net/add_{k}": f"AddN {before} net/norm_{2 * k + 1}",
            f"net/act_{k}": f"{act} net/add_{k}",
        }
        before = f"net/act_{k}"
    return ops | {"y": f"Softmax {before}"}


def shown(index, *opened):
    return build_visible_graph(index, ViewSpec(frozenset({"net", *opened})))


def test_residual_blocks_end_with_their_sum_and_its_activation(graph):
    seen = shown(graph(residual(14)))
    assert boxes(seen) == {
        "x": 0,
        "net": 0,
        "y": 0,
        "net/conv_0": 0,
        "net/norm_0": 0,
        "net/conv_1": 0,
    } | {
        "net/norm_1": 0,
        "net/add_0": 0,
        "net/act_0": 0,
    } | {f"net/… act_{k}": 0 for k in range(1, 14)}
    assert lines(seen)["net/… act_3", "net/… act_4"] == 1


def test_a_box_that_is_no_activation_stays_between_blocks(graph):
    names = shown(graph(residual(14, act="MaxPool"))).names
    assert {"net/… add_3", "net/act_3", "net/… add_4"} <= set(names)


def test_many_blocks_are_folded(graph):
    assert boxes(shown(graph(residual(50))))["net/act_1 … act_49"] == 49


def test_a_block_holds_what_only_it_reads(graph):
    ops = residual(14)
    for k in range(28):
        ops |= {
            f"net/w_{k}": "VariableV2",
            f"net/conv_{k}": f"{ops[f'net/conv_{k}']} net/w_{k} net/one",
        }
    outline = outline_of(graph(ops | {"net/one": "Const"}))[0]
    index = graph(ops | {"net/one": "Const"})
    block = outline.ids["net/… act_5"]
    assert {index.names[op] for op in outline.ops(block)} >= {"net/w_10", "net/w_11", "net/conv_10"}
    assert "net/one" not in {index.names[op] for op in outline.ops(block)}


def test_a_network_with_a_line_past_all_of_it_has_steps_for_want_of_bottlenecks(graph):
    ops = residual(14)
    ops["net/end"] = "AddN net/act_13 x net/conv_0"
    outline = outline_of(graph(ops | {"y": "Softmax net/end"}))[0]
    blocks = {outline.names[node] for node in np.flatnonzero(outline.blocks & ~outline.cones)}
    assert blocks == {f"net/… act_{k}" for k in range(14)}


def test_training_that_reads_everything_again_changes_no_block(graph):
    """As in a step of Keras without scopes, where the gradients read each activation."""
    ops = {name.removeprefix("net/"): text for name, text in residual(14).items()}
    ops = {name: text.replace("net/", "") for name, text in ops.items()}
    before = "gradients/ones"
    for name in [name for name, text in ops.items() if text.startswith(("Conv2D", "Relu"))][::-1]:
        ops[f"gradients/{name}_grad/Grad"] = f"Mul {before} {name}"
        before = f"gradients/{name}_grad/Grad"
    seen = build_visible_graph(graph(ops | {"gradients/ones": "Const"}), ViewSpec())
    assert {f"… act_{k}" for k in range(1, 14)} <= boxes(seen).keys()


def test_where_names_group_few_boxes_the_graph_decides(graph):
    """As in the first ResNet50 of Keras: "res2a_branch2a", "bn2a_branch2a", "activation_2"."""
    ops, before = {"x": "Placeholder"}, "x"
    for k in range(8):
        for branch in "abc":
            ops[f"res{k}_branch_{branch}"] = f"Conv2D {before}"
            ops[f"bn{k}{branch}"] = f"FusedBatchNorm res{k}_branch_{branch}"
            ops[f"activation_{k}_{branch}"] = f"Relu bn{k}{branch}"
            before = f"activation_{k}_{branch}"
        ops[f"add_{k}"] = f"AddN {before} {f'sum_{k - 1}' if k else 'x'}"
        ops[f"sum_{k}"] = f"Relu add_{k}"
        before = f"sum_{k}"
    seen = boxes(build_visible_graph(graph(ops | {"y": f"Softmax {before}"}), ViewSpec()))
    assert {f"… sum_{k}" for k in range(1, 8)} <= seen.keys()


@pytest.mark.parametrize(
    ("pairs", "found"),
    [
        ([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)], []),  # a chain is all bottlenecks
        ([(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (3, 4), (4, 5)], [[1, 2, 3, 4]]),
        ([(0, 2), (1, 2), (0, 3), (2, 3), (3, 4), (4, 5)], [[0, 1, 2, 3]]),  # two begin
        ([(0, 1), (0, 2), (1, 3), (2, 3), (3, 0), (3, 4), (4, 5)], []),  # a cycle
        ([], []),
    ],
)
def test_stretches(pairs, found):
    ends = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    assert (
        split_at_bottlenecks([*range(6)], (ends[0], ends[1]), np.zeros(6, dtype=bool), 3, 9)
        == found
    )


def test_what_is_fed_past_all_layers_hides_no_block(graph):
    ops = {"training": "Placeholder", "labels": "Placeholder"} | residual(14)
    ops = {name.removeprefix("net/"): text.replace("net/", "") for name, text in ops.items()}
    ops |= {name: f"{text} training" for name, text in ops.items() if name.startswith("norm_")}
    seen = boxes(build_visible_graph(graph(ops | {"loss": "SoftmaxLoss y labels"}), ViewSpec()))
    assert {f"… act_{k}" for k in range(1, 14)} <= seen.keys()
    assert {"x", "training", "labels", "loss"} <= seen.keys()
