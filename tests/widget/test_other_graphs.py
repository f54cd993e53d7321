"""Graphs of the notebook and of files are added to the one that is open, or compared with it."""

from __future__ import annotations

import base64
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tfgraphwidget.errors import GraphEditError, UnknownName
from tfgraphwidget.widget import other_graphs
from tfgraphwidget.widget import protocol as p
from tfgraphwidget.widget.exporter import Exporter
from tfgraphwidget.widget.request_handler import RequestHandler

v1 = tf.compat.v1


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, object]:
    """The variables of a notebook that has two networks, in a folder with a file of the second."""
    first, second = tgw.example(), tgw.example()
    variables = {
        "first": first,
        "second": second,
        "graph": second.graph,
        "sess": second.session,
        "x": 1,
    }
    monkeypatch.setattr(other_graphs, "user_namespace", lambda: variables)
    second.save(tmp_path / "frozen.pb", outputs=["net/logits:0"], frozen=True)
    monkeypatch.chdir(tmp_path)
    return variables


@pytest.fixture
def editor(notebook: dict[str, object]) -> tgw.GraphEditor:
    """The first network."""
    first = notebook["first"]
    assert isinstance(first, tgw.GraphEditor)
    return first


@pytest.fixture
def requests(editor: tgw.GraphEditor) -> RequestHandler:
    """What answers the page."""
    handler = RequestHandler(editor)
    handler.handle(p.Open())
    return handler


def test_the_other_graphs_of_the_notebook_are_offered(requests: RequestHandler) -> None:
    reply, _ = requests.handle(p.Names())
    assert isinstance(reply, p.Sources)
    assert [(each.name, each.kind) for each in reply.sources] == [
        ("second", "editor"), ("graph", "tf.Graph"), ("sess", "session"), ("frozen.pb", "file"),
    ]  # fmt: skip


