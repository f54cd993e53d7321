"""All tensors compared: the first divergence of two graphs is named, wherever it is."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.editor.planted_differences import FEED, SIZE, cases, graph_def_of, plant, v1
from tfgraphwidget.editor import comparing, synchronization
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.runtime.measure import Comparison

X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
SEEDS = (0, 1)


def graph_of(build: Any, shape: tuple[int | None, ...] = (3, 4)) -> tf.Graph:
    """A graph from "x" to "y"."""
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, shape, name="x")
        tf.identity(build(x), name="y")
    return graph


def compared(now: tf.Graph, before: tf.Graph, **options: Any) -> Comparison:
    """All tensors of two graphs from "x"."""
    return tgw.edit(now).compare({"x": X}, before, "all", **options)


# Planted differences


@pytest.mark.sample(5)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("network", "form", "kind", "v2"), [*cases()])
def test_the_op_that_differs_is_named(
    network: str, form: str, kind: str, v2: bool, seed: int, tmp_path: Path
) -> None:
    original = graph_def_of(network, form, v2_control_flow=v2)
    planted = plant(original, kind, seed)
    if planted is None:  # the network has no such thing
        return
    changed, place = planted
    for name, graph_def in (("before", original), ("after", changed)):
        (tmp_path / f"{name}.pb").write_bytes(graph_def.SerializeToString())
    found = tgw.edit(tmp_path / "after.pb").compare({"x:0": FEED}, tmp_path / "before.pb", "all")
    assert found
    first = found.first_divergence
    assert first is not None
    assert (first.op, first.path[-1] if first.path else "") == (place.op, place.function)
    assert not any(each.differs for each in first.inputs)
    again = tgw.edit(tmp_path / "after.pb").compare({"x:0": FEED}, tmp_path / "after.pb", "all")
    assert not again
    assert again.first_divergence is None


def network(**changes: Any) -> keras.Model:
    """A Keras model, with other options of a layer."""
    options = {"strides": 1, "padding": "same", "epsilon": 1e-3, "axis": -1, "activation": "relu"}
    options |= changes
    keras.utils.set_random_seed(1)
    layers = keras.layers
    return keras.Sequential(
        [
            keras.Input((8, 8, 3)),
            layers.Conv2D(4, 3, strides=options["strides"], padding="same", name="first"),
            layers.BatchNormalization(epsilon=options["epsilon"], name="norm"),
            layers.Activation(options["activation"], name="act"),
            layers.Conv2D(4, 3, padding=options["padding"], name="second"),
            layers.LayerNormalization(name="layer_norm"),
            layers.GlobalAveragePooling2D(name="pool"),
            layers.Dense(5, name="dense"),
        ]
    )


IMAGE = np.random.default_rng(3).normal(size=(2, 8, 8, 3)).astype(np.float32)


@pytest.mark.parametrize(
    ("changes", "layer"),
    [
        ({"strides": 2}, "first"),
        ({"padding": "valid"}, "second"),
        ({"epsilon": 0.1}, "norm"),
        ({"activation": "softplus"}, "act"),
    ],
)
def test_the_layer_of_a_keras_model_that_differs_is_named(
    changes: dict[str, Any], layer: str
) -> None:
    editor = tgw.edit(network(**changes))
    (feed,) = editor.ops(type="Placeholder")
    first = editor.compare({feed: IMAGE}, network(), "all").first_divergence
    assert first is not None
    assert f"/{layer}_" in first.op, first


@pytest.mark.parametrize("layer", ["first", "norm", "second", "layer_norm", "dense"])
def test_the_variable_of_a_keras_model_that_differs_is_named(layer: str) -> None:
    model = network()
    variable = model.get_layer(layer).trainable_variables[-1]
    variable.assign(variable + 0.5)
    editor = tgw.edit(model)
    (feed,) = editor.ops(type="Placeholder")
    first = editor.compare({feed: IMAGE}, network(), "all").first_divergence
    assert first is not None
    assert f"{layer}/" in first.op
    assert first.op_type == "VarHandleOp"
    assert first.difference.largest == pytest.approx(0.5)


@pytest.mark.parametrize("is_changed", [False, True])
def test_a_saved_model_is_compared_with_the_model_that_was_saved(
    is_changed: bool, tmp_path: Path
) -> None:
    model = network()
    model.export(str(tmp_path / "saved"), verbose=False)
    if is_changed:
        model.get_layer("dense").bias.assign_add(tf.ones(5))
    saved = tgw.edit(tmp_path / "saved", signature="serving_default")
    (feed,) = saved.ops(type="Placeholder")
    found = saved.compare({feed: IMAGE}, model, "all")
    assert bool(found) == is_changed
    if is_changed:
        assert found.first_divergence is not None
        assert "dense" in found.first_divergence.op


def test_a_recurrent_layer_is_looked_into(tmp_path: Path) -> None:
    def recurrent(activation: str) -> keras.Model:
        keras.utils.set_random_seed(1)
        return keras.Sequential([keras.Input((6, 4)), keras.layers.LSTM(5, activation=activation)])

    editor = tgw.edit(recurrent("softsign"))
    (feed,) = editor.ops(type="Placeholder")
    rows = np.random.default_rng(0).normal(size=(2, 6, 4)).astype(np.float32)
    first = editor.compare({feed: rows}, recurrent("tanh"), "all").first_divergence
    assert first is not None
    assert (first.op_type, first.round, len(first.path)) == ("Softsign", 1, 1)
    assert f"in {first.path[0]!r} of {first.calls[0]!r}, in round 1" in repr(first)
    assert first.calls[0].endswith("/while")
    assert not editor.compare({feed: rows}, recurrent("softsign"), "all")


def test_inputs_that_are_swapped_are_said() -> None:
    """All that the op reads agrees then."""

    def build(now: bool, x: tf.Tensor) -> tf.Tensor:
        one, two = tf.exp(x, name="one"), tf.tanh(x, name="two")
        return tf.subtract(*([two, one] if now else [one, two]), name="gap")

    first = compared(graph_of(partial(build, True)), graph_of(partial(build, False)))
    assert first.first_divergence is not None
    assert first.first_divergence.op == "gap"
    assert first.first_divergence.note == (
        "Input 0 is 'two:0', and in the other graph 'one:0'. "
        "Input 1 is 'one:0', and in the other graph 'two:0'."
    )
    assert first.first_divergence.note in repr(first)


def test_all_outputs_of_ops_have_values_of_their_own() -> None:
    """What output 1 of "unstack" is called in a module, an op is called too."""

    @tf.function(input_signature=[tf.TensorSpec([3, 4], tf.float32, name="x")], autograph=False)
    def split(x: tf.Tensor) -> tf.Tensor:
        first, second, third = tf.unstack(x, name="unstack")
        return tf.add(first + second + third, tf.unstack(2.0 * x, name="unstack_1")[0])

    found = tgw.edit(split).compare({"x": X}, split, "all")
    assert {"unstack:0", "unstack:1", "unstack:2", "unstack_1:0"} <= found.matched.keys()
    np.testing.assert_allclose(found["unstack:1"].norms[0], np.linalg.norm(X[1]), rtol=1e-6)
    np.testing.assert_allclose(found["unstack_1:0"].norms[0], np.linalg.norm(2 * X[0]), rtol=1e-6)


@pytest.mark.parametrize("resource", [True, False])
def test_a_variable_of_a_session_is_the_first_divergence(resource: bool) -> None:
    def build(x: tf.Tensor) -> tf.Tensor:
        w = v1.get_variable("w", initializer=tf.eye(4), use_resource=resource)
        return tf.tanh(tf.matmul(tf.nn.relu(x), w))

    graphs = [graph_of(build), graph_of(build)]
    sessions = [v1.Session(graph=graph) for graph in graphs]
    for graph, session in zip(graphs, sessions, strict=True):
        with graph.as_default():
            session.run(v1.global_variables_initializer())
    with graphs[0].as_default():
        (w,) = v1.global_variables()
        sessions[0].run(v1.assign(w, 2 * np.eye(4)))
    editors = [tgw.edit(g, session=s) for g, s in zip(graphs, sessions, strict=True)]
    first = editors[0].compare({"x": X}, editors[1], "all").first_divergence
    assert first is not None
    assert (first.tensor, first.difference.largest) == ("w:0", 1.0)


# Loops and conditionals of TensorFlow 1


@pytest.fixture
def old_control_flow() -> Any:
    """While loops and conditionals as frames and switches."""
    was_on = v1.control_flow_v2_enabled()
    v1.disable_control_flow_v2()
    yield
    if was_on:
        v1.enable_control_flow_v2()


def nested_loops(bad_round: int = 99, rounds: int = 3) -> tf.Graph:
    """A loop in a loop, in which from a round on another function is computed."""

    def outer(i: tf.Tensor, y: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        def inner(j: tf.Tensor, z: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            odd = tf.sin(z, name="odd") if bad_round < 99 else tf.tanh(z, name="odd")
            late = tf.logical_and(i >= 1, j >= 1)
            return j + 1, tf.where(late, tf.add(odd, 0.0, name="late") * 1.5, z)

        return i + 1, v1.while_loop(lambda j, _: j < 3, inner, [0, y])[1]

    return graph_of(lambda x: v1.while_loop(lambda i, _: i < rounds, outer, [0, x])[1])


@pytest.mark.usefixtures("old_control_flow")
def test_the_first_round_of_a_loop_in_a_loop_is_found() -> None:
    found = compared(nested_loops(0), nested_loops())
    assert found.first_divergence is not None
    assert (found.first_divergence.op, found.first_divergence.round) == ("while/while/odd", 1)
    assert not compared(nested_loops(), nested_loops())


@pytest.mark.usefixtures("old_control_flow")
@pytest.mark.parametrize("is_loop_now", [True, False])
@pytest.mark.parametrize("rounds", [3, 4])
def test_what_is_in_a_loop_is_no_tensor_outside_of_one(rounds: int, is_loop_now: bool) -> None:
    """A loop beside the same rounds one after the other: one MatMul is not the three."""
    weights = np.random.default_rng(1).normal(size=(4, 4)).astype(np.float32)

    def network(rounds: int, is_loop: bool) -> tf.Graph:
        def layer(x: tf.Tensor) -> tf.Tensor:
            return tf.tanh(tf.matmul(x, weights))

        def build(x: tf.Tensor) -> tf.Tensor:
            if is_loop:
                return v1.while_loop(
                    lambda i, _: i < rounds, lambda i, y: (i + 1, layer(y)), [0, x]
                )[1]
            for _ in range(rounds):
                x = layer(x)
            return x

        return graph_of(build)

    found = compared(network(rounds, is_loop_now), network(3, not is_loop_now))
    assert found["y"].differs == (rounds != 3)
    # What leaves the loop is what the last one gives.
    (last, result) = (
        ("while/Exit_1:0", "Tanh_2:0") if is_loop_now else ("Tanh_3:0", "while/Exit_1:0")
    )
    last = "Tanh_2:0" if rounds == 3 and not is_loop_now else last
    assert found.matched[last] == result
    assert not any("MatMul" in name or "Tanh" in name for name in found.matched if name != last)
    first = found.first_divergence
    assert first is None if rounds == 3 else first is not None and first.tensor == last


@pytest.mark.usefixtures("old_control_flow")
@pytest.mark.parametrize("row", [0, 1, 2])
@pytest.mark.parametrize("loop", [tf.map_fn, tf.scan])
def test_the_round_of_a_tensor_array_is_found(loop: Callable[..., tf.Tensor], row: int) -> None:
    """A number that orders the rounds is all that leaves such a loop. Whatever the row, the last
    one too, there is one that alone differs.
    """

    def graph(limit: Callable[[tf.Tensor], tf.Tensor]) -> tf.Graph:
        def build(x: tf.Tensor) -> tf.Tensor:
            large = tf.constant(np.eye(3, dtype=np.float32)[:, row : row + 1] * 9)

            def body(*rows: tf.Tensor) -> tf.Tensor:
                return limit(tf.multiply(rows[-1], 1.0, name="row"), name="limit")

            initial = {"initializer": tf.zeros([4])} if loop is tf.scan else {}
            return loop(body, tf.abs(x) + large, **initial)

        return graph_of(build)

    first = compared(graph(tf.nn.relu), graph(tf.nn.relu6)).first_divergence
    assert first is not None
    assert (first.op.rpartition("/")[2], first.op_type, first.round) == ("limit", "Relu", row + 1)
    assert not compared(graph(tf.nn.relu6), graph(tf.nn.relu6))


def test_a_loop_in_a_loop_that_keeps_lists_for_gradients_is_looked_into() -> None:
    """The outer loop has lists of the lists of the inner one, which have no values in Python."""

    def trained(odd: Callable[[tf.Tensor], tf.Tensor]) -> tf.Graph:
        def outer(i: tf.Tensor, y: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            rounds = v1.while_loop(lambda j, _: j < 2, lambda j, z: (j + 1, odd(z)), [0, y])
            return i + 1, rounds[1]

        with tf.Graph().as_default() as graph:
            x = v1.placeholder(tf.float32, X.shape, name="x")
            y = tf.identity(v1.while_loop(lambda i, _: i < 3, outer, [0, x])[1], name="y")
            tf.gradients(y, x)
        return graph

    first = compared(trained(tf.sin), trained(tf.tanh)).first_divergence
    assert first is not None
    assert (first.op_type, first.round, len(first.path)) == ("Sin", 1, 2)


@pytest.mark.parametrize("v2", [True, False])
def test_a_loop_with_more_rounds_is_told_by_what_ends_it(v2: bool) -> None:
    def loop(rounds: float) -> tf.Graph:
        return graph_of(
            lambda x: tf.while_loop(
                lambda i, _: tf.less(tf.cast(i, tf.float32), tf.reduce_sum(tf.abs(x)) * rounds),
                lambda i, y: (i + 1, tf.sin(y)),
                [0, x],
            )[1]
        )

    (v1.enable_control_flow_v2 if v2 else v1.disable_control_flow_v2)()
    try:
        found = compared(loop(1.2), loop(0.8))
    finally:
        v1.enable_control_flow_v2()
    assert found.first_divergence is not None
    assert found.first_divergence.op_type == "Const"
    assert found.first_divergence.difference.largest == pytest.approx(0.4)


def test_the_first_round_is_named_in_which_something_differs() -> None:
    def loop(late: Any) -> tf.Graph:
        return graph_of(
            lambda x: tf.while_loop(
                lambda i, _: i < 6,
                lambda i, y: (i + 1, tf.cond(i >= 3, lambda: late(y), lambda: tf.tanh(y))),
                [0, x],
            )[1]
        )

    first = compared(loop(tf.sin), loop(tf.tanh)).first_divergence
    assert first is not None
    assert (first.round, len(first.path), first.op_type) == (4, 2, "Sin")


@pytest.mark.usefixtures("old_control_flow")
@pytest.mark.parametrize("is_taken", [True, False])
def test_a_branch_that_is_not_taken_is_left_out(is_taken: bool) -> None:
    def choice(factor: float) -> tf.Graph:
        limit = -100.0 if is_taken else 100.0
        return graph_of(
            lambda x: v1.cond(
                tf.reduce_sum(x) > limit, lambda: tf.exp(x) * factor, lambda: tf.square(x)
            )
        )

    found = compared(choice(2.0), choice(3.0))
    assert bool(found) == is_taken
    assert "in branches that were not taken" in found.not_compared


# What is no divergence


def test_equal_graphs_agree_and_print_so() -> None:
    graph = graph_of(lambda x: tf.nn.softmax(tf.tanh(x)))
    found = compared(graph, graph)
    assert not found
    assert found.same
    assert found.largest == 0
    assert found.matched == {name: name for name in ("x:0", "Tanh:0", "Softmax:0", "y:0")}


def test_rounding_is_no_divergence_and_more_is() -> None:
    weights = np.random.default_rng(0).normal(size=(4, 2_000)).astype(np.float32)

    def sums(order: Any, extra: float = 0.0) -> tf.Graph:
        def build(x: tf.Tensor) -> tf.Tensor:
            wide = tf.exp(tf.matmul(x, weights))
            return tf.reduce_sum(tf.gather(wide, order, axis=1), 1, name="sum") * (1.0 + extra)

        return graph_of(build)

    forth, back = np.arange(2_000), np.arange(2_000)[::-1].copy()
    found = compared(sums(forth), sums(back), pairs={"GatherV2:0": "MatMul:0"})
    assert not found["sum"].same, "the sums are rounded in another order"
    assert not found["sum"].differs
    assert compared(sums(forth, 1e-3), sums(forth))
    assert not compared(sums(forth, 1e-3), sums(forth), tolerance=1e-2)
    assert compared(sums(forth, 1e-3), sums(forth), tolerance={"float32": 1e-6})


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16, tf.float64])
def test_other_dtypes_are_compared_as_numbers(dtype: tf.DType) -> None:
    weights = np.random.default_rng(0).normal(size=(4, 4))

    def product(dtype: tf.DType, factor: float = 1.0) -> tf.Graph:
        def build(x: tf.Tensor) -> tf.Tensor:
            y = tf.matmul(tf.cast(x, dtype), tf.constant(weights * factor, dtype), name="product")
            return tf.cast(y, tf.float32)

        return graph_of(build)

    found = compared(product(dtype), product(tf.float32))
    assert not found
    assert not found.same
    assert found["product"].dtypes == ("float32", dtype.name)
    assert compared(product(dtype, 1.2), product(tf.float32))


@pytest.mark.parametrize("form", ["plain", "function"])
def test_the_last_of_several_ops_that_took_the_place_of_one_is_named(form: str) -> None:
    """A GELU of seven ops in the place of a Relu; and what is equal is no divergence."""
    activations = {
        "relu": lambda x: tf.nn.relu(x, name="relu"),
        "relu in parts": lambda x: tf.multiply(x, tf.cast(x > 0, tf.float32), name="parts"),
        "gelu": lambda x: tf.nn.gelu(x, name="gelu"),
    }

    def graph(kind: str) -> tf.Graph:
        def network(x: tf.Tensor) -> tf.Tensor:
            y = tf.matmul(x, tf.constant(np.linspace(-1, 1, 16).reshape(4, 4), tf.float32))
            return tf.tanh(activations[kind](y)) * 2.0

        body = tf.function(network, autograph=False)
        return graph_of(lambda x: body(x) + 1.0 if form == "function" else network(x) + 1.0)

    first = compared(graph("gelu"), graph("relu")).first_divergence
    assert first is not None
    assert first.op.startswith("gelu/")
    assert first.difference.other == "relu:0"
    assert len(first.path) == (form == "function")
    assert not compared(graph("relu in parts"), graph("relu"))
    assert not compared(graph("relu"), graph("relu in parts"))


def test_fused_batch_norm_is_what_its_parts_are() -> None:
    draw = np.random.default_rng(0)
    mean, variance, beta, gamma = (np.abs(draw.normal(size=2)).astype(np.float32) for _ in range(4))

    def normed(fused: bool, epsilon: float = 1e-3) -> tf.Graph:
        def build(x: tf.Tensor) -> tf.Tensor:
            x = tf.reshape(x, [1, 3, 2, 2])
            if fused:
                return v1.nn.fused_batch_norm(
                    x, gamma, beta, mean, variance, epsilon=epsilon, is_training=False
                )[0]
            return tf.nn.batch_normalization(x, mean, variance, beta, gamma, epsilon)

        return graph_of(build)

    found = compared(normed(True), normed(False))
    assert not found["y"].same
    assert not found
    assert compared(normed(True, 2e-3), normed(False))["y"].differs


@pytest.mark.parametrize("wrong", ["", "weight", "at the end"])
def test_a_product_in_another_order_is_no_divergence(wrong: str) -> None:
    """An optimizer leaves the name of (x · 0.5) · erfc(x) 's first product to erfc(x) · 0.5."""

    def gelu(x: tf.Tensor, *, is_optimized: bool) -> tf.Tensor:
        erfc = tf.math.erfc(tf.negative(x, name="negated"), name="erfc")
        half = tf.constant(0.5, name="half")
        if is_optimized:
            return tf.multiply(x, tf.multiply(erfc, half, name="mul"), name="mul_1")
        return tf.multiply(tf.multiply(half, x, name="mul"), erfc, name="mul_1")

    def graph(*, is_optimized: bool) -> tf.Graph:
        factor = 2.0 if is_optimized and wrong == "weight" else 1.0

        def build(x: tf.Tensor) -> tf.Tensor:
            y = gelu(
                tf.multiply(x, tf.constant(factor, name="w"), name="z"), is_optimized=is_optimized
            )
            y = tf.tanh(y + 1.0, name="tanh")
            is_wrong = is_optimized and wrong == "at the end"
            return tf.identity(tf.exp(y) if is_wrong else tf.sin(y), name="end")

        return graph_of(build)

    found = compared(graph(is_optimized=True), graph(is_optimized=False))
    first = found.first_divergence
    if not wrong:
        assert not found
        assert found.not_compared[comparing.OTHER_VALUE] == ("mul:0",)
    elif wrong == "weight":
        assert first is not None
        assert first.tensor == "w:0"
        assert comparing.OTHER_VALUE not in found.not_compared  # all that it leads to differs
    else:
        assert first is not None
        assert first.op_type == "Exp"
        assert found.not_compared[comparing.OTHER_VALUE] == ("mul:0",)


