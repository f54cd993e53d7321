"""After random edits of random networks that train, the gradients are those that TensorFlow takes
of the graph as it is now, or the report says that they are not.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1
from tests.edits.test_stale_gradients import SAYS, gradients_that_train

X = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)
GRAPHS = 15  # of each kind of edit: about two seconds
GATES = (v1.train.Optimizer.GATE_NONE, v1.train.Optimizer.GATE_OP, v1.train.Optimizer.GATE_GRAPH)

LAYERS: tuple[Callable[[tf.Tensor, tf.Tensor, Any], tf.Tensor], ...] = (
    lambda a, _, variable: tf.matmul(a, variable([4, 4])),
    lambda a, _, variable: tf.nn.bias_add(a, variable([4])),
    lambda a, _, variable: a * variable([4]),
    lambda a, b, _: a + b,
    lambda a, b, _: a * b,
    lambda a, b, _: a - b,
    lambda a, b, _: tf.maximum(a, b),
    lambda a, b, _: tf.add_n([a, b, a]),
    lambda a, b, _: v1.where(a > 0.0, a, b),
    lambda a, b, _: tf.concat([a, b], 1)[:, 2:6],
    lambda a, *_: tf.stop_gradient(a),
    lambda a, *_: tf.floor(a),
    lambda a, *_: tf.identity(a),
    lambda a, *_: tf.tanh(a),
    lambda a, *_: tf.nn.relu(a),
    lambda a, *_: tf.nn.softmax(a),
    lambda a, *_: tf.square(a),
    lambda a, *_: a - tf.reduce_mean(a, 0, keepdims=True),
    lambda a, *_: tf.reshape(a, [-1, 4]),
    lambda a, *_: tf.gather(a, [3, 1, 2, 0], axis=1),
    lambda a, *_: tf.concat(tf.split(a, 2, 1)[::-1], 1),
)
FUNCTIONS: tuple[Callable[..., tf.Tensor], ...] = (
    lambda *t: tf.sin(t[0]) + sum(0.3 * each * t[0] for each in t[1:]),
    lambda *t: sum(tf.tanh(each) for each in t),
    lambda *t: t[-1] * 1.5 + 0 * t[0],
)
PATTERNS: tuple[tuple[str, Any], ...] = (
    ("Mul(a, b)", lambda a, b: a * b * b),
    ("Mul(a, b)", "a"),
    ("AddV2(a, b)", "b"),
    ("Sub(a, b)", lambda a, b: b - a * a),
    ("MatMul(a, b)", lambda a, b: tf.sin(tf.matmul(a, b))),
    ("Tanh(x)", "Sigmoid(x)"),
    ("Relu(x)", "x"),
    ("StopGradient(x)", "x"),
    ("Identity(x)", "Tanh(x)"),
)


def network(chance: random.Random) -> tf.Graph:
    """A network of up to a dozen layers, each of which reads some of the last, that trains."""
    numbers = np.random.default_rng(chance.randrange(10**6))
    is_resource = chance.random() < 0.6
    count = 0

    def variable(shape: list[int]) -> tf.Tensor:
        nonlocal count
        count += 1
        initial = numbers.normal(size=shape).astype(np.float32) / 2
        return v1.get_variable(f"v{count}", initializer=initial, use_resource=is_resource)

    with tf.Graph().as_default() as graph:
        tensors = [v1.placeholder(tf.float32, [None, 4], name="x")]
        for _ in range(chance.randint(5, 12)):
            a, b = chance.choice(tensors[-4:]), chance.choice(tensors[-4:])
            tensors.append(chance.choice(LAYERS)(a, b, variable))
        y = tf.matmul(tensors[-1], variable([4, 4])) + tensors[-2]
        loss = tf.reduce_mean(tf.tanh(y) ** 2, name="loss")
        optimizer = v1.train.GradientDescentOptimizer(0.1)
        optimizer.minimize(loss, gate_gradients=chance.choice(GATES))
    return graph


def forward_ops(editor: tgw.GraphEditor) -> list[str]:
    """The ops of the network that read something, without those of its variables."""
    training = ("gradients", "GradientDescent", "tuple/")  # the last where gradients are gated
    index = editor._core.index
    return [
        name
        for op, name in enumerate(index.names)
        if index.input_lists[op]
        and not name.startswith(training)
        and not index.types[op].startswith(("Assign", "ReadVariable", "VarIs"))
    ]


def edit(editor: tgw.GraphEditor, kind: str, chance: random.Random) -> str:
    """What a random edit says that it has done."""
    if kind == "replace_all":
        return str(editor.replace_all(*chance.choice(PATTERNS)))
    op = chance.choice(forward_ops(editor))
    if kind == "insert":
        return str(editor.insert(f"{op}:0", lambda t: tf.sin(t) * 1.3))
    index = editor._core.index
    read = {index.names[source] for source in index.input_lists[index.op(op)]}
    before = sorted(read.intersection(forward_ops(editor)))
    part = [op, *before[: chance.randint(0, 2)]]
    return str(editor.replace(part, chance.choice(FUNCTIONS), remove=chance.random() < 0.4))


def is_true(graph: tf.Graph) -> bool:
    """Whether the gradients that the optimizer reads are those of the graph; also where the edit
    has made a graph that no feed fits.
    """
    taken, names = gradients_that_train(graph)
    with graph.as_default(), v1.Session(graph=graph) as session:
        variables = {variable.op.name: variable for variable in v1.global_variables()}
        now = tf.gradients(graph.get_tensor_by_name("loss:0"), [variables[name] for name in names])
        session.run(v1.global_variables_initializer())
        try:
            session.run("loss:0", {"x:0": X})
        except tf.errors.InvalidArgumentError:
            return True
        for old, new in zip(taken, now, strict=True):
            value = session.run(old, {"x:0": X})
            other = np.zeros_like(value) if new is None else session.run(new, {"x:0": X})
            if not np.allclose(value, other, atol=1e-5, rtol=1e-3, equal_nan=True):
                return False
    return True


@pytest.mark.parametrize("kind", ["insert", "replace", "replace_all"])
def test_no_gradient_is_wrong_without_a_word(kind: str) -> None:
    done = 0
    for seed in range(GRAPHS):
        chance = random.Random(f"{kind} {seed}")
        graph = network(chance)
        editor = tgw.edit(graph, session=v1.Session(graph=graph))
        try:
            report = edit(editor, kind, chance)
        except tgw.GraphEditError:
            continue
        done += 1
        assert is_true(graph) or SAYS in report, (seed, editor.history.lines, report)
    assert done > GRAPHS / 2
