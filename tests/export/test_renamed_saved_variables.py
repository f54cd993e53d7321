"""A variable of a SavedModel of TensorFlow 2 that is renamed keeps its saved object, its values and
its functions.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw

v1 = tf.compat.v1
X = np.array([[1.0, 2.0]], np.float32)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tf.Module of y = x w + bias, with a further variable that nothing calls."""
    module, path = tf.Module(), tmp_path_factory.mktemp("model") / "model"
    module.w, module.b = (
        tf.Variable([[2.0, 1.0], [0.0, 3.0]], name="w"),
        tf.Variable([1.0, 1.0], name="bias"),
    )
    module.steps = tf.Variable(7, name="steps", trainable=False)
    module.call = tf.function(
        lambda x: {"y": x @ module.w + module.b},
        input_signature=[tf.TensorSpec([None, 2], name="x")],
    )
    tf.saved_model.save(module, str(path), signatures=module.call)
    return path


def opened(path: Path) -> tgw.GraphEditor:
    editor = tgw.edit(path)
    editor.view.leave(0)
    return editor


def in_session(path: Path) -> Any:
    with tf.Graph().as_default(), v1.Session() as session:
        signature = v1.saved_model.load(session, ["serve"], str(path)).signature_def[
            "serving_default"
        ]
        ((_, x),), ((_, y),) = signature.inputs.items(), signature.outputs.items()
        return session.run(y.name, {x.name: X})


def called(path: Path) -> Any:
    function = tf.saved_model.load(str(path)).signatures["serving_default"]
    ((_, y),) = function(
        **{key: tf.constant(X) for key in function.structured_input_signature[1]}
    ).items()
    return y.numpy()


def check_kept(before: Path, after: Path) -> None:
    """Everything that loads a SavedModel finds in `after` what it finds in `before`, but for names
    of variables.
    """
    for run in (called, in_session):
        np.testing.assert_allclose(run(after), run(before), rtol=1e-6)
    (y,) = keras.layers.TFSMLayer(str(after), call_endpoint="serving_default")(
        tf.constant(X)
    ).values()
    np.testing.assert_allclose(y, called(before), rtol=1e-6)
    old, new = (
        tf.train.load_checkpoint(str(path / "variables" / "variables")) for path in (before, after)
    )
    assert old.get_variable_to_shape_map() == new.get_variable_to_shape_map()
    for key in old.get_variable_to_shape_map():
        assert np.array_equal(old.get_tensor(key), new.get_tensor(key))


@pytest.mark.parametrize("has_session", [False, True])
@pytest.mark.parametrize("name", ["w", "bias", "steps"])
def test_a_renamed_variable_keeps_its_object(
    name: str, has_session: bool, model: Path, tmp_path: Path
) -> None:
    editor = opened(model)
    if has_session:
        assert editor.session is not None
    editor.rename(name, "between")
    editor.rename("between", "scope/renamed")
    editor.save(f"{tmp_path}/new/")
    check_kept(model, tmp_path / "new")
    loaded = tf.saved_model.load(f"{tmp_path}/new")
    names = {"w": "w", "bias": "b", "steps": "steps"}
    for old, attribute in names.items():
        expected = "scope/renamed" if old == name else old
        assert getattr(loaded, attribute).name == f"{expected}:0"
    np.testing.assert_allclose(loaded.call(tf.constant(X))["y"], [[3.0, 8.0]])
    restored = tf.Module()
    restored.w, restored.b = tf.Variable(tf.zeros([2, 2])), tf.Variable(tf.zeros([2]))
    tf.train.Checkpoint(root=restored).restore(
        f"{tmp_path}/new/variables/variables"
    ).expect_partial()
    np.testing.assert_allclose(restored.w, [[2.0, 1.0], [0.0, 3.0]])
    again = opened(tmp_path / "new")
    assert again.session is not None
    with again.graph.as_default():
        handle = again.graph.get_tensor_by_name("scope/renamed:0")
        value = tf.raw_ops.ReadVariableOp(resource=handle, dtype=getattr(loaded, names[name]).dtype)
    np.testing.assert_allclose(again.session.run(value), getattr(loaded, names[name]))


