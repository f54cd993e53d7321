"""Networks in many forms, and a difference planted in one op of them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
SIZE = 6  # of both axes of what networks take, so that an axis may be any other
FEED = np.random.default_rng(7).normal(size=(SIZE, SIZE)).astype(np.float32)


class Weights:
    """Draws weights, the same in the same order."""

    def __init__(self) -> None:
        self._draw = np.random.default_rng(0)

    def __call__(self, *shape: int, positive: bool = False) -> tf.Tensor:
        value = self._draw.normal(size=shape or ()) * 0.4
        return tf.constant(np.abs(value) + 0.1 if positive else value, tf.float32)


# Networks: each takes (SIZE, SIZE) and gives (SIZE, SIZE)


def dense(x: tf.Tensor, w: Weights) -> tf.Tensor:
    """Two layers and a gate."""
    hidden = tf.nn.relu(tf.nn.bias_add(tf.matmul(x, w(SIZE, SIZE)), w(SIZE)))
    gate = tf.sigmoid(tf.matmul(hidden, w(SIZE, SIZE)))
    return tf.tanh(tf.subtract(gate * x, hidden))


def convolutions(x: tf.Tensor, w: Weights) -> tf.Tensor:
    """Convolution, batch norm, pooling."""
    y = tf.reshape(x, [1, SIZE, SIZE, 1])
    y = tf.nn.conv2d(y, w(3, 3, 1, 4), 1, "SAME")
    y = v1.nn.fused_batch_norm(
        y, w(4, positive=True), w(4), w(4), w(4, positive=True), epsilon=1e-3, is_training=False
    )[0]
    y = tf.nn.leaky_relu(y, 0.2)
    y = tf.nn.depthwise_conv2d(y, w(2, 2, 4, 2), [1, 1, 1, 1], "SAME")
    y = tf.reduce_mean(tf.nn.max_pool2d(y, 2, 1, "VALID"), [1, 2])
    return x * tf.reduce_sum(tf.matmul(y, w(8, SIZE)))


def attention(x: tf.Tensor, w: Weights) -> tf.Tensor:
    """One head, and a layer norm."""
    query, key, value = (tf.matmul(x, w(SIZE, SIZE)) for _ in range(3))
    scores = tf.matmul(query, key, transpose_b=True) / tf.sqrt(float(SIZE))
    y = tf.matmul(tf.nn.softmax(scores), value) + x
    mean = tf.reduce_mean(y, 1, keepdims=True)
    variance = tf.reduce_mean(tf.math.squared_difference(y, mean), 1, keepdims=True)
    return (y - mean) * tf.math.rsqrt(variance + 1e-3) * w(SIZE) + w(SIZE)


def cell(x: tf.Tensor, w: Weights) -> tf.Tensor:
    """A cell of an LSTM."""
    gates = tf.matmul(tf.concat([x, tf.sin(x)], 1), w(2 * SIZE, 4 * SIZE))
    i, j, f, o = tf.split(gates, 4, 1)
    state = tf.sigmoid(f + 1.0) * x + tf.sigmoid(i) * tf.tanh(j)
    return tf.tanh(state) * tf.sigmoid(o)


def embedding(x: tf.Tensor, w: Weights) -> tf.Tensor:
    """Rows of a table, and cumulated sums."""
    rows = tf.cast(tf.argmax(x, 1), tf.int32)
    y = tf.gather(w(SIZE, SIZE), rows)
    return tf.cumsum(y, 1, exclusive=True) - tf.divide(x, 3.0 + tf.abs(y))


def norms(x: tf.Tensor, w: Weights) -> tf.Tensor:
    """Norms over axes, and powers."""
    y = tf.nn.l2_normalize(x, 0, epsilon=1e-2)
    y = tf.pow(tf.abs(y) + 1.0, w(SIZE, positive=True))
    return y / (tf.reduce_max(tf.abs(y), 0, keepdims=True) + 1e-1) + tf.math.softplus(x)


NETWORKS: dict[str, Callable[[tf.Tensor, Weights], tf.Tensor]] = {
    each.__name__: each for each in (dense, convolutions, attention, cell, embedding, norms)
}


# Forms: how a network stands in a graph


def plain(network: Callable[..., tf.Tensor], x: tf.Tensor) -> tf.Tensor:
    """The ops themselves."""
    return network(x, Weights())


def in_function(network: Callable[..., tf.Tensor], x: tf.Tensor) -> tf.Tensor:
    """In a function that a function calls."""

    @tf.function(autograph=False)
    def inner(x: tf.Tensor) -> tf.Tensor:
        return network(x, Weights())

    @tf.function(autograph=False)
    def outer(x: tf.Tensor) -> tf.Tensor:
        return inner(x) + 1.0

    return outer(x)


def in_loop(network: Callable[..., tf.Tensor], x: tf.Tensor) -> tf.Tensor:
    """In each of three rounds of a While."""
    weights = Weights()
    return tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, network(y, weights)), [0, x])[1]


def in_map(network: Callable[..., tf.Tensor], x: tf.Tensor) -> tf.Tensor:
    """In each round of a loop that writes a list."""
    stacked = tf.stack([x, 2.0 * x])
    return tf.map_fn(lambda y: network(y, Weights()), stacked)


def in_branch(network: Callable[..., tf.Tensor], x: tf.Tensor) -> tf.Tensor:
    """In a branch of an If."""
    return tf.cond(tf.reduce_sum(x) > -1e6, lambda: network(x, Weights()), lambda: -x)


FORMS = {each.__name__: each for each in (plain, in_function, in_loop, in_map, in_branch)}
V1_FORMS = ("in_loop", "in_branch")


@dataclass(frozen=True)
class Planted:
    """Where a difference was planted: the op, and the function of the library or ""."""

    op: str
    function: str


def graph_def_of(network: str, form: str, *, v2_control_flow: bool = True) -> tf.compat.v1.GraphDef:
    """A network in a form, from "x:0" to "y:0"."""
    was_on = v1.control_flow_v2_enabled()
    (v1.enable_control_flow_v2 if v2_control_flow else v1.disable_control_flow_v2)()
    try:
        with tf.Graph().as_default() as graph:
            x = v1.placeholder(tf.float32, [SIZE, SIZE], name="x")
            tf.identity(FORMS[form](NETWORKS[network], x), name="y")
        return graph.as_graph_def()
    finally:
        (v1.enable_control_flow_v2 if was_on else v1.disable_control_flow_v2)()


def plant(
    graph_def: tf.compat.v1.GraphDef, kind: str, seed: int
) -> tuple[tf.compat.v1.GraphDef, Planted] | None:
    """A copy with a difference of a kind in one op; None if none has such a thing.

    Args:
        kind: One of `KINDS`.
    """
    copy = v1.GraphDef()
    copy.CopyFrom(graph_def)
    places = [(node, "") for node in copy.node]
    for function in copy.library.function:
        places += [(node, function.signature.name) for node in function.node_def]
    random.Random(seed).shuffle(places)
    by_name = {(function, node.name): node for node, function in places}
    for node, function in places:

        def source(slot: int, node: object = node, function: str = function) -> object:
            return by_name.get((function, node.input[slot].partition(":")[0]))

        changed = KINDS[kind](node, source)
        if changed is not None:
            return copy, Planted(changed.name, function)
    return None


def _set_value(node: tf.compat.v1.NodeDef, value: np.ndarray) -> None:
    node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(value))


def _weight(node, source):
    """Change one element of a constant of several numbers."""
    if node.op == "Const" and node.attr["dtype"].type == tf.float32.as_datatype_enum:
        value = tf.make_ndarray(node.attr["value"].tensor).copy()
        if value.size >= SIZE:
            value.flat[value.size // 2] += 0.05
            _set_value(node, value)
            return node
    return None


def _attribute(node, source):
    """Change an attribute: an epsilon, a stride, a padding, a slope, an order."""
    attr = node.attr
    if node.op == "FusedBatchNormV3":
        attr["epsilon"].f = 0.1
    elif node.op == "LeakyRelu":
        attr["alpha"].f = 0.25
    elif node.op in ("DepthwiseConv2dNative", "MaxPool"):
        attr["strides"].list.i[1:3] = [2, 2]
    elif node.op == "Conv2D":
        attr["padding"].s = b"VALID"
    elif node.op == "Cumsum":
        attr["exclusive"].b = not attr["exclusive"].b
    elif node.op == "BatchMatMulV2":
        attr["adj_y"].b = not attr["adj_y"].b
    elif node.op == "MatMul" and source(1) is not None and source(1).op == "Const":
        if tf.make_ndarray(source(1).attr["value"].tensor).shape != (SIZE, SIZE):
            return None
        attr["transpose_b"].b = True
    else:
        return None
    return node


def _swap(node, source):
    """Swap the inputs of an op that is not commutative."""
    if node.op in ("Sub", "RealDiv", "ConcatV2") and node.input[0] != node.input[1]:
        node.input[0], node.input[1] = node.input[1], node.input[0]
        return node
    return None


def _epsilon(node, source):
    """Change a constant that is added before a root or a division."""
    if node.op == "AddV2":
        for slot in range(2):
            constant = source(slot)
            if constant is not None and constant.op == "Const":
                value = tf.make_ndarray(constant.attr["value"].tensor)
                if value.dtype == np.float32 and not value.shape:
                    _set_value(constant, value * np.float32(1.5))
                    return constant
    return None


def _axis(node, source):
    """Let an op reduce over the other axis."""
    if node.op in ("Mean", "Max", "Sum", "ArgMax", "Cumsum"):
        constant = source(1)
        if constant is not None and constant.op == "Const":
            value = tf.make_ndarray(constant.attr["value"].tensor)
            if value.size == 1:
                _set_value(constant, 1 - value)
                return constant
    return None


KINDS = {
    "weight": _weight,
    "attribute": _attribute,
    "swapped input": _swap,
    "epsilon": _epsilon,
    "axis": _axis,
}


def cases() -> Iterator[tuple[str, str, str, bool]]:
    """(network, form, kind, whether control flow is of TensorFlow 2) that exist."""
    for form in FORMS:
        for network in NETWORKS:
            for kind in KINDS:
                yield network, form, kind, True
                if form in V1_FORMS:
                    yield network, form, kind, False
