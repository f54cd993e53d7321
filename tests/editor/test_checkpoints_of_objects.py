"""Clones and `sync` take their values from checkpoints of TensorFlow 2, which name variables by
paths of objects.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tfgraphwidget.errors import GraphEditError, SessionRefused

X = np.float32([[1.0, 2.0, 3.0]])


@pytest.fixture(scope="module")
def model() -> keras.Model:
    model = keras.Sequential(
        [
            keras.Input((3,)),
            keras.layers.Dense(2, name="a"),
            keras.layers.BatchNormalization(),
            keras.layers.Dense(2),
        ],
        name="sequential",  # Keras numbers the names that it chooses
    )
    model.compile("adam", "mse")
    model.fit(X, np.zeros((1, 2)), verbose=0)
    return model


@pytest.fixture(scope="module")
def checkpoints(model: keras.Model, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Checkpoints of the model with values that are all three quarters, written from several
    objects.
    """
    folder, values = tmp_path_factory.mktemp("checkpoints"), model.get_weights()
    model.export(str(folder / "export"), verbose=False)
    loaded = tf.saved_model.load(str(folder / "export"))
    for variable in (*model.variables, *loaded.variables):
        variable.assign(0.75 * np.ones(variable.shape))
    paths = {
        "of the model": tf.train.Checkpoint(model).save(str(folder / "model")),
        "with its optimizer": tf.train.Checkpoint(net=model, optimizer=model.optimizer).save(
            str(folder / "both")
        ),
        "of its export": tf.train.Checkpoint(loaded).save(str(folder / "loaded")),
    }
    model.export(str(folder / "trained"), verbose=False)
    model.set_weights(values)
    return {**paths, "export": str(folder / "export"), "trained": str(folder / "trained")}


def test_ops_that_give_a_session_its_values_are_not_in_the_graph(
    model: keras.Model, tmp_path: Path
) -> None:
    # Its Saver leaves out what its functions capture.
    tf.saved_model.save(model, str(tmp_path / "model"))
    editor = tgw.edit(tmp_path / "model")
    editor.view.leave(0)
    names = editor._core.index.names
    assert editor.session is not None
    added = {op.name for op in editor.session.graph.get_operations()} - set(names)
    assert any(name.startswith("restore_captured/") for name in added)
    assert editor._core.index.names == names
    editor.source.reload()
    assert editor._core.index.names == names
    with pytest.warns(
        UserWarning, match="cannot run what was written, nor the SavedModel that was opened"
    ):
        again = tgw.edit(editor.save(tmp_path / "again"))
    again.view.leave(0)
    assert added.isdisjoint(again._core.index.names)


@pytest.mark.parametrize("source", ["model", "export"])
@pytest.mark.parametrize("name", ["of the model", "with its optimizer", "of its export", "trained"])
def test_a_clone_takes_the_values_of_a_checkpoint_of_objects(
    model: keras.Model, checkpoints: dict[str, str], source: str, name: str
) -> None:
    opened = model if source == "model" else checkpoints["export"]
    copy = tgw.edit(opened).clone(into="copy", init=checkpoints[name])
    assert len(copy.variables) == 8
    assert all((variable.numpy() == 0.75).all() for variable in copy.variables)
    assert not (model.layers[0].kernel.numpy() == 0.75).any()


def test_a_session_takes_them_too(checkpoints: dict[str, str]) -> None:
    editor = tgw.edit(checkpoints["export"])
    call = editor.view.breadcrumb[1].partition(":")[0]
    editor.view.leave(0)
    copy = editor.clone(outputs=f"{call}:0", into="copy", init=checkpoints["of the model"])
    assert editor.session is not None
    assert all((value == 0.75).all() for value in editor.session.run(list(copy.variables)))


