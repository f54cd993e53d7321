"""A saved model declares the shapes that edits give its inputs, wherever in its functions these
were changed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw

keras = tf.keras


def exported(folder: Path) -> Path:
    one, other = keras.Input((6,), name="one"), keras.Input((3,), name="other")
    joined = keras.layers.Concatenate()([keras.layers.Dense(4)(one), other])
    keras.Model({"one": one, "other": other}, {"sum": keras.layers.Dense(3)(joined)}).export(
        str(folder), verbose=False
    )
    return folder


def declared(folder: Path) -> dict[str, list[Any]]:
    """The shapes of inputs, by key, as the signature's function and as the signature say."""
    function = tf.saved_model.load(folder).signatures["serving_default"]
    specs = function.structured_input_signature[1]
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        infos = (
            tf.compat.v1.saved_model.load(session, ["serve"], str(folder))
            .signature_def["serving_default"]
            .inputs
        )
        placeholders = {
            key: session.graph.get_tensor_by_name(info.name).shape for key, info in infos.items()
        }
    sizes = {key: tf.TensorShape(info.tensor_shape) for key, info in infos.items()}
    return {
        key: [each.as_list() for each in (specs[key].shape, sizes[key], placeholders[key])]
        for key in specs
    }


@pytest.mark.parametrize("depth", [0, 1, 2])
@pytest.mark.filterwarnings("ignore:'serve' of the saved object:UserWarning")
def test_a_batch_size_is_declared_wherever_it_was_changed(depth: int, tmp_path: Path) -> None:
    folder = exported(tmp_path / "model")
    feeds = {"one": np.ones((2, 6), np.float32), "other": np.ones((2, 3), np.float32)}
    expected = tf.saved_model.load(folder).signatures["serving_default"](**feeds)["sum"]
    editor = tgw.edit(folder)
    if depth < 2:
        editor.view.leave(depth)
    editor.passes.change_batch_size(2)
    editor.save(tmp_path / "fixed")
    assert declared(tmp_path / "fixed") == {"one": [[2, 6]] * 3, "other": [[2, 3]] * 3}
    function = tf.saved_model.load(tmp_path / "fixed").signatures["serving_default"]
    np.testing.assert_array_equal(function(**feeds)["sum"], expected)
    editor.undo()
    editor.save(tmp_path / "undone")
    assert declared(tmp_path / "undone") == {"one": [[None, 6]] * 3, "other": [[None, 3]] * 3}


class Reshaped(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable(tf.ones([8, 3]))

    @tf.function(input_signature=[tf.TensorSpec([4, 8])])
    def scores(self, x: Any) -> Any:
        return {"y": tf.reshape(tf.matmul(x, self.w), [4, -1])}


def test_a_batch_that_was_fixed_is_free_in_the_saved_object_too(tmp_path: Path) -> None:
    module = Reshaped()
    tf.saved_model.save(module, str(tmp_path / "model"), signatures=module.scores)
    editor = tgw.edit(tmp_path / "model")
    editor.passes.set_input("x", shape=[None, 8], fix=True)
    editor.save(tmp_path / "free")
    assert declared(tmp_path / "free") == {"x": [[None, 8]] * 3}
    loaded = tf.saved_model.load(tmp_path / "free")
    seven = np.ones((7, 8), np.float32)
    for function in (loaded.scores, lambda x: loaded.signatures["serving_default"](x=x)):
        np.testing.assert_array_equal(function(seven)["y"], np.full((7, 3), 8.0))


class CapturesInAnyOrder(tf.Module):
    """Its function captures a variable before constants, which TensorFlow keeps where they are
    large.
    """

    def __init__(self) -> None:
        self.weight = tf.Variable(2.0)
        self.values, self.row = tf.range(200.0), tf.ones([1, 200])

    @tf.function(input_signature=[tf.TensorSpec([2, 1], tf.float32, name="x")])
    def serve(self, x: Any) -> Any:
        scaled = tf.identity(x * self.weight, name="scaled")
        return {"y": scaled * tf.sqrt(self.values)[:3] + self.row[:, :3]}


def test_captured_constants_keep_their_shapes_wherever_handles_lie_among_them(
    tmp_path: Path,
) -> None:
    module = CapturesInAnyOrder()
    tf.saved_model.save(module, tmp_path / "model", signatures=module.serve)
    editor = tgw.edit(tmp_path / "model")
    editor.rename("scaled", "weighted")
    editor.save(tmp_path / "edited")
    x = tf.constant([[1.0], [2.0]])
    edited = tf.saved_model.load(tmp_path / "edited").signatures["serving_default"]
    assert edited(x=x)["y"].numpy().tolist() == module.serve(x)["y"].numpy().tolist()
