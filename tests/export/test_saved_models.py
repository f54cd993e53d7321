"""SavedModels: the signatures asked for, with values, tables and files; both loaders give the
graph's own numbers.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

import tfgraphwidget as tgw
from tests.conftest import build_mlp, fill, initialised, v1
from tests.sources.conftest import Affine, affine, tf1_saved_model, tf2_saved_model
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.editor.saving import requested_signatures
from tfgraphwidget.errors import GraphEditError, UnknownName
from tfgraphwidget.export.verification import round_trip
from tfgraphwidget.graph import Signature

__all__ = ["affine", "tf1_saved_model", "tf2_saved_model"]  # fixtures
ONES = np.ones([2, 3], np.float32)


def both(folder: Path, feeds: dict[str, Any], name: str = "serving_default") -> dict[str, Any]:
    """What a signature gives through `tf.saved_model.load`, after it gave the same in a session."""
    with v1.Session(graph=tf.Graph()) as session:
        report = v1.saved_model.load(session, ["serve"], str(folder)).signature_def[name]
        fed = {report.inputs[key].name: value for key, value in feeds.items()}
        in_session = session.run({key: info.name for key, info in report.outputs.items()}, fed)
    loaded = tf.saved_model.load(str(folder), tags=["serve"])
    got = loaded.signatures[name](**{key: tf.constant(value) for key, value in feeds.items()})
    eager = {key: tensor.numpy() for key, tensor in got.items()}
    assert eager.keys() == in_session.keys()
    assert all(np.array_equal(eager[key], in_session[key]) for key in eager)
    return in_session


def test_several_signatures_under_the_names_asked_for(
    editor: GraphEditor, session: v1.Session, batch: np.ndarray, tmp_path: Path
) -> None:
    ends = {
        "serving_default": ("x", "net/logits"),
        "embed": ({"image": "x:0"}, {"embedding": "net/one/out:0"}),
    }
    editor.save(tmp_path / "sm", signatures=ends)
    hidden, logits = session.run(["net/one/out:0", "net/logits:0"], {"x:0": batch})
    assert np.array_equal(both(tmp_path / "sm", {"image": batch}, "embed")["embedding"], hidden)
    assert np.array_equal(both(tmp_path / "sm", {"x": batch})["logits"], logits)


def test_a_signature_that_takes_what_another_computes(
    editor: GraphEditor, session: v1.Session, batch: np.ndarray, tmp_path: Path
) -> None:
    editor.save(
        tmp_path / "sm",
        signatures={
            "whole": ("x", "net/logits"),
            "head": ({"h": "net/one/out"}, {"y": "net/logits"}),
        },
    )
    hidden, logits = session.run(["net/one/out:0", "net/logits:0"], {"x:0": batch})
    assert np.array_equal(both(tmp_path / "sm", {"h": hidden}, "head")["y"], logits)
    assert np.array_equal(both(tmp_path / "sm", {"x": batch}, "whole")["logits"], logits)


def test_keys_and_their_order_are_those_given(editor: GraphEditor) -> None:
    (signature,) = requested_signatures(
        editor._core, {"b": "x"}, {"z": "net/logits", "a": "net/one/out"}, None
    )
    assert signature == Signature(
        "serving_default", (("b", "x:0"),), (("z", "net/logits:0"), ("a", "net/one/out:0"))
    )
    assert requested_signatures(editor._core, None, None, [signature]) == (signature,)
    assert [s.name for s in requested_signatures(editor._core, None, None, {"one": signature})] == [
        "one"
    ]


def test_ops_of_one_last_name_get_numbered_keys(diamond: tf.Graph, tmp_path: Path) -> None:
    with diamond.as_default():
        tf.identity(diamond.get_tensor_by_name("left:0"), name="again/join")
    tgw.edit(diamond).save(tmp_path / "sm", ["x", "other"], ["join", "again/join"])
    given = {"x": np.array([2.0, -1], np.float32), "other": np.float32(3)}
    assert {k: v.tolist() for k, v in both(tmp_path / "sm", given).items()} == {
        "join": [20, -9],
        "join_1": [2, 0],
    }


def test_every_output_of_an_op_is_one(tmp_path: Path) -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.int64, [4], name="x")
        tf.raw_ops.Unique(x=x, name="u")
    tgw.edit(graph).save(tmp_path / "sm", "x", "u")
    results = both(tmp_path / "sm", {"x": np.array([7, 7, 8, 7])})
    assert results["u"].tolist() == [7, 8]
    assert results["u_1"].tolist() == [0, 0, 1, 0]
    assert len(results) == 2


def test_a_model_without_inputs_and_one_that_gives_a_reference_variable(tmp_path: Path) -> None:
    graph = tf.Graph()
    with graph.as_default():
        v1.get_variable("w", initializer=[1.0, 2.0], use_resource=False)
    with initialised(graph) as session:
        tgw.edit(graph, session=session).save(tmp_path / "sm", outputs={"w": "w:0"})
    assert both(tmp_path / "sm", {})["w"].tolist() == [1, 2]


def test_what_was_opened_is_written_under_its_own_signatures(
    tf2_saved_model: Path, tmp_path: Path
) -> None:
    editor = tgw.edit(tf2_saved_model)
    editor.view.leave(0)
    editor.save(tmp_path / "sm")
    assert list(tgw.edit(tmp_path / "sm").signatures) == ["other", "serving_default"]
    original = tf.saved_model.load(str(tf2_saved_model)).signatures["other"](x=tf.constant(ONES))
    got = both(tmp_path / "sm", {"x": ONES}, "other")
    assert np.allclose(got["y"], original["y"].numpy())
    assert got["found"].tolist() == [1]


def test_the_marked_signature_of_a_file_is_no_choice(tf1_saved_model: Path, tmp_path: Path) -> None:
    editor = tgw.edit(tf1_saved_model, tags="serve")
    assert editor.outputs == ("net/logits:0",)  # marked when it was opened
    editor.save(tmp_path / "sm")
    assert list(both(tmp_path / "sm", {"x": ONES}, "predict")) == ["logits"]
    editor.mark("x", "net/one/out")
    editor.save(tmp_path / "sm")
    assert list(both(tmp_path / "sm", {"x": ONES})) == ["out"]


def test_a_vocabulary_goes_along_wherever_the_model_goes(tmp_path: Path) -> None:
    (tmp_path / "words").write_text("a\nb\n")
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.string, [None], name="x")
        lines = tf.lookup.TextFileInitializer(
            str(tmp_path / "words"), tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64,
            tf.lookup.TextFileIndex.LINE_NUMBER,
        )  # fmt: skip
        tf.identity(tf.lookup.StaticHashTable(lines, -1).lookup(x), name="y")
    tgw.edit(graph).save(tmp_path / "first", "x", "y")
    (tmp_path / "words").unlink()
    (tmp_path / "first").rename(tmp_path / "moved")
    texts = np.array([b"b", b"?"], object)
    assert both(tmp_path / "moved", {"x": texts})["y"].tolist() == [1, -1]
    tgw.edit(tmp_path / "moved").save(tmp_path / "second")
    shutil.rmtree(tmp_path / "moved")
    assert both(tmp_path / "second", {"x": texts})["y"].tolist() == [1, -1]
    with pytest.raises(
        GraphEditError,
        match=r"names the file '.*words', which a table is filled from, and it is not",
    ):
        tgw.edit(graph).save(tmp_path / "third", "x", "y")


def test_a_table_that_holds_what_was_inserted_by_hand(tmp_path: Path) -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.string, [None], name="x")
        table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
        insert = table.insert(tf.constant(["a", "b"]), tf.constant([5, 6], tf.int64))
        tf.identity(table.lookup(x), name="y")
    with v1.Session(graph=graph) as session:
        session.run(insert)
        tgw.edit(graph, session=session).save(tmp_path / "sm", "x", "y")
    assert both(tmp_path / "sm", {"x": np.array([b"b", b"?"], object)})["y"].tolist() == [6, -1]


def test_a_table_that_a_placeholder_fills_is_refused(tmp_path: Path) -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.string, [None], name="x")
        pairs = tf.lookup.KeyValueTensorInitializer(
            v1.placeholder(tf.string, [1], name="keys"), tf.constant([1])
        )
        tf.identity(tf.lookup.StaticHashTable(pairs, -1).lookup(x), name="y")
    with pytest.raises(
        GraphEditError, match="which fills a table or an iterator, needs placeholder 'keys'"
    ):
        tgw.edit(graph).save(tmp_path / "sm", "x", "y")


def test_v1_loops_and_conditionals_run_in_both_loaders_and_can_be_differentiated_again(
    tmp_path: Path,
) -> None:
    graph = tf.Graph()
    with graph.as_default():
        v1.disable_control_flow_v2()
        x = v1.placeholder(tf.float32, [], name="x")
        w = v1.get_variable("w", initializer=2.0, use_resource=False)
        doubled = v1.while_loop(lambda i, _: i < 3, lambda i, v: (i + 1, v * w), [0, x])[1]
        tf.identity(v1.cond(doubled > 0, lambda: doubled + w, lambda: doubled - w), name="y")
        v1.enable_control_flow_v2()
    with initialised(graph) as session:
        tgw.edit(graph, session=session).save(tmp_path / "sm", "x", "y")
    assert both(tmp_path / "sm", {"x": np.float32(1)})["y"] == 10
    with v1.Session(graph=tf.Graph()) as session:
        v1.saved_model.load(session, ["serve"], str(tmp_path / "sm"))
        (gradient,) = tf.gradients(
            session.graph.get_tensor_by_name("y:0"), session.graph.get_tensor_by_name("x:0")
        )
        assert session.run(gradient, {"x:0": 1.0}) == 8


def test_an_initial_value_that_needs_a_placeholder_stays(tmp_path: Path) -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [2], name="x")
        start = v1.placeholder(tf.float32, [2], name="start")
        w = v1.get_variable("w", initializer=start, use_resource=True)
        tf.add(x, w, name="y")
    with v1.Session(graph=graph) as session:
        session.run(w.initializer, {start: [1.0, 2.0]})
        tgw.edit(graph, session=session).save(tmp_path / "sm", "x", "y")
    assert both(tmp_path / "sm", {"x": [1.0, 1.0]})["y"].tolist() == [2, 3]
    assert "start" not in tgw.edit(tmp_path / "sm")._core.index.ids


def test_partitioned_variables_and_local_ones(tmp_path: Path) -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.int32, [None], name="x")
        parts = v1.get_variable(
            "w", [6, 2], initializer=v1.random_normal_initializer(seed=1), use_resource=False,
            partitioner=v1.fixed_size_partitioner(3),
        )  # fmt: skip
        scale = v1.get_variable(
            "scale", initializer=3.0, collections=[v1.GraphKeys.LOCAL_VARIABLES]
        )
        tf.multiply(tf.nn.embedding_lookup(parts, x), scale, name="y")
        init = v1.local_variables_initializer()
    with initialised(graph) as session:
        session.run(init)
        tgw.edit(graph, session=session).save(tmp_path / "sm", "x", "y")
        wanted = session.run("y:0", {"x:0": [0, 5]})
    assert np.array_equal(both(tmp_path / "sm", {"x": np.array([0, 5], np.int32)})["y"], wanted)


def test_collections_of_the_part_go_along(shared_weights: tf.Graph, tmp_path: Path) -> None:
    with initialised(shared_weights) as session:
        tgw.edit(shared_weights, session=session).save(tmp_path / "sm", "a/x", "a/y")
    index = tgw.edit(tmp_path / "sm")._core.index
    assert [v.handle for v in index.variable_defs if v.trainable] == ["w"]
    assert "b/y" not in index.ids


@pytest.mark.parametrize("opened", ["graph", "file", "part", "part of a file"])
@pytest.mark.parametrize("how", ["given", "in a signature", "marked"])
def test_the_inputs_of_outputs_alone_are_the_placeholders_that_they_need(
    tmp_path: Path, opened: str, how: str
) -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 2], name="data/x")
        keep = v1.placeholder_with_default(1.0, [], name="keep")
        scale = v1.placeholder(tf.float32, [], name="scale")
        w = v1.get_variable("w", initializer=tf.constant([[2.0], [3.0]]))
        y = tf.multiply(tf.matmul(x, w) * keep, scale, name="y")
        labels = v1.placeholder(tf.float32, [None, 1], name="labels")
        tf.reduce_mean(tf.square(y - labels), name="loss")
    with initialised(graph) as session:
        editor = tgw.edit(graph, session=session)
        if "file" in opened:
            editor.save(tmp_path / "m.meta")
            editor = tgw.edit(tmp_path / "m.meta", checkpoint=tmp_path / "m")
        if "part" in opened:
            editor = editor.extract(outputs="y")
        if how == "marked":
            editor.mark(outputs="y")
            assert editor.inputs == ("data/x:0", "scale:0")
            editor.save(tmp_path / "sm")
        elif how == "given":
            editor.save(tmp_path / "sm", outputs="y")
        else:
            editor.save(tmp_path / "sm", signatures={"serve": (None, "y")})
    name = "serve" if how == "in a signature" else "serving_default"
    call = tf.saved_model.load(str(tmp_path / "sm")).signatures[name]
    (result,) = call(x=tf.constant([[1.0, 10.0]]), scale=tf.constant(2.0)).values()
    assert result.numpy().tolist() == [[64.0]]


def test_a_part_has_all_inputs_that_it_reads(tmp_path: Path) -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None], name="x")
        flag = v1.placeholder(tf.bool, [], name="is_training")
        tf.where(flag, tf.exp(tf.negative(x, name="minus")), x * 2.0, name="y")
    part = tgw.edit(graph).extract("minus", "y")
    assert part.inputs == ("minus", "x:0", "is_training:0")
    part.save(tmp_path / "sm")
    call = tf.saved_model.load(str(tmp_path / "sm")).signatures["serving_default"]
    (result,) = call(
        minus=tf.constant([0.0]), x=tf.constant([3.0]), is_training=tf.constant(True)
    ).values()
    assert result.numpy().tolist() == [1.0]


@pytest.mark.parametrize(
    ("ends", "error", "sentence"),
    [
        ({"a": ("x", ())}, GraphEditError, "Signature 'a' has no outputs"),
        ({"a": "x"}, GraphEditError, r"signatures\['a'\] is not a pair of inputs and outputs"),
        (
            {"a": ({"x": ["x", "net/logits"]}, "net/logits")},
            GraphEditError,
            "'x': .* is not a key with one tensor",
        ),
        ({"a": ({}, {"y": "nope"})}, UnknownName, "no op 'nope'"),
        (
            {"a": ((), "net/logits")},
            GraphEditError,
            "also need placeholder 'x'; add 'x:0' to the inputs",
        ),
    ],
)
def test_what_is_no_signature_is_refused(
    editor: GraphEditor, tmp_path: Path, ends: Any, error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=sentence):
        editor.save(tmp_path / "sm", signatures=ends)
    with pytest.raises(GraphEditError, match="but not both"):
        editor.save(tmp_path / "sm", "x", "net/logits", signatures=ends)
    assert not list(tmp_path.iterdir())


def test_ends_that_no_one_can_call_are_refused_by_name(
    while_loop: tf.Graph, tmp_path: Path
) -> None:
    with while_loop.as_default():
        v1.get_variable("w", initializer=1.0, use_resource=True)
    editor = tgw.edit(while_loop)
    inside = next(name for name in editor._core.index.names if name.endswith("/mul"))
    with pytest.raises(GraphEditError, match=f"'{inside}:0' lies inside the while loop") as refusal:
        editor.save(tmp_path / "sm", "x", inside)
    assert refusal.value.ops == (inside,)
    with pytest.raises(GraphEditError, match="'w:0' refers to a resource"):
        editor.save(tmp_path / "sm", "x", "w")


def test_a_queue_is_refused_with_the_tensor_to_feed(tmp_path: Path) -> None:
    graph = tf.Graph()
    with graph.as_default():
        queue = v1.FIFOQueue(3, [tf.float32], shapes=[[]], name="q")
        tf.multiply(queue.dequeue(), 2.0, name="y")
    editor = tgw.edit(graph, session=v1.Session(graph=graph))
    with pytest.raises(
        GraphEditError, match=r"The outputs need queue 'q'.*inputs=\['q_Dequeue:0'\]"
    ):
        editor.save(tmp_path / "sm", outputs="y")
    editor.save(tmp_path / "sm", inputs={"v": "q_Dequeue"}, outputs="y")
    assert both(tmp_path / "sm", {"v": np.float32(4)})["y"] == 8
    editor.session.close()


# Trying what was written


def difference_of(change: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    """Let what one loader gives be another thing than what it has loaded gives."""
    real = round_trip.opened_by

    def wrong(reference: Any, load: Any, *arguments: Any) -> Any:
        opened = real(reference, load, *arguments)
        if load.__name__ != way:
            return opened

        class Opened:
            def __enter__(self) -> Any:
                run = opened.__enter__()
                return lambda signature, feeds: {
                    key: change(value) for key, value in run(signature, feeds).items()
                }

            def __exit__(self, *error: Any) -> Any:
                return opened.__exit__(*error)

        return Opened()

    monkeypatch.setattr(round_trip, "opened_by", wrong)


@pytest.mark.parametrize(
    ("way", "name"),
    [("_load_in_session", "compat.v1"), ("load_eagerly", r"tf\.saved_model\.load\)")],
)
@pytest.mark.sample(2)
def test_a_model_that_loads_to_other_numbers_is_not_written(
    editor: GraphEditor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str, name: str
) -> None:
    editor.save(tmp_path / "sm", "x", "net/one/out")
    old = {path: path.read_bytes() for path in (tmp_path / "sm").rglob("*") if path.is_file()}
    difference_of(lambda value: value + 0.5, monkeypatch, way)
    with pytest.raises(
        GraphEditError, match=rf"output 'logits' of signature .* differs by 0\.5 \(through .*{name}"
    ) as e:
        editor.save(tmp_path / "sm", "x", "net/logits")
    assert e.value.ops == ("net/logits",)
    assert {
        path: path.read_bytes() for path in (tmp_path / "sm").rglob("*") if path.is_file()
    } == old
    editor.save(tmp_path / "sm", "x", "net/logits", verify=False)
    assert list(both(tmp_path / "sm", {"x": ONES})) == ["logits"]


def test_random_numbers_are_compared_by_what_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 8], name="x")
        tf.nn.dropout(x, 0.5, name="y")
    tgw.edit(graph).save(tmp_path / "sm", "x", "y/SelectV2")
    difference_of(lambda value: value.astype(np.float64), monkeypatch, "_load_in_session")
    with pytest.raises(GraphEditError, match=r"is float64 of shape .* in place of float32"):
        tgw.edit(graph).save(tmp_path / "sm", "x", "y/SelectV2")


def test_a_model_that_counts_its_calls_is_tried_from_the_beginning(tmp_path: Path) -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [], name="x")
        n = v1.get_variable("n", initializer=0.0, use_resource=True)
        tf.add(n.assign_add(1.0), x, name="y")
    with initialised(graph) as session:
        tgw.edit(graph, session=session).save(
            tmp_path / "sm", signatures={"a": ("x", "y"), "b": ("x", "y")}
        )
        assert session.run("n/Read/ReadVariableOp:0") == 0
    assert both(tmp_path / "sm", {"x": np.float32(10)}, "b")["y"] == 11


def test_the_person_s_own_feeds_are_tried(tmp_path: Path) -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None], name="x")
        with tf.control_dependencies([v1.assert_equal(tf.reduce_sum(x), 42.0)]):
            tf.identity(x, name="y")
    editor = tgw.edit(graph)
    with pytest.warns(
        UserWarning, match=r"not run: signature 'serving_default' runs on no values .* give feeds="
    ):
        editor.save(tmp_path / "sm", "x", "y")
    assert editor.source.notices[0].startswith("What was written was loaded but not run")
    for key in ("x", "x:0", graph.get_tensor_by_name("x:0")):
        editor.save(tmp_path / "sm", "x", "y", feeds={key: [40.0, 2.0]})
        assert editor.source.notices == ()
    with pytest.raises(GraphEditError, match=r"does not run on the feeds: .*assertion failed"):
        editor.save(tmp_path / "sm", "x", "y", feeds={"x": [1.0]})


def test_nobody_s_python_is_run_unasked(tmp_path: Path) -> None:
    called = []
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [2], name="x")
        y = v1.py_func(lambda value: called.append(value) or value, [x], tf.float32)
        tf.identity(tf.ensure_shape(y, [2]), name="y")
    with pytest.warns(
        UserWarning, match="op 'PyFunc' is of type PyFunc, which calls a Python function"
    ):
        tgw.edit(graph).save(tmp_path / "sm", "x", "y")
    assert not called
    tgw.edit(graph).save(tmp_path / "sm", "x", "y", feeds={"x": [1.0, 2.0]})
    assert called


def test_saving_runs_nothing_in_the_person_s_session(tmp_path: Path) -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [], name="x")
        w = v1.get_variable("w", initializer=1.0, use_resource=False)
        with tf.control_dependencies([v1.assign_add(w, 1.0)]):
            tf.add(x, 1.0, name="y")
    with initialised(graph) as session:
        tgw.edit(graph, session=session).save(tmp_path / "sm", "x", "y")
        assert session.run("w:0") == 1


def test_a_function_is_written_with_the_table_that_it_captured(
    affine: Affine, tmp_path: Path
) -> None:
    tgw.edit(affine.__call__).save(tmp_path / "sm")
    got = both(tmp_path / "sm", {"x": ONES})
    wanted = affine(tf.constant(ONES))
    assert np.allclose(got["y"], wanted["y"])
    assert got["found"].tolist() == [1]


def test_an_edited_keras_model_is_written_as_it_is_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = keras.Sequential(
        [keras.Input([3]), keras.layers.Dense(4, activation="relu", name="first")]
    )
    editor = tgw.edit(model)
    relu = next(
        name
        for name, kind in zip(editor._core.index.names, editor._core.index.types, strict=True)
        if kind == "Relu"
    )
    editor.bypass(relu)
    editor.save(tmp_path / "sm")
    (name,) = editor.to_module().parameters
    ((key, got),) = both(tmp_path / "sm", {name: -ONES}).items()
    kernel, bias = model.get_weights()
    assert np.allclose(got, -ONES @ kernel + bias)
    difference_of(lambda value: value - 1, monkeypatch, "load_eagerly")
    with pytest.raises(GraphEditError, match="gives something else than the graph does"):
        editor.save(tmp_path / "sm")
    assert np.array_equal(both(tmp_path / "sm", {name: -ONES})[key], got)


def test_trying_a_function_leaves_its_variables_as_they_were(tmp_path: Path) -> None:
    class Counter(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.n = tf.Variable(0.0)

        @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
        def __call__(self, x: tf.Tensor) -> tf.Tensor:
            return x + self.n.assign_add(1.0)

    counter = Counter()
    tgw.edit(counter.__call__).save(tmp_path / "sm")
    assert counter.n.numpy() == 0


def test_a_server_s_devices_do_not_keep_a_model_from_being_served(tmp_path: Path) -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [], name="x")
        with tf.device("/job:worker/task:1"):
            tf.multiply(x, tf.constant(2.0, name="y/y"), name="y")
    for name, options in (("sm", {}), ("f.pb", {"frozen": True})):
        with pytest.warns(
            UserWarning,
            match=r"leaves out on which machine op 'y/y' .* stands: '/job:worker/task:1'",
        ):
            tgw.edit(graph).save(tmp_path / name, "x", "y", **options)
    assert both(tmp_path / "sm", {"x": np.float32(3)})["y"] == 6
    assert {node.device for node in tgw.edit(tmp_path / "f.pb")._core.index.nodes} == {""}


def test_a_copy_s_values_and_a_renamed_graph_s(tmp_path: Path) -> None:
    graph = build_mlp(resource=True)
    with initialised(graph) as session:
        editor = tgw.edit(graph, session=session)
        copy = editor.clone("x", "net/logits")
        fill(copy.variables[0], 0.5, session)
        editor.save(tmp_path / "sm", "x", {"old": "net/logits", "new": copy["net/logits:0"]})
        wanted = session.run(["net/logits:0", copy["net/logits:0"]], {"x:0": ONES})
    got = both(tmp_path / "sm", {"x": ONES})
    assert np.array_equal(got["old"], wanted[0])
    assert np.array_equal(got["new"], wanted[1])


def test_iterators_start_again_where_the_model_is_loaded(tmp_path: Path) -> None:
    graph = tf.Graph()
    with graph.as_default():
        scale = v1.get_variable("scale", initializer=2.0, use_resource=True)
        numbers = tf.data.Dataset.from_tensor_slices([1.0, 2.0, 3.0])
        initializable = v1.data.make_initializable_iterator(numbers)
        tf.multiply(initializable.get_next(), scale, name="y")
        tf.identity(v1.data.make_one_shot_iterator(numbers).get_next(), name="z")
        fed = v1.data.make_initializable_iterator(
            numbers.skip(v1.placeholder(tf.int64, [], name="first"))
        )
        tf.identity(fed.get_next(), name="w")
    with initialised(graph) as session:
        session.run(initializable.initializer)
        session.run("y:0")
        editor = tgw.edit(graph, session=session)
        editor.save(tmp_path / "sm", outputs="y")
        assert session.run("y:0") == 4
        with pytest.raises(
            GraphEditError, match=r"need iterator 'IteratorV2_1'.*inputs=\['IteratorGetNext_2:0'\]"
        ):
            editor.save(tmp_path / "sm", outputs="w")
        with pytest.raises(
            GraphEditError, match=r"through tf\.saved_model\.load: OneShotIteratorOp does not"
        ):
            editor.save(tmp_path / "sm", outputs="z")
        with pytest.warns(UserWarning, match="keeps iterator"):
            assert editor.save(tmp_path / "f.pb", outputs="z", frozen=True).exists()
    with v1.Session(graph=tf.Graph()) as session:
        v1.saved_model.load(session, ["serve"], str(tmp_path / "sm"))
        assert [session.run("y:0") for _ in range(2)] == [2, 4]


@pytest.mark.parametrize("is_imported", [False, True])
@pytest.mark.filterwarnings("ignore:TensorFlow cannot make an op another one:UserWarning")
def test_a_signature_declares_the_dtypes_and_shapes_that_edits_gave_its_inputs_and_outputs(
    tmp_path: Path, is_imported: bool
) -> None:
    """Servers check what they are sent against these; the tensors themselves say the same."""
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, 3], name="x")
        best = tf.argmax(tf.reduce_sum(x, 0), name="best")
        v1.saved_model.simple_save(session, str(tmp_path / "made"), {"x": x}, {"best": best})
    editor = tgw.edit(tmp_path / "made")
    if is_imported:
        assert editor.session is not None
    editor.set_attr("best", "output_type", "int32")
    editor.save(tmp_path / "dtype")
    editor.undo()
    editor.passes.set_input("x", shape=[2, 3])
    editor.save(tmp_path / "shape")
    for name, size, dtype in (("dtype", None, tf.int32), ("shape", 2, tf.int64)):
        assert both(tmp_path / name, {"x": ONES})["best"].dtype == dtype.as_numpy_dtype
        with v1.Session(graph=tf.Graph()) as session:
            ends = v1.saved_model.load(session, ["serve"], str(tmp_path / name)).signature_def[
                "serving_default"
            ]
        assert tf.TensorShape(ends.inputs["x"].tensor_shape).as_list() == [size, 3]
        assert ends.outputs["best"].dtype == dtype.as_datatype_enum


def test_an_edit_of_the_graph_of_a_model_without_signatures_is_saved(tmp_path: Path) -> None:
    module = tf.Module()
    module.scale = tf.Variable(2.0)
    module.table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer([1, 2], [3.0, 4.0]), 0.0
    )
    spec = tf.TensorSpec([2], tf.int32, name="x")
    module.call = tf.function(
        lambda x: [(module.scale * module.table.lookup(x), x)], input_signature=[spec]
    )
    tf.saved_model.save(module, str(tmp_path / "before"))
    editor = tgw.edit(tmp_path / "before")
    assert not tuple(editor.signatures.values())
    editor.set_device(editor.ops(type="StatefulPartitionedCall").ops[0], "/device:CPU:0")
    editor.save(tmp_path / "after/")
    loaded = tf.saved_model.load(str(tmp_path / "after"))
    assert loaded.call(tf.constant([1, 2]))[0][0].numpy().tolist() == [6, 8]


SAVES = """
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2
import tfgraphwidget as tgw

