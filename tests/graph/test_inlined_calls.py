"""A graph beside one of which calls are the bodies of their functions: a difference says so, and
lists what else differs.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

import tfgraphwidget as tgw
from tests.conftest import v1

GraphDef = Any


class Model(tf.Module):
    """A dense layer with a scale, called by a function within a function; a loop; a branch."""

    def __init__(self) -> None:
        super().__init__()
        self.kernel = tf.Variable(np.arange(12, dtype=np.float32).reshape(4, 3) / 7, name="kernel")
        self.square = tf.Variable(np.eye(3, dtype=np.float32) / 2, name="square")

    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, name="x")])
    def __call__(self, x: Any) -> Any:
        return {"y": self.loop(self.dense(x))}

    @tf.function
    def dense(self, x: Any) -> Any:
        return self.scaled(tf.matmul(x, self.kernel, name="product"))

    @tf.function
    def scaled(self, x: Any) -> Any:
        return tf.nn.leaky_relu(x, alpha=0.25, name="leaky")

    @tf.function
    def loop(self, x: Any) -> Any:
        for _ in tf.range(3):
            x = tf.tanh(tf.matmul(x, self.square, name="step"), name="bounded")
        if tf.reduce_sum(x) > 0.0:
            return tf.exp(x, name="positive")
        return tf.sin(x, name="negative")


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SavedModel with two signatures, and two graphs that TensorFlow froze of it."""
    folder = tmp_path_factory.mktemp("models")
    model = Model()
    call = model.__call__.get_concrete_function()
    signatures = {"another": call, "serving_default": call}
    tf.saved_model.save(model, folder / "saved", signatures=signatures)
    for name, lower in (("lowered", True), ("with loops", False)):
        frozen = convert_variables_to_constants_v2(call, lower_control_flow=lower)
        (folder / f"{name}.pb").write_bytes(frozen.graph.as_graph_def().SerializeToString())
    return folder


def frozen_file(saved: Path, name: str) -> GraphDef:
    return v1.GraphDef.FromString((saved / f"{name}.pb").read_bytes())


@pytest.mark.parametrize("name", ["lowered", "with loops"])
def test_a_saved_model_beside_its_frozen_graph_is_inlined_and_frozen(
    saved: Path, name: str
) -> None:
    difference = tgw.edit(saved / f"{name}.pb").diff(saved / "saved")
    inlined, frozen, *rest = repr(difference).splitlines()[1:]
    assert inlined.startswith("inlined: ")
    assert " calls of functions became their bodies" in inlined
    assert ("became those of TensorFlow 1" in inlined) == (name == "lowered")
    assert frozen.startswith("frozen: 2 variables became constants; ")
    assert rest == []
    assert not difference.rest
    assert difference


def test_the_other_way_round_calls_were_made_of_parts(saved: Path) -> None:
    editor = tgw.edit(saved / "saved")
    editor.view.leave(0)
    difference = editor.diff(saved / "with loops.pb")
    lines = repr(difference).splitlines()[1:]
    assert lines[0].startswith("called: parts of the graph became ")
    assert lines[1].startswith("not frozen: 2 constants became variables")
    assert lines[2:] == []


def node_of(graph_def: GraphDef, part: str, op_type: str) -> Any:
    """The op of a type with a part in its name, of the graph or of a function."""
    functions = [node for function in graph_def.library.function for node in function.node_def]
    return next(
        node for node in [*graph_def.node, *functions] if part in node.name and node.op == op_type
    )


def set_slope(graph_def: GraphDef) -> None:
    node_of(graph_def, "leaky", "LeakyRelu").attr["alpha"].f = 0.125


def transpose(graph_def: GraphDef) -> None:
    node_of(graph_def, "step", "MatMul").attr["transpose_b"].b = True


def swap(graph_def: GraphDef) -> None:
    node = node_of(graph_def, "step", "MatMul")
    node.input[0], node.input[1] = node.input[1], node.input[0]


def replace(graph_def: GraphDef) -> None:
    node_of(graph_def, "positive", "Exp").op = "Log"


def omit(graph_def: GraphDef) -> None:
    """Read past the activation of the loop."""
    bounded = node_of(graph_def, "bounded", "Tanh")
    functions = [node for function in graph_def.library.function for node in function.node_def]
    for node in [*graph_def.node, *functions]:
        for slot, text in enumerate(node.input):
            if text.split(":")[0] == bounded.name:
                node.input[slot] = bounded.input[0]
    for function in graph_def.library.function:
        for key, text in function.ret.items():
            if text.split(":")[0] == bounded.name:
                function.ret[key] = bounded.input[0]


PLANTED: dict[str, Callable[[GraphDef], None]] = {
    "alpha": set_slope,
    "transpose_b": transpose,
    "step": swap,
    "positive": replace,
    "input 0": omit,
}


