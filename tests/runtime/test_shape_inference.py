"""Static shapes after an edit are those that TensorFlow would infer, and only the ops that it
concerns are asked.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import MODELS
from tfgraphwidget import edits
from tfgraphwidget.editor.places import OpenedGraph
from tfgraphwidget.edits.patch import Change, NodeChange, Patch, apply_patch
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import traversal
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.tensors import Shape
from tfgraphwidget.naming import as_input
from tfgraphwidget.runtime.sandbox.shape_inference import ShapeInferenceSandbox, infer_patch_shapes
from tfgraphwidget.sources import open_source

v1 = tf.compat.v1


def index_of(graph: Any) -> GraphIndex:
    return OpenedGraph(open_source(graph)).index


def edited(index: GraphIndex, op: str, *inputs: str, **attrs: Any) -> NodeChange:
    """The op reading other inputs, or with other attributes."""
    before = index.nodes[index.ids[op]]
    after = type(before)()
    after.CopyFrom(before)
    if inputs:
        after.input[:] = inputs
    for name, value in attrs.items():
        after.attr[name].CopyFrom(value)
    return NodeChange(before, after)


def reading(index: GraphIndex, op: str, *inputs: str) -> Patch:
    return Patch(changed=(edited(index, op, *inputs),))


def node(name: str, op: str, *inputs: str, **attrs: Any) -> Any:
    made = v1.NodeDef(name=name, op=op, input=inputs)
    for key, value in attrs.items():
        made.attr[key].CopyFrom(value)
    return made


def shape_attr(shape: Any) -> Any:
    return v1.AttrValue(shape=tf.TensorShape(shape).as_proto())


FLOAT = v1.AttrValue(type=tf.float32.as_datatype_enum)


def report(patch: Patch) -> dict[str, tuple[Shape, Shape]]:
    return {f"{s.op}:{s.port}": (s.before, s.after) for s in patch.shapes}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The types of all ops that TensorFlow's shape functions are asked of."""
    types: list[str] = []
    new_op = ShapeInferenceSandbox._new_op

    def counted(self: ShapeInferenceSandbox, op: Any, tensors: Any) -> Any:
        types.append(op.op)
        return new_op(self, op, tensors)

    monkeypatch.setattr(ShapeInferenceSandbox, "_new_op", counted)
    return types


@pytest.fixture
def chain() -> GraphIndex:
    """x -> product (with a 3 x 4 variable) -> relu -> flat, which doubles the batch -> out; more
    placeholders.
    """
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 3], name="x")
        for name, shape in {
            "same": [None, 3],
            "full": [32, 3],
            "wide": [None, 7],
            "any": None,
        }.items():
            v1.placeholder(tf.float32, shape, name=name)
        w = v1.get_variable("w", [3, 4], use_resource=True)
        v1.get_variable("w5", [3, 5], use_resource=True)
        relu = tf.nn.relu(tf.matmul(x, w, name="product"), name="relu")
        batch = tf.shape(relu, name="shape")[0]
        flat = tf.reshape(relu, tf.stack([batch * 2, -1]), name="flat")
        tf.identity(flat, name="out")
    return index_of(graph)


def test_an_edit_that_changes_no_shape_asks_nothing(chain, asked):
    patch = reading(chain, "product", "same", "product/ReadVariableOp")
    assert infer_patch_shapes(chain, patch) == patch
    assert asked == []


def test_control_inputs_and_devices_have_no_shapes(chain, asked):
    waiting = reading(chain, "relu", "product", "^wide")
    waiting.changed[0].after.device = "/device:CPU:0"
    assert infer_patch_shapes(chain, waiting) == waiting
    assert asked == []


def test_a_sharper_shape_flows_as_far_as_it_goes(chain):
    patch = infer_patch_shapes(chain, reading(chain, "product", "full", "product/ReadVariableOp"))
    assert report(patch) == {
        "product:0": ((None, 4), (32, 4)),
        "relu:0": ((None, 4), (32, 4)),
        "flat:0": ((None, None), (64, 2)),
        "out:0": ((None, None), (64, 2)),
    }
    after = apply_patch(chain, patch)
    assert after.shape(after.ids["out"], 0) == (64, 2)
    assert chain.shape(chain.ids["out"], 0) == (None, None)


