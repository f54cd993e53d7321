"""The places of a file where an op can be, each a function that writes a file with the op there.

Each file computes y = 2 x in one way or another, and needs the op for it or has it where TensorFlow
would run it: in an initializer, a Saver, a queue runner, a collection, or what a SavedModel runs
when it is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import tensorflow as tf
from tensorflow.core.protobuf import queue_runner_pb2
from tensorflow.python.trackable import resource

from tests.untrusted.canary import Canary
from tests.untrusted.hostile import Built

v1 = tf.compat.v1
Build = Callable[[Canary], Built]
PLACES: dict[str, Callable[[Canary, Build], Path]] = {}


def place(write: Callable[[Canary, Build], Path]) -> Callable[[Canary, Build], Path]:
    """Register a place under the name of its function."""
    PLACES[write.__name__] = write
    return write


def ops_of(built: Built) -> list[tf.Operation]:
    return [each if isinstance(each, tf.Operation) else each.op for each in built]


def number_of(built: Built) -> tf.Tensor:
    """An int32 scalar that depends on what was built: on its value, if it has one."""
    tensors = [each for each in built if not isinstance(each, tf.Operation)]
    for tensor in tensors:
        if tensor.dtype == tf.string:
            return tf.reduce_max(tf.strings.length(tensor)) * 0 + 2
        if tensor.dtype.is_floating or tensor.dtype.is_integer:
            return tf.reduce_max(tf.cast(tensor, tf.int32)) * 0 + 2
    with tf.control_dependencies(ops_of(built)):
        return tf.constant(1) + tf.constant(1)


def placeholder() -> tf.Tensor:
    return v1.placeholder(tf.float32, [None, 2], "x")


def doubled(x: tf.Tensor, built: Built) -> tf.Tensor:
    """Twice x, once all that was built has run."""
    with tf.control_dependencies(ops_of(built)):
        return x * 2.0


def result(y: tf.Tensor) -> tf.Tensor:
    """The output: with a weight, and with a part that is constant, so that passes have something to
    do.
    """
    weight = tf.constant([[1.0, 0.125], [0.0, 1.0]])
    return tf.identity(
        tf.matmul(y, weight, name="mixed") + (tf.constant([0.0, 0.0]) + tf.constant([0.0, 0.0])),
        "y",
    )


def written(canary: Canary, graph: tf.Graph) -> Path:
    path = canary.model / "model.pb"
    path.write_bytes(graph.as_graph_def().SerializeToString())
    return path


@contextmanager
def loops_of_tensorflow_1() -> Iterator[None]:
    v1.disable_control_flow_v2()
    try:
        yield
    finally:
        v1.enable_control_flow_v2()


@place
def top(canary: Canary, build: Build) -> Path:
    """A control input of an op that y needs."""
    with tf.Graph().as_default() as graph:
        result(doubled(placeholder(), build(canary)))
    return written(canary, graph)


@place
def shape(canary: Canary, build: Build) -> Path:
    """A shape that depends on it, and a constant: TensorFlow computes shapes of constants while it
    imports a graph.
    """
    with tf.Graph().as_default() as graph:
        x, number = placeholder(), number_of(build(canary))
        size = tf.identity(number, "size")
        result(x * tf.cast(number, tf.float32))
    # The ops that ask for the value are NodeDefs, so that TensorFlow does not compute it here.
    graph_def = graph.as_graph_def()
    shape_of_z = graph_def.node.add(
        name="shape_of_z", op="Pack", input=[size.op.name, size.op.name]
    )
    shape_of_z.attr["T"].type, shape_of_z.attr["N"].i = tf.int32.as_datatype_enum, 2
    z = graph_def.node.add(name="z", op="Reshape", input=[x.op.name, "shape_of_z"])
    z.attr["T"].type, z.attr["Tshape"].type = tf.float32.as_datatype_enum, tf.int32.as_datatype_enum
    path = canary.model / "model.pb"
    path.write_bytes(graph_def.SerializeToString())
    return path


@place
def function(canary: Canary, build: Build) -> Path:
    """A function that a function calls."""
    inner = tf.function(lambda x: doubled(x, build(canary)), autograph=False)
    outer = tf.function(lambda x: inner(x) + 0.0, autograph=False)
    with tf.Graph().as_default() as graph:
        result(outer(placeholder()))
    return written(canary, graph)


def write_loop(canary: Canary, build: Build) -> Path:
    def body(k: tf.Tensor, x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return k + 1, doubled(x, build(canary))

    with tf.Graph().as_default() as graph:
        _, y = tf.while_loop(lambda k, _: k < 1, body, [tf.constant(0), placeholder()])
        result(y)
    return written(canary, graph)


@place
def loop(canary: Canary, build: Build) -> Path:
    """The body of a While."""
    return write_loop(canary, build)


@place
def loop_of_tensorflow_1(canary: Canary, build: Build) -> Path:
    """The body of a loop with Enter and Exit."""
    with loops_of_tensorflow_1():
        return write_loop(canary, build)


@place
def initializer(canary: Canary, build: Build) -> Path:
    """The initial value of a variable."""
    with tf.Graph().as_default() as graph:
        x = placeholder()
        with tf.control_dependencies(ops_of(build(canary))):
            initial = tf.constant(1.0) + 1.0
        variable = v1.get_variable("v", initializer=initial, use_resource=True)
        result(x * variable)
    return written(canary, graph)


@place
def dataset(canary: Canary, build: Build) -> Path:
    """The function that a dataset maps its elements by, after an iterator that has an
    initializer.
    """
    with tf.Graph().as_default() as graph:
        x = placeholder()
        mapped = tf.data.Dataset.from_tensors(1.0).map(lambda one: doubled(one, build(canary)))
        iterator = v1.data.make_initializable_iterator(mapped.repeat())
        v1.add_to_collection(v1.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
        result(x * iterator.get_next())
    return written(canary, graph)


@place
def dataset_of_one_shot(canary: Canary, build: Build) -> Path:
    """The same after an iterator that makes its dataset by itself."""
    with tf.Graph().as_default() as graph:
        x = placeholder()
        mapped = tf.data.Dataset.from_tensors(1.0).map(lambda one: doubled(one, build(canary)))
        result(x * v1.data.make_one_shot_iterator(mapped.repeat()).get_next())
    return written(canary, graph)


@place
def meta(canary: Canary, build: Build) -> Path:
    """The restore op of a Saver, a queue runner's op, and the ops of all collections that
    initialize.
    """
    prefix = str(canary.model / "model")
    with tf.Graph().as_default() as graph, v1.Session() as session:
        x = placeholder()
        variable = v1.get_variable("v", initializer=2.0, use_resource=True)
        result(x * variable)
        saver = v1.train.Saver()
        session.run(variable.initializer)
        saver.save(session, prefix, write_meta_graph=False)
        with tf.control_dependencies(ops_of(build(canary))):
            hostile = tf.no_op("hostile")
        queue = tf.raw_ops.FIFOQueueV2(component_types=[tf.float32], shapes=[[]])
        close = tf.raw_ops.QueueCloseV2(handle=queue, name="close")
        with tf.control_dependencies(
            [hostile, graph.get_operation_by_name(saver.saver_def.restore_op_name)]
        ):
            saver.saver_def.restore_op_name = tf.no_op("restore").name
        for collection in (
            "init_op",
            "local_init_op",
            "ready_op",
            "table_initializer",
            "summary_op",
            "train_op",
        ):
            v1.add_to_collection(collection, hostile)
        meta_graph = v1.train.export_meta_graph(graph=graph, saver_def=saver.saver_def)
    runner = queue_runner_pb2.QueueRunnerDef(
        queue_name=queue.name,
        enqueue_op_name=[hostile.name],
        close_op_name=close.name,
        cancel_op_name=close.name,
    )
    meta_graph.collection_def["queue_runners"].bytes_list.value.append(runner.SerializeToString())
    path = canary.model / "model.meta"
    path.write_bytes(meta_graph.SerializeToString())
    return path


def write_saved_model(canary: Canary, build: Build, key: str) -> Path:
    with tf.Graph().as_default(), v1.Session() as session:
        x = placeholder()
        variable = v1.get_variable("v", initializer=2.0, use_resource=True)
        y = result(x * variable)
        session.run(variable.initializer)
        signature = v1.saved_model.signature_def_utils.predict_signature_def({"x": x}, {"y": y})
        with tf.control_dependencies(ops_of(build(canary))):
            hostile = tf.no_op("hostile")
        builder = v1.saved_model.Builder(str(canary.model / "saved_model"))
        v1.add_to_collection(key, hostile)
        builder.add_meta_graph_and_variables(session, ["serve"], {"serving_default": signature})
        builder.save()
    return canary.model / "saved_model"


@place
def main_op(canary: Canary, build: Build) -> Path:
    """What a SavedModel of TensorFlow 1 runs when it is loaded."""
    return write_saved_model(canary, build, "saved_model_main_op")


@place
def legacy_init_op(canary: Canary, build: Build) -> Path:
    """The same under its first name."""
    return write_saved_model(canary, build, "legacy_init_op")


class _Resource(resource.TrackableResource):
    """A resource with a hostile initializer: a function of a SavedModel of TensorFlow 2, which
    loading calls.
    """

    def __init__(self, initialize: Callable[[], None]) -> None:
        super().__init__()
        self._fill = initialize

    def _create_resource(self) -> tf.Tensor:
        return tf.raw_ops.MutableHashTableV2(
            key_dtype=tf.string, value_dtype=tf.int64, shared_name="hostile"
        )

    def _initialize(self) -> None:
        self._fill()


@place
def initializer_function(canary: Canary, build: Build) -> Path:
    """The initializer of a resource of a SavedModel of TensorFlow 2."""

    def initialize() -> None:
        if not tf.executing_eagerly():
            with tf.control_dependencies(ops_of(build(canary))):
                tf.no_op()

    module = tf.Module()
    module.resource = _Resource(initialize)
    module.twice = tf.function(
        lambda x: {"y": x * 2.0}, autograph=False, input_signature=[tf.TensorSpec([None, 2])]
    )
    path = canary.model / "saved_model"
    tf.saved_model.save(module, str(path), signatures=module.twice)
    return path