@pytest.mark.parametrize("name", ["lowered", "with loops"])
@pytest.mark.parametrize("text", PLANTED)
def test_what_differs_inside_of_an_inlined_function_is_listed(
    saved: Path, text: str, name: str
) -> None:
    graph_def = frozen_file(saved, name)
    PLANTED[text](graph_def)
    rest = tgw.edit(graph_def).diff(saved / "saved").rest
    assert rest
    assert text in repr(rest)


FEEDS = {"x:0": np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)}


@pytest.mark.parametrize("name", ["lowered", "with loops"])
def test_all_tensors_of_inlined_functions_are_compared(saved: Path, name: str) -> None:
    editor = tgw.edit(saved / f"{name}.pb")
    comparison = editor.compare(FEEDS, saved / "saved", tensors="all")
    assert not comparison, comparison
    tensors = [tensor for tensor in comparison.matched if "product" in tensor or "leaky" in tensor]
    assert len(tensors) >= 3


@pytest.mark.parametrize("name", ["lowered", "with loops"])
def test_a_first_divergence_inside_of_an_inlined_function_is_named(saved: Path, name: str) -> None:
    graph_def = frozen_file(saved, name)
    set_slope(graph_def)
    divergence = tgw.edit(graph_def).compare(FEEDS, saved / "saved", tensors="all").first_divergence
    assert divergence is not None
    assert divergence.op.endswith("leaky")


def refactored(*, with_function: bool, alpha: float = 0.5) -> Any:
    """A graph of which a part may be a function."""

    def part(x: Any) -> Any:
        return tf.nn.leaky_relu(x * 2.0, alpha=alpha, name="leaky")

    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [4], name="x")
        y = (tf.function(part) if with_function else part)(x)
        tf.negative(y, name="y")
    return graph


def test_a_part_that_became_a_function_is_one_change() -> None:
    difference = tgw.edit(refactored(with_function=True)).diff(refactored(with_function=False))
    (line,) = repr(difference).splitlines()[1:]
    assert line == "called: parts of the graph became 1 call of a function"
    assert not difference.rest
    back = tgw.edit(refactored(with_function=False)).diff(refactored(with_function=True))
    assert repr(back).splitlines()[1:] == ["inlined: 1 call of a function became its body"]


def test_a_part_that_became_a_function_that_does_something_else_is_listed() -> None:
    other = refactored(with_function=True, alpha=0.25)
    difference = tgw.edit(other).diff(refactored(with_function=False))
    assert "attr alpha 0.5 → 0.25" in repr(difference.rest)


def test_an_op_before_what_a_function_returns_is_listed() -> None:
    def part(x: Any) -> Any:
        return tf.abs(tf.nn.leaky_relu(x * 2.0, alpha=0.5, name="leaky"), name="positive")

    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [4], name="x")
        tf.negative(tf.function(part)(x), name="y")
    rest = tgw.edit(graph).diff(refactored(with_function=False)).rest
    assert rest.added[0].endswith("positive")
    assert rest.changed[0].name == "y"


def test_a_function_that_calls_itself_stays_a_call() -> None:
    graph_def = refactored(with_function=True).as_graph_def()
    (function,) = graph_def.library.function
    call = next(node for node in graph_def.node if "Call" in node.op)
    inner = function.node_def.add()
    inner.CopyFrom(call)
    inner.name = "again"
    inner.input[:] = [function.signature.input_arg[0].name]
    rest = tgw.edit(graph_def).diff(refactored(with_function=False)).rest
    assert call.name in rest.added
    assert "leaky" in rest.removed


def test_comparing_changes_no_node_and_no_function(saved: Path) -> None:
    editors = [tgw.edit(saved / "saved"), tgw.edit(saved / "lowered.pb")]
    before = [[n.SerializeToString() for n in e._core.index.nodes] for e in editors]
    editors[0].diff(editors[1])
    editors[1].diff(editors[0])
    assert [[n.SerializeToString() for n in e._core.index.nodes] for e in editors] == before


def test_the_frozen_file_of_a_keras_export_differs_by_freezing_alone(tmp_path: Path) -> None:
    import keras  # no other test here needs it

    entry = keras.Input((4,))
    inner = keras.layers.BatchNormalization()(keras.layers.Dense(3, activation="relu")(entry))
    keras.Model(entry, keras.layers.Dense(2)(inner)).export(tmp_path / "saved", verbose=False)
    tgw.edit(tmp_path / "saved").save(tmp_path / "frozen.pb", frozen=True, verify=False)
    found = tgw.edit(tmp_path / "frozen.pb").diff(tmp_path / "saved")
    assert {each.change for each in found.explained} == {"inlined", "frozen"}
    assert found.rest.added == ()
    assert found.rest.removed == ()
    assert found.rest.changed == ()