def test_an_input_that_is_another_one_is_a_divergence_where_an_integer_agrees() -> None:
    """Which number is the largest says little of the others."""

    def graph(*, is_wrong: bool) -> tf.Graph:
        def build(x: tf.Tensor) -> tf.Tensor:
            scores = tf.multiply(tf.exp(x) if is_wrong else x, 2.0, name="scores")
            return tf.argmax(scores, 1, name="best")

        return graph_of(build)

    found = compared(graph(is_wrong=True), graph(is_wrong=False))
    assert found["y"].same
    assert found.first_divergence is not None
    assert found.first_divergence.tensor == "scores:0"


@pytest.mark.parametrize("size", [4, 5])
def test_channels_that_come_first_are_no_divergence(size: int) -> None:
    """What is between two transpositions has other axes, even where these are as long."""

    def graph(*, is_first: bool, slope: float = 0.2) -> tf.Graph:
        with tf.Graph().as_default() as graph:
            y = v1.placeholder(tf.float32, [2, 4, size, 4], name="x")
            y = tf.transpose(y, [0, 3, 1, 2], name="there") if is_first else y
            bias = np.linspace(-1, 1, 4, dtype=np.float32)
            y = tf.nn.bias_add(y, bias, "NCHW" if is_first else "NHWC", name="bias")
            y = tf.nn.leaky_relu(y, slope, name="activation")
            y = tf.reduce_mean(y, [2, 3] if is_first else [1, 2], name="pool")
            tf.tanh(y, name="y")
        return graph

    rows = np.random.default_rng(0).normal(size=(2, 4, size, 4)).astype(np.float32)
    plain = graph(is_first=False)
    found = tgw.edit(graph(is_first=True)).compare({"x": rows}, plain, "all")
    assert not found
    assert {"bias:0", "activation:0"} <= set(found.not_compared[comparing.OTHER_VALUE])
    assert {"pool:0", "y:0"} <= found.matched.keys()
    assert tgw.edit(graph(is_first=True, slope=0.3)).compare({"x": rows}, plain, "all")["y"].differs