def test_a_shape_becomes_unknown_again(chain):
    sharp = apply_patch(
        chain,
        infer_patch_shapes(chain, reading(chain, "product", "full", "product/ReadVariableOp")),
    )
    patch = infer_patch_shapes(sharp, reading(sharp, "product", "x", "product/ReadVariableOp"))
    assert report(patch)["out:0"] == ((64, 2), (None, None))


def test_values_that_shape_functions_read_are_texts_too(tmp_path):
    with tf.Graph().as_default() as graph:
        v1.get_variable("w", [3, 3], use_resource=True)
        v1.train.Saver()
    with v1.Session(graph=graph) as session:
        path = tmp_path / "saver.pb"
        path.write_bytes(graph.as_graph_def().SerializeToString())
        for editor in (tgw.edit(graph, session=session), tgw.edit(path)):
            before = [
                node.SerializeToString(deterministic=True) for node in editor._core.index.nodes
            ]
            why = (
                r"Op 'save/RestoreV2' cannot take 'save/SaveV2/tensor_names:0' of shape \(1,\) in "
                r"place of .*: need least two elements in shape_and_slice specification: w; choose "
                r"a tensor of other values\."
            )
            with pytest.raises(GraphEditError, match=why):
                editor.swap("save/RestoreV2/shape_and_slices:0", "save/SaveV2/tensor_names:0")
            assert [
                node.SerializeToString(deterministic=True) for node in editor._core.index.nodes
            ] == before
            why = (
                r"Op 'save/RestoreV2' cannot take 'save/RestoreV2/shape_and_slices:0' of shape "
                r"\(1,\) with its new values, beside .* and .*, which follows from the change of "
                r".*: .*; choose a tensor of other values\."
            )
            with pytest.raises(GraphEditError, match=why):
                editor.set_constant("save/RestoreV2/shape_and_slices:0", [b"w"])
            editor.swap("save/RestoreV2/tensor_names:0", "save/SaveV2/tensor_names:0")


def test_it_stops_where_shapes_stay(chain, asked):
    patch = infer_patch_shapes(chain, reading(chain, "relu", "any"))
    assert report(patch) == {"relu:0": ((None, 4), None), "shape:0": ((2,), (None,))}
    assert "Reshape" in asked  # which makes the same of it
    assert "Identity" not in asked


def test_a_refusal_names_consumer_source_and_both_shapes(chain):
    with pytest.raises(GraphEditError) as refused:
        infer_patch_shapes(chain, reading(chain, "product", "wide", "product/ReadVariableOp"))
    assert refused.value.why == (
        "Op 'product' cannot take 'wide:0' of shape (None, 7) in place of 'x:0' of shape (None, "
        "3), beside 'product/ReadVariableOp:0' of shape (3, 4): dimensions must be equal, but are "
        "7 and 3; choose a tensor of another shape."
    )
    assert refused.value.ops == ("product", "wide")


def test_a_refusal_downstream_names_what_was_edited(mlp):
    with mlp.as_default():
        v1.placeholder(tf.float32, [None, 9], name="wide")
    index = index_of(mlp)
    with pytest.raises(
        GraphEditError, match="which follows from the change of 'net/one/out': dimensions"
    ) as refused:
        infer_patch_shapes(index, reading(index, "net/one/out", "wide"))
    assert refused.value.ops == ("net/two/MatMul", "net/one/out")
    assert "'net/one/out:0' of shape (None, 9) in place of (None, 4)" in refused.value.why


def test_what_the_variable_of_a_handle_is_flows_through_its_read(chain):
    patch = infer_patch_shapes(chain, reading(chain, "product/ReadVariableOp", "w5"))
    assert report(patch) == {
        "product/ReadVariableOp:0": ((3, 4), (3, 5)),
        "product:0": ((None, 4), (None, 5)),
        "relu:0": ((None, 4), (None, 5)),
    }


def test_a_ref_variable_is_read_by_its_shape():
    with tf.Graph().as_default() as graph:
        a = v1.get_variable("a", [3], use_resource=False)
        v1.get_variable("b", [2, 3], use_resource=False)
        tf.add(v1.assign(a, [1.0, 2.0, 3.0], name="set"), 1.0, name="more")
    index = index_of(graph)
    assert report(infer_patch_shapes(index, reading(index, "more", "b", "more/y"))) == {
        "more:0": ((3,), (2, 3))
    }


