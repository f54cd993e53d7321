"""A live graph's body: grows, and shows what a function captured as the variables they are."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import tensorflow as tf

from tests.conftest import v1
from tests.sources.conftest import facts, index_of
from tfgraphwidget.graph import devices_of
from tfgraphwidget.sources import node_columns, open_source
from tfgraphwidget.sources.live.graph_body import GraphBody

CPU = "/device:CPU:0"


def test_new_ops_change_the_stamp_and_are_read_alone(mlp: tf.Graph) -> None:
    body = GraphBody(mlp)
    before, count = body.stamp(), len(body.nodes())
    assert body.stamp() == before
    with mlp.as_default():
        tf.identity(mlp.get_tensor_by_name("net/logits:0"), name="more")
    assert body.stamp() != before
    assert [n.name for n in body.nodes(count)] == ["more"]


def test_the_bytes_of_a_graph_are_read_as_its_graph_def(
    mlp: tf.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    function = tf.function(lambda x: x + 1).get_concrete_function(tf.TensorSpec([]))
    function.add_to_graph(mlp)
    with (
        mlp.as_default(),
        tf.device("/device:CPU:0"),
        tf.control_dependencies([mlp.get_operation_by_name("x")]),
    ):
        tf.split(mlp.get_tensor_by_name("net/logits:0"), 2, axis=1, name="parts")
    whole = mlp.as_graph_def()
    expected = index_of(GraphBody(mlp))
    assert list(expected.nodes) == list(whole.node)
    monkeypatch.setattr(node_columns, "MOST_MESSAGES", 0)  # as of a large graph
    index = index_of(GraphBody(mlp))
    assert facts(index) == facts(expected)
    assert list(devices_of(index.nodes)) == [("parts/split_dim", CPU), ("parts", CPU)]
    assert list(index.nodes) == list(whole.node)
    envelope = GraphBody(mlp).envelope()
    # As where TensorFlow has renamed what is private.
    monkeypatch.setattr("tfgraphwidget.tf_internals.c_graphs.c_api", SimpleNamespace())
    assert list(GraphBody(mlp).nodes()) == list(whole.node)
    del whole.node[:]
    assert envelope == whole


def test_an_exchanged_entry_of_a_collection_changes_the_stamp(mlp: tf.Graph) -> None:
    body = GraphBody(mlp)
    before = body.stamp()
    held = mlp.get_collection_ref("trainable_variables")
    held[0], held[1] = held[1], held[0]
    assert body.stamp() != before


def test_a_new_function_in_the_library_changes_the_stamp_and_can_be_asked_for(
    line: tf.Graph,
) -> None:
    body = GraphBody(line)
    before = body.stamp()
    function = tf.function(lambda x: x + 1).get_concrete_function(tf.TensorSpec([]))
    function.add_to_graph(line)
    assert body.stamp() != before
    (name,) = body.functions()
    assert body.function(name).signature.name == name


def test_growing_by_a_few_ops_does_not_read_the_whole_graph(
    mlp: tf.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = GraphBody(mlp)
    whole = body.nodes()

    def refuse() -> None:
        raise AssertionError("the whole graph was read")

    monkeypatch.setattr(mlp, "as_graph_def", refuse)
    assert body.nodes(len(whole) - 2) == whole[-2:]


def test_collections_hold_each_variable_once(mlp: tf.Graph) -> None:
    collections, variables = GraphBody(mlp).collections()
    assert [v.handle for v in variables] == ["net/one/w", "net/one/b", "net/two/w", "net/two/b"]
    assert [m.name for m in collections["trainable_variables"]] == [v.name for v in variables]
    assert all(v.trainable and v.initializer and v.initial_value for v in variables)


def test_dtypes_and_shapes_are_those_of_the_live_tensors(mlp: tf.Graph) -> None:
    index = index_of(GraphBody(mlp))
    for i, op in enumerate(mlp.get_operations()):
        assert list(index.dtypes(i)) == [t.dtype.name for t in op.outputs]
        shapes = [None if t.shape.rank is None else tuple(t.shape.as_list()) for t in op.outputs]
        assert [index.shape(i, k) for k in range(len(op.outputs))] == shapes
    assert index.typing.shape("gone", 0) is None
    assert index.typing.shape("x", 7) is None


def test_captured_variables_are_shown_by_their_names() -> None:
    w = tf.Variable([1.0, 2.0], name="dense/kernel")
    same_name = tf.Variable(3.0, name="dense/kernel", trainable=False)
    table = tf.ones([2000, 2])  # TensorFlow copies small constants into the function

    @tf.function
    def f(x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"y": x * w + same_name + table}

    source = open_source(f.get_concrete_function(tf.TensorSpec([2])))
    index = index_of(source.body)
    handles = {
        index.names[i]: index.nodes[i]
        for i, kind in enumerate(index.types)
        if kind == "VarHandleOp"
    }
    assert set(handles) == {"dense/kernel", "dense/kernel_1"}
    assert handles["dense/kernel"].attr["dtype"].type == tf.float32.as_datatype_enum
    assert [d.size for d in handles["dense/kernel"].attr["shape"].shape.dim] == [2]
    assert handles["dense/kernel_1"].attr["shared_name"].s == b"dense/kernel_1", "two variables"
    assert {v.handle: v.trainable for v in index.variable_defs} == {
        "dense/kernel": True,
        "dense/kernel_1": False,
    }
    assert sorted(source.body.alias.values()) == ["dense/kernel", "dense/kernel_1"]
    assert source.body.arguments == ("x:0",)
    assert source.body.returns == {"y": "Identity:0"}
    # The captured constant keeps the placeholder's name.
    assert index.types.count("Placeholder") == 2
    read = index.input_lists[index.op("mul/ReadVariableOp")]
    assert [index.names[i] for i in read] == ["dense/kernel"]
    assert index.variable_defs[0].snapshot == "mul/ReadVariableOp:0"
    assert index.dtypes(index.op("dense/kernel")) == ("resource",)
    assert len(facts(index)) == len(index)


def test_a_variable_whose_python_object_is_gone_is_found_by_its_handle() -> None:
    def build() -> tf.types.experimental.ConcreteFunction:
        w = tf.Variable(1.0)
        return tf.function(lambda x: x * w).get_concrete_function(tf.TensorSpec([]))

    assert open_source(build()).body.alias == {"mul/ReadVariableOp/resource": "Variable"}


def test_an_inner_function_shows_variables_of_the_function_around_it() -> None:
    w = tf.Variable(1.0, name="w")
    graphs = []

    @tf.function
    def f(x: tf.Tensor) -> tf.Tensor:
        def branch() -> tf.Tensor:
            graphs.append(v1.get_default_graph())
            return x * w

        return tf.cond(x > 0, branch, lambda: x)

    f.get_concrete_function(tf.TensorSpec([]))
    index = index_of(open_source(graphs[0]).body)
    assert "w" in index.ids
