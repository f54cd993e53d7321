"""Siblings that are alike are drawn as one box."""

from __future__ import annotations

import pytest

from tests.visible.test_visible_graph import lines
from tfgraphwidget.hierarchy import default_open
from tfgraphwidget.hierarchy.tree import DIFFERENTIATES
from tfgraphwidget.visible.view_spec import ViewSpec
from tfgraphwidget.visible.visible_graph import (
    BADGE,
    CLOSED,
    KINDS,
    VisibleGraph,
    build_visible_graph,
)

pytestmark = pytest.mark.no_tensorflow


def boxes(shown: VisibleGraph) -> dict[str, int]:
    """Names of all boxes but the graph's, with how many siblings they stand for."""
    return dict(zip(shown.names[1:], shown.members[1:].tolist(), strict=True))


def layer(name: str, before: str, op_type: str = "MatMul") -> dict[str, str]:
    return {
        f"{name}/w": "VariableV2",
        f"{name}/mul": f"{op_type} {before} {name}/w",
        f"{name}/out": f"Relu {name}/mul",
    }


def chain(count: int, start: str = "x") -> dict[str, str]:
    ops, before = {}, start
    for k in range(count):
        ops |= layer(f"layer_{k}", before)
        before = f"layer_{k}/out"
    return ops


def test_a_chain_of_equal_scopes_is_one_box_that_counts_them(graph):
    shown = build_visible_graph(
        graph({"x": "Placeholder"} | chain(4) | {"y": "Softmax layer_3/out"}), ViewSpec()
    )
    assert boxes(shown) == {"x": 0, "layer_0 … layer_3": 4, "y": 0}
    assert shown.kind[2] == CLOSED
    assert shown.count[2] == 12
    assert shown.variables[2] == 4
    assert lines(shown) == {("x", "layer_0 … layer_3"): 1, ("layer_0 … layer_3", "y"): 1}


def test_the_terms_of_a_weight_decay_are_one_box_beside_the_layers(graph):
    ops = {"x": "Placeholder"} | chain(2)
    for k, op_type in enumerate(("Conv2D", "Relu", "MatMul", "Tanh", "Exp", "Sin", "Cos", "Abs")):
        ops |= {
            f"part_{k}/w": "VariableV2",
            f"part_{k}/mul": f"{op_type} {f'part_{k - 1}/out' if k else 'layer_1/out'} part_{k}/w",
            f"part_{k}/out": f"Relu part_{k}/mul",
            f"L2Loss_{k}": f"L2Loss part_{k}/w",
        }
    decay = "AddN " + " ".join(f"L2Loss_{k}" for k in range(8))
    ops |= {"decay": decay, "loss": "AddV2 part_7/out decay"}
    shown = build_visible_graph(graph(ops), ViewSpec())
    fold = "L2Loss_0 … L2Loss_7"
    assert boxes(shown)[fold] == 8
    assert shown.aside[shown.names.index(fold)]
    assert {line for line in lines(shown) if fold in line} == set()
    assert ("decay", "loss") in lines(shown)