def test_a_conditional_reads_a_ref_variable_by_its_value():
    """A moving average of a reference variable begins with one."""
    with tf.Graph().as_default() as graph:
        v1.get_variable("a", [3], use_resource=False)
        v1.get_variable("b", [2, 3], use_resource=False)
        flag = v1.placeholder(tf.bool, [], name="flag")
        a = graph.get_tensor_by_name("a:0")
        picked = v1.cond(flag, lambda: a + 1.0, lambda: a * 2.0)
    index = index_of(graph)
    conditional = picked.op.inputs[0].op
    inputs = [tensor.op.name for tensor in conditional.inputs]
    assert inputs == ["flag", "a"]
    shapes = report(infer_patch_shapes(index, reading(index, conditional.name, "flag", "b")))
    assert shapes[f"{conditional.name}:0"] == ((3,), (2, 3))


def test_numbers_that_shapes_hang_on_flow_where_no_shape_changes(chain):
    """The Const gets other numbers, not another shape."""
    minus_one = next(n for n in chain.nodes if n.op == "Pack").input[1]
    three = v1.AttrValue(tensor=tf.make_tensor_proto(3, tf.int32))
    assert report(
        infer_patch_shapes(chain, Patch(changed=(edited(chain, minus_one, value=three),)))
    ) == {
        "flat:0": ((None, None), (None, 3)),
        "out:0": ((None, None), (None, 3)),
    }


def test_numbers_that_are_the_same_after_all_change_nothing():
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [2, 3], name="x")
        tf.constant([3, 2], name="other")
        shaped_by = v1.py_func(lambda x: x, [tf.reshape(x, [3, 2])], tf.float32)
        shaped_by.set_shape([3, 2])
        tf.identity(shaped_by, name="y")
    index = index_of(graph)
    reshape = next(name for name in index.names if name.endswith("Reshape"))
    assert infer_patch_shapes(index, reading(index, reshape, "x", "other")).shapes == ()


def test_what_set_shape_said_stays_while_the_op_reads_the_same(chain):
    graph = tf.Graph()
    with graph.as_default():
        x, z = (v1.placeholder(tf.float32, [2], name=name) for name in "xz")
        v1.placeholder(tf.float32, [5], name="long")
        p = v1.py_func(lambda x: x, [x], tf.float32, name="p")
        p.set_shape([7])
        tf.concat([p, z], 0, name="y")
    index = index_of(graph)
    assert report(infer_patch_shapes(index, reading(index, "y", "p", "long", "y/axis"))) == {
        "y:0": ((9,), (12,))
    }
    assert report(infer_patch_shapes(index, reading(index, "p", "long"))) == {
        "p:0": ((7,), None),
        "y:0": ((9,), (None,)),
    }


def test_what_set_shape_said_of_any_input_holds_for_a_narrower_one():
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 3], name="x")
        p = v1.py_func(lambda x: x, [x], tf.float32, name="p")
        p.set_shape([None, 4])
        tf.identity(p, name="y")
    index = index_of(graph)
    narrower = Patch(changed=(edited(index, "x", shape=shape_attr([8, 3])),))
    assert report(infer_patch_shapes(index, narrower)) == {"x:0": ((None, 3), (8, 3))}
    other = Patch(changed=(edited(index, "x", shape=shape_attr([8, 5])),))
    expected = {"x:0": ((None, 3), (8, 5)), "p:0": ((None, 4), None), "y:0": ((None, 4), None)}
    assert report(infer_patch_shapes(index, other)) == expected


def test_added_ops_have_their_shapes_and_consumers_see_them(chain):
    twice = node("twice", "Transpose", "relu", "twice/perm", T=FLOAT, Tperm=v1.AttrValue(type=3))
    perm = node("twice/perm", "Const", dtype=v1.AttrValue(type=3))
    perm.attr["value"].tensor.CopyFrom(tf.make_tensor_proto([1, 0]))
    patch = replace(reading(chain, "flat", "twice", "stack"), add=Change(nodes=(twice, perm)))
    assert report(infer_patch_shapes(chain, patch)) == {
        "twice/perm:0": (None, (2,)),
        "twice:0": (None, (4, None)),
    }


