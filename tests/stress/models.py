"""The graphs that the harnesses work on: each opens anew in milliseconds, always the same."""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from google.protobuf import text_format
from tensorflow.python.framework import meta_graph

import tfgraphwidget as tgw
from tests.conftest import MODELS as NOTEBOOK_MODELS
from tests.conftest import v1
from tests.graph_editor.corpus import CORPUS
from tests.models import HERE as TEST_MODELS
from tests.models import transformer
from tests.stress import real_models
from tfgraphwidget.editor import GraphEditor


@dataclass(frozen=True)
class Model:
    """One source. `open` gives a fresh editor; files that it needs are written into the folder.

    `is_live` says that a script of its edits finds its graph and session as the default ones.
    `arguments` are those of a source that is a function, which can be called. `is_object` says that
    the script of its edits has no words for it.
    """

    name: str
    open: Callable[[Path], GraphEditor]
    is_live: bool = True
    arguments: tuple[Any, ...] = ()
    is_object: bool = False

    def __repr__(self) -> str:
        return self.name


def _meta_graph(build: Callable[[], None], *, resource: bool = True, v2: bool = False) -> Any:
    """What a function makes, as a MetaGraphDef."""
    (v1.enable_control_flow_v2 if v2 else v1.disable_control_flow_v2)()
    (v1.enable_resource_variables if resource else v1.disable_resource_variables)()
    try:
        with tf.Graph().as_default() as graph:
            tf.random.set_seed(1)
            build()
            return v1.train.export_meta_graph(graph=graph)
    finally:
        v1.enable_control_flow_v2()
        v1.enable_resource_variables()


@cache
def _meta(name: str) -> Any:
    """A MetaGraphDef by the name of what builds it, or of a file of the corpus or of the
    notebooks.
    """
    if name in _BUILDERS:
        build, resource = _BUILDERS[name]
        return _meta_graph(build, resource=resource)
    paths = CORPUS / "graphs" / name, NOTEBOOK_MODELS / name, TEST_MODELS / f"{name}.gz"
    path = next(path for path in paths if path.exists())
    if path.suffix == ".pbtxt":
        return text_format.Parse(path.read_text(), v1.MetaGraphDef())
    data = path.read_bytes()
    return v1.MetaGraphDef.FromString(gzip.decompress(data) if path.suffix == ".gz" else data)


def _live(name: str) -> Callable[[Path], GraphEditor]:
    """An editor on a live graph and a session in which everything has its first value."""

    def opened(_: Path) -> GraphEditor:
        graph = tf.Graph()
        with graph.as_default():
            meta_graph.import_scoped_meta_graph(_meta(name))
            begin = [
                *(variable.initializer for variable in v1.global_variables()),
                *graph.get_collection(v1.GraphKeys.TABLE_INITIALIZERS),
                *(op for op in graph.get_operations() if op.type == "MakeIterator"),
            ]
            session = v1.Session(graph=graph)
            session.run(begin)
            for op in graph.get_operations():
                if op.name in _STEPS:
                    session.run(op)
        return tgw.edit(graph, session=session)

    return opened


def _file(name: str, suffix: str) -> Callable[[Path], GraphEditor]:
    """An editor on a file, which TensorFlow does not import before it must."""

    def opened(folder: Path) -> GraphEditor:
        path, meta = folder / f"opened{suffix}", _meta(name)
        message = meta if suffix == ".meta" else meta.graph_def
        text = suffix == ".pbtxt"
        path.write_bytes(
            str(message).encode() if text else message.SerializeToString(deterministic=True)
        )
        return tgw.edit(path)

    return opened


def _checkpointed(name: str) -> Callable[[Path], GraphEditor]:
    """A .meta with its checkpoint beside it."""

    def opened(folder: Path) -> GraphEditor:
        with tf.Graph().as_default(), v1.Session() as session:
            saver = v1.train.import_meta_graph(_meta(name))
            session.run([variable.initializer for variable in v1.global_variables()])
            path = (saver or v1.train.Saver()).save(session, str(folder / "model"))
        return tgw.edit(f"{path}.meta", checkpoint=path)

    return opened


