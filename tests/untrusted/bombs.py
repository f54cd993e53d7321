"""Files of some kilobytes whose constant parts would take gigabytes, or never end, if they were
computed.
"""

from __future__ import annotations

import resource
import tempfile
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import tensorflow as tf

import tfgraphwidget as tgw

v1, r = tf.compat.v1, tf.raw_ops
MOST_MEMORY = 3 << 30  # bytes that the process that asks may take more than before
ADDRESS_SPACE = 24 << 30  # bytes; a bomb that goes off ends its process, and not the machine


def tiled(count: int) -> tf.Tensor:
    return tf.tile(tf.constant([1.0]), [count])


def repeated(function: Callable[[Any], Any], times: int, value: Any) -> Any:
    for _ in range(times):
        value = function(value)
    return value


def long_text(times: int) -> tf.Tensor:
    """A text of a thousand letters to the power of so many more."""
    return repeated(lambda text: tf.strings.join([text] * 1000), times, tf.constant("a" * 1000))


def column(count: int) -> tf.Tensor:
    return tf.reshape(tf.range(0.0, float(count)), [-1, 1])


def endless() -> tf.Tensor:
    """A loop whose condition is always true."""
    return tf.while_loop(lambda _: tf.constant(True), lambda k: (k + 1,), [tf.constant(0)])[0]


def zip_bomb() -> tf.Tensor:
    """A gigabyte of zeros, compressed to a megabyte."""
    stream = zlib.compressobj(9)
    data = b"".join(stream.compress(b"\0" * (1 << 20)) for _ in range(1 << 10)) + stream.flush()
    return tf.strings.length(tf.io.decode_compressed(tf.constant(data), "ZLIB"))


BOMBS: dict[str, Callable[[], tf.Tensor]] = {
    "concat": lambda: repeated(lambda x: tf.concat([x] * 20, 0), 5, tiled(10_000)),
    "stack": lambda: tf.stack([tiled(60_000_000)] * 60),
    "gather": lambda: tf.gather(tf.ones([1000, 100]), tf.zeros([60_000_000], tf.int32)),
    "fill": lambda: tf.fill([100_000, 100_000], 1.0),
    "range": lambda: tf.range(0, 2**31 - 1),
    "linspace": lambda: tf.linspace(0.0, 1.0, 2 * 10**9),
    "tile": lambda: tf.tile(tf.constant([1.0] * 10), [10**9]),
    "broadcast": lambda: tf.broadcast_to(tf.constant(1.0), [100_000, 100_000]),
    "outer sum": lambda: column(60_000) + tf.transpose(column(60_000)),
    "outer product": lambda: tf.matmul(column(60_000), column(60_000), transpose_b=True),
    "einsum": lambda: tf.einsum("i,j,k->ijk", *[tf.range(3000.0)] * 3),
    "pad": lambda: tf.pad(tf.constant([1.0]), [[10**9, 10**9]]),
    "one_hot": lambda: tf.one_hot(tf.range(60_000), 60_000),
    "where": lambda: tf.where(tf.fill([100_000, 10_000], True)),
    "diagonal": lambda: tf.linalg.diag(tf.range(0.0, 60_000.0)),
    "sparse": lambda: r.SparseToDense(
        sparse_indices=[[0, 0]], output_shape=[60_000, 60_000], sparse_values=1.0, default_value=0.0
    ),
    "resize": lambda: tf.image.resize(tf.ones([1, 2, 2, 1]), [60_000, 60_000]),
    "fourier": lambda: tf.abs(tf.signal.rfft(tf.zeros([2]), fft_length=[2**31 - 2])),
    "string_join": lambda: tf.strings.length(long_text(3)),
    "regex_replace": lambda: tf.strings.length(
        tf.strings.regex_replace(
            tf.strings.regex_replace("a" * 3000, "a", "b" * 3000), "b", "c" * 3000
        )
    ),
    "large regex": lambda: tf.strings.length(
        tf.strings.regex_replace("a", "((((a{100}){100}){100}){100})", "b")
    ),
    "split text": lambda: tf.size(tf.strings.split([long_text(2)], "a").values),
    "decode_raw": lambda: tf.size(tf.io.decode_raw(long_text(2), tf.uint8)),
    "zip bomb": zip_bomb,
    "endless loop": endless,
    "empty queue": lambda: r.QueueDequeueV2(
        handle=r.FIFOQueueV2(component_types=[tf.float32], shapes=[[]]),
        component_types=[tf.float32],
    )[0],
}


def write_constant(path: Path, bomb: str) -> None:
    """A file where the bomb is a constant that is added to y."""
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 2], "x")
        tf.identity(x + tf.cast(tf.reduce_sum(tf.cast(BOMBS[bomb](), tf.float32)), tf.float32), "y")
    path.write_bytes(graph.as_graph_def().SerializeToString())


def write_shape(path: Path, bomb: str) -> None:
    """A file where the shape of y hangs on the bomb. The ops that ask for it are NodeDefs, so that
    none asks here.
    """
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 2], "x")
        size = tf.cast(tf.reduce_sum(tf.cast(BOMBS[bomb](), tf.float32)), tf.int32, name="size")
    graph_def = graph.as_graph_def()
    shape = graph_def.node.add(name="shape", op="Pack", input=[size.op.name])
    shape.attr["T"].type = tf.int32.as_datatype_enum
    shape.attr["N"].i = 1
    y = graph_def.node.add(name="y", op="Reshape", input=[x.op.name, "shape"])
    y.attr["T"].type, y.attr["Tshape"].type = tf.float32.as_datatype_enum, tf.int32.as_datatype_enum
    path.write_bytes(graph_def.SerializeToString())