def test_an_added_op_that_cannot_be_is_refused(chain):
    wrong = node("wrong", "MatMul", "wide", "full", T=FLOAT)
    with pytest.raises(
        GraphEditError,
        match=r"^Op 'wrong' cannot take 'wide:0' of shape \(None, 7\) and 'full:0' of",
    ):
        infer_patch_shapes(chain, Patch(add=Change(nodes=(wrong,))))


def test_a_copy_has_the_shape_of_its_original(chain, asked):
    """As a rename makes it: one op goes, the same one comes under another name, and what read it
    reads that.
    """
    copy = node("renamed", "Relu", "product", T=FLOAT)
    readers = [
        edited(chain, "shape", "renamed"),
        edited(chain, "flat", "renamed", *chain.nodes[chain.ids["flat"]].input[1:]),
    ]
    gone = Change(nodes=(chain.nodes[chain.ids["relu"]],))
    patch = Patch(
        Change(nodes=(copy,), copies=(("relu", "renamed"),)), gone, changed=tuple(readers)
    )
    assert report(infer_patch_shapes(chain, patch)) == {"renamed:0": (None, (None, 4))}
    assert asked == []


def test_two_changes_are_taken_in_the_order_of_the_graph(chain):
    """`relu` alone would be refused after what `product` no longer gives."""
    graph = tf.Graph()
    with graph.as_default():
        a = v1.placeholder(tf.float32, [2], name="a")
        v1.placeholder(tf.float32, [3], name="b")
        first = tf.add(a, a, name="first")
        between = tf.nn.relu(first, name="between")
        tf.add(between, a, name="second")
    index = index_of(graph)
    patch = Patch(
        changed=(edited(index, "second", "between", "b"), edited(index, "first", "b", "b"))
    )
    assert report(infer_patch_shapes(index, patch))["second:0"] == ((2,), (3,))


def test_an_op_may_read_what_stands_after_it(chain):
    graph = tf.Graph()
    with graph.as_default():
        a = v1.placeholder(tf.float32, [2], name="a")
        v1.placeholder(tf.float32, [3], name="b")
        tf.nn.relu(tf.nn.relu(a, name="one"), name="two")
        tf.concat([a, a], 0, name="late")
    index = index_of(graph)
    patch = infer_patch_shapes(index, reading(index, "one", "late"))
    assert report(patch) == {"one:0": ((2,), (4,)), "two:0": ((2,), (4,))}
    again = apply_patch(index, patch)
    longer = infer_patch_shapes(again, reading(again, "late", "a", "b", "late/axis"))
    assert report(longer) == {"late:0": ((4,), (5,)), "one:0": ((4,), (5,)), "two:0": ((4,), (5,))}


# Loops and functions


def v1_loop(shape: Any) -> tf.Graph:
    with tf.Graph().as_default() as graph:
        v1.disable_control_flow_v2()
        x = v1.placeholder(tf.float32, shape, name="x")
        v1.placeholder(tf.float32, [64, 4], name="big")
        v1.placeholder(tf.float32, [32, 4], name="like")
        out = v1.while_loop(lambda i, _: i < 5, lambda i, v: (i + 1, v * 2), [0, x])[1]
        tf.identity(out, name="y")
    return graph


def test_round_a_v1_loop_shapes_become_what_holds_each_time():
    index = index_of(v1_loop([32, 4]))
    enter = next(n.name for n in index.nodes if n.op == "Enter" and n.input[0] == "x")
    shapes = report(infer_patch_shapes(index, reading(index, enter, "big")))
    assert shapes[f"{enter}:0"] == ((32, 4), (64, 4))
    assert shapes["y:0"] == ((32, 4), (None, 4))
    assert infer_patch_shapes(index, reading(index, enter, "like")).shapes == ()


def v2_loop(shape: Any) -> tf.Graph:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, shape, name="x")
        v1.placeholder(tf.float32, [64, 4], name="big")
        out = tf.while_loop(lambda i, _: i < 5, lambda i, v: (i + 1, v * 2), [0, x])[1]
        picked = tf.cond(tf.reduce_sum(out) > 0, lambda: out + 1.0, lambda: out[:2])
        tf.identity(picked, name="y")
    return graph


