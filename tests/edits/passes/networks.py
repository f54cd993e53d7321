"""Small networks whose results passes must keep: with loops, conditionals, functions, control
inputs, state, texts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

import tfgraphwidget as tgw

v1 = tf.compat.v1
rng = np.random.default_rng(7)


class Network(NamedTuple):
    """A graph, its session, what is fed and what is fetched."""

    graph: tf.Graph
    session: Any
    feeds: Mapping[str, Any]
    outputs: tuple[str, ...]

    def edit(self) -> tgw.GraphEditor:
        return tgw.edit(self.graph, session=self.session)

    def run(self) -> list[Any]:
        return list(self.session.run(list(self.outputs), dict(self.feeds)))


X = rng.normal(size=(3, 4)).astype(np.float32)


def network(build: Callable[[Any], Any], *, control_flow_v2: bool = False) -> Network:
    """x → build → outputs "y" …, with initialized variables."""
    graph = tf.Graph()
    (v1.enable_control_flow_v2 if control_flow_v2 else v1.disable_control_flow_v2)()
    try:
        with graph.as_default():
            tf.random.set_seed(3)
            x = v1.placeholder(tf.float32, [None, 4], "x")
            results = build(x)
            results = results if isinstance(results, list | tuple) else [results]
            names = [tf.identity(result, "y").name for result in results]
            init = v1.global_variables_initializer()
            tables = v1.tables_initializer()
    finally:
        v1.disable_control_flow_v2()
    session = v1.Session(graph=graph)
    session.run([init, tables])
    return Network(graph, session, {"x:0": X}, tuple(names))


def identities(x: Any) -> Any:
    """Chains of ops that hand on, some with control inputs, and a read that is named twice."""
    first = tf.identity(tf.identity(x))
    with tf.control_dependencies([tf.no_op("wait"), first]):
        held = tf.identity(tf.stop_gradient(first), "held")
    with tf.control_dependencies([held]):
        after = tf.constant(2.0)
    checked = tf.debugging.check_numerics(held * after, "bad")
    with tf.control_dependencies([v1.assert_greater(tf.reduce_sum(checked), -1e9)]):
        return tf.identity(checked) + first


def duplicates(x: Any) -> Any:
    """The same computed twice; random numbers, which are not the same."""
    a = tf.nn.relu(x * tf.constant([1.0, 2.0, 3.0, 4.0]) + tf.constant(1.0))
    b = tf.nn.relu(x * tf.constant([1.0, 2.0, 3.0, 4.0]) + tf.constant(1.0))
    noise = [v1.random_uniform([3, 4], seed=5), v1.random_uniform([3, 4], seed=6)]
    return [a + b, tf.concat([a, b], 1), tf.cast(noise[0] < noise[1], tf.float32) * 0.0 + a]


def variables(x: Any) -> Any:
    """Variables of both kinds, which an op updates between two reads."""
    for resource in (False, True):
        w = v1.get_variable(
            f"w{resource}", [4, 4], initializer=v1.ones_initializer(), use_resource=resource
        )
        before = tf.identity(w, "before")
        with tf.control_dependencies([before]):
            update = v1.assign(w, w * 1.0)
        with tf.control_dependencies([update]):
            x = tf.matmul(x, tf.identity(w, "after")) + tf.matmul(x, before)
    return x


def constants(x: Any) -> Any:
    """What is constant, also by a static shape, and divisions by zero that no run asks for."""
    table = tf.reshape(tf.range(12), [3, 4]) * tf.size(tf.zeros([2, 3]))
    scale = tf.exp(tf.constant([0.1, 0.2, 0.3, 0.4])) / tf.sqrt(tf.constant(2.0))
    width = tf.shape(x * 2.0)[1]
    parts = tf.split(tf.cast(table, tf.float32), 3)
    tf.math.floordiv(tf.constant(1), tf.constant(0), name="fails") + tf.cast(
        tf.reduce_sum(x), tf.int32
    )
    fixed = tf.shape(tf.reshape(x, [3, 4]), name="fixed")
    return [x * scale + parts[1], tf.reshape(x, tf.stack([-1, width])), tf.zeros(fixed) + x]


def loop(x: Any) -> Any:
    """A loop whose body has constants, identities and duplicates."""

    def body(i: Any, y: Any) -> Any:
        step = tf.constant(1) + tf.constant(1) - tf.constant(1)
        scale = tf.identity(tf.constant(0.5) * tf.constant(2.0))
        return i + step, tf.identity(tf.nn.relu(y * scale) + tf.nn.relu(y * scale)) * 0.5

    return v1.while_loop(lambda i, _: i < tf.constant(2) + 1, body, [tf.constant(0), x])[1]


def conditional(x: Any) -> Any:
    """A conditional in a conditional, with constants and identities in its branches."""

    def deep() -> Any:
        return v1.cond(
            tf.reduce_sum(x) > 1e6,
            lambda: tf.identity(x) * (tf.constant(2.0) + 1.0),
            lambda: x + 1.0,
        )

    return [
        v1.cond(tf.reduce_max(x) > 0.0, deep, lambda: tf.identity(x)),
        v1.cond(x[0, 0] > 1e6, lambda: tf.constant(1.0) * 2.0, lambda: tf.constant(3.0)),
    ]


def functions(x: Any) -> Any:
    """A function that is called twice, and calls another one."""

    @tf.function(autograph=False)
    def inner(y: Any) -> Any:
        return tf.identity(tf.nn.relu(y) * (tf.constant(1.0) + tf.constant(1.0)))

    @tf.function(autograph=False)
    def outer(y: Any) -> Any:
        return tf.identity(inner(y)) + inner(y) + tf.cast(tf.shape(y)[1], tf.float32)

    return outer(x) + outer(x + 1.0)


def texts(x: Any) -> Any:
    """Texts, a table, and an op that prints."""
    keys = tf.constant(["a", "b"])
    table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(keys, tf.constant([1.0, 2.0])), 0.0
    )
    joined = tf.strings.join([tf.constant(["a", "b"]), tf.constant("")])
    found = table.lookup(tf.identity(joined)) + table.lookup(tf.constant(["b", "c"]))
    return [tf.reduce_sum(x) + found, tf.strings.length(tf.strings.upper(joined)), joined]


def mixed(x: Any) -> Any:
    """A convolution with a device, a queue and a placeholder with a default."""
    with tf.device("/cpu:0"):
        default = v1.placeholder_with_default(tf.constant(3.0) * 2.0, [], "default")
        image = tf.reshape(x, [-1, 2, 2, 1])
        kernel = v1.get_variable(
            "kernel", [2, 2, 1, 3], initializer=v1.initializers.random_uniform(seed=2)
        )
        y = tf.nn.conv2d(image, kernel, 1, "SAME") * default
    return tf.nn.softmax(tf.reshape(y, [-1, 12]))


NETWORKS: dict[str, Callable[[], Network]] = {
    build.__name__: (lambda build=build: network(build))
    for build in (
        identities,
        duplicates,
        variables,
        constants,
        loop,
        conditional,
        functions,
        texts,
        mixed,
    )
}
NETWORKS |= {
    "functional loop": lambda: network(loop, control_flow_v2=True),
    "functional conditional": lambda: network(conditional, control_flow_v2=True),
}
