"""A graph apart runs with the values it is given, and nobody else's state moves."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest
import tensorflow as tf

from tests.conftest import build_mlp, initialised, v1
from tfgraphwidget.errors import SessionRefused
from tfgraphwidget.runtime.sandbox.child_process import ChildProcess, JobFailed
from tfgraphwidget.runtime.sandbox.sandbox import RemoteSandbox, Sandbox

ONES = np.ones([2, 3], np.float32)


@pytest.mark.parametrize("resource", [False, True], ids=["ref", "resource"])
def test_it_gives_the_same_numbers_to_the_last_bit(resource: bool) -> None:
    graph = build_mlp(resource=resource)
    with initialised(graph) as session:
        with graph.as_default():
            held = dict(
                zip(
                    (v.op.name for v in v1.global_variables()),
                    session.run(v1.global_variables()),
                    strict=True,
                )
            )
        wanted = session.run(["net/logits:0", "net/one/out:0"], {"x:0": ONES})
    with Sandbox(graph.as_graph_def().node, values=held) as sandbox:
        got = sandbox.run(["net/logits:0", "net/one/out:0"], {"x:0": ONES})
        assert all(np.array_equal(a, b) for a, b in zip(got, wanted, strict=True))
        assert np.array_equal(
            sandbox.run(["net/logits:0"], {"net/one/out:0": wanted[1]})[0], wanted[0]
        )


def test_updates_and_tables_are_its_own() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.string, [None], name="x")
        pairs = tf.lookup.KeyValueTensorInitializer(["a"], tf.constant([1], tf.int64))
        found = tf.lookup.StaticHashTable(pairs, -1).lookup(x)
        n = v1.get_variable("n", initializer=np.int64(0), use_resource=True)
        tf.add(n.assign_add(1), found, name="y")
        fill = v1.get_collection(v1.GraphKeys.TABLE_INITIALIZERS)[0].name
    with initialised(graph) as session:
        with Sandbox(graph.as_graph_def().node, None, {"n": np.int64(10)}, [fill]) as sandbox:
            assert [sandbox.run(["y:0"], {"x:0": ["a"]})[0].tolist() for _ in range(2)] == [
                [12],
                [13],
            ]
        assert session.run("n/Read/ReadVariableOp:0") == 0


def test_functions_come_with_their_library() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [], name="x")
        tf.identity(tf.function(lambda a: a * 2.0)(x), name="y")
    whole = graph.as_graph_def()
    with Sandbox(whole.node, whole.library) as sandbox:
        assert sandbox.run(["y:0"], {"x:0": 4.0}) == [8.0]


def test_devices_of_other_machines_are_left_out() -> None:
    graph = tf.Graph()
    with graph.as_default(), tf.device("/job:worker/task:3/GPU:1"):
        tf.constant(1.0, name="c")
    with Sandbox(graph.as_graph_def().node) as sandbox:
        assert sandbox.run(["c:0"], {}) == [1.0]


def test_what_cannot_run_is_reported_in_one_sentence() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [2], name="x")
        tf.linalg.inv(tf.reshape(x, tf.cast(x, tf.int32)), name="y")
        v1.FIFOQueue(1, [tf.float32], name="q").dequeue(name="out")
    with Sandbox(graph.as_graph_def().node, patience=0.5) as sandbox:
        for outputs, feeds, sentence in (
            (["y:0"], {"x:0": [1.0, 2.0]}, "cannot run apart: Input matrix must be square"),
            (["x:0"], {"x:0": [1.0]}, "Cannot feed value of shape"),
            (["nope:0"], {}, "nope"),
            (["out:0"], {}, "cannot run apart"),  # would wait for ever
        ):
            with pytest.raises(SessionRefused, match=sentence):
                sandbox.run(outputs, feeds)


def test_a_result_that_cannot_travel_is_an_error_and_the_process_goes_on() -> None:
    process = ChildProcess()
    try:
        number = process.call(os.getpid, seconds=120)
        with pytest.raises(JobFailed, match="cannot pickle"):
            process.call(threading.Lock, seconds=120)
        assert process.call(os.getpid, seconds=120) == number
    finally:
        process.close()


def test_a_run_that_fails_leaves_the_process_for_the_next_one() -> None:
    """Where tblib is installed, an exception takes along what it was raised from: TensorFlow's,
    which has an op.
    """
    with tf.Graph().as_default() as graph:
        serialized = v1.placeholder(tf.string, [None], name="serialized")
        v1.parse_example(serialized, {"x": v1.FixedLenFeature([1], tf.float32)}, name="parse")
    good = tf.train.Example(
        features={"feature": {"x": {"float_list": {"value": [3.0]}}}}
    ).SerializeToString()
    with RemoteSandbox(graph.as_graph_def().node) as sandbox:
        output = f"{graph.get_operations()[-1].name}:0"
        generation = sandbox._context._process.generation
        for _ in range(2):
            with pytest.raises(SessionRefused, match="Could not parse example input"):
                sandbox.run([output], {"serialized:0": [b"a"]})
        (values,) = sandbox.run([output], {"serialized:0": [good]})
        assert values.tolist() == [[3.0]]
        assert sandbox._context._process.generation == generation