def test_a_v2_loop_and_conditional_give_what_their_functions_give():
    index = index_of(v2_loop([32, 4]))
    loop, pick = (
        next(n for n in index.nodes if n.op in kinds)
        for kinds in (("While", "StatelessWhile"), ("If", "StatelessIf"))
    )
    inputs = [text if text != "x" else "big" for text in loop.input]
    patch = infer_patch_shapes(index, reading(index, loop.name, *inputs))
    shapes = report(patch)
    at = list(loop.input).index("x")
    assert shapes[f"{loop.name}:{at}"] == ((32, 4), (64, 4))
    assert index.shape(index.ids["y"], 0) == (None, 4)
    assert "y:0" not in shapes
    # What a loop says of its shapes is right again: import_graph_def would take it at its word.
    said = {e.name: e.after for e in patch.changed}[loop.name].attr["output_shapes"].list.shape[at]
    assert tf.TensorShape(said) == [64, 4]
    assert pick.name in index.ids


def test_a_function_that_is_called_shows_the_shapes_of_its_results():
    @tf.function(input_signature=[tf.TensorSpec([None, None])])
    def inner(x):
        return tf.reshape(x, [tf.shape(x)[0], 2, -1])

    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [5, 6], name="x")
        v1.placeholder(tf.float32, [7, 8], name="other")
        v1.placeholder(tf.float32, [7, 9], name="odd")
        tf.identity(inner(x), name="y")
    index = index_of(graph)
    call = next(n for n in index.nodes if n.op.endswith("PartitionedCall"))
    assert report(infer_patch_shapes(index, reading(index, call.name, "other")))["y:0"][1] == (
        7,
        2,
        4,
    )
    with pytest.raises(
        GraphEditError,
        match=rf"^Op {call.name!r} cannot take 'odd:0' of shape \(7, 9\) in place of",
    ):
        infer_patch_shapes(index, reading(index, call.name, "odd"))


def test_the_body_of_a_function_is_shaped_like_a_graph():
    @tf.function(
        input_signature=[tf.TensorSpec([None, 3], name="x"), tf.TensorSpec([2, 3], name="z")]
    )
    def function(x, z):
        return tf.nn.relu(x, name="relu") * 2.0 + tf.reduce_sum(z)

    editor = tgw.edit(function)
    mul = next(n for n in editor._core.index.nodes if n.op == "Mul")
    assert report(infer_patch_shapes(editor._core.index, reading(editor._core.index, "relu", "z")))[
        f"{mul.name}:0"
    ] == (
        (None, 3),
        (2, 3),
    )


def test_nothing_runs_while_shapes_are_inferred(tmp_path):
    (tmp_path / "sizes").write_text("2")
    with tf.Graph().as_default() as graph:
        read = tf.io.read_file(str(tmp_path / "sizes"), name="read")
        tf.zeros(tf.strings.to_number(tf.reshape(read, [1]), tf.int32), name="made")
        tf.constant(str(tmp_path / "other"), name="other")
    index = index_of(graph.as_graph_def())
    (tmp_path / "other").write_text("3")
    patch = infer_patch_shapes(index, reading(index, "read", "other"))
    assert "made:0" not in report(patch)


def test_an_op_that_tensorflow_does_not_know_gives_unknown_shapes():
    graph_def = v1.GraphDef()
    x, z = (
        node(name, "Placeholder", dtype=FLOAT, shape=shape_attr(shape))
        for name, shape in (("x", [2]), ("z", [3]))
    )
    custom = node("custom", "NobodysOp", "x", T=FLOAT)
    custom.attr["_output_shapes"].list.shape.add().CopyFrom(tf.TensorShape([9]).as_proto())
    relu = node("relu", "Relu", "custom", T=FLOAT)
    graph_def.node.extend([x, z, custom, relu])
    index = index_of(graph_def)
    assert report(infer_patch_shapes(index, reading(index, "custom", "z"))) == {
        "custom:0": ((9,), None),
        "relu:0": ((9,), None),
    }
    assert report(infer_patch_shapes(index, reading(index, "relu", "z"))) == {
        "relu:0": ((9,), (3,))
    }


