"""A Saver's ops in a file: nothing is said of them, and they run when the caller feeds their
file.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.compat import v1

import tfgraphwidget as tgw
from tfgraphwidget.errors import NotTrusted


@pytest.fixture
def meta(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A training graph with its checkpoint, in a folder that is not the current one."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    with tf.Graph().as_default(), v1.Session() as session:
        weights = v1.get_variable("weights", initializer=np.ones(3, np.float32))
        v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_sum(weights**2), name="train")
        saver = v1.train.Saver()
        session.run(v1.global_variables_initializer())
        saver.save(session, str(tmp_path / "model"))
    return tmp_path / "model.meta"


def make_constant(meta: Path) -> None:
    """Make the Saver's file a constant, as TensorFlow before 1.6 did."""
    meta_graph = v1.MetaGraphDef.FromString(meta.read_bytes())
    nodes = {node.name: node for node in meta_graph.graph_def.node}
    for node in meta_graph.graph_def.node:
        for k, text in enumerate(node.input):
            source = nodes[text.split(":")[0].lstrip("^")]
            while source.op == "PlaceholderWithDefault":
                node.input[k] = source.input[0]
                source = nodes[source.input[0]]
    meta_graph.saver_def.filename_tensor_name = nodes["save/filename"].input[0] + ":0"
    meta.write_bytes(meta_graph.SerializeToString())


@pytest.mark.parametrize("is_old", [False, True])
def test_a_saver_of_a_file_saves_and_restores(meta: Path, tmp_path: Path, is_old: bool) -> None:
    if is_old:
        make_constant(meta)
    editor = tgw.edit(meta, checkpoint=meta.with_suffix(""))
    assert editor.source.notices == ()
    assert not editor.lint("untrusted")
    definition = v1.MetaGraphDef.FromString(meta.read_bytes()).saver_def
    editor.session.run("train")
    path = editor.session.run(
        definition.save_tensor_name, {definition.filename_tensor_name: str(tmp_path / "new")}
    )
    assert Path(path.decode()) == tmp_path / "new"
    np.testing.assert_array_equal(
        v1.train.load_checkpoint(str(tmp_path / "new")).get_tensor("weights"), np.zeros(3)
    )
    editor.session.run(
        definition.restore_op_name, {definition.filename_tensor_name: str(tmp_path / "model")}
    )
    np.testing.assert_array_equal(editor.session.run("weights/Read/ReadVariableOp:0"), np.ones(3))
    assert list(Path.cwd().iterdir()) == []


@pytest.mark.parametrize("is_old", [False, True])
def test_a_saver_writes_no_file_that_is_not_named(meta: Path, is_old: bool) -> None:
    if is_old:
        make_constant(meta)
    editor = tgw.edit(meta, checkpoint=meta.with_suffix(""))
    definition = v1.MetaGraphDef.FromString(meta.read_bytes()).saver_def
    with pytest.raises(NotTrusted, match="SaveV2"):
        editor.session.run(definition.save_tensor_name)
    assert list(Path.cwd().iterdir()) == []


def test_loading_does_not_save(meta: Path) -> None:
    meta_graph = v1.MetaGraphDef.FromString(meta.read_bytes())
    main = meta_graph.collection_def["main_op"].node_list.value
    main.append(meta_graph.saver_def.save_tensor_name)
    meta.write_bytes(meta_graph.SerializeToString())
    editor = tgw.edit(meta, checkpoint=meta.with_suffix(""))
    editor.session.run("train")
    editor.save(meta.parent / "edited.meta")
    assert list(Path.cwd().iterdir()) == []
