"""Bodies of library functions, converted without TensorFlow's importer."""

from __future__ import annotations

import re

import pytest
import tensorflow as tf
from tensorflow.core.framework import function_pb2
from tensorflow.python.framework import function, function_def_to_graph

from tests.conftest import v1
from tests.sources.conftest import Affine, facts, index_of, node
from tfgraphwidget.errors import UnknownName
from tfgraphwidget.graph.function_refs import called_functions
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.sources import Body, open_function, open_source


def inside(body: Body, index: GraphIndex, name: str, label: str = "") -> tuple[Body, GraphIndex]:
    """The function that an op calls."""
    op = index.op(name)
    called = next(
        d for d in called_functions(index.nodes[op], body.functions()) if label in ("", d.label)
    )
    opened = open_function(called.function, body, index, op)
    return opened, index_of(opened)


def only(index: GraphIndex, kind: str) -> str:
    (found,) = (index.names[i] for i, k in enumerate(index.types) if k == kind)
    return found


def test_the_conversion_agrees_with_tensorflows(affine: Affine) -> None:
    graph_def = affine.__call__.get_concrete_function().graph.as_graph_def()
    body = open_source(graph_def).body
    assert len(body.functions()) >= 4
    for definition in graph_def.library.function:
        ours = open_function(definition.signature.name, body)
        theirs = function_def_to_graph.function_def_to_graph(definition)
        expected = {n.name: list(n.input) for n in theirs.as_graph_def().node}
        assert {n.name: list(n.input) for n in ours.nodes()} == expected
        assert ours.arguments == tuple(t.name for t in theirs.inputs)
        assert list(ours.returns.values()) == [t.name for t in theirs.outputs]
        assert list(ours.returns) == [arg.name for arg in definition.signature.output_arg]


def test_without_a_caller_captures_stay_arguments(affine: Affine) -> None:
    body = open_source(affine.__call__).body
    branch = next(name for name in body.functions() if "cond_true" in name)
    opened = open_function(branch, body)
    assert opened.alias == {}
    assert index_of(opened).types.count("Placeholder") == len(opened.arguments) == 3


def test_a_missing_function_proposes_the_nearest(affine: Affine) -> None:
    body = open_source(affine.__call__).body
    name = next(name for name in body.functions() if "cond_true" in name)
    with pytest.raises(
        UnknownName, match=re.escape(f"no function '{name}x'; did you mean '{name}'")
    ):
        open_function(f"{name}x", body)


def test_captures_of_a_live_function_are_followed_into_branches_and_loops(affine: Affine) -> None:
    source = open_source(affine.__call__)
    index = index_of(source.body)
    body, branch = inside(source.body, index, only(index, "If"), "then_branch")
    assert {"net/w", "net/b"} <= set(branch.names)
    assert body.functions() == source.body.functions()
    assert {v.handle: v.trainable for v in branch.variable_defs} == {"net/w": True, "net/b": False}
    loop, inner = inside(source.body, index, only(index, "While"), "body")
    assert "net/b" in inner.ids
    assert {v.handle: v.trainable for v in inner.variable_defs} == {"net/b": False}
    # The variable goes in and comes out of the loop: its result is the variable too.
    assert "net/b:0" in loop.returns.values()
    assert facts(inner)
    assert facts(branch)


def test_case_branches_and_partitioned_calls_show_their_variables() -> None:
    w = tf.Variable(2.0, name="w")

    @tf.function
    def inner(x: tf.Tensor) -> tf.Tensor:
        return x * w

    @tf.function
    def outer(x: tf.Tensor, k: tf.Tensor) -> tf.Tensor:
        return tf.switch_case(k, [lambda: inner(x), lambda: x + w])

    concrete = outer.get_concrete_function(tf.TensorSpec([]), tf.TensorSpec([], tf.int32))
    source = open_source(concrete)
    index = index_of(source.body)
    case = only(index, "Case")
    body, branch = inside(source.body, index, case, "branches[0]")
    assert "w" in branch.ids
    called = next(
        n for n, k in zip(branch.names, branch.types, strict=True) if "PartitionedCall" in k
    )
    assert "w" in inside(body, branch, called)[1].ids
    assert "w" in inside(source.body, index, case, "branches[1]")[1].ids


def test_a_dataset_map_shows_the_table_it_captures() -> None:
    pairs = tf.lookup.KeyValueTensorInitializer(["a"], tf.constant([1], tf.int64))
    graph = tf.Graph()
    with graph.as_default():
        table = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(tf.constant(["a"]), tf.constant([1], tf.int64)), -1
        )
        offset = v1.get_variable("offset", [], tf.int64, use_resource=True)
        dataset = tf.data.Dataset.from_tensor_slices(["a", "b"]).map(
            lambda x: table.lookup(x) + offset
        )
        v1.data.make_initializable_iterator(dataset)
    del pairs
    source = open_source(graph)
    index = index_of(source.body)
    mapped = only(index, "MapDataset")
    body, inner = inside(source.body, index, mapped)
    assert "HashTableV2" in inner.types
    assert "offset" in inner.ids
    assert body.arguments[0].startswith("args_0")


