"""A file that TensorFlow cannot run whole is written as far as what is written can run, or with a
notice.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1
from tfgraphwidget.errors import NotRunnable

X = np.array([[1.0, 2.0]], np.float32)


def file_with_unknown_op(folder: Path, *, reads: str = "y", into: str = "") -> Path:
    """y = x * w, z = y + 1 and an op of an unknown type that reads one of them, if any; its result
    goes into `into`.
    """
    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        x = v1.placeholder(tf.float32, [None, 2], name="x")
        w = v1.get_variable("w", initializer=[3.0, 4.0], use_resource=True)
        tf.add(tf.multiply(x, w, name="y"), tf.constant(1.0, name="one"), name="z")
        session.run(w.initializer)
        v1.train.Saver().save(session, str(folder / "m"))
    if not reads:
        return folder / "m.meta"
    meta = v1.MetaGraphDef.FromString((folder / "m.meta").read_bytes())
    unknown = meta.graph_def.node.add(name="unknown", op="NoSuchOp", input=[reads])
    for node in meta.graph_def.node:
        if node.name == into:
            node.input[0] = "unknown"
            unknown.attr["T"].type = 1
    (folder / "m.meta").write_bytes(meta.SerializeToString())
    return folder / "m.meta"


def run_frozen(path: Path, fetch: str = "z:0") -> np.ndarray:
    graph_def = v1.GraphDef.FromString(path.read_bytes())
    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        tf.import_graph_def(graph_def, name="")
        return session.run(fetch, {"x:0": X})


@pytest.mark.parametrize("is_removed", [False, True])
def test_an_unknown_op_after_the_outputs_hinders_no_file(is_removed: bool, tmp_path: Path) -> None:
    editor = tgw.edit(file_with_unknown_op(tmp_path), checkpoint=tmp_path / "m")
    if is_removed:
        editor.remove("unknown")
    editor.save(
        tmp_path / "frozen.pb", inputs=["x:0"], outputs=["z:0"], frozen=True, feeds={"x": X}
    )
    assert np.array_equal(run_frozen(tmp_path / "frozen.pb"), X * [3, 4] + 1)
    editor.save(tmp_path / "saved", inputs=["x:0"], outputs=["z:0"], feeds={"x": X})
    saved = tf.saved_model.load(str(tmp_path / "saved")).signatures["serving_default"]
    assert np.array_equal(next(iter(saved(x=tf.constant(X)).values())), X * [3, 4] + 1)
    assert np.array_equal(
        editor.extract("x:0", "z:0").session.run("z:0", {"x:0": X}), X * [3, 4] + 1
    )
    assert ("unknown" in editor._core.index.ids) != is_removed  # saving changes nothing


def test_an_unknown_op_that_the_outputs_need_is_frozen_with_a_notice(tmp_path: Path) -> None:
    editor = tgw.edit(file_with_unknown_op(tmp_path, into="z"), checkpoint=tmp_path / "m")
    with pytest.warns(UserWarning, match=r"was not run: Op 'unknown' is of type 'NoSuchOp'"):
        editor.save(tmp_path / "frozen.pb", outputs=["z:0"], frozen=True)
    frozen = v1.GraphDef.FromString((tmp_path / "frozen.pb").read_bytes())
    types = {node.name: node.op for node in frozen.node}
    assert (types["unknown"], types["w"]) == ("NoSuchOp", "Const")
    with pytest.raises(NotRunnable, match="'NoSuchOp', which TensorFlow does not know"):
        editor.save(tmp_path / "saved", inputs=["x:0"], outputs=["z:0"])


@pytest.mark.parametrize("device", ["/job:ps/task:0", "/job:worker/replica:0/task:1/device:GPU:0"])
def test_a_graph_that_is_placed_on_a_cluster_is_written_on_a_laptop(
    device: str, tmp_path: Path
) -> None:
    editor = tgw.edit(file_with_unknown_op(tmp_path, reads=""), checkpoint=tmp_path / "m")
    editor.set_device("w", device)
    with pytest.warns(UserWarning, match="not available on this machine"):
        editor.save(tmp_path / "placed.meta")
    meta = v1.MetaGraphDef.FromString((tmp_path / "placed.meta").read_bytes())
    assert {node.name: node.device for node in meta.graph_def.node}["w"] == device
    assert "variables" in meta.collection_def
    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        saver = v1.train.import_meta_graph(str(tmp_path / "placed.meta"), clear_devices=True)
        saver.restore(session, str(tmp_path / "placed"))
        assert np.array_equal(session.run("z:0", {"x:0": X}), X * [3, 4] + 1)