def test_a_constant_that_an_optimizer_computed_in_a_loop_is_no_divergence() -> None:
    """It waits for a switch of the loop, as the constant does that it was computed from."""

    def build(x: tf.Tensor) -> tf.Tensor:
        def body(i: tf.Tensor, h: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            return i + 1, tf.tanh(h) + tf.sqrt(tf.constant(4.0))

        return tf.while_loop(lambda i, _: i < tf.constant(2) + tf.constant(3), body, [0, x])[1]

    graph = graph_of(build)
    optimized = tgw.edit(graph).passes.grappler("y").editor
    compared = optimized.compare({"x:0": X}, graph, "all")
    assert not compared
    assert "y:0" in compared.matched


def test_random_tensors_are_left_out_with_what_depends_on_them() -> None:
    def noisy(factor: float = 1.0) -> tf.Graph:
        return graph_of(
            lambda x: tf.tanh(tf.exp(x * factor) + tf.random.normal([3, 4], name="noise"))
        )

    found = compared(noisy(), noisy())
    assert not found
    (left_out,) = found.not_compared.values()
    assert set(left_out) >= {"y:0", "Tanh:0"}
    assert "random" in repr(found)
    assert compared(noisy(2.0), noisy()).first_divergence is not None


def test_ops_of_the_same_seed_are_compared() -> None:
    graph = graph_of(lambda x: x + tf.random.normal([3, 4], seed=5))
    found = compared(graph, graph)
    assert found["y"].same
    assert not found.not_compared


def test_nothing_runs_that_changes_a_state_unless_the_outputs_need_it(tmp_path: Path) -> None:
    def build(x: tf.Tensor) -> tf.Tensor:
        with tf.control_dependencies([tf.io.write_file(str(tmp_path / "written"), "text")]):
            tf.sin(x, name="after")
        return tf.exp(x)

    editor = tgw.edit(graph_of(build))
    editor.mark("x:0", "y:0")
    found = editor.compare({"x": X}, graph_of(build), "all")
    assert not (tmp_path / "written").exists()
    assert "y:0" in found.matched
    assert any("after:0" in names for names in found.not_compared.values())


def test_a_training_step_does_not_run_for_what_reads_a_variable_after_it() -> None:
    """The powers of Adam are read after the step that the input leads to."""

    def training(rate: float) -> tgw.GraphEditor:
        with tf.Graph().as_default() as graph:
            x = v1.placeholder(tf.float32, [None, 4], name="x")
            w = v1.get_variable("w", initializer=tf.ones([4, 2]), use_resource=True)
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w)), name="loss")
            v1.train.AdamOptimizer(rate).minimize(loss)
            session = v1.Session(graph=graph)
            session.run(v1.global_variables_initializer())
        return tgw.edit(graph, session=session)

    found = training(0.1).compare({"x": X}, training(0.01), "all")
    assert [each.name for each in found if each.differs] == ["Adam/learning_rate:0"]
    assert {"loss:0", "w/Read/ReadVariableOp:0", "gradients/MatMul_grad/MatMul_1:0"} <= set(
        found.matched
    )
    assert comparing.RANDOM not in found.not_compared


