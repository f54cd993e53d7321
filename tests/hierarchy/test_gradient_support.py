"""What custom gradients make for themselves is training; what else is made after or among gradients
is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from tfgraphwidget.graph import first_to_reach, reach
from tfgraphwidget.graph.index import GraphIndex, build
from tfgraphwidget.hierarchy.builder import outline_of
from tfgraphwidget.visible.view_spec import ViewSpec
from tfgraphwidget.visible.visible_graph import build_visible_graph

v1 = tf.compat.v1
ACTS = pytest.mark.parametrize("act", [tf.nn.relu, tf.nn.silu], ids=["relu", "silu"])


def step(
    act: Callable[[Any], Any],
    rows: int | None = 4,
    then: Callable[..., Any] | None = None,
    reads_loss: bool = False,
) -> GraphIndex:
    """A training step of three layers under a tape; `then(net, forward, x, y)` may go on from
    there.
    """
    weights = [tf.Variable(tf.ones((8, 8))) for _ in range(3)]

    def forward(x, y, name="layer"):
        for number, weight in enumerate(weights):
            with tf.name_scope(f"{name}_{number}"):
                x = act(x @ weight)
        with tf.name_scope(f"{name}_loss"):
            loss = tf.reduce_mean((x - y) ** 2)
            return x, tf.sqrt(loss) if reads_loss else loss

    def train(x, y, name="layer"):
        with tf.GradientTape() as tape:
            out, loss = forward(x, y, name)
        for weight, slope in zip(weights, tape.gradient(loss, weights), strict=True):
            weight.assign_sub(0.1 * slope)
        return out, loss

    @tf.function
    def whole(x, y):
        out, loss = train(x, y)
        return loss, then and then(train, forward, out, y)

    spec = tf.TensorSpec((rows, 8))
    return build(whole.get_concrete_function(spec, spec).graph.as_graph_def().node)


def in_training(index: GraphIndex) -> set[str]:
    return {
        name
        for name, part in zip(index.names, outline_of(index)[0].op_part.tolist(), strict=True)
        if part
    }


def under(names: Iterable[str], *scopes: str) -> set[str]:
    return {name for name in names if name.startswith(scopes)}


@pytest.mark.parametrize("rows", [4, None], ids=["known batch", "any batch"])
def test_a_custom_gradient_shows_no_more_than_one_that_tensorflow_names(rows):
    shown = [build_visible_graph(step(act, rows), ViewSpec()) for act in (tf.nn.relu, tf.nn.silu)]
    assert shown[1].names == shown[0].names
    assert shown[1].part.tolist() == shown[0].part.tolist()


@ACTS
def test_metrics_after_the_gradients_are_no_training(act):
    right = tf.Variable(0.0)

    def measure(train, forward, out, y):
        with tf.name_scope("accuracy"):
            right.assign_add(
                tf.reduce_mean(tf.cast(tf.argmax(out, 1) == tf.argmax(y, 1), tf.float32))
            )
        tf.abs(out - y, name="unread")

    index = step(act, then=measure)
    assert not under(in_training(index), "accuracy", "unread", "layer")
    assert in_training(index) >= under(index.names, "gradient_tape")


@pytest.mark.parametrize(
    "reads_loss", [False, True], ids=["loss unread", "gradient reads the loss"]
)
@ACTS
def test_a_second_forward_pass_is_no_training(act, reads_loss):
    def again(train, forward, out, y):
        train(out, y, "again")

    index = step(act, then=again, reads_loss=reads_loss)
    assert not under(in_training(index), "layer", "again")
    assert {name for name in index.names if name.startswith(("mul", "Sigmoid"))} <= in_training(
        index
    )


@ACTS
def test_an_evaluation_with_what_was_trained_is_no_training(act):
    def evaluate(train, forward, out, y):
        return forward(out, y, "evaluation")[1]

    assert not under(in_training(step(act, then=evaluate)), "layer", "evaluation")


@ACTS
def test_what_a_gradient_penalty_is_added_to_is_no_training(act):
    weights = [tf.Variable(tf.ones((8, 8))) for _ in range(2)]

    def critic(x, name):
        for number, weight in enumerate(weights):
            with tf.name_scope(f"{name}_{number}"):
                x = act(x @ weight)
        with tf.name_scope(f"{name}_mean"):
            return tf.reduce_mean(x)

    @tf.function
    def step(real, fake):
        with tf.GradientTape() as tape:
            with tf.GradientTape() as inner:
                inner.watch(real)
                judged = critic(real, "first")
            slope = inner.gradient(judged, real)
            loss = (
                critic(fake, "fake")
                - critic(real, "real")
                + tf.reduce_mean((tf.norm(slope, axis=1) - 1) ** 2)
            )
        for weight, change in zip(weights, tape.gradient(loss, weights), strict=True):
            weight.assign_sub(0.1 * change)
        return loss

    spec = tf.TensorSpec((4, 8))
    index = build(step.get_concrete_function(spec, spec).graph.as_graph_def().node)
    assert not under(in_training(index), "first", "fake", "real")
    assert {name for name in index.names if name.startswith(("mul", "Sigmoid"))} <= in_training(
        index
    )


@ACTS
def test_gradients_of_a_graph_without_tapes_and_its_metrics(act):
    graph = tf.Graph()
    with graph.as_default():
        x, y = (v1.placeholder(tf.float32, [4, 8], name=name) for name in "xy")
        for number in range(3):
            with v1.variable_scope(f"layer_{number}"):
                x = act(x @ v1.get_variable("w", [8, 8]))
        with tf.name_scope("loss"):
            loss = tf.reduce_mean((x - y) ** 2)
        v1.train.GradientDescentOptimizer(0.1).minimize(loss)
        with tf.name_scope("accuracy"):
            tf.reduce_mean(tf.cast(tf.argmax(x, 1) == tf.argmax(y, 1), tf.float32))
    index = build(graph.as_graph_def().node)
    assert not under(in_training(index), "x", "y", "layer", "loss", "accuracy")
    assert in_training(index) >= under(index.names, "gradients", "GradientDescent")


@ACTS
def test_a_network_written_after_the_constants_of_its_gradients_is_no_training(act):
    index = step(act)
    index = build(sorted(index.nodes, key=lambda node: node.op != "Const"))
    assert not under(in_training(index), "layer")


def test_zeros_that_nobody_reads_count_as_training_among_gradients_only(graph):
    ops = {"x": "Placeholder", "zeros": "Const", "loss": "L2Loss x", "gradients/a": "Mul x loss"}
    ops |= {
        "zeros_1": "Const",
        "zeros_like": "ZerosLike x",
        "other": "Const",
        "gradients/b": "Mul gradients/a x",
    }
    assert in_training(graph(ops | {"zeros_2": "Const"})) == {
        "gradients/a",
        "gradients/b",
        "zeros_1",
        "zeros_like",
    }


@given(st.data())
def test_the_first_to_reach_an_op_is_the_first_that_leads_to_it(data):
    n = data.draw(st.integers(1, 12))
    ops = st.integers(0, n - 1)
    rows = data.draw(st.lists(st.lists(ops, max_size=4), min_size=n, max_size=n))
    start = np.cumsum([0, *map(len, rows)], dtype=np.int32)
    values = np.array([op for row in rows for op in row], dtype=np.int32)
    seeds = np.array(sorted(data.draw(st.sets(ops, min_size=1))))
    reached = [reach(start, values, seeds[k : k + 1]) for k in range(len(seeds))]
    expected = [
        next((k for k, ops in enumerate(reached) if ops[op]), len(seeds)) for op in range(n)
    ]
    assert first_to_reach(start, values, seeds).tolist() == expected


def loop_and_head(x: Any, w: Any, v: Any) -> Any:
    """Three rounds of a layer, and a layer that goes on from there."""
    with tf.name_scope("rnn"):
        turn = [0, x]
        _, h = tf.while_loop(lambda k, _: k < 3, lambda k, h: (k + 1, tf.tanh(h @ w)), turn)
    with tf.name_scope("head"):
        return tf.nn.relu(h @ v, name="out")


def index_with_loop(by_tape: bool) -> GraphIndex:
    """A training step of a network with a loop of TensorFlow 2."""
    if by_tape:
        weights = [tf.Variable(tf.ones((8, 8))) for _ in range(2)]

        @tf.function(autograph=False, input_signature=[tf.TensorSpec((4, 8))])
        def train(x: Any) -> Any:
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(loop_and_head(x, *weights), name="loss")
            for weight, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
                weight.assign_sub(0.1 * gradient)
            return loss

        return build(train.get_concrete_function().graph.as_graph_def().node)
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 8], name="x")
        weights = [v1.get_variable(name, [8, 8]) for name in "wv"]
        loss = tf.reduce_sum(loop_and_head(x, *weights), name="loss")
        v1.train.GradientDescentOptimizer(0.1).minimize(loss)
    return build(graph.as_graph_def().node)


@pytest.mark.parametrize("by_tape", [False, True], ids=["tf.gradients", "tape"])
def test_a_loop_reads_the_lists_that_it_fills_for_its_gradient_and_is_no_training(
    by_tape: bool,
) -> None:
    index = index_with_loop(by_tape)
    outline, _ = outline_of(index)
    part = dict(zip(index.names, outline.op_part.tolist(), strict=True))
    lists = [op for op, kind in zip(index.names, index.types, strict=True) if "EmptyT" in kind]
    assert lists
    forward = [name for name in part if name.startswith(("rnn/while", "head/")) or name == "loss"]
    assert {index.types[index.ids[name]] for name in forward} & {"While", "StatelessWhile"}
    assert not [name for name in forward if part[name]]
    assert any(part[name] for name in part if "_grad" in name or "gradient" in name)