def test_a_document_finds_files_next_to_its_own_though_its_kernel_runs_elsewhere(
    notebook: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebook.clear()
    folder, elsewhere = tmp_path / "models", tmp_path / "runtime"
    folder.mkdir()
    elsewhere.mkdir()
    (folder / "own.pb").write_bytes((tmp_path / "frozen.pb").read_bytes())
    (folder / "other.pb").write_bytes((tmp_path / "frozen.pb").read_bytes())
    (folder / "notes.txt").touch()
    (folder / "saved").mkdir()
    (folder / "saved" / "saved_model.pb").touch()
    monkeypatch.chdir(elsewhere)
    editor = tgw.edit(folder / "own.pb")
    requests = RequestHandler(editor, Exporter(editor, folder / "own.pb"))
    requests.handle(p.Open())
    reply, _ = requests.handle(p.Names())
    assert isinstance(reply, p.Sources)
    assert reply.sources == (p.Source("other.pb", "file"), p.Source("saved", "file"))
    # A path of JupyterLab's file browser begins at the server's root, a typed one at the folder of
    # the file.
    for name in ("other.pb", "models/other.pb"):
        reply, _ = requests.handle(p.Compare(True, name))
        assert editor.view.difference is not None
        requests.handle(p.Compare(False))
    with pytest.raises(
        UnknownName, match=r"There is no file of the name 'othr\.pb'; did you mean 'other\.pb'"
    ):
        requests.handle(p.Compare(True, "othr.pb"))
    np.save(folder / "x.npy", np.ones((2, 4), np.float32))
    requests.handle(p.Probe("net/logits", (p.Feed("x:0", "file", "", 0.0, 1.0, "x.npy"),)))
    assert editor._core.evaluator.probed["net/logits"][0].shape == (2, 3)


@pytest.mark.parametrize("source", ["second", "graph", "sess", "frozen.pb", "/frozen.pb"])
def test_a_graph_is_added_with_its_inputs_joined_and_its_values(
    source: str, editor: tgw.GraphEditor, requests: RequestHandler
) -> None:
    reply, _ = requests.handle(p.Inputs(source))
    assert isinstance(reply, p.Joints)
    assert ("x:0", "x:0") in [(joint.input, joint.tensor) for joint in reply.joints]
    assert reply.into == Path(source).stem  # a scope, not a path
    done, _ = requests.handle(p.Add(source, "more", ("x:0", "labels:0"), ("x:0", "")))
    assert isinstance(done, p.SceneReply)
    assert done.focus == "more"
    assert done.edited is not None
    assert "Added" in done.edited.text
    assert "1 of its inputs joined" in done.edited.text
    batch = {"x:0": np.ones((1, 4), np.float32)}
    assert np.isfinite(editor.session.run("more/net/logits:0", batch)).all()
    requests.handle(p.Undo())
    assert "more/net/logits" not in editor._core.index.ids


def test_one_op_is_counted_as_one(
    editor: tgw.GraphEditor, requests: RequestHandler, notebook: dict[str, object]
) -> None:
    one = tf.Graph()
    with one.as_default():
        tf.nn.softmax(v1.placeholder(tf.float32, [None, 3], name="scores"), name="classes")
    notebook["one"] = one
    done, _ = requests.handle(p.Add("one", "one", ("scores:0",), ("net/logits:0",)))
    assert isinstance(done, p.SceneReply)
    assert done.edited is not None
    assert done.edited.text == "Added 1 op as 'one', 1 of its inputs joined."
    done, _ = requests.handle(p.Clone(("net/logits:0",), ("one/classes",), "copy"))
    assert isinstance(done, p.SceneReply)
    assert done.edited is not None
    assert done.edited.text.startswith("Cloned 1 op into 'copy'.")


def test_the_marked_output_is_proposed_for_the_only_input(
    editor: tgw.GraphEditor, requests: RequestHandler
) -> None:
    editor.mark((), "net/hidden/Relu")
    reply, _ = requests.handle(p.Inputs("frozen.pb"))
    assert isinstance(reply, p.Joints)
    assert [joint.tensor for joint in reply.joints] == ["net/hidden/Relu:0"]
    assert reply.into == "frozen"


def test_a_difference_from_another_graph_is_shown_and_follows_edits(
    editor: tgw.GraphEditor, requests: RequestHandler
) -> None:
    reply, _ = requests.handle(p.Compare(True, "second"))
    assert isinstance(reply, p.SelectionReply)
    assert reply.state.comparing
    assert reply.state.changes == ()
    requests.handle(p.Change("bypass", ("net/hidden/Relu",)))
    reply, _ = requests.handle(p.Open())
    assert isinstance(reply, p.SceneReply)
    assert reply.state.comparison == "second"
    assert {group.kind for group in reply.state.changes} >= {"changed"}
    assert editor.view.difference is not None
    assert "given" in editor.view.difference.between[0]
    reply, _ = requests.handle(p.Compare(True))
    assert isinstance(reply, p.SelectionReply)
    assert reply.state.comparison == "the original graph"
    editor.view.difference = editor.diff("frozen.pb")  # in a cell
    reply, _ = requests.handle(p.Open())
    assert isinstance(reply, p.SceneReply)
    assert (reply.state.comparing, reply.state.comparison) == (True, "")
    requests.handle(p.Compare(False))
    assert editor.view.difference is None


@pytest.mark.parametrize(
    ("source", "error"),
    [("nowhere.pb", UnknownName), ("secondd", UnknownName), ("", GraphEditError)],
)
def test_an_unknown_graph_is_refused_and_nothing_has_changed(
    source: str, error: type[Exception], editor: tgw.GraphEditor, requests: RequestHandler
) -> None:
    for request in (p.Inputs(source), p.Add(source, "more")):
        with pytest.raises(error):
            requests.handle(request)
    assert editor.history.lines == ()


def uploaded(requests: RequestHandler, path: Path, piece: int) -> p.UploadReply:
    """Send a file in pieces, as the page does."""
    data = path.read_bytes()
    for start in range(0, len(data), piece):
        text = base64.b64encode(data[start : start + piece]).decode()
        reply, _ = requests.handle(p.Upload(path.name, text, start, len(data)))
        assert isinstance(reply, p.UploadReply)
    return reply


def test_a_dropped_file_is_added_and_compared_without_being_written(
    editor: tgw.GraphEditor, requests: RequestHandler, tmp_path: Path
) -> None:
    file = tmp_path / "frozen.pb"
    reply = uploaded(requests, file, 1_000)
    assert reply == p.UploadReply(file.stat().st_size, "frozen.pb")
    file.unlink()
    joints, _ = requests.handle(p.Inputs("frozen.pb"))
    assert isinstance(joints, p.Joints)
    assert [joint.input for joint in joints.joints] == ["x:0"]
    requests.handle(p.Add("frozen.pb", "head", ("x:0",), ("x:0",)))
    assert editor.ops("head/net/logits").ops
    assert editor.history.done[-1].sentence == "Added a graph as head"
    requests.handle(p.Compare(show=True, source="frozen.pb"))
    assert editor.view.difference is not None
    assert list(tmp_path.iterdir()) == []
    editor.undo()
    editor.redo()


def test_a_dropped_file_that_is_too_large_or_cut_is_refused(requests: RequestHandler) -> None:
    with pytest.raises(
        GraphEditError, match=r"a page sends .* at most; upload it to the file browser"
    ):
        requests.handle(p.Upload("large.pb", "AAAA", 0, 10**9))
    with pytest.raises(GraphEditError, match="drop it again"):
        requests.handle(p.Upload("a.pb", "AAAA", 3, 6))
    with pytest.raises(GraphEditError, match="drop it again"):
        requests.handle(p.Upload("a.pb", "no base64!", 0, 6))
    with pytest.raises(GraphEditError, match="drop it again"):
        requests.handle(p.Upload("empty.pb", "", 0, 0))
    requests.handle(p.Upload("a.pb", "AAAA", 0, 6))
    with pytest.raises(UnknownName):
        requests.handle(p.Inputs("a.pb"))  # half of it


def located(requests: RequestHandler, path: str, root: object = "") -> str:
    """The path to type for a file that was chosen in Jupyter."""
    reply, _ = requests.handle(p.Locate(path, str(root)))
    assert isinstance(reply, p.KernelPath)
    return reply.path


def test_a_file_of_jupyter_is_named_from_the_notebooks_folder_and_not_taken_for_another(
    requests: RequestHandler,
    notebook: dict[str, object],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "frozen.pb").write_bytes(b"this is another file of that name")
    (tmp_path / "sub" / "graph").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    # "frozen.pb" of the server's root is not the notebook's, though that has the name.
    assert located(requests, "frozen.pb", tmp_path) == "../frozen.pb"
    reply, _ = requests.handle(p.Inputs("../frozen.pb"))
    assert isinstance(reply, p.Joints)
    assert located(requests, "sub/frozen.pb", tmp_path) == "frozen.pb"
    # A folder that has the name of a variable.
    assert "graph" in notebook
    assert located(requests, "sub/graph", tmp_path) == "./graph"
    with pytest.raises(UnknownName, match=r"'none\.pb' is not on a disk that this kernel can read"):
        located(requests, "none.pb", tmp_path)
    with pytest.raises(
        UnknownName, match=r"does not say where its first folder is on the disk; type the path"
    ):
        located(requests, "")


def test_a_path_that_is_whole_is_not_looked_for_below_the_kernels_folder(
    requests: RequestHandler,
    editor: tgw.GraphEditor,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = tmp_path / "frozen.pb"
    copy = tmp_path / "sub" / file.relative_to(file.anchor)
    copy.parent.mkdir(parents=True)
    copy.write_bytes(b"another file")
    monkeypatch.chdir(tmp_path / "sub")
    requests.handle(p.Compare(True, str(file)))
    assert editor.view.difference is not None
