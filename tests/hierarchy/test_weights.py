"""What only holds weights is one box beside the network, or a badge in it."""

from __future__ import annotations

import pytest

from tfgraphwidget.hierarchy import READ, default_open, find_op_facts, outline_of
from tfgraphwidget.visible import BADGE, ViewSpec, build_visible_graph

pytestmark = pytest.mark.no_tensorflow

LAYERS = tuple(f"conv_{k}" for k in range(16))


def hub(layers=LAYERS):
    """A TF-Hub module: variables in one copy, their reads in scopes beside the ops of the other.

    Each read of a partitioned variable is a ReadVariableOp and an Identity; init_from_checkpoint
    adds an Identity and an Assign for each.
    """
    ops, before = {"x": "Placeholder"}, "x"
    for k, layer in enumerate(layers):
        variable, read = f"module/{layer}/w", f"apply/net/{layer}/w"
        ops |= {
            variable: "VarHandleOp",
            f"{variable}/Initializer/zeros": "Const",
            f"{variable}/Assign": f"AssignVariableOp {variable} {variable}/Initializer/zeros",
            f"{read}/Read": f"ReadVariableOp {variable}",
            f"{read}/ReadVariableOp": f"ReadVariableOp {variable}",
            read: f"Identity {read}/ReadVariableOp",
            f"apply/net/net/{layer}/Conv2D": f"Conv2D {before} {read}",
            f"apply/net/net/{layer}/Relu": f"Relu apply/net/net/{layer}/Conv2D",
            f"checkpoint_initializer_{k}": "RestoreV2",
            f"Identity_{k}": f"Identity checkpoint_initializer_{k}",
            f"AssignVariableOp_{k}": f"AssignVariableOp {variable} Identity_{k}",
        }
        before = f"apply/net/net/{layer}/Relu"
    return ops | {"out": f"Softmax {before}"}


def drawn(shown, inside=""):
    at = shown.names.index(inside)
    return {
        name
        for name, parent, kind in zip(shown.names, shown.parent, shown.kind, strict=True)
        if parent == at and kind != BADGE
    }


def test_a_hub_module_opens_with_its_network_and_one_box_of_weights(graph):
    index = graph(hub())
    opened = default_open(index)
    assert "apply/net/net" in opened
    shown = build_visible_graph(index, ViewSpec(opened))
    assert drawn(shown) == {"x", "(weights)", "apply", "out"}
    assert drawn(shown, "apply") >= {"apply/net/net"}
    aside = [name for name, is_aside in zip(shown.names, shown.aside, strict=True) if is_aside]
    assert "(weights)" in aside
    assert all("weights" in name for name in aside)
    lines = zip(shown.source.tolist(), shown.target.tolist(), strict=True)
    assert not any(
        {source, target} & {shown.names.index(n) for n in aside} for source, target in lines
    )


def test_an_identity_of_a_variables_read_is_a_read_and_a_badge_at_its_op(graph):
    index = graph(
        {
            "x": "Placeholder",
            "w": "VarHandleOp",
            "w/ReadVariableOp": "ReadVariableOp w",
            "w/Identity": "Identity w/ReadVariableOp",
            "mul": "MatMul x w/Identity",
            "c": "Const",
            "same": "Identity c",
            "add": "AddV2 mul same",
        }
    )
    kind = find_op_facts(index).constant_kind
    assert kind[index.ids["w/Identity"]] == READ
    assert kind[index.ids["same"]] != READ
    shown = build_visible_graph(index, ViewSpec())
    assert drawn(shown) == {"x", "mul", "same", "add"}


def layer(name, before):
    parameters = ("gamma", "beta", "moving_mean", "moving_variance")
    ops = {}
    for each in parameters:
        variable = f"{name}/{each}"
        ops |= {
            variable: "VarHandleOp",
            f"{variable}/Initializer/zeros": "Const",
            f"{variable}/Assign": f"AssignVariableOp {variable} {variable}/Initializer/zeros",
            f"{name}/Read_{each}": f"ReadVariableOp {variable}",
        }
    reads = " ".join(f"{name}/Read_{each}" for each in parameters)
    return ops | {f"{name}/FusedBatchNormV3": f"FusedBatchNormV3 {before} {reads}"}


def test_the_parameters_of_a_batch_norm_are_badges_at_its_op_and_one_quiet_box(graph):
    ops = {"x": "Placeholder"} | layer("bn", "x") | {"y": "Relu bn/FusedBatchNormV3"}
    shown = build_visible_graph(graph(ops), ViewSpec(frozenset({"bn"})))
    assert drawn(shown, "bn") == {"bn/FusedBatchNormV3", "bn/(weights)"}
    assert shown.aside[shown.names.index("bn/(weights)")]
    op = shown.names.index("bn/FusedBatchNormV3")
    assert ((shown.parent == op) & (shown.kind == BADGE)).sum() == 4


def test_variables_that_are_badges_beside_their_ops_have_no_box(graph):
    ops = {"x": "Placeholder"}
    for k in range(5):
        ops |= {
            f"w_{k}": "VarHandleOp",
            f"r_{k}": f"ReadVariableOp w_{k}",
            f"mul_{k}": f"{('MatMul', 'Mul')[k % 2]} {'x' if k == 0 else f'mul_{k - 1}'} r_{k}",
        }
    index = graph(ops)
    assert drawn(build_visible_graph(index, ViewSpec())) == {"x", *(f"mul_{k}" for k in range(5))}


def test_what_constants_compute_for_the_network_is_part_of_it(graph):
    ops = {"x": "Placeholder"}
    for k in range(4):
        ops |= {
            f"position_{k}/range": "Const",
            f"position_{k}/sin": f"Sin position_{k}/range",
            f"position_{k}/scaled": f"Mul position_{k}/sin position_{k}/range",
            f"add_{k}": f"AddV2 {'x' if k == 0 else f'add_{k - 1}'} position_{k}/scaled",
        }
    assert "(weights)" not in outline_of(graph(ops))[0].names


def test_two_boxes_are_no_crowd(network):
    names = outline_of(network)[0].names
    assert "(weights)" not in names


def test_constants_go_with_the_initializer_that_reads_them(graph):
    ops = {"x": "Placeholder", "y": "Relu x", "shape": "Const", "value": "Const"}
    ops |= {"zeros": "Fill shape value", "init": "NoOp", "group_deps": "NoOp"}
    assert drawn(build_visible_graph(graph(ops), ViewSpec())) == {"x", "y", "(weights)"}
