"""New variables inside a called function: the graph has them, and each call on the way passes their
handles.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.editor.verbs import Module, called, graph_with

v1 = tf.compat.v1
X = np.array([[1.0, 2.0]], np.float32)


def scaled() -> Callable[[Any], Any]:
    """A function with a variable of its own."""

    def scale(x):
        scale.factor = tf.Variable([10.0, 20.0], name="factor")
        return x * scale.factor

    return scale


def tripled(x: Any) -> Any:
    """One with a variable of any shape."""
    return x * tf.Variable(3.0, name="factor")


class Nested(tf.Module):
    """A function that calls a function that calls a function."""

    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable([1.0, 1.0], name="w")
        self.inner = tf.function(lambda x: tf.nn.relu(x * self.w, name="relu"), autograph=False)
        self.middle = tf.function(lambda x: self.inner(x) + self.inner(-x), autograph=False)

    @tf.function(input_signature=[tf.TensorSpec([None, 2], name="x")])
    def __call__(self, x):
        return self.middle(x) + 1.0


def enter(editor: tgw.GraphEditor, *path: Any, everywhere: bool = False) -> None:
    for each in path:
        editor.view.enter(*(each if isinstance(each, tuple) else (each,)), everywhere=everywhere)


CALL = "StatefulPartitionedCall"


def test_a_variable_two_calls_deep_is_the_whole_function_s(tmp_path):
    model = Nested()
    editor, function = tgw.edit(model.__call__), scaled()
    before = editor.to_module()(X).numpy()
    enter(editor, CALL, CALL)
    editor.insert("relu", function, into="more")
    assert "more/factor" in editor._core.index.ids
    assert editor.to_module()(X).numpy().tolist() == [[10.0, 40.0]]
    for _ in range(2):
        editor.view.leave()
        assert "more/factor" in editor._core.index.ids
    module = editor.to_module()
    assert module(X).numpy().tolist() == editor.to_function()(X).numpy().tolist() == [[11.0, 41.0]]
    assert module.variables[1] is function.factor
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(module(X))
    assert [g.numpy().tolist() for g in tape.gradient(loss, [model.w, function.factor])] == [
        [10, 40],
        [1, 2],
    ]
    assert len(editor.find("is:trainable")) == len(module.trainable_variables) == 2
    editor.save(f"{tmp_path / 'saved'}/")
    loaded = tf.saved_model.load(str(tmp_path / "saved"))
    assert loaded.signatures["serving_default"](tf.constant(X))["output_0"].numpy().tolist() == [
        [11.0, 41.0]
    ]
    editor.undo()
    editor.view.leave(0)
    assert editor.to_module()(X).numpy().tolist() == before.tolist()
    assert "more/factor" not in editor._core.index.ids
    editor.redo()
    editor.view.leave(0)
    function.factor.assign([1.0, 2.0])
    assert editor.to_module()(X).numpy().tolist() == [[2.0, 5.0]]


def test_everywhere_it_is_one_variable_for_all_calls():
    nested = Nested()  # TensorFlow's method holds it weakly
    editor, function = tgw.edit(nested.__call__), scaled()
    enter(editor, CALL)
    enter(editor, CALL, everywhere=True)
    editor.insert("relu", function)
    editor.view.leave(0)
    module = editor.to_module()
    assert len(module.variables) == 2
    assert module(-X).numpy().tolist() == module(X).numpy().tolist() == [[11.0, 41.0]]


def test_a_layer_grows_in_a_called_function_and_further_edits_go_on(tmp_path):
    nested = Nested()  # TensorFlow's method holds it weakly
    editor = tgw.edit(nested.__call__)
    enter(editor, CALL, CALL)
    layer = keras.layers.Dense(
        2, kernel_initializer="identity", bias_initializer="ones", name="head"
    )
    grown = editor.call("relu:0", layer)
    assert len(grown.variables) == 2
    editor.connect(grown.outputs, "Identity")
    editor.insert("relu", lambda x: x * 3.0)
    editor.view.leave(0)
    assert editor.to_module()(X).numpy().tolist() == [[5.0, 8.0]]
    assert {v.name for v in editor.to_module().variables} >= {v.value.name for v in layer.variables}
    editor.undo()
    editor.view.leave(0)
    assert editor.to_module()(X).numpy().tolist() == [[3.0, 4.0]]


def test_two_variables_in_two_steps():
    nested = Nested()  # TensorFlow's method holds it weakly
    editor, functions = tgw.edit(nested.__call__), (scaled(), scaled())
    enter(editor, CALL, CALL)
    for function in functions:
        editor.insert("relu", function)
    editor.view.leave(0)
    assert editor.to_module()(X).numpy().tolist() == [[101.0, 801.0]]
    assert len(editor.to_module().variables) == len(editor.find("is:trainable")) == 3


@pytest.fixture
def graph() -> Iterator[tuple[tf.Graph, v1.Session]]:
    """A graph that calls a function, a loop and a conditional."""
    session = v1.Session(graph=tf.Graph())
    with session.graph.as_default():
        x = v1.placeholder(tf.float32, [None, 2], "x")
        w = v1.get_variable("w", [2], initializer=v1.ones_initializer(), use_resource=True)
        tf.identity(
            tf.function(lambda a: tf.nn.relu(a * w, name="relu"), autograph=False)(x), "called"
        )
        loop = tf.while_loop(
            lambda i, _: i < 2,
            lambda i, a: (i + 1, tf.nn.relu(a * w, name="relu")),
            [tf.constant(0), x],
        )
        tf.identity(loop[1], "looped")
        chosen = tf.cond(
            tf.reduce_sum(x) > 0, lambda: tf.nn.relu(x * w, name="relu"), lambda: x - 1.0
        )
        tf.identity(chosen, "chosen")
        session.run(v1.global_variables_initializer())
    yield session.graph, session
    session.close()


def insert_inside(editor: tgw.GraphEditor, entered: tuple[str, str]) -> None:
    """Enter the only op of a type, and insert a function with a variable after the Relu there."""

    def only(ending: str) -> str:
        index = editor._core.index
        (op,) = [
            name
            for name, kind in zip(index.names, index.types, strict=True)
            if kind.endswith(ending)
        ]
        return op

    enter(editor, (only(entered[0]), entered[1]))
    editor.insert(only("Relu"), scaled(), into="more")


CALLS = [
    ("called", ("PartitionedCall", "f"), 1),
    ("looped", ("While", "body"), 2),
    ("chosen", ("If", "then_branch"), 1),
]


@pytest.mark.parametrize(("output", "entered", "times"), CALLS)
@pytest.mark.sample(1)
def test_a_session_follows_in_calls_loops_and_conditionals(graph, tmp_path, output, entered, times):
    live, session = graph
    editor = tgw.edit(live, session=session)
    (op,) = [
        name
        for name, kind in zip(editor._core.index.names, editor._core.index.types, strict=True)
        if kind.endswith(entered[0])
    ]
    enter(editor, (op, entered[1]))
    (relu,) = [
        name
        for name, kind in zip(editor._core.index.names, editor._core.index.types, strict=True)
        if kind == "Relu"
    ]
    editor.insert(relu, scaled(), into="more")
    editor.view.leave()
    expected = (X * np.array([10.0, 20.0]) ** times).tolist()
    assert session.run(f"{output}:0", {"x:0": X}).tolist() == expected
    assert len(editor.find("is:trainable")) == 2
    session.run("more/factor/Assign")
    editor.undo()
    assert session.run(f"{output}:0", {"x:0": X}).tolist() == X.tolist()
    editor.redo()
    editor.view.leave(0)
    assert session.run(f"{output}:0", {"x:0": X}).tolist() == expected
    frozen = editor.save(tmp_path / "frozen.pb", outputs=[f"{output}:0"], frozen=True)
    again = tgw.edit(frozen)
    assert again.session.run(f"{output}:0", {"x:0": X}).tolist() == expected
    again.session.close()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        editor.save(f"{tmp_path / 'saved'}/", inputs=["x:0"], outputs=[f"{output}:0"])
    loaded = tf.saved_model.load(str(tmp_path / "saved"))
    assert loaded.signatures["serving_default"](tf.constant(X))[output].numpy().tolist() == expected
    with live.as_default():
        variables = v1.global_variables()
        gradients = tf.gradients(live.get_tensor_by_name(f"{output}:0"), variables)
    tgw.renew(session)
    found = session.run(gradients, {"x:0": X})
    at = {
        variable.op.name: value.tolist() for variable, value in zip(variables, found, strict=True)
    }
    assert at["more/factor"] == (X[0] * times * np.array([10.0, 20.0]) ** (times - 1)).tolist()


@pytest.mark.parametrize(("output", "entered", "times"), CALLS)
def test_a_file_has_them_too(graph, tmp_path, output, entered, times):
    live, session = graph
    file = tgw.edit(live, session=session).save(tmp_path / "model.meta")
    editor = tgw.edit(file, checkpoint=tmp_path / "model")
    (op,) = [
        name
        for name, kind in zip(editor._core.index.names, editor._core.index.types, strict=True)
        if kind.endswith(entered[0])
    ]
    enter(editor, (op, entered[1]))
    (relu,) = [
        name
        for name, kind in zip(editor._core.index.names, editor._core.index.types, strict=True)
        if kind == "Relu"
    ]
    editor.insert(relu, scaled(), into="more")
    editor.view.leave()
    second = editor.save(tmp_path / "second.meta")
    expected = (X * np.array([10.0, 20.0]) ** times).tolist()
    again = tgw.edit(second, checkpoint=tmp_path / "second")
    assert again.session.run(f"{output}:0", {"x:0": X}).tolist() == expected
    assert len(again.find("is:trainable")) == 2
    again.session.close()


def test_what_the_function_reads_besides_is_a_constant_there():
    more = tf.constant([1.0, 2.0])
    nested = Nested()  # TensorFlow's method holds it weakly
    editor = tgw.edit(nested.__call__)
    enter(editor, CALL, CALL)
    editor.insert("relu", lambda x: x + more)
    editor.view.leave(0)
    assert editor.to_module()(X).numpy().tolist() == [[3.0, 5.0]]
    assert len(editor.to_module().variables) == 1


def test_the_calls_of_a_function_that_is_entered_by_its_name_give_it_the_new_variable():
    graph, session = graph_with(called)
    expected = session.run("out:0", {"x:0": np.ones([1, 4])})
    editor = tgw.edit(graph, session=session)
    call = next(
        name
        for name, kind in zip(editor._core.index.names, editor._core.index.types, strict=True)
        if "Partition" in kind
    )
    editor.view.enter(editor.view.called_functions(call)[0].function)
    editor.insert("Relu:0", tripled)
    editor.view.leave(0)
    made = editor.session.run("out:0", {"x:0": np.ones([1, 4])})
    assert not np.allclose(made, expected)
    editor.undo()
    assert np.allclose(editor.session.run("out:0", {"x:0": np.ones([1, 4])}), expected)
    editor.redo()
    assert np.allclose(editor.session.run("out:0", {"x:0": np.ones([1, 4])}), made)


@pytest.mark.filterwarnings("ignore:TensorFlow cannot make an op another one in place")
def test_a_saved_function_that_is_entered_by_its_name_is_saved_with_its_new_variable(tmp_path):
    module = Module()
    tf.saved_model.save(module, str(tmp_path / "saved"), signatures={"twice": module.twice})
    editor = tgw.edit(tmp_path / "saved")
    editor.view.enter(
        editor.view.called_functions(editor.find("type:StatefulPartitionedCall").ops[0])[0].function
    )
    editor.insert("Relu:0", tripled)
    editor.view.leave(0)
    editor.save(tmp_path / "new/")
    given = tf.ones([1, 4])
    loaded = tf.saved_model.load(str(tmp_path / "new"))
    made = loaded.signatures["twice"](given)["y"].numpy()
    assert not np.allclose(made, module.twice(given)["y"])
    assert np.allclose(loaded.hidden(given) * 2.0, made)
    assert len(loaded.signatures["twice"].variables) == 3
