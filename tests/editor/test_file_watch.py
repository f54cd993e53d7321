"""`tgw.edit(path, watch=True)`: it follows its file, or says what no longer fits; then nothing has
changed.
"""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import pytest

import tfgraphwidget as tgw
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.errors import InvalidArgument
from tfgraphwidget.sources import tf_protos

pytestmark = pytest.mark.no_tensorflow


def graph_def(*names: str) -> bytes:
    """A chain of ops, each of which reads the one before."""
    nodes = [tf_protos.NodeDef(name=names[0], op="Placeholder")]
    nodes[0].attr["dtype"].type = 1
    for source, name in pairwise(names):
        nodes.append(tf_protos.NodeDef(name=name, op="Relu", input=[source]))
        nodes[-1].attr["T"].type = 1
    data: bytes = tf_protos.GraphDef(node=nodes).SerializeToString()
    return data


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "m.pb"
    path.write_bytes(graph_def("x", "net/a", "net/b", "net/c"))
    return path


@pytest.fixture
def editor(path: Path) -> GraphEditor:
    return tgw.edit(path, watch=True)


def test_a_file_that_is_as_it_was_is_not_opened_again(editor: GraphEditor) -> None:
    index = editor._core.index
    assert editor.source.reload() == ""
    assert editor._core.index is index


def test_a_file_that_is_touched_or_written_as_it_was_is_not_opened_again(
    editor: GraphEditor, path: Path
) -> None:
    index, content = editor._core.index, path.read_bytes()
    editor.source.reload()
    os.utime(path, ns=(1, 1))
    assert editor.source.reload() == ""
    path.unlink()
    path.write_bytes(content)
    assert editor.source.reload() == ""
    assert editor._core.index is index
    path.write_bytes(graph_def("x", "net/a", "net/b", "net/d"))
    assert editor.source.reload() == "m.pb has changed; it was opened again."


def test_edits_marks_and_open_scopes_are_kept_and_listeners_stay(
    editor: GraphEditor, path: Path
) -> None:
    report: list[int] = []
    editor._core.listeners.append(lambda: report.append(len(editor._core.index)))
    editor.rename("net/c", "net/last")
    editor.view.expand("net")
    editor.mark("x:0", "net/b:0")
    editor._core.save_notices = ["of a save of the file as it was"]
    path.write_bytes(graph_def("x", "net/new", "net/a", "net/b", "net/c"))
    assert (
        editor.source.reload()
        == "m.pb has changed; it was opened again, and 1 edit was made again."
    )
    assert list(editor._core.index.names) == ["x", "net/new", "net/a", "net/b", "net/last"]
    assert report[-1] == 5
    assert (editor.inputs, editor.outputs) == (("x:0",), ("net/b:0",))
    assert "net" in editor.view.expanded
    assert editor.undo()
    assert "net/c" in editor._core.index.ids
    (notice,) = editor.source.notices
    assert "was opened again" in notice


def test_an_edit_that_no_longer_fits_is_named_and_all_stays(
    editor: GraphEditor, path: Path
) -> None:
    editor.rename("net/a", "net/first")
    editor.rename("net/c", "net/last")
    index = editor._core.index
    path.write_bytes(graph_def("x", "net/a", "net/b"))
    assert "Edit 2 (rename) cannot be done" in editor.source.reload()
    assert editor._core.index is index
    assert len(editor.history.done) == 2
    assert editor.source.reload() == ""
    path.write_bytes(graph_def("x", "net/a", "net/b", "net/c", "net/d"))
    assert "2 edits were made again" in editor.source.reload()
    assert sum("m.pb" in notice for notice in editor.source.notices) == 1


def test_an_edit_that_finds_nothing_to_do_in_a_new_file_is_not_made_again(
    editor: GraphEditor, path: Path
) -> None:
    editor.rename("net/a", "net/first")
    editor.bypass("net/b")
    path.write_bytes(graph_def("x", "net/a", "net/b"))  # nothing reads net/b
    assert "1 edit was made again, and 1 found nothing to do." in editor.source.reload()
    assert len(editor.history.done) == 1


def test_half_a_file_and_none_leave_the_drawing_until_it_is_there_again(
    editor: GraphEditor, path: Path
) -> None:
    index, data = editor._core.index, graph_def("x", "net/a", "net/z")
    path.write_bytes(data[: len(data) // 2])
    assert "cannot be read" in editor.source.reload()
    path.unlink()
    assert editor.source.reload() == "m.pb is gone; the drawing shows what it was."
    assert editor._core.index is index
    path.write_bytes(data)
    assert "was opened again" in editor.source.reload()
    assert "net/z" in editor._core.index.ids


def test_a_look_waits_until_the_file_is_at_rest(editor: GraphEditor, path: Path) -> None:
    watch = editor._core.file_watch
    assert watch is not None
    path.write_bytes(graph_def("x", "net/a"))
    assert watch.look() == ""
    path.write_bytes(graph_def("x", "net/a", "net/q"))
    assert watch.look() == ""
    assert "was opened again" in watch.look()
    assert "net/q" in editor._core.index.ids


def test_another_model_is_reported_as_one(editor: GraphEditor, path: Path) -> None:
    path.write_bytes(graph_def("image", "conv", "logits"))
    assert editor.source.reload() == "m.pb holds another model now; it was opened again."


def test_what_the_editor_writes_there_itself_is_not_opened_again(
    editor: GraphEditor, path: Path
) -> None:
    editor.rename("net/c", "net/last")
    editor.save(path)
    assert editor.source.reload() == ""
    assert len(editor.history.done) == 1


def test_what_is_no_file_cannot_be_watched() -> None:
    with pytest.raises(InvalidArgument, match="not a file"):
        tgw.edit(graph_def("x", "a"), watch=True)
    assert tgw.edit(graph_def("x", "a")).source.reload() == ""
