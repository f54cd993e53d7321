"""A variable is counted once, however many handles name it: parameters, trainable variables,
`tfgraphwidget info`.
"""

from __future__ import annotations

from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1
from tfgraphwidget.graph import count_variables, distinct_handles
from tfgraphwidget.hierarchy import outline_of
from tfgraphwidget.sources import describe_file


@pytest.fixture(scope="module")
def model() -> keras.Model:
    """Six trainable variables and two others: 99 numbers."""
    layers = [
        keras.layers.Dense(8, name="d1"),
        keras.layers.BatchNormalization(name="bn"),
        keras.layers.Dense(3),
    ]
    return keras.Sequential([keras.Input((4,)), *layers])


@pytest.fixture(scope="module", params=["exported", "saved by TensorFlow"])
def saved(
    request: pytest.FixtureRequest, model: keras.Model, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The model as a SavedModel."""
    folder = tmp_path_factory.mktemp("keras") / "model"
    if request.param == "exported":
        model.export(str(folder), verbose=False)
    else:
        tf.saved_model.save(model, str(folder))
    return folder


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_a_saved_model_of_keras_has_the_variables_and_parameters_of_the_model(
    saved: Path, model: keras.Model, depth: int
) -> None:
    editor = tgw.edit(saved)
    editor.view.leave(depth)
    assert len(editor.find("is:trainable").ops) == len(model.trainable_variables) == 6
    assert (
        np.nansum(editor.table(batch=1)["parameters"].astype(float)) == model.count_params() == 99
    )
    (described,) = describe_file(saved)["graphs"]
    assert len(described["variables"]) == len(model.variables) == 8
    assert described["variable_bytes"] == 4 * 99


def test_the_drawing_and_the_inspector_count_a_variable_once(
    saved: Path, model: keras.Model
) -> None:
    editor = tgw.edit(saved)
    for depth in (2, 1, 0):
        editor.view.leave(depth)
        index = editor._core.index
        outline, sums = outline_of(index)
        assert count_variables(index, range(len(index))) == len(model.variables) == 8
        assert sums.variables[0] == 8
        boxes = zip(outline.names, sums.variables.tolist(), sums.ops.tolist(), strict=True)
        counted = {
            name: count for name, count, ops in boxes if name and ops and name not in index.ids
        }
        assert {name: editor.inspect(name).variables for name in counted} == counted


def test_what_the_model_computes_with_is_what_is_counted(saved: Path) -> None:
    editor = tgw.edit(saved)
    call = editor._core.navigator.path[1]
    editor.view.leave(0)
    inputs = set(editor._core.index.nodes[editor._core.index.ids[call]].input)
    assert set(editor.find("is:trainable").ops) < inputs


def test_handles_of_one_shared_name_are_one_variable() -> None:
    with tf.Graph().as_default() as graph:
        for name in ("a", "b", "c"):
            handle = tf.raw_ops.VarHandleOp(
                dtype=tf.float32,
                shape=[5],
                shared_name="one" if name != "c" else "other",
                name=name,
            )
            tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)
    index = tgw.edit(graph)._core.index
    assert [index.names[i] for i in distinct_handles(index)] == ["a", "c"]
    assert tgw.edit(graph).table(batch=1)["parameters"].sum() == 10


def test_a_variable_that_starts_as_another_is_a_variable_where_something_uses_it(
    tmp_path: Path,
) -> None:
    class Two(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = tf.Variable([1.0, 2.0], name="a")
            self.b = tf.Variable(self.a, name="b")

        @tf.function(input_signature=[tf.TensorSpec([2])])
        def __call__(self, x: tf.Tensor) -> tf.Tensor:
            return self.a * x + self.b

    tf.saved_model.save(Two(), str(tmp_path / "two"))
    (described,) = describe_file(tmp_path / "two")["graphs"]
    assert sorted(variable["name"] for variable in described["variables"]) == ["a", "b"]


def test_the_variables_of_a_graph_with_a_saver_are_all_counted() -> None:
    with tf.Graph().as_default() as graph:
        a = v1.get_variable("a", [3], use_resource=True)
        v1.get_variable("b", initializer=a.read_value, dtype=tf.float32, use_resource=True)
        v1.get_variable("c", [2], use_resource=False)
        v1.train.Saver()
    index = tgw.edit(graph)._core.index
    assert [index.names[i] for i in distinct_handles(index)] == ["a", "b", "c"]
