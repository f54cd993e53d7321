"""Values between Keras models, modules, functions, SavedModels, checkpoints and graphs of
TensorFlow 1.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Sequence
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
from tfgraphwidget.sources import tf_protos


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


def test_models_with_other_names_of_layers_are_paired_by_their_places_by_layer_or_in_order() -> (
    None
):
    source, target = model(), changed(model("encoder", "head"))
    assert names(tgw.sync(source, target, {source.layers[0]: target.layers[0]})) == [
        ("first/kernel", "encoder/kernel"),
        ("first/bias", "encoder/bias"),
    ]
    assert np.array_equal(source.get_weights()[0], target.get_weights()[0])
    assert not np.array_equal(source.get_weights()[2], target.get_weights()[2])
    assert len(tgw.sync(source, target)) == 4  # as a checkpoint of one is restored into the other
    assert equal(source, target)
    flat = {
        f"w{k}": tf.Variable(weight + 1.0, name=f"w{k}") for k, weight in enumerate(source.weights)
    }
    module = tf.Module()
    module.flat = flat
    with pytest.raises(GraphEditError, match="by_order=True"):
        tgw.sync(source, module)
    assert all(
        np.array_equal(w + 1.0, v) for w, v in zip(source.weights, flat.values(), strict=True)
    )
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
def test_an_editor_of_a_file_gets_values_and_writes_them_and_the_file_stays(
    way: str, tmp_path: Path
) -> None:
    v1 = tf.compat.v1
    x = np.array([[1.0, 2.0]], np.float32)
    w, b = np.arange(6, dtype=np.float32).reshape(2, 3), np.ones(3, np.float32)
    with tf.Graph().as_default(), v1.Session() as session:
        fed = v1.placeholder(tf.float32, [None, 2], "x")
        weights = [
            v1.get_variable(name, use_resource=True, initializer=value * 0)
            for name, value in (("w", w), ("b", b))
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
    editor.save(
        f"{tmp_path}/s/",
        **({} if way == "SavedModel" else {"inputs": "x:0", "outputs": {"y": "y:0"}}),
    )
    with tf.Graph().as_default(), v1.Session() as session:
        v1.saved_model.load(session, ["serve"], str(tmp_path / "s"))
        np.testing.assert_allclose(session.run("y:0", {"x:0": x}), expected)
    editor.freeze("y:0")
    np.testing.assert_allclose(result(editor), expected)
    np.testing.assert_allclose(result(opened()), x @ w + b)


class Net(keras.Model):
    """A subclassed model with a layer that keeps statistics."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden, self.norm = (
            keras.layers.Dense(8, activation="relu"),
            keras.layers.BatchNormalization(),
        )
        self.out = keras.layers.Dense(3)

    def call(self, x: Any) -> Any:
        return self.out(self.norm(self.hidden(x)))


class Steps(tf.Module):
    """A module of TensorFlow with variables of two dtypes, read in a function that another
    calls.
    """

    def __init__(self, factor: float = 1.0) -> None:
        super().__init__()
        self.w, self.n = (
            tf.Variable(tf.ones([4, 3]) * factor, name="w"),
            tf.Variable(int(factor), name="n"),
        )
        self.deep = [
            tf.Variable(tf.fill([3], factor), name="b"),
            tf.Variable(tf.fill([3], 2 * factor), name="b"),
        ]

    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32)])
    def inner(self, x: Any) -> Any:
        return tf.matmul(x, self.w) * self.deep[1]

    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32)])
    def __call__(self, x: Any) -> Any:
        return self.inner(x) + self.deep[0] + tf.cast(self.n, tf.float32)


def subclassed() -> keras.Model:
    built = Net()
    built(tf.ones([1, 4]))
    for seed, weight in enumerate(built.weights):
        weight.assign(np.random.default_rng(seed).uniform(0.5, 1.5, size=weight.shape))
    return built


def _export(source: Any, folder: str) -> None:
    source.export(
        folder, verbose=False, input_signature=[keras.InputSpec(shape=(None, 4), dtype="float32")]
    )


def _archive(source: Any, folder: str) -> None:
    """An export with two endpoints."""
    archive = keras.export.ExportArchive()
    archive.track(source)
    spec = [tf.TensorSpec([None, 4], tf.float32)]
    archive.add_endpoint("serve", source.call, input_signature=spec)
    archive.add_endpoint("twice", lambda x: 2.0 * source(x), input_signature=spec)
    archive.write_out(folder, verbose=False)


