"""Edits in a function's body: what is made of it can be called, trained and saved, and the function
stays as it was.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.runtime.functions.edited_function import Edition, rewrite_definition

X = tf.constant([-2.0, 3.0])


@pytest.fixture
def scaled() -> tf.Module:
    """A module whose function scales, rectifies, and counts its calls."""
    module = tf.Module()
    module.scale, module.calls = (
        tf.Variable(3.0, name="scale"),
        tf.Variable(0, name="calls", trainable=False),
    )

    @tf.function(
        input_signature=[tf.TensorSpec([None], name="x"), tf.TensorSpec([], name="unused")]
    )
    def call(x: tf.Tensor, unused: tf.Tensor) -> dict[str, tf.Tensor]:
        module.calls.assign_add(1)
        y = tf.nn.relu(x * module.scale, name="relu")
        return {"a": tf.identity(y, name="out"), "b": y + 1}

    module.call = call
    return module


def test_an_edited_function_is_called_like_the_old_one(scaled: tf.Module) -> None:
    editor = tgw.edit(scaled.call)
    editor.bypass("relu")
    module = editor.to_module()
    assert module.parameters == ("x", "unused")
    found = module(X, tf.constant(0.0))
    assert {key: value.numpy().tolist() for key, value in found.items()} == {
        "a": [-6, 9],
        "b": [-5, 10],
    }
    assert module.signature(x=X, unused=tf.constant(0.0)).keys() == {"a", "b"}
    assert scaled.call(X, 0.0)["a"].numpy().tolist() == [0, 9]


def test_its_variables_are_the_function_s(scaled: tf.Module) -> None:
    editor = tgw.edit(scaled.call)
    editor.bypass("relu")
    module = editor.to_module()
    assert not module.own
    scaled.scale.assign(1.0)
    assert module(X, 0.0)["a"].numpy().tolist() == [-2, 3]
    assert scaled.calls.numpy() == 1
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(module(X, 0.0)["a"])
    assert tape.gradient(loss, scaled.scale).numpy() == 1


def test_a_function_keeps_its_module_alive(scaled: tf.Module) -> None:
    editor = tgw.edit(scaled.call)
    editor.bypass("relu")
    function = editor.to_function()
    assert function(X, tf.constant(0.0))["a"].numpy().tolist() == [-6, 9]


def test_an_edited_function_is_saved_and_loaded(scaled: tf.Module, tmp_path: Path) -> None:
    editor = tgw.edit(scaled.call)
    editor.bypass("relu")
    module = editor.to_module()
    tf.saved_model.save(module, str(tmp_path / "edited"))
    loaded = tf.saved_model.load(str(tmp_path / "edited")).signatures["serving_default"]
    assert loaded(x=X, unused=tf.constant(0.0))["a"].numpy().tolist() == [-6, 9]


def test_an_op_put_into_a_function_with_python(scaled: tf.Module) -> None:
    editor = tgw.edit(scaled.call)
    editor.insert("relu:0", lambda y: tf.minimum(y, 5.0))
    assert editor.to_module()(X, 0.0)["a"].numpy().tolist() == [0, 5]
    editor.undo()
    assert editor.to_module()(X, 0.0)["a"].numpy().tolist() == [0, 9]


def test_the_last_op_of_a_function_is_bypassed() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None])])
    def double(t: tf.Tensor) -> tf.Tensor:
        return tf.nn.relu(2 * t, name="relu")

    with tf.Graph().as_default() as graph:
        tf.identity(double(v1.placeholder(tf.float32, [None], name="x")), name="y")
    editor = tgw.edit(graph)
    editor.view.enter(next(n for n in editor._core.index.names if "PartitionedCall" in n))
    last = next(iter(editor._core.view.body.returns.values()))
    editor.bypass(last)
    editor.bypass("relu")
    assert editor.to_module()(X).numpy().tolist() == [-4, 6]
    editor.undo()
    assert editor.to_module()(X).numpy().tolist() == [0, 6]


def test_a_keras_model_stays_as_it_was() -> None:
    model = tf.keras.Sequential(
        [tf.keras.Input([2]), tf.keras.layers.Dense(3, activation="relu", name="hidden")]
    )
    editor = tgw.edit(model)
    editor.bypass(editor.ops(type="Relu").ops[0])
    x, layer = tf.constant([[1.0, -2.0]]), model.get_layer("hidden")
    linear = x @ layer.kernel + layer.bias
    module = editor.to_module()
    assert np.allclose(module(x), linear, atol=1e-6)
    assert np.allclose(model(x), tf.nn.relu(linear), atol=1e-6)
    layer.bias.assign([1.0, 2.0, 3.0])
    assert np.allclose(module(x), x @ layer.kernel + layer.bias, atol=1e-6)


def test_the_body_of_a_saved_model_s_signature_is_edited(scaled: tf.Module, tmp_path: Path) -> None:
    tf.saved_model.save(scaled, str(tmp_path / "left"), signatures=scaled.call)
    before = {
        path.name: path.read_bytes() for path in (tmp_path / "left").rglob("*") if path.is_file()
    }
    editor = tgw.edit(tmp_path / "left")
    editor.bypass(editor.ops(type="Relu").ops[0])
    module = editor.to_module()
    given = {name: (X if name == "x" else tf.constant(0.0)) for name in module.parameters}
    assert {key: value.numpy().tolist() for key, value in module.signature(**given).items()} == {
        "a": [-6, 9],
        "b": [-5, 10],
    }
    assert before == {
        path.name: path.read_bytes() for path in (tmp_path / "left").rglob("*") if path.is_file()
    }


def test_an_edited_body_is_saved_under_the_signature_s_names(
    scaled: tf.Module, tmp_path: Path
) -> None:
    tf.saved_model.save(scaled, str(tmp_path / "left"), signatures=scaled.call)
    editor = tgw.edit(tmp_path / "left")
    editor.bypass(editor.ops(type="Relu").ops[0])
    editor.rename("serving_default:a", "scores")
    editor.save(tmp_path / "mine/")
    served = tf.saved_model.load(str(tmp_path / "mine")).signatures["serving_default"]
    assert served(x=X, unused=tf.constant(0.0))["scores"].numpy().tolist() == [-6, 9]


def test_a_part_of_a_body_is_saved_by_its_inputs_and_outputs_with_the_edits(
    scaled: tf.Module, tmp_path: Path
) -> None:
    tf.saved_model.save(scaled, str(tmp_path / "left"), signatures=scaled.call)
    editor = tgw.edit(tmp_path / "left")
    relu = editor.ops(type="Relu").ops[0]
    editor.insert(f"{relu}:0", "Neg")
    (negated,) = editor.ops(type="Neg").ops
    editor.save(tmp_path / "part/", {"image": f"{relu}:0"}, {"found": f"{negated}:0"})
    served = tf.saved_model.load(str(tmp_path / "part")).signatures["serving_default"]
    assert served(image=X)["found"].numpy().tolist() == (-X).numpy().tolist()
    with pytest.raises(GraphEditError, match="no op"):
        editor.save(tmp_path / "other/", outputs=["nothing:0"])
    assert not (tmp_path / "other").exists()


def test_edits_inside_a_function_are_in_the_file_of_the_graph_that_calls_it(
    scaled: tf.Module, tmp_path: Path
) -> None:
    tf.saved_model.save(scaled, str(tmp_path / "left"), signatures=scaled.call)
    editor = tgw.edit(tmp_path / "left")
    relu = editor.ops(type="Relu").ops[0]
    editor.bypass(relu)
    editor.remove(relu)
    path = editor.view.breadcrumb
    editor.view.leave(0)
    again = tgw.edit(editor.save(tmp_path / "whole.pb"))
    for op in path[1:]:
        again.view.enter(op)
    assert "Relu" not in again._core.index.types


def test_a_body_that_a_graph_calls_is_a_module_too() -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None], name="x")

        @tf.function(input_signature=[tf.TensorSpec([None])])
        def double(t: tf.Tensor) -> tf.Tensor:
            return tf.nn.relu(2 * t, name="relu")

        tf.identity(double(x), name="y")
    editor = tgw.edit(graph)
    editor.view.enter(next(n for n in editor._core.index.names if "PartitionedCall" in n))
    editor.bypass(editor.ops(type="Relu").ops[0])
    assert editor.to_module()(X).numpy().tolist() == [-4, 6]
    with v1.Session(graph=graph) as session:
        assert session.run("y:0", {"x:0": [-2.0, 3.0]}).tolist() == [-4, 6]


# Functions after the ops of a function


class Deep(tf.Module):
    """A call that calls, a loop and a conditional, all with the variable."""

    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable(2.0, name="w")

    @tf.function(input_signature=[tf.TensorSpec([None])])
    def innermost(self, t: tf.Tensor) -> tf.Tensor:
        return tf.nn.relu(t * self.w, name="relu")

    @tf.function(input_signature=[tf.TensorSpec([None])])
    def middle(self, t: tf.Tensor) -> tf.Tensor:
        return self.innermost(t) + 1.0

    @tf.function(input_signature=[tf.TensorSpec([None], name="x")])
    def call(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        called = self.middle(x)
        for _ in tf.range(2):
            x = tf.nn.relu(x * self.w, name="looped")
        picked = tf.cond(tf.reduce_sum(x) > 0, lambda: tf.nn.relu(x - 1.0, name="then"), lambda: x)
        return {"called": called, "looped": tf.identity(x), "picked": tf.identity(picked)}


@pytest.fixture
def deep() -> Deep:
    return Deep()


def run(module: tf.Module, x: list[float]) -> dict[str, list[float]]:
    return {
        key: value.numpy().tolist() for key, value in module.signature(x=tf.constant(x)).items()
    }


def called(editor: tgw.editor.GraphEditor, kind: str) -> str:
    return next(
        n
        for n, t in zip(editor._core.index.names, editor._core.index.types, strict=True)
        if t.endswith(kind)
    )


def test_an_edit_two_calls_deep_is_in_the_module_of_the_whole(deep: Deep) -> None:
    editor = tgw.edit(deep.call)
    editor.view.enter(called(editor, "PartitionedCall"))
    editor.view.enter(called(editor, "PartitionedCall"))
    editor.bypass("relu")
    editor.view.leave(0)
    assert run(editor.to_module(), [-1.0])["called"] == [-1]
    x = [-1.0, 2.0]
    editor.view.enter(called(editor, "PartitionedCall"))
    assert editor.to_module()(tf.constant(x)).numpy().tolist() == [-1, 5]
    assert deep.middle(tf.constant(x)).numpy().tolist() == [1, 5]
    editor.undo()
    editor.view.leave(0)
    assert (
        run(editor.to_module(), [-1.0])["called"]
        == [1]
        == run(tgw.edit(deep.call).to_module(), [-1.0])["called"]
    )


def test_an_edited_loop_and_branch_are_in_the_module_and_gradients_flow_through_them(
    deep: Deep,
) -> None:
    editor = tgw.edit(deep.call)
    editor.view.enter(called(editor, "While"), "body")
    editor.bypass(editor.ops(type="Relu").ops[0])
    editor.view.leave(0)
    editor.view.enter(called(editor, "If"), "then_branch")
    editor.bypass(editor.ops(type="Relu").ops[0])
    editor.view.leave(0)
    module = editor.to_module()
    assert module.shared == [deep.w]
    assert run(module, [-1.0, 2.0]) == {"called": [1, 5], "looped": [-4, 8], "picked": [-5, 7]}
    assert run(tgw.edit(deep.call).to_module(), [-1.0, 2.0]) == {
        "called": [1, 5],
        "looped": [0, 8],
        "picked": [0, 7],
    }
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(module.signature(x=tf.constant([-1.0, 2.0]))["looped"])
    assert tape.gradient(loss, deep.w).numpy() == 4  # of w * w * (2 - 1)


def test_what_an_edited_function_gives_has_its_new_shape_at_its_callers(deep: Deep) -> None:
    editor = tgw.edit(deep.call)
    editor.view.enter(called(editor, "PartitionedCall"))
    editor.insert("Identity", lambda y: tf.stack([y, y]))
    editor.view.leave(0)
    assert run(editor.to_module(), [2.0])["called"] == [[5], [5]]


def test_a_function_that_gives_another_dtype_than_its_callers_take_is_refused(deep: Deep) -> None:
    editor = tgw.edit(deep.call)
    editor.view.enter(called(editor, "While"), "body")
    body, index = editor._core.view.body, editor._core.index
    counts = next(f"{n}:0" for i, n in enumerate(index.names) if index.dtypes(i) == ("int32",))
    floats = next(
        key
        for key, tensor in body.returns.items()
        if index.dtypes(index.op(tensor)) == ("float32",)
    )
    name = next(name for name in index.functions if "body" in name)
    function = index.extras.function(name)
    edition = Edition(function, body, index, (body.arguments, {**body.returns, floats: counts}))
    with pytest.raises(
        GraphEditError,
        match=rf"'{counts}' is int32, and .* takes '{floats}' as another dtype; put a",
    ):
        rewrite_definition(function, edition, {})


def test_a_saved_body_says_other_shapes_after_an_edit(deep: Deep, tmp_path: Path) -> None:
    tf.saved_model.save(deep, str(tmp_path / "left"), signatures=deep.call)
    editor = tgw.edit(tmp_path / "left")
    assert any("_output_shapes" in node.attr for node in editor._core.index.nodes)
    editor.insert(called(editor, "PartitionedCall") + ":0", lambda y: tf.stack([y, y]))
    given = {name: tf.constant([3.0]) for name in editor.to_module().parameters}
    assert editor.to_module().signature(**given)["called"].numpy().tolist() == [[7], [7]]


def test_edits_after_the_calls_of_a_saved_model_are_saved(deep: Deep, tmp_path: Path) -> None:
    tf.saved_model.save(deep, str(tmp_path / "left"), signatures=deep.call)
    editor = tgw.edit(tmp_path / "left")
    here = editor.view.breadcrumb
    editor.view.enter(called(editor, "PartitionedCall"))
    editor.view.enter(called(editor, "PartitionedCall"))
    editor.bypass(editor.ops(type="Relu").ops[0])
    editor.view.leave(len(here) - 1)
    editor.save(tmp_path / "mine/")
    served = tf.saved_model.load(str(tmp_path / "mine")).signatures["serving_default"]
    assert served(x=tf.constant([-1.0]))["called"].numpy().tolist() == [-1]


def test_a_captured_table_is_read_under_the_name_that_an_edit_gave_it(tmp_path: Path) -> None:
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2]), 0)
    more = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer([1, 2], [10, 20]), -1)
    editor = tgw.edit(
        tf.function(table.lookup, input_signature=[tf.TensorSpec([None], tf.string, "x")])
    )
    editor.insert(editor.ops(type="LookupTableFindV2").ops[0], more.lookup)
    for wanted in ("first", "second"):
        for name in editor.ops(type="Placeholder").ops:
            if name != "x":
                scope = name.rpartition("/")[0]
                editor.rename(name, f"{scope}/{wanted}")
    x = tf.constant(["b", "c"])
    assert tf.nest.flatten(editor.to_module()(x))[0].numpy().tolist() == [20, -1]
    assert tf.nest.flatten(editor.clone(into="copy")(x))[0].numpy().tolist() == [20, -1]
    editor.save(tmp_path / "saved/")
    served = tf.saved_model.load(str(tmp_path / "saved")).signatures["serving_default"]
    assert tf.nest.flatten(served(x=x))[0].numpy().tolist() == [20, -1]
    editor.history.goto(1)
    editor.passes.obfuscate_names()
    assert tf.nest.flatten(editor.to_module()(x))[0].numpy().tolist() == [20, -1]