def write_calls(path: Path, bomb: str) -> None:
    """A chain of three thousand functions."""
    graph_def = v1.GraphDef()
    number = tf.float32.as_datatype_enum
    x = graph_def.node.add(name="x", op="Placeholder")
    x.attr["dtype"].type = number
    graph_def.node.add(name="y", op="chain_0", input=["x"])
    for k in range(3000):
        function = graph_def.library.function.add()
        function.signature.name = f"chain_{k}"
        function.signature.input_arg.add(name="x", type=number)
        function.signature.output_arg.add(name="y", type=number)
        is_last = k == 2999
        node = function.node_def.add(
            name="call", op="Identity" if is_last else f"chain_{k + 1}", input=["x"]
        )
        function.ret["y"] = "call:output:0" if is_last else "call:y:0"
        if is_last:
            node.attr["T"].type = number
    path.write_bytes(graph_def.SerializeToString())


def write_convolution(path: Path, bomb: str) -> None:
    """A convolution of an input that has two numbers, which ends TensorFlow's process when it
    runs.
    """
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, None, "x")
        tf.identity(tf.nn.conv2d(x, tf.ones([1, 1, 1, 1]), 1, "SAME"), "y")
    path.write_bytes(graph.as_graph_def().SerializeToString())


def write_server(path: Path, bomb: str) -> None:
    """Ops on a machine that is not there."""
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 2], "x")
        with tf.device("/job:worker/replica:0/task:0"):
            called = tf.function(lambda one: one * 2.0, autograph=False).get_concrete_function(
                tf.TensorSpec([None, 2])
            )
            called.add_to_graph(graph)
            far = r.RemoteCall(target="grpc://127.0.0.1:1", args=[x], Tout=[tf.float32], f=called)[
                0
            ]
        tf.identity(far, "y")
    path.write_bytes(graph.as_graph_def().SerializeToString())


def write_queue(path: Path, bomb: str) -> None:
    """A number of elements that are two numbers, which ends TensorFlow's process when it infers the
    shape.
    """
    graph_def = v1.GraphDef()
    queue = graph_def.node.add(name="queue", op="FIFOQueueV2")
    count = graph_def.node.add(name="x", op="Const")
    many = graph_def.node.add(name="y", op="QueueDequeueManyV2", input=["queue", "x"])
    count.attr["dtype"].type = tf.int32.as_datatype_enum
    count.attr["value"].tensor.CopyFrom(tf.make_tensor_proto([1, 2]))
    for node in queue, many:
        node.attr["component_types"].list.type.append(tf.float32.as_datatype_enum)
    path.write_bytes(graph_def.SerializeToString())


def write_trees(path: Path, bomb: str) -> None:
    """Scalars of which an op asks for the first dimension, which ends TensorFlow's process when it
    infers the shape.
    """
    graph_def = v1.GraphDef()
    dtypes = {
        "node_ids": tf.int32,
        "gradients": tf.float32,
        "hessians": tf.float32,
        "feature": tf.int32,
    }
    for name, dtype in dtypes.items():
        scalar = graph_def.node.add(name=name, op="Placeholder")
        scalar.attr["dtype"].type = dtype.as_datatype_enum
        scalar.attr["shape"].shape.SetInParent()
    trees = graph_def.node.add(name="y", op="BoostedTreesAggregateStats", input=list(dtypes))
    trees.attr["max_splits"].i = trees.attr["num_buckets"].i = 1
    graph_def.versions.producer = 1000
    path.write_bytes(graph_def.SerializeToString())


Write = Callable[[Path, str], None]
WRITES: dict[str, Write] = {"constant": write_constant, "shape": write_shape}
ALONE: dict[str, Write] = {
    "calls": write_calls,
    "convolution": write_convolution,
    "server": write_server,
    "queue": write_queue,
    "trees": write_trees,
}
CALLS: dict[str, Callable[[tgw.GraphEditor, Path], Any]] = {
    "session": lambda e, _: e.session,
    "fold_constants": lambda e, _: e.passes.fold_constants(),
    "cost": lambda e, _: e.table(batch=1),
    "save SavedModel": lambda e, to: e.save(to / "saved/", ["x:0"], ["y:0"]),
    "optimized": lambda e, _: e.passes.grappler("y:0"),
    "set_input": lambda e, _: e.passes.set_input("x:0", [4, 2], fix=True),
    "save .tflite": lambda e, to: e.save(to / "a.tflite", ["x:0"], ["y:0"]),
    "save .onnx": lambda e, to: e.save(to / "a.onnx", ["x:0"], ["y:0"]),
    "lint": lambda e, _: (e.lint(), e.lint("tflite"), e.lint("onnx")),
}


class Fuse(NamedTuple):
    """A bomb, how it is built into a file, and what is called."""

    bomb: str
    build: str
    call: str


def light(fuse: Fuse) -> str:
    """What is wrong with a call on a file, or ""."""
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    to = Path(tempfile.mkdtemp())
    path = to / "bomb.pb"
    (WRITES | ALONE)[fuse.build](path, fuse.bomb)
    before = _peak()
    wrong = ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            CALLS[fuse.call](tgw.edit(path), to)
        except tgw.GraphEditError as refusal:
            if "\n" in refusal.why or "bad_alloc" in refusal.why:
                wrong = f"a refusal that is not a sentence: {refusal.why[:300]}"
        except BaseException as error:
            wrong = f"{type(error).__name__}: {str(error)[:300]}"
    grown = _peak() - before
    return wrong or (f"took {grown >> 20:,} MB" if grown > MOST_MEMORY else "")


def _peak() -> int:
    """The most memory that this process had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
