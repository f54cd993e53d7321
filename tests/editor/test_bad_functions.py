"""Functions that are hard to edit: each edit is right or refused in one sentence, and then the next
one works.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.errors import GraphEditError

FLOAT, DOUBLE = tf.float32.as_datatype_enum, tf.float64.as_datatype_enum
X = np.array([[1.0, -2.0, 3.0]], np.float32)


def calling(name: str, kinds: tuple[int, ...] = (FLOAT,), attr: str = "") -> Any:
    """A GraphDef in which x_0 → c_0 and so on call one function, a → Relu r → o."""
    graph = v1.GraphDef()
    function = graph.library.function.add()
    function.signature.name = name
    argument, result = (
        function.signature.input_arg.add(name="a"),
        function.signature.output_arg.add(name="o"),
    )
    relu = function.node_def.add(name="r", op="Relu", input=["a"])
    function.ret["o"] = "r:activations:0"
    if attr:
        function.signature.attr.add(name=attr, type="type")
        argument.type_attr = result.type_attr = relu.attr["T"].placeholder = attr
    else:
        argument.type = result.type = relu.attr["T"].type = kinds[0]
    for k, kind in enumerate(kinds):
        graph.node.add(name=f"x_{k}", op="Placeholder").attr["dtype"].type = kind
        call = graph.node.add(name=f"c_{k}", op="PartitionedCall", input=[f"x_{k}"])
        call.attr["f"].func.name = name
        if attr:
            call.attr["f"].func.attr[attr].type = kind
        call.attr["Tin"].list.type.append(kind)
        call.attr["Tout"].list.type.append(kind)
    return graph


def check_refused(editor: GraphEditor, call: Callable[[], Any], why: str) -> None:
    """The call is refused in one sentence, and the graph and the history are as they were."""
    before, done = editor._core.target.index.nodes, editor.history.lines
    with pytest.raises(GraphEditError, match=why) as error:
        call()
    assert "\n" not in str(error.value)
    assert editor._core.target.index.nodes == before
    assert editor.history.lines == done


def first_call(editor: GraphEditor) -> str:
    return next(name for name in editor._core.index.names if editor.view.called_functions(name))


def relu(editor: GraphEditor) -> str:
    return str(editor.ops(type="Relu").ops[0])


def test_a_function_without_a_name_is_edited() -> None:
    editor = tgw.edit(calling(""))
    editor.view.enter("c_0")
    editor.bypass("r")
    editor.view.leave(0)
    assert [change.name for change in editor.diff().inside[0].difference.changed] == ["o"]
    editor.undo()
    editor.view.leave(0)
    assert not editor.diff()
    editor.insert("x_0:0", tf.identity)


def test_a_body_whose_dtype_each_call_gives_is_edited_for_one_call_and_refused_for_all() -> None:
    graph = calling("poly", (FLOAT, DOUBLE), attr="T")
    editor = tgw.edit(graph)
    editor.view.enter("c_1", everywhere=True)
    check_refused(editor, lambda: editor.insert("a:0", lambda t: t * 2.0), "dtype .* is unknown")
    editor.view.leave(0)
    editor.view.enter("c_0")
    editor.bypass("r")
    editor.view.leave(0)
    assert [inside.path for inside in editor.diff().inside] == [("c_0",)]
    check_refused(editor, lambda: editor.graph, "it can be looked at and edited")
    editor.undo()
    editor.view.leave(0)
    assert not editor.diff()


def test_a_function_that_calls_itself_is_shown_and_every_edit_of_it_is_refused(
    tmp_path: Path,
) -> None:
    graph = calling("again")
    (function,) = graph.library.function
    inner = function.node_def.add(name="inner", op="PartitionedCall", input=["r:activations:0"])
    inner.attr["f"].func.name = "again"
    inner.attr["Tin"].list.type.append(FLOAT)
    inner.attr["Tout"].list.type.append(FLOAT)
    function.ret["o"] = "inner:output:0"
    editor = tgw.edit(graph)
    assert editor.view.to_svg()
    editor.view.enter("c_0")
    for call in (
        lambda: editor.bypass("r"),
        lambda: editor.insert("r:0", tf.identity),
        lambda: editor.replace("r", tf.nn.tanh),
    ):
        check_refused(editor, call, "'again' calls itself")
    editor.view.leave(0)
    check_refused(editor, lambda: editor.graph, "'again' calls itself")
    assert len(editor.table(batch=1))
    assert editor.save(tmp_path / "again.pb").stat().st_size
    editor.insert("x_0:0", tf.identity)
    editor.undo()
    editor.clone(["x_0:0"], ["c_0:0"], into="copy")  # a copy of the call, which needs no TensorFlow
    assert "copy/c_0" in editor._core.index.ids
    editor.undo()
    assert not editor.diff()


def test_python_in_a_called_function_runs_in_modules_clones_and_graphs() -> None:
    @tf.function
    def inner(x: Any) -> Any:
        return tf.nn.relu(tf.py_function(lambda t: t * 2.0, [x], tf.float32))

    outer = tf.function(lambda x: inner(x) + 1.0, input_signature=[tf.TensorSpec([2])])
    editor = tgw.edit(outer)
    editor.view.enter(first_call(editor))
    editor.bypass(relu(editor))
    editor.view.leave(0)
    x, graph = tf.constant([-1.0, 2.0]), tf.Graph()
    for made in (editor.to_module(), editor.to_function(), editor.clone(into="copy")):
        assert made(x).numpy().tolist() == [-1.0, 5.0]
    with v1.Session(graph=graph) as session:
        copy = editor.clone(into="there", graph=graph, session=session)
        (name,) = [op.name for op in graph.get_operations() if op.type == "Placeholder"]
        assert session.run(copy["Identity:0"], {f"{name}:0": [-1.0, 2.0]}).tolist() == [-1.0, 5.0]


def test_a_function_that_captures_an_argument_of_the_one_around_it_is_edited_and_not_run() -> None:
    traced = []

    @tf.function(input_signature=[tf.TensorSpec([2]), tf.TensorSpec([])])
    def outer(a: Any, k: Any) -> Any:
        inner = tf.function(lambda b: tf.nn.relu(b) * k, autograph=False)
        traced.append(inner.get_concrete_function(tf.TensorSpec([2])))
        return inner(a)

    outer.get_concrete_function()
    editor = tgw.edit(traced[0])
    editor.bypass(relu(editor))
    check_refused(editor, editor.to_module, "has no value outside of the function")
    check_refused(editor, lambda: editor.clone(into="copy"), "has no value outside of the function")
    whole = tgw.edit(outer)
    whole.view.enter(first_call(whole))
    whole.bypass(relu(whole))
    whole.view.leave(0)
    assert whole.to_module()(tf.constant([-1.0, 2.0]), tf.constant(3.0)).numpy().tolist() == [
        -3.0,
        6.0,
    ]


def of_a_deleted_model() -> tuple[Any, Any]:
    """A trace, and what it returns for X; the Python objects of its variables are gone."""
    layers = [
        keras.layers.Dense(4, activation="relu", name="first"),
        keras.layers.Dense(2, name="last"),
    ]
    model = keras.Sequential([keras.Input((3,)), *layers])
    trace = tf.function(lambda x: model(x, training=False), autograph=False).get_concrete_function(
        tf.TensorSpec([None, 3])
    )
    return trace, model(X)


def test_a_function_of_a_deleted_keras_model_has_its_variables(tmp_path: Path) -> None:
    trace, expected = of_a_deleted_model()
    gc.collect()
    with pytest.raises(AssertionError, match="deleted"):
        assert trace.graph.variables
    editor = tgw.edit(trace)
    assert [name.rpartition("/")[2] for name in editor.find("is:trainable").ops] == [
        "kernel",
        "bias",
    ] * 2
    module, copy = editor.to_module(), editor.clone(into="copy")
    for made in (module, copy):
        np.testing.assert_allclose(made(X), expected, rtol=1e-6)
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(made(X) ** 2)
        assert all(
            gradient is not None for gradient in tape.gradient(loss, made.trainable_variables)
        )
    copy.trainable_variables[0].assign(tf.zeros([3, 4]))
    np.testing.assert_allclose(module(X), expected, rtol=1e-6)
    editor.bypass(relu(editor))
    edited = editor.to_module()(X)
    editor.save(tmp_path / "saved/")
    np.testing.assert_allclose(tgw.edit(tmp_path / "saved").to_module()(X), edited, rtol=1e-6)
    editor.freeze()
    frozen = editor.to_module()
    assert not frozen.variables
    np.testing.assert_allclose(frozen(X), edited, rtol=1e-6)


def test_a_body_that_returns_what_an_unknown_op_computes_is_not_written_again() -> None:
    graph = calling("unknown")
    (function,) = graph.library.function
    function.node_def.add(name="k", op="MyOp", input=["r:activations:0"])
    function.ret["o"] = "k:out:0"
    editor = tgw.edit(graph)
    editor.view.enter("c_0")
    for call in (
        lambda: editor.bypass("r"),
        lambda: editor.rename("r", "s"),
        lambda: editor.insert("a:0", tf.identity),
    ):
        check_refused(editor, call, r"does not know what 'k' gives.*tf\.load_op_library")
    editor.view.leave(0)
    editor.insert("x_0:0", tf.identity)
