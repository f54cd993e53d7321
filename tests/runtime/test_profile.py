"""Costs of ops: parameters, bytes, FLOPs from TensorFlow's registry, time and memory from traced
runs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import initialised, read, v1
from tfgraphwidget.errors import GraphEditError, SessionRefused
from tfgraphwidget.graph.costs import output_bytes, parameters, users
from tfgraphwidget.hierarchy.op_facts import find_op_facts
from tfgraphwidget.runtime.measure.batch import at_batch
from tfgraphwidget.runtime.measure.flops import flops
from tfgraphwidget.runtime.measure.profile import Cost, Measurement


@pytest.fixture
def conv() -> tf.Graph:
    """A convolution, a batched product, an op that the registry does not know."""
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 8, 8, 3], name="x")
        w = v1.get_variable("w", [3, 3, 3, 5], use_resource=True)
        y = tf.nn.conv2d(x, w, 1, "SAME", name="conv")
        tf.matmul(y, tf.ones([5, 7]), name="batched")
        tf.cumsum(y, name="unknown")
    return graph


def rows(editor: tgw.GraphEditor, batch: int = 1) -> dict[str, dict[str, Any]]:
    table = editor.table(batch=batch)
    report = table if isinstance(table, list) else table.to_dict("records")
    return {row["name"]: row for row in report}


def costs(graph: tf.Graph, batch: int = 1) -> dict[str, dict[str, Any]]:
    return rows(tgw.edit(graph), batch)


def test_a_matrix_product_is_two_times_its_three_sizes(mlp):
    ops = len(mlp.get_operations())
    found = costs(mlp, batch=5)
    assert found["net/one/MatMul"]["flops"] == 2 * 5 * 3 * 4
    assert found["net/two/MatMul"]["flops"] == 2 * 5 * 4 * 4
    assert costs(mlp)["net/one/MatMul"]["flops"] == 2 * 1 * 3 * 4
    assert len(mlp.get_operations()) == ops


def test_convolutions_and_batched_products_are_known_and_other_ops_are_said_to_be_unknown(conv):
    index = tgw.edit(conv)._core.index
    found = dict(zip(index.names, flops(at_batch(index, 2)).tolist(), strict=True))
    assert found["conv"] == 2 * (2 * 8 * 8 * 5) * (3 * 3 * 3)
    assert found["batched"] == 2 * (2 * 8 * 8 * 7) * 5
    assert np.isnan(found["unknown"])
    assert found["x"] == found["w"] == 0


def calling() -> tgw.GraphEditor:
    """A layer that is called twice, a loop, a choice, and a function that calls a function."""
    dense = tf.keras.layers.Dense(7)
    dense.build((None, 5))
    layer = tf.function(dense)
    outer = tf.function(lambda x: layer(x) + layer(2.0 * x))

    def step(x: tf.Tensor, n: tf.Tensor) -> tf.Tensor:
        y = outer(x) + layer(x)
        y = tf.while_loop(
            lambda i, _: i < n, lambda i, y: (i + 1, tf.matmul(y, tf.ones([7, 7]))), [0, y]
        )[1]
        return tf.cond(
            n > 3, lambda: tf.matmul(y, tf.ones([7, 9])), lambda: tf.matmul(y, tf.ones([7, 2]))
        )

    signature = [tf.TensorSpec([None, 5]), tf.TensorSpec([], tf.int32)]
    return tgw.edit(tf.function(step, autograph=False), signature=signature)


def test_a_call_costs_what_it_calls_wherever_that_is_seen_from():
    editor = calling()
    found, layer = rows(editor, batch=4), 2 * 4 * 5 * 7 + 4 * 7
    kinds = {row["type"]: row["flops"] for row in found.values()}
    calls = {name: row["flops"] for name, row in found.items() if "PartitionedCall" in row["type"]}
    twice = 2 * layer + 4 * 5 + 4 * 7
    assert sorted(calls.values()) == [layer, twice]
    # With the condition and both counters.
    assert kinds["StatelessWhile"] == 2 * 4 * 7 * 7 + 1 + 1 + 1
    assert kinds["StatelessIf"] == 2 * 4 * 7 * 9
    editor.view.color_by("FLOPs", batch=4)
    legend = editor.view.legend
    assert legend is not None
    assert "unknown" not in legend.notice
    editor.view.enter(next(name for name, flops in calls.items() if flops == twice))
    assert [row["flops"] for row in rows(editor, batch=4).values() if row["flops"] == layer] == [
        layer,
        layer,
    ]


def test_a_function_that_calls_itself_and_one_that_says_nothing_are_unknown():
    graph_def = v1.GraphDef()
    for name, called in (("again", "again"), ("silent", "")):
        function = graph_def.library.function.add()
        function.signature.name = name
        inner = function.node_def.add(name="inner", op="PartitionedCall" if called else "Betainc")
        if called:
            inner.attr["f"].func.name = called
        call = graph_def.node.add(name=name, op="PartitionedCall")
        call.attr["f"].func.name = name
    found = [row["flops"] for row in rows(tgw.edit(graph_def)).values()]
    assert len(found) == 2
    assert all(flops is None or np.isnan(flops) for flops in found)


def test_flops_of_a_file_need_no_import(conv, tmp_path: Path):
    (tmp_path / "graph.pb").write_bytes(conv.as_graph_def(add_shapes=True).SerializeToString())
    editor = tgw.edit(tmp_path / "graph.pb")
    found = {name: row["flops"] for name, row in rows(editor, batch=2).items()}
    assert found["conv"] == 2 * (2 * 8 * 8 * 5) * (3 * 3 * 3)
    assert editor._core.source.graph is None


def test_to_ask_for_flops_leaves_out_of_a_file_what_it_leaves_out(tmp_path: Path):
    graph_def = v1.GraphDef()
    for name in ("a", "b"):
        node = graph_def.node.add(name=name, op="Placeholder")
        node.attr["dtype"].type = tf.float32.as_datatype_enum
        node.attr["shape"].shape.CopyFrom(tf.TensorShape([2, 2, 2]).as_proto())
    for name in ("MatMul", "BatchMatMulV2"):
        node = graph_def.node.add(name=name, op=name, input=["a", "b"])
        node.attr["T"].type = tf.float32.as_datatype_enum
    (tmp_path / "graph.pb").write_bytes(graph_def.SerializeToString())
    editor = tgw.edit(tmp_path / "graph.pb")
    rows(editor)
    assert [list(node.attr) for node in editor._core.index.nodes[2:]] == [["T"], ["T"]]


def test_bytes_are_sizes_times_elements(conv):
    index = tgw.edit(conv)._core.index
    found = dict(zip(index.names, output_bytes(at_batch(index, 2)).tolist(), strict=True))
    assert found["x"] == 2 * 8 * 8 * 3 * 4
    assert found["conv"] == 2 * 8 * 8 * 5 * 4
    assert np.isnan(found["w"])  # a resource


def test_parameters_are_elements_of_variables_without_the_optimisers():
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 3], name="x")
        w = v1.get_variable("w", [3, 4])
        v1.train.AdamOptimizer().minimize(tf.reduce_sum(tf.matmul(x, w)), name="train")
    index = tgw.edit(graph)._core.index
    found = dict(zip(index.names, parameters(index).tolist(), strict=True))
    assert found["w"] == 12
    assert sum(value for name, value in found.items() if "Adam" in name and "beta" not in name) == 0


def test_the_constants_of_a_frozen_graph_are_its_parameters():
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 3], name="x")
        tf.matmul(x, tf.constant(np.ones((3, 4), np.float32), name="frozen"), name="y")
        tf.constant([1, 2], name="shape")
    found = costs(graph)
    assert (found["frozen"]["parameters"], found["shape"]["parameters"]) == (12, 0)


def test_a_function_s_variables_are_its_arguments():
    w = tf.Variable(tf.ones([3, 4]), name="w")
    function = tf.function(lambda x: tf.matmul(x, w)).get_concrete_function(
        tf.TensorSpec([None, 3])
    )
    index = tgw.edit(function)._core.index
    assert parameters(index).sum() == 12


def test_what_a_variable_holds_counts_where_it_is_read(mlp):
    index = tgw.edit(mlp)._core.index
    at = users(index, find_op_facts(index).depends_on_input)
    assert index.names[at[index.ids["net/one/w"]]] == "net/one/MatMul"
    assert at[index.ids["x"]] == index.ids["x"]


def test_ops_that_ran_took_time(editor, mlp, session, batch):
    ops, before = len(mlp.get_operations()), read(mlp.get_collection("variables"), session)
    found = editor.measure("net/logits:0", {"x:0": batch}, runs=2)
    assert found.runs == 2
    assert found["net/two/MatMul"].time > 0
    assert found["net/two/MatMul:0"] == found["net/two/MatMul"]
    assert "init" not in found
    assert [cost.time for cost in found.values()] == sorted(
        (c.time for c in found.values()), reverse=True
    )
    assert len(mlp.get_operations()) == ops
    for old, new in zip(before, read(mlp.get_collection("variables"), session), strict=True):
        assert np.array_equal(old, new)
    assert "net/two/MatMul" in repr(found)


def net() -> tuple[tf.Graph, dict[str, Any]]:
    """A convolution and a product, each of which any processor's TensorFlow runs as one with what
    follows; a feed.
    """
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 8, 8, 3], name="x")
        w = v1.get_variable("w", [3, 3, 3, 4], use_resource=True)
        y = tf.nn.relu(
            tf.nn.bias_add(tf.nn.conv2d(x, w, 1, "SAME", name="conv"), tf.ones(4), name="bias"),
            name="out",
        )
        flat = tf.reshape(y, [-1, 4], name="flat")
        tf.nn.relu(
            tf.nn.bias_add(tf.matmul(flat, 2 * tf.ones([4, 5]), name="mm"), tf.ones(5), name="add"),
            name="end",
        )
    return graph, {"x:0": np.ones((2, 8, 8, 3))}


def joined_as(found: Any) -> dict[str, str]:
    return {
        op: report
        for op, report in found.fused.items()
        if op in ("conv", "bias", "out", "mm", "add", "end")
    }


JOINED = {
    **dict.fromkeys(("conv", "bias", "out"), "conv"),
    **dict.fromkeys(("mm", "add", "end"), "mm"),
}


def test_what_runs_as_one_is_reported_once_under_the_op_that_does_the_work(tmp_path):
    graph, feed = net()
    session = initialised(graph)
    editor = tgw.edit(graph, session=session)
    metadata = v1.RunMetadata()
    options = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE)
    session.run("end:0", feed, options=options, run_metadata=metadata)
    tf.profiler.experimental.start(str(tmp_path))
    session.run("end:0", feed)
    tf.profiler.experimental.stop()
    for found in (
        editor.measure(metadata=metadata),
        editor.measure(metadata=tmp_path),
        editor.measure("end", feed, runs=2),
    ):
        assert joined_as(found) == JOINED
        assert {"conv", "mm"} <= set(found)
        assert not {"bias", "out", "add", "end"} & set(found)
        assert found["out:0"] == found["bias"] == found["conv"]
        assert found["conv"].time > 0
        assert "4 ops ran as one with another, and reported with it" in repr(found)
    editor.view.color_by("time")
    assert "4 ops ran as one" in editor.view.legend.notice


def test_what_is_fed_in_the_middle_or_runs_by_itself_is_not_taken_for_a_part():
    graph, feed = net()
    editor = tgw.edit(graph, session=initialised(graph))
    assert joined_as(editor.measure("end", {"flat:0": np.ones((6, 4))})) == {
        op: report for op, report in JOINED.items() if report == "mm"
    }
    assert joined_as(editor.measure("end", {"add:0": np.ones((6, 5))})) == {}
    # What is fetched in between runs by itself, or as the end.
    found = editor.measure(["bias", "end"], feed)
    assert found["conv"].time > 0
    assert "out" in found


def test_memory_is_what_an_op_asked_for():
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 100], name="x")
        tf.matmul(x, x, transpose_b=True, name="y")
    found = tgw.edit(graph, session=v1.Session(graph=graph)).measure(
        "y:0", {"x:0": np.ones((200, 100))}
    )
    assert found["y"].memory >= 200 * 200 * 4


def test_without_names_the_chosen_outputs_are_measured_or_else_all_inputs_and_outputs(
    editor, batch
):
    whole = editor.measure(feeds={"x": batch})
    editor.mark("x", "net/one/out")
    part = editor.measure(feeds={"x": batch})
    assert "net/two/MatMul" in whole
    assert "net/two/MatMul" not in part
    assert "net/one/MatMul" in part


def test_what_was_measured_holds_until_an_edit(editor, batch):
    editor.measure("net/logits", {"x": batch})
    assert editor._core.evaluator.costs["net/one/MatMul"].time > 0
    assert rows(editor)["net/two/MatMul"]["time"] > 0
    editor.rename("net/logits", "net/scores")
    assert not editor._core.evaluator.costs


def test_metadata_of_another_run_will_do(editor, session, batch):
    metadata = v1.RunMetadata()
    options = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE)
    session.run("net/logits:0", {"x:0": batch}, options=options, run_metadata=metadata)
    assert editor.measure(metadata=metadata)["net/one/MatMul"].time > 0


def test_a_profile_will_do(editor, session, batch, tmp_path):
    tf.profiler.experimental.start(str(tmp_path))
    session.run("net/logits:0", {"x:0": batch})
    tf.profiler.experimental.stop()
    found = editor.measure(metadata=tmp_path)
    assert found["net/two/MatMul"].time > 0
    assert np.isnan(found["net/two/MatMul"].memory)


@pytest.mark.parametrize("metadata", [42, "nowhere", v1.RunMetadata()])
def test_metadata_that_says_nothing_is_refused_and_forgets_nothing(editor, batch, metadata):
    editor.measure("net/logits", {"x": batch})
    with pytest.raises(GraphEditError, match=r"RunMetadata|profile"):
        editor.measure(metadata=metadata)
    assert editor._core.evaluator.costs


def test_ends_that_change_variables_are_refused_with_a_way_out():
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None], name="x")
        w = v1.get_variable("w", [], use_resource=True)
        loss = tf.reduce_sum(x * w, name="loss")
        train = v1.train.GradientDescentOptimizer(0.1).minimize(loss, name="train")
        with tf.control_dependencies([train]):
            tf.identity(loss, name="after")
    editor = tgw.edit(graph, session=(session := initialised(graph)))
    before = session.run("w/Read/ReadVariableOp:0")
    with pytest.raises(GraphEditError, match=r"change what the session holds.*metadata") as refused:
        editor.measure("after", {"x": [1.0]})
    assert refused.value.ops
    assert session.run("w/Read/ReadVariableOp:0") == before
    assert editor.measure("loss", {"x": [1.0]})["loss"].time > 0


def test_of_a_graph_that_trains_all_before_the_updates_is_measured():
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 3], name="x")
        w = v1.get_variable("w", [3, 1], use_resource=True)
        loss = tf.reduce_sum(tf.matmul(x, w, name="product"), name="loss")
        v1.train.AdamOptimizer(0.1).minimize(loss, name="train")
        v1.train.Saver()
    editor = tgw.edit(graph, session=(session := initialised(graph)))
    before = session.run("w/Read/ReadVariableOp:0").tolist()
    measured = editor.measure(feeds={"x": [[1.0, 2.0, 3.0]]})
    assert {"product", "gradients/product_grad/MatMul_1", "loss"} <= {
        name for name in measured if measured[name].time
    }
    assert not any("Apply" in graph.get_operation_by_name(name).type for name in measured)
    assert session.run("w/Read/ReadVariableOp:0").tolist() == before


def test_what_cannot_run_is_refused_in_a_sentence(editor, mlp, batch):
    with pytest.raises(GraphEditError, match="is needed and not fed"):
        editor.measure("net/logits")
    with pytest.raises(GraphEditError, match="not a number of runs"):
        editor.measure("net/logits", {"x": batch}, runs=0)
    with pytest.raises(SessionRefused, match="no session"):
        tgw.edit(mlp).measure("net/logits", {"x": batch})


def test_a_tensor_inside_a_loop_is_refused(while_loop):
    editor = tgw.edit(while_loop, session=v1.Session(graph=while_loop))
    with pytest.raises(GraphEditError, match="inside while loop"):
        editor.measure("while/Identity", {"x": 1.0})
    assert editor.measure("y", {"x": 1.0})["while/mul"].time > 0


def test_a_function_s_body_is_measured_aside():
    w = tf.Variable(tf.ones([3, 4]), name="w")

    @tf.function(input_signature=[tf.TensorSpec([None, 3]), tf.TensorSpec([None, 4])])
    def layer(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        with tf.name_scope("net"):
            return tf.nn.relu(tf.matmul(x, w, name="product") - y, name="out")

    editor = tgw.edit(layer)
    found = editor.measure("net/out", {"x": np.ones((2, 3)), "y": np.ones((2, 4))})
    assert found["net/product"].time > 0
    assert set(found) <= set(editor._core.index.names)
    assert editor._core.evaluator.costs


def test_said_is_the_old_name_of_the_summary_of_measured_costs() -> None:
    measured = Measurement({"b": Cost(1.0, 2.0)}, {"a": "b", "b": "b"}, runs=3)
    with pytest.warns(DeprecationWarning, match=r"Measured\.summary"):
        assert measured.said == measured.summary


def test_a_function_that_reads_a_table_from_outside_is_refused_in_a_sentence() -> None:
    initializer = tf.lookup.KeyValueTensorInitializer([1, 2], [3.0, 4.0])
    table = tf.lookup.StaticHashTable(initializer, -1.0)
    looked_up = tf.function(
        lambda q: 2.0 * table.lookup(q), input_signature=[tf.TensorSpec([None], tf.int32, "q")]
    )
    editor = tgw.edit(looked_up)
    with pytest.raises(GraphEditError, match="cannot be measured apart: it reads a table"):
        editor.measure(feeds={"q:0": [1, 5]})
