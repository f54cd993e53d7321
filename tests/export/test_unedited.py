"""A file that is saved as it was opened is the same message, whether TensorFlow has imported it
meanwhile or not.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from google.protobuf import text_format
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow.python.framework import op_def_registry

import tfgraphwidget as tgw
from tests.conftest import build_while_loop, fill, initialised, read, v1
from tests.sources.conftest import affine, node, tf1_saved_model, tf2_saved_model
from tfgraphwidget.editor import GraphEditor

__all__ = ["affine", "tf1_saved_model", "tf2_saved_model"]  # fixtures


def lean(graph: tf.Graph) -> v1.GraphDef:
    """A graph as older programs, and those that strip, have written it: no attribute with its
    default value.
    """
    report = graph.as_graph_def()
    for one in [
        *report.node,
        *(inside for function in report.library.function for inside in function.node_def),
    ]:
        definition = op_def_registry.get(one.op)
        for attr in definition.attr if definition else ():
            if attr.HasField("default_value") and one.attr[attr.name] == attr.default_value:
                del one.attr[attr.name]
    report.versions.producer = 27
    report.versions.min_consumer = 12
    return report


def trained() -> tf.Graph:
    """A variable, a function that is called, a control input, devices and a constant of every
    sort.
    """
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 3], name="x")
        w = v1.get_variable("w", [3, 2], initializer=v1.ones_initializer(), use_resource=True)
        with tf.control_dependencies([x]), tf.device("/cpu:0"):
            y = tf.nn.relu(tf.matmul(x, w), name="y")
        tf.identity(tf.function(lambda a: tf.nn.elu(a) * 2.0)(y), name="z")
        tf.constant([np.nan, np.inf], name="odd")
        tf.constant(b"\xff\x00", name="bytes")
    return graph


def edited_and_undone(editor: GraphEditor) -> None:
    """Edits before and after the import, all taken back."""
    editor.rename(editor._core.index.names[0], "other")
    assert editor.graph is not None
    editor.undo()


TREATMENTS: dict[str, Callable[[GraphEditor], Any]] = {
    "looked at": lambda editor: editor.draw(),
    "imported": lambda editor: editor.graph,
    "edited, imported and undone": edited_and_undone,
}


@pytest.mark.parametrize("treatment", TREATMENTS)
@pytest.mark.parametrize("make", [trained, build_while_loop])
@pytest.mark.parametrize("ending", [".pb", ".pbtxt"])
def test_a_graph_def_is_the_same_message(
    tmp_path: Path, ending: str, make: Callable[[], tf.Graph], treatment: str
) -> None:
    report = lean(make())
    if ending == ".pb":
        (tmp_path / "g.pb").write_bytes(report.SerializeToString())
    else:
        (tmp_path / "g.pbtxt").write_text(text_format.MessageToString(report))
    editor = tgw.edit(tmp_path / f"g{ending}")
    TREATMENTS[treatment](editor)
    editor.save(tmp_path / "again.pb")
    editor.save(tmp_path / "again.pbtxt")
    assert (tmp_path / "again.pb").read_bytes() == report.SerializeToString(deterministic=True)
    assert text_format.Parse((tmp_path / "again.pbtxt").read_text(), v1.GraphDef()) == report


def test_an_op_that_tensorflow_does_not_know_and_fields_that_few_files_have_stay(
    tmp_path: Path,
) -> None:
    report = lean(trained())
    odd = report.node.add()
    odd.CopyFrom(node("odd_op", "NobodyKnowsThis", "z", "^x", k=v1.AttrValue(i=3)))
    odd.experimental_debug_info.original_node_names.append("somewhere")
    report.version = 7
    (tmp_path / "g.pb").write_bytes(report.SerializeToString())
    tgw.edit(tmp_path / "g.pb").save(tmp_path / "again.pb")
    assert v1.GraphDef.FromString((tmp_path / "again.pb").read_bytes()) == report


@pytest.mark.parametrize("there", ["versions", "library"])
def test_what_a_file_leaves_out_stays_left_out_and_what_is_empty_stays_empty(
    tmp_path: Path, there: str
) -> None:
    report = v1.GraphDef(node=[node("a", "NoOp")])
    getattr(report, there).SetInParent()
    (tmp_path / "g.pb").write_bytes(report.SerializeToString())
    editor = tgw.edit(tmp_path / "g.pb")
    for _ in range(2):
        editor.save(tmp_path / "again.pb")
        assert v1.GraphDef.FromString((tmp_path / "again.pb").read_bytes()) == report
        assert editor.graph is not None


@pytest.mark.parametrize("values", [True, False])
@pytest.mark.parametrize("treatment", TREATMENTS)
@pytest.mark.filterwarnings("ignore:The variables have no values here")
def test_a_meta_graph_def_is_the_same_message(tmp_path: Path, treatment: str, values: bool) -> None:
    graph = trained()
    with graph.as_default():
        saver = v1.train.Saver()
    with initialised(graph) as session:
        saver.save(session, str(tmp_path / "m"), strip_default_attrs=True)
    meta = v1.MetaGraphDef.FromString((tmp_path / "m.meta").read_bytes())
    meta.meta_info_def.tensorflow_version = "1.15.0"
    (tmp_path / "m.meta").write_bytes(meta.SerializeToString())
    editor = tgw.edit(tmp_path / "m.meta", checkpoint=tmp_path / "m" if values else None)
    TREATMENTS[treatment](editor)
    editor.save(tmp_path / "again.meta")
    report, again = (
        v1.MetaGraphDef.FromString((tmp_path / f"{name}.meta").read_bytes())
        for name in ("m", "again")
    )
    assert again == report


def test_of_an_edited_file_only_what_was_edited_differs(tmp_path: Path) -> None:
    report = lean(trained())
    (tmp_path / "g.pb").write_bytes(report.SerializeToString())
    editor = tgw.edit(tmp_path / "g.pb")
    assert editor.graph is not None
    editor.bypass("y")
    editor.save(tmp_path / "again.pb")
    again = v1.GraphDef.FromString((tmp_path / "again.pb").read_bytes())
    before = {one.name: one for one in report.node}
    differing = [one for one in again.node if one != before.get(one.name)]
    assert {name for one in differing for name in one.attr} <= {
        key for one in differing for key in before[one.name].attr
    }
    assert {one.name for one in differing} < set(before)
    assert 0 < len(differing) <= 2
    assert (again.library, again.versions) == (report.library, report.versions)


def files(folder: Path) -> dict[str, bytes]:
    """What a folder holds."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def rewrite(folder: Path, *more: v1.NodeDef) -> None:
    """Leave a SavedModel the one graph that is tagged "serve", with more ops."""
    model = saved_model_pb2.SavedModel.FromString((folder / "saved_model.pb").read_bytes())
    (meta,) = (meta for meta in model.meta_graphs if "serve" in meta.meta_info_def.tags)
    meta.graph_def.node.extend(more)
    report = saved_model_pb2.SavedModel(saved_model_schema_version=1, meta_graphs=[meta])
    (folder / "saved_model.pb").write_bytes(report.SerializeToString())