def test_a_variable_given_twice_is_shown_once() -> None:
    w = v1.NodeDef()
    definition = function_pb2.FunctionDef()
    definition.signature.name = "f"
    for name in ("a", "b"):
        definition.signature.input_arg.add(name=name, type=tf.resource.as_datatype_enum)
    definition.signature.output_arg.add(name="y", type=tf.float32.as_datatype_enum)
    definition.node_def.append(node("read", "ReadVariableOp", "b", dtype=tf.float32))
    definition.node_def.append(node("w", "NoOp", "^read"))
    definition.ret["y"] = "read:value:0"
    w = node(
        "w",
        "VarHandleOp",
        dtype=tf.float32,
        shape=v1.AttrValue(shape=tf.TensorShape([2]).as_proto()),
    )
    alias = node("alias", "Identity", "w", T=tf.resource)
    graph_def = v1.GraphDef(node=[w, alias, node("call", "f", "w", "alias", "^alias")])
    graph_def.library.function.append(definition)
    source = open_source(graph_def)
    body, index = inside(source.body, index_of(source.body), "call")
    assert body.alias == {"a": "w_1", "b": "w_1"}
    assert list(index.names) == ["w_1", "read", "w"]
    assert body.arguments == ()
    assert index.shape(index.op("read"), 0) == (2,)
    assert index.variable_defs[0].snapshot == "read:0"


def test_a_tensorflow_1_function_opens() -> None:
    graph = tf.Graph()
    with graph.as_default():

        @function.Defun(tf.float32, tf.float32, func_name="scaled")
        def scaled(x: tf.Tensor, y: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            parts = tf.split(x, 2)
            return parts[1] * y, parts[0]

        x = v1.placeholder(tf.float32, [4], name="x")
        tf.add_n(scaled(x, tf.constant(2.0)), name="sum")
    for thing in (graph, graph.as_graph_def()):
        source = open_source(thing)
        index = index_of(source.body)
        call = next(i for i, kind in enumerate(index.types) if kind == "scaled")
        assert index.dtypes(call) == ("float32", "float32")
        body, inner = inside(source.body, index, index.names[call])
        assert [t.partition(":")[0] in inner.ids for t in body.returns.values()] == [True, True]
        split = inner.types.index("Split")
        assert inner.dtypes(split) == ("float32", "float32")
        assert {int(p) for p in inner.ports} == {0, 1}


def made_by_hand(*nodes: v1.NodeDef, ret: str) -> Body:
    """The body of a function of one argument and one result."""
    definition = function_pb2.FunctionDef()
    definition.signature.name = "f"
    definition.signature.input_arg.add(name="x", type=tf.float32.as_datatype_enum)
    definition.signature.output_arg.add(name="y", type=tf.float32.as_datatype_enum)
    definition.node_def.extend(nodes)
    definition.ret["y"] = ret
    graph_def = v1.GraphDef(
        node=[node("call", "f", "x"), node("x", "Placeholder", dtype=tf.float32)]
    )
    graph_def.library.function.append(definition)
    return open_function("f", open_source(graph_def).body)


def test_outputs_of_an_op_that_tensorflow_does_not_know_are_guessed() -> None:
    body = made_by_hand(
        node("custom", "MyOp", "x"),
        node("a", "Relu", "custom:many:0", T=tf.float32),
        node("b", "Relu", "custom:many:1", T=tf.float32),
        node("c", "Relu", "custom:other:0", "^a", T=tf.float32),
        ret="c:activations:0",
    )
    assert [list(n.input) for n in body.nodes()] == [
        [],
        ["x"],
        ["custom"],
        ["custom:1"],
        ["custom:2", "^a"],
    ]
    assert body.returns == {"y": "c:0"}
    assert facts(index_of(body))


def test_a_placeholder_represents_what_a_function_reads_and_does_not_hold() -> None:
    body = made_by_hand(node("a", "Relu", "gone:activations:0"), ret="a:activations:0")
    (stand_in,) = [node for node in body.nodes() if node.name == "gone"]
    assert (stand_in.op, stand_in.attr["_missing_input"].s) == ("Placeholder", b"gone")


def test_dtypes_of_a_polymorphic_function_come_from_the_call() -> None:
    definition = function_pb2.FunctionDef()
    definition.signature.name = "poly"
    definition.signature.input_arg.add(name="x", type_attr="T")
    definition.signature.output_arg.add(name="y", type_attr="T")
    definition.signature.attr.add(name="T", type="type")
    definition.node_def.append(node("n", "Neg", "x", T=v1.AttrValue(placeholder="T")))
    definition.ret["y"] = "n:y:0"
    graph_def = v1.GraphDef(
        node=[node("x", "Placeholder", dtype=tf.int32), node("call", "poly", "x", T=tf.int32)]
    )
    graph_def.library.function.append(definition)
    source = open_source(graph_def)
    index = index_of(source.body)
    assert index.dtypes(index.op("call")) == ("int32",)
    _, inner = inside(source.body, index, "call")
    assert [inner.dtypes(i) for i in range(len(inner))] == [("int32",), ("int32",)]
    unbound = index_of(open_function("poly", source.body))
    assert [unbound.dtypes(i) for i in range(len(unbound))] == [("",), ("",)]