def _with_given_checkpoint(name: str) -> Callable[[Path], GraphEditor]:
    """A .meta of the notebooks, with the checkpoint that is beside it."""
    return lambda _: tgw.edit(NOTEBOOK_MODELS / f"{name}.meta", checkpoint=NOTEBOOK_MODELS / name)


def _traced(folder: Path) -> GraphEditor:
    """The training step of a transformer as a GraphDef: a graph of calls, with no values."""
    path = folder / "opened.pb"
    path.write_bytes(transformer())
    return tgw.edit(path)


def _saved_model(folder: Path) -> GraphEditor:
    """A SavedModel as TensorFlow 1 wrote it, with a signature."""
    path = folder / "saved"
    with tf.Graph().as_default(), v1.Session() as session:
        v1.train.import_meta_graph(_meta("momentum_res.meta.pb"))
        session.run([variable.initializer for variable in v1.global_variables()])
        ends = [op.outputs[0] for op in session.graph.get_operations() if op.type == "Placeholder"]
        given = [op.outputs[0] for op in session.graph.get_operations() if op.type == "MatMul"]
        v1.saved_model.simple_save(session, str(path), {"x": ends[0]}, {"y": given[-1]})
    return tgw.edit(path)


class _Scaled(tf.Module):
    """A function with a loop, a variable and a call of another function."""

    def __init__(self) -> None:
        super().__init__("scaled")
        self.scale = tf.Variable([1.5, 2.5], name="scale")

    @tf.function(input_signature=[tf.TensorSpec([None, 2], name="x")])
    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        doubled = tf.while_loop(
            lambda i, _: i < 3, lambda i, v: (i + 1, tf.nn.relu(v * 2.0)), [0, x]
        )[1]
        return tf.identity(doubled * self.scale + tf.constant([1.0, 2.0]), name="y")


@cache
def _scaled() -> _Scaled:
    return _Scaled()  # a function holds the module that it is a method of only weakly


def _function(_: Path) -> GraphEditor:
    return tgw.edit(_scaled().__call__.get_concrete_function())


class _Nested(tf.Module):
    """Two variables, a function that another one calls, a conditional and a tuple of results."""

    def __init__(self) -> None:
        super().__init__("nested")
        self.w = tf.Variable([[0.5, -1.0], [2.0, 0.25]], name="w")
        self.b = tf.Variable([0.125, -0.5], name="b")

    @tf.function(input_signature=[tf.TensorSpec([None, 2], name="x")])
    def hidden(self, x: tf.Tensor) -> tf.Tensor:
        return tf.nn.relu(tf.matmul(x, self.w) + self.b, name="relu")

    @tf.function(input_signature=[tf.TensorSpec([None, 2], name="x")])
    def __call__(self, x: tf.Tensor) -> Any:
        y = self.hidden(tf.identity(self.hidden(x)))
        z = tf.cond(tf.reduce_sum(y) > 1.0, lambda: tf.matmul(y, self.w), lambda: y - 1.0)
        return {"y": tf.identity(z * 2.0, name="y"), "hidden": tf.nn.relu(y)}


@cache
def _nested() -> _Nested:
    return _Nested()


@cache
def _keras_model() -> Any:
    tf.keras.utils.set_random_seed(3)
    x = tf.keras.Input((4,), name="x")
    hidden = tf.keras.layers.Dense(5, activation="relu", name="hidden")(x)
    normed = tf.keras.layers.BatchNormalization(name="norm")(hidden)
    y = tf.keras.layers.Dense(2, name="y")(tf.keras.layers.Dropout(0.5)(normed))
    return tf.keras.Model(x, [y, hidden])


def _saved_module(folder: Path) -> GraphEditor:
    """A SavedModel as TensorFlow 2 writes it, opened at its signature; always the same files."""
    for name, data in _module_files().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return tgw.edit(folder / "module", signature="serving_default")


