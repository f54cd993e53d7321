"""A graph as the original's own examples had them."""

from __future__ import annotations

import pytest
import tensorflow as tf

import tfgraphwidget.graph_editor as ge


class Net:
    """a and foo/b make foo/c, which foo/bar/d and foo/bar/e read; foo/bar/d waits for foo/wait."""

    def __init__(self) -> None:
        self.graph = tf.Graph()
        with self.graph.as_default():
            self.a = tf.constant([1.0, 2.0], name="a")
            with tf.name_scope("foo"):
                self.b = tf.constant([3.0, 4.0], name="b")
                self.c = tf.add(self.a, self.b, name="c")
                self.wait = tf.no_op(name="wait")
                with tf.name_scope("bar"), tf.control_dependencies([self.wait]):
                    self.d = tf.nn.relu(self.c, name="d")
                with tf.name_scope("foo/bar/"):
                    self.e, self.f = tf.split(self.c, 2, name="e")

    def ops(self, *names: str) -> list[tf.Operation]:
        return [self.graph.get_operation_by_name(name) for name in names]

    @property
    def controls(self) -> ge.ControlOutputs:
        return ge.ControlOutputs(self.graph)


@pytest.fixture
def net() -> Net:
    """The graph and its tensors."""
    return Net()
