"""Files of a few bytes that would have TensorFlow make billions of tensors, or look through
billions of letters.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.framework import function_pb2, op_def_pb2
from tensorflow.python.client import pywrap_tf_session as c_api
from tensorflow.python.framework import op_def_registry

import tfgraphwidget as tgw
from tests.conftest import v1
from tests.sources.conftest import node
from tfgraphwidget.errors import GraphEditError, NotRunnable
from tfgraphwidget.graph.op import Op
from tfgraphwidget.naming import DEEPEST, enclosing_scopes
from tfgraphwidget.sources.inference.bounds import Bounds
from tfgraphwidget.sources.inference.dtypes import MOST_OUTPUTS

MANY = (1 << 31) - 1
X = node("x", "Placeholder", dtype=tf.float32)


def number(value: int) -> v1.AttrValue:
    return v1.AttrValue(i=value)


def types(count: int) -> v1.AttrValue:
    return v1.AttrValue(list={"type": [tf.float32.as_datatype_enum] * count})


def constant(name: str, value: Any, dtype: tf.DType, shape: list[int] | None = None) -> v1.NodeDef:
    tensor = tf.make_tensor_proto(value, dtype)
    if shape is not None:  # more than there are values for: the last one is all others
        tensor.tensor_shape.CopyFrom(tf.TensorShape(shape).as_proto())
    return node(name, "Const", dtype=dtype, value=v1.AttrValue(tensor=tensor))


def unpack(name: str, count: int, read: str = "x") -> v1.NodeDef:
    return node(name, "Unpack", read, num=number(count), axis=number(0), T=tf.float32)


def graph_of(
    *nodes: v1.NodeDef, functions: list[function_pb2.FunctionDef] | None = None
) -> v1.GraphDef:
    graph_def = v1.GraphDef(node=nodes)
    graph_def.versions.producer = tf.version.GRAPH_DEF_VERSION
    graph_def.library.function.extend(functions or [])
    return graph_def


def function_of(body: v1.NodeDef, *attributes: str) -> function_pb2.FunctionDef:
    definition = function_pb2.FunctionDef()
    definition.signature.name = "f"
    definition.signature.input_arg.add(name="x", type=tf.float32.as_datatype_enum)
    definition.signature.output_arg.add(name="y", type=tf.float32.as_datatype_enum)
    for name in attributes:
        definition.signature.attr.add(name=name, type="int")
    definition.node_def.append(body)
    definition.ret["y"] = f"{body.name}:output:0"
    return definition


def call(**attributes: Any) -> v1.NodeDef:
    return node(
        "call",
        "PartitionedCall",
        "x",
        f=v1.AttrValue(func={"name": "f"}),
        Tin=types(1),
        Tout=types(1),
    )


def by_caller() -> v1.GraphDef:
    body = unpack("u", 0)
    body.attr["num"].placeholder = "n"
    return graph_of(X, node("call", "f", "x", n=number(MANY)), functions=[function_of(body, "n")])


def by_signature() -> v1.GraphDef:
    definition = function_of(node("u", "Identity", "x", T=tf.float32), "n")
    definition.signature.output_arg[0].number_attr = "n"
    return graph_of(X, node("u", "f", "x", n=number(MANY)), functions=[definition])


DIM = constant("dim", 0, tf.int32)
EXCESSIVE = {
    "outputs": graph_of(X, unpack("u", MANY)),
    "split": graph_of(X, DIM, node("u", "Split", "dim", "x", num_split=number(MANY), T=tf.float32)),
    "outputs of two kinds": graph_of(
        X, node("u", "ParseSingleExample", "x", num_sparse=number(MANY))
    ),
    "inputs": graph_of(X, node("u", "Pack", "x", "x", N=number(MANY), T=tf.float32)),
    "list of types": graph_of(node("u", "OutTypeList", T=types(MOST_OUTPUTS + 1))),
    "many together": graph_of(X, *(unpack(f"u{k}", MOST_OUTPUTS) for k in range(9))),
    "in a function": graph_of(X, call(), functions=[function_of(unpack("u", MANY))]),
    "as the caller says": by_caller(),
    "by a function's signature": by_signature(),
    "name of slashes": graph_of(node("a/" * 100_000 + "x", "Placeholder", dtype=tf.float32)),
}


@pytest.mark.parametrize("graph_def", EXCESSIVE.values(), ids=EXCESSIVE)
def test_what_is_too_much_is_looked_at_and_never_given_to_tensorflow(
    graph_def: v1.GraphDef, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = []
    monkeypatch.setattr(
        c_api, "TF_GraphImportGraphDefWithResults", lambda *_: given.append("import")
    )
    editor = tgw.edit(graph_def)
    (notice,) = editor.source.notices
    assert "so the graph can be looked at only" in notice
    assert len(notice) < 500
    names = editor._core.index.names
    assert len(names) == len(graph_def.node)
    assert {editor._core.index.shape(op, 0) for op in range(len(names))} <= {None, ()}
    with pytest.raises(NotRunnable, match="looked at only"):
        _ = editor.graph
    assert given == []


def test_every_op_that_tensorflow_has_is_bounded_where_an_attribute_counts() -> None:
    known = op_def_pb2.OpList.FromString(c_api.TF_GetBuffer(c_api.TF_GetAllOpList())).op
    bounds = Bounds(op_def_registry.get)
    counting = [
        (op, arg) for op in known for arg in (*op.input_arg, *op.output_arg) if arg.number_attr
    ]
    assert len(counting) > 150
    for op, arg in counting:
        assert "no op has more" in bounds.why(
            node("n", op.name, **{arg.number_attr: number(MANY)})
        ), op.name
    listing = [
        (op, arg) for op in known for arg in (*op.input_arg, *op.output_arg) if arg.type_list_attr
    ]
    assert len(listing) > 150
    for op, arg in listing:
        assert "no op has more" in bounds.why(
            node("n", op.name, **{arg.type_list_attr: types(40_000)})
        ), op.name


def test_an_edit_gives_no_op_too_many_tensors() -> None:
    editor = tgw.edit(graph_of(X, unpack("u", 3)))
    with pytest.raises(
        GraphEditError, match=r"Op 'u' has num=2,147,483,647 tensors.*smaller number"
    ):
        editor.set_attr("u", "num", MANY)
    assert editor.history.done == ()
    editor = tgw.edit(EXCESSIVE["outputs"])
    editor.passes.set_input("x:0", shape=[3, 4])  # its reader is not asked for two billion shapes
    editor.undo()


def fill(count: int) -> list[v1.NodeDef]:
    size, one = constant("size", [count], tf.int32), constant("one", 1, tf.int32)
    return [X, size, one, node("fill", "Fill", "size", "one", T=tf.int32, index_type=tf.int32)]


def summed(read: str) -> list[v1.NodeDef]:
    keep = v1.AttrValue(b=True)
    total = node("sum", "Sum", read, "axis", T=tf.int32, Tidx=tf.int32, keep_dims=keep)
    return [constant("axis", [0], tf.int32), total, reshape("sum")]


def reshape(read: str) -> v1.NodeDef:
    return node("y", "Reshape", "x", read, T=tf.float32, Tshape=tf.int32)


def test_a_shape_that_hangs_on_billions_of_numbers_is_not_computed() -> None:
    splat = constant("fill", 1, tf.int32, [1 << 31])
    for nodes in ([*fill(MANY), *summed("fill")], [X, splat, *summed("fill")]):
        editor = tgw.edit(graph_of(*nodes))
        with pytest.raises(
            NotRunnable, match="'fill' makes more numbers than TensorFlow can compute a shape from"
        ):
            _ = editor.graph


def test_large_constants_that_no_shape_hangs_on_are_taken_in() -> None:
    splat = constant("c", 1, tf.float32, [1 << 40])
    report = node("told", "Shape", "fill", T=tf.int32, out_type=tf.int32)
    editor = tgw.edit(graph_of(*fill(1 << 30), splat, report, reshape("told")))
    assert editor.graph.get_tensor_by_name("c:0").shape == [1 << 40]
    small = tgw.edit(graph_of(*fill(5), *summed("fill")))
    assert small.graph.get_tensor_by_name("y:0").shape == [5]


def counted(last: int) -> v1.GraphDef:
    """A tensor whose shape hangs on the sum of a range up to a computed number."""
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None], name="x")
        limit = tf.maximum(tf.cast(tf.constant(last - 1, tf.int64), tf.int32) + 1, 1)
        tf.reshape(x, [tf.reduce_sum(tf.range(limit))], name="y")
    return graph.as_graph_def()


def test_a_range_up_to_a_small_number_that_is_computed_is_taken_in() -> None:
    assert tgw.edit(counted(3)).graph.get_tensor_by_name("y:0").shape == [3]
    with pytest.raises(NotRunnable, match="more numbers than TensorFlow can compute a shape from"):
        _ = tgw.edit(counted(1 << 30)).graph


@pytest.mark.parametrize("points", [1, 24, 5000])
def test_a_file_with_numbers_at_equal_distances_runs(points: int) -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, points], name="x")
        tf.add(x, tf.linspace(-1.0, 1.0, points), name="y")
    session = tgw.edit(graph.as_graph_def()).session
    assert session is not None
    given = session.run("y:0", {"x:0": np.zeros([1, points])})
    assert np.allclose(given[0], np.linspace(-1.0, 1.0, points), atol=1e-6)


def test_a_shape_of_more_dimensions_than_there_can_be_is_not_known() -> None:
    x = node(
        "x", "Placeholder", dtype=tf.float32, shape=v1.AttrValue(shape={"dim": [{"size": 1}] * 300})
    )
    editor = tgw.edit(graph_of(x, node("y", "Identity", "x", T=tf.float32)))
    assert editor._core.index.shape(0, 0) is None
    editor.insert("x:0", "Identity")
    with pytest.raises(NotRunnable):
        _ = editor.graph


def test_scopes_lie_in_each_other_to_a_bounded_depth_and_the_rest_is_the_ops_own_name() -> None:
    name = "a/" * 1000 + "x"
    assert len([*enclosing_scopes(name)]) == DEEPEST
    editor = tgw.edit(graph_of(node(name, "Placeholder", dtype=tf.float32), X))
    tree = editor._core.index.scopes
    assert len(tree.names) == DEEPEST + 1
    assert max(map(len, tree.names)) == 2 * DEEPEST - 1
    assert Op(editor._core.index, 0).scope == tree.names[-1]
    editor.view.expand()
    assert name in editor.view.scene().names


def test_hundreds_of_scopes_in_each_other_are_opened_all_at_once() -> None:
    names = ["/".join(["s", *"s" * depth, "x"]) for depth in range(2 * DEEPEST)]
    editor = tgw.edit(graph_of(*(node(name, "Placeholder", dtype=tf.float32) for name in names)))
    editor.view.expand()
    assert set(names) <= set(editor.view.scene().names)
