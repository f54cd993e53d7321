"""Notes of other releases and tools about a graph do not hinder its import; what is left out is a
notice.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1

X = np.array([[1.0, 2.0]], np.float32)


def meta_graph(folder: Path) -> Path:
    """A MetaGraphDef with a checkpoint, "m.meta", that computes y = x * w."""
    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        x = v1.placeholder(tf.float32, [None, 2], name="x")
        w = v1.get_variable("w", initializer=[3.0, 4.0], use_resource=False)
        tf.identity(tf.multiply(x, w, name="product"), name="y")
        session.run(w.initializer)
        v1.train.Saver().save(session, str(folder / "m"))
    return folder / "m.meta"


def change(path: Path, edit: Callable[[v1.MetaGraphDef], object]) -> None:
    meta = v1.MetaGraphDef.FromString(path.read_bytes())
    edit(meta)
    path.write_bytes(meta.SerializeToString())


def node(meta: v1.MetaGraphDef, name: str) -> object:
    return next(node for node in meta.graph_def.node if node.name == name)


def wrong_shape(meta: v1.MetaGraphDef) -> None:
    noted = node(meta, "product").attr["_output_shapes"].list.shape
    noted[0].CopyFrom(tf.TensorShape([7]).as_proto())


def gone_neighbor(meta: v1.MetaGraphDef) -> None:
    node(meta, "y").attr["_class"].list.s.append(b"loc:@gone")


def gone_member(meta: v1.MetaGraphDef) -> None:
    meta.collection_def["summaries"].node_list.value.extend(["gone:0", "y:0"])


def gone_variable(meta: v1.MetaGraphDef) -> None:
    for key in ("variables", "trainable_variables"):
        values = meta.collection_def[key].bytes_list.value
        values.append(
            values[0]
            .replace(b"w:0", b"v:0")
            .replace(b"w/Assign", b"v/Assign")
            .replace(b"w/read", b"v/read")
        )


REFUSED: dict[str, tuple[Callable[[v1.MetaGraphDef], object], str]] = {
    "a version of one's own": (
        lambda meta: setattr(meta.meta_info_def, "tensorflow_version", "0.12.head"),
        "'0.12.head' wrote it, which is not a version",
    ),
    "an unknown version": (
        lambda meta: setattr(meta.meta_info_def, "tensorflow_version", "unknown"),
        "'unknown' wrote it, which is not a version",
    ),
    "a shape of another time": (wrong_shape, "functions of this TensorFlow contradict"),
    "a neighbor that is gone": (
        gone_neighbor,
        "'y' is to be placed beside 'gone', which the graph does not have",
    ),
    "a member that is gone": (
        gone_member,
        "Collection 'summaries' names 'gone:0', which the graph does not have",
    ),
    "a variable that is gone": (
        gone_variable,
        "Collection 'variables' names 'v:0', which the graph does not have",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_note_that_tensorflow_refuses_is_left_out_with_a_notice(
    case: str, tmp_path: Path
) -> None:
    edit, notice = REFUSED[case]
    path = meta_graph(tmp_path)
    change(path, edit)
    with pytest.raises((ValueError, KeyError)), tf.Graph().as_default():
        v1.train.import_meta_graph(str(path))
    editor = tgw.edit(path, checkpoint=tmp_path / "m")
    assert np.array_equal(editor.session.run("y:0", {"x:0": X}), X * [3, 4])
    assert any(notice in each for each in editor.source.notices)
    assert [v.name for v in editor.graph.get_collection("trainable_variables")] == ["w:0"]


@pytest.mark.filterwarnings("ignore:.*left out")
@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("is_edited", [False, True])
@pytest.mark.sample(4)
def test_what_is_written_of_it_is_read_by_tensorflow(
    case: str, is_edited: bool, tmp_path: Path
) -> None:
    path = meta_graph(tmp_path)
    change(path, REFUSED[case][0])
    editor = tgw.edit(path, checkpoint=tmp_path / "m")
    if is_edited:
        editor.rename("x", "input")
    x = "input:0" if is_edited else "x:0"
    feeds = {x: X}
    editor.save(tmp_path / "new.meta", feeds=feeds)
    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        v1.train.import_meta_graph(str(tmp_path / "new.meta")).restore(
            session, str(tmp_path / "new")
        )
        assert np.array_equal(session.run("y:0", {x: X}), X * [3, 4])
    editor.save(tmp_path / "saved", inputs=[x], outputs=["y:0"], feeds=feeds)
    assert tf.saved_model.load(str(tmp_path / "saved")) is not None
    editor.save(tmp_path / "frozen.pb", frozen=True, outputs=["y:0"], feeds=feeds)
    frozen = v1.GraphDef.FromString((tmp_path / "frozen.pb").read_bytes())
    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        tf.import_graph_def(frozen, name="")
        assert np.array_equal(session.run("y:0", {x: X}), X * [3, 4])
    editor.save(tmp_path / "all.tgw")
    assert np.array_equal(tgw.edit(tmp_path / "all.tgw").session.run("y:0", {x: X}), X * [3, 4])