# What one graph cannot do


def test_variables_that_a_checkpoint_lacks_are_left_out_where_no_output_needs_them(
    tmp_path: Path,
) -> None:
    """A checkpoint of what is trained alone: without averages, say."""
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, X.shape, name="x")
        w, average = (v1.get_variable(name, initializer=np.ones(4)) for name in ("w", "average"))
        tf.multiply(x, tf.cast(w, tf.float32), name="y")
        tf.multiply(average, 2.0, name="twice")
        session.run(w.initializer)
        v1.train.Saver([w]).save(session, str(tmp_path / "model"))
    one, other = (
        tgw.edit(tmp_path / "model.meta", checkpoint=tmp_path / "model") for _ in range(2)
    )
    found = one.compare({"x:0": X}, other, "all")
    assert not found
    assert "y:0" in found.matched
    lacking = found.not_compared["of which one graph has no value"]
    assert {"average:0", "twice:0"} <= set(lacking)
    without = tgw.edit(tmp_path / "model.meta")
    with pytest.raises(GraphEditError, match="comes without values"):
        without.compare({"x:0": X}, other, "all")


def test_graphs_without_a_common_tensor_are_refused() -> None:
    one, other = tf.Graph(), tf.Graph()
    with one.as_default():
        tf.exp(v1.placeholder(tf.float32, [2], name="numbers"), name="a")
    with other.as_default():
        tf.strings.lower(v1.placeholder(tf.string, [], name="texts"), name="b")
    with pytest.raises(GraphEditError, match="no tensor in common"):
        tgw.edit(one).compare({}, other, "all")


