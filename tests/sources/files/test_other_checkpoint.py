"""A SavedModel opened with another checkpoint of its model: its values, and still all of its
objects.
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
from tests.conftest import v1
from tfgraphwidget.errors import GraphEditError

X = np.array([[1.0, -1.0]], np.float32)


class Layer(tf.Module):
    """One variable; its functions come before it in the order of attributes."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.k = tf.Variable(value, name="k")

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32)])
    def a(self, x: tf.Tensor) -> tf.Tensor:
        """The layer."""
        return tf.nn.relu(x * self.k)


class Net(tf.Module):
    """Layers inside of a module, of variables with one name."""

    def __init__(self, first: Any = (1.0, 2.0), second: Any = (3.0, 4.0)) -> None:
        super().__init__()
        self.layers = [Layer(first), Layer(second)]
        self.unused = tf.Variable(7.0, name="unused")

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32)])
    def apply(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        """All layers."""
        return {"y": self.layers[1].a(self.layers[0].a(x)) + 1.0}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, net = tmp_path_factory.mktemp("net") / "net", Net()
    tf.saved_model.save(net, str(folder), signatures={"apply": net.apply})
    return folder


def v1_checkpoint(path: Path, **values: Any) -> str:
    """A checkpoint of TensorFlow 1, whose names are those of the variables."""
    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        for name, value in values.items():
            v1.get_variable(name, initializer=value)
        session.run(v1.global_variables_initializer())
        return str(v1.train.Saver().save(session, str(path)))


def reloaded(path: Path, saved: Path) -> str:
    model = tf.saved_model.load(str(saved))
    model.layers[0].k.assign([10.0, 20.0])
    model.layers[1].k.assign([30.0, 40.0])
    return str(tf.train.Checkpoint(model).write(str(path)))


WRITERS: dict[str, Callable[[Path, Path], str]] = {
    "the model": lambda path, _: tf.train.Checkpoint(Net([10.0, 20.0], [30.0, 40.0])).write(
        str(path)
    ),
    "an object that has it": lambda path, _: tf.train.Checkpoint(
        step=tf.Variable(1), model=Net([10.0, 20.0], [30.0, 40.0])
    ).save(str(path)),
    "the SavedModel, loaded again": reloaded,
}


@pytest.mark.filterwarnings(
    "ignore:.*of the saved object is unchanged"
)  # the layers that a frozen one calls
@pytest.mark.parametrize("kind", WRITERS)
def test_a_checkpoint_of_the_old_model_gives_the_edited_one_its_values(
    saved: Path, tmp_path: Path, kind: str
) -> None:
    checkpoint = WRITERS[kind](tmp_path / "other", saved)
    wanted = [[301.0, 1.0]]
    editor = tgw.edit(saved, checkpoint=checkpoint)
    assert editor.source.notices == ()
    assert editor.to_module()(X).numpy().tolist() == wanted
    editor.view.leave(0)
    ((_, x),), ((_, y),) = (
        next(iter(editor.signatures.values())).inputs,
        next(iter(editor.signatures.values())).outputs,
    )
    assert editor.session.run(y, {x: X}).tolist() == wanted
    editor.save(tmp_path / "unedited/")
    for name, edit in {
        "edited": lambda e: e.insert(y, tf.negative),
        "frozen": lambda e: e.freeze(),
    }.items():
        editor = tgw.edit(saved, checkpoint=checkpoint)
        editor.view.leave(0)
        edit(editor)
        editor.save(tmp_path / name)
    for name, sign in {"unedited": 1, "edited": -1, "frozen": 1}.items():
        loaded = tf.saved_model.load(str(tmp_path / name))
        assert loaded.signatures["apply"](tf.constant(X))["y"].numpy().tolist() == [
            [301.0 * sign, 1.0 * sign]
        ]
        assert [layer.k.numpy().tolist() for layer in loaded.layers] == [[10.0, 20.0], [30.0, 40.0]]
        assert loaded.unused.numpy() == 7.0
        again = tf.train.Checkpoint(loaded)
        again.restore(tf.train.Checkpoint(Net()).write(str(tmp_path / "first"))).expect_partial()
        assert loaded.layers[1].k.numpy().tolist() == [3.0, 4.0]


def test_a_checkpoint_of_tensorflow_1_goes_by_the_names_of_variables(tmp_path: Path) -> None:
    layer = Layer([1.0, 2.0])
    tf.saved_model.save(layer, str(tmp_path / "layer"), signatures={"a": layer.a})
    editor = tgw.edit(tmp_path / "layer", checkpoint=v1_checkpoint(tmp_path / "v1", k=[5.0, 6.0]))
    assert editor.to_module()(X).numpy().tolist() == [[5.0, 0.0]]


def test_a_checkpoint_of_a_keras_model_gives_its_export_the_values(tmp_path: Path) -> None:
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [keras.Input((2,)), keras.layers.Dense(2, name="d"), keras.layers.Dense(1, name="e")]
    )
    model.export(str(tmp_path / "export"), verbose=False)
    model.set_weights([weight + 1.0 for weight in model.get_weights()])
    editor = tgw.edit(
        tmp_path / "export", checkpoint=tf.train.Checkpoint(model).write(str(tmp_path / "new"))
    )
    given = editor.to_function()(tf.constant(X))
    (result,) = given.values() if isinstance(given, dict) else [given]
    assert np.allclose(result, model(X))


