"""A frozen graph without calls: functions are inlined, and loops and conditionals lowered, with the
same numbers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.slow import slow
from tfgraphwidget import GraphEditError
from tfgraphwidget.cli import main

v1 = tf.compat.v1
FEEDS = [
    np.array([[1, 2], [3, 4]], np.float32),
    -np.ones((1, 2), np.float32),
    np.array([[3, 5]], np.float32),
]
CALLS = {"PartitionedCall", "StatefulPartitionedCall"}
V2_CONTROL_FLOW = {"While", "StatelessWhile", "If", "StatelessIf", "Case", "StatelessCase"}


class Model(tf.Module):
    """Functions that call others, in every place where a call can be."""

    def __init__(self) -> None:
        super().__init__()
        self.v, self.w = tf.Variable([1.0, 2.0]), tf.Variable(3.0)
        content = tf.lookup.KeyValueTensorInitializer(tf.constant([0, 1]), [5.0, 6.0])
        self.table = tf.lookup.StaticHashTable(content, -1.0)

    @tf.function
    def inner(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        """Two results."""
        return {"a": tf.nn.relu(x * self.v), "b": x + self.w}

    @tf.function
    def constant(self, x: tf.Tensor) -> tf.Tensor:
        """A result that reads no input, after an assertion."""
        tf.debugging.assert_less(x, 100.0)
        return tf.constant(3.0)

    def nested(self, x: tf.Tensor) -> tf.Tensor:
        """Calls of one function with different inputs, one after the other."""
        first = self.inner(x)
        return first["a"] + self.inner(first["b"])["b"] + self.constant(x)

    def loop(self, x: tf.Tensor) -> tf.Tensor:
        """A call in a loop's body, and a value that the loop only reads."""
        scale = self.inner(x)["a"]
        return tf.while_loop(
            lambda i, _: i < 3, lambda i, y: (i + 1, self.inner(y)["b"] * scale + 1.0), (0, x)
        )[1]

    def conditional(self, x: tf.Tensor) -> tf.Tensor:
        """A call in one branch, a constant in the other."""
        return (
            tf.cond(
                tf.reduce_sum(x) > 5, lambda: self.inner(x)["a"], lambda: tf.constant([[7.0, 8.0]])
            )
            + x
        )

    def loops_in_conditionals_in_loops(self, x: tf.Tensor) -> tf.Tensor:
        """Control flow in control flow."""

        def doubled(i: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
            return tf.while_loop(lambda j, _: j < i, lambda j, z: (j + 1, z * 2.0), (0, y))[1]

        def body(i: tf.Tensor, y: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            return i + 1, tf.cond(i % 2 == 0, lambda: self.inner(y)["b"], lambda: doubled(i, y))

        return tf.while_loop(lambda i, _: i < 5, body, (0, x))[1]

    def case(self, x: tf.Tensor) -> tf.Tensor:
        """A Case; what no branch has the number of takes the last one."""
        which = tf.cast(tf.reduce_sum(x), tf.int32) % 5
        return tf.switch_case(
            which,
            [
                lambda: x,
                lambda: self.inner(x)["a"],
                lambda: tf.ones_like(x) * tf.constant(9.0),
                lambda: x - 1,
            ],
        )

    def lookups(self, x: tf.Tensor) -> tf.Tensor:
        """A table in a loop's body and in a branch."""
        y = tf.while_loop(
            lambda i, _: i < 3, lambda i, y: (i + 1, y + self.table.lookup(i)), (0, x)
        )[1]
        one, other = tf.constant(1), tf.constant(4)
        return y + tf.cond(
            tf.reduce_sum(x) > 5, lambda: self.table.lookup(one), lambda: self.table.lookup(other)
        )

    def array(self, x: tf.Tensor) -> tf.Tensor:
        """A TensorArray that a loop writes."""

        def body(i: tf.Tensor, array: tf.TensorArray) -> tuple[tf.Tensor, tf.TensorArray]:
            return i + 1, array.write(i, self.inner(x)["a"] * tf.cast(i, tf.float32))

        return tf.while_loop(lambda i, _: i < 3, body, (0, tf.TensorArray(tf.float32, 3)))[
            1
        ].stack()


KINDS = [
    name for name in vars(Model) if name not in ("inner", "constant") and not name.startswith("_")
]


@pytest.fixture(scope="module")
def model() -> Model:
    """The functions, with their variables."""
    return Model()


def function_of(model: Model, kind: str) -> Any:
    """The tf.function of a method."""
    method = getattr(model, kind)
    return tf.function(lambda x: method(x), input_signature=[tf.TensorSpec([None, 2], name="x")])  # noqa: PLW0108


def op_types(path: Path) -> set[str]:
    """The op types in a file, its functions included."""
    written = v1.GraphDef.FromString(path.read_bytes())
    inside = (node for function in written.library.function for node in function.node_def)
    return {node.op for node in [*written.node, *inside]}


def results(path: Path, feeds: list[np.ndarray]) -> list[np.ndarray]:
    """What plain TensorFlow computes with a frozen file."""
    graph_def = v1.GraphDef.FromString(path.read_bytes())
    nodes = {node.op: node.name for node in graph_def.node}
    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        tf.import_graph_def(graph_def, name="")
        if "LookupTableImportV2" in nodes:
            session.run(nodes["LookupTableImportV2"])
        return [
            session.run("StatefulPartitionedCall:0", {f"{nodes['Placeholder']}:0": x})
            for x in feeds
        ]


@pytest.mark.filterwarnings("ignore:The frozen graph keeps hash table")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.sample(2)
def test_a_function_is_written_as_one_graph(model: Model, kind: str, tmp_path: Path) -> None:
    function = function_of(model, kind)
    wanted = [function(tf.constant(x)) for x in FEEDS]
    tgw.edit(function).save(tmp_path / "inlined.pb", frozen=True)
    assert op_types(tmp_path / "inlined.pb").isdisjoint(CALLS)
    tgw.edit(function).save(tmp_path / "lowered.pb", frozen=True, lower_control_flow=True)
    assert op_types(tmp_path / "lowered.pb").isdisjoint(CALLS | V2_CONTROL_FLOW)
    assert not v1.GraphDef.FromString((tmp_path / "lowered.pb").read_bytes()).library.function
    for name in ("inlined.pb", "lowered.pb"):
        for one, other in zip(results(tmp_path / name, FEEDS), wanted, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_a_function_is_frozen_without_calls(model: Model, kind: str) -> None:
    function = function_of(model, kind)
    editor = tgw.edit(function)
    types_before = set(editor._core.index.types)
    report = editor.freeze(inline=True)
    assert CALLS.isdisjoint(editor._core.index.types)
    if types_before & V2_CONTROL_FLOW:
        assert set(editor._core.index.types) & V2_CONTROL_FLOW
        with pytest.raises(
            GraphEditError, match=r"control flow of TensorFlow 1 in a function.*save\(path"
        ):
            tgw.edit(function).freeze(lower_control_flow=True)
    edited = editor.to_function()
    for x in FEEDS:
        np.testing.assert_allclose(edited(tf.constant(x)), function(tf.constant(x)), atol=1e-6)
    assert len(editor.history) == bool(report)
    if report:
        editor.undo()
    assert set(editor._core.index.types) == types_before


def test_an_export_is_frozen_to_one_graph_and_runs(model: Model, tmp_path: Path) -> None:
    module, function = tf.Module(), function_of(model, "loops_in_conditionals_in_loops")
    module.function, module.model = function, model
    tf.saved_model.save(module, str(tmp_path / "export"), signatures=function)
    editor = tgw.edit(tmp_path / "export")
    editor.view.leave(0)
    (signature,) = [
        each for each in tuple(editor.signatures.values()) if each.name == "serving_default"
    ]
    editor.freeze(list(dict(signature.outputs).values()), lower_control_flow=True)
    assert (CALLS | V2_CONTROL_FLOW).isdisjoint(editor._core.index.types)
    editor.save(tmp_path / "f.pb")
    assert not v1.GraphDef.FromString((tmp_path / "f.pb").read_bytes()).library.function
    for one, x in zip(results(tmp_path / "f.pb", FEEDS), FEEDS, strict=True):
        np.testing.assert_allclose(one, function(tf.constant(x)), atol=1e-6)


def test_a_call_in_a_loop_of_tensorflow_1_is_inlined_in_its_frame() -> None:
    @tf.function
    def three(x: tf.Tensor) -> tf.Tensor:
        return x + tf.constant(3.0)

    with tf.Graph().as_default() as graph:
        v1.disable_control_flow_v2()
        x = v1.placeholder(tf.float32, [], name="x")
        y = v1.while_loop(lambda i, _: i < 4, lambda i, y: (i + 1, three(y)), (0, x))[1]
        tf.identity(y, name="y")
        v1.enable_control_flow_v2()
    editor = tgw.edit(graph.as_graph_def())
    assert CALLS & set(editor._core.index.types)
    editor.freeze("y", inline=True)
    assert CALLS.isdisjoint(editor._core.index.types)
    with v1.Session(graph=editor.graph) as session:
        assert session.run("y:0", {"x:0": 1.0}) == 13.0


def test_functions_are_inlined_in_frozen_files_only(model: Model, tmp_path: Path) -> None:
    with pytest.raises(GraphEditError, match=r"inlined in a frozen graph; give frozen=True"):
        tgw.edit(function_of(model, "nested")).save(tmp_path / "f.pb", inline=True)
    assert not list(tmp_path.iterdir())


def test_the_command_line_writes_one_graph(model: Model, tmp_path: Path) -> None:
    module, function = tf.Module(), function_of(model, "conditional")
    module.function, module.model = function, model
    tf.saved_model.save(module, str(tmp_path / "export"), signatures=function)
    paths = [str(tmp_path / "export"), str(tmp_path / "f.pb")]
    assert main(["export", *paths, "--frozen", "--lower-control-flow"]) == 0
    assert op_types(tmp_path / "f.pb").isdisjoint(CALLS | V2_CONTROL_FLOW)
    for one, x in zip(results(tmp_path / "f.pb", FEEDS), FEEDS, strict=True):
        np.testing.assert_allclose(one, function(tf.constant(x)), atol=1e-6)


@slow
@pytest.mark.parametrize("layer", ["LSTM", "GRU", "SimpleRNN"])
def test_a_recurrent_layer_is_written_as_one_graph(layer: str, tmp_path: Path) -> None:
    keras.utils.set_random_seed(0)
    cell = getattr(keras.layers, layer)(4)
    net = keras.Sequential(
        [keras.Input((5, 3)), keras.layers.Bidirectional(cell), keras.layers.Dense(2)]
    )
    function = tf.function(
        lambda x: net(x),  # noqa: PLW0108
        input_signature=[tf.TensorSpec([None, 5, 3], name="x")],
    )
    tgw.edit(function).save(tmp_path / "f.pb", frozen=True, lower_control_flow=True)
    assert op_types(tmp_path / "f.pb").isdisjoint(CALLS | V2_CONTROL_FLOW)
    x = np.random.default_rng(0).normal(size=(2, 5, 3)).astype(np.float32)
    np.testing.assert_allclose(
        results(tmp_path / "f.pb", [x])[0], function(tf.constant(x)), atol=1e-5
    )


def test_a_keras_export_is_frozen_to_one_flat_graph_of_its_default_signature(
    tmp_path: Path,
) -> None:
    model = keras.Sequential([keras.Input((2,), name="rows"), keras.layers.Dense(3, "relu")])
    model.export(str(tmp_path / "export"), verbose=False)
    paths = str(tmp_path / "export"), str(tmp_path / "flat.pb")
    assert main(["export", *paths, "--frozen"]) == 0
    written = v1.GraphDef.FromString((tmp_path / "flat.pb").read_bytes())
    assert op_types(tmp_path / "flat.pb").isdisjoint(CALLS)
    assert not written.library.function
    placeholders = [node.name for node in written.node if node.op == "Placeholder"]
    assert placeholders == ["serving_default_rows"]  # not that of "serve", the same again
    (output,) = [end.partition(":")[0] for end in tgw.edit(tmp_path / "flat.pb").outputs]
    wanted = [model(x).numpy() for x in FEEDS]
    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        tf.import_graph_def(written, name="")
        got = [session.run(f"{output}:0", {"serving_default_rows:0": x}) for x in FEEDS]
    for one, other in zip(got, wanted, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


def test_calls_stay_where_they_are_asked_to(model: Model, tmp_path: Path) -> None:
    module, function = tf.Module(), function_of(model, "nested")
    module.function, module.model = function, model
    tf.saved_model.save(module, str(tmp_path / "export"), signatures=function)
    paths = str(tmp_path / "export"), str(tmp_path / "calls.pb")
    assert main(["export", *paths, "--frozen", "--no-inline"]) == 0
    assert op_types(tmp_path / "calls.pb") & CALLS
