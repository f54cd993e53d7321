"""MetaGraphDefs with a checkpoint: the whole graph, its collections and values, opened again in
both ways.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework import meta_graph

import tfgraphwidget as tgw
from tests.conftest import build_mlp, fill, initialised, v1
from tests.sources.conftest import Affine, affine, tf2_saved_model
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.errors import GraphEditError, SessionRefused
from tfgraphwidget.graph import Signature
from tfgraphwidget.runtime.sync import checkpoints

__all__ = ["affine", "tf2_saved_model"]  # fixtures
ONES = np.ones([2, 3], np.float32)


@pytest.fixture
def restored() -> Iterator[Any]:
    """Imports a .meta as people do, restores its checkpoint, and gives the session."""
    opened = []

    def open_it(path: Path) -> v1.Session:
        graph = tf.Graph()
        opened.append(v1.Session(graph=graph))
        with graph.as_default():
            saver = v1.train.import_meta_graph(str(path))
            if saver:
                saver.restore(opened[-1], str(path.with_suffix("")))
        return opened[-1]

    yield open_it
    for session in opened:
        session.close()


def files(folder: Path) -> dict[str, bytes]:
    """All that lies in a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_it_opens_again_with_its_values(
    editor: GraphEditor, session: v1.Session, tmp_path: Path, restored: Any
) -> None:
    fill(editor.graph.get_collection("variables")[0], 0.25, session)
    assert editor.save(tmp_path / "m.ckpt.meta") == tmp_path / "m.ckpt.meta"
    assert set(files(tmp_path)) == {"m.ckpt.meta", "m.ckpt.index", "m.ckpt.data-00000-of-00001"}
    wanted = session.run("net/logits:0", {"x:0": ONES})
    assert np.array_equal(
        restored(tmp_path / "m.ckpt.meta").run("net/logits:0", {"x:0": ONES}), wanted
    )
    again = tgw.edit(tmp_path / "m.ckpt.meta", checkpoint=tmp_path / "m.ckpt")
    assert list(again._core.index.nodes) == list(editor._core.index.nodes)
    assert again._core.index.collections == editor._core.index.collections
    assert np.array_equal(again.session.run("net/logits:0", {"x:0": ONES}), wanted)
    again.session.close()


def test_its_collections_are_all_there(tmp_path: Path, restored: Any) -> None:
    graph = tf.Graph()
    with graph.as_default():
        v1.disable_control_flow_v2()
        x = v1.placeholder(tf.float32, [], name="x")
        w = v1.get_variable("w", initializer=2.0, regularizer=tf.nn.l2_loss, use_resource=True)
        local = v1.get_variable(
            "n", initializer=0, collections=[v1.GraphKeys.LOCAL_VARIABLES], trainable=False
        )
        y = v1.while_loop(lambda i, _: i < 3, lambda i, v: (i + 1, v * w), [local, x])[1]
        tf.identity(v1.cond(y > 0, lambda: y * w, lambda: y), name="y")
        queue = v1.FIFOQueue(3, [tf.float32], name="q")
        v1.train.add_queue_runner(v1.train.QueueRunner(queue, [queue.enqueue(1.0)]))
        for item in (graph.get_tensor_by_name("y:0"), graph.get_operation_by_name("x")):
            graph.add_to_collection("mine", item)
        graph.add_to_collection("words", b"text")
        graph.add_to_collection("numbers", 7)
        v1.enable_control_flow_v2()
        init = v1.local_variables_initializer()
    with initialised(graph) as session:
        session.run(init)
        tgw.edit(graph, session=session).save(tmp_path / "m.meta", "x", "y")
    again = restored(tmp_path / "m.meta")
    known = {key: len(graph.get_collection(key)) for key in graph.get_all_collection_keys()}
    assert {
        key: len(again.graph.get_collection(key)) for key in again.graph.get_all_collection_keys()
    } == known
    assert again.graph.get_collection("numbers") == [7]
    again.run([v.initializer for v in again.graph.get_collection("local_variables")])
    with again.graph.as_default():
        (gradient,) = tf.gradients(
            again.graph.get_tensor_by_name("y:0"), again.graph.get_tensor_by_name("x:0")
        )
    assert again.run(gradient, {"x:0": 1.0}) == 16
    (signature,) = tgw.edit(tmp_path / "m.meta").signatures.values()
    assert signature == Signature("serving_default", (("x", "x:0"),), (("y", "y:0"),))