@pytest.mark.parametrize("treatment", ["opened", "outside", "imported"])
@pytest.mark.parametrize("kind", ["tf1_saved_model", "tf2_saved_model"])
def test_a_saved_model_is_the_same_files(
    tmp_path: Path, kind: str, treatment: str, request: pytest.FixtureRequest
) -> None:
    folder = request.getfixturevalue(kind)
    rewrite(folder)
    editor = tgw.edit(folder, tags="serve")
    if treatment != "opened":
        editor.view.leave(0)
    if treatment == "imported":
        assert editor.graph is not None
    editor.save(tmp_path / "again")
    assert files(tmp_path / "again") == files(folder)


def test_a_saved_model_whose_values_or_graph_have_changed_is_no_copy(
    tf1_saved_model: Path, tmp_path: Path
) -> None:
    rewrite(tf1_saved_model)
    before = files(tf1_saved_model)
    editor = tgw.edit(tf1_saved_model, tags="serve")
    variable = editor.graph.get_collection("variables")[0]
    fill(variable, 0.25, editor.session)
    editor.save(tmp_path / "trained")
    again = tgw.edit(tmp_path / "trained")
    assert again.graph is not None
    assert np.unique(
        read([again.graph.get_collection("variables")[0]], again.session)[0]
    ).tolist() == [0.25]
    other = tgw.edit(tf1_saved_model, tags="serve")
    other.rename("net/one/out", "hidden")
    other.save(tmp_path / "edited")
    assert "hidden" in tgw.edit(tmp_path / "edited")._core.index.ids
    assert files(tf1_saved_model) == before


def test_a_saved_model_with_an_op_that_tensorflow_does_not_know_is_the_same_files(
    tf1_saved_model: Path, tmp_path: Path
) -> None:
    rewrite(tf1_saved_model, v1.NodeDef(name="odd", op="NobodyKnowsThis"))
    tgw.edit(tf1_saved_model, tags="serve").save(tmp_path / "again")
    assert files(tmp_path / "again") == files(tf1_saved_model)