@cache
def _module_files() -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        signature = _nested().__call__.get_concrete_function()
        tf.saved_model.save(_nested(), str(folder / "module"), signatures=signature)
        files = [path for path in folder.rglob("*") if path.is_file()]
        return {str(path.relative_to(folder)): path.read_bytes() for path in files}


_PAIRS = (np.array([[0.5, -1.0], [2.0, 0.75], [-3.0, 0.25]], np.float32),)
_FOURS = (np.linspace(-2.0, 2.0, 12, dtype=np.float32).reshape(3, 4),)


def _queue() -> None:
    """A queue with a runner, in a scope, that holds an element; what is made of an element."""
    with tf.name_scope("batch"):
        queue = v1.FIFOQueue(8, [tf.float32], [[2]], name="queue")
        enqueue = queue.enqueue([tf.constant([1.0, 2.0], name="element")], name="enqueue")
        v1.train.add_queue_runner(v1.train.QueueRunner(queue, [enqueue]))
        queue.size(name="size")
        element = queue.dequeue(name="dequeue")
    w = v1.get_variable("w", [2, 2], initializer=v1.ones_initializer())
    tf.matmul(tf.expand_dims(element, 0), w, name="y")


def _tables() -> None:
    """A static, a mutable and a dense hash table, and what is looked up in them."""
    keys, values = (
        tf.constant(["a", "b"], name="keys"),
        tf.constant([1, 2], tf.int64, name="values"),
    )
    static = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(keys, values), -1, name="static"
    )
    mutable = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1, name="mutable")
    word = v1.placeholder(tf.string, [None], name="word")
    mutable.insert(keys, values + 5, name="fill")
    tf.add(static.lookup(word), mutable.lookup(word), name="y")
    mutable.size(name="size")


def _control_flow() -> None:
    """A while loop with a conditional and a variable in it, and its gradient."""
    x = v1.placeholder_with_default(tf.constant([1.0, 2.0]), [2], name="x")
    w = v1.get_variable("w", [2], initializer=v1.constant_initializer([0.5, 2.0]))

    def body(i: Any, value: Any) -> Any:
        branch = v1.cond(tf.less(i, 2), lambda: value * w, lambda: value + 1.0, name="branch")
        return i + 1, branch

    y = v1.while_loop(lambda i, _: i < 4, body, [0, x], name="loop")[1]
    loss = tf.reduce_sum(y, name="loss")
    v1.train.GradientDescentOptimizer(0.1).minimize(loss, name="train")


def _training() -> None:
    """Two towers that share their weights, dropout, a moving average, Adam, a summary and a
    saver.
    """
    x = v1.placeholder_with_default(tf.ones([2, 3]), [None, 3], name="x")
    with v1.variable_scope("net", reuse=v1.AUTO_REUSE):
        towers = []
        for name in ("a", "b"):
            with tf.name_scope(name):
                w = v1.get_variable("w", [3, 3], initializer=v1.glorot_uniform_initializer(seed=3))
                b = v1.get_variable("b", [3], initializer=v1.zeros_initializer())
                towers.append(tf.nn.relu(tf.matmul(x, w) + b, name="out"))
    dropped = v1.nn.dropout(towers[0], rate=0.5, seed=1)
    loss = tf.reduce_mean((dropped - towers[1] + 1.0) ** 2, name="loss")
    v1.summary.scalar("loss", loss)
    step = v1.train.AdamOptimizer(0.01).minimize(loss, v1.train.get_or_create_global_step())
    average = tf.train.ExponentialMovingAverage(0.9)
    with tf.control_dependencies([step]):
        tf.group(average.apply(v1.trainable_variables()), name="train")
    v1.train.Saver()


_BUILDERS: dict[str, tuple[Callable[[], None], bool]] = {
    "queue": (_queue, True),
    "tables": (_tables, True),
    "control flow": (_control_flow, True),
    "control flow, ref": (_control_flow, False),
    "training": (_training, True),
    "training, ref": (_training, False),
}
_STEPS = ("batch/enqueue", "fill/LookupTableInsertV2")

