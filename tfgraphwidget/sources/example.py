"""A small network with a session: what the examples of the documentation are about."""

from __future__ import annotations

import numpy as np

from tfgraphwidget.tensorflow_modules import tf, v1


def network() -> tuple[tf.Graph, tf.compat.v1.Session]:
    """A graph: x float32 [?, 4] → net/hidden/Relu [?, 8] → net/logits [?, 3] → loss [], labels
    int64 [?], and "train".

    Variables net/hidden/w, net/hidden/b and net/w hold the same values each time.
    """
    numbers = np.random.default_rng(0)

    def variable(name: str, *shape: int) -> tf.Variable:
        first = v1.constant_initializer(numbers.normal(size=shape).astype(np.float32))
        new: tf.Variable = v1.get_variable(name, shape, initializer=first, use_resource=True)
        return new

    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        labels = v1.placeholder(tf.int64, [None], name="labels")
        with v1.variable_scope("net"):
            with v1.variable_scope("hidden"):
                product = tf.matmul(x, variable("w", 4, 8), name="MatMul")
                hidden = tf.nn.relu(tf.add(product, variable("b", 8), name="Add"), name="Relu")
            logits = tf.matmul(hidden, variable("w", 8, 3), name="logits")
        each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits, name="cross_entropy")
        loss = tf.reduce_mean(each, name="loss")
        v1.train.GradientDescentOptimizer(0.1).minimize(loss, name="train")
        session = v1.Session(graph=graph)
        session.run(v1.global_variables_initializer())
    return graph, session