def test_a_model_that_was_renamed_and_saved_is_edited_again_and_its_name_given_back(
    model: Path, tmp_path: Path
) -> None:
    editor = opened(model)
    editor.rename("w", "renamed")
    editor.save(f"{tmp_path}/renamed/")
    again = opened(tmp_path / "renamed")
    again.set_trainable(["renamed"])
    again.rename("renamed", "w")
    again.save(f"{tmp_path}/back/")
    loaded = tf.saved_model.load(f"{tmp_path}/back")
    assert [(v.name, v.trainable) for v in (loaded.w, loaded.b)] == [
        ("w:0", True),
        ("bias:0", False),
    ]
    check_kept(model, tmp_path / "back")


def test_a_name_that_was_undone_is_not_in_the_file(model: Path, tmp_path: Path) -> None:
    editor = opened(model)
    editor.rename("w", "renamed")
    editor.rename("bias", "other")
    editor.undo()
    editor.undo()
    editor.rename("steps", "counted")
    editor.save(f"{tmp_path}/new/")
    loaded = tf.saved_model.load(f"{tmp_path}/new")
    assert [v.name for v in (loaded.w, loaded.b, loaded.steps)] == ["w:0", "bias:0", "counted:0"]


def test_the_value_that_a_renamed_variable_has_in_the_session_is_saved_under_its_object(
    model: Path, tmp_path: Path
) -> None:
    editor = opened(model)
    editor.rename("bias", "renamed")
    with editor.graph.as_default():
        handle = editor.graph.get_tensor_by_name("renamed:0")
        assign = tf.raw_ops.AssignVariableOp(resource=handle, value=tf.constant([5.0, 5.0]))
    editor.session.run(assign)
    editor.save(f"{tmp_path}/new/")
    loaded = tf.saved_model.load(f"{tmp_path}/new")
    np.testing.assert_allclose(loaded.b, [5.0, 5.0])
    np.testing.assert_allclose(in_session(tmp_path / "new"), called(tmp_path / "new"))
    np.testing.assert_allclose(called(tmp_path / "new"), [[7.0, 12.0]])


def test_a_renamed_variable_and_other_edits_are_saved_together(model: Path, tmp_path: Path) -> None:
    editor = opened(model)
    editor.rename("w", "renamed")
    for op in tgw.edit(model).view.breadcrumb[1:]:
        editor.view.enter(op)
    editor.insert(f"{editor.ops(type='MatMul').ops[0]}:0", lambda t: t * 2.0)
    editor.view.leave(0)
    editor.save(f"{tmp_path}/new/")
    loaded = tf.saved_model.load(f"{tmp_path}/new")
    assert loaded.w.name == "renamed:0"
    np.testing.assert_allclose(called(tmp_path / "new"), [[5.0, 15.0]])
    np.testing.assert_allclose(in_session(tmp_path / "new"), [[5.0, 15.0]])