def test_what_fails_in_one_graph_is_told_and_all_else_is_compared() -> None:
    def build(size: int) -> tf.Graph:
        def inner(x: tf.Tensor) -> tf.Tensor:
            zero = tf.cast(x[0, 0] + 1.0, tf.int32)  # known as the graph runs only
            shape = tf.stack([zero + 12, zero + size])
            return tf.sin(tf.reshape(tf.exp(x), shape, name="shaped"))

        return graph_of(inner)

    found = compared(build(5), build(1))
    assert found
    assert "y:0" in found.fails
    assert found["Exp"].same
    assert any("'shaped'" in reason for reason in found.not_compared)


@pytest.mark.parametrize("is_wrong_before", [False, True])
def test_graphs_that_both_fail_before_their_output_are_not_equal(is_wrong_before: bool) -> None:
    """Nothing is known of them; a divergence before what fails is named all the same."""

    def build(before: float, after: float) -> tf.Graph:
        def inner(x: tf.Tensor) -> tf.Tensor:
            size = tf.cast(x[0, 0] + 6.0, tf.int32)  # known as the graph runs only
            shape = tf.stack([size, size])
            return tf.reshape(tf.exp(x * before), shape, name="shaped") * after

        return graph_of(inner)

    if is_wrong_before:
        first = compared(build(2.0, 1.0), build(3.0, 1.0)).first_divergence
        assert first is not None
        assert first.op == "mul/y"
    else:
        with pytest.raises(GraphEditError, match=r"but not 'y:0', which .* 'shaped': "):
            compared(build(2.0, 1.0), build(2.0, 1.0))