def _save(source: Any, folder: str) -> None:
    served = tf.function(source, input_signature=[tf.TensorSpec([None, 4], tf.float32)])
    tf.saved_model.save(source, folder, signatures=served)


@pytest.mark.parametrize(
    ("make", "write"),
    [
        *((make, write) for make in (model, subclassed) for write in (_export, _archive, _save)),
        (Steps, _save),
    ],
)
@pytest.mark.sample(2)
def test_a_saved_model_of_tensorflow_2_gets_values_under_every_handle_of_its_variables(
    make: Callable[[], Any], write: Callable[[Any, str], None], tmp_path: Path
) -> None:
    """Keras exports each variable under several handles, and a SavedModel of TensorFlow 2 has no
    initializers.
    """
    x = np.random.default_rng(7).normal(size=(2, 4)).astype(np.float32)
    file, source = make(), make()
    for variable in source.variables:
        variable.assign(variable * 2 + 1)
    write(file, str(tmp_path / "file"))
    editor = tgw.edit(tmp_path / "file")
    # A subclassed model exports the names of its variables without those of its layers.
    in_order = make is subclassed and write is not _save
    pairs = tgw.sync(source, editor, by_order=in_order)
    assert len(pairs) == len(source.variables)
    assert not editor.history.done
    assert set(tgw.drift(source, editor, by_order=in_order).values()) == {0.0}
    with warnings.catch_warnings(
        record=True
    ):  # TensorFlow 1 runs no SavedModel that Keras saves by TensorFlow's call
        warnings.simplefilter("always")
        editor.save(f"{tmp_path}/written/")
    expected = source(tf.constant(x)).numpy()

    loaded = tf.saved_model.load(str(tmp_path / "written"))
    for name, signature in loaded.signatures.items():
        times = 2.0 if name == "twice" else 1.0
        np.testing.assert_allclose(
            *signature(tf.constant(x)).values(), times * expected, rtol=1e-5, atol=1e-5
        )
    assert set(tgw.drift(source, str(tmp_path / "written"), by_order=in_order).values()) == {0.0}
    listed = getattr(loaded, "_all_variables", None)  # those of the layers, which Keras reads
    if listed is not None:
        texts = (
            sorted(str(each.numpy().tolist()) for each in variables)
            for variables in (listed, loaded.variables)
        )
        assert next(texts) == next(texts)
    with tf.Graph().as_default(), v1.Session() as session:
        if write is _save and make is not Steps:
            return
        meta = v1.saved_model.load(session, ["serve"], str(tmp_path / "written"))
        ends = next(each for name, each in meta.signature_def.items() if name.startswith("serv"))
        fed, fetched = (next(iter(values.values())).name for values in (ends.inputs, ends.outputs))
        np.testing.assert_allclose(session.run(fetched, {fed: x}), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("make", "write"), [(model, _export), (subclassed, _archive), (Steps, _save)]
)
def test_values_are_mixed_into_a_saved_model_of_tensorflow_2_and_frozen(
    make: Callable[[], Any], write: Callable[[Any, str], None], tmp_path: Path
) -> None:
    x = np.random.default_rng(7).normal(size=(2, 4)).astype(np.float32)
    file, source = make(), make()
    for variable in source.variables:
        variable.assign(variable * 2 + 1)
    write(file, str(tmp_path / "file"))
    in_order = make is subclassed
    editor = tgw.edit(tmp_path / "file")
    tgw.sync(source, editor, tau=0.25, by_order=in_order)
    for variable, other in zip(file.variables, source.variables, strict=True):
        old, new = np.asarray(variable), np.asarray(other)
        variable.assign(0.75 * old + 0.25 * new if old.dtype.kind == "f" else new)
    assert max(tgw.drift(file, editor, by_order=in_order).values()) < 1e-6
    frozen = tgw.edit(editor.save(tmp_path / "frozen.pb", frozen=True))
    index = frozen._core.index
    fed = next(
        name for name, kind in zip(index.names, index.types, strict=True) if kind == "Placeholder"
    )
    values = frozen.probe(frozen.outputs, {f"{fed}:0": x})
    assert any(
        np.allclose(each.value, file(tf.constant(x)), rtol=1e-5, atol=1e-5)
        for each in values.values()
    )