@pytest.mark.filterwarnings(
    "ignore:.*cannot run what was written, nor the SavedModel that was opened"
)
@pytest.mark.parametrize("has_session", [False, True])
@pytest.mark.parametrize("way", ["export", "save"])
@pytest.mark.parametrize("every", ["each", "scope", "obfuscated"])
@pytest.mark.sample(4)
def test_renamed_variables_of_keras_keep_their_objects(
    every: str, way: str, has_session: bool, tmp_path: Path
) -> None:
    keras.utils.set_random_seed(0)
    layers = [
        keras.Input([2]),
        keras.layers.Dense(3, name="first"),
        keras.layers.Dense(1, name="second"),
    ]
    model, path = keras.Sequential(layers), tmp_path / "model"
    model.export(str(path), verbose=False) if way == "export" else tf.saved_model.save(
        model, str(path)
    )
    editor = opened(path)
    handles = editor.ops(type="VarHandleOp").ops
    if has_session:
        assert editor.session is not None
    if every == "each":
        for number, handle in enumerate(handles):
            editor.rename(handle, f"renamed_{number}")
    elif every == "scope":
        editor.rename(f"{handles[0].partition('/')[0]}/", "renamed/")
    else:
        editor.passes.obfuscate_names()
    editor.save(f"{tmp_path}/new/")
    # TensorFlow 1 cannot run the other one.
    loaders = (called, in_session) if way == "export" else (called,)
    for run in loaders:
        np.testing.assert_allclose(run(tmp_path / "new"), run(path), rtol=1e-6)
    old, new = (
        tf.train.load_checkpoint(f"{each}/variables/variables") for each in (path, tmp_path / "new")
    )
    assert old.get_variable_to_shape_map() == new.get_variable_to_shape_map()
    loaded = tf.saved_model.load(f"{tmp_path}/new")
    variables = (
        loaded.variables if way == "export" else loaded.signatures["serving_default"].variables
    )
    assert len(variables) >= 4
    if every == "each":
        assert all(variable.name.startswith("renamed_") for variable in variables)
    (y,) = keras.layers.TFSMLayer(f"{tmp_path}/new", call_endpoint="serving_default")(
        tf.constant(X)
    ).values()
    np.testing.assert_allclose(y, model(X), rtol=1e-6)


@pytest.mark.parametrize("has_session", [False, True])
def test_renamed_tables_and_ends_of_the_saver_keep_what_they_are_for(
    has_session: bool, tmp_path: Path
) -> None:
    module = tf.Module()
    (tmp_path / "words.txt").write_text("a\nb\n")
    lookup, lines = tf.lookup, tf.lookup.TextFileIndex
    module.tensors = lookup.StaticHashTable(
        lookup.KeyValueTensorInitializer(["a", "b"], [1.0, 2.0]), -1.0
    )
    text = lookup.TextFileInitializer(
        str(tmp_path / "words.txt"), tf.string, lines.WHOLE_LINE, tf.int64, lines.LINE_NUMBER
    )
    module.file = lookup.StaticVocabularyTable(text, 1)
    module.counted = lookup.experimental.MutableHashTable(tf.string, tf.float32, -1.0)
    module.counted.insert(["a"], [7.0])

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="x")])
    def compute(x: Any) -> Any:
        places = tf.cast(module.file.lookup(x), tf.float32)
        return {"y": module.tensors.lookup(x) + module.counted.lookup(x) * 10.0 + places * 100.0}

    module.compute = compute
    tf.saved_model.save(module, f"{tmp_path}/model", signatures=compute)
    editor = opened(tmp_path / "model")
    if has_session:
        assert editor.session is not None
    saver = [
        "saver_filename",
        *(name for name in editor._core.index.names if name.startswith("StatefulPartitionedCall")),
    ]
    tables = [
        name
        for name in editor._core.index.names
        if "able" in editor._core.index.types[editor._core.index.ids[name]]
    ]
    holders = [
        name for name in tables if not editor._core.index.input_lists[editor._core.index.ids[name]]
    ]
    assert len(holders) == 3
    for number, op in enumerate((*saver, *holders)):
        editor.rename(op, f"renamed_{number}")
    editor.save(f"{tmp_path}/new/")
    loaded = tf.saved_model.load(f"{tmp_path}/new")
    words = tf.constant(["a", "b", "z"])
    expected = [71.0, 92.0, 189.0]
    assert loaded.compute(words)["y"].numpy().tolist() == expected
    assert loaded.signatures["serving_default"](x=words)["y"].numpy().tolist() == expected
    assert {"tensors", "file", "counted"} <= set(vars(loaded))
    with tf.Graph().as_default(), v1.Session() as session:
        signature = v1.saved_model.load(session, ["serve"], f"{tmp_path}/new").signature_def[
            "serving_default"
        ]
        y = session.run(signature.outputs["y"].name, {signature.inputs["x"].name: ["a", "b", "z"]})
    assert y.tolist() == expected