def test_an_output_that_lacks_a_feed_is_refused_where_one_graph_or_nothing_else_is_compared() -> (
    None
):
    def build(*, has_factor: bool) -> tf.Graph:
        def inner(x: tf.Tensor) -> tf.Tensor:
            factor = v1.placeholder(tf.float32, [], name="factor") if has_factor else 2.0
            return tf.multiply(tf.exp(x), factor)

        return graph_of(inner)

    for feeds, now, before in (({}, False, False), ({"x:0": X}, True, False)):
        editor = tgw.edit(build(has_factor=now))
        with pytest.raises(GraphEditError, match="is needed and not fed"):
            editor.compare(feeds, build(has_factor=before), "all")
    found = compared(build(has_factor=True), build(has_factor=True))
    assert found.matched == {"x:0": "x:0", "Exp:0": "Exp:0"}
    assert not found


def test_weights_alone_are_compared_where_a_graph_cannot_run() -> None:
    def build(factor: float) -> bytes:
        graph_def = graph_of(lambda x: tf.exp(x) * factor).as_graph_def()
        for node in graph_def.node:
            if node.name in ("x", "Exp"):
                node.op = "NoSuchOp"
        return graph_def

    editor = tgw.edit(build(2.0))
    found = editor.compare({}, build(3.0), "all")
    assert [each.name for each in found if each.differs] == ["mul/y:0"]
    assert found.first_divergence is not None
    assert any("TensorFlow does not know" in reason for reason in found.not_compared)