def test_a_refused_sync_into_a_saved_model_of_tensorflow_2_changes_nothing(tmp_path: Path) -> None:
    file = model()
    _export(file, str(tmp_path / "file"))
    editor = tgw.edit(tmp_path / "file")
    with pytest.raises(GraphEditError, match="shape"):
        tgw.sync(model(width=9), editor)
    assert set(tgw.drift(file, editor).values()) == {0.0}
    assert len(tgw.sync(changed(model()), editor, names=["last"])) == 2
    distances = tgw.drift(file, editor)
    assert [name.split("/")[1] for name, distance in distances.items() if distance] == [
        "last",
        "last",
    ]


def test_a_file_that_cannot_run_is_refused_with_the_reason(tmp_path: Path) -> None:
    _export(model(), str(tmp_path / "file"))
    path = tmp_path / "file" / "saved_model.pb"
    saved = tf_protos.SavedModel.FromString(path.read_bytes())
    functions = saved.meta_graphs[0].graph_def.library.function
    for function in functions:
        for node in function.node_def:
            node.op = "NoSuchOp" if node.op == "MatMul" else node.op
    path.write_bytes(saved.SerializeToString())
    editor = tgw.edit(tmp_path / "file")
    for _ in range(2):
        with pytest.raises(GraphEditError, match=r"sync.*NoSuchOp"):
            tgw.sync(model(), editor)


def test_two_files_exchange_values(tmp_path: Path) -> None:
    one, other = model(), changed(model())
    _export(one, str(tmp_path / "one"))
    _save(other, str(tmp_path / "other"))
    editor = tgw.edit(tmp_path / "one")
    assert len(tgw.sync(tgw.edit(tmp_path / "other"), editor)) == 4
    assert set(tgw.drift(editor, other).values()) == {0.0}
    editor.insert(
        f"{next(name for name in editor._core.index.names if name.endswith('BiasAdd'))}:0",
        tf.nn.tanh,
    )
    assert len(tgw.sync(one, editor)) == 4
    assert set(tgw.drift(str(tmp_path / "one"), editor).values()) == {0.0}


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


def test_variables_of_one_name_are_distinguished_by_their_paths() -> None:
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


def test_an_interrupt_while_values_are_assigned_leaves_all_as_they_were(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
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
        inner = keras.Sequential(
            [keras.Input((4,)), keras.layers.Dense(4, name="dense_in")], name="inner"
        )
        return keras.Sequential([keras.Input((4,)), inner, keras.layers.Dense(2, name="out")])

    source, target = nested(), changed(nested())
    assert names(tgw.sync(source, target, "dense_in")) in (
        [("dense_in/kernel", "dense_in/kernel"), ("dense_in/bias", "dense_in/bias")],
        [
            ("inner/dense_in/kernel", "inner/dense_in/kernel"),
            ("inner/dense_in/bias", "inner/dense_in/bias"),
        ],
    )


def test_drift_and_diff_say_which_values_differ_and_by_how_much(
    exported: tuple[keras.Model, str], tmp_path: Path
) -> None:
    source, folder = exported
    other = model()
    other.layers[0].bias.assign(source.layers[0].bias + 0.25)
    drift = tgw.drift(source, other)
    assert {name.partition("/")[2]: round(distance, 5) for name, distance in drift.items()} == {
        "first/kernel": 0.0,
        "first/bias": 0.25,
        "last/kernel": 0.0,
        "last/bias": 0.0,
    }
    second = str(tmp_path / "second")
    other.export(second, verbose=False)
    editor = tgw.edit(second)
    editor.view.leave(0)
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
    rows = {row["what"]: row for row in json.loads(text)}
    assert [*rows] == ["value", "value norm", "value cosine", "value histogram"]
    bias = source.layers[0].bias.numpy()
    norms = [float(rows["value norm"][side]) for side in ("before", "after")]
    np.testing.assert_allclose(norms, [np.linalg.norm(bias), np.linalg.norm(bias + 0.25)], 1e-5)
    assert diff(folder, folder, "--values") == (0, "No difference.\n")


def test_two_sessions_are_compared() -> None:
    before, after = tgw.example(), tgw.example()
    after.session.run("train", {"x:0": [[1, 2, 3, 4]], "labels:0": [0]})
    found = after.diff(before, values=True)
    assert {value.name for value in found.values} == {"net/hidden/w", "net/hidden/b", "net/w"}
    assert all(value.distance > 0 for value in found.values)
    assert "3 values changed" in repr(found)
    assert not found.changed
