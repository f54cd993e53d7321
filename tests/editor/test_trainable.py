"""Which variables are trainable, in functions, models and SavedModels: what is asked for is what is
made and saved.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import keras
import pytest
import tensorflow as tf
from tensorflow.core.framework.variable_pb2 import VariableDef

import tfgraphwidget as tgw
from tests.commands import trainable_after
from tfgraphwidget.edits import SetTrainable
from tfgraphwidget.errors import GraphEditError


class Model(tf.Module):
    """A function that calls another, which has two variables."""

    def __init__(self) -> None:
        super().__init__()
        self.w, self.b = (
            tf.Variable(tf.ones([2, 2]), name="w"),
            tf.Variable(tf.zeros([2]), name="b"),
        )
        self.inner = tf.function(lambda x: x @ self.w + self.b, autograph=False)

    @tf.function(input_signature=[tf.TensorSpec([None, 2], name="x")])
    def __call__(self, x):
        return tf.nn.relu(self.inner(x)) * 2.0


X = tf.constant([[1.0, 2.0]])


def names(variables: Any) -> list[str]:
    return [variable.name.partition(":")[0].rpartition("/")[2] for variable in variables]


def saved(editor: tgw.GraphEditor, folder: Path) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        editor.save(f"{folder}/")
    return tf.saved_model.load(str(folder))


def trained(loaded: Any, signature: str = "serving_default") -> list[str]:
    return sorted(names(loaded.signatures[signature].trainable_variables))


def test_a_function_has_the_trainable_variables_that_are_asked_for(tmp_path):
    model = Model()
    editor = tgw.edit(model.__call__)
    assert trainable_after(editor, "b") == ("b",) == editor.find("is:trainable").ops
    module = editor.to_module()
    assert names(module.trainable_variables) == ["b"]
    assert names(module.variables) == ["w", "b"]
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(module(X))
    assert names(tape.watched_variables()) == ["b"]
    assert tape.gradient(loss, [model.w, model.b])[0] is None
    assert names(editor.to_function().get_concrete_function(X).trainable_variables) == ["b"]
    assert names(model.trainable_variables) == ["b", "w"]  # the original's stay what they are
    assert names(editor.clone(into="own").trainable_variables) == ["b"]
    loaded = saved(editor, tmp_path / "saved")
    assert trained(loaded) == ["b"]
    assert tgw.edit(tmp_path / "saved").find("is:trainable").ops == ("b",)


def test_variables_of_the_edited_function_are_those_of_the_original():
    model = Model()
    editor = tgw.edit(model.__call__)
    editor.set_trainable("b")
    module = editor.to_module()
    module.variables[0].assign(tf.eye(2) * 3.0)
    module.variables[1].assign([1.0, 1.0])
    assert model.w.numpy().tolist() == [[3.0, 0.0], [0.0, 3.0]]
    assert model(X).numpy().tolist() == module(X).numpy().tolist() == [[8.0, 14.0]]
    editor.undo()
    assert all(
        mine is own
        for mine, own in zip(editor.to_module().variables, (model.w, model.b), strict=True)
    )


def test_it_is_said_in_a_called_function_and_is_so_for_the_whole(tmp_path):
    model = Model()  # TensorFlow's method holds it weakly
    editor = tgw.edit(model.__call__)
    editor.view.enter("StatefulPartitionedCall")
    assert trainable_after(editor, "w") == ("w",)
    assert names(editor.to_module().trainable_variables) == ["w"]
    editor.view.leave()
    assert editor.find("is:trainable").ops == ("w",)
    assert names(editor.to_module().trainable_variables) == ["w"]
    assert trained(saved(editor, tmp_path / "saved")) == ["w"]
    editor.undo()
    assert editor.find("is:trainable").ops == ("w", "b")
    editor.redo()  # which goes where the edit is
    assert editor.find("is:trainable").ops == ("w",)
    editor.view.leave()
    assert editor.find("is:trainable").ops == ("w",)


def test_its_code_and_its_json_make_it_again():
    model = Model()
    editor = tgw.edit(model.__call__)
    editor.view.enter("StatefulPartitionedCall")
    editor.set_trainable("b")
    editor.view.leave()
    editor.set_trainable("w")
    again = tgw.edit(model.__call__)
    again.history.replay(editor.history.records())
    assert again.find("is:trainable").ops == ("w",)
    again.undo()
    again.view.leave(0)
    assert again.find("is:trainable").ops == ("b",)
    exec(
        editor.history.to_script().text.replace("...,  # give", "model.__call__,  # give"),
        found := {"model": model},
    )
    assert found["editor"].find("is:trainable").ops == ("w",)


def test_variables_of_one_name_are_two():
    a, b = tf.Variable([1.0]), tf.Variable([2.0])
    editor = tgw.edit(tf.function(lambda x: x * a + b), signature=[tf.TensorSpec([1])])
    assert len(editor.find("is:trainable")) == 2
    assert trainable_after(editor, editor.find("is:trainable").ops[1]) == ("Variable_1",)
    assert [v.numpy().tolist() for v in editor.to_module().trainable_variables] == [[2.0]]


@pytest.fixture(scope="module")
def classifier() -> keras.Model:
    layers = keras.layers
    return keras.Sequential([
        keras.Input((3,)), layers.Dense(2, name="body"), layers.BatchNormalization(name="norm"),
        layers.Dense(1, name="head"),
    ], name="net")  # fmt: skip


def test_the_head_alone_of_a_keras_model_is_trainable(classifier):
    editor = tgw.edit(classifier)
    editor.set_trainable("net/head")
    module = editor.to_module()
    before = {id(v): v.numpy() for v in module.variables}
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(module(tf.ones([2, 3])))
    assert names(module.trainable_variables) == ["kernel", "bias"]
    assert len(module.variables) == 8
    gradients = tape.gradient(loss, module.trainable_variables)
    keras.optimizers.SGD(0.5).apply_gradients(
        zip(gradients, module.trainable_variables, strict=True)
    )
    changed = [v for v in module.variables if (before[id(v)] != v.numpy()).any()]
    assert {id(v) for v in changed} <= {id(v) for v in module.trainable_variables}
    assert len(classifier.trainable_variables) == 6
    with pytest.raises(GraphEditError, match="layers of the one that was opened"):
        editor.to_keras()


def test_a_keras_export_is_saved_with_it_and_is_otherwise_what_it_was(classifier, tmp_path):
    classifier.export(str(tmp_path / "export"), verbose=False)
    editor = tgw.edit(tmp_path / "export")
    editor.set_trainable("net/head/kernel")
    loaded = saved(editor, tmp_path / "entered")
    assert trained(loaded) == trained(loaded, "serve") == ["kernel"]
    layer = keras.layers.TFSMLayer(str(tmp_path / "entered"))
    assert names(layer.trainable_variables) == ["net_head_kernel"]
    assert len(layer.non_trainable_variables) == 7
    assert (
        tgw.edit(tmp_path / "entered").find("is:trainable").ops == editor.find("is:trainable").ops
    )
    editor.view.leave(0)
    # The graph is imported: the saved objects' variables are still known.
    assert editor.session is not None
    assert len(editor.find("is:trainable")) == 1
    assert trained(saved(editor, tmp_path / "left")) == ["kernel"]
    editor.undo()
    editor.view.leave(0)
    assert len(editor.find("is:trainable")) == 6
    editor.set_trainable(*editor.find("is:trainable").ops[:2])
    assert len(trained(saved(editor, tmp_path / "again"))) == 2


def test_a_savedmodel_of_tensorflow_1_lists_the_variables_that_are_asked_for(tmp_path):
    v1 = tf.compat.v1
    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        x = v1.placeholder(tf.float32, [None, 2], "x")
        w, b = (v1.get_variable(name, [2], use_resource=True) for name in ("w", "b"))
        y = tf.identity(x * w + b, "y")
        session.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(session, str(tmp_path / "one"), {"x": x}, {"y": y})
    editor = tgw.edit(tmp_path / "one")
    editor.set_trainable("b")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        editor.save(f"{tmp_path / 'two'}/")
    assert tgw.edit(tmp_path / "two").find("is:trainable").ops == ("b",)
    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        v1.saved_model.load(session, ["serve"], str(tmp_path / "two"))
        assert names(v1.trainable_variables()) == ["b"]
        assert sorted(names(v1.global_variables())) == ["b", "w"]


@pytest.mark.parametrize("resource", [True, False])
def test_slots_of_an_optimizer_below_a_variable_are_not_trained_with_it(resource: bool) -> None:
    v1 = tf.compat.v1
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 2], name="x")
        for name in ("one", "two"):
            with v1.variable_scope(name):
                x = tf.matmul(x, v1.get_variable("w", [2, 2], use_resource=resource), name="y")
        v1.train.AdamOptimizer().minimize(tf.reduce_sum(x), name="step")
    editor = tgw.edit(graph)
    editor.set_trainable("one")
    assert editor.find("is:trainable").ops == ("one/w",)
    editor.set_trainable(editor.ops(scope="two"))
    assert editor.find("is:trainable").ops == ("two/w",)
    editor.set_trainable("two/w/Adam")  # who names one means it
    assert editor.find("is:trainable").ops == ("two/w/Adam",)


@pytest.mark.parametrize("resource", [True, False])
def test_of_a_scope_only_what_was_made_to_be_trained_is_trainable(resource: bool) -> None:
    v1 = tf.compat.v1
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 2], name="x")
        for name in ("one", "two"):
            with v1.variable_scope(name):
                mean = v1.get_variable("moving_mean", [2], use_resource=resource, trainable=False)
                x = tf.matmul(x, v1.get_variable("w", [2, 2], use_resource=resource)) - mean
                step = v1.get_variable("step", [], tf.int64, use_resource=resource, trainable=False)
        # Below the name of another variable.
        v1.get_variable("one/step/w", [], use_resource=resource)
        with tf.name_scope("two/"):  # where Adam's powers of beta then are
            v1.train.AdamOptimizer().minimize(tf.reduce_sum(x), global_step=step)
    editor = tgw.edit(graph)
    assert trainable_after(editor, "one") == ("one/w", "one/step/w")
    # Which the edit before has taken from the collection.
    assert trainable_after(editor, "two") == ("two/w",)
    assert trainable_after(editor, editor.find("is:variable")) == ("one/w", "two/w", "one/step/w")
    assert trainable_after(editor, "one/moving_mean", "two/w") == ("one/moving_mean", "two/w")
    assert trainable_after(editor, editor.ops("two/step")) == ("two/step",)  # nothing else is meant
    assert trainable_after(editor, "one/step") == ("one/step",)
    assert trainable_after(editor, "one/step/") == ("one/step/w",)


def test_of_a_file_whose_definitions_do_not_say_it_the_collection_does(tmp_path):
    v1 = tf.compat.v1
    with tf.Graph().as_default() as graph, v1.variable_scope("net"):
        v1.get_variable("w", [2])
        v1.get_variable("moving_mean", [2], trainable=False)
        meta_graph = v1.train.export_meta_graph(graph=graph)
    for key in ("variables", "trainable_variables"):
        values = meta_graph.collection_def[key].bytes_list.value
        for at, value in enumerate(values):
            (definition := VariableDef.FromString(value)).ClearField("trainable")
            values[at] = definition.SerializeToString()
    (tmp_path / "old.meta").write_bytes(meta_graph.SerializeToString())
    assert trainable_after(tgw.edit(tmp_path / "old.meta"), "net") == ("net/w",)


def test_the_moving_averages_of_a_batch_normalization_are_not_trained_with_its_scope(classifier):
    editor = tgw.edit(classifier)
    assert trainable_after(editor, "net/norm") == ("net/norm/gamma", "net/norm/beta")
    assert names(editor.to_module().trainable_variables) == ["gamma", "beta"]


def test_what_is_said_is_about_optimizers_to_come_since_the_training_of_the_graph_is_as_it_was():
    assert (
        SetTrainable(("net/w",)).note()
        == "An optimizer that is made from now on trains 'net/w' only."
    )
    assert SetTrainable(()).note() == "An optimizer that is made from now on trains nothing."


def test_a_layer_of_keras_that_does_not_train_is_not_trained_by_what_is_made_of_the_model(
    tmp_path,
):
    model = keras.Sequential(
        [keras.Input((3,)), keras.layers.Dense(4, name="base"), keras.layers.Dense(2, name="head")]
    )
    base, head = model.layers
    base.trainable = False
    editor = tgw.edit(model)
    copies = [
        editor.to_module(),
        editor.clone(into="shared", variables="shared"),
        editor.clone(into="own"),
    ]
    for copy in copies:
        assert [variable.shape for variable in copy.trainable_variables] == [(4, 2), (2,)]
        assert [variable.shape for variable in copy.layer().trainable_variables] == [(4, 2), (2,)]
    module = copies[0]
    assert module[base.kernel].handle is base.kernel.value.handle, "the variable of the model"
    before = base.kernel.numpy(), head.kernel.numpy()
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(module(tf.ones([5, 3])) ** 2)
    assert len(tape.watched_variables()) == 2
    gradients = tape.gradient(loss, module.trainable_variables)
    keras.optimizers.SGD(0.1).apply_gradients(
        zip(gradients, module.trainable_variables, strict=True)
    )
    assert (base.kernel.numpy() == before[0]).all()
    assert (head.kernel.numpy() != before[1]).any()
    editor.save(tmp_path / "saved")
    saved = tf.saved_model.load(tmp_path / "saved")
    signature = saved.signatures["serving_default"]
    assert [variable.shape for variable in signature.trainable_variables] == [(4, 2), (2,)]
