"""Frozen graphs: constants for variables, loops and functions kept, updates cut or refused by
name.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import initialised, v1
from tests.sources.conftest import Affine, affine, tf2_saved_model
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.errors import GraphEditError

__all__ = ["affine", "tf2_saved_model"]  # fixtures
ONES = np.ones([2, 3], np.float32)


def thawed(path: Path) -> v1.GraphDef:
    """The GraphDef of a file."""
    found = v1.GraphDef()
    found.ParseFromString(path.read_bytes())
    return found


def run(path: Path, outputs: Any, feeds: dict[str, Any], first: str = "") -> Any:
    """What a frozen file gives, imported as people do it."""
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(thawed(path), name="")
        with v1.Session(graph=graph) as session:
            if first:
                session.run(first)
            return session.run(outputs, feeds)


def types(path: Path) -> set[str]:
    """All op types of a file, those in functions too."""
    graph_def = thawed(path)
    inside = (node.op for function in graph_def.library.function for node in function.node_def)
    return {*(node.op for node in graph_def.node), *inside}


@contextmanager
def variable_graph(*, resource: bool) -> Iterator[tf.Graph]:
    """A graph to build in, with a placeholder x and a variable w = 2, v1 control flow."""
    graph = tf.Graph()
    with graph.as_default():
        v1.disable_control_flow_v2()
        v1.placeholder(tf.float32, [], name="x")
        v1.get_variable("w", initializer=2.0, use_resource=resource)
        yield graph
        v1.enable_control_flow_v2()


@pytest.mark.parametrize("suffix", [".pb", ".pbtxt"])
def test_the_outputs_are_the_same_without_variables(
    editor: GraphEditor, session: v1.Session, batch: np.ndarray, tmp_path: Path, suffix: str
) -> None:
    path = editor.save(tmp_path / f"f{suffix}", outputs="net/logits", frozen=True)
    frozen = tgw.edit(path)
    assert not frozen._core.index.variable_defs
    assert set(frozen._core.index.types) == {
        "Placeholder",
        "Const",
        "Identity",
        "MatMul",
        "AddV2",
        "Relu",
    }
    assert "net/one/w/Assign" not in frozen._core.index.ids
    got = frozen.graph, v1.Session(graph=frozen.graph)
    assert np.array_equal(
        got[1].run("net/logits:0", {"x:0": batch}), session.run("net/logits:0", {"x:0": batch})
    )
    got[1].close()


_OF_EACH_DTYPE = {
    **{name: [1.5, -2.0, 0.0] for name in ("float16", "float32", "float64", "bfloat16")},
    **{name: [1, 2, 0] for name in ("int8", "uint8", "int16", "int32", "int64", "uint32")},
    "complex64": [1 + 2j, 3, 0],
    "bool": [True, False, True],
    "string": ["a", "", "b"],
}


@pytest.mark.parametrize("dtype", _OF_EACH_DTYPE)
def test_a_variable_of_each_dtype_becomes_a_constant(tmp_path: Path, dtype: str) -> None:
    of_dtype = tf.as_dtype(dtype)
    with tf.Graph().as_default() as graph:
        value = tf.constant(_OF_EACH_DTYPE[dtype], of_dtype)
        variable = v1.get_variable("w", initializer=lambda: value, use_resource=True)
        tf.identity(variable, name="y")
    with initialised(graph) as session:
        expected = session.run("y:0")
        editor = tgw.edit(graph, session=session)
        editor.save(tmp_path / "f.pb", outputs="y:0", frozen=True)
        assert run(tmp_path / "f.pb", "y:0", {}).tolist() == expected.tolist()
        editor.freeze("y:0")
        assert editor.session.run("y:0").tolist() == expected.tolist()
        constant = editor.ops(type="Const").ops[0]
        editor.set_constant(constant, expected[::-1])
        assert editor.session.run("y:0").tolist() == expected[::-1].tolist()


def test_it_is_cut_at_the_inputs(editor: GraphEditor, session: v1.Session, tmp_path: Path) -> None:
    hidden, wanted = session.run(["net/one/out:0", "net/logits:0"], {"x:0": ONES})
    editor.save(tmp_path / "f.pb", inputs={"h": "net/one/out"}, outputs="net/logits", frozen=True)
    assert np.array_equal(run(tmp_path / "f.pb", "net/logits:0", {"inputs/h:0": hidden}), wanted)
    assert "net/one/w" not in tgw.edit(tmp_path / "f.pb")._core.index.ids


@pytest.mark.parametrize("resource", [False, True], ids=["ref", "resource"])
def test_v1_loops_and_conditionals_stay_as_they_are(tmp_path: Path, resource: bool) -> None:
    with variable_graph(resource=resource) as graph:
        x, w = graph.get_tensor_by_name("x:0"), v1.global_variables()[0]
        y = v1.while_loop(lambda i, _: i < 3, lambda i, v: (i + 1, v * w + w), [0, x])[1]
        tf.identity(v1.cond(y > 0, lambda: y * w, lambda: y - w), name="y")
    with initialised(graph) as session:
        tgw.edit(graph, session=session).save(tmp_path / "f.pb", outputs="y", frozen=True)
        wanted = session.run("y:0", {"x:0": 1.0})
    assert run(tmp_path / "f.pb", "y:0", {"x:0": 1.0}) == wanted == 44
    assert {"Enter", "Exit", "NextIteration", "Switch", "Merge"} <= types(tmp_path / "f.pb")
    assert not any("Variable" in kind for kind in types(tmp_path / "f.pb"))


def test_reference_switches_and_their_kin_become_plain_ones(tmp_path: Path) -> None:
    """What people met as "passed float from w incompatible with expected float_ref"."""
    with variable_graph(resource=False) as graph:
        w = v1.global_variables()[0]
        wide = v1.get_variable("wide", initializer=[1.0, 2.0], use_resource=False)
        entered = tf.raw_ops.RefEnter(data=w._ref(), frame_name="f", is_constant=True)
        left = tf.raw_ops.Exit(data=tf.raw_ops.Identity(input=entered))
        switched = tf.raw_ops.RefSwitch(
            data=tf.raw_ops.RefIdentity(input=wide._ref()), pred=left > 1.0
        )
        merged = tf.raw_ops.RefMerge(inputs=[switched.output_false, switched.output_true])
        tf.add(merged.output, left, name="y")
        tf.raw_ops.IsVariableInitialized(ref=w._ref(), name="is")
    with initialised(graph) as session:
        tgw.edit(graph, session=session).save(tmp_path / "f.pb", outputs=["y", "is"], frozen=True)
    y, is_initialised = run(tmp_path / "f.pb", ["y:0", "is:0"], {})
    assert (y.tolist(), bool(is_initialised)) == ([3, 4], True)
    assert not any(kind.startswith("Ref") for kind in types(tmp_path / "f.pb"))


@pytest.mark.parametrize("resource", [False, True], ids=["ref", "resource"])
def test_updates_of_batch_norm_are_cut_and_said(tmp_path: Path, resource: bool) -> None:
    with variable_graph(resource=resource) as graph:
        x = v1.placeholder(tf.float32, [None, 2], name="images")
        training = v1.placeholder_with_default(False, [], name="is_training")
        mean = v1.get_variable(
            "mean", initializer=[1.0, 2.0], use_resource=resource, trainable=False
        )

        def train() -> tf.Tensor:
            batch = tf.reduce_mean(x, 0)
            with tf.control_dependencies([v1.assign_sub(mean, (mean - batch) * 0.1)]):
                return tf.identity(batch)

        tf.subtract(x, v1.cond(training, train, lambda: tf.identity(mean)), name="y")
    with (
        initialised(graph) as session,
        pytest.warns(UserWarning, match=r"does not update variables: '.*' is left out"),
    ):
        tgw.edit(graph, session=session).save(tmp_path / "f.pb", outputs="y", frozen=True)
    given = np.array([[1, 1], [3, 3]], np.float32)
    assert run(tmp_path / "f.pb", "y:0", {"images:0": given}).tolist() == [[0, -1], [2, 1]]
    assert run(tmp_path / "f.pb", "y:0", {"images:0": given, "is_training:0": True}).tolist() == [
        [-1, -1],
        [1, 1],
    ]


@pytest.mark.parametrize("resource", [False, True], ids=["ref", "resource"])
def test_what_is_read_after_its_update_is_refused_by_name(tmp_path: Path, resource: bool) -> None:
    with variable_graph(resource=resource) as graph:
        w = v1.global_variables()[0]
        with tf.control_dependencies([v1.assign_add(w, 1.0)]):
            tf.add(w.read_value(), 1.0, name="y")
        tf.identity(v1.assign_add(w, 1.0), name="z")
    with initialised(graph) as session:
        editor = tgw.edit(graph, session=session)
        after = "reads variable 'w' after 'Assign.*' has updated it, which a constant cannot follow"
        with pytest.raises(GraphEditError, match=after):
            editor.save(tmp_path / "f.pb", outputs="y", frozen=True)
        needs = "updates variable 'w' and the outputs need its result" if not resource else after
        with pytest.raises(GraphEditError, match=needs):
            editor.save(tmp_path / "f.pb", outputs="z", frozen=True)
    assert not list(tmp_path.iterdir())


def test_what_is_read_after_the_only_assignment_is_what_was_assigned(tmp_path: Path) -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [2], name="x")
        w = v1.get_variable("w", initializer=[1.0, 2.0], use_resource=True)
        v = v1.get_variable("v", initializer=[5.0, 6.0], use_resource=True)
        with tf.control_dependencies([w.assign(x + v, read_value=False)]):
            tf.identity(w.read_value(), name="y")
        with tf.control_dependencies([v.assign(x, read_value=False)]):
            v.assign(x + 1, name="twice", read_value=False)
        with tf.control_dependencies([graph.get_operation_by_name("twice")]):
            tf.identity(v.read_value(), name="z")
    with initialised(graph) as session:
        editor = tgw.edit(graph, session=session)
        with pytest.warns(UserWarning, match="does not update variables: 'Assign.*' is left out"):
            editor.save(tmp_path / "f.pb", outputs="y", frozen=True)
        with pytest.raises(GraphEditError, match="reads variable 'v' after"):
            editor.save(tmp_path / "g.pb", outputs="z", frozen=True)
        editor.freeze("y")
        assert session.run("y:0", {"x:0": [1, 1]}).tolist() == [6, 7]
        editor.undo()
    assert run(tmp_path / "f.pb", "y:0", {"x:0": [1, 1]}).tolist() == [6, 7]
    written = v1.GraphDef.FromString((tmp_path / "f.pb").read_bytes())
    assert not {"w", "AssignVariableOp"} & {
        text for node in written.node for text in (node.name, node.op)
    }


def test_gathers_shapes_and_checks_of_resource_variables(tmp_path: Path) -> None:
    graph = tf.Graph()
    with graph.as_default():
        v1.disable_control_flow_v2()
        ids = v1.placeholder(tf.int32, [None], name="ids")
        table = v1.get_variable(
            "table", initializer=np.arange(12, dtype=np.float32).reshape(4, 3), use_resource=True
        )
        at = {"resource": table.handle, "dtype": tf.float32}
        tf.raw_ops.ResourceGather(indices=ids, name="rows", **at)
        tf.raw_ops.ResourceGatherNd(indices=[[0, 1], [3, 2]], name="elements", **at)
        tf.raw_ops.VariableShape(input=table.handle, out_type=tf.int64, name="shape")
        tf.raw_ops.VarIsInitializedOp(resource=table.handle, name="is")
        inside = lambda i, v: (i + 1, v + tf.raw_ops.ResourceGather(indices=i, **at))  # noqa: E731
        tf.identity(v1.while_loop(lambda i, _: i < 3, inside, [0, tf.zeros([3])])[1], name="sum")
        v1.enable_control_flow_v2()
    outputs = ["rows", "elements", "shape", "is", "sum"]
    with initialised(graph) as session:
        tgw.edit(graph, session=session).save(tmp_path / "f.pb", outputs=outputs, frozen=True)
    got = run(tmp_path / "f.pb", [f"{name}:0" for name in outputs], {"ids:0": [2]})
    assert [np.asarray(value).tolist() for value in got] == [
        [[6, 7, 8]],
        [1, 11],
        [4, 3],
        True,
        [9, 12, 15],
    ]


def test_functions_that_take_variables_take_values(
    tf2_saved_model: Path, tmp_path: Path, affine: Affine
) -> None:
    editor = tgw.edit(tf2_saved_model)
    editor.view.leave(0)
    with pytest.warns(
        UserWarning, match="keeps hash table 'hash_table', which is not a variable; run 'Stateful"
    ):
        editor.save(tmp_path / "f.pb", frozen=True, inline=False)
    kinds = types(tmp_path / "f.pb")
    assert {"If", "While", "StatefulPartitionedCall"} <= {
        kind.removeprefix("Stateless") for kind in kinds
    }
    assert kinds.isdisjoint({"VarHandleOp", "ReadVariableOp", "Enter", "Switch"})
    signature = next(s for s in tuple(editor.signatures.values()) if s.name == "other")
    (x,), ends = (t for _, t in signature.inputs), dict(signature.outputs)
    first = next(name.split("'")[1] for name in editor.source.notices[0].split("run ")[1:])
    got = run(tmp_path / "f.pb", ends, {x: ONES}, first)
    wanted = affine(tf.constant(ONES))
    assert np.allclose(got["y"], wanted["y"])
    assert got["found"].tolist() == [1]
    again = tgw.edit(tmp_path / "f.pb")
    assert not again.source.notices
    assert again.session.run(ends["found"], {x: ONES}).tolist() == [1]


class Nested(tf.Module):
    """Variables handed on through calls, loops and conditionals, and one function called with two
    variables.
    """

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = (
            tf.Variable([[1.0, 2.0], [3.0, 4.0]]),
            tf.Variable([[2.0, 0.0], [0.0, 2.0]]),
        )
        self.steps = tf.Variable(0, trainable=False)

    @tf.function
    def times(self, x: tf.Tensor, *, first: bool) -> tf.Tensor:
        """A call that captures one of two."""
        return x @ (self.a if first else self.b)

    @tf.function(
        input_signature=[tf.TensorSpec([None, 2], tf.float32), tf.TensorSpec([], tf.int32)]
    )
    def __call__(self, x: tf.Tensor, k: tf.Tensor) -> dict[str, tf.Tensor]:
        """All of it."""
        y = tf.switch_case(
            k, [lambda: self.times(x, first=True), lambda: self.times(x, first=False)]
        )
        i = tf.constant(0)
        while i < 3:
            if i > 1:
                y += tf.gather(self.a, i - 1)
            y = self.times(y, first=False)
            i += 1
        self.steps.assign_add(1)
        return {"y": y, "size": tf.shape(self.a)}


def test_nested_calls_loops_and_cases(tmp_path: Path) -> None:
    module = Nested()
    tf.saved_model.save(module, str(tmp_path / "sm"))
    editor = tgw.edit(tmp_path / "sm")
    editor.view.leave(0)
    editor.save(tmp_path / "f.pb", frozen=True)
    assert types(tmp_path / "f.pb").isdisjoint(
        {"VarHandleOp", "ReadVariableOp", "ResourceGather", "AssignAddVariableOp"}
    )
    signature = tuple(editor.signatures.values())[-1]
    inputs, outputs = dict(signature.inputs), dict(signature.outputs)
    for k in (0, 1):
        x = np.array([[1, 1], [2, 3]], np.float32)
        got = run(tmp_path / "f.pb", outputs, {inputs["x"]: x, inputs["k"]: k})
        assert np.array_equal(got["y"], module(tf.constant(x), tf.constant(k))["y"])


def test_a_function_that_reads_what_it_has_updated_is_refused(tmp_path: Path) -> None:
    class Counter(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.n = tf.Variable(0.0)

        @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
        def __call__(self, x: tf.Tensor) -> tf.Tensor:
            self.n.assign_add(1.0)
            return x + self.n

    tf.saved_model.save(Counter(), str(tmp_path / "sm"))
    editor = tgw.edit(tmp_path / "sm")
    editor.view.leave(0)
    with pytest.raises(
        GraphEditError, match=r"reads variable .* after 'AssignAddVariableOp' has updated it"
    ):
        editor.save(tmp_path / "f.pb", frozen=True)
    assert [path.name for path in tmp_path.iterdir()] == ["sm"]


def test_a_keras_model_with_batch_norm_and_a_recurrent_layer(tmp_path: Path) -> None:
    model = keras.Sequential(
        [
            keras.Input([4, 3]),
            keras.layers.LSTM(5),
            keras.layers.BatchNormalization(),
            keras.layers.Dense(2),
        ]
    )
    model.export(tmp_path / "sm", verbose=False)
    editor = tgw.edit(tmp_path / "sm")
    editor.view.leave(0)
    editor.save(
        tmp_path / "f.pb",
        signatures=[s for s in tuple(editor.signatures.values()) if s.name == "serve"],
        frozen=True,
    )
    (signature,) = (s for s in tuple(editor.signatures.values()) if s.name == "serve")
    x = np.random.default_rng(1).normal(size=(2, 4, 3)).astype(np.float32)
    got = run(tmp_path / "f.pb", signature.outputs[0][1], {signature.inputs[0][1]: x})
    assert np.allclose(got, model(x), atol=1e-6)


def test_a_keras_model_itself_without_a_folder_between(tmp_path: Path) -> None:
    model = keras.Sequential(
        [keras.Input([3]), keras.layers.Dense(4, activation="relu"), keras.layers.Dense(2)]
    )
    editor = tgw.edit(model)
    editor.save(tmp_path / "f.pb", frozen=True)
    index = tgw.edit(tmp_path / "f.pb")._core.index
    (x,) = (
        name for name, kind in zip(index.names, index.types, strict=True) if kind == "Placeholder"
    )
    assert np.allclose(
        run(tmp_path / "f.pb", "StatefulPartitionedCall:0", {f"{x}:0": ONES}), model(ONES)
    )
    assert types(tmp_path / "f.pb").isdisjoint({"VarHandleOp", "ReadVariableOp"})


def test_defuns_of_tensorflow_1(tmp_path: Path) -> None:
    from tensorflow.python.framework import function

    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [], name="x")
        w = v1.get_variable("w", initializer=3.0, use_resource=True)

        @function.Defun(tf.float32, tf.resource, func_name="scale")
        def scale(a: tf.Tensor, handle: tf.Tensor) -> tf.Tensor:
            return a * tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)

        tf.identity(scale(x, w.handle), name="y")
    with initialised(graph) as session:
        tgw.edit(graph, session=session).save(tmp_path / "f.pb", outputs="y", frozen=True)
    assert run(tmp_path / "f.pb", "y:0", {"x:0": 2.0}) == 6
    assert "ReadVariableOp" not in types(tmp_path / "f.pb")


def test_an_op_that_needs_the_variable_itself_is_refused(tmp_path: Path) -> None:
    graph = tf.Graph()
    with graph.as_default():
        w = v1.get_variable("w", initializer=3.0, use_resource=True)
        stacked = tf.stack([w.handle, w.handle])
        tf.raw_ops.ReadVariableOp(resource=stacked[0], dtype=tf.float32, name="y")
    with (
        initialised(graph) as session,
        pytest.raises(GraphEditError, match=r"Op 'stack' \(Pack\) needs variable 'w'"),
    ):
        tgw.edit(graph, session=session).save(tmp_path / "f.pb", outputs="y", frozen=True)


def test_a_queue_is_kept_and_said(tmp_path: Path) -> None:
    graph = tf.Graph()
    with graph.as_default():
        w = v1.get_variable("w", initializer=3.0, use_resource=True)
        queue = v1.FIFOQueue(3, [tf.float32], shapes=[[]], name="q")
        tf.multiply(queue.dequeue(), w, name="y")
    with initialised(graph) as session:
        editor = tgw.edit(graph, session=session)
        with (
            pytest.warns(UserWarning, match="keeps queue 'q'"),
            pytest.warns(UserWarning, match="not run: .*queue 'q'"),
        ):
            editor.save(tmp_path / "f.pb", outputs="y", frozen=True)
    assert {"FIFOQueueV2", "QueueDequeueV2", "Const"} <= types(tmp_path / "f.pb")


def test_refusals(editor: GraphEditor, tmp_path: Path) -> None:
    with pytest.raises(GraphEditError, match="A frozen graph is what its outputs need"):
        editor.save(tmp_path / "f.pb", frozen=True)
    with pytest.raises(GraphEditError, match=r"write it to a '\.pb' or '\.pbtxt' file"):
        editor.save(tmp_path / "sm", "x", "net/logits", frozen=True)
    assert not list(tmp_path.iterdir())


def test_the_bytes_are_the_same_each_time(editor: GraphEditor, tmp_path: Path) -> None:
    first = editor.save(tmp_path / "f.pb", outputs="net/logits", frozen=True).read_bytes()
    assert editor.save(tmp_path / "f.pb", outputs="net/logits", frozen=True).read_bytes() == first
