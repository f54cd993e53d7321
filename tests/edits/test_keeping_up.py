"""Copies kept up to date through what a clone gives: sync, sync_op, drift, savers; and `tgw.sync`
between models.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import fill, initialised, read, v1
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.errors import GraphEditError, NotAGraph, SessionRefused, UnknownName

ONES = np.ones((2, 3), np.float32)


def test_a_target_network_follows_when_it_is_synced(
    editor: GraphEditor, session: v1.Session
) -> None:
    copy = editor.clone("x:0", "net/logits:0", "target")
    w = editor.graph.get_collection("variables")[0]
    fill(w, 2.0, session)
    assert copy.drift()["net/one/w:0"] > 0
    copy.sync()
    assert set(copy.drift().values()) == {0.0}
    assert np.array_equal(*session.run(["net/logits:0", copy["net/logits:0"]], {"x:0": ONES}))
    fill(w, 4.0, session)
    copy.sync(tau=0.25)
    assert np.allclose(read(copy.variables[:1], session)[0], 2.5)
    session.run(copy.mix_op(0.5))
    assert np.allclose(read(copy.variables[:1], session)[0], 3.25)
    session.run(copy.sync_op)
    assert (read(copy.variables[:1], session)[0] == 4).all()


def test_each_of_several_copies_has_its_own_pairs(editor: GraphEditor, session: v1.Session) -> None:
    one, two = editor.clone("x:0", "net/logits:0", "tower", times=2)
    fill(editor.graph.get_collection("variables")[0], 2.0, session)
    two.sync()
    assert one.drift()["net/one/w:0"] > 0
    assert two.drift()["net/one/w:0"] == 0


def test_the_ops_of_a_sync_go_with_undo(editor: GraphEditor) -> None:
    before = list(editor._core.index.names)
    copy = editor.clone("x:0", "net/logits:0", "copy")
    copy.sync()
    copy.sync(0.5)
    assert copy.sync_op.name in editor._core.index.ids
    editor.undo()
    assert list(editor._core.index.names) == before


def test_a_copy_in_another_graph_is_synced_from_session_to_session(
    editor: GraphEditor, session: v1.Session
) -> None:
    other = tf.Graph()
    with v1.Session(graph=other) as elsewhere:
        copy = editor.clone("x:0", "net/logits:0", "copy", graph=other, session=elsewhere)
        fill(editor.graph.get_collection("variables")[0], 2.0, session)
        copy.sync()
        assert (read(copy.variables[:1], elsewhere)[0] == 2).all()
        assert set(copy.drift().values()) == {0.0}
        with pytest.raises(GraphEditError, match="two graphs"):
            assert copy.sync_op


def test_another_session_and_another_process(
    editor: GraphEditor, session: v1.Session, tmp_path: Path
) -> None:
    copy = editor.clone("x:0", "net/logits:0", "copy")
    fill(editor.graph.get_collection("variables")[0], 2.0, session)
    with v1.Session(graph=editor.graph) as second:
        copy.sync(session=second)
        assert (read(copy.variables[:1], second)[0] == 2).all()
        assert copy.drift()["net/one/w:0"] > 0
    copy.save(f"{tmp_path}/originals")
    fill(copy.variables[0], 0.0, session)
    copy.load(f"{tmp_path}/originals")
    assert set(copy.drift().values()) == {0.0}


def test_a_saver_of_the_copy_writes_what_the_original_s_restores(
    editor: GraphEditor, session: v1.Session, tmp_path: Path
) -> None:
    copy = editor.clone("x:0", "net/logits:0", "copy")
    fill(copy.variables[0], 5.0, session)
    originals = [
        v for v in editor.graph.get_collection("variables") if not v.name.startswith("copy/")
    ]
    with editor.graph.as_default():
        path = copy.saver().save(session, f"{tmp_path}/copy")
        v1.train.Saver(originals).restore(session, path)
    assert set(copy.drift().values()) == {0.0}
    assert (read(originals[:1], session)[0] == 5).all()


def test_without_variables_there_is_nothing_to_sync(editor: GraphEditor, tmp_path: Path) -> None:
    copy = editor.clone("x:0", "net/logits:0", "copy", variables="shared")
    copy.sync()
    copy.sync(0.5)
    assert copy.drift() == {}
    with v1.Session(graph=editor.graph) as session:
        session.run(copy.sync_op)
        with editor.graph.as_default():
            assert copy.saver().save(session, f"{tmp_path}/nowhere") is None


def test_the_first_layers_are_brought_into_another_model(
    editor: GraphEditor, mlp: tf.Graph
) -> None:
    second = tf.Graph()
    with second.as_default():
        tf.import_graph_def(mlp.as_graph_def(), name="")
    with initialised(mlp) as ours, v1.Session(graph=second) as theirs:
        source = tgw.edit(mlp, session=ours)
        theirs.run(
            [op for op in second.get_operations() if op.type in {"Assign", "AssignVariableOp"}]
        )
        target = tgw.edit(second, session=theirs)
        fill(mlp.get_collection("variables")[0], 0.5, ours)
        before = theirs.run("net/logits:0", {"x:0": ONES})
        assert tgw.sync(source, target, ["net/one"]) == (
            ("net/one/w:0", "net/one/w:0"), ("net/one/b:0", "net/one/b:0"),
        )  # fmt: skip
        assert np.array_equal(*(s.run("net/one/out:0", {"x:0": ONES}) for s in (ours, theirs)))
        assert not np.array_equal(theirs.run("net/logits:0", {"x:0": ONES}), before)
        tgw.sync(source, target)
        assert np.array_equal(*(s.run("net/logits:0", {"x:0": ONES}) for s in (ours, theirs)))
        copy = target.clone("x:0", "net/logits:0", "copy")
        tgw.sync(copy, source, {"net/one/b": "net/one/b"}, 0.5)
        with pytest.raises(GraphEditError, match="shape"):
            tgw.sync(source, copy, {"net/one/w": "net/two/w"})


def test_what_is_no_model_cannot_be_synced(editor: GraphEditor) -> None:
    with pytest.raises(NotAGraph, match="holds no TensorFlow graph"):
        tgw.sync(editor, 3)
    with pytest.raises(UnknownName, match="no file or directory 'model'"):
        tgw.sync(editor, "model")


def test_an_original_without_a_value_is_named(mlp: tf.Graph) -> None:
    with v1.Session(graph=mlp) as session:
        editor = tgw.edit(mlp, session=session)
        copy = editor.clone("x:0", "net/logits:0", "copy", init="initial")
        before = read(copy.variables, session)
        with pytest.raises(SessionRefused, match="net/one/w"):
            copy.sync()
        assert all(
            np.array_equal(*pair)
            for pair in zip(before, read(copy.variables, session), strict=True)
        )