def test_a_collection_that_edits_have_emptied_is_not_said_to_be_left_out(tmp_path: Path) -> None:
    with tf.Graph().as_default():
        y = tf.identity(v1.get_variable("w", [], use_resource=True), name="y")
        step = v1.train.get_or_create_global_step()
        v1.train.GradientDescentOptimizer(0.1).minimize(y, step)
        v1.summary.scalar("loss", y)
        meta = v1.train.export_meta_graph()
    assert {"global_step", "train_op", "summaries"} <= meta.collection_def.keys()
    editor = tgw.edit(meta)
    editor.passes.strip_training("y:0")
    with pytest.warns(UserWarning, match="no values here") as caught:
        editor.save(tmp_path / "m.meta")
    assert len(caught) == 1, "no collection is said to be left out"
    written = v1.MetaGraphDef.FromString((tmp_path / "m.meta").read_bytes())
    assert "train_op" not in written.collection_def
    assert len(written.collection_def["trainable_variables"].bytes_list.value) == 1


def test_what_was_undone_is_not_in_it(editor: GraphEditor, tmp_path: Path, restored: Any) -> None:
    before = editor.graph.as_graph_def()
    editor.clone("x:0", "net/logits:0")
    editor.undo()
    editor.save(tmp_path / "m.meta")
    assert (
        restored(tmp_path / "m.meta").graph.as_graph_def().node[: len(before.node)] == before.node
    )
    assert not any("copy" in name for name in tgw.edit(tmp_path / "m.meta")._core.index.names)


def test_a_saver_of_the_graph_is_reported_while_it_is_for_all_variables(
    tmp_path: Path, restored: Any
) -> None:
    graph = build_mlp(resource=True)
    with graph.as_default():
        v1.train.Saver(name="mine")
    with initialised(graph) as session:
        editor = tgw.edit(graph, session=session)
        editor.save(tmp_path / "m.meta")
        meta = v1.MetaGraphDef.FromString((tmp_path / "m.meta").read_bytes())
        assert meta.saver_def.restore_op_name == "mine/restore_all"
        assert len(restored(tmp_path / "m.meta").graph.get_operations()) == len(editor._core.index)
        editor.clone("x:0", "net/logits:0")
        editor.save(tmp_path / "m.meta")
        wanted = session.run("copy/net/logits:0", {"x:0": ONES})
    assert not v1.MetaGraphDef.FromString((tmp_path / "m.meta").read_bytes()).HasField("saver_def")
    assert np.array_equal(
        restored(tmp_path / "m.meta").run("copy/net/logits:0", {"x:0": ONES}), wanted
    )


def test_partitioned_variables(tmp_path: Path, restored: Any) -> None:
    graph = tf.Graph()
    with graph.as_default():
        parts = v1.get_variable(
            "w", [6, 2], initializer=v1.random_normal_initializer(seed=1), use_resource=False,
            partitioner=v1.fixed_size_partitioner(3),
        )  # fmt: skip
        tf.identity(tf.convert_to_tensor(parts), name="y")
    with initialised(graph) as session:
        tgw.edit(graph, session=session).save(tmp_path / "m.meta")
        wanted = session.run("y:0")
    assert tf.train.load_checkpoint(str(tmp_path / "m")).get_variable_to_shape_map() == {
        "w": [6, 2]
    }
    assert np.array_equal(restored(tmp_path / "m.meta").run("y:0"), wanted)


def test_of_a_graph_that_has_no_variables_all_are_saved(tmp_path: Path, restored: Any) -> None:
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(build_mlp(resource=False).as_graph_def(), name="")
    with v1.Session(graph=graph) as session:
        session.run([op for op in graph.get_operations() if op.type == "Assign"])
        tgw.edit(graph, session=session).save(tmp_path / "m.meta")
        wanted = session.run("net/logits:0", {"x:0": ONES})
    assert np.array_equal(restored(tmp_path / "m.meta").run("net/logits:0", {"x:0": ONES}), wanted)


def test_a_tensorflow_2_saved_model_becomes_one(
    tf2_saved_model: Path, affine: Affine, tmp_path: Path, restored: Any
) -> None:
    editor = tgw.edit(tf2_saved_model)
    editor.view.leave(0)
    editor.save(tmp_path / "m.meta")
    session = restored(tmp_path / "m.meta")
    session.run(session.graph.get_collection("table_initializer"))
    (signature,) = (
        s
        for s in tgw.edit(tmp_path / "m.meta", signature="other").signatures.values()
        if s.name == "other"
    )
    got = session.run(dict(signature.outputs)["y"], {signature.inputs[0][1]: ONES})
    assert np.allclose(got, affine(tf.constant(ONES))["y"])


def test_a_function_becomes_one_too(affine: Affine, tmp_path: Path, restored: Any) -> None:
    tgw.edit(affine.__call__).save(tmp_path / "m.meta")
    session = restored(tmp_path / "m.meta")
    session.run(session.graph.get_collection("table_initializer"))
    (signature,) = tgw.edit(tmp_path / "m.meta").signatures.values()
    got = session.run(dict(signature.outputs)["y"], {signature.inputs[0][1]: ONES})
    assert np.allclose(got, affine(tf.constant(ONES))["y"])