_LIVE = [
    "asserts.meta.pbtxt", "batchnorm_updates.meta.pb", "colocation.meta.pbtxt",
    "cond_v1.meta.pbtxt", "control_deps.meta.pbtxt", "convnet.meta.pbtxt",
    "dataset_iter.meta.pbtxt", "functions_defun.meta.pbtxt", "hash_table.meta.pbtxt",
    "mlp_ref.meta.pbtxt", "mlp_resource.meta.pbtxt", "momentum_res.meta.pb",
    "multi_output.meta.pbtxt", "nested_scopes.meta.pbtxt", "partitioned.meta.pbtxt",
    "queue_runner.meta.pbtxt", "rand_dag_1.meta.pb", "rnn_while.meta.pb", "saver_graph.meta.pbtxt",
    "strings.meta.pbtxt", "summaries.meta.pbtxt", "toy_abc.meta.pbtxt", "tricky_names.meta.pbtxt",
    "while_grad.meta.pb", "cf_v2.meta.pbtxt", "adam_ref.meta.pb",
]  # fmt: skip

MODELS: tuple[Model, ...] = (
    Model("example", lambda _: tgw.example()),
    *(Model(name, _live(name)) for name in _BUILDERS),
    Model("training.pb", _file("training", ".pb"), is_live=False),
    Model("control flow.pbtxt", _file("control flow", ".pbtxt"), is_live=False),
    Model("training.meta", _file("training, ref", ".meta"), is_live=False),
    Model("training.meta with values", _checkpointed("training"), is_live=False),
    Model("SavedModel", _saved_model, is_live=False),
    Model("tf.function", _function, is_live=False, arguments=_PAIRS, is_object=True),
    Model(
        "nested tf.function",
        lambda _: tgw.edit(_nested().__call__),
        is_live=False,
        arguments=_PAIRS,
        is_object=True,
    ),
    Model(
        "Keras", lambda _: tgw.edit(_keras_model()), is_live=False, arguments=_FOURS, is_object=True
    ),
    Model("SavedModel of a module", _saved_module, is_live=False, arguments=_PAIRS),
    *(Model(name.partition(".")[0], _live(name)) for name in _LIVE),
    Model("dqn.meta", _file("dqn_online_train.meta", ".meta"), is_live=False),
    Model("queue.meta", _file("queue", ".meta"), is_live=False),
    Model("devices.pb", _file("devices.meta.pbtxt", ".pb"), is_live=False),
    Model("tables.pb", _file("tables", ".pb"), is_live=False),
)

_TINY = (
    "colocation.meta.pbtxt", "control_deps.meta.pbtxt", "functions_defun.meta.pbtxt",
    "hash_table.meta.pbtxt", "multi_output.meta.pbtxt", "queue_runner.meta.pbtxt",
    "strings.meta.pbtxt", "summaries.meta.pbtxt", "toy_abc.meta.pbtxt", "queue", "tables",
)  # fmt: skip
_SMALL = (
    *_TINY, "asserts.meta.pbtxt", "mlp_ref.meta.pbtxt", "mlp_resource.meta.pbtxt",
    "nested_scopes.meta.pbtxt",
    "saver_graph.meta.pbtxt", "tricky_names.meta.pbtxt", "cond_v1.meta.pbtxt", "cf_v2.meta.pbtxt",
    "while_simple.meta.pbtxt",
)  # fmt: skip

SMALL: tuple[Model, ...] = (
    *(Model(f"{name.partition('.')[0]}.pb", _file(name, ".pb"), is_live=False) for name in _SMALL),
    *(
        Model(f"{name.partition('.')[0]}.meta", _file(name, ".meta"), is_live=False)
        for name in _SMALL
    ),
    *(
        Model(f"{name.partition('.')[0]}.pbtxt", _file(name, ".pbtxt"), is_live=False)
        for name in _TINY[:9]
    ),
    *(model for model in MODELS if model.name in {name.partition(".")[0] for name in _TINY}),
    *(
        model
        for model in MODELS
        if model.name in ("SavedModel", "tf.function", "nested tf.function", "Keras")
    ),
)
"""Those of at most some forty ops: most are files, of which a sequence of calls takes a tenth of a
second.
"""

