"""Variables that edits bring into a SavedModel: it keeps its objects, its checkpoint keys and its
other functions.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw

v1 = tf.compat.v1
X = np.array([[1.0, 2.0]], np.float32)


class Several(tf.Module):
    """A module with two functions, which share a variable."""

    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable([1.0, 1.0], name="w")

    @tf.function(input_signature=[tf.TensorSpec([None, 2], name="x")])
    def f(self, x):
        return {"y": tf.nn.relu(x * self.w, name="relu")}

    @tf.function(input_signature=[tf.TensorSpec([None, 2], name="x")])
    def g(self, x):
        return {"y": x - self.w}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("several") / "model"
    module = Several()
    tf.saved_model.save(module, str(path), signatures={"f": module.f, "g": module.g})
    tf.train.Checkpoint(module).write(str(path.parent / "old"))
    return path


def first(editor: tgw.GraphEditor, kind: str) -> str:
    return editor._core.index.names[list(editor._core.index.types).index(kind)]


def edited(folder: Path, *, everywhere: bool, into: str = "more") -> tgw.GraphEditor:
    editor = tgw.edit(folder, signature="f")
    while "Relu" not in editor._core.index.types:
        editor.view.enter(first(editor, "StatefulPartitionedCall"), everywhere=everywhere)

    def scale(x):
        return x * tf.Variable([10.0, 20.0], name="factor")

    editor.insert(first(editor, "Relu"), scale, into=into)
    editor.view.leave(0)
    return editor


def save(editor: tgw.GraphEditor, path: Path) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        editor.save(f"{path}/")
    return [str(warning.message) for warning in caught if warning.category is UserWarning]


def y(loaded: Any, name: str) -> list[list[float]]:
    return loaded.signatures[name](tf.constant(X))["y"].numpy().tolist()


def test_the_model_stays_what_it_was_but_for_a_further_variable(
    folder: Path, tmp_path: Path
) -> None:
    notices = save(edited(folder, everywhere=True), tmp_path / "new")
    assert not [text for text in notices if "objects that the model was saved from" in text]
    loaded = tf.saved_model.load(str(tmp_path / "new"))
    assert y(loaded, "f") == [[10.0, 40.0]]
    assert y(loaded, "g") == loaded.g(X)["y"].numpy().tolist() == [[0.0, 1.0]]
    assert loaded.more_factor.numpy().tolist() == [10.0, 20.0]
    assert loaded.w.numpy().tolist() == [1.0, 1.0]
    loaded.more_factor.assign([0.0, 1.0])
    assert y(loaded, "f") == [[0.0, 2.0]]
    names = [
        dict(tf.train.list_variables(str(path / "variables" / "variables")))
        for path in (folder, tmp_path / "new")
    ]
    assert names[1].keys() - names[0].keys() == {"more_factor/.ATTRIBUTES/VARIABLE_VALUE"}
    assert names[0].keys() <= names[1].keys()


def test_a_checkpoint_of_the_old_model_loads_into_it(folder: Path, tmp_path: Path) -> None:
    save(edited(folder, everywhere=True), tmp_path / "new")
    loaded = tf.saved_model.load(str(tmp_path / "new"))
    loaded.w.assign([7.0, 7.0])
    tf.train.Checkpoint(loaded).read(str(folder.parent / "old")).expect_partial()
    assert loaded.w.numpy().tolist() == [1.0, 1.0]


def test_sessions_and_editors_load_it_and_its_values_are_those_of_the_session(
    folder: Path, tmp_path: Path
) -> None:
    editor = edited(folder, everywhere=True)
    editor.session.run("more/factor/Assign")
    with editor.graph.as_default():
        handle = editor.graph.get_tensor_by_name("more/factor:0")
        assign = tf.raw_ops.AssignVariableOp(resource=handle, value=tf.constant([3.0, 4.0]))
    editor.session.run(assign)
    save(editor, tmp_path / "new")
    loaded = tf.saved_model.load(str(tmp_path / "new"))
    assert y(loaded, "f") == [[3.0, 8.0]]
    again = tgw.edit(tmp_path / "new", signature="f")
    assert len(again.find("is:trainable")) == 2
    signature = next(each for each in tuple(again.signatures.values()) if each.name == "f")
    ends = dict(signature.inputs)["x"], dict(signature.outputs)["y"]
    assert again.session.run(ends[1], {ends[0]: X}).tolist() == [[3.0, 8.0]]
    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        v1.saved_model.load(session, ["serve"], str(tmp_path / "new"))
        assert session.run(ends[1], {ends[0]: X}).tolist() == [[3.0, 8.0]]
    save(edited(tmp_path / "new", everywhere=True, into="again"), tmp_path / "twice")
    loaded = tf.saved_model.load(str(tmp_path / "twice"))
    assert y(loaded, "f") == [[30.0, 160.0]]


def test_a_body_is_edited_on_after_its_file_was_imported(folder: Path) -> None:
    editor = edited(folder, everywhere=True)
    assert [signature.name for signature in tuple(editor.signatures.values())] == ["f", "g"]
    assert editor.session is not None
    assert [signature.name for signature in tuple(editor.signatures.values())] == ["f", "g"]
    signature = next(iter(editor.signatures.values()))
    ends = dict(signature.inputs)["x"], dict(signature.outputs)["y"]
    assert editor.session.run(ends[1], {ends[0]: X}).tolist() == [[10.0, 40.0]]
    editor.view.enter(ends[1].partition(":")[0])
    while "Relu" not in editor._core.index.types:
        editor.view.enter(first(editor, "StatefulPartitionedCall"))
    editor.insert(first(editor, "Relu"), lambda x: x + 1.0)
    editor.view.leave(0)
    ends = ends[0], dict(next(iter(editor.signatures.values())).outputs)["y"]
    assert editor.session.run(ends[1], {ends[0]: X}).tolist() == [[20.0, 60.0]]


def test_a_layer_in_a_keras_export_is_saved_in_the_export(tmp_path: Path) -> None:
    layers = keras.layers
    model = keras.Sequential(
        [keras.Input((2,)), layers.Dense(2, activation="relu", name="body"), layers.Dense(1)]
    )
    model.export(str(tmp_path / "export"), verbose=False)
    editor = tgw.edit(tmp_path / "export")
    editor.insert(
        first(editor, "Relu"), layers.Dense(2, name="middle", kernel_initializer="identity")
    )
    notices = save(editor, tmp_path / "new")
    assert not [text for text in notices if "objects that the model was saved from" in text]
    loaded = tf.saved_model.load(str(tmp_path / "new"))
    found = loaded.signatures["serving_default"](tf.constant(X))["output_0"].numpy()
    np.testing.assert_allclose(found, model(X), rtol=1e-5)
    assert len(loaded.signatures["serving_default"].variables) == 6
    layer = keras.layers.TFSMLayer(str(tmp_path / "new"), call_endpoint="serving_default")
    np.testing.assert_allclose(layer(X)["output_0"], model(X), rtol=1e-5)
    assert loaded.serve(X).shape == (1, 1)
