"""Tiny graphs, sessions on them and values in these, made with TensorFlow."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import numpy as np
import tensorflow as tf

from tfgraphwidget.tf_internals import import_serialized

v1 = tf.compat.v1
_Made = TypeVar("_Made")


def build_line() -> tf.Graph:
    """x -> a -> b -> c, each doubling."""
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 2], name="x")
        # After 2.21, tf.multiply makes a constant of a number outside of its own scope: "y", "y_1".
        a = tf.multiply(x, tf.constant(2.0, name="a/y"), name="a")
        b = tf.multiply(a, tf.constant(2.0, name="b/y"), name="b")
        tf.multiply(b, tf.constant(2.0, name="c/y"), name="c")
    return graph


def build_diamond() -> tf.Graph:
    """x -> left and right -> join; right also needs a second placeholder."""
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None], name="x")
        other = v1.placeholder(tf.float32, [], name="other")
        left = tf.nn.relu(x, name="left")
        scaled = tf.square(other, name="scaled")
        right = tf.multiply(x, scaled, name="right")
        tf.add(left, right, name="join")
    return graph


def dense(x: tf.Tensor, units: int, name: str, *, resource: bool) -> tf.Tensor:
    """One dense layer with get_variable, as people wrote them."""
    with v1.variable_scope(name):
        shape = [x.shape[-1], units]
        w = v1.get_variable(
            "w", shape, initializer=v1.glorot_uniform_initializer(seed=1), use_resource=resource
        )
        b = v1.get_variable("b", [units], initializer=v1.zeros_initializer(), use_resource=resource)
        return tf.nn.relu(tf.matmul(x, w) + b, name="out")


def build_mlp(*, resource: bool) -> tf.Graph:
    """x -> net/one -> net/two -> net/logits."""
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 3], name="x")
        with v1.variable_scope("net"):
            h = dense(x, 4, "one", resource=resource)
            h = dense(h, 4, "two", resource=resource)
            tf.identity(h, name="logits")
    return graph


def build_shared_weights() -> tf.Graph:
    """One variable read by two towers, with a regularisation loss on it."""
    graph = tf.Graph()
    with graph.as_default():
        w = v1.get_variable(
            "w", [2, 2], initializer=v1.ones_initializer(), regularizer=tf.nn.l2_loss
        )
        for tower in ("a", "b"):
            x = v1.placeholder(tf.float32, [None, 2], name=f"{tower}/x")
            tf.matmul(x, w, name=f"{tower}/y")
    return graph


def build_while_loop() -> tf.Graph:
    """A v1 while loop that doubles x five times."""
    graph = tf.Graph()
    with graph.as_default():
        v1.disable_control_flow_v2()
        x = v1.placeholder(tf.float32, [], name="x")
        tf.identity(
            v1.while_loop(lambda i, _: i < 5, lambda i, v: (i + 1, v * 2), [0, x])[1], name="y"
        )
        v1.enable_control_flow_v2()
    return graph


def initialised(graph: tf.Graph) -> v1.Session:
    """An open session in which every variable has its initial value."""
    with graph.as_default():
        init = v1.global_variables_initializer()
    session = v1.Session(graph=graph)
    session.run(init)
    return session


def fill(variable: tf.Variable, value: object, session: v1.Session) -> None:
    """Assign a value, or one number all over, to a variable of the session's graph."""
    with session.graph.as_default():
        variable.load(np.broadcast_to(value, variable.shape.as_list()), session)


def read(variables: Iterable[tf.Variable], session: v1.Session) -> list[np.ndarray]:
    """Present values; in the graph's own mode, since eager TensorFlow refuses resource variables as
    fetches.
    """
    with session.graph.as_default():
        return session.run(list(variables))


def old_graph(producer: int, build: Callable[[], _Made]) -> tuple[v1.GraphDef, _Made]:
    """A GraphDef as an old release wrote it, and what `build`, which adds its ops to the default
    graph, returns.

    What is imported into a graph gives it its versions, and TensorFlow takes ops of that time then.
    """
    versions = v1.GraphDef()
    versions.versions.producer = producer
    graph = tf.Graph()
    import_serialized(graph, versions.SerializeToString())
    with graph.as_default():
        made = build()
    return graph.as_graph_def(), made
