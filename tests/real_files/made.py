"""Small files of the kinds that people have: of old producers, for training, of clusters, damaged,
with state.

Each is made in a folder of its own. The kinds are those of public projects from TensorFlow 0.6 to
2.x.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from google.protobuf import text_format
from tensorflow.compat import v1
from tensorflow.core.protobuf import saved_model_pb2

Make = Callable[[Path], None]
MADE: dict[str, Make] = {}


def made(name: str) -> Callable[[Make], Make]:
    """Register what makes a file, by the name of its folder."""

    def register(make: Make) -> Make:
        MADE[name] = make
        return make

    return register


def dense(x: Any, units: int, name: str, *, resource: bool = False) -> Any:
    with v1.variable_scope(name, use_resource=resource):
        weights = v1.get_variable(
            "weights", [x.shape[-1], units], initializer=v1.random_normal_initializer(seed=1)
        )
        bias = v1.get_variable("bias", [units], initializer=v1.zeros_initializer())
        return tf.nn.relu(tf.matmul(x, weights) + bias)


def frozen_net() -> v1.GraphDef:
    """Two layers with constants."""
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        hidden = tf.nn.relu(
            tf.matmul(x, tf.constant(np.ones((4, 3), np.float32)), name="product"), name="hidden"
        )
        tf.nn.softmax(tf.nn.bias_add(hidden, [0.1, 0.2, 0.3], name="biased"), name="probabilities")
    return graph.as_graph_def()


def write(path: Path, graph_def: Any) -> None:
    """Write a message in the form that the suffix says."""
    data = (
        text_format.MessageToString(graph_def).encode()
        if path.suffix == ".pbtxt"
        else graph_def.SerializeToString()
    )
    path.write_bytes(data)


def edited_net(change: Callable[[v1.GraphDef], None], folder: Path) -> None:
    """The frozen net with a change."""
    graph_def = frozen_net()
    change(graph_def)
    write(folder / "graph.pb", graph_def)


# Of old producers


def of_producer(version: int, folder: Path) -> None:
    """A graph as a release of that time wrote it."""
    graph_def = frozen_net()
    graph_def.versions.Clear()
    graph_def.versions.producer = version
    for node in graph_def.node:
        if version < 22 and node.op == "Placeholder":
            node.attr["shape"].shape.Clear()
            node.attr["shape"].shape.SetInParent()
    write(folder / "graph.pb", graph_def)


for _version in (0, 8, 15, 17, 20, 21, 22, 24, 26, 27, 134):
    MADE[f"producer_{_version}"] = partial(of_producer, _version)


@made("axes_in_a_matrix")
def axes_in_a_matrix(folder: Path) -> None:
    with tf.Graph().as_default() as graph:
        tf.reduce_sum(v1.placeholder(tf.float32, [2, 3], name="x"), [0, 1], name="sum")
    graph_def = graph.as_graph_def()
    axes = next(
        node
        for node in graph_def.node
        if node.name == "sum/reduction_indices" or node.op == "Const"
    )
    axes.attr["value"].tensor.CopyFrom(tf.make_tensor_proto([[0, 1]]))
    graph_def.versions.producer = 17
    write(folder / "graph.pb", graph_def)


@made("batch_norm_of_2015")
def batch_norm_of_2015(folder: Path) -> None:
    graph_def = v1.GraphDef()
    names = {"t": [1, 2, 2, 3], "m": [3], "v": [3], "beta": [3], "gamma": [3]}
    for name, shape in names.items():
        node = graph_def.node.add(name=name, op="Const")
        node.attr["dtype"].type = 1
        node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(np.full(shape, 0.5, np.float32)))
    node = graph_def.node.add(
        name="normalized", op="BatchNormWithGlobalNormalization", input=list(names)
    )
    node.attr["T"].type = 1
    node.attr["variance_epsilon"].f = 0.001
    node.attr["scale_after_normalization"].b = True
    graph_def.versions.producer = 8
    write(folder / "graph.pb", graph_def)


# Graphs for training, with checkpoints


def training(
    folder: Path,
    *,
    resource: bool,
    checkpoint: bool = True,
    extra: Callable[[], Any] = lambda: None,
) -> None:
    """A .meta with its optimizer, and a checkpoint beside it."""
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        hidden = dense(x, 5, "one", resource=resource)
        logits = dense(hidden, 3, "two", resource=resource)
        labels = v1.placeholder(tf.int64, [None], name="labels")
        loss = tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits),
            name="loss",
        )
        v1.train.AdamOptimizer(0.1).minimize(loss, name="train")
        v1.summary.scalar("loss", loss)
        v1.summary.merge_all()
        extra()
        saver = v1.train.Saver()
        session.run([v1.global_variables_initializer(), v1.tables_initializer()])
        if checkpoint:
            saver.save(session, str(folder / "model"))
        else:
            v1.train.export_meta_graph(str(folder / "model.meta"), saver_def=saver.as_saver_def())


MADE["training_ref"] = partial(training, resource=False)
MADE["training_resource"] = partial(training, resource=True)
MADE["training_without_checkpoint"] = partial(training, resource=False, checkpoint=False)


def changed_meta(change: Callable[[Any], None], folder: Path) -> None:
    """The training graph with a change."""
    training(folder, resource=False)
    meta = v1.MetaGraphDef.FromString((folder / "model.meta").read_bytes())
    change(meta)
    write(folder / "model.meta", meta)


def name_missing_ops(meta: Any) -> None:
    meta.collection_def["trainable_things"].node_list.value.append("gone/op:0")


def strange_version(meta: Any) -> None:
    meta.meta_info_def.tensorflow_version = "0.12.head"
    meta.meta_info_def.tensorflow_git_version = "unknown"


def place_on_a_cluster(meta: Any) -> None:
    for node in meta.graph_def.node:
        node.device = (
            "/job:ps/task:1"
            if "weights" in node.name
            else "/job:worker/replica:0/task:3/device:GPU:0"
        )


def stale_class(meta: Any) -> None:
    meta.graph_def.node[-1].attr["_class"].list.s.append(b"loc:@an/op/that/is/gone")


MADE["collection_of_missing_ops"] = partial(changed_meta, name_missing_ops)
MADE["unknown_version_text"] = partial(changed_meta, strange_version)
MADE["placed_on_a_cluster"] = partial(changed_meta, place_on_a_cluster)
MADE["colocated_with_what_is_gone"] = partial(changed_meta, stale_class)


def queue_of_examples() -> None:
    queue = tf.queue.FIFOQueue(10, [tf.float32], [[4]], name="examples")
    enqueue = queue.enqueue(tf.random.uniform([4]))
    v1.train.add_queue_runner(v1.train.QueueRunner(queue, [enqueue]))
    queue.dequeue_many(2)


def table_of_words() -> None:
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], [0, 1]), -1)
    table.lookup(v1.placeholder(tf.string, [None], name="words"))


def partitioned() -> None:
    v1.get_variable("slices", [6, 2], partitioner=v1.fixed_size_partitioner(3))


def loop_and_choice() -> None:
    with v1.variable_scope("flow"):
        i = v1.while_loop(
            lambda i, _: i < 3, lambda i, x: (i + 1, x * 2.0), [0, tf.ones([2])], name="loop"
        )
        v1.cond(i[0] > 2, lambda: i[1] + 1.0, lambda: i[1] - 1.0, name="choice")


def dataset() -> None:
    data = v1.data.Dataset.from_tensor_slices(np.ones((3, 4), np.float32)).batch(2)
    v1.data.make_initializable_iterator(data).get_next(name="batch")


for _extra in (queue_of_examples, table_of_words, partitioned, loop_and_choice, dataset):
    MADE[f"training_with_{_extra.__name__}"] = partial(training, resource=False, extra=_extra)


# Frozen, as text, with functions


@made("frozen")
def frozen(folder: Path) -> None:
    write(folder / "graph.pb", frozen_net())


@made("text")
def text(folder: Path) -> None:
    write(folder / "graph.pbtxt", frozen_net())


@made("frozen_loop_v1")
def frozen_loop_v1(folder: Path) -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [2], name="x")
        v1.disable_control_flow_v2()
        v1.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, tf.tanh(y)), [0, x], name="loop")
    write(folder / "graph.pb", graph.as_graph_def())


@made("loops_of_one_frame")
def loops_of_one_frame(folder: Path) -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [2], name="x")
        v1.disable_control_flow_v2()
        for name in ("one", "other"):
            v1.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, tf.tanh(y)), [0, x], name=name)
    graph_def = graph.as_graph_def()
    for node in graph_def.node:
        if node.op == "Enter":
            node.attr["frame_name"].s = b"frame"
    write(folder / "graph.pb", graph_def)


def of_function(build: Callable[[], Any], *specs: Any) -> Make:
    """The graph of a tf.function."""

    def make(folder: Path) -> None:
        write(
            folder / "graph.pb",
            tf.function(build()).get_concrete_function(*specs).graph.as_graph_def(),
        )

    return make


def nested() -> Any:
    inner = tf.function(lambda x: tf.nn.relu(x) * 2.0)
    middle = tf.function(lambda x: inner(x) + inner(-x))
    return lambda x: middle(x) - 1.0


def looped() -> Any:
    return lambda x: tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, tf.sin(y)), [0, x])[1]


def chosen() -> Any:
    return lambda x: tf.cond(
        tf.reduce_sum(x) > 0, lambda: tf.exp(x), lambda: tf.math.log1p(tf.abs(x))
    )


_VECTOR = tf.TensorSpec([4])
MADE["calls_of_functions"] = of_function(nested, _VECTOR)
MADE["loop_v2"] = of_function(looped, _VECTOR)
MADE["choice_v2"] = of_function(chosen, _VECTOR)
MADE["texts"] = of_function(
    lambda: lambda x: tf.strings.length(tf.strings.join([x, "!"])), tf.TensorSpec([None], tf.string)
)
MADE["sparse"] = of_function(
    lambda: lambda x: tf.sparse.to_dense(tf.sparse.from_dense(x)) + 1.0, tf.TensorSpec([2, 3])
)


# What TensorFlow does not know, or does not take


def unknown_at_the_end(graph_def: v1.GraphDef) -> None:
    graph_def.node.add(name="custom", op="AnOpOfAnotherLibrary", input=["probabilities"])


def unknown_inside(graph_def: v1.GraphDef) -> None:
    next(
        node for node in graph_def.node if node.name == "hidden"
    ).op = "AnActivationOfAnotherLibrary"


def private_attributes(graph_def: v1.GraphDef) -> None:
    for node in graph_def.node:
        node.attr["_tpu_replicate"].s = b"cluster"
        node.attr["_XlaMustCompile"].b = True
        node.attr["_a_list"].list.i.extend([1, 2])


def stale_shapes(graph_def: v1.GraphDef) -> None:
    node = next(node for node in graph_def.node if node.name == "hidden")
    for size in (7, 8, 9):
        node.attr["_output_shapes"].list.shape.add().dim.add(size=size)
    del node.attr["_output_shapes"].list.shape[1:]


def missing_input(graph_def: v1.GraphDef) -> None:
    next(node for node in graph_def.node if node.name == "hidden").input[0] = "nowhere"


def wrong_port(graph_def: v1.GraphDef) -> None:
    next(node for node in graph_def.node if node.name == "hidden").input[0] = "product:3"


def too_few_inputs(graph_def: v1.GraphDef) -> None:
    del next(node for node in graph_def.node if node.name == "product").input[1:]


def too_many_inputs(graph_def: v1.GraphDef) -> None:
    next(node for node in graph_def.node if node.name == "hidden").input.append("x")


def controls_before_tensors(graph_def: v1.GraphDef) -> None:
    next(node for node in graph_def.node if node.name == "hidden").input.insert(0, "^x")


def circle(graph_def: v1.GraphDef) -> None:
    next(node for node in graph_def.node if node.name == "product").input[0] = "hidden"


def two_of_one_name(graph_def: v1.GraphDef) -> None:
    graph_def.node.add().CopyFrom(next(node for node in graph_def.node if node.name == "hidden"))


def name_with_a_blank(graph_def: v1.GraphDef) -> None:
    next(node for node in graph_def.node if node.name == "probabilities").name = "the output"


def name_of_a_tensor(graph_def: v1.GraphDef) -> None:
    next(node for node in graph_def.node if node.name == "probabilities").name = "output:0"


def op_without_a_name(graph_def: v1.GraphDef) -> None:
    next(node for node in graph_def.node if node.name == "probabilities").name = ""


def attribute_of_the_future(graph_def: v1.GraphDef) -> None:
    graph_def.node[0].attr["brand_new"].i = 7


def attribute_without_a_value(graph_def: v1.GraphDef) -> None:
    graph_def.node[0].attr["_empty"].SetInParent()


def negative_shape(graph_def: v1.GraphDef) -> None:
    shape = next(node for node in graph_def.node if node.op == "Placeholder").attr["shape"].shape
    shape.dim[1].size = -7


def newer_than_all(graph_def: v1.GraphDef) -> None:
    graph_def.versions.producer = graph_def.versions.min_consumer = 99_999


for _change in (
    *(
        unknown_at_the_end,
        unknown_inside,
        private_attributes,
        stale_shapes,
        missing_input,
        wrong_port,
        too_few_inputs,
    ),
    *(
        circle,
        two_of_one_name,
        name_with_a_blank,
        attribute_without_a_value,
        negative_shape,
        newer_than_all,
    ),
    *(
        too_many_inputs,
        controls_before_tensors,
        name_of_a_tensor,
        op_without_a_name,
        attribute_of_the_future,
    ),
):
    MADE[_change.__name__] = partial(edited_net, _change)


# SavedModels


def saved_model_v1(
    folder: Path, *, tags: tuple[str, ...] = ("serve",), key: str = "serving_default"
) -> None:
    """A SavedModel of TensorFlow 1; of several tags a MetaGraph for each."""
    builder = v1.saved_model.Builder(str(folder / "model"))
    for number, tag in enumerate(tags):
        with tf.Graph().as_default() as graph, v1.Session() as session:
            x = v1.placeholder(tf.float32, [None, 4], name="x")
            y = dense(x, 3, "layer")
            session.run(v1.global_variables_initializer())
            signatures = {key: v1.saved_model.predict_signature_def({"x": x}, {"y": y})}
            if number:
                builder.add_meta_graph([tag], signature_def_map=signatures)
            else:
                builder.add_meta_graph_and_variables(session, [tag], signature_def_map=signatures)
            assert graph
    builder.save()


MADE["saved_model_v1"] = saved_model_v1
MADE["saved_model_of_two_graphs"] = partial(saved_model_v1, tags=("serve", "train"))
MADE["saved_model_without_default"] = partial(saved_model_v1, key="predict")


@made("saved_model_as_text")
def saved_model_as_text(folder: Path) -> None:
    saved_model_v1(folder)
    path = folder / "model" / "saved_model.pb"
    write(path.with_suffix(".pbtxt"), saved_model_pb2.SavedModel.FromString(path.read_bytes()))
    path.unlink()


class Counter(tf.Module):
    """State that a function writes."""

    def __init__(self) -> None:
        super().__init__()
        self.count = tf.Variable(0.0)

    @tf.function(input_signature=[tf.TensorSpec([None, 2], name="x")])
    def step(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        self.count.assign_add(1.0)
        return {"y": x + self.count}


@made("saved_model_v2_with_state")
def saved_model_v2_with_state(folder: Path) -> None:
    module = Counter()
    tf.saved_model.save(module, str(folder / "model"), signatures=module.step)


def keras_model(layers: Callable[[], list[Any]], shape: tuple[int, ...], folder: Path) -> None:
    """A SavedModel that Keras exports."""
    model = tf.keras.Sequential([tf.keras.Input(shape), *layers()])
    model.export(str(folder / "model"), verbose=False)


_KERAS: dict[str, tuple[Callable[[], list[Any]], tuple[int, ...]]] = {
    "dense": (lambda: [tf.keras.layers.Dense(3), tf.keras.layers.BatchNormalization()], (4,)),
    "convolution": (
        lambda: [tf.keras.layers.Conv2D(2, 3), tf.keras.layers.GlobalAveragePooling2D()],
        (6, 6, 1),
    ),
    "recurrent": (lambda: [tf.keras.layers.LSTM(3)], (5, 2)),
}
for _name, (_layers, _shape) in _KERAS.items():
    MADE[f"keras_{_name}"] = partial(keras_model, _layers, _shape)


# What does more than compute


@made("writes_a_file")
def writes_a_file(folder: Path) -> None:
    with tf.Graph().as_default() as graph:
        written = tf.io.write_file("written_by_the_graph", "text")
        with tf.control_dependencies([written]):
            tf.identity(v1.placeholder(tf.float32, [None], name="x") * 2.0, name="y")
    write(folder / "graph.pb", graph.as_graph_def())


@made("calls_python")
def calls_python(folder: Path) -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None], name="x")
        tf.identity(v1.py_func(lambda a: a, [x], tf.float32), name="y")
    write(folder / "graph.pb", graph.as_graph_def())
