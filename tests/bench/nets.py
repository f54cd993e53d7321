"""The files that all viewers are given: a Keras ResNet-50 in training, convolutional stages, scopes
of 500 ops.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import tensorflow as tf

from tests.conftest import v1
from tests.models import transformer_step

BLOCKS_A_STAGE = 8
OPS_A_BLOCK = 33
FEATURES = (None, 56, 56, 64)


def resnet() -> v1.GraphDef:
    """ResNet-50 as Keras traces it with training=True: 2,891 ops in 1,508 scopes, weights as
    placeholders.
    """
    model = tf.keras.applications.ResNet50(weights=None)
    step = tf.function(lambda x: model(x, training=True))
    return step.get_concrete_function(
        tf.TensorSpec([8, 224, 224, 3], tf.float32, name="x")
    ).graph.as_graph_def(add_shapes=True)


def stages(blocks: int) -> v1.GraphDef:
    """Residual blocks of 33 ops, eight to a stage, and a head: 33 * blocks + 7 ops, three in four
    of them variables.
    """
    pattern = two_blocks()
    second = [node for node in pattern.node if node.name.startswith("stage_0/block_1/")]
    head = [node for node in pattern.node if node.name.startswith("head/")]
    graph_def = v1.GraphDef(versions=pattern.versions)
    graph_def.node.extend(
        node for node in pattern.node if node.name.startswith(("input", "stage_0/block_0/"))
    )
    for block in range(1, blocks):
        names = {"stage_0/block_0/": scope_of(block - 1), "stage_0/block_1/": scope_of(block)}
        copy(graph_def, second, names)
    copy(graph_def, head, {"stage_0/block_1/": scope_of(blocks - 1)})
    return graph_def


def scope_of(block: int) -> str:
    """The scope of a block, counted over all stages."""
    return f"stage_{block // BLOCKS_A_STAGE}/block_{block % BLOCKS_A_STAGE}/"


def copy(graph_def: v1.GraphDef, nodes: list[v1.NodeDef], names: dict[str, str]) -> None:
    """Add the nodes to the graph under other scopes."""

    def renamed(text: str) -> str:
        return next(
            (new + text[len(old) :] for old, new in names.items() if text.startswith(old)), text
        )

    for node in nodes:
        new = graph_def.node.add()
        new.CopyFrom(node)
        new.name = renamed(node.name)
        new.input[:] = map(renamed, node.input)
        if "shared_name" in new.attr:  # else all copies of a variable would be one variable
            new.attr["shared_name"].s = renamed(new.attr["shared_name"].s.decode()).encode()


def two_blocks() -> v1.GraphDef:
    """The smallest of its kind, made by TensorFlow itself."""
    graph = tf.Graph()
    with graph.as_default():
        h = v1.placeholder(tf.float32, FEATURES, name="input")
        for block in range(2):
            h = residual(h, scope_of(block))
        h = tf.reduce_mean(h, [1, 2], name="head/gap")
        tf.nn.softmax(
            tf.matmul(h, variable("head/dense_kernel", [64, 10]), name="head/MatMul"),
            name="head/probs",
        )
    return graph.as_graph_def(add_shapes=True)


def residual(x: tf.Tensor, scope: str) -> tf.Tensor:
    """Two convolutions, each with a batch normalisation, and a way around both."""
    h = x
    for part in "ab":
        conv, bn = f"{scope}conv_{part}/", f"{scope}bn_{part}/"
        kernel = variable(conv + "kernel", [3, 3, 64, 64])
        h = tf.nn.conv2d(h, kernel, strides=1, padding="SAME", name=conv + "Conv2D")
        h = tf.nn.bias_add(h, variable(conv + "bias", [64]), name=conv + "BiasAdd")
        moments = [
            variable(bn + name, [64])
            for name in ("gamma", "beta", "moving_mean", "moving_variance")
        ]
        h = tf.raw_ops.FusedBatchNormV3(
            x=h, scale=moments[0], offset=moments[1], mean=moments[2], variance=moments[3],
            is_training=False, name=bn + "FusedBatchNormV3",
        ).y  # fmt: skip
        if part == "a":
            h = tf.nn.relu(h, name=scope + "relu_a")
    return tf.nn.relu(tf.add(x, h, name=scope + "add"), name=scope + "out")


def variable(name: str, shape: list[int]) -> tf.Tensor:
    """A variable's handle and what is read from it."""
    handle = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=shape, shared_name=name, name=name)
    value = tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32, name=name + "/Read")
    value.set_shape(shape)
    return value


def tangles(scopes: int, ops: int, seed: int = 6) -> v1.GraphDef:
    """Scopes one after the other, each of so many additions that take two of the eight before
    them.
    """
    graph_def, draw = v1.GraphDef(), random.Random(seed)
    graph_def.node.add(name="x", op="Placeholder").attr["dtype"].type = tf.float32.as_datatype_enum
    before = ["x"]
    for scope in range(scopes):
        for number in range(ops):
            name = f"scope_{scope}/add_{number}"
            node = graph_def.node.add(name=name, op="AddV2", input=draw.choices(before, k=2))
            node.attr["T"].type = tf.float32.as_datatype_enum
            before = [*before[-7:], name]
        before = before[-1:]
    return graph_def


def slices(scopes: int, ops: int) -> v1.GraphDef:
    """A transformer's training step, all its ops in graph order dealt to scopes of so many, one
    after the other.
    """
    nodes = transformer_step().graph.as_graph_def().node[: scopes * ops]
    of = {
        node.name: f"part_{number // ops}/{node.name.replace('/', '_')}"
        for number, node in enumerate(nodes)
    }
    graph_def = v1.GraphDef()
    for node in nodes:
        new = graph_def.node.add()
        new.CopyFrom(node)
        new.name = of[node.name]
        kept = [
            (*text.lstrip("^").partition(":"), "^" * text.startswith("^")) for text in node.input
        ]
        new.input[:] = [
            f"{control}{of[name]}{colon}{port}" for name, colon, port, control in kept if name in of
        ]
    return graph_def


MAKERS: dict[str, Callable[[], v1.GraphDef]] = {
    "g1k": lambda: stages(30),
    "g3k": resnet,
    "g10k": lambda: stages(303),
    "g14k": lambda: stages(420),
    "g50k": lambda: stages(1515),
    "g100": lambda: stages(3),
    "g100k": lambda: stages(3030),
    "g1M": lambda: stages(30_300),
    "tangles": lambda: tangles(20, 500),
    "slices": lambda: slices(6, 500),
}


def written(name: str, folder: Path) -> Path:
    """The file of one of the graphs above in this folder; made when it is not there yet."""
    path = folder / f"{name}.pb"
    if not path.exists():
        path.write_bytes(MAKERS[name]().SerializeToString(deterministic=True))
    return path