def test_a_feed_has_the_name_of_either_graph() -> None:
    def named(name: str, factor: float = 1.0) -> tf.Graph:
        with tf.Graph().as_default() as graph:
            x = v1.placeholder(tf.float32, [3, 4], name=name)
            tf.identity(tf.exp(x) * factor, name="y")
        return graph

    editor = tgw.edit(named("x"))
    assert not editor.compare({"x": X}, named("input"), "all")
    assert not editor.compare({"input": X}, named("input"), "all")
    assert editor.compare({"input:0": X}, named("input", 2.0), "all")
    assert not editor.compare({"x": X}, named("input"))


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (X, r"'x:0' of .* has shape \(3, 5\), and the value has \(3, 4\); give one that both"),
        ([[1, 2], [3]], "'x:0' is no array, as its rows have different lengths"),
    ],
)
def test_a_value_that_one_graph_does_not_take_is_refused_in_a_sentence(
    value: Any, sentence: str
) -> None:
    wider = graph_of(lambda x: x[:, :4], shape=(3, 5))
    with pytest.raises(GraphEditError, match=sentence):
        tgw.edit(graph_of(tf.nn.relu)).compare({"x:0": value}, wider, "all")


def test_a_feed_that_one_graph_does_not_take_is_refused_in_a_sentence() -> None:
    def two_inputs() -> tf.Graph:
        with tf.Graph().as_default() as graph:
            a = v1.placeholder(tf.float32, [3, 4], name="a")
            b = v1.placeholder(tf.float32, [3, 4], name="b")
            tf.identity(tf.cos(a) - tf.sin(b), name="y")
        return graph

    editor = tgw.edit(graph_of(tf.exp))
    with pytest.raises(
        GraphEditError, match=r"Feed 'x:0' has no partner .*'a:0' and 'b:0'.*pairs="
    ):
        editor.compare({"x": X}, two_inputs(), "all")


def test_pairs_by_hand_come_before_names() -> None:
    graph = graph_of(lambda x: tf.subtract(tf.exp(x, name="a"), tf.sin(x, name="b")))
    editor = tgw.edit(graph)
    first = editor.compare({"x": X}, graph, "all", pairs={"a": "b"}).first_divergence
    assert first is not None
    assert (first.tensor, first.difference.other) == ("a:0", "b:0")
    with pytest.raises(GraphEditError, match="no op 'c'"):
        editor.compare({"x": X}, graph, "all", pairs={"a": "c"})


def test_tensors_in_the_place_of_the_other_model_are_refused() -> None:
    editor = tgw.edit(graph_of(tf.exp))
    for tensors in ("y:0", ["y"], ("x:0", "y:0")):
        with pytest.raises(GraphEditError, match="tensors="):
            editor.compare({"x": X}, tensors)


# Memory, and the result


def test_tensors_that_do_not_fit_are_computed_in_further_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def build(x: tf.Tensor) -> tf.Tensor:
        for _ in range(8):
            x = tf.tanh(x + 1.0)
        return x

    graph = graph_of(build)
    whole = compared(graph, graph_of(lambda x: build(x) * 2.0))
    monkeypatch.setattr(comparing, "MEMORY_LIMIT", 3 * 2 * X.nbytes)
    portions = compared(graph, graph_of(lambda x: build(x) * 2.0))
    assert portions.tensors == whole.tensors
    assert not compared(graph, graph)


def test_the_table_has_the_worst_first_and_prints_in_forty_lines() -> None:
    def build(factor: float) -> tf.Graph:
        def inner(x: tf.Tensor) -> tf.Tensor:
            for _ in range(60):
                x = tf.tanh(x * factor)
            return x

        return graph_of(inner)

    found = compared(build(1.1), build(1.2))
    table = found.table
    assert len(table) == len(found)
    assert table["by_scale"].iloc[0] / table["tolerance"].iloc[0] == max(
        each.excess for each in found
    )
    lines = repr(found).splitlines()
    assert lines[0].startswith("first divergence: mul/y:0 (Const)")
    assert len(lines) <= 40
    assert found.first_divergence is not None
    assert found.first_divergence.inputs == ()


def test_weights_are_compared_without_a_run() -> None:
    before, now = tgw.example(), tgw.example()
    with now.graph.as_default():
        now.session.run("net/hidden/b/Assign", {"net/hidden/b/Initializer/Const:0": [0.5] * 8})
    found = now.compare(other=before, tensors="weights")
    b = found["net/hidden/b"]
    assert b.differs
    assert [each.name for each in found if each.differs] == ["net/hidden/b:0"]
    was = before.session.run("net/hidden/b/Read/ReadVariableOp:0")
    np.testing.assert_allclose(b.norms, [np.linalg.norm(was), np.sqrt(8) / 2], rtol=1e-6)
    assert b.cosine == pytest.approx(was.sum() * 0.5 / np.prod(b.norms), rel=1e-6)
    assert found.what == "weight"