CORPUS_GRAPHS: tuple[Model, ...] = tuple(
    Model(f"{path.name.partition('.')[0]}{suffix}, corpus", opened(path.name), is_live=not suffix)
    for path in sorted((CORPUS / "graphs").iterdir())
    if not path.name.startswith("large")
    for suffix, opened in {
        "": _live, ".pb": lambda name: _file(name, ".pb"),
        ".meta": lambda name: _file(name, ".meta")
    }.items()
    if suffix or not path.name.startswith("devices")  # a session has no such devices
)  # fmt: skip
"""The graphs that were recorded with TensorFlow 1.15's graph_editor: in a session, and as two
files.
"""

_LARGE_FILES = (
    "dqn_online_train.meta", "seq2seq_v1.meta", "slim_inception_v3_infer.meta",
    "slim_resnet_v2_50_train.meta", "slim_vgg16_infer.meta",
)  # fmt: skip

LARGE: tuple[Model, ...] = (
    *(
        Model(f"{name.partition('.')[0]}, file", _file(name, ".meta"), is_live=False)
        for name in _LARGE_FILES
    ),
    *(Model(f"{name.partition('.')[0]}, session", _live(name)) for name in _LARGE_FILES),
    *(
        Model(f"{name}, checkpoint", _with_given_checkpoint(name), is_live=False)
        for name in ("judge", "locate")
    ),
    Model("transformer step", _traced, is_live=False),
    Model("large5k, file", _file("large5k.meta.pb", ".meta"), is_live=False),
    Model("large5k, session", _live("large5k.meta.pb")),
)
"""The models of the notebooks and of the tests of the drawing, and the largest of the corpus: up to
5,900 ops.
"""


@cache
def _subject(name: str) -> real_models.Subject:
    """A model of `real_models.py`; what it has written stays until this process ends."""
    found = next(model for model in real_models.REAL_MODELS if model.name == name)
    folder = tempfile.TemporaryDirectory(prefix="networks")
    _FOLDERS.append(folder)
    return found.open(Path(folder.name))


_FOLDERS: list[tempfile.TemporaryDirectory[str]] = []
_ARGUMENTS = {
    "while_loop": (np.full((2, 3), 0.25, np.float32), np.int32(3)),
    "subclass, infer": (np.full((2, 4), 0.25, np.float32),),
    "transformer": (np.array([[1, 2, 3, 0, 0, 0]], np.int32),),
    "own train_step": (np.array([[1, 2, 3, 0, 0, 0]], np.int32),),
}


def _network(name: str) -> Callable[[Path], GraphEditor]:
    def opened(_: Path) -> GraphEditor:
        subject = _subject(name)
        return tgw.edit(subject.source, **subject.options)

    return opened


NETWORKS: tuple[Model, ...] = tuple(
    Model(
        f"{model.name}, network",
        _network(model.name),
        is_live=False,
        arguments=_ARGUMENTS.get(model.name, ()),
        is_object=not model.name.startswith("Hub")
        and not model.name.endswith(("saved", "exported")),
    )
    for model in real_models.REAL_MODELS
    # Of two Keras models the names of functions and gradients are others each time that TensorFlow
    # traces them.
    if not model.name.startswith(real_models.APPLICATIONS)
    and model.name not in ("BiLSTM of texts", "sequences")
)
"""Those of `real_models.py` without the large ones of `keras.applications`: Keras models, modules,
SavedModels.
"""

GROUPS = {
    "models": MODELS,
    "small": SMALL,
    "corpus": CORPUS_GRAPHS,
    "large": LARGE,
    "networks": NETWORKS,
}


def model_named(name: str) -> Model:
    """One of MODELS."""
    return next(model for model in MODELS if model.name == name)
