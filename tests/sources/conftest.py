"""Real things to open: functions, Keras models, SavedModels of both kinds, checkpoints."""

from __future__ import annotations

import os
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import pytest
import tensorflow as tf

from tests.conftest import build_mlp, initialised, v1
from tfgraphwidget.graph.index import GraphIndex, build
from tfgraphwidget.sources import Body, OpDescription, describe_op


def index_of(body: Body) -> GraphIndex:
    """The index of a body."""
    return build(body.nodes(), *body.collections(), typing=body.typing, functions=body.functions())


def facts(index: GraphIndex) -> list[OpDescription]:
    """Everything that is told of every op."""
    return [describe_op(index, i) for i in range(len(index))]


def node(name: str, op: str, *inputs: str, **attributes: object) -> v1.NodeDef:
    """A NodeDef; attributes are dtypes, whole numbers, or AttrValues."""
    made = v1.NodeDef(name=name, op=op, input=inputs)
    for key, value in attributes.items():
        if isinstance(value, tf.DType):
            made.attr[key].type = value.as_datatype_enum
        elif isinstance(value, int):
            made.attr[key].i = value
        else:
            made.attr[key].CopyFrom(value)
    return made


class Affine(tf.Module):
    """A TensorFlow 2 module with a trainable and another variable, a table, a conditional and a
    loop.
    """

    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable(tf.ones([3, 3]), name="net/w")
        self.b = tf.Variable(tf.zeros([3]), trainable=False, name="net/b")
        pairs = tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([1, 2], tf.int64))
        self.table = tf.lookup.StaticHashTable(pairs, -1)

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32)])
    def __call__(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        """Everything at once."""
        y = x @ self.w + self.b
        if tf.reduce_sum(y) > 0:
            y = y @ tf.transpose(self.w)
        else:
            y -= self.b
        i = tf.constant(0)
        while i < 3:
            y += self.b
            i += 1
        return {"y": y, "found": self.table.lookup(tf.constant(["a"]))}


@pytest.fixture(scope="session")
def affine() -> Affine:
    """The module itself."""
    return Affine()


@pytest.fixture(scope="session")
def tf2_saved_model(affine: Affine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`affine` saved by tf.saved_model.save, with two signatures."""
    folder = tmp_path_factory.mktemp("tf2") / "affine"
    tf.saved_model.save(
        affine,
        str(folder),
        signatures={"serving_default": affine.__call__, "other": affine.__call__},
    )
    return folder


@pytest.fixture(scope="session")
def tf1_saved_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An mlp saved by the TensorFlow 1 builder, with the signature "predict" and two graphs,
    "serve" and "train".
    """
    folder = tmp_path_factory.mktemp("tf1") / "mlp"
    graph = build_mlp(resource=False)
    builder = v1.saved_model.Builder(str(folder))
    with initialised(graph) as session, graph.as_default():
        ends = [graph.get_tensor_by_name(name) for name in ("x:0", "net/logits:0")]
        signature = v1.saved_model.predict_signature_def({"x": ends[0]}, {"logits": ends[1]})
        builder.add_meta_graph_and_variables(session, ["serve"], {"predict": signature})
        builder.add_meta_graph(["train"])
    builder.save()
    return folder


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The prefix of an mlp's checkpoint, its .meta beside; the weights are glorot's of seed 1."""
    prefix = tmp_path_factory.mktemp("checkpoint") / "m.ckpt"
    graph = build_mlp(resource=True)
    with graph.as_default(), initialised(graph) as session:
        v1.train.Saver().save(session, str(prefix))
    return prefix