v1 = tf.compat.v1
graph = tf.Graph()
with graph.as_default():
    x = v1.placeholder(tf.float32, [None, 2], name="x")
    w = v1.get_variable("w", [2, 2], initializer=v1.ones_initializer(), use_resource=False)
    tf.matmul(x, w, name="y")
    session = v1.Session(graph=graph)
    session.run(w.initializer)
tgw.edit(graph, session=session).save("model/", inputs="x:0", outputs="y:0")
"""


def test_the_check_of_a_saved_model_writes_no_warnings_of_tensorflow(
    tmp_path: Path, warm_python: list[str]
) -> None:
    # In a process of its own: TensorFlow writes some of its warnings once.
    done = subprocess.run(
        [*warm_python, "-c", SAVES], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert (tmp_path / "model").is_dir()
    assert "WARNING:tensorflow" not in done.stderr


@pytest.fixture
def doubled(tmp_path: Path) -> Path:
    """y = 2 * abs(x) and z = -x, each a signature of a SavedModel of TensorFlow 1."""
    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        x = v1.placeholder(tf.float32, [None], name="x")
        y, z = tf.multiply(tf.abs(x, name="size"), 2.0, name="y"), tf.negative(x, name="z")
        builder = v1.saved_model.Builder(str(tmp_path / "doubled"))
        signatures = {
            name: v1.saved_model.predict_signature_def({"x": x}, {"out": tensor})
            for name, tensor in (("serving_default", y), ("negative", z))
        }
        builder.add_meta_graph_and_variables(session, ["serve"], signatures)
        builder.save()
    return tmp_path / "doubled"


def test_a_signature_that_an_edit_has_left_without_an_input_is_refused_until_it_takes_it(
    doubled: Path, tmp_path: Path
) -> None:
    editor = tgw.edit(doubled)
    editor.detach("size", inputs=False, names=["fed"])
    for verify in (True, False):
        with pytest.raises(
            GraphEditError, match="'serving_default' also needs placeholder 'fed' now"
        ) as info:
            editor.save(tmp_path / "sm", verify=verify)
    assert info.value.ops == ("fed",)
    assert not (tmp_path / "sm").exists()

    editor.signatures.remove("serving_default")
    editor.save(tmp_path / "less")
    assert both(tmp_path / "less", {"x": np.float32([1, 2])}, "negative")["out"].tolist() == [
        -1,
        -2,
    ]
    editor.signatures.add("serving_default", {"fed": "fed:0"}, {"out": "y:0"})
    editor.save(tmp_path / "sm")
    assert both(tmp_path / "sm", {"fed": np.float32([1, -2])})["out"].tolist() == [2, -4]


def test_a_signature_that_had_no_input_for_a_placeholder_before_is_saved_as_it_was(
    doubled: Path, tmp_path: Path
) -> None:
    path = doubled / "saved_model.pb"
    model = saved_model_pb2.SavedModel.FromString(path.read_bytes())
    del model.meta_graphs[0].signature_def["serving_default"].inputs["x"]
    path.write_bytes(model.SerializeToString())
    editor = tgw.edit(doubled)
    editor.rename("z", "minus")
    with pytest.warns(
        UserWarning, match="What was written was not run: The outputs also need placeholder 'x'"
    ):
        editor.save(tmp_path / "sm")
    saved = saved_model_pb2.SavedModel.FromString((tmp_path / "sm" / "saved_model.pb").read_bytes())
    assert sorted(saved.meta_graphs[0].signature_def) == ["negative", "serving_default"]