@pytest.mark.parametrize("blocks", [3, 12])
@pytest.mark.parametrize("is_sum", [False, True])
def test_the_terms_of_a_weight_decay_are_one_box_where_blocks_hold_the_kernels(
    graph, blocks, is_sum
):
    """Each block is the neighbor of its own terms, and equal blocks are one box."""
    ops = {"x": "Placeholder", "first/w": "VariableV2", "first/Conv2D": "Conv2D x first/w"}
    kernels = ["first/w"]
    for block in range(blocks):
        before = f"block_{block - 1}/add" if block else "first/Conv2D"
        for k in range(12 // blocks):
            name = f"block_{block}/conv_{k}"
            ops |= {f"{name}/w": "VariableV2", f"{name}/Conv2D": f"Conv2D {before} {name}/w"}
            kernels.append(f"{name}/w")
            before = f"{name}/Conv2D"
        ops[f"block_{block}/add"] = f"Relu {before}"
    terms = []
    for k, kernel in enumerate(kernels):
        ops |= {f"Square_{k}": f"Square {kernel}", f"Sum_{k}": f"Sum Square_{k}"}
        terms.append(f"Sum_{k}")
    last = f"block_{blocks - 1}/add"
    if is_sum:
        for k, term in enumerate(terms):
            ops[f"loss_{k}"] = f"AddV2 {f'loss_{k - 1}' if k else last} {term}"
    else:
        ops |= {"decay": "AddN " + " ".join(terms), "loss": f"AddV2 {last} decay"}
    counts = boxes(build_visible_graph(graph(ops), ViewSpec()))
    last_term = len(terms) - 1
    assert counts[f"Square_0 … Square_{last_term}"] == len(terms)
    assert counts[f"Sum_0 … Sum_{last_term}"] == len(terms)
    assert not any(name in counts for name in terms)


def test_an_open_fold_is_a_container_around_its_members(graph):
    index = graph({"x": "Placeholder"} | chain(4) | {"y": "Softmax layer_3/out"})
    shown = build_visible_graph(index, ViewSpec(frozenset({"layer_0 … layer_3"})))
    at = shown.names.index("layer_0 … layer_3")
    assert KINDS[shown.kind[at]] == "open scope"
    assert [n for n, p in zip(shown.names, shown.parent, strict=True) if p == at] == [
        f"layer_{k}" for k in range(4)
    ]
    assert lines(shown)["layer_1", "layer_2"] == 1


def test_two_equal_scopes_are_not_worth_a_fold(graph):
    shown = build_visible_graph(
        graph({"x": "Placeholder"} | chain(2) | {"y": "Softmax layer_1/out"}), ViewSpec()
    )
    assert boxes(shown) == {"x": 0, "layer_0": 0, "layer_1": 0, "y": 0}


def test_a_scope_that_is_wired_in_another_way_stays_apart(graph):
    ops = (
        {"x": "Placeholder"}
        | chain(3)
        | layer("odd", "layer_2/out", "Sub")
        | layer("more", "odd/out")
    )
    assert boxes(build_visible_graph(graph(ops), ViewSpec())) == {
        "x": 0,
        "layer_0 … layer_2": 3,
        "odd": 0,
        "more": 0,
    }


def test_values_of_constants_and_names_do_not_matter(graph):
    ops = {"x": "Placeholder"}
    for name, before in (("one", "x"), ("two", "one/b"), ("three", "two/zz")):
        last = "zz" if name == "two" else "b"
        ops |= {
            f"{name}/k": "Const",
            f"{name}/a": f"Mul {before} {name}/k",
            f"{name}/{last}": f"Relu {name}/a",
        }
    assert "one … three" in boxes(
        build_visible_graph(graph(ops | {"y": "Softmax three/b"}), ViewSpec())
    )


def test_what_lies_between_two_members_keeps_them_apart(graph):
    ops = {"x": "Placeholder"} | layer("a", "x") | layer("b", "a/out") | {"detour": "Sqrt a/out"}
    ops |= {"c/w": "VariableV2", "c/mul": "MatMul b/out c/w", "c/out": "Relu c/mul"}
    free = build_visible_graph(graph(ops), ViewSpec())
    assert "a … c" in free.names
    crossed = ops | {"c/mul": "MatMul b/out detour", "c/out": "Relu c/mul"}
    assert "a … c" not in build_visible_graph(graph(crossed), ViewSpec()).names


def test_towers_side_by_side_with_the_same_ends_are_folded(graph):
    ops = {"x": "Placeholder"}
    for k in range(5):
        ops |= layer(f"tower_{k}", "x")
    ops |= {"y": "AddN " + " ".join(f"tower_{k}/out" for k in range(5))}
    assert boxes(build_visible_graph(graph(ops), ViewSpec())) == {
        "x": 0,
        "tower_0 … tower_4": 5,
        "y": 0,
    }


def test_towers_with_different_ends_are_not(graph):
    ops = {"x": "Placeholder", "z": "Sqrt x"}
    for k in range(3):
        ops |= layer(f"tower_{k}", ("x", "x", "z")[k])
    ops |= {"y": "AddN tower_0/out tower_1/out tower_2/out"}
    assert max(boxes(build_visible_graph(graph(ops), ViewSpec())).values()) == 0


def strands(count: int, middle: str = "Tanh") -> dict[str, str]:
    """Ops in strands side by side, each strand with its own scope, that meet at their end."""
    ops = {"x": "Placeholder", "sizes": "Placeholder"}
    for k in range(count):
        ops |= {f"cut_{k}/size": "Const", f"cut_{k}/cut": f"Slice x cut_{k}/size"}
        ops |= layer(f"tower_{k}", f"cut_{k}/cut")
        ops |= {f"act_{k}": f"{middle if k == 1 else 'Tanh'} tower_{k}/out"}
        ops |= {f"scale_{k}": f"Mul act_{k} sizes", f"shift_{k}": f"Add act_{k} scale_{k}"}
    return ops | {"y": "ConcatV2 " + " ".join(f"shift_{k}" for k in range(count))}


def test_ops_at_the_same_place_of_strands_side_by_side_are_one_box(graph):
    shown = build_visible_graph(graph(strands(4)), ViewSpec())
    assert boxes(shown) == {
        "x": 0,
        "sizes": 0,
        "cut_0/cut … cut_3/cut": 4,
        "tower_0 … tower_3": 4,
        "act_0 … act_3": 4,
        "scale_0 … scale_3": 4,
        "shift_0 … shift_3": 4,
        "y": 0,
    }
    assert lines(shown)["tower_0 … tower_3", "act_0 … act_3"] == 4


def test_a_strand_with_another_op_in_it_stays_apart_as_a_whole(graph):
    shown = build_visible_graph(graph(strands(5, "Sigmoid")), ViewSpec())
    assert {"cut_1/cut", "tower_1", "act_1", "scale_1", "shift_1"} <= {*shown.names}
    assert boxes(shown)["tower_0 … tower_4"] == boxes(shown)["shift_0 … shift_4"] == 4


def test_strands_one_after_the_other_are_each_folded_by_themselves(graph):
    ops, count = strands(4), 4
    for k in range(count):
        ops |= {f"next_{k}/size": "Const", f"next_{k}/cut": f"Slice y next_{k}/size"}
        ops |= layer(f"tower_{k + count}", f"next_{k}/cut")
    ops |= {"z": "ConcatV2 " + " ".join(f"tower_{k + count}/out" for k in range(count))}
    shown = boxes(build_visible_graph(graph(ops), ViewSpec()))
    assert shown["tower_0 … tower_3"] == shown["tower_4 … tower_7"] == 4


def test_a_long_chain_of_ops_that_repeat_is_not_taken_for_strands(graph):
    ops, before = {"x": "Placeholder"}, "x"
    for k in range(19):
        ops |= {
            f"mul_{k}": f"Mul {before}",
            f"add_{k}": f"Add mul_{k}",
            f"act_{k}": f"Relu add_{k}",
        }
        before = f"act_{k}"
    assert max(boxes(build_visible_graph(graph(ops), ViewSpec())).values()) == 0


def test_four_ops_of_one_type_side_by_side_are_folded_and_three_are_not(graph):
    def ops(count: int) -> dict[str, str]:
        parts = {f"part_{k}": "Square x" for k in range(count)}
        return {"x": "Placeholder"} | parts | {"y": "AddN " + " ".join(parts)}

    assert boxes(build_visible_graph(graph(ops(4)), ViewSpec())) == {
        "x": 0,
        "part_0 … part_3": 4,
        "y": 0,
    }
    assert "part_2" in build_visible_graph(graph(ops(3)), ViewSpec()).names


def sizes_read(count: int, op_type: str = "StridedSlice") -> dict[str, str]:
    """Slices of one tensor of sizes, each of which goes elsewhere by way of a product."""
    ops = {"x": "Placeholder", "sizes": "Placeholder", "h_0": "Relu x"}
    for k in range(count):
        ops |= {
            f"slice_{k}": f"{op_type} sizes",
            f"mul_{k}": f"Mul slice_{k}",
            f"h_{k + 1}": f"{('Reshape', 'Tile')[k % 2]} h_{k} mul_{k}",
        }
    return ops


def test_many_ops_that_read_the_same_are_one_box_wherever_their_outputs_go(graph):
    shown = build_visible_graph(graph(sizes_read(9)), ViewSpec())
    assert boxes(shown)["slice_0 … slice_8"] == 9
    assert boxes(shown)["mul_0 … mul_8"] == 9  # they read one box
    assert lines(shown)["slice_0 … slice_8", "mul_0 … mul_8"] == 9
    assert "slice_3" not in shown.names


def test_seven_ops_that_read_the_same_are_seen_one_by_one(graph):
    shown = build_visible_graph(graph(sizes_read(7)), ViewSpec())
    assert {f"slice_{k}" for k in range(7)} <= {*shown.names}


def test_many_layers_that_read_the_same_are_seen_one_by_one(graph):
    shown = build_visible_graph(graph(sizes_read(9, "MatMul")), ViewSpec())
    assert {f"slice_{k}" for k in range(9)} <= {*shown.names}


def test_what_reads_inputs_that_are_one_box_is_one_box_too(graph):
    """The tables of a recommender: each has an input of its own, and a number is an input too."""
    ops = {"age": "Placeholder"}
    for k in range(20):
        ops |= {
            f"id_{k}": "Placeholder",
            f"table_{k}": "VarHandleOp",
            f"lookup_{k}": f"ResourceGather table_{k} id_{k}",
        }
    ops["dense"] = "Relu age"
    ops["stack"] = "Pack dense " + " ".join(f"lookup_{k}" for k in range(20))
    shown = boxes(build_visible_graph(graph(ops), ViewSpec()))
    assert shown["lookup_0 … lookup_19"] == 20
    assert shown["age … id_19"] == 21


def test_a_few_inputs_are_never_folded(graph):
    ops = {f"x_{k}": "Placeholder" for k in range(6)}
    shown = build_visible_graph(graph(ops | {"y": "AddN " + " ".join(ops)}), ViewSpec())
    assert sorted(boxes(shown)) == ["x_0", "x_1", "x_2", "x_3", "x_4", "x_5", "y"]


def test_sixteen_inputs_are_one_box_and_fifteen_are_seen_one_by_one(graph):
    def ops(count: int) -> dict[str, str]:
        parts: dict[str, str] = {}
        for k in range(count):
            parts |= {
                f"in_{k}": "Placeholder",
                f"act_{k}": f"{('Relu', 'Elu', 'Selu')[k % 3]} in_{k}",
            }
        ends = " ".join(f"act_{k}" for k in range(count))
        return parts | {"y": f"ConcatV2 {ends}"}

    index = graph(ops(16))
    assert boxes(build_visible_graph(index, ViewSpec()))["in_0 … in_15"] == 16
    assert "in_0 … in_15" not in default_open(index)
    assert "in_0 … in_14" not in boxes(build_visible_graph(graph(ops(15)), ViewSpec()))


def test_a_container_that_would_show_nothing_but_a_fold_is_left_as_it_is(graph):
    ops = {"x": "Placeholder"} | {f"net/{name}": text for name, text in chain(4).items()}
    ops = {name: text.replace(" layer", " net/layer") for name, text in ops.items()}
    shown = build_visible_graph(
        graph(ops | {"y": "Softmax net/layer_3/out"}), ViewSpec(frozenset({"net"}))
    )
    assert "net/layer_1" in shown.names


def test_a_fold_whose_name_is_taken_is_not_made(graph):
    ops = {"x": "Placeholder"} | chain(3) | {"layer_0 … layer_2": "Softmax layer_2/out"}
    assert "layer_1" in build_visible_graph(graph(ops), ViewSpec()).names


def test_without_folding_equal_siblings_stay_apart(graph):
    index = graph({"x": "Placeholder"} | chain(4) | {"y": "Softmax layer_3/out"})
    assert "layer_1" in build_visible_graph(index, ViewSpec(fold=False)).names


def test_in_a_file_in_alphabetical_order_a_chain_keeps_its_own(graph):
    ops = {"x": "Placeholder"} | chain(12) | {"y": "Softmax layer_11/out"}
    assert (
        "layer_0 … layer_11"
        in build_visible_graph(graph(dict(sorted(ops.items()))), ViewSpec()).names
    )


def test_a_dense_chain_where_each_feeds_all_later_ones_is_a_chain(graph):
    ops, outs = {"x": "Placeholder"}, ["x"]
    for k in range(5):
        ops |= {f"d_{k}/cat": "ConcatV2 " + " ".join(outs), f"d_{k}/out": f"Relu d_{k}/cat"}
        outs.append(f"d_{k}/out")
    assert (
        "d_0 … d_4" in build_visible_graph(graph(ops | {"y": "Softmax d_4/out"}), ViewSpec()).names
    )


def test_a_loop_s_way_back_does_not_keep_its_parts_from_folding(graph):
    ops = {"x": "Placeholder", "enter": "Enter x", "merge": "Merge enter next"}
    ops |= {f"p_{k}": "Square merge" for k in range(4)} | {
        "sum": "AddN p_0 p_1 p_2 p_3",
        "next": "NextIteration sum",
    }
    assert "p_0 … p_3" in build_visible_graph(graph(ops), ViewSpec()).names


def layers(count: int) -> dict[str, str]:
    """Variables beside a scope that reads them, as Keras makes them for layers without biases."""
    ops, before = {"x": "Placeholder"}, "x"
    for k in range(count):
        ops[f"layer_{k}/kernel"] = "VarHandleOp"
        ops[f"net/read_{k}"] = f"ReadVariableOp layer_{k}/kernel"
        ops[f"net/mul_{k}"] = f"{('MatMul', 'Conv2D', 'Sub')[k % 3]} {before} net/read_{k}"
        before = f"net/mul_{k}"
    return ops


def test_many_variables_that_stand_alone_are_one_box_aside_named_by_what_tells_them_apart(graph):
    index = graph(layers(41))
    shown = build_visible_graph(index, ViewSpec())
    assert boxes(shown) == {"x": 0, "(weights)": 41, "net": 0}
    assert shown.aside[shown.names.index("(weights)")]
    # So many of them are a fold inside.
    shown = build_visible_graph(index, ViewSpec(frozenset({"(weights)"})))
    at = shown.names.index("layer_0/kernel … layer_40/kernel")
    assert shown.members[at] == 41
    assert shown.labels[at] == "layer_0/kernel … layer_40/kernel"
    assert lines(shown) == {("x", "net"): 1}


def test_a_few_variables_stay_what_they_are(graph):
    shown = build_visible_graph(graph(layers(4)), ViewSpec())
    assert [name for name in boxes(shown) if "…" in name] == []
    inside = build_visible_graph(graph(layers(4)), ViewSpec(frozenset({"net"})))
    assert [KINDS[kind] for kind in inside.kind].count("badge") == 4


def test_constants_that_only_members_of_a_fold_read_go_with_them(graph):
    ops = {"x": "Placeholder", "shared": "Const"}
    for k in range(4):
        ops |= {
            f"begin_{k}": "Const",
            f"end_{k}": "Const",
            f"slice_{k}": f"StridedSlice x begin_{k} end_{k} shared",
        }
    ops["sum"] = "AddN " + " ".join(f"slice_{k}" for k in range(4))
    ops["other"] = "Mul sum shared"
    index, fold = graph(ops), "slice_0 … slice_3"
    shown = build_visible_graph(index, ViewSpec())
    assert boxes(shown)[fold] == 4
    assert not [name for name in shown.names if name.startswith(("begin", "end"))]
    shown = build_visible_graph(index, ViewSpec(frozenset({fold})))
    badges = {name for name, kind in zip(shown.names, shown.kind, strict=True) if kind == BADGE}
    assert badges == {"shared", *(f"{end}_{k}" for end in ("begin", "end") for k in range(4))}


def test_constants_that_gradients_read_as_well_go_with_their_fold(graph):
    ops = {"x": "Placeholder"}
    for k in range(4):
        ops |= {f"part_{k}/y": "Const", f"part_{k}": f"Mul x part_{k}/y"}
    ops |= {"y": "AddN part_0 part_1 part_2 part_3"}
    for k in range(4):
        ops |= {f"gradients/part_{k}_grad/Mul": f"Mul y part_{k}/y"}
    ops |= {"force": "Neg gradients/part_3_grad/Mul"}
    shown = build_visible_graph(graph(ops), ViewSpec())
    assert shown.count[shown.names.index("part_0 … part_3")] == 8
    assert "part_0/y" not in shown.names


def test_a_fold_of_gradients_is_a_box_of_gradients(graph):
    ops = {"x": "Placeholder", "net": "Square x", "y": "Split net"}
    for k in range(4):
        ops |= {
            f"gradients_{k}/net_grad/Mul": f"Mul y:{k} x",
            f"gradients_{k}/net_grad/Sum": f"Sum gradients_{k}/net_grad/Mul",
            f"force_{k}": f"Neg gradients_{k}/net_grad/Sum",
        }
    ops |= {"forces": "ConcatV2 force_0 force_1 force_2 force_3"}
    shown = build_visible_graph(graph(ops), ViewSpec())
    assert boxes(shown)["gradients_0 … gradients_3"] == boxes(shown)["force_0 … force_3"] == 4
    part = dict(zip(shown.names, shown.part.tolist(), strict=True))
    assert part["gradients_0 … gradients_3"] == DIFFERENTIATES
    assert part["force_0 … force_3"] == 0