def test_checkpoints_are_compared_by_the_names_of_their_variables(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph:
        w = v1.get_variable("w", initializer=tf.ones([SIZE, SIZE]))
        v1.get_variable("b", initializer=tf.zeros([SIZE]))
        saver = v1.train.Saver()
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            saver.save(session, str(tmp_path / "one"))
            session.run(v1.assign(w, 3 * np.ones([SIZE, SIZE])))
            saver.save(session, str(tmp_path / "two"))
    del graph
    editor = tgw.edit(tmp_path / "one.meta", checkpoint=tmp_path / "one")
    found = editor.compare(other=tmp_path / "two", tensors="weights")
    assert {each.name: each.largest for each in found} == {"w": 2.0, "b": 0.0}
    assert found["w"].norms == (3.0 * SIZE, 1.0 * SIZE)


@pytest.mark.parametrize("resource", [True, False])
def test_checkpoints_of_all_kinds_of_variables_are_compared_without_a_graph(
    tmp_path: Path, *, resource: bool
) -> None:
    """Partitioned ones are one tensor; of text and booleans the elements that differ count."""
    values = {
        "part": np.arange(12, dtype=np.float32).reshape(6, 2),
        "half": np.asarray([1, 2, 4], np.float16),
        "brain": np.asarray([1, 2, 4], tf.bfloat16.as_numpy_dtype),
        "count": np.asarray([1, 2**40], np.int64),
        "flag": np.asarray([True, False]),
        "text": np.asarray([b"a", b"b"], object),
        "scalar": np.float32(3),
        "none": np.zeros([0, 4], np.float32),
        "holes": np.asarray([1, np.nan, np.inf], np.float32),
    }

    def write(name: str, values: dict[str, np.ndarray]) -> str:
        with tf.Graph().as_default(), v1.Session() as session:
            for key, value in values.items():
                parts = v1.fixed_size_partitioner(2) if key == "part" else None
                v1.get_variable(
                    key,
                    np.shape(value),
                    tf.as_dtype("string" if np.asarray(value).dtype == object else value.dtype),
                    v1.constant_initializer(value)
                    if key != "part"
                    else lambda shape, dtype, partition_info, value=value: tf.slice(
                        tf.constant(value, dtype), partition_info.var_offset, shape
                    ),
                    partitioner=parts,
                    use_resource=resource and key != "text",
                )
            session.run(v1.global_variables_initializer())
            return str(v1.train.Saver().save(session, str(tmp_path / name)))

    others = {
        **values,
        "part": values["part"] + 1,
        "half": values["half"] + np.float16(0.5),
        "count": values["count"] + 1,
        "flag": ~values["flag"],
        "text": np.asarray([b"a", b"c"], object),
        "more": np.zeros(2, np.float32),
    }
    one, two = write("one", values), write("two", others)
    drift = tgw.drift(two, one)
    assert drift == {
        "brain": 0,
        "count": 1,
        "flag": 1,
        "half": 0.5,
        "holes": 0,
        "none": 0,
        "part": 1,
        "scalar": 0,
        "text": 1,
    }
    compared = drift.comparison
    p, q = values["part"].ravel(), others["part"].ravel()
    norms = np.linalg.norm(p), np.linalg.norm(q)
    np.testing.assert_allclose(compared["part"].norms, norms, rtol=1e-6)
    assert compared["part"].cosine == pytest.approx(p @ q / np.prod(norms), rel=1e-6)
    assert (compared["text"].differing, compared["flag"].differing) == (1, 2)
    assert [*compared.not_compared.values()] == [("more",)]
    changes = {str(change) for change in synchronization.checkpoint_changes(one, two)}
    assert {"text: differs by up to 1", "more: only after"} <= changes
    assert "more: only before" in map(str, synchronization.checkpoint_changes(two, one))


def test_a_limit_leaves_the_rounding_of_what_it_limits() -> None:
    """The numbers are a thousand times smaller after it, and what was rounded before is not."""
    random = np.random.default_rng(0)
    rows = (random.normal(size=(512, 256)) * 100).astype(np.float32)
    weights = random.normal(size=(256, 64)).astype(np.float32)
    editors = []
    for is_in_parts in (False, True):
        with tf.Graph().as_default() as graph:
            x = v1.placeholder(tf.float32, [None, 256], name="x")
            total = tf.matmul(x, weights)
            if is_in_parts:
                total = tf.matmul(x[:, :128], weights[:128]) + tf.matmul(x[:, 128:], weights[128:])
            tf.nn.relu6(tf.identity(total, name="total"), name="out")
        editors.append(tgw.edit(graph))
    now, before = editors
    compared = now.compare({"x:0": rows}, before, "all")
    differing = {each.name for each in compared if not each.same}
    assert {"total:0", "out:0"} <= differing
    assert not compared
