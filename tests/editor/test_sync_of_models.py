"""Values between Keras models, modules, functions, SavedModels, checkpoints and graphs of TensorFlow 1."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1
from tfgraphwidget.cli import main
from tfgraphwidget.errors import GraphEditError, NotAGraph, SessionRefused, UnknownName


def model(*names: str, width: int = 8) -> keras.Model:
    first, last = names or ("first", "last")
    layers = [keras.layers.Dense(width, name=first), keras.layers.Dense(3, name=last)]
    built = keras.Sequential([keras.Input((4,)), *layers])
    for seed, weight in enumerate(built.weights):
        weight.assign(np.random.default_rng(seed).normal(size=weight.shape))
    return built


def changed(other: keras.Model) -> keras.Model:
    for weight in other.weights:
        weight.assign(weight + 1.0)
    return other


def equal(a: keras.Model, b: keras.Model) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(a.get_weights(), b.get_weights(), strict=True))


def names(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(a.partition("/")[2], b.partition("/")[2]) for a, b in pairs]


ALL = [(name, name) for name in ("first/kernel", "first/bias", "last/kernel", "last/bias")]


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> tuple[keras.Model, str]:
    source, folder = model(), str(tmp_path_factory.mktemp("models") / "exported")
    source.export(folder, verbose=False)
    return source, folder


def test_a_keras_model_gets_the_values_of_another_whose_own_name_differs() -> None:
    source, target = model(), changed(model())
    assert source.name != target.name
    assert names(tgw.sync(source, target)) == ALL
    assert equal(source, target)


def test_models_whose_layers_have_other_names_are_paired_by_their_places_layer_by_layer_or_in_order() -> None:
    source, target = model(), changed(model("encoder", "head"))
    assert names(tgw.sync(source, target, {source.layers[0]: target.layers[0]})) == [
        ("first/kernel", "encoder/kernel"),
        ("first/bias", "encoder/bias"),
    ]
    assert np.array_equal(source.get_weights()[0], target.get_weights()[0])
    assert not np.array_equal(source.get_weights()[2], target.get_weights()[2])
    assert len(tgw.sync(source, target)) == 4  # as a checkpoint of one is restored into the other
    assert equal(source, target)
    flat = {f"w{k}": tf.Variable(weight + 1.0, name=f"w{k}") for k, weight in enumerate(source.weights)}
    module = tf.Module()
    module.flat = flat
    with pytest.raises(GraphEditError, match="by_order=True"):
        tgw.sync(source, module)
    assert all(np.array_equal(w + 1.0, v) for w, v in zip(source.weights, flat.values(), strict=True))
    assert len(tgw.sync(source, module, by_order=True)) == 4
    assert all(np.array_equal(w, v) for w, v in zip(source.weights, flat.values(), strict=True))
    with pytest.raises(GraphEditError, match="leave names= out"):
        tgw.sync(source, target, names="first", by_order=True)


def test_two_objects_of_a_subclass_are_paired_by_their_attributes() -> None:
    class Subclassed(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = keras.layers.Dense(3), keras.layers.Dense(3)
            self.w = self.add_weight(shape=(3,), name="w")

        def call(self, x: Any) -> Any:
            return self.b(self.a(x)) + self.w

    source, target = Subclassed(), Subclassed()
    for each in (source, target):
        each(tf.ones([1, 2]))
    assert len(tgw.sync(source, target)) == 5  # not only "w", whose name is the same
    assert equal(source, target)


def test_slots_of_the_optimizer_go_along_when_asked() -> None:
    source, target = model(), changed(model())
    for each in (source, target):
        each.compile("adam", "mse")
        each.optimizer.build(each.trainable_variables)
    source.fit(tf.ones([4, 4]), tf.ones([4, 3]), verbose=0)
    assert names(tgw.sync(source, target)) == ALL
    assert not np.array_equal(source.optimizer.variables[0], target.optimizer.variables[0])
    assert len(tgw.sync(source, target, slots=True)) == 4 + 2 + 8
    pairs = zip(source.optimizer.variables, target.optimizer.variables, strict=True)
    assert all(np.array_equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("way", ["path", "editor", "loaded"])
def test_a_saved_model_gives_its_values(exported: tuple[keras.Model, str], way: str) -> None:
    source, folder = exported
    given: Any = {"path": str, "editor": tgw.edit, "loaded": tf.saved_model.load}[way](folder)
    target = changed(model())
    assert names(tgw.sync(given, target)) == ALL
    assert equal(source, target)
    other = changed(model("encoder", "head"))
    assert len(tgw.sync(given, other, by_order=True)) == 4
    assert equal(source, other)


def test_a_file_is_not_a_target(exported: tuple[keras.Model, str]) -> None:
    source, folder = exported
    with pytest.raises(SessionRefused, match="is a file, which is not changed in place"):
        tgw.sync(source, folder)


@pytest.mark.parametrize("way", ["checkpoint", "SavedModel"])
def test_an_editor_of_a_file_gets_values_and_writes_them_and_the_file_stays(way: str, tmp_path: Path) -> None:
    v1 = tf.compat.v1
    x = np.array([[1.0, 2.0]], np.float32)
    w, b = np.arange(6, dtype=np.float32).reshape(2, 3), np.ones(3, np.float32)
    with tf.Graph().as_default(), v1.Session() as session:
        fed = v1.placeholder(tf.float32, [None, 2], "x")
        weights = [
            v1.get_variable(name, use_resource=True, initializer=value * 0) for name, value in (("w", w), ("b", b))
        ]
        y = tf.add(fed @ weights[0], weights[1], name="y")
        average = v1.train.ExponentialMovingAverage(0.5)
        update = average.apply(weights)
        session.run(v1.global_variables_initializer())
        for variable, value in zip(weights, (w, b), strict=True):
            variable.load(value, session)
        session.run(update)
        names = {average.average_name(variable): variable.op.name for variable in weights}
        v1.train.Saver().save(session, str(tmp_path / "c"))
        v1.saved_model.simple_save(session, str(tmp_path / "m"), {"x": fed}, {"y": y})
    expected = x @ (w / 2) + b / 2

    def opened() -> tgw.GraphEditor:
        if way == "SavedModel":
            return tgw.edit(tmp_path / "m")
        return tgw.edit(tmp_path / "c.meta", checkpoint=tmp_path / "c")

    def result(editor: tgw.GraphEditor) -> Any:
        return editor.probe("y:0", {"x:0": x})["y:0"].value

    editor = opened()
    for _ in range(2):
        assert set(tgw.sync(editor, editor, names=names)) == set(names.items())
    assert not editor.history.done
    np.testing.assert_allclose(result(editor), expected)
    frozen = tgw.edit(editor.save(tmp_path / "f.pb", "x:0", "y:0", frozen=True))
    np.testing.assert_allclose(result(frozen), expected)
    again = tgw.edit(editor.save(tmp_path / "e.tgw"))
    np.testing.assert_allclose(result(again), expected)
    editor.save(f"{tmp_path}/s/", **({} if way == "SavedModel" else {"inputs": "x:0", "outputs": {"y": "y:0"}}))
    with tf.Graph().as_default(), v1.Session() as session:
        v1.saved_model.load(session, ["serve"], str(tmp_path / "s"))
        np.testing.assert_allclose(session.run("y:0", {"x:0": x}), expected)
    editor.freeze("y:0")
    np.testing.assert_allclose(result(editor), expected)
    np.testing.assert_allclose(result(opened()), x @ w + b)


def test_a_file_with_two_handles_of_each_variable_is_refused_as_a_target(exported: tuple[keras.Model, str]) -> None:
    """As exports of Keras have: the function reads one of them, and nothing says which."""
    source, folder = exported
    with pytest.raises(SessionRefused, match="is a file, which is not changed in place"):
        tgw.sync(source, tgw.edit(folder))


def test_functions_editors_and_modules_that_were_cloned_take_and_give_values() -> None:
    source, target = model(), changed(model())
    function = tf.function(source)
    function(tf.ones([1, 4]))
    assert names(tgw.sync(function, target)) == ALL
    assert equal(source, target)
    changed(target)
    assert sorted(names(tgw.sync(tgw.edit(source), tgw.edit(target)))) == sorted(ALL)
    assert equal(source, target)
    copy = tgw.edit(source).clone(into="copy")
    changed(target)
    assert len(tgw.sync(target, copy)) == 4
    assert np.allclose(copy(tf.ones([1, 4])), target(tf.ones([1, 4])), atol=1e-5)


def test_a_graph_of_tensorflow_1_and_a_keras_model_exchange_values() -> None:
    source, graph = model(), tf.Graph()
    with graph.as_default():
        kernel = v1.get_variable("first/kernel", [4, 8], use_resource=False)
        bias = v1.get_variable("first/bias", [8], use_resource=True)
        v1.get_variable("other", [2])
        session = v1.Session()
        session.run(v1.global_variables_initializer())
    editor = tgw.edit(graph, session=session)
    assert names(tgw.sync(source, editor))[0][0] == "first/kernel"
    assert np.array_equal(session.run(kernel), source.get_weights()[0])
    session.run(bias.initializer)
    zeros = session.run("first/bias/Read/ReadVariableOp:0")
    assert len(tgw.sync(session, source, "first")) == 2
    assert np.array_equal(source.get_weights()[1], zeros)
    session.close()


class Layers(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = [tf.Variable(1.0, name="v"), tf.Variable(2.0, name="v")]
        self.w = tf.Variable(3.0, name="w")


def test_variables_of_one_name_are_told_apart_by_their_paths() -> None:
    source, target = Layers(), Layers()
    source.layers[1].assign(7.0)
    assert ("layers/1", "layers/1") in tgw.sync(source, target)
    assert target.layers[1].numpy() == 7.0
    source.layers[0].assign(5.0)
    source.w.assign(5.0)
    assert tgw.sync(source, target, "layers/0") == (("layers/0", "layers/0"),)
    assert (target.layers[0].numpy(), target.w.numpy()) == (5.0, 3.0)


def test_values_are_mixed() -> None:
    source, target = Layers(), Layers()
    source.w.assign(7.0)
    tgw.sync(source, target, tau=0.25)
    assert target.w.numpy() == 4.0


def test_a_refusal_assigns_nothing() -> None:
    source, target = model(), changed(model(width=9))
    before = target.get_weights()
    with pytest.raises(GraphEditError, match=r"has shape \(4, 8\) and cannot be copied to"):
        tgw.sync(source, target)
    assert all(np.array_equal(a, b) for a, b in zip(before, target.get_weights(), strict=True))
    with pytest.raises(NotAGraph, match="3"):
        tgw.sync(3, target)
    with pytest.raises(UnknownName, match="no variable 'midle'"):
        tgw.sync(source, model(), "midle")
    with pytest.raises(GraphEditError, match="call it on data once"):
        tgw.sync(source, keras.Sequential([keras.layers.Dense(2)]))


def test_an_interrupt_while_values_are_assigned_leaves_all_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = Layers(), Layers()
    for each in source.variables:
        each.assign(each + 10.0)
    kind, count = type(target.w), [0]
    assign = kind.assign

    def interrupted(variable: Any, value: Any, *args: Any, **options: Any) -> Any:
        count[0] += 1
        if count[0] == 2:
            raise KeyboardInterrupt
        return assign(variable, value, *args, **options)

    monkeypatch.setattr(kind, "assign", interrupted)
    with pytest.raises(KeyboardInterrupt):
        tgw.sync(source, target)
    monkeypatch.undo()
    assert [v.numpy() for v in (*target.layers, target.w)] == [1.0, 2.0, 3.0]


def test_sync_works_while_a_graph_of_tensorflow_1_is_the_default_one() -> None:
    source, target = model(), changed(model())
    with tf.Graph().as_default():
        assert len(tgw.sync(source, target)) == 4
    assert equal(source, target)


def test_layers_that_are_nested_are_found_by_their_own_name_if_there_is_one() -> None:
    def nested() -> keras.Model:
        inner = keras.Sequential([keras.Input((4,)), keras.layers.Dense(4, name="dense_in")], name="inner")
        return keras.Sequential([keras.Input((4,)), inner, keras.layers.Dense(2, name="out")])

    source, target = nested(), changed(nested())
    assert names(tgw.sync(source, target, "dense_in")) in (
        [("dense_in/kernel", "dense_in/kernel"), ("dense_in/bias", "dense_in/bias")],
        [("inner/dense_in/kernel", "inner/dense_in/kernel"), ("inner/dense_in/bias", "inner/dense_in/bias")],
    )


def test_drift_and_diff_say_which_values_differ_and_by_how_much(
    exported: tuple[keras.Model, str], tmp_path: Path
) -> None:
    source, folder = exported
    other = model()
    other.layers[0].bias.assign(source.layers[0].bias + 0.25)
    assert [(name.partition("/")[2], round(far, 5)) for name, far in tgw.drift(source, other).items()] == [
        ("first/kernel", 0.0), ("first/bias", 0.25), ("last/kernel", 0.0), ("last/bias", 0.0),
    ]  # fmt: skip
    second = str(tmp_path / "second")
    other.export(second, verbose=False)
    editor = tgw.edit(second)
    editor.leave(0)
    (value,) = editor.diff(folder, values=True).values
    assert (value.name.partition("/")[2], round(value.distance, 5)) == ("first/bias", 0.25)
    assert editor.diff(folder).values == ()
    with pytest.raises(GraphEditError, match="name the other"):
        editor.diff(values=True)


def test_the_command_line_compares_values_and_two_checkpoints(
    exported: tuple[keras.Model, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, folder = exported
    other = model()
    first = tf.train.Checkpoint(model=source).write(str(tmp_path / "first"))
    other.layers[0].bias.assign(source.layers[0].bias + 0.25)
    second = tf.train.Checkpoint(model=other).write(str(tmp_path / "second"))

    def diff(*arguments: str) -> tuple[int, str]:
        capsys.readouterr()
        code = main(["diff", *arguments])
        return code, capsys.readouterr().out

    code, text = diff(first, second)
    assert code == 1
    assert "1 value changed" in text
    assert "differs by up to 0.25" in text
    assert diff(first, f"{first}.index") == (0, "No difference.\n")
    _, text = diff(first, second, "--json")
    assert [row["what"] for row in json.loads(text)] == ["value"]
    assert diff(folder, folder, "--values") == (0, "No difference.\n")


def test_two_sessions_are_compared() -> None:
    before, after = tgw.example(), tgw.example()
    after.session.run("train", {"x:0": [[1, 2, 3, 4]], "labels:0": [0]})
    found = after.diff(before, values=True)
    assert {value.name for value in found.values} == {"net/hidden/w", "net/hidden/b", "net/w"}
    assert all(value.distance > 0 for value in found.values)
    assert "3 values changed" in repr(found)
    assert not found.changed