def test_a_graph_without_variables_leaves_no_old_checkpoint(line: tf.Graph, tmp_path: Path) -> None:
    with initialised(build_mlp(resource=True)) as session:
        tgw.edit(session.graph, session=session).save(tmp_path / "m.meta")
    (tmp_path / "m.data-00001-of-00002").write_bytes(b"of an older one")
    (tmp_path / "m2.index").write_bytes(b"another's")
    tgw.edit(line).save(tmp_path / "m.meta")
    assert set(files(tmp_path)) == {"m.meta", "m2.index"}


def test_python_objects_in_collections_are_said_to_be_left_out(
    line: tf.Graph, tmp_path: Path
) -> None:
    line.add_to_collection("mine", object())
    with pytest.warns(UserWarning, match="Collection 'mine' holds Python objects"):
        tgw.edit(line).save(tmp_path / "m.meta")


@pytest.mark.parametrize("where", ["writing", "trying", "moving"])
def test_a_failure_leaves_all_old_files(
    editor: GraphEditor,
    session: v1.Session,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    where: str,
) -> None:
    editor.save(tmp_path / "m.meta", "x", "net/logits")
    old = files(tmp_path)
    fill(editor.graph.get_collection("variables")[0], 0.5, session)

    def disk_full(*_: Any) -> None:
        raise OSError("disk full")

    real = Path.replace

    def busy(self: Path, target: Path) -> Path:
        if target == tmp_path / "m.index" and self.name == "link":
            raise OSError("disk full")
        return real(self, target)

    with monkeypatch.context() as patched:
        if where == "writing":
            patched.setattr(checkpoints, "write", disk_full)
        elif where == "moving":
            patched.setattr(Path, "replace", busy)
        else:
            written = checkpoints.write
            patched.setattr(
                checkpoints,
                "write",
                lambda path, present: written(path, [(k, v, a + 1) for k, v, a in present]),
            )
        with pytest.raises(
            GraphEditError,
            match=r"disk full|restores variable .* to something else: it differs by 1",
        ):
            editor.save(tmp_path / "m.meta", "x", "net/logits")
    assert files(tmp_path) == old


def test_what_was_inserted_in_a_table_is_said_to_stay_in_the_session(tmp_path: Path) -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.string, [None], name="x")
        table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1, name="words")
        insert = table.insert(tf.constant(["a"]), tf.constant([5], tf.int64))
        tf.identity(table.lookup(x), name="y")
    graph.clear_collection(v1.GraphKeys.SAVEABLE_OBJECTS)
    with v1.Session(graph=graph) as session:
        session.run(insert)
        with pytest.warns(
            UserWarning, match="not run: hash tables hold what was put into them in the session"
        ):
            tgw.edit(graph, session=session).save(tmp_path / "m.meta", "x", "y")


def test_a_boundary_that_cannot_be_called_is_no_reason_to_refuse(
    editor: GraphEditor, tmp_path: Path
) -> None:
    read = next(op.name for op in editor.graph.get_operations() if "read" in op.name.lower())
    editor.mark(inputs=read, outputs="net/logits")
    with pytest.warns(
        UserWarning, match="has no signature and was not run: The outputs also need placeholder 'x'"
    ):
        editor.save(tmp_path / "m.meta")
    assert not tgw.edit(tmp_path / "m.meta").signatures


@pytest.fixture
def untrained(tmp_path: Path) -> Path:
    """Two dense layers as a MetaGraphDef alone."""
    path = tmp_path / "net.meta"
    with build_mlp(resource=False).as_default():
        v1.train.export_meta_graph(str(path))
    return path