def test_what_a_file_says_of_its_shapes_is_right_after_the_edit_too():
    """TensorFlow refuses to import an op whose attribute says another shape than it infers."""
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 3], name="x")
        v1.placeholder(tf.float32, [None, 7], name="wide")
        tf.nn.relu(tf.nn.relu(x, name="one"), name="two")
    index = index_of(graph.as_graph_def(add_shapes=True))
    patch = infer_patch_shapes(index, reading(index, "one", "wide"))
    after = fresh(v1.GraphDef(node=apply_patch(index, patch).nodes))
    assert after is not None
    assert after["two", 0] == (None, 7)
    assert fresh(v1.GraphDef(node=index.nodes))["two", 0] == (None, 3)


def test_what_was_refused_before_the_edit_may_be_edited():
    graph_def = v1.GraphDef()
    shapes = {"x": [2, 3], "w": [4, 5], "other": [2, 7]}
    graph_def.node.extend(
        node(name, "Placeholder", dtype=FLOAT, shape=shape_attr(s)) for name, s in shapes.items()
    )
    graph_def.node.append(node("wrong", "MatMul", "x", "w", T=FLOAT))
    index = index_of(graph_def)
    assert report(infer_patch_shapes(index, reading(index, "wrong", "other", "w"))) == {}


def test_new_ops_of_a_live_graph_go_on_from_the_new_shapes():
    """TensorFlow's own graph has the old ones still, and would refuse the product."""
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 3], name="x")
        v1.placeholder(tf.float32, [None, 7], name="wide")
        tf.identity(tf.nn.relu(x, name="relu"), name="y")
    with v1.Session(graph=graph) as session:
        editor = tgw.edit(graph, session=session)
        editor.reroute("x:0", to="wide:0")
        done = editor.insert("relu:0", lambda t: tf.matmul(t, tf.ones([7, 2])))
        assert report(done)["y:0"] == ((None, 7), (None, 2))
        assert session.run("y:0", {"wide:0": [[1.0] * 7]}).tolist() == [[7, 7]]
        assert not [name for name in editor._core.index.names if "veil" in name]
        assert graph.get_tensor_by_name("y:0").shape.as_list() == [None, 2]


# What TensorFlow itself makes of it


def fresh(graph_def: Any) -> Mapping[tuple[str, int], Shape] | None:
    """The static shapes of an import; None when TensorFlow refuses it."""
    with tf.Graph().as_default() as graph:
        try:
            tf.import_graph_def(graph_def, name="")
        except ValueError:
            return None
    return {
        (op.name, k): None if t.shape.rank is None else tuple(t.shape.as_list())
        for op in graph.get_operations()
        for k, t in enumerate(op.outputs)
    }


def agrees(ours: Shape, theirs: Shape) -> bool:
    """Whether all that we say, TensorFlow says too."""
    if ours is None or theirs is None:
        return ours is None
    return len(ours) == len(theirs) and all(
        a in (None, b) for a, b in zip(ours, theirs, strict=True)
    )


def plain_graph(path: Path) -> Any:
    meta = v1.MetaGraphDef.FromString(path.read_bytes())
    for op in meta.graph_def.node:
        op.attr.pop("_output_shapes", None)
    return meta.graph_def


@pytest.mark.parametrize(("model", "edits"), [("dqn_online_train", 40), ("seq2seq_v1", 8)])
def test_shapes_are_those_of_a_fresh_import(model, edits):
    """Random tensors of the right dtype are read instead: half the edits are refused, by TensorFlow
    and here alike.
    """
    graph_def = plain_graph(MODELS / f"{model}.meta")
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
    index, rnd = index_of(graph), random.Random(7)
    place = {op.name: k for k, op in enumerate(graph_def.node)}
    tensors = defaultdict(list)
    for i in range(len(index)):
        for port, dtype in enumerate(index.dtypes(i)):
            tensors[dtype].append((i, port))
    for _ in range(edits):
        i, slot, (source, port) = rewire(index, tensors, rnd)
        patch = reading(
            index,
            index.names[i],
            *with_input(index.nodes[i].input, slot, index.names[source], port),
        )
        changed = v1.GraphDef()
        changed.CopyFrom(graph_def)
        changed.node[place[index.names[i]]].CopyFrom(patch.changed[0].after)
        theirs = fresh(changed)
        if theirs is None:
            with pytest.raises(GraphEditError):
                infer_patch_shapes(index, patch)
            continue
        after = apply_patch(index, infer_patch_shapes(index, patch))
        wrong = {t: (after.shape(after.ids[t[0]], t[1]), s) for t, s in theirs.items()}
        assert {t: pair for t, pair in wrong.items() if not agrees(*pair)} == {}, patch


