"""Which scopes are open at first."""

from __future__ import annotations

import pytest

from tfgraphwidget.visible.visible_graph import default_open

pytestmark = pytest.mark.no_tensorflow


def flat(count: int) -> dict[str, str]:
    """One scope of so many ops that are not alike enough to be folded."""
    types = ("Relu", "Tanh", "Sqrt", "Neg", "Abs")
    ops = {"x": "Placeholder", "all/n0": "Relu x"}
    for k in range(1, count):
        ops[f"all/n{k}"] = f"{types[k * k % 5]} all/n{k * 7 // 8}"
    return ops


@pytest.mark.parametrize(("count", "opened"), [(30, True), (300, True), (3000, False)])
def test_a_scope_is_opened_while_its_names_can_be_read(graph, count, opened):
    assert ("all" in default_open(graph(flat(count)))) is opened


def test_beside_a_scope_of_thousands_another_may_be_opened(graph):
    ops = flat(3000) | {
        f"head/{k}": f"{('Relu', 'Tanh', 'Sqrt')[k % 3]} {f'head/{k - 1}' if k else 'all/n9'}"
        for k in range(9)
    }
    assert default_open(graph(ops)) == {"head"}


def test_a_layer_that_counts_with_shapes_is_as_large_as_what_it_does_to_values(graph):
    ops, before = {"x": "Placeholder"}, "x"
    for k, op_type in enumerate(("Relu", "Tanh", "Sigmoid", "Elu")):
        scope = f"net/layer_{k}"
        ops |= {f"{scope}/mul": f"MatMul {before} w", f"{scope}/act": f"{op_type} {scope}/mul"}
        before = f"{scope}/act"
    # A dilated convolution pads by what the size of its input leaves.
    ops |= {"net/layer_1/size": "Shape net/layer_0/act"}
    for k in range(12):
        ops |= {f"net/layer_1/pad_{k}": f"{('Sub', 'Mod', 'Add')[k % 3]} net/layer_1/size"}
    pads = " ".join(f"net/layer_1/pad_{k}" for k in range(12))
    ops |= {"net/layer_1/space": f"SpaceToBatchND net/layer_0/act w {pads}", "w": "Const"}
    ops |= {"net/layer_1/mul": "MatMul net/layer_1/space w"}
    assert default_open(graph(ops)) == {"net", *(f"net/layer_{k}" for k in range(4))}


def test_what_has_no_convolution_stays_closed_beside_layers_that_have_one(graph):
    ops, before = {"x": "Placeholder", "w": "Const"}, "x"
    for k in range(3):
        ops[f"net/conv_{k}/Conv2D"] = f"Conv2D {before} w"
        before = f"net/conv_{k}/Relu"
        ops[before] = f"Relu net/conv_{k}/Conv2D"
    # Written out, a batch norm has more ops than a convolution.
    for k, op_type in enumerate(("Mean", "Sub", "Square", "Rsqrt", "Mul", "Add", "Neg", "Exp")):
        ops[f"net/norm/{k}"] = f"{op_type} {before}"
        before = f"net/norm/{k}"
    opened = default_open(graph(ops))
    assert "net" in opened
    assert "net/norm" not in opened


def test_two_directions_of_a_layer_are_opened_together_or_stay_closed(graph):
    types, count = ("Tanh", "Sigmoid", "Exp", "Neg", "Sqrt", "Abs", "Sin"), 26

    def direction(name, ops, before="x"):
        ops[f"both/{name}/mul"] = f"MatMul {before} w"
        for k in range(count):
            ops[f"both/{name}/{k}"] = f"{types[k * k % 7]} both/{name}/{k - 1 if k else 'mul'}"

    ops = {"x": "Placeholder", "w": "Const", "both/backward/reverse": "ReverseV2 x"}
    direction("forward", ops)
    direction("backward", ops, "both/backward/reverse")
    ops["both/concat"] = f"ConcatV2 both/forward/{count - 1} both/backward/{count - 1}"
    opened = default_open(graph(ops))
    assert ("both/forward" in opened) is ("both/backward" in opened)