def test_sync_pairs_the_variables_of_a_checkpoint_by_their_names(
    checkpoints: dict[str, str],
) -> None:
    other = keras.Sequential(
        [keras.Input((3,)), keras.layers.Dense(2, name="a")], name="sequential"
    )
    pairs = tgw.sync(checkpoints["with its optimizer"], other, names=None)
    assert {name for _, name in pairs} == {"sequential/a/kernel", "sequential/a/bias"}
    assert (other.layers[0].kernel.numpy() == 0.75).all()


class Twice(tf.Module):
    """Two variables of one name."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.others = tf.Variable(1.0, name="w"), [tf.Variable(2.0, name="w")]

    @tf.function(input_signature=[tf.TensorSpec([])])
    def add(self, x: Any) -> Any:
        return x * self.first + self.others[0]


def _of_twice(folder: Path) -> tuple[Any, str]:
    module = Twice()
    return module, tf.train.Checkpoint(module).save(str(folder / "twice"))


def _of_keras_file(folder: Path) -> tuple[Any, str]:
    path = folder / "w.weights.h5"
    path.write_bytes(b"")
    return Twice(), str(path)


@pytest.mark.parametrize(
    ("what", "error", "sentence"),
    [
        (
            _of_twice,
            SessionRefused,
            r"has no value 'w' for variable 'w:0'; give the variable's value with init=",
        ),
        (
            _of_keras_file,
            GraphEditError,
            r"is Keras's own file, not a checkpoint; load it into a model by",
        ),
    ],
)
def test_what_does_not_say_which_value_is_whose_is_refused(
    tmp_path: Path, what: Callable[[Path], tuple[Any, str]], error: type[Exception], sentence: str
) -> None:
    source, path = what(tmp_path)
    with pytest.raises(error, match=sentence):
        tgw.edit(source.add).clone(into="copy", init=path)


def test_a_saved_model_takes_values_by_the_paths_of_its_objects(tmp_path: Path) -> None:
    module = Twice()
    tf.saved_model.save(module, str(tmp_path / "saved"), signatures=module.add)
    module.first.assign(3.0)
    module.others[0].assign(4.0)
    path = tf.train.Checkpoint(module).write(str(tmp_path / "trained"))
    copy = tgw.edit(tmp_path / "saved").clone(into="copy", init=path)
    assert sorted(float(variable) for variable in copy.variables) == [3.0, 4.0]
    assert float(copy(tf.constant(2.0))) == 10.0


_EDITS: dict[str, Callable[[tgw.GraphEditor, str], object]] = {
    "rename": lambda editor, handle: editor.rename(handle, "other"),
    "rename a scope": lambda editor, _: editor.rename("sequential/", "other"),
    "obfuscate_names": lambda editor, _: editor.passes.obfuscate_names(),
    "remove": lambda editor, handle: editor.remove(editor.downstream(handle)),
}


@pytest.mark.parametrize("edit", _EDITS.values(), ids=_EDITS)
def test_collections_follow_edits_of_variables_that_tensorflow_has_no_objects_of(
    model: keras.Model, edit: Callable[[tgw.GraphEditor, str], object], tmp_path: Path
) -> None:
    model.export(str(tmp_path / "export"), verbose=False)
    editor = tgw.edit(tmp_path / "export")
    editor.view.leave(0)
    assert editor.session is not None
    before = editor._core.index.collections
    assert len(before["trainable_variables"]) >= 4
    handle = before["trainable_variables"][2].name.removesuffix(":0")

    edit(editor, handle)
    after = editor._core.index.collections
    assert f"{handle}:0" not in {member.name for member in after["trainable_variables"]}
    names = {
        member.name.removesuffix(":0")
        for key in ("variables", "trainable_variables")
        for member in after[key]
    }
    assert names <= set(editor._core.index.names)
    for change, expected in ((editor.undo, before), (editor.redo, after), (editor.undo, before)):
        change()
        assert editor._core.index.collections == expected
        editor.source.reload()
        assert editor._core.index.collections == expected