def rewire(
    index: GraphIndex, tensors: Mapping[str, list], rnd: random.Random
) -> tuple[int, int, tuple[int, int]]:
    """An op, one of its slots, and a tensor that it could read there without a cycle."""
    while True:
        i = rnd.randrange(len(index))
        sources = index.inputs.row(i).tolist()
        if not sources:
            continue
        slot = rnd.randrange(len(sources))
        port = int(index.ports[index.inputs.start[i] + slot])
        source = rnd.choice(tensors[index.dtypes(sources[slot])[port]])
        if not traversal.forward(index, [i])[source[0]]:
            return i, slot, source


def with_input(inputs: Any, slot: int, op: str, port: int) -> list[str]:
    made = list(inputs)
    made[slot] = as_input(op, port)
    return made


def test_the_names_of_functions_are_put_together_once_and_not_for_each_op(mlp: tf.Graph) -> None:
    index = tgw.edit(mlp)._core.index
    assert edits.PatchedGraph(index, edits.Patch()).functions() is index.functions
    added = tf.compat.v1.GraphDef().library.function.add()
    added.signature.name = "more"
    view = edits.PatchedGraph(index, edits.Patch(add=edits.Change(functions=(added,))))
    assert view.functions() is view.functions()
    assert view.functions() == index.functions | {"more"}


def _in_a_loop(write: Callable[[tf.Tensor], tf.Tensor]) -> Any:
    """A loop of TensorFlow 1 that fills a TensorArray of rows of four, and what each of its steps
    computes.
    """
    rows = tf.TensorArray(tf.float32, 3, element_shape=[4])

    def step(i: tf.Tensor, rows: tf.TensorArray) -> tuple[tf.Tensor, tf.TensorArray]:
        return i + 1, rows.write(i, write(tf.fill([4], 1.0)))

    return v1.while_loop(lambda i, _: i < 3, step, [0, rows])[1].stack()


def _in_a_list(write: Callable[[tf.Tensor], tf.Tensor]) -> Any:
    """A list of tensors of four, of which one is set."""
    rows = tf.raw_ops.TensorListReserve(element_shape=[4], num_elements=3, element_dtype=tf.float32)
    rows = tf.raw_ops.TensorListSetItem(input_handle=rows, index=0, item=tf.zeros([4]))
    return tf.raw_ops.TensorListSetItem(
        input_handle=tf.identity(rows), index=1, item=write(tf.fill([4], 1.0))
    )


@pytest.mark.parametrize("build", [_in_a_loop, _in_a_list])
def test_what_holds_tensors_of_one_shape_takes_no_other(
    build: Callable[[Any], Any], tmp_path: Path
) -> None:
    v1.disable_control_flow_v2()
    try:
        with tf.Graph().as_default() as graph:
            build(lambda row: tf.exp(row, name="row"))
    finally:
        v1.enable_control_flow_v2()
    (tmp_path / "graph.pb").write_bytes(graph.as_graph_def().SerializeToString())
    row = next(op.name for op in graph.get_operations() if op.type == "Exp")
    for editor in (tgw.edit(graph), tgw.edit(tmp_path / "graph.pb")):
        with pytest.raises(
            GraphEditError, match=r"cannot take '.*:0' of shape \(1, 4\) in place of"
        ):
            editor.insert(f"{row}:0", lambda x: tf.expand_dims(x, 0))
        editor.insert(f"{row}:0", lambda x: tf.reshape(tf.expand_dims(x, 0), [4]))
        edited_def = v1.GraphDef.FromString(editor.save(tmp_path / "edited.pb").read_bytes())
        with tf.Graph().as_default():
            tf.graph_util.import_graph_def(edited_def, name="")