class Wide(tf.Module):
    """The first layer is of another shape."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = [Layer([1.0, 2.0, 3.0]), Layer([1.0, 2.0])]


class Whole(tf.Module):
    """The first layer is of another dtype."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = [Layer([1, 2]), Layer([1.0, 2.0])]


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (
            lambda: tf.train.Checkpoint(other=tf.Variable(1.0)),
            "has no value for it (it has 'other/",
        ),
        (
            lambda: tf.train.Checkpoint(Wide()),
            "is float32 [2], and the checkpoint has float32 [3] under 'layers/0/k",
        ),
        (
            lambda: tf.train.Checkpoint(Whole()),
            "is float32 [2], and the checkpoint has int32 [2] under 'layers/0/k",
        ),
    ],
)
def test_a_checkpoint_of_another_model_is_refused_by_variable_key_and_shape(
    saved: Path, tmp_path: Path, model: Callable[[], Any], words: str
) -> None:
    path = model().write(str(tmp_path / "other"))
    for thing in (saved, str(saved)):
        with pytest.raises(GraphEditError) as refused:
            tgw.edit(thing, checkpoint=path)
        sentence = refused.value.why
        assert sentence.startswith(f"checkpoint={path!r}: variable 'k' of the SavedModel ")
        assert words in sentence
        assert sentence.endswith("; give a checkpoint of this model, or leave checkpoint= out.")


def test_values_of_another_shape_are_named_before_the_import_of_any_graph(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        x = v1.placeholder(tf.float32, [None, 2], name="x")
        y = tf.identity(x * v1.get_variable("w", initializer=[1.0, 2.0]), name="y")
        session.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(session, str(tmp_path / "v1"), {"x": x}, {"y": y})
        v1.train.Saver().save(session, str(tmp_path / "m"))
        v1.train.Saver().save(session, str(tmp_path / "good"))
    wide = v1_checkpoint(tmp_path / "wide", w=[1.0, 2.0, 3.0])
    other = v1_checkpoint(tmp_path / "other", u=[1.0, 2.0])
    for checkpoint, words in ((wide, "float32 [3]"), (other, "it has 'u'")):
        with pytest.raises(GraphEditError, match="variable 'w' of the SavedModel") as refused:
            tgw.edit(tmp_path / "v1", checkpoint=checkpoint)
        assert words in str(refused.value)
    editor = tgw.edit(tmp_path / "v1", checkpoint=tmp_path / "good")
    assert editor.session.run("y:0", {"x:0": X}).tolist() == [[1.0, -2.0]]
    (notice,) = tgw.edit(tmp_path / "m.meta", checkpoint=wide).source.notices
    assert "variable 'w' is float32 [2], and the checkpoint has float32 [3] under 'w'" in notice
    with pytest.raises(GraphEditError, match="variable 'w' is float32"):
        tgw.edit(tmp_path / "m.meta", checkpoint=wide).session.run("y:0", {"x:0": X})