@pytest.mark.parametrize("edited", [False, True], ids=["as it was", "with a clone"])
def test_of_a_file_without_values_the_meta_graph_is_written_alone(
    untrained: Path, *, edited: bool
) -> None:
    editor, out = tgw.edit(untrained), untrained.with_name("out.meta")
    if edited:
        editor.clone("x", "net/logits", into="twin", init="initial")
    with pytest.warns(
        UserWarning, match=r"came without a checkpoint, so 'out\.meta' was written without one"
    ):
        editor.save(out)
    assert set(files(untrained.parent)) == {"net.meta", "out.meta"}
    assert tgw.edit(out)._core.index.collections == editor._core.index.collections
    assert tgw.edit(out)._core.index.names == editor._core.index.names
    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        v1.train.import_meta_graph(str(out))
        names = [variable.op.name for variable in v1.global_variables()]
        assert sum(name.startswith("twin/") for name in names) == (len(names) // 2 if edited else 0)
        session.run(v1.global_variables_initializer())
        assert session.run("net/logits:0", {"x:0": ONES}).shape == (2, 4)
    editor.session.run([v.initializer for v in editor.graph.get_collection("variables")])
    editor.save(out)
    assert "out.index" in files(untrained.parent)


def test_a_checkpoint_nearby_is_not_lost_to_a_graph_without_values(untrained: Path) -> None:
    with initialised(build_mlp(resource=False)) as session, session.graph.as_default():
        v1.train.Saver().save(session, str(untrained.with_suffix("")))
    known = files(untrained.parent)
    with pytest.raises(
        GraphEditError, match=r"checkpoint 'net' lies beside.*open the file with its checkpoint"
    ):
        tgw.edit(untrained).save(untrained)
    assert files(untrained.parent) == known


def test_refusals(mlp: tf.Graph, tmp_path: Path) -> None:
    with pytest.raises(SessionRefused, match="no session to take the variables' values from"):
        tgw.edit(mlp).save(tmp_path / "m.meta")
    with (
        v1.Session(graph=mlp) as session,
        pytest.raises(SessionRefused, match=r"Variables 'net/one/w'.* have no value"),
    ):
        tgw.edit(mlp, session=session).save(tmp_path / "m.meta")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("is_imported", [False, True])
def test_saveable_objects_that_no_saver_takes_when_they_are_read_back_are_left_out_with_a_notice(
    is_imported: bool, tmp_path: Path, restored: Any
) -> None:
    with tf.Graph().as_default() as graph:
        table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1, name="table")
        words = v1.placeholder(tf.string, [None], name="words")
        weight = v1.get_variable("weight", initializer=np.int64(2))
        v1.add_to_collection(v1.GraphKeys.SAVEABLE_OBJECTS, weight)
        tf.multiply(table.lookup(words), weight, name="y")
        meta = v1.train.export_meta_graph()
    if is_imported:
        with tf.Graph().as_default() as graph:
            meta_graph.import_scoped_meta_graph(meta)
    with initialised(graph) as session:
        editor = tgw.edit(graph, session=session)
        with pytest.warns(
            UserWarning, match="'saveable_objects' is left out, since no Saver takes 'table' once"
        ):
            path = editor.save(tmp_path / "m.meta")
        editor.save(tmp_path / "model", inputs=["words:0"], outputs=["y:0"])
    opened = restored(path)
    assert opened.run("weight/Read/ReadVariableOp:0") == 2
    assert opened.run("y:0", {"words:0": ["a"]}).tolist() == [-2]
    assert "table" in {op.name for op in graph.get_operations()} & {
        op.name for op in opened.graph.get_operations()
    }
    assert tf.saved_model.load(str(tmp_path / "model")).signatures["serving_default"]


def test_the_graph_of_a_keras_saved_model_is_written_without_the_variables_that_nothing_can_fill(
    tmp_path: Path, restored: Any
) -> None:
    model = keras.Sequential([keras.layers.Input((4,), name="x"), keras.layers.Dense(2)])
    model.export(str(tmp_path / "saved"), verbose=False)
    x = np.arange(4, dtype=np.float32)[None]
    for asks_for_session in (False, True):
        editor = tgw.edit(tmp_path / "saved")
        if asks_for_session:
            assert editor.session
        editor.view.leave(0)
        with pytest.warns(
            UserWarning,
            match="have no values, and no op assigns them: the checkpoint does not hold them",
        ):
            path = editor.save(tmp_path / "m.meta")
        served = next(
            each for each in tuple(editor.signatures.values()) if each.name == "serving_default"
        )
        found = restored(path).run(served.outputs[0][1], {served.inputs[0][1]: x})
        np.testing.assert_allclose(found, model(x), rtol=1e-5)


@pytest.mark.parametrize("resource", [False, True])
def test_a_renamed_variable_has_its_value_when_the_meta_graph_is_opened_again(
    resource: bool, tmp_path: Path, restored: Any
) -> None:
    graph = build_mlp(resource=resource)
    with graph.as_default():
        v1.train.Saver()
    with initialised(graph) as session:
        editor = tgw.edit(graph, session=session)
        editor.rename("net/", "model/")
        path = editor.save(tmp_path / "m.meta")
        x = {"x:0": np.ones((1, 3), np.float32)}
        expected = session.run("model/logits:0", x)
    np.testing.assert_array_equal(restored(path).run("model/logits:0", x), expected)
    again = tgw.edit(path, checkpoint=tmp_path / "m")
    assert not again.source.notices
    assert again.session is not None
    np.testing.assert_array_equal(again.session.run("model/logits:0", x), expected)
